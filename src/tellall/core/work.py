"""Long work: how much of it is done, what is being done now, and on how many threads."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

__all__ = [
    "Pace",
    "Parts",
    "Progress",
    "Tell",
    "about",
    "counter",
    "doing",
    "halves",
    "listening",
    "one_thread",
    "part_of_work",
    "reporter",
    "share_done",
    "sharing",
]

Progress = Callable[[int, int], object]  # called with how much is done so far, and the total
Tell = Callable[[int], None]  # called with how much was just done
_Listener = Callable[[str], object]

_BEGUN = 0.75  # of a piece, when another that began with it is done

_listener: ContextVar[_Listener | None] = ContextVar("listener", default=None)
_sharer: ContextVar[Callable[[float], object] | None] = ContextVar("sharer", default=None)


def doing(words: str) -> None:
    """Says what is being done now, to whoever listens; cheap enough for every step of a solver."""
    if (listener := _listener.get()) is not None:
        listener(words)


@contextmanager
def listening(listener: _Listener) -> Iterator[None]:
    """Calls a function with what is being done, here and in the processes that work for this one."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


@contextmanager
def about(name: str) -> Iterator[None]:
    """Puts a name before what is being done.

    Examples
    --------
    >>> with listening(print), about("tables"):
    ...     doing("step 3")
    tables: step 3
    """
    outer = _listener.get()
    if outer is None:
        yield
        return
    with listening(lambda words: outer(f"{name}: {words}")):
        yield


def counter(progress: Progress | None, total: int) -> Tell:
    """A function that takes how much was just done, and passes on how much is done so far."""
    done = 0

    def tell(step: int) -> None:
        nonlocal done
        done += step
        if progress is not None and step:
            progress(done, total)

    return tell


class Pace:
    """How long the rest of some work takes, measured on what is done of it.

    Notes
    -----
    The clock starts with the last call before anything is done: what was kept from an earlier run, and what
    is prepared once, do not count. What has been worked on for long without an end is taken to last as long
    again.

    Examples
    --------
    >>> pace = Pace()
    >>> for share, seconds in ((0.2, 0.0), (0.2, 5.0), (0.4, 8.0)):  # a fifth was kept; preparing: 5 s
    ...     pace.note(share, seconds)
    >>> [round(pace.left(now), 6) for now in (8.0, 10.0, 20.0)]
    [9.0, 7.0, 12.0]
    """

    def __init__(self) -> None:
        self._before: float | None = None
        self._share = self._began = self._last = 0.0

    def note(self, share: float, now: float) -> None:
        """Notes which share of the work is done at this time in seconds."""
        if self._before is None or share <= self._before:
            self._before, self._began = share, now
        self._share, self._last = share, now

    def left(self, now: float) -> float | None:
        """The seconds that are left at this time; None as long as nothing was done, and at the end."""
        if self._before is None or not self._before < self._share < 1:
            return None
        rest = (1 - self._share) * (self._last - self._began) / (self._share - self._before)
        since = now - self._last
        return max(rest - since, since)


class Parts:
    """Says to whoever listens which share of some work is done, as parts of different size are finished.

    Parameters
    ----------
    sizes
        How much work each part is, compared with the others, in the order in which they are begun.
    at_once
        How many are worked on at the same time; those that another was begun with count as three quarters
        done when it is finished.

    Examples
    --------
    >>> with sharing(lambda share: print(f"{share:.2f}")):
    ...     parts = Parts({"large": 6, "small": 1, "middle": 3}, at_once=2)
    ...     parts.begin()
    ...     parts.finish("large")
    0.00
    0.68
    """

    def __init__(self, sizes: Mapping[Any, float], at_once: int = 1) -> None:
        self._left = dict(sizes)
        self._whole = sum(sizes.values()) or 1.0
        self._at_once = at_once

    def begin(self) -> None:
        """Says what was done before the work begins."""
        self._say(0.0)

    def finish(self, part: object, *, told: bool = True) -> None:
        """A part is finished; one that was kept need not be told."""
        self._left.pop(part, None)
        if told:
            others = list(self._left.values())[: self._at_once - 1]
            self._say(_BEGUN * sum(others))

    def leave_out(self, parts: Iterable[object]) -> None:
        """Parts that will not be made after all."""
        for part in parts:
            self._whole -= self._left.pop(part, 0.0)

    def add(self, sizes: Mapping[Any, float]) -> None:
        """Parts that will be made, too."""
        self._left |= sizes
        self._whole += sum(sizes.values())

    def _say(self, begun: float) -> None:
        share_done(max(0.0, 1 - (sum(self._left.values()) - begun) / max(self._whole, 1e-300)))


def share_done(share: float) -> None:
    """Says to whoever listens which share of the work is done."""
    if (listener := _sharer.get()) is not None:
        listener(share)


@contextmanager
def sharing(listener: Callable[[float], object]) -> Iterator[None]:
    """Calls a function with the share of the work that is done."""
    token = _sharer.set(listener)
    try:
        yield
    finally:
        _sharer.reset(token)


@contextmanager
def part_of_work(number: int, of: int, size: int = 1) -> Iterator[None]:
    """Makes the share that is done within the share of some of several equal parts of some work."""
    outer = _sharer.get()
    if outer is None or of == size:
        yield
        return
    with sharing(lambda share: outer((number + size * share) / of)):
        yield


@contextmanager
def reporter(progress: Progress | bool | None, total: int, words: str = "sampling") -> Iterator[Tell]:
    """Yields a function to call with the work just done; it informs a callable, a progress bar, or nobody."""
    if progress is True:
        from rich.console import Console
        from rich.progress import Progress as Bar

        with Bar(console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task(words, total=total)
            yield lambda step: bar.update(task, advance=step)
    else:
        yield counter(progress or None, total)


def halves(progress: Progress | None) -> tuple[Progress | None, Progress | None]:
    """The progress of two passes over the same pieces, as one piece of work."""
    if progress is None:
        return None, None
    return (
        lambda done, total: progress(done, 2 * total),
        lambda done, total: progress(total + done, 2 * total),
    )


def one_thread() -> AbstractContextManager[Any]:
    """Keeps linear algebra to one thread from now on, or inside a with, so that sums are the same everywhere.

    Libraries that are loaded later are not limited. NumPy and SciPy each have their own: both are loaded
    here.

    Examples
    --------
    >>> from threadpoolctl import threadpool_info
    >>> with one_thread():
    ...     {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}
    {1}
    """
    import scipy.linalg  # noqa: F401

    limited: AbstractContextManager[Any] = _libraries(len(sys.modules)).limit(limits=1)
    return limited


@lru_cache(maxsize=1)
def _libraries(modules: int) -> ThreadpoolController:
    """The libraries that have threads; searched again when more modules are loaded."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
