"""Noise analysis for linear regression reconstruction attacks (Yadav and Koga 2021).

Its tables, what makes them come out, its conclusion tested fairly, and logistic regression, which it leaves
open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tellall.core.amounts import percent
from tellall.core.work import Progress
from tellall.papers.claims import Array, Joined, NamedCase, run_parts
from tellall.papers.reader import read_paper
from tellall.papers.regression_noise_attack import (
    FAMILIES,
    LITERAL,
    PAPER_SIZES,
    PAPER_SPREAD,
    PAPER_SWEEP,
    law,
    load,
)
from tellall.papers.regression_noise_experiments import Everything, Fair, NoisyBits, Variant, noise_sweep
from tellall.papers.regression_noise_figures import figures, figures_of
from tellall.report.kit.plot import number
from tellall.report.paper import PaperRerun, PaperTable

__all__ = [
    "EFFORT",
    "PAPER",
    "cases",
    "equal_utility",
    "growth",
    "rerun",
    "stops_at",
    "table_3",
]

PAPER = read_paper("regression-noise")
EFFORT = PAPER.effort
_ROUNDOFF = 1e-6
_NEAR = 0.3  # decades: within a factor of two
_PERFECT = 0.1  # "almost perfect": at most this share of the error of guessing the median
_SINKS, _STAYS = 3.0, 1.5  # utility ratios: "at least 3 times", and "≈ 1", which is what rounds to 1
_OTHERS = "scikit-learn's diabetes patients"
_OTHER = (
    f"The paper's data (cancer_reg.csv) were not given, so {_OTHERS} stand in: its "
    "printed tables are about other data, and its claims about its own were not tried."
)


def rerun(
    folder: str | Path = ".",
    *,
    quick: bool = True,
    rng: int | np.random.Generator | None = 0,
    progress: Progress | None = None,
    about: str = "",
) -> PaperRerun:
    """The paper on its data (the file, or a folder that holds it), with our numbers next to its tables."""
    effort = {name: both[0 if quick else 1] for name, both in EFFORT.items()}
    found = Everything(load(folder), effort, np.random.default_rng(rng))
    parts = [PAPER.reported(run, found, work=work) for run, work in _EXPERIMENTS.items()]
    _, cases = run_parts(parts, rng, progress, PAPER.keys_about(about))
    other = not found.data.paper
    known: dict[str, Any] = {"stand_in": _OTHERS, "notes": (_OTHER, *PAPER.notes)} if other else {}
    known["tables"] = tuple(beside(found) for number, beside in _TABLES.items() if about in ("", number))
    if about:
        return PAPER.rerun(figures_of(about, found), cases, rng, quick, **known).about(about)
    details = {"table_3": table_3(found)}
    return PAPER.rerun(figures(found), cases, rng, quick, details=details, **known)


def cases(found: Everything) -> Iterator[NamedCase]:
    """What the experiments say about each claim."""
    for run in _EXPERIMENTS:
        yield from run(found, np.random.default_rng())


def _table_2(found: Everything) -> PaperTable:
    """Table 2 beside ours."""
    rows = []
    for n in PAPER_SIZES if found.data.paper else found.sizes:
        printed = "{:g} ± {:g}".format(*PAPER_SIZES[n]) if n in PAPER_SIZES else ""
        error, spread = found.sizes[n]
        rows.append((f"{n:,}", printed, f"{_rounded(error)} ± {_rounded(spread)}"))
    caption = f"error of the attack on exact coefficients by records, {_drawn(found)}"
    return PaperTable("Table 2", caption, ("records", "the paper", "ours"), tuple(rows))


def _table_3(found: Everything) -> PaperTable:
    """Table 3 beside ours, as described and in the nearest preparation."""
    sweeps = {"ours": found.sweep}
    if found.nearest is not None:
        sweeps["nearest"] = found.nearest
    head, rows = ["scale"], []
    for family in FAMILIES:
        head += [f"{family}, {who}" for who in ("the paper", *sweeps)]
    for j, scale in reversed(list(enumerate(found.sweep.scales))):
        row = [f"{scale:g}"]
        for k, _ in enumerate(FAMILIES):
            row.append(f"{PAPER_SWEEP[scale][k]:g} ± {PAPER_SPREAD[scale][k]:g}")
            for sweep in sweeps.values():
                errors = sweep.error[k, j]
                row.append(f"{_rounded(errors.mean())} ± {_rounded(errors.std())}")
        rows.append(tuple(row))
    near = f"; nearest: {found.variants[0].name}" if found.variants else ""
    caption = (
        f"error of the attack by the scale of the noise. Ours: columns standardised, secret as it is, "
        f"n = {found.n}, {_drawn(found)}{near}"
    )
    return PaperTable("Table 3", caption, tuple(head), tuple(rows))


def _drawn(found: Everything) -> str:
    """Whose data and how many samples, for a table that stands beside the paper's."""
    return "the paper's data" if found.data.paper else f"{_OTHERS}, which are not the paper's data"


