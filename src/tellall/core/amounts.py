"""Numbers as pages and terminals show them: shares, people in 100, amounts in a secret's own unit."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

__all__ = [
    "MINUS",
    "amount",
    "count_of",
    "counted",
    "digits",
    "gain",
    "level",
    "list_of",
    "percent",
    "points",
    "signed",
    "some_of",
    "unit_of_advantage",
    "with_interval",
]

MINUS = "\N{MINUS SIGN}"
_SPACE = "\N{NO-BREAK SPACE}"


def percent(share: float, places: int = 1, sign: str = "") -> str:
    """A share as a percentage."""
    return f"{100 * share:{sign}.{places}f}{_SPACE}%".replace("-", MINUS)


def points(share: float, sign: str = "+") -> str:
    """A difference of two shares, in people in 100.

    Examples
    --------
    >>> points(0.123), points(-0.02, ""), points(-0.0001)
    ('+12.3', '−2.0', '+0.0')
    """
    return f"{100 * share:{sign}z.1f}".replace("-", MINUS)


def digits(value: float | None, count: int = 3) -> str:
    """A number to three digits, or as many as asked, with commas if large; a dash for None.

    Examples
    --------
    >>> digits(1064.2), digits(0.01234), digits(-25e6), digits(3e12), digits(None)
    ('1,060', '0.0123', '−25,000,000', '3e+12', '–')
    """
    if value is None:
        return "–"
    short = float(f"{value:.{count}g}")
    large = 10**count <= abs(short) < 1e9
    return (f"{short:,.0f}" if large else f"{short:z.{count}g}").replace("-", MINUS)


def signed(value: float, sign: str = "+") -> str:
    """A difference to three digits, with its sign."""
    text = digits(value)
    return text if text.startswith(MINUS) else f"{sign}{text}"


def level(value: float, real: bool) -> str:
    """How well guesses do: a share of people, or how far off they are for a real secret."""
    return digits(value) if real else percent(value)


def gain(value: float, real: bool, sign: str = "+") -> str:
    """What an attack gains: in people in 100, or in the unit of a real secret."""
    return signed(value, sign) if real else points(value, sign)


def amount(value: float, real: bool, sign: str = "") -> str:
    """What an attack gains, with its unit: people in 100, or the unit of a real secret.

    Examples
    --------
    >>> amount(0.123, False, "+"), amount(0.123, True)
    ('+12.3 in 100', '0.123')
    """
    return signed(value, sign) if real else f"{points(value, sign)} in 100"


def unit_of_advantage(real: bool, secret: str) -> str:
    """The unit of advantages, and what studies leave out of them."""
    return f"the unit of {secret}, in-sample fit left out" if real else "people in 100"


def with_interval(value: float, ends: Sequence[float], real: bool = False) -> str:
    """What an attack gains, with its interval.

    Examples
    --------
    >>> with_interval(0.12, (0.1, 0.14)).replace("\N{NO-BREAK SPACE}", " ")
    '+12.0 [+10.0, +14.0]'
    """
    return f"{gain(value, real)} [{gain(ends[0], real)},{_SPACE}{gain(ends[1], real)}]"


def counted(count: float | str) -> str:
    """A number of people, or its mean over draws, which is rounded up to a tenth: few never look like none.

    A number that is not told, such as "under 5", is a text already.

    Examples
    --------
    >>> counted(3142), counted(2.5), counted(0.01), counted(1.3), counted(2.0)
    ('3,142', '2.5', '0.1', '1.3', '2')
    """
    if isinstance(count, str):
        return count
    tenths = ceil(round(10 * count, 6))
    return f"{tenths / 10:,.1f}" if tenths % 10 else f"{tenths // 10:,}"


def count_of(count: float, noun: str, plural: str = "") -> str:
    """A number of things in words.

    Examples
    --------
    >>> count_of(1, "area"), count_of(3142, "person", "people"), count_of(0.25, "person", "people")
    ('1 area', '3,142 people', '0.3 people')
    """
    return f"{counted(count)} {noun if count == 1 else plural or noun + 's'}"


def list_of(words: Sequence[str]) -> str:
    """Words in a row, "and" before the last; empty for none.

    Examples
    --------
    >>> list_of(["sex", "age", "area"]), list_of(["sex"])
    ('sex, age and area', 'sex')
    """
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def some_of(names: Sequence[str], most: int) -> str:
    """The first of some names, and how many more there are.

    Examples
    --------
    >>> some_of(["age", "sex"], 3), some_of(["age", "sex", "town", "pay"], 2)
    ('age, sex', 'age, sex and 2 more')
    """
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
