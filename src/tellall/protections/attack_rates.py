"""What a privacy profile lets an attacker achieve: true positives at a rate of false ones, and beliefs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

__all__ = ["most_belief", "most_true_positives"]

Floats = NDArray[np.float64]

_FAR = 700.0  # e^ε overflows beyond
_WIDE = 40.0  # e^−ε is lost in rounding beyond
_PLACES = 17  # tried in each round of a search; each round leaves an eighth of the interval
_ROUNDS = 14


def most_true_positives(curve: Callable[[Floats], Floats], fpr: Floats, ceiling: float) -> Floats:
    """The largest true-positive rate of any attack with each false-positive rate.

    Parameters
    ----------
    curve
        δ at an array of ε ≥ 0, for both directions.
    fpr
        False-positive rates, in one dimension.
    ceiling
        The ε from which δ is 0; infinite if there is none.

    Notes
    -----
    An attack with rates (fpr, tpr) is an event, so tpr ≤ e^ε fpr + δ(ε) and, from its complement on the other
    data set, tpr ≤ 1 − e^−ε (1 − δ(ε) − fpr), for every ε. The least of these over ε is attained by some
    attack on a dominating pair (Dong, Roth and Su 2022, Prop. 6). As δ is convex in e^ε, the first falls and
    then rises in ε, and so does the second: each is searched by rounds of equally spaced places. Every place
    gives a valid upper bound.
    """
    top = min(ceiling, _FAR)
    with np.errstate(divide="ignore"):
        # beyond ln(1/fpr) the first bound is no bound
        near = np.minimum(top, -np.log(fpr))

    def straight(eps: Floats, rate: Floats) -> Floats:
        return _at(curve, eps) + np.exp(eps) * rate

    def turned(eps: Floats, rate: Floats) -> Floats:
        return 1.0 - np.exp(-eps) * (1.0 - _at(curve, eps) - rate)

    far = np.full(fpr.shape, min(top, _WIDE))
    found = np.minimum(_least(straight, near, fpr), _least(turned, far, fpr))
    return np.asarray(np.clip(found, fpr, 1.0))


def _at(curve: Callable[[Floats], Floats], eps: Floats) -> Floats:
    return np.clip(np.asarray(curve(eps.ravel()), dtype=np.float64).reshape(eps.shape), 0.0, 1.0)


def _least(value: Callable[[Floats, Floats], Floats], top: Floats, rate: Floats) -> Floats:
    """The least value over ε from 0 to each `top`, of functions that fall and then rise."""
    low = np.zeros(top.shape)
    high = top
    steps = np.linspace(0.0, 1.0, _PLACES)
    row = np.arange(top.size)
    least = np.full(top.shape, np.inf)
    for _ in range(_ROUNDS):
        places = low[:, None] + (high - low)[:, None] * steps
        seen = value(places, rate[:, None])
        at = seen.argmin(axis=1)
        best = seen[row, at]
        left = np.maximum(at - 1, 0)
        right = np.minimum(at + 1, _PLACES - 1)
        around = np.maximum(seen[row, left], seen[row, right]) - best
        least = np.minimum(least, best)
        low = places[row, left]
        high = places[row, right]
        if (around <= 1e-13).all():
            break
    return least


def most_belief(prior: Floats, tpr: Floats, fpr: Floats, ceiling: float) -> Floats:
    """The share of right ones among the people an attack names, where a share `prior` was in the data.

    With no false positives and no true ones, the limit of rarer and rarer events: the odds grow by e^ceiling.
    """
    none = (tpr <= 0.0) & (fpr <= 0.0)
    with np.errstate(over="ignore"):
        gain = np.where(none, np.exp(ceiling), np.where(none, 1.0, tpr))
        against = np.where(none, 1.0, fpr) * (1.0 - prior)
    with np.errstate(divide="ignore", invalid="ignore"):
        belief = 1.0 / (1.0 + against / (gain * prior))
    return np.where(prior > 0.0, belief, 0.0)
