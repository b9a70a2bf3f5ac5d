"""Differences: releases about different people, and what follows from having both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Annotated, Any

import numpy as np

from tellall.audits.findings import Finding, Skipped
from tellall.audits.measures.counts import People, add_counts
from tellall.audits.measures.proofs import Proofs
from tellall.audits.plans.plan import Plan
from tellall.core.amounts import count_of
from tellall.core.records import Meaning, Record
from tellall.linalg.operators.linear_operator import IntArray
from tellall.people.dataset import Public
from tellall.statistics.where import people_where

__all__ = ["Difference", "differences", "people_who_differ"]

_MOST = 20  # pairs that are listed


@dataclass(frozen=True)
class Difference(Record):
    """Two releases that are not about the same people."""

    releases: Annotated[tuple[int, int], Meaning("Which of the releases.")]
    only_first: Annotated[int, Meaning("People that only the first counts.", least=0)]
    only_second: Annotated[int, Meaning("People that only the second counts.", least=0)]
    proved: Annotated[
        People | None, Meaning("People proved by both together, by neither alone; null: not attacked.")
    ]
    sentence: Annotated[str, Meaning("The same in words; nobody is named.")]


def differences(public: Public, plan: Plan, findings: Sequence[Finding | Skipped]) -> tuple[Difference, ...]:
    """The pairs of releases about different people, those that differ by the fewest first."""
    found = []
    for pair, (first, second) in _pairs(public, plan):
        proved = _proved_by_both(findings, pair)
        sentence = _sentence([plan.releases[index].name for index in pair], first.size, second.size, proved)
        found.append(Difference(pair, first.size, second.size, proved, sentence))
    return tuple(sorted(found, key=lambda one: one.only_first + one.only_second)[:_MOST])


def people_who_differ(public: Public, plan: Plan, most: int) -> list[dict[str, Any]]:
    """Who they are, by row from one, if they are at most this many: for the curator's eyes only."""
    return [
        {
            "releases": [plan.releases[index].name for index in pair],
            "only_first": (first + 1).tolist(),
            "only_second": (second + 1).tolist(),
        }
        for pair, (first, second) in _pairs(public, plan)
        if first.size + second.size <= most
    ]


def _pairs(public: Public, plan: Plan) -> list[tuple[tuple[int, int], tuple[IntArray, IntArray]]]:
    """Pairs of releases, and who is in one of them alone."""
    about = [people_where(planned.where, public) for planned in plan.releases]
    pairs = []
    for one, other in combinations(range(len(about)), 2):
        first, second = np.setdiff1d(about[one], about[other]), np.setdiff1d(about[other], about[one])
        if first.size or second.size:
            pairs.append(((one, other), (first, second)))
    return pairs


def _proved_by_both(findings: Sequence[Finding | Skipped], pair: tuple[int, int]) -> float | None:
    """How many people two releases prove together but neither proves alone."""
    proofs = {
        tuple(index for index, _ in finding.job.members): finding.proofs
        for finding in findings
        if isinstance(finding, Finding) and finding.job.role != "step"
    }
    both = proofs.get(pair)
    alone = [known for index in pair if (known := proofs.get((index,))) is not None]
    if both is None:
        return None
    before = Proofs.union(alone)
    return add_counts([_people(Proofs.union([both, *alone])), -_people(before)])


def _people(proofs: Proofs | None) -> float:
    return 0 if proofs is None else add_counts([*proofs.alone.values(), *proofs.group.values()])


def _sentence(names: Sequence[str], only_first: int, only_second: int, proved: float | None) -> str:
    """The difference in words."""
    parts = [
        f"“{name}” counts {count_of(count, 'person', 'people')} whom “{other}” does not"
        for name, other, count in (
            (names[0], names[1], only_first),
            (names[1], names[0], only_second),
        )
        if count
    ]
    told = f"{', and '.join(parts)}."
    if proved is None:
        return told
    if not proved:
        return f"{told} Together they prove nobody else."
    people = count_of(proved, "person", "people")
    return f"{told} Together they prove the secret of {people} whom neither proves alone."
