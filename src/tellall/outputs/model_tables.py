"""Regression tables with models side by side, as modelsummary, stargazer and esttab print them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tellall.outputs.found import FittedModel, Source
from tellall.outputs.model_texts import INTERCEPT_NAMES, ModelLines
from tellall.outputs.model_words import about_people, is_rule, is_statistic, kind_in
from tellall.people.printed_numbers import Shown, decimal_sign, shown_of

__all__ = ["side_by_side", "side_by_side_in_text"]

_NOTHING = ("", "-", "–", "—")
_MOST_HEADS = 8  # lines above the first coefficient
_EXPONENTIATED = re.compile(r"odds[ -]ratio|\bOR\b|exp\(|\bIRR\b|rate ratio|eform", re.IGNORECASE)
_NOT_ERRORS = re.compile(
    r"\bt[- ]stat|\bz[- ]stat|t statistics|p[- ]?values? in|confidence interval|\[95", re.IGNORECASE
)
_ROBUST = re.compile(r"robust|\bHC[0-3]\b|cluster", re.IGNORECASE)
_TOKEN = re.compile(r"\S+(?: \S+)*")


@dataclass(frozen=True)
class _Entry:
    """A line of a regression table: a name and the cell of each model; the cells below, if in brackets."""

    name: str
    cells: tuple[Shown, ...]
    below: tuple[Shown, ...] | None


def side_by_side(rows: Sequence[Sequence[str]], source: Source, words: str = "") -> list[ModelLines]:
    """The models of a table with a column for each: names first, standard errors in brackets.

    ``words`` are its title and notes.
    """
    width = max(map(len, rows), default=0)
    if width < 2 or width > 60:
        return []
    grid = [[*(cell.strip() for cell in row), *[""] * (width - len(row))] for row in rows]
    sign = decimal_sign(cell for row in grid for cell in row[1:])[0]
    shown = [[shown_of(cell, sign) for cell in row] for row in grid]
    first = next((at for at in range(len(grid)) if _is_entry(grid, shown, at)), None)
    if first is None or first > _MOST_HEADS:
        return []
    entries, last, counts = _entries(grid, shown, first)
    if sum(entry.below is not None or _paired(entry) for entry in entries) < max(1, len(entries) // 2):
        return []
    if not _is_of_models(grid, entries, first, words):
        return []
    text = " ".join([words, *(" ".join(row) for row in grid[last + 1 :])])
    found = []
    for j in range(1, width):
        model = _model_of(grid, entries, counts, j, first, text, source)
        if model is not None:
            found.append(ModelLines(model, 0, len(rows) - 1))
    return found


def _is_entry(grid: Sequence[Sequence[str]], shown: Sequence[Sequence[Shown]], at: int) -> bool:
    """Whether a line has coefficients: numbers with brackets in the line below, or behind them."""
    if not grid[at][0] or is_statistic(grid[at][0]):
        return False
    numbers = [
        j for j in range(1, len(grid[at])) if shown[at][j].number is not None and not shown[at][j].brackets
    ]
    if not numbers:
        return False
    if any(_is_pair(shown[at][j]) for j in numbers):
        return True
    below = at + 1
    return below < len(grid) and not grid[below][0] and any(_in_brackets(shown[below][j]) for j in numbers)


def _is_of_models(grid: Sequence[Sequence[str]], entries: Sequence[_Entry], first: int, words: str) -> bool:
    """Whether a table says that its numbers are coefficients: "45.2 (12.1)" may be a mean as well."""
    heads = " ".join([words, *(" ".join(row) for row in grid[:first])])
    names = [row[0] for row in grid[first:]]
    return (
        any(entry.name.lower() in INTERCEPT_NAMES for entry in entries)
        or any(map(about_people, names)) * sum(map(is_statistic, names)) > 1
        or re.search(r"\(\d{1,2}\)|dependent variable|regression|odds ratio|coef", heads, re.IGNORECASE)
        is not None
    )


def _in_brackets(cell: Shown) -> bool:
    return cell.brackets and cell.numeric


def _is_pair(cell: Shown) -> bool:
    return len(cell.parts) >= 2 and "%" not in cell.text and cell.text.rstrip("*. ").endswith((")", "]"))


def _paired(entry: _Entry) -> bool:
    return any(_is_pair(cell) for cell in entry.cells)


def _entries(
    grid: Sequence[Sequence[str]], shown: Sequence[Sequence[Shown]], first: int
) -> tuple[list[_Entry], int, dict[int, int]]:
    """The lines of coefficients, the last line of them, and the number of people of each column."""
    entries: list[_Entry] = []
    counts: dict[int, int] = {}
    at, last, ended = first, first, False
    while at < len(grid):
        name = grid[at][0]
        if name and about_people(name):
            for j in range(1, len(grid[at])):
                number = shown[at][j].number
                if number is not None and number == int(number):
                    counts[j] = int(number)
        ended = ended or (bool(name) and is_statistic(name))
        if not ended and name and any(cell.number is not None for cell in shown[at][1:]):
            follows = at + 1 < len(grid) and not grid[at + 1][0]
            below = tuple(shown[at + 1]) if follows and any(map(_in_brackets, shown[at + 1][1:])) else None
            entries.append(_Entry(name, tuple(shown[at]), below))
            last = at + (below is not None)
        at += 1
    return entries, last, counts


def _model_of(
    grid: Sequence[Sequence[str]],
    entries: Sequence[_Entry],
    counts: dict[int, int],
    column: int,
    first: int,
    words: str,
    source: Source,
) -> FittedModel | None:
    own = [entry for entry in entries if entry.cells[column].number is not None]
    if not own:
        return None
    heads = [grid[at][column] for at in range(first) if grid[at][column] not in _NOTHING]
    said = list(dict.fromkeys([*heads, *(grid[at][0] for at in range(first) if grid[at][0])]))
    text = " ".join([*said, words])
    errors: list[Shown] = []
    for entry in own:
        cell = entry.cells[column]
        if _is_pair(cell) and len(cell.parts) == 2:
            errors.append(cell.parts[1])
        elif entry.below is not None and not entry.below[column].parts:
            errors.append(entry.below[column])
    whole = len(errors) == len(own) and all(each.number is not None for each in errors)
    return FittedModel(
        source=source,
        kind=kind_in(" ".join(heads)) or kind_in(words),
        response="",
        terms=tuple(entry.name for entry in own),
        coefficients=tuple(_first(entry.cells[column]) for entry in own),
        standard_errors=tuple(errors) if whole and not _NOT_ERRORS.search(text) else None,
        n=counts.get(column),
        covariance="robust" if _ROBUST.search(text) else "",
        exponentiated=_EXPONENTIATED.search(text) is not None,
        title=tuple(said),
    )


def _first(cell: Shown) -> Shown:
    return cell.parts[0] if cell.parts and cell.parts[0].number is not None else cell


def side_by_side_in_text(lines: Sequence[str], place: Callable[[int, int], Source]) -> list[ModelLines]:
    """The models of regression tables in a text, whose columns are found by what stands below each other."""
    found: list[ModelLines] = []
    at = 0
    while at < len(lines):
        if at + 1 < len(lines) and _is_brackets(lines[at + 1]) and _has_name(lines[at]):
            first, last = _block(lines, at)
            rows = _cut(lines, first, last, at)
            where = place(first, last)
            own = side_by_side(rows, where, _title_above(lines, first))
            found += [ModelLines(each.model, first, last) for each in own]
            at = last + 1
        else:
            at += 1
    return found


def _title_above(lines: Sequence[str], first: int) -> str:
    """The text over a table and an empty line; empty if it is a note of the table before."""
    above = [line.strip() for line in lines[max(first - 2, 0) : first] if line.strip()]
    return (
        above[-1]
        if above and not is_rule(above[-1]) and not re.match(r"[*\[(]|note|\w+ in paren", above[-1], re.I)
        else ""
    )


def _is_brackets(line: str) -> bool:
    words = line.replace("|", " ").split()
    return (
        bool(words)
        and line[:1].isspace()
        and all(re.fullmatch(r"[(\[][-\d.,]+[)\]]?|[-\d.,]+[)\]]", word) for word in words)
    )


def _has_name(line: str) -> bool:
    return bool(re.match(r"\S", line)) and re.search(r"\s{2,}-?[\d.]|\s-?\d*\.\d", line) is not None


def _block(lines: Sequence[str], at: int) -> tuple[int, int]:
    """The lines of a table, from the heads above a first coefficient to its notes."""
    first = at
    while first > 0 and at - first < _MOST_HEADS and lines[first - 1].strip():
        first -= 1
    last, blanks = at, 0
    while last + 1 < len(lines):
        blanks = blanks + 1 if not lines[last + 1].strip() else 0
        if blanks > 1:
            break
        last += 1
        if is_rule(lines[last]) and any(about_people(_name(line)) for line in lines[at:last]):
            while last + 1 < len(lines) and lines[last + 1].strip() and not is_rule(lines[last + 1]):
                last += 1  # notes
            break
    return first, last


def _name(line: str) -> str:
    found = _TOKEN.match(line)
    return re.split(r"\s{2,}", found[0])[0] if found else ""


def _cut(lines: Sequence[str], first: int, last: int, start: int) -> list[list[str]]:
    """The lines of a block cut into cells at columns that nothing crosses in the lines of coefficients."""
    spans: list[list[int]] = []
    ended = False
    for k in range(start, last + 1):
        line = lines[k]
        ended = ended or (
            line[:1].strip() != "" and is_statistic(_name(line)) and not about_people(_name(line))
        )
        if not ended and not is_rule(line):
            for word in _numbers_of(line):
                spans.append([word.start(), word.end()])
    bands: list[list[int]] = []
    for low, high in sorted(spans):
        if bands and low < bands[-1][1]:
            bands[-1][1] = max(bands[-1][1], high)
        else:
            bands.append([low, high])
    rows = []
    for k in range(first, last + 1):
        line = lines[k]
        if is_rule(line):
            continue
        cells = [""] * (len(bands) + 1)
        words = list(re.finditer(r"\S+(?: (?![-\d(.])\S+)*", line))
        for word in words:
            place = 0 if word.start() == 0 else _band(bands, word)
            for j in range(1, len(cells)) if k < start and len(words) == 1 and place else (place,):
                cells[j] = f"{cells[j]} {word[0]}".strip()  # a head alone is over all of them
        if bands and k >= start and line[:1].strip():  # a name runs until the first column
            cells[0] = " ".join(line[: bands[0][0]].split())
        if any(cells):
            rows.append(cells)
    return rows


def _numbers_of(line: str) -> list[re.Match[str]]:
    found = list(
        re.finditer(r"(?<!\S)[(\[]?-?(?:\d[\d,]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?[)\]]?\**(?!\S)", line)
    )
    return [word for word in found if word.start() > 0]


def _band(bands: Sequence[Sequence[int]], word: re.Match[str]) -> int:
    """The column that a word stands in: the nearest by its middle."""
    if not bands:
        return 0
    middle = (word.start() + word.end()) / 2
    if len(bands) > 1 and word.end() - word.start() > bands[-1][1] - bands[0][0]:
        return 0
    gaps = [max(low - middle, middle - high, 0) for low, high in bands]
    return 1 + gaps.index(min(gaps))
