"""People in memory. Public: the attacker's view, without the secret. Dataset: the curator's view, with it."""

from __future__ import annotations

import difflib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.core.amounts import count_of
from tellall.core.checks import is_whole, whole
from tellall.core.errors import InvalidInput, invalid
from tellall.core.not_done import NotDone
from tellall.core.shown import InNotebook
from tellall.core.work import Progress
from tellall.people.codes import (
    PACKED,
    Array,
    Bits,
    Column,
    IntArray,
    Numbers,
    Patterns,
    group_rows,
    some_rows,
    take_people,
)
from tellall.people.columns import (
    Bins,
    coarsen,
    collect,
    common_length,
    encode,
    encode_secret,
    from_matrix,
    is_numeric,
    plain_values,
    telling,
    where_known,
)
from tellall.people.counting.tally import Counts, tabulate, with_secret
from tellall.people.shape import Shape

__all__ = [
    "Dataset",
    "Outline",
    "Public",
    "as_public",
    "bins_by_column",
    "choose_columns",
    "left_out_note",
    "unique_names",
    "unknown_name",
]

_MOST_NAMED = 3  # columns named in a sentence


class Outline(ABC):
    """Columns with all their categories, and a number of people: all that the shape of a table depends on."""

    columns: tuple[Column, ...]
    left_out: tuple[NotDone, ...]

    @property
    @abstractmethod
    def n(self) -> int:
        """How many people."""

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(column.name for column in self.columns)

    @cached_property
    def levels(self) -> tuple[int, ...]:
        """The number of categories of each column."""
        return tuple(column.levels for column in self.columns)

    @cached_property
    def shape(self) -> Shape:
        """What a release tells about these people in addition to its values."""
        return Shape.of(self.columns, self.n)

    def position(self, name: str | int, parameter: str = "attribute") -> int:
        """The index of a column given by name or index; errors name the parameter it came from."""
        if is_whole(name):
            if not 0 <= name < len(self.columns):
                rule = f"from 0 to {len(self.columns) - 1}{left_out_note(self)}"
                raise invalid(parameter, rule, int(name))
            return int(name)
        if name not in self.names:
            if (gone := self.without(str(name))) is not None:
                rule = "a column that differs between people"
                raise invalid(parameter, rule, f"'{name}'", f"Left out: {gone}.")
            raise unknown_name(parameter, name, self.names)
        return self.names.index(str(name))

    def without(self, name: str) -> NotDone | None:
        """Why a column was left out; None if it was not, or there is none of this name."""
        return next((one for one in self.left_out if one.name == name), None)


def unknown_name(parameter: str, name: object, have: Sequence[str]) -> InvalidInput:
    """The error for a column that is not in the table; it suggests the nearest one that is."""
    near = difflib.get_close_matches(str(name), have, n=1)
    listing = ", ".join(have[:12]) + (", ..." if len(have) > 12 else "")
    advice = f"Did you mean '{near[0]}'?" if near else ""
    return invalid(parameter, f"a column of the table ({listing})", f"'{name}'", advice)


def left_out_note(people: Outline) -> str:
    """The constant columns that were left out, in brackets; empty if there are none."""
    some = people.left_out[:_MOST_NAMED]
    more = ", ..." if len(people.left_out) > _MOST_NAMED else ""
    return f" (left out: {', '.join(map(str, some))}{more})" if some else ""


def unique_names(parameter: str, value: Iterable[str]) -> list[str]:
    """Column names as a list, each once; a single name becomes a list of one."""
    if not isinstance(value, Iterable):
        raise invalid(parameter, "a list of names", value)
    names = [value] if isinstance(value, str) else [str(name) for name in value]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise invalid(parameter, "each column once", f"'{repeated[0]}' twice")
    return names


