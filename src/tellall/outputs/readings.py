"""Ways to read a printed table: what its header lines and label columns may be, by what the people have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import log2
from typing import Any

import numpy as np

from tellall.outputs.found import FoundTable
from tellall.outputs.recount import LabelAxis
from tellall.outputs.statistic_words import Printed, printed_of
from tellall.outputs.variables import TableVariable, is_total, plain_text, words_of
from tellall.people.codes import IntArray
from tellall.people.labels import label_number
from tellall.people.printed_numbers import Shown
from tellall.statistics.cell_counts import TOTAL

__all__ = ["Reading", "readings_of"]

_MOST_HEADS, _MOST_SIDES = 4, 4
_MOST_READINGS = 20_000
_MOST_TRIED = 1500
_CONTRADICTED = 24.0  # bits that an axis costs whose printed name is that of another column
_MOST_NAMED = 10.0  # bits that names tell at most
_SINGLE = 3.0  # bits for a single label taken as a value


@dataclass(frozen=True, eq=False)
class Reading:
    """One way to read a table.

    Attributes
    ----------
    rows, columns
        The lines and columns of the table that hold its numbers.
    axes
        What labels mean.
    row_prints, column_prints
        What each of the rows and of the columns says is printed.
    title
        What the title, and labels over everything, say is printed.
    cost
        How many bits it cost.
    known
        How many bits names tell: of columns that are printed beside or above their labels.
    hinted
        The columns that the title names.
    numbers
        How many cells have a number under it.
    """

    rows: tuple[int, ...]
    columns: tuple[int, ...]
    axes: tuple[LabelAxis, ...]
    row_prints: tuple[Printed | None, ...]
    column_prints: tuple[Printed | None, ...]
    title: Printed | None
    named: frozenset[str]
    cost: float
    known: float = 0.0
    hinted: frozenset[str] = frozenset()
    numbers: int = 0

    def codes(self) -> IntArray:
        """Rows × columns × axes: the place of each axis's label in every cell."""
        found = np.empty((len(self.rows), len(self.columns), len(self.axes)), dtype=np.int64)
        for place, axis in enumerate(self.axes):
            lines = np.array(axis.lines)
            found[:, :, place] = lines[:, None] if axis.down else lines[None, :]
        return found


@dataclass(frozen=True)
class _Role:
    """What one line of labels may be."""

    axis: LabelAxis | None = None
    prints: tuple[Printed | None, ...] | None = None
    title: Printed | None = None
    name: str = ""
    cost: float = 0.0


def readings_of(table: FoundTable, variables: Sequence[TableVariable]) -> Iterator[Reading]:
    """Yields ways to read a table, likely ones first, each with a variable at most once."""
    around = " ".join((*table.title, *table.notes))
    found: list[Reading] = []
    for heads, sides in _splits(table):
        found += _of_split(table, heads, sides, variables, around)
        if len(found) > _MOST_READINGS:
            break
    most = max((reading.numbers for reading in found), default=0)
    found = [reading for reading in found if 6 * reading.numbers >= most]
    found.sort(key=lambda reading: reading.cost - reading.known)
    yield from found[:_MOST_TRIED]


def _splits(table: FoundTable) -> Iterator[tuple[int, int]]:
    lines, width = table.shape
    heads = range(min(_MOST_HEADS, lines - 1) + 1) if table.heads is None else [table.heads]
    sides = range(min(_MOST_SIDES, width - 1) + 1) if table.sides is None else [table.sides]
    for head, side in product(heads, sides):
        if head + side == 0:
            continue
        body = [cell for line in table.cells[head:] for cell in line[side:] if not cell.blank]
        numbers = sum(cell.numeric for cell in body)
        if numbers and 5 * numbers >= 4 * len(body) and any(c.number is not None or c.parts for c in body):
            yield head, side


def _of_split(
    table: FoundTable, heads: int, sides: int, variables: Sequence[TableVariable], around: str
) -> list[Reading]:
    cells = table.cells
    lines, width = table.shape
    rows = [i for i in range(heads, lines) if any(cell.numeric for cell in cells[i][sides:])]
    columns = [j for j in range(sides, width) if any(cells[i][j].numeric for i in rows)]
    if not rows or not columns or 5 * len(rows) < 2 * (lines - 1):
        return []
    if any(cell.numeric and not cell.continued for line in cells[:heads] for cell in line[sides:]):
        numeric_head = sum(cells[i][j].parts != () for i in range(heads) for j in columns)
        if numeric_head:
            return []
    down = [[cells[i][place] for i in rows] for place in range(sides)]
    across = [[cells[place][j] for j in columns] for place in range(heads)]
    corner = [[cells[i][j].text for j in range(sides)] for i in range(heads)]
    said = _said_names(corner, around, variables)
    corners = _corner_names(corner, variables)
    roles: list[list[_Role]] = []
    totals_down, totals_across = _total_lines(down), _total_lines(across)
    for labels in down:
        roles.append(_roles(labels, True, totals_down, variables, said))
    for labels in across:
        roles.append(_roles(labels, False, totals_across, variables, said))
    if not all(roles):
        return []
    counts = int(np.prod([len(each) for each in roles], dtype=float))
    if counts > 50_000:
        roles = [sorted(each, key=lambda role: role.cost)[:12] for each in roles]
    found = []
    size = sum(cells[i][j].numeric for i in rows for j in columns)
    title = printed_of_title(around, variables)
    for chosen in product(*roles):
        reading = _joined(chosen, rows, columns, sides, title, corners, said)
        if reading is not None:
            found.append(replace(reading, numbers=size))
    return found


