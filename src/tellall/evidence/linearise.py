"""Linearising turns a release into evidence: equations about people, and the counts that are possible.

The protections are undone step by step, the last one first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.core.amounts import count_of
from tellall.core.errors import InvalidInput, invalid
from tellall.core.not_done import NotDone
from tellall.evidence.contrasts import CompleteTables
from tellall.evidence.evidence import Evidence, Facts, Possible, ReleaseEquations, Rows, Stretches
from tellall.evidence.hidden import hidden_rows, threshold_of, unseen_sums
from tellall.evidence.known_secrets import tell
from tellall.evidence.view import (
    EVERYTHING,
    SAME_PEOPLE,
    AddedCells,
    Knowledge,
    PopulationMismatch,
    nothing,
    restrict,
    unknown_condition,
    widen,
    widen_facts,
)
from tellall.linalg.operators.linear_operator import HOST, Array, Device
from tellall.linalg.solvers.solution import Gaps
from tellall.people.dataset import Dataset, Public, as_public
from tellall.protections.protection import Exact, Noise, Protection, Sum, noise_of
from tellall.protections.rounding import Rounding
from tellall.protections.sampling import ComplementLaw
from tellall.release.release import Release
from tellall.statistics.conditions import members
from tellall.statistics.marginals import Marginals
from tellall.statistics.numbers import NumberRange
from tellall.statistics.statistic import CellLayout, Equations, tables_of

__all__ = [
    "as_view",
    "count_scale",
    "evidence_of",
    "linearise",
    "nearly_exact",
    "not_rounded",
    "possible_counts",
    "possible_values",
    "stretches_of",
    "turn_back",
    "unlike_rounding",
    "whole_rounding",
    "without_tiny_noise",
]

_NEVER, _FURTHEST = 1e-12, 40.0  # a chance that counts as none, and an error that does, in spreads
_LARGEST = 1e100  # largest published value: squares of larger ones overflow
_NEAR = 1e-9  # floating-point room of a bound on counts
_DIGITS = 16 * float(np.finfo(np.float64).eps)  # and its part relative to the count: last digits are rounded
_DECIMALS = 1e-6  # how far an exact count may be off if it was written as a share
_ALIKE = 1e-9  # of the largest value: people who differ by less are alike
_WIDEST_GAPS = 1000  # gaps are listed only if the least and the largest count are at most this far apart
_EXPLAINED = 6.0  # spreads of a sum, which random errors reach once in 500 million
_MOST_TOTALS = 3  # tables that a note names
_NAMED = 3  # values that are named
_MOST_STRETCHES = 200_000  # cells in all stretches of all tables


def linearise(
    release: Release,
    public: Public | Dataset | npt.ArrayLike,
    *,
    device: Device = HOST,
    known: Knowledge = EVERYTHING,
) -> Evidence:
    """The equations that a release gives about people whose public columns are known.

    ``device`` is where products with the equations are computed, if they have a form for it. ``known`` says
    what an attacker knows, and does not know, in addition to the columns of these people.

    Notes
    -----
    There is one row per published value. Suppressed values, and values about which nothing is known, have no
    row; what is known about a suppressed value is an interval, kept apart from the equations. The target
    is the value on the count scale minus the part that does not depend on the secret, so that ``operator @
    secret == target`` on an exact release. If more than half of the counts are of the people without the
    secret, all counts are complemented first. In a release about some of the people, the columns of the
    others are zero. Tables are summed over unknown columns. Values that count people outside the view give
    intervals.
    """
    if not isinstance(release, Release):
        raise invalid("release", "a Release", type(release).__name__)
    view = as_view(public, [release])
    if release.where is not None:
        if unknown := unknown_condition(release, view):
            return Evidence((nothing(view.n, release.levels, unknown),))
        people = np.flatnonzero(members(release.where, view, "where"))
        part = _equations_of(replace(release, where=None), view.take(people), device, known, part=True)
        if not people.size:
            why = NotDone(release.describe(), "it is about nobody who is known", "use")
            return Evidence((nothing(view.n, release.levels, why),))
        return Evidence((part.among(people, view.n),))
    evidence = Evidence((_equations_of(release, view, device, known),))
    if evidence.parts[0].alike is view.patterns.index:
        evidence.__dict__["groups"] = view.patterns  # fills the cached property
    return evidence


def evidence_of(
    releases: Sequence[Release], public: Public, known: Knowledge = EVERYTHING, device: Device = HOST
) -> Evidence:
    """All the evidence that an attacker with this view and this knowledge has."""
    parts = [linearise(release, public, device=device, known=known) for release in releases]
    if known.secrets:
        parts.append(Evidence((tell(known.secrets, public.n, releases[0].levels),)))
    return Evidence.together(parts)


def as_view(public: Public | Dataset | npt.ArrayLike, releases: Sequence[Release]) -> Public:
    """The attacker's view; an array has no column names, so it must have all columns of the releases."""
    view = as_public(public)
    if not isinstance(public, Public | Dataset):
        for release in releases:
            if release.columns and release.columns != view.names:
                raise _other_columns(release, view)
    return view


