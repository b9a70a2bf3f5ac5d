"""Checkpoint: a folder of finished pieces, so that work that was stopped goes on where it was."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tellall.core import files
from tellall.core.errors import InvalidInput, invalid
from tellall.core.version import __version__

__all__ = [
    "Checkpoint",
    "checkpoint_key",
]

_DIGITS = frozenset("0123456789abcdef")


@dataclass(frozen=True)
class Checkpoint:
    """Finished pieces, a JSON file each, named by the hash of everything that decides what is in it.

    Notes
    -----
    A piece whose plan, people, seed or version changed has another hash, so it alone is done again. Files are
    named by hashes alone: the name of an area never becomes a path. A file that was not written whole, or was
    changed since, counts as missing.

    Examples
    --------
    >>> import tempfile
    >>> checkpoint = Checkpoint.in_folder(tempfile.mkdtemp())
    >>> checkpoint.keep("ab" * 12, {"right": 3})
    >>> checkpoint.load("ab" * 12), checkpoint.load("cd" * 12)
    ({'right': 3}, None)
    """

    folder: Path

    @classmethod
    def in_folder(cls, folder: str | Path) -> Checkpoint:
        """The pieces in this folder, which is made if need be."""
        path = Path(folder)
        if path.is_symlink() or (path.exists() and not path.is_dir()):
            raise invalid("work", "a folder of its own, not a link or a file", path)
        path.mkdir(parents=True, exist_ok=True)
        return cls(path)

    def load(self, key: str) -> dict[str, Any] | None:
        """The piece with this key, or None."""
        path = self._path(key)
        if path.is_symlink() or not path.is_file():
            return None
        try:
            found = files.read_json(path, what="kept piece")
        except InvalidInput:
            return None
        piece = found.get("piece")
        return piece if found.get("key") == key and isinstance(piece, dict) else None

    def keep(self, key: str, piece: dict[str, Any]) -> None:
        """Writes a piece to its file."""
        path = self._path(key)
        path.parent.mkdir(exist_ok=True)
        files.write_json(path, {"key": key, "piece": piece})

    def prune(self, keys: Iterable[str]) -> None:
        """Removes all pieces but those with these keys."""
        wanted = {self._path(key) for key in keys}
        for shelf in self.folder.iterdir():
            if shelf.is_symlink() or not shelf.is_dir() or not _is_hash(shelf.name, 2):
                continue
            for path in shelf.glob("*.json"):
                if path not in wanted:
                    path.unlink(missing_ok=True)
            if not any(shelf.iterdir()):
                shelf.rmdir()

    def _path(self, key: str) -> Path:
        if not _is_hash(key, 16):
            raise invalid("key", "a hash in hexadecimal digits", key)
        return self.folder / key[:2] / f"{key[2:]}.json"


def checkpoint_key(*parts: Any) -> str:
    """The hash of plain data that decide what is in a piece, and of this version.

    Examples
    --------
    >>> one, same, other = (checkpoint_key("audit", {"seed": seed}) for seed in (1, 1, 2))
    >>> one == same != other
    True
    """
    text = json.dumps([__version__, *parts], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _is_hash(text: str, shortest: int) -> bool:
    return len(text) >= shortest and set(text) <= _DIGITS
