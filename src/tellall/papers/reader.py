"""The papers' claims as their files have them, each read once."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from tellall.core.errors import invalid
from tellall.papers.claims import Claim, Numbered, Paper

__all__ = [
    "read_paper",
]


@cache
def read_paper(name: str | Path) -> Paper:
    """A paper with its claims, from NAME.toml beside this module, or from a file at another path."""
    path = name if isinstance(name, Path) else Path(__file__).with_name(f"{name}.toml")
    found = tomllib.loads(path.read_text(encoding="utf-8"))
    settings, claims = found.pop("settings", {}), found.pop("claim")
    try:
        return Paper(
            name=path.stem,
            claims=tuple(Claim(key, **one, settings=settings) for key, one in claims.items()),
            notes=tuple(found.pop("notes")),
            index=tuple(one if isinstance(one, str) else Numbered(*one) for one in found.pop("index")),
            settings=settings,
            **{part: _fixed(value) for part, value in found.items()},
        )
    except TypeError as error:  # a field that records do not have, or lack
        raise invalid(path.name, "a paper's table of claims", str(error)) from error


def _fixed(value: Any) -> Any:
    """Lists as tuples, throughout."""
    if isinstance(value, dict):
        return {name: _fixed(one) for name, one in value.items()}
    return tuple(map(_fixed, value)) if isinstance(value, list) else value
