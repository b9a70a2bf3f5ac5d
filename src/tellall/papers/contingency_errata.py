"""contingency-tables, errata with numbers: noise that is printed as private and is not, a tail too thin."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tellall.people.dataset import Dataset
from tellall.release.profile import gaussian_delta, gaussian_std
from tellall.release.protections.additive import Laplace
from tellall.release.protections.guarantee import guarantee_of
from tellall.release.protections.law import Rng
from tellall.release.protections.sampling import SamplingLaw
from tellall.release.statistics.tables import Tables
from tellall.report.paper import Statement
from tellall.report.plot import Axis, Figure, Rule, Series

__all__ = [
    "Errata",
]

_DECLARED = ((0.5, 1e-5), (1.0, 1e-6), (1.0, 1e-9), (0.1, 0.1))


@dataclass(frozen=True)
class Errata:
    """E-CT-1, E-CT-2 and E-CT-7; nothing here is random."""

    @classmethod
    def measure(cls, *, quick: bool = True, rng: Rng = 0) -> Errata:
        """There is nothing to measure."""
        return cls()

    def statements(self) -> Iterator[Statement]:
        """What is printed, and what it gives."""
        yield from _printed()

    def figures(self) -> Iterator[Figure]:
        """Declared against achieved δ."""
        declared = np.geomspace(1e-12, 0.3, 30)
        yield Figure(
            "The δ that the printed noise gives (E-CT-1)",
            "Gaussian noise of standard deviation √(2 m_k ln(1/δ))/ε, as printed, for any d and k: above "
            "the rule the promise is broken. At the paper's own ε = δ = 0.1 it is kept. Calibrated exactly, "
            "every curve would be the rule.",
            Axis("δ declared", log=True),
            Axis("δ achieved / δ declared", log=True),
            tuple(
                Series(f"printed, ε = {eps:g}", declared, [_spent(eps, delta) / delta for delta in declared])
                for eps in (0.1, 0.5, 1.0, 2.0)
            ),
            (Rule(1.0, "as declared"),),
        )


def _spent(epsilon: float, delta: float) -> float:
    """The δ of the printed standard deviation √(2 m_k ln(1/δ))/ε at sensitivity √(2 m_k): m_k cancels."""
    return float(gaussian_delta(epsilon, 1.0, math.sqrt(-math.log(delta)) / epsilon))


def _printed() -> Iterator[Statement]:
    """E-CT-1, E-CT-2 and E-CT-7, with numbers."""
    for epsilon, delta in _DECLARED:
        spent = _spent(epsilon, delta)
        std = gaussian_std(epsilon, delta)
        kept = float(gaussian_delta(epsilon, 1.0, std))
        fine = kept <= delta * (1 + 1e-9)
        yield Statement(
            "δ of the printed Gaussian noise",
            "Sec. 1.3, E-CT-1",
            f"(ε, δ)-private with standard deviation √(2 m_k ln(1/δ))/ε, δ = {delta:g}",
            f"achieves {spent:.3g}; calibrated exactly: {kept:.3g}",
            ("holds" if spent <= delta else "corrected") if fine else "does not hold",
            f"ε = {epsilon:g}, any d and k",
            spent,
            delta,
        )
    yield _laplace(0.5)
    for n in (10, 4):
        law, count = SamplingLaw(n, n // 2), n // 2
        exact = 2 / math.comb(n, n // 2)  # all of the K = n/2 counted people are in the sample, or none
        tail = math.exp(-2 * count**2 / n)
        yield Statement(
            "tail of the sampling mechanism",
            "App. B, E-CT-7",
            f"P(off by {count} or more) ≤ exp(−2s²/n) = {tail:.3g}",
            f"exactly {exact:.3g}; Serfling's bound: {law.tail(count):.3g}",
            "corrected" if tail < exact <= law.tail(count) else "does not hold",
            f"n = {n}, half of them in the sample, {count} in the cell",
            exact,
            tail,
        )


def _laplace(epsilon: float) -> Statement:
    """E-CT-2: the ε of Laplace noise whose standard deviation, or whose scale, is 2 m_k/ε."""
    people = Dataset.from_arrays(np.eye(6, dtype=np.int8))
    size = 2 * math.comb(6, 2) / epsilon
    promises = [
        guarantee_of(Laplace(scale), Tables(2), people.public) for scale in (size / math.sqrt(2), size)
    ]
    spent, kept = (math.inf if one is None else one.epsilon for one in promises)
    return Statement(
        "ε of the printed Laplace noise",
        "Sec. 1.3, E-CT-2",
        f"standard deviation 2 m_k/ε is ε-private, ε = {epsilon:g}",
        f"that deviation gives {spent:.4g}; the scale 2 m_k/ε gives {kept:.4g}",
        "corrected" if spent > epsilon >= kept - 1e-12 else "does not hold",
        "k = 2, d = 6; the same for all",
        spent,
        epsilon,
    )
