"""Tables in plain texts and logs, whose columns stand below each other: as pandas, R and Stata print them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

from tellall.outputs.found import Source
from tellall.outputs.layout import CellArea, Page, is_note, place_in_lines
from tellall.outputs.model_words import is_rule
from tellall.people.printed_numbers import shown_of

__all__ = ["filled_blocks", "pages_of_columns"]

_MOST_HEADS = 6
_NEAR = 2  # lines above a table in which its title stands
_WORD = re.compile(r"\S+")
_PROSE = re.compile(r"\S+(?: \S+){2,}[.:]?")  # three words or more, and no gap between them
_OF_SERIES = re.compile(r"(?:Name: (?P<name>.*), )?(?:Length: \d+, )?dtype: \w+")
_SIZE = re.compile(r"\[\d+ rows x \d+ columns\]")

Band = tuple[int, int]


@dataclass(frozen=True)
class _Line:
    """A line of a text: its number, and its words with their places; bars are no words."""

    number: int
    text: str

    @property
    def words(self) -> list[re.Match[str]]:
        return list(_WORD.finditer(self.text.replace("|", " ")))

    @property
    def numeric(self) -> bool:
        """Whether it has a label and ends with a number or a mark in place of one."""
        words = self.words
        return len(words) > 1 and shown_of(words[-1][0]).numeric


def pages_of_columns(lines: Sequence[str], name: str, start: int = 0) -> Iterator[Page]:
    """Yields a page for each table in the lines of a text; ``start`` is how many lines stand above.

    A table is some lines without an empty one between them, two or more of which end with a number. Its
    columns are separated by places that are empty in all of those lines.
    """
    place = place_in_lines(name, [k + 1 + start for k in range(len(lines))])
    used = 0
    for first, last in filled_blocks(lines):
        block = [_Line(k, lines[k].rstrip().expandtabs()) for k in range(first, last + 1)]
        series = [found for line in block if (found := _OF_SERIES.fullmatch(line.text.strip()))]
        block = [
            line
            for line in block
            if not is_rule(line.text)
            and not _OF_SERIES.fullmatch(line.text.strip())
            and not _SIZE.fullmatch(line.text.strip())
        ]
        title, block, notes = _framed(block)
        page = _page(block)
        if page is None:
            continue
        above = [lines[k].strip() for k in range(max(first - _NEAR, used), first) if lines[k].strip()]
        used = last + 1
        named = [found["name"] for found in series if found["name"]]
        whole = place(CellArea(block[0].number, 0, block[-1].number, 0))
        said = (*above[-1:], *title, *named)
        yield replace(page, place=partial(_same, whole), title=said, notes=tuple(notes))


def _same(source: Source, area: CellArea) -> Source:
    return source


def filled_blocks(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yields the first and last line of each run of lines that are not empty."""
    filled = [bool(line.strip()) for line in lines]
    start = None
    for at, flag in enumerate([*filled, False]):
        if flag and start is None:
            start = at
        elif not flag and start is not None:
            yield start, at - 1
            start = None


def _framed(block: list[_Line]) -> tuple[list[str], list[_Line], list[str]]:
    """The titles above the lines of a table, these lines, and the notes below."""
    first, last = 0, len(block)
    while first < last and not block[first].numeric and _PROSE.fullmatch(block[first].text.strip()):
        first += 1
    while first < last and not block[last - 1].numeric and _ends_table(block[last - 1].text):
        last -= 1
    return (
        [line.text.strip() for line in block[:first]],
        block[first:last],
        [line.text.strip() for line in block[last:]],
    )


def _ends_table(text: str) -> bool:
    return _PROSE.fullmatch(text.strip()) is not None or is_note(text.strip())


