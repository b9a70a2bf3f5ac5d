"""Releases of tables that were recognised: the equations that an attacker has from what is shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tellall.core.errors import TellallError
from tellall.outputs.recount import Axis
from tellall.outputs.search import Fit, Fitted
from tellall.people.codes import Array, IntArray
from tellall.people.cuts import number_text
from tellall.people.dataset import Dataset
from tellall.people.labels import parse_range
from tellall.release.protections.protection import Protection
from tellall.release.protections.rounding import Rounding
from tellall.release.protections.suppression import Suppression
from tellall.release.release import Release
from tellall.release.statistics.among import as_among
from tellall.release.statistics.cell_counts import TOTAL, CellCounts

__all__ = ["NoRelease", "hiding_of", "releases_of"]


class NoRelease(Exception):
    """Why a recognised output is not attacked."""


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


def hiding_of(fit: Fit) -> Hidden | None:
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


def releases_of(fitted: Fitted, people: Dataset, declared: Sequence[Protection] = ()) -> tuple[Release, ...]:
    """The releases of a recognised table about these people; `NoRelease` says why there is none."""
    found: list[Release] = []
    for fit in fitted.fits:
        if speaks_of_secret(fitted, fit):
            found += _of_fit(fitted, fit, people, declared)
    return tuple(found)


def speaks_of_secret(fitted: Fitted, fit: Fit) -> bool:
    """Whether the numbers depend on the secret."""
    target = fit.measure.target
    if target is not None and target.secret:
        return True
    at = _secret_axis(fitted.axes)
    return at is not None and bool((fit.panel.codes[:, at] != TOTAL).any())


def _secret_axis(axes: Sequence[Axis]) -> int | None:
    return next((at for at, axis in enumerate(axes) if axis.variable.secret), None)


def _of_fit(fitted: Fitted, fit: Fit, people: Dataset, declared: Sequence[Protection]) -> list[Release]:
    if fit.measure.kind != "count":
        raise NoRelease(f"tables of {fit.measure.kind}s are recognised, and not yet attacked")
    if not people.levels:
        raise NoRelease("counts by bands of a number, which are not attacked: cut it into categories")
    axes = fitted.axes
    at = _secret_axis(axes)
    assert at is not None
    value_of = [_only_value(axes[at], label) for label in range(len(axes[at].labels))]
    others = [place for place in range(len(axes)) if place != at]
    numbers = np.where(fit.shown, fit.numbers, np.where(fit.hidden, np.nan, 0.0))
    rows = [k for k in range(len(numbers)) if fit.panel.codes[k, at] != TOTAL]
    codes = fit.panel.codes[rows]
    secret = np.array([value_of[code] for code in codes[:, at]])
    return _counts(fitted, fit, people, declared, codes[:, others], others, secret, numbers[rows], rows)


def _only_value(axis: Axis, label: int) -> int:
    held = np.flatnonzero(axis.masks[label])
    if held.size != 1 or held[0] >= axis.variable.size:
        raise NoRelease(f"'{axis.labels[label]}' holds several values of {axis.variable.name}")
    return int(held[0])


def _counts(
    fitted: Fitted,
    fit: Fit,
    people: Dataset,
    declared: Sequence[Protection],
    codes: IntArray,
    others: Sequence[int],
    secret: IntArray,
    numbers: Array,
    rows: Sequence[int],
) -> list[Release]:
    """Counts under printed labels; totals that hold people without a label are tables of fewer columns."""
    listed = all(
        np.array_equal(fitted.axes[at].total(fitted.whole), fitted.axes[at].total("listed")) for at in others
    )
    protect = list(declared) or _inferred(fit)
    summed = codes == TOTAL
    groups = (
        [np.arange(len(codes))]
        if listed
        else [np.flatnonzero((summed == each).all(axis=1)) for each in np.unique(summed, axis=0)]
    )
    found = []
    for chosen in groups:
        used = [k for k in range(len(others)) if listed or not summed[chosen[0], k]]
        axes = [fitted.axes[others[k]] for k in used]
        names = [axis.variable.name for axis in axes]
        labels = [[_own_label(axis, label) for label in range(len(axis.labels))] for axis in axes]
        cells = [(*codes[k, used].tolist(), int(secret[k])) for k in chosen]
        expected = fit.expected.values[np.array(rows)[chosen]]
        statistic = CellCounts(names, labels, cells, people.levels)
        found.append(_checked(statistic, numbers[chosen], expected, fitted, people, protect))
    return found


def _checked(
    statistic: CellCounts,
    numbers: Array,
    expected: Array,
    fitted: Fitted,
    people: Dataset,
    protect: Sequence[Protection],
) -> Release:
    """The release, if the statistic gives what was expected of these people."""
    where = fitted.where or None
    try:
        whole = as_among(statistic, where, people.public) if where else statistic
        again = whole.values(people)
        made = Release.from_values(
            statistic, numbers, public=people.public, protect=protect, levels=people.levels, where=where
        )
    except TellallError as error:
        raise NoRelease(f"it is recognised, and tellall cannot make a release of it: {error}") from None
    if not np.allclose(again, expected, rtol=1e-9, atol=1e-6):
        raise NoRelease("it is recognised, and tellall cannot yet say its people in a release")
    return made


def _inferred(fit: Fit) -> list[Protection]:
    found: list[Protection] = []
    hidden = hiding_of(fit)
    if hidden is not None:
        found.append(Suppression(hidden.threshold, complementary=hidden.complementary))
    if fit.base is not None:
        found.append(Rounding(fit.base))
    return found


def _own_label(axis: Axis, label: int) -> str:
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
