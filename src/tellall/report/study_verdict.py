"""The verdicts of studies: which noise is enough, in a word and a sentence, from their plain data."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tellall.data.blocks import count_blocks
from tellall.report.amounts import gain
from tellall.report.verdict import Answer

__all__ = ["block_calibration_answer", "calibration_answer", "least_enough", "no_answers", "sweep_answer"]

Row = dict[str, Any]
_NOTHING = "Nothing needs to be done"


def least_enough(rows: Iterable[Row], limit: float) -> Row | None:
    """The protection with the least error that keeps every decoder under the limit, None where there is none.

    Its row is that of the decoder whose interval ends highest.
    """
    enough = [row for row in _worst_decoders(rows) if row["high"] <= limit]
    return min(enough, key=lambda row: (row["loss"], row["protection"]), default=None)


def sweep_answer(release: dict[str, Any], limit: float) -> Answer:
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
    enough = least_enough(release["rows"], limit)
    if enough is None:
        said = f"The nearest is {safest['protection']}: {_attack(safest, release)}, {allowed}."
        return Answer("fail", "None of these is enough", said + before, name)
    alone = _not_enough_alone(release, enough["protection"], limit)
    where = " over all people" if alone else ""
    if enough["loss"] == 0:
        said = f"Without any protection {_attack(enough, release)}, {allowed}."
        return Answer("review" if alone else "pass", f"{_NOTHING}{where}", said + alone, name)
    said = (
        f"Of the protections that keep every decoder tried under {gain(limit, real, '')} people in 100 with "
        f"95 % confidence it costs least: {_attack(enough, release)}, and {_cost(enough, release)}."
        f"{before}{alone}"
    )
    return Answer("review", f"{enough['protection']} is enough{where}", said, name)


def no_answers(document: dict[str, Any]) -> list[Answer]:
    """The releases that a calibration has no answer for, and why."""
    return [Answer("fail", "No answer", one["reason"], one["name"]) for one in document["skipped"]]


def calibration_answer(release: dict[str, Any]) -> Answer:
    """What a calibration says: the least noise that is enough."""
    found = {**release, "low": release["interval"][0], "high": release["interval"][1]}
    allowed = _allowed(release["max_advantage"], release["real"])
    if not release["scale"]:
        said = f"Without any noise {_attack(found, release)}, {allowed}."
        return Answer("pass", _NOTHING, said, release["name"])
    said = f"With it {_attack(found, release)}, {allowed}. {_sentence(_cost(found, release))}"
    return Answer("review", str(release["protection"]), said, release["name"])


def block_calibration_answer(release: dict[str, Any]) -> Answer:
    """What a calibration of many blocks says: one noise for all, and what it leaves over all people."""
    whole, plain = release["together"], {**release, "real": False}
    answered = sum(block["answer"] is not None for block in release["blocks"])
    serves = (
        "the block with an answer of its own"
        if answered == 1
        else f"all {answered:,} blocks with an answer of their own: the largest that any of them needs"
    )
    everybody = f"among all {release['people']:,} people, those in blocks without an answer included"
    people = f"{whole['exposed']:.1f} people are exposed"
    if whole["low"] > release["max_advantage"]:
        kind, word = (
            "fail",
            f"{release['protection']} is not enough" if release["scale"] else "No noise was found",
        )
    elif release["scale"]:
        kind, word = "review", str(release["protection"])
    else:
        kind, word = "pass", _NOTHING
    noise = f"One noise that serves {serves}. With it" if release["scale"] else "Without any noise"
    cost = f" {_sentence(_cost(whole, release))}" if release["scale"] else ""
    said = f"{noise} {_attack(whole, plain)} {everybody}; {people}.{cost}"
    return Answer(kind, word, said, release["name"])


def _worst_decoders(rows: Iterable[Row]) -> list[Row]:
    """For each protection the row of the decoder whose interval ends highest."""
    highest: dict[str, Row] = {}
    for row in rows:
        known = highest.setdefault(row["protection"], row)
        if row["high"] > known["high"]:
            highest[row["protection"]] = row
    return list(highest.values())


def _attack(row: Row, release: dict[str, Any]) -> str:
    real = bool(release["real"])
    point, low, high = (gain(row[name], real, "") for name in ("advantage", "low", "high"))
    if real:
        unit = f"in the unit of {release['secret']}"
        return (
            f"the attack comes nearer than the strongest baseline by {point} (95 % interval {low} to {high}, "
            f"{unit})"
        )
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
    return f" In {lacking:,} of {count_blocks(len(tried))} that is not surely enough for the block alone."
