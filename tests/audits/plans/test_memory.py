"""What an audit will need, told before it starts."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import tellall as ta
from tellall.audits.plans.memory_needed import memory_of
from tellall.audits.plans.plan import Plan
from tellall.linalg.operators.linear_operator import HOST


def people(n: int, d: int, levels: int = 2) -> ta.Dataset:
    rng = np.random.default_rng(0)
    return ta.Dataset.from_arrays(rng.integers(0, levels, (n, d)), rng.integers(0, 2, n))


def plan(*statistics: dict[str, object]) -> Plan:
    return Plan.from_mapping({"releases": [{"statistic": statistic} for statistic in statistics]})


TABLES = {"kind": "Marginals", "ways": 3}
PAIRS = {"kind": "Predicates", "function": "xor", "ways": 3}


@pytest.mark.parametrize(
    ("statistic", "made", "everybody"),
    [
        (TABLES, ta.Marginals(ways=3), people(500, 8, 3)),
        (TABLES, ta.Marginals(ways=3), people(900, 7, 4)),
        (PAIRS, ta.Predicates("xor", ways=3), people(1500, 70)),
    ],
)
def test_an_attack_stays_within_what_was_told(statistic, made, everybody) -> None:
    told = dict(memory_of(plan(statistic), everybody).releases)
    release = ta.publish(everybody, made, ta.Gaussian(2.0), rng=1)
    ta.reconstruct(release, everybody.public)  # imports and caches are not the attack's
    tracemalloc.start()
    ta.reconstruct(release, everybody.public)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    (expected,) = told.values()
    assert peak <= expected
    if statistic is TABLES:  # of pairs the cheap decoder settles, and what was told covers the next one
        assert expected <= 10 * peak


def test_memory_grows_with_people_and_adds_up() -> None:
    few, many = people(300, 6), people(3000, 6)
    both = plan(TABLES, PAIRS)
    small, large = memory_of(both, few), memory_of(both, many)
    assert small.host < large.host
    assert len(small.releases) == 2
    assert small.together >= max(size for _, size in small.releases)
    assert small.device == small.device_free == 0
    assert small.fits
    assert "MiB of memory" in str(small) or "GiB of memory" in str(small)


def test_attributes_are_bits_on_a_device_and_where_they_are_many() -> None:
    everybody = people(800, 40)
    for function in ("xor", "and", "or", "majority"):
        statistic = ta.Predicates(function, ways=3)
        assert statistic.memory(everybody.public, packed=True) == 800 * 40 // 8
        assert statistic.memory(everybody.public) == 8 * 800 * 40
    bits = np.random.default_rng(0).integers(0, 256, (70, 30_000), dtype=np.uint8)
    many = ta.Dataset.from_bits(bits, 240_000).public
    assert ta.Predicates("majority", ways=3).memory(many) == 70 * 30_000
    assert ta.Marginals(3).memory(many) == 2 * 70 * 30_000
    few = ta.Predicates("xor", 3, [(0, 1), (2, 3)])
    assert few.memory(many) == 8 * 2 * 240_000
    assert ta.Predicates("xor", 3, [(0, 1)]).memory(many) <= 8 * 240_000


def test_many_people_stay_within_what_was_told() -> None:
    n, d = 90_001, 190
    rng = np.random.default_rng(1)
    bits = rng.integers(0, 256, (d, -(-n // 8)), dtype=np.uint8)
    everybody = ta.Dataset.from_bits(bits, n, rng.integers(0, 2, n))
    told = memory_of(plan(PAIRS), everybody)
    assert told.people == bits.nbytes
    tracemalloc.start()
    release = ta.publish(everybody, ta.Predicates("xor", ways=3), ta.Gaussian(30.0), rng=1)
    system = ta.linearise(release, everybody.public).system
    system.operator.rmatvec(system.operator.matvec(np.ones(n)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    ((_, expected),) = told.releases
    assert peak <= expected
    assert expected <= 3 * bits.nbytes + HOST.block + 8 * 40 * (n + release.values.size)


def test_blocks_need_what_the_largest_needs() -> None:
    rng = np.random.default_rng(1)
    county = np.repeat(["a", "b"], [50, 400])
    frame = {"county": county, "x": rng.integers(0, 3, 450), "y": rng.integers(0, 4, 450)}
    everybody = ta.Dataset.from_frame(frame | {"ill": rng.integers(0, 2, 450)}, secret="ill")
    by_county = Plan.from_mapping(
        {"by": "county", "releases": [{"statistic": {"kind": "Marginals", "ways": 2}}]}
    )
    whole = Plan.from_mapping({"releases": [{"statistic": {"kind": "Marginals", "ways": 2}}]})
    assert memory_of(by_county, everybody).host <= memory_of(whole, everybody).host


def test_what_is_told_of_many_distinct_rows_is_near_what_was_measured() -> None:
    """100,000 people, 20 columns of bits, every 3-way table hidden and rounded: 2.7 GiB."""
    protect = [{"kind": "Suppression", "below": 10}, {"kind": "Rounding", "base": 5}]
    tables = {"statistic": {"kind": "Marginals", "ways": 3}, "protect": protect}
    told = memory_of(Plan.from_mapping({"releases": [tables]}), people(100_000, 20))
    assert 2748 / 2 <= told.host / 2**20 <= 2 * 2748
