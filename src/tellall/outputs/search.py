"""Looks for what a table is: computes it again from the people under its readings until it agrees."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from tellall.outputs.filters import TriedFilter, agreeing_filters
from tellall.outputs.found import FoundTable
from tellall.outputs.measures import (
    Expected,
    Measure,
    Panel,
    evidence_of,
    expected_of,
    measures_of,
    panels_of,
)
from tellall.outputs.readings import Reading, readings_of
from tellall.outputs.recount import LabelAxis, Recount
from tellall.outputs.statistic_words import NOT_RECOMPUTED
from tellall.outputs.variables import Flags, TableVariable
from tellall.people.codes import Array
from tellall.protections.protection import Protection

__all__ = ["ACCEPTED", "FittedTable", "Found", "PanelFit", "SearchLimits", "most_numbers", "search"]

_FAR = 30.0
ACCEPTED = 10.0  # bits above what was tried
_BASES = (5.0, 10.0, 3.0, 20.0, 25.0, 50.0, 100.0, 1000.0)
_MOST_FILTERED = 40  # readings under which filters are tried
_MOST_MEASURES = 6
_MOST_ATOMS = 500_000
_NO_NUMBER = ("nan", "na", "n/a", "none", "inf")
_ROUNDED = 2.0  # bits that an inferred rounding base costs


@dataclass(frozen=True)
class SearchLimits:
    """What a search may cost."""

    seconds: float = 20.0
    protect: tuple[Protection, ...] = ()
    slack: float = 0.0  # by how much declared noise may move a number


@dataclass(frozen=True, eq=False)
class PanelFit:
    """How far one panel agrees with one measure.

    Attributes
    ----------
    agrees
        For each cell whether what is shown, or hidden, agrees.
    shown
        Which cells show a number.
    base
        The inferred rounding base; None if there is none.
    bits
        How much the agreement tells.
    """

    panel: Panel
    measure: Measure
    expected: Expected
    agrees: Flags
    shown: Flags
    hidden: Flags
    numbers: Array
    base: float | None
    bits: float

    @property
    def all(self) -> bool:
        """Whether every cell agrees."""
        return bool(self.agrees.all())

    @property
    def sure(self) -> float:
        """Bits above what was tried for it."""
        return self.bits - self.measure.cost


@dataclass(frozen=True, eq=False)
class FittedTable:
    """A table under one reading: its panels with their measures, and the people that it is about."""

    reading: Reading
    whole: str
    fits: tuple[PanelFit, ...]
    left: tuple[Panel, ...]
    bits: float
    cost: float
    where: str = ""
    filter_bits: float = 0.0
    filter_columns: tuple[str, ...] = ()
    among: Flags | None = None
    filter_by: TriedFilter | None = None

    @property
    def sure(self) -> float:
        """Bits above cost."""
        return self.bits + self.reading.known - self.cost

    @property
    def axes(self) -> tuple[LabelAxis, ...]:
        """The axes of the reading."""
        return self.reading.axes

    @property
    def agreeing(self) -> tuple[int, int]:
        """How many shown cells agree, of how many."""
        shown = sum(int(fit.shown.sum()) for fit in self.fits)
        return sum(int((fit.agrees & fit.shown).sum()) for fit in self.fits), shown

    @property
    def cells(self) -> int:
        """How many numbers and marks it explains."""
        return sum(int((fit.shown | fit.hidden).sum()) for fit in self.fits)

    def identity(self) -> tuple[object, ...]:
        """What tells its cells' people from those under another reading."""
        parts = []
        for fit in self.fits:
            over = tuple(sorted(self.axes[at].identity for at in fit.measure.over))
            parts.append((*fit.measure.identity, over))
        axes = tuple(sorted((axis.identity, axis.variable.secret) for axis in self.axes))
        return (axes, tuple(map(str, map(hash, parts))), self._whom)

    @property
    def _whom(self) -> bytes:
        """Who of the people under its labels is counted."""
        if self.among is None:
            return b""
        inside = self.among.copy()
        for axis in self.axes:
            inside &= axis.total("listed")[axis.people] > 0
        return inside.tobytes()


