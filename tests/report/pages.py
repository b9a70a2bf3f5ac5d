"""Looking at a page: its tags, its words, and what a browser makes of it."""

from __future__ import annotations

import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

NASTY = "<script>alert('x')</script>\"&amp;'--><img src=http://e.invalid/x onerror=alert(1)>"
CHROMIUM = "/usr/bin/chromium"


class Tags(HTMLParser):
    """Every tag with its attributes, and the text."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""

    @classmethod
    def of(cls, page: str) -> Tags:
        tags = cls()
        tags.feed(page)
        return tags

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text += data


def refuses_the_world(tags: Tags) -> None:
    """No script, no style but its own, nothing that loads from anywhere; links stay within the page."""
    names = {tag for tag, _ in tags.seen}
    assert not names & {"script", "img", "iframe", "object", "link", "form", "image", "use"}
    places = {attributes["id"] for _, attributes in tags.seen if "id" in attributes}
    for tag, attributes in tags.seen:
        assert not any(name.startswith("on") or name in ("style", "src") for name in attributes)
        if tag == "a":
            assert attributes["href"].startswith("#")
            assert attributes["href"][1:] in places
        else:
            assert "href" not in attributes
        assert all(
            "(#" in (value or "") for name, value in attributes.items() if "url(" in (value or "") and name
        )
    policy = next(a["content"] for _, a in tags.seen if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'; style-src 'sha256-")


def charts(page: str) -> int:
    """How many charts a page has; each is drawn twice, for a desk and for a telephone, but for small ones."""
    broad, slim, small = (page.count(f'<svg class="{kind}"') for kind in ("broad", "slim", "small"))
    assert broad == slim == (page.count('role="img"') - small) / 2
    return broad


def fits_a_telephone(path: Path) -> None:
    """Nothing sticks out of a screen of 390 pixels, and the words of charts can be read there."""

    def look(page):
        page.set_viewport_size({"width": 390, "height": 800})
        beyond = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        sizes = (
            "[...document.querySelectorAll('svg[role=img]')].filter(s => s.getBoundingClientRect().width)"
            ".map(s => 12 * s.getBoundingClientRect().width / s.viewBox.baseVal.width)"
        )
        return page.evaluate(beyond), page.evaluate(sizes)

    (beyond, sizes), _ = browser_page(path, "light", look)
    assert beyond == 0
    assert sizes
    assert min(sizes) >= 10


def axe_core(folder: Path) -> str:
    """The text of axe-core, fetched into a folder; skips the test where it cannot be fetched."""
    if shutil.which("npm") is None:
        pytest.skip("there is no npm to fetch axe-core with")
    npm = ["npm", "install", "--silent", "--no-save", "--fetch-retries", "0", "--prefix", str(folder)]
    subprocess.run([*npm, "axe-core"], capture_output=True, timeout=120, check=False)
    script = folder / "node_modules" / "axe-core" / "axe.min.js"
    if not script.is_file():
        pytest.skip("axe-core cannot be fetched here")
    return script.read_text(encoding="utf-8")


def browser_page(path: Path, scheme: str, body):
    """Whatever `body` finds on the page as a browser shows it, with messages and requests."""
    playwright = pytest.importorskip("playwright.sync_api")
    if not Path(CHROMIUM).exists():
        pytest.skip("there is no chromium on this machine")
    options = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=options)
        page = browser.new_page(viewport={"width": 1000, "height": 900}, color_scheme=scheme)
        messages: list[str] = []
        page.on("console", lambda message: messages.append(message.text))
        page.on("pageerror", lambda error: messages.append(str(error)))
        page.on("dialog", lambda dialog: messages.append("dialog"))
        page.on("request", lambda request: messages.append(request.url))
        page.goto(path.as_uri())
        try:
            return body(page), messages
        finally:
            browser.close()
