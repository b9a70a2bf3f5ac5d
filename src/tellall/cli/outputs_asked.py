"""What the command line says about outputs: files, the secret, who knows what, and what was done to them."""

from __future__ import annotations

import os
import shlex
import sys
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from tellall.cli.options import check_out
from tellall.core import files
from tellall.core.amounts import some_of
from tellall.core.errors import invalid
from tellall.core.text import one_line

if TYPE_CHECKING:
    from tellall.audits.plans.asked import Asked, How
    from tellall.audits.plans.plan import Plan
    from tellall.audits.trial import Planned
    from tellall.protections.protection import Protection
    from tellall.report.terminal import PlainConsole

__all__ = ["OutputsGiven", "save_plan"]

_LISTED = 12  # columns in a question


@dataclass(frozen=True)
class OutputsGiven:
    """The options of the command that are about outputs."""

    secrets: tuple[str, ...] = ()
    public: tuple[str, ...] | None = None
    published: tuple[Path, ...] = ()
    protect: tuple[str, ...] = ()
    confirm: tuple[str, ...] = ()
    add: tuple[str, ...] = ()
    save_plan: Path | None = None

    @classmethod
    def of(
        cls,
        secrets: list[str] | None,
        public: str | None,
        published: list[Path] | None,
        protect: list[str] | None,
        confirm: list[str] | None,
        add: list[str] | None,
        save_plan: Path | None,
    ) -> OutputsGiven:
        """The options as they were written."""
        return cls(
            tuple(secrets or ()),
            None if public is None else _names_in(public),
            tuple(published or ()),
            tuple(protect or ()),
            tuple(confirm or ()),
            tuple(add or ()),
            save_plan,
        )

    @property
    def words(self) -> list[str]:
        """The options that change what is found, beside the secret, as the command line has them again."""
        public = [] if self.public is None else ["--public", ",".join(self.public)]
        several = [
            *(("--published", path.name) for path in self.published),
            *(("--protect", text) for text in self.protect),
            *(("--confirm", text) for text in self.confirm),
            *(("--add", text) for text in self.add),
        ]
        return [*public, *(word for pair in several for word in pair)]

    def refuse_with_plan(self) -> None:
        """Refuses what a plan says itself."""
        for option, value in (
            ("--secret", self.secrets),
            ("--public", self.public),
            ("--published", self.published),
            ("--protect", self.protect),
            ("--confirm", self.confirm),
            ("--add", self.add),
            ("--save-plan", self.save_plan),
        ):
            if value:
                raise invalid(option, "left out with a plan, which says it", value)

    def audits(self, what: Path, folder: Path, how: How, talk: PlainConsole) -> Iterator[tuple[Path, Asked]]:
        """Yields what is attacked for each secret, and the folder of its page."""
        from tellall.report.found_outputs import output_lines

        check_out(self.save_plan, "--save-plan")
        secrets = self.chosen(what, how)
        plans = self._plans(secrets)
        for number, (secret, target) in enumerate(zip(secrets, plans, strict=True), start=1):
            asked = self.recognised(what, secret, how, talk)
            known = self._ask_known(asked)
            if known is not None:
                asked = replace(self, public=known).recognised(what, secret, how, talk)
            for line in output_lines(asked.plan.outputs.records if asked.plan.outputs else ()):
                talk.print(line, markup=False, highlight=False, soft_wrap=True)
            if target is not None:
                assert how.data is not None
                save_plan(asked, target, how.data)
                talk.print(f"Wrote {target}", soft_wrap=True)
            yield (folder if len(secrets) == 1 else folder / f"{number} {_plain(secret)}"), asked

    def chosen(self, what: Path, how: How) -> tuple[str, ...]:
        """The columns to protect, asked for if none is given; outputs and people must be there."""
        if not what.exists():
            raise invalid("WHAT", "a plan, a file or a folder that exists", str(what))
        if how.data is None:
            advice = "Outputs are recognised by computing them again from the people."
            raise invalid("--data", "the file of people", "nothing", advice)
        return tuple(dict.fromkeys(self.secrets)) or (_ask_secret(what, how.data),)

    def _ask_known(self, asked: Asked) -> tuple[str, ...] | None:
        """The columns that an outsider knows, asked for where the secret was; None: those of the outputs."""
        folder = asked.outputs
        if self.secrets or self.public is not None or folder is None or not _is_terminal():
            return None
        usual = ", ".join(folder.known)
        if folder.assumed_unknown:
            typer.echo(f"The other columns are {some_of(folder.assumed_unknown, _LISTED)}.", err=True)
        told = typer.prompt("Which columns may an outsider know about a person?", default=usual, err=True)
        return None if told == usual else _names_in(told)

    def recognised(self, what: Path, secret: str, how: How, talk: PlainConsole) -> Asked:
        """What the outputs are, computed again from the people, and what of them is attacked."""
        from tellall.audits.plans.asked import SaidOfOutputs, audit_of_outputs

        said = SaidOfOutputs(
            secret, self.public, self._protections(), self._confirmed(), self.published, self._added(secret)
        )
        return audit_of_outputs(what, said, how, talk.print)

    def _plans(self, secrets: Sequence[str]) -> list[Path | None]:
        """The file of each secret's plan: the one that was named; if there are several, with their names.

        What stands there is refused now, before the outputs are read.
        """
        if self.save_plan is None:
            return [None] * len(secrets)
        named = self.save_plan
        several = [named.with_name(f"{named.stem}-{_plain(secret)}{named.suffix}") for secret in secrets]
        plans = several if len(secrets) > 1 else [named]
        for plan in plans:
            _refuse_if_there(plan)
        return [*plans]

    def _protections(self) -> tuple[Protection, ...]:
        """What was done to the outputs at random, written as a plan writes it."""
        from tellall.release import catalogue

        listed = _tables_in("--protect", self.protect, '{ kind = "Gaussian", std = 2 }')
        return tuple(catalogue.build("protection", plain) for plain in listed)

    def _added(self, secret: str) -> tuple[Planned, ...]:
        """What is not made yet, written as a plan writes its releases."""
        from tellall.audits.plans.plan import Plan

        listed = _tables_in("--add", self.add, '{ statistic = { kind = "Marginals", ways = 2 } }')
        return Plan.from_mapping({"secret": secret, "releases": listed}).planned if listed else ()

    def _confirmed(self) -> dict[str, int]:
        """The right meaning of outputs that may be several things."""
        found = {}
        for text in self.confirm:
            output, sign, number = text.rpartition("=")
            if not sign or not number.strip().isdecimal():
                raise invalid("--confirm", "OUTPUT=NUMBER, as the command prints it", text)
            found[output.strip()] = int(number)
        return found


