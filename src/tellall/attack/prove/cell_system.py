"""The system that listed cells of linked tables give: what is unknown, and what every line says about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import Any

import numpy as np

from tellall.core.errors import invalid
from tellall.evidence.bounds import Bounds, Certain
from tellall.evidence.joint import satisfy
from tellall.linalg.operators.linear_operator import Array, IntArray
from tellall.linalg.operators.sparse import Sparse
from tellall.linalg.solvers.solution import Gaps
from tellall.outputs.listed import ListedCells, is_total
from tellall.people.bands import Bands, ColumnLabels, Refined, refine
from tellall.people.hierarchies import refine_codes
from tellall.statistics.conditions import comparisons

__all__ = ["CellSystem", "cell_system"]

_MOST_CELLS = 2_000_000  # combinations of values
_SPREAD = 2**62


@dataclass(frozen=True, eq=False)
class CellSystem:
    """low ≤ matrix @ x ≤ high: every line of the tables, with x from ``lower`` to infinity.

    Attributes
    ----------
    matrix
        Rows × unknowns, a scipy CSR array; unknowns that are in the same cells are one.
    low, high, gaps
        What is known of each row, as in `Certain`.
    origin
        The table and line of each row; −1 for rows that link tables, or define an unknown.
    lower
        The least value of each unknown.
    asked
        The unknown of each withheld value, in the order of the tables and their lines.
    lines
        The table and line of each.
    """

    matrix: Any
    low: Array
    high: Array
    gaps: Gaps
    origin: IntArray
    lower: Array
    asked: IntArray
    lines: IntArray

    @property
    def certain(self) -> Certain:
        """The same for searches over whole numbers."""
        return Certain(Sparse(self.matrix), Bounds(self.low, self.high, self.gaps), self.origin)


def cell_system(tables: Sequence[ListedCells], bands: Sequence[Bands] = (), lower: float = 0.0) -> CellSystem:
    """The system of listed cells that add up the same thing about the same people.

    Parameters
    ----------
    bands
        What codes are made of, where labels do not say it.
    lower
        The least value of what nobody publishes: 0, or −∞ if amounts may be negative.

    Notes
    -----
    Unknown is how much is in each combination of values of the columns, but only of columns that some table
    has together. Columns that tables share are made a chordal graph; each of its cliques has a table of
    unknowns, and neighbours in a junction tree agree about the columns that they share. Tables of numbers of
    zero or more that agree like this are always those of one joint table, of whole numbers if they are whole
    (a join of two is a transportation problem in each shared cell), so that nothing is lost.
    Combinations that are in the same cells are added up to one unknown.
    """
    columns = _refined(tables, bands)
    needs = [_columns_of(table) for table in tables]
    cliques, links = _junction_tree(needs)
    sizes = [prod(len(columns[name].labels) for name in clique) for clique in cliques]
    if sum(sizes) > _MOST_CELLS:
        listed = ", ".join(f"{name} {len(each.labels)}" for name, each in columns.items())
        rule = f"about columns whose values have at most {_MOST_CELLS:,} combinations"
        advice = "Use fewer tables at once, or coarser ones."
        raise invalid("releases", rule, f"{sum(sizes):,} ({listed})", advice)
    return _assembled(tables, columns, needs, cliques, links, lower)


def _columns_of(table: ListedCells) -> tuple[str, ...]:
    """The columns of a table and of its condition."""
    asked = () if table.where is None else (node.name for node in comparisons(table.where.root))
    return tuple(dict.fromkeys([*table.columns, *asked]))


def _refined(tables: Sequence[ListedCells], bands: Sequence[Bands]) -> dict[str, Refined]:
    """The common refinement of each column's codings."""
    told = {each.column: each for each in bands}
    codings: dict[str, list[ColumnLabels]] = {}
    compared: dict[str, list[tuple[str, float | str]]] = {}
    for table in tables:
        for name in table.columns:
            own = codings.setdefault(name, [])
            if (coding := table.coding(name)).labels and coding not in own:
                own.append(coding)
        for node in () if table.where is None else comparisons(table.where.root):
            compared.setdefault(node.name, []).extend(node.each)
    for name in told:
        if name not in codings:
            raise invalid("bands", f"columns of the tables ({', '.join(codings)})", f"'{name}'")
    found = {}
    for name, own in codings.items():
        if not own:
            raise invalid("releases", f"tables with values of '{name}'", "totals alone")
        by_code = None if name in compared else refine_codes(name, own, told.get(name))
        found[name] = by_code or refine(name, own, told.get(name), compared.get(name, ()))
    for name in compared:
        if name not in found:
            raise invalid("where", "about columns of the tables", f"'{name}', which is in none")
    return found


