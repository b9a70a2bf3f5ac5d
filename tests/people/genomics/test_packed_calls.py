import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tellall as ta
from tellall.people.attributes import chunks
from tellall.people.attributes.codings import CODINGS, ByteCalls, slices_for
from tellall.people.genomics import packed_calls
from tellall.people.genomics.packed_calls import MISSING, PackedCalls, pack
from tellall.tracing import scores as tracing_scores

GENOTYPES = CODINGS["genotypes"]
ATTACKS = [("single", {}), ("pool", {"alpha": 0.1}), ("likelihood-ratio", {"n": 12}), ("homer", {})]


def random_calls(people, sites, missing, seed):
    """Copies of the counted allele, 3 where missing, and the same packed with some sites turned."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 3, (people, sites)).astype(np.int8)
    codes[rng.random(codes.shape) < missing] = MISSING
    turned = rng.random(sites) < 0.3
    stored = np.where(turned & (codes < MISSING), 2 - codes, codes)
    rows = pack(np.where(stored == MISSING, -127, stored))
    if people % 4:  # what fills the last byte is anything
        rows[:, -1] |= np.uint8(256 - 4 ** (people % 4))
    return ByteCalls(codes, GENOTYPES), PackedCalls(rows, turned, people)


def linear_table(sites, seed):
    rng = np.random.default_rng(seed)
    none, slope = rng.normal(size=(2, sites))
    return np.stack([none, none + slope, none + 2 * slope, rng.normal(size=sites)])


@given(st.integers(1, 13), st.integers(1, 40), st.sampled_from([0.0, 0.2, 1.0]), st.integers(0, 99))
def test_packed_calls_are_the_calls(people, sites, missing, seed):
    plain, packed = random_calls(people, sites, missing, seed)
    np.testing.assert_array_equal(packed.codes(), plain.codes())
    for ours, theirs in zip(packed.counts(), plain.counts(), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    table = linear_table(sites, seed)
    np.testing.assert_allclose(packed.sums(table), plain.sums(table), rtol=1e-12, atol=1e-12)
    tables = np.random.default_rng(seed).normal(size=(4, 6, sites))
    for dtype, error in ((np.float64, 1e-12), (np.float32, 1e-4)):
        ours, theirs = (calls.totals(tables.__getitem__, dtype) for calls in (packed, plain))
        np.testing.assert_allclose(ours, theirs, rtol=error, atol=error)


@given(st.integers(1, 13), st.integers(1, 40), st.integers(0, 99))
def test_some_people_and_some_sites(people, sites, seed):
    plain, packed = random_calls(people, sites, 0.1, seed)
    keep = np.random.default_rng(seed).random(sites) < 0.5
    np.testing.assert_array_equal(packed.at(keep).codes(), plain.codes()[:, keep])
    first = people // 8 * 4
    np.testing.assert_array_equal(packed.some(first, people).codes(), plain.codes()[first:])


@pytest.mark.parametrize("missing", [0.0, 0.05])
@pytest.mark.parametrize("kernel", ["numpy", "numba"])
def test_large_jobs_lose_no_more_than_single_precision(kernel, missing, monkeypatch):
    if kernel == "numba":
        pytest.importorskip("numba")
    else:
        monkeypatch.setattr(packed_calls, "_numba", lambda: False)
    for people, sites in ((1, 1), (3, 3), (16, 4), (65, 5), (203, 1030), (10_500, 9)):
        plain, packed = random_calls(people, sites, missing, people)
        table = linear_table(sites, 1)
        size = np.abs(table).sum(axis=1).max()
        got = packed.sums(table, job=1e12)
        np.testing.assert_allclose(got, plain.sums(table), rtol=0, atol=1e-6 * size)


class Both:
    """People given packed or as bytes."""

    def __init__(self, codes, *, packed):
        self.codes, self.shape = np.where(codes == MISSING, -127, codes).astype(np.int8), codes.shape
        self.rows, self.packed = pack(self.codes), packed

    def chunk(self, start, stop):
        if not self.packed:
            return self.codes[:, start:stop]
        rows = self.rows[start:stop]
        return PackedCalls(rows, np.zeros(len(rows), dtype=bool), len(self.codes))


@pytest.mark.parametrize("missing", [0.0, 0.03])
@pytest.mark.parametrize(
    ("attack", "options", "threshold"),
    [(*one, "empirical") for one in ATTACKS] + [(*one, "hoeffding") for one in ATTACKS[:2]],
)
def test_packed_people_are_traced_like_others(attack, options, missing, threshold, monkeypatch):
    codes = random_calls(61, 150, missing, 3)[0].codes()
    means = np.random.default_rng(0).uniform(0.05, 0.95, 150)
    means[[4, 77]] = np.nan
    options = {**options, "attack": attack, "coding": "genotypes", "threshold": threshold, "anyway": True}
    found = []
    for packed, together in ((False, 2**24), (True, 2**24), (True, 40)):
        monkeypatch.setattr(tracing_scores, "_BESIDE", together)  # 40: many groups of targets
        monkeypatch.setattr(tracing_scores, "_LEAST", 4)
        people = [Both(part, packed=packed) for part in (codes[:40], codes[40:])]
        found.append(ta.trace(means, *people, **options))
    for other in found[1:]:
        np.testing.assert_allclose(other.scores, found[0].scores, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(other.threshold, found[0].threshold, rtol=1e-10, atol=1e-10)
        np.testing.assert_array_equal(other.p_values.round(12), found[0].p_values.round(12))
        if threshold == "empirical":
            np.testing.assert_allclose(other.reference_scores, found[0].reference_scores, atol=1e-10)


@pytest.mark.parametrize("attack", ["single", "pool"])
@pytest.mark.parametrize("threshold", ["empirical", "hoeffding"])
def test_threads_share_the_sites(attack, threshold, monkeypatch):
    """Some hundred sites in chunks of sixteen, on three threads: the scores of one."""
    pytest.importorskip("numba")
    codes = random_calls(61, 500, 0.02, 5)[0].codes()
    people = [Both(part, packed=True) for part in (codes[:40], codes[40:])]
    means = np.random.default_rng(1).uniform(0.05, 0.95, 500)
    options = {"attack": attack, "alpha": 0.1, "threshold": threshold, "coding": "genotypes"}
    alone = ta.trace(means, *people, **options)
    monkeypatch.setattr(packed_calls, "_COMPILED", 0)
    monkeypatch.setattr(chunks, "_PACKED_BYTES", 160)
    monkeypatch.setattr(tracing_scores, "_product_threads", lambda: 3)
    together = ta.trace(means, *people, **options)
    assert len(list(slices_for(people[0], GENOTYPES))) > 3
    np.testing.assert_allclose(together.scores, alone.scores, rtol=0, atol=1e-4)
    np.testing.assert_array_equal(together.member, alone.member)


def test_a_numba_that_does_not_work_is_done_without(monkeypatch):
    """As where it refuses the NumPy that is installed: the import fails though the package is there."""
    monkeypatch.setitem(sys.modules, "tellall.people.genomics.packed_kernel", None)
    packed_calls._numba.cache_clear()
    try:
        assert not packed_calls.worth_compiling(1e12)
        plain, packed = random_calls(9, 40, 0.0, 1)
        table = linear_table(40, 1)
        np.testing.assert_allclose(packed.sums(table, job=1e12), plain.sums(table), atol=1e-4)
    finally:
        packed_calls._numba.cache_clear()
