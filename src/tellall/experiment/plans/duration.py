"""Duration: how long an audit will take, before it starts."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tellall.algebra.operators.blocks import TALL
from tellall.attack.baselines import BLOCKED, FOLDS, WALKED
from tellall.attack.baselines import FACTORISED as LEFT_OUT
from tellall.experiment.audit import jobs_alone, jobs_together
from tellall.experiment.plans.memory import FACTORISED, in_blocks, tables_and_rows, unknowns_of, written_out
from tellall.experiment.trial import Planned, affordable
from tellall.people.areas import split
from tellall.people.dataset import Dataset
from tellall.release.protections.protection import Protection
from tellall.release.statistics.base import Statistic

if TYPE_CHECKING:
    from tellall.experiment.plans.plan import Plan

__all__ = ["Duration", "duration_of", "waiting"]

# seconds of one core of a usual machine, measured; docs/scale.md has the table
_START = 2.5  # libraries, reading, pages
_FOLD = 0.1  # a fold of the best predictor from public columns, however few people
_CELL = 4.5e-7  # a person's column in it
_ATTACK = 0.1
_PROOFS = 1.5  # the search for proofs, where errors have bounds and people are few
_CONTRASTS = 0.5  # of the cells, where tables are complete and solved in contrasts
_REMEDY = 8  # the search for a remedy takes at most this many times as long as the attacks
_SQUARE = 3e-7  # a pair of unknowns, where matrices of them are factorised
_PRODUCT = 1.5e-5  # an entry of the equations, over all products of an attack without such matrices
_PAIR = 7e-9  # a pair of tables for each unknown, where the equations are written out without zeros
_DENSE_PAIR = 5e-11  # a pair of equations for each unknown, where zeros are written too
_CUBE = 1.5e-11  # three equations, where a matrix of them is factorised
_FACTORISATIONS, _FEW = 13, 1  # in one attack; where there are more equations than the posterior factorises
_MANY = 5000  # such equations
_STEPS = 5e-7  # an entry of equations in blocks, over the steps of an attack
_RIDGES = 4  # tried on everybody
_FOLDED = 2e-5  # an entry of the equations, where it is fitted in folds


@dataclass(frozen=True)
class Duration:
    """Seconds that an audit is expected to take on the processor.

    Attributes
    ----------
    baselines
        What could be guessed without any release, computed once.
    attacks
        All attacks, one after the other.
    jobs
        How many of them can be made at once.

    Notes
    -----
    Within a factor of three of what was measured for tables of up to a million people and 20 columns. It was
    not measured for equations of more than 500 million entries. The search for proofs is not included. Areas,
    and attacks in several processes, take their share of `attacks` each.
    """

    baselines: float
    attacks: float
    jobs: int = 1

    def seconds(self, processes: int = 1) -> float:
        """The total time, with this many processes at once."""
        return _START + self.baselines + self.attacks / max(min(processes, self.jobs), 1)

    def remedy(self, processes: int = 1) -> float:
        """The most that the search for a remedy takes beyond that."""
        return _REMEDY * self.attacks / max(processes, 1)

    def told(self, processes: int = 1) -> str:
        """The total time in words, on this machine as busy as it is now."""
        seconds = self.seconds(processes) * waiting(processes)
        if seconds < 90:
            return f"about {seconds:.0f} seconds"
        return f"about {seconds / 60:.0f} minutes" if seconds < 5400 else f"about {seconds / 3600:.0f} hours"

    def __str__(self) -> str:
        return self.told()


def waiting(processes: int = 1) -> float:
    """How many times longer these processes take because others use the machine now; 1 if that is not known.

    Notes
    -----
    With a load of L others on c cores, p more processes get c/(L + p) of a core each.
    """
    try:
        load = os.getloadavg()[0]
    except (AttributeError, OSError):  # Windows has no such number
        return 1.0
    return max(1.0, (load + processes) / (os.cpu_count() or 1))


def duration_of(plan: Plan, dataset: Dataset) -> Duration:
    """How long the audit of this plan about these people will take."""
    parts = [dataset] if plan.by is None else [area.dataset for area in split(dataset, plan.by)]
    each = [_part(plan, people) for people in parts]
    if plan.by is None:
        return each[0]
    return Duration(0.0, sum(part.baselines + part.attacks for part in each), len(each))


def _part(plan: Plan, people: Dataset) -> Duration:
    values = people.levels if people.levels > 2 else 1
    fold = _FOLD + _CELL * people.n * len(people.public.columns)
    jobs = [*jobs_alone(plan), *jobs_together(plan, range(len(plan.releases)))]
    decoders = len(affordable(people.n, 1, people.levels))
    draws = max(1, plan.repeats)
    attacks = 0.0
    for job in jobs:
        releases = [plan.releases[index] for index, _ in job.members]
        bounded = all(_is_bounded(protection) for release in releases for protection in release.protections)
        times = 1 if job.role == "step" else decoders
        proofs = _PROOFS if bounded else 0.0
        attacks += draws * (times * _attack(releases, people, bounded=bounded) + proofs)
    public = sum(_population(people, [entry.statistic]) for entry in plan.releases)
    return Duration(FOLDS * values * fold + public, attacks, len(jobs_alone(plan)))


def _population(people: Dataset, statistics: list[Statistic]) -> float:
    """The population model of tables about many people."""
    found = tables_and_rows(people, statistics)
    if found is None:
        return 0.0
    (tables, rows), unknowns = found, unknowns_of(people)
    side = min(rows, unknowns)
    if rows < TALL * tables and rows <= LEFT_OUT:
        return 2 * _DENSE_PAIR * unknowns * rows**2 + 10 * _CUBE * side**3
    if rows > BLOCKED:
        return _FOLDED * tables * unknowns
    ridges = _RIDGES if unknowns <= WALKED else 1
    return (1 + ridges) / 2 * _PAIR * unknowns * tables**2 + 2 * ridges * _CUBE * side**3


def _attack(releases: list[Planned], people: Dataset, *, bounded: bool) -> float:
    unknowns = unknowns_of(people)
    found = tables_and_rows(people, [release.statistic for release in releases])
    if unknowns <= FACTORISED:
        squares = _SQUARE * unknowns**2
        rows = 0.0 if found is None else found[1] * (1 if bounded else _CONTRASTS)
        return _ATTACK + (min(squares, _FACTORISATIONS * _by_rows(unknowns, rows)) if rows else squares)
    if found is not None:
        tables, rows = found
        if not in_blocks(tables, unknowns):
            return _ATTACK + _PRODUCT * tables * unknowns
        pairs = min(_PAIR * unknowns * tables**2, _DENSE_PAIR * unknowns * rows**2)
        steps = 0.0 if written_out(tables, unknowns) else _STEPS * tables * unknowns
        times = _FACTORISATIONS if rows <= _MANY else _FEW
        return _ATTACK + steps + times * (pairs + _CUBE * rows**3)
    share = unknowns / people.n
    entries = sum(release.statistic.memory(people.public) / 4 for release in releases)
    return _ATTACK + _PRODUCT * entries * share


def _is_bounded(protection: Protection) -> bool:
    """Whether its error is known to have a bound before anything is published."""
    ready = all(getattr(protection, name) is not None for name in protection.filled)
    return ready and math.isfinite(protection.law.bound)


def _by_rows(unknowns: int, rows: float) -> float:
    """One factorisation of the rows."""
    return _DENSE_PAIR * unknowns * rows**2 + _CUBE * rows**3
