"""How much each attribute of a person speaks for their having been in the data, summed block by block.

Inside this file everybody is in the ±1 coding: bits x ↦ 2x − 1, genotypes g ↦ g − 1, means in [−1, 1].
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from tellall.errors import invalid
from tellall.linops import Array

__all__ = [
    "CODINGS",
    "Blocks",
    "Coding",
    "Contribution",
    "Correlation",
    "Homer",
    "LikelihoodRatio",
    "Truncated",
    "as_blocks",
    "conformal_scores",
    "linear_scores",
    "reference_mean",
]

Codes = npt.NDArray[np.int8]

_BLOCK_BYTES = 96 * 2**20
_DOUBLE_WORK = 2e10  # multiplications up to which double precision costs nothing worth saving


@runtime_checkable
class Blocks(Protocol):
    """People × attributes, read a block of attributes at a time: what streams through the scores."""

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of people and of attributes."""
        ...

    def block(self, start: int, stop: int) -> npt.NDArray[Any]:
        """The attributes from start to stop (not included), people × attributes, in the data's coding."""
        ...


@dataclass(frozen=True, eq=False)
class _InMemory:
    array: npt.NDArray[Any]

    @property
    def shape(self) -> tuple[int, int]:
        return int(self.array.shape[0]), int(self.array.shape[1])

    def block(self, start: int, stop: int) -> npt.NDArray[Any]:
        return self.array[:, start:stop]


def as_blocks(name: str, people: Blocks | npt.ArrayLike) -> Blocks:
    """The people as a source of blocks; one person may be a flat array."""
    if isinstance(people, Blocks):
        return people
    array = np.asarray(people)
    if array.ndim == 1:
        array = array[None, :]
    if array.ndim != 2 or array.shape[0] < 1:
        raise invalid(name, "an array of people × attributes with one person or more", f"shape {array.shape}")
    if array.dtype.kind not in "biuf":
        raise invalid(name, "an array of numbers", f"type {array.dtype}")
    return _InMemory(array)


@dataclass(frozen=True)
class Coding:
    """The values that an attribute of a person can take, and where they lie in [−1, 1].

    Attributes
    ----------
    values
        The values in the data; empty for reals, which are taken as they are.
    signs
        The same in the ±1 coding.
    ploidy
        How many independent draws one value stands for.
    """

    name: str
    values: tuple[int, ...]
    signs: tuple[float, ...]
    ploidy: int = 1

    def codes(self, name: str, block: npt.NDArray[Any]) -> Codes:
        """The place of each value among the values; one past the last where the call is missing."""
        missing = len(self.values)
        if block.dtype == np.int8 and self.values == tuple(range(missing)):
            # bytes that are codes already, as readers of genotypes give them
            if block.view(np.uint8).max(initial=0) < missing:
                return block
            if self.ploidy == 2 and block.max() < missing:
                return np.where(block < 0, np.int8(missing), block)
        codes = np.full_like(block, -1, dtype=np.int8)
        for code, value in enumerate(self.values):
            codes[block == value] = code
        if (codes < 0).any():
            if block.dtype.kind == "f":
                codes[np.isnan(block)] = missing
            elif self.ploidy == 2:  # PLINK readers mark a missing call by a negative number
                codes[block < 0] = missing
        if (codes < 0).any():
            seen = block[codes < 0].flat[0]
            rule = f"{', '.join(map(str, self.values))} (coding='{self.name}')"
            raise invalid(name, rule, float(seen), _other_coding(self.name))
        return codes

    def numbers(self, name: str, block: npt.NDArray[Any]) -> Array:
        """The ±1 coding of a block, NaN where the call is missing."""
        if not self.values:
            array = np.asarray(block, dtype=np.float64)
            if not np.isfinite(array).all():
                raise invalid(name, "finite for attack='gaussian'", "NaN or infinite values")
            return array
        return np.array([*self.signs, np.nan])[self.codes(name, block)]


CODINGS = {
    "signs": Coding("signs", (-1, 1), (-1.0, 1.0)),
    "bits": Coding("bits", (0, 1), (-1.0, 1.0)),
    "genotypes": Coding("genotypes", (0, 1, 2), (-1.0, 0.0, 1.0), ploidy=2),
    "reals": Coding("reals", (), ()),
}


def _other_coding(name: str) -> str:
    others = [f"'{other}' for {', '.join(map(str, c.values))}" for other, c in CODINGS.items() if c.values]
    return f"coding may be {'; '.join(other for other in others if not other.startswith(repr(name)))}."


