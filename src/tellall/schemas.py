"""The JSON schemas of the documents that tellall reads and writes, made from their records.

Like `tellall.testing` it stands above all rooms, and no room uses it.
"""

from __future__ import annotations

from typing import Any

from tellall.attack.prove.hidden_files import HiddenFound
from tellall.attack.prove.row_files import RowsFound
from tellall.audits.document import AuditDocument
from tellall.audits.studies import CalibrationFound, SweepFound
from tellall.core.checks import one_of
from tellall.core.records import VERSION, Record, schema_of
from tellall.outputs.described import Description
from tellall.outputs.recognised import OutputsFound
from tellall.people.bands import ColumnCodings
from tellall.release.saved import SavedRelease

__all__ = ["NAMES", "load"]

_RECORDS: dict[str, type[Record]] = {
    "audit": AuditDocument,
    "bands": ColumnCodings,
    "calibrate": CalibrationFound,
    "folder": Description,
    "hidden": HiddenFound,
    "outputs": OutputsFound,
    "release": SavedRelease,
    "rows": RowsFound,
    "sweep": SweepFound,
}
NAMES = (
    "plan",
    "release",
    "audit",
    "outputs",
    "sweep",
    "calibrate",
    "rows",
    "hidden",
    "policy",
    "folder",
    "bands",
)


def load(name: str) -> dict[str, Any]:
    """The JSON schema of a document, by one of ``NAMES``.

    Examples
    --------
    >>> load("release")["title"]
    'tellall release'
    """
    from tellall.audits.plans import written  # loads pydantic

    one_of("name", name, NAMES)
    if name in _RECORDS:
        return schema_of(_RECORDS[name], name)
    model = written.PlanDocument if name == "plan" else written.PolicyDocument
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"https://tellall.invalid/schemas/{name}-v{VERSION}.json",
        **model.model_json_schema(),
    }
