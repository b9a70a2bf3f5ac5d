"""Every protection with every statistic that it fits: publish, attack, score, save and load."""

import math

import numpy as np
import pytest
from tests.conftest import first_fast, random_people

import tellall as ta
from tellall.attack.baselines import population, typical
from tellall.attack.secret import Bit, Category
from tellall.protections.additive import Laplace, TruncatedNormal
from tellall.protections.calibrated import Combined, SuLQ, Trivial, WalshNoise
from tellall.protections.concentration import Dominance, PPercent
from tellall.protections.discrete import DiscreteGaussian, Geometric
from tellall.protections.keyed import CellKey, Complement
from tellall.protections.magnitudes import MultiplicativeNoise, TopCoding
from tellall.protections.mixture import Corruption
from tellall.protections.protection import Exact, Sum, guarantee_of, is_random
from tellall.protections.record_changes import Subsample, Swapping
from tellall.protections.rounding import Rounding
from tellall.protections.suppression import Suppression
from tellall.protections.synthetic import SyntheticData
from tellall.release import catalogue
from tellall.statistics.marginals import Tables
from tellall.testing import check_protection

TABLE = {-1: 0.25, 0: 0.5, 1: 0.25}
ANYWHERE = [
    Exact(),
    ta.Gaussian(1.0),
    Laplace(0.7),
    TruncatedNormal(1.0, 2.0),
    DiscreteGaussian(0.8),
    Geometric(0.6),
    Rounding(3),
    Rounding(4, ties="up"),
    Rounding(4, ties="away"),
    Rounding(4, ties="unknown"),
    Rounding(3, "random"),
    Rounding(3, "controlled"),
    Corruption(0.05, 10.0),
    Sum((Rounding(2), ta.Gaussian(0.5))),
    Suppression(4),
    Suppression(4, complementary=True),
    Suppression(1e9),
    Swapping(0.1),
    Complement(0.05),
    Subsample(0.5),
    Trivial(),
    [Subsample(0.8), Rounding(3), Suppression(4)],
]
NUMBERS_ONLY = [
    TopCoding(1.0),
    MultiplicativeNoise(0.2),
    Dominance(1, 0.5),
    PPercent(20.0, complementary=True),
]
TABLES_ONLY = [
    CellKey(TABLE, key=3),
    SuLQ(2.0, 1e-3),
    WalshNoise(std=2.0),
    WalshNoise(epsilon=20.0),
    WalshNoise(epsilon=2.0, delta=1e-3),
    Combined(),
    SyntheticData(2.0, 2),
    [SuLQ(5.0, 1e-3), Rounding(3, "controlled")],
]
PEOPLE = random_people(60, 5, seed=4)
MARGINALS = [ta.Marginals(2), ta.Marginals(3), ta.Marginals(2, scale="fractions")]


def _name(value):
    return value.describe() + value.scale if hasattr(value, "describe") else repr(value)


def test_no_kind_of_protection_is_left_out():
    tried = {type(p).__name__ for entry in [*ANYWHERE, *TABLES_ONLY, *NUMBERS_ONLY] for p in _listed(entry)}
    assert set(catalogue.kinds("protection")) == tried


@pytest.mark.parametrize("protect", [*ANYWHERE, *TABLES_ONLY, CellKey(TABLE), ta.Gaussian(0.0)], ids=repr)
def test_what_calls_itself_random_is(protect):
    """On 80 cells: twelve equal draws of what is random are unheard of."""
    releases = [ta.publish(PEOPLE, ta.Marginals(3), protect, rng=seed) for seed in range(12)]
    same = all(np.array_equal(releases[0].values, one.values, equal_nan=True) for one in releases)
    assert is_random(releases[0].protections) != same


