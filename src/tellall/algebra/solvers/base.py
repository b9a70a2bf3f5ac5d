"""What every solver gives: a solution, and a status that says how far to trust it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.core.errors import invalid

__all__ = [
    "SETTLED",
    "Array",
    "Solution",
    "Status",
    "check_vector",
]

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


def check_vector(name: str, values: npt.ArrayLike, size: int) -> Array:
    """The values as an array of floats, where they are that many finite numbers; otherwise an error."""
    vector = np.asarray(values)
    if vector.shape != (size,) or vector.dtype.kind not in "fiub" or not np.isfinite(vector).all():
        raise invalid(name, f"{size} finite numbers", f"shape {vector.shape}")
    return vector if vector.dtype.kind == "f" else vector.astype(np.float64)
