"""Many draws of noise on one shared system, against solving each from scratch in the same run.

python benchmarks/study.py [--quick] [--data cancer_reg.csv]

Without the file of counties, random columns of the same size stand in.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import tellall as ta
from tellall.attack.reconstruct.attack import reconstruct
from tellall.audits.draws import SharedSystem
from tellall.audits.trial import Planned, Setting, Trial
from tellall.linalg.operators.linear_operator import Dense
from tellall.linalg.solvers.many_targets import MinimumNorm
from tellall.protections.additive import Gaussian, Laplace, TruncatedNormal
from timing import least_time

SECRET = "target_deathrate"
FAMILIES: tuple[Callable[[float], Any], ...] = (
    Gaussian,
    Laplace,
    lambda scale: TruncatedNormal(scale, 0.05, "scales"),
)


def counties(path: Path | None) -> tuple[np.ndarray, np.ndarray, str]:
    """27 columns and the secret."""
    if path is None:
        rng = np.random.default_rng(0)
        return rng.normal(size=(3047, 27)), rng.normal(178, 28, 3047), "random columns"
    from tellall.people.readers import read_table

    table = read_table(path)
    names = [name for name in table if name != SECRET and np.asarray(table[name]).dtype.kind in "if"]
    columns = [np.ma.filled(np.ma.asarray(table[name], dtype=float), np.nan) for name in names]
    whole = [column for column in columns if np.isfinite(column).all()][:27]
    matrix = np.stack([(column - column.mean()) / column.std() for column in whole], axis=1)
    return matrix, np.asarray(table[SECRET], dtype=float), path.name


def regressions(path: Path | None, scales: int, repeats: int) -> str:
    """The 27 regressions of the counties: three families, sixteen scales, ten repeats."""
    features, secret, name = counties(path)
    rows, targets = [], []
    for column in features.T:
        design = np.column_stack([column, np.ones(secret.size)])
        rows.append(design.T)
        targets.append((design.T @ design, np.linalg.lstsq(design, secret, rcond=None)[0]))
    matrix = np.concatenate(rows)
    noisy = []
    for family in FAMILIES:
        for scale in np.geomspace(0.01, 10, scales):
            for draw in range(repeats):
                noise = family(float(scale)).sample((len(targets), 2), np.random.default_rng([1, draw]))
                noisy.append(np.concatenate([g @ (t + e) for (g, t), e in zip(targets, noise, strict=True)]))
    block = np.stack(noisy, axis=1)
    tolerance = 1e-10
    ours, found = least_time(lambda: MinimumNorm(tolerance).prepare(Dense(matrix)).solve(block))
    theirs, wanted = least_time(lambda: [np.linalg.lstsq(matrix, z, rcond=tolerance)[0] for z in block.T], 1)
    share = np.abs(found - np.stack(wanted, axis=1)).max() / np.abs(found).max()
    return (
        f"{len(rows)} regressions on {name}, n = {secret.size}, {block.shape[1]} draws: "
        f"{theirs / ours:.0f}× less than numpy lstsq ({ours:.3f} s against {theirs:.1f} s); largest "
        f"difference {share:.1e} of the largest value"
    )


def pairs(n: int, d: int, draws: int) -> str:
    """All pairs of attributes of random people: draws together, one by one, and numpy's lstsq."""
    rng = np.random.default_rng(3)
    people = ta.Dataset.from_arrays(rng.integers(0, 2, (n, d)), secret=rng.integers(0, 2, n))
    planned = Planned("pairs", ta.Predicates("xor", ways=3), (Gaussian(0.4 * n**0.5),))
    trial = Trial(Setting(people), (planned,), draws)
    some = [releases[0] for releases in trial.published[:5]]

    def attack_together() -> list[ta.Reconstruction]:
        trial.setting.shared = SharedSystem()  # the decomposition is part of the work
        return trial.attack("least-squares")

    together, found = least_time(attack_together)
    alone, one_by_one = least_time(lambda: [reconstruct(release, people.public) for release in some], 1)
    matrix = ta.linearise(some[0], people.public).operator.to_dense().astype(np.float64)
    values = [ta.linearise(release, people.public).target for release in some]
    plain, _ = least_time(lambda: [np.linalg.lstsq(matrix, z, rcond=None)[0] for z in values], 1)
    factor = draws / len(some)
    same = np.mean([np.mean(a.guess == b.guess) for a, b in zip(found[:5], one_by_one, strict=True)])
    right = np.mean([np.mean(attack.guess == people.secret) for attack in found])
    return (
        f"all pairs, n = {n}, {draws} draws, box and confidences: {alone * factor / together:.0f}× less "
        f"than one by one, {plain * factor / together:.0f}× less than numpy lstsq ({together:.2f} s, "
        f"{alone * factor:.1f} s, {plain * factor:.1f} s); {same:.2%} of guesses the same, "
        f"{right:.1%} of bits right"
    )


def main() -> None:
    """Print the rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--data", type=Path)
    options = parser.parse_args()
    with threadpool_limits(limits=1):
        print(regressions(options.data, 4 if options.quick else 16, 2 if options.quick else 10))
        print(pairs(200, 29, 10) if options.quick else pairs(1000, 64, 50))


if __name__ == "__main__":
    main()
