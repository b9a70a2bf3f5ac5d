"""Many areas on pages and terminals: the worst of them, all people together, and those not attacked."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from statistics import median
from typing import Any

from tellall.core.amounts import count_of, counted, percent, points, with_interval
from tellall.experiment.measures.counts import add_counts
from tellall.experiment.verdict import area_name
from tellall.report.bars import LimitLine
from tellall.report.html import bar_figure, laid_out
from tellall.report.plot import Axis, Figure, Rule, Series
from tellall.report.releases import Unit, gain_bar
from tellall.report.text import aligned

__all__ = [
    "SHOWN",
    "area_cell",
    "area_funnel",
    "audit_lines",
    "audited_areas",
    "worst_in_area",
]

Row = dict[str, Any]
SHOWN = 100  # areas in the table of a page; the document has all
_DRAWN = 12
_FUNNEL = 3  # areas from which there is one
_LINES = 10
_NAME = 14  # letters of an area on a terminal: with them the widest row fits 80 columns


def audited_areas(document: dict[str, Any]) -> dict[str, Any] | None:
    """The areas of an audit's document as its page shows them; None if it has none."""
    known = document.get("areas")
    if known is None:
        return None
    attacked = [row for row in map(worst_in_area, known["rows"]) if row is not None]
    worst = [
        gain_bar(row["name"], row["advantage"], row["interval"], row["verdict"]) for row in attacked[:_DRAWN]
    ]
    totals = [row for row in document["findings"] if row["role"] != "step" and row["outcome"] == "found"]
    chart = bar_figure(
        "Advantage in the worst areas",
        f"The {len(worst)} areas that surely give away most, ordered by the lower end of the interval. "
        "By the advantage itself the smallest areas come first, because luck is largest there. "
        "The table has the same numbers.",
        worst,
        LimitLine(100 * document["limit"], f"limit {points(document['limit'], '')}"),
        f"advantage, {Unit.of(real=False).words}",
    )
    return {
        **{name: known[name] for name in known if name != "rows"},
        **_tabled(attacked),
        **_left_out(known["rows"]),
        "several": len(totals) > 1,
        "totals": [_total(row) for row in totals],
        "chart": chart,
    }


def area_funnel(document: dict[str, Any]) -> dict[str, Any] | None:
    """Every area by its people and its advantage, in the funnel of luck; None if there are no areas.

    Notes
    -----
    The funnel is the advantage over all people ± c/√people. The number c is the median over areas of half
    their interval times √people. An area outside it differs from the others by more than luck.
    """
    known = document.get("areas")
    rows = [] if known is None else [row for row in map(worst_in_area, known["rows"]) if row is not None]
    totals = [row for row in document["findings"] if row["role"] != "step" and row["outcome"] == "found"]
    if len(rows) < _FUNNEL or not totals:
        return None
    middle = 100 * max(row["summary"]["advantage"] for row in totals)
    width = median(50 * (row["interval"][1] - row["interval"][0]) * sqrt(row["people"]) for row in rows)
    sizes = sorted({row["people"] for row in rows})
    ends = [sizes[0] * (sizes[-1] / sizes[0]) ** (step / 40) for step in range(41)]
    chart = Figure(
        "Advantage by size of the area",
        "Each point is an area. Most areas lie within the funnel if they differ by luck alone. The smaller "
        "an area, the wider the funnel.",
        Axis("people in the area", log=sizes[-1] > 20 * sizes[0]),
        Axis("advantage", Unit.of(real=False).words),
        (
            Series(
                "an area",
                [row["people"] for row in rows],
                [100 * row["advantage"] for row in rows],
                kind="points",
                verdicts=[row["verdict"] for row in rows],
            ),
            Series("upper end of the funnel", ends, [middle + width / sqrt(size) for size in ends]),
            Series("lower end of the funnel", ends, [middle - width / sqrt(size) for size in ends]),
        ),
        (Rule(100 * document["limit"], f"limit {points(document['limit'], '')}"),),
    )
    return laid_out(chart)


def audit_lines(document: dict[str, Any]) -> list[str]:
    """The worst areas of an audit in lines for a terminal, all people last; narrow enough for 80 columns."""
    view = audited_areas(document)
    if view is None:
        return []
    head = ["area", "verdict", "n", "right", "guess", "advantage [95 %]", "exposed"]
    worst = [_line(row["name"], row) for row in view["shown"][:_LINES]]
    whole = [_line(f"all: {row['name']}" if view["several"] else "all", row) for row in view["totals"]]
    lines = aligned(head, [*worst, *whole])
    more, missing = view["attacked"] - len(worst), view["areas"] - view["attacked"]
    listed = [f"... and {count_of(more, 'more area')}, in audit.json"] if more > 0 else []
    left_out = view["people_not_attacked"]
    gone = (
        [f"not attacked: {count_of(missing, 'area')} with {count_of(left_out, 'person', 'people')}"]
        if left_out
        else []
    )
    return [*lines[: 1 + len(worst)], *listed, *lines[1 + len(worst) :], *gone]


def worst_in_area(row: Row) -> Row | None:
    """An area with its finding of the largest advantage; None if nothing was found in it."""
    found = [one for one in row["findings"] if one["outcome"] == "found"]
    if not found:
        return None
    worst = max(found, key=lambda one: (one["advantage"], one["interval"][0]))
    kept = {
        "name": area_name(row["name"]),
        "people": row["people"],
        "note": row["note"],
        "verdict": row["verdict"],
    }
    return {**worst, "release": worst["name"], **kept}


def _total(row: Row) -> Row:
    """A release's numbers over all people, with the same names as those of an area."""
    found = row["summary"]
    return {
        **found,
        "name": row["name"],
        "verdict": row["verdict"]["word"],
        "baseline_accuracy": found["baselines"][found["baseline"]],
        "exposed": add_counts(found["exposed"]["0.95"].values()),
    }


def _tabled(rows: Sequence[Row]) -> dict[str, Any]:
    return {"shown": rows[:SHOWN], "more": max(0, len(rows) - SHOWN)}


def _left_out(rows: Sequence[Row]) -> dict[str, Any]:
    """The areas without an answer, as a page lists them."""
    reasons = [(row, _reason(row)) for row in rows]
    left_out = [{"name": area_name(row["name"]), "reason": why} for row, why in reasons if why is not None]
    return {"left_out": left_out[:SHOWN], "left_out_more": max(0, len(left_out) - SHOWN)}


def _reason(row: Row) -> str | None:
    if row["reason"] is not None:
        return str(row["reason"])
    skipped = [one for one in row.get("findings", ()) if one["outcome"] == "skipped"]
    return "; ".join(f"{one['name']}: {one['reason']}" for one in skipped) or None


def _line(name: str, row: Row) -> list[str]:
    return [
        area_cell(name),
        row["verdict"],
        f"{row['people']:,}",
        percent(row["accuracy"]),
        percent(row["baseline_accuracy"]),
        with_interval(row["advantage"], row["interval"]),
        counted(row["exposed"]),
    ]


def area_cell(name: str) -> str:
    return name if len(name) <= _NAME else f"{name[: _NAME - 1]}…"
