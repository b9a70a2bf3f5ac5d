"""A reference attack: a Gibbs sampler whose prior is what the columns outside the tables predict."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

import tellall as ta
from tests.worlds.world import World

__all__ = ["Sampled", "sampled"]

_SWEEPS, _FIRST = 500, 100  # of which the first are thrown away
_IMPOSSIBLE = -30.0  # the log-likelihood of what cannot be


@dataclass(frozen=True)
class Sampled:
    """What the sampler is sure of: how many people, how many rightly, and how many rightly of those with 1.

    A guess is sure with probability .95 and three times the odds of the prior.
    """

    sure: int
    right: int
    exposed: int


def sampled(world: World, columns: list[int], seed: int) -> Sampled:
    """The attack on the one release of a world: one-way tables of areas; ``columns`` predict from outside."""
    people = world.people
    (statistic, protections), codes = world.releases[0], np.asarray(people.public.codes)
    truth = np.asarray(people.secret)
    areas = codes[[people.public.position(name) for (name,) in statistic.attributes]]
    release = ta.publish(people, statistic, protections, rng=seed)
    likely = _likely(release, areas)
    prior = _prior(codes[columns].T.astype(float), truth)
    chance = _gibbs(prior, areas, likely, np.random.default_rng(seed))
    guess = chance > 0.5
    sure, usual = np.maximum(chance, 1 - chance), np.where(guess, prior, 1 - prior)
    chosen = (sure >= 0.95) & (sure / (1 - sure + 1e-12) >= 3 * usual / (1 - usual))
    right = chosen & (guess == truth)
    return Sampled(int(chosen.sum()), int(right.sum()), int((right & (truth == 1)).sum()))


def _likely(release: ta.Release, areas: npt.NDArray[np.int64]) -> list[list[list[float]]]:
    """For each table and area, the log-likelihood of every count of people with the secret."""
    law = release.protections[0].law if release.protections else ta.Gaussian(0.3)
    values = np.asarray(release.values, dtype=float)
    found, at = [], 0
    for column in areas:
        sizes, table = np.bincount(column), []
        for size in sizes:
            without, with_it = values[at : at + 2]
            at += 2
            counts = np.arange(size + 1)
            told = _logpdf(law, with_it - counts) + _logpdf(law, without - (size - counts))
            table.append(told.tolist())
        found.append(table)
    return found


def _logpdf(law: ta.Noise, off: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    if np.isfinite(law.bound):
        return np.where(np.abs(off) <= law.bound + 1e-9, 0.0, _IMPOSSIBLE * (1 + np.abs(off)))
    return np.asarray(law.logpdf(off))


def _prior(features: npt.NDArray[np.float64], truth: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """A logistic model of the columns, fitted without everybody who has the same ones."""
    design = np.hstack([np.ones((truth.size, 1)), features])
    _, group = np.unique(features, axis=0, return_inverse=True)
    out = np.empty(truth.size)
    for one in np.unique(group):
        left, weights = group.ravel() != one, np.zeros(design.shape[1])
        for _ in range(20):
            chance = 1 / (1 + np.exp(-design[left] @ weights))
            slope = design[left].T @ (truth[left] - chance) - weights
            curve = (design[left] * (chance * (1 - chance))[:, None]).T @ design[left] + np.eye(weights.size)
            weights = weights + np.linalg.solve(curve, slope)
        out[~left] = 1 / (1 + np.exp(-design[~left] @ weights))
    return out.clip(0.001, 0.999)


def _gibbs(
    prior: npt.NDArray[np.float64],
    areas: npt.NDArray[np.int64],
    likely: list[list[list[float]]],
    rng: np.random.Generator,
) -> npt.NDArray[np.float64]:
    """The share of sweeps in which everybody has the secret, each weighed by its chance when drawn."""
    n, log_odds = prior.size, np.log(prior / (1 - prior)).tolist()
    state = (rng.random(n) < prior).astype(int).tolist()
    where = areas.T.tolist()
    counts = [np.bincount(column, state, minlength=column.max() + 1).astype(int).tolist() for column in areas]
    total = np.zeros(n)
    tables = range(len(counts))
    for sweep in range(_SWEEPS):
        draws, chances = rng.random(n).tolist(), []
        for person in range(n):
            mine, own = where[person], state[person]
            odds = log_odds[person]
            for table in tables:
                others = counts[table][mine[table]] - own
                told = likely[table][mine[table]]
                odds += told[others + 1] - told[others]
            chance = 1 / (1 + np.exp(-odds)) if odds > -500 else 0.0
            new = int(draws[person] < chance)
            if new != own:
                state[person] = new
                for table in tables:
                    counts[table][mine[table]] += new - own
            chances.append(chance)
        if sweep >= _FIRST:
            total += chances
    return total / (_SWEEPS - _FIRST)
