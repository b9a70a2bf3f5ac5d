"""Numbers as tables print them: signs of thousands and decimals, percent, footnotes, hidden ones."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache
from typing import Any

import numpy as np

from tellall.people.columns import is_missing

__all__ = ["BLANK", "Shown", "decimal_sign", "shown_of"]

_LONGEST = 1000  # characters of a cell that is looked at for a number


@dataclass(frozen=True, slots=True)
class Shown:
    """A cell of a table, as printed and as read.

    Attributes
    ----------
    text
        What is printed, spaces at its ends left out.
    number
        The number, as printed: 45.2 in "45.2 %". Of several, as in "45.2 (12.1)", the first. None if there is
        none, if a mark hides it, or if none is the first: "[1.2, 3.4]", "12/34".
    step
        The width of the last digit that is printed: .1 in "45.2 %", 1 in "1,234".
    percent
        Whether a percent sign follows the number.
    hidden
        Whether a mark such as "*", "c", "-" or "<5" is in place of a number.
    below, reaches
        What a hidden number is below, and whether it may be that itself: 5 of "<5"; 4 of "≤4", which reaches
        it.
    brackets
        Whether the number, or the pair, is printed in brackets: "(0.12)", "[1.2, 3.4]".
    mark
        The footnote mark behind the number: "a" in "12 a)", "***" in "0.31***".
    parts
        Of several numbers in one cell, each: "45.2 (12.1)" has two, "12 (45.2 %)" too, "[1.2, 3.4]" as well.
    continued
        Whether this cell repeats another, because the two are merged or the second was left empty.
    """

    text: str
    number: float | None = None
    step: float | None = None
    percent: bool = False
    hidden: bool = False
    below: float | None = None
    reaches: bool = False
    brackets: bool = False
    mark: str = ""
    parts: tuple[Shown, ...] = ()
    continued: bool = False

    @property
    def blank(self) -> bool:
        """Whether nothing is printed."""
        return not self.text

    @property
    def numeric(self) -> bool:
        """Whether it is a number, several, or a mark in place of one."""
        return self.number is not None or self.hidden or bool(self.parts)

    def as_continued(self) -> Shown:
        """The same, as a repetition."""
        return replace(self, continued=True)

    def __str__(self) -> str:
        return self.text


BLANK = Shown("")

_SPACES = re.compile("[\\s\u00a0\u2000-\u200a\u202f\u205f\u3000]+")
_ZERO_WIDTH = re.compile("[\u200b-\u200f\u2060\ufeff]")
_DASH = "[\u2010-\u2015\u2212\ufe63\uff0d]"
_MINUS = re.compile(rf"(?:^{_DASH}\s*|(?<=[ (\[;,]){_DASH})(?=[\d.,])")
_HIDDEN = re.compile(
    r"\*{1,3}|-{1,3}|[\u2010-\u2015\u2212]|\.{1,3}|\u2026|:|[xcs#]|xx|\(c\)|\[[a-z]{1,4}\]|n/?a|n\.a\.|<na>|-?nan"
    r"|null|suppressed|#(?:n/a|div/0!|value!|ref!|name\?|num!|null!)",
    re.IGNORECASE,
)
_LESS = re.compile(r"(<=|≤|⩽|<|less than|fewer than|under)\s*(.+)", re.IGNORECASE)
_MARK = re.compile(  # behind a number: stars, daggers, raised or bracketed letters, a single letter apart
    r"(?<=[\d.,%)\]])(?:\s*(?P<sign>[*†‡§¶#^]{1,4}|[\u00b9\u00b2\u00b3\u2070-\u207f\u1d43-\u1d6a]{1,3})"
    r"|\s*(?P<note>[a-z]|(?<=\s)\d{1,2})\)|\s+(?P<letter>[a-z])"
    r"|\s*\[(?P<word>(?:note )?\d{1,2}|[a-z]{1,4})\])$",
    re.IGNORECASE,
)
_PAIR = re.compile(
    r"(?P<first>[^()\[\]]*)(?:\((?P<round>[^()\[\]]*)\)|\[(?P<square>[^()\[\]]*)\])(?P<end>%?)"
)
_WITHIN = re.compile(r"\s*;\s*|,\s+|\s+(?:to|–|—|-)\s+|(?<=\d)\s*[–—]\s*(?=[\d-])")
_PLUS = re.compile(r"\s*(?:±|\+/-)\s*")
_SHARE = re.compile(r"(\d[^/]*?)\s*/\s*(\d[^/]*)")
_CURRENCY = re.compile(r"^([+-]?)\s*[$€£¥]\s*|\s*[$€£¥]$")


def _number_pattern(decimal: str, thousands: str) -> re.Pattern[str]:
    point = re.escape(decimal)
    grouped = rf"[1-9]\d{{0,2}}([{thousands} '’])\d{{3}}(?:\2\d{{3}})*(?:{point}\d*)?"
    plain = rf"\d+(?:{point}\d*)?|{point}\d+"
    return re.compile(rf"([+-]?)\s?(?:{grouped}|{plain})(?:[eE][+-]?\d{{1,3}})?")


_PATTERNS = {".": _number_pattern(".", ","), ",": _number_pattern(",", ".")}


def shown_of(value: object, decimal: str = ".") -> Shown:
    """A cell, from its text or from what a spreadsheet holds; ``decimal`` is the table's decimal sign.

    Notes
    -----
    A number that is not text no longer shows how it was printed: zeros at its end do not count then, and its
    step is not below what a floating-point number of its size can tell apart.

    Examples
    --------
    >>> cell = shown_of("1,234.50")
    >>> cell.number, cell.step
    (1234.5, 0.01)
    >>> shown_of("1.234,5", ",").number, shown_of("45.2 %").percent, shown_of("<5").below
    (1234.5, True, 5.0)
    >>> [part.number for part in shown_of("45.2 (12.1)").parts], shown_of("0.31***").mark
    ([45.2, 12.1], '***')
    """
    if isinstance(value, str):
        return _of_text(value, decimal)
    if is_missing(value):
        return BLANK
    if isinstance(value, bool | np.bool_) or not isinstance(
        value, int | float | np.integer | np.floating | Decimal
    ):
        text = value.isoformat() if isinstance(value, datetime.date | datetime.time) else str(value).strip()
        return Shown(text)
    return _of_number(value)


def _of_number(value: Any) -> Shown:
    if isinstance(value, int | np.integer):
        return Shown(str(int(value)), float(value) if abs(int(value)) < 2**1000 else None, 1.0)
    number = float(value)
    if not math.isfinite(number):
        return Shown(str(number))
    if number.is_integer() and abs(number) < 2**53:
        return Shown(str(int(number)), number, 1.0)
    exponent = Decimal(repr(number)).normalize().as_tuple().exponent
    assert isinstance(exponent, int)
    return Shown(repr(number), number, max(float(f"1e{exponent}"), 8 * math.ulp(number)))


@lru_cache(maxsize=20_000)
def _of_text(raw: str, decimal: str) -> Shown:
    text = _ZERO_WIDTH.sub("", _SPACES.sub(" ", raw)).strip()
    if not text or len(text) > _LONGEST:
        return Shown(text)
    plain = _MINUS.sub("-", text)
    found = _single(plain, decimal) or _several(plain, decimal)
    return Shown(text) if found is None else replace(found, text=text)


def _single(plain: str, decimal: str) -> Shown | None:
    """A number, perhaps in brackets, or a mark that hides one; None if it is neither."""
    if _HIDDEN.fullmatch(plain):
        return Shown(plain, hidden=True)
    text, mark = plain, ""
    if (found := _number(text, decimal)) is not None:
        return found
    if (less := _LESS.fullmatch(text)) is not None:
        end = _number(less[2], decimal)
        if end is not None:
            reaches = less[1] in ("<=", "≤", "⩽")
            return Shown(
                plain, hidden=True, below=end.number, reaches=reaches, percent=end.percent, step=end.step
            )
        return None
    if (noted := _MARK.search(text)) is not None:
        mark = next(word for word in noted.groups() if word)
        found = _single(text[: noted.start()].rstrip(), decimal)
        return None if found is None or found.mark else replace(found, mark=mark)
    if text[0] + text[-1] in ("()", "[]"):
        found = _number(text[1:-1].strip(), decimal)
        return None if found is None else replace(found, brackets=True)
    return None


def _number(text: str, decimal: str) -> Shown | None:
    percent = text.endswith("%")
    plain = _CURRENCY.sub(r"\1", text[:-1].rstrip() if percent else text).strip()
    if _PATTERNS[decimal].fullmatch(plain) is None:
        return None
    thousands = "," if decimal == "." else "."
    bare = re.sub(rf"[{thousands} '’]", "", plain).replace(decimal, ".")
    value = Decimal(bare)
    exponent = value.as_tuple().exponent
    number = float(value)
    if not math.isfinite(number) or not isinstance(exponent, int):
        return None
    return Shown(text, number, float(f"1e{exponent}"), percent)


def _several(plain: str, decimal: str, mark: str = "") -> Shown | None:
    """Several numbers in one cell; None if it is anything else."""
    for texts, alone in _splits(plain):
        parts = tuple(_single(text, decimal) for text in texts if text)
        pair = tuple(part for part in parts if part is not None)
        if len(pair) < 2 or len(pair) < len(texts):
            continue
        first = pair[0] if alone else Shown("")
        return replace(first, text=plain, mark=mark, parts=pair, brackets=plain[0] in "([")
    if not mark and (noted := _MARK.search(plain)) is not None:
        return _several(plain[: noted.start()].rstrip(), decimal, next(filter(None, noted.groups())))
    return None


def _splits(text: str) -> Iterator[tuple[list[str], bool]]:
    """Ways to take a cell apart, each with whether the first part is the cell's number."""
    if (pair := _PAIR.fullmatch(text)) is not None:
        inner = pair["round"] if pair["round"] is not None else pair["square"]
        within = _WITHIN.split(inner.strip())
        first = pair["first"].strip()
        yield ([first, *within] if first else within), bool(first)
    yield _PLUS.split(text), True
    if (share := _SHARE.fullmatch(text)) is not None:
        yield [share[1], share[2]], False


