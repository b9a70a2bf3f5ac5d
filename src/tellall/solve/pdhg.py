"""Restarted primal-dual steps for min over x, max over y of ⟨y, K x − b⟩ − Σ slack |y| in two boxes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tellall.solve.base import Array
from tellall.solve.splitting import Split

__all__ = ["Saddle", "Walk", "saddle_point"]

_CHECK = 10  # iterations between two looks at the gap
_STEP = 0.99  # of the longest step that the norm allows; the norm is known from below
_FELL = 0.5  # restart when the gap has fallen to this part of what it was at the last restart
_FELL_SOMEWHAT = 0.8  # or to this part, once it rises again
_STALLED = 300  # steps in which single precision must halve the gap, or a third of all steps so far
_FOLLOW = 0.7  # how much of the way the primal weight follows what was travelled
_LONG_MOVE = 1e-2  # of the iterate: shorter moves do not measure the norm
_LONG = 0.2  # or when this part of all iterations has gone by since


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
        product = self.system.plain_product(x_image)
        back = self.system.plain_back(y_image)
        off = np.maximum(np.abs(product - self.target) - self.slack, 0)
        y = y[: self.target.size]
        primal = (self.ceiling * off).sum(dtype=np.float64)
        paid = (y * self.target + np.abs(y) * self.slack).sum(dtype=np.float64)
        return float(primal), float(-paid - (self.half * np.abs(back)).sum(dtype=np.float64))


@dataclass(frozen=True)
class Walk:
    """How a walk to the saddle point went."""

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
    """The best x and the best y that were looked at, accepted or not.

    ``accept`` is asked once the gap is at most ``gap`` × max(objective, ``floor``) in the precision of the
    iteration; it may look closer and refuse, which asks for more. ``start`` is x, y and √(ς/τ).

    Notes
    -----
    One step is x⁺ = clip(x − τ Kᵀ y), y⁺ = clip(shrink(y + ς (K (2 x⁺ − x) − b), ς slack)) with τ ς ‖K‖² < 1;
    the iterate moves to (k+1)/(k+2) (2 (x⁺, y⁺) − (x, y)) + 1/(k+2) start, k steps after a restart at start
    (the reflected Halpern iteration: Lu and Yang 2024). Restart when the gap has fallen to half, or
    rises after a fall; √(ς/τ) then follows how far y and x have travelled. Images under K are combined like
    the iterates, so a step is one product with K and one with Kᵀ, and a look at the gap is none. Below double
    precision the walk ends early where roundings keep the gap from falling.
    """
    system, dtype = saddle.system, saddle.target.dtype
    m, n, k = saddle.target.size, saddle.half.size, system.count
    free = np.full(k, np.inf, dtype=dtype)
    x_box, y_box = np.concatenate([saddle.half, free]), np.concatenate([saddle.ceiling, free])
    nothing = np.zeros(k, dtype=dtype)
    b, slack = np.concatenate([saddle.target, nothing]), np.concatenate([saddle.slack, nothing])
    no_slack = not slack.any()
    norm = system.norm
    weight = _ratio(float(np.linalg.norm(saddle.ceiling)), float(np.linalg.norm(saddle.half)), 1.0)
    x, y, weight = start or (np.zeros(n, dtype=dtype), np.zeros(m, dtype=dtype), weight)
    x, y = system.extend(x), np.concatenate([y, nothing])
    # the iterate and its images: x, y, K x, Kᵀ y
    now: tuple[Array, ...] = (x, y, system.product(x), system.back(y))
    first, since, restarts = now, 0, 0
    primal, dual = saddle.bounds(now[2], now[1], now[3])
    last = previous = primal - dual
    step, done, accepted = now, 0, False
    best_primal, best_x = primal, now[0]
    best_dual, best_y = dual, now[1]
    halved, when = last, 0  # the best gap when it last halved, and the step at which it did
    for done in range(1, iterations + 1):
        x, y, x_image, y_image = now
        ahead = np.clip(x - (_STEP / (norm * weight)) * y_image, -x_box, x_box)
        ahead_image = system.product(ahead)
        length = _STEP * weight / norm
        other = y + length * (2 * ahead_image - x_image - b)
        if not no_slack:
            other = np.sign(other) * np.maximum(np.abs(other) - length * slack, 0)
        other = np.clip(other, -y_box, y_box)
        step = (ahead, other, ahead_image, system.back(other))
        since += 1
        if done % _CHECK == 0 or done == iterations:
            norm = max(norm, _stretch(ahead, x, ahead_image, x_image))
            primal, dual = saddle.bounds(step[2], step[1], step[3])
            now_gap = primal - dual
            # a bound is a bound wherever it comes from: the best x and the best y need not meet
            if primal < best_primal:
                best_primal, best_x = primal, step[0]
            if dual > best_dual:
                best_dual, best_y = dual, step[1]
            if best_primal - best_dual <= gap * max(best_primal, floor):
                accepted = accept(best_x[:n], best_y[:m])
                if accepted:
                    break
                gap /= 2
            if best_primal - best_dual <= halved / 2:
                halved, when = best_primal - best_dual, done
            elif dtype != np.float64 and done - when > max(_STALLED, done / 3):
                break
            fell = now_gap <= _FELL * last or _FELL_SOMEWHAT * last >= now_gap > previous
            if fell or since >= max(_LONG * done, 40 * _CHECK):
                moved = [float(np.linalg.norm(a - c)) for a, c in zip(step[:2], first[:2], strict=True)]
                weight *= (_ratio(moved[1], moved[0], weight) / weight) ** _FOLLOW
                now, first, since, last, previous = step, step, 0, now_gap, now_gap
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


def _stretch(after: Array, before: Array, image_after: Array, image_before: Array) -> float:
    """How much K stretched this move: a lower bound of its norm, which may beat the one in use.

    Zero for short moves, whose images are mostly rounding.
    """
    length = float(np.linalg.norm(after - before))
    if length < _LONG_MOVE * float(np.linalg.norm(after)):
        return 0.0
    return float(np.linalg.norm(image_after - image_before)) / length if length > 0 else 0.0
