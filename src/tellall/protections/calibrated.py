"""Mechanisms whose noise is calibrated to a promise and a statistic (contingency-tables' upper bounds)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from tellall.core.checks import at_least_zero
from tellall.core.errors import invalid
from tellall.linalg.operators.walsh import cells
from tellall.people.dataset import Public
from tellall.protections.additive import Gaussian, Laplace
from tellall.protections.guarantee import (
    REPLACED,
    Guarantee,
    check_budget,
    sensitivity_of,
)
from tellall.protections.protection import (
    Array,
    Context,
    Noise,
    Protection,
    Rng,
    Unknown,
    as_rng,
    check_count,
    check_counts,
    needs_people,
)
from tellall.protections.record_changes import Subsample
from tellall.protections.sampling import Unrelated
from tellall.statistics.statistic import CellLayout, tables_of

if TYPE_CHECKING:
    from tellall.statistics.statistic import Statistic

__all__ = ["Combined", "SuLQ", "Trivial", "WalshNoise"]


@dataclass(frozen=True)
class SuLQ(Protection):
    """Normal noise on every value, the least that makes the release (epsilon, delta)-private.

    Parameters
    ----------
    epsilon, delta
        The promise, one row replaced.
    noise
        Filled in when published: the normal law that keeps the promise.

    Notes
    -----
    Replacing one row moves two cells of each of t tables by one: L2 sensitivity √(2t). The standard deviation
    is that of the analytic Gaussian mechanism. The paper's √(2t log(1/δ))/ε (contingency-tables, Sec. 1.3),
    with log read as ln, spends more than δ if δ is small (E-CT-1).

    Examples
    --------
    >>> from tellall.people.dataset import Dataset
    >>> from tellall.statistics.marginals import Marginals
    >>> people = Dataset.from_arrays([[0, 1], [1, 1], [1, 0]], secret=[0, 1, 1])
    >>> round(SuLQ(1.0, 1e-5).prepare(Marginals(2), people.public).noise.std, 6)
    7.461263
    """

    filled: ClassVar[tuple[str, ...]] = ("noise",)
    not_on_means: ClassVar[str] = (
        "It needs a known sensitivity, which means do not have; give its Gaussian noise instead."
    )

    epsilon: float
    delta: float
    noise: Gaussian | None = None

    def __post_init__(self) -> None:
        epsilon, delta = check_budget(self.epsilon, self.delta, pure=False)
        if not isinstance(self.noise, Gaussian | None):
            raise invalid("noise", "normal noise, or left out", self.noise)
        object.__setattr__(self, "epsilon", epsilon)
        object.__setattr__(self, "delta", delta)

    def prepare(self, statistic: Statistic, public: Public) -> SuLQ:
        """The same with its noise calibrated to the statistic."""
        from tellall.protections.profile import gaussian_std

        known = sensitivity_of(statistic, public)
        if known is None:
            rule = "one that fits the statistic; SuLQ needs a known sensitivity"
            raise invalid("protect", rule, type(statistic).__name__)
        return replace(self, noise=Gaussian(gaussian_std(self.epsilon, self.delta, sensitivity=known[1])))

    @property
    def law(self) -> Noise:
        return self.noise or Unknown()

    def on_means(self) -> Noise | None:
        return self.noise

    def perturb(self, values: Array, rng: Rng = None, context: Context | None = None) -> Array:
        if self.noise is None:
            raise needs_people(self)
        return self.noise.perturb(values, rng)

    shows_number = False

    def guarantee(self, statistic: Statistic, public: Public, *, delta: float = 1e-6) -> Guarantee:
        """The promise it was made for."""
        noise = self.prepare(statistic, public).noise
        known = sensitivity_of(statistic, public)
        assert noise is not None
        assert known is not None
        mu = known[1] / noise.std if noise.std else 0.0
        return Guarantee(self.epsilon, self.delta, REPLACED, "analytic Gaussian mechanism", mu=mu)


@dataclass(frozen=True)
class Combined(Protection):
    """A sample of half the people if there are at least as many tables as people; otherwise SuLQ noise.

    Notes
    -----
    Contingency-tables, Proposition B.1: with t tables and n people, the sampling mechanism if √n ≤ √t and
    SuLQ otherwise; error O(min{√(n k ln(d/k)), √(t k ln(d/k))}) in each cell. It prevents the reconstruction
    of nearly all rows and promises no more than that: the sampling mechanism is not differentially private.
    The default ε = δ = 0.1 satisfies (2/3) e^ε + δ < 1 (Lemma B.2). The release says which of the two was
    used.
    """

    epsilon: float = 0.1
    delta: float = 0.1

    def __post_init__(self) -> None:
        check_budget(self.epsilon, self.delta, pure=False)

    def prepare(self, statistic: Statistic, public: Public) -> Subsample | SuLQ:
        """The mechanism that adds less noise here."""
        tables = len(statistic.tables(public))
        if not tables:
            raise invalid(
                "protect", "one that fits the statistic; Combined fits tables", type(statistic).__name__
            )
        if public.n <= tables:
            return Subsample(0.5).prepare(statistic, public)
        return SuLQ(self.epsilon, self.delta).prepare(statistic, public)

    @property
    def law(self) -> Noise:
        rule = "one of the two mechanisms that it becomes when published"
        raise invalid("protect", rule, self, "Publish with it.")

    def perturb(self, values: Array, rng: Rng = None, context: Context | None = None) -> Array:
        raise needs_people(self)


@dataclass(frozen=True)
class Trivial(Protection):
    """Numbers that do not depend on anybody: everybody spread evenly over each table of counts, else zeros.

    Notes
    -----
    The trivial release that bounds on the error are compared with: perfectly private, with an error of up to
    n in a cell. The number of people and the number of cells are all it uses. Values that do not count
    people are published as zero, and so are those that are missing, since that depends on people too.
    """

    not_on_means: ClassVar[str] = (
        "It publishes nothing about the people, so no accuracy holds and nobody is traced."
    )

    @property
    def law(self) -> Noise:
        return Unrelated()

    @property
    def random(self) -> bool:
        return False

    def perturb(self, values: Array, rng: Rng = None, context: Context | None = None) -> Array:
        """The number of people over the number of cells, for tables of counts; else zeros."""
        if context is None:
            return np.where(np.isnan(values), np.nan, 0.0)
        out = np.zeros(values.shape)
        statistic = context.statistic
        if statistic.counts_people:
            total = 1.0 if statistic.scale == "fractions" else float(context.public.n)
            for _, _, index in context.tables.alike():
                out[index] = total / index.shape[1]
        return out

    def guarantee(self, statistic: Statistic, public: Public, *, delta: float = 1e-6) -> Guarantee | None:
        """The guarantee ε = 0."""
        return Guarantee(0.0, 0.0, REPLACED, "does not look at the people")


@dataclass(frozen=True)
class WalshNoise(Protection):
    """Noise added once to every inner product that the tables need; the tables are computed from these.

    Parameters
    ----------
    std
        The standard deviation of normal noise on each inner product, in counts.
    epsilon, delta
        Instead of std: the promise, one row replaced. Laplace noise if delta is zero, otherwise normal noise.
    ways, products, noise
        Filled in when published: the columns of a table, the number of inner products, their noise.

    Notes
    -----
    Barak et al.: i_S = Σ_people Π_{j ∈ S} (2x_j − 1) for every nonempty set S of columns within some table,
    c[b] = 2^−k Σ_S Π_{j ∈ S} (2b_j − 1) i_S. All tables agree where they overlap, their totals are exact, and
    white noise of variance v on the i_S leaves variance v (2^k − 1)/4^k in a cell. Replacing one row moves
    each of the m products by at most two: L1 sensitivity 2m, L2 2√m. Only for columns of two values. The
    attacker treats the errors of cells as independent and normal. Cells that share products are not
    independent, so a confidence may be too high.
    """

    filled: ClassVar[tuple[str, ...]] = ("ways", "products", "noise")

    std: float | None = None
    epsilon: float | None = None
    delta: float = 0.0
    ways: int | None = None
    products: int | None = None
    noise: Noise | None = None

    def __post_init__(self) -> None:
        if (self.std is None) == (self.epsilon is None):
            raise invalid("std or epsilon", "given, exactly one of the two", (self.std, self.epsilon))
        check_count("ways", self.ways)
        check_count("products", self.products)
        if not isinstance(self.noise, Gaussian | Laplace | None):
            raise invalid("noise", "normal or Laplace noise, or left out", self.noise)
        if self.std is not None:
            object.__setattr__(self, "std", at_least_zero("std", self.std))
            if self.delta != 0:
                raise invalid("delta", "left out if std is given, which promises a whole curve", self.delta)
        if self.epsilon is not None:
            epsilon, delta = check_budget(self.epsilon, self.delta, pure=True)
            object.__setattr__(self, "epsilon", epsilon)
            object.__setattr__(self, "delta", delta)

    def prepare(self, statistic: Statistic, public: Public) -> WalshNoise:
        """The same with the noise of the inner products, in the units of what is published."""
        check_counts(self, statistic)
        tables = tables_of(statistic, public)
        _check_bits(tables)
        count = int(product_labels(tables).max())
        law = self._law(count).scaled(1 / statistic.units(public))
        return replace(self, ways=len(tables.shapes[0]), products=count, noise=law)

    def _law(self, count: int) -> Gaussian | Laplace:
        from tellall.protections.profile import gaussian_std

        if self.epsilon is None:
            assert self.std is not None
            return Gaussian(self.std)
        if self.delta == 0:
            return Laplace(2 * count / self.epsilon)
        return Gaussian(gaussian_std(self.epsilon, self.delta, sensitivity=2 * math.sqrt(count)))

    @property
    def law(self) -> Noise:
        """The law of the error of a cell, taken to be normal."""
        if self.noise is None or self.ways is None:
            return Unknown()
        return Gaussian(self.noise.std * math.sqrt(2**self.ways - 1) / 2**self.ways)

    @property
    def random(self) -> bool:
        return self.noise is None or self.noise.random

    @property
    def doubt(self) -> str:
        return "cells share noise" if self.random else ""

    def perturb(self, values: Array, rng: Rng = None, context: Context | None = None) -> Array:
        """The tables made from the noisy inner products."""
        if context is None or self.noise is None or self.products is None:
            raise needs_people(self)
        _check_bits(context.tables)
        drawn = np.append(0.0, self.noise.sample(self.products, as_rng(rng)))  # the empty product is n
        noise = cells(drawn[product_labels(context.tables)])
        return np.asarray(values + noise.ravel())

    def guarantee(self, statistic: Statistic, public: Public, *, delta: float = 1e-6) -> Guarantee | None:
        """The promise of the noise on the inner products; the tables depend on nothing else but n."""
        from tellall.protections.profile import gaussian_epsilon

        prepared = self.prepare(statistic, public)
        assert prepared.products is not None
        if self.epsilon is not None:
            law = self._law(prepared.products)
            kind = "normal" if isinstance(law, Gaussian) else "Laplace"
            mu = 2 * math.sqrt(prepared.products) / law.std if isinstance(law, Gaussian) else None
            text = f"{kind} noise on {prepared.products} inner products"
            return Guarantee(self.epsilon, self.delta, REPLACED, text, mu=mu)
        if not self.std:
            return None
        mu = 2 * math.sqrt(prepared.products) / self.std
        text = f"normal noise on {prepared.products} inner products"
        return Guarantee(gaussian_epsilon(delta, mu, 1.0), delta, REPLACED, text, mu=mu)


def _check_bits(tables: CellLayout) -> None:
    many = [shape for shape in tables.shapes if any(levels != 2 for levels in shape)]
    if len({len(shape) for shape in tables.shapes}) > 1:
        rule = "one that fits the statistic; WalshNoise fits tables that all have the same number of columns"
        raise invalid("protect", rule, "tables of several ways")
    if not len(tables) or many:
        rule = "one that fits the statistic; WalshNoise fits tables of columns with two values"
        raise invalid("protect", rule, f"tables of {many[0]} cells" if many else "values that are not tables")


def product_labels(tables: CellLayout) -> npt.NDArray[np.intp]:
    """The number of the inner product for each subset of each table's columns; zero for the empty subset.

    The array is tables × subsets. A subset is read as bits: the first column is the most significant, the
    secret the least.
    """
    columns = np.array(tables.columns, dtype=np.int64)
    columns = columns.reshape(len(tables), -1) + 1
    k = columns.shape[1] + 1
    base = int(columns.max(initial=0)) + 1
    if base ** (k - 1) > 2**61:
        raise invalid("ways", "fewer columns in a table, for noise on inner products", k)
    codes = np.empty((len(tables), 2**k), dtype=np.int64)
    for subset in range(2**k):
        chosen = [j for j in range(k - 1) if subset >> (k - 1 - j) & 1]
        ordered = np.sort(columns[:, chosen], axis=1)
        code = np.zeros(len(tables), dtype=np.int64)
        for column in ordered.T:
            code = code * base + column
        codes[:, subset] = 2 * code + (subset & 1)
    return np.unique(codes, return_inverse=True)[1].reshape(codes.shape)
