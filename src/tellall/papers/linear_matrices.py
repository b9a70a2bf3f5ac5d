"""linear-reconstruction: row-function matrices, where LP decoding fails, which functions leak, misprints."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import permutations, product
from typing import Any

import numpy as np

import tellall as ta
from tellall.core.amounts import percent
from tellall.core.work import Tell
from tellall.papers.claims import Array, Found, Joined, NamedCase
from tellall.papers.linear_attacks import Effort, Rng, coins, equations, lp, random_function
from tellall.report.kit.plot import Axis, Figure, Rule, Series

__all__ = [
    "broken",
    "functions",
    "geometry",
    "low_rank",
    "ranks",
    "remedies",
]

_ROWS = 4  # a person
_IID = 1 - 1 / math.sqrt(_ROWS)  # what σ_min/√m of independent signs tends to
_CLOSE = 0.9
_FLAT = 0.8  # how much of its own σ_min a random matrix must keep
_ROUNDOFF = 1e-9
_SHOWN: dict[str, tuple[int, ...]] = {
    "xor": tuple(ta.truth_table("xor", 3)),
    "or": tuple(ta.truth_table("or", 3)),
    "majority": tuple(ta.truth_table("majority", 3)),
    "not-all-equal": tuple(ta.truth_table("nae", 3)),
    "x₁ ? s : x₂": (0, 0, 1, 1, 0, 1, 0, 1),
    "x₁ and s": (0, 0, 0, 0, 0, 1, 0, 1),
    "s ? x₁ : x₂": (0, 0, 1, 0, 0, 1, 1, 1),
    "x₁ ? x₂⊕s : x₃": (0, 0, 1, 1, 0, 0, 1, 1, 0, 1, 0, 1, 1, 0, 1, 0),
}


def _split(table: Any) -> tuple[Array, Array]:
    """f0 and f2 of f = f0 + f2 s."""
    pairs = np.asarray(table, dtype=np.float64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1] - pairs[:, 0]


def _lines(x: Any, values: dict[str, list[float]]) -> tuple[Series, ...]:
    return tuple(Series(name, x, y, kind="both") for name, y in values.items())


# Singular values and Euclidean sections


def geometry(effort: Effort, rng: Rng, tell: Tell) -> Found:
    """Norms (Thms 3.5, B.3), Euclidean sections (B.4) and least singular values (3.9)."""
    size, of_size = _norms(effort["norms"], rng)
    even, of_even = _sections(effort["norms"], effort["searched"], rng)
    least, of_least = _least_values(effort["attributes"], effort["value_runs"], rng)
    return [size, even, least], [*of_size, *of_even, *of_least]


def _norms(sizes: tuple[int, ...], rng: Rng) -> tuple[Figure, list[NamedCase]]:
    """Theorems 3.5 and B.3: the norm over √m + √n, which they bound, at n = d^1.5."""
    ratios: dict[str, list[float]] = {}
    for d in sizes:
        bits = coins(d, int(d**1.5), rng)
        for function in ("and", "xor"):
            for pairs, tuples in (("all pairs", "all"), ("different attributes", "distinct")):
                operator = equations(function, bits, tuples)
                size = ta.bounds.singular_values(operator).largest / sum(map(math.sqrt, operator.shape))
                ratios.setdefault(f"{function}, {pairs}", []).append(size)
    figure = Figure(
        "Norms of row-function matrices",
        "n = d^1.5 people. The theorems say that these lines are level. They are for parities of different "
        "attributes; with repeated attributes d rows of parities are all ones, and products of 0/1 "
        "attributes have a mean (E-LR-1).",
        Axis("attributes d"),
        Axis("‖A‖ / (√m + √n)", low=0.0),
        _lines(sizes, ratios),
    )
    level = ratios["xor, different attributes"]
    cases: list[NamedCase] = []
    for key, name in (("norm", "and, all pairs"), ("norm of products", "xor, all pairs")):
        grows = ratios[name]
        words = {"name": name, "grows": Joined(grows), "level": Joined(level), "sizes": Joined(sizes)}
        fails = grows[-1] > 1.5 * grows[0] and max(level) < 1.1
        cases.append((key, {"value": grows[-1], "bound": level[-1], "mended": fails, **words}))
    return figure, cases


def _sections(sizes: tuple[int, ...], searched: int, rng: Rng) -> tuple[Figure, list[NamedCase]]:
    """Theorem B.4: how evenly A x is spread, at the x that fits the values over attribute 1 best."""
    alphas: dict[str, list[float]] = {}
    printed: list[float] = []  # over all d² pairs, as in the theorem
    halves: dict[str, list[float]] = {}
    for d in sizes:
        bits = coins(d, int(d**1.5), rng)
        operators = {name: equations(name, bits) for name in ("and", "xor")}
        over = np.zeros((d, d))
        over[0] = over[:, 0] = 1.0
        fitted = np.linalg.lstsq((bits.T @ bits) ** 2, (bits * (over @ bits)).sum(axis=0), rcond=None)[0]
        image = (bits * fitted) @ bits.T
        printed.append(float(np.abs(image).sum() / (d * np.linalg.norm(image))))
        matrix = operators["and"].to_dense()
        x = np.linalg.lstsq(matrix.T @ matrix, matrix.T @ over[np.triu_indices(d, 1)], rcond=None)[0]
        for label, name in (("and, fitted x", "and"), ("xor, same x", "xor")):
            image = np.sort(np.abs(operators[name] @ x))[::-1]
            even = float(image.sum() / (math.sqrt(image.size) * np.linalg.norm(image)))
            mass = np.cumsum(image)
            alphas.setdefault(label, []).append(even)
            half = float(np.searchsorted(mass, mass[-1] / 2) + 1) / image.size
            halves.setdefault(label, []).append(half)  # the share of rows that hold half of the l1 norm
        for name, operator in operators.items():
            best = math.nan
            if d <= searched:
                best = ta.bounds.euclidean_section(operator, starts=1, iterations=10, rng=rng).alpha
            alphas.setdefault(f"{name}, searched", []).append(best)
    figure = Figure(
        "How evenly images are spread: upper bounds on α",
        "n = d^1.5 people, pairs of different attributes. A is an α-Euclidean section if ‖A x‖₁ ≥ α √m ‖A x‖ "
        "for all x; every x bounds α from above. x is the least-squares fit of the values over attribute 1, "
        "or the best of a search. For 0/1 products α falls towards 0 and with it the share of errors of "
        "which Theorem 2.2 speaks, with our constants α²/4.",
        Axis("attributes d"),
        Axis("α at most", low=0.0, high=1.0),
        _lines(sizes, alphas),
        (Rule(math.sqrt(2 / math.pi), "normal images, √(2/π)"),),
    )
    falling, flat = alphas["and, fitted x"], alphas["xor, same x"]
    found = [value for value in alphas["xor, searched"] if value == value]
    words = {"falling": Joined(falling), "flat": Joined(flat), "searched": Joined(found)}
    rows = {"half": Joined(halves["and, fitted x"]), "half_flat": Joined(halves["xor, same x"])}
    fails = all(some[-1] < 0.75 * some[0] for some in (falling, printed)) and min(flat) > 0.65
    numbers = {"value": falling[-1], "bound": flat[-1], "repeated": Joined(printed), "mended": fails}
    halved = {"value": halves["and, fitted x"][-1], "sizes": Joined(sizes), **rows}
    return figure, [("section", {**numbers, **words, "sizes": Joined(sizes)}), ("half", halved)]


def _least_values(sizes: tuple[int, ...], runs: int, rng: Rng) -> tuple[Figure, list[NamedCase]]:
    """Theorem 3.9: σ_min of row-function matrices is of the order of √(d^k)."""
    makers: dict[str, Callable[[int, int], Any]] = {
        "independent signs": lambda d, n: 2 * coins(math.comb(d, 2), n, rng) - 1,
        "xor": lambda d, n: equations("xor", coins(d, n, rng)),
        "or": lambda d, n: equations("or", coins(d, n, rng)),
        "majority": lambda d, n: equations("majority", coins(d, n, rng)),
        "random function": lambda d, n: _ordered(random_function(rng), coins(d, n, rng)),
        "not-all-equal": lambda d, n: equations(_SHOWN["not-all-equal"], coins(d, n, rng)),
    }
    ratios: dict[str, list[float]] = {name: [] for name in makers}
    for d in sizes:
        for name, make in makers.items():
            found = [_least(make(d, math.comb(d, 2) // _ROWS), rng) for _ in range(runs)]
            middle = np.min if name == "random function" else np.median  # functions differ in their parity
            ratios[name].append(float(middle(found)))
    figure = Figure(
        "Least singular values of row-function matrices",
        f"Pairs of different attributes, {_ROWS} times as many as people; random functions of three "
        "variables over ordered pairs, non-degenerate. Level lines mean that σ is of the order of √m "
        "(Theorem 3.9; the text's ≈ d^k is a misprint, E-LR-10). The parity in f2 sets the level: its "
        "coefficient is 1 for xor, 1/2 for majority, 1/4 for or, 1/4 or more for others. not-all-equal is "
        f"degenerate: rank d + 1 at most. Medians of {runs} runs, of random functions the least.",
        Axis("attributes d", low=0.0),
        Axis("σ_min / √m", low=0.0),
        _lines(sizes, ratios),
        tuple(Rule(part * _IID, f"{words}1 − √(n/m)") for part, words in ((1, ""), (0.25, "a quarter of "))),
    )
    words = {"d": sizes[-1], "rows": _ROWS, "close": _CLOSE}
    parities = {"xor": 1.0, "or": 0.25, "majority": 0.5, "random function": 0.25}
    return figure, [
        ("least", {"value": ratios[name][-1], "bound": _CLOSE * c * _IID, "name": name, "c": c, **words})
        for name, c in parities.items()
    ]


def _ordered(table: tuple[int, ...], bits: Array) -> Array:
    """f2 over all ordered pairs of different attributes."""
    first, second = np.array(list(permutations(range(bits.shape[0]), 2))).T
    return np.asarray(_split(table)[1][(2 * bits[first] + bits[second]).astype(int)])


def _least(matrix: Any, rng: Rng) -> float:
    """σ_min/√m of an array or an operator."""
    if isinstance(matrix, np.ndarray):
        least = float(np.linalg.svd(matrix, compute_uv=False)[-1])
    else:
        least = ta.bounds.singular_values(matrix, rng=rng).least
    return least / math.sqrt(matrix.shape[0])


# Where LP decoding fails, and what withstands the same errors (E-LR-1)


def _over_one_attribute(d: int, n: int, rng: Rng) -> tuple[Array, Any, Array, Array]:
    """People, their secret, all d² and-equations, and errors on the values over attribute 1 (E-LR-1).

    The error is (A c)_J, where c is that attribute minus its mean: these values become those of the secret
    s + c. Everywhere else A c is small, so that s + c is an l1 solution nearly as good as s.
    """
    bits, secret = coins(d, n, rng), rng.integers(0, 2, n)
    matrix = equations("and", bits, "all").to_dense()
    hit = np.zeros((d, d), dtype=bool)
    hit[0] = hit[:, 0] = True
    return bits, secret, matrix, np.where(hit.ravel(), matrix @ (bits[0] - bits[0].mean()), 0.0)


def broken(effort: Effort, rng: Rng, tell: Tell) -> Found:
    """E-LR-1: only the values over one attribute are wrong, and LP decoding of and-counts falls."""
    runs, d, sizes = effort["break_runs"], 30, (0.3, 0.5, 1.0, 3.0, 10.0)
    n = int(d**1.5)
    share = (2 * d - 1) / d**2
    names = ("and, LP", "xor, LP", "and, LP in the box", "and as parities, LP")
    wrong = {name: np.full((runs, len(sizes)), math.nan) for name in names}
    for run in range(runs):
        bits, secret, matrix, error = _over_one_attribute(d, n, rng)
        parities = equations("xor", bits, "all").to_dense()
        for k, size in enumerate(sizes):
            counts, odd = (one @ secret + size * error for one in (matrix, parities))
            guesses = [lp(matrix, counts), lp(parities, odd), lp(matrix, counts, box=True)]
            if size in (1.0, 10.0):
                guesses.append(lp(*_as_parities(bits, counts))[:n])
            for name, guess in zip(names, guesses, strict=False):
                wrong[name][run, k] = (guess != secret).sum()
    means = {name: grid.mean(axis=0) for name, grid in wrong.items()}
    figure = Figure(
        "Where LP decoding fails: errors on the values over one attribute",
        f"d = {d}, n = {n}, all d² pairs; wrong are the {percent(share)} of the values over attribute 1, the "
        "others are exact. xor with the same values wrong by as much stays at 0. So do, at this size, the "
        "and-counts once they are turned into parities, or in the box 0 ≤ x ≤ 1, which the paper does not "
        f"have; other errors or more people break both. Means of {runs} runs.",
        Axis("size of the error", unit="1: about n/8 people", log=True),
        Axis("people wrong", low=0.0, high=float(n) / 2 + 8),
        tuple(Series(name, sizes, values, kind="both") for name, values in means.items()),
    )
    conjunctions, odd, boxed, turned = (means[name] for name in names)
    lost, more, kept = float(conjunctions[2]), float(conjunctions[-1]), float(odd.max())
    words = {"d": d, "n": n, "share": share, "runs": runs}
    fails = lost > n / 10 and more > n / 4 and kept == 0
    return [figure], [
        ("lp broken", {"value": lost, "bound": kept, "more": more, "mended": fails, **words}),
        ("parities", {"value": float(np.nanmax(turned)), **words}),
        ("box", {"value": float(boxed.max()), **words}),
    ]


def _as_parities(bits: Array, counts: Array) -> tuple[Array, Array]:
    """And-counts over all pairs as equations in ±1: one unknown more, the number of people with the secret.

    With v = 2t − 1, Σ v_i v_j s = 4 Σ t_i t_j s − 2 Σ t_i s − 2 Σ t_j s + Σ s; Σ t_i s is the count (i, i).
    """
    d = bits.shape[0]
    grid, (first, second) = counts.reshape(d, d), np.triu_indices(d, 1)
    signs, single = 2 * bits - 1, grid.diagonal()
    rows = np.column_stack([signs[first] * signs[second], np.full(first.size, -1.0)])
    return rows, 4 * grid[first, second] - 2 * single[first] - 2 * single[second]


def _as_differences(bits: Array, counts: Array, count: int, rng: Rng) -> tuple[Array, Array]:
    """And-counts as sampled differences of four (Cor. 3.7), c_ij − c_i'j − c_ij' + c_i'j'."""
    d = bits.shape[0]
    grid = counts.reshape(d, d)
    i, other_i, j, other_j = np.array([rng.permutation(d)[:4] for _ in range(count)]).T
    rows = (bits[i] - bits[other_i]) * (bits[j] - bits[other_j])
    return rows, grid[i, j] - grid[other_i, j] - grid[i, other_j] + grid[other_i, other_j]


def remedies(effort: Effort, rng: Rng, tell: Tell) -> Found:
    """What withstands the errors of E-LR-1: Cor. 3.7's differences do; the box and parities need not."""
    d, count, runs = 30, 600, effort["break_runs"]
    cases: list[NamedCase] = []
    for n in (164, 225):
        differences, boxed, diagonal = [], [], []
        for _ in range(runs):
            bits, secret, matrix, error = _over_one_attribute(d, n, rng)
            counts = matrix @ secret + error
            differences.append((lp(*_as_differences(bits, counts, count, rng)) != secret).mean())
            boxed.append((lp(matrix, counts, box=True) != secret).mean())
            off = np.diag(rng.normal(0, n / 4, d)).ravel()  # the d values over one attribute taken twice
            diagonal.append((lp(*_as_parities(bits, matrix @ secret + off))[:n] != secret).mean())
        words = {"d": d, "n": n, "runs": runs, "count": count}
        cases += [
            ("differences", {"value": float(np.mean(differences)), **words}),
            ("box, more people", {"value": float(np.mean(boxed)), **words}),
            ("parities, diagonal", {"value": float(np.mean(diagonal)), **words}),
        ]
    return (), cases


