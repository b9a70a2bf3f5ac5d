"""Duration: how long an audit will take, before it starts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tellall.attack.baselines import FOLDS
from tellall.experiment.audit import jobs_alone, jobs_together
from tellall.experiment.memory import FACTORISED, unknowns_of
from tellall.experiment.trial import affordable
from tellall.people.areas import split
from tellall.people.dataset import Dataset

if TYPE_CHECKING:
    from tellall.experiment.plan import Plan

__all__ = ["Duration", "duration_of"]

# seconds of one core of a usual machine, measured; docs/scale.md has the table
_START = 2.5  # libraries, reading, pages
_TREES = 100  # of the best predictor from public columns, in each fold
_TREE = 1e-3  # a tree, however few people
_CELL = 1.2e-8  # a person's column in a tree
_ATTACK = 0.1
_SQUARE = 4e-7  # a pair of unknowns, where matrices of them are factorised
_PRODUCT = 4e-6  # an entry of the equations, over all products of an attack without such matrices


@dataclass(frozen=True)
class Duration:
    """Seconds that an audit is expected to take on the processor.

    Attributes
    ----------
    baselines
        What could be guessed without any release, computed once.
    attacks
        All attacks, one after the other.

    Notes
    -----
    Within a factor of three of what was measured of tables: up to 100,000 people, 20 columns and 10,000
    unknowns. What follows beyond is not measured. Proofs by search are not in it. Areas, and attacks in
    several processes, take their share of `attacks` each.
    """

    baselines: float
    attacks: float

    def seconds(self, processes: int = 1) -> float:
        """The time in all, with this many processes at once."""
        return _START + self.baselines + self.attacks / max(processes, 1)

    def __str__(self) -> str:
        seconds = self.seconds()
        if seconds < 90:
            return f"about {seconds:.0f} seconds"
        return f"about {seconds / 60:.0f} minutes" if seconds < 5400 else f"about {seconds / 3600:.0f} hours"


def duration_of(plan: Plan, dataset: Dataset) -> Duration:
    """How long the audit of this plan about these people will take."""
    parts = [dataset] if plan.by is None else [area.dataset for area in split(dataset, plan.by)]
    each = [_part(plan, people) for people in parts]
    if plan.by is None:
        return each[0]
    return Duration(0.0, sum(part.baselines + part.attacks for part in each))


def _part(plan: Plan, people: Dataset) -> Duration:
    values = people.levels if people.levels > 2 else 1
    tree = _TREE + _CELL * people.n * len(people.public.columns)
    jobs = [*jobs_alone(plan), *jobs_together(plan, range(len(plan.releases)))]
    decoders = len(affordable(people.n, 1, people.levels))
    draws = max(1, plan.repeats)
    attacks = sum(
        draws
        * (1 if job.role == "step" else decoders)
        * _attack(plan, people, [index for index, _ in job.members])
        for job in jobs
    )
    return Duration(FOLDS * _TREES * values * tree, attacks)


def _attack(plan: Plan, people: Dataset, members: list[int]) -> float:
    unknowns = unknowns_of(people)
    if unknowns <= FACTORISED:
        return _ATTACK + _SQUARE * unknowns**2
    share = unknowns / people.n
    entries = sum(plan.releases[index].statistic.memory(people.public) / 4 for index in members)
    return _ATTACK + _PRODUCT * entries * share
