"""Foresight: what can be said about a plan before any attack, from the counts of its equations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tellall.audits.plans.memory_needed import memory_of
from tellall.audits.plans.plan import ALL_TOGETHER, Plan
from tellall.audits.trial import Planned, Setting, Trial
from tellall.core.amounts import percent
from tellall.core.errors import TellallError
from tellall.people.dataset import Dataset
from tellall.release import catalogue
from tellall.serve.cases import Case
from tellall.serve.edits import chip_words
from tellall.serve.views import people_of

__all__ = ["foresight"]

Plain = dict[str, Any]


def foresight(case: Case) -> Plain:
    """What can be said about a plan before any attack; made once for each text of the plan."""
    known = case.read("foresight.json")
    if known is None or known["version"] != case.version:
        version, plan = case.asked
        known = {"version": version, **_foresight(people_of(case), plan)}
        case.write("foresight.json", known)
    return known


def _foresight(people: Dataset, plan: Plan) -> Plain:
    chosen = plan.attackable(people)
    chosen.check(people)
    needed = memory_of(chosen, people)
    groups: list[tuple[str, Sequence[Planned]]] = [(one.name, [one]) for one in chosen.releases]
    if len(chosen.releases) > 1:
        groups.append((ALL_TOGETHER, chosen.releases))
    found = []
    for attacker in () if plan.by else chosen.attackers:
        setting = Setting(people, attacker=attacker, seed=chosen.seed)
        by = f", to {attacker.name}" if len(chosen.attackers) > 1 else ""
        found += [_gauged(setting, f"{name}{by}", several) for name, several in groups]
    counts = people.patterns.counts
    return {
        "people": people.n,
        "rows": len(people.patterns),
        "alone": int((counts == 1).sum()),
        "memory": "" if needed.fits else str(needed),
        "releases": found,
        "areas": plan.by or "",
    }


def _gauged(setting: Setting, name: str, several: Sequence[Planned]) -> Plain:
    try:
        known = Trial(setting, tuple(several)).foreseen
        size = sum(one.query.size(setting.people.public) for one in several)
    except TellallError as error:
        return {"name": name, "values": 0, "sentence": str(error), "gauge": None}
    if known is None:
        words = "Nothing can be foreseen for these; the audit will tell."
        return {"name": name, "values": size, "sentence": words, "gauge": None}
    without = max(known.rate, 1 - known.rate)
    short = {repr(one): chip_words(catalogue.published(one)) for each in several for one in each.protections}
    left_out = ", ".join(short.get(one, one) for one in known.ignored)
    ignored = f" Not taken into account: {left_out}." if left_out else ""
    sentence = (
        f"{known.equations:,} equations about {known.people:,} people; at most {known.rank_cap:,} of "
        f"{known.groups:,} unknowns can be solved.{ignored}"
    )
    return {
        "name": name,
        "values": size,
        "sentence": sentence,
        "gauge": {
            "accuracy": percent(known.accuracy),
            "without": percent(without),
            "from": round(100 * without, 2),
            "width": round(100 * max(0.0, known.accuracy - without), 2),
        },
    }
