"""Misfits: published values that no secret near the others can have."""

from __future__ import annotations

import numpy as np

from tellall.attacks.decoders import Decoded, nearest
from tellall.attacks.system import Undecided
from tellall.evidence import Evidence
from tellall.linops import Array
from tellall.solve import Status

__all__ = ["CONTRADICTION", "find_misfits", "with_misfits"]

CONTRADICTION = 5.0  # residuals so many times the declared noise are no bad luck
_GROSS = 20.0  # nor is a single one of so many times, of millions and under any law without gross errors
_SUSPECT = 1.5  # exact counts are usually met within half their spread
_LOOSE = 1e-3  # of the ridge, where nothing but the equations shall count
_MEANS = ("posterior", "exhaustive")  # their estimates are means, not minimisers, and can miss more


def find_misfits(decoded: Decoded, evidence: Evidence, undecided: Undecided) -> int:
    """How many values do not fit the others; none where that was not found out.

    Notes
    -----
    A value whose error has a bound (zero for exact ones) misfits beyond that bound and five times the spread
    it is given, half a person for an exact count; another beyond twenty times its spread. The mean square of
    all residuals would not show one wrong value of thousands. Where gross errors are declared none is odd.

    Least squares spreads one error over many values, where these are few. Exact values that are missed by
    less are therefore solved again, with the ridge λ a thousandth: if a secret had them all, the minimum of
    ‖A x − z‖²/σ² + λ ‖x − π‖² would be no more than at that secret, λ Σ max(π, size − π)². What misses by
    more contradicts itself, for sure; it counts as one misfit, whichever it is.
    """
    if evidence.contaminated:
        return 0
    off = _off(evidence, decoded.value)
    if decoded.name not in _MEANS:
        misfits = int((off > CONTRADICTION).sum()) if decoded.status.settled else 0
    elif (off > CONTRADICTION).any():
        solution = nearest(undecided)
        closest = _off(evidence, _filled(decoded.value, undecided, solution.value))
        misfits = int((closest > CONTRADICTION).sum()) if solution.status.settled else 0
    else:
        misfits = 0
    if misfits or not (off > _SUSPECT).any():
        return misfits
    return int(_contradict(decoded, evidence, undecided))


def with_misfits(status: Status, misfits: int, values: int) -> Status:
    """The status, changed where some values do not fit the others."""
    if not misfits or status.word == "contradictory":
        return status
    do, it = ("does", "it has") if misfits == 1 else ("do", "they have")
    said = f"{misfits:,} of {values:,} values {do} not fit the others"
    return Status("contradictory", f"{said}; look for a mistake, or declare the noise {it}")


def _off(evidence: Evidence, value: Array) -> Array:
    """How far each value is missed beyond its bound, in spreads; a quarter of that where it has none."""
    system = evidence.system
    off = np.abs(system.operator @ value - system.target)
    bounded = np.isfinite(system.bound)
    beyond: Array = np.maximum(off - np.where(bounded, np.maximum(system.bound, 0.0), 0.0), 0.0)
    return beyond / (system.spread * np.where(bounded, 1.0, _GROSS / CONTRADICTION))


def _filled(value: Array, undecided: Undecided, found: Array) -> Array:
    whole = value.copy()
    whole[undecided.places] = found
    return whole


def _contradict(decoded: Decoded, evidence: Evidence, undecided: Undecided) -> bool:
    """Whether no secret within the bounds has all these exact values."""
    system, prior = evidence.system, undecided.prior
    if (system.bound > 0).any():
        return False
    solution = nearest(undecided, ridge=_LOOSE)
    if not solution.status.settled:
        return False
    missed = system.operator @ _filled(decoded.value, undecided, solution.value) - system.target
    furthest = np.maximum(prior.mean - undecided.lower, undecided.upper - prior.mean) ** 2
    return float(np.sum((missed / system.spread) ** 2)) > 1.01 * _LOOSE * float(
        np.sum(furthest / prior.variance)
    )
