"""Kept: the folder where finished pieces wait for the rest, so that work that was stopped goes on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tellall import store
from tellall.errors import InvalidInput, invalid
from tellall.version import __version__

__all__ = ["Kept", "filed_under"]

_DIGITS = frozenset("0123456789abcdef")


@dataclass(frozen=True)
class Kept:
    """Finished pieces, a JSON file each, under the hash of everything that decides what is in it.

    Notes
    -----
    A piece whose plan, people, seed or version changed has another hash, so it is done again and no other
    is. Files are named by hashes alone: what a block is called never becomes a path. A file is whole or not
    there, and one that is not what was written is done again.

    Examples
    --------
    >>> import tempfile
    >>> kept = Kept.in_folder(tempfile.mkdtemp())
    >>> kept.keep("ab" * 12, {"right": 3})
    >>> kept.load("ab" * 12), kept.load("cd" * 12)
    ({'right': 3}, None)
    """

    folder: Path

    @classmethod
    def in_folder(cls, folder: str | Path) -> Kept:
        """The pieces in this folder, which is made if need be."""
        place = Path(folder)
        if place.is_symlink() or (place.exists() and not place.is_dir()):
            raise invalid("work", "a folder of its own, not a link or a file", str(folder))
        place.mkdir(parents=True, exist_ok=True)
        return cls(place)

    def load(self, key: str) -> dict[str, Any] | None:
        """The piece with this hash, or None."""
        path = self._path(key)
        if path.is_symlink() or not path.is_file():
            return None
        try:
            found = store.read_json(path, what="kept piece")
        except InvalidInput:
            return None
        piece = found.get("piece")
        return piece if found.get("key") == key and isinstance(piece, dict) else None

    def keep(self, key: str, piece: dict[str, Any]) -> None:
        """The piece goes into its file."""
        path = self._path(key)
        path.parent.mkdir(exist_ok=True)
        store.write_json(path, {"key": key, "piece": piece})

    def prune(self, keys: Iterable[str]) -> None:
        """Nothing but the pieces with these hashes is left."""
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


def filed_under(*parts: Any) -> str:
    """The hash of plain data that decides what is in a piece, and of this version.

    Examples
    --------
    >>> filed_under("audit", {"seed": 1}) == filed_under("audit", {"seed": 1}) != filed_under("audit", {})
    True
    """
    text = json.dumps([__version__, *parts], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _is_hash(text: str, shortest: int) -> bool:
    return len(text) >= shortest and set(text) <= _DIGITS
