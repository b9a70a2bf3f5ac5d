"""RowFunction: any function of k attributes, one row per choice of attributes, never formed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, permutations, product
from math import comb, factorial, perm
from typing import Any, final

import numpy as np
import numpy.typing as npt

from tellall.core.errors import invalid
from tellall.linalg.operators.linear_operator import (
    HOST,
    Array,
    Device,
    IntArray,
    LinearOperator,
    NumberType,
    RowSelect,
    stack_columns,
)
from tellall.linalg.operators.moments import Moments, Packed, gram_of_rows, in_chunks, upper_triangle
from tellall.linalg.operators.walsh import inner_products, moebius

__all__ = [
    "TUPLES",
    "RowFunction",
    "closed_gram",
    "row_values",
]

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
        mine = ones[here, None] - both
        theirs = ones[None, :] - both
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
    """Σ g(u) g(v) over all u, v, by how many attributes have (u, v) = 00, 01, 10, 11."""
    k = table.size.bit_length() - 1
    terms: dict[tuple[int, int, int, int], float] = {}
    for u, v in product(range(table.size), repeat=2):
        value = float(table[u] * table[v])
        both = (u & v).bit_count()
        mine = (u & ~v).bit_count()
        theirs = (v & ~u).bit_count()
        key = (k - both - mine - theirs, theirs, mine, both)
        terms[key] = terms.get(key, 0.0) + value
    return {key: value for key, value in terms.items() if value}


def _powers(count: Array, k: int, *, falling: bool) -> list[Array]:
    """count^0 .. count^k, or the falling factorials count (count − 1) ... of the same lengths."""
    powers = [np.ones_like(count)]
    for times in range(k):
        powers.append(powers[-1] * (count - times if falling else count))
    return powers


TUPLES = ("distinct", "subsets", "ordered", "all")
_ROWS = 1024  # rows formed at once where a weighted gram has no closed form


@final
class RowFunction(LinearOperator):
    """One row per choice J of k rows of the 0/1 factor T: ``A[J, p] = g(T[J_1, p], ..., T[J_k, p])``.

    Parameters
    ----------
    table
        g: 2**k numbers, k from 1 to 4, the first attribute the most significant bit of the index.
    factor
        T, attributes × people, 0/1: an array, or packed bits.
    tuples
        "subsets": J_1 < ... < J_k, lexicographic (g must be symmetric). "ordered": tuples of different
        attributes, in the lexicographic order of ``itertools.permutations``. "all": {1..d}^k with
        repetitions, C order. "distinct": subsets if g is symmetric, otherwise ordered.

    Notes
    -----
    g is a polynomial Σ_S c_S Π_{j ∈ S} t_j, in t = x, 1 − x or 1 − 2x, whichever has the fewest terms (one
    for and, or, xor: then it is Moments of that factor). For k = 2

        (A s)[i, j] = c_∅ Σ s + c_1 (T s)_i + c_2 (T s)_j + c_12 ((T∘s) Tᵀ)_ij:

    one matrix product, O(d^k n) flops and O(n d + d²) memory besides the result; larger k fixes the first
    attribute and recurses. A packed factor takes n d / 8 bytes and is expanded in blocks of columns, as 0/1,
    1/0 or 1/−1. The gram has a closed form (`closed_gram`).
    These are the row-function matrices of the linear-reconstruction paper (Def. 5).
    """

    def __init__(
        self,
        table: npt.ArrayLike,
        factor: npt.ArrayLike | Packed,
        tuples: str = "distinct",
    ) -> None:
        self.table = _check_table(table)
        self.k = self.table.size.bit_length() - 1
        self.bits: Any = _check_factor(factor)
        self.tuples = _check_tuples(tuples, self.table)
        d, n = self.bits.shape
        self.shape = (_count(d, self.k, self.tuples), n)
        if isinstance(self.bits, Packed):
            self.device = self.bits.device
            self.dtype = np.dtype(np.float32)
        else:
            self.device = HOST
            self.dtype = self.bits.dtype
        self.coefficients, self.factor = _shortest_polynomial(self.table, self.bits)
        self._indices: dict[tuple[int, ...], IntArray] = {}

    def matmat(self, block: Array) -> Array:
        return stack_columns(self.device, self.matvec, block, self.shape[0])

    def rmatmat(self, block: Array) -> Array:
        return stack_columns(self.device, self.rmatvec, block, self.shape[1])

    def matvec(self, vector: Array) -> Array:
        xp = self.device.xp
        kind = self._kind(vector)
        total: Any = None
        for start, stop, T in self._blocks(kind):
            part = vector[start:stop]
            weights = {subset: xp.astype(c * part, kind) for subset, c in self.coefficients.items()}
            found = list(self._images(T, weights, (), self.k))
            whole = xp.concat(found) if found else self.device.zeros((0,), kind)
            total = whole if total is None else total + whole
        return self.device.zeros((self.shape[0],), kind) if total is None else total

    def rmatvec(self, vector: Array) -> Array:
        xp = self.device.xp
        kind = self._kind(vector)
        if not self.shape[0]:
            nothing: Array = self.device.zeros((self.shape[1],), kind)
            return nothing
        values = xp.astype(vector, kind, copy=False)
        parts = [self.device.zeros((0,), kind)]
        for start, stop, T in self._blocks(kind):
            total = self.device.zeros((stop - start,), kind)
            found = self._back_images(T, values, (), self.k, set(self.coefficients))
            for subset, c in self.coefficients.items():
                total += found[subset] * c
            parts.append(total)
        return xp.concat(parts) if len(parts) > 2 else parts[-1]

    def on(self, device: Device) -> RowFunction:
        packed = self.bits if isinstance(self.bits, Packed) else Packed.of(self.bits)
        return RowFunction(self.table, packed.on(device), self.tuples)

    def _kind(self, vector: Array) -> NumberType:
        """The number type of products with a vector."""
        return self.device.xp.result_type(self.device.dtype(self.dtype), vector.dtype)

    def _blocks(self, kind: NumberType) -> Iterator[tuple[int, int, Array]]:
        """Start, stop and the factor's columns between."""
        if isinstance(self.factor, Packed):
            yield from self.factor.blocks(kind)
        else:
            yield 0, self.shape[1], self.factor

    @property
    def _whole(self) -> Array:
        """The attributes as one array, for work that forms the matrix or its gram."""
        if not isinstance(self.bits, Packed):
            whole: Array = self.bits
            return whole
        return self.device.get(self.bits.block(0, self.shape[1], self.device.dtype(self.dtype)))

    def gram(self, weights: Array | None = None) -> Array:
        if self.tuples == "subsets" and self.k <= 3 and set(self.coefficients) == {self.table.size - 1}:
            product_of_all = self.coefficients[self.table.size - 1]
            return Moments(self.factor, self.k).gram(weights) * product_of_all**2
        if weights is None or weights.size == 0 or np.all(weights == weights[0]):
            one = 1.0 if weights is None or weights.size == 0 else float(weights[0])
            return one * closed_gram(self.table, self._whole, self.tuples)
        return gram_of_rows(self._row_blocks(), weights, self.shape[1])

    def take(self, columns: IntArray) -> LinearOperator:
        if not isinstance(self.bits, Packed):
            return RowFunction(self.table, np.ascontiguousarray(self.bits[:, columns]), self.tuples)
        if 2 * len(columns) > self.shape[1]:  # bits are slower to reorder than a vector
            return RowSelect(self.T, columns).T
        return RowFunction(self.table, self.bits.take(columns), self.tuples)

    def squared(self) -> RowFunction:
        return RowFunction(self.table**2, self.bits, self.tuples)

    def to_dense(self) -> Array:
        blocks = list(self._row_blocks())
        return np.concatenate(blocks) if blocks else np.zeros(self.shape, dtype=self.dtype)

    def _images(
        self, T: Array, weights: dict[int, Array], chosen: tuple[int, ...], left: int
    ) -> Iterator[Array]:
        """Yields the results for every choice of the last `left` attributes, given the chosen others.

        ``weights[S]`` multiplies the product of the attributes in S, a set of the last ones.
        """
        xp = self.device.xp
        first = chosen[-1] + 1 if self.tuples == "subsets" and chosen else 0
        if left <= 2:
            here = T[first:, :]
            block = (
                _pair_image(self.device, weights, here)
                if left == 2
                else _single_image(self.device, weights, here)
            )
            yield xp.take(xp.reshape(block, (-1,)), self._index(chosen, left))
            return
        top = 1 << (left - 1)
        for i in self._next(chosen, left):
            inside: dict[int, Any] = {}
            for subset, weight in weights.items():
                term = T[i, :] * weight if subset & top else weight
                rest = subset & ~top
                inside[rest] = inside[rest] + term if rest in inside else term
            yield from self._images(T, inside, (*chosen, i), left - 1)

    def _back_images(
        self, T: Array, vector: Array, chosen: tuple[int, ...], left: int, wanted: set[int]
    ) -> dict[int, Array]:
        """For each wanted set S of the last attributes, Σ over their choices of y times the product of S."""
        device = self.device
        first = chosen[-1] + 1 if self.tuples == "subsets" and chosen else 0
        if left <= 2:
            here = T[first:, :]
            return _back(device, self._spread(vector, chosen, left, here.shape[0]), here, wanted)
        top = 1 << (left - 1)
        total = {subset: device.zeros((T.shape[1],), vector.dtype) for subset in wanted}
        inside = {subset & ~top for subset in wanted}
        start = 0
        for i in self._next(chosen, left):
            stop = start + self._choices((*chosen, i), left - 1)
            found = self._back_images(T, vector[start:stop], (*chosen, i), left - 1, inside)
            for subset in wanted:
                part = found[subset & ~top]
                total[subset] += T[i, :] * part if subset & top else part
            start = stop
        return total

    def _spread(self, vector: Array, chosen: tuple[int, ...], left: int, size: int) -> Array:
        """The values at their indices in the block of all choices of the last attributes, zero elsewhere."""
        device = self.device
        xp = self.device.xp
        shape = (size,) * left
        if device is HOST:
            spread = np.zeros(size**left, dtype=vector.dtype)
            spread[self._positions(chosen, left)] = vector
            return spread.reshape(shape)
        padded = xp.concat([vector, device.zeros((1,), vector.dtype)])
        return xp.reshape(xp.take(padded, self._index(chosen, left, inverse=True)), shape)

    def _index(self, chosen: tuple[int, ...], left: int, *, inverse: bool = False) -> IntArray:
        """The indices of the rows in the block or, inverted, the row at each index (past the last: none)."""
        if self.device is HOST:
            return self._positions(chosen, left)
        key = (int(inverse), left, *chosen)
        if key not in self._indices:
            index = self._positions(chosen, left)
            if inverse:
                first = chosen[-1] + 1 if self.tuples == "subsets" and chosen else 0
                rows, index = index, np.full((self.factor.shape[0] - first) ** left, index.size)
                index[rows] = np.arange(rows.size)
            self._indices[key] = self.device.put(index)
        return self._indices[key]

    def _next(self, chosen: tuple[int, ...], left: int) -> list[int]:
        """The attributes that can come after those chosen when `left` are still to be chosen."""
        d = self.factor.shape[0]
        if self.tuples == "subsets":
            return list(range(chosen[-1] + 1 if chosen else 0, d - left + 1))
        return [i for i in range(d) if self.tuples == "all" or i not in chosen]

    def _choices(self, chosen: tuple[int, ...], left: int) -> int:
        """How many rows begin with those chosen."""
        d = self.factor.shape[0]
        if self.tuples == "subsets":
            return comb(d - chosen[-1] - 1, left)
        return d**left if self.tuples == "all" else perm(d - len(chosen), left)

    def _positions(self, chosen: tuple[int, ...], left: int) -> IntArray:
        """Where the rows lie in the block of all choices of the last one or two attributes."""
        d = self.factor.shape[0]
        if self.tuples == "subsets":
            size = d - (chosen[-1] + 1 if chosen else 0)
            return np.arange(size) if left == 1 else upper_triangle(size)
        if self.tuples == "all":
            return np.arange(d**left)
        allowed = np.ones((d,) * left, dtype=bool)
        if left == 2:
            np.fill_diagonal(allowed, False)
        for axis in range(left):
            np.moveaxis(allowed, axis, 0)[list(chosen)] = False
        return np.flatnonzero(allowed)

    def _row_blocks(self) -> Iterator[Array]:
        """The rows of the matrix, some at a time, from the function's values themselves."""
        bits = self._whole
        for chosen in in_chunks(_index_tuples(self.bits.shape[0], self.k, self.tuples), _ROWS):
            yield row_values(self.table, bits, chosen)


