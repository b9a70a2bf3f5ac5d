"""Operators: matrices known by their products. They know nothing of privacy."""

from tellall.linops.base import Array, IntArray, LinearOperator
from tellall.linops.blocks import Blocks
from tellall.linops.compose import RowScale, RowSelect, Stack
from tellall.linops.dense import Dense, Sparse
from tellall.linops.device import OnDevice
from tellall.linops.moments import Moments
from tellall.linops.packed import Packed
from tellall.linops.partition import Partition
from tellall.linops.place import HOST, Place, find_place
from tellall.linops.rowfunction import RowFunction

__all__ = [
    "HOST",
    "Array",
    "Blocks",
    "Dense",
    "IntArray",
    "LinearOperator",
    "Moments",
    "OnDevice",
    "Packed",
    "Partition",
    "Place",
    "RowFunction",
    "RowScale",
    "RowSelect",
    "Sparse",
    "Stack",
    "find_place",
]
