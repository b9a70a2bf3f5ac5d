"""The command line: parse, one library call, write, exit code. One file per command."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

import tellall
from tellall.cli.demo import demo
from tellall.cli.trace import trace
from tellall.errors import TellallError

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


app.command(
    epilog="Examples:  tellall demo   |   tellall demo --json > demo.json   |   tellall demo --seed 7"
)(demo)
app.command(
    epilog="Examples:  tellall trace --release freqs.afreq --targets t.bed --reference ref.bed   |   "
    "tellall trace --release means.csv --targets t.csv --reference r.csv --coding bits --json"
)(trace)


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
