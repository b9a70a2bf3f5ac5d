"""tellall audit."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from tellall.cli.options import (
    AsJson,
    Cluster,
    Data,
    Device,
    PlanFile,
    PlanSeed,
    Quiet,
    Reveal,
    check_folder,
    emit,
    kept_beside,
    read_plan,
    write_secret,
)
from tellall.cli.progress import going_on, progress_bar

__all__ = [
    "EXIT_CODES",
    "audit",
]

EXIT_CODES = {"pass": 0, "fail": 1, "review": 3}

OutFolder = Annotated[
    Path | None,
    typer.Option("--out", "-o", help="The folder for report.html and audit.json; PLAN-audit by default."),
]
Jobs = Annotated[int, typer.Option("--jobs", min=-1, help="Attacks, or blocks, at once; −1: one per core.")]


def audit(
    plan: PlanFile,
    data: Data = None,
    as_json: AsJson = False,
    seed: PlanSeed = None,
    quiet: Quiet = False,
    out: OutFolder = None,
    reveal: Reveal = False,
    jobs: Jobs = -1,
    cluster: Cluster = None,
    device: Device = "cpu",
) -> None:
    """Attack everything a plan would publish; a verdict, a page, an exit code.

    With by = "COLUMN" in the plan every value of that column is a block of its own: the worst are shown, and
    all people together. Finished blocks are kept in the output folder: after a stop, or a change in some
    blocks, only the missing ones are computed.

    Exit codes: 0 below the plan's limit, 1 above it, 2 bad input or usage, 3 inconclusive.
    """
    from tellall import audit as run
    from tellall.algebra.operators.device import find_device
    from tellall.experiment.audit import reveal as name_people
    from tellall.report import text
    from tellall.report.areas import audit_lines

    talk = text.talk_console(quiet=quiet)
    folder = out or Path(f"{plan.stem}-audit")
    check_folder(folder)
    chosen = read_plan(plan, data, seed)
    people = chosen.dataset(data)
    chosen.check(people, reals=False)
    chosen = replace(chosen, device=find_device(device).name)
    if chosen.device != "cpu" and jobs < 0:
        jobs = 1  # attacks at once would share one device's memory
    needed = chosen.memory(people, chosen.device)
    if not needed.fits and not quiet:
        talk.print(f"This audit needs {needed}; it may be stopped.", highlight=False, markup=False)
    work = folder / ".work" if chosen.by is None else kept_beside(folder)
    where = [] if chosen.device == "cpu" else ["--device", chosen.device]
    command = shlex.join(["tellall", "audit", plan.name, "--seed", str(chosen.seed), *where])
    with going_on(kept=True), progress_bar(talk, "attacking", quiet=quiet) as progress:
        result = run(
            people,
            chosen,
            progress,
            processes=jobs or 1,
            device=chosen.device,
            cluster=cluster,
            work=work,
            name=(data or Path(chosen.data)).name,
            command=command,
        )
    page = result.save(folder)
    _tidy(folder / ".work")
    for line in audit_lines(result.document):
        talk.print(line, highlight=False, markup=False, soft_wrap=True)
    talk.print(f"{result.verdict.word.upper()}. {result.verdict.sentence}", highlight=False, markup=False)
    talk.print(f"The page is {page}", highlight=False, markup=False, soft_wrap=True)
    if reveal:
        marked = write_secret(folder / "people", name_people(people, chosen))
        talk.print(f"Who is named is in {marked}", highlight=False, markup=False, soft_wrap=True)
    emit(result.document, as_json=as_json, out=None)
    raise typer.Exit(EXIT_CODES[result.verdict.word])


def _tidy(work: Path) -> None:
    """The findings are in the page now; what other plans left unfinished here goes as well."""
    import shutil

    if work.is_dir() and not work.is_symlink():
        shutil.rmtree(work, ignore_errors=True)
