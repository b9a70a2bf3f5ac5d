"""A matrix made even: rows and columns scaled, the few directions far above the others split off."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np

from tellall.linops import LinearOperator, Place
from tellall.solve.base import Array

__all__ = ["Scaled", "Split", "even_out", "largest_singular_value"]

_OUTLYING = 3.0  # a singular value this many times the typical one is split off
_FIRST_BLOCK = 32  # directions tried first, then twice as many, and so on
_MOST_ENTRIES = 64_000_000  # numbers kept for the directions split off
_LANCZOS = 12


@final
@dataclass(frozen=True, eq=False)
class Scaled:
    """K = diag(rows) A diag(columns), in the operator's own precision."""

    operator: LinearOperator
    rows: Any
    columns: Any

    def product(self, x: Any) -> Any:
        """K x."""
        return self.rows * self.operator.matvec(self.columns * x)

    def back(self, y: Any) -> Any:
        """Kᵀ y."""
        return self.columns * self.operator.rmatvec(self.rows * y)


@final
@dataclass(frozen=True, eq=False)
class Split:
    """K with k directions carried by unknowns and equations of their own.

    Notes
    -----
    For any n × k matrix V with orthonormal columns, K V = U S, and any scale s:

        K x = K x + U (s ρ − S Vᵀ x)   where   s (s S⁻¹ ρ − Vᵀ x) = 0,

    so [[K − U S Vᵀ, s U], [−s Vᵀ, s² S⁻¹]] with k further unknowns ρ, free, and k further equations states
    the same system exactly, whatever V. With V the leading singular vectors and s the least value in S its
    norm is of the size of s: the outlying directions no longer set the length of every step. Two thin
    products, O(k (m + n)), beside each product with A.
    """

    scaled: Scaled
    left: Any
    values: Any
    right: Any
    norm: float

    @property
    def count(self) -> int:
        """How many directions are split off."""
        return int(self.values.shape[0])

    @cached_property
    def _level(self) -> float:
        return float(self.values[-1])

    @property
    def place(self) -> Place:
        """Where the arrays are that products take and give."""
        return self.scaled.operator.place

    def resident(self) -> Split:
        """The same where the operator's work is done."""
        operator = self.scaled.operator.resident
        put = operator.place.put
        scaled = Scaled(operator, put(self.scaled.rows), put(self.scaled.columns))
        return Split(scaled, put(self.left), put(self.values), put(self.right), self.norm)

    def extend(self, x: Any) -> Any:
        """(x, ρ) with the ρ that keeps the further equations."""
        if not self.count:
            return x
        return self.place.xp.concat([x, self.values / self._level * (self.right.T @ x)])

    def in_double(self) -> Split:
        """The same, working in double precision."""
        rows, columns = self.scaled.rows.astype(np.float64), self.scaled.columns.astype(np.float64)
        left, right = self.left.astype(np.float64), self.right.astype(np.float64)
        values = self.values.astype(np.float64)
        return Split(Scaled(self.scaled.operator, rows, columns), left, values, right, self.norm)

    def product(self, x: Any) -> Any:
        """The image of (x, ρ)."""
        if not self.count:
            return self.scaled.product(x)
        x, free = x[: -self.count], x[-self.count :]
        equations = self._level * (self._level / self.values * free - self.right.T @ x)
        lifted = self.left @ (self.values / self._level * equations)
        return self.place.xp.concat([self.scaled.product(x) + lifted, equations])

    def back(self, y: Any) -> Any:
        """The transposed image of (y, multipliers of the equations)."""
        if not self.count:
            return self.scaled.back(y)
        y, multipliers = y[: -self.count], y[-self.count :]
        free = self._level * (self.left.T @ y + self._level / self.values * multipliers)
        lifted = self.right @ (self.values / self._level * free)
        return self.place.xp.concat([self.scaled.back(y) - lifted, free])

    def plain_product(self, image: Any) -> Any:
        """K x, read off the image of (x, ρ)."""
        if not self.count:
            return image
        inner, equations = image[: -self.count], image[-self.count :]
        return inner - self.left @ (self.values / self._level * equations)

    def plain_back(self, image: Any) -> Any:
        """Kᵀ y, read off the transposed image of (y, multipliers)."""
        if not self.count:
            return image
        inner, free = image[: -self.count], image[-self.count :]
        return inner + self.right @ (self.values / self._level * free)


