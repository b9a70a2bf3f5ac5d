"""Runs an input in this process as the command would, and says what is wrong with how it ended."""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from typer.main import get_command

import tellall as ta
from tellall import cli
from tellall.core.locks import PARTIAL

__all__ = ["Ended", "run"]

SECONDS = 60  # of the processor
WAIT = 600  # of the clock, for what waits and computes nothing
_COMMAND = get_command(cli.app)
_VERDICTS = {"audit", "check"}  # commands that may end with 1
PEOPLE = ta.Dataset.from_arrays([[0, 1], [1, 1], [1, 0], [0, 0]] * 6, secret=[0, 1, 1, 0, 1, 0] * 4)


class Late(BaseException):
    """Too long; a command would call it a fault."""


@dataclass(frozen=True)
class Ended:
    """How a command ended, and every complaint about that."""

    code: int
    error: str
    wrong: tuple[str, ...]

    @property
    def accepted(self) -> bool:
        """Whether the input got past every check of what may be asked."""
        return self.code != 2 or "nothing in the plan could be attacked" in self.error


def run(command: list[str], folder: Path) -> Ended:
    """The end of a command in this folder."""
    if command[0] == "coefficients":
        return _read_coefficients(folder, command[1])
    before = _contents(folder)
    out, err = io.StringIO(), io.StringIO()
    code, wrong = 0, []
    made_once = patch.object(cli, "app", _COMMAND)
    with made_once, _inside(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        sys.argv = ["tellall", *command]
        try:
            with _at_most(SECONDS):
                cli.main()
        except SystemExit as left:
            code = int(left.code or 0)
        except BaseException as error:
            wrong.append(f"raised {type(error).__name__}: {error}")
    error = err.getvalue()
    wrong += _complaints(command, code, error, before, _contents(folder))
    return Ended(code, error, tuple(wrong))


def _complaints(
    command: list[str], code: int, error: str, before: dict[str, bytes], after: dict[str, bytes]
) -> Iterator[str]:
    if f"({Late.__name__})" in error:
        yield f"took more than {SECONDS} s"
    if "Traceback" in error or "fault in tellall" in error:
        yield "a fault of ours"
    if " encountered in " in error:
        yield "a warning of numpy"
    if code not in (0, 1, 2, 3):
        yield f"left with {code}"
    if code == 1 and command[0] not in _VERDICTS:
        yield "left with 1 without a verdict"
    if code == 2 and not error.startswith("tellall: "):
        yield "gave no reason"
    if any(ord(mark) < 32 and mark != "\n" for mark in error) or "\u202e" in error:
        yield "wrote control characters"
    if any(before[name] != after.get(name) for name in before):
        yield "changed a file that was given"
    new = {name: data for name, data in after.items() if name not in before}
    if code == 2 and new and "nothing in the plan could be attacked" not in error:
        yield f"refused, and wrote {sorted(new)}"
    if any(PARTIAL in name or name.endswith(".lock") for name in new):
        yield "left an unfinished file"
    for name, data in new.items():
        if name.endswith(".json"):
            try:
                json.loads(data)
            except ValueError:
                yield f"{name} is not whole"


def _read_coefficients(folder: Path, loss: str) -> Ended:
    """The release of a printed table, attacked."""
    rows = json.loads((folder / "table.json").read_text())
    try:
        with _at_most(SECONDS):
            columns = {key: [row[key] for row in rows] for key in ("block", "term", "value")}
            release = ta.read_coefficients(columns, PEOPLE, loss=loss)
            ta.reconstruct(release, PEOPLE.public)
    except ta.TellallError as error:
        return Ended(2, str(error), ("several lines",) if "\n" in str(error) else ())
    except (KeyError, TypeError):
        if not (isinstance(rows, list) and all(isinstance(row, dict) and len(row) >= 3 for row in rows)):
            return Ended(2, "not a table", ())
        raise
    return Ended(0, "", ())


def _contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@contextlib.contextmanager
def _inside(folder: Path) -> Iterator[None]:
    old, arguments = Path.cwd(), sys.argv
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(old)
        sys.argv = arguments


@contextlib.contextmanager
def _at_most(seconds: int) -> Iterator[None]:
    def late(*_: object) -> None:
        raise Late

    old = {kind: signal.signal(kind, late) for kind in (signal.SIGALRM, signal.SIGPROF)}
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.alarm(WAIT)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)
        for kind, handler in old.items():
            signal.signal(kind, handler)
