"""The areas of an audit on its page: the worst of them in a listing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tellall.core.amounts import count_of, counted, percent, with_interval
from tellall.report.areas import audited_areas
from tellall.report.blocks import Badge, Block, Bullets, Drawn, Headed, Line, Listing, Paragraph
from tellall.report.reliability import unsettled

__all__ = ["audited_area_blocks"]

Plain = dict[str, Any]


def audited_area_blocks(document: Plain) -> Iterator[Block]:
    """The areas of an audit; nothing where everybody is one area."""
    areas = audited_areas(document)
    if areas is None:
        return
    yield Paragraph(_told(areas))
    if areas["chart"]:
        head = ["verdict", *(["release"] if areas["several"] else [])]
        numbers = ["people", "right", "guess", "advantage [95 %]", "exposed at 0.95", "named right", "proved"]
        rows = [_audited(row, areas["several"]) for row in areas["shown"]]
        whole = [_audited({**row, "release": row["name"]}, areas["several"], True) for row in areas["totals"]]
        yield Drawn(areas["chart"], titled=False)
        yield Listing(
            "Areas",
            (areas["by"], *head, *numbers),
            [*rows, *whole],
            "The worst come first, by the highest lower end of the intervals of their releases; each area is "
            "shown with its release of largest advantage. People given away read “under 5” below 5, and are "
            "withheld where a difference of counts would name people. For the curator only: a row about few "
            "people says nearly as much as their records.",
            left=head,
        )
        yield from _more(areas["more"], "audit.json")
    yield from _left_out(areas, areas["by"])


def _told(areas: Plain) -> str:
    """How many areas were attacked, and in how many something is given away."""
    attacked = count_of(areas["areas"], "area was", "areas were")
    lines = [
        f"Everything is published for each {areas['by']} separately.",
        f"{areas['attacked']:,} of {attacked} attacked, with {areas['people_attacked']:,} people.",
    ]
    if areas["people_not_attacked"]:
        missing = count_of(areas["people_not_attacked"], "person is", "people are")
        lines.append(f"{missing} in areas that could not be attacked.")
    if areas["above"]:
        surely = f"{areas['surely_above']:,}" if areas["surely_above"] else "none"
        lines.append(
            f"The interval lies above the limit in {areas['above']:,} of them, and in {surely} after "
            "correction for the number of areas."
        )
    else:
        lines.append("The interval lies above the limit in none of them.")
    if areas["exposing"]:
        lines.append(f"Single people are given away in {areas['exposing']:,} of them.")
    return " ".join([*lines, "The numbers above are about all these people together."])


def _audited(row: Plain, several: bool, whole: bool = False) -> Line:
    cells = (
        Badge(row["verdict"]),
        *([row["release"]] if several else []),
        f"{row['people']:,}",
        percent(row["accuracy"]),
        percent(row["baseline_accuracy"]),
        with_interval(row["advantage"], row["interval"]),
        counted(row["exposed"]),
        f"{counted(row['named_right'])} of {counted(row['named'])}",
        counted(row["proved"]),
    )
    if whole:
        return Line("all areas", cells, whole=True)
    notes = [row["note"] or "", unsettled(row)]
    return Line(row["name"], cells, "; ".join(filter(None, notes)))


def _more(count: int, file: str) -> Iterator[Block]:
    if count:
        yield Paragraph(f"{count_of(count, 'more area is', 'more areas are')} in {file}.", soft=True)


def _left_out(areas: Plain, by: str) -> Iterator[Block]:
    """The areas without an answer, with the reasons."""
    if areas["left_out"]:
        more = [f"… and {areas['left_out_more']:,} more."] if areas["left_out_more"] else []
        reasons = [f"{by} {row['name']}: {row['reason']}" for row in areas["left_out"]]
        yield Headed("Areas without an answer", (Bullets([*reasons, *more]),))
