"""Overall: what all sets of releases of a plan give away; numbers that one more release never lowers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tellall.experiment.findings import Finding
from tellall.experiment.measures.counts import Counts, add_counts, sum_counts
from tellall.experiment.measures.proofs import Proofs
from tellall.experiment.measures.risk import LEVELS
from tellall.experiment.verdict import Limits

__all__ = ["Overall", "Proved", "proved_together"]


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
class Overall:
    """The strongest of all attacks on all sets of releases, number by number.

    Attributes
    ----------
    advantage, advantage_of
        The largest advantage of any attack, and the set of releases it is of.
    advantage_share
        The largest share of people or, for a real secret, of the strongest baseline's error without in-sample
        fit.
    exposed, exposed_of
        The people exposed at confidence 0.95 by the attack that exposes most, by value, and its set of
        releases.
    proved_alone, proved_group
        The people proved by any set of releases, by value.
    sensitive
        The same counts for people with a sensitive value only: ``proved_alone``, ``proved_group``,
        ``exposed`` and ``learnt`` (proved alone or exposed).
    """

    advantage: float
    advantage_of: str
    advantage_share: float
    exposed: Counts
    exposed_of: str
    proved_alone: Counts
    proved_group: Counts
    sensitive: Counts

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
            sensitive={
                "proved_alone": alone,
                "proved_group": limits.count(proved.group),
                "exposed": max(limits.count(one.exposed[level]) for _, one in every),
                "learnt": max(alone, *(limits.count(one.learnt) for _, one in every)),
            },
        )

    @property
    def proved(self) -> float:
        """How many people any set of releases proves."""
        return _people((self.proved_alone, self.proved_group))

    @property
    def exposed_people(self) -> float:
        """The most people that any one attack exposes."""
        return add_counts(self.exposed.values())

    def as_json(self) -> dict[str, Any]:
        """The numbers as plain data."""
        return {**vars(self), "proved": self.proved, "exposed_people": self.exposed_people}
