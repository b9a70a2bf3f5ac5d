"""The options that every command shares, and where its answer goes."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from tellall.errors import invalid

__all__ = ["AsJson", "Out", "Quiet", "Seed", "check_out", "emit"]

AsJson = Annotated[bool, typer.Option("--json", help="One JSON document on standard output, all talk aside.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of everything random.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No talk and no progress bar.")]
Out = Annotated[Path | None, typer.Option("--out", "-o", help="Write the JSON document to this file.")]


def check_out(out: Path | None) -> None:
    """Refuse an output place that cannot be written, before any work is done."""
    if out is not None and (out.is_dir() or not out.parent.is_dir()):
        raise invalid("--out", "a file in a folder that exists", str(out))


def emit(document: dict[str, Any], *, as_json: bool, out: Path | None) -> None:
    """The document on standard output, in a file, or both; a file is written whole or not at all."""
    text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    if out is not None:
        partial = out.with_name(f".{out.name}.partial")
        partial.write_text(text, encoding="utf-8")
        partial.replace(out)
    if as_json:
        sys.stdout.write(text)
