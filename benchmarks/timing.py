"""What the benchmarks share: least times, peak memory, and sections of RESULTS.md.

Each script prints its table and puts it into RESULTS.md under its own title, so that an interrupted run keeps
what it has measured. Ratios of CPU seconds in one process count; absolute times do not.
"""

from __future__ import annotations

import os
import platform
import re
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).with_name("RESULTS.md")
TITLES = {
    "least_squares.py": "Least squares",
    "lp.py": "Gross errors: ℓ1 decoding and exhaustive search",
    "posterior.py": "The posterior",
    "tables.py": "Tables: from people to a verdict",
    "proofs.py": "Proofs",
    "row_blocks.py": "Rows from tables alone",
    "growth.py": "How an audit grows",
    "rowfunction.py": "Counts of boolean functions",
    "regression_sweep.py": "Sweeps of noise over regressions",
    "tracing.py": "Tracing from packed genotypes",
    "scale.py": "Large data",
}
PREFACE = """\
# Benchmarks

Each row ran with its reference in one process with the same number of threads. Ratios count; absolute
times do not. `make bench` makes every section, each script of this folder its own.
"""


def least_time(
    call: Callable[[], Any], times: int = 3, clock: Callable[[], float] = time.process_time
) -> tuple[float, Any]:
    """The least time of several runs, CPU seconds unless another clock is given, and the last result."""
    least, result = float("inf"), None
    for _ in range(times):
        start = clock()
        result = call()
        least = min(least, clock() - start)
    return least, result


def wall_time(call: Callable[[], Any], times: int = 1) -> tuple[float, Any]:
    """The least wall-clock time of several runs, and the last result."""
    return least_time(call, times, time.perf_counter)


def peak(call: Callable[[], Any]) -> float:
    """The most memory that a call holds at once, in MiB."""
    tracemalloc.start()
    call()
    most = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    return most


def one_thread() -> None:
    """Exit if BLAS has more than one thread: CPU seconds of one thread are compared."""
    if os.environ.get("OPENBLAS_NUM_THREADS") != "1":
        sys.exit("set OPENBLAS_NUM_THREADS=1 and OMP_NUM_THREADS=1: CPU seconds of one thread are compared")


def machine() -> str:
    """Where and with what a section was measured, and how busy the machine was then."""
    packages = ", ".join(f"{name} {version(name)}" for name in ("tellall", "numpy", "scipy"))
    busy = os.getloadavg()[0]
    said = f"load {busy:.1f}" + (", a busy machine" if busy > (os.cpu_count() or 1) + 0.5 else "")
    threads = os.environ.get("OPENBLAS_NUM_THREADS", "default")
    return (
        f"{platform.machine()}, {os.cpu_count()} cores ({said}), BLAS threads: {threads}; "
        f"Python {platform.python_version()}, {packages}."
    )


class Section:
    """A table that is printed as its rows are measured, and put into RESULTS.md after each of them."""

    def __init__(
        self, script: str, names: Sequence[str], *, note: str = "", part: str = "", keep: bool = True
    ) -> None:
        self.title, self.keep = TITLES[script] + (f": {part}" if part else ""), keep
        above = [machine()] + ([note] if note else [])
        self.lines = [*above, "", "| " + " | ".join(names) + " |", "| --- " * len(names) + "|"]
        sys.stdout.write(f"## {self.title}\n\n" + "\n".join(self.lines) + "\n")

    def add(self, cells: Iterable[str]) -> None:
        """One more row."""
        line = "| " + " | ".join(cells) + " |"
        self.lines.append(line)
        sys.stdout.write(line + "\n")
        sys.stdout.flush()
        if self.keep:
            write_section(self.title, "\n".join(self.lines))


def sections(path: Path = RESULTS) -> dict[str, str]:
    """The sections of the file by their titles."""
    text = path.read_text(encoding="utf-8") if path.is_file() else PREFACE
    parts = re.split(r"^## (.*)\n", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def write_section(title: str, body: str, path: Path = RESULTS) -> None:
    """Put the section into the file in place of the one of that title, the sections in their order."""
    found = sections(path) | {title: f"\n{body}\n\n"}
    known = list(TITLES.values())
    order = sorted(found, key=lambda name: next(i for i, t in enumerate([*known, ""]) if name.startswith(t)))
    kept = [f"## {name}\n{found[name].rstrip()}\n" for name in order]
    path.write_text("\n".join([PREFACE, *kept]), encoding="utf-8")
