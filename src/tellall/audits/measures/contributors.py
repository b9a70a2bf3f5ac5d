"""The agencies' rules for tables of sums compared with the attack, contributor by contributor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf, prod
from pathlib import Path
from typing import Annotated

import numpy as np

from tellall.attack.prove.hidden_cells import hidden_cells
from tellall.attack.prove.limits import Contributions
from tellall.audits.measures.revealing_cells import USUAL_RULES, CellRules
from tellall.core import files
from tellall.core.amounts import count_of, percent
from tellall.core.errors import InvalidInput, invalid
from tellall.core.records import ENDLESS, WRITTEN, Meaning, Record
from tellall.core.shown import page_of
from tellall.core.version import __version__, versions
from tellall.evidence.linearise import evidence_of
from tellall.linalg.operators.linear_operator import Array, IntArray
from tellall.people.dataset import Dataset
from tellall.protections.concentration import (
    Dominance,
    PPercent,
    largest_of,
)
from tellall.release.release import Release
from tellall.statistics.cells import CellNumbers
from tellall.statistics.where import people_where, whom_in_words

__all__ = ["CellRisk", "ComparedRules", "ContributorTable", "compare_rules", "rules_of"]

_MOST_CELLS, _MOST_ENTRIES = 500, 2_000_000
_SAME = 1e-6


@dataclass(frozen=True)
class CellRisk(Record):
    """One cell: what the rules say about it, and how well its largest contributor can be estimated.

    Attributes
    ----------
    release, cell
        Which of the releases, and the cell in words.
    contributors, shown
        How many people add to it, and whether its sum is published.
    dominance, p_percent
        Whether the rule would have withheld it.
    gap
        What the p % rule looks at: the rest of the cell beyond the two largest, in percent of the largest.
    outsider, second
        To within how many percent an outsider, and the second largest contributor, know the largest from
        everything that is published together: how far the largest possible value lies above the true one.
        Infinite where nothing limits it.
    pair
        The same for the second and the third largest together, who tell each other their numbers.
    low, high
        What an outsider knows of a withheld value, in percent of it; None where it is shown.
    in_vain
        Whether it is withheld in vain: it follows from what is published, or to within the rule's margin.
    """

    release: int
    cell: str
    contributors: int
    shown: bool
    dominance: bool
    p_percent: bool
    gap: Annotated[float, ENDLESS]
    outsider: Annotated[float, ENDLESS]
    second: Annotated[float, ENDLESS]
    pair: Annotated[float, ENDLESS] = inf
    low: float | None = None
    high: Annotated[float | None, ENDLESS] = None
    in_vain: bool = False

    @property
    def span(self) -> str:
        """What an outsider knows of a withheld value, in percent of it; empty where it is shown."""
        if self.low is None or self.high is None:
            return ""
        most = f"{self.high:,.0f} %" if np.isfinite(self.high) else "no end"
        return "known" if self.low == self.high else f"{self.low:,.0f} % to {most}"

    def missed(self, p: float) -> bool:
        """Whether the p % rule passes the cell and the releases together give its largest away."""
        return not self.p_percent and self.second < p - _SAME


@dataclass(frozen=True, kw_only=True)
class ContributorTable(Record):
    """What the rules would have said about every cell, next to what the attack finds; no contribution."""

    tellall: str = __version__
    versions: dict[str, str] = field(default_factory=versions)
    p: float
    n: int
    share: float
    cells: tuple[CellRisk, ...]

    @property
    def broken(self) -> tuple[CellRisk, ...]:
        """The cells that the p % rule passes and the releases together break."""
        return tuple(cell for cell in self.cells if cell.missed(self.p))

    @property
    def vain(self) -> tuple[CellRisk, ...]:
        """The cells that are withheld in vain."""
        return tuple(cell for cell in self.cells if cell.in_vain)

    @property
    def sentence(self) -> Annotated[str, WRITTEN]:
        """What the comparison says."""
        if not self.vain:
            return self._of_rules
        them = count_of(len(self.vain), "cell is", "cells are")
        return f"{self._of_rules} {them} withheld in vain: what is published gives them away."

    @property
    def _of_rules(self) -> str:
        withheld = sum(cell.p_percent for cell in self.cells)
        dominant = sum(cell.dominance for cell in self.cells)
        said = (
            f"Of {count_of(len(self.cells), 'cell')} the {self.p:g} % rule would withhold {withheld:,}, and "
            f"dominance ({self.n}, {100 * self.share:g} %) {dominant:,}."
        )
        if not self.broken:
            return f"{said} Where the {self.p:g} % rule passes a cell, no attack tried here does better."
        do = "does" if len(self.broken) == 1 else "do"
        return (
            f"{said} {count_of(len(self.broken), 'cell')} that the {self.p:g} % rule passes {do} not hold: "
            "with all that is published, the second largest contributor knows the largest to within "
            f"{percent(min(cell.second for cell in self.broken) / 100)}."
        )

    def save(self, path: str | Path) -> Path:
        """Writes the page; returns its path."""
        with files.together(public=False) as batch:
            return batch.text(Path(path), page_of(self))

    def __str__(self) -> str:
        head = (
            f"{'cell':<30} {'people':>6} {'rules':>14} {'gap %':>9} {'outsider %':>11} {'second %':>9} "
            f"{'pair %':>9}"
        )
        lines = [self.sentence, head]
        for cell in self.cells:
            rules = " ".join(
                word for word, said in (("p %", cell.p_percent), ("n,k", cell.dominance)) if said
            )
            lines.append(
                f"{cell.cell[:30]:<30} {cell.contributors:>6} {rules or 'pass':>14} {cell.gap:>9.3g} "
                f"{cell.outsider:>11.3g} {cell.second:>9.3g} {cell.pair:>9.3g}"
                f"{'  broken' if cell.missed(self.p) else ''}"
                f"{f'  withheld, {cell.span}' if cell.span else ''}{'  in vain' if cell.in_vain else ''}"
            )
        return "\n".join(lines)


def compare_rules(
    dataset: Dataset,
    releases: Release | Sequence[Release],
    *,
    p: float = 10.0,
    n: int = 1,
    share: float = 0.85,
) -> ContributorTable:
    """What the p % and dominance rules say about each cell of sums, and what all cells together reveal.

    Parameters
    ----------
    dataset
        The people, with numbers of zero or more.
    releases
        One or several releases of `Sums` or `CellMeans` about them, or about some of them, attacked together.
    p, n, share
        The parameters of the rules `PPercent` and `Dominance`.

    Notes
    -----
    Everybody knows that no number is negative. The largest value that the largest contributor of a cell can
    have is a linear program: every published sum within its error's bound, and for the second largest
    contributor their own number known. For one exact sum alone that is T − x₂, exactly the p % rule's bound;
    for several together it may be less, which no rule for single cells sees. Three small programs a cell: the
    third is for the second and third largest together. Withheld values have the interval that everything
    published leaves them, in percent of what they are (`hidden_cells`), and are in vain if that is too near.
    Values without a bound on their error (noise) limit nothing. At most 500 cells.
    """
    chosen = (releases,) if isinstance(releases, Release) else tuple(releases)
    if not chosen or not all(isinstance(each, Release) for each in chosen):
        raise invalid("releases", "a Release or a list of them", releases)
    if not isinstance(dataset, Dataset) or dataset.secret is None or dataset.levels:
        raise invalid("dataset", "a Dataset with a secret of real numbers", dataset)
    secret = np.asarray(dataset.secret, dtype=np.float64)
    if (secret < 0).any():
        raise invalid("secret", "numbers of zero or more, for rules about contributions", "negative ones")
    rules = PPercent(p), Dominance(n, share)
    found: list[_Cell] = []
    for place, release in enumerate(chosen):
        found += _cells(place, release, dataset)
    if len(found) > _MOST_CELLS:
        raise invalid("releases", f"of at most {_MOST_CELLS} cells", f"{len(found):,}")
    limits = Contributions(evidence_of(chosen, dataset.public))
    if (entries := limits.evidence.target.size * dataset.n) > _MOST_ENTRIES:
        raise invalid("releases", f"of at most {_MOST_ENTRIES:,} equations × people", f"{entries:,}")
    withheld = _withheld_values(chosen, dataset)
    cells = []
    for one in found:
        own, order = one.own, one.members[np.argsort(-one.own, kind="stable")]
        total, largest = np.array([own.sum()]), largest_of(np.zeros(own.size, np.intp), 1, own, max(n, 2))
        first = secret[order[0]]
        gap = 100 * (total[0] - largest[0, :2].sum()) / largest[0, 0] if largest[0, 0] > 0 else inf
        second = {int(order[1]): float(secret[order[1]])} if order.size > 1 else {}
        third = {int(person): float(secret[person]) for person in order[1:3]}
        excess = [limits.most(int(order[0]), known) - first for known in ({}, second, third)]
        outsider, by_second, by_pair = (100 * each / first if first > 0 else inf for each in excess)
        low, high, in_vain = withheld.get((one.release, one.value), (None, None, False))
        cells.append(
            CellRisk(
                one.release,
                one.words,
                int(order.size),
                one.shown,
                bool(rules[1].breaks(total, largest[:, :n])[0]),
                bool(rules[0].breaks(total, largest[:, :2])[0]),
                float(gap),
                float(max(outsider, 0.0)),
                float(max(by_second, 0.0)),
                float(max(by_pair, 0.0)),
                low,
                high,
                in_vain or bool(not one.shown and by_second <= p + _SAME),
            )
        )
    return ContributorTable(cells=tuple(cells), p=float(p), n=n, share=float(share))


@dataclass(frozen=True, eq=False)
class _Cell:
    """A cell with people: its release, its name, who is in it with what, and whether it is shown."""

    release: int
    words: str
    members: IntArray
    own: Array
    shown: bool
    value: int


def _withheld_values(
    releases: Sequence[Release], dataset: Dataset
) -> dict[tuple[int, int], tuple[float, float, bool]]:
    """For each withheld value its interval in percent of it, and whether it is withheld in vain."""
    tables = [one.statistic for one in releases if isinstance(one.statistic, CellNumbers)]
    if len(tables) < len(releases) or not any(np.isnan(release.values).any() for release in releases):
        return {}
    try:
        found = hidden_cells(releases, dataset)
    except InvalidInput:
        return {}  # releases about people who are not told in words
    if not found.status.settled:
        return {}
    starts: list[tuple[int, int]] = []
    for place, statistic in enumerate(tables):
        start = 0
        for columns in statistic.sets(dataset.public):
            starts.append((place, start))
            start += prod(dataset.public.levels[column] for column in columns)
    values: dict[tuple[int, int], tuple[float, float, bool]] = {}
    every = zip(found.lines.tolist(), found.low, found.high, found.secret, found.in_vain, strict=True)
    for (table, line), low, high, own, in_vain in every:
        place, start = starts[table]
        if own > 0:
            values[place, start + line] = (
                float(100 * low / own),
                float(100 * high / own),
                bool(in_vain),
            )
    return values


def _cells(place: int, release: Release, dataset: Dataset) -> list[_Cell]:
    """Each cell of a release with people in it; a release about some of the people has only these in it."""
    people = people_where(release.where, dataset.public)
    inside = dataset if people.size == dataset.n else dataset.take(people)
    tables = release.statistic.number_tables(inside.public)
    if tables is None:
        raise invalid("releases", "of sums or means of numbers", release.describe())
    about = "" if release.where is None else f", {whom_in_words(release.where)}"
    own = tables.weights * np.abs(np.asarray(inside.secret, dtype=np.float64))
    start = 0
    out: list[_Cell] = []
    for table in tables.tables:
        for number in np.unique(table.cell):
            words = f"{table.words(int(number))}{about}"
            members = table.person[table.cell == number]
            shown = not np.isnan(release.values[start + number])
            value = start + int(number)
            out.append(_Cell(place, words, people[members], own[members], bool(shown), value))
        start += table.size
    return out


@dataclass(frozen=True)
class ComparedRules(Record):
    """What the agencies' rules for tables of sums would have said, compared with the attack."""

    sentence: str
    cells: Annotated[int, Meaning(least=0)]
    broken: Annotated[int, Meaning("Cells that the p % rule passes but all tables together do not.", least=0)]
    in_vain: Annotated[int, Meaning("Withheld cells that follow from what is published.", least=0)] = 0


def rules_of(
    dataset: Dataset, tables: Sequence[Release], rules: CellRules = USUAL_RULES
) -> ComparedRules | None:
    """What the agencies' rules would have said about tables of sums.

    None if there is no such table, or if contributions are not numbers of zero or more.
    """
    secret = dataset.secret
    if not tables or secret is None or dataset.levels or float(np.min(secret)) < 0:
        return None
    try:
        found = compare_rules(dataset, tables, p=rules.p, n=rules.n, share=rules.share)
    except InvalidInput as reason:
        return ComparedRules(f"The agencies' rules were not compared: {reason}", 0, 0)
    return ComparedRules(found.sentence, len(found.cells), len(found.broken), len(found.vain))
