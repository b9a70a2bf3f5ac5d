"""The versioned JSON schemas of what tellall reads and writes; the files lie beside this one."""

from __future__ import annotations

from typing import Any

__all__ = [
    "NAMES",
    "VERSION",
    "load",
]

NAMES = ("plan", "release", "audit", "sweep", "calibrate")
VERSION = 1


def load(name: str) -> dict[str, Any]:
    """The JSON schema of "plan", "release", "audit", "sweep" or "calibrate".

    Examples
    --------
    >>> load("release")["title"]
    'tellall release'
    """
    import json
    from importlib.resources import files

    schema: dict[str, Any] = json.loads(
        files("tellall.core.schemas").joinpath(f"{name}.json").read_text(encoding="utf-8")
    )
    return schema
