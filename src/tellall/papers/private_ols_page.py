"""private-ols, written: what its two figures say as statements, and the figures drawn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from math import exp, sqrt
from typing import TYPE_CHECKING

from tellall.report.paper import PaperRerun, Statement, Verdict
from tellall.report.plot import Axis, Figure, Rule, Series, number

if TYPE_CHECKING:
    from tellall.papers.private_ols import Figure2, Figure3, Growth

__all__ = [
    "written",
]

_FLOOR = 1e-10  # below this a δ is off the chart
_SAME = 0.1  # "does not depend on the size": within a tenth


def written(
    twos: Sequence[Figure2], threes: Sequence[Figure3], grown: Growth, *, seed: int | None, quick: bool
) -> PaperRerun:
    """The rerun as statements and figures."""
    statements = [
        *(statement for two in twos for statement in _trade_off(two)),
        *_growth(grown),
        *(statement for three in threes for statement in _black_box(three)),
        *(_limit(two) for two in twos),
    ]
    return PaperRerun(
        name="private-ols",
        title="Privacy-utility tradeoff of OLS with random projections",
        reference="Lu, Magdon-Ismail, Wei, Zikas",
        statements=tuple(statements),
        figures=(*map(_drawn_2, twos), *map(_drawn_3, threes), _drawn_rate(twos)),
        notes=_NOTES,
        seed=seed,
        quick=quick,
        details={"figure_2": [asdict(two) for two in twos], "figure_3": [asdict(three) for three in threes]},
    )


_NOTES = (
    "The paper prints its figures without numbers, so statements are compared, not curves.",
    "Neighbours: one row zeroed. Every δ is that of the worst record, in the worse direction.",
    "Error is the expected squared distance from the exact coefficients, bias included; the paper's words "
    "are “the sum of the variance of each coordinate”. An error above ‖x‖² is worse than always answering 0.",
    "Projected least squares is padded for (ε, 1/n) by the exact minimum (E-PO-3) with the largest row norm "
    "as its bound, as in the paper, which makes the bound itself not private.",
)


def _trade_off(two: Figure2) -> Iterator[Statement]:
    """Sec. 5: “ALS has the best privacy-utility trade-off in both cases”."""
    where, papers = "Fig. 2, Sec. 5", "the sketch (ALS) has the best privacy-utility trade-off"
    for law, sketched in (("exact law", two.sketched), ("the paper's normal limit", two.sketched_normal)):
        better = sum(a <= b for a, b in zip(sketched, two.gaussian, strict=True))
        verdict: Verdict = "holds" if better == len(sketched) else "does not hold"
        yield Statement(
            "the sketch against Gaussian noise of equal error",
            where,
            papers,
            f"its δ is the smaller at {better} of {len(sketched)} errors",
            verdict,
            f"{two.data}, ε = {two.epsilon:g}, {law}",
        )
    useful = [error for error in two.projected_error if error < 0.99 * two.nothing]
    yield Statement(
        "the sketch against a projection of padded data (RP LS), where answers are of use",
        where,
        papers,
        f"the projection's error is {number(min(two.projected_error))} or more, where always answering 0 has "
        f"{number(two.nothing)}; the sketch goes down to {number(min(two.error))}",
        "does not hold" if useful else "holds",
        f"{two.data}, ε = {two.epsilon:g}, {two.rows[0]} to {two.rows[-1]:,} rows",
    )


def _growth(grown: Growth) -> Iterator[Statement]:
    """Sec. 5: what more records change."""
    setting = f"{grown.data}, a random {grown.part:,} of {grown.n:,} records beside all"
    where = "Sec. 5"
    for name, (part, whole) in (("sketch", grown.sketched), ("Gaussian noise", grown.gaussian)):
        yield Statement(
            f"more records, better privacy: {name}",
            where,
            "the larger the data set, the better",
            f"δ {number(part)} with a part, {number(whole)} with all",
            "holds" if whole <= part else "does not hold",
            setting,
            whole,
            part,
        )
    part, whole = grown.projected_error
    yield Statement(
        "the error of RP LS does not depend on the number of records",
        where,
        "not dependent on the database size",
        f"error {number(part)} with a part, {number(whole)} with all",
        "holds" if abs(whole / part - 1) <= _SAME else "does not hold",
        setting,
        whole / part,
        1.0,
    )


def _black_box(three: Figure3) -> Iterator[Statement]:
    """Fig. 3: the estimates approach the theory from below."""
    setting = f"{three.data}, sketch of {three.rows:,} rows, {three.draws:,} test draws on each side"
    above = sum(a > b for a, b in zip(three.lower, three.exact, strict=True))
    yield Statement(
        "the black box stays below the theory",
        "Fig. 3",
        "estimates converge to the theory from below",
        f"{above} of {len(three.lower)} lower bounds (99 % for all together) exceed the exact δ",
        "does not hold" if above else "holds",
        setting,
    )
    # a difference of two shares, one weighted by e^ε: its standard error is at most this
    spread = [sqrt((1 + exp(2 * eps)) / (4 * three.draws)) for eps in three.epsilon]
    apart = [a - b for a, b in zip(three.estimate, three.exact, strict=True)]
    near = all(abs(gap) <= 5 * error for gap, error in zip(apart, spread, strict=True))
    yield Statement(
        "the black box recovers the profile",
        "Fig. 3",
        "the theoretical spectrum is recovered",
        f"estimates differ from the exact δ by {number(max(map(abs, apart)))} at most, "
        f"{'within' if near else 'beyond'} five standard errors",
        "holds" if near else "does not hold",
        setting,
    )


def _limit(two: Figure2) -> Statement:
    """Lemma 1 is a limit: how far from it the sketches here are."""
    ratio = [b / a for a, b in zip(two.sketched, two.sketched_normal, strict=True) if a > 0]
    return Statement(
        "the normal limit for a finite sketch",
        "Lemma 1",
        "the output is normal as the sketch grows",
        f"its δ is {ratio[0]:.3g} × the exact one at {two.rows[0]} rows, "
        f"{ratio[-1]:.6g} × at {two.rows[-1]:,}",
        "no promise",
        f"{two.data}, ε = {two.epsilon:g}; the exact law is a Student t",
    )


def _drawn_2(two: Figure2) -> Figure:
    hidden = sum(delta < _FLOOR for delta in two.projected)
    return Figure(
        f"Figure 2, {two.data}: privacy against error",
        "Lower and further left is better. The sketch is drawn with the paper's normal limit and with the "
        "exact law; Gaussian noise has the error of the sketch above it; the projection has as many rows. To "
        "the right of the upright line always answering 0 would be better. Off the chart: the projection's δ "
        f"at {hidden} of {len(two.projected)} numbers of rows.",
        Axis("expected squared error of the coefficients", log=True),
        Axis(f"δ at ε = {two.epsilon:g}", log=True, low=_FLOOR, high=1.0),
        (
            Series("sketch, exact law", two.error, two.sketched, kind="both"),
            Series("sketch, the paper's normal limit", two.error, two.sketched_normal),
            Series("Gaussian noise of equal error", two.error, two.gaussian, kind="both"),
            Series("projection of padded data", two.projected_error, two.projected, kind="points"),
        ),
        (Rule(two.nothing, "always answering 0", "x"),),
    )


def _drawn_3(three: Figure3) -> Figure:
    seen = [value if value > 0 else float("nan") for value in three.estimate]
    return Figure(
        f"Figure 3, {three.data}: black box against theory",
        f"A sketch of {three.rows:,} rows, the worst record zeroed. Whiskers reach down to the 99 % lower "
        "bound, off the chart where it is 0; estimates at or below zero are left out. The exact δ is 0 from "
        f"ε = {three.pure:.3g} on, that of the normal limit never.",
        Axis("ε"),
        Axis("δ", log=True, low=_lowest(three)),
        (
            Series("exact law", three.curve_epsilon, three.curve_exact),
            Series("the paper's normal limit", three.curve_epsilon, three.curve_normal),
            Series("black box", three.epsilon, seen, low=three.lower, high=seen, kind="points"),
        ),
    )


def _lowest(three: Figure3) -> float:
    """A little under the least value: below it there is nothing to compare."""
    return max(_FLOOR, 0.3 * min([1.0, *(v for v in (*three.estimate, *three.exact) if v > 1e-9)]))


def _drawn_rate(twos: Sequence[Figure2]) -> Figure:
    series = []
    for two in twos:
        apart = [
            abs(b / a - 1) if a > 0 else float("nan")
            for a, b in zip(two.sketched, two.sketched_normal, strict=True)
        ]
        series.append(Series(f"{two.data}, ε = {two.epsilon:g}", two.rows, apart, kind="both"))
    rows = (min(two.rows[0] for two in twos), max(two.rows[-1] for two in twos))
    series.append(Series("10/rows", rows, [10 / r for r in rows]))
    return Figure(
        "How fast the paper's limit is reached",
        "The relative distance between the paper's normal limit and the exact law: it falls at least as fast "
        "as one over the rows of the sketch.",
        Axis("rows of the sketch", log=True),
        Axis("|δ normal / δ exact − 1|", log=True),
        tuple(series),
    )
