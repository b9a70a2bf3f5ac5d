"""tellall trace."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

import tellall
from tellall.cli.options import (
    AsJson,
    OutPage,
    Quiet,
    Reveal,
    Seed,
    check_page,
    emit,
    is_folder,
    write_secret,
)
from tellall.cli.trace_files import Inputs, read_files, read_truth, repeated
from tellall.core import files as store

if TYPE_CHECKING:
    from tellall.report.plot import Figure

__all__ = [
    "trace",
]

_SHOWN = 20  # targets listed on a terminal
_SIMULATED = 20_000  # attributes at most in the simulation, and releases simulated
_TRIALS = 300
_MOST_TRIALS = 10_000  # a rate that takes more to be seen once is not simulated
_WARNING = "SECRET: what an attack concludes about single people. Not for publication."

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
    Path | None, typer.Option("--members", help="Names of targets known to be in the data, one a line.")
]
Palindromic = Annotated[
    bool, typer.Option("--palindromic", help="Keep A/T and C/G sites, trusting their strand.")
]


@dataclass(frozen=True, eq=False)
class _Watched:
    """A source of blocks that tells how far it has been read."""

    source: Any
    tell: Callable[[int], None]

    @property
    def shape(self) -> tuple[int, int]:
        count, width = self.source.shape
        return int(count), int(width)

    def block(self, start: int, stop: int) -> Any:
        self.tell(stop)
        return self.source.block(start, stop)

    def packed(self, start: int, stop: int) -> Any:
        from tellall.attack.trace.blocks import packed_of

        self.tell(stop)
        return packed_of(self.source, start, stop)


def trace(
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
    palindromic: Palindromic = False,
    as_json: AsJson = False,
    seed: Seed = 0,
    quiet: Quiet = False,
    out: OutPage = None,
    reveal: Reveal = False,
) -> None:
    """Tell how many of the targets were in the data whose means were published; with --reveal, who.

    With -o FOLDER a page is written: the verdict, the ROC curve where --members tells the truth, power
    against the number of attributes, scores. Nothing names a person without --reveal.
    """
    from rich.console import Console

    from tellall.report import text, trace_page

    check_page(out)
    inputs = read_files(release, targets, reference, coding, palindromic, people)
    truth = None
    if members is not None:
        known, said = read_truth(members, inputs.names)
        truth, inputs = np.array(known), replace(inputs, notes=(*inputs.notes, *said))
    n = people if people is not None else inputs.n
    options: dict[str, Any] = {
        "attack": attack,
        "delta": delta,
        "alpha": alpha,
        "sigma_max": sigma_max,
        "threshold": threshold,
        "coding": inputs.coding,
        "n": n,
        "alleles": inputs.alleles,
    }
    talk = text.talk_console(quiet=quiet)
    with _watch(talk, inputs.targets, quiet=quiet) as watched:
        tracing = tellall.trace(inputs.means, watched, inputs.reference, **options)
    risk = None if truth is None else tellall.score(tracing, truth)
    verdict = trace_page.judge_tracing(tracing, risk, doubtful=inputs.doubtful)
    document = _document(release, tracing, inputs, n, seed)
    files = {"release": release, "targets": targets, "reference": reference, "members": members}
    asked = {**files, **options, "coding": coding, "people": people, "palindromic": palindromic}
    document["command"] = repeated(asked, seed)
    document["verdict"] = {"word": verdict.word, "sentence": verdict.sentence}
    lines = [f"{verdict.word.capitalize()}. {verdict.sentence}", repr(tracing)]
    if risk is not None:
        document["risk"] = trace_page.risk_summary(risk, seed)
        lines.append(repr(risk))
    page = talk if as_json or quiet else Console()
    for line in (*lines, *document["notes"]):
        page.print(line, highlight=False, markup=False)
    if out is not None and is_folder(out):
        with _watch(talk, inputs.targets, quiet=quiet) as watched:
            drawn = _figures(inputs, watched, tracing, truth, options, seed, reveal)
        document["figures"] = [figure.as_json() for figure in drawn]
        out.mkdir(exist_ok=True)
        store.write_json(out / "trace.json", document)
        written = store.write_text(out / "report.html", trace_page.render(document))
        talk.print(f"The page is {written}", highlight=False, markup=False, soft_wrap=True)
    if reveal:
        rows = _rows(inputs.names, tracing)
        page.print(_table(rows))
        secret = write_secret(_beside(out, release), {"warning": _WARNING, "targets": rows})
        talk.print(f"Who is named is in {secret}", highlight=False, markup=False, soft_wrap=True)
    emit(document, as_json=as_json, out=None if is_folder(out) else out)
    if verdict.word == "inconclusive":
        raise typer.Exit(3)


def _document(
    release: Path, tracing: tellall.Tracing, inputs: Inputs, n: int | None, seed: int
) -> dict[str, Any]:
    """What was found, counted; no person in it."""
    from tellall.core.version import versions

    return {
        "schema_version": 1,
        "document": "trace",
        "tellall": tellall.__version__,
        "versions": versions(),
        "command": "tellall trace",
        "release": release.name,
        "seed": seed,
        "attack": tracing.attack,
        "threshold": tracing.rule,
        "delta": tracing.delta,
        "attributes": tracing.attributes,
        "reference_people": tracing.reference_people,
        "target_people": int(tracing.scores.size),
        "people": n,
        "missing_calls": dict(zip(("targets", "reference"), tracing.missing_calls, strict=True)),
        "targets_without_calls": tracing.without_calls,
        "reference_people_lacking_calls": tracing.reference_lacking,
        "notes": [*inputs.notes, *tracing.notes],
        "traced": tracing.traced,
        "named_at_false_discovery_rate": int(tracing.discoveries().sum()),
        "risk": None,
    }


def _figures(
    inputs: Inputs,
    watched: Any,
    tracing: tellall.Tracing,
    truth: Any,
    options: dict[str, Any],
    seed: int,
    reveal: bool,
) -> tuple[Figure, ...]:
    """The page's figures; the attack is repeated on fewer attributes where that is quick."""
    from tellall.attack.trace.risk import MOST_CALLS, trace_by_attributes
    from tellall.report.trace_figures import tracing_figures

    calls = (inputs.targets.shape[0] + inputs.reference.shape[0]) * inputs.targets.shape[1]
    growth = None
    if calls <= MOST_CALLS:
        growth = trace_by_attributes(
            inputs.means, watched, inputs.reference, whole=tracing, rng=seed, **options
        )
    limit = _simulated(inputs, tracing, options, seed)
    return tracing_figures(tracing, truth=truth, growth=growth, limit=limit, reveal=reveal)


