"""Each law: draws, moments, quantiles and log-density agree; bounds hold; bad parameters are refused.

Kolmogorov–Smirnov with N draws: P(sup |F_N − F| > c/√N) ≤ 2 exp(−2c²) (Massart), below 5e-8 at c = 3, for
discrete laws too. Moments: six standard errors, with the kurtosis of the density.
"""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tellall as ta
from tellall.protections.additive import Gaussian, Laplace, TruncatedNormal
from tellall.protections.discrete import DiscreteGaussian, Finite, Geometric
from tellall.protections.mixture import Corruption
from tellall.protections.protection import Exact, Sum, Unknown
from tellall.protections.rounding import Rounding
from tellall.protections.sampling import ComplementLaw, SamplingLaw, SwappingLaw
from tellall.statistics.statistic import CellLayout
from tellall.testing import check_protection

CONTINUOUS = [
    Gaussian(1.7),
    Laplace(0.9),
    Rounding(5),
    Rounding(4, "random"),
    Rounding(0.25, "controlled"),
    TruncatedNormal(2.0, 3.0),
    TruncatedNormal(1.0, 0.05),
    TruncatedNormal(2.0, 1.5, "scales"),
    TruncatedNormal(1.0, 1e-4),
    TruncatedNormal(0.3, 30.0),
]
DISCRETE = [
    DiscreteGaussian(0.3),
    DiscreteGaussian(1.0),
    DiscreteGaussian(2.7),
    DiscreteGaussian(40.0),
    DiscreteGaussian(3.0, unit=0.01),
    Geometric(0.4),
    Geometric(3.0),
    Geometric(5.0, unit=0.1),
    Finite(((-2.0, 0.1), (-1.0, 0.2), (0.0, 0.4), (1.0, 0.2), (2.0, 0.1))),
]
DRAWS = 100_000


def _grid(law):
    reach = min(law.bound, 40 * law.std)
    return np.linspace(-reach, reach, 400_001)


def _support(law):
    if isinstance(law, Finite):
        return law.errors
    return law.unit * np.arange(-3000, 3001)


def _agrees(drawn, points, mass, law):
    """Distribution function and second moment of the draws against those of the declared masses."""
    mass = mass / mass.sum()
    # a tolerance on the right edge: draws and points are floats of the same lattice
    observed = np.searchsorted(np.sort(drawn), points + 1e-9 * law.std, side="right") / drawn.size
    assert np.abs(observed - np.cumsum(mass)).max() < 3 / math.sqrt(drawn.size) + mass.max() * 1e-3
    fourth = float(mass @ (points / law.std) ** 4)
    assert abs(np.mean((drawn / law.std) ** 2) - 1) < 6 * math.sqrt((fourth - 1) / drawn.size)
    assert abs(np.mean(drawn)) < 6 * law.std / math.sqrt(drawn.size)


@pytest.mark.parametrize("law", CONTINUOUS, ids=repr)
def test_densities_have_the_declared_spread_and_the_draws_follow_them(law):
    x = _grid(law)
    density = np.exp(law.logpdf(x))
    step = x[1] - x[0]
    assert np.trapezoid(density, x) == pytest.approx(1, abs=2e-5)
    assert math.sqrt(np.trapezoid(density * x**2, x)) == pytest.approx(law.std, rel=2e-5)
    drawn = law.sample(DRAWS, 7)
    assert np.abs(drawn).max() <= law.bound
    middle = (x[1:] + x[:-1]) / 2
    mass = (density[1:] + density[:-1]) / 2 * step
    observed = np.searchsorted(np.sort(drawn), x[1:], side="right") / drawn.size
    assert np.abs(observed - np.cumsum(mass)).max() < 3 / math.sqrt(DRAWS) + 3e-5
    fourth = float(mass @ (middle / law.std) ** 4)
    assert abs(np.mean((drawn / law.std) ** 2) - 1) < 6 * math.sqrt((fourth - 1) / DRAWS)
    assert abs(np.mean(drawn)) < 6 * law.std / math.sqrt(DRAWS)


@pytest.mark.parametrize("law", DISCRETE, ids=repr)
def test_probabilities_have_the_declared_spread_and_the_draws_follow_them(law):
    points = _support(law)
    mass = np.exp(law.logpmf(points))
    assert mass.sum() == pytest.approx(1, abs=1e-9)
    assert math.sqrt(mass @ points**2) == pytest.approx(law.std, rel=1e-9)
    assert np.isneginf(law.logpmf(points[:-1] + 0.37 * np.diff(points))).all()
    assert np.array_equal(law.logpdf(points), law.logpmf(points))
    _agrees(law.sample(DRAWS, 11), points, mass, law)


