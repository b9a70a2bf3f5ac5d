"""linear-reconstruction: which boolean functions give the secret away; ranks, counts and their errata."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product

import numpy as np
import numpy.typing as npt

from tellall.algebra.operators.base import Array
from tellall.algebra.operators.rowfunction import row_values
from tellall.attack.reconstruct.attack import reconstruct
from tellall.papers.linear_people import bits_of, coins
from tellall.people.dataset import Dataset
from tellall.release.release import publish
from tellall.release.statistics.boolean import is_degenerate, multilinear, split, truth_table
from tellall.release.statistics.predicates import Predicates
from tellall.report.paper import Statement
from tellall.report.plot import Axis, Figure, Rule, Series

__all__ = [
    "functions",
    "ranks_figure",
]

Tables = npt.NDArray[np.int64]
_SHOWN: dict[str, tuple[int, ...]] = {
    "xor": tuple(truth_table("xor", 3)),
    "or": tuple(truth_table("or", 3)),
    "majority": tuple(truth_table("majority", 3)),
    "not-all-equal": tuple(truth_table("nae", 3)),
    "x₁ ? s : x₂": (0, 0, 1, 1, 0, 1, 0, 1),
    "x₁ and s": (0, 0, 0, 0, 0, 1, 0, 1),
    "s ? x₁ : x₂": (0, 0, 1, 0, 0, 1, 1, 1),
    "x₁ ? x₂⊕s : x₃": (0, 0, 1, 1, 0, 0, 1, 1, 0, 1, 0, 1, 1, 0, 1, 0),
}


def ranks_figure(n: int, d: int, rng: np.random.Generator) -> tuple[Figure, Iterator[Statement]]:
    """Rank and bits recovered from exact counts of some functions, degenerate ones among them."""
    bits = coins(d, n, rng)
    people = Dataset.from_arrays(bits.T.astype(np.int8), bits_of(n, rng))
    shares, right, marks = [], [], []
    for table in _SHOWN.values():
        found = reconstruct(publish(people, Predicates(table)), people.public, decoder="least-squares")
        shares.append(found.evidence.rank / n)
        right.append(float((found.guess == people.bits).mean()))
        marks.append("" if not is_degenerate(table) else " (d)")
    majority = max(float(people.bits.mean()), 1 - float(people.bits.mean()))
    places = range(len(_SHOWN))
    figure = Figure(
        "Degenerate functions: rank decides",
        f"n = {n} people, d = {d} attributes, exact counts over all choices of attributes; (d) marks the "
        "degenerate. Of three variables each leaves f2 at most linear, so that the rank is d + 1 at most and "
        "the rest is left to prior and box. The last one is degenerate in its four variables and gives "
        "everybody away. Where rank and bits are both whole their marks coincide.",
        Axis("function", categories=tuple(f"{name}{mark}" for name, mark in zip(_SHOWN, marks, strict=True))),
        Axis("share", low=0.0, high=1.0),
        (
            Series("rank / people", places, shares, kind="points"),
            Series("bits right", places, right, kind="points"),
        ),
        (Rule(majority, "majority guess"), Rule((d + 1) / n, "(d + 1)/n")),
    )
    last = right[-1]
    return figure, _rank_statements(bits, last)


def _rank_statements(bits: Array, last: float) -> Iterator[Statement]:
    d, n = bits.shape
    pairs = np.array([(i, j) for i in range(d) for j in range(d) if i != j])
    ranks: dict[bool, list[int]] = {True: [], False: []}
    for table in product((0, 1), repeat=8):
        rows = row_values(split(table)[1], bits, pairs)
        ranks[is_degenerate(table)].append(_rank(rows))
    full = sum(rank == n for rank in ranks[False])
    yield Statement.at_least(
        "non-degenerate: full rank",
        "Thm 3.9",
        "σ_min > 0 for every non-degenerate f",
        float(full),
        float(len(ranks[False])),
        setting=f"functions of three variables with rank n, of {len(ranks[False])}; n = {n}, d = {d}",
    )
    yield Statement.shown(
        "degenerate: the largest rank",
        "Sec. 3",
        float(max(ranks[True])),
        setting=f"{len(ranks[True])} functions of three variables, whose f2 is linear; n = {n}, d = {d}",
    )
    yield Statement.shown(
        "degenerate, and everybody is recovered",
        "Sec. 3",
        last,
        setting=f"x₁ ? x₂⊕s : x₃ of four variables, exact counts, n = {n}, d = {d}",
    )


def _rank(rows: Array) -> int:
    return int(np.linalg.matrix_rank(rows.T @ rows, hermitian=True))


def functions() -> Iterator[Statement]:
    """Every function of up to four variables: how many are degenerate, trees, and Definition 11."""
    counts, same = [], 0
    for p in (2, 3, 4):
        tables, ones = _all_tables(p), np.array([bin(place).count("1") for place in range(2**p)])
        top = tables @ (-1.0) ** (p - ones)
        printed = ((-1.0) ** (tables + ones)).sum(axis=1)
        counts.append(int((top != 0).sum()))
        same += int((printed == -2 * (-1.0) ** p * top).all())
    expected = [2 ** (2**p) - math.comb(2**p, 2 ** (p - 1)) for p in (2, 3, 4)]
    yield Statement(
        "how many functions are non-degenerate",
        "note 6, App. A",
        f"2^(2^p) − C(2^p, 2^(p−1)): {', '.join(f'{value:,}' for value in expected)}",
        ", ".join(f"{value:,}" for value in counts),
        "holds" if counts == expected else "does not hold",
        "p = 2, 3, 4 variables, all functions",
        float(counts[-1]),
        float(expected[-1]),
    )
    yield Statement(
        "the two definitions agree",
        "Defs 4, 11, Lemma A.1, E-LR-10",
        "sum of (−1)^(f − Σδ) ≠ 0 iff degree k + 1; the proof's g = (−1)^f has the sign reversed",
        "the sum is −2(−1)^p times the top coefficient, for all functions"
        if same == 3
        else "they differ for some function",
        "corrected" if same == 3 else "does not hold",
        "all functions of 2, 3 and 4 variables",
    )
    yield _trees()


def _trees() -> Statement:
    """E-LR-6: functions of three variables that need a tree of depth three."""
    deep = [table for table in product((0, 1), repeat=8) if _depth(table) == 3]
    degenerate = sum(int(multilinear(table)[-1]) == 0 for table in deep)
    return Statement(
        "decision trees of full depth are non-degenerate",
        "Sec. 3, E-LR-6",
        "depth k + 1 decision trees are among them; true of most, not of all",
        f"{degenerate} of {len(deep)} functions that need depth 3 are degenerate, not-all-equal among them",
        "corrected" if 0 < degenerate < len(deep) / 10 else "does not hold",
        "all functions of three variables",
        float(degenerate),
        0.0,
    )


def _depth(table: tuple[int, ...]) -> int:
    """The depth of the shallowest decision tree."""
    if len(set(table)) == 1:
        return 0
    grid = np.array(table).reshape((2,) * (len(table).bit_length() - 1))
    return 1 + min(
        max(_depth(tuple(np.take(grid, bit, axis).ravel().tolist())) for bit in (0, 1))
        for axis in range(grid.ndim)
    )


def _all_tables(p: int) -> Tables:
    places = np.arange(2 ** (2**p), dtype=np.int64)
    return np.asarray((places[:, None] >> np.arange(2**p)) & 1)
