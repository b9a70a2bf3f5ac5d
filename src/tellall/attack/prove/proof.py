"""Proof: what is the same in every secret that fits, found by bounds and then by a complete search."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tellall.algebra.solvers.base import Component, Enclosure, Mask, WholeSystem
from tellall.attack.prove.certify import only_solution
from tellall.attack.prove.programme import Budget
from tellall.attack.prove.search import Ends, affordable, settle
from tellall.attack.secret import Code, Secret
from tellall.core.errors import invalid
from tellall.release.equations import Evidence

__all__ = ["EFFORT", "Proof", "check_effort", "prove", "with_open"]

EFFORT = 10_000  # steps, about a millisecond each
_MOST_ENTRIES = 2_000_000  # of a system that is written out to be searched
_MOST_UNKNOWNS = 1000  # of a part that is solved by linear algebra
_ELIMINATION = 3e-6  # steps of that, times the number of unknowns cubed


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
    uncertified
        How many people are proved, or how many contradicted, by the integer solver's word alone: it works
        in floating point, and no certificate was found that could be checked in whole numbers.
    jointly
        What the attacker does not know and was solved for together with the secret: columns by their names,
        people in words; empty where it was summed over.
    note
        What the attacker does not know and what was done about it, in words; empty where nothing is unknown.
    """

    enclosure: Enclosure
    open: Mask
    undecided: int = 0
    steps: int = 0
    interrupted: bool = False
    uncertified: int = 0
    jointly: tuple[str, ...] = ()
    note: str = ""

    def __repr__(self) -> str:
        box = self.enclosure
        known = f"{int((box.lower == box.upper).sum()):,} of {box.lower.size:,} counts known"
        said = ["contradictory"] if box.empty else [known, f"{self.undecided:,} people undecided"]
        said += (
            [f"{self.uncertified:,} people by the integer solver's word alone"] if self.uncertified else []
        )
        return f"Proof: {', '.join(said)}; {self.steps:,} steps{', interrupted' if self.interrupted else ''}"

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
    Bound propagation first (`enclose`). What it leaves open falls into parts that share no person. A part
    whose equations have one solution over all numbers has that one (`only_solution`). Each other one is
    searched on its own, the smallest first (`settle`). A part whose equations are so many that a few calls
    would use up the steps is not begun: its people are undecided. The same evidence gives the same proof on
    every machine with the same version of SciPy. With ``interruptible`` Ctrl-C ends the search and keeps
    what is proved.
    """
    box, nobody = evidence.enclosure, np.zeros(evidence.groups.counts.size, dtype=bool)
    if not isinstance(secret, Code) or box.empty or not (box.lower < box.upper).any():
        return Proof(box, nobody)
    certain = evidence.certain
    if not (np.isfinite(certain.low) | np.isfinite(certain.high)).any() and not certain.gaps:
        return Proof(box, nobody)  # nothing is certain
    entries = float((certain.operator.squared() @ (box.lower < box.upper).astype(np.float64)).sum())
    unknowns = evidence.system.size
    left = np.zeros(unknowns.size, dtype=bool)
    if entries > _MOST_ENTRIES or not effort:
        return with_open(evidence, secret, Proof(box, nobody), box.lower < box.upper)
    lower, upper, budget, stopped = box.lower.copy(), box.upper.copy(), Budget(effort), False
    doubted = np.zeros(unknowns.size, dtype=bool)
    system = WholeSystem.left_open(certain.operator, certain.low, certain.high, certain.gaps, box)
    for part in system.parts():
        place = system.columns[part.columns]
        left[place] = True
        only = only_solution(part) if _may_be_alone(part, budget) else None
        if only is not None:
            lower[place], upper[place], left[place] = only, only, False
        if only is not None or stopped or not affordable(part, budget):
            continue
        ends = Ends(unknowns[place], not secret.exclusive)
        found = settle(part, ends, budget, interruptible=interruptible)
        stopped = found.interrupted
        doubted[place] = not found.certified
        if found.empty:
            doubt = 0 if found.certified else evidence.n
            nothing = Enclosure(box.lower, box.upper, empty=True)
            return Proof(nothing, nobody, steps=round(budget.spent), uncertified=doubt)
        lower[place], upper[place], left[place] = found.lower, found.upper, found.open
    proof = Proof(Enclosure(lower, upper, empty=False), nobody, 0, round(budget.spent), stopped)
    settled = secret.settles((lower == unknowns) & doubted, (upper == 0) & doubted)
    by_word = settled.reshape(evidence.values, -1).any(axis=0)
    proof = replace(proof, uncertified=int(evidence.groups.counts[by_word].sum()))
    return with_open(evidence, secret, proof, left)


def _may_be_alone(part: Component, budget: Budget) -> bool:
    """Whether exact values may determine the whole part; takes the steps to find out, if they are left."""
    n = part.columns.size
    steps = _ELIMINATION * n**3
    if n > _MOST_UNKNOWNS or int((part.low == part.high).sum()) < n or budget.left < steps:
        return False
    budget.take(steps)
    return True


def with_open(evidence: Evidence, secret: Code, proof: Proof, left: Mask) -> Proof:
    """The proof with the groups that are open: an unknown was not found out, and nothing settles them."""
    size, values = evidence.system.size, evidence.values
    box = proof.enclosure
    settled = secret.settles(box.lower == size, box.upper == 0).reshape(values, -1).any(axis=0)
    open_ = np.asarray(left.reshape(values, -1).any(axis=0) & ~settled)
    undecided = int(evidence.groups.counts[open_].sum())
    return replace(proof, open=open_, undecided=undecided)
