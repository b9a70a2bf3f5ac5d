"""The versioned documents that tellall reads and writes, and their JSON schemas."""

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
    """The JSON schema of "plan", "release", "audit", "sweep" or "calibrate", made from the document's fields.

    Examples
    --------
    >>> load("release")["title"]
    'tellall release'
    """
    from tellall.core.checks import one_of
    from tellall.core.schemas import documents, studies  # they load pydantic

    one_of("name", name, NAMES)
    room = studies if name in ("sweep", "calibrate") else documents
    model = getattr(room, f"{name.capitalize()}Document")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"https://tellall.invalid/schemas/{name}-v{VERSION}.json",
        **model.model_json_schema(),
    }
