"""The page of `rows`: what published tables say on their own, in counts and without any row."""

from __future__ import annotations

from collections.abc import Iterator

from tellall.attack.prove.row_files import AreaFound, RowsFound
from tellall.audits.verdict import Answer, area_name
from tellall.core.amounts import count_of, percent
from tellall.report.kit.bars import Bar
from tellall.report.kit.blocks import (
    Block,
    Box,
    Bullets,
    Drawn,
    Line,
    Listing,
    Paragraph,
    Section,
    render_blocks,
)
from tellall.report.kit.html import bar_figure
from tellall.report.recorded import repeat_blocks

__all__ = ["render_rows"]

_LISTED, _DRAWN = 200, 20


def render_rows(found: RowsFound, command: str) -> str:
    """The page: how many people must be behind the tables, area by area; ``command`` repeats it."""
    several = found.by is not None
    of = f"{len(found.areas):,} areas by {found.by}. " if several else ""
    return render_blocks(
        (
            Section("answer", "", _answer_blocks),
            Section("areas", "Area by area" if several else "What can occur", _area_blocks),
            Section("contradictions", "Cells that cannot all be right", _contradiction_blocks),
            Section("tables", "The tables", _table_blocks),
            Section("read", "How to read this", _reading_blocks),
            Section("repeat", "How to repeat this", lambda _: repeat_blocks(found, command, found.seed)),
        ),
        found,
        title="What tables say on their own",
        heading="Which people must be behind these tables?",
        subtitle=f"{of}{found.domain:,} possible rows. Read from the tables alone.",
    )


def _answer_blocks(found: RowsFound) -> list[Block]:
    certain = found.certain_people
    people = found.people
    areas = found.areas
    broken = sum(area.contradicts for area in areas)
    unsettled = found.unsettled
    if broken == len(areas):
        answer = Answer("review", "The tables contradict each other", "So they say nothing about anybody.")
        return [Box(answer, large=True)]
    share = f" ({percent(certain / people)})" if people else ""
    whom = f"{certain:,} of {count_of(people, 'person', 'people')}{share}"
    said = f"{whom} have a row that is in every solution: anybody who has these tables knows that somebody "
    said += "with these values is there."
    if broken:
        said += f" The tables of {count_of(broken, 'area')} contradict each other and prove nothing."
    if unsettled > broken:
        said += f" The search did not finish in {count_of(unsettled - broken, 'area')}: there may be more."
    word = f"{count_of(certain, 'person is', 'people are')} certain" if certain else "Nobody is certain"
    kind = "fail" if certain else "review" if unsettled else "pass"
    return [Box(Answer(kind, word, said), large=True)]


def _area_blocks(found: RowsFound) -> Iterator[Block]:
    areas = sorted(found.areas, key=lambda area: -area.certain_people)
    if len(areas) > 1:
        chart = bar_figure(
            "People who are certain",
            "People with a row in every solution, the areas with most of them first. The table has the same "
            "numbers.",
            [Bar(_name(one), one.certain_people, f"{one.certain_people:,}") for one in areas[:_DRAWN]],
            None,
            "people",
        )
        if chart is not None:
            yield Drawn(chart, titled=False)
    yield Listing(
        "Areas",
        ("area", "people", "rows that can occur", "certain rows", "certain people", "solutions", "search"),
        [_line(area) for area in areas[:_LISTED]],
        "A row is a combination of values. It is certain if it is in every solution: every list of people "
        "that fits all tables.",
        left=("solutions", "search"),
    )
    if len(areas) > _LISTED:
        yield Paragraph(f"{len(areas) - _LISTED:,} more areas are in the document.", soft=True)


def _name(area: AreaFound) -> str:
    return area_name(area.name) if area.name else "everybody"


def _line(area: AreaFound) -> Line:
    several = "several" if area.settled and not area.contradicts else "–"
    return Line(
        _name(area),
        (
            "–" if area.people is None else f"{area.people:,}",
            f"{area.possible:,}",
            f"{area.certain:,}",
            f"{area.certain_people:,}",
            "one" if area.unique else area.solutions or several,
            area.status,
        ),
    )


def _contradiction_blocks(found: RowsFound) -> Iterator[Block]:
    """How many cells clash; the document lists them, for those who made the tables."""
    for area in found.areas[:_LISTED]:
        if area.contradiction:
            tables = ", ".join(dict.fromkeys(cell.table for cell in area.contradiction))
            cells = count_of(len(area.contradiction), "cell")
            yield Paragraph(f"{_name(area)}: {cells} of {tables}. The document lists them.")


def _table_blocks(found: RowsFound) -> list[Block]:
    tables = [Line(" × ".join(table.columns) or "all", (f"{table.cells:,}",)) for table in found.tables]
    columns = [Line(one.name, (f"{one.values:,}",)) for one in found.columns]
    return [
        Listing("Tables", ("table", "cells"), tables, f"From {', '.join(found.files)}."),
        Listing("Columns", ("column", "values"), columns),
    ]


def _reading_blocks(found: RowsFound) -> list[Block]:
    gaps = found.missing
    allowed = f"People may have no value of {', '.join(gaps)}. A table leaves out those who have none of its "
    allowed += "columns; a row is certain only if it is so whoever is left out."
    return [
        Bullets(
            [
                *([allowed] if gaps else []),
                "Only the tables were used: no list of people, no population.",
                "Knowing that somebody is there is not yet a name. But whoever knows some of a person's "
                "values can look up the others.",
                "This page shows counts and no row. --reveal writes the rows to a file of its own.",
            ]
        )
    ]
