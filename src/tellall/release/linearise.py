"""Linearising turns a release into evidence: equations about people, and intervals for hidden values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, floor, hypot, inf, isfinite, prod, sqrt

import numpy as np
import numpy.typing as npt

from tellall.algebra.operators.base import HOST, Array, Device, IntArray, LinearOperator
from tellall.core.errors import invalid
from tellall.people.dataset import Dataset, Public, as_public
from tellall.release.contrasts import CompleteTables
from tellall.release.equations import COUNT_FLOOR, Equations, Evidence, ReleaseEquations, Rows
from tellall.release.possible import Facts, possible_counts, stretches_of
from tellall.release.protections.calibrated import WalshNoise
from tellall.release.protections.discrete import LatticeNoise
from tellall.release.protections.protection import Exact, Noise, Protection, Sum, noise_of
from tellall.release.protections.rounding import Rounding
from tellall.release.protections.sampling import ComplementLaw
from tellall.release.release import Release
from tellall.release.statistics.among import Among
from tellall.release.statistics.base import CellLayout, tables_of
from tellall.release.statistics.marginals import Marginals

__all__ = [
    "Threshold",
    "count_scale",
    "hidden_rows",
    "linearise",
    "threshold_of",
    "turn_back",
    "whole_rounding",
]

_LARGEST = 1e100  # of a published value: beyond, squares overflow
_SAME = 1e-9  # rounding of a threshold that is a multiple of something
_FAR = 3.0  # standard deviations beyond an edge at which a row says nothing any more
_HALF = 0.5  # whole numbers up to v are those below v + 1/2


def linearise(
    release: Release, public: Public | Dataset | npt.ArrayLike, *, device: Device = HOST
) -> Evidence:
    """The equations that a release gives about people whose public columns are known.

    ``device`` is where products with them are computed, where they have a form there.

    Notes
    -----
    One row per published value; suppressed values, and those of which nothing is known, have none (what is
    known of a suppressed value is an interval, apart from the equations). The target
    is the value on the count scale less the part that does not depend on the secret, so that ``operator @
    secret == target`` on an exact release. Where more than half of the counts are of the people without the
    secret, all are turned round first. Of a release about some of the people the columns of the others are
    zero.
    """
    if not isinstance(release, Release):
        raise invalid("release", "a Release", type(release).__name__)
    view = as_public(public)
    if isinstance(release.statistic, Among):
        people = release.statistic.people(view)
        inner = replace(release, statistic=release.statistic.statistic)
        (part,) = linearise(inner, view.take(people), device=device).parts
        return Evidence((part.among(people, view.n),))
    _check_people(release, view)
    counts, noise = count_scale(release, view)
    hidden = np.isnan(counts)
    threshold = None
    if release.statistic.counts_people and release.levels:
        threshold = threshold_of(release.protections, release.statistic.units(view))
    equations = release.statistic.equations_on(
        device, view, counts if threshold is None else np.nan_to_num(counts)
    )
    between, intervals, offset = None, None, None
    if threshold is not None:
        offset = equations.target - np.nan_to_num(counts)
        between, intervals = hidden_rows(threshold, equations, counts, hidden)
        equations = replace(equations, target=np.where(hidden, np.nan, equations.target))
    noise, turned = turn_back(noise)
    if turned:  # what hides a complemented count says nothing simple about the count
        equations = replace(equations, target=equations.sums - equations.target)
        between = None
    whole = bool(release.levels) and release.statistic.counts_people and release.statistic.units(view) == 1
    rows = _rows(equations, noise.assumed, counts, whole=whole)
    if not noise.known:
        rows = replace(rows, bound=np.full(rows.bound.size, np.inf))
    tables = tables_of(release.statistic, view, release.levels)
    facts = None
    if release.levels and release.statistic.counts_people and noise.known and not turned:
        units = release.statistic.units(view)
        possible = possible_counts(release.values, release.protections, units)
        offset = equations.target - counts if offset is None else offset
        facts = Facts.of(possible, offset, stretches_of(release.values, tables, release.protections, units))
    else:
        known = np.isfinite(rows.bound) & ~np.isnan(rows.target)
        room = np.where(known, rows.bound, np.inf)
        middle = np.where(known, rows.target, 0.0)
        facts = Facts(middle - room, middle + room)
    complete = _complete_tables(release, view, tables, rows, noise)
    index = np.flatnonzero(~np.isnan(rows.target) & np.isfinite(rows.std))
    rows = rows.take(index)
    if between is not None and intervals is not None:
        index, rows = np.concatenate([index, between]), Rows.concat([rows, intervals])
    notes = _inconsistent_totals(release, view, tables, counts)
    more = (equations.alike, facts, equations.skipped, notes, complete)
    evidence = Evidence((ReleaseEquations(equations.operator, index, rows, noise, *more),))
    if equations.alike is view.patterns.index:
        evidence.__dict__["groups"] = view.patterns  # where cached properties are kept
    return evidence


def _complete_tables(
    release: Release, public: Public, tables: CellLayout, rows: Rows, noise: Noise
) -> CompleteTables | None:
    """The tables that contrasts can say: not where errors depend on the value or cells share them."""
    shared = any(isinstance(protection, WalshNoise) for protection in release.protections)
    if shared or not isinstance(release.statistic, Marginals) or not release.levels:
        return None
    if noise.ordinary.varies:
        return None
    return CompleteTables(public, tables, rows, gross=noise.ordinary != noise)


def _check_people(release: Release, view: Public) -> None:
    """Refuses people other than those of the release."""
    if release.columns and release.columns != view.names:
        raise invalid(
            "public", f"the columns of the release ({', '.join(release.columns)})", ", ".join(view.names)
        )
    if release.shape is not None and release.shape != view.shape:
        different = release.shape.difference(view.shape)
        advice = "" if release.shape.people == view.n else "Say with where= whom of them it is about."
        raise invalid("public", "the people the release was made for", different, advice)
    expected = release.statistic.size_for(view, release.levels)
    if release.values.size != expected:
        raise invalid(
            "public",
            f"the people of the release ({release.values.size} values)",
            f"people whose release has {expected}",
        )
    if float(np.nanmax(np.abs(release.values), initial=0.0)) > _LARGEST:
        raise invalid("values", f"of a size that people can have (below {_LARGEST:g})", "larger ones")


def _rows(equations: Equations, noise: Noise, counts: Array, *, whole: bool) -> Rows:
    """What the law of the values' errors says of each equation's; ``whole``: the values are whole counts."""
    size = equations.target.size

    def error_of(law: Noise) -> Array:
        std = law.spread(counts, equations) if law.varies else law.std
        return np.hypot(_times(std, equations.gain, size), equations.doubt)

    std = error_of(noise)
    bound = _times(noise.bound, equations.reach, size)
    bound[np.broadcast_to(equations.doubt, size) > 0] = np.inf  # how far a fit is off is not known for sure
    slack = _times(noise.half_width, equations.reach, size)
    if whole:
        std, bound, slack = whole_rounding(noise, counts, std, bound, slack)
    ordinary = std if noise.ordinary == noise else error_of(noise.ordinary)
    rest = np.sqrt(np.maximum(ordinary**2 - slack**2 / 3, 0.0))
    spread, rest = np.maximum(std, equations.floor), np.maximum(rest, equations.floor)
    return Rows(equations.target, std, spread, bound, slack, rest, np.zeros(size, dtype=bool))


def _inconsistent_totals(
    release: Release, public: Public, tables: CellLayout, counts: Array
) -> tuple[str, ...]:
    """What to say of tables that do not add up to the number of people; they are used as they are."""
    if not release.statistic.counts_people or not len(tables):
        return ()
    starts = np.cumsum([0, *(prod(shape) for shape in tables.shapes)])
    if starts[-1] != counts.size:
        return ()
    totals = np.add.reduceat(counts, starts[:-1])
    wrong = totals[np.abs(totals - public.n) > 0.5]  # hidden cells leave no total
    if not wrong.size:
        return ()
    return (
        f"{wrong.size:,} of {len(tables):,} tables add up to another number than the {public.n:,} people "
        f"(from {wrong.min():,.6g} to {wrong.max():,.6g}); they are used as they are",
    )


def count_scale(release: Release, public: Public) -> tuple[Array, Noise]:
    """The published values and the law of their error on the count scale.

    Exact fractions become the whole numbers they came from.
    """
    units = release.statistic.units(public)
    noise = release.noise.scaled(units)
    counts: Array = release.values * units
    if units == 1 or noise.bound > 0:
        return counts, noise
    whole = np.rint(counts)
    return np.where(np.abs(counts - whole) < 1e-6, whole, counts), noise


def _times(size: Array | float, factor: Array | float, rows: int) -> Array:
    """The size times each row's factor; nothing times an infinite size stays nothing."""
    factors = np.broadcast_to(np.asarray(factor, dtype=np.float64), rows)
    return np.where(factors == 0, 0.0, size * np.where(factors == 0, 1.0, factors))


