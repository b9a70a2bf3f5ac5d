"""What the posterior decoder takes and gives: equations about counts, and chances."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from tellall.errors import invalid
from tellall.linops import IntArray, LinearOperator
from tellall.solve.base import Array, Solution
from tellall.solve.categories import CategoryPrior
from tellall.solve.counts import CountPrior

__all__ = ["CountProblem", "PosteriorSolution"]


@dataclass(frozen=True, eq=False)
class CountProblem:
    """Rows A t = z + error about the counts t_p of groups, t_p ~ Binomial(size_p, rate) in lower_p … upper_p.

    Parameters
    ----------
    operator
        A, one column per group.
    std
        The standard deviation of the Gaussian part of each row's error, above zero.
    size, lower, upper
        The number of people in each group and what is known of the count; lower below upper.
    rate
        The chance of the secret before the evidence, one or one per group.
    slack
        The half-width of a uniform error on top of the Gaussian one (rounding), per row; None for none.
    contaminated
        Whether a share of the rows may have gross errors; None to find out.
    unseen
        Rows of which no value is known, only that A t is within ``slack`` of z (but for the Gaussian error);
        None where all are seen.
    group, left
        Where the secret has several values: the group that each unknown's people are of, and for each group
        how many of its people are divided among its unknowns. The rows need not say that they are.
    """

    operator: LinearOperator
    std: Array
    size: Array
    lower: Array
    upper: Array
    rate: Array | float
    slack: Array | None = None
    contaminated: bool | None = None
    unseen: npt.NDArray[np.bool_] | None = None
    group: IntArray | None = None
    left: Array | None = None

    @property
    def prior(self) -> CountPrior | CategoryPrior:
        """What is believed of the counts before the evidence."""
        if self.group is None or self.left is None:
            return CountPrior(self.size, self.lower, self.upper, self.rate)
        rate = np.broadcast_to(np.asarray(self.rate, dtype=np.float64), self.size.shape)
        return CategoryPrior(self.group, self.left, self.size, rate, self.lower, self.upper)

    def __post_init__(self) -> None:
        m, n = self.operator.shape
        columns = (("std", m), ("size", n), ("lower", n), ("upper", n), ("slack", m))
        for name, length in columns:
            value: Array | None = getattr(self, name)
            if value is not None and (value.shape != (length,) or not np.isfinite(value).all()):
                raise invalid(name, f"{length} finite numbers", f"shape {value.shape}")
        if m and self.std.min() <= 0:
            raise invalid("std", "above zero", float(self.std.min()))
        if self.slack is not None and m and self.slack.min() < 0:
            raise invalid("slack", "zero or more", float(self.slack.min()))
        if self.unseen is not None and (self.unseen.shape != (m,) or self.slack is None):
            raise invalid("unseen", "one per row, with slack", f"shape {self.unseen.shape}")
        if not n:
            raise invalid("operator", "over one group or more", "no columns")
        if (self.lower < 0).any() or (self.upper > self.size).any() or (self.lower >= self.upper).any():
            raise invalid("lower", "from 0, below upper, and upper at most size", "bounds that are not")
        rate = np.asarray(self.rate)
        if rate.shape not in ((), (n,)) or not ((rate > 0) & (rate < 1)).all():
            raise invalid("rate", "strictly between 0 and 1, one or one per group", self.rate)


@dataclass(frozen=True, eq=False)
class PosteriorSolution(Solution):
    """The posterior mean of each count, and each member's chance of the secret.

    Attributes
    ----------
    value
        E[t], the expected count.
    chance
        E[t]/size: the chance that one member of the group has the secret.
    log_odds
        Its log-odds, which keep their digits where the chance is all but 0 or 1.
    status
        "trusted": converged, residuals as predicted, and calibrated in rehearsal. "uncalibrated": guesses
        stand, confidences may be off. "not converged", "contradictory": the best that was found, with advice.
    """

    chance: Array = field(default_factory=lambda: np.zeros(0))
    log_odds: Array = field(default_factory=lambda: np.zeros(0))

    @property
    def confidence(self) -> Array:
        """The chance that the likelier bit is right, in [1/2, 1]."""
        out: Array = np.maximum(self.chance, 1 - self.chance)
        return out