def _equations_of(
    release: Release, view: Public, device: Device, known: Knowledge, *, part: bool = False
) -> ReleaseEquations:
    """The equations of a release about everybody in the view, as far as the attacker can use it."""
    same = release.shape is None or release.shape == view.shape
    if same and known.missing is None and not known.may_include:
        _check_people(release, view)
        return _linearised(release, view, device)
    if release.shape is None:
        raise invalid("release", "one that says which columns and how many people it has", "neither")
    mismatch = PopulationMismatch.of(release, view.n, known, part=part)
    if mismatch.missing or mismatch.absent:
        what = release.statistic.describe()
        if not release.statistic.counts_people:
            reason = "it is not about exactly the people who are known"
            return nothing(view.n, release.levels, NotDone(what, reason, "use"))
        if release.statistic.no_population:
            reason = f"it lists {release.shape.people:,} people, not exactly those who are known"
            return nothing(view.n, release.levels, NotDone(what, reason, "use"))
    usable = restrict(release, view)
    if usable.statistic is None:
        return nothing(view.n, release.levels, usable.skipped[0])
    shares = (mismatch.missing or mismatch.absent) and usable.statistic.scale == "fractions"
    if shares and not (usable.statistic.of_everybody and usable.statistic.units(usable.public) == view.n):
        reason = "it is not known of how many people its values are shares"
        return nothing(view.n, release.levels, NotDone(usable.statistic.describe(), reason, "use"))
    values = release.values if usable.chosen is None else release.values[usable.chosen]
    some = replace(release, values=values, statistic=usable.statistic)
    _check_values(some, usable.public, usable.sums)
    return _linearised(some, usable.public, device, usable.sums, mismatch, usable.skipped)


def _linearised(
    release: Release,
    view: Public,
    device: Device,
    sums: AddedCells | None = None,
    mismatch: PopulationMismatch = SAME_PEOPLE,
    skipped: tuple[NotDone, ...] = (),
) -> ReleaseEquations:
    """The equations of a release that has the view's columns, or of sums of its values."""
    if not release.levels:
        return _of_numbers(release, view, device, sums, mismatch, skipped)
    release = without_tiny_noise(release, view)
    return _equations_in(release, view, device, *count_scale(release, view), sums, mismatch, skipped)


def _of_numbers(
    release: Release,
    view: Public,
    device: Device,
    sums: AddedCells | None,
    mismatch: PopulationMismatch,
    skipped: tuple[NotDone, ...],
) -> ReleaseEquations:
    """The equations about real numbers, made in the unit in which people differ by about one.

    So that the unit of the secret decides nothing: whatever is tiny or room for rounding is so in that unit.
    Only the errors come from there: what was published keeps its last digit.
    """
    counts, noise = count_scale(release, view)
    more = (sums, mismatch, skipped)
    found = _equations_in(release, view, device, counts, noise, *more)
    if not found.unit:
        return found
    small = release.statistic.in_unit(found.unit, counts, exact=noise.assumed.std == 0)
    if small is None:
        return found
    statistic, counts = small
    law = noise.scaled(1 / found.unit)
    again = _equations_in(replace(release, statistic=statistic), view, device, counts, law, *more)
    again = again.times(found.unit)
    rows = replace(again.rows, target=found.rows.target)
    return replace(again, rows=rows, noise=found.noise, numbers=found.numbers, unit=found.unit)


