"""Tracing from packed genotypes, streamed, beside the matrix products that it must make.

python benchmarks/tracing.py [--sites 1000000] [--people 10000] [--reference 59]
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path

import numpy as np

import tellall as ta

CHUNK = 4096


def write_plink(stem: Path, people: int, sites: int, rng: np.random.Generator) -> None:
    """A PLINK file of random calls, none missing, written chunk by chunk."""
    bytes_without_missing = np.array(
        [byte for byte in range(256) if all((byte >> shift) & 3 != 1 for shift in (0, 2, 4, 6))],
        dtype=np.uint8,
    )
    with stem.with_suffix(".bed").open("wb") as file:
        file.write(bytes([0x6C, 0x1B, 1]))
        for start in range(0, sites, CHUNK):
            shape = (min(CHUNK, sites - start), (people + 3) // 4)
            draws = rng.integers(0, bytes_without_missing.size, shape, dtype=np.uint8)
            file.write(bytes_without_missing[draws].tobytes())
    stem.with_suffix(".fam").write_text("".join(f"f i{i} 0 0 0 -9\n" for i in range(people)))
    with stem.with_suffix(".bim").open("w") as file:
        file.writelines(f"1\trs{j}\t0\t{j + 1}\tA\tG\n" for j in range(sites))


def best(call, times: int = 5) -> tuple[float, float]:
    """The least wall-clock and processor time of several runs."""
    least = [float("inf"), float("inf")]
    for _ in range(times):
        start = time.perf_counter(), time.process_time()
        call()
        least = [
            min(least[0], time.perf_counter() - start[0]),
            min(least[1], time.process_time() - start[1]),
        ]
    return least[0], least[1]


def products(people: int, columns: int, width: int = 1000) -> tuple[float, float]:
    """Processor seconds of one matrix product over `width` sites, and its Gflop/s."""
    left = np.ones((people, width), dtype=np.float32)
    right = np.ones((width, columns), dtype=np.float32)
    wall, processor = best(lambda: left @ right)
    return processor / width, 2 * left.size * columns / wall / 1e9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sites", type=int, default=1_000_000)
    parser.add_argument("--people", type=int, default=10_000)
    parser.add_argument("--reference", type=int, default=59)
    chosen = parser.parse_args()
    rng, calls = np.random.default_rng(0), chosen.people * chosen.sites
    with tempfile.TemporaryDirectory() as folder:
        for name, people in (("targets", chosen.people), ("reference", chosen.reference)):
            write_plink(Path(folder) / name, people, chosen.sites, rng)
        packed = (Path(folder) / "targets.bed").stat().st_size
        targets, reference = (
            ta.genomics.read_genotypes(Path(folder) / f"{name}.bed") for name in ("targets", "reference")
        )
        frequencies = rng.uniform(0, 1, chosen.sites)
        options = {"threshold": "empirical", "coding": "genotypes"}
        print(f"{chosen.people:,} targets × {chosen.sites:,} sites, {chosen.reference} reference people")
        for attack in ("pool", "single"):
            start = time.perf_counter(), time.process_time()
            ta.trace(frequencies, targets, reference, attack=attack, **options)
            wall, processor = time.perf_counter() - start[0], time.process_time() - start[1]
            print(f"{attack}: {wall:.1f} s wall, {processor:.1f} s processor")
            print(
                f"  {calls / processor / 1e6:.0f} million calls a processor second; packed data read at",
                end=" ",
            )
            print(f"{packed / processor / 1e9:.2f} GB a processor second")
            if attack == "pool":
                seconds, flops = products(chosen.people, chosen.reference + 1)
                share = 2 * seconds * chosen.sites / processor
                print(f"  its matrix products alone, at {flops:.0f} Gflop/s: {share:.0%} of that time")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"peak memory of the process {peak:.2f} GiB; the calls unpacked {calls / 2**30:.1f} GiB")


if __name__ == "__main__":
    main()
