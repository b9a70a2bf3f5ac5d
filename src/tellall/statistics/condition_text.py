"""How a condition is read: from text to a tree of comparisons.

    condition  := every ("or" every)*            every := one ("and" one)*
    one        := "not" one | "(" condition ")" | comparison
    comparison := operand (("==" | "!=" | "<" | "<=" | ">" | ">=") operand)+
                | column ["not"] "in" ("[" | "(") value ("," value)* ("]" | ")")

A value is a number or a quoted string; a column is a name, in backticks where it is not one word. The text is
read by this grammar and nothing else: no part of it is ever run as code.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tellall.errors import InvalidInput, invalid

__all__ = ["Compare", "In", "Join", "Value", "read_condition"]

Value = float | str

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
    | (?P<sign>==|!=|<=|>=|<|>|\(|\)|\[|\]|,)
    )""",
    re.VERBOSE,
)


@dataclass(frozen=True)
class _Name:
    name: str


@dataclass(frozen=True)
class Compare:
    """A column beside a value."""

    name: str
    sign: str
    value: Value


@dataclass(frozen=True)
class In:
    """A column beside a list of values."""

    name: str
    values: tuple[Value, ...]


@dataclass(frozen=True)
class Join:
    """Conditions joined by "and" or "or", or one that must not hold."""

    word: str
    parts: tuple[Any, ...]


def read_condition(text: str) -> Any:
    """The tree of comparisons that the text says."""
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
    """The text from left to right, one token ahead."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = _tokens(text)
        self.now = next(self.tokens)

    def step(self) -> tuple[str, str]:
        token, self.now = self.now, next(self.tokens, ("end", ""))
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
    place, end = 0, len(text.rstrip())
    while place < end:
        match = _TOKEN.match(text, place)
        if match is None:
            rest = text[place:].lstrip()
            raise invalid("condition", f"one without the sign {rest[:1]!r} at that place", text)
        kind, word = str(match.lastgroup), str(match.group(match.lastgroup or 0))
        if kind == "quoted":
            kind, word = "name", word[1:-1]
        elif kind == "name" and word in _WORDS:
            kind = "word"
        yield kind, word
        place = match.end()
    yield "end", ""


def _value(kind: str, word: str) -> Value:
    return float(word) if kind == "number" else re.sub(r"\\(.)", r"\1", word[1:-1])
