"""Sketched least squares: golden numbers, limits, laws, and the real algorithm simulated."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from tellall import InvalidInput, privacy
from tellall.privacy import sketch as quadric

GOLDEN = Path(__file__).parents[1] / "golden" / "sketch_profile.json"


def close(got: float, want: float) -> bool:
    return abs(got - want) <= max(1e-13, 1e-9 * abs(want))


def test_golden() -> None:
    for case in json.loads(GOLDEN.read_text())["cases"]:
        record = case["leverage"], case["residual_share"], case["features"], case["sketch_rows"]
        for way in ("forward", "backward"):
            exact = privacy.sketch_delta(case["epsilon"], *record, direction=way)
            assert close(float(exact), float(case[f"delta_{way}"])), (case, way)
            normal = privacy.sketch_delta(case["epsilon"], *record, method="asymptotic", direction=way)
            assert close(float(normal), float(case[f"gaussian_delta_{way}"])), (case, way)
            pure = privacy.sketch_pure_epsilon(*record, direction=way)
            assert pure == pytest.approx(float(case[f"pure_epsilon_{way}"]), rel=1e-13)
            assert privacy.sketch_delta(float(pure), *record, direction=way) == 0.0
            assert privacy.sketch_delta(float(pure) * 0.5, *record, direction=way) > 0.0


record_numbers = st.tuples(
    st.floats(-7, -1e-9).map(lambda x: 10.0**x),
    st.floats(-9, -1e-6).map(lambda x: 10.0**x),
    st.integers(1, 30),
    st.sampled_from([0, 1, 2, 10, 100, 3000, 100_000]),
    st.floats(0, 1.2),
)


@settings(max_examples=40, deadline=None)
@given(record_numbers)
def test_laws_of_a_curve(numbers: tuple[float, float, int, int, float]) -> None:
    leverage, part, features, extra, reach = numbers
    share, rows = part * (1 - leverage), features + extra
    pure = float(privacy.sketch_pure_epsilon(leverage, share, features, rows))
    assert pure >= 0.0
    eps = np.linspace(0, min(reach * pure, 550.0), 6)
    both = [
        privacy.sketch_delta(eps, leverage, share, features, rows, direction=way)
        for way in ("forward", "backward")
    ]
    # Total variation is symmetric.
    assert both[0][0] == pytest.approx(both[1][0], abs=1e-12)
    for curve in both:
        assert ((curve >= 0) & (curve <= 1)).all()
        assert (np.diff(curve) <= 1e-13).all()
        # δ is convex in e^ε, so it lies above every tangent's continuation: 1 − (1 − δ0)-type bound.
        assert (curve >= curve[0] - np.expm1(eps) - 1e-12).all()
    larger = privacy.sketch_delta(eps, leverage, share, features, rows)
    np.testing.assert_array_equal(larger, np.maximum(*both))
    assert privacy.sketch_delta(pure, leverage, share, features, rows) == 0.0


def test_quadrature_is_converged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every piece cut in six and taken with 48 points instead of 20 changes nothing above 1e-12."""
    rng = np.random.default_rng(3)
    cases = []
    for _ in range(120):
        features = int(rng.choice([1, 2, 3, 5, 12, 60]))
        rows = features + int(rng.choice([0, 1, 5, 60, 2000, 100_000]))
        leverage = rng.choice([10 ** rng.uniform(-6, 0), 1 - 10 ** rng.uniform(-5, 0)])
        share = (1 - leverage) * 10 ** rng.uniform(-8, -0.01)
        pure = float(privacy.sketch_pure_epsilon(leverage, share, features, rows))
        cases.append((min(pure, 500.0) * rng.uniform(0, 1) ** 2, leverage, share, features, rows))
    coarse = [privacy.sketch_delta(*case) for case in cases]
    nodes, weights = np.polynomial.legendre.leggauss(48)
    jacobian = np.cos(np.pi * nodes / 2) * np.pi / 2
    tail = (weights[:, None] * np.polynomial.legendre.legvander(nodes, 47)[:, 44:]) * (
        np.arange(44, 48) + 0.5
    )
    monkeypatch.setattr(quadric, "_PLACES", np.sin(np.pi * nodes / 2))
    monkeypatch.setattr(quadric, "_JACOBIAN", jacobian)
    monkeypatch.setattr(quadric, "_MASSES", weights * jacobian)
    monkeypatch.setattr(quadric, "_TAIL", tail)
    plain = quadric._cuts

    def fine(*args: Any) -> Any:
        cuts = plain(*args)
        inner = [cuts[:, :-1] + np.diff(cuts, axis=1) * (1 - np.cos(np.pi * j / 6)) / 2 for j in range(6)]
        return np.sort(np.concatenate([*inner, cuts[:, -1:]], axis=1), axis=1)

    monkeypatch.setattr(quadric, "_cuts", fine)
    np.testing.assert_allclose([privacy.sketch_delta(*case) for case in cases], coarse, rtol=0, atol=1e-12)


