"""Mechanisms whose noise follows from a promise and the statistic: contingency-tables' upper bounds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from tellall.data import Public
from tellall.errors import InvalidInput, invalid
from tellall.noise import Array, Gaussian, Layout, Noise, Rng
from tellall.noise.sampling import Unknown
from tellall.protections.base import Published, needs_people, sensitivity_of
from tellall.protections.guarantee import REPLACED, Guarantee, check_budget
from tellall.protections.records import Subsample

__all__ = ["Combined", "SuLQ", "Trivial"]


@dataclass(frozen=True)
class SuLQ:
    """Normal noise on every value, the least that makes the release (epsilon, delta)-private.

    Parameters
    ----------
    epsilon, delta
        The promise, one row replaced.
    noise
        Filled in when it is published: the normal law that keeps the promise.

    Notes
    -----
    One row replaced moves two cells of each of t tables by one: L2 sensitivity √(2t). The standard deviation
    is the analytic Gaussian mechanism's; the printed √(2t ln(1/δ))/ε (contingency-tables, Sec. 1.3) is not
    (ε, δ)-private for small δ (E-CT-1).

    Examples
    --------
    >>> from tellall.data import Dataset
    >>> from tellall.statistics import Marginals
    >>> people = Dataset.from_arrays([[0, 1], [1, 1], [1, 0]], secret=[0, 1, 1])
    >>> round(SuLQ(1.0, 1e-5).prepare(Marginals(2), people.public).noise.std, 6)
    7.461263
    """

    filled: ClassVar[tuple[str, ...]] = ("noise",)

    epsilon: float
    delta: float
    noise: Gaussian | None = None

    def __post_init__(self) -> None:
        epsilon, delta = check_budget(self.epsilon, self.delta, pure=False)
        if not isinstance(self.noise, Gaussian | None):
            raise invalid("noise", "normal noise, or left out", self.noise)
        object.__setattr__(self, "epsilon", epsilon)
        object.__setattr__(self, "delta", delta)

    def prepare(self, statistic: Published, public: Public) -> SuLQ:
        """The same with its noise calibrated to the statistic."""
        from tellall.privacy import gaussian_std

        known = sensitivity_of(statistic, public)
        if known is None:
            raise no_sensitivity(self, statistic)
        return replace(self, noise=Gaussian(gaussian_std(self.epsilon, self.delta, sensitivity=known[1])))

    @property
    def law(self) -> Noise | None:
        """The law of the error of a value."""
        return self.noise

    def perturb(self, values: Array, rng: Rng = None) -> Array:
        if self.noise is None:
            raise needs_people(self)
        return self.noise.perturb(values, rng)

    def guarantee(self, statistic: Published, public: Public, *, delta: float = 1e-6) -> Guarantee:
        """The promise it was made for."""
        return Guarantee(self.epsilon, self.delta, REPLACED, "analytic Gaussian mechanism")


@dataclass(frozen=True)
class Combined:
    """Half the people where tables outnumber people, SuLQ noise where people outnumber tables.

    Notes
    -----
    Contingency-tables, Proposition B.1: with t tables and n people, the sampling mechanism where √n ≤ √t and
    SuLQ otherwise; error O(min{√(n k ln(d/k)), √(t k ln(d/k))}) in each cell. It keeps anybody from
    reconstructing nearly all rows, and promises no more than that: the sampling half is not differentially
    private. Its own ε = δ = 0.1 satisfy (2/3) e^ε + δ < 1 (Lemma B.2). What is published says which of the
    two it was.
    """

    epsilon: float = 0.1
    delta: float = 0.1

    def __post_init__(self) -> None:
        check_budget(self.epsilon, self.delta, pure=False)

    def prepare(self, statistic: Published, public: Public) -> Subsample | SuLQ:
        """The mechanism that adds less noise here."""
        tables = len(statistic.tables(public))
        if not tables:
            raise invalid(
                "protect", "one that fits the statistic; Combined fits tables", type(statistic).__name__
            )
        if public.n <= tables:
            return Subsample(0.5).prepare(statistic, public)
        return SuLQ(self.epsilon, self.delta).prepare(statistic, public)

    def perturb(self, values: Array, rng: Rng = None) -> Array:
        raise needs_people(self)


@dataclass(frozen=True)
class Trivial:
    """Numbers that do not depend on anybody's secret: each table spread evenly, other values zero.

    Notes
    -----
    The release against which every bound is a minimum: perfectly private, its error up to n in a cell.
    """

    @property
    def law(self) -> Noise:
        """The law of the error of a value: nothing is known of it."""
        return Unknown()

    @property
    def random(self) -> bool:
        """Whether publishing twice may give two answers."""
        return False

    def perturb(self, values: Array, rng: Rng = None) -> Array:
        return np.where(np.isnan(values), np.nan, 0.0)

    def perturb_tables(self, values: Array, tables: Layout, rng: Rng = None) -> Array:
        """Every table's total, which is the number of people, spread over its cells."""
        if not len(tables):
            return self.perturb(values, rng)
        out = values.copy()
        for _, _, places in tables.alike():
            out[places] = np.mean(values[places], axis=1, keepdims=True)
        return out

    def guarantee(self, statistic: Published, public: Public, *, delta: float = 1e-6) -> Guarantee:
        """Nothing is given away."""
        return Guarantee(0.0, 0.0, REPLACED, "does not look at the people")


def no_sensitivity(protection: object, statistic: object) -> InvalidInput:
    """The error for a mechanism that needs a sensitivity which the statistic does not know."""
    name = type(protection).__name__
    return invalid(
        "protect", f"one that fits the statistic; {name} needs a known sensitivity", type(statistic).__name__
    )