def _joined(
    chosen: Sequence[_Role],
    rows: Sequence[int],
    columns: Sequence[int],
    sides: int,
    title: Printed | None,
    corners: frozenset[str],
    around: set[str],
) -> Reading | None:
    axes = [role.axis for role in chosen if role.axis is not None]
    used = [axis.variable.name for axis in axes]
    if len(set(used)) < len(used) or len(axes) > 4:
        return None
    prints: list[list[Printed | None]] = [[None] * len(rows), [None] * len(columns)]
    cost = 0.0
    named: set[str] = set()
    said = None
    for place, role in enumerate(chosen):
        cost += role.cost
        if role.name:
            named.add(role.name)
        if role.title is not None:
            said = role.title if said is None else said.joined(role.title)
            if said is None:
                return None
        if role.prints is not None:
            side = prints[0 if place < sides else 1]
            for at, each in enumerate(role.prints):
                if each is not None:
                    joined = each.joined(side[at])
                    if joined is None:
                        return None
                    side[at] = joined
    measured = {each.target.name for side in prints for each in side if each and each.target}
    measured |= {said.target.name} if said is not None and said.target is not None else set()
    if measured & set(used) and any(
        each.target.name in used and not each.value for each in _targets(prints, said)
    ):
        return None
    if not axes and not any(each is not None for side in prints for each in side):
        return None
    # a name over labels ("ill" over "no" and "yes") must be that of one of the axes, or is what is measured
    for name in sorted(named):
        if name not in used and name not in measured:
            cost += _CONTRADICTED
    cost += _CONTRADICTED * len(corners - set(used) - measured)
    for axis in axes:
        if axis.variable.name in named | corners and not axis.named:
            cost -= axis.cost
    told = named | corners
    told_kinds = {each.target.name for each in _targets(prints, said) if each.kinds}
    known = 4.0 * sum(axis.named or axis.variable.name in told for axis in axes) + 4.0 * len(told_kinds)
    cost += 3.0 * len(measured - told_kinds)
    around = around - told
    known += 2.0 * sum(axis.variable.name in around and not axis.named for axis in axes)
    both = said if title is None else title if said is None else (said.joined(title) or said)
    return Reading(
        tuple(rows),
        tuple(columns),
        tuple(axes),
        tuple(prints[0]),
        tuple(prints[1]),
        both,
        frozenset(named),
        max(cost, 0.0),
        min(known, _MOST_NAMED),
        frozenset(around),
    )


def _targets(prints: Sequence[Sequence[Printed | None]], said: Printed | None) -> list[Any]:
    """What is printed where a column is named that is averaged or added up."""
    every = [*(each for side in prints for each in side), said]
    return [each for each in every if each is not None and each.target is not None]


def _said_names(corner: Sequence[Sequence[str]], around: str, variables: Sequence[TableVariable]) -> set[str]:
    """The columns that the corner or the title names."""
    texts = {plain_text(text) for line in corner for text in line if text}
    title = f" {' '.join(words_of(around))} "
    return {
        v.name
        for v in variables
        if v.plain in texts or (len(v.plain) > 1 and f" {' '.join(words_of(v.name))} " in title)
    }


def _corner_names(corner: Sequence[Sequence[str]], variables: Sequence[TableVariable]) -> frozenset[str]:
    """The columns whose names stand in the corner."""
    texts = {plain_text(text) for line in corner for text in line if text}
    return frozenset(v.name for v in variables if v.plain in texts)


def _total_lines(vectors: Sequence[Sequence[Shown]]) -> list[bool]:
    """Which lines have a total among their labels."""
    if not vectors:
        return []
    return [any(is_total(line[at].text) for line in vectors) for at in range(len(vectors[0]))]


def _roles(
    labels: Sequence[Shown],
    down: bool,
    totals: Sequence[bool],
    variables: Sequence[TableVariable],
    said: set[str],
) -> list[_Role]:
    """What a line of labels may be."""
    texts = [cell.text for cell in labels]
    distinct = list(dict.fromkeys(text for text in texts if text))
    if not distinct:
        return [_Role()]
    inner = [text for text in distinct if not is_total(text)]
    found: list[_Role] = []
    if not inner:  # nothing but totals
        return [_Role()]
    if len(distinct) == 1:
        found += _title_roles(distinct[0], variables)
    axes = _axes(texts, inner, down, totals, variables, said)
    found += axes
    prints = _prints(texts, variables)
    if prints is not None and len(distinct) >= 1 and not (len(distinct) == 1 and axes):
        found.append(_Role(prints=prints))
    return found


