"""Subsets of people: a mask, or a condition on the public columns such as "age >= 40 and sex == 'f'"."""

from __future__ import annotations

import operator
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.core.checks import are_bits
from tellall.core.errors import InvalidInput, invalid
from tellall.linalg.operators.linear_operator import Array, IntArray
from tellall.people.codes import Column
from tellall.people.dataset import Outline, Public, unknown_name
from tellall.people.dates import day_number

__all__ = [
    "Compare",
    "Condition",
    "In",
    "Join",
    "Mask",
    "Subset",
    "Value",
    "as_subset",
    "column_of",
    "comparisons",
    "parse_condition",
    "read_condition",
]

Value = float | str
Bits = npt.NDArray[np.bool_]

_LONGEST = 10_000
_DEEPEST = 50
_WORDS = ("and", "or", "not", "in")
_SIGNS = ("==", "!=", "<", "<=", ">", ">=")
_MIRRORED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_TOKEN = re.compile(
    r"""\s*(?:
      (?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)(?![\w.])
    | (?P<text>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
    | (?P<quoted>`[^`]+`)
    | (?P<name>[^\W\d][\w.]*)
    | (?P<sign>==|!=|<=|>=|<|>|=|\(|\)|\[|\]|,)
    )""",
    re.VERBOSE,
)


@dataclass(frozen=True)
class _Name:
    name: str


@dataclass(frozen=True)
class Compare:
    """A column compared with a value."""

    name: str
    sign: str
    value: Value

    @property
    def each(self) -> list[tuple[str, Value]]:
        """The comparisons of which one must hold: their signs and values."""
        return [(self.sign, self.value)]


@dataclass(frozen=True)
class In:
    """A column compared with a list of values."""

    name: str
    values: tuple[Value, ...]

    @property
    def each(self) -> list[tuple[str, Value]]:
        """The comparisons of which one must hold: their signs and values."""
        return [("==", value) for value in self.values]


@dataclass(frozen=True)
class Join:
    """Conditions joined by "and" or "or", or one that must not hold."""

    word: str
    parts: tuple[Any, ...]


def read_condition(text: str) -> Any:
    """The tree of comparisons that the text describes."""
    if not isinstance(text, str):
        raise invalid("condition", "text such as \"age >= 40 and sex == 'f'\"", text)
    if len(text) > _LONGEST:
        raise invalid("condition", f"at most {_LONGEST} characters", f"{len(text)} characters")
    reader = _Reader(text)
    root = reader.condition(0)
    if reader.now[0] != "end":
        raise reader.trouble("'and', 'or' or the end")
    return root