def _rounded(value: float) -> str:
    return "0" if value < 5e-7 else number(float(f"{value:.3g}"))


_TABLES = {"Table 2": _table_2, "Table 3": _table_3}


def table_3(found: Everything) -> list[dict[str, Any]]:
    """Table 3, our numbers next to the paper's, a row for each scale, as plain data."""
    rows = []
    for j, scale in enumerate(found.sweep.scales):
        row: dict[str, Any] = {"scale": scale}
        for k, family in enumerate(FAMILIES):
            errors = found.sweep.error[k, j]
            row[family] = {
                "ours": float(errors.mean()),
                "deviation": float(errors.std()),
                "utility": found.sweep.utility[k, j].mean(axis=0).tolist(),
                "paper": PAPER_SWEEP[scale][k] if found.data.paper else None,
            }
            if found.nearest is not None:
                row[family]["nearest preparation"] = float(found.nearest.error[k, j].mean())
        rows.append(row)
    return rows


def growth(scales: Array, errors: Array) -> float:
    """The slope of log error against log scale: 1 where the error is proportional to the noise."""
    return float(np.polyfit(np.log(scales), np.log(errors), 1)[0])


def stops_at(stds: Array, errors: Array, nothing: float) -> float:
    """The noise from which an attack is no better than guessing without it; infinite if it stays better.

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


def _recovery(found: Everything, rng: object) -> Iterator[NamedCase]:
    data, ours, edge = found.data, found.sizes, found.data.d + 1
    small = Joined(n for n in ours if n <= edge)
    worst = max(error for n, (error, _) in ours.items() if n <= edge)
    words = {"samples": found.effort["size_repeats"], "d": data.d}
    yield "exact", {"value": worst, "edge": edge, "data": data.name, "size": small, **words}
    yield "one more", {"value": ours[edge + 1][0], "n": edge + 1}
    for n in (50, 100, data.n) if data.paper else ():
        printed, spread = PAPER_SIZES[n]
        numbers = {"value": ours[n][0], "bound": printed, "enough": 0.9 * printed}
        said = {"paper_error": printed, "paper_spread": spread, "deviation": ours[n][1]}
        said["drawn"] = f"{words['samples']} random samples" if n < data.n else "all records at once"
        yield "table 2", {"n": n, **said, **numbers, **words}


def _plateau(found: Everything, rng: object) -> Iterator[NamedCase]:
    yield "fit", {"value": found.checks["from_fit"], "n": found.data.n}
    beside = ", beside the paper's plateau" if found.data.paper else ""
    yield "single", {"value": found.checks["single"], "n": found.data.n, "beside": beside}


def _known(found: Everything, rng: object) -> Iterator[NamedCase]:
    yield from (("known", _advantage(one)) for one in found.known)


def _advantage(one: Any) -> dict[str, Any]:
    drawn = "one sample" if one.samples == 1 else f"{one.samples} samples"
    ends = {"interval": one.interval, "low": one.interval[0], "high": one.interval[1]}
    words = {"n": one.n, "error": one.value, "baseline": one.baseline, "drawn": drawn}
    return {"value": one.advantage, **ends, **words}


def _duality(found: Everything, rng: object) -> Iterator[NamedCase]:
    checks, words = found.checks, {"n": found.n, **found.checks}
    yield "duality", {**words, "value": abs(checks["primal"] - checks["dual"]) / checks["primal"]}
    yield "optimality", {**words, "value": checks["infeasibility"]}
    fine = checks["unprinted"] < _ROUNDOFF < checks["printed"]
    numbers = {"value": checks["unprinted"], "bound": checks["printed"]}
    yield "stray", {"n": found.n, "mended": fine, **numbers}


def _noise(found: Everything, rng: object) -> Iterator[NamedCase]:
    ours, scales, mean = found.sweep, np.array(found.sweep.scales), found.sweep.error.mean(axis=2)
    words = {"n": ours.n, "samples": ours.error.shape[2], "d": found.data.d}
    small = float(mean[:, scales <= 0.001].max())
    bar = _PERFECT * found.nothing
    over = _preparations_in_which(found, lambda one: one.small <= bar)
    yield "small", {"value": small, "bound": bar, **over.judging(small <= bar), **words}
    seen = scales >= 1e-4
    slopes = Joined(growth(scales[seen], row[seen]) for row in mean)
    printed = np.array([PAPER_SWEEP[scale][0] for scale in ours.scales])
    theirs = f"; the printed Gaussian column has {growth(scales[seen], printed[seen]):.2f}"
    linear = all(abs(slope - 1) < 0.1 for slope in slopes)
    theirs = theirs if found.data.paper else ""
    yield "slope", {"slopes": slopes, "theirs": theirs, "mended": linear, **words}
    spread, many = _at_same_scale(found)
    over = _preparations_in_which(found, lambda one: _alike(one.times))
    yield "same scale", {"many": many, "spread": spread, **over.judging(_alike(many)), **words}
    last = ours.utility[:, -1].mean(axis=1)  # family × regression
    least, largest = float(last[:2].min()), float(last[2].max())
    over = _preparations_in_which(found, lambda one: one.sinks >= _SINKS)
    yield "sinks", {"value": least, "bound": _SINKS, **over.judging(least >= _SINKS), **words}
    over = _preparations_in_which(found, lambda one: one.stays <= _STAYS)
    yield "stays", {"value": largest, "bound": _STAYS, **over.judging(largest <= _STAYS), **words}


def _alike(times: Sequence[float]) -> bool:
    """Whether errors are "almost 50 times" as high, generously read."""
    return all(25 <= value <= 75 for value in times)


class _Over(NamedTuple):
    """The preparations in which a claim comes out, and how many were tried."""

    fine: tuple[str, ...]
    tried: int

    def judging(self, described: bool) -> dict[str, Any]:
        """The words and the flips of a case; `described` says whether the described preparation agrees."""
        said = f"; it comes out in {len(self.fine)} of {self.tried} preparations tried" if self.tried else ""
        if 0 < len(self.fine) < self.tried:
            said += ": " + "; ".join(self.fine)
        every = described and len(self.fine) == self.tried
        return {"over": said, "always": every, "sometimes": described or bool(self.fine)}


def _preparations_in_which(found: Everything, fine: Callable[[Variant], bool]) -> _Over:
    """The preparations that are as described or within a factor of two of Table 3, and satisfy `fine`."""
    still_open = [one for one in found.variants if one.distance < _NEAR or _is_described(one, found)]
    return _Over(tuple(one.name for one in still_open if fine(one)), len(still_open))


def _is_described(one: Variant, found: Everything) -> bool:
    """Whether this is the preparation that the paper describes, as we read it."""
    return one[:3] == (found.n, "standardised", "as it is") and not one.literal


def _at_same_scale(found: Everything) -> tuple[list[float], list[float]]:
    """Gaussian and Laplace noise over the truncated normal of the same scale: deviations, attack errors."""
    mean, seen = found.sweep.error.mean(axis=2), np.array(found.sweep.scales) >= 1e-4
    spread = [law(family, 1.0).std / law("truncated normal", 1.0).std for family in FAMILIES[:2]]
    return spread, [float(np.exp(np.log(mean[k, seen] / mean[2, seen]).mean())) for k in (0, 1)]


def _preparations(found: Everything, rng: object) -> Iterator[NamedCase]:
    """What makes Table 3 come out; on the paper's own data only."""
    if not found.variants:
        return
    plain = next(one for one in found.variants if _is_described(one, found))
    best, paper = found.variants[0], PAPER_SWEEP[1.0][0]
    near = [one for one in found.variants if one.distance < _NEAR]
    odd = [one for one in near if one.unit == "as it is" and one.how != "divided by their deviation"]
    words = {"bound": paper, "tried": len(found.variants), "near": len(near), "odd": len(odd)}
    words |= {"paper_error": paper, "paper_spread": PAPER_SPREAD[1.0][0]}
    fine = {"always": plain.distance < _NEAR, "sometimes": bool(near)}
    numbers = {"value": plain.error, "factor": 10**plain.distance, "name": plain.name}
    yield "table 3", {**words, **fine, **numbers, "samples": found.effort["variant_repeats"]}
    yield "nearest", {**words, "value": best.error, "factor": 10**best.distance, "name": best.name}
    yield "near", {**words, "names": "; ".join(one.name for one in near), "bound": None}


