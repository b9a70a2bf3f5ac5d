"""hidden_cells: how near anybody comes to each withheld value, from what is published alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf, prod

import numpy as np

from tellall.attack.prove.cell_system import CellSystem, cell_system
from tellall.attack.prove.proof import EFFORT
from tellall.attack.prove.proof_reasons import rows_that_bound
from tellall.attack.prove.ranges import find_ranges
from tellall.attack.prove.rows import PublishedCell
from tellall.attack.prove.sum_ranges import find_sum_ranges, upper_bounds
from tellall.core.amounts import count_of
from tellall.core.checks import whole
from tellall.core.errors import invalid
from tellall.evidence.count_tables import SECRET, CountTable
from tellall.linalg.operators.linear_operator import Array, IntArray
from tellall.linalg.solvers.solution import Mask, Status
from tellall.outputs.listed import COUNTS, ListedCells, listed_in
from tellall.people.bands import Bands
from tellall.people.dataset import Dataset, Public, as_public
from tellall.protections.protection import noise_of
from tellall.release.release import Release

__all__ = ["HiddenCells", "hidden_cells"]

_SAME = 1e-6  # of a number: an interval that is not wider gives it away
_SLACK = 1e-6  # for floating point, before a bound is cut to a whole number
_MOST_LISTED = 1_000_000  # combinations of public values


@dataclass(frozen=True, eq=False, repr=False)
class HiddenCells:
    """How near anybody comes to each withheld value.

    Attributes
    ----------
    tables
        The tables, line by line.
    lines
        For each withheld value the index of its table and of its line there.
    cells
        The code of each column, for each withheld value.
    low, high
        The least and the largest that each can be: exact, whole for counts, unless ``open`` says otherwise.
    in_vain
        Which are withheld in vain: only one value is possible, or, where the rule that withheld it says how
        far an outsider has to be from it, they come nearer.
    open
        Whose interval may be smaller, since the effort was used up.
    status
        "solved", "not converged", "contradictory" if no values have all these tables, or "uncalibrated" if
        the errors of a table are unknown, so that it was not used.
    """

    tables: tuple[ListedCells, ...]
    lines: IntArray
    cells: tuple[dict[str, str], ...]
    low: Array
    high: Array
    open: Mask
    status: Status
    systems: tuple[tuple[CellSystem, IntArray], ...] = field(repr=False)

    def __len__(self) -> int:
        return self.low.size

    @property
    def counts(self) -> Mask:
        """Which values are numbers of people."""
        return np.array([self.tables[table].variable == COUNTS for table in self.lines[:, 0]], dtype=bool)

    @property
    def secret(self) -> Array:
        """The withheld values themselves, as far as the publisher told them; NaN otherwise."""
        known = [self.tables[table].secret for table in range(len(self.tables))]
        return np.array(
            [np.nan if (own := known[table]) is None else own[line] for table, line in self.lines.tolist()]
        )

    @property
    def margin(self) -> Array:
        """How far an outsider has to be from each, if a rule says so; NaN where none does."""
        return np.array([self.tables[table].margin[line] for table, line in self.lines.tolist()])

    @property
    def determined(self) -> Mask:
        """Of which only one value is possible."""
        size = np.maximum(np.abs(self.low), np.abs(self.high))
        with np.errstate(invalid="ignore"):
            near = self.high - self.low <= np.where(self.counts, 0.0, _SAME * size)
        return np.asarray(near & np.isfinite(size))

    @property
    def in_vain(self) -> Mask:
        with np.errstate(invalid="ignore"):
            room = _SAME * np.abs(self.secret)
            least = np.maximum(self.secret - self.margin, self._floor)
            near = (self.high < self.secret + self.margin - room) | (self.low > least + room)
        return np.asarray(self.determined | near)

    @property
    def _floor(self) -> Array:
        """What no value is below anyway: nobody can be farther from it than that."""
        found = np.full(self.low.size, -np.inf)
        for system, at in self.systems:
            found[at] = system.lower[system.asked]
        return found

    def reasons(self, index: int) -> tuple[PublishedCell, ...]:
        """Published values that suffice for the interval of one withheld value; none after too many tries."""
        for system, at in self.systems:
            here = np.flatnonzero(at == index)
            if here.size:
                return self._reasons(system, int(system.asked[here[0]]), index)
        raise invalid("index", f"that of a withheld value, 0 to {len(self) - 1}", index)

    def _reasons(self, system: CellSystem, unknown: int, index: int) -> tuple[PublishedCell, ...]:
        table, line = self.lines[index].tolist()
        unit = float(np.broadcast_to(self.tables[table].units, self.tables[table].values.shape)[line])
        people = self.tables[table].variable == COUNTS
        ends = self.low[index] * unit, self.high[index] * unit
        rows = rows_that_bound(system.certain, system.lower, unknown, *ends, whole=people)
        found = []
        for row in np.sort(rows).tolist():
            number, at = system.origin[row].tolist()
            if number >= 0:
                of = self.tables[number]
                least, most = float(system.low[row]), float(system.high[row])
                found.append(PublishedCell(of.name, of.cell(at), least, most))
        return tuple(found)

    def __repr__(self) -> str:
        vain = int(self.in_vain.sum())
        return f"HiddenCells: {len(self):,} withheld values, {vain:,} in vain; {self.status.word}"


def hidden_cells(
    releases: Release | CountTable | ListedCells | Sequence[Release | CountTable | ListedCells],
    public: Public | Dataset | None = None,
    *,
    bands: Bands | Sequence[Bands] = (),
    bounds: tuple[float | None, float | None] = (0.0, None),
    proof_effort: int = EFFORT,
) -> HiddenCells:
    """How near anybody comes to each withheld value of tables, from what is published alone.

    Parameters
    ----------
    releases
        Releases of counts, sums or means by cell, `CountTable`s, or tables line by line as `read_cells` reads
        them, about the same people. Tables are linked by the names and values of their columns.
    public
        The public columns of everybody, if outsiders know them. With a `Dataset`, its secret is used for one
        thing only: how far the rule that withheld a sum wants outsiders to be from it.
    bands
        What codes are made of, where tables list subtotals or have different codes of a column.
    bounds
        The least and the largest amount that one contributor can have. The largest is used where ``public``
        says how many contribute.
    proof_effort
        Effort of the search, as in `rows_from_tables`.

    Notes
    -----
    Unknown is how much is in each combination of values. Every published value, and what is known of every
    withheld one (a threshold), bounds a sum of unknowns. Of counts, the ends of intervals are those over all
    whole-numbered solutions (bounds, walks, CP-SAT: `find_ranges`), of sums those of linear programmes.

    Examples
    --------
    >>> shown = CountTable({"region": ["n", "s"], "ill": ["no", "yes"]}, [[5, np.nan], [7, np.nan]])
    >>> totals = CountTable({"ill": ["no", "yes"]}, [12, 3]), CountTable({"region": ["n", "s"]}, [6, 9])
    >>> found = hidden_cells([shown, *totals])
    >>> found
    HiddenCells: 2 withheld values, 2 in vain; solved
    >>> found.cells[0], found.low.tolist(), found.high.tolist()
    ({'region': 'n', 'ill': 'yes'}, [1.0, 2.0], [1.0, 2.0])
    """
    effort = whole("proof_effort", proof_effort, 0)
    told = [bands] if isinstance(bands, Bands) else list(bands)
    given = [releases] if isinstance(releases, Release | CountTable | ListedCells) else list(releases)
    if not given or not all(isinstance(each, Release | CountTable | ListedCells) for each in given):
        raise invalid("releases", "releases of tables, CountTables or ListedCells", releases)
    low, high = (end if end is not None else side for end, side in zip(bounds, (-inf, inf), strict=True))
    if not low <= high:
        raise invalid("bounds", "a least amount and a largest one, or None", bounds)
    people = public if isinstance(public, Dataset) else None
    view = None if public is None else as_public(public)
    tables: list[ListedCells] = []
    for one in given:
        if isinstance(one, Release):
            tables += listed_in(one, view, people)
        else:
            tables.append(one if isinstance(one, ListedCells) else ListedCells.of_table(one))
    columns = dict.fromkeys(name for table in tables for name in table.columns)
    for each in told:
        if each.column not in columns:
            raise invalid("bands", f"about columns of the tables ({', '.join(columns)})", f"'{each.column}'")
    more = [] if view is None else _of_public(tables, view, low, high)
    return _found(tables, more, told, low, effort, view)


def _found(
    tables: Sequence[ListedCells],
    more: Sequence[ListedCells],
    bands: Sequence[Bands],
    low: float,
    effort: int,
    view: Public | None,
) -> HiddenCells:
    """The intervals of all withheld values; ``more`` is known besides the tables."""
    lines = np.array(
        [(k, line) for k, table in enumerate(tables) for line in np.flatnonzero(table.withheld)],
        dtype=np.intp,
    ).reshape(-1, 2)
    each_unit = [np.broadcast_to(table.units, table.values.shape)[table.withheld] for table in tables]
    units = np.concatenate(each_unit)
    least, most = np.full(len(lines), -inf), np.full(len(lines), inf)
    open_ = np.zeros(len(lines), dtype=bool)
    systems, empty = [], False
    for variable in dict.fromkeys(table.variable for table in tables):
        chosen = [k for k, table in enumerate(tables) if table.variable == variable]
        own = [tables[k] for k in chosen] + [table for table in more if table.variable == variable]
        names = {name for table in own for name in table.columns}
        at = np.flatnonzero(np.isin(lines[:, 0], chosen))
        people = variable == COUNTS
        system = cell_system(
            own, [each for each in bands if each.column in names], 0.0 if people or low >= 0 else -inf
        )
        systems.append((system, at))
        unknowns = system.matrix.shape[1]
        if people:
            asked = np.zeros(unknowns, dtype=bool)
            asked[system.asked] = True
            upper = np.floor(upper_bounds(system.matrix, system.low, system.high, system.lower) + _SLACK)
            ranges = find_ranges(system.certain, upper, effort, np.zeros((0, unknowns)), asked=asked)
            least[at], most[at] = ranges.lower[system.asked], ranges.upper[system.asked]
            open_[at] = ranges.open[system.asked]
            empty |= ranges.empty
        else:
            sums = find_sum_ranges(system.matrix, system.low, system.high, system.lower, system.asked, effort)
            least[at], most[at], open_[at] = sums.lower, sums.upper, sums.open
            empty |= sums.empty
    if empty:
        least[:], most[:] = -inf, inf
    return HiddenCells(
        tuple(tables),
        lines,
        tuple(_named(tables[table].cell(line), tables[table], view) for table, line in lines.tolist()),
        least / units,
        most / units,
        open_,
        _status(tables, open_, empty=empty),
        tuple(systems),
    )


def _status(tables: Sequence[ListedCells], open_: Mask, *, empty: bool) -> Status:
    if empty:
        advice = "no values have all these tables: one is wrong, about others, or was rounded (say so)"
        return Status("contradictory", advice)
    if open_.any():
        left = count_of(int(open_.sum()), "interval")
        return Status("not converged", f"{left} may be smaller; raise proof_effort")
    if not all(noise_of(table.protections).known for table in tables):
        unused = "the law of the errors of a table is unknown, so it was not used"
        return Status("uncalibrated", unused, ("unknown-law",))
    return Status("solved")


def _named(cell: dict[str, str], table: ListedCells, view: Public | None) -> dict[str, str]:
    """A cell with the labels of the public columns where the table has their codes."""
    if view is None:
        return cell
    labels = {column.name: column.labels for column in view.columns}
    coded = {name for name, _ in table.coded if name in labels}
    return {name: labels[name][int(code)] if name in coded else code for name, code in cell.items()}


def _of_public(tables: Sequence[ListedCells], view: Public, low: float, high: float) -> list[ListedCells]:
    """What the public columns of everybody add: how many people are in each combination of values."""
    found = []
    for variable in dict.fromkeys(table.variable for table in tables):
        own = [table for table in tables if table.variable == variable]
        used = [
            name
            for name in dict.fromkeys(name for table in own for name in table.columns)
            if name in view.names
        ]
        codes = {name: np.asarray(view.codes[view.names.index(name)]) for name in used}
        shape = tuple(view.levels[view.names.index(name)] for name in used)
        for table in own:
            for name in set(table.columns) & set(used):
                labels = table.labels[table.columns.index(name)]
                if not set(labels) <= set(map(str, range(view.levels[view.names.index(name)]))):
                    raise invalid(
                        "public", f"people whose column '{name}' is coded as in the releases", "others"
                    )
        if prod(shape) > _MOST_LISTED:
            rule = f"about columns whose values have at most {_MOST_LISTED:,} combinations"
            raise invalid("releases", rule, f"{prod(shape):,}")
        at = np.ravel_multi_index(tuple(codes.values()), shape) if used else np.zeros(view.n, dtype=np.intp)
        people = np.bincount(at, minlength=prod(shape)).astype(np.float64)
        places = np.unravel_index(np.arange(prod(shape)), shape) if used else ()
        columns = {name: list(map(str, own)) for name, own in zip(used, places, strict=True)}
        coded = {name: view.columns[view.names.index(name)].cuts for name in used}
        nothing = np.zeros(people.size, dtype=bool)
        if variable == COUNTS:
            found.append(ListedCells(columns, people, nothing, coded=coded, name="people"))
        else:  # what weighted people can add up to is not known
            each = (low, high) if variable == SECRET else (min(low, 0.0), inf)
            ends = [np.multiply(people, end, out=np.zeros(people.size), where=people > 0) for end in each]
            unseen = np.full(people.size, np.nan)
            found.append(
                ListedCells(
                    columns,
                    unseen,
                    nothing,
                    variable=variable,
                    name="people",
                    low=ends[0],
                    high=ends[1],
                    coded=coded,
                )
            )
    return found