@dataclass(frozen=True)
class Threshold:
    """A limit under which values are not shown, and the laws of what was done to them before and after.

    ``limit`` as published; ``units`` is what a published value is multiplied with to be a count, and the laws
    are those of counts.
    """

    limit: float
    units: float
    before: Noise
    after: Noise

    @property
    def below(self) -> float:
        """The limit on the count scale."""
        return self.limit * self.units

    @property
    def exact(self) -> bool:
        """Whether it is the true value that was compared with the limit."""
        return self.before.bound == 0

    @property
    def complete(self) -> bool:
        """Whether the intervals describe the selection fully, so that it does not bias an attack."""
        return self.exact or isfinite(self.after.bound)

    @property
    def most_hidden(self) -> int:
        """The largest whole count that is hidden, if exact counts are compared with the limit."""
        most = ceil(self.below + 1)
        while most / self.units >= self.limit:
            most -= 1
        return most


def threshold_of(protections: Sequence[Protection], units: float) -> Threshold | None:
    """The threshold by which values were hidden; None without one, or where others may be hidden too.

    Of thresholds one right after the other the highest counts.
    """
    hiding = [index for index, protection in enumerate(protections) if protection.hides]
    if not hiding or hiding[-1] - hiding[0] != len(hiding) - 1:
        return None
    limits = [limit for index in hiding if (limit := protections[index].limit) is not None]
    parts = protections[: hiding[0]], protections[hiding[-1] + 1 :]
    before, after = (noise_of(part).scaled(units) for part in parts)
    if len(limits) < len(hiding) or not (before.known and after.known and isfinite(before.std)):
        return None
    return Threshold(max(limits), units, before, after)


