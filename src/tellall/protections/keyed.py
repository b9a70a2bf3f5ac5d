"""Protections that look at the people behind a value: cell keys, and complemented counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from tellall.core.checks import above_zero, is_whole, share
from tellall.core.errors import invalid
from tellall.people.codes import group_rows
from tellall.people.dataset import Dataset, Public
from tellall.protections.discrete import Finite, LatticeNoise
from tellall.protections.key_tables import common_law, error_of, read_key_table, undo
from tellall.protections.protection import (
    Array,
    Context,
    Exact,
    Noise,
    Protection,
    Rng,
    Unknown,
    as_rng,
    check_count,
    check_counts,
    needs_people,
)
from tellall.protections.sampling import ComplementLaw
from tellall.statistics.statistic import CellLayout

if TYPE_CHECKING:
    from tellall.statistics.statistic import Statistic

__all__ = ["CellKey", "Complement", "OfAFraction"]


@dataclass(frozen=True)
class OfAFraction(Protection):
    """A protection of counts that affects a fraction of the people or of the values, depending on its kind.

    Attributes
    ----------
    people, unit
        Filled in when published: the number of people, and what one person is worth in a published value.
    """

    filled: ClassVar[tuple[str, ...]] = ("people", "unit")
    none_allowed: ClassVar[bool] = True  # whether the fraction may be zero

    fraction: float
    people: int | None = None
    unit: float = 1.0

    def on_means(self) -> Noise | None:
        return Exact()  # it changes secrets, counts, or who is there, not the public columns of those who are

    def __post_init__(self) -> None:
        object.__setattr__(self, "fraction", share("fraction", self.fraction, zero=self.none_allowed))
        check_count("people", self.people)
        above_zero("unit", self.unit)

    def prepare(self, statistic: Statistic, public: Public) -> Self:
        """The same with the number of people filled in."""
        check_counts(self, statistic)
        return replace(self, people=public.n, unit=1 / statistic.units(public))


_KEY_BITS = 32  # of a person's key: sums over two million people are still exact in double precision
_WORD = np.uint64


@dataclass(frozen=True, init=False)
class CellKey(LatticeNoise):
    """Noise from a table, chosen by the people in the cell: the same people get the same noise.

    Parameters
    ----------
    table
        Errors and their probabilities with mean zero, as a mapping or as pairs. Or a table that also depends
        on the count, as agencies publish them: a frame, or the path of a CSV file, with the columns pcv (the
        count; the last one stands for all larger), ckey (the cell key) and pvalue (what is added).
    key
        The curator's secret number, never shown and not saved with a release. By default each release draws
        one from its own generator; give and keep one to get the same noise in every release.

    Notes
    -----
    Every person has a permanent pseudo-random key, computed from the curator's key and the person's record. A
    cell's key is the sum of its people's keys, and the error is the table's quantile at the scrambled cell
    key (the cell-key method of the Australian Bureau of Statistics). The same cell in another table, or in
    another release with the same key, has the same error, so averaging does not help. Anyone who knows the
    key can remove the noise; no key is built in. Cells without people stay zero. Fits tables only.
    O(tables · n). With a table by count and key, keys are added modulo the number of keys, and the error is
    looked up in the table; the attacker assumes for all counts roughly the widest errors of any count.

    Examples
    --------
    >>> law = CellKey({-1: 0.25, 0: 0.5, 1: 0.25})
    >>> law.bound, round(law.std, 3)
    (1.0, 0.707)
    """

    table: tuple[tuple[float, ...], ...]
    key: int | None = field(default=None, repr=False)

    def __init__(
        self, table: Mapping[Any, object] | Iterable[Sequence[float]] | str | Path, key: int | None = None
    ) -> None:
        by_count = read_key_table(table)
        object.__setattr__(self, "table", by_count or _check_table(table))
        if key is not None and not (is_whole(key) and 0 <= key < 2**64):
            raise invalid("key", "a whole number from zero to 2**64 − 1, or left out", key)
        object.__setattr__(self, "key", None if key is None else int(key))

    def as_plain(self) -> dict[str, object]:
        return {"key": None}  # never written down

    @property
    def errors(self) -> Finite:
        """The law of the error of one cell."""
        return common_law(self.table) if self.by_count else Finite(_pairs(self.table))

    @property
    def by_count(self) -> bool:
        """Whether the errors depend on the count."""
        return len(self.table[0]) == 3

    @property
    def std(self) -> float:
        return self.errors.std

    @property
    def bound(self) -> float:
        return self.errors.bound

    @property
    def random(self) -> bool:
        return self.key is None and self.std > 0

    @property
    def keeps_zero(self) -> bool:
        return True

    def before(self, low: Array, high: Array, step: float) -> tuple[Array, Array]:
        return undo(self.table, low, high, step) if self.by_count else self.errors.before(low, high, step)

    def step_after(self, step: float) -> float:
        return self.errors.step_after(step)

    def sample(self, size: int | tuple[int, ...], rng: Rng = None) -> Array:
        return self.errors.sample(size, rng)

    def logpmf(self, x: npt.ArrayLike) -> Array:
        return self.errors.logpmf(x)

    def on_means(self) -> None:
        return None  # its table of errors is for counts

    def scaled(self, factor: float) -> Finite:
        return self.errors.scaled(factor)

    def prepare(self, statistic: Statistic, public: Public) -> CellKey:
        """The protection itself; an error unless the statistic has tables of counts."""
        check_counts(self, statistic)
        if self.by_count and statistic.units(public) != 1:
            raise invalid("protect", "one that fits the statistic; this table fits counts", statistic.scale)
        if not statistic.tables(public):
            raise invalid(
                "protect", "one that fits the statistic; CellKey fits tables", type(statistic).__name__
            )
        return self

    @property
    def reads_people(self) -> bool:
        return True

    def perturb(self, values: Array, rng: Rng = None, context: Context | None = None) -> Array:
        """The values with each cell's own error; with independent errors if only values are given."""
        if context is None or context.people is None:
            return values + self.sample(values.shape, rng)
        key = int(as_rng(rng).integers(2**64, dtype=_WORD)) if self.key is None else self.key
        keys = _cell_keys(person_keys(context.people, key), context.people, context.tables)
        if self.by_count:
            return values + np.where(keys == 0, 0.0, error_of(self.table, values, keys))
        uniform = _scramble(keys.astype(_WORD) ^ _scramble(np.full(1, key, dtype=_WORD)))
        error = self.errors.quantile(uniform.astype(np.float64) / 2.0**64)
        return values + np.where(keys == 0, 0.0, error)


