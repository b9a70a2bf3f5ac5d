"""Profiles of what a mechanism declares: ε, δ, the μ of Gaussian privacy, the ρ of concentrated privacy."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from tellall.core.checks import at_least_zero, share
from tellall.core.errors import invalid
from tellall.protections.profile import Floats, PrivacyProfile, as_epsilons, gaussian_delta

__all__ = [
    "approximate_delta",
    "budget",
    "concentrated_delta",
    "laplace_delta",
    "promise",
]

_ORDERS = 1.0 + np.logspace(-4, 5, 600)  # of Rényi divergences that a conversion tries


def approximate_delta(epsilon: ArrayLike, promised: float, delta: float = 0.0) -> Floats:
    """The δ at each ε of a mechanism of which only one pair, (`promised`, `delta`), is known.

    Notes
    -----
    δ₀ + (1 − δ₀)(e^ε₀ − e^ε)/(1 + e^ε₀) below ε₀ and δ₀ from there on: no mechanism with that promise has
    more (Kairouz, Oh and Viswanath 2015).

    Examples
    --------
    >>> approximate_delta([0.0, 1.0, 2.0], 1.0, 1e-3).round(4).tolist()
    [0.4627, 0.001, 0.001]
    """
    eps = as_epsilons(epsilon)
    most = at_least_zero("promised", promised)
    slack = share("delta", delta)
    below = np.minimum(eps, most)
    # (e^ε₀ − e^ε)/(1 + e^ε₀), written so that nothing overflows
    gap = -np.expm1(below - most) / (1.0 + math.exp(-most))
    return np.asarray(slack + (1.0 - slack) * gap)[()]


def laplace_delta(epsilon: ArrayLike, sensitivity: float, scale: float) -> Floats:
    """The δ at each ε of Laplace noise on one number that moves by `sensitivity`: 1 − e^((ε − r)/2).

    Here r = sensitivity/scale, and from ε = r on δ is 0.

    Examples
    --------
    >>> laplace_delta([0.0, 0.5, 1.0], 1.0, 1.0).round(4).tolist()
    [0.3935, 0.2212, 0.0]
    """
    moved = at_least_zero("sensitivity", sensitivity)
    if not scale > 0.0:
        raise invalid("scale", "above zero", scale)
    below = np.minimum(as_epsilons(epsilon) - moved / scale, 0.0)
    return np.abs(np.expm1(below / 2.0))


def concentrated_delta(epsilon: ArrayLike, rho: float) -> Floats:
    """A δ that zero-concentrated privacy promises at each ε.

    Notes
    -----
    The least over orders t > 1 of e^((t−1)(tρ−ε)) (1 − 1/t)^t/(t − 1) (Canonne, Kamath and Steinke 2020,
    Prop. 12), on a grid of orders: each is a valid bound. And Pinsker's √(ρ/2), as the divergence of order 1
    is at most ρ.

    Examples
    --------
    >>> concentrated_delta([0.0, 1.0, 5.0], 0.1).round(4).tolist()
    [0.2236, 0.0089, 0.0]
    """
    eps = as_epsilons(epsilon)
    spent = at_least_zero("rho", rho)
    order = _ORDERS
    front = order * np.log1p(-1.0 / order) - np.log(order - 1.0)
    power = front + (order - 1.0) * (order * spent - np.asarray(eps)[..., None])
    found = np.minimum(np.exp(np.minimum(power, 0.0)).min(axis=-1), math.sqrt(spent / 2.0))
    return np.asarray(found)[()]


def budget(
    *, advantage: float | None = None, tpr: float | None = None, fpr: float | None = None
) -> tuple[float, float]:
    """The pair (ε, δ) to calibrate to, so that no attack achieves more than this.

    Parameters
    ----------
    advantage
        The most by which a true-positive rate may exceed its false-positive rate.
    tpr, fpr
        Given instead: the largest true-positive rate at this false-positive rate.

    Notes
    -----
    An advantage of A is (0, A). With δ = tpr − e^ε·fpr every attack keeps to tpr, whatever ε is; it is chosen
    so that normal noise is no larger than it must be: e^ε is the slope of its trade-off curve there.

    Examples
    --------
    >>> budget(advantage=0.1)
    (0.0, 0.1)
    >>> [round(part, 5) for part in budget(tpr=0.05, fpr=0.01)]
    [1.35318, 0.0113]
    """
    from scipy.special import ndtri

    if advantage is not None and tpr is None and fpr is None:
        return 0.0, share("advantage", advantage, zero=False, one=False)
    if advantage is not None or tpr is None or fpr is None:
        seen = f"advantage {advantage}, tpr {tpr}, fpr {fpr}"
        raise invalid("advantage", "given, or else tpr and fpr together", seen)
    wrong = share("fpr", fpr, zero=False, one=False)
    said = share("tpr", tpr, zero=False, one=False)
    if said <= wrong:
        raise invalid("tpr", f"above the false-positive rate, {wrong:g}", tpr)
    at = float(ndtri(wrong))
    ratio = float(ndtri(said)) - at
    epsilon = max(0.0, -ratio * (at + ratio / 2.0))
    return epsilon, said - math.exp(epsilon) * wrong


def promise(
    *, epsilon: float | None = None, delta: float = 0.0, mu: float | None = None, rho: float | None = None
) -> PrivacyProfile:
    """The profile of a declaration: (ε, δ), Gaussian privacy with μ, or concentrated privacy with ρ.

    Examples
    --------
    >>> promise(epsilon=1.0).posterior(0.1).round(4).tolist()
    0.232
    >>> promise(mu=1.0).tpr(0.01).round(4).tolist()
    0.0924
    """
    given = [name for name, value in (("epsilon", epsilon), ("mu", mu), ("rho", rho)) if value is not None]
    if len(given) != 1:
        raise invalid("epsilon, mu, rho", "given, exactly one of them", ", ".join(given) or "none")
    made = partial(PrivacyProfile, method="guarantee", neighbours="as declared", relative=False)
    if epsilon is not None:
        most = at_least_zero("epsilon", epsilon)
        slack = share("delta", delta)
        return made(
            curve=lambda eps: approximate_delta(eps, most, slack),
            mechanism=f"a mechanism that declares ε = {most:g}, δ = {slack:g}",
            pure_epsilon=math.inf if slack else most,
        )
    if delta:
        raise invalid("delta", "left out beside mu or rho, which promise a whole curve", delta)
    if mu is not None:
        ratio = at_least_zero("mu", mu)
        return made(
            curve=lambda eps: gaussian_delta(eps, ratio, 1.0),
            mechanism=f"a mechanism that declares μ = {ratio:g}",
            pure_epsilon=math.inf if ratio else 0.0,
        )
    assert rho is not None
    spent = at_least_zero("rho", rho)
    return made(
        curve=lambda eps: concentrated_delta(eps, spent),
        mechanism=f"a mechanism that declares ρ = {spent:g}",
        pure_epsilon=math.inf if spent else 0.0,
    )
