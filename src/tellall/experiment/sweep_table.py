"""What a sweep found: a row for each protection and decoder, as text, CSV, Parquet or JSON."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tellall.core import files
from tellall.experiment.measurement import untried_decoders
from tellall.experiment.tally import Tally

__all__ = [
    "Sweep",
]

_SHOWN = (
    ("protection", "protection"),
    ("decoder", "decoder"),
    ("accuracy", "right"),
    ("advantage", "advantage"),
    ("low", "95 %"),
    ("high", "interval"),
    ("exposed", "exposed"),
    ("loss", "mean error"),
    ("epsilon", "ε"),
)


@dataclass(frozen=True, eq=False, repr=False)
class Sweep:
    """Privacy and utility of protections, a row for each protection and decoder.

    Attributes
    ----------
    rows
        A dict each: ``family``, ``scale``, ``protection``, ``std`` (standard deviation of the noise on a
        published value), ``decoder``, ``draws``; ``accuracy``, ``advantage`` with their 95 % intervals
        (``accuracy_low``, ``accuracy_high``; ``low``, ``high``), ``baseline``, ``baseline_accuracy``,
        ``exposed``; ``loss`` (mean absolute error, a value that is not shown counted as zero) with
        ``loss_low``, ``loss_high``, ``mean_error``, ``max_error``, ``missing``, ``total_variation``,
        ``association_change`` and, of coefficients, ``mae_ratio``, ``sign_flips`` and ``coverage`` (see
        `Coefficients`); ``epsilon``, ``delta`` where something is promised;
        ``frontier``. None where there is no number.
    statistic, people, units
        What was published about how many people, and what the noise is measured in.
    skipped
        Protections that could not be measured, and why.
    real
        Whether the secret is a real number: ``accuracy`` is then the mean absolute error, and it and the
        advantage are in the secret's unit.
    tallies
        For each row what of it can be added up over blocks of people; None for a real secret.
    untried
        Decoders left out for the time they take on so many people.
    secret
        The secret's name.
    """

    rows: tuple[dict[str, Any], ...]
    statistic: str
    people: int
    units: str
    seed: int
    skipped: tuple[tuple[str, str], ...] = ()
    real: bool = False
    tallies: tuple[Tally | None, ...] = ()
    untried: tuple[str, ...] = ()
    secret: str = "secret"

    @property
    def frontier(self) -> tuple[dict[str, Any], ...]:
        """The rows that no other protection beats in both advantage and loss, the worst decoder of each.

        An advantage below zero counts as none.
        """
        return tuple(row for row in self.rows if row["frontier"])

    def as_json(self) -> dict[str, Any]:
        """The sweep as plain data."""
        return {
            "statistic": self.statistic,
            "people": self.people,
            "units": self.units,
            "seed": self.seed,
            "secret": self.secret,
            "real": self.real,
            "untried": list(self.untried),
            "rows": [dict(row) for row in self.rows],
            "skipped": [{"protection": name, "reason": reason} for name, reason in self.skipped],
        }

    def to_csv(self, path: str | Path) -> Path:
        """The path, after the rows are in it; empty where there is no number."""
        text = io.StringIO()
        writer = csv.DictWriter(text, list(self.rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.rows)
        return files.write_text(Path(path), text.getvalue())

    def to_parquet(self, path: str | Path) -> Path:
        """The path, after the rows are in it."""
        columns = {name: [row[name] for row in self.rows] for name in self.rows[0]}
        return files.write_table(Path(path), columns)

    def __str__(self) -> str:
        head = ["off by" if self.real and words == "right" else words for _, words in _SHOWN]
        body = [[_text(row[name], name, self.real) for name, _ in _SHOWN] for row in self.rows]
        widths = [max(map(len, column)) for column in zip(head, *body, strict=True)]
        lines = [
            "  ".join(
                cell.ljust(width) if place < 2 else cell.rjust(width)
                for place, (cell, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in (head, *body)
        ]
        marked = [
            f"{line}  *" if row["frontier"] else line for row, line in zip(self.rows, lines[1:], strict=True)
        ]
        left_out = [f"left out {name}: {reason}" for name, reason in self.skipped]
        note = "* on the frontier: no other protection here has both less advantage and less error"
        return "\n".join([lines[0], *marked, note, *left_out, *untried_decoders(self.untried, self.people)])

    __repr__ = __str__


def _text(value: Any, name: str, real: bool) -> str:
    if value is None:
        return "–"
    if not real and name in ("accuracy", "advantage", "low", "high"):
        return f"{100 * value:{'' if name == 'accuracy' else '+'}.1f} %"
    return f"{value:.3g}" if isinstance(value, float) else str(value)
