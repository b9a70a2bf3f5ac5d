"""What a table may show: its cells computed from people, how far they agree, and how much that tells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from tellall.outputs.readings import Reading
from tellall.outputs.recount import Recount
from tellall.outputs.statistic_words import NOT_RECOMPUTED, Printed
from tellall.outputs.variables import Flags, TableVariable
from tellall.people.codes import Array, IntArray
from tellall.people.printed_numbers import Shown
from tellall.statistics.cell_counts import TOTAL

__all__ = ["CALLED", "Expected", "Measure", "Panel", "evidence_of", "expected_of", "measures_of", "panels_of"]

_QUANTILES = {"min": 0.0, "q1": 0.25, "median": 0.5, "q3": 0.75, "max": 1.0}
_OF_NUMBERS = ("mean", "std", "var", "sum", *_QUANTILES)
CALLED = {
    "count": "counts",
    "mean": "means",
    "sum": "sums",
    "std": "standard deviations",
    "var": "variances",
    "min": "minima",
    "q1": "lower quartiles",
    "median": "medians",
    "q3": "upper quartiles",
    "max": "maxima",
}
_MOST_VALUES = 12  # of a column whose shares are tried without a name


@dataclass(frozen=True)
class Measure:
    """What the numbers of a panel are.

    Attributes
    ----------
    kind
        "count", "share", "mean", "std", "var", "sum", "min", "q1", "median", "q3" or "max".
    target
        The column that is averaged or added up, or whose value is counted.
    value
        The place of that value, if a share of people with it is shown.
    over
        For shares of counts, the axes whose totals are the denominators.
    scale
        100 for percentages.
    cost
        How many bits it cost to find.
    """

    kind: str
    target: TableVariable | None = None
    value: int | None = None
    over: frozenset[int] = frozenset()
    scale: float = 1.0
    cost: float = 0.0

    @property
    def words(self) -> str:
        """What it is called: "counts", "percentages", "means"."""
        if self.kind == "share":
            return "percentages" if self.scale == 100 else "shares"
        return CALLED[self.kind]

    @property
    def identity(self) -> tuple[object, ...]:
        """What tells it from another measure of the same people."""
        target = None if self.target is None else (self.target.codes.tobytes(), self.target.secret)
        return (self.kind, target, self.value, self.scale)


@dataclass(frozen=True, eq=False)
class Panel:
    """Cells of one kind: the same number of each cell, or of some lines.

    Attributes
    ----------
    rows, columns
        The place of each cell in the table.
    codes
        Cells × axes.
    cells
        What is shown.
    part
        Which of the cell's numbers.
    said
        What labels say that it is.
    """

    rows: IntArray
    columns: IntArray
    codes: IntArray
    cells: tuple[Shown, ...]
    part: int
    parts: int
    kind: str
    said: Printed

    def number_of(self, cell: Shown) -> Shown | None:
        """The number of this panel in a cell; None if it has none."""
        if cell.hidden or cell.blank:
            return None
        if self.parts == 1:
            return cell if cell.number is not None and not cell.parts else None
        return cell.parts[self.part] if len(cell.parts) == self.parts else None

    def hides(self, cell: Shown) -> bool:
        """Whether a mark is in place of this panel's number."""
        if len(cell.parts) == self.parts > 1:
            return cell.parts[self.part].hidden
        return cell.hidden

    @cached_property
    def values(self) -> tuple[Array, Array]:
        """The numbers and their steps; NaN where none is shown."""
        shown = [self.number_of(cell) for cell in self.cells]
        numbers = [np.nan if one is None or one.number is None else one.number for one in shown]
        steps = [np.nan if one is None or one.step is None else one.step for one in shown]
        return np.array(numbers), np.array(steps)

    @property
    def percent(self) -> bool:
        """Whether a percent sign follows its numbers."""
        shown = [self.number_of(cell) for cell in self.cells]
        return any(one.percent for one in shown if one is not None)

    @property
    def whole(self) -> bool:
        """Whether its numbers are whole, and printed without decimals."""
        numbers, steps = self.values
        shown = ~np.isnan(numbers)
        return bool(np.all(numbers[shown] == np.rint(numbers[shown])) and (steps[shown] >= 1).all())

    @property
    def largest(self) -> float:
        """Its largest number."""
        return float(np.nanmax(np.abs(self.values[0]), initial=0.0))

    @property
    def scale(self) -> float:
        """What a share of everybody is printed as: 100 for percentages."""
        return 100.0 if self.percent or self.largest > 1 else 1.0

    @property
    def may_be_shares(self) -> bool:
        """Whether its numbers may be shares, by what labels say and by their size."""
        if self.kind not in ("share", "row share", "column share", "all share", ""):
            return False
        told = bool(self.kind) or self.percent or self.parts > 1
        return self.largest <= 100.0 + 1e-9 and (told or not self.whole or self.adds_up)

    @property
    def adds_up(self) -> bool:
        """Whether the numbers of every row, every column, or all together come to 100, but for rounding."""
        numbers, steps = self.values
        inner = np.flatnonzero(self.inner & ~np.isnan(numbers))
        for places in (self.rows[inner], self.columns[inner], np.zeros(inner.size)):
            _, lines, sizes = np.unique(places, return_inverse=True, return_counts=True)
            sums = np.bincount(lines, weights=numbers[inner])
            room = np.bincount(lines, weights=steps[inner]) / 2
            if inner.size and (sizes > 1).all() and (np.abs(sums - 100) <= room).all():
                return True
        return False

    @property
    def cost_of_share(self) -> float:
        """How many bits it costs to take its numbers for shares."""
        return 0.0 if self.kind or self.percent else 2.0

    @property
    def inner(self) -> Flags:
        """Which cells are no totals, of the axes that have labels here."""
        labelled = (self.codes != TOTAL).any(axis=0)
        return np.asarray((self.codes[:, labelled] != TOTAL).all(axis=1))