def _words_of_noise(found: Everything, rng: object) -> Iterator[NamedCase]:
    """E-RN-2: the dirac delta, and where the truncated normal ends."""
    from scipy.special import ndtr

    scales = np.array([0.001, 0.01, 0.1, 1.0])
    within = np.minimum(0.01 / scales, np.inf)
    normal = 2 * ndtr(within) - 1
    cut = np.minimum(normal / (2 * ndtr(0.05) - 1), 1.0)  # cut at ±0.05 of its scale
    falls = bool(np.all(np.diff(normal) <= 0) and np.all(np.diff(cut) <= 0) and cut[-1] < cut[0])
    yield "dirac", {"normal": Joined(normal), "cut": Joined(cut), "mended": falls}
    places, samples = (0.01, 0.1, 1.0), found.effort["repeats"]
    both = noise_sweep(
        *(found.data, found.n, places, samples, np.random.default_rng(0)),
        families=(FAMILIES[2], LITERAL),
    )
    scaled, literal = both.error.mean(axis=2) / both.error.mean(axis=2)[:, :1]
    printed = np.array([PAPER_SWEEP[scale][2] for scale in places]) / PAPER_SWEEP[0.01][2]
    ours = {"scaled": Joined(scaled), "literal": Joined(literal), "column": Joined(printed)}
    fine = abs(np.log10(scaled[-1] / printed[-1])) < abs(np.log10(literal[-1] / printed[-1]))
    yield "interval", {"n": found.n, "samples": samples, "mended": bool(fine), **ours}