def _simulated(
    inputs: Inputs, tracing: tellall.Tracing, options: dict[str, Any], seed: int
) -> tellall.ReleaseLimit | None:
    """The attack's power by simulation, where the number of people is known and the means are frequencies."""
    shares = np.asarray(inputs.means, dtype=np.float64)
    shares = (shares + 1) / 2 if inputs.coding == "signs" else shares
    within = bool(((shares >= 0) & (shares <= 1) | np.isnan(shares)).all())
    trials = max(_TRIALS, min(math.ceil(1 / max(tracing.delta, 1e-300)), _MOST_TRIALS + 1))
    if options["n"] is None or tracing.attack == "gaussian" or not within or trials > _MOST_TRIALS:
        return None
    return tellall.release_limit(
        shares,
        options["n"],
        power=1.0,
        rate=tracing.delta,
        reference=tracing.reference_people,
        attack=tracing.attack,
        alpha=options["alpha"],
        coding="genotypes" if inputs.coding == "genotypes" else "bits",
        most=min(tracing.attributes, _SIMULATED),
        trials=trials,
        rng=seed,
    )


def _rows(names: tuple[str, ...], tracing: tellall.Tracing) -> list[dict[str, Any]]:
    """What the attack says of each target."""
    columns = (tracing.scores, tracing.p_values, tracing.member, tracing.discoveries())
    return [
        {"name": name, "score": score, "p_value": p, "member": member, "named": named}
        for name, score, p, member, named in zip(names, *(column.tolist() for column in columns), strict=True)
    ]


def _beside(out: Path | None, release: Path) -> Path:
    """Where the file about single people goes."""
    if out is None:
        return Path(f"{release.stem}-people")
    return out / "people" if is_folder(out) else out


@contextmanager
def _watch(talk: Any, source: Any, *, quiet: bool) -> Iterator[_Watched]:
    """The targets with a progress bar, where there is a terminal."""
    from rich.progress import Progress

    with Progress(console=talk, transient=True, disable=quiet or not talk.is_terminal) as bar:
        task = bar.add_task("tracing", total=source.shape[1])
        yield _Watched(source, lambda stop: bar.update(task, completed=stop))


def _table(rows: list[dict[str, Any]]) -> Any:
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for name in ("target", "score", "p", "in the data"):
        table.add_column(name, justify="left" if name == "target" else "right")
    for row in sorted(rows, key=lambda row: (row["p_value"], -row["score"]))[:_SHOWN]:
        said = "yes" if row["member"] else "no"
        table.add_row(row["name"], f"{row['score']:.4g}", f"{row['p_value']:.3g}", said)
    if len(rows) > _SHOWN:
        table.add_row(f"... {len(rows)} in all", "", "", "")
    return table
