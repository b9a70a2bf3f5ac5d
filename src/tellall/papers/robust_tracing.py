"""Robust traceability from trace amounts (Dwork, Smith, Steinke, Ullman, Vadhan 2015), rerun by simulation.

The paper has theorems and no experiments: every statement is simulated and set beside its theorem.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from tellall.algebra.operators.base import Array
from tellall.attack.blackbox.estimate import Progress, reporter
from tellall.attack.trace.plan import accuracy
from tellall.attack.trace.strength import robust_strength, strength, tracing_plan
from tellall.attack.trace.trace import trace
from tellall.papers.robust_tracing_figures import DELTA, figures, people_of
from tellall.papers.robust_tracing_resisted import not_strong, private_means
from tellall.papers.simulated import share_at_least, share_at_most, share_of
from tellall.release.protections.law import Rng, as_rng
from tellall.release.protections.rounding import Rounding
from tellall.report.paper import PaperRerun, Statement

__all__ = [
    "rerun",
    "statements",
]

_TRACED = "each member traced w.p. 1 − δ"
_NOTES = (
    "The paper has theorems and no experiments: every statement is simulated and set beside its theorem.",
    f"δ is {DELTA} throughout. Intervals are 95 %, over runs; a run is one release. Verdicts go by "
    "the value, not by the ends of its interval.",
    "Printed thresholds are sound but have level δ² (E-RT-1); “hoeffding” is the smaller sound one.",
    "Orders of growth are the theorems'; the simulations show how far from the constants attacks succeed.",
)


def rerun(
    folder: str | Path = ".", *, quick: bool = True, rng: Rng = 0, progress: Progress | bool | None = None
) -> PaperRerun:
    """Every statement, simulated; the paper needs no data, so the folder is not read."""
    generator = as_rng(rng)
    with reporter(progress, len(_PARTS) + 1, "rerunning") as tell:
        found = tuple(statements(full=not quick, rng=generator, tell=lambda: tell(1)))
        drawn = figures(found, generator, repeats=20 if quick else 200)
        tell(1)
    return PaperRerun(
        name="robust-tracing",
        title="Robust traceability from trace amounts",
        reference="Dwork, Smith, Steinke, Ullman, Vadhan, FOCS 2015",
        statements=found,
        figures=drawn,
        notes=_NOTES,
        seed=rng if isinstance(rng, int) else None,
        quick=quick,
    )


def statements(
    *, full: bool = False, rng: Rng = 0, tell: Callable[[], None] = lambda: None
) -> Iterator[Statement]:
    """The statements one by one; `full` repeats each simulation ten times as often; tells after each part.

    Examples
    --------
    >>> first = next(statements())
    >>> first.what, first.verdict
    ('strong: uniform on [−1, 1], α = 1/3', 'holds')
    """
    generator, repeats = as_rng(rng), 200 if full else 20
    yield from _strengths()
    for part in _PARTS:
        yield from part(generator, repeats)
        tell()


def _strengths() -> Iterator[Statement]:
    printed = "γ is at least {:.3g}"
    for what, where, value, bound in (
        ("strong: uniform on [−1, 1], α = 1/3", "Sec. II-D", strength(("uniform", -1, 1), 1 / 3), 1 / 3),
        ("strong: ideal, a = 0.85, α = 1/2", "Sec. II-D", strength(("ideal", 0.85), 0.5), 0.27),
        ("robustly strong: uniform, η = 1/2", "Def. 27, E-RT-6", robust_strength(0.5), 1 / 3),
    ):
        yield Statement.at_least(what, where, printed.format(bound), value, bound)


def _soundness(rng: np.random.Generator, repeats: int) -> Iterator[Statement]:
    """Prop. 2: nobody outside is named more often than δ, whatever the release."""
    d, n = 500, 10
    laws: dict[str, Callable[[], Array]] = {
        "uniform": lambda: rng.uniform(-1, 1, d),
        "Beta(2, 3)": lambda: 2 * rng.beta(2, 3, d) - 1,
        "skewed, Beta(0.3, 4)": lambda: 2 * rng.beta(0.3, 4, d) - 1,
    }
    for name, law in laws.items():
        named: dict[str, list[float]] = {"paper": [], "hoeffding": []}
        for _ in range(10 * repeats):
            p = law()
            people = people_of(p, n + 21, rng)
            q = people[:n].mean(axis=0)
            for rule, rates in named.items():
                found = trace(q, people[n:-1], people[-1:], threshold=rule, delta=DELTA)
                rates.append(found.traced / 20)
        for rule, rates in named.items():
            setting = f"{name}, d = {d}, threshold {rule}, {20 * len(rates):,} outsiders"
            yield share_at_most("soundness", "Prop. 2", setting, rates, "outsiders named at most δ", DELTA)


def _completeness(rng: np.random.Generator, repeats: int) -> Iterator[Statement]:
    """Props. 12 and 13: at d ≥ 32 n² ln(1/δ)/γ² every member of an exact mean is traced."""
    for n in (5, 10, 20):
        needed = math.ceil(tracing_plan(n, 2 / 3, 0.0, DELTA).attributes)
        for share in (0.1, 1.0):
            d = math.ceil(share * needed)
            rates = []
            for _ in range(repeats):
                people = people_of(rng.uniform(-1, 1, d), n + 1, rng)
                found = trace(
                    people[:n].mean(axis=0), people[:n], people[n:], threshold="hoeffding", delta=DELTA
                )
                rates.append(found.traced / n)
            setting = f"n = {n}, d = {d:,} = {d / n**2:.0f} n²"
            if share == 1:
                yield share_at_least("completeness", "Props. 12, 13", setting, rates, _TRACED, 1 - DELTA)
            else:
                value, interval = share_of(rates)
                yield Statement.shown(
                    "completeness below the bound", "Prop. 13", value, setting=setting, interval=interval
                )


def _protected(rng: np.random.Generator, repeats: int) -> Iterator[Statement]:
    """Prop. 13: a symmetric release that is only α-accurate still gives everybody away."""
    n, rounding = 10, Rounding(0.25)
    bias = accuracy(rounding, n).bias
    gamma = strength(("uniform", -1, 1), bias)
    d = math.ceil(tracing_plan(n, gamma, bias, DELTA).attributes)
    rates = []
    for _ in range(repeats):
        people = people_of(rng.uniform(-1, 1, d), n + 1, rng)
        q = np.clip(rounding.perturb(people[:n].mean(axis=0)), -1, 1)
        rates.append(trace(q, people[:n], people[n:], threshold="hoeffding", delta=DELTA).traced / n)
    setting = f"rounded to 1/4 (α = {bias:g}, γ = {gamma:.3f}), n = {n}, d = {d:,}"
    yield share_at_least("high power, symmetric", "Prop. 13", setting, rates, _TRACED, 1 - DELTA)


def _subsample(rng: np.random.Generator, repeats: int) -> Iterator[Statement]:
    """Sec. I-B: a release of the mean of a few people gives away those few and nobody else."""
    n, few, d = 10, 4, 21_570
    right = []
    for _ in range(4 * repeats):
        people = people_of(rng.uniform(-1, 1, d), 2 * n + 1, rng)
        found = trace(people[:few].mean(axis=0), people[:-1], people[-1:], delta=DELTA)
        right.append(float(found.member[:few].all() and not found.member[few:].any()))
    setting = f"mean of {few} of {n}, d = {d:,}: exactly those {few} named"
    yield share_at_least("only the subsample is traced", "Sec. I-B", setting, right, "97 % of runs", 0.97)


def _pool(rng: np.random.Generator, repeats: int) -> Iterator[Statement]:
    """Theorem 17: with a reference pool far fewer statistics do."""
    n, alpha, d = 50, 0.25, 20_000
    pool = math.ceil(2 * math.log(48 * n / strength(("uniform", -1, 1), alpha)) / alpha**2)
    for name, few in (("mean of all", n), ("mean of 12", 12)):
        traced: dict[str, list[float]] = {"single": [], "pool": []}
        wrong = []
        runs = max(1, repeats // 2)
        for _ in range(runs):
            people = people_of(rng.uniform(-1, 1, d), 2 * n + pool + 1, rng)
            q = people[:few].mean(axis=0)
            for attack in traced:
                found = trace(
                    q,
                    people[: 2 * n],
                    people[2 * n :],
                    attack=attack,
                    alpha=alpha,
                    threshold="hoeffding",
                    delta=DELTA,
                )
                traced[attack].append(float(found.member[:few].mean()))
            wrong.append(float(found.member[few:].mean()))  # the pool's, which comes last
        setting = f"{name}, n = {n}, d = {d:,}, pool of {pool}"
        alone = share_of(traced["single"])[0]
        theorem = f"more members than with one reference person ({alone:.3g})"
        yield share_at_least(
            "fewer statistics with a pool", "Thm. 17", setting, traced["pool"], theorem, alone
        )
        yield share_at_most(
            "soundness of the pool", "Prop. 18", setting, wrong, "outsiders named at most δ", DELTA
        )


def _gaussian(rng: np.random.Generator, repeats: int) -> Iterator[Statement]:
    """Props. 29 and 31: real attributes with a random spread each."""
    n = 10
    gamma = strength(("gaussian", 1.0), 0.0) * 0.41  # E[σ²] of σ uniform on [0.2, 1] is 0.4133
    d = math.ceil(32 * n**2 * math.log(1 / DELTA) / gamma**2)
    traced, wrong = [], []
    runs = repeats
    for _ in range(runs):
        mu, sigma = rng.uniform(-1, 1, d), rng.uniform(0.2, 1, d)
        people = mu + sigma * rng.normal(size=(2 * n + 1, d))
        q = np.clip(people[:n].mean(axis=0), -1, 1)
        found = trace(q, people[:-1], people[-1:], attack="gaussian", sigma_max=1.0, delta=DELTA)
        traced.append(float(found.member[:n].mean()))
        wrong.append(float(found.member[n:].mean()))
    setting = f"σ uniform on [0.2, 1], n = {n}, d = {d:,}"
    yield share_at_least("Gaussian data", "Prop. 31", setting, traced, _TRACED, 1 - DELTA)
    yield share_at_most("Gaussian soundness", "Prop. 29", setting, wrong, "outsiders named at most δ", DELTA)


def _garbage(rng: np.random.Generator, repeats: int) -> Iterator[Statement]:
    """Prop. 28: accurate on average is enough; some columns may be anything."""
    n, bad, eta = 10, 0.2, 0.5
    gamma = robust_strength(eta)
    d = math.ceil(tracing_plan(n, gamma, 0.0, DELTA).attributes)
    some = []
    error = 0.0
    for _ in range(repeats):
        p = rng.uniform(-1, 1, d)
        people = people_of(p, n + 1, rng)
        q = people[:n].mean(axis=0)
        q[: round(bad * d)] = rng.uniform(-1, 1, round(bad * d))
        error = max(error, float(np.abs(q - p).mean()))
        found = trace(q, people[:n], people[n:], threshold="hoeffding", delta=DELTA)
        some.append(float(found.traced > 0))
    setting = f"{bad:.0%} of the columns garbage, mean error {error:.2f}, n = {n}, d = {d:,}"
    yield share_at_least(
        "accurate on average", "Prop. 28", setting, some, "somebody traced w.p. 1 − δ", 1 - DELTA
    )


_PARTS: tuple[Callable[[np.random.Generator, int], Iterator[Statement]], ...] = (
    _soundness,
    _completeness,
    _protected,
    _subsample,
    _pool,
    _gaussian,
    _garbage,
    not_strong,
    private_means,
)
