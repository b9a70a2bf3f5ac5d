"""Cells: how many people a release puts in each cell, table by table, and how many are alone in public.

Who is given away is not counted here. Counts of two tables can be subtracted from each other until they name
people, and the report has the one table that is shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tellall.audits.document import Audit
from tellall.audits.plans.places import Place
from tellall.audits.trial import Planned
from tellall.people.codes import IntArray
from tellall.people.dataset import Dataset, Public
from tellall.serve.cases import Case
from tellall.serve.edits import index_of
from tellall.serve.views import people_of
from tellall.statistics.where import people_where

__all__ = ["counted", "looked_at", "releases_of"]

Plain = dict[str, Any]
_SMALL = 10  # people: smaller cells are counted as small
_MOST_TABLES, _MOST_CELLS = 300, 200  # tables of a release, and cells of a table, that a page lists


def counted(people: Dataset, places: Sequence[Place], found: Audit) -> Plain:
    """The tables of each release that does not pass, and of all together, those with small cells first.

    The result names rows of the file and no secret; it is kept next to the file.
    """
    public, area = people.public, [found.plan.by] if found.plan.by else []
    known = []
    for finding in found.found:
        if finding.verdict.word == "pass" or finding.job.role not in ("alone", "together"):
            continue
        releases = [found.plan.releases[index] for index, _ in finding.job.members]
        inside = np.arange(people.n) if area else _inside(releases, public)
        tables = [
            _counted(public, [*area, *names], inside).summary
            for names in _tables(releases, places[0].setting.people.public)
        ]
        known.append(
            {
                "name": finding.name,
                "tables": sorted(tables, key=lambda table: -table["few"]),
                "inside": None if inside.size == people.n else inside.tolist(),
            }
        )
    return {"releases": known}


def _tables(releases: Sequence[Planned], public: Public) -> list[list[str]]:
    """The columns of every table of some releases, then every single column."""
    sets = [table for one in releases for table in one.statistic.tables(public)]
    named = [[public.names[column] for column in table] for table in dict.fromkeys(sets) if table]
    return [*named[:_MOST_TABLES], *([name] for name in public.names if [name] not in named)]


def _inside(releases: Sequence[Planned], public: Public) -> IntArray:
    """The people whom some releases are about, by index."""
    inside = np.zeros(public.n, dtype=bool)
    for one in releases:
        inside[people_where(one.where, public)] = True
    return np.flatnonzero(inside)


def releases_of(case: Case) -> Plain | None:
    """What the page starts with: the releases that can be looked at more closely, the first of them open."""
    known = _known(case)
    return looked_at(case, {"release": "0"}) if known else None


def _known(case: Case) -> list[Plain]:
    return (case.read("cells.json") or {"releases": []})["releases"] if case.current else []


def looked_at(case: Case, query: Mapping[str, str]) -> Plain:
    """The tables of a release, and the cells of one: as asked, or the one with most people in small cells."""
    known = _known(case)
    at = index_of(query.get("release", ""), len(known))
    release, people = known[at], people_of(case)
    inside = np.arange(people.n) if release["inside"] is None else np.array(release["inside"], dtype=int)
    place = index_of(query.get("of", "0"), len(release["tables"]))
    chosen = _counted(people.public, release["tables"][place]["columns"], inside)
    sort = query.get("sort", "people")
    rows = sorted(chosen.rows(people.public), key=_ORDERS.get(sort, _ORDERS["people"]))
    return {
        "names": [one["name"] for one in known],
        "at": at,
        "release": release["name"],
        "tables": release["tables"],
        "table": {
            **chosen.summary,
            "place": place,
            "rows": rows[:_MOST_CELLS],
            "more": max(0, len(rows) - _MOST_CELLS),
        },
        "sort": sort,
        "only_cells": "of" in query,
    }


_ORDERS: dict[str, Any] = {
    "people": lambda row: (row["people"], row["values"]),
    "alone": lambda row: (-row["alone"], row["people"], row["values"]),
}


@dataclass(frozen=True, eq=False)
class _Counted:
    """The cells of one table that somebody is in, with how many people each has.

    Attributes
    ----------
    cells
        The values of each cell as codes, a row for each column.
    people, alone
        How many people are in each cell, and are the only ones with their public row.
    """

    columns: tuple[int, ...]
    names: tuple[str, ...]
    cells: IntArray
    people: IntArray
    alone: IntArray

    @property
    def summary(self) -> Plain:
        """The table in a line of a list."""
        small = self.people < _SMALL
        return {
            "name": " × ".join(self.names),
            "columns": list(self.names),
            "cells": int(self.people.size),
            "small": int(small.sum()),
            "few": int(self.people[small].sum()),
        }

    def rows(self, public: Public) -> list[Plain]:
        """Every cell, in words and numbers."""
        labels = [public.columns[column].labels for column in self.columns]
        return [
            {
                "values": [words[code] for words, code in zip(labels, cell, strict=True)],
                "people": int(self.people[index]),
                "alone": int(self.alone[index]),
            }
            for index, cell in enumerate(self.cells.T)
        ]


def _counted(public: Public, names: Sequence[str], inside: IntArray) -> _Counted:
    """Counts the cells of the table of some columns over the people inside."""
    columns = tuple(public.names.index(name) for name in names)
    levels = tuple(public.levels[column] for column in columns)
    codes = [np.asarray(public.codes[column])[inside].astype(np.int64) for column in columns]
    cells, which = np.unique(np.ravel_multi_index(codes, levels), return_inverse=True)
    patterns = public.patterns
    unique = patterns.counts[patterns.index][inside] == 1
    people, alone = (
        np.bincount(which.ravel(), weights=weights, minlength=cells.size).astype(int)
        for weights in (None, unique)
    )
    spread = np.stack(np.unravel_index(cells, levels))
    return _Counted(columns, tuple(names), spread, people, alone)
