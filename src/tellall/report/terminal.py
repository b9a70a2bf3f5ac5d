"""What the terminal shows: counts and rates, no person and no secret."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from tellall.audits.answers import calibration_answer, strongest_rows, sweep_answer
from tellall.audits.calibrate import Calibration
from tellall.audits.document import AuditDocument
from tellall.audits.outcome import Outcome, Promised
from tellall.audits.sweep import Sweep, untried_decoders
from tellall.audits.verdict import Answer
from tellall.core.amounts import counted, digits, level, percent, points, unit_of_advantage, with_interval
from tellall.core.text import TERMINAL, plain_text
from tellall.report.release_rows import advantage_words, counted_heads, release_rows

__all__ = [
    "PlainConsole",
    "aligned",
    "audit_text",
    "calibration_text",
    "fitted",
    "release_table",
    "sweep_text",
    "talk_console",
]

_STYLES = {"pass": "bold green", "review": "bold yellow", "fail": "bold red"}
_SENSITIVE = "Sensitive: people proved alone or exposed who have a sensitive value."
_GUESS, _PROVED = "Guess: the strongest baseline.", "Alone, group: people proved."
_SWEPT = (
    f"* on the frontier: no other protection here has both less advantage and less error. {_SENSITIVE} "
    "Error: of a published value on average. ε: what differential privacy would promise."
)
_MOST = 20  # releases and sets of them that a terminal shows


class PlainConsole(Console):
    """A console that prints text without markup, and without marks that act on the terminal."""

    def __init__(self, *, stderr: bool = False, quiet: bool = False) -> None:
        super().__init__(stderr=stderr, quiet=quiet, highlight=False, markup=False)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """The segments of what is printed, their texts made plain; styles are the console's own."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=plain_text(segment.text))


def talk_console(*, quiet: bool = False) -> PlainConsole:
    """The console for messages, on standard error."""
    return PlainConsole(stderr=True, quiet=quiet)


def audit_text(document: AuditDocument) -> list[Text]:
    """The headline of an audit, as on its page, and a table of its releases; 80 columns wide."""
    verdict, rows = document.verdict, release_rows(document)
    headline = _headline(verdict.word, verdict.word.upper(), verdict.sentence)
    if not document.findings:
        return [headline]
    real = document.real
    head = [
        "off by" if real else "right",
        "guess",
        "advantage [95 %]",
        *counted_heads(real, "alone", "group"),
    ]
    table = judged_table(
        head,
        [
            JudgedRow(
                row.name,
                row.word,
                row.decided,
                (row.right, row.baseline, row.advantage, *row.counted(real)),
            )
            for row in rows
        ],
    )
    note = f"{_GUESS} {'' if real else f'{_PROVED} {_SENSITIVE} '}{advantage_words(document)}"
    return [headline, Text(), *table, Text(), Text(note)]


def sweep_text(release: Sweep, limit: float, exposed_limit: int | None) -> list[Text]:
    """The answer of a sweep, as on its page, and a table of its protections; 80 columns wide."""
    answer, real = sweep_answer(release, limit, exposed_limit), release.real
    rows = [
        JudgedRow(
            f"{row.protection} *" if row.frontier else row.protection,
            row.verdict,
            row.decided,
            (
                level(row.accuracy, real),
                level(row.baseline_accuracy, real),
                with_interval(row.advantage, (row.low, row.high), real),
                counted(row.exposed),
                counted(row.learnt),
                digits(row.loss),
                digits(row.epsilon),
            ),
        )
        for row in strongest_rows(release.rows)
    ]
    head = ["off by" if real else "right", "guess", "advantage [95 %]", "exposed", "sensitive", "error", "ε"]
    unit = unit_of_advantage(real, release.secret)
    notes = [
        f"{_SWEPT} Advantage in {unit}.",
        *(f"Left out {one.name}: {one.reason}" for one in release.skipped),
        *untried_decoders(release.untried, release.people),
    ]
    table = judged_table(head, rows)
    return [_answered(answer), Text(), *table, Text(), *map(Text, notes)]


def calibration_text(release: Calibration, exposed_limit: int | None) -> list[Text]:
    """The answer of a calibration, as on its page, and a table of the scales tried; 80 columns wide."""
    answer, real = calibration_answer(release, exposed_limit), release.real
    rows = [
        JudgedRow(
            f"scale {one.scale:.4g}",
            one.verdict,
            one.decided,
            (
                level(one.accuracy, real),
                with_interval(one.advantage, one.interval, real),
                counted(one.learnt),
                digits(one.loss),
            ),
        )
        for one in sorted(release.history, key=lambda one: one.scale)
    ]
    head = ["off by" if real else "right", "advantage [95 %]", "sensitive", "error"]
    unit = unit_of_advantage(real, release.secret)
    said = _promise(release.guarantee)
    achieved = "" if real else f" Achieved so far, by {release.decoder}: {points(release.advantage)} in 100."
    return [
        _answered(answer),
        Text(f"{said}{achieved}"),
        Text(),
        *judged_table(head, rows),
        Text(),
        Text(f"{_SENSITIVE} Error: of a published value on average. Advantage in {unit}."),
        *map(Text, release.warnings),
    ]


