"""The served page in Chromium: a whole audit by clicking, by keyboard, killed in the middle; and axe."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.report.pages import CHROMIUM, NASTY, axe_core
from tests.serve.doors import ask, until

pytestmark = pytest.mark.browser

MOST_CLICKS = 12
STEPS = ("columns", "plan", "verdict", "fix", "decide")
_WAIT = 240_000  # milliseconds, for an audit on a busy machine


def people_csv(n: int = 200) -> bytes:
    """People whose exact tables have to be mended, and can be: everybody of one age has the secret."""
    rng = np.random.default_rng(1)
    ages = max(n // 8, 2)
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["age", "sex", "region", "ill"])
    for person in range(n):
        age = person % ages
        known = [f"{20 + 2 * age}-{21 + 2 * age}", rng.choice(["f", "m"])]
        ill = "yes" if age == 0 or rng.random() < 0.3 else "no"
        writer.writerow([*known, rng.choice(["north", "south", "east"]), ill])
    return text.getvalue().encode()


class Served:
    """A server of its own process over a folder."""

    def __init__(self, folder: Path) -> None:
        options = ["--no-browser", "--json", "--quiet", "--folder", str(folder)]
        start = [sys.executable, "-m", "tellall", "serve", *options]
        self.process = subprocess.Popen(start, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        lines: list[str] = []
        while not (lines and lines[-1] == "}\n"):
            lines.append(self.process.stdout.readline())
            assert lines[-1], "the server ended"
        self.address: str = json.loads("".join(lines))["address"]

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def served(tmp_path) -> Iterator[Served]:
    server = Served(tmp_path / "home")
    yield server
    server.kill()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api")
    if not Path(CHROMIUM).exists():
        pytest.skip("there is no chromium on this machine")
    options = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=CHROMIUM, args=options)
        yield started
        started.close()


@contextmanager
def tab(browser: Any, width: int = 1280, scheme: str = "light") -> Iterator[Any]:
    """A page that fails the test if the console says anything or anything but this machine is asked."""
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    heard: list[str] = []
    page.on("console", lambda message: heard.append(message.text))
    page.on("pageerror", lambda error: heard.append(str(error)))
    page.on("dialog", lambda dialog: heard.append("a dialog"))

    def asked(request: Any) -> None:
        if not request.url.startswith("http://127.0.0.1:"):
            heard.append(request.url)

    page.on("request", asked)
    yield page
    page.close()
    assert heard == []


class Clicks:
    """Clicks, counted."""

    def __init__(self, page: Any) -> None:
        self.page, self.count = page, 0

    def __call__(self, selector: str) -> None:
        self.count += 1
        self.page.click(selector)

    def choose(self, name: str, content: bytes) -> None:
        """The file chooser: one click on its button."""
        self.count += 1
        files = [{"name": name, "mimeType": "text/csv", "buffer": content}]
        self.page.set_input_files("#file", files)
        self.page.wait_for_url("**/columns")


def to_the_plan(click: Clicks, *, exact: bool = True) -> None:
    click.choose("clinic.csv", people_csv())
    click("#next")
    for chip in ("#chip-0-1", "#chip-0-0") if exact else ():
        click(chip)
        click.page.wait_for_selector(chip, state="detached")


def test_from_a_file_to_an_exported_decision_in_at_most_twelve_clicks(browser, tmp_path):
    home = tmp_path / "home"
    server = Served(home)
    try:
        with tab(browser) as page:
            page.goto(server.address)
            click = Clicks(page)
            to_the_plan(click)
            page.wait_for_selector(".gauges li")  # foreseen before any attack
            assert "equations about 200 people" in page.inner_text(".foresight")
            click("#run")
            page.wait_for_selector("#progress")
            page.reload()
            page.wait_for_selector("#progress, .verdict")
            path = page.url.removeprefix(server.address)
            page.goto("about:blank")
            server.kill()  # in the middle
            server = Served(home)
            page.goto(server.address + path)
            page.wait_for_selector(".verdict.fail", timeout=_WAIT)  # small cells of people all alike
            click("#to-fix")
            page.wait_for_selector("#apply-remedy", timeout=_WAIT)
            page.wait_for_selector(".range", timeout=_WAIT)
            slide(page)
            click("#apply-remedy")
            page.wait_for_selector(".verdict.pass", timeout=_WAIT)
            assert "Compared with the last audit" in page.inner_text("main")
            click("#to-decide")
            page.fill("#comment", "Small cells are gone.")
            click("#accept")
            page.wait_for_selector(".decision")
            with page.expect_download() as report:
                click("#export-report")
            assert click.count <= MOST_CLICKS, click.count
            text = Path(report.value.path()).read_text(encoding="utf-8")
            assert "Accepted" in text
            assert "Small cells are gone." in text
            with page.expect_download() as numbers:
                page.click("#export-audit")
            assert json.loads(Path(numbers.value.path()).read_text())["verdict"]["word"] == "pass"
            page.click("#open-report")
            page.wait_for_selector("h1")
            assert "Accepted" in page.inner_text("main")
    finally:
        server.kill()


def slide(page: Any) -> None:
    """The slider moves three numbers together, without a new attack."""
    page.focus(".range")
    page.keyboard.press("Home")
    page.wait_for_timeout(300)
    seen = {page.inner_text(".point .meters")}
    for _ in range(3):
        page.keyboard.press("ArrowRight")
        until(lambda: page.inner_text(".point .meters") not in seen)
        seen.add(page.inner_text(".point .meters"))


@pytest.fixture(scope="module")
def axe(tmp_path_factory) -> str:
    """The text of axe-core."""
    return axe_core(tmp_path_factory.mktemp("axe"))


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Iterator[str]:
    """The address of a server with one audit that is done and does not pass, and one by area."""
    from tellall.serve import edits, worker
    from tellall.serve.cases import Home

    folder = tmp_path_factory.mktemp("finished") / "home"
    home = Home.at(folder)
    for by in (2, None):
        case = home.create()
        (case.folder / "people.csv").write_bytes(people_csv())
        case.open_file("clinic.csv", ".csv")
        case.draft_plan(3, [0, 1, 2], by)
        exact = [{**entry, "protect": []} for entry in edits.entries_of(case.plan_text)]
        case.write_plan(edits.with_entries(case.plan_text, exact))
        worker.run(case)
    server = Served(folder)
    yield server.address
    server.kill()


def first_case(page: Any, address: str, index: int = 0) -> str:
    page.goto(address)
    return str(page.eval_on_selector_all(".cases a", "all => all.map(one => one.href)")[index])


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_and_nothing_sticks_out(browser, finished, axe, width, scheme):
    with tab(browser, width, scheme) as page:
        case, areas = first_case(page, finished), first_case(page, finished, 1)
        steps = [f"{case}/{step}" for step in STEPS]
        for address in (finished, *steps, f"{areas}/verdict", f"{areas}/fix"):
            page.goto(address)
            page.wait_for_load_state("networkidle")
            assert violations(page, axe) == [], address
            beyond = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            assert page.evaluate(beyond) == 0, address


def test_areas_are_sorted_and_searched(browser, finished):
    with tab(browser) as page:
        page.goto(f"{first_case(page, finished, 1)}/verdict")
        page.wait_for_selector("#areas-table tbody tr")
        rows = "#areas-table tbody tr"
        assert page.locator(rows).count() == 3
        page.click("#sort-area")
        page.wait_for_selector("th[aria-sort] #sort-area")  # before, they are sorted by another column
        names = page.locator(f"{rows} th").all_inner_texts()
        assert names == sorted(names)
        page.fill("#find", "sou")
        until(lambda: page.locator(rows).count() == 1)
        assert page.inner_text(f"{rows} th") == "south"
        assert page.locator("svg[role=img]").first.is_visible()


def test_by_keyboard_alone(browser, served, tmp_path):
    """Tab, arrows, space and Enter lead from the file to an exported decision; nothing is clicked."""
    (tmp_path / "clinic.csv").write_bytes(people_csv(60))
    with tab(browser) as page:
        # the browser hands choosers over only some time after somebody first listens for them
        page.on("filechooser", lambda _: None)
        page.goto(served.address)
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        tab_to(page, "#file")
        with page.expect_file_chooser() as chooser:
            page.keyboard.press("Space")
        chooser.value.set_files(tmp_path / "clinic.csv")
        page.wait_for_url("**/columns")
        press(page, "#next")
        page.wait_for_url("**/plan")
        tab_to(page, "#chip-0-0")
        page.keyboard.press("Space")
        page.wait_for_selector("#chip-0-1", state="detached")
        until(lambda: page.evaluate("document.activeElement?.id") == "chip-0-0")  # where one was, one stays
        page.keyboard.press("Space")
        page.wait_for_selector("#chip-0-0", state="detached")
        press(page, "#run")
        page.wait_for_selector("#cancel")
        press(page, "#cancel")
        page.wait_for_selector("#run")  # on the plan, or beside a verdict that was there already
        press(page, "#run")
        page.wait_for_selector("section.verdict", timeout=_WAIT)
        press(page, "#to-fix")
        page.wait_for_selector(".range", timeout=_WAIT)
        page.wait_for_selector("#progress", state="detached", timeout=_WAIT)
        tab_to(page, ".range")
        page.keyboard.press("Home")
        page.keyboard.press("ArrowRight")
        until(lambda: page.locator("#apply-0").count() == 1)
        press(page, "#to-decide")
        page.wait_for_url("**/decide")
        tab_to(page, "#comment")
        page.keyboard.type("By keyboard.")
        press(page, "#reject")
        page.wait_for_selector(".decision")
        tab_to(page, "#export-report")
        with page.expect_download() as report:
            page.keyboard.press("Enter")
        assert "By keyboard." in Path(report.value.path()).read_text(encoding="utf-8")


def press(page: Any, selector: str) -> None:
    """Goes somewhere by Tab and presses Enter there."""
    tab_to(page, selector)
    page.keyboard.press("Enter")


def tab_to(page: Any, selector: str) -> None:
    page.wait_for_selector(selector)  # while a page is being replaced, nothing is there to be reached
    # asked at once: between two questions the page could be replaced
    focus = "document.activeElement"
    here = f"{focus}?.matches('{selector}') ? getComputedStyle({focus}).outlineStyle : ''"
    for _ in range(80):
        outline = page.evaluate(here)
        if outline:
            assert outline != "none", selector  # one sees where one is
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"{selector} is not reached by Tab")


def test_two_people_at_once(browser, served):
    """Two windows that share nothing, each with a file of its own: neither stops the other's audit."""
    with tab(browser) as one, tab(browser) as other:
        for page, name in ((one, "first.csv"), (other, "second.csv")):
            page.goto(served.address)
            click = Clicks(page)
            click.choose(name, people_csv(60))
            click("#next")
            page.wait_for_selector(".gauges li")
            click("#run")
            page.wait_for_selector("#progress")
        for page, name in ((one, "first.csv"), (other, "second.csv")):
            page.wait_for_selector("section.verdict", timeout=_WAIT)
            assert page.inner_text(".file") == name
        assert one.url != other.url


