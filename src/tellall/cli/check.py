"""tellall check."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Any

import typer

from tellall.cli.options import AsJson, Out, Quiet, Seed, Unused, check_out, emit
from tellall.core import files
from tellall.core.curator_key import CuratorKey
from tellall.core.errors import invalid
from tellall.core.exits import DONE, FAILED
from tellall.core.records import VERSION
from tellall.core.text import said

__all__ = ["check"]

_LARGEST = 2**24
_PEOPLE = "file of people"

Record = Annotated[
    Path | None,
    typer.Argument(
        metavar="[DECISION.toml]",
        help="The record that tellall audit --decision --key wrote.",
        show_default=False,
    ),
]
People = Annotated[
    Path | None, typer.Option("--data", help="The file of people, or another that the record checks.")
]
Key = Annotated[Path | None, typer.Option("--key", metavar="FILE", help="The curator's key.")]
NewKey = Annotated[
    Path | None, typer.Option("--new-key", metavar="FILE", help="Make a key, in a new private file.")
]


def check(
    context: typer.Context,
    record: Record = None,
    data: People = None,
    key: Key = None,
    new_key: NewKey = None,
    as_json: AsJson = False,
    seed: Seed = 0,
    quiet: Quiet = False,
    out: Out = None,
    reveal: Unused = False,
) -> None:
    """Check that a file is the one that a decision is about.

    The file is that of the people, the plan, the audit, or an output.

    A record says nothing about the file to anybody without the key: not even whether two records are about
    the same people. Keep the key apart from the records, and keep it: without it no record can be checked.

    Exit codes: 0 the same file, 1 another, 2 bad input, the wrong key, or a key that others can read. tellall
    --help has the others.
    """
    from tellall.audits.plans.record import sha256_of
    from tellall.report.terminal import PlainConsole

    asked = {"DECISION.toml": record, "--data": data, "--key": key}
    if new_key is not None:
        extra = [name for name, given in asked.items() if given is not None]
        if extra:
            context.fail(f"--new-key must be given alone; got {extra[0]} too")
        check_out(out)
        CuratorKey.create(new_key)
        sentence, same = f"Wrote {new_key}. Keep it apart from the records, and show it to nobody.", None
    else:
        if record is None or data is None or key is None:
            missing = next(name for name, given in asked.items() if given is None)
            context.fail(f"{missing} must be given, or --new-key FILE alone")
        check_out(out)
        curator = CuratorKey.read(key)
        checks, hashes = _kept(record)
        agreeing = [name for name, check in checks.items() if curator.agrees(data, check)]
        agreeing += [name for name, known in hashes.items() if known == sha256_of(data)]
        same = bool(agreeing)
        what = agreeing[0] if same else " or ".join({**checks, **hashes})
        sentence = f"{data} is {'the' if same else 'not the'} {what} that {record} is about."
    if not as_json:
        PlainConsole(quiet=quiet).print(sentence)
    document: dict[str, Any] = {"schema_version": VERSION, "document": "check", "same": same}
    emit(document, as_json=as_json, out=out)
    raise typer.Exit(FAILED if same is False else DONE)


def _kept(record: Path) -> tuple[dict[str, dict[str, Any]], dict[str, str]]:
    """The checks in the record of a decision, by what they are of, the file of people first; and its hashes.

    Hashes are of what was published before. Earlier records have that of the plan too, and no check of it.
    """
    text = files.read_text(record, what="record", largest=_LARGEST)
    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise invalid("record", "a TOML file", record, f"The reader said: {said(error, 120)}.") from None
    people, others = document.get("people_file"), document.get("files", {})
    found = {_PEOPLE: people, **(others if isinstance(others, dict) else {"files": None})}
    hashes = document.get("sha256", {})
    if not all(isinstance(one, dict) for one in (*found.values(), hashes)):
        rule = "one with a [people_file] part, as tellall audit --decision --key FILE writes it"
        raise invalid("record", rule, record)
    return found, {name: known for name, known in hashes.items() if name not in found}
