"""Places: the people a plan is about, either everybody or the areas one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from tellall.audits.attacks import key_of
from tellall.audits.outcome import Outcome, add_up
from tellall.audits.plans.plan import Plan
from tellall.audits.trial import Planned, Setting, strongest
from tellall.core.checkpoint import Checkpoint, checkpoint_key
from tellall.core.errors import TellallError
from tellall.core.jobs import Workers, run
from tellall.core.tasks import Failed, Task
from tellall.people.areas import area_seed, split, too_small
from tellall.people.codes import IntArray
from tellall.people.dataset import Dataset

__all__ = [
    "Form",
    "Kept",
    "Place",
    "attack_apart",
    "kept_in",
    "places_of",
    "planned_identity",
    "together",
    "together_by_attack",
]


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
    accepted = plan.accepted_predictors
    if plan.by is None:
        setting = Setting(dataset, plan.device, None, plan.attacker, plan.seed, plan.cells, accepted)
        return [Place(None, np.arange(dataset.n), setting)]
    attacker = plan.attacker.in_areas(plan.by)
    return [
        Place(
            area.name,
            area.people,
            Setting(area.dataset, plan.device, None, attacker, seed, accepted=accepted),
        )
        for area, seed in ((area, area.seed(plan.seed)) for area in split(dataset, plan.by))
        if too_small(area) is None
    ]


@dataclass(frozen=True)
class Kept:
    """Where the answers about an audit are kept: a checkpoint, and the audit's own key."""

    checkpoint: Checkpoint
    audit: str


@contextmanager
def kept_in(work: str | Path | None, dataset: Dataset, plan: Plan) -> Iterator[Kept | None]:
    """What searches after the audit of this plan keep, in a folder of its work; None if nothing is kept."""
    key = None if work is None else key_of(plan, dataset)
    if work is None or key is None:
        yield None
        return
    with Checkpoint.in_folder(Path(work) / "remedy") as checkpoint:
        yield Kept(checkpoint, key)


@dataclass(frozen=True)
class Form:
    """How the answers to pieces of some work are kept.

    Attributes
    ----------
    work
        What the work is called.
    identity
        What decides the answer to a piece, as plain data; None if own classes do, and it is not kept.
    to_plain, parse
        The answer as plain data, and the answer again.
    """

    work: str
    identity: Callable[[Any], Any]
    to_plain: Callable[[Any], dict[str, Any]]
    parse: Callable[[dict[str, Any]], Any]

    def key(self, kept: Kept | None, piece: object) -> str | None:
        """The checkpoint's key for the answer to a piece; None if it is not kept."""
        if kept is None or (identity := self.identity(piece)) is None:
            return None
        return checkpoint_key(self.work, kept.audit, identity)

    def load(self, kept: Kept | None, key: str | None) -> Any:
        """The answer that was kept; None if there is none."""
        if kept is None or key is None or (plain := kept.checkpoint.load(key)) is None:
            return None
        try:
            return self.parse(plain)
        except (LookupError, TypeError, ValueError, AttributeError):
            return None  # not what we wrote

    def answer(self, kept: Kept | None, piece: object, make: Callable[[], Any]) -> Any:
        """The answer that was kept, or else the one that is made now, and kept."""
        key = self.key(kept, piece)
        found = self.load(kept, key)
        if found is None:
            found = make()
            if kept is not None and key is not None:
                kept.checkpoint.keep(key, self.to_plain(found))
        return found


def planned_identity(releases: Sequence[Planned]) -> list[object] | None:
    """What decides the values of some releases, as plain data; None if own classes do."""
    found: list[Any] = []
    for one in releases:
        identity = one.identity()
        before = None if one.given is None else one.given.identity()
        if identity is None or (one.given is not None and before is None):
            return None
        found.append([one.name, one.stream, identity, before])
    return found


def attack_apart(
    function: Callable[[Sequence[Place], Any], Any],
    places: Sequence[Place],
    pieces: Sequence[object],
    workers: Workers | None = None,
    kept: Kept | None = None,
    form: Form | None = None,
) -> Iterator[Any]:
    """What a function of places and a piece of work returns for each piece, in the order of the pieces.

    With several processes the pieces are done at once; the answers are the same. Baselines found on the way
    come back with the answers, and the settings of the places keep them. Answers that are ``kept`` are not
    made again, and every answer is kept, in its ``form``, as soon as it is there.
    """
    keys = [None if form is None else form.key(kept, piece) for piece in pieces]
    arrived: dict[int, Any] = {}
    for index, key in enumerate(keys):
        if form is not None and (answer := form.load(kept, key)) is not None:
            arrived[index] = answer
    left = [index for index in range(len(pieces)) if index not in arrived]
    if workers is not None and workers.count > 1 and len(left) > 1:
        for place in places:
            _ = place.setting.before  # made once, here, and sent to the workers
    tasks = [Task("", lambda index=index: (function, places, pieces[index])) for index in left]  # type: ignore[misc]
    wanted = 0
    while wanted in arrived:
        yield arrived.pop(wanted)
        wanted += 1
    for one in run(_answered, tasks, workers=workers):
        if isinstance(one, Failed):
            raise TellallError(one.reason)
        answer, models = one.piece
        for place, found in zip(places, models, strict=True):
            place.setting.learn(found)
        key = keys[left[one.index]]
        if kept is not None and form is not None and key is not None:
            kept.checkpoint.keep(key, form.to_plain(answer))
        arrived[left[one.index]] = answer
        while wanted in arrived:
            yield arrived.pop(wanted)
            wanted += 1


def _answered(work: tuple[Callable[[Sequence[Place], Any], Any], Sequence[Place], Any]) -> tuple[Any, Any]:
    """The answer of one piece, and the baselines that were found for each place; what a worker runs."""
    function, places, piece = work
    before = [len(place.setting.models) for place in places]
    answer = function(places, piece)
    return answer, [place.setting.models[count:] for place, count in zip(places, before, strict=True)]


def together_by_attack(found: Sequence[Sequence[Outcome]]) -> list[Outcome]:
    """The outcome of every attack over the people of all places.

    A place in which an attack was not tried, because no public column tells people apart there, has its
    strongest instead.
    """
    attacks = dict.fromkeys(one.asked for each in found for one in each)
    own = [{one.asked: one for one in each} for each in found]
    return [
        replace(
            together([each.get(asked) or strongest(list(each.values())) for each in own], len(attacks)),
            asked=asked,
        )
        for asked in attacks
    ]


def together(outcomes: Sequence[Outcome], tried: int = 1) -> Outcome:
    """The outcome over the people of all places."""
    return outcomes[0] if len(outcomes) == 1 else add_up(outcomes, len(outcomes), tried=tried)
