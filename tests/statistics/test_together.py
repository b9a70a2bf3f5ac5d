"""Releases of several kinds, each too little alone, solved together."""

from itertools import product

import numpy as np
import pytest
from tests.conftest import random_people

import tellall as ta
from tellall.evidence.linearise import linearise


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


def fits_and_numbers(seed, n=12):
    rng = np.random.default_rng(seed)
    secret = np.append([0, 1], rng.integers(0, 2, n - 2))
    columns = {
        "b": np.append([0, 1], rng.integers(0, 2, n - 2)),
        "c": np.append([1, 0], rng.integers(0, 2, n - 2)),
        "num": rng.integers(0, 6, n).astype(float),
        "pay": rng.uniform(1, 3, n),
    }
    return ta.Dataset.from_frame(columns | {"s": secret}, secret="s")


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("decoder", ["auto", "exhaustive", "lp"])
def test_exact_fits_with_a_table_prove_what_every_fitting_secret_shares(seed, decoder):
    people = fits_and_numbers(seed)
    fits = [ta.Estimator("linear", blocks=[["b"], ["c"]], intercept=True)]
    fits += [ta.Estimator("linear", blocks=[["b", "num"], ["c"]], intercept=True)]
    for fit in fits:
        releases = [ta.publish(people, fit), ta.publish(people, ta.Marginals(2, [["b"], ["c"]]))]
        parts = [linearise(release, people.public).parts[0] for release in releases]
        every = np.array(list(product([0.0, 1.0], repeat=people.n)))
        for part in parts:
            miss = np.abs(every @ part.operator.to_dense().T - part.rows.target).max(axis=1)
            every = every[miss < 1e-7]
        alike = every.min(axis=0) == every.max(axis=0)
        found = ta.reconstruct(releases, people.public, decoder)
        assert found.status.word != "contradictory"
        proved = np.array(found.identified) == "proved"
        np.testing.assert_array_equal(proved, alike)
        np.testing.assert_array_equal(np.asarray(found.guess)[proved], every[0][proved])


@pytest.mark.parametrize("seed", [9, 24, 25])
def test_exact_fits_of_several_columns_are_not_called_contradictory(seed):
    people = fits_and_numbers(seed, 20)
    fit = ta.Estimator("linear", blocks=[["b", "num"], ["c"], ["pay", "num"]], intercept=True)
    releases = [ta.publish(people, fit), ta.publish(people, ta.Marginals(2, [["b"], ["c"]]))]
    found = ta.reconstruct(releases, people.public, proof_effort=300)
    assert found.status.word != "contradictory"
    proved = np.array(found.identified) == "proved"
    np.testing.assert_array_equal(np.asarray(found.guess)[proved], np.asarray(people.secret)[proved])
