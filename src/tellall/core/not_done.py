"""Not done, because: what was left out at any stage, with the reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from tellall.core.records import IF_KNOWN, WRITTEN, Meaning, Record

__all__ = ["NotDone", "Stage"]

Stage = Literal["", "read", "check", "use", "attack", "measure", "calibrate"]


@dataclass(frozen=True)
class NotDone(Record):
    """Something that was not done, and why: silence never reads as safety.

    The reason is for people. What tellall decides on has a code.

    Examples
    --------
    >>> print(NotDone("chart.png", "a picture", "read"))
    chart.png: a picture
    """

    name: Annotated[str, Meaning("What it was about.", formerly=("id", "protection"))]
    reason: str
    stage: Annotated[Stage, Meaning("What was not done with it; empty in older documents.")] = ""
    code: Annotated[str | None, Meaning("What tellall decides on."), IF_KNOWN] = None

    @property
    def outcome(self) -> Annotated[Literal["skipped"], WRITTEN]:
        """What tells it from a finding in the same list."""
        return "skipped"

    def __str__(self) -> str:
        return f"{self.name}: {self.reason}" if self.name else self.reason