def _fairly(found: Everything, rng: object) -> Iterator[NamedCase]:
    """What the paper concludes, at equal standard deviation and at equal utility."""
    at = {(one.level, one.family): one for one in found.fair}
    normal, laplace = at[None, "truncated normal"], at[None, "Laplace"]
    equal = max(1 / normal.ratio, laplace.ratio / normal.ratio) > 1.5
    said = {
        name: f"{one.ratio:.3f} [{one.interval[0]:.3f}, {one.interval[1]:.3f}] times"
        for name, one in (("normal", normal), ("laplace", laplace))
    }
    fine = {"always": equal, "sometimes": min(_at_same_scale(found)[1]) > 25}
    numbers = {"value": normal.ratio, "bound": 1.0, "interval": normal.interval}
    yield "budget", {"n": found.n, **said, **fine, **numbers}
    pairs, best = _best_at(found.fair)
    listed = "; ".join(f"×{level:g}: {cut.ratio:.3f}, {lap.ratio:.3f}" for level, cut, lap in pairs)
    most = max((abs(one.ratio - 1) for _, *both in pairs for one in both), default=0.0)
    words = {"best": best, "levels": len(pairs), "most": most, "said": listed}
    tried = {name: _best_at(some) for name, some in {"as described": found.fair, **found.otherwise}.items()}
    also = tuple(name for name, (some, first) in tried.items() if first == len(some))
    over = _Over(also, len(tried)).judging(best == len(pairs))
    yield "best", {"n": found.n, **words, **over}


def _best_at(families: Sequence[Fair]) -> tuple[list[tuple[float, Fair, Fair]], int]:
    """The truncated normal and Laplace noise at each utility, and at how many the former protects best."""
    at = {(one.level, one.family): one for one in families}
    levels = [level for level, family in at if level is not None and family == "Laplace"]
    pairs = [(level, at[level, "truncated normal"], at[level, "Laplace"]) for level in levels]
    return pairs, sum(cut.interval[0] > 1 and cut.ratio > lap.ratio for _, cut, lap in pairs)


