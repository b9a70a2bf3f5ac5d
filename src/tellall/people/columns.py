"""Columns of people: raw values become codes and numbers; constant columns are dropped, bits are packed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.core.amounts import count_of
from tellall.core.checks import is_whole
from tellall.core.errors import invalid
from tellall.core.not_done import NotDone
from tellall.people.codes import PACKED, Array, Bits, Column, IntArray, Numbers, is_code
from tellall.people.cuts import choose_cuts, cut_labels, number_text
from tellall.people.dates import cut_before, date_cut_labels, date_text, day_number, day_of_cut, roundest_date

__all__ = [
    "AS_NUMBER",
    "DEFAULT_BINS",
    "DROP_GAPS",
    "LARGEST_EXACT",
    "MISSING",
    "Bins",
    "Collected",
    "coarsen",
    "collect",
    "common_length",
    "encode",
    "encode_secret",
    "from_matrix",
    "is_missing",
    "is_numeric",
    "plain_values",
    "telling",
    "where_known",
    "why_left_out",
]

# One column of a table of people, encoded: every value a category, numbers also kept as numbers.

Bins = int | Sequence[float | date | str]  # dates and their texts cut columns of dates

DROP_GAPS = "--drop-gaps (in a plan: drop_gaps = true) leaves those people out, and the report says so."
AS_NAMES = '--kind categories (in a plan: kind = "categories")'
AS_NUMBER = '--kind reals (in a plan: kind = "reals")'
KEPT_VALUES = 20  # a number with at most this many distinct values keeps each of them
MOST_CATEGORIES = 100  # of a secret; more are names, not groups
DEFAULT_BINS = 10  # a number with more values is cut near its deciles
LARGEST_EXACT = 2**53  # doubles do not hold every whole number above it
MISSING = "missing"


def encode(
    name: str, raw: object, bins: Bins | None = None, people: IntArray | None = None
) -> tuple[Column, npt.NDArray[Any], Array | None]:
    """The column's description, its codes, and its numbers (None for text; NaN where missing).

    ``people`` says how many people have each of the raw values; by default one each.

    Examples
    --------
    >>> column, codes, numbers = encode("age", np.array([31.0, 45.0, float("nan"), 62.0]), bins=2)
    >>> column.labels, column.cuts, codes.tolist()
    (('≤ 49.5', '> 49.5', 'missing'), (49.5,), [0, 0, 2, 1])
    """
    numbers = _numbers(name, raw)
    if numbers is None:
        if bins is not None and not isinstance(bins, int | np.integer):
            raise invalid(f"bins of column '{name}'", "left out, since the column holds text", bins)
        return (*_encode_text(name, _objects(raw)), None)
    return (*_encode_numbers(name, numbers, bins, people, dates=_holds_dates(raw)), numbers)


def encode_secret(
    name: str, raw: object, kind: str | None = None, rows: IntArray | None = None
) -> tuple[npt.NDArray[Any], tuple[str, ...]]:
    """The secret as bits, as the codes of categories or as real numbers, and what the codes stand for.

    ``kind`` ("bits", "categories", "reals") says which; without it the values decide. ``rows`` are those of
    the people in their file, from zero, for what is wrong with one of them.

    Two distinct values are bits, the smaller 0 and the larger 1. Text, and whole numbers of at most
    20 distinct values, are categories in ascending order; other numbers are reals, whose meaning is empty.

    Examples
    --------
    >>> bits, meaning = encode_secret("smokes", np.array(["yes", "no", "no"]))
    >>> bits.tolist(), meaning
    ([1, 0, 0], ('no', 'yes'))
    >>> encode_secret("stage", np.array([3, 1, 2, 1]))[0].tolist()
    [2, 0, 1, 0]
    >>> encode_secret("income", np.array([1.5, 2.5, 3.5]))
    (array([1.5, 2.5, 3.5]), ())
    """
    column, codes, numbers = encode(name, raw)
    missing = sum(map(is_missing, _objects(raw))) if numbers is None else int(np.isnan(numbers).sum())
    if missing:
        raise invalid(name, "known for everybody", count_of(missing, "missing value"), DROP_GAPS)
    if kind not in (None, "bits", "categories", "reals"):
        raise invalid("kind", "'bits', 'categories', 'reals' or None", kind)
    if kind == "reals" and numbers is None:
        raise invalid(name, "numbers, as kind is 'reals'", "text")
    if kind is None and numbers is None:
        _refuse_spoilt(name, column.labels, codes, rows)
    distinct = np.unique(codes if numbers is None else numbers)
    if kind == "bits" and distinct.size > 2:
        raise invalid(name, "a secret of two values", f"{distinct.size} distinct values")
    if distinct.size == 1:
        raise invalid(name, "a secret of two values or more", "the same for everybody")
    if kind == "reals" and numbers is not None:
        return numbers, ()
    if distinct.size == 2:
        values = codes if numbers is None else numbers
        return (values == distinct[1]).astype(np.int8), (column.labels[0], column.labels[1])
    looks_real = distinct.size > KEPT_VALUES or bool((distinct != np.rint(distinct)).any())
    if numbers is not None and looks_real and kind != "categories":
        return numbers, ()
    if distinct.size > MOST_CATEGORIES:
        raise invalid(
            name, f"a secret of at most {MOST_CATEGORIES} categories", f"{distinct.size}", "Group them first."
        )
    return codes.astype(np.int16), column.labels


def _refuse_spoilt(
    name: str, labels: Sequence[str], codes: npt.NDArray[np.generic], rows: IntArray | None
) -> None:
    """Refuses a secret of many numbers that a few other values, such as inf, turned into categories."""
    odd = [code for code, label in enumerate(labels) if not _is_finite(label)]
    many = len(labels) - len(odd)
    if odd and many > KEPT_VALUES and many > len(odd):
        where = np.flatnonzero(np.isin(codes, odd))
        first = (where if rows is None else rows[where])[0] + 1
        got = f"{many:,} different numbers, and in row {first:,} something else"
        more = f" (as in {where.size - 1:,} more)" if where.size > 1 else ""
        advice = f"Mend it, or say that all are names: {AS_NAMES}."
        raise invalid(name, "finite numbers, or words", got + more, advice)


def _is_finite(text: str) -> bool:
    """Whether a text is a finite number."""
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return False


def where_known(raw: object) -> npt.NDArray[np.bool_]:
    """Which people have a value in a column."""
    cells = _objects(raw)
    return np.fromiter((not is_missing(value) for value in cells), dtype=bool, count=len(cells))


def is_numeric(raw: object) -> bool:
    """Whether a column holds numbers (or dates), missing values aside."""
    return _numbers("column", raw) is not None


def is_missing(value: object) -> bool:
    """Whether a cell is empty: None, NaN, NaT or a library's NA."""
    if value is None:
        return True
    try:
        return bool(value != value)  # NaN and NaT differ from themselves
    except TypeError:  # pandas.NA has no truth value
        return True
    except ValueError:  # an array in a cell is a value, if a strange one
        return False