def hidden_rows(
    threshold: Threshold, equations: Equations, counts: Array, hidden: npt.NDArray[np.bool_]
) -> tuple[IntArray, Rows]:
    """An interval for each value about which the threshold says more than is said otherwise.

    Returns which values these are, and the rows. ``equations`` are those of the counts with zero in place of
    the hidden ones.

    Notes
    -----
    Let v be the true count, e the error that it had when it was compared with the limit b. A hidden value has
    v + e < b: for exact counts v ≤ the largest count under b; after rounding to multiples of r,
    v ≤ (the largest multiple under b) + r/2; under other noise the chance is P(e < b − v), taken
    from a normal law of the same standard deviation. A shown value that is changed later has v + e ≥ b,
    which is used where e = 0. No count is below zero. Intervals of whole counts end half-way to the next.
    Rows that are the same up to sign (the yes and no cells of a table) share one interval. Intervals that say
    no more than that a count is between none and all, or than an exact value shown, are left out.
    """
    operator, target = equations.operator, equations.target
    reach, offset = equations.squares, target - np.nan_to_num(counts)
    # entries are 0, 1 and −1: the extremes of A s, in units of the value
    least = (equations.sums - reach) / 2 - offset
    most = least + reach
    below, above, error, furthest = _hidden_ends(threshold, equations)
    low = np.where(hidden, np.maximum(below, least - _HALF - _FAR * error), least - _HALF)
    high = np.where(hidden, above, most + _HALF)
    std = np.where(hidden, error, 0.0)
    said = hidden.copy()
    if threshold.exact and threshold.after.bound > 0:
        near = threshold.after.bound if isfinite(threshold.after.bound) else 4 * threshold.after.std
        said |= counts - near < threshold.most_hidden + 1
        low = np.where(hidden, low, threshold.most_hidden + _HALF)
    said &= ~np.isnan(target)
    said &= (high - _FAR * std < most + _HALF - _SAME) | (~hidden & (low > least))
    hard = np.where(hidden, furthest, most)
    ends = _Ends(np.arange(target.size), low + offset, high + offset, std, hard + offset).take(said)
    if ends.index.size and not ends.std.any():
        exact = threshold.exact and not threshold.after.bound
        ends = _met(ends, operator, np.flatnonzero(~hidden & ~np.isnan(target) & exact))
    return ends.index, ends.rows()


