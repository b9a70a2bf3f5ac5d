"""Which people the labels of a published table mean: those with that value, or in that band."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from tellall.core.errors import InvalidInput, invalid
from tellall.people.bands import ColumnLabels, are_codes, is_band, is_below, refine, several
from tellall.people.codes import Array, Column, IntArray
from tellall.people.dataset import Public
from tellall.people.labels import GAPS, TRUTH, Range, label_number, parse_range

__all__ = ["code_people", "layers_of", "merged_labels", "reads_all"]

_SEVERAL = re.compile(r", (?![^\[(]*[\])])")  # commas that are not within brackets


def code_people(public: Public, index: int, labels: Sequence[str], what: str = "label") -> IntArray:
    """The index of the label that fits each person in a column; −1 for people whom no label fits.

    Refuses a label that the column does not know, and two labels that fit the same person.
    """
    layers = layers_of(public, index, labels, what)
    if len(layers) > 1:
        at = int(np.argmax((layers >= 0).sum(axis=0) > 1))
        first, second = (f"'{labels[code]}'" for code in sorted(layers[layers[:, at] >= 0, at].tolist())[:2])
        name = public.columns[index].name
        rule = f"one of several labels of the column '{name}' that exclude each other"
        raise invalid(what, rule, f"{first} and {second}")
    return np.asarray(layers[0])


def layers_of(public: Public, index: int, labels: Sequence[str], what: str = "label") -> IntArray:
    """Layers × people: in each layer the index of the label that fits a person, −1 for none.

    One layer if labels exclude each other; those that overlap, as "0-17" and "15-24", are in different ones.
    Refuses a label that the column does not know.
    """
    layers = [np.full(public.n, -1, dtype=np.int64)]
    which = _reader(public, index)
    for code, label in enumerate(labels):
        mask = which(label)
        if mask is None:
            raise _unknown(public.columns[index], label, what)
        free = next((layer for layer in layers if (layer[mask] < 0).all()), None)
        if free is None:
            layers.append(free := np.full(public.n, -1, dtype=np.int64))
        free[mask] = code
    return np.stack(layers)


def merged_labels(public: Public, index: int, labels: Sequence[str], *, complete: bool) -> dict[str, str]:
    """The column's own bands that labels have to be added up to because they cut them.

    Labels are added up where they share own bands and together hold all of these; with ``complete``, nobody
    is in what no label holds. Others are left out.

    Examples
    --------
    >>> from tellall.people.dataset import Dataset
    >>> people = Dataset.from_frame({"age": ["15-16", "15-16", "17+"]}).public
    >>> merged_labels(people, 0, ["15", "16", "17+"], complete=False)
    {'15': '15-16', '16': '15-16'}
    """
    which, column = _reader(public, index), public.columns[index]
    if all(which(label) is not None for label in labels):
        return {}
    own, given = ColumnLabels(tuple(filter(_is_range, column.labels))), ColumnLabels(tuple(labels))
    if not own.labels or not all(map(_is_range, labels)):
        return {}
    try:
        parts = refine(column.name, [own, given]).parts
    except InvalidInput:
        return {}
    found: dict[str, str] = {}
    shares = parts[given].astype(int) @ parts[own].T.astype(int) > 0
    for first in range(len(labels)):
        inside = np.arange(len(labels)) == first
        while (more := shares[:, shares[inside].any(axis=0)].any(axis=1) & ~inside).any():
            inside |= more
        bands = shares[inside].any(axis=0)
        held, needed = parts[given][inside].sum(axis=0), parts[own][bands].any(axis=0)
        cut = which(labels[first]) is None and bands.any() and held.max() == 1
        if cut and (complete or (held[needed] == 1).all()):
            found[labels[first]] = ", ".join(
                band for band, here in zip(own.labels, bands, strict=True) if here
            )
    return found


def _is_range(label: str) -> bool:
    return is_band(label) or label_number(label) is not None


def reads_all(public: Public, index: int, labels: Sequence[str]) -> bool:
    """Whether the column knows every label."""
    which = _reader(public, index)
    return all(which(label) is not None for label in labels)


def _reader(public: Public, index: int) -> Callable[[str], npt.NDArray[np.bool_] | None]:
    """A function that marks the people a label of this column fits; None for a label it does not know."""
    column, codes = public.columns[index], np.asarray(public.codes[index])
    numbers = public.numbers[index] if public.numbers else None
    last = column.levels - 1

    def by_code(label: str) -> npt.NDArray[np.bool_] | None:
        if label in column.labels:
            return np.asarray(codes == column.labels.index(label))
        if column.gaps and label.lower() in GAPS:
            return np.asarray(codes == last)
        ranges = is_band(label) or len(several(label)) > 1
        held = _made_of(label, column) if ranges else _below(label, column)
        return None if held is None else held[codes]

    def by_number(label: str) -> npt.NDArray[np.bool_] | None:
        assert numbers is not None
        if column.gaps and label.lower() in GAPS:
            return np.isnan(numbers)
        number = TRUTH.get(label.lower(), label_number(label))
        if number is not None:
            same = np.asarray(numbers == number)
            return same if same.any() else None
        found = parse_range(label)
        if found is None or (found.whole and _between(numbers, found)):
            return by_code(label)
        return found.holds(numbers)

    by_label = by_code if numbers is None else by_number

    def by_any(label: str) -> npt.NDArray[np.bool_] | None:
        held = by_label(label)
        if held is not None or ", " not in label:
            return held
        masks = [by_label(part) for part in _SEVERAL.split(label)]
        found = [mask for mask in masks if mask is not None]
        return np.asarray(np.logical_or.reduce(found)) if len(found) == len(masks) > 1 else None

    return by_any


def _made_of(label: str, column: Column) -> npt.NDArray[np.bool_] | None:
    """Which of a column's own bands a range is made of; None if it is not made of bands."""
    bands = tuple(filter(_is_range, column.labels))
    if not any(map(is_band, bands)):
        return None
    own, given = ColumnLabels(bands), ColumnLabels((label,))
    try:
        parts = refine(column.name, [own, given]).parts
    except InvalidInput:
        return None
    inside, outside = (parts[own] & parts[given]).any(axis=1), (parts[own] & ~parts[given]).any(axis=1)
    if (inside & outside).any():
        return None  # nobody knows who of a band that is cut is meant
    held = {bands[at] for at in np.flatnonzero(inside)}
    return np.array([own in held for own in column.labels])


def _below(label: str, column: Column) -> npt.NDArray[np.bool_] | None:
    """Which of a column's own codes are below a code of a hierarchy; None if it is none."""
    own = column.labels[: column.levels - column.gaps]
    if not own or not are_codes(own) or not any(map(str.isdigit, "".join(own))):
        return None
    held = np.array([is_below(each, label) for each in column.labels])
    return held if held.any() else None


def _between(numbers: Array, found: Range) -> bool:
    """Whether somebody is less than one beside a band of whole numbers, and perhaps in it."""
    with np.errstate(invalid="ignore"):
        below = (numbers > found.low - 1) & (numbers < found.low)
        above = (numbers > found.high) & (numbers < found.high + 1)
    return bool((below | above).any())


def _unknown(column: Column, label: str, what: str) -> InvalidInput:
    rule = f"a value that somebody has in the column '{column.name}'"
    if is_band(label) and any(map(is_band, column.labels)):
        rule += ", or made of its bands"
    return invalid(what, rule, f"'{label}'", "Bands say what a label is made of.")
