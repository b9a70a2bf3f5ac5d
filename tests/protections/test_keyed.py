import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import random_people

import tellall as ta
from tellall.evidence.undo import possible_counts
from tellall.protections.discrete import Finite
from tellall.protections.keyed import CellKey, Complement, person_keys
from tellall.release import catalogue

TABLE = {-2: 0.1, -1: 0.2, 0: 0.4, 1: 0.2, 2: 0.1}
PEOPLE = random_people(300, 8, seed=6)


def _errors(people, statistic, protect, rng=None):
    return ta.publish(people, statistic, protect, rng=rng).values - ta.publish(people, statistic).values


def test_publishing_again_or_in_another_order_gives_the_same_noise():
    keyed = CellKey(TABLE, key=7)
    first = ta.publish(PEOPLE, ta.Marginals(3), keyed, rng=1).values
    assert np.array_equal(first, ta.publish(PEOPLE, ta.Marginals(3), keyed, rng=2).values)
    shuffled = PEOPLE.take(np.random.default_rng(0).permutation(PEOPLE.n))
    assert np.array_equal(first, ta.publish(shuffled, ta.Marginals(3), keyed).values)
    assert not np.array_equal(first, ta.publish(PEOPLE, ta.Marginals(3), CellKey(TABLE, key=1)).values)


def test_averaging_helps_against_fresh_noise_and_not_against_keyed_noise():
    people = random_people(120, 12, seed=11)
    wide = {-6: 0.5, 6: 0.5}

    def right(protect, releases):
        values = [ta.publish(people, ta.Marginals(3), protect, rng=s).values for s in range(releases)]
        law = ta.Gaussian(6 / np.sqrt(releases))
        shown = ta.Release.from_values(
            ta.Marginals(3), np.mean(values, axis=0), public=people.public, noise=law
        )
        return np.mean(ta.reconstruct(shown, people.public).guess == people.secret)

    assert right(ta.Gaussian(6), 100) > right(ta.Gaussian(6), 1) + 0.1
    keyed = [ta.publish(people, ta.Marginals(3), CellKey(wide, key=5), rng=s).values for s in range(3)]
    assert np.array_equal(np.mean(keyed, axis=0), keyed[0])
    assert right(CellKey(wide, key=5), 100) < right(ta.Gaussian(6), 100) - 0.1


def test_the_same_people_in_another_table_get_the_same_noise():
    bits = PEOPLE.public.codes.T
    doubled = ta.Dataset.from_arrays(np.column_stack([bits[:, 0], bits[:, 0], bits[:, 1]]), PEOPLE.secret)
    errors = _errors(doubled, ta.Marginals(2), CellKey(TABLE, key=3)).reshape(3, 4)
    assert errors[0].tolist() == errors[1].tolist()  # two names of one column
    assert errors[0].tolist() != errors[2].tolist()


def test_noise_follows_the_table_and_cells_without_people_stay_zero():
    statistic, law = ta.Marginals(4), Finite(tuple(TABLE.items()))
    exact = ta.publish(PEOPLE, statistic).values
    errors = _errors(PEOPLE, statistic, CellKey(TABLE))
    assert np.abs(errors).max() <= 2
    filled = errors[exact > 0]
    for error, chance in TABLE.items():  # 896 cells, nearly all different: six standard deviations
        share = np.mean(np.isclose(filled, error))
        assert abs(share - chance) < 6 * np.sqrt(chance * (1 - chance) / filled.size)
    assert law.std == pytest.approx(CellKey(TABLE).std)
    sparse = ta.Dataset.from_arrays([[0, 1], [1, 1], [1, 0], [0, 0]], secret=[0, 1, 1, 0])
    empty = ta.publish(sparse, ta.Marginals(3)).values == 0
    assert (_errors(sparse, ta.Marginals(3), CellKey({-2: 0.5, 2: 0.5}))[empty] == 0).all()


def test_people_with_equal_records_have_different_keys_and_everybody_keeps_theirs():
    keys = person_keys(PEOPLE, 0)
    assert len(set(keys.tolist())) >= PEOPLE.n - 1  # a collision of 32 bits has probability 1e-5
    alone = ta.Dataset.from_arrays(np.eye(4, dtype=int), [0, 1, 0, 1])
    assert np.array_equal(person_keys(alone, 5)[[0, 2]], person_keys(alone.take(np.array([0, 2])), 5))


