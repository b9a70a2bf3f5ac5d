"""Moments: all products of `order` rows of a factor, never formed. Packed: a factor of bits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import combinations, islice
from math import comb
from typing import TYPE_CHECKING, Any, cast, final

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

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = [
    "Moments",
    "Packed",
    "gathered",
    "gram_of_rows",
    "in_chunks",
    "is_two_valued",
    "spread",
    "triples",
    "triples_transposed",
    "upper_triangle",
]

_MIDDLES = 4  # middle rows whose products share one matrix product
_NUMBERS = 2**18  # products of two rows held at once on the host
_BYTES = 16  # of a device's block of work for each such product

_WORK = 16  # bytes that a product needs for each entry of a block: the block, a multiple of it, an image
_WIDTH = 512  # a block's columns are a multiple of this

Part = tuple[int, int, Any]  # start, stop and the columns of the factor between


def gram_of_rows(blocks: Iterable[Array], weights: Array, n: int) -> Array:
    """Aᵀ diag(weights) A from the rows of A, some at a time."""
    total = np.zeros((n, n))
    start = 0
    for rows in blocks:
        total += rows.T @ (rows * weights[start : start + len(rows), None])
        start += len(rows)
    return total


def in_chunks(choices: Iterable[tuple[int, ...]], size: int) -> Iterator[IntArray]:
    """Index tuples as arrays, `size` of them at a time."""
    rest = iter(choices)
    while chunk := list(islice(rest, size)):
        yield np.array(chunk, dtype=np.intp)


def is_two_valued(array: npt.NDArray[Any]) -> bool:
    """Whether all entries are 0 or 1, or all −1 or 1."""
    return bool(((array == 0) | (array == 1)).all() or ((array == -1) | (array == 1)).all())


@final
@dataclass(frozen=True, eq=False)
class Packed:
    """A d × n matrix whose entries are ``low`` where a bit is 0 and ``high`` where it is 1.

    Parameters
    ----------
    bits
        d × ⌈n/8⌉ bytes as `numpy.packbits` makes them: the first column is the highest bit.
    columns
        n; further bits of the last byte are ignored.

    Notes
    -----
    d n / 8 bytes: a 32nd of single precision. A block is expanded by a table of the 256 bytes, in any number
    type; zero, one and minus one are exact in all of them.

    Examples
    --------
    >>> few = Packed.of([[1, -1, 1], [-1, -1, 1]])
    >>> few.shape, few.block(0, 3, np.float32).tolist()
    ((2, 3), [[1.0, -1.0, 1.0], [-1.0, -1.0, 1.0]])
    """

    bits: Any
    columns: int
    low: float = 0.0
    high: float = 1.0
    device: Device = HOST

    def __post_init__(self) -> None:
        if len(self.bits.shape) != 2 or self.bits.shape[1] != -(-self.columns // 8):
            raise invalid("bits", f"of {-(-self.columns // 8)} bytes per row", tuple(self.bits.shape))

    @classmethod
    def of(cls, matrix: npt.ArrayLike) -> Packed:
        """A matrix of zeros and ones, or of minus ones and ones, packed."""
        array = np.asarray(matrix)
        signs = bool((array < 0).any())
        if array.ndim != 2 or not is_two_valued(array):
            raise invalid(
                "matrix", "two-dimensional, of 0 and 1 or of −1 and 1", f"{array.dtype} {array.shape}"
            )
        return cls(np.packbits(array > 0, axis=1), array.shape[1], -1.0 if signs else 0.0)

    @classmethod
    def ones(cls, rows: int, columns: int, device: Device = HOST) -> Packed:
        """A matrix of ones."""
        return cls(device.put(np.zeros((rows, -(-columns // 8)), np.uint8)), columns, 1.0, 1.0, device)

    @property
    def constant(self) -> bool:
        """Whether all entries are the same, whatever the bits."""
        return self.low == self.high

    @property
    def shape(self) -> tuple[int, int]:
        """d, n."""
        return (self.bits.shape[0], self.columns)

    def on(self, device: Device) -> Packed:
        """The same on another device."""
        return replace(self, bits=device.put(self.bits), device=device)

    def squared(self) -> Packed:
        """The matrix of squares."""
        return replace(self, low=self.low**2, high=self.high**2)

    def take(self, columns: IntArray) -> Packed:
        """These columns, in this order."""
        wanted = np.asarray(columns)
        kept = np.empty((self.shape[0], -(-wanted.size // 8)), dtype=np.uint8)
        for row, bits in zip(kept, self.device.get(self.bits), strict=True):
            row[:] = np.packbits(np.unpackbits(bits, count=self.columns)[wanted])
        return replace(self, bits=self.device.put(kept), columns=wanted.size)

    def block(self, start: int, stop: int, dtype: NumberType) -> Array:
        """Columns from start, a multiple of 8, to stop."""
        xp = self.device.xp
        first = start // 8
        last = -(-stop // 8)
        codes = xp.reshape(self.bits[:, first:last], (-1,))
        expanded = self.device.take_rows(self._table(dtype), codes)
        return xp.reshape(expanded, (self.bits.shape[0], 8 * (last - first)))[:, : stop - start]

    def blocks(self, dtype: NumberType, *, most: int | None = None) -> Iterator[tuple[int, int, Array]]:
        """Start, stop and the columns between, as many at a time as the device has room for."""
        room = self.device.block // (_WORK * max(1, self.shape[0])) if most is None else most
        width = max(_WIDTH, room // _WIDTH * _WIDTH)
        for start in range(0, self.columns, width):
            stop = min(start + width, self.columns)
            yield start, stop, self.block(start, stop, dtype)

    def _table(self, dtype: NumberType) -> Array:
        tables = self._tables
        if dtype not in tables:
            bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1)
            values = np.where(bits == 1, self.high, self.low).astype(np.float32)
            tables[dtype] = self.device.xp.astype(self.device.put(values), dtype)
        return tables[dtype]

    @cached_property
    def _tables(self) -> dict[NumberType, Array]:
        return {}


@dataclass(frozen=True, eq=False)
class _Block:
    """The triples i < j < k whose middle row j lies in a block: pairs (i, j) by rows k.

    Attributes
    ----------
    after
        The first row that can be k, one beyond the block's first row.
    middles
        Each j with the index of its first pair (0, j) among the block's pairs.
    index
        For each pair (i, j) and each k from `after` on, the triple's index in lexicographic order; the
        number of all triples if k ≤ j.
    """

    after: int
    middles: tuple[tuple[int, int], ...]
    index: IntArray


def triples(device: Device, d: int, s: Array, parts: Iterable[Part], order: IntArray) -> Array:
    """Σ_p T[i,p] T[j,p] T[k,p] s[p] for i < j < k, lexicographic.

    Parameters
    ----------
    s
        In the number type of the result.
    parts
        The factor T, some columns at a time, in the type of s or in the device's narrow one.
    order
        `gathered`, on that device.

    Notes
    -----
    For every middle row j, (T[:j] * T[j] s) @ T[j+1:].T: d³ n / 3 flops, each triple once, and some entries
    with k ≤ j within a block of four js.
    """
    xp = device.xp
    blocks = _blocks(d)
    totals = [device.zeros(block.index.shape, s.dtype) for block in blocks]
    for start, T in _people(device, parts):
        for weights in device.parts(s[start : start + T.shape[1]], T.dtype):
            scaled = T * weights
            for block, total in zip(blocks, totals, strict=True):
                total += device.product(_pairs(device, block, T, scaled), T[block.after :, :].T)
    flat = [device.zeros((0,), s.dtype), *(xp.reshape(total, (-1,)) for total in totals)]
    return xp.take(xp.concat(flat), order)


def triples_transposed(
    device: Device, d: int, y: Array, parts: Iterable[Part], order: IntArray, work: NumberType
) -> Array:
    """Σ_{i<j<k} y[i,j,k] T[i,p] T[j,p] T[k,p] for every p.

    Like `triples`, but y has the type of the result, the parts have type `work`, and `order` is `spread`.
    """
    xp = device.xp
    blocks = _blocks(d)
    values = xp.take(xp.concat([y, device.zeros((1,), y.dtype)]), order)
    weights = []
    start = 0
    for block in blocks:
        size = block.index.size
        weights.append(device.parts(xp.reshape(values[start : start + size], block.index.shape), work))
        start += size
    out = [device.zeros((0,), y.dtype)]
    for _, T in _people(device, parts):
        total = device.zeros((T.shape[1],), y.dtype)
        for block, known in zip(blocks, weights, strict=True):
            pairs = device.product(known[0], T[block.after :, :])
            for more in known[1:]:
                pairs += device.product(more, T[block.after :, :])
            for j, first in block.middles:
                total += T[j, :] * device.column_dots(pairs[first : first + j, :], T[:j, :])
        out.append(total)
    return xp.concat(out)


def _pairs(device: Device, block: _Block, T: Array, scaled: Array) -> Array:
    """T[i] scaled[j] for every pair of a block."""
    if device is not HOST:
        return device.xp.concat([T[:j, :] * scaled[j, :] for j, _ in block.middles])
    out = np.empty((block.index.shape[0], T.shape[1]), dtype=T.dtype)
    for j, first in block.middles:
        np.multiply(T[:j], scaled[j], out=out[first : first + j])
    return out


def _people(device: Device, parts: Iterable[Part]) -> Iterator[tuple[int, Array]]:
    """The factor's columns, as many at a time as there is room for the products of a block's pairs."""
    for start, stop, T in parts:
        width = _width(device, T.shape[0])
        count = stop - start
        for first in range(0, count, width):
            part = T[:, first : min(first + width, count)]
            yield start + first, np.ascontiguousarray(part) if device is HOST else part


def _width(device: Device, d: int) -> int:
    numbers = _NUMBERS if device is HOST else device.block // _BYTES
    return max(128, numbers // (_MIDDLES * max(d, 1)) // 64 * 64)


@lru_cache(maxsize=2)
def spread(d: int) -> IntArray:
    """For every entry of the blocks in turn, the index of its triple; the number of triples if none."""
    return np.concatenate([np.zeros(0, dtype=np.intp), *(block.index.ravel() for block in _blocks(d))])


@lru_cache(maxsize=2)
def gathered(d: int) -> IntArray:
    """For every triple its index in the entries of the blocks, one block after the other."""
    out = np.empty(comb(d, 3) + 1, dtype=np.intp)
    out[spread(d)] = np.arange(spread(d).size)
    return out[:-1]


@lru_cache(maxsize=2)
def _blocks(d: int) -> tuple[_Block, ...]:
    firsts, middles = np.triu_indices(d, 1)
    runs = d - 1 - middles
    start = np.zeros((d, d), dtype=np.intp)
    start[firsts, middles] = np.cumsum(runs) - runs  # where the run of ks of a pair begins
    out = []
    for low in range(1, d - 1, _MIDDLES):
        js = np.arange(low, min(low + _MIDDLES, d - 1))
        pair_j = np.repeat(js, js)
        pair_i = np.concatenate([np.arange(j) for j in js])
        beyond = np.arange(low + 1, d) - pair_j[:, None] - 1
        index = np.where(beyond < 0, comb(d, 3), start[pair_i, pair_j][:, None] + beyond)
        firsts_at = np.cumsum(js) - js
        out.append(_Block(low + 1, tuple(zip(js.tolist(), firsts_at.tolist(), strict=True)), index))
    return tuple(out)


_ROWS = 4096  # rows formed at once where a weighted gram has no closed form


@final
class Moments(LinearOperator):
    """One row per choice of `order` distinct rows of the factor T: their entrywise product.

    For T of shape d × n and order 2 the matrix is ``A[(i, j), p] = T[i, p] * T[j, p]``, i < j, rows in
    lexicographic order; orders 1 to 3.

    Notes
    -----
    A s is read off ``(T * s) @ T.T`` and Aᵀ y is ``sum((Y @ T) * T, axis=0)``, Y the upper triangle filled
    with y: two matrix products, O(d^order n) flops, O(n d + d²) memory, instead of C(d, order) × n entries.
    Order 3 does the same for the products of two rows with the rows after them: see `triples`.
    A packed factor takes n d / 8 bytes and is expanded in blocks of columns.
    Entry (a, b) of the gram is the elementary symmetric polynomial of the numbers T[i, a] T[i, b], which
    Newton's identities give from the power sums P_j = (T^j)ᵀ (T^j):
    e1 = P1, e2 = (P1² − P2)/2, e3 = (P1³ − 3 P1 P2 + 2 P3)/6. For ±1 rows e2 = (G² − d)/2 with G = TᵀT.
    These are the row-product matrices of the linear-reconstruction paper (Sec. 3), on distinct index sets.
    """

    def __init__(self, factor: npt.ArrayLike | Packed, order: int, *, device: Device = HOST) -> None:
        if order not in (1, 2, 3):
            raise invalid("order", "1, 2 or 3", order)
        self.factor: Any = factor
        self.device = device
        if isinstance(factor, Packed):
            self.device = factor.device
            self.dtype = np.dtype(np.float32)
        elif device is HOST:
            array = np.asarray(factor)
            if array.ndim != 2:
                raise invalid("factor", "two-dimensional (attributes × people)", array.shape)
            self.factor = array if array.dtype.kind == "f" else array.astype(np.float64)
            self.dtype = self.factor.dtype
        else:
            self.dtype = device.numpy_dtype(cast("Array", factor))
        self.order = order
        self.shape = (comb(self.factor.shape[0], order), self.factor.shape[1])
        self._indices: dict[tuple[str, int], IntArray] = {}

    def matmat(self, block: Array) -> Array:
        return stack_columns(self.device, self._image, block, self.shape[0])

    def rmatmat(self, block: Array) -> Array:
        return stack_columns(self.device, self._back_image, block, self.shape[1])

    def matvec(self, vector: Array) -> Array:
        return self._image(vector)

    def rmatvec(self, vector: Array) -> Array:
        return self._back_image(vector)

    def gram(self, weights: Array | None = None) -> Array:
        scale = self._common_weight(weights)
        if scale is not None:
            return scale * _elementary_symmetric(self._whole(), self.order)
        assert weights is not None
        return gram_of_rows(self._row_blocks(), weights, self.shape[1])

    def take(self, columns: IntArray) -> LinearOperator:
        if isinstance(self.factor, Packed):
            if 2 * len(columns) > self.shape[1]:  # bits are slower to reorder than a vector
                return RowSelect(self.T, columns).T
            return Moments(self.factor.take(columns), self.order)
        kept = self.device.xp.take(self.factor, self.device.put(columns), axis=1)
        return Moments(kept, self.order, device=self.device)

    def squared(self) -> Moments:
        if isinstance(self.factor, Packed):
            return Moments(self.factor.squared(), self.order)
        square = self.factor**2
        if bool(self.device.xp.all(square == 1)):  # the factor is ±1: products are sums
            d, n = self.factor.shape
            return Moments(Packed.ones(d, n, self.device), self.order)
        return Moments(square, self.order, device=self.device)

    def on(self, device: Device) -> Moments:
        factor = self.factor
        if not isinstance(factor, Packed) and is_two_valued(factor):
            factor = Packed.of(factor)
        moved = factor.on(device) if isinstance(factor, Packed) else device.put(factor)
        return Moments(moved, self.order, device=device)

    @cached_property
    def _ones(self) -> IntArray | None:
        """For each person the rows in which a 0/1 factor is one, if everybody has equally many; else None.

        Indicators of the values of columns are such a factor, with a one for every column.
        """
        T = self.factor
        if not isinstance(T, np.ndarray) or not T.size:
            return None
        there = T != 0
        count = there.sum(axis=0)
        if (count != count[0]).any() or (T[there] != 1).any():
            return None
        return np.nonzero(there.T)[1].reshape(T.shape[1], -1).T

    @property
    def entries(self) -> int:
        m, n = self.shape
        return m * n if self._ones is None else comb(len(self._ones), self.order) * n

    def to_sparse(self) -> csr_array:
        from scipy.sparse import csr_array

        m, n = self.shape
        if self._ones is None or 2 * self.entries > m * n:
            return super().to_sparse()
        found = list(combinations(range(len(self._ones)), self.order))
        choices = np.array(found, dtype=np.intp).reshape(-1, self.order)
        rows = subset_rank(np.moveaxis(self._ones[choices], 1, -1), self.factor.shape[0])
        people = np.broadcast_to(np.arange(n), rows.shape)
        return csr_array((np.ones(rows.size), (rows.ravel(), people.ravel())), shape=self.shape)

    def to_dense(self) -> Array:
        blocks = list(self._row_blocks())
        return np.concatenate(blocks) if blocks else np.zeros(self.shape, dtype=self.dtype)

    def _whole(self) -> Array:
        if isinstance(self.factor, Packed):
            return self.factor.block(0, self.shape[1], self.device.dtype(self.dtype))
        whole: Array = self.factor
        return whole

    def _work_dtype(self, dtype: NumberType) -> NumberType:
        """The number type of the factor in products with vectors of that type."""
        narrow = self.device.narrow
        if narrow is None or dtype != self.device.xp.float32 or not isinstance(self.factor, Packed):
            return dtype
        return narrow

    def _pair_dtype(self, dtype: NumberType) -> NumberType:
        """The same for sums over pairs, where double precision is split into three narrow parts."""
        narrow = self.device.narrow
        return dtype if narrow is None or not isinstance(self.factor, Packed) else narrow

    def _blocks(self, dtype: NumberType) -> Iterator[tuple[int, int, Array]]:
        """Start, stop and the factor's columns between, in that number type."""
        if isinstance(self.factor, Packed):
            yield from self.factor.blocks(dtype)
        else:
            whole = self.factor if self.factor.dtype == dtype else self.device.xp.astype(self.factor, dtype)
            yield 0, self.shape[1], whole

    def _image(self, vector: Array) -> Array:
        device = self.device
        xp = self.device.xp
        d = self.factor.shape[0]
        vector = xp.astype(vector, xp.result_type(vector.dtype, device.dtype(self.dtype)), copy=False)
        if self._entry is not None:
            return device.zeros((self.shape[0],), vector.dtype) + self._entry * xp.sum(vector)
        if self.order == 2:
            total = device.zeros((d, d), vector.dtype)
            # sums over a block's people are single, the sum over blocks has the vector's precision
            parts = device.parts(vector, self._pair_dtype(vector.dtype))
            for start, stop, T in self._blocks(self._pair_dtype(vector.dtype)):
                _add_pairs(device, total, T, [part[start:stop] for part in parts])
            return xp.take(xp.reshape(total, (-1,)), self._upper(d))
        blocks = self._blocks(self._work_dtype(vector.dtype))
        if self.order == 3:
            return triples(device, d, vector, blocks, self._index("triples", d, gathered))
        total = device.zeros((d,), vector.dtype)
        for start, stop, T in blocks:
            total += device.thin_product(T, vector[start:stop])
        return total

    def _back_image(self, vector: Array) -> Array:
        device = self.device
        xp = self.device.xp
        d = self.factor.shape[0]
        vector = xp.astype(vector, xp.result_type(vector.dtype, device.dtype(self.dtype)), copy=False)
        if self._entry is not None:
            return device.zeros((self.shape[1],), vector.dtype) + self._entry * xp.sum(vector)
        work = self._work_dtype(vector.dtype)
        blocks = self._blocks(work)
        if self.order == 3:
            order = self._index("spread triples", d, spread)
            return triples_transposed(device, d, vector, blocks, order, work)
        out = [device.zeros((0,), vector.dtype)]
        pairs = device.parts(self._spread(d, vector), work) if self.order == 2 else []
        for _, _, T in blocks:
            if self.order == 1:
                out.append(device.thin_product(T.T, vector))
            else:
                out.append(_pairs_transposed(device, T, pairs))
        return xp.concat(out) if len(out) > 2 else out[-1]

    @property
    def _entry(self) -> float | None:
        """The common entry of a matrix whose entries are all the same, else None."""
        packed = isinstance(self.factor, Packed) and self.factor.constant
        return self.factor.low**self.order if packed else None

    def _upper(self, d: int) -> IntArray:
        """The flat indices of i < j in a d × d matrix."""
        return self._index("upper", d, upper_triangle)

    def _spread(self, d: int, vector: Array) -> Array:
        """The d × d matrix with the vector above its diagonal and zeros elsewhere."""
        device = self.device
        xp = self.device.xp
        if device is HOST:
            upper = np.zeros(d * d, dtype=vector.dtype)
            upper[upper_triangle(d)] = vector
            return upper.reshape(d, d)
        padded = xp.concat([vector, device.zeros((1,), vector.dtype)])
        return xp.reshape(xp.take(padded, self._index("spread", d, _spread_triangle)), (d, d))

    def _index(self, name: str, d: int, make: Callable[[int], IntArray]) -> IntArray:
        if self.device is HOST:
            return make(d)
        if (name, d) not in self._indices:
            self._indices[name, d] = self.device.put(make(d))
        return self._indices[name, d]

    def _common_weight(self, weights: Array | None) -> float | None:
        """The common weight of all nonzero rows, or None if the weights differ."""
        if weights is None:
            return 1.0
        active = self.squared().matvec(np.ones(self.shape[1], dtype=self.dtype)) > 0
        used = weights[active]
        if used.size == 0:
            return 0.0
        return float(used[0]) if np.all(used == used[0]) else None

    def _row_blocks(self) -> Iterator[Array]:
        """The rows of the matrix, some thousand at a time."""
        factor = self._whole()
        for chosen in in_chunks(combinations(range(factor.shape[0]), self.order), _ROWS):
            yield factor[chosen].prod(axis=1)


