"""How far an attack's confidence can be trusted: said 95 %, right how often; a small chart per decoder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tellall.audits.document import AuditDocument
from tellall.audits.findings import DecoderFound, FindingDocument
from tellall.audits.measures.reliability import Bin
from tellall.audits.outcome import Outcome, columns
from tellall.core.amounts import count_of, counted, level, percent, with_interval
from tellall.core.intervals import clopper_pearson
from tellall.linalg.solvers.solution import SETTLED
from tellall.report.kit.blocks import Block, Headed, Line, Listing, Paragraph, Pictures
from tellall.report.kit.marks import LINE, SLIM, Chart, Mark, Scale, element, stroke, written
from tellall.report.release_rows import Unit, shares

__all__ = [
    "draw_bins",
    "trust_blocks",
    "unsettled",
]

_HEIGHT = 150.0
_TOP = 26.0
_LEFT = 44.0
_RIGHT = 8.0
_CAPTION = (
    "Guesses by how sure the attack said it was. The box is what it said, the dot how many of these guesses "
    "were right, the line its 95 % interval. A dot below its box: the attack is too sure of itself."
)


def unsettled(status: object, codes: Sequence[str]) -> str:
    """How an attack ended, if its answer is not settled; empty if it is."""
    said = str(status)
    return said if codes or said not in SETTLED else ""


def trust_blocks(document: AuditDocument) -> Iterator[Block]:
    """How far to trust the attacks: said and right, decoders side by side, draws."""
    worst = next((row for row in document.findings if row.name == document.worst), None)
    if worst is None:
        return
    counted = [one for one in worst.decoders if one.reliability]
    if counted:
        said = f"{_CAPTION} Attacked: “{worst.name}”."
        yield Headed("Said 95 %: right how often?", (Paragraph(said, soft=True), _pictures(counted)))
    found = [(row, row.summary) for row in document.judged if row.summary is not None]
    yield Headed("Decoders side by side", tuple(_side_by_side(found)))


def _pictures(decoders: Sequence[DecoderFound]) -> Pictures:
    return Pictures(
        [
            (
                {
                    "name": one.decoder,
                    "title": f"Said and right: {one.decoder}",
                    "caption": _CAPTION,
                    "chart": draw_bins(one.reliability),
                },
                Listing(
                    f"Said and right: {one.decoder}",
                    ("said", "guesses", "right", "share"),
                    [
                        Line(_said(part), (f"{part.said:,}", f"{part.right:,}", percent(_share(part))))
                        for part in one.reliability
                    ],
                ),
            )
            for one in decoders
        ]
    )


def _side_by_side(found: Sequence[tuple[FindingDocument, Outcome]]) -> Iterator[Block]:
    real = found[0][1].real
    counts = columns(real=real)
    yield Listing(
        "Decoders",
        (
            "release",
            "decoder",
            "off by" if real else "right",
            "advantage [95 %]",
            *(one.head for one in counts.values()),
            "status",
        ),
        [
            Line(
                row.name,
                (
                    one.decoder,
                    level(one.accuracy, real),
                    with_interval(*shares(best, one)),
                    *(counted(getattr(one, name)) for name in counts),
                    one.status,
                ),
            )
            for row, best in found
            for one in row.decoders
        ],
        "Every decoder that is affordable for this many people. The verdict is the worst of theirs. "
        f"Advantage in {Unit.of(real).words}.",
        left=("decoder", "status"),
    )
    draws = sorted({best.draws for _, best in found})
    told = " or ".join(count_of(number, "draw") for number in draws)
    yield Paragraph(f"Each attack used {told} of the noise. For more, set “repeats” in the plan.", soft=True)
    for row, best in found:
        yield from map(Paragraph, _fitting(row.name, best))
    survived = [one.survives for row, _ in found for one in row.decoders]
    if certified := [share for share in survived if share]:
        yield Paragraph(
            f"It is certified that any {percent(min(certified))} of the equations may be wrong without "
            "misleading the decoder “lp”.",
            soft=True,
        )


def _fitting(name: str, found: Outcome) -> Iterator[str]:
    """What was done about what is unknown, how many secrets fit, and which values contradict each other."""
    if found.unknown:
        yield f"“{name}”: {found.unknown}"
    if found.clash:
        yield f"“{name}” contradicts itself. These values cannot all be true: {'; '.join(found.clash)}."
    elif found.possible:
        number = found.possible
        fits = "only one combination fits" if number == 1 else f"{number:,} combinations fit"
        yield f"“{name}” leaves few possibilities for everybody's secrets together: {fits}."


def draw_bins(bins: Sequence[Bin], width: float = SLIM) -> Chart:
    """A column for each range of confidences: a box for what was said, a dot for how many were right."""
    ends = [_interval(part) for part in bins]
    lowest = min(0.5, *(part.low for part in bins), *(low for low, _ in ends))
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
    top, low = scale(part.high), scale(max(part.low, scale.low))
    yield element("rect", "said", x=middle - half, y=top, width=2 * half, height=max(low - top, 3.0))
    under, over = (scale(end) for end in interval)
    yield element(
        "path",
        "bar-of c0",
        d=f"M{middle:g} {over:g}V{under:g}M{middle - 4:g} {over:g}h8M{middle - 4:g} {under:g}h8",
    )
    yield element("circle", "m0", cx=middle, cy=scale(_share(part)), r=4)
    yield written("middle", middle, foot + LINE, _range(part))
    yield written("middle soft-word", middle, foot + 2 * LINE, f"{part.said:,}")


def _level(share: float, scale: Scale, width: float) -> Iterator[Mark]:
    yield stroke("grid", _LEFT, scale(share), width - _RIGHT, scale(share))
    yield written("end", _LEFT - 6, scale(share) + 4, f"{100 * share:g}")


def _share(part: Bin) -> float:
    return float(part.right / part.said)


def _interval(part: Bin) -> tuple[float, float]:
    low, high = clopper_pearson(round(part.right), round(part.said))
    return float(low), float(high)


def _range(part: Bin) -> str:
    return f"{100 * part.low:g}–{100 * part.high:g}"


def _said(part: Bin) -> str:
    return f"{_range(part)} %"
