"""robust-tracing, drawn: the n² law, the level of the thresholds, the scores, and what resists."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tellall.algebra.operators.base import Array
from tellall.attack.trace.strength import tracing_plan
from tellall.attack.trace.trace import trace
from tellall.papers.simulated import share_of
from tellall.report.paper import Statement
from tellall.report.plot import Axis, Figure, Rule, Series

__all__ = [
    "DELTA",
    "figures",
    "people_of",
]

DELTA = 0.05
Signs = npt.NDArray[np.int8]
_RELEASED = {  # statement → its words in the figure of what was released
    "completeness": "exact means",
    "high power, symmetric": "rounded to 1/4",
    "Gaussian data": "real attributes",
    "fewer statistics with a pool": "exact, few means, pool",
    "not strong, not traced: point mass": "known: point mass",
    "not strong, not traced: two points": "known: two points",
    "not strong, not traced: short interval": "known: short interval",
    "not strong, not traced: separated clumps": "known: clumps",
    "differential privacy resists": "private, ε = 1",
}


def figures(found: Sequence[Statement], rng: np.random.Generator, *, repeats: int) -> tuple[Figure, ...]:
    """The four figures; the last is drawn from the statements."""
    return _law(rng, repeats), _level(rng, repeats), _scores(rng), _released(found)


def people_of(p: Array, count: int, rng: np.random.Generator) -> Signs:
    """People in {−1, +1} whose attribute j has mean p_j."""
    return np.where(rng.random((count, p.size), dtype=np.float32) < (1 + p) / 2, 1, -1).astype(np.int8)


def _law(rng: np.random.Generator, repeats: int) -> Figure:
    """Members traced against d/n², for several n: the curves fall on one another."""
    series = []
    most = math.ceil(tracing_plan(1, 2 / 3, 0.0, DELTA).attributes)
    ratios = np.geomspace(2, most, 12)
    for n in (5, 10, 20):
        counts = np.ceil(ratios * n**2).astype(int)
        rates = np.zeros((repeats, counts.size))
        for run in range(repeats):
            people = people_of(rng.uniform(-1, 1, counts[-1]), n + 1, rng)
            for place, d in enumerate(counts):
                some = people[:, :d]
                found = trace(some[:n].mean(axis=0), some[:n], some[n:], threshold="hoeffding", delta=DELTA)
                rates[run, place] = found.traced / n
        shares = [share_of(column) for column in rates.T]
        series.append(
            Series(
                f"n = {n}",
                ratios,
                [value for value, _ in shares],
                low=[low for _, (low, _) in shares],
                high=[high for _, (_, high) in shares],
                kind="both",
            )
        )
    return Figure(
        "The n² law: members traced from exact means",
        "One reference person, threshold “hoeffding”, means uniform on [−1, 1]. Plotted against d/n² the "
        "curves for different n fall on one another; the theorem promises all members at the upright line. "
        f"Bands: 95 % over {repeats} runs.",
        Axis("attributes released / n²", log=True),
        Axis("share of members traced", low=0.0, high=1.0),
        tuple(series),
        (Rule(most, "Prop. 13: 32 ln(1/δ)/γ²", "x"), Rule(1 - DELTA, "1 − δ")),
    )


def _level(rng: np.random.Generator, repeats: int) -> Figure:
    """How often outsiders are named, against the δ asked for, by the release that makes it likeliest."""
    d, n, outsiders = 500, 10, 20
    p_values: dict[str, list[Array]] = {"hoeffding": [], "paper": []}
    for _ in range(50 * repeats):
        people = people_of(np.zeros(d), n + outsiders + 1, rng)
        q = np.where(people[:n].mean(axis=0) >= 0, 1.0, -1.0)
        for rule, seen in p_values.items():
            seen.append(trace(q, people[n:-1], people[-1:], threshold=rule, delta=DELTA).p_values)
    levels = np.geomspace(0.005, 0.9, 25)
    asked = [Series("δ, as promised", levels, levels), Series("δ²", levels, levels**2)]
    measured = []
    for rule, seen in p_values.items():
        runs = (np.stack(seen)[:, :, None] <= levels).mean(axis=1)
        shares = [share_of(column) for column in runs.T]
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
        (*measured, *asked),
    )


def _scores(rng: np.random.Generator) -> Figure:
    """The scores of members and outsiders in one release, with the thresholds."""
    n, others, d = 50, 250, 60_000
    people = people_of(rng.uniform(-1, 1, d), n + others + 1, rng)
    q = people[:n].mean(axis=0)
    found = trace(q, people[:-1], people[-1:], threshold="hoeffding", delta=DELTA)
    printed = trace(q, people[:1], people[-1:], threshold="paper", delta=DELTA).threshold
    inside, outside = found.scores[:n], found.scores[n:]
    edges = np.histogram_bin_edges(found.scores, bins=30)
    bars = [
        Series(label, edges, np.histogram(scores, edges)[0] / scores.size, kind="histogram")
        for label, scores in (("members", inside), ("outsiders", outside))
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


def _released(found: Sequence[Statement]) -> Figure:
    """Members traced by what was released, from the statements."""
    chosen: dict[str, Statement] = {}
    for statement in found:
        if statement.what in _RELEASED:
            chosen[_RELEASED[statement.what]] = statement
    values = [statement.value or 0.0 for statement in chosen.values()]
    ends = [
        statement.interval or (value, value) for statement, value in zip(chosen.values(), values, strict=True)
    ]
    return Figure(
        "What gives people away, and what resists",
        "Members traced, by what was released. Where means are known in advance (point mass, two points, "
        "short interval, clumps) an accurate release need not touch the data; differential privacy resists "
        "by design. Whiskers: 95 % over runs, wide where runs are few.",
        Axis("released", categories=tuple(chosen)),
        Axis("share of members traced", low=0.0, high=1.0),
        (
            Series(
                "members traced",
                range(len(values)),
                values,
                low=[low for low, _ in ends],
                high=[high for _, high in ends],
                kind="points",
            ),
        ),
        (Rule(DELTA, "δ"),),
    )
