"""Long work: how much of it is done, what is being done now, and on how many threads."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

__all__ = [
    "Pace",
    "Progress",
    "Tell",
    "about",
    "counter",
    "doing",
    "halves",
    "listening",
    "one_thread",
    "reporter",
]

Progress = Callable[[int, int], object]  # called with how much is done so far, and the total
Tell = Callable[[int], None]  # called with how much was just done
_Listener = Callable[[str], object]

_BEGUN = 0.75  # of a piece, when another that began with it is done

_listener: ContextVar[_Listener | None] = ContextVar("listener", default=None)


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

    Parameters
    ----------
    at_once
        How many pieces are worked on at the same time.

    Notes
    -----
    The clock starts with the last call before anything is done: what was kept from an earlier run, and what
    is prepared once, do not count. Pieces that are being worked on count as three quarters done.

    Examples
    --------
    >>> pace = Pace()
    >>> for done, seconds in ((2, 0.0), (2, 5.0), (3, 8.0)):  # two were kept, preparing took 5 seconds
    ...     pace.note(done, 6, seconds)
    >>> pace.left(8.0), pace.left(10.0)
    (9.0, 7.0)
    """

    def __init__(self, at_once: int = 1) -> None:
        self._at_once = max(at_once, 1)
        self._before: int | None = None
        self._done = self._total = 0
        self._began = self._last = 0.0

    def note(self, done: int, total: int, now: float) -> None:
        """Notes how much is done at this time in seconds."""
        if self._before is None or done <= self._before:
            self._before, self._began = done, now
        self._done, self._total, self._last = done, total, now

    def left(self, now: float) -> float | None:
        """The seconds that are left at this time; None as long as nothing was done."""
        if self._before is None or not self._before < self._done < self._total:
            return None
        begun = _BEGUN * min(self._at_once - 1, self._total - self._done)
        finished = self._done - self._before + begun
        rest = (self._total - self._before - finished) * (self._last - self._began) / finished
        return max(rest - (now - self._last), 0.0)


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
