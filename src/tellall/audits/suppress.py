"""suppress_cells: which further cells to withhold, so that nothing is withheld in vain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf

import numpy as np

from tellall.attack.prove.cell_system import CellSystem, cell_system
from tellall.attack.prove.hidden_cells import HiddenCells, hidden_cells
from tellall.attack.prove.hidden_files import HiddenFound, HiddenMore, HiddenPrice
from tellall.attack.prove.proof import EFFORT
from tellall.core.amounts import count_of, percent
from tellall.core.checks import above_zero, one_of, whole
from tellall.core.errors import invalid
from tellall.core.work import Progress
from tellall.evidence.count_tables import CountTable
from tellall.linalg.operators.linear_operator import Array, IntArray
from tellall.linalg.solvers.hiding import HidingProblem, Need, hide_more
from tellall.linalg.solvers.programme import programme_of
from tellall.linalg.solvers.solution import Mask
from tellall.outputs.listed import COUNTS, ListedCells, is_total
from tellall.people.bands import Bands

__all__ = ["SuppressedCells", "suppress_cells", "with_more_hidden"]

_ROUNDS = 6  # of protecting and attacking
_MORE = 1.001  # times what is needed, so that floating point decides nothing
_AGAIN = 2.0  # times what was needed, for a cell that is still in vain
_ROOMS = (0.0, 1e-12, 1e-9)  # for the last digits of sums, as shares of a row
_WITHIN = 10.0  # percent
_WHOLE = 1e-3  # nearer to a whole number than this is one


@dataclass(frozen=True, eq=False, repr=False)
class SuppressedCells:
    """Tables with further cells withheld, and what an outsider can still work out.

    Attributes
    ----------
    tables
        The tables, line by line, with everything withheld that has to be.
    more
        The table and the line of each cell that is withheld besides.
    again
        The same of cells that protected nothing and are shown again.
    failed
        The same of cells that nothing can protect: whatever could be withheld beside them is zero or has to
        be shown.
    before, after
        What an outsider can work out of the tables as they were, and of these.
    least
        No choice costs less; ``cost`` is what was chosen.
    cheapest
        Whether it is known that nothing costs less.
    """

    tables: tuple[ListedCells, ...]
    more: IntArray
    again: IntArray
    failed: IntArray
    before: HiddenCells
    after: HiddenCells
    cost: float
    least: float
    cheapest: bool

    @property
    def cells(self) -> tuple[dict[str, str], ...]:
        """The codes of the cells that are withheld besides."""
        return tuple(self.tables[table].cell(line) for table, line in self.more.tolist())

    @property
    def price(self) -> str:
        """What readers lose, in words."""
        shown = sum(int((~table.withheld).sum()) for table in self.before.tables)
        if not len(self.more):
            return "nothing more has to be withheld"
        share = percent(len(self.more) / max(shown, 1))
        bound = percent(self.least / self.cost) if self.cost else "all"
        best = "no choice needs less" if self.cheapest else f"any choice needs {bound} of that or more"
        return f"{count_of(len(self.more), 'more cell')} withheld ({share} of those shown); {best}"

    def __repr__(self) -> str:
        vain = int(self.after.in_vain.sum())
        return f"SuppressedCells: {self.price}; {vain:,} in vain (before: {int(self.before.in_vain.sum()):,})"


def suppress_cells(
    tables: ListedCells | CountTable | Sequence[ListedCells | CountTable],
    *,
    bands: Bands | Sequence[Bands] = (),
    bounds: tuple[float | None, float | None] = (0.0, None),
    within: float | None = None,
    cost: str = "cells",
    zeros: bool = False,
    keep: Mapping[str, Sequence[str]] | None = None,
    effort: int = 2_000,
    proof_effort: int = EFFORT,
    progress: Progress | None = None,
) -> SuppressedCells:
    """The tables with further cells withheld, as cheaply as possible, so that none is withheld in vain.

    Parameters
    ----------
    tables
        Tables line by line as `read_cells` reads them, or `CountTable`s, of counts or sums, about the same
        people: what is withheld already stays so.
    bands, bounds
        As `hidden_cells` takes them.
    within
        No withheld value may be known to within so many percent of it, above or below, where no rule of the
        table says how near is too near. By default 10 for amounts; of counts, two have to be possible.
    cost
        What is made as small as possible: "cells", the number of cells withheld besides (of equal choices
        rather small ones), or "values", the sum of their values. The total of everything is always shown.
    zeros
        Whether cells of zero may be withheld to protect others; often everybody knows that they are empty.
    keep
        Codes that have to be shown, by column: ``{"region": ["Total"]}``.
    effort
        Of the search for something cheaper: a linear programme of 10,000 coefficients is one.

    Notes
    -----
    Protect, attack, repeat: `hide_more` chooses cells by linear programmes, and by cuts and CP-SAT as far as
    the effort goes, then `hidden_cells` attacks the result as an outsider would, counts as whole numbers.
    What is still withheld in vain has to be farther from its ends in the next round. Cells that were
    withheld to protect others, and follow from what is published anyway, are shown again.

    Examples
    --------
    >>> table = ListedCells({"town": ["a", "b", "c", "Total"]}, [2, 7, 9, 18], [True, False, False, False])
    >>> found = suppress_cells(table, bands=())
    >>> str(found).partition(" (")[0]
    'SuppressedCells: 1 more cell withheld'
    >>> found.cells
    ({'town': 'b'},)
    """
    one_of("cost", cost, ("cells", "values"))
    whole("effort", effort, 0)
    if within is not None:
        above_zero("within", within)
    given = [tables] if isinstance(tables, ListedCells | CountTable) else list(tables)
    if not given or not all(isinstance(each, ListedCells | CountTable) for each in given):
        raise invalid("tables", "ListedCells or CountTables", tables)
    listed = [each if isinstance(each, ListedCells) else ListedCells.of_table(each) for each in given]
    for table in listed:
        if any(not each.hides for each in table.protections):
            raise invalid("tables", "exact where they are shown", f"{table.name}, which was changed")
    listed = [_with_margins(table._but(protections=()), within) for table in listed]
    told = [bands] if isinstance(bands, Bands) else list(bands)

    def attacked(some: Sequence[ListedCells]) -> HiddenCells:
        return hidden_cells(some, bands=told, bounds=bounds, proof_effort=proof_effort)

    before = attacked(listed)
    if before.status.word == "contradictory":
        raise invalid("tables", "tables whose numbers agree", "tables that contradict each other")
    problems = [
        _Problem.of(listed, variable, told, bounds[0], cost=cost, zeros=zeros, keep=keep or {})
        for variable in dict.fromkeys(table.variable for table in listed)
    ]
    after = before
    now = list(listed)
    done = False
    sizes: dict[tuple[int, int], float] = {}
    failed: set[tuple[int, int]] = set()
    paid = least = 0.0
    cheapest = True
    for _ in range(_ROUNDS):
        paid = least = 0.0
        cheapest = True
        failed = set()
        hidden = [table.withheld.copy() for table in listed]
        for one in problems:
            chosen = hide_more(one.problem(sizes), effort, progress)
            for row in np.flatnonzero(chosen.hidden & (one.origin[:, 0] >= 0)).tolist():
                table, line = one.origin[row].tolist()
                hidden[table][line] = True
            failed |= {tuple(one.origin[need.row].tolist()) for need in chosen.failed}
            problem_cost = one.cost[chosen.hidden & ~one.hidden].sum()
            paid, least = paid + float(problem_cost), least + chosen.least
            cheapest &= chosen.finished
        now = [table.hiding(gone) for table, gone in zip(listed, hidden, strict=True)]
        after = attacked(now)
        vain = [tuple(line) for line in after.lines[after.in_vain].tolist()]
        missed = [at for at in vain if listed[at[0]].primary[at[1]] and at not in failed]
        done = not missed
        if done:
            break
        for at in missed:
            sizes[at] = sizes.get(at, 1.0) * _AGAIN
        cheapest = False
    useless = _useless(listed, after)
    if useless.size:
        for table, line in useless.tolist():
            gone = now[table].withheld.copy()
            gone[line] = False
            now[table] = now[table].hiding(gone)
        after = attacked(now)
    more = [
        (k, line)
        for k, (old, new) in enumerate(zip(listed, now, strict=True))
        for line in np.flatnonzero(new.withheld & ~old.withheld).tolist()
    ]
    return SuppressedCells(
        tuple(now), _pairs(more), useless, _pairs(sorted(failed)), before, after, paid, least, cheapest
    )


def _pairs(lines: Sequence[tuple[int, ...]]) -> IntArray:
    return np.array(lines, dtype=np.intp).reshape(-1, 2)


def _with_margins(table: ListedCells, within: float | None) -> ListedCells:
    """The table with what is too near, where no rule says it."""
    if within is None and table.variable == COUNTS:
        return table
    return table.near_within(_WITHIN if within is None else within)


def _useless(tables: Sequence[ListedCells], found: HiddenCells) -> IntArray:
    """Cells that were withheld to protect others and follow from what is published."""
    only = found.determined & ~np.array(
        [tables[table].primary[line] for table, line in found.lines.tolist()], dtype=bool
    )
    return np.asarray(found.lines[only], dtype=np.intp).reshape(-1, 2)


@dataclass(frozen=True, eq=False)
class _Problem:
    """The tables of one amount as rows of a system; ``origin`` is the table and the line of each row."""

    system: CellSystem
    origin: IntArray
    start: Array
    hidden: Mask
    free: Mask
    cost: Array
    tables: Sequence[ListedCells] = field(repr=False)

    @classmethod
    def of(
        cls,
        tables: Sequence[ListedCells],
        variable: str,
        bands: Sequence[Bands],
        least: float | None,
        *,
        cost: str,
        zeros: bool,
        keep: Mapping[str, Sequence[str]],
    ) -> _Problem:
        chosen = [at for at, table in enumerate(tables) if table.variable == variable]
        own = [tables[at] for at in chosen]
        names = {name for table in own for name in table.columns}
        lower = 0.0 if variable == COUNTS or (least is not None and least >= 0) else -inf
        everything = [table.hiding(np.zeros(table.values.size, dtype=bool)) for table in own]
        system = cell_system(everything, [each for each in bands if each.column in names], lower)
        rows = system.low.size
        lines = int((system.origin[:, 0] >= 0).sum())
        origin = system.origin.copy()
        origin[:lines, 0] = np.array(chosen)[origin[:lines, 0]]
        hidden, free = np.zeros(rows, dtype=bool), np.zeros(rows, dtype=bool)
        hidden[:lines] = np.concatenate([table.withheld for table in own])
        start = _solution(system, whole=variable == COUNTS)
        truth = system.matrix @ start
        stay = np.concatenate([table.fixed | _grand_total(table) | _kept(table, keep) for table in own])
        listed = np.concatenate([~np.isnan(table.truth) for table in own])
        free[:lines] = ~stay & ~hidden[:lines] & listed & ((truth[:lines] != 0) | zeros)
        price = np.ones(rows) if cost == "cells" else np.maximum(np.abs(truth), 0.0)
        return cls(system, origin, start, hidden, free, price, tables)

    def problem(self, sizes: Mapping[tuple[int, int], float]) -> HidingProblem:
        """What has to be possible; ``sizes`` says by how much more than is asked, for some lines."""
        truth = self.system.matrix @ self.start
        floor = self._floor()
        needs: list[Need] = []
        for row in np.flatnonzero(self.hidden).tolist():
            table, line = self.origin[row].tolist()
            own = self.tables[table]
            if not own.primary[line]:
                continue
            factor = sizes.get((table, line), 1.0)
            margin = float(own.margin[line]) * float(np.broadcast_to(own.units, own.values.shape)[line])
            if own.variable == COUNTS and not margin > 0:
                needs.append(Need(row, factor, "apart"))
                continue
            above = _MORE * factor * (margin if margin > 0 else self._least_amount())
            below = min(above, truth[row] - floor[row])
            needs.append(Need(row, above, "above"))
            if below > 0:
                needs.append(Need(row, below, "below"))
        return HidingProblem(
            self.system.matrix,
            self.start,
            self.system.lower,
            self.hidden,
            self.free,
            self.cost,
            tuple(needs),
        )

    def _floor(self) -> Array:
        """What everybody knows that no row is below."""
        least = self.system.lower
        return (
            np.asarray(self.system.matrix @ least)
            if np.isfinite(least).all()
            else np.full(self.hidden.size, -inf)
        )

    def _least_amount(self) -> float:
        """A tenth of the smallest amount: enough where a withheld amount is zero."""
        sizes = np.abs(self.system.matrix @ self.start)
        return float(sizes[sizes > 0].min(initial=1.0)) / 10


def _grand_total(table: ListedCells) -> Mask:
    """The line of everybody, which readers need most."""
    found = np.ones(table.values.size, dtype=bool)
    for at, labels in enumerate(table.labels):
        found &= np.array([is_total(label) for label in labels])[table.codes[:, at]]
    return found


def _kept(table: ListedCells, keep: Mapping[str, Sequence[str]]) -> Mask:
    found = np.zeros(table.values.size, dtype=bool)
    for name, codes in keep.items():
        if name not in table.columns:
            continue
        at = table.columns.index(name)
        unknown = [code for code in codes if code not in table.labels[at]]
        if unknown:
            raise invalid("keep", f"codes of '{name}'", f"'{unknown[0]}'")
        found |= np.isin(table.codes[:, at], [table.labels[at].index(code) for code in codes])
    return found


def _solution(system: CellSystem, *, whole: bool) -> Array:
    """Unknowns that have all the rows."""
    sizes = [np.abs(np.where(np.isfinite(side), side, 0.0)) for side in (system.low, system.high)]
    scale = float(np.maximum(*sizes).max(initial=0.0)) or 1.0
    none = np.zeros(system.lower.size)
    for room in _ROOMS:
        more = room * np.maximum(*sizes)
        ends = (system.low - more) / scale, (system.high + more) / scale
        programme = programme_of(system.matrix, *ends, system.lower / scale, np.full(system.lower.size, inf))
        _, found = programme.largest(none)
        if found is not None:
            start = np.maximum(found * scale, system.lower)
            near = np.rint(start)
            close = bool((np.abs(near - start) < _WHOLE).all())
            return near if whole and close else np.asarray(start)
    raise invalid("tables", "tables whose numbers agree", "tables that contradict each other")


def with_more_hidden(found: HiddenFound, more: SuppressedCells) -> HiddenFound:
    """What was found in files, with what to withhold besides."""
    return replace(
        found,
        more=tuple(
            HiddenMore(
                table=more.tables[table].name,
                cell=more.tables[table].cell(line),
                value=float(more.tables[table].truth[line]),
            )
            for table, line in more.more.tolist()
        ),
        price=HiddenPrice(
            sentence=more.price,
            cells=len(more.more),
            least=more.least,
            cheapest=more.cheapest,
            in_vain=int(more.after.in_vain.sum()),
            shown_again=tuple(more.tables[table].cell(line) for table, line in more.again.tolist()),
            unprotected=tuple(more.tables[table].cell(line) for table, line in more.failed.tolist()),
        ),
    )
