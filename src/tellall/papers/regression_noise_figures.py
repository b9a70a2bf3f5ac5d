"""regression-noise, drawn: its figures with ours beside, the preparations, the families made equal, bits."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tellall.papers.claims import Array
from tellall.papers.regression_noise_attack import (
    FAMILIES,
    PAPER_SIZES,
    PAPER_SPREAD,
    PAPER_SWEEP,
    PREPARATIONS,
    UNITS,
)
from tellall.papers.regression_noise_experiments import Everything, NoiseSweep, Variant
from tellall.report.kit.plot import Axis, Figure, Kind, Rule, Series

__all__ = [
    "figures",
    "figures_of",
]

_FLOOR = 1e-3  # errors below this are off the chart
_NOISE = "standard deviation of the noise"
_FAMILY = {"Fig. 3": "Gaussian", "Fig. 4": "Laplace", "Fig. 5": "truncated normal"}


def figures(found: Everything) -> tuple[Figure, ...]:
    """All figures; those of the preparations only on the paper's own data."""
    out = [_sizes(found), _sweep(found, found.sweep, "Figures 3 to 5, left: prepared as described")]
    if found.nearest is not None:
        near = found.variants[0].name
        out += [
            _sweep(found, found.nearest, f"The same, {near}"),
            _variants(found),
        ]
    out += [
        _utility(found),
        *([_sinking(found)] if found.variants else []),
        _fair(found),
        _attacks(found),
        _trade_off(found),
    ]
    return (*out, _bits_by_size(found), _bits_by_noise(found))


def figures_of(number: str, found: Everything) -> list[Figure]:
    """A figure of the paper, its numbers beside ours; none for other objects."""
    if number in ("Fig. 2", "Table 2"):
        return [_sizes(found)]
    if number in _FAMILY:
        return [*_beside(found, number, FAMILIES.index(_FAMILY[number]))]
    return []


def _beside(found: Everything, number: str, k: int) -> Iterator[Figure]:
    """Figure 3, 4 or 5: the attack's error, and what the noise costs the reader."""
    family, bar = (
        FAMILIES[k],
        Rule(1.0, "the paper: about 1") if k == 2 else Rule(3.0, "the paper: 3 or more"),
    )
    sweeps = {"ours, as described": found.sweep}
    if found.nearest is not None:
        sweeps[f"ours, {found.variants[0].name}"] = found.nearest
    errors, costs = [], []
    if found.data.paper:
        printed = [(scale, PAPER_SWEEP[scale][k], PAPER_SPREAD[scale][k]) for scale in found.sweep.scales]
        errors.append(_spread("the paper, Table 3", *zip(*printed, strict=True), kind="both"))
    for label, sweep in sweeps.items():
        mean, spread = sweep.error[k].mean(axis=1), sweep.error[k].std(axis=1)
        errors.append(_spread(label, sweep.scales, mean, spread, kind="points"))
        costs.append(_ranges(label, sweep.scales, sweep.utility[k].mean(axis=1)))
    yield Figure(
        f"{number}, left: {family} noise, error of the attack",
        "Means over ten samples, one standard deviation either way. The paper's numbers are those of its "
        f"Table 3. Off the chart: what is below {_FLOOR:g}.",
        Axis("σ" if k == 0 else "scale", log=True, low=5e-6),
        Axis("mean absolute error", log=True, low=_FLOOR),
        tuple(errors),
        (Rule(found.nothing, "the median for everybody"),),
    )
    yield Figure(
        f"{number}, right: {family} noise, what it costs the reader",
        f"Median over {found.data.d} regressions, bands from the least to the largest. Our copy has the "
        "paper's sentence about this picture and not its numbers.",
        Axis("σ" if k == 0 else "scale", log=True),
        Axis("prediction error, noisy over clean", log=True, low=0.9),
        tuple(costs),
        (bar,),
    )


def _spread(label: str, scales: Sequence[float], mean: Any, spread: Any, *, kind: Kind) -> Series:
    """Means by scale, one standard deviation either way."""
    centre, half = np.asarray(mean, dtype=float), np.asarray(spread, dtype=float)
    return Series(
        label, scales, _positive(centre), low=np.maximum(centre - half, _FLOOR), high=centre + half, kind=kind
    )


def _ranges(label: str, scales: Sequence[float], each: Array) -> Series:
    """The median regression at each scale, with the least and the largest."""
    return Series(label, scales, np.median(each, axis=1), low=each.min(axis=1), high=each.max(axis=1))


def _sizes(found: Everything) -> Figure:
    data = found.data
    series = [_whiskers("ours, least solution", found.sizes, "both")]
    if data.paper:
        series.append(_whiskers("the paper, Table 2", PAPER_SIZES, "points"))
    series.append(_baseline(found.known))
    guess = float(np.abs(data.secret - np.median(data.secret)).mean())
    return Figure(
        "Table 2 and Figure 2: error from exact coefficients",
        f"One regression on each of {data.d} columns, random samples; bands and whiskers are one standard "
        f"deviation over samples. Up to d + 1 = {data.d + 1} records the secret is found exactly; beyond, "
        "the answer is the fit of multiple regression, and with many records somebody who never saw the "
        "release predicts as well (the baseline).",
        Axis("records", log=True),
        Axis("mean absolute error", low=0.0),
        tuple(series),
        (Rule(data.d + 1, "d + 1", "x"), Rule(guess, "the median for everybody")),
    )


