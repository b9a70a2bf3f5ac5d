"""tellall sweep."""

from __future__ import annotations

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
    from tellall.audits.plans.asked import How
    from tellall.audits.studies import SweepFound
    from tellall.cli.studied import Study
    from tellall.report.study_page import render_sweep

    how = How(data, seed, drop_gaps, kind)
    study = Study.of("sweep", plan, how, out, as_json=as_json, quiet=quiet)
    chosen, people = study.plan, study.people
    families = family or ["Gaussian"]
    typed = [part for name in families for part in ("--family", name)]
    typed += ["--scales", scales, "--repeats", str(repeats)]
    with study.measuring(context, typed, decoder, jobs, cluster) as given:
        found = SweepFound.of_plan(
            chosen,
            people,
            families,
            None if scales.strip() == "auto" else _numbers("--scales", scales),
            repeats=repeats,
            told=lambda one: _tell(one, chosen, study.page),
            **given,
        )
        if not as_json:
            study.talk.print(found.warning)
        study.write(found, render_sweep, found.tables)


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
