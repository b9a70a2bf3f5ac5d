"""Tables read together, without any people: what they say about how often each possible row occurs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import isfinite, prod
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.core.errors import InvalidInput, invalid
from tellall.evidence.bounds import Bounds, Certain, sums_of
from tellall.evidence.count_tables import SECRET, CountTable
from tellall.evidence.shares import base_bounds, counts_of_shares
from tellall.evidence.undo import neighbour_sums, possible_counts
from tellall.linalg.operators.linear_operator import Array, IntArray
from tellall.linalg.operators.sparse import Sparse
from tellall.people.bands import Bands, ColumnLabels, Refined, refine
from tellall.protections.protection import noise_of
from tellall.statistics.conditions import Compare, In, comparisons
from tellall.statistics.statistic import CellLayout

__all__ = [
    "Joint",
    "every_gap",
    "join_tables",
    "refine_columns",
    "satisfy",
]

_MOST_ROWS = 1_000_000  # of the joint domain
_MOST_ENTRIES = 20_000_000  # rows of the joint domain times tables


@dataclass(frozen=True, eq=False)
class Joint:
    """The system that several tables give about the rows of their joint domain.

    Attributes
    ----------
    refined
        The columns of all tables, each with the common refinement of its codings.
    tables
        The tables.
    missing
        The columns that people may have no value of.
    members
        For each table cells × rows of the joint domain: which rows are in which cell.
    certain
        low ≤ operator @ counts ≤ high, a column per row of the joint domain; ``origin`` is the table and its
        cell, −1 for the number of people or a sum of neighbouring cells.
    upper
        How often each row can occur at most, judging by single cells; infinite if nothing bounds it.
    people
        How many people the tables are about; None if not given.
    target, spread
        For each row of the operator, the published value as a count (NaN if hidden or not a cell) and the
        standard deviation of its error.
    """

    refined: tuple[Refined, ...]
    tables: tuple[CountTable, ...]
    missing: tuple[str, ...]
    members: tuple[Any, ...]
    certain: Certain
    upper: Array
    people: int | None
    target: Array
    spread: Array

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of all tables."""
        return tuple(each.name for each in self.refined)

    @property
    def labels(self) -> tuple[tuple[str, ...], ...]:
        """The values of each column."""
        return tuple(each.labels for each in self.refined)

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of values of each column."""
        return tuple(map(len, self.labels))

    @cached_property
    def rows(self) -> IntArray:
        """The joint domain in C order, one row of codes per combination."""
        return _all_rows(self.shape)


def _all_rows(shape: Sequence[int]) -> IntArray:
    return np.stack(np.unravel_index(np.arange(prod(shape)), tuple(shape)), axis=1)


def join_tables(
    tables: Sequence[CountTable],
    people: int | None,
    order: Sequence[str] = (),
    bands: Sequence[Bands] = (),
    may_be_missing: Sequence[str] | None = (),
) -> Joint:
    """What the tables say together; an error if the joint domain is too large to list.

    ``people`` is how many there are, if known. Columns come in ``order``, then the others as the tables have
    them, the secret last. If a table is about some of the people and says how many, that total is a table
    too. Shares become the counts that they can stand for; the counts of their base are in another table.
    ``may_be_missing`` are the columns that people may have no value of; None to infer them from totals.
    """
    totals = [
        CountTable({}, [float(table.people)], where=table.where.text)
        for table in tables
        if table.where is not None and table.people is not None
    ]
    tables = [*tables, *totals]
    if may_be_missing is None:
        may_be_missing = _gaps_of(tables, people, refine_columns(tables, order, bands))
    refined = refine_columns(tables, order, bands, may_be_missing)
    gaps = frozenset(each.name for each in refined if each.missing is not None)
    shape = tuple(len(each.labels) for each in refined)
    size = prod(shape)
    if size > _MOST_ROWS or size * len(tables) > _MOST_ENTRIES:
        raise _too_large(refined, size)
    rows = _all_rows(shape)
    upper = np.full(size, np.inf if people is None else float(people))
    parts: list[Certain] = []
    target = []
    spread = []
    by_counts: list[tuple[CountTable, Array, Array]] = []
    members = [_members(rows, refined, table) for table in tables]
    for number in sorted(range(len(tables)), key=lambda number: tables[number].shares_of is not None):
        table = tables[number]
        inside = members[number]
        of = table.summed
        cells = table.counts.size
        if table.shares_of is not None:
            ends = base_bounds(table, by_counts, people, {each.name: each for each in refined}, gaps)
            low, high = counts_of_shares(table, ends)
            parts.append(Certain(Sparse(inside), Bounds(low, high), _origin(number, low.size)))
            _lower_to(upper, inside, high)
            target.append(np.full(low.size, np.nan))
            spread.append(np.zeros(low.size))
            continue
        part = _facts(number, table, inside)
        if gaps & set(of) and (counted := _counts_gaps(table, tables)) is not True:
            known = np.ones(size, dtype=bool)
            for at, each in enumerate(refined):
                if each.name in of and each.missing is not None:
                    known &= rows[:, at] != each.missing
            some = _among(inside, known)
            if counted is None:
                part = _either(part, inside, some, cells)
                _lower_to(upper, some, part.high[cells : 2 * cells])
                parts.append(part)
                target.append(np.full(part.low.size, np.nan))
                spread.append(np.zeros(part.low.size))
                continue
            inside = members[number] = some
            part = _facts(number, table, inside)
        by_counts.append((table, part.low[:cells], part.high[:cells]))
        _lower_to(upper, inside, part.high[:cells])
        parts.append(part)
        gone = np.full(part.low.size - cells, np.nan)
        target += [table.counts * table.units, gone]
        std = noise_of(table.protections).assumed.ordinary.std * table.units
        spread.append(np.full(part.low.size, std if isfinite(std) else 0.0))
    if people is not None:
        end = np.array([float(people)])
        parts.append(Certain(Sparse(_everybody(size)), Bounds(end, end), np.array([[-1, -1]])))
        target.append(end)
        spread.append(np.zeros(1))
    return Joint(
        refined,
        tuple(tables),
        tuple(each.name for each in refined if each.name in gaps),
        tuple(members),
        _stacked(parts),
        upper,
        people,
        np.concatenate(target),
        np.concatenate(spread),
    )


def _too_large(refined: Sequence[Refined], size: int) -> InvalidInput:
    listed = ", ".join(f"{each.name} {len(each.labels)}" for each in refined)
    rule = f"about columns whose values have at most {_MOST_ROWS:,} combinations"
    return invalid("releases", rule, f"{size:,} ({listed})", "Use fewer columns, or coarser ones.")


def refine_columns(
    tables: Sequence[CountTable],
    order: Sequence[str] = (),
    bands: Sequence[Bands] = (),
    may_be_missing: Sequence[str] = (),
) -> tuple[Refined, ...]:
    """The columns of the tables, each with the common refinement of its codings."""
    codings: dict[str, list[ColumnLabels]] = {}
    for table in tables:
        for name in table.columns:
            codings.setdefault(name, []).append(table.coding(name))
    told = {each.column: each for each in bands}
    for parameter, names in (("bands", told), ("may_be_missing", may_be_missing)):
        for name in names:
            if name not in codings:
                raise invalid(parameter, f"columns of the tables ({', '.join(codings)})", f"'{name}'")
    if len(told) < len(bands):
        raise invalid("bands", "one Bands for each column", ", ".join(each.column for each in bands))
    compared: dict[str, list[tuple[str, float | str]]] = {}
    for table in tables:
        for node in () if table.where is None else comparisons(table.where.root):
            if node.name not in codings:
                raise invalid("where", "about columns of the tables", f"'{node.name}', which is in none")
            compared.setdefault(node.name, []).extend(node.each)
    first = [name for name in dict.fromkeys(order) if name in codings]
    ordered = sorted(dict.fromkeys([*first, *codings]), key=lambda name: name == SECRET)
    return tuple(
        refine(name, codings[name], told.get(name), compared.get(name, ()), missing=name in may_be_missing)
        for name in ordered
    )


def _members(rows: IntArray, refined: Sequence[Refined], table: CountTable) -> Any:
    """Cells × rows of the joint domain: which rows are in which cells of a table."""
    from scipy.sparse import csr_array

    names = [each.name for each in refined]
    at = np.arange(len(rows))
    if table.where is not None:
        at = at[satisfy(table.where.root, rows, {each.name: (k, each) for k, each in enumerate(refined)})]
    cell = np.zeros(at.size, dtype=np.intp)
    for name, labels in zip(table.columns, table.labels, strict=True):
        column = names.index(name)
        value, label = np.nonzero(refined[column].parts[table.coding(name)].T)  # a value may be in several
        starts = np.searchsorted(value, np.arange(len(refined[column].labels) + 1))
        codes = rows[at, column]
        many = starts[codes + 1] - starts[codes]
        steps = np.arange(many.sum()) - np.repeat(np.cumsum(many) - many, many)
        cell = np.repeat(cell, many) * len(labels) + label[np.repeat(starts[codes], many) + steps]
        at = np.repeat(at, many)
    return csr_array((np.ones(at.size), (cell, at)), shape=(table.counts.size, len(rows)))


def satisfy(node: Any, rows: IntArray, columns: Mapping[str, tuple[int, Refined]]) -> npt.NDArray[np.bool_]:
    """Which rows of the joint domain satisfy a condition."""
    if isinstance(node, Compare | In):
        at, column = columns[node.name]
        held = [column.compared[each] for each in node.each]
        return np.asarray(np.logical_or.reduce(held)[rows[:, at]])
    masks = [satisfy(part, rows, columns) for part in node.parts]
    if node.word == "not":
        return ~masks[0]
    return np.asarray((np.logical_and if node.word == "and" else np.logical_or).reduce(masks))


def _lower_to(upper: Array, inside: Any, high: Array) -> None:
    """Lowers the bounds of rows to those of the cells that they are in."""
    entries = inside.tocoo()
    np.minimum.at(upper, entries.col, high[entries.row])


def _everybody(size: int) -> Any:
    from scipy.sparse import csr_array

    return csr_array(np.ones((1, size)))


def _among(members: Any, rows: npt.NDArray[np.bool_]) -> Any:
    """The cells with only some of the rows."""
    from scipy.sparse import csr_array

    entries = members.tocoo()
    kept = rows[entries.col]
    return csr_array((entries.data[kept], (entries.row[kept], entries.col[kept])), shape=members.shape)


def _origin(number: int, cells: int) -> IntArray:
    """The origin of each cell of a table: the table's number and the cell's index."""
    return np.column_stack([np.full(cells, number), np.arange(cells)])


# People whom tables leave out, since they have no value of a column.


def every_gap(
    tables: Sequence[CountTable], people: int | None, refined: Sequence[Refined]
) -> tuple[str, ...]:
    """The columns that people may have no value of, as far as totals tell.

    All of them, unless it is known how many people there are: a table that counts everybody has no gaps.
    """
    number = _everybody_counted(tables, people)
    full: set[str] = set()
    for table, low, _ in _counted(tables, refined):
        if number is not None and low.sum() >= number:
            full |= set(table.columns)
    return tuple(each.name for each in refined if each.name not in full)


def _gaps_of(tables: Sequence[CountTable], people: int | None, refined: Sequence[Refined]) -> tuple[str, ...]:
    """The columns that people may have no value of, if totals or subtotals differ; otherwise none."""
    counted = list(_counted(tables, refined))
    number = _everybody_counted(tables, people)
    if any(number is not None and high.sum() < number for _, _, high in counted):
        return every_gap(tables, people, refined)
    for at, first in enumerate(counted):
        for second in counted[:at]:
            if _differ(first, second):
                return every_gap(tables, people, refined)
    return ()


_Counted = tuple[CountTable, Array, Array]  # a table, with the least and the largest count of each cell


def _everybody_counted(tables: Sequence[CountTable], people: int | None) -> float | None:
    """How many people there are, if that is given or published; None if not."""
    for table in tables:
        exact = not table.protections and not np.isnan(table.counts).any()
        if people is None and not table.columns and not table.summed and table.where is None and exact:
            return float(table.counts[0] * table.units)
    return None if people is None else float(people)


def _counted(tables: Sequence[CountTable], refined: Sequence[Refined]) -> Iterable[_Counted]:
    """Yields the tables of everybody who has a value of their columns, in cells that exclude each other."""
    columns = {each.name: each for each in refined}
    for table in tables:
        if table.where is not None or table.shares_of is not None or table.summed or not table.columns:
            continue
        parts = [columns[name].parts[table.coding(name)] for name in table.columns]
        gaps = [columns[name].missing for name in table.columns]
        if all(
            (np.delete(part, [] if gap is None else [gap], axis=1).sum(axis=0) == 1).all()
            for part, gap in zip(parts, gaps, strict=True)
        ):
            found = possible_counts(table.counts, table.protections, table.units)
            shape = tuple(map(len, table.labels))
            yield table, np.maximum(found.low, 0.0).reshape(shape), found.high.reshape(shape)


def _differ(first: _Counted, second: _Counted) -> bool:
    """Whether two tables cannot agree about the columns that they share."""
    shared = [
        name
        for name in first[0].columns
        if name in second[0].columns
        and set(first[0].coding(name).labels) == set(second[0].coding(name).labels)
    ]
    (low, high), (least, most) = (_margin(each, shared, first[0]) for each in (first, second))
    return bool((np.maximum(low, least) > np.minimum(high, most)).any())


def _margin(counted: _Counted, names: Sequence[str], like: CountTable) -> tuple[Array, Array]:
    """The least and the largest number of people by some columns, labels in another table's order."""
    table, low, high = counted
    over = tuple(at for at, name in enumerate(table.columns) if name not in names)
    kept = [name for name in table.columns if name in names]
    ends = []
    for side in (low, high):
        found = np.transpose(side.sum(axis=over), [kept.index(name) for name in names])
        for at, name in enumerate(names):
            own = table.labels[table.columns.index(name)]
            found = np.take(found, [own.index(each) for each in like.labels[like.columns.index(name)]], at)
        ends.append(found)
    return ends[0], ends[1]


