"""Generated outputs of every kind and size, so chosen that every two settings occur together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations, product
from typing import Any

import numpy as np
import numpy.typing as npt

import tellall as ta
from tellall.audits.plans.plan import Plan
from tellall.audits.trial import Planned

__all__ = ["FACTORS", "FEWEST", "Rung", "covering", "fits", "pairs_of", "rungs", "sized"]

FEWEST = 4  # people who can be attacked at all

SECRETS = ("2 values", "3 values", "8 values", "1e-9", "1", "1e9")
NUMBERS = SECRETS[3:]
COUNTS = ("tables", "subsets", "predicates", "printed counts")  # a value is a number of people
FACTORS: dict[str, tuple[Any, ...]] = {
    "statistic": (
        "tables",
        "rates",
        "subsets",
        "predicates",
        "error rates",
        "survival",
        "sums",
        "means",
        "extremes",
        "linear",
        "logistic",
        "correlations",
        "printed counts",
        "printed means",
    ),
    "protection": (
        "exact",
        "hidden under 5",
        "hidden under 10",
        "rounded to 3",
        "rounded to 5",
        "rounded to 10",
        "hidden and rounded",
        "Gaussian",
        "Laplace",
        "geometric",
        "cell keys",
        "top-coded",
        "p %",
        "dominance",
        "swapped",
        "sampled",
        "SuLQ",
        "truncated",
        "multiplied",
    ),
    "secret": SECRETS,
    "people": (2, 3, 10, 100, 1030, 3000, 10_000, 100_000),
    "columns": (1, 8),
    "groups": ("of one", "of thousands"),
}
_MOST_LABELS = 300  # of a table's only column: nobody prints more rows
_SECRETS: dict[str, tuple[str, ...]] = {
    "tables": SECRETS[:3],
    "rates": SECRETS[:3],
    "subsets": SECRETS[:1],
    "predicates": SECRETS[:1],
    "error rates": SECRETS[:1],
    "survival": SECRETS[:1],
    "sums": NUMBERS,
    "means": NUMBERS,
    "extremes": NUMBERS,
    "linear": (SECRETS[0], *NUMBERS),
    "logistic": SECRETS[:1],
    "correlations": (SECRETS[0], *NUMBERS),
    "printed counts": SECRETS[:3],
    "printed means": NUMBERS,
}
_STATISTICS: dict[str, tuple[str, ...]] = {  # which statistics a protection is used with; all if not listed
    "hidden under 5": COUNTS,
    "hidden under 10": COUNTS,
    "hidden and rounded": COUNTS,
    "geometric": COUNTS,
    "cell keys": ("tables",),
    "top-coded": ("sums", "means", "extremes", "linear"),
    "p %": ("sums", "means"),
    "dominance": ("sums", "means"),
    "swapped": ("tables", "subsets", "printed counts"),
    "sampled": ("tables", "subsets", "printed counts"),
    "SuLQ": COUNTS,
    "truncated": ("tables", "sums", "means", "printed counts"),
    "multiplied": ("sums", "means", "extremes", "printed means"),
}


def fits(setting: Mapping[str, Any]) -> bool:
    """Whether anybody would publish such a thing."""
    if setting["secret"] not in _SECRETS[setting["statistic"]]:
        return False
    if setting["protection"] == "top-coded" and setting["secret"] not in NUMBERS:
        return False
    return setting["statistic"] in _STATISTICS.get(setting["protection"], FACTORS["statistic"])


def covering(
    factors: Mapping[str, Sequence[Any]], fit: Callable[[Mapping[str, Any]], bool]
) -> list[dict[str, Any]]:
    """Few settings in which every two values occur together that can; always the same ones.

    Notes
    -----
    Greedy: the setting with the most pairs that have not occurred comes next; of equals the one whose pairs
    have been used least, and then the first. Nothing is drawn. O(settings × pairs) for each one chosen.
    """
    names = list(factors)
    settings = [
        dict(zip(names, values, strict=True))
        for values in product(*factors.values())
        if fit(dict(zip(names, values, strict=True)))
    ]
    numbers: dict[Any, int] = {}
    listed = np.array(
        [[numbers.setdefault(pair, len(numbers)) for pair in pairs_of(setting)] for setting in settings]
    )
    used = np.zeros(len(numbers))
    chosen = []
    while not used.all():
        new = (used[listed] == 0).sum(axis=1)
        best = int(np.lexsort((used[listed].sum(axis=1), -new))[0])
        chosen.append(settings[best])
        used[listed[best]] += 1
    return chosen


def pairs_of(setting: Mapping[str, Any]) -> Iterator[tuple[tuple[str, Any], tuple[str, Any]]]:
    """Every two settings of one output."""
    yield from combinations(setting.items(), 2)


@dataclass(frozen=True)
class Rung:
    """One generated output."""

    statistic: str
    protection: str
    secret: str
    people: int
    columns: int
    groups: str

    @property
    def name(self) -> str:
        return (
            f"{self.statistic}, {self.protection}, secret {self.secret}, {self.people} people, "
            f"{self.columns} columns, groups {self.groups}"
        )

    @property
    def unit(self) -> float:
        """The size of the secret's numbers."""
        return float(self.secret) if self.secret in NUMBERS else 1.0

    def dataset(self, people: int | None = None) -> ta.Dataset:
        """The people: alike by thousands or each alone; the secret depends a little on one column."""
        n = people or self.people
        rng = np.random.default_rng(17)
        first, second = rng.integers(0, 2, n), rng.integers(0, 2, n)
        first[: min(n, 2)] = (0, 1)[:n]
        if self.groups == "of one":
            table = {f"c{j}": rng.permutation(n) + rng.random() for j in range(self.columns)}
        else:  # a few kinds of people, however many columns tell them apart
            kinds = (first, second, first ^ second, first & second, first | second)
            table = {f"c{j}": kinds[j % len(kinds)].astype(float) for j in range(self.columns)}
        if self.columns == 1 and self.groups == "of one" and self.statistic in ("tables", "rates"):
            table = {"c0": np.array([f"p{i % _MOST_LABELS}" for i in rng.permutation(n)])}
        table["secret"] = self._secret(first, rng)
        kind = "reals" if self.secret in NUMBERS else ("bits" if self.secret == SECRETS[0] else "categories")
        public = [name for name in table if name != "secret"]
        return ta.Dataset.from_frame(table, "secret", public, kind=kind)

    def _secret(self, first: npt.NDArray[Any], rng: np.random.Generator) -> npt.NDArray[Any]:
        n = first.size
        if self.secret in NUMBERS:
            return self.unit * np.exp(rng.normal(3, 1, n) + 0.2 * first)
        levels = int(self.secret[0])
        drawn = (rng.random(n) ** (1.5 + 0.3 * first) * levels).astype(int)
        drawn[: min(n, levels)] = np.arange(levels)[:n]
        return drawn

    def plan(self) -> Plan:
        """What is published."""
        return Plan((Planned(self.statistic, self._statistic(), self._protections()),), steps=False)

    def _statistic(self) -> ta.Statistic:
        ways = 2 if self.columns == 1 else 3
        middle = ["c0 > 0.5", *(f"c{j} > 0.5" for j in range(1, self.columns))]
        halves = [f"under {self.people // 2}", f"{self.people // 2}+"]
        halves = halves if self.groups == "of one" else ["under 1", "1+"]
        made: dict[str, Callable[[], ta.Statistic]] = {
            "tables": lambda: ta.Marginals(ways),
            "rates": lambda: ta.Marginals(ways, scale="rates"),
            "subsets": lambda: ta.SubsetCounts([*middle, f"c0 > {self.people // 2}"]),
            "predicates": lambda: ta.Predicates("and", ways=ways),
            "error rates": lambda: ta.ErrorRates([*middle, f"c0 > {self.people // 2}"]),
            "survival": lambda: ta.SurvivalCurve("c0"),
            "sums": lambda: ta.Sums(ways, counts=True),
            "means": lambda: ta.CellMeans(ways, counts=True),
            "extremes": lambda: ta.Extremes(ways),
            "linear": lambda: ta.Estimator("linear", block=min(2, self.columns), intercept=True),
            "logistic": lambda: ta.Estimator("logistic", block=min(2, self.columns), intercept=True),
            "correlations": lambda: ta.Correlations(mean=True, variance=True),
            "printed counts": lambda: ta.CellCounts(["c0"], [halves], levels=int(self.secret[0])),
            "printed means": lambda: ta.PrintedCells(["c0"], [halves], None, "means", 0),
        }
        return made[self.statistic]()

    def _protections(self) -> tuple[ta.Protection, ...]:
        size = 1.0 if self.statistic in COUNTS else self.unit / 100
        made: dict[str, Callable[[], tuple[ta.Protection, ...]]] = {
            "exact": lambda: (),
            "hidden under 5": lambda: (ta.Suppression(5),),
            "hidden under 10": lambda: (ta.Suppression(10),),
            "rounded to 3": lambda: (ta.Rounding(3 * size),),
            "rounded to 5": lambda: (ta.Rounding(5 * size),),
            "rounded to 10": lambda: (ta.Rounding(10 * size),),
            "hidden and rounded": lambda: (ta.Suppression(5), ta.Rounding(5)),
            "Gaussian": lambda: (ta.Gaussian(2 * size),),
            "Laplace": lambda: (ta.Laplace(2 * size),),
            "geometric": lambda: (ta.Geometric(2.0),),
            "cell keys": lambda: (ta.CellKey({-1: 0.25, 0: 0.5, 1: 0.25}, key=1),),
            "top-coded": lambda: (ta.TopCoding(60 * self.unit),),
            "p %": lambda: (ta.PPercent(10),),
            "dominance": lambda: (ta.Dominance(1, 0.85),),
            "swapped": lambda: (ta.Swapping(0.1),),
            "sampled": lambda: (ta.Subsample(0.5),),
            "SuLQ": lambda: (ta.SuLQ(1.0, 1e-6),),
            "truncated": lambda: (ta.TruncatedNormal(2 * size, 4 * size),),
            "multiplied": lambda: (ta.MultiplicativeNoise(0.1),),
        }
        return made[self.protection]()


def sized(enough: bool) -> dict[str, tuple[Any, ...]]:
    """The factors with numbers of people that can be attacked, or with those that are refused."""
    people = tuple(n for n in FACTORS["people"] if (n >= FEWEST) == enough)
    return {**FACTORS, "people": people}


@cache
def rungs(enough: bool) -> tuple[Rung, ...]:
    """The covering design for enough people or for too few, in the order in which it was chosen.

    There are two, so that no two settings occur together only where everything is refused.
    """
    return tuple(Rung(**setting) for setting in covering(sized(enough), fits))
