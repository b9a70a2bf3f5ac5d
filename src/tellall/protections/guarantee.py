"""Guarantee: the differential privacy that a protection promises."""

from __future__ import annotations

from dataclasses import dataclass

from tellall.core.checks import above_zero, share
from tellall.core.records import Record
from tellall.people.dataset import Public
from tellall.statistics.statistic import Statistic

__all__ = [
    "REPLACED",
    "Guarantee",
    "check_budget",
    "on_tables",
    "sensitivity_of",
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
    """

    epsilon: float
    delta: float
    relation: str
    text: str

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


def check_budget(epsilon: float, delta: float, *, pure: bool) -> tuple[float, float]:
    """The checked ε and δ; δ may be zero only if ``pure``."""
    return above_zero("epsilon", epsilon), share("delta", delta, zero=pure)