@dataclass(frozen=True, eq=False)
class Expected:
    """The numbers of cells computed from people, their standard errors and granularity."""

    values: Array
    errors: Array
    grain: Array
    bases: IntArray | None = None  # which denominator each is a share of


def panels_of(reading: Reading, lines: Sequence[Sequence[Shown]]) -> list[Panel]:
    """The panels of a table under one reading; cells that say what they are go by that."""
    groups: dict[tuple[object, ...], list[tuple[int, int]]] = {}
    said: dict[tuple[object, ...], Printed] = {}
    for i, row in enumerate(reading.row_prints):
        for j, column in enumerate(reading.column_prints):
            printed = _said_of_cell(row, column, reading.title)
            key = (printed.kinds, id(printed.target), printed.value)
            groups.setdefault(key, []).append((i, j))
            said[key] = printed
    codes = reading.codes()
    found: list[Panel] = []
    for group, places in groups.items():
        rows = np.array([reading.rows[i] for i, _ in places])
        columns = np.array([reading.columns[j] for _, j in places])
        inside = np.array([codes[i, j] for i, j in places]).reshape(len(places), len(reading.axes))
        cells = tuple(lines[i][j] for i, j in zip(rows, columns, strict=True))
        several = [max(1, len(cell.parts)) for cell in cells if cell.number is not None or cell.parts]
        if not several:
            continue
        parts = max(set(several), key=several.count)
        kinds = said[group].kinds
        for part in range(parts):
            kind = kinds[part] if len(kinds) == parts else kinds[0] if parts == 1 and kinds else ""
            found.append(Panel(rows, columns, inside, cells, part, parts, kind, said[group]))
    return found


def _said_of_cell(row: Printed | None, column: Printed | None, title: Printed | None) -> Printed:
    """What the labels of a row and a column, and the title, say together."""
    both = row.joined(column) if row is not None else column
    if both is None:
        both = Printed() if row is None and column is None else Printed((NOT_RECOMPUTED,))
    if title is None:
        return both
    if not both.kinds:
        return title.joined(both) or both
    if both.target is None and title.target is not None:
        return Printed(both.kinds, title.target, both.value)
    return both


