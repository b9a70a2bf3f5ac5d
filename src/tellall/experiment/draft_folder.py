"""A first description of the tables in a folder, with comments that say what to check."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tellall.core.errors import TellallError, invalid
from tellall.core.schemas import VERSION
from tellall.core.text import one_line
from tellall.experiment.draft import as_toml_value
from tellall.people.labels import label_text
from tellall.people.sheets import SHEETS, TEXTS, read_cells
from tellall.release.described import coefficient_columns
from tellall.release.grids import Grid, as_number, grid_of_rows

__all__ = ["draft_folder"]

_MOST_FILES = 1000
_HEAD = """\
# What the tables in this folder are. Check it, then:
#   tellall attack THIS_FOLDER --public people.csv
schema_version = {version}

# The column nobody should learn about a person.
secret = {secret}

# Keys: file, name, sheet, kind ("counts", "coefficients"), across (the column whose values stand side by
# side), where (whom it is about), normalize ("index", "columns", "all"), absent ("zero", "unknown": what a
# label that is not shown means), loss (of coefficients), protect (what was done to the numbers, in order).
"""


def draft_folder(folder: Path, secret: str | None = None) -> tuple[str, list[str], list[str]]:
    """The text of a description, the files that it has, and the others with the reason."""
    names = sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))
    found: list[str] = []
    left_out: list[str] = []
    entries: list[str] = []
    for path in names[:_MOST_FILES]:
        plain = path.with_suffix("") if path.suffix.lower() == ".gz" else path
        if plain.suffix.lower() not in (*TEXTS, *SHEETS):
            continue
        try:
            entries.append(_entry(path, secret))
        except TellallError as error:
            left_out.append(f"{path.name}: {one_line(str(error), 200)}")
            continue
        found.append(path.name)
    if not entries:
        raise invalid("folder", "one with a table in CSV or Excel", "; ".join(left_out) or "none")
    head = _HEAD.format(version=VERSION, secret=as_toml_value(secret or ""))
    reasons = [f"# not understood: {one_line(reason, 200)}" for reason in left_out]
    return "\n\n".join([head.rstrip(), *reasons, *entries]) + "\n", found, left_out


def _entry(path: Path, secret: str | None) -> str:
    """The part of the description about one file."""
    lines = [line for line in read_cells(path) if any(map(label_text, line))]
    if (columns := coefficient_columns(lines)) is not None:
        printed = [label_text(line[columns[1]]) for line in lines[1:] if len(line) > columns[1]]
        decimals = max((len(text.partition(".")[2]) for text in printed), default=0)
        return "\n".join(
            [
                "[[tables]]",
                f"file = {as_toml_value(path.name)}",
                'kind = "coefficients"',
                'loss = "linear"   # or logistic, poisson, probit',
                f'protect = {{ kind = "Rounding", base = {10.0**-decimals!r} }}   # decimals as printed',
            ]
        )
    grid = grid_of_rows(lines, _text_columns(lines), path.name)
    rows = [
        "[[tables]]",
        f"file = {as_toml_value(path.name)}",
        'kind = "counts"',
    ]
    if grid.names[-1] is None and len(grid.labels(len(grid.names) - 1)) > 1:
        labels = ", ".join(one_line(label, 20) for label in grid.labels(len(grid.names) - 1)[:4])
        rows.append(
            f"across = {as_toml_value(secret or '')}   # the column whose values are {one_line(labels)}"
        )
    return "\n".join([*rows, *_guessed(grid)])


def _text_columns(lines: Sequence[Sequence[Any]]) -> list[str]:
    """The headers of columns that hold labels: some cell under them is not a number."""
    heads = [label_text(cell) for cell in lines[0]] if lines else []
    return [
        head
        for j, head in enumerate(heads)
        if any(len(line) > j and as_number(label_text(line[j])) is None for line in lines[1:])
    ]


def _guessed(grid: Grid) -> list[str]:
    """What seems to have been done to the numbers, as comments: only the publisher knows."""
    shown = grid.values[~np.isnan(grid.values)]
    out = []
    if shown.size < grid.values.size and shown.size:
        least = int(shown.min())
        out.append(
            f'# protect = {{ kind = "Suppression", below = {least} }}   # if all under {least} are hidden'
        )
    base = next((base for base in (10, 5, 3) if shown.size > 3 and (shown % base == 0).all()), None)
    if base is not None:
        out.append(f'# protect = {{ kind = "Rounding", base = {base} }}   # all are multiples of {base}')
    return out
