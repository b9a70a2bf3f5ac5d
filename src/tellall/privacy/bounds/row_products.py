"""The spectral theorem checked: least singular values of products of random rows, on distinct index sets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tellall.core.amounts import percent
from tellall.core.checks import whole
from tellall.core.errors import invalid
from tellall.linalg.operators.linear_operator import Array
from tellall.linalg.operators.moments import Moments
from tellall.privacy.bounds.geometry import SingularValues, singular_values
from tellall.protections.protection import Rng, as_rng

__all__ = [
    "Draw",
    "RowProducts",
    "distinct_people",
    "draw_products",
    "row_products",
]

_FACTORISED = 2500  # people up to which a Gram matrix is factorised; for more, products are quicker


@dataclass(frozen=True, eq=False)
class Draw:
    """The singular values of one random table, and the number of people left out of it."""

    d: int
    order: int
    n: int
    values: SingularValues
    duplicates: int
    complements: int


@dataclass(frozen=True, eq=False)
class RowProducts:
    """The least singular values of several random row-product matrices of one size.

    People are left out of a draw if another has the same attributes (`duplicates`) or all of them reversed
    (`complements`): their columns are equal up to the sign, and the least singular value would be zero.
    """

    d: int
    order: int  # attributes per product
    m: int  # rows: C(d, order)
    n: int  # people drawn
    values: tuple[SingularValues, ...]  # of each draw, on the people who can be told apart
    ratios: tuple[float, ...]  # σ_min/√m of each draw
    expected: float  # 1 − √(n/m), the limit for a matrix of independent entries
    duplicates: tuple[int, ...]
    complements: tuple[int, ...]

    @classmethod
    def of(cls, draws: Sequence[Draw]) -> RowProducts:
        """Returns several draws of one size together."""
        d = draws[0].d
        order = draws[0].order
        n = draws[0].n
        m = math.comb(d, order)
        return cls(
            d,
            order,
            m,
            n,
            values=tuple(draw.values for draw in draws),
            ratios=tuple(draw.values.least / math.sqrt(m) for draw in draws),
            expected=1 - math.sqrt(n / m),
            duplicates=tuple(draw.duplicates for draw in draws),
            complements=tuple(draw.complements for draw in draws),
        )

    @property
    def median(self) -> float:
        """The median of the ratios."""
        return float(np.median(self.ratios))

    @property
    def sure(self) -> float:
        """The median of the lower ends of the draws' intervals, over √m."""
        return float(np.median([value.least_interval[0] for value in self.values])) / math.sqrt(self.m)

    @property
    def off(self) -> float:
        """How far the median is from the limit for independent entries, relative to that limit."""
        return self.median / self.expected - 1

    def __str__(self) -> str:
        return (
            f"d = {self.d}, {self.order} attributes a product, {self.m:,} × {self.n:,}: "
            f"σ_min/√m = {self.median:.4f} (median of {len(self.ratios)}), "
            f"1 − √(n/m) = {self.expected:.4f}, off by {percent(self.off, 1, '+')}"
        )

    def as_json(self) -> dict[str, Any]:
        """The numbers for JSON."""
        numbers = ("d", "order", "m", "n", "median", "expected", "sure")
        return {
            **{name: getattr(self, name) for name in numbers},
            **{name: list(getattr(self, name)) for name in ("ratios", "duplicates", "complements")},
            "intervals": [[end / math.sqrt(self.m) for end in v.least_interval] for v in self.values],
        }


def row_products(
    d: int, order: int, *, people: int | None = None, draws: int = 5, steps: int = 40, rng: Rng = 0
) -> RowProducts:
    """Returns the least singular values of the ±1 row-product matrices of random people.

    Parameters
    ----------
    d, order
        Attributes, and attributes per product (1 to 3); one row per set of `order` attributes.
    people, draws
        How many people in a table (default: a quarter of the rows), and how many random tables.
    steps
        Lanczos steps if the Gram matrix is not formed; after j of them the least value found is above the
        true one by a share of the order of 1/j² (0.5 % seen at 40 and n = m/4); the interval says what is
        certain.

    Notes
    -----
    contingency-tables, Theorem 2.5, and linear-reconstruction, Theorem 3.9, on ±1 rows and distinct index
    sets (repeated ones are not products of distinct attributes, E-CT-4, and spoil the norm, E-LR-1). Single
    precision is enough: the entries are ±1 and the values of order √m. Each step takes two products of
    O(d^order n); no matrix is formed.

    Examples
    --------
    >>> found = row_products(24, 2, draws=3, rng=1)
    >>> (found.m, found.n), abs(found.off) < 0.2
    ((276, 69), True)
    """
    whole("d", d), whole("draws", draws)
    streams = as_rng(rng).spawn(draws)
    return RowProducts.of([draw_products(d, order, people=people, steps=steps, rng=one) for one in streams])


def draw_products(
    d: int,
    order: int,
    *,
    people: int | None = None,
    steps: int = 40,
    failure: float = 1e-3,
    rng: Rng = 0,
) -> Draw:
    """Returns one random table of `row_products`.

    The lower end of a Lanczos interval fails with probability `failure`; the median of five such ends fails
    with probability at most 10 · failure³.
    """
    if order not in (1, 2, 3) or order > d:
        raise invalid("order", "1, 2 or 3, and at most d", order)
    m = math.comb(d, order)
    n = max(1, m // 4) if people is None else whole("people", people, most=m, also=", the rows")
    generator = as_rng(rng)
    signs = 2 * generator.integers(0, 2, size=(d, n), dtype=np.int8) - 1
    kept, duplicates, complements = distinct_people(signs)
    method = "auto" if kept.size <= _FACTORISED else "lanczos"
    operator = Moments(signs[:, kept].astype(np.float32), order)
    values = singular_values(operator, method=method, steps=steps, failure=failure, rng=generator)
    return Draw(d, order, n, values, duplicates, complements)


def distinct_people(signs: Array | np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], int, int]:
    """Returns the columns of a ±1 table that no earlier one equals or reverses, and how many did each.

    Examples
    --------
    >>> kept, duplicates, complements = distinct_people(np.array([[1, 1, -1, 1], [1, 1, -1, -1]]))
    >>> kept.tolist(), duplicates, complements
    ([0, 3], 1, 1)
    """
    bits = np.packbits(signs > 0, axis=0)
    folded = np.packbits((signs * signs[:1]) > 0, axis=0)
    same = np.unique(bits, axis=1).shape[1]
    first = np.unique(folded, axis=1, return_index=True)[1]
    return np.sort(first), signs.shape[1] - same, same - first.size
