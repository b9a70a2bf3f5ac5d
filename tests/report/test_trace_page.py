import json

import numpy as np
import pytest

import tellall as ta
from tellall.core.records import read
from tellall.report.trace_figures import tracing_figures
from tellall.report.trace_page import TracingPage, render
from tellall.tracing.trace_files import MissingCalls, RiskFound
from tellall.tracing.tracing_risk import trace_by_attributes
from tellall.tracing.tracing_verdict import judge_tracing
from tests.report.pages import NASTY, Tags, browser_page, charts, fits_a_telephone, refuses_the_world


def people(d=1500, n=20, others=20, pool=30, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.05, 0.95, d)
    rows = (rng.random((n + others + pool, d)) < p).astype(np.int8)
    return rows[:n].mean(axis=0), rows[: n + others], rows[n + others :], np.arange(n + others) < n


def document(tracing, truth, figures, word=NASTY):
    """What a page shows, written and read again."""
    risk = None if truth is None else ta.score(tracing, truth)
    found = TracingPage(
        versions={"numpy": word},
        command=f"tellall trace --release {word}",
        release=word,
        people=None,
        notes=(word,),
        verdict=judge_tracing(tracing, risk),
        seed=0,
        attack=tracing.attack,
        threshold=tracing.rule,
        delta=tracing.delta,
        attributes=tracing.attributes,
        reference_people=tracing.reference_people,
        target_people=int(tracing.scores.size),
        missing_calls=MissingCalls(*tracing.missing_calls),
        targets_without_calls=tracing.without_calls,
        reference_people_lacking_calls=tracing.reference_lacking,
        exchangeability=tracing.exchangeability,
        traced=tracing.traced,
        named_at_false_discovery_rate=int(tracing.discoveries().sum()),
        risk=None if risk is None else RiskFound.of(risk, 0),
        figures=figures,
    )
    return read(TracingPage, json.dumps(found.as_json(), allow_nan=False), what="trace")


@pytest.mark.parametrize("threshold", ["empirical", "hoeffding"])
@pytest.mark.parametrize("known", [True, False])
def test_the_page_with_and_without_truth(known, threshold):
    means, targets, reference, truth = people()
    options = {"attack": "single", "coding": "bits", "threshold": threshold}
    tracing = ta.trace(means, targets, reference, **options)
    growth = trace_by_attributes(means, targets, reference, whole=tracing, **options)
    given = truth if known else None
    figures = tracing_figures(tracing, truth=given, growth=growth, reveal=True)
    found = document(tracing, given, figures)
    page = render(found)
    tags = Tags.of(page)
    refuses_the_world(tags)
    assert "alert('x')" in tags.text
    assert found.verdict.sentence in tags.text
    assert charts(page) == page.count("<details>") == (3 if known else 2)
    labels = {one.label.split(" (")[0] for one in figures[-1].series}
    assert labels >= ({"members", "others"} if known else {"targets"})
    assert ("reference people" in labels) == (threshold == "empirical")


def test_histograms_are_shares_and_the_roc_starts_and_ends_right():
    means, targets, reference, truth = people()
    tracing = ta.trace(means, targets, reference, attack="pool", threshold="empirical", coding="bits")
    roc, scores = tracing_figures(tracing, truth=truth)
    for series in scores.series:
        assert sum(series.y) == pytest.approx(1)
    curve = roc.series[0]
    assert (curve.x[0], curve.y[0]) == (0, 0)
    assert (curve.x[-1], curve.y[-1]) == (1, 1)
    assert all(low <= y <= high for low, y, high in zip(curve.low, curve.y, curve.high, strict=True))


def test_scores_of_members_stand_apart_only_if_asked():
    means, targets, reference, truth = people()
    tracing = ta.trace(means, targets, reference, attack="pool", threshold="empirical", coding="bits")
    scores = tracing_figures(tracing, truth=truth)[-1]
    assert scores.as_json() == tracing_figures(tracing, truth=~truth)[-1].as_json()
    assert {one.label for one in scores.series} == {"targets (40)", "reference people (30)"}
    told = tracing_figures(tracing, truth=truth, reveal=True)[-1]
    assert {one.label for one in told.series} == {"members (20)", "others (20)", "reference people (30)"}
    assert "SECRET" in told.caption
    assert "SECRET" not in scores.caption


def test_a_summary_of_risk_holds_no_score():
    means, targets, reference, truth = people()
    tracing = ta.trace(means, targets, reference, attack="pool", threshold="empirical", coding="bits")
    plain = json.dumps(RiskFound.of(ta.score(tracing, truth), 0).as_json(), allow_nan=False)
    assert "threshold" not in plain
    assert not any(repr(score) in plain for score in tracing.scores.tolist())


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_browser_has_nothing_to_say_and_nothing_to_ask(tmp_path, scheme):
    means, targets, reference, truth = people()
    tracing = ta.trace(means, targets, reference, attack="pool", threshold="empirical", coding="bits")
    path = tmp_path / "report.html"
    path.write_text(render(document(tracing, truth, tracing_figures(tracing, truth=truth))), encoding="utf-8")
    shown, messages = browser_page(path, scheme, lambda page: page.inner_text("body"))
    assert messages == [path.as_uri()]
    assert "alert('x')" in shown
    fits_a_telephone(path)
