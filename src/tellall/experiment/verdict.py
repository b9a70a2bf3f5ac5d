"""The verdict on many blocks: that on all people, unless some block says otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tellall.algebra.solvers.base import SETTLED
from tellall.core.text import one_line
from tellall.experiment.summary import ReleaseSummary
from tellall.people.areas import count_areas, count_people

__all__ = [
    "PARTLY",
    "Answer",
    "JudgedBlock",
    "Verdict",
    "block_name",
    "judge",
    "judge_blocks",
]

# The verdict: pass, review or fail, with a sentence that needs no training to read.

PARTLY = "not attacked in "  # how the status begins of what was attacked in some blocks only


@dataclass(frozen=True)
class Verdict:
    """The answer in a word and in a sentence.

    ``word`` is "pass" (every attack stayed below the limit), "fail" (one was above it), or "review" (it
    could not be told, and a person has to decide).
    """

    word: str
    sentence: str

    def __str__(self) -> str:
        return f"{self.word}: {self.sentence}"


@dataclass(frozen=True)
class Answer:
    """What a page says first: a word and a sentence, of what, and how good or bad they are.

    ``kind`` is "pass" (nothing needs to be done), "review" (a person decides) or "fail".
    """

    kind: str
    word: str
    sentence: str
    about: str = ""


def judge(
    rows: Sequence[tuple[str, ReleaseSummary]],
    *,
    limit: float,
    skipped: Sequence[str] = (),
    exposed_limit: int | None = None,
) -> Verdict:
    """The verdict on named summaries against a limit on advantage and, where given, on people exposed.

    Notes
    -----
    An interval of the advantage that lies above the limit fails, one that lies below passes, one that
    contains it is for a person to decide, as is whatever could not be attacked.
    """
    if not rows:
        return Verdict("review", "Nothing could be attacked, so nothing is known about what it gives away.")
    name, worst = max(rows, key=lambda row: row[1].advantage)
    above = [row for row in rows if row[1].interval[0] > limit]
    crowded = [row for row in rows if exposed_limit is not None and row[1].exposed_people > exposed_limit]
    unsure = [row for row in rows if row[1].interval[0] <= limit < row[1].interval[1]]
    doubts = [(title, row.status) for title, row in rows if row.status not in SETTLED]
    if above:
        named = max(above, key=lambda row: row[1].advantage)
        return Verdict("fail", f"{_found(*named)} The limit is {_points(limit)}.")
    if crowded:
        title, row = max(crowded, key=lambda pair: pair[1].exposed_people)
        return Verdict(
            "fail",
            f"{_exposes(title, row)} The limit is {exposed_limit}.",
        )
    if unsure:
        title, row = max(unsure, key=lambda pair: pair[1].interval[1])
        low, high = row.interval
        return Verdict(
            "review",
            f"{_found(title, row)} With this many people that could as well be {_more(low)} as "
            f"{_more(high)}, and the limit, {_points(limit)}, lies between.",
        )
    if skipped or doubts:
        return Verdict("review", _unsure(skipped, doubts, limit))
    return Verdict("pass", _passed(name, worst, limit, max(row.exposed_people for _, row in rows)))


def _unsure(skipped: Sequence[str], doubts: Sequence[tuple[str, str]], limit: float) -> str:
    """What was below the limit, and why that is not all: what was not attacked, what cannot be trusted."""
    partly = [f"{title} ({status})" for title, status in doubts if status.startswith(PARTLY)]
    missed = [*skipped, *partly]
    stayed = f"What could be attacked stayed below the limit of {_points(limit)}"
    text = f"{stayed}, but not everything could be: {', '.join(missed)}." if missed else f"{stayed}."
    told = [_doubt(title, status) for title, status in doubts if not status.startswith(PARTLY)]
    return " ".join([text, *told])


def _doubt(title: str, status: str) -> str:
    """What is wrong with an attack that was made."""
    word, _, reason = status.partition(": ")
    if word == "uncalibrated":
        return (
            f"“{title}” was attacked, but how sure the attack is cannot be trusted: {reason or 'untested'}."
        )
    how = status if status.startswith("in ") else f"what was found is not settled ({status})"
    return f"“{title}” was attacked, but {how}."


def _found(name: str, row: ReleaseSummary) -> str:
    guess = row.baselines[row.baseline]
    return (
        f"From “{name}” an outsider guesses the secret of {_people(row.accuracy, row)} people right; "
        f"without it, of {_people(guess, row)} at best: {_more(row.advantage)}."
    )


def _exposes(name: str, row: ReleaseSummary) -> str:
    return f"“{name}” exposes {row.exposed_people} of {row.people:,} people with 95 % confidence."


def _passed(name: str, worst: ReleaseSummary, limit: float, exposed: int) -> str:
    gain = f"at most {_points(worst.advantage)} more" if worst.advantage > 0 else "no more"
    text = (
        f"The attacks tried here guess {gain} secrets right than one would without the "
        f"release{'' if worst.advantage <= 0 else f' (“{name}”)'}; the limit is {_points(limit)}."
    )
    if exposed:
        text += f" Even so, {exposed} {'person is' if exposed == 1 else 'people are'} exposed."
    return f"{text} That these attacks fail does not prove that every attack would."


def _people(share: float, row: ReleaseSummary) -> str:
    return f"{round(share * row.people):,} of {row.people:,}"


def _more(share: float) -> str:
    """A difference in words; what rounds to nothing is no fewer."""
    fewer = round(1000 * share) < 0
    return f"{_points(abs(share))} {'fewer' if fewer else 'more'}"


def _points(share: float) -> str:
    return f"{100 * share:.1f} in 100"


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
    return one_line(name, _LONGEST) or "(empty)"


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
    return f"{len(some):,} of {count_areas(len(blocks))}"


def _list(blocks: Sequence[JudgedBlock]) -> str:
    named = ", ".join(
        f"“{block_name(block.name)}” ({count_people(block.people)})" for block in blocks[:_LISTED]
    )
    more = len(blocks) - _LISTED
    return f"{named} and {more:,} more" if more > 0 else named