def _equations_in(
    release: Release,
    view: Public,
    device: Device,
    counts: Array,
    noise: Noise,
    sums: AddedCells | None,
    mismatch: PopulationMismatch,
    skipped: tuple[NotDone, ...],
) -> ReleaseEquations:
    """The equations that values on the count scale give, with errors of this law."""
    units = _units(release, view)
    certain = bool(release.levels) and release.statistic.counts_people and noise.known
    endless = noise.bound == np.inf and not any(one.hides or one.keeps_zero for one in release.protections)
    possible = None
    if certain and not endless:  # otherwise every count is possible
        possible = possible_counts(release.values, release.protections, units)
    if sums is not None:
        counts = sums.add(counts)
        possible = None if possible is None else sums.add_possible(possible)
    hidden = np.isnan(counts)
    threshold = None
    hides = any(protection.hides for protection in release.protections)
    if hides and release.statistic.counts_people and release.levels and sums is None:
        threshold = threshold_of(release.protections, units)
    limited = hides and possible is not None  # however often something was hidden, counts have limits
    filled = limited or threshold is not None or sums is not None
    equations = release.statistic.equations_on(device, view, np.nan_to_num(counts) if filled else counts)
    equations, numbers = _beyond_equations(equations, release.levels, noise)
    if sums is not None:
        gain, reach = equations.gain * np.sqrt(sums.terms), equations.reach * sums.terms
        equations = replace(equations, gain=gain, reach=reach)
    tables = tables_of(release.statistic, view, release.levels)
    apart = bool(mismatch.missing or mismatch.absent)
    nobody: Array = np.zeros(equations.target.size)
    more, fewer = nobody, nobody
    if apart:
        last = tables.shapes[0][-1] if release.statistic.adds_up else 0
        more, fewer = mismatch.rows(equations, possible, last)
    between, intervals, offset = None, None, None
    if filled:
        offset = equations.target - np.nan_to_num(counts)
        if threshold is not None:
            between, intervals = hidden_rows(threshold, equations, counts, hidden, (more, fewer))
        elif possible is not None and sums is not None:
            between, intervals = unseen_sums(possible, hidden, offset, (more, fewer))
        equations = replace(equations, target=np.where(hidden, np.nan, equations.target))
    noise, turned = turn_back(noise)
    if turned:  # a rule that hides complemented counts says nothing simple about the counts
        equations = replace(equations, target=equations.sums - equations.target)
        between = None
    whole = certain and units == 1 and sums is None
    rows = _rows(equations, noise.assumed, counts, whole=whole)
    if not noise.known:
        rows = replace(rows, bound=np.full(rows.bound.size, np.inf))
    if (odd := not_rounded(release.values, release.protections)).any():  # no bound holds for such a value
        held = odd if sums is None else sums.add(odd.astype(np.float64)) > 0
        rows = replace(rows, bound=np.where(held if held.size == len(rows) else True, np.inf, rows.bound))
    if possible is not None and not turned:
        offset = equations.target - counts if offset is None else offset
        stretches = None
        if sums is None:
            stretches = stretches_of(release.values, tables, release.protections, units)
        facts = Facts.of(possible, offset, stretches)
    else:
        bounded = np.isfinite(rows.bound) & ~np.isnan(rows.target)
        room = np.where(bounded, rows.bound, np.inf)
        middle = np.where(bounded, rows.target, 0.0)
        facts = Facts(middle - room, middle + room)
    complete = _complete_tables(release, view, tables, rows, noise) if sums is None else None
    if apart:
        # a complemented count that counts too many leaves too few
        off = (fewer, more) if turned else (more, fewer)
        rows, facts, complete = widen(rows, *off), widen_facts(facts, *off), None
    index = np.flatnonzero(~np.isnan(rows.target) & np.isfinite(rows.std))
    rows = rows.take(index)
    unit = 1.0 if release.levels else _unit_of(equations)
    if between is not None and intervals is not None:
        index, rows = np.concatenate([index, between]), Rows.concat([rows, intervals])
    notes = () if mismatch is not SAME_PEOPLE else _inconsistent_totals(release, view, tables, counts, noise)
    more_of_it = (equations.alike, facts, (*skipped, *equations.skipped), notes, complete)
    return ReleaseEquations(equations.operator, index, rows, noise, *more_of_it, numbers=numbers, unit=unit)


