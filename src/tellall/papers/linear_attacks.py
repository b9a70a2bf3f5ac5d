"""linear-reconstruction: statistics of random people, and how well least squares and LP decoding do."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

import tellall as ta
from tellall.core.work import Tell
from tellall.papers.claims import Array, Found, NamedCase, attributes_for, case_of, share_of
from tellall.report.kit.plot import Axis, Figure, Rule, Series

__all__ = [
    "COUNTED",
    "FITTED",
    "GROSS",
    "KINDS",
    "CrowdStatistic",
    "Effort",
    "Experiment",
    "Rng",
    "bound",
    "coins",
    "equations",
    "exhaustive",
    "gross",
    "growth",
    "least_squares",
    "lp",
    "published",
    "random_function",
    "recovery",
]

COUNTED = ("random subsets", "3-way tables", "xor", "or", "majority", "random function")
FITTED = ("trees' error rates", "linear", "logistic", "log-cosh", "Poisson", "linear, products")
KINDS = (*COUNTED, *FITTED)
Effort = Mapping[str, Any]
Rng = np.random.Generator
Guess = npt.NDArray[np.bool_]
Experiment = Callable[[Effort, Rng, Tell], Found]
_NOISES = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)  # of √n people
_RATIOS = (0.25, 0.5, 0.75, 1.0, 1.5, 2.5)  # sets of attributes, of the people
_SETS = dict.fromkeys(COUNTED, 4) | dict.fromkeys(FITTED, 2)  # a person; the paper asks d ≥ 2n of fits
_NOISE = 0.1  # where the sets are swept
GROSS = ("random subsets", "xor", "and")  # what LP decoding is tried on
_FRACTIONS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4)
_BASE_NOISE = 0.02  # of √n people, on every value, in addition to gross errors
_HIT = 0.1
_MANY = 10  # runs from which an interval over runs says something
_DRAWS = 50  # of the noise, on each table of people


def coins(d: int, n: int, rng: Rng) -> Array:
    """d × n fair coins: attributes × people."""
    return rng.integers(0, 2, (d, n)).astype(np.float64)


def equations(function: str | tuple[int, ...], bits: Array, tuples: str = "distinct") -> Any:
    """The operator of counts of a function of two attributes and the secret, for people with these bits."""
    people = ta.Dataset.from_arrays(bits.T.astype(np.int8), np.arange(bits.shape[1]) % 2)
    statistic = ta.Predicates(function, 3, tuples=tuples)
    return ta.linearise(ta.publish(people, statistic), people.public).operator


def random_function(rng: Rng, variables: int = 3) -> tuple[int, ...]:
    """The truth table of a function that is uniform among the non-degenerate ones."""
    while True:
        table = rng.integers(0, 2, 2**variables)
        if not ta.is_degenerate(table):
            return tuple(map(int, table))


def least_squares(matrix: Array, target: Array) -> Guess:
    """The bits of Theorem 2.1: the least-squares solution, of least norm where there are many, rounded."""
    return np.asarray(np.linalg.lstsq(matrix, target, rcond=None)[0] >= 0.5)


def lp(matrix: Array, target: Array, *, box: bool = False) -> Guess:
    """The bits of LP decoding, min ‖A x − z‖₁, as in the paper without a box, or within [0, 1].

    Notes
    -----
    Solved in the dual, max zᵀy over |y| ≤ 1 and Aᵀy = 0, whose n multipliers are x; with the box, max
    zᵀy − Σ u over u ≥ Aᵀy, u ≥ 0.
    """
    from scipy.optimize import linprog

    m, n = matrix.shape
    zero = np.zeros(n)
    if not box:
        found = linprog(-target, A_eq=matrix.T, b_eq=zero, bounds=(-1, 1), method="highs")
        return np.asarray(-found.eqlin.marginals >= 0.5)
    cost, both = np.concatenate([-target, np.ones(n)]), np.hstack([matrix.T, -np.eye(n)])
    limits = [(-1, 1)] * m + [(0, None)] * n
    found = linprog(cost, A_ub=both, b_ub=zero, bounds=limits, method="highs")
    return np.asarray(-found.ineqlin.marginals >= 0.5)


def _wrong_share(matrix: Array, noise: float, rng: Rng) -> float:
    """The share of bits that plain least squares gets wrong."""
    m, n = matrix.shape
    secret = rng.integers(0, 2, n)
    back = matrix.T @ (matrix @ secret + rng.normal(0, noise, m))
    return float((least_squares(matrix.T @ matrix, back) != secret).mean())


# What is published


@dataclass(frozen=True, eq=False)
class CrowdStatistic:
    """A statistic of random people, computed once, to be released with many draws of noise.

    `unit` is the noise that is worth √n people in one published value: √n for counts, 1/√n for fractions
    and for coefficients.
    """

    people: ta.Dataset
    statistic: Any
    values: Array
    unit: float

    def evidence(self, errors: Array | float = 0.0) -> ta.Evidence:
        """The equations of the release with these errors on its values."""
        release = ta.Release.from_values(self.statistic, self.values + errors, public=self.people)
        return ta.linearise(release, self.people)

    def right(self, share: float, rng: Rng) -> float:
        """The share of bits that tellall's least squares gets right at this noise, in units."""
        noise = ta.Gaussian(share * self.unit)
        values = self.values + noise.sample(self.values.shape, rng)
        release = ta.Release.from_values(self.statistic, values, public=self.people, noise=noise)
        found = ta.reconstruct(release, self.people.public, decoder="least-squares", rng=rng)
        return float((found.guess == self.people.bits).mean())


