"""Proofs: who is proved by an attack, kept to be joined with other attacks; only counts are shown."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.audits.measures.counts import Counts, mean_counts

__all__ = ["Proofs"]

Codes = npt.NDArray[np.uint16]
_STATES = ("known", "group", "alone")  # the later outweighs the earlier where attacks are joined


@dataclass(frozen=True, eq=False)
class Proofs:
    """Who is proved in each draw, in an order that only the holder of a random key can undo.

    Attributes
    ----------
    levels
        How many values the secret has.
    codes
        An array for each draw: 0 for a person who is not proved, else 1 + 3 × value where they were known
        anyway, one more where they are proved as a group, and two more where they are proved alone.

    Notes
    -----
    A person has the same value in every attack, so the larger code of two attacks is that of both together:
    proved in either, and alone where either proves them alone. People are shuffled by a random key, the same
    for all attacks of an audit: these codes say how many people are proved, as a report does, and not who.
    """

    levels: int
    codes: tuple[Codes, ...]

    @classmethod
    def of(
        cls, kinds: Sequence[npt.NDArray[np.str_]], truth: npt.NDArray[np.generic], levels: int, key: bytes
    ) -> Proofs:
        """The proofs of each draw, from a state for each person, or "", shuffled by the key.

        The states are "alone", "group" and "known": proved alone, but known anyway.

        Examples
        --------
        >>> truth = np.array([1, 0, 1])
        >>> found = Proofs.of([np.array(["alone", "group", ""])], truth, 2, b"0123")
        >>> found.alone, found.group
        ({'0': 0, '1': 1}, {'0': 1, '1': 0})
        """
        order = np.random.default_rng(np.frombuffer(key, dtype=np.uint32)).permutation(truth.size)
        value, few = len(_STATES) * truth.astype(np.uint16), len(_STATES)
        coded = [
            np.select([kind == one for one in _STATES], [value + at for at in range(1, few + 1)], 0)
            for kind in kinds
        ]
        return cls(levels, tuple(each[order].astype(np.uint16) for each in coded))

    @classmethod
    def union(cls, parts: Iterable[Proofs]) -> Proofs | None:
        """What several attacks prove together, draw by draw; None if there is nothing to add up.

        An attack with fewer draws has nothing random in it, and counts in all draws.
        """
        known = list(parts)
        if not known:
            return None
        draws = max(len(part.codes) for part in known)
        each = (
            reduce(np.maximum, [part.codes[draw % len(part.codes)] for part in known])
            for draw in range(draws)
        )
        return cls(known[0].levels, tuple(each))

    def none(self) -> Proofs:
        """No proof about any of these people."""
        return Proofs(self.levels, tuple(np.zeros_like(each) for each in self.codes))

    @property
    def alone(self) -> Counts:
        """How many people are proved alone, by value; the mean over draws."""
        return self._by_value("alone")

    @property
    def group(self) -> Counts:
        """How many people are proved as a group and not alone, by value; the mean over draws."""
        return self._by_value("group")

    def _by_value(self, state: str) -> Counts:
        few, at = len(_STATES), 1 + _STATES.index(state)
        numbers = [np.bincount(each, minlength=few * self.levels + 1)[at::few] for each in self.codes]
        return mean_counts(
            [dict(zip(map(str, range(self.levels)), row.tolist(), strict=True)) for row in numbers]
        )

    def to_plain(self) -> dict[str, Any]:
        """The proofs as plain data."""
        packed = [
            base64.b85encode(zlib.compress(each.astype("<u2").tobytes())).decode() for each in self.codes
        ]
        return {"levels": self.levels, "codes": packed}

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> Proofs:
        """The proofs that :meth:`to_plain` gave."""
        unpacked = (zlib.decompress(base64.b85decode(text)) for text in plain["codes"])
        return cls(
            int(plain["levels"]), tuple(np.frombuffer(raw, dtype="<u2").astype(np.uint16) for raw in unpacked)
        )
