"""From values to equations: hidden cells, errors, what is certain, contrasts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod, sqrt

import numpy as np
import numpy.typing as npt

from tellall.core.amounts import count_of
from tellall.core.not_done import NotDone
from tellall.evidence.bounds import Bounds, NeighbourSums
from tellall.evidence.contrasts import CompleteTables
from tellall.evidence.evidence import ReleaseEquations, Rows
from tellall.evidence.hidden import Threshold, hidden_rows, threshold_of, unseen_sums
from tellall.evidence.undo import neighbour_sums, not_possible, possible_counts
from tellall.evidence.usable import EvidenceStep, UsableRelease
from tellall.evidence.view import SAME_PEOPLE, widen
from tellall.linalg.operators.linear_operator import Array, IntArray
from tellall.people.dataset import Public
from tellall.protections.protection import Noise
from tellall.statistics.numbers import NumberRange
from tellall.statistics.statistic import Equations

__all__ = ["WRITTEN", "Equated", "release_equations", "rows_of", "whole_rounding"]

_ALIKE = 1e-9  # of the largest value: people who differ by less are alike
_EXPLAINED = 6.0  # spreads of a sum, which random errors reach once in 500 million
_MOST_TOTALS = 3  # tables that a note names

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Equated:
    """Values on the count scale on their way to equations, with all that is found out about them.

    Attributes
    ----------
    draft
        What the attacker can use.
    counts, noise
        The values, added up where cells cannot be told apart, and the law of the errors.
    equations
        What the values say about the secret.
    possible
        The counts that each value can have been; None if nothing limits them.
    numbers
        What is certain about real numbers.
    offset
        What each row of A s is more than its count.
    more, fewer
        How many people each value may count too many, and too few.
    intervals
        The rows of values that are not shown, by index, and their intervals.
    turned
        Whether all counts are complemented.
    rows, bounds, sums, tables
        What is known about each row, what is certain about it and about sums of neighbours, and the tables
        that contrasts can express.
    """

    draft: UsableRelease
    counts: Array
    noise: Noise
    equations: Equations
    possible: Bounds | None
    numbers: NumberRange | None = None
    offset: Array | None = None
    more: Array | None = None
    fewer: Array | None = None
    intervals: tuple[IntArray, Rows] | None = None
    turned: bool = False
    rows: Rows | None = None
    bounds: Bounds | None = None
    sums: NeighbourSums | None = None
    tables: CompleteTables | None = None

    @classmethod
    def of(cls, draft: UsableRelease, counts: Array, noise: Noise) -> Equated:
        """The equations of the draft's statistic, with these values and errors."""
        release = draft.release
        sums = draft.sums
        possible = possible_of(draft, noise)
        if sums is not None:
            counts = sums.add(counts)
            possible = None if possible is None else sums.add_possible(possible)
        known = np.nan_to_num(counts) if _fills(draft, possible) else counts
        equations = release.statistic.equations_on(draft.device, draft.view, known)
        if sums is not None:
            gain = equations.gain * np.sqrt(sums.terms)
            reach = equations.reach * sums.terms
            equations = replace(equations, gain=gain, reach=reach)
        return cls(draft, counts, noise, equations, possible)

    @property
    def hidden(self) -> Mask:
        """Which values are not shown."""
        return np.isnan(self.counts)

    @property
    def mismatch(self) -> tuple[Array, Array]:
        """How many people each value may count too many, and too few."""
        nobody = np.zeros(self.equations.target.size)
        return nobody if self.more is None else self.more, nobody if self.fewer is None else self.fewer


def possible_of(draft: UsableRelease, noise: Noise) -> Bounds | None:
    """The counts that every value can have been before the protections; None if any can."""
    if not (draft.counts_people and noise.known):
        return None
    protections = draft.release.protections
    ends = noise.bound < np.inf or any(one.hides or one.keeps_zero for one in protections)
    return possible_counts(draft.release.values, protections, draft.units) if ends else None


def _threshold(draft: UsableRelease) -> Threshold | None:
    """The threshold by which values were hidden, if it limits single counts."""
    if not (draft.hides and draft.counts_people and draft.sums is None):
        return None
    return threshold_of(draft.release.protections, draft.units)


