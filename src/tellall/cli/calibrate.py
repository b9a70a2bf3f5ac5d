"""tellall calibrate."""

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
    say,
)
from tellall.core.errors import invalid
from tellall.core.exits import UNSETTLED

if TYPE_CHECKING:
    from tellall.report.terminal import PlainConsole

__all__ = [
    "calibrate",
]

Limit = Annotated[
    float | None,
    typer.Option(
        "--max-advantage",
        help="The most advantage allowed: 0.05 is 5 people in 100; the plan's limit by default. For a secret "
        "that is a number: how much nearer an attack may come than the best guess, in the secret's own unit; "
        "it must be given.",
    ),
]
OneFamily = Annotated[str, typer.Option("--family", help="The kind of protection to find the least of.")]
PromisedAdvantage = Annotated[
    float | None,
    typer.Option(
        "--promised-advantage",
        help="Also the most that any attack there will ever be may gain about one person: noise that does "
        "not promise this does not pass.",
    ),
]
PromisedTpr = Annotated[
    float | None,
    typer.Option(
        "--promised-tpr",
        help="Also the largest share of people inside whom any attack may name, if it names 1 % of those "
        "outside: noise that does not promise this does not pass.",
    ),
]
Draws = Annotated[int, typer.Option("--draws", min=1, help="Draws of the noise at each scale.")]


def calibrate(
    context: typer.Context,
    plan: PlanFile,
    max_advantage: Limit = None,
    family: OneFamily = "Gaussian",
    promised_advantage: PromisedAdvantage = None,
    promised_tpr: PromisedTpr = None,
    draws: Draws = 50,
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
    """Find the least noise that keeps every attack under a limit.

    With --promised-advantage or --promised-tpr it also promises what attacks of tomorrow can do at most.

    The statistic of each release is taken alone, without the plan's own protections. With -o FOLDER the page
    calibrate.html is written, with calibrate.json next to it, and the same command goes on after a stop. With
    by = "COLUMN" in the plan, every value of that column is an area of its own, and the answer is one noise
    for all areas. An area without an answer of its own is listed; its people count when that noise is
    measured over all people.

    Exit codes: 0 found for every statistic, 2 bad input or usage, 3 inconclusive: no answer for a statistic
    (with areas: in no area), too few people to tell, or an answer that is not enough for all people together
    or exposes more of them than the plan's exposed_limit. tellall --help has the others.
    """
    from tellall.audits.families import as_family
    from tellall.audits.plans.asked import How
    from tellall.audits.studies import CalibrationFound
    from tellall.cli.studied import Study
    from tellall.report.study_page import render_calibration

    how = How(data, seed, drop_gaps, kind)
    study = Study.of("calibrate", plan, how, out, as_json=as_json, quiet=quiet)
    chosen = study.plan
    limit = chosen.limit if max_advantage is None else max_advantage
    searched = as_family(family)
    if chosen.by is None and cluster is not None:
        rule = "left out: each step of a calibration needs the one before; only areas (by) share a cluster"
        raise invalid("--cluster", rule, cluster)
    promises = {"promised_advantage": promised_advantage, "promised_tpr": promised_tpr}
    promises = {name: most for name, most in promises.items() if most is not None}
    if promises and chosen.by is not None:
        raise invalid("--promised-advantage or --promised-tpr", "left out with areas (by)", chosen.by)
    people = study.people
    if not people.levels and max_advantage is None:
        raise invalid("--max-advantage", f"given, in the unit of {people.secret_name}", "nothing")
    typed = ["--max-advantage", f"{limit:g}", "--family", family, "--draws", str(draws)]
    for name, most in promises.items():
        typed += [f"--{name.replace('_', '-')}", f"{most:g}"]
    with study.measuring(context, typed, decoder, jobs, cluster) as given:
        found = CalibrationFound.of_plan(
            chosen,
            people,
            searched,
            limit,
            told=lambda one: _tell(one, chosen.exposed_limit, study.talk, study.page),
            draws=draws,
            **(given | promises),
        )
        for unanswered in found.skipped:
            study.talk.print(f"{unanswered.name}: no answer: {unanswered.reason}")
        study.write(found, render_calibration)
    if found.skipped or found.shortcomings:
        raise typer.Exit(UNSETTLED)


def _tell(
    found: tellall.Calibration | tellall.AreaCalibration,
    exposed_limit: int | None,
    talk: PlainConsole,
    page: PlainConsole,
) -> None:
    """Says what was found for a statistic; ``page`` is silent where only the document is wanted."""
    from tellall.audits.studies import shortcomings
    from tellall.report.terminal import calibration_text

    if isinstance(found, tellall.AreaCalibration):
        for line in shortcomings(found, exposed_limit):
            talk.print(line)
        if not page.quiet:
            say(str(found))
        return
    for text in calibration_text(found, exposed_limit):
        page.print(text)