def test_gross_errors_are_a_mixture():
    law = Corruption(0.2, 10.0)
    assert law.std == pytest.approx(10 * math.sqrt(0.2))
    drawn = law.sample(DRAWS, 3)
    hit = drawn != 0
    assert abs(hit.mean() - 0.2) < 6 * math.sqrt(0.16 / DRAWS)  # two-sided normal tail 2e-9
    assert drawn[hit].std() == pytest.approx(10, rel=6 / math.sqrt(2 * hit.sum()))
    assert law.logpdf([0.0])[0] == math.inf
    assert law.logpdf([3.0])[0] == pytest.approx(math.log(0.2) + Gaussian(10).logpdf(3.0))
    assert Corruption(1.0, 2.0).logpdf([0.0, 1.0]) == pytest.approx(Gaussian(2).logpdf([0.0, 1.0]))
    assert law.scaled(-3) == Corruption(0.2, 30.0)
    assert Corruption(0.0, 5.0).bound == 0
    assert Corruption(0.0, 5.0).logpdf([0.0, 1.0]).tolist() == [math.inf, -math.inf]


@pytest.mark.parametrize("law", [*CONTINUOUS, *DISCRETE, Corruption(0.1, 4.0)], ids=repr)
@given(factor=st.floats(-50, 50).filter(lambda f: abs(f) > 0.01))
def test_scaled_laws_scale(law, factor):
    scaled = law.scaled(factor)
    assert scaled.std == pytest.approx(abs(factor) * law.std)
    assert scaled.bound == pytest.approx(abs(factor) * law.bound)
    assert scaled.half_width == pytest.approx(abs(factor) * law.half_width)
    if not isinstance(law, Corruption):  # a symmetric law: density at x is |factor| times that at factor · x
        x = law.sample(20, 5)
        change = 0.0 if isinstance(law, tuple(map(type, DISCRETE))) else math.log(abs(factor))
        inside = np.abs(x) < 0.999 * law.bound
        assert scaled.logpdf(factor * x)[inside] == pytest.approx(law.logpdf(x)[inside] - change, abs=1e-6)


@pytest.mark.parametrize("law", [*CONTINUOUS, *DISCRETE, Corruption(0.5, 4.0)], ids=repr)
def test_the_same_seed_draws_the_same(law):
    assert np.array_equal(law.sample((3, 4), 9), law.sample((3, 4), 9))
    assert law.sample((3, 4), 9).shape == (3, 4)
    assert law.sample(0, 9).shape == (0,)
    generator = np.random.default_rng(1)
    assert not np.array_equal(law.sample(5000, generator), law.sample(5000, generator))


@pytest.mark.parametrize("law", [law for law in CONTINUOUS if law.std > 0.01], ids=repr)
def test_protections_do_what_they_declare(law):
    check_protection(law)  # false alarms below 1e-6, as its docstring says


def test_a_normal_cut_at_a_twentieth_of_its_scale_is_34_times_smaller():
    # regression-noise compares laws at equal scale, which hides this
    assert 1 / TruncatedNormal(1.0, 0.05, "scales").std == pytest.approx(34.6, abs=0.05)
    assert TruncatedNormal(4.0, 0.5, "scales") == TruncatedNormal(4.0, 2.0)
    near, far = TruncatedNormal(1.0, 0.999e-3).std, TruncatedNormal(1.0, 1.001e-3).std
    assert far / near == pytest.approx(1.001 / 0.999, rel=1e-8)  # both formulas meet


def test_no_noise_at_scale_zero():
    for law in (TruncatedNormal(0.0, 5.0), TruncatedNormal(2.0, 0.0), DiscreteGaussian(0), Geometric(0)):
        assert law.std == 0
        assert law.sample(4, 0).tolist() == [0, 0, 0, 0]
        assert law.logpdf([0.0])[0] >= 0
        assert law.logpdf([1.0])[0] == -math.inf
    assert DiscreteGaussian(2).scaled(0).std == 0
    assert Geometric(2).scaled(0).std == 0


@pytest.mark.parametrize(
    ("make", "parameter"),
    [
        (lambda: Gaussian(-1), "std"),
        (lambda: Laplace(math.nan), "scale"),
        (lambda: TruncatedNormal(-1, 1), "scale"),
        (lambda: TruncatedNormal(1, -1), "bound"),
        (lambda: TruncatedNormal(1, 1, "inches"), "bound_in"),
        (lambda: DiscreteGaussian(-0.1), "sigma"),
        (lambda: DiscreteGaussian(1, unit=0), "unit"),
        (lambda: Geometric(math.inf), "scale"),
        (lambda: Geometric(True), "scale"),
        (lambda: Rounding(0), "base"),
        (lambda: Rounding(-5), "base"),
        (lambda: Rounding(5, "upwards"), "mode"),
        (lambda: Corruption(1.5, 1), "fraction"),
        (lambda: Corruption(0.5, -1), "size"),
    ],
)
def test_bad_parameters_are_named(make, parameter):
    with pytest.raises(ta.InvalidInput, match=f"{parameter} must be"):
        make()


