"""Hierarchies that nobody wrote down, found from codes that start with others or numbers that add up."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tellall.linalg.operators.linear_operator import Array
from tellall.outputs.listed import ListedCells, is_total

__all__ = ["find_hierarchy"]

_SAME = 1e-9  # sums that agree to within this share are equal
_ENOUGH = 2  # combinations of other columns in which numbers have to add up, if labels do not say so


def find_hierarchy(name: str, tables: Sequence[ListedCells]) -> dict[str, tuple[str, ...]]:
    """What the codes of a column are made of, as codes and numbers show; empty if no code is made of others.

    Notes
    -----
    A code is made of those that start with it ("A1" of "A11" and "A12"), if their numbers add up wherever
    all of them are shown. If no code starts with another, a label is made of neighbours in the list whose
    numbers add up to its own wherever they are shown, in two combinations of the other columns or more.

    Examples
    --------
    >>> towns = {"town": ["North", "Ayr", "Ely", "South", "Rye", "Wem"], "sex": ["f"] * 6}
    >>> both = {name: [*own, *own] for name, own in towns.items()} | {"sex": ["f"] * 6 + ["m"] * 6}
    >>> find_hierarchy("town", [ListedCells(both, [5, 2, 3, 9, 4, 5, 7, 1, 6, 4, 3, 1])])
    {'North': ('Ayr', 'Ely'), 'South': ('Rye', 'Wem')}
    """
    labels, numbers = _numbers(name, tables)
    by_code = _by_code(labels)
    if by_code:
        agree = all(_adds_up(labels, numbers, code, parts, least=0) for code, parts in by_code.items())
        return by_code if agree else {}
    return _by_numbers(labels, numbers)


def _numbers(name: str, tables: Sequence[ListedCells]) -> tuple[list[str], Array]:
    """The labels of a column, and labels × combinations of the other columns: the numbers shown."""
    own = [table for table in tables if name in table.columns]
    labels = [
        label for table in own for label in table.labels[table.columns.index(name)] if not is_total(label)
    ]
    labels = list(dict.fromkeys(labels))
    place = {label: at for at, label in enumerate(labels)}
    parts = []
    for table in own:
        at = table.columns.index(name)
        others = np.delete(table.codes, at, axis=1)
        _, context = np.unique(others, axis=0, return_inverse=True)
        context = context.reshape(-1)
        found = np.full((len(labels), int(context.max(initial=-1)) + 1), np.nan)
        rows = np.array([place.get(label, -1) for label in table.labels[at]])[table.codes[:, at]]
        kept = rows >= 0
        found[rows[kept], context[kept]] = table.values[kept]
        parts.append(found)
    return labels, np.concatenate(parts, axis=1)


def _by_code(labels: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The codes that others start with, and those that start with them and with no longer one."""
    known = set(labels)
    found: dict[str, list[str]] = {}
    for label in labels:
        starts = [label[:end] for end in range(len(label) - 1, 0, -1) if label[:end] in known]
        if starts and any(map(str.isdigit, label)):
            found.setdefault(starts[0], []).append(label)
    return {code: tuple(parts) for code, parts in found.items()}


def _adds_up(labels: Sequence[str], numbers: Array, code: str, parts: Sequence[str], least: int) -> bool:
    """Whether a code's numbers are the sums of its parts' wherever all are shown, and that often enough."""
    whole = numbers[labels.index(code)]
    return _agree(whole, numbers[[labels.index(part) for part in parts]].sum(axis=0), least)


def _agree(whole: Array, sums: Array, least: int) -> bool:
    shown = ~np.isnan(whole) & ~np.isnan(sums)
    close = np.abs(whole - sums)[shown] <= _SAME * np.maximum(np.abs(whole[shown]), 1e-300)
    return bool(close.all()) and int((whole[shown] != 0).sum()) >= least


def _by_numbers(labels: Sequence[str], numbers: Array) -> dict[str, tuple[str, ...]]:
    """What labels are made of, if neighbours in the list add up to them; the smallest labels come first.

    Labels that are part of another no longer count as neighbours of others.
    """
    found: dict[str, tuple[str, ...]] = {}
    size = np.nan_to_num(numbers).max(axis=1, initial=0.0)
    roots = list(range(len(labels)))
    for whole in np.argsort(size, kind="stable").tolist():
        others = [root for root in roots if root != whole]
        parts = _run_that_adds_up(numbers, whole, others)
        if parts:
            found[labels[whole]] = tuple(labels[part] for part in parts)
            roots = [root for root in roots if root not in parts]
    return found


def _run_that_adds_up(numbers: Array, whole: int, others: Sequence[int]) -> list[int]:
    """Neighbours in a list whose numbers add up to those of a label; none if there are no such."""
    own = numbers[whole]
    for start in range(len(others)):
        sums = np.zeros(own.size)
        for stop in range(start, len(others)):
            sums = sums + numbers[others[stop]]
            if (sums > own * (1 + _SAME)).any():
                break
            if stop > start and _agree(own, sums, _ENOUGH):
                return list(others[start : stop + 1])
    return []
