"""Places: the people a plan is about, either everybody or the areas one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tellall.core.errors import TellallError
from tellall.core.jobs import Failed, Task, Workers, run
from tellall.experiment.outcome import Outcome, add_up
from tellall.experiment.plans.plan import Plan
from tellall.experiment.trial import Setting
from tellall.people.areas import area_seed, split, too_small
from tellall.people.bits import IntArray
from tellall.people.dataset import Dataset

__all__ = ["Place", "attack_apart", "places_of", "together"]


@dataclass(frozen=True, eq=False)
class Place:
    """People that a plan is about, with what attacks on them share.

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
        setting = Setting(dataset, plan.device, None, plan.attacker, plan.seed, plan.cells)
        return [Place(None, np.arange(dataset.n), setting)]
    attacker = plan.attacker.in_areas(plan.by)
    return [
        Place(area.name, area.people, Setting(area.dataset, plan.device, None, attacker, seed))
        for area, seed in ((area, area.seed(plan.seed)) for area in split(dataset, plan.by))
        if too_small(area) is None
    ]


def attack_apart(
    function: Callable[[Sequence[Place], Any], Any],
    places: Sequence[Place],
    pieces: Sequence[Any],
    workers: Workers | None = None,
) -> Iterator[Any]:
    """What a function of places and a piece of work returns for each piece, in the order of the pieces.

    With several processes the pieces are done at once; the answers are the same. Baselines found on the way
    come back with the answers, and the settings of the places keep them.
    """
    if workers is not None and workers.count > 1 and len(pieces) > 1:
        for place in places:
            _ = place.setting.before  # made once, here, and sent to the workers
    tasks = [Task("", lambda piece=piece: (function, places, piece)) for piece in pieces]  # type: ignore[misc]
    arrived: dict[int, Any] = {}
    wanted = 0
    for one in run(_answered, tasks, workers=workers):
        if isinstance(one, Failed):
            raise TellallError(one.reason)
        answer, models = one.piece
        for place, found in zip(places, models, strict=True):
            place.setting.learn(found)
        arrived[one.index] = answer
        while wanted in arrived:
            yield arrived.pop(wanted)
            wanted += 1


def _answered(work: tuple[Callable[[Sequence[Place], Any], Any], Sequence[Place], Any]) -> tuple[Any, Any]:
    """The answer of one piece, and the baselines that were found for each place; what a worker runs."""
    function, places, piece = work
    before = [len(place.setting.models) for place in places]
    answer = function(places, piece)
    return answer, [place.setting.models[count:] for place, count in zip(places, before, strict=True)]


def together(outcomes: Sequence[Outcome], tried: int = 1) -> Outcome:
    """The outcome over the people of all places."""
    return outcomes[0] if len(outcomes) == 1 else add_up(outcomes, len(outcomes), tried=tried)