class Contribution(ABC):
    """What one attribute adds to a score: a function of the released mean and of the population's."""

    uses_population = True

    @abstractmethod
    def of(self, x: Array | float, q: Array, w: Array, others: Array) -> Array:
        """The contribution of value x, where q is released and w is the mean of `others` people."""


@dataclass(frozen=True)
class Correlation(Contribution):
    """⟨x, q⟩ (Figs. 1 and 3)."""

    uses_population = False

    def of(self, x: Array | float, q: Array, w: Array, others: Array) -> Array:
        return x * q


@dataclass(frozen=True)
class Truncated(Contribution):
    """⟨x, clip(q − w, ±2α)⟩ (Fig. 2); α infinite does not truncate."""

    alpha: float

    def weights(self, q: Array, w: Array) -> Array:
        """clip(q − w, ±2α)."""
        return np.clip(q - w, -2 * self.alpha, 2 * self.alpha)

    def of(self, x: Array | float, q: Array, w: Array, others: Array) -> Array:
        return x * self.weights(q, w)


@dataclass(frozen=True)
class LikelihoodRatio(Contribution):
    """ln P(x | in) − ln P(x | population), with half a person added to either side of each frequency."""

    n: float
    ploidy: int

    def of(self, x: Array | float, q: Array, w: Array, others: Array) -> Array:
        size, pool = self.ploidy * self.n, self.ploidy * others
        inside = (size * (1 + q) / 2 + 0.5) / (size + 1)
        outside = (pool * (1 + w) / 2 + 0.5) / (pool + 1)
        share = (1 + np.asarray(x)) / 2
        with_it, without = np.log(inside / outside), np.log((1 - inside) / (1 - outside))
        return self.ploidy * (share * with_it + (1 - share) * without)


@dataclass(frozen=True)
class Homer(Contribution):
    """|x − w| − |x − q| on the 0/1 scale."""

    def of(self, x: Array | float, q: Array, w: Array, others: Array) -> Array:
        return (np.abs(x - w) - np.abs(x - q)) / 2


def reference_mean(reference: Blocks, coding: Coding, block: slice, rows: slice) -> Array:
    """The mean of some reference people over a block of attributes, NaN where nobody has a call."""
    values = coding.numbers("reference", reference.block(block.start, block.stop)[rows])
    called = ~np.isnan(values)
    total = np.where(called, values, 0.0).sum(axis=0)
    counts = called.sum(axis=0)
    return np.where(counts > 0, total / np.maximum(counts, 1), np.nan)


