"""The likeliest secret, against all secrets one by one."""

from itertools import product

import numpy as np
import pytest
from scipy.special import gammaln
from tests.conftest import random_people

import tellall as ta
from tellall.linalg.operators.linear_operator import Dense
from tellall.linalg.solvers.nearest import Nearest, NearestProblem


def cost_of(attack, counts, noise):
    """½ ‖(A x − z)/σ‖² − ln of the prior probability of the counts, of the groups of the evidence."""
    system = attack.evidence.system
    size, rate = system.size, attack.prior
    off = (system.operator @ counts - system.rows.target) / noise
    ways = gammaln(size + 1) - gammaln(counts + 1) - gammaln(size - counts + 1)
    return off @ off / 2 - ways.sum() - (counts * np.log(rate) + (size - counts) * np.log1p(-rate)).sum()


@pytest.mark.parametrize("seed", range(4))
def test_no_other_secret_is_likelier(seed):
    people = random_people(9, 3, seed=seed)
    release = ta.publish(people, ta.Marginals(2), ta.Gaussian(1.2), rng=seed)
    attack = ta.reconstruct(release, people.public, "likeliest", prior=0.4)
    assert attack.decoder == "likeliest"
    assert attack.status.word == "solved"
    size = attack.evidence.system.size.astype(int)
    costs = {
        counts: cost_of(attack, np.array(counts, float), 1.2)
        for counts in product(*(range(each + 1) for each in size))
    }
    groups = attack.evidence.groups.index
    found = np.zeros(size.size)
    found[groups] = np.rint(attack.estimate * size[groups])
    least = min(costs.values())
    assert costs[tuple(found.astype(int).tolist())] <= least + attack.stats["within"] + 1e-9
    second = sorted(costs.values())[1]
    if second > least + 1e-3:  # far enough apart for the rounding of slopes
        assert min(costs, key=costs.get) == tuple(found.astype(int).tolist())


def test_categories_and_rounded_values():
    rng = np.random.default_rng(0)
    people = ta.Dataset.from_arrays(np.arange(6)[:, None] % 3, rng.integers(0, 3, 6))
    release = ta.publish(people, ta.Marginals(2), ta.Gaussian(0.4), rng=0)
    attack = ta.reconstruct(release, people.public, "likeliest")
    assert attack.status.word == "solved"
    assert np.allclose(attack.estimate.sum(axis=1), 1)
    people = random_people(30, 8, seed=2)
    release = ta.publish(people, ta.Marginals(3), ta.Rounding(5))
    attack = ta.reconstruct(release, people.public, "likeliest")
    again = ta.publish(ta.Dataset(people.public, attack.guess), ta.Marginals(3), ta.Rounding(5))
    assert np.array_equal(again.values, release.values)  # what fits is found


def problem_of(matrix, noise):
    m, n = matrix.shape
    return NearestProblem(
        Dense(matrix),
        np.full(m, noise),
        np.zeros(m),
        np.full(m, np.inf),
        np.zeros(n),
        np.ones(n),
        (np.zeros(2),) * n,
    )


@pytest.mark.parametrize("seed", range(5))
def test_the_solver_is_brute_force(seed):
    rng = np.random.default_rng(seed)
    matrix = rng.integers(-1, 3, (14, 9)).astype(float)
    target = matrix @ rng.integers(0, 2, 9) + rng.normal(size=14)
    prepared = Nearest().prepare(problem_of(matrix, 0.7))
    found = prepared.solve(target)
    costs = [((matrix @ np.array(x) - target) ** 2).sum() / 2 / 0.7**2 for x in product((0, 1), repeat=9)]
    assert found.status.settled
    assert found.stats["cost"] == pytest.approx(min(costs), abs=found.stats["within"])
    assert prepared.cost(found.value, target) == pytest.approx(found.stats["cost"])


def test_what_is_not_proved_is_not_called_solved():
    rng = np.random.default_rng(1)
    matrix = rng.integers(0, 2, (120, 60)).astype(float)
    target = matrix @ rng.integers(0, 2, 60) + 4 * rng.normal(size=120)
    short = Nearest(effort=1e-6).prepare(problem_of(matrix, 4.0)).solve(target)
    assert short.status.word == "not converged"
    impossible = NearestProblem(
        Dense(np.ones((1, 2))),
        np.ones(1),
        np.zeros(1),
        np.zeros(1),
        np.zeros(2),
        np.ones(2),
        (np.zeros(2),) * 2,
    )
    assert Nearest().prepare(impossible).solve(np.array([0.5])).status.word == "contradictory"


def test_coefficients_that_are_not_whole_are_refused():
    with pytest.raises(ta.InvalidInput, match="operator must be of whole entries"):
        Nearest().prepare(problem_of(np.full((2, 2), 0.5), 1.0))