def _whiskers(label: str, errors: Mapping[int, tuple[float, float]], kind: Kind) -> Series:
    """Mean errors by size, one standard deviation either way."""
    mean, low, high = zip(*((e, max(0.0, e - s), e + s) for e, s in errors.values()), strict=True)
    return Series(label, tuple(errors), mean, low=low, high=high, kind=kind)


def _baseline(known: Sequence[Any]) -> Series:
    sizes, values = [one.n for one in known], [one.baseline for one in known]
    return Series("strongest baseline", sizes, values, kind="points")


def _sweep(found: Everything, sweep: NoiseSweep, title: str) -> Figure:
    series = [
        Series(f"{family}, ours", sweep.scales, _positive(sweep.error[k].mean(axis=1)), kind="both")
        for k, family in enumerate(FAMILIES)
    ]
    if found.data.paper:
        series += [
            Series(
                f"{family}, the paper",
                sweep.scales,
                _positive([PAPER_SWEEP[scale][k] for scale in sweep.scales]),
                kind="points",
            )
            for k, family in enumerate(FAMILIES)
        ]
    beside = ", beside Table 3" if found.data.paper else ""
    return Figure(
        title,
        f"The paper's attack on noisy coefficients{beside}; n = {sweep.n}, means over "
        f"{sweep.error.shape[2]} samples. A straight line of slope 1: the error is proportional to the "
        "noise. The truncated normal ends at ±0.05 of its scale and lies lower because its noise is 34.6 "
        f"times smaller. Off the chart: errors below {_FLOOR:g}.",
        Axis("σ or scale of the noise", log=True, low=5e-6),
        Axis("mean absolute error", log=True, low=_FLOOR),
        tuple(series),
        (Rule(found.nothing, "the median for everybody"),),
    )


def _variants(found: Everything) -> Figure:
    return _by_preparation(
        found,
        "How far each preparation is from Table 3",
        "The mean factor between ours and the printed cells, all three families. Columns: standardised by "
        "the mean and deviation of all records, by the sample's own, or divided by their deviation only "
        "(uncentred). With centred columns and the secret as it is, nothing comes near.",
        Axis("mean factor off", log=True, low=1.0),
        lambda one: 10**one.distance,
        Rule(2.0, "factor 2"),
    )


def _sinking(found: Everything) -> Figure:
    return _by_preparation(
        found,
        "Figures 3 and 4, right, in each preparation: the highest noise",
        "The least utility ratio of a regression at scale 1, Gaussian and Laplace noise. The paper says at "
        "least 3 for all regressions: it depends on the unit of the secret, which it does not say.",
        Axis("least ratio of prediction errors", log=True, low=0.9),
        lambda one: one.sinks,
        Rule(3.0, "3 times"),
    )


def _by_preparation(
    found: Everything, title: str, caption: str, axis: Axis, value: Callable[[Variant], float], rule: Rule
) -> Figure:
    """One number of every preparation of columns and secret."""
    sizes = sorted({one.n for one in found.variants})
    short = ("by all", "by sample", "uncentred")
    names = tuple(f"{word}, {n}" for n in sizes for word in short)
    at = {(one.n, one.how, one.unit): value(one) for one in found.variants if not one.literal}
    series = [
        Series(
            f"secret {unit}",
            range(len(names)),
            [at[n, how, unit] for n in sizes for how in PREPARATIONS],
            kind="points",
        )
        for unit in UNITS
    ]
    columns = Axis("columns standardised, records in a sample", categories=names)
    return Figure(title, caption, columns, axis, tuple(series), (rule,))


def _utility(found: Everything) -> Figure:
    series = []
    for sweep, words in ((found.sweep, "as described"), (found.nearest, "nearest preparation")):
        if sweep is None:
            continue
        each = sweep.utility.mean(axis=2)  # family × scale × regression
        series += [_ranges(f"{family}, {words}", sweep.scales, each[k]) for k, family in enumerate(FAMILIES)]
    nearest = " or in the nearest preparation" if found.nearest is not None else ""
    return Figure(
        "Figures 3 to 5, right: what the noise costs the reader",
        f"Prediction error of the noisy regressions over that of the clean ones, as described{nearest}: "
        f"median over the {found.data.d} regressions, bands from the least to the largest. In the secret's "
        "own unit noise of 1 costs nothing.",
        Axis("σ or scale of the noise", log=True, low=1e-3),
        Axis("ratio of prediction errors", log=True, low=0.9),
        tuple(series),
        (Rule(3.0, "3 times"),) if found.nearest is not None else (),
    )