@dataclass(frozen=True)
class Complement(OfAFraction):
    """A random fraction of the values is computed from the opposite of everybody's secret.

    Notes
    -----
    The "complement" corruption in linear-reconstruction's experiments: gross errors that look like counts.
    Only for bits.
    """

    @property
    def law(self) -> Noise:
        if self.fraction == 0:
            return Exact()
        return Unknown() if self.people is None else ComplementLaw(self.fraction, self.people, self.unit)

    @property
    def random(self) -> bool:
        return self.fraction > 0

    @property
    def reads_people(self) -> bool:
        return True

    def perturb(self, values: Array, rng: Rng = None, context: Context | None = None) -> Array:
        """The values, a random fraction of them for the opposite secret."""
        if context is None or context.people is None:
            raise needs_people(self)
        people = context.people
        statistic = context.statistic
        turned = statistic.values(replace(people, secret=(1 - people.bits).astype(np.int8)))
        scale = (self.people or people.n) / people.n if statistic.grows else 1.0
        difference = scale * (turned - statistic.values(people))  # keeps what earlier protections did
        return np.where(as_rng(rng).random(values.shape) < self.fraction, values + difference, values)


def person_keys(dataset: Dataset, key: int) -> npt.NDArray[np.int64]:
    """Every person's permanent key, a function of the curator's key and the person's record.

    People with equal records are told apart by their file order.
    """
    secret = np.zeros(dataset.n, dtype=np.int64) if dataset.secret is None else dataset.secret
    record = np.vstack([dataset.public.codes, np.asarray(secret)[None, :].astype(np.int64)])
    groups = group_rows(record)
    order = np.argsort(groups.index, kind="stable")
    rank = np.empty(dataset.n, dtype=np.int64)
    rank[order] = np.arange(dataset.n) - np.repeat(np.cumsum(groups.counts) - groups.counts, groups.counts)
    state = _scramble(np.full(dataset.n, key, dtype=_WORD))
    for row in (*record, rank):
        state = _scramble(state ^ (row.astype(_WORD) + _WORD(1)))
    return np.maximum((state >> _WORD(64 - _KEY_BITS)).astype(np.int64), 1)


def _cell_keys(keys: npt.NDArray[np.int64], dataset: Dataset, tables: CellLayout) -> Array:
    """The sum of the keys of the people in each cell, as whole numbers."""
    public = dataset.public
    parts = []
    for columns, shape in zip(tables.columns, tables.shapes, strict=True):
        cell = np.zeros(public.n, dtype=np.intp)
        for column, levels in zip(columns, shape, strict=False):
            cell = cell * levels + public.codes[column]
        if shape[-1] > 1:
            assert dataset.secret is not None, "a table of the secret was computed from one"
            cell = cell * shape[-1] + dataset.secret
        parts.append(np.bincount(cell, keys, minlength=int(np.prod(shape))))
    return np.concatenate(parts)


def _scramble(words: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """The finaliser of splitmix64: every bit of the input moves every bit of the output."""
    with np.errstate(over="ignore"):
        out = words + _WORD(0x9E3779B97F4A7C15)
        out = (out ^ (out >> _WORD(30))) * _WORD(0xBF58476D1CE4E5B9)
        out = (out ^ (out >> _WORD(27))) * _WORD(0x94D049BB133111EB)
        return out ^ (out >> _WORD(31))


def _pairs(table: tuple[tuple[float, ...], ...]) -> tuple[tuple[float, float], ...]:
    return tuple((error, chance) for error, chance in table)


def _check_table(table: Any) -> tuple[tuple[float, float], ...]:
    rule = "errors with their probabilities, such as {-1: 0.25, 0: 0.5, 1: 0.25}"
    try:
        pairs = table.items() if isinstance(table, Mapping) else [tuple(pair) for pair in table]
        found = tuple(sorted((float(error), float(chance)) for error, chance in pairs))
    except (TypeError, ValueError):
        raise invalid("table", rule, table) from None
    errors = np.array([e for e, _ in found])
    chances = np.array([c for _, c in found])
    if not found or not np.isfinite(errors).all() or not (chances >= 0).all():
        raise invalid("table", rule, table)
    if len(set(errors.tolist())) < errors.size:
        raise invalid("table", "a table that has each error once", table)
    if abs(float(chances.sum()) - 1) > 1e-9:
        raise invalid("table", "a table whose probabilities sum to 1", f"a sum of {chances.sum():g}")
    if abs(float(errors @ chances)) > 1e-9 * max(1.0, float(np.abs(errors).max())):
        raise invalid("table", "a table of mean zero", f"a mean of {errors @ chances:g}")
    return found