class _Reader:
    """Reads the text from left to right, looking one token ahead."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = _tokens(text)
        self.now = next(self.tokens)

    def step(self) -> tuple[str, str]:
        token = self.now
        self.now = next(self.tokens, ("end", ""))
        return token

    def trouble(self, wanted: str) -> InvalidInput:
        got = f"'{self.now[1]}'" if self.now[1] else "its end"
        return invalid("condition", f"one that has {wanted} where it has {got}", self.text)

    def condition(self, depth: int) -> Any:
        return self._joined("or", self.every, depth)

    def every(self, depth: int) -> Any:
        return self._joined("and", self.one, depth)

    def one(self, depth: int) -> Any:
        if depth > _DEEPEST:
            raise invalid("condition", f"nested at most {_DEEPEST} deep", self.text)
        if self.now == ("word", "not"):
            self.step()
            return Join("not", (self.one(depth + 1),))
        if self.now == ("sign", "("):
            self.step()
            inner = self.condition(depth + 1)
            self._close(")")
            return inner
        return self.comparison()

    def comparison(self) -> Any:
        left = self.operand()
        negated = self.now == ("word", "not")
        if negated:
            self.step()
        if self.now == ("word", "in"):
            self.step()
            if not isinstance(left, _Name):
                raise invalid("condition", "a column on the left of 'in'", self.text)
            inside = In(left.name, self._list())
            return Join("not", (inside,)) if negated else inside
        if negated or self.now[1] not in _SIGNS or self.now[0] != "sign":
            raise self.trouble("a comparison (==, !=, <, <=, >, >= or in)")
        parts: list[Any] = []
        while self.now[0] == "sign" and self.now[1] in _SIGNS:
            sign = self.step()[1]
            right = self.operand()
            parts.append(self._compare(left, sign, right))
            left = right
        return parts[0] if len(parts) == 1 else Join("and", tuple(parts))

    def operand(self) -> _Name | Value:
        kind, word = self.now
        if kind == "name":
            self.step()
            return _Name(word)
        if kind in ("number", "text"):
            self.step()
            return _value(kind, word)
        raise self.trouble("a column, a number or a quoted text")

    def _compare(self, left: _Name | Value, sign: str, right: _Name | Value) -> Compare:
        if isinstance(left, _Name) and not isinstance(right, _Name):
            return Compare(left.name, sign, right)
        if isinstance(right, _Name) and not isinstance(left, _Name):
            return Compare(right.name, _MIRRORED[sign], left)
        raise invalid("condition", "comparisons of a column with a number or a quoted text", self.text)

    def _list(self) -> tuple[Value, ...]:
        if self.now not in (("sign", "["), ("sign", "(")):
            raise self.trouble("a list such as ['a', 'b']")
        end = {"[": "]", "(": ")"}[self.step()[1]]
        values = [self._literal()]
        while self.now == ("sign", ","):
            self.step()
            if self.now == ("sign", end):  # a comma may follow the last value
                break
            values.append(self._literal())
        self._close(end)
        return tuple(values)

    def _literal(self) -> Value:
        kind, word = self.now
        if kind not in ("number", "text"):
            raise self.trouble("a number or a quoted text")
        self.step()
        return _value(kind, word)

    def _close(self, sign: str) -> None:
        if self.now != ("sign", sign):
            raise self.trouble(f"'{sign}'")
        self.step()

    def _joined(self, word: str, read: Callable[[int], Any], depth: int) -> Any:
        parts = [read(depth)]
        while self.now == ("word", word):
            self.step()
            parts.append(read(depth))
        return parts[0] if len(parts) == 1 else Join(word, tuple(parts))


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    at = 0
    end = len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None:
            rest = text[at:].lstrip()
            raise invalid("condition", f"one without the character {rest[:1]!r}", text)
        kind = str(match.lastgroup)
        word = str(match.group(match.lastgroup or 0))
        if kind == "quoted":
            kind, word = "name", word[1:-1]
        elif word == "=" and kind == "sign":
            word = "=="
        elif kind == "name" and word in _WORDS:
            kind = "word"
        yield kind, word
        at = match.end()
    yield "end", ""


def _value(kind: str, word: str) -> Value:
    return float(word) if kind == "number" else re.sub(r"\\(.)", r"\1", word[1:-1])


_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class Subset(ABC):
    """Some of the people: those who satisfy a condition, or chosen ones."""

    @property
    def words(self) -> str | None:
        """The condition in words; None if the people are listed, which is not spelled out."""
        return None

    @property
    def columns(self) -> frozenset[str]:
        """The public columns that say who is in it."""
        return frozenset()

    @property
    @abstractmethod
    def key(self) -> str:
        """What tells it from any other, as text for a hash."""

    @abstractmethod
    def members(self, public: Public, parameter: str = "subsets") -> Bits:
        """Who is in it."""

    @abstractmethod
    def take(self, people: IntArray) -> Subset:
        """The same subset of some of the people, by index."""

    @abstractmethod
    def as_plain(self) -> Any:
        """The subset as plain data."""


@dataclass(frozen=True, eq=False)
class Condition(Subset):
    """A condition that has been read: its text, and who satisfies it. It equals its text.

    Notes
    -----
    A single = means the same as ==. Numbers are compared as they are, even if tables cut them into bins. Text
    is compared by its value, with =, != and in. A missing value satisfies no comparison (so ``not age < 40``
    holds for people whose age is missing, ``age >= 40`` does not). O(n) per comparison.

    Examples
    --------
    >>> from tellall.people.dataset import Dataset
    >>> people = Dataset.from_frame({"age": [31, 45, 62], "sex": ["f", "m", "f"]})
    >>> parse_condition("age >= 40 and sex == 'f'").mask(people.public).tolist()
    [False, False, True]
    """

    text: str
    root: Any

    def __eq__(self, other: object) -> bool:
        return self.text == (other.text if isinstance(other, Condition) else other)

    def __hash__(self) -> int:
        return hash(self.text)

    def __str__(self) -> str:
        return self.text

    def mask(self, public: Public) -> Bits:
        """Who satisfies it."""
        return _evaluate(self.root, public)

    @property
    def words(self) -> str:
        return self.text

    @property
    def key(self) -> str:
        return self.text

    def members(self, public: Public, parameter: str = "subsets") -> Bits:
        return self.mask(public)

    def take(self, people: IntArray) -> Condition:
        return self

    def as_plain(self) -> str:
        return self.text

    @property
    def columns(self) -> frozenset[str]:
        """The columns that it is about."""
        return frozenset(node.name for node in comparisons(self.root))

    def values_of(self, name: str) -> frozenset[Value]:
        """The values that a column is compared with."""
        nodes = [node for node in comparisons(self.root) if node.name == name]
        return frozenset(value for node in nodes for _, value in node.each)


def parse_condition(text: str) -> Condition:
    """The condition that the text describes."""
    return Condition(text, read_condition(text))


def comparisons(node: Any) -> Iterator[Compare | In]:
    if isinstance(node, Compare | In):
        yield node
    else:
        for part in node.parts:
            yield from comparisons(part)


def _evaluate(node: Any, public: Public) -> Bits:
    if isinstance(node, Compare):
        return _compare(node, public)
    if isinstance(node, In):
        parts = [_compare(Compare(node.name, "==", value), public) for value in node.values]
        return np.asarray(np.logical_or.reduce(parts))
    masks = [_evaluate(part, public) for part in node.parts]
    if node.word == "not":
        return ~masks[0]
    return np.asarray((np.logical_and if node.word == "and" else np.logical_or).reduce(masks))


def _compare(node: Compare, public: Public) -> Bits:
    at = column_of(node.name, public)
    column = public.columns[at]
    numbers = _numbers(public, at)
    if numbers is not None:
        dated = column.dates and isinstance(node.value, str)
        value = day_number(node.value) if dated else node.value
        if value is None or isinstance(value, str):
            kind = "a date, as '1950-01-31'" if column.dates else "a number"
            rule = f"one that compares the column '{column.name}' with {kind}"
            raise invalid("condition", rule, f"'{node.value}'")
        with np.errstate(invalid="ignore"):
            holds = _COMPARE[node.sign](numbers, value)
        return np.asarray(holds & ~np.isnan(numbers))
    if not isinstance(node.value, str):
        rule = f"one that compares the column '{column.name}' with a quoted text"
        raise invalid("condition", rule, f"{node.value:g}", "Quote it.")
    if node.sign not in ("==", "!="):
        rule = f"one with ==, != or in after the text column '{column.name}'"
        raise invalid("condition", rule, f"'{node.sign}'")
    known = column.labels[: _known(column)]
    if node.value not in known:
        raise _unknown_value(column, node.value)
    codes = public.codes[at]
    return np.asarray(_COMPARE[node.sign](codes, known.index(node.value)) & (codes < len(known)))


def _unknown_value(column: Column, value: str) -> InvalidInput:
    """The error for a text that a column does not have; it does not reveal the texts that it has."""
    rule = f"one of the {_known(column)} values of the column '{column.name}'"
    return invalid("condition", rule, f"'{value}'")


def column_of(name: str, public: Outline) -> int:
    """The index of the column that a condition names; an error if there is no such column."""
    if name in public.names:
        return public.names.index(name)
    if (gone := public.without(name)) is not None:
        raise invalid("condition", "about columns that differ between people", str(gone))
    raise unknown_name("condition", name, public.names)


def _known(column: Column) -> int:
    """How many of a text column's categories are values; the last one may stand for missing values."""
    return column.levels - int(column.gaps)


