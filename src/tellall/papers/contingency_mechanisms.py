"""contingency-tables: mechanisms under attack, what they cost, what privacy must cost, and misprints."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, product
from typing import Any

import numpy as np

import tellall as ta
from tellall.core.work import Tell
from tellall.papers.claims import Array, Case, Found, NamedCase, attributes_for, case_of, mean_of
from tellall.papers.contingency_attacks import LITTLE, attribute_attack, bits_of, random_people, row_attack
from tellall.report.kit.plot import Axis, Figure, Rule, Series

__all__ = [
    "DELTA",
    "EPSILON",
    "SLACK",
    "constant_output",
    "costs",
    "errata",
    "general_noise",
    "inner_products",
    "mechanisms",
    "privacy",
    "sample_attack",
]

Rng = np.random.Generator
EPSILON, DELTA = 0.1, 0.1  # the paper's own choice
SLACK = 4  # standard errors by which a measured mean may exceed its cap
_WAYS, _ATTRIBUTES = 3, 12
_PEOPLE = 100_000
_GRID = (10, 14, 20, 28, 40, 56, 80)
_EPS, _DEL = 0.5, 1e-6  # at which the cost of privacy is computed
_DECLARED = ((0.5, 1e-5), (1.0, 1e-6), (1.0, 1e-9), (0.1, 0.1))


# Propositions B.1 and B.3: what attacks get from protected tables

Attack = Callable[[Any], float]  # the share right in one run under a protection


def mechanisms(quick: bool, rng: Rng, tell: Tell) -> Found:
    """The attribute and the row attack on each mechanism, k = 3, twice as many tables as people."""
    runs, n = (8, 200) if quick else (20, 400)
    cases = [*_on_secrets(n, runs, rng), *_on_rows(n, runs, rng)]
    figures = [_categories(cases, words, rule) for words, rule in (("secrets", 3 / 4), ("rows", 5 / 6))]
    gate = ta.bounds.row_guess(EPSILON, DELTA)
    cases.append(("gate", {"value": gate, "epsilon": EPSILON, "vacuous": ta.bounds.row_guess(1.0, 1e-6)}))
    return figures, cases


def _on_secrets(n: int, runs: int, rng: Rng) -> Iterator[NamedCase]:
    d, statistic = attributes_for(2 * n, _WAYS - 1), ta.Marginals(_WAYS)
    tables = math.comb(d, _WAYS - 1)
    private, pure = (ta.bounds.row_guess(EPSILON, delta, 1 / 2) for delta in (DELTA, 0.0))
    half = ("a fair bit: 1/2 + 1/2 · 1/2 = 0.75", 3 / 4)
    noisy = (f"a fair bit: e^ε/2 + δ = {private:.3f}", private)

    def attack(protect: Any) -> float:
        return float(attribute_attack(random_people(n, d, rng), statistic, protect, rng).mean())

    def solved(_: Any) -> float:
        return sample_attack(random_people(n, d, rng), statistic, rng)

    kinds: tuple[tuple[str, Any, Attack, tuple[str, float] | None], ...] = (
        ("exact", None, attack, None),
        ("little noise", ta.Gaussian(LITTLE * math.sqrt(n)), attack, None),
        ("half the people", ta.Subsample(0.5), attack, half),
        ("half, solved for", None, solved, half),
        ("combined", ta.Combined(EPSILON, DELTA), attack, half),
        ("SuLQ", ta.SuLQ(EPSILON, DELTA), attack, noisy),
        ("Walsh noise", ta.WalshNoise(epsilon=EPSILON, delta=DELTA), attack, noisy),
        ("Laplace", ta.Laplace(2 * tables / EPSILON), attack, (f"a fair bit: e^ε/2 = {pure:.3f}", pure)),
        ("constant", ta.Trivial(), attack, ("a fair bit: nothing is published about anybody", 1 / 2)),
    )
    yield from _attacked("secrets", kinds, n, d, tables, runs)


def _on_rows(n: int, runs: int, rng: Rng) -> Iterator[NamedCase]:
    d = attributes_for(2 * n, _WAYS)
    tables = math.comb(d, _WAYS)
    private, pure = ta.bounds.row_guess(EPSILON, DELTA), ta.bounds.row_guess(EPSILON)
    half = ("a row guessed with 2/3 before: 1/2 + 1/2 · 2/3 = 5/6", 5 / 6)

    def attack(protect: Any) -> float:
        rows, present = bits_of(n, d, rng), rng.integers(0, 2, n)
        return float((row_attack(rows, present, _WAYS, protect, rng).guess == present).mean())

    def solved(_: Any) -> float:
        """The share right by solving for the sample; people not found in it are guessed absent."""
        rows, present = bits_of(n, d, rng), rng.integers(0, 2, n)
        people = ta.Dataset.from_arrays(rows * present[:, None])
        exact = _of_sample(people, ta.Tables(_WAYS), rng)
        share = (n // 2) / (2 * n)
        found = ta.reconstruct_rows(exact, rows, "least-squares", share, rng, absent="zeros")
        return float((found.guess == present).mean())

    kinds: tuple[tuple[str, Any, Attack, tuple[str, float] | None], ...] = (
        ("exact", None, attack, None),
        ("little noise", ta.Gaussian(LITTLE * math.sqrt(n)), attack, None),
        ("half the people", ta.Subsample(0.5), attack, half),
        ("half, solved for", None, solved, half),
        ("SuLQ", ta.SuLQ(EPSILON, DELTA), attack, (f"a row: (2/3)e^ε + δ = {private:.3f}", private)),
        ("Laplace", ta.Laplace(2 * tables / EPSILON), attack, (f"a row: (2/3)e^ε = {pure:.3f}", pure)),
    )
    yield from _attacked("rows", kinds, n, d, tables, runs)


def _attacked(
    target: str,
    kinds: Sequence[tuple[str, Any, Attack, tuple[str, float] | None]],
    n: int,
    d: int,
    tables: int,
    runs: int,
) -> Iterator[NamedCase]:
    """The share right under each mechanism; it may exceed its cap by as much as chance explains."""
    for name, protect, attack, capped in kinds:
        found = mean_of(np.array([attack(protect) for _ in range(runs)]))
        words = {"target": target, "name": name, "n": n, "d": d, "tables": tables, "k": _WAYS}
        if capped is None:
            yield f"open {target}", case_of(found, **words)
        else:
            why, cap = capped
            kept = found[0] <= cap + SLACK * 0.5 / math.sqrt(n * runs)
            yield f"capped {target}", case_of(found, why=why, bound=cap, kept=kept, **words)


def _of_sample(people: ta.Dataset, statistic: Any, rng: Rng) -> ta.Release:
    """Tables of half the people, divided by two: exact tables of the sample."""
    release = ta.publish(people, statistic, ta.Subsample(0.5), rng=rng)
    values = np.rint(release.values * (people.n // 2) / people.n)
    return ta.Release.from_values(statistic, values, public=people.public)


def sample_attack(people: ta.Dataset, statistic: Any, rng: Rng) -> float:
    """The share of secrets right by solving for the sample, which reaches the cap.

    Notes
    -----
    Each person is a candidate twice, with either secret; the row attack says which of the two, if any, is
    in the sample. People found with neither secret are guessed by a coin and count one half, which gives
    1/2 · 1 + 1/2 · 1/2 if everybody in the sample is found.
    """
    n, exact = people.n, _of_sample(people, statistic, rng)
    twice = people.public.take(np.tile(np.arange(n), 2))
    candidates = ta.Dataset(twice, np.repeat(np.array([0, 1], dtype=np.int8), n))
    share = (n // 2) / (2 * n)
    there = ta.reconstruct_rows(exact, candidates, "least-squares", share, rng).guess.reshape(2, n)
    known = there.sum(axis=0) == 1
    right = there[people.bits.astype(np.intp), np.arange(n)] == 1
    return float(np.where(known, right, 0.5).mean())


def _categories(cases: Sequence[NamedCase], words: str, level: float) -> Figure:
    some: list[Case] = [case for key, case in cases if key.endswith(words)]
    ends = [case["interval"] or (case["value"], case["value"]) for case in some]
    low, high = zip(*ends, strict=True)
    index, one = range(len(some)), some[0]
    rule = "3/4, half the people left out" if words == "secrets" else "5/6, half the rows left out"
    return Figure(
        f"{words.capitalize()} right, by what was done to the tables",
        f"k = {_WAYS}, n = {one['n']}, d = {one['d']}, {one['tables']} tables. Caps are what nobody exceeds "
        "in the mean; exact tables and little noise have none. “Half, solved for” is the attack that knows "
        "how sampling works. Whiskers: 95 % over runs.",
        Axis("mechanism", categories=tuple(case["name"] for case in some)),
        Axis(f"share of {words} right", low=0.4, high=1.0),
        (
            Series(f"{words} right", index, [c["value"] for c in some], low=low, high=high, kind="points"),
            Series("cap", index, [case.get("bound", math.nan) for case in some], kind="points"),
        ),
        (Rule(level, rule), Rule(0.5, "best guess before")),
    )


# Appendix B: the error that resisting costs


def costs(quick: bool, rng: Rng, tell: Tell) -> Found:
    """The largest errors of the combined mechanism on all 3-way tables of twelve attributes."""
    d, runs = _ATTRIBUTES, 4 if quick else 10
    tables, statistic = math.comb(d, _WAYS), ta.Tables(_WAYS)
    sizes = (20, 60, 200, 220, 600, 2000) if quick else (20, 60, 200, 220, 600, 2000, 6000, 20_000)

    def off(people: ta.Dataset, protect: Any) -> float:
        exact = ta.publish(people, statistic).values
        return float(np.abs(ta.publish(people, statistic, protect, rng=rng).values - exact).max())

    seen = []
    for n in sizes:  # Combined itself fits tables with a secret; its rule, by hand
        protect: Any = ta.Subsample(0.5) if n <= tables else ta.SuLQ(EPSILON, DELTA)
        found = [off(ta.Dataset.from_arrays(rng.integers(0, 2, (n, d))), protect) for _ in range(runs)]
        seen.append(float(np.mean(found)))
    noisy = ta.bounds.noisy_tables(d, _WAYS, EPSILON, DELTA).largest or math.nan
    halves = [ta.bounds.sampled(n, d, _WAYS).largest for n in sizes]
    people = ta.Dataset.from_arrays(rng.integers(0, 2, (200, d)))
    within = ta.bounds.sampled(200, d, _WAYS).largest
    beyond = float(np.mean([off(people, ta.Subsample(0.5)) > within for _ in range(10 * runs)]))
    low, high = 2, 10**9  # the most people for which sampling's bound is the smaller
    while high - low > 1:
        middle = (low + high) // 2
        smaller = ta.bounds.sampled(middle, d, _WAYS).largest <= noisy
        low, high = (middle, high) if smaller else (low, middle)
    words = {"d": d, "k": _WAYS, "epsilon": EPSILON}
    figure = Figure(
        "The error that resisting costs",
        f"All {_WAYS}-way tables of d = {d} attributes, ε = δ = {EPSILON:g}. Points: the largest "
        "error of any cell, mean over runs of the combined mechanism, which tabulates half the people "
        f"up to n = m_k = {tables} and adds noise beyond. Lines: what 95 % of "
        "releases stay within, and the printed rate with constant 1.",
        Axis("people n", log=True),
        Axis("largest error of a cell", unit="people", log=True),
        (
            Series("combined, measured", sizes, seen, kind="points"),
            Series("half the people: bound", sizes, halves),
            Series("SuLQ noise: bound", sizes, [noisy] * len(sizes)),
            Series(
                "rate of Prop. B.1, constant 1",
                sizes,
                [math.sqrt(min(n, tables) * _WAYS * math.log(d / _WAYS)) for n in sizes],
            ),
        ),
        (Rule(float(tables), "n = m_k", "x"),),
    )
    return [figure], [
        ("serfling", {"value": beyond, "runs": 10 * runs, **words}),
        ("switch", {"value": low, "bound": tables, "times": low / tables, **words}),
    ]


# Section 4 and Appendix D: what privacy costs, and must cost


def privacy(quick: bool, rng: Rng, tell: Tell) -> Found:
    """Certified lower bounds compared with achieved errors, and what Section 4 and Appendix D show."""
    achieved = []
    for d in _GRID[:4] if quick else _GRID:
        people = ta.Dataset.from_arrays(rng.integers(0, 2, (500, d)))
        exact = ta.publish(people, ta.Tables(2)).values
        seen = ta.publish(people, ta.Tables(2), ta.SuLQ(_EPS, _DEL), rng=rng).values
        achieved.append((d, float(np.sqrt(np.mean((seen - exact) ** 2)))))
    least, furthest = _two_sided(2000 if quick else 100_000, rng)
    noise = {(d, k): ta.bounds.noisy_tables(d, k, _EPS, _DEL) for d in _GRID for k in (2, 3, 4)}
    bound = {(d, k): ta.bounds.least_noise(_PEOPLE, d, k, _EPS, _DEL).per_cell for d, k in noise}
    cases: list[NamedCase] = []
    words = {"epsilon": _EPS, "delta": _DEL}
    for k in (2, 3, 4):
        ratios = [(noise[d, k].std or math.nan) / bound[d, k] for d in _GRID]
        ends = {"k": k, "low": min(ratios), "high": max(ratios), "first": _GRID[0], "last": _GRID[-1]}
        cases.append(("above", {"value": min(ratios), **ends, **words}))
        cases.append(("tight", {"value": max(ratios) / min(ratios), **ends}))
    d, real = achieved[-1]
    cases.append(("real", {"value": real, "bound": bound[d, 2], "d": d, **words}))
    cases.append(("orthogonal", {"value": _off_orthogonal()}))
    gone = (2 - math.sqrt(math.e) - 0.3513) ** 2
    fine = least >= 1 - 1e-12
    delta = 0.36
    allowed = math.expm1(0.5) + delta
    numbers = {"value": 0.0, "bound": (1 - delta) ** 2, "delta": delta, "allowed": allowed}
    cases.append(("two laws apart", {**numbers, "last": 2 - math.sqrt(math.e), "mended": allowed >= 1}))
    cases.append(
        ("neighbours", {"value": least, "bound": 1.0, "far": furthest, "gone": gone, "mended": fine})
    )
    cases.append(("constant answer", _constant_case(9, 3)))
    table = ta.bounds.table(_PEOPLE, 20, 3, _EPS, _DEL)
    rate = next(row for row in table.rows if row.side == "lower" and row.guarantee == "(ε, δ)-private")
    least = general_noise(_PEOPLE, 20, 3, _EPS, _DEL)
    above = {"value": (ta.bounds.noisy_tables(20, 3, _EPS, _DEL).std or math.nan) / least, "least": least}
    cases.append(("general", {"n": _PEOPLE, "d": 20, "k": 3, "rate": rate, **words, **above}))
    figure = Figure(
        "What privacy costs a cell, and what it must cost (k = 2)",
        f"All 2-way tables of d attributes, ε = {_EPS:g}, δ = {_DEL:g}, one row replaced. No "
        "private release with noise that does not depend on the data is below the certified bound; the "
        "printed rate has an unknown constant, here 1. All but Laplace grow like √m_k.",
        Axis("attributes d", log=True),
        Axis("root mean squared error of a cell", unit="people", log=True),
        (
            Series("SuLQ, measured", *zip(*achieved, strict=True), kind="points"),
            Series("Laplace, δ = 0", _GRID, [noise[d, 2].laplace_std for d in _GRID]),
            Series("Gaussian (SuLQ)", _GRID, [noise[d, 2].std or math.nan for d in _GRID]),
            Series("Walsh noise", _GRID, [_walsh_cell(d, 2) for d in _GRID]),
            Series(
                "printed rate, constant 1",
                _GRID,
                [math.sqrt(math.comb(d, 2)) * (1 - _DEL / _EPS) / (4 * _EPS) for d in _GRID],
            ),
            Series("certified lower bound", _GRID, [bound[d, 2] for d in _GRID]),
        ),
    )
    return [figure], cases


def general_noise(n: int, d: int, k: int, epsilon: float, delta: float) -> float:
    """The root mean squared error of a cell that every (ε, δ)-private release has on some database of n rows.

    Notes
    -----
    Theorem 4.21 with constants. A′ works on N = ⌊2εn⌋ rows and is (1/2, δ′)-private, δ′ = δ(√e − 1)/(e^ε − 1)
    (E-CT-10). Of two neighbours one has an error of κ⟨πz, πz⟩² along πz, κ = (1 − t)/4 (E-CT-5). By Chebyshev
    all but a share 4/m of the directions have ⟨πz, πz⟩ ≥ 3m/4 (E-CT-11), so a random database, or one with a
    row made ones, has E|S| ≥ N/4 if m ≥ 16, and |S| ≥ N/8 with probability 1/7 (E-CT-9). ‖V‖ ≤ B but for
    1/N, B the best of (ln(mN) + N ln(1 + (e^t − 1)/m))/t (E-CT-6). Then tr Σ ≥ (N/8) κ (3m/4)²/(mB), and back
    by 1/(4ε²) and 2^−k.

    Examples
    --------
    >>> round(general_noise(100_000, 20, 3, 0.5, 1e-6), 3)
    0.371
    """
    m, rows = math.comb(d, k), math.floor(2 * epsilon * n)
    if m < 16 or rows < 8:
        return 0.0
    spent = delta * math.expm1(0.5) / math.expm1(epsilon)
    apart = (math.expm1(0.5) + 2 * spent) / (math.exp(0.5) + 1)
    steps = np.geomspace(1e-3, 30, 400)
    largest = float(((math.log(m * rows) + rows * np.log1p(np.expm1(steps) / m)) / steps).min())
    trace = rows / 8 * max(0.0, 1 - apart) / 4 * (3 / 4) ** 2 * m / min(largest, rows)
    return math.sqrt(trace / (4 * epsilon**2) / (4**k * m))


def inner_products(signs: Array, order: int) -> Array:
    """I_k: the sums over people of the products of every `order` of their ±1 attributes.

    Examples
    --------
    >>> inner_products(np.array([[1.0, -1.0, 1.0], [1.0, 1.0, 1.0]]), 2).tolist()
    [0.0, 2.0, 0.0]
    """
    chosen = np.array(list(combinations(range(signs.shape[1]), order)))
    return np.asarray(signs[:, chosen].prod(axis=2).sum(axis=0))


def constant_output(d: int, order: int) -> tuple[float, float, float, float]:
    """App. D: the errors of answering −1 always, along Δ, on D and on D′; an entry of Σ(D′); 〈Δ, Δ〉.

    Examples
    --------
    >>> constant_output(5, 3)
    (0.0, 1600.0, 4.0, 40.0)
    """
    one, other = (inner_products(sign * np.ones((1, d)), order) for sign in (-1, 1))
    answer, moved = -np.ones(math.comb(d, order)), other - one
    here, there = (float(((answer - truth) @ moved) ** 2) for truth in (one, other))
    miss = answer - other
    return here, there, float(miss[0] * miss[-1]), float(moved @ moved)


def _constant_case(d: int, k: int) -> dict[str, Any]:
    (here, there, entry, norm), tables = constant_output(d, k), math.comb(d, k)
    fine = here == 0 and there == (4 * tables) ** 2 and entry == 4 and there >= norm**2 / 4
    numbers = {"value": there, "bound": norm**2 / 4, "here": here, "entry": entry, "mended": fine}
    return {"d": d, "k": k, "tables": tables, **numbers}


def _two_sided(pairs: int, rng: Rng) -> tuple[float, float]:
    """Lemma 4.12 repaired, on random pairs of laws on five points.

    The least of max(E X², E (Y − a)²)/((1 − t) a²/4), t the total variation distance, which is 1 or more
    (1 at X = Y = a/2); and the largest t seen.
    """
    least, furthest = math.inf, 0.0
    for _ in range(pairs):
        points = rng.normal(0.5, 1.0, 5)
        first, second = rng.dirichlet(np.full(5, 0.5), 2)
        apart = float(np.abs(first - second).sum()) / 2
        worst = max(float(first @ points**2), float(second @ (points - 1) ** 2))
        least = min(least, worst / ((1 - apart) / 4))
        furthest = max(furthest, apart)
    return least, furthest


def _off_orthogonal() -> float:
    """Lemma 4.7 by going through all rows: how far E[z zᵀ] is from the identity."""
    furthest = 0.0
    for d, k in ((6, 2), (7, 3), (8, 4)):
        rows = np.array([inner_products(np.array([row]), k) for row in product((-1.0, 1.0), repeat=d)])
        mean = rows.T @ rows / len(rows)
        furthest = max(furthest, float(np.abs(mean - np.eye(mean.shape[0])).max()))
    return furthest


def _walsh_cell(d: int, k: int) -> float:
    """The standard deviation of a cell of tables made from noisy inner products.

    All Σ C(d, l), 1 ≤ l ≤ k, products, each moved by two at most; (2^k − 1)/4^k of the variance in a cell.
    """
    count = sum(math.comb(d, order) for order in range(1, k + 1))
    noise = ta.privacy.gaussian_std(_EPS, _DEL, sensitivity=2 * math.sqrt(count))
    return float(noise * math.sqrt(2**k - 1) / 2**k)


# What is printed, and what it gives


def errata(quick: bool, rng: Rng, tell: Tell) -> Found:
    """E-CT-1, E-CT-2 and E-CT-7; nothing here is random."""
    declared = np.geomspace(1e-12, 0.3, 30)
    figure = Figure(
        "The δ that the printed noise gives (E-CT-1)",
        "Gaussian noise of standard deviation √(2 m_k ln(1/δ))/ε, as printed with log read as ln, for any d "
        "and k: above the rule the promise is broken. At the paper's own ε = δ = 0.1 it is kept. Calibrated "
        "exactly, every curve would be the rule.",
        Axis("δ declared", log=True),
        Axis("δ achieved / δ declared", log=True),
        tuple(
            Series(f"printed, ε = {eps:g}", declared, [_spent(eps, delta) / delta for delta in declared])
            for eps in (0.1, 0.5, 1.0, 2.0)
        ),
        (Rule(1.0, "as declared"),),
    )
    return [figure], [*_gaussian_cases(), _laplace_case(0.5), *_tails()]


def _spent(epsilon: float, delta: float, base: float = math.e) -> float:
    """The δ of the printed standard deviation √(2 m_k log(1/δ))/ε at sensitivity √(2 m_k): m_k cancels."""
    ratio = math.sqrt(-math.log(delta) / math.log(base)) / epsilon
    return float(ta.privacy.gaussian_delta(epsilon, 1.0, ratio))


def _gaussian_cases() -> Iterator[NamedCase]:
    for epsilon, delta in _DECLARED:
        natural, binary = _spent(epsilon, delta), _spent(epsilon, delta, 2.0)
        exact = float(ta.privacy.gaussian_delta(epsilon, 1.0, ta.privacy.gaussian_std(epsilon, delta)))
        fine = natural <= delta, binary <= delta
        numbers = {"value": natural, "bound": delta, "binary": binary, "exact": exact, "epsilon": epsilon}
        yield "gaussian", {**numbers, "always": all(fine), "sometimes": any(fine)}


def _laplace_case(epsilon: float) -> NamedCase:
    """E-CT-2: the ε of Laplace noise whose standard deviation, or whose scale, is 2 m_k/ε."""
    people, size = ta.Dataset.from_arrays(np.eye(6, dtype=np.int8)), 2 * math.comb(6, 2) / epsilon
    promises = [
        ta.guarantee_of(ta.Laplace(scale), ta.Tables(2), people.public)
        for scale in (size / math.sqrt(2), size)
    ]
    spent, kept = (math.inf if one is None else one.epsilon for one in promises)
    fine = spent > epsilon >= kept - 1e-12
    return "laplace", {"value": spent, "bound": epsilon, "kept": kept, "mended": fine}


def _tails() -> Iterator[NamedCase]:
    """E-CT-7: all of the K = n/2 counted people are in the sample, or none."""
    for n in (10, 4):
        half = n // 2
        exact, printed = 2 / math.comb(n, half), math.exp(-2 * half**2 / n)
        serfling = min(1.0, 2 * math.exp(-2 * (half / 2) ** 2 / (half * (1 - (half - 1) / n))))
        fine = printed < exact <= serfling
        yield (
            "tail",
            {"value": exact, "bound": printed, "n": n, "s": half, "serfling": serfling, "mended": fine},
        )
