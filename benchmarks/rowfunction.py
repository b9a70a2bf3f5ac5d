"""Products with any function of two or three attributes, beside one float32 matrix product of the same flops.

python benchmarks/rowfunction.py [--quick]
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from tellall.linops import RowFunction
from tellall.statistics.boolean import split, truth_table

FUNCTIONS = {
    "and": truth_table("and", 3),
    "xor": truth_table("xor", 3),
    "majority": truth_table("majority", 3),
    "mux (ordered pairs)": truth_table("mux", 3),
    "x and not y, xor s (ordered pairs)": np.array([0, 1, 0, 1, 1, 0, 0, 1]),
}


def best_of(times: int, call: Callable[[], Any]) -> float:
    """The least wall-clock time of several runs."""
    least = float("inf")
    for _ in range(times):
        start = time.perf_counter()
        call()
        least = min(least, time.perf_counter() - start)
    return least


def rows(n: int, d: int, repeats: int) -> list[str]:
    """One line per function: matvec and its adjoint as multiples of the matrix product, and whether exact."""
    rng = np.random.default_rng(n)
    T = rng.integers(0, 2, (d, n)).astype(np.float32)
    secret = rng.integers(0, 2, n).astype(np.float32)
    other = np.ascontiguousarray(T.T)
    product = best_of(repeats, lambda: T @ other)
    lines = []
    for name, table in FUNCTIONS.items():
        operator = RowFunction(split(table)[1], T)
        published = operator.matvec(secret)
        there = best_of(repeats, lambda operator=operator: operator.matvec(secret)) / product
        back = best_of(repeats, lambda operator=operator, y=published: operator.rmatvec(y)) / product
        some = rng.integers(0, operator.shape[0], 20)
        exact = all(
            published[row] == _row(operator, int(row)) @ secret.astype(np.float64) for row in some.tolist()
        )
        lines.append(
            f"| {name} | n={n}, d={d}, {operator.shape[0]} rows | {there:.2f} × | {back:.2f} × | {exact} |"
        )
    return lines


def _row(operator: RowFunction, row: int) -> np.ndarray:
    """One row of the matrix, from the function's values."""
    d = operator.bits.shape[0]
    if operator.tuples == "subsets":
        i, j = (int(axis[row]) for axis in np.triu_indices(d, 1))
    else:
        i, j = row // (d - 1), row % (d - 1)
        j += j >= i
    bits = operator.bits.astype(int)
    return operator.table[2 * bits[i] + bits[j]]


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="only a small size")
    quick = parser.parse_args().quick
    threads = os.environ.get("OPENBLAS_NUM_THREADS", "default")
    lines = [
        f"Row functions, float32, BLAS threads: {threads}; times as multiples of one d×n by n×d product.",
        "",
        "| function of two attributes and the secret | size | A s | Aᵀ y | 20 counts exact |",
        "| --- | --- | --- | --- | --- |",
        *(rows(2000, 90, 5) if quick else rows(20_000, 200, 7)),
    ]
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
