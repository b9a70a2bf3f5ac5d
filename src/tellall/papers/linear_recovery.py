"""linear-reconstruction: how much is recovered, against noise, equations and people."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tellall.algebra.operators.base import Array
from tellall.algebra.operators.rowfunction import RowFunction
from tellall.papers.linear_people import (
    COUNTED,
    F2,
    FITTED,
    KINDS,
    SHARES,
    coins,
    held,
    published,
    wrong_share,
)
from tellall.papers.simulated import attributes_for
from tellall.report.paper import Statement
from tellall.report.plot import Axis, Figure, Rule, Series

__all__ = [
    "Sweep",
    "growth",
    "recovery_figures",
    "recovery_statements",
    "sweep",
]

_RATIOS = (0.25, 0.5, 0.75, 1.0, 1.5, 2.5)  # sets of attributes, of the people
_COUNTED_SETS, _FITTED_SETS = 4, 2  # a person, where the noise is swept; the paper asks d ≥ 2n of fits
_NOISE = 0.1  # where the sets are swept
_SMALL = SHARES[0]
_GROWING, _FIXED = "√n/3", "2"
_PLACE = dict.fromkeys(COUNTED, "Thm 3.2") | dict.fromkeys(FITTED, "Thm 4.1")
_PLACE |= {
    "random subsets": "Sec. 1 (Dinur–Nissim)",
    "3-way tables": "Sec. 1, Thm 3.2",
    "trees' error rates": "Sec. 1, Sec. 3",
    "log-cosh": "Thm 4.2",
    "Poisson": "Thm 4.2",
    "linear, products": "Sec. 4.1, remark",
}


@dataclass(frozen=True, eq=False)
class Sweep:
    """The shares of bits recovered: a row of runs for each noise, and for each number of sets."""

    n: int
    by_noise: dict[str, Array]
    by_sets: dict[str, Array]


def sweep(n: int, runs: int, rng: np.random.Generator, tell: Callable[[], None] = lambda: None) -> Sweep:
    """Every kind of release attacked by least squares at every noise and every size; tells after each."""
    by_noise, by_sets = {}, {}
    for name in KINDS:
        per_person = _COUNTED_SETS if name in COUNTED else _FITTED_SETS
        rows = []
        for _ in range(runs):
            made = published(name, n, per_person * n, rng)
            rows.append([made.right(share, rng) for share in SHARES])
        by_noise[name] = np.array(rows)
        by_sets[name] = np.array(
            [
                [published(name, n, math.ceil(ratio * n), rng).right(_NOISE, rng) for ratio in _RATIOS]
                for _ in range(runs)
            ]
        )
        tell()
    return Sweep(n, by_noise, by_sets)


def recovery_figures(found: Sweep) -> Iterator[Figure]:
    """Recovery against noise and against sizes, counts apart from fits."""
    n, runs = found.n, next(iter(found.by_noise.values())).shape[0]
    over = f"n = {n} people, least squares with box and prior; means of {runs} runs."
    for names, what, each, unit, sets, counted in (
        (
            COUNTED,
            "counts",
            _COUNTED_SETS,
            "of √n people",
            "pairs of attributes (or subsets of people)",
            "a pair is one published value, but eight cells of a table",
        ),
        (
            FITTED,
            "error rates and fitted models",
            _FITTED_SETS,
            "of 1/√n",
            "trees or columns (or products of two columns)",
            "each is one published value",
        ),
    ):
        yield Figure(
            f"Bits recovered against noise: {what}",
            f"{each}n {sets}. The theorems promise all but a vanishing share to the left, and nothing once "
            "the noise is of the order of the unit. " + over,
            Axis("standard deviation of the noise", unit=unit, log=True),
            Axis("share of bits right", low=0.5, high=1.0),
            tuple(_series(name, SHARES, found.by_noise[name]) for name in names),
            (Rule(1.0, "√n" if unit.startswith("of √") else "1/√n", "x"),),
        )
        yield Figure(
            f"Bits recovered against equations: {what}",
            f"Noise of {_NOISE:g}·{unit[3:]}; {counted}. The theorems ask for more than one a person. {over}",
            Axis(f"{sets.split(' (')[0]} / people"),
            Axis("share of bits right", low=0.5, high=1.0),
            tuple(_series(name, _RATIOS, found.by_sets[name]) for name in names),
            (Rule(1.0, "as many as people", "x"),),
        )


def recovery_statements(found: Sweep) -> Iterator[Statement]:
    """Each kind of release: exact, at small noise, and where the noise is of the order of √n."""
    n = found.n
    for name, runs in found.by_noise.items():
        each = _COUNTED_SETS if name in COUNTED else _FITTED_SETS
        unit = "√n" if name in COUNTED else "1/√n"
        d = f", {attributes_for(each * n)} attributes" if name not in FITTED[1:5] else ""
        setting = f"n = {n}, {each * n} sets{d}, noise {_SMALL:g}·{unit}"
        promise = f"all but o(n) bits at noise o({unit})"
        yield held(f"bits recovered: {name}", _PLACE[name], promise, runs[:, 0], 0.95, setting)
    large = {name: float(runs[:, -1].mean()) for name, runs in found.by_noise.items()}
    weakest = min(large, key=lambda name: large[name])
    yield Statement.shown(
        "bits recovered at noise above √n",
        "Thm 3.1",
        large[weakest],
        setting=f"{weakest}, noise {SHARES[-1]:g}·{'√n' if weakest in COUNTED else '1/√n'}",
    )
    base = attributes_for(_FITTED_SETS * n)
    yield Statement.at_least(
        "products bring d below n",
        "Sec. 4.1, remark",
        "regressions on degree-k products need d ≈ n^(1/k) (details deferred by the paper)",
        float(found.by_noise["linear, products"][:, 0].mean()),
        0.95,
        setting=f"{base} attributes for {n} people, on whose columns alone regressions have rank {base}; we "
        "ask for 95%",
    )


def growth(sizes: Sequence[int], runs: int, rng: np.random.Generator) -> tuple[Figure, Iterator[Statement]]:
    """Theorem 3.2's o(n): wrong shares of plain least squares at growing n, at noise √n/3 and at noise 2."""
    shares: dict[tuple[str, str], list[float]] = {}
    for n in sizes:
        d = attributes_for(4 * n)
        for name, table in F2.items():
            for law, noise in ((_GROWING, math.sqrt(n) / 3), (_FIXED, 2.0)):
                wrong = [wrong_share(RowFunction(table, coins(d, n, rng)), noise, rng) for _ in range(runs)]
                shares.setdefault((name, law), []).append(float(np.mean(wrong)))
    figure = Figure(
        "Wrong bits as people grow in number",
        "Plain least squares on all pairs of attributes, four pairs a person. Where the noise grows as √n "
        "the wrong share stays; at a noise of two people, which is o(√n), it vanishes: Theorem 3.2. Shares "
        f"of 0 are below the chart. Means of {runs} runs.",
        Axis("people", log=True),
        Axis("share of bits wrong", log=True, low=1e-4, high=1.0),
        tuple(
            Series(f"{name}, noise {law}", sizes, values, kind="both")
            for (name, law), values in shares.items()
        ),
    )
    return figure, _growth_statements(sizes, shares)


def _growth_statements(
    sizes: Sequence[int], shares: dict[tuple[str, str], list[float]]
) -> Iterator[Statement]:
    for name in F2:
        fixed, growing = shares[name, _FIXED], shares[name, _GROWING]
        yield Statement.at_most(
            f"the wrong share vanishes: {name}",
            "Thm 3.2",
            "o(n) bits wrong at noise o(√n)",
            fixed[-1],
            fixed[0] / 2,
            setting=f"noise {_FIXED}, n from {sizes[0]} to {sizes[-1]}; at noise {_GROWING} it goes from "
            f"{growing[0]:.3f} to {growing[-1]:.3f}; we ask for half of the first, {fixed[0]:.3f}",
        )


def _series(name: str, x: Sequence[float], runs: Array) -> Series:
    return Series(name, x, runs.mean(axis=0), kind="both")
