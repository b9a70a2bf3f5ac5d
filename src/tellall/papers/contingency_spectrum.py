"""contingency-tables, Theorem 2.5: least singular values of products of random rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

import tellall as ta
from tellall.core.amounts import percent
from tellall.core.jobs import Workers, run
from tellall.core.tasks import Failed, Task
from tellall.core.work import Tell
from tellall.papers.claims import Found
from tellall.papers.contingency_attacks import bits_of
from tellall.papers.reader import read_paper
from tellall.report.kit.plot import Axis, Figure, Rule, Series

__all__ = [
    "ALLOWED",
    "repeated",
    "spectrum",
    "spectrum_work",
]

Rng = np.random.Generator
ALLOWED = read_paper("contingency-tables").settings["tolerance"]
_DRAWS = 5  # of each size except the huge one
_STEPS = 36  # of Lanczos, where the Gram matrix is not formed: enough for lower ends within a fifth
_ASSERTED = {2: 32, 3: 30}  # attributes from which closeness is asserted; with fewer, people are nearly alike
_INDEPENDENT = 2500  # people up to which a matrix of independent entries is written down
_QUICK = {2: (12, 16, 24, 32, 48, 64), 3: (10, 12, 16, 20, 24, 36)}
_FULL = {2: (*_QUICK[2], 96, 128), 3: (10, 12, 16, 20, 24, 30, 36, 48, 60, 90, 144)}
_HUGE = (1140, 2)  # more than 10¹¹ entries


def _asked(quick: bool) -> list[tuple[int, int, int]]:
    """(attributes, order, draws) of every size."""
    sizes = [(d, order, _DRAWS) for order, counts in (_QUICK if quick else _FULL).items() for d in counts]
    return sizes if quick else [*sizes, (*_HUGE, 1)]


def _weight(d: int, order: int, draws: int) -> int:
    """About how long the draws of a size take, in seconds."""
    return draws * (1 + int(d**order) * math.comb(d, order) // (4 * 10**9 if order == 2 else 10**10))


def spectrum_work(quick: bool) -> int:
    """How much work `spectrum` reports."""
    return sum(_weight(*size) for size in _asked(quick))


def spectrum(quick: bool, rng: Rng, tell: Tell) -> Found:
    """Growing row products, n a quarter of the rows, against independent entries and the printed matrix.

    `quick` works in one process; otherwise as many sizes at once as there are cores, the largest first.
    Each size has its own streams, so the numbers do not depend on that.
    """
    found = _drawn(_asked(quick), rng, 1 if quick else -1, tell)
    every = [one for (d, order, _), one in found.items() if (d, order) != _HUGE]
    huge = [one for (d, order, _), one in found.items() if (d, order) == _HUGE]
    series, cases = [], []
    for order in (2, 3):
        several = [one for one in every if one.order == order]
        grid = [one.d for one in several]
        low, high = ([end(one.ratios) for one in several] for end in (min, max))
        medians = [one.median for one in several]
        series.append(Series(f"products of {order} rows", grid, medians, low=low, high=high, kind="both"))
        small = [one for one in several if one.n <= _INDEPENDENT]
        same = [_independent(one.m, one.n, 3 if one.n < 1000 else 1, rng) for one in small]
        series.append(Series(f"independent ±1, sizes of {order}", grid[: len(same)], same, kind="points"))
        cases += [("spectral", _within(one)) for one in several if one.d >= _ASSERTED[order]]
    printed = [(d, repeated(d, math.comb(d, 2) // 4, draws=3, rng=rng)) for d in (12, 16, 24, 32, 48)]
    series.append(Series("0/1, all d² pairs (printed)", *zip(*printed, strict=True), kind="both"))
    if huge:
        medians = [one.median for one in huge]
        series.append(Series("beyond 10¹¹ entries", [one.d for one in huge], medians, kind="points"))
    cases += [("huge", _within(one)) for one in huge]
    alike = [one for one in every if any(one.duplicates) or any(one.complements)]
    equal, reverse = (sum(sum(getattr(one, name)) for one in every) for name in ("duplicates", "complements"))
    where = f"none beyond d = {max(one.d for one in alike)}" if alike else "none at all"
    people = sum(one.n * len(one.ratios) for one in every)
    numbers = {"value": equal + reverse, "equal": equal, "reverse": reverse, "people": people}
    cases.append(("apart", {"where_from": where, **numbers}))
    d, value = printed[-1]
    limit = math.sqrt(1 - 1 / d) / 8  # d(d − 1) rows hold the ±1 products, times a quarter
    words = {"d": d, "rows": d * d, "n": math.comb(d, 2) // 4}
    cases.append(("printed matrix", {"value": value, "bound": (1 - ALLOWED) * limit, **words}))
    figure = Figure(
        "Least singular values of row products against independent entries",
        "±1 attributes of n = C(d, k)/4 random people, one row for every set of k attributes, k = 2 and "
        "3. Lines are medians, bands all draws; points are matrices of as many independent signs, the "
        "flat rule what these tend to. The lowest line is the printed form, 0/1 products over all d² "
        "pairs: smaller by a factor that tends to 4, and as flat.",
        Axis("attributes d", log=True, low=6.0),
        Axis("least singular value / √rows", low=0.0, high=0.7),
        tuple(series),
        (Rule(0.5, "1 − √(n/m)"),),
    )
    return [figure], cases


def _drawn(
    asked: Sequence[tuple[int, int, int]], rng: Rng, processes: int, tell: Tell
) -> dict[tuple[int, int, int], Any]:
    """The least singular values of every size; the draws use the next streams that `rng` spawns."""
    seed: Any = rng.bit_generator.seed_seq
    streams, before = [], seed.n_children_spawned
    for *_, draws in asked:
        own = np.random.SeedSequence(seed.entropy, spawn_key=seed.spawn_key, n_children_spawned=before)
        streams.append(np.random.default_rng(own))
        before += draws
    tasks = sorted(zip(asked, streams, strict=True), key=lambda task: -_weight(*task[0]))
    work = [Task(f"{size}", partial(tuple, (size, stream))) for size, stream in tasks]
    by_size = {}
    for one in run(_row_products, work, workers=Workers(processes)):
        if isinstance(one, Failed):
            raise ta.SolverFailed(one.reason)
        size, _ = tasks[one.index]
        by_size[size] = one.piece
        tell(_weight(*size))
    return {size: by_size[size] for size in asked}


def _row_products(work: tuple[tuple[int, int, int], Rng]) -> Any:
    (d, order, draws), stream = work
    return ta.bounds.row_products(d, order, draws=draws, steps=_STEPS, rng=stream)


def _independent(m: int, n: int, draws: int, rng: Rng) -> float:
    """The median of σ_min/√m for independent ±1 entries."""
    found = []
    for _ in range(draws):
        signs = (2 * rng.integers(0, 2, size=(m, n), dtype=np.int8) - 1).astype(np.float32)
        least = np.linalg.eigvalsh((signs.T @ signs).astype(np.float64))[0]
        found.append(math.sqrt(max(least, 0.0) / m))
    return float(np.median(found))


def repeated(d: int, n: int, *, draws: int, rng: Rng) -> float:
    """The median of σ_min/d for the printed matrix: 0/1 products over all d² pairs, repeated ones too."""
    found = []
    for _ in range(draws):
        drawn = bits_of(n + 1, d, rng)  # one of them at most is without any attribute
        bits = drawn[drawn.any(axis=1)][:n].T.astype(np.float64)
        pairs = (bits[:, None] * bits[None]).reshape(d * d, n)
        found.append(float(np.linalg.svd(pairs, compute_uv=False)[-1]) / d)
    return float(np.median(found))


def _within(one: Any) -> dict[str, Any]:
    """How far the value is from that of independent entries, and a lower bound on it if that is less."""
    sure = one.sure / one.expected - 1
    below = f"; found from above, by Lanczos: not below {percent(sure, 1, '+')} but for 1 draw in 1000"
    below = below if sure < one.off - 1e-3 else ""
    entries = f", {one.m * one.n:,} entries" if one.m * one.n > 1e10 else ""
    close = one.off <= ALLOWED and sure >= -ALLOWED
    words = {"one": one, "draws": len(one.ratios), "below": below, "entries": entries}
    return {"value": abs(one.off), "bound": ALLOWED, "close": close, **words}