def published(name: str, n: int, sets: int, rng: Rng) -> CrowdStatistic:
    """A statistic of n random people over `sets` sets of attributes (subsets of people, columns, trees).

    Notes
    -----
    Attributes are fair coins, columns of regressions uniform on [−1, 1] (τ-random, Definition 7), secrets
    fair coins. Tables and functions of two attributes and the secret are over `sets` pairs of the fewest
    attributes that have as many; "linear, products" regresses on the products of those pairs.
    """
    secret = rng.integers(0, 2, n, dtype=np.int8)
    public, statistic = (_counted if name in COUNTED else _fitted)(name, n, sets, rng)
    people = ta.Dataset.from_arrays(public, secret)
    unit = math.sqrt(n) if name in COUNTED else 1 / math.sqrt(n)
    return CrowdStatistic(people, statistic, ta.publish(people, statistic).values, unit)


def _counted(name: str, n: int, sets: int, rng: Rng) -> tuple[npt.NDArray[Any], Any]:
    d = attributes_for(sets)
    public = rng.integers(0, 2, (n, d))
    if name == "random subsets":
        return public, ta.SubsetCounts(rng.integers(0, 2, (sets, n)).astype(bool))
    pairs = _pairs(d, sets, rng)
    if name == "3-way tables":
        return public, ta.Marginals(3, attributes=[[f"a{i}", f"a{j}"] for i, j in pairs])
    if name == "random function":
        return public, ta.Predicates(random_function(rng), attributes=pairs)
    return public, ta.Predicates(name, 3, attributes=pairs)


def _fitted(name: str, n: int, sets: int, rng: Rng) -> tuple[npt.NDArray[Any], Any]:
    d = attributes_for(sets)
    if name == "trees' error rates":
        public = rng.integers(0, 2, (n, d))
        return public, ta.ErrorRates([_tree(list(rng.permutation(d)), 3, rng) for _ in range(sets)])
    columns = rng.uniform(-1, 1, (n, d if name == "linear, products" else sets))
    if name == "linear, products":
        first, second = np.array(_pairs(d, sets, rng)).T
        columns = columns[:, first] * columns[:, second]
    return columns, ta.Estimator(name.split(",")[0].lower(), weighting="paper")


def _pairs(d: int, count: int, rng: Rng) -> list[tuple[int, int]]:
    every = list(combinations(range(d), 2))
    return [every[k] for k in np.sort(rng.permutation(len(every))[:count])]


