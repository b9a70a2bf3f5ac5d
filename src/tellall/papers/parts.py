"""One way of running a paper: its parts in turn, each with a stream of its own, and a bar for all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from threading import Lock

import numpy as np

from tellall.attack.blackbox.estimate import Progress, reporter
from tellall.release.protections.law import Rng, as_rng
from tellall.report.paper import Statement
from tellall.report.plot import Figure

__all__ = [
    "Found",
    "Part",
    "Tell",
    "run_parts",
]

Tell = Callable[[int], None]
Found = tuple[Iterable[Figure], Iterable[Statement]]


@dataclass(frozen=True)
class Part:
    """A part of a rerun.

    Attributes
    ----------
    run
        Gives figures and statements from a stream of random numbers; may tell how much it has done.
    work
        How much there is to tell of, in units of about a second.
    """

    run: Callable[[np.random.Generator, Tell], Found]
    work: int = 1


def run_parts(
    parts: Sequence[Part], rng: Rng, progress: Progress | bool | None
) -> tuple[tuple[Figure, ...], tuple[Statement, ...]]:
    """The figures and the statements of all parts.

    Notes
    -----
    Each part has its own stream, so that a change in one leaves the others' numbers alone, and one thread
    for its matrix products: threads that wait for each other cost more than they save. Work that a part
    did not tell of is told of at its end.
    """
    from threadpoolctl import threadpool_limits

    figures: list[Figure] = []
    statements: list[Statement] = []
    streams, work = as_rng(rng).spawn(len(parts)), sum(part.work for part in parts)
    with threadpool_limits(limits=1), reporter(progress, work, "rerunning") as report:
        for part, stream in zip(parts, streams, strict=True):
            tell = _Tally(part.work, report)
            drawn, said = part.run(stream, tell)
            figures.extend(drawn)
            statements.extend(said)
            tell(part.work)
    return tuple(figures), tuple(statements)


class _Tally:
    """Passes on what a part tells of, from any thread, up to what it said there was."""

    def __init__(self, work: int, report: Tell) -> None:
        self._left, self._report, self._lock = work, report, Lock()

    def __call__(self, done: int) -> None:
        with self._lock:
            step = min(done, self._left)
            self._left -= step
            if step:
                self._report(step)
