"""The files of tellall trace: means and people, brought to the same attributes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tellall.errors import invalid

__all__ = ["Inputs", "read_files", "read_truth"]


@dataclass(frozen=True, eq=False)
class Inputs:
    """What the files hold; `n` is how many people the means are over, where a file says so."""

    means: Any
    targets: Any
    reference: Any
    names: tuple[str, ...]
    coding: str
    n: int | None
    notes: tuple[str, ...]


def read_truth(path: Path, names: tuple[str, ...]) -> list[bool]:
    """Who of the targets is named in a file, one a line."""
    if not path.is_file():
        raise invalid("--members", "a file that exists", str(path))
    known = {line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()}
    if not known & set(names):
        raise invalid("--members", "names of targets, one a line", f"none of the {len(known)} is a target")
    return [name in known for name in names]


def read_files(
    release: Path, targets: Path, reference: Path, coding: str | None, palindromic: bool
) -> Inputs:
    """Means, targets and reference people from genotype files or tables."""
    from tellall.genomics.genotypes import GENOTYPE_ENDINGS

    genomes = [path.name.lower().endswith(GENOTYPE_ENDINGS) for path in (targets, reference)]
    if all(genomes):
        return _genomes(release, targets, reference, coding, palindromic)
    if any(genomes):
        raise invalid("--reference", "of the same kind of file as --targets", str(reference))
    return _tables(release, targets, reference, coding or "bits")


def _genomes(release: Path, targets: Path, reference: Path, coding: str | None, palindromic: bool) -> Inputs:
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
    return Inputs(
        aligned.means,
        aligned.targets,
        aligned.reference,
        people.people,
        "genotypes",
        aligned.n,
        aligned.notes,
    )


def _tables(release: Path, targets: Path, reference: Path, coding: str) -> Inputs:
    from tellall.attacks.tracing_blocks import as_blocks
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
    return Inputs(means[common], as_blocks("targets", arrays[0]), arrays[1], who, coding, None, notes)


def _numbers(option: str, name: str, column: Any) -> Any:
    try:
        return np.ma.filled(np.ma.asarray(column).astype(np.float64), np.nan)
    except (TypeError, ValueError):
        raise invalid(option, f"numbers in column '{name}'", "text") from None
