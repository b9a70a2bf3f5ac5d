"""LinearOperator: a matrix known by its products; cells, chosen rows, transposed, dense. Device: where."""

from __future__ import annotations

import re
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from math import comb
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast, final

import numpy as np
import numpy.typing as npt

from tellall.core.errors import TellallError, invalid
from tellall.core.memory import free_on_host

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = [
    "HOST",
    "Array",
    "ArrayLibrary",
    "Dense",
    "Device",
    "IntArray",
    "LinearOperator",
    "Mask",
    "NumberType",
    "Numbers",
    "Partition",
    "RowSelect",
    "Values",
    "find_device",
    "split_rows",
    "stack_columns",
    "written_out",
]

Array = npt.NDArray[np.floating[Any]]
IntArray = npt.NDArray[np.integer[Any]]
Mask = npt.NDArray[np.bool_]
NumberType = np.dtype[np.floating[Any]]  # on a device, what its library calls it
Rows = TypeVar("Rows", Array, Array | None)
Values = Array | float  # one for each row, or the same for all
Numbers = TypeVar("Numbers")  # arrays of one kind, and on devices what stands for them there

_HOST_BLOCK = 1 << 26  # bytes of a block of work on the host, which suits its caches
_DEVICE_BLOCK = 1 << 33  # and on a device, where larger blocks are no faster
_BLOCK = 1024  # columns of the identity multiplied at once where no closed form exists
_SMALL = 2**20  # entries up to which a product with the matrix is quicker than one with its structure
_WRITTEN = 1 << 26  # entries up to which all rows are written out to select some
_CHUNK = 1 << 20  # memberships handled at once, so that temporaries stay in cache-sized pieces


class ArrayLibrary(Protocol):
    """What kernels use of an array library: functions and types of the array API standard."""

    int32: NumberType
    float32: NumberType
    float64: NumberType
    abs: Callable[..., Array]
    all: Callable[..., Array]
    any: Callable[..., Array]
    asarray: Callable[..., Array]
    astype: Callable[..., Array]
    clip: Callable[..., Array]
    concat: Callable[..., Array]
    cuda: Any
    cumulative_sum: Callable[..., Array]
    log: Callable[..., Array]
    max: Callable[..., Array]
    mean: Callable[..., Array]
    minimum: Callable[..., Array]
    reshape: Callable[..., Array]
    result_type: Callable[..., NumberType]
    sign: Callable[..., Array]
    sort: Callable[..., Array]
    sqrt: Callable[..., Array]
    sum: Callable[..., Array]
    take: Callable[..., Array]
    tanh: Callable[..., Array]
    where: Callable[..., Array]
    zeros: Callable[..., Array]
    zeros_like: Callable[..., Array]


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
    xp: ArrayLibrary
    handle: Any = None
    narrow: NumberType | None = None
    panel: int = 128
    home: Any = "cpu"

    def put(self, array: Numbers) -> Numbers:
        """The same numbers on this device; a single number needs no move."""
        if self.xp is HOST.xp or isinstance(array, float):
            return array
        return cast(
            "Numbers", self.xp.asarray(np.require(array, requirements=["C", "W"]), device=self.handle)
        )

    def get(self, array: Numbers) -> Numbers:
        """The same numbers as a NumPy array."""
        if self.xp is HOST.xp or isinstance(array, float | np.ndarray):
            return array
        from array_api_compat import to_device

        return cast("Numbers", np.asarray(to_device(array, self.home)))

    def dtype(self, kind: npt.DTypeLike) -> NumberType:
        """What this library calls a NumPy number type."""
        return cast("NumberType", getattr(self.xp, np.dtype(kind).name))

    def numpy_dtype(self, array: Array) -> NumberType:
        """What NumPy calls the number type of an array of this device."""
        return np.dtype(str(array.dtype).rpartition(".")[2])

    def zeros(self, shape: tuple[int, ...], dtype: NumberType) -> Array:
        """Zeros on this device."""
        return self.xp.zeros(shape, dtype=dtype, device=self.handle)

    def parts(self, array: Array, dtype: NumberType) -> list[Array]:
        """Arrays of that type that add up to the array.

        In a narrow type, two are within a 2⁻¹⁶th of a number in single precision, and three within a
        2⁻²⁴th of one in double precision; whole numbers up to 256, and results of `rounded`, take one.
        """
        if array.dtype == dtype:
            return [array]
        if dtype != self.narrow:
            return [self.xp.astype(array, dtype)]
        found = [self.xp.astype(array, dtype)]
        rest = array
        for _ in range(1 if array.dtype == self.xp.float32 else 2):
            rest = rest - self.xp.astype(found[-1], array.dtype)
            if not bool(self.xp.any(rest != 0)):
                break
            found.append(self.xp.astype(rest, dtype))
        return found

    def rounded(self, array: Array) -> Array:
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

    def product(self, left: Array, right: Array) -> Array:
        """The matrix product; in single precision if the factors are narrow."""
        if self.narrow is None or left.dtype != self.narrow:
            return left @ right
        if not self.name.startswith("cuda"):  # without such products: the same numbers, slower
            return self.xp.astype(left, self.xp.float32) @ self.xp.astype(right, self.xp.float32)
        import torch

        out: Array = torch.mm(left, right, out_dtype=torch.float32)
        return out

    def take_rows(self, table: Array, index: Array | IntArray) -> Array:
        """Rows of a table by their numbers."""
        narrow_index = self.xp.astype(index, self.xp.int32)
        if self.narrow is None or table.dtype != self.narrow or table.shape[1] != 8:
            return self.xp.take(table, narrow_index, axis=0)
        # eight narrow numbers are the sixteen bytes of one complex number, which is fetched 70 times faster
        import torch

        wide: Array = torch.index_select(table.view(torch.complex128)[:, 0], 0, narrow_index)
        return wide.view(table.dtype)

    def thin_product(self, matrix: Array, vector: Array) -> Array:
        """A matrix times a vector, in the vector's precision."""
        parts = self.parts(vector, matrix.dtype)
        found = self.product(matrix, parts[0][:, None])[:, 0]
        for part in parts[1:]:
            found = found + self.product(matrix, part[:, None])[:, 0]
        return found

    def column_dots(self, left: Array, right: Array) -> Array:
        """Σ_i left[i, p] right[i, p] for every p."""
        if self.xp is HOST.xp:
            out: Array = np.einsum("ip,ip->p", left, right)
            return out
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