def violations(page: Any, axe: str) -> Any:
    """What axe-core finds on a page, everything unfolded."""
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    page.evaluate(axe)
    return page.evaluate(
        "axe.run().then(r => r.violations.map(v => [v.impact, v.id, v.nodes.map(n => n.html)]))"
    )


def test_rules_attackers_and_what_was_published(browser, served, tmp_path, axe):
    import tellall as ta

    (tmp_path / "clinic.csv").write_bytes(people_csv(60))
    people = ta.read(tmp_path / "clinic.csv", secret="ill")
    ta.publish(people, ta.Marginals(2), ta.Rounding(5)).save(tmp_path / "last year.json")
    (tmp_path / "policy.toml").write_text('name = "Ward 7"\nlimit = 0.02\n')
    (tmp_path / "wrong.toml").write_text("limits = 1\n")
    with tab(browser) as page:
        page.goto(served.address)
        page.set_input_files("#policy-file", tmp_path / "wrong.toml")
        page.wait_for_selector(".upload .alert")
        page.set_input_files("#policy-file", tmp_path / "policy.toml")
        page.wait_for_selector("#drop-policy")
        assert violations(page, axe) == []
        assert "Ward 7" in page.inner_text("main")
        click = Clicks(page)
        click.choose("clinic.csv", people_csv(60))
        click("#next")
        page.wait_for_selector(".gauges li")
        assert "The policy Ward 7 applies too" in page.inner_text(".limits")
        page.set_input_files("#published-file", tmp_path / "last year.json")
        page.wait_for_selector("#published-0")
        page.click("text=Add an attacker")
        page.fill("#attacker-name", "neighbour")
        page.uncheck("input[name=known][value='2']")
        page.click("#add-attacker")
        page.wait_for_selector("#attacker-1")
        assert "neighbour knows age, sex of everybody" in page.inner_text("#plan")
        page.wait_for_selector(".gauges li")
        assert "all releases together, to insider" in page.inner_text(".gauges")
        text = page.inner_text(".plan-text pre")
        assert 'file = "published-1.json"' in text
        assert "[[attackers]]" in text
        for width in (390, 1280):
            page.set_viewport_size({"width": width, "height": 900})
            assert violations(page, axe) == []
        page.click("#attacker-1")
        page.wait_for_selector("#attacker-1", state="detached")
        page.click("#published-0")
        page.wait_for_selector("#published-0", state="detached")


