"""tellall limit."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import tellall
from tellall.cli.options import AsJson, Html, Out, Quiet, Seed, check_out, emit, repeated, say, write_page
from tellall.core.errors import invalid
from tellall.core.records import VERSION

__all__ = [
    "limit",
]


def limit(
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
    from tellall.attack.trace.files import read_shares
    from tellall.attack.trace.limit import describe_limit
    from tellall.core.version import versions
    from tellall.report.promise_pages import render_limit

    check_out(out)
    check_out(html, "--html")
    values, known, kind = read_shares(frequencies, people, coding)
    n = people if people is not None else known
    if n is None:
        raise invalid("--people", "given if the file does not say how many people there are", "nothing")
    shown = values[~np.isnan(values)]
    chosen = most if most is not None else max(1, min(shown.size, 20_000))
    found = tellall.release_limit(
        shown,
        n,
        protect=_protections(subsample, std, base),
        power=power,
        rate=rate,
        reference=reference,
        attack=attack,
        coding=coding or kind,
        most=chosen,
        trials=trials,
        rng=seed,
    )
    sentence = describe_limit(found, n, power=power, rate=rate, trials=trials)
    if not as_json and not quiet:
        say(sentence)
    given = {
        "people": people,
        "power": power,
        "rate": rate,
        "round": base,
        "noise": std,
        "subsample": subsample,
        "attack": attack,
        "reference": reference,
        "coding": coding,
        "most": most,
        "trials": trials,
        "seed": seed,
    }
    document = {
        "schema_version": VERSION,
        "tellall": tellall.__version__,
        "versions": versions(),
        "command": "limit",
        "repeat": repeated("limit", [frequencies], given),
        "frequencies": frequencies.name,
        "seed": seed,
        "people": n,
        "reference_people": 2 * n if reference is None else reference,
        "attack": attack,
        "power": power,
        "rate": rate,
        "round": base,
        "noise": std,
        "subsample": subsample,
        "trials": trials,
        "published": int(shown.size),
        "attributes": found.attributes,
        "all_tried_within_limit": not found.searched,
        "sentence": sentence,
        "curve": {
            "attributes": found.counts.tolist(),
            "power": found.power.tolist(),
            "low": found.low.tolist(),
            "high": found.high.tolist(),
        },
    }
    write_page(document, render_limit, html, quiet=quiet)
    emit(document, as_json=as_json, out=out)


def _protections(subsample: float | None, std: float | None, base: float | None) -> list[Any]:
    chosen: list[Any] = [] if subsample is None else [tellall.Subsample(subsample)]
    chosen += [] if std is None else [tellall.Gaussian(std)]
    return chosen + ([] if base is None else [tellall.Rounding(base)])
