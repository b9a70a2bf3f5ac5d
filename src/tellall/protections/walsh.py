"""WalshNoise: noise on the ±1 inner products of tables instead of on their cells."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from tellall.data import Public
from tellall.errors import invalid
from tellall.linops.walsh import cells
from tellall.noise import Array, Gaussian, Laplace, Layout, Noise, Rng, as_rng
from tellall.noise.base import at_least_zero
from tellall.protections.base import Published, check_count, needs_people, tables_of
from tellall.protections.guarantee import REPLACED, Guarantee, check_budget

__all__ = ["WalshNoise"]


@dataclass(frozen=True)
class WalshNoise:
    """Noise on every inner product that the tables need, once, and tables made from those.

    Parameters
    ----------
    std
        The standard deviation of normal noise on each inner product, in counts.
    epsilon, delta
        Instead of std: the promise to keep, one row replaced; Laplace noise where delta is zero, normal else.
    ways, products, noise
        Filled in when it is published: the columns of a table, the number of inner products, their noise.

    Notes
    -----
    Barak et al.: i_S = Σ_people Π_{j ∈ S} (2x_j − 1) for every nonempty set S of columns within some table,
    c[b] = 2^−k Σ_S Π_{j ∈ S} (2b_j − 1) i_S. All tables agree on what they share, their totals are exact,
    and white noise of variance v on the i_S leaves variance v (2^k − 1)/4^k in a cell. One row replaced moves
    each of the m products by two at most: L1 sensitivity 2m, L2 2√m. Columns of two values only. The
    attacker treats the errors of cells as independent and normal; cells that share products are not
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
            raise invalid("std or epsilon", "given, one of the two", (self.std, self.epsilon))
        check_count("ways", self.ways)
        check_count("products", self.products)
        if not isinstance(self.noise, Gaussian | Laplace | None):
            raise invalid("noise", "normal or Laplace noise, or left out", self.noise)
        if self.std is not None:
            object.__setattr__(self, "std", at_least_zero("std", self.std))
            if self.delta != 0:
                raise invalid(
                    "delta", "left out where std is given, which promises a whole curve", self.delta
                )
        if self.epsilon is not None:
            epsilon, delta = check_budget(self.epsilon, self.delta, pure=True)
            object.__setattr__(self, "epsilon", epsilon)
            object.__setattr__(self, "delta", delta)

    def prepare(self, statistic: Published, public: Public) -> WalshNoise:
        """The same with the noise of the inner products, in the units of what is published."""
        tables = tables_of(statistic, public)
        _check_bits(tables)
        count = int(product_labels(tables).max())
        law = self._law(count).scaled(1 / statistic.units(public))
        return replace(self, ways=len(tables.shapes[0]), products=count, noise=law)

    def _law(self, count: int) -> Gaussian | Laplace:
        from tellall.privacy import gaussian_std

        if self.epsilon is None:
            assert self.std is not None
            return Gaussian(self.std)
        if self.delta == 0:
            return Laplace(2 * count / self.epsilon)
        return Gaussian(gaussian_std(self.epsilon, self.delta, sensitivity=2 * math.sqrt(count)))

    @property
    def law(self) -> Noise | None:
        """The law of the error of a cell, taken for normal."""
        if self.noise is None or self.ways is None:
            return None
        return Gaussian(self.noise.std * math.sqrt(2**self.ways - 1) / 2**self.ways)

    @property
    def random(self) -> bool:
        """Whether publishing twice may give two answers."""
        return self.noise is None or self.noise.random

    def perturb(self, values: Array, rng: Rng = None) -> Array:
        raise needs_people(self)

    def perturb_tables(self, values: Array, tables: Layout, rng: Rng = None) -> Array:
        """The tables made from the noisy inner products."""
        if self.noise is None or self.products is None or self.ways is None:
            raise needs_people(self)
        _check_bits(tables)
        drawn = np.append(0.0, self.noise.sample(self.products, as_rng(rng)))  # the empty product is n
        noise = cells(drawn[product_labels(tables)])
        return np.asarray(values + noise.ravel())

    def guarantee(self, statistic: Published, public: Public, *, delta: float = 1e-6) -> Guarantee | None:
        """The promise of the noise on the inner products; the tables are made from those alone."""
        from tellall.privacy import gaussian_epsilon

        prepared = self.prepare(statistic, public)
        assert prepared.products is not None
        if self.epsilon is not None:
            kind = "normal" if self.delta else "Laplace"
            text = f"{kind} noise on {prepared.products} inner products"
            return Guarantee(self.epsilon, self.delta, REPLACED, text)
        if not self.std:
            return None
        epsilon = gaussian_epsilon(delta, 2 * math.sqrt(prepared.products), self.std)
        text = f"normal noise on {prepared.products} inner products"
        return Guarantee(epsilon, delta, REPLACED, text)


def _check_bits(tables: Layout) -> None:
    many = [shape for shape in tables.shapes if any(levels != 2 for levels in shape)]
    if not len(tables) or many:
        rule = "one that fits the statistic; WalshNoise fits tables of columns with two values"
        raise invalid("protect", rule, f"tables of {many[0]} cells" if many else "values that are no tables")


def product_labels(tables: Layout) -> npt.NDArray[np.intp]:
    """Which inner product each subset of each table's columns is (tables × subsets); zero is the empty one.

    A subset is read as bits, the first column the most significant, the secret the least.
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
        for place in range(len(chosen)):
            code = code * base + ordered[:, place]
        codes[:, subset] = 2 * code + (subset & 1)
    return np.unique(codes, return_inverse=True)[1].reshape(codes.shape)