def _unit_of(equations: Equations) -> float:
    """About how much people's numbers differ, or how large they are if nothing shows that; 0 if all are zero.

    Notes
    -----
    If all had the same number μ, row j would be μ Σ a_j. The best μ misses it by √(Σ a_j²) times the spread
    of the numbers.
    """
    said = ~np.isnan(equations.target) & (equations.squares > 0)
    size = np.sqrt(equations.squares[said])
    target, level = equations.target[said] / size, equations.sums[said] / size
    largest, energy = float(np.abs(target).max(initial=0.0)), float(level @ level)
    if not largest:
        return 0.0
    target = target / largest  # squares of tiny numbers would be lost
    mean = float(level @ target) / energy if energy else 0.0
    spread = float(np.sqrt(np.mean((target - mean * level) ** 2)))
    if spread <= _ALIKE:
        spread = abs(mean) or 1.0
    return spread * largest


def _beyond_equations(
    equations: Equations, levels: int, noise: Noise
) -> tuple[Equations, NumberRange | None]:
    """The equations, with those that hold only for exact values of bits, and the limits on real numbers.

    Without a known law of the errors nothing is added.
    """
    facts = equations.numbers
    if facts is None or not noise.known:
        return equations, None
    if not levels:
        return equations, NumberRange.of(facts, noise.bound, noise.std)
    targets = facts.of_bits() if levels == 2 else None
    if targets is None:
        return equations, None
    if noise.bound > 0:
        reason = "they give fewer equations about bits than exact ones would"
        fewer = NotDone("values that are not exact", reason, "use")
        return replace(equations, skipped=(*equations.skipped, fewer)), None
    target = np.where(np.isnan(equations.target), targets, equations.target)
    return replace(equations, target=target), None


def _units(release: Release, view: Public) -> float:
    """The factor that turns a published value into a count; shares are of the release's people."""
    units = release.statistic.units(view)
    statistic = release.statistic
    of_everybody = statistic.scale == "fractions" and statistic.of_everybody and units == view.n
    if release.shape is None or not of_everybody:
        return units
    return float(release.shape.people)


def _complete_tables(
    release: Release, public: Public, tables: CellLayout, rows: Rows, noise: Noise
) -> CompleteTables | None:
    """The tables that contrasts can express; None if errors depend on the value or on each other."""
    dependent = any(protection.doubt for protection in release.protections)
    if dependent or not isinstance(release.statistic, Marginals) or not release.levels:
        return None
    if not release.statistic.counts_people:
        return None
    if noise.ordinary.varies:
        return None
    return CompleteTables(public, tables, rows, gross=noise.ordinary != noise)


def _check_people(release: Release, view: Public) -> None:
    """Raises an error for people other than those of the release."""
    if release.columns and release.columns != view.names:
        raise _other_columns(release, view)
    _check_values(release, view)


def _other_columns(release: Release, view: Public) -> InvalidInput:
    rule = f"the columns of the release ({', '.join(release.columns)})"
    return invalid("public", rule, ", ".join(view.names))


def _check_values(release: Release, view: Public, sums: AddedCells | None = None) -> None:
    """Raises an error if these columns have another number of values, or if a value is absurdly large."""
    expected = release.statistic.size_for(view, release.levels) if sums is None else sums.index.size
    if release.values.size != expected:
        raise invalid(
            "public",
            f"the people of the release ({release.values.size} values)",
            f"people whose release has {expected}",
        )
    if float(np.nanmax(np.abs(release.values), initial=0.0)) > _LARGEST:
        raise invalid("values", f"of a size that people can have (below {_LARGEST:g})", "larger ones")


def _rows(equations: Equations, noise: Noise, counts: Array, *, whole: bool) -> Rows:
    """What is known about each equation, given the law of the errors; ``whole``: values are whole counts."""
    size = equations.target.size

    def error_of(law: Noise) -> Array:
        std = law.spread(counts, equations) if law.varies else law.std
        return np.hypot(_times(std, equations.gain, size), equations.doubt)

    std = error_of(noise)
    bound = _times(noise.bound, equations.reach, size)
    bound[np.broadcast_to(equations.doubt, size) > 0] = np.inf  # a further error has no certain bound
    near = np.where(np.isinf(equations.reach), equations.gain, equations.reach)  # to first order, if need be
    slack = _times(noise.half_width, near, size)
    if whole:
        std, bound, slack = whole_rounding(noise, counts, std, bound, slack)
    ordinary = std if noise.ordinary == noise else error_of(noise.ordinary)
    rest = np.sqrt(np.maximum(ordinary**2 - slack**2 / 3, 0.0))
    spread, rest = np.maximum(std, equations.floor), np.maximum(rest, equations.floor)
    return Rows(equations.target, std, spread, bound, slack, rest, np.zeros(size, dtype=bool))