def choose_columns(have: Sequence[str], secret: str | None, public: Iterable[str] | None) -> list[str]:
    """The public columns of a table: those asked for, or all but the secret."""
    if secret is not None and secret not in have:
        raise unknown_name("secret", secret, have)
    chosen = [name for name in have if name != secret] if public is None else unique_names("public", public)
    for name in chosen:
        if name not in have:
            raise unknown_name("public", name, have)
    if secret in chosen:
        raise invalid("public", "columns other than the secret", f"'{secret}' among them")
    return chosen


def bins_by_column(
    bins: Bins | Mapping[str, Bins] | None, chosen: Sequence[str], is_number: Callable[[str], bool]
) -> dict[str, Bins | None]:
    """The bins of each column; a single list of cut points applies to all columns of numbers."""
    if isinstance(bins, Mapping):
        for name in bins:
            if str(name) not in chosen:
                raise unknown_name("bins", name, chosen)
        return {str(name): cut for name, cut in bins.items()}
    points = bins is not None and not is_whole(bins) and not isinstance(bins, bool)
    return {name: bins for name in chosen if not points or is_number(name)}


@dataclass(frozen=True, eq=False, repr=False)
class Public(Outline):
    """Public columns of n people, as codes (for tables) and as numbers (for estimators).

    Attributes
    ----------
    columns
        What each column is called and what its codes mean.
    codes
        Columns × people: an array, or :class:`Bits` if there are 2^24 codes or more and all are bits.
    numbers
        The real values of each column, None for text.
    left_out
        Columns that were left out, and why.
    """

    columns: tuple[Column, ...]
    codes: IntArray | Bits
    numbers: Sequence[Array | None] = field(default=())
    left_out: tuple[NotDone, ...] = ()

    def __post_init__(self) -> None:
        codes = self.codes
        if not isinstance(codes, Bits) and codes.size >= PACKED and max(self.levels, default=0) <= 2:
            object.__setattr__(self, "codes", Bits.of(codes))
        if self.numbers:
            object.__setattr__(self, "numbers", Numbers.of(self.columns, self.codes, self.numbers))

    @property
    def n(self) -> int:
        """How many people."""
        return int(self.codes.shape[1])

    @cached_property
    def patterns(self) -> Patterns:
        """The distinct rows with their multiplicities."""
        return group_rows(self.codes)

    def alike(self, labels: Sequence[IntArray]) -> Patterns:
        """Groups of people who share all labels; the distinct rows if every label is their index."""
        if all(each is self.patterns.index for each in labels):
            return self.patterns
        return group_rows(np.stack(labels))

    @cached_property
    def memory(self) -> dict[Any, Any]:
        """A cache of results that depend on these public columns alone."""
        return {}

    def take(self, people: IntArray | Sequence[int]) -> Public:
        """Some of the people, given as rows or a mask; columns keep all their categories."""
        people = some_rows(people, self.n)
        codes, numbers = take_people(self.codes, people), self.numbers
        kept = numbers.take(codes, people) if isinstance(numbers, Numbers) else ()
        return Public(self.columns, codes, kept, self.left_out)

    def choose(self, indices: Sequence[int]) -> Public:
        """Some of the columns, by index, for everybody."""
        codes, numbers = self.codes[list(indices)], self.numbers
        kept = numbers.choose(codes, indices) if isinstance(numbers, Numbers) else ()
        return Public(tuple(self.columns[index] for index in indices), codes, kept, self.left_out)

    def only(self, *names: str) -> Public:
        """The view of somebody who knows only these columns; without names, only the number of people."""
        listed = unique_names("names", names if all(isinstance(one, str) for one in names) else names[0])
        return self.choose([self.position(name, "names") for name in listed])

    def coarser(self, **groups: Bins | Mapping[str, str]) -> Public:
        """The view of somebody who knows columns only coarsely: by cut points, or by each value's group."""
        columns, codes = list(self.columns), np.asarray(self.codes).astype(np.int64)
        others = dict(enumerate(self.numbers or [None] * len(columns)))
        for name, how in groups.items():
            at = self.position(name, "columns")
            columns[at], codes[at] = coarsen(columns[at], codes[at], others[at], how)
            others[at] = None
        return Public(tuple(columns), codes, Numbers(codes, others), self.left_out)

    def __repr__(self) -> str:
        return f"Public({self.n} people, {len(self.columns)} columns: {_listing(self.columns)})"


