import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from tellall import InvalidInput
from tellall.linalg.operators.compose import Partition, RowSelect, Stack
from tellall.linalg.operators.linear_operator import Dense
from tellall.linalg.operators.moments import Moments
from tellall.linalg.solvers.least_absolute import AbsoluteProblem, LeastAbsolute

EXACT = LeastAbsolute(exact_limit=10**9)
STEPS = LeastAbsolute(exact_limit=0)


def problem(m: int, n: int, seed: int) -> tuple[AbsoluteProblem, np.ndarray]:
    """Whole-numbered matrix (zero rows and columns happen), some fixed unknowns, some slack, gross errors."""
    rng = np.random.default_rng(seed)
    matrix = rng.integers(-2, 3, (m, n)).astype(float)
    lower = rng.uniform(-1, 0, n)
    made = AbsoluteProblem(
        operator=Dense(matrix),
        weights=rng.uniform(0, 3, m),
        lower=lower,
        upper=lower + rng.integers(0, 4, n),
        slack=np.where(rng.random(m) < 0.5, rng.uniform(0, 1, m), 0.0),
    )
    inside = rng.uniform(made.lower, made.upper)
    return made, matrix @ inside + rng.normal(size=m) + 20 * (rng.random(m) < 0.1)


def optimum(made: AbsoluteProblem, target: np.ndarray) -> float:
    """The primal linear program as one writes it down: t ≥ ±(A x − z) − slack, t ≥ 0."""
    matrix = made.operator.to_dense().astype(float)
    m, n = matrix.shape
    rows = np.block([[matrix, -np.eye(m)], [-matrix, -np.eye(m)]])
    right = np.concatenate([made.slack + target, made.slack - target])
    bounds = [*zip(made.lower, made.upper, strict=True), *[(0, None)] * m]
    cost = np.concatenate([np.zeros(n), made.weights])
    return linprog(cost, A_ub=rows, b_ub=right, bounds=bounds).fun


def pairs(n: int, d: int, seed: int, values: list[float]) -> tuple[AbsoluteProblem, np.ndarray, np.ndarray]:
    """All pairs of attributes in single precision, a little noise, one value in twenty far off."""
    rng = np.random.default_rng(seed)
    operator = Moments(rng.choice(np.array(values, dtype=np.float32), size=(d, n)), 2)
    m = operator.shape[0]
    secret = rng.integers(0, 2, n)
    target = operator @ secret.astype(float) + rng.normal(0, 0.05 * n**0.5, m)
    target += (rng.random(m) < 0.05) * rng.normal(0, 10 * n**0.5, m)
    return AbsoluteProblem(operator, np.ones(m), np.zeros(n), np.ones(n), np.zeros(m)), target, secret


@pytest.mark.parametrize("solver", [EXACT, STEPS], ids=["exact", "steps"])
@given(st.integers(1, 12), st.integers(1, 10), st.integers(0, 10**6))
def test_the_objective_is_the_linear_programs(solver, m, n, seed):
    made, target = problem(m, n, seed)
    solution = solver.prepare(made).solve(target)
    assert solution.status.word == "solved"
    x, best = solution.value, optimum(made, target)
    floor = 1e-3 * made.objective((made.lower + made.upper) / 2, target)
    tiny = 1e-7 * (1 + best)
    assert (made.lower <= x).all()
    assert (x <= made.upper).all()
    assert solution.stats["objective"] == pytest.approx(made.objective(x, target))
    assert solution.stats["bound"] <= best + tiny
    assert best - tiny <= solution.stats["objective"] <= best + solver.gap * max(best, floor) * 1.001 + tiny


@given(st.integers(1, 12), st.integers(1, 10), st.integers(0, 10**6))
def test_every_dual_point_is_a_lower_bound(m, n, seed):
    made, target = problem(m, n, seed)
    rng = np.random.default_rng(seed)
    inside = rng.uniform(made.lower, made.upper)
    assert made.lower_bound(10 * rng.normal(size=m), target) <= made.objective(inside, target) + 1e-9


@pytest.mark.parametrize("solver", [EXACT, STEPS], ids=["exact", "steps"])
@pytest.mark.parametrize(("m", "n"), [(0, 3), (3, 0), (0, 0), (1, 1)])
def test_edge_sizes(solver, m, n):
    made, target = problem(m, n, 3)
    solution = solver.prepare(made).solve(target)
    assert solution.status.word == "solved"
    assert solution.value.shape == (n,)


@pytest.mark.parametrize("values", [[-1.0, 1.0], [0.0, 1.0]], ids=["signs", "bits"])
def test_single_precision_steps_reach_the_optimum_of_highs(values):
    made, target, secret = pairs(150, 26, 1, values)
    solution = STEPS.prepare(made).solve(target)
    best = EXACT.prepare(made).solve(target).stats["objective"]
    assert solution.status.word == "solved"
    assert best * (1 - 1e-9) <= solution.stats["objective"] <= best * (1 + 1e-4)
    assert np.mean((solution.value >= 0.5) == secret) >= 0.97


def test_splitting_off_the_outlying_directions_of_bits_saves_steps():
    made, target, _ = pairs(300, 36, 2, [0.0, 1.0])
    split = STEPS.prepare(made).solve(target)
    plain = LeastAbsolute(exact_limit=0, outliers=0).prepare(made).solve(target)
    assert split.stats["outliers"] > 0
    assert plain.stats["outliers"] == 0
    assert split.stats["iterations"] < plain.stats["iterations"] / 2
    assert split.stats["objective"] == pytest.approx(plain.stats["objective"], rel=1e-4)


