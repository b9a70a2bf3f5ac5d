"""The gallery: one page of every kind, made by the command beside it, about real or simulated people."""

from __future__ import annotations

import csv
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import tellall as ta

__all__ = ["GALLERY", "gallery_pages"]

_PATIENTS = "569 patients (breast cancer data that scikit-learn brings); the secret is the diagnosis."
_PLAN = """\
data = "patients.csv"
secret = "malignant"
public = ["texture", "smoothness", "symmetry", "fractal dimension"]

[bins]
texture = [15, 18, 21, 25]
smoothness = [0.085, 0.095, 0.105]
symmetry = [0.16, 0.18, 0.2]
"fractal dimension" = [0.058, 0.062, 0.067]

[[releases]]
name = "tables for the annual report"
statistic = { kind = "Marginals", ways = 4 }
protect = [{ kind = "Rounding", base = 3 }]

[[releases]]
name = "tables on the web"
statistic = { kind = "Marginals", ways = 3 }
protect = [{ kind = "Suppression", below = 10 }]
"""


@dataclass(frozen=True)
class Entry:
    """One page: what to call it, what it is about, the command, and how to make it in an empty folder."""

    name: str
    title: str
    about: str
    command: str
    page: str
    prepare: Callable[[Path], None]


def gallery_pages(folder: Path, *, run: bool = True) -> None:
    """Makes the pages that ``build/gallery`` lacks, and puts all of them and an index into a folder."""
    folder.mkdir(parents=True)
    kept = folder.parent.parent / "gallery"
    lines = ["# Gallery", "", "Real pages, each made by the command above it when this site was built.", ""]
    for entry in GALLERY:
        made = kept / entry.name / entry.page
        if run and not made.exists():
            _make(entry, kept / entry.name)
        lines += [f"## {entry.title}", "", entry.about, "", f"```sh\n{entry.command}\n```", ""]
        if made.exists():
            shutil.copy(made, folder / f"{entry.name}.html")
            lines += [f'<a href="{entry.name}.html">The page</a>, as it was written.', ""]
    (folder / "index.md").write_text("\n".join(lines), "utf-8")


def _make(entry: Entry, folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    entry.prepare(folder)
    if entry.command.startswith("tellall"):
        command = [sys.executable, "-m", *entry.command.replace("\\\n", "").split(), "--quiet"]
        done = subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, check=False)
        assert done.returncode in (0, 1, 3), (entry.name, done.returncode)
    assert (folder / entry.page).exists(), (entry.name, entry.page)


def _patients(folder: Path) -> None:
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer()
    columns = [name.removeprefix("mean ") for name in data.feature_names[:10]]
    rows = (
        [*map(float, row), 1 - int(benign)]
        for row, benign in zip(data.data[:, :10], data.target, strict=True)
    )
    _write(folder / "patients.csv", [*columns, "malignant"], rows)
    (folder / "patients.toml").write_text(_PLAN, "utf-8")


def _genomes(folder: Path) -> None:
    rng = np.random.default_rng(0)
    frequency = rng.uniform(0.05, 0.5, 1500)
    calls = (rng.random((400, 1500, 2)) < frequency[:, None]).sum(axis=2)
    names = [f"site{j}" for j in range(1500)]
    means = calls[:40].mean(axis=0) / 2
    _write(folder / "means.csv", ["name", "mean"], zip(names, means.round(2), strict=True))
    _write(folder / "targets.csv", ["id", *names], ([f"p{i}", *calls[i]] for i in range(240)))
    _write(folder / "reference.csv", ["id", *names], ([f"p{i}", *calls[i]] for i in range(240, 400)))
    (folder / "members.txt").write_text("".join(f"p{i}\n" for i in range(40)), "utf-8")