def _stronger(found: Everything, rng: object) -> Iterator[NamedCase]:
    trade, stds = found.trade_off, np.array(found.trade_off.stds)
    plain, bayes = trade.plain[0].mean(axis=1), trade.bayes[0].mean(axis=1)
    first, second = (stops_at(stds, errors, trade.nothing) for errors in (plain, bayes))
    last = min(second, float(stds[-1]))  # where the noise tried did not reach far enough
    words = {"n": trade.n, "nothing": trade.nothing}
    yield (
        "stops",
        {
            **words,
            "value": last / first if np.isfinite(first) else None,
            "first": first,
            "tried": f"{last:.3g}" if np.isfinite(second) else f"{last:.3g} and more",
            "utility": float(np.interp(np.log(last), np.log(stds), trade.utility[0].mean(axis=1))),
        },
    )
    worst = int(np.argmax(plain))
    numbers = {"value": float(bayes[worst]), "plain": float(plain[worst]), "std": float(stds[worst])}
    yield "informed", {**words, **numbers}


def _bits(found: Everything, rng: object) -> Iterator[NamedCase]:
    """Logistic regression, which the paper leaves open."""
    largest = max((n for n, row in found.logistic.items() if np.all(row == 1)), default=0)
    every = f"in every sample of up to {largest} records, from {found.data.d} models" if largest else "never"
    shares = ", ".join(f"{row.mean():.3g} at n = {n}" for n, row in found.logistic.items())
    samples = len(next(iter(found.logistic.values())))
    yield "bits", {"value": largest, "all": every, "samples": samples, "shares": shares}
    yield from (("bits known", _advantage(one)) for one in found.logistic_known)
    noise = found.logistic_noise
    words = {"n": noise.n, "samples": noise.right.shape[2]}
    gain = noise.right[2] - noise.right[0]
    margin = 1.96 * gain.std(axis=1, ddof=1) / np.sqrt(gain.shape[1])
    rows = zip(gain.mean(axis=1), margin, noise.stds, strict=True)
    said = ", ".join(
        f"{percent(v, 1, '+')} ± {percent(half)} at {std:g}" for v, half, std in rows if std >= 0.1
    )
    yield "bits std", {"value": float(gain.mean()), "said": said, **words}
    equal = equal_utility(noise)
    if equal:
        yield "bits utility", {"said": equal, **words}
    least = noise.right.mean(axis=2).min(axis=0)
    still = int(np.flatnonzero(least >= 0.95).max(initial=0))
    useful = float(noise.utility.mean(axis=2)[:, still].max())
    yield "bits noise", {"value": float(least[still]), "std": noise.stds[still], "utility": useful, **words}


def equal_utility(noise: NoisyBits) -> str:
    """The truncated normal against Gaussian noise at equal utility; empty if that is never reached."""
    levels, samples, rng = (1.01, 1.02, 1.03, 1.05), noise.right.shape[2], np.random.default_rng(0)

    def gains(some: Any) -> Array:
        useful, right = (part[..., some].mean(axis=2) for part in (noise.utility, noise.right))
        gaussian, cut = (
            np.interp(levels, np.maximum.accumulate(u), r, left=np.nan, right=np.nan)
            for u, r in zip(useful[[0, 2]], right[[0, 2]], strict=True)
        )
        return np.asarray(cut - gaussian)

    drawn = [np.arange(samples), *rng.integers(samples, size=(500, samples))]
    found = []
    for level, spread in zip(levels, np.array([gains(some) for some in drawn]).T, strict=True):
        if np.isnan(spread[0]) or np.isnan(spread).mean() > 0.05:  # not reached by the noise tried
            continue
        low, high = np.nanquantile(spread, [0.025, 0.975])
        middle, least, most = (percent(one, 1, "+") for one in (spread[0], low, high))
        found.append(f"{middle} [{least}, {most}] at ×{level:g}")
    return ", ".join(found)


_EXPERIMENTS = {  # about how many seconds each takes; samples are drawn by what was found, not by its stream
    _recovery: 2,
    _plateau: 1,
    _known: 5,
    _duality: 1,
    _noise: 5,
    _words_of_noise: 1,
    _preparations: 1,
    _fairly: 10,
    _stronger: 5,
    _bits: 10,
}
