"""contingency-tables: the lemmas of Sections 3 and 4 and Appendix C, exactly where that can be done."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from scipy.special import bdtrc

from tellall.core.work import Tell
from tellall.papers.claims import (
    Array,
    Claim,
    Found,
    Joined,
    NamedCase,
    PaperPart,
    at_least,
    at_most,
    holds_if,
    mended,
    refuted,
)
from tellall.papers.contingency_bounds import LOWER_BOUNDS
from tellall.papers.contingency_synthetic import SYNTHETIC, synthetic_data

__all__ = [
    "LEMMAS",
    "lemmas",
]

Rng = np.random.Generator
_EXACT = at_most(1e-9)
_FLAT = 0.7
_GAMMA = "Γ-random, d = {sizes}, n = d^K/{part}, {runs} runs"
_TAIL = "the probability itself is too small for draws, and was not tried"
_ORDER = "{values:.3f}; the last is at least {flat:.0%} of the first"
# fmt: off
LEMMAS = (
    Claim("table", "lower bounds next to upper ones", "Table 1, E-CT-4",
          "Ω̃(min(√n, √(d^k))) and Õ(min(√n, √(d^k))) for rows",
          "n = 10⁹, k = {k}, d = {d}: √(d^k) over √(m_k k ln(d/k)), the proof's bound with constant 1",
          "{value:.2f}, lower over upper; the constant c_k of Theorem 2.5 is hidden too: it is below 1/k!, "
          "the share of the "
          "d^k rows that differ, and with √(d^k/k!) the ratio is {bound:.2f}", mended("wording")),
    Claim("net", "nets of the sphere", "Prop. 3.2", "at most (1 + 2/α)^n points",
          "greedy nets, n = 2, 3, α = 0.3, 0.5, 1: largest ratio to the bound", verdict=at_most(1.0)),
    Claim("decoupled", "σ_min of products of independent factors", "Thm. 3.4", "Ω̃(√(d^K))",
          _GAMMA + "; K = {order}, σ_min/√(d^K)", _ORDER, at_least("bound"), asymptotic=True),
    Claim("tail of squares", "the tail of ‖Wθ‖²", "Lemma 3.5",
          "P(Σ Y² ≥ 2l‖W‖²_HS + s) ≤ 2^l exp(−cs/‖W‖²) for some c",
          "{tried} random W of eight columns, l = 1, all θ: the largest c that serves", verdict=at_least(0.1),
          asymptotic=True),
    Claim("flat vectors", "the norm from flat vectors", "Lemma 3.6", "‖T‖ ≤ 2√log n · max over flat x",
          "{tried} random and extreme T, n = 2 to 7, all flat x, log as ln: largest ratio",
          verdict=at_most(1.0)),
    Claim("submatrices", "norms of column submatrices", "Lemma 3.7",
          "at most C(d^(k/2) + √|J| log^(k/2) n) log^((k−1)/2) n for every J, but for k e^(−cd)",
          "k = 2, Γ-random, d = {sizes}, n = d²/2, one draw each, {tried} random J and all people: the "
          "largest "
          "C", "{values:.3f}: the norms of these draws; " + _TAIL, "not tried"),
    Claim("concentration", "the concentration function", "Lemma 3.9", "L(X, ρ)² ≤ P(‖X − X′‖ ≤ 2ρ)",
          "{tried} random laws on seven points of the line: largest ratio", verdict=at_most(1.0)),
    *(Claim(f"small balls {blocks}", "small balls: {name}", where,
            says, "U orthogonal of any size, every x with 1 ≤ |x(j)| ≤ 2, every centre, by Chernoff's bound "
            "with the best t: the c that it gives", verdict=at_least(0.01), asymptotic=True)
      for blocks, where, says in (
          (1, "Lemma 3.10", "within ‖U‖_HS/8 of any centre with probability exp(−c‖U‖²_HS/‖U‖²) at most"),
          (2, "Cor. 3.12", "within √d‖U‖_HS/16 of any centre with probability exp(−cd‖U‖²_HS/‖U‖²) at "
           "most"))),
    Claim("sums of squares", "a sum of squares is rarely small", "Lemma 3.11", "P ≤ (4p)^(d/2)",
          "s_j = 0 with probability p, else just above K, exactly: largest ratio over p and d",
          verdict=at_most(1.0)),
    Claim("sparse", "products on sparse vectors", "Lemma 3.13, Lemma 3.16, Lemma 3.17",
          "‖Πu‖ ≥ ct√(d^K m) for all u with few entries that matter, then for all u, but for e^(−cd)",
          "K = 2, Γ-random, d = {d}, n = {n}, one draw, {tried} sets of l = {sizes} people: the least "
          "σ_min/√(d^K) over the sets", "{values:.3f}: σ_min of these draws; " + _TAIL, "not tried"),
    Claim("many entries", "rows with many entries", "Lemma 3.14, E-CT-12",
          "P(|I| ≤ 2^(−s−4) d^s) ≤ exp(−c 2^(−s) d^s m/s)",
          "s = 2, m = 1, d = {sizes}, exactly: the largest c that serves",
          "{values:.2g}: it halves as d doubles, for P ≥ P(Π_1 = 0) = 2^(−dm). The order is exp(−c d m): "
          "there c is {kept:.2f}", refuted()),
    Claim("long columns", "columns are long", "Cor. 3.15, E-CT-12",
          "P(‖Π|J‖_HS ≤ C√(d^s |J|) for some J) ≤ m exp(−c d^s)",
          "s = 2, m = 1, C = 1/8, d = {sizes}, exactly: the largest c that serves",
          "{values:.2g}: it halves as d doubles, whatever C, as a column is zero with probability 2^(−d) or "
          "more. The order is m exp(−c d): there c is {kept:.2f}", refuted()),
    Claim("composition", "composition", "Claim 4.2", "(Σ ε, Σ δ)-private",
          "k = 1 to 6 randomised responses that reach (ε, δ), exactly: δ at kε over kδ, the largest",
          verdict=at_most(1.0)),
    Claim("noise along", "noise that does not depend on the data", "Lemma 4.3, Lemma 4.6",
          "second moment Ω(⟨Δ, Δ⟩²/ε²)",
          "ε from 0.5 to 3 (Ω asks for ε = O(1)); the least second moment of ε-private noise is exactly "
          "1/(2 sinh²(ε/2)) in units "
          "of ⟨Δ, Δ⟩: {tried} best laws by linear programming over it, the least; 1e-4 is the solver's",
          "{value:.6f}; times ε² it is "
          "{ends}", at_least(1 - 1e-4)),
    Claim("two laws", "two laws with means one apart", "Lemma 4.4", "variance Ω(1/ε²)",
          "ε from 0.01 to 3; sharp: 1/(4 sinh²(ε/2)), {tried} random pairs of laws over it, the least, and "
          "the two-point laws that reach it", "{value:.4f}; {reached:.6f}", at_least(1 - 1e-9)),
    Claim("two laws, second moments", "the second moments of two such laws", "Lemma 4.4, Lemma 4.3, E-CT-13",
          "E[X′²] = Ω(1/ε²) + p², E[Y′²] = Ω(1/ε²) + p² where E[Y′] = p + 1",
          "two-point laws, ε = {epsilon:g}",
          "E[Y′²] is Var Y′ + (p + 1)²: p² reads (p + 1)², which is less where p < −1/2. And Ω(1/ε²) asks "
          "for "
          "ε = O(1): the least variance is 1/(4 sinh²(ε/2)), times ε² {small:.3f} at ε = 1 and {value:.4f} "
          "at "
          "ε = 10. The variances, which are what is used, are as said", mended("wording")),
    Claim("one way", "one-way products", "Prop. 4.5", "tr Σ = Ω(d²/ε²)",
          "Laplace noise at ε = 0.5 over d² times the sharp bound at 2ε, d = 4 to 1024: the least",
          verdict=at_least(1.0)),
    Claim("directions", "directions across the ones", "Lemma 4.6, Lemma 4.10, Lemma 4.18",
          "πz̃ = ±πz", "all rows, (d, k) = (6, 2), (6, 3): largest difference", verdict=_EXACT),
    Claim("quadratic", "the length of a random direction", "proof of Prop. 4.8, Prop. 4.8",
          "E zᵀπz = m_k − 1, at most m_k, and at least m_k − 2 with probability 1/2",
          "all rows, (d, k) = (6, 2), (7, 3), (8, 4)",
          "the mean is off by {off:.0e} at most; the least probability is {value:.2f}", holds_if("fine")),
    Claim("trace", "the trace of a private noise", "Prop. 4.8", "Ω(m_k²/ε²)",
          "Laplace noise of scale 2m_k/ε over the sharp bound (m_k − 1)²/(2 sinh²(ε/2)), ε = 0.5, m_k = 6 to "
          "10⁴: the least", verdict=at_least(1.0)),
    Claim("across", "one of two neighbours errs, with δ", "Lemma 4.10, Lemma 4.18",
          "Ω(⟨πz, πz⟩²(1 − δ)²) at ε = 1/2",
          "the repaired Lemma 4.12: a²(1 − δ)/(2(1 + √e)) over a²(1 − δ)², δ from 0 to 0.99: the least",
          verdict=at_least(0.1), asymptotic=True),
    Claim("psd", "‖U‖ ≤ ‖V‖", "Claim 4.13", "for every database",
          "{tried} random sets of directions: largest ratio",
          verdict=at_most(1.0)),
    Claim("exponential", "the mean of an exponential", "proof of Lemma 4.14, E-CT-6",
          "E exp(t uuᵀ) = e^t/m_k · I, the other rows of P being 0",
          "m_k = 6, t = 1; then Case 1 at m_k = 100, n = 8m_k ln m_k",
          "its norm is 1 + (e^t − 1)/m_k = {value:.3f}, as all rows show, not {bound:.3f}; with that Case 1 "
          "holds: {kept:.0e} < 1/n. Case 2 does not hold as printed, since ‖V_k‖ ≥ n/m_k always; the lemma's "
          "O(·) stands (next row)", mended("gap in the proof")),
    Claim("largest", "the norm of V_k", "Lemma 4.14, Lemma 4.17",
          "O(max(n/m_k, log m_k)) with probability 1 − 1/n",
          "m_k = {tables}, n = {people}: the largest of the B from which the matrix Chernoff bound with "
          "the best t "
          "gives P(‖V_k‖ ≥ B max(n/m_k, ln m_k)) ≤ 1/n; we ask for 8 at most",
          verdict=at_most(8.0), asymptotic=True),
    Claim("chernoff", "the matrix Chernoff bound", "Thm. 4.15, Cor. 4.16",
          "P(mean ≥ γ) ≤ m e^(−tγn) ‖E exp(t uuᵀ)‖^n for all t > 0",
          "m_k = 6, n = {n}, exactly over all {count:,} databases up to order, γ from 0.25 to 1, the best t: "
          "largest ratio of the probability, which goes down to {least:.0e}, to the bound",
          verdict=at_most(1.0)),
    Claim("independent lengths", "long directions among those with a large error",
          "proof of Lemma 4.19, E-CT-11",
          "each of them is long with probability 1/2, hence E|S| ≥ E|R|/2",
          "all rows, (d, k) = (6, 2), (7, 3), (8, 4); which directions have a large error depends on them",
          "R may be the short ones: then E|S| = 0 with E|R| = n/2. By Chebyshev ⟨z, o⟩² ≤ m²/4 but for 4/m "
          "of the rows (seen: {value:.3f} at most, of {bound:.3f}), so E|S| ≥ E|R| − 4n/m, and the lemma "
          "stands",
          mended("gap in the proof")),
    Claim("size-biased", "the law of a database with a row made ones", "Lemma 4.19, E-CT-13",
          "D~_r uniform among the databases with a row of ones, D_b uniform among its neighbours",
          "d = {d}, n = {n}, exactly by the number of rows of ones",
          "a row of a uniform database made ones gives D~ with a weight proportional to its rows of ones: it "
          "differs from uniform by {value:.3f} at most in statistical difference; the order is unaffected",
          mended("wording")),
    Claim("markov", "with what probability", "Prop. 4.20",
          "with probability Ω(1 − 1/n)", "|S| ≤ n, E|S| ≥ n/4, as the proof has it",
          "P(|S| > n/8) ≥ {markov:.4f}; less 1/n it is {value:.3f} (1 − 1/n) or more from n = {first} on",
          at_least(0.01), asymptotic=True),
    Claim("group", "privacy of a group", "Claim 4.22, E-CT-10", "(1/2, δ/(2ε))-private",
          "ε = 0.1, δ = {delta:g}: a chain of five Bernoulli laws, each at (ε, δ) from the next",
          "{value:.3f} δ are needed, where δ/(2ε) = {bound:g} δ; δ(√e − 1)/(e^ε − 1) suffices",
          refuted("constant")),
    Claim("repeated", "and back", "Lemma 4.24",
          "I_k(D) = 2ε I_k(R(D)), hence tr Σ_A(R(D)) = tr Σ_A′(D)/(4ε²)",
          "{tried} random D, rows repeated 1/(2ε) = 1, 2 and 5 times, a noise of ones: largest difference",
          verdict=_EXACT),
    Claim("dimension", "the VC dimension of conjunctions", "App. A, E-CT-8", "at most k log d",
          "k = 1, d = 2 and 4, all sets of points, log as log₂",
          "it is {value:.0f} and {second:.0f}, where k log₂ d is {bound:g} and 2; ⌊log₂(2^k C(d, k))⌋ is a "
          "bound. For k ≥ 2 none was found above", refuted()),
    Claim("transform", "from tables to inner products", "Prop. C.1, Cor. C.2", "tr Σ_B ≤ 2^k tr Σ_A",
          "k = 1, 2, 3, {tried} random covariances of a table: largest ratio, by Equation (11)",
          verdict=at_most(1.0)),
    Claim("dropped constant", "a constant that is dropped", "Cor. 2.6, E-CT-9",
          "σ ≥ √(d^k)/log^(k²+k+1) n",
          "Theorem 2.5 has c′_k in front. k = 1, d = n/c: σ_min/√d of 0/1 entries at n = d/4 is 1/4, and the "
          "power of ln n is 3",
          "the bound without c′_k is met from n = {value:,} on, where ln³ n > 4: nothing is lost",
          mended("wording")),
    Claim("distortion", "the distortion of synthetic data", "Sec. 1.3, E-CT-3",
          "Õ((n²dk/ε)^(2/3))",
          "n = {n:,}, d = 20, k = 3, ε = 0.5, constant 1",
          "{bound:.2g} people a cell, more than all n: that is the mean squared error of App. A. Table 1 has "
          "1/3, with which it is {value:,.0f}", mended("wording")),
    *SYNTHETIC,
)
# fmt: on


def lemmas(quick: bool) -> tuple[PaperPart, ...]:
    """The parts that try the lemmas; they draw no figures."""
    parts: tuple[tuple[Callable[[Rng], Iterator[NamedCase]], tuple[str, ...]], ...] = (
        (partial(_random_matrices, quick), ("decoupled", "submatrices", "sparse")),
        (_tails, ("many entries", "long columns", "small balls 1", "small balls 2")),
        (_inequalities, ("net", "tail of squares", "flat vectors", "concentration", "sums of squares")),
        *LOWER_BOUNDS,
        (synthetic_data, ("synthetic privacy", "synthetic use", "synthetic error")),
    )
    return tuple(PaperPart(partial(_reported, run), 1, keys) for run, keys in parts)


def _reported(run: Callable[[Rng], Iterator[NamedCase]], rng: Rng, tell: Tell) -> Found:
    return (), run(rng)


def _gamma(d: int, n: int, rng: Rng) -> Array:
    """A d × n matrix of 1 and −1 with probability 1/4 each, else 0."""
    return np.asarray(rng.integers(0, 2, (d, n)) - rng.integers(0, 2, (d, n)), dtype=np.float64)


def _product(factors: list[Array]) -> Array:
    rows = factors[0]
    for factor in factors[1:]:
        rows = (rows[:, None] * factor[None]).reshape(-1, factor.shape[1])
    return rows


def _grows(values: list[float]) -> dict[str, Any]:
    return {
        "values": Joined(values),
        "value": values[-1],
        "bound": max(_FLAT * values[0], 0.01),
        "flat": _FLAT,
    }


def _random_matrices(quick: bool, rng: Rng) -> Iterator[NamedCase]:
    runs = 3 if quick else 10
    for order, sizes, part in ((2, (16, 24, 32), 4), (3, (12, 14, 16), 16)):
        values = []
        for d in sizes:
            n = d**order // part
            found = []
            for _ in range(runs):
                rows = _product([_gamma(d, n, rng) for _ in range(order)])
                found.append(math.sqrt(max(0.0, float(np.linalg.eigvalsh(rows.T @ rows)[0]))))
            values.append(float(np.median(found)) / d ** (order / 2))
        words = {"sizes": Joined(sizes), "runs": runs, "order": order, "part": part}
        yield "decoupled", {**_grows(values), **words}
    sizes, values, tried = (8, 12, 16), [], 20
    for d in sizes:
        n, largest = d * d // 2, 0.0
        rows = _product([_gamma(d, n, rng) for _ in range(2)])
        log = math.log(n)
        for some in (
            *(rng.choice(n, int(rng.integers(1, n)), replace=False) for _ in range(tried)),
            np.arange(n),
        ):
            norm = float(np.linalg.norm(rows[:, some], 2))
            largest = max(largest, norm / ((d + math.sqrt(len(some)) * log) * math.sqrt(log)))
        values.append(largest)
    yield "submatrices", {"values": Joined(values), "sizes": Joined(sizes), "tried": tried}
    d, n, tried = 16, 64, 40
    rows, counts, values = _product([_gamma(d, n, rng) for _ in range(2)]), (2, 8, 32, 64), []
    for size in counts:
        sets = [rng.choice(n, size, replace=False) for _ in range(tried)]
        values.append(min(float(np.linalg.svd(rows[:, one], compute_uv=False)[-1]) for one in sets) / d)
    words = {"d": d, "n": n, "tried": tried, "sizes": Joined(counts)}
    yield "sparse", {"values": Joined(values), **words}


def _tails(rng: Rng) -> Iterator[NamedCase]:
    """Lemmas 3.10 and 3.14 and their corollaries, by the probabilities that they bound."""
    sizes = (8, 16, 32, 64, 128, 256, 512)
    for key, share, per_pair in (("many entries", 1 / 64, 1 / 8), ("long columns", 1 / 64, 1.0)):
        small = np.array([_few_pairs(d, share) for d in sizes])  # −ln P
        values = small / (per_pair * np.square(sizes))
        kept = float((small / sizes).min())
        fails = bool(np.all(values[1:] < 0.6 * values[:-1]))
        numbers = {"value": float(values[-1]), "kept": kept, "mended": fails}
        yield key, {"values": Joined(values), "sizes": Joined(sizes), **numbers}
    for blocks, radius, name in ((1, 1 / 64, "one row"), (2, 1 / 256, "a matrix")):
        yield f"small balls {blocks}", {"value": _ball_exponent(radius), "name": name}


def _few_pairs(d: int, share: float) -> float:
    """−ln P(A B ≤ share · d²), A and B the entries of two Γ-random columns that are not zero."""
    from scipy.special import bdtr

    counts = np.arange(d + 1)
    most = np.where(counts > 0, np.floor(share * d * d / np.maximum(counts, 1) + 1e-12), d)
    weights = np.array([math.comb(d, int(k)) / 2**d for k in counts])
    return float(-math.log(weights @ bdtr(np.minimum(most, d), d, 0.5)))


def _ball_exponent(radius: float) -> float:
    """The exponent, for each column, that Chernoff's bound gives for orthogonal U: the best t of two hundred.

    Notes
    -----
    P(Σ (α_j x_j − y_j)² ≤ r n) ≤ (e^(tr) max E exp(−t(αx − y)²))^n, the maximum over 1 ≤ x ≤ 2 and all y.
    """
    x, best = np.linspace(1, 2, 21)[:, None], 0.0
    y = np.linspace(-2.5, 2.5, 1001)[None]
    for t in np.geomspace(0.1, 1000, 200):
        near = (np.exp(-t * (x - y) ** 2) + np.exp(-t * (x + y) ** 2)) / 4 + np.exp(-t * y**2) / 2
        best = max(best, -t * radius - math.log(float(near.max())))
    return best


def _inequalities(rng: Rng) -> Iterator[NamedCase]:
    largest = 0.0
    for n in (2, 3):
        cloud = rng.normal(size=(4000, n))
        cloud /= np.linalg.norm(cloud, axis=1)[:, None]
        for alpha in (0.3, 0.5, 1.0):
            left, count = cloud, 0
            while len(left):
                count += 1
                left = left[np.linalg.norm(left - left[0], axis=1) > alpha]
            largest = max(largest, count / (1 + 2 / alpha) ** n)
    yield "net", {"value": largest}
    signs = np.array(list(product((-1, 0, 0, 1), repeat=8)), dtype=np.int8)
    smallest, tried = math.inf, 5
    for _ in range(tried):
        w = rng.normal(size=(3, 8))
        squares = ((signs @ w.T.astype(np.float32)) ** 2).sum(axis=1)
        excess = np.sort(squares - 2 * float((w**2).sum()))
        beyond = excess > 1e-9
        share = 1 - np.arange(len(excess)) / len(excess)
        norm = float(np.linalg.norm(w, 2)) ** 2
        serves = (math.log(2) - np.log(share[beyond])) * norm / excess[beyond]
        smallest = min(smallest, float(serves.min()) if beyond.any() else math.inf)
    yield "tail of squares", {"value": min(smallest, 9.99), "tried": tried}
    largest, tried = 0.0, 0
    for n in range(2, 8):
        flat = np.array([one for one in product((-1.0, 0.0, 1.0), repeat=n) if any(one)])
        flat /= np.sqrt(np.abs(flat).sum(axis=1))[:, None]
        for k in range(12):
            tried += 1
            matrix = (
                rng.standard_t(1.5, (n, n)) if k % 2 else np.outer(rng.normal(size=n), 2.0 ** -np.arange(n))
            )
            best = float(np.linalg.norm(flat @ matrix.T, axis=1).max())
            largest = max(largest, float(np.linalg.norm(matrix, 2)) / (2 * math.sqrt(math.log(n)) * best))
    yield "flat vectors", {"value": largest, "tried": tried}
    largest, tried = 0.0, 200
    for _ in range(tried):
        points, weights = np.sort(rng.normal(size=7)), rng.dirichlet(np.full(7, 0.6))
        for radius in (0.05, 0.3, 1.0):
            ball = max(weights[(points >= p) & (points <= p + 2 * radius)].sum() for p in points)
            near = np.abs(points[:, None] - points[None]) <= 2 * radius
            largest = max(largest, float(ball**2 / (weights @ near @ weights)))
    yield "concentration", {"value": largest, "tried": tried}
    largest = 0.0
    for p in (0.01, 0.05, 0.1, 0.2, 0.25):
        for d in range(1, 60):
            seen = float(bdtrc(math.ceil(d / 2) - 1, d, p))
            largest = max(largest, seen / (4 * p) ** (d / 2))
    yield "sums of squares", {"value": largest}
