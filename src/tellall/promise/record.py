"""Records of numbers that print themselves and have a JSON form."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

__all__ = [
    "NumberRecord",
]


@dataclass(frozen=True)
class NumberRecord:
    """A record of numbers; `as_dict` gives its JSON form."""

    def as_dict(self) -> dict[str, Any]:
        """The fields for JSON: tuples as lists, infinite numbers as None."""
        return {name: _plain(value) for name, value in asdict(self).items()}


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list | tuple) else value