def test_what_is_filled_in_is_saved_and_not_asked_for():
    for kind in (Subsample, Swapping, Complement):
        assert list(catalogue.parameters(kind)) == ["fraction"]
    assert "spread_within" not in catalogue.parameters(ta.Estimator)
    assert list(catalogue.parameters(SuLQ)) == ["epsilon", "delta"]
    assert list(catalogue.parameters(WalshNoise)) == ["std", "epsilon", "delta"]
    for protect in (Subsample(0.5), Swapping(0.1), SuLQ(1, 0.1), WalshNoise(std=1)):
        prepared = protect.prepare(ta.Marginals(2), PEOPLE.public)
        assert catalogue.build("protection", catalogue.to_plain(prepared)) == prepared


@pytest.mark.parametrize(
    "plain",
    [
        {"kind": "Subsample", "fraction": 0.5, "people": "all"},
        {"kind": "Subsample", "fraction": 0.5, "people": 0},
        {"kind": "Swapping", "fraction": 0.5, "unit": -1.0},
        {"kind": "Complement", "fraction": 0.5, "people": True},
        {"kind": "SuLQ", "epsilon": 1.0, "delta": 0.1, "noise": 3},
        {"kind": "SuLQ", "epsilon": 1.0, "delta": 0.1, "noise": {"kind": "Trivial"}},
        {"kind": "WalshNoise", "std": 1.0, "ways": 2.5},
        {"kind": "WalshNoise", "std": 1.0, "noise": {"kind": "Rounding", "base": 5}},
        {"kind": "CellKey", "table": [["a", 1]]},
        {"kind": "CellKey", "tabel": []},
        {"kind": "TruncatedNormal", "scale": 1.0},
        {"kind": "Sum", "parts": [3]},
    ],
    ids=str,
)
def test_hostile_files_are_refused(plain):
    with pytest.raises(ta.InvalidInput):
        catalogue.build("protection", plain)


def _listed(protect):
    return protect if isinstance(protect, list) else [protect]


@pytest.mark.parametrize("statistic", first_fast(reversed(MARGINALS), 2), ids=_name)
@pytest.mark.parametrize("protect", [*ANYWHERE, *TABLES_ONLY], ids=_name)
def test_tables_are_published_attacked_and_scored(protect, statistic, tmp_path):
    release = ta.publish(PEOPLE, statistic, protect, rng=1)
    assert release.values.shape == (statistic.size(PEOPLE.public),)
    assert not np.isinf(release.values).any()
    again = ta.publish(PEOPLE, statistic, protect, rng=1)
    assert np.array_equal(release.values, again.values, equal_nan=True)
    loaded = ta.Release.load(release.save(tmp_path / "release.json"))
    assert catalogue.label(loaded.protections) == catalogue.label(release.protections)
    assert np.array_equal(loaded.values, release.values, equal_nan=True)
    for held in (release, loaded):
        evidence = ta.linearise(held, PEOPLE.public)
        assert np.isfinite(evidence.std).all()
        assert not np.isnan(evidence.target).any()
    attack = ta.reconstruct(loaded, PEOPLE.public, rng=0)
    assert attack.status.word in ("solved", "trusted", "uncalibrated")
    reference = population([release.statistic], PEOPLE.public, PEOPLE.secret, Bit())
    usual = typical(PEOPLE.secret, Bit())
    risk = ta.score(attack, PEOPLE.secret, [usual] if reference is None else [usual, reference], rng=0)
    assert 0 <= risk.accuracy <= 1
    assert -1 <= risk.advantage <= 1
    promised = guarantee_of(release.protections, statistic, PEOPLE.public)
    assert promised is None or (promised.epsilon >= 0 and promised.relation == "one row replaced")


@pytest.mark.parametrize("protect", ANYWHERE, ids=_name)
@pytest.mark.parametrize("statistic", [ta.Means(), ta.Means(scale="counts")], ids=_name)
def test_means_are_published_and_traced(protect, statistic):
    release = ta.publish(PEOPLE, statistic, protect, rng=1)
    assert release.values.shape == (5,)
    assert release.noise.std >= 0
    if statistic.scale == "counts" or np.isnan(release.values).any():
        return  # tracing takes means, all of them
    outsiders = np.random.default_rng(0).integers(0, 2, (40, 5))
    targets = np.vstack([PEOPLE.public.codes.T[:20], outsiders[:20]])
    tracing = ta.trace(np.clip(release.values, 0, 1), targets, outsiders[20:], coding="bits", delta=0.1)
    risk = ta.score(tracing, np.repeat([1, 0], 20))
    assert risk is not None


