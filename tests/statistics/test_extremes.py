"""Minima and maxima by cell: pandas' values, limits that hold and that no other values tighten."""

import numpy as np
import pytest

import tellall as ta
from tellall.testing import check_statistic


def firms(seed, n=14):
    rng = np.random.default_rng(seed)
    columns = rng.integers(0, 3, (n, 2))
    columns[:3] = [[0, 0], [1, 1], [2, 2]]
    return ta.Dataset.from_arrays(columns, rng.gamma(1, 5, n).round(3), names=["region", "trade"])


def test_it_keeps_the_laws_of_statistics():
    check_statistic(ta.Extremes(2))


@pytest.mark.parametrize("seed", range(5))
def test_values_are_those_of_pandas(seed):
    pd = pytest.importorskip("pandas")
    people = firms(seed)
    frame = pd.DataFrame(np.asarray(people.public.codes).T, columns=["region", "trade"])
    frame["s"] = people.secret
    groups = frame.groupby(["region", "trade"])["s"]
    values = ta.Extremes(3).values(people)
    every = pd.MultiIndex.from_product([range(3), range(3)])
    wanted = np.concatenate([groups.min().reindex(every), groups.max().reindex(every)])
    np.testing.assert_array_equal(values, wanted)


@pytest.mark.parametrize("base", [0.0, 0.5])
@pytest.mark.parametrize("seed", range(6))
def test_limits_are_those_of_everybodys_cells(seed, base):
    people = firms(seed)
    release = ta.publish(people, ta.Extremes([2, 3]), ta.Rounding(base) if base else None)
    limits = ta.reconstruct(release, people.public).limits
    assert (limits.low <= people.secret + 1e-9).all()
    assert (people.secret <= limits.high + 1e-9).all()
    if not base:
        codes = np.asarray(people.public.codes)
        for person in range(people.n):
            inside = [codes[0] == codes[0, person], codes[1] == codes[1, person]]
            inside.append(inside[0] & inside[1])
            least = max(people.secret[cell].min() for cell in inside)
            most = min(people.secret[cell].max() for cell in inside)
            assert limits.low[person] >= least - 1e-6 * (1 + abs(least))
            assert limits.high[person] <= most + 1e-6 * (1 + abs(most))


def test_one_person_is_known_and_two_are_known_by_their_sum():
    people = ta.Dataset.from_arrays([[0], [1], [1], [2], [2], [2]], [5.5, 1.25, 2.0, 7.0, 8.0, 9.0])
    found = ta.reconstruct(ta.publish(people, ta.Extremes(2)), people.public)
    assert found.estimate[0] == pytest.approx(5.5, abs=1e-4)
    assert found.estimate[1:3].sum() == pytest.approx(3.25, abs=1e-3)
    np.testing.assert_allclose(found.limits.low[3:], 7, rtol=1e-5)
    np.testing.assert_allclose(found.limits.high[3:], 9, rtol=1e-5)
    low, high = found.interval.T
    assert ((low <= people.secret + 1e-3) & (people.secret <= high + 1e-3)).all()


def test_of_bits_a_cell_without_either_value_is_proved():
    people = ta.Dataset.from_arrays(
        [[0], [0], [0], [1], [1], [1], [2], [2], [2]], [1, 1, 1, 0, 0, 0, 1, 0, 0]
    )
    found = ta.reconstruct(ta.publish(people, ta.Extremes(2)), people.public)
    np.testing.assert_array_equal(found.identified == "proved", [True] * 6 + [False] * 3)
    np.testing.assert_array_equal(found.guess[:6], people.secret[:6])


def test_in_a_plan_and_in_a_file(tmp_path):
    people = firms(1, 40)
    plan = {"steps": False, "releases": [{"name": "ends", "statistic": {"kind": "Extremes", "ways": 2}}]}
    (finding,) = ta.audit(people, plan).findings
    assert finding.verdict.word in ("pass", "review", "fail")
    release = ta.publish(people, ta.Extremes(2), ta.Gaussian(1.0), rng=1)
    release.save(tmp_path / "ends.json")
    again = ta.reconstruct(ta.Release.load(tmp_path / "ends.json"), people.public)
    assert not np.isfinite(again.limits.low).any()  # noise without a bound limits nobody
