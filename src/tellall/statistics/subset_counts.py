"""SubsetCounts: how many people in each given subset have the secret."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
import numpy.typing as npt

from tellall.core.errors import invalid
from tellall.linalg.operators.linear_operator import Array, Dense, IntArray, LinearOperator
from tellall.linalg.operators.sparse import Sparse
from tellall.people.codes import group_rows
from tellall.people.dataset import Dataset, Outline, Public
from tellall.statistics.conditions import (
    Subset,
    as_subset,
)
from tellall.statistics.statistic import Equations, Statistic, check_scale

__all__ = ["SubsetCounts"]

_MANY = 1_000_000  # memberships from which a matrix with few ones is kept sparse
_FEW_ONES = 0.1
_MOST_MEMBERSHIPS = 500_000_000


@dataclass(frozen=True)
class SubsetCounts(Statistic):
    """How many people in each given subset have the secret: the classical counting queries.

    Parameters
    ----------
    subsets
        One entry per count: a mask (a bit per person, in file order; or an array of subsets × people) or
        a condition on the public columns such as ``"age >= 40 and sex == 'f'"``.
    scale
        "counts", or "fractions" of all people.

    Notes
    -----
    value_j = Σ_{i in subset j} s_i: the operator is the 0/1 matrix of memberships, kept sparse if it is large
    and has few ones. The same subset published r times with the same value is one answer given r times
    (query engines repeat themselves), so each of them counts as 1/r of an answer. Replacing one person moves
    each count by at most one: L1 sensitivity m, L2 √m for m subsets. Masks refer to people in file order. A
    release does not contain that order, so an attacker must have the people in the same order.

    Examples
    --------
    >>> people = Dataset.from_frame({"age": [31, 45, 62], "ill": [0, 1, 1]}, secret="ill")
    >>> SubsetCounts(["age >= 40", [1, 0, 1]]).values(people).tolist()
    [2.0, 1.0]
    """

    subsets: tuple[Subset, ...]
    scale: str = "counts"

    def __init__(
        self,
        subsets: Sequence[str | npt.ArrayLike | Subset] | npt.ArrayLike,
        *,
        scale: str = "counts",
    ) -> None:
        object.__setattr__(self, "subsets", _check_subsets(subsets))
        object.__setattr__(self, "scale", check_scale(scale))

    def describe(self) -> str:
        only = "counts in" if self.scale == "counts" else "shares of"
        return f"{only} {len(self.subsets)} subset{'' if len(self.subsets) == 1 else 's'} of people"

    def size(self, public: Public) -> int:
        return len(self.subsets)

    def sensitivity(self, public: Public) -> tuple[float, float]:
        """The L1 and L2 sensitivities of the counts, one person replaced."""
        return float(len(self.subsets)), sqrt(len(self.subsets))

    def take(self, people: IntArray, public: Public) -> SubsetCounts:
        kept = tuple(one.take(people) for one in self.subsets)
        return SubsetCounts(kept, scale=self.scale)

    def values(self, dataset: Dataset) -> Array:
        secret = dataset.bits.astype(np.float64)
        counts = self._memberships(dataset.public) @ secret
        return np.asarray(counts / self.units(dataset.public))

    def equations(self, public: Public, values: Array) -> Equations:
        chosen = self._memberships(public)
        alike = group_rows(chosen).index
        return Equations(_as_operator(chosen), values.copy(), alike, gain=np.sqrt(_repeats(chosen, values)))

    def without(self, unknown: Sequence[str], columns: Outline) -> tuple[Statistic, IntArray] | None:
        kept = [index for index, subset in enumerate(self.subsets) if not set(unknown) & subset.columns]
        if not kept:
            return None
        left = SubsetCounts([self.subsets[index] for index in kept], scale=self.scale)
        return left, np.array(kept)

    def as_plain(self) -> dict[str, object]:
        """The subsets: conditions as they were written, masks as hexadecimal digits."""
        return {"subsets": [subset.as_plain() for subset in self.subsets]}

    @property
    def published_too(self) -> str:
        return "who is in each subset, by the order of the people's file" if self._listed else ""

    @property
    def no_population(self) -> str:
        return "Subsets given person by person say nothing about people outside them." if self._listed else ""

    @property
    def _listed(self) -> bool:
        return any(subset.words is None for subset in self.subsets)

    def _memberships(self, public: Public) -> npt.NDArray[np.uint8]:
        """Who is in which subset, subsets × people."""
        if len(self.subsets) * public.n > _MOST_MEMBERSHIPS:
            size = f"{len(self.subsets)} × {public.n}"
            raise invalid("subsets", f"at most {_MOST_MEMBERSHIPS:,} memberships (subsets × people)", size)
        out = np.empty((len(self.subsets), public.n), dtype=np.uint8)
        for row, subset in zip(out, self.subsets, strict=True):
            row[:] = subset.members(public)
        return out


def _repeats(chosen: npt.NDArray[np.uint8], values: Array) -> Array:
    """How often each count's subset was published with that very value."""
    rows = np.ascontiguousarray(np.packbits(chosen, axis=1))
    asked = zip((row.tobytes() for row in rows), values.tolist(), strict=True)
    listed = list(asked)
    times = Counter(listed)
    return np.array([times[one] for one in listed], dtype=np.float64)


def _as_operator(chosen: npt.NDArray[np.uint8]) -> LinearOperator:
    if chosen.size >= _MANY and np.count_nonzero(chosen) < _FEW_ONES * chosen.size:
        return Sparse(chosen)
    return Dense(chosen)


def _check_subsets(subsets: object) -> tuple[Subset, ...]:
    if isinstance(subsets, str | Mapping | Subset) or not isinstance(subsets, Iterable):
        raise invalid("subsets", "a list of masks or of conditions", subsets)
    listed = list(subsets)
    if not listed:
        raise invalid("subsets", "one mask or condition or more", "none")
    if np.ndim(listed[0]) == 0 and not isinstance(listed[0], str | Mapping | Subset):
        raise invalid("subsets", "a list of masks or of conditions", subsets, "Put a single mask in a list.")
    return tuple(as_subset(subset) for subset in listed)
