"""Published means and people brought to one coding and one list of attributes, before anybody is scored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.attacks.calls import calls_of
from tellall.attacks.tracing_blocks import CODINGS, Blocks, Coding
from tellall.attacks.tracing_columns import Chosen, match_columns, names_of_means
from tellall.attacks.tracing_copies import Lacking, compared, copies, lacking
from tellall.errors import invalid
from tellall.linops import Array
from tellall.release import Release
from tellall.statistics import Means

__all__ = ["Input", "read_input"]

_FEW_MISSING = 0.01  # a share of missing calls up to which nothing is said
_LEAST_FREQUENCY = 1e-7
_BETWEEN = 2**0.5  # one allele a person, or two


@dataclass(frozen=True, eq=False)
class Input:
    """What an attack works on: q in the ±1 coding and two sources of people over the same attributes."""

    q: Array
    targets: Blocks
    reference: Blocks
    coding: Coding
    n: int | None
    notes: tuple[str, ...]
    target_gaps: Lacking
    reference_gaps: Lacking
    copies: int

    def size(self) -> float:
        """How many people the means are over: as told, or one over the smallest frequency above zero."""
        if self.n is not None:
            return float(self.n)
        share = (1 + np.abs(self.q)) / 2
        gaps = (1 - share)[share < 1]
        return float(1 / max(gaps.min(initial=0.5), _LEAST_FREQUENCY)) / self.coding.ploidy


def read_input(
    means: Release | npt.ArrayLike,
    targets: Any,
    reference: Any,
    *,
    coding: str,
    n: int | None,
    clip: bool,
    alleles: str | None = None,
) -> Input:
    """Means and people in one coding, without suppressed attributes; refuses what does not fit."""
    if not isinstance(coding, str) or coding not in CODINGS:
        raise invalid("coding", "'signs', 'bits' or 'genotypes'", coding)
    if n is not None and (isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1):
        raise invalid("n", "the number of people the means are over", n)
    rule = CODINGS[coding]
    names = means.columns if isinstance(means, Release) else names_of_means(means)
    values, people, notes = match_columns(_values(means, n), names, targets, reference)
    for name, blocks in zip(("targets", "reference"), people, strict=True):
        if blocks.shape[0] < 1:
            raise invalid(name, "one person or more", "nobody")
    shown = np.flatnonzero(~np.isnan(values))
    if shown.size == 0:
        raise invalid("means", "one published value or more", f"{values.size} values, all missing")
    if shown.size < values.size:
        notes.append(f"{values.size - shown.size} suppressed means left out.")
        values, people = values[shown], [Chosen(blocks, shown) for blocks in people]
    told = "counts" if isinstance(means, Release) else alleles
    q = _signs(values, people[1], rule, told, notes)
    outside = int((np.abs(q) > 1 + 1e-9).sum())
    if clip and (np.abs(q) > 1).any():
        q = np.clip(q, -1, 1)
        if outside:
            notes.append(f"{outside} means outside the possible range clipped to it.")
    same = copies(people[0], people[1], rule)
    if same:
        notes.append(
            f"{same} of the targets also stand among the reference people, or have a twin there: they cannot "
            "be told from those, and if they were in the data everybody's threshold is too high; leave them "
            "out of the reference."
        )
    gaps = lacking("targets", people[0], rule), lacking("reference", people[1], rule)
    notes.extend(_tell_missing(*gaps, q.size))
    return Input(q, people[0], people[1], rule, n, tuple(notes), *gaps, same)


def _tell_missing(targets: Lacking, reference: Lacking, attributes: int) -> list[str]:
    """What is to be said of missing calls; refuses people who have none."""
    notes = []
    for name, gaps in (("targets", targets), ("reference", reference)):
        if gaps.nothing.all():
            raise invalid(name, "people with calls", f"{gaps.nothing.size} without a single one")
        if gaps.share > _FEW_MISSING:
            who = "targets" if name == "targets" else "reference people"
            some = (
                "" if gaps.attributes == attributes else f" in the {gaps.attributes:,} attributes looked at"
            )
            notes.append(f"The {who} lack {100 * gaps.share:.2g} % of their calls{some}.")
    lost = int(targets.nothing.sum())
    if lost:
        have = "target has" if lost == 1 else "targets have"
        notes.append(f"{lost} {have} no call at all, and nothing is said of them; their p-value is 1.")
    return notes


def _values(means: Release | npt.ArrayLike, n: int | None) -> Array:
    if isinstance(means, Release):
        if not isinstance(means.statistic, Means):
            raise invalid("means", "a release of Means()", means.statistic.describe())
        if means.statistic.scale == "counts":
            if n is None:
                raise invalid("n", "given where the release holds sums", "None")
            return means.values / n
        return means.values
    try:
        if np.iscomplexobj(_plain(means)):  # its imaginary part would be lost
            raise TypeError
        array = np.asarray(_plain(means), dtype=np.float64).ravel()
    except (TypeError, ValueError):
        raise invalid("means", "numbers, or a release of Means()", means) from None
    if array.size == 0:
        raise invalid("means", "one published value or more", "none")
    if np.isinf(array).any():
        raise invalid("means", "finite, or NaN where suppressed", "an infinite value")
    return array


def _plain(means: Any) -> Any:
    return list(means.values()) if isinstance(means, Mapping) else means


def _signs(values: Array, reference: Blocks, coding: Coding, alleles: str | None, notes: list[str]) -> Array:
    """The means in the ±1 coding; those of genotypes are told, or lie nearer to one or two alleles a person.

    Notes
    -----
    Told by the ratio of sums over many attributes, about 1 or about 2: a sum is right on average even where
    there is one reference person, which the distance from site to site is not.
    """
    if coding.name in ("signs", "reals"):
        return values
    if coding.name == "bits":
        return 2 * values - 1
    if alleles is None:
        few = slice(0, compared(reference))
        total, called = calls_of("reference", reference, few, coding).counts()
        there = called > 0
        known = (total[there] / called[there] + 1) / 2
        if values[few][there].sum() > _BETWEEN * known.sum():
            notes.append("Means read as mean allele counts in [0, 2], as the reference people's are.")
            return values - 1
    return values - 1 if alleles == "counts" else 2 * values - 1
