"""Decoders: from what is undecided to an estimate of every count and the chance of every person."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from tellall.attacks.system import Undecided
from tellall.linops import Array
from tellall.solve import BoxProblem, LeastSquares, Status

__all__ = ["DECODERS", "Decoded", "decode"]


@dataclass(frozen=True, eq=False)
class Decoded:
    """What a decoder concludes about each unknown count.

    Attributes
    ----------
    value
        The decoder's own minimiser.
    chance
        The probability that a person of the group is one of those counted.
    name
        The decoder that it came from.
    """

    value: Array
    chance: Array
    status: Status
    name: str
    stats: dict[str, float] = field(default_factory=dict)


def decode(name: str, undecided: Undecided, rng: np.random.Generator) -> Decoded:
    """What the decoder of that name concludes; "auto" chooses one."""
    return _least_squares(undecided, rng) if name == "auto" else DECODERS[name](undecided, rng)


def _least_squares(undecided: Undecided, rng: np.random.Generator) -> Decoded:
    """Box least squares with the ridge at the prior; chances from its Gaussian posterior."""
    nothing = np.zeros(undecided.size.size)
    center, variance = undecided.moments(nothing, nothing)
    weights = 1 / undecided.spread**2
    problem = BoxProblem(undecided.operator, weights, 1 / variance, center, undecided.lower, undecided.upper)
    prepared = LeastSquares().prepare(problem)
    solution = prepared.solve(undecided.target)
    mean, spread = prepared.posterior(undecided.target, rng=rng)
    # the evidence's own opinion: the posterior divided by the prior
    precision = np.maximum(1 / spread - problem.ridge, 1e-12 * problem.ridge)
    opinion = (mean / spread - problem.ridge * center) / precision
    chance = undecided.moments(precision, opinion)[0] / undecided.size
    return Decoded(
        solution.value, np.clip(chance, 0, 1), solution.status, "least-squares", dict(solution.stats)
    )


DECODERS: dict[str, Callable[[Undecided, np.random.Generator], Decoded]] = {"least-squares": _least_squares}