def whole_rounding(
    noise: Noise, counts: Array, error: Array, bound: Array, slack: Array
) -> tuple[Array, Array, Array]:
    """Standard deviation, bound and slack of each row, where whole counts were rounded to the nearest.

    Notes
    -----
    Of a base r that is odd a count is at most (r − 1)/2 off. Of an even one r/2 is possible, and goes to the
    even multiple: those published as one are within r/2, the others within r/2 − 1. The intervals end
    half-way to the next count. Anything but rounding of counts alone is left as it is.
    """
    base = noise.base if isinstance(noise, Rounding) and noise.mode == "nearest" else 0.0
    multiple = np.rint(counts / base) if base >= 1 and base == floor(base) else counts
    if multiple is counts or not np.allclose(multiple * base, counts, equal_nan=True):
        return error, bound, slack
    most = np.full(counts.size, (base - 1) // 2)
    if base % 2 == 0:
        most = np.where(multiple % 2 == 0, base / 2, base / 2 - 1)
    rounded = slack > 0
    slack = np.where(rounded, most + _HALF, slack)
    return np.where(rounded, slack / sqrt(3), error), np.where(rounded, most, bound), slack


@dataclass(frozen=True, eq=False)
class _Ends:
    """Intervals for rows of A s: from low to high, up to an error of this size; never above ``hard``."""

    index: IntArray
    low: Array
    high: Array
    std: Array
    hard: Array

    def take(self, which: npt.NDArray[np.bool_]) -> _Ends:
        ends = (self.low[which], self.high[which], self.std[which], self.hard[which])
        return _Ends(self.index[which], *ends)

    def rows(self) -> Rows:
        middle, half = (self.low + self.high) / 2, (self.high - self.low) / 2
        slack = np.maximum(half, 0.0)
        sharp = half - _HALF  # below zero where nothing is possible
        bound = np.where(self.std == 0, sharp, np.maximum(self.hard - middle, slack))
        bound = np.where(np.isfinite(self.hard), bound, inf)
        rest = np.maximum(self.std, COUNT_FLOOR)
        spread = np.hypot(rest, slack / sqrt(3))
        return Rows(middle, spread, spread, bound, slack, rest, np.ones(middle.size, dtype=bool))


def _hidden_ends(threshold: Threshold, equations: Equations) -> tuple[float, float, Array | float, float]:
    """The least and the largest hidden value, their error, and the largest possible hidden value."""
    if threshold.exact:
        most = threshold.most_hidden
        return (-_HALF, most + _HALF, 0.0, most)
    law = threshold.before
    laws = law.parts if isinstance(law, Sum) else (law,)
    laws = tuple(part for part in laws if not isinstance(part, Exact))
    last, earlier = laws[-1], Sum(laws[:-1])
    if isinstance(last, Rounding):
        top = (ceil(threshold.below / last.base - _SAME) - 1) * last.base
        jitter = 0.0 if last.mode == "nearest" else last.base / sqrt(12)
        hard = top + last.bound + earlier.bound
        if earlier.bound == 0 and not jitter:
            most = floor(hard + _SAME)
            return (-_HALF, most + _HALF, 0.0, most)
        std = hypot(earlier.ordinary.std, jitter)
        return (-_FAR * std, top + last.base / 2, std, hard)
    whole = threshold.units == 1 and all(
        isinstance(part, LatticeNoise) or not part.ordinary.std for part in laws
    )
    edge = threshold.most_hidden + _HALF if whole else threshold.below
    size: Array | float = law.ordinary.std
    if law.ordinary.varies:
        at = np.full(equations.target.size, threshold.below)
        size = law.ordinary.spread(at, replace(equations, target=equations.target + threshold.below))
    size = size * np.asarray(equations.gain)
    low = -_FAR * float(np.max(size, initial=0.0))
    return (low, edge, size, threshold.below + law.bound)


def _met(ends: _Ends, operator: LinearOperator, known: IntArray) -> _Ends:
    """One interval for rows that are equal up to sign; none for those equal to a ``known`` row.

    Found by two random projections: of r rows about r²/10²⁰ pairs are taken for equal that are not.
    """
    draws = np.random.default_rng(0).normal(size=(operator.shape[1], 2))
    prints = np.round(np.asarray(operator @ draws, dtype=np.float64), 9)
    signs = np.where(prints[:, 0] < 0, -1.0, 1.0)
    keys = signs * (prints[:, 0] + 1j * prints[:, 1])
    ends = ends.take(~np.isin(keys[ends.index], keys[known]))
    sign = signs[ends.index]
    _, first, index = np.unique(keys[ends.index], return_index=True, return_inverse=True)
    low, high = np.full(first.size, -inf), np.full(first.size, inf)
    np.maximum.at(low, index, np.where(sign > 0, ends.low, -ends.high))
    np.minimum.at(high, index, np.where(sign > 0, ends.high, -ends.low))
    back = sign[first] > 0
    low, high = np.where(back, low, -high), np.where(back, high, -low)
    # what a gross error hid may be anything
    loose = np.zeros(first.size, dtype=bool)
    np.logical_or.at(loose, index, ~np.isfinite(ends.hard))
    return _Ends(ends.index[first], low, high, ends.std[first], np.where(loose, inf, high - _HALF))


def turn_back(noise: Noise) -> tuple[Noise, bool]:
    """The law once complemented counts are the minority, and whether all must be turned round for that.

    Notes
    -----
    Complementing a share f of the counts is complementing all of them and then a share 1 − f: where f > 1/2
    the counts Σ a − A s are the ordinary ones. Decoders take gross errors for the minority.
    """
    parts = noise.parts if isinstance(noise, Sum) else (noise,)
    turned = [isinstance(part, ComplementLaw) and part.fraction > 1 / 2 for part in parts]
    if not any(turned):
        return noise, False
    laws = tuple(_other_way(part) if turn else part for part, turn in zip(parts, turned, strict=True))
    return (Sum(laws) if len(laws) > 1 else laws[0]), sum(turned) % 2 == 1


def _other_way(law: Noise) -> Noise:
    """The law after swapping the counts that stay with the complemented ones."""
    if not isinstance(law, ComplementLaw):
        return law
    return replace(law, fraction=1 - law.fraction) if law.fraction < 1 else Exact()
