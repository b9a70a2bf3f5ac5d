"""The same operators on the arrays of other libraries: one mathematics, several places."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tellall.core.errors import InvalidInput, TellallError
from tellall.linalg.operators.compose import OnDevice, Partition, RowScale, RowSelect, Stack
from tellall.linalg.operators.diagonal import BlockDiagonal
from tellall.linalg.operators.linear_operator import HOST, Dense, Device, LinearOperator, find_device
from tellall.linalg.operators.moments import Moments, Packed
from tellall.linalg.operators.rowfunction import RowFunction
from tellall.linalg.operators.sparse import Sparse
from tellall.testing import check_operator


def strict_device(panel: int = 3) -> Device:
    """A library that has the array API standard and nothing else, on a device of its own."""
    import array_api_strict as strict

    return Device("strict", strict, strict.Device("device1"), panel=panel, home=strict.Device("CPU_DEVICE"))


def devices() -> list[Device]:
    import array_api_compat.numpy as wrapped  # what the host is where NumPy is older than 2.1

    out = [strict_device(), Device("wrapped", wrapped, panel=3)]
    try:
        import torch
        from array_api_compat import torch as namespace
    except ImportError:
        return out
    return [*out, Device("cpu", namespace, torch.device("cpu"), panel=3)]


def operators() -> dict[str, LinearOperator]:
    rng = np.random.default_rng(1)
    bits = rng.integers(0, 2, (7, 20)).astype(float)
    real = rng.normal(size=(5, 20))
    cells = Partition(np.stack([rng.integers(0, 4, 20), 4 + rng.integers(0, 3, 20)]), 7)
    pairs = Moments(2 * bits - 1, 2)
    return {
        "dense": Dense(real),
        "moments of order 1": Moments(real, 1),
        "moments of order 2": Moments(real, 2),
        "moments of order 3": Moments(real, 3),
        "signs": pairs,
        "bits": Moments(bits, 3),
        "packed": Moments(Packed.of(bits), 2),
        "row function": RowFunction([0, 1, 1, 0, 1, 0, 0, 0], bits),
        "row function with repetitions": RowFunction([0, 1, 1, 1], bits, "all"),
        "partition": cells,
        "stack": Stack([cells, pairs, Dense(real)]),
        "selected rows": RowSelect(pairs, [3, 0, 3, 20]),
        "scaled rows": RowScale(pairs, rng.normal(size=21)),
        "blocks": BlockDiagonal([pairs, Dense(real)], [np.arange(0, 40, 2), np.arange(1, 40, 2)]),
        "transposed": Dense(real).T,
    }


@pytest.mark.parametrize("device", devices(), ids=lambda device: device.xp.__name__)
@pytest.mark.parametrize("name", operators())
def test_products_elsewhere_equal_those_here(name: str, device: Device) -> None:
    here = operators()[name]
    there = OnDevice(here.on(device))
    assert there.resident.device is device
    assert here.resident is here
    rng = np.random.default_rng(0)
    columns = rng.permutation(here.shape[1])[:9]
    pairs = [(here, there), (here.squared(), there.squared())]
    if name != "transposed":
        pairs.append((here.take(columns), there.take(columns)))
    for one, other in pairs:
        assert one.shape == other.shape
        x, y = rng.normal(size=(one.shape[1], 2)), rng.normal(size=(one.shape[0], 2))
        exact = 1e-12 * max(1.0, float(np.abs(one.to_dense()).sum()))
        np.testing.assert_allclose(other.matmat(x), one.matmat(x), rtol=0, atol=exact)
        np.testing.assert_allclose(other.rmatmat(y), one.rmatmat(y), rtol=0, atol=exact)
        np.testing.assert_allclose(other.matvec(x[:, 0]), one.matvec(x[:, 0]), rtol=0, atol=exact)
        np.testing.assert_allclose(other.rmatvec(y[:, 0]), one.rmatvec(y[:, 0]), rtol=0, atol=exact)


@given(st.integers(1, 12), st.integers(0, 40), st.booleans(), st.integers(1, 3), st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_packed_moments_obey_the_laws(d: int, n: int, signs: bool, order: int, seed: int) -> None:
    bits = np.random.default_rng(seed).integers(0, 2, (d, n))
    matrix = 2 * bits - 1 if signs else bits
    packed = Packed.of(matrix)
    assert packed.bits.nbytes == d * -(-n // 8)
    low = -1.0 if (matrix < 0).any() else 0.0
    np.testing.assert_array_equal(
        packed.block(0, n, np.dtype(np.float32)), matrix if low or not signs else bits
    )
    check_operator(Moments(packed, order), seed=seed, tolerance=1e-4)


@pytest.mark.parametrize("kept", [200, 150, 60])
def test_bits_of_most_people_in_another_order_are_not_copied(kept: int) -> None:
    """Everybody alone in their group, in the groups' order: the vectors are reordered, bits are not."""
    rng = np.random.default_rng(3)
    bits = rng.integers(0, 2, (7, 200))
    wanted = rng.permutation(200)[:kept]
    for whole in (Moments(Packed.of(bits), 2), RowFunction([0, 1, 1, 0], Packed.of(bits))):
        taken = whole.take(wanted)
        np.testing.assert_array_equal(taken.to_dense(), whole.to_dense()[:, wanted])
        copied = getattr(taken, "factor", None) is not None or getattr(taken, "bits", None) is not None
        assert copied == (kept == 60)
        check_operator(taken, tolerance=1e-4)