def _objects(raw: object) -> npt.NDArray[np.object_]:
    if isinstance(raw, np.ma.MaskedArray):
        values = raw.data.astype(object)
        values[np.ma.getmaskarray(raw)] = None
        return values
    return np.asarray(raw, dtype=object)


def _numbers(name: str, raw: object) -> Array | None:
    """The column as floats with NaN for missing, or None if it is not numeric.

    Whole numbers that doubles do not hold are not numeric either: they are names, such as long identifiers.
    """
    array: Any = raw if isinstance(raw, np.ma.MaskedArray) else np.asarray(raw)
    kind = array.dtype.kind
    if kind in "iu" and array.dtype.itemsize == 8:
        known = np.ma.compressed(array)
        if known.size and (known.max() > LARGEST_EXACT or known.min() < -LARGEST_EXACT):
            return None
    if kind in "biuf":
        out = array.astype(np.float64)
        numbers: Array = out.filled(np.nan) if isinstance(out, np.ma.MaskedArray) else out
    elif kind in "Mm":
        days = array.astype("datetime64[s]" if kind == "M" else "timedelta64[s]")
        plain = np.ma.getdata(days)
        absent = np.ma.getmaskarray(days) | np.isnat(plain)
        numbers = np.where(absent, np.nan, plain.astype(np.int64) / 86400.0)  # days since 1970-01-01
    else:
        values = _objects(array).ravel()
        absent = np.array([is_missing(value) for value in values], dtype=bool)
        known = values[~absent]
        if known.size and all(isinstance(value, date | np.datetime64) for value in known):
            moments = _moments(known)
            present = None if moments is None else _numbers(name, moments)
        elif known.size and all(map(_fits_a_double, known)):
            present = np.array([float(value) for value in known])
        else:
            present = None
        if present is None:
            return None
        numbers = np.full(values.size, np.nan)
        numbers[~absent] = present
    if np.isinf(numbers).any():
        raise invalid(f"column '{name}'", "finite numbers or missing", "an infinite value")
    return numbers