def measures_of(panel: Panel, reading: Reading, variables: Sequence[TableVariable]) -> Iterator[Measure]:
    """Yields what a panel may show, by what its labels say."""
    kind = panel.kind
    whole = panel.whole
    bare = whole and not kind and not panel.percent
    if kind == "count" or (bare and panel.said.target is None and panel.parts == 1):
        yield Measure("count")
    if bare and panel.parts > 1:
        yield Measure("count", cost=1.0)
    if panel.may_be_shares:
        yield from _shares_of_counts(panel, reading)
        yield from _shares_of_values(panel, reading, variables)
    if kind in _OF_NUMBERS or not kind:
        yield from _numbers(panel, kind, reading, variables, whole)


def _shares_of_counts(panel: Panel, reading: Reading) -> Iterator[Measure]:
    """Yields shares of the people under a total: of a row, of a column, of all."""
    axes = range(len(reading.axes))
    if panel.said.target is not None or not any((panel.codes[:, at] != TOTAL).any() for at in axes):
        return
    down = frozenset(at for at in axes if reading.axes[at].down)
    across = frozenset(axes) - down
    said = {"row share": across, "column share": down, "all share": frozenset(axes)}
    scale = panel.scale
    if panel.kind in said:
        yield Measure("share", over=said[panel.kind], scale=scale)
        return
    likely = [each for each in (across, down, frozenset(axes)) if each]
    every = [frozenset(each) for k in axes for each in combinations(axes, k + 1)]
    for over in dict.fromkeys([*likely, *every]):
        cost = panel.cost_of_share + (1.0 if over in likely else 2.5)
        yield Measure("share", over=over, scale=scale, cost=cost)


def _shares_of_values(
    panel: Panel, reading: Reading, variables: Sequence[TableVariable]
) -> Iterator[Measure]:
    """Yields shares of the people of a cell who have a value of another column."""
    if panel.kind not in ("share", ""):
        return
    target = panel.said.target
    used = {axis.variable.name for axis in reading.axes}
    targets = [target] if target is not None else [v for v in variables if v.name not in used]
    most = _MOST_VALUES if target is None else 100
    options = [(each, place) for each in targets if each.size <= most for place in _values_said(panel, each)]
    for variable, place in options:
        more = 1.0 if variable.secret else 1.0 + float(np.log2(max(1, len(options))))
        if target is not None and variable.size == 2 and place == 1:
            more = 0.0
        elif variable.name in reading.named:
            more = float(np.log2(variable.size))
        yield Measure("share", variable, place, scale=panel.scale, cost=panel.cost_of_share + more)


def _values_said(panel: Panel, variable: TableVariable) -> list[int]:
    """The values of a column whose shares a panel may show: the one that its labels name, or each."""
    if not panel.said.value:
        return list(range(variable.size))
    held = variable.holds(panel.said.value)
    return [] if held is None or held.sum() != 1 or held[-1] else [int(np.argmax(held))]


def _numbers(
    panel: Panel, kind: str, reading: Reading, variables: Sequence[TableVariable], whole: bool
) -> Iterator[Measure]:
    used = {axis.variable.name for axis in reading.axes}
    target = panel.said.target
    targets = [target] if target is not None else [v for v in variables if v.name not in used]
    targets = [v for v in targets if v.numbers is not None]
    named = target is not None or panel.parts > 1
    guesses = ("mean", "sum", "median", "std") if named else () if whole else ("mean",)
    kinds = (kind,) if kind else guesses
    for each in kinds:
        for variable in targets:
            cost = 0.0
            if target is None and variable.name not in reading.named | reading.hinted:
                cost += 1.0 if variable.secret else 1.0 + float(np.log2(len(targets)))
            if not kind:
                cost += 1.0 if each == "mean" else 3.0
            yield Measure(each, variable, cost=cost)