# Which functions give the secret away


def ranks(effort: Effort, rng: Rng, tell: Tell) -> Found:
    """Rank and bits recovered from exact counts of some functions, degenerate ones among them."""
    n, d = 100, 24
    bits = coins(d, n, rng)
    people = ta.Dataset.from_arrays(bits.T.astype(np.int8), rng.integers(0, 2, n, dtype=np.int8))
    shares, right = [], []
    for table in _SHOWN.values():
        release = ta.publish(people, ta.Predicates(table))
        found = ta.reconstruct(release, people.public, "least-squares", proof_effort=0)
        shares.append(_rank(found.evidence.operator.to_dense()) / n)
        right.append(float((found.guess == people.bits).mean()))
    majority = max(float(people.bits.mean()), 1 - float(people.bits.mean()))
    marks = [f"{name} (d)" if ta.is_degenerate(table) else name for name, table in _SHOWN.items()]
    figure = Figure(
        "Degenerate functions: rank decides",
        f"n = {n} people, d = {d} attributes, exact counts over all choices of attributes; (d) marks the "
        "degenerate. Of three variables each leaves f2 at most linear, so that the rank is d + 1 at most and "
        "the rest is left to prior and box. The last one is degenerate in its four variables and gives "
        "everybody away. Where rank and bits are both whole their marks coincide.",
        Axis("function", categories=tuple(marks)),
        Axis("share", low=0.0, high=1.0),
        (
            Series("rank / people", range(len(marks)), shares, kind="points"),
            Series("bits right", range(len(marks)), right, kind="points"),
        ),
        (Rule(majority, "majority guess"), Rule((d + 1) / n, "(d + 1)/n")),
    )
    by_kind: dict[bool, list[int]] = {True: [], False: []}
    for table in product((0, 1), repeat=8):
        by_kind[ta.is_degenerate(table)].append(_rank(_ordered(table, bits)))
    words, full = {"n": n, "d": d}, by_kind[False]
    return [figure], [
        ("full rank", {"value": sum(rank == n for rank in full), "bound": len(full), **words}),
        ("degenerate rank", {"value": max(by_kind[True]), "count": len(by_kind[True]), **words}),
        ("degenerate, recovered", {"value": right[-1], **words}),
        *functions(),
    ]


