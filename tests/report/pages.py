"""Looking at a page: its tags, its words, and what a browser makes of it."""

from __future__ import annotations

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
    """No script, no style but its own, nothing that loads from anywhere."""
    names = {tag for tag, _ in tags.seen}
    assert not names & {"script", "img", "iframe", "object", "link", "a", "form", "image", "use"}
    for _, attributes in tags.seen:
        assert not any(name.startswith("on") or name in ("style", "src", "href") for name in attributes)
        assert all(
            "(#" in (value or "") for name, value in attributes.items() if "url(" in (value or "") and name
        )
    policy = next(a["content"] for _, a in tags.seen if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'; style-src 'sha256-")


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
