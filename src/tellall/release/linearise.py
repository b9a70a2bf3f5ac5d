"""Linearising turns a release into evidence: equations about people, and intervals for hidden values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

import numpy as np
import numpy.typing as npt

from tellall.algebra.operators.base import HOST, Array, Device
from tellall.core.errors import InvalidInput, invalid
from tellall.people.dataset import Dataset, Public, as_public
from tellall.release.contrasts import CompleteTables
from tellall.release.equations import Equations, Evidence, ReleaseEquations, Rows
from tellall.release.hidden import hidden_rows, threshold_of, unseen_sums
from tellall.release.numbers import NumberRange
from tellall.release.possible import Facts, possible_counts, stretches_of
from tellall.release.protections.calibrated import WalshNoise
from tellall.release.protections.protection import Exact, Noise, Sum
from tellall.release.protections.rounding import whole_rounding
from tellall.release.protections.sampling import ComplementLaw
from tellall.release.release import Release
from tellall.release.sight import (
    EVERYTHING,
    NOBODY,
    AddedCells,
    Knowledge,
    Strangers,
    nothing,
    see,
    unknown_condition,
    widen,
    widen_facts,
)
from tellall.release.statistics.among import Among
from tellall.release.statistics.base import CellLayout, tables_of
from tellall.release.statistics.marginals import Marginals
from tellall.release.told import tell

__all__ = [
    "as_view",
    "count_scale",
    "evidence_of",
    "linearise",
    "turn_back",
]

_LARGEST = 1e100  # of a published value: beyond, squares overflow


def linearise(
    release: Release,
    public: Public | Dataset | npt.ArrayLike,
    *,
    device: Device = HOST,
    known: Knowledge = EVERYTHING,
) -> Evidence:
    """The equations that a release gives about people whose public columns are known.

    ``device`` is where products with them are computed, where they have a form there. ``known`` says what an
    attacker knows and does not know beside the columns of these people.

    Notes
    -----
    One row per published value; suppressed values, and those of which nothing is known, have none (what is
    known of a suppressed value is an interval, apart from the equations). The target
    is the value on the count scale less the part that does not depend on the secret, so that ``operator @
    secret == target`` on an exact release. Where more than half of the counts are of the people without the
    secret, all are turned round first. Of a release about some of the people the columns of the others are
    zero. Tables of columns that are not known are added up over them; values that count people beyond these
    leave intervals.
    """
    if not isinstance(release, Release):
        raise invalid("release", "a Release", type(release).__name__)
    view = as_view(public, [release])
    if isinstance(release.statistic, Among):
        if reason := unknown_condition(release.statistic, view):
            return Evidence((nothing(view.n, release.levels, reason),))
        people = release.statistic.people(view)
        inner = replace(release, statistic=release.statistic.statistic)
        part = _equations_of(inner, view.take(people), device, known, part=True)
        return Evidence((part.among(people, view.n),))
    evidence = Evidence((_equations_of(release, view, device, known),))
    if evidence.parts[0].alike is view.patterns.index:
        evidence.__dict__["groups"] = view.patterns  # where cached properties are kept
    return evidence


def evidence_of(
    releases: Sequence[Release], public: Public, known: Knowledge = EVERYTHING, device: Device = HOST
) -> Evidence:
    """All that an attacker with this view and this knowledge has to go by."""
    parts = [linearise(release, public, device=device, known=known) for release in releases]
    if known.secrets:
        parts.append(Evidence((tell(known.secrets, public.n, releases[0].levels),)))
    return Evidence.together(parts)


def as_view(public: Public | Dataset | npt.ArrayLike, releases: Sequence[Release]) -> Public:
    """The attacker's view; an array, whose columns have no names of their own, must have all of them."""
    view = as_public(public)
    if not isinstance(public, Public | Dataset):
        for release in releases:
            if release.columns and release.columns != view.names:
                raise _other_columns(release, view)
    return view


def _equations_of(
    release: Release, view: Public, device: Device, known: Knowledge, *, part: bool = False
) -> ReleaseEquations:
    """The equations of a release about everybody in the view, as far as they are known."""
    same = release.shape is None or release.shape == view.shape
    if same and known.missing is None and not known.may_include:
        _check_people(release, view)
        return _linearised(release, view, device)
    if release.shape is None:
        raise invalid("release", "one that says which columns and how many people it has", "neither")
    strangers = Strangers.of(release, view.n, known, part=part)
    if strangers.missing or strangers.absent:
        what = release.statistic.describe()
        if not release.statistic.counts_people:
            reason = f"{what}: it counts other people than those who are known"
            return nothing(view.n, release.levels, reason)
        if release.statistic.no_population:
            reason = f"{what}: it lists {release.shape.people:,} people, who are not those who are known"
            return nothing(view.n, release.levels, reason)
    sight = see(release, view)
    if sight.statistic is None:
        return nothing(view.n, release.levels, sight.skipped[0])
    values = release.values if sight.chosen is None else release.values[sight.chosen]
    some = replace(release, values=values, statistic=sight.statistic)
    _check_values(some, sight.public, sight.sums)
    return _linearised(some, sight.public, device, sight.sums, strangers, sight.skipped)


