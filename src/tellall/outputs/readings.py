"""Ways to read a printed table: what its header lines and label columns may be, by what the people have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import log2, prod

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
_MOST_AXES = 4
_MOST_CHOICES, _KEPT_ROLES = (
    50_000,
    12,
)  # ways to choose a role for each line, and roles kept where there are more
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


@dataclass(frozen=True, eq=False)
class _Split:
    """A table cut into header lines, label columns, and the lines and columns that hold its numbers."""

    table: FoundTable
    heads: int
    sides: int
    rows: tuple[int, ...]
    columns: tuple[int, ...]

    @classmethod
    def of(cls, table: FoundTable, heads: int, sides: int) -> _Split | None:
        """The table cut there; None if few lines hold numbers, or a header's cell holds several."""
        cells, (lines, width) = table.cells, table.shape
        rows = tuple(i for i in range(heads, lines) if any(cell.numeric for cell in cells[i][sides:]))
        columns = tuple(j for j in range(sides, width) if any(cells[i][j].numeric for i in rows))
        if not rows or not columns or 5 * len(rows) < 2 * (lines - 1):
            return None
        if any(cells[i][j].parts for i in range(heads) for j in columns):
            return None
        return cls(table, heads, sides, rows, columns)

    @property
    def down(self) -> list[list[Shown]]:
        """The labels of the rows, column by column."""
        return [[self.table.cells[i][place] for i in self.rows] for place in range(self.sides)]

    @property
    def across(self) -> list[list[Shown]]:
        """The labels of the columns, line by line."""
        return [[self.table.cells[place][j] for j in self.columns] for place in range(self.heads)]

    @property
    def corner(self) -> list[str]:
        """What stands over the label columns and beside the header lines."""
        return [
            cell.text for line in self.table.cells[: self.heads] for cell in line[: self.sides] if cell.text
        ]

    @cached_property
    def numbers(self) -> int:
        """How many cells have a number."""
        return sum(self.table.cells[i][j].numeric for i in self.rows for j in self.columns)


@dataclass(frozen=True, eq=False)
class _Around:
    """What stands around the labels: names in the corner and in the title, and what the title says."""

    corner: frozenset[str]
    names: frozenset[str]
    title: Printed | None

    @classmethod
    def of(cls, split: _Split, words: str, variables: Sequence[TableVariable]) -> _Around:
        """What stands around the labels of a table with these words in its title and notes."""
        texts = {plain_text(text) for text in split.corner}
        title = f" {' '.join(words_of(words))} "
        corner = frozenset(v.name for v in variables if v.plain in texts)
        named = (v.name for v in variables if len(v.plain) > 1 and f" {' '.join(words_of(v.name))} " in title)
        return cls(corner, corner.union(named), printed_of_title(words, variables))


@dataclass(frozen=True, eq=False)
class _Prints:
    """What the rows, the columns, and labels over everything say is printed."""

    rows: tuple[Printed | None, ...]
    columns: tuple[Printed | None, ...]
    title: Printed | None

    @classmethod
    def of(cls, chosen: Sequence[_Role], split: _Split) -> _Prints | None:
        """What these roles say together; None if two of them contradict each other."""
        down: list[Printed | None] = [None] * len(split.rows)
        across: list[Printed | None] = [None] * len(split.columns)
        title: Printed | None = None
        for place, role in enumerate(chosen):
            if role.title is not None:
                title = role.title if title is None else title.joined(role.title)
                if title is None:
                    return None
            if role.prints is not None and not _join_into(
                down if place < split.sides else across, role.prints
            ):
                return None
        return cls(tuple(down), tuple(across), title)

    @property
    def silent(self) -> bool:
        """Whether neither rows nor columns say anything."""
        return not any(each is not None for each in (*self.rows, *self.columns))

    @property
    def targets(self) -> list[tuple[Printed, str]]:
        """What is said of columns that are averaged or added up, and their names."""
        every = (*self.rows, *self.columns, self.title)
        return [(each, each.target.name) for each in every if each is not None and each.target is not None]


def _join_into(side: list[Printed | None], prints: Sequence[Printed | None]) -> bool:
    """Joins what is said to what is said already; false if they contradict each other."""
    for at, each in enumerate(prints):
        if each is not None:
            joined = each.joined(side[at])
            if joined is None:
                return False
            side[at] = joined
    return True


def readings_of(table: FoundTable, variables: Sequence[TableVariable]) -> Iterator[Reading]:
    """Yields ways to read a table, likely ones first, each with a variable at most once."""
    words = " ".join((*table.title, *table.notes))
    found: list[Reading] = []
    for heads, sides in _splits(table):
        split = _Split.of(table, heads, sides)
        found += [] if split is None else _of_split(split, variables, words)
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


