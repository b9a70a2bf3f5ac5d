import numpy as np

import tellall as ta
from tellall.attack.trace.risk import trace_by_attributes

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


def test_reference_scores_are_kept_where_they_were_needed():
    q = PEOPLE[:10].mean(axis=0)
    found = ta.trace(q, PEOPLE[:20], PEOPLE[20:], **OPTIONS)
    assert found.reference_scores.shape == (40,)
    assert found.reference_scores.max() < found.scores[:10].min()  # members stand apart from those not in
    sound = ta.trace(q, PEOPLE[:20], PEOPLE[20:], attack="single", threshold="hoeffding", coding="bits")
    assert sound.reference_scores is None
