"""Claims: one writer per folder; files that a killed writer left behind are removed."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tellall.core.errors import invalid

__all__ = [
    "PARTIAL",
    "claimed",
    "clear_leftovers",
    "held_open",
    "is_claimed",
    "private_folder",
]

PARTIAL = ".tellall-partial"  # the ending of an unfinished file's name
_LOCK = ".lock"
_held: set[tuple[str, int]] = set()  # folders that this process holds, each by one thread


def private_folder(path: Path) -> Path:
    """The folder; a new one is private to its owner, an existing one keeps its mode."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path


@contextmanager
def claimed(folder: Path, *, what: str = "--out", patience: float = 0.0) -> Iterator[None]:
    """Holds a folder, made if missing, so that no other process writes to it meanwhile.

    Notes
    -----
    The claim is a system lock on the file ``.lock`` in the folder, so it ends with the process, however that
    ends, and no process numbers are compared. The file is removed with the claim. Within a claim the same
    thread may claim the folder again. A folder that another process or thread still holds after ``patience``
    seconds is refused.
    """
    private_folder(folder)
    key = (str(folder.resolve()), threading.get_ident())
    if key in _held:
        yield
        return
    lock, until = folder / _LOCK, time.monotonic() + patience
    while (handle := held_open(lock, os.O_CREAT)) is None:
        if time.monotonic() >= until:
            rule = "a folder that no other tellall writes to at the same time"
            raise invalid(what, rule, str(folder), "Wait until it is done, or choose another folder.")
        time.sleep(0.05)
    _held.add(key)
    try:
        clear_leftovers(folder)
        yield
    finally:
        _held.discard(key)
        lock.unlink(missing_ok=True)
        os.close(handle)


def is_claimed(folder: Path) -> bool:
    """Whether some process holds a folder."""
    try:
        handle = held_open(folder / _LOCK)
    except OSError:
        return False
    if handle is None:
        return True
    os.close(handle)
    return False


def held_open(path: Path, more: int = 0, mode: int = 0o600) -> int | None:
    """Opens a file and holds it until it is closed; None if another process holds it.

    Also None if the file lost its name before it was held.
    """
    import fcntl

    handle = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | more, mode)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(handle), os.lstat(path)):
            return handle
    except (BlockingIOError, FileNotFoundError):
        pass
    os.close(handle)
    return None


def clear_leftovers(folder: Path, pattern: str = f".*{PARTIAL}") -> None:
    """Removes from a folder the unfinished files, named by a pattern, of writers that were killed.

    A writer holds its unfinished file as long as it lives, so a file that can be held belongs to nobody.
    """
    for path in folder.glob(pattern):
        try:
            handle = held_open(path)
        except OSError:
            continue  # gone by now, a link, or somebody else's
        if handle is not None:
            path.unlink(missing_ok=True)
            os.close(handle)
