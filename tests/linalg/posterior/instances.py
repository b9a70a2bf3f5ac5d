"""Random instances of the reconstruction problem for the decoders' tests."""

from __future__ import annotations

import numpy as np

from tellall.linalg.operators.moments import Moments
from tellall.linalg.posterior.solver import CountProblem


def pairs(
    n: int,
    *,
    rows: float = 2.0,
    noise: float = 0.05,
    gross: float = 0.0,
    declared: float = 1.0,
    factors: int = 0,
    bits: bool = False,
    rate: float = 0.5,
    contaminated: bool | None = None,
    seed: int = 0,
) -> tuple[CountProblem, np.ndarray, np.ndarray]:
    """All pairs of attributes of n people: the problem, its target and the secret.

    noise and the gross errors' 10 are in units of √n; declared is the factor by which the noise is misstated;
    factors is the number of latent factors behind the attributes (0: independent ones).
    """
    rng = np.random.default_rng(seed)
    d = int(np.ceil((1 + np.sqrt(1 + 8 * rows * n)) / 2))
    signs = rng.choice([-1.0, 1.0], size=(d, n))
    if factors:
        latent = rng.normal(size=(d, factors)) @ rng.normal(size=(factors, n))
        signs = np.where(latent + rng.normal(size=(d, n)) > 0, 1.0, -1.0)
    operator = Moments(((signs + 1) / 2 if bits else signs).astype(np.float32), 2)
    secret = (rng.random(n) < rate).astype(float)
    m, sigma = operator.shape[0], noise * n**0.5
    target = operator @ secret + rng.normal(0, sigma, m)
    target = target + (rng.random(m) < gross) * rng.normal(0, 10 * n**0.5, m)
    one = np.ones(n)
    std = np.full(m, sigma * declared)
    return CountProblem(operator, std, one, 0 * one, one, rate, None, contaminated), target, secret
