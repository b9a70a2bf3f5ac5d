"""Progress: how much of a long piece of work is done, passed to a function or shown as a bar."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = [
    "Progress",
    "Tell",
    "counter",
    "halves",
    "reporter",
]

Progress = Callable[[int, int], object]  # gets what is done in all, and what there is to do
Tell = Callable[[int], None]  # gets what was just done


def counter(progress: Progress | None, total: int) -> Tell:
    """A function that takes how much was just done, and passes on how much is done in all."""
    done = 0

    def tell(step: int) -> None:
        nonlocal done
        done += step
        if progress is not None and step:
            progress(done, total)

    return tell


@contextmanager
def reporter(progress: Progress | bool | None, total: int, words: str = "sampling") -> Iterator[Tell]:
    """Yields a function of the work just done; it informs a callable, a bar with these words, or nobody."""
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
