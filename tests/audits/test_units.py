"""Units decide nothing: the same people, with their numbers in another unit, have the same verdict.

Every statistic of numbers, with every protection whose parameters in the unit of the secret go along, is
published, attacked and scored from 1e-15 to 1e15. In units that are powers of two nothing is rounded, so
everything is equal to the last bit; in powers of ten, as nearly as numbers can be written.
"""

from dataclasses import replace

import numpy as np
import pytest

import tellall as ta
from tellall.audits.trial import Planned
from tellall.protections.additive import Laplace, TruncatedNormal
from tellall.protections.concentration import Dominance, PPercent
from tellall.protections.discrete import DiscreteGaussian, Geometric
from tellall.protections.magnitudes import MultiplicativeNoise, TopCoding
from tellall.protections.mixture import Corruption
from tellall.protections.protection import Exact, Sum
from tellall.release import catalogue
from tests.conftest import first_fast

UNITS = [1e-15, 1e-9, 1e-3, 1e3, 1e9, 1e15]
NUMBERS = ["b", "age"]
STATISTICS = {
    "Sums": ta.Sums(3),
    "Sums with counts": ta.Sums(2, counts=True),
    "CellMeans": ta.CellMeans(4),
    "Extremes": ta.Extremes(4),
    "covariances": ta.Correlations("covariances", mean=True, columns=NUMBERS),
    "correlations": ta.Correlations(mean=True, variance=True, columns=NUMBERS),
    "linear": ta.Estimator("linear", blocks=[NUMBERS, ["b"], ["age", "C(place)[T.1]"]], intercept=True),
    "ridge": ta.Estimator("linear", blocks=[NUMBERS], intercept=True, penalty=1.0),
    "papers' rows": ta.Estimator("linear", blocks=[NUMBERS], intercept=True, weighting="paper"),
    "standard errors": ta.Estimator("linear", blocks=[NUMBERS], intercept=True, standard_errors=True),
}
PROTECTIONS = {
    "Exact": lambda unit: Exact(),
    "Gaussian": lambda unit: ta.Gaussian(0.3 * unit),
    "Laplace": lambda unit: Laplace(0.3 * unit),
    "TruncatedNormal": lambda unit: TruncatedNormal(0.3 * unit, 0.6 * unit),
    "DiscreteGaussian": lambda unit: DiscreteGaussian(0.8, 0.5 * unit),
    "Geometric": lambda unit: Geometric(0.8, 0.5 * unit),
    "Rounding": lambda unit: ta.Rounding(0.5 * unit),
    "random Rounding": lambda unit: ta.Rounding(0.5 * unit, "random"),
    "Sum": lambda unit: Sum((ta.Rounding(0.5 * unit), ta.Gaussian(0.1 * unit))),
    "Corruption": lambda unit: Corruption(0.05, 10.0 * unit),
    "Suppression": lambda unit: ta.Suppression(7.0 * unit),
    "TopCoding": lambda unit: TopCoding(6.0 * unit),
    "MultiplicativeNoise": lambda unit: MultiplicativeNoise(0.1),
    "Dominance": lambda unit: Dominance(1, 0.5),
    "PPercent": lambda unit: PPercent(20.0),
}
PEOPLE = {
    "incomes": lambda rng, n: rng.lognormal(1.0, 0.6, n),
    "signed": lambda rng, n: rng.normal(0.0, 3.0, n),
    "far from zero": lambda rng, n: 1e6 + 10 * rng.normal(size=n),
    "dates": lambda rng, n: 1.7e9 + 3e7 * rng.random(n),
    "all the same": lambda rng, n: np.full(n, 5.1),
    "all the same but one": lambda rng, n: np.where(np.arange(n) == 7, 6.3, 5.1),
    "all zero": lambda rng, n: np.zeros(n),
    "zero but one": lambda rng, n: np.where(np.arange(n) == 7, 6.3, 0.0),
}
MIXED = {"correlations"}  # numbers without a unit beside others with one: no noise goes along
PAIRS = [
    (statistic, protection)
    for statistic in STATISTICS
    for protection in PROTECTIONS
    if (protection not in ("Dominance", "PPercent") or statistic in ("Sums", "Sums with counts", "CellMeans"))
    and (statistic not in MIXED or protection in ("Exact", "TopCoding", "MultiplicativeNoise"))
    and (statistic != "Extremes" or protection != "Suppression")
]


def _later(pair):
    """Sums with everything and everything exact or rounded come first; the others are for slow tests."""
    return not (pair[0] == "Sums" or pair[1] in ("Exact", "Rounding"))


QUICK = sum(not _later(pair) for pair in PAIRS)


def people(unit, kind="incomes", n=48):
    rng = np.random.default_rng(5)
    frame = {name: rng.integers(0, 3, n).astype(str) for name in ("place", "work")}
    frame |= {"b": rng.integers(0, 2, n), "age": rng.integers(20, 70, n)}
    dataset = ta.Dataset.from_frame({**frame, "wage": 2.5 + np.arange(n)}, secret="wage")
    return replace(dataset, secret=PEOPLE[kind](rng, n) * unit)


def found(unit, statistic, protect, kind="incomes", bounds=None):
    """What is found about these people, with every number in the unit of the secret divided by it."""
    dataset = people(unit, kind)
    release = ta.publish(dataset, statistic, protect, rng=3)
    ends = None if bounds is None else tuple(end * unit for end in bounds)
    attack = ta.reconstruct(release, dataset.public, bounds=ends)
    risk = ta.score(attack, dataset.secret)
    usual = risk.baselines[risk.baseline]
    said = (attack.status.word, risk.exposed, int(risk.sure().sum()), risk.proved_alone, risk.baseline)
    sizes = (risk.advantage, *risk.interval, risk.in_sample, usual)
    return said, np.array([*sizes, risk.error]) / unit


