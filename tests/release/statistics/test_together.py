"""Releases of several kinds, each too little alone, solved together."""

import numpy as np
import pytest
from tests.conftest import random_people

import tellall as ta


def test_parts_that_fall_short_alone_have_full_rank_and_every_bit_together():
    people = random_people(60, 18, seed=0)
    rng = np.random.default_rng(1)
    masks = rng.integers(0, 2, (22, 60))
    trees = [
        {"if": f"a{i} == 1", "then": f"a{j} == 1", "else": f"a{k} == 1"}
        for i, j, k in (rng.permutation(18)[:3].tolist() for _ in range(30))
    ]
    parts = [
        ta.publish(people, ta.Predicates("xor", 2)),
        ta.publish(people, ta.Predicates([0, 0, 0, 1, 0, 0, 1, 0], attributes=[(0, 1), (2, 3), (4, 5)])),
        ta.publish(people, ta.SubsetCounts(masks)),
        ta.publish(people, ta.ErrorRates(trees)),
    ]
    for part in parts:
        alone = ta.reconstruct(part, people.public, proof_effort=0)  # a search finds some whole
        right = int((alone.guess == people.secret).sum())
        print(f"{part.statistic.describe()}: rank {alone.evidence.rank}, {right} of 60 right")
        assert alone.evidence.rank < 60
        assert right < 60
    together = ta.reconstruct(parts, people.public)
    print(f"together: rank {together.evidence.rank}, {int((together.guess == people.secret).sum())} right")
    assert together.evidence.rank == 60
    assert np.array_equal(together.guess, people.secret)


@pytest.mark.parametrize(
    "statistic",
    [ta.Predicates("and", 2), ta.SubsetCounts(["a0 == 1"]), ta.ErrorRates(["a0 == 1"])],
    ids=lambda statistic: type(statistic).__name__,
)
def test_statistics_of_bits_refuse_other_secrets(statistic):
    public = random_people(30, 3, seed=2).public.codes.T
    for secret in (np.arange(30) % 3, np.linspace(0, 1, 30)):
        people = ta.Dataset.from_arrays(public, secret)
        with pytest.raises(ta.InvalidInput, match="secret must be bits"):
            ta.publish(people, statistic)
