"""Counting cells: how many people are in each cell of each table, wherever the people are."""

from tellall.cells.count import Cells, count_cells
from tellall.cells.stored import Stored, scan

__all__ = ["Cells", "Stored", "count_cells", "scan"]
