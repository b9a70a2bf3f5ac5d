"""Bits read like the codes they are, in an eighth of the memory."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tellall as ta
from tellall.people import codes as codes_room
from tellall.people import columns as collecting
from tellall.people.codes import Bits, Numbers, group_rows, take_people
from tellall.people.dataset import Public

SIZES = st.tuples(st.integers(1, 20), st.integers(1, 70), st.integers(0, 99))


def drawn(size: tuple[int, int, int]) -> np.ndarray:
    columns, people, seed = size
    return np.random.default_rng(seed).integers(0, 2, (columns, people), dtype=np.uint8)


@given(SIZES)
def test_bits_read_like_the_array(size: tuple[int, int, int]) -> None:
    codes = drawn(size)
    bits = Bits.of(codes)
    assert bits.shape == codes.shape
    assert bits.nbytes == codes.shape[0] * -(-codes.shape[1] // 8)
    assert np.array_equal(bits, codes)
    assert np.array_equal(bits.T, codes.T)
    assert all(np.array_equal(one, other) for one, other in zip(bits, codes, strict=True))
    assert np.array_equal(bits[-1], codes[-1])
    some = np.random.default_rng(size[2]).permutation(size[0])[: max(1, size[0] // 2)]
    assert np.array_equal(bits[some], codes[some])
    who = np.random.default_rng(size[2]).integers(0, size[1], 2 * size[1])
    assert np.array_equal(take_people(bits, who), take_people(codes, who))
    assert np.array_equal(bits[:, 8:31], codes[:, 8:31])
    assert bits.constant.tolist() == [len(set(row)) == 1 for row in codes.tolist()]


@given(SIZES)
def test_groups_are_those_of_the_array(size: tuple[int, int, int]) -> None:
    codes = drawn(size)
    one, other = group_rows(codes), group_rows(Bits.of(codes))
    for name in ("index", "counts", "first", "rows"):
        assert np.array_equal(getattr(one, name), getattr(other, name))


def test_what_lies_beyond_the_last_person_is_ignored() -> None:
    codes = drawn((9, 13, 5))
    loose = np.packbits(codes, axis=1)
    loose[:, -1] |= 0b111
    assert np.array_equal(Bits(loose, 13), codes)
    assert group_rows(Bits(loose, 13)).index.tolist() == group_rows(codes).index.tolist()
    assert Bits(np.array([[255], [0b11111000], [7]], dtype=np.uint8), 5).constant.tolist() == [True] * 3


def test_equal_hashes_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    codes = drawn((6, 40, 3))
    wanted = group_rows(codes).index
    monkeypatch.setattr(codes_room, "_hashed", lambda some, seed: np.zeros(some.shape[1], dtype=np.uint64))
    for table in (codes, Bits.of(codes)):  # as if all had collided
        pairs = set(zip(group_rows(table).index.tolist(), wanted.tolist(), strict=True))
        assert len(pairs) == wanted.max() + 1


@pytest.mark.parametrize("first", [1, 3, 8, 200])
def test_people_alike_in_the_first_columns_are_told_apart_by_the_others(
    first: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(first)
    codes = rng.integers(0, 2, (19, 60))[:, rng.integers(0, 60, 100)]  # some people twice and more
    codes[:3] = 0
    _, wanted = np.unique(codes, axis=1, return_inverse=True)
    monkeypatch.setattr(codes_room, "_FIRST", first)
    for table in (codes, Bits.of(codes)):
        found = group_rows(table)
        pairs = set(zip(found.index.tolist(), wanted.ravel().tolist(), strict=True))
        assert len(pairs) == len(found) == wanted.max() + 1


@pytest.mark.parametrize("kind", ["arrays", "frame", "bits"])
def test_people_kept_as_bits_are_the_same_people(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    table, secret = rng.integers(0, 2, (203, 11)), rng.integers(0, 2, 203)
    table[:, 4] = 1  # says nothing
    names = [f"a{j}" for j in range(11)]
    plain = ta.Dataset.from_arrays(table, secret)
    monkeypatch.setattr(collecting, "PACKED", 1)
    if kind == "arrays":
        people = ta.Dataset.from_arrays(table, secret)
    elif kind == "frame":
        people = ta.Dataset.from_frame({**dict(zip(names, table.T, strict=True)), "s": secret}, "s")
    else:
        people = ta.Dataset.from_bits(np.packbits(table.T, axis=1), 203, secret)
    assert isinstance(plain.public.codes, np.ndarray)
    assert isinstance(people.public.codes, Bits)
    assert people.public.left_out == plain.public.left_out
    assert [str(one) for one in people.public.left_out] == ["a4: the same for everybody"]
    who = rng.permutation(203)[:50]
    for one, other in ((people, plain), (people.take(who), plain.take(who))):
        assert one.public.shape == other.public.shape
        assert np.array_equal(one.public.codes, other.public.codes)
        assert np.array_equal(one.patterns.index, other.patterns.index)
        assert len(one.public.numbers) == 10
        assert all(
            np.array_equal(a, b) for a, b in zip(one.public.numbers, other.public.numbers, strict=True)
        )
        assert np.array_equal(one.secret, other.secret)


def test_columns_of_two_texts_are_packed_and_others_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    frame = {
        "sex": np.array(["f", "m"])[rng.integers(0, 2, 30)],
        "bit": rng.integers(0, 2, 30),
        "almost": np.array([0.0, 1.0000001])[rng.integers(0, 2, 30)],
    }
    wider = {**frame, "three": rng.integers(0, 3, 30)}
    plain = ta.Dataset.from_frame(wider).public
    monkeypatch.setattr(collecting, "PACKED", 1)
    packed, mixed = ta.Dataset.from_frame(frame).public, ta.Dataset.from_frame(wider).public
    assert isinstance(packed.codes, Bits)
    assert isinstance(mixed.codes, np.ndarray)
    assert mixed.shape == plain.shape
    assert np.array_equal(mixed.codes, plain.codes)
    assert packed.numbers[0] is None
    assert packed.numbers[2].tolist() == frame["almost"].tolist()
    assert mixed.numbers[3].tolist() == wider["three"].tolist()


def test_numbers_of_bits_take_no_memory() -> None:
    people = ta.Dataset.from_arrays(np.random.default_rng(0).integers(0, 2, (50, 4))).public
    assert isinstance(people.numbers, Numbers)
    assert people.numbers.nbytes == 0
    assert people.choose([2, 0]).numbers[0].tolist() == people.codes[2].tolist()
    again = Public(people.columns, people.codes, tuple(people.numbers))
    assert isinstance(again.numbers, Numbers)
    assert again.numbers.nbytes == 0


def test_many_bits_are_packed_wherever_they_come_from(monkeypatch: pytest.MonkeyPatch) -> None:
    codes = drawn((3, 40, 1))
    columns = ta.Dataset.from_arrays(codes.T).public.columns
    monkeypatch.setattr("tellall.people.dataset.PACKED", 100)
    made = Public(columns, codes, tuple(codes.astype(float)))
    assert isinstance(made.codes, Bits)
    assert made.numbers.nbytes == 0
    assert isinstance(Public(columns[:2], codes[:2]).codes, np.ndarray)  # 80


@pytest.mark.parametrize(
    ("bits", "people"),
    [
        (np.zeros((2, 3), np.uint8), 25),
        (np.zeros((2, 3), np.uint8), 16),
        (np.zeros(3, np.uint8), 24),
        (np.zeros((2, 3), np.int64), 24),
        (np.zeros((2, 3), np.uint8), 1),
        (np.zeros((2, 3), np.uint8), True),
        (np.zeros((2, 3), np.uint8), 24),  # nothing varies
    ],
)
def test_odd_bits_are_refused(bits: np.ndarray, people: int) -> None:
    with pytest.raises(ta.InvalidInput):
        ta.Dataset.from_bits(bits, people)


def test_a_large_table_takes_its_bits_alone() -> None:
    n, d = 70_001, 300
    table = np.random.default_rng(0).integers(0, 2, (n, d), dtype=np.uint8)
    tracemalloc.start()
    people = ta.Dataset.from_arrays(table).public
    held = tracemalloc.get_traced_memory()[0]
    _ = people.patterns
    tracemalloc.stop()
    assert isinstance(people.codes, Bits)
    assert held < 1.2 * n * d / 8


def test_some_people_by_mask_or_place():
    rng = np.random.default_rng(0)
    attributes, secret = rng.integers(0, 2, (5, 40)), rng.integers(0, 2, 40)
    people = ta.Dataset.from_bits(np.packbits(attributes, axis=1), 40, secret)
    for chosen in (np.arange(40) < 5, np.array([3, 1, 2]), [1, 2, 3]):
        some = people.public.take(chosen)
        np.testing.assert_array_equal(np.asarray(some.codes), attributes[:, chosen])
    assert people.take(np.arange(40) < 5).n == 5


def test_no_attribute_is_refused():
    with pytest.raises(ta.InvalidInput, match="one attribute or more"):
        ta.Dataset.from_bits(np.zeros((0, 1), np.uint8), 5)
