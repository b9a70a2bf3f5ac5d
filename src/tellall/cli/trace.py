"""tellall trace."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import tellall
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
    write_secret,
)
from tellall.core import files as store
from tellall.core.claims import claimed
from tellall.core.records import VERSION
from tellall.core.work import Progress

if TYPE_CHECKING:
    from tellall.attack.trace.files import TracingFiles
    from tellall.release.protections.protection import Noise
    from tellall.report.plot import Figure

__all__ = [
    "trace",
]

_SHOWN = 20  # targets listed on a terminal
_POWER, _RATE = (
    0.05,
    0.01,
)  # the share of members who may be traced, and at which rate; as in limit
_TRIALS = 1000  # releases simulated for that
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
    from tellall.attack.trace.files import read_members, read_tracing_files
    from tellall.attack.trace.verdict import judge_tracing
    from tellall.core.version import versions
    from tellall.report import text, trace_page

    check_page(out)
    given = read_tracing_files(
        release, targets, reference, coding=coding, palindromic=palindromic, people=people
    )
    truth, strangers = (None, "") if members is None else read_members(members, given.names)
    options: dict[str, Any] = {
        "attack": attack,
        "threshold": threshold,
        "delta": delta,
        "alpha": alpha,
        "sigma_max": sigma_max,
        "coding": given.coding,
        "n": people if people is not None else given.n,
        "alleles": given.alleles,
        "noise": _error(given, base, spread),
        # doubtful alleles have their own verdict, which says what to look at
        "anyway": anyway or given.doubtful,
    }
    talk = text.talk_console(quiet=quiet)
    with _watch(talk, given.targets, quiet=quiet) as watched:
        tracing = tellall.trace(given.means, watched, given.reference, **options)
    risk = None if truth is None else tellall.score(tracing, truth)
    verdict = judge_tracing(tracing, risk, doubtful=given.doubtful)
    asked = {
        "release": release,
        "targets": targets,
        "reference": reference,
        **{name: options[name] for name in ("attack", "threshold", "delta", "alpha", "sigma_max")},
        "coding": coding,
        "people": people,
        "round": base,
        "noise": spread,
        "members": members,
    }
    document = {
        "schema_version": VERSION,
        "document": "trace",
        "tellall": tellall.__version__,
        "versions": versions(),
        "command": _command(asked, {"palindromic": palindromic, "anyway": anyway}, seed),
        "release": release.name,
        "people": options["n"],
        "notes": [note for note in (*given.notes, strangers, *tracing.notes) if note],
        **trace_page.summarise_tracing(tracing, verdict, risk, seed),
    }
    page = talk if as_json or quiet else text.PlainConsole()
    for line in (str(verdict), repr(tracing), *([] if risk is None else [repr(risk)]), *document["notes"]):
        page.print(line, highlight=False, markup=False)
    if out is not None and is_folder(out):
        with _watch(talk, given.targets, quiet=quiet) as watched:
            drawn = _figures(given, watched, tracing, truth, options, seed, reveal)
        document["limit"] = _publishable(given, tracing, options, seed)
        document["figures"] = [figure.as_json() for figure in drawn]
        page_text = trace_page.render(document)
        with claimed(out, patience=10), store.together() as batch:
            batch.text(out / "trace.json", store.dump(document))
            written = batch.text(out / "report.html", page_text)
        announce(written, talk)
    if reveal:
        rows = _rows(given.names, tracing)
        page.print(_table(rows))
        secret = write_secret(_beside(out, release), {"warning": _WARNING, "targets": rows})
        talk.print(f"The people named are in {secret}", highlight=False, markup=False, soft_wrap=True)
    emit(document, as_json=as_json, out=None if is_folder(out) else out)
    if verdict.exit_code:
        raise typer.Exit(verdict.exit_code)


def _error(given: TracingFiles, base: float | None, spread: float | None) -> Noise | None:
    """The law of the error of the means, as the file or the options say."""
    from tellall.core.errors import invalid
    from tellall.release.protections.protection import Sum

    laws: list[Noise] = []
    if spread is not None:
        laws.append(tellall.Gaussian(spread))
    if base is not None:
        laws.append(tellall.Rounding(base))
    if not laws:
        return given.noise
    if given.noise is not None:
        option = "--noise" if base is None else "--round"
        raise invalid(option, "left out for a saved release, which says what was done to it", laws[-1])
    return laws[0] if len(laws) == 1 else Sum(tuple(laws))


def _command(asked: dict[str, Any], flags: dict[str, bool], seed: int) -> str:
    """The command with the options given; files without their folders, whose names may name people."""
    parts = ["tellall", "trace"]
    for name, value in asked.items():
        if value is not None:
            parts += [f"--{name.replace('_', '-')}", value.name if isinstance(value, Path) else str(value)]
    set_flags = [f"--{name}" for name, chosen in flags.items() if chosen]
    return shlex.join([*parts, *set_flags, "--seed", str(seed)])


def _figures(
    given: TracingFiles,
    watched: Any,
    tracing: tellall.Tracing,
    truth: Any,
    options: dict[str, Any],
    seed: int,
    reveal: bool,
) -> tuple[Figure, ...]:
    """The page's figures; the attack is repeated with fewer attributes where that is quick."""
    from tellall.attack.trace.limit import simulate_tracing
    from tellall.attack.trace.risk import MOST_CALLS, trace_by_attributes
    from tellall.report.trace_figures import tracing_figures

    growth = None
    if (given.targets.shape[0] + given.reference.shape[0]) * given.targets.shape[1] <= MOST_CALLS:
        growth = trace_by_attributes(
            given.means, watched, given.reference, whole=tracing, rng=seed, **options
        )
    limit = simulate_tracing(
        tracing, given.means, options["n"], coding=given.coding, alpha=options["alpha"], rng=seed
    )
    return tracing_figures(tracing, truth=truth, growth=growth, limit=limit, reveal=reveal)


def _publishable(
    given: TracingFiles, tracing: tellall.Tracing, options: dict[str, Any], seed: int
) -> dict[str, Any] | None:
    """How many of these means can be published, by simulation; None if that cannot be simulated."""
    from tellall.attack.trace.limit import describe_limit, simulate_tracing

    allowed: dict[str, Any] = {"power": _POWER, "rate": _RATE, "trials": _TRIALS}
    found = simulate_tracing(
        tracing,
        given.means,
        options["n"],
        coding=given.coding,
        alpha=options["alpha"],
        rng=seed,
        **allowed,
    )
    if found is None:
        return None
    sentence = describe_limit(found, options["n"], **allowed)
    return {"attributes": found.attributes, "reached": found.searched, "sentence": sentence, **allowed}


def _rows(names: tuple[str, ...], tracing: tellall.Tracing) -> list[dict[str, Any]]:
    """What the attack says about each target."""
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


@dataclass(frozen=True, eq=False)
class _Watched:
    """People who report how many of their attributes have been read."""

    source: Any
    tell: Progress

    @property
    def shape(self) -> tuple[int, int]:
        count, width = self.source.shape
        return int(count), int(width)

    def chunk(self, start: int, stop: int) -> Any:
        self.tell(stop, self.shape[1])
        return self.source.chunk(start, stop)


@contextmanager
def _watch(talk: Any, source: Any, *, quiet: bool) -> Iterator[Any]:
    """The targets, with a progress bar on a terminal."""
    with progress_bar(talk, "tracing", quiet=quiet) as tell:
        yield source if tell is None else _Watched(source, tell)


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
