"""An example of every kind of statistic, and people whom the examples are about.

A new kind needs one line in `EXAMPLES`: the tests of release files and of attackers' views try each of them.
"""

from __future__ import annotations

import numpy as np

import tellall as ta

BINS = {"income": [20_000.0, 30_000.0, 45_000.0]}
EXAMPLES: dict[str, ta.Statistic] = {
    "Marginals": ta.Marginals(2),
    "Tables": ta.Tables(2),
    "CellCounts": ta.CellCounts(
        ["income", "north"], [["≤ 30000", "> 30000"], ["0", "1"]], [(0, 1, 1), (-1, 0, 0)]
    ),
    "PrintedCells": ta.PrintedCells(
        ["income", "north"], [["≤ 30000", "> 30000"], ["0", "1"]], [(0, 1, 1), (-1, 0, 0)]
    ),
    "Predicates": ta.Predicates("and", ways=2),
    "SubsetCounts": ta.SubsetCounts(["income > 30000", "north == 1"]),
    "ErrorRates": ta.ErrorRates(["income > 30000"]),
    "Means": ta.Means(),
    "Estimator": ta.Estimator("linear"),
    "Sums": ta.Sums(2),
    "CellMeans": ta.CellMeans(2, counts=True),
    "Extremes": ta.Extremes(2),
    "Medians": ta.Medians(2),
    "Correlations": ta.Correlations(mean=True),
    "SurvivalCurve": ta.SurvivalCurve("income", grid=(20_000.0, 40_000.0)),
}


def crowd(seed: int, n: int = 61) -> dict[str, np.ndarray]:
    """Incomes to the cent, two flags and a secret, every category present."""
    rng = np.random.default_rng(seed)
    income = np.r_[15_000.31, 25_000.17, 40_000.23, 50_000.41, rng.lognormal(10.3, 0.4, n - 4).round(2)]
    north, home = (np.r_[0, 1, 0, 1, rng.integers(0, 2, n - 4)] for _ in range(2))
    return {
        "income": income,
        "north": north,
        "home": home,
        "ill": np.r_[0, 1, 1, 0, rng.integers(0, 2, n - 4)],
    }
