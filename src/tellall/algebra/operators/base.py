"""LinearOperator: a matrix known by its products. Device: where these are computed."""

from __future__ import annotations

import re
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Any, final

import numpy as np
import numpy.typing as npt

from tellall.core.errors import TellallError, invalid
from tellall.core.memory import free_on_host

__all__ = [
    "HOST",
    "Array",
    "Dense",
    "Device",
    "IntArray",
    "LinearOperator",
    "Packed",
    "find_device",
    "gram_of_rows",
    "in_chunks",
    "is_two_valued",
    "split_rows",
    "stack_columns",
    "written_out",
]

Array = npt.NDArray[np.floating[Any]]
IntArray = npt.NDArray[np.integer[Any]]

_BLOCK = 1024  # columns of the identity multiplied at once where no closed form exists
_HOST_BLOCK = 1 << 26  # bytes of a block of work on the host, which suits its caches
_DEVICE_BLOCK = 1 << 33  # and on a device, where larger blocks are no faster
_WORK = 16  # bytes that a product needs for each entry of a block: the block, a multiple of it, an image
_WIDTH = 512  # a block's columns are a multiple of this
_SMALL = 2**20  # entries up to which a product with the matrix is quicker than one with its structure


@final
@dataclass(frozen=True, eq=False)
class Device:
    """A device and the array library (array API standard) that computes on it.

    Attributes
    ----------
    name
        "cpu", or the device's name.
    xp
        The namespace: NumPy, or another library (or NumPy before 2.1) through array-api-compat.
    handle
        What the namespace calls the device.
    narrow
        A number type of half the width of single precision whose products are summed in single precision,
        if the device has such products.
    panel
        Rows of a symmetric product computed at once; below the diagonal only their own square is computed.
    home
        What the namespace calls the host.
    """

    name: str
    xp: Any
    handle: Any = None
    narrow: Any = None
    panel: int = 128
    home: Any = "cpu"

    def put(self, array: Any) -> Any:
        """The same numbers on this device; a single number needs no move."""
        if self.xp is HOST.xp or isinstance(array, float):
            return array
        return self.xp.asarray(np.require(array, requirements=["C", "W"]), device=self.handle)

    def get(self, array: Any) -> Any:
        """The same numbers as a NumPy array."""
        if self.xp is HOST.xp or isinstance(array, float | np.ndarray):
            return array
        from array_api_compat import to_device

        return np.asarray(to_device(array, self.home))

    def dtype(self, kind: Any) -> Any:
        """What this library calls a NumPy number type."""
        return getattr(self.xp, np.dtype(kind).name)

    def numpy_dtype(self, array: Any) -> np.dtype[Any]:
        """What NumPy calls the number type of an array of this device."""
        return np.dtype(str(array.dtype).rpartition(".")[2])

    def zeros(self, shape: Any, dtype: Any) -> Any:
        """Zeros on this device."""
        return self.xp.zeros(shape, dtype=dtype, device=self.handle)

    def parts(self, array: Any, dtype: Any) -> list[Any]:
        """Arrays of that type that add up to the array.

        In a narrow type, two are within a 2⁻¹⁶th of a number in single precision, and three within a
        2⁻²⁴th of one in double precision; whole numbers up to 256, and results of `rounded`, take one.
        """
        if array.dtype == dtype:
            return [array]
        if dtype != self.narrow:
            return [self.xp.astype(array, dtype)]
        found, rest = [self.xp.astype(array, dtype)], array
        for _ in range(1 if array.dtype == self.xp.float32 else 2):
            rest = rest - self.xp.astype(found[-1], array.dtype)
            if not bool(self.xp.any(rest != 0)):
                break
            found.append(self.xp.astype(rest, dtype))
        return found

    def rounded(self, array: Any) -> Any:
        """Numbers within a 2⁻⁹th of these whose products take half the time, if there is a narrow type."""
        if self.narrow is None:
            return array
        return self.xp.astype(self.xp.astype(array, self.narrow), array.dtype)

    @contextmanager
    def short_of_memory(self) -> Iterator[None]:
        """Turns the libraries' out-of-memory errors into MemoryError."""
        try:
            yield
        except Exception as error:
            if type(error).__name__ in ("OutOfMemoryError", "AcceleratorError") and self.name != "cpu":
                raise MemoryError(f"too little memory on {self.name}") from error
            raise

    def product(self, left: Any, right: Any) -> Any:
        """The matrix product; in single precision if the factors are narrow."""
        if self.narrow is None or left.dtype != self.narrow:
            return left @ right
        if not self.name.startswith("cuda"):  # without such products: the same numbers, slower
            return self.xp.astype(left, self.xp.float32) @ self.xp.astype(right, self.xp.float32)
        import torch

        return torch.mm(left, right, out_dtype=torch.float32)

    def take_rows(self, table: Any, index: Any) -> Any:
        """Rows of a table by their numbers."""
        index = self.xp.astype(index, self.xp.int32)
        if self.narrow is None or table.dtype != self.narrow or table.shape[1] != 8:
            return self.xp.take(table, index, axis=0)
        # eight narrow numbers are the sixteen bytes of one complex number, which is fetched 70 times faster
        import torch

        return torch.index_select(table.view(torch.complex128)[:, 0], 0, index).view(table.dtype)

    def thin_product(self, matrix: Any, vector: Any) -> Any:
        """A matrix times a vector, in the vector's precision."""
        parts = self.parts(vector, matrix.dtype)
        found = self.product(matrix, parts[0][:, None])[:, 0]
        for part in parts[1:]:
            found = found + self.product(matrix, part[:, None])[:, 0]
        return found

    def column_dots(self, left: Any, right: Any) -> Any:
        """Σ_i left[i, p] right[i, p] for every p."""
        if self.xp is HOST.xp:
            return np.einsum("ip,ip->p", left, right)
        return self.xp.sum(left * right, axis=0)

    @property
    def block(self) -> int:
        """The size of a block of work in bytes: a fast one, at most a quarter of the free memory."""
        if not self.name.startswith("cuda"):
            return _HOST_BLOCK
        return min(_DEVICE_BLOCK, self.free_memory // 4)

    @property
    def free_memory(self) -> int:
        """Bytes that are free on the device, or on the host."""
        if not self.name.startswith("cuda"):
            return free_on_host()
        cuda = self.xp.cuda
        free = cuda.mem_get_info(self.handle) if hasattr(cuda, "mem_get_info") else self.handle.mem_info
        return int(free[0])


def _host_namespace() -> Any:
    """NumPy; before 2.1, which lacks some of the standard's names, through array-api-compat."""
    if hasattr(np, "astype"):
        return np
    import array_api_compat.numpy

    return array_api_compat.numpy


HOST = Device("cpu", _host_namespace())


def find_device(name: str) -> Device:
    """The device of that name, "cpu", "cuda" or "cuda:1"; if it is missing, the host with a warning."""
    if not isinstance(name, str) or not re.fullmatch(r"cpu|cuda(:\d+)?", name):
        raise invalid("device", "'cpu', 'cuda', 'cuda:0', 'cuda:1', ...", name)
    if name == "cpu":
        return HOST
    device, reason = _torch(name)
    if device is None and reason == "":
        device, reason = _cupy(name)
    if device is None:
        warnings.warn(f"{reason}; running on the CPU instead", RuntimeWarning, stacklevel=2)
        return HOST
    return device


def _torch(name: str) -> tuple[Device | None, str]:
    try:
        import torch
        from array_api_compat import torch as namespace
    except ImportError:
        return None, ""
    index = int(name.partition(":")[2] or 0)
    if not torch.cuda.is_available() or torch.cuda.device_count() <= index:
        return None, f"device={name!r}: PyTorch sees no such CUDA device on this machine"
    return Device(name, namespace, torch.device("cuda", index), narrow=torch.bfloat16, panel=512), ""


def _cupy(name: str) -> tuple[Device | None, str]:
    try:
        import cupy
        from array_api_compat import cupy as namespace
    except ImportError:
        return None, f"device={name!r} needs PyTorch or CuPy with CUDA: pip install 'tellall[gpu]'"
    index = int(name.partition(":")[2] or 0)
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError:  # no driver
        count = 0
    if count <= index:
        return None, f"device={name!r}: CuPy sees no such CUDA device on this machine"
    return Device(name, namespace, cupy.cuda.Device(index), panel=512), ""


class LinearOperator(ABC):
    """An m × n matrix A given by its products.

    A subclass supplies ``shape``, ``matmat``, ``rmatmat``, ``take`` and ``squared``. The rest is derived;
    override it where a closed form is faster.

    Notes
    -----
    Laws, checked by `check_operator`: ⟨A u, v⟩ = ⟨u, Aᵀ v⟩, and every method equals
    the same operation on ``to_dense()``.
    """

    shape: tuple[int, int]
    dtype: np.dtype[Any] = np.dtype(np.float64)
    device: Device = HOST  # where the arrays of its products are

    @abstractmethod
    def matmat(self, block: Array) -> Array:
        """A X for an n × c block X."""

    @abstractmethod
    def rmatmat(self, block: Array) -> Array:
        """Aᵀ Y for an m × c block Y."""

    @abstractmethod
    def take(self, columns: IntArray) -> LinearOperator:
        """The operator with only these columns, in this order."""

    @abstractmethod
    def squared(self) -> LinearOperator:
        """The operator whose entries are the squares of this one's."""

    def on(self, device: Device) -> LinearOperator:
        """The same operator on arrays of another device, if it has a form there."""
        raise TellallError(f"{type(self).__name__} equations are not implemented on {device.name}")

    @property
    def entries(self) -> int:
        """An upper bound on the number of nonzero entries, without writing them down."""
        return self.shape[0] * self.shape[1]

    @property
    def resident(self) -> LinearOperator:
        """The operator on arrays of the device that does its work: itself, unless it is `OnDevice`."""
        return self

    def matvec(self, vector: Array) -> Array:
        """A x."""
        return self.matmat(vector[:, None])[:, 0]

    def rmatvec(self, vector: Array) -> Array:
        """Aᵀ y."""
        return self.rmatmat(vector[:, None])[:, 0]

    def gram(self, weights: Array | None = None) -> Array:
        """Aᵀ diag(weights) A as an n × n array in double precision (weights are one by default).

        Single precision would cost the solvers as many digits as the condition number has, for no gain:
        factorising the matrix takes longer than forming it.
        """
        n = self.shape[1]
        out = np.empty((n, n))
        for start in range(0, n, _BLOCK):
            stop = min(start + _BLOCK, n)
            image = self.matmat(np.eye(n, stop - start, -start))
            out[:, start:stop] = self.rmatmat(image if weights is None else image * weights[:, None])
        return out

    def to_dense(self) -> Array:
        """The matrix itself, without loss of digits; only for small problems and tests."""
        m, n = self.shape
        if m < n:  # a third, say, is not the same number in single precision
            return np.ascontiguousarray(self.rmatmat(np.eye(m)).T)
        return self.matmat(np.eye(n))

    def to_sparse(self) -> Any:
        """The matrix as a scipy CSR array."""
        from scipy.sparse import csr_array

        return csr_array(self.to_dense())

    @property
    def T(self) -> LinearOperator:
        """Aᵀ."""
        return Transposed(self)

    def __matmul__(self, other: npt.ArrayLike) -> Array:
        block = np.asarray(other)
        if block.dtype.kind not in "fiub":
            raise invalid("right-hand side", "an array of numbers", block.dtype)
        if block.ndim not in (1, 2) or block.shape[0] != self.shape[1]:
            raise invalid(
                "right-hand side", f"of length {self.shape[1]}, the operator's columns", block.shape
            )
        if block.dtype.kind != "f":
            block = block.astype(np.float64)
        return self.matvec(block) if block.ndim == 1 else self.matmat(block)


def stack_columns(device: Device, product: Callable[[Array], Array], block: Array, rows: int) -> Array:
    """A product with each column of a block on that device, side by side."""
    columns = [product(block[:, c])[:, None] for c in range(block.shape[1])]
    nothing = device.zeros((rows, 0), block.dtype)
    out: Array = device.xp.concat(columns, axis=1) if columns else nothing
    return out


def split_rows(rows: Any, operators: Sequence[LinearOperator]) -> list[Any]:
    """Splits rows among operators whose rows come one after the other; None gives None for each."""
    if rows is None:
        return [None] * len(operators)
    ends = np.cumsum([operator.shape[0] for operator in operators])
    return [rows[end - operator.shape[0] : end, ...] for end, operator in zip(ends, operators, strict=True)]


def gram_of_rows(blocks: Iterable[Array], weights: Array, n: int) -> Array:
    """Aᵀ diag(weights) A from the rows of A, some at a time."""
    total, start = np.zeros((n, n)), 0
    for rows in blocks:
        total += rows.T @ (rows * weights[start : start + len(rows), None])
        start += len(rows)
    return total


def in_chunks(choices: Iterable[tuple[int, ...]], size: int) -> Iterator[IntArray]:
    """Index tuples as arrays, `size` of them at a time."""
    rest = iter(choices)
    while chunk := list(islice(rest, size)):
        yield np.array(chunk, dtype=np.intp)


@final
class Transposed(LinearOperator):
    """Aᵀ of an operator A."""

    def __init__(self, operator: LinearOperator) -> None:
        self.operator = operator
        self.shape = (operator.shape[1], operator.shape[0])
        self.dtype, self.device = operator.dtype, operator.device

    def matmat(self, block: Array) -> Array:
        return self.operator.rmatmat(block)

    def rmatmat(self, block: Array) -> Array:
        return self.operator.matmat(block)

    def take(self, columns: IntArray) -> LinearOperator:
        from tellall.algebra.operators.compose import RowSelect

        return RowSelect(self.operator, columns).T

    def squared(self) -> LinearOperator:
        return Transposed(self.operator.squared())

    def on(self, device: Device) -> LinearOperator:
        return Transposed(self.operator.on(device))

    @property
    def T(self) -> LinearOperator:
        return self.operator


def is_two_valued(array: npt.NDArray[Any]) -> bool:
    """Whether all entries are 0 or 1, or all −1 or 1."""
    return bool(((array == 0) | (array == 1)).all() or ((array == -1) | (array == 1)).all())


@final
class Dense(LinearOperator):
    """The operator of an explicit m × n matrix."""

    def __init__(self, matrix: npt.ArrayLike, *, device: Device = HOST) -> None:
        self.device = device
        self.matrix: Any = matrix
        if device is HOST:
            array = np.asarray(matrix)
            if array.ndim != 2:
                raise invalid("matrix", "two-dimensional", array.shape)
            self.matrix = array if array.dtype.kind == "f" else array.astype(np.float64)
        self.shape = (self.matrix.shape[0], self.matrix.shape[1])
        self.dtype = device.numpy_dtype(self.matrix)

    def matmat(self, block: Array) -> Array:
        out: Array = self._like(block) @ block
        return out

    def rmatmat(self, block: Array) -> Array:
        out: Array = self._like(block).T @ block
        return out

    def on(self, device: Device) -> Dense:
        return Dense(device.put(self.matrix), device=device)

    def _like(self, block: Array) -> Any:
        """The matrix in the block's number type, since other libraries do not multiply mixed types."""
        if self.device is HOST or self.matrix.dtype == block.dtype:
            return self.matrix
        return self.device.xp.astype(self.matrix, block.dtype)

    def gram(self, weights: Array | None = None) -> Array:
        matrix = self.to_dense().astype(np.float64, copy=False)
        out: Array = matrix.T @ (matrix if weights is None else matrix * weights[:, None])
        return out

    def take(self, columns: IntArray) -> Dense:
        return Dense(self.device.xp.take(self.matrix, self.device.put(columns), axis=1), device=self.device)

    def squared(self) -> Dense:
        return Dense(self.matrix**2, device=self.device)

    def to_dense(self) -> Array:
        out: Array = self.device.get(self.matrix)
        return out

    def to_sparse(self) -> Any:
        from scipy.sparse import csr_array

        return csr_array(self.matrix)


def written_out(operator: LinearOperator) -> LinearOperator:
    """The operator as its matrix if that is small, for solvers that multiply with it many times."""
    rows, columns = operator.shape
    elsewhere = operator.resident is not operator or operator.device is not HOST
    if isinstance(operator, Dense) or elsewhere or rows * columns > _SMALL:
        return operator
    return Dense(operator.to_sparse().toarray().astype(np.float64))


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

    def block(self, start: int, stop: int, dtype: Any) -> Any:
        """Columns from start, a multiple of 8, to stop."""
        xp, first, last = self.device.xp, start // 8, -(-stop // 8)
        codes = xp.reshape(self.bits[:, first:last], (-1,))
        expanded = self.device.take_rows(self._table(dtype), codes)
        return xp.reshape(expanded, (self.bits.shape[0], 8 * (last - first)))[:, : stop - start]

    def blocks(self, dtype: Any, *, most: int | None = None) -> Iterator[tuple[int, int, Any]]:
        """Start, stop and the columns between, as many at a time as the device has room for."""
        room = self.device.block // (_WORK * max(1, self.shape[0])) if most is None else most
        width = max(_WIDTH, room // _WIDTH * _WIDTH)
        for start in range(0, self.columns, width):
            stop = min(start + width, self.columns)
            yield start, stop, self.block(start, stop, dtype)

    def _table(self, dtype: Any) -> Any:
        tables: dict[Any, Any] = self._tables
        if dtype not in tables:
            bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1)
            values = np.where(bits == 1, self.high, self.low).astype(np.float32)
            tables[dtype] = self.device.xp.astype(self.device.put(values), dtype)
        return tables[dtype]

    @cached_property
    def _tables(self) -> dict[Any, Any]:
        return {}
