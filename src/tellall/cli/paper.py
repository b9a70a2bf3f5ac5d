"""tellall paper."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from tellall.cli.options import AsJson, OutPage, Quiet, Seed, check_page, emit, is_folder, progress_bar, say
from tellall.core.errors import invalid

__all__ = [
    "paper",
]

_PAPERS = {
    "contingency-tables": "tellall.papers.contingency_tables",
    "linear-reconstruction": "tellall.papers.linear_reconstruction",
    "private-ols": "tellall.papers.private_ols",
    "regression-noise": "tellall.papers.regression_noise",
    "robust-tracing": "tellall.papers.robust_tracing",
}


def paper(
    name: Annotated[str, typer.Argument(help=f"One of: {', '.join(_PAPERS)}.")],
    data: Annotated[
        Path, typer.Option("--data", help="The folder that holds the paper's data files.")
    ] = Path(),
    full: Annotated[
        bool, typer.Option("--full/--quick", help="All draws and points, or one to two minutes of one core.")
    ] = False,
    about: Annotated[
        str,
        typer.Option("--about", help="Run and print only this object or erratum: Table 3, E-LR-1."),
    ] = "",
    as_json: AsJson = False,
    seed: Seed = 0,
    quiet: Quiet = False,
    out: OutPage = None,
) -> None:
    """Rerun a paper and compare its statements with our numbers."""
    from importlib import import_module

    from tellall.report import terminal as text
    from tellall.report.paper import PaperRerun

    if name not in _PAPERS:
        raise invalid("NAME", f"one of {', '.join(_PAPERS)}", name)
    check_page(out)
    module = import_module(_PAPERS[name])
    if about:
        module.PAPER.check_about(about)
    talk = text.talk_console(quiet=quiet)
    with progress_bar(talk, "rerunning", quiet=quiet) as bar:
        result: PaperRerun = module.rerun(data, quick=not full, rng=seed, progress=bar, about=about)
    if data != Path():
        result = replace(result, data=str(data))
    if not as_json:
        say(str(result))
    if out is not None and is_folder(out):
        page = result.save(out)
        talk.print(f"The page is {page}", highlight=False, markup=False, soft_wrap=True)
        out = None
    emit(result.as_json(), as_json=as_json, out=out)
