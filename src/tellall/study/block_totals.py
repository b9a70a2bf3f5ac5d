"""The sweeps of many blocks added up: one row per protection and decoder, about all people."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tellall.data.blocks import count_blocks
from tellall.risk import Tally, total
from tellall.study.frontier import frontier
from tellall.study.measurement import NORMAL
from tellall.study.sweep_table import Sweep
from tellall.study.swept import SweptBlock

__all__ = ["sweep_of_all", "worst_block_first"]

_TOTALS = 5  # a stream of random numbers of its own
_MEANS = (
    "std",
    "mean_error",
    "missing",
    "total_variation",
    "association_change",
    "mae_ratio",
    "sign_flips",
    "coverage",
)
_LARGEST = ("max_error", "epsilon", "delta")

Key = tuple[str, float | None, str]  # family, scale, protection
Measured = dict[str, tuple[dict[str, Any], Tally]]  # by decoder


def sweep_of_all(blocks: Sequence[SweptBlock], seed: int) -> Sweep:
    """All people of all blocks as one sweep.

    Notes
    -----
    The error of a published value is the mean over blocks, whose values are as many. An (ε, δ) that holds in
    every block holds for all, for one row replaced within its block: a row that moves to another block
    changes two releases, and their ε and δ add up.
    """
    found = [block.sweep for block in blocks if block.sweep is not None]
    by_choice: dict[Key, list[Measured]] = {}
    for one in found:
        for key, measured in _by_choice(one).items():
            by_choice.setdefault(key, []).append(measured)
    rows = []
    for measured_in in by_choice.values():
        for decoder in dict.fromkeys(name for measured in measured_in for name in measured):
            rng = np.random.default_rng([seed, _TOTALS])  # the same for every protection
            rows.append(_row(decoder, [_standing_in(one, decoder) for one in measured_in], rng))
    _mark_frontier(rows)
    people = sum(block.people for block in blocks if block.sweep is not None)
    return Sweep(
        tuple(rows),
        found[0].statistic,
        people,
        found[0].units,
        seed,
        _skipped(blocks),
        found[0].real,
        untried=tuple(dict.fromkeys(name for one in found for name in one.untried)),
        secret=found[0].secret,
    )


def worst_block_first(blocks: Sequence[SweptBlock]) -> tuple[SweptBlock, ...]:
    """The blocks by how much their worst row gives away at least; those not measured come last.

    Notes
    -----
    The worst row of a block has the largest advantage: by the lower end of the interval a narrow one of a
    well protected release would win. Blocks are ordered by that lower end, since by the advantage itself the
    smallest would come first, where luck is largest.
    """

    def rank(block: SweptBlock) -> tuple[Any, ...]:
        if block.sweep is None:
            return (1, 0.0, 0.0, block.name)
        worst = max(block.sweep.rows, key=lambda row: (row["advantage"], row["low"]))
        return (0, -worst["low"], -worst["advantage"], block.name)

    return tuple(sorted(blocks, key=rank))


def _by_choice(one: Sweep) -> dict[Key, Measured]:
    found: dict[Key, Measured] = {}
    for row, tally in zip(one.rows, one.tallies, strict=True):
        assert tally is not None  # the secret is no real number
        key = (row["family"], row["scale"], row["protection"])
        found.setdefault(key, {})[row["decoder"]] = (row, tally)
    return found


def _standing_in(measured: Measured, decoder: str) -> tuple[dict[str, Any], Tally]:
    """The decoder's row in a block; where it was too slow for the block, the strongest there."""
    if decoder in measured:
        return measured[decoder]
    return max(measured.values(), key=lambda pair: pair[0]["advantage"])


def _row(
    decoder: str, parts: Sequence[tuple[dict[str, Any], Tally]], rng: np.random.Generator
) -> dict[str, Any]:
    rows = [row for row, _ in parts]
    whole = total([tally for _, tally in parts], rng=rng)
    loss = float(np.mean([row["loss"] for row in rows]))
    halves = [(row["loss_high"] - row["loss_low"]) / 2 / NORMAL for row in rows]
    spread = NORMAL * math.sqrt(math.fsum(half**2 for half in halves)) / len(rows)
    found = {
        **rows[0],
        "decoder": decoder,
        "draws": max(row["draws"] for row in rows),
        "accuracy": whole.accuracy,
        "accuracy_low": whole.accuracy_interval[0],
        "accuracy_high": whole.accuracy_interval[1],
        "baseline": whole.baseline,
        "baseline_accuracy": whole.baselines[whole.baseline],
        "advantage": whole.advantage,
        "low": whole.interval[0],
        "high": whole.interval[1],
        "exposed": math.fsum(row["exposed"] for row in rows),
        "loss": loss,
        "loss_low": loss - spread,
        "loss_high": loss + spread,
    }
    for name in _MEANS:
        found[name] = _of_all(name, rows, lambda values: float(np.mean(values)))
    for name in _LARGEST:
        found[name] = _of_all(name, rows, max)
    return found


def _of_all(name: str, rows: Sequence[dict[str, Any]], combine: Any) -> float | None:
    values = [row[name] for row in rows]
    return None if any(value is None for value in values) else combine(values)


def _mark_frontier(rows: Sequence[dict[str, Any]]) -> None:
    """The worst decoder of each protection that no other beats in both advantage and loss."""
    worst: dict[Key, dict[str, Any]] = {}
    for row in rows:
        row["frontier"] = False
        key = (row["family"], row["scale"], row["protection"])
        if key not in worst or row["high"] > worst[key]["high"]:
            worst[key] = row
    marked = frontier([(max(row["advantage"], 0.0), row["loss"]) for row in worst.values()])
    for row, best in zip(worst.values(), marked, strict=True):
        row["frontier"] = bool(best)


def _skipped(blocks: Sequence[SweptBlock]) -> tuple[tuple[str, str], ...]:
    """What could not be measured in some blocks, once each, with the number of blocks."""
    found: dict[tuple[str, str], int] = {}
    for block in blocks:
        for one in () if block.sweep is None else block.sweep.skipped:
            found[one] = found.get(one, 0) + 1
    return tuple((name, f"in {count_blocks(count)}: {reason}") for (name, reason), count in found.items())
