"""Disclosure of our own: counts of people given away, shown only as far as they name nobody.

The rule: no count that is shown, or that follows from those shown by sums and differences, is 1 to 4 or
within 4 of its group, for any group that public columns name, everybody as a whole apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isclose, log
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.audits.measures.risk import Mask

__all__ = [
    "UNDER",
    "WITHHELD",
    "Crowd",
    "merged",
    "most_telling",
    "tells_of_nobody",
    "told_by_area",
    "told_of_areas",
]

UNDER, WITHHELD = "under 5", "withheld"  # how a count reads that is not shown
_FEW = 5  # a smaller count, or one nearer to its group than this, would reveal single people

People = npt.NDArray[np.bool_]


def tells_of_nobody(group: int, count: float) -> bool:
    """Whether saying that ``count`` people of a ``group`` are given away reveals no single person.

    Examples
    --------
    >>> tells_of_nobody(40, 6), tells_of_nobody(40, 0), tells_of_nobody(8, 6), tells_of_nobody(40, 3)
    (True, True, False, False)
    """
    return (count == 0 or count >= _FEW) and group - count >= _FEW


# One table of everybody


@dataclass(frozen=True, eq=False)
class Crowd:
    """Some people by what they have in common: the values, and who they are."""

    values: tuple[str, ...]
    people: People

    def counted(self, learnt: Mask) -> tuple[int, int]:
        """How many people there are, and how many of them are given away."""
        return int(self.people.sum()), int((self.people & learnt).sum())


def most_telling(
    tables: Iterable[tuple[str, Sequence[Crowd]]], learnt: Mask
) -> tuple[str, list[Crowd]] | None:
    """The one table that may be shown: the one whose rows differ most; None if none has two rows.

    Each table has everybody in exactly one of its crowds. Neighbours are merged until each row tells of
    nobody.

    Notes
    -----
    One table with a total is safe, two need not be: 16 people in all and three times 5 in crowds that do not
    overlap leave 1. In one table, a count follows for a union of rows and for no other group that has
    somebody given away: where a row is split, one of its people given away can change places with one who is
    not. A union of rows adds up counts that are 0 or at least 5, and rests that are at least 5. Rows differ
    by the mutual information of the row and of who is given away.
    """
    made = [(by, merged(crowds, learnt)) for by, crowds in tables]
    fit = [(by, rows) for by, rows in made if len(rows) > 1 and _all_tell_of_nobody(rows, learnt)]
    return max(fit, key=lambda one: _telling(one[1], learnt), default=None)


def merged(crowds: Sequence[Crowd], learnt: Mask) -> list[Crowd]:
    """The crowds, neighbours merged until the count of each may be shown; one crowd if none ever may."""
    rows = list(crowds)
    while len(rows) > 1:
        sizes = [int(one.people.sum()) for one in rows]
        unsafe = [at for at, one in enumerate(rows) if not tells_of_nobody(*one.counted(learnt))]
        if not unsafe:
            return rows
        at = min(unsafe, key=sizes.__getitem__)
        near = min((one for one in (at - 1, at + 1) if 0 <= one < len(rows)), key=sizes.__getitem__)
        first, second = sorted((at, near))
        both = Crowd(rows[first].values + rows[second].values, rows[first].people | rows[second].people)
        rows[first : second + 1] = [both]
    return rows


def _all_tell_of_nobody(rows: Sequence[Crowd], learnt: Mask) -> bool:
    """Whether everybody is in one row, and every row tells of nobody."""
    times = np.sum([row.people for row in rows], axis=0)
    return bool((times == 1).all()) and all(tells_of_nobody(*row.counted(learnt)) for row in rows)


def _telling(rows: Sequence[Crowd], learnt: Mask) -> float:
    """How much a person's row tells of whether they are given away, in nats times people."""
    return _spread(learnt.size, int(learnt.sum())) - sum(_spread(*row.counted(learnt)) for row in rows)


def _spread(group: int, count: int) -> float:
    """The entropy of who of a group is given away, in nats times people."""
    return -sum(part * log(part / group) for part in (count, group - count) if part)


# Areas


