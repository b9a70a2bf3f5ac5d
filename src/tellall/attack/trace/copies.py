"""Targets who also stand among the reference people, told by their calls, and people who lack calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.algebra.operators.base import Array, IntArray
from tellall.attack.trace.blocks import Blocks, Codes, Coding, Some, blocks_for, calls_of
from tellall.people.genomics.packed_calls import PackedCalls

__all__ = [
    "Lacking",
    "compared",
    "copies",
    "lacking",
]

_COMPARED = 10_000  # attributes looked at to tell codings, copies and gaps
_CELLS = 5_000_000  # calls held for that
_CHANCE = 32  # below so many attributes equal people are no surprise
_STRETCHES = 32  # places in a genome: brothers and sisters are alike over all of them with chance 4⁻³²
_ALIKE = (256, 2048)  # attributes in which every target is compared with every reference person
_PAIRS, _MOST_PAIRS = 2e8, 3e7  # calls of pairs compared where there are few people, and pairs at most
_HELD, _QUICK = 2**22, 1e7  # pairs held at once, and calls of pairs that take no time
_ENOUGH = 1024  # people to tell frequencies from, and in one product
_DIFFER = 50.0  # so many differences must be expected of two people before fewer say anything
_FEW = 0.1  # of the differences expected: a person's two samples, or twins
_SCREENED, _SCREEN_FEW = 64, 0.4  # attributes of a first look, and what it lets through


@dataclass(frozen=True, eq=False)
class Lacking:
    """The share of the calls looked at that are missing, of how many attributes, and who has none at all."""

    share: float
    attributes: int
    nothing: npt.NDArray[np.bool_]


def compared(people: Blocks) -> int:
    """How many attributes are looked at."""
    return min(people.shape[1], _COMPARED, max(_CHANCE, _CELLS // people.shape[0]))


def lacking(name: str, people: Blocks, coding: Coding) -> Lacking:
    """How many calls are missing, by some attributes from all over; who has none, by all of them."""
    count, attributes = people.shape
    nothing = np.zeros(count, dtype=bool)
    if not coding.values:
        return Lacking(0.0, attributes, nothing)
    looked, missing, lacks = compared(people), 0.0, np.zeros(count)
    for part in _stretches(attributes, looked):
        calls = calls_of(name, people, part, coding)
        absent = float((count - calls.counts()[1]).sum())
        missing += absent
        if absent:
            lacks += (calls.codes() == len(coding.values)).sum(axis=1)
    nothing = lacks == looked
    if nothing.any() and looked < attributes:
        for part in blocks_for(people, coding):
            nothing &= (calls_of(name, people, part, coding).codes() == len(coding.values)).all(axis=1)
            if not nothing.any():
                break
    return Lacking(missing / (count * looked), looked, nothing)


def copies(targets: Blocks, reference: Blocks, coding: Coding) -> int:
    """How many targets are a reference person, or a twin of one.

    Notes
    -----
    Equal in all attributes looked at (32 or more): by a sum of the values with random whole weights, which is
    exact; two who differ share it with a chance of 2⁻³⁰ or less. Nearly equal, with missing calls and errors:
    of some hundred attributes from 32 places, among those that both have, a pair differs in less than a tenth
    of what pairs of people differ in, and that is 50 attributes or more. Two strangers do so with a chance
    below 1e-15, the Poisson chance of 5 for 50. Parents, children, brothers and sisters differ in about half
    of what strangers do. O(targets · reference · attributes compared) time, for up to 30 million pairs.
    """
    if min(compared(targets), compared(reference)) < _CHANCE:
        return 0
    if not coding.values:
        return int(_equal_reals(targets, reference, coding).sum())
    return int((_equal(targets, reference, coding) | _alike(targets, reference, coding)).sum())


def _stretches(attributes: int, looked: int) -> Iterator[slice]:
    """So many attributes, in stretches from all over where they are not all."""
    if looked >= attributes:
        yield slice(0, attributes)
        return
    parts = min(_STRETCHES, looked)
    for part in range(parts):
        width = (part + 1) * looked // parts - part * looked // parts
        start = part * attributes // parts
        yield slice(start, start + width)


def _equal_reals(targets: Blocks, reference: Blocks, coding: Coding) -> npt.NDArray[np.bool_]:
    stop = min(compared(targets), compared(reference))
    known = {row.tobytes() for row in coding.numbers("reference", reference.block(0, stop))}
    rows = coding.numbers("targets", targets.block(0, stop))
    return np.array([row.tobytes() in known for row in rows])


def _equal(targets: Blocks, reference: Blocks, coding: Coding) -> npt.NDArray[np.bool_]:
    stop = min(compared(targets), compared(reference))
    weights = np.random.default_rng(0).integers(1, 2**30, (2, stop)).astype(np.float64)
    values = [place * weights[0] for place in range(len(coding.values))]
    table = np.stack([*values, weights[1]])
    first, second = (
        calls_of(name, people, slice(0, stop), coding).sums(table)
        for name, people in (("targets", targets), ("reference", reference))
    )
    return np.isin(first, second)


def _alike(targets: Blocks, reference: Blocks, coding: Coding) -> npt.NDArray[np.bool_]:
    people, pool, attributes = targets.shape[0], reference.shape[0], targets.shape[1]
    found = np.zeros(people, dtype=bool)
    if people * pool > _MOST_PAIRS:
        return found
    looked = min(attributes, int(np.clip(_PAIRS / (people * pool), *_ALIKE)))
    step = max(4, _HELD // max(pool, looked) // 4 * 4)
    looks = [(looked, _DIFFER, _FEW)]
    if people * pool * looked > _QUICK:
        # a few attributes tell nearly all from everybody; whoever is left is compared in all of them
        looks = [(_SCREENED, 0.0, _SCREEN_FEW), *looks]
    for first in range(0, people, step):
        some = Some(targets, first, min(first + step, people))
        left = np.arange(some.shape[0])
        for count, least, share in looks:
            if left.size:
                parts = list(_stretches(attributes, min(count, looked)))
                y = _gather("targets", some, parts, coding)
                z = _gather("reference", reference, parts, coding)
                expected, differ = _differences(y, z, left, len(coding.values))
                near = (differ <= share * expected) & (expected >= least)
                left = left[near.any(axis=1)]
        found[first + left] = True
    return found


def _gather(name: str, people: Blocks, parts: list[slice], coding: Coding) -> Codes:
    found = [calls_of(name, people, part, coding) for part in parts]
    packed = [calls for calls in found if isinstance(calls, PackedCalls)]
    if len(packed) == len(found):
        rows, turned = (
            np.concatenate(each) for each in zip(*((c.rows, c.turned) for c in packed), strict=True)
        )
        return PackedCalls(rows, turned, people.shape[0]).codes()
    return np.concatenate([calls.codes() for calls in found], axis=1)


def _differences(y: Codes, z: Codes, left: IntArray, missing: int) -> tuple[Array, Array]:
    """In how many attributes those left of y are expected to differ from each of z, and in how many they do.

    Expected are as many as of two people drawn from y and z, at the attributes that both have.
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
    """The sum of the weights over the attributes that two people both have."""
    if y.max(initial=0) < missing and z.max(initial=0) < missing:
        return np.full((len(y), len(z)), weights.sum())
    return _product([y < missing], [(z < missing) * weights])


def _product(y: Sequence[npt.NDArray[Any]], z: Sequence[npt.NDArray[Any]]) -> Array:
    """The sums over attributes of the products, for every pair; some people at a time, to stay in cache."""
    right = np.concatenate(z, axis=1).astype(np.float32).T.copy()
    total = np.empty((len(y[0]), right.shape[1]), dtype=np.float32)
    for first in range(0, len(total), _ENOUGH):
        rows = slice(first, first + _ENOUGH)
        total[rows] = np.concatenate([part[rows] for part in y], axis=1).astype(np.float32) @ right
    return total
