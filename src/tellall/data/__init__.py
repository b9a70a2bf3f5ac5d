"""People and their columns."""

from tellall.data.blocks import Block, block_seed, split
from tellall.data.columns import Bins, Column
from tellall.data.imprint import Imprint
from tellall.data.layout import Layout, Outline, told_left_out, unknown_name
from tellall.data.people import Dataset, Patterns, Public, as_public, group_rows

__all__ = [
    "Bins",
    "Block",
    "Column",
    "Dataset",
    "Imprint",
    "Layout",
    "Outline",
    "Patterns",
    "Public",
    "as_public",
    "block_seed",
    "group_rows",
    "split",
    "told_left_out",
    "unknown_name",
]
