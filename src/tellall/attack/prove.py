"""Proofs: what holds in every secret that fits the evidence."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tellall.algebra.operators.base import Array
from tellall.algebra.solvers.least_squares import LeastSquares
from tellall.attack.secret import Bit, Secret
from tellall.release.equations import Evidence

__all__ = [
    "identified",
]

Mask = npt.NDArray[np.bool_]


def identified(
    evidence: Evidence, secret: Secret, value: Array, listed: Mask | None = None
) -> npt.NDArray[np.str_]:
    """ "proved", "linear" or "no" for each person.

    ``listed`` marks the unknowns that have the same ``value`` in every secret that fits, as a search found.

    Notes
    -----
    "proved": the same bit or category in every secret consistent with the evidence, by bound propagation
    (valid but not complete: some provable people are missed) or because all such secrets were listed.
    "linear": the person's unit vector lies in the row space of the operator. O(P³) for P groups of equal
    people; where P is beyond the Gram limit the row space is not computed and "linear" is not claimed.
    """
    linear, proved = _linear(evidence), _proved(evidence, secret, value, listed)
    return np.where(proved, "proved", np.where(linear, "linear", "no"))[evidence.groups.index]


def _linear(evidence: Evidence) -> Mask:
    """Whether the equations alone fix what each group has; only people alone in their group."""
    size = evidence.system.size
    if size.size > LeastSquares().gram_limit:
        return np.zeros(len(evidence.groups), dtype=bool)
    return np.asarray((evidence.determined & (size == 1)).reshape(evidence.values, -1).all(axis=0))


def _proved(evidence: Evidence, secret: Secret, value: Array, listed: Mask | None) -> Mask:
    """Whether the bounds, or the list of all secrets, leave each group one value."""
    if not secret.levels or evidence.enclosure.empty:
        return np.zeros(len(evidence.groups), dtype=bool)
    box, size = evidence.enclosure, evidence.system.size
    lower, upper = box.lower, box.upper
    if listed is not None:
        lower, upper = (np.where(listed, np.rint(value), side) for side in (lower, upper))
    full, none = lower == size, upper == 0
    # of bits, none is as good as all; of several values one that everybody has settles the others
    settled = full | none if isinstance(secret, Bit) else full
    return np.asarray(settled.reshape(evidence.values, -1).any(axis=0))
