"""A restarted primal-dual method: the saddle point of ⟨y, K x − b⟩ − Σ slack |y| over two boxes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np

from tellall.core.work import doing
from tellall.linalg.operators.linear_operator import Device, LinearOperator
from tellall.linalg.solvers.singular_values import largest_eigenvalue
from tellall.linalg.solvers.solution import Array

__all__ = [
    "Saddle",
    "Scaled",
    "Split",
    "Walk",
    "even_out",
    "saddle_point",
]

_OUTLYING = 3.0  # a singular value this many times the typical one is split off
_FIRST_BLOCK = 32  # directions tried first, then twice as many, and so on
_MOST_ENTRIES = 64_000_000  # numbers kept for the directions split off


@final
@dataclass(frozen=True, eq=False)
class Scaled:
    """K = diag(rows) A diag(columns), in the operator's own precision."""

    operator: LinearOperator
    rows: Array
    columns: Array

    def product(self, x: Array) -> Array:
        """K x."""
        return self.rows * self.operator.matvec(self.columns * x)

    def back(self, y: Array) -> Array:
        """Kᵀ y."""
        return self.columns * self.operator.rmatvec(self.rows * y)


@final
@dataclass(frozen=True, eq=False)
class Split:
    """K with its k largest directions split off: each gets its own unknown and its own equation.

    Notes
    -----
    For any n × k matrix V with orthonormal columns, K V = U S, and any scale s:

        K x = K x + U (s ρ − S Vᵀ x)   where   s (s S⁻¹ ρ − Vᵀ x) = 0,

    so [[K − U S Vᵀ, s U], [−s Vᵀ, s² S⁻¹]] with k further unknowns ρ, free, and k further equations states
    the same system exactly, whatever V. With V the leading singular vectors and s the least value in S its
    norm is of the size of s: the outlying directions no longer set the length of every step. Two thin
    products, O(k (m + n)), are added to each product with A.
    """

    scaled: Scaled
    left: Array
    values: Array
    right: Array
    norm: float

    @property
    def count(self) -> int:
        """How many directions are split off."""
        return int(self.values.shape[0])

    @cached_property
    def _level(self) -> float:
        return float(self.values[-1])

    @property
    def device(self) -> Device:
        """Where the arrays of products are."""
        return self.scaled.operator.device

    def resident(self) -> Split:
        """The same system with its arrays on the operator's device."""
        operator = self.scaled.operator.resident
        put = operator.device.put
        scaled = Scaled(operator, put(self.scaled.rows), put(self.scaled.columns))
        return Split(scaled, put(self.left), put(self.values), put(self.right), self.norm)

    def extend(self, x: Array) -> Array:
        """(x, ρ) with the ρ that keeps the further equations."""
        if not self.count:
            return x
        return self.device.xp.concat([x, self.values / self._level * (self.right.T @ x)])

    def in_double(self) -> Split:
        """The same, working in double precision."""
        rows = self.scaled.rows.astype(np.float64)
        columns = self.scaled.columns.astype(np.float64)
        left = self.left.astype(np.float64)
        right = self.right.astype(np.float64)
        values = self.values.astype(np.float64)
        return Split(Scaled(self.scaled.operator, rows, columns), left, values, right, self.norm)

    def product(self, x: Array) -> Array:
        """The image of (x, ρ)."""
        if not self.count:
            return self.scaled.product(x)
        x, free = x[: -self.count], x[-self.count :]
        equations = self._level * (self._level / self.values * free - self.right.T @ x)
        lifted = self.left @ (self.values / self._level * equations)
        return self.device.xp.concat([self.scaled.product(x) + lifted, equations])

    def back(self, y: Array) -> Array:
        """The transposed image of (y, multipliers of the equations)."""
        if not self.count:
            return self.scaled.back(y)
        y, multipliers = y[: -self.count], y[-self.count :]
        free = self._level * (self.left.T @ y + self._level / self.values * multipliers)
        lifted = self.right @ (self.values / self._level * free)
        return self.device.xp.concat([self.scaled.back(y) - lifted, free])

    def plain_product(self, image: Array) -> Array:
        """K x, read off the image of (x, ρ)."""
        if not self.count:
            return image
        inner = image[: -self.count]
        equations = image[-self.count :]
        return inner - self.left @ (self.values / self._level * equations)

    def plain_back(self, image: Array) -> Array:
        """Kᵀ y, read off the transposed image of (y, multipliers)."""
        if not self.count:
            return image
        inner = image[: -self.count]
        free = image[-self.count :]
        return inner + self.right @ (self.values / self._level * free)


