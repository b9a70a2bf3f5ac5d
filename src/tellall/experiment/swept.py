"""What studies of many blocks found: BlockSweep and BlockCalibration."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from tellall.core.text import one_line
from tellall.experiment.calibration import NO_GUARANTEE
from tellall.experiment.studied_areas import Lack, count_lacks
from tellall.experiment.sweep_table import Sweep
from tellall.experiment.tally import Tally
from tellall.people.areas import count_areas

__all__ = [
    "BlockCalibration",
    "BlockSweep",
    "CalibratedBlock",
    "SweptBlock",
    "sweep_from_json",
]


@dataclass(frozen=True, eq=False)
class SweptBlock:
    """One block's sweep, or why there is none; ``seed`` is that of the block alone."""

    name: str
    people: int
    seed: int
    sweep: Sweep | None
    reason: str | None

    def as_json(self) -> dict[str, Any]:
        """The block as plain data: the rows that a table of blocks needs."""
        wanted = (
            "protection",
            "decoder",
            "accuracy",
            "baseline",
            "baseline_accuracy",
            "advantage",
            "low",
            "high",
            "exposed",
            "loss",
        )
        rows = () if self.sweep is None else self.sweep.rows
        return {**_plain(self), "rows": [{name: row[name] for name in wanted} for row in rows]}


@dataclass(frozen=True, eq=False, repr=False)
class BlockSweep:
    """Privacy and utility of protections in many blocks.

    Attributes
    ----------
    by
        The column whose values are the blocks.
    whole
        All people of all blocks together: a sweep whose counts, of people exposed say, add up over blocks.
    blocks
        Each block's own, the worst first; those without one last.
    """

    by: str
    whole: Sweep
    blocks: tuple[SweptBlock, ...]

    def as_json(self) -> dict[str, Any]:
        """The sweep as plain data."""
        return {**self.whole.as_json(), "by": self.by, "blocks": [block.as_json() for block in self.blocks]}

    def __str__(self) -> str:
        missing = sum(block.sweep is None for block in self.blocks)
        left_out = f", {missing:,} of them not measured" if missing else ""
        people = (
            f"{self.whole.people:,} people in {count_areas(len(self.blocks))} by {_short(self.by)}{left_out}"
        )
        return f"{people}\n{self.whole}"

    __repr__ = __str__


@dataclass(frozen=True, eq=False)
class CalibratedBlock:
    """One block's calibration as plain data, or why there is none; ``seed`` is that of the block alone."""

    name: str
    people: int
    seed: int
    answer: dict[str, Any] | None
    reason: str | None

    def as_json(self) -> dict[str, Any]:
        """The block as plain data, without the scales that were tried."""
        wanted = (
            "scale",
            "protection",
            "decoder",
            "accuracy",
            "baseline",
            "baseline_accuracy",
            "advantage",
            "interval",
            "loss",
            "evaluations",
        )
        found = self.answer
        return {**_plain(self), "answer": None if found is None else {name: found[name] for name in wanted}}


@dataclass(frozen=True, eq=False, repr=False)
class BlockCalibration:
    """The least noise of a family in many blocks.

    Attributes
    ----------
    by
        The column whose values are the blocks.
    scale, protection
        The largest that a block with an answer needs: one noise for all.
    together
        What that noise achieves and costs, in every block and for all people.
    blocks
        The answer of each block, those that need most noise first, those without an answer last.
    lacks
        Why the blocks without an answer have none.
    """

    by: str
    family: str
    scale: float
    protection: str
    max_advantage: float
    together: BlockSweep
    blocks: tuple[CalibratedBlock, ...]
    lacks: tuple[Lack, ...] = ()

    @property
    def enough(self) -> bool:
        """Whether that noise is enough, as far as one can tell: False where all people surely are above."""
        return all(row["low"] <= self.max_advantage for row in self.together.whole.rows)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What to keep in mind of that noise and of the block that needs most, in sentences."""
        decisive = self.blocks[0]
        said = [] if decisive.answer is None else decisive.answer["warnings"]
        who = f"{_short(decisive.name)}, the block that needs most: "
        found = tuple(f"{who}{sentence}" for sentence in said if sentence != NO_GUARANTEE)
        return found if self.enough else (self._not_enough(), *found)

    def _not_enough(self) -> str:
        whole, highest = self.together.whole, max(self.together.whole.rows, key=lambda row: row["low"])
        return (
            f"This is not enough: over all {whole.people:,} people the advantage of {highest['decoder']} is "
            f"at least {highest['low']:.1%}, above the limit of {self.max_advantage:.1%}, since blocks "
            "without an answer of their own need more. Take more noise, or larger blocks."
        )

    @property
    def worst(self) -> dict[str, Any]:
        """The row of all people together, at that noise, of the decoder with the highest upper limit."""
        return max(self.together.whole.rows, key=lambda row: row["high"])

    def as_json(self) -> dict[str, Any]:
        """The calibration as plain data."""
        return {
            "by": self.by,
            "family": self.family,
            "scale": self.scale,
            "protection": self.protection,
            "max_advantage": self.max_advantage,
            "statistic": self.together.whole.statistic,
            "people": self.together.whole.people,
            "units": self.together.whole.units,
            "seed": self.together.whole.seed,
            "together": dict(self.worst),
            "exposed": max(row["exposed"] for row in self.together.whole.rows),
            "warnings": [NO_GUARANTEE, *self.warnings],
            "blocks": [block.as_json() for block in self.blocks],
        }

    def __str__(self) -> str:
        worst, answered = self.worst, sum(block.answer is not None for block in self.blocks)
        low, high = f"{worst['low']:+.1%}", f"{worst['high']:+.1%}"
        none = "none is needed" if self.enough else "none was found"
        needed = self.protection if self.scale else none
        lines = [
            f"One noise for {count_areas(answered)} by {_short(self.by)}, "
            f"for an advantage of at most {self.max_advantage:.1%} in each: {needed}",
            f"  over all {self.together.whole.people:,} people: advantage {worst['advantage']:+.1%} "
            f"[{low}, {high}] of {worst['decoder']}, {worst['exposed']:.0f} exposed, "
            f"mean error {worst['loss']:.3g}",
        ]
        lines += [
            f"  {_short(block.name)}: {block.answer['protection'] if block.answer['scale'] else 'none'}"
            for block in self.blocks[:5]
            if block.answer is not None
        ]
        lines += [f"  {sentence}" for sentence in (*self.warnings, NO_GUARANTEE)]
        if self.lacks:
            lines.append(f"  no answer of their own: {count_lacks(self.lacks)}")
        return "\n".join(lines)

    __repr__ = __str__


def _plain(block: SweptBlock | CalibratedBlock) -> dict[str, Any]:
    """Who a block is, and why it has no answer."""
    return {"name": block.name, "people": block.people, "seed": block.seed, "reason": block.reason}


def _short(name: str) -> str:
    return one_line(name, 24) or "(empty)"


def sweep_from_json(plain: dict[str, Any]) -> Sweep:
    """The sweep of a block from its plain data, tallies included."""
    known: dict[str, Any] = {
        field.name: tuple(plain[field.name]) if isinstance(plain[field.name], list) else plain[field.name]
        for field in fields(Sweep)
        if field.name in plain
    }
    known["skipped"] = tuple((one["protection"], one["reason"]) for one in plain["skipped"])
    known["tallies"] = tuple(None if tally is None else Tally.from_json(tally) for tally in plain["tallies"])
    return Sweep(**known)