@pytest.mark.parametrize(
    "protect",
    [
        p
        for p in [*ANYWHERE, *TABLES_ONLY]
        if not any(isinstance(q, Complement | WalshNoise) for q in _listed(p))
    ],
    ids=_name,
)
def test_secrets_of_three_values_are_protected_too(protect):
    rng = np.random.default_rng(7)
    people = ta.Dataset.from_arrays(rng.integers(0, 2, (45, 5)), rng.permutation(np.arange(45) % 3))
    release = ta.publish(people, ta.Marginals(2), protect, rng=1)
    assert release.values.size == 5 * 2 * 3
    attack = ta.reconstruct(release, people.public, rng=0)
    assert attack.guess.shape == (45,)
    assert attack.confidence.min() >= 1 / 3
    reference = population([release.statistic], people.public, people.secret, Category(3))
    assert ta.score(attack, people.secret, [typical(people.secret, Category(3)), reference]).accuracy <= 1


@pytest.mark.parametrize("protect", [Complement(0.1), WalshNoise(std=1.0)], ids=_name)
def test_what_is_for_bits_refuses_three_values(protect):
    people = ta.Dataset.from_arrays(np.eye(6, dtype=int), [0, 1, 2, 0, 1, 2])
    with pytest.raises(ta.InvalidInput, match="two values"):
        ta.publish(people, ta.Marginals(2), protect)


@pytest.mark.parametrize("protect", [CellKey(TABLE), SuLQ(1, 0.1), WalshNoise(std=1), Combined()], ids=_name)
def test_a_protection_that_does_not_fit_says_so(protect):
    with pytest.raises(ta.InvalidInput, match="one that fits the statistic"):
        ta.publish(PEOPLE, ta.Means(), protect)


@pytest.mark.parametrize(
    "protect",
    [p for p in [*ANYWHERE, *TABLES_ONLY] if not isinstance(p, list | Corruption | Exact)],
    ids=_name,
)
def test_protections_keep_their_laws(protect):
    check_protection(protect)


def test_changed_records_are_for_counts():
    class Coefficients(ta.Means):
        counts_people = False

    for protect in (Swapping(0.1), Subsample(0.5), Complement(0.1)):
        with pytest.raises(ta.InvalidInput, match="fits counts of people; got Coefficients"):
            ta.publish(PEOPLE, Coefficients(), protect)


def test_a_release_that_shows_nothing_teaches_nothing():
    for protect in (Suppression(1e9), Trivial()):
        release = ta.publish(PEOPLE, ta.Marginals(3), protect)
        attack = ta.reconstruct(release, PEOPLE.public)
        assert ta.linearise(release, PEOPLE.public).target.size == 0
        assert np.ptp(attack.estimate) < 1e-9
        assert ta.score(attack, PEOPLE.secret, [typical(PEOPLE.secret, Bit())]).accuracy == pytest.approx(0.5)


def test_scale_zero_is_the_exact_release():
    exact = ta.publish(PEOPLE, ta.Marginals(3)).values
    for protect in (
        ta.Gaussian(0),
        Laplace(0),
        DiscreteGaussian(0),
        Geometric(0),
        TruncatedNormal(0, 1),
        Rounding(1, "random"),
        Rounding(1, "controlled"),
        Suppression(0, complementary=True),
        Swapping(0),
        Subsample(1),
        Corruption(0, 5),
        Complement(0),
        CellKey({0: 1.0}),
        WalshNoise(std=0),
    ):
        release = ta.publish(PEOPLE, ta.Marginals(3), protect, rng=0)
        assert release.values == pytest.approx(exact, abs=1e-9), protect
        attack = ta.reconstruct(release, PEOPLE.public)
        assert attack.status.settled, protect


