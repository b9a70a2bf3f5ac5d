"""The areas of an audit on its page: the worst of them in a listing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tellall.audits.document import AuditDocument
from tellall.audits.findings import AreasDocument
from tellall.audits.outcome import columns
from tellall.core.amounts import count_of, counted, percent, with_interval
from tellall.report.areas_page import AreaLine, audited_areas
from tellall.report.kit.blocks import Badge, Block, Bullets, Drawn, Headed, Line, Listing, Paragraph
from tellall.report.reliability_chart import unsettled

__all__ = ["audited_area_blocks"]


def audited_area_blocks(document: AuditDocument) -> Iterator[Block]:
    """The areas of an audit; nothing where everybody is one area."""
    view = audited_areas(document)
    if view is None:
        return
    by, several = view.known.by, len(view.totals) > 1
    yield Paragraph(_told(view.known))
    if view.chart:
        head = ["verdict", *(["release"] if several else [])]
        counts = (one.head for one in columns(areas=True).values())
        numbers = ["people", "right", "guess", "advantage [95 %]", "named right", *counts]
        yield Drawn(view.chart, titled=False)
        yield Listing(
            "Areas",
            (by, *head, *numbers),
            [
                *(_audited(row, several) for row in view.shown),
                *(_audited(row, several, True) for row in view.totals),
            ],
            "The worst come first, by the highest lower end of the intervals of their releases; each area is "
            "shown with its release of largest advantage. People given away read “under 5” below 5, and are "
            "withheld where a difference of counts would name people. For the curator only: a row about few "
            "people says nearly as much as their records.",
            left=head,
        )
        yield from _more(view.more, "audit.json")
    yield from _left_out(view.left_out, view.left_out_more, by)


def _told(areas: AreasDocument) -> str:
    """How many areas were attacked, and in how many something is given away."""
    attacked = count_of(areas.areas, "area was", "areas were")
    lines = [
        f"Everything is published for each {areas.by} separately.",
        f"{areas.attacked:,} of {attacked} attacked, with {areas.people_attacked:,} people.",
    ]
    if areas.people_not_attacked:
        missing = count_of(areas.people_not_attacked, "person is", "people are")
        lines.append(f"{missing} in areas that could not be attacked.")
    if areas.above:
        surely = f"{areas.surely_above:,}" if areas.surely_above else "none"
        lines.append(
            f"The interval lies above the limit in {areas.above:,} of them, and in {surely} after "
            "correction for the number of areas."
        )
    else:
        lines.append("The interval lies above the limit in none of them.")
    if areas.exposing:
        lines.append(f"Single people are given away in {areas.exposing:,} of them.")
    return " ".join([*lines, "The numbers above are about all these people together."])


def _audited(row: AreaLine, several: bool, whole: bool = False) -> Line:
    found = row.found
    cells: tuple[str | Badge, ...] = (
        Badge(row.verdict),
        *([found.name] if several else []),
        f"{row.people:,}",
        percent(found.accuracy),
        percent(found.baseline_accuracy),
        with_interval(found.advantage, found.interval),
        f"{counted(found.named_right)} of {counted(found.named)}",
        *(counted(getattr(found, name)) for name in columns(areas=True)),
    )
    if whole:
        return Line("all areas", cells, whole=True)
    notes = [row.note, unsettled(found.status, found.status_codes)]
    return Line(row.name, cells, "; ".join(filter(None, notes)))


def _more(count: int, file: str) -> Iterator[Block]:
    if count:
        yield Paragraph(f"{count_of(count, 'more area is', 'more areas are')} in {file}.", soft=True)


def _left_out(areas: Sequence[tuple[str, str]], more: int, by: str) -> Iterator[Block]:
    """The areas without an answer, with the reasons."""
    if areas:
        reasons = [f"{by} {name}: {reason}" for name, reason in areas]
        yield Headed(
            "Areas without an answer", (Bullets([*reasons, *([f"… and {more:,} more."] if more else [])]),)
        )
