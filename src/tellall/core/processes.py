"""Helper processes on this machine: fed through pipes, without files; they end when this process does."""

from __future__ import annotations

import atexit
import os
import pickle
import selectors
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tellall.core.exits import mark_place
from tellall.core.work import doing, listening, one_thread

__all__ = [
    "call_each",
    "serve",
]

_IDLE = 300.0  # seconds after which a process without work ends
_PIECE = 1 << 26  # bytes written at once: some systems refuse 2 GiB
# a stop sent to all processes at once is for the process that asks, which decides and ends the helpers
_DEAF = "from signal import *; [signal(kind, SIG_IGN) for kind in (SIGINT, SIGTERM, SIGHUP)]; "
_SAID = 0.5  # seconds between two messages on what is being done


class _Helper:
    """A process that calls functions for this one.

    Data go through two pipes. Large arrays are sent as they lie in memory, and nothing is written to a file
    or to shared memory. The helper ends as soon as its pipe is closed, which the system does when this
    process ends, however it ends.
    """

    def __init__(self) -> None:
        theirs, self.asked = os.pipe()
        self.answered, back = os.pipe()
        start = (
            f"{_DEAF}import sys; sys.path[:] = {sys.path!r}; "
            f"from tellall.core.processes import serve; serve({theirs}, {back})"
        )
        self.process = subprocess.Popen(
            [sys.executable, *(f"-W{option}" for option in sys.warnoptions), "-c", start],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=(theirs, back),
        )
        os.close(theirs)
        os.close(back)
        self.since = time.monotonic()

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.asked)
        os.close(self.answered)


_idle: list[_Helper] = []  # started earlier, and free


@atexit.register
def _end_idle() -> None:
    while _idle:
        _idle.pop().end()


os.register_at_fork(after_in_child=_idle.clear)  # they answer to the process that started them


def _helper() -> _Helper:
    while _idle:
        found = _idle.pop()
        if found.process.poll() is None and time.monotonic() - found.since < _IDLE / 2:
            return found
        found.end()
    return _Helper()


def call_each(
    function: Callable[..., Any], calls: Iterator[Sequence[object]], processes: int
) -> Iterator[tuple[bool, Any]]:
    """Calls a function with each list of arguments in other processes; yields in the order of arrival.

    Yields (True, what it returned) or (False, the exception it raised). Arguments are taken from ``calls``
    only when a process is free. What the processes say they are doing is passed on. If a process is lost,
    EOFError is raised and the others are stopped.
    """
    free = [_helper() for _ in range(processes)]
    busy: dict[int, _Helper] = {}
    try:
        with selectors.DefaultSelector() as ready:
            while True:
                while free and (arguments := next(calls, None)) is not None:
                    helper = free.pop()
                    busy[helper.answered] = helper
                    ready.register(helper.answered, selectors.EVENT_READ)
                    _send(helper.asked, (function, arguments))
                    del arguments
                if not busy:
                    return
                for key, _ in ready.select():
                    answer = _loaded(_receive(key.fd))
                    if answer[0] is None:
                        doing(answer[1])
                        continue
                    ready.unregister(key.fd)
                    free.append(busy.pop(key.fd))
                    yield answer
    except BrokenPipeError:
        raise EOFError from None
    finally:
        for helper in busy.values():
            helper.end()
        for helper in free:
            helper.since = time.monotonic()
        _idle.extend(free)


def serve(asked: int, answered: int) -> None:
    """The loop of a helper process: it answers calls until there are no more."""
    import queue
    import threading

    calls: queue.SimpleQueue[list[bytearray]] = queue.SimpleQueue()

    def listen() -> None:
        try:
            while True:
                calls.put(_receive(asked))
        finally:
            os._exit(0)  # in the middle of whatever is computed: nobody waits for it

    said = 0.0

    def say(words: str) -> None:
        nonlocal said
        if time.monotonic() - said >= _SAID:
            said = time.monotonic()
            _send(answered, (None, words))

    threading.Thread(target=listen, daemon=True).start()
    while True:
        function = arguments = None
        try:
            received = calls.get(timeout=_IDLE)
        except queue.Empty:
            os._exit(0)
        try:
            function, arguments = _loaded(received)
            with one_thread(), listening(say):
                answer = (True, function(*arguments))
        except BaseException as error:
            mark_place(error)
            answer = (False, error)
        try:
            _send(answered, answer)
        except (TypeError, AttributeError, pickle.PicklingError) as error:
            _send(answered, (False, TypeError(f"The answer cannot be sent: {type(error).__name__}.")))
        del function, arguments, received, answer  # keep nobody's data


def _send(pipe: int, thing: object) -> None:
    import cloudpickle

    buffers: list[Any] = []
    body = cloudpickle.dumps(thing, protocol=5, buffer_callback=buffers.append)
    parts = [memoryview(body), *(buffer.raw() for buffer in buffers)]
    sizes = [len(parts), *(part.nbytes for part in parts)]
    for part in (memoryview(b"".join(size.to_bytes(8, "little") for size in sizes)), *parts):
        for start in range(0, part.nbytes, _PIECE):
            piece = part[start : start + _PIECE]
            while piece.nbytes:
                piece = piece[os.write(pipe, piece) :]


def _receive(pipe: int) -> list[bytearray]:
    count = int.from_bytes(_exactly(pipe, 8), "little")
    sizes = [int.from_bytes(_exactly(pipe, 8), "little") for _ in range(count)]
    return [_exactly(pipe, size) for size in sizes]


def _exactly(pipe: int, size: int) -> bytearray:
    whole = bytearray(size)
    rest = memoryview(whole)
    with open(pipe, "rb", buffering=0, closefd=False) as file:
        while rest.nbytes:
            got = file.readinto(rest[:_PIECE])
            if not got:
                raise EOFError
            rest = rest[got:]
    return whole


def _loaded(parts: list[bytearray]) -> Any:
    return pickle.loads(parts[0], buffers=parts[1:])  # noqa: S301  from our own process alone
