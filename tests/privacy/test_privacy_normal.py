"""Any pair of normal laws, against closed forms, quadrature and the sketch's own limit."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, special

from tellall import InvalidInput, SolverFailed, privacy
from tellall.privacy import normal_pair
from tellall.privacy.normal_pair import contour_delta


def one_dimension(eps: float, mean: float, variance: float) -> float:
    """N(0, 1) against N(mean, variance), from the roots of the quadratic loss."""
    a, b = 0.5 * (1 / variance - 1), -mean / variance
    c = 0.5 * np.log(variance) + mean**2 / (2 * variance) - eps

    def mass(centre: float, spread: float) -> float:
        gap = b * b - 4 * a * c
        if gap <= 0:
            return 1.0 if a > 0 else 0.0
        ends = sorted([(-b - np.sqrt(gap)) / (2 * a), (-b + np.sqrt(gap)) / (2 * a)])
        low, high = (special.ndtr((x - centre) / spread) for x in ends)
        return float(low + special.ndtr((centre - ends[1]) / spread) if a > 0 else high - low)

    return max(0.0, mass(0.0, 1.0) - np.exp(eps) * mass(mean, np.sqrt(variance)))


@settings(max_examples=200, deadline=None)
@given(st.floats(0, 6), st.floats(-15, 15), st.floats(-4, 4).filter(lambda x: abs(x) > 1e-3))
def test_one_dimension(eps: float, mean: float, log_variance: float) -> None:
    variance = float(np.exp(log_variance))
    got = privacy.normal_delta(eps, 0.0, 1.0, mean, variance, direction="forward")
    assert got == pytest.approx(one_dimension(eps, mean, variance), abs=1e-11)


@pytest.mark.parametrize("size", [1, 3, 10])
def test_equal_covariances_are_the_gaussian_mechanism(size: int) -> None:
    rng = np.random.default_rng(size)
    root = rng.standard_normal((size, size + 2))
    cov = root @ root.T
    eps = np.array([0.0, 0.01, 0.5, 2.0, 8.0])
    for far in (1e-4, 0.1, 1.0, 6.0):
        shift = np.linalg.cholesky(cov) @ np.eye(size)[0] * far
        got = privacy.normal_delta(eps, shift, cov, np.zeros(size), cov)
        np.testing.assert_allclose(got, privacy.gaussian_delta(eps, far, 1.0), rtol=1e-8, atol=1e-13)


@pytest.mark.parametrize("rows", [1, 2, 5, 50, 1000])
@pytest.mark.parametrize("leverage", [1e-4, 0.1, 0.5, 0.99])
def test_scaled_covariances_are_the_random_projection(rows: int, leverage: float) -> None:
    eps = np.array([0.0, 0.01, 0.5, 3.0])
    for way, tilt in (("forward", leverage / (1 - leverage)), ("backward", -leverage)):
        tilts = np.full((eps.size, 1), tilt)
        got = contour_delta(eps, tilts, np.zeros_like(tilts), np.array([float(rows)]))
        want = privacy.projection_delta(eps, leverage, rows, direction=way)
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-13)


def test_two_dimensions_by_quadrature() -> None:
    """The definition ∫ (f − e^ε g)₊ on a fine grid: the kink costs the rule its order, hence 1e-6."""
    cov_a, cov_b = np.array([[1.0, 0.3], [0.3, 0.5]]), np.array([[0.7, -0.2], [-0.2, 1.4]])
    mean_b = np.array([0.8, -0.5])
    axis = np.linspace(-9, 9, 2001)
    points = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1)

    def density(mean: np.ndarray, cov: np.ndarray) -> np.ndarray:
        off = points - mean
        exponent = np.einsum("...i,ij,...j->...", off, np.linalg.inv(cov), off)
        return np.asarray(np.exp(-exponent / 2) / (2 * np.pi * np.sqrt(np.linalg.det(cov))))

    f, g = density(np.zeros(2), cov_a), density(mean_b, cov_b)
    cell = (axis[1] - axis[0]) ** 2
    for eps in (0.0, 0.7, 2.0):
        for way, (top, bottom) in {"forward": (f, g), "backward": (g, f)}.items():
            want = np.maximum(top - np.exp(eps) * bottom, 0).sum() * cell
            got = privacy.normal_delta(eps, np.zeros(2), cov_a, mean_b, cov_b, direction=way)
            assert got == pytest.approx(want, abs=1e-6)


def two_dimensions(eps: float, means: list[float], variances: list[float]) -> float:
    """N(0, I) against N(means, diag variances): δ of the second coordinate, averaged over the first.

    The second coordinate must be narrower under the second law. Its loss is then bounded below, and δ has a
    kink where the first coordinate's loss alone exceeds what is left of ε.
    """
    (m1, m2), (v1, v2) = means, variances
    tilt, middle = 1 / v1 - 1, -m1 / v1
    offset = 0.5 * np.log(v1) + m1**2 / (2 * v1)
    least = 0.5 * np.log(v2) + m2**2 / (2 * v2) - (m2 / v2) ** 2 / (2 * (1 / v2 - 1))

    def inner(z: float) -> float:
        x = eps - (0.5 * tilt * z * z + middle * z + offset)
        inside = -np.expm1(x) if x < least else one_dimension(x, m2, v2)
        return float(inside * np.exp(-z * z / 2) / np.sqrt(2 * np.pi))

    kinks = np.roots([0.5 * tilt, middle, offset + least - eps])
    points = [float(z.real) for z in kinks if abs(z.imag) < 1e-9 and abs(z) < 12]
    ends = [-12.0, *sorted(points), 12.0]
    return sum(
        integrate.quad(inner, low, high, epsabs=1e-14, epsrel=1e-13, limit=400)[0]
        for low, high in pairwise(ends)
    )


@pytest.mark.parametrize(
    ("means", "variances"),
    [
        ([0.5139, 4.4493], [1.0016, 0.3655]),
        ([0.1898, 0.0096], [1.003, 0.1581]),
        ([0.0875, 0.0984], [1.0001856, 0.1683]),
        ([0.9, 1.2], [0.998, 0.2]),
        ([2.0, 3.0], [1.02, 0.6]),
    ],
)
def test_a_spread_that_is_nearly_equal_and_a_shift(means: list[float], variances: list[float]) -> None:
    """The far end of the path and its beginning want opposite leans."""
    for eps in (0.0, 0.1, 1.0, 3.0, 5.0):
        got = privacy.normal_delta(eps, [0, 0], np.eye(2), means, np.diag(variances), direction="forward")
        assert got == pytest.approx(two_dimensions(eps, means, variances), abs=1e-12)


@pytest.mark.parametrize("size", [2, 3, 5, 20])
def test_curves_fall_and_are_convex_in_the_exponential(size: int) -> None:
    """Laws of every privacy profile; a wrong path gives 0 or 1 at some ε."""
    rng = np.random.default_rng(size)
    eps = np.concatenate([[0.0], np.geomspace(1e-3, 300, 24)])
    low, at, high = eps[:-2], eps[1:-1], eps[2:]
    way = np.exp(at - high) * np.expm1(low - at) / np.expm1(low - high)
    for _ in range(12):
        near = 1 + rng.choice([-1, 1], size) * 10 ** rng.uniform(-5, -1, size)
        spread = np.where(rng.random(size) < 0.4, near, 10 ** rng.uniform(-1, 1, size))
        mean = rng.standard_normal(size) * 10 ** rng.uniform(-2, 1)
        for side in ("forward", "backward"):
            delta = privacy.normal_delta(
                eps, np.zeros(size), np.eye(size), mean, np.diag(spread), direction=side
            )
            assert (np.diff(delta) <= 1e-12).all()
            assert (delta[1:-1] <= delta[:-2] + (delta[2:] - delta[:-2]) * way + 2e-12).all()


def test_what_cannot_be_computed_is_refused_or_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    tilts, shifts = np.array([[-0.0002530, 0.1931236]]), np.array([[0.2752249, 0.0]])
    # No path keeps its digits here, but δ is tiny: an upper bound is within the promise, and above zero.
    assert 0.0 < contour_delta(np.array([139.45]), tilts, shifts, np.ones(2))[0] < 1e-200
    law = [0, 0], np.eye(2), [0.5139, 4.4493], np.diag([1.0016, 0.3655])
    assert privacy.normal_delta(1.0, *law, direction="forward") > 0.9
    monkeypatch.setattr(normal_pair, "_HALVINGS", 0)  # the first path alone, whose error is huge
    with pytest.raises(SolverFailed, match="cannot be computed to 1e-12"):
        privacy.normal_delta(1.0, *law, direction="forward")


def test_the_sketch_limit_is_a_pair_of_normal_laws() -> None:
    rng = np.random.default_rng(2)
    features, rows = rng.standard_normal((25, 3)), 30
    response = rng.standard_normal(25)
    fit = privacy.influence(features, response)
    less_x, less_y = features.copy(), response.copy()
    less_x[4], less_y[4] = 0, 0
    less = privacy.influence(less_x, less_y)
    eps = np.array([0.0, 0.4, 1.5])
    for way in ("forward", "backward", "larger"):
        got = privacy.normal_delta(
            eps,
            fit.coefficients,
            fit.residual_norm**2 * np.linalg.inv(features.T @ features) / rows,
            less.coefficients,
            less.residual_norm**2 * np.linalg.inv(less_x.T @ less_x) / rows,
            direction=way,
        )
        want = privacy.sketch_delta(
            eps, fit.leverage[4], fit.residual_share[4], 3, rows, method="asymptotic", direction=way
        )
        np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-14)


def test_bounded_loss_reaches_zero() -> None:
    # The first law narrower in every direction: the loss is at most ½ ln det.
    edge = 0.5 * np.log(4.0)
    assert privacy.normal_delta(edge, 0.0, 1.0, 0.0, 4.0, direction="forward") == 0.0
    assert privacy.normal_delta(edge * 0.999, 0.0, 1.0, 0.0, 4.0, direction="forward") > 0.0
    assert privacy.normal_delta(0.0, [0.0, 1.0], np.eye(2), [0.0, 1.0], np.eye(2)) == 0.0


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ((1.0, [0, 0], np.eye(2), [0, 0, 0], np.eye(3)), "mean_b must be of length 2"),
        ((1.0, [0, 0], np.eye(3), [0, 0], np.eye(2)), "cov_a must be a 2 × 2 matrix"),
        ((1.0, [0, 0], np.ones((2, 2)), [0, 0], np.eye(2)), "cov_a must be positive definite"),
        ((1.0, [0, 0], np.eye(2), [0, 0], [[1, 0.5], [0, 1]]), "cov_b must be symmetric"),
        ((1.0, [0, np.nan], np.eye(2), [0, 0], np.eye(2)), "mean_a must be finite numbers"),
        ((-1.0, 0, 1, 0, 1), "epsilon must be zero or more"),
    ],
)
def test_bad_arguments_are_named(args: Any, words: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        privacy.normal_delta(*args)
    assert words in str(caught.value)
