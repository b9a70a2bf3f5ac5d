import math
from itertools import combinations

import numpy as np
import pytest
from tests.conftest import random_people

import tellall as ta
from tellall.linalg.operators.walsh import cells
from tellall.protections.additive import Laplace
from tellall.protections.calibrated import Combined, SuLQ, Trivial, WalshNoise, product_labels
from tellall.protections.discrete import DiscreteGaussian, Geometric
from tellall.protections.guarantee import Guarantee
from tellall.protections.keyed import CellKey
from tellall.protections.profile import gaussian_delta
from tellall.protections.protection import guarantee_of
from tellall.protections.record_changes import Subsample, Swapping
from tellall.protections.rounding import Rounding
from tellall.protections.suppression import Suppression
from tellall.statistics.statistic import CellLayout

PEOPLE = random_people(60, 6, seed=4)


def _bits(d, n=30):
    return random_people(n, d, seed=d)


def test_sulq_has_the_golden_least_noise(golden):
    for case in golden["sulq_noise"]:
        # what counts is the number of tables: as many of ours, of the secret with three columns
        tables, epsilon, delta = case["m_k"], float(case["eps"]), float(case["delta"])
        people = random_people(40, 20, seed=1)
        sets = list(combinations(range(20), 3))[:tables]
        statistic = ta.Marginals(4, sets)
        assert len(statistic.tables(people.public)) == tables
        _, second = statistic.sensitivity(people.public)
        assert second == pytest.approx(float(case["L2_sens_replace"]), rel=1e-12)
        law = SuLQ(epsilon, delta).prepare(statistic, people.public).noise
        assert law.std == pytest.approx(float(case["sigma_exact_min"]), rel=1e-10)
        assert gaussian_delta(epsilon, second, law.std) <= delta
        printed = float(case["sigma_printed"])
        achieved = float(gaussian_delta(epsilon, second, printed))
        assert achieved == pytest.approx(float(case["delta_achieved_by_sigma_printed"]), rel=1e-10)
        assert (achieved <= delta) is case["is_private"]  # E-CT-1
        scale = float(case["laplace_scale_b"])
        assert Laplace(scale).std == pytest.approx(float(case["laplace_std"]), rel=1e-12)  # E-CT-2
        promised = guarantee_of(Laplace(scale), statistic, people.public)
        assert promised.epsilon == pytest.approx(epsilon, rel=1e-12)
        assert promised.delta == 0


def test_sulq_on_fractions_is_the_same_release_divided_by_n():
    counts = SuLQ(1, 1e-4).prepare(ta.Marginals(2), PEOPLE.public).noise.std
    fractions = SuLQ(1, 1e-4).prepare(ta.Marginals(2, scale="fractions"), PEOPLE.public).noise.std
    assert fractions == pytest.approx(counts / 60)


def test_the_combined_mechanism_samples_where_tables_outnumber_people():
    few, many = random_people(15, 6, seed=1), random_people(16, 6, seed=1)
    assert isinstance(Combined().prepare(ta.Marginals(3), few.public), Subsample)  # 15 tables
    chosen = Combined().prepare(ta.Marginals(3), many.public)
    assert isinstance(chosen, SuLQ)
    assert (chosen.epsilon, chosen.delta) == (0.1, 0.1)
    assert (2 / 3) * math.exp(0.1) + 0.1 < 1  # Lemma B.2
    assert guarantee_of(Combined(), ta.Marginals(3), few.public) is None
    assert guarantee_of(Combined(), ta.Marginals(3), many.public).epsilon == 0.1


def test_the_trivial_release_does_not_depend_on_the_secret():
    other = ta.Dataset(PEOPLE.public, 1 - PEOPLE.secret)
    one = ta.publish(PEOPLE, ta.Marginals(3), Trivial()).values
    assert one.tolist() == ta.publish(other, ta.Marginals(3), Trivial()).values.tolist()
    assert (one == 60 / 8).all()
    assert guarantee_of(Trivial(), ta.Marginals(3), PEOPLE.public).epsilon == 0


# the inner products


def _products(people, columns):
    """i_S of the contingency-tables paper from the records, S over chosen columns and the secret (−1)."""
    signs = {j: 2.0 * people.public.codes[j] - 1 for j in range(len(people.public.columns))}
    signs[-1] = 2.0 * people.secret - 1
    return float(np.prod([signs[j] for j in columns], axis=0).sum())


