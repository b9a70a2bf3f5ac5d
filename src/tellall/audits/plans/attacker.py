"""Attackers: what somebody is assumed to know about the people, and on whom an attack by them is judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tellall.core.errors import InvalidInput
from tellall.evidence.view import EVERYTHING, Knowledge
from tellall.linalg.operators.linear_operator import IntArray
from tellall.people.codes import keys_of_rows
from tellall.people.dataset import Dataset, Public, unknown_name
from tellall.statistics.conditions import Subset
from tellall.statistics.where import people_where

__all__ = ["INSIDER", "Attacker", "Standpoint"]


@dataclass(frozen=True)
class Attacker:
    """Somebody who attacks the releases.

    Attributes
    ----------
    name
        What pages call them; empty if there is only one attacker.
    known
        The public columns that they know; None: all.
    known_people
        The share of the people whom they know; the seed decides who these are.
    known_secrets
        The share of the people they know whose secret they know already.
    may_include
        Whether they do not know who of these people is in a release, beyond how many at least.
    """

    name: str = ""
    known: tuple[str, ...] | None = None
    known_people: float = 1.0
    known_secrets: float = 0.0
    may_include: bool = False

    @classmethod
    def listed(cls, document: Any) -> tuple[Attacker, ...]:
        """The attackers of a plan's document: those listed, or the one that its own keys describe."""
        entries = document.attackers or [document]
        return tuple(
            cls(
                (document.attackers and entry.name) or (f"attacker {number}" if len(entries) > 1 else ""),
                None if entry.known is None else tuple(entry.known),
                entry.known_people,
                entry.known_secrets,
                entry.may_include,
            )
            for number, entry in enumerate(entries, 1)
        )

    @property
    def knows_all(self) -> bool:
        """Whether they know every public column of everybody, who is in the data, and nobody's secret."""
        return replace(self, name="") == INSIDER

    def unknown_columns(self, public: Public) -> list[InvalidInput]:
        """The errors for columns that the people do not have."""
        names = () if self.known is None else self.known
        return [unknown_name("known", name, public.names) for name in names if name not in public.names]

    def in_areas(self, by: str) -> Attacker:
        """The same attacker within one area: the column that makes areas is not among its columns."""
        return self if self.known is None else replace(self, known=tuple(n for n in self.known if n != by))

    def stand(self, people: Dataset, seed: int = 0) -> Standpoint:
        """What they know of these people."""
        everybody = np.arange(people.n)
        if self.knows_all:
            return Standpoint(people.public, everybody)
        public = people.public if self.known is None else people.public.only(*self.known)
        order = _in_order(people)[np.random.default_rng([seed, people.n]).permutation(people.n)]
        rows = np.sort(order[: max(2, round(self.known_people * people.n))])
        told = order[: rows.size][: round(self.known_secrets * rows.size)]
        place = np.searchsorted(rows, told)
        assert people.secret is not None
        known = Knowledge(
            missing=None if rows.size == people.n else people.n - rows.size,
            may_include=self.may_include,
            secrets={int(row): people.secret[rows[row]].item() for row in np.sort(place)},
        )
        view = public if rows.size == people.n else public.take(rows)
        return Standpoint(view, rows, known if known != EVERYTHING else EVERYTHING)

    def describe(self, secret: str) -> str:
        """What they know, in a sentence."""
        if self.known is None:
            which = "every public column"
        else:
            which = ", ".join(name for name in self.known) or "no public column"
        whom = "everybody" if self.known_people == 1 else f"{100 * self.known_people:g} % of the people"
        told = f", and the {secret} of {100 * self.known_secrets:g} % of them" if self.known_secrets else ""
        unsure = ", but not which of them are in the releases" if self.may_include else ""
        return f"knows {which} of {whom}{told}{unsure}"

    def as_json(self) -> dict[str, Any]:
        """The attacker as a plan writes one."""
        return {
            "name": self.name,
            "known": None if self.known is None else list(self.known),
            "known_people": self.known_people,
            "known_secrets": self.known_secrets,
            "may_include": self.may_include,
        }


INSIDER = Attacker()


def _in_order(people: Dataset) -> IntArray:
    """The people in an order that hangs on who they are, not on their order in the file."""
    assert people.secret is not None
    return np.lexsort((people.secret, keys_of_rows(people.public.names, people.public.codes)))


@dataclass(frozen=True, eq=False)
class Standpoint:
    """What an attacker knows: a view of some people, which rows of everybody these are, and the rest."""

    view: Public
    rows: IntArray
    known: Knowledge = field(default=EVERYTHING)

    def judged(self, about: Sequence[Subset | None], public: Public) -> IntArray:
        """The people on whom releases about these people are judged, by row in the view; None: everybody.

        They are the people of the releases whom the attacker knows, except those whose secret they know.
        """
        inside = np.zeros(public.n, dtype=bool)
        for where in about:
            inside[people_where(where, public)] = True
        judged = inside[self.rows]
        judged[list(self.known.secrets)] = False
        return np.flatnonzero(judged)
