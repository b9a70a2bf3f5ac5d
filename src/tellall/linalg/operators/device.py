"""Device: where numbers live, and the array library that computes there."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from tellall.core.errors import invalid
from tellall.core.memory import free_on_host

__all__ = ["HOST", "Device", "find_device"]

_HOST_BLOCK = 1 << 26  # bytes of a block of work on the host, which suits its caches
_DEVICE_BLOCK = 1 << 33  # and on a device, where larger blocks are no faster


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
