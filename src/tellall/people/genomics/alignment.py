"""Published frequencies and two sets of genotypes over the same sites, counting the same alleles."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tellall.core.errors import invalid
from tellall.people.genomics.frequencies import Frequencies
from tellall.people.genomics.genotypes import Genotypes
from tellall.people.genomics.packed_calls import PackedCalls
from tellall.people.genomics.sites import Index, Matches, match

__all__ = [
    "Aligned",
    "Alignment",
    "align",
]

_CHECKED = 20_000_000  # calls looked at to find flipped frequencies
_FAR = 0.3
_DOUBT = 1 / 3  # a larger share of flipped sites puts the reading of all alleles in doubt


@dataclass(frozen=True, eq=False)
class Aligned:
    """Genotypes at chosen sites, counting the published allele; ready for `trace`."""

    genotypes: Genotypes
    index: Index
    turned: npt.NDArray[np.bool_]

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of people and of sites."""
        return self.genotypes.shape[0], int(self.index.size)

    def chunk(self, start: int, stop: int) -> PackedCalls:
        """Returns the calls at the chosen sites from start to stop (not included)."""
        return self.genotypes.calls(self.index[start:stop], self.turned[start:stop])


@dataclass(frozen=True, eq=False)
class Alignment:
    """Means, targets and reference for `trace` with ``coding="genotypes"``.

    Attributes
    ----------
    means
        The published frequencies at the sites that all three have.
    n
        How many people the frequencies are over; None if the file does not say.
    published
        How many frequencies the file holds.
    notes
        One sentence for each thing that was left out or turned.
    doubtful
        Whether too many frequencies look like the other allele's, so that the reading of alleles is in doubt.
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
    """Returns the frequencies and genotypes at the sites that all three share, counting the same alleles.

    Notes
    -----
    Sites are matched by name, or else by position; `match` says how alleles and strands are compared. To
    check the reading of alleles, the frequencies are compared with the reference people's: sites that would
    fit far better (by 0.3 and a standard error) if flipped are counted in the notes. If they are more than a
    third of the sites that fit far better one way or the other, the alignment is doubtful. Then finding
    nobody proves nothing.
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
    # in the order of the targets' file, so that it is read from front to back
    order = np.argsort(to_targets.second[mine], kind="stable")
    common = common[order]
    mine = mine[order]
    theirs = theirs[order]
    aligned = Aligned(targets, to_targets.second[mine], to_targets.flipped[mine])
    pool = Aligned(reference, to_reference.second[theirs], to_reference.flipped[theirs])
    means = frequencies.values[common]
    notes = [f"{common.size:,} of {published:,} published sites are in both genotype files.", *losses]
    if frequencies.skipped:
        notes.append(f"{frequencies.skipped:,} published sites with more than two alleles left out.")
    far, near = _look_flipped(means, pool)
    if far:
        notes.append(
            f"{far:,} sites look as if the published frequency were the other allele's, and {near:,} do not; "
            "check the alleles."
        )
    doubtful = far > _DOUBT * (far + near)
    return Alignment(means, aligned, pool, frequencies.n, published, tuple(notes), doubtful)


def _losses(name: str, matches: Matches, genotypes: Genotypes) -> list[str]:
    reasons = ", ".join(f"{count:,} {reason}" for reason, count in matches.lost.items())
    turned = int(matches.flipped.sum())
    said = [
        (reasons, f"Published sites that do not match the {name}: {reasons}."),
        (turned, f"{turned:,} sites of the {name} count the other allele; turned."),
        (
            matches.swapped_strand,
            f"{matches.swapped_strand:,} sites of the {name} are on the other strand; matched.",
        ),
        (
            genotypes.skipped,
            f"{genotypes.skipped:,} sites of the {name} with more than two alleles left out.",
        ),
        (genotypes.single, f"{genotypes.single:,} sites of the {name} with one allele only left out."),
    ]
    return [sentence for count, sentence in said if count]


def _look_flipped(means: npt.NDArray[np.float64], pool: Aligned) -> tuple[int, int]:
    """Counts the frequencies that would fit the reference people far better if flipped, and far worse."""
    stop = min(means.size, max(1, _CHECKED // pool.shape[0]))
    total, called = pool.chunk(0, stop).counts()
    known = (total / np.maximum(called, 1) + 1) / 2
    there = (called > 0) & ~np.isnan(means[:stop])
    gain = np.abs(means[:stop] - known) - np.abs(1 - means[:stop] - known)
    least = _FAR + 0.5 / math.sqrt(2 * pool.shape[0])  # few reference people give a rough frequency
    return int((gain[there] > least).sum()), int((gain[there] < -least).sum())