def test_one_feature_is_student_t_alone() -> None:
    """p = 1: the loss is a function of one t variable; its masses by stdtr."""
    leverage, share, rows = 0.2, 0.1, 9
    kappa, shift = 1 - share / (1 - leverage), np.sqrt(share * leverage) / (1 - leverage)
    log_scale = np.log(kappa) - np.log(1 - leverage)

    def loss(a: Any) -> Any:
        return log_scale / 2 - (rows + 1) / 2 * (
            np.log1p(a**2) - np.log1p((1 - leverage) * (a + shift) ** 2 / kappa)
        )

    grid = np.tan(np.linspace(-np.pi / 2 + 1e-6, np.pi / 2 - 1e-6, 400_001))
    for eps in (0.0, 0.1, 0.3):
        inside = loss(grid) > eps
        law = special.stdtr(rows, grid * np.sqrt(rows))
        other = special.stdtr(rows, (grid + shift) * np.sqrt((1 - leverage) / kappa) * np.sqrt(rows))
        held = (inside[1:] & inside[:-1]).astype(float)
        want = (np.diff(law) * held).sum() - np.exp(eps) * (np.diff(other) * held).sum()
        got = privacy.sketch_delta(eps, leverage, share, 1, rows, direction="forward")
        assert got == pytest.approx(want, abs=1e-9)


def one_feature(eps: float, leverage: float, share: float, rows: int, *, forward: bool) -> float:
    """δ from the roots of the event's quadratic and tails of Student's t, in 400 digits."""
    with mpmath.workdps(400):
        lev, e, ln_c = mpmath.mpf(leverage), mpmath.mpf(share), mpmath.mpf(eps if forward else -eps)
        narrow, m = 1 - e / (1 - lev), mpmath.sqrt(e * lev) / (1 - lev)
        spread = mpmath.sqrt(narrow / (1 - lev))
        level = mpmath.exp((2 * ln_c - mpmath.log(narrow / (1 - lev))) / (rows + 1))
        a, b, c = spread**-2 - level, 2 * m / spread**2, 1 + (m / spread) ** 2 - level

        def below(x: Any) -> Any:
            half = mpmath.mpf(1) / 2
            tail = half * mpmath.betainc(half * rows, half, 0, 1 / (1 + x * x), regularized=True)
            return 1 - tail if x > 0 else tail

        def chance(place: Any) -> Any:
            gap = b * b - 4 * a * c
            if gap <= 0:
                return mpmath.mpf(a > 0)
            low, high = sorted((-b + sign * mpmath.sqrt(gap)) / (2 * a) for sign in (-1, 1))
            inside = below(place(high)) - below(place(low))
            return 1 - inside if a > 0 else inside

        here, there = chance(lambda x: x), chance(lambda x: (x + m) / spread)
        found = here - mpmath.exp(eps) * there if forward else 1 - there - mpmath.exp(eps) * (1 - here)
        return max(0.0, float(found))


def test_one_feature_keeps_its_digits() -> None:
    """e^ε times a difference of nearly equal tails would lose them."""
    rng = np.random.default_rng(7)
    cases = [(0.000807, 0.000513, 0.000757, 1000), (18.9, 0.3713, 0.059, 100), (299.5, 0.2356, 0.5709, 1000)]
    while len(cases) < 25:
        lev, rows = float(rng.uniform(0.02, 0.95)), int(rng.choice([2, 10, 50, 300]))
        share = float(rng.uniform(0.01, 0.99)) * (1 - lev)
        most = float(privacy.sketch_pure_epsilon(lev, share, 1, rows))
        cases.append((float(rng.random()) * min(most, 500.0), lev, share, rows))
    for eps, lev, share, rows in cases:
        for forward, way in ((True, "forward"), (False, "backward")):
            got = privacy.sketch_delta(eps, lev, share, 1, rows, direction=way)
            assert got == pytest.approx(one_feature(eps, lev, share, rows, forward=forward), abs=1e-13)


def test_tends_to_the_normal_limit_at_rate_one_over_rows() -> None:
    """Scale the record with the rows so that the limit stays put (δ about 0.05): the gap falls like 1/r."""
    gaps = []
    for rows in (100, 1000, 10_000, 100_000):
        size = 0.5 / np.sqrt(rows)
        exact = privacy.sketch_delta(0.5, size, size, 3, rows)
        normal = privacy.sketch_delta(0.5, size, size, 3, rows, method="asymptotic")
        gaps.append(abs(float(exact - normal)))
    rates = np.log10(np.array(gaps[:-1]) / gaps[1:])
    assert (rates > 0.95).all()
    assert gaps[-1] < 1e-5


