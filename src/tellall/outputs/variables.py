"""Columns of people as a printed table may name them: labels are matched to values, words to names."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.outputs.grids import TOTALS
from tellall.people.codes import Array, Column, IntArray
from tellall.people.cuts import number_text
from tellall.people.dataset import Dataset
from tellall.people.labels import label_number, parse_range

__all__ = ["GAP_WORDS", "TableVariable", "is_total", "plain_text", "variables_of", "words_of"]

Flags = npt.NDArray[np.bool_]

_TOTAL_WORDS = {
    *TOTALS,
    "all people",
    "all persons",
    "everybody",
    "everyone",
    "both",
    "both sexes",
    "any",
    "together",
    "gesamt",
    "insgesamt",
    "summe",
    "alle",
    "ensemble",
    "tous",
    "todos",
    "totale",
    "totaal",
    "column total",
    "row total",
    "total n",
    "n total",
}
GAP_WORDS = ("missing", "nan", "na", "none", "unknown", "not known", "not stated", "nat", "null", "n a")
_YES = {"yes", "y", "true", "t", "1", "ja", "oui", "si", "present", "positive"}
_NO = {"no", "n", "false", "f", "0", "nein", "non", "absent", "negative"}
_WITH_COUNT = re.compile(r"\s*[(\[,;]?\s*\b[nN]\s*=\s*[\d][\d,. ]*\s*[)\]]?\s*$")
_FOOTNOTE = re.compile(r"(?<=\w)\s*(?:[*†‡§¶]+|[\u00b9\u00b2\u00b3\u2070-\u2079]+|\s[a-z]\)|\[\d{1,2}\])$")
_CODED = re.compile(r"[(\[]?(-?\d+)[)\]]?\s*(?:[=:.)–-]|\s)\s*(\S.*)")
_BEHIND = re.compile(r"(\S.*?)\s*[(\[](-?\d+)[)\]]")
_NAMED = re.compile(r"\s*(?:==|=|:|\[T?\.?|_|-|–|\s)\s*")


@lru_cache(maxsize=50_000)
def plain_text(text: str) -> str:
    """The text in small letters, without accents, signs between words and spaces at its ends.

    Examples
    --------
    >>> plain_text("  Âge_Group "), plain_text("Self-employed"), plain_text("≥ 80")
    ('age group', 'self employed', '≥ 80')
    """
    folded = unicodedata.normalize("NFKD", text.casefold())
    bare = "".join(letter for letter in folded if not unicodedata.combining(letter))
    return " ".join(re.sub(r"[_\-–—/.,;:'\"]+(?!\d)|(?<!\d)[.,](?=\d)|_", " ", bare).split())


def words_of(text: str) -> tuple[str, ...]:
    """The words of a text, as `plain_text` has them."""
    return tuple(re.findall(r"\w+", plain_text(text)))


def is_total(label: str) -> bool:
    """Whether a label stands for all values.

    Examples
    --------
    >>> is_total("Total"), is_total("All people"), is_total("Women")
    (True, True, False)
    """
    bare = plain_text(_WITH_COUNT.sub("", label))
    return bare in _TOTAL_WORDS or bare.removeprefix("total ") in ("all", "sum", "people", "persons")


@dataclass(frozen=True, eq=False)
class TableVariable:
    """A column that a table may be about.

    Attributes
    ----------
    name
        Its name.
    index
        Its place among the public columns; None for the secret.
    codes
        For each person the place of their value among the distinct ones; −1 if they have none.
    texts
        The distinct values as text.
    numbers
        The distinct values as numbers, in ascending order; None for text.
    coded
        Whether numbers only stand for other values, as 0 and 1 for "no" and "yes".
    """

    name: str
    index: int | None
    codes: IntArray
    texts: tuple[str, ...]
    numbers: Array | None
    coded: bool = False
    _found: dict[str, Flags | None] = field(default_factory=dict, repr=False)

    @property
    def secret(self) -> bool:
        """Whether it is the secret."""
        return self.index is None

    @property
    def size(self) -> int:
        """How many distinct values there are."""
        return len(self.texts) if self.numbers is None else int(self.numbers.size)

    @cached_property
    def gaps(self) -> bool:
        """Whether somebody has no value."""
        return bool((self.codes < 0).any())

    @cached_property
    def people_values(self) -> Array:
        """Everybody's number, NaN for none."""
        assert self.numbers is not None
        return np.append(self.numbers, np.nan)[self.codes]

    @cached_property
    def plain(self) -> str:
        """The name as words."""
        return plain_text(self.name)

    @cached_property
    def _by_text(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for place, text in enumerate(self.texts):
            found.setdefault(plain_text(text), place)
        return found

    def holds(self, label: str) -> Flags | None:
        """Which distinct values a label means, "no value" last; None if it is unknown."""
        if label not in self._found:
            self._found[label] = self._read(label)
        return self._found[label]

    def _read(self, label: str) -> Flags | None:
        bare = _FOOTNOTE.sub("", _WITH_COUNT.sub("", label.strip())).strip()
        found = self._value(bare)
        if found is None:
            found = self._after_name(bare)
        if found is None and plain_text(bare) in GAP_WORDS and self.gaps:
            found = np.arange(self.size + 1) == self.size
        if found is None and (coded := _CODED.fullmatch(bare)) is not None and not parse_range(bare):
            found = self._code(coded[1], coded[2])
        if found is None and (behind := _BEHIND.fullmatch(bare)) is not None:
            found = self._code(behind[2], behind[1])
        return found

    def _code(self, number: str, text: str) -> Flags | None:
        """The value of a code with its words: "1 = men"."""
        said = self._value(text)
        code = self._value(number)
        return code if said is None or code is None or np.array_equal(said, code) else None

    def _value(self, bare: str) -> Flags | None:
        if not bare:
            return None
        same = self._by_text.get(plain_text(bare))
        if same is not None:
            return np.asarray(np.arange(self.size + 1) == same)
        if self.numbers is None:
            return self._truth(bare)
        number = label_number(bare.replace(",", "")) if re.fullmatch(r"[+-]?[\d,.]+", bare) else None
        if number is not None:
            return self._number(number)
        truth = self._truth(bare)
        if truth is not None:
            return truth
        found = None if self.coded else parse_range(bare)
        if found is None:
            return None
        return np.append(found.holds(self.numbers), False)

    def _number(self, number: float) -> Flags | None:
        assert self.numbers is not None
        at = int(np.searchsorted(self.numbers, number))
        for place in (at - 1, at):
            if 0 <= place < self.size and abs(self.numbers[place] - number) <= 1e-9 * max(1, abs(number)):
                return np.asarray(np.arange(self.size + 1) == place)
        return None

    def _truth(self, bare: str) -> Flags | None:
        """Yes or no of a column of two values."""
        if self.size != 2:
            return None
        word = plain_text(bare)
        side = 1 if word in _YES else 0 if word in _NO else None
        own = [plain_text(text) for text in self.texts]
        if side is None:
            return None
        for place, text in enumerate(own):
            if text in (_YES if side else _NO):
                return np.asarray(np.arange(3) == place)
        return None

    def _after_name(self, bare: str) -> Flags | None:
        """The value behind the column's name: "sex = f", "sex[T.f]", "age 20-29"."""
        start = bare.casefold()
        for name in {self.name.casefold(), self.plain}:
            if start.startswith(name) and len(start) > len(name):
                sign = _NAMED.match(bare[len(name) :])
                if sign is not None:
                    return self._value(bare[len(name) + sign.end() :].rstrip("] ").strip())
        return None

    def says_name(self, label: str) -> bool:
        """Whether a label is this column's name, or begins with it as in "sex = f"."""
        word = plain_text(_WITH_COUNT.sub("", label))
        return word == self.plain or (word.startswith(self.plain + " ") and self.holds(label) is not None)


def variables_of(people: Dataset) -> list[TableVariable]:
    """All columns of these people, the secret last."""
    public = people.public
    found = [_of_column(public, index) for index in range(len(public.columns))]
    if people.secret is not None:
        found.append(_of_secret(people))
    return found


def _of_column(public: Any, index: int) -> TableVariable:
    column: Column = public.columns[index]
    numbers = public.numbers[index] if public.numbers else None
    codes = np.asarray(public.codes[index]).astype(np.int64)  # −1 has to fit
    if numbers is None:
        size = column.levels - column.gaps
        plain = np.where(codes < size, codes, -1)
        return TableVariable(column.name, index, plain, column.labels[:size], None)
    known = ~np.isnan(numbers)
    if column.cuts is None and not column.dates:
        size = column.levels - column.gaps
        values = np.full(size, np.nan)
        values[codes[known]] = numbers[known]
        plain = np.where(known, codes, -1)
        if size == 0 or not np.isnan(values).any():
            return TableVariable(column.name, index, plain, _texts(values), values)
    distinct, inverse = np.unique(numbers[known], return_inverse=True)
    plain = np.full(numbers.size, -1, dtype=np.int64)
    plain[known] = inverse
    if column.dates and column.cuts is None:
        return TableVariable(column.name, index, plain, column.labels[: distinct.size], distinct, coded=True)
    return TableVariable(column.name, index, plain, _texts(distinct), distinct)


def _of_secret(people: Dataset) -> TableVariable:
    secret = np.asarray(people.secret)
    if not people.meaning:
        distinct, inverse = np.unique(secret.astype(np.float64), return_inverse=True)
        return TableVariable(people.secret_name, None, inverse.astype(np.int64), _texts(distinct), distinct)
    meaning = people.meaning
    said = [label_number(label) for label in meaning]
    numbers = [number for number in said if number is not None]
    plain = len(numbers) == len(said) and numbers == sorted(numbers)
    values = np.array(numbers if plain else range(len(meaning)), dtype=np.float64)
    kept = values if plain or len(meaning) == 2 else None
    return TableVariable(people.secret_name, None, secret.astype(np.int64), meaning, kept, coded=not plain)


def _texts(values: Sequence[float] | Array) -> tuple[str, ...]:
    return tuple(map(number_text, values)) if len(values) <= 5000 else tuple(map(str, values))
