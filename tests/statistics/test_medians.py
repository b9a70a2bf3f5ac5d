"""Medians by cell: pandas' values, and what they say about one, two and more people."""

import numpy as np
import pytest

import tellall as ta
from tellall.testing import check_statistic


def test_they_keep_the_laws_of_statistics():
    check_statistic(ta.Medians(2))


@pytest.mark.parametrize("seed", range(5))
def test_values_are_those_of_pandas(seed):
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(seed)
    columns = np.vstack([[[0, 0], [1, 1], [2, 2]], rng.integers(0, 3, (12, 2))])
    people = ta.Dataset.from_arrays(columns, rng.gamma(1, 5, 15).round(3), names=["region", "trade"])
    frame = pd.DataFrame(np.asarray(people.public.codes).T, columns=["region", "trade"])
    frame["s"] = people.secret
    every = pd.MultiIndex.from_product([range(3), range(3)])
    wanted = frame.groupby(["region", "trade"])["s"].median().reindex(every)
    np.testing.assert_allclose(ta.Medians(3).values(people), wanted, rtol=1e-15)


def test_one_person_is_known_and_two_are_known_by_their_sum():
    people = ta.Dataset.from_arrays([[0], [1], [1], [2], [2], [2]], [5.5, 1.25, 2.0, 7.0, 8.0, 9.0])
    found = ta.reconstruct(ta.publish(people, ta.Medians(2)), people.public)
    assert found.estimate[0] == pytest.approx(5.5, abs=1e-4)
    assert found.estimate[1:3].sum() == pytest.approx(3.25, abs=1e-3)
    assert np.isinf(found.limits.low[3:]).all()
    assert np.isinf(found.limits.high[3:]).all()
    assert "medians of 1 cells of three people or more" in str(found.skipped[0])


def test_bits_and_categories_are_refused():
    people = ta.Dataset.from_arrays([[0], [1], [1]], [0, 1, 1])
    with pytest.raises(ta.InvalidInput):
        ta.publish(people, ta.Medians(2))


@pytest.mark.parametrize(
    ("size", "word", "code"), [(2, "fail", "few"), (6, "review", "medians"), (12, "pass", "")]
)
def test_medians_of_few_people_are_for_a_person_to_decide(size, word, code):
    rng = np.random.default_rng(4)
    columns = np.repeat([0, 1, 2], [30, 30, size])[:, None]
    people = ta.Dataset.from_arrays(columns, rng.gamma(5, 10, columns.size).round(2))
    plan = {"steps": False, "releases": [{"name": "m", "statistic": {"kind": "Medians", "ways": 2}}]}
    verdict = ta.audit(people, plan).verdict
    assert verdict.word == word
    assert [one.startswith(code) for one in verdict.codes] == ([True] if code else [])
