"""Least squares from noisy second moments: privacy against other computations, and what is released."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from scipy import stats

import tellall as ta
from tellall import InvalidInput
from tellall.privacy import wishart_degrees, wishart_delta
from tellall.privacy.least_squares.side_by_side import profile_table, standard_methods


def bounded(seed: int = 3, size: int = 60) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    features = rng.uniform(-1, 1, (size, 2))
    return features, features @ [0.5, -0.3] + rng.uniform(-0.2, 0.2, size)


def subtracted(epsilon: float, length: float, freedom: int) -> tuple[mpmath.mpf, mpmath.mpf]:
    """Both directions by subtracting probabilities with forty digits."""
    eps, s, half = mpmath.mpf(epsilon), mpmath.mpf(length), mpmath.mpf(freedom) / 2
    m = half - 1

    def above(x: mpmath.mpf) -> mpmath.mpf:
        return mpmath.gammainc(half, x / 2, mpmath.inf, regularized=True)

    def below(x: mpmath.mpf) -> mpmath.mpf:
        return mpmath.gammainc(half, 0, x / 2, regularized=True)

    forward = mpmath.mpf(0)
    if eps < s / 2:
        t = s / mpmath.expm1((s / 2 - eps) / m) if m else mpmath.mpf(0)
        forward = above(t) - mpmath.exp(eps) * above(t + s)
    t = s / mpmath.expm1((s / 2 + eps) / m) if m else mpmath.mpf(0)
    return forward, below(t + s) - mpmath.exp(eps) * below(t)


@pytest.mark.parametrize(("degrees", "columns"), [(4, 3), (5, 3), (6, 3), (60, 3), (5000, 5)])
def test_wishart_delta_has_the_digits_of_forty(degrees: int, columns: int) -> None:
    with mpmath.workdps(40):
        for length in (1e-3, 0.5, 1.0, 30.0):
            for epsilon in (0.0, 0.01, 1.0, 3.0):
                exact = subtracted(epsilon, length, degrees - columns + 1)
                for direction, value in zip(("forward", "backward"), exact, strict=True):
                    found = float(wishart_delta(epsilon, length, degrees, columns, direction=direction))
                    if value > 1e-280:
                        assert found == pytest.approx(float(value), rel=1e-11)
                    else:
                        assert found < 1e-270


@pytest.mark.parametrize("epsilon", [0.0, 0.2])
def test_wishart_delta_is_that_of_the_densities(epsilon: float) -> None:
    """The mean of max(0, 1 − e^(ε − loss)) over 8,000 matrices; beyond 5.5 standard errors: below 1e-7."""
    row, noise = np.array([0.6, -0.3, 0.9]), stats.wishart(df=9, scale=0.5 * np.eye(3))
    drawn = noise.rvs(8_000, random_state=1)
    for direction, sign in (("forward", 1), ("backward", -1)):
        moved = drawn + sign * np.outer(row, row)
        with np.errstate(divide="ignore"):
            kept = np.linalg.eigvalsh(moved)[:, 0] > 0
            other = np.full(len(moved), -np.inf)
            other[kept] = noise.logpdf(moved[kept].transpose(1, 2, 0))
            loss = noise.logpdf(drawn.transpose(1, 2, 0)) - other
        gain = np.maximum(0, -np.expm1(epsilon - loss))
        expected = float(wishart_delta(epsilon, float(row @ row) / 0.5, 9, 3, direction=direction))
        assert abs(gain.mean() - expected) < 5.5 * gain.std() / np.sqrt(gain.size)


def test_longer_rows_and_fewer_degrees_are_promised_less() -> None:
    lengths = np.linspace(0, 4, 41)
    assert wishart_delta(0.3, 0.0, 9, 3) == 0
    assert (np.diff(wishart_delta(0.3, lengths, 9, 3)) > 0).all()
    least = wishart_degrees(0.5, 1e-6, 4)
    assert wishart_delta(0.5, 1.0, least, 4) <= 1e-6 < wishart_delta(0.5, 1.0, least - 1, 4)
    deltas = [float(wishart_delta(0.5, 1.0, degrees, 4)) for degrees in range(5, 90)]
    assert deltas == sorted(deltas, reverse=True)


def test_moments_move_as_far_as_said() -> None:
    """Each row zeroed in turn; and a row along a column attains the bound."""
    x, y = bounded(size=7)
    method = ta.AnalyzeGaussLeastSquares(1.0, 1e-4, row_bound=1.8)
    table = np.column_stack([x, y])
    moves = []
    for i in range(len(y)):
        without = table.copy()
        without[i] = 0
        moved = (table.T @ table - without.T @ without)[np.triu_indices(3)]
        moves.append(float(np.linalg.norm(moved)))
    profile = method.profile(x, y)
    assert profile.worst_record == int(np.argmax(moves))
    own = ta.privacy.gaussian_delta(0.4, max(moves), method.std)
    assert profile.delta(0.4) == pytest.approx(float(own), rel=1e-12)
    assert profile.delta(0.4) < method.guarantee().delta(0.4)
    alone = method.profile(np.array([[1.8, 0.0], [0.1, 0.2], [0.0, 0.3]]), [0.0, 0.0, 0.1])
    assert alone.delta(0.4) == pytest.approx(float(method.guarantee().delta(0.4)), rel=1e-12)


@pytest.mark.parametrize("kind", [ta.WishartLeastSquares, ta.AnalyzeGaussLeastSquares])
def test_promises_are_kept_for_all_data_and_below_on_these(kind: type) -> None:
    x, y = bounded()
    method = kind(0.7, 1e-4, row_bound=1.8)
    promised = method.guarantee()
    assert 0.9e-4 / 3 < promised.delta(0.7) <= 1e-4  # degrees are whole numbers
    assert method.profile(x, y).delta(0.2) < promised.delta(0.2)
    assert not promised.relative
    without = x.copy(), y.copy()
    worst = method.profile(x, y).worst_record
    without[0][worst], without[1][worst] = 0.0, 0.0
    seen = ta.estimate_profile(
        method.sampler(x, y), method.sampler(*without), [0.0, 0.1], draws=20_000, rng=2
    )
    assert (seen.lower([0.0, 0.1]) <= method.profile(x, y).delta([0.0, 0.1])).all()


def test_wishart_noise_is_a_number_of_random_rows() -> None:
    """The sampler's law against least squares on the data with random rows below (KS, 1e-7)."""
    x, y = bounded()
    method = ta.WishartLeastSquares(1.0, 1e-3, row_bound=1.8, scale=1.1)
    rng = np.random.default_rng(4)
    direct = np.empty((1000, 2))
    for place in range(len(direct)):
        more = 1.1 * rng.standard_normal((method.degrees(3), 3))
        joined = np.vstack([np.column_stack([x, y]), more])
        direct[place] = np.linalg.lstsq(joined[:, :2], joined[:, 2], rcond=None)[0]
    drawn = method.sampler(x, y)(1000, 5)
    for j in range(2):
        assert stats.ks_2samp(direct[:, j], drawn[:, j]).pvalue > 1e-7
    exact = ta.privacy.influence(x, y).coefficients
    found = ((direct - exact) ** 2).sum(axis=1)
    margin = 6 * found.std() / np.sqrt(1000)
    assert abs(found.mean() - method.expected_error(x, y)) < 2 * margin


