"""Noise analysis for linear regression reconstruction attacks (Yadav and Koga 2021), rerun.

Its tables, what makes them come out, its conclusion tested fairly, and logistic regression, which it leaves
open.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

import numpy as np

from tellall.algebra.solvers.minimum_norm import norm_certificate
from tellall.attack.blackbox.estimate import Progress, reporter
from tellall.attack.reconstruct.attack import Reconstruction, reconstruct
from tellall.attack.reconstruct.reals import RealReconstruction
from tellall.experiment.risk import score
from tellall.papers.regression_noise_attack import Regressions
from tellall.papers.regression_noise_beyond import beyond
from tellall.papers.regression_noise_claims import statements
from tellall.papers.regression_noise_data import SCALES, RegressionData, load, prepare
from tellall.papers.regression_noise_fair import MODELS, fair, trade_off
from tellall.papers.regression_noise_figures import figures
from tellall.papers.regression_noise_found import Checks, Found, Known
from tellall.papers.regression_noise_logistic import LOGISTIC, cut_sample, logistic_noise, logistic_sizes
from tellall.papers.regression_noise_study import law, sample_of, sizes, sweep, variants
from tellall.people.dataset import Dataset
from tellall.release.protections.law import Rng, as_rng
from tellall.release.release import publish
from tellall.report.paper import PaperRerun

__all__ = [
    "Plan",
    "collect",
    "rerun",
]

_NOTES = (
    "The error is the mean absolute error over records, in the secret's unit; utility is the prediction "
    "error of the noisy regressions over that of the clean ones. Columns are standardised with the mean and "
    "deviation of all records, and the secret is left as it is, unless said otherwise.",
    "Singular values below 1e-10 of the largest count as zero. The attack's row of ones appears once per "
    "column, so all but one of them are dependent; what a solver does with those decides its answer where "
    "noise makes them contradict each other.",
    "The paper does not print its sample size for Table 3 beyond “the size with the lowest error”, which is "
    "10 or 20, nor how the secret was scaled; the preparations tried are all shown.",
    "A baseline is what one would guess about a record that is not in the release: the median, the better of "
    "a linear and a tree model from the public columns, and the same regressions fitted without it.",
)
_OTHER = (
    "The paper's data (cancer_reg.csv) were not given, so scikit-learn's diabetes patients stand in: its "
    "printed tables are not compared."
)


@dataclass(frozen=True)
class Plan:
    """How much of everything.

    Attributes
    ----------
    repeats, size_repeats, variant_repeats
        Samples for Table 3 (the paper's ten), for Table 2 (the paper's 50), and for each preparation.
    fair_samples, fair_draws
        Samples, and draws of the noise in each, on which families are compared.
    trade_repeats, stds
        Samples, and standard deviations of the noise, on which the two attacks are compared.
    logistic_repeats
        Samples of each size and noise for logistic regression.
    known
        The sizes at which the attack is set beside its baselines, and how many samples of each.
    logistic_known
        The same for logistic regression, one sample each.
    """

    repeats: int
    size_repeats: int
    variant_repeats: int
    fair_samples: int
    fair_draws: int
    trade_repeats: int
    stds: tuple[float, ...]
    logistic_repeats: int
    known: tuple[tuple[int | Literal["d + 1", "all"], int], ...]
    logistic_known: tuple[int | Literal["d + 1", "all"], ...]


_QUICK = Plan(
    repeats=10,
    size_repeats=50,
    variant_repeats=50,
    fair_samples=60,
    fair_draws=50,
    trade_repeats=10,
    stds=(0.01, 0.1, 1.0, 3.0, 10.0, 30.0, 100.0),
    logistic_repeats=12,
    known=(("d + 1", 4), (50, 4), (100, 4), ("all", 1)),
    logistic_known=(50, 200),
)
_FULL = Plan(
    repeats=10,
    size_repeats=50,
    variant_repeats=400,
    fair_samples=400,
    fair_draws=100,
    trade_repeats=100,
    stds=(0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0),
    logistic_repeats=60,
    known=(("d + 1", 10), (50, 10), (100, 10), (200, 10), (500, 5), (1000, 3), ("all", 1)),
    logistic_known=("d + 1", 50, 100, 200, 1000),
)

_EXPERIMENTS = 9
T = TypeVar("T")


def rerun(
    folder: str | Path = ".", *, quick: bool = True, rng: Rng = 0, progress: Progress | bool | None = None
) -> PaperRerun:
    """The paper on its data (the file, or a folder that holds it), ours beside its tables."""
    with reporter(progress, _EXPERIMENTS, "rerunning") as tell:
        found = collect(load(folder), _QUICK if quick else _FULL, as_rng(rng), tell)
    return PaperRerun(
        name="regression-noise",
        title="Noise analysis for linear regression reconstruction attacks",
        reference="Yadav, Koga, 2021",
        statements=(*statements(found), *beyond(found)),
        figures=figures(found),
        notes=_NOTES if found.data.paper else (_OTHER, *_NOTES),
        seed=rng if isinstance(rng, int) else None,
        quick=quick,
        details={"table_3": found.table()},
    )


def collect(
    data: RegressionData,
    plan: Plan,
    rng: np.random.Generator,
    tell: Callable[[int], None] = lambda done: None,
) -> Found:
    """Every experiment of the plan; tells after each."""

    def told(found: T) -> T:
        tell(1)
        return found

    n = 20 if data.paper else data.d - 2
    near = variants(data, (10, n), plan.variant_repeats, rng) if data.paper else ()
    best = near[0] if near else None
    edge = data.d + 1
    size = sorted({10, 20, edge - 1, edge, edge + 1, 50, 100, 200, 500, 1000, 2000, data.n})
    lsizes = sorted({edge // 2, edge, round(1.8 * edge), round(2.5 * edge), round(3.6 * edge), 200})
    bit_stds = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
    return Found(
        data=data,
        sizes=told(sizes(data, [s for s in size if s <= data.n], plan.size_repeats, rng)),
        checks=told(check(data, n, rng)),
        sweep=told(sweep(data, n, SCALES, plan.repeats, rng)),
        variants=near,
        nearest=sweep(data, best.n, SCALES, plan.repeats, rng, how=best.how, unit=best.unit)
        if best
        else None,
        fair=told(fair(data, n, (1.05, 1.2, 1.5, 2.0, 3.0), plan.fair_samples, plan.fair_draws, rng)),
        trade_off=told(trade_off(data, n, plan.stds, plan.trade_repeats, rng)),
        known=told(_known(data, [(_size(data, n), count) for n, count in plan.known], rng)),
        logistic=told(logistic_sizes(data, lsizes, plan.logistic_repeats, rng)),
        logistic_noise=told(logistic_noise(data, edge, bit_stds, plan.logistic_repeats, rng)),
        logistic_known=told(_known_bits(data, [_size(data, n) for n in plan.logistic_known], rng)),
    )


def check(data: RegressionData, n: int, rng: np.random.Generator) -> Checks:
    """The optimality conditions at a noisy attack, and what an exact one gives."""
    some = sample_of(data, n, rng)
    models, secret = Regressions(prepare(data.features, some, "standardised")), data.secret[some]
    clean = models.fit(secret)
    noisy = clean + law("Gaussian", 0.1).sample(clean.size, rng)
    certified = norm_certificate(models.rows, models.attack(noisy), models.targets(noisy))
    stray = models.targets(clean) * np.repeat(clean[::2], 2)
    printed = np.linalg.lstsq(models.rows, stray, rcond=1e-10)[0]
    whole = Regressions(prepare(data.features, np.arange(data.n), "standardised"))
    theta = whole.fit(data.secret)
    design = np.column_stack([whole.features, np.ones(data.n)])
    fitted = design @ np.linalg.lstsq(design, data.secret, rcond=1e-10)[0]
    single = np.abs(whole.predictions(theta)[:, :, 0] - data.secret[:, None]).mean()
    return Checks(
        primal=certified.primal,
        dual=certified.dual,
        infeasibility=certified.infeasibility,
        printed=float(np.abs(printed - secret).mean()),
        unprinted=float(np.abs(models.attack(clean) - secret).mean()),
        from_fit=float(np.abs(whole.attack(theta) - fitted).max()),
        single=float(single),
    )


def _size(data: RegressionData, n: int | str) -> int:
    return data.d + 1 if n == "d + 1" else data.n if n == "all" else int(n)


def _known(
    data: RegressionData, plan: Sequence[tuple[int, int]], rng: np.random.Generator
) -> tuple[Known, ...]:
    """The attack on exact coefficients beside its baselines."""
    found = []
    for n, repeats in plan:
        if n > data.n:
            continue
        risks = []
        for _ in range(repeats):
            some = sample_of(data, n, rng)
            features = prepare(data.features, some, "standardised")
            people = Dataset.from_arrays(features, data.secret[some], kind="reals")
            attack = reconstruct(publish(people, MODELS), people.public)
            assert isinstance(attack, RealReconstruction)
            risks.append(score(attack, data.secret[some], rng=rng))
        found.append(
            Known.of(n, [(r.error, r.baselines[r.baseline], r.advantage, r.interval) for r in risks])
        )
    return tuple(found)


def _known_bits(data: RegressionData, size: Sequence[int], rng: np.random.Generator) -> tuple[Known, ...]:
    """The attack on exact logistic coefficients beside its baselines, shares of bits right."""
    found = []
    for n in (one for one in size if one <= data.n):
        people = cut_sample(data, n, rng)
        assert people.secret is not None
        attack = reconstruct(publish(people, LOGISTIC), people.public)
        assert isinstance(attack, Reconstruction)
        risk = score(attack, people.secret, rng=rng)
        best = risk.baselines[risk.baseline]
        found.append(Known.of(n, [(risk.accuracy, best, risk.advantage, risk.interval)]))
    return tuple(found)
