"""Privacy-utility tradeoff of OLS with random projections (Lu, Magdon-Ismail, Wei, Zikas): its claims.

The paper prints its figures without numbers, so statements are compared, not curves.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tellall.papers.claims import Claim, Found, Paper, Part, Progress, Tell, flips, holds_if, run_parts
from tellall.papers.private_ols_experiments import PLANS, figures, growth, load, on_data
from tellall.report.paper import PaperRerun

__all__ = [
    "CLAIMS",
    "rerun",
]

_BEST = "ALS (the sketch) has the best privacy-utility trade-off in both cases"
_DRAWN = "{data}, sketch of {rows:,} rows, {draws:,} test draws on each side"
_GROWN = "{data}, a random {part:,} of {n:,} records beside all"
# fmt: off
CLAIMS = (
    Claim("noise", "the sketch against Gaussian noise of equal error", "Fig. 2, Sec. 5", _BEST,
          "{data}, ε = {epsilon:g}, {law}, {count} numbers of rows; columns as they are, and of unit norm",
          "its δ is the smaller at {raw} of {count} errors on columns as they are, at {unit} of {count} on "
          "unit columns{large}; the paper does not say how columns were scaled",
          flips("not reproduced")),
    Claim("projection", "the sketch against a projection of padded data (RP LS), where answers are of use",
          "Fig. 2, Sec. 5", _BEST, "{data}, ε = {epsilon:g}, {first} to {last:,} rows",
          "the projection's error is {least!n} or more, where always answering 0 has {nothing!n}; the sketch "
          "goes down to {error!n}", holds_if("useless")),
    Claim("growth", "more records, better privacy: {method}", "Sec. 5", "the larger the data set, the better",
          _GROWN, "δ {bound!n} with a part, {value!n} with all", holds_if("better")),
    Claim("constant error", "the error of RP LS does not depend on the number of records", "Sec. 5",
          "not dependent on the database size", _GROWN, "error {few!n} with a part, {all!n} with all",
          holds_if("same")),
    Claim("below", "the black box stays below the theory", "Fig. 3",
          "estimates converge to the theory from below", _DRAWN,
          "{above} of {points} lower bounds (99 % for all together) exceed the exact δ",
          holds_if("from_below")),
    Claim("recovered", "the black box recovers the profile", "Fig. 3",
          "the theoretical spectrum is recovered", _DRAWN,
          "estimates differ from the exact δ by {apart!n} at most, {word} five standard errors",
          holds_if("near")),
    Claim("limit", "the normal limit for a finite sketch", "Lemma 1",
          "the output is normal as the sketch grows",
          "{data}, ε = {epsilon:g}; the exact law is a Student t",
          "its δ is {few:.3g} × the exact one at {first} rows, {many:.6g} × at {last:,}"),
)
# fmt: on
_PAPER = Paper(
    "private-ols",
    "Privacy-utility tradeoff of OLS with random projections",
    "Lu, Magdon-Ismail, Wei, Zikas",
    CLAIMS,
    (
        "The paper prints its figures without numbers, so statements are compared, not curves.",
        "Neighbours: one row zeroed. Every δ is that of the worst record, in the worse direction.",
        "Noise is the same for every coefficient, so its privacy at a given error depends on the scale of "
        "the columns; the sketch's δ does not. Hence both scales are tried.",
        "Error is the expected squared distance from the exact coefficients, bias included; the paper's "
        "words are “the sum of the variance of each coordinate”. An error above ‖x‖² is worse than always "
        "answering 0.",
        "Projected least squares is padded for (ε, 1/n) by the exact minimum (E-PO-3) with the largest row "
        "norm as its bound, as in the paper, which makes the bound itself not private.",
    ),
)


def rerun(
    folder: str | Path = ".",
    *,
    quick: bool = True,
    rng: int | np.random.Generator | None = 0,
    progress: Progress | None = None,
) -> PaperRerun:
    """Both figures on both data sets; `quick` takes 10⁵ draws instead of 10⁶ and fewer points."""
    sets = [load(plan.data, folder) for plan in PLANS]
    twos: list[dict[str, Any]] = []
    threes: list[dict[str, Any]] = []

    def both_figures(index: int, stream: np.random.Generator, tell: Tell) -> Found:
        two, three, cases = on_data(sets[index], PLANS[index], stream, quick=quick)
        twos.append(two)
        threes.append(three)
        return (), cases

    def grown(stream: np.random.Generator, tell: Tell) -> Found:
        return (), growth(sets[0], 1000, PLANS[0].epsilon, 0.1, stream)

    parts: list[Part] = [(partial(both_figures, index), 10) for index in range(len(PLANS))]
    _, cases = run_parts([*parts, (grown, 1)], rng, progress)
    details = {"figure_2": twos, "figure_3": threes}
    return _PAPER.rerun(figures(twos, threes), cases, rng, quick, details=details)
