"""Cells of numbers: which sums and means say too much about a contributor, and whose numbers extremes are.

These are arithmetic on published cells. They need no attack and no draw of the noise, and one record says
each reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from tellall.audits.measures.counts import SMALL
from tellall.core.checks import above_zero, is_number, share, whole
from tellall.core.errors import invalid
from tellall.core.reasons import KINDS, Reason
from tellall.linalg.operators.linear_operator import Array
from tellall.people.dataset import Dataset
from tellall.protections.concentration import (
    Dominance,
    PPercent,
    largest_of,
)
from tellall.release.release import Release
from tellall.statistics.conditions import Subset
from tellall.statistics.extremes import Extremes
from tellall.statistics.numbers import NumberTables
from tellall.statistics.ranked_cells import RankedCells
from tellall.statistics.statistic import Statistic
from tellall.statistics.where import people_where

__all__ = ["USUAL_RULES", "CellRules", "NumberCells", "all_reasons", "cells_of"]

Mask = npt.NDArray[np.bool_]
_FEW = 2  # contributors of whom one always knows the other
_SPREADS = 2.0  # standard deviations of noise to within which a published number counts as known


@dataclass(frozen=True)
class CellRules:
    """What published cells of numbers must keep.

    Attributes
    ----------
    p
        A contributor must not be known to within this many percent.
    n, share
        More than this share of a cell from its ``n`` largest contributors is for a person to decide.
    threshold
        Minima and maxima of cells with fewer people fail.
    extremes
        Whether those of larger cells that are the number of one or two people may be published.
    lower
        What everybody knows that no number is below; None: zero if no number is negative, else nothing.
    said
        Which of them somebody chose; the others have their usual values.
    """

    p: float = 10.0
    n: int = 1
    share: float = 0.85
    threshold: int = SMALL
    extremes: bool = False
    lower: float | None = None
    said: tuple[str, ...] = field(default=(), compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "p", above_zero("p", self.p))
        object.__setattr__(self, "n", whole("n", self.n))
        object.__setattr__(self, "share", share("share", self.share, zero=False))
        object.__setattr__(self, "threshold", whole("threshold", self.threshold))
        if self.lower is not None and not (is_number(self.lower) and np.isfinite(self.lower)):
            raise invalid("lower", "a finite number, or left out", self.lower)

    def least(self, people: Dataset) -> float | None:
        """What everybody knows that no number is below; None if nothing is known."""
        smallest = float(np.min(np.asarray(people.secret, dtype=np.float64), initial=np.inf))
        if self.lower is None:
            return 0.0 if smallest >= 0 else None
        if smallest < self.lower:
            raise invalid("cells.lower", "at most everybody's number", self.lower, "Give a lower one.")
        return float(self.lower)

    def under(self, policy: Mapping[str, object]) -> CellRules:
        """The stricter of these and a policy's, of each that both say; otherwise what either says.

        Of two dominance rules for different numbers of contributors the policy's holds.

        Examples
        --------
        >>> CellRules.of_plain({"p": 5, "extremes": True}).under({"p": 10, "threshold": 4})
        CellRules(p=10.0, n=1, share=0.85, threshold=4, extremes=True, lower=None)
        """
        stricter: dict[str, Callable[[Any, Any], Any]] = {
            "p": max,
            "threshold": max,
            "extremes": min,
            "dominance": _narrower,
        }
        own = {name: part for name, part in self.as_json().items() if name in self.said}
        theirs = {name: part for name, part in policy.items() if part is not None}
        both = {name: stricter[name](own[name], theirs[name]) for name in own.keys() & theirs.keys()}
        return CellRules.of_plain({**own, **theirs, **both})

    @classmethod
    def of_plain(cls, plain: Mapping[str, Any]) -> CellRules:
        """The rules as a plan writes them; what it leaves out has its usual value."""
        known = {name: plain[name] for name in ("p", "threshold", "extremes", "lower") if name in plain}
        return cls(**{**known, **plain.get("dominance", {})}, said=tuple(plain))

    def as_json(self) -> dict[str, Any]:
        """The rules as a plan writes them."""
        return {
            "p": self.p,
            "dominance": {"n": self.n, "share": self.share},
            "threshold": self.threshold,
            "extremes": self.extremes,
            "lower": self.lower,
        }


USUAL_RULES = CellRules()


def _narrower(own: Mapping[str, Any], theirs: Mapping[str, Any]) -> Mapping[str, Any]:
    """The stricter of two dominance rules, if they are about as many contributors; else the second."""
    return own if own["n"] == theirs["n"] and own["share"] < theirs["share"] else theirs


_SAID = {  # by the code of the reason, and what the values are called
    "few-contributors": (
        "one or two people contribute: their numbers are known, or known to each other, to within {p:g} %.",
        "cells",
    ),
    "rival": (
        "the second largest contributor knows the largest number to within {p:g} %, since nobody's is below "
        "{least:g}.",
        "cells",
    ),
    "extremes-of-small-cells": (
        "the cell has fewer than {threshold} people, and the value is the number of one of them.",
        "minima and maxima",
    ),
    "medians-of-small-cells": (
        "the cell has fewer than {threshold} people, and the value is the number of one or two of them.",
        "medians",
    ),
    "error-not-known": (
        "the value would fail if it were exact, and nobody knows how far off it is.",
        "cells",
    ),
    "p-percent-rule": (
        "the {p:g} % rule, applied to the sizes of numbers, would withhold the value.",
        "cells",
    ),
    "dominance": ("{largest} more than {percent:g} %.", "cells"),
    "all-the-least": ("everybody has the least number there can be, {least:g}.", "cells"),
    "extremes": ("the value is the number of one or two people.", "minima and maxima"),
}


def _reason(code: str, release: str, cells: int, of: int, rules: CellRules) -> Reason:
    """Why some published cells of a release do not pass."""
    words, noun = _SAID[code]
    few = "the largest contributor makes" if rules.n == 1 else f"the {rules.n} largest contributors make"
    said = words.format(
        p=rules.p,
        threshold=rules.threshold,
        largest=f"{few} up",
        percent=100 * rules.share,
        least=rules.lower or 0.0,
    )
    sentence = f"In {cells:,} of {of:,} published {noun} of “{release}” {said}"
    return Reason(code, sentence, release, cells, of)


def all_reasons(parts: Sequence[Sequence[Reason]]) -> tuple[Reason, ...]:
    """Each reason for each release once, with the most cells that it has anywhere; the worst first."""
    found: dict[tuple[str, str], Reason] = {}
    for one in (reason for part in parts for reason in part):
        known = found.get((one.release, one.code))
        if known is None or one.cells > known.cells:
            found[one.release, one.code] = one
    return tuple(sorted(found.values(), key=lambda one: one.rank, reverse=True))


@dataclass(frozen=True, eq=False)
class NumberCells:
    """What every value of a statistic of numbers says about the people in its cell, before any protection.

    Attributes
    ----------
    contributors
        How many people the value is about; zero for values that say nothing about numbers, as counts.
    first, rest
        How far the largest contribution lies above the least there can be, and all but the two largest; as
        absolute values where nothing is known to be the least. For an extreme or a median, ``first`` is its
        own.
    unit
        By how much a value must be multiplied to be a sum.
    dominated
        Whether a few contributors make up more than the rules allow.
    bounded
        Whether the least there can be is known.
    kind
        What the values are.
    sharing
        Of minima and maxima, how many people of the cell have this number.
    """

    contributors: Array
    first: Array
    rest: Array
    unit: Array
    dominated: Mask
    bounded: bool
    kind: Literal["sums", "extremes", "medians"] = "sums"
    sharing: Array = field(default_factory=lambda: np.zeros(0))

    def reasons(self, release: Release, name: str, people: Dataset, rules: CellRules) -> list[Reason]:
        """Why the values of a release do not pass.

        Notes
        -----
        A value of a cell counts as known to within b: the bound of its error or, if that is less, two
        standard deviations of it. The second largest contributor knows the largest to within what the others
        have and b, so a cell fails if that is at most p % of the largest. If the law of the error is not
        known, or people were changed before anything was computed, values are judged as if exact, and what
        would fail is for a person to decide. A minimum or maximum that three people or more of a cell share
        is nobody's number.
        """
        shown = (~np.isnan(release.values)) & (self.contributors > 0)
        law, changed = release.noise, any(one.changes_people for one in release.protections)
        surely = law.known and not changed
        error = self.unit * (_half_width(release, people) if surely else 0.0)
        known = self._within(self.rest + error, rules)
        codes = np.full(known.size, "", dtype=object)
        small = self.contributors < rules.threshold
        if self.kind == "medians":
            codes[known & small] = "medians-of-small-cells"
            codes[known & (self.contributors <= _FEW)] = "few-contributors"
        elif self.kind == "extremes":
            codes[known & small] = "extremes-of-small-cells"
            somebodys = ~small & (self.sharing <= _FEW)
            codes[known & somebodys] = "" if rules.extremes else "extremes"
        else:
            nothing = self.first == 0
            codes[self.dominated & self._within(error, rules)] = "dominance"
            codes[nothing & known & self.bounded] = "all-the-least"
            codes[~nothing & known] = "rival" if self.bounded else "p-percent-rule"
            codes[known & (self.contributors <= _FEW)] = "few-contributors"
        counts = {code: int((shown & (codes == code)).sum()) for code in _SAID}
        found = counts if surely else _doubtful(counts)
        return [_reason(code, name, n, int(shown.sum()), rules) for code, n in found.items() if n]

    def _within(self, error: Array, rules: CellRules) -> Mask:
        """Where the largest contribution is known to within p % if its estimate is this far off."""
        largest = np.column_stack([self.first, np.zeros(self.first.size)])
        close = PPercent(rules.p).breaks(self.first + error, largest)
        return np.asarray(close | ((self.first == 0) & (error == 0)))


def _half_width(release: Release, people: Dataset) -> Array | float:
    """To within how much each published value is known."""
    law = release.noise.ordinary
    if not law.varies:
        return min(law.bound, _SPREADS * law.std)
    chosen = people_where(release.where, people.public)
    public = people.public if chosen.size == people.n else people.public.take(chosen)
    equations = release.statistic.equations(public, release.values)
    return np.asarray(np.minimum(law.bound, _SPREADS * law.spread(release.values, equations)))


def _doubtful(counts: Mapping[str, int]) -> dict[str, int]:
    """How many cells have each reason where errors are not known: what fails is for a person to decide."""
    failing = sum(count for code, count in counts.items() if KINDS[code].word == "fail")
    others = {code: count for code, count in counts.items() if KINDS[code].word != "fail"}
    return {**others, "error-not-known": failing}


def cells_of(
    statistic: Statistic, where: Subset | None, dataset: Dataset, rules: CellRules
) -> NumberCells | None:
    """What the values of a statistic say about contributors; None if it is no table of real numbers."""
    if dataset.secret is None or dataset.levels:
        return None
    people = people_where(where, dataset.public)
    inside = dataset if people.size == dataset.n else dataset.take(people)
    if isinstance(statistic, RankedCells):
        return _of_ranked(statistic, inside, rules.least(dataset))
    tables = statistic.number_tables(inside.public)
    return None if tables is None else _of_sums(tables, inside, rules, rules.least(dataset))


def _of_sums(found: NumberTables, people: Dataset, rules: CellRules, least: float | None) -> NumberCells:
    weights, numbers = found.weights, np.asarray(people.secret, dtype=np.float64)
    own, beyond = weights * np.abs(numbers), weights * np.abs(numbers - (least or 0.0))
    dominance = Dominance(rules.n, rules.share)
    same = np.array_equal(beyond, own)  # then people are put in order once
    parts: list[tuple[Array, Array, Array, Array, Mask]] = []
    for table in found.tables:
        cell, size, who = table.cell, table.size, table.person
        totals = np.bincount(cell, weights[who], minlength=size).astype(np.float64)
        ranked = largest_of(cell, size, own[who], max(2, rules.n))
        largest = ranked[:, :2] if same else largest_of(cell, size, beyond[who], 2)
        rest = np.bincount(cell, beyond[who], minlength=size) - largest.sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            unit = 1.0 / found.factors(totals)
        parts.append(
            (
                np.bincount(cell, minlength=size).astype(np.float64),
                largest[:, 0],
                np.maximum(rest, 0.0),
                np.where(np.isfinite(unit), unit, 0.0),
                dominance.breaks(
                    np.bincount(cell, own[who], minlength=size).astype(np.float64), ranked[:, : rules.n]
                ),
            )
        )
    contributors, first, rest, unit, dominated = (
        np.concatenate([each, np.zeros(each.size, dtype=each.dtype)] if found.counts else [each])
        for each in (np.concatenate(part) for part in zip(*parts, strict=True))
    )
    return NumberCells(contributors, first, rest, unit, dominated.astype(bool), least is not None)


def _of_ranked(statistic: RankedCells, people: Dataset, least: float | None) -> NumberCells:
    values, parts = statistic.values(people), statistic.parts
    count = values.size // parts
    cells, secret = statistic.cells(people.public), np.asarray(people.secret, dtype=np.float64)
    contributors = np.tile(np.bincount(np.concatenate(cells), minlength=count).astype(np.float64), parts)
    sharing = np.zeros(values.size)
    for cell in (each + start for each in cells for start in range(0, values.size, count)):
        sharing += np.bincount(cell, values[cell] == secret, minlength=values.size)
    first = np.abs(np.nan_to_num(values) - (least or 0.0))
    nothing, none = np.zeros(values.size), np.zeros(values.size, dtype=bool)
    kind: Literal["extremes", "medians"] = "extremes" if isinstance(statistic, Extremes) else "medians"
    unit, bounded = np.ones(values.size), least is not None
    return NumberCells(contributors, first, nothing, unit, none, bounded, kind, sharing)