def _rank(rows: Array) -> int:
    return int(np.linalg.matrix_rank(rows.T @ rows, hermitian=True))


def functions() -> Iterator[NamedCase]:
    """Every function of up to four variables: how many are degenerate, Definition 11, and trees."""
    counts, same, opposite = [], True, True
    for p in (2, 3, 4):
        tables = (np.arange(2 ** (2**p))[:, None] >> np.arange(2**p)) & 1
        ones = np.array([bin(index).count("1") for index in range(2**p)])
        top = tables @ (-1.0) ** (p - ones)
        printed = ((-1.0) ** (tables + ones)).sum(axis=1)
        counts.append(int((top != 0).sum()))
        opposite &= bool(((-1.0) ** tables == 1 - 2 * tables).all())
        same &= bool((printed == -2 * (-1.0) ** p * top).all())
    expected = [2 ** (2**p) - math.comb(2**p, 2 ** (p - 1)) for p in (2, 3, 4)]
    numbers = {"value": counts[-1], "bound": expected[-1], "same": counts == expected}
    yield "count", {"counts": Joined(counts), "expected": Joined(expected), **numbers}
    word = "for all functions" if same else "for some functions only"
    yield "definitions", {"same": same, "word": word}
    yield "sign in the proof", {"mended": opposite}
    deep = [table for table in product((0, 1), repeat=8) if _depth(table) == 3]
    degenerate = sum(int(ta.multilinear(table)[-1]) == 0 for table in deep)
    few = 0 < degenerate < len(deep) / 10
    yield "trees", {"value": degenerate, "bound": 0.0, "deep": len(deep), "mended": few}


