"""The pages of `profile`, `limit` and `bounds`: what is promised, in plain words."""

from __future__ import annotations

from collections.abc import Iterator
from math import exp, isfinite

from tellall.audits.regression_profile import ProfileFound
from tellall.audits.verdict import Answer
from tellall.core.amounts import percent
from tellall.privacy.bounds.table import BoundsFound
from tellall.report.kit.bars import Bar
from tellall.report.kit.blocks import (
    Block,
    Box,
    Bullets,
    Drawn,
    Folded,
    Line,
    Listing,
    Paragraph,
    Section,
    Tile,
    Tiles,
    render_blocks,
)
from tellall.report.kit.html import bar_figure, laid_out
from tellall.report.kit.plot import MOST_SERIES, Axis, Figure, Rule, Series, number
from tellall.report.recorded import repeat_blocks
from tellall.tracing.limit_files import LimitFound

__all__ = ["render_bounds", "render_limit", "render_profile"]

_LEAST = 1e-7  # δ below this is not drawn


# profile


def render_profile(found: ProfileFound) -> str:
    """The page of a profile: δ at every ε, and what that lets an attacker gain."""
    return render_blocks(
        (
            Section("answer", "", _gain_blocks),
            Section("curves", "What is promised at every ε", _curve_blocks),
            Section("common", "ε at common values of δ", _common_blocks),
            Section("methods", "Methods side by side", _method_blocks),
            Section("read", "How to read this", _reading_blocks),
            Section("repeat", "How to repeat this", _repeat_profile),
        ),
        found,
        title=f"What is promised about {found.response}",
        heading=f"What does a private regression of {found.response} promise?",
        subtitle=f"{found.records:,} records. Features: {', '.join(found.columns)}.",
    )


def _repeat_profile(found: ProfileFound) -> list[Block]:
    return repeat_blocks(found, found.repeat or "", found.seed)


def _gain_blocks(found: ProfileFound) -> list[Block]:
    """How well anybody could tell whether the worst record was there."""
    return [
        Tiles(
            [
                Tile(
                    one.method,
                    f"At best {percent(one.told_apart)} right.",
                    (
                        "That is how often somebody who knows every other record can tell whether the most "
                        "exposed one was there, from the coefficients. A coin is right 50 % of the time.",
                    ),
                    "curves",
                )
                for one in found.curves or ()
            ]
        ),
        _rates_listing(found),
    ]


def _rates_listing(found: ProfileFound) -> Listing:
    """What is promised at most beside what an attack on the same data achieved."""
    beliefs = {row.name: row.posterior for row in found.rows}
    rate = percent(found.at_fpr)
    return Listing(
        "Promised at most, achieved so far",
        [
            "method",
            "advantage, promised",
            "advantage, achieved",
            f"named at {rate} wrong, promised",
            f"named at {rate} wrong, achieved",
            f"belief from {percent(found.at_prior)}",
        ],
        [
            Line(
                one.method,
                [
                    percent(one.promised.advantage),
                    percent(one.achieved.advantage),
                    percent(one.promised.tpr),
                    percent(one.achieved.tpr),
                    percent(beliefs[one.method]),
                ],
            )
            for one in found.curves or ()
        ],
        "Promised: no attack of any kind does better about the most exposed record. Achieved: what one "
        "attack on draws is proved to do, with 99 % confidence. Advantage: how much more often the record is "
        "named when it is there than when it is not. Named: how often it is named when it is there, by an "
        f"attack that names it in {rate} of the releases where it is not. Belief: how sure the attack with "
        "the most advantage can be of a record that it names, promised at most.",
    )


def _curve_blocks(found: ProfileFound) -> Iterator[Block]:
    curves = found.curves or ()
    draws = curves[0].estimated.draws
    lines: list[Series] = []
    for style, one in enumerate(curves):
        exact, seen = one.exact, one.estimated.proving()
        lines.append(Series(f"{one.method}, exact", exact.epsilon, exact.delta, style=style))
        lines.append(
            Series(
                f"{one.method}, an attack",
                seen.epsilon,
                seen.delta,
                low=seen.lower,
                high=seen.delta,
                kind="points",
                style=style,
            )
        )
    yield Drawn(
        laid_out(
            Figure(
                "δ against ε",
                "Lower is more private. Lines are exact: no attack of any kind gets above them. Points are "
                f"what one attack got from {draws:,} releases with and without the most exposed record; the "
                "bars go down to what that proves with 99 % confidence. Where it proves nothing, there is no "
                "point.",
                Axis("ε"),
                Axis("δ", log=True, low=_LEAST, high=1.0),
                tuple(lines[:MOST_SERIES]),
            )
        ),
        titled=False,
    )


