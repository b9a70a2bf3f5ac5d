import json

import numpy as np
import pytest

import tellall as ta
from tellall.attack.trace.risk import trace_by_attributes
from tellall.attack.trace.verdict import chance_of_so_many, judge_tracing
from tellall.report.trace_figures import tracing_figures
from tellall.report.trace_page import render, summarise_risk
from tests.report.pages import NASTY, Tags, browser_page, charts, fits_a_telephone, refuses_the_world


def people(d=1500, n=20, others=20, pool=30, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.05, 0.95, d)
    rows = (rng.random((n + others + pool, d)) < p).astype(np.int8)
    return rows[:n].mean(axis=0), rows[: n + others], rows[n + others :], np.arange(n + others) < n


def document(tracing, truth, figures, word=NASTY):
    risk = None if truth is None else ta.score(tracing, truth)
    verdict = judge_tracing(tracing, risk)
    return {
        "tellall": ta.__version__,
        "versions": {"numpy": word},
        "release": word,
        "command": f"tellall trace --release {word}",
        "seed": 0,
        "attack": tracing.attack,
        "threshold": tracing.rule,
        "delta": tracing.delta,
        "attributes": tracing.attributes,
        "reference_people": tracing.reference_people,
        "target_people": int(tracing.scores.size),
        "people": None,
        "notes": [word],
        "traced": tracing.traced,
        "named_at_false_discovery_rate": int(tracing.discoveries().sum()),
        "risk": None if risk is None else summarise_risk(risk, 0),
        "verdict": {"word": verdict.word, "sentence": verdict.sentence},
        "figures": [figure.as_json() for figure in figures],
    }


@pytest.mark.parametrize("threshold", ["empirical", "hoeffding"])
@pytest.mark.parametrize("known", [True, False])
def test_the_page_with_and_without_truth(known, threshold):
    means, targets, reference, truth = people()
    options = {"attack": "single", "coding": "bits", "threshold": threshold}
    tracing = ta.trace(means, targets, reference, **options)
    growth = trace_by_attributes(means, targets, reference, whole=tracing, **options)
    given = truth if known else None
    figures = tracing_figures(tracing, truth=given, growth=growth, reveal=True)
    plain = json.loads(json.dumps(document(tracing, given, figures), allow_nan=False))
    page = render(plain)
    tags = Tags.of(page)
    refuses_the_world(tags)
    assert "alert('x')" in tags.text
    assert plain["verdict"]["sentence"] in tags.text
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


def tracing_of(scores, p_values, member, *, delta=0.05, rule="hoeffding", pool=59):
    scores = np.asarray(scores, float)
    return ta.Tracing(
        scores, 0.0, np.asarray(p_values, float), np.asarray(member, bool), "pool", rule, delta, 100, pool
    )


def test_the_verdict_in_words():
    none = np.zeros(100, bool)
    quiet = tracing_of(np.arange(100), np.linspace(0.06, 1, 100), none)
    assert judge_tracing(quiet).word == "not traced"
    assert "does not prove" in judge_tracing(quiet).sentence
    few = tracing_of(np.arange(100), np.linspace(0.04, 1, 100), np.arange(100) < 4)
    assert judge_tracing(few).word == "not traced"
    many = tracing_of(
        np.arange(100), np.r_[np.full(25, 0.04), np.ones(75)], np.arange(100) < 25, rule="empirical"
    )
    assert judge_tracing(many).word == "partly traced"
    sure = tracing_of(np.arange(100), np.r_[np.full(20, 1e-6), np.ones(80)], np.arange(100) < 20)
    assert judge_tracing(sure).word == "traced"
    assert "20 of 100 targets" in judge_tracing(sure).sentence
    poor = tracing_of(np.arange(100), np.ones(100), none, rule="empirical", pool=5)
    assert judge_tracing(poor).word == "inconclusive"


def test_the_verdict_where_the_truth_is_known():
    truth = np.arange(100) < 50
    sure = tracing_of(np.where(truth, 1, 0) + np.linspace(0, 0.1, 100), np.ones(100), truth)
    assert judge_tracing(sure, ta.score(sure, truth)).word == "traced"
    silent = tracing_of(sure.scores, np.ones(100), np.zeros(100, bool))
    assert judge_tracing(silent, ta.score(silent, truth)).word == "partly traced"
    rng = np.random.default_rng(0)
    blind = tracing_of(rng.normal(size=100), np.ones(100), np.zeros(100, bool))
    assert judge_tracing(blind, ta.score(blind, truth)).word == "not traced"


def test_a_summary_of_risk_holds_no_score():
    means, targets, reference, truth = people()
    tracing = ta.trace(means, targets, reference, attack="pool", threshold="empirical", coding="bits")
    plain = json.dumps(summarise_risk(ta.score(tracing, truth), 0), allow_nan=False)
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


def test_so_many_by_chance_is_rarely_called_partly_traced():
    """1,000 targets share 59 reference people and nobody was in: the verdict errs in 1 % of 2,000 cases.

    A true rate of 1 % gives 41 or more (2 % and more) with probability below 1e-4; the seed is fixed. The
    binomial law, which forgets that the reference people are shared, would err in about a fifth.
    """
    rng = np.random.default_rng(0)
    words = []
    for _ in range(2000):
        scores, pool = rng.random(1000), rng.random(59)
        p_values = (1 + (pool >= scores[:, None]).sum(axis=1)) / 60
        words.append(judge_tracing(tracing_of(scores, p_values, p_values <= 0.05, rule="empirical")).word)
    assert 0 < words.count("partly traced") <= 40
    assert words.count("traced") == 0


@pytest.mark.parametrize(
    ("people", "pool", "traced"), [(1000, 59, 60), (30, 19, 1), (5, 99, 5), (40, 199, 9)]
)
def test_the_chance_of_so_many_is_beta_binomial(people, pool, traced):
    from scipy.stats import betabinom

    tracing = tracing_of(
        np.zeros(people), np.ones(people), np.arange(people) < traced, rule="empirical", pool=pool
    )
    rank = int(0.05 * (pool + 1) + 1e-9)
    expected = betabinom.sf(traced - 1, people, rank, pool + 1 - rank)
    assert chance_of_so_many(tracing) == pytest.approx(expected, rel=1e-9)


def test_targets_without_calls_are_not_counted_as_not_named():
    means, targets, reference, truth = people(d=300)
    targets, reference = targets.astype(float), reference.astype(float)
    targets[[21, 25]] = np.nan
    options = {"attack": "single", "coding": "bits", "threshold": "empirical", "delta": 0.1}
    tracing = ta.trace(1 - means, targets[20:], reference, **options)
    verdict = judge_tracing(tracing)
    assert verdict.word == "not traced"
    assert "18 targets" in verdict.sentence
    assert verdict.sentence.endswith("2 targets have no call at all, and nothing is said of them.")
    whole = ta.trace(means, targets, reference, **options)
    assert judge_tracing(whole, ta.score(whole, truth)).sentence.endswith("nothing is said of them.")


def test_reference_people_without_calls_settle_nothing():
    means, targets, reference, _ = people()
    reference = reference.astype(float)
    reference[:3, 10:] = np.nan
    options = {"attack": "pool", "coding": "bits", "threshold": "empirical", "delta": 0.1}
    verdict = judge_tracing(ta.trace(means, targets, reference, **options))
    assert verdict.word == "inconclusive"
    assert verdict.sentence.startswith("3 of 30 reference people lack nearly all calls")
    assert judge_tracing(ta.trace(means, targets, reference[3:], **options)).word == "traced"
