"""Table 1 and the certified numbers beside it: golden values, monotone where they must be, bad input."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tellall as ta
from tellall.privacy import bounds
from tellall.privacy.bounds.table import group_moment, shifted_moment

LABEL = "rate, constant unknown"


def entry(table, guarantee, side):
    return next(row for row in table.rows if row.guarantee == guarantee and row.side == side)


def test_golden_table(golden):
    for case in golden["table1_formulas"]:
        table = bounds.table(case["n"], case["d"], case["k"], float(case["eps"]), float(case["delta"]))
        attribute, row = "not attribute non-private", "not row non-private"
        same, general = "(ε, δ)-private, noise the same for all data", "(ε, δ)-private"
        for found, name in [
            (entry(table, attribute, "lower").logged, "attr_lower_thm2.7"),
            (entry(table, row, "lower").logged, "row_lower_thm2.9"),
            (entry(table, attribute, "lower").plain, "attr_lower_nolog"),
            (entry(table, row, "lower").plain, "row_lower_nolog"),
            (entry(table, attribute, "upper").logged, "upper_propB1"),
            (entry(table, row, "upper").logged, "upper_propB1"),
            (entry(table, same, "upper").logged, "dp_inst_upper"),
            (entry(table, same, "lower").logged, "dp_inst_lower"),
            (entry(table, general, "upper").logged, "dp_general_upper"),
            (entry(table, general, "lower").logged, "dp_general_lower"),
        ]:
            assert found == pytest.approx(float(case[name]), rel=1e-12), name


def test_golden_blr(golden):
    for case in golden["blr_bound"]:
        found = bounds.blr(
            case["n"],
            case["d"],
            case["k"],
            float(case["eps"]),
            constant=float(case["C"]),
            vc=case["k"] * math.log2(case["d"]),
        )
        assert found.alpha == pytest.approx(float(case["alpha"]), rel=1e-12)
        assert found.mse == pytest.approx(float(case["mse_2alpha2n2"]), rel=1e-12)
        assert not found.vacuous
        assert found.vc == pytest.approx(float(case["VC=k*log2(d)"]), rel=1e-12)
        assert (found.alpha < 1) == case["valid_alpha_lt_1"]


def test_golden_least_noise(golden):
    for case in golden["dp_lower_bound_explicit_instance_independent"]:
        epsilon, delta, k = float(case["eps"]), float(case["delta"]), case["k"]
        tables = math.comb(case["d"], k)
        moment, group = group_moment(10**6, epsilon, delta)
        trace = moment * (tables - 1) ** 2
        assert group == case["best_group_size_L"]
        assert trace == pytest.approx(float(case["trace_lower_bound_Ik"]), rel=1e-12)
        assert math.sqrt(trace / tables) == pytest.approx(float(case["rms_per_entry_Ik"]), rel=1e-12)
        found = bounds.least_noise(10**6, case["d"], k, epsilon, delta)
        assert found.trace >= trace * (1 - 1e-12)
        assert found.per_product == pytest.approx(math.sqrt(found.trace / tables), rel=1e-12)
        assert found.per_cell == pytest.approx(found.per_product / 2**k, rel=1e-12)


def alike(law: np.ndarray, epsilon: float) -> float:
    """The δ of a law on whole numbers and the same law one further."""
    one, two = np.append(law, 0.0), np.insert(law, 0, 0.0)
    return max(float(np.maximum(0, a - math.exp(epsilon) * b).sum()) for a, b in ((one, two), (two, one)))


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.5])
def test_the_moment_of_a_shifted_law_is_below_every_private_law_s_and_reached_by_the_geometric(epsilon):
    places = np.arange(-60, 61)
    laws = {
        "geometric": np.exp(-epsilon * np.abs(places)),
        "wide": np.exp(-0.7 * epsilon * np.abs(places)),
        "normal": np.exp(-(places**2) / 50),
        "narrow normal": np.exp(-(places**2) / 6),
        "cut": np.where(np.abs(places) <= 4, 1.0, 0.0),
        "even": np.where(places % 2 == 0, np.exp(-epsilon * np.abs(places) / 2), 0.0),
    }
    for name, law in laws.items():
        law = law / law.sum()
        delta = alike(law, epsilon)
        if delta < 1:
            moment = float(law @ places**2)
            assert shifted_moment(epsilon, delta) <= moment * (1 + 1e-9), name
            assert group_moment(10**6, epsilon, delta)[0] <= moment * (1 + 1e-9), name
    law = laws["geometric"] / laws["geometric"].sum()
    assert shifted_moment(epsilon, 0.0) == pytest.approx(float(law @ places**2), rel=1e-4)


def test_the_moment_falls_with_delta_and_epsilon_and_is_twice_one_over_epsilon_squared_for_small_ones():
    for epsilon in (1e-3, 0.1, 1.0, 5.0):
        found = [shifted_moment(epsilon, delta) for delta in (0.0, 1e-12, 1e-9, 1e-6, 1e-3, 0.1, 0.5, 0.9)]
        assert found == sorted(found, reverse=True)
        assert found[1] == pytest.approx(found[0], rel=1e-3)
    assert shifted_moment(1e-3, 0.0) * 1e-6 == pytest.approx(2.0, rel=1e-6)
    assert shifted_moment(800.0, 0.1) == 0.0
    epsilons = [shifted_moment(epsilon, 1e-6) for epsilon in (0.01, 0.1, 0.5, 1.0, 2.0, 10.0)]
    assert epsilons == sorted(epsilons, reverse=True)


def test_golden_row_guess(golden):
    for case in golden["dp_not_row_nonprivate"]:
        found = bounds.row_guess(float(case["eps"]), float(case["delta"]))
        assert found == pytest.approx(float(case["value"]), rel=1e-12)


def test_golden_noise(golden):
    for case in golden["sulq_noise"]:
        found = bounds.noisy_tables(case["d"], case["k"], float(case["eps"]), float(case["delta"]))
        assert found.std == pytest.approx(float(case["sigma_exact_min"]), rel=1e-10)
        assert found.printed == pytest.approx(float(case["sigma_printed"]), rel=1e-12)
        assert found.printed_delta == pytest.approx(float(case["delta_achieved_by_sigma_printed"]), rel=1e-9)
        assert (found.printed_delta <= float(case["delta"])) == case["is_private"]
        assert found.laplace_scale == pytest.approx(float(case["laplace_scale_b"]), rel=1e-12)
        assert found.laplace_std == pytest.approx(float(case["laplace_std"]), rel=1e-12)


def test_golden_sampling(golden):
    """The worst cell's variance, and Serfling's tail at the distance that it was solved for."""
    for case in golden["random_sampling_mechanism"]:
        n, cell = case["n"], case["K=c_v(D)"]
        found = bounds.sampled(n, 4, 2)
        if cell == n // 2:
            assert found.rms**2 == pytest.approx(float(case["variance_2H"]), rel=1e-12)
        half, distance = n // 2, case["threshold_on_|2c(Dsam)-c(D)|"]
        tail = 2 * math.exp(-2 * (distance / 2) ** 2 / (half * (1 - (half - 1) / n)))
        assert tail == pytest.approx(float(case["serfling_two_sided"]), rel=1e-12)
        printed, exact = float(case["paper_tail_exp(-2 s^2/n)"]), float(case["exact_tail"])
        assert printed == pytest.approx(math.exp(-2 * distance**2 / n), rel=1e-12)
        assert exact <= tail
        assert (printed < exact) == (n == 10)  # E-CT-7: the printed tail is no bound for small n
        # the distance at which the union bound over one cell's tail is spent
        union = tail * 2**2 * math.comb(4, 2)
        if union < 1:
            assert bounds.sampled(n, 4, 2, failure=union).largest == pytest.approx(distance, rel=1e-12)


@pytest.mark.parametrize("n", [9, 10, 31])
def test_sampling_bound_holds_on_real_samples(n):
    """Fixed seed: 400 samples, each within the bound at failure 1e-9."""
    rng = np.random.default_rng(n)
    people = rng.integers(0, 2, (n, 4))
    found = bounds.sampled(n, 4, 1, failure=1e-9)
    exact = people.sum(axis=0)
    errors = []
    for _ in range(400):
        chosen = rng.choice(n, found.people, replace=False)
        errors.append(np.abs(n / found.people * people[chosen].sum(axis=0) - exact).max())
    assert max(errors) <= found.largest
    assert float(np.mean(np.square(errors))) > 0


def test_every_rate_says_that_it_is_one_and_the_rest_that_it_is_not():
    table = ta.bounds.table(1000, 12, 3, 1.0, 1e-6)
    assert [row.label for row in table.rows] == [LABEL] * 8
    text = str(table)
    assert max(map(len, text.splitlines())) <= 80
    assert LABEL in text
    told = " ".join(text.split())
    assert all(row.formula in told and row.citation in told for row in table.rows)
    assert table.least_noise.label.startswith("certified")
    json.dumps(table.as_json(), allow_nan=False)


def test_the_certified_lower_bound_is_below_what_the_gaussian_mechanism_does():
    for d, k, epsilon, delta in [(5, 1, 0.1, 1e-3), (10, 2, 1.0, 1e-5), (20, 3, 3.0, 1e-9), (6, 6, 1.0, 0.1)]:
        least = bounds.least_noise(10**5, d, k, epsilon, delta)
        assert least.per_cell < bounds.noisy_tables(d, k, epsilon, delta).std


def test_the_best_group_is_the_best():
    """Against all group sizes, with the formula as it stands."""
    for n, epsilon, delta in [
        (1, 0.5, 0.0),
        (7, 0.05, 1e-4),
        (500, 0.03, 1e-3),
        (100, 5.0, 1e-6),
        (50, 1e-6, 0.01),
    ]:
        sizes = np.arange(1, n + 1)
        more = delta * np.expm1(sizes * epsilon) / np.expm1(epsilon)
        shared = (np.expm1(sizes * epsilon) + 2 * more) / (np.exp(sizes * epsilon) + 1)
        moments = np.maximum(1 - shared, 0) * sizes**2 / 4
        assert group_moment(n, epsilon, delta)[0] == pytest.approx(moments.max(), rel=1e-9)


sizes = st.tuples(st.integers(2, 10**6), st.integers(2, 40), st.integers(1, 4)).filter(lambda s: s[2] <= s[1])


@given(sizes, st.floats(0.01, 3), st.floats(1e-9, 1e-3))
def test_monotone_where_they_must_be(size, epsilon, delta):
    n, d, k = size
    table = bounds.table(n, d, k, epsilon, delta)
    looser = bounds.table(n, d, k, 2 * epsilon, delta)
    more = bounds.table(2 * n, d, k, epsilon, delta)
    wider = bounds.table(n, d + 1, k, epsilon, delta)
    for old, easier in zip(table.rows[4:], looser.rows[4:], strict=True):
        assert easier.logged is not None
        if old.side == "upper":
            assert easier.logged <= old.logged
    assert looser.gaussian.std <= table.gaussian.std
    assert looser.blr.alpha <= table.blr.alpha * (1 + 1e-12)
    assert more.blr.alpha <= table.blr.alpha * (1 + 1e-12)
    assert more.least_noise.trace >= table.least_noise.trace * (1 - 1e-12)
    assert wider.least_noise.trace >= table.least_noise.trace
    assert looser.least_noise.trace <= table.least_noise.trace
    assert wider.gaussian.std >= table.gaussian.std
    if n % 2 == 0:  # an odd number is not halved evenly
        assert more.sampled.largest >= table.sampled.largest
    for row, grown in zip(table.rows, more.rows, strict=True):
        if row.plain is not None:
            assert grown.plain >= row.plain * (1 - 1e-12)


def test_edges():
    assert bounds.table(100, 10, 1, 1.0, 1e-6).rows[0].logged is None  # attribute bound needs k of 2 or more
    whole = bounds.table(1000, 5, 5, 1.0, 1e-6)  # one table of everything
    same, general = entry(whole, "(ε, δ)-private, noise the same for all data", "lower"), whole.rows[6]
    assert general.logged == same.logged
    assert "ln(2^k m_k)" in whole.rows[1].formula
    assert all(
        row.logged == 0
        for row in bounds.table(100, 10, 2, 0.1, 0.5).rows
        if row.side == "lower" and "ε" in row.guarantee
    )
    pure = bounds.table(100, 10, 2, 1.0, 0.0)
    assert pure.gaussian.std is None
    assert pure.rows[5].logged is None
    assert math.isfinite(pure.rows[7].logged)
    json.dumps(pure.as_json(), allow_nan=False)
    assert "–" in str(pure)
    assert bounds.table(1, 3, 2, 1.0, 1e-6).sampled is None
    json.dumps(bounds.table(10**15, 60, 40, 1e-12, 1e-300).as_json(), allow_nan=False)
    assert bounds.blr(10, 20, 2, 0.1).vacuous
    assert bounds.blr(10, 20, 2, 0.1).mse == 100
    assert bounds.prior_guess(1) == 0.75
    assert bounds.prior_guess(2) == 0.625 <= 2 / 3
    assert bounds.row_guess(0.0, 0.0, prior=bounds.prior_guess(3)) == 0.5625


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: bounds.table(0, 5, 2, 1.0, 0.1), "n"),
        (lambda: bounds.table(10, 0, 2, 1.0, 0.1), "d"),
        (lambda: bounds.table(10, 5, 6, 1.0, 0.1), "k"),
        (lambda: bounds.table(10, 5, 2.5, 1.0, 0.1), "k"),
        (lambda: bounds.table(10, 5, True, 1.0, 0.1), "k"),
        (lambda: bounds.table(10, 5, 2, 0.0, 0.1), "epsilon"),
        (lambda: bounds.table(10, 5, 2, math.nan, 0.1), "epsilon"),
        (lambda: bounds.table(10, 5, 2, math.inf, 0.1), "epsilon"),
        (lambda: bounds.table(10, 5, 2, 1.0, 1.0), "delta"),
        (lambda: bounds.table(10, 5, 2, 1.0, -0.1), "delta"),
        (lambda: bounds.table(10, 5, 2, "1", 0.1), "epsilon"),
        (lambda: bounds.table(10**16, 5, 2, 1.0, 0.1), "n"),
        (lambda: bounds.table(10, 1000, 500, 1.0, 0.1), "k"),
        (lambda: bounds.blr(10, 5, 2, 1.0, constant=0.0), "constant"),
        (lambda: bounds.blr(10, 5, 2, 1.0, vc=-1.0), "vc"),
        (lambda: bounds.sampled(1, 5, 2), "n"),
        (lambda: bounds.sampled(10, 5, 2, failure=0.0), "failure"),
        (lambda: bounds.row_guess(1.0, 0.0, prior=1.5), "prior"),
    ],
)
def test_bad_input_names_the_parameter(call, name):
    with pytest.raises(ta.InvalidInput, match=f"^{name} must be"):
        call()