def _tree(attributes: list[int], depth: int, rng: Rng) -> Any:
    """A full tree over different attributes; the two lowest leaves of each branch differ."""
    question = f"a{attributes[0]} == 1"
    if depth == 1:
        leaf = int(rng.integers(2))
        return {"if": question, "then": leaf, "else": 1 - leaf}
    half = len(attributes) // 2
    then, other = (_tree(part, depth - 1, rng) for part in (attributes[1 : half + 1], attributes[half + 1 :]))
    return {"if": question, "then": then, "else": other}


# Least squares: recovery, growth, and the bound of Theorem 2.1


def recovery(effort: Effort, rng: Rng, tell: Tell) -> Found:
    """Every kind of release attacked by tellall's least squares at every noise and every size."""
    n, runs = effort["people"], range(effort["runs"])
    by_noise, by_sets = {}, {}
    for name in KINDS:
        rows = []
        for _ in runs:
            made = published(name, n, _SETS[name] * n, rng)
            rows.append([made.right(share, rng) for share in _NOISES])
        by_noise[name] = np.array(rows)
        by_sets[name] = np.array(
            [
                [published(name, n, math.ceil(ratio * n), rng).right(_NOISE, rng) for ratio in _RATIOS]
                for _ in runs
            ]
        )
        tell(1)
    return _recovery_figures(n, by_noise, by_sets), _recovery_cases(n, by_noise)


def _recovery_cases(n: int, by_noise: dict[str, Array]) -> Iterator[NamedCase]:
    for name, runs in by_noise.items():
        sets, unit = _SETS[name] * n, "√n" if name in COUNTED else "1/√n"
        d = f", {attributes_for(sets)} attributes" if name not in FITTED[1:5] else ""
        words = {"name": name, "paper_unit": unit, "unit": unit, "n": n, "sets": sets, "d": d}
        yield f"recovered {name}", _held(runs[:, 0], noise=_NOISES[0], **words)
    large = {name: float(runs[:, -1].mean()) for name, runs in by_noise.items()}
    weakest = min(large, key=lambda name: large[name])
    unit = "√n" if weakest in COUNTED else "1/√n"
    yield "large noise", {"value": large[weakest], "name": weakest, "noise": _NOISES[-1], "unit": unit}
    products = float(by_noise["linear, products"][:, 0].mean())
    yield "products", {"value": products, "d": attributes_for(_SETS["linear, products"] * n), "n": n}


def _held(rates: Array, **words: Any) -> dict[str, Any]:
    """The case of a mean over runs; its interval if there are many runs."""
    value, interval = share_of(rates)
    return case_of((value, interval if rates.size >= _MANY else None), runs=rates.size, **words)


def _recovery_figures(n: int, by_noise: dict[str, Array], by_sets: dict[str, Array]) -> Iterator[Figure]:
    over = f"n = {n} people, least squares with box and prior; means of {len(by_noise['xor'])} runs."
    share = Axis("share of bits right", low=0.5, high=1.0)
    for names, theorems, what, unit, sets, counted in (
        (
            COUNTED,
            "The theorems promise",
            "counts",
            "√n people",
            "pairs of attributes (or subsets of people)",
            "a pair is one published value, but eight cells of a table",
        ),
        (
            FITTED,
            "The theorems, which do not speak of these trees, promise",
            "error rates and fitted models",
            "1/√n",
            "trees or columns (or products of two columns)",
            "each is one published value",
        ),
    ):
        yield Figure(
            f"Bits recovered against noise: {what}",
            f"{_SETS[names[0]]}n {sets}. {theorems} all but a vanishing share to the left, and "
            f"nothing once the noise is of the order of the unit. {over}",
            Axis("standard deviation of the noise", unit=f"of {unit}", log=True),
            share,
            tuple(Series(name, _NOISES, by_noise[name].mean(axis=0), kind="both") for name in names),
            (Rule(1.0, unit.split(" ")[0], "x"),),
        )
        yield Figure(
            f"Bits recovered against equations: {what}",
            f"Noise of {_NOISE:g}·{unit}; {counted}. The theorems ask for more than one a person. {over}",
            Axis(f"{sets.split(' (')[0]} / people"),
            share,
            tuple(Series(name, _RATIOS, by_sets[name].mean(axis=0), kind="both") for name in names),
            (Rule(1.0, "as many as people", "x"),),
        )


