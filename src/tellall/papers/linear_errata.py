"""linear-reconstruction: what is printed wrong, with a number that shows it and the correction."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tellall.algebra.operators.base import Array
from tellall.algebra.operators.rowfunction import RowFunction
from tellall.papers.linear_people import coins, random_function
from tellall.release.statistics.boolean import split
from tellall.release.statistics.fitting import fit
from tellall.release.statistics.losses import Logistic, Squared
from tellall.report.paper import Statement

__all__ = [
    "errata",
]

_ROUNDOFF = 1e-9


def errata(rng: np.random.Generator) -> Iterator[Statement]:
    """E-LR-1a, 2, 3, 4, 5 and 7."""
    yield _one_matrix(rng)
    yield from _logistic(rng)
    yield _inverse()
    yield _corollary(rng)
    yield from _likelihoods(rng)


def _one_matrix(rng: np.random.Generator) -> Statement:
    """E-LR-1a: Eq. (7)'s matrix is Eq. (3)'s, so it cannot be a Euclidean section where that is none."""
    tried, equal = 100, 0
    for _ in range(tried):
        table = np.array(random_function(rng))
        bits = coins(int(rng.integers(3, 6)), int(rng.integers(2, 9)), rng)
        g = (2 * table - 1).reshape(-1, 2)  # columns: the secret −1 and +1
        f0, f2 = split(table)
        g2, g3 = (g[:, 1] - g[:, 0]) / 2, (g[:, 1] + g[:, 0]) / 2
        ones, n = np.ones(bits.shape[1]), bits.shape[1]
        same = np.array_equal(g2, f2)  # hence Π_g2(V) = Π_f2(T), entry by entry
        constant = (RowFunction(g3, bits, "all") @ ones + n - RowFunction(g2, bits, "all") @ ones) / 2
        equal += int(same and np.allclose(constant, RowFunction(f0, bits, "all") @ ones))
    return Statement(
        "Eq. (7) differs from Eq. (3)",
        "note 10, Eqs 3, 6, 7, E-LR-1",
        "Π_f2(T) is not a Euclidean section, Π_g2(V) is; but the two matrices are one",
        f"equal, with equal constants, in {equal} of {tried} random instances",
        "corrected" if equal == tried else "does not hold",
        "random non-degenerate functions of three variables",
        float(equal),
        float(tried),
    )


def _logistic(rng: np.random.Generator) -> Iterator[Statement]:
    """E-LR-2 and E-LR-3: the equation that a fitted coefficient satisfies, and how noise enters it."""
    n, columns = 60, 20
    public, secret = rng.uniform(-1, 1, (n, columns)), rng.integers(0, 2, n).astype(np.float64)
    right, printed = 0.0, 0.0
    for column in public.T[:, :, None]:
        theta = fit(Logistic(), column, secret, np.zeros(1)).theta
        score = column @ theta
        zeta, turned = _sigmoid(score), (1 + np.exp(score)) / np.exp(score)
        right = max(right, abs(float(column[:, 0] @ (secret - zeta))))
        printed = max(printed, abs(float(column[:, 0] @ (secret - turned))))
    yield Statement(
        "the equation of logistic regression",
        "Sec. 4.1, E-LR-2",
        "ζ = (1 + e^t)/e^t; must read e^t/(1 + e^t)",
        f"largest residual of Uᵀs = Uᵀζ at the fits: {printed:.0f} as printed, {right:.0e} corrected",
        "corrected" if right < _ROUNDOFF < 1.0 < printed else "does not hold",
        f"{columns} columns, n = {n}",
        right,
        printed,
    )
    square = float((column.T @ column)[0, 0])
    steps = np.geomspace(1e-3, 10, 60)
    points = np.array([[0.0], [0.5], [2.0]]) + np.stack([steps, -steps]).ravel()
    starts = np.broadcast_to(np.array([[0.0], [0.5], [2.0]]), points.shape)
    moved = np.abs(_gradient(column, points) - _gradient(column, starts)) / np.abs(points - starts)
    largest = float(moved.max()) / square
    hessian = float((column[:, 0] ** 2 * _sigmoid(score) * (1 - _sigmoid(score))).sum())
    yield Statement(
        "how noise enters logistic regression",
        "Claim 4, E-LR-3",
        "Hessian −XᵀX, Lipschitz constant ‖XᵀX‖; it is −Xᵀ diag(ζ(1 − ζ)) X, so ‖XᵀX‖/4 suffices",
        f"largest slope {largest:.5f} of ‖XᵀX‖; Hessian at the fit {hessian / square:.3f} of it",
        "corrected" if 0.2 < largest <= 0.25 + _ROUNDOFF and hessian < 0.3 * square else "does not hold",
        f"{points.size} pairs of coefficients, one column, n = {n}",
        largest,
        0.25,
    )


def _inverse() -> Statement:
    """E-LR-4: the inverse of A = diag(2, 1) with the singular values in the printed order."""
    a = np.diag([2.0, 1.0])
    left, values, right = np.linalg.svd(a)
    printed, correct = (right.T @ np.diag(order) @ left.T @ a for order in (1 / values[::-1], 1 / values))
    ok = np.allclose(correct, np.eye(2)) and not np.allclose(printed, np.eye(2))
    return Statement(
        "the inverse in the attack",
        "Sec. 2.1, E-LR-4",
        "Γ_inv lists σ_n⁻¹, …, σ_1⁻¹; must be σ_1⁻¹, …, σ_n⁻¹",
        f"A_inv A = diag({printed[0, 0]:g}, {printed[1, 1]:g}) as printed, the identity corrected",
        "corrected" if ok else "does not hold",
        "A = diag(2, 1)",
    )


def _corollary(rng: np.random.Generator) -> Statement:
    """E-LR-5: Corollary 3.7 is off by (−1)^k, and its bound (8) needs |c_h|."""
    off, fixed, negative = {}, True, 0
    for k in (1, 2, 3):
        worst = 0.0
        for _ in range(20):
            h = split(random_function(rng, k + 1))[1].astype(np.float64)
            top = _top(h)
            negative += int(top < 0)
            point = rng.integers(0, 2, k).astype(np.float64)  # with its opposite: no factor is zero
            product = float(np.prod(2 * point - 1))
            printed = _alternating(h, point, 1 - point) / top
            swapped = _alternating(h, 1 - point, point) / top
            worst = max(worst, abs(printed - product))
            fixed &= abs(swapped - product) < _ROUNDOFF
        off[k] = worst
    ok = fixed and off[1] > 0 and off[2] < _ROUNDOFF and off[3] > 0
    return Statement(
        "differences as sums of row functions",
        "Cor. 3.7, Eq. 8, E-LR-5",
        "T(I) = T for j ∈ I, T′ else; must be the reverse, as in Prop. 3.6; (8) needs |c_h|",
        f"off by up to {off[1]:g}, {off[2]:g}, {off[3]:g} as printed for k = 1, 2, 3; corrected: exact; "
        f"c_h negative in {negative} of 60",
        "corrected" if ok else "does not hold",
        "random h from non-degenerate f, random points and their opposites",
        max(off.values()),
        0.0,
    )


def _alternating(h: Array, inside: Array, outside: Array) -> float:
    """Σ_I (−1)^|I| h(point), the point's coordinate from `inside` where j ∈ I."""
    k = inside.size
    total = 0.0
    for chosen in range(2**k):
        members = np.array([(chosen >> j) & 1 for j in range(k)])
        point = np.where(members == 1, inside, outside)
        total += (-1.0) ** members.sum() * float(h[int(point @ (1 << np.arange(k)[::-1]))])
    return total


