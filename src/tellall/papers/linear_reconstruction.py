"""The power of linear reconstruction attacks (Kasiviswanathan, Rudelson, Smith 2013), rerun by simulation.

The paper has theorems and no experiments: every statement that a computer can try is tried, with our numbers
beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from tellall.attack.blackbox.estimate import Progress
from tellall.papers.linear_bound import bound_figure, bound_statements
from tellall.papers.linear_errata import errata
from tellall.papers.linear_functions import functions, ranks_figure
from tellall.papers.linear_geometry import least_values, low_rank, norms, sections
from tellall.papers.linear_people import KINDS
from tellall.papers.linear_recovery import growth, recovery_figures, recovery_statements, sweep
from tellall.papers.linear_robustness import break_theorem, corruption_figure, corruption_statements
from tellall.papers.parts import Found, Part, Tell, run_parts
from tellall.release.protections.law import Rng
from tellall.report.paper import PaperRerun

__all__ = [
    "rerun",
]

_NOTES = (
    "The paper has theorems and no experiments. Where a theorem is asymptotic, the size tried and the share "
    "asked for are ours, and the statement says so; its constants (c, C′, γ, the exponentially small "
    "probabilities) are not given by the paper and cannot be checked.",
    "Recovery is by tellall's least squares, which adds a box and a prior to the paper's. Bounds, growth and "
    "gross errors are tried on the paper's own decoders: plain least squares, and l1 without a box.",
    "Attributes are fair coins and regressors uniform on [−1, 1], as in the proofs; k = 2 attributes beside "
    "the secret unless said otherwise.",
    "Not reproduced: the degree-k kernels in detail and LP decoding of general estimators, which the paper "
    "defers to a full version (ours are shown); iterated logarithms; running times.",
    "Theorem 4.2's proof takes B₂ for a matrix of independent entries, but its rows depend on θ~, which "
    "depends on the whole table (E-LR-10). The attack works all the same: log-cosh and Poisson above.",
    "“noise to at most 1 − γ fraction of the entries” (Thms 3.1, 3.3, 4.1) is read as: at least a fraction "
    "1 − γ has small noise, the rest is arbitrary (E-LR-8). Thm 3.2's proof invokes Thm 3.9 for the attack "
    "and means Thm 2.1; before Thm 2.1, ‖e‖ = β√m must be ≤ (E-LR-10).",
)


@dataclass(frozen=True)
class _Effort:
    """How many people and runs each part takes."""

    people: int
    runs: int
    growing: tuple[int, ...]
    growth_runs: int
    bound_people: int
    bound_runs: int
    instances: int
    corrupted: int
    corruption_runs: int
    break_runs: int
    attributes: tuple[int, ...]
    value_runs: int
    norms: tuple[int, ...]
    searched: int
    low_rank: int
    low_rank_runs: int


_QUICK = _Effort(
    people=80,
    runs=2,
    growing=(32, 64, 128, 256),
    growth_runs=20,
    bound_people=100,
    bound_runs=4,
    instances=2_000,
    corrupted=60,
    corruption_runs=3,
    break_runs=2,
    attributes=(16, 24, 32, 48),
    value_runs=5,
    norms=(16, 36, 64, 100),
    searched=64,
    low_rank=60,
    low_rank_runs=11,
)
_FULL = _Effort(
    people=200,
    runs=6,
    growing=(32, 64, 128, 256, 512),
    growth_runs=20,
    bound_people=200,
    bound_runs=10,
    instances=20_000,
    corrupted=100,
    corruption_runs=8,
    break_runs=10,
    attributes=(16, 24, 32, 48, 64, 96),
    value_runs=9,
    norms=(16, 36, 64, 100, 144),
    searched=144,
    low_rank=200,
    low_rank_runs=15,
)


def rerun(
    folder: str | Path = ".", *, quick: bool = True, rng: Rng = 0, progress: Progress | bool | None = None
) -> PaperRerun:
    """Every statement, tried; the paper needs no data, so the folder is not read."""
    effort = _QUICK if quick else _FULL
    parts = [Part(partial(part, effort), work) for part, work in _PARTS]
    figures, statements = run_parts(parts, rng, progress)
    return PaperRerun(
        name="linear-reconstruction",
        title="The power of linear reconstruction attacks",
        reference="Kasiviswanathan, Rudelson, Smith, SODA 2013",
        statements=statements,
        figures=figures,
        notes=_NOTES,
        seed=rng if isinstance(rng, int) else None,
        quick=quick,
    )


def _recovery(effort: _Effort, rng: np.random.Generator, tell: Tell) -> Found:
    found = sweep(effort.people, effort.runs, rng, lambda: tell(1))
    return recovery_figures(found), recovery_statements(found)


def _growth(effort: _Effort, rng: np.random.Generator, tell: Tell) -> Found:
    figure, found = growth(effort.growing, effort.growth_runs, rng)
    return [figure], found


def _bound(effort: _Effort, rng: np.random.Generator, tell: Tell) -> Found:
    figure, foreseen = bound_figure(effort.bound_people, effort.bound_runs, rng)
    return [figure], [*bound_statements(effort.instances, rng), foreseen]


def _gross(effort: _Effort, rng: np.random.Generator, tell: Tell) -> Found:
    figure, found = corruption_figure(effort.corrupted, effort.corruption_runs, rng)
    return [figure], [*found, *corruption_statements(effort.corrupted, effort.corruption_runs, rng)]


def _broken(effort: _Effort, rng: np.random.Generator, tell: Tell) -> Found:
    figure, found = break_theorem(effort.break_runs, rng)
    return [figure], found


def _geometry(effort: _Effort, rng: np.random.Generator, tell: Tell) -> Found:
    size, of_size = norms(effort.norms, rng)
    even, of_even = sections(effort.norms, effort.searched, rng)
    least, of_least = least_values(effort.attributes, effort.value_runs, rng)
    return [size, even, least], [*of_size, *of_even, *of_least]


def _functions(effort: _Effort, rng: np.random.Generator, tell: Tell) -> Found:
    figure, found = ranks_figure(100, 24, rng)
    return [figure], [*found, *functions()]


def _low_rank(effort: _Effort, rng: np.random.Generator, tell: Tell) -> Found:
    figure, found = low_rank(effort.low_rank, effort.low_rank_runs, rng)
    return [figure], [found, *errata(rng)]


_PARTS: tuple[tuple[Callable[[_Effort, np.random.Generator, Tell], Found], int], ...] = (
    (_recovery, len(KINDS)),
    (_growth, 1),
    (_bound, 1),
    (_gross, 1),
    (_broken, 1),
    (_geometry, 1),
    (_functions, 1),
    (_low_rank, 1),
)
