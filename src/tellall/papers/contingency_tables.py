"""The price of privately releasing contingency tables (Kasiviswanathan, Rudelson, Smith, Ullman 2010).

The paper has theorems and no experiments. The attacks are run at finite sizes, the spectral
theorem is tried, the mechanisms are attacked, and every constant that can be computed is computed.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

import tellall as ta
from tellall.core.work import Progress
from tellall.papers import contingency_attacks as attacks
from tellall.papers import contingency_lemmas as lemmas
from tellall.papers import contingency_mechanisms as mechanisms
from tellall.papers.claims import run_parts
from tellall.papers.contingency_spectrum import spectrum, spectrum_work
from tellall.papers.reader import read_paper
from tellall.report.kit.plot import number
from tellall.report.paper import PaperRerun, PaperTable

__all__ = [
    "PAPER",
    "rerun",
]

PAPER = read_paper("contingency-tables")


def rerun(
    folder: str | Path = ".",
    *,
    quick: bool = True,
    rng: int | np.random.Generator | None = 0,
    progress: Progress | None = None,
    about: str = "",
) -> PaperRerun:
    """The attacks, the spectral theorem, the mechanisms and the bounds; the folder is not read.

    Notes
    -----
    `quick` takes less than a minute on one core. Otherwise n is 2000 instead of 400, matrices grow to 10¹¹
    entries, and ten to fifteen minutes go by on two cores, nearly all of them on the least singular values
    of the largest.
    """
    parts = [
        *(
            PAPER.part(run, quick, work=5 if quick else slow)
            for run, slow in ((attacks.attributes, 30), (attacks.rows, 20), (attacks.beyond, 20))
        ),
        PAPER.part(spectrum, quick, work=spectrum_work(quick)),
        PAPER.part(mechanisms.mechanisms, quick, work=5 if quick else 20),
        *(PAPER.part(run, quick) for run in (mechanisms.costs, mechanisms.privacy, mechanisms.errata)),
        *lemmas.parts(quick),
    ]
    figures, cases = run_parts(parts, rng, progress, PAPER.keys_about(about))
    tables = [_table_1()] if about in ("", "Table 1") else []
    found = PAPER.rerun(() if about else figures, cases, rng, quick, tables=tables)
    return found.about(about) if about else found


def _table_1() -> PaperTable:
    """Table 1 beside its rates with constant 1 and no powers of logarithms but those in the formulas."""
    n, d, k, epsilon, delta = 100_000, 20, 3, 0.5, 1e-6
    found = ta.bounds.table(n, d, k, epsilon, delta).rows
    rates = {(row.guarantee, row.side): row.plain or math.nan for row in found}
    rows = [
        (name, upper, lower, number(rates[name, "upper"]), number(rates[name, "lower"]))
        for name, upper, lower in PAPER.tables["Table 1"]
    ]
    noise = number(ta.bounds.noisy_tables(d, k, epsilon, delta).std or math.nan)
    least = number(ta.bounds.least_noise(n, d, k, epsilon, delta).per_cell)
    caption = (
        f"noise of a cell. Ours: the rates with constant 1 at n = {n:,}, d = {d}, k = {k}, ε = {epsilon:g}, "
        f"δ = {delta:g}, as the paper gives no constants; Gaussian noise calibrated exactly adds {noise}; "
        f"no noise that is the same for all data is below {least}"
    )
    head = ("guarantee", "the paper, upper", "the paper, lower", "ours, upper", "ours, lower")
    return PaperTable("Table 1", caption, head, tuple(rows))