def _frequencies(folder: Path) -> None:
    rng = np.random.default_rng(0)
    frequency = rng.uniform(0.05, 0.5, 2000)
    shares = (rng.random((500, 2000, 2)) < frequency[:, None]).sum(axis=2).mean(axis=0) / 2
    rows = ([2, f"rs{1000 + j}", "G", "A", f"{share:.4f}", 1000] for j, share in enumerate(shares))
    head = ["#CHROM", "ID", "REF", "ALT", "ALT_FREQS", "OBS_CT"]
    lines = ["\t".join(map(str, line)) for line in (head, *rows)]
    (folder / "freqs.afreq").write_text("\n".join(lines) + "\n", "utf-8")


def _diabetes(folder: Path) -> None:
    from sklearn.datasets import load_diabetes

    data = load_diabetes(scaled=False)
    rows = ([*map(float, row), float(grew)] for row, grew in zip(data.data, data.target, strict=True))
    _write(folder / "diabetes.csv", [*data.feature_names, "progression"], rows)


def _firms(folder: Path) -> None:
    rng = np.random.default_rng(5)
    firms = ta.Dataset.from_arrays(
        np.column_stack([rng.integers(0, 3, 60), rng.integers(0, 3, 60), rng.integers(0, 2, 60)]),
        rng.lognormal(3, 1.3, 60),
        names=["region", "trade", "listed"],
    )
    kept = ta.publish(firms, ta.Sums(3, [["region", "trade"]]), ta.PPercent(10))
    totals = ta.publish(firms, ta.Sums(2, [["region"], ["trade"]]))
    ta.compare_rules(firms, [kept, totals], p=10).save(folder / "rules.html")


def _nothing(folder: Path) -> None:
    """The command needs no file."""


def _write(path: Path, head: Sequence[str], rows: object) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([head, *rows])  # type: ignore[misc]


GALLERY = (
    Entry(
        "report",
        "The report of an audit",
        f"Two releases, each alone and both together, with the cheapest change that passes. {_PATIENTS}",
        "tellall audit patients.toml",
        "patients-audit/report.html",
        _patients,
    ),
    Entry(
        "sweep",
        "A sweep of protections",
        f"What noise stops, and what it costs the reader. {_PATIENTS}",
        "tellall sweep patients.toml --scales 1,4,16 --repeats 3 -o study",
        "study/sweep.html",
        _patients,
    ),
    Entry(
        "trace",
        "A tracing",
        "Who was in the data? 40 members among 240 targets, simulated genomes of 1,500 sites.",
        "tellall trace --release means.csv --targets targets.csv --reference reference.csv \\\n"
        "  --coding genotypes --members members.txt -o traced",
        "traced/report.html",
        _genomes,
    ),
    Entry(
        "limit",
        "How many frequencies may be published",
        "2,000 allele frequencies of 500 simulated people: how many of them, before people are traced?",
        "tellall limit freqs.afreq --people 500 --most 2000 --html limit.html",
        "limit.html",
        _frequencies,
    ),
    Entry(
        "profile",
        "A privacy profile",
        "What differential privacy promises for a regression about 442 diabetes patients (scikit-learn).",
        "tellall profile diabetes.csv -y progression -x bmi -x bp --html profile.html",
        "profile.html",
        _diabetes,
    ),
    Entry(
        "bounds",
        "Bounds, before any data",
        "How much noise tables need and how much is enough, by the theorems.",
        "tellall bounds -n 10000 --attributes 20 --ways 3 --epsilon 1 --delta 1e-6 --html bounds.html",
        "bounds.html",
        _nothing,
    ),
    Entry(
        "rules",
        "The agencies' rules beside the attack",
        "Which cells of a table of turnovers do dominance and p % miss? 60 simulated firms.",
        'ta.compare_rules(firms, [kept, totals], p=10).save("rules.html")  # in Python',
        "rules.html",
        _firms,
    ),
    Entry(
        "paper",
        "A paper, rerun",
        "What it states, what we found, and a verdict on each statement.",
        "tellall paper robust-tracing -o pages",
        "pages/robust-tracing.html",
        _nothing,
    ),
)