def told_by_area(
    sizes: Sequence[int], counts: Sequence[float | None], *, everywhere: bool = True
) -> list[Any]:
    """What is said about each area where the number of all people given away is shown as well.

    A count below 5 reads "under 5", also 0; one that is within 4 of its area is withheld, and in an area of
    fewer than 10 people, where every count is one or the other, each is. Where the others' counts and the
    total would still tell, the smallest of the others are withheld too. None stays None. ``everywhere`` says
    that nobody else is in the total.

    Notes
    -----
    What is left of the total is about the areas that are not shown. It names nobody if it is 0, or at least 5
    and 5 less than their people, and lies strictly between the least and the most that those areas can have:
    then each of them, and each union of some of them, can have at least two counts.

    Examples
    --------
    >>> told_by_area([40, 40, 40], [12, 3, 0]), told_by_area([40, 40, 40], [12, 3, 2])
    (['withheld', 'under 5', 'under 5'], [12, 'under 5', 'under 5'])
    """
    known = [at for at, count in enumerate(counts) if count is not None]
    exact = {at: float(count) for at, count in enumerate(counts) if count is not None}
    told: list[Any] = [None] * len(counts)
    for at in known:
        told[at] = _alone(sizes[at], exact[at], counts[at])
    shown = sorted((at for at in known if not isinstance(told[at], str)), key=lambda at: (exact[at], at))
    for at in shown:
        if _left_tells_of_nobody(sizes, exact, told, everywhere):
            return told
        told[at] = WITHHELD
    if not _left_tells_of_nobody(sizes, exact, told, everywhere):
        told = [None if one is None else WITHHELD for one in told]
    return told


def told_of_areas(
    sizes: Sequence[int],
    areas: Sequence[Sequence[Mapping[str, object]]],
    alike: Sequence[str],
    counted: Sequence[str],
) -> list[list[dict[str, Any]]]:
    """What attacks found in each area, as plain data, with the counts as they may be told.

    Parameters
    ----------
    sizes
        The people of each area.
    areas
        The rows of each area, one for each attack.
    alike
        What rows about the same attack have in common in all areas.
    counted
        The names of the counts of people given away.
    """
    told = [[dict(row) for row in rows] for rows in areas]
    attacks: dict[tuple[Any, ...], list[dict[str, Any] | None]] = {}
    for at, rows in enumerate(told):
        again: Counter[tuple[Any, ...]] = Counter()
        for row in rows:
            which = tuple(row[name] for name in alike)
            attacks.setdefault((*which, again[which]), [None] * len(told))[at] = row
            again[which] += 1
    for found in attacks.values():
        everywhere = all(row is not None or not rows for row, rows in zip(found, told, strict=True))
        for name in counted:
            counts = [None if row is None else row.get(name) for row in found]
            said = told_by_area(sizes, counts, everywhere=everywhere)
            for one, words in zip(found, said, strict=True):
                if one is not None and words is not None:
                    one[name] = words
    return told


def _alone(size: int, count: float, written: float | None) -> Any:
    """What may be said about one area by itself."""
    if size < 2 * _FEW:
        return WITHHELD
    if count < _FEW:
        return UNDER
    return written if tells_of_nobody(size, count) else WITHHELD


def _left_tells_of_nobody(
    sizes: Sequence[int], exact: dict[int, float], told: Sequence[Any], everywhere: bool
) -> bool:
    """Whether what the total and the counts shown say about the other areas names nobody."""
    hidden = [at for at in exact if isinstance(told[at], str)]
    left, people = sum(exact[at] for at in hidden), sum(sizes[at] for at in hidden)
    if not hidden or isclose(left, 0.0, abs_tol=1e-9):
        return True
    ends = [_possible(sizes[at], told[at]) for at in hidden]
    least, most = sum(low for low, _ in ends), sum(high for _, high in ends)
    everybody = everywhere and len(hidden) == len(exact)
    return (everybody or tells_of_nobody(people, left)) and least < left < most


def _possible(size: int, word: str) -> tuple[int, int]:
    """The least and the most that an area can have of which this is said."""
    if word == UNDER:
        return 0, _FEW - 1
    return (_FEW if size >= 2 * _FEW else 0), size