def _tables_in(option: str, texts: Sequence[str], example: str) -> list[dict[str, Any]]:
    """The tables that an option is given, written as in a plan."""
    found = []
    for text in texts:
        try:
            plain = tomllib.loads(f"table = {text}")["table"]
        except (tomllib.TOMLDecodeError, RecursionError):
            plain = None
        if not isinstance(plain, dict):
            raise invalid(option, f"written as in a plan, such as {example}", text)
        found.append(plain)
    return found


def _names_in(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _is_terminal() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def _ask_secret(what: Path, data: Path) -> str:
    """The column to protect: what an ACRO or described folder says, or what is answered on a terminal."""
    from tellall.audits.plans.draft import likely_secrets
    from tellall.outputs.folders import secret_of_folder
    from tellall.people.readers import column_names, read_table

    table = read_table(data)
    names = column_names(table)
    if (known := secret_of_folder(what, names)) is not None:
        return known
    likely = likely_secrets(table)
    if _is_terminal():
        typer.echo(f"The columns of {data.name}: {some_of(names, _LISTED)}.", err=True)
        question = "Which of them should nobody learn about a person?"
        return str(typer.prompt(question, default=likely[0] if likely else None, err=True)).strip()
    advice = f"The columns are {some_of(names, _LISTED)}."
    if likely:
        advice += f" Perhaps --secret {likely[0]}?"
    raise invalid("--secret", "given: the column that nobody should learn about a person", "nothing", advice)


def _plain(name: str) -> str:
    """A name as part of a folder's."""
    return "".join(mark if mark.isalnum() or mark in "-_" else "_" for mark in name)[:60]


def _refuse_if_there(target: Path) -> Path:
    """The folder beside a plan that is to be written; an error if that or the plan is there already."""
    folder = target.with_name(f"{target.stem}-outputs")
    if target.exists() or folder.exists():
        raise invalid("--save-plan", f"a new file, without a folder {folder.name} beside it", str(target))
    return folder


def _left_open(plan: Plan) -> list[str]:
    """What could not be attacked, as releases of a kind that nobody has: the plan is for review too."""
    from tellall.audits.plans.draft import as_toml

    found: list[str] = []
    for one in plan.not_checked:
        entry = {"name": one.name, "statistic": {"kind": "Unrecognised"}, "protect": list[object]()}
        found += [f"# {one_line(one.reason, 300)}", as_toml([entry]), ""]
    return found


def save_plan(asked: Asked, target: Path, data: Path) -> None:
    """Writes a plan that has the outputs as files published before, in a folder beside it."""
    from tellall.audits.plans.draft import as_toml, toml_text

    plan = asked.plan
    folder = _refuse_if_there(target)
    folder.mkdir()
    entries = []
    for number, entry in enumerate(plan.releases, start=1):
        if entry.given is None:
            continue
        name = f"{folder.name}/{number:03d}.json"
        entry.given.save(target.parent / name)
        entries.append({"file": name, "name": entry.name})
    inside = data.resolve().is_relative_to(target.parent.resolve())
    place = data.resolve().relative_to(target.parent.resolve()).as_posix() if inside else data.name
    beside = [] if inside else ["--data", os.path.relpath(data, target.parent)]
    again = ["tellall", "audit", target.name, *beside]
    known = plan.attacker.known
    lines = [
        "# Outputs that exist already, judged together. To judge them again:",
        f"#   {shlex.join(again)}",
        "schema_version = 2",
        f"data = {toml_text(place)}",
        f"secret = {toml_text(plan.secret)}",
        f"public = [{', '.join(toml_text(name) for name in asked.people.public.names)}]",
        *([] if known is None else [f"known = [{', '.join(map(toml_text, known))}]"]),
        *(["drop_gaps = true"] if plan.drop_gaps else []),
        f"seed = {plan.seed}",
        "steps = false",
        "",
        as_toml(entries, "published"),
        "",
        *([as_toml([entry.as_json() for entry in plan.planned]), ""] if plan.planned else []),
        *_left_open(plan),
    ]
    files.write_text(target, "\n".join(lines))
