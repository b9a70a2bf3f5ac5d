"""Published frequencies and two sets of genotypes over the same sites, counting the same alleles."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tellall.core.errors import invalid
from tellall.people.genomics.frequencies import Frequencies
from tellall.people.genomics.genotypes import Calls, Genotypes
from tellall.people.genomics.packed_calls import PackedCalls
from tellall.people.genomics.sites import Matches, Places, match

__all__ = [
    "Aligned",
    "Alignment",
    "align",
]

_CHECKED = 20_000_000  # calls looked at to find flipped frequencies
_FAR = 0.3
_DOUBT = 1 / 3  # a share of flipped sites that is no accident of a few


@dataclass(frozen=True, eq=False)
class Aligned:
    """Genotypes at chosen sites, counting the published allele; ready for `trace`."""

    genotypes: Genotypes
    places: Places
    flipped: npt.NDArray[np.bool_]

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of people and of sites."""
        return self.genotypes.shape[0], int(self.places.size)

    def block(self, start: int, stop: int) -> Calls:
        """The calls at the chosen sites from start to stop (not included)."""
        calls = self.genotypes.take(self.places[start:stop])
        turn = self.flipped[start:stop]
        if turn.any():
            calls = np.where(turn & (calls >= 0), 2 - calls, calls)
        return calls

    def packed(self, start: int, stop: int) -> PackedCalls | None:
        """The same as packed calls, where the genotypes are packed."""
        rows = self.genotypes.take_packed(self.places[start:stop])
        return None if rows is None else PackedCalls(rows, self.flipped[start:stop], self.shape[0])


@dataclass(frozen=True, eq=False)
class Alignment:
    """Means, targets and reference for `trace` with ``coding="genotypes"``.

    Attributes
    ----------
    means
        The published frequencies at the sites that all three have.
    n
        How many people the frequencies are over, None where the file does not say.
    published
        How many frequencies the file holds.
    notes
        What was lost or turned on the way, one sentence each.
    doubtful
        Whether so many frequencies look like the other allele's that the reading of alleles is in doubt.
    """

    means: npt.NDArray[np.float64]
    targets: Aligned
    reference: Aligned
    n: int | None
    published: int
    notes: tuple[str, ...]
    doubtful: bool = False


def align(
    frequencies: Frequencies, targets: Genotypes, reference: Genotypes, *, palindromic: bool = False
) -> Alignment:
    """The frequencies and genotypes at the sites that all three share, counting the same alleles.

    Notes
    -----
    Sites are matched by name, else by place; see `match` for alleles and
    strands. As a check of the reading of alleles, frequencies are compared with the reference people's: sites
    that would fit far better (by 0.3 and a standard error) if flipped are counted in the notes. Where they
    are more than a third of those that fit far better one way or the other, the alignment is doubtful: that
    nobody is traced from it says nothing.
    """
    to_targets = match(frequencies.sites, targets.sites, palindromic=palindromic)
    to_reference = match(frequencies.sites, reference.sites, palindromic=palindromic)
    common, mine, theirs = np.intersect1d(
        to_targets.first, to_reference.first, assume_unique=True, return_indices=True
    )
    published = len(frequencies.sites)
    losses = _losses("targets", to_targets, targets) + _losses("reference", to_reference, reference)
    if common.size == 0:
        raise invalid(
            "sites",
            "shared by the release, the targets and the reference",
            f"{published:,} in the release, {to_targets.first.size:,} of them in the targets, "
            f"{to_reference.first.size:,} in the reference, none in both",
            " ".join(losses),
        )
    # in the order of the targets' file, so that its blocks are read in a row
    order = np.argsort(to_targets.second[mine], kind="stable")
    common, mine, theirs = common[order], mine[order], theirs[order]
    aligned = Aligned(targets, to_targets.second[mine], to_targets.flipped[mine])
    pool = Aligned(reference, to_reference.second[theirs], to_reference.flipped[theirs])
    means = frequencies.values[common]
    notes = [f"{common.size:,} of {published:,} published sites are in both genotype files."]
    notes += losses
    if frequencies.skipped:
        notes.append(f"{frequencies.skipped:,} published sites with more than two alleles left out.")
    far, near = _look_flipped(means, pool)
    doubtful = far > _DOUBT * (far + near)
    if far:
        notes.append(
            f"{far:,} sites look as if the published frequency were the other allele's, and {near:,} do not; "
            "check the alleles."
        )
    return Alignment(means, aligned, pool, frequencies.n, published, tuple(notes), doubtful)


def _losses(name: str, matches: Matches, genotypes: Genotypes) -> list[str]:
    said = [f"{count:,} {reason}" for reason, count in matches.lost.items()]
    notes = [f"Published sites left out against the {name}: {', '.join(said)}."] if said else []
    if matches.flipped.any():
        notes.append(f"{int(matches.flipped.sum()):,} sites of the {name} count the other allele; turned.")
    if matches.swapped_strand:
        notes.append(f"{matches.swapped_strand:,} sites of the {name} are on the other strand; matched.")
    if genotypes.skipped:
        notes.append(f"{genotypes.skipped:,} sites of the {name} with more than two alleles left out.")
    if genotypes.single:
        notes.append(f"{genotypes.single:,} sites of the {name} with one allele only left out.")
    return notes


def _look_flipped(means: npt.NDArray[np.float64], pool: Aligned) -> tuple[int, int]:
    """How many frequencies would fit the reference people far better if flipped, and how many far worse."""
    stop = min(means.size, max(1, _CHECKED // pool.shape[0]))
    calls = pool.block(0, stop)
    called = calls >= 0
    known = np.where(called, calls, 0).sum(axis=0) / np.maximum(2 * called.sum(axis=0), 1)
    there = called.any(axis=0) & ~np.isnan(means[:stop])
    gain = np.abs(means[:stop] - known) - np.abs(1 - means[:stop] - known)
    doubt = 0.5 / math.sqrt(2 * pool.shape[0])  # few reference people tell the frequency roughly
    least = _FAR + doubt
    return int((gain[there] > least).sum()), int((gain[there] < -least).sum())
