"""The verdicts of studies: which noise is enough, in a word and a sentence, from their plain data."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tellall.core.amounts import gain
from tellall.experiment.verdict import Answer
from tellall.people.areas import count_areas

__all__ = [
    "block_calibration_answer",
    "calibration_answer",
    "exposed_lines",
    "least_enough",
    "no_answers",
    "sweep_answer",
    "too_many_exposed",
]

Row = dict[str, Any]
_NOTHING = "Nothing needs to be done"
_SEE_SWEEP = (
    "The least noise is sought for the advantage alone; a sweep tells which protections keep to both limits."
)


def least_enough(rows: Iterable[Row], limit: float, exposed_limit: int | None = None) -> Row | None:
    """The protection with the least error that keeps every decoder under the limit, None where there is none.

    Its row is that of the decoder whose interval ends highest, with the most people that any exposes.
    """
    enough = [
        row
        for row in _worst_decoders(rows)
        if row["high"] <= limit and not too_many_exposed(row.get("exposed"), exposed_limit)
    ]
    return min(enough, key=lambda row: (row["loss"], row["protection"]), default=None)


def too_many_exposed(exposed: float | None, limit: int | None) -> bool:
    """Whether more people are exposed, on average over draws, than a plan allows, where it says."""
    return exposed is not None and limit is not None and exposed > limit


def exposed_lines(release: dict[str, Any], exposed_limit: int | None) -> list[str]:
    """For a terminal: which protections of a sweep expose no more people than the plan allows."""
    if exposed_limit is None or release["real"]:
        return []
    worst = _worst_decoders(release["rows"])
    kept = [row["protection"] for row in worst if not too_many_exposed(row.get("exposed"), exposed_limit)]
    allowed = f"no more than {exposed_limit:,} people, which is what the plan allows"
    if not kept:
        return [f"Every protection here exposes more people than the {exposed_limit:,} that the plan allows."]
    return [f"{len(kept)} of {len(worst)} protections expose {allowed}: {'; '.join(kept)}."]


def sweep_answer(release: dict[str, Any], limit: float, exposed_limit: int | None = None) -> Answer:
    """What a sweep says: the protection that is enough and costs least, or that none is.

    A limit is a share of people: of a real secret the sweep tells the range, and leaves the choice.
    """
    worst, real, name = _worst_decoders(release["rows"]), bool(release["real"]), str(release["name"])
    bare = next((row for row in worst if row["loss"] == 0), None)
    before = f" With nothing done {_attack(bare, release)}." if bare else ""
    safest = min(worst, key=lambda row: row["high"])
    if real:
        return Answer(
            "review",
            f"{safest['protection']} gives away least",
            f"With it {_attack(safest, release)}, and {_cost(safest, release)}.{before} How much is too much "
            "is for a person to say: the limit of a plan is a share of people.",
            name,
        )
    allowed = _allowed(limit, real)
    enough = least_enough(release["rows"], limit, exposed_limit)
    if enough is None:
        safest = min(worst, key=lambda row: (row["high"] > limit, row.get("exposed") or 0.0, row["high"]))
        if exposed_limit is None or safest["high"] > limit:
            safest = min(worst, key=lambda row: row["high"])
        people = _people_exposed(safest.get("exposed"), exposed_limit)
        said = f"The nearest is {safest['protection']}: {_attack(safest, release)}, {allowed}{people}."
        return Answer("fail", "None of these is enough", said + before, name)
    alone = _not_enough_alone(release, enough["protection"], limit)
    where = " over all people" if alone else ""
    if enough["loss"] == 0:
        people = _people_exposed(enough.get("exposed"), exposed_limit)
        said = f"Without any protection {_attack(enough, release)}, {allowed}{people}."
        return Answer("review" if alone else "pass", f"{_NOTHING}{where}", said + alone, name)
    also = "" if exposed_limit is None else f" and expose no more than {exposed_limit:,} people"
    said = (
        f"Of the protections that keep every decoder tried under {gain(limit, real, '')} people in 100 with "
        f"95 % confidence{also} it costs least: {_attack(enough, release)}, and {_cost(enough, release)}."
        f"{before}{alone}"
    )
    return Answer("review", f"{enough['protection']} is enough{where}", said, name)


def no_answers(document: dict[str, Any]) -> list[Answer]:
    """The releases that a calibration has no answer for, and why."""
    return [Answer("fail", "No answer", one["reason"], one["name"]) for one in document["skipped"]]


def calibration_answer(release: dict[str, Any], exposed_limit: int | None = None) -> Answer:
    """What a calibration says: the least noise that is enough, and whether it also exposes few enough."""
    found = {**release, "low": release["interval"][0], "high": release["interval"][1]}
    exposed = release.get("exposed")
    people = _people_exposed(exposed, exposed_limit)
    allowed = f"{_allowed(release['max_advantage'], release['real'])}{people}"
    if too_many_exposed(exposed, exposed_limit):
        done, word = _exposing(release)
        return Answer(
            "fail", word, f"{done} {_attack(found, release)}, {allowed}. {_SEE_SWEEP}", release["name"]
        )
    if not release["scale"]:
        said = f"Without any noise {_attack(found, release)}, {allowed}."
        return Answer("pass", _NOTHING, said, release["name"])
    said = f"With it {_attack(found, release)}, {allowed}. {_sentence(_cost(found, release))}"
    return Answer("review", str(release["protection"]), said, release["name"])


def block_calibration_answer(release: dict[str, Any], exposed_limit: int | None = None) -> Answer:
    """What a calibration of many blocks says: one noise for all, and what it leaves over all people."""
    whole, plain = release["together"], {**release, "real": False}
    answered = sum(block["answer"] is not None for block in release["blocks"])
    serves = (
        "the block with an answer of its own"
        if answered == 1
        else f"all {answered:,} blocks with an answer of their own: the largest that any of them needs"
    )
    everybody = f"among all {release['people']:,} people, those in blocks without an answer included"
    exposed = release.get("exposed", whole["exposed"])
    people = f"{exposed:.1f} people are exposed"
    crowded = too_many_exposed(exposed, exposed_limit)
    if exposed_limit is not None:
        people += f", where the plan allows {exposed_limit:,}"
    if whole["low"] > release["max_advantage"]:
        kind, word = (
            "fail",
            f"{release['protection']} is not enough" if release["scale"] else "No noise was found",
        )
    elif crowded:
        kind, word = "fail", _exposing(release)[1]
    elif release["scale"]:
        kind, word = "review", str(release["protection"])
    else:
        kind, word = "pass", _NOTHING
    noise = f"One noise that serves {serves}. With it" if release["scale"] else "Without any noise"
    cost = f" {_sentence(_cost(whole, release))}" if release["scale"] else ""
    said = (
        f"{noise} {_attack(whole, plain)} {everybody}; {people}.{cost}{f' {_SEE_SWEEP}' if crowded else ''}"
    )
    return Answer(kind, word, said, release["name"])


def _worst_decoders(rows: Iterable[Row]) -> list[Row]:
    """For each protection the row of the decoder whose interval ends highest, with the most any exposes."""
    highest: dict[str, Row] = {}
    exposed: dict[str, float] = {}
    for row in rows:
        name = row["protection"]
        if row["high"] > highest.setdefault(name, row)["high"]:
            highest[name] = row
        if row.get("exposed") is not None:
            exposed[name] = max(exposed.get(name, 0.0), row["exposed"])
    return [{**row, "exposed": exposed.get(name)} for name, row in highest.items()]


def _people_exposed(exposed: float | None, limit: int | None) -> str:
    """What to add on people exposed where the plan limits them."""
    if exposed is None or limit is None:
        return ""
    are = "person is" if exposed == 1 else "people are"
    but = "but" if exposed > limit else "and"
    return f", {but} {exposed:.4g} {are} exposed, where the plan allows {limit:,}"


def _exposing(release: dict[str, Any]) -> tuple[str, str]:
    """How the sentence on an answer begins that exposes too many people, and the word for it."""
    if release["scale"]:
        return "With it", f"{release['protection']} exposes too many"
    return "Without any noise", "Too many people are exposed"


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
    return f"a published value is off by {row['loss']:.3g} {release['units']} on average"


def _sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}."


def _not_enough_alone(release: dict[str, Any], protection: str, limit: float) -> str:
    """Of a sweep of blocks, in how many this protection is not surely enough for the block alone."""
    measured = [block["rows"] for block in release.get("blocks") or () if block["rows"]]
    tried = [[row for row in rows if row["protection"] == protection] for rows in measured]
    lacking = sum(least_enough(rows, limit) is None for rows in tried)
    if not lacking:
        return ""
    return f" In {lacking:,} of {count_areas(len(tried))} that is not surely enough for the block alone."
