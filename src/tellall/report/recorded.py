"""The end of an audit's page: the plan as it was written, how to repeat the audit, and a box to sign."""

from __future__ import annotations

from collections.abc import Mapping

from tellall.audits.document import AuditDocument
from tellall.core import files
from tellall.core.made import Made
from tellall.report.kit.blocks import Block, Folded, Headed, Paragraph, Preformatted, Signature, Terms

__all__ = ["plan_blocks", "record_blocks", "repeat_blocks", "versions_of"]

_SEED = "Draw the noise you publish with another seed: anybody who knows the seed can remove the noise."


def plan_blocks(document: AuditDocument) -> list[Block]:
    """The plan, folded away: as it was written or, where it came from elsewhere, with every default."""
    written = None if document.record is None else document.record.plan
    text = files.dump(document.plan) if written is None else written
    return [Folded("The plan as it was written", (Preformatted("The plan", text),))]


def record_blocks(document: AuditDocument) -> list[Block]:
    """What repeats the audit, what it was about, and a box to sign."""
    data, record = document.data, document.record
    columns = ", ".join(f"{column.name} ({column.levels} values)" for column in data.columns)
    hashes = [] if record is None else list(record.sha256.items())
    pairs = [
        *([] if record is None else [("date", record.date)]),
        ("command", document.command),
        *([("device", document.device)] if document.device != "cpu" else []),
        ("seed", f"{document.seed}. {_SEED}"),
        ("versions", versions_of(document.tellall, document.versions)),
        ("public columns", columns),
        *([("left out", "; ".join(data.left_out))] if data.left_out else []),
        ("distinct public rows", f"{data.distinct_public_rows:,} of {data.people:,}"),
        *((f"SHA-256 of {name}", text) for name, text in hashes),
    ]
    return [
        Terms(pairs, code=("command",)),
        Headed("Decision", (Signature(("Decision", "Reasons", "Name", "Date and signature")),)),
        Paragraph(
            "This page shows counts and rates, and nobody's secret. It informs; a person decides.", soft=True
        ),
    ]


def repeat_blocks(made: Made, command: str, seed: int | None = None, **more: str) -> list[Block]:
    """What repeats a page; ``more`` are further options in words."""
    pairs = [
        ("command", command),
        *more.items(),
        *([] if seed is None else [("seed", f"{seed}")]),
        ("versions", versions_of(made.tellall, made.versions)),
    ]
    return [Terms(pairs, code=("command",))]


def versions_of(tellall: str, versions: Mapping[str, str]) -> str:
    """The versions of everything that made a document."""
    others = "".join(f", {name} {number}" for name, number in versions.items())
    return f"tellall {tellall}{others}"
