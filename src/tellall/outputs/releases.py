"""Releases of tables that were recognised: the equations that an attacker has from what is shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tellall.core.amounts import list_of
from tellall.core.errors import TellallError
from tellall.outputs.recount import LabelAxis
from tellall.outputs.search import FittedTable, PanelFit
from tellall.people.codes import Array, IntArray
from tellall.people.cuts import number_text
from tellall.people.dataset import Dataset
from tellall.people.labels import parse_range
from tellall.protections.protection import Protection
from tellall.protections.rounding import Rounding
from tellall.protections.suppression import Suppression
from tellall.release.release import Release
from tellall.statistics.cell_counts import TOTAL, CellCounts
from tellall.statistics.printed_cells import PrintedCells
from tellall.statistics.where import people_where

__all__ = ["NoRelease", "hiding_of", "releases_of"]


class NoRelease(Exception):
    """Why a recognised output is not attacked."""


class OnlyRecognised(NoRelease):
    """Numbers of a kind that is recognised and not attacked: what they are called, and of what."""

    def __init__(self, measure: str, of_what: str = "") -> None:
        super().__init__(measure, of_what)
        self.measure = measure
        self.of_what = of_what

    def __str__(self) -> str:
        return only_recognised([self.measure], self.of_what)


def only_recognised(measures: Sequence[str], of_what: str) -> str:
    """Why some numbers are not attacked, in words."""
    return f"{list_of(measures)}{of_what} are recognised, and not attacked"


@dataclass(frozen=True)
class Hidden:
    """What hidden cells say of the rule: the least and largest threshold that fits.

    ``complementary`` if cells are hidden that are no smaller than some shown.
    """

    low: float
    high: float
    complementary: bool
    declared: float | None = None

    @property
    def threshold(self) -> float:
        """The threshold that a reader may take: the declared one, else the smallest shown count."""
        return self.high if self.declared is None else self.declared


def hiding_of(fit: PanelFit) -> Hidden | None:
    """The hiding rule of counts, as far as shown and hidden cells say; None if nothing is hidden."""
    if fit.measure.kind != "count" or not fit.hidden.any():
        return None
    values, inner = fit.expected.values, fit.panel.inner
    hidden = values[fit.hidden & inner]
    shown = values[fit.shown & inner & (values > 0)]
    smallest = float(shown.min()) if shown.size else np.inf
    below = hidden[hidden < smallest]
    ends = [cell.below + cell.reaches for cell in fit.panel.cells if cell.hidden and cell.below is not None]
    return Hidden(
        float(below.max(initial=0.0)) + 1,
        smallest if np.isfinite(smallest) else float(values[fit.hidden].max()) + 1,
        bool((hidden >= smallest).any() or (fit.hidden & ~inner).any()),
        float(max(ends)) if ends else None,
    )


def releases_of(
    fitted: FittedTable, people: Dataset, declared: Sequence[Protection] = ()
) -> tuple[list[Release], list[str]]:
    """The releases of a recognised table about these people, and why some of its numbers are none."""
    found: list[Release] = []
    reasons: list[str] = []
    only: dict[str, list[str]] = {}
    counted = any(fit.measure.kind == "count" and speaks_of_secret(fitted, fit) for fit in fitted.fits)
    for fit in fitted.fits:
        if not speaks_of_secret(fitted, fit):
            continue
        if counted and _follows(fitted, fit):
            continue
        try:
            found += _of_fit(fitted, fit, people, declared)
        except OnlyRecognised as reason:
            only.setdefault(reason.of_what, []).append(reason.measure)
        except NoRelease as reason:
            reasons.append(str(reason))
    reasons += [only_recognised(list(dict.fromkeys(words)), of_what) for of_what, words in only.items()]
    if fitted.left:
        reasons.append("some of its numbers were not computed again")
    return found, reasons


def _follows(fitted: FittedTable, fit: PanelFit) -> bool:
    """Whether shares follow from counts that are printed beside them."""
    if fit.measure.kind != "share" or fit.measure.target is not None:
        return False
    counts = next(one for one in fitted.fits if one.measure.kind == "count")
    return not counts.hidden.any() and counts.base is None


def speaks_of_secret(fitted: FittedTable, fit: PanelFit) -> bool:
    """Whether the numbers depend on the secret."""
    target = fit.measure.target
    if (target is not None and target.secret) or _filtered_by_secret(fitted):
        return True
    at = _secret_axis(fitted.axes)
    return at is not None and bool((fit.panel.codes[:, at] != TOTAL).any())


def _filtered_by_secret(fitted: FittedTable) -> bool:
    return fitted.filter_by is not None and fitted.filter_by.variable.secret


def _secret_axis(axes: Sequence[LabelAxis]) -> int | None:
    return next((at for at, axis in enumerate(axes) if axis.variable.secret), None)


def _of_fit(
    fitted: FittedTable, fit: PanelFit, people: Dataset, declared: Sequence[Protection]
) -> list[Release]:
    measure, at = fit.measure, _secret_axis(fitted.axes)
    if _filtered_by_secret(fitted):
        return _of_chosen(fitted, fit, people, declared)
    if measure.target is not None and measure.target.secret and at is not None:
        raise NoRelease(f"{measure.words} of the secret by itself")
    if measure.kind == "share" and measure.target is None and at is not None:
        return _shares(fitted, fit, people, declared, at)
    if measure.target is not None and measure.target.secret:
        return [_of_target(fitted, fit, people, declared)]
    if measure.kind != "count" or at is None:
        raise OnlyRecognised(measure.words, "" if at is None else " of another column by the secret")
    return _counts(fitted, fit, people, declared, at, fit.numbers, fit.expected.values)


def _of_chosen(
    fitted: FittedTable, fit: PanelFit, people: Dataset, declared: Sequence[Protection]
) -> list[Release]:
    """Counts of the people with one value of the secret: the cells of that value in a table by it."""
    chosen = fitted.filter_by
    assert chosen is not None
    values = np.flatnonzero(chosen.values[:-1])
    measure = fit.measure
    if not people.levels or values.size != 1 or measure.target is not None:
        raise OnlyRecognised(measure.words, " of people chosen by the secret")
    shown, counts = fit.numbers, fit.expected.values
    if measure.kind == "share":  # they stand for counts
        counts = counts / fit.expected.grain
        shown = np.where(fit.shown, counts, np.nan)
    rows = np.arange(len(fit.panel.codes))
    secret = np.full(rows.size, values[0], dtype=np.int64)
    return _of_cells(fitted, fit, people, declared, (rows, secret), shown, counts, where="")


def _no_totals(fitted: FittedTable, fit: PanelFit, at: int, people: Dataset) -> tuple[IntArray, IntArray]:
    """The cells that are of one value of the secret, and that value."""
    if not people.levels:
        raise NoRelease("counts by bands of a number are recognised, and not attacked")
    axis = fitted.axes[at]
    value_of = np.array([_only_value(axis, label) for label in range(len(axis.labels))])
    rows = np.flatnonzero(fit.panel.codes[:, at] != TOTAL)
    return rows, value_of[fit.panel.codes[rows, at]]


def _shares(
    fitted: FittedTable, fit: PanelFit, people: Dataset, declared: Sequence[Protection], at: int
) -> list[Release]:
    """Shares of the people of public cells as they are; others as the counts that they stand for."""
    if fit.measure.over != {at}:
        parts = fit.expected.values / fit.expected.grain
        return _counts(fitted, fit, people, declared, at, np.where(fit.shown, parts, np.nan), parts)
    rows, secret = _no_totals(fitted, fit, at, people)
    others = [place for place in range(len(fitted.axes)) if place != at]
    kind = "percentages" if fit.measure.scale == 100 else "rates"
    return [_printed(fitted, fit, people, declared, rows, others, secret, kind)]


def _of_target(
    fitted: FittedTable, fit: PanelFit, people: Dataset, declared: Sequence[Protection]
) -> Release:
    """Rates, means and sums of the secret."""
    measure, target = fit.measure, fit.measure.target
    assert target is not None
    rows, others = np.arange(len(fit.panel.codes)), list(range(len(fitted.axes)))
    nothing = np.zeros(rows.size, dtype=np.int64)
    if measure.kind == "share" and people.levels and measure.value is not None:
        kind = "percentages" if measure.scale == 100 else "rates"
        return _printed(fitted, fit, people, declared, rows, others, nothing + measure.value, kind)
    if measure.kind in ("mean", "sum") and not people.levels:
        return _printed(fitted, fit, people, declared, rows, others, nothing, f"{measure.kind}s")
    plain = people.levels == 2 and target.numbers is not None and target.numbers.tolist() == [0, 1]
    if measure.kind == "mean" and plain:
        return _printed(fitted, fit, people, declared, rows, others, nothing + 1, "rates")
    raise OnlyRecognised(measure.words, f" of {target.name}")


def _printed(
    fitted: FittedTable,
    fit: PanelFit,
    people: Dataset,
    declared: Sequence[Protection],
    rows: IntArray,
    others: Sequence[int],
    secret: IntArray,
    kind: str,
) -> Release:
    if not all(_listed_only(fitted, at) or not (fit.panel.codes[rows, at] == TOTAL).any() for at in others):
        kept = np.array([not (fit.panel.codes[row, list(others)] == TOTAL).any() for row in rows])
        rows, secret = rows[kept], secret[kept]  # their totals hold people without a label
    if not rows.size:
        raise NoRelease("only totals of people without a label")
    axes = [fitted.axes[at] for at in others]
    names = [axis.variable.name for axis in axes]
    labels = [[_own_label(axis, label) for label in range(len(axis.labels))] for axis in axes]
    codes = fit.panel.codes[rows][:, list(others)]
    cells = [(*row, int(value)) for row, value in zip(codes.tolist(), secret, strict=True)]
    statistic = PrintedCells(names, labels, cells, kind, people.levels)
    numbers = np.where(fit.shown, fit.numbers, np.nan)[rows]
    protect = list(declared) or _last_digit(fit)
    return _checked(statistic, numbers, fit.expected.values[rows], fitted.where, people, protect)


def _last_digit(fit: PanelFit) -> list[Protection]:
    """Rounding to the finest printed digit that all numbers agree with; none where all digits are shown."""
    steps = fit.panel.values[1][fit.shown]
    off = np.abs(fit.numbers - fit.expected.values)[fit.shown]
    if not steps.size:
        return []
    for step in np.unique(steps):
        if (off <= step / 2 * (1 + 1e-6)).all():
            scale = float(np.nanmax(np.abs(fit.expected.values)))
            return [Rounding(float(step))] if step > 1e-9 * max(scale, 1e-300) else []
    return [Rounding(float(steps.max()))]


def _listed_only(fitted: FittedTable, at: int) -> bool:
    """Whether a total of an axis holds just the people under its labels."""
    axis = fitted.axes[at]
    return np.array_equal(axis.total(fitted.whole), axis.total("listed"))


def _only_value(axis: LabelAxis, label: int) -> int:
    held = np.flatnonzero(axis.masks[label])
    if held.size != 1 or held[0] >= axis.variable.size:
        raise NoRelease(f"'{axis.labels[label]}' holds several values of {axis.variable.name}")
    return int(held[0])


def _counts(
    fitted: FittedTable,
    fit: PanelFit,
    people: Dataset,
    declared: Sequence[Protection],
    at: int,
    shown: Array,
    counts: Array,
) -> list[Release]:
    """Counts under printed labels; totals that hold people without a label are tables of fewer columns."""
    return _of_cells(fitted, fit, people, declared, _no_totals(fitted, fit, at, people), shown, counts)


def _of_cells(
    fitted: FittedTable,
    fit: PanelFit,
    people: Dataset,
    declared: Sequence[Protection],
    cells: tuple[IntArray, IntArray],
    shown: Array,
    counts: Array,
    where: str | None = None,
) -> list[Release]:
    """Counts of some cells, each with its value of the secret."""
    rows, secret = cells
    others = [place for place, axis in enumerate(fitted.axes) if not axis.variable.secret]
    numbers = np.where(fit.shown, shown, np.where(fit.hidden, np.nan, 0.0))[rows]
    codes = fit.panel.codes[rows][:, others]
    listed = all(_listed_only(fitted, place) for place in others)
    protect = list(declared) or _inferred(fit)
    summed = codes == TOTAL
    groups = [np.arange(len(codes))]
    if not listed:
        groups = [np.flatnonzero((summed == each).all(axis=1)) for each in np.unique(summed, axis=0)]
    found = []
    for chosen in groups:
        used = [k for k in range(len(others)) if listed or not summed[chosen[0], k]]
        axes = [fitted.axes[others[k]] for k in used]
        names = [axis.variable.name for axis in axes]
        labels = [[_own_label(axis, label) for label in range(len(axis.labels))] for axis in axes]
        listed_cells = [(*codes[k, used].tolist(), int(secret[k])) for k in chosen]
        statistic = CellCounts(names, labels, listed_cells, people.levels)
        whom = fitted.where if where is None else where
        found.append(_checked(statistic, numbers[chosen], counts[rows][chosen], whom, people, protect))
    return found


def _checked(
    statistic: CellCounts | PrintedCells,
    numbers: Array,
    expected: Array,
    whom: str,
    people: Dataset,
    protect: Sequence[Protection],
) -> Release:
    """The release, if the statistic gives what was expected of these people."""
    where = whom or None
    try:
        chosen = people_where(where, people.public)
        again = statistic.values(people if where is None else people.take(chosen))
        made = Release.from_values(
            statistic, numbers, public=people.public, protect=protect, levels=people.levels, where=where
        )
    except TellallError as error:
        raise NoRelease(f"it is recognised, and tellall cannot make a release of it: {error}") from None
    if not np.allclose(again, expected, rtol=1e-9, atol=1e-6, equal_nan=True):
        raise NoRelease("it is recognised, and tellall cannot yet say its people in a release")
    return made


def _inferred(fit: PanelFit) -> list[Protection]:
    found: list[Protection] = []
    hidden = hiding_of(fit)
    if hidden is not None:
        found.append(Suppression(hidden.threshold, complementary=hidden.complementary))
    if fit.base is not None:
        found.append(Rounding(fit.base))
    return found


def _own_label(axis: LabelAxis, label: int) -> str:
    """The label as readers of releases understand it: a value of the column, or a range of its numbers."""
    variable, held = axis.variable, axis.masks[label]
    places = np.flatnonzero(held)
    if places.size == 1 and places[0] == variable.size:
        return "nan"
    if variable.numbers is None or variable.coded:
        if places.size == 1:
            return str(variable.texts[places[0]])
        raise NoRelease(f"'{axis.labels[label]}' holds several values of {variable.name}")
    if places.size == 1 and parse_range(axis.labels[label]) is None:
        return number_text(float(variable.numbers[places[0]]))
    said = parse_range(axis.labels[label])
    if said is not None and np.array_equal(np.append(said.holds(variable.numbers), False), held):
        return axis.labels[label]
    if not places.size:
        raise NoRelease(f"nobody is in '{axis.labels[label]}'")
    low, high = variable.numbers[places[0]], variable.numbers[places[-1]]
    return f"[{number_text(float(low))}, {number_text(float(high))}]"