def _linearised(
    release: Release,
    view: Public,
    device: Device,
    sums: AddedCells | None = None,
    strangers: Strangers = NOBODY,
    skipped: tuple[str, ...] = (),
) -> ReleaseEquations:
    """The equations of a release whose columns are those of the view, or of sums of its values."""
    units = _units(release, view)
    counts, noise = count_scale(release, view)
    certain = bool(release.levels) and release.statistic.counts_people and noise.known
    possible = possible_counts(release.values, release.protections, units) if certain else None
    if sums is not None:
        counts = sums.add(counts)
        possible = None if possible is None else sums.add_possible(possible)
    hidden = np.isnan(counts)
    threshold = None
    hides = any(protection.hides for protection in release.protections)
    if hides and release.statistic.counts_people and release.levels and sums is None:
        threshold = threshold_of(release.protections, units)
    filled = threshold is not None or sums is not None
    equations = release.statistic.equations_on(device, view, np.nan_to_num(counts) if filled else counts)
    equations, numbers = _beyond_equations(equations, release.levels, noise)
    if sums is not None:
        gain, reach = equations.gain * np.sqrt(sums.terms), equations.reach * sums.terms
        equations = replace(equations, gain=gain, reach=reach)
    between, intervals, offset = None, None, None
    if filled:
        offset = equations.target - np.nan_to_num(counts)
        if threshold is not None:
            between, intervals = hidden_rows(threshold, equations, counts, hidden)
        elif possible is not None:
            between, intervals = unseen_sums(possible, hidden, offset)
        equations = replace(equations, target=np.where(hidden, np.nan, equations.target))
    noise, turned = turn_back(noise)
    if turned:  # what hides a complemented count says nothing simple about the count
        equations = replace(equations, target=equations.sums - equations.target)
        between = None
    whole = certain and units == 1 and sums is None
    rows = _rows(equations, noise.assumed, counts, whole=whole)
    if not noise.known:
        rows = replace(rows, bound=np.full(rows.bound.size, np.inf))
    tables = tables_of(release.statistic, view, release.levels)
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
    if strangers.missing or strangers.absent:
        last = tables.shapes[0][-1] if release.statistic.adds_up else 0
        more, fewer = strangers.rows(equations, possible, last)
        rows, facts, complete = widen(rows, more, fewer), widen_facts(facts, more, fewer), None
        if between is not None and intervals is not None:
            intervals = widen(intervals, more[between], fewer[between])
    index = np.flatnonzero(~np.isnan(rows.target) & np.isfinite(rows.std))
    rows = rows.take(index)
    if between is not None and intervals is not None:
        index, rows = np.concatenate([index, between]), Rows.concat([rows, intervals])
    notes = () if strangers is not NOBODY else _inconsistent_totals(release, view, tables, counts)
    more_of_it = (equations.alike, facts, (*skipped, *equations.skipped), notes, complete)
    return ReleaseEquations(equations.operator, index, rows, noise, *more_of_it, numbers=numbers)


def _beyond_equations(
    equations: Equations, levels: int, noise: Noise
) -> tuple[Equations, NumberRange | None]:
    """The equations with those that exact values give about bits alone, and what is certain of numbers.

    What is not an equation is not used where the law of the errors is unknown.
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
        reason = "values that are not exact: they give fewer equations about bits than exact ones would"
        return replace(equations, skipped=(*equations.skipped, reason)), None
    target = np.where(np.isnan(equations.target), targets, equations.target)
    return replace(equations, target=target), None


def _units(release: Release, view: Public) -> float:
    """What a published value is multiplied with to be a count; shares are those of the release's people."""
    units = release.statistic.units(view)
    if release.shape is None or units != view.n or release.statistic.scale != "fractions":
        return units
    return float(release.shape.people)


def _complete_tables(
    release: Release, public: Public, tables: CellLayout, rows: Rows, noise: Noise
) -> CompleteTables | None:
    """The tables that contrasts can say: not where errors depend on the value or cells share them."""
    shared = any(isinstance(protection, WalshNoise) for protection in release.protections)
    if shared or not isinstance(release.statistic, Marginals) or not release.levels:
        return None
    if not release.statistic.counts_people:
        return None
    if noise.ordinary.varies:
        return None
    return CompleteTables(public, tables, rows, gross=noise.ordinary != noise)


def _check_people(release: Release, view: Public) -> None:
    """Refuses people other than those of the release."""
    if release.columns and release.columns != view.names:
        raise _other_columns(release, view)
    _check_values(release, view)


def _other_columns(release: Release, view: Public) -> InvalidInput:
    rule = f"the columns of the release ({', '.join(release.columns)})"
    return invalid("public", rule, ", ".join(view.names))


def _check_values(release: Release, view: Public, sums: AddedCells | None = None) -> None:
    """Refuses values that are not those of these columns, or of no people."""
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
    units = _units(release, public)
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
