"""Robust traceability from trace amounts (Dwork, Smith, Steinke, Ullman, Vadhan 2015): its claims.

The paper has theorems and no experiments: every statement is simulated and set beside its theorem.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tellall.papers.claims import Claim, NamedCase, Paper, Progress, at_least, at_most, counter
from tellall.papers.robust_tracing_experiments import DELTA, EXPERIMENTS, figures
from tellall.report.paper import PaperRerun

__all__ = [
    "CLAIMS",
    "rerun",
]

_TRACED = "each member traced w.p. 1 − δ"
_NAMED = "outsiders named at most δ"

# fmt: off
CLAIMS = (
    Claim("uniform", "strong: uniform on [−1, 1], α = 1/3", "Sec. II-D", "γ is at least 1/3",
          "γ in closed form", verdict=at_least(1 / 3)),
    Claim("ideal", "strong: ideal, a = 0.85, α = 1/2", "Sec. II-D", "γ is at least 0.27",
          "γ in closed form", verdict=at_least(0.27)),
    Claim("robust", "robustly strong: uniform, η = 1/2", "Def. 27, E-RT-6", "γ is at least 1/3",
          "γ in closed form", verdict=at_least(1 / 3)),
    Claim("soundness", "soundness", "Prop. 2, E-RT-1", _NAMED,
          "{law}, d = {d}, threshold {rule}, {outsiders:,} outsiders", verdict=at_most(DELTA)),
    Claim("completeness", "completeness", "Props. 12, 13", _TRACED,
          "n = {n}, d = {d:,} = {ratio:.0f} n²", verdict=at_least(1 - DELTA)),
    Claim("below", "completeness below the bound", "Prop. 13", tested="n = {n}, d = {d:,} = {ratio:.0f} n²"),
    Claim("rounded", "high power, symmetric", "Prop. 13", _TRACED,
          "rounded to 1/4 (α = {alpha:g}, γ = {gamma:.3f}), n = {n}, d = {d:,}", verdict=at_least(1 - DELTA)),
    Claim("subsample", "only the subsample is traced", "Sec. I-B", "97 % of runs",
          "mean of {few} of {n}, d = {d:,}: exactly those {few} named", verdict=at_least(0.97)),
    Claim("pool", "fewer statistics with a pool", "Thm. 17",
          "more members than with one reference person ({alone:.3g})",
          "{released}, n = {n}, d = {d:,}, pool of {pool}", verdict=at_least("alone")),
    Claim("pool soundness", "soundness of the pool", "Prop. 18", _NAMED,
          "{released}, n = {n}, d = {d:,}, pool of {pool}", verdict=at_most(DELTA)),
    Claim("gaussian", "Gaussian data", "Prop. 31", _TRACED,
          "σ uniform on [0.2, 1], n = {n}, d = {d:,}", verdict=at_least(1 - DELTA)),
    Claim("gaussian soundness", "Gaussian soundness", "Prop. 29", _NAMED,
          "σ uniform on [0.2, 1], n = {n}, d = {d:,}", verdict=at_most(DELTA)),
    Claim("garbage", "accurate on average", "Prop. 28", "somebody traced w.p. 1 − δ",
          "{bad:.0%} of the columns garbage, mean error {error:.2f}, n = {n}, d = {d:,}",
          verdict=at_least(1 - DELTA)),
    Claim("known", "not strong, not traced: {law}", "Sec. II-D", "members named at most δ",
          "{law}, insensitive release, n = {n}, d = {d:,}", verdict=at_most(DELTA)),
    Claim("private", "differential privacy resists", "Sec. I-B",
          "members named at most e^ε·FPR + δ = {bound:.3g}",
          "Gaussian noise of sd {std:.2f} ({epsilon:g}, {slack:g})-private, n = {n}, d = n² = {d:,}",
          verdict=at_most("bound")),
)
# fmt: on
_NOTES = (
    "The paper has theorems and no experiments: every statement is simulated and set beside its theorem.",
    f"δ is {DELTA} throughout. Intervals are 95 %, over runs; a run is one release. Verdicts go by the "
    "value, not by the ends of its interval.",
    "Printed thresholds are sound but have level δ² (E-RT-1); “hoeffding” is the smaller sound one.",
    "Orders of growth are the theorems'; the simulations show how far from the constants attacks succeed.",
)
_PAPER = Paper(
    "robust-tracing",
    "Robust traceability from trace amounts",
    "Dwork, Smith, Steinke, Ullman, Vadhan, FOCS 2015",
    CLAIMS,
    _NOTES,
)


def rerun(
    folder: str | Path = ".",
    *,
    quick: bool = True,
    rng: int | np.random.Generator | None = 0,
    progress: Progress | None = None,
) -> PaperRerun:
    """Every claim, simulated, ten times as often unless `quick`; the folder is not read."""
    generator, repeats = np.random.default_rng(rng), 20 if quick else 200
    tell = counter(progress, len(EXPERIMENTS) + 1)
    cases: list[NamedCase] = []
    for experiment in EXPERIMENTS:
        cases += experiment(generator, repeats)
        tell(1)
    drawn = figures(cases, generator, repeats)
    tell(1)
    return _PAPER.rerun(drawn, cases, rng, quick)
