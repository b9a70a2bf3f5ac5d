"""Complete tables said in contrasts: the same evidence, each margin once."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tellall as ta
from tellall.evidence.contrasts import CELLS, EVERY, SIGNS, orthogonal, say
from tellall.evidence.linearise import linearise


def mixed_people(seed, values=2, levels=None, n=40, d=4):
    rng = np.random.default_rng(seed)
    table = {
        f"a{j}": np.append(
            np.arange(size), rng.integers(0, size, n - size)
        )  # everyone's categories are all there
        for j, size in enumerate(levels or rng.integers(2, 5, d))
    }
    frame = {name: [f"v{code}" for code in codes] for name, codes in table.items()}
    secret = np.append(np.arange(values), rng.integers(0, values, n - values))
    return ta.Dataset.from_frame(frame | {"s": [f"z{code}" for code in secret]}, secret="s")


def unknowns(people):
    truth = np.asarray(people.secret)
    if people.levels == 2:
        return truth.astype(float)
    return np.concatenate([truth == value for value in range(people.levels)]).astype(float)


@pytest.mark.parametrize("levels", [2, 3, 7])
def test_the_transform_is_orthogonal_and_begins_with_ones(levels):
    matrix = orthogonal(levels)
    assert np.allclose(matrix @ matrix.T, levels * np.eye(levels))
    assert np.array_equal(matrix[0], np.ones(levels))


@settings(max_examples=8)
@given(st.integers(0, 10**6), st.integers(2, 4), st.sampled_from([2, 3]))
def test_contrasts_say_what_exact_cells_say(seed, ways, values):
    people = mixed_people(seed, values)
    evidence = linearise(ta.publish(people, ta.Marginals(ways), rng=0), people.public)
    said = evidence.parts[0].contrasts(EVERY)
    assert said.covered.all()
    assert np.allclose(said.operator @ unknowns(people), said.rows.target, atol=1e-4)
    assert said.operator.shape[0] < evidence.operator.shape[0]


@settings(max_examples=8)
@given(st.integers(0, 10**6), st.integers(2, 4), st.sampled_from([2, 3]), st.sampled_from([0.0, 0.3, 4.0]))
def test_contrasts_lose_nothing_of_least_squares(seed, ways, values, std):
    people = mixed_people(seed, values)
    evidence = linearise(ta.publish(people, ta.Marginals(ways), ta.Gaussian(std), rng=seed), people.public)
    rows, said = evidence.rows, evidence.parts[0].contrasts(EVERY)
    cells = evidence.operator.gram(1 / rows.spread**2)
    assert np.allclose(said.operator.gram(1 / said.rows.spread**2), cells, rtol=1e-5, atol=1e-5 * cells.max())
    if std >= 4:  # without a margin that is five standard deviations off by luck
        right = evidence.operator.rmatvec(rows.target / rows.spread**2)
        found = said.operator.rmatvec(said.rows.target / said.rows.spread**2)
        assert np.allclose(found, right, rtol=1e-4, atol=1e-4 * np.abs(right).max())


def test_the_declared_error_of_a_contrast_is_the_sum_of_its_cells():
    people = mixed_people(1, levels=(2, 2, 2))
    said = linearise(ta.publish(people, ta.Marginals(3), ta.Gaussian(3.0), rng=0), people.public)
    rows = said.parts[0].contrasts(SIGNS).rows
    # four cells, of which yes and no are two looks at one count; each column is in two tables, all in three
    assert sorted(np.round(rows.std**2, 6)) == [6.0] + [9.0] * 3 + [18.0] * 3
    assert np.allclose(rows.spread, rows.std)


def test_the_bound_of_a_contrast_is_the_sum_of_its_cells():
    people = mixed_people(2, levels=(2, 2))
    noise = ta.TruncatedNormal(1.0, 2.0)
    rows = linearise(ta.publish(people, ta.Marginals(3), noise, rng=0), people.public)
    assert np.allclose(rows.parts[0].contrasts(EVERY).rows.bound, 4 * noise.bound)


@pytest.mark.parametrize(
    "protection", [ta.Suppression(below=6), ta.Rounding(5), ta.Swapping(0.1), ta.Corruption(0.1, 9.0)]
)
def test_other_tables_stay_in_cells(protection):
    people = mixed_people(3, levels=(2, 2, 2, 2), n=60)
    part = linearise(ta.publish(people, ta.Marginals(3), protection, rng=0), people.public).parts[0]
    said = part.contrasts(SIGNS)
    if isinstance(protection, ta.Suppression):  # table by table
        hidden = np.isnan(ta.publish(people, ta.Marginals(3), protection, rng=0).values).reshape(-1, 8)
        assert 0 < hidden.any(axis=1).sum() < 6
        assert np.array_equal(said.covered.reshape(-1, 8).all(axis=1), ~hidden.any(axis=1))
    else:
        assert said is None


def test_columns_of_more_values_stay_in_cells_but_for_the_lp():
    people = mixed_people(4, levels=(2, 2, 3))
    part = linearise(ta.publish(people, ta.Marginals(3), ta.Gaussian(1.0), rng=0), people.public).parts[0]
    assert part.contrasts(SIGNS).covered.sum() == 8
    assert part.contrasts(EVERY).covered.all()


def test_noise_larger_than_the_rounding_leaves_contrasts():
    people = mixed_people(5, levels=(2, 2, 2))
    for base, expected in ((1.0, True), (50.0, False)):
        release = ta.publish(people, ta.Marginals(3), [ta.Gaussian(2.0), ta.Rounding(base)], rng=0)
        said = linearise(release, people.public).parts[0].contrasts(SIGNS)
        assert (said is not None) == expected


def test_margins_that_are_wrong_in_one_table_are_not_averaged():
    people = mixed_people(6, levels=(2,) * 6)
    release = ta.publish(people, ta.Marginals(3), rng=0)
    values = release.values.copy()
    values[:8] += [40, 0, 0, 7, 0, 0, 0, 0]  # the first of five tables with the first column
    part = linearise(replace(release, values=values), people.public).parts[0]
    said = part.contrasts(SIGNS)
    off = np.abs(said.operator @ unknowns(people) - said.rows.target)
    order = np.argsort(said.rows.spread)  # the total, the columns, the pairs
    assert off[order[:7]].max() < 1e-6 < off.max()


@settings(max_examples=8)
@given(st.integers(0, 10**6), st.sampled_from([3.0, 5.0, 10.0]), st.booleans())
def test_rounded_counts_of_the_same_people_are_one_interval_that_holds_the_truth(seed, base, pairs):
    once = mixed_people(seed, levels=(2, 3), n=30)
    twice = {
        f"{name}{copy}": np.asarray(once.public.codes[j]) for j, name in enumerate("ab") for copy in "12"
    }
    frame = {name: [f"v{code}" for code in codes] for name, codes in twice.items()}
    people = ta.Dataset.from_frame(frame | {"s": [f"z{code}" for code in once.secret]}, secret="s")
    evidence = linearise(ta.publish(people, ta.Marginals(3), ta.Rounding(base), rng=0), people.public)
    met = say(evidence, CELLS, intervals=True, pairs=pairs)
    assert met.rows.target.size < evidence.rows.target.size
    counts = np.bincount(evidence.groups.index, people.secret)
    assert (np.abs(met.operator @ counts - met.rows.target) <= met.rows.slack + 1e-9).all()
    wide = say(evidence, CELLS, intervals=True, pairs=True)
    assert met.rows.target.size <= wide.rows.target.size


def test_intervals_that_exclude_each_other_are_left_alone():
    people = mixed_people(7, levels=(2, 2), n=30)
    release = ta.publish(people, ta.Marginals(3), ta.Rounding(5), rng=0)
    values = release.values.copy()
    values[0] += 50
    evidence = linearise(replace(release, values=values), people.public)
    met = say(evidence, CELLS, intervals=True)
    assert met.rows.target.size == values.size / 2 + 1
