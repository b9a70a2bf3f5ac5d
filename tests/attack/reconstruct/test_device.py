"""Attacks whose products are computed elsewhere give the guesses they give here."""

from __future__ import annotations

import numpy as np
import pytest
from tests.conftest import first_fast

import tellall as ta
from tellall.linalg.operators.linear_operator import HOST, Device


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> Device:
    """A device that stands in for a GPU: a library with the array API standard and nothing else."""
    import array_api_strict as strict

    device = Device("cuda", strict, strict.Device("device1"), panel=4, home=strict.Device("CPU_DEVICE"))
    monkeypatch.setattr(Device, "block", property(lambda self: 1 << 20))
    monkeypatch.setattr(
        "tellall.attack.reconstruct.attack.find_device", lambda name: device if name == "cuda" else HOST
    )
    return device


def people(n: int = 260, d: int = 34, seed: int = 3) -> ta.Dataset:
    rng = np.random.default_rng(seed)
    return ta.Dataset.from_arrays(rng.integers(0, 2, (n, d)), rng.integers(0, 2, n))


CASES = {
    "xor": (ta.Predicates("xor", ways=3), ta.Gaussian(1.0), 20),
    "majority": (ta.Predicates("majority", ways=3), ta.Gaussian(0.5), 16),
    "tables": (ta.Marginals(ways=3), ta.Gaussian(0.5), 7),
    "rounded tables": (ta.Marginals(ways=3), ta.Rounding(3), 7),
}


@pytest.mark.parametrize("decoder", first_fast(["auto", "least-squares", "posterior", "lp"], 3))
@pytest.mark.parametrize("name", CASES)
def test_guesses_do_not_depend_on_the_device(name: str, decoder: str, elsewhere: Device) -> None:
    statistic, protection, d = CASES[name]
    everybody = people(n=50, d=d)
    release = ta.publish(everybody, statistic, protection, rng=1)
    here = ta.reconstruct(release, everybody.public, decoder)
    there = ta.reconstruct(release, everybody.public, decoder, device="cuda")
    assert there.evidence.device is elsewhere
    assert there.decoder == here.decoder
    assert there.status.word == here.status.word
    # a guess may only differ where neither is sure
    differ = there.guess != here.guess
    assert np.all(np.abs(here.estimate[differ] - 0.5) < 0.01)
    assert differ.mean() <= 0.02
    np.testing.assert_allclose(there.confidence, here.confidence, atol=0.05)


def test_a_category_is_solved_elsewhere_too(elsewhere: Device) -> None:
    rng = np.random.default_rng(4)
    everybody = ta.Dataset.from_arrays(rng.integers(0, 2, (80, 9)), rng.integers(0, 3, 80))
    release = ta.publish(everybody, ta.Marginals(ways=3), ta.Gaussian(0.3), rng=1)
    here = ta.reconstruct(release, everybody.public, "least-squares")
    there = ta.reconstruct(release, everybody.public, "least-squares", device="cuda")
    assert there.evidence.device is elsewhere
    np.testing.assert_array_equal(there.guess, here.guess)


@pytest.mark.parametrize("protection", [None, ta.Rounding(5), ta.Suppression(5)], ids=str)
def test_proofs_do_not_depend_on_the_device(
    protection: ta.Protection | None, elsewhere: Device, nhanes: ta.Dataset
) -> None:
    everybody = nhanes.take(np.arange(60))
    release = ta.publish(everybody, ta.Marginals(ways=3), protection)
    here = ta.reconstruct(release, everybody.public, "least-squares")
    there = ta.reconstruct(release, everybody.public, "least-squares", device="cuda")
    assert there.evidence.device is elsewhere
    proved = there.identified == "proved"
    assert proved.all()
    np.testing.assert_array_equal(proved, here.identified == "proved")
    np.testing.assert_array_equal(there.guess, everybody.secret)


def test_equations_without_a_form_there_are_solved_here(
    elsewhere: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    everybody = people(n=40, d=8)
    subsets = np.random.default_rng(0).integers(0, 2, (60, 40))
    releases = [
        ta.publish(everybody, ta.SubsetCounts(subsets), ta.Gaussian(0.5), rng=1),
        ta.publish(everybody, ta.Predicates("xor", ways=3), ta.Gaussian(0.5), rng=1),
    ]
    from tellall.core.errors import TellallError
    from tellall.linalg.operators.linear_operator import Dense

    def refuse(self: Dense, device: Device) -> None:
        raise TellallError("these equations are not implemented there")

    monkeypatch.setattr(Dense, "on", refuse)
    for chosen in (releases[:1], releases):
        with pytest.warns(RuntimeWarning, match="not implemented there; running on the CPU instead"):
            there = ta.reconstruct(chosen, everybody.public, device="cuda")
        assert there.evidence.device is HOST
        here = ta.reconstruct(chosen, everybody.public)
        np.testing.assert_array_equal(there.guess, here.guess)


def test_without_a_gpu_a_warning_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for library in ("torch", "cupy"):
        monkeypatch.setitem(__import__("sys").modules, library, None)
    everybody = people(n=30, d=8)
    release = ta.publish(everybody, ta.Marginals(ways=2), rng=1)
    with pytest.warns(RuntimeWarning, match=r"pip install 'tellall\[gpu\]'"):
        ta.reconstruct(release, everybody.public, device="cuda")
    with pytest.raises(ta.InvalidInput, match="device must be"):
        ta.reconstruct(release, everybody.public, device="gpu")


def test_what_bounds_decide_needs_no_equations(elsewhere: Device) -> None:
    """Small exact tables leave no unknown: products with nothing are products too."""
    for n in (2, 3, 20):
        everybody = ta.Dataset.from_arrays(np.arange(n)[:, None] % 2, np.arange(n) % 2)
        release = ta.publish(everybody, ta.Marginals(ways=2))
        here = ta.reconstruct(release, everybody.public)
        there = ta.reconstruct(release, everybody.public, device="cuda")
        assert (there.guess == here.guess).all()


def test_too_little_memory_there_is_too_little_memory(
    elsewhere: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    class OutOfMemoryError(RuntimeError):
        pass

    def full(self: Device, left: object, right: object) -> None:
        raise OutOfMemoryError("CUDA out of memory")

    everybody = people(n=60, d=12)
    release = ta.publish(everybody, ta.Predicates("xor", ways=3), ta.Gaussian(1.0), rng=1)
    monkeypatch.setattr(Device, "product", full)
    with pytest.raises(MemoryError, match="too little memory on cuda"):
        ta.reconstruct(release, everybody.public, "posterior", device="cuda")