def _inconsistent_totals(
    release: Release, public: Public, tables: CellLayout, counts: Array, noise: Noise
) -> tuple[str, ...]:
    """A note about tables that do not add up to the number of people; they are used unchanged.

    What the declared errors of their cells explain is not odd: each may be off by its bound or, without one,
    all together by `_EXPLAINED` times their spread. Errors of an unknown law explain nothing.
    """
    if not release.statistic.counts_people or not len(tables):
        return ()
    starts = np.cumsum([0, *(math.prod(shape) for shape in tables.shapes)])
    if starts[-1] != counts.size:
        return ()
    totals, cells = np.add.reduceat(counts, starts[:-1]), np.diff(starts)
    room: Array = np.full(cells.size, 0.5)
    if noise.known:
        room += cells * noise.bound if noise.bound < np.inf else _EXPLAINED * noise.std * np.sqrt(cells)
    wrong = np.flatnonzero(np.abs(totals - public.n) > room)  # tables with hidden cells have no total
    if not wrong.size:
        return ()
    named = [_name_total(public, tables.columns[table], totals[table]) for table in wrong[:_MOST_TOTALS]]
    more = f" and {wrong.size - len(named):,} more" if wrong.size > len(named) else ""
    many = f"{wrong.size:,} of {count_of(len(tables), 'table')}"
    does = "does" if wrong.size == 1 else "do"
    return (f"{many} {does} not add up to the {public.n:,} people: {'; '.join(named)}{more}; used unchanged",)


def _name_total(public: Public, columns: Sequence[int], total: float) -> str:
    """The columns of a table, and what it adds up to."""
    listed = " × ".join(public.names[column] for column in columns) or "everybody"
    return f"{listed} adds up to {total:,.6g}"


def count_scale(release: Release, public: Public) -> tuple[Array, Noise]:
    """The published values and the law of their error on the count scale.

    Exact fractions become the whole numbers they came from.
    """
    units = _units(release, public)
    noise = release.noise.scaled(units)
    counts: Array = release.values * units
    if units == 1 or noise.bound > 0:
        return counts, noise
    whole = np.rint(counts)
    return np.where(np.abs(counts - whole) < 1e-6, whole, counts), noise


def _times(size: Array | float, factor: Array | float, rows: int) -> Array:
    """The size times each row's factor; zero times infinity is zero."""
    sizes, factors = np.broadcast_arrays(np.asarray(size, dtype=np.float64), np.broadcast_to(factor, rows))
    some = (sizes != 0) & (factors != 0)
    return np.asarray(np.multiply(sizes, factors, out=np.zeros(rows), where=some))


def turn_back(noise: Noise) -> tuple[Noise, bool]:
    """The law with complemented counts in the minority, and whether all counts must be complemented for it.

    Notes
    -----
    Complementing a share f of the counts equals complementing all of them and then a share 1 − f again. If
    f > 1/2, the counts Σ a − A s are therefore the ordinary ones. Decoders assume that gross errors are the
    minority.
    """
    parts = noise.parts if isinstance(noise, Sum) else (noise,)
    turned = [isinstance(part, ComplementLaw) and part.fraction > 1 / 2 for part in parts]
    if not any(turned):
        return noise, False
    laws = tuple(_other_way(part) if turn else part for part, turn in zip(parts, turned, strict=True))
    return (Sum(laws) if len(laws) > 1 else laws[0]), sum(turned) % 2 == 1


def _other_way(law: Noise) -> Noise:
    """The law after complementing all counts: a share of 1 − fraction is complemented."""
    if not isinstance(law, ComplementLaw):
        return law
    return replace(law, fraction=1 - law.fraction) if law.fraction < 1 else Exact()


def whole_rounding(
    noise: Noise, counts: Array, error: Array, bound: Array, slack: Array
) -> tuple[Array, Array, Array]:
    """Standard deviation, bound and slack of each row if whole counts were rounded to the nearest multiple.

    Notes
    -----
    With an odd base r, a count is off by at most (r − 1)/2. With an even base there are halves, and the rule
    of ties says which multiples they go to: those are off by at most r/2, the others by at most r/2 − 1. The
    intervals end half-way to the next count. Rows that are anything but rounded counts are unchanged.
    """
    base = noise.base if isinstance(noise, Rounding) and noise.mode == "nearest" else 0.0
    if base < 1 or base != math.floor(base):
        return error, bound, slack
    known = np.nan_to_num(counts)
    if not np.allclose(np.rint(known / base) * base, known):
        return error, bound, slack
    low, high = noise.before(known, known, 1.0)
    most = np.maximum(known - low, high - known)
    rounded = slack > 0
    slack = np.where(rounded, most + 0.5, slack)
    return np.where(rounded, slack / math.sqrt(3), error), np.where(rounded, most, bound), slack


