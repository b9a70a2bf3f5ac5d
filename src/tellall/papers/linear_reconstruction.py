"""The power of linear reconstruction attacks (Kasiviswanathan, Rudelson, Smith 2013).

The paper has theorems and no experiments: every statement that a computer can try is tried.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tellall.core.work import Progress
from tellall.papers import linear_attacks as attacks
from tellall.papers import linear_lemmas as lemmas
from tellall.papers import linear_matrices as matrices
from tellall.papers.claims import run_parts
from tellall.papers.reader import read_paper
from tellall.report.paper import PaperRerun

__all__ = [
    "PAPER",
    "rerun",
]

PAPER = read_paper("linear-reconstruction")


def rerun(
    folder: str | Path = ".",
    *,
    quick: bool = True,
    rng: int | np.random.Generator | None = 0,
    progress: Progress | None = None,
    about: str = "",
) -> PaperRerun:
    """Every claim, tried; the paper needs no data, so the folder is not read."""
    effort = {name: both[0 if quick else 1] for name, both in PAPER.effort.items()}
    parts = [
        PAPER.part(attacks.recovery, effort, work=len(attacks.KINDS)),
        *(PAPER.part(run, effort) for run in (attacks.growth, attacks.bound, attacks.gross)),
        *(PAPER.part(run, effort) for run in (matrices.broken, matrices.geometry, matrices.ranks)),
        *(PAPER.part(run, effort) for run in (matrices.low_rank, matrices.remedies)),
        *lemmas.parts(effort),
        PAPER.part(attacks.exhaustive, effort, work=2),  # last, so that the others keep their random numbers
    ]
    figures, cases = run_parts(parts, rng, progress, PAPER.keys_about(about))
    found = PAPER.rerun(() if about else figures, cases, rng, quick)
    return found.about(about) if about else found
