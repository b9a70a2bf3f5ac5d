"""Tracing from packed genotypes, streamed, against the machine's own limits measured in the same run.

python benchmarks/tracing.py [--sites 1000000] [--people 10000] [--reference 59] [--missing 0.0]

The limit of an attack is the larger of two times: reading its packed bytes at the memory's bandwidth, and its
multiplications at the rate of a large single-precision matrix product. Processor seconds, one thread.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import tellall as ta
from tellall.people.genomics import packed_calls
from timing import Section, least_time, wall_time

CHUNK = 4096
RUNS = (
    ("single", "hoeffding", {}),
    ("single", "empirical", {}),
    ("pool", "hoeffding", {"alpha": 0.1}),
    ("pool", "empirical", {}),
    ("likelihood-ratio", "empirical", {"n": 1000}),
    ("homer", "empirical", {}),
)


def write_plink(stem: Path, people: int, sites: int, missing: float, rng: np.random.Generator) -> None:
    """A PLINK file of random calls, written chunk by chunk; some bytes may hold missing calls."""
    every = np.arange(256, dtype=np.uint8)
    called = np.array(
        [byte for byte in range(256) if all((byte >> shift) & 3 != 1 for shift in (0, 2, 4, 6))],
        dtype=np.uint8,
    )
    with stem.with_suffix(".bed").open("wb") as file:
        file.write(bytes([0x6C, 0x1B, 1]))
        for start in range(0, sites, CHUNK):
            shape = (min(CHUNK, sites - start), (people + 3) // 4)
            bytes_ = called[rng.integers(0, called.size, shape, dtype=np.uint8)]
            if missing:
                broken = rng.random(shape, dtype=np.float32) < missing
                bytes_[broken] = rng.choice(every, int(broken.sum()))
            file.write(bytes_.tobytes())
    stem.with_suffix(".fam").write_text("".join(f"f i{i} 0 0 0 -9\n" for i in range(people)))
    with stem.with_suffix(".bim").open("w") as file:
        file.writelines(f"1\trs{j}\t0\t{j + 1}\tA\tG\n" for j in range(sites))


def bandwidth() -> float:
    """Bytes read from memory per second, from at least four times the cache."""
    numbers = np.ones(2**25)
    return numbers.nbytes / least_time(numbers.max, 7)[0]


def product_rate() -> float:
    """Operations per second of a large single-precision matrix product."""
    square = np.ones((3000, 3000), dtype=np.float32)
    return 2 * square.shape[0] ** 3 / least_time(lambda: square @ square, 5)[0]


def multiplications(attack: str, threshold: str, reference: int) -> int:
    """Operations per call: a multiplication and addition for a score, and per reference person and value."""
    beside = threshold == "empirical" and attack != "single"
    return 2 * 2 * (1 + reference) if beside else 2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sites", type=int, default=1_000_000)
    parser.add_argument("--people", type=int, default=10_000)
    parser.add_argument("--reference", type=int, default=59)
    parser.add_argument("--missing", type=float, default=0.0, help="share of bytes with missing calls")
    parser.add_argument("--attack", action="append", help="only these")
    parser.add_argument("--quick", action="store_true", help="2,000 people, 5,000 sites")
    parser.add_argument("--without-numba", action="store_true", help="the NumPy kernel")
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.people, chosen.sites = 2000, 5000
    if chosen.without_numba:
        packed_calls._numba = lambda: False
    rng, calls = np.random.default_rng(0), chosen.people * chosen.sites
    size = f"{chosen.people:,} targets × {chosen.sites:,} sites, {chosen.reference} reference people"
    note = size + (", without numba." if chosen.without_numba else ".")
    with tempfile.TemporaryDirectory() as folder:
        for name, people in (("targets", chosen.people), ("reference", chosen.reference)):
            write_plink(Path(folder) / name, people, chosen.sites, chosen.missing, rng)
        packed = (Path(folder) / "targets.bed").stat().st_size
        targets, reference = (
            ta.genomics.read_genotypes(Path(folder) / f"{name}.bed") for name in ("targets", "reference")
        )
        frequencies = rng.uniform(0, 1, chosen.sites)
        warm_up(targets, frequencies)
        names = (
            "attack",
            "threshold",
            "processor s",
            "limit s",
            "of it",
            "memory GB/s",
            "product GF/s",
            "peak GiB",
        )
        whole = not (chosen.quick or chosen.attack or chosen.without_numba or chosen.missing)
        section = Section("tracing.py", names, note=note, keep=whole)
        for attack, threshold, options in RUNS:
            if chosen.attack and attack not in chosen.attack:
                continue
            memory, rate = bandwidth(), product_rate()
            least = max(packed / memory, calls * multiplications(attack, threshold, chosen.reference) / rate)
            taken, _ = least_time(
                lambda attack=attack, threshold=threshold, options=options: ta.trace(
                    frequencies,
                    targets,
                    reference,
                    attack=attack,
                    threshold=threshold,
                    coding="genotypes",
                    **options,
                ),
                3 if multiplications(attack, threshold, chosen.reference) == 2 else 1,
            )
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
            numbers = f"{taken:.2f}", f"{least:.2f}", f"{least / taken:.0%}"
            limits = f"{memory / 1e9:.1f}", f"{rate / 1e9:.0f}"
            section.add((attack, threshold, *numbers, *limits, f"{peak:.2f}"))
    print(f"\nthe calls packed {packed / 2**30:.1f} GiB, a byte each {calls / 2**30:.1f} GiB")


def warm_up(targets: Any, frequencies: np.ndarray) -> None:
    """Load, or compile, the kernel outside the clock."""
    seconds, _ = wall_time(lambda: targets.chunk(0, 8).sums(np.zeros((4, 8)), job=1e12))
    print(f"loading the kernel took {seconds:.1f} s, not counted\n", flush=True)


if __name__ == "__main__":
    main()
