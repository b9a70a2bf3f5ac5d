"""Every page in Chromium: axe finds nothing, nothing sticks out, nothing is asked for or said."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tellall as ta
from tellall.audits.document import AuditDocument, read_audit
from tellall.privacy.bounds.table import BoundsFound
from tellall.report.audit_page import render
from tellall.report.promise_pages import render_bounds, render_limit, render_profile
from tellall.report.study_page import render_calibration, render_sweep
from tellall.report.trace_figures import tracing_figures
from tellall.report.trace_page import TracingPage
from tellall.report.trace_page import render as render_trace
from tellall.tracing.trace_files import Publishable
from tests.report import test_trace_page as tracings
from tests.report.pages import CHROMIUM, axe_core
from tests.report.test_causes import document
from tests.report.test_promise_pages import limit_found, profile
from tests.report.test_study_page import calibrated, swept

__all__ = ["calibrated", "document", "profile", "swept"]

pytestmark = pytest.mark.browser
_LARGEST = 400_000  # bytes of a page: small enough to be sent by mail


def by_area() -> AuditDocument:
    """An audit of three areas, one of them too small to attack."""
    rng = np.random.default_rng(0)
    frame = {f"c{j}": rng.integers(0, 2, 61) for j in range(4)}
    frame |= {"county": np.array(["a", "b"] * 30 + ["c"]), "ill": rng.integers(0, 2, 61)}
    people = ta.Dataset.from_frame(frame, secret="ill")
    plan = {"by": "county", "releases": [{"name": "tables", "statistic": {"kind": "Marginals", "ways": 3}}]}
    return ta.audit(people, plan).content


def traced() -> TracingPage:
    means, targets, reference, truth = tracings.people()
    tracing = ta.trace(means, targets, reference, attack="pool", threshold="empirical", coding="bits")
    made = tracings.document(tracing, truth, tracing_figures(tracing, truth=truth), "means.csv")
    limit = Publishable(40, True, "About 40 means can be published.", 0.05, 0.01, 1000)
    return replace(made, limit=limit)


@pytest.fixture(scope="module")
def pages(document, swept, calibrated, profile) -> dict[str, str]:
    bounds = BoundsFound.of(ta.bounds.table(1000, 8, 3, 1.0, 1e-6), "tellall bounds")
    return {
        "audit": render(read_audit(document)),
        "areas": render(by_area()),
        "sweep": render_sweep(swept),
        "calibrate": render_calibration(calibrated),
        "trace": render_trace(traced()),
        "profile": render_profile(profile),
        "limit": render_limit(limit_found()),
        "bounds": render_bounds(bounds),
    }


@pytest.fixture(scope="module")
def axe(tmp_path_factory) -> str:
    return axe_core(tmp_path_factory.mktemp("axe"))


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


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_and_nothing_sticks_out(browser, pages, axe, tmp_path, width, scheme):
    """The pages forbid every script, so axe looks at them without the policy and nothing else changed."""
    for name, text in pages.items():
        assert len(text.encode()) < _LARGEST, name
        path = tmp_path / f"{name}.html"
        path.write_text(re.sub(r"<meta http-equiv[^>]*>", "", text), encoding="utf-8")
        shown = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        shown.goto(path.as_uri())
        shown.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        shown.evaluate(axe)
        run = "axe.run().then(r => r.violations.map(v => [v.impact, v.id, v.nodes.map(n => n.html)]))"
        assert shown.evaluate(run) == [], name
        beyond = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert shown.evaluate(beyond) == 0, name
        shown.close()


def test_nothing_is_said_or_asked_for_and_every_page_prints(browser, pages, tmp_path):
    for name, text in pages.items():
        path = tmp_path / f"{name}.html"
        path.write_text(text, encoding="utf-8")
        shown, heard = browser.new_page(), []
        shown.on("console", lambda message, heard=heard: heard.append(message.text))
        shown.on("request", lambda request, heard=heard: heard.append(request.url))
        shown.goto(path.as_uri())
        assert heard == [path.as_uri()], name
        assert shown.pdf().startswith(b"%PDF"), name
        shown.close()


@pytest.mark.parametrize("width", [390, 1280])
def test_no_table_of_a_report_has_to_be_pushed_sideways(browser, pages, tmp_path, width):
    """Nor does one that is folded away, once it is opened."""
    for name, text in pages.items():
        path = tmp_path / f"{name}.html"
        path.write_text(text, encoding="utf-8")
        shown = browser.new_page(viewport={"width": width, "height": 900})
        shown.goto(path.as_uri())
        shown.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        wide = (
            "[...document.querySelectorAll('.wide')].filter(one => one.scrollWidth > one.clientWidth)"
            ".map(one => one.ariaLabel)"
        )
        assert shown.evaluate(wide) == [], name
        shown.close()


def test_the_first_screen_answers_the_three_questions(browser, pages, tmp_path):
    path = tmp_path / "audit.html"
    path.write_text(pages["audit"], encoding="utf-8")
    shown = browser.new_page(viewport={"width": 1280, "height": 900})
    shown.goto(path.as_uri())
    for question in ("May this be published?", "What do I change?", "Who would be hurt?"):
        box = shown.locator(f"[role=group][aria-label='{question}']").bounding_box()
        assert box["y"] + box["height"] < 900, question
    shown.close()
