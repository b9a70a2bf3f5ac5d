"""tellall trace."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import tellall
from tellall.cli.options import AsJson, Out, Quiet, Seed, check_out, emit
from tellall.errors import invalid

__all__ = ["trace"]

_SHOWN = 20  # targets listed on a terminal

Release = Annotated[
    Path, typer.Option("--release", help="Published means: .frq, .afreq, GWAS-SSF, or a CSV of name, mean.")
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
class _Inputs:
    means: Any
    targets: Any
    reference: Any
    names: tuple[str, ...]
    coding: str
    n: int | None
    notes: tuple[str, ...]


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
    out: Out = None,
) -> None:
    """Tell who of the targets was in the data whose means were published."""
    from rich.console import Console
    from rich.progress import Progress

    from tellall.report import text

    check_out(out)
    inputs = _read(release, targets, reference, coding, palindromic)
    n = people if people is not None else inputs.n
    talk = text.talk_console(quiet=quiet)
    with Progress(console=talk, transient=True, disable=quiet or not talk.is_terminal) as bar:
        task = bar.add_task("tracing", total=inputs.targets.shape[1])
        tracing = tellall.trace(
            inputs.means,
            _Watched(inputs.targets, lambda stop: bar.update(task, completed=stop)),
            inputs.reference,
            attack=attack,
            delta=delta,
            alpha=alpha,
            sigma_max=sigma_max,
            threshold=threshold,
            coding=inputs.coding,
            n=n,
        )
    named = tracing.discoveries()
    page = talk if as_json or quiet else Console()
    document: dict[str, Any] = {
        "schema_version": 1,
        "tellall": tellall.__version__,
        "command": "trace",
        "seed": seed,
        "attack": tracing.attack,
        "threshold": tracing.rule,
        "delta": delta,
        "attributes": tracing.attributes,
        "reference_people": tracing.reference_people,
        "people": n,
        "notes": [*inputs.notes, *tracing.notes],
        "traced": tracing.traced,
        "named_at_false_discovery_rate": int(named.sum()),
        "targets": [
            {"name": name, "score": score, "p_value": p, "member": member, "named": found}
            for name, score, p, member, found in zip(
                inputs.names,
                tracing.scores.tolist(),
                tracing.p_values.tolist(),
                tracing.member.tolist(),
                named.tolist(),
                strict=True,
            )
        ],
    }
    lines = [repr(tracing), f"{int(named.sum())} may be named at a false-discovery rate of {delta:g}."]
    if members is not None:
        risk = tellall.score(tracing, _truth(members, inputs.names))
        document["risk"] = _risk(risk, seed)
        lines.append(repr(risk))
    for line in (*lines, *document["notes"]):
        page.print(line, highlight=False, markup=False)
    page.print(_table(document["targets"]))
    emit(document, as_json=as_json, out=out)


def _risk(risk: tellall.TracingRisk, seed: int) -> dict[str, Any]:
    return {
        "members": risk.members,
        "others": risk.others,
        "traced": risk.traced,
        "false": risk.false,
        "auc": asdict(risk.auc),
        "power_at_0.01": asdict(risk.power(0.01, rng=seed)),
        "power_at_0.001": asdict(risk.power(0.001, rng=seed)),
        "epsilon_disproved": risk.epsilon().lower,
        "roc": {name: curve.tolist() for name, curve in risk.roc().items()},
    }


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


def _truth(path: Path, names: tuple[str, ...]) -> list[bool]:
    if not path.is_file():
        raise invalid("--members", "a file that exists", str(path))
    known = {line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()}
    if not known & set(names):
        raise invalid("--members", "names of targets, one a line", f"none of the {len(known)} is a target")
    return [name in known for name in names]


def _read(release: Path, targets: Path, reference: Path, coding: str | None, palindromic: bool) -> _Inputs:
    from tellall.genomics.genotypes import GENOTYPE_ENDINGS

    genomes = [path.name.lower().endswith(GENOTYPE_ENDINGS) for path in (targets, reference)]
    if all(genomes):
        return _genomes(release, targets, reference, coding, palindromic)
    if any(genomes):
        raise invalid("--reference", "of the same kind of file as --targets", str(reference))
    return _tables(release, targets, reference, coding or "bits")


def _genomes(release: Path, targets: Path, reference: Path, coding: str | None, palindromic: bool) -> _Inputs:
    from tellall import genomics

    if coding not in (None, "genotypes"):
        raise invalid("--coding", "genotypes, or left out, for genotype files", coding)
    people = genomics.read_genotypes(targets)
    aligned = genomics.align(
        genomics.read_frequencies(release),
        people,
        genomics.read_genotypes(reference),
        palindromic=palindromic,
    )
    return _Inputs(
        aligned.means,
        aligned.targets,
        aligned.reference,
        people.people,
        "genotypes",
        aligned.n,
        aligned.notes,
    )


def _tables(release: Path, targets: Path, reference: Path, coding: str) -> _Inputs:
    from tellall.attacks.tracing_scores import as_blocks
    from tellall.io import read_table

    columns = list(read_table(release).items())
    if len(columns) != 2:
        raise invalid("--release", "a table of two columns, name and mean", f"{len(columns)} columns")
    names = [str(name) for name in columns[0][1]]
    if len(set(names)) < len(names):
        raise invalid("--release", "each name once", "a name twice")
    means = _numbers("--release", columns[1][0], columns[1][1])
    first, second = read_table(targets), read_table(reference)
    common = [place for place, name in enumerate(names) if name in first and name in second]
    if not common:
        raise invalid("--targets", "a table with the columns of the release", ", ".join(list(first)[:6]))
    notes = (f"{len(common):,} of {len(names):,} published means have a column in both tables.",)
    arrays = [
        np.stack([_numbers(option, names[place], table[names[place]]) for place in common], axis=1)
        for option, table in (("--targets", first), ("--reference", second))
    ]
    ids = first.get("id")
    count = arrays[0].shape[0]
    who = tuple(map(str, ids)) if ids is not None else tuple(f"row {row + 1}" for row in range(count))
    return _Inputs(means[common], as_blocks("targets", arrays[0]), arrays[1], who, coding, None, notes)


def _numbers(option: str, name: str, column: Any) -> Any:
    try:
        return np.ma.filled(np.ma.asarray(column).astype(np.float64), np.nan)
    except (TypeError, ValueError):
        raise invalid(option, f"numbers in column '{name}'", "text") from None
