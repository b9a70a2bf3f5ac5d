"""tellall rows: what published tables say on their own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tellall.cli.options import (
    AsJson,
    Cluster,
    Html,
    Jobs,
    Out,
    Quiet,
    Reveal,
    Seed,
    check_out,
    emit,
    kept_beside,
    progress_bar,
    repeated,
    resumable,
    say,
    write_page,
    write_secret,
)
from tellall.core.errors import invalid
from tellall.core.exits import DONE, UNSETTLED
from tellall.core.records import VERSION

if TYPE_CHECKING:
    from tellall.attack.prove.row_areas import AreaRows
    from tellall.release.joint import CountTable, Joint
    from tellall.release.release import Release

__all__ = [
    "rows",
]

_SHOWN = 20  # areas in the terminal

Files = Annotated[
    list[Path],
    typer.Argument(
        metavar="TABLES...",
        help="Releases saved by tellall (.json), or tables with a count or percentage per line (.csv).",
    ),
]


def rows(
    tables: Files,
    by: Annotated[str | None, typer.Option("--by", help="A column whose values are areas.")] = None,
    count: Annotated[str | None, typer.Option("--count", help="The column of counts or percentages.")] = None,
    people: Annotated[
        int | None, typer.Option("--people", "-n", min=0, help="How many people, if known.")
    ] = None,
    base: Annotated[float | None, typer.Option("--round", help="Counts were rounded to this base.")] = None,
    mode: Annotated[
        str, typer.Option("--mode", help="How they were rounded: nearest, random, controlled or midpoint.")
    ] = "nearest",
    ties: Annotated[
        str | None,
        typer.Option("--ties", help="Where halves went: even, up, away or unknown. [default: unknown]"),
    ] = None,
    below: Annotated[
        float | None, typer.Option("--hidden-below", help="Counts under this were not shown.")
    ] = None,
    std: Annotated[
        float | None, typer.Option("--noise", help="Counts have normal noise of this spread.")
    ] = None,
    absent: Annotated[
        str, typer.Option("--absent", help="What an unlisted cell means: zero or unknown.")
    ] = "zero",
    may_be_missing: Annotated[
        str | None,
        typer.Option(
            "--may-be-missing",
            metavar="COLUMNS",
            help="Columns, with commas, that people may have no value of. [default: as totals tell]",
        ),
    ] = None,
    effort: Annotated[
        int | None,
        typer.Option(
            "--effort", min=0, help="Effort of the search, in thousandths of CP-SAT's deterministic time."
        ),
    ] = None,
    draws: Annotated[int, typer.Option("--draws", min=1, help="Random solutions that rank rows.")] = 100,
    first: Annotated[
        int, typer.Option("--first", min=0, help="Likeliest rows that --reveal lists for each area.")
    ] = 100,
    jobs: Jobs = -1,
    cluster: Cluster = None,
    as_json: AsJson = False,
    seed: Seed = 0,
    quiet: Quiet = False,
    out: Out = None,
    reveal: Reveal = False,
    html: Html = None,
) -> None:
    """Say which people must be behind tables, from the tables alone.

    A file has a line for every cell: the value of each column, and its `count`. A file with `percent` in
    place of `count` has the shares of the last column's values among people alike in the others, rounded to
    the digits shown; the counts of these people have to be in another file.

    A column may have different bands in different files: single years, "0-4", "80+", "under 12", in any
    order. A file leaves out people who have no value of one of its columns (--may-be-missing).

    Only counts are printed; --reveal writes the rows themselves to a file. Finished areas are kept next to
    --out, so that the same command continues where it was stopped.

    Exit codes: 0 read, 2 bad input or usage, 3 inconclusive (some bounds left open, or contradictory tables).
    tellall --help has the others.
    """
    from tellall.attack.prove.proof import EFFORT
    from tellall.attack.prove.row_areas import rows_by_area
    from tellall.core.jobs import Workers
    from tellall.report.rows_page import render_rows
    from tellall.report.text import talk_console

    talk = talk_console(quiet=quiet)
    check_out(out)
    check_out(html, "--html")
    areas = _read(tables, by, count, absent, _protections(std, base, mode, ties, below))
    gaps = None if may_be_missing is None else [name.strip() for name in may_be_missing.split(",") if name]
    joint = _joint(next(iter(areas.values())), people, gaps)
    kept = kept_beside(out, "rows")
    with (
        resumable(kept=kept is not None, words="areas") as known,
        progress_bar(talk, "reading tables", quiet=quiet) as progress,
    ):
        found = rows_by_area(
            areas,
            people="published" if people is None else people,
            proof_effort=EFFORT if effort is None else effort,
            draws=draws,
            first=first if reveal else 0,
            count=by is None,
            rng=seed,
            may_be_missing=gaps,
            workers=Workers(jobs, cluster),
            work=kept,
            progress=known(progress),
        )
    document = _document(tables, by, areas, joint, found, seed)
    if not quiet and not as_json:
        say("\n".join(_lines(document)))
    given = {
        "by": by,
        "count": count,
        "people": people,
        "round": base,
        "mode": mode,
        "ties": ties,
        "hidden-below": below,
        "noise": std,
        "absent": absent,
        "may-be-missing": may_be_missing,
        "effort": effort,
        "draws": draws,
        "seed": seed,
    }
    write_page({**document, "repeat": repeated("rows", tables, given)}, render_rows, html, quiet=quiet)
    if reveal:
        marked = write_secret(out or Path(f"{tables[0].stem}-rows"), _revealed(areas, people, found))
        talk.print(f"The rows are in {marked}", soft_wrap=True)
    emit(document, as_json=as_json, out=out)
    raise typer.Exit(DONE if all(area.settled for area in found) else UNSETTLED)


def _protections(
    std: float | None, base: float | None, mode: str, ties: str | None, below: float | None
) -> list[Any]:
    import tellall

    if ties is not None and base is None:
        raise invalid("--ties", "left out without --round", ties)
    chosen: list[Any] = [] if std is None else [tellall.Gaussian(std)]
    chosen += [] if base is None else [tellall.Rounding(base, mode, ties)]
    return chosen + ([] if below is None else [tellall.Suppression(below)])


def _read(
    paths: list[Path], by: str | None, count: str | None, absent: str, protect: list[Any]
) -> dict[str, list[Release | CountTable]]:
    """The tables by area: releases, or files of counts."""
    from tellall.release.release import Release
    from tellall.release.table_files import read_count_tables

    saved = [path for path in paths if path.suffix.lower() == ".json"]
    if saved and (len(saved) < len(paths) or by is not None or protect):
        rule = "releases alone, without --by and without what was done to the counts, which releases say"
        raise invalid("tables", rule, ", ".join(path.name for path in paths))
    if saved:
        return {"": [Release.load(path) for path in saved]}
    listed = read_count_tables(paths, protect, count=count, by=by, absent=absent)
    return {area: list(tables) for area, tables in listed.items()}


def _joint(
    tables: list[Release | CountTable], people: int | None, may_be_missing: Sequence[str] | None
) -> Joint:
    """The joint domain of an area; refuses one that is too large."""
    from tellall.attack.prove.rows import join_releases

    return join_releases(tables, "published" if people is None else people, (), may_be_missing)


def _document(
    paths: list[Path],
    by: str | None,
    areas: dict[str, list[Release | CountTable]],
    joint: Joint,
    found: tuple[AreaRows, ...],
    seed: int,
) -> dict[str, Any]:
    """What was found, without any row."""
    from tellall.core.version import __version__, versions

    return {
        "schema_version": VERSION,
        "document": "rows",
        "tellall": __version__,
        "versions": versions(),
        "seed": seed,
        "files": [path.name for path in paths],
        "by": by,
        "columns": [
            {"name": name, "values": len(labels)}
            for name, labels in zip(joint.columns, joint.labels, strict=True)
        ],
        "tables": [
            {"columns": list(table.columns), "cells": int(table.counts.size)} for table in joint.tables
        ],
        "domain": int(joint.upper.size),
        "areas": [_area(area) for area in found],
        "people": sum(area.people or 0 for area in found),
        "certain_people": sum(area.certain_people for area in found),
    }


def _area(area: AreaRows) -> dict[str, Any]:
    return {
        "name": area.name,
        "status": str(area.status),
        "status_word": area.status.word,
        "status_advice": area.status.advice,
        "status_codes": list(area.status.why),
        "settled": area.settled,
        "people": area.people,
        "possible": area.possible,
        "certain": len(area.certain),
        "certain_people": area.certain_people,
        "unique": area.unique,
        "solutions": area.solutions,
        "open": area.open,
        "contradiction": [
            {"table": cell.table, "cell": cell.cell, "low": cell.low, "high": _ended(cell.high)}
            for cell in area.contradiction
        ],
        "steps": area.steps,
        "missing": list(area.missing),
    }


def _ended(high: float) -> float | None:
    return high if high < float("inf") else None


def _lines(document: dict[str, Any]) -> list[str]:
    """The document in words and a table, at most 80 columns wide."""
    import textwrap

    columns = " × ".join(f"{one['name']} ({one['values']})" for one in document["columns"])
    tables = ", ".join(" × ".join(one["columns"]) or "total" for one in document["tables"])
    areas = document["areas"]
    first = f"{columns}: {document['domain']:,} possible rows. Tables: {tables}."
    lines = textwrap.wrap(first, 80)
    if document["by"] is None:
        return [*lines, *_one_area(areas[0])]
    lines += ["", *_table(areas[:_SHOWN])]
    if len(areas) > _SHOWN:
        lines.append(f"… and {len(areas) - _SHOWN:,} more areas; --json or -o has all of them.")
    unsettled = sum(not area["settled"] for area in areas)
    gaps = list(dict.fromkeys(name for area in areas for name in area["missing"]))
    allowed = f" People may have no value of {_listed(gaps)}; this is allowed for." if gaps else ""
    left = f"; {unsettled:,} of {len(areas):,} areas are not settled" if unsettled else ""
    whom = f"{document['certain_people']:,} of {document['people']:,} people"
    total = f"{whom} have a row that is certain{left}.{allowed}"
    return [*lines, "", *textwrap.wrap(total, 80)]


def _one_area(area: dict[str, Any]) -> list[str]:
    import textwrap

    if area["contradiction"] or "contradictory" in area["status_codes"]:
        said = [f"The tables contradict each other: {area['status_advice']}."]
        for cell in area["contradiction"]:
            where = ", ".join(f"{name} = {value}" for name, value in cell["cell"].items()) or "all"
            top = "any" if cell["high"] is None else f"{cell['high']:g}"
            span = f"{cell['low']:g}" if cell["low"] == cell["high"] else f"{cell['low']:g} to {top}"
            if cell["high"] is not None and cell["low"] > cell["high"]:
                span = "no count would be shown like this"
            said += textwrap.wrap(f"  {cell['table']}: {where}: {span}", 80, subsequent_indent="    ")
        return said
    people = "" if area["people"] is None else f" of {area['people']:,}"
    gaps = area["missing"] and f"People may have no value of {_listed(area['missing'])}; this is allowed for."
    solutions = f"The solution is {area['solutions']}." if area["solutions"] else ""
    lines = [
        f"{area['possible']:,} rows can occur. {area['certain']:,} are in every solution: "
        f"{area['certain_people']:,}{people} people.",
        solutions if area["settled"] else f"The search was {area['status']}.",
        gaps or "",
    ]
    return [part for line in lines for part in textwrap.wrap(line, 80)]


def _listed(names: Sequence[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} or {last}" if first else last


def _table(areas: list[dict[str, Any]]) -> list[str]:
    from tellall.core.text import one_line
    from tellall.report.text import aligned

    head = ["area", "people", "can occur", "certain", "people", "solutions"]
    body = [
        [
            one_line(area["name"], 24),
            "–" if area["people"] is None else f"{area['people']:,}",
            f"{area['possible']:,}",
            f"{area['certain']:,}",
            f"{area['certain_people']:,}",
            "one" if area["unique"] else "several" if area["settled"] else area["status_word"][:14],
        ]
        for area in areas
    ]
    return aligned(head, body)


def _revealed(
    areas: dict[str, list[Release | CountTable]], people: int | None, found: tuple[AreaRows, ...]
) -> dict[str, Any]:
    """The rows themselves."""
    listed = []
    for area in found:
        said: dict[str, Any] = {"name": area.name, "certain": [], "likely": []}
        if area.certain or area.likely:
            joint = _joint(areas[area.name], people, area.missing)
            said["certain"] = [{"row": _named(joint, row), "least": least} for row, least in area.certain]
            said["likely"] = [
                {"row": _named(joint, row), "share": round(share, 4), "baseline": round(baseline, 4)}
                for row, share, baseline in area.likely
            ]
        listed.append(said)
    return {"areas": listed}


def _named(joint: Joint, row: int) -> dict[str, str]:
    codes = joint.rows[row].tolist()
    return {name: labels[code] for name, labels, code in zip(joint.columns, joint.labels, codes, strict=True)}
