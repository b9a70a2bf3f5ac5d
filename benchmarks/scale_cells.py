"""Tables from big data, against matrix products and a GROUP BY in the same run; see scale.py."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import combinations
from pathlib import Path

import numpy as np

from tellall.people.counting.tally import CellTally
from timing import least_time, peak


def cells(quick: bool) -> Iterator[tuple[str, ...]]:
    """Tables from big data: in memory, and in Parquet larger than the memory allowed."""
    n = 100_000 if quick else 1_000_000
    people = np.random.default_rng(0).integers(0, 2, (100, n), dtype=np.uint8)
    kernels = ["numpy"]
    if find_spec("numba") is None:
        yield "all 3-way cells, numba", "", "", "not installed: pip install 'tellall[fast]'", "", ""
    else:
        kernels.insert(0, "numba")
        count(people[:4, :64], 3, "numba")  # compiled before it is timed
    for k in (2, 3):
        reference, expected = least_time(lambda k=k: by_products(people, k), 1 if k == 3 else 3)
        for kernel in kernels:
            seconds, found = least_time(lambda k=k, c=kernel: count(people, k, c), 3)
            yield (
                f"all {k}-way cells, {KERNELS[kernel]}",
                f"n={n:,}, d=100 bits, {found.size:,} cells",
                "float32 BLAS (ssyrk per attribute), AND-counts only",
                f"{reference / seconds:.1f}× ({reference:.2f} s ÷ {seconds:.2f} s)",
                f"{peak(lambda k=k, c=kernel: count(people, k, c)):.0f} MiB beside the data",
                "all cells equal" if np.array_equal(found[all_ones(k, found.size)], expected) else "WRONG",
            )
    yield parquet(1_000_000 if quick else 100_000_000, 2)
    yield parquet(1_000_000 if quick else 10_000_000, 4)


KERNELS = {
    "numba": "numba popcount",
    "numpy": "NumPy alone (no numba)",
}


def count(people: np.ndarray, k: int, kernel: str) -> np.ndarray:
    """All k-way cells, including planning, packing and exclusion."""
    d, n = people.shape
    tally = CellTally([2] * d, list(combinations(range(d), k)), n, kernel)
    tally.add(list(people))
    return tally.counts()


def all_ones(k: int, cells: int) -> slice:
    """Where the cells of people who have all of their table's bits lie."""
    return slice(2**k - 1, cells, 2**k)


def by_products(people: np.ndarray, k: int) -> np.ndarray:
    """How many have all bits of each k-set: the fastest float32 BLAS way we know, in blocks of people."""
    d, n = people.shape
    total = np.zeros((d, d, d) if k == 3 else (d, d))
    for begin in range(0, n, 16_384):
        bits = people[:, begin : begin + 16_384].astype(np.float32)
        if k == 2:
            total += bits @ bits.T
            continue
        for first in range(d - 2):
            both = bits[first + 1 :] * bits[first]  # bits are their own squares: X Xᵀ is symmetric
            total[first, first + 1 :, first + 1 :] += both @ both.T
    chosen = np.array(list(combinations(range(d), k))).T
    return total[tuple(chosen)].astype(np.int64)


def parquet(n: int, levels: int) -> tuple[str, ...]:
    """Three-way cells of 20 columns in a Parquet file, one thread each, each in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "people.parquet")
        run(MAKE, path, str(n), str(levels))
        size = f"{n:,} rows × 20 columns of {levels} values, {Path(path).stat().st_size / 2**20:.0f} MiB"
        ours, ours_peak, total = run(OURS, path)
        theirs, theirs_peak, joint = run(GROUPED, path, folder)
    return (
        "all 3-way cells of a Parquet file, scan and count",
        size,
        "DuckDB GROUP BY all columns (the joint only, not folded)",
        f"{float(theirs) / float(ours):.1f}× ({float(theirs):.0f} s ÷ {float(ours):.0f} s)",
        f"{float(ours_peak):.2f} GiB against {float(theirs_peak):.2f} GiB, all of the process",
        "everybody counted" if int(total) == int(joint) == n else "WRONG",
    )


MAKE = """
import sys, duckdb
columns = ", ".join(f"(h >> {3 * j} & 7)::UTINYINT % {sys.argv[3]} AS x{j}" for j in range(20))
made = f"SELECT {columns} FROM (SELECT hash(i) AS h FROM range({sys.argv[2]}) AS people(i))"
with duckdb.connect(config={"memory_limit": "1GiB", "preserve_insertion_order": False, "threads": 1}) as c:
    c.execute("SET enable_progress_bar = false")
    c.execute(f"COPY ({made}) TO '{sys.argv[1]}' (FORMAT parquet)")
"""
_SAY = """
import resource
print(time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, total)
"""
OURS = f"""
import sys, time, tellall as ta
cells = ta.count_cells(ta.scan(sys.argv[1], memory="512MiB", threads=1), 3)
total = cells.table("x3", "x11", "x17").sum()
{_SAY}"""
GROUPED = f"""
import sys, time, duckdb
names = ", ".join(f"x{{j}}" for j in range(20))
with duckdb.connect(config={{"memory_limit": "2GiB", "threads": 1, "temp_directory": sys.argv[2]}}) as c:
    c.execute("SET enable_progress_bar = false")
    made = c.execute(f"SELECT {{names}}, count(*) AS n FROM '{{sys.argv[1]}}' GROUP BY ALL").fetchnumpy()
total = int(made["n"].sum())
{_SAY}"""


def run(code: str, *arguments: str) -> list[str]:
    """What a process of its own prints, as words."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return done.stdout.split()
