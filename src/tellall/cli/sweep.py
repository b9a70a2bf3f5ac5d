"""tellall sweep."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import tellall
from tellall.cli.options import (
    AsJson,
    Cluster,
    Data,
    Decoders,
    DropGaps,
    Jobs,
    Kind,
    OutPage,
    PlanFile,
    PlanSeed,
    Quiet,
    check_page,
    kept_for,
    only_writer,
    reading,
    study_command,
    tell_assumed,
    watching,
    write_study,
)
from tellall.core.errors import invalid

if TYPE_CHECKING:
    from tellall.audits.plans.plan import Plan
    from tellall.report.terminal import PlainConsole

__all__ = [
    "sweep",
]

Families = Annotated[
    list[str] | None,
    typer.Option("--family", help="A kind of protection; repeat for more. Default: Gaussian."),
]
Scales = Annotated[
    str,
    typer.Option(
        "--scales", help="The scales of each family, such as 0.5,1,2,4; auto: around what hides a person."
    ),
]
Repeats = Annotated[int, typer.Option("--repeats", min=1, help="Draws of the noise for each protection.")]


def sweep(
    context: typer.Context,
    plan: PlanFile,
    family: Families = None,
    scales: Scales = "auto",
    repeats: Repeats = 10,
    decoder: Decoders = None,
    data: Data = None,
    as_json: AsJson = False,
    seed: PlanSeed = None,
    quiet: Quiet = False,
    out: OutPage = None,
    jobs: Jobs = -1,
    cluster: Cluster = None,
    drop_gaps: DropGaps = False,
    kind: Kind = None,
) -> None:
    """Measure what protections stop and what they cost the reader.

    Each release of the plan is tried unprotected, as planned, and with every family at every scale. With
    -o FOLDER the page sweep.html is written, with the table as JSON, CSV and Parquet next to it. With
    by = "COLUMN" in the plan, every value of that column is an area of its own. With -o, finished
    protections, or areas, are kept there, so that the same command goes on after a stop.
    """
    from tellall.audits.plans.asked import How, plan_asked
    from tellall.audits.plans.plan_files import read_people
    from tellall.audits.studies import SweepFound
    from tellall.report.study_page import render_sweep
    from tellall.report.terminal import PlainConsole, talk_console

    check_page(out)
    talk = talk_console(quiet=quiet)
    page = PlainConsole(quiet=as_json or quiet)
    chosen = plan_asked(plan, How(data, seed, drop_gaps, kind), talk.print)
    people = read_people(chosen, data)
    chosen.check(people)
    families = family or ["Gaussian"]
    context.with_resource(only_writer(out))
    options = [part for name in families for part in ("--family", name)]
    options += ["--scales", scales, "--repeats", str(repeats), *reading(drop_gaps=drop_gaps, kind=kind)]
    with kept_for("sweep", out, areas=chosen.by is not None) as work:
        found = SweepFound.of_plan(
            chosen,
            people,
            families,
            None if scales.strip() == "auto" else _numbers("--scales", scales),
            repeats=repeats,
            command=study_command("sweep", plan, chosen, options, decoder or ()),
            data=(data or Path(chosen.data)).name,
            told=lambda one: _tell(one, chosen, page),
            decoders=decoder or None,
            processes=jobs or 1,
            cluster=cluster,
            work=work,
            watch=watching(talk, quiet=quiet, kept=work is not None),
        )
        if not as_json:
            talk.print(found.warning)
        tell_assumed(people.assumed, talk)
        write_study(found, render_sweep, out=out, as_json=as_json, talk=talk, tables=found.tables)


def _tell(found: tellall.Sweep, plan: Plan, page: PlainConsole) -> None:
    """Prints what was found for a release."""
    from tellall.report.studied_areas import swept_text

    for text in swept_text(found, plan.limit, plan.exposed_limit):
        page.print(text)


def _numbers(option: str, text: str) -> list[float]:
    """The numbers of an option, separated by commas."""
    try:
        found = [float(part) for part in text.split(",") if part.strip()]
    except ValueError:
        found = []
    if not found:
        raise invalid(option, "numbers separated by commas, such as 0.5,1,2,4", text)
    return found