def _add_pairs(device: Device, total: Array, T: Array, parts: list[Array]) -> None:
    """Adds Σ_p T[i,p] T[j,p] s[p] to total[i, j] for i ≤ j, where s is the sum of its parts.

    Half of a symmetric product is redundant: a panel of rows is multiplied with the rows from its first on.
    Below the diagonal only the panel's own square is computed.
    """
    for i, j in _panels(T.shape[0], device.panel):
        rows = T[i:j, :]
        others = T[i:, :].T
        for part in parts:
            total[i:j, i:] += device.product(rows * part, others)


def _pairs_transposed(device: Device, T: Array, parts: list[Array]) -> Array:
    """Σ_{i<j} Y[i,j] T[i,p] T[j,p] for every p; the parts of Y have zeros on and below the diagonal."""
    total: Array | None = None
    for i, j in _panels(T.shape[0], device.panel):
        found = device.product(parts[0][i:j, i:], T[i:, :])
        for part in parts[1:]:
            found += device.product(part[i:j, i:], T[i:, :])
        dots = device.column_dots(found, T[i:j, :])
        total = dots if total is None else total + dots
    assert total is not None
    return total


def _panels(rows: int, height: int) -> list[tuple[int, int]]:
    return [(first, min(first + height, rows)) for first in range(0, max(rows, 1), height)]


