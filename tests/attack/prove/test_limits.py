"""Limits of real secrets: against linear programmes written down once more, and against the truth."""

import numpy as np
import pytest
from scipy.optimize import linprog

import tellall as ta


def people(seed, n=9):
    rng = np.random.default_rng(seed)
    frame = {f"c{j}": rng.integers(0, 2, n).astype(str) for j in range(3)} | {
        "wage": rng.uniform(1, 9, n).round(2)
    }
    return ta.Dataset.from_frame(frame, secret="wage")


def by_hand(release, dataset, bound):
    """The least and the largest number of each person, by two linear programmes a person."""
    evidence = ta.linearise(release, dataset.public)
    matrix, target = evidence.operator.to_dense(), evidence.target
    rows = np.vstack([matrix, -matrix])
    ends = np.concatenate([target + bound, -target + bound])
    found = np.empty((dataset.n, 2))
    for person in range(dataset.n):
        for side, sign in enumerate((1.0, -1.0)):
            cost = np.zeros(dataset.n)
            cost[person] = sign
            found[person, side] = sign * linprog(cost, rows, ends, bounds=(0, 10)).fun
    return found


@pytest.mark.parametrize("base", [0.5, 2.0])
@pytest.mark.parametrize("seed", range(2))
def test_limits_are_those_of_linear_programmes(seed, base):
    dataset = people(seed)
    release = ta.publish(dataset, ta.Sums(3), ta.Rounding(base))
    limits = ta.reconstruct(release, dataset.public, bounds=(0, 10)).limits
    expected = by_hand(release, dataset, base / 2)
    assert np.allclose(limits.low, expected[:, 0], atol=1e-4)
    assert np.allclose(limits.high, expected[:, 1], atol=1e-4)
    assert (limits.low <= dataset.secret).all()
    assert (dataset.secret <= limits.high).all()
    assert not limits.open.any()
    assert not limits.empty


def test_exact_sums_give_numbers_away():
    dataset = people(3, 5)
    attack = ta.reconstruct(ta.publish(dataset, ta.Sums(4)), dataset.public, bounds=(0, 10))
    alone = attack.evidence.groups.counts[attack.evidence.groups.index] == 1
    assert alone.any()
    assert np.ptp([attack.limits.low[alone], attack.limits.high[alone]], axis=0).max() < 1e-3


def test_without_bounds_or_with_noise_nothing_limits_a_number():
    dataset = people(1)
    noisy = ta.reconstruct(ta.publish(dataset, ta.Sums(3), ta.Gaussian(1.0), rng=0), dataset.public)
    assert np.isinf(noisy.limits.low).all()
    assert np.isinf(noisy.limits.high).all()


def test_values_that_contradict_the_bounds_leave_nothing():
    dataset = people(2)
    release = ta.publish(dataset, ta.Sums(3))
    assert ta.reconstruct(release, dataset.public, bounds=(0, 0.5)).limits.empty
    bits = ta.Dataset.from_arrays(np.eye(3, dtype=int), secret=[0, 1, 1])
    with pytest.raises(TypeError, match="identified"):
        _ = ta.reconstruct(ta.publish(bits, ta.Marginals(2)), bits.public).limits


def test_steps_that_are_used_up_leave_people_open():
    from tellall.attack.prove.limits import find_limits

    dataset = people(0)
    evidence = ta.linearise(ta.publish(dataset, ta.Sums(2), ta.Rounding(1.0)), dataset.public)
    few, full = (find_limits(evidence, 0.0, 10.0, effort) for effort in (6, 10_000))
    assert few.open.any()
    assert not full.open.any()
    assert (few.low <= full.low).all()
    assert (few.high >= full.high).all()
