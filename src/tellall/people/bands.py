"""Codings of one column taken together: single years, bands, other bands, through their common refinement."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import ceil, floor, inf, isfinite
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt

from tellall.core import files
from tellall.core.errors import InvalidInput, invalid
from tellall.core.records import VERSION, Meaning, Record, read
from tellall.core.text import said
from tellall.people.columns import MISSING
from tellall.people.cuts import number_text
from tellall.people.labels import Range, label_number, label_text, parse_range

__all__ = [
    "Bands",
    "ColumnCoding",
    "ColumnCodings",
    "ColumnLabels",
    "Refined",
    "can_refine",
    "is_band",
    "most_at_once",
    "overlap",
    "refine",
    "several",
]

Cut = tuple[float, int]  # a number, and whether the cut is before it (0) or after it (1)
Span = tuple[Cut, Cut]
Compared = tuple[str, float | str]  # a sign and a value of a condition
_Mask = npt.NDArray[np.bool_]

_START: Cut = (-inf, 0)
_END: Cut = (inf, 1)
_GAPS = (MISSING, "nan", "<na>", "nat", "n/a", "not stated", "not known", "unknown", "not available")
_EQUAL = ("==", "!=")
_LARGEST_FILE = 2**22
_CODE = re.compile(r"[A-Z][0-9A-Z]*(?:\.[0-9A-Z]+)*")


@dataclass(frozen=True)
class Bands:
    """What the labels of a column mean, where they do not say it themselves.

    Parameters
    ----------
    column
        The column's name.
    mapping
        For each label what it is made of: a number, a range such as "20-29" or "80+", another label, or a
        list of these. Labels that are ranges or numbers need no entry.
    low, high
        The least and the largest number that anybody has, if that is known: with ``low=0``, "<12" and "0-11"
        are the same. The least is zero anyway if a label starts there and none is about less.

    Examples
    --------
    >>> Bands("age", {"young": "0-19", "old": ["20-64", "65+"]})
    Bands of age: young = 0-19; old = 20-64, 65+
    """

    column: str
    mapping: tuple[tuple[str, tuple[str, ...]], ...]
    low: float
    high: float

    def __init__(
        self,
        column: str,
        mapping: Mapping[str, object] | None = None,
        *,
        low: float | None = None,
        high: float | None = None,
    ) -> None:
        if not isinstance(column, str) or not column:
            raise invalid("column", "the name of a column", column)
        if mapping is None:
            mapping = {}
        if not isinstance(mapping, Mapping):
            raise invalid("mapping", "a dictionary: what each label is made of", type(mapping).__name__)
        ends = [-inf if low is None else float(low), inf if high is None else float(high)]
        if not ends[0] <= ends[1]:
            raise invalid("low", f"at most high ({ends[1]:g})", low)
        given = tuple((label_text(label), _members(label, made_of)) for label, made_of in mapping.items())
        if len({label for label, _ in given}) < len(given):
            raise invalid("mapping", "each label once", ", ".join(label for label, _ in given))
        for name, value in (("column", column), ("mapping", given), ("low", ends[0]), ("high", ends[1])):
            object.__setattr__(self, name, value)
        known = dict(given)
        for label, _ in given:
            _leaves(label, known)  # refuses labels that are made of themselves

    def made_of(self, label: str) -> tuple[str, ...]:
        """What a label is made of in the end: numbers, ranges and texts without an entry."""
        return tuple(_leaves(label, dict(self.mapping)))

    @classmethod
    def read(cls, path: str | Path) -> tuple[Bands, ...]:
        """What a TOML file says about columns, in sections such as ``[bands.age]``."""
        text = files.read_text(Path(path), what="bands", largest=_LARGEST_FILE)
        try:
            given = tomllib.loads(text)
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            raise invalid(
                "bands", "a TOML file", str(path), f"The reader said: {said(error, 120)}."
            ) from None
        return cls.told(read(ColumnCodings, given, what=Path(path).name).bands)

    @classmethod
    def told(cls, sections: Mapping[str, ColumnCoding]) -> tuple[Bands, ...]:
        """What the sections of a document say, by column."""
        return tuple(cls(name, each.labels, low=each.low, high=each.high) for name, each in sections.items())

    def section(self) -> ColumnCoding:
        """The section of this column in a document."""
        low, high = (end if isfinite(end) else None for end in (self.low, self.high))
        return ColumnCoding(labels=dict(self.mapping), low=low, high=high)

    def explained(self, label: str) -> str:
        """The label itself, or what it is made of as a list: "20-64, 65+"."""
        return ", ".join(self.made_of(label))

    def __repr__(self) -> str:
        known = [f"{label} = {', '.join(members)}" for label, members in self.mapping]
        if isfinite(self.low) or isfinite(self.high):
            known.append(f"from {self.low:g} to {self.high:g}")
        return f"Bands of {self.column}: {'; '.join(known) or 'nothing said'}"


def _members(label: object, made_of: object) -> tuple[str, ...]:
    several = isinstance(made_of, Iterable) and not isinstance(made_of, str)
    texts = tuple(map(label_text, made_of if isinstance(made_of, Iterable) and several else [made_of]))
    if not texts or "" in texts:
        raise invalid("mapping", f"one or more values for '{label}'", made_of)
    return texts


def _leaves(label: str, mapping: Mapping[str, tuple[str, ...]], above: tuple[str, ...] = ()) -> Iterator[str]:
    """Yields what a label is made of in the end; a label without an entry, or its own, is made of itself."""
    found: list[str] = []
    for member in mapping.get(label, ()):
        if member in above:
            raise invalid("mapping", "without a label that is made of itself", f"'{member}'")
        if member == label or member not in mapping:
            found.append(member)
        else:
            found += _leaves(member, mapping, (*above, label))
    return iter(found or [label])


_Member = str | float


@dataclass(frozen=True, kw_only=True)
class ColumnCoding(Record):
    """What the labels of a column mean, where they do not say it themselves."""

    labels: Annotated[
        dict[str, _Member | tuple[_Member, ...]],
        Meaning('What each label is made of: a number, a range such as "20-29", another label, or a list.'),
    ] = field(default_factory=dict)
    low: Annotated[float | None, Meaning("The least number that anybody has.")] = None
    high: Annotated[float | None, Meaning("The largest number that anybody has.")] = None


@dataclass(frozen=True, kw_only=True)
class ColumnCodings(Record):
    """What labels of tables mean, by column."""

    schema_version: Literal[2] = VERSION
    bands: Annotated[dict[str, ColumnCoding], Meaning("A section for each column.")]


@dataclass(frozen=True)
class ColumnLabels:
    """The values of a column as one table has them.

    Attributes
    ----------
    labels
        The label of each value.
    coded
        Whether labels are numbers of categories, not values; ``cuts`` are then the cut points, if there are.
    """

    labels: tuple[str, ...]
    coded: bool = False
    cuts: tuple[float, ...] | None = None


@dataclass(frozen=True, eq=False)
class Refined:
    """The common refinement of all codings of a column.

    Attributes
    ----------
    labels
        The values of the refinement.
    missing
        Which of them stands for people who have no value, or one outside all bands; None if there is none.
    parts
        For each coding, labels × values: which values each label holds.
    compared
        For each comparison of a condition, the values that satisfy it.
    """

    name: str
    labels: tuple[str, ...]
    missing: int | None
    parts: dict[ColumnLabels, _Mask] = field(repr=False)
    compared: dict[Compared, _Mask] = field(repr=False)


@dataclass(frozen=True)
class _Held:
    """What a label holds: stretches of numbers, texts, and whether people without a value."""

    spans: tuple[Span, ...] = ()
    texts: frozenset[str] = frozenset()
    gap: bool = False

    def joined(self, other: _Held) -> _Held:
        return _Held((*self.spans, *other.spans), self.texts | other.texts, self.gap or other.gap)

    def covers(self, start: Cut, stop: Cut) -> bool:
        return any(low <= start and stop <= high for low, high in self.spans)


class _Unclear(Exception):
    """Labels cannot be read as ranges, and why."""

    def __init__(self, rule: str, got: str) -> None:
        super().__init__(rule)
        self.rule, self.got = rule, got


def several(label: str) -> list[str]:
    """The ranges and numbers of a label such as "0-4, 65+"; the label alone if it is not such a list.

    Examples
    --------
    >>> several("0-4, 65+"), several("[0, 4)"), several("Paris, Rome")
    (['0-4', '65+'], ['[0, 4)'], ['Paris, Rome'])
    """
    parts = re.split(r", (?![^\[(]*[\])])", label)
    known = all(label_number(part) is not None or parse_range(part) is not None for part in parts)
    return parts if known else [label]


def is_band(label: str) -> bool:
    """Whether a label is a range of numbers, and not just one number.

    Examples
    --------
    >>> is_band("20-29"), is_band("80 and over"), is_band("31"), is_band("north")
    (True, True, False, False)
    """
    return label_number(label) is None and parse_range(label) is not None


def is_below(code: str, above: str) -> bool:
    """Whether one hierarchy code is part of another: it starts with it, as DE11 does with DE1.

    Examples
    --------
    >>> is_below("DE11", "DE1"), is_below("DE11", "DE11"), is_below("men", "me"), is_below("12", "1")
    (True, False, False, False)
    """
    both = _CODE.fullmatch(code) and _CODE.fullmatch(above)
    return bool(both and len(above) < len(code) and code.startswith(above))


def are_codes(labels: Iterable[str]) -> bool:
    """Whether labels are codes of one level of a hierarchy: capitals and digits, all of one length.

    Examples
    --------
    >>> are_codes(["DE11", "DE12"]), are_codes(["R9", "R10"]), are_codes(["north", "south"])
    (True, False, False)
    """
    listed = list(labels)
    alike = len({len(label) for label in listed}) == 1
    return alike and all(_CODE.fullmatch(label) for label in listed)


def hierarchy(codings: Iterable[Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """What codes of a hierarchy are made of, if each coding has codes of one level; otherwise empty.

    Every code of the finest level must be below a code of each other level, and the other way round, and some
    code of it must have a digit: "A" and "AB" may be anything.

    Examples
    --------
    >>> hierarchy([["DE1", "DE2"], ["DE11", "DE12", "DE21"]])
    {'DE1': ('DE11', 'DE12'), 'DE2': ('DE21',)}
    >>> hierarchy([["R1", "R2"], ["R1", "R2", "R10"]])
    {}
    """
    levels = [tuple(label for label in each if label.lower() not in _GAPS) for each in codings]
    if len({labels[0] and len(labels[0]) for labels in levels if labels}) < 2:
        return {}
    finest = max(levels, key=lambda labels: len(labels[0]) if labels else 0)
    fine = tuple(
        dict.fromkeys(label for each in levels if each and len(each[0]) == len(finest[0]) for label in each)
    )
    if not all(map(are_codes, levels)) or not any(map(str.isdigit, "".join(fine))):
        return {}
    found: dict[str, tuple[str, ...]] = {}
    for labels in levels:
        if len(labels[0]) == len(finest[0]):
            continue
        parts = {above: tuple(code for code in fine if is_below(code, above)) for above in labels}
        if not all(parts.values()) or sum(map(len, parts.values())) < len(fine):
            return {}
        found |= parts
    return found


def overlap(labels: Sequence[str]) -> bool:
    """Whether two labels are numbers or ranges that share more than one's end and the other's start.

    Examples
    --------
    >>> overlap(["0-4", "3", "north"]), overlap(["20-30", "30-40"])
    (True, False)
    """
    numbers = [number for label in labels if (number := label_number(label)) is not None]
    bands = [each for label in labels if is_band(label) and (each := parse_range(label)) is not None]
    spans = sorted((each.low, each.high) for each in bands)
    twice = len(set(numbers)) < len(numbers)
    crossed = any(start < end for (_, end), (start, _) in pairwise(spans))
    return twice or crossed or any(low < each < high for low, high in spans for each in numbers)


def most_at_once(name: str, labels: Sequence[str]) -> int:
    """How many labels of a column one person can be in at most; all of them if labels cannot be read.

    Examples
    --------
    >>> most_at_once("age", ["0-17", "15-24", "18+"]), most_at_once("town", ["Paris", "Rome"])
    (2, 1)
    """
    coding = ColumnLabels(tuple(labels))
    try:
        return int(refine(name, [coding]).parts[coding].sum(axis=0).max())
    except InvalidInput:
        return len(labels)


def can_refine(name: str, codings: Sequence[Sequence[str]], bands: Bands | None = None) -> bool:
    """Whether these lists of labels of a column can be taken together."""
    try:
        refine(name, [ColumnLabels(tuple(labels)) for labels in codings if labels], bands)
    except InvalidInput:
        return False
    return True


def refine(
    name: str,
    codings: Sequence[ColumnLabels],
    bands: Bands | None = None,
    compared: Iterable[Compared] = (),
    *,
    missing: bool = False,
) -> Refined:
    """The common refinement of codings of a column: the coarsest one in which every label is a set of values.

    Parameters
    ----------
    compared
        What conditions compare the column with: their ends are ends of the refinement too.
    missing
        Whether people may have no value of the column; a value of its own stands for them.

    Notes
    -----
    If a label such as "20-29" or a single whole number is among them, the column has whole numbers, so that
    20-29 and 30-39 leave no gap and "(20, 30]" is 21-30. Otherwise numbers may be anything: [20, 30) ends
    just before 30. Where a label starts at zero and none is about less, nobody is below zero: "under 12" and
    "0-11" are then the same. A label that is no range means itself, and must be in all codings, since nobody
    knows which of the others holds it elsewhere. Codings with the same labels, in any order, need no reading.

    Examples
    --------
    >>> refine("age", [ColumnLabels(("0-17", "15-24")), ColumnLabels(("0-19", "20+"))]).labels
    ('0-14', '15-17', '18-19', '20-24', '25+')
    """
    distinct, asked = list(dict.fromkeys(codings)), list(dict.fromkeys(compared))
    same = len({frozenset(each.labels) for each in distinct}) == 1
    same &= len({each.cuts for each in distinct if each.cuts is not None}) <= 1
    plain = all(label in distinct[0].labels for _, label in asked)
    if same and plain and any(each.coded for each in distinct):
        return _as_texts(name, distinct, asked, missing=missing)
    try:
        return _as_ranges(name, distinct, bands, asked, missing=missing)
    except _Unclear as unclear:
        if same:
            return _as_texts(name, distinct, asked, missing=missing)
        rule = (
            f"ones in which '{name}' has the same values, or ranges, or values told by Bands: {unclear.rule}"
        )
        advice = f"Say what the values mean: Bands('{name}', {{...}}), or [bands.{name}] in a file."
        raise invalid("releases", rule, unclear.got, advice) from None


def _as_texts(
    name: str, codings: Sequence[ColumnLabels], asked: Sequence[Compared], *, missing: bool
) -> Refined:
    """The refinement of codings with the same labels, each of which means itself."""
    labels = codings[0].labels
    gap = next((at for at, label in enumerate(labels) if label.lower() in _GAPS), None)
    if missing and gap is None:
        labels, gap = (*labels, MISSING), len(labels)
    parts = {
        each: np.array([[label == other for other in labels] for label in each.labels]) for each in codings
    }
    known = np.array([at != gap for at in range(len(labels))])
    held: dict[Compared, _Mask] = {}
    for sign, value in asked:
        if not isinstance(value, str):
            rule = f"one that compares the column '{name}' with a quoted text"
            raise invalid("condition", rule, f"{value:g}", "Quote it.")
        if value not in codings[0].labels:
            raise _unknown(name, len(codings[0].labels), value)
        held[sign, value] = _signed(name, sign, np.array([value == label for label in labels]), known)
    return Refined(name, labels, gap, parts, held)


def _unknown(name: str, values: int, value: str) -> InvalidInput:
    return invalid("condition", f"one of the {values} values of the column '{name}'", f"'{value}'")


def _signed(name: str, sign: str, equal: _Mask, known: _Mask) -> _Mask:
    """Which values satisfy a comparison with a text; one that is missing satisfies none."""
    if sign not in _EQUAL:
        rule = f"one with ==, != or in after the values of the column '{name}'"
        raise invalid("condition", rule, f"'{sign}'")
    return np.asarray(equal if sign == "==" else ~equal & known)


def _as_ranges(
    name: str,
    codings: Sequence[ColumnLabels],
    bands: Bands | None,
    asked: Sequence[Compared],
    *,
    missing: bool,
) -> Refined:
    """The refinement of codings whose labels are ranges, or texts that all of them have."""
    reader = _Reader(codings, bands)
    held = [[reader.held(coding, label) for label in coding.labels] for coding in codings]
    for coding, sets in zip(codings, held, strict=True):
        reader.check(coding, sets)
    _check_texts(held, reader.told)
    questions = [_question(name, codings, held, reader, sign, value) for sign, value in asked]
    every = [each for sets in held for each in sets]
    values = _values_of(every, [each for each in questions if each is not None])
    if missing and not any(each.gap for each in values):
        values.append(_Held(gap=True))
    names = [_name(each, codings, held, whole=reader.whole) for each in values]
    first = codings[0]
    if set(names) - {MISSING} == set(first.labels) - {MISSING}:  # nothing was refined: as they were printed
        order = sorted(
            range(len(names)),
            key=lambda at: first.labels.index(names[at]) if names[at] in first.labels else len(names),
        )
        values, names = [values[at] for at in order], [names[at] for at in order]
    gap = next((at for at, each in enumerate(values) if each.gap), None)
    parts = {
        coding: np.array([[_within(value, each) for value in values] for each in sets]).reshape(
            len(sets), len(values)
        )
        for coding, sets in zip(codings, held, strict=True)
    }
    known = np.array([at != gap for at in range(len(values))])
    found: dict[Compared, _Mask] = {}
    for (sign, value), asks in zip(asked, questions, strict=True):
        if isinstance(value, str):
            inside = np.array([asks is not None and _within(each, asks) for each in values])
            found[sign, value] = _signed(name, sign, inside, known)
        else:
            inside = np.array([asks is not None and _within(each, asks) for each in values])
            found[sign, value] = ~inside & known if sign == "!=" else inside
    return Refined(name, tuple(names), gap, parts, found)


class _Reader:
    """Reads labels of a column as sets of numbers and texts."""

    def __init__(self, codings: Sequence[ColumnLabels], bands: Bands | None) -> None:
        self.mapping = dict(bands.mapping) if bands else {}
        told = set(self.mapping)
        plain = [each.labels for each in codings if not each.coded]
        self.mapping = hierarchy(plain) | self.mapping
        self.ends = (bands.low, bands.high) if bands else (-inf, inf)
        labels = [*self.mapping, *(label for each in codings if not each.coded for label in each.labels)]
        leaves = {leaf for label in labels for leaf in _leaves(label, self.mapping)}
        self.told = {leaf for label in told for leaf in _leaves(label, self.mapping)}
        numbers = [number for leaf in leaves if (number := label_number(leaf)) is not None]
        ranges = [found for leaf in leaves if (found := parse_range(leaf)) is not None]
        whole = any(each.whole for each in ranges)
        if whole and any(number != round(number) for number in numbers):
            raise _Unclear("whole numbers", "bands of whole numbers beside broken numbers")
        self.whole = whole or (bool(numbers) and all(number == round(number) for number in numbers))
        spans = [*((number, number) for number in numbers), *((each.low, each.high) for each in ranges)]
        from_zero = any(start == 0 for start, _ in spans)
        none_below = all(start >= 0 or (start == -inf and stop > 0) for start, stop in spans)
        if self.ends[0] == -inf and from_zero and none_below:
            self.ends = (0.0, self.ends[1])  # "under 12" beside "0-11": nobody is below zero

    def held(self, coding: ColumnLabels, label: str) -> _Held:
        """What a label holds."""
        if coding.coded:
            return self._of_code(coding, int(label))
        found = _Held()
        for leaf in _leaves(label, self.mapping):
            found = found.joined(self.leaf(leaf))
        return found

    def leaf(self, text: str) -> _Held:
        """What a text holds that no entry explains."""
        if text.lower() in _GAPS:
            return _Held(gap=True)
        number, found = label_number(text), parse_range(text)
        if number is not None:
            found = Range(number, number, True, True)
        if len(parts := several(text)) > 1:
            held = _Held()
            for part in parts:
                held = held.joined(self.leaf(part))
            return held
        return _Held(texts=frozenset([text])) if found is None else self.span(found, text)

    def span(self, found: Range, text: str) -> _Held:
        """The stretch of numbers of a range, within the column's ends; in whole numbers if it has these."""
        low, high = self.ends
        start = max((found.low, 0 if found.with_low or found.low == -inf else 1), (low, 0))
        stop = min((found.high, 1 if found.with_high or found.high == inf else 0), (high, 1))
        if self.whole:
            start = start if start[0] == -inf else (_whole(start), 0)
            stop = stop if stop[0] == inf else (_whole(stop), 0)
        if not start < stop:
            raise _Unclear("ranges that hold a number", f"'{text}'")
        return _Held(((start, stop),))

    def _of_code(self, coding: ColumnLabels, code: int) -> _Held:
        if coding.cuts is None:
            return _Held(texts=frozenset([f"value {code + 1} of {len(coding.labels)}"]))
        if code > len(coding.cuts):
            return _Held(gap=True)
        ends = (-inf, *coding.cuts, inf)
        return self.span(Range(ends[code], ends[code + 1], False, code < len(coding.cuts)), str(code))

    def check(self, coding: ColumnLabels, sets: Sequence[_Held]) -> None:
        """Refuses labels that mean the same, and ranges of which nobody knows who holds their common end."""
        if len(set(sets)) < len(sets):
            raise _Unclear("each value once", "two labels of one table that mean the same")
        found = [
            (each, label)
            for label in coding.labels
            if not coding.coded
            and label not in self.mapping
            and is_band(label)
            and (each := parse_range(label))
        ]
        for one, first in found:
            for other, second in found:
                both = one.high == other.low and one.with_high and other.with_low
                if both and one.low < one.high and other.low < other.high:
                    raise _Unclear("ranges that say who holds their ends", f"'{first}' and '{second}'")