def test_from_a_verdict_to_its_cells(browser, finished):
    with tab(browser) as page:
        page.goto(f"{first_case(page, finished)}/verdict")
        page.wait_for_selector("#cells table")
        seen = page.inner_text("#cells h3")
        page.click(".tables li:last-child button")
        until(lambda: page.inner_text("#cells h3") != seen)
        page.click("#cells-alone")
        page.wait_for_selector("#cells th[aria-sort=descending]")
        assert page.evaluate("document.activeElement.id") == "cells-alone"


def test_the_slider_by_area(browser, finished):
    with tab(browser) as page:
        page.goto(f"{first_case(page, finished, 1)}/fix")
        page.wait_for_selector(".range")
        slide(page)
        before = page.inner_text(".point .meters")
        page.select_option("#area-0", "south")
        until(lambda: "In south alone" in page.inner_text(".point"))
        assert page.inner_text(".point .meters") != before
        if page.locator("#cheapest-0").count():
            page.click("#cheapest-0")
            until(lambda: "cheapest here that passes" in page.inner_text(".point"))


def test_what_was_asked_for_last_is_shown_however_late_the_rest_is_answered(browser, finished):
    held: list[Any] = []
    with tab(browser) as page:
        page.goto(f"{first_case(page, finished, 1)}/fix")
        page.wait_for_selector(".range")
        page.route("**/point?*", lambda route: route.continue_() if held else held.append(route))
        page.focus(".range")
        page.keyboard.press("Home")
        page.keyboard.press("ArrowRight")
        until(lambda: page.wait_for_timeout(20) or held)
        page.select_option("#area-0", "south")
        page.wait_for_timeout(500)
        held[0].continue_()
        until(lambda: "In south alone" in page.inner_text(".point"))
        page.wait_for_timeout(500)
        assert "In south alone" in page.inner_text(".point")