def test_without_a_key_each_release_draws_its_own(tmp_path):
    one, again, other = (ta.publish(PEOPLE, ta.Marginals(3), CellKey(TABLE), rng=s) for s in (1, 1, 2))
    assert np.array_equal(one.values, again.values)
    assert not np.array_equal(one.values, other.values)
    nobody_knows = [ta.publish(PEOPLE, ta.Marginals(3), CellKey(TABLE)).values for _ in range(2)]
    assert not np.array_equal(*nobody_knows)  # over a thousand cells: equal with probability below 1e-300
    saved = one.save(tmp_path / "release.json").read_text(encoding="utf-8")
    assert '"key"' not in saved
    assert '"seed"' not in saved
    # within a release the same people still have the same noise, in whatever table
    bits = PEOPLE.public.codes.T
    doubled = ta.Dataset.from_arrays(np.column_stack([bits[:, 0], bits[:, 0]]), PEOPLE.secret)
    errors = _errors(doubled, ta.Marginals(2), CellKey(TABLE), rng=3).reshape(2, 4)
    assert errors[0].tolist() == errors[1].tolist()


BY_COUNT = [
    (1, 0, 0),
    (1, 1, 1),
    (1, 2, -1),
    (2, 0, -1),
    (2, 1, 0),
    (2, 2, 2),
    (3, 0, -2),
    (3, 1, 0),
    (3, 2, 1),
]


def changed(value):
    """What a table by count can make of a value: its last count stands for all larger ones."""
    return (
        {value + change for count, _, change in BY_COUNT if count == min(value, 3)} if value > 0 else {value}
    )


@pytest.mark.parametrize(
    ("before", "rounded"), [([], lambda n: n), ([ta.Rounding(4, ties="up")], lambda n: (n + 2) // 4 * 4)]
)
def test_a_table_by_count_leaves_the_counts_that_it_can_have_changed(before, rounded):
    values = np.arange(-3, 12)
    found = possible_counts(values.astype(float), [*before, CellKey(BY_COUNT)], 1.0)
    gaps, counts = dict(found.gaps), range(20)
    for at, value in enumerate(values.tolist()):
        left = [n for n in counts if found.low[at] <= n <= found.high[at] and n not in gaps.get(at, ())]
        assert left == [n for n in counts if value in changed(rounded(n))]


def test_many_changes_leave_every_count_that_they_can_have_changed():
    table = [(count, key, (key % 7) * (count // 2)) for count in range(1, 120) for key in range(7)]
    errors = {(count, key): change for count, key, change in table}
    values = {count + errors[count, key] for count in range(1, 119) for key in range(7)}
    found = possible_counts(np.array(sorted(values), dtype=float), [CellKey(table)], 1.0)
    limits = dict(zip(sorted(values), zip(found.low, found.high, strict=True), strict=True))
    for (count, _), change in errors.items():
        if count < 119:
            assert limits[count + change][0] <= count <= limits[count + change][1]


@pytest.mark.filterwarnings("error")
def test_hidden_cells_stay_hidden_when_cells_are_keyed():
    people = random_people(20, 3, seed=4)
    release = ta.publish(people, ta.Marginals(3), [ta.Suppression(4), CellKey(BY_COUNT, key=1)])
    assert np.array_equal(
        np.isnan(release.values), np.isnan(ta.publish(people, ta.Marginals(3), ta.Suppression(4)).values)
    )


def test_the_key_is_not_written_down():
    secret = CellKey(TABLE, key=123456)
    assert "123456" not in repr(secret)
    assert "key" not in catalogue.to_plain(secret)
    assert catalogue.build("protection", catalogue.to_plain(secret)).table == secret.table
    named = catalogue.build("protection", {"kind": "CellKey", "table": {"-1": 0.5, "1": 0.5}, "key": 4})
    assert named == CellKey({-1: 0.5, 1: 0.5}, key=4)


@pytest.mark.parametrize(
    ("table", "rule"),
    [
        ({}, "errors with their probabilities"),
        (5, "errors with their probabilities"),
        ("ab", "errors with their probabilities"),
        ({0: 0.5}, "sum to 1"),
        ({0: 0.5, 1: 0.5}, "mean zero"),
        ({-1: -0.5, 0: 2.0, 1: -0.5}, "errors with their probabilities"),
        ([(0, 0.5), (0, 0.5)], "each error once"),
        ({float("inf"): 1.0}, "errors with their probabilities"),
    ],
)
def test_bad_tables_are_refused(table, rule):
    with pytest.raises(ta.InvalidInput, match=rule):
        CellKey(table)


def test_bad_keys_are_refused():
    with pytest.raises(ta.InvalidInput, match="key must be"):
        CellKey(TABLE, key=-1)


@given(st.floats(0, 1), st.integers(0, 2**32))
def test_complements_are_counts_of_the_opposite(fraction, seed):
    people = random_people(40, 4, seed=2)
    exact = ta.publish(people, ta.Marginals(2)).values.reshape(-1, 2)
    shown = ta.publish(people, ta.Marginals(2), Complement(fraction), rng=seed).values.reshape(-1, 2)
    opposite = exact[:, ::-1]  # yes and no trade places
    assert ((shown == exact) | (shown == opposite)).all()
    if fraction == 1:
        assert (shown == opposite).all()
    if fraction == 0:
        assert (shown == exact).all()