def _depth(table: tuple[int, ...]) -> int:
    """The depth of the shallowest decision tree."""
    if len(set(table)) == 1:
        return 0
    grid = np.array(table).reshape((2,) * (len(table).bit_length() - 1))
    return 1 + min(
        max(_depth(tuple(np.take(grid, bit, axis).ravel().tolist())) for bit in (0, 1))
        for axis in range(grid.ndim)
    )


# Random plus low rank, and what is printed wrong


def low_rank(effort: Effort, rng: Rng, tell: Tell) -> Found:
    """Lemma D.2: a random matrix keeps its least singular value when a matrix of low rank is added."""
    n, runs = effort["low_rank"], effort["low_rank_runs"]
    d = 2 * n
    sizes = [0, 1, 2, *(round(d * share) for share in (0.05, 0.1, 0.2, 0.3))]
    found: dict[str, list[float]] = {}
    for rank in sizes:
        for power in (0.5, 1.0, 2.0):
            values = []
            for _ in range(runs):
                left, right = (np.linalg.qr(rng.normal(size=(side, rank)))[0] for side in (d, n))
                low = d**power * (left @ right.T)
                values.append(_least(rng.uniform(-1, 1, (d, n)) + low, rng))
            found.setdefault(f"‖D‖ = d^{power:g}", []).append(float(np.median(values)))
    figure = Figure(
        "Random plus low rank",
        f"R is {d} × {n} with entries uniform on [−1, 1], D of the given rank with equal singular values in "
        "random directions. The least singular value of R + D does not fall below that of R, also where ‖D‖ "
        f"is far above ‖R‖. Medians of {runs} runs.",
        Axis("rank of D / d"),
        Axis("σ_min(R + D) / √d", low=0.0),
        _lines([rank / d for rank in sizes], found),
        (Rule((1 - math.sqrt(n / d)) / math.sqrt(3), "R alone, limit"),),
    )
    alone, least = found["‖D‖ = d^0.5"][0], min(map(min, found.values()))
    words = {"d": d, "n": n, "rank": sizes[-1], "alone": alone, "flat": _FLAT}
    case = ("low rank", {"value": least, "bound": _FLAT * alone, **words})
    return [figure], [case, *_misprints(rng)]


