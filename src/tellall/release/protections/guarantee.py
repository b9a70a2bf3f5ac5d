"""Guarantee: the differential privacy that a protection promises, beside what an attack achieves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tellall.core.checks import above_zero, share
from tellall.people.dataset import Public
from tellall.release.protections.additive import Gaussian, Laplace
from tellall.release.protections.base import Protection, Published, prepare, sensitivity_of
from tellall.release.protections.discrete import DiscreteGaussian, Geometric

__all__ = [
    "Guarantee",
    "check_budget",
    "guarantee_of",
]

REPLACED = "one row replaced"


@dataclass(frozen=True)
class Guarantee:
    """(ε, δ)-differential privacy.

    Attributes
    ----------
    epsilon, delta
        The promise; delta is zero where it is pure.
    relation
        Which data sets are neighbours: "one row replaced" or "one row zeroed".
    text
        How it is reached, in a few words.
    """

    epsilon: float
    delta: float
    relation: str
    text: str

    def __str__(self) -> str:
        delta = f", δ = {self.delta:g}" if self.delta else ""
        return f"ε = {self.epsilon:.4g}{delta} ({self.relation}; {self.text})"


def guarantee_of(
    protections: Protection | Sequence[Protection],
    statistic: Published,
    public: Public,
    *,
    delta: float = 1e-6,
) -> Guarantee | None:
    """What these protections promise for this statistic; None where they promise nothing.

    Parameters
    ----------
    protections
        In the order in which they apply.
    delta
        Where a law promises a whole curve (normal noise), the δ at which its ε is given.

    Notes
    -----
    The promise is the first protection's: what follows only reads values already private, unless it looks
    at the people again, and then nothing is promised. Changes to records and rounding or suppression before
    the noise are not analysed and promise nothing. Laplace and geometric noise: ε = L1 sensitivity / scale;
    normal noise: the analytic Gaussian mechanism at the L2 sensitivity (E-CT-1); discrete normal noise:
    ρ = L2²/(2 sigma²) of concentrated privacy, ε = ρ + 2 √(ρ ln(1/δ)).

    Examples
    --------
    >>> from tellall.people.dataset import Dataset
    >>> from tellall.release.statistics.marginals import Marginals
    >>> people = Dataset.from_arrays([[0, 1], [1, 1], [1, 0]], secret=[0, 1, 1])
    >>> print(guarantee_of(Laplace(4.0), Marginals(2), people.public))
    ε = 1 (one row replaced; Laplace noise on 2 tables)
    """
    share("delta", delta, zero=False)
    listed = (protections,) if isinstance(protections, Protection) else tuple(protections)
    prepared = prepare(listed, statistic, public)
    if not prepared or any(hasattr(later, "perturb_people") for later in prepared[1:]):
        return None
    first = prepared[0]
    if hasattr(first, "guarantee"):
        found: Guarantee | None = first.guarantee(statistic, public, delta=delta)
        return found
    return _of_noise(first, statistic, public, delta)


def _of_noise(law: Protection, statistic: Published, public: Public, delta: float) -> Guarantee | None:
    from tellall.release.profile import gaussian_epsilon

    known = sensitivity_of(statistic, public)
    if known is None:
        return None
    first, second = known
    on = _count_of_tables(statistic, public)
    if isinstance(law, Laplace) and law.scale > 0:
        return Guarantee(first / law.scale, 0.0, REPLACED, f"Laplace noise{on}")
    if isinstance(law, Geometric) and law.scale > 0 and _whole(statistic.units(public) * law.unit):
        return Guarantee(first / (law.scale * law.unit), 0.0, REPLACED, f"geometric noise{on}")
    if isinstance(law, Gaussian) and law.std > 0:
        return Guarantee(gaussian_epsilon(delta, second, law.std), delta, REPLACED, f"normal noise{on}")
    if isinstance(law, DiscreteGaussian) and law.sigma > 0 and _whole(statistic.units(public) * law.unit):
        rho = (second / (law.sigma * law.unit)) ** 2 / 2
        epsilon = rho + 2 * math.sqrt(rho * math.log(1 / delta))
        return Guarantee(epsilon, delta, REPLACED, f"discrete normal noise{on}")
    return None


def _count_of_tables(statistic: Published, public: Public) -> str:
    tables = len(statistic.tables(public))
    return f" on {tables} tables" if tables else ""


def _whole(unit: float) -> bool:
    """Whether the noise moves in steps of one person: coarser or finer ones would show the value."""
    return abs(unit - 1) < 1e-9


def check_budget(epsilon: float, delta: float, *, pure: bool) -> tuple[float, float]:
    """ε and δ if they are a promise; δ may be zero where ``pure``."""
    return above_zero("epsilon", epsilon), share("delta", delta, zero=pure)