def test_released_moments_are_symmetric_seeded_and_give_the_coefficients() -> None:
    x, y = bounded()
    for method in (
        ta.WishartLeastSquares(1.0, 1e-3, row_bound=1.8),
        ta.AnalyzeGaussLeastSquares(1.0, 1e-3, row_bound=1.8, floor=0),
    ):
        noisy = method.moments(x, y, rng=6)
        np.testing.assert_array_equal(noisy, noisy.T)
        np.testing.assert_array_equal(noisy, method.moments(x, y, rng=6))
        np.testing.assert_allclose(np.linalg.solve(noisy[:2, :2], noisy[:2, 2]), method.fit(x, y, 6))
    assert method.expected_error(x, y) == np.inf
    raised = ta.AnalyzeGaussLeastSquares(1.0, 1e-3, row_bound=1.8)
    assert raised.expected_error(x, y) < 2


def test_noise_matters_less_with_more_people() -> None:
    errors = []
    for size in (200, 6_000):
        x, y = bounded(size=size)
        methods = standard_methods(x, y, epsilon=1.0, delta=1e-5, rows=40, row_bound=1.8)[1:]
        names = [type(one).__name__ for one in methods]
        table = profile_table(x, y, methods, epsilons=[1.0], deltas=[1e-5])
        assert all(row.deltas[0] <= 1e-5 * (1 + 1e-9) for row in table.rows)
        errors.append(dict(zip(names, (row.error for row in table.rows), strict=True)))
    for name in ("WishartLeastSquares", "AnalyzeGaussLeastSquares"):
        assert errors[1][name] < errors[0][name] / 30


@pytest.mark.parametrize("kind", [ta.WishartLeastSquares, ta.AnalyzeGaussLeastSquares])
def test_what_does_not_fit_is_refused(kind: type) -> None:
    x, y = bounded()
    with pytest.raises(InvalidInput, match="row_bound must be at least the norm of every row"):
        kind(1.0, 1e-3, row_bound=0.5).fit(x, y)
    with pytest.raises(InvalidInput, match="epsilon must be"):
        kind(-1.0, 1e-3, row_bound=0.5)
    with pytest.raises(InvalidInput, match="degrees must be more than the columns"):
        wishart_delta(1.0, 1.0, 3, 3)
