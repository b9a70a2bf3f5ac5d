"""People kept as bits, and equations built from them, are those of the same people kept as they came."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tellall as ta
from tellall.linalg.operators.compose import RowScale, RowSelect
from tellall.linalg.operators.linear_operator import HOST, Device, LinearOperator, Transposed
from tellall.linalg.operators.moments import Moments, Packed
from tellall.linalg.operators.rowfunction import RowFunction
from tellall.people.areas import split
from tellall.people.codes import Bits
from tellall.statistics.statistic import Statistic

STATISTICS: dict[str, Statistic] = {
    "and": ta.Predicates("and", 3),
    "or": ta.Predicates("or", 3),
    "xor": ta.Predicates("xor", 3),
    "one attribute": ta.Predicates("and", 2),
    "three attributes": ta.Predicates("xor", 4),
    "four attributes": ta.Predicates("or", 5),
    "majority": ta.Predicates("majority", 4),
    "not all equal": ta.Predicates("nae", 3),
    "mux": ta.Predicates("mux", 3),
    "a table": ta.Predicates([0, 1, 1, 0, 1, 1, 0, 1]),
    "no secret in it": ta.Predicates([0, 0, 0, 0, 1, 1, 1, 1]),
    "repetitions": ta.Predicates("xor", 3, tuples="all"),
    "few sets": ta.Predicates("or", 3, [(0, 1), (2, 5)]),
    "many sets": ta.Predicates("or", 3, [(i, j) for i in range(4) for j in range(i)]),
    "shares": ta.Predicates("majority", 3, scale="fractions"),
    "tables": ta.Marginals(3),
    "larger tables": ta.Marginals(4),
    "small tables": ta.Marginals(2),
    "some tables": ta.Marginals(3, [(0, 1), (2, 3)]),
}
PROTECTIONS = {
    "exact": None,
    "noisy": ta.Gaussian(0.4),
    "rounded": ta.Rounding(3),
    "hidden": ta.Suppression(4),
    "noisy, rounded and hidden": [ta.Gaussian(0.4), ta.Rounding(2), ta.Suppression(3)],
    "gross errors": ta.Corruption(0.1, 5.0),
}


def columns(n: int = 61, d: int = 8, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.integers(0, 2, (n, d)), rng.integers(0, 2, n)


@pytest.fixture
def pack(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Everything is packed, however little it is."""
    monkeypatch.setattr("tellall.people.columns.PACKED", 1)
    monkeypatch.setattr("tellall.statistics.statistic.PACKED", 1)
    return


def packed_factor(operator: LinearOperator) -> bool:
    """Whether an operator multiplies packed attributes."""
    while isinstance(operator, RowSelect | RowScale | Transposed):
        operator = operator.operator
    return isinstance(operator, Moments | RowFunction) and isinstance(operator.factor, Packed)


@pytest.fixture(scope="module")
def plain() -> ta.Dataset:
    return ta.Dataset.from_arrays(*columns())


@pytest.mark.parametrize("name", STATISTICS)
def test_releases_and_equations_are_the_same(name: str, plain: ta.Dataset, pack: None) -> None:
    statistic, people = STATISTICS[name], ta.Dataset.from_arrays(*columns())
    assert isinstance(people.public.codes, Bits)
    one, other = (ta.publish(each, statistic) for each in (people, plain))
    assert np.array_equal(one.values, other.values)
    assert one.shape == other.shape
    evidence = ta.linearise(one, people.public)
    if name not in ("few sets", "some tables", "small tables"):
        assert packed_factor(evidence.operator)
    assert np.array_equal(evidence.operator @ people.secret, evidence.target)
    assert evidence.operator.shape == (statistic.size(people.public), 61)


