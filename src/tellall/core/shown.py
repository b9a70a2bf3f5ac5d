"""How results show themselves: as a page, and in a notebook as parts of it, which the room above draws.

Results are made in a lower room than pages. So a result loads the drawing module by its name when somebody
looks at it: the one place where a room uses a room above it.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = [
    "InNotebook",
    "WithFigures",
    "page_of",
]

_DRAWS = "tellall.report.notebook"
_WRITES = "tellall.report.pages"


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


def page_of(result: object) -> str:
    """The page of a result, self-contained."""
    page: str = import_module(_WRITES).page_of(result)
    return page
