"""What a threshold tells: values that are not shown lie in intervals, and decoders use them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.conftest import first_fast

import tellall as ta
from tellall.attack.prove.proof import Proof
from tellall.attack.reconstruct.attack import reconstruct_from
from tellall.evidence.bounds import Bounds
from tellall.evidence.evidence import Evidence
from tellall.evidence.hidden import Threshold, threshold_of
from tellall.evidence.undo import possible_counts
from tellall.evidence.written import whole_rounding
from tellall.protections.protection import Exact, apply

HIDDEN_BEFORE_AND_AFTER = [
    [ta.Suppression(4)],
    [ta.Suppression(3.5)],
    [ta.Suppression(4), ta.Rounding(3)],
    [ta.Suppression(4), ta.Gaussian(2)],
    [ta.Rounding(3), ta.Suppression(5)],
    [ta.Rounding(4), ta.Suppression(4)],
    [ta.Rounding(3, mode="random"), ta.Suppression(4)],
    [ta.TruncatedNormal(1.0, 2.0), ta.Suppression(5)],
    [ta.CellKey({-1: 0.25, 0: 0.5, 1: 0.25}), ta.Suppression(4)],
    [ta.Rounding(2), ta.TruncatedNormal(1.0, 2.0), ta.Suppression(5)],
]


def some_people(seed: int, *, levels: int = 2, n: int = 60) -> ta.Dataset:
    rng = np.random.default_rng(seed)
    return ta.Dataset.from_arrays(rng.integers(0, 3, (n, 4)), rng.integers(0, levels, n))


def some_subsets(
    seed: int, n: int = 150, rows: int = 300, size: int = 20
) -> tuple[ta.Dataset, ta.SubsetCounts]:
    rng = np.random.default_rng(seed)
    masks = np.zeros((rows, n), dtype=bool)
    for mask in masks:
        mask[rng.choice(n, size, replace=False)] = True
    secret = (rng.random(n) < 0.25).astype(int)
    return ta.Dataset.from_arrays(rng.integers(0, 2, (n, 10)), secret), ta.SubsetCounts(masks)


def attack(release: ta.Release, people: ta.Dataset, decoder: str, *, intervals: bool = True):
    """What the decoder makes of it after the bounds alone, with or without what is known of hidden values."""
    evidence = ta.linearise(release, people.public)
    if not intervals:
        nothing = np.where(np.isnan(release.values), np.inf, 0.0)
        evidence = Evidence(
            tuple(
                replace(
                    part.shown,
                    bounds=Bounds(part.bounds.low - nothing, part.bounds.high + nothing),
                    sums=None,
                )
                for part in evidence.parts
            )
        )
    return reconstruct_from(evidence, people.public, (release,), decoder, proof=Proof.of_bounds(evidence))


STATISTICS = [ta.Marginals(3), ta.Marginals(3, scale="fractions"), ta.Predicates("and", 3)]


@pytest.mark.parametrize(
    ("statistic", "protect"),
    [
        (statistic, protect)
        for statistic in STATISTICS
        for protect in HIDDEN_BEFORE_AND_AFTER
        # a cell key is for counts in tables
        if statistic == STATISTICS[0] or not any(isinstance(each, ta.CellKey) for each in protect)
    ],
    ids=repr,
)
def test_the_truth_lies_in_every_interval(protect, statistic):
    scale = 60 if getattr(statistic, "scale", "") == "fractions" else 1
    fit = [_in_units(protection, scale) for protection in protect]
    seen = 0
    for seed in range(8):
        people = some_people(seed) if isinstance(statistic, ta.Marginals) else _bits(seed)
        release = ta.publish(people, statistic, fit, rng=seed)
        intervals = ta.linearise(release, people.public).parts[0].hidden
        if intervals is None:
            continue
        off = np.abs(intervals.operator @ people.secret.astype(float) - intervals.rows.target)
        assert (off <= intervals.rows.bound + 1e-9).all()
        seen += intervals.rows.target.size
    assert seen > 0


def _in_units(protection, scale):
    if scale == 1:
        return protection
    if isinstance(protection, ta.Suppression):
        return ta.Suppression(protection.below / scale)
    return protection.scaled(1 / scale)


def _bits(seed: int) -> ta.Dataset:
    rng = np.random.default_rng(seed)
    return ta.Dataset.from_arrays(rng.integers(0, 2, (40, 6)), rng.integers(0, 2, 40))


def test_truth_of_several_values_lies_in_every_interval():
    people = some_people(1, levels=4)
    release = ta.publish(people, ta.Marginals(3), ta.Suppression(4))
    intervals = ta.linearise(release, people.public).parts[0].hidden
    secret = np.concatenate([(people.secret == value).astype(float) for value in range(4)])
    assert (np.abs(intervals.operator @ secret - intervals.rows.target) <= intervals.rows.bound).all()
    assert np.isnan(release.values).sum() > intervals.rows.target.size > 50


def test_the_interval_of_a_hidden_pair_is_what_both_cells_leave():
    # 12 people of one kind, 7 with the secret, under 9 hidden: 4 to 8 have it
    people = ta.Dataset.from_arrays([[0]] * 12 + [[1]] * 30, [1] * 7 + [0] * 5 + [1] * 15 + [0] * 15)
    release = ta.publish(people, ta.Marginals(2), ta.Suppression(9))
    assert np.isnan(release.values).tolist() == [True, True, False, False]
    evidence = ta.linearise(release, people.public)
    intervals = evidence.parts[0].hidden
    assert (abs(intervals.rows.target[0]), intervals.rows.slack.tolist(), intervals.rows.bound.tolist()) == (
        6,
        [2.5],
        [2],
    )
    assert evidence.target.size == 2  # suppressed cells have no row
    assert evidence.enclosure.lower.tolist() == [4, 15]
    assert evidence.enclosure.upper.tolist() == [8, 15]


def test_what_says_no_more_than_the_sizes_is_left_out():
    people = some_people(0)
    assert ta.linearise(ta.publish(people, ta.Marginals(3)), people.public).parts[0].hidden is None
    everything = ta.publish(people, ta.Marginals(3), ta.Suppression(1000))
    assert ta.linearise(everything, people.public).parts[0].hidden is None
    complementary = ta.publish(people, ta.Marginals(3), ta.Suppression(4, complementary=True))
    assert ta.linearise(complementary, people.public).parts[0].hidden is None
    with_sizes = ta.publish(people, ta.Marginals(1), ta.Suppression(30))  # one shown cell tells the other
    assert np.isnan(with_sizes.values).sum() == 1
    assert ta.linearise(with_sizes, people.public).parts[0].hidden is None


def test_the_largest_hidden_count_is_exact():
    assert Threshold(10, 1, Exact(), Exact()).most_hidden == 9
    assert Threshold(9.5, 1, Exact(), Exact()).most_hidden == 9
    for n in (7, 10, 30, 49, 100, 997):
        for count in range(1, n):
            assert Threshold(count / n, n, Exact(), Exact()).most_hidden == count - 1
            assert Threshold(np.nextafter(count / n, 1), n, Exact(), Exact()).most_hidden == count


def test_only_a_known_rule_gives_a_threshold():
    class Mine(ta.Protection):
        law = Exact()
        hides = True

        def perturb(self, values, rng=None, context=None):
            return np.where(values < 20, np.nan, values)

    class Unsaid(Mine):
        law = ta.Unknown()
        hides = False

    assert threshold_of((ta.Gaussian(1),), 1) is None
    assert threshold_of((ta.Suppression(3), Mine()), 1) is None
    assert threshold_of((ta.Suppression(3), Unsaid()), 1) is None
    assert threshold_of((Unsaid(), ta.Suppression(3)), 1) is None
    assert threshold_of((ta.Suppression(3), ta.Suppression(5)), 1) == threshold_of((ta.Suppression(5),), 1)
    assert threshold_of((ta.Suppression(3), ta.Gaussian(1), ta.Suppression(5)), 1) is None
    assert threshold_of((ta.Suppression(3), ta.Suppression(5, complementary=True)), 1) is None
    assert threshold_of((ta.Suppression(3, complementary=True),), 1) is None
    assert threshold_of((ta.Gaussian(1), ta.Suppression(3)), 1).complete
    assert not threshold_of((ta.Gaussian(1), ta.Suppression(3), ta.Gaussian(1)), 1).complete


@pytest.mark.parametrize("decoder", first_fast(["posterior", "lp"]))
@pytest.mark.parametrize(
    "protect",
    [[ta.Suppression(6)], [ta.Gaussian(1), ta.Suppression(6)], [ta.Suppression(6), ta.Gaussian(1)]],
    ids=repr,
)
def test_hidden_counts_of_subsets_give_people_away(protect, decoder):
    right = {True: 0.0, False: 0.0}
    for seed in range(3):
        people, statistic = some_subsets(seed)
        release = ta.publish(people, statistic, protect, rng=seed)
        for intervals in right:
            found = attack(release, people, decoder, intervals=intervals)
            right[intervals] += (found.guess == people.secret).mean() / 3
    assert right[True] > right[False] + 0.015
    assert right[True] > 0.88


def test_least_squares_leaves_the_intervals_out():
    people, statistic = some_subsets(5)
    release = ta.publish(people, statistic, ta.Suppression(5))
    with_, without = (attack(release, people, "least-squares", intervals=each) for each in (True, False))
    assert with_.stats.keys() == without.stats.keys()
    assert with_.evidence.operator.shape == without.evidence.operator.shape
    assert with_.evidence.rank == without.evidence.rank


def test_the_rate_is_not_misled_by_showing_only_what_is_large():
    error = {True: 0.0, False: 0.0}
    for seed in range(6):
        people, statistic = some_subsets(seed)
        release = ta.publish(people, statistic, [ta.Gaussian(1), ta.Suppression(7)], rng=seed)
        for intervals in error:
            found = attack(release, people, "least-squares", intervals=intervals)
            error[intervals] += (found.prior - people.secret.mean()) / 6
    assert error[False] > 0.1
    assert abs(error[True]) < 0.02


@pytest.mark.parametrize("releases", first_fast([4, 10]))
def test_confidences_hold_where_noise_decides_what_is_shown(releases):
    # fixed seeds; 150 people in each release, within four standard errors
    confidence, right, words = [], [], []
    for seed in range(releases):
        people, statistic = some_subsets(seed + 50)
        release = ta.publish(people, statistic, [ta.Gaussian(2), ta.Suppression(6)], rng=seed)
        found = ta.reconstruct(release, people.public)
        words.append(found.status.word)
        if found.status.settled:
            confidence.append(found.confidence)
            right.append(found.guess == people.secret)
    assert words.count("trusted") >= releases / 2
    sure, ok = np.concatenate(confidence), np.concatenate(right)
    for low, high in ((0.5, 0.7), (0.7, 0.9), (0.9, 1.01)):
        chosen = (sure >= low) & (sure < high)
        error = np.sqrt((sure[chosen] * (1 - sure[chosen])).sum()) / chosen.sum()
        assert abs(ok[chosen].mean() - sure[chosen].mean()) < 4 * error


def test_an_outsider_can_declare_the_rule():
    people, statistic = some_subsets(7)
    values = ta.publish(people, statistic, ta.Suppression(5)).values
    declared = ta.Release.from_values(statistic, values, public=people.public, protect=ta.Suppression(5))
    plain = ta.Release.from_values(statistic, values, public=people.public)
    assert ta.linearise(plain, people.public).parts[0].hidden is None
    assert (ta.reconstruct(declared, people.public).guess == people.secret).all()
    with pytest.raises(ta.InvalidInput, match="protect must be left out"):
        ta.Release.from_values(
            statistic, values, public=people.public, noise=ta.Gaussian(1), protect=ta.Suppression(5)
        )


def test_values_that_no_secret_hides_are_contradictory():
    people = ta.Dataset.from_arrays([[0]] * 30 + [[1]] * 30, [1] * 15 + [0] * 15 + [1] * 15 + [0] * 15)
    values = np.array([np.nan, np.nan, 15, 15])  # of 30 people one of the two cells has 15 or more
    release = ta.Release.from_values(
        ta.Marginals(2), values, public=people.public, protect=ta.Suppression(10)
    )
    assert ta.reconstruct(release, people.public).status.word == "contradictory"


@pytest.mark.parametrize("ties", ["even", "up", "away", "unknown"])
@pytest.mark.parametrize("base", [1, 2, 3, 4, 5, 10])
def test_rounded_whole_counts_are_within_their_bounds_and_the_bounds_are_reached(base, ties):
    rules = ["even", "up"] if ties == "unknown" else [ties]
    counts = np.tile(np.arange(60.0), len(rules))
    rounded = np.concatenate([ta.Rounding(base, ties=rule).perturb(np.arange(60.0)) for rule in rules])
    start = np.full(counts.size, base / 2)
    law = ta.Rounding(base, ties=ties)
    std, bound, slack = whole_rounding(law, rounded, start / 3**0.5, start, start)
    assert (np.abs(rounded - counts) <= bound).all()
    for value in np.unique(rounded[rounded < 50])[1:]:
        chosen = rounded == value
        assert np.abs(rounded - counts)[chosen].max() == bound[chosen][0]
    assert np.array_equal(slack, bound + 0.5)
    assert np.allclose(std, slack / 3**0.5)


def test_other_noise_is_left_as_it_is():
    given = tuple(np.full(3, size) for size in (1.0, 2.0, 2.5))
    for noise in (ta.Rounding(5, mode="random"), ta.Rounding(2.5), ta.Gaussian(1.0), Exact()):
        assert whole_rounding(noise, np.array([0.0, 5.0, 10.0]), *given) == given
    not_multiples = whole_rounding(ta.Rounding(5), np.array([0.0, 5.0, 11.0]), *given)
    assert not_multiples == given


def test_the_truth_lies_in_every_interval_of_very_many():
    # rows are told apart by random projections: of some ten thousand none may be taken for another
    rng = np.random.default_rng(2)
    people = ta.Dataset.from_arrays(rng.integers(0, 5, (1500, 8)), rng.integers(0, 2, 1500))
    release = ta.publish(people, ta.Marginals(4), [ta.Suppression(10), ta.Rounding(5)])
    intervals = ta.linearise(release, people.public).parts[0].hidden
    off = np.abs(intervals.operator @ people.secret.astype(float) - intervals.rows.target)
    assert intervals.rows.target.size > 3000
    assert (off <= intervals.rows.bound + 1e-9).all()


@pytest.mark.parametrize("n", [7, 10, 30, 49, 100])
@pytest.mark.parametrize("before", [(), (ta.Rounding(0.3),), (ta.Rounding(0.03),), (ta.Rounding(0.1),)])
def test_a_limit_that_is_a_count_up_to_rounding_excludes_no_hidden_count(n, before):
    """0.1 + 0.2 is above 3/10 by one digit: three of ten people are hidden."""
    counts = np.arange(n + 1)
    exact = [count / n for count in (1, 3, n // 2)]
    for limit in (0.1 + 0.2, 0.3, 0.9, 0.33, 0.7, *exact, *(np.nextafter(one, 1) for one in exact)):
        protect = [*before, ta.Suppression(limit)]
        shown = apply(protect, counts / n)
        found = possible_counts(shown, protect, float(n))
        assert (found.low <= counts).all()
        assert (counts <= found.high).all()
        if not before and np.isnan(shown).any():  # and not one more than can be hidden
            assert found.high[0] == Threshold(limit, n, Exact(), Exact()).most_hidden


def test_limits_after_inexact_sums_exclude_no_hidden_count():
    law, limit = ta.CellKey({-0.4: 0.5, 0.4: 0.5}), 0.3  # 0.7 − 0.4 is less by one digit
    assert possible_counts(np.array([np.nan]), [law, ta.Suppression(limit)], 10.0).high[0] == 7


@pytest.mark.parametrize("n", [2 * 10**7, 6 * 10**7, 10**8, 10**10])
def test_shares_of_many_people_exclude_no_true_count(n):
    half = np.array([n * (2 * m + 1) // 200 for m in range(100)])
    found = possible_counts(ta.Rounding(0.01).perturb(half / n), [ta.Rounding(0.01)], float(n))
    assert ((found.low <= half) & (half <= found.high)).all()
    counts = np.random.default_rng(0).integers(0, n, 5000)
    law = ta.CellKey({-0.05: 0.5, 0.05: 0.5})
    found = possible_counts(counts / n + 0.05, [law], float(n))
    assert ((found.low <= counts) & (counts <= found.high)).all()
