"""The bar that long work shows, and what it says when it is stopped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import typer

__all__ = [
    "going_on",
    "progress_bar",
]

_STOPPED = 3


@contextmanager
def going_on(*, kept: bool) -> Iterator[None]:
    """Work that says how to go on where it is stopped."""
    try:
        yield
    except KeyboardInterrupt:
        more = "the same command goes on from here" if kept else "nothing was kept"
        typer.echo(f"tellall: stopped; {more}.", err=True)
        raise typer.Exit(_STOPPED) from None


@contextmanager
def progress_bar(talk: Any, words: str, *, quiet: bool) -> Iterator[Callable[[int, int], None] | None]:
    """What the work calls with (done, total): a bar with the time left, None where there is no terminal."""
    if quiet or not talk.is_terminal:
        yield None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn(words), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=talk, transient=True) as bar:
        task = bar.add_task(words, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
