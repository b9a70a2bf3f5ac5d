"""Neighbours of data: one record zeroed, dropped or replaced, those that matter most first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np

from tellall.attacks.scores import Floats
from tellall.errors import invalid

__all__ = ["Change", "Tables", "as_tables", "neighbours_of"]

Change = Literal["zero", "drop", "replace"]

Tables = tuple[Floats, ...]


def as_tables(dataset: Any) -> Tables:
    """The tables of some data, a row for each record."""
    if hasattr(dataset, "public") and hasattr(dataset, "secret"):
        parts: Sequence[Any] = [_numbers(dataset.public), dataset.secret]
    elif isinstance(dataset, (tuple, list)) and all(np.ndim(part) >= 1 for part in dataset):
        parts = dataset if isinstance(dataset, tuple) else [dataset]
    else:
        parts = [dataset]
    try:
        tables = tuple(np.asarray(part, dtype=np.float64) for part in parts if part is not None)
    except (TypeError, ValueError):
        raise invalid(
            "dataset", "a table of numbers or a pair (features, response)", type(dataset).__name__
        ) from None
    sizes = {len(table) if table.ndim else 0 for table in tables}
    if len(sizes) != 1 or min(sizes) < 2:
        raise invalid("dataset", "tables with one row for each record, two records or more", sorted(sizes))
    if not all(np.isfinite(table).all() for table in tables):
        raise invalid("dataset", "finite numbers", "NaN or infinity", "Drop or fill such rows first.")
    return tables


def _numbers(public: Any) -> Any:
    """The columns of a public view as numbers where it kept them, as codes where it did not."""
    if not hasattr(public, "codes"):
        return public
    kept = getattr(public, "numbers", ()) or [None] * np.shape(public.codes)[1]
    columns = [public.codes[:, j] if kept[j] is None else kept[j] for j in range(len(kept))]
    return np.column_stack(columns)


def neighbours_of(
    tables: Tables, changes: Sequence[Change], records: int
) -> Iterator[tuple[int, Change, Tables]]:
    """Each neighbour that a change of one of so many records makes: (record, change, tables)."""
    for change in changes:
        if change not in ("zero", "drop", "replace"):
            raise invalid("changes", "some of 'zero', 'drop', 'replace'", change)
    if not changes:
        raise invalid("changes", "at least one of 'zero', 'drop', 'replace'", "none")
    for record in _ranked(tables)[:records]:
        for change in changes:
            if change == "drop":
                yield record, change, tuple(np.delete(table, record, axis=0) for table in tables)
                continue
            copies = tuple(table.copy() for table in tables)
            for table in copies:
                table[record] = 0.0 if change == "zero" else np.median(table, axis=0)
            yield record, change, copies


def _ranked(tables: Tables) -> list[int]:
    """Records by leverage in all columns together, and by influence on a fit of the last column, in turn."""
    joined = np.column_stack([table.reshape(len(table), -1) for table in tables])
    scale = np.linalg.norm(joined, axis=0)
    joined = joined[:, scale > 0.0] / scale[scale > 0.0]
    if joined.shape[1] == 0:
        return list(range(len(joined)))

    def basis(columns: Floats) -> Floats:
        left, values, _ = np.linalg.svd(columns, full_matrices=False)
        return np.asarray(left[:, values > 1e-10 * values[0]])

    leverage = (basis(joined) ** 2).sum(axis=1)
    order = [np.argsort(-leverage, kind="stable")]
    if joined.shape[1] > 1:
        inner = basis(joined[:, :-1])
        weight = (inner**2).sum(axis=1)
        residual = joined[:, -1] - inner @ (inner.T @ joined[:, -1])
        influence = np.abs(residual) * np.sqrt(weight) / np.maximum(1.0 - weight, 1e-12)
        order.append(np.argsort(-influence, kind="stable"))
    return list(dict.fromkeys(int(record) for pair in zip(*order, strict=True) for record in pair))
