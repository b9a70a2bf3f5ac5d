"""Coverage on designs that no threshold was chosen on: skewed, heavy-tailed and two-humped numbers.

Thresholds of the rehearsal were chosen on the three designs of test_reals.py. CHECKED were tried while the
posterior's grid was mended; HELD were first tried when nothing was changed any more.
"""

import numpy as np
import pytest
from tests.attack.reconstruct.test_reals import NOISE, not_above

import tellall as ta


def people_of(columns, secret, names=None):
    return ta.Dataset.from_arrays(np.asarray(columns, dtype=float), secret, names=names)


def heavy_tails(rng):
    return people_of(rng.normal(size=(45, 60)), 50 + 2 * rng.standard_t(3, 45)), [
        ta.Estimator("linear", 1, True)
    ]


def overlapping_sums(rng):
    return people_of(rng.integers(0, 4, (140, 4)), rng.gamma(1.5, 20, 140)), [ta.Sums([1, 2, 3])]


def weighted_sums(rng):
    columns = np.column_stack([rng.integers(0, 3, (110, 4)), rng.integers(1, 6, 110)])
    pairs = [[a, b] for a in "abcd" for b in "abcd" if a < b]
    secret = 20 + columns[:, 1] * 4 + rng.normal(0, 5, 110)
    return people_of(columns, secret, list("abcdw")), [ta.Sums(3, pairs, weights="w")]


def two_humps(rng):
    secret = np.where(rng.random(75) < 0.5, 10, 30) + rng.normal(0, 2, 75)
    return people_of(rng.integers(0, 3, (75, 5)), secret), [ta.CellMeans(3, counts=True)]


def blocks(rng):
    columns = rng.normal(size=(130, 30))
    return people_of(columns, columns[:, :3] @ [4, 2, 1] + rng.normal(0, 6, 130)), [
        ta.Estimator("linear", 5, True)
    ]


def subgroups(rng):
    columns = np.column_stack([rng.integers(0, 4, 120), rng.integers(0, 3, 120), rng.normal(size=(120, 3))])
    fit = ta.Estimator("linear", blocks=[["x", "y", "z"]], intercept=True)
    parts = [(columns[:, 0] == g) & (columns[:, 1] == h) for g in range(4) for h in range(3)]
    secret = 5 + columns[:, 0] + columns[:, 2] + rng.normal(0, 3, 120)
    return people_of(columns, secret, list("ghxyz")), [(fit, part) for part in parts]


def uniform(rng):
    columns = rng.integers(0, 3, (80, 4))
    return people_of(columns, rng.uniform(0, 100, 80)), [ta.Sums(3), ta.Estimator("linear", 4, True)]


def skewed(rng):
    columns = rng.integers(0, 3, (100, 4))
    return people_of(columns, np.exp(2 + 0.5 * columns[:, 0] + 0.8 * rng.normal(size=100))), [ta.Sums(4)]


def many_people(rng):
    columns = rng.integers(0, 5, (400, 4))
    return people_of(columns, 100 + 3 * columns[:, 0] + rng.normal(0, 15, 400)), [ta.Sums(3)]


CHECKED = (
    heavy_tails,
    overlapping_sums,
    weighted_sums,
    two_humps,
    blocks,
    subgroups,
    uniform,
    skewed,
    many_people,
)


def exponential(rng):
    return people_of(rng.integers(0, 4, (55, 5)), rng.exponential(30, 55)), [ta.Sums(3)]


def peaked(rng):
    columns = rng.integers(0, 2, (70, 50))
    return people_of(columns, 10 * columns[:, 0] + rng.laplace(0, 4, 70)), [ta.Estimator("linear", 2, True)]


def tables_and_means(rng):
    columns = rng.integers(0, 6, (250, 3))
    secret = 70 + 5 * (columns[:, 0] > 2) + rng.normal(0, 9, 250)
    return people_of(columns, secret), [ta.Sums([2, 3]), ta.CellMeans(2)]


def outliers(rng):
    columns = np.column_stack([rng.integers(0, 3, (95, 3)), rng.normal(size=(95, 12))])
    secret = columns[:, 3] * 3 + rng.normal(0, 4, 95) + 20 * (rng.random(95) < 0.05)
    return people_of(columns, secret), [
        ta.Estimator("linear", 3, True),
        ta.Sums(3, [[0, 1], [1, 2], [0, 2]]),
    ]


