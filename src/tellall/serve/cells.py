"""Cells: whom a release gives away, table by table, column by column, cell by cell; small counts withheld."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tellall.attack.prove.proof import EFFORT
from tellall.core.errors import TellallError
from tellall.core.work import Progress, counter
from tellall.experiment.culprits import learnt_people, tells_of_nobody
from tellall.experiment.document import Audit
from tellall.experiment.plans.attacker import people_of as people_in
from tellall.experiment.plans.places import Place
from tellall.experiment.trial import Planned, Trial
from tellall.experiment.verdict import Limits
from tellall.people.bits import IntArray
from tellall.people.dataset import Dataset, Public
from tellall.serve.cases import Case
from tellall.serve.edits import index_of
from tellall.serve.views import people_of

__all__ = ["learn", "looked_at", "releases_of"]

Plain = dict[str, Any]
_EFFORT = EFFORT // 10  # steps of the search for proofs, as for what each part adds
_SMALL = 10  # people: smaller cells are counted as small
_MOST_TABLES, _MOST_CELLS = 300, 200  # tables of a release, and cells of a table, that a page lists
_EVERYBODY = Limits(0.0, None, None)  # whatever value they have, so that no count reveals a value


def learn(
    people: Dataset, places: Sequence[Place], found: Audit, progress: Progress | None = None
) -> dict[str, Any]:
    """Who is given away by each release that does not pass, and by all together, with the tables it has.

    Everybody who is proved alone or exposed counts, whatever their secret is. The result names rows of the
    file and no secret; it is kept next to the file.
    """
    chosen = [
        one for one in found.found if one.verdict.word != "pass" and one.job.role in ("alone", "together")
    ]
    tell = counter(progress, len(chosen))
    known = []
    for finding in chosen:
        releases = tuple(found.plan.releases[index] for index, _ in finding.job.members)
        learnt = np.zeros(people.n, dtype=bool)
        try:
            for place in places:
                trial = Trial(place.setting, releases, 1, place.seed(found.plan.seed), _EFFORT)
                _, risks = trial.scored(finding.outcome.asked)
                learnt[place.people] = learnt_people(risks[0], _EVERYBODY)
        except TellallError:
            continue
        finally:
            tell(1)
        area = [found.plan.by] if found.plan.by else []
        inside = np.arange(people.n) if area else _inside(releases, people.public)
        tables = [
            _counted(people.public, [*area, *names], inside, learnt).summary
            for names in _tables(releases, places[0].setting.people.public)
        ]
        known.append(
            {
                "name": finding.name,
                "decoder": finding.outcome.asked,
                "tables": sorted(tables, key=lambda table: -table["few"]),
                "inside": None if inside.size == people.n else inside.tolist(),
                "learnt": np.flatnonzero(learnt).tolist(),
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
        inside[people_in(one.statistic, public)] = True
    return np.flatnonzero(inside)


def releases_of(case: Case) -> Plain | None:
    """What the page starts with: the releases that can be looked at more closely, the first of them open."""
    known = _known(case)
    return looked_at(case, {"release": "0"}) if known else None


def _known(case: Case) -> list[Plain]:
    return (case.read("learnt.json") or {"releases": []})["releases"] if case.current else []


def looked_at(case: Case, query: Mapping[str, str]) -> Plain:
    """The tables of a release, and the cells of one: as asked, or the one with most people in small cells."""
    known = _known(case)
    at = index_of(query.get("release", ""), len(known))
    release, people = known[at], people_of(case)
    learnt = np.zeros(people.n, dtype=bool)
    learnt[release["learnt"]] = True
    inside = np.arange(people.n) if release["inside"] is None else np.array(release["inside"], dtype=int)
    place = index_of(query.get("of", "0"), len(release["tables"]))
    chosen = _counted(people.public, release["tables"][place]["columns"], inside, learnt)
    rows = sorted(chosen.rows(people.public), key=_ORDERS.get(query.get("sort", ""), _ORDERS["given"]))
    return {
        "names": [one["name"] for one in known],
        "at": at,
        "release": release["name"],
        "decoder": release["decoder"],
        "tables": release["tables"],
        "table": {
            **chosen.summary,
            "place": place,
            "rows": rows[:_MOST_CELLS],
            "more": max(0, len(rows) - _MOST_CELLS),
        },
        "sort": query.get("sort", "given"),
        "only_cells": "of" in query,
    }


_ORDERS: dict[str, Any] = {
    "people": lambda row: (row["people"], row["values"]),
    "given": lambda row: (
        1 if row["given"] is None else 2 * (not row["given"]),
        -(row["share"] or 0.0),
        row["people"],
    ),
}


@dataclass(frozen=True, eq=False)
class _Counted:
    """The cells of one table that somebody is in, with how many people each has.

    Attributes
    ----------
    cells
        The values of each cell as codes, a row for each column.
    people, alone, given
        How many people are in each cell, are the only ones with their public row, are given away.
    """

    columns: tuple[int, ...]
    names: tuple[str, ...]
    cells: IntArray
    people: IntArray
    alone: IntArray
    given: IntArray

    @property
    def summary(self) -> Plain:
        """The table in a line of a list."""
        small = self.people < _SMALL
        few, gone = int(self.people[small].sum()), int(self.given[small].sum())
        return {
            "name": " × ".join(self.names),
            "columns": list(self.names),
            "cells": int(self.people.size),
            "small": int(small.sum()),
            "few": few,
            "given_few": gone if tells_of_nobody(few, gone) else None,
        }

    def rows(self, public: Public) -> list[Plain]:
        """Every cell, in words and numbers; counts that would reveal single people are None."""
        shown = _shown(self.people, self.given)
        labels = [public.columns[column].labels for column in self.columns]
        return [
            {
                "values": [words[code] for words, code in zip(labels, cell, strict=True)],
                "people": int(self.people[index]),
                "alone": int(self.alone[index]),
                "given": int(self.given[index]) if shown[index] else None,
                "share": float(100 * self.given[index] / self.people[index]) if shown[index] else None,
            }
            for index, cell in enumerate(self.cells.T)
        ]


def _counted(public: Public, names: Sequence[str], inside: IntArray, learnt: Any) -> _Counted:
    """Counts the cells of the table of some columns over the people inside."""
    columns = tuple(public.names.index(name) for name in names)
    levels = tuple(public.levels[column] for column in columns)
    codes = [np.asarray(public.codes[column])[inside].astype(np.int64) for column in columns]
    cells, which = np.unique(np.ravel_multi_index(codes, levels), return_inverse=True)
    patterns = public.patterns
    unique = patterns.counts[patterns.index][inside] == 1
    people, alone, given = (
        np.bincount(which.ravel(), weights=weights, minlength=cells.size).astype(int)
        for weights in (None, unique, learnt[inside])
    )
    spread = np.stack(np.unravel_index(cells, levels))
    return _Counted(columns, tuple(names), spread, people, alone, given)


def _shown(people: IntArray, given: IntArray) -> Any:
    """Which counts of a table are shown: none that, or whose rest of the total, reveals single people."""
    shown = np.array(
        [tells_of_nobody(int(n), int(k)) for n, k in zip(people, given, strict=True)], dtype=bool
    )
    for index in np.lexsort((people, given == 0)):
        left, gone = int(people[~shown].sum()), int(given[~shown].sum())
        if shown.all() or tells_of_nobody(left, gone):
            break
        shown[index] = False
    return shown