def even_out(scaled: Scaled, *, most: int | None = None) -> Split:
    """K with its outlying directions split off, if there are any; at most ``most`` of them.

    Notes
    -----
    The typical singular value is ‖K‖_F / √min(m, n). Where the largest is three times that, a randomised
    range finder with one power step (Halko, Martinsson and Tropp 2011) is grown block by block until the
    least value found is no longer outlying: three products with K for each direction. Products of 0/1
    attributes have one huge direction and one large one per attribute; those of ±1 attributes have none.
    """
    m, n = scaled.operator.shape
    dtype = scaled.operator.dtype
    empty = np.zeros(0, dtype=dtype)
    plain = Split(scaled, np.zeros((m, 0), dtype=dtype), empty, np.zeros((n, 0), dtype=dtype), 0.0)
    norm = largest_singular_value(plain, n)
    energy = _squared_frobenius(scaled)
    limit = min(m, n) // 4 if most is None else min(most, m, n)
    limit = min(limit, _MOST_ENTRIES // max(1, m + n))
    if norm <= _OUTLYING * (energy / max(1, min(m, n))) ** 0.5 or limit < 1:
        return Split(scaled, plain.left, plain.values, plain.right, norm)
    left, values, right = _leading(scaled, energy, limit)
    split = Split(scaled, left, values, right, 0.0)
    return Split(scaled, left, values, right, largest_singular_value(split, n + values.size))


def _leading(scaled: Scaled, energy: float, limit: int) -> tuple[Array, Array, Array]:
    """U, S, V with K V = U S: the directions that stand out, and some more."""
    m, n = scaled.operator.shape
    dtype = scaled.operator.dtype
    rng = np.random.default_rng(0)
    basis: Array = np.zeros((n, 0))
    image: Array = np.zeros((m, 0))
    block = min(_FIRST_BLOCK, limit)
    while True:
        test = rng.normal(size=(n, block)).astype(dtype)
        powered = np.stack([scaled.back(scaled.product(column)) for column in test.T], axis=1)
        fresh: Array = powered.astype(np.float64)
        for _ in range(2):  # once more, because the first leaves roundings behind
            fresh = np.linalg.qr(fresh - basis @ (basis.T @ fresh))[0]
        made = np.stack([scaled.product(column) for column in fresh.T.astype(dtype)], axis=1)
        basis, image = np.hstack([basis, fresh]), np.hstack([image, made])
        squares, turn = np.linalg.eigh(image.T @ image)
        count = basis.shape[1]
        rest = max(energy - float(squares.sum()), 0.0) / max(1, min(m, n) - count)
        if squares[0] <= (_OUTLYING / 2) ** 2 * rest or count >= limit:
            break
        block = min(count, limit - count)
    kept = squares > 1e-8 * squares[-1]
    values = np.sqrt(squares[kept])[::-1]
    turn = turn[:, kept][:, ::-1]
    left, right = image @ turn / values, basis @ turn
    return left.astype(dtype), values.astype(dtype), right.astype(dtype)


def _squared_frobenius(scaled: Scaled) -> float:
    sums = scaled.operator.squared().matvec(scaled.columns**2)
    return float((scaled.rows.astype(np.float64) ** 2 * sums).sum())


def largest_singular_value(system: Split, n: int, *, steps: int = _LANCZOS) -> float:
    """The norm of a matrix from below, by Lanczos steps on its Gram matrix (usually within 1 %)."""
    rng = np.random.default_rng(0)
    vector: Array = rng.normal(size=n).astype(system.scaled.operator.dtype)
    basis: list[Array] = []
    across: list[float] = []
    along: list[float] = []
    length = float(np.linalg.norm(vector))
    while length > 1e-30 and len(basis) < min(steps, n):
        vector = vector / length
        basis.append(vector)
        vector = system.back(system.product(vector))
        along.append(float(vector @ basis[-1]))
        for _ in range(2):
            for earlier in basis:
                vector = vector - (vector @ earlier) * earlier
        length = float(np.linalg.norm(vector))
        across.append(length)
        if length <= 1e-6 * along[0]:
            break
    if not along:
        return 0.0
    small = np.diag(along) + np.diag(across[: len(along) - 1], 1) + np.diag(across[: len(along) - 1], -1)
    return float(np.sqrt(max(np.linalg.eigvalsh(small)[-1], 0.0)))
