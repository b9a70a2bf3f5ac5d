"""What the terminal shows: counts and rates, no person and no secret."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from tellall.core.amounts import percent, with_interval
from tellall.core.text import plain_text
from tellall.experiment.outcome import Outcome
from tellall.report.releases import ReleaseRow, Unit, limit_words, release_rows

__all__ = [
    "PlainConsole",
    "aligned",
    "audit_text",
    "release_table",
    "talk_console",
]

_STYLES = {"pass": "bold green", "review": "bold yellow", "fail": "bold red"}
_WIDTH = 80
_WORDS = (
    "Guess: the strongest baseline. Alone, group: people proved. Sensitive: people proved alone or exposed "
    "who have a sensitive value."
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


def audit_text(document: dict[str, Any]) -> list[Text]:
    """The headline of an audit, as on its page, and a table of its releases; 80 columns wide."""
    verdict, rows = document["verdict"], release_rows(document)
    headline = Text(f"{verdict['word'].upper()}.", _STYLES[verdict["word"]]).append(
        f" {verdict['sentence']}", "not bold default"
    )
    found = [one["summary"] for one in document["findings"] if one["outcome"] == "found"]
    real = bool(found) and found[0]["real"]
    head = ["", "off by" if real else "right", "guess", "advantage [95 %]"]
    head += ["alone", "group", "exposed", "sensitive"]
    shown = rows if len(rows) <= _MOST else [*rows[: _MOST - 1], rows[-1]]  # the last is about all
    first, *numbers = aligned(head, [_cells(row) for row in shown])
    lines = [Text(), _unbroken(f"  {first}", "bold")]
    for row, line in zip(shown, numbers, strict=True):
        styled = _unbroken(f"  {line}")
        styled.stylize(_STYLES[row.word], 2, 2 + len(row.word))
        lines += [_named(row), styled]
    if len(rows) > _MOST:
        lines.insert(-2, Text(f"... and {len(rows) - _MOST:,} more, on the page"))
    unit = Unit.of(real)
    note = f"{_WORDS} Advantage in {unit.words}. {limit_words(document, unit)}"
    return [headline, *lines, Text(), Text(note)]


def _unbroken(line: str, style: str = "") -> Text:
    """A line that no console breaks."""
    return Text(line, style, no_wrap=True, overflow="ignore")


def _named(row: ReleaseRow) -> Text:
    """The name of a release and what decided about it, on one line."""
    decided = f": {row.decided}"
    name = _unbroken(row.name)
    name.truncate(_WIDTH - len(decided), overflow="ellipsis")
    return name.append(decided)


def _cells(row: ReleaseRow) -> list[str]:
    return [
        row.word,
        row.right,
        row.baseline,
        row.advantage,
        row.alone,
        row.group,
        row.exposed,
        row.sensitive,
    ]


def aligned(head: Sequence[str], body: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    """Columns side by side, the first ones to the left.

    Examples
    --------
    >>> aligned(["name", "n"], [["a", "10"]])
    ['name   n', 'a     10']
    """
    widths = [max(map(len, column)) for column in zip(head, *body, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if index < left else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in (head, *body)
    ]


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
            f"{row.named_right} of {row.named}",
            f"{row.proved:,}",
            f"{sum(row.exposed['0.95'].values()):,}",
        )
    return table