def _fits_a_double(value: object) -> bool:
    """Whether a value is a number, and not a whole number that doubles do not hold."""
    if isinstance(value, int | np.integer):
        return bool(-LARGEST_EXACT <= value <= LARGEST_EXACT)
    return isinstance(value, float | Decimal | np.number | np.bool_)


def _moments(dates: npt.NDArray[np.object_]) -> npt.NDArray[np.datetime64] | None:
    """Dates as datetime64, in UTC if they have time zones; None if only some of them have one."""
    zoned = [isinstance(value, datetime) and value.tzinfo is not None for value in dates]
    if any(zoned) and not all(zoned):
        return None  # a moment and a time on some clock cannot be compared
    plain = [value.astimezone(UTC).replace(tzinfo=None) for value in dates] if any(zoned) else list(dates)
    return np.array([np.datetime64(value, "us") for value in plain])


def _encode_text(name: str, values: npt.NDArray[np.object_]) -> tuple[Column, npt.NDArray[Any]]:
    absent = np.array([is_missing(value) for value in values], dtype=bool)
    texts = [MISSING if gone else str(value) for value, gone in zip(values, absent, strict=True)]
    known = sorted({text for text, gone in zip(texts, absent, strict=True) if not gone})
    places = {
        text: code for code, text in enumerate(known)
    }  # an array of texts would be as wide as the longest
    codes = np.fromiter((places.get(text, 0) for text in texts), dtype=np.int64, count=len(texts))
    return _finish(Column(name, tuple(known)), codes, absent)


def _holds_dates(raw: object) -> bool:
    """Whether a column of numbers is one of dates."""
    array: Any = raw if isinstance(raw, np.ma.MaskedArray) else np.asarray(raw)
    if array.dtype.kind != "O":
        return bool(array.dtype.kind == "M")
    return any(isinstance(value, date | np.datetime64) and not is_missing(value) for value in _objects(raw))


def _encode_numbers(
    name: str,
    numbers: Array,
    bins: Bins | None,
    people: IntArray | None,
    *,
    dates: bool,
) -> tuple[Column, npt.NDArray[Any]]:
    if bins is None and not dates and _is_bits(numbers):
        return Column(name, ("0", "1")), numbers.astype(np.uint8)
    absent = np.isnan(numbers)
    if people is None:
        distinct, counts = np.unique(numbers[~absent], return_counts=True)
    else:
        distinct, index = np.unique(numbers[~absent], return_inverse=True)
        counts = np.zeros(distinct.size, dtype=np.int64)
        np.add.at(counts, index, people[~absent])
    cuts = _cut_points(name, distinct, counts, bins, dates=dates)
    if cuts is None:
        codes = np.searchsorted(distinct, numbers) if distinct.size else np.zeros(numbers.size, np.int64)
        texts = tuple(map(date_text if dates else number_text, distinct))
        return _finish(Column(name, texts, dates=dates), codes, absent)
    codes = np.searchsorted(cuts, numbers, side="left")
    labels = date_cut_labels(cuts) if dates else cut_labels(cuts)
    return _finish(Column(name, labels, tuple(float(cut) for cut in cuts), dates=dates), codes, absent)


def _is_bits(numbers: Array) -> bool:
    """Whether the numbers are zeros and ones, with some of each, so that nothing has to be sorted."""
    ones = numbers == 1
    return 0 < int(np.count_nonzero(ones)) < numbers.size and bool((ones | (numbers == 0)).all())


def _finish(
    column: Column, codes: npt.NDArray[np.generic], absent: npt.NDArray[np.bool_]
) -> tuple[Column, npt.NDArray[Any]]:
    """Missing values become the last category; codes take the smallest type that holds them."""
    if absent.any():
        label = MISSING
        while label in column.labels:  # a column may hold the very word
            label += " value"
        codes = np.where(absent, column.levels, codes)
        column = Column(column.name, (*column.labels, label), column.cuts, gaps=True, dates=column.dates)
    return column, codes.astype(np.min_scalar_type(max(column.levels - 1, 0)))


