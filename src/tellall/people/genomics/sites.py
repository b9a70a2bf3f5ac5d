"""Sites: where in the genome, and which allele is counted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

__all__ = [
    "Matches",
    "Sites",
    "match",
]

Texts = npt.NDArray[np.str_]
Places = npt.NDArray[np.intp]

_COMPLEMENT = str.maketrans("ACGT", "TGCA")
_NO_NAME = (".", "", "NA", "#NA")
_NO_ALLELE = (".", "0", "")  # nobody has another one
_CHROMOSOMES = {"23": "X", "24": "Y", "26": "MT", "M": "MT", "XY": "X", "PAR1": "X", "PAR2": "X"}
_MITOCHONDRIAL = 16_569  # places on that chromosome


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
        """Sites from columns; alleles in capitals, chromosomes by one name each: 2 for chr2, X for 23."""
        places = [int(place) for place in position]
        return cls(
            np.array(list(ids), dtype=np.str_),
            np.array(
                [_chromosome(str(c), p <= _MITOCHONDRIAL) for c, p in zip(chromosome, places, strict=True)],
                dtype=np.str_,
            ),
            np.array(places, dtype=np.int64),
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
    Where a name or place comes more than once, as alleles split over several records do, the record whose
    alleles agree best is taken, and each is matched once; where none of the name agrees, those of the place
    are tried. A/T and C/G sites read the same on both strands, so their strand cannot be checked: they are
    left out unless `palindromic` trusts it. O(sites).
    """
    by_name, by_place = _Records(), _Records()
    for place, (name, where) in enumerate(second.keys()):
        by_name.add(name, place)
        by_place.add(where, place)
    lost = dict.fromkeys(("not there", "other alleles", "one allele only", "strand unknown", "twice"), 0)
    pairs: list[tuple[int, int, bool]] = []
    used: set[int] = set()
    swapped_strand = 0
    alleles = list(zip(first.counted.tolist(), first.other.tolist(), strict=True))
    theirs = list(zip(second.counted.tolist(), second.other.tolist(), strict=True))
    for place, (name, where) in enumerate(first.keys()):
        mine, there = alleles[place], (by_name.of(name), by_place.of(where))
        found = _best(mine, there[0], theirs, used) or _best(mine, there[1], theirs, used)
        if found is None:
            lost[_reason(mine, [*there[0], *there[1]], theirs)] += 1
        elif _other_strand(mine[0]) == mine[1] and not palindromic:
            lost["strand unknown"] += 1
        else:
            at, flipped, other_strand = found
            used.add(at)
            pairs.append((place, at, flipped))
            swapped_strand += other_strand
    mine_places, there_places, flips = (
        (list(column) for column in zip(*pairs, strict=True)) if pairs else ([], [], [])
    )
    return Matches(
        np.array(mine_places, dtype=np.intp),
        np.array(there_places, dtype=np.intp),
        np.array(flips, dtype=bool),
        {reason: count for reason, count in lost.items() if count},
        swapped_strand,
    )


class _Records:
    """The places of the records of a name, in order; lists only where there are several."""

    def __init__(self) -> None:
        self._first: dict[str, int] = {}
        self._more: dict[str, list[int]] = {}

    def add(self, name: str, place: int) -> None:
        if name and self._first.setdefault(name, place) != place:
            self._more.setdefault(name, []).append(place)

    def of(self, name: str) -> Sequence[int]:
        first = self._first.get(name)
        return () if first is None else (first, *self._more.get(name, ()))


def _best(
    mine: tuple[str, str], there: Sequence[int], theirs: Sequence[tuple[str, str]], used: set[int]
) -> tuple[int, bool, bool] | None:
    """The unused record whose alleles agree, the same strand first, with what had to be turned."""
    agree = [
        (at, *verdict)
        for at in there
        if at not in used and (verdict := _compare(mine, theirs[at])) is not None
    ]
    return min(agree, key=lambda one: one[2], default=None)


def _reason(mine: tuple[str, str], there: Sequence[int], theirs: Sequence[tuple[str, str]]) -> str:
    """Why none of these records is the site."""
    if not there:
        return "not there"
    if any(_compare(mine, theirs[at]) is not None for at in there):
        return "twice"
    if any(allele in _NO_ALLELE for pair in (mine, *(theirs[at] for at in there)) for allele in pair):
        return "one allele only"
    return "other alleles"


@lru_cache(maxsize=4096)
def _chromosome(name: str, short: bool) -> str:
    """One name for each chromosome; 25 is MT or, in PLINK's files, what X and Y share, told by the place."""
    plain = name.strip().upper().removeprefix("CHR").lstrip("0")
    if plain == "25":
        return "MT" if short else "X"
    return _CHROMOSOMES.get(plain, plain)


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
