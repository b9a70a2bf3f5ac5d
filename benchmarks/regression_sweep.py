"""A sweep of noise over many regressions, solved together, against numpy's lstsq for each: ratio, memory.

python benchmarks/regression_sweep.py [--quick] [FOLDER]

3 families × 16 scales × 10 repeats on one regression for each of 27 columns of 3047 records: the paper's data
if the folder holds cancer_reg.csv, random numbers of the same size otherwise. The paper's attack alone,
and `ta.sweep` from end to end. CPU seconds of one thread.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np

import tellall as ta
from tellall.audits.draws import SharedSystem
from tellall.audits.trial import Planned, Setting, Trial
from tellall.papers.regression_noise_attack import FAMILIES, SCALES, Regressions, law, load, prepare
from timing import Section, least_time, one_thread, peak

REPEATS = 10
Row = tuple[str, ...]


def people(folder: Path) -> tuple[str, np.ndarray, np.ndarray]:
    """What they are, their features and their secret."""
    if (folder / "cancer_reg.csv").is_file():
        data = load(folder)
        return data.name, prepare(data.features, np.arange(data.n), "standardised"), data.secret
    rng = np.random.default_rng(0)
    return "random records", rng.standard_normal((3047, 27)), rng.normal(180, 28, 3047)


def solver(name: str, features: np.ndarray, secret: np.ndarray, repeats: int) -> Row:
    """The paper's attack alone: all draws together against numpy's lstsq for each."""
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
    size = f"n={features.shape[0]}, {features.shape[1]} regressions, {noisy.shape[1]} draws"
    apart, largest = np.abs(found - expected).max(), np.abs(expected - secret[:, None]).max()
    return (
        f"sweep of noise, 3 families × 16 scales × {repeats} repeats, {name}",
        size,
        "numpy.linalg.lstsq for each",
        f"{theirs / ours:.0f}× ({ours:.3f} s)",
        f"{peak(together):.0f} MiB",
        f"{apart:.1e} of errors up to {largest:.0f}",
    )


def end_to_end(name: str, features: np.ndarray, secret: np.ndarray, repeats: int) -> Iterator[Row]:
    """`ta.sweep` of the same, with its baselines, intervals and utility; and its solves alone.

    The attack weighs the noise and shrinks to the mean, so numbers are compared with the same attack made
    on each release from scratch; times also with numpy's lstsq, which does less.
    """
    people = ta.Dataset.from_arrays(features, secret=secret, kind="reals")
    statistic = ta.Estimator("linear", intercept=True)
    families = [partial(law, family) for family in FAMILIES]
    whole, swept = least_time(
        lambda: ta.sweep(people, statistic, families, scales=SCALES, repeats=repeats), 1
    )
    setting = Setting(people)
    laws = [law(family, scale) for family in FAMILIES for scale in SCALES]
    trials = [Trial(setting, (Planned("fits", statistic, (noise,)),), repeats) for noise in laws]
    groups = [[releases[0] for releases in trial.published] for trial in trials]

    def together() -> list[list[np.ndarray]]:
        setting.shared = SharedSystem()  # the decomposition is part of the work
        return [[attack.estimate for attack in trial.attack("least-squares")] for trial in trials]

    ours, found = least_time(together, 3)
    some = range(0, len(groups), 6)

    def from_scratch() -> list[np.ndarray]:
        return [ta.reconstruct(groups[index][0], people.public).estimate for index in some]

    each, expected = least_time(from_scratch, 1)
    apart = max(float(np.abs(found[index][0] - one).max()) for index, one in zip(some, expected, strict=True))
    rows = ta.linearise(groups[0][0], people.public).operator.to_dense()
    targets = [ta.linearise(groups[index][0], people.public).target for index in some]
    plain, _ = least_time(lambda: [np.linalg.lstsq(rows, z, rcond=1e-10)[0] for z in targets], 1)
    draws, times = sum(map(len, groups)), sum(map(len, groups)) / len(some)
    size = f"n={people.n}, {features.shape[1]} regressions, {draws} draws"
    alone, memory = f"`ta.sweep` of the same, solves alone, {name}", f"{peak(together):.0f} MiB"
    ratio, plainly = (
        f"{each * times / ours:.0f}× ({ours:.2f} s)",
        f"{plain * times / ours:.0f}× ({ours:.2f} s)",
    )
    yield alone, size, "the same attack from scratch for each", ratio, memory, f"{apart:.1e}"
    yield alone, size, "numpy.linalg.lstsq for each", plainly, "", "it does less: no weights, no prior"
    everything = (
        f"`ta.sweep` of the same, whole: {len(swept.rows)} rows with baselines, intervals, utility, {name}"
    )
    yield (
        everything,
        size,
        "numpy.linalg.lstsq for each",
        f"{plain * times / whole:.1f}× ({whole:.1f} s)",
        "",
        "",
    )


def main() -> None:
    """Run, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one repeat; nothing is written")
    parser.add_argument("folder", nargs="?", default=".", type=Path)
    chosen = parser.parse_args()
    one_thread()
    repeats = 1 if chosen.quick else REPEATS
    name, features, secret = people(chosen.folder)
    names = ("work", "size", "reference", "reference time ÷ ours", "peak memory", "largest difference")
    section = Section("regression_sweep.py", names, keep=not chosen.quick)
    section.add(solver(name, features, secret, repeats))
    for row in end_to_end(name, features, secret, repeats):
        section.add(row)


if __name__ == "__main__":
    main()
