"""Files of the same shape as the papers' larger data files, generated: what their tests run on anywhere."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

# fmt: off
CANCER = [
    "avganncount", "avgdeathsperyear", "incidencerate", "medincome", "popest2015", "povertypercent",
    "studypercap", "medianage", "medianagemale", "medianagefemale", "percentmarried", "pctnohs18_24",
    "pcths18_24", "pctbachdeg18_24", "pcths25_over", "pctbachdeg25_over", "pctunemployed16_over",
    "pctprivatecoverage", "pctempprivcoverage", "pctpubliccoverage", "pctpubliccoveragealone", "pctwhite",
    "pctblack", "pctasian", "pctotherrace", "pctmarriedhouseholds", "birthrate",
]
COUNTIES = [
    "All_Poverty_PC", "Med_Income", "All_With_PC", "All_Without_PC", "Incidence_Rate", "POPESTIMATE2015",
    "Falling", "Rising", "All_Poverty", "All_With", "All_Without",
]
# fmt: on


def flights(folder: Path, n: int = 4000, seed: int = 0) -> Path:
    """flights.parquet: delays with a heavy tail, arrival about departure, distance and time in the air."""
    import pandas as pd

    rng = np.random.default_rng(seed)
    departure = np.round(rng.standard_gamma(0.3, n) * 40 - 8)
    distance = rng.choice([200.0, 750.0, 1400.0, 2500.0], n)
    columns = {
        "dep_delay": departure,
        "arr_delay": np.round(-5.9 + 1.02 * departure + rng.normal(0, 18, n)),
        "distance": distance,
        "air_time": np.round(distance / 8 + rng.normal(20, 5, n)),
    }
    path = folder / "flights.parquet"
    pd.DataFrame(columns).to_parquet(path)
    return path


def counties(folder: Path, n: int = 300, seed: int = 1) -> Path:
    """lung_cancer_counties.csv: eleven features of very different sizes, a constant and a rate."""
    rng = np.random.default_rng(seed)
    features = rng.lognormal(0, 0.5, (n, 11)) * np.geomspace(1, 1e5, 11)
    features[:, 6:8] = rng.integers(0, 2, (n, 2))
    response = 50 + (features / features.std(axis=0)) @ rng.normal(0, 4, 11) + rng.normal(0, 6, n)
    rows = [
        [f"{i:05d}", f"County {i}", *map(repr, map(float, row)), 1, f"{rate:.4f}"]
        for i, (row, rate) in enumerate(zip(features, response, strict=True))
    ]
    head = ["FIPS", "AreaName", *COUNTIES, "Constant", "Mortality_Rate"]
    return _csv(folder / "lung_cancer_counties.csv", head, rows)


def cancer(folder: Path, n: int = 3047, seed: int = 2) -> Path:
    """cancer_reg.csv: 27 numbers, two columns of text, three with gaps, and the death rate (R² about 1/2)."""
    rng = np.random.default_rng(seed)
    features = (rng.normal(size=(n, 27)) + rng.normal(size=(n, 1))) * np.geomspace(0.1, 1e4, 27) + 50
    rate = 178.7 + (features - features.mean(axis=0)) / features.std(axis=0) @ rng.normal(0, 2.5, 27)
    rate = rate + rng.normal(0, 19, n)
    gaps = [["" if share < 0.3 else f"{share:.4f}" for share in row] for row in rng.random((n, 3))]
    rows = [
        [*map(repr, map(float, row)), f"{y:.4f}", "(a, b]", f"Place {i}", *gap]
        for i, (row, y, gap) in enumerate(zip(features, rate, gaps, strict=True))
    ]
    text = ["binnedinc", "geography", "pctsomecol18_24", "pctemployed16_over", "pctprivatecoveragealone"]
    return _csv(folder / "cancer_reg.csv", [*CANCER, "target_deathrate", *text], rows)


def transcript(path: Path, people: int = 73, queries: int = 3994, seed: int = 3) -> Path:
    """diffix_answers.npz: counts of random halves of the people, noise of sd 3.3 rounded to whole numbers."""
    rng = np.random.default_rng(seed)
    selected, truth = rng.integers(0, 2, (queries, people), dtype=np.uint8), rng.integers(0, 2, people)
    answers = np.rint(selected @ truth + rng.normal(0, 3.3, queries)).astype(np.int64)
    packed = np.packbits(selected, axis=1)
    np.savez(path, people=people, selected=packed, answers=answers, truth=truth)
    return path


def genotypes(folder: Path, n: int = 503, sites: int = 10_025, missing: int = 5108, seed: int = 4) -> Path:
    """genotypes.bed with .bim, .fam and .pop.csv: five populations, neighbouring sites correlated."""
    from scipy.special import ndtr

    rng = np.random.default_rng(seed)
    populations = np.minimum(5 * np.arange(n) // n, 4)
    populations[n - 107 :] = 4  # as many as the Tuscans
    base = rng.beta(0.8, 0.8, sites)
    shift = np.clip(base + rng.normal(0, 0.03, (5, sites)), 0.02, 0.98)[populations]
    counts = np.zeros((n, sites), dtype=np.int8)
    for _ in range(2):  # two haplotypes, each mostly a copy of its last site
        latent = rng.normal(size=(n, sites))
        for j in range(1, sites):
            latent[:, j] = 0.8 * latent[:, j - 1] + 0.6 * latent[:, j]
        counts += (ndtr(latent) < shift).astype(np.int8)
    holes = rng.choice(n * sites, missing, replace=False)
    codes = np.array([0b11, 0b10, 0b00], dtype=np.uint8)[counts]  # PLINK: 00 is two of the first allele
    codes.reshape(-1)[holes] = 0b01
    padded = np.zeros((-(-n // 4) * 4, sites), dtype=np.uint8)
    padded[:n] = codes
    quads = padded.T.reshape(sites, -1, 4)
    path = folder / "genotypes.bed"
    packed = (quads << np.array([0, 2, 4, 6], dtype=np.uint8)).sum(axis=2, dtype=np.uint8)
    path.write_bytes(b"\x6c\x1b\x01" + packed.tobytes())
    path.with_suffix(".bim").write_text(
        "".join(f"2\trs{j}\t0\t{1000 + 37 * j}\tA\tG\n" for j in range(sites))
    )
    path.with_suffix(".fam").write_text("".join(f"P{i} P{i} 0 0 0 -9\n" for i in range(n)))
    names = ("CEU", "FIN", "GBR", "IBS", "TSI")
    lines = "".join(f"P{i},{names[population]}\n" for i, population in enumerate(populations))
    path.with_suffix(".pop.csv").write_text("id,population\n" + lines)
    return path


def _csv(path: Path, head: list[str], rows: list[list[object]]) -> Path:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([head, *rows])
    return path
