"""The gram of a row-function matrix in closed form, from how people's attributes agree."""

from __future__ import annotations

from itertools import product
from math import factorial
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.linops.base import Array

__all__ = ["closed_gram"]

_PEOPLE = 256  # rows of the gram made at once, so that its terms stay in cache


def closed_gram(table: npt.NDArray[np.float64], bits: Array, tuples: str) -> Array:
    """Aᵀ A of the row function g over 0/1 attributes (attributes × people).

    Notes
    -----
    Entry (a, b) depends only on how many attributes have each of the four pairs of values at a and b: with
    N_uv of them, and h(m) the sum of g(u) g(v) over tuples of pairs with m_uv of each,

        Σ_m h(m) Π_uv N_uv (N_uv − 1) ... (N_uv − m_uv + 1),

    over k! for subsets, and with powers N_uv^m_uv for tuples with repetitions instead.
    O(n² d) for the counts and at most 35 terms of n² for k ≤ 4.
    """
    terms, (d, n) = _gram_terms(table), bits.shape
    k = table.size.bit_length() - 1
    whole = bits.astype(np.float64)
    ones = whole.sum(axis=0)
    out = np.empty((n, n))
    share = factorial(k) if tuples == "subsets" else 1
    for start in range(0, n, _PEOPLE):
        here = slice(start, start + _PEOPLE)
        both = whole[:, here].T @ whole
        mine, theirs = ones[here, None] - both, ones[None, :] - both
        counts = (d - both - mine - theirs, theirs, mine, both)  # 00, 01, 10, 11
        powers = [_powers(count, k, falling=tuples != "all") for count in counts]
        total = np.zeros_like(both)
        for multiplicity, value in terms.items():
            term: Any = value / share
            for pair, times in enumerate(multiplicity):
                if times:
                    term = term * powers[pair][times]
            total += term
        out[here] = total
    return out


def _gram_terms(table: npt.NDArray[np.float64]) -> dict[tuple[int, int, int, int], float]:
    """Σ g(u) g(v) over all u, v, by how many places have (u, v) = 00, 01, 10, 11."""
    k = table.size.bit_length() - 1
    terms: dict[tuple[int, int, int, int], float] = {}
    for u, v in product(range(table.size), repeat=2):
        value = float(table[u] * table[v])
        both, mine, theirs = (u & v).bit_count(), (u & ~v).bit_count(), (v & ~u).bit_count()
        key = (k - both - mine - theirs, theirs, mine, both)
        terms[key] = terms.get(key, 0.0) + value
    return {key: value for key, value in terms.items() if value}


def _powers(count: Array, k: int, *, falling: bool) -> list[Array]:
    """count^0 .. count^k, or the falling factorials count (count − 1) ... of the same lengths."""
    powers = [np.ones_like(count)]
    for times in range(k):
        powers.append(powers[-1] * (count - times if falling else count))
    return powers
