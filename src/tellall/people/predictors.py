"""Predictors: public columns, or pairs of them, that tell the secret of nearly everybody by themselves."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.core.amounts import digits, percent
from tellall.core.text import one_line
from tellall.people.dataset import Dataset

__all__ = ["Predictor", "best_cut", "predictors"]

_RIGHT = 0.95  # the share of people for whom a column must be right
_BEYOND = 0.5  # the share of those whom the most common value gets wrong
_LUCK = 0.01  # the chance that any of so many columns looks like one by luck
_WORK = 200_000_000  # people × pairs
_LONGEST = 40  # characters of a column's name in a sentence
_LOOSE = 4  # times as many cells as people, from which only those with people are counted

Array = npt.NDArray[np.floating[Any]]
Codes = npt.NDArray[np.integer[Any]]


@dataclass(frozen=True)
class Predictor:
    """Columns whose best guess is right about nearly everybody, and about those who are unlike the most.

    Attributes
    ----------
    cut
        For a column of numbers, the number from which on another value is guessed than below; None where
        values, or bands of numbers, are guessed from one by one.
    right
        The share of people whose secret is guessed right from the others who have the same values.
    beyond
        The share of those whom the most common value gets wrong.
    """

    columns: tuple[str, ...]
    secret: str
    right: float
    beyond: float
    cut: float | None = None

    @property
    def sentence(self) -> str:
        """What it tells, and what to do."""
        one = len(self.columns) == 1
        named = " and ".join(f"`{one_line(name, _LONGEST)}`" for name in self.columns)
        if self.cut is not None:
            named += f" (below {digits(self.cut)} or not)"
        verb, alone, them = ("tells", "by itself", "it") if one else ("tell", "together", "one of them")
        accept = "it" if one else "both"
        return (
            f"{named} {verb} `{one_line(self.secret, _LONGEST)}` {alone}, right about "
            f"{percent(self.right)} of the people: take {them} out of `public`, or accept {accept} "
            "(accepted_predictors)."
        )


def predictors(people: Dataset, accepted: Collection[str] = ()) -> tuple[Predictor, ...]:
    """The public columns that tell the secret, and the pairs of columns of which none does alone.

    The best guess for somebody is the most common value among the others with the same value of the column,
    or of both, so that nobody tells of themselves; where there are no others it is the most common value of
    all. It must be right for 95 % of the people and for at least half of those whom the most common value
    gets wrong, by more than luck among so many columns. Of a column of numbers that is cut into bands for
    tables, the best single cut is tried as well. Columns that are accepted are left out, and so are pairs of
    them. Bits and categories only, cuts for bits.

    Notes
    -----
    O(people) for each column and pair. Where people × pairs is more than 200 million, only pairs of the
    columns that guess most are tried.

    Examples
    --------
    >>> x = np.array([0, 1] * 50)
    >>> told = Dataset.from_arrays(np.stack([x, np.arange(100) % 3], axis=1), x, names=["x", "y"])
    >>> [(one.columns, one.right) for one in predictors(told)]
    [(('x',), 1.0)]
    """
    if not people.levels or people.secret is None or people.n == 0:
        return ()
    truth = np.asarray(people.secret, dtype=np.int64)
    usual = np.bincount(truth, minlength=people.levels)
    unusual = people.n - int(usual.max())
    if not unusual:
        return ()
    public = people.public
    named = list(zip(public.names, public.codes, public.levels, strict=True))
    several = len(named) + len(named) * (len(named) - 1) // 2

    numbers = public.numbers if people.levels == 2 else ()
    cuts = {
        name: best_cut(each, truth)
        for (name, _, levels), each in zip(named, numbers, strict=bool(numbers))
        if each is not None and np.unique(each).size > levels
    }
    several += sum(tried for tried, _ in cuts.values())

    def tells(names: tuple[str, ...], cells: Codes, cut: float | None = None) -> Predictor | None:
        right, beyond, said = _guessed(cells, truth, usual)
        enough = right >= _RIGHT * people.n and beyond >= _BEYOND * unusual
        if not enough or _by_luck(people.n, unusual, said, beyond) * several > _LUCK:
            return None
        return Predictor(names, people.secret_name, right / people.n, beyond / unusual, cut)

    def tells_alone(index: int) -> Predictor | None:
        name, codes, _ = named[index]
        found = tells((name,), np.asarray(codes, dtype=np.int64))
        if found is not None or name not in cuts:
            return found
        _, cut = cuts[name]
        return tells((name,), (np.asarray(numbers[index]) >= cut).astype(np.int64), cut)

    alone = [(name, tells_alone(index)) for index, (name, _, _) in enumerate(named)]
    found = [one for name, one in alone if one is not None and name not in accepted]
    telling = {name for name, one in alone if one is not None}
    left = [each for each in named if each[0] not in telling]
    for names, cells in _pairs(left, truth, usual, max(2, _WORK // people.n)):
        both = tells(names, cells)
        if both is not None and not set(names) <= set(accepted):
            found.append(both)
    return tuple(found)


def best_cut(numbers: Array, truth: Codes) -> tuple[int, float]:
    """How many cuts of the numbers there are, and the one that best tells the two values apart.

    Examples
    --------
    >>> best_cut(np.array([3.0, 1.0, 2.0, 5.0]), np.array([1, 0, 0, 1]))
    (3, 3.0)
    """
    order = np.argsort(numbers, kind="stable")
    number, ones = numbers[order], np.cumsum(truth[order])
    cuts = np.flatnonzero(np.diff(number) > 0)
    below, inside = cuts + 1, ones[cuts]
    above, others = truth.size - below, ones[-1] - inside
    right = np.maximum(inside, below - inside) + np.maximum(others, above - others)
    best = cuts[right.argmax()] + 1 if cuts.size else 0
    return cuts.size, float(number[best])


def _pairs(
    named: list[tuple[str, Any, int]], truth: Codes, usual: Codes, most: int
) -> Iterator[tuple[tuple[str, ...], Codes]]:
    """Each pair of columns with the cell of everybody; of too many columns, those that guess most."""
    few = int((1 + np.sqrt(1 + 8 * most)) / 2)
    if len(named) > few:
        right = [_guessed(np.asarray(codes, dtype=np.int64), truth, usual)[0] for _, codes, _ in named]
        kept = sorted(np.argsort(-np.array(right), kind="stable")[:few].tolist())
        named = [named[index] for index in kept]
    for (one, first, _), (other, second, levels) in combinations(named, 2):
        cells = np.asarray(first, dtype=np.int64) * levels + second
        if cells.max() > _LOOSE * cells.size:
            cells = np.unique(cells, return_inverse=True)[1].ravel()
        yield (one, other), cells


def _guessed(cells: Codes, truth: Codes, usual: Codes) -> tuple[int, int, int]:
    """How many are guessed right, how many of the unusual, and of how many something unusual is guessed."""
    levels, most = usual.size, int(usual.argmax())
    counts = np.bincount(cells * levels + truth)
    counts = np.append(counts, np.zeros(-counts.size % levels, dtype=counts.dtype)).reshape(-1, levels)
    tie = usual / (2.0 * usual.sum())  # of equally many, the value that is more common among all
    right = beyond = said = 0
    for value in range(levels):
        others = counts + tie
        others[:, value] -= 1
        guess = others.argmax(axis=1)
        people = counts[:, value]
        right += int(people[guess == value].sum())
        beyond += int(people[guess == value].sum()) if value != most else 0
        said += int(people[guess != most].sum())
    return right, beyond, said


def _by_luck(people: int, unusual: int, said: int, right: int) -> float:
    """The chance that so many people drawn at random would include so many of the unusual ones."""
    from scipy.special import gammaln

    drawn = max(said, right)
    counts = np.arange(right, min(drawn, unusual) + 1)

    def ways(of: Any, chosen: Any) -> Any:
        return gammaln(of + 1.0) - gammaln(chosen + 1.0) - gammaln(of - chosen + 1.0)

    others = ways(people - unusual, np.minimum(drawn - counts, people - unusual))
    possible = drawn - counts <= people - unusual
    law = np.exp(ways(unusual, counts) + others - ways(people, drawn))
    return float(law[possible].sum())