def test_labels_name_each_inner_product_once():
    tables = CellLayout(((0, 1), (0, 2), (1, 2)), ((2, 2, 2),) * 3)
    labels = product_labels(tables)
    assert labels.shape == (3, 8)
    assert (labels[:, 0] == 0).all()  # the empty product
    assert labels.max() == 2 * (1 + 3 + 3) - 1  # sets of columns with and without the secret, less the empty
    assert labels[0, 0b001] == labels[2, 0b001]  # the secret alone
    assert labels[0, 0b010] == labels[2, 0b100]  # column 1
    assert labels[0, 0b110] != labels[1, 0b110]
    turned = product_labels(CellLayout(((1, 0),), ((2, 2, 2),)))
    assert turned.max() == 7


def test_tables_come_back_from_their_inner_products():
    people = _bits(4)
    published = ta.publish(people, ta.Marginals(3)).values.reshape(-1, 8)
    for places, table in zip(ta.Marginals(3).tables(people.public), published, strict=True):
        columns = (*places, -1)
        products = [
            _products(people, [c for j, c in enumerate(columns) if subset >> (2 - j) & 1]) if subset else 30.0
            for subset in range(8)
        ]
        assert cells(products) == pytest.approx(table)


def test_walsh_noise_is_consistent_between_tables_and_keeps_totals():
    release = ta.publish(PEOPLE, ta.Marginals(3), WalshNoise(std=3.0), rng=5)
    tables = release.values.reshape(-1, 2, 2, 2)
    assert tables.sum(axis=(1, 2, 3)) == pytest.approx(np.full(15, 60.0))
    yes = tables[..., 1].sum(axis=(1, 2))
    assert yes == pytest.approx(np.full(15, yes[0]))  # all tables agree on how many have the secret
    # tables (0, 1) and (0, 2) agree on column 0
    assert tables[0].sum(axis=1) == pytest.approx(tables[1].sum(axis=1))
    exact = ta.publish(PEOPLE, ta.Marginals(3)).values
    assert np.abs(release.values - exact).min() > 0


def test_walsh_noise_saves_against_noise_on_cells():
    # Barak et al.: for all pairs of ten columns with the secret, less noise in a cell for the same promise
    people = _bits(10)
    cells = SuLQ(1, 1e-6).prepare(ta.Marginals(3), people.public).law.std
    inner = WalshNoise(epsilon=1, delta=1e-6).prepare(ta.Marginals(3), people.public)
    assert inner.products == 2 * (1 + 10 + 45) - 1
    # L2 sensitivity 2√m against √(2t), and √(2^k − 1)/2^k of it in a cell
    expected = math.sqrt(4 * inner.products / (2 * 45)) * math.sqrt(7) / 8
    assert inner.law.std / cells == pytest.approx(expected, rel=1e-9)
    assert expected < 0.75
    pure = WalshNoise(epsilon=1).prepare(ta.Marginals(3), people.public)
    assert pure.noise == Laplace(2.0 * inner.products)


@pytest.mark.parametrize("replaced", range(0, 60, 7))
def test_one_row_replaced_moves_inner_products_by_no_more_than_declared(replaced):
    row = PEOPLE.public.codes.copy()
    row[:, replaced] = 1 - row[:, replaced]
    secret = PEOPLE.secret.copy()
    secret[replaced] = 1 - secret[replaced]
    other = ta.Dataset.from_arrays(row.T, secret)
    prepared = WalshNoise(std=1.0).prepare(ta.Marginals(3), PEOPLE.public)
    moves = []
    for size in (1, 2, 3):
        for columns in combinations((0, 1, 2, 3, 4, 5, -1), size):
            if size < 3 or -1 in columns:
                moves.append(abs(_products(PEOPLE, columns) - _products(other, columns)))
    assert len(moves) == prepared.products
    assert max(moves) <= 2
    assert sum(moves) <= 2 * prepared.products


def test_walsh_noise_needs_bits_and_one_of_two_parameters():
    threes = random_people(40, 3, seed=1, levels=3)
    with pytest.raises(ta.InvalidInput, match="two values"):
        ta.publish(threes, ta.Marginals(2), WalshNoise(std=1))
    for bad in ({}, {"std": 1.0, "epsilon": 1.0}):
        with pytest.raises(ta.InvalidInput, match="std or epsilon must be given"):
            WalshNoise(**bad)
    with pytest.raises(ta.InvalidInput, match="std must be"):
        WalshNoise(std=-1)
    with pytest.raises(ta.InvalidInput, match="delta must be left out if std is given"):
        WalshNoise(std=1, delta=1e-6)
    for make in (lambda: SuLQ(0, 0.1), lambda: WalshNoise(epsilon=-1), lambda: Combined(epsilon=0)):
        with pytest.raises(ta.InvalidInput, match="epsilon must be"):
            make()
    for make in (lambda: SuLQ(1, 0), lambda: SuLQ(1, 2), lambda: WalshNoise(epsilon=1, delta=-1)):
        with pytest.raises(ta.InvalidInput, match="delta must be"):
            make()


