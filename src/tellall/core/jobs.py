"""run: one function over many pieces, wherever the workers are; the same answers whoever computed them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tellall.core import files
from tellall.core.checks import is_whole
from tellall.core.errors import InvalidInput, TellallError, WorkLost, invalid
from tellall.core.version import __version__

__all__ = [
    "Checkpoint",
    "Done",
    "Failed",
    "Progress",
    "Task",
    "Workers",
    "filed_under",
    "run",
]

# Checkpoint: the folder where finished pieces wait for the rest, so that work that was stopped goes on.

_DIGITS = frozenset("0123456789abcdef")


@dataclass(frozen=True)
class Checkpoint:
    """Finished pieces, a JSON file each, under the hash of everything that decides what is in it.

    Notes
    -----
    A piece whose plan, people, seed or version changed has another hash, so it is done again and no other
    is. Files are named by hashes alone: what a block is called never becomes a path. A file is whole or not
    there, and one that is not what was written is done again.

    Examples
    --------
    >>> import tempfile
    >>> kept = Checkpoint.in_folder(tempfile.mkdtemp())
    >>> kept.keep("ab" * 12, {"right": 3})
    >>> kept.load("ab" * 12), kept.load("cd" * 12)
    ({'right': 3}, None)
    """

    folder: Path

    @classmethod
    def in_folder(cls, folder: str | Path) -> Checkpoint:
        """The pieces in this folder, which is made if need be."""
        place = Path(folder)
        if place.is_symlink() or (place.exists() and not place.is_dir()):
            raise invalid("work", "a folder of its own, not a link or a file", str(folder))
        place.mkdir(parents=True, exist_ok=True)
        return cls(place)

    def load(self, key: str) -> dict[str, Any] | None:
        """The piece with this hash, or None."""
        path = self._path(key)
        if path.is_symlink() or not path.is_file():
            return None
        try:
            found = files.read_json(path, what="kept piece")
        except InvalidInput:
            return None
        piece = found.get("piece")
        return piece if found.get("key") == key and isinstance(piece, dict) else None

    def keep(self, key: str, piece: dict[str, Any]) -> None:
        """The piece goes into its file."""
        path = self._path(key)
        path.parent.mkdir(exist_ok=True)
        files.write_json(path, {"key": key, "piece": piece})

    def prune(self, keys: Iterable[str]) -> None:
        """Nothing but the pieces with these hashes is left."""
        wanted = {self._path(key) for key in keys}
        for shelf in self.folder.iterdir():
            if shelf.is_symlink() or not shelf.is_dir() or not _is_hash(shelf.name, 2):
                continue
            for path in shelf.glob("*.json"):
                if path not in wanted:
                    path.unlink(missing_ok=True)
            if not any(shelf.iterdir()):
                shelf.rmdir()

    def _path(self, key: str) -> Path:
        if not _is_hash(key, 16):
            raise invalid("key", "a hash in hexadecimal digits", key)
        return self.folder / key[:2] / f"{key[2:]}.json"


def filed_under(*parts: Any) -> str:
    """The hash of plain data that decides what is in a piece, and of this version.

    Examples
    --------
    >>> filed_under("audit", {"seed": 1}) == filed_under("audit", {"seed": 1}) != filed_under("audit", {})
    True
    """
    text = json.dumps([__version__, *parts], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _is_hash(text: str, shortest: int) -> bool:
    return len(text) >= shortest and set(text) <= _DIGITS


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
        if not is_whole(self.processes) or self.processes == 0:
            raise invalid("processes", "a whole number, −1 for one per core", self.processes)
        if self.cluster is not None and not (
            isinstance(self.cluster, str) and self.cluster.startswith(_SCHEMES)
        ):
            raise invalid("cluster", "the address of a Dask scheduler, tcp://host:port", self.cluster)
        if self.cluster is not None and find_spec("distributed") is None:
            raise InvalidInput(
                "Work on a cluster needs Dask. Install it with: pip install 'tellall[cluster]'"
            )


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
    kept: Checkpoint | None = None,
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
    the work stops with `WorkLost`; a lost worker of a cluster costs nothing but its
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


def _kept_before(kept: Checkpoint | None, task: Task, parse: Callable[[Any], Any] | None) -> Any:
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
        from tellall.core.cluster import on_cluster

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
    except BrokenExecutor:
        raise WorkLost(
            f"A worker process was killed, perhaps for memory; {finished} of {len(waiting)} pieces were "
            "finished before. Run the same again, it goes on from what was kept; fewer processes at once "
            "need less memory."
        ) from None


def _with_one_thread(function: Callable[[Any], Any], place: int, payload: Any) -> Done | Failed:
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1):
        return guarded(function, place, payload)