def row_values(table: npt.ArrayLike, bits: Array, chosen: IntArray) -> Array:
    """The rows of the matrix for chosen tuples of attributes (tuples × k), from the function's values.

    They have the number type of the bits if that holds the values without loss.
    """
    values = np.asarray(table, dtype=np.float64)
    if np.array_equal(values.astype(bits.dtype), values):
        values = values.astype(bits.dtype)
    code = np.zeros((chosen.shape[0], bits.shape[1]), dtype=np.uint8)
    for axis in range(chosen.shape[1]):
        code = 2 * code + bits[chosen[:, axis]].astype(np.uint8)
    return np.asarray(values[code])


def _check_table(table: npt.ArrayLike) -> npt.NDArray[np.float64]:
    array = np.asarray(table)
    if array.ndim != 1 or array.size not in (2, 4, 8, 16) or array.dtype.kind not in "biuf":
        raise invalid("table", "2, 4, 8 or 16 numbers, one per choice of bits", f"shape {array.shape}")
    values = array.astype(np.float64)
    if not np.isfinite(values).all():
        raise invalid("table", "finite numbers", table)
    return values


def _check_factor(factor: npt.ArrayLike | Packed) -> Array | Packed:
    if isinstance(factor, Packed):
        if (factor.low, factor.high) != (0.0, 1.0):
            raise invalid("factor", "bits (0 or 1)", f"packed {factor.low:g} and {factor.high:g}")
        return factor
    array = np.asarray(factor)
    if array.ndim != 2:
        raise invalid("factor", "two-dimensional (attributes × people)", array.shape)
    if array.dtype.kind not in "biuf" or not ((array == 0) | (array == 1)).all():
        raise invalid("factor", "bits (0 or 1)", f"an array of {array.dtype} with other values")
    return array if array.dtype.kind == "f" else array.astype(np.float64)


