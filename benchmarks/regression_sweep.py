"""A sweep of noise over many regressions, solved together, beside numpy's lstsq for each: ratio, memory.

python benchmarks/regression_sweep.py [FOLDER]

3 families × 16 scales × 10 repeats on one regression for each of 27 columns of 3047 records: the paper's data
where the folder holds cancer_reg.csv, random numbers of the same size otherwise. The paper's attack alone,
and `ta.sweep` from end to end. CPU seconds of one thread.
"""

from __future__ import annotations

import os
import sys
import time
import tracemalloc
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import tellall as ta
from tellall.papers.regression_noise_attack import Regressions
from tellall.papers.regression_noise_data import FILE, SCALES, load, prepare
from tellall.papers.regression_noise_study import FAMILIES, law
from tellall.study import Prepared
from tellall.study.reals import RealsTogether

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


def solver(name: str, features: np.ndarray, secret: np.ndarray) -> str:
    """The paper's attack alone: all draws together against numpy's lstsq for each."""
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
    return (
        f"| sweep of noise, 3 families × 16 scales × 10 repeats, {name} | {size} "
        f"| numpy.linalg.lstsq for each | {theirs / ours:.0f}× ({ours:.3f} s) | {peak(together):.0f} MiB "
        f"| {apart:.1e} of errors up to {largest:.0f} |"
    )


def end_to_end(name: str, features: np.ndarray, secret: np.ndarray) -> list[str]:
    """`ta.sweep` of the same, with its baselines, intervals and utility; and its solves alone.

    The attack weighs the noise and shrinks to the mean, so numbers are compared with the same attack made
    on each release from scratch; times also with numpy's lstsq, which does less.
    """
    people = ta.Dataset.from_arrays(features, secret=secret, kind="reals")
    statistic = ta.Estimator("linear", intercept=True)
    families = [partial(law, family) for family in FAMILIES]
    whole, swept = cpu(lambda: ta.sweep(people, statistic, families, scales=SCALES, repeats=REPEATS), 1)
    ready = Prepared.of(people, statistic)
    groups = [ready.publish((law(family, scale),), REPEATS) for family in FAMILIES for scale in SCALES]

    def together() -> list[np.ndarray]:
        solver = RealsTogether()
        return [solver.estimates(releases, people.public) for releases in groups]

    ours, found = cpu(together, 3)
    some = range(0, len(groups), 6)

    def from_scratch() -> list[np.ndarray]:
        return [ta.reconstruct(groups[place][0], people.public).estimate for place in some]

    each, expected = cpu(from_scratch, 1)
    apart = max(float(np.abs(found[place][0] - one).max()) for place, one in zip(some, expected, strict=True))
    rows = ta.linearise(groups[0][0], people.public).operator.to_dense()
    targets = [ta.linearise(groups[place][0], people.public).target for place in some]
    plain, _ = cpu(lambda: [np.linalg.lstsq(rows, z, rcond=1e-10)[0] for z in targets], 1)
    draws, times = sum(map(len, groups)), sum(map(len, groups)) / len(some)
    size = f"n={people.n}, {features.shape[1]} regressions, {draws} draws"
    return [
        f"| `ta.sweep` of the same, solves alone, {name} | {size} | the same attack from scratch for each "
        f"| {each * times / ours:.0f}× ({ours:.2f} s) | {peak(together):.0f} MiB | {apart:.1e} |",
        f"| `ta.sweep` of the same, solves alone, {name} | {size} | numpy.linalg.lstsq for each "
        f"| {plain * times / ours:.0f}× ({ours:.2f} s) | | it does less: no weights, no prior |",
        f"| `ta.sweep` of the same, whole: {len(swept.rows)} rows with baselines, intervals, utility, {name} "
        f"| {size} | numpy.linalg.lstsq for each | {plain * times / whole:.1f}× ({whole:.1f} s) | | |",
    ]


def main() -> None:
    name, features, secret = people(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
    print(f"BLAS threads: {os.environ.get('OPENBLAS_NUM_THREADS', 'default')}\n")
    print("| work | size | reference | reference time ÷ ours | peak memory | largest difference |")
    print("| --- | --- | --- | --- | --- | --- |")
    print(solver(name, features, secret))
    for line in end_to_end(name, features, secret):
        print(line)


if __name__ == "__main__":
    main()