def _fills(draft: UsableRelease, possible: Bounds | None) -> bool:
    """Whether something is known about values that are not shown, so that they need a row."""
    limited = draft.hides and possible is not None  # however often something was hidden, counts have limits
    return limited or _threshold(draft) is not None or draft.sums is not None


class BeyondEquations(EvidenceStep[Equated]):
    """Adds equations that hold only for exact values of bits, or the limits on real numbers.

    Without a known law of the errors nothing is added.
    """

    def accepts(self, draft: Equated) -> bool:
        return draft.equations.numbers is not None and draft.noise.known

    def apply(self, draft: Equated) -> Equated:
        equations = draft.equations
        noise = draft.noise
        levels = draft.draft.release.levels
        facts = equations.numbers
        assert facts is not None
        if not levels:
            return replace(draft, numbers=NumberRange.of(facts, noise.bound, noise.std))
        targets = facts.of_bits() if levels == 2 else None
        if targets is None:
            return draft
        if noise.bound > 0:
            reason = "they give fewer equations about bits than exact ones would"
            fewer = NotDone("values that are not exact", reason, "use")
            return replace(draft, equations=replace(equations, skipped=(*equations.skipped, fewer)))
        target = np.where(np.isnan(equations.target), targets, equations.target)
        return replace(draft, equations=replace(equations, target=target))


class OtherPeople(EvidenceStep[Equated]):
    """Says how many people each value may count too many and too few, if the people are not the same."""

    def accepts(self, draft: Equated) -> bool:
        return draft.draft.other_people

    def apply(self, draft: Equated) -> Equated:
        own = draft.draft
        last = own.tables.shapes[0][-1] if own.release.statistic.adds_up else 0
        more, fewer = own.mismatch.rows(draft.equations, draft.possible, last)
        return replace(draft, more=more, fewer=fewer)


class IntervalsOfHidden(EvidenceStep[Equated]):
    """Gives values that are not shown an interval each."""

    def accepts(self, draft: Equated) -> bool:
        return _fills(draft.draft, draft.possible)

    def apply(self, draft: Equated) -> Equated:
        equations = draft.equations
        hidden = draft.hidden
        possible = draft.possible
        offset = equations.target - np.nan_to_num(draft.counts)
        threshold = _threshold(draft.draft)
        intervals = None
        if threshold is not None:
            intervals = hidden_rows(threshold, equations, draft.counts, hidden, draft.mismatch)
        elif possible is not None and draft.draft.sums is not None:
            intervals = unseen_sums(possible, hidden, offset, draft.mismatch)
        equations = replace(equations, target=np.where(hidden, np.nan, equations.target))
        return replace(draft, equations=equations, offset=offset, intervals=intervals)


class TurnBack(EvidenceStep[Equated]):
    """Complements all counts if most of them were complemented: gross errors are then the minority.

    A rule that hides complemented counts says nothing simple about the counts, so intervals are dropped.
    """

    def accepts(self, draft: Equated) -> bool:
        return draft.noise.turned()[0] is not draft.noise

    def apply(self, draft: Equated) -> Equated:
        noise, turned = draft.noise.turned()
        if not turned:
            return replace(draft, noise=noise)
        equations = replace(draft.equations, target=draft.equations.sums - draft.equations.target)
        return replace(draft, noise=noise, equations=equations, intervals=None, turned=True)


class Errors(EvidenceStep[Equated]):
    """Says how far each row may be off."""

    def apply(self, draft: Equated) -> Equated:
        own = draft.draft
        noise = draft.noise
        whole = own.counts_people and noise.known and own.units == 1 and own.sums is None
        rows = rows_of(draft.equations, noise.assumed, draft.counts, whole=whole)
        if not noise.known:
            rows = replace(rows, bound=np.full(rows.bound.size, np.inf))
        odd = not_possible(own.release.values, own.release.protections)
        if odd.any():  # no bound holds for such a value
            held = odd if own.sums is None else own.sums.add(odd.astype(np.float64)) > 0
            rows = replace(rows, bound=np.where(held if held.size == len(rows) else True, np.inf, rows.bound))
        return replace(draft, rows=rows)