@dataclass(frozen=True, eq=False, repr=False)
class Dataset(InNotebook):
    """People with their public columns and, if known, their secret.

    Attributes
    ----------
    public
        The attacker's view.
    secret
        One bit, category (a code) or real number per person, or None.
    meaning
        What the codes of the secret stand for; empty for real numbers.
    assumed
        How the file was read, in a sentence; empty if no such file was read.
    rows
        The row of each person in the file or frame, from zero; None if nobody was left out.
    dropped
        How many people were left out because their secret is missing.

    Examples
    --------
    >>> people = Dataset.from_arrays([[0, 1], [1, 1], [1, 0]], secret=[0, 1, 1])
    >>> people.n, len(people.patterns)
    (3, 3)
    """

    public: Public
    secret: npt.NDArray[Any] | None = None
    secret_name: str = "secret"
    meaning: tuple[str, ...] = ("0", "1")
    assumed: str = ""
    rows: IntArray | None = None
    dropped: int = 0

    @classmethod
    def from_arrays(
        cls,
        public: npt.ArrayLike,
        secret: npt.ArrayLike | None = None,
        names: Sequence[str] | None = None,
        *,
        kind: str | None = None,
    ) -> Dataset:
        """A dataset from an n × d array of public attributes, and a secret.

        Parameters
        ----------
        public
            0/1, whole numbers (each value a category) or reals (cut near their deciles for tables).
        secret
            One bit, category or real number per person; None for the attacker's side.
        names
            The names of the columns; ``a0``, ``a1``, ... by default.
        kind
            "bits", "categories" or "reals"; by default the secret's values decide.
        """
        array = _matrix("public", public)
        view = Public(*from_matrix(array, _labels(names, array.shape[1])))
        return cls._with_vector(view, secret, kind)

    @classmethod
    def from_bits(
        cls,
        bits: npt.NDArray[np.uint8],
        people: int,
        secret: npt.ArrayLike | None = None,
        names: Sequence[str] | None = None,
        *,
        kind: str | None = None,
    ) -> Dataset:
        """A dataset of 0/1 public attributes that are packed eight people to a byte, and stay packed.

        Parameters
        ----------
        bits
            Attributes × ⌈people/8⌉ bytes, as ``numpy.packbits(attributes, axis=1)`` makes them.
        people
            How many people; further bits in the last byte of a row are ignored.
        secret, names, kind
            As for :meth:`from_arrays`.

        Notes
        -----
        The array is copied only if attributes that are the same for everybody are left out.

        Examples
        --------
        >>> attributes = np.array([[0, 1, 1], [1, 1, 0]])
        >>> people = Dataset.from_bits(np.packbits(attributes, axis=1), 3, secret=[0, 1, 1])
        >>> people.public.codes[0].tolist()
        [0, 1, 1]
        """
        codes = Bits(np.asarray(bits), whole("people", people, 2))
        if not len(codes):
            raise invalid("bits", "one attribute or more", "none")
        columns = [Column(name, ("0", "1")) for name in _labels(names, len(codes))]
        return cls._with_vector(Public(*telling(columns, codes, Numbers(codes, {}))), secret, kind)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        secret: str | None = None,
        public: Iterable[str] | None = None,
        bins: Bins | Mapping[str, Bins] | None = None,
        *,
        kind: str | None = None,
        drop_gaps: bool = False,
    ) -> Dataset:
        """A dataset from a pandas or polars frame, an Arrow table, or a mapping from names to arrays.

        Parameters
        ----------
        frame
            The table of people.
        secret
            The column to protect (bits, categories or real numbers); None for the attacker's side.
        public
            The columns an attacker may know; by default all but the secret.
        bins
            How numbers are cut for tables: a count (round numbers near the quantiles) or cut points, for
            all columns or by name. By default numbers with at most 20 distinct values keep them, and others
            are cut near their deciles.
        kind
            "bits", "categories" or "reals"; by default the secret's values decide.
        drop_gaps
            Whether people whose secret is missing are left out; ``dropped`` says how many. They are refused
            otherwise.
        """
        frame = frame.collect() if hasattr(frame, "collect") else frame  # a lazy polars frame
        if hasattr(frame, "column_names"):  # an Arrow table
            unique_names("columns", list(frame.column_names))
            frame = dict(zip(frame.column_names, frame.columns, strict=True))
        secret = None if secret is None else str(secret)
        keys = _column_keys(frame)
        chosen = choose_columns(list(keys), secret, public)
        wanted = chosen if secret is None else [*chosen, secret]
        raw = {name: plain_values(frame[keys[name]]) for name in wanted}
        n = common_length(raw)
        rows, dropped = None, 0
        if drop_gaps and secret is not None and not (known := where_known(raw[secret])).all():
            rows, dropped = np.flatnonzero(known), int(n - known.sum())
            raw, n = {name: values[known] for name, values in raw.items()}, int(known.sum())
        if n < 2 or not chosen:
            raise invalid("table", "two people or more and one public column or more", f"{n} × {len(chosen)}")
        per_column = bins_by_column(bins, chosen, lambda name: is_numeric(raw[name]))
        encoded = (encode(name, raw[name], per_column.get(name)) for name in chosen)
        view = Public(*collect(encoded, len(chosen)))
        assumed = getattr(frame, "assumed", "") if isinstance(frame, dict) else ""
        if secret is None:
            return cls(view, assumed=assumed)
        return cls(
            view,
            *_secret(secret, raw[secret], kind, rows),
            _with_dropped(assumed, dropped, secret),
            rows,
            dropped,
        )

    @classmethod
    def _with_vector(cls, view: Public, secret: npt.ArrayLike | None, kind: str | None) -> Dataset:
        return cls(view) if secret is None else cls(view, *_secret("secret", _vector(secret, view.n), kind))

    @property
    def n(self) -> int:
        """How many people."""
        return self.public.n

    @property
    def levels(self) -> int:
        """How many values the secret has: two for bits, zero for real numbers."""
        return len(self.meaning)

    @property
    def bits(self) -> npt.NDArray[np.int8]:
        """The secret bits; an error if there is no secret, or it does not have two values."""
        if self.secret is None:
            raise invalid("dataset", "one with a secret", "no secret")
        if self.levels != 2:
            kind = "real numbers" if not self.levels else f"{self.levels} categories"
            raise invalid("secret", "bits (two values)", kind, "Make it a yes/no column.")
        return self.secret

    @property
    def patterns(self) -> Patterns:
        """The distinct public rows with their multiplicities."""
        return self.public.patterns

    @cached_property
    def memory(self) -> dict[str, Any]:
        """A cache of results that depend on these people alone."""
        return {}

    def tabulate(
        self, sets: Sequence[tuple[int, ...]], *, secret: bool, progress: Progress | None = None
    ) -> Counts:
        """The number of people in each cell of the tables of these columns; the secret, if asked, is last."""
        levels, sets = with_secret(self.public.levels, sets, self.levels if secret else 0)
        return tabulate(self.public.codes, self.secret if secret else None, levels, sets, progress)

    def take(self, people: IntArray | Sequence[int]) -> Dataset:
        """Some of the people, given as rows or a mask, with the same columns and categories."""
        people = some_rows(people, self.n)
        secret = None if self.secret is None else self.secret[people]
        return Dataset(self.public.take(people), secret, self.secret_name, self.meaning, self.assumed)

    def __repr__(self) -> str:
        lines = [f"Dataset of {self.n} people, {len(self.patterns)} distinct public rows"]
        if self.secret is not None:
            lines.append(f"  secret {self.secret_name}: {_summary(self.secret, self.meaning)}")
        lines.append(f"  public {_listing(self.public.columns)}")
        lines += [f"  cut {c.name} at {', '.join(c.cut_texts)}" for c in self.public.columns if c.cuts]
        lines += [f"  left out {reason}" for reason in self.public.left_out]
        return "\n".join(lines)


