"""A sweep of many blocks: one process, two, Dask with one and two workers, one killed; see scale.py."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np

import tellall as ta


def cluster(quick: bool) -> Iterator[tuple[str, ...]]:
    """The same sweep of many blocks with more and more workers: time as a ratio, the numbers compared.

    Workers have imported everything before the clock starts. On fewer cores than workers the ratio says what
    the machinery costs, not what workers bring.
    """
    blocks, n = (6, 20) if quick else (24, 80)
    people, few = counties(blocks, n), counties(4, 8)
    size = f"{blocks} blocks of {n} people, 4 protections, 5 draws; {os.cpu_count()} cores"
    sweep(few)
    ours, wanted = timed(sweep, people)
    yield "sweep of blocks, 1 process", size, "–", f"{ours:.1f} s", "–", "–"
    sweep(few, processes=2)  # the pool stays
    seconds, found = timed(sweep, people, processes=2)
    yield row("sweep of blocks, 2 processes (joblib)", size, ours / seconds, found == wanted)
    if find_spec("distributed") is None:
        yield "sweep of blocks, Dask", "", "", "not installed: pip install 'tellall[cluster]'", "", ""
        return
    from distributed import LocalCluster

    for workers in (1, 2):
        with LocalCluster(
            workers, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
        ) as made:
            address = made.scheduler_address
            sweep(few, cluster=address)
            seconds, found = timed(sweep, people, cluster=address)
            name = f"sweep of blocks, Dask, {workers} worker{'s' if workers > 1 else ''}"
            yield row(name, size, ours / seconds, found == wanted)
            if workers == 2:
                killer = Killer(made, blocks // 3)
                seconds, found = timed(sweep, people, cluster=address, progress=killer)
                assert killer.done
                yield row(f"{name}, one killed in the middle", size, ours / seconds, found == wanted)


class Killer:
    """A progress callback that kills a worker after so many blocks, once."""

    def __init__(self, cluster: Any, after: int) -> None:
        self.cluster, self.after, self.done = cluster, after, False

    def __call__(self, done: int, total: int) -> None:
        if done >= self.after and not self.done:
            self.done = True
            os.kill(next(iter(self.cluster.workers.values())).pid, signal.SIGKILL)


def counties(blocks: int, n: int) -> ta.Dataset:
    """So many blocks of so many random people."""
    rng = np.random.default_rng(blocks)
    frame: dict[str, Any] = {f"x{j}": rng.integers(0, 2, blocks * n) for j in range(8)}
    frame["county"] = np.repeat([f"county {number}" for number in range(blocks)], n)
    frame["ill"] = rng.permutation(np.arange(blocks * n) % 2)
    return ta.Dataset.from_frame(frame, secret="ill")


def sweep(people: ta.Dataset, **where: Any) -> dict[str, Any]:
    """Nothing done and three scales of Gaussian noise, by least squares."""
    found = ta.sweep_blocks(
        people,
        ta.Marginals(3),
        [None, ta.Gaussian],
        by="county",
        scales=[1.0, 4.0, 16.0],
        repeats=5,
        decoders=["least-squares"],
        **where,
    )
    return found.as_json()


def timed(work: Callable[..., Any], *arguments: Any, **options: Any) -> tuple[float, Any]:
    """The wall-clock time of a call, and what it gave."""
    start = time.perf_counter()
    found = work(*arguments, **options)
    return time.perf_counter() - start, found


def row(work: str, size: str, ratio: float, same: bool) -> tuple[str, ...]:
    """A line beside the run in one process."""
    return work, size, "1 process, the same run", f"{ratio:.2f}×", "–", "the same" if same else "DIFFERENT"
