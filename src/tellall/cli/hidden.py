"""tellall hidden: how near anybody comes to the withheld cells of tables."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import tellall
from tellall.cli.options import (
    AsJson,
    BandsFile,
    Html,
    Out,
    Quiet,
    Seed,
    Unused,
    check_out,
    emit,
    progress_bar,
    repeated,
    say,
    write_page,
)
from tellall.core.errors import invalid
from tellall.core.exits import DONE, UNSETTLED

__all__ = ["hidden"]

Files = Annotated[
    list[Path],
    typer.Argument(
        metavar="TABLES...",
        help="Tables with a line for each cell, files of hierarchies, saved releases; or a folder of them.",
    ),
]


def hidden(
    context: typer.Context,
    tables: Files,
    value: Annotated[str | None, typer.Option("--value", help="The column of numbers.")] = None,
    hierarchy: Annotated[
        list[str] | None,
        typer.Option(
            "--hierarchy",
            metavar="COLUMN=FILE",
            help="A file of a column's hierarchy, if its codes do not tell which column. May repeat.",
        ),
    ] = None,
    base: Annotated[float | None, typer.Option("--round", help="Numbers were rounded to this base.")] = None,
    below: Annotated[
        float | None,
        typer.Option("--hidden-below", help="Only numbers under this were withheld, and that is known."),
    ] = None,
    least: Annotated[
        str, typer.Option("--least", help="The least amount of anybody: a number, or none.")
    ] = "0",
    absent: Annotated[
        str, typer.Option("--absent", help="What an unlisted cell means: zero or unknown.")
    ] = "zero",
    bands: BandsFile = None,
    within: Annotated[
        float | None,
        typer.Option(
            "--within",
            metavar="PERCENT",
            help="In vain too: a value that anybody knows to within this; for files without their own rule.",
        ),
    ] = None,
    suggest: Annotated[
        bool, typer.Option("--suggest", help="Say what else to withhold, so that nothing is in vain.")
    ] = False,
    keep: Annotated[
        list[str] | None,
        typer.Option("--keep", metavar="COLUMN=CODE", help="With --suggest: always show these. May repeat."),
    ] = None,
    zeros: Annotated[
        bool, typer.Option("--zeros", help="With --suggest: cells of zero may be withheld too.")
    ] = False,
    cost: Annotated[
        str, typer.Option("--cost", help="With --suggest: withhold the fewest cells, or the least values.")
    ] = "cells",
    write: Annotated[
        Path | None,
        typer.Option(
            "--write",
            metavar="FOLDER",
            help="Write the tables again, withheld numbers included, with what to do about each cell.",
        ),
    ] = None,
    effort: Annotated[
        int | None,
        typer.Option(
            "--effort", min=0, help="Effort of the search, in thousandths of CP-SAT's deterministic time."
        ),
    ] = None,
    as_json: AsJson = False,
    seed: Seed = 0,
    quiet: Quiet = False,
    out: Out = None,
    html: Html = None,
    reveal: Unused = False,
) -> None:
    """Say how near anybody comes to withheld cells of tables.

    It needs the tables alone. A table has a line for each cell, its subtotals and totals among them: a code
    of every column, a number, and what says whether it is withheld: columns `suppressed` and `primary`, or
    `status`, or a mark such as x in place of the number. Numbers on withheld lines are the publisher's own:
    no interval uses them.

    Hierarchies are files of tau-Argus (.hrc) or CSV with levels and codes; without one, they are found from
    codes that start with others, or from numbers that add up. Tables that share columns are taken together.

    Also read are tables of tau-Argus (.tab with its .rda beside it, .jj), SDMX-CSV and JSON-stat; --write
    FOLDER writes each table again with the status and the interval of every cell.

    --suggest finds the fewest further cells to withhold, so that nothing is in vain; it needs the withheld
    numbers, on lines with a status. For example:

        tellall hidden table.csv region.hrc --suggest --html hidden.html

    Exit codes: 0 read, 2 bad input or usage, 3 inconclusive (some intervals left open, or contradictory
    tables). tellall --help has the others.
    """
    from tellall.attack.prove.hidden_files import hidden_of_files, statuses_of
    from tellall.attack.prove.proof import EFFORT
    from tellall.report.hidden_page import render_hidden
    from tellall.report.hidden_text import hidden_text
    from tellall.report.terminal import talk_console

    talk = talk_console(quiet=quiet)
    check_out(out)
    check_out(html, "--html")
    protect: list[tellall.Protection] = [] if base is None else [tellall.Rounding(base)]
    protect += [] if below is None else [tellall.Suppression(below)]
    with progress_bar(talk, "looking for intervals", quiet=quiet) as progress:
        found = hidden_of_files(
            tables,
            protect or None,
            value=value,
            hierarchies=_by_column(hierarchy or []),
            absent=absent,
            within=within,
            bands=() if bands is None else tellall.Bands.read(bands),
            bounds=(_least(least), None),
            proof_effort=EFFORT if effort is None else effort,
            progress=progress,
        )
    if suggest and found.found is not None and not found.contradictory:
        from tellall.audits.suppress import suppress_cells, with_more_hidden

        with progress_bar(talk, "looking for what to withhold", quiet=quiet) as progress:
            more = suppress_cells(
                found.found.tables,
                bands=found.bands,
                bounds=(_least(least), None),
                within=within,
                cost=cost,
                zeros=zeros,
                keep=_codes(keep or []),
                progress=progress,
            )
        found = with_more_hidden(found, more)
    if not quiet and not as_json:
        say(hidden_text(found))
    if write is not None:
        from tellall.outputs.written_cells import write_cells

        for path in write_cells(write, found.paths, statuses_of(found)):
            if not quiet:
                say(f"Written: {path}", err=True)
    write_page(lambda: render_hidden(found, repeated(context)), html, quiet=quiet)
    emit(found, as_json=as_json, out=out)
    raise typer.Exit(DONE if found.settled else UNSETTLED)


def _least(text: str) -> float | None:
    if text.lower() == "none":
        return None
    try:
        return float(text)
    except ValueError:
        raise invalid("--least", "a number, or none", text) from None


def _codes(given: list[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for each in given:
        name, sign, code = each.partition("=")
        if not (name and sign and code):
            raise invalid("--keep", "COLUMN=CODE", each)
        found.setdefault(name, []).append(code)
    return found


def _by_column(given: list[str]) -> dict[str, Path]:
    found = {}
    for each in given:
        name, sign, file = each.partition("=")
        if not (name and sign and file):
            raise invalid("--hierarchy", "COLUMN=FILE", each)
        found[name] = Path(file)
    return found
