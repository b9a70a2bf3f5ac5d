"""The versioned documents that tellall reads and writes, and their JSON schemas."""

from __future__ import annotations

from typing import Any

from tellall.core.checks import one_of
from tellall.core.records import VERSION, outdated

__all__ = [
    "NAMES",
    "VERSION",
    "load",
    "outdated",
]

NAMES = ("plan", "release", "audit", "sweep", "calibrate", "rows", "policy", "folder")


def load(name: str) -> dict[str, Any]:
    """The JSON schema of a document, by one of ``NAMES``, made from the document's fields.

    Examples
    --------
    >>> load("release")["title"]
    'tellall release'
    """
    from tellall.core.schemas import documents, plans, studies  # they load pydantic

    one_of("name", name, NAMES)
    room = {
        "plan": plans,
        "policy": plans,
        "folder": plans,
        "sweep": studies,
        "calibrate": studies,
        "rows": studies,
    }.get(name, documents)
    model = getattr(room, f"{name.capitalize()}Document")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"https://tellall.invalid/schemas/{name}-v{VERSION}.json",
        **model.model_json_schema(),
    }
