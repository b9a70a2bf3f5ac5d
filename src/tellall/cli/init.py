"""tellall init."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tellall.cli.options import AsJson, DropGaps, Kind, Quiet, Seed, Unused, check_out, emit, tell_assumed
from tellall.core import files
from tellall.core.amounts import count_of
from tellall.core.errors import invalid
from tellall.core.records import VERSION

if TYPE_CHECKING:
    from rich.console import Console

__all__ = [
    "init",
]

People = Annotated[
    Path, typer.Argument(metavar="PEOPLE.csv", help="The file of people, one per row; or a folder of tables.")
]
Secret = Annotated[str | None, typer.Option("--secret", help="The column to protect.")]
OutFile = Annotated[
    Path | None,
    typer.Option("--out", "-o", help="The plan; by default next to the data, with the ending .toml."),
]


def init(
    people: People,
    secret: Secret = None,
    as_json: AsJson = False,
    seed: Seed = 0,
    quiet: Quiet = False,
    out: OutFile = None,
    drop_gaps: DropGaps = False,
    kind: Kind = None,
    reveal: Unused = False,
) -> None:
    """Write a commented plan for a file of people.

    For a folder of tables in CSV or Excel files: write tables.toml, which says what each of them is.
    """
    from tellall.audits.plans.draft import draft, plan_name
    from tellall.people.readers import read_table
    from tellall.report.terminal import talk_console

    talk = talk_console(quiet=quiet)
    if people.is_dir():
        emit(_describe(people, out, secret, talk), as_json=as_json, out=None)
        return
    plan = out or plan_name(people)
    check_out(plan)
    if plan.exists() or plan.is_symlink():
        raise invalid("--out", "a new file", str(plan), "Remove it, or choose another name.")
    table = read_table(people)
    made = draft(table, _relative(plan, people), secret=secret, drop_gaps=drop_gaps, kind=kind, seed=seed)
    files.write_text(plan, made.text)
    for line in (
        *made.told,
        f"Wrote {plan}: secret {made.secret}, {count_of(len(made.public), 'public column')}.",
        *(f"Left out {reason}" for reason in made.left_out),
        f"Check it, then run: {shlex.join(['tellall', 'audit', str(plan)])}",
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
        "tells_secret": list(made.told),
    }
    emit(document, as_json=as_json, out=None)


def _describe(folder: Path, out: Path | None, secret: str | None, talk: Console) -> dict[str, Any]:
    """Writes the description of a folder of tables; returns what was written."""
    from tellall.audits.plans.draft_folder import draft_folder
    from tellall.outputs.described import DESCRIPTION

    target = folder / DESCRIPTION
    if out not in (None, target):
        raise invalid("--out", f"left out: a folder is described by its {DESCRIPTION}", str(out))
    if target.exists() or target.is_symlink():
        raise invalid("PEOPLE", f"a folder without {DESCRIPTION}", str(folder), "Remove it first.")
    text, found, left_out = draft_folder(folder, secret)
    files.write_text(target, text)
    talk.print(f"Wrote {target}: {count_of(len(found), 'table')}.", soft_wrap=True)
    for reason in left_out:
        talk.print(f"Not understood: {reason}")
    again = shlex.join(["tellall", "attack", str(folder), "--public", "people.csv"])
    talk.print(f"Check it, then run, with your file of people for people.csv: {again}", soft_wrap=True)
    named = {"schema_version": VERSION, "document": "draft", "plan": str(target), "secret": secret or ""}
    return {**named, "tables": found, "left_out": left_out}


def _relative(plan: Path, people: Path) -> str:
    """The data's path relative to the plan's folder; a plan never reads outside its folder."""
    folder, target = plan.parent.resolve(), people.resolve()
    if not target.is_relative_to(folder):
        raise invalid(
            "--out", f"in the folder of {people} or above it", str(plan), "A plan reads only its own folder."
        )
    return str(target.relative_to(folder).as_posix())