def growth(effort: Effort, rng: Rng, tell: Tell) -> Found:
    """Theorem 3.2's o(n): wrong shares of plain least squares at growing n, at noise √n/3 and at noise 2."""
    sizes, runs = effort["growing"], effort["growth_runs"]
    names, growing, fixed = ("or", "majority", "xor"), "√n/3", "2"
    shares: dict[tuple[str, str], list[float]] = {
        (name, law): [] for name in names for law in (growing, fixed)
    }
    for n in sizes:
        d = attributes_for(4 * n)
        for name in names:
            for law, noise in ((growing, math.sqrt(n) / 3), (fixed, 2.0)):
                wrong = [
                    _wrong_share(equations(name, coins(d, n, rng)).to_dense(), noise, rng)
                    for _ in range(runs)
                ]
                shares[name, law].append(float(np.mean(wrong)))
    figure = Figure(
        "Wrong bits as people grow in number",
        "Plain least squares on all pairs of attributes, four pairs a person. Where the noise grows as √n "
        "the wrong share stays; at a noise of two people, which is o(√n), it vanishes: Theorem 3.2. Shares "
        f"of 0 are below the chart. Means of {runs} runs.",
        Axis("people", log=True),
        Axis("share of bits wrong", log=True, low=1e-4, high=1.0),
        tuple(Series(f"{name}, noise {law}", sizes, y, kind="both") for (name, law), y in shares.items()),
    )
    cases = []
    for name in names:
        few, many = shares[name, fixed][0], shares[name, growing]
        words = {
            "name": name,
            "few": few,
            "noise": fixed,
            "growing": growing,
            "first": sizes[0],
            "last": sizes[-1],
        }
        numbers = {"value": shares[name, fixed][-1], "bound": few / 2, "start": many[0], "end": many[-1]}
        cases.append(("vanishes", {**words, **numbers}))
    return [figure], cases


def bound(effort: Effort, rng: Rng, tell: Tell) -> Found:
    """Theorem 2.1 compared with xor counts, then with random and adversarial systems."""
    n, runs = effort["bound_people"], effort["bound_runs"]
    d = attributes_for(4 * n)
    found: dict[str, list[Any]] = {}
    for _ in range(runs):
        operator = equations("xor", coins(d, n, rng))
        matrix = operator.to_dense()
        m, sigma = matrix.shape[0], ta.bounds.singular_values(operator).least
        inverse = np.linalg.pinv(matrix)
        for share in _NOISES:
            noise = share * math.sqrt(n)
            errors = rng.normal(0, noise, (_DRAWS, m))
            offs = errors @ inverse.T
            secrets = rng.integers(0, 2, (_DRAWS, n))
            norms, sizes = np.linalg.norm(errors, axis=1), np.abs(errors).max(axis=1)
            for label, value in (
                ("found", ((secrets + offs >= 0.5) != secrets).sum() / _DRAWS),
                ("predicted, Φ(−1/(2 sd))", n * (1 - ta.bounds.predict(operator, noise).accuracy)),
                (
                    "4‖A⁺e‖²",
                    [ta.bounds.hamming_from_norm(float(x), n=n) for x in np.linalg.norm(offs, axis=1)],
                ),
                ("4‖e‖²/σ²", [ta.bounds.hamming_from_norm(float(x), sigma, n=n) for x in norms]),
                ("Thm 2.1: 4mβ²/σ²", [ta.bounds.hamming(m, float(x), sigma, n=n) for x in sizes]),
            ):
                found.setdefault(label, []).append(np.mean(value))
    lines = {label: np.reshape(values, (runs, -1)).mean(axis=0) for label, values in found.items()}
    figure = Figure(
        "Theorem 2.1 beside what happens",
        f"xor counts over all pairs of {d} attributes, n = {n}, plain least squares. The bound with the "
        "largest error β is far above what is found: β is several standard deviations, and σ is the "
        "worst direction. The prediction needs no values. Bounds are at most n; 0 is off the chart; "
        f"means of {runs} × {_DRAWS} runs.",
        Axis("standard deviation of the noise", unit="of √n people", log=True),
        Axis("people wrong", log=True, low=0.05, high=float(n)),
        tuple(Series(label, _NOISES, values, kind="both") for label, values in lines.items()),
    )
    gap = float(np.abs(lines["found"] - lines["predicted, Φ(−1/(2 sd))"]).max() / n)
    words = {"n": n, "noises": len(_NOISES), "runs": runs * _DRAWS}
    return [figure], [*_bound_cases(effort["instances"], rng), ("foreseen", {"value": gap, **words})]


