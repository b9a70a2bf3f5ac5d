"""Whether reference people, published means and targets can be of one population, as every tracing assumes.

Outsiders of another population than the reference people look like members: they resemble the published means
more than the reference people do.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tellall.core.errors import InvalidInput, invalid
from tellall.core.records import Record
from tellall.linalg.operators.linear_operator import Array, IntArray
from tellall.people.attributes.chunks import Chunked, chunk_slices
from tellall.people.attributes.codings import AttributeCoding, calls_of, reals_of
from tellall.people.attributes.copies import stretches
from tellall.tracing.inputs import Input

__all__ = [
    "LEVEL",
    "Distance",
    "Exchangeability",
    "compare_populations",
    "refusal",
]

LEVEL = 0.01  # how often people of one population are refused, both comparisons together
_ENOUGH = 10  # fewer reference people tell nothing, fewer others too little to call two populations alike
_PAIR = 2  # one target may be an outlier
_CONTRASTS = 64  # reference people whose differences among each other are looked at
_DRAWS = 9_999
_FEWEST, _MOST = 10_000, 1_000_000  # attributes looked at
_RARE, _EXPECTED = 10, 2  # least sightings of the rarer value on both sides, and expected among contrasts
_TIE = 1e-9  # relative
_CALLS = 500_000_000  # read for that, where there are more attributes than the fewest


@dataclass(frozen=True)
class Distance(Record):
    """How far a mean of people lies from the reference people's mean, beside the reference's own spread.

    Attributes
    ----------
    ratio
        The squared distance, divided by what it is on average for so many people of one population; about 1
        for such people.
    p_value
        The chance of a distance as large for people of one population.
    people
        How many people the mean is over.
    """

    ratio: float
    p_value: float
    people: int

    @property
    def far(self) -> bool:
        """Whether it is too large for people of one population."""
        return self.p_value <= LEVEL / 2


@dataclass(frozen=True)
class Exchangeability(Record):
    """Whether the reference people can be of the population of the published means and of the targets.

    Attributes
    ----------
    status
        "alike", "different" or "not checked".
    sentence
        What was found, and on what it rests.
    means, targets
        The distances from the reference people's mean to the published means and to the targets' mean; None
        where it could not be measured.
    anyway
        Whether the caller answers for the assumption.
    """

    status: str
    sentence: str
    means: Distance | None = None
    targets: Distance | None = None
    anyway: bool = False

    @property
    def doubtful(self) -> bool:
        """Whether names rest on an assumption that fails, or that nobody has checked or answers for."""
        return self.status == "different" or (self.status == "not checked" and not self.anyway)


def compare_populations(given: Input, *, anyway: bool = False) -> Exchangeability:
    """Returns whether the reference people can be of the population of the published means and the targets.

    Notes
    -----
    With w the mean of R reference people and q the mean of n others of the same population, whose attributes
    have covariance Σ, the difference u = (q − w)/√(1/n + 1/R) is nearly normal with covariance Σ. So are the
    R − 1 orthonormal contrasts of the reference people (the reference's own splits: how two parts of it
    differ, scaled for their sizes), independent of u and of each other. Then any rotation of u and the
    contrasts has the same law, and

        p = the share of unit vectors a, uniform on the sphere, with aᵀGa ≥ ‖u‖²

    is valid for any dependence between attributes; G holds the inner products of u and the contrasts. The
    same is asked of the targets' mean, members among them or not: under the assumption they all are people of
    one population. Each is refused at half of `LEVEL`.

    Contrasts are given the error that was declared for the published means. An attribute counts with those
    who have it called, and not at all if its rarer value is seen fewer than ten times on both sides together,
    or expected fewer than twice among the reference people who make contrasts: sums of rare events are not
    normal. At most 64 reference people, spread over the whole list, make contrasts; all of them are in w. At
    most 1,000,000 attributes, and 500 million calls. O(people · attributes) time.
    """
    means = targets = None
    if given.reference.shape[0] >= _ENOUGH:
        means, targets = _distances(given)
    measured = [
        (what, one) for what, one in (("the published means", means), ("the targets", targets)) if one
    ]
    far = [(what, one) for what, one in measured if one.far]
    near = [what for what, one in measured if one.people >= _ENOUGH]
    if far:
        status = "different"
        times = " and ".join(f"from {what} {one.ratio:.3g} times" for what, one in far)
        chance = max(one.p_value for _, one in far)
        cases = 1000 if chance < 1e-3 else int(1 / chance)
        sentence = (
            f"The reference people differ {times} as much as two parts of the reference do from each other "
            f"(in squares; by chance in at most 1 of {cases:,} cases): probably another population."
        )
    elif near:
        status = "alike"
        sentence = (
            f"The reference people differ from {' and from '.join(near)} no more than two parts of the "
            "reference differ from each other."
        )
    else:
        status = "not checked"
        sentence = (
            "It was not checked that reference people, means and targets are of one population: "
            f"{_what_is_missing(given)}. If they are not, people who were not in the data are named."
        )
    return Exchangeability(status, sentence, means, targets, anyway)


def refusal(found: Exchangeability) -> InvalidInput:
    """Returns the error for reference people of another population."""
    return invalid(
        "reference",
        "people of the population that the means and the targets are from",
        "others",
        f"{found.sentence} In genotypes that is another ancestry, or the other allele counted; outsiders "
        "would be named as members. Noise that is not declared, a wrong number of people and relatives among "
        "the targets look the same. --anyway (anyway=True in Python) traces all the same.",
    )


def _what_is_missing(given: Input) -> str:
    """Returns why the reference people were compared with neither the means nor the targets."""
    pool = given.reference.shape[0]
    few = given.targets.shape[0]
    behind = given.behind
    if pool < _ENOUGH:
        return f"{pool} reference {'person is' if pool == 1 else 'people are'} too few, it takes {_ENOUGH}"
    if behind is None:
        means = "it is not known how many people the means are over"
    elif not given.error.known:
        means = "the error of the means is not known"
    elif behind < _ENOUGH:
        means = f"{behind} people behind the means are too few"
    else:
        return "no attribute varies enough among the reference people"
    if few >= _ENOUGH:
        return "no attribute varies enough among the reference people"
    return f"{few} {'target is' if few == 1 else 'targets are'} too few, it takes {_ENOUGH}, and {means}"


@dataclass(eq=False)
class _Products:
    """The inner products of a scaled difference of means (first) and the contrasts, over all attributes."""

    people: int
    total: Array | float = 0.0

    def add(self, difference: Array, contrasts: Array) -> None:
        rows = np.vstack([difference, contrasts])
        self.total = self.total + rows @ rows.T

    def distance(self) -> Distance | None:
        """Returns the distance; None if no attribute could be compared."""
        total = np.asarray(self.total)
        if total.ndim != 2 or not np.trace(total) > 0:
            return None
        squared, split = float(total[0, 0]), float(np.trace(total) - total[0, 0]) / (len(total) - 1)
        if split <= _TIE * squared:  # the reference people do not differ from each other
            return None
        values = np.linalg.eigvalsh(total) - squared
        draws = np.random.default_rng(0).standard_normal((_DRAWS, values.size)) ** 2
        slack = _TIE * float(np.trace(total))
        more = int((draws @ values >= -slack * draws.sum(axis=1)).sum())
        return Distance(float(f"{squared / split:.6g}"), (1 + more) / (1 + _DRAWS), self.people)


def _distances(given: Input) -> tuple[Distance | None, Distance | None]:
    """Returns the distances of the published means and of the targets, where they can be measured."""
    pool = given.reference.shape[0]
    few = given.targets.shape[0]
    behind = given.behind
    means = _Products(behind) if behind is not None and given.error.known else None
    targets = _Products(few) if few >= _PAIR else None
    if means is None and targets is None:
        return None, None
    who = np.unique(np.linspace(0, pool - 1, min(pool, _CONTRASTS)).round().astype(np.intp))
    turn = _helmert(who.size)
    rng = np.random.default_rng(0)  # of the declared errors; the answer is the same every time
    for part in _parts(given):
        w, called, rest = _reference(given, part, who)
        if means is not None and behind is not None:
            count = np.full(w.size, float(behind))
            some = _common(given, w, called, given.q[part], count, who.size)
            per = np.sqrt(1 / count[some] + 1 / called[some])
            contrasts = turn @ rest[:, some]
            error = given.error.sample(contrasts.shape, rng) / per
            means.add((given.q[part] - w)[some] / per, contrasts + error)
        if targets is not None:
            total, count = _sums("targets", given.targets, part, given.coding)
            mine = total / np.maximum(count, 1)
            some = _common(given, w, called, mine, count, who.size)
            per = np.sqrt(1 / count[some] + 1 / called[some])
            targets.add((mine - w)[some] / per, turn @ rest[:, some])
    return means.distance() if means else None, targets.distance() if targets else None


def _common(given: Input, w: Array, called: Array, mean: Array, count: Array, pool: int) -> IntArray:
    """Returns the attributes that both sides have and whose rarer value is not too rare for a normal law.

    Notes
    -----
    Whether an attribute is taken depends on both sides together, of which their difference and the contrasts
    are independent; by the reference people alone, the spread of those taken would be too large.
    """
    both = (called >= _PAIR) & (count > 0)
    if not given.coding.values:
        return np.flatnonzero(both)
    people = called + count
    together = (called * w + count * mean) / np.maximum(people, 1)
    rarer = given.coding.ploidy * (1 - np.abs(together)) / 2
    return np.flatnonzero(both & (rarer * people >= _RARE) & (rarer * pool >= _EXPECTED))


def _reference(given: Input, part: slice, who: IntArray) -> tuple[Array, Array, Array]:
    """Returns the reference people's means and numbers of calls, and how some differ from their own mean.

    A missing call counts as that mean, and the others' differences are enlarged to make up for it.
    """
    coding = given.coding
    if not coding.values:
        values = reals_of("reference", given.reference, part)
        total = values.sum(axis=0)
        called = np.full(values.shape[1], float(len(values)))
        z = values[who]
        have = np.ones(z.shape, dtype=bool)
    else:
        calls = calls_of("reference", given.reference, part, coding)
        total, called = calls.counts()
        codes = calls.codes()[who]
        have = codes < len(coding.values)
        z = np.array([*coding.signs, 0.0])[codes]
    seen = have.sum(axis=0)
    rest = np.where(have, z - z.sum(axis=0) / np.maximum(seen, 1), 0.0)
    rest[:, seen < _PAIR] = 0.0
    return total / np.maximum(called, 1), called, rest * np.sqrt((who.size - 1) / np.maximum(seen - 1, 1))


def _sums(name: str, people: Chunked, part: slice, coding: AttributeCoding) -> tuple[Array, Array]:
    if coding.values:
        return calls_of(name, people, part, coding).counts()
    values = reals_of(name, people, part)
    return values.sum(axis=0), np.full(values.shape[1], float(len(values)))


def _parts(given: Input) -> Iterator[slice]:
    """Yields chunks of attributes, spread over the whole list if there are too many."""
    people = given.targets.shape[0] + given.reference.shape[0]
    looked = min(given.q.size, _MOST, max(_FEWEST, _CALLS // people))
    for stretch in stretches(given.q.size, looked):
        for part in chunk_slices(stretch.stop - stretch.start, people):
            yield slice(stretch.start + part.start, stretch.start + part.stop)


def _helmert(people: int) -> Array:
    """Returns orthonormal contrasts of people: rows that sum to zero."""
    from scipy.linalg import helmert

    return np.asarray(helmert(people))