# promises


def test_promises_of_noise_laws():
    statistic, public = ta.Marginals(2), PEOPLE.public  # six tables: L1 12, L2 √12
    assert guarantee_of(Laplace(6), statistic, public).epsilon == pytest.approx(2)
    assert guarantee_of(Geometric(6), statistic, public).epsilon == pytest.approx(2)
    normal = guarantee_of(ta.Gaussian(5), statistic, public, delta=1e-5)
    assert float(gaussian_delta(normal.epsilon, math.sqrt(12), 5)) == pytest.approx(1e-5, rel=1e-6)
    discrete = guarantee_of(DiscreteGaussian(5), statistic, public, delta=1e-5)
    rho = 12 / 50
    assert discrete.epsilon == pytest.approx(rho + 2 * math.sqrt(rho * math.log(1e5)))
    assert discrete.epsilon >= normal.epsilon  # the looser accounting
    assert "one row replaced" in str(normal)
    fractions = ta.Marginals(2, scale="fractions")
    assert guarantee_of(Laplace(0.1), fractions, public).epsilon == pytest.approx(2)
    assert guarantee_of(Geometric(6, unit=1 / 60), fractions, public).epsilon == pytest.approx(2)
    assert guarantee_of(Geometric(6), fractions, public) is None  # whole numbers on fractions hide nothing


def test_what_comes_after_noise_keeps_the_promise_and_what_comes_before_loses_it():
    statistic, public = ta.Marginals(2), PEOPLE.public
    alone = guarantee_of(ta.Gaussian(5), statistic, public)
    assert isinstance(alone, Guarantee)
    assert guarantee_of([ta.Gaussian(5), Rounding(5), Suppression(3)], statistic, public) == alone
    for before in (Rounding(5), Suppression(3), Swapping(0.1), Subsample(0.5)):
        assert guarantee_of([before, ta.Gaussian(5)], statistic, public) is None
    keyed = CellKey({-1: 0.5, 1: 0.5})
    assert guarantee_of([ta.Gaussian(5), keyed], statistic, public) is None  # it looks at the people again
    for protect in (keyed, Rounding(5), ta.Gaussian(0), (), WalshNoise(std=0)):
        assert guarantee_of(protect, statistic, public) is None
    assert guarantee_of(ta.Gaussian(5), ta.Means(), public) is None  # no sensitivity declared
    walsh_normal = guarantee_of(WalshNoise(std=30.0), statistic, public)
    assert walsh_normal.delta == 1e-6
    looser = guarantee_of(WalshNoise(std=30.0), statistic, public, delta=1e-3)
    assert looser.delta == 1e-3
    assert looser.epsilon < walsh_normal.epsilon
    products = 2 * (1 + 6) - 1  # pairs of a column with the secret: L2 sensitivity 2√m
    at = gaussian_delta(looser.epsilon, 2 * math.sqrt(products), 30.0)
    assert float(at) == pytest.approx(1e-3, rel=1e-6)


REALS = ta.Dataset.from_arrays([[0], [0], [1], [1]], secret=[10.37, 5.0, 3.0, 2.0])


@pytest.mark.parametrize("law", [Geometric(200.0), DiscreteGaussian(200.0)])
def test_whole_steps_promise_nothing_about_values_that_are_not_whole(law):
    """What is left of a value after whole steps is published as it is."""
    for statistic in (ta.Sums(2, largest=100), ta.CellMeans(2, largest=100)):
        cents = [np.mod(ta.publish(REALS, statistic, law, rng=seed).values[0], 1) for seed in range(5)]
        assert cents == pytest.approx(np.full(5, np.mod(statistic.values(REALS)[0], 1)), abs=1e-9)
        assert guarantee_of(law, statistic, REALS.public) is None
    assert guarantee_of(law, ta.Marginals(2, scale="rates"), PEOPLE.public) is None
    assert guarantee_of(Laplace(200.0), ta.Sums(2, largest=100), REALS.public).epsilon == 1  # not in steps