def _cut_points(
    name: str,
    distinct: Array,
    counts: IntArray,
    bins: Bins | None,
    *,
    dates: bool = False,
) -> Array | None:
    """The cut points, or None if each value stays a category of its own."""
    roundest = roundest_date if dates else None
    if bins is None:
        most = DEFAULT_BINS
        return choose_cuts(distinct, counts, most, roundest) if distinct.size > KEPT_VALUES else None
    if isinstance(bins, bool) or (is_whole(bins) and bins < 2):
        raise invalid(f"bins of column '{name}'", "a count of 2 or more, or cut points", bins)
    if is_whole(bins):
        return choose_cuts(distinct, counts, int(bins), roundest) if distinct.size > bins else None
    points = _plain_cuts(name, bins, dates=dates)
    try:
        cuts = np.asarray(points, dtype=float)
    except (TypeError, ValueError):
        raise invalid(f"bins of column '{name}'", "a count of 2 or more, or cut points", bins) from None
    if cuts.ndim != 1 or cuts.size == 0 or not np.isfinite(cuts).all() or (np.diff(cuts) <= 0).any():
        raise invalid(f"bins of column '{name}'", "a count of 2 or more, or increasing cut points", bins)
    return cuts


def _plain_cuts(name: str, bins: Bins, *, dates: bool) -> Any:
    """Cut points as numbers: a date cuts before it."""
    if isinstance(bins, int | str):
        return bins
    try:
        days = [day_number(cut) for cut in bins]
    except TypeError:  # no list
        return bins
    if not dates:
        if any(day is not None for day in days):
            raise invalid(f"bins of column '{name}'", "numbers, since the column holds no dates", bins)
        return bins
    return [day_of_cut(cut) if day is None else cut_before(day) for cut, day in zip(bins, days, strict=True)]


_ENTRIES = 2**24  # of an array examined at once

Collected = tuple[tuple[Column, ...], IntArray | Bits, Numbers, tuple[NotDone, ...]]


def collect(encoded: Iterable[tuple[Column, IntArray, Array | None]], count: int) -> Collected:
    """Drops constant columns and returns the rest with their codes and numbers, and the reasons.

    In large tables, columns of at most two values are packed as they come, so only one is held unpacked.
    """
    columns: list[Column] = []
    others: dict[int, Array | None] = {}
    rows: list[npt.NDArray[Any]] = []
    many, people = False, 0
    for index, (column, codes, values) in enumerate(encoded):
        people = codes.size
        many = count * people >= PACKED
        columns.append(column)
        if not is_code(column, codes, values):
            others[index] = values
        rows.append(np.packbits(codes) if many and column.levels <= 2 else codes)
    found: IntArray | Bits
    if many and all(column.levels <= 2 for column in columns):
        found = Bits(np.stack(rows), people)
    elif many:
        pairs = zip(columns, rows, strict=True)
        found = np.stack([np.unpackbits(row, count=people) if c.levels <= 2 else row for c, row in pairs])
    else:
        found = np.stack(rows)
    return telling(columns, found, Numbers(found, others))


def from_matrix(array: npt.NDArray[np.generic], names: Sequence[str]) -> Collected:
    """Like `collect`, from an array of people × attributes."""
    if not all(bool(((some == 0) | (some == 1)).all()) for some in _some_people(array)):
        return collect((encode(name, array[:, j]) for j, name in enumerate(names)), len(names))
    columns = [Column(name, ("0", "1")) for name in names]  # bits need no search for their values
    if array.size < PACKED:
        codes = np.ascontiguousarray(array.T, dtype=np.uint8)
        return telling(columns, codes, Numbers(codes, {}))
    parts = [np.packbits(np.ascontiguousarray(some.T != 0), axis=1) for some in _some_people(array)]
    bits = Bits(np.concatenate(parts, axis=1), len(array))
    return telling(columns, bits, Numbers(bits, {}))


def telling(columns: Sequence[Column], codes: IntArray | Bits, numbers: Numbers) -> Collected:
    """The columns that are not constant, with codes and numbers, and why the others are left out."""
    if isinstance(codes, Bits):
        varies = (~codes.constant).tolist()
    else:
        varies = [bool((row != row[0]).any()) for row in codes]
    if all(varies):
        return tuple(columns), codes, numbers, ()
    if not any(varies):
        raise invalid("public", "columns that differ between people", "constant columns only")
    kept = [j for j, keep in enumerate(varies) if keep]
    reasons = tuple(why_left_out(column) for j, column in enumerate(columns) if not varies[j])
    some = codes[kept]
    return tuple(columns[j] for j in kept), some, numbers.choose(some, kept), reasons


