"""regression-noise, beyond it: its conclusion at equal terms, a stronger attack, logistic regression."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from tellall.algebra.operators.base import Array, IntArray
from tellall.papers.regression_noise_found import Found
from tellall.papers.regression_noise_logistic import Cut
from tellall.report.paper import Statement

__all__ = [
    "beyond",
    "stops_at",
]

_SHOWN = 0.1  # less noise leaves every bit right
_UTILITIES = (1.01, 1.02, 1.03, 1.05)  # prediction errors noisy over clean, of the logistic models
_RESAMPLES = 500


def beyond(found: Found) -> Iterator[Statement]:
    """What the paper concludes, tested fairly, and what it leaves open."""
    yield from _fairly(found)
    yield from _stronger(found)
    yield from _logistic(found)


def stops_at(stds: Array, errors: Array, nothing: float) -> float:
    """The noise from which an attack is no better than guessing without it; infinite where it stays better.

    Examples
    --------
    >>> round(stops_at(np.array([1.0, 10.0, 100.0]), np.array([2.0, 20.0, 200.0]), 63.2), 1)
    31.6
    """
    worse = np.flatnonzero(errors >= nothing)
    if not worse.size:
        return float("inf")
    k = int(worse[0])
    if k == 0:
        return float(stds[0])
    share = np.log(nothing / errors[k - 1]) / np.log(errors[k] / errors[k - 1])
    return float(stds[k - 1] * (stds[k] / stds[k - 1]) ** share)


def _fairly(found: Found) -> Iterator[Statement]:
    """What the paper concludes, at equal standard deviation and at equal utility."""
    at = {(one.level, one.family): one for one in found.fair}
    levels = [level for level, family in at if level is not None and family == "Laplace"]
    normal, laplace = at[None, "truncated normal"], at[None, "Laplace"]
    more = max(1 / normal.ratio, laplace.ratio / normal.ratio)
    yield Statement(
        "“for the same perturbation budget” Gaussian or Laplace noise is more private",
        "Sec. 4.3",
        "errors almost 50 times as high",
        "at equal standard deviation the truncated normal's error is "
        f"{_times(normal.ratio, normal.interval)}, Laplace's {_times(laplace.ratio, laplace.interval)} "
        "that of Gaussian noise",
        "holds" if more > 1.5 else "does not hold",
        f"n = {found.trade_off.n}, the paper's attack",
        normal.ratio,
        1.0,
        normal.interval,
    )
    pairs = [(level, at[level, "truncated normal"], at[level, "Laplace"]) for level in levels]
    best = sum(cut.interval[0] > 1 and cut.ratio > lap.ratio for _, cut, lap in pairs)
    said = "; ".join(f"×{level:g}: {cut.ratio:.3f}, {lap.ratio:.3f}" for level, cut, lap in pairs)
    most = max((abs(one.ratio - 1) for _, *both in pairs for one in both), default=0.0)
    yield Statement(
        "the truncated normal has the best privacy-utility trade-off",
        "Sec. 4.3, conclusion",
        "best of the three",
        f"best at {best} of {len(pairs)} utilities; all three within {most:.1%} of Gaussian noise; attack "
        f"error over that of Gaussian noise at equal utility ratio (truncated normal, Laplace): {said}",
        "holds" if best == len(pairs) else "does not hold",
        f"n = {found.trade_off.n}, the paper's attack",
    )


def _stronger(found: Found) -> Iterator[Statement]:
    trade = found.trade_off
    stds = np.array(trade.stds)
    plain, bayes = trade.plain[0].mean(axis=1), trade.bayes[0].mean(axis=1)
    ends = [stops_at(stds, errors, trade.nothing) for errors in (plain, bayes)]
    last = min(ends[1], float(stds[-1]))  # where the noise tried did not reach far enough
    utility = float(np.interp(np.log(last), np.log(stds), trade.utility[0].mean(axis=1)))
    tried = f"{last:.3g}" if np.isfinite(ends[1]) else f"{last:.3g} and more"
    yield Statement(
        "noise that stops the paper's attack does not stop a better one",
        "Sec. 4.3",
        "larger error is more privacy",
        f"from {ends[0]:.2g} on the paper's attack is worse than guessing the median ({trade.nothing:.3g}); "
        f"one that weighs the noise and shrinks to the mean stays better up to {tried}, where the utility "
        f"ratio is {utility:.2g}",
        "no promise",
        f"n = {trade.n}, Gaussian noise",
        last / ends[0] if np.isfinite(ends[0]) else None,
    )
    worst = int(np.argmax(plain))
    yield Statement(
        "the error of an attacker who knows of the noise",
        "Table 3",
        "no promise",
        f"{bayes[worst]:.3g} where the paper's attack has {plain[worst]:.4g} and the median "
        f"{trade.nothing:.3g}",
        "no promise",
        f"n = {trade.n}, Gaussian noise of {stds[worst]:g}",
        float(bayes[worst]),
    )


def _logistic(found: Found) -> Iterator[Statement]:
    ours = found.logistic
    share = ours.right.mean(axis=1)
    all_right = [n for n, row in zip(ours.size, ours.right, strict=True) if np.all(row == 1)]
    largest = max(all_right, default=0)
    yield Statement(
        "logistic regression: every bit recovered",
        "Sec. 5, open",
        "no promise",
        f"in every sample of up to {largest} records, from {found.data.d} models" if largest else "never",
        "no promise",
        f"secret cut at its median, no noise, {ours.right.shape[1]} samples each; shares right "
        + ", ".join(f"{value:.3g} at n = {n}" for n, value in zip(ours.size, share, strict=True)),
        float(largest),
    )
    for one in found.logistic_known:
        yield Statement(
            "logistic regression: advantage over the strongest baseline",
            "Sec. 5, open",
            "no promise",
            f"{one.value:.1%} of bits right, baseline {one.baseline:.1%}: advantage {one.advantage:.1%} "
            f"[{one.interval[0]:.1%}, {one.interval[1]:.1%}]",
            "no promise",
            f"n = {one.n}, no noise, one sample",
            one.advantage,
            None,
            one.interval,
        )
    noise = found.logistic_noise
    right, useful = noise.right.mean(axis=2), noise.utility.mean(axis=2)
    gain = noise.right[2] - noise.right[0]
    margin = 1.96 * gain.std(axis=1, ddof=1) / math.sqrt(gain.shape[1])
    still = int(np.flatnonzero(right.min(axis=0) >= 0.95).max(initial=0))
    yield Statement(
        "logistic regression: the truncated normal at equal standard deviation",
        "Sec. 5, open",
        "no promise",
        "bits right less those under Gaussian noise: "
        + ", ".join(
            f"{value:+.1%} ± {half:.1%} at {std:g}"
            for value, half, std in zip(gain.mean(axis=1), margin, noise.stds, strict=True)
            if std >= _SHOWN
        ),
        "no promise",
        f"n = {noise.n}, {noise.right.shape[2]} samples, 95 % over samples; fewer would protect better",
        float(gain.mean()),
    )
    yield from _equal_utility(noise)
    yield Statement(
        "logistic regression: noise that does not help",
        "Sec. 5, open",
        "no promise",
        f"at {noise.stds[still]:g} at least {right[:, still].min():.1%} of the bits are right in each "
        f"family; the utility ratio there is {useful[:, still].max():.3f}",
        "no promise",
        f"n = {noise.n}, {noise.right.shape[2]} samples",
        float(right[:, still].min()),
    )


def _equal_utility(noise: Cut) -> Iterator[Statement]:
    """The truncated normal beside Gaussian noise where the models predict as well."""
    samples = noise.right.shape[2]
    rng = np.random.default_rng(0)
    drawn = [np.arange(samples), *rng.integers(samples, size=(_RESAMPLES, samples))]
    gains = [_gains_at_equal_utility(noise, some) for some in drawn]
    told = []
    for place, level in enumerate(_UTILITIES):
        spread = np.array([gain[place] for gain in gains])
        if np.isnan(spread[0]) or np.isnan(spread).mean() > 0.05:  # not reached by the noise tried
            continue
        low, high = np.nanquantile(spread, [0.025, 0.975])
        told.append(f"{spread[0]:+.1%} [{low:+.1%}, {high:+.1%}] at ×{level:g}")
    if told:
        yield Statement(
            "logistic regression: the truncated normal at equal utility",
            "Sec. 5, open",
            "no promise",
            f"bits right less those under Gaussian noise: {', '.join(told)}",
            "no promise",
            f"n = {noise.n}, {samples} samples, interpolated between the noises tried, 95 % over samples; "
            "fewer would protect better",
        )


def _gains_at_equal_utility(noise: Cut, some: IntArray) -> Array:
    """Of these samples, at each level of utility; not a number where a family does not reach it."""
    useful, right = (part[..., some].mean(axis=2) for part in (noise.utility, noise.right))
    gaussian, cut = (
        np.interp(_UTILITIES, np.maximum.accumulate(u), r, left=np.nan, right=np.nan)
        for u, r in zip(useful[[0, 2]], right[[0, 2]], strict=True)
    )
    return np.asarray(cut - gaussian)


def _times(ratio: float, interval: tuple[float, float]) -> str:
    return f"{ratio:.3f} [{interval[0]:.3f}, {interval[1]:.3f}] times"
