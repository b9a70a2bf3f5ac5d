"""Misfits: published values that no secret near the others can have."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tellall.attacks.decoders import Decoded, nearest
from tellall.attacks.system import Undecided
from tellall.evidence import Evidence
from tellall.linops import Array
from tellall.solve import Status

__all__ = ["CONTRADICTION", "Misfit", "find_misfit", "with_misfits"]

CONTRADICTION = 5.0  # residuals so many times the declared noise are no bad luck
_GROSS = 20.0  # nor is a single one of so many times, of millions and under any law without gross errors
_SUSPECT = 1.5  # exact counts are usually met within half their spread
_LOOSE = 1e-3  # of the ridge, where nothing but the equations shall count


@dataclass(frozen=True)
class Misfit:
    """How badly the values are met: the root mean square in spreads, and how many do not fit the others."""

    excess: float
    values: int = 0


def find_misfit(decoded: Decoded, evidence: Evidence, undecided: Undecided | None = None) -> Misfit:
    """How far the published values are from any secret; no value misfits where that was not found out.

    Notes
    -----
    A value whose error has a bound (zero for exact ones) misfits beyond that bound and five times the spread
    it is given, half a person for an exact count; another beyond twenty times its spread. The mean square of
    all residuals would not show one wrong value of thousands. Where gross errors are declared none is odd.

    A decoder's answer leans towards the prior, which alone can miss a value by that much where a rare secret
    is common in one group. So what looks odd is solved again, with the ridge λ a thousandth. Least squares
    spreads one error over many values, where these are few: if a secret had all of some exact values, the
    minimum of ‖A x − z‖²/σ² + λ ‖x − π‖² would be no more than at that secret, λ Σ max(π, size − π)². What
    misses by more contradicts itself, for sure; it counts as one misfit, whichever it is.
    """
    off, excess = _off(evidence, decoded.value), _excess(evidence, decoded.value)
    odd = excess > CONTRADICTION or bool((off > CONTRADICTION).any())
    exact = bool((evidence.system.bound <= 0).all())
    if undecided is None or not (odd or (exact and (off > _SUSPECT).any())):
        return Misfit(excess)
    solution = nearest(undecided, ridge=_LOOSE)
    if not solution.status.settled:
        return Misfit(excess)
    value = decoded.value.copy()
    value[undecided.places] = solution.value
    excess = min(excess, _excess(evidence, value))
    if evidence.contaminated:
        return Misfit(excess)
    misfits = int((_off(evidence, value) > CONTRADICTION).sum())
    return Misfit(excess, misfits or int(exact and _contradict(evidence, undecided, value)))


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


def _excess(evidence: Evidence, value: Array) -> float:
    system = evidence.system
    missed = (system.operator @ value - system.target) / system.spread
    return float(np.sqrt(np.mean(missed**2))) if missed.size else 0.0


def _contradict(evidence: Evidence, undecided: Undecided, value: Array) -> bool:
    """Whether no secret within the bounds has all these exact values; ``value`` is their minimiser."""
    system, prior = evidence.system, undecided.prior
    missed = (system.operator @ value - system.target) / system.spread
    furthest = np.maximum(prior.mean - undecided.lower, undecided.upper - prior.mean) ** 2
    return float(np.sum(missed**2)) > 1.01 * _LOOSE * float(np.sum(furthest / prior.variance))