def test_the_larger_direction_grows_in_leverage_and_in_residual_share() -> None:
    """The reason the Pareto frontier is enough: not proved, so held to on a grid."""
    steps = np.linspace(0.001, 0.6, 9)
    leverage, share = np.meshgrid(steps, steps * 0.66, indexing="ij")
    for features, rows in ((1, 3), (2, 2), (4, 8), (4, 60)):
        for eps in (0.0, 0.2, 1.0, 3.0):
            value = privacy.sketch_delta(eps, leverage, share, features, rows)
            assert (np.diff(value, axis=0) >= -1e-12).all()
            assert (np.diff(value, axis=1) >= -1e-12).all()


def simulated(features: np.ndarray, response: np.ndarray, rows: int, runs: int, seed: int) -> np.ndarray:
    """The real algorithm: sketch the data with a Gaussian matrix, solve, `runs` times."""
    rng = np.random.default_rng(seed)
    joined = np.column_stack([features, response])
    out = np.empty((runs, features.shape[1]))
    for start in range(0, runs, 2000):
        count = min(2000, runs - start)
        sketch = rng.standard_normal((count, rows, len(joined))) @ joined
        q, r = np.linalg.qr(sketch[:, :, :-1])
        out[start : start + count] = np.linalg.solve(r, (q.swapaxes(1, 2) @ sketch[:, :, -1:]))[:, :, 0]
    return out


@pytest.mark.parametrize("rows", [4, 5, 8, 20, 60])
def test_simulation_of_the_real_algorithm(rows: int) -> None:
    """Frequencies of the optimal events under real draws, D and D', against the exact δ.

    8 000 runs a side. 6.5 standard errors and a term for rare events are allowed: by Bernstein a false
    alarm has probability below 2e-9, and 5 × 3 × 2 comparisons together below 1e-7.
    """
    rng = np.random.default_rng(11)
    features = rng.standard_normal((30, 4))
    features[0] *= 3.0
    response = features @ np.ones(4) + rng.standard_normal(30)
    response[0] += 3.0
    fit = privacy.influence(features, response)
    leverage, share = fit.leverage[0], fit.residual_share[0]
    zeroed_x, zeroed_y = features.copy(), response.copy()
    zeroed_x[0], zeroed_y[0] = 0.0, 0.0
    other = privacy.influence(zeroed_x, zeroed_y)
    runs = 8000
    here = simulated(features, response, rows, runs, seed=rows)
    there = simulated(zeroed_x, zeroed_y, rows, runs, seed=1000 + rows)

    def loss(x: np.ndarray) -> np.ndarray:
        """ln of the ratio of the two t densities at x, from their definition."""
        value = np.zeros(len(x))
        for sign, data, law in ((1, features, fit), (-1, zeroed_x, other)):
            gram = data.T @ data
            off = x - law.coefficients
            squares = np.einsum("ij,jk,ik->i", off, gram, off) / law.residual_norm**2
            log_det = np.linalg.slogdet(gram)[1] - 8 * np.log(law.residual_norm)
            value += sign * (log_det / 2 - (rows + 1) / 2 * np.log1p(squares))
        return value

    loss_here, loss_there = loss(here), loss(there)
    for eps in (0.0, 0.3, 1.0):
        for way in ("forward", "backward"):
            a, b = (loss_here, loss_there) if way == "forward" else (-loss_there, -loss_here)
            p, q = (a > eps).mean(), (b > eps).mean()
            error = np.sqrt((p * (1 - p) + np.exp(2 * eps) * q * (1 - q)) / runs) + 10 / runs
            exact = privacy.sketch_delta(eps, leverage, share, 4, rows, direction=way)
            assert abs(p - np.exp(eps) * q - exact) < 6.5 * error


def test_frontier_keeps_the_worst_record() -> None:
    rng = np.random.default_rng(5)
    features = rng.standard_t(3, (300, 3))
    response = rng.standard_t(3, 300)
    fit = privacy.influence(features, response)
    keep = privacy.pareto_frontier(fit.leverage, fit.residual_share)
    assert len(keep) < 60
    eps = np.array([0.0, 0.5, 2.0])
    everyone = privacy.sketch_delta(eps[:, None], fit.leverage, fit.residual_share, 3, 20)
    frontier = privacy.sketch_delta(eps[:, None], fit.leverage[keep], fit.residual_share[keep], 3, 20)
    np.testing.assert_allclose(frontier.max(axis=1), everyone.max(axis=1), rtol=0, atol=1e-12)