def _common_blocks(found: ProfileFound) -> list[Block]:
    curves = found.curves or ()
    rows = [
        Line(f"{row[0].delta:g}", [_odds(one.epsilon) for one in row])
        for row in zip(*(one.common for one in curves), strict=True)
    ]
    told = (
        "Read a row as: with probability at least 1 − δ nobody's odds of a right guess grow by more than the "
        "factor in brackets, e^ε, whatever they know already."
    )
    return [Listing("ε at common values of δ", ["δ", *(one.method for one in curves)], rows, told)]


def _odds(epsilon: float) -> str:
    return f"{epsilon:.3g} (odds × {exp(epsilon):.3g})"


def _method_blocks(found: ProfileFound) -> list[Block]:
    head = [
        "method",
        *(f"δ at ε = {e:g}" for e in found.at_epsilons),
        *(f"ε at δ = {d:g}" for d in found.at_deltas),
        "δ = 0 from ε",
        "squared error",
    ]
    rows = [
        Line(
            row.name,
            [_short(v) for v in (*row.deltas, *row.epsilons, row.pure_epsilon, row.error)],
        )
        for row in found.rows
    ]
    return [Listing("Methods", head, rows, "Squared error: of all coefficients together, on average.")]


def _short(value: float | None) -> str:
    return "–" if value is None or not isfinite(value) else f"{value:.3g}"


def _reading_blocks(found: ProfileFound) -> list[Block]:
    return [
        Bullets(
            [
                found.note,
                "The most exposed record is the one with the largest δ at ε = 0: usually one that is far "
                "from all others, or fits badly.",
                "The spread of normal noise is the same with and without the record. Computed afresh from "
                "each data set, the spread alone would tell them apart.",
            ]
        )
    ]


# limit


def render_limit(found: LimitFound) -> str:
    """The page of a limit: how many means can be published before people are traced."""
    return render_blocks(
        (
            Section("answer", "", _most_blocks),
            Section("growth", "The more is published, the more people are traced", _growth_blocks),
            Section("assumed", "What was assumed", _limit_assumed),
            Section("repeat", "How to repeat this", lambda _: repeat_blocks(found, found.repeat, found.seed)),
        ),
        found,
        title=f"How many of {found.frequencies} can be published?",
        heading=f"How many means of {found.frequencies} can be published?",
        subtitle=f"{found.published:,} means over {found.people:,} people.",
    )


def _most_blocks(found: LimitFound) -> list[Block]:
    all_of_them = found.attributes >= found.published
    word = (
        f"All {found.published:,} can be published"
        if all_of_them
        else f"Publish at most {found.attributes:,}"
    )
    return [Box(Answer("pass" if all_of_them else "fail", word, found.sentence, "How many?"), large=True)]


def _growth_blocks(found: LimitFound) -> list[Block]:
    curve = found.curve
    most, rate = found.attributes, percent(found.rate)
    rules = [Rule(100 * found.power, f"limit {percent(found.power)}")]
    rules += [Rule(most, f"at most {most:,}", "x")] if most >= 1 else []
    power, low, high = ([100 * share for share in each] for each in (curve.power, curve.low, curve.high))
    figure = Figure(
        "People traced against means published",
        f"The share of the people in the data whom the attack names, if it may be wrong about {rate} of "
        f"others. Band: 95 % interval over {found.trials:,} simulated releases.",
        Axis("means published", log=True),
        Axis("people traced", "in 100", low=0.0),
        (Series("traced", curve.attributes, power, low=low, high=high),),
        tuple(rules),
    )
    return [Drawn(laid_out(figure), titled=False)]


