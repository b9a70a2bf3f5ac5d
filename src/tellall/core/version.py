"""The version of tellall, and of the packages whose numbers a document holds."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

__all__ = [
    "versions",
]

__version__ = "0.1.0"
_NAMED = ("numpy", "scipy", "scikit-learn")


def versions() -> dict[str, str]:
    """Python and the numerical packages that are installed, with their versions."""
    found = {"python": platform.python_version()}
    for name in _NAMED:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
