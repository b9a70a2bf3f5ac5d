"""run: one function over many pieces, wherever the workers are; the same answers whoever computed them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from typing import Any

from tellall.errors import TellallError, WorkLost, invalid
from tellall.work.kept import Kept

__all__ = ["Done", "Failed", "Progress", "Task", "Workers", "run"]

Progress = Callable[[int, int], object]
_SCHEMES = ("tcp://", "tls://")


@dataclass(frozen=True)
class Workers:
    """Where work is done.

    Attributes
    ----------
    processes
        How many processes of this machine, −1 for one per core.
    cluster
        The address of a Dask scheduler, ``tcp://host:port``; None for this machine. What is to be worked on,
        people included, goes to that cluster.
    """

    processes: int = 1
    cluster: str | None = None

    def __post_init__(self) -> None:
        if isinstance(self.processes, bool) or not isinstance(self.processes, int) or self.processes == 0:
            raise invalid("processes", "a whole number, −1 for one per core", self.processes)
        if self.cluster is not None and not (
            isinstance(self.cluster, str) and self.cluster.startswith(_SCHEMES)
        ):
            raise invalid("cluster", "the address of a Dask scheduler, tcp://host:port", self.cluster)


@dataclass(frozen=True, eq=False)
class Task:
    """One piece: what errors call it, what it is filed under, and how to make what the function gets.

    ``key`` None: it is never kept. ``size`` orders the work: the largest pieces start first, so that none is
    left alone at the end.
    """

    name: str
    make: Callable[[], Any]
    key: str | None = None
    size: int = 0


@dataclass(frozen=True, eq=False)
class Done:
    """What the function returned for the task at this place, and whether it was kept from before."""

    place: int
    piece: Any
    before: bool = False


@dataclass(frozen=True)
class Failed:
    """Why there is nothing for the task at this place."""

    place: int
    reason: str


def run(
    function: Callable[[Any], Any],
    tasks: Sequence[Task],
    *,
    workers: Workers | None = None,
    kept: Kept | None = None,
    parse: Callable[[Any], Any] | None = None,
    progress: Progress | None = None,
) -> Iterator[Done | Failed]:
    """What a function returns for each task, as it comes; first whatever was kept.

    Parameters
    ----------
    function
        Importable by its name, so that other processes find it. Plain data must come back where it is kept.
    tasks
        The pieces.
    kept
        Where finished pieces lie. They are written by this process alone, whoever computed them.
    parse
        What makes of the plain data that is kept what is yielded; a kept piece that it cannot read is done
        again.
    progress
        Called with (pieces done, pieces in all) after each.

    Notes
    -----
    A :class:`TellallError` or too little memory in a piece is a :class:`Failed`; the others go on. Each piece
    runs with one thread, so that sums are the same wherever it runs. If a process of this machine is killed,
    the work stops with :class:`tellall.errors.WorkLost`; a lost worker of a cluster costs nothing but its
    time: the scheduler gives its piece to another.

    Examples
    --------
    >>> found = run(len, [Task("a", lambda: "word"), Task("b", lambda: "longer")])
    >>> sorted((one.place, one.piece) for one in found)
    [(0, 4), (1, 6)]
    """
    chosen = workers or Workers()
    total, done = len(tasks), 0
    waiting = []
    for place, task in enumerate(tasks):
        piece = _kept_before(kept, task, parse)
        if piece is None:
            waiting.append((place, task))
            continue
        done += 1
        yield Done(place, piece, before=True)
    if progress:
        progress(done, total)
    waiting.sort(key=lambda pair: -pair[1].size)
    for outcome in _work(function, waiting, chosen):
        key = tasks[outcome.place].key
        if kept is not None and key is not None and isinstance(outcome, Done):
            kept.keep(key, outcome.piece)
        done += 1
        if progress:
            progress(done, total)
        yield replace(outcome, piece=parse(outcome.piece)) if parse and isinstance(outcome, Done) else outcome


def _kept_before(kept: Kept | None, task: Task, parse: Callable[[Any], Any] | None) -> Any:
    if kept is None or task.key is None or (piece := kept.load(task.key)) is None:
        return None
    try:
        return parse(piece) if parse else piece
    except (LookupError, TypeError, ValueError, AttributeError):
        return None  # not what we wrote


def guarded(function: Callable[[Any], Any], place: int, payload: Any) -> Done | Failed:
    """The function's answer, or the sentence that stands for it."""
    try:
        return Done(place, function(payload))
    except TellallError as error:
        return Failed(place, str(error))
    except MemoryError:
        return Failed(place, "too little memory on this machine")


def _work(
    function: Callable[[Any], Any], waiting: Sequence[tuple[int, Task]], workers: Workers
) -> Iterator[Done | Failed]:
    if workers.cluster is not None:
        from tellall.work.cluster import on_cluster

        return on_cluster(function, waiting, workers.cluster)
    if workers.processes == 1 or len(waiting) < 2:
        return _in_turn(function, waiting)
    return _in_processes(function, waiting, workers.processes)


def _in_turn(function: Callable[[Any], Any], waiting: Sequence[tuple[int, Task]]) -> Iterator[Done | Failed]:
    for place, task in waiting:
        yield _with_one_thread(function, place, task.make())


def _in_processes(
    function: Callable[[Any], Any], waiting: Sequence[tuple[int, Task]], processes: int
) -> Iterator[Done | Failed]:
    from joblib import Parallel, delayed, effective_n_jobs

    count = min(effective_n_jobs(processes), len(waiting))
    pool = Parallel(n_jobs=count, return_as="generator_unordered", batch_size=1, pre_dispatch="2*n_jobs")
    finished = 0
    try:
        for outcome in pool(
            delayed(_with_one_thread)(function, place, task.make()) for place, task in waiting
        ):
            finished += 1
            yield outcome
    except BrokenProcessPool:
        raise WorkLost(
            f"A worker process was killed, perhaps for memory; {finished} of {len(waiting)} pieces were "
            "finished before. Run the same again, it goes on from what was kept; fewer processes at once "
            "need less memory."
        ) from None


def _with_one_thread(function: Callable[[Any], Any], place: int, payload: Any) -> Done | Failed:
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1):
        return guarded(function, place, payload)
