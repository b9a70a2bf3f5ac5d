"""Text from data or from another library, made safe to print: one line, bounded, no control characters."""

from __future__ import annotations

import re
from pathlib import PurePath

__all__ = [
    "one_line",
    "said",
    "said_safely",
]


def one_line(value: object, most: int = 80) -> str:
    """A value as at most `most` characters on one line, without control or bidirectional characters.

    Text is taken as it is, anything else as its ``repr``; of a long path the end is kept.

    Examples
    --------
    >>> one_line("Łódź\\u202e\\x1b[31m  west"), one_line([1, 2]), one_line("x" * 100, 5)
    ('Łódź [31m west', '[1, 2]', 'xxxx…')
    """
    text = str(value) if isinstance(value, str | PurePath) else repr(value)
    if isinstance(value, PurePath) and len(text) > most:
        return "…" + _printable(text[1 - most :])
    text = _printable(text[: 4 * most])
    return text if len(text) <= most else f"{text[: most - 1]}…"


def said(error: BaseException, most: int = 160) -> str:
    """What another library's error says, on one line."""
    return one_line(str(error), most)


def said_safely(error: BaseException) -> str:
    """What another library's error says, without the values that it quotes.

    Examples
    --------
    >>> said_safely(ValueError("could not convert 'Ann' to a number"))
    "could not convert '…' to a number"
    """
    quoted = re.sub(r"""(['"]).*?\1""", r"\1…\1", str(error), flags=re.DOTALL)
    return one_line(re.sub(r"\bvalue [^ ]+", "value …", quoted), 160)


def _printable(text: str) -> str:
    """The text with one space for every run of white space, control and formatting characters."""
    return " ".join("".join(mark if mark.isprintable() else " " for mark in text).split())
