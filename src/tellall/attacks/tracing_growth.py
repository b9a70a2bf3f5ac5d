"""How tracing grows with the number of means: the same attack on more and more of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.attacks.trace import Tracing, trace
from tellall.linops import Array
from tellall.noise import Rng, as_rng

__all__ = ["MOST_CALLS", "Growth", "trace_by_attributes"]

MOST_CALLS = 500_000_000  # calls of targets and reference people together; beyond it a repeat takes long
_LEAST = 16


@dataclass(frozen=True, eq=False)
class Growth:
    """Tracings from nested random choices of the means, fewest first; the last is of all of them."""

    tracings: tuple[Tracing, ...]

    @property
    def counts(self) -> tuple[int, ...]:
        """How many means each used."""
        return tuple(tracing.attributes for tracing in self.tracings)

    @property
    def named(self) -> tuple[float, ...]:
        """The share of targets that each named."""
        return tuple(tracing.traced / tracing.scores.size for tracing in self.tracings)


def trace_by_attributes(
    means: npt.ArrayLike,
    targets: Any,
    reference: Any,
    *,
    whole: Tracing | None = None,
    points: int = 8,
    rng: Rng = 0,
    **options: Any,
) -> Growth:
    """The tracing from a random half of the means, a quarter, an eighth, and so on.

    Parameters
    ----------
    means, targets, reference, options
        As for :func:`tellall.trace`.
    whole
        The tracing from all of the means, where it is there already.
    points
        How many numbers of means to try, all of them included; fewer where there are few means.
    rng
        Seed of the choice; each choice holds the smaller ones.

    Notes
    -----
    Means that are not chosen count as suppressed. All halvings together cost as much as the whole.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> people = np.where(rng.random((40, 8000)) < 0.5, 1, -1)
    >>> means = people[:10].mean(axis=0)
    >>> growth = trace_by_attributes(means, people[:20], people[20:], threshold="hoeffding")
    >>> growth.counts[-2:], growth.named[-1] >= growth.named[0]
    ((4000, 8000), True)
    """
    values: Array = np.asarray(means, dtype=np.float64)
    shown = np.flatnonzero(~np.isnan(values))
    order = as_rng(rng).permutation(shown)
    tracings = [trace(values, targets, reference, **options) if whole is None else whole]
    for halvings in range(1, points):
        count = shown.size >> halvings
        if count < _LEAST:
            break
        some = np.full_like(values, np.nan)
        some[order[:count]] = values[order[:count]]
        tracings.append(trace(some, targets, reference, **options))
    return Growth(tuple(reversed(tracings)))
