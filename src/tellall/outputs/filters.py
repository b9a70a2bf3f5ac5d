"""Filters that a table may be about: one value of one column, all but one, a range, or no gap."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log2
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.outputs.measures import Measure, Panel
from tellall.outputs.recount import LabelAxis, Recount
from tellall.outputs.variables import Flags, TableVariable, plain_text
from tellall.people.codes import Array, IntArray
from tellall.people.cuts import number_text
from tellall.statistics.cell_counts import TOTAL

__all__ = ["TriedFilter", "agreeing_filters"]

_MOST_ENTRIES = 20_000_000  # of atoms by values
_RANGES = 40  # values of a column up to which all ranges are tried
_MOST_FOUND = 12


@dataclass(frozen=True, eq=False)
class TriedFilter:
    """A filter under which a table agrees.

    Attributes
    ----------
    variable
        The column.
    values
        Which distinct values are kept, "no value" last.
    where
        The condition in words.
    tried
        How many filters were tried.
    """

    variable: TableVariable
    values: Flags
    where: str
    tried: int

    def mask(self) -> Flags:
        """Which people it selects."""
        return np.asarray(self.values[self.variable.codes])

    def cost(self, around: str) -> tuple[float, bool]:
        """How many bits it costs, and whether the title says it."""
        text = f" {plain_text(around)} "
        if f" {self.variable.plain} " not in text and not _of_one_label(self, text):
            usual = 5.0 + 2.0 * log2(max(self.variable.size, 2))
            return max(8.0, min(log2(max(self.tried, 2)) + 2.0, usual)), False
        words = set(re.findall(r"[\w.]+", text))
        kept, gone = self.values[:-1], ~self.values[:-1]
        ends = [np.flatnonzero(side) for side in (kept, gone) if side.any()]
        said = {plain_text(self.variable.texts[each[place]]) for each in ends for place in (0, -1)}
        named = any(value in words or f" {value} " in text for value in said)
        return (3.0, True) if named else (6.0 + log2(max(self.variable.size, 1)) / 2, False)


def _of_one_label(tried: TriedFilter, text: str) -> bool:
    """Whether the title has the single value that is kept, a word of its own: "women"."""
    kept = np.flatnonzero(tried.values[:-1])
    if kept.size != 1:
        return False
    word = plain_text(tried.variable.texts[kept[0]])
    return len(word) > 2 and not word.isdigit() and f" {word} " in text


def agreeing_filters(
    recount: Recount,
    axes: Sequence[LabelAxis],
    panel: Panel,
    measure: Measure,
    whole: str,
    variables: Sequence[TableVariable],
    slack: float,
    base: float | None = None,
) -> tuple[list[TriedFilter], int]:
    """The filters under which all numbers of a panel agree, and how many were tried."""
    numbers, steps = panel.values
    shown = np.flatnonzero(~np.isnan(numbers))
    reach = steps[shown] / 2 * (1 + 1e-9) + 1e-9 * np.maximum(1.0, np.abs(numbers[shown])) + slack
    if base is not None:
        reach = np.full(shown.size, base / 2 + 1e-9)
    used = {axis.variable.name for axis in axes} | ({measure.target.name} if measure.target else set())
    found: list[TriedFilter] = []
    tried = 0
    for variable in variables:
        if variable.name in used or recount.size * (variable.size + 1) > _MOST_ENTRIES:
            continue
        parts = _parts(recount, panel.codes[shown], measure, whole, variable)
        for values, sums in _kept(variable, parts):
            tried += sums[0].shape[1]
            expected = _number(measure, sums)
            with np.errstate(invalid="ignore"):
                fits = (np.abs(expected - numbers[shown, None]) <= reach[:, None]).all(axis=0)
            for at in np.flatnonzero(fits)[:_MOST_FOUND]:
                kept = values(int(at))
                found.append(TriedFilter(variable, kept, condition_of(variable, kept), 0))
    return [TriedFilter(one.variable, one.values, one.where, tried) for one in found[:_MOST_FOUND]], tried


def _parts(
    recount: Recount, codes: IntArray, measure: Measure, whole: str, variable: TableVariable
) -> list[Array]:
    """For each sum that the measure needs: cells × values of a column, no value last."""
    keys = recount.atoms * (variable.size + 1) + np.where(variable.codes < 0, variable.size, variable.codes)
    length = recount.size * (variable.size + 1)
    shape = (*recount.shape, variable.size + 1)
    target = measure.target

    def counted(weights: Array | None, chosen: Flags | None, cells: IntArray) -> Array:
        own = keys if chosen is None else keys[chosen]
        some = weights if weights is None or chosen is None else weights[chosen]
        atoms = np.bincount(own, weights=some, minlength=length).astype(np.float64).reshape(shape)
        return recount.cells(atoms, cells, whole)

    if measure.kind == "count":
        return [counted(None, None, codes)]
    if measure.kind == "share" and target is None:
        wider = codes.copy()
        wider[:, sorted(measure.over)] = TOTAL
        return [counted(None, None, codes), counted(None, None, wider)]
    assert target is not None
    known = target.codes >= 0
    if measure.kind == "share":
        return [counted(None, target.codes == measure.value, codes), counted(None, known, codes)]
    values = np.where(known, target.people_values, 0.0)
    found = [counted(values, known, codes), counted(None, known, codes)]
    if measure.kind in ("std", "var"):
        found.append(counted(values**2, known, codes))
    return found


def _number(measure: Measure, sums: Sequence[Array]) -> Array:
    """The numbers of cells under each filter."""
    with np.errstate(divide="ignore", invalid="ignore"):
        if measure.kind == "count" or measure.kind == "sum":
            return sums[0]
        if measure.kind in ("share", "mean"):
            return np.asarray(sums[0] / sums[1] * (measure.scale if measure.kind == "share" else 1.0))
        n = sums[1]
        variance = np.maximum(sums[2] / n - (sums[0] / n) ** 2, 0.0) * n / (n - 1)
        return np.asarray(np.sqrt(variance) if measure.kind == "std" else variance)


def _kept(variable: TableVariable, parts: Sequence[Array]) -> Iterator[tuple[Any, list[Array]]]:
    """Yields families of filters: which values each keeps, and the sums of the people that it keeps."""
    size = variable.size
    places = np.arange(size + 1)
    known = [part[:, :size].sum(axis=1, keepdims=True) for part in parts]
    if variable.gaps:
        yield (lambda at: places < size), known
    if size < 2:
        return
    yield (lambda at: places == at), [part[:, :size] for part in parts]
    if size > 2:
        yield (
            (lambda at: (places != at) & (places < size)),
            [every - part[:, :size] for every, part in zip(known, parts, strict=True)],
        )
    if variable.numbers is None or size < 4 or variable.coded:
        return
    below = [np.cumsum(part[:, :size], axis=1) for part in parts]
    yield (lambda at: places <= at + 1), [each[:, 1 : size - 2] for each in below]
    yield (
        (lambda at: (places > at + 1) & (places < size)),
        [every - each[:, 1 : size - 2] for every, each in zip(known, below, strict=True)],
    )
    if size <= _RANGES:
        ends = [(low, high) for low in range(1, size - 1) for high in range(low + 1, size - 1)]
        if ends:
            lows, highs = np.array(ends).T
            yield (
                (lambda at: (places >= lows[at]) & (places <= highs[at])),
                [each[:, highs] - each[:, lows - 1] for each in below],
            )


def condition_of(variable: TableVariable, values: npt.NDArray[np.bool_]) -> str:
    """The condition that keeps these values, as `publish` understands it."""
    name = variable.name if re.fullmatch(r"[^\W\d][\w.]*", variable.name) else f"`{variable.name}`"
    kept = np.flatnonzero(values[:-1])
    if variable.numbers is None or variable.coded:
        texts = [_quoted(variable.texts[place]) for place in kept]
        if len(kept) == variable.size - 1 and variable.size > 2:
            other = variable.texts[int(np.flatnonzero(~values[:-1])[0])]
            return f"{name} != {_quoted(other)}"
        return f"{name} = {texts[0]}" if len(texts) == 1 else f"{name} in [{', '.join(texts)}]"
    numbers = variable.numbers
    if kept.size == 1:
        return f"{name} = {number_text(float(numbers[kept[0]]))}"
    low, high = number_text(float(numbers[kept[0]])), number_text(float(numbers[kept[-1]]))
    if kept[-1] - kept[0] + 1 > kept.size:
        gone = np.flatnonzero(~values[:-1])
        return f"{name} != {number_text(float(numbers[gone[0]]))}"
    if kept[-1] == variable.size - 1:
        return f"{name} >= {low}"
    return f"{name} <= {high}" if kept[0] == 0 else f"{name} >= {low} and {name} <= {high}"


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
