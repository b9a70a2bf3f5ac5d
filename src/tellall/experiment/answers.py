"""Answers of sweeps and calibrations: which noise is enough, in a word and a sentence, from plain data."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tellall.core.amounts import count_of, counted, digits, gain
from tellall.experiment.verdict import Answer, area_name

__all__ = [
    "area_calibration_answer",
    "calibration_answer",
    "least_enough",
    "no_answers",
    "strongest_rows",
    "sweep_answer",
    "too_many_learnt",
    "worst_of_area",
]

Row = dict[str, Any]
_NOTHING = "Nothing needs to be done"


def least_enough(rows: Iterable[Row]) -> Row | None:
    """The protection with the least error among those that pass; None if none passes.

    The row is the strongest decoder's, with the largest counts of people of any decoder.
    """
    enough = [row for row in strongest_rows(rows) if row["verdict"] == "pass"]
    return min(enough, key=_cheapest, default=None)


def worst_of_area(area: Row) -> Row:
    """The area's row with the largest advantage; ``enough`` is a protection that is enough there, or None."""
    worst = max(area["rows"], key=lambda row: (row["advantage"], row["low"]))
    enough = least_enough({**row, "exposed": None, "learnt": None} for row in area["rows"])  # some are words
    kept = {"name": area_name(area["name"]), "people": area["people"]}
    return {**worst, **kept, "enough": None if enough is None else enough["protection"]}


def _cheapest(row: Row) -> tuple[float, str]:
    return float("inf") if row["loss"] is None else row["loss"], row["protection"]


def too_many_learnt(learnt: float | None, limit: int | None) -> bool:
    """Whether more people with a sensitive value are given away, on average, than a plan allows."""
    return learnt is not None and limit is not None and learnt > limit


def sweep_answer(release: dict[str, Any], limit: float, exposed_limit: int | None = None) -> Answer:
    """What a sweep says: the protection that is enough and costs least, or that none is.

    A limit is a share of people; for a real secret the sweep shows the range and leaves the choice.
    """
    worst, real, name = strongest_rows(release["rows"]), bool(release["real"]), str(release["name"])
    bare = next((row for row in worst if row["loss"] == 0), None)
    before = f" Unprotected, {_attack(bare, release)}." if bare else ""
    safest = min(worst, key=lambda row: row["high"])
    if real:
        return Answer(
            "review",
            f"{safest['protection']} gives away least",
            f"With it {_attack(safest, release)}, and {_cost(safest, release)}.{before} A person has to say "
            "how much is too much, because the limit of a plan is a share of people.",
            name,
        )
    allowed = _allowed(limit, real)
    enough = least_enough(release["rows"])
    if enough is None:
        safest = min(worst, key=lambda row: (row["high"] > limit, row.get("learnt") or 0.0, row["high"]))
        people = _people_learnt(safest.get("learnt"), exposed_limit)
        said = (
            f"The nearest is {safest['protection']}: {_attack(safest, release)}, {allowed}{people}. What "
            f"decides there: {safest['decided']}."
        )
        return Answer("fail", "None of these is enough", said + before, name)
    alone = _not_enough_alone(release, enough["protection"])
    where = " over all people" if alone else ""
    if enough["loss"] == 0:
        people = _people_learnt(enough.get("learnt"), exposed_limit)
        said = f"Unprotected, {_attack(enough, release)}, {allowed}{people}."
        return Answer("review" if alone else "pass", f"{_NOTHING}{where}", said + alone, name)
    also = "" if exposed_limit is None else f" and gives away no more than {exposed_limit:,} people"
    said = (
        f"It is the cheapest protection that keeps every decoder tried under {gain(limit, real, '')} people "
        f"in 100 with 95 % confidence{also}: {_attack(enough, release)}, and {_cost(enough, release)}."
        f"{before}{alone}"
    )
    kind = "review" if alone else "pass"
    return Answer(kind, f"{enough['protection']} is enough{where}", said, name)


def no_answers(document: dict[str, Any]) -> list[Answer]:
    """The releases that a calibration has no answer for, and why."""
    return [Answer("fail", "No answer", one["reason"], one["name"]) for one in document["skipped"]]


def calibration_answer(release: dict[str, Any], exposed_limit: int | None = None) -> Answer:
    """What a calibration says: the least noise that is enough."""
    found = {**release, "low": release["interval"][0], "high": release["interval"][1]}
    people = _people_learnt(release.get("learnt"), exposed_limit)
    allowed = f"{_allowed(release['max_advantage'], release['real'])}{people}"
    if not release["scale"]:
        said = f"Without any noise {_attack(found, release)}, {allowed}."
        return Answer("pass", _NOTHING, said, release["name"])
    said = f"With it {_attack(found, release)}, {allowed}. {_sentence(_cost(found, release))}"
    return Answer("pass", f"{release['protection']} is enough", said, release["name"])


