"""Profiles: the frontier against every record and Monte Carlo; the black box against the exact curve.

Run: python benchmarks/profiles.py [--data FOLDER] [--full]. Each row gives size, time, the ratio to its
reference in the same run, and how far the two answers lie apart. Best of three where it is short.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from tellall import privacy
from tellall.papers.private_ols import PaperData, load
from tellall.privacy.blackbox.estimate import estimate_profile
from tellall.privacy.least_squares.sketched import SketchedLeastSquares
from timing import wall_time

EPSILONS = np.linspace(0.0, 2.0, 50)


def frontier(data: PaperData, rows: int, sample: int) -> None:
    x, y = data.features, data.response
    fit = privacy.influence(x, y)
    width = len(fit.coefficients)
    ours, curve = wall_time(lambda: SketchedLeastSquares(rows).profile(x, y).delta(EPSILONS), 3)
    some = np.random.default_rng(0).choice(len(y), min(sample, len(y)), replace=False)
    keep = privacy.pareto_frontier(fit.leverage, fit.residual_share)

    def every(records: np.ndarray) -> np.ndarray:
        return np.asarray(
            privacy.sketch_delta(
                EPSILONS[:, None], fit.leverage[records], fit.residual_share[records], width, rows
            )
        )

    spent, _ = wall_time(lambda: every(some))
    reference = spent / len(some) * len(y)
    # The records that matter, evaluated one by one: the sample alone would not hold the maximum.
    high = np.unique(
        np.concatenate([some, keep, np.argsort(-fit.leverage)[:100], np.argsort(-fit.residual_share)[:100]])
    )
    gap = float(np.abs(every(high).max(axis=1) - curve).max())
    print(
        f"{data.name}: {len(y)} records x {EPSILONS.size} eps, {rows} rows: {ours:.3f} s over a frontier of "
        f"{len(keep)}; every record {reference:.1f} s (from {len(some)}); ratio {reference / ours:.0f}; "
        f"maximum apart by {gap:.1e}"
    )


def monte_carlo(data: PaperData, rows: int) -> None:
    """One record, one ε, by drawing the law until the standard error is 1e-4."""
    x, y = data.features, data.response
    fit = privacy.influence(x, y)
    worst = int(SketchedLeastSquares(rows).profile(x, y).worst_record or 0)
    width, lev, share = len(fit.coefficients), fit.leverage[worst], fit.residual_share[worst]
    eps = 0.0
    ours, exact = wall_time(
        lambda: float(privacy.sketch_delta(eps, lev, share, width, rows, direction="forward")), 3
    )
    kappa, shift = 1 - share / (1 - lev), np.sqrt(share * lev) / (1 - lev)
    log_scale = width * np.log(kappa) - np.log1p(-lev)
    rng = np.random.default_rng(1)

    def drawn() -> tuple[float, float, int]:
        total, squares, count = 0.0, 0.0, 0
        while count < 200_000 or np.sqrt(squares / count - (total / count) ** 2) / np.sqrt(count) > 1e-4:
            spread = np.sqrt(rng.chisquare(rows - width + 1, (200_000, 1)))
            z = rng.standard_normal((200_000, width)) / spread
            a, rho = z[:, 0], (z[:, 1:] ** 2).sum(axis=1)
            other = np.log1p(((1 - lev) * (a + shift) ** 2 + rho) / kappa)
            loss = log_scale / 2 - (rows + 1) / 2 * (np.log1p(a**2 + rho) - other)
            value = np.maximum(0.0, -np.expm1(eps - loss))
            total, squares, count = total + value.sum(), squares + (value**2).sum(), count + len(value)
        return total / count, np.sqrt(squares / count - (total / count) ** 2) / np.sqrt(count), count

    spent, (estimate, error, count) = wall_time(drawn)
    print(
        f"{data.name}: one record at eps 0, {rows} rows: exact {exact:.6f} in {1e3 * ours:.2f} ms; "
        f"Monte Carlo {estimate:.6f} +- {error:.1e} in {spent:.2f} s ({count} draws); "
        f"ratio {spent / ours:.0f}; apart by {abs(estimate - exact) / error:.1f} standard errors"
    )


def black_box(data: PaperData, rows: int, draws: int, epsilons: np.ndarray, training: int) -> None:
    x, y = data.features, data.response
    method = SketchedLeastSquares(rows)
    profile = method.profile(x, y)
    other_x, other_y = x.copy(), y.copy()
    other_x[profile.worst_record], other_y[profile.worst_record] = 0.0, 0.0
    spent, seen = wall_time(
        lambda: estimate_profile(
            method.sampler(x, y),
            method.sampler(other_x, other_y),
            epsilons,
            draws,
            rng=2,
            training=training,
        )
    )
    fit = privacy.influence(x, y)
    worst = profile.worst_record
    exact = privacy.sketch_delta(
        epsilons, fit.leverage[worst], fit.residual_share[worst], len(fit.coefficients), rows
    )
    print(f"{data.name}: black box, {rows} rows, {draws} draws a side: {spent:.1f} s")
    for e, truth, point, low in zip(epsilons, exact, seen.delta(epsilons), seen.lower(epsilons), strict=True):
        print(
            f"  eps {e:5.2f}  exact {truth:.5f}  estimate {point / truth:.3f} of it, lower {low / truth:.3f}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[2] / "shared" / "data")
    parser.add_argument("--full", action="store_true", help="10 million draws for the black box")
    options = parser.parse_args()
    if not options.data.exists():
        print(f"no data at {options.data}: nothing to time")
        return
    flights, counties = load("flights", options.data), load("counties", options.data)
    for rows in (100, 1000):
        frontier(flights, rows, 2000 if options.full else 300)
    for rows in (50, 100, 300):
        frontier(counties, rows, 2000 if options.full else 300)
    monte_carlo(counties, 100)
    monte_carlo(flights, 1000)
    draws, training = (10_000_000, 800_000) if options.full else (1_000_000, 200_000)
    black_box(counties, 100, draws, np.array([0.0, 0.3, 0.6, 1.2, 2.0, 3.0]), training)


if __name__ == "__main__":
    main()
