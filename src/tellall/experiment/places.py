"""Places: the people about whom a plan is published, everybody or the areas one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tellall.experiment.outcome import Outcome, add_up
from tellall.experiment.plan import Plan
from tellall.experiment.trial import Setting
from tellall.people.areas import area_seed, split, too_small
from tellall.people.bits import IntArray
from tellall.people.dataset import Dataset

__all__ = ["Place", "places_of", "together"]


@dataclass(frozen=True, eq=False)
class Place:
    """People about whom a plan is published, with what attacks on them share.

    Attributes
    ----------
    name
        The area; None for everybody.
    people
        Their indices in the whole table.
    """

    name: str | None
    people: IntArray
    setting: Setting

    def seed(self, seed: int) -> int:
        """The place's own seed in work with that seed."""
        return seed if self.name is None else area_seed(seed, self.name)


def places_of(dataset: Dataset, plan: Plan) -> list[Place]:
    """Everybody; with ``by`` in the plan, each area that can be attacked."""
    if plan.by is None:
        return [Place(None, np.arange(dataset.n), Setting(dataset, plan.device))]
    return [
        Place(area.name, area.people, Setting(area.dataset, plan.device))
        for area in split(dataset, plan.by)
        if too_small(area) is None
    ]


def together(outcomes: Sequence[Outcome], tried: int = 1) -> Outcome:
    """The outcome over the people of all places."""
    return outcomes[0] if len(outcomes) == 1 else add_up(outcomes, len(outcomes), tried=tried)