def test_packed_columns_are_taken_in_any_order() -> None:
    bits = np.random.default_rng(0).integers(0, 2, (3, 2000))
    wanted = np.array([1999, 5, 5, 0])
    taken = Packed.of(bits).take(wanted)
    assert taken.shape == (3, 4)
    assert taken.block(0, 4, np.dtype(float)).tolist() == bits[:, wanted].tolist()


def test_blocks_of_columns_are_the_whole() -> None:
    bits = np.random.default_rng(0).integers(0, 2, (3, 2000))
    packed = Packed.of(bits)
    spans = [(start, stop) for start, stop, _ in packed.blocks(np.dtype(float), most=600)]
    assert spans == [(0, 512), (512, 1024), (1024, 1536), (1536, 2000)]
    parts = [part for _, _, part in packed.blocks(np.dtype(float), most=600)]
    np.testing.assert_array_equal(np.concatenate(parts, axis=1), bits)


def test_panels_compute_the_same_pairs() -> None:
    rng = np.random.default_rng(2)
    signs = rng.choice([-1.0, 1.0], size=(11, 30))
    whole = Moments(signs, 2)
    for panel in (1, 2, 4, 11, 100):
        panels = Moments(signs, 2)
        panels.device = Device("cpu", HOST.xp, panel=panel)
        x, y = rng.normal(size=30), rng.normal(size=55)
        np.testing.assert_allclose(panels.matvec(x), whole.matvec(x), atol=1e-12)
        np.testing.assert_allclose(panels.rmatvec(y), whole.rmatvec(y), atol=1e-12)


def test_two_narrow_parts_keep_sixteen_bits() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    from array_api_compat import torch as namespace

    device = Device("cpu", namespace, torch.device("cpu"), narrow=torch.bfloat16, panel=4)
    rng = np.random.default_rng(3)
    signs = rng.choice([-1.0, 1.0], size=(9, 200))
    here, there = Moments(signs, 2), OnDevice(Moments(signs, 2).on(device))
    x, y = rng.normal(size=200).astype(np.float32), rng.normal(size=36).astype(np.float32)
    np.testing.assert_allclose(there.matvec(x), here.matvec(x), atol=2**-16 * np.abs(x).sum())
    np.testing.assert_allclose(there.rmatvec(y), here.rmatvec(y), atol=2**-16 * np.abs(y).sum())


def test_three_narrow_parts_keep_twenty_four_bits_and_whole_numbers_are_exact() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    from array_api_compat import torch as namespace

    device = Device("cpu", namespace, torch.device("cpu"), narrow=torch.bfloat16, panel=4)
    rng = np.random.default_rng(4)
    signs = rng.choice([-1.0, 1.0], size=(9, 200))
    here, there = Moments(signs, 2), OnDevice(Moments(signs, 2).on(device))
    x, whole = rng.normal(size=200), rng.integers(0, 257, 200).astype(float)
    np.testing.assert_allclose(there.matvec(x), here.matvec(x), atol=2**-22 * np.abs(x).sum())
    assert np.array_equal(there.matvec(whole), here.matvec(whole))
    assert len(device.parts(device.put(whole), torch.bfloat16)) == 1
    assert len(device.parts(device.rounded(device.put(x)), torch.bfloat16)) == 1
    assert len(device.parts(device.put(x), torch.bfloat16)) == 3
    assert np.abs(device.get(device.rounded(device.put(x))) / x - 1).max() <= 2**-8


def test_what_cannot_be_there_says_so() -> None:
    with pytest.raises(TellallError, match="Sparse equations are not implemented on strict"):
        Sparse(np.eye(3)).on(strict_device())


def test_a_place_that_is_not_there_falls_back_with_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    monkeypatch.setitem(__import__("sys").modules, "cupy", None)
    with pytest.warns(RuntimeWarning, match=r"pip install 'tellall\[gpu\]'; running on the CPU instead"):
        assert find_device("cuda") is HOST
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert find_device("cpu") is HOST
    for wrong in ("gpu", "", 3, "mps", "cpu:0", "cuda:abc", "cuda:-1", "cuda:0:0"):
        with pytest.raises(InvalidInput, match="device must be"):
            find_device(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("matrix", [np.zeros(3), np.full((2, 2), 2.0), np.full((2, 2), np.nan)])
def test_only_two_values_can_be_packed(matrix: np.ndarray) -> None:
    with pytest.raises(InvalidInput, match="matrix must be"):
        Packed.of(matrix)
