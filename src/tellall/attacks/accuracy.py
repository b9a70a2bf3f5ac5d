"""How accurate a protected release of means is, in the terms in which the tracing theorems speak."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tellall.attacks.tracing_blocks import CODINGS
from tellall.errors import invalid
from tellall.noise import Exact, Gaussian, Laplace, Noise, Sum
from tellall.protections import Protection, as_protections, noise_of

__all__ = ["Accuracy", "accuracy"]


@dataclass(frozen=True)
class Accuracy:
    """What the theorems need to know of a release, in the ±1 coding.

    Attributes
    ----------
    bias
        Def. 4: |E[q] − p| ≤ bias for every attribute: the α of :func:`tellall.strength`.
    alpha, beta
        Def. 19: |q − p| > alpha with probability at most beta, for every attribute: the α of "pool".
    """

    bias: float
    alpha: float
    beta: float


def accuracy(
    protect: Protection | Sequence[Protection] | None, n: int, *, beta: float = 0.01, coding: str = "signs"
) -> Accuracy:
    """The accuracy of means of n people after these protections.

    Parameters
    ----------
    protect
        What is done to each mean, in the units of what is published; noise laws and rounding.
    n
        How many people the means are over; for a random subsample, its size.
    beta
        The chance per attribute with which the error may exceed alpha.
    coding
        The coding of what is published, as in :func:`tellall.trace`: bits and genotypes are published as
        frequencies in [0, 1], which the ±1 coding stretches by two.

    Notes
    -----
    The sample mean is within λ of the population's but for probability 2exp(−λ²kn/2), k draws a person
    (two-sided, E-RT-4); noise beyond a bound κ has its own tail. alpha = κ + λ with both
    halves of beta spent, or λ alone where the noise is bounded. Means are clipped to their range, which
    biases by E|noise| at most; bounded noise biases by its bound at most.

    Examples
    --------
    >>> from tellall.noise import Rounding
    >>> accuracy(Rounding(0.1), 1000, coding="bits").bias
    0.1
    """
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
        raise invalid("n", "a whole number of 1 or more", n)
    if not 0 < beta < 1:
        raise invalid("beta", "between 0 and 1", beta)
    if coding not in CODINGS or coding == "reals":
        raise invalid("coding", "'signs', 'bits' or 'genotypes'", coding)
    protections = as_protections(protect)
    for protection in protections:
        if not isinstance(protection, Noise):
            raise invalid("protect", "noise laws and rounding, whose accuracy is known", protection)
    law = noise_of(protections).scaled(1.0 if coding == "signs" else 2.0)
    bounded = math.isfinite(law.bound)
    share = beta if bounded else beta / 2
    sampling = math.sqrt(2 * math.log(2 / share) / (CODINGS[coding].ploidy * n))
    error = law.bound if bounded else _quantile(law, beta / 2)
    return Accuracy(min(law.bound, _mean_absolute(law)), min(2.0, error + sampling), beta)


def _parts(law: Noise) -> tuple[Noise, ...]:
    return law.parts if isinstance(law, Sum) else (law,)


def _mean_absolute(law: Noise) -> float:
    """A bound on E|noise|: the bound of what is bounded, which may be a bias, and E|·| of the rest."""
    return math.fsum(
        part.bound if math.isfinite(part.bound) else _law_mean_absolute(part) for part in _parts(law)
    )


def _law_mean_absolute(law: Noise) -> float:
    if isinstance(law, Gaussian):
        return law.std * math.sqrt(2 / math.pi)
    return law.scale if isinstance(law, Laplace) else law.std


def _quantile(law: Noise, beta: float) -> float:
    """κ with P(|noise| > κ) ≤ beta; the parts of a sum share beta."""
    from scipy.special import ndtri

    unbounded = [part for part in _parts(law) if not math.isfinite(part.bound)]
    total = math.fsum(part.bound for part in _parts(law) if math.isfinite(part.bound))
    for part in unbounded:
        share = beta / len(unbounded)
        if isinstance(part, Gaussian):
            total += -part.std * float(ndtri(share / 2))
        elif isinstance(part, Laplace):
            total += part.scale * math.log(1 / share)
        elif not isinstance(part, Exact):
            total += part.std / math.sqrt(share)  # Chebyshev, for any law of mean zero
    return total