def few_people(rng):
    return people_of(rng.integers(0, 3, (30, 4)), rng.normal(0, 2, 30)), [ta.Sums(3)]


def halves(rng):
    columns = np.column_stack([rng.integers(0, 2, 100), rng.normal(size=(100, 25))])
    fit = ta.Estimator("linear", 1, True)
    parts = [(fit, columns[:, 0] == half) for half in (0, 1)]
    return people_of(columns, columns[:, 1] + rng.normal(0, 2, 100)), [*parts, fit]


def very_skewed(rng):
    return people_of(rng.integers(0, 4, (160, 3)), np.exp(3 + rng.normal(size=160))), [ta.Sums([2, 3, 4])]


def strong_effects(rng):
    columns = rng.integers(0, 4, (120, 5))
    return people_of(columns, 8 * columns[:, 0] - 5 * columns[:, 1] + rng.normal(0, 2, 120)), [ta.Sums(3)]


def standard_errors(rng):
    columns = rng.normal(size=(90, 5))
    secret = columns @ [4, -3, 0, 1, 2] + rng.normal(0, 2, 90)
    return people_of(columns, secret), [ta.Estimator("linear", 5, True, standard_errors=True)]


def errors_of_some(rng):
    columns = rng.normal(size=(150, 6))
    secret = columns[:, :4] @ [3, -2, 1, 1] + rng.gamma(1, 3, 150)
    fit = ta.Estimator("linear", blocks=[[0, 1, 2]], intercept=True, standard_errors=True)
    return people_of(columns, secret), [fit]


def spread_by_group(rng):
    columns = rng.integers(0, 3, (120, 4))
    rest = rng.normal(0, 1, 120) * np.array([1, 3, 9])[columns[:, 0]]
    return people_of(columns, 50 + columns[:, 1] + rest), [ta.Sums(3)]


def spread_by_half(rng):
    columns = rng.integers(0, 3, (120, 4))
    rest = rng.normal(0, 1, 120) * np.where(columns[:, 0] > 0, 1, 6)
    return people_of(columns, 50 + rest), [ta.CellMeans(3, counts=True)]


HELD = (
    spread_by_group,
    spread_by_half,
    standard_errors,
    errors_of_some,
    exponential,
    peaked,
    tables_and_means,
    outliers,
    few_people,
    halves,
    very_skewed,
    strong_effects,
)


def tried(design, std, seeds):
    """The coverage of each settled run, and how much nearer the best baseline is in each."""
    inside, farther = [], []
    for seed in seeds:
        people, published = design(np.random.default_rng([seed, 77]))
        releases = []
        for number, one in enumerate(published):
            statistic, where = one if isinstance(one, tuple) else (one, None)
            noise = ta.Gaussian(std) if std else None
            releases.append(ta.publish(people, statistic, noise, rng=100 * seed + number, where=where))
        found = ta.reconstruct(releases, people.public)
        risk = ta.score(found, people.secret)
        farther.append(risk.error / risk.baselines[risk.baseline] - 1)
        if found.status.settled:
            low, high = found.interval.T
            inside.append(np.mean((low <= people.secret) & (people.secret <= high)))
    return inside, farther


@pytest.mark.slow
@pytest.mark.parametrize("std", NOISE)
@pytest.mark.parametrize("design", [*CHECKED, *HELD])
def test_coverage_on_fresh_designs(design, std):
    inside, farther = tried(design, std, range(20))
    assert not_above(farther)
    if len(inside) >= 10:
        room = 3 * np.std(inside, ddof=1) / np.sqrt(len(inside))
        assert np.mean(inside) >= 0.93 - room


@pytest.mark.parametrize("design", [skewed, two_humps])
def test_intervals_hold_on_a_fresh_design(design):
    """Two runs: coverage below 0.8 is no luck; see test_reals.py."""
    inside, farther = tried(design, 1.0, range(2))
    assert inside
    assert np.mean(inside) > 0.8
    assert np.mean(farther) < 0


def test_standard_errors_say_how_far_people_are_from_the_line():
    """Where public columns explain most, the spread about the line is what settles it."""
    people, (fit,) = standard_errors(np.random.default_rng(5))
    found = ta.reconstruct(ta.publish(people, fit), people.public)
    assert found.status.word == "trusted"
    low, high = found.interval.T
    half = np.median(high - low) / 2
    line = fit.values(people)[-1]
    assert half == pytest.approx(1.96 * line, rel=0.15)
    assert half < 0.6 * 1.96 * people.secret.std()
