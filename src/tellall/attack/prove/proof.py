"""Proof: what is the same in every secret that fits, found by bounds and then by a complete search."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from tellall.algebra.solvers.base import Enclosure
from tellall.attack.prove.search import Budget, Ends, affordable, settle
from tellall.attack.prove.system import WholeSystem
from tellall.attack.secret import Code, Secret
from tellall.core.errors import invalid
from tellall.release.equations import Evidence

__all__ = ["EFFORT", "Proof", "check_effort", "prove"]

EFFORT = 10_000  # steps, about a millisecond each
_MOST_ENTRIES = 2_000_000  # of a system that is written out to be searched

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Proof:
    """What holds in every secret that fits what was published.

    Attributes
    ----------
    enclosure
        Bounds on the count of every group of people alike; ``empty`` where no secret fits.
    open
        Which groups the search left open when its steps were used up.
    undecided
        How many people that are.
    steps
        How many steps were used.
    interrupted
        Whether the search was stopped by hand; what was proved until then stands.
    """

    enclosure: Enclosure
    open: Mask
    undecided: int = 0
    steps: int = 0
    interrupted: bool = False

    @classmethod
    def of_bounds(cls, evidence: Evidence) -> Proof:
        """What the bounds alone prove."""
        return cls(evidence.enclosure, np.zeros(len(evidence.groups), dtype=bool))


def check_effort(effort: object) -> int:
    """The number of steps, if it is one."""
    if isinstance(effort, bool) or not isinstance(effort, int | np.integer) or effort < 0:
        raise invalid("proof_effort", "a whole number of steps, zero or more", effort)
    return int(effort)


def prove(evidence: Evidence, secret: Secret, effort: int = EFFORT, *, interruptible: bool = True) -> Proof:
    """What the bounds prove, and what a search within this many steps adds.

    Notes
    -----
    Bound propagation first (`enclose`). What it leaves open falls into parts that share no person; each is
    searched on its own, the smallest first (`settle`). A part whose equations are so many that a few calls
    would use up the steps is not begun: its people are undecided. The same evidence gives the same proof on
    every machine with the same version of SciPy. With ``interruptible`` Ctrl-C ends the search and keeps
    what is proved.
    """
    box, groups = evidence.enclosure, len(evidence.groups)
    nobody = np.zeros(groups, dtype=bool)
    if not isinstance(secret, Code) or box.empty or not effort or not (box.lower < box.upper).any():
        return Proof(box, nobody)
    certain = evidence.certain
    if not certain.low.size:
        return Proof(box, nobody)
    entries = float((certain.operator.squared() @ (box.lower < box.upper).astype(np.float64)).sum())
    unknowns = evidence.system.size
    left = np.zeros(unknowns.size, dtype=bool)
    if entries > _MOST_ENTRIES:
        return _with_open(evidence, secret, Proof(box, nobody), box.lower < box.upper)
    lower, upper, budget, stopped = box.lower.copy(), box.upper.copy(), Budget(effort), False
    system = WholeSystem.left_open(certain, box)
    for part in system.parts():
        place = system.columns[part.columns]
        left[place] = True
        if stopped or not affordable(part, budget):
            continue
        try:
            found = settle(part, Ends(unknowns[place], not secret.exclusive), budget)
        except KeyboardInterrupt:
            if not interruptible:
                raise
            stopped = True
            continue
        if found.empty:
            return Proof(Enclosure(box.lower, box.upper, empty=True), nobody, steps=round(budget.spent))
        lower[place], upper[place], left[place] = found.lower, found.upper, found.open
    proof = Proof(Enclosure(lower, upper, empty=False), nobody, 0, round(budget.spent), stopped)
    return _with_open(evidence, secret, proof, left)


def _with_open(evidence: Evidence, secret: Code, proof: Proof, left: Mask) -> Proof:
    """The proof with the groups that are open: an unknown was not found out, and nothing settles them."""
    size, values = evidence.system.size, evidence.values
    box = proof.enclosure
    settled = secret.settles(box.lower == size, box.upper == 0).reshape(values, -1).any(axis=0)
    open_ = np.asarray(left.reshape(values, -1).any(axis=0) & ~settled)
    undecided = int(evidence.groups.counts[open_].sum())
    return replace(proof, open=open_, undecided=undecided)
