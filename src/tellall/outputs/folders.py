"""Reads a folder of outputs, from ACRO or with a description."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tellall.core.errors import invalid
from tellall.evidence.query import query_of
from tellall.outputs.acro import RESULTS, is_acro, read_acro, shared_variable
from tellall.outputs.described import DESCRIPTION, described_secret, is_described, read_described
from tellall.outputs.output_folder import OutputFolder
from tellall.people.bands import Bands
from tellall.people.dataset import Public

__all__ = ["columns_used", "is_read_as_described", "read_folder", "secret_of_folder"]


def read_folder(
    folder: Path,
    public: Any,
    *,
    secret: str | None = None,
    may_include: bool = False,
    bands: Sequence[Bands] = (),
) -> OutputFolder:
    """The outputs of a folder as releases about these people, or with ``may_include`` about some of them.

    ``bands`` says what labels of described tables mean.
    """
    if is_acro(folder):
        return read_acro(folder, public, secret=secret, may_include=may_include)
    if is_described(folder):
        return read_described(folder, public, secret=secret, may_include=may_include, bands=bands)
    rule = f"one that ACRO wrote, with {RESULTS}, or one with {DESCRIPTION}"
    about = [] if secret is None else ["--secret", secret]
    draft = shlex.join(["tellall", "init", str(folder), *about])
    raise invalid("folder", rule, folder, f"To draft one: {draft}")


def is_read_as_described(path: Path) -> bool:
    """Whether a folder says what its outputs are: ACRO wrote it, or it has a description."""
    return path.is_dir() and (is_acro(path) or is_described(path))


def secret_of_folder(path: Path, names: Sequence[str]) -> str | None:
    """The column that a folder says its outputs are about: its description, or most of ACRO's commands."""
    if not path.is_dir():
        return None
    if is_acro(path):
        return shared_variable(path, names)
    return described_secret(path) if is_described(path) else None


def columns_used(folder: OutputFolder, public: Public) -> list[str]:
    """The public columns that the outputs are made of."""
    used = set().union(*(query_of(release).columns_used(public) for release in folder.releases))
    return [name for name in public.names if name in used]