def test_influence_equals_refitting_without_the_record() -> None:
    rng = np.random.default_rng(6)
    features = np.column_stack([np.ones(40), rng.standard_normal((40, 3)) * [1.0, 1e6, 1e-5]])
    response = rng.standard_normal(40) + 1e4
    fit = privacy.influence(features, response)
    full = np.linalg.lstsq(features / [1, 1, 1e6, 1e-5], response, rcond=None)[0] / [1, 1, 1e6, 1e-5]
    np.testing.assert_allclose(fit.coefficients, full, rtol=1e-8)
    for row in range(5):
        kept = np.arange(40) != row
        less = privacy.influence(features[kept], response[kept])
        moved = np.linalg.norm(less.coefficients - fit.coefficients)
        assert fit.sensitivity[row] == pytest.approx(moved, rel=1e-7)
        kappa = 1 - fit.residual_share[row] / (1 - fit.leverage[row])
        assert (less.residual_norm / fit.residual_norm) ** 2 == pytest.approx(kappa, rel=1e-9)


def test_influence_in_blocks_is_the_same(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    table, target = rng.standard_normal((500, 4)), rng.standard_normal(500)
    whole = privacy.influence(table, target)
    np.save(tmp_path / "table.npy", table)
    monkeypatch.setattr("tellall.privacy.record_influence._BATCH", 37)
    mapped = np.load(tmp_path / "table.npy", mmap_mode="r")
    parts = privacy.influence(mapped, target)
    np.testing.assert_allclose(parts.leverage, whole.leverage, rtol=1e-12)
    np.testing.assert_allclose(parts.residual, whole.residual, rtol=0, atol=1e-13)
    np.testing.assert_allclose(parts.pull, whole.pull, rtol=1e-12)
    assert parts.inverse_trace == pytest.approx(whole.inverse_trace, rel=1e-12)


def test_ends() -> None:
    assert privacy.sketch_delta(5.0, 1.0, 0.0, 2, 10) == 1.0
    assert privacy.sketch_delta(5.0, 0.4, 0.6, 2, 10) == 1.0
    assert privacy.sketch_delta(0.0, 0.0, 0.0, 2, 10) == 0.0
    assert privacy.sketch_pure_epsilon(1.0, 0.0, 2, 10) == np.inf
    assert privacy.sketch_pure_epsilon(0.0, 0.0, 2, 10) == 0.0
    # A record with leverage but no residual changes only the spread; one without leverage only its size.
    assert 0 < privacy.sketch_delta(0.1, 0.3, 0.0, 2, 10) < 1
    assert 0 < privacy.sketch_delta(0.1, 0.0, 0.3, 2, 10) < 1
    assert privacy.sketch_delta([0.0, 1.0], [[0.1], [0.2]], 0.1, 2, 10).shape == (2, 2)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: privacy.sketch_delta(0.1, 0.1, 0.1, 4, 3),
            "rows must be at least the number of features, 4; got 3",
        ),
        (lambda: privacy.sketch_delta(-1, 0.1, 0.1, 4, 8), "epsilon must be zero or more"),
        (lambda: privacy.sketch_delta(1, 1.1, 0.1, 4, 8), "leverage must be between 0 and 1"),
        (lambda: privacy.sketch_delta(1, 0.1, np.nan, 4, 8), "residual_share"),
        (
            lambda: privacy.sketch_delta(1, 0.1, 0.1, 4, 8, method="normal"),
            "method must be 'exact' or 'asymptotic'",
        ),
        (lambda: privacy.influence([[1, 1], [1, 1], [1, 1]], [1, 2, 3]), "full column rank"),
        (lambda: privacy.influence([[1, 0], [1, 0], [1, 0]], [1, 2, 3]), "column 1, all zeros"),
        (lambda: privacy.influence([[1, np.nan], [1, 0], [1, 0]], [1, 2, 3]), "row 0"),
        (lambda: privacy.influence([[1, 2], [1, 0], [1, 0]], [1, 2, np.inf]), "row 2"),
        (lambda: privacy.influence([[1, 2], [1, 0]], [1, 2, 3]), "response must be of length 2"),
        (lambda: privacy.influence([[1, 2, 3]], [1]), "at least as many rows as columns (3); got 1 rows"),
        (lambda: privacy.influence([["a", "b"]], [1]), "features must be a table of numbers"),
    ],
)
def test_bad_arguments_are_named(call: Any, words: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        call()
    assert words in str(caught.value)