def _top(h: Array) -> float:
    """The coefficient of the product of all variables."""
    k = h.size.bit_length() - 1
    zeros = np.zeros(k)
    return _alternating(h, zeros, zeros + 1)


def _likelihoods(rng: np.random.Generator) -> Iterator[Statement]:
    """E-LR-7: the printed likelihoods have no maximum where the fit is."""
    n = 60
    column, secret = rng.uniform(-1, 1, (n, 1)), rng.integers(0, 2, n).astype(np.float64)
    theta = fit(Squared(), column, secret, np.zeros(1)).theta
    printed, right = float(column.sum()), float((column.T @ (secret - column @ theta))[0])
    yield Statement(
        "the likelihood of linear regression",
        "App. C, E-LR-7",
        "exp(−(s − ⟨x, θ⟩)/2σ²); the square is missing",
        f"slope at the fit: {printed / 2:.2g} as printed, the same at every θ; {right:.0g} corrected",
        "corrected" if abs(right) < _ROUNDOFF < abs(printed) else "does not hold",
        f"one column, n = {n}",
    )
    theta = fit(Logistic(), column, secret, np.zeros(1)).theta

    def printed_loss(at: Array) -> float:
        score = column @ at
        return float((secret * score - np.logaddexp(0, score)).sum())

    here, away = printed_loss(theta), printed_loss(theta + 2)
    yield Statement(
        "the loss of logistic regression",
        "Sec. 4, E-LR-7",
        "y⟨z, θ⟩ − ℓ(1 + exp⟨z, θ⟩), to be minimised; must be its negative, with ln",
        f"with ln: {here:.2f} at the fit, {away:.2f} two units off: the fit is its maximum",
        "corrected" if away < here else "does not hold",
        f"one column, n = {n}",
        here,
        away,
    )


def _gradient(column: Array, thetas: Array) -> Array:
    """The logistic gradient less its constant, at each coefficient."""
    out: Array = np.tensordot(column[:, 0], _sigmoid(column[:, 0, None, None] * thetas), axes=1)
    return out


def _sigmoid(score: Array) -> Array:
    from scipy.special import expit

    return np.asarray(expit(score))
