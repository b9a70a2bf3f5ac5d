"""contingency-tables, the spectral theorem seen: least singular values of products of random rows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from tellall.algebra.operators.base import Array
from tellall.algebra.operators.dense import Dense
from tellall.papers.contingency_people import bits_of
from tellall.papers.parts import Tell
from tellall.promise.bounds.geometry import singular_values
from tellall.promise.bounds.row_products import Draw, RowProducts, draw_products
from tellall.release.protections.law import Rng, as_rng
from tellall.report.paper import Statement
from tellall.report.plot import Axis, Figure, Rule, Series

__all__ = [
    "Spectrum",
    "independent",
    "repeated",
]

ALLOWED = 0.2  # how far from independent entries a median may be, relative
_ASSERTED = {2: 32, 3: 30}  # attributes from which that is asserted; with fewer, people are nearly alike
_DRAWS = 5  # of each size, but for the huge
_STEPS = 30  # of Lanczos, where the Gram matrix is not formed: enough for lower ends within a fifth
_FAILURE = 0.02  # of the lower end of one draw; of the median of five, 8·10⁻⁵
_ALONE = 36, 1e-3  # steps and failure where there is one draw
_INDEPENDENT = 2500  # people up to which a matrix of independent entries is written down


@dataclass(frozen=True)
class _Sizes:
    """What to compute: attributes for products of two and of three."""

    attributes: dict[int, tuple[int, ...]]
    huge: tuple[tuple[int, int], ...] = ()  # (attributes, order) of matrices of more than 10¹¹ entries

    def asked(self) -> list[tuple[int, int]]:
        """(attributes, order) of every draw."""
        small = [(d, order) for order, counts in self.attributes.items() for d in counts]
        return [size for size in small for _ in range(_DRAWS)] + list(self.huge)


QUICK = _Sizes({2: (12, 16, 24, 32, 48, 64), 3: (10, 12, 16, 20, 24, 36)})
FULL = _Sizes(
    {2: (12, 16, 24, 32, 48, 64, 96, 128), 3: (10, 12, 16, 20, 24, 30, 36, 48, 60, 90, 144)},
    huge=((1140, 2),),
)


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Least singular values over √m, with the statements and the figure made from them.

    Attributes
    ----------
    products
        Row products, by order and growing d.
    independent
        The medians for independent ±1 entries of the same sizes; missing where the matrix is too large.
    huge
        Single draws of matrices that nobody could write down.
    repeated
        (d, median of σ_min/√(d²)) of the paper's own matrix: 0/1 entries, all d² pairs.
    """

    products: dict[int, list[RowProducts]]
    independent: dict[int, list[float]]
    huge: list[RowProducts]
    repeated: list[tuple[int, float]]

    @classmethod
    def work(cls, *, quick: bool = True) -> int:
        """How much `measure` tells of."""
        return sum(_weight(*size) for size in (QUICK if quick else FULL).asked())

    @classmethod
    def measure(cls, *, quick: bool = True, rng: Rng = 0, tell: Tell = lambda done: None) -> Spectrum:
        """Growing row products, n a quarter of the rows.

        Notes
        -----
        `quick` works in one process. Otherwise as many draws at once as there are cores, the largest first;
        each draw has its own stream, so the numbers do not depend on that.
        """
        sizes, generator = (QUICK if quick else FULL), as_rng(rng)
        found = _drawn(sizes.asked(), generator, 1 if quick else -1, tell)
        products = {order: [found[d, order] for d in sizes.attributes[order]] for order in sizes.attributes}
        same: dict[int, list[float]] = {}
        for order, several in products.items():
            small = [one for one in several if one.n <= _INDEPENDENT]
            same[order] = [
                independent(one.m, one.n, draws=3 if one.n < 1000 else 1, rng=generator) for one in small
            ]
        printed = [
            (d, repeated(d, math.comb(d, 2) // 4, draws=3, rng=generator)) for d in (12, 16, 24, 32, 48)
        ]
        return cls(products, same, [found[size] for size in sizes.huge], printed)

    def statements(self) -> Iterator[Statement]:
        """Each size beside 1 − √(n/m)."""
        for order, found in self.products.items():
            for one in found:
                if one.d >= _ASSERTED[order]:
                    yield _within(one, "least singular value as for independent rows")
        for one in self.huge:
            yield _within(one, "a matrix that is never formed")
        yield _apart([one for found in self.products.values() for one in found])
        d, value = self.repeated[-1]
        limit = math.sqrt(1 - 1 / d) / 8  # d(d − 1) rows hold the ±1 products, times a quarter
        yield Statement.at_least(
            "the printed matrix: 0/1, repeated indices",
            "Thm. 2.5",
            "Ω̃(√(d^k)); here: at least 80 % of a quarter of the ±1 form's",
            value,
            (1 - ALLOWED) * limit,
            setting=f"σ_min/d, k = 2, d = {d}, {d * d:,} × {math.comb(d, 2) // 4}",
        )

    def figures(self) -> Iterator[Figure]:
        """σ_min/√m against d."""
        series = []
        for order, found in self.products.items():
            d = [one.d for one in found]
            low, high = ([end(one.ratios) for one in found] for end in (min, max))
            label = f"products of {order} rows"
            series.append(Series(label, d, [one.median for one in found], low=low, high=high, kind="both"))
            same = self.independent[order]
            series.append(Series(f"independent ±1, sizes of {order}", d[: len(same)], same, kind="points"))
        d_all, values = zip(*self.repeated, strict=True)
        series.append(Series("0/1, all d² pairs (printed)", d_all, values, kind="both"))
        if self.huge:
            series.append(
                Series(
                    "beyond 10¹¹ entries",
                    [one.d for one in self.huge],
                    [one.median for one in self.huge],
                    kind="points",
                )
            )
        yield Figure(
            "Least singular values of row products against independent entries",
            "±1 attributes of n = C(d, k)/4 random people, one row for every set of k attributes, k = 2 and "
            "3. Lines are medians, bands all draws; points are matrices of as many independent signs, the "
            "flat rule what these tend to. The lowest line is the printed form, 0/1 products over all d² "
            "pairs: smaller by a factor that tends to 4, and as flat.",
            Axis("attributes d", log=True, low=6.0),
            Axis("least singular value / √rows", low=0.0, high=0.7),
            tuple(series),
            (Rule(0.5, "1 − √(n/m)"),),
        )


def _drawn(
    asked: Sequence[tuple[int, int]], rng: np.random.Generator, processes: int, tell: Tell
) -> dict[tuple[int, int], RowProducts]:
    """Every draw asked for, those of a size together."""
    from joblib import Parallel, delayed

    tasks = sorted(zip(asked, rng.spawn(len(asked)), strict=True), key=lambda task: -_weight(*task[0]))
    draws = Parallel(n_jobs=processes, return_as="generator")(
        delayed(_draw)(*size, *_care(size, asked), stream) for size, stream in tasks
    )
    by_size: dict[tuple[int, int], list[Draw]] = {}
    for (size, _), draw in zip(tasks, draws, strict=True):
        by_size.setdefault(size, []).append(draw)
        tell(_weight(*size))
    return {size: RowProducts.of(several) for size, several in by_size.items()}


def _draw(d: int, order: int, steps: int, failure: float, stream: np.random.Generator) -> Draw:
    return draw_products(d, order, steps=steps, failure=failure, rng=stream)


def _care(size: tuple[int, int], asked: Sequence[tuple[int, int]]) -> tuple[int, float]:
    """Lanczos steps and the failure allowed, which may be larger where a median of five is taken."""
    return (_STEPS, _FAILURE) if asked.count(size) >= 5 else _ALONE


def _weight(d: int, order: int) -> int:
    """About how long a draw takes, in seconds."""
    return 1 + int(d**order) * math.comb(d, order) // (4 * 10**9 if order == 2 else 10**10)


def independent(m: int, n: int, *, draws: int, rng: np.random.Generator) -> float:
    """The median of σ_min/√m for independent ±1 entries."""
    found = []
    for _ in range(draws):
        signs: Array = (2 * rng.integers(0, 2, size=(m, n), dtype=np.int8) - 1).astype(np.float32)
        found.append(singular_values(Dense(signs), method="gram", rng=rng).least / math.sqrt(m))
    return float(np.median(found))


def repeated(d: int, n: int, *, draws: int, rng: np.random.Generator) -> float:
    """The median of σ_min/d for the printed matrix: 0/1 products over all d² pairs, repeated ones too."""
    found = []
    for _ in range(draws):
        bits = _distinct(d, n, rng)
        rows: Array = np.stack([bits[i] * bits[j] for i, j in product(range(d), repeat=2)])
        found.append(singular_values(Dense(rows)).least / d)
    return float(np.median(found))


def _distinct(d: int, n: int, rng: np.random.Generator) -> Array:
    """n random people, no two alike and none without an attribute."""
    rows = bits_of(n + 1, d, rng)  # one of them at most is without
    return rows[rows.any(axis=1)][:n].T.astype(np.float64)


def _within(one: RowProducts, what: str) -> Statement:
    """Off by at most so much: the value found, which is never too small, and what is certain below it."""
    sure = one.sure / one.expected - 1
    found = f"σ_min/√m = {one.median:.4f}, 1 − √(n/m) = {one.expected:.4f}: off by {one.off:+.1%}"
    if sure < one.off - 1e-3:
        found += f"; found from above, by Lanczos: not below {sure:+.1%} but for 1 draw in 1000"
    entries = f", {one.m * one.n:,} entries" if one.m * one.n > 1e10 else ""
    return Statement(
        what,
        "Thm. 2.5",
        f"Ω̃(√(d^k)), asymptotically as for independent rows; here: within {ALLOWED:.0%} of them",
        found,
        "holds" if one.off <= ALLOWED and sure >= -ALLOWED else "does not hold",
        f"k = {one.order}, d = {one.d}, {one.m:,} × {one.n:,}{entries}, median of {len(one.ratios)}",
        abs(one.off),
        ALLOWED,
    )


def _apart(found: Sequence[RowProducts]) -> Statement:
    """How many people had to be left out for being alike, or alike but for every sign."""
    equal = sum(sum(one.duplicates) for one in found)
    reversed_ = sum(sum(one.complements) for one in found)
    people = sum(one.n * len(one.ratios) for one in found)
    largest = max((one.d for one in found if any(one.duplicates) or any(one.complements)), default=0)
    where = f"none beyond d = {largest}" if largest else "none at all"
    return Statement(
        "people left out: alike, or alike but for every sign",
        "Thm. 2.5",
        "no promise: two equal columns make σ_min zero; the theorem's failure probability covers them",
        f"{equal} equal, {reversed_} reversed ({where})",
        "no promise",
        f"{people:,} people in all draws",
        float(equal + reversed_),
    )