_COMMA_ONLY = re.compile(
    r"[+-]?(?:\d{1,3}(?:[. ']\d{3})+,\d+|(?:0|\d{4,}),\d+|\d{1,3},(?:\d{1,2}|\d{4,})|,\d+)"
)
_POINT_ONLY = re.compile(
    r"[+-]?(?:\d{1,3}(?:[, ']\d{3})+\.\d+|(?:0|\d{4,})\.\d+|\d{1,3}\.(?:\d{1,2}|\d{4,})|\.\d+)"
)
_EITHER = re.compile(r"[+-]?[1-9]\d{0,2}(?:[.,]\d{3})")
_TWICE = re.compile(r"[+-]?[1-9]\d{0,2}([.,])\d{3}(?:\1\d{3})+")
_PIECES = re.compile(r"[+-]?[\d.,'’]*\d[\d.,'’]*")


def decimal_sign(texts: Iterable[str]) -> tuple[str, bool]:
    """The decimal sign of a table, and whether its numbers settle that.

    Examples
    --------
    >>> decimal_sign(["1.234,5", "12"]), decimal_sign(["1,234", "56"]), decimal_sign(["12", "x"])
    ((',', True), ('.', False), ('.', True))
    """
    point = comma = either = 0
    for text in texts:
        for piece in _PIECES.findall(_MINUS.sub("-", _SPACES.sub(" ", text))):
            plain = piece.strip("'’")
            twice = _TWICE.fullmatch(plain)
            point += _POINT_ONLY.fullmatch(plain) is not None or (twice is not None and twice[1] == ",")
            comma += _COMMA_ONLY.fullmatch(plain) is not None or (twice is not None and twice[1] == ".")
            either += _EITHER.fullmatch(plain) is not None
    sure = min(point, comma) == 0 and (max(point, comma) > 0 or not either)
    return ("," if comma > point else "."), sure