@dataclass(eq=False)
class Found:
    """What a search found: all that agree, best first, and the nearest of what does not."""

    agreeing: list[FittedTable] = field(default_factory=list)
    nearest: FittedTable | None = None
    finished: bool = True
    readings: int = 0

    @property
    def accepted(self) -> list[FittedTable]:
        """The different meanings that are sure enough, as far as they are near the best."""
        if not self.agreeing:
            return []
        near = [each for each in self.agreeing if each.sure > self.agreeing[0].sure - _FAR]
        most = max(each.cells for each in near)  # other readings take some of the numbers for labels
        whole = [each for each in self.agreeing if each.cells == most]
        best = whole[0].sure
        kept: dict[tuple[object, ...], FittedTable] = {}
        for each in whole:
            if each.sure >= best - ACCEPTED:
                kept.setdefault(each.identity(), each)
        return list(kept.values())


def search(
    table: FoundTable, variables: Sequence[TableVariable], people: int, limits: SearchLimits | None = None
) -> Found:
    """What the table is, as far as computing it again says."""
    limits = limits or SearchLimits()
    found, ends = Found(), time.process_time() + limits.seconds
    kept: dict[tuple[int, ...], Recount] = {}
    for reading in readings_of(table, variables):
        if time.process_time() > ends:
            found.finished = False
            break
        best = found.agreeing[0] if found.agreeing else None
        if best is not None and reading.cost > best.cost + ACCEPTED + 2:
            break
        found.readings += 1
        for fitted in fitted_under(reading, table, variables, people, kept, limits):
            _keep(found, fitted)
    if not found.agreeing or found.agreeing[0].cells < most_numbers(table) / 2:
        _with_filters(found, table, variables, people, kept, limits, ends)
    return found


def most_numbers(table: FoundTable) -> int:
    """How many cells hold a number and are no header, about."""
    return sum(
        cell.number is not None and not cell.continued for line in table.cells[1:] for cell in line[1:]
    )


def _with_filters(
    found: Found,
    table: FoundTable,
    variables: Sequence[TableVariable],
    people: int,
    kept: dict[tuple[int, ...], Recount],
    limits: SearchLimits,
    ends: float,
) -> None:
    """Tries filters under the likeliest readings that explain most numbers."""
    around = " ".join((*table.title, *table.notes))
    readings = sorted(readings_of(table, variables), key=lambda one: one.cost - one.known)[:200]
    sized = [(reading, panels_of(reading, table.cells)) for reading in readings]
    sized = [(reading, panels) for reading, panels in sized if panels and reading.axes]
    tried = 0
    for reading, panels in sized[:_MOST_FILTERED]:
        if time.process_time() > ends:
            found.finished = False
            return
        recount = _recount_of(reading, people, kept)
        if recount is None:
            continue
        best = next((each for each in found.agreeing if each.where), None)
        if best is not None and reading.cost - reading.known > best.reading.cost - best.reading.known + 4:
            break
        chosen, count = _filters_of(reading, panels, recount, variables, limits)
        tried += count
        for one in chosen:
            mask = one.mask()
            cost, titled = replace(one, tried=max(tried, one.tried)).cost(around)
            for fitted in fitted_under(reading, table, variables, people, kept, limits, mask):
                if not fitted.fits or not all(fit.all for fit in fitted.fits):
                    continue
                bits = _left_out_bits(fitted, mask, recount)
                found.agreeing.append(
                    replace(
                        fitted,
                        where=one.where,
                        among=mask,
                        cost=fitted.cost + cost,
                        filter_bits=bits - cost + (7.0 if titled else 0.0),
                        filter_columns=() if one.variable.secret else (one.variable.name,),
                        filter_by=one,
                    )
                )
    found.agreeing.sort(key=lambda each: -each.sure)


def _filters_of(
    reading: Reading,
    panels: Sequence[Panel],
    recount: Recount,
    variables: Sequence[TableVariable],
    limits: SearchLimits,
) -> tuple[list[TriedFilter], int]:
    """Filters under which the panel that tells most agrees, for one of its measures."""
    usual = ("count", "mean", "share", "sum", "std", "var")
    tried = 0
    # counts first: they need no column to be guessed; then what is of the secret, the rest is cut off
    for panel in sorted(panels, key=lambda one: (-len(one.cells), one.kind != "count")):
        measures = [m for m in measures_of(panel, reading, variables) if m.kind in usual]
        for measure in sorted(measures, key=_likelier)[:_MOST_MEASURES]:
            bases: list[float | None] = [None]
            if measure.kind == "count" and not limits.slack:
                bases += list(_bases_of(panel))
            for base in bases:
                found, count = agreeing_filters(
                    recount, reading.axes, panel, measure, "listed", variables, limits.slack, base
                )
                tried += count
                if found:
                    return found, tried
        if measures:
            break
    return [], tried