def _whole(cut: Cut) -> float:
    """The first whole number after a cut."""
    number, after = cut
    return float(floor(number) + 1 if after else ceil(number))


def _check_texts(held: Sequence[Sequence[_Held]], told: set[str]) -> None:
    """Refuses a text that some coding does not have: nobody knows which of its values holds it."""
    texts = [frozenset[str]().union(*(each.texts for each in sets)) for sets in held]
    every = frozenset[str]().union(*texts)
    for each in texts:
        if strange := sorted(every - each - told):
            raise _Unclear("the same texts everywhere", f"'{strange[0]}' in one table and not in another")


def _question(
    name: str,
    codings: Sequence[ColumnLabels],
    held: Sequence[Sequence[_Held]],
    reader: _Reader,
    sign: str,
    value: Any,
) -> _Held | None:
    """What a condition compares a column with; None if no number satisfies it."""
    if isinstance(value, str):
        for coding, sets in zip(codings, held, strict=True):
            if value in coding.labels:
                return sets[coding.labels.index(value)]
        found = reader.leaf(value) if is_band(value) or label_number(value) is not None else _Held()
        if not found.spans:
            raise _unknown(name, len(codings[0].labels), value)
        return found
    if not any(each.spans for sets in held for each in sets):
        rule = f"one that compares the column '{name}' with a quoted text"
        raise invalid("condition", rule, f"{value:g}", "Quote it.")
    ends = {
        "<": Range(-inf, value, True, False),
        "<=": Range(-inf, value, True, True),
        ">": Range(value, inf, False, True),
        ">=": Range(value, inf, True, True),
    }
    try:
        return reader.span(ends.get(sign, Range(value, value, True, True)), f"{value:g}")
    except _Unclear:
        return None


