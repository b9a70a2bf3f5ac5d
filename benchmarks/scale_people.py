"""Very many people through the public calls, publish and reconstruct, on a GPU; see scale.py."""

from __future__ import annotations

import resource
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import tellall as ta
from scale_gpu import GIB, peak, reset_peak
from tellall.linalg.operators.linear_operator import HOST, Device, find_device
from timing import wall_time

NOISE = 0.1  # of a count, in units of √n
QUICK = (3003, 92)


def million(quick: bool) -> Iterator[tuple[str, ...]]:
    """A million people with 2,200 attributes."""
    return people(*(QUICK if quick else (1_000_000, 2200)))


def ten_million(quick: bool) -> Iterator[tuple[str, ...]]:
    """Ten million people with 6,504 attributes."""
    return people(*(QUICK if quick else (10_000_000, 6504)))


def people(n: int, d: int) -> Iterator[tuple[str, ...]]:
    """One row; the small size runs anywhere."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        device = find_device("cuda")
    if device is HOST and (n, d) != QUICK:
        missing = "none here: needs CUDA and pip install 'tellall[gpu]'"
        yield "publish and reconstruct on a GPU", "", "", missing, "", ""
        return
    yield measure(n, d, device)


def measure(n: int, d: int, device: Device) -> tuple[str, ...]:
    """All pairs of attributes and the secret by exclusive or, fair bits, the default decoder."""
    name = "cpu" if device is HOST else "cuda"
    statistic, noise = ta.Predicates("xor", 3), ta.Gaussian(NOISE * n**0.5)
    reset_peak(device)
    bits, secret = drawn(n, d)
    coded, everybody = timed("people", lambda: coded_people(bits, n, secret))
    published, release = timed("publish", lambda: ta.publish(everybody, statistic, noise, rng=1, device=name))
    attacked, attack = timed("reconstruct", lambda: ta.reconstruct(release, everybody.public, device=name))
    wrong = int(np.count_nonzero(attack.guess != secret))
    host = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / GIB
    there = "" if device is HOST else f", {peak(device) / GIB:.1f} GiB of the device"
    return (
        f"from bits to confidences, {attack.decoder}, on {device.name}: {attack.status.word}",
        f"n={n:,}, d={d}, m={release.values.size:,}, σ={NOISE}√n",
        "–",
        f"{coded + published + attacked:.1f} s (coding the people {coded:.1f} s, publish {published:.1f} s)",
        f"{host:.1f} GiB of the host (bits: {bits.nbytes / GIB:.1f}){there}",
        f"{'all' if not wrong else f'all but {wrong:,}'}; least confidence {attack.confidence.min():.3f}",
    )


def drawn(n: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Fair bits, eight people to a byte, one attribute at a time."""
    rng = np.random.default_rng(seed)
    bits = np.empty((d, -(-n // 8)), dtype=np.uint8)
    for row in bits:
        row[:] = rng.integers(0, 256, row.size, dtype=np.uint8)
    return bits, rng.integers(0, 2, n, dtype=np.int8)


def coded_people(bits: np.ndarray, n: int, secret: np.ndarray) -> ta.Dataset:
    """The people, and who is alike, which every attack needs to know."""
    everybody = ta.Dataset.from_bits(bits, n, secret)
    _ = everybody.patterns
    return everybody


def timed(name: str, work: Callable[[], Any]) -> tuple[float, Any]:
    """The wall-clock time of a call, written to stderr at once, and its result."""
    seconds, found = wall_time(work)
    sys.stderr.write(f"{name}: {seconds:.1f} s\n")
    sys.stderr.flush()
    return seconds, found