def _likelier(measure: Measure) -> tuple[float, bool]:
    return measure.cost, measure.target is None or not measure.target.secret


def _bases_of(panel: Panel) -> Iterator[float]:
    """The bases whose multiples all its numbers are."""
    numbers = panel.values[0]
    shown = numbers[~np.isnan(numbers)]
    for base in sorted(_BASES):
        if (np.abs(shown / base - np.rint(shown / base)) < 1e-9).all():
            yield base


def _left_out_bits(fitted: FittedTable, mask: Flags, whole: Recount) -> float:
    """What the numbers tell of who was left out: how much they would vary among filters as large."""
    total = 0.0
    for fit in fitted.fits:
        codes, inner = fit.panel.codes, fit.panel.inner & fit.shown
        everybody = whole.cells(whole.by_atom(), codes, fitted.whole)
        among = Recount(whole.axes, whole.people, mask)
        kept = among.cells(among.by_atom(), codes, fitted.whole)
        size, gone = float(everybody[inner].sum()), float((everybody - kept)[inner].sum())
        if size <= 1 or gone <= 0:
            continue
        widths = np.full(codes.shape[0], 1.0 if fit.base is None else fit.base)
        with np.errstate(divide="ignore", invalid="ignore"):
            if fit.measure.kind == "count":
                share = everybody / size
                spread = np.sqrt(gone * share * (1 - share) * (size - gone) / (size - 1))
            else:
                spread = fit.expected.errors * np.sqrt(np.clip(1 - kept / everybody, 0.0, 1.0))
                widths = np.maximum(fit.panel.values[1], fit.expected.grain)
            bits = np.nan_to_num(np.log2(2.5 * spread / widths), nan=0.0, neginf=0.0, posinf=0.0)
        total += float(np.maximum(bits[inner], 0.0).sum())
    return total


def _keep(found: Found, fitted: FittedTable) -> None:
    if fitted.fits and all(fit.all for fit in fitted.fits):
        found.agreeing.append(fitted)
        found.agreeing.sort(key=lambda each: -each.sure)
    elif fitted.fits:
        found.nearest = _nearer(found.nearest, fitted)


def _nearer(old: FittedTable | None, new: FittedTable) -> FittedTable:
    if old is None:
        return new

    def rank(one: FittedTable) -> float:
        agree, shown = one.agreeing
        return agree - (shown - agree) / 2 + (one.reading.known - one.cost) / 4

    return new if rank(new) > rank(old) else old


def _recount_of(reading: Reading, people: int, kept: dict[tuple[int, ...], Recount]) -> Recount | None:
    """The people by the atoms of a reading, kept for others; None if there are too many atoms."""
    key = tuple(part for axis in reading.axes for part in (id(axis.variable), hash(axis.labels)))
    if key not in kept:
        kept[key] = Recount(reading.axes, people)
    return kept[key] if kept[key].size <= _MOST_ATOMS else None


def fitted_under(
    reading: Reading,
    table: FoundTable,
    variables: Sequence[TableVariable],
    people: int,
    kept: dict[tuple[int, ...], Recount],
    limits: SearchLimits,
    among: Flags | None = None,
) -> Iterator[FittedTable]:
    """Yields the table under one reading, for each way to understand its totals."""
    panels = panels_of(reading, table.cells)
    if not panels:
        return
    recount = _recount_of(reading, people, kept) if among is None else Recount(reading.axes, people, among)
    if recount is None:
        return
    done: set[tuple[bytes, ...]] = set()
    for whole in ("all", "listed", "known"):
        effect = tuple(axis.total(whole).tobytes() for axis in reading.axes)
        if effect not in done:
            done.add(effect)
            yield from _fit_panels(reading, panels, recount, whole, variables, limits)


