import math

import numpy as np
import pytest

import tellall as ta


def tracing_of(scores, limit=0.0):
    scores = np.asarray(scores, dtype=float)
    return ta.Tracing(scores, limit, np.ones(scores.size), scores > limit, "single", "paper", 0.05, 1, 1)


def normal(shift, n, seed):
    rng = np.random.default_rng(seed)
    scores = np.concatenate([rng.normal(shift, 1, n), rng.normal(0, 1, n)])
    return ta.score(tracing_of(scores, 1.6449), np.arange(2 * n) < n)


def test_rates_auc_and_power_of_two_normal_laws():
    """10,000 on each side; each share is within five standard errors but for chance 6e-7."""
    risk = normal(2.0, 10_000, 0)
    assert isinstance(risk, ta.TracingRisk)
    se = 5 * 0.5 / math.sqrt(10_000)
    assert abs(risk.auc.value - 0.9214) < se
    assert abs(risk.true_positive_rate.value - 0.6388) < se
    assert abs(risk.power(0.01).value - 0.3721) < 3 * se  # the threshold is estimated too
    assert risk.traced == round(risk.true_positive_rate.value * 10_000)
    for share in (risk.auc, risk.power(0.01), risk.power(0.001), risk.false_positive_rate):
        assert share.low <= share.value <= share.high


def test_intervals_cover():
    """300 repeats: intervals of level 95 % that missed 12 % or more would do so with chance < 1e-6."""
    missed = {"auc": 0, "power": 0, "rate": 0}
    for seed in range(300):
        risk = normal(1.0, 200, [1, seed])
        missed["auc"] += not risk.auc.low <= 0.7602 <= risk.auc.high
        power = risk.power(0.05)
        missed["power"] += not power.low <= 0.2595 <= power.high
        rate = risk.false_positive_rate
        missed["rate"] += not rate.low <= 0.05 <= rate.high
    assert max(missed.values()) < 0.12 * 300, missed


def test_roc_rises_and_ends_at_one():
    curve = normal(1.0, 500, 3).roc(points=50)
    assert (np.diff(curve["false_positive_rate"]) >= 0).all()
    assert (np.diff(curve["true_positive_rate"]) >= 0).all()
    assert curve["true_positive_rate"][-1] == curve["false_positive_rate"][-1] == 1
    assert (curve["true_low"] <= curve["true_positive_rate"]).all()
    assert (curve["true_high"] >= curve["true_positive_rate"]).all()


def test_perfect_separation_keeps_an_interval():
    risk = ta.score(tracing_of([3, 2, -1, -2]), [1, 1, 0, 0])
    assert risk.auc.value == 1
    assert risk.auc.low < 0.5
    assert risk.power(0.001).value == 1
    assert risk.power(0.001).low < 0.5
    assert risk.epsilon().estimate == math.inf
    assert math.isfinite(risk.epsilon().lower)


@pytest.mark.parametrize(("members", "others"), [(1, 100), (100, 1), (2, 50), (5, 100), (1, 1)])
def test_few_people_have_a_wide_interval(members, others):
    """400 repeats without a difference: 95 % intervals miss 1/2 more than 48 times with chance < 1e-6."""
    rng = np.random.default_rng([members, others])
    truth = np.arange(members + others) < members
    found = [ta.score(tracing_of(rng.standard_normal(truth.size)), truth).auc for _ in range(400)]
    assert sum(not share.low <= 0.5 <= share.high for share in found) <= 48


def test_a_lone_member_says_little_about_others():
    """Seven in ten members score above everybody and three below: one of them proves neither."""
    outside = np.arange(100.0)
    for score, value in ((1000.0, 1.0), (-1.0, 0.0)):
        found = ta.score(tracing_of([score, *outside]), [1] + [0] * 100).auc
        assert found.value == value
        assert found.low <= 0.3 <= 0.7 <= found.high


def test_ties_count_half():
    assert ta.score(tracing_of([1, 1, 1, 1]), [1, 0, 1, 0]).auc.value == 0.5


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_a_mechanism_that_is_private_is_not_disproved(epsilon):
    """Randomised response is exactly ε: 400 bounds at 99.99 % exceed it once or more with chance 0.04,
    and twelve times or more with chance below 1e-20."""
    rng = np.random.default_rng(0)
    right = math.exp(epsilon) / (1 + math.exp(epsilon))
    above, best = 0, 0.0
    for _ in range(400):
        hits, alarms = rng.binomial(5000, right), rng.binomial(5000, 1 - right)
        lower = ta.disprove_epsilon(hits, 5000, alarms, 5000, confidence=0.9999).lower
        above += lower > epsilon
        best = max(best, lower)
    assert above < 12
    assert best > 0.8 * epsilon


def test_delta_is_taken_off():
    assert ta.disprove_epsilon(500, 1000, 0, 1000, delta=0.6).lower < 0.2
    assert ta.disprove_epsilon(0, 10, 10, 10).lower == 0


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: ta.score(tracing_of([1, 2]), [1, 1]), "some True and some False"),
        (lambda: ta.score(tracing_of([1, 2]), [1, 2]), "one of True and False"),
        (lambda: ta.score(tracing_of([1, 2]), [1, 0, 1]), "one of True and False"),
        (lambda: ta.disprove_epsilon(5, 3, 0, 3), "true_positives must be from 0 to 3"),
        (lambda: ta.disprove_epsilon(0, 3, 0, 0), "false_positives must be"),
        (lambda: ta.disprove_epsilon(1, 3, 0, 3, delta=1.0), "delta must be"),
        (lambda: ta.disprove_epsilon(1, 3, 0, 3, confidence=1.0), "confidence must be"),
        (lambda: ta.score(tracing_of([1, 2]), [1, 0]).power(0), "rate must be"),
    ],
)
def test_bad_input_is_one_sentence(call, says):
    with pytest.raises(ta.InvalidInput, match=says):
        call()


@pytest.mark.parametrize("weird", ["a", None, True, [0.5], 0.5j, float("nan")])
def test_rates_are_numbers_between_0_and_1(weird):
    rng = np.random.default_rng(0)
    people = np.where(rng.random((40, 50)) < 0.5, 1, -1)
    tracing = ta.trace(people[:10].mean(axis=0), people[:20], people[20:], delta=0.1, threshold="empirical")
    risk = ta.score(tracing, np.arange(20) < 10)
    for question in (
        risk.power,
        risk.seen,
        risk.epsilon,
        lambda value: risk.epsilon(confidence=value),
        lambda value: tracing.discoveries("a" if value is None else value),
        lambda value: ta.disprove_epsilon(1, 10, 0, 10, delta=value),
    ):
        with pytest.raises(
            ta.InvalidInput, match=r"must be a share (strictly between 0 and 1|from 0 to below 1)"
        ):
            question(weird)
    with pytest.raises(ta.InvalidInput, match="points must be a whole number of 2 or more"):
        risk.roc(weird)


@pytest.mark.parametrize("counts", [(1.5, 10, 0, 10), ("a", 10, 0, 10), (1, 10.5, 0, 10), (True, 10, 0, 10)])
def test_counts_of_people_are_whole(counts):
    with pytest.raises(ta.InvalidInput, match="true_positives must be whole numbers"):
        ta.disprove_epsilon(*counts)
    assert ta.disprove_epsilon(*np.array([1, 10, 0, 10])).lower == 0
