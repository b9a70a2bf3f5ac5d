import numpy as np
import pandas as pd
import pytest

import tellall as ta
from tellall.tracing.tracing_risk import trace_by_attributes

RNG = np.random.default_rng(5)
MEANS = RNG.uniform(0.05, 0.95, 4000)
PEOPLE = (RNG.random((60, 4000)) < MEANS).astype(np.int8)
OPTIONS = {"attack": "pool", "threshold": "empirical", "coding": "bits"}


def test_growth_halves_the_means_and_ends_with_the_whole():
    q = PEOPLE[:10].mean(axis=0)
    growth = trace_by_attributes(q, PEOPLE[:20], PEOPLE[20:], points=4, **OPTIONS)
    assert growth.counts == (500, 1000, 2000, 4000)
    whole = ta.trace(q, PEOPLE[:20], PEOPLE[20:], **OPTIONS)
    np.testing.assert_array_equal(growth.tracings[-1].scores, whole.scores)
    assert growth.named[-1] >= 0.5  # ten of the twenty targets are members, and 4,000 means give all away
    again = trace_by_attributes(q, PEOPLE[:20], PEOPLE[20:], points=4, whole=whole, **OPTIONS)
    assert again.tracings[-1] is whole
    np.testing.assert_array_equal(again.tracings[0].scores, growth.tracings[0].scores)


def test_suppressed_means_stay_out_and_few_means_are_not_halved():
    q = PEOPLE[:10].mean(axis=0)
    q[40:] = np.nan
    growth = trace_by_attributes(q, PEOPLE[:20], PEOPLE[20:], **OPTIONS)
    assert growth.counts == (20, 40)
    q[10:] = np.nan
    assert trace_by_attributes(q, PEOPLE[:20], PEOPLE[20:], **OPTIONS).counts == (10,)


@pytest.mark.parametrize("kind", ["shuffled series", "mapping", "release", "sums"])
def test_means_are_taken_as_trace_takes_them(kind):
    names = [f"s{j}" for j in range(2000)]
    q = pd.Series(PEOPLE[:10, :2000].mean(axis=0), index=names)
    people = [pd.DataFrame(rows[:, :2000], columns=names) for rows in (PEOPLE[:20], PEOPLE[20:])]
    inside = ta.Dataset.from_arrays(PEOPLE[:10, :2000], names=names)
    means = {
        "shuffled series": q.iloc[np.random.default_rng(1).permutation(2000)],
        "mapping": dict(q),
        "release": ta.publish(inside, ta.Means()),
        "sums": ta.publish(inside, ta.Means(scale="counts")),
    }[kind]
    growth = trace_by_attributes(means, *people, points=3, **OPTIONS)
    whole = ta.trace(means, *people, **OPTIONS)
    np.testing.assert_array_equal(growth.tracings[-1].scores, whole.scores)
    assert growth.counts == (whole.attributes // 4, whole.attributes // 2, whole.attributes)
    assert all(tracing.member[:10].sum() >= 8 for tracing in growth.tracings[1:])


def test_masked_values_are_missing():
    rng = np.random.default_rng(3)
    q, mask = PEOPLE[:10].mean(axis=0), rng.random((20, 4000)) < 0.3
    plain = np.where(mask, np.nan, PEOPLE[:20])
    gone = rng.random(4000) < 0.5
    masked = ta.trace(
        np.ma.masked_array(q, gone), np.ma.masked_array(PEOPLE[:20], mask), PEOPLE[20:], **OPTIONS
    )
    missing = ta.trace(np.where(gone, np.nan, q), plain, PEOPLE[20:], **OPTIONS)
    assert masked.attributes == missing.attributes == (~gone).sum()
    assert masked.missing_calls == missing.missing_calls
    np.testing.assert_array_equal(masked.scores, missing.scores)
    limit = {"n": 10, "most": 50, "trials": 200, "rng": 0}
    of_masked = ta.release_limit(np.ma.masked_array(q, gone), **limit)
    np.testing.assert_array_equal(of_masked.power, ta.release_limit(q[~gone], **limit).power)
    with pytest.raises(ta.InvalidInput, match="masked"):
        ta.score(missing, np.ma.masked_array(np.arange(20) < 10, np.arange(20) == 3))


def test_reference_scores_are_kept_where_they_were_needed():
    q = PEOPLE[:10].mean(axis=0)
    found = ta.trace(q, PEOPLE[:20], PEOPLE[20:], **OPTIONS)
    assert found.reference_scores.shape == (40,)
    assert found.reference_scores.max() < found.scores[:10].min()  # members stand apart from those not in
    sound = ta.trace(q, PEOPLE[:20], PEOPLE[20:], attack="single", threshold="hoeffding", coding="bits")
    assert sound.reference_scores is None
