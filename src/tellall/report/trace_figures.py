"""The figures of a tracing: its ROC curve, its growth with the number of means, its scores."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tellall.linalg.operators.linear_operator import Array
from tellall.report.kit.plot import Axis, Figure, Rule, Series
from tellall.tracing.release_limit import ReleaseLimit
from tellall.tracing.trace import Tracing
from tellall.tracing.tracing_risk import TracingGrowth, TracingRisk, score_tracing

__all__ = [
    "tracing_figures",
]

_MANY = 200  # with this many outsiders small rates are seen, and both scales are logarithmic
Truth = npt.NDArray[np.bool_]


def tracing_figures(
    tracing: Tracing,
    *,
    truth: Truth | None = None,
    growth: TracingGrowth | None = None,
    limit: ReleaseLimit | None = None,
    reveal: bool = False,
) -> tuple[Figure, ...]:
    """Draws the ROC curve (if membership is known), the growth (if given) and the scores; names no person.

    Notes
    -----
    Members and others are drawn apart only with `reveal`: whoever knows a person's score could read from a
    bar of members alone that the person is one. The simulated limit is drawn with the growth.
    """
    drawn = [] if truth is None else [_roc(score_tracing(tracing, truth))]
    drawn += [] if growth is None else [_growing(growth, truth, limit, tracing.delta)]
    return (*drawn, _scores(tracing, truth if reveal else None))


def _roc(risk: TracingRisk) -> Figure:
    curve = risk.roc()
    fine = risk.others >= _MANY
    low, least = (0.5 / risk.others, 0.5 / risk.members) if fine else (0.0, 0.0)
    chance = np.geomspace(max(low, 1e-6), 1, 60) if fine else np.array([0.0, 1.0])
    x = np.concatenate([[0.0], curve["false_positive_rate"]])
    bands = [np.concatenate([[0.0], curve[name]]) for name in ("true_low", "true_high")]
    return Figure(
        "How well the attack tells members and others apart",
        f"ROC curve over {risk.members:,} members and {risk.others:,} others: the share of members above a "
        "score against the share of others above it. The further above the line of chance, the more the "
        "means give away. Band: pointwise 95 % interval of the members' share.",
        Axis("share of others named", log=fine, low=low, high=1.0),
        Axis("share of members named", log=fine, low=least, high=1.0),
        (
            Series(
                f"this attack (AUC {risk.auc.value:.3f})",
                x,
                np.concatenate([[0.0], curve["true_positive_rate"]]),
                low=bands[0],
                high=bands[1],
            ),
            Series("chance", chance, chance),
        ),
    )


def _growing(growth: TracingGrowth, truth: Truth | None, limit: ReleaseLimit | None, delta: float) -> Figure:
    counts = growth.counts
    if truth is None:
        series = [Series("targets named", counts, growth.named, kind="both")]
        whom = "Share of the targets named"
    else:
        risks = [score_tracing(tracing, truth) for tracing in growth.tracings]
        series = []
        for label, shares in (
            ("members named", [risk.true_positive_rate for risk in risks]),
            ("others named", [risk.false_positive_rate for risk in risks]),
        ):
            low, high = [share.low for share in shares], [share.high for share in shares]
            values = [share.value for share in shares]
            style = len(series)
            series.append(Series(label, counts, values, low=low, high=high, kind="points", style=style))
        whom = "Shares of members and others named, with 95 % intervals"
    words = ""
    if limit is not None:
        seen = limit.counts >= counts[0]
        series.append(
            Series(
                "members named, simulated",
                limit.counts[seen],
                limit.power[seen],
                low=limit.low[seen],
                high=limit.high[seen],
                style=0,  # the colour of what it predicts
            )
        )
        words = (
            " Simulated: the power at that rate if attributes were independent, with the observed "
            "frequencies, exact means and as many people; band: 95 %."
        )
    return Figure(
        "Power against the number of attributes",
        f"{whom} at a false-positive rate of {delta:g}, from random choices of the published means.{words}",
        Axis("attributes used", log=True),
        Axis("share named", low=0.0, high=1.0),
        tuple(series),
        (Rule(delta, f"by chance: {delta:g}"),),
    )


def _scores(tracing: Tracing, truth: Truth | None) -> Figure:
    groups: dict[str, Array] = {}
    if truth is not None:
        groups = {"members": tracing.scores[truth], "others": tracing.scores[~truth]}
    else:
        groups["targets"] = tracing.scores
    if tracing.reference_scores is not None:
        groups["reference people"] = tracing.reference_scores
    every = np.concatenate(list(groups.values()))
    edges = np.histogram_bin_edges(every, bins=int(np.clip(2 * np.sqrt(every.size), 8, 40)))
    limits = np.asarray(tracing.threshold, dtype=np.float64)
    middle = float(np.median(limits))
    each = " (the median; each target has its own)" if limits.ndim else ""
    beyond = ""
    if tracing.reference_scores is not None:
        beyond = (
            " Reference people were not in the data: where the other groups reach beyond them, the means "
            "give people away."
        )
    secret = ""
    if truth is not None:
        secret = " SECRET: whoever knows a person's score can read here whether they were in the data."
    return Figure(
        "Scores",
        f"A larger score is stronger evidence of having been in the data.{beyond}{secret}",
        Axis("score"),
        Axis("share of each group", low=0.0),
        tuple(
            Series(
                f"{label} ({scores.size:,})",
                edges,
                np.histogram(scores, edges)[0] / scores.size,
                kind="histogram",
            )
            for label, scores in groups.items()
        ),
        (Rule(middle, f"threshold{each}", "x"),) if np.isfinite(middle) else (),
    )