def _values_of(sets: Sequence[_Held], questions: Sequence[_Held]) -> list[_Held]:
    """The values of the refinement: numbers and texts in exactly the same sets are one value."""
    every = list(dict.fromkeys([*sets, *questions]))
    cuts = sorted({cut for each in every for span in each.spans for cut in span})
    found: dict[tuple[bool, ...], _Held] = {}
    for start, stop in pairwise(cuts):
        inside = tuple(each.covers(start, stop) for each in every)
        if any(inside[: len(dict.fromkeys(sets))]):
            found[inside] = found.get(inside, _Held()).joined(_Held(((start, stop),)))
    for text in dict.fromkeys(text for each in sets for text in sorted(each.texts)):
        inside = tuple(text in each.texts for each in every)
        found[inside] = found.get(inside, _Held()).joined(_Held(texts=frozenset([text])))
    gap = [_Held(gap=True)] if any(each.gap for each in sets) else []
    return [_Held(tuple(_merged(each.spans)), each.texts) for each in found.values()] + gap


def _merged(spans: Iterable[Span]) -> Iterator[Span]:
    """Yields stretches in order, those that touch as one."""
    last: Span | None = None
    for start, stop in sorted(spans):
        if last is not None and start <= last[1]:
            last = (last[0], max(last[1], stop))
            continue
        if last is not None:
            yield last
        last = (start, stop)
    if last is not None:
        yield last


