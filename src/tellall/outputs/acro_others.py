"""Outputs of an ACRO folder that say nothing about the secret: computed again from the public columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tellall.core.errors import InvalidInput
from tellall.linalg.operators.linear_operator import Array
from tellall.outputs.grids import Grid
from tellall.outputs.measures import CALLED
from tellall.outputs.printed import TableContext, understand
from tellall.people.dataset import Dataset, Public
from tellall.statistics.estimators import Estimator
from tellall.statistics.fitting import fit
from tellall.statistics.losses import loss_of
from tellall.statistics.statistic import numbers_of

__all__ = ["SaysNothing", "agreeing_model", "agreeing_table", "recodings", "tells_more"]

_NEAR = 1e-6
_LEAST = 1e-9
_WHOLE = 1e-6
_DIGITS = 1e-3  # of a step, for what solvers leave


class SaysNothing(InvalidInput):
    """An output that the public columns reproduce, so that it says nothing about the secret."""

    def __init__(self, message: str, column: str = "") -> None:
        super().__init__(message)
        self.column = column


def recodings(people: Any) -> frozenset[str]:
    """The public columns that are the secret in other words: a value of theirs for each value of it.

    What is said about such a column is said about the secret. Nobody can tell without the secret.
    """
    if not isinstance(people, Dataset) or people.secret is None:
        return frozenset()
    _, secret = np.unique(people.secret, return_inverse=True)
    levels, found = int(secret.max()) + 1, set()
    for index, column in enumerate(people.public.columns):
        numbers = people.public.numbers[index] if people.public.numbers else None
        values = np.asarray(people.public.codes[index] if numbers is None else numbers)
        distinct, codes = np.unique(values, return_inverse=True)
        if distinct.size == levels == np.unique(codes * levels + secret).size:
            found.add(column.name)
    return frozenset(found)


def _mode(values: Array) -> float:
    found, counts = np.unique(values, return_counts=True)
    return float(found[counts.argmax()]) if found.size else float("nan")


_MEASURES: Mapping[str, Callable[[Array], float]] = {
    "mean": lambda x: float(np.mean(x)),
    "sum": lambda x: float(np.sum(x)),
    "std": lambda x: float(np.std(x, ddof=1)) if x.size > 1 else float("nan"),
    "var": lambda x: float(np.var(x, ddof=1)) if x.size > 1 else float("nan"),
    "median": lambda x: float(np.median(x)),
    "min": lambda x: float(np.min(x)),
    "max": lambda x: float(np.max(x)),
    "mode": _mode,
}
_LONG = {"standarddeviation": "std", "variance": "var", "minimum": "min", "maximum": "max"}


def agreeing_table(statistic: str, grid: Grid, people: TableContext, dependent: str) -> str:
    """What a table without the secret shows, if the public columns reproduce every number; empty if not.

    ``statistic`` is "count" or another word for what is computed of the column ``dependent``. Totals are left
    out.
    """
    word = statistic.lower()
    word = _LONG.get(word, word)
    table = understand(grid.without_totals(), TableContext(people.public, people.secret, ()))[0]
    if table.meaning or not table.columns:
        return ""
    names = " and ".join(table.public.names[index] for index in table.columns)
    if word not in _MEASURES:
        wanted = table.people()
        shown = [(value, float(wanted.get(cell, 0))) for cell, value in table.values.items()]
        return f"counts by {names}" if _all_agree(shown) else ""
    numbers = numbers_of(
        people.public, people.public.position(dependent), "to be computed again", missing=True
    )
    shown = []
    for cell, value in table.values.items():
        inside = np.ones(people.public.n, dtype=bool)
        for layers, code in zip(table.layers, cell, strict=False):
            inside &= (layers == code).any(axis=0)
        own = numbers[inside & ~np.isnan(numbers)]
        shown.append((value, _MEASURES[word](own) if own.size else float("nan")))
    return f"{CALLED.get(word, f'{word}s')} of {dependent} by {names}" if _all_agree(shown) else ""


def _all_agree(shown: Sequence[tuple[float, float]]) -> bool:
    pairs = [(value, own) for value, own in shown if not np.isnan(value)]
    return bool(pairs) and all(abs(value - own) <= _NEAR * abs(own) + _LEAST for value, own in pairs)


def agreeing_model(
    loss: str, response: str, terms: Sequence[str], values: Sequence[float], step: float, public: Public
) -> bool:
    """Whether a model of a public column, fitted again, has the printed coefficients; in the terms' order.

    An intercept is called "intercept".
    """
    names = [term for term in terms if term != "intercept"]
    has = len(names) < len(terms)
    design = Estimator(loss, blocks=[names], intercept=has).models(public).design(0)
    answers = numbers_of(public, public.position(response), "to be modelled")
    result = fit(loss_of(loss), design, answers, np.zeros(design.shape[1]))
    if result.trouble:
        return False
    order = [*names, *(["intercept"] if has else [])]
    printed = dict(zip(terms, values, strict=True))
    off = np.abs([printed[name] - own for name, own in zip(order, result.theta, strict=True)])
    return bool((off <= step * (0.5 + _DIGITS)).all())


def tells_more(grid: Grid) -> bool:
    """Whether a total is larger than the cells that are shown: it tells what is hidden.

    ACRO works totals out again from the shown cells; a table that was hidden otherwise may not.
    """
    body = grid.without_totals()
    rows, columns = set(body.rows), set(body.columns)
    for lines, kept, axis in ((grid.rows, rows, 0), (grid.columns, columns, 1)):
        totals = [k for k, line in enumerate(lines) if line not in kept and len(set(line) - {""}) == 1]
        inner = [k for k, line in enumerate(lines) if line in kept]
        if len(totals) == 1 and inner:
            shown = np.take(grid.values, inner, axis=axis)
            total = np.take(grid.values, totals[0], axis=axis)
            more = total > np.nansum(shown, axis=axis) + _WHOLE
            if bool((more & np.isnan(shown).any(axis=axis)).any()):
                return True
    return False
