"""Tables of perturbations by count and cell key, as agencies publish them for the cell-key method."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from tellall.core.errors import invalid
from tellall.protections.discrete import Finite
from tellall.protections.protection import Array

__all__ = ["COLUMNS", "Triples", "common_law", "error_of", "read_key_table", "undo"]

COLUMNS = ("pcv", "ckey", "pvalue")
Triples = tuple[tuple[float, ...], ...]
_WIDEST = 0.9
_FILES = (".csv", ".tsv", ".parquet", ".xlsx", ".gz")
_MOST = 1_000_000  # rows, counts, keys
_MOST_CHANGES = 500  # different ones, in all counts, that are undone one by one
_RULE = "a table with columns pcv, ckey and pvalue, every key from zero on for every count from one on"


def read_key_table(table: Any) -> Triples | None:
    """The rows of a table by count and key, sorted; None if the table is of another kind.

    The table is a frame or mapping with the columns pcv (the count; the last one stands for all larger), ckey
    (the cell key) and pvalue (what is added), the path of such a file, or its rows as triples.
    """
    if isinstance(table, str | Path):
        if Path(table).suffix.lower() not in _FILES:
            return None
        from tellall.people.readers import read_table

        table = read_table(table)
    if isinstance(table, Mapping) and not set(COLUMNS) <= {str(key) for key in table}:
        return None
    if hasattr(table, "columns") or isinstance(table, Mapping):
        names = {str(key): key for key in (table if isinstance(table, Mapping) else table.columns)}
        if not set(COLUMNS) <= set(names):
            raise invalid("table", _RULE, f"columns {', '.join(names)}")
        parts = [np.asarray(table[names[name]]).tolist() for name in COLUMNS]
        listed: list[Any] = list(zip(*parts, strict=True))
    elif isinstance(table, Iterable):
        listed = [tuple(row) if isinstance(row, Iterable) else row for row in table]
        if not listed or any(not isinstance(row, tuple) or len(row) != 3 for row in listed):
            return None
    else:
        return None
    try:
        found = sorted(tuple(float(value) for value in row) for row in listed)
    except (TypeError, ValueError):
        raise invalid("table", _RULE, "something that is not a number") from None
    return _checked(tuple(row for row in found if row[0] != 0 or row[2] != 0))


def _checked(rows: Triples) -> Triples:
    table = np.array(rows).reshape(-1, 3)
    counts, keys, values = table.T
    if not len(rows) or not np.isfinite(table).all():
        raise invalid("table", _RULE, "none, or numbers that are not finite")
    if (counts < 1).any():
        raise invalid("table", "a table that does not change cells without people", "changes at pcv 0")
    most = int(counts.max())
    last = int(keys.max())
    if max(most, last, len(rows)) > _MOST:
        raise invalid("table", f"of at most {_MOST:,} rows", f"{len(rows):,}")
    grid = [(count, key) for count in range(1, most + 1) for key in range(last + 1)]
    if list(zip(counts.tolist(), keys.tolist(), strict=True)) != grid:
        raise invalid("table", _RULE, f"{len(rows)} rows for counts to {most} and keys to {last}")
    if (counts + values < 0).any():
        raise invalid("table", "a table that makes no count negative", "one that does")
    return rows


@lru_cache(maxsize=8)
def _grid(table: Triples) -> Array:
    """What is added, as counts (from one on) × keys."""
    keys = int(max(row[1] for row in table)) + 1
    return np.array([row[2] for row in table]).reshape(-1, keys)


def error_of(table: Triples, counts: Array, keys: Array) -> Array:
    """What is added to each cell; nothing to a cell without people."""
    grid = _grid(table)
    row = np.clip(np.rint(np.nan_to_num(counts)).astype(np.intp) - 1, 0, len(grid) - 1)  # some are hidden
    added = grid[row, keys.astype(np.intp) % grid.shape[1]]
    return np.where(counts > 0, added, 0.0)


def undo(table: Triples, low: Array, high: Array, step: float) -> tuple[Array, Array]:
    """The intervals of values that may have become a value from ``low`` to ``high``, one for each change.

    What is added hangs on the nearest count, of numbers above zero (multiples of the step, if there is one).
    With many different changes, there is one interval for each count.
    """
    grid = _grid(table)
    lows, highs = [low], [np.minimum(high, 0.0)]  # nothing is added to zero or less
    changes = [np.unique(row) for row in grid]
    each = sum(map(len, changes)) <= _MOST_CHANGES
    for count, distinct in enumerate(changes, start=1):
        first = step if count == 1 else count - 0.5
        last = np.inf if count == len(grid) else count + 0.5
        least, most = (distinct, distinct) if each else (distinct[:1], distinct[-1:])
        for down, up in zip(least, most, strict=True):
            lows.append(np.maximum(low - up, first))
            highs.append(np.minimum(high - down, last))
    found = np.vstack(lows)
    ends = np.vstack(highs)
    none = found > ends
    return np.where(none, np.inf, found), np.where(none, -np.inf, ends)


def common_law(table: Triples) -> Finite:
    """A law for the errors of all counts: close to that of the count with the widest errors.

    Nine parts of that count's errors and one part of all errors, so that none is left out. Other counts have
    smaller errors than this law says.
    """
    grid = _grid(table)
    errors, place = np.unique(grid, return_inverse=True)
    place = place.reshape(grid.shape)
    widest = int(np.argmax(grid.var(axis=1)))
    chances = [np.bincount(part.ravel(), minlength=errors.size) for part in (place[widest], place)]
    chance = _WIDEST * chances[0] / chances[0].sum() + (1 - _WIDEST) * chances[1] / chances[1].sum()
    return Finite(tuple(zip(errors.tolist(), chance.tolist(), strict=True)))