def _junction_tree(
    sets: Sequence[tuple[str, ...]],
) -> tuple[list[tuple[str, ...]], list[tuple[int, int]]]:
    """The cliques of a chordal graph in which each set is complete, and the links of a junction tree."""
    names = list(dict.fromkeys(name for each in sets for name in each))
    near: dict[str, set[str]] = {name: set() for name in names}
    for each in sets:
        for one, other in combinations(each, 2):
            near[one].add(other)
            near[other].add(one)
    cliques: list[frozenset[str]] = []
    left = dict(near)
    while left:
        # the column whose neighbours lack the fewest links among themselves
        lacking = {
            name: sum(b not in left[a] for a, b in combinations(sorted(around), 2))
            for name, around in left.items()
        }
        chosen = min(left, key=lambda name: lacking[name])
        around = left.pop(chosen)
        cliques.append(frozenset({chosen, *around}))
        for one in around:
            left[one] = (left[one] | around) - {one, chosen}
    kept = [each for each in cliques if not any(each < other for other in cliques)]
    kept = list(dict.fromkeys(kept)) or [frozenset()]
    order = {name: at for at, name in enumerate(names)}
    ordered = [tuple(sorted(each, key=order.__getitem__)) for each in kept]
    pairs = sorted(combinations(range(len(kept)), 2), key=lambda pair: -len(kept[pair[0]] & kept[pair[1]]))
    tree = list(range(len(kept)))
    links = []
    for first, second in pairs:
        if tree[first] != tree[second]:
            links.append((first, second))
            tree = [tree[first] if each == tree[second] else each for each in tree]
    return ordered, links


def _indicator(table: ListedCells, name: str, column: Refined) -> Any:
    """Codes × values of a column's refinement: which values each code holds."""
    from scipy.sparse import csr_array

    labels = table.labels[table.columns.index(name)]
    parts = column.parts[coding] if (coding := table.coding(name)).labels else None
    places = {label: at for at, label in enumerate(coding.labels)}
    rows = [
        np.ones(len(column.labels))
        if is_total(label) or parts is None
        else parts[places[label]].astype(float)
        for label in labels
    ]
    return csr_array(np.array(rows))


def _members(table: ListedCells, clique: Sequence[str], columns: dict[str, Refined]) -> Any:
    """Lines × combinations of a clique's values: which are in each line."""
    from scipy.sparse import csr_array, diags_array, kron

    found = csr_array(np.ones((1, 1)))
    shape = []
    for name in clique:
        own = name in table.columns
        labels = len(table.labels[table.columns.index(name)]) if own else 1
        shape.append(labels)
        every = csr_array(np.ones((1, len(columns[name].labels))))
        found = kron(found, _indicator(table, name, columns[name]) if own else every, format="csr")
    codes = [
        table.codes[:, table.columns.index(name)]
        if name in table.columns
        else np.zeros(table.values.size, dtype=np.intp)
        for name in clique
    ]
    at = (
        np.ravel_multi_index(tuple(codes), tuple(shape))
        if clique
        else np.zeros(table.values.size, dtype=np.intp)
    )
    found = csr_array(found)[at]
    if table.where is None:
        return found
    sizes = tuple(len(columns[name].labels) for name in clique)
    rows = np.stack(np.unravel_index(np.arange(prod(sizes)), sizes), axis=1)
    inside = satisfy(table.where.root, rows, {name: (k, columns[name]) for k, name in enumerate(clique)})
    return csr_array(found @ diags_array(inside.astype(float)))


def _shared(own: Sequence[str], shared: Sequence[str], columns: dict[str, Refined]) -> Any:
    """Combinations of shared columns × those of a clique: which belong together."""
    from scipy.sparse import csr_array, eye_array, kron

    found = csr_array(np.ones((1, 1)))
    for name in own:
        size = len(columns[name].labels)
        found = kron(found, eye_array(size) if name in shared else np.ones((1, size)), format="csr")
    return csr_array(found)


