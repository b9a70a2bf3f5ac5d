"""Sites of a genome: their position, and which allele is counted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache

import numpy as np
import numpy.typing as npt

__all__ = [
    "Index",
    "Matches",
    "Sites",
    "match",
]

Texts = npt.NDArray[np.str_]
Index = npt.NDArray[np.intp]
Alleles = tuple[str, str]

_COMPLEMENT = str.maketrans("ACGT", "TGCA")
_NO_NAME = (".", "", "NA", "#NA")
_NO_ALLELE = (".", "0", "")  # no such allele: everybody has the other one
_CHROMOSOMES = {"23": "X", "24": "Y", "26": "MT", "M": "MT", "XY": "X", "PAR1": "X", "PAR2": "X"}
_MITOCHONDRIAL = 16_569  # positions on that chromosome


@dataclass(frozen=True, eq=False)
class Sites:
    """A list of sites with two alleles each.

    Attributes
    ----------
    ids
        Names such as rs numbers; "." where a site has none.
    chromosome, position
        Where it is; position 0 if the file does not say.
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
        """Sites from columns; alleles in capitals, one name for each chromosome: 2 for chr2, X for 23."""
        positions = [int(p) for p in position]
        short = (p <= _MITOCHONDRIAL for p in positions)
        return cls(
            np.array(list(ids), dtype=np.str_),
            np.array([_chromosome(str(c), s) for c, s in zip(chromosome, short, strict=True)], dtype=np.str_),
            np.array(positions, dtype=np.int64),
            np.array([str(allele).upper() for allele in counted], dtype=np.str_),
            np.array([str(allele).upper() for allele in other], dtype=np.str_),
        )

    @classmethod
    def joined(cls, parts: Sequence[Sites]) -> Sites:
        """Several lists of sites as one."""
        return cls(*(np.concatenate([getattr(part, f.name) for part in parts]) for f in fields(cls)))

    def keys(self) -> list[tuple[str, str]]:
        """For each site its name, and its position as text; "" where unknown."""
        rows = zip(self.ids.tolist(), self.chromosome.tolist(), self.position.tolist(), strict=True)
        return [(name if name not in _NO_NAME else "", f"{c}:{p}" if p > 0 else "") for name, c, p in rows]

    def alleles(self) -> list[Alleles]:
        """For each site the counted and the other allele."""
        return list(zip(self.counted.tolist(), self.other.tolist(), strict=True))


@dataclass(frozen=True, eq=False)
class Matches:
    """Which sites of two lists are the same, and how their alleles compare.

    Attributes
    ----------
    first, second
        The indices in either list, one pair per site in both.
    flipped
        Where the second list counts the first list's other allele.
    lost
        How many sites of the first list were left out, by reason.
    swapped_strand
        How many were matched only on the other strand.
    """

    first: Index
    second: Index
    flipped: npt.NDArray[np.bool_]
    lost: dict[str, int]
    swapped_strand: int


def match(first: Sites, second: Sites, *, palindromic: bool = False) -> Matches:
    """Finds the sites in both lists, by name or else by position, whose alleles agree.

    Notes
    -----
    Alleles agree as they are, swapped (then flipped), or either after complementing both (the other strand).
    A name or position may occur more than once, for instance if alleles are split over several records: the
    record whose alleles agree best is taken, and each record is matched once. If no record of the name
    agrees, those of the position are tried. A/T and C/G sites read the same on both strands, so their strand
    cannot be checked: they are left out unless `palindromic` trusts it. O(sites).
    """
    by_name, by_position = _Records(), _Records()
    for at, (name, position) in enumerate(second.keys()):
        by_name.add(name, at)
        by_position.add(position, at)
    lost = dict.fromkeys(("not there", "other alleles", "one allele only", "strand unknown", "twice"), 0)
    pairs: list[tuple[int, int, bool]] = []
    used: set[int] = set()
    swapped_strand = 0
    theirs = second.alleles()
    for here, ((name, position), mine) in enumerate(zip(first.keys(), first.alleles(), strict=True)):
        named, placed = by_name.of(name), by_position.of(position)
        found = _best(mine, named, theirs, used) or _best(mine, placed, theirs, used)
        if found is None:
            lost[_reason(mine, [theirs[at] for at in (*named, *placed)])] += 1
        elif _other_strand(mine[0]) == mine[1] and not palindromic:
            lost["strand unknown"] += 1
        else:
            at, flipped, other_strand = found
            used.add(at)
            pairs.append((here, at, flipped))
            swapped_strand += other_strand
    columns = np.array(pairs, dtype=np.intp).reshape(-1, 3)
    return Matches(
        columns[:, 0],
        columns[:, 1],
        columns[:, 2].astype(bool),
        {reason: count for reason, count in lost.items() if count},
        swapped_strand,
    )


class _Records:
    """The indices of the records of each name, in order; a list only where a name has several."""

    def __init__(self) -> None:
        self._first: dict[str, int] = {}
        self._more: dict[str, list[int]] = {}

    def add(self, name: str, at: int) -> None:
        if name and self._first.setdefault(name, at) != at:
            self._more.setdefault(name, []).append(at)

    def of(self, name: str) -> Sequence[int]:
        first = self._first.get(name)
        return () if first is None else (first, *self._more.get(name, ()))


def _best(
    mine: Alleles, records: Sequence[int], theirs: Sequence[Alleles], used: set[int]
) -> tuple[int, bool, bool] | None:
    """Returns (index, flipped, other strand) of the unused record whose alleles agree best."""
    agree = [
        (at, *turns) for at in records if at not in used and (turns := _compare(mine, theirs[at])) is not None
    ]
    return min(agree, key=lambda one: one[2], default=None)


def _reason(mine: Alleles, theirs: Sequence[Alleles]) -> str:
    """Says why none of these records is the site."""
    if not theirs:
        return "not there"
    if any(_compare(mine, other) is not None for other in theirs):
        return "twice"
    if any(allele in _NO_ALLELE for pair in (mine, *theirs) for allele in pair):
        return "one allele only"
    return "other alleles"


@lru_cache(maxsize=4096)
def _chromosome(name: str, short: bool) -> str:
    """One name for each chromosome; 25 is MT or, in PLINK's files, the region that X and Y share."""
    plain = name.strip().upper().removeprefix("CHR").lstrip("0")
    if plain == "25":
        return "MT" if short else "X"
    return _CHROMOSOMES.get(plain, plain)


def _compare(mine: Alleles, theirs: Alleles) -> tuple[bool, bool] | None:
    """Returns (flipped, other strand), or None if the alleles differ."""
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
