"""How many secrets, or sets of rows, fit what was published: counted if few, estimated if many."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import comb, exp, factorial, floor, log, log10, prod

import numpy as np

from tellall.attack.prove.proof import Proof
from tellall.attack.prove.ranges import Ranges
from tellall.attack.secret import Code, Secret
from tellall.evidence.evidence import Evidence
from tellall.linalg.operators.linear_operator import Array, IntArray
from tellall.linalg.operators.sparse import Sparse
from tellall.linalg.solvers.exhaustive import Exhaustive, every_solution
from tellall.linalg.solvers.solution import Component, WholeSystem, enclose

__all__ = ["Count", "count_rows", "count_secrets"]

_LIST = Exhaustive(cap=5000, nodes=20_000)
_FEW = Exhaustive(cap=5000, nodes=1000)  # if a count is wanted quickly or not at all
_LISTED = 60  # unknowns of a part up to which all solutions are listed
_DIVES = 40  # for the estimate, in a part that has more
_FEWEST = 10  # dives that must reach a solution for an estimate
_MOST_DIVED = 300  # most unknowns of a part for dives
_MOST_ENTRIES = 2_000_000  # in a system that is written out
_MOST_PEOPLE = 10_000  # more people have too many secrets to write the number down
_WIDEST = 1_000_000  # values of one unknown

Weight = Callable[[int, int], Fraction]  # of an unknown, by its index, at a value


@dataclass(frozen=True)
class Count:
    """How many there are: at least, at most, and about.

    Attributes
    ----------
    least, most
        Certain bounds; equal if all were counted.
    estimate
        The mean of random dives, unbiased but often far off; None if nothing was estimated.
    """

    least: int
    most: int
    estimate: float | None = None

    @property
    def exact(self) -> bool:
        """Whether all were counted."""
        return self.least == self.most

    def __repr__(self) -> str:
        # the numbers may have more digits than Python writes
        return f"Count: {self}"

    def __str__(self) -> str:
        if self.exact:
            return "the only one possible" if self.least == 1 else f"one of {_written(self.least)} possible"
        about = "" if self.estimate is None else f"about {_written(self.estimate)}, "
        least = f"at least {_written(self.least)} and " if self.least else ""
        return f"one of {about}{least}at most {_written(self.most)} possible"


def _written(number: float) -> str:
    """A count as text: digits, or a power of ten."""
    return f"{round(number):,}" if number < 1_000_000 else f"10^{floor(log10(number))}"


def _log(number: Fraction) -> float:
    """The logarithm of a positive number that may be more, or less, than a float can hold."""
    return log(number.numerator) - log(number.denominator)


def _exp(about: float) -> float:
    """The number with this logarithm, a whole one if it is more than a float can hold."""
    doublings = floor(about / log(2))
    if doublings < 1000:
        return exp(about)
    return round(exp(about - doublings * log(2)) * 2**52) << (doublings - 52)


def count_secrets(evidence: Evidence, proof: Proof, secret: Secret, *, thorough: bool = True) -> Count | None:
    """Returns how many secrets satisfy what is certain; None for real numbers and very large problems.

    A count x in a group of N people alike stands for C(N, x) secrets; counts x_v of categories stand for
    N!/Π x_v!. Unless ``thorough``, parts are listed quickly or not at all, and nothing is estimated.
    """
    if not isinstance(secret, Code) or proof.jointly:  # unknown columns have their own share of solutions
        return None
    exclusive = secret.exclusive
    certain, box = evidence.certain, proof.enclosure
    size = evidence.system.size.astype(np.int64)
    if box.empty:
        return Count(0, 0)
    entries = float((certain.operator.squared() @ (box.lower < box.upper).astype(np.float64)).sum())
    if entries > _MOST_ENTRIES or evidence.n > _MOST_PEOPLE:
        return None
    ends = certain.low, certain.high
    system = WholeSystem.left_open(certain.operator, *ends, certain.gaps, box)
    parts = [(part, system.columns[part.columns]) for part in system.parts()]

    def weight(unknown: int, x: int) -> Fraction:
        return Fraction(1, factorial(x)) if exclusive else Fraction(comb(int(size[unknown]), x))

    groups = size[: len(evidence.groups)] if exclusive else size[:0]
    ways = prod(factorial(int(each)) for each in groups)
    return _counted(box.lower, box.upper, parts, weight, ways, thorough=thorough)


def count_rows(found: Ranges) -> Count | None:
    """Returns how many sets of rows have all tables; None if rows can occur any number of times."""
    if found.empty:
        return Count(0, 0)
    if np.isinf(found.upper).any():
        return None
    count = _counted(found.lower, found.upper, found.parts, lambda unknown, x: Fraction(1))
    if count is None or found.solution is None:
        return count
    return replace(count, least=max(1, count.least))


def _counted(
    lower: Array,
    upper: Array,
    parts: Sequence[tuple[Component, IntArray]],
    weight: Weight,
    factor: int = 1,
    *,
    thorough: bool = True,
) -> Count | None:
    """Returns the sum of the weights of all solutions: a product over parts and unknowns in no part."""
    apart = np.ones(lower.size, dtype=bool)
    for _, place in parts:
        apart[place] = False
    if (upper - lower).max(initial=0.0) > _WIDEST:
        return None
    least = most = factor * prod(
        (_between(weight, int(u), lower, upper) for u in np.flatnonzero(apart)), start=Fraction(1)
    )
    about: float | None = _log(most) if most else None
    for part, place in parts:
        few, many, guess = _part(part, place, lower[place], upper[place], weight, thorough)
        least, most = least * few, most * many
        about = None if about is None or guess is None else about + guess
    if least == most:
        return Count(int(least), int(most))
    return Count(floor(least), floor(most), None if about is None else _exp(about))


def _between(weight: Weight, unknown: int, lower: Array, upper: Array) -> Fraction:
    values = range(int(lower[unknown]), int(upper[unknown]) + 1)
    return sum((weight(unknown, x) for x in values), Fraction(0))


def _part(
    part: Component, place: IntArray, lower: Array, upper: Array, weight: Weight, thorough: bool
) -> tuple[Fraction, Fraction, float | None]:
    """Returns the weight of a part's solutions: at least, at most, and the logarithm of an estimate."""

    def ways(x: Array) -> Fraction:
        return prod(
            (weight(int(u), int(value)) for u, value in zip(place, x, strict=True)), start=Fraction(1)
        )

    if place.size <= _LISTED:
        listed = every_solution(part, _LIST if thorough else _FEW)
        if listed is not None:
            total = sum((ways(x) for x in listed.solutions), Fraction(0))
            return total, total, _log(total) if total else None
    most = prod(
        (
            sum((weight(int(u), x) for x in range(int(low), int(high) + 1)), Fraction(0))
            for u, low, high in zip(place, lower, upper, strict=True)
        ),
        start=Fraction(1),
    )
    seen: dict[bytes, Fraction] = {}
    logs: list[float] = []
    for x, chance in _dives(part, lower, upper) if thorough else ():
        found = seen.setdefault(x.tobytes(), ways(x))
        logs.append(chance + _log(found))
    if len(logs) < _FEWEST:
        return sum(seen.values(), Fraction(0)), most, None
    top = max(logs)
    return sum(seen.values(), Fraction(0)), most, top + log(sum(exp(each - top) for each in logs) / _DIVES)


def _dives(part: Component, lower: Array, upper: Array) -> Iterator[tuple[Array, float]]:
    """Yields random solutions, with the logarithm of one over the chance of each (Knuth 1975).

    One unknown after another is set to a random value of its range, and bounds are propagated; a dive that
    reaches no solution yields nothing, and counts as zero.
    """
    if part.columns.size > _MOST_DIVED:
        return
    rng, operator = np.random.default_rng(0), Sparse(part.matrix)
    for _ in range(_DIVES):
        low, high, chance, alive = lower.copy(), upper.copy(), 0.0, True
        while alive and (low < high).any():
            width = high - low
            unknown = int(np.where(width > 0, width, np.inf).argmin())
            chance += log(width[unknown] + 1)
            low[unknown] = high[unknown] = low[unknown] + rng.integers(0, int(width[unknown]) + 1)
            box = enclose(operator, part.low, part.high, upper=high, lower=low)
            low, high, alive = box.lower, box.upper, not box.empty
        if alive and part.fits(low):
            yield low, chance
