"""Answers of sweeps and calibrations: which noise is enough, in a word and a sentence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from tellall.audits.calibrate import Calibration
from tellall.audits.study_areas import AreaCalibration, AreaRow, AreaSweep, SweptArea
from tellall.audits.sweep import Sweep, SweepRow
from tellall.audits.verdict import Answer
from tellall.core.amounts import count_of, counted, digits, gain

__all__ = [
    "area_calibration_answer",
    "calibration_answer",
    "least_enough",
    "strongest_rows",
    "sweep_answer",
    "too_many_learnt",
    "worst_row",
]

_Row = TypeVar("_Row", SweepRow, AreaRow)
_NOTHING = "Nothing needs to be done"


def least_enough(rows: Iterable[_Row]) -> _Row | None:
    """The protection with the least error among those that pass; None if none passes.

    The row is the strongest decoder's.
    """
    return min((row for row in _strongest(rows) if row.verdict == "pass"), key=_cheapest, default=None)


def worst_row(area: SweptArea) -> AreaRow:
    """The area's row with the largest advantage."""
    return max(area.rows, key=lambda row: (row.advantage, row.low))


def _cheapest(row: SweepRow | AreaRow) -> tuple[float, str]:
    return float("inf") if row.loss is None else row.loss, row.protection


def too_many_learnt(learnt: float | None, limit: int | None) -> bool:
    """Whether more people with a sensitive value are given away, on average, than a plan allows."""
    return learnt is not None and limit is not None and learnt > limit


def sweep_answer(release: Sweep, limit: float, exposed_limit: int | None = None) -> Answer:
    """What a sweep says: the protection that is enough and costs least, or that none is.

    A limit is a share of people; for a real secret the sweep shows the range and leaves the choice.
    """
    worst = strongest_rows(release.rows)
    real = release.real
    name = release.name or ""
    bare = next((row for row in worst if row.loss == 0), None)
    before = f" Unprotected, {_attack(bare, real, release.secret)}." if bare else ""
    safest = min(worst, key=lambda row: row.high)
    if real:
        return Answer(
            "review",
            f"{safest.protection} gives away least",
            f"With it {_attack(safest, real, release.secret)}, and {_cost(safest.loss, release)}.{before} A "
            "person has to say how much is too much, because the limit of a plan is a share of people.",
            name,
        )
    allowed = _allowed(limit, real)
    enough = least_enough(worst)
    if enough is None:
        safest = min(worst, key=lambda row: (row.high > limit, row.learnt, row.high))
        people = _people_learnt(safest.learnt, exposed_limit)
        said = (
            f"The nearest is {safest.protection}: {_attack(safest, real)}, {allowed}{people}. What "
            f"decides there: {safest.decided}."
        )
        return Answer("fail", "None of these is enough", said + before, name)
    alone = _not_enough_alone(release, enough.protection)
    where = " over all people" if alone else ""
    if enough.loss == 0:
        people = _people_learnt(enough.learnt, exposed_limit)
        said = f"Unprotected, {_attack(enough, real)}, {allowed}{people}."
        return Answer("review" if alone else "pass", f"{_NOTHING}{where}", said + alone, name)
    also = "" if exposed_limit is None else f" and gives away no more than {exposed_limit:,} people"
    said = (
        f"It is the cheapest protection that keeps every decoder tried under {gain(limit, real, '')} people "
        f"in 100 with 95 % confidence{also}: {_attack(enough, real)}, and {_cost(enough.loss, release)}."
        f"{before}{alone}"
    )
    kind = "review" if alone else "pass"
    return Answer(kind, f"{enough.protection} is enough{where}", said, name)


def calibration_answer(release: Calibration, exposed_limit: int | None = None) -> Answer:
    """What a calibration says: the least noise that is enough."""
    people, name = _people_learnt(release.learnt, exposed_limit), release.name or ""
    allowed = f"{_allowed(release.max_advantage, release.real)}{people}"
    attack = _attack(release, release.real, release.secret)
    if not release.scale:
        return Answer("pass", _NOTHING, f"Without any noise {attack}, {allowed}.", name)
    said = f"With it {attack}, {allowed}. {_sentence(_cost(release.loss, release))}"
    return Answer("pass", f"{release.done} is enough", said, name)