class UndoProtections(EvidenceStep[Equated]):
    """Says what is certain about each row: the counts that are possible or, without those, the errors."""

    def apply(self, draft: Equated) -> Equated:
        rows = draft.rows
        possible = draft.possible
        own = draft.draft
        assert rows is not None
        if possible is None or draft.turned:
            bounded = np.isfinite(rows.bound) & ~np.isnan(rows.target)
            room = np.where(bounded, rows.bound, np.inf)
            middle = np.where(bounded, rows.target, 0.0)
            return replace(draft, bounds=Bounds(middle - room, middle + room))
        offset = draft.equations.target - draft.counts if draft.offset is None else draft.offset
        sums = None
        if own.sums is None:
            sums = neighbour_sums(own.release.values, own.tables, own.release.protections, own.units)
        moved = None if sums is None else sums.moved(offset)
        return replace(draft, bounds=possible.moved(offset), sums=moved)


class TablesInContrasts(EvidenceStep[Equated]):
    """Keeps the tables that contrasts can express, unless errors depend on the value or on each other."""

    def accepts(self, draft: Equated) -> bool:
        release = draft.draft.release
        ordinary = draft.noise.ordinary
        dependent = any(protection.doubt for protection in release.protections)
        same = draft.draft.sums is None and not draft.draft.other_people
        tables = draft.draft.counts_people and release.statistic.in_contrasts
        return tables and same and not dependent and not ordinary.varies

    def apply(self, draft: Equated) -> Equated:
        assert draft.rows is not None
        gross = draft.noise.ordinary != draft.noise
        return replace(
            draft, tables=CompleteTables(draft.draft.view, draft.draft.tables, draft.rows, gross=gross)
        )


class Widen(EvidenceStep[Equated]):
    """Widens rows and bounds by the people whom a value may count too many or too few."""

    def accepts(self, draft: Equated) -> bool:
        return draft.draft.other_people

    def apply(self, draft: Equated) -> Equated:
        assert draft.rows is not None
        assert draft.bounds is not None
        more, fewer = draft.mismatch
        if draft.turned:  # a complemented count that counts too many leaves too few
            more, fewer = fewer, more
        bounds = draft.bounds.widened(more, fewer)
        sums = draft.sums if bounds is draft.bounds else None
        return replace(draft, rows=widen(draft.rows, more, fewer), bounds=bounds, sums=sums)


WRITTEN: tuple[EvidenceStep[Equated], ...] = (
    BeyondEquations(),
    OtherPeople(),
    IntervalsOfHidden(),
    TurnBack(),
    Errors(),
    UndoProtections(),
    TablesInContrasts(),
    Widen(),
)


def release_equations(draft: Equated) -> ReleaseEquations:
    """The equations that all steps have left."""
    own = draft.draft
    rows = draft.rows
    bounds = draft.bounds
    assert rows is not None
    assert bounds is not None
    index = np.flatnonzero(~np.isnan(rows.target) & np.isfinite(rows.std))
    rows = rows.take(index)
    if draft.intervals is not None:
        between, intervals = draft.intervals
        index = np.concatenate([index, between])
        rows = Rows.concat([rows, intervals])
    same = own.mismatch is SAME_PEOPLE
    return ReleaseEquations(
        source=draft.equations.operator,
        index=index,
        rows=rows,
        noise=draft.noise,
        alike=draft.equations.alike,
        bounds=bounds,
        sums=draft.sums,
        skipped=(*own.skipped, *draft.equations.skipped),
        notes=_inconsistent_totals(own, draft.counts, draft.noise) if same else (),
        tables=draft.tables,
        numbers=draft.numbers,
        unit=1.0 if own.release.levels else _unit_of(draft.equations),
    )


def _unit_of(equations: Equations) -> float:
    """About how much people's numbers differ, or how large they are if nothing shows that; 0 if all are zero.

    Notes
    -----
    If all had the same number μ, row j would be μ Σ a_j. The best μ misses it by √(Σ a_j²) times the spread
    of the numbers.
    """
    said = ~np.isnan(equations.target) & (equations.squares > 0)
    size = np.sqrt(equations.squares[said])
    target = equations.target[said] / size
    level = equations.sums[said] / size
    largest = float(np.abs(target).max(initial=0.0))
    if not largest:
        return 0.0
    target = target / largest  # squares of tiny numbers would be lost
    energy = float(level @ level)
    mean = float(level @ target) / energy if energy else 0.0
    spread = float(np.sqrt(np.mean((target - mean * level) ** 2)))
    if spread <= _ALIKE:
        spread = abs(mean) or 1.0
    return spread * largest


