"""Door: how a browser is let in once, with nothing secret in the command that starts it.

Every user of a machine can list the commands that run, so the browser is started with the path of a file that
only its owner can read. The file is a page that leads to the served page with a ticket.
"""

from __future__ import annotations

import os
import platform
import secrets
import shutil
import stat
import tempfile
import threading
import time
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from enum import Enum
from html import escape
from pathlib import Path

__all__ = ["LIFETIME", "Ticket", "Visit", "browser_started", "page_leading_to"]

LIFETIME = 60.0  # seconds
_PREFIX, _PAGE = "tellall-opens-", "open.html"
_COPY = "Copy the address above into a browser of this machine."


class Visit(Enum):
    """What a word is worth as a ticket."""

    NONE = "another word"
    FIRST = "lets in"
    LATE = "too old"
    AGAIN = "shown before"


class Ticket:
    """A word that lets in whoever shows it first, within a minute.

    Notes
    -----
    Nobody shows a ticket twice by accident: the page that it leads to takes its place in the history of the
    browser. If it is shown again, one of the two was somebody else.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.word = secrets.token_urlsafe(24)
        self._clock, self._end, self._shown = clock, clock() + LIFETIME, False
        self._over = threading.Event()

    def show(self, word: bytes) -> Visit:
        """What becomes of somebody who shows this word."""
        if not secrets.compare_digest(word, self.word.encode()):
            return Visit.NONE
        if self._shown:
            return Visit.AGAIN
        if self._over.is_set() or self._clock() > self._end:
            return Visit.LATE
        self._shown = True
        self._over.set()
        return Visit.FIRST

    def end(self) -> None:
        """Lets nobody in from now on."""
        self._over.set()

    def wait(self) -> bool:
        """Waits until the ticket was shown, ended or is too old; whether it was too old."""
        return not self._over.wait(max(self._end - self._clock(), 0.0))


def page_leading_to(address: str) -> str:
    """A page that leads to an address at once, without scripts."""
    to = escape(address, quote=True)
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>tellall</title>'
        f'<meta name="referrer" content="no-referrer"><meta http-equiv="refresh" content="0; url={to}">'
        "</head><body><p>tellall opens here. If it does not, copy the address on the terminal into this "
        "browser.</p></body></html>\n"
    )


@contextmanager
def browser_started(address: str, ticket: Ticket, log: Callable[[str], None]) -> Iterator[None]:
    """Starts a browser with a page that leads to the address; the page is gone once the ticket is spent.

    Parameters
    ----------
    address
        Where the page leads: the served page, with the ticket in place of the token.
    ticket
        The ticket; it ends at the end of this context.
    log
        Called with a sentence if no browser could be started, or it did not come within a minute.

    Notes
    -----
    The page is in a folder of its own in the user's home, whose name does not start with a dot: browsers in a
    box (snap) read nothing else. Where no file keeps other users out, and where the browser runs outside this
    system (WSL), none is started.
    """
    page = _private_page(page_leading_to(address))
    if page is None:
        ticket.end()
        log(f"no browser was started: there is no file that it and nobody else could read. {_COPY}")
        yield
        return

    def start() -> None:  # browsers in a terminal return when they are closed
        with suppress(OSError, webbrowser.Error):
            if webbrowser.open(page.as_uri()):
                return
        ticket.end()
        log(f"no browser could be started. {_COPY}")

    def remove() -> None:
        late = ticket.wait()
        shutil.rmtree(page.parent, ignore_errors=True)
        if late:
            log(f"the browser did not open the page within a minute. {_COPY}")

    removal = threading.Thread(target=remove, daemon=True)
    try:
        removal.start()
        threading.Thread(target=start, daemon=True).start()
        yield
    finally:
        ticket.end()
        removal.join()


def _private_page(text: str) -> Path | None:
    """The text in a new file for its owner alone, in a folder of its own; None if there can be none."""
    if "microsoft" in platform.uname().release.lower():  # WSL: the browser runs outside, and finds no file
        return None
    for home in _homes():
        with suppress(OSError):
            _clear(home)
            folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=home))
            try:
                page = folder / _PAGE
                handle = os.open(page, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
                with os.fdopen(handle, "w", encoding="utf-8") as file:
                    if _is_private(folder.stat()) and _is_private(os.fstat(handle)):
                        file.write(text)
                        return page
            except OSError:
                pass
            shutil.rmtree(folder, ignore_errors=True)
    return None


def _homes() -> Iterator[Path]:
    """Yields the folders of this user alone: the home, and that of running programs."""
    with suppress(RuntimeError):  # no home is known
        yield Path.home()
    running = os.environ.get("XDG_RUNTIME_DIR", "")
    if Path(running).is_absolute():
        yield Path(running)


def _is_private(about: os.stat_result) -> bool:
    """Whether only this user can read a file; some file systems keep no such promise."""
    return about.st_uid == os.geteuid() and not about.st_mode & 0o077


def _clear(home: Path) -> None:
    """Removes pages that servers left behind when they were killed; their tickets are too old."""
    before = time.time() - LIFETIME
    for folder in home.glob(f"{_PREFIX}*"):
        about = folder.lstat()
        if stat.S_ISDIR(about.st_mode) and about.st_uid == os.geteuid() and about.st_mtime < before:
            (folder / _PAGE).unlink(missing_ok=True)
            with suppress(OSError):  # it holds something else
                folder.rmdir()
