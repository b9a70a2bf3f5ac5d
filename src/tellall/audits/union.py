"""Overall: what all sets of releases of a plan give away; numbers that one more release never lowers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from tellall.audits.findings import Finding
from tellall.audits.measures.counts import Counts, People, add_counts, sum_counts
from tellall.audits.measures.proofs import Proofs
from tellall.audits.measures.risk import LEVELS
from tellall.audits.verdict import Limits
from tellall.core.records import WRITTEN, Meaning, Record

__all__ = ["Overall", "Proved", "SensitiveCounts", "proved_together"]


@dataclass(frozen=True)
class Proved:
    """People proved by any set of releases, by value; each counts once, as alone if any set proves that."""

    alone: Counts
    group: Counts

    @classmethod
    def of_areas(cls, parts: Sequence[Proved]) -> Proved:
        """The people of all areas."""
        if not parts:
            return cls({}, {})
        return cls(sum_counts([one.alone for one in parts]), sum_counts([one.group for one in parts]))


def proved_together(findings: Sequence[Finding]) -> Proved:
    """The union of what the sets of releases prove."""
    kept = [finding.proofs for finding in findings]
    joined = Proofs.union(one for one in kept if one is not None)
    if joined is not None:
        return Proved(joined.alone, joined.group)
    # who is proved was not kept: the largest count of one set is a lower bound
    most = max((finding.proved for finding in findings), key=_people, default=({}, {}))
    return Proved(*most)


def _people(proved: tuple[Counts, Counts]) -> float:
    return add_counts(count for part in proved for count in part.values())


@dataclass(frozen=True)
class SensitiveCounts(Record):
    """People with a sensitive value."""

    proved_alone: Annotated[People, Meaning("By any set of releases.")]
    proved_group: Annotated[People, Meaning("By any set of releases.")]
    exposed: Annotated[People, Meaning("By the attack that exposes most of them.")]
    learnt: Annotated[People, Meaning("Proved alone or exposed.")]


@dataclass(frozen=True)
class Overall(Record):
    """The strongest of all attacks on all sets of releases; one more release lowers none of these numbers."""

    advantage: Annotated[float, Meaning("The largest of any set of releases.")]
    advantage_of: Annotated[str, Meaning("The set that has it.")]
    advantage_share: Annotated[
        float,
        Meaning("As a share of people or, for a real secret, of the baseline's error without in-sample fit."),
    ]
    exposed: Annotated[Counts, Meaning("By the attack that exposes most, at confidence 0.95; by value.")]
    exposed_of: Annotated[str, Meaning("Its set of releases.")]
    proved_alone: Annotated[Counts, Meaning("By any set of releases; by value.")]
    proved_group: Annotated[Counts, Meaning("By any set of releases; by value.")]
    sensitive: SensitiveCounts

    @classmethod
    def of(cls, findings: Sequence[Finding], proved: Proved, limits: Limits) -> Overall | None:
        """The largest of each number; None if nothing was attacked."""
        every = [(finding.name, one) for finding in findings for one in finding.outcomes]
        if not every:
            return None
        level = f"{LEVELS[0]:g}"
        gainer, gained = max(every, key=lambda pair: pair[1].advantage)
        exposer, most = max(
            every, key=lambda pair: (pair[1].exposed_people, limits.count(pair[1].exposed[level]))
        )
        alone = limits.count(proved.alone)
        return cls(
            advantage=gained.advantage,
            advantage_of=gainer,
            advantage_share=max(one.advantage_share for _, one in every),
            exposed=most.exposed[level],
            exposed_of=exposer,
            proved_alone=proved.alone,
            proved_group=proved.group,
            sensitive=SensitiveCounts(
                proved_alone=alone,
                proved_group=limits.count(proved.group),
                exposed=max(limits.count(one.exposed[level]) for _, one in every),
                learnt=max(alone, *(limits.count(one.learnt) for _, one in every)),
            ),
        )

    @property
    def proved(self) -> Annotated[People, Meaning("By any set of releases."), WRITTEN]:
        """How many people any set of releases proves."""
        return _people((self.proved_alone, self.proved_group))

    @property
    def exposed_people(self) -> Annotated[People, Meaning("By the attack that exposes most."), WRITTEN]:
        """The most people that any one attack exposes."""
        return add_counts(self.exposed.values())
