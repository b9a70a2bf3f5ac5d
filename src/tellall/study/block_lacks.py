"""Why a block of a study has no answer of its own, and the sentences about many of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tellall.data import Block
from tellall.data.blocks import count_blocks, too_small
from tellall.errors import InvalidInput, NoAnswer, TooLittlePower

__all__ = ["Lack", "count_lacks", "few_people", "nothing_found", "same_secret"]

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


def few_people(block: Block) -> Lack | None:
    """The lack of a block with too few people for a baseline; None where it has enough."""
    reason = too_small(block)
    return None if reason is None else Lack("people", reason)


def same_secret(block: Block) -> Lack | None:
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
    return f"{count_blocks(len(lacks))}, {', '.join(parts)}"


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
