"""Makes text from data or another library safe: nothing in it acts on a screen or quotes a person.

Everything that tellall prints or writes goes through here: messages through `one_line`, longer texts and
pages through `plain_text`, JSON through `escape_marks`, other libraries' errors through `said` or, if they
are about a file of people, `said_safely`.
"""

from __future__ import annotations

import re
import textwrap
import unicodedata
from pathlib import PurePath

__all__ = [
    "TERMINAL",
    "escape_marks",
    "no_formula",
    "one_line",
    "plain_text",
    "said",
    "said_safely",
    "wrapped",
]

TERMINAL = 80  # columns: everything printed fits

_JOINERS = "\u200c\u200d"  # within words of several languages
# candidates for the marks that act: controls, the second controls, spaces, joiners and directions
_SUSPECT = re.compile("[^\n\t\x20-\x7e\xa1-\xac\xae-\u05ff]")


def one_line(value: object, most: int = 80) -> str:
    """A value as at most `most` characters on one line, without control or bidirectional characters.

    Text is taken as it is, anything else as its ``repr``; a long path keeps its end.

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


def plain_text(text: str) -> str:
    """Text, perhaps of several lines, with � for every invisible mark that acts: escape codes, directions.

    Examples
    --------
    >>> plain_text("na\\x1b[31mme\\nrate\\u202e")
    'na�[31mme\\nrate�'
    """
    return _SUSPECT.sub(lambda found: "\ufffd" if _acts(found[0]) else found[0], text)


def escape_marks(text: str) -> str:
    """JSON text with every mark that acts written as its escape: it reads back as the same document.

    Examples
    --------
    >>> escape_marks('"left\\u202eright"')
    '"left\\\\u202eright"'
    """

    def escaped(found: re.Match[str]) -> str:
        units = found[0].encode("utf-16-be", "surrogatepass").hex()
        return "".join(f"\\u{units[i : i + 4]}" for i in range(0, len(units), 4))

    return _SUSPECT.sub(lambda found: escaped(found) if _acts(found[0]) else found[0], text)


def no_formula(text: str) -> str:
    """The text for a cell of a table; an apostrophe keeps a spreadsheet from taking it for a formula.

    Examples
    --------
    >>> no_formula("=1+1"), no_formula("north")
    ("'=1+1", 'north')
    """
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


def wrapped(text: str, indent: str = "  ", width: int = TERMINAL) -> str:
    """Text broken between words to fit a terminal, with further lines indented; words are never cut.

    Examples
    --------
    >>> wrapped("a bb ccc", width=5), wrapped("  a/long/path/of/a/file", width=5)
    ('a bb\\n  ccc', '  a/long/path/of/a/file')
    """
    return "\n".join(
        line if len(line) <= width else _broken(line, indent, width) for line in text.split("\n")
    )


def _broken(line: str, indent: str, width: int) -> str:
    start = line[: len(line) - len(line.lstrip(" "))]
    return textwrap.fill(
        line.strip(" "),
        width,
        initial_indent=start,
        subsequent_indent=start + indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def said(error: BaseException, most: int = 160) -> str:
    """What another library's error says, on one line; not for errors about a file of people."""
    return one_line(str(error), most)


def said_safely(error: BaseException) -> str:
    """The kind of another library's error, and the line it names; nothing that it quotes is passed on.

    Examples
    --------
    >>> said_safely(ValueError("could not convert Ann, 37, ill in line 12"))
    'ValueError, line 12'
    """
    kind = type(error).__name__
    line = re.search(r"\b[Ll]ine:? #?(\d{1,12})\b", str(error))
    return one_line(f"{kind}, line {int(line[1]):,}" if line else kind, 80)


def _acts(mark: str) -> bool:
    """Whether a character is a control, a format character other than a joiner, or half of a pair."""
    kind = unicodedata.category(mark)
    return mark not in _JOINERS and mark not in "\n\t" and kind in ("Cc", "Cf", "Cs", "Zl", "Zp")


def _printable(text: str) -> str:
    """The text with one space for every run of white space, control and formatting characters."""
    return " ".join("".join(mark if mark.isprintable() else " " for mark in text).split())
