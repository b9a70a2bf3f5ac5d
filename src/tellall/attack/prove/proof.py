"""Proof: what is the same in every secret that fits, found by bounds and then by a complete search.

In each part the search asks which counts are at one end of their range in every solution.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tellall.algebra.solvers.base import Component, Enclosure, Mask, WholeSystem
from tellall.attack.prove.certify import only_solution
from tellall.attack.prove.search import Budget, Ends, is_loose, settle
from tellall.attack.secret import Code, Secret
from tellall.core.errors import invalid
from tellall.release.equations import Certain, Evidence

__all__ = [
    "EFFORT",
    "Proof",
    "Searched",
    "check_effort",
    "prove",
    "search_parts",
    "with_open",
]

EFFORT = 10_000  # thousandths of CP-SAT's deterministic time
_MOST_ENTRIES = 2_000_000  # in a system that is written out to be searched
_MOST_UNKNOWNS = 1000  # in a part that is solved by linear algebra


@dataclass(frozen=True, eq=False)
class Proof:
    """What holds in every secret that fits what was published.

    Attributes
    ----------
    enclosure
        Bounds on the count of every group of people alike; ``empty`` if no secret fits.
    open
        Which groups the search left open when its steps were used up.
    undecided
        How many people are in those groups.
    loose
        How many of these are in parts whose equations have a rank below their unknowns. Many solutions are
        to be expected there, and to find out what they share may take any effort. Without any effort, all.
    steps
        How much effort was used.
    interrupted
        Whether the search was stopped by hand; what was proved until then holds.
    jointly
        Unknowns of the attacker that were solved for together with the secret: columns by their names, people
        in words; empty if they were summed over.
    note
        What the attacker does not know and what was done about it, in words; empty if nothing is unknown.
    """

    enclosure: Enclosure
    open: Mask
    undecided: int = 0
    loose: int = 0
    steps: int = 0
    interrupted: bool = False
    jointly: tuple[str, ...] = ()
    note: str = ""

    def __repr__(self) -> str:
        box = self.enclosure
        known = f"{int((box.lower == box.upper).sum()):,} of {box.lower.size:,} counts known"
        said = ["contradictory"] if box.empty else [known, f"{self.undecided:,} people undecided"]
        said += [f"{self.loose:,} of them where few values are published"] if self.loose else []
        return f"Proof: {', '.join(said)}; {self.steps:,} steps{', interrupted' if self.interrupted else ''}"

    @classmethod
    def of_bounds(cls, evidence: Evidence) -> Proof:
        """Returns what the bounds alone prove."""
        return cls(evidence.enclosure, np.zeros(len(evidence.groups), dtype=bool))


def check_effort(effort: object) -> int:
    """Returns the number of steps; refuses anything else."""
    if isinstance(effort, bool) or not isinstance(effort, int | np.integer) or effort < 0:
        raise invalid("proof_effort", "a whole number of steps, zero or more", effort)
    return int(effort)


def prove(evidence: Evidence, secret: Secret, effort: int = EFFORT, *, interruptible: bool = True) -> Proof:
    """Returns what the bounds prove, and what a search within this many steps adds.

    Notes
    -----
    Bound propagation comes first (`enclose`). What it leaves open falls into parts that share no person, and
    each is searched on its own (`search_parts`). The same evidence gives the same proof with the same version
    of OR-tools on the same platform, and anywhere if the search came to its end. With ``interruptible``,
    Ctrl-C ends the search and keeps what is proved.
    """
    box, nobody = evidence.enclosure, np.zeros(evidence.groups.counts.size, dtype=bool)
    if not isinstance(secret, Code) or box.empty or not (box.lower < box.upper).any():
        return Proof(box, nobody)
    certain = evidence.certain
    if not (np.isfinite(certain.low) | np.isfinite(certain.high)).any() and not certain.gaps:
        return Proof(box, nobody)  # nothing is certain
    entries = float((certain.operator.squared() @ (box.lower < box.upper).astype(np.float64)).sum())
    unknowns = evidence.system.size
    if entries > _MOST_ENTRIES or not effort:
        open_ = box.lower < box.upper
        loose = open_ & (not effort or bool(certain.low.size < open_.sum()))
        return with_open(evidence, secret, Proof(box, nobody), open_, loose)
    ends = Ends(unknowns, not secret.exclusive)
    found = search_parts(certain, box, ends, Budget(effort), interruptible=interruptible)
    proof = Proof(found.box, nobody, steps=found.steps, interrupted=found.stopped)
    return proof if found.box.empty else with_open(evidence, secret, proof, found.left, found.loose)


@dataclass(frozen=True, eq=False)
class Searched:
    """The box after a search, what is left open, what of that is in loose parts, and the effort used."""

    box: Enclosure
    left: Mask
    loose: Mask
    steps: int = 0
    stopped: bool = False


def search_parts(
    certain: Certain, box: Enclosure, ends: Ends, budget: Budget, *, interruptible: bool
) -> Searched:
    """Returns the box after a search in each part, the smallest first.

    Notes
    -----
    If the equations of a part have only one solution over all numbers, that is the answer (`only_solution`).
    Every other part is searched (`settle`). A part gets half of the effort that is left, the last one all.
    """
    lower, upper, stopped = box.lower.copy(), box.upper.copy(), False
    left, loose = np.zeros(lower.size, dtype=bool), np.zeros(lower.size, dtype=bool)
    if box.empty:
        return Searched(box, left, loose)
    system = WholeSystem.left_open(certain.operator, certain.low, certain.high, certain.gaps, box)
    parts = system.parts()
    for part, share in zip(parts, budget.parts(len(parts)), strict=True):
        place = system.columns[part.columns]
        only = only_solution(part) if _may_be_alone(part) else None
        if only is not None:
            lower[place], upper[place] = only, only
            continue
        left[place] = True
        if stopped:
            continue
        found = settle(part, ends.take(place), share, interruptible=interruptible)
        stopped = found.interrupted
        if found.empty:
            nothing = Enclosure(box.lower, box.upper, empty=True)
            return Searched(nothing, left & False, left & False, round(budget.spent + share.spent))
        lower[place], upper[place], left[place] = found.lower, found.upper, found.open
        loose[place] = found.open & (bool(found.open.any()) and is_loose(part))
    return Searched(Enclosure(lower, upper, empty=False), left, loose, round(budget.spent), stopped)


def _may_be_alone(part: Component) -> bool:
    """Whether exact values may determine the whole part."""
    n = part.columns.size
    return n <= _MOST_UNKNOWNS and int((part.low == part.high).sum()) >= n


def with_open(evidence: Evidence, secret: Code, proof: Proof, left: Mask, loose: Mask) -> Proof:
    """Returns the proof with its open groups: those with an unknown in ``left`` that nothing settles.

    A group counts as loose if all that is left open of it is in loose parts.
    """
    size, values = evidence.system.size, evidence.values
    box, counts = proof.enclosure, evidence.groups.counts
    settled = secret.settles(box.lower == size, box.upper == 0).reshape(values, -1).any(axis=0)
    open_ = np.asarray(left.reshape(values, -1).any(axis=0) & ~settled)
    tight = np.asarray((left & ~loose).reshape(values, -1).any(axis=0))
    return replace(
        proof,
        open=open_,
        undecided=int(counts[open_].sum()),
        loose=int(counts[open_ & ~tight].sum()),
    )
