"""tellall bounds."""

from __future__ import annotations

from typing import Annotated

import typer

import tellall
from tellall.cli.options import AsJson, Html, Out, Quiet, check_out, emit, say, write_page
from tellall.core.errors import invalid

__all__ = [
    "bounds",
]


def bounds(
    people: Annotated[int, typer.Option("--people", "-n", min=1, help="How many people.")],
    attributes: Annotated[int, typer.Option("--attributes", min=1, help="Yes/no attributes of each.")],
    ways: Annotated[int, typer.Option("--ways", min=1, help="Attributes per table, secret included.")],
    epsilon: Annotated[float, typer.Option(help="The ε to compare with.")] = 1.0,
    delta: Annotated[float, typer.Option(help="The δ to compare with.")] = 1e-6,
    as_json: AsJson = False,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Nothing random here.", hidden=True)] = 0,
    quiet: Quiet = False,
    out: Out = None,
    html: Html = None,
) -> None:
    """Say how much noise tables of a size need, before any data."""
    from tellall.privacy.bounds.table import BoundsFound
    from tellall.report.promise_pages import render_bounds

    check_out(out)
    check_out(html, "--html")
    if ways > attributes:
        raise invalid("--ways", f"at most the attributes, {attributes}", ways)
    table = tellall.bounds.table(people, attributes, ways, epsilon, delta)
    if not as_json and not quiet:
        say(str(table))
    size = f"--people {people} --attributes {attributes} --ways {ways}"
    found = BoundsFound.of(table, f"tellall bounds {size} --epsilon {epsilon:g} --delta {delta:g}")
    write_page(lambda: render_bounds(found), html, quiet=quiet)
    emit(found, as_json=as_json, out=out)