def _counts_gaps(total: CountTable, tables: Sequence[CountTable]) -> bool | None:
    """Whether a total counts people with gaps in the columns that it was summed over; None if not known."""
    for table in tables:
        if set(table.columns) != {*total.columns, *total.summed} or table.where != total.where:
            continue
        exact = not (table.protections or total.protections or table.shares_of is not None)
        if not exact or np.isnan(table.counts).any() or np.isnan(total.counts).any():
            continue
        shape = tuple(map(len, table.labels))
        cells = (table.counts * table.units).reshape(shape)
        if any(set(table.coding(name).labels) != set(total.coding(name).labels) for name in total.columns):
            continue
        sums, _ = _margin((table, cells, cells), total.columns, total)
        return not np.allclose(sums.ravel(), total.counts * total.units, rtol=0.0, atol=1e-6)
    return None


def _either(part: Certain, every: Any, some: Any, cells: int) -> Certain:
    """What is certain of a total that counts all of its people, or only those without gaps."""
    from scipy.sparse import csr_array, vstack

    low = part.low[:cells]
    high = part.high[:cells]
    origin = part.origin[:cells]
    return Certain(
        Sparse(csr_array(vstack([every, some]))),
        Bounds(np.concatenate([low, np.zeros(cells)]), np.concatenate([np.full(cells, np.inf), high])),
        np.concatenate([origin, np.column_stack([origin[:, 0], np.full(cells, -1)])]),
    )


def _facts(number: int, table: CountTable, operator: Any) -> Certain:
    """What is certain about the cells of a table, and about sums of neighbouring cells."""
    cells = table.counts.size
    possible = possible_counts(table.counts, table.protections, table.units)
    layout = CellLayout((tuple(range(len(table.columns))),), (tuple(map(len, table.labels)),))
    sums = neighbour_sums(table.counts, layout, table.protections, table.units)
    found = Certain(Sparse(operator), possible, _origin(number, cells))
    if sums is None:
        return found
    nowhere = np.column_stack([np.full(len(sums.bounds), number), np.full(len(sums.bounds), -1)])
    more = sums_of(found.operator, sums.start, sums.stop)
    return Certain.stacked([found, Certain(more, sums.bounds, nowhere)])


def _stacked(parts: Sequence[Certain]) -> Certain:
    """What is certain from all parts, with one matrix."""
    whole = Certain.stacked(parts)
    return replace(whole, operator=Sparse(whole.operator.to_sparse()))
