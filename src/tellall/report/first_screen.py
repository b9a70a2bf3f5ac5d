"""The first screen of an audit's page: may this be published, what to change, who would be hurt."""

from __future__ import annotations

from typing import Any

from tellall.core.amounts import count_of, counted
from tellall.experiment.changes import price
from tellall.experiment.measures.counts import add_counts
from tellall.experiment.verdict import Answer
from tellall.report.blocks import Badge, Block, Box, Line, Listing, Tile, Tiles
from tellall.report.releases import advantage_words, counted_heads, is_real, release_rows

__all__ = ["answer_blocks", "change_tile", "hurt_tile", "release_blocks", "verdict_answer"]

Plain = dict[str, Any]
_MAY = {
    "pass": "Pass: within the limits",
    "review": "Review: a person decides",
    "fail": "Fail: not as planned",
}


def answer_blocks(document: Plain) -> list[Block]:
    """The verdict, what to change, who would be hurt."""
    return [Box(verdict_answer(document), large=True), Tiles((change_tile(document), hurt_tile(document)))]


def verdict_answer(document: Plain) -> Answer:
    """The verdict on everything together."""
    verdict = document["verdict"]
    return Answer(verdict["word"], _MAY[verdict["word"]], verdict["sentence"], "May this be published?")


def change_tile(document: Plain) -> Tile:
    """What to change in a few words."""
    known, question = document["remedy"], "What do I change?"
    if known is None:
        if document["verdict"]["word"] == "pass":
            return Tile(question, "Nothing.", ("It passes as it is planned.",))
        if document["overall"] is None:
            return Tile(question, "Nobody knows.", ("Nothing could be attacked.",))
        return Tile(question, "Nobody looked for a change.", ("tellall audit does, unless --no-remedy.",))
    if not known["found"]:
        tried = count_of(len(known["tried"]), "change was", "changes were")
        return Tile(question, "No change was found that passes.", (f"{tried} tried.",), "remedy")
    change = known["change"]
    words = f"{change['words'][0].upper()}{change['words'][1:]}."
    lost = price(change["withheld"], change["instead"], change["error"])
    draws = change["draws"]
    passed = (
        "The changed plan passes when audited again."
        if draws == 1
        else f"It passed in {change['passed']:,} of {draws:,} fresh draws."
    )
    lines = [f"The price: {lost}.", passed]
    if len(document["attackers"]) > 1:
        lines.append(f"Checked only against “{document['attackers'][0]['name']}”.")
    return Tile(question, words, tuple(lines), "remedy")


def hurt_tile(document: Plain) -> Tile:
    """How many people would be given away, in a few words."""
    question, known = "Who would be hurt?", document["overall"]
    if known is None:
        return Tile(question, "Nobody knows.", ("Nothing could be attacked.",))
    data, people, sensitive = document["data"], document["data"]["people"], known["sensitive"]
    learnt, others = sensitive["learnt"], _others(document)
    whose = _sensitive_value(document)
    answer = (
        f"{counted(learnt)} of {people:,} people: an outsider learns {whose}."
        if learnt
        else "Nobody was found."
    )
    lines = [f"{counted(others)} more are found to have another value."] if others else []
    if group := add_counts(known["proved_group"].values()):
        people_in = count_of(group, "person is", "people are")
        lines.append(f"{people_in} in a published cell whose people all have the same {data['secret']}.")
    if most := _most_hurt(document):
        lines.append(most)
    return Tile(question, answer, lines, "who")


def _others(document: Plain) -> float:
    """People proved alone or exposed who have no sensitive value: the larger of the two counts."""
    known, codes = document["overall"], document["sensitive"]
    if codes is None:
        return 0
    return max(
        add_counts(count for code, count in known[name].items() if code not in codes)
        for name in ("proved_alone", "exposed")
    )


def _sensitive_value(document: Plain) -> str:
    codes, data = document["sensitive"], document["data"]
    if codes is None or not data["meaning"]:
        return f"their {data['secret']}"
    values = " or ".join(data["meaning"][int(code)] for code in codes)
    return f"{data['secret']} = {values}"


def _most_hurt(document: Plain) -> str:
    """The group with the largest share of people given away, as far as that may be shown."""
    tables = (document["culprits"] or {"who": ()})["who"]
    rows = [(table["by"], row) for table in tables for row in table["rows"] if row["learnt"]]
    if not rows:
        return ""
    by, row = max(rows, key=lambda one: one[1]["learnt"] / one[1]["people"])
    return f"Most often by {by} = {', '.join(row['values'])}: {row['learnt']:,} of {row['people']:,}."


def release_blocks(document: Plain) -> list[Block]:
    """The verdict on each release and on all of them, with the numbers that decide it."""
    real = is_real(document)
    head = ["release", "verdict", "off by" if real else "right", "baseline", "advantage [95 %]"]
    lines = [
        Line(
            row.name,
            (
                Badge(row.word),
                row.right,
                row.baseline,
                row.advantage,
                *row.counted(real),
                row.decided,
            ),
            whole=row.whole,
        )
        for row in release_rows(document)
    ]
    caption = f"Of {document['data']['people']:,} people. {advantage_words(document)}"
    left = ("verdict", "what decided")
    return [Listing("Releases", (*head, *counted_heads(real), "what decided"), lines, caption, left)]
