"""Guarantee: the differential privacy that a protection promises."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tellall.core.checks import above_zero, share
from tellall.core.records import Record
from tellall.people.dataset import Public
from tellall.protections.protection import Protection, as_protections, prepare
from tellall.statistics.among import Among
from tellall.statistics.conditions import Mask

if TYPE_CHECKING:
    from tellall.statistics.statistic import Statistic

__all__ = [
    "REPLACED",
    "Guarantee",
    "check_budget",
    "guarantee_of",
    "number_is_fixed",
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


def guarantee_of(
    protections: Protection | Sequence[Protection],
    statistic: Statistic,
    public: Public,
    *,
    delta: float = 1e-6,
) -> Guarantee | None:
    """What these protections promise for this statistic; None if they promise nothing.

    Parameters
    ----------
    protections
        In the order in which they apply.
    delta
        If a law promises a whole curve (normal noise), the δ at which its ε is given.

    Notes
    -----
    The promise is that of the first protection. Later ones only read values that are already private; if one
    looks at the people again, nothing is promised. Changes to records, and rounding or suppression before the
    noise, are not analysed and promise nothing. Shares of the people who satisfy a condition promise nothing
    either: a replaced row may change how many these are, and with it the noise that is needed.

    The promise is about the values. It covers a release file only if categories and cut points were fixed
    without looking at the people; otherwise the file publishes these too, without noise.

    Examples
    --------
    >>> from tellall.people.dataset import Dataset
    >>> from tellall.protections.additive import Laplace
    >>> from tellall.statistics.marginals import Marginals
    >>> people = Dataset.from_arrays([[0, 1], [1, 1], [1, 0]], secret=[0, 1, 1])
    >>> print(guarantee_of(Laplace(4.0), Marginals(2), people.public))
    ε = 1 (one row replaced; Laplace noise on 2 tables)
    """
    share("delta", delta, zero=False)
    if statistic.scale == "fractions" and not number_is_fixed(statistic):
        return None
    prepared = prepare(as_protections(protections), statistic, public)
    if not prepared or any(later.reads_people for later in prepared[1:]):
        return None
    return prepared[0].guarantee(statistic, public, delta=delta)


def sensitivity_of(statistic: Statistic, public: Public) -> tuple[float, float] | None:
    """The L1 and L2 sensitivities of the published values, one row replaced; None if unknown."""
    known = statistic.sensitivity(public)
    if known is None:
        return None
    units = statistic.units(public)
    return known[0] / units, known[1] / units


def number_is_fixed(statistic: Statistic) -> bool:
    """Whether a statistic is about the same number of people if one row is replaced.

    It is not if a condition selects them: the new row may satisfy it where the old one did not.
    """
    return not isinstance(statistic, Among) or isinstance(statistic.where, Mask)


def on_tables(statistic: Statistic, public: Public) -> str:
    """How many tables noise is added to, in words; empty if the values are not tables."""
    tables = len(statistic.tables(public))
    return f" on {tables} tables" if tables else ""


def check_budget(epsilon: float, delta: float, *, pure: bool) -> tuple[float, float]:
    """The checked ε and δ; δ may be zero only if ``pure``."""
    return above_zero("epsilon", epsilon), share("delta", delta, zero=pure)