def without_tiny_noise(release: Release, view: Public) -> Release:
    """The release as if noise that is too small to hide a count had not been added; see `nearly_exact`."""
    if not (release.levels and release.statistic.counts_people):
        return release
    values, kept = nearly_exact(release.values, release.protections, _units(release, view))
    return (
        release if kept is release.protections else replace(release, values=values, protections=tuple(kept))
    )


def nearly_exact(
    values: Array, protections: Sequence[Protection], units: float
) -> tuple[Array, Sequence[Protection]]:
    """The values and protections without noise at the end that is too small to hide a whole count.

    Notes
    -----
    Noise that moves a count by a half with a probability below 1e-12 shows the count to whoever rounds it.
    Values nearer to another count than this noise can bring them stay as they are, and contradict.
    """
    kept = list(protections)
    while kept and isinstance(kept[-1], Noise) and not kept[-1].hides and _is_tiny(kept[-1], units):
        kept.pop()
    gone, step = [each.law for each in protections[len(kept) :]], 1 / units
    for each in kept:
        step = each.step_after(step)
    if not gone or not step or Sum(tuple(gone)).tail(min(step, 1 / units) / 2) >= _NEVER:
        return values, protections
    nearest = np.rint(values / step) * step
    reach = _FURTHEST * Sum(tuple(gone)).std + _NEAR / units + _DIGITS * np.abs(values)
    return np.where(np.abs(values - nearest) <= reach, nearest, values), kept


def _is_tiny(noise: Noise, units: float) -> bool:
    """Whether random noise practically never moves a count by a half."""
    plain = noise.known and noise.random and not (noise.reads_people or noise.changes_people)
    return plain and noise.bound > 0 and noise.tail(0.5 / units) < _NEVER


def possible_counts(values: Array, protections: Sequence[Protection], units: float) -> Possible:
    """Every whole count that the protections can turn into each published value (NaN: hidden).

    Notes
    -----
    The last protection is undone first (`Protection.before`). Each one gives the interval of values that it
    can have turned into the interval found so far; as long as values are whole, its ends are whole counts. A
    hidden value was under the limit of one of the hiding protections and was shown by those before it.
    Errors from a table may leave gaps. If a law is unknown, every count is possible. Equal values have equal
    answers, so the cost depends on the number of distinct values. ``units`` is the factor that turns a
    published value into a count.

    Examples
    --------
    >>> from tellall.protections import Rounding, Suppression
    >>> found = possible_counts(np.array([3.0, 6.0]), [Rounding(3, "random")], 1.0)
    >>> found.low.tolist(), found.high.tolist()
    ([1.0, 4.0], [5.0, 8.0])
    >>> found = possible_counts(np.array([np.nan, 10.0]), [Rounding(5), Suppression(10)], 1.0)
    >>> found.low.tolist(), found.high.tolist()
    ([0.0, 8.0], [7.0, 12.0])
    """
    if not noise_of(protections).known:
        return Possible(np.zeros(values.shape), np.full(values.shape, np.inf), ())
    values, protections = nearly_exact(values, protections, units)
    distinct, index = np.unique(values, return_inverse=True)  # NaN is one value, the last
    low, high, gaps = _undone(distinct, protections, units)
    index = index.reshape(values.shape)
    missing = dict(gaps)
    listed: Gaps = ()
    if missing:
        rows = np.flatnonzero(np.isin(index, list(missing)))
        listed = tuple((int(row), missing[int(index[row])]) for row in rows)
    return Possible(low[index], high[index], listed)


def possible_values(values: Array, protections: Sequence[Protection]) -> tuple[Array, Array]:
    """The least and the largest number that the protections can turn into each published value.

    As `possible_counts`, but nothing is known about the numbers, not even that they are multiples of a step.

    Examples
    --------
    >>> from tellall.protections import Rounding
    >>> low, high = possible_values(np.array([0.5]), [Rounding(0.1)])
    >>> low.round(6).tolist(), high.round(6).tolist()
    ([0.45], [0.55])
    """
    if not noise_of(protections).known:
        return np.full(values.shape, -np.inf), np.full(values.shape, np.inf)
    lows, highs = _back(values, protections, 0.0)
    low, high = lows.min(axis=0), highs.max(axis=0)
    if any(protection.keeps_zero for protection in protections):
        low, high = np.minimum(low, 0.0), np.maximum(high, 0.0)
    return low, high


