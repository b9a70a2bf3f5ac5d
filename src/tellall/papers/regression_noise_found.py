"""regression-noise: everything that the rerun found, in one record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tellall.papers.regression_noise_data import PAPER_SWEEP, RegressionData
from tellall.papers.regression_noise_fair import Fair, TradeOff
from tellall.papers.regression_noise_logistic import Cut, LogisticSizes
from tellall.papers.regression_noise_study import FAMILIES, Sizes, Sweep, Variant

__all__ = [
    "Checks",
    "Found",
    "Known",
]

Scored = tuple[float, float, float, tuple[float, float]]


@dataclass(frozen=True)
class Known:
    """The attack beside the strongest baseline at one size.

    Attributes
    ----------
    value, baseline
        The error, or the share of bits right, of each: means over samples.
    advantage, interval
        How much better the attack is, with 95 %: over records where there is one sample, otherwise over
        samples.
    """

    n: int
    value: float
    baseline: float
    advantage: float
    interval: tuple[float, float]
    samples: int

    @classmethod
    def of(cls, n: int, scored: Sequence[Scored]) -> Known:
        """From the value, the baseline, the advantage and its interval of each sample."""
        from scipy.special import stdtrit

        value, baseline, gain = (np.array([one[place] for one in scored]) for place in range(3))
        interval = scored[0][3]
        if len(scored) > 1:
            margin = float(stdtrit(gain.size - 1, 0.975) * gain.std(ddof=1) / np.sqrt(gain.size))
            interval = (float(gain.mean()) - margin, float(gain.mean()) + margin)
        return cls(n, float(value.mean()), float(baseline.mean()), float(gain.mean()), interval, len(scored))


@dataclass(frozen=True)
class Checks:
    """The optimality conditions at a noisy attack, and what an exact one gives.

    Attributes
    ----------
    primal, dual, infeasibility
        Of the paper's attack under noise of 0.1; see `NormCertificate`.
    printed, unprinted
        Error from exact coefficients with and without the stray factor of Eq. 1.
    from_fit
        The largest distance between the attack on all records and the fit of multiple regression.
    single
        Mean prediction error of the regressions on all records.
    """

    primal: float
    dual: float
    infeasibility: float
    printed: float
    unprinted: float
    from_fit: float
    single: float


@dataclass(frozen=True, eq=False)
class Found:
    """Every experiment; ``variants`` and ``nearest`` only on the paper's own data."""

    data: RegressionData
    sizes: Sizes
    checks: Checks
    sweep: Sweep
    variants: tuple[Variant, ...]
    nearest: Sweep | None
    fair: tuple[Fair, ...]
    trade_off: TradeOff
    known: tuple[Known, ...]
    logistic: LogisticSizes
    logistic_noise: Cut
    logistic_known: tuple[Known, ...]

    def table(self) -> list[dict[str, Any]]:
        """Table 3, ours beside the paper's, a row for each scale, as plain data."""
        rows = []
        for place, scale in enumerate(self.sweep.scales):
            row: dict[str, Any] = {"scale": scale}
            for k, family in enumerate(FAMILIES):
                row[family] = {
                    "ours": float(self.sweep.error[k, place].mean()),
                    "deviation": float(self.sweep.error[k, place].std()),
                    "utility": [float(u) for u in self.sweep.utility[k, place].mean(axis=0)],
                    "paper": PAPER_SWEEP[scale][k] if self.data.paper else None,
                }
                if self.nearest is not None:
                    row[family]["nearest preparation"] = float(self.nearest.error[k, place].mean())
            rows.append(row)
        return rows
