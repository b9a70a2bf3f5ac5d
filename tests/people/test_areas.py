import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tellall as ta
from tellall.people.areas import area_seed, fingerprint, split, too_small, values_as_text

HOSTILE = [
    "../../etc/passwd",
    "<script>alert(1)</script>",
    "",
    "x" * 5000,
    "Łódź\u202e",
    "a\nb\x1b[31m",
    "=1+1",
]


def people_of(names, n=None, seed=0):
    names = list(names)
    rng = np.random.default_rng(seed)
    n = len(names)
    return ta.Dataset.from_frame(
        {
            "where": np.array(names, dtype=object),
            "x": np.arange(n) % 2,
            "y": rng.integers(0, 3, n),
            "s": np.arange(n) // 2 % 2,
        },
        secret="s",
    )


@given(st.lists(st.sampled_from([*HOSTILE, None, "a", "b"]), min_size=4, max_size=40))
def test_areas_are_a_partition_in_file_order(names):
    if len(set(names)) < 2:
        return
    people = people_of(names)
    areas = split(people, "where")
    assert sorted(np.concatenate([area.people for area in areas]).tolist()) == list(range(people.n))
    assert len({area.name for area in areas}) == len(areas) == len(set(names))
    for area in areas:
        assert (np.diff(area.people) > 0).all()
        expected = {"missing" if names[person] is None else names[person] for person in area.people}
        assert expected == {area.name}
        assert area.dataset.secret.tolist() == people.secret[area.people].tolist()
        assert "where" not in area.dataset.public.names
        assert area.dataset.public.levels == tuple(
            column.levels for column in people.public.columns if column.name != "where"
        )


def test_an_area_called_missing_is_not_that_of_missing_values():
    areas = split(people_of(["missing", None, "missing", None]), "where")
    assert [(area.name, area.n) for area in areas] == [("missing", 2), ("missing value", 2)]


@given(st.text(), st.text(), st.integers(0, 2**63 - 1))
def test_a_seed_is_the_areas_own(one, other, seed):
    assert 0 <= area_seed(seed, one) < 2**53
    assert area_seed(seed, one) == area_seed(seed, one)
    assert (area_seed(seed, one) == area_seed(seed, other)) == (one == other)
    assert area_seed(seed, one) != area_seed(seed + 1, one)


def test_small_areas_are_told_in_a_sentence():
    areas = split(people_of(["one", "two", "two", "four", "four", "four", "four"]), "where")
    said = {area.name: too_small(area) for area in areas}
    assert "1 person: " in said["one"]
    assert "2 people: " in said["two"]
    assert said["four"] is None


def test_a_column_that_cannot_make_areas_is_refused():
    numbers = np.arange(60.0)
    frame = {"income": numbers, "x": np.arange(60) % 2, "same": ["a"] * 60, "s": np.arange(60) // 2 % 2}
    people = ta.Dataset.from_frame(frame, secret="s")
    with pytest.raises(ta.InvalidInput, match="cut into 10 parts"):
        split(people, "income")
    with pytest.raises(ta.InvalidInput, match="differs between people"):
        split(people, "same")
    with pytest.raises(ta.InvalidInput, match="Did you mean 'income'"):
        split(people, "incme")
    with pytest.raises(ta.InvalidInput, match="by"):
        split(people, "s")
    alone = ta.Dataset.from_frame({"x": frame["x"], "s": frame["s"]}, secret="s")
    with pytest.raises(ta.InvalidInput, match="besides"):
        split(alone, "x")


def test_codes_of_counties_stay_whole():
    raw = np.ma.masked_array(np.arange(1001, 1100), mask=np.arange(99) == 3)
    texts = values_as_text("county", raw)
    assert texts[0] == "1001"
    assert texts[3] is None
    assert len(set(texts)) == 99
    assert values_as_text("county", np.array([0.5, 1e15])).tolist() == ["0.5", "1000000000000000"]


def test_a_fingerprint_tells_every_change():
    people = people_of(["a", "b", "a", "b", "a", "b"])
    other = people_of(["a", "b", "a", "b", "a", "b"])
    assert fingerprint(people) == fingerprint(other)
    other.secret[0] = 1 - other.secret[0]
    assert fingerprint(people) != fingerprint(other)
    assert fingerprint(people) != fingerprint(people.take(np.arange(people.n)[::-1]))
