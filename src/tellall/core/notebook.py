"""How results show themselves in a notebook: as parts of the pages, which the room above draws.

Results are made in a lower room than pages. So a result loads the drawing module by its name when a notebook
shows it: the one place where a room uses a room above it.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = [
    "InNotebook",
    "WithFigures",
]

_DRAWS = "tellall.report.notebook"


class InNotebook:
    """A result that a notebook shows as a part of a page: counts and rates, nobody's secret."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        shown: str = import_module(_DRAWS).notebook_html(self)
        return shown


class WithFigures(InNotebook):
    """A result with figures."""

    __slots__ = ()

    def plot(self) -> Any:
        """Its figures, as on its page: a notebook shows them, and ``save`` writes them to an HTML file."""
        return import_module(_DRAWS).plot_of(self)
