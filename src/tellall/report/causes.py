"""From verdict to remedy: what to change, what each part adds, who is given away; from the document alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tellall.core.amounts import count_of, percent, points
from tellall.report.bars import Bar
from tellall.report.html import bar_figure

__all__ = [
    "culprits_view",
    "remedy_view",
]

Plain = dict[str, Any]
_WITHHELD = "withheld"
_SHOWN = 12


def remedy_view(document: Plain) -> Plain | None:
    """The remedy as a page shows it; None where nobody looked for one."""
    known = document["remedy"]
    if known is None:
        return None
    return {
        "kind": "pass" if known["found"] else "review",
        "word": "A change that passes" if known["found"] else "No change found that passes",
        "sentence": known["sentence"],
        "toml": known["toml"],
        "cost": _cost(known["change"]) if known["found"] else [],
        "tried": [_change(one) for one in known["tried"]],
        "not_tried": [one["words"] for one in known["not_tried"]],
    }


def _cost(change: Plain) -> list[tuple[str, str]]:
    """What the change costs the reader, and how surely it passes."""
    shown = "nothing is shown" if change["error"] is None else f"{change['error']:.3g} on average"
    return [
        ("error of a published value, withheld ones counted", f"{change['loss']:.3g} on average"),
        ("values withheld or dropped", percent(change["withheld"])),
        ("error of what is shown", shown),
        ("verified on fresh draws", f"passed in {change['passed']:,} of {count_of(change['draws'], 'draw')}"),
    ]


def _change(change: Plain) -> Plain:
    return {
        "words": change["words"],
        "verdict": change["verdict"],
        "cells": [
            f"{change['loss']:.3g}",
            percent(change["withheld"]),
            f"{change['passed']:,} of {change['draws']:,}",
        ],
        "sentence": change["sentence"],
    }


def culprits_view(document: Plain) -> Plain | None:
    """What each part of the releases adds, and who is given away; None where nobody looked."""
    known = document["culprits"]
    if known is None:
        return None
    counted = "learnt" if known["learnt"] else "exposed" if known["exposed"] else "proved"
    people = (
        "people with a sensitive value, proved alone or exposed"
        if counted == "learnt"
        else f"people {counted}"
    )
    parts = sorted(known["parts"], key=lambda part: -part["adds"][counted])
    return {
        "of": known["of"],
        "decoder": known["decoder"],
        "chart": bar_figure(
            "What each part adds",
            f"How many fewer there are without this part: {people}. Beside it: with it → without it. "
            "The table has the same numbers.",
            [_part_bar(part, known[counted], counted) for part in parts[:_SHOWN]],
            None,
            f"added by this part: {people}",
        ),
        "rows": [_part(part) for part in parts],
        "now": _now(known),
        "not_tried": known["not_tried"],
        "who": [_who(table) for table in known["who"]],
    }


def _part_bar(part: Plain, now: int, counted: str) -> Bar:
    return Bar(_part_name(part), float(part["adds"][counted]), f"{now:,} → {part[counted]:,}")


def _part_name(part: Plain) -> str:
    return f"release “{part['name']}”" if part["kind"] == "release" else f"{part['kind']} {part['name']}"


def _part(part: Plain) -> Plain:
    return {"name": f"without {_part_name(part)}", "cells": _counts(part)}


def _now(known: Plain) -> Plain:
    return {"name": "with everything", "cells": _counts(known)}


def _counts(counts: Plain) -> list[str]:
    numbers = [f"{counts[name]:,}" for name in ("proved", "exposed", "learnt")]
    return [*numbers, points(counts["advantage"])]


def _who(table: Plain) -> Plain:
    """Who is given away by one column; what is withheld is said to be."""
    return {"by": table["by"], "rows": [_who_row(row) for row in table["rows"]]}


def _who_row(row: Plain) -> tuple[str, str, str, str]:
    known: int | None = row["learnt"]
    learnt = _WITHHELD if known is None else f"{known:,}"
    share = "–" if known is None else percent(known / row["people"])
    return _values(row["values"]), f"{row['people']:,}", learnt, share


def _values(values: Sequence[str]) -> str:
    return ", ".join(values)