@given(st.floats(0.1, 50), st.integers(0, 2**32))
def test_random_rounding_is_unbiased_stays_near_and_keeps_multiples(base, seed):
    rng = np.random.default_rng(seed)
    values = rng.uniform(-20, 100, 7)
    law = Rounding(base, "random")
    drawn = np.stack([law.perturb(values, rng) for _ in range(400)])
    assert np.abs(drawn - values).max() <= base
    assert drawn / base == pytest.approx(np.rint(drawn / base))
    # Hoeffding: errors span one base; 2 exp(−2·400·t²) < 4e-9 at t = 0.16, times 7 · 40 examples < 1.2e-6
    assert np.abs(drawn.mean(axis=0) - values).max() < 0.16 * base
    multiples = base * np.arange(-3, 9)
    assert law.perturb(multiples, rng) == pytest.approx(multiples)
    assert np.isnan(law.perturb(np.array([np.nan, 1.0]), rng)).tolist() == [True, False]


def test_rounding_whole_numbers_to_base_one_changes_nothing():
    counts = np.arange(50.0)
    for mode in ("nearest", "random", "controlled"):
        assert Rounding(1, mode).perturb(counts, 0).tolist() == counts.tolist()


def _tables(counts):
    """All tables alike: so many of rows × 2 cells."""
    tables, rows = counts.shape[0], counts.shape[1] // 2
    return SimpleNamespace(tables=CellLayout(tuple((j,) for j in range(tables)), ((rows, 2),) * tables))


@given(st.integers(0, 2**32), st.integers(1, 12), st.sampled_from([1.0, 3.0, 5.0, 0.7]))
def test_controlled_rounding_keeps_totals_and_stays_near(seed, rows, base):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 300))
    counts = rng.multinomial(n, np.full(2 * rows, 0.5 / rows), size=6).astype(float)
    law = Rounding(base, "controlled")
    out = law.perturb(counts.ravel(), rng, _tables(counts)).reshape(counts.shape)
    assert out / base == pytest.approx(np.rint(out / base))
    assert np.abs(out - counts).max() <= base + 1e-9
    assert out[counts == 0].tolist() == [0.0] * int((counts == 0).sum())
    totals = out.sum(axis=1)
    assert np.ptp(totals) < 1e-6  # equal totals are rounded alike
    assert abs(totals[0] - n) < base + 1e-9
    for start in range(2 * rows):  # every stretch of neighbours adds up to an adjacent multiple
        stretch = np.abs(np.cumsum(out[:, start:], axis=1) - np.cumsum(counts[:, start:], axis=1))
        assert stretch.max() < base + 1e-9


def test_controlled_rounding_is_unbiased_cell_by_cell():
    counts = np.array([[1.0, 2.0, 4.0, 0.0, 7.0, 3.0], [2.0, 2.0, 2.0, 2.0, 2.0, 7.0]])
    law, rng, repeats = Rounding(5, "controlled"), np.random.default_rng(0), 4000
    drawn = np.stack([law.perturb(counts.ravel(), rng, _tables(counts)) for _ in range(repeats)])
    # Hoeffding: each error spans 5; 2 exp(−2 · 4000 · t²) · 12 cells < 1e-7 at t = 0.05
    assert np.abs(drawn.mean(axis=0) - counts.ravel()).max() < 5 * 0.05


def test_controlled_rounding_leaves_missing_cells_missing():
    counts = np.array([[1.0, np.nan, 4.0, 3.0]])
    out = Rounding(5, "controlled").perturb(counts.ravel(), 0, _tables(counts))
    assert np.isnan(out).tolist() == [False, True, False, False]
    assert out[[0, 2, 3]].sum() in (5.0, 10.0)


def test_the_sampling_law_has_golden_variances_and_tails(golden):
    for case in golden["random_sampling_mechanism"]:
        n, count, distance = case["n"], case["K=c_v(D)"], case["threshold_on_|2c(Dsam)-c(D)|"]
        law = SamplingLaw(n, n // 2)
        variance = float(law.count_std(np.array(float(count)))) ** 2
        assert variance == pytest.approx(float(case["variance_2H"]), rel=1e-12)
        assert law.tail(distance) == pytest.approx(float(case["serfling_two_sided"]), rel=1e-12)
        assert law.tail(distance) >= float(case["exact_tail"])


def test_laws_of_changed_records_depend_on_the_value():
    for law in (SamplingLaw(100, 50), SwappingLaw(0.2, 100), ComplementLaw(0.1, 100)):
        reach, counts = np.array([10.0, 50.0]), np.array([2.0, 20.0])
        about = SimpleNamespace(target=counts, squares=reach, sums=reach)
        spread = law.spread(counts, about)
        assert law.varies
        assert (spread > 0).all()
        assert (spread <= law.std * (1 + 1e-12)).all()
        small = SimpleNamespace(target=0.01 * counts, squares=reach, sums=reach)
        assert law.scaled(0.01).spread(0.01 * counts, small) == pytest.approx(0.01 * spread)
        assert law.sample(5, 0).shape == (5,)
        both = Sum((law, Gaussian(3.0)))
        assert both.varies
        assert both.spread(counts, about) == pytest.approx(np.hypot(spread, 3.0))
    assert SamplingLaw(100, 100).bound == 0
    assert SamplingLaw(1, 1).std == 0
    assert Unknown().scaled(3).std == math.inf
    assert not Gaussian(1).varies
    assert Gaussian(2).spread(np.zeros(3), None).tolist() == [2, 2, 2]
    assert Exact().half_width == 0
