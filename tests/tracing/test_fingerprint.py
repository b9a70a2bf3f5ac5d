"""The fingerprinting attack with known means, against sums over everybody whom the population can have."""

from itertools import product

import numpy as np
import pytest

import tellall as ta
from tellall.core.errors import InvalidInput


def score_by_hand(y, q, p, alpha):
    total = 0.0
    for one, published, known in zip(y, q, p, strict=True):
        weight = published - known
        weight = weight if alpha is None else min(max(weight, -2 * alpha), 2 * alpha)
        total += (one - known) * weight
    return total


@pytest.mark.parametrize("alpha", [None, 0.1])
@pytest.mark.parametrize("delta", [0.3, 0.05, 0.01])
def test_its_level_holds_exactly_over_every_outsider(alpha, delta):
    """All 2^12 outsiders with their chances: whatever is published, no more than δ of them are named."""
    rng = np.random.default_rng(0)
    everybody = np.array(list(product((-1, 1), repeat=12)), dtype=np.int8)
    for _ in range(5):
        p, q = rng.uniform(-0.95, 0.95, 12), rng.uniform(-1, 1, 12)
        found = ta.fingerprint(q, everybody, p, delta=delta, alpha=alpha)
        chances = ((1 + everybody * p) / 2).prod(axis=1)
        assert chances[found.member].sum() <= delta
        by_hand = [score_by_hand(y, q, p, alpha) for y in everybody[:50]]
        np.testing.assert_allclose(found.scores[:50], by_hand, rtol=1e-9, atol=1e-9)
        for level in (0.2, 0.6):  # p-values are as large as they say
            assert chances[found.p_values <= level].sum() <= level


def test_codings_and_suppressed_means_and_names_agree():
    rng = np.random.default_rng(1)
    p = rng.uniform(-0.9, 0.9, 300)
    people = np.where(rng.random((20, 300)) < (1 + p) / 2, 1, -1)
    q = people[:10].mean(axis=0)
    plain = ta.fingerprint(q, people, p)
    bits = ta.fingerprint((q + 1) / 2, (people + 1) // 2, (p + 1) / 2, coding="bits")
    np.testing.assert_allclose(bits.scores, plain.scores, atol=1e-9)
    assert bits.threshold == pytest.approx(plain.threshold)
    hidden = np.where(np.arange(300) % 3 == 0, np.nan, q)
    shown = ta.fingerprint(hidden, people, p)
    kept = np.flatnonzero(~np.isnan(hidden))
    np.testing.assert_allclose(shown.scores, ta.fingerprint(q[kept], people[:, kept], p[kept]).scores)
    names = [f"v{j}" for j in range(300)]
    columns = dict(zip(names, people.T, strict=True))
    turned = {name: columns[name] for name in reversed(names)}
    named = ta.fingerprint(dict(zip(names, q, strict=True)), turned, p)
    np.testing.assert_allclose(named.scores, plain.scores)


def test_missing_calls_add_nothing():
    rng = np.random.default_rng(2)
    p = rng.uniform(0.1, 0.9, 40)
    people = (rng.random((5, 40)) < p).astype(float)
    q = people[:3].mean(axis=0)
    gaps = people.copy()
    gaps[4, :10] = np.nan
    whole, fewer = (ta.fingerprint(q, one, p, coding="bits").scores for one in (people, gaps))
    np.testing.assert_allclose(whole[:4], fewer[:4])
    rest = ta.fingerprint(q[10:], people[4:, 10:], p[10:], coding="bits").scores
    np.testing.assert_allclose(fewer[4:], rest)


def test_known_means_are_worth_more_than_one_reference_person():
    """n = 30, d = 6,000: the same people, the same δ."""
    rng = np.random.default_rng(3)
    n, d, shares = 30, 6_000, {"known": [], "single": []}
    for _ in range(10):
        p = rng.uniform(-1, 1, d)
        people = np.where(rng.random((n + 1, d)) < (1 + p) / 2, 1, -1)
        q = people[:n].mean(axis=0)
        shares["known"].append(ta.fingerprint(q, people[:n], p).traced / n)
        single = ta.trace(q, people[:n], people[n:], threshold="hoeffding")
        shares["single"].append(single.traced / n)
    assert np.mean(shares["known"]) > np.mean(shares["single"]) + 0.3
    assert "hoeffding" in repr(ta.fingerprint(q, people, p))


def test_what_does_not_fit_is_named():
    people, q = np.ones((3, 4)), np.zeros(4)
    for more, words in (
        ({"population": np.zeros(3)}, "population must be 4 means"),
        ({"population": np.array([0.0, np.nan, 0.0, 0.0])}, "population must be 4 means"),
        ({"population": np.full(4, 1.5)}, "population must be means that attributes can have"),
        ({"population": np.zeros(4), "coding": "reals"}, "coding must be"),
        ({"population": np.zeros(4), "delta": 1.0}, "delta must be"),
        ({"population": np.zeros(4), "alpha": 0.0}, "alpha must be"),
    ):
        with pytest.raises(InvalidInput, match=words):
            ta.fingerprint(q, people, **more)
