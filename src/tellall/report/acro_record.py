"""The findings of an audit as a record that ACRO and its viewer read, next to their own."""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Mapping
from typing import Any

from tellall.audits.document import AuditDocument
from tellall.audits.findings import FindingDocument
from tellall.core import files
from tellall.core.text import no_formula
from tellall.core.version import __version__

__all__ = ["FINDINGS", "acro_record"]

FINDINGS = "tellall_findings.csv"
_TOGETHER = "all_outputs_together"
_COLUMNS = ("output", "verdict", "accuracy", "baseline", "baseline_accuracy", "advantage", "low", "high")
_COUNTS = ("proved", "exposed")


def acro_record(document: AuditDocument, version: str, timestamp: str) -> dict[str, str]:
    """The texts of the record's files by name: ``results.json``, the table it shows, and their checksums.

    Parameters
    ----------
    document
        The audit.
    version
        The version of ACRO that wrote the outputs; its viewer accepts no other.
    timestamp
        When the audit ended, in ISO format.
    """
    rows = {row.name: row for row in document.findings if row.role == "alone"}
    together = next((row for row in document.findings if row.role == "together"), None)
    results = {name: _record(name, row, document, timestamp) for name, row in rows.items()}
    results[_TOGETHER] = {
        **_record(_TOGETHER, together, document, timestamp),
        "status": document.verdict.word,
        "summary": document.verdict.sentence,
    }
    listed = {**rows, **({_TOGETHER: together} if together is not None else {})}
    texts = {
        FINDINGS: _table(listed),
        "results.json": files.dump({"version": version, "tool": _tool(), "results": results}),
    }
    sums = {
        f"checksums/{name}.txt": hashlib.sha256(text.encode()).hexdigest() for name, text in texts.items()
    }
    return {**texts, **sums}


def _tool() -> dict[str, str]:
    return {"@type": "SoftwareApplication", "name": "tellall", "version": __version__}


def _record(
    name: str, row: FindingDocument | None, document: AuditDocument, timestamp: str
) -> dict[str, Any]:
    """One output as ACRO writes it down."""
    verdict = document.verdict if row is None else row.verdict
    numbers = _numbers(row)
    return {
        "uid": name,
        "status": verdict.word,
        "type": "custom",
        "properties": {"tool": "tellall", "version": __version__, "secret": document.data.secret},
        "files": [{"name": FINDINGS, "sdc": {"summary": {}, "cells": {}}}],
        "outcome": {"found": {key: str(value) for key, value in numbers.items()}} if numbers else {},
        "command": document.command,
        "summary": verdict.sentence,
        "timestamp": timestamp,
        "comments": [],
        "exception": "",
        "fair": {},
    }


def _numbers(row: FindingDocument | None) -> dict[str, Any]:
    """What the strongest attack on an output found: counts and rates, never a person."""
    found = None if row is None else row.summary
    if found is None:
        return {}
    low, high = found.interval
    return {
        "accuracy": round(found.accuracy, 4),
        "baseline": found.baseline,
        "baseline_accuracy": round(found.baselines[found.baseline], 4),
        "advantage": round(found.advantage, 4),
        "low": round(low, 4),
        "high": round(high, 4),
        "proved": found.proved,
        "exposed": found.exposed_people,
    }


def _table(rows: Mapping[str, FindingDocument]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, [*_COLUMNS, *_COUNTS], lineterminator="\n", restval="")
    writer.writeheader()
    for name, row in rows.items():
        writer.writerow({"output": no_formula(name), "verdict": row.verdict.word, **_numbers(row)})
    return text.getvalue()
