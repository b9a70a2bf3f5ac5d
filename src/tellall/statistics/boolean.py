"""Boolean functions as truth tables, and properties that decide whether their counts give the secret away.

A truth table of p variables has 2**p bits; the index of a point is its bits read as a binary number, the
first variable the most significant and the secret the last.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.core.checks import are_bits, whole
from tellall.core.errors import invalid
from tellall.linalg.operators.walsh import moebius

__all__ = [
    "NAMES",
    "as_table",
    "is_degenerate",
    "is_symmetric",
    "line_through",
    "multilinear",
    "split",
    "truth_table",
]

Bits = npt.NDArray[np.int8]
Integers = npt.NDArray[np.int64]

NAMES = ("and", "or", "xor", "majority", "nae", "mux")
_MOST_VARIABLES = 16


def line_through(f: npt.ArrayLike, g: npt.ArrayLike) -> tuple[float, float] | None:
    """The numbers a and b with g = a + b f at every point; None if there are none.

    Examples
    --------
    >>> line_through([1, -1, -1, 1], [0, 1, 1, 0]), line_through([0, 0, 1, 1], [1, 1, 1, 1])
    ((0.5, -0.5), (1.0, 0.0))
    >>> line_through([0, 0, 1, 1], [0, 1, 0, 1])
    """
    first = np.asarray(f, dtype=np.float64)
    second = np.asarray(g, dtype=np.float64)
    low = int(first.argmin())
    high = int(first.argmax())
    slope = (
        float(second[high] - second[low]) / float(first[high] - first[low])
        if first[low] < first[high]
        else 0.0
    )
    start = float(second[low] - slope * first[low])
    return (start, slope) if np.allclose(start + slope * first, second) else None


def truth_table(name: str, ways: int) -> Bits:
    """The truth table of a function of `ways` variables, the last of which is the secret.

    Parameters
    ----------
    name
        "and", "or", "xor" (an odd number of ones), "majority" (more ones than half), "nae" (not all equal) or
        "mux" (three variables: the first chooses between the other two).
    ways
        The number of variables.

    Examples
    --------
    >>> truth_table("and", 2).tolist(), truth_table("majority", 3).tolist()
    ([0, 0, 0, 1], [0, 0, 0, 1, 0, 1, 1, 1])
    """
    if not isinstance(name, str) or name not in NAMES:
        raise invalid("function", f"one of {', '.join(map(repr, NAMES))}, or a truth table", name)
    p = _check_ways(ways)
    ones = _ones(p)
    if name == "mux":
        if p != 3:
            raise invalid("ways", "3 for 'mux'", ways)
        return np.array([0, 0, 1, 1, 0, 1, 0, 1], dtype=np.int8)
    holds: npt.NDArray[np.bool_] = {
        "and": ones == p,
        "or": ones > 0,
        "xor": ones % 2 == 1,
        "majority": 2 * ones > p,
        "nae": (ones > 0) & (ones < p),
    }[name]
    return holds.astype(np.int8)


def is_degenerate(table: npt.ArrayLike) -> bool:
    """Whether the product of all variables is missing from the function's multilinear polynomial.

    Notes
    -----
    Attacks on counts of a non-degenerate function have a guarantee (linear-reconstruction, Theorem 3.2). For
    a degenerate one, the rank of the evidence decides. Equivalent to Σ_x (−1)^(f(x)+|x|) = 0 (Def. 11,
    Lemma A.1), since that sum is −2 (−1)^p times the coefficient. Not all functions that need a decision tree
    of full depth are non-degenerate (E-LR-6): not-all-equal is degenerate.

    Examples
    --------
    >>> is_degenerate(truth_table("xor", 3)), is_degenerate(truth_table("nae", 3))
    (False, True)
    """
    return int(multilinear(table)[-1]) == 0


def multilinear(table: npt.ArrayLike) -> Integers:
    """The integer coefficients of the function's multilinear polynomial, one per set of variables.

    Notes
    -----
    f(x) = Σ_S c[S] Π_{j ∈ S} x_j, where the index S is read as bits like an index of the table: the first
    variable is the most significant bit, so c[0] is the constant and c[−1] belongs to the product of all
    variables. O(p 2^p).

    Examples
    --------
    >>> multilinear(truth_table("or", 2)).tolist()  # y + x − x y
    [0, 1, 1, -1]
    """
    return moebius(as_table(table).astype(np.int64))


def split(table: npt.ArrayLike) -> tuple[Integers, Integers]:
    """The functions f0 and f2 with f(x, s) = f0(x) + f2(x) s: the known part, and what the secret adds.

    Notes
    -----
    f2 is in {−1, 0, 1} (linear-reconstruction, Eq. 1). In ±1 variables the paper's g2 equals f2 and its
    constant q_g equals Σ f0, so one form serves both.

    Examples
    --------
    >>> [part.tolist() for part in split(truth_table("xor", 2))]
    [[0, 1], [1, -1]]
    """
    pairs = as_table(table).astype(np.int64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1] - pairs[:, 0]


def is_symmetric(values: npt.ArrayLike) -> bool:
    """Whether a function of k bits depends only on how many of them are one.

    Examples
    --------
    >>> is_symmetric([0, 1, 1, 5]), is_symmetric([0, 1, 0, 0])
    (True, False)
    """
    array = np.asarray(values)
    ones = _ones(array.shape[0].bit_length() - 1)
    return all(np.ptp(array[ones == count]) == 0 for count in np.unique(ones))


def as_table(table: npt.ArrayLike) -> Bits:
    """The truth table as bits; an error if it is not one."""
    if isinstance(table, str) or not isinstance(table, Iterable):
        raise invalid("table", "a truth table of 2**p bits", table)
    try:
        array: npt.NDArray[Any] = np.asarray(table)
    except ValueError:
        raise invalid("table", "a truth table of 2**p bits", table) from None
    size = array.size
    if array.ndim != 1 or size < 2 or size & (size - 1) or size > 2**_MOST_VARIABLES:
        raise invalid("table", "a truth table of 2**p bits, p from 1 to 16", f"shape {array.shape}")
    if not are_bits(array):
        raise invalid("table", "a truth table of bits (0 or 1)", table)
    return array.astype(np.int8)


def _ones(p: int) -> Integers:
    """How many variables are one at each index."""
    index = np.arange(2**p)
    return sum(((index >> j) & 1 for j in range(p)), start=np.zeros_like(index))


def _check_ways(ways: int) -> int:
    return whole("ways", ways, most=_MOST_VARIABLES, also=", the secret counted")
