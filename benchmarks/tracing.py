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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sites", type=int, default=1_000_000)
    parser.add_argument("--people", type=int, default=10_000)
    parser.add_argument("--reference", type=int, default=59)
    chosen = parser.parse_args()
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        for name, people in (("targets", chosen.people), ("reference", chosen.reference)):
            write_plink(Path(folder) / name, people, chosen.sites, rng)
        packed = (Path(folder) / "targets.bed").stat().st_size
        targets, reference = (
            ta.genomics.read_genotypes(Path(folder) / f"{name}.bed") for name in ("targets", "reference")
        )
        frequencies = rng.uniform(0, 1, chosen.sites)
        for attack in ("pool", "single"):
            wall, processor = best(
                lambda attack=attack: ta.trace(
                    frequencies,
                    targets,
                    reference,
                    attack=attack,
                    threshold="empirical",
                    coding="genotypes",
                ),
                1,
            )
            calls = chosen.people * chosen.sites
            print(
                f"{attack}: {chosen.people:,} targets × {chosen.sites:,} sites, {chosen.reference} reference people"
            )
            print(
                f"  {wall:.1f} s wall, {processor:.1f} s processor; {calls / wall / 1e6:.0f} million calls/s"
            )
            print(f"  packed data read at {packed / wall / 1e9:.2f} GB/s")
            if attack == "pool":
                left = np.ones((chosen.people, 1000), dtype=np.float32)
                right = np.ones((1000, chosen.reference + 1), dtype=np.float32)
                product_wall, product_processor = best(lambda: left @ right)
                share = 2 * product_processor * chosen.sites / 1000 / processor
                flops = 2 * left.size * right.shape[1] / product_wall / 1e9
                print(
                    f"  matrix products alone run at {flops:.0f} Gflop/s: {share:.0%} of the processor time"
                )
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(f"peak memory of the process {peak:.2f} GiB; the calls unpacked: {calls / 2**30:.1f} GiB")


if __name__ == "__main__":
    main()