def _check_tuples(tuples: str, table: npt.NDArray[np.float64]) -> str:
    if tuples not in TUPLES:
        raise invalid("tuples", f"one of {', '.join(map(repr, TUPLES))}", tuples)
    ones = np.array([index.bit_count() for index in range(table.size)])
    symmetric = all(np.ptp(table[ones == count]) == 0 for count in range(int(ones[-1]) + 1))
    if tuples == "subsets" and not symmetric:
        raise invalid("tuples", "'ordered' or 'all' for a function that is not symmetric", tuples)
    if tuples == "distinct":
        return "subsets" if symmetric else "ordered"
    return tuples


def _count(d: int, k: int, tuples: str) -> int:
    if tuples == "subsets":
        return comb(d, k)
    return perm(d, k) if tuples == "ordered" else int(d**k)


def _index_tuples(d: int, k: int, tuples: str) -> Iterator[tuple[int, ...]]:
    if tuples == "subsets":
        return combinations(range(d), k)
    return permutations(range(d), k) if tuples == "ordered" else product(range(d), repeat=k)


def _shortest_polynomial(
    table: npt.NDArray[np.float64], bits: Array | Packed
) -> tuple[dict[int, float], Array | Packed]:
    """The polynomial of g with the fewest terms, by set of attributes, and the factor it is over."""
    k = table.size.bit_length() - 1
    signs = np.array([(-1) ** index.bit_count() for index in range(table.size)])
    in_ones = moebius(table)
    in_zeros = moebius(table[::-1])
    in_signs = signs * inner_products(table) / 2**k
    sizes = [int(np.count_nonzero(c)) for c in (in_ones, in_zeros, in_signs)]
    best = int(np.argmin(sizes))
    chosen = (in_ones, in_zeros, in_signs)[best]
    terms = {subset: float(c) for subset, c in enumerate(chosen) if c}
    if isinstance(bits, Packed):
        low, high = ((0.0, 1.0), (1.0, 0.0), (1.0, -1.0))[best]
        return terms, replace(bits, low=low, high=high)
    factor = (bits, 1 - bits, 1 - 2 * bits)[best] if best else bits
    return terms, factor.astype(bits.dtype, copy=False)


