"""regression-noise: one regression per public column, and the attack on all of them, many draws at once."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from tellall.algebra.operators.base import Array

__all__ = [
    "RANK_TOLERANCE",
    "Regressions",
]

# Relative to the largest singular value. The attack's matrix has its row of ones d times, so d − 1 singular
# values are zero but for roundoff (1e-16 here); kept, they blow up any noise by 1e16.
RANK_TOLERANCE = 1e-10


class Regressions:
    """secret ~ θ_j x_j + b_j for each column j of the features, and the attack that inverts them.

    Notes
    -----
    Published are (θ_1, b_1, …, θ_d, b_d). The attacker solves min ‖A s − z‖₂ with, for each j, the rows x_jᵀ
    and 1ᵀ of A and z_j = X_jᵀX_j (θ~_j, b~_j)ᵀ, X_j = [x_j, 1] (regression-noise, Eqs. 1 and 2, without the
    stray factor θ~_j printed there). The d equal rows 1ᵀ carry independent errors on one sum: least squares
    averages them, so A has the same answers as the d + 1 rows x_jᵀ and √d 1ᵀ, and the least of all
    solutions is Bᵀ(BBᵀ)⁺w for these. QR of Bᵀ and a singular value decomposition of (d + 1)²: O(n d²) once,
    O(n d) for each draw of the noise.

    With exact coefficients that solution is the projection of the secret onto the columns and 1: the secret
    itself up to n = d + 1, the fitted values of multiple regression beyond.

    Parameters
    ----------
    features
        n × d, prepared.
    """

    def __init__(self, features: Array) -> None:
        self.features = np.asarray(features, dtype=np.float64)
        self.n, self.d = self.features.shape

    @cached_property
    def moments(self) -> Array:
        """X_jᵀX_j of each regression: d × 2 × 2."""
        squares, sums = (self.features**2).sum(axis=0), self.features.sum(axis=0)
        return np.stack([np.stack([squares, sums], -1), np.stack([sums, np.full(self.d, self.n)], -1)], 1)

    @cached_property
    def inverse(self) -> Array:
        """The pseudo-inverse of the attack's d + 1 rows, n × (d + 1), of explicit rank."""
        rows = np.column_stack([self.features, np.full(self.n, np.sqrt(self.d))])
        basis, triangle = np.linalg.qr(rows)
        left, singular, right = np.linalg.svd(triangle.T, full_matrices=False)
        kept = singular > RANK_TOLERANCE * singular[0]
        small = (right[kept].T / singular[kept]) @ left[:, kept].T
        return np.asarray(basis @ small)

    @property
    def rows(self) -> Array:
        """The matrix A as the paper has it: 2d × n, formed."""
        out = np.ones((2 * self.d, self.n))
        out[::2] = self.features.T
        return out

    def fit(self, secret: Array) -> Array:
        """The coefficients (θ_1, b_1, …, θ_d, b_d); where a column is constant, the smallest that fit."""
        designs = np.stack([self.features.T, np.ones((self.d, self.n))], axis=2)
        return np.asarray(np.linalg.pinv(designs, rcond=RANK_TOLERANCE) @ secret).ravel()

    def targets(self, coefficients: Array) -> Array:
        """z for each draw: 2d × draws from 2d × draws."""
        pairs = coefficients.reshape(self.d, 2, -1)
        return np.asarray(self.moments @ pairs).reshape(coefficients.shape)

    def attack(self, coefficients: Array) -> Array:
        """The least of the least-squares solutions, one column for each draw: n × draws."""
        targets = self.targets(coefficients).reshape(self.d, 2, -1)
        total = targets[:, 1].mean(axis=0) * np.sqrt(self.d)
        answer = self.inverse @ np.concatenate([targets[:, 0], total[None]])
        return np.asarray(answer[:, 0] if coefficients.ndim == 1 else answer)

    def from_scratch(self, coefficients: Array) -> Array:
        """The same for one draw by numpy's lstsq on the matrix formed, for comparison."""
        return np.linalg.lstsq(self.rows, self.targets(coefficients), rcond=RANK_TOLERANCE)[0]

    def predictions(self, coefficients: Array) -> Array:
        """What each regression predicts, n × d × draws."""
        pairs = coefficients.reshape(self.d, 2, -1)
        return np.asarray(self.features[:, :, None] * pairs[None, :, 0] + pairs[None, :, 1])

    def utility(self, secret: Array, clean: Array, noisy: Array) -> Array:
        """Mean absolute error of the noisy predictions over that of the clean ones, d × draws."""
        before, after = (
            np.abs(self.predictions(theta) - secret[:, None, None]).mean(axis=0) for theta in (clean, noisy)
        )
        return np.asarray(after / before)
