"""What pages and terminals show of many blocks: the worst of them, and what was not attacked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tellall.experiment.study_verdict import least_enough
from tellall.experiment.verdict import block_name
from tellall.people.areas import count_blocks, count_people
from tellall.report.figures import SLIM, bars

__all__ = [
    "audit_blocks",
    "audit_lines",
    "calibrated_blocks",
    "swept_blocks",
    "swept_lines",
]

SHOWN = 100  # blocks in the table of a page; the document has all
_DRAWN = 12
_LINES = 10


def audit_blocks(document: dict[str, Any]) -> dict[str, Any] | None:
    """The blocks of an audit's document as its page shows them; None where it has none."""
    blocks = document.get("blocks")
    if blocks is None:
        return None
    attacked = [row for row in map(_worst, blocks["rows"]) if row is not None]
    worst = [(row["name"], row["advantage"], tuple(row["interval"])) for row in attacked[:_DRAWN]]
    limit = document["limit"]
    totals = [row for row in document["findings"] if row["role"] != "step" and row["outcome"] == "found"]
    return {
        **{name: blocks[name] for name in blocks if name != "rows"},
        "several": len(totals) > 1,
        "shown": attacked[:SHOWN],
        "more": max(0, len(attacked) - SHOWN),
        "totals": totals,
        **_left_out(blocks["rows"]),
        "charts": (bars(worst, limit=limit), bars(worst, limit=limit, width=SLIM)) if worst else (),
        "drawn": len(worst),
    }


def swept_blocks(release: dict[str, Any], limit: float) -> dict[str, Any] | None:
    """The blocks of a sweep's document as its page shows them; None where it has none."""
    if release.get("by") is None:
        return None
    measured = [row for row in release["blocks"] if row["rows"]]
    return {
        "by": release["by"],
        "blocks": len(release["blocks"]),
        "measured": len(measured),
        "shown": [_swept(row, limit) for row in measured[:SHOWN]],
        "more": max(0, len(measured) - SHOWN),
        **_left_out(release["blocks"]),
    }


def calibrated_blocks(release: dict[str, Any]) -> dict[str, Any]:
    """The blocks of a calibration's document as its page shows them."""
    answered = [row for row in release["blocks"] if row["answer"] is not None]
    return {
        "shown": [
            {**row["answer"], "name": block_name(row["name"]), "people": row["people"]}
            for row in answered[:SHOWN]
        ],
        "more": max(0, len(answered) - SHOWN),
        **_left_out(release["blocks"]),
    }


def swept_lines(release: dict[str, Any], limit: float) -> list[str]:
    """The worst blocks of a sweep in lines for a terminal."""
    view = swept_blocks(release, limit)
    if view is None:
        return []
    head = [
        _cell(block_name(view["by"])),
        "people",
        "worst",
        "advantage [95 %]",
        "exposed",
        f"enough for {limit:.0%}",
    ]
    body = [
        [
            _cell(row["name"]),
            f"{row['people']:,}",
            f"{row['protection']}, {row['decoder']}",
            f"{100 * row['advantage']:+.1f} [{100 * row['low']:+.1f}, {100 * row['high']:+.1f}]",
            f"{row['exposed']:.1f}",
            row["enough"] or "none of these",
        ]
        for row in view["shown"][:_LINES]
    ]
    more = view["measured"] - len(body)
    return [*_aligned(head, body), *([f"... and {count_blocks(more, 'more')}"] if more > 0 else [])]


def _swept(block: dict[str, Any], limit: float) -> dict[str, Any]:
    """A block's row of the largest advantage, and the least error at which it stays under the limit."""
    worst = max(block["rows"], key=lambda row: (row["advantage"], row["low"]))
    enough = least_enough(block["rows"], limit)
    return {
        **worst,
        "name": block_name(block["name"]),
        "people": block["people"],
        "enough": None if enough is None else enough["protection"],
    }


def _left_out(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The blocks without an answer, as a page lists them."""
    left_out = [
        {"name": block_name(row["name"]), "people": row["people"], "reason": _reason(row)}
        for row in rows
        if _reason(row) is not None
    ]
    return {"left_out": left_out[:SHOWN], "left_out_more": max(0, len(left_out) - SHOWN)}


def audit_lines(document: dict[str, Any]) -> list[str]:
    """The worst blocks of an audit in lines for a terminal, all people last; narrow enough for 80 columns."""
    view = audit_blocks(document)
    if view is None:
        return []
    head = ["block", "people", "right", "guess", "advantage [95 %]", "exposed", "named right"]
    body = [_line(row["name"], row["people"], row) for row in view["shown"][:_LINES]]
    whole = [
        _line(
            f"all: {row['name']}" if view["several"] else "all",
            row["summary"]["people"],
            {
                **row["summary"],
                "baseline_accuracy": row["summary"]["baselines"][row["summary"]["baseline"]],
                "exposed": sum(row["summary"]["exposed"]["0.95"].values()),
            },
        )
        for row in view["totals"]
    ]
    lines = _aligned(head, [*body, *whole])
    more = view["attacked"] - len(body)
    listed = [f"... and {count_blocks(more, 'more')}, in audit.json"] if more > 0 else []
    left_out = view["people_not_attacked"]
    missing = count_blocks(view["blocks"] - view["attacked"])
    gone = [f"not attacked: {missing} with {count_people(left_out)}"]
    return [*lines[: 1 + len(body)], *listed, *lines[1 + len(body) :], *(gone if left_out else [])]


def _aligned(head: list[str], body: Sequence[list[str]]) -> list[str]:
    """Columns side by side, the first to the left."""
    widths = [max(map(len, column)) for column in zip(head, *body, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if place == 0 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in (head, *body)
    ]


def _cell(name: str) -> str:
    return name if len(name) <= 24 else f"{name[:23]}…"


def _line(name: str, people: int, row: dict[str, Any]) -> list[str]:
    low, high = (100 * end for end in row["interval"])
    return [
        _cell(name),
        f"{people:,}",
        f"{row['accuracy']:.1%}",
        f"{row['baseline_accuracy']:.1%}",
        f"{100 * row['advantage']:+.1f} [{low:+.1f}, {high:+.1f}]",
        f"{row['exposed']:,}",
        f"{row['named_right']:,} of {row['named']:,}",
    ]


def _worst(row: dict[str, Any]) -> dict[str, Any] | None:
    """A block with the finding of the largest advantage; None where nothing was found in it."""
    found = [one for one in row["findings"] if one["outcome"] == "found"]
    if not found:
        return None
    worst = max(found, key=lambda one: (one["advantage"], one["interval"][0]))
    return {
        **worst,
        "release": worst["name"],
        "name": block_name(row["name"]),
        "people": row["people"],
        "note": row["note"],
    }


def _reason(row: dict[str, Any]) -> str | None:
    if row["reason"] is not None:
        return str(row["reason"])
    skipped = [one for one in row.get("findings", ()) if one["outcome"] == "skipped"]
    return "; ".join(f"{one['name']}: {one['reason']}" for one in skipped) or None
