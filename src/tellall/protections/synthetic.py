"""Tables of synthetic data of few rows and columns, drawn with exponential weights."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations_with_replacement, islice
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from tellall.core.checks import above_zero, whole
from tellall.core.errors import invalid
from tellall.people.dataset import Public
from tellall.protections.guarantee import REPLACED, Guarantee
from tellall.protections.protection import (
    Array,
    Context,
    Noise,
    Protection,
    Rng,
    Unknown,
    as_rng,
    check_counts,
    needs_people,
)
from tellall.statistics.statistic import CellLayout, Statistic

__all__ = ["SyntheticData"]

_MOST = 1_000_000  # synthetic data sets that are gone through
_AT_ONCE = 5_000_000  # numbers of a batch of them


@dataclass(frozen=True)
class SyntheticData(Protection):
    """Tables of a few synthetic rows in place of the people's, scaled up to as many people.

    Parameters
    ----------
    epsilon : float
        The promise, one row replaced.
    rows : int
        How many synthetic rows. More rows can be more exact, and there are more data sets of them.

    Notes
    -----
    The mechanism of Blum, Ligett and Roth (contingency-tables, Theorem A.2), for domains so small that every
    data set of `rows` rows can be gone through. Each is drawn with a weight of exp(−ε·off/2) for every order
    of its rows, off the largest error of a cell in people; a row replaced moves a cell by one, so that this
    is ε-private. The domain are all combinations of the values of the columns in the tables, and of the
    secret if it is in them: T of them make C(rows + T − 1, rows) data sets, at most a million. Its error has
    no law that an attacker could use value by value, so nothing is proved from it.

    Examples
    --------
    >>> import tellall as ta
    >>> people = ta.Dataset.from_arrays([[0], [0], [1], [1]] * 25, secret=[0, 1, 1, 1] * 25)
    >>> release = ta.publish(people, ta.Marginals(2), SyntheticData(1.0, 8), rng=0)
    >>> release.values.sum(), bool(abs(release.values - [25, 25, 0, 50]).max() < 20)
    (np.float64(100.0), True)
    """

    epsilon: float
    rows: int

    not_on_means: ClassVar[str] = "Its errors hang together, and no law of one of them is known."

    def __post_init__(self) -> None:
        above_zero("epsilon", self.epsilon)
        whole("rows", self.rows, least=1)

    @property
    def law(self) -> Noise:
        return Unknown()

    def prepare(self, statistic: Statistic, public: Public) -> SyntheticData:
        check_counts(self, statistic)
        return self

    def perturb(self, values: Array, rng: Rng = None, context: Context | None = None) -> Array:
        if context is None:
            raise needs_people(self)
        generator = as_rng(rng)
        best = -math.inf
        chosen = np.zeros(values.shape)
        for made, logs in self.weighed(values, context):
            # the largest log weight with Gumbel noise is a draw by the weights, batch after batch
            noisy = logs + generator.gumbel(size=logs.size)
            place = int(np.argmax(noisy))
            if noisy[place] > best:
                best = float(noisy[place])
                chosen = made[place]
        return chosen

    def weighed(self, values: Array, context: Context) -> Iterator[tuple[Array, Array]]:
        """Batches of what synthetic data would publish (data sets × values), and their log weights."""
        layout = context.tables
        if not len(layout):
            raise invalid(
                "protect", "one that fits the statistic; SyntheticData fits tables", context.statistic
            )
        if np.isnan(values).any():
            raise invalid("protect", "SyntheticData before whatever hides values", "missing values")
        people = context.public.n
        unit = 1.0 / people if context.statistic.scale == "fractions" else 1.0
        counted = _counted(layout, context.public, values.size) * (people / self.rows)
        sets = math.comb(self.rows + len(counted) - 1, self.rows)
        if sets > _MOST:
            advice = "use fewer rows or columns, or noise (SuLQ)"
            raise invalid("rows", f"so few that {_MOST:,} data sets are enough", f"{sets:,} of them", advice)
        every = combinations_with_replacement(range(len(counted)), self.rows)
        step = max(1, _AT_ONCE // max(values.size, 1))
        while batch := list(islice(every, step)):
            rows = np.array(batch, dtype=np.intp)
            made = np.zeros((len(rows), values.size))
            for one in rows.T:
                made += counted[one]
            off = np.abs(made - values / unit).max(axis=1)
            yield made * unit, _log_orders(rows) - self.epsilon * off / 2

    def guarantee(self, statistic: Statistic, public: Public, *, delta: float = 1e-6) -> Guarantee | None:
        """The pure ε; None if a replaced row may change the number of people, which is published."""
        if not (statistic.counts_people and statistic.number_is_fixed and len(statistic.tables(public))):
            return None
        return Guarantee(self.epsilon, 0.0, REPLACED, f"synthetic data of {self.rows} rows")


def _counted(layout: CellLayout, public: Public, size: int) -> Array:
    """The cells (columns) into which each kind of person (rows) falls, as ones."""
    used = sorted({column for columns in layout.columns for column in columns})
    sizes = [public.levels[column] for column in used]
    kinds = np.indices((*sizes, layout.shapes[0][-1])).reshape(len(used) + 1, -1)
    place = {column: kinds[index] for index, column in enumerate(used)}
    counted = np.zeros((kinds.shape[1], size))
    start = 0
    for columns, shape in zip(layout.columns, layout.shapes, strict=True):
        within = np.ravel_multi_index((*(place[column] for column in columns), kinds[-1]), shape)
        counted[np.arange(len(counted)), start + within] = 1.0
        start += math.prod(shape)
    return counted


def _log_orders(rows: npt.NDArray[np.intp]) -> Array:
    """The logarithm of how many orders each data set has, its rows being sorted."""
    same = np.ones(len(rows))
    logs = np.zeros(len(rows))
    for before, here in zip(rows.T[:-1], rows.T[1:], strict=True):
        same = np.where(before == here, same + 1, 1.0)
        logs -= np.log(same)
    return logs