def _numbers(public: Public, at: int) -> Array | None:
    """The column's numbers, with NaN for missing ones; None for text."""
    kept = public.numbers[at] if public.numbers else None
    if kept is not None or public.columns[at].cuts is None:
        return kept
    raise invalid("condition", "about columns whose numbers are known", public.columns[at].name)


@dataclass(frozen=True)
class Mask(Subset):
    """Chosen people, in file order, eight to a byte."""

    people: int
    packed: bytes

    @classmethod
    def of(cls, bits: npt.ArrayLike, parameter: str = "subsets") -> Mask:
        """The mask of an array of bits, one per person."""
        try:
            array: npt.NDArray[Any] = np.asarray(bits)
        except ValueError:
            raise invalid(parameter, "masks of one bit per person, or conditions", bits) from None
        if array.ndim != 1 or array.size == 0:
            raise invalid(parameter, "masks of one bit per person, or conditions", f"shape {array.shape}")
        if not are_bits(array):
            raise invalid(parameter, "masks of bits (0 or 1, one per person), or conditions", bits)
        return cls(array.size, np.packbits(array.astype(bool)).tobytes())

    @classmethod
    def from_plain(cls, plain: Mapping[str, object], parameter: str = "subsets") -> Mask:
        """The mask that was saved as its number of people and its bits in hexadecimal."""
        people = plain.get("people")
        text = plain.get("bits")
        if set(plain) != {"people", "bits"} or not isinstance(text, str) or not isinstance(people, int):
            raise invalid(parameter, "conditions or tables { people = ..., bits = ... }", plain)
        try:
            packed = bytes.fromhex(text)
        except ValueError:
            raise invalid(parameter, "masks whose bits are hexadecimal digits", text) from None
        if people < 1 or len(packed) != (people + 7) // 8 or (people % 8 and packed[-1] & 255 >> people % 8):
            raise invalid(parameter, f"masks of {people} bits", f"{len(text)} hexadecimal digits")
        return cls(people, packed)

    @property
    def bits(self) -> Bits:
        """Who is in it."""
        return np.unpackbits(np.frombuffer(self.packed, dtype=np.uint8), count=self.people).astype(bool)

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return self.bits if dtype is None else self.bits.astype(dtype)

    @property
    def key(self) -> str:
        return self.packed.hex()

    def members(self, public: Public, parameter: str = "subsets") -> Bits:
        if self.people != public.n:
            rule = "masks" if parameter == "subsets" else "a mask"
            raise invalid(parameter, f"{rule} of one bit per person ({public.n})", f"{self.people} bits")
        return self.bits

    def take(self, people: IntArray) -> Mask:
        """The mask restricted to these people, by index."""
        return Mask.of(self.bits[people])

    def as_plain(self) -> dict[str, Any]:
        return {"people": self.people, "bits": self.packed.hex()}


def as_subset(subset: Any, parameter: str = "subsets") -> Subset:
    """The subset given by a text, a saved mask or an array of bits."""
    if isinstance(subset, Subset):
        return subset
    if isinstance(subset, str):
        return parse_condition(subset)
    if isinstance(subset, Mapping):
        return Mask.from_plain(subset, parameter)
    return Mask.of(subset, parameter)
