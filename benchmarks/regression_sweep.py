"""A sweep of noise over many regressions, solved together, beside numpy's lstsq for each: ratio, memory.

python benchmarks/regression_sweep.py [--quick] [FOLDER]

3 families × 16 scales × 10 repeats on one regression for each of 27 columns of 3047 records: the paper's data
where the folder holds cancer_reg.csv, random numbers of the same size otherwise. CPU seconds of one thread.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from tellall.papers.regression_noise_attack import Regressions
from tellall.papers.regression_noise_data import FILE, SCALES, load, prepare
from tellall.papers.regression_noise_study import FAMILIES, law
from timing import Section, least_time, one_thread, peak

REPEATS = 10


def people(folder: Path) -> tuple[str, np.ndarray, np.ndarray]:
    """What they are, their features and their secret."""
    if (folder / FILE).is_file():
        data = load(folder)
        return data.name, prepare(data.features, np.arange(data.n), "standardised"), data.secret
    rng = np.random.default_rng(0)
    return "random records", rng.standard_normal((3047, 27)), rng.normal(180, 28, 3047)


def main() -> None:
    """Run, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one repeat; nothing is written")
    parser.add_argument("folder", nargs="?", default=".", type=Path)
    chosen = parser.parse_args()
    one_thread()
    repeats = 1 if chosen.quick else REPEATS
    name, features, secret = people(chosen.folder)
    rng = np.random.default_rng(1)
    clean = Regressions(features).fit(secret)
    laws = [law(family, scale) for family in FAMILIES for scale in SCALES for _ in range(repeats)]
    noisy = clean[:, None] + np.column_stack([one.sample(clean.size, rng) for one in laws])

    def together() -> np.ndarray:
        return Regressions(features).attack(noisy)  # everything from the features on

    def one_by_one() -> np.ndarray:
        models = Regressions(features)
        rows, targets = models.rows, models.targets(noisy)  # formed once: only the solves are repeated
        return np.column_stack([np.linalg.lstsq(rows, z, rcond=1e-10)[0] for z in targets.T])

    ours, found = least_time(together, 5)
    theirs, expected = least_time(one_by_one, 3)
    apart, largest = np.abs(found - expected).max(), np.abs(expected - secret[:, None]).max()
    names = ("work", "size", "reference", "reference time ÷ ours", "peak memory", "largest difference")
    Section("regression_sweep.py", names, keep=not chosen.quick).add(
        (
            f"sweep of noise, 3 families × 16 scales × {repeats} repeats, {name}",
            f"n={features.shape[0]}, {features.shape[1]} regressions, {noisy.shape[1]} draws",
            "numpy.linalg.lstsq for each",
            f"{theirs / ours:.0f}× ({ours:.3f} s)",
            f"{peak(together):.0f} MiB",
            f"{apart:.1e} of errors up to {largest:.0f}",
        )
    )


if __name__ == "__main__":
    main()
