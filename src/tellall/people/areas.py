"""Blocks: the people of one value of a public column, a county say; what is published of each is its own."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.core.errors import invalid
from tellall.people.bits import IntArray
from tellall.people.columns import encode
from tellall.people.dataset import Dataset
from tellall.people.layout import unknown_name

__all__ = [
    "FEWEST",
    "Block",
    "block_seed",
    "count_blocks",
    "count_people",
    "fingerprint",
    "split",
    "too_small",
    "values_as_text",
]

FEWEST = 4  # people, to compare an attack with a baseline


@dataclass(frozen=True, eq=False)
class Block:
    """The people with one value of the column that blocks are made by.

    Attributes
    ----------
    name
        The value; "missing" where there is none.
    people
        Their places in the whole table.
    whole
        The whole table, without the column.
    """

    name: str
    people: IntArray
    whole: Dataset

    @property
    def n(self) -> int:
        """How many people."""
        return int(self.people.size)

    @property
    def dataset(self) -> Dataset:
        """The people, with the categories and cut points of the whole table; made anew at each call."""
        return self.whole.take(self.people)

    def seed(self, seed: int) -> int:
        """The seed of this block in work with that seed."""
        return block_seed(seed, self.name)


def split(dataset: Dataset, by: str) -> list[Block]:
    """The blocks of a table, in the order of the column's values.

    Notes
    -----
    Tables of every block have the categories of the whole table, as an agency publishes them: a category that
    nobody in the block has is a cell of zeros. The column itself is the same for everybody in a block and is
    left out.

    Examples
    --------
    >>> people = Dataset.from_frame({"town": ["a", "b", "b", "a"], "x": [0, 0, 1, 1], "s": [0, 1, 1, 0]}, "s")
    >>> [(block.name, block.people.tolist()) for block in split(people, "town")]
    [('a', [0, 3]), ('b', [1, 2])]
    """
    public = dataset.public
    if by not in public.names:
        left_out = next((reason for reason in public.left_out if reason.startswith(f"{by}: ")), None)
        if left_out is not None:
            raise invalid("by", "a column that differs between people", left_out)
        raise unknown_name("by", by, public.names)
    place = public.names.index(by)
    column = public.columns[place]
    if column.cuts is not None:
        raise invalid(
            "by",
            "a column whose values are kept",
            f"'{by}', a number cut into {column.levels} parts",
            "Make it text, so that each value is a block.",
        )
    if len(public.columns) < 2:
        raise invalid("public", "a column or more besides that of the blocks", f"'{by}' alone")
    others = [other for other in range(len(public.columns)) if other != place]
    whole = replace(dataset, public=public.choose(others))
    codes = public.codes[place].astype(np.int64)
    order = np.argsort(codes, kind="stable")  # people stay in file order within a block
    edges = np.searchsorted(codes[order], np.arange(column.levels + 1))
    return [
        Block(label, order[start:stop], whole)
        for label, start, stop in zip(column.labels, edges[:-1], edges[1:], strict=True)
        if stop > start
    ]


def too_small(block: Block) -> str | None:
    """Why a block cannot be attacked, where it has too few people."""
    if block.n >= FEWEST:
        return None
    whose = (
        "one person: whatever is published of the block is about that person"
        if block.n == 1
        else f"{block.n} people: a table of so few is nearly about each of them"
    )
    return (
        f"{whose}. Baselines need {FEWEST} people, so nothing is known; better publish nothing of it alone."
    )


def count_blocks(count: int, kind: str = "") -> str:
    """So many blocks, as a sentence has it.

    Examples
    --------
    >>> count_blocks(1), count_blocks(3142), count_blocks(1, "more")
    ('1 block', '3,142 blocks', '1 more block')
    """
    return f"{count:,} {kind}{' ' if kind else ''}{'block' if count == 1 else 'blocks'}"


def count_people(count: int) -> str:
    """So many people, as a sentence has it.

    Examples
    --------
    >>> count_people(1), count_people(3142)
    ('1 person', '3,142 people')
    """
    return f"{count:,} {'person' if count == 1 else 'people'}"


def block_seed(seed: int, name: str) -> int:
    """The seed of a block: its own by its name, whatever other blocks there are and in whatever order.

    Examples
    --------
    >>> block_seed(0, "Autauga") == block_seed(0, "Autauga") != block_seed(0, "Baldwin")
    True
    """
    raw = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    words = [int(word) for word in np.frombuffer(raw, dtype="<u4")]
    state = np.random.SeedSequence(seed, spawn_key=words).generate_state(1, np.uint64)
    return int(state[0] >> np.uint64(11))  # 53 bits: every reader of JSON keeps them


def fingerprint(dataset: Dataset) -> str:
    """A hash of everything in a dataset: names, codes, numbers, secret, in order."""
    digest = hashlib.sha256()
    columns = [[column.name, column.labels, column.cuts] for column in dataset.public.columns]
    digest.update(json.dumps([columns, dataset.secret_name, dataset.meaning]).encode())
    for codes in dataset.public.codes:
        digest.update(codes.astype(np.int64).tobytes())
    for numbers in dataset.public.numbers:
        digest.update(b"-" if numbers is None else np.ascontiguousarray(numbers).tobytes())
    if dataset.secret is not None:
        digest.update(np.ascontiguousarray(dataset.secret).tobytes())
    return digest.hexdigest()


def values_as_text(name: str, raw: Any) -> npt.NDArray[np.object_]:
    """A column of which every value is to be a category: numbers as text, None where missing.

    Examples
    --------
    >>> values_as_text("county", np.array([1001.0, float("nan"), 56045.0])).tolist()
    ['1001', None, '56045']
    """
    column, codes, numbers = encode(name, raw)
    if numbers is None:
        texts: list[str | None] = [*column.labels[:-1], None] if column.gaps else [*column.labels]
        return _chosen(texts, codes)
    distinct, codes = np.unique(numbers, return_inverse=True)  # one NaN, the last
    texts = [_number_as_text(float(value)) for value in distinct]
    return _chosen(texts, codes)


def _chosen(texts: list[str | None], codes: IntArray) -> npt.NDArray[np.object_]:
    found: npt.NDArray[np.object_] = np.array(texts, dtype=object)[codes]
    return found


def _number_as_text(value: float) -> str | None:
    if np.isnan(value):
        return None
    return str(int(value)) if value.is_integer() else repr(value)
