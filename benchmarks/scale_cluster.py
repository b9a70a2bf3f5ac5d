"""A sweep of many areas: one process, two, Dask with one and two workers, one killed; see scale.py."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np

import tellall as ta
from timing import wall_time


def cluster(quick: bool) -> Iterator[tuple[str, ...]]:
    """The same sweep of many areas with more and more workers: time as a ratio, the numbers compared.

    Workers have imported everything before the clock starts. On fewer cores than workers the ratio says what
    the machinery costs, not what workers bring.
    """
    areas, n = (6, 20) if quick else (24, 80)
    people, few = counties(areas, n), counties(4, 8)
    size = f"{areas} areas of {n} people, 4 protections, 5 draws; {os.cpu_count()} cores"
    sweep(few)
    ours, wanted = wall_time(lambda: sweep(people))
    yield "sweep of areas, 1 process", size, "–", f"{ours:.1f} s", "–", "–"
    sweep(few, processes=2)  # the pool stays
    seconds, found = wall_time(lambda: sweep(people, processes=2))
    yield row("sweep of areas, 2 processes (joblib)", size, ours / seconds, found == wanted)
    if find_spec("distributed") is None:
        yield "sweep of areas, Dask", "", "", "not installed: pip install 'tellall[cluster]'", "", ""
        return
    from distributed import LocalCluster

    for workers in (1, 2):
        with LocalCluster(
            workers, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
        ) as made:
            address = made.scheduler_address
            sweep(few, cluster=address)
            seconds, found = wall_time(lambda address=address: sweep(people, cluster=address))
            name = f"sweep of areas, Dask, {workers} worker{'s' if workers > 1 else ''}"
            yield row(name, size, ours / seconds, found == wanted)
            if workers == 2:
                killer = Killer(made, areas // 3)
                seconds, found = wall_time(
                    lambda address=address, killer=killer: sweep(people, cluster=address, progress=killer)
                )
                assert killer.done
                yield row(f"{name}, one killed in the middle", size, ours / seconds, found == wanted)


class Killer:
    """A progress callback that kills a worker once, after the given number of areas."""

    def __init__(self, cluster: Any, after: int) -> None:
        self.cluster, self.after, self.done = cluster, after, False

    def __call__(self, done: int, total: int) -> None:
        if done >= self.after and not self.done:
            self.done = True
            os.kill(next(iter(self.cluster.workers.values())).pid, signal.SIGKILL)


def counties(areas: int, n: int) -> ta.Dataset:
    """Random people, n in each area."""
    rng = np.random.default_rng(areas)
    frame: dict[str, Any] = {f"x{j}": rng.integers(0, 2, areas * n) for j in range(8)}
    frame["county"] = np.repeat([f"county {number}" for number in range(areas)], n)
    frame["ill"] = rng.permutation(np.arange(areas * n) % 2)
    return ta.Dataset.from_frame(frame, secret="ill")


def sweep(people: ta.Dataset, **where: Any) -> dict[str, Any]:
    """Nothing done and three scales of Gaussian noise, by least squares."""
    found = ta.sweep_areas(
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


def row(work: str, size: str, ratio: float, same: bool) -> tuple[str, ...]:
    """A line of the table, compared with the run in one process."""
    return work, size, "1 process, the same run", f"{ratio:.2f}×", "–", "the same" if same else "DIFFERENT"
