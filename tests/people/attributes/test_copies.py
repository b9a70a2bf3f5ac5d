"""Targets who are also reference people are noticed; relatives are not taken for them."""

from itertools import product

import numpy as np
import pytest

import tellall as ta
from tellall.people.attributes.chunks import as_chunked
from tellall.people.attributes.codings import CODINGS
from tellall.people.attributes.copies import count_copies
from tellall.people.genomics.packed_calls import MISSING, PackedCalls, pack


def population(d, people, rng, *, rare=False):
    p = rng.beta(0.5, 5, d) if rare else rng.uniform(0.05, 0.5, d)
    return rng.random((people, 2, d)) < p  # two alleles a person


def spoil(calls, missing, errors, rng):
    calls = calls.astype(float)
    wrong = rng.random(calls.shape) < errors
    calls[wrong] = (calls[wrong] + rng.integers(1, 3, int(wrong.sum()))) % 3
    calls[rng.random(calls.shape) < missing] = np.nan
    return calls


def found(targets, reference, coding="genotypes"):
    people = as_chunked("targets", targets), as_chunked("reference", reference)
    return count_copies(*people, CODINGS[coding])


SPOILT = [(0.0, 0.0), (0.01, 0.0), (0.0, 0.002), (0.2, 0.005)]


@pytest.mark.parametrize(
    ("d", "rare", "missing", "errors"),
    [
        (d, rare, *spoilt)
        for d, rare in product([400, 5000, 30_000], [False, True])
        for spoilt in (SPOILT if d > 400 or not rare else SPOILT[:1])  # few rare ones differ too little
    ],
)
def test_near_copies_are_counted(d, rare, missing, errors):
    rng = np.random.default_rng([d, rare])
    people = population(d, 120, rng, rare=rare).sum(axis=1)
    targets, reference = people[:60], np.vstack([people[60:], spoil(people[:5], missing, errors, rng)])
    assert found(targets, reference) == 5
    assert found(targets, people[60:]) == 0


def test_a_note_says_so_for_packed_and_other_calls():
    rng = np.random.default_rng(0)
    people = population(2000, 100, rng).sum(axis=1)
    reference = np.vstack([people[40:], spoil(people[:5], 0.01, 0.002, rng)])
    codes = np.where(np.isnan(reference), -1, reference).astype(np.int8)
    assert codes.max() < MISSING

    class Packed:
        shape, rows = codes.shape, pack(codes)

        def chunk(self, start, stop):
            return PackedCalls(self.rows[start:stop], np.zeros(stop - start, dtype=bool), len(codes))

    for others in (reference, codes, Packed()):
        tracing = ta.trace(people[:20].mean(axis=0) / 2, people[:40], others, coding="genotypes")
        assert any(note.startswith("5 of the targets are also reference people") for note in tracing.notes)


def test_bits_are_compared_too():
    rng = np.random.default_rng(1)
    people = (rng.random((100, 500)) < rng.uniform(0.1, 0.9, 500)).astype(float)
    copy = people[:3].copy()
    copy[rng.random(copy.shape) < 0.05] = np.nan
    assert found(people[:50], np.vstack([people[50:], copy]), "bits") == 3
    assert found(people[:50], people[50:], "bits") == 0


def test_brothers_sisters_parents_and_children_are_not_copies():
    """Forty stretches of a genome go from parents to children whole."""
    rng = np.random.default_rng(2)
    d, families = 20_000, 40
    parents = population(d, 2 * families, rng).reshape(families, 2, 2, d)

    def child():
        chosen = np.repeat(rng.integers(0, 2, (families, 2, 40)), d // 40, axis=2)
        return np.take_along_axis(parents, chosen[:, :, None, :], axis=2)[:, :, 0, :].sum(axis=1)

    first, second = child(), child()
    both = parents.sum(axis=2).reshape(-1, d)
    assert found(first, second) == 0
    assert found(first, both) == 0
    assert found(first, np.vstack([second, spoil(first[:7], 0.02, 0.001, rng)])) == 7


def test_few_people_and_few_attributes():
    rng = np.random.default_rng(3)
    people = population(2000, 2, rng).sum(axis=1)
    assert found(people[:1], people[:1]) == 1
    assert found(people[:1], people[1:]) == 0
    few = rng.integers(0, 2, (20, 20))
    assert found(few, few, "bits") == 0
    assert found(np.zeros((3, 40)), np.zeros((3, 40)), "bits") == 3