@pytest.mark.parametrize("mode", ["nearest", "random", "controlled"])
def test_rounding_that_changes_no_count_is_no_protection(mode):
    for base, scale in ((1, "counts"), (0.5, "counts"), (1 / 60, "fractions"), (1 / 120, "fractions")):
        release = ta.publish(PEOPLE, ta.Marginals(3, scale=scale), Rounding(base, mode), rng=0)
        assert release.noise == Exact()
        exact = ta.publish(PEOPLE, ta.Marginals(3, scale=scale))
        assert release.values == pytest.approx(exact.values)
        guesses = [ta.reconstruct(one, PEOPLE.public).guess for one in (release, exact)]
        assert np.array_equal(*guesses)
    for base, scale in ((2, "counts"), (0.3, "counts"), (0.02, "fractions")):
        assert ta.publish(PEOPLE, ta.Marginals(3, scale=scale), Rounding(base, mode)).noise.std > 0
    after = ta.publish(PEOPLE, ta.Marginals(3), [ta.Gaussian(2.0), Rounding(1, mode)])
    assert after.noise.std > 2  # what is no whole number is rounded
    assert ta.publish(PEOPLE, ta.Means(), Rounding(1 / 60, mode)).noise.std > 0


def test_records_change_before_values():
    with pytest.raises(ta.InvalidInput, match="changes to records before"):
        ta.publish(PEOPLE, ta.Marginals(2), [Rounding(5), Subsample(0.5)])
    few = random_people(5, 6, seed=1)  # more tables than people: the combined mechanism samples
    with pytest.raises(ta.InvalidInput, match="changes to records before"):
        ta.publish(few, ta.Marginals(3), [Rounding(5), Combined()])


def test_bare_values_are_refused_where_people_are_needed():
    for protection in (Swapping(0.1), Subsample(0.5), Combined(), SuLQ(1, 0.1), WalshNoise(std=1)):
        with pytest.raises(ta.InvalidInput, match="with publish"):
            protection.perturb(np.ones(3))


@pytest.mark.parametrize(
    ("protect", "tolerance"),
    [
        (ta.Gaussian(2.0), 0.05),
        (Rounding(6, "random"), 0.06),  # whole counts: √((36 − 1)/6) instead of √(36/6)
        (Rounding(6, "controlled"), 0.06),
        (Corruption(0.1, 10.0), 0.1),
        (CellKey({-2: 0.2, 0: 0.6, 2: 0.2}), 0.05),
        (Swapping(0.2), 0.15),
        (Subsample(0.5), 0.1),
        (Complement(0.1), 0.15),
        (SuLQ(3.0, 1e-3), 0.05),
        (WalshNoise(std=4.0), 0.1),
        (WalshNoise(epsilon=30.0), 0.1),
        ([Subsample(0.5), ta.Gaussian(3.0)], 0.1),
    ],
    ids=_name,
)
def test_errors_are_as_large_as_declared(protect, tolerance):
    # fixed seeds; the tolerance covers what the docstrings call approximate
    people = random_people(300, 8, seed=2)
    _compare(people, ta.Marginals(3), protect, tolerance)


@pytest.mark.parametrize("function", ["xor", "or", "and"])
@pytest.mark.parametrize("protect", [Swapping(0.2), Subsample(0.5), Complement(0.1)], ids=_name)
def test_errors_of_changed_records_are_known_for_predicates_too(protect, function):
    _compare(random_people(300, 8, seed=2), ta.Predicates(function, 3), protect, 0.2)


def _compare(people, statistic, protect, tolerance):
    """The errors of forty releases against their declared spread."""
    exact = ta.linearise(ta.publish(people, statistic), people.public).target
    seen, declared = [], []
    for seed in range(40):
        fresh = CellKey(protect.table, key=seed) if isinstance(protect, CellKey) else protect
        evidence = ta.linearise(ta.publish(people, statistic, fresh, rng=seed), people.public)
        seen.append(np.mean((evidence.target - exact) ** 2))
        declared.append(np.mean(evidence.std**2))
    assert math.sqrt(np.mean(seen) / np.mean(declared)) == pytest.approx(1, abs=tolerance)


