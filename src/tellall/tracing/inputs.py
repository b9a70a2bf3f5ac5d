"""Brings published means and people to one coding and one list of attributes, before anybody is scored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.core.checks import whole
from tellall.core.errors import invalid
from tellall.linalg.operators.linear_operator import Array
from tellall.people.attributes.chunks import Chunked, SomeAttributes
from tellall.people.attributes.codings import CODINGS, AttributeCoding, calls_of
from tellall.people.attributes.column_matching import match_columns, names_of_means
from tellall.people.attributes.copies import Lacking, compared, count_copies, lacking
from tellall.protections.protection import Exact, Noise, Unknown, noise_of
from tellall.protections.record_changes import Subsample
from tellall.release.release import Release
from tellall.statistics.means import Means

__all__ = [
    "Input",
    "error_of_means",
    "people_behind",
    "published_means",
    "read_input",
    "values_and_names",
]

_FEW_MISSING = 0.01  # a larger share of missing calls is noted
_LEAST_FREQUENCY = 1e-7
_BETWEEN = 2**0.5  # between one allele a person and two


@dataclass(frozen=True, eq=False)
class Input:
    """The input of an attack: means q in the ±1 coding, and two sets of people over the same attributes.

    `behind` is how many people the means are over, None if nobody says; `error` the law of the error of q.
    """

    q: Array
    targets: Chunked
    reference: Chunked
    coding: AttributeCoding
    n: int | None
    notes: tuple[str, ...]
    target_gaps: Lacking
    reference_gaps: Lacking
    copies: int
    alleles: str | None
    behind: int | None
    error: Noise

    def size(self) -> float:
        """How many people the means are over: n, or one over the smallest frequency above zero."""
        if self.n is not None:
            return float(self.n)
        share = (1 + np.abs(self.q)) / 2
        gaps = (1 - share)[share < 1]
        return float(1 / max(gaps.min(initial=0.5), _LEAST_FREQUENCY)) / self.coding.ploidy


def read_input(
    means: Release | npt.ArrayLike,
    targets: object,
    reference: object,
    *,
    coding: str,
    n: int | None,
    clip: bool,
    alleles: str | None = None,
    noise: Noise | None = None,
    alone: bool = False,
) -> Input:
    """Brings means and people to one coding without suppressed attributes; refuses what does not fit.

    `alone` says that there are no reference people: the targets stand in, and nothing is said about them.
    """
    if not isinstance(coding, str) or coding not in CODINGS:
        raise invalid("coding", "'signs', 'bits' or 'genotypes'", coding)
    if n is not None:
        whole("n", n, also=", the people that the means are over")
    if noise is not None and not isinstance(noise, Noise):
        raise invalid("noise", "a noise law such as Gaussian(0.01), or None", noise)
    if noise is not None and isinstance(means, Release):
        raise invalid("noise", "left out for a release, which says what was done to it", noise)
    rule = CODINGS[coding]
    values, people, notes = match_columns(*values_and_names(means, n), targets, reference)
    for name, one in zip(("targets", "reference"), people, strict=True):
        if one.shape[0] < 1:
            raise invalid(name, "one person or more", "nobody")
    shown = np.flatnonzero(~np.isnan(values))
    if shown.size == 0:
        raise invalid("means", "one published value or more", f"{values.size} values, all missing")
    if shown.size < values.size:
        notes.append(f"{values.size - shown.size} suppressed means left out.")
        values, people = values[shown], [SomeAttributes(one, shown) for one in people]
    if isinstance(means, Release):
        alleles = "counts"
    elif rule.name == "genotypes" and alleles is None:
        alleles = _judge_alleles(values, people[1], rule, notes)
    q = _signs(values, rule, alleles)
    outside = int((np.abs(q) > 1 + 1e-9).sum())
    if clip:
        q = np.clip(q, -1, 1)
        if outside:
            notes.append(f"{outside} means outside the possible range clipped to it.")
    copies = 0 if alone else count_copies(people[0], people[1], rule)
    if copies:
        notes.append(
            f"{copies} of the targets are also reference people, or have a twin there. They cannot be told "
            "apart from these reference people, and if they were in the data, everybody's threshold is too "
            "high: leave them out of the reference."
        )
    gaps = lacking("targets", people[0], rule), lacking("reference", people[1], rule)
    notes.extend(_note_missing(gaps[0], replace(gaps[1], share=0.0) if alone else gaps[1], q.size))
    known = alleles if rule.name == "genotypes" else None
    error = Exact() if noise is None else noise
    behind = n
    if isinstance(means, Release):
        error, behind = error_of_means(means, n), people_behind(means, n)
    error = error.scaled(_slope(rule, alleles)) if error.known else error
    return Input(q, people[0], people[1], rule, n, tuple(notes), *gaps, copies, known, behind, error)


def _note_missing(targets: Lacking, reference: Lacking, attributes: int) -> list[str]:
    """Returns notes on missing calls; refuses people who have none at all."""
    notes = []
    for name, who, gaps in (("targets", "targets", targets), ("reference", "reference people", reference)):
        if gaps.nothing.all():
            raise invalid(name, "people with calls", f"{gaps.nothing.size} without a single one")
        if gaps.share > _FEW_MISSING:
            some = (
                "" if gaps.attributes == attributes else f" in the {gaps.attributes:,} attributes looked at"
            )
            notes.append(f"The {who} lack {100 * gaps.share:.2g} % of their calls{some}.")
    lost = int(targets.nothing.sum())
    if lost:
        have = "target has" if lost == 1 else "targets have"
        notes.append(f"{lost} {have} no calls at all. Nothing is said about them; their p-value is 1.")
    return notes


def published_means(release: Release, n: int | None, *, name: str = "means", size: str = "n") -> Array:
    """Returns the means that a release holds; sums are divided by the people whom they are about.

    A subsample scales its sums up to everybody, so they are divided by everybody, not by the sample. `n` is
    used only if the release does not say how many people there are.
    """
    if not isinstance(release.statistic, Means) or release.where is not None:
        raise invalid(name, "a release of Means() of everybody", release.describe())
    if release.statistic.scale == "fractions":
        return release.values
    people = n if release.shape is None else release.shape.people
    if people is None:
        raise invalid(size, "given when the release holds sums", "nothing")
    return release.values / people


def people_behind(release: Release, n: int | None) -> int | None:
    """Returns how many people the means of a release are over, after subsamples; None if nobody says."""
    people = n if release.shape is None else release.shape.people
    for protection in release.protections:
        if people is not None:
            people = protection.left_of(people)
    return people


def error_of_means(release: Release, n: int | None) -> Noise:
    """Returns the law of the error of the means of a release, beside that of a sample of the people."""
    rest = tuple(one for one in release.protections if not isinstance(one, Subsample))
    if any(one.changes_people for one in rest):
        return Unknown()
    law = noise_of(rest)
    people = n if release.shape is None else release.shape.people
    if not law.known or release.statistic.scale == "fractions":
        return law
    return law.scaled(1 / people) if people else Unknown()


def values_and_names(means: Release | npt.ArrayLike, n: int | None) -> tuple[Array, tuple[str, ...]]:
    """Returns the published means as one array, NaN where suppressed, and their names if they have any."""
    if isinstance(means, Release):
        return published_means(means, n), means.columns
    return _values(means), names_of_means(means)


def _values(means: npt.ArrayLike) -> Array:
    try:
        plain: Any = list(means.values()) if isinstance(means, Mapping) else means
        if np.iscomplexobj(plain):  # its imaginary part would be lost
            raise TypeError
        # what is masked was not published
        array = np.ma.filled(np.ma.asarray(plain, dtype=np.float64), np.nan).ravel()
    except (TypeError, ValueError):
        raise invalid("means", "numbers, or a release of Means()", means) from None
    if array.size == 0:
        raise invalid("means", "one published value or more", "none")
    if np.isinf(array).any():
        raise invalid("means", "finite, or NaN where suppressed", "an infinite value")
    return array


def _judge_alleles(values: Array, reference: Chunked, coding: AttributeCoding, notes: list[str]) -> str:
    """Returns whether means of genotypes are allele "frequencies" or "counts", judging by the reference.

    Notes
    -----
    The sum of the means divided by the sum of the reference people's frequencies is about 1 or about 2. A sum
    is right on average even with one reference person; the distance at single sites is not.
    """
    some = slice(0, compared(reference))
    total, called = calls_of("reference", reference, some, coding).counts()
    there = called > 0
    known = (total[there] / called[there] + 1) / 2
    if values[some][there].sum() <= _BETWEEN * known.sum():
        return "frequencies"
    notes.append("Means read as mean allele counts in [0, 2], judging by the reference people.")
    return "counts"


def _slope(coding: AttributeCoding, alleles: str | None) -> float:
    """Returns by how much a step in the means is stretched in the ±1 coding."""
    plain = coding.name in ("signs", "reals") or (coding.name == "genotypes" and alleles == "counts")
    return 1.0 if plain else 2.0


def _signs(values: Array, coding: AttributeCoding, alleles: str | None) -> Array:
    """Returns the means in the ±1 coding."""
    if coding.name in ("signs", "reals"):
        return values
    return _slope(coding, alleles) * values - 1