def _misprints(rng: Rng) -> Iterator[NamedCase]:
    """E-LR-1a, 2, 3, 4, 5 and 7."""
    yield _one_matrix(rng)
    yield from _logistic(rng)
    a = np.diag([2.0, 1.0])
    left, values, right = np.linalg.svd(a)
    printed, correct = (right.T @ np.diag(order) @ left.T @ a for order in (1 / values[::-1], 1 / values))
    fine = np.allclose(correct, np.eye(2)) and not np.allclose(printed, np.eye(2))
    yield "inverse", {"first": printed[0, 0], "second": printed[1, 1], "mended": fine}
    yield _corollary(rng)
    yield from _likelihoods(rng)


def _one_matrix(rng: Rng) -> NamedCase:
    """E-LR-1a: Eq. (7)'s matrix is Eq. (3)'s, so it cannot be a Euclidean section if that is not."""
    tried, equal = 100, 0
    for _ in range(tried):
        table = np.array(random_function(rng))
        bits = coins(int(rng.integers(3, 6)), int(rng.integers(2, 9)), rng)
        d, n = bits.shape
        index = (2 * bits[:, None] + bits[None]).astype(int).reshape(d * d, n)  # all pairs of attributes
        g = (2 * table - 1).reshape(-1, 2)  # columns: the secret −1 and +1
        f0, f2 = _split(table)
        g2, g3 = (g[:, 1] - g[:, 0]) / 2, (g[:, 1] + g[:, 0]) / 2
        constant = (g3[index].sum(axis=1) + n - g2[index].sum(axis=1)) / 2
        equal += int(np.array_equal(g2, f2) and np.allclose(constant, f0[index].sum(axis=1)))
    return "one matrix", {"value": equal, "bound": tried, "mended": equal == tried}