def _within(value: _Held, whole: _Held) -> bool:
    """Whether a value of the refinement is in a set; it is either inside or outside."""
    if value.gap:
        return whole.gap
    if value.texts and not value.texts <= whole.texts:
        return False
    merged = _Held(tuple(_merged(whole.spans)))
    return all(merged.covers(start, stop) for start, stop in value.spans)


def _name(
    value: _Held, codings: Sequence[ColumnLabels], held: Sequence[Sequence[_Held]], *, whole: bool
) -> str:
    """The printed label that holds exactly this value, or a label of our own."""
    for coding, sets in zip(codings, held, strict=True):
        for label, each in zip(coding.labels, sets, strict=True):
            exactly = _Held(tuple(_merged(each.spans)), each.texts, each.gap) == value
            if exactly and not coding.coded:
                return label
    if value.gap:
        return MISSING
    spans = [_span_name(start, stop, whole=whole) for start, stop in value.spans]
    return ", ".join([*spans, *sorted(value.texts)])


def _span_name(start: Cut, stop: Cut, *, whole: bool) -> str:
    low, high = number_text(start[0]), number_text(stop[0])
    if start[0] == -inf and stop[0] == inf:
        return "any number"
    if start[0] == -inf:
        return f"{'≤' if stop[1] else '<'} {high}"
    if stop[0] == inf:
        return f"{low}+" if not start[1] else f"> {low}"
    if whole:
        last = stop[0] - 1
        return low if last == start[0] else f"{low}-{number_text(last)}"
    if start[0] == stop[0]:
        return low
    return f"{'(' if start[1] else '['}{low}, {high}{']' if stop[1] else ')'}"
