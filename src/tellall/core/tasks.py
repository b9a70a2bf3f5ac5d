"""Tasks: pieces of work, and what became of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tellall.core.errors import TellallError

__all__ = ["Done", "Failed", "Task", "guarded"]


@dataclass(frozen=True, eq=False)
class Task:
    """One piece of work.

    Attributes
    ----------
    name
        Its name in error messages.
    make
        Makes the function's argument, just before the call.
    key
        The checkpoint's key for the answer; None: the answer is not kept.
    size
        How long it takes, compared with the others. The largest pieces start first, so that none is left
        alone at the end.
    """

    name: str
    make: Callable[[], Any]
    key: str | None = None
    size: float = 1


@dataclass(frozen=True, eq=False)
class Done:
    """What the function returned for the task with this index, and whether a checkpoint had it before."""

    index: int
    piece: Any
    before: bool = False


@dataclass(frozen=True)
class Failed:
    """Why the task with this index has no answer."""

    index: int
    reason: str


def guarded(function: Callable[[Any], Any], index: int, payload: object) -> Done | Failed:
    """The function's answer, or a sentence that says why there is none."""
    try:
        return Done(index, function(payload))
    except TellallError as error:
        return Failed(index, str(error))
    except MemoryError:
        return Failed(index, "too little memory on this machine")
