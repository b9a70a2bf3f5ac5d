"""People and their columns."""

from tellall.data.bits import PACKED, Bits, between
from tellall.data.blocks import Block, block_seed, split
from tellall.data.columns import Bins, Column
from tellall.data.imprint import Imprint
from tellall.data.layout import Layout, Outline, told_left_out, unknown_name
from tellall.data.numbers import Numbers
from tellall.data.patterns import Patterns, group_rows
from tellall.data.people import Dataset, Public, as_public

__all__ = [
    "PACKED",
    "Bins",
    "Bits",
    "Block",
    "Column",
    "Dataset",
    "Imprint",
    "Layout",
    "Numbers",
    "Outline",
    "Patterns",
    "Public",
    "as_public",
    "between",
    "block_seed",
    "group_rows",
    "split",
    "told_left_out",
    "unknown_name",
]
