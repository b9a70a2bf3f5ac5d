"""tellall profile."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from tellall.cli.options import (
    AsJson,
    Html,
    Out,
    Quiet,
    check_out,
    emit,
    repeated,
    say,
    tell_assumed,
    write_page,
)

__all__ = [
    "profile",
]


def profile(
    context: typer.Context,
    data: Annotated[Path, typer.Argument(help="CSV, TSV or Parquet, one record a row.")],
    response: Annotated[str, typer.Option("--response", "-y", help="The column to regress on the others.")],
    features: Annotated[
        list[str] | None,
        typer.Option("--feature", "-x", help="A feature; repeat for more. Default: all numbers."),
    ] = None,
    constant: Annotated[bool, typer.Option(help="Add a constant column.")] = True,
    epsilon: Annotated[float, typer.Option(help="The ε that each method is calibrated to.")] = 1.0,
    delta: Annotated[float, typer.Option(help="The δ that each method is calibrated to.")] = 1e-5,
    max_advantage: Annotated[
        float | None,
        typer.Option(
            "--max-advantage",
            help="Calibrate to this instead: the most by which any attack's TPR may exceed its FPR.",
        ),
    ] = None,
    max_tpr: Annotated[
        float | None,
        typer.Option("--max-tpr", help="Calibrate to this instead: the largest TPR of any attack at --fpr."),
    ] = None,
    fpr: Annotated[
        float, typer.Option("--fpr", help="The false-positive rate at which true positives are shown.")
    ] = 0.01,
    prior: Annotated[
        float,
        typer.Option("--prior", help="How likely the attacker thought, before, that a record is there."),
    ] = 0.1,
    rows: Annotated[
        int | None, typer.Option(help="Rows of the sketch; default: the most that (ε, δ) allow.")
    ] = None,
    row_bound: Annotated[
        float | None,
        typer.Option(help="A public bound on the norm of a record; adds three methods that need one."),
    ] = None,
    at_epsilon: Annotated[list[float] | None, typer.Option(help="Show δ at this ε; repeat for more.")] = None,
    at_delta: Annotated[list[float] | None, typer.Option(help="Show ε at this δ; repeat for more.")] = None,
    as_json: AsJson = False,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the page's attack.")] = 0,
    quiet: Quiet = False,
    out: Out = None,
    reveal: Annotated[
        bool, typer.Option("--reveal", help="Also say which record is promised least.")
    ] = False,
    html: Html = None,
) -> None:
    """Say what differential privacy promises for a regression.

    First what any attacker could do at most, then ε and δ. With --html a page shows the promise at every ε,
    and how much of it an attack on draws achieves.
    """
    from tellall.audits.regression_profile import profile_of_file
    from tellall.report.promise_pages import render_profile
    from tellall.report.terminal import talk_console

    check_out(out)
    check_out(html, "--html")
    talk = talk_console(quiet=quiet)
    found = profile_of_file(
        data,
        response,
        features,
        constant=constant,
        epsilon=epsilon,
        delta=delta,
        rows=rows,
        row_bound=row_bound,
        epsilons=at_epsilon or (0.1, 0.5, 1.0, 2.0),
        deltas=at_delta or (1e-3, 1e-6),
        advantage=max_advantage,
        tpr=max_tpr,
        fpr=fpr,
        prior=prior,
        reveal=reveal,
        curves=html is not None,
        rng=seed,
    )
    tell_assumed(found.assumed, talk)
    for note in found.notes:
        talk.print(note, highlight=False, markup=False)
    if not as_json:
        say(str(found))
    if html is not None:
        found = replace(found, repeat=repeated(context))
        write_page(lambda: render_profile(found), html, quiet=quiet)
    emit(found, as_json=as_json, out=out)
