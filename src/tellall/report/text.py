"""What the terminal shows: counts and rates, no person and no secret."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from tellall.experiment.outcome import Outcome

__all__ = [
    "release_table",
    "talk_console",
]


def talk_console(*, quiet: bool = False) -> Console:
    """The console for messages, on standard error; it prints text as it is, without markup."""
    return Console(stderr=True, quiet=quiet, highlight=False, markup=False)


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
        low, high = (100 * end for end in row.interval)
        table.add_row(
            f"  {row.protection}",
            f"{row.accuracy:.1%}",
            f"{row.baselines[row.baseline]:.1%}",
            f"{100 * row.advantage:+.1f} [{low:+.1f}, {high:+.1f}]",
            f"{row.named_right} of {row.named}",
            f"{row.proved:,}",
            f"{sum(row.exposed['0.95'].values()):,}",
        )
    return table
