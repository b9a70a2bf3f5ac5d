"""Checkpoint: a folder of finished pieces, so that stopped work continues where it was."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tellall.core import files
from tellall.core.errors import InvalidInput, invalid
from tellall.core.locks import PARTIAL, claimed, clear_leftovers, private_folder
from tellall.core.version import __version__

__all__ = [
    "Checkpoint",
    "checkpoint_key",
]

_SECRET, _SECRET_BYTES = ".secret", 32
_DIGITS = frozenset("0123456789abcdef")


@dataclass(frozen=True)
class Checkpoint:
    """Finished pieces, one masked file each, named by a keyed hash of everything that decides its contents.

    Notes
    -----
    A piece whose plan, people, seed or version changed has another hash, so only that piece is done again.
    Files are named by hashes alone: the name of an area never becomes a path. A file that was not written
    whole, or was changed since, counts as missing. Only their owner can read the folders and files.

    A piece may say who is proved, and the folder may fall into other hands than the people's file. So a piece
    is masked: without its key, a hash of the people among other things that is never written, the folder says
    how many pieces there are and how long each is, and nothing else. The mask is the output of SHAKE-256 for
    the HMAC of the key and a fresh salt under a random number, which is kept in the folder. Without that
    number, a file's name would let anybody who knows all people but one find out the last by trying. Whoever
    has the folder can still confirm a guess at all people of a piece together, which for a small area, or for
    somebody who knows all but a few, is a matter of trying.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, Checkpoint.in_folder(folder) as checkpoint:
    ...     checkpoint.keep("ab" * 12, {"right": 3})
    ...     checkpoint.load("ab" * 12), checkpoint.load("cd" * 12)
    ({'right': 3}, None)
    """

    folder: Path
    secret: bytes = field(repr=False)

    @classmethod
    @contextmanager
    def in_folder(cls, folder: str | Path) -> Iterator[Checkpoint]:
        """Opens the pieces in this folder, created if missing, and locks them against other runs."""
        path = Path(folder)
        if path.is_symlink() or (path.exists() and not path.is_dir()):
            raise invalid("work", "a folder of its own, not a link or a file", path)
        with claimed(path, what="work"):
            clear_leftovers(path, f"*/.*{PARTIAL}")
            yield cls(path, _secret_of(path))

    def load(self, key: str) -> dict[str, Any] | None:
        """The piece with this key, or None."""
        path = self._path(key)
        if path.is_symlink() or not path.is_file():
            return None
        try:
            found = files.read_json(path, what="kept piece")
        except InvalidInput:
            return None
        salt, masked, seal = (found.get(name) for name in ("salt", "masked", "seal"))
        if not (isinstance(salt, str) and isinstance(masked, str) and isinstance(seal, str)):
            return None
        if not hmac.compare_digest(seal.encode(errors="replace"), self._seal(key, salt, masked).encode()):
            return None
        piece: dict[str, Any] = json.loads(self._mask(key, salt, base64.b85decode(masked)))
        return piece

    def keep(self, key: str, piece: dict[str, Any]) -> None:
        """Writes a piece to its file."""
        path = self._path(key)
        private_folder(path.parent)
        salt = secrets.token_hex(16)
        text = json.dumps(piece, allow_nan=False)
        masked = base64.b85encode(self._mask(key, salt, text.encode())).decode()
        written = {"salt": salt, "masked": masked, "seal": self._seal(key, salt, masked)}
        files.write_json(path, written, lasting=False)

    def derive(self, key: str, purpose: str) -> bytes:
        """A random number for this purpose that only whoever knows the key can make again."""
        return hmac.new(self.secret, json.dumps([purpose, key]).encode(), "sha256").digest()

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
        name = self._name(key)
        return self.folder / name[:2] / f"{name[2:]}.json"

    def _mask(self, key: str, salt: str, text: bytes) -> bytes:
        """The text masked, or the masked text as it was."""
        stream = hashlib.shake_256(self.derive(key, f"mask {salt}")).digest(len(text))
        return (int.from_bytes(text) ^ int.from_bytes(stream)).to_bytes(len(text))

    def _seal(self, key: str, salt: str, masked: str) -> str:
        return hmac.new(self.derive(key, f"seal {salt}"), json.dumps(masked).encode(), "sha256").hexdigest()

    def _name(self, key: str) -> str:
        if not _is_hash(key, 16):
            raise invalid("key", "a hash in hexadecimal digits", key)
        return hmac.new(self.secret, key.encode(), "sha256").hexdigest()[:32]


def checkpoint_key(*parts: Any) -> str:
    """The hash of this version and the plain data that decide a piece's contents; never written as it is.

    Examples
    --------
    >>> one, same, other = (checkpoint_key("audit", {"seed": seed}) for seed in (1, 1, 2))
    >>> one == same != other
    True
    """
    text = json.dumps([__version__, *parts], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _secret_of(folder: Path) -> bytes:
    """The folder's random number, drawn at its first use; readable by its owner only."""
    path = folder / _SECRET
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        found = b"" if path.is_symlink() or not path.is_file() else path.read_bytes()
        if len(found) == _SECRET_BYTES:
            return found
        path.unlink()  # not written whole: pieces kept under it cannot be found again
        return _secret_of(folder)
    with os.fdopen(descriptor, "wb") as file:
        drawn = secrets.token_bytes(_SECRET_BYTES)
        file.write(drawn)
    return drawn


def _is_hash(text: str, shortest: int) -> bool:
    return len(text) >= shortest and set(text) <= _DIGITS
