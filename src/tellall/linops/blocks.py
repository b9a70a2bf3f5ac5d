"""Blocks: operators side by side, each on unknowns of its own."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, final

import numpy as np

from tellall.errors import invalid
from tellall.linops.base import Array, IntArray, LinearOperator, split_rows
from tellall.linops.place import Place

__all__ = ["Blocks"]


@final
class Blocks(LinearOperator):
    """Operators on the diagonal: ``A = diag(A_1, ..., A_K)``, a block of rows and of columns for each.

    ``places[b]`` are the columns of block b, one block after the other where they are not given.
    """

    def __init__(self, parts: Sequence[LinearOperator], places: Sequence[IntArray] | None = None) -> None:
        if not parts:
            raise invalid("parts", "one operator or more", "none")
        widths = [part.shape[1] for part in parts]
        if places is None:
            places = np.split(np.arange(sum(widths)), np.cumsum(widths)[:-1])
        if [place.size for place in places] != widths:
            raise invalid(
                "places", f"as many as the columns of each part ({widths})", [p.size for p in places]
            )
        self.parts, self.places = tuple(parts), tuple(places)
        self.shape = (sum(part.shape[0] for part in parts), sum(widths))
        self.dtype, self.place = np.result_type(*(part.dtype for part in parts)), parts[0].place

    def matmat(self, block: Array) -> Array:
        xp = self.place.xp
        pairs = zip(self.parts, self._indices, strict=True)
        out: Array = xp.concat([part.matmat(xp.take(block, index, axis=0)) for part, index in pairs])
        return out

    def rmatmat(self, block: Array) -> Array:
        xp = self.place.xp
        found = [part.rmatmat(rows) for part, rows in zip(self.parts, self._split(block), strict=True)]
        out: Array = xp.take(xp.concat(found), self._order, axis=0)
        return out

    def on(self, place: Place) -> Blocks:
        return Blocks([part.on(place) for part in self.parts], self.places)

    def gram(self, weights: Array | None = None) -> Array:
        out = np.zeros((self.shape[1], self.shape[1]))
        split: Sequence[Array | None]
        split = [None] * len(self.parts) if weights is None else self._split(weights)
        for part, place, some in zip(self.parts, self.places, split, strict=True):
            out[np.ix_(place, place)] = part.gram(some)
        return out

    def take(self, columns: IntArray) -> Blocks:
        owner, local = np.empty(self.shape[1], dtype=np.intp), np.empty(self.shape[1], dtype=np.intp)
        for b, place in enumerate(self.places):
            owner[place], local[place] = b, np.arange(place.size)
        places = [np.flatnonzero(owner[columns] == b) for b in range(len(self.parts))]
        kept = [part.take(local[columns[p]]) for part, p in zip(self.parts, places, strict=True)]
        return Blocks(kept, places)

    def squared(self) -> Blocks:
        return Blocks([part.squared() for part in self.parts], self.places)

    def to_sparse(self) -> Any:
        from scipy.sparse import block_diag, csr_array

        side_by_side = block_diag([part.to_sparse() for part in self.parts]).tocsc()
        return csr_array(side_by_side[:, np.argsort(np.concatenate(self.places), kind="stable")])

    @cached_property
    def _indices(self) -> list[Any]:
        """The columns of each part, where products are computed."""
        return [self.place.put(index) for index in self.places]

    @cached_property
    def _order(self) -> Any:
        """For each column its place when the parts' columns come one after the other."""
        return self.place.put(np.argsort(np.concatenate(self.places), kind="stable"))

    def _split(self, rows: Array) -> list[Array]:
        return split_rows(rows, self.parts)
