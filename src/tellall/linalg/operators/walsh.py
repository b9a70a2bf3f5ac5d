"""Fast transforms over the subsets of a few binary variables: Moebius differences and Walsh sums.

Arrays have 2**k entries along their last axis; an index is read as k bits, the first variable the most
significant. The same reading serves points (which variables are one) and subsets (which are in it).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.core.errors import invalid

__all__ = [
    "cells",
    "inner_products",
    "moebius",
    "subset_sums",
    "variables",
]

Numbers = npt.NDArray[Any]


def variables(length: int) -> int:
    """The number of binary variables whose points an axis of this length lists."""
    if length < 1 or length & (length - 1):
        raise invalid("length", "a power of two, one entry per choice of bits", length)
    return length.bit_length() - 1


def moebius(values: npt.ArrayLike) -> Numbers:
    """The coefficients c with values[x] = Σ_{S ⊆ x} c[S]: the multilinear polynomial of a function of bits.

    Notes
    -----
    c[S] = Σ_{x ⊆ S} (−1)^(|S|−|x|) values[x], by differences along one variable after the other: O(k 2^k).

    Examples
    --------
    >>> moebius([0, 1, 1, 0]).tolist()  # exclusive or: x + y − 2 x y
    [0, 1, 1, -2]
    """
    return _butterfly(values, lambda zero, one: (zero, one - zero))


def subset_sums(coefficients: npt.ArrayLike) -> Numbers:
    """The function whose multilinear polynomial has these coefficients; undoes :func:`moebius`.

    Examples
    --------
    >>> subset_sums([0, 1, 1, -2]).tolist()
    [0, 1, 1, 0]
    """
    return _butterfly(coefficients, lambda zero, one: (zero, zero + one))


def inner_products(counts: npt.ArrayLike) -> Numbers:
    """The ±1 inner products of a table from its cells.

    Notes
    -----
    i[S] = Σ_b Π_{j ∈ S} (2 b_j − 1) c[b], that is Σ_people Π_{j ∈ S} (2 x_j − 1); O(k 2^k) per table. White
    noise of variance v in the cells is white noise of variance 2^k v in the inner products
    (contingency-tables, Sec. 1.4 and Appendix C).

    Examples
    --------
    >>> inner_products([2, 2, 1, 2]).tolist()  # cells 00, 01, 10, 11
    [7, 1, -1, 1]
    """
    return _butterfly(counts, lambda zero, one: (zero + one, one - zero))


def cells(products: npt.ArrayLike) -> Numbers:
    """The cells of a table from its ±1 inner products; undoes :func:`inner_products`.

    Notes
    -----
    c[b] = 2^−k Σ_S Π_{j ∈ S} (2 b_j − 1) i[S].

    Examples
    --------
    >>> cells([7, 1, -1, 1]).tolist()
    [2.0, 2.0, 1.0, 2.0]
    """
    whole = _butterfly(products, lambda every, sign: (every - sign, every + sign))
    out: Numbers = whole / whole.shape[-1]
    return out


def _butterfly(values: npt.ArrayLike, step: Callable[[Numbers, Numbers], tuple[Numbers, Numbers]]) -> Numbers:
    """One step per variable, each on the halves where that variable is 0 and where it is 1."""
    array = np.asarray(values)
    if array.dtype.kind in "biu":  # small types would overflow
        array = array.astype(np.int64)
    shape = array.shape
    k = variables(array.shape[-1])
    for variable in range(k):
        halves = array.reshape(*shape[:-1], 2**variable, 2, 2 ** (k - 1 - variable))
        array = np.stack(step(halves[..., 0, :], halves[..., 1, :]), axis=-2).reshape(shape)
    return array
