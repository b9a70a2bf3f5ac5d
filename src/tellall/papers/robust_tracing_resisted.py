"""Where tracing fails: means that were known before, and means with differential privacy."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from tellall.algebra.operators.base import Array
from tellall.attack.trace.trace import trace
from tellall.papers.robust_tracing_figures import DELTA, people_of
from tellall.papers.simulated import share_at_most, share_of
from tellall.release.profile import gaussian_std
from tellall.report.paper import Statement

__all__ = [
    "not_strong",
    "private_means",
]


def not_strong(rng: np.random.Generator, repeats: int) -> Iterator[Statement]:
    """Sec. II-D (i)–(iv): where means are known in advance, an accurate release need not touch the data."""
    n, d, alpha = 50, 21_570, 0.3
    clumps = np.array([-0.8, 0.0, 0.8])
    laws: dict[str, tuple[Callable[[], Array], Callable[[Array], Array]]] = {
        "point mass": (lambda: np.full(d, 0.3), lambda mean: np.full(d, 0.3)),
        "two points": (
            lambda: rng.choice(np.array([-0.6, 0.6]), d),
            lambda mean: np.where(mean > 0, 0.6, -0.6),
        ),
        "short interval": (lambda: rng.uniform(0, alpha, d), lambda mean: np.full(d, alpha / 2)),
        "separated clumps": (
            lambda: rng.choice(clumps, d) + rng.uniform(-0.05, 0.05, d),
            lambda mean: clumps[np.abs(mean[:, None] - clumps).argmin(axis=1)],
        ),
    }
    for name, (law, mechanism) in laws.items():
        rates = []
        for _ in range(repeats):
            people = people_of(law(), n + 1, rng)
            q = mechanism(people[:n].mean(axis=0))
            rates.append(trace(q, people[:n], people[n:], threshold="hoeffding", delta=DELTA).traced / n)
        setting = f"{name}, insensitive release, n = {n}, d = {d:,}"
        yield share_at_most(
            f"not strong, not traced: {name}", "Sec. II-D", setting, rates, "members named at most δ", DELTA
        )


def private_means(rng: np.random.Generator, repeats: int) -> Iterator[Statement]:
    """What resists: differentially private means at d = n² hold TPR ≤ e^ε FPR + δ."""
    n, epsilon, slack = 60, 1.0, 1e-3
    d = n * n
    std = gaussian_std(epsilon, slack, sensitivity=2 * math.sqrt(d) / n)
    inside, outside = [], []
    runs = repeats
    for _ in range(runs):
        people = people_of(rng.uniform(-1, 1, d), 2 * n + 200, rng)
        mean = people[:n].mean(axis=0)
        found = trace(
            mean + rng.normal(0, std, d),
            people[: 2 * n],
            people[2 * n :],
            attack="pool",
            threshold="empirical",
            delta=DELTA,
        )
        inside.append(float(found.member[:n].mean()))
        outside.append(float(found.member[n:].mean()))
    rate = share_of(outside)[0]
    setting = f"Gaussian noise of sd {std:.2f} ({epsilon:g}, {slack:g})-private, n = {n}, d = n² = {d:,}"
    bound = math.exp(epsilon) * max(rate, DELTA) + slack
    theorem = f"members named at most e^ε·FPR + δ = {bound:.3g}"
    yield share_at_most("differential privacy resists", "Sec. I-B", setting, inside, theorem, bound)