def _page(block: Sequence[_Line]) -> Page | None:
    """The cells of a table; None if these lines are none."""
    heads = max((k for k, line in enumerate(block[:_MOST_HEADS]) if not line.numeric), default=0) + 1
    body = [line for line in block[heads:] if line.numeric]
    lines = body if len(body) > 1 else [line for line in block if line.numeric]
    if len(lines) < 2:
        return None
    bands = _joined(_bands(lines), lines, block[:heads])
    numbers = [band for band in bands if sum(_is_number(_in(line, band)) for line in lines) > len(lines) / 2]
    if not numbers or len(bands) < 2 or numbers[-1] != bands[-1] or _is_said(lines, bands, numbers):
        return None
    cells = [_cells(line, bands) for line in block]
    # pandas has a line of its own for the names of the labels: there the header ends
    names = cells[heads - 1]
    sides = sum(map(bool, names))
    of_pandas = bool(body) and not block[heads - 1].numeric and not any(names[sides:])
    if of_pandas and len(bands) - len(numbers) <= sides < len(bands):
        return Page(cells, heads=heads, sides=sides, whole=True)
    return Page(cells, whole=True)


def _is_said(lines: Sequence[_Line], bands: Sequence[Band], numbers: Sequence[Band]) -> bool:
    """Whether these are sentences with numbers: behind one of them the same word stands in every line."""
    behind = [band for band in bands if band not in numbers and band > numbers[0]]
    words = [{_in(line, band) for line in lines} for band in behind]
    return any(len(each) == 1 for each in words)


def _bands(lines: Sequence[_Line]) -> list[Band]:
    """The columns: places that some line fills, between places that all leave empty."""
    found: list[list[int]] = []
    for low, high in sorted(word.span() for line in lines for word in line.words):
        if found and low <= found[-1][1] - 1:
            found[-1][1] = max(found[-1][1], high)
        else:
            found.append([low, high])
    return [(low, high) for low, high in found]


def _joined(bands: Sequence[Band], lines: Sequence[_Line], heads: Sequence[_Line]) -> list[Band]:
    """The columns, those joined that are words of one label, or a number and another in brackets."""
    starts = {word.start() for line in heads for word in line.words}
    found = list(bands[:1])
    for before, band in pairwise(bands):
        left, right = ([_in(line, one) for line in lines] for one in (before, band))
        near = band[0] - before[1] == 1
        texts = not any(map(_is_number, (*left, *right)))
        texts = texts and all(first or not second for first, second in zip(left, right, strict=True))
        label = near and texts and not {before[0], band[0]} <= starts
        brackets = all(text.startswith("(") for text in right if text)
        if label or brackets:
            found[-1] = (found[-1][0], band[1])
        else:
            found.append(band)
    return found


def _in(line: _Line, band: Band) -> str:
    return " ".join(word[0] for word in line.words if word.start() < band[1] and word.end() > band[0])


def _is_number(text: str) -> bool:
    return shown_of(text).numeric


def _cells(line: _Line, bands: Sequence[Band]) -> list[str]:
    """The words of a line, each in the column that it stands in or next to."""
    found = [""] * len(bands)
    bar, words = line.text.find("|"), line.words
    places = [0 if word.end() <= bar else _place(word, bands) for word in words]
    for at in reversed(range(len(words) - 1)):  # the first words of a header of several
        if places[at] is None and words[at + 1].start() - words[at].end() == 1:
            places[at] = places[at + 1]
    for word, place in zip(words, places, strict=True):
        at = _nearest(word, bands) if place is None else place
        found[at] = f"{found[at]} {word[0]}".strip()
    return found


def _place(word: re.Match[str], bands: Sequence[Band]) -> int | None:
    """The column with which a word shares most places; None if it shares none."""
    low, high = word.span()
    shared = [min(high, right) - max(low, left) for left, right in bands]
    most = max(shared)
    return shared.index(most) if most > 0 else None


def _nearest(word: re.Match[str], bands: Sequence[Band]) -> int:
    gaps = [max(left - word.end(), word.start() - right) for left, right in bands]
    return gaps.index(min(gaps))