def _pair_image(device: Device, weights: dict[int, Array], T: Array) -> Array:
    """Σ_p (w_∅ + w_1 T_i + w_2 T_j + w_12 T_i T_j) for every i, j."""
    T, d = _like(device, T, weights), T.shape[0]
    block = (T * weights[3]) @ T.T if 3 in weights else device.zeros((d, d), T.dtype)
    if 2 in weights:
        block = block + (T @ weights[2])[:, None]
    if 1 in weights:
        block = block + (T @ weights[1])[None, :]
    return block + device.xp.sum(weights[0]) if 0 in weights else block


def _single_image(device: Device, weights: dict[int, Array], T: Array) -> Array:
    """Σ_p (w_∅ + w_1 T_i) for every i."""
    T = _like(device, T, weights)
    block = T @ weights[1] if 1 in weights else device.zeros((T.shape[0],), T.dtype)
    return block + device.xp.sum(weights[0]) if 0 in weights else block


def _like(device: Device, T: Array, weights: dict[int, Array]) -> Array:
    """The factor in the number type of the weights: libraries other than NumPy do not mix types."""
    return device.xp.astype(T, next(iter(weights.values())).dtype, copy=False) if weights else T


def _back(device: Device, spread: Array, T: Array, wanted: set[int]) -> dict[int, Array]:
    """Σ y T_S over the last one or two attributes, for each wanted set S of them."""
    xp = device.xp
    T = xp.astype(T, spread.dtype, copy=False)
    found: dict[int, Any] = {}
    if 0 in wanted:
        found[0] = device.zeros((T.shape[1],), spread.dtype) + xp.sum(spread)
    if spread.ndim == 1:
        if 1 in wanted:
            found[1] = T.T @ spread
        return found
    if 2 in wanted:
        found[2] = T.T @ xp.sum(spread, axis=1)
    if 1 in wanted:
        found[1] = T.T @ xp.sum(spread, axis=0)
    if 3 in wanted:
        found[3] = device.column_dots(spread @ T, T)
    return found
