"""Work on a Dask cluster that the user runs, given by the address of its scheduler."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

from tellall.core.errors import InvalidInput, WorkLost, invalid
from tellall.core.tasks import Done, Failed, Task, guarded
from tellall.core.text import said
from tellall.core.version import __version__
from tellall.core.work import one_thread

__all__ = [
    "on_cluster",
]

_PATIENCE = 10  # seconds to wait for the scheduler, and for its first worker


def on_cluster(
    function: Callable[[Any], Any], waiting: Sequence[tuple[int, Task]], address: str
) -> Iterator[Done | Failed]:
    """Yields the function's answer for each task, in the order in which the cluster's workers finish.

    Notes
    -----
    Tasks travel with their data, two per thread of the cluster at a time: the scheduler holds little, and can
    give the task of a lost worker to another. A task that has killed several workers is given up (Dask's
    ``allowed-failures``); the others are finished, and then `WorkLost` is raised. Workers must have this
    version of tellall.
    """
    if not waiting:
        return
    from distributed.utils import silence_logging_cmgr

    with silence_logging_cmgr(logging.CRITICAL):  # the errors raised here say what goes wrong
        client = _connected(address)
        try:
            _check_versions(client, address)
            yield from _as_they_come(client, function, waiting, address)
        finally:
            client.close()


def _as_they_come(
    client: Any, function: Callable[[Any], Any], waiting: Sequence[tuple[int, Task]], address: str
) -> Iterator[Done | Failed]:
    from distributed import CancelledError, as_completed
    from distributed.comm.core import CommClosedError
    from distributed.scheduler import KilledWorker

    queue = iter(waiting)
    submitted: dict[Any, str] = {}
    running = as_completed(loop=client.loop)

    def top_up() -> None:
        free = 2 * max(1, sum(client.nthreads().values())) - len(submitted)
        for index, task in islice(queue, max(0, free)):
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="Sending large graph")  # people are large
                future = client.submit(_on_worker, function, index, task.make(), pure=False)
            submitted[future] = task.name
            running.add(future)

    def next_finished() -> Any:
        try:
            top_up()
            future = next(running) if submitted else None
            if future is not None and future.status == "cancelled":
                raise CancelledError
        except (CancelledError, CommClosedError, OSError, StopIteration) as error:
            raise WorkLost(
                f"The cluster at {address} went away ({type(error).__name__}). Run it again when the "
                "cluster is back: it continues from what was kept."
            ) from None
        return future

    lost: list[str] = []
    try:
        while (future := next_finished()) is not None:
            name = submitted.pop(future)
            if future.status == "error" and isinstance(future.exception(), KilledWorker):
                lost.append(name)
            else:
                yield _outcome(future, address)
            future.release()
    finally:
        running.clear()
        client.cancel(list(submitted), force=True)
    if lost:
        more = f" and {len(lost) - 1:,} more" if len(lost) > 1 else ""
        raise WorkLost(
            f"Every worker of the cluster that took {lost[0]}{more} was killed, perhaps for lack of memory. "
            "Run it again with workers that have more: it continues from what was kept."
        )


def _outcome(future: Any, address: str) -> Done | Failed:
    if future.status == "error":
        error = future.exception()
        if isinstance(error, ModuleNotFoundError):
            raise _other_version(address, f"one without {error.name}")
        raise error
    found: Done | Failed = future.result()
    return found


def _on_worker(function: Callable[[Any], Any], index: int, payload: object) -> Done | Failed:
    """Runs the task in a worker's process, whose numerical libraries use one thread from now on.

    The limit outlasts the call: a worker may run several tasks in threads of one process, and none may
    change the number of threads under another, since that changes the order of sums.
    """
    one_thread()
    return guarded(function, index, payload)


def _connected(address: str) -> Any:
    from distributed import Client

    try:
        client = Client(address, timeout=_PATIENCE, set_as_default=False)
    except (OSError, ValueError) as error:
        raise invalid("cluster", "the address of a running Dask scheduler", address, said(error)) from None
    try:
        client.wait_for_workers(1, timeout=_PATIENCE)
    except TimeoutError:
        client.close()
        raise invalid("cluster", "one with a worker or more", f"none at {address}") from None
    return client


def _check_versions(client: Any, address: str) -> None:
    try:
        found = set(client.run(_version).values())
    except ModuleNotFoundError as error:
        raise _other_version(address, f"one without {error.name}") from None
    if found != {__version__}:
        raise _other_version(address, ", ".join(sorted(map(str, found))))


def _version() -> str:
    return __version__


def _other_version(address: str, found: str) -> InvalidInput:
    return invalid("cluster", f"workers with tellall {__version__} installed", f"{found} at {address}")
