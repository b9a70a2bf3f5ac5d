"""The pages of a sweep and of a calibration: what noise stops, and what it costs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from math import isnan
from typing import TypeVar

from tellall.audits.answers import area_calibration_answer, calibration_answer, sweep_answer
from tellall.audits.calibrate import Calibration
from tellall.audits.outcome import columns
from tellall.audits.studies import CalibrationFound, SweepFound
from tellall.audits.study_areas import AreaCalibration, AreaSweep
from tellall.audits.sweep import Sweep, SweepRow
from tellall.audits.verdict import Answer
from tellall.core.amounts import (
    count_of,
    counted,
    digits,
    level,
    percent,
    points,
    unit_of_advantage,
    with_interval,
)
from tellall.report.kit.blocks import (
    Badge,
    Block,
    Box,
    Bullets,
    Drawn,
    Headed,
    Line,
    Listing,
    Paragraph,
    Section,
    Terms,
    render_blocks,
)
from tellall.report.kit.html import laid_out
from tellall.report.recorded import repeat_blocks
from tellall.report.studied_areas import calibrated_area_blocks, swept_area_blocks
from tellall.report.study_figures import calibration_figures, sweep_figures

__all__ = ["render_calibration", "render_sweep"]

_Study = TypeVar("_Study", SweepFound, CalibrationFound)
_Release = TypeVar("_Release", Sweep, Calibration | AreaCalibration)


def render_sweep(found: SweepFound) -> str:
    """The page of a sweep: the answers, then for each release its figures and its table."""
    draws = f"{found.repeats} of each protection"
    repeat = repeat_blocks(found, found.command, found.seed, draws=draws)
    return render_blocks(
        (
            Section("answer", "", _sweep_answers),
            *_release_sections(found.releases, _swept_blocks),
            Section("read", "How to read this", _sweep_reading),
            Section("repeat", "How to repeat this", lambda _: repeat),
        ),
        found,
        title=f"How much noise is enough? {found.data}",
        heading="How much noise is enough?",
        subtitle=f"What protections of {found.data} stop, and what they cost the reader. This page "
        "shows counts and rates, and no person.",
    )


def _release_sections(
    releases: Sequence[_Release], blocks: Callable[[_Release, _Study], Iterable[Block]]
) -> list[Section[_Study]]:
    """A section for each release of a study."""
    return [
        Section(f"release-{place}", release.name or "", partial(blocks, release))
        for place, release in enumerate(releases, 1)
    ]


def _sweep_answers(found: SweepFound) -> list[Block]:
    limit, most = found.limit, found.exposed_limit
    answers = [sweep_answer(release, limit, most) for release in found.releases]
    return [*(Box(one, large=True) for one in answers), Paragraph(found.warning, soft=True)]


def _swept_blocks(release: Sweep, found: SweepFound) -> Iterator[Block]:
    """A release of a sweep: what was published, its figures, every protection."""
    limit, most = found.limit, found.exposed_limit
    unit = (
        f" The secret, {release.secret}, is a real number: the attack's error and its advantage are in "
        "its unit."
        if release.real
        else ""
    )
    statistic = f"{release.statistic[0].upper()}{release.statistic[1:]}"
    yield Paragraph(
        f"{statistic}, from {release.people:,} people; errors and noise in {release.units}.{unit}"
    )
    for figure in sweep_figures(release, limit=limit, exposed_limit=most):
        yield Drawn(laid_out(figure))
    yield Headed("Every protection", _protection_blocks(release))
    left = [f"Left out: {one.name}. {one.reason}" for one in release.skipped]
    if release.untried:
        left.append(
            "Decoders not tried, because they would take too long for this many people: "
            f"{', '.join(release.untried)}. They may find more than this page says."
        )
    if left:
        yield Bullets(left)
    if isinstance(release, AreaSweep):
        yield from swept_area_blocks(release)


def _protection_blocks(release: Sweep) -> list[Block]:
    """Every protection of a sweep with its verdict, what it stops and what it costs."""
    real, models = release.real, release.rows[0].mae_ratio is not None
    promised = any(row.epsilon is not None for row in release.rows)
    gained = (
        "how much closer the attack comes than the strongest baseline, in-sample fit left out"
        if real
        else "people guessed right beyond the strongest baseline, in 100"
    )
    words = [
        f"Advantage: {gained}.",
        "" if real else "Sensitive: people with a sensitive value, proved alone or exposed.",
        "The verdict is on all decoders tried. Mean error: of a planned value, including withheld ones.",
        "Predictions: how many times as far off. Signs: the share that is wrong. Coverage: of 95 % "
        "confidence intervals around the published coefficients."
        if models
        else "",
        "ε: what differential privacy would promise for one row replaced"
        f"{' within its area' if isinstance(release, AreaSweep) else ''}; empty if it promises nothing."
        if promised
        else "",
    ]
    head = [
        "protection",
        "verdict",
        "what decided, and decoder",
        "off by" if real else "right",
        "baseline",
        "advantage [95 %]",
        *([] if real else (one.head for one in columns().values())),
        "mean error",
        *(["predictions", "signs", "coverage"] if models else []),
        "withheld",
        *(["ε"] if promised else []),
    ]
    return [
        Paragraph(" ".join(filter(None, words)), soft=True),
        Listing(
            f"Protections of {release.name}",
            head,
            [_protection_line(row, real, models, promised) for row in release.rows],
            "★: on the frontier",
            left=("verdict", "what decided, and decoder"),
        ),
    ]


def _protection_line(row: SweepRow, real: bool, models: bool, promised: bool) -> Line:
    return Line(
        f"{row.protection}{' ★' if row.frontier else ''}",
        (
            Badge(row.verdict),
            f"{row.decided}, {row.decoder}" if row.decoder else row.decided,
            level(row.accuracy, real),
            level(row.baseline_accuracy, real),
            with_interval(row.advantage, (row.low, row.high), real),
            *([] if real else (counted(getattr(row, name)) for name in columns())),
            digits(row.loss),
            *([digits(row.mae_ratio, 4), _rate(row.sign_flips), _rate(row.coverage)] if models else []),
            _rate(row.missing),
            *(["" if row.epsilon is None else digits(row.epsilon)] if promised else []),
        ),
    )


def _rate(value: float | None) -> str:
    return "–" if value is None else percent(value)


def _sweep_reading(found: SweepFound) -> list[Block]:
    return [
        Bullets(
            [
                "Every protection gets the same random numbers, so differences between protections are not "
                "luck.",
                "The strongest baseline is the best of the guesses made without the person's own record: the "
                "majority, a model from the public columns, and a model fitted to the same release of other "
                "people.",
                "A withheld value is lost, not zero: it counts with the error of guessing it from its public "
                "count.",
            ]
        )
    ]


def render_calibration(found: CalibrationFound) -> str:
    """The page of a calibration: the answers, then for each release how they were found.

    With areas (``by``), the answer is one noise for all, and a table shows what each area needs.
    """
    repeat = repeat_blocks(found, found.command, found.seed)
    by = found.by
    limit = (
        f"{digits(found.max_advantage)} (in the unit of {found.secret})"
        if found.real
        else f"{points(found.max_advantage, '')} people in 100"
    )
    return render_blocks(
        (
            Section("answer", "", _calibration_answers),
            *_release_sections(found.releases, _calibrated_blocks),
            Section("read", "How to read this", _calibration_reading),
            Section("repeat", "How to repeat this", lambda _: repeat),
        ),
        found,
        title=f"The least noise for {found.data}{f', by {by}' if by else ''}",
        heading=f"The least noise that stops the attacks{f' in every {by}' if by else ''}",
        subtitle=f"{found.family} on {found.data}: the least scale at which the advantage of "
        f"every decoder tried stays under {limit} with 95 % confidence"
        f"{', in each area by itself' if by else ''}.",
    )


def _shared_warnings(found: CalibrationFound) -> list[str]:
    given = [release.warnings for release in found.releases]
    return [line for line in given[0] if all(line in several for several in given)] if given else []


def _calibration_answers(found: CalibrationFound) -> list[Block]:
    answers = [_answer(release, found.exposed_limit) for release in found.releases]
    answers += [Answer("fail", "No answer", one.reason, one.name) for one in found.skipped]
    return [
        *(Box(one, large=True) for one in answers),
        *(Paragraph(line, soft=True) for line in _shared_warnings(found)),
    ]


def _answer(release: Calibration | AreaCalibration, exposed_limit: int | None) -> Answer:
    if isinstance(release, AreaCalibration):
        return area_calibration_answer(release, exposed_limit)
    return calibration_answer(release, exposed_limit)


def _calibrated_blocks(release: Calibration | AreaCalibration, found: CalibrationFound) -> Iterator[Block]:
    """A release of a calibration: what its noise costs, its figures, every scale that was tried."""
    shared = _shared_warnings(found)
    if own := [line for line in release.warnings if line not in shared]:
        yield Bullets(own)
    if isinstance(release, AreaCalibration):
        yield from calibrated_area_blocks(release)
        return
    yield Terms(list(_costs(release)))
    for figure in calibration_figures(release, found.exposed_limit):
        yield Drawn(laid_out(figure))
    real = found.real
    unit = unit_of_advantage(real, release.secret)
    table = Listing(
        f"Scales tried for {release.name}",
        (
            "scale",
            "verdict",
            "decoder",
            "off by" if real else "right",
            "advantage [95 %]",
            "sensitive",
            "mean error",
            "what decided",
        ),
        [
            Line(
                digits(row.scale, 4),
                (
                    Badge(row.verdict),
                    row.decoder,
                    level(row.accuracy, real),
                    with_interval(row.advantage, row.interval, real),
                    counted(row.learnt),
                    digits(row.loss),
                    row.decided,
                ),
            )
            for row in release.history
        ],
        f"In the order tried; advantage in {unit}; {count_of(release.draws, 'draw')} of the noise each. "
        "A scale that does not pass is shown with the first decoder that does not. Sensitive: people with a "
        "sensitive value, proved alone or exposed. Mean error: of a planned value, including withheld ones.",
        left=("verdict", "decoder", "what decided"),
    )
    yield Headed("Every scale tried", (table,))


def _costs(release: Calibration) -> Iterator[tuple[str, str]]:
    """What is promised with the least noise, and what it costs the reader."""
    yield "statistic", f"{release.statistic}, from {release.people:,} people"
    promise = release.guarantee
    utility = release.utility
    models = release.coefficients
    if promise:
        epsilon = "∞" if promise.epsilon is None else digits(promise.epsilon, 4)
        delta = f", δ = {promise.delta}" if promise.delta else ""
        if promise.risk:
            yield "promised", promise.risk
        if promise.risk and not release.real:
            yield "achieved so far", f"{points(release.advantage)} in 100, by {release.decoder}"
        yield "guarantee", f"ε = {epsilon}{delta} ({promise.relation}; {promise.text})"
    else:
        yield "guarantee", "none: no differential privacy is promised"
    largest = utility.max_error
    yield "largest error", "–" if isnan(largest) else f"{digits(largest)} {release.units}"
    if models:
        signs, cover = models.sign_flips, models.coverage
        told = [f"predictions {digits(models.mae_ratio, 4)} times as far off"]
        told += [] if isnan(signs) else [f"{percent(signs)} of signs wrong"]
        told += [] if isnan(cover) else [f"95 % confidence intervals cover {percent(cover)}"]
        yield "models", ", ".join(told)
    if not isnan(utility.total_variation):
        yield (
            "tables",
            f"total variation {digits(utility.total_variation)}; Cramér's V off by "
            f"{digits(utility.association_change)} of {digits(utility.association)}",
        )


def _calibration_reading(found: CalibrationFound) -> list[Block]:
    if not found.by:
        return []
    return [
        Bullets(
            [
                "The area that needs most sets the noise for all. It is often a small one, where the "
                "advantage is known least well; the table shows what the others need.",
                "With few people, a small advantage cannot be told from none; such an area has no answer of "
                "its own. Neither has an area where everybody has the same secret: no attack gains anything "
                "there.",
            ]
        )
    ]
