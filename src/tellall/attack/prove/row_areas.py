"""Rows of many areas: each area's tables are read on their own, on all cores, and saved when finished."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tellall.attack.prove.proof import EFFORT
from tellall.attack.prove.rows import DRAWS, PossibleRows, PublishedCell, rows_from_tables
from tellall.core.checkpoint import Checkpoint, checkpoint_key
from tellall.core.checks import is_whole
from tellall.core.errors import invalid
from tellall.core.jobs import Workers, run
from tellall.core.records import Record, read
from tellall.core.tasks import Failed, Task
from tellall.core.work import Progress
from tellall.evidence.count_tables import CountTable, tables_in
from tellall.linalg.solvers.solution import Status
from tellall.people.bands import Bands
from tellall.release.release import Release

__all__ = ["AreaRows", "rows_by_area"]

Tables = Release | CountTable | Sequence[Release | CountTable]


@dataclass(frozen=True)
class AreaRows(Record):
    """What the tables of one area say about its rows; a row is given by its index in the joint domain.

    Attributes
    ----------
    status
        How the search ended; settled if every bound is reached. Or why there is no answer.
    people
        How many people are in the solution that was found; None if none was.
    possible, open
        How many rows can occur, and for how many the bounds may not be reached.
    certain
        (row, least count) of the rows in every solution.
    unique
        Whether there is only one solution.
    solutions
        How many solutions there are, in words, if that was asked for.
    likely
        (row, share, baseline) of the first rows in the ranking.
    contradiction
        Published cells that cannot all be right.
    missing
        The columns that people may have no value of.
    """

    name: str
    status: Status
    people: int | None = None
    possible: int = 0
    open: int = 0
    certain: tuple[tuple[int, int], ...] = ()
    unique: bool = False
    solutions: str = ""
    likely: tuple[tuple[int, float, float], ...] = ()
    contradiction: tuple[PublishedCell, ...] = ()
    steps: int = 0
    missing: tuple[str, ...] = ()

    @property
    def settled(self) -> bool:
        """Whether every bound is reached."""
        return self.status.settled

    @property
    def certain_people(self) -> int:
        """How many people at least have the certain rows."""
        return sum(least for _, least in self.certain)


@dataclass(frozen=True)
class _Asked:
    """What is asked of every area."""

    people: int | str | None
    effort: int
    draws: int
    first: int
    count: bool
    seed: int
    bands: tuple[Bands, ...]
    may_be_missing: tuple[str, ...] | None


def rows_by_area(
    areas: Mapping[str, Tables],
    *,
    people: int | str | None = "published",
    proof_effort: int = EFFORT,
    draws: int = DRAWS,
    first: int = 0,
    count: bool = False,
    rng: int = 0,
    bands: Bands | Sequence[Bands] = (),
    may_be_missing: Sequence[str] | None = None,
    workers: int | Workers = 1,
    work: str | Path | None = None,
    progress: Progress | None = None,
) -> tuple[AreaRows, ...]:
    """Returns what `rows_from_tables` finds in each area, in the order of the areas.

    Parameters
    ----------
    areas
        The tables of each area, by its name.
    people, proof_effort, draws, rng, bands, may_be_missing
        As there; the seed must be a whole number, and all areas use it.
    first
        How many of the likeliest rows are listed; with 0, no random solutions are drawn.
    count
        Whether solutions are counted, which may take longer than all the rest.
    workers
        How many processes, −1 for one per core, or a `Workers` with the address of a cluster.
    work
        A folder where finished areas are kept, so that the same call resumes where it was stopped.
    progress
        Called with (areas done, areas in all).

    Examples
    --------
    >>> def block(counts):
    ...     return CountTable({"age": ["0-19", "20+"], "sex": ["f", "m"]}, counts)
    >>> found = rows_by_area({"a": block([1, 0, 2, 1]), "b": [block([1, 0, 0, 0]), block([0, 0, 0, 1])]})
    >>> [(area.name, area.certain_people, area.status.word) for area in found]
    [('a', 4, 'solved'), ('b', 0, 'contradictory')]
    """
    if not is_whole(rng) or rng < 0:
        raise invalid("rng", "a seed of zero or more", rng)
    if isinstance(may_be_missing, str):
        raise invalid("may_be_missing", "a list of columns", may_be_missing)
    told = (bands,) if isinstance(bands, Bands) else tuple(bands)
    gaps = None if may_be_missing is None else tuple(may_be_missing)
    asked = _Asked(people, proof_effort, draws, first, count, int(rng), told, gaps)
    names = list(areas)
    tasks = [_task(name, areas[name], asked) for name in names]
    found = [AreaRows(name, Status("not searched")) for name in names]
    kept = nullcontext() if work is None else Checkpoint.in_folder(work)
    with kept as checkpoint:
        where = workers if isinstance(workers, Workers) else Workers(workers)
        for done in run(_work, tasks, workers=where, checkpoint=checkpoint, parse=_parsed, progress=progress):
            name = names[done.index]
            found[done.index] = (
                AreaRows(name, Status(done.reason)) if isinstance(done, Failed) else done.piece
            )
    return tuple(found)


def _task(name: str, given: Tables, asked: _Asked) -> Task:
    listed = [given] if isinstance(given, Release | CountTable) else list(given)
    tables = [one for each in listed for one in (tables_in(each) if isinstance(each, Release) else [each])]
    key = checkpoint_key("rows", name, repr(asked), [_plain(table) for table in tables])
    cells = sum(table.counts.size for table in tables)
    return Task(name, partial(_payload, name, tables, asked), key, cells)


def _payload(name: str, tables: list[CountTable], asked: _Asked) -> tuple[str, list[CountTable], _Asked]:
    return name, tables, asked


def _plain(table: CountTable) -> list[Any]:
    """Returns everything that a table holds, for its key."""
    counts = [None if np.isnan(count) else float(count) for count in table.counts]
    return [counts, *(repr(getattr(table, part.name)) for part in fields(table) if part.name != "counts")]


def _work(payload: tuple[str, list[CountTable], _Asked]) -> dict[str, Any]:
    name, tables, asked = payload
    found = rows_from_tables(
        tables,
        people=asked.people,
        proof_effort=asked.effort,
        draws=asked.draws,
        rng=asked.seed,
        bands=asked.bands,
        may_be_missing=asked.may_be_missing,
        interruptible=False,
    )
    return _summary(name, found, asked).as_json()


def _parsed(piece: dict[str, Any]) -> AreaRows:
    return read(AreaRows, piece, what="area")


def _summary(name: str, found: PossibleRows, asked: _Asked) -> AreaRows:
    at = np.flatnonzero(found.lower > 0)
    empty = found.found.empty
    shape = found.joint.shape
    likely = [
        (int(np.ravel_multi_index(each.row, shape)), each.share, each.baseline)
        for each in (found.likely[: asked.first] if asked.first else ())
    ]
    return AreaRows(
        name=name,
        status=found.status,
        people=None if found.solution is None else int(found.solution.sum()),
        possible=0 if empty else int((found.upper > 0).sum()),
        open=int(found.open.sum()),
        certain=tuple((int(row), int(found.lower[row])) for row in at),
        unique=found.unique,
        solutions=str(found.solutions or "") if asked.count else "",
        likely=tuple(likely),
        contradiction=found.contradiction,
        steps=found.found.steps,
        missing=found.missing,
    )