@dataclass(frozen=True)
class JudgedRow:
    """One row of a terminal's table: a name, the word of its verdict, what decided, and numbers."""

    name: str
    word: str
    decided: str
    cells: tuple[str, ...]


def judged_table(head: Sequence[str], rows: Sequence[JudgedRow]) -> list[Text]:
    """Two lines for each row, the second with the verdict in its colour and the numbers in columns."""
    shown = rows if len(rows) <= _MOST else [*rows[: _MOST - 1], rows[-1]]
    first, *numbers = aligned(["", *head], [[row.word, *row.cells] for row in shown])
    lines = [_unbroken(f"  {first}", "bold")]
    for row, line in zip(shown, numbers, strict=True):
        styled = _unbroken(f"  {line}")
        styled.stylize(_STYLES[row.word], 2, 2 + len(row.word))
        lines += [_named(row), styled]
    if len(rows) > _MOST:
        lines.insert(-2, Text(f"... and {len(rows) - _MOST:,} more, on the page"))
    return lines


def _answered(answer: Answer) -> Text:
    return Text(f"{answer.about}: ", "bold").append(_headline(answer.kind, answer.word, answer.sentence))


def _promise(known: Promised | None) -> str:
    if known is None or known.epsilon is None:
        return "No differential privacy is promised."
    delta = f", δ = {known.delta:g}" if known.delta else ""
    pair = f"ε = {known.epsilon:.4g}{delta} for {known.relation} ({known.text})"
    return f"Promised: {known.risk}; {pair}." if known.risk else f"Promised: {pair}."


def _headline(kind: str, word: str, sentence: str) -> Text:
    return Text(f"{word}.", _STYLES[kind]).append(f" {sentence}", "not bold default")


def _unbroken(line: str, style: str = "") -> Text:
    """A line that no console breaks."""
    return Text(line, style, no_wrap=True, overflow="ignore")


def _named(row: JudgedRow) -> Text:
    """The name and what decided about it, on one line."""
    decided = f": {row.decided}"
    name = _unbroken(row.name)
    name.truncate(TERMINAL - len(decided), overflow="ellipsis")
    return name.append(decided)


def aligned(head: Sequence[str], body: Sequence[Sequence[str]]) -> list[str]:
    """Columns side by side, the first to the left.

    Examples
    --------
    >>> aligned(["name", "n"], [["a", "10"]])
    ['name   n', 'a     10']
    """
    plain = [[cell.replace("\N{NO-BREAK SPACE}", " ") for cell in line] for line in (head, *body)]
    widths = [max(map(len, column)) for column in zip(*plain, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if index else cell.ljust(width)
            for index, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in plain
    ]


def fitted(rows: Sequence[Sequence[str]]) -> list[str]:
    """A table, its head first, in as many parts below one another as it takes for each to fit a terminal.

    Every part begins with the first column.
    """
    widths = [max(map(len, column)) + 2 for column in zip(*rows, strict=True)]
    parts: list[list[int]] = [[]]
    for place in range(1, len(widths)):
        if parts[-1] and widths[0] + sum(widths[one] for one in (*parts[-1], place)) - 2 > TERMINAL:
            parts.append([])
        parts[-1].append(place)
    tables = [[[row[0], *(row[place] for place in part)] for row in rows] for part in parts]
    return [line for head, *body in tables for line in ("", *aligned(head, body))][1:]


def release_table(rows: Sequence[Outcome]) -> Table:
    """The releases side by side, narrow enough for 80 columns."""
    table = Table(box=None, padding=(0, 1, 0, 0), header_style="bold")
    table.add_column("protected by", no_wrap=True)
    for name in ("right", "guess", "advantage [95 %]", "named", "proved", "exposed"):
        table.add_column(name, justify="right", no_wrap=True)
    heading = ""
    for row in rows:
        if row.statistic != heading:
            heading = row.statistic
            table.add_row(heading, style="bold")
        table.add_row(
            f"  {row.protection}",
            percent(row.accuracy),
            percent(row.baselines[row.baseline]),
            with_interval(row.advantage, row.interval),
            f"{counted(row.named_right)} of {counted(row.named)}",
            counted(row.proved),
            counted(row.exposed_people),
        )
    return table
