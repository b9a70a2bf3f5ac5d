"""tellall rows: what published tables say on their own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import tellall
from tellall.cli.options import (
    AsJson,
    BandsFile,
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

__all__ = [
    "rows",
]

Files = Annotated[
    list[Path],
    typer.Argument(
        metavar="TABLES...",
        help="Releases saved by tellall (.json), or tables with a count or percentage per line (.csv).",
    ),
]


def rows(
    context: typer.Context,
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
    bands: BandsFile = None,
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
    order, and codes of several levels, such as DE1 and DE11; --bands says what other labels are made of. A
    file leaves out people who have no value of one of its columns (--may-be-missing).

    Only counts are printed; --reveal writes the rows themselves to a file. Finished areas are kept next to
    --out, so that the same command continues where it was stopped.

    Exit codes: 0 read, 2 bad input or usage, 3 inconclusive (some bounds left open, or contradictory tables).
    tellall --help has the others.
    """
    from tellall.attack.prove.proof import EFFORT
    from tellall.attack.prove.row_files import rows_of_files
    from tellall.core.jobs import Workers
    from tellall.report.rows_page import render_rows
    from tellall.report.rows_text import rows_text
    from tellall.report.terminal import talk_console

    talk = talk_console(quiet=quiet)
    check_out(out)
    check_out(html, "--html")
    beside = kept_beside(out)
    kept = beside and beside / "rows"
    with (
        resumable(kept=kept is not None, words="areas") as known,
        progress_bar(talk, "reading tables", quiet=quiet) as progress,
    ):
        found = rows_of_files(
            tables,
            _protections(std, base, mode, ties, below),
            by=by,
            count=count,
            absent=absent,
            people=people,
            bands=() if bands is None else tellall.Bands.read(bands),
            may_be_missing=None if may_be_missing is None else _names(may_be_missing),
            proof_effort=EFFORT if effort is None else effort,
            draws=draws,
            named=reveal,
            first=first,
            rng=seed,
            workers=Workers(jobs, cluster),
            work=kept,
            progress=known(progress),
        )
    if not quiet and not as_json:
        say(rows_text(found))
    write_page(lambda: render_rows(found, repeated(context)), html, quiet=quiet)
    if found.named is not None:
        marked = write_secret(out or Path(f"{tables[0].stem}-rows"), found.named)
        talk.print(f"The rows are in {marked}", soft_wrap=True)
    emit(found, as_json=as_json, out=out)
    raise typer.Exit(DONE if found.settled else UNSETTLED)


def _protections(
    std: float | None, base: float | None, mode: str, ties: str | None, below: float | None
) -> list[tellall.Protection]:
    if ties is not None and base is None:
        raise invalid("--ties", "left out without --round", ties)
    chosen: list[tellall.Protection] = [] if std is None else [tellall.Gaussian(std)]
    chosen += [] if base is None else [tellall.Rounding(base, mode, ties)]
    return chosen + ([] if below is None else [tellall.Suppression(below)])


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name]