def even_out(scaled: Scaled, *, most: int | None = None) -> Split:
    """K with its outlying directions split off, if there are any; at most ``most`` of them.

    Notes
    -----
    The typical singular value is ‖K‖_F / √min(m, n). If the largest is over three times that, a randomised
    range finder with one power step (Halko, Martinsson and Tropp 2011) is grown block by block until the
    least value found is no longer outlying: three products with K for each direction. Products of 0/1
    attributes have one huge direction and one large one per attribute; those of ±1 attributes have none.
    """
    m, n = scaled.operator.shape
    dtype = scaled.operator.dtype
    empty = np.zeros(0, dtype=dtype)
    plain = Split(scaled, np.zeros((m, 0), dtype=dtype), empty, np.zeros((n, 0), dtype=dtype), 0.0)
    norm = _norm(plain, n)
    energy = _squared_frobenius(scaled)
    limit = min(m, n) // 4 if most is None else min(most, m, n)
    limit = min(limit, _MOST_ENTRIES // max(1, m + n))
    if norm <= _OUTLYING * (energy / max(1, min(m, n))) ** 0.5 or limit < 1:
        return Split(scaled, plain.left, plain.values, plain.right, norm)
    left, values, right = _leading(scaled, energy, limit)
    split = Split(scaled, left, values, right, 0.0)
    return Split(scaled, left, values, right, _norm(split, n + values.size))


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
    left = image @ turn / values
    right = basis @ turn
    return left.astype(dtype), values.astype(dtype), right.astype(dtype)


def _squared_frobenius(scaled: Scaled) -> float:
    sums = scaled.operator.squared().matvec(scaled.columns**2)
    return float((scaled.rows.astype(np.float64) ** 2 * sums).sum())


def _norm(system: Split, n: int) -> float:
    """The largest singular value of the system, approximated from below."""
    start = np.random.default_rng(0).normal(size=n).astype(system.scaled.operator.dtype)
    return math.sqrt(largest_eigenvalue(lambda x: system.back(system.product(x)), start))


_CHECK = 10  # iterations between two looks at the gap
_SAID = 100  # and between two messages on how far it is
_STEP = 0.99  # of the longest step that the norm allows; the norm is known from below
_FELL = 0.5  # restart when the gap has fallen to this part of what it was at the last restart
_FELL_SOMEWHAT = 0.8  # or to this part, once it rises again
_STALLED = 300  # steps in which single precision must halve the gap, or a third of all steps so far
_FOLLOW = 0.7  # how much of the way the primal weight follows what was travelled
_LONG_MOVE = 1e-2  # of the iterate: shorter moves do not measure the norm
_LONG = 0.2  # or when this part of all iterations has passed since


@dataclass(frozen=True, eq=False)
class Saddle:
    """The data of a saddle point problem: |x| ≤ half, |y| ≤ ceiling."""

    system: Split
    target: Array
    slack: Array
    half: Array
    ceiling: Array

    def bounds(self, x_image: Array, y: Array, y_image: Array) -> tuple[float, float]:
        """The objective of x, and the lower bound that y gives."""
        xp = self.system.device.xp
        product = self.system.plain_product(x_image)
        back = self.system.plain_back(y_image)
        off = xp.clip(xp.abs(product - self.target) - self.slack, 0, None)
        y = y[: self.target.shape[0]]
        primal, paid, won = (
            float(xp.sum(each, dtype=xp.float64))
            for each in (
                self.ceiling * off,
                y * self.target + xp.abs(y) * self.slack,
                self.half * xp.abs(back),
            )
        )
        return primal, -paid - won


@dataclass(frozen=True)
class Walk:
    """How the iteration ended: its steps, restarts, whether it was accepted, and √(ς/τ)."""

    iterations: int
    restarts: int
    accepted: bool
    weight: float


def saddle_point(
    saddle: Saddle,
    *,
    gap: float,
    floor: float,
    iterations: int,
    accept: Callable[[Array, Array], bool],
    start: tuple[Array, Array, float] | None = None,
) -> tuple[Array, Array, Walk]:
    """The best x and the best y that were evaluated, accepted or not, and how the iteration ended.

    ``accept`` is called once the gap is at most ``gap`` × max(objective, ``floor``) in the precision of the
    iteration; it may compute more precisely and refuse, and then the iteration continues. ``start`` is x,
    y and √(ς/τ).

    Notes
    -----
    One step is x⁺ = clip(x − τ Kᵀ y), y⁺ = clip(shrink(y + ς (K (2 x⁺ − x) − b), ς slack)) with τ ς ‖K‖² < 1;
    the iterate moves to (k+1)/(k+2) (2 (x⁺, y⁺) − (x, y)) + 1/(k+2) start, k steps after a restart at start
    (the reflected Halpern iteration: Lu and Yang 2024). Restart when the gap has fallen to half, or
    rises after a fall; √(ς/τ) then follows how far y and x have travelled. Images under K are combined like
    the iterates, so a step costs one product with K and one with Kᵀ, and a look at the gap costs none. Below
    double precision the walk ends early if rounding keeps the gap from falling.
    """
    system = saddle.system
    device = saddle.system.device
    dtype = saddle.target.dtype
    xp = device.xp
    m = saddle.target.shape[0]
    n = saddle.half.shape[0]
    k = system.count
    free = device.zeros((k,), dtype) + math.inf
    nothing = device.zeros((k,), dtype)
    x_box = xp.concat([saddle.half, free])
    y_box = xp.concat([saddle.ceiling, free])
    b = xp.concat([saddle.target, nothing])
    slack = xp.concat([saddle.slack, nothing])
    no_slack = not bool(xp.any(slack != 0))
    norm = system.norm
    weight = _ratio(_length(saddle.ceiling), _length(saddle.half), 1.0)
    x, y, weight = start or (device.zeros((n,), dtype), device.zeros((m,), dtype), weight)
    x, y = system.extend(x), xp.concat([y, nothing])
    # the iterate and its images: x, y, K x, Kᵀ y
    now: tuple[Any, ...] = (x, y, system.product(x), system.back(y))
    first = now
    since = 0
    restarts = 0
    primal, dual = saddle.bounds(now[2], now[1], now[3])
    last = previous = primal - dual
    step = now
    done = 0
    accepted = False
    best_primal = primal
    best_x = now[0]
    best_dual = dual
    best_y = now[1]
    halved, when = last, 0  # the best gap when it last halved, and the step at which it did
    for done in range(1, iterations + 1):
        if done % _SAID == 0:
            doing(f"LP decoding, step {done:,}")
        x, y, x_image, y_image = now
        ahead = xp.clip(x - (_STEP / (norm * weight)) * y_image, -x_box, x_box)
        ahead_image = system.product(ahead)
        length = _STEP * weight / norm
        other = y + length * (2 * ahead_image - x_image - b)
        if not no_slack:
            other = xp.sign(other) * xp.clip(xp.abs(other) - length * slack, 0, None)
        other = xp.clip(other, -y_box, y_box)
        step = (ahead, other, ahead_image, system.back(other))
        since += 1
        if done % _CHECK == 0 or done == iterations:
            norm = max(norm, _stretch(ahead, x, ahead_image, x_image))
            primal, dual = saddle.bounds(step[2], step[1], step[3])
            now_gap = primal - dual
            # any y gives a valid bound, so the best x and the best y may come from different steps
            if primal < best_primal:
                best_primal = primal
                best_x = step[0]
            if dual > best_dual:
                best_dual = dual
                best_y = step[1]
            if best_primal - best_dual <= gap * max(best_primal, floor):
                accepted = accept(best_x[:n], best_y[:m])
                if accepted:
                    break
                gap /= 2
            if best_primal - best_dual <= halved / 2:
                halved = best_primal - best_dual
                when = done
            elif dtype != xp.float64 and done - when > max(_STALLED, done / 3):
                break
            fell = now_gap <= _FELL * last or _FELL_SOMEWHAT * last >= now_gap > previous
            if fell or since >= max(_LONG * done, 40 * _CHECK):
                moved = [_length(a - c) for a, c in zip(step[:2], first[:2], strict=True)]
                weight *= (_ratio(moved[1], moved[0], weight) / weight) ** _FOLLOW
                now = step
                first = step
                since = 0
                last = now_gap
                previous = now_gap
                restarts += 1
                continue
            previous = now_gap
        part = 1 / (since + 1)
        now = tuple(
            (1 - part) * (2 * new - old) + part * begun
            for new, old, begun in zip(step, now, first, strict=True)
        )
    return best_x[:n], best_y[:m], Walk(done, restarts, accepted, weight)


def _ratio(above: float, below: float, otherwise: float) -> float:
    return above / below if above > 1e-12 and below > 1e-12 else otherwise


def _length(vector: Array) -> float:
    """The Euclidean norm."""
    return math.sqrt(float(vector @ vector))


def _stretch(after: Array, before: Array, image_after: Array, image_before: Array) -> float:
    """How much K stretched this step: a lower bound on its norm, perhaps better than the current one.

    Zero for short steps, whose images are mostly rounding errors.
    """
    length = _length(after - before)
    if length < _LONG_MOVE * _length(after):
        return 0.0
    return _length(image_after - image_before) / length if length > 0 else 0.0