def _assembled(
    tables: Sequence[ListedCells],
    columns: dict[str, Refined],
    needs: Sequence[tuple[str, ...]],
    cliques: Sequence[tuple[str, ...]],
    links: Sequence[tuple[int, int]],
    lower: float,
) -> CellSystem:
    from scipy.sparse import block_array, csr_array, eye_array, hstack, vstack

    sizes = [prod(len(columns[name].labels) for name in clique) for clique in cliques]
    starts = np.cumsum([0, *sizes])

    def placed(part: Any, clique: int) -> Any:
        left, right = int(starts[clique]), int(starts[-1] - starts[clique + 1])
        rows = part.shape[0]
        return hstack([csr_array((rows, left)), part, csr_array((rows, right))], format="csr")

    parts = []
    gaps: list[tuple[int, IntArray]] = []
    ends: list[tuple[Array, Array]] = []
    origin = []
    lines = 0
    for number, (table, needed) in enumerate(zip(tables, needs, strict=True)):
        home = next(at for at, clique in enumerate(cliques) if set(needed) <= set(clique))
        parts.append(placed(_members(table, cliques[home], columns), home))
        least, most, holes = table.possible()
        ends.append((least, most))
        gaps += [(lines + line, counts) for line, counts in holes]
        origin.append(np.column_stack([np.full(least.size, number), np.arange(least.size)]))
        lines += least.size
    low, high = (np.concatenate(side) for side in zip(*ends, strict=True))
    at = np.concatenate(origin)
    sides = []
    for one, other in links:
        shared = [name for name in cliques[one] if name in cliques[other]]
        sides += [placed(_shared(cliques[side], shared, columns), side) for side in (one, other)]
    totals: list[float] = []
    for table, part in zip(tables, parts, strict=True):
        if table.sums:
            sides += [_summed(table, part, each) for each in ("plus", "minus")]
            totals += [each.total for each in table.sums]
    matrix, sides = _merged(vstack(parts, format="csr"), sides)
    withheld = np.concatenate([table.withheld for table in tables])
    asked_rows = np.flatnonzero(withheld)
    linked = [first - second for first, second in zip(sides[::2], sides[1::2], strict=True)]
    # a withheld value that is not one unknown by itself gets an unknown of its own
    single = np.diff(matrix.indptr)[asked_rows] == 1
    unknowns, more = matrix.shape[1], asked_rows[~single]
    asked = np.empty(asked_rows.size, dtype=np.intp)
    asked[single] = matrix.indices[matrix.indptr[asked_rows[single]]]
    asked[~single] = unknowns + np.arange(more.size)
    top = vstack([matrix, *linked], format="csr")
    blank = csr_array((top.shape[0], more.size))
    every = (
        block_array([[top, blank], [matrix[more], -eye_array(more.size)]], format="csr") if more.size else top
    )
    rest = every.shape[0] - lines
    known = np.zeros(rest)
    if sum(len(table.sums) for table in tables):
        known[sum(each.shape[0] for each in sides[: 2 * len(links) : 2]) : rest - more.size] = totals
    least = np.full(unknowns + more.size, lower)
    return CellSystem(
        every,
        np.concatenate([low, known]),
        np.concatenate([high, known]),
        tuple(gaps),
        np.concatenate([at, np.full((rest, 2), -1)]),
        least,
        asked,
        at[asked_rows],
    )


def _summed(table: ListedCells, lines: Any, side: str) -> Any:
    """Sums that everybody knows × unknowns: the lines on one side of each."""
    from scipy.sparse import csr_array

    chosen = [(row, line) for row, one in enumerate(table.sums) for line in getattr(one, side)]
    rows, at = np.array(chosen, dtype=np.intp).reshape(-1, 2).T
    return csr_array(
        csr_array((np.ones(rows.size), (rows, at)), shape=(len(table.sums), lines.shape[0])) @ lines
    )


def _merged(matrix: Any, links: Sequence[Any]) -> tuple[Any, list[Any]]:
    """The matrices with unknowns that are in the same rows of all of them as one; those in none left out."""
    from scipy.sparse import csr_array, vstack

    every = vstack([matrix, *links], format="csr") if links else matrix
    rng = np.random.default_rng(0)
    draws = rng.integers(0, _SPREAD, (2, every.shape[0]), dtype=np.int64)
    entries = every.tocsc()
    prints = np.zeros((2, every.shape[1]), dtype=np.int64)
    with np.errstate(over="ignore"):
        for own, each in zip(prints, draws, strict=True):
            sums = np.concatenate([np.zeros(1, np.int64), np.cumsum(each[entries.indices])])
            own[:] = sums[entries.indptr[1:]] - sums[entries.indptr[:-1]]
    used = np.flatnonzero(np.diff(entries.indptr))
    _, first = np.unique(prints[:, used], axis=1, return_index=True)
    chosen = np.sort(used[first])
    return csr_array(matrix[:, chosen]), [csr_array(each[:, chosen]) for each in links]