def blocks_of(attributes: int, people: int) -> Iterator[slice]:
    """Slices of attributes whose block of that many people fits the memory set aside for one."""
    width = int(max(16, min(8192, _BLOCK_BYTES // (8 * max(people, 1)))))
    for start in range(0, attributes, width):
        yield slice(start, min(start + width, attributes))


def linear_scores(
    targets: Blocks, reference: Blocks, q: Array, coding: Coding, *, alpha: float | None = None
) -> tuple[Array, float]:
    """⟨y − z0, t⟩ of every target and ‖t‖², where t = q, or clip(q − w, ±2α) where α is given.

    Notes
    -----
    z0 is the first reference person and w the mean of the others. An attribute that the target or z0 lacks
    adds nothing, which keeps the sum one of centred terms. O(targets · d) time; a block of memory.
    """
    scores, squares = np.zeros(targets.shape[0]), 0.0
    for block in blocks_of(q.size, max(targets.shape[0], reference.shape[0])):
        weights = q[block]
        if alpha is not None:
            w = reference_mean(reference, coding, block, slice(1, None))
            weights = np.where(np.isnan(w), 0.0, Truncated(alpha).weights(weights, np.nan_to_num(w)))
        z0 = coding.numbers("reference", reference.block(block.start, block.stop)[:1])[0]
        weights = np.where(np.isnan(z0), 0.0, weights)
        y = coding.numbers("targets", targets.block(block.start, block.stop))
        if np.isnan(y).any():
            scores += np.nan_to_num(y - np.nan_to_num(z0)) @ weights
        else:
            scores += y @ weights - np.nan_to_num(z0) @ weights
        squares += float(weights @ weights)
    return scores, squares


def conformal_scores(
    targets: Blocks, reference: Blocks, q: Array, coding: Coding, contribution: Contribution
) -> tuple[Array, Array]:
    """The score of every target, and the scores (targets × reference) of the reference people beside it.

    Notes
    -----
    Among {target} ∪ reference, everybody's score uses the mean of all the *others* as the population's, so
    that target and reference people enter symmetrically. That mean depends on the target only through the
    target's own value, which is one of two, three or (missing) four: for each value v a table M_v (reference
    × attributes) holds what every reference person's attribute adds, and

        scores = Σ_v 1[targets = v] @ M_vᵀ

    is exact for all targets at once, in one matrix product per value but one. A missing call counts as the
    mean of the others. Cost: 2 · (values − 1) · targets · reference · d operations, one block of memory and
    the targets × reference scores. An attack that uses no population mean needs no table: its reference
    scores are the same for every target.
    """
    people, pool = targets.shape[0], reference.shape[0]
    if not coding.values:
        return _real_scores(targets, reference, q)
    dtype = np.float64 if float(people) * pool * q.size <= _DOUBLE_WORK else np.float32
    own, beside = np.zeros(people), np.zeros((people, pool))
    for block in blocks_of(q.size, 2 * max(people, pool)):
        y = coding.codes("targets", targets.block(block.start, block.stop))
        z = coding.codes("reference", reference.block(block.start, block.stop))
        part = _Block.of(z, q[block], coding, contribution)
        alike = not contribution.uses_population and part.complete
        table, base = part.target_table(), part.reference_table(0)
        own += table[0].sum()
        beside += base.sum(axis=1)[None, :]
        for value in range(1, len(coding.values) + 1):
            indicator = y == value
            if value == len(coding.values) and not indicator.any():
                continue
            change = (table[value] - table[0])[None, :]
            if not alike:  # else the reference scores are the same beside every target
                change = np.concatenate([change, part.reference_table(value) - base])
            gain = indicator.astype(dtype) @ change.astype(dtype).T
            own += gain[:, 0]
            if not alike:
                beside += gain[:, 1:]
    return own, beside


def _real_scores(targets: Blocks, reference: Blocks, q: Array) -> tuple[Array, Array]:
    """⟨x, q⟩ of real people."""
    reals = CODINGS["reals"]
    own, pool = np.zeros(targets.shape[0]), np.zeros(reference.shape[0])
    for block in blocks_of(q.size, max(targets.shape[0], reference.shape[0])):
        own += reals.numbers("targets", targets.block(block.start, block.stop)) @ q[block]
        pool += reals.numbers("reference", reference.block(block.start, block.stop)) @ q[block]
    return own, np.broadcast_to(pool, (own.size, pool.size))


@dataclass(frozen=True, eq=False)
class _Block:
    """The reference people over a block of attributes, ready to be scored beside any target."""

    codes: Codes
    q: Array
    total: Array
    called: Array
    signs: Array
    contribution: Contribution

    @classmethod
    def of(cls, codes: Codes, q: Array, coding: Coding, contribution: Contribution) -> _Block:
        signs = np.array([*coding.signs, 0.0])
        total = signs[codes].sum(axis=0)
        called = (codes < len(coding.values)).sum(axis=0).astype(np.float64)
        return cls(codes, q, total, called, signs, contribution)

    @property
    def complete(self) -> bool:
        """Whether every reference person has every call."""
        return bool((self.called == self.codes.shape[0]).all())

    def target_table(self) -> Array:
        """What each value of a target adds, values × attributes; the others are the reference people."""
        return np.stack([self._adds(code, self.total, self.called) for code in range(self.signs.size)])

    def reference_table(self, target: int) -> Array:
        """What each reference person's attributes add beside a target who has this value everywhere."""
        missing = self.signs.size - 1
        total = self.total + self.signs[target]
        called = self.called + (target != missing)
        table = np.stack(
            [
                self._adds(code, total - self.signs[code], called - (code != missing))
                for code in range(missing)
            ]
            + [self._adds(missing, total, called)]
        )
        return np.take_along_axis(table, self.codes.astype(np.intp), axis=0)

    def _adds(self, code: int, total: Array, others: Array) -> Array:
        # combinations that no person has are computed, in range, and never looked up
        others = np.maximum(others, 0)
        w = np.clip(np.where(others > 0, total / np.maximum(others, 1), self.q), -1, 1)
        x: Array | float = w if code == self.signs.size - 1 else float(self.signs[code])
        return self.contribution.of(x, self.q, w, others)
