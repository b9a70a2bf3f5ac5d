"""tellall profile."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

import tellall
from tellall.cli.options import (
    AsJson,
    Html,
    Out,
    Quiet,
    check_out,
    emit,
    say,
    tell_assumed,
    write_page,
)
from tellall.core.errors import invalid
from tellall.core.records import VERSION

__all__ = [
    "profile",
]


def profile(
    data: Annotated[Path, typer.Argument(help="CSV, TSV or Parquet, one record a row.")],
    response: Annotated[str, typer.Option("--response", "-y", help="The column to regress on the others.")],
    features: Annotated[
        list[str] | None,
        typer.Option("--feature", "-x", help="A feature; repeat for more. Default: all numbers."),
    ] = None,
    constant: Annotated[bool, typer.Option(help="Add a constant column.")] = True,
    epsilon: Annotated[float, typer.Option(help="The ε that each method is calibrated to.")] = 1.0,
    delta: Annotated[float, typer.Option(help="The δ that each method is calibrated to.")] = 1e-5,
    rows: Annotated[
        int | None, typer.Option(help="Rows of the sketch; default: the most that (ε, δ) allow.")
    ] = None,
    row_bound: Annotated[
        float | None,
        typer.Option(help="A public bound on the norm of a record; adds projected least squares."),
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

    With --html a page shows the promise at every ε, and how much of it an attack on draws achieves.
    """
    from tellall.core.version import versions
    from tellall.experiment.measures.curves import profile_curves
    from tellall.report.promise_pages import render_profile
    from tellall.report.text import talk_console

    check_out(out)
    check_out(html, "--html")
    talk = talk_console(quiet=quiet)
    matrix, target, used = _columns(data, response, features, constant, talk)
    talk.print(f"{response} on {', '.join(used)}", highlight=False, markup=False)
    methods = tellall.standard_methods(
        matrix, target, epsilon=epsilon, delta=delta, rows=rows, row_bound=row_bound
    )
    if not any(isinstance(method, tellall.SketchedLeastSquares) for method in methods):
        talk.print(f"no sketch keeps ({epsilon:g}, {delta:g}) on this data: left out", highlight=False)
    table = tellall.profile_table(
        matrix, target, methods, epsilons=at_epsilon or (0.1, 0.5, 1.0, 2.0), deltas=at_delta or (1e-3, 1e-6)
    )
    if not reveal:  # which record is the worst points at a person
        table = replace(table, rows=tuple(replace(row, worst_record=None) for row in table.rows))
    if not as_json:
        say(str(table))
    document = {
        "schema_version": VERSION,
        "tellall": tellall.__version__,
        "versions": versions(),
        "command": "profile",
        "response": response,
        "columns": used,
        **table.as_dict(),
    }
    if html is not None:
        largest = max(table.at_epsilons)
        document["repeat"] = _repeated(data, response, features, constant, epsilon, delta, rows, row_bound)
        document["seed"] = seed
        document["curves"] = profile_curves(matrix, target, methods, largest=largest, rng=seed)
        write_page(document, render_profile, html, quiet=quiet)
    emit(document, as_json=as_json, out=out)


def _repeated(
    data: Path,
    response: str,
    features: list[str] | None,
    constant: bool,
    epsilon: float,
    delta: float,
    rows: int | None,
    row_bound: float | None,
) -> str:
    """The command that repeats a page; files without their folders, whose names may name people."""
    given: list[str] = ["--response", response]
    given += [part for name in features or () for part in ("--feature", name)]
    given += [] if constant else ["--no-constant"]
    given += ["--epsilon", f"{epsilon:g}", "--delta", f"{delta:g}"]
    given += [] if rows is None else ["--rows", str(rows)]
    given += [] if row_bound is None else ["--row-bound", f"{row_bound:g}"]
    return shlex.join(["tellall", "profile", data.name, *given])


def _columns(
    data: Path, response: str, features: list[str] | None, constant: bool, talk: Any
) -> tuple[Any, Any, list[str]]:
    """The features and the response as numbers; records with a missing value are left out, with a message."""
    import numpy as np

    from tellall.people.dataset import unknown_name
    from tellall.people.readers import read_table

    table = read_table(data)
    tell_assumed(getattr(table, "assumed", ""), talk)
    names = [str(name) for name in table]
    numeric = [name for name in names if np.ma.asarray(table[name]).dtype.kind in "biuf"]
    chosen = features or [name for name in numeric if name != response]
    for parameter, name in [("--response", response), *(("--feature", name) for name in chosen)]:
        if name not in names:
            raise unknown_name(parameter, name, names)
        if name not in numeric:
            raise invalid(parameter, "a column of numbers", f"'{name}'")
    if not chosen:
        raise invalid("--feature", "one column of numbers or more", "none")
    numbers = np.column_stack(
        [np.ma.filled(np.ma.asarray(table[name]).astype(float), np.nan) for name in [*chosen, response]]
    )
    known = np.isfinite(numbers).all(axis=1)
    if not known.all():
        gone = int((~known).sum())
        talk.print(f"left out {gone} of {known.size} records with a missing value", highlight=False)
    matrix, target = numbers[known, :-1], numbers[known, -1]
    if constant:
        matrix = np.column_stack([np.ones(len(matrix)), matrix])
    return matrix, target, [*(["constant"] if constant else []), *chosen]
