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