def why_left_out(column: Column) -> NotDone:
    """Why a column with a single code is left out."""
    close = column.cuts == ()
    return NotDone(column.name, "too close together to be cut" if close else "the same for everybody", "read")


def _some_people(array: npt.NDArray[np.generic]) -> Iterator[npt.NDArray[Any]]:
    """The array in chunks of rows; each chunk but the last fills whole bytes."""
    step = max(8, _ENTRIES // array.shape[1] // 8 * 8)
    return (array[begin : begin + step] for begin in range(0, len(array), step))


def plain_values(column: Any) -> Any:
    """The plain array behind a frame's column, masks kept."""
    if isinstance(column, np.ma.MaskedArray):
        return column
    if hasattr(column, "to_pylist") and column.null_count:  # Arrow's arrays can fill gaps with other values
        return np.fromiter(column.to_pylist(), dtype=object, count=len(column))
    if not hasattr(column, "to_numpy"):
        return np.asarray(column)
    found = column.to_numpy()
    rounded = found.dtype.kind == "f" and "int" in str(getattr(column, "dtype", "")).lower()
    if rounded and (np.abs(found) >= LARGEST_EXACT).any():  # whole numbers with gaps came as doubles
        return np.array(list(column), dtype=object)
    return found


def common_length(raw: Mapping[str, Any]) -> int:
    for name, values in raw.items():
        if np.ndim(values) != 1:
            raise invalid(f"column '{name}'", "one value per person", f"shape {np.shape(values)}")
    lengths = {name: len(values) for name, values in raw.items()}
    if len(set(lengths.values())) > 1:
        raise invalid("columns", "of one length", lengths)
    return next(iter(lengths.values()), 0)


def coarsen(
    column: Column, codes: IntArray, numbers: Array | None, how: Bins | Mapping[str, str]
) -> tuple[Column, IntArray]:
    """The column with coarser categories, and its codes.

    Examples
    --------
    >>> column, codes, numbers = encode("age", np.array([31.0, 45.0, 52.0, 62.0]))
    >>> coarser, codes = coarsen(column, codes, numbers, [50])
    >>> coarser.labels, coarser.parts, codes.tolist()
    (('≤ 50', '> 50'), (0, 0, 1, 1), [0, 0, 1, 1])
    """
    known = column.labels[: column.levels - column.gaps]
    cuts = None
    if isinstance(how, Mapping):
        if without := set(known) - set(how):
            rule = "given a group for every value"
            raise invalid(f"column '{column.name}'", rule, f"none for {len(without)} values")
        labels = tuple(dict.fromkeys(str(how[value]) for value in known))
        parts = [labels.index(str(how[value])) for value in known]
    else:
        nobody = np.zeros(0), np.zeros(0, np.int64)
        given = isinstance(how, int | str)
        points = None if given else _cut_points(column.name, *nobody, how, dates=column.dates)
        if points is None:
            raise invalid(f"column '{column.name}'", "given cut points, or a group for every value", how)
        cuts = tuple(float(point) for point in points)
        labels = date_cut_labels(cuts) if column.dates else cut_labels(cuts)
        parts = _within_cuts(column, cuts, codes, numbers)
    if column.gaps:
        parts, labels = [*parts, len(labels)], (*labels, column.labels[-1])
    made = Column(column.name, labels, cuts, column.gaps, tuple(parts), column.dates)
    return made, np.array(parts)[codes]


def _within_cuts(
    column: Column, cuts: tuple[float, ...], codes: IntArray, numbers: Array | None
) -> list[int]:
    """The interval between coarser cut points that each category of a column of numbers lies in."""
    if column.cuts is not None:
        if not set(cuts) <= set(column.cuts):
            rule = f"cut at some of its cut points ({', '.join(column.cut_texts)})"
            raise invalid(f"column '{column.name}'", rule, list(cuts))
        ends: Array = np.append(np.array(column.cuts), np.inf)
    elif numbers is None:
        raise invalid(
            f"column '{column.name}'", "a column of numbers, to be cut", "text", "Give groups by value."
        )
    else:
        ends = np.full(column.levels - column.gaps, -np.inf)
        seen = ~np.isnan(numbers)
        ends[codes[seen]] = numbers[seen]
    return [int(place) for place in np.searchsorted(np.array(cuts), ends, side="left")]
