"""Private least squares: fits, profiles, calibration, error, and what cannot be had."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tellall import InvalidInput, privacy
from tellall.privacy.least_squares.noisy import GaussianLeastSquares
from tellall.privacy.least_squares.projected import ProjectedLeastSquares
from tellall.privacy.least_squares.side_by_side import profile_table, standard_methods
from tellall.privacy.least_squares.sketched import SketchedLeastSquares

Data = tuple[np.ndarray, np.ndarray]


@pytest.fixture(scope="module")
def data() -> Data:
    rng = np.random.default_rng(8)
    features = np.column_stack([np.ones(200), rng.standard_normal((200, 2))])
    return features, features @ [1.0, -2.0, 0.5] + rng.standard_normal(200)


def bounded(seed: int = 3, size: int = 400) -> Data:
    rng = np.random.default_rng(seed)
    features = rng.uniform(-1, 1, (size, 2))
    return features, features @ [0.5, -0.3] + rng.uniform(-0.2, 0.2, size)


@pytest.mark.parametrize("kind", ["gaussian", "hadamard"])
def test_sketched_fit_is_near_the_exact_one_and_seeded(data: Data, kind: Any) -> None:
    method = SketchedLeastSquares(128, sketch=kind)
    exact = privacy.influence(*data).coefficients
    got = method.fit(*data, rng=4)
    np.testing.assert_array_equal(got, method.fit(*data, rng=4))
    # E‖x̃ − x‖² is about 0.012 here; 100 times that by Markov on the t law's tails is far below 1e-6.
    assert np.sum((got - exact) ** 2) < 1.2
    assert not np.array_equal(got, method.fit(*data, rng=5))


def test_sketch_does_not_depend_on_how_the_records_come(data: Data, tmp_path: Path) -> None:
    features, response = data
    method = SketchedLeastSquares(12)
    whole = method.fit(features, response, rng=1)

    def pieces(size: int) -> Iterator[Data]:
        for start in range(0, len(response), size):
            yield features[start : start + size], response[start : start + size]

    for size in (1, 37, 1000):
        np.testing.assert_allclose(method.fit(pieces(size), rng=1), whole, rtol=1e-9)
    np.save(tmp_path / "x.npy", features)
    np.testing.assert_allclose(method.fit(np.load(tmp_path / "x.npy", mmap_mode="r"), response, 1), whole)
    x, y = bounded()
    projected = ProjectedLeastSquares(20, 1.0, 1e-4, row_bound=2.0)
    again = projected.fit(((x[i : i + 7], y[i : i + 7]) for i in range(0, len(y), 7)), rng=2)
    np.testing.assert_allclose(again, projected.fit(x, y, 2), rtol=1e-9)


def test_hadamard_sketch_keeps_the_geometry() -> None:
    """All rows of the transform at once are an orthogonal map: the solution is the exact one."""
    rng = np.random.default_rng(0)
    features, response = rng.standard_normal((64, 3)), rng.standard_normal(64)
    got = SketchedLeastSquares(64, sketch="hadamard").fit(features, response, 1)
    np.testing.assert_allclose(got, privacy.influence(features, response).coefficients, rtol=1e-10)
    got = SketchedLeastSquares(64, sketch="hadamard").fit(features[:50], response[:50], 1)
    np.testing.assert_allclose(got, privacy.influence(features[:50], response[:50]).coefficients, rtol=1e-10)


@pytest.mark.parametrize("rows", [3, 4, 8, 60])
def test_sampler_has_the_law_of_the_algorithm(data: Data, rows: int) -> None:
    """Two-sample Kolmogorov–Smirnov on each coefficient, 4 000 draws of `fit` against 4 000 of `sampler`.

    Rejects at 0.068: by the Kolmogorov bound 2 exp(−4000·0.068²) < 2e-8 for each of 12 comparisons, together
    below 3e-7.
    """
    features, response = data[0][:40], data[1][:40]
    method = SketchedLeastSquares(rows)
    rng = np.random.default_rng(rows)
    count = 4000
    joined = np.column_stack([features, response])
    sketches = rng.standard_normal((count, rows, 40)) @ joined
    q, r = np.linalg.qr(sketches[:, :, :3])
    real = np.linalg.solve(r, q.swapaxes(1, 2) @ sketches[:, :, 3:])[:, :, 0]
    drawn = method.sampler(features, response)(count, 100 + rows)
    for j in range(3):
        grid = np.sort(np.concatenate([real[:, j], drawn[:, j]]))
        a = np.searchsorted(np.sort(real[:, j]), grid, side="right") / count
        b = np.searchsorted(np.sort(drawn[:, j]), grid, side="right") / count
        assert np.abs(a - b).max() < 0.068


def test_sketched_profile_is_that_of_its_worst_record(data: Data) -> None:
    features, response = data
    profile = SketchedLeastSquares(15).profile(features, response)
    fit = privacy.influence(features, response)
    eps = np.array([0.0, 0.2, 1.0])
    everyone = privacy.sketch_delta(eps[:, None], fit.leverage, fit.residual_share, 3, 15)
    np.testing.assert_allclose(profile.delta(eps), everyone.max(axis=1), rtol=0, atol=1e-12)
    assert profile.worst_record == int(np.argmax(everyone[0]))
    assert profile.leverage == fit.leverage[profile.worst_record]
    assert profile.delta(profile.pure_epsilon) == 0.0
    assert profile.epsilon(1e-3) < profile.pure_epsilon
    normal = SketchedLeastSquares(15).profile(features, response, method="asymptotic")
    assert normal.pure_epsilon == np.inf
    assert normal.delta(0.2) > profile.delta(0.2)
    assert "Relative to the data at hand" in str(profile)
    assert "Pure: δ = 0" in str(profile)


def test_pruned_maximum_is_the_maximum() -> None:
    """Many ε at once take the pruned way over the frontier: the same numbers as every record at every ε."""
    rng = np.random.default_rng(4)
    features, response = rng.standard_t(3, (300, 3)), rng.standard_t(3, 300)
    fit = privacy.influence(features, response)
    for rows in (3, 25, 400):
        profile = SketchedLeastSquares(rows).profile(features, response)
        eps = rng.permutation(np.linspace(0, min(1.1 * profile.pure_epsilon, 30.0), 40))
        keep = privacy.pareto_frontier(fit.leverage, fit.residual_share)
        plain = privacy.sketch_delta(eps[:, None], fit.leverage[keep], fit.residual_share[keep], 3, rows)
        np.testing.assert_allclose(profile.delta(eps), plain.max(axis=1), rtol=0, atol=1e-13)


@pytest.mark.parametrize("grid", [np.logspace(-12, 3, 40), np.append(np.linspace(0, 1e-9, 20), 1.0)])
def test_a_grid_of_epsilons_is_the_same_as_each_alone(grid: np.ndarray) -> None:
    """Close ε, and ε of very different sizes: chords between them must not be rounding noise."""
    rng = np.random.default_rng(0)
    features = np.column_stack([np.ones(200), rng.standard_t(3, size=(200, 2))])
    response = features @ [1, 2, 3] + rng.standard_t(3, size=200)
    profile = SketchedLeastSquares(30).profile(features, response)
    alone = np.array([float(profile.delta(float(eps))) for eps in grid])
    np.testing.assert_allclose(profile.delta(grid), alone, rtol=0, atol=1e-13)


def test_an_asymptotic_profile_says_that_it_promises_nothing(data: Data) -> None:
    profile = SketchedLeastSquares(8).profile(*data, method="asymptotic")
    assert "an approximation, which promises nothing" in str(profile)


@pytest.mark.parametrize("kind", [lambda x: x.view(np.matrix), lambda x: np.ma.masked_array(x, mask=False)])
def test_other_kinds_of_arrays_are_read_as_arrays(data: Data, kind: Any) -> None:
    features, response = data
    for method in (SketchedLeastSquares(8), GaussianLeastSquares(std=0.1)):
        plain = method.profile(features, response).delta(1.0)
        assert method.profile(kind(features), response).delta(1.0) == plain


def test_masked_values_are_refused(data: Data) -> None:
    features, response = data
    hole = np.ma.masked_array(features, mask=np.eye(*features.shape, dtype=bool))
    gap = np.ma.masked_array(response, mask=np.arange(response.size) < 3)
    for one, two, name in ((hole, response, "features"), (features, gap, "response")):
        with pytest.raises(InvalidInput, match=f"^{name} must be .* masked values"):
            privacy.influence(one, two)


def test_gaussian_sensitivity_golden(golden: dict[str, Any]) -> None:
    for case in golden["gaussian_ols_row_sensitivity"]:
        fit = privacy.influence(case["B"], case["b"])
        row = case["row"] - 1
        assert fit.leverage[row] == pytest.approx(float(Fraction(case["leverage"])), rel=1e-12)
        assert fit.residual[row] == pytest.approx(float(Fraction(case["residual"])), rel=1e-12)
        moved = float(case["sensitivity_|x-x_(-i)|"])
        assert fit.sensitivity[row] == pytest.approx(moved, rel=1e-12)
        got = privacy.gaussian_delta(0.5, fit.sensitivity[row], float(case["sigma"]))
        assert got == pytest.approx(float(case["delta_eps0.5"]), rel=1e-12)
    for case in golden["random_projection_from_matrix"]:
        joined = np.array(case["D"], dtype=float)
        leverage = privacy.influence(joined, joined[:, 0]).leverage[case["row"] - 1]
        assert leverage == pytest.approx(float(case["leverage"]), rel=1e-12)


def test_gaussian_noise_is_the_least_that_keeps_the_promise(data: Data) -> None:
    method = GaussianLeastSquares(epsilon=0.5, delta=1e-5)
    profile = method.profile(*data)
    assert profile.delta(0.5) == pytest.approx(1e-5, rel=1e-8)
    assert profile.delta(0.5) <= 1e-5
    std = method.noise(*data)
    assert method.expected_error(*data) == pytest.approx(3 * std**2)
    draws = method.sampler(*data)(20_000, 1)
    # A chi-square with 60 000 degrees: 6 standard errors, false alarm below 1e-8.
    assert np.mean((draws - draws.mean(axis=0)) ** 2) == pytest.approx(std**2, rel=6 * np.sqrt(2 / 60_000))
    np.testing.assert_array_equal(method.fit(*data, rng=3), method.sampler(*data)(1, 3)[0])


def test_calibrations_invert(data: Data) -> None:
    method = SketchedLeastSquares.calibrate(*data, epsilon=0.3, delta=1e-3)
    assert method.profile(*data).delta(0.3) <= 1e-3
    assert SketchedLeastSquares(method.rows + 1).profile(*data).delta(0.3) > 1e-3
    again = SketchedLeastSquares.for_error(*data, error=0.5)
    assert again.expected_error(*data) <= 0.5 < SketchedLeastSquares(again.rows - 1).expected_error(*data)
    with pytest.raises(InvalidInput, match="within reach"):
        SketchedLeastSquares.calibrate(*data, epsilon=0.0, delta=1e-9)


def test_calibration_stops_at_the_most_rows_there_can_be(data: Data, monkeypatch: pytest.MonkeyPatch) -> None:
    free = SketchedLeastSquares.calibrate(*data, epsilon=2.0, delta=0.5)
    assert free.rows > 30
    monkeypatch.setattr("tellall.privacy.least_squares.sketched.MOST_ROWS", 30)
    assert SketchedLeastSquares.calibrate(*data, epsilon=2.0, delta=0.5).rows == 30


def test_delta_grows_with_the_rows(data: Data) -> None:
    values = [
        SketchedLeastSquares(r).profile(*data).delta([0.0, 0.1, 0.5]) for r in (3, 4, 6, 10, 30, 100, 1000)
    ]
    assert (np.diff(values, axis=0) >= -1e-12).all()


def test_expected_errors_match_simulation() -> None:
    """Means of 40 000 squared errors; rows far above features, so that the error has many moments.

    Six standard errors each: a false alarm below 1e-8 (with fourth moments finite; the seeds are fixed).
    """
    x, y = bounded()
    exact = privacy.influence(x, y).coefficients
    for method in (SketchedLeastSquares(40), ProjectedLeastSquares(40, 1.0, 1e-3, row_bound=1.8)):
        squares = ((method.sampler(x, y)(40_000, 7) - exact) ** 2).sum(axis=1)
        off = abs(squares.mean() - method.expected_error(x, y))
        assert off < 6 * squares.std() / np.sqrt(len(squares))
    assert SketchedLeastSquares(3).expected_error(x, y) == np.inf
    assert ProjectedLeastSquares(3, 1.0, 1e-3, row_bound=1.8).expected_error(x, y) == np.inf


def test_projected_profiles_are_ordered_and_keep_the_promise() -> None:
    x, y = bounded()
    eps = np.array([0.0, 0.05, 0.3, 1.0])
    for form in ("exact", "sqrt", "printed"):
        method = ProjectedLeastSquares(25, 0.3, 1e-3, row_bound=1.8, c2=form)
        solution, projection = (method.profile(x, y, of=what) for what in ("solution", "projection"))
        guarantee = method.guarantee()
        assert (solution.delta(eps) <= projection.delta(eps) + 1e-13).all()
        assert (projection.delta(eps) <= guarantee.delta(eps) + 1e-13).all()
        assert guarantee.delta(0.3) <= 1e-3
        assert not guarantee.relative
        assert "every data set" in str(guarantee)
        assert solution.worst_record is not None
        assert solution.worst_record < len(y)
    exact = ProjectedLeastSquares(25, 0.3, 1e-3, row_bound=1.8)
    assert exact.guarantee().delta(0.3) == pytest.approx(1e-3, rel=1e-9)
    # The padded data by hand.
    c2 = exact.padding
    padded_x = np.vstack([x, c2 * np.eye(2), np.zeros((1, 2))])
    padded_y = np.concatenate([y, [0, 0, c2]])
    fit = privacy.influence(padded_x, padded_y)
    want = privacy.sketch_delta(0.05, fit.leverage[: len(y)], fit.residual_share[: len(y)], 2, 25).max()
    assert exact.profile(x, y).delta(0.05) == pytest.approx(float(want), abs=1e-13)


@pytest.mark.parametrize("rows", [2, 3, 8, 20, 60])
def test_projected_simulation(rows: int) -> None:
    """Real padded, projected and solved draws on D and D' against the exact δ of solution and projection.

    6 000 runs a side, events chosen from the exact laws; 6.5 standard errors plus a term for rare events: by
    Bernstein a false alarm has probability below 2e-9 each, 8 comparisons for each of five row counts.
    """
    x, y = bounded(size=12)
    x[0], y[0] = [1.0, 1.0], -1.0
    method = ProjectedLeastSquares(max(rows, 2), 5.0, 0.3, row_bound=1.8)
    c2 = method.padding
    runs, rng = 6000, np.random.default_rng(rows)

    def padded(zeroed: bool) -> np.ndarray:
        joined = np.column_stack([x, y])
        joined[0] *= 0.0 if zeroed else 1.0
        return np.vstack([joined, c2 * np.eye(3)])

    sides = [padded(False), padded(True)]
    sketches = [rng.standard_normal((runs, rows, 15)) @ side for side in sides]
    grams = [np.linalg.inv(side.T @ side) for side in sides]
    dets = [np.linalg.slogdet(side.T @ side)[1] for side in sides]

    def projection_loss(s: np.ndarray) -> np.ndarray:
        squares = [np.einsum("irj,jk,irk->i", s, g, s) for g in grams]
        return (squares[1] - squares[0]) / 2 + rows * (dets[1] - dets[0]) / 2

    def solution_loss(s: np.ndarray) -> np.ndarray:
        q, r = np.linalg.qr(s[:, :, :2])
        answer = np.linalg.solve(r, q.swapaxes(1, 2) @ s[:, :, 2:])[:, :, 0]
        value = np.zeros(len(s))
        for sign, side in ((1, sides[0]), (-1, sides[1])):
            fit = privacy.influence(side[:, :2], side[:, 2])
            gram = side[:, :2].T @ side[:, :2]
            off = answer - fit.coefficients
            squares = np.einsum("ij,jk,ik->i", off, gram, off) / fit.residual_norm**2
            log_det = np.linalg.slogdet(gram)[1] - 4 * np.log(fit.residual_norm)
            value += sign * (log_det / 2 - (rows + 1) / 2 * np.log1p(squares))
        return value

    fit = privacy.influence(sides[0][:, :2], sides[0][:, 2])
    joint = privacy.influence(sides[0], sides[0][:, 0]).leverage[0]
    for loss, exact in (
        (projection_loss, lambda e, w: privacy.projection_delta(e, joint, rows, direction=w)),
        (
            solution_loss,
            lambda e, w: privacy.sketch_delta(
                e, fit.leverage[0], fit.residual_share[0], 2, rows, direction=w
            ),
        ),
    ):
        here, there = loss(sketches[0]), loss(sketches[1])
        for eps in (0.0, 0.1):
            for way in ("forward", "backward"):
                a, b = (here, there) if way == "forward" else (-there, -here)
                p, q = (a > eps).mean(), (b > eps).mean()
                error = np.sqrt((p * (1 - p) + np.exp(2 * eps) * q * (1 - q)) / runs) + 10 / runs
                assert abs(p - np.exp(eps) * q - exact(eps, way)) < 6.5 * error


def test_a_record_alone_is_named() -> None:
    rng = np.random.default_rng(1)
    features = np.column_stack([np.ones(30), np.zeros(30)])
    features[17, 1] = 5.0
    response = rng.standard_normal(30)
    for method in (SketchedLeastSquares(10), GaussianLeastSquares(std=1.0)):
        profile = method.profile(features, response)
        assert profile.worst_record == 17
        assert (profile.delta([0.0, 5.0, 50.0]) == 1.0).all()
        assert profile.epsilon(0.5) == np.inf
        assert "row 17" in str(profile)
    with pytest.raises(InvalidInput, match="leverage 1 in row 17"):
        GaussianLeastSquares(epsilon=1.0, delta=1e-5).fit(features, response)


def test_impossibility() -> None:
    x, y = bounded()
    for shift in (1.0, 1e6):
        found = privacy.unbounded_neighbour(x, y, shift)
        assert found.moved > shift
        again = privacy.influence(np.vstack([x, found.row]), np.append(y, found.response))
        np.testing.assert_allclose(again.coefficients, found.neighbour_coefficients, rtol=1e-7)
        assert "for every data set" in str(found)
    # t at ε = 0, δ = 0 is 0: two answers a apart that look the same miss by a/2 each.
    assert privacy.least_error(0.0, 0.0, 2.0) == 1.0
    assert privacy.least_error(800.0, 0.0, 2.0) == 0.0
    t = (np.e - 1 + 0.02) / (np.e + 1)
    assert privacy.least_error(1.0, 0.01, 3.0) == pytest.approx((1 - t) * 9 / 4, rel=1e-13)


def test_table_of_methods(data: Data) -> None:
    methods = standard_methods(*data, epsilon=1.0, delta=1e-4, row_bound=20.0)
    assert [type(m).__name__ for m in methods] == [
        "SketchedLeastSquares",
        "GaussianLeastSquares",
        "ProjectedLeastSquares",
        "WishartLeastSquares",
        "AnalyzeGaussLeastSquares",
    ]
    table = profile_table(*data, methods, epsilons=[0.5, 1.0], deltas=[1e-4])
    for row in table.rows:
        assert row.deltas[1] <= 1e-4
        assert row.epsilons[0] <= 1.0 + 1e-9
        assert row.error > 0
    text = str(table)
    assert "δ(ε=0.5)" in text
    assert max(map(len, text.splitlines())) <= 80
    wide = str(profile_table(*data, methods, epsilons=[0.1 * k for k in range(1, 13)]))
    assert max(map(len, wide.splitlines())) <= 80
    assert wide.count(methods[0].name) == 3  # the columns in three tables
    assert "unbounded sensitivity" in text
    json.dumps(table.as_json(), allow_nan=False)
    # Two rows can promise nothing: the sketch is left out, the noise stays.
    left = standard_methods(*data, epsilon=0.001, delta=1e-9)
    assert [type(m).__name__ for m in left] == ["GaussianLeastSquares"]


ok = np.column_stack([np.ones(10), np.arange(10.0)])
noisy = np.sin(np.arange(10.0))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: SketchedLeastSquares(1).fit(ok, noisy),
            "rows must be at least the number of features, 2; got 1",
        ),
        (
            lambda: SketchedLeastSquares(1).profile(ok, noisy),
            "rows must be at least the number of features, 2",
        ),
        (lambda: SketchedLeastSquares(0), "rows must be a whole number"),
        (lambda: SketchedLeastSquares(5, sketch="other"), "sketch must be"),  # type: ignore[arg-type]
        (lambda: SketchedLeastSquares(5).profile(ok, ok @ [1.0, 2.0]), "response must be not fitted exactly"),
        (lambda: SketchedLeastSquares(5).profile(np.ones((10, 2)), noisy), "full column rank"),
        (lambda: SketchedLeastSquares(5).fit(np.ones((10, 2)), noisy), "full column rank"),
        (lambda: SketchedLeastSquares(5).fit(ok * [1, np.nan], noisy), "row 0"),
        (lambda: SketchedLeastSquares(5).fit(ok, noisy[:5]), "response must be of length 10"),
        (lambda: SketchedLeastSquares(5).fit(ok), "response must be given"),
        (lambda: SketchedLeastSquares(5).fit(iter([1, 2])), "(features, response) pairs"),
        (lambda: SketchedLeastSquares(5).fit(iter([])), "at least one row"),
        (lambda: SketchedLeastSquares(5).profile(ok, noisy, method="normal"), "method must be"),
        (lambda: SketchedLeastSquares(5, "hadamard").profile(ok, noisy), "estimate_profile"),
        (lambda: SketchedLeastSquares(99, "hadamard").fit(ok, noisy), "rows must be at most 16"),
        (lambda: SketchedLeastSquares(5, "hadamard").fit(iter([(ok, noisy)])), "all records at once"),
        (lambda: GaussianLeastSquares(), "std must be given, or else epsilon and delta"),
        (lambda: GaussianLeastSquares(std=1, epsilon=1, delta=0.1), "std must be given, or else"),
        (lambda: GaussianLeastSquares(epsilon=1.0), "given together"),
        (lambda: GaussianLeastSquares(std=-1.0), "std must be above zero; got -1.0"),
        (
            lambda: GaussianLeastSquares(epsilon=1.0, delta=2.0),
            "delta must be a share strictly between 0 and 1",
        ),
        (lambda: GaussianLeastSquares(epsilon=1, delta=0.1).fit(ok, ok @ [1.0, 2.0]), "not fitted exactly"),
        (lambda: ProjectedLeastSquares(9, 1, 0.1, row_bound=1.0).fit(ok, noisy), "row 9 has norm"),
        (lambda: ProjectedLeastSquares(1, 1, 0.1, row_bound=99).fit(ok, noisy), "rows must be at least"),
        (
            lambda: ProjectedLeastSquares(9, -1, 0.1, row_bound=99),
            "epsilon must be a finite number, zero or more",
        ),
        (lambda: ProjectedLeastSquares(9, 1, 0.1, row_bound=99, c2="x"), "c2"),  # type: ignore[arg-type]
        (lambda: profile_table(ok, noisy, []), "methods must be at least one method"),
    ],
)
def test_bad_input_is_one_sentence(call: Any, words: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        call()
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
