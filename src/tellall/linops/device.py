"""OnDevice: an operator whose work is done on a device, NumPy in and NumPy out."""

from __future__ import annotations

from typing import Any, final

from tellall.linops.base import Array, IntArray, LinearOperator
from tellall.linops.place import HOST, Place

__all__ = ["OnDevice"]


@final
class OnDevice(LinearOperator):
    """An operator of another place behind products of NumPy arrays.

    What iterates asks for ``resident`` and stays on the device; everything else need not know. What has to be
    formed (a gram, the matrix itself) comes from the ``source`` on the host, where there is one.
    """

    def __init__(self, resident: LinearOperator, source: LinearOperator | None = None) -> None:
        self._resident, self._source = resident, source
        self.shape, self.dtype = resident.shape, resident.dtype

    @classmethod
    def move(cls, operator: LinearOperator, place: Place) -> LinearOperator:
        """The operator with its products computed at that place."""
        if place is HOST or operator.resident.place is place:
            return operator
        return cls(operator.on(place), operator)

    @property
    def source(self) -> LinearOperator | None:
        """The same on the host, where there is one."""
        return self._source

    def on(self, place: Place) -> LinearOperator:
        if self._resident.place is place:
            return self._resident
        return (self._source or self._resident).on(place)

    @property
    def resident(self) -> LinearOperator:
        return self._resident

    def matmat(self, block: Array) -> Array:
        place = self._resident.place
        out: Array = place.get(self._resident.matmat(place.put(block)))
        return out

    def rmatmat(self, block: Array) -> Array:
        place = self._resident.place
        out: Array = place.get(self._resident.rmatmat(place.put(block)))
        return out

    def gram(self, weights: Array | None = None) -> Array:
        return super().gram(weights) if self._source is None else self._source.gram(weights)

    def to_dense(self) -> Array:
        return super().to_dense() if self._source is None else self._source.to_dense()

    def to_sparse(self) -> Any:
        return super().to_sparse() if self._source is None else self._source.to_sparse()

    def take(self, columns: IntArray) -> OnDevice:
        if self._source is None:
            return OnDevice(self._resident.take(columns))
        few = self._source.take(columns)
        return OnDevice(few.on(self._resident.place), few)

    def squared(self) -> OnDevice:
        return OnDevice(self._resident.squared(), self._source and self._source.squared())