@pytest.mark.parametrize("protection", PROTECTIONS)
@pytest.mark.parametrize("name", ["xor", "or", "three attributes", "majority", "mux", "many sets", "tables"])
def test_evidence_is_the_same(name: str, protection: str, monkeypatch: pytest.MonkeyPatch) -> None:
    statistic, done = STATISTICS[name], PROTECTIONS[protection]
    plain = ta.Dataset.from_arrays(*columns())
    release = ta.publish(plain, statistic, done, rng=3)
    wanted = ta.linearise(release, plain.public)
    monkeypatch.setattr("tellall.people.columns.PACKED", 1)
    monkeypatch.setattr("tellall.statistics.statistic.PACKED", 1)
    people = ta.Dataset.from_arrays(*columns())
    found = ta.linearise(release, people.public)
    assert np.array_equal(found.operator.to_dense(), wanted.operator.to_dense())
    assert np.array_equal(found.everything.operator.to_dense(), wanted.everything.operator.to_dense())
    for part in ("target", "std", "bound", "slack", "spread", "rest", "unseen"):
        assert np.array_equal(getattr(found.rows, part), getattr(wanted.rows, part)), part
    assert np.array_equal(found.groups.index, wanted.groups.index)
    assert np.array_equal(found.everything.rows.target, wanted.everything.rows.target)
    assert found.notes == wanted.notes
    assert found.skipped == wanted.skipped
    one, other = found.account(), wanted.account()
    assert (one.rank, one.pinned, one.unknowns) == (other.rank, other.pinned, other.unknowns)
    assert one.condition == pytest.approx(other.condition, rel=1e-4)