def expected_of(measure: Measure, recount: Recount, codes: IntArray, whole: str) -> Expected:
    """The numbers of cells under a measure."""
    with np.errstate(divide="ignore", invalid="ignore"):
        if measure.kind == "count":
            n = recount.cells(recount.by_atom(), codes, whole)
            return Expected(n, np.sqrt(n + 0.25), np.ones(n.size))
        if measure.kind == "share":
            return _expected_shares(measure, recount, codes, whole)
        assert measure.target is not None
        return _expected_numbers(measure, measure.target, recount, codes, whole)


def _expected_shares(measure: Measure, recount: Recount, codes: IntArray, whole: str) -> Expected:
    if measure.target is not None:
        part = recount.cells(recount.by_atom(measure.target, value=measure.value), codes, whole)
        base = recount.cells(recount.by_atom(measure.target), codes, whole)
        bases = None
    else:
        part = recount.cells(recount.by_atom(), codes, whole)
        wider = codes.copy()
        wider[:, sorted(measure.over)] = TOTAL
        base = recount.cells(recount.by_atom(), wider, whole)
        bases = np.unique(wider, axis=0, return_inverse=True)[1].ravel()
    share = part / base
    errors = np.sqrt(np.maximum(share * (1 - share), 0.25 / np.maximum(base, 1)) / base)
    return Expected(share * measure.scale, errors * measure.scale, measure.scale / base, bases)


def _expected_numbers(
    measure: Measure, target: TableVariable, recount: Recount, codes: IntArray, whole: str
) -> Expected:
    n = recount.cells(recount.by_atom(target), codes, whole)
    total = recount.cells(recount.by_atom(target, 1), codes, whole)
    squares = recount.cells(recount.by_atom(target, 2), codes, whole)
    mean = total / n
    assert target.numbers is not None
    spread = np.sqrt(np.maximum(squares / n - mean**2, 0.0) * n / np.maximum(n - 1, 1))
    gaps = np.diff(target.numbers)
    grain = float(gaps.min()) if gaps.size else 1.0
    few = np.full(n.size, grain)
    if measure.kind == "mean":
        return Expected(mean, spread / np.sqrt(n), grain / n)
    if measure.kind == "sum":
        return Expected(total, np.sqrt(n) * np.sqrt(spread**2 + mean**2), few)
    if measure.kind in ("std", "var"):
        found = np.where(n > 1, spread, np.nan)
        error = spread / np.sqrt(2 * np.maximum(n, 1))
        if measure.kind == "var":
            return Expected(found**2, 2 * spread * error, grain**2 / n)
        return Expected(found, error, grain / n)
    share = _QUANTILES[measure.kind]
    values = recount.sorted_by(target).quantiles(codes, whole, [share])[0]
    error = 1.25 * spread / np.sqrt(n) if 0 < share < 1 else np.full(n.size, 0.0)
    return Expected(values, error, np.maximum(few, _typical_gap(target)))


def _typical_gap(target: TableVariable) -> float:
    """How far apart the values are that people mostly have."""
    assert target.numbers is not None
    counts = np.bincount(target.codes[target.codes >= 0], minlength=target.size)
    common = target.numbers[counts >= max(1, 0.01 * counts.sum())]
    return float(np.median(np.diff(common))) if common.size > 1 else 0.0


def evidence_of(expected: Expected, panel: Panel, widths: Array, used: Flags) -> float:
    """How many bits the agreement of these cells tells: inner cells, less one for each denominator."""
    inside = used & panel.inner
    wide = np.maximum(widths, expected.grain)
    with np.errstate(divide="ignore", invalid="ignore"):
        bits = np.nan_to_num(np.log2(2.5 * expected.errors / wide), nan=0.0, neginf=0.0, posinf=0.0)
    bits = np.where(inside, np.maximum(bits, 0.0), 0.0)
    if expected.bases is not None:
        for base in np.unique(expected.bases[inside]):
            own = np.flatnonzero(inside & (expected.bases == base))
            if own.size:
                bits[own[np.argmax(bits[own])]] = 0.0
    return float(bits.sum())