def _bound_cases(instances: int, rng: Rng) -> Iterator[NamedCase]:
    """Theorem 2.1 on random and adversarial systems, where its bound is attained, and Definition 1."""
    violations, tried = 0, 0
    while tried < instances:
        n = int(rng.integers(2, 12))
        m = n + int(rng.integers(1, 30))
        matrix: Array = rng.normal(size=(m, n)) if tried % 2 else rng.integers(0, 2, (m, n)).astype(float)
        left, values, _ = np.linalg.svd(matrix, full_matrices=False)
        direction = left[:, -1] if tried % 3 == 0 else left @ rng.normal(size=n)
        e = direction if tried % 3 < 2 else rng.uniform(-1, 1, m)
        e = e / np.abs(e).max() * values[-1] * math.sqrt(n / m) * rng.uniform(0.05, 0.35)
        most = ta.bounds.hamming(m, float(np.abs(e).max()), float(values[-1]))
        secret = rng.integers(0, 2, n)
        if most < n / 2 and values[-1] > 1e-8:
            tried += 1
            violations += int((least_squares(matrix, matrix @ secret + e) != secret).sum() > most)
    yield "bound", {"value": violations, "tried": tried}
    people, times = 40, 5
    matrix = np.kron(np.eye(people), np.ones((times, 1)))
    half = 0.5 + 1e-9  # rounding would decide a tie
    lost = least_squares(matrix, np.full(matrix.shape[0], half)).sum()
    most = ta.bounds.hamming(matrix.shape[0], 0.5, math.sqrt(times))
    yield "attained", {"value": lost, "bound": most, "people": people, "times": times}
    n, alpha, draws = 100, 0.05, 40
    matrix = equations("xor", coins(attributes_for(4 * n), n, rng)).to_dense()
    wrong = [round(n * _wrong_share(matrix, 0.4 * math.sqrt(n), rng)) for _ in range(draws)]
    beta, literal = (ta.bounds.recovery(wrong, n, share).beta for share in (alpha, alpha / n))
    words = {"n": n, "alpha": alpha, "draws": draws}
    yield "definition", {"value": beta, "bound": literal, "mended": beta < 0.5 < literal, **words}


# Gross errors: what LP decoding withstands


