"""Labels of published tables: what the words "31", "(20, 30]", "20-29" or "80 and over" mean."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tellall.people.codes import Array
from tellall.people.columns import MISSING, is_missing
from tellall.people.cuts import number_text

__all__ = ["GAPS", "TRUTH", "Range", "label_number", "label_text", "own_label", "parse_range"]

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
GAPS = ("", "nan", "na", "<na>", "none", "nat", MISSING)
TRUTH = {"true": 1.0, "false": 0.0}


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
    if gaps and label.lower() in GAPS:
        return own[-1]
    number = TRUTH.get(label.lower(), label_number(label))
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
