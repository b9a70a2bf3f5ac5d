"""Inputs that get past the first checks: well made, then bent in one or two places.

Every input is a folder of files and a command, made from one number, so that a failure can be made again.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import tellall as ta
from tests.hostile.bending import HARSH, Command, Rng, bent, bent_bytes, toml
from tests.hostile.folders import FOLDER_KINDS

__all__ = ["KINDS", "make"]

WORDS = [
    "yes",
    "no",
    "north",
    "south",
    "Łódź",
    "a b",
    "x,y",
    'say "no"',
    "'",
    "",
    "NA",
    "nan",
    "0",
    "1",
    "01",
]


def name_of(rng: Rng) -> str:
    plain = rng.choice(["age", "sex", "region", "income", "ill", "county", "x1", "B-2", "Größe"])
    return rng.choice(HARSH) if rng.random() < 0.04 else plain


def column(rng: Rng, n: int) -> list[str]:
    kind = rng.randrange(6)
    if kind == 0:
        return [str(rng.randrange(rng.choice([2, 3, 9]))) for _ in range(n)]
    if kind == 1:
        return [rng.choice(WORDS[: rng.randrange(2, 6)]) for _ in range(n)]
    if kind == 2:
        return [f"{rng.gauss(40, 15):.{rng.randrange(4)}f}" for _ in range(n)]
    if kind == 3:
        words = [rng.choice(WORDS), rng.choice(WORDS), rng.choice(HARSH) if rng.random() < 0.3 else "c"]
        return [rng.choice(words) for _ in range(n)]
    if kind == 4:
        return [rng.choice(["TRUE", "FALSE"]) for _ in range(n)]
    return ["same"] * n if rng.random() < 0.2 else [rng.choice("mf") for _ in range(n)]


def cell(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if any(mark in text for mark in ',"\n\r') else text


def table(rng: Rng, *, fewest: int = 8) -> tuple[str, list[str], str]:
    """A CSV of people, its column names and which of them is the secret."""
    n = rng.randrange(fewest, 40)
    names = list(dict.fromkeys(name_of(rng) for _ in range(rng.randrange(3, 6))))
    names = [*names, *[f"c{number}" for number in range(3 - len(names))]]
    secret = names[-1]
    columns = {name: column(rng, n) for name in names[:-1]}
    values = rng.choice([["yes", "no"], ["0", "1"], ["0", "1"], ["a", "b", "c"]])
    if rng.random() < 0.06:
        values = ["1.5", "2.25", "7", "-3", "0.1"]
    columns[secret] = [rng.choice(values) for _ in range(n)]
    lines = [
        ",".join(map(cell, columns)),
        *(",".join(map(cell, row)) for row in zip(*columns.values(), strict=True)),
    ]
    return "\n".join(lines) + "\n", names, secret


def write_people(rng: Rng, folder: Path, *, bend: float = 0.0) -> tuple[list[str], str]:
    text, names, secret = table(rng)
    data = text.encode()
    (folder / "people.csv").write_bytes(bent_bytes(rng, data) if rng.random() < bend else data)
    return names, secret


def statistic(rng: Rng, public: list[str]) -> dict[str, Any]:
    """A statistic as a plan writes it."""
    kind = rng.choice(["Marginals"] * 14 + ["Predicates", "Estimator", "Tables", "SubsetCounts"])
    if kind in ("Marginals", "Tables"):
        ways = rng.randrange(2, 4) if kind == "Marginals" else rng.randrange(1, min(len(public), 3) + 1)
        found: dict[str, Any] = {"kind": kind, "ways": ways}
        if rng.random() < 0.3:
            found["scale"] = rng.choice(["counts", "fractions"])
        size = ways - (kind == "Marginals")
        if rng.random() < 0.2 and 0 < size <= len(public):
            found["attributes"] = [rng.sample(public, size)]
        return found
    if kind == "Predicates":
        return {
            "kind": kind,
            "function": rng.choice(["xor", "and", "or", "majority"]),
            "ways": rng.randrange(1, 4),
        }
    if kind == "Estimator":
        return {"kind": kind, "loss": rng.choice(["linear", "logistic"]), "block": rng.randrange(1, 3)}
    if kind == "SubsetCounts":
        return {"kind": kind, "subsets": [f"{rng.choice(public)} {rng.choice(['==', '<'])} 1"]}
    return {"kind": "Means"}


def protection(rng: Rng) -> dict[str, Any]:
    scale = rng.choice([0.1, 1, 2.5, 10, 1000])
    return rng.choice(
        [
            {"kind": "Gaussian", "std": scale},
            {"kind": "Laplace", "scale": scale},
            {"kind": "Geometric", "scale": scale},
            {"kind": "DiscreteGaussian", "sigma": scale},
            {"kind": "Rounding", "base": rng.choice([2, 3, 5, 10])},
            {"kind": "Suppression", "below": rng.choice([2, 5, 10]), "complementary": rng.random() < 0.3},
            {"kind": "Swapping", "fraction": 0.1},
            {"kind": "Subsample", "fraction": 0.5},
            {"kind": "Corruption", "fraction": 0.1, "size": 5},
        ]
    )


def _late(plain: dict[str, Any]) -> bool:
    """Whether a protection comes after those that change records."""
    return plain["kind"] not in ("Swapping", "Subsample")


def plan(rng: Rng, names: list[str], secret: str, releases: int = 0, *, by: bool = False) -> dict[str, Any]:
    """A plan that could be meant."""
    public = [name for name in names if name != secret]
    count = releases or rng.choice([1, 1, 1, 2])
    made = {
        "data": "people.csv",
        "secret": secret,
        "seed": rng.randrange(100),
        "bins": rng.choice([2, 3, 4]),
        "steps": rng.random() < 0.2,
        "releases": [
            {
                "statistic": statistic(rng, public),
                "protect": sorted((protection(rng) for _ in range(rng.choice([0, 1, 1, 2]))), key=_late),
            }
            for _ in range(count)
        ],
    }
    extras = {"limit": 0.1, "exposed_limit": 3, "repeats": 2, "by": rng.choice(public), "public": public}
    for key, value in extras.items():
        if rng.random() < 0.08 and (key != "by" or by):
            made[key] = value
    return made


# each kind writes its files and returns its command


def _plans(rng: Rng, folder: Path) -> Command:
    names, secret = write_people(rng, folder)
    made = plan(rng, names, secret)
    if rng.random() < 0.2:
        made = bent(rng, made)
    text = toml(made).encode("utf-8", "surrogatepass")
    (folder / "plan.toml").write_bytes(bent_bytes(rng, text) if rng.random() < 0.03 else text)
    return ["publish", "plan.toml", "-o", "release.json", "--seed", "1", "-q"]


def _people(rng: Rng, folder: Path) -> Command:
    _, secret = write_people(rng, folder, bend=0.35)
    return ["init", "people.csv", *(["--secret", secret] if rng.random() < 0.7 else []), "-q"]


def _releases(rng: Rng, folder: Path) -> Command:
    n, d = rng.randrange(6, 30), rng.randrange(2, 5)
    numbers = np.random.default_rng(rng.randrange(2**32))
    public, secret = numbers.integers(0, rng.choice([2, 3]), (n, d)), numbers.integers(0, 2, n)
    public[:2], secret[:2] = [[0] * d, [1] * d], [0, 1]  # no column is the same for everybody
    people = ta.Dataset.from_arrays(public, secret)
    names = list(people.public.names)
    (folder / "public.csv").write_text(
        "\n".join([",".join(names), *(",".join(map(str, row)) for row in public.tolist())]) + "\n"
    )
    for _ in range(20):
        try:
            described = ta.Plan.from_mapping(
                {"releases": plan(rng, [*names, "s"], "s", 1)["releases"]}
            ).releases[0]
            ta.publish(people, described.statistic, described.protections, 0, where=described.where).save(
                folder / "release.json"
            )
            break
        except ta.TellallError:
            continue
    else:
        ta.publish(people, ta.Marginals(2)).save(folder / "release.json")
    if rng.random() < 0.55:
        document = json.loads((folder / "release.json").read_text())
        for _ in range(rng.choice([1, 1, 2])):
            document = _bent_values(rng, document) if rng.random() < 0.6 else bent(rng, document)
        (folder / "release.json").write_text(json.dumps(document))
    return ["attack", "release.json", "--public", "public.csv", "-o", "attack.json", "-q"]


def _bent_values(rng: Rng, document: dict[str, Any]) -> dict[str, Any]:
    """Other values of the right shape: what a careless or a lying publisher would print."""
    values = document.get("values")
    if not isinstance(values, list) or not values:
        return document
    for _ in range(rng.choice([1, 2, len(values)])):
        at = rng.randrange(len(values))
        values[at] = rng.choice([None, 0, -5, 1e6, 1e300, -1e-300, 0.5, rng.gauss(0, 100), 10**17])
    return document


def _coefficients(rng: Rng, folder: Path) -> Command:
    """Printed coefficients; read by the library, so the command is a marker that the runner knows."""
    terms = rng.choice([["a0"], ["a1"], ["a0", "a1"], ["const", "a0"], ["const", "a0", "a1"], ["a9"]])
    listed = [
        {"block": block, "term": term, "value": rng.choice([rng.gauss(0, 1), rng.gauss(0, 1), 0, 50, -1e3])}
        for block in range(rng.randrange(1, 3))
        for term in terms
    ]
    if rng.random() < 0.35:
        listed = bent(rng, listed)
    (folder / "table.json").write_text(json.dumps(listed))
    return ["coefficients", rng.choice(["linear", "logistic"])]


def _genotypes(rng: Rng, folder: Path) -> Command:
    numbers = np.random.default_rng(rng.randrange(2**32))
    sites = rng.randrange(4, 60)
    frequency = numbers.uniform(0.1, 0.9, sites)
    kind = rng.choice(["bed", "vcf", "csv"])
    for name, n in (("t", 10), ("ref", 12)):
        calls = (numbers.random((n, sites, 2)) < frequency[:, None]).sum(axis=2)
        _write_calls(rng, folder / f"{name}.{kind}", calls, kind)
    if kind == "csv":
        text = "name,mean\n" + "".join(f"s{j},{f:.3f}\n" for j, f in enumerate(frequency))
        release = "f.csv"
    else:
        text = "#CHROM\tID\tREF\tALT\tALT_FREQS\tOBS_CT\n"
        text += "".join(f"1\ts{j}\tG\tA\t{f:.3f}\t20\n" for j, f in enumerate(frequency))
        release = "f.afreq"
    (folder / release).write_text(text)
    if rng.random() < 0.4:
        chosen = rng.choice(sorted(folder.iterdir()))
        chosen.write_bytes(
            bent_bytes(rng, chosen.read_bytes().replace(b"\xff", b"\xfe"))
            if chosen.suffix != ".bed"
            else chosen.read_bytes()[: rng.randrange(3, 60)]
        )
    size = [] if release == "f.afreq" and rng.random() < 0.5 else ["--people", "10"]
    files = ["--release", release, "--targets", f"t.{kind}", "--reference", f"ref.{kind}"]
    return ["trace", *files, *size, "--delta", "0.2", "-o", "trace.json", "-q"]


def _write_calls(rng: Rng, path: Path, calls: np.ndarray, kind: str) -> None:
    n, sites = calls.shape
    if kind == "csv":
        rows = [
            ",".join(f"s{j}" for j in range(sites)),
            *(",".join(map(str, (row > 0) * 1)) for row in calls),
        ]
        path.write_text("\n".join(rows) + "\n")
    elif kind == "vcf":
        people = "\t".join(f"{path.stem}{i}" for i in range(n))
        lines = [
            "##fileformat=VCFv4.2",
            '##FORMAT=<ID=GT,Number=1,Type=String,Description="Genotype">',
            "##contig=<ID=1>",
            f"#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\t{people}",
        ]
        shown = np.array(["0/0", "0/1", "1/1"])
        for j in range(sites):
            cells = "\t".join(shown[calls[:, j]])
            lines.append(f"1\t{j + 1}\ts{j}\tG\tA\t.\t.\t.\tGT\t{cells}")
        path.write_text("\n".join(lines) + "\n")
    else:
        codes = np.array([3, 2, 0], dtype=np.uint8)[
            calls.T
        ]  # PLINK: 11 none, 10 one, 00 two of the first allele
        padded = np.zeros((sites, -(-n // 4) * 4), dtype=np.uint8)
        padded[:, :n] = codes
        packed = (
            (padded.reshape(sites, -1, 4) << np.array([0, 2, 4, 6], dtype=np.uint8))
            .sum(axis=2)
            .astype(np.uint8)
        )
        path.write_bytes(b"\x6c\x1b\x01" + packed.tobytes())
        path.with_suffix(".fam").write_text("".join(f"0\t{path.stem}{i}\t0\t0\t0\t-9\n" for i in range(n)))
        path.with_suffix(".bim").write_text("".join(f"1\ts{j}\t0\t{j + 1}\tA\tG\n" for j in range(sites)))


def _audits(rng: Rng, folder: Path) -> Command:
    names, secret = write_people(rng, folder)
    (folder / "plan.toml").write_text(toml(plan(rng, names, secret, 1, by=True)))
    return ["audit", "plan.toml", "--jobs", "1", "-o", "out", "-q"]


KINDS: dict[str, Callable[[Rng, Path], Command]] = {
    "plan": _plans,
    "people": _people,
    "release": _releases,
    "table": _coefficients,
    "genotypes": _genotypes,
    "audit": _audits,
    **FOLDER_KINDS,
}


def make(kind: str, seed: int, folder: Path) -> Command:
    """Writes the files of one input and returns its command."""
    return KINDS[kind](random.Random(f"{kind} {seed}"), folder)