def _inconsistent_totals(draft: UsableRelease, counts: Array, noise: Noise) -> tuple[str, ...]:
    """A note about tables that do not add up to the number of people; they are used unchanged.

    What the declared errors of their cells explain is not odd: each may be off by its bound or, without one,
    all together by `_EXPLAINED` times their spread. Errors of an unknown law explain nothing.
    """
    tables = draft.tables
    view = draft.view
    if not draft.release.statistic.counts_people or not len(tables):
        return ()
    starts = np.cumsum([0, *(prod(shape) for shape in tables.shapes)])
    if starts[-1] != counts.size:
        return ()
    totals = np.add.reduceat(counts, starts[:-1])
    cells = np.diff(starts)
    room: Array = np.full(cells.size, 0.5)
    if noise.known:
        room += cells * noise.bound if noise.bound < np.inf else _EXPLAINED * noise.std * np.sqrt(cells)
    wrong = np.flatnonzero(np.abs(totals - view.n) > room)  # tables with hidden cells have no total
    if not wrong.size:
        return ()
    named = [_name_total(view, tables.columns[table], totals[table]) for table in wrong[:_MOST_TOTALS]]
    more = f" and {wrong.size - len(named):,} more" if wrong.size > len(named) else ""
    many = f"{wrong.size:,} of {count_of(len(tables), 'table')}"
    does = "does" if wrong.size == 1 else "do"
    return (f"{many} {does} not add up to the {view.n:,} people: {'; '.join(named)}{more}; used unchanged",)


def _name_total(public: Public, columns: Sequence[int], total: float) -> str:
    """The columns of a table, and what it adds up to."""
    listed = " × ".join(public.names[column] for column in columns) or "everybody"
    return f"{listed} adds up to {total:,.6g}"


# How far each equation may be off.


def rows_of(equations: Equations, noise: Noise, counts: Array, *, whole: bool) -> Rows:
    """What is known about each equation, given the law of the errors; ``whole``: values are whole counts."""
    size = equations.target.size
    std = _spread(noise, equations, counts)
    bound = _times(noise.bound, equations.reach, size)
    bound[np.broadcast_to(equations.doubt, size) > 0] = np.inf  # a further error has no certain bound
    near = np.where(np.isinf(equations.reach), equations.gain, equations.reach)  # to first order, if need be
    slack = _times(noise.half_width, near, size)
    if whole:
        std, bound, slack = whole_rounding(noise, counts, std, bound, slack)
    ordinary = std if noise.ordinary == noise else _spread(noise.ordinary, equations, counts)
    rest = np.sqrt(np.maximum(ordinary**2 - slack**2 / 3, 0.0))
    return Rows(
        target=equations.target,
        std=std,
        spread=np.maximum(std, equations.floor),
        bound=bound,
        slack=slack,
        rest=np.maximum(rest, equations.floor),
        unseen=np.zeros(size, dtype=bool),
    )


def _spread(law: Noise, equations: Equations, counts: Array) -> Array:
    """The standard deviation of each equation's error."""
    std = law.spread(counts, equations) if law.varies else law.std
    return np.hypot(_times(std, equations.gain, equations.target.size), equations.doubt)


def _times(size: Array | float, factor: Array | float, rows: int) -> Array:
    """The size times each row's factor; zero times infinity is zero."""
    sizes, factors = np.broadcast_arrays(np.asarray(size, dtype=np.float64), np.broadcast_to(factor, rows))
    some = (sizes != 0) & (factors != 0)
    return np.asarray(np.multiply(sizes, factors, out=np.zeros(rows), where=some))


def whole_rounding(
    noise: Noise, counts: Array, error: Array, bound: Array, slack: Array
) -> tuple[Array, Array, Array]:
    """Standard deviation, bound and slack of each row if whole counts were published; see `Noise.of_whole`.

    The intervals end half-way to the next count.
    """
    most = noise.of_whole(np.nan_to_num(counts))
    if most is None:
        return error, bound, slack
    rounded = slack > 0
    slack = np.where(rounded, most + 0.5, slack)
    return np.where(rounded, slack / sqrt(3), error), np.where(rounded, most, bound), slack
