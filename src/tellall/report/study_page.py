"""The pages of a sweep and of a calibration, from their documents alone."""

from __future__ import annotations

from typing import Any

from tellall.experiment.study_verdict import (
    block_calibration_answer,
    calibration_answer,
    no_answers,
    sweep_answer,
)
from tellall.report.block_page import calibrated_blocks, swept_blocks
from tellall.report.html import fill, laid_out
from tellall.report.study_figures import calibration_figures, sweep_figures

__all__ = [
    "render_block_calibration",
    "render_calibration",
    "render_sweep",
]


def render_sweep(document: dict[str, Any]) -> str:
    """The page of a sweep's document: for each release its figures, then its table."""
    found = [
        {
            **release,
            "figures": [laid_out(one) for one in sweep_figures(release, limit=document["limit"])],
            "blocks": swept_blocks(release, document["limit"]),
        }
        for release in document["releases"]
    ]
    most = document.get("exposed_limit")
    answers = [sweep_answer(release, document["limit"], most) for release in document["releases"]]
    return fill("sweep.html", document=document, releases=found, answers=answers)


def render_calibration(document: dict[str, Any]) -> str:
    """The page of a calibration's document: for each release the answer, its figures and what was tried."""
    found = [
        {**release, "figures": [laid_out(one) for one in calibration_figures(release)]}
        for release in document["releases"]
    ]
    most = document.get("exposed_limit")
    found_out = [calibration_answer(release, most) for release in document["releases"]]
    answers = [*found_out, *no_answers(document)]
    return fill("calibrate.html", document=document, answers=answers, **_warned(found))


def render_block_calibration(document: dict[str, Any]) -> str:
    """The page of a calibration of many blocks: one noise for all, then what each block needs."""
    found = [{**release, "view": calibrated_blocks(release)} for release in document["releases"]]
    most = document.get("exposed_limit")
    found_out = [block_calibration_answer(release, most) for release in document["releases"]]
    answers = [*found_out, *no_answers(document)]
    return fill("calibrate_blocks.html", document=document, answers=answers, **_warned(found))


def _warned(releases: list[dict[str, Any]]) -> dict[str, Any]:
    """The releases, and once for all of them the warnings that each has."""
    given = [release["warnings"] for release in releases]
    shared = [line for line in given[0] if all(line in several for several in given)] if given else []
    rest = [
        {**release, "warnings": [line for line in release["warnings"] if line not in shared]}
        for release in releases
    ]
    return {"releases": rest, "warnings": shared}
