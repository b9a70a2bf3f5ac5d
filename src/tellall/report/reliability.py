"""How far an attack's confidence can be trusted: said 95 %, right how often; a small chart per decoder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tellall.core.amounts import percent
from tellall.core.intervals import clopper_pearson
from tellall.report.marks import LINE, SLIM, Chart, Mark, Scale, element, stroke, written

__all__ = [
    "reliability_view",
]

Bin = dict[str, Any]
_HEIGHT, _TOP, _LEFT, _RIGHT = 150.0, 26.0, 44.0, 8.0
_CAPTION = (
    "Guesses by how sure the attack said it was. The box is what it said, the dot how many of these guesses "
    "were right, the line its 95 % interval. A dot below its box: the attack is too sure of itself."
)


def reliability_view(document: dict[str, Any]) -> dict[str, Any] | None:
    """The decoders of the worst set of releases, side by side; None where no confidence was counted."""
    worst = next((row for row in document["findings"] if row["name"] == document["worst"]), None)
    tried = [one for one in worst["decoders"] if one["reliability"]] if worst else []
    if not tried or worst is None:
        return None
    return {
        "name": worst["name"],
        "caption": _CAPTION,
        "decoders": [
            {
                "name": one["decoder"],
                "title": f"Said and right: {one['decoder']}",
                "caption": _CAPTION,
                "charts": [draw_bins(one["reliability"])],
                "rows": [
                    (_said(part), f"{part['said']:,}", f"{part['right']:,}", percent(_share(part)))
                    for part in one["reliability"]
                ],
            }
            for one in tried
        ],
    }


def draw_bins(bins: Sequence[Bin], width: float = SLIM) -> Chart:
    """A column for each range of confidences: a box for what was said, a dot for how many were right."""
    ends = [_interval(part) for part in bins]
    lowest = min(0.5, *(part["low"] for part in bins), *(low for low, _ in ends))
    bottom = _TOP + _HEIGHT
    scale = Scale(0.25 * (4 * lowest // 1), 1.0, bottom, _TOP)
    step = (width - _LEFT - _RIGHT) / len(bins)
    columns: list[Mark] = []
    for index, (part, interval) in enumerate(zip(bins, ends, strict=True)):
        columns += _column(part, interval, scale, _LEFT + step * (index + 0.5), step)
    quarters = [share / 4 for share in range(5) if share / 4 >= scale.low]
    return Chart(
        width,
        bottom + 4 * LINE - 4,
        (
            *(mark for share in quarters for mark in _level(share, scale, width)),
            *columns,
            written("soft-word", 4, 14, "right, %"),
            written(
                "middle soft-word",
                (_LEFT + width) / 2,
                bottom + 3 * LINE + 4,
                "said, %; below it how many guesses",
            ),
        ),
    )


def _column(
    part: Bin, interval: tuple[float, float], scale: Scale, middle: float, step: float
) -> Iterator[Mark]:
    half, foot = 0.36 * step, scale.start
    top, low = scale(part["high"]), scale(max(part["low"], scale.low))
    yield element("rect", "said", x=middle - half, y=top, width=2 * half, height=max(low - top, 3.0))
    under, over = (scale(end) for end in interval)
    yield element(
        "path",
        "bar-of c0",
        d=f"M{middle:g} {over:g}V{under:g}M{middle - 4:g} {over:g}h8M{middle - 4:g} {under:g}h8",
    )
    yield element("circle", "m0", cx=middle, cy=scale(_share(part)), r=4)
    yield written("middle", middle, foot + LINE, _range(part))
    yield written("middle soft-word", middle, foot + 2 * LINE, f"{part['said']:,}")


def _level(share: float, scale: Scale, width: float) -> Iterator[Mark]:
    yield stroke("grid", _LEFT, scale(share), width - _RIGHT, scale(share))
    yield written("end", _LEFT - 6, scale(share) + 4, f"{100 * share:g}")


def _share(part: Bin) -> float:
    return float(part["right"] / part["said"])


def _interval(part: Bin) -> tuple[float, float]:
    low, high = clopper_pearson(part["right"], part["said"])
    return float(low), float(high)


def _range(part: Bin) -> str:
    return f"{100 * part['low']:g}–{100 * part['high']:g}"


def _said(part: Bin) -> str:
    return f"{_range(part)} %"
