"""A study of each block: on workers, with what is finished kept, and why a block has none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tellall.core.checkpoint import Checkpoint
from tellall.core.errors import invalid
from tellall.core.jobs import Failed, Progress, Task, Workers, run
from tellall.experiment.studied_areas import Lack, few_people, study_key
from tellall.people.areas import Area, fingerprint, split
from tellall.people.dataset import Dataset
from tellall.release.statistics.base import Statistic

__all__ = [
    "Study",
    "blocks_of",
    "each_block",
]


@dataclass(frozen=True, eq=False)
class Study:
    """What a block's study is of, apart from its people; sent to workers."""

    statistic: Statistic
    seed: int
    options: dict[str, Any]


def blocks_of(dataset: Dataset, by: str) -> list[Area]:
    """The blocks of people whose secret can be studied block by block."""
    if not isinstance(dataset, Dataset):
        raise invalid("dataset", "a Dataset", type(dataset).__name__, "Make one with ta.read.")
    if dataset.secret is None or not dataset.levels:
        raise invalid("dataset", "one with a secret of bits or categories", "none, or real numbers")
    return split(dataset, by)


def each_block(
    function: Any,
    what: str,
    blocks: Sequence[Area],
    statistic: Statistic,
    seed: int,
    options: dict[str, Any],
    workers: Workers,
    work: str | Path | None,
    progress: Progress | None,
    *,
    parse: Callable[[dict[str, Any]], dict[str, Any]],
    lacks: Callable[[Area], Lack | None] = few_people,
) -> list[tuple[Area, dict[str, Any] | Lack]]:
    """Each block with what the function made of it, or why it did not."""
    found: dict[int, dict[str, Any] | Lack] = {
        place: lack for place, block in enumerate(blocks) if (lack := lacks(block)) is not None
    }
    places = [place for place in range(len(blocks)) if place not in found]
    studies = [Study(statistic, blocks[place].seed(seed), options) for place in places]
    kept = None if work is None else Checkpoint.in_folder(work)
    tasks = [
        Task(
            blocks[place].name,
            partial(_payload, blocks[place], study),
            None
            if kept is None
            else study_key(what, fingerprint(blocks[place].dataset), statistic, study.seed, options),
            blocks[place].n,
        )
        for place, study in zip(places, studies, strict=True)
    ]
    for outcome in run(function, tasks, workers=workers, checkpoint=kept, parse=parse, progress=progress):
        found[places[outcome.index]] = (
            Lack("other", outcome.reason) if isinstance(outcome, Failed) else outcome.piece
        )
    if kept is not None:
        kept.prune(task.key for task in tasks if task.key is not None)
    return [(block, found[place]) for place, block in enumerate(blocks)]


def _payload(block: Area, study: Study) -> tuple[Dataset, Study]:
    return block.dataset, study
