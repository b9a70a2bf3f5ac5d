"""Labels of published tables: which people the words "f", "31", "(20, 30]", "20-29" or "80+" mean."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tellall.core.errors import InvalidInput, invalid
from tellall.people.bits import IntArray
from tellall.people.columns import MISSING, Array, Column, is_missing, number_text
from tellall.people.dataset import Public

__all__ = ["Range", "code_people", "label_number", "label_text", "own_label", "parse_range", "reads_all"]

_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_BRACKETS = re.compile(rf"([\[(])\s*({_NUMBER}|[+-]?inf)\s*,\s*({_NUMBER}|[+-]?inf)\s*([\])])")
_SIGN = re.compile(rf"(<=|>=|<|>|≤|≥)\s*({_NUMBER})")
_WHOLE = r"(?:\d{1,3}(?:,\d{3})+|\d+)"  # 1,999 or 1999
_FROM_TO = re.compile(rf"(-?{_WHOLE})\s*(?:-|‐|‑|‒|–|—|−|to|bis)\s*(-?{_WHOLE})")
_AND_MORE = re.compile(
    rf"({_WHOLE})\s*(?:\+|(?:and|or|und)\s+(?:over|above|more|older|greater|mehr|älter|up))"
)
_AND_LESS = re.compile(rf"({_WHOLE})\s+(?:and|or|und)\s+(?:under|below|less|fewer|younger|weniger|jünger)")
_BEFORE = re.compile(rf"(under|below|less than|fewer than|younger than|unter|up to|at most|bis)\s+({_WHOLE})")
_BEYOND = re.compile(rf"(over|above|more than|older than|über|at least|from|ab)\s+({_WHOLE})")
_TO_UNDER = re.compile(rf"({_WHOLE})\s*(?:to|bis)\s+(?:under|below|less than|unter)\s+({_WHOLE})")
_ABOUT = re.compile(
    r"(?:ages?|aged|alter)\s+(?=\S)|\s*(?<=[\d+\s])(?:years?(?: old)?|yrs?|jahren?|jahre)(?=\s|$)"
)
_INCLUDED = ("up to", "at most", "bis", "at least", "from", "ab")
_GAPS = ("", "nan", "na", "<na>", "none", "nat", MISSING)
_TRUTH = {"true": 1.0, "false": 0.0}


def label_text(label: object) -> str:
    """The label as text: empty if missing, without a decimal point if a whole number.

    Examples
    --------
    >>> label_text(31.0), label_text(" f "), label_text(None)
    ('31', 'f', '')
    """
    if is_missing(label):
        return ""
    if isinstance(label, bool | np.bool_):
        return str(int(label))
    if isinstance(label, float | np.floating):
        return number_text(float(label))
    return str(label).strip()


def own_label(label: str, own: Sequence[str], *, gaps: bool = False) -> str:
    """The column's own spelling of a label; the label itself if the column has none.

    Examples
    --------
    >>> own_label("True", ("0", "1")), own_label("2.50", ("2.5", "3")), own_label("west", ("east",))
    ('1', '2.5', 'west')
    """
    if label in own:
        return label
    if gaps and label.lower() in _GAPS:
        return own[-1]
    number = _TRUTH.get(label.lower(), label_number(label))
    same = [text for text in own if number is not None and label_number(text) == number]
    return same[0] if len(same) == 1 else label


@dataclass(frozen=True)
class Range:
    """Numbers between two ends, each included or not; ``whole`` if only whole numbers are meant."""

    low: float
    high: float
    with_low: bool
    with_high: bool
    whole: bool = False

    def holds(self, numbers: Array) -> npt.NDArray[np.bool_]:
        """Which of the numbers are inside; missing numbers are not."""
        with np.errstate(invalid="ignore"):
            above = numbers >= self.low if self.with_low else numbers > self.low
            below = numbers <= self.high if self.with_high else numbers < self.high
        return np.asarray(above & below)


def parse_range(text: str) -> Range | None:
    """The range of numbers that a label means; None if it is not a range.

    Examples
    --------
    >>> parse_range("(20, 30]")
    Range(low=20.0, high=30.0, with_low=False, with_high=True, whole=False)
    >>> parse_range("> 62").low, parse_range("20-29").high, parse_range("80+").low
    (62.0, 29.0, 80.0)
    >>> parse_range("80 and over").low, parse_range("under 12").high, parse_range("20 to 29 years").high
    (80.0, 12.0, 29.0)
    >>> parse_range("north") is None
    True
    """
    if found := _BRACKETS.fullmatch(text):
        left, low, high, right = found.groups()
        return Range(float(low), float(high), left == "[", right == "]")
    if found := _SIGN.fullmatch(text):
        sign, end = found[1].replace("≤", "<=").replace("≥", ">="), float(found[2])
        if sign[0] == "<":
            return Range(-np.inf, end, True, sign == "<=")
        return Range(end, np.inf, sign == ">=", True)
    return _in_words(" ".join(_ABOUT.sub("", text.lower()).split()))


def _in_words(text: str) -> Range | None:
    """The range of "20-29", "20 to 29", "80+", "80 and over", "under 12", ..., in small letters."""
    if found := _FROM_TO.fullmatch(text):
        low, high = map(_whole_number, found.groups())
        return Range(low, high, True, True, whole=True) if low <= high else None
    if found := _TO_UNDER.fullmatch(text):
        low, high = map(_whole_number, found.groups())
        return Range(low, high, True, False) if low < high else None
    if found := _AND_MORE.fullmatch(text):
        return Range(_whole_number(found[1]), np.inf, True, True)
    if found := _AND_LESS.fullmatch(text):
        return Range(-np.inf, _whole_number(found[1]), True, True)
    if found := _BEFORE.fullmatch(text):
        return Range(-np.inf, _whole_number(found[2]), True, found[1] in _INCLUDED)
    if found := _BEYOND.fullmatch(text):
        return Range(_whole_number(found[2]), np.inf, found[1] in _INCLUDED, True)
    return None


def _whole_number(text: str) -> float:
    return float(text.replace(",", ""))


def label_number(text: str) -> float | None:
    """The number that a label is; None if it is not one.

    Examples
    --------
    >>> label_number("31"), label_number("2.50"), label_number("20-29")
    (31.0, 2.5, None)
    """
    return float(text) if re.fullmatch(_NUMBER, text) else None


def code_people(public: Public, index: int, labels: Sequence[str], what: str = "label") -> IntArray:
    """The index of the label that fits each person in a column; −1 for people whom no label fits.

    Refuses a label that the column does not know, and two labels that fit the same person.
    """
    codes = np.full(public.n, -1, dtype=np.int64)
    which = _reader(public, index)
    for code, label in enumerate(labels):
        mask = which(label)
        if mask is None:
            raise _unknown(public.columns[index], label, what)
        if (taken := codes[mask]).size and taken.max() >= 0:
            both = f"'{labels[int(taken.max())]}' and '{label}'"
            name = public.columns[index].name
            raise invalid(what, f"one of several labels of the column '{name}' that exclude each other", both)
        codes[mask] = code
    return codes


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
        if column.gaps and label.lower() in _GAPS:
            return np.asarray(codes == last)
        return None

    def by_number(label: str) -> npt.NDArray[np.bool_] | None:
        assert numbers is not None
        if column.gaps and label.lower() in _GAPS:
            return np.isnan(numbers)
        number = _TRUTH.get(label.lower(), label_number(label))
        if number is not None:
            same = np.asarray(numbers == number)
            return same if same.any() else None
        found = parse_range(label)
        if found is None or (found.whole and not _all_whole(numbers)):
            return by_code(label)
        return found.holds(numbers)

    return by_code if numbers is None else by_number


def _all_whole(numbers: Array) -> bool:
    known = numbers[~np.isnan(numbers)]
    return bool((known == np.rint(known)).all())


def _unknown(column: Column, label: str, what: str) -> InvalidInput:
    return invalid(what, f"a value that somebody has in the column '{column.name}'", f"'{label}'")
