"""Targets who are also among the reference people, found by their calls, and people with missing calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.linalg.operators.linear_operator import Array, IntArray
from tellall.people.attributes.chunks import Chunked, SomePeople
from tellall.people.attributes.codings import AttributeCoding, Codes, calls_of, reals_of, slices_for
from tellall.people.genomics.packed_calls import PackedCalls

__all__ = [
    "Lacking",
    "compared",
    "count_copies",
    "lacking",
    "stretches",
]

_COMPARED = 10_000  # attributes examined for codings, copies and gaps
_CELLS = 5_000_000  # calls held for that
_CHANCE = 32  # with fewer attributes, two equal people are no surprise
_STRETCHES = 32  # regions of a genome: brothers and sisters are alike in all of them with chance 4⁻³²
_ALIKE = (256, 2048)  # fewest and most attributes in which every target meets every reference person
_PAIRS, _MOST_PAIRS = 2e8, 3e7  # calls of pairs compared where people are few; pairs at most
_HELD, _QUICK = 2**22, 1e7  # pairs held at once; calls of pairs that take no time
_ENOUGH = 1024  # people to estimate frequencies from, and in one product
_DIFFER = 50.0  # differences expected of two people before their absence means anything
_FEW = 0.1  # share of the expected differences: two samples of one person, or twins
_SCREENED, _SCREEN_FEW = 64, 0.4  # attributes of a first look, and the share of differences it lets pass


@dataclass(frozen=True, eq=False)
class Lacking:
    """The share of the examined calls that are missing, how many attributes were examined, and who has none.

    `nothing` marks the people without a single call.
    """

    share: float
    attributes: int
    nothing: npt.NDArray[np.bool_]


def compared(people: Chunked) -> int:
    """Returns how many attributes are examined."""
    return min(people.shape[1], _COMPARED, max(_CHANCE, _CELLS // people.shape[0]))


def lacking(name: str, people: Chunked, coding: AttributeCoding) -> Lacking:
    """Estimates the share of missing calls from some attributes; finds who has none from all of them."""
    count, attributes = people.shape
    nothing = np.zeros(count, dtype=bool)
    if not coding.values:
        return Lacking(0.0, attributes, nothing)
    looked = compared(people)
    missing = 0.0
    lacks = np.zeros(count)
    for part in stretches(attributes, looked):
        calls = calls_of(name, people, part, coding)
        absent = float((count - calls.counts()[1]).sum())
        missing += absent
        if absent:
            lacks += (calls.codes() == len(coding.values)).sum(axis=1)
    nothing = lacks == looked
    if nothing.any() and looked < attributes:
        for part in slices_for(people, coding):
            nothing &= (calls_of(name, people, part, coding).codes() == len(coding.values)).all(axis=1)
            if not nothing.any():
                break
    return Lacking(missing / (count * looked), looked, nothing)


def count_copies(targets: Chunked, reference: Chunked, coding: AttributeCoding) -> int:
    """Counts the targets who are also a reference person, or the twin of one.

    Notes
    -----
    Two people count as equal if the sums of their values with random whole weights are equal. The sums are
    over 32 attributes or more and exact; people who differ have equal sums with probability 2⁻³⁰ or less.
    They count as nearly equal, in spite of missing calls and errors, if they differ in at most a tenth as
    many attributes as two strangers would, and strangers would differ in 50 or more of the hundreds of
    attributes compared, from 32 regions. For strangers the probability of that is below 1e-15 (at most 5 from
    a Poisson law with mean 50); parents, children, brothers and sisters differ half as often as strangers.
    O(targets · reference · attributes) time, up to 30 million pairs.
    """
    part = slice(0, min(compared(targets), compared(reference)))
    if part.stop < _CHANCE:
        return 0
    if not coding.values:
        return int(_equal_reals(targets, reference, part).sum())
    return int((_equal(targets, reference, part, coding) | _alike(targets, reference, coding)).sum())


def stretches(attributes: int, looked: int) -> Iterator[slice]:
    """Yields slices with `looked` attributes in all, spread over the whole list."""
    if looked >= attributes:
        yield slice(0, attributes)
        return
    parts = min(_STRETCHES, looked)
    for part in range(parts):
        width = (part + 1) * looked // parts - part * looked // parts
        start = part * attributes // parts
        yield slice(start, start + width)


def _equal_reals(targets: Chunked, reference: Chunked, part: slice) -> npt.NDArray[np.bool_]:
    known = {row.tobytes() for row in reals_of("reference", reference, part)}
    return np.array([row.tobytes() in known for row in reals_of("targets", targets, part)])


def _equal(targets: Chunked, reference: Chunked, part: slice, coding: AttributeCoding) -> npt.NDArray[Any]:
    weights = np.random.default_rng(0).integers(1, 2**30, (2, part.stop)).astype(np.float64)
    table = np.stack([*(code * weights[0] for code in range(len(coding.values))), weights[1]])
    first = calls_of("targets", targets, part, coding).sums(table)
    return np.isin(first, calls_of("reference", reference, part, coding).sums(table))


def _alike(targets: Chunked, reference: Chunked, coding: AttributeCoding) -> npt.NDArray[np.bool_]:
    people = targets.shape[0]
    pool = reference.shape[0]
    attributes = targets.shape[1]
    found = np.zeros(people, dtype=bool)
    if people * pool > _MOST_PAIRS:
        return found
    looked = min(attributes, int(np.clip(_PAIRS / (people * pool), *_ALIKE)))
    step = max(4, _HELD // max(pool, looked) // 4 * 4)
    looks = [(looked, _DIFFER, _FEW)]
    if people * pool * looked > _QUICK:
        # a few attributes rule out nearly everybody; the rest are compared in all of them
        looks = [(_SCREENED, 0.0, _SCREEN_FEW), *looks]
    for first in range(0, people, step):
        some = SomePeople(targets, first, min(first + step, people))
        left = np.arange(some.shape[0])
        for count, least, share in looks:
            if left.size:
                parts = list(stretches(attributes, min(count, looked)))
                y = _gather("targets", some, parts, coding)
                z = _gather("reference", reference, parts, coding)
                expected, differ = _differences(y, z, left, len(coding.values))
                near = (differ <= share * expected) & (expected >= least)
                left = left[near.any(axis=1)]
        found[first + left] = True
    return found


def _gather(name: str, people: Chunked, parts: list[slice], coding: AttributeCoding) -> Codes:
    found = [calls_of(name, people, part, coding) for part in parts]
    packed = [calls for calls in found if isinstance(calls, PackedCalls)]
    if len(packed) == len(found):
        rows, turned = (
            np.concatenate(each) for each in zip(*((c.rows, c.turned) for c in packed), strict=True)
        )
        return PackedCalls(rows, turned, people.shape[0]).codes()
    return np.concatenate([calls.codes() for calls in found], axis=1)


def _differences(y: Codes, z: Codes, left: IntArray, missing: int) -> tuple[Array, Array]:
    """Returns in how many attributes each y that is left should differ from each z, and in how many it does.

    The first number is the mean for two random people of y and z, over the attributes that both have.
    """
    known = np.concatenate([y[:_ENOUGH], z])
    counts = np.stack([(known == value).sum(axis=0) for value in range(missing)])
    called = counts.sum(axis=0)
    pairs = np.maximum(called * (called - 1.0), 1.0)
    rate = 1 - (counts * (counts - 1.0)).sum(axis=0) / pairs
    few = y[left] if left.size < len(y) else y
    equal = _product([few == value for value in range(missing)], [z == value for value in range(missing)])
    return _both(few, z, missing, rate), _both(few, z, missing, np.ones(rate.size)) - equal


def _both(y: Codes, z: Codes, missing: int, weights: Array) -> Array:
    """Sums the weights over the attributes that two people both have."""
    if y.max(initial=0) < missing and z.max(initial=0) < missing:
        return np.full((len(y), len(z)), weights.sum())
    return _product([y < missing], [(z < missing) * weights])


def _product(y: Sequence[npt.NDArray[np.generic]], z: Sequence[npt.NDArray[np.generic]]) -> Array:
    """Sums the products over attributes for every pair, some people at a time to stay in the cache."""
    right = np.concatenate(z, axis=1).astype(np.float32).T.copy()
    total = np.empty((len(y[0]), right.shape[1]), dtype=np.float32)
    for first in range(0, len(total), _ENOUGH):
        rows = slice(first, first + _ENOUGH)
        total[rows] = np.concatenate([part[rows] for part in y], axis=1).astype(np.float32) @ right
    return total