def _fair(found: Everything) -> Figure:
    levels = [one.level for one in found.fair if one.family == "Laplace"]
    names = tuple("equal std" if level is None else f"utility ×{level:g}" for level in levels)
    series = [Series(FAMILIES[0], range(len(levels)), [1.0] * len(levels))]
    for family in FAMILIES[1:]:
        chosen = [one for one in found.fair if one.family == family]
        series.append(
            Series(
                family,
                range(len(chosen)),
                [one.ratio for one in chosen],
                low=[one.interval[0] for one in chosen],
                high=[one.interval[1] for one in chosen],
                kind="points",
            )
        )
    return Figure(
        "The families made equal: no advantage of the truncated normal",
        "Attack error over that of Gaussian noise with the same standard deviation, or with the same ratio "
        f"of prediction errors; n = {found.trade_off.n}. Above 1 protects better. Whiskers: 95 % "
        "over samples.",
        Axis("made equal in", categories=names),
        Axis("attack error / Gaussian's", low=0.8, high=1.2),
        tuple(series),
    )


def _both_attacks(trade: Any, x: Any, kept: Any) -> tuple[Series, ...]:
    """The paper's attack and ours for each family, at the noises kept, against x (one row per family)."""
    return tuple(
        Series(f"{family}, {name}", x[k], errors[k, kept].mean(axis=1), kind="both")
        for name, errors in (("paper's attack", trade.plain), ("ours", trade.bayes))
        for k, family in enumerate(FAMILIES)
    )


def _attacks(found: Everything) -> Figure:
    trade = found.trade_off
    return Figure(
        "A stronger attack: the same coefficients, decoded with the noise in mind",
        "The paper's least-squares solution beside tellall's, which takes records as normal with a mean and "
        f"spread read off the release (empirical Bayes); n = {trade.n}, means over {trade.plain.shape[2]} "
        "samples. An error above the flat line is no privacy gained: guessing would do better. The "
        "families have equal standard deviations.",
        Axis(_NOISE, log=True),
        Axis("mean absolute error", log=True),
        _both_attacks(trade, [trade.stds] * len(FAMILIES), slice(None)),
        (Rule(trade.nothing, "the median for everybody"),),
    )


def _trade_off(found: Everything) -> Figure:
    trade = found.trade_off
    kept = [k for k, std in enumerate(trade.stds) if std >= 3]  # less noise costs nothing that shows
    added = trade.utility[:, kept].mean(axis=2) - 1
    return Figure(
        "Privacy against utility",
        "Attack error against what the noise adds to the prediction error of the regressions: higher is more "
        f"private, further left more useful. n = {trade.n}, noise of {trade.stds[kept[0]]:g} to "
        f"{trade.stds[-1]:g}, the same steps for all families.",
        Axis("prediction error added", unit="share of the clean one", log=True),
        Axis("mean absolute error of the attack", log=True),
        _both_attacks(trade, added, kept),
        (Rule(trade.nothing, "the median for everybody"),),
    )


def _bits_by_size(found: Everything) -> Figure:
    runs, d = found.logistic, found.data.d
    mean, low, high = zip(*((row.mean(), row.min(), row.max()) for row in runs.values()), strict=True)
    samples = len(next(iter(runs.values())))
    return Figure(
        "Logistic regression: bits recovered from exact coefficients",
        f"The secret cut at its median, one logistic regression on each of {d} columns; bands from the least "
        f"to the largest of {samples} samples. That bits are 0 or 1 carries the attack beyond d + 1 = "
        f"{d + 1} records.",
        Axis("records", log=True),
        Axis("share of bits right", low=0.5, high=1.0),
        (Series("ours", tuple(runs), mean, low=low, high=high, kind="both"), _baseline(found.logistic_known)),
        (Rule(d + 1, "d + 1", "x"),),
    )


def _bits_by_noise(found: Everything) -> Figure:
    noise = found.logistic_noise
    return Figure(
        "Logistic regression: bits recovered from noisy coefficients",
        f"n = {noise.n}, means over {noise.right.shape[2]} samples, the families at equal standard "
        "deviation; bands are 95 % over samples. Fewer bits right is better protection.",
        Axis(_NOISE, log=True),
        Axis("share of bits right", low=0.4, high=1.0),
        tuple(_band(family, noise.stds, noise.right[k]) for k, family in enumerate(FAMILIES)),
        (Rule(noise.nothing, "the more frequent bit"),),
    )


def _band(label: str, x: Sequence[float], runs: Array) -> Series:
    """Means over the last axis with 95 % over runs."""
    mean = runs.mean(axis=1)
    margin = 1.96 * runs.std(axis=1, ddof=1) / math.sqrt(runs.shape[1])
    return Series(label, x, mean, low=mean - margin, high=np.minimum(mean + margin, 1.0), kind="both")


def _positive(values: Sequence[float] | Array) -> list[float]:
    return [float(value) if value >= _FLOOR else math.nan for value in values]
