"""OnDevice: an operator whose work is done on a device, NumPy in and NumPy out."""

from __future__ import annotations

from typing import final

from tellall.linops.base import Array, IntArray, LinearOperator
from tellall.linops.place import HOST, Place

__all__ = ["OnDevice"]


@final
class OnDevice(LinearOperator):
    """An operator of another place behind products of NumPy arrays.

    What iterates asks for ``resident`` and stays on the device; everything else need not know.
    """

    def __init__(self, resident: LinearOperator) -> None:
        self._resident = resident
        self.shape, self.dtype = resident.shape, resident.dtype

    @classmethod
    def move(cls, operator: LinearOperator, place: Place) -> LinearOperator:
        """The operator with its work done at that place."""
        return operator if place is HOST else cls(operator.on(place))

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

    def take(self, columns: IntArray) -> OnDevice:
        return OnDevice(self._resident.take(columns))

    def squared(self) -> OnDevice:
        return OnDevice(self._resident.squared())