def not_rounded(values: Array, protections: Sequence[Protection]) -> npt.NDArray[np.bool_]:
    """Which values the last rounding cannot have produced: no count, and no number, leads to those."""
    last = _rounding(protections)
    if last is None:
        return np.zeros(values.shape, dtype=bool)
    return np.asarray(~np.isnan(values) & ~last.rounds_to(values))


def unlike_rounding(
    values: Array, protections: Sequence[Protection], cell: Callable[[int], Mapping[str, str]]
) -> str:
    """A sentence that counts such values and names the first of them; empty if there are none.

    ``cell`` gives the value of each column in the cell of a value, by its index.
    """
    last, odd = _rounding(protections), np.flatnonzero(not_rounded(values, protections))
    if last is None or not odd.size:
        return ""
    named = []
    for at in odd[:_NAMED].tolist():
        where = ", ".join(f"{name} = {label}" for name, label in cell(at).items())
        named.append(f"{values[at]:.10g}" + (f" where {where}" if where else ""))
    more = f" and {odd.size - _NAMED:,} more" if odd.size > _NAMED else ""
    do = "does" if odd.size == 1 else "do"
    return (
        f"{odd.size:,} of {values.size:,} values {do} not come from rounding to {last.base:g}: "
        f"{'; '.join(named)}{more}"
    )


def _rounding(protections: Sequence[Protection]) -> Rounding | None:
    """The rounding that nothing but hiding follows."""
    last = next((one for one in reversed(protections) if not one.hides), None)
    return last if isinstance(last, Rounding) else None


def _undone(values: Array, protections: Sequence[Protection], units: float) -> tuple[Array, Array, Gaps]:
    """The possible counts of distinct values."""
    pieces = _counts(*_back(values, protections, 1 / units), units, exact=_is_exact(protections))
    if any(protection.keeps_zero for protection in protections):
        others = [protection for protection in protections if not protection.keeps_zero]
        nobody = _counts(*_back(values, others, 1 / units), units, exact=_is_exact(others))
        empty = ((nobody[0] <= 0) & (nobody[1] >= 0)).any(axis=0)
        low, high = np.maximum(pieces[0], 1.0), pieces[1]
        zero = np.where(empty, 0.0, 1.0), np.zeros(values.size)  # from 1 to 0 is empty
        pieces = np.vstack([low, zero[0]]), np.vstack([high, zero[1]])
    return _joined(*pieces)


def _is_exact(protections: Sequence[Protection]) -> bool:
    """Whether shown values are counts without error."""
    return all(protection.law.known and protection.law.bound == 0 for protection in protections)


def _back(values: Array, protections: Sequence[Protection], step: float) -> tuple[Array, Array]:
    """Intervals of the values before any protection; several for each value if there are gaps.

    ``step`` is what one person is worth: exact values are multiples of it.
    """
    steps = [step]
    for protection in protections:
        steps.append(protection.step_after(steps[-1]))

    def undo(last: int, low: Array, high: Array) -> tuple[Array, Array]:
        with np.errstate(invalid="ignore"):  # impossible values have intervals from ∞ to −∞
            for protection, before in zip(protections[:last][::-1], steps[:last][::-1], strict=True):
                low, high = protection.before(low, high, before)
        return low, high

    shown = ~np.isnan(values)
    parts = [(shown, undo(len(protections), values[shown][None, :], values[shown][None, :]))]
    if not shown.all():
        least = np.full((1, values.size - int(shown.sum())), -np.inf)
        hiding = [number for number, protection in enumerate(protections) if protection.hides]
        for number in hiding:
            limit = protections[number].limit
            top = np.inf if limit is None else _last_below(limit, steps[number], protections[:number])
            parts.append((~shown, undo(number, least, np.full(least.shape, top))))
        if not hiding:  # no protection explains why it is hidden
            parts.append((~shown, (least, -least)))
    lows: list[Array] = []
    highs: list[Array] = []
    for which, (low, high) in parts:
        for side, ends, fill in ((lows, low, np.inf), (highs, high, -np.inf)):
            wide = np.full((ends.shape[0], values.size), fill)
            wide[:, which] = ends
            side.append(wide)
    return np.vstack(lows), np.vstack(highs)


