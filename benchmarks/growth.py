"""How an audit grows with people and columns: processor seconds, and memory compared with the prediction.

python benchmarks/growth.py [--quick] [ROW ...]

Each row is an audit in a process of its own, without steps and remedy, all decoders and baselines included.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import tellall as ta
from ordinary import ordinary
from timing import Section, one_thread

HIDDEN = [{"kind": "Suppression", "below": 10}, {"kind": "Rounding", "base": 5}]
NOISE = [{"kind": "Gaussian", "std": 3.0}]
VALUES = (2, 3, 4, 5, 6, 8, 10, 16)


def bits(n: int, d: int) -> ta.Dataset:
    """Fair bits; a fifth of the people have the secret."""
    rng = np.random.default_rng(0)
    return ta.Dataset.from_arrays(
        rng.integers(0, 2, (n, d), dtype=np.int8), (rng.random(n) < 0.2).astype(int)
    )


def mixed(n: int, d: int) -> ta.Dataset:
    """Skewed columns of 2 to 16 values, for ten kinds of people."""
    rng = np.random.default_rng(0)
    kind = rng.integers(10, size=n)
    frame: dict[str, Any] = {}
    for column in range(d):
        levels = VALUES[column % len(VALUES)]
        law = np.cumsum(rng.dirichlet(3 / np.arange(1, levels + 1), size=10), axis=1)
        codes = (law[kind] < rng.random(n)[:, None]).sum(axis=1).clip(max=levels - 1)
        frame[f"column {column}"] = np.array([f"{value:02d}" for value in range(levels)])[codes]
    frame["secret"] = np.where(rng.random(n) < 0.2, "yes", "no")
    return ta.Dataset.from_frame(frame, secret="secret")


@dataclass(frozen=True)
class Case:
    """People, how many columns a table has with the secret, and what protects it."""

    name: str
    people: Callable[[], ta.Dataset]
    ways: int
    protect: list[dict[str, Any]]


CASES = (
    Case("2,000 × 12 of 2 to 16 values, 2-way, exact", lambda: mixed(2_000, 12), 2, []),
    Case("20,000 × 30 bits, 2-way, exact", lambda: bits(20_000, 30), 2, []),
    Case("4,000 × 15 bits, 3-way, noise", lambda: bits(4_000, 15), 3, NOISE),
    Case("32,561 × 8 of 2 to 16 values, 3-way, hidden, rounded", ordinary, 3, HIDDEN),
    Case("50,000 × 10 of 2 to 16 values, 3-way, hidden, rounded", lambda: mixed(50_000, 10), 3, HIDDEN),
    Case("1,000,000 × 10 bits, 3-way, hidden, rounded", lambda: bits(1_000_000, 10), 3, HIDDEN),
    Case("1,000,000 × 20 bits, 3-way, hidden, rounded", lambda: bits(1_000_000, 20), 3, HIDDEN),
)
QUICK = 1  # rows that take seconds

ALONE = """
import json, resource, sys, time
sys.path.insert(0, sys.argv[1])
import growth, tellall as ta
case = growth.CASES[int(sys.argv[2])]
people = case.people()
release = {"statistic": {"kind": "Marginals", "ways": case.ways}, "protect": case.protect}
plan = ta.Plan.from_mapping({"releases": [release], "steps": False})
memory, start = plan.memory(people), time.process_time()
audit = ta.audit(people, plan)
print(json.dumps({
    "distinct": len(people.patterns), "seconds": time.process_time() - start,
    "memory": memory.host / 2**20,
    "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10,
    "status": ", ".join(f"{one.decoder}: {one.status.split(';')[0]}" for one in audit.findings[0].outcomes),
}))
"""


def measured(index: int) -> tuple[str, ...]:
    """One row, from a process of its own."""
    folder = __file__.rpartition("/")[0]
    done = subprocess.run(
        [sys.executable, "-c", ALONE, folder, str(index)], check=True, capture_output=True, text=True
    )
    found = json.loads(done.stdout.splitlines()[-1])
    return (
        CASES[index].name,
        f"{found['distinct']:,}",
        f"{found['seconds']:.1f}",
        f"{found['peak']:,.0f}",
        f"{found['memory']:,.0f} ({found['memory'] / found['peak']:.2f}×)",
        found["status"],
    )


def main() -> None:
    """The table; the small rows with --quick."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="only the first row; nothing is written")
    parser.add_argument("rows", nargs="*", type=int, help="only these rows, from 0; nothing is written")
    chosen = parser.parse_args()
    one_thread()
    names = (
        "people and tables",
        "distinct rows",
        "processor s",
        "peak MiB",
        "predicted",
        "decoders",
    )
    section = Section("growth.py", names, keep=not chosen.quick and not chosen.rows)
    for index in chosen.rows or range(QUICK if chosen.quick else len(CASES)):
        section.add(measured(index))


if __name__ == "__main__":
    main()