def _summary(secret: npt.NDArray[np.generic], meaning: Sequence[str]) -> str:
    """The secret in a few words that show no single person's value."""
    if not meaning:
        return f"real numbers, mean {secret.mean():g}"
    counts = np.bincount(secret, minlength=len(meaning))
    shown = range(1, 2) if len(meaning) == 2 else range(min(len(meaning), 6))
    more = ", ..." if len(meaning) > 6 else ""
    return ", ".join(f"{counts[code]} × {meaning[code]}" for code in shown) + more


def as_public(public: Public | Dataset | npt.ArrayLike) -> Public:
    """The attacker's view: of a Public, a Dataset, or an n × d array."""
    if isinstance(public, Public):
        return public
    if isinstance(public, Dataset):
        return public.public
    return Dataset.from_arrays(public).public


def _matrix(parameter: str, value: npt.ArrayLike) -> npt.NDArray[Any]:
    array = _as_array(parameter, value)
    if array.ndim != 2 or array.shape[0] < 2 or array.shape[1] < 1:
        raise invalid(
            parameter, "an array of people × attributes, two people or more", f"shape {array.shape}"
        )
    if array.dtype.kind not in "biuf":
        raise invalid(parameter, "an array of numbers", f"type {array.dtype}", "For text use from_frame.")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        bad = int((~np.isfinite(array)).sum())
        raise invalid(
            parameter, "finite", f"{bad} NaN or infinite values", "For missing values use from_frame."
        )
    return array


