"""Outputs that exist, in Chromium: from two kinds of files to a decision, by clicks and by keyboard."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pandas as pd
import pytest

from tests.serve.test_browser import (
    _WAIT,
    Clicks,
    axe,
    browser,
    press,
    served,
    tab,
    tab_to,
    violations,
)
from tests.serve.test_outputs import as_csv, people, wrong

pytestmark = pytest.mark.browser
MOST_CLICKS = 14
__all__ = ["axe", "browser", "served"]


def outputs() -> dict[str, bytes]:
    """Four outputs: one to be asked about, one with a wrong number, one about another column, and a table."""
    frame = people()
    wards = pd.crosstab(frame.ward, frame.ill)
    ill = frame.groupby("ward").ill.apply(lambda one: int((one == "yes").sum()))
    return {
        "by ward.csv": as_csv(pd.crosstab([frame.ward, frame.sex], frame.ill, margins=True)),
        "ill.csv": as_csv(ill.to_frame("n")),
        "old.csv": as_csv(wrong(wards)),
        "pay.csv": as_csv(frame.groupby("ward").pay.mean().round(2).to_frame()),
    }


def test_from_people_and_outputs_to_a_decision_in_under_fifteen_clicks(browser, served):
    with tab(browser) as page:
        page.goto(served.address)
        click = Clicks(page)
        click.choose("clinic.csv", as_csv(people(), index=False))
        click("#to-outputs")
        page.wait_for_selector("text=What are these outputs?")  # the page before has a chooser, too
        click.count += 1  # the chooser of the outputs, all at once
        files = [
            {"name": name, "mimeType": "text/csv", "buffer": content} for name, content in outputs().items()
        ]
        page.set_input_files("#file", files)
        page.wait_for_selector("#output-3", timeout=_WAIT)
        words = page.inner_text("#outputs")
        assert "Counts of ill by ward and sex" in words
        assert "another version of the data?" in words
        assert "it says nothing about the secret" in words
        click("#answer-1-1")  # which of several it is
        page.wait_for_selector("text=As you said")
        click("text=Add a table, a mean or a regression")
        click("input[name=kind][value=regression]")
        click("input[name=column][value='2']")
        click("#add-one")
        page.wait_for_selector("#added-0")
        click("#run")
        page.wait_for_selector(".verdict.review, .verdict.fail", timeout=_WAIT)
        assert "old.csv" in page.inner_text("section.verdict")
        click("#to-decide")
        page.fill("#by", "A. Checker")
        page.fill("#comment", "The old table stays here.")
        click("#one-by-one summary")
        page.select_option("#output-2", "reject")
        click.count += 1  # that choice
        click("#accept")
        page.wait_for_selector(".decision")
        assert click.count <= MOST_CLICKS, click.count
        assert "Rejected: old.csv, lines 1 to 5." in page.inner_text("main")
        with page.expect_download() as record:
            page.click("#export-decision")
        decided = tomllib.loads(Path(record.value.path()).read_text(encoding="utf-8"))
        assert decided["decision"]["decision"] == "publish"
        assert sorted(set(decided["decision"]["outputs"].values())) == ["do not publish", "publish"]
        with page.expect_download() as numbers:
            page.click("#export-audit")
        audit = json.loads(Path(numbers.value.path()).read_text(encoding="utf-8"))
        assert [one["read"] for one in audit["outputs"]] == [True, True, False, False]
        assert audit["command"].startswith("tellall audit outputs --data clinic.csv --secret ill")


def test_outputs_by_keyboard_alone(browser, served, tmp_path):
    (tmp_path / "clinic.csv").write_bytes(as_csv(people(), index=False))
    for name, content in outputs().items():
        (tmp_path / name).write_bytes(content)
    with tab(browser) as page:
        page.on("filechooser", lambda _: None)
        page.goto(served.address)
        for several, address in (([tmp_path / "clinic.csv"], "columns"), (list(outputs()), "outputs")):
            tab_to(page, "#file")
            with page.expect_file_chooser() as chooser:
                page.keyboard.press("Space")
            chooser.value.set_files([tmp_path / name for name in several])
            page.wait_for_url(f"**/{address}")
            if address == "columns":
                press(page, "#to-outputs")
                page.wait_for_url("**/outputs")
        page.wait_for_selector("#answer-1-1", timeout=_WAIT)
        press(page, "#answer-1-1")
        page.wait_for_selector("text=As you said")
        focus = page.evaluate("document.activeElement?.id")
        assert focus == "answer-1-1"  # one stays where one was
        press(page, "#run")
        page.wait_for_selector("section.verdict", timeout=_WAIT)
        press(page, "#to-decide")
        page.wait_for_url("**/decide")
        tab_to(page, "#comment")
        page.keyboard.type("By keyboard.")
        press(page, "#reject")
        page.wait_for_selector(".decision")


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_about_outputs_and_nothing_sticks_out(browser, served, axe, width, scheme):
    with tab(browser, width, scheme) as page:
        page.goto(served.address)
        click = Clicks(page)
        click.choose("clinic.csv", as_csv(people(), index=False))
        click("#to-outputs")
        page.wait_for_url("**/outputs")
        assert violations(page, axe) == []
        files = [
            {"name": name, "mimeType": "text/csv", "buffer": content} for name, content in outputs().items()
        ]
        page.set_input_files("#file", files)
        page.wait_for_selector("#output-3", timeout=_WAIT)
        beyond = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert violations(page, axe) == []
        assert page.evaluate(beyond) == 0
        click("#run")
        page.wait_for_selector("section.verdict", timeout=_WAIT)
        for step in ("verdict", "fix", "decide"):
            page.goto(f"{page.url.rpartition('/')[0]}/{step}")
            page.wait_for_load_state("networkidle")
            assert violations(page, axe) == [], step
            assert page.evaluate(beyond) == 0, step
