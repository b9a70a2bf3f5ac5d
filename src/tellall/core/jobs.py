"""run: one function over many pieces, in processes or on a cluster; the answers do not depend on where."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any

from tellall.core.checkpoint import Checkpoint
from tellall.core.checks import is_whole
from tellall.core.cluster import on_cluster
from tellall.core.errors import InvalidInput, WorkLost, invalid
from tellall.core.processes import call_each
from tellall.core.tasks import Done, Failed, Task, guarded
from tellall.core.work import Parts, Progress, one_thread

__all__ = [
    "Workers",
    "run",
]

_SCHEMES = ("tcp://", "tls://")
_ON_CLUSTER = 8  # pieces sent to a cluster at once, if some may turn out not to be needed


@dataclass(frozen=True)
class Workers:
    """Where work is done.

    Attributes
    ----------
    processes
        How many processes of this machine, −1 for one per core.
    cluster
        The address of a Dask scheduler, ``tcp://host:port``; None for this machine. The data, people
        included, are sent to that cluster.
    """

    processes: int = 1
    cluster: str | None = None

    def __post_init__(self) -> None:
        if not is_whole(self.processes) or self.processes == 0:
            raise invalid("processes", "a whole number, −1 for one per core", self.processes)
        if self.cluster is None:
            return
        if not (isinstance(self.cluster, str) and self.cluster.startswith(_SCHEMES)):
            raise invalid("cluster", "the address of a Dask scheduler, tcp://host:port", self.cluster)
        if find_spec("distributed") is None:
            raise InvalidInput(
                "Work on a cluster needs Dask. Install it with: pip install 'tellall[cluster]'"
            )

    @property
    def count(self) -> int:
        """How many pieces are done at once, as far as known."""
        if self.cluster is not None:
            return _ON_CLUSTER
        if self.processes == 1:
            return 1
        from joblib import effective_n_jobs

        return int(effective_n_jobs(self.processes))


_Waiting = Sequence[tuple[int, Task]]


def run(
    function: Callable[[Any], Any],
    tasks: Sequence[Task],
    *,
    workers: Workers | None = None,
    checkpoint: Checkpoint | None = None,
    parse: Callable[[Any], Any] | None = None,
    progress: Progress | None = None,
) -> Iterator[Done | Failed]:
    """Yields a function's answers for the tasks as they arrive; those in the checkpoint come first.

    Parameters
    ----------
    function
        Importable by its name, so that other processes find it. It returns plain data if they are kept.
    checkpoint
        Where finished pieces are kept. Only this process writes them, wherever they were computed.
    parse
        Applied to the plain data before they are yielded; a kept piece that it cannot read is done again.
    progress
        Called with (pieces done, pieces in all) after each. Whoever listens also hears which share of the
        work that is, by the sizes of the tasks.

    Notes
    -----
    Arguments go to other processes through pipes, never through files. A :class:`TellallError` or a lack of
    memory in one piece becomes a :class:`Failed`; the others continue. Each piece runs with one thread, so
    that sums are the same on every machine. If a process of this machine is killed, the work stops with
    `WorkLost`; a lost worker of a cluster only costs time, since the scheduler gives its piece to another,
    unless that piece kills every worker that takes it.

    Examples
    --------
    >>> found = run(len, [Task("a", lambda: "word"), Task("b", lambda: "longer")])
    >>> sorted((one.index, one.piece) for one in found)
    [(0, 4), (1, 6)]
    """
    total, done = len(tasks), 0
    waiting = []
    for index, task in enumerate(tasks):
        piece = _from_before(checkpoint, task, parse)
        if piece is None:
            waiting.append((index, task))
            continue
        done += 1
        yield Done(index, piece, before=True)
    if progress:
        progress(done, total)
    waiting.sort(key=lambda pair: -pair[1].size)
    where = workers or Workers()
    parts = Parts({index: task.size for index, task in waiting}, where.count)
    if progress and waiting:  # making the first may prepare what all share
        waiting[0] = waiting[0][0], _first(waiting[0][1], parts)
    for outcome in _work(function, waiting, where):
        key = tasks[outcome.index].key
        if checkpoint is not None and key is not None and isinstance(outcome, Done):
            checkpoint.keep(key, outcome.piece)
        done += 1
        if progress:
            parts.finish(outcome.index)
            progress(done, total)
        yield replace(outcome, piece=parse(outcome.piece)) if parse and isinstance(outcome, Done) else outcome


def _first(task: Task, parts: Parts) -> Task:
    """The same task; once its argument is made, the work begins."""

    def make() -> Any:
        made = task.make()
        parts.begin()
        return made

    return replace(task, make=make)


def _from_before(checkpoint: Checkpoint | None, task: Task, parse: Callable[[Any], Any] | None) -> Any:
    if checkpoint is None or task.key is None or (piece := checkpoint.load(task.key)) is None:
        return None
    try:
        return parse(piece) if parse else piece
    except (LookupError, TypeError, ValueError, AttributeError):
        return None  # not what we wrote


def _work(function: Callable[[Any], Any], waiting: _Waiting, workers: Workers) -> Iterator[Done | Failed]:
    if workers.cluster is not None:
        return on_cluster(function, waiting, workers.cluster)
    if workers.processes == 1 or len(waiting) < 2:
        return (_with_one_thread(function, index, task.make()) for index, task in waiting)
    return _in_processes(function, waiting, workers.processes)


def _in_processes(
    function: Callable[[Any], Any], waiting: _Waiting, processes: int
) -> Iterator[Done | Failed]:
    count = min(Workers(processes).count, len(waiting))
    calls = ((function, index, task.make()) for index, task in waiting)
    finished = 0
    try:
        for done, outcome in call_each(guarded, calls, count):
            if not done:
                raise outcome
            finished += 1
            yield outcome
    except EOFError:
        raise WorkLost(
            f"A worker process was killed, perhaps for lack of memory; {finished} of {len(waiting)} pieces "
            "were finished before. Run it again: it continues from what was kept. Fewer processes at once "
            "need less memory."
        ) from None


def _with_one_thread(function: Callable[[Any], Any], index: int, payload: object) -> Done | Failed:
    with one_thread():
        return guarded(function, index, payload)
