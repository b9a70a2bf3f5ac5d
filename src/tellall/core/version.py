"""Which versions made a document."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

__all__ = [
    "versions",
]

# The version of this package, at the bottom of the house so that every document can carry it.

__version__ = "0.1.0"


_NAMED = ("numpy", "scipy", "scikit-learn")


def versions() -> dict[str, str]:
    """Python and the packages whose numbers these are."""
    found = {"python": platform.python_version()}
    for name in _NAMED:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
