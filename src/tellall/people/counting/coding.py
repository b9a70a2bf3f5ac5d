"""Coding: how the values of a stored column become codes, the same codes as in memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.core.amounts import count_of
from tellall.core.errors import invalid
from tellall.people.codes import Column
from tellall.people.columns import Bins, encode, encode_secret, is_missing

__all__ = [
    "Coding",
    "StoredSubset",
    "Values",
    "code_cut",
    "code_secret",
    "code_values",
]

Array = npt.NDArray[np.floating[Any]]


@dataclass(frozen=True, eq=False)
class Values:
    """The distinct values of a column, and how many people have each."""

    values: npt.NDArray[Any]
    counts: npt.NDArray[np.int64]


@dataclass(frozen=True)
class Coding:
    """A column and the rule for its codes.

    Attributes
    ----------
    column
        What the codes mean.
    above
        For numbers: the code is how many of these points the value is above.
    texts
        For text: the code is the index of the value among these.
    known
        For numbers that are categories: all of them. Any other number has no code.

    Notes
    -----
    Missing values have the last code of a column with gaps.
    """

    column: Column
    above: tuple[float, ...] | None = None
    texts: tuple[str, ...] | None = None
    known: tuple[float, ...] | None = None

    @property
    def name(self) -> str:
        """The name of the column."""
        return self.column.name


@dataclass(frozen=True, eq=False)
class StoredSubset:
    """Some of the people of a store: those whose codes are among chosen combinations.

    Attributes
    ----------
    codings
        The columns that select them, coded as finely as the selection needs.
    holds
        One axis per column: whether people with these codes are included.
    people
        How many people; None until they are counted.
    """

    codings: tuple[Coding, ...]
    holds: npt.NDArray[np.bool_]
    people: int | None = None


def code_values(name: str, found: Values, bins: Bins | None) -> Coding:
    """The coding of a column whose distinct values are all known.

    Examples
    --------
    >>> ages = Values(np.array([31.0, 45.0, 62.0]), np.array([1, 2, 1]))
    >>> coding = code_values("age", ages, 2)
    >>> coding.column.labels, coding.above
    (('≤ 39.5', '> 39.5'), (39.5,))
    """
    column, _, numbers = encode(name, found.values, bins, found.counts)
    if numbers is None:
        known = {str(value) for value in _plain(found.values) if not is_missing(value)}
        return Coding(column, texts=tuple(sorted(known)))
    if column.cuts is not None:
        return Coding(column, above=tuple(column.cuts))
    distinct = np.unique(numbers[~np.isnan(numbers)])
    return Coding(column, above=tuple(distinct[:-1].tolist()), known=tuple(distinct.tolist()))


def code_cut(name: str, cuts: Bins, *, gaps: bool, dates: bool = False) -> Coding:
    """The coding of numbers, or dates, cut at given points, whatever their values."""
    raw = np.array([0.0, np.nan] if gaps else [0.0])
    column, _, _ = encode(name, raw.astype("datetime64[s]") if dates else raw, cuts)
    return Coding(column, above=column.cuts)


def code_secret(name: str, found: Values, kind: str | None) -> tuple[Coding, tuple[str, ...]]:
    """The coding of a secret, and what its codes stand for."""
    gone = np.array([is_missing(value) for value in _plain(found.values)], dtype=bool)
    missing = int(found.counts[gone].sum())
    if missing:
        said = count_of(missing, "missing value")
        raise invalid(name, "known for everybody", said, "Leave those people out first.")
    _, meaning = encode_secret(name, found.values, kind)
    if not meaning:
        raise invalid("secret", "bits or categories, to be tabulated", "real numbers", "Cut it first.")
    coding = code_values(name, found, max(len(meaning), 2))
    return coding, meaning


def _plain(values: npt.NDArray[np.generic]) -> list[Any]:
    if isinstance(values, np.ma.MaskedArray):
        gone = np.ma.getmaskarray(values)
        return [None if mask else value for value, mask in zip(values.data, gone, strict=True)]
    return list(values)