def _logistic(rng: Rng) -> Iterator[NamedCase]:
    """E-LR-2 and E-LR-3: the equation that a fitted coefficient satisfies, and how noise enters it."""
    n, columns = 60, 20
    public, secret = rng.uniform(-1, 1, (n, columns)), rng.integers(0, 2, n).astype(np.float64)
    theta = _fitted(public, secret)
    zeta = _sigmoid(public * theta)
    residuals = (public * (secret[:, None] - one) for one in (zeta, 1 / zeta))
    right, printed = (float(np.abs(one.sum(axis=0)).max()) for one in residuals)
    fine = right < _ROUNDOFF < 1.0 < printed
    yield "logistic", {"value": right, "bound": printed, "columns": columns, "n": n, "mended": fine}
    column = public[:, -1]
    square = float(column @ column)
    starts, steps = np.array([[0.0], [0.5], [2.0]]), np.geomspace(1e-3, 10, 60)
    points = starts + np.stack([steps, -steps]).ravel()
    here, there = (np.tensordot(column, _sigmoid(column[:, None, None] * at), 1) for at in (points, starts))
    largest = float((np.abs(here - there) / np.abs(points - starts)).max()) / square
    hessian = float((column**2 * zeta[:, -1] * (1 - zeta[:, -1])).sum()) / square
    fine = 0.2 < largest <= 0.25 + _ROUNDOFF and hessian < 0.3
    words = {"hessian": hessian, "pairs": points.size, "n": n}
    yield "hessian", {"value": largest, "bound": 0.25, "mended": fine, **words}


