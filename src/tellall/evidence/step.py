"""Steps: what is done on the way from a release to equations, one thing after the other."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Generic, TypeVar

__all__ = ["Step", "carry_out"]

State = TypeVar("State")


class Step(ABC, Generic[State]):
    """One thing that is done on the way from a release to equations."""

    def accepts(self, draft: State) -> bool:
        """Whether there is anything for it to do."""
        return True

    @abstractmethod
    def apply(self, draft: State) -> State:
        """What is left to do after it."""


def carry_out(steps: Sequence[Step[State]], draft: State) -> State:
    """The draft after every step that accepts it."""
    for step in steps:
        if step.accepts(draft):
            draft = step.apply(draft)
    return draft
