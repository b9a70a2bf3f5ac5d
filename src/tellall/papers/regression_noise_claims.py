"""regression-noise: what it says, beside what we found."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tellall.algebra.operators.base import Array
from tellall.papers.regression_noise_data import PAPER_SIZES, PAPER_SWEEP
from tellall.papers.regression_noise_found import Found
from tellall.papers.regression_noise_study import FAMILIES, law
from tellall.report.paper import Statement, Verdict
from tellall.report.plot import number

__all__ = [
    "growth",
    "statements",
]

_ROUNDOFF = 1e-6
_NEAR = 0.3  # decades: within a factor of two


def statements(found: Found) -> Iterator[Statement]:
    """The paper's statements in its order."""
    yield from _recovery(found)
    yield from _duality(found)
    yield from _noise(found)
    if found.variants:
        yield from _preparations(found)


def growth(scales: Array, errors: Array) -> float:
    """The slope of log error against log scale: 1 where the error is proportional to the noise."""
    return float(np.polyfit(np.log(scales), np.log(errors), 1)[0])


def _recovery(found: Found) -> Iterator[Statement]:
    data, ours = found.data, found.sizes
    edge = data.d + 1
    errors = dict(zip(ours.size, ours.error, strict=True))
    yield Statement.at_most(
        f"exact recovery up to n = d + 1 = {edge} records",
        "Table 2, Fig. 2",
        "error 0 at n = 10 and 20",
        max(error for n, error in errors.items() if n <= edge),
        _ROUNDOFF,
        setting=f"{data.name}, no noise, largest mean error over n = "
        + ", ".join(str(n) for n in ours.size if n <= edge),
    )
    yield Statement.shown(
        "one record more", "Fig. 2", errors[edge + 1], setting=f"n = {edge + 1}, no noise, mean error"
    )
    if data.paper:
        for n in (50, 100, data.n):
            printed = PAPER_SIZES[n][0]
            verdict: Verdict = "does not hold" if errors[n] < 0.9 * printed else "holds"
            yield Statement(
                "error beyond d + 1 records",
                "Table 2",
                f"{printed:g} ± {PAPER_SIZES[n][1]:g}",
                f"{errors[n]:.3g} ± {ours.deviation[ours.size.index(n)]:.2g}: the least of the least-squares "
                "solutions does better",
                verdict,
                f"n = {n:,}, no noise",
                errors[n],
                printed,
            )
    whole = f"all {data.n:,} records"
    yield Statement(
        "what the attack finds beyond d + 1 records",
        "Eq. 2",
        "no promise",
        "the fitted values of multiple regression on all columns, to within "
        f"{number(found.checks.from_fit)}: a prediction",
        "no promise",
        whole,
        found.checks.from_fit,
    )
    yield Statement.shown(
        "mean prediction error of the one-column regressions, beside the paper's plateau"
        if data.paper
        else "mean prediction error of the one-column regressions",
        "Table 2",
        found.checks.single,
        setting=whole,
    )
    for one in found.known:
        yield Statement(
            "advantage over the strongest baseline",
            "Sec. 4.2",
            "no promise",
            f"error {one.value:.3g}, baseline {one.baseline:.3g}: advantage {one.advantage:.2g} "
            f"[{one.interval[0]:.2g}, {one.interval[1]:.2g}]",
            "no promise",
            f"n = {one.n:,}, no noise, " + ("one sample" if one.samples == 1 else f"{one.samples} samples"),
            one.advantage,
            None,
            one.interval,
        )


def _duality(found: Found) -> Iterator[Statement]:
    checks, n = found.checks, found.sweep.n
    gap = abs(checks.primal - checks.dual) / checks.primal
    setting = f"n = {n}, Gaussian noise of 0.1, ‖y‖ = {checks.primal:.6g}, zᵀν = {checks.dual:.6g}"
    yield Statement.at_most(
        "primal and dual values agree", "Eqs. 2, 3", "strong duality", gap, 1e-8, setting=setting
    )
    yield Statement.at_most(
        "optimality conditions: ‖Aᵀν‖/‖A‖ at the normalised residual",
        "Eqs. 4–6",
        "zero",
        checks.infeasibility,
        1e-10,
        setting=setting,
    )
    yield Statement(
        "the factor θ~ at the end of each block of z is a misprint",
        "Eq. 1",
        "X′ᵀX′(θ~, b~)ᵀ θ~",
        f"with it exact coefficients give an error of {number(checks.printed)}, without it "
        f"{number(checks.unprinted)}",
        "corrected" if checks.unprinted < _ROUNDOFF < checks.printed else "does not hold",
        f"n = {n}, no noise",
        checks.unprinted,
        checks.printed,
    )