def subset_rank(index: IntArray, total: int) -> IntArray:
    """The index of each choice i < j < … of up to three factor rows (last axis) among all of that size."""
    order = index.shape[-1]
    if order < 2:
        return np.asarray(index.sum(axis=-1, dtype=np.intp))
    last = _pair_rank(index[..., -2], index[..., -1], total)
    if order == 2:
        return last
    first = index[..., 0]
    rest = index[..., 1:] - index[..., :1] - 1
    left = total - first
    before = comb(total, 3) - left * (left - 1) * (left - 2) // 6
    return before + _pair_rank(rest[..., 0], rest[..., 1], left - 1)


def _pair_rank(i: IntArray, j: IntArray, total: IntArray | int) -> IntArray:
    return i * (2 * total - i - 1) // 2 + (j - i - 1)


@lru_cache(maxsize=256)
def upper_triangle(d: int) -> IntArray:
    """The flat indices of i < j in a d × d matrix."""
    return np.flatnonzero(np.triu(np.ones((d, d), dtype=bool), 1))


def _spread_triangle(d: int) -> IntArray:
    """For each flat index of a d × d matrix the number of its pair i < j, or the number of pairs."""
    out = np.full(d * d, comb(d, 2), dtype=np.intp)
    out[upper_triangle(d)] = np.arange(comb(d, 2))
    return out


def _elementary_symmetric(T: Array, order: int) -> Array:
    """The elementary symmetric polynomial of T[i, a] T[i, b] over i, for every a and b."""
    p1: Array
    p2: Array | float
    if is_two_valued(T):  # power sums are whole numbers, exact in any precision, and powers of T are T or 1
        p1 = p3 = (T.T @ T).astype(np.float64)
        p2 = float(T.shape[0]) if (T < 0).any() else p1
    else:
        first, second, third = (T.astype(np.float64) ** power for power in (1, 2, 3))
        p1 = first.T @ first
        p2 = second.T @ second
        p3 = third.T @ third
    if order == 1:
        return p1
    if order == 2:
        return (p1 * p1 - p2) / 2
    return (p1 * (p1 * p1 - 3 * p2) + 2 * p3) / 6
