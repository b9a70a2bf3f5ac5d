"""tellall trace."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tellall.cli.options import (
    AsJson,
    OutPage,
    Quiet,
    Reveal,
    Seed,
    announce,
    check_page,
    emit,
    is_folder,
    progress_bar,
    repeated,
    write_secret,
)
from tellall.core import files as store
from tellall.core.locks import claimed

if TYPE_CHECKING:
    from rich.table import Table

    from tellall.report.trace_page import TracingPage
    from tellall.tracing.trace_files import NamedTargets

__all__ = [
    "trace",
]

_SHOWN = 20  # targets listed on a terminal

Release = Annotated[
    Path,
    typer.Option(
        "--release",
        help="Published means: .frq, .afreq, GWAS-SSF, a table of name, mean, or release.json.",
    ),
]
Targets = Annotated[
    Path, typer.Option("--targets", help="The people to trace: .bed, .vcf, .bcf, CSV or Parquet.")
]
Reference = Annotated[
    Path, typer.Option("--reference", help="People of the same population who are not in the data.")
]
Attack = Annotated[str, typer.Option("--attack", help="single, pool, gaussian, likelihood-ratio or homer.")]
Threshold = Annotated[str, typer.Option("--threshold", help="empirical, hoeffding or paper.")]
Delta = Annotated[float, typer.Option("--delta", help="False-positive rate allowed per target.")]
Alpha = Annotated[float | None, typer.Option("--alpha", help="Accuracy at which pool truncates.")]
SigmaMax = Annotated[float | None, typer.Option("--sigma-max", help="Largest spread, for gaussian.")]
Coding = Annotated[
    str | None, typer.Option("--coding", help="signs, bits or genotypes; bits for tables if not given.")
]
Size = Annotated[int | None, typer.Option("--people", min=1, help="How many people the means are over.")]
Members = Annotated[
    Path | None, typer.Option("--members", help="Names of targets known to be in the data, one per line.")
]
Palindromic = Annotated[
    bool, typer.Option("--palindromic", help="Keep A/T and C/G sites, trusting their strand.")
]
Base = Annotated[float | None, typer.Option("--round", help="The means were rounded to multiples of this.")]
Spread = Annotated[float | None, typer.Option("--noise", help="The means have normal noise of this spread.")]
Anyway = Annotated[
    bool,
    typer.Option("--anyway", help="Trace even if the reference is, or may be, of another population."),
]


def trace(
    context: typer.Context,
    release: Release,
    targets: Targets,
    reference: Reference,
    attack: Attack = "pool",
    threshold: Threshold = "empirical",
    delta: Delta = 0.05,
    alpha: Alpha = None,
    sigma_max: SigmaMax = None,
    coding: Coding = None,
    people: Size = None,
    members: Members = None,
    base: Base = None,
    spread: Spread = None,
    palindromic: Palindromic = False,
    anyway: Anyway = False,
    as_json: AsJson = False,
    seed: Seed = 0,
    quiet: Quiet = False,
    out: OutPage = None,
    reveal: Reveal = False,
) -> None:
    """Say how many targets were in the data, from published means.

    With -o FOLDER a page is written: the verdict, the ROC curve if --members says who was in the data, power
    against the number of attributes, scores. Nothing names a person without --reveal.

    Exit codes: 0 traced or not, 2 bad input or usage, 3 inconclusive. tellall --help has the others.
    """
    from tellall.report.terminal import PlainConsole, talk_console
    from tellall.report.trace_page import page_of
    from tellall.tracing.trace_files import trace_files

    check_page(out)
    talk = talk_console(quiet=quiet)
    watch = partial(progress_bar, talk, "tracing", quiet=quiet)
    traced = trace_files(
        release,
        targets,
        reference,
        attack=attack,
        threshold=threshold,
        delta=delta,
        alpha=alpha,
        sigma_max=sigma_max,
        coding=coding,
        people=people,
        members=members,
        base=base,
        std=spread,
        palindromic=palindromic,
        anyway=anyway,
        rng=seed,
        command=repeated(context),
        watch=watch,
    )
    found = traced.found
    page = talk if as_json or quiet else PlainConsole()
    said = [found.verdict, repr(traced.tracing), *([] if traced.risk is None else [repr(traced.risk)])]
    for line in (*said, *found.notes):
        page.print(str(line), highlight=False, markup=False)
    if out is not None and is_folder(out):
        found = page_of(traced, reveal=reveal, watch=watch)
        announce(_write_page(found, out), talk)
    if reveal:
        page.print(_table(traced.named))
        secret = write_secret(_beside(out, release), traced.named)
        talk.print(f"The people named are in {secret}", highlight=False, markup=False, soft_wrap=True)
    emit(found, as_json=as_json, out=None if is_folder(out) else out)
    if found.verdict.exit_code:
        raise typer.Exit(found.verdict.exit_code)


def _write_page(found: TracingPage, out: Path) -> Path:
    """The page, written with its document next to it."""
    from tellall.report.trace_page import render

    text = render(found)
    with claimed(out, patience=10), store.together() as batch:
        batch.text(out / "trace.json", store.dump(found))
        return batch.text(out / "report.html", text)


def _beside(out: Path | None, release: Path) -> Path:
    """Where the file about single people goes."""
    if out is None:
        return Path(f"{release.stem}-people")
    return out / "people" if is_folder(out) else out


def _table(named: NamedTargets) -> Table:
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for name in ("target", "score", "p", "in the data"):
        table.add_column(name, justify="left" if name == "target" else "right")
    for one in named.likeliest[:_SHOWN]:
        table.add_row(one.name, f"{one.score:.4g}", f"{one.p_value:.3g}", "yes" if one.member else "no")
    if len(named.targets) > _SHOWN:
        table.add_row(f"... {len(named.targets)} in all", "", "", "")
    return table