@pytest.mark.parametrize("law", [Geometric(3.0, unit=1 / 60), DiscreteGaussian(3.0, unit=1 / 60)])
def test_noisy_shares_are_the_same_numbers_whatever_they_were(law):
    """0.1 + 0.2 is not 0.3: the last digit of a sum would show what was added up."""
    seen = {float(value) for count in (20, 21) for value in law.perturb(np.full(4000, count / 60), 1)}
    assert len(seen) == len({round(value * 60) for value in seen})
    odd = law.perturb(np.array([0.1234, np.nan]), 1)  # not a multiple of the unit: the remainder stays
    assert math.remainder((odd[0] - 0.1234) * 60, 1) == pytest.approx(0, abs=1e-9)
    assert np.isnan(odd[1])


@pytest.mark.parametrize(
    "statistic",
    [ta.Sums(2), ta.Sums([1, 2], counts=True), ta.CellMeans(2), ta.Extremes(2), ta.Sums(1)],
    ids=repr,
)
def test_the_trivial_release_of_numbers_does_not_depend_on_anybody(statistic):
    other = ta.Dataset.from_arrays([[0], [1], [1], [1]], secret=[44.81, 5.0, -3.0, 7.0])
    one, two = (ta.publish(people, statistic, Trivial()) for people in (REALS, other))
    assert one.values.tolist() == two.values.tolist()
    assert guarantee_of(Trivial(), statistic, REALS.public).epsilon == 0
    assert ta.linearise(one, REALS.public).target.size == 0


def test_the_trivial_release_shows_no_empty_cell_and_no_weight():
    rows = np.array([[0, 0, 1], [0, 1, 2], [1, 0, 1], [1, 1, 3]], dtype=float)
    moved = rows.copy()
    moved[3] = 0, 0, 5  # nobody is left in the last cell
    for statistic in (
        ta.Marginals(3, [["a", "b"]], scale="rates"),
        ta.Marginals(2, [["a"]], weights="w"),
        ta.Marginals(3, [["a", "b"]], scale="fractions"),
        ta.CellMeans(3, [["a", "b"]]),
    ):
        both = (ta.Dataset.from_arrays(each, [0, 1, 1, 0], names=["a", "b", "w"]) for each in (rows, moved))
        one, two = (ta.publish(people, statistic, Trivial()).values.tolist() for people in both)
        assert one == two


def test_nothing_is_promised_where_a_replaced_row_makes_a_value_go_missing():
    rates, means = ta.Marginals(3, scale="rates"), ta.CellMeans(3, largest=1)
    before = ta.Dataset.from_arrays([[0, 0], [0, 1], [1, 0]], secret=[1, 0, 1])
    after = ta.Dataset.from_arrays([[0, 0], [1, 1], [1, 0]], secret=[1, 0, 1])
    for statistic in (rates, means):
        gone = [np.isnan(ta.publish(people, statistic, Laplace(8.0)).values) for people in (before, after)]
        assert (gone[0] != gone[1]).any()
        assert guarantee_of(Laplace(8.0), statistic, before.public) is None
        with pytest.raises(ta.InvalidInput, match="needs a known sensitivity"):
            ta.publish(before, statistic, SuLQ(1.0, 1e-5))


def test_what_is_about_the_people_of_a_condition_promises_nothing_that_rests_on_their_number():
    """A replaced row may leave them: totals and shares then change as no noise on counts hides."""
    public, mask = PEOPLE.public, np.arange(60) < 20
    counts, shares = ta.Marginals(2), ta.Marginals(2, scale="fractions")
    some = "a0 = 1"
    walsh = ta.publish(PEOPLE, ta.Marginals(2), WalshNoise(std=30.0), rng=1, where="a0 = 1")
    inside = int((public.codes[0] == 1).sum())
    assert walsh.values.reshape(6, 4).sum(axis=1) == pytest.approx(np.full(6, inside))  # shown exactly
    for protect in (WalshNoise(std=30.0), Trivial()):
        assert guarantee_of(protect, counts, public, where=some) is None
        assert (
            guarantee_of(protect, counts, public, where=mask) is not None
        )  # as many people, whoever they are
    for protect in (Laplace(1.0), SuLQ(1.0, 1e-5), Geometric(6, unit=1 / inside)):
        assert guarantee_of(protect, shares, public, where=some) is None
    assert guarantee_of(Geometric(6, unit=1 / 20), shares, public, where=mask).epsilon == pytest.approx(2)
    assert guarantee_of(Laplace(6.0), counts, public, where=some).epsilon == pytest.approx(2)


def test_hiding_that_looks_at_who_is_where_loses_the_promise():
    statistic, public = ta.Marginals(2), PEOPLE.public
    assert guarantee_of([Laplace(6), Suppression(5)], statistic, public) is not None
    assert guarantee_of([Laplace(6), Suppression(5, complementary=True)], statistic, public) is None
