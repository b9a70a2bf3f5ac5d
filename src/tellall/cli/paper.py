"""tellall paper."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import tellall
from tellall.cli.options import AsJson, Out, Quiet, Seed, check_out, emit
from tellall.errors import invalid

__all__ = ["paper"]

_PAPERS = {
    "private-ols": "tellall.papers.private_ols",
    "robust-tracing": "tellall.papers.robust_tracing",
}


def paper(
    name: Annotated[str, typer.Argument(help=f"One of: {', '.join(_PAPERS)}.")],
    data: Annotated[
        Path, typer.Option("--data", help="The folder that holds the paper's data files.")
    ] = Path(),
    full: Annotated[
        bool, typer.Option("--full/--quick", help="All draws and points, or at most a minute.")
    ] = False,
    as_json: AsJson = False,
    seed: Seed = 0,
    quiet: Quiet = False,
    out: Out = None,
) -> None:
    """Rerun a paper's tables and figures, ours beside the paper's statements."""
    from importlib import import_module

    if name not in _PAPERS:
        raise invalid("NAME", f"one of {', '.join(_PAPERS)}", name)
    check_out(out)
    result = import_module(_PAPERS[name]).rerun(data, quick=not full, rng=seed, progress=not quiet)
    if not as_json:
        typer.echo(str(result))
    document = {
        "schema_version": 1,
        "tellall": tellall.__version__,
        "command": "paper",
        "paper": name,
        "seed": seed,
        "quick": not full,
        **result.as_dict(),
    }
    emit(document, as_json=as_json, out=out)