def _host_namespace() -> ArrayLibrary:
    """NumPy; before 2.1, which lacks some of the standard's names, through array-api-compat."""
    if hasattr(np, "astype"):
        return cast("ArrayLibrary", np)
    import array_api_compat.numpy

    return cast("ArrayLibrary", array_api_compat.numpy)


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
    return Device(
        name, cast("ArrayLibrary", namespace), torch.device("cuda", index), narrow=torch.bfloat16, panel=512
    ), ""


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
    return Device(name, cast("ArrayLibrary", namespace), cupy.cuda.Device(index), panel=512), ""


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

    def to_sparse(self) -> csr_array:
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
    return device.xp.concat(columns, axis=1) if columns else nothing


def split_rows(rows: Rows, operators: Sequence[LinearOperator]) -> list[Rows]:
    """Splits rows among operators whose rows come one after the other; None gives None for each."""
    if rows is None:
        return [None] * len(operators)
    ends = np.cumsum([operator.shape[0] for operator in operators])
    return [rows[end - operator.shape[0] : end, ...] for end, operator in zip(ends, operators, strict=True)]


@final
class Partition(LinearOperator):
    """The cell counts of one or several tables: ``A[c, p] = 1`` where person p is in cell c.

    ``codes`` is one row of cell numbers per table (tables × n); cells of different tables have different
    numbers below ``cells``. If these are the tables of every k of some columns, ``every`` is those columns'
    codes (columns × n), and k.

    Notes
    -----
    A s = bincount(codes, s) and Aᵀ y = y[codes] summed over tables: O(tables · n) time, no matrix. The gram
    adds each cell's weight to all pairs of its people: O(Σ |cell|²) time. In the tables of every k
    columns, two people who agree in g columns share C(g, k) cells: with equal weights, O(columns · n²).
    """

    def __init__(
        self,
        codes: npt.ArrayLike,
        cells: int,
        *,
        device: Device = HOST,
        every: tuple[IntArray, int] | None = None,
    ) -> None:
        self.device = device
        self.every = every
        array = np.atleast_2d(np.asarray(codes))
        if array.ndim != 2 or array.dtype.kind not in "iu":
            raise invalid("codes", "an integer array, one row per table", f"{array.dtype} {array.shape}")
        if array.size and (array.min() < 0 or array.max() >= cells):
            raise invalid("codes", f"cell numbers from 0 to {cells - 1}", f"{array.min()} to {array.max()}")
        self.codes: IntArray = array
        self.shape = (cells, array.shape[1])
        self.dtype = np.dtype(np.float64)

    @property
    def entries(self) -> int:
        return self.codes.size

    def matmat(self, block: Array) -> Array:
        return stack_columns(self.device, self._count, block, self.shape[0])

    def rmatmat(self, block: Array) -> Array:
        device = self.device
        out: Array = device.zeros((self.shape[1], block.shape[1]), block.dtype)
        for row in self._cells:
            out += device.xp.take(block, row, axis=0)
        return out

    def rmatvec(self, vector: Array) -> Array:
        if self.device is not HOST:
            return self.rmatmat(vector[:, None])[:, 0]
        out = np.zeros(self.shape[1], dtype=vector.dtype)
        for rows in self._chunks():
            out += vector[rows].sum(axis=0)
        return out

    def on(self, device: Device) -> Partition:
        return Partition(self.codes, self.shape[0], device=device, every=self.every)

    def gram(self, weights: Array | None = None) -> Array:
        n = self.shape[1]
        if self.every is not None and (weights is None or (weights == weights[:1]).all()):
            return self._gram_of_every(1.0 if weights is None or not weights.size else float(weights[0]))
        out = np.zeros((n, n))
        for row in self.codes:
            order = np.argsort(row, kind="stable")
            borders = np.flatnonzero(np.diff(row[order])) + 1
            for people in np.split(order, borders) if n else ():
                weight = 1.0 if weights is None else float(weights[row[people[0]]])
                if weight:
                    out[people[:, None], people] += weight
        return out

    def _gram_of_every(self, weight: float) -> Array:
        assert self.every is not None
        (columns, k), n = self.every, self.shape[1]
        shared = weight * np.array([comb(agree, k) for agree in range(len(columns) + 1)], dtype=np.float64)
        out = np.empty((n, n))
        step = max(1, _CHUNK // 4 // max(1, n))
        for begin in range(0, n, step):  # rows that stay in the cache
            alike = np.zeros(out[begin : begin + step].shape, dtype=np.min_scalar_type(len(columns)))
            for column in columns:
                alike += column[begin : begin + step, None] == column
            np.take(shared, alike, out=out[begin : begin + step], mode="clip")
        return out

    def take(self, columns: IntArray) -> Partition:
        every = None if self.every is None else (self.every[0][:, columns], self.every[1])
        codes = np.ascontiguousarray(self.codes[:, columns])
        return Partition(codes, self.shape[0], device=self.device, every=every)

    def squared(self) -> Partition:
        return self

    def to_sparse(self) -> csr_array:
        from scipy.sparse import csr_array

        tables, n = self.codes.shape
        people = np.broadcast_to(np.arange(n), (tables, n)).ravel()
        return csr_array((np.ones(tables * n), (self.codes.ravel(), people)), shape=self.shape)

    def _count(self, vector: Array) -> Array:
        if self.device is not HOST:
            return self._count_sorted(vector)
        out = np.zeros(self.shape[0])
        for rows in self._chunks():
            weights = np.broadcast_to(vector, rows.shape).ravel()
            out += np.bincount(rows.ravel(), weights, minlength=self.shape[0])
        return out

    def _count_sorted(self, vector: Array) -> Array:
        """The counts by running sums over the people in the order of their cells, in double precision."""
        device = self.device
        xp = self.device.xp
        people, ends = self._sorted
        sums = xp.cumulative_sum(xp.take(xp.astype(vector, xp.float64), people), axis=0)
        until = xp.take(xp.concat([device.zeros((1,), xp.float64), sums]), ends)
        return xp.astype(until[1:] - until[:-1], vector.dtype)

    @cached_property
    def _sorted(self) -> tuple[IntArray, IntArray]:
        """The people in the order of their cells, and how many are in all cells before each."""
        order = np.argsort(self.codes, axis=None, kind="stable")
        counts = np.bincount(self.codes.ravel(), minlength=self.shape[0])
        ends = np.concatenate([[0], np.cumsum(counts)])
        return self.device.put(order % max(self.shape[1], 1)), self.device.put(ends)

    @cached_property
    def _cells(self) -> list[IntArray]:
        """The cell numbers of each table, on the device."""
        return [self.device.put(row) for row in self.codes]

    def _chunks(self) -> list[IntArray]:
        step = max(1, _CHUNK // max(1, self.shape[1]))
        return [self.codes[i : i + step] for i in range(0, self.codes.shape[0], step)]


@final
class RowSelect(LinearOperator):
    """Rows ``index`` of an operator, in that order; a row may come more than once or not at all."""

    def __init__(self, operator: LinearOperator, index: npt.ArrayLike) -> None:
        self.index: IntArray = np.asarray(index, dtype=np.intp)
        if self.index.size and (self.index.min() < 0 or self.index.max() >= operator.shape[0]):
            raise invalid("index", f"row numbers from 0 to {operator.shape[0] - 1}", self.index)
        self.operator = operator
        self.shape = (self.index.size, operator.shape[1])
        self.dtype = operator.dtype
        self.device = operator.device
        self._index = self.device.put(self.index)
        self._times = np.bincount(self.index, minlength=operator.shape[0])  # how often each row was selected

    @property
    def entries(self) -> int:
        often = int(self._times.max(initial=0))
        return min(self.shape[0] * self.shape[1], often * self.operator.entries)

    @cached_property
    def _places(self) -> Any:
        """The place of each row among the selected ones; one beyond the last if it was not selected."""
        places = np.full(self.operator.shape[0], self.index.size)
        places[self.index] = np.arange(self.index.size)
        return self.device.put(places)

    @cached_property
    def _chosen(self) -> Partition:
        """Its counts add up the values of rows that were selected more than once."""
        return Partition(self.index, self.operator.shape[0], device=self.device)

    def matmat(self, block: Array) -> Array:
        return self.device.xp.take(self.operator.matmat(block), self._index, axis=0)

    def rmatmat(self, block: Array) -> Array:
        device = self.device
        xp = self.device.xp
        if self._times.max(initial=0) > 1:
            return self.operator.rmatmat(xp.astype(self._chosen.matmat(block), block.dtype, copy=False))
        padded = xp.concat([block, device.zeros((1, block.shape[1]), block.dtype)])
        return self.operator.rmatmat(xp.take(padded, self._places, axis=0))

    def on(self, device: Device) -> RowSelect:
        return RowSelect(self.operator.on(device), self.index)

    def gram(self, weights: Array | None = None) -> Array:
        often = np.bincount(self.index, weights, minlength=self.operator.shape[0])
        return self.operator.gram(often.astype(np.float64))

    def take(self, columns: IntArray) -> RowSelect:
        return RowSelect(self.operator.take(columns), self.index)

    def squared(self) -> RowSelect:
        return RowSelect(self.operator.squared(), self.index)

    def to_dense(self) -> Array:
        if self.operator.shape[0] * self.shape[1] > _WRITTEN:
            return super().to_dense()
        return np.asarray(self.operator.to_dense()[self.index])

    def to_sparse(self) -> csr_array:
        return self.operator.to_sparse()[self.index]


@final
class Transposed(LinearOperator):
    """Aᵀ of an operator A."""

    def __init__(self, operator: LinearOperator) -> None:
        self.operator = operator
        self.shape = (operator.shape[1], operator.shape[0])
        self.dtype = operator.dtype
        self.device = operator.device

    def matmat(self, block: Array) -> Array:
        return self.operator.rmatmat(block)

    def rmatmat(self, block: Array) -> Array:
        return self.operator.matmat(block)

    def take(self, columns: IntArray) -> LinearOperator:
        return RowSelect(self.operator, columns).T

    def squared(self) -> LinearOperator:
        return Transposed(self.operator.squared())

    def on(self, device: Device) -> LinearOperator:
        return Transposed(self.operator.on(device))

    @property
    def T(self) -> LinearOperator:
        return self.operator


@final
class Dense(LinearOperator):
    """The operator of an explicit m × n matrix."""

    def __init__(self, matrix: npt.ArrayLike, *, device: Device = HOST) -> None:
        self.device = device
        self.matrix: Array = cast("Array", matrix)
        if device is HOST:
            array = np.asarray(matrix)
            if array.ndim != 2:
                raise invalid("matrix", "two-dimensional", array.shape)
            self.matrix = array if array.dtype.kind == "f" else array.astype(np.float64)
        self.shape = (self.matrix.shape[0], self.matrix.shape[1])
        self.dtype = device.numpy_dtype(self.matrix)

    def matmat(self, block: Array) -> Array:
        return self._like(block) @ block

    def rmatmat(self, block: Array) -> Array:
        return self._like(block).T @ block

    def on(self, device: Device) -> Dense:
        return Dense(device.put(self.matrix), device=device)

    def _like(self, block: Array) -> Array:
        """The matrix in the block's number type, since other libraries do not multiply mixed types."""
        if self.device is HOST or self.matrix.dtype == block.dtype:
            return self.matrix
        return self.device.xp.astype(self.matrix, block.dtype)

    def gram(self, weights: Array | None = None) -> Array:
        matrix = self.to_dense().astype(np.float64, copy=False)
        return matrix.T @ (matrix if weights is None else matrix * weights[:, None])

    def take(self, columns: IntArray) -> Dense:
        return Dense(self.device.xp.take(self.matrix, self.device.put(columns), axis=1), device=self.device)

    def squared(self) -> Dense:
        return Dense(self.matrix**2, device=self.device)

    def to_dense(self) -> Array:
        return self.device.get(self.matrix)

    def to_sparse(self) -> csr_array:
        from scipy.sparse import csr_array

        return csr_array(self.matrix)


def written_out(operator: LinearOperator) -> LinearOperator:
    """The operator as its matrix if that is small, for solvers that multiply with it many times."""
    rows, columns = operator.shape
    elsewhere = operator.resident is not operator or operator.device is not HOST
    if isinstance(operator, Dense) or elsewhere or rows * columns > _SMALL:
        return operator
    return Dense(operator.to_sparse().toarray().astype(np.float64))
