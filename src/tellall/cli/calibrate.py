"""tellall calibrate."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

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
    kept_beside,
    read_plan,
)
from tellall.cli.progress import going_on, progress_bar
from tellall.cli.study import Decoders, decoder_options, study_document, study_people, write_study
from tellall.core.errors import InvalidInput, NoAnswer, TellallError, WorkLost, invalid

if TYPE_CHECKING:
    from tellall.experiment.plan import Entry, Plan
    from tellall.release.statistics.base import Statistic

__all__ = [
    "calibrate",
]

_INCONCLUSIVE = 3

Limit = Annotated[
    float | None,
    typer.Option("--max-advantage", help="The most advantage allowed, 0.05 say; default: the plan's limit."),
]
OneFamily = Annotated[str, typer.Option("--family", help="The kind of protection to find the least of.")]
Jobs = Annotated[int, typer.Option("--jobs", min=-1, help="Blocks at once; −1: one per core.")]
Draws = Annotated[int, typer.Option("--draws", min=1, help="Draws of the noise at each scale.")]


def calibrate(
    plan: PlanFile,
    max_advantage: Limit = None,
    family: OneFamily = "Gaussian",
    draws: Draws = 50,
    decoder: Decoders = None,
    data: Data = None,
    as_json: AsJson = False,
    seed: PlanSeed = None,
    quiet: Quiet = False,
    out: OutPage = None,
    jobs: Jobs = -1,
    cluster: Cluster = None,
) -> None:
    """Find the least noise that keeps every attack on a plan's statistics under a limit.

    The statistic of each release is taken alone, without the plan's own protections. With -o FOLDER the page
    calibrate.html is written, with calibrate.json beside it. With by = "COLUMN" in
    the plan every value of that column is a block of its own, and the answer is one noise that serves them
    all; a block without an answer of its own is listed, and counts where that noise is measured over all
    people. Exit codes: 0 found for every statistic, 2 bad input or usage, 3 no answer for one of them (of
    blocks: in no block), too few people to tell, or an answer that is not enough for all people together or
    exposes more of them than the plan's exposed_limit allows.
    """
    from tellall.experiment.families import as_family
    from tellall.experiment.study_verdict import (
        block_calibration_answer,
        calibration_answer,
        too_many_exposed,
    )
    from tellall.report import study_page, text

    check_page(out)
    talk = text.talk_console(quiet=quiet)
    chosen = read_plan(plan, data, seed)
    limit = chosen.limit if max_advantage is None else max_advantage
    kind = as_family(family)
    if chosen.by is None and cluster is not None:
        rule = "left out: the steps of one calibration follow from each other; blocks (by) share a cluster"
        raise invalid("--cluster", rule, cluster)
    people = study_people(chosen, data)
    found: list[dict[str, Any]] = []
    skipped: list[dict[str, str]] = []
    wrong: list[TellallError] = []
    enough = True
    answer_of = calibration_answer if chosen.by is None else block_calibration_answer
    statistics = _statistics(chosen)
    for name, statistic in statistics:
        talk.print(name, highlight=False, markup=False)
        try:
            with (
                going_on(kept=chosen.by is not None and out is not None),
                progress_bar(talk, "measuring", quiet=quiet) as progress,
            ):
                common: dict[str, Any] = {
                    "draws": draws,
                    "decoders": decoder or None,
                    "rng": chosen.seed,
                    "progress": progress,
                }
                one: tellall.Calibration | tellall.BlockCalibration
                if chosen.by is None:
                    one = tellall.calibrate(people, statistic, kind, limit, **common)
                else:
                    place = kept_beside(out, "calibrate")
                    one = tellall.calibrate_blocks(
                        people,
                        statistic,
                        kind,
                        limit,
                        by=chosen.by,
                        processes=jobs or 1,
                        cluster=cluster,
                        work=place and place / f"{len(found) + len(skipped) + 1}",
                        **common,
                    )
        except WorkLost:
            raise
        except TellallError as error:
            if len(statistics) == 1:
                raise
            if isinstance(error, InvalidInput) and not isinstance(error, NoAnswer):
                wrong.append(error)
                if len(wrong) == len(statistics):  # it is the question that is wrong
                    raise wrong[0] from None
            skipped.append({"name": name, "reason": str(error)})
            continue
        found.append({"name": name, **one.as_json()})
        if isinstance(one, tellall.BlockCalibration) and not one.enough:
            enough = False
            talk.print(one.warnings[0], highlight=False, markup=False)
        if not as_json and not quiet:
            typer.echo(str(one))
        if too_many_exposed(found[-1]["exposed"], chosen.exposed_limit):
            enough = False
            answer = answer_of(found[-1], chosen.exposed_limit)
            talk.print(f"{answer.word}. {answer.sentence}", highlight=False, markup=False)
    for lack in skipped:
        said = f"{lack['name']}: no answer: {lack['reason']}"
        talk.print(said, highlight=False, markup=False, soft_wrap=True)
    options = ["--max-advantage", f"{limit:g}", "--family", family, "--draws", str(draws)]
    options += decoder_options(decoder)
    document = {
        **study_document("calibrate", plan, data, chosen, options),
        "by": chosen.by,
        "secret": people.secret_name,
        "real": not people.levels,
        "family": kind.name,
        "max_advantage": limit,
        "exposed_limit": chosen.exposed_limit,
        "releases": found,
        "skipped": skipped,
    }
    write_study(document, study_page.render_calibration, out=out, as_json=as_json, talk=talk)
    if skipped or not enough:
        raise typer.Exit(_INCONCLUSIVE)


def _statistics(plan: Plan) -> list[tuple[str, Statistic]]:
    """Each statistic of a plan once, by its description, and by its release where two read alike."""
    from tellall.release import catalogue

    different: dict[str, Entry] = {}
    for entry in plan.releases:
        different.setdefault(json.dumps(catalogue.to_plain(entry.statistic), sort_keys=True), entry)
    entries = list(different.values())
    described = [entry.statistic.describe() for entry in entries]
    return [
        (text if described.count(text) == 1 else f"{text} ({entry.name})", entry.statistic)
        for text, entry in zip(described, entries, strict=True)
    ]
