"""Restarted primal-dual steps for min over x, max over y of ⟨y, K x − b⟩ − Σ slack |y| in two boxes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

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
    target: Any
    slack: Any
    half: Any
    ceiling: Any

    def bounds(self, x_image: Any, y: Any, y_image: Any) -> tuple[float, float]:
        """The objective of x, and the lower bound that y gives."""
        xp = self.system.place.xp
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
    accept: Callable[[Any, Any], bool],
    start: tuple[Any, Any, float] | None = None,
) -> tuple[Any, Any, Walk]:
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
    system, place, dtype = saddle.system, saddle.system.place, saddle.target.dtype
    xp = place.xp
    m, n, k = saddle.target.shape[0], saddle.half.shape[0], system.count
    free, nothing = place.zeros((k,), dtype) + math.inf, place.zeros((k,), dtype)
    x_box, y_box = xp.concat([saddle.half, free]), xp.concat([saddle.ceiling, free])
    b, slack = xp.concat([saddle.target, nothing]), xp.concat([saddle.slack, nothing])
    no_slack = not bool(xp.any(slack != 0))
    norm = system.norm
    weight = _ratio(_length(saddle.ceiling), _length(saddle.half), 1.0)
    x, y, weight = start or (place.zeros((n,), dtype), place.zeros((m,), dtype), weight)
    x, y = system.extend(x), xp.concat([y, nothing])
    # the iterate and its images: x, y, K x, Kᵀ y
    now: tuple[Any, ...] = (x, y, system.product(x), system.back(y))
    first, since, restarts = now, 0, 0
    primal, dual = saddle.bounds(now[2], now[1], now[3])
    last = previous = primal - dual
    step, done, accepted = now, 0, False
    best_primal, best_x = primal, now[0]
    best_dual, best_y = dual, now[1]
    halved, when = last, 0  # the best gap when it last halved, and the step at which it did
    for done in range(1, iterations + 1):
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
            elif dtype != xp.float64 and done - when > max(_STALLED, done / 3):
                break
            fell = now_gap <= _FELL * last or _FELL_SOMEWHAT * last >= now_gap > previous
            if fell or since >= max(_LONG * done, 40 * _CHECK):
                moved = [_length(a - c) for a, c in zip(step[:2], first[:2], strict=True)]
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


def _length(vector: Any) -> float:
    """The Euclidean norm."""
    return math.sqrt(float(vector @ vector))


def _stretch(after: Any, before: Any, image_after: Any, image_before: Any) -> float:
    """How much K stretched this move: a lower bound of its norm, which may beat the one in use.

    Zero for short moves, whose images are mostly rounding.
    """
    length = _length(after - before)
    if length < _LONG_MOVE * _length(after):
        return 0.0
    return _length(image_after - image_before) / length if length > 0 else 0.0