def _of_split(split: _Split, variables: Sequence[TableVariable], words: str) -> list[Reading]:
    """The readings of a table that is cut in one way."""
    around = _Around.of(split, words, variables)
    roles: list[list[_Role]] = []
    for vectors, down in ((split.down, True), (split.across, False)):
        totals = _total_lines(vectors)
        roles += [_roles(labels, down, totals, variables, around.names) for labels in vectors]
    if not all(roles):
        return []
    if prod(map(len, roles)) > _MOST_CHOICES:
        roles = [sorted(each, key=lambda role: role.cost)[:_KEPT_ROLES] for each in roles]
    every = (_joined(chosen, split, around) for chosen in product(*roles))
    return [reading for reading in every if reading is not None]


def _joined(chosen: Sequence[_Role], split: _Split, around: _Around) -> Reading | None:
    """The reading in which each line of labels has one of its roles; None if two contradict each other."""
    axes = tuple(role.axis for role in chosen if role.axis is not None)
    used = {axis.variable.name for axis in axes}
    prints = _Prints.of(chosen, split) if len(used) == len(axes) <= _MOST_AXES else None
    if prints is None or (not axes and prints.silent):
        return None
    if any(name in used and not said.value for said, name in prints.targets):
        return None
    measured = {name for _, name in prints.targets}
    named = frozenset(role.name for role in chosen if role.name)
    told = named | around.corner
    with_kinds = {name for said, name in prints.targets if said.kinds}
    cost = sum(role.cost for role in chosen) + 3.0 * len(measured - with_kinds)
    # a name over labels ("ill" over "no" and "yes") must be that of one of the axes, or is what is measured
    for names in (named, around.corner):
        cost += _CONTRADICTED * len(names - used - measured)
    cost -= sum(axis.cost for axis in axes if axis.variable.name in told and not axis.named)
    hinted = around.names - told
    known = 4.0 * len(with_kinds)
    for axis in axes:
        sure = axis.named or axis.variable.name in told
        known += 4.0 if sure else 0.0
        known += 2.0 if axis.variable.name in hinted and not axis.named else 0.0
    title = prints.title or around.title
    if prints.title is not None and around.title is not None:
        title = prints.title.joined(around.title) or prints.title
    return Reading(
        split.rows,
        split.columns,
        axes,
        prints.rows,
        prints.columns,
        title,
        named,
        max(cost, 0.0),
        min(known, _MOST_NAMED),
        hinted,
        split.numbers,
    )


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
    said: frozenset[str],
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
    said: frozenset[str],
) -> list[_Role]:
    """The variables whose values these labels may be; some lines may say what is printed instead."""
    every = (_matched(variable, inner, variables) for variable in variables)
    matched = [each for each in every if each is not None]
    roles = []
    for each in matched:
        lines = _lines(texts, each.labels, totals)
        if lines is None or (each.single and label_number(each.labels[0]) is not None):
            continue  # a single number above or beside others is likelier one of them
        cost = _cost_of(each, matched, said) + (_SINGLE if each.single else 0.0)
        prints = tuple(
            None if not text or text in each.labels or is_total(text) else printed_of(text, variables)
            for text in texts
        )
        axis = LabelAxis(each.variable, each.labels, lines, down, cost, each.named)
        roles.append(_Role(axis, prints if any(prints) else None, cost=cost))
    return roles


@dataclass(frozen=True, eq=False)
class _Matched:
    """A variable with the labels that are values of it, and whether one of them says its name."""

    variable: TableVariable
    labels: tuple[str, ...]
    named: bool

    @property
    def single(self) -> bool:
        """Whether it is a single label that might be anything."""
        return len(self.labels) == 1 and not self.named


def _matched(
    variable: TableVariable, inner: Sequence[str], variables: Sequence[TableVariable]
) -> _Matched | None:
    """The labels that are values of a variable, if others say what is printed and no two mean the same."""
    fits = tuple(label for label in inner if variable.holds(label) is not None)
    rest = [label for label in inner if label not in fits]
    # lines such as "% yes" beside the values
    if not fits or (rest and (len(fits) < 2 or any(printed_of(r, variables) is None for r in rest))):
        return None
    masks = {mask.tobytes() for label in fits if (mask := variable.holds(label)) is not None}
    if len(masks) < len(fits):
        return None
    return _Matched(variable, fits, any(variable.says_name(label) for label in fits))


def _cost_of(one: _Matched, matched: Sequence[_Matched], said: frozenset[str]) -> float:
    """How many bits it costs to take one of the variables that match."""
    if one.named:
        return 0.0
    if any(each.named for each in matched):
        return _CONTRADICTED
    hinted = sum(each.variable.name in said for each in matched)
    if one.variable.name in said:
        return log2(hinted)
    # what is asked about is likelier in a table than any other column
    cost = 1.0 if one.variable.secret else 1.0 + log2(max(1, len(matched) - 1))
    return cost + (4.0 if hinted else 0.0)


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