MASKS = np.random.default_rng(3).random((40, 60)) < 0.5
OTHERS = [
    ta.Predicates("xor", 3),
    ta.SubsetCounts(["a0 == 1", "a1 == 0"]),
    ta.ErrorRates([lambda row: row["a0"], lambda row: row["a1"]]),
    ta.Predicates("and", 3, scale="fractions"),
    ta.SubsetCounts(MASKS),
    ta.ErrorRates([lambda row: MASKS[0][: len(row)], lambda row: row["a1"]], MASKS[1], scale="counts"),
]


@pytest.mark.parametrize("statistic", first_fast(OTHERS, 3), ids=_name)
@pytest.mark.parametrize("protect", [*ANYWHERE, SuLQ(2.0, 1e-3)], ids=_name)
def test_other_statistics_are_published_and_attacked(protect, statistic):
    release = ta.publish(PEOPLE, statistic, protect, rng=1)
    evidence = ta.linearise(release, PEOPLE.public)
    assert np.isfinite(evidence.std).all()
    attack = ta.reconstruct(release, PEOPLE.public, rng=0)
    assert attack.status.word in ("solved", "trusted", "uncalibrated")
    assert ta.score(attack, PEOPLE.secret, [typical(PEOPLE.secret, Bit())]).accuracy >= 0


@pytest.mark.parametrize(
    "statistic",
    [
        ta.SubsetCounts([*MASKS[:5], "a0 == 1"]),
        ta.SubsetCounts(MASKS, scale="fractions"),
        ta.ErrorRates([lambda row: MASKS[0][: len(row)], "a1 == 1"]),  # predictions by place
        ta.ErrorRates([lambda row: row["a0"]], MASKS[1], scale="counts"),
        ta.ErrorRates([lambda row: row["a0"]], MASKS[1]),
    ],
    ids=_name,
)
def test_a_sample_of_people_named_by_place_counts_the_same_people(statistic):
    settled = statistic.settle(PEOPLE.public)
    kept = Subsample(0.5).chosen(60, 3)
    shown = ta.publish(PEOPLE, statistic, Subsample(0.5), rng=3).values
    # the statistic without its equations: from predictions and memberships person by person
    rows = settled.equations(PEOPLE.public, np.zeros(settled.size(PEOPLE.public)))
    coefficients = rows.operator.to_dense()[:, kept]
    if isinstance(statistic, ta.SubsetCounts):
        counts = coefficients @ PEOPLE.secret[kept]
        expected = counts / 30 if statistic.scale == "fractions" else 2 * counts
    else:  # a known error of a predicted yes, on the people of the subset who are kept
        member = np.ones(60, dtype=bool) if statistic.subset is None else MASKS[1]
        predicted = (coefficients < 0) & member[kept]
        counts = predicted.sum(axis=1) + coefficients @ PEOPLE.secret[kept]
        expected = counts / member[kept].sum() if statistic.scale == "fractions" else 2 * counts
    assert shown == pytest.approx(expected)


def test_a_sample_that_misses_a_subset_shows_nothing_of_it():
    alone = np.zeros(60, dtype=bool)
    alone[next(place for place in range(60) if place not in Subsample(0.5).chosen(60, 3))] = True
    statistic = ta.ErrorRates(["a0 == 1"], alone)
    assert np.isnan(ta.publish(PEOPLE, statistic, Subsample(0.5), rng=3).values).all()
    assert ta.publish(PEOPLE, ta.SubsetCounts([alone]), Subsample(0.5), rng=3).values.tolist() == [0.0]


@pytest.mark.parametrize("protect", [*ANYWHERE, CellKey(TABLE), SuLQ(2.0, 1e-3), Combined()], ids=_name)
def test_tables_of_public_columns_are_protected_by_table(protect):
    release = ta.publish(PEOPLE, Tables(2), protect, rng=1)
    assert release.values.size == 40
    if protect == Rounding(3, "controlled"):
        assert np.ptp(release.values.reshape(10, 4).sum(axis=1)) == 0
