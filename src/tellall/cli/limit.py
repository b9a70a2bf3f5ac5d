"""tellall limit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from tellall.cli.options import AsJson, Html, Out, Quiet, Seed, check_out, emit, repeated, say, write_page

__all__ = [
    "limit",
]


def limit(
    context: typer.Context,
    frequencies: Annotated[
        Path,
        typer.Argument(
            help="What is to be published: .frq, .afreq, GWAS-SSF, a table of name, mean, or release.json."
        ),
    ],
    people: Annotated[
        int | None, typer.Option("--people", "-n", min=1, help="How many people the means are over.")
    ] = None,
    power: Annotated[float, typer.Option(help="The share of members that may be traced.")] = 0.05,
    rate: Annotated[float, typer.Option(help="The false-positive rate at which that is counted.")] = 0.01,
    base: Annotated[float | None, typer.Option("--round", help="Round means to multiples of this.")] = None,
    std: Annotated[float | None, typer.Option("--noise", help="Add normal noise of this spread.")] = None,
    subsample: Annotated[
        float | None, typer.Option("--subsample", help="Publish the means of this share of the people.")
    ] = None,
    attack: Annotated[
        str, typer.Option("--attack", help="likelihood-ratio, pool, single or homer.")
    ] = "likelihood-ratio",
    reference: Annotated[
        int | None,
        typer.Option("--reference", min=1, help="Reference people the attacker has; 2n if not given."),
    ] = None,
    coding: Annotated[
        str | None, typer.Option("--coding", help="bits or genotypes; by default as the file says.")
    ] = None,
    most: Annotated[
        int | None,
        typer.Option("--most", min=1, help="Most means to try; by default the file's, up to 20,000."),
    ] = None,
    trials: Annotated[int, typer.Option("--trials", min=2, help="Releases to simulate.")] = 4000,
    as_json: AsJson = False,
    seed: Seed = 0,
    quiet: Quiet = False,
    out: Out = None,
    html: Html = None,
) -> None:
    """Say how many means can be published before people are traced."""
    from tellall.report.promise_pages import render_limit
    from tellall.tracing.limit_files import limit_of_file

    check_out(out)
    check_out(html, "--html")
    found = limit_of_file(
        frequencies,
        people,
        power=power,
        rate=rate,
        base=base,
        std=std,
        subsample=subsample,
        attack=attack,
        reference=reference,
        coding=coding,
        most=most,
        trials=trials,
        rng=seed,
    )
    found = replace(found, repeat=repeated(context))
    if not as_json and not quiet:
        say(found.sentence)
    write_page(lambda: render_limit(found), html, quiet=quiet)
    emit(found, as_json=as_json, out=out)
