"""Robust traceability from trace amounts (Dwork, Smith, Steinke, Ullman, Vadhan 2015).

The paper has theorems and no experiments: every statement is simulated and compared with its theorem.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import tellall as ta
from tellall.core.work import Progress, Tell
from tellall.papers.claims import Array, Found, NamedCase, PaperPart, case_of, run_parts, share_of
from tellall.papers.reader import read_paper
from tellall.papers.tracing_lemmas import DELTA, LEMMAS, least_share, people_of
from tellall.report.kit.plot import Axis, Figure, Rule, Series
from tellall.report.paper import PaperRerun

__all__ = [
    "PAPER",
    "rerun",
]

PAPER = read_paper("robust-tracing")
Cases = Iterator[NamedCase]
Rng = np.random.Generator
_RELEASED = {  # claim, or claim and law → its words in the figure of what was released
    "completeness": "exact means",
    "rounded": "rounded to 1/4",
    "pool": "exact, few means, pool",
    "gaussian": "real attributes",
    "known, point mass": "known: point mass",
    "known, two points": "known: two points",
    "known, short interval": "known: short interval",
    "known, separated clumps": "known: clumps",
    "private": "private, ε = 1",
}


def rerun(
    folder: str | Path = ".",
    *,
    quick: bool = True,
    rng: int | np.random.Generator | None = 0,
    progress: Progress | None = None,
    about: str = "",
) -> PaperRerun:
    """Every claim, simulated, ten times as often unless `quick`; the folder is not read."""
    repeats = 20 if quick else 200
    parts = [
        *(PAPER.reported(run, repeats) for run in (*_EXPERIMENTS, *LEMMAS)),
        *(PaperPart(partial(_drawn, draw, repeats), 1, ("",)) for draw in _FIGURES),
        PAPER.reported(_fingerprinting, repeats),  # last, so that the others keep their random numbers
    ]
    figures, cases = run_parts(parts, rng, progress, PAPER.keys_about(about))
    if about:
        return PAPER.rerun((), cases, rng, quick).about(about)
    return PAPER.rerun([*figures, _released(cases)], cases, rng, quick)


def _drawn(draw: Callable[[Rng, int], Figure], repeats: int, rng: Rng, tell: Tell) -> Found:
    return [draw(rng, repeats)], ()


def _traced(q: Array, people: npt.NDArray[Any], n: int, threshold: str = "paper") -> float:
    """The share of the first n people that are named; the others are the reference people."""
    found = ta.trace(q, people[:n], people[n:], threshold=threshold, delta=DELTA)
    return found.traced / n


def _attributes(n: int, gamma: float = 2 / 3, alpha: float = 0.0) -> int:
    return math.ceil(ta.tracing_plan(n, gamma, alpha, DELTA).attributes)


def _strengths(repeats: int, rng: Rng) -> Cases:
    yield "uniform", {"value": ta.strength(("uniform", -1, 1), 1 / 3)}
    yield "ideal", {"value": ta.strength(("ideal", 0.85), 0.5)}
    yield "robust", {"value": ta.robust_strength(0.5)}


def _soundness(repeats: int, rng: Rng) -> Cases:
    """Prop. 2: nobody outside is named more often than δ, whatever the release."""
    d, n = 500, 10
    laws: dict[str, Callable[[], Array]] = {
        "uniform": lambda: rng.uniform(-1, 1, d),
        "Beta(2, 3)": lambda: 2 * rng.beta(2, 3, d) - 1,
        "skewed, Beta(0.3, 4)": lambda: 2 * rng.beta(0.3, 4, d) - 1,
        "fair coins, signs released": lambda: np.zeros(d),  # where a threshold too low is seen at once
    }
    for law, draw in laws.items():
        named: dict[str, list[float]] = {"paper": [], "hoeffding": []}
        for _ in range(10 * repeats):
            people = people_of(draw(), n + 21, rng)
            q = people[:n].mean(axis=0)
            q = np.where(q >= 0, 1.0, -1.0) if "signs" in law else q
            for rule, rates in named.items():
                found = ta.trace(q, people[n:-1], people[-1:], threshold=rule, delta=DELTA)
                rates.append(found.traced / 20)
        for rule, rates in named.items():
            yield "soundness", case_of(share_of(rates), law=law, d=d, rule=rule, outsiders=20 * len(rates))


def _completeness(repeats: int, rng: Rng) -> Cases:
    """Props. 12 and 13 with the constant that we know: every member is traced at d ≥ 32 n² ln(1/δ)/γ²."""
    for n in (5, 10, 20):
        for key, share, threshold in (("below", 0.1, "hoeffding"), ("completeness", 1.0, "paper")):
            d = math.ceil(share * _attributes(n))
            rates = []
            for _ in range(repeats):
                people = people_of(rng.uniform(-1, 1, d), n + 1, rng)
                rates.append(_traced(people[:n].mean(axis=0), people, n, threshold))
            yield key, case_of(share_of(rates), n=n, d=d, ratio=d / n**2)


def _rounded(repeats: int, rng: Rng) -> Cases:
    """Prop. 13: a symmetric release that is only α-accurate still gives everybody away."""
    n, rounding = 10, ta.Rounding(0.25)
    alpha = ta.accuracy(rounding, n).bias
    gamma = ta.strength(("uniform", -1, 1), alpha)
    d = _attributes(n, gamma, alpha)
    rates = []
    for _ in range(repeats):
        people = people_of(rng.uniform(-1, 1, d), n + 1, rng)
        q = np.clip(rounding.perturb(people[:n].mean(axis=0)), -1, 1)
        rates.append(_traced(q, people, n))
    yield "rounded", case_of(share_of(rates), alpha=alpha, gamma=gamma, n=n, d=d)


def _subsample(repeats: int, rng: Rng) -> Cases:
    """Sec. I-B: a release of the mean of a few people gives away those few and nobody else."""
    n, few, d = 10, 4, 21_570
    right = []
    for _ in range(4 * repeats):
        people = people_of(rng.uniform(-1, 1, d), 2 * n + 1, rng)
        found = ta.trace(people[:few].mean(axis=0), people[:-1], people[-1:], delta=DELTA)
        right.append(float(found.member[:few].all() and not found.member[few:].any()))
    yield "subsample", case_of(share_of(right), n=n, few=few, d=d)


def _pool(repeats: int, rng: Rng) -> Cases:
    """Theorem 17: with a reference pool far fewer statistics are enough."""
    n, alpha, d = 50, 0.25, 20_000
    pool = math.ceil(2 * math.log(48 * n / ta.strength(("uniform", -1, 1), alpha)) / alpha**2)
    # everybody is drawn from one law, so nobody needs to check it
    options: dict[str, Any] = {"alpha": alpha, "threshold": "hoeffding", "delta": DELTA, "anyway": True}
    for released, few in (("mean of all", n), ("mean of 12", 12)):
        traced: dict[str, list[float]] = {"single": [], "pool": []}
        wrong = []
        for _ in range(max(1, repeats // 2)):
            people = people_of(rng.uniform(-1, 1, d), 2 * n + pool + 1, rng)
            q = people[:few].mean(axis=0)
            for attack in traced:
                found = ta.trace(q, people[: 2 * n], people[2 * n :], attack=attack, **options)
                traced[attack].append(float(found.member[:few].mean()))
            wrong.append(float(found.member[few:].mean()))  # of the pool attack, which comes last
        words = {"released": released, "n": n, "d": d, "pool": pool, "alpha": alpha}
        yield "pool", case_of(share_of(traced["pool"]), alone=share_of(traced["single"])[0], **words)
        yield "pool soundness", case_of(share_of(wrong), **words)


def _gaussian(repeats: int, rng: Rng) -> Cases:
    """Props. 29 and 31: real attributes with a random spread each."""
    n = 10
    gamma = ta.strength(("gaussian", 1.0), 0.0) * 0.41  # E[σ²] of σ uniform on [0.2, 1] is 0.4133
    d = math.ceil(32 * n**2 * math.log(1 / DELTA) / gamma**2)
    traced, wrong = [], []
    for _ in range(repeats):
        mu, sigma = rng.uniform(-1, 1, d), rng.uniform(0.2, 1, d)
        people = mu + sigma * rng.normal(size=(2 * n + 1, d))
        q = np.clip(people[:n].mean(axis=0), -1, 1)
        found = ta.trace(q, people[:-1], people[-1:], attack="gaussian", sigma_max=1.0, delta=DELTA)
        traced.append(float(found.member[:n].mean()))
        wrong.append(float(found.member[n:].mean()))
    yield "gaussian", case_of(share_of(traced), n=n, d=d)
    yield "gaussian soundness", case_of(share_of(wrong), n=n, d=d)


def _garbage(repeats: int, rng: Rng) -> Cases:
    """Prop. 28: accurate on average is enough; some columns may be anything."""
    n, bad = 10, 0.2
    d = _attributes(n, ta.robust_strength(0.5))
    some, error = [], 0.0
    for _ in range(repeats):
        p = rng.uniform(-1, 1, d)
        people = people_of(p, n + 1, rng)
        q = people[:n].mean(axis=0)
        q[: round(bad * d)] = rng.uniform(-1, 1, round(bad * d))
        error = max(error, float(np.abs(q - p).mean()))
        some.append(float(_traced(q, people, n) > 0))
    yield "garbage", case_of(share_of(some), bad=bad, error=error, n=n, d=d)


def _known(repeats: int, rng: Rng) -> Cases:
    """Sec. II-D (i)–(iv): where means are known in advance, an accurate release need not touch the data."""
    n, d, alpha = 50, 21_570, 0.3
    clumps = np.array([-0.8, 0.0, 0.8])
    laws: dict[str, tuple[Callable[[], Array], Callable[[Array], Array]]] = {
        "point mass": (lambda: np.full(d, 0.3), lambda mean: np.full(d, 0.3)),
        "two points": (
            lambda: rng.choice(np.array([-0.6, 0.6]), d),
            lambda mean: np.where(mean > 0, 0.6, -0.6),
        ),
        "short interval": (lambda: rng.uniform(0, alpha, d), lambda mean: np.full(d, alpha / 2)),
        "separated clumps": (
            lambda: rng.choice(clumps, d) + rng.uniform(-0.05, 0.05, d),
            lambda mean: clumps[np.abs(mean[:, None] - clumps).argmin(axis=1)],
        ),
    }
    for law, (draw, mechanism) in laws.items():
        rates = []
        for _ in range(repeats):
            people = people_of(draw(), n + 1, rng)
            rates.append(_traced(mechanism(people[:n].mean(axis=0)), people, n, "hoeffding"))
        yield "known", case_of(share_of(rates), law=law, n=n, d=d)


def _private(repeats: int, rng: Rng) -> Cases:
    """What resists: differentially private means at d = n² hold TPR ≤ e^ε FPR + δ."""
    n, epsilon, slack = 60, 1.0, 1e-3
    d = n * n
    std = ta.privacy.gaussian_std(epsilon, slack, sensitivity=2 * math.sqrt(d) / n)
    inside, outside = [], []
    options: dict[str, Any] = {"attack": "pool", "threshold": "empirical", "delta": DELTA, "anyway": True}
    for _ in range(repeats):
        people = people_of(rng.uniform(-1, 1, d), 2 * n + 200, rng)
        q = people[:n].mean(axis=0) + rng.normal(0, std, d)
        found = ta.trace(q, people[: 2 * n], people[2 * n :], **options)
        inside.append(float(found.member[:n].mean()))
        outside.append(float(found.member[n:].mean()))
    outsiders = share_of(outside)[0]
    bound = math.exp(epsilon) * outsiders + slack
    words = {"bound": bound, "outsiders": outsiders, "std": std, "epsilon": epsilon, "slack": slack}
    yield "private", case_of(share_of(inside), **words, n=n, d=d)


def _not_private(repeats: int, rng: Rng) -> Cases:
    """Sec. I-B: the chance of naming a member, which privacy would hold down to that of an outsider."""
    n, runs = 5, 5 * repeats
    delta = 1 / (2 * n)
    d = math.ceil(ta.tracing_plan(n, 2 / 3, 0.0, delta).attributes)
    named = 0
    for _ in range(runs):
        people = people_of(rng.uniform(-1, 1, d), n + 1, rng)
        q = people[:n].mean(axis=0)
        named += ta.trace(q, people[:1], people[n:], threshold="hoeffding", delta=delta).traced
    bound = math.exp(0.1) * delta + 1 / (4 * n)
    yield "not private", {"value": least_share(named, runs), "bound": bound, "n": n, "d": d, "runs": runs}


def _fingerprinting(repeats: int, rng: Rng) -> Cases:
    """Sec. I-D: what knowing p exactly is worth, beside one reference person and a pool."""
    n, d = 20, 400
    size, alpha = 4 * n, 1.0  # nothing is truncated: means and pool differ by less than 2
    options: dict[str, Any] = {"threshold": "hoeffding", "delta": DELTA, "anyway": True}
    inside: dict[str, list[float]] = {"known": [], "single": [], "pool": []}
    outside: dict[str, list[float]] = {name: [] for name in inside}
    for _ in range(2 * repeats):
        p = rng.uniform(-1, 1, d)
        people = people_of(p, 2 * n + 1 + size, rng)
        q, targets, others = people[:n].mean(axis=0), people[: 2 * n], people[2 * n :]
        for name, found in (
            ("known", ta.fingerprint(q, targets, p, delta=DELTA)),
            ("single", ta.trace(q, targets, others[:1], **options)),
            ("pool", ta.trace(q, targets, others, attack="pool", alpha=alpha, **options)),
        ):
            inside[name].append(float(found.member[:n].mean()))
            outside[name].append(float(found.member[n:].mean()))
    shares = {name: float(np.mean(one)) for name, one in inside.items()}
    words = {"n": n, "d": d, "ratio": d / n**2, "runs": 2 * repeats, "size": size}
    worst = max(float(np.mean(one)) for one in outside.values())
    yield "fingerprinting", {"value": shares["known"], "outside": worst, **shares, **words}


_EXPERIMENTS = (
    *(_strengths, _soundness, _completeness, _rounded, _subsample, _pool, _gaussian, _garbage, _known),
    *(_private, _not_private),
)


def _law(rng: Rng, repeats: int) -> Figure:
    """Members traced against d/n², for several n: the curves fall on one another."""
    most = _attributes(1)
    ratios = np.geomspace(2, most, 12)
    series = []
    for n in (5, 10, 20):
        counts = np.ceil(ratios * n**2).astype(int)
        rates = np.zeros((repeats, counts.size))
        for run in range(repeats):
            people = people_of(rng.uniform(-1, 1, counts[-1]), n + 1, rng)
            for k, d in enumerate(counts):
                some = people[:, :d]
                rates[run, k] = _traced(some[:n].mean(axis=0), some, n, "hoeffding")
        shares = [share_of(column) for column in rates.T]
        low, high = ([ends[side] for _, ends in shares] for side in (0, 1))
        means = [value for value, _ in shares]
        series.append(Series(f"n = {n}", ratios, means, low=low, high=high, kind="both"))
    return Figure(
        "The n² law: members traced from exact means",
        "One reference person, threshold “hoeffding”, means uniform on [−1, 1]. Plotted against d/n² the "
        "curves for different n fall on one another. The theorem says O(n² log(1/δ)/γ²) without a constant; "
        "the one that we know promises all members at the upright line. "
        f"Bands: 95 % over {repeats} runs.",
        Axis("attributes released / n²", log=True),
        Axis("share of members traced", low=0.0, high=1.0),
        tuple(series),
        (Rule(most, "32 ln(1/δ)/γ², our constant", "x"), Rule(1 - DELTA, "1 − δ")),
    )


def _level(rng: Rng, repeats: int) -> Figure:
    """How often outsiders are named, against the δ asked for, by the release that makes it likeliest."""
    d, n, outsiders = 500, 10, 20
    p_values: dict[str, list[Array]] = {"hoeffding": [], "paper": []}
    for _ in range(50 * repeats):
        people = people_of(np.zeros(d), n + outsiders + 1, rng)
        q = np.where(people[:n].mean(axis=0) >= 0, 1.0, -1.0)
        for rule, seen in p_values.items():
            seen.append(ta.trace(q, people[n:-1], people[-1:], threshold=rule, delta=DELTA).p_values)
    levels = np.geomspace(0.005, 0.9, 25)
    measured = []
    for rule, seen in p_values.items():
        shares = [share_of(runs) for runs in (np.stack(seen)[:, :, None] <= levels).mean(axis=1).T]
        low, high = ([ends[side] for _, ends in shares] for side in (0, 1))
        values = [value or math.nan for value, _ in shares]
        measured.append(Series(f"threshold {rule}", levels, values, low=low, high=high, kind="both"))
    return Figure(
        "Soundness: outsiders named, against the rate asked for",
        f"d = {d} fair attributes; released is the sign of each mean over {n} people, which spreads scores "
        f"most; {50 * repeats * outsiders:,} outsiders. Both thresholds keep their promise; the printed one "
        "has level δ² or less (E-RT-1), so it names fewer members as well. Bands: 95 % over runs; 0 is "
        "off the chart.",
        Axis("δ asked for", log=True),
        Axis("share of outsiders named", log=True, low=1e-5, high=1.0),
        (*measured, Series("δ, as promised", levels, levels), Series("δ²", levels, levels**2)),
    )


def _scores(rng: Rng, repeats: int) -> Figure:
    """The scores of members and outsiders in one release, with the thresholds."""
    n, others, d = 50, 250, 60_000
    people = people_of(rng.uniform(-1, 1, d), n + others + 1, rng)
    q = people[:n].mean(axis=0)
    found = ta.trace(q, people[:-1], people[-1:], threshold="hoeffding", delta=DELTA)
    printed = ta.trace(q, people[:1], people[-1:], threshold="paper", delta=DELTA).threshold
    edges = np.histogram_bin_edges(found.scores, bins=30)
    bars = [
        Series(label, edges, np.histogram(scores, edges)[0] / scores.size, kind="histogram")
        for label, scores in (("members", found.scores[:n]), ("outsiders", found.scores[n:]))
    ]
    return Figure(
        "Scores in one release",
        f"{n} members, {others} outsiders, {d:,} exact means, one reference person. Whoever scores to the "
        "right of a threshold is said to be in the data.",
        Axis("score ⟨y − z, q⟩"),
        Axis("share of each group"),
        tuple(bars),
        (
            Rule(float(np.max(found.threshold)), "threshold hoeffding", "x"),
            Rule(float(np.max(printed)), "threshold as printed", "x"),
        ),
    )


def _released(cases: Sequence[NamedCase]) -> Figure:
    """The share of members traced for each kind of release, from the cases."""
    named = {f"{key}, {case['law']}" if key == "known" else key: case for key, case in cases}
    chosen = {words: named[key] for key, words in _RELEASED.items()}
    low, high = zip(*(case["interval"] for case in chosen.values()), strict=True)
    values = [case["value"] for case in chosen.values()]
    return Figure(
        "What gives people away, and what resists",
        "Members traced, by what was released. Where means are known in advance (point mass, two points, "
        "short interval, clumps) an accurate release need not touch the data; differential privacy resists "
        "by design. Whiskers: 95 % over runs, wide where runs are few.",
        Axis("released", categories=tuple(chosen)),
        Axis("share of members traced", low=0.0, high=1.0),
        (Series("members traced", range(len(values)), values, low=low, high=high, kind="points"),),
        (Rule(DELTA, "δ"),),
    )


_FIGURES = (_law, _level, _scores)
