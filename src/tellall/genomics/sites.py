"""Sites: where in the genome, and which allele is counted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["Matches", "Sites", "match"]

Texts = npt.NDArray[np.str_]
Places = npt.NDArray[np.intp]

_COMPLEMENT = str.maketrans("ACGT", "TGCA")
_NO_NAME = (".", "", "NA", "#NA")


@dataclass(frozen=True, eq=False)
class Sites:
    """A list of sites with two alleles each.

    Attributes
    ----------
    ids
        Names such as rs numbers; "." where there is none.
    chromosome, position
        The place; position 0 where the file does not say.
    counted, other
        The allele whose copies or frequency the file gives, and the other one.
    """

    ids: Texts
    chromosome: Texts
    position: npt.NDArray[np.int64]
    counted: Texts
    other: Texts

    def __len__(self) -> int:
        return int(self.ids.size)

    @classmethod
    def of(
        cls,
        ids: Iterable[str],
        chromosome: Iterable[str],
        position: Iterable[int],
        counted: Iterable[str],
        other: Iterable[str],
    ) -> Sites:
        """Sites from columns; alleles in capitals, chromosomes without "chr"."""
        return cls(
            np.array(list(ids), dtype=np.str_),
            np.array([str(name).removeprefix("chr") for name in chromosome], dtype=np.str_),
            np.array([int(place) for place in position], dtype=np.int64),
            np.array([str(allele).upper() for allele in counted], dtype=np.str_),
            np.array([str(allele).upper() for allele in other], dtype=np.str_),
        )

    @classmethod
    def joined(cls, parts: Sequence[Sites]) -> Sites:
        """Lists of sites after each other."""
        columns = ("ids", "chromosome", "position", "counted", "other")
        return cls(*(np.concatenate([getattr(part, column) for part in parts]) for column in columns))

    def keys(self) -> list[tuple[str, str]]:
        """For each site its name, and its place as text ("" where unknown)."""
        rows = zip(self.ids.tolist(), self.chromosome.tolist(), self.position.tolist(), strict=True)
        return [(name if name not in _NO_NAME else "", f"{c}:{p}" if p > 0 else "") for name, c, p in rows]


@dataclass(frozen=True, eq=False)
class Matches:
    """Which sites of two lists are the same, and how their alleles compare.

    Attributes
    ----------
    first, second
        The places in either list, one pair per site in both.
    flipped
        Where the second list counts the allele that is the first list's other one.
    lost
        How many sites of the first list were left out, by reason.
    swapped_strand
        How many were matched only after reading the other strand.
    """

    first: Places
    second: Places
    flipped: npt.NDArray[np.bool_]
    lost: dict[str, int]
    swapped_strand: int


def match(first: Sites, second: Sites, *, palindromic: bool = False) -> Matches:
    """The sites in both lists, by name or else by place, whose alleles agree.

    Notes
    -----
    Alleles agree as they are, swapped (then flipped), or either after complementing both (the other strand).
    A/T and C/G sites read the same on both strands, so their strand cannot be checked: they are left out
    unless `palindromic` trusts it. A name or place that comes twice is matched once. O(sites).
    """
    by_name: dict[str, int] = {}
    by_place: dict[str, int] = {}
    for place, (name, where) in enumerate(second.keys()):
        if name:
            by_name.setdefault(name, place)
        if where:
            by_place.setdefault(where, place)
    lost = dict.fromkeys(("not there", "other alleles", "strand unknown", "twice"), 0)
    pairs: list[tuple[int, int, bool]] = []
    used: set[int] = set()
    swapped_strand = 0
    alleles = list(zip(first.counted.tolist(), first.other.tolist(), strict=True))
    theirs = list(zip(second.counted.tolist(), second.other.tolist(), strict=True))
    for place, (name, where) in enumerate(first.keys()):
        there = by_name.get(name) if name else None
        there = by_place.get(where) if there is None and where else there
        if there is None:
            lost["not there"] += 1
            continue
        if there in used:
            lost["twice"] += 1
            continue
        verdict = _compare(alleles[place], theirs[there])
        if verdict is None:
            lost["other alleles"] += 1
            continue
        if _other_strand(alleles[place][0]) == alleles[place][1] and not palindromic:
            lost["strand unknown"] += 1
            continue
        used.add(there)
        pairs.append((place, there, verdict[0]))
        swapped_strand += verdict[1]
    mine, there_places, flips = (
        (list(column) for column in zip(*pairs, strict=True)) if pairs else ([], [], [])
    )
    return Matches(
        np.array(mine, dtype=np.intp),
        np.array(there_places, dtype=np.intp),
        np.array(flips, dtype=bool),
        {reason: count for reason, count in lost.items() if count},
        swapped_strand,
    )


def _compare(mine: tuple[str, str], theirs: tuple[str, str]) -> tuple[bool, bool] | None:
    """(flipped, other strand), or None where the alleles are others."""
    turned = (theirs[1], theirs[0])
    if mine == theirs:
        return False, False
    if mine == turned:
        return True, False
    complement = (_other_strand(mine[0]), _other_strand(mine[1]))
    if complement == theirs:
        return False, True
    return (True, True) if complement == turned else None


def _other_strand(allele: str) -> str:
    return allele.translate(_COMPLEMENT)[::-1]