def _fit_panels(
    reading: Reading,
    panels: Sequence[Panel],
    recount: Recount,
    whole: str,
    variables: Sequence[TableVariable],
    limits: SearchLimits,
) -> Iterator[FittedTable]:
    """Yields the best measure of every panel, and then each panel's others that agree as well."""
    choices: list[list[PanelFit]] = []
    left: list[Panel] = []
    for panel in panels:
        measures = [] if panel.kind == NOT_RECOMPUTED else measures_of(panel, reading, variables)
        tried = [fit_of(panel, measure, recount, whole, limits) for measure in measures]
        if not tried:
            left.append(panel)
            continue
        best = tried[0]
        for fit in tried[1:]:
            best = fit if _better(fit, best) else best
        others = [fit for fit in tried if best.all and fit.all and fit is not best]
        others.sort(key=lambda fit: -fit.sure)
        choices.append([best, *(fit for fit in others if fit.sure >= best.sure - ACCEPTED)])
    _of_one_column(choices)
    first = tuple(each[0] for each in choices)
    for fits in (
        first,
        *((*first[:at], other, *first[at + 1 :]) for at, each in enumerate(choices) for other in each[1:]),
    ):
        cost = reading.cost + sum(fit.measure.cost + _ROUNDED * (fit.base is not None) for fit in fits)
        yield FittedTable(reading, whole, fits, tuple(left), sum(fit.bits for fit in fits), cost)


def _of_one_column(choices: list[list[PanelFit]]) -> None:
    """Leaves only measures of the column that the panel which tells most is of, where they agree as well."""
    told = [each[0] for each in choices if each[0].all and each[0].measure.target is not None]
    if len(choices) < 2 or not told:
        return
    target = max(told, key=lambda fit: fit.sure).measure.target
    for place, each in enumerate(choices):
        same = [fit for fit in each if fit.measure.target is target or fit.measure.target is None]
        if same and each[0].panel.said.target is None:
            choices[place] = same


def _better(new: PanelFit, old: PanelFit) -> bool:
    if new.all != old.all:
        return new.all
    if new.all:
        return new.sure > old.sure
    return float(new.agrees.mean()) - new.measure.cost / 40 > float(old.agrees.mean()) - old.measure.cost / 40


def fit_of(panel: Panel, measure: Measure, recount: Recount, whole: str, limits: SearchLimits) -> PanelFit:
    """How far a panel agrees with a measure."""
    expected = expected_of(measure, recount, panel.codes, whole)
    return compared(panel, measure, expected, limits)


def compared(panel: Panel, measure: Measure, expected: Expected, limits: SearchLimits) -> PanelFit:
    """How far what is printed agrees with what is expected."""
    numbers, steps = panel.values
    shown = ~np.isnan(numbers)
    hidden = np.array([panel.hides(cell) for cell in panel.cells])
    blank = np.array([cell.blank or cell.text.lower() in _NO_NUMBER for cell in panel.cells])
    values = expected.values
    empty = np.isnan(values) | (values == 0)
    with np.errstate(invalid="ignore"):
        exact = np.abs(numbers - values) <= _reach(numbers, steps) + limits.slack
    agrees = np.where(shown, exact, hidden | blank)
    for at in np.flatnonzero(hidden):
        below = panel.cells[at].below
        if below is not None and measure.kind == "count" and not np.isnan(values[at]):
            reaches = panel.cells[at].reaches
            agrees[at] = values[at] <= below if reaches else values[at] < below
    base = None
    widths = np.where(shown, steps, 1.0) + 2 * limits.slack
    if measure.kind == "count" and shown.any() and not agrees[shown].all() and not limits.slack:
        base = _base_of(numbers[shown], values[shown])
        if base is not None:
            agrees = np.where(shown, np.abs(numbers - values) <= base / 2 + 1e-9, agrees)
            widths = np.full(numbers.size, base)
    bits = evidence_of(expected, panel, widths, shown & agrees)
    return PanelFit(panel, measure, expected, agrees, shown, (hidden | (blank & ~empty)), numbers, base, bits)


def _reach(numbers: Array, steps: Array) -> Array:
    """How far a number may be from what is printed for it."""
    return steps / 2 * (1 + 1e-9) + 1e-9 * np.maximum(1.0, np.abs(numbers))


def _base_of(numbers: Array, values: Array) -> float | None:
    """The largest base whose multiples all numbers are and to which the values would be rounded."""
    if np.isnan(values).any():
        return None
    for base in sorted(_BASES, reverse=True):
        multiples = np.abs(numbers / base - np.rint(numbers / base)) < 1e-9
        if multiples.all() and (np.abs(numbers - values) <= base / 2 + 1e-9).all():
            return base
    return None
