"""A folder of outputs, whoever wrote it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tellall.core.errors import invalid
from tellall.release.acro import RESULTS, is_acro, read_acro
from tellall.release.outputs import OutputFolder

__all__ = ["read_folder"]


def read_folder(folder: Path, public: Any, *, secret: str | None = None) -> OutputFolder:
    """The outputs of a folder as releases about these people."""
    if is_acro(folder):
        return read_acro(folder, public, secret=secret)
    raise invalid("folder", f"one that ACRO wrote, with {RESULTS}", folder)
