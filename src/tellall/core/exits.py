"""Exit codes: each has one meaning, the same for every command and every process that works for one."""

from __future__ import annotations

import traceback

from tellall.core.text import said_safely

__all__ = [
    "DONE",
    "FAILED",
    "FAULT",
    "REFUSED",
    "SIGNALLED",
    "TRACEBACK",
    "UNSETTLED",
    "fault_sentence",
    "lacks_memory",
    "mark_place",
    "place_of",
]

DONE = 0  # or the verdict pass
FAILED = 1  # the verdict fail; of `check`, another file; nothing else
REFUSED = 2  # what was given is wrong, or it would need too much memory
UNSETTLED = 3  # the verdict review, or an answer that is not settled: a person has to decide
FAULT = 70  # a fault of tellall, or a worker process that was killed; EX_SOFTWARE of sysexits.h
SIGNALLED = 128  # and the number of the signal that stopped it

_NO_MEMORY = ("failed to map segment", "cannot allocate memory", "can't start new thread")
TRACEBACK = "TELLALL_TRACEBACK"  # the variable with which a fault says where it is
_ELSEWHERE = "In a worker process:\n"


def fault_sentence(error: BaseException) -> str:
    """One line about a fault of our own: whose it is, and what to do. Nothing that the error quotes is in it.

    Examples
    --------
    >>> fault_sentence(KeyError("Ann"))[:61]
    'a fault in tellall itself (KeyError), not in your data; nothi'
    """
    return (
        f"a fault in tellall itself ({said_safely(error)}), not in your data; nothing was decided. Run it "
        f"again with {TRACEBACK}=1 and report what it prints, which quotes no data."
    )


def lacks_memory(error: BaseException) -> bool:
    """Whether an error says that there was too little memory, also to load a library or to start a thread.

    Examples
    --------
    >>> lacks_memory(ImportError("x.so: failed to map segment")), lacks_memory(KeyError())
    (True, False)
    """
    if isinstance(error, MemoryError):
        return True
    return isinstance(error, ImportError | RuntimeError) and any(
        one in str(error).lower() for one in _NO_MEMORY
    )


def place_of(error: BaseException) -> str:
    """Where an error was raised, as a traceback without what errors say, since that may quote people."""
    frames = "".join(traceback.format_tb(error.__traceback__))
    notes = [note for note in getattr(error, "__notes__", ()) if note.startswith(_ELSEWHERE)]
    before = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    first = "" if before is None else f"{place_of(before)}, and then:\n"
    return f"{first}{frames}{''.join(notes)}{said_safely(error)}"


def mark_place(error: BaseException) -> None:
    """Keeps where an error was raised with it: its way to another process loses that otherwise."""
    error.add_note(f"{_ELSEWHERE}{place_of(error)}\n")
