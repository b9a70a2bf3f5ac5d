"""The power of linear reconstruction attacks (Kasiviswanathan, Rudelson, Smith 2013), rerun by simulation.

The paper has theorems and no experiments: every statement that a computer can try is tried, with our numbers
beside it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tellall.noise import Rng, as_rng
from tellall.papers.linear_bound import bound_figure, bound_statements
from tellall.papers.linear_errata import errata
from tellall.papers.linear_functions import functions, ranks_figure
from tellall.papers.linear_geometry import least_values, low_rank, norms, sections
from tellall.papers.linear_recovery import growth, recovery_figures, recovery_statements, sweep
from tellall.papers.linear_robustness import break_theorem, corruption_figure, corruption_statements
from tellall.report.paper import PaperRerun, Statement
from tellall.report.plot import Figure

__all__ = ["rerun"]

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
    break_runs=3,
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
    folder: str | Path = ".", *, quick: bool = True, rng: Rng = 0, progress: object = None
) -> PaperRerun:
    """Every statement, tried; the paper needs no data, so the folder is not read."""
    from threadpoolctl import threadpool_limits  # threads that wait for each other cost more than they save

    with threadpool_limits(limits=1):
        statements, figures = _parts(_QUICK if quick else _FULL, as_rng(rng))
    return PaperRerun(
        name="linear-reconstruction",
        title="The power of linear reconstruction attacks",
        reference="Kasiviswanathan, Rudelson, Smith, SODA 2013",
        statements=tuple(statements),
        figures=tuple(figures),
        notes=_NOTES,
        seed=rng if isinstance(rng, int) else None,
        quick=quick,
    )


def _parts(effort: _Effort, rng: np.random.Generator) -> tuple[list[Statement], list[Figure]]:
    """Statements and figures in the paper's order, each part with draws of its own."""
    draws = iter(rng.spawn(11))
    statements: list[Statement] = []
    figures: list[Figure] = []

    def add(figure: Figure, found: Iterable[Statement]) -> None:
        figures.append(figure)
        statements.extend(found)

    found = sweep(effort.people, effort.runs, next(draws))
    figures.extend(recovery_figures(found))
    statements.extend(recovery_statements(found))
    add(*growth(effort.growing, effort.growth_runs, next(draws)))
    figure, foreseen = bound_figure(effort.bound_people, effort.bound_runs, next(draws))
    add(figure, (*bound_statements(effort.instances, next(draws)), foreseen))
    add(*corruption_figure(effort.corrupted, effort.corruption_runs, next(draws)))
    statements.extend(corruption_statements(effort.corrupted, effort.corruption_runs, next(draws)))
    add(*break_theorem(effort.break_runs, next(draws)))
    add(*norms(effort.norms, generator := next(draws)))
    add(*sections(effort.norms, effort.searched, generator))
    add(*least_values(effort.attributes, effort.value_runs, generator))
    add(*ranks_figure(100, 18, next(draws)))
    statements.extend(functions())
    figure, statement = low_rank(effort.low_rank, effort.low_rank_runs, next(draws))
    add(figure, (statement,))
    statements.extend(errata(next(draws)))
    return statements, figures
