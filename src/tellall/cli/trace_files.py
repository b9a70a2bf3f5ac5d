"""The files of tellall trace: means and people, brought to the same attributes."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from tellall.cli.mean_table import read_named_means
from tellall.core import files
from tellall.core.errors import invalid
from tellall.people.wide_csv import MISSING_WORDS

__all__ = [
    "Inputs",
    "read_files",
    "read_means",
    "read_truth",
    "repeated",
]

_FILES = ("release", "targets", "reference")
_OPTIONS = (*_FILES, "attack", "threshold", "delta", "alpha", "sigma_max", "coding", "people", "members")
_WHO = "id"  # the column of a table that names its people


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
    alleles: str | None = None
    doubtful: bool = False


def repeated(asked: dict[str, Any], seed: int) -> str:
    """The command with the options given; of files their names, without folders, which may name people."""
    parts = ["tellall", "trace"]
    for name in _OPTIONS:
        value = asked[name]
        if value is not None:
            parts += [f"--{name.replace('_', '-')}", value.name if isinstance(value, Path) else str(value)]
    return shlex.join([*parts, *(["--palindromic"] if asked["palindromic"] else []), "--seed", str(seed)])


def read_truth(path: Path, names: tuple[str, ...]) -> tuple[list[bool], tuple[str, ...]]:
    """Who of the targets is named in a file, one a line; and a note of the names that are no target's."""
    text = files.read_text(path, what="--members", largest=files.LARGEST_JSON)
    known = {line.strip() for line in text.splitlines() if line.strip()}
    if not known & set(names):
        raise invalid("--members", "names of targets, one a line", f"none of the {len(known)} is a target")
    strangers = len(known - set(names))
    notes = (f"{strangers:,} of the {len(known):,} names in --members are no target's.",) if strangers else ()
    return [name in known for name in names], notes


def read_files(
    release: Path,
    targets: Path,
    reference: Path,
    coding: str | None,
    palindromic: bool,
    people: int | None = None,
) -> Inputs:
    """Means, targets and reference people from genotype files or tables."""
    from tellall.people.genomics.genotypes import GENOTYPE_ENDINGS

    genomes = [path.name.lower().endswith(GENOTYPE_ENDINGS) for path in (targets, reference)]
    if all(genomes):
        return _genomes(release, targets, reference, coding, palindromic)
    if any(genomes):
        raise invalid("--reference", "of the same kind of file as --targets", str(reference))
    return _tables(release, targets, reference, coding or "bits", people)


def _genomes(release: Path, targets: Path, reference: Path, coding: str | None, palindromic: bool) -> Inputs:
    from tellall.people import genomics

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
        "frequencies",
        aligned.doubtful,
    )


@dataclass(frozen=True, eq=False)
class _Table:
    """People × chosen columns of a table; those of a Parquet file are read when a block asks for them."""

    option: str
    names: tuple[str, ...]
    people: int
    read: Callable[[Sequence[str]], Mapping[str, Any]]
    chosen: tuple[str, ...] = ()

    @classmethod
    def of(cls, option: str, path: Path) -> _Table:
        from tellall.people.readers import ParquetColumns, read_table

        if path.suffix.lower() in (".parquet", ".pq"):
            columns = ParquetColumns(path)
            return cls(option, columns.names, columns.people, columns.read)
        table = read_table(path)
        count = len(table[next(iter(table))]) if len(table) else 0
        return cls(option, tuple(table), count, lambda names: {name: table[name] for name in names})

    def choose(self, columns: tuple[str, ...]) -> tuple[Any, tuple[str, ...]]:
        """The people over these columns, and their names where there is a column of them."""
        who = tuple(map(str, self.read([_WHO])[_WHO])) if _WHO in self.names else _by_row(self.people)
        return replace(self, chosen=columns), who

    @property
    def shape(self) -> tuple[int, int]:
        return self.people, len(self.chosen)

    def block(self, start: int, stop: int) -> Any:
        table = self.read(self.chosen[start:stop])
        return np.stack([_numbers(self.option, name, column) for name, column in table.items()], axis=1)


@dataclass(frozen=True, eq=False)
class _Delimited:
    """A CSV or TSV file, of which only the first line has been read."""

    option: str
    path: Path
    names: tuple[str, ...]

    def choose(self, columns: tuple[str, ...]) -> tuple[Any, tuple[str, ...]]:
        """The people over these columns, a byte for each value where they are small whole numbers."""
        from tellall.people.wide_csv import NotWhole, read_wide

        try:
            found = read_wide(self.option, self.path, columns, _WHO if _WHO in self.names else None)
        except NotWhole:
            return _Table.of(self.option, self.path).choose(columns)
        return found, found.who or _by_row(found.shape[0])


def _open(option: str, path: Path) -> _Table | _Delimited:
    from tellall.people.readers import DELIMITED, check_table
    from tellall.people.wide_csv import read_header

    if check_table(path)[1] in DELIMITED:
        return _Delimited(option, path, read_header(path))
    return _Table.of(option, path)


def _by_row(people: int) -> tuple[str, ...]:
    return tuple(f"row {row + 1}" for row in range(people))


def _tables(release: Path, targets: Path, reference: Path, coding: str, people: int | None) -> Inputs:
    names, means, n, ours = read_named_means("--release", release, people)
    first, second = _open("--targets", targets), _open("--reference", reference)
    there = set(first.names) & set(second.names)
    common = [place for place, name in enumerate(names) if name in there]
    if not common:
        raise invalid("--targets", "a table with the columns of the release", ", ".join(first.names[:6]))
    notes = (f"{len(common):,} of {len(names):,} published means have a column in both tables.",)
    chosen = tuple(names[place] for place in common)
    rows, who = first.choose(chosen)
    alleles = "counts" if ours and coding == "genotypes" else None
    return Inputs(means[common], rows, second.choose(chosen)[0], who, coding, n, notes, alleles)


def read_means(path: Path, people: int | None, coding: str | None) -> tuple[Any, int | None, str]:
    """The published shares in a file, how many people they are over where it says so, and their coding."""
    from tellall.people import genomics
    from tellall.people.genomics.frequencies import FREQUENCY_ENDINGS, is_frequencies

    endings = tuple(ending for ending in FREQUENCY_ENDINGS if ending != ".tsv")
    plain = path.name.lower().removesuffix(".gz")
    if plain.endswith(endings) or (plain.endswith(".tsv") and is_frequencies(path)):
        found = genomics.read_frequencies(path)
        return found.values, found.n, "genotypes"
    _, means, n, ours = read_named_means("frequencies", path, people)
    return means / 2 if ours and coding == "genotypes" else means, n, "bits"


def _numbers(option: str, name: str, column: Any) -> Any:
    values = np.ma.asarray(column)
    if values.dtype.kind in "OUS":  # text, or numbers among the words for a missing one
        words = [None if v is None else str(v).strip() for v in values.tolist()]
        words = [None if word is None or word.lower() in MISSING_WORDS else word for word in words]
        values = np.ma.asarray([np.nan if word is None else word for word in words])
    try:
        return np.ma.filled(values.astype(np.float64), np.nan)
    except (TypeError, ValueError):
        raise invalid(option, f"numbers in column '{name}'", "text") from None
