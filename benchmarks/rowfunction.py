"""Products with any function of two or three attributes, against a float32 matrix product of equal flops.

python benchmarks/rowfunction.py [--quick]
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np

from tellall.linalg.operators.rowfunction import RowFunction
from tellall.statistics.boolean import split, truth_table
from timing import Section, least_time, one_thread

FUNCTIONS = {
    "and": truth_table("and", 3),
    "xor": truth_table("xor", 3),
    "majority": truth_table("majority", 3),
    "mux (ordered pairs)": truth_table("mux", 3),
    "x and not y, xor s (ordered pairs)": np.array([0, 1, 0, 1, 1, 0, 0, 1]),
}


def rows(n: int, d: int, repeats: int) -> Iterator[tuple[str, ...]]:
    """One line per function: matvec and its adjoint as multiples of the matrix product, and whether exact."""
    rng = np.random.default_rng(n)
    T = rng.integers(0, 2, (d, n)).astype(np.float32)
    secret = rng.integers(0, 2, n).astype(np.float32)
    other = np.ascontiguousarray(T.T)
    product = least_time(lambda: T @ other, repeats)[0]
    for name, table in FUNCTIONS.items():
        operator = RowFunction(split(table)[1], T)
        published = operator.matvec(secret)
        there = least_time(lambda operator=operator: operator.matvec(secret), repeats)[0] / product
        back = least_time(lambda operator=operator, y=published: operator.rmatvec(y), repeats)[0] / product
        some = rng.integers(0, operator.shape[0], 20)
        exact = all(
            published[row] == _row(operator, int(row)) @ secret.astype(np.float64) for row in some.tolist()
        )
        size = f"n={n}, d={d}, {operator.shape[0]} rows"
        yield name, size, f"{there:.2f} ×", f"{back:.2f} ×", str(exact)


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
    """Run, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="only a small size")
    quick = parser.parse_args().quick
    one_thread()
    names = ("function of two attributes and the secret", "size", "A s", "Aᵀ y", "20 counts exact")
    note = "Row functions, float32; CPU seconds as multiples of those of one d×n by n×d product."
    section = Section("rowfunction.py", names, note=note, keep=not quick)
    for row in rows(2000, 90, 5) if quick else rows(20_000, 200, 7):
        section.add(row)


if __name__ == "__main__":
    main()