def area_calibration_answer(release: dict[str, Any], exposed_limit: int | None = None) -> Answer:
    """What a calibration of many areas says: one noise for all areas, and what attacks still gain."""
    whole, plain = release["together"], {**release, "real": False}
    answered = sum(area["answer"] is not None for area in release["areas"])
    serves = (
        "the area with an answer of its own"
        if answered == 1
        else f"all {answered:,} areas with an answer of their own: it is the largest that any of them needs"
    )
    everybody = f"among all {release['people']:,} people, including those in areas without an answer"
    learnt = release["learnt"]
    verb = "is" if learnt == 1 else "are"
    people = f"{count_of(learnt, 'person', 'people')} with a sensitive value {verb} proved alone or exposed"
    crowded = too_many_learnt(learnt, exposed_limit)
    if exposed_limit is not None:
        people += f", where the plan allows {exposed_limit:,}"
    if whole["low"] > release["max_advantage"]:
        kind, word = (
            "fail",
            f"{release['protection']} is not enough" if release["scale"] else "No noise was found",
        )
    elif crowded:
        kind, word = (
            "fail",
            f"{release['protection']} exposes too many" if release["scale"] else "Too many exposed",
        )
    elif release["scale"]:
        kind, word = "pass", f"{release['protection']} is enough"
    else:
        kind, word = "pass", _NOTHING
    noise = f"This one noise serves {serves}. With it" if release["scale"] else "Without any noise"
    cost = f" {_sentence(_cost(whole, release))}" if release["scale"] else ""
    said = f"{noise} {_attack(whole, plain)} {everybody}; {people}.{cost}"
    return Answer(kind, word, said, release["name"])


def strongest_rows(rows: Iterable[Row]) -> list[Row]:
    """The strongest decoder's row for each protection, with the largest counts of people of any decoder."""
    by_name: dict[str, list[Row]] = {}
    for row in rows:
        by_name.setdefault(row["protection"], []).append(row)
    most = {
        name: {
            count: max((row[count] for row in several if row.get(count) is not None), default=None)
            for count in ("exposed", "learnt")
        }
        for name, several in by_name.items()
    }
    return [
        {**max(several, key=lambda row: float(row["advantage"])), **most[name]}
        for name, several in by_name.items()
    ]


def _people_learnt(learnt: float | None, limit: int | None) -> str:
    """What to add about people given away, if the plan limits their number."""
    if learnt is None or limit is None:
        return ""
    are = "person with a sensitive value is" if learnt == 1 else "people with a sensitive value are"
    but = "but" if learnt > limit else "and"
    return f", {but} {counted(learnt)} {are} proved alone or exposed, where the plan allows {limit:,}"


def _attack(row: Row, release: dict[str, Any]) -> str:
    real = bool(release["real"])
    point, low, high = (gain(row[name], real, "") for name in ("advantage", "low", "high"))
    if real:
        interval = f"95 % interval {low} to {high}, in the unit of {release['secret']}"
        if row["advantage"] <= 0:
            return f"the attack comes no nearer than the strongest baseline ({point}; {interval})"
        return f"the attack comes nearer than the strongest baseline by {point} ({interval})"
    interval = f"95 % interval {low} to {high}"
    if row["advantage"] <= 0:
        return f"the attack gains nothing over the strongest baseline ({point} people in 100, {interval})"
    return f"the attack gains {point} people in 100 over the strongest baseline ({interval})"


def _allowed(limit: float, real: bool) -> str:
    return f"where {gain(limit, real, '')} {'is' if real else 'are'} allowed"


def _cost(row: Row, release: dict[str, Any]) -> str:
    if row["loss"] is None:
        return "what it costs the reader is not known"
    return f"a published value is off by {digits(row['loss'])} {release['units']} on average"


def _sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}."


def _not_enough_alone(release: dict[str, Any], protection: str) -> str:
    """In how many areas of a sweep this protection is not surely enough for the area alone."""
    measured = [area["rows"] for area in release.get("areas") or () if area["rows"]]
    tried = [[row for row in rows if row["protection"] == protection] for rows in measured]
    lacking = sum(least_enough(rows) is None for rows in tried)
    if not lacking:
        return ""
    return f" In {lacking:,} of {count_of(len(tried), 'area')} it is not surely enough for the area alone."
