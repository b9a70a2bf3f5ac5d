"""The curator's key: shows whoever has it that a file of people is the one a record is about.

A plain hash of the file would let anybody who knows all people but one find out the last by trying.
"""

from __future__ import annotations

import hmac
import os
import secrets
import stat
import string
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tellall.core import files
from tellall.core.errors import InvalidInput, invalid

__all__ = ["CuratorKey"]

_BYTES = 32
_PIECE = 2**20
_SALT = "salt"
_KEY = "key"
_PEOPLE = "people"
_FIELDS = (_SALT, _KEY, _PEOPLE)
_NEW = "Make a key with: tellall check --new-key FILE"


@dataclass(frozen=True)
class CuratorKey:
    """A random number of 256 bits, in a file that only its owner can read.

    Notes
    -----
    A check has a fresh salt s and two HMACs with SHA-256: of s alone, which identifies the key, and of s
    followed by the file. Without the key both look random: two checks have nothing in common, whether their
    files are equal, differ in one person, or differ in everything.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     key = CuratorKey.create(Path(folder) / "curator.key")
    ...     people = Path(folder) / "people.csv"
    ...     _ = people.write_text("ill")
    ...     check = key.check(people)
    ...     before = key.agrees(people, check)
    ...     _ = people.write_text("well")
    ...     before, key.agrees(people, check)
    (True, False)
    """

    secret: bytes = field(repr=False)

    @classmethod
    def create(cls, path: Path) -> CuratorKey:
        """Draws a key and writes it to a new file of mode 0600; a file that exists is left alone."""
        drawn = secrets.token_bytes(_BYTES)
        try:
            with files.together(new=True) as batch:
                batch.text(path, f"{drawn.hex()}\n")
        except FileExistsError:
            raise invalid(
                "key", "a new file", path, "If a key is replaced, its checks are useless."
            ) from None
        return cls(drawn)

    @classmethod
    def read(cls, path: Path) -> CuratorKey:
        """Reads a key from a file that nobody but its owner can read or write."""
        try:
            handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            file = os.fdopen(handle, "rb")
        except OSError as error:
            raise invalid(
                "key", "a file that can be read, not a link", path, f"{error.strerror}. {_NEW}"
            ) from None
        with file:
            about = os.fstat(handle)
            if not stat.S_ISREG(about.st_mode):
                raise invalid("key", "a file", path, _NEW)
            if about.st_mode & 0o077 or about.st_uid != os.geteuid():
                rule = "a file of your own that nobody else can read or write (mode 0600)"
                raise invalid("key", rule, f"mode {about.st_mode & 0o777:04o} of {path}")
            text = file.read(2 * _BYTES + 2).decode("ascii", errors="replace").removesuffix("\n")
        if not _is_hex(text):
            raise invalid(
                "key", f"{2 * _BYTES} hexadecimal digits in one line", f"something else in {path}", _NEW
            )
        return cls(bytes.fromhex(text))

    def check(self, file: Path) -> dict[str, str]:
        """The check of a file, as a record keeps it: the salt, the mark of this key, the HMAC of the file."""
        salt = secrets.token_hex(_BYTES)
        return {_SALT: salt, _KEY: self._mac(salt), _PEOPLE: self._mac(salt, file)}

    def agrees(self, file: Path, check: Mapping[str, object]) -> bool:
        """Whether a check is of this file; a check that was made with another key is an error."""
        kept = {
            name: value for name in _FIELDS if isinstance(value := check.get(name), str) and _is_hex(value)
        }
        if len(kept) < len(_FIELDS):
            raise invalid(
                "check", f"{', '.join(_FIELDS)}, each of {2 * _BYTES} hexadecimal digits", "something else"
            )
        if not hmac.compare_digest(self._mac(kept[_SALT]), kept[_KEY]):
            raise InvalidInput("This key is not the one that the check was made with.")
        return hmac.compare_digest(self._mac(kept[_SALT], file), kept[_PEOPLE])

    def _mac(self, salt: str, file: Path | None = None) -> str:
        start = hmac.new(self.secret, bytes.fromhex(salt) + bytes([file is not None]), "sha256")
        if file is None:
            return start.hexdigest()
        try:
            with file.open("rb") as contents:
                while piece := contents.read(_PIECE):
                    start.update(piece)
        except OSError as error:
            raise InvalidInput(f"{file} cannot be read: {error.strerror}.") from None
        return start.hexdigest()


def _is_hex(text: str) -> bool:
    return len(text) == 2 * _BYTES and set(text) <= set(string.hexdigits)
