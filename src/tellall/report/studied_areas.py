"""The areas of sweeps and calibrations, on pages and terminals: the worst of them, and those left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text

from tellall.audits.answers import least_enough, worst_row
from tellall.audits.study_areas import AreaAnswer, AreaCalibration, AreaSweep, CalibratedArea, SweptArea
from tellall.audits.sweep import Sweep
from tellall.audits.verdict import area_name
from tellall.core.amounts import count_of, counted, digits, percent, with_interval
from tellall.report.areas_page import SHOWN, area_cell
from tellall.report.kit.blocks import Block, Bullets, Headed, Line, Listing, Paragraph
from tellall.report.terminal import fitted, sweep_text

__all__ = ["calibrated_area_blocks", "swept_area_blocks", "swept_lines", "swept_text"]

_LINES = 10


def swept_text(release: Sweep, limit: float, exposed_limit: int | None) -> list[Text | str]:
    """The answer of a sweep and its protections, and of areas the worst; 80 columns wide."""
    areas = swept_lines(release) if isinstance(release, AreaSweep) else []
    return [*sweep_text(release, limit, exposed_limit), *areas]


def swept_lines(release: AreaSweep) -> list[str]:
    """The worst areas of a sweep in lines for a terminal; narrow enough for 80 columns."""
    measured = _measured(release)
    head = [area_cell(area_name(release.by)), "people", "worst", "advantage [95 %]", "exposed", "passes"]
    body = [[area_cell(area_name(area.name)), *_worst(area)] for area in measured[:_LINES]]
    more, missing = len(measured) - len(body), len(release.areas) - len(measured)
    left_out = f", {missing:,} of them not measured" if missing else ""
    whole = f"{release.people:,} people in {count_of(len(release.areas), 'area')} by {area_name(release.by)}"
    return [
        f"{whole}{left_out}",
        *fitted([head, *body]),
        *([f"... and {count_of(more, 'more area')}"] if more > 0 else []),
    ]


def _measured(release: AreaSweep) -> list[SweptArea]:
    return [area for area in release.areas if area.rows]


def _worst(area: SweptArea, *, rates: bool = False) -> list[str]:
    """The people of an area, its row of largest advantage, and a protection that is enough there."""
    worst, enough = worst_row(area), least_enough(area.rows)
    return [
        f"{area.people:,}",
        f"{worst.protection}, {worst.decoder}",
        *([percent(worst.accuracy), percent(worst.baseline_accuracy)] if rates else []),
        with_interval(worst.advantage, (worst.low, worst.high)),
        counted(worst.exposed),
        "none of these" if enough is None else enough.protection,
    ]


def swept_area_blocks(release: AreaSweep) -> Iterator[Block]:
    """The areas of a release of a sweep."""
    measured = _measured(release)
    head = (
        release.by,
        "people",
        "worst protection",
        "right",
        "guess",
        "advantage [95 %]",
        "exposed",
        "enough",
    )
    shown: list[Block] = [
        Paragraph(
            f"Everything is published for each {release.by} separately; {len(measured):,} of "
            f"{count_of(len(release.areas), 'area was', 'areas were')} measured. The numbers above are about "
            "all their people together."
        ),
        Listing(
            f"Areas of {release.name}",
            head,
            [Line(area_name(area.name), _worst(area, rates=True)) for area in measured[:SHOWN]],
            "The worst come first, each with the protection and decoder whose interval lies highest there. "
            "Enough: of the protections tried, the one with the least error that keeps every decoder under "
            "the limit in this area with 95 % confidence. An area without one may be too small to tell.",
            left=("worst protection", "enough"),
        ),
        *_more(len(measured), "sweep.json"),
        *_left_out(release.areas, release.by),
    ]
    yield Headed(f"Area by area: {release.by}", shown)


def calibrated_area_blocks(release: AreaCalibration) -> Iterator[Block]:
    """What each area of a release of a calibration needs."""
    answered = [(area, area.answer) for area in release.areas if area.answer is not None]
    yield Listing(
        f"Areas of {release.name}",
        (release.by, "people", "least noise", "right", "guess", "advantage [95 %]", "mean error"),
        [_needed(area, answer) for area, answer in answered[:SHOWN]],
        "What each area needs by itself, the most first; advantage in people in 100 there.",
        left=("least noise",),
    )
    yield from _more(len(answered), "calibrate.json")
    yield from _left_out(release.areas, release.by)


def _needed(area: CalibratedArea, answer: AreaAnswer) -> Line:
    return Line(
        area_name(area.name),
        (
            f"{area.people:,}",
            answer.protection if answer.scale else "none",
            percent(answer.accuracy),
            percent(answer.baseline_accuracy),
            with_interval(answer.advantage, answer.interval),
            digits(answer.loss),
        ),
    )


def _more(count: int, file: str) -> Iterator[Block]:
    if count > SHOWN:
        are = count_of(count - SHOWN, "more area is", "more areas are")
        yield Paragraph(f"{are} in {file}.", soft=True)


def _left_out(areas: Sequence[SweptArea | CalibratedArea], by: str) -> Iterator[Block]:
    """The areas without an answer, with the reasons."""
    left_out = [area for area in areas if area.reason is not None]
    if left_out:
        more = [f"… and {len(left_out) - SHOWN:,} more."] if len(left_out) > SHOWN else []
        reasons = [f"{by} {area_name(area.name)}: {area.reason}" for area in left_out[:SHOWN]]
        yield Headed("Areas without an answer", (Bullets([*reasons, *more]),))
