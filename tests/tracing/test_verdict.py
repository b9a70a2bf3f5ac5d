"""The verdict on a tracing: its word, its sentence and its exit code."""

from dataclasses import replace

import numpy as np
import pytest

import tellall as ta
from tellall.tracing.tracing_verdict import chance_of_so_many, judge_tracing


def people(d=1500, n=20, others=20, pool=30, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.05, 0.95, d)
    rows = (rng.random((n + others + pool, d)) < p).astype(np.int8)
    return rows[:n].mean(axis=0), rows[: n + others], rows[n + others :], np.arange(n + others) < n


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
    assert verdict.sentence.endswith("2 targets have no calls at all; the attack says nothing about them.")
    whole = ta.trace(means, targets, reference, **options)
    assert judge_tracing(whole, ta.score(whole, truth)).sentence.endswith("nothing about them.")


def test_reference_people_without_calls_settle_nothing():
    means, targets, reference, _ = people()
    reference = reference.astype(float)
    reference[:3, 10:] = np.nan
    options = {"attack": "pool", "coding": "bits", "threshold": "empirical", "delta": 0.1}
    verdict = judge_tracing(ta.trace(means, targets, reference, **options))
    assert verdict.word == "inconclusive"
    assert verdict.sentence.startswith("3 of 30 reference people lack nearly all calls")
    assert judge_tracing(ta.trace(means, targets, reference[3:], **options)).word == "traced"


def test_only_an_inconclusive_tracing_has_another_exit_code():
    quiet = tracing_of(np.arange(100), np.ones(100), np.zeros(100, bool))
    poor = tracing_of(np.arange(100), np.ones(100), np.zeros(100, bool), rule="empirical", pool=5)
    same = replace(quiet, copies=50)
    codes = [judge_tracing(one).exit_code for one in (quiet, poor, same)]
    assert codes == [0, 3, 3]
    assert judge_tracing(quiet, doubtful=True).exit_code == 3
    assert "other allele's" in judge_tracing(same, doubtful=True).sentence
    assert [judge_tracing(one).kind for one in (quiet, poor)] == ["pass", "review"]
    assert str(judge_tracing(quiet)).startswith("Not traced. None of the 100 targets")