def test_signs_have_no_outlying_directions():
    made, target, _ = pairs(300, 36, 2, [-1.0, 1.0])
    assert STEPS.prepare(made).solve(target).stats["outliers"] == 0


def test_tables_of_several_releases():
    rng = np.random.default_rng(4)
    n = 120
    codes = np.stack([rng.integers(0, 6, n), 6 + rng.integers(0, 5, n)])
    tables = Partition(codes, 11)
    operator = Stack([tables, RowSelect(tables, [0, 3, 3, 7])])
    size = rng.integers(1, 6, n).astype(float)
    m = operator.shape[0]
    target = np.round((operator @ np.floor(size / 2)) / 5) * 5
    made = AbsoluteProblem(operator, np.ones(m), np.zeros(n), size, np.full(m, 2.5))
    for solver in (EXACT, STEPS):
        solution = solver.prepare(made).solve(target)
        assert solution.status.word == "solved"
        assert solution.stats["objective"] <= 1e-6  # what was rounded lies in its interval


def test_slack_forgives_what_rounding_did():
    made = AbsoluteProblem(Dense([[1.0]]), np.ones(1), np.zeros(1), np.full(1, 9.0), np.full(1, 2.0))
    for solver in (EXACT, STEPS):
        solution = solver.prepare(made).solve(np.array([5.0]))
        assert solution.stats["objective"] <= 1e-9
        assert 3 - 1e-6 <= solution.value[0] <= 7 + 1e-6
        assert solver.prepare(made).solve(np.array([12.0])).stats["objective"] == pytest.approx(1.0)


def test_exact_data_have_no_objective_to_be_relative_to():
    rng = np.random.default_rng(5)
    operator = Moments(rng.choice(np.array([-1.0, 1.0], dtype=np.float32), size=(25, 100)), 2)
    m, n = operator.shape
    secret = rng.integers(0, 2, n)
    made = AbsoluteProblem(operator, np.ones(m), np.zeros(n), np.ones(n), np.zeros(m))
    solution = STEPS.prepare(made).solve(operator @ secret.astype(float))
    assert solution.status.word == "solved"
    assert np.abs(solution.value - secret).max() < 0.01


def test_double_precision_takes_over_where_single_stalls():
    rng = np.random.default_rng(0)
    operator = Moments(rng.choice(np.array([-1.0, 1.0], dtype=np.float32), size=(20, 90)), 2)
    m, n = operator.shape
    target = operator @ rng.integers(0, 2, n) + rng.normal(0, 0.005, m)  # a thousandth of the signal
    made = AbsoluteProblem(operator, np.ones(m), np.zeros(n), np.ones(n), np.zeros(m))
    solution = STEPS.prepare(made).solve(target)
    assert solution.status.word == "solved"
    assert solution.stats["objective"] <= EXACT.prepare(made).solve(target).stats["objective"] * (1 + 1e-4)


def test_not_converging_is_said_with_advice():
    made, target, _ = pairs(150, 26, 1, [-1.0, 1.0])
    solution = LeastAbsolute(exact_limit=0, iterations=20).prepare(made).solve(target)
    assert solution.status.word == "not converged"
    assert "allow more iterations" in str(solution.status)
    assert solution.stats["gap"] > 1e-4
    assert solution.stats["bound"] <= EXACT.prepare(made).solve(target).stats["objective"]


def test_one_preparation_serves_many_targets_and_repeats_itself():
    made, target, _ = pairs(150, 26, 1, [0.0, 1.0])
    prepared = STEPS.prepare(made)
    first, _, again = (prepared.solve(z).value for z in (target, -target, target))
    assert np.array_equal(first, again)


def test_golden_lp_decoding(golden):
    for case in golden["lp_decoding"]:
        matrix = np.array(case["A"], dtype=float)
        m, n = matrix.shape
        wide = np.full(n, 10.0)  # the golden optimum has no box
        made = AbsoluteProblem(Dense(matrix), np.ones(m), -wide, wide, np.zeros(m))
        target = np.array(case["z"], dtype=float)
        exact = EXACT.prepare(made).solve(target)
        assert exact.stats["objective"] == pytest.approx(float(case["objective"]), abs=1e-9)
        assert np.allclose(exact.value, np.array(case["x_l1"], dtype=float), atol=1e-9)
        assert (exact.value >= 0.5).astype(int).tolist() == case["s_hat_l1"]
        steps = STEPS.prepare(made).solve(target)
        assert steps.stats["objective"] <= float(case["objective"]) * (1 + 1e-4)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"weights": np.ones(2)}, "weights must be 3 finite numbers"),
        ({"weights": -np.ones(3)}, "weights must be zero or more"),
        ({"slack": -np.ones(3)}, "slack must be zero or more"),
        ({"upper": -np.ones(2)}, "upper must be at least lower"),
        ({"lower": np.array([-np.inf, 0])}, "lower must be 2 finite numbers"),
    ],
)
def test_bad_problems_are_refused(change, says):
    parts = {
        "operator": Dense(np.ones((3, 2))),
        "weights": np.ones(3),
        "lower": np.zeros(2),
        "upper": np.ones(2),
        "slack": np.zeros(3),
    }
    with pytest.raises(InvalidInput, match=says):
        AbsoluteProblem(**{**parts, **change})
    with pytest.raises(InvalidInput, match="target must be 3 finite numbers"):
        EXACT.prepare(AbsoluteProblem(**parts)).solve(np.array([1.0, np.nan, 2.0]))


def test_bad_options_are_refused():
    with pytest.raises(InvalidInput, match="gap must be between 0 and 1"):
        LeastAbsolute(gap=0.0)
    with pytest.raises(InvalidInput, match="iterations must be one or more"):
        LeastAbsolute(iterations=0)
