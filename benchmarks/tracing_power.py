"""The power of every tracing attack at 1 % false positives, against reference people and protection.

python benchmarks/tracing_power.py [--releases 20]
"""

from __future__ import annotations

import argparse

import numpy as np

import tellall as ta

ATTACKS = ("single", "pool", "likelihood-ratio", "homer")
PROTECTIONS = {"exact": None, "rounded to 0.1": ta.Rounding(0.1), "noise of sd 0.1": ta.Gaussian(0.1)}


def powers(n: int, d: int, pool: int, protect: object, releases: int) -> dict[str, np.ndarray]:
    """The power of each attack, one per release; the same people face all attacks."""
    rng = np.random.default_rng([n, d, pool])
    found: dict[str, list[float]] = {attack: [] for attack in ATTACKS if pool > 1 or attack != "pool"}
    for _ in range(releases):
        p = rng.uniform(0.05, 0.95, d)
        people = (rng.random((n + 300 + pool, d)) < p).astype(np.int8)
        q = people[:n].mean(axis=0)
        q = q if protect is None else protect.perturb(q, rng)
        for attack, values in found.items():
            tracing = ta.trace(
                q,
                people[: n + 300],
                people[n + 300 :],
                attack=attack,
                threshold="empirical",
                coding="bits",
                n=n,
                anyway=True,  # people of one population, and noise that is not declared
            )
            values.append(ta.score(tracing, np.arange(n + 300) < n).power(0.01).value)
    return {attack: np.array(values) for attack, values in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--releases", type=int, default=20)
    releases = parser.parse_args().releases
    n, d = 50, 2000
    print(f"n = {n}, d = {d}, frequencies uniform on [0.05, 0.95], {releases} releases")
    print("| reference people | release | " + " | ".join(ATTACKS) + " |")
    print("| --- | --- |" + " --- |" * len(ATTACKS))
    for pool in (1, 2, 5, 20, 100):
        for name, protect in PROTECTIONS.items():
            found = powers(n, d, pool, protect, releases)
            cells = [f"{found[a].mean():.3f}" if a in found else "" for a in ATTACKS]
            print(f"| {pool} | {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