def check_same(first, other, unit):
    assert other[0] == first[0], unit
    # as shares of the strongest baseline's error, or of the numbers' size if everybody is the same
    size = first[1][4] if first[1][4] > 1e-9 else 1.0
    assert np.allclose(other[1] / size, first[1] / size, rtol=0, atol=1e-6), unit


def test_no_kind_of_protection_of_numbers_is_left_out():
    tried = {type(protect(1.0)).__name__ for protect in PROTECTIONS.values()}
    counts = {
        "CellKey",
        "Combined",
        "Complement",
        "SuLQ",
        "Subsample",
        "Swapping",
        "SyntheticData",
        "Trivial",
    }
    counts |= {"WalshNoise"}
    assert set(catalogue.kinds("protection")) == tried | counts


@pytest.mark.parametrize(("statistic", "protection"), first_fast(sorted(PAIRS, key=_later), QUICK))
def test_units_of_ten_change_nothing(statistic, protection):
    chosen, protect = STATISTICS[statistic], PROTECTIONS[protection]
    first = found(1.0, chosen, protect(1.0))
    for unit in UNITS:
        check_same(first, found(unit, chosen, protect(unit)), unit)


@pytest.mark.parametrize("statistic", STATISTICS)
def test_units_of_two_change_no_bit(statistic):
    protect = PROTECTIONS["Exact" if statistic in MIXED else "Gaussian"]
    first = found(1.0, STATISTICS[statistic], protect(1.0), bounds=(0.0, 100.0))
    for unit in (2.0**-50, 2.0**40):
        other = found(unit, STATISTICS[statistic], protect(unit), bounds=(0.0, 100.0))
        assert other[0] == first[0]
        assert np.array_equal(other[1], first[1])


@pytest.mark.parametrize("kind", [kind for kind in PEOPLE if kind != "incomes"])
@pytest.mark.parametrize("statistic", STATISTICS)
def test_units_change_nothing_whatever_the_numbers_are(statistic, kind):
    if kind in ("dates", "far from zero") and statistic == "correlations":
        pytest.skip("a variance far from zero loses its digits in the fit")
    first = found(1.0, STATISTICS[statistic], Exact(), kind)
    for unit in (1e-15, 1e15):
        check_same(first, found(unit, STATISTICS[statistic], Exact(), kind), unit)


@pytest.mark.parametrize("statistic", ["Sums", "Extremes", "linear", "standard errors"])
def test_limits_go_along_with_the_unit(statistic):
    ends = []
    for unit in (1.0, 1e-15, 1e15):
        dataset = people(unit, n=12)
        release = ta.publish(dataset, STATISTICS[statistic], ta.Rounding(0.5 * unit))
        limits = ta.reconstruct(release, dataset.public, bounds=(0.0, 50.0 * unit)).limits
        ends.append(np.array([limits.low, limits.high]) / unit)
    for other in ends[1:]:
        assert np.allclose(other, ends[0], rtol=0, atol=1e-4)


@pytest.mark.parametrize("unit", [1e-15, 1.0, 1e15])
def test_nothing_published_makes_nobody_sure(unit):
    """No unit can be read off anything; intervals of one width made attackers sure of large numbers."""
    dataset = people(unit)
    release = ta.publish(dataset, STATISTICS["covariances"], ta.Suppression(1e9 * unit))
    attack = ta.reconstruct(release, dataset.public)
    assert not attack.status.settled
    assert not ta.score(attack, dataset.secret).sure().any()


def test_what_others_know_goes_along_with_the_unit():
    sizes = []
    for unit in (1.0, 1e-15, 1e15):
        dataset = people(unit)
        release = ta.publish(dataset, ta.Sums(3))
        table = ta.compare_rules(dataset, release)
        known = {0: dataset.secret[0], 5: dataset.secret[5]}
        attack = ta.reconstruct(release, dataset.public, known_secrets=known)
        cells = [[cell.gap, cell.outsider, cell.second] for cell in table.cells]
        risk = ta.score(attack, dataset.secret)
        sizes.append(([cell.missed(10.0) for cell in table.cells], np.array(cells), risk.exposed))
    for broken, cells, exposed in sizes[1:]:
        assert broken == sizes[0][0]
        assert np.allclose(cells, sizes[0][1], rtol=1e-4, atol=1e-3)
        assert exposed == sizes[0][2]


def test_audits_go_along_with_the_unit(monkeypatch):
    """Sums that failed an audit passed it with everybody's number times 1e-14.

    The random numbers of a release hang on its noise. Here they are the same, as the noise is but for units.
    """
    monkeypatch.setattr(Planned, "stream_of", lambda planned, _: 1 + len(planned.protections))
    said = []
    for unit in (1.0, 1e-14, 1e12):
        protect = [{}, {"protect": {"kind": "Gaussian", "std": 1.5 * unit}}]
        sums = {"statistic": {"kind": "Sums", "ways": 3}}
        plan = {"steps": False, "repeats": 3, "releases": [{**sums, **each} for each in protect]}
        found = ta.audit(people(unit), plan)
        outcomes = [each.outcome for each in found.findings]
        said.append((found.verdict.word, [(one.status, one.exposed) for one in outcomes]))
        said[-1][1].append([one.advantage_share for one in outcomes])
    for other in said[1:]:
        assert other[0] == said[0][0] == "fail"
        assert other[1][:-1] == said[0][1][:-1]
        assert np.allclose(other[1][-1], said[0][1][-1], atol=1e-6)