def _last_below(limit: float, step: float, earlier: Sequence[Protection]) -> float:
    """The largest multiple of the step below the limit; just below the limit if the step is zero.

    A multiple that equals the limit up to rounding is below it if the number that was compared is. After
    inexact sums nobody knows, and it counts as below.
    """
    if not step:
        return limit - 4 * _NEAR * max(1.0, abs(limit))
    ratio = limit / step
    near = float(np.rint(ratio))
    if abs(ratio - near) > _room(near, _NEAR):
        return float(np.ceil(ratio) - 1) * step
    last = next((one for one in reversed(earlier) if one.law.bound), None)
    if last is None:
        compared = near / round(1 / step)  # a count, or a count over the number of people
    else:
        compared = near * step if isinstance(last, Rounding) or step == round(step) else -math.inf
    return (near if compared < limit else near - 1) * step


def _room(size: Array | float, least: float) -> Array:
    """The floating-point room of a bound on counts of this size."""
    return np.asarray(least + _DIGITS * np.where(np.isfinite(size), np.abs(size), 0.0))


def _counts(low: Array, high: Array, units: float, *, exact: bool) -> tuple[Array, Array]:
    """The whole counts within intervals of published values, zero or more."""
    room = _DECIMALS if exact else _NEAR
    with np.errstate(invalid="ignore"):
        low, high = low * units, high * units
        least = np.ceil(low - _room(np.maximum(np.abs(low), units), room))
        most = np.floor(high + _room(np.maximum(np.abs(high), units), room))
    return np.maximum(least, 0.0) + 0.0, most


def _joined(low: Array, high: Array) -> tuple[Array, Array, Gaps]:
    """The hull of each column's intervals, and the whole numbers in the hull but in none of the intervals."""
    some = low <= high
    least = np.where(some, low, np.inf).min(axis=0)
    most = np.where(some, high, -np.inf).max(axis=0)
    none = ~some.any(axis=0)
    least[none], most[none] = 1.0, 0.0
    gaps: list[tuple[int, npt.NDArray[Any]]] = []
    for column in np.flatnonzero((some.sum(axis=0) > 1) & (most - least <= _WIDEST_GAPS)):
        counts = np.arange(least[column], most[column] + 1)
        ends = low[some[:, column], column], high[some[:, column], column]
        inside = (counts[:, None] >= ends[0]) & (counts[:, None] <= ends[1])
        outside = counts[~inside.any(axis=1)].astype(np.int64)
        if outside.size:
            gaps.append((int(column), outside))
    return least, most, tuple(gaps)


def stretches_of(
    values: Array, tables: CellLayout, protections: Sequence[Protection], units: float
) -> Stretches | None:
    """What controlled rounding of whole counts says about sums of neighbouring cells; None if nothing.

    Notes
    -----
    The published sum of any stretch of neighbouring cells is less than a base away from the true sum.
    Conversely, every secret whose tables meet all these limits can have led to the published tables (see
    `Rounding`), so together with the cells these are all the constraints. Used only if nothing but hiding
    follows the rounding. Stretches with a hidden cell are left out.
    """
    first = protections[0] if protections else None
    if not isinstance(first, Rounding) or first.mode != "controlled" or not len(tables):
        return None
    base = first.base * units
    if abs(base - round(base)) > _NEAR or any(one.law.bound for one in protections[1:]):
        return None
    start, stop = [], []
    for shape, chosen, index in tables.alike():
        size = int(np.prod(shape))
        if size > 2 and chosen.size * size * size * size / 6 <= _MOST_STRETCHES:
            a, b = np.triu_indices(size, 1)
            start.append((index[:, 0][:, None] + a).ravel())
            stop.append((index[:, 0][:, None] + b).ravel())
    if not start:
        return None
    first_cell, last_cell = np.concatenate(start), np.concatenate(stop)
    total = np.concatenate([[0.0], np.cumsum(np.nan_to_num(values * units))])
    gone = np.concatenate([[0], np.cumsum(np.isnan(values))])
    seen = gone[last_cell + 1] == gone[first_cell]
    first_cell, last_cell = first_cell[seen], last_cell[seen]
    middle = np.rint(total[last_cell + 1] - total[first_cell])
    return Stretches(first_cell, last_cell, middle - round(base) + 1, middle + round(base) - 1)