def _as_array(parameter: str, value: npt.ArrayLike) -> npt.NDArray[Any]:
    try:
        return np.asarray(value)
    except ValueError:
        raise invalid(parameter, "an array whose rows have one length", value) from None


def _vector(value: npt.ArrayLike, n: int) -> npt.NDArray[Any]:
    array = _as_array("secret", value)
    if array.shape != (n,):
        raise invalid("secret", f"one value per person ({n})", f"shape {array.shape}")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise invalid("secret", "finite", f"{int((~np.isfinite(array)).sum())} NaN or infinite values")
    return array


def _with_dropped(assumed: str, dropped: int, secret: str) -> str:
    """How the file was read, and how many people were left out."""
    if not dropped:
        return assumed
    were = "was" if dropped == 1 else "were"
    left = f"{count_of(dropped, 'person', 'people')} without a value of {secret} {were} left out."
    return f"{assumed} {left}".strip()


def _secret(
    name: str, raw: object, kind: str | None, rows: IntArray | None = None
) -> tuple[npt.NDArray[Any], str, tuple[str, ...]]:
    values, meaning = encode_secret(name, raw, kind, rows)
    return values, name, meaning


def _column_keys(frame: object) -> dict[str, Any]:
    """The columns of a frame by their name as text."""
    columns = frame.keys() if isinstance(frame, Mapping) else getattr(frame, "columns", None)
    if columns is None:
        rule = "a pandas or polars frame, an Arrow table or a mapping of columns"
        raise invalid("frame", rule, type(frame).__name__)
    unique_names("columns", [str(name) for name in columns])
    return {str(name): name for name in columns}


def _labels(names: Sequence[str] | None, count: int) -> tuple[str, ...]:
    labels = tuple(f"a{j}" for j in range(count)) if names is None else tuple(unique_names("names", names))
    if len(labels) != count:
        raise invalid("names", f"one per column ({count})", f"{len(labels)} names")
    return labels


def _listing(columns: Sequence[Column], most: int = 12) -> str:
    listed = ", ".join(f"{column.name} ({column.levels})" for column in columns[:most])
    return f"{listed}, ... {len(columns)} in all" if len(columns) > most else listed
