"""A rehearsal: the decoder tried on secrets drawn from its own model. Do its confidences hold?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tellall.algebra.operators.base import IntArray, LinearOperator
from tellall.algebra.posterior.channel import Channel, Opinion
from tellall.algebra.posterior.counts import CountPrior
from tellall.algebra.solvers.base import Array

__all__ = [
    "Rehearsal",
    "rehearse",
]

_NOTICED = 3.0  # standard errors of the number of wrong guesses: the log-odds are corrected
_ALARM = 4.0  # and this many: a correction is not enough to be trusted,
_TOLERATED = 0.1  # unless the excess is this small a share of them
_MENDABLE = 0.5  # log-odds off by a larger factor are wrong, not just too bold
_ENOUGH = 3000  # people guessed in rehearsal
_MOST_DRAWS = 30
_LOOKS = (10, 20, 40)  # draws after which a decoder that has failed already is not tried any more
_STRATA = (0.0, np.log(3), np.log(19))  # log-odds of chances 1/2, 3/4 and 0.95: each part is judged by itself


@dataclass(frozen=True)
class Rehearsal:
    """`wrong` guesses against `expected` ones, and the factor that corrects the log-odds."""

    wrong: float = 0.0
    expected: float = 0.0
    temperature: float = 1.0
    calibrated: bool = True

    @property
    def advice(self) -> str:
        """What happened, where the confidences did not hold."""
        return (
            f"on simulated secrets with the same equations {self.wrong:.0f} guesses were wrong where "
            f"{self.expected:.0f} were expected; log-odds were scaled by {self.temperature:.2f}"
        )


def rehearse(
    prior: CountPrior,
    operator: LinearOperator,
    channel: Channel,
    target: Array,
    decode: Callable[[Array], Opinion],
    rng: np.random.Generator,
) -> Rehearsal:
    """The decoder's record on counts drawn from the prior and errors drawn from the channel.

    Notes
    -----
    If the posterior were exact, the number of wrong guesses would have mean Σ min(p, 1−p) over people. A
    decoder that locks into one of many equally likely secrets has far more. The log-odds are then multiplied
    by the number that makes the simulated secrets likeliest. Where they are far off, they are trusted only if
    the factor is below two and a correction fitted on one half holds on the other. This is checked for
    all people together and separately for the sure, the fairly sure and the unsure, so that the doubtful do
    not hide the others. With several values the likeliest one of each group is guessed, so that everybody
    counts once. Costs one more run of the decoder; up to 30 where there are few people, fewer where it fails.
    """
    draws = int(np.clip(np.ceil(_ENOUGH / max(prior.people, 1.0)), 1, _MOST_DRAWS))
    strength, right, members = list[Array](), list[Array](), list[Array]()
    for draw in range(draws):
        if draw in _LOOKS:
            sofar = _judge(np.concatenate(strength), np.concatenate(right), np.concatenate(members))
            if not sofar.calibrated:
                return sofar
        truth = prior.sample(rng)
        image = np.asarray(operator.matvec(truth.astype(operator.dtype)), dtype=np.float64)
        found = decode(channel.publish(image, target, rng))
        log_odds = np.clip(prior.log_odds(found.precision, found.center), -700, 700)
        asked = slice(None) if prior.group is None else _likeliest(prior.group, log_odds)
        log_odds, truth, size = log_odds[asked], truth[asked], prior.size[asked]
        strength.append(np.abs(log_odds))
        right.append(np.where(log_odds >= 0, truth, size - truth))
        members.append(size)
    return _judge(np.concatenate(strength), np.concatenate(right), np.concatenate(members))


def _likeliest(group: IntArray, log_odds: Array) -> IntArray:
    """The index of the largest log-odds of each group."""
    order = np.lexsort((-log_odds, group))
    _, first = np.unique(group[order], return_index=True)
    return np.asarray(order[first])


def _judge(strength: Array, right: Array, size: Array) -> Rehearsal:
    """Whether as many guesses were wrong as the log-odds' strength says."""
    missed = size - right
    wrong, foreseen = float(missed.sum()), float(size @ _doubt(strength))
    noticed, calibrated = _off(strength, missed, size)
    if not noticed:
        return Rehearsal(wrong, foreseen)
    if not calibrated:  # does what mends the one half hold on the other?
        half = strength.size // 2
        factor = _temperature(strength[:half], right[:half], missed[:half])
        if _MENDABLE <= factor <= 1 / _MENDABLE:
            calibrated = _off(factor * strength[half:], missed[half:], size[half:])[1]
    return Rehearsal(wrong, foreseen, _temperature(strength, right, missed), calibrated)


def _off(strength: Array, missed: Array, size: Array) -> tuple[bool, bool]:
    """Whether it shows that the log-odds are off, and whether they are near enough to be trusted."""
    doubt = _doubt(strength)
    expected, variance = size * doubt, size * doubt * (1 - doubt)
    excess = abs(float((missed - expected).sum()))
    noticed = bool(excess > _NOTICED * np.sqrt(variance.sum()) + 1)
    calibrated = excess <= _room(float(expected.sum()), float(variance.sum()))
    part = np.digitize(strength, _STRATA)
    for stratum in range(1, len(_STRATA) + 1):
        here = part == stratum
        over, spread = float((missed - expected)[here].sum()), float(variance[here].sum())
        noticed |= bool(over > _NOTICED * np.sqrt(spread) + 0.5)  # one sure and wrong is one too many
        calibrated &= over <= _room(float(expected[here].sum()), spread)
    return noticed, calibrated


def _doubt(strength: Array) -> Array:
    """The chance that a guess of such log-odds is wrong."""
    from scipy.special import expit

    out: Array = expit(-strength)
    return out


def _room(expected: float, variance: float) -> float:
    """How far the number of wrong guesses may be from what was expected."""
    return _ALARM * float(np.sqrt(variance)) + _TOLERATED * expected + 1


def _temperature(strength: Array, right: Array, wrong: Array) -> float:
    """The factor on the log-odds under which what was right and wrong is likeliest."""
    from scipy.optimize import minimize_scalar

    def cost(log_factor: float) -> float:
        scaled = np.exp(log_factor) * strength
        return float(right @ np.logaddexp(0, -scaled) + wrong @ np.logaddexp(0, scaled))

    return float(np.exp(minimize_scalar(cost, bounds=(-6, 3), method="bounded").x))