def test_the_report_prints_to_a_pdf(browser, finished):
    with tab(browser) as page:
        case = first_case(page, finished)
        page.goto(f"{case}/decide")
        page.click("#open-report")
        page.wait_for_selector("h1")
        assert page.pdf().startswith(b"%PDF-")


def test_two_tabs_of_one_plan(browser, served):
    with tab(browser) as one, tab(browser) as other:
        one.goto(served.address)
        to_the_plan(Clicks(one), exact=False)
        other.goto(one.url)
        one.click("#chip-0-1")
        one.wait_for_selector("#chip-0-1", state="detached")
        other.click("#chip-0-1")
        other.wait_for_selector(".alert")
        assert "another tab" in other.inner_text(".alert")
        other.click("#add-0-Rounding")
        other.wait_for_selector("#chip-0-1")
        other.goto(one.url)
        assert other.locator(".chip").all_inner_texts()[1].startswith("round to 5")


def test_a_dropped_file_and_hostile_files(browser, served):
    with tab(browser) as page:
        page.goto(served.address)
        drop(page, "ragged.csv", "a,b\n1,2\n1,2,3\n")
        page.wait_for_selector("#opening.alert")
        assert "Line 3 has 3 values" in page.inner_text("#opening")
        drop(page, "virus.exe", "MZ")
        until(lambda: "ends in" in page.inner_text("#opening"))
        head = f'"{NASTY.replace(chr(34), "")}","=1+1","a\u202eb",secret\n'
        rows = "".join(f"{NASTY[:8]}{i % 3},{'x' * 50_000},{i % 2},{'ny'[i % 2]}\n" for i in range(30))
        drop(page, f"{NASTY[:20]}.csv", head + rows)
        page.wait_for_url("**/columns")
        assert "alert('x')" in page.inner_text("table")
        page.click("#next")
        page.wait_for_selector(".gauges li, .foresight .alert")


def drop(page: Any, name: str, text: str) -> None:
    """Drops a file on the page."""
    page.evaluate(
        """([name, text]) => {
            const moved = new DataTransfer();
            moved.items.add(new File([text], name));
            const form = document.getElementById("open");
            for (const kind of ["dragover", "drop"]) {
                const how = {dataTransfer: moved, bubbles: true, cancelable: true};
                form.dispatchEvent(new DragEvent(kind, how));
            }
        }""",
        [name, text],
    )


def test_a_file_leads_into_the_page_and_nobody_sees_how(browser, server):
    with contextlib.closing(browser.new_page()) as page:
        page.goto(server.page.as_uri())
        page.wait_for_url(server.address)
        assert page.locator("input[type=file]").count()
        until(lambda: not server.page.parent.exists())
        page.reload()
        assert page.locator("input[type=file]").count()
        for _ in range(3):  # neither the file nor the ticket is in the history
            page.go_back()
        assert server.process.poll() is None
        page.goto(server.address)
        assert page.locator("input[type=file]").count()
    server.end()


def test_the_owner_reads_that_somebody_else_was_first(browser, server):
    assert ask(server.ticket)[0] == 200
    with contextlib.closing(browser.new_page()) as page:
        page.goto(server.page.as_uri() if server.page.exists() else server.ticket)
        page.wait_for_url(server.ticket)
        assert "somebody else used the ticket" in page.content()
    server.process.communicate(timeout=60)
    assert server.process.returncode != 0
    assert ask(server.address)[0] == 0