def area_calibration_answer(release: AreaCalibration, exposed_limit: int | None = None) -> Answer:
    """What a calibration of many areas says: one noise for all areas, and what attacks still gain."""
    whole = release.together
    answered = release.answered
    learnt = release.learnt
    serves = (
        "the area with an answer of its own"
        if answered == 1
        else f"all {answered:,} areas with an answer of their own: it is the largest that any of them needs"
    )
    everybody = f"among all {release.people:,} people, including those in areas without an answer"
    verb = "is" if learnt == 1 else "are"
    people = f"{count_of(learnt, 'person', 'people')} with a sensitive value {verb} proved alone or exposed"
    if exposed_limit is not None:
        people += f", where the plan allows {exposed_limit:,}"
    kind, word = _enough_for_all(release, exposed_limit)
    noise = f"This one noise serves {serves}. With it" if release.scale else "Without any noise"
    cost = f" {_sentence(_cost(whole.loss, release))}" if release.scale else ""
    said = f"{noise} {_attack(whole, False)} {everybody}; {people}.{cost}"
    return Answer(kind, word, said, release.name or "")


def _enough_for_all(release: AreaCalibration, exposed_limit: int | None) -> tuple[str, str]:
    """The kind of the answer, and the answer in a few words."""
    done = release.protection
    if release.together.low > release.max_advantage:
        return "fail", f"{done} is not enough" if release.scale else "No noise was found"
    if too_many_learnt(release.learnt, exposed_limit):
        return "fail", f"{done} exposes too many" if release.scale else "Too many exposed"
    return "pass", f"{done} is enough" if release.scale else _NOTHING


def _strongest(rows: Iterable[_Row]) -> list[_Row]:
    """The strongest decoder's row for each protection; of two as strong, the one that may gain more."""
    worst: dict[str, _Row] = {}
    for row in rows:
        known = worst.get(row.protection)
        if known is None or (row.advantage, row.high) > (known.advantage, known.high):
            worst[row.protection] = row
    return list(worst.values())


def strongest_rows(rows: Iterable[SweepRow]) -> list[SweepRow]:
    """The strongest decoder's row for each protection, with the largest counts of people of any decoder."""
    several = list(rows)
    return [_with_most_people(row, several) for row in _strongest(several)]


def _with_most_people(row: SweepRow, rows: Sequence[SweepRow]) -> SweepRow:
    same = [one for one in rows if one.protection == row.protection]
    return replace(row, exposed=max(one.exposed for one in same), learnt=max(one.learnt for one in same))


def _people_learnt(learnt: float, limit: int | None) -> str:
    """What to add about people given away, if the plan limits their number."""
    if limit is None:
        return ""
    are = "person with a sensitive value is" if learnt == 1 else "people with a sensitive value are"
    but = "but" if learnt > limit else "and"
    return f", {but} {counted(learnt)} {are} proved alone or exposed, where the plan allows {limit:,}"


def _attack(row: SweepRow | AreaRow | Calibration, real: bool, secret: str = "") -> str:
    point, low, high = (gain(each, real, "") for each in (row.advantage, row.low, row.high))
    if real:
        interval = f"95 % interval {low} to {high}, in the unit of {secret}"
        if row.advantage <= 0:
            return f"the attack comes no nearer than the strongest baseline ({point}; {interval})"
        return f"the attack comes nearer than the strongest baseline by {point} ({interval})"
    interval = f"95 % interval {low} to {high}"
    if row.advantage <= 0:
        return f"the attack gains nothing over the strongest baseline ({point} people in 100, {interval})"
    return f"the attack gains {point} people in 100 over the strongest baseline ({interval})"


def _allowed(limit: float, real: bool) -> str:
    return f"where {gain(limit, real, '')} {'is' if real else 'are'} allowed"


def _cost(loss: float | None, release: Sweep | Calibration | AreaCalibration) -> str:
    if loss is None:
        return "what it costs the reader is not known"
    return f"a published value is off by {digits(loss)} {release.units} on average"


def _sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}."


def _not_enough_alone(release: Sweep, protection: str) -> str:
    """In how many areas of a sweep this protection is not surely enough for the area alone."""
    if not isinstance(release, AreaSweep):
        return ""
    measured = [area.rows for area in release.areas if area.rows]
    tried = [[row for row in rows if row.protection == protection] for rows in measured]
    lacking = sum(least_enough(rows) is None for rows in tried)
    if not lacking:
        return ""
    return f" In {lacking:,} of {count_of(len(tried), 'area')} it is not surely enough for the area alone."
