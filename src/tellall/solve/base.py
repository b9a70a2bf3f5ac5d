"""What every solver takes and gives: a problem, and a solution that says how far to trust it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["SETTLED", "Array", "Solution", "Status"]

SETTLED = ("solved", "trusted")  # the words that come without advice

Array = npt.NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Status:
    """How a solve ended, in one word, with advice where it did not end well.

    ``word`` is "solved", "trusted" (solved, and the confidences passed their checks), "not converged",
    "contradictory" or "uncalibrated" (guesses stand, confidences may be off).
    """

    word: str
    advice: str = ""

    @property
    def settled(self) -> bool:
        """Whether there is nothing to advise."""
        return self.word in SETTLED

    def __str__(self) -> str:
        return f"{self.word}: {self.advice}" if self.advice else self.word


@dataclass(frozen=True, eq=False)
class Solution:
    """A minimiser with its status and what the solver counted on the way."""

    value: Array
    status: Status
    stats: dict[str, float] = field(default_factory=dict)
