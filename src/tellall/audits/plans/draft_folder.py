"""A first description of the tables in a folder, with comments that say what to check."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from tellall.audits.plans.draft import as_toml_value
from tellall.core.errors import TellallError, invalid
from tellall.core.records import VERSION
from tellall.core.text import one_line
from tellall.outputs.curves import survival_columns
from tellall.outputs.described import coefficient_columns
from tellall.outputs.grids import Grid, as_number, grid_of_rows
from tellall.people.labels import label_text
from tellall.people.sheets import SHEETS, TEXTS, read_cells

__all__ = ["draft_folder"]

_MOST_FILES = 1000
_MEANS = ("mean", "means", "average", "avg")
_COUNTS = ("n", "count", "counts", "freq", "frequency", "obs", "size", "nobs", "number")
_HEAD = """\
# What the tables in this folder are. Check it, then:
#   tellall attack THIS_FOLDER --public people.csv
schema_version = {version}

# The column nobody should learn about a person.
secret = {secret}

# Keys: file, name, sheet, kind ("counts", "coefficients", "means", "sums", "minima", "maxima", "survival";
# "quantiles" are listed as not checked), across (the column whose values are side by side), where (whom it
# is about), normalize ("index", "columns", "all"), absent ("zero", "unknown": what a label that is not shown
# means), loss (of coefficients), standard_errors (true: those printed with linear coefficients are the usual
# ones, not robust), value and count (the headers over means, sums or extremes, and over numbers of
# people), time (the column of follow-up times), protect (what was done to the numbers, in order).
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
    if (curve := survival_columns(lines)) is not None:
        return "\n".join(
            [
                "[[tables]]",
                f"file = {as_toml_value(path.name)}",
                'kind = "survival"',
                'time = ""   # the column of follow-up times',
                _printed(lines, curve[1]),
            ]
        )
    if (amount := _amount_columns(lines, secret)) is not None:
        kind, value, count = amount
        heads = [label_text(cell) for cell in lines[0]]
        return "\n".join(
            [
                "[[tables]]",
                f"file = {as_toml_value(path.name)}",
                f'kind = "{kind}"   # means or sums of the secret',
                f"value = {as_toml_value(heads[value])}",
                *([] if count is None else [f"count = {as_toml_value(heads[count])}"]),
                _printed(lines, value),
            ]
        )
    if (columns := coefficient_columns(lines)) is not None:
        return "\n".join(
            [
                "[[tables]]",
                f"file = {as_toml_value(path.name)}",
                'kind = "coefficients"',
                'loss = "linear"   # or logistic, poisson, probit',
                _printed(lines, columns[1]),
            ]
        )
    grid = grid_of_rows(lines, _label_columns(lines), path.name)
    amounts = _are_amounts(grid)
    rows = [
        "[[tables]]",
        f"file = {as_toml_value(path.name)}",
        'kind = "means"   # or sums' if amounts else 'kind = "counts"',
    ]
    if grid.names[-1] is None and len(grid.labels(len(grid.names) - 1)) > 1:
        labels = ", ".join(one_line(label, 20) for label in grid.labels(len(grid.names) - 1)[:4])
        guess = as_toml_value("" if amounts else secret or "")
        rows.append(f"across = {guess}   # the column whose values are {one_line(labels)}")
    return "\n".join([*rows, *([] if amounts else _guessed(grid))])


def _printed(lines: Sequence[Sequence[object]], column: int) -> str:
    """The rounding that a column shows: to as many decimals as are printed."""
    printed = [label_text(line[column]) for line in lines[1:] if len(line) > column]
    decimals = max((len(text.partition(".")[2]) for text in printed), default=0)
    return f'protect = {{ kind = "Rounding", base = {10.0**-decimals!r} }}   # decimals as printed'


def _amount_columns(
    lines: Sequence[Sequence[object]], secret: str | None
) -> tuple[str, int, int | None] | None:
    """What a table with one line per cell shows: means or sums, their column, and that of the counts."""
    heads = [label_text(cell).lower() for cell in lines[0]] if lines else []
    count = next((j for j, head in enumerate(heads) if j and head in _COUNTS), None)
    own = "" if secret is None else secret.lower()
    for j, head in enumerate(heads):
        word = head.replace(own, "").strip(" _.-()") if own else head
        if j and word in _MEANS:
            return "means", j, count
        if j and word == "sum" and (count is not None or own in head.replace(word, "", 1)):
            return "sums", j, count
        if j and own == head and any(not _is_whole(line[j]) for line in lines[1:] if len(line) > j):
            return "means", j, count
    return None


def _is_whole(cell: object) -> bool:
    number = as_number(label_text(cell))
    return number is None or number != number or number == round(number)


def _are_amounts(grid: Grid) -> bool:
    """Whether the numbers are neither counts nor shares: not whole, some above 1, no sum near 1 or 100."""
    shown = grid.values[~np.isnan(grid.values)]
    broken = bool(shown.size) and not np.allclose(shown, np.rint(shown), atol=1e-9)
    sums = np.concatenate([[grid.values.sum()], *(np.atleast_1d(grid.values.sum(axis=a)) for a in (0, 1))])
    near = [np.abs(sums - whole) < 0.02 * whole for whole in (1.0, 100.0)]
    return broken and float(shown.max()) > 1 and not np.any(near)


def _label_columns(lines: Sequence[Sequence[object]]) -> list[str]:
    """The headers of columns that hold labels: not numbers alone, or needed to tell the lines apart."""
    heads = [label_text(cell) for cell in lines[0]] if lines else []
    below = [[label_text(cell) for cell in line] for line in lines[1:]]
    apart = next((k for k in range(1, len(heads)) if _differ(line[:k] for line in below)), 1)
    return [
        head
        for j, head in enumerate(heads)
        if j < apart or any(len(line) > j and as_number(line[j]) is None for line in below)
    ]


def _differ(lines: Iterable[Sequence[str]]) -> bool:
    told = list(map(tuple, lines))
    return len(set(told)) == len(told)


def _guessed(grid: Grid) -> list[str]:
    """What seems to have been done to the numbers, as comments, because only the publisher knows."""
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
