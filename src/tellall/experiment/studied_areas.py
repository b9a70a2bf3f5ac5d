"""The sweeps of many blocks added up: one row per protection and decoder, about all people."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tellall.core.checkpoint import checkpoint_key
from tellall.core.errors import InvalidInput, NoAnswer, TellallError, TooLittlePower
from tellall.experiment.families import Family, as_family
from tellall.experiment.intervals import NORMAL
from tellall.experiment.measurement import frontier
from tellall.experiment.sweep_table import Sweep
from tellall.experiment.tally import Tally, total
from tellall.people.areas import Area, count_areas, too_small
from tellall.release import catalogue
from tellall.release.protections.base import Protection
from tellall.release.statistics.base import Statistic

if TYPE_CHECKING:
    from tellall.experiment.swept import SweptBlock

__all__ = [
    "Lack",
    "count_lacks",
    "few_people",
    "nothing_found",
    "same_secret",
    "study_key",
    "sweep_of_all",
    "worst_block_first",
]

# What a block's study is filed under: a hash of everything that decides its numbers.


def study_key(
    what: str, people: str, statistic: Statistic, seed: int, options: Mapping[str, Any]
) -> str | None:
    """The hash; None where something in it is the user's own code, of which no hash can be made."""
    try:
        chosen = {name: _plain(value) for name, value in options.items()}
        return checkpoint_key(what, people, catalogue.to_plain(statistic), seed, chosen)
    except (TellallError, TypeError):
        return None


def _plain(value: Any) -> Any:
    if isinstance(value, type):
        if value not in catalogue.kinds("protection").values():
            raise TypeError(value.__name__)
        return value.__name__
    if isinstance(value, Protection):
        # a cell key changes the noise and is never written down but here, in a hash
        return [catalogue.to_plain(value), getattr(value, "key", None)]
    if isinstance(value, Family):
        known = catalogue.kinds("protection")
        if value.name not in known or as_family(value.name) != value:
            raise TypeError(value.name)
        return value.name
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if value is None or isinstance(value, str | int | float):
        return value
    raise TypeError(type(value).__name__)


# Why a block of a study has no answer of its own, and the sentences about many of them.

_WORDS = {
    "people": "with too few people to tell",
    "secret": "where everybody has the same secret",
    "limit": "where no scale keeps the limit",
    "other": "for other reasons",
}


@dataclass(frozen=True)
class Lack:
    """Why there is no answer.

    Attributes
    ----------
    kind
        "people" (too few to tell), "secret" (everybody has the same), "limit" (no scale keeps it), "other".
    """

    kind: str
    reason: str


def few_people(block: Area) -> Lack | None:
    """The lack of a block with too few people for a baseline; None where it has enough."""
    reason = too_small(block)
    return None if reason is None else Lack("people", reason)


def same_secret(block: Area) -> Lack | None:
    """The lack of a block where everybody has the same secret; None where they differ.

    Notes
    -----
    Whoever guesses the commoner value is right about everybody there, so no attack gains anything, and a
    search for the least noise would end at none, whatever the others need.
    """
    assert block.whole.secret is not None
    secret = block.whole.secret[block.people]
    if (secret != secret[0]).any():
        return None
    return Lack("secret", "everybody has the same secret: no attack gains anything, so no noise can be found")


def count_lacks(lacks: Sequence[Lack]) -> str:
    """How many blocks lack an answer, and why, as a sentence has it.

    Examples
    --------
    >>> count_lacks([Lack("people", "..."), Lack("secret", "..."), Lack("people", "...")])
    '3 blocks, 2 with too few people to tell, 1 where everybody has the same secret'
    """
    counts = {kind: sum(lack.kind == kind for lack in lacks) for kind in _WORDS}
    parts = [f"{count:,} {_WORDS[kind]}" for kind, count in counts.items() if count]
    if len(parts) == 1:
        parts = [_WORDS[next(kind for kind, count in counts.items() if count)]]
    return f"{count_areas(len(lacks))}, {', '.join(parts)}"


def nothing_found(by: str, lacks: Sequence[tuple[int, Lack]]) -> InvalidInput:
    """The error where no block has an answer, each with its people: that of the largest.

    What is wrong with the question itself counts first; where nothing is, there is no answer to it.
    """
    wrong = [pair for pair in lacks if pair[1].kind == "other"]
    people, lack = max(wrong or lacks, key=lambda pair: pair[0])
    unkept = any(lack.kind == "limit" for _, lack in lacks)
    error = InvalidInput if wrong else NoAnswer if unkept else TooLittlePower
    return error(
        f"No block by {by} has an answer ({count_lacks([lack for _, lack in lacks])}); "
        f"the largest{' of those' if wrong and len(wrong) < len(lacks) else ''}, of {people:,} people: "
        f"{lack.reason}"
    )


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
    return tuple((name, f"in {count_areas(count)}: {reason}") for (name, reason), count in found.items())