def _noise(found: Found) -> Iterator[Statement]:
    ours, setting = found.sweep, f"n = {found.sweep.n}, {found.sweep.error.shape[2]} samples"
    scales = np.array(ours.scales)
    mean = ours.error.mean(axis=2)
    small = int(np.flatnonzero(scales == 0.001)[0])
    yield Statement.at_most(
        "almost perfect reconstruction at noise of 0.001 and less",
        "Sec. 4.3",
        "almost perfect; at most 1.01 in Table 3",
        float(mean[:, : small + 1].max()),
        1.01,
        setting=setting,
    )
    seen = scales >= 1e-4
    slopes = [growth(scales[seen], row[seen]) for row in mean]
    printed = np.array([PAPER_SWEEP[scale][0] for scale in ours.scales])
    theirs = f"; the printed Gaussian column has {growth(scales[seen], printed[seen]):.2f}"
    yield Statement(
        "the error is proportional to the noise",
        "Sec. 4.3",
        "degradation exponential in nature",
        "log error against log noise has slope "
        + ", ".join(f"{slope:.2f}" for slope in slopes)
        + (theirs if found.data.paper else "")
        + ": the attack is linear",
        "corrected" if all(abs(slope - 1) < 0.1 for slope in slopes) else "does not hold",
        f"{setting}, {', '.join(FAMILIES)}",
    )
    spread = [law(family, 1.0).std / law("truncated normal", 1.0).std for family in FAMILIES]
    many = [float(np.exp(np.log(mean[k, seen] / mean[2, seen]).mean())) for k in (0, 1)]
    yield Statement(
        "Gaussian and Laplace noise degrade the attack more than the truncated normal of the same scale",
        "Sec. 4.3",
        "almost 50 times",
        f"{many[0]:.3g} and {many[1]:.3g} times; their standard deviations are {spread[0]:.1f} and "
        f"{spread[1]:.1f} times as large, as the truncated normal ends at ±0.05 of its scale",
        "holds" if all(25 <= value <= 75 for value in many) else "does not hold",
        setting,
    )
    last = ours.utility[:, -1].mean(axis=1)  # family × regression
    yield Statement.at_least(
        "utility sinks at the highest noise, Gaussian and Laplace",
        "Figs. 3, 4, right",
        f"at least 3 times, for all {found.data.d} regressions",
        float(last[:2].min()),
        3.0,
        setting=f"{setting}, scale 1, least ratio, secret as it is",
    )
    yield Statement.at_most(
        "utility stays with the truncated normal",
        "Fig. 5, right",
        "ratio about 1",
        float(last[2].max()),
        1.1,
        setting=f"{setting}, scale 1, largest ratio, secret as it is",
    )


def _preparations(found: Found) -> Iterator[Statement]:
    """What makes Table 3 come out."""
    plain = next(
        one
        for one in found.variants
        if (one.n, one.how, one.unit) == (found.sweep.n, "standardised", "as it is")
    )
    best = found.variants[0]
    paper = PAPER_SWEEP[1.0][0]
    yield Statement(
        "Table 3, prepared as the paper describes",
        "Sec. 4.1, Table 3",
        f"{paper:g} at σ = 1",
        f"{plain.error:.3g} at σ = 1; a factor of {10**plain.distance:.3g} off on average",
        "holds" if plain.distance < _NEAR else "does not hold",
        plain.name,
        plain.error,
        paper,
    )
    yield Statement(
        "Table 3, the preparation that comes nearest",
        "Table 3",
        f"{paper:g} at σ = 1",
        f"{best.error:.3g} at σ = 1; a factor of {10**best.distance:.3g} off on average",
        "no promise",
        best.name,
        best.error,
        paper,
    )
    near = [one for one in found.variants if one.distance < _NEAR]
    odd = [one for one in near if one.unit == "as it is" and one.how != "divided by their deviation"]
    yield Statement(
        "preparations within a factor of two of Table 3",
        "Table 3",
        "each feature standardised",
        f"{len(near)} of {len(found.variants)}; {len(odd)} of them with centred columns and the secret as "
        "it is",
        "no promise",
        "; ".join(one.name for one in near),
    )
    yield Statement.at_least(
        "utility sinks at the highest noise, in the nearest preparation",
        "Figs. 3, 4, right",
        f"at least 3 times, for all {found.data.d} regressions",
        best.utility,
        3.0,
        setting=f"{best.name}, Gaussian, scale 1, least ratio",
    )
