"""The command line: parse, one library call, write, exit code."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

import tellall
from tellall.errors import TellallError, invalid

__all__ = ["app", "main"]

app = typer.Typer(
    name="tellall",
    help="Tells people who publish statistics what those statistics give away about the people in them.",
    epilog="Exit codes: 0 done, 2 bad input or usage.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

AsJson = Annotated[bool, typer.Option("--json", help="One JSON document on standard output, all talk aside.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of everything random.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No talk and no progress bar.")]
Out = Annotated[Path | None, typer.Option("--out", "-o", help="Write the JSON document to this file.")]


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tellall {tellall.__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and leave.")
    ] = False,
) -> None:
    """Options that stand before the command."""


@app.command(
    epilog="Examples:  tellall demo   |   tellall demo --json > demo.json   |   tellall demo --seed 7"
)
def demo(as_json: AsJson = False, seed: Seed = 0, quiet: Quiet = False, out: Out = None) -> None:
    """Attack "safe" tables of real people; about a minute on two cores."""
    from rich.console import Console
    from rich.progress import track

    from tellall import demo as demonstration
    from tellall.report import text

    if out is not None and not out.parent.is_dir():
        raise invalid("--out", "a file in a folder that exists", str(out))
    talk = text.talk_console(quiet=quiet)
    page = talk if as_json or quiet else Console()
    prepared = demonstration.prepare(seed)
    page.print(demonstration.opening(prepared), highlight=False)
    rows = list(
        track(
            demonstration.attack_all(prepared),
            total=prepared.releases,
            description="attacking",
            console=talk,
            transient=True,
            disable=quiet or not talk.is_terminal,
        )
    )
    page.print(text.release_table(rows))
    page.print(demonstration.closing(prepared, rows), highlight=False)
    document = {
        "schema_version": 1,
        "tellall": tellall.__version__,
        "command": "demo",
        "seed": seed,
        "data": prepared.name,
        "people": prepared.people.n,
        "releases": [row.as_json() for row in rows],
    }
    _emit(document, as_json=as_json, out=out)


def _emit(document: dict[str, Any], *, as_json: bool, out: Path | None) -> None:
    """The document on standard output, in a file, or both; a file is written whole or not at all."""
    text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    if out is not None:
        partial = out.with_name(f".{out.name}.partial")
        partial.write_text(text, encoding="utf-8")
        partial.replace(out)
    if as_json:
        sys.stdout.write(text)


def main() -> None:
    """The command `tellall`: an error of ours is one or two lines and exit code 2."""
    try:
        app()
    except TellallError as error:
        typer.echo(f"tellall: {error}", err=True)
        sys.exit(2)
    except OSError as error:
        typer.echo(f"tellall: {error.strerror or error}: {error.filename}", err=True)
        sys.exit(2)