def gross(effort: Effort, rng: Rng, tell: Tell) -> Found:
    """Bits right against the share of values that are grossly wrong, at random places."""
    n, runs = effort["corrupted"], effort["corruption_runs"]
    d = attributes_for(4 * n)
    lines: dict[str, tuple[Callable[[], Array], Callable[[Array, Array], Guess]]] = {
        "random subsets, LP": (lambda: coins(4 * n, n, rng), lp),
        "xor, LP": (lambda: equations("xor", coins(d, n, rng)).to_dense(), lp),
        "and, LP": (lambda: equations("and", coins(d, n, rng)).to_dense(), lp),
        "and, LP in the box": (
            lambda: equations("and", coins(d, n, rng)).to_dense(),
            lambda matrix, target: lp(matrix, target, box=True),
        ),
        "xor, least squares": (lambda: equations("xor", coins(d, n, rng)).to_dense(), least_squares),
    }
    found: dict[str, Array] = {}
    for name, (make, decode) in lines.items():
        found[name] = np.zeros((runs, len(_FRACTIONS)))
        for run in range(runs):
            matrix = make()
            for k, fraction in enumerate(_FRACTIONS):
                secret = rng.integers(0, 2, n)
                target = matrix @ secret
                target = target + ta.Corruption(fraction, 10 * n).sample(target.shape, rng)
                target = target + rng.normal(0, _BASE_NOISE * math.sqrt(n), target.size)
                found[name][run, k] = (decode(matrix, target) == secret).mean()
    alpha = ta.bounds.euclidean_section(equations("xor", coins(d, n, rng)), rng=rng).alpha
    figure = Figure(
        "Gross errors at random places",
        f"n = {n}, 4n values with noise {_BASE_NOISE:g}·√n; a share of them gets an error of standard "
        "deviation 10n besides. LP decoding is the paper's, without a box, but for one line. Theorem 2.2, "
        f"with our constants, speaks of γ below α²/4 only; a search finds α ≤ {alpha:.2f}: the upright line. "
        f"Means of {runs} runs.",
        Axis("share of values grossly wrong"),
        Axis("share of bits right", low=0.4, high=1.0),
        tuple(Series(name, _FRACTIONS, rates.mean(axis=0), kind="both") for name, rates in found.items()),
        (Rule(alpha**2 / 4, "γ of xor at most", "x"),),
    )
    at = _FRACTIONS.index(_HIT)
    words = {"n": n, "hit": _HIT}
    cases: list[NamedCase] = [
        (f"gross {name}", _held(found[f"{name}, LP"][:, at], **words)) for name in GROSS
    ]
    fallen = float(found["xor, least squares"][:, at].mean())
    return [figure], [
        *cases,
        ("least squares falls", {"value": fallen, **words}),
        *_other_errors(n, runs, rng),
    ]


def _other_errors(n: int, runs: int, rng: Rng) -> Iterator[NamedCase]:
    """Values of the opposite secret; coefficients that are anything (Theorem 4.1, part 2)."""

    def decoded(evidence: ta.Evidence, people: ta.Dataset) -> float:
        return float((lp(evidence.operator.to_dense(), evidence.target) == people.bits).mean())

    rates = []
    for _ in range(runs):
        made = published("xor", n, 4 * n, rng)
        release = ta.publish(made.people, made.statistic, protect=ta.Complement(_HIT), rng=rng)
        rates.append(decoded(ta.linearise(release, made.people), made.people))
    yield "opposite", _held(np.array(rates), n=n, hit=_HIT)
    for name in ("linear", "logistic", "log-cosh"):
        rates = []
        for _ in range(runs):
            made = published(name, n, 4 * n, rng)
            errors = ta.Corruption(_HIT, 1.0).sample(made.values.shape, rng)
            rates.append(decoded(made.evidence(errors), made.people))
        key = "general coefficients" if name == "log-cosh" else "coefficients"
        yield key, _held(np.array(rates), name=name, n=n, hit=_HIT)


def exhaustive(effort: Effort, rng: Rng, tell: Tell) -> Found:
    """The likeliest of all secrets, proved so, beside decoders that take a second for thousands."""
    n, runs, noise = 20, effort["searches"], 0.5
    named = ("least-squares", "posterior", "likeliest")
    right: dict[str, list[float]] = {name: [] for name in named}
    proved = 0
    for _ in range(runs):
        people = ta.Dataset.from_arrays(rng.integers(0, 2, (n, 8)), rng.integers(0, 2, n))
        release = ta.publish(people, ta.Predicates("xor", ways=3), ta.Gaussian(noise * math.sqrt(n)), rng=rng)
        for name in named:
            attack = ta.reconstruct(release, people.public, name, prior=0.5, rng=0)
            right[name].append(float((attack.guess == people.secret).mean()))
            proved += name == "likeliest" and attack.status.settled
    shares = {name: float(np.mean(values)) for name, values in right.items()}
    words = {"n": n, "d": 8, "noise": noise, "runs": runs, "proved": proved}
    case = {"value": shares["likeliest"], "squares": shares["least-squares"], "all": shares["posterior"]}
    return (), [("likeliest", {**case, **words})]
