"""A posterior that is sure is compared with solutions at random before it is trusted."""

from math import comb

import numpy as np
import pytest
from scipy.stats import binom
from tests.worlds.bounded import bounded

import tellall as ta
from tellall.attack.reconstruct import sampled
from tellall.linalg.operators.linear_operator import Dense
from tellall.linalg.posterior.sampling import SampledPart, sample_part
from tellall.linalg.solvers.exhaustive import Exhaustive, every_solution
from tellall.linalg.solvers.solution import Enclosure, WholeSystem


def part_of(matrix, low, high, size):
    box = Enclosure(np.zeros(size.size), size.astype(float), empty=False)
    (part,) = WholeSystem.left_open(Dense(matrix), low, high, (), box).parts()
    return part


@pytest.mark.parametrize("slack", [0, 1])
@pytest.mark.parametrize("seed", range(4))
def test_chains_have_the_marginals_of_all_solutions(seed, slack):
    """Twelve counts, all secrets listed; 64 chains are within .08, about eight standard errors."""
    rng = np.random.default_rng(seed)
    size = rng.integers(1, 4, 12)
    truth, matrix = rng.binomial(size, 0.4), rng.integers(0, 2, (6, 12)).astype(float)
    matrix[0] = 1.0
    part = part_of(matrix, matrix @ truth - slack, matrix @ truth + slack, size)
    weight = np.full((12, 4), -np.inf)
    for each, most in enumerate(size):
        number = np.arange(most + 1)
        weight[each, : most + 1] = number * np.log(0.3) + (most - number) * np.log(0.7)
        weight[each, : most + 1] += np.log([comb(int(most), int(j)) for j in number])
    listed = every_solution(part, Exhaustive(cap=100_000))
    assert listed is not None
    log = weight[part.columns[None, :], listed.solutions].sum(axis=1)
    exact = np.exp(log - log.max()) @ listed.solutions / np.exp(log - log.max()).sum()
    points = rng.binomial(size, 0.4, (64, 12)).astype(float)[:, part.columns]
    found = sample_part(part, weight[part.columns], points, points[::-1], None, 1e8, rng)
    assert found.draws is not None
    share = np.abs(found.draws.mean(axis=1) - exact) / part.upper
    assert share.max() < 0.08


def tables_of_areas(rng, people, size, tables):
    areas = np.stack([rng.permutation(np.arange(people) // size) for _ in range(tables)], axis=1)
    secret = (rng.random(people) < 0.2).astype(int)
    return ta.Dataset.from_arrays(areas, secret), ta.Marginals(2, [(f"a{each}",) for each in range(tables)])


def test_a_posterior_that_samples_bear_out_is_trusted():
    people, tables = tables_of_areas(np.random.default_rng([73, 1]), 160, 8, 5)
    found = ta.reconstruct(ta.publish(people, tables, ta.Rounding(5)), people.public, "posterior")
    assert found.status.word == "trusted"
    assert "sampled wrong" in found.stats
    assert found.stats["sampled wrong"] <= found.stats["said wrong"] + 1 + 0.01 * people.n


def test_a_posterior_that_cannot_be_compared_is_not_trusted(monkeypatch):
    people, tables = tables_of_areas(np.random.default_rng([73, 1]), 160, 8, 5)
    release = ta.publish(people, tables, ta.Rounding(5))
    nothing = SampledPart(None, (0, 0))
    monkeypatch.setattr(sampled, "sample_part", lambda *_: nothing)
    found = ta.reconstruct(release, people.public, "posterior")
    assert found.status.word == "uncalibrated"
    assert found.status.why == ("not-sampled",)


def test_noise_without_a_bound_is_not_sampled():
    people, tables = tables_of_areas(np.random.default_rng(5), 120, 6, 8)
    found = ta.reconstruct(ta.publish(people, tables, ta.Gaussian(0.3), 0), people.public, "posterior")
    assert "sampled wrong" not in found.stats


@pytest.mark.slow
def test_a_posterior_that_was_sure_of_a_wrong_secret_is_not_trusted():
    """Tables by threes, small counts hidden: 85 sure at .99 of whom 76 are right."""
    found, _ = attacked(55)
    assert found.status.why == ("not-sampled",)


def attacked(seed):
    world = bounded(seed)
    (tables, protections), people = world.releases[0], world.people
    release = ta.publish(people, tables, list(protections), rng=seed)
    return ta.reconstruct(release, people.public, "auto", proof_effort=3000), people


@pytest.mark.worlds
def test_no_settled_run_is_short_of_what_it_says():
    """Of 300 worlds; a run that says what it says is called short of it with probability 1e-5."""
    short, checked = [], 0
    for seed in range(1000, 1300):
        found, people = attacked(seed)
        if not found.status.settled:
            continue
        for level in (0.95, 0.99):
            sure = (found.confidence >= level) & ~found.proved
            right = int((found.guess == people.secret)[sure].sum())
            checked += bool(sure.sum() >= 10)
            if binom.cdf(right, int(sure.sum()), level) < 1e-5:
                short.append((seed, level, int(sure.sum()), right))
    assert checked >= 20
    assert short == []