@pytest.mark.parametrize("protection", PROTECTIONS)
@pytest.mark.parametrize("decoder", ["least-squares", "lp", "posterior"])
@pytest.mark.parametrize("name", ["xor", "majority", "tables"])
def test_attacks_are_the_same(
    name: str, decoder: str, protection: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    statistic, done = STATISTICS[name], PROTECTIONS[protection]
    plain = ta.Dataset.from_arrays(*columns(n=45))
    release = ta.publish(plain, statistic, done, rng=3)
    wanted = ta.reconstruct(release, plain.public, decoder)
    monkeypatch.setattr("tellall.people.columns.PACKED", 1)
    monkeypatch.setattr("tellall.statistics.statistic.PACKED", 1)
    people = ta.Dataset.from_arrays(*columns(n=45))
    found = ta.reconstruct(release, people.public, decoder)
    assert np.array_equal(found.guess, wanted.guess)
    assert found.status == wanted.status
    np.testing.assert_allclose(found.estimate, wanted.estimate, atol=1e-3)
    np.testing.assert_allclose(found.confidence, wanted.confidence, atol=1e-3)
    assert found.stats["misfit"] == pytest.approx(wanted.stats["misfit"], abs=1e-3)
    assert np.array_equal(found.identified, wanted.identified)


@given(st.integers(2, 30), st.integers(1, 9), st.integers(0, 10**6))
@settings(max_examples=15)
def test_any_size_will_do(n: int, d: int, seed: int) -> None:
    table, secret = columns(n, d, seed)
    secret[0] = 1 - secret[1]
    table[0] = 1 - table[1]
    table = table[:, : max(1, d)]
    plain = ta.Dataset.from_arrays(table, secret)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("tellall.people.columns.PACKED", 1)
        patched.setattr("tellall.statistics.statistic.PACKED", 1)
        people = ta.Dataset.from_arrays(table, secret)
        for statistic in (ta.Predicates("xor", 2), ta.Predicates([0, 1, 1, 1]), ta.Marginals(2)):
            release = ta.publish(people, statistic)
            assert np.array_equal(release.values, statistic.values(plain))
            found = ta.reconstruct(release, people.public)
            wanted = ta.reconstruct(release, plain.public)
            assert np.array_equal(found.guess, wanted.guess)


def test_columns_of_other_values_are_packed_as_indicators(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    frame = {
        "sex": np.array(["f", "m"])[rng.integers(0, 2, 50)],
        "age": rng.integers(0, 3, 50),
        "old": rng.integers(0, 2, 50),
        "rich": rng.integers(0, 2, 50),
        "ill": rng.integers(0, 2, 50),
    }
    for names in (list(frame), ["sex", "old", "rich", "ill"]):
        chosen = {name: frame[name] for name in names}
        plain = ta.Dataset.from_frame(chosen, "ill")
        for statistic in (ta.Predicates("xor", 3), ta.Marginals(3), ta.Predicates("or", 2, [["sex = m"]])):
            wanted = ta.linearise(ta.publish(plain, statistic), plain.public)
            with monkeypatch.context() as patched:
                patched.setattr("tellall.people.columns.PACKED", 1)
                patched.setattr("tellall.statistics.statistic.PACKED", 1)
                people = ta.Dataset.from_frame(chosen, "ill")
                found = ta.linearise(ta.publish(people, statistic), people.public)
            assert np.array_equal(found.operator.to_dense(), wanted.operator.to_dense())
            assert np.array_equal(found.target, wanted.target)
            assert np.array_equal(found.groups.index, wanted.groups.index)


@pytest.mark.parametrize("name", ["xor", "majority", "tables"])
def test_a_device_holds_them_packed_and_publishes_the_same(
    name: str, plain: ta.Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    import array_api_strict as strict

    device = Device("cuda", strict, strict.Device("device1"), panel=4, home=strict.Device("CPU_DEVICE"))
    monkeypatch.setattr(Device, "block", property(lambda self: 1 << 16))
    for room in ("release.release", "attack.reconstruct.attack"):
        monkeypatch.setattr(f"tellall.{room}.find_device", lambda name: device if name == "cuda" else HOST)
    for protection in (ta.Gaussian(0.5), ta.Suppression(3), [ta.Subsample(0.8), ta.Rounding(2)]):
        here = ta.publish(plain, STATISTICS[name], protection, rng=1)
        there = ta.publish(plain, STATISTICS[name], protection, rng=1, device="cuda")
        assert np.array_equal(here.values, there.values, equal_nan=True)
        assert there.statistic == here.statistic
        one = ta.linearise(here, plain.public)
        other = ta.linearise(here, plain.public, device=device)
        assert np.array_equal(one.target, other.target)
        assert np.array_equal(one.operator.to_dense(), other.operator.to_dense())
        found = ta.reconstruct(here, plain.public, "least-squares", device="cuda")
        resident = found.evidence.system.operator.resident
        assert resident.device is device
        assert packed_factor(resident)


@pytest.mark.parametrize("statistic", [ta.Predicates("xor", 3), ta.Predicates("nae", 3), ta.Marginals(3)])
def test_memory_is_that_of_the_bits(statistic: Statistic, monkeypatch: pytest.MonkeyPatch) -> None:
    """From people to the groups' equations nothing of people × attributes is held but bits."""
    monkeypatch.setattr(Device, "block", property(lambda self: 1 << 23))
    n, d = 100_003, 200
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 256, (d, -(-n // 8)), dtype=np.uint8)
    secret = rng.integers(0, 2, n).astype(np.int8)
    tracemalloc.start()
    people = ta.Dataset.from_bits(bits, n, secret)
    release = ta.publish(people, statistic, ta.Gaussian(30.0), rng=1)
    evidence = ta.linearise(release, people.public)
    system = evidence.system
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert system.operator.shape == (release.values.size, n)
    few_vectors = 8 * (20 * release.values.size + 16 * n)
    assert most - few_vectors < n * d  # in single precision the attributes alone would be 4 n d


def compared(people: ta.Dataset) -> dict[str, np.ndarray]:
    """What is done with people besides, as numbers."""
    attack = ta.reconstruct(ta.publish(people, ta.Marginals(3), ta.Gaussian(1.0), rng=1), people.public)
    published = {
        "means": (ta.Means(), None),
        "condition": (ta.SubsetCounts(["a1 == 1 and a2 < 0.5"]), None),
        "subset": (ta.SubsetCounts(np.eye(61)[:5]), None),
        "regression": (ta.Estimator("linear"), None),
        "tables": (ta.Tables(2), None),
        "keys": (ta.Marginals(2), ta.CellKey({-1: 0.25, 0: 0.5, 1: 0.25}, key=5)),
        "swapped": (ta.Marginals(2), ta.Swapping(0.2)),
        "sampled": (ta.Predicates("or", 3), ta.Subsample(0.5)),
    }
    found = {
        name: ta.publish(people, statistic, done, rng=2).values
        for name, (statistic, done) in published.items()
    }
    found["part"] = ta.publish(split(people, "a0")[0].dataset, ta.Predicates("or", 3)).values
    found["cells"] = ta.count_cells(people, 3).counts
    found["score"] = np.array([ta.score(attack, people.secret).accuracy])
    return found


def test_whatever_else_is_done_with_people_takes_bits(plain: ta.Dataset) -> None:
    table, secret = columns()
    people = ta.Dataset.from_bits(np.packbits(table.T, axis=1), len(table), secret)
    found, wanted = compared(people), compared(plain)
    assert isinstance(people.public.codes, Bits)
    for name in wanted:
        assert np.array_equal(found[name], wanted[name], equal_nan=True), name
