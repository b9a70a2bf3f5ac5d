"""tellall sweep."""

from __future__ import annotations

from typing import Annotated

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
    kept_beside,
    only_writer,
    read_plan,
    reading,
    study_document,
    tell_assumed,
    watching,
    write_study,
)
from tellall.core.errors import invalid

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
    by = "COLUMN" in the plan, every value of that column is an area of its own; with -o, finished areas are
    kept there, so that a stopped sweep can go on.
    """
    from tellall.experiment.calibrate import NO_GUARANTEE
    from tellall.experiment.studies import sweep_plan, whom_against
    from tellall.report.areas import swept_lines
    from tellall.report.study_page import render_sweep
    from tellall.report.text import PlainConsole, sweep_text, talk_console

    check_page(out)
    talk = talk_console(quiet=quiet)
    chosen = read_plan(plan, data, seed, talk, drop_gaps=drop_gaps, kind=kind)
    people = chosen.dataset(data)
    chosen.check(people)
    families = family or ["Gaussian"]
    warning = f"{NO_GUARANTEE} {whom_against(chosen, people.secret_name)}".strip()
    given = None if scales.strip() == "auto" else _numbers("--scales", scales)
    context.with_resource(only_writer(out))
    found: dict[str, tellall.Sweep | tellall.AreaSweep] = {}
    for name, one in sweep_plan(
        chosen,
        people,
        families,
        given,
        repeats=repeats,
        decoders=decoder or None,
        processes=jobs or 1,
        cluster=cluster,
        work=kept_beside(out, "sweep"),
        watch=watching(talk, quiet=quiet, kept=chosen.by is not None and out is not None),
    ):
        found[name] = one
        if not as_json and not quiet:
            plain, page = {"name": name, **one.as_json()}, PlainConsole()
            for text in sweep_text(plain, chosen.limit, chosen.exposed_limit):
                page.print(text)
            for line in swept_lines(plain):
                page.print(line)
    options = [part for name in families for part in ("--family", name)]
    options += ["--scales", scales, "--repeats", str(repeats), *reading(drop_gaps=drop_gaps, kind=kind)]
    document = {
        **study_document("sweep", plan, data, chosen, options, decoder or ()),
        "repeats": repeats,
        "limit": chosen.limit,
        "exposed_limit": chosen.exposed_limit,
        "warning": warning,
        "releases": [{"name": name, **one.as_json()} for name, one in found.items()],
    }
    if not as_json:
        talk.print(warning)
    tables = {
        "sweep" if len(found) == 1 else f"sweep-{number}": one.whole
        if isinstance(one, tellall.AreaSweep)
        else one
        for number, one in enumerate(found.values(), 1)
    }
    tell_assumed(people.assumed, talk)
    write_study(document, render_sweep, out=out, as_json=as_json, talk=talk, tables=tables)


def _numbers(option: str, text: str) -> list[float]:
    """The numbers of an option, separated by commas."""
    try:
        found = [float(part) for part in text.split(",") if part.strip()]
    except ValueError:
        found = []
    if not found:
        raise invalid(option, "numbers separated by commas, such as 0.5,1,2,4", text)
    return found