def _corollary(rng: Rng) -> NamedCase:
    """E-LR-5: Corollary 3.7 is off by (−1)^k, and its bound (8) needs |c_h|."""
    off, fixed, negative = [], True, 0
    for k in (1, 2, 3):
        worst = 0.0
        for _ in range(20):
            h = _split(random_function(rng, k + 1))[1]
            top = _alternating(h, np.zeros(k), np.ones(k))  # the coefficient of the product of all variables
            negative += int(top < 0)
            point = rng.integers(0, 2, k).astype(np.float64)  # with its opposite: no factor is zero
            product_of_signs = float(np.prod(2 * point - 1))
            worst = max(worst, abs(_alternating(h, point, 1 - point) / top - product_of_signs))
            fixed &= abs(_alternating(h, 1 - point, point) / top - product_of_signs) < _ROUNDOFF
        off.append(worst)
    fine = fixed and off[0] > 0 and off[1] < _ROUNDOFF and off[2] > 0
    words = {"off": Joined(off), "negative": negative}
    return "corollary", {"value": max(off), "bound": 0.0, "mended": fine, **words}


def _alternating(h: Array, inside: Array, outside: Array) -> float:
    """Σ_I (−1)^|I| h(point), the point's coordinate from `inside` where j ∈ I."""
    k, total = inside.size, 0.0
    for chosen in range(2**k):
        members = np.array([(chosen >> j) & 1 for j in range(k)])
        point = np.where(members == 1, inside, outside)
        total += (-1.0) ** members.sum() * float(h[int(point @ (1 << np.arange(k)[::-1]))])
    return total


def _likelihoods(rng: Rng) -> Iterator[NamedCase]:
    """E-LR-7: the printed likelihoods have no maximum where the fit is."""
    n = 60
    column, secret = rng.uniform(-1, 1, (n, 1)), rng.integers(0, 2, n).astype(np.float64)
    x = column[:, 0]
    theta = (x @ secret) / (x @ x)
    printed, right = float(x.sum()), float(x @ (secret - x * theta))
    fine = abs(right) < _ROUNDOFF < abs(printed)
    yield "likelihood", {"slope": printed / 2, "right": right, "n": n, "mended": fine}
    fit = float(_fitted(column, secret)[0])
    here, away = (float((secret * x * at - np.logaddexp(0, x * at)).sum()) for at in (fit, fit + 2))
    yield "loss", {"value": here, "bound": away, "n": n, "mended": away < here}


def _fitted(public: Array, secret: Array) -> Array:
    """The coefficient of a logistic regression on each column alone."""
    people = ta.Dataset.from_arrays(public, secret.astype(np.int8))
    return ta.publish(people, ta.Estimator("logistic")).values


def _sigmoid(score: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-score)))
