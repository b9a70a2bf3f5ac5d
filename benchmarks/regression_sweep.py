"""A sweep of noise over many regressions, solved together, beside numpy's lstsq for each: ratio, memory.

python benchmarks/regression_sweep.py [FOLDER]

3 families × 16 scales × 10 repeats on one regression for each of 27 columns of 3047 records: the paper's data
where the folder holds cancer_reg.csv, random numbers of the same size otherwise. CPU seconds of one thread.
"""

from __future__ import annotations

import os
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tellall.papers.regression_noise_attack import Regressions
from tellall.papers.regression_noise_data import FILE, SCALES, load, prepare
from tellall.papers.regression_noise_study import FAMILIES, law

REPEATS = 10


def cpu(call: Callable[[], Any], times: int) -> tuple[float, Any]:
    """The least CPU time of several runs, and the last result."""
    least, result = float("inf"), None
    for _ in range(times):
        start = time.process_time()
        result = call()
        least = min(least, time.process_time() - start)
    return least, result


def peak(call: Callable[[], Any]) -> float:
    """The most memory a call holds at once, in MiB."""
    tracemalloc.start()
    call()
    most = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    return most


def people(folder: Path) -> tuple[str, np.ndarray, np.ndarray]:
    """What they are, their features and their secret."""
    if (folder / FILE).is_file():
        data = load(folder)
        return data.name, prepare(data.features, np.arange(data.n), "standardised"), data.secret
    rng = np.random.default_rng(0)
    return "random records", rng.standard_normal((3047, 27)), rng.normal(180, 28, 3047)


def main() -> None:
    name, features, secret = people(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
    rng = np.random.default_rng(1)
    clean = Regressions(features).fit(secret)
    laws = [law(family, scale) for family in FAMILIES for scale in SCALES for _ in range(REPEATS)]
    noisy = clean[:, None] + np.column_stack([one.sample(clean.size, rng) for one in laws])

    def together() -> np.ndarray:
        return Regressions(features).attack(noisy)  # everything from the features on

    def one_by_one() -> np.ndarray:
        models = Regressions(features)
        rows, targets = models.rows, models.targets(noisy)  # formed once: only the solves are repeated
        return np.column_stack([np.linalg.lstsq(rows, z, rcond=1e-10)[0] for z in targets.T])

    ours, found = cpu(together, 5)
    theirs, expected = cpu(one_by_one, 3)
    size = f"n={features.shape[0]}, {features.shape[1]} regressions, {noisy.shape[1]} draws"
    apart, largest = np.abs(found - expected).max(), np.abs(expected - secret[:, None]).max()
    threads = os.environ.get("OPENBLAS_NUM_THREADS", "default")
    print(f"BLAS threads: {threads}\n")
    print("| work | size | reference | reference time ÷ ours | peak memory | largest difference |")
    print("| --- | --- | --- | --- | --- | --- |")
    print(
        f"| sweep of noise, 3 families × 16 scales × 10 repeats, {name} | {size} "
        f"| numpy.linalg.lstsq for each | {theirs / ours:.0f}× ({ours:.3f} s) | {peak(together):.0f} MiB "
        f"| {apart:.1e} of errors up to {largest:.0f} |"
    )


if __name__ == "__main__":
    main()
