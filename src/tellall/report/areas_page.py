"""Many areas on pages and terminals: the worst of them, all people together, and those not attacked."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from statistics import median
from typing import Any

from tellall.audits.document import AuditDocument
from tellall.audits.findings import AreaDocument, AreaFinding, AreasDocument
from tellall.audits.verdict import Limits, Word, area_name
from tellall.core.amounts import count_of, counted, percent, points, with_interval
from tellall.core.not_done import NotDone
from tellall.report.kit.bars import LimitLine
from tellall.report.kit.html import bar_figure, laid_out
from tellall.report.kit.plot import Axis, Figure, Rule, Series
from tellall.report.release_rows import Unit, gain_bar
from tellall.report.terminal import aligned

__all__ = [
    "SHOWN",
    "area_cell",
    "area_funnel",
    "audit_lines",
    "audited_areas",
    "worst_in_area",
]

SHOWN = 100  # areas in the table of a page; the document has all
_DRAWN = 12
_FUNNEL = 3  # areas from which there is one
_LINES = 10
_NAME = 14  # letters of an area on a terminal: with them the widest row fits 80 columns


@dataclass(frozen=True)
class AreaLine:
    """An area with its finding of the largest advantage, or a release over all areas: what tables show."""

    name: str
    people: int
    verdict: Word
    found: AreaFinding
    note: str = ""


@dataclass(frozen=True)
class AreaView:
    """The areas of an audit as its page shows them."""

    known: AreasDocument
    shown: tuple[AreaLine, ...]
    more: int
    left_out: tuple[tuple[str, str], ...]
    left_out_more: int
    totals: tuple[AreaLine, ...]
    chart: dict[str, Any] | None


def audited_areas(document: AuditDocument) -> AreaView | None:
    """The areas of an audit as its page shows them; None if it has none."""
    known = document.areas
    if known is None:
        return None
    attacked = [row for row in map(worst_in_area, known.rows) if row is not None]
    worst = [
        gain_bar(row.name, row.found.advantage, row.found.interval, row.verdict) for row in attacked[:_DRAWN]
    ]
    chart = bar_figure(
        "Advantage in the worst areas",
        f"The {len(worst)} areas that surely give away most, ordered by the lower end of the interval. "
        "By the advantage itself the smallest areas come first, because luck is largest there. "
        "The table has the same numbers.",
        worst,
        LimitLine(100 * document.limit, f"limit {points(document.limit, '')}"),
        f"advantage, {Unit.of(real=False).words}",
    )
    without = [(area_name(row.name), why) for row in known.rows if (why := _why_not(row)) is not None]
    sensitive = Limits(document.limit, sensitive=document.sensitive).count
    totals = [
        AreaLine(
            row.name,
            row.summary.people,
            row.verdict.word,
            AreaFinding.of(row.name, row.summary, sensitive),
        )
        for row in document.judged
        if row.summary is not None
    ]
    return AreaView(
        known,
        tuple(attacked[:SHOWN]),
        max(0, len(attacked) - SHOWN),
        tuple(without[:SHOWN]),
        max(0, len(without) - SHOWN),
        tuple(totals),
        chart,
    )


def area_funnel(document: AuditDocument) -> dict[str, Any] | None:
    """Every area by its people and its advantage, in the funnel of luck; None if there are no areas.

    Notes
    -----
    The funnel is the advantage over all people ± c/√people. The number c is the median over areas of half
    their interval times √people. An area outside it differs from the others by more than luck.
    """
    known = document.areas
    rows = [] if known is None else [row for row in map(worst_in_area, known.rows) if row is not None]
    totals = [row.summary.advantage for row in document.judged if row.summary is not None]
    if len(rows) < _FUNNEL or not totals:
        return None
    middle = 100 * max(totals)
    width = median(50 * (row.found.interval[1] - row.found.interval[0]) * sqrt(row.people) for row in rows)
    sizes = sorted({row.people for row in rows})
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
                [row.people for row in rows],
                [100 * row.found.advantage for row in rows],
                kind="points",
                verdicts=[row.verdict for row in rows],
            ),
            Series("upper end of the funnel", ends, [middle + width / sqrt(size) for size in ends]),
            Series("lower end of the funnel", ends, [middle - width / sqrt(size) for size in ends]),
        ),
        (Rule(100 * document.limit, f"limit {points(document.limit, '')}"),),
    )
    return laid_out(chart)


def audit_lines(document: AuditDocument) -> list[str]:
    """The worst areas of an audit in lines for a terminal, all people last; narrow enough for 80 columns."""
    view = audited_areas(document)
    if view is None:
        return []
    head = ["area", "verdict", "n", "right", "guess", "advantage [95 %]", "exposed"]
    worst = [_line(row.name, row) for row in view.shown[:_LINES]]
    several = len(view.totals) > 1
    whole = [_line(f"all: {row.name}" if several else "all", row) for row in view.totals]
    lines = aligned(head, [*worst, *whole])
    more, missing = view.known.attacked - len(worst), view.known.areas - view.known.attacked
    listed = [f"... and {count_of(more, 'more area')}, in audit.json"] if more > 0 else []
    left_out = view.known.people_not_attacked
    gone = (
        [f"not attacked: {count_of(missing, 'area')} with {count_of(left_out, 'person', 'people')}"]
        if left_out
        else []
    )
    return [*lines[: 1 + len(worst)], *listed, *lines[1 + len(worst) :], *gone]


def worst_in_area(row: AreaDocument) -> AreaLine | None:
    """An area with its finding of the largest advantage; None if nothing was found in it."""
    found = [one for one in row.findings if isinstance(one, AreaFinding)]
    if not found:
        return None
    worst = max(found, key=lambda one: (one.advantage, one.interval[0]))
    return AreaLine(area_name(row.name), row.people, row.verdict, worst, row.note or "")


def _why_not(row: AreaDocument) -> str | None:
    """Why an area, or something in it, was not attacked; None where all was."""
    if row.reason is not None:
        return row.reason
    return "; ".join(f"{one.name}: {one.reason}" for one in row.findings if isinstance(one, NotDone)) or None


def _line(name: str, row: AreaLine) -> list[str]:
    return [
        area_cell(name),
        row.verdict,
        f"{row.people:,}",
        percent(row.found.accuracy),
        percent(row.found.baseline_accuracy),
        with_interval(row.found.advantage, row.found.interval),
        counted(row.found.exposed),
    ]


def area_cell(name: str) -> str:
    return name if len(name) <= _NAME else f"{name[: _NAME - 1]}…"
