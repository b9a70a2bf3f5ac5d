"""The command line: parse, one library call, write, exit code. One file per command."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

import tellall
from tellall.cli.attack import attack
from tellall.cli.audit import audit
from tellall.cli.demo import demo
from tellall.cli.explain import explain
from tellall.cli.init import init
from tellall.cli.publish import publish
from tellall.errors import TellallError

__all__ = ["app", "main"]

app = typer.Typer(
    name="tellall",
    help="Tells people who publish statistics what those statistics give away about the people in them.",
    epilog="Exit codes: 0 done or below the limit, 1 above the limit, 2 bad input or usage, 3 inconclusive.",
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
app.command(epilog="Example:  tellall init people.csv --secret diagnosis")(init)
app.command(epilog="Examples:  tellall audit people.toml   |   tellall audit people.toml --json")(audit)
app.command(epilog="Example:  tellall publish people.toml -o release.json")(publish)
app.command(epilog="Example:  tellall attack release.json --public people.csv")(attack)
app.command(epilog="Example:  tellall explain reconstruction")(explain)


def main() -> None:
    """The command `tellall`: an error of ours is one or two lines and exit code 2."""
    try:
        app()
    except TellallError as error:
        typer.echo(f"tellall: {error}", err=True)
        sys.exit(2)
    except MemoryError:
        typer.echo("tellall: too little memory on this machine; nothing is known.", err=True)
        sys.exit(3)
    except OSError as error:
        typer.echo(f"tellall: {error.strerror or error}: {error.filename}", err=True)
        sys.exit(2)
