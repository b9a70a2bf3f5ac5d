"""tellall sweep."""

from __future__ import annotations

from typing import Annotated, Any

import typer

import tellall
from tellall.cli.options import (
    AsJson,
    Cluster,
    Data,
    OutPage,
    PlanFile,
    PlanSeed,
    Quiet,
    check_page,
    is_folder,
    kept_beside,
    read_plan,
)
from tellall.cli.progress import going_on, progress_bar
from tellall.cli.study import Decoders, decoder_options, study_document, study_people, write_study
from tellall.core.errors import invalid

__all__ = [
    "numbers",
    "sweep",
]

Families = Annotated[
    list[str] | None,
    typer.Option("--family", help="A kind of protection, Gaussian say; again for more. Default: Gaussian."),
]
Scales = Annotated[
    str, typer.Option("--scales", help="The scales of each family, 0.5,1,2,4 say; auto: around what matters.")
]
Repeats = Annotated[int, typer.Option("--repeats", min=1, help="Draws of the noise for each protection.")]
Jobs = Annotated[
    int, typer.Option("--jobs", min=-1, help="Protections, or blocks, at once; −1: one per core.")
]


def sweep(
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
) -> None:
    """Measure protections of everything a plan would publish: what they stop and what they cost.

    Each release of the plan is tried with nothing done, as the plan says, and with every family at every
    scale. With -o FOLDER the page sweep.html is written, with the table as JSON, CSV and Parquet beside it.
    With by = "COLUMN" in the plan every value of that column is a block of its own; with -o finished blocks
    are kept there, so that a sweep that was stopped goes on.
    """
    from tellall.experiment.calibration import NO_GUARANTEE
    from tellall.experiment.prepared import suggest_scales
    from tellall.experiment.study_areas import suggest_block_scales
    from tellall.experiment.study_verdict import exposed_lines
    from tellall.report import study_page, text
    from tellall.report.areas import swept_lines

    check_page(out)
    talk = text.talk_console(quiet=quiet)
    chosen = read_plan(plan, data, seed)
    people = study_people(chosen, data)
    families = family or ["Gaussian"]
    given = None if scales.strip() == "auto" else numbers("--scales", scales)
    found: list[tuple[str, tellall.Sweep | tellall.BlockSweep]] = []
    one: tellall.Sweep | tellall.BlockSweep
    for entry in chosen.releases:
        talk.print(entry.name, highlight=False, markup=False)
        tried: list[Any] = [None, *([entry.protections] if entry.protections else []), *families]
        with (
            going_on(kept=chosen.by is not None and out is not None),
            progress_bar(talk, "measuring", quiet=quiet) as progress,
        ):
            common: dict[str, Any] = {
                "repeats": repeats,
                "decoders": decoder or None,
                "rng": chosen.seed,
                "processes": jobs or 1,
                "cluster": cluster,
                "progress": progress,
            }
            if chosen.by is None:
                known = given or suggest_scales(people, entry.statistic)
                one = tellall.sweep(people, entry.statistic, tried, scales=known, **common)
            else:
                known = given or suggest_block_scales(people, entry.statistic, chosen.by)
                place = kept_beside(out, "sweep")
                work = place and place / f"{len(found) + 1}"
                one = tellall.sweep_blocks(
                    people, entry.statistic, tried, scales=known, by=chosen.by, work=work, **common
                )
        found.append((entry.name, one))
        if not as_json and not quiet:
            typer.echo(str(one))
            for line in swept_lines(one.as_json(), chosen.limit):
                typer.echo(line)
            for line in exposed_lines(one.as_json(), chosen.exposed_limit):
                typer.echo(line)
    options = [part for name in families for part in ("--family", name)]
    options += ["--scales", scales, "--repeats", str(repeats), *decoder_options(decoder)]
    document = {
        **study_document("sweep", plan, data, chosen, options),
        "repeats": repeats,
        "limit": chosen.limit,
        "exposed_limit": chosen.exposed_limit,
        "warning": NO_GUARANTEE,
        "releases": [{"name": name, **one.as_json()} for name, one in found],
    }
    if not as_json:
        talk.print(NO_GUARANTEE, highlight=False, markup=False)
    write_study(document, study_page.render_sweep, out=out, as_json=as_json, talk=talk)
    if out is not None and is_folder(out):
        for number, (_, one) in enumerate(found, start=1):
            name = "sweep" if len(found) == 1 else f"sweep-{number}"
            whole = one.whole if isinstance(one, tellall.BlockSweep) else one
            whole.to_csv(out / f"{name}.csv")
            whole.to_parquet(out / f"{name}.parquet")


def numbers(option: str, text: str) -> list[float]:
    """The numbers of an option, set apart by commas."""
    try:
        found = [float(part) for part in text.split(",") if part.strip()]
    except ValueError:
        found = []
    if not found:
        raise invalid(option, "numbers set apart by commas, such as 0.5,1,2,4", text)
    return found
