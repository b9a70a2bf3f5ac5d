"""The verdict on many blocks: that on all people, unless some block says otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tellall.data.blocks import count_blocks, count_people
from tellall.report.summary import ReleaseSummary
from tellall.report.verdict import Verdict

__all__ = ["JudgedBlock", "block_name", "judge_blocks"]

_LISTED = 3
_LONGEST = 60


@dataclass(frozen=True)
class JudgedBlock:
    """One block as a verdict sees it.

    Attributes
    ----------
    worst
        The release with the largest advantage there, of those above the limit where there are such, with its
        summary; None where nothing was attacked.
    above
        Whether an interval lies above the limit.
    surely
        Whether that also holds considering how many blocks were looked at.
    reason
        Why it was not attacked; None where it was.
    """

    name: str
    people: int
    worst: tuple[str, ReleaseSummary] | None
    above: bool
    surely: bool
    reason: str | None = None


def judge_blocks(total: Verdict, blocks: Sequence[JudgedBlock], limit: float) -> Verdict:
    """The verdict on all blocks, the worst of which come first.

    Notes
    -----
    All people together are judged as one release would be. Of many blocks some lie above a limit by luck:
    one fails only where its advantage exceeds the limit at 95 % confidence over all blocks looked at
    (Bonferroni); short of that, a block whose own interval lies above the limit is for a person to decide, as
    is one that could not be attacked.
    """
    surely = [block for block in blocks if block.surely]
    if total.word == "fail":
        return Verdict("fail", _with(total.sentence, _above(surely, blocks)))
    if surely:
        return Verdict("fail", f"{_worst(surely[0], limit)} {_above(surely, blocks)}")
    if total.word == "review":
        return total
    above = [block for block in blocks if block.above]
    if above:
        return Verdict(
            "review",
            f"{_worst(above[0], limit)} In {_count(above, blocks)} the interval lies above the limit, which "
            "of so many blocks could be luck. All people together stay below it.",
        )
    untold = [block for block in blocks if block.reason is not None]
    if untold:
        return Verdict(
            "review",
            f"What could be attacked stayed below the limit of {_points(limit)}, but "
            f"{_count(untold, blocks)} could not be: {_list(untold)}.",
        )
    return Verdict("pass", f"{total.sentence} No block lies above the limit.")


def block_name(name: str) -> str:
    """A block's name as people read it: on one line, not too long, never empty."""
    text = " ".join("".join(mark if mark.isprintable() else " " for mark in name).split())
    text = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
    return text or "(empty)"


def _worst(block: JudgedBlock, limit: float) -> str:
    assert block.worst is not None
    name, row = block.worst
    guess = row.baselines[row.baseline]
    return (
        f"In “{block_name(block.name)}” an outsider guesses from “{name}” the secret of "
        f"{_people(row.accuracy, row)} people right; without it, of {_people(guess, row)} at best. The limit "
        f"is {_points(limit)}."
    )


def _above(surely: Sequence[JudgedBlock], blocks: Sequence[JudgedBlock]) -> str:
    if not surely:
        return ""
    return f"{_count(surely, blocks).capitalize()} {'lies' if len(surely) == 1 else 'lie'} above it for sure."


def _with(sentence: str, more: str) -> str:
    return f"{sentence} {more}" if more else sentence


def _count(some: Sequence[JudgedBlock], blocks: Sequence[JudgedBlock]) -> str:
    return f"{len(some):,} of {count_blocks(len(blocks))}"


def _list(blocks: Sequence[JudgedBlock]) -> str:
    named = ", ".join(
        f"“{block_name(block.name)}” ({count_people(block.people)})" for block in blocks[:_LISTED]
    )
    more = len(blocks) - _LISTED
    return f"{named} and {more:,} more" if more > 0 else named


def _people(share: float, row: ReleaseSummary) -> str:
    return f"{round(share * row.people):,} of {row.people:,}"


def _points(share: float) -> str:
    return f"{100 * share:.1f} in 100"
