"""Reads published means and people from files and brings them to the same attributes, ready for `trace`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tellall.core import files
from tellall.core.errors import invalid
from tellall.linalg.operators.linear_operator import Array
from tellall.people.attributes.chunks import Chunked
from tellall.people.attributes.tables import PeopleFile, read_mean_table
from tellall.people.genomics.alignment import align
from tellall.people.genomics.frequencies import FREQUENCY_ENDINGS, is_frequencies, read_frequencies
from tellall.people.genomics.genotypes import GENOTYPE_ENDINGS, read_genotypes
from tellall.protections.protection import Noise
from tellall.release.release import Release
from tellall.tracing.inputs import error_of_means, people_behind, published_means

__all__ = [
    "TracingFiles",
    "read_members",
    "read_shares",
    "read_tracing_files",
]


@dataclass(frozen=True, eq=False)
class TracingFiles:
    """The input of a tracing; `n` is how many people the means are over, if a file says so."""

    means: Array
    targets: Chunked
    reference: Chunked
    names: tuple[str, ...]
    coding: str
    n: int | None
    notes: tuple[str, ...]
    alleles: str | None = None
    doubtful: bool = False
    noise: Noise | None = None


def read_tracing_files(
    release: Path,
    targets: Path,
    reference: Path,
    *,
    coding: str | None = None,
    palindromic: bool = False,
    people: int | None = None,
) -> TracingFiles:
    """Reads means, targets and reference people from genotype files or from tables."""
    genomes = [path.name.lower().endswith(GENOTYPE_ENDINGS) for path in (targets, reference)]
    if all(genomes):
        return _genomes(release, targets, reference, coding, palindromic)
    if any(genomes):
        raise invalid("--reference", "of the same kind of file as --targets", str(reference))
    if release.name.lower().removesuffix(".gz").endswith((".frq", ".afreq", ".ssf")):
        rule = "a table of names and means, or release.json, where --targets is a table"
        raise invalid("--release", rule, release.name, "A list of frequencies goes with .bed, VCF or BCF.")
    return _tables(release, targets, reference, coding or "bits", people)


def _genomes(
    release: Path, targets: Path, reference: Path, coding: str | None, palindromic: bool
) -> TracingFiles:
    if coding not in (None, "genotypes"):
        raise invalid("--coding", "genotypes, or left out, for genotype files", coding)
    people = read_genotypes(targets)
    found = align(read_frequencies(release), people, read_genotypes(reference), palindromic=palindromic)
    return TracingFiles(
        found.means,
        found.targets,
        found.reference,
        people.people,
        "genotypes",
        found.n,
        found.notes,
        "frequencies",
        found.doubtful,
    )


def _tables(release: Path, targets: Path, reference: Path, coding: str, people: int | None) -> TracingFiles:
    names, means, n, ours, noise = _named_means("--release", release, people)
    first, second = PeopleFile.open("--targets", targets), PeopleFile.open("--reference", reference)
    there = set(first.names) & set(second.names)
    common = [index for index, name in enumerate(names) if name in there]
    if not common:
        raise invalid("--targets", "a table with the columns of the release", ", ".join(first.names[:6]))
    found = f"{len(common):,} of {len(names):,} published means have a column in both tables."
    notes = (found, *filter(None, (first.assumed, second.assumed)))
    chosen = tuple(names[index] for index in common)
    rows, who = first.choose(chosen)
    alleles = "counts" if ours and coding == "genotypes" else None
    return TracingFiles(
        means[common], rows, second.choose(chosen)[0], who, coding, n, notes, alleles, noise=noise
    )


def _named_means(
    option: str, path: Path, people: int | None
) -> tuple[list[str], Array, int | None, bool, Noise | None]:
    """Returns names, means, of how many people if known, whether it is a saved release, and its error.

    The means of a saved release are in the data's own coding: mean allele counts for genotypes.
    """
    if not path.name.lower().endswith(".json"):
        return *read_mean_table(option, path), None, False, None
    release = Release.load(path)
    values = published_means(release, people, name=option, size="--people")
    error = error_of_means(release, people)
    return list(release.columns), values, people_behind(release, people), True, error


def read_members(path: Path, names: tuple[str, ...]) -> tuple[npt.NDArray[np.bool_], str]:
    """Reads the members, one name per line; returns which targets they are, and a note on other names."""
    text = files.read_text(path, what="--members", largest=files.LARGEST_JSON)
    known = {line.strip() for line in text.splitlines() if line.strip()}
    if not known & set(names):
        raise invalid("--members", "names of targets, one per line", f"none of the {len(known)} is a target")
    strangers = len(known - set(names))
    note = f"{strangers:,} of the {len(known):,} names in --members are not targets." if strangers else ""
    return np.array([name in known for name in names]), note


def read_shares(path: Path, people: int | None, coding: str | None) -> tuple[Array, int | None, str]:
    """Reads published shares; returns them, how many people they are over if known, and their coding."""
    plain = path.name.lower().removesuffix(".gz")
    if plain.endswith(FREQUENCY_ENDINGS) and (not plain.endswith(".tsv") or is_frequencies(path)):
        found = read_frequencies(path)
        return found.values, found.n, "genotypes"
    _, means, n, ours, _ = _named_means("frequencies", path, people)
    return means / 2 if ours and coding == "genotypes" else means, n, "bits"