def _title_roles(text: str, variables: Sequence[TableVariable]) -> list[_Role]:
    """What a label over everything may say: what is printed, or just the name of an axis."""
    said = printed_of(text, variables)
    if said is None:
        return [_Role(cost=1.0)]
    name = said.target.name if said.target is not None else ""
    roles = [_Role(title=said, name=name)]
    if not said.kinds:
        roles.append(_Role(name=name))
    return roles


def _prints(texts: Sequence[str], variables: Sequence[TableVariable]) -> tuple[Printed | None, ...] | None:
    """What each line says is printed; None if some line says something else."""
    found = [printed_of(text, variables) if text else None for text in texts]
    if any(text and each is None for text, each in zip(texts, found, strict=True)):
        return None
    return tuple(found)


def _axes(
    texts: Sequence[str],
    inner: Sequence[str],
    down: bool,
    totals: Sequence[bool],
    variables: Sequence[TableVariable],
    said: set[str],
) -> list[_Role]:
    """The variables whose values these labels may be; some lines may say what is printed instead."""
    matched: list[tuple[TableVariable, list[str], bool]] = []
    for variable in variables:
        fits = [label for label in inner if variable.holds(label) is not None]
        rest = [label for label in inner if label not in fits]
        # lines such as "% yes" beside the values
        if not fits or (rest and (len(fits) < 2 or any(printed_of(r, variables) is None for r in rest))):
            continue
        masks = [variable.holds(label) for label in fits]
        if any(
            np.array_equal(a, b)
            for k, a in enumerate(masks)
            for b in masks[:k]
            if a is not None and b is not None
        ):
            continue
        named = any(variable.says_name(label) for label in fits)
        matched.append((variable, fits, named))
    explicit = {variable.name for variable, _, named in matched if named}
    hinted = [v for v, _, _ in matched if v.name in said]
    roles = []
    for variable, fits, named in matched:
        if len(fits) == 1 and not named and label_number(fits[0]) is not None:
            continue  # a number above or beside others is likelier one of them
        if explicit and not named:
            cost = _CONTRADICTED
        elif named:
            cost = 0.0
        elif variable in hinted:
            cost = log2(len(hinted))
        else:
            # what is asked about is likelier in a table than any other column
            cost = 1.0 if variable.secret else 1.0 + log2(max(1, len(matched) - 1))
            cost += 4.0 if hinted else 0.0
        if len(fits) == 1 and not named:
            cost += _SINGLE
        lines = _lines(texts, fits, totals)
        if lines is None:
            continue
        prints = tuple(
            printed_of(text, variables) if text and text not in fits and not is_total(text) else None
            for text in texts
        )
        axis = LabelAxis(variable, tuple(fits), lines, down, cost, named)
        roles.append(_Role(axis, prints if any(prints) else None, cost=cost))
    return roles


def _lines(texts: Sequence[str], fits: Sequence[str], totals: Sequence[bool]) -> tuple[int, ...] | None:
    """The place of each line's label; None if a line has none and is no total."""
    found = []
    for at, text in enumerate(texts):
        if text in fits:
            found.append(fits.index(text))
        elif text or totals[at]:
            found.append(TOTAL)
        else:
            return None
    return tuple(found)


def printed_of_title(around: str, variables: Sequence[TableVariable]) -> Printed | None:
    """What the title and the notes say is printed, by the first word that says so."""
    text = f" {' '.join(plain_text(around).replace('(', ' ').replace(')', ' ').split())} "
    target = None
    for variable in sorted(variables, key=lambda v: -len(v.plain)):
        name = variable.plain
        for word, kind in _TITLE_WORDS:
            if name and (f" {word} {name} " in text or f" {word} of {name} " in text):
                return Printed((kind,), variable)
        if name and f" {name} mean sd " in text:
            return Printed(("mean", "std"), variable)
    for phrase, kinds in _TITLE_PHRASES:
        if f" {phrase} " in text:
            return Printed(kinds)
    return target


_TITLE_WORDS = (
    ("mean", "mean"),
    ("average", "mean"),
    ("median", "median"),
    ("sum", "sum"),
    ("total", "sum"),
    ("means", "mean"),
)
_TITLE_PHRASES = (
    ("row percentages", ("row share",)),
    ("row percent", ("row share",)),
    ("row %", ("row share",)),
    ("column percentages", ("column share",)),
    ("column percent", ("column share",)),
    ("column %", ("column share",)),
    ("percentages of all", ("all share",)),
    ("percent of all", ("all share",)),
    ("n %", ("count", "share")),
    ("percentages", ("share",)),
    ("percent", ("share",)),
    ("prevalence", ("share",)),
    ("mean sd", ("mean", "std")),
)