def _limit_assumed(found: LimitFound) -> list[Block]:
    done = [
        f"Each mean is rounded to multiples of {found.base:g}." if found.base else "",
        f"Normal noise of spread {found.std:g} is added to each mean." if found.std else "",
        f"The means are those of a share of {found.subsample:g} of the people." if found.subsample else "",
    ]
    return [
        Bullets(
            [
                f"The attacker has somebody's attributes and {found.reference_people:,} other people "
                f"of the same population, and uses the attack “{found.attack}”.",
                "Attributes are independent. If they are correlated, as neighbours on a genome are, the "
                "simulation does not hold; tellall trace measures what an attack achieves there.",
                *filter(None, done),
            ]
        )
    ]


# bounds


def render_bounds(found: BoundsFound) -> str:
    """The page of bounds: the noise that tables need, and the noise that is enough."""
    return render_blocks(
        (
            Section("answer", "", _noise_blocks),
            Section("noise", "Noise per cell", _bar_blocks),
            Section("guess", "What could still be guessed", _guess_blocks),
            Section("rates", "How the noise grows", _rate_blocks),
            Section("repeat", "How to repeat this", lambda _: repeat_blocks(found, found.repeat)),
        ),
        found,
        title="How much noise do tables need?",
        heading=f"How much noise do all {found.k}-way tables need?",
        subtitle=(
            f"{found.n:,} people with {found.d:,} yes/no attributes; "
            f"ε = {found.epsilon:g}, δ = {found.delta:g}, one row replaced. "
            "Theorems, before any data."
        ),
    )


def _noise_blocks(found: BoundsFound) -> list[Block]:
    least, noise = found.least_noise.per_cell, found.gaussian
    enough = noise.std if noise.std is not None else noise.laplace_std
    kind = "normal" if noise.std is not None else "Laplace"
    return [
        Tiles(
            [
                Tile(
                    "What is too little?",
                    f"Less than {number(least)} per cell.",
                    (
                        "No noise that is the same for all data, whatever its shape, keeps this promise with "
                        "less. This is proved, with no unknown constant.",
                    ),
                    "noise",
                ),
                Tile(
                    "What is enough?",
                    f"{kind.capitalize()} noise of {number(enough)} per cell.",
                    ("Every published count is then off by about that much.",),
                    "noise",
                ),
            ]
        )
    ]


def _bar_blocks(found: BoundsFound) -> Iterator[Block]:
    noise, half = found.gaussian, found.sampled
    rows: list[tuple[str, float | None, str]] = [
        ("at least, for noise that is the same for all data", found.least_noise.per_cell, "fail"),
        ("tables of half the people, which promise nothing", half.rms if half else None, "review"),
        ("normal noise that is enough", noise.std, "pass"),
    ]
    chart = bar_figure(
        "Noise per cell",
        "Standard deviations, in people. With less noise than the first bar, no such release is private.",
        [Bar(label, value, number(value), kind) for label, value, kind in rows if value],
        None,
        "people",
    )
    if chart is not None:
        yield Drawn(chart, titled=False)
    if noise.largest is not None:
        yield Paragraph(
            f"With {percent(1 - noise.failure)} probability no cell is off by more than "
            f"{number(noise.largest)} under normal noise. Laplace noise, which promises the same with "
            f"δ = 0, needs {number(noise.laplace_std)}."
        )


def _guess_blocks(found: BoundsFound) -> list[Block]:
    guess = found.row_guess
    says = "says nothing here" if guess >= 1 else f"is at most {percent(guess)}"
    return [
        Bullets(
            [
                f"Before any release a row is guessed right with probability {percent(found.prior_guess)}.",
                "The bound on naming a row that was guessed with probability 2/3 before "
                f"{says} (contingency-tables, Lemma B.2).",
            ]
        )
    ]


def _rate_blocks(found: BoundsFound) -> list[Block]:
    rows = [
        Line(
            row.guarantee,
            (row.side, _short(row.plain), _short(row.logged), row.formula, row.citation),
        )
        for row in found.rows
    ]
    return [
        Folded(
            "The paper's table of rates, whose constants are unknown",
            (
                Listing(
                    "Rates",
                    ("guarantee", "side", "without logs", "with logs", "formula", "where"),
                    rows,
                    "contingency-tables, Table 1. These say how noise grows, not how large it is.",
                    left=("side", "formula", "where"),
                ),
            ),
        )
    ]
