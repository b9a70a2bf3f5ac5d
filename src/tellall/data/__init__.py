"""People and their columns."""

from tellall.data.columns import Bins, Column
from tellall.data.imprint import Imprint
from tellall.data.people import (
    Dataset,
    Patterns,
    Public,
    as_public,
    group_rows,
    told_left_out,
    unknown_name,
)

__all__ = [
    "Bins",
    "Column",
    "Dataset",
    "Imprint",
    "Patterns",
    "Public",
    "as_public",
    "group_rows",
    "told_left_out",
    "unknown_name",
]
