"""Robust traceability from trace amounts (Dwork, Smith, Steinke, Ullman, Vadhan 2015), rerun by simulation.

The paper has theorems and no experiments: every statement is simulated and set beside its theorem.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tellall.attacks.accuracy import accuracy
from tellall.attacks.strength import robust_strength, strength, tracing_plan
from tellall.attacks.trace import trace
from tellall.linops import Array
from tellall.noise import Rng, Rounding, as_rng

__all__ = ["Rerun", "Statement", "rerun", "statements"]

Signs = npt.NDArray[np.int8]
_DELTA = 0.05
_VERDICT = {True: "holds", False: "FAILS", None: "-"}


@dataclass(frozen=True)
class Statement:
    """One claim of the paper beside what we found.

    Attributes
    ----------
    name, setting
        Which claim, and where it was tried.
    ours
        What we measured or computed.
    theorem
        What the theorem promises, in words.
    bound
        The number to hold it against.
    holds
        Whether ours is on the promised side; None where the paper promises nothing.
    """

    name: str
    setting: str
    ours: float
    theorem: str
    bound: float
    holds: bool | None


@dataclass(frozen=True)
class Rerun:
    """Every statement beside its theorem; `str` gives the table, `as_dict` its JSON form."""

    statements: tuple[Statement, ...]

    def as_dict(self) -> dict[str, object]:
        """Plain values only."""
        return asdict(self)

    def __str__(self) -> str:
        wide = max(len(statement.name) for statement in self.statements)
        rows = [
            f"{s.name:{wide}}  {s.ours:9.4g}  {_VERDICT[s.holds]:5}  {s.theorem} ({s.setting})"
            for s in self.statements
        ]
        return "\n".join([f"{'statement':{wide}}       ours  found  the theorem", *rows])


def rerun(folder: str | Path = ".", *, quick: bool = True, rng: Rng = 0, progress: object = None) -> Rerun:
    """Every statement, simulated; the paper needs no data, so the folder is not read."""
    return Rerun(tuple(statements(full=not quick, rng=rng)))


def statements(*, full: bool = False, rng: Rng = 0) -> Iterator[Statement]:
    """The statements one by one; `full` repeats each simulation ten times as often.

    Examples
    --------
    >>> first = next(statements())
    >>> first.name, first.holds
    ('strong: uniform on [−1, 1], α = 1/3', True)
    """
    generator, repeats = as_rng(rng), 100 if full else 10
    yield from _strengths()
    parts: tuple[Callable[[np.random.Generator, int], Iterator[Statement]], ...] = (
        _soundness,
        _completeness,
        _protected,
        _subsample,
        _pool,
        _gaussian,
        _garbage,
        _not_strong,
        _private,
    )
    for part in parts:
        yield from part(generator, repeats)


def _at_least(name: str, setting: str, ours: float, theorem: str, bound: float) -> Statement:
    return Statement(name, setting, ours, theorem, bound, ours >= bound - 1e-12)


def _at_most(name: str, setting: str, ours: float, theorem: str, bound: float) -> Statement:
    return Statement(name, setting, ours, theorem, bound, ours <= bound + 1e-12)


def _people(p: Array, count: int, rng: np.random.Generator) -> Signs:
    return np.where(rng.random((count, p.size), dtype=np.float32) < (1 + p) / 2, 1, -1).astype(np.int8)


def _strengths() -> Iterator[Statement]:
    printed = "the paper's γ, a lower bound"
    uniform = strength(("uniform", -1, 1), 1 / 3)
    yield _at_least("strong: uniform on [−1, 1], α = 1/3", "Sec. II-D", uniform, printed, 1 / 3)
    ideal = strength(("ideal", 0.85), 0.5)
    yield _at_least("strong: ideal, a = 0.85, α = 1/2", "Sec. II-D", ideal, printed, 0.27)
    robust = robust_strength(0.5)
    yield _at_least("robustly strong: uniform, η = 1/2", "Def. 27, E-RT-6", robust, printed, 1 / 3)


def _soundness(rng: np.random.Generator, repeats: int) -> Iterator[Statement]:
    """Prop. 2: nobody outside is named more often than δ, whatever the release."""
    d, n = 500, 10
    laws: dict[str, Callable[[], Array]] = {
        "uniform": lambda: rng.uniform(-1, 1, d),
        "Beta(2, 3)": lambda: 2 * rng.beta(2, 3, d) - 1,
        "skewed, Beta(0.3, 4)": lambda: 2 * rng.beta(0.3, 4, d) - 1,
    }
    for name, law in laws.items():
        hits = {"paper": 0, "hoeffding": 0}
        total = 0
        for _ in range(20 * repeats):
            p = law()
            people = _people(p, n + 21, rng)
            q = people[:n].mean(axis=0)
            for rule in hits:
                found = trace(q, people[n:-1], people[-1:], threshold=rule, delta=_DELTA)
                hits[rule] += found.traced
            total += 20
        for rule, count in hits.items():
            setting = f"{name}, d = {d}, threshold {rule}, {total:,} outsiders"
            yield _at_most("soundness (Prop. 2)", setting, count / total, "named at most δ", _DELTA)


def _completeness(rng: np.random.Generator, repeats: int) -> Iterator[Statement]:
    """Props. 12 and 13: at d ≥ 32 n² ln(1/δ)/γ² every member of an exact mean is traced."""
    for n in (5, 10, 20):
        needed = math.ceil(tracing_plan(n, 2 / 3, 0.0, _DELTA).attributes)
        for share in (0.1, 1.0):
            d = math.ceil(share * needed)
            traced = 0
            for _ in range(repeats):
                people = _people(rng.uniform(-1, 1, d), n + 1, rng)
                found = trace(
                    people[:n].mean(axis=0), people[:n], people[n:], threshold="hoeffding", delta=_DELTA
                )
                traced += found.traced
            setting = f"n = {n}, d = {d:,} = {d / n**2:.0f} n²"
            ours = traced / (n * repeats)
            if share == 1:
                yield _at_least(
                    "completeness (Props. 12, 13)", setting, ours, "each member traced w.p. 1 − δ", 1 - _DELTA
                )
            else:
                yield Statement("completeness below the bound", setting, ours, "no promise", 0.0, None)


def _protected(rng: np.random.Generator, repeats: int) -> Iterator[Statement]:
    """Prop. 13: a symmetric release that is only α-accurate still gives everybody away."""
    n, rounding = 10, Rounding(0.25)
    bias = accuracy(rounding, n).bias
    gamma = strength(("uniform", -1, 1), bias)
    d = math.ceil(tracing_plan(n, gamma, bias, _DELTA).attributes)
    traced = 0
    for _ in range(repeats):
        people = _people(rng.uniform(-1, 1, d), n + 1, rng)
        q = np.clip(rounding.perturb(people[:n].mean(axis=0)), -1, 1)
        traced += trace(q, people[:n], people[n:], threshold="hoeffding", delta=_DELTA).traced
    setting = f"rounded to 1/4 (α = {bias:g}, γ = {gamma:.3f}), n = {n}, d = {d:,}"
    ours = traced / (n * repeats)
    yield _at_least(
        "high power, symmetric (Prop. 13)", setting, ours, "each member traced w.p. 1 − δ", 1 - _DELTA
    )


def _subsample(rng: np.random.Generator, repeats: int) -> Iterator[Statement]:
    """Sec. I-B: a release of the mean of a few people gives away those few and nobody else."""
    n, few, d = 10, 4, 21_570
    right = 0
    for _ in range(4 * repeats):
        people = _people(rng.uniform(-1, 1, d), 2 * n + 1, rng)
        found = trace(people[:few].mean(axis=0), people[:-1], people[-1:], delta=_DELTA)
        right += bool(found.member[:few].all() and not found.member[few:].any())
    setting = f"mean of {few} of {n}, d = {d:,}: exactly those {few} named"
    yield _at_least("only the subsample is traced", setting, right / (4 * repeats), "97 % of runs", 0.97)


def _pool(rng: np.random.Generator, repeats: int) -> Iterator[Statement]:
    """Theorem 17: with a reference pool far fewer statistics do."""
    n, alpha, d = 50, 0.25, 20_000
    pool = math.ceil(2 * math.log(48 * n / strength(("uniform", -1, 1), alpha)) / alpha**2)
    for name, few in (("mean of all", n), ("mean of 12", 12)):
        traced = {"single": 0, "pool": 0}
        wrong = 0
        runs = max(1, repeats // 3)
        for _ in range(runs):
            people = _people(rng.uniform(-1, 1, d), 2 * n + pool + 1, rng)
            q = people[:few].mean(axis=0)
            for attack in traced:
                found = trace(
                    q,
                    people[: 2 * n],
                    people[2 * n :],
                    attack=attack,
                    alpha=alpha,
                    threshold="hoeffding",
                    delta=_DELTA,
                )
                traced[attack] += int(found.member[:few].sum())
                wrong += int(found.member[few:].sum()) if attack == "pool" else 0
        setting = f"{name}, n = {n}, d = {d:,}, pool of {pool}"
        ours = traced["pool"] / runs
        theorem = "more people than with one reference person"
        yield _at_least(
            "fewer statistics with a pool (Thm. 17)", setting, ours, theorem, traced["single"] / runs
        )
        outsiders = runs * (2 * n - few)
        yield _at_most("soundness of the pool (Prop. 18)", setting, wrong / outsiders, "at most δ", _DELTA)


def _gaussian(rng: np.random.Generator, repeats: int) -> Iterator[Statement]:
    """Props. 29 and 31: real attributes with a random spread each."""
    n = 10
    gamma = strength(("gaussian", 1.0), 0.0) * 0.41  # E[σ²] of σ uniform on [0.2, 1] is 0.4133
    d = math.ceil(32 * n**2 * math.log(1 / _DELTA) / gamma**2)
    traced = wrong = 0
    runs = max(1, repeats // 5)
    for _ in range(runs):
        mu, sigma = rng.uniform(-1, 1, d), rng.uniform(0.2, 1, d)
        people = mu + sigma * rng.normal(size=(2 * n + 1, d))
        q = np.clip(people[:n].mean(axis=0), -1, 1)
        found = trace(q, people[:-1], people[-1:], attack="gaussian", sigma_max=1.0, delta=_DELTA)
        traced += int(found.member[:n].sum())
        wrong += int(found.member[n:].sum())
    setting = f"σ uniform on [0.2, 1], n = {n}, d = {d:,}"
    ours = traced / (n * runs)
    yield _at_least("Gaussian data (Prop. 31)", setting, ours, "each member traced w.p. 1 − δ", 1 - _DELTA)
    yield _at_most("Gaussian soundness (Prop. 29)", setting, wrong / (n * runs), "named at most δ", _DELTA)


def _garbage(rng: np.random.Generator, repeats: int) -> Iterator[Statement]:
    """Prop. 28: accurate on average is enough; some columns may be anything."""
    n, bad, eta = 10, 0.2, 0.5
    gamma = robust_strength(eta)
    d = math.ceil(tracing_plan(n, gamma, 0.0, _DELTA).attributes)
    some = 0
    error = 0.0
    for _ in range(repeats):
        p = rng.uniform(-1, 1, d)
        people = _people(p, n + 1, rng)
        q = people[:n].mean(axis=0)
        q[: round(bad * d)] = rng.uniform(-1, 1, round(bad * d))
        error = max(error, float(np.abs(q - p).mean()))
        some += trace(q, people[:n], people[n:], threshold="hoeffding", delta=_DELTA).traced > 0
    setting = f"{bad:.0%} of the columns garbage, mean error {error:.2f}, n = {n}, d = {d:,}"
    ours = some / repeats
    yield _at_least("accurate on average (Prop. 28)", setting, ours, "somebody traced w.p. 1 − δ", 1 - _DELTA)


def _not_strong(rng: np.random.Generator, repeats: int) -> Iterator[Statement]:
    """Sec. II-D (i)–(iv): where means are known in advance, an accurate release need not touch the data."""
    n, d, alpha = 50, 21_570, 0.3
    clumps = np.array([-0.8, 0.0, 0.8])
    laws: dict[str, tuple[Callable[[], Array], Callable[[Array], Array]]] = {
        "point mass": (lambda: np.full(d, 0.3), lambda mean: np.full(d, 0.3)),
        "two points": (
            lambda: rng.choice(np.array([-0.6, 0.6]), d),
            lambda mean: np.where(mean > 0, 0.6, -0.6),
        ),
        "short interval": (lambda: rng.uniform(0, alpha, d), lambda mean: np.full(d, alpha / 2)),
        "separated clumps": (
            lambda: rng.choice(clumps, d) + rng.uniform(-0.05, 0.05, d),
            lambda mean: clumps[np.abs(mean[:, None] - clumps).argmin(axis=1)],
        ),
    }
    for name, (law, mechanism) in laws.items():
        named = total = 0
        for _ in range(repeats):
            people = _people(law(), n + 1, rng)
            q = mechanism(people[:n].mean(axis=0))
            named += trace(q, people[:n], people[n:], threshold="hoeffding", delta=_DELTA).traced
            total += n
        setting = f"{name}, insensitive release, n = {n}, d = {d:,}"
        yield _at_most("not strong: not traced", setting, named / total, "members named at most δ", _DELTA)


def _private(rng: np.random.Generator, repeats: int) -> Iterator[Statement]:
    """What resists: differentially private means at d = n² hold TPR ≤ e^ε FPR + δ."""
    n, epsilon, slack = 60, 1.0, 1e-3
    d = n * n
    std = _gaussian_std(2 * math.sqrt(d) / n, epsilon, slack)
    inside = outside = 0
    runs = 2 * repeats
    for _ in range(runs):
        people = _people(rng.uniform(-1, 1, d), 2 * n + 200, rng)
        mean = people[:n].mean(axis=0)
        found = trace(
            mean + rng.normal(0, std, d),
            people[: 2 * n],
            people[2 * n :],
            attack="pool",
            threshold="empirical",
            delta=_DELTA,
        )
        inside += int(found.member[:n].sum())
        outside += int(found.member[n:].sum())
    rate = outside / (n * runs)
    setting = f"Gaussian noise of sd {std:.2f} ({epsilon:g}, {slack:g})-private, n = {n}, d = n² = {d:,}"
    bound = math.exp(epsilon) * max(rate, _DELTA) + slack
    yield _at_most("differential privacy resists", setting, inside / (n * runs), "TPR ≤ e^ε·FPR + δ", bound)


def _gaussian_std(sensitivity: float, epsilon: float, delta: float) -> float:
    """The least standard deviation that is (ε, δ)-private for this sensitivity, one person replaced."""
    from scipy.optimize import brentq
    from scipy.special import ndtr

    def excess(std: float) -> float:
        c = sensitivity / std
        return float(ndtr(c / 2 - epsilon / c) - math.exp(epsilon) * ndtr(-c / 2 - epsilon / c)) - delta

    return float(brentq(excess, 1e-3 * sensitivity, 1e3 * sensitivity))
