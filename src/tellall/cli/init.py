"""tellall init."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tellall.cli.options import AsJson, Quiet, Seed, Unused, check_out, emit, tell_assumed
from tellall.core import files
from tellall.core.errors import invalid
from tellall.core.schemas import VERSION

__all__ = [
    "init",
]

People = Annotated[Path, typer.Argument(metavar="PEOPLE.csv", help="The file of people, one per row.")]
Secret = Annotated[str | None, typer.Option("--secret", help="The column to protect.")]
OutFile = Annotated[
    Path | None,
    typer.Option("--out", "-o", help="The plan; by default beside the data, with the ending .toml."),
]


def init(
    people: People,
    secret: Secret = None,
    as_json: AsJson = False,
    seed: Seed = 0,
    quiet: Quiet = False,
    out: OutFile = None,
    reveal: Unused = False,
) -> None:
    """Write a commented plan for a file of people."""
    from tellall.experiment.draft import draft, plan_name
    from tellall.people.readers import read_table
    from tellall.report.text import talk_console

    talk = talk_console(quiet=quiet)
    plan = out or plan_name(people)
    check_out(plan)
    if plan.exists() or plan.is_symlink():
        raise invalid("--out", "a new file", str(plan), "Remove it, or choose another name.")
    table = read_table(people)
    made = draft(table, _relative(plan, people), secret=secret)
    files.write_text(plan, made.text.replace("seed = 0 ", f"seed = {seed} "))
    for line in (
        f"Wrote {plan}: secret {made.secret}, {len(made.public)} public columns.",
        *(f"Left out {reason}" for reason in made.left_out),
        f"Check it, then run: tellall audit {plan}",
    ):
        talk.print(line, soft_wrap=True)
    tell_assumed(getattr(table, "assumed", ""), talk)
    document = {
        "schema_version": VERSION,
        "document": "draft",
        "plan": str(plan),
        "secret": made.secret,
        "public": list(made.public),
        "left_out": list(made.left_out),
    }
    emit(document, as_json=as_json, out=None)


def _relative(plan: Path, people: Path) -> str:
    """The data's path relative to the plan's folder; a plan never reads outside its folder."""
    folder, target = plan.parent.resolve(), people.resolve()
    if not target.is_relative_to(folder):
        raise invalid(
            "--out", f"in the folder of {people} or above it", str(plan), "A plan reads only its own folder."
        )
    return str(target.relative_to(folder).as_posix())
