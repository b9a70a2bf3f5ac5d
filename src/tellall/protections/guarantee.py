"""Guarantee: the differential privacy that a protection promises."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

from tellall.core.checks import above_zero, share
from tellall.core.records import IF_KNOWN, Record
from tellall.people.dataset import Public
from tellall.statistics.statistic import Statistic

if TYPE_CHECKING:
    from tellall.protections.profile import PrivacyProfile

__all__ = [
    "REPLACED",
    "Guarantee",
    "check_budget",
    "on_tables",
    "sensitivity_of",
    "together",
]

REPLACED = "one row replaced"


@dataclass(frozen=True)
class Guarantee(Record):
    """(ε, δ)-differential privacy.

    Attributes
    ----------
    epsilon, delta
        The promise; delta is zero if it is pure.
    relation
        Which data sets are neighbours: "one row replaced" or "one row zeroed".
    text
        How it is reached, in a few words.
    mu, rho
        The μ of Gaussian privacy or the ρ of concentrated privacy, where that is promised: a whole curve of
        pairs, of which `epsilon` and `delta` are one.
    """

    epsilon: float
    delta: float
    relation: str
    text: str
    mu: Annotated[float | None, IF_KNOWN] = None
    rho: Annotated[float | None, IF_KNOWN] = None

    def profile(self) -> PrivacyProfile:
        """The promise at every ε: advantage, true positives and beliefs follow from it.

        Examples
        --------
        >>> round(Guarantee(1.0, 0.0, REPLACED, "Laplace noise").profile().advantage(), 4)
        0.4621
        """
        return together([self])

    def __str__(self) -> str:
        delta = f", δ = {self.delta:g}" if self.delta else ""
        return f"ε = {self.epsilon:.4g}{delta} ({self.relation}; {self.text})"


def sensitivity_of(statistic: Statistic, public: Public) -> tuple[float, float] | None:
    """The L1 and L2 sensitivities of the published values, one row replaced; None if unknown."""
    known = statistic.sensitivity(public)
    if known is None:
        return None
    units = statistic.units(public)
    return known[0] / units, known[1] / units


def on_tables(statistic: Statistic, public: Public) -> str:
    """How many tables noise is added to, in words; empty if the values are not tables."""
    tables = len(statistic.tables(public))
    return f" on {tables} tables" if tables else ""


def together(guarantees: Sequence[Guarantee]) -> PrivacyProfile:
    """The profile of several releases with independent noise: μ² and ρ add up, or else ε and δ."""
    from tellall.protections.promises import promise

    text = "; ".join(dict.fromkeys(one.text for one in guarantees))
    squares = [None if one.mu is None else one.mu**2 for one in guarantees]
    spent = [
        one.rho if square is None else square / 2.0 for one, square in zip(guarantees, squares, strict=True)
    ]
    if None not in squares:
        found = promise(mu=math.sqrt(math.fsum(square for square in squares if square is not None)))
    elif None not in spent:
        found = promise(rho=math.fsum(part for part in spent if part is not None))
    else:
        delta = min(1.0, math.fsum(one.delta for one in guarantees))
        found = promise(epsilon=math.fsum(one.epsilon for one in guarantees), delta=delta)
    relations = ", ".join(dict.fromkeys(one.relation for one in guarantees))
    return replace(found, mechanism=text, neighbours=relations)


def check_budget(epsilon: float, delta: float, *, pure: bool) -> tuple[float, float]:
    """The checked ε and δ; δ may be zero only if ``pure``."""
    return above_zero("epsilon", epsilon), share("delta", delta, zero=pure)
