"""regression-noise: one regression per public column, attacked; noise, preparations, fairness, bits."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

import tellall as ta
from tellall.core.errors import invalid
from tellall.papers.claims import Array

__all__ = [
    "FAMILIES",
    "PAPER_SIZES",
    "PAPER_SWEEP",
    "PREPARATIONS",
    "SCALES",
    "UNITS",
    "Everything",
    "NoisyBits",
    "RegressionData",
    "Regressions",
    "collect",
    "cut_sample",
    "fair",
    "law",
    "law_of_std",
    "load",
    "logistic_noise",
    "logistic_sizes",
    "noise_sweep",
    "prepare",
    "sizes",
    "trade_off",
    "unit_of",
    "variants",
]

Rng = np.random.Generator
Index = npt.NDArray[np.integer[Any]]
_FILE, _SECRET = "cancer_reg.csv", "target_deathrate"
_TOLERANCE = 1e-10  # of singular values: the row of ones comes d times, and zeros kept would blow up noise
_CUT = 0.05  # where the paper's truncated normal ends, in multiples of its scale
_SEEN = 0.05  # printed errors below this have lost their digits
_LINEAR = ta.Estimator("linear", block=1, intercept=True)
_LOGISTIC = ta.Estimator("logistic", block=1, intercept=True)

FAMILIES = ("Gaussian", "Laplace", "truncated normal")
PREPARATIONS = ("standardised", "standardised in the sample", "divided by their deviation")
UNITS = ("as it is", "standardised", "from 0 to 1")
# fmt: off
PAPER_SIZES = {  # Table 2: data-set size → mean absolute error and its standard deviation over 50 samples
    10: (0.0, 0.0), 20: (0.0, 0.0), 50: (15.8, 5.605), 100: (20.01, 5.241), 200: (20.07, 2.114),
    500: (20.36, 1.392), 1000: (20.42, 0.898), 2000: (20.37, 1.087), 3047: (20.34, 0.564),
}
PAPER_SWEEP = {  # Table 3: scale → mean absolute error under each family, ten repeats
    1.0: (819.18, 976.86, 21.69), 0.7: (799.5, 683.43, 13.48), 0.3: (233.76, 325.25, 7.1),
    0.1: (73.19, 135.72, 1.62), 0.07: (32.33, 76.48, 1.14), 0.03: (27.57, 26.05, 0.65),
    0.01: (10.11, 10.9, 0.19), 0.007: (5.28, 6.92, 0.15), 0.003: (2.68, 3.12, 0.08),
    0.001: (0.82, 1.01, 0.03), 1e-4: (0.09, 0.1, 0.0), 1e-5: (0.01, 0.01, 0.0),
    1e-6: (0.0, 0.0, 0.0), 1e-7: (0.0, 0.0, 0.0), 1e-8: (0.0, 0.0, 0.0), 1e-9: (0.0, 0.0, 0.0),
}
# fmt: on
SCALES = tuple(sorted(PAPER_SWEEP))


# Data


@dataclass(frozen=True, eq=False)
class RegressionData:
    """Public columns (n × d) and a real secret; `paper` says whether these are the paper's own data."""

    name: str
    features: Array
    secret: Array
    columns: tuple[str, ...]
    paper: bool

    @property
    def n(self) -> int:
        """How many records."""
        return self.secret.size

    @property
    def d(self) -> int:
        """How many public columns, one regression each."""
        return len(self.columns)

    def sample(self, n: int, rng: Rng) -> Index:
        """The positions of n records, drawn without replacement."""
        return np.sort(rng.choice(self.n, n, replace=False))


def load(place: str | Path = ".") -> RegressionData:
    """The paper's data from a file or a folder that holds it; scikit-learn's diabetes patients otherwise.

    Notes
    -----
    Text and columns with missing values are left out, as in the paper (Sec. 4.1). The stand-in is taken only
    where no place is named and the file is not in the current folder.
    """
    path = Path(place) / _FILE if Path(place).is_dir() else Path(place)
    if path.is_file():
        people = ta.read(path, secret=_SECRET, kind="reals")
        named = zip(people.public.names, people.public.numbers, strict=True)
        numbers = {name: column for name, column in named if column is not None and np.isfinite(column).all()}
        if not numbers:
            raise invalid("folder", f"a table with {_SECRET} and columns of numbers", str(path))
        features, secret = (
            np.column_stack(list(numbers.values())),
            np.asarray(people.secret, dtype=np.float64),
        )
        return RegressionData("counties", features, secret, tuple(numbers), True)
    if Path(place) != Path():
        raise invalid("folder", f"{_FILE}, or a folder that holds it", str(place))
    from sklearn.datasets import load_diabetes

    bunch = load_diabetes(scaled=False)
    names = tuple(bunch.feature_names)
    return RegressionData("diabetes patients", bunch.data.astype(np.float64), bunch.target, names, False)


def prepare(features: Array, sample: Index, how: str = "standardised") -> Array:
    """The features of a sample, prepared.

    "standardised": centred and divided by the standard deviation of all records; "standardised in the
    sample": by its own; "divided by their deviation": scaled but not centred.
    """
    if how not in PREPARATIONS:
        raise invalid("how", f"one of {', '.join(PREPARATIONS)}", how)
    rows = features[sample]
    reference = rows if how == "standardised in the sample" else features
    spread = reference.std(axis=0)
    centre = 0.0 if how == "divided by their deviation" else reference.mean(axis=0)
    return np.asarray((rows - centre) / np.where(spread > 0, spread, 1.0))


def unit_of(secret: Array, how: str) -> float:
    """What one unit of noise is, in the secret's own unit, where the secret was scaled before fitting.

    Attack and fits being linear, scaling the secret by 1/c and the answer by c is the same as noise c times
    as large; shifting it changes nothing.
    """
    if how not in UNITS:
        raise invalid("how", f"one of {', '.join(UNITS)}", how)
    return {"as it is": 1.0, "standardised": float(secret.std()), "from 0 to 1": float(np.ptp(secret))}[how]


def law(family: str, scale: float) -> Any:
    """The noise of one family at the paper's σ or scale."""
    if family == "Gaussian":
        return ta.Gaussian(scale)
    return ta.Laplace(scale) if family == "Laplace" else ta.TruncatedNormal(scale, _CUT, bound_in="scales")


def law_of_std(family: str, std: float) -> Any:
    """The noise of one family with this standard deviation."""
    return law(family, std / law(family, 1.0).std)


# The attack


class Regressions:
    """secret ~ θ_j x_j + b_j for each column j of the features, and the attack that inverts them.

    Notes
    -----
    Published are (θ_1, b_1, …, θ_d, b_d). The attacker solves min ‖A s − z‖₂ with, for each j, the rows x_jᵀ
    and 1ᵀ of A and z_j = X_jᵀX_j (θ~_j, b~_j)ᵀ, X_j = [x_j, 1] (regression-noise, Eqs. 1 and 2, without the
    stray factor θ~_j of our copy). The d equal rows 1ᵀ carry independent errors on one sum: least squares
    averages them, so A has the same answers as the d + 1 rows x_jᵀ and √d 1ᵀ, and the least of all
    solutions is Bᵀ(BBᵀ)⁺w for these. QR of Bᵀ and a singular value decomposition of (d + 1)²: O(n d²) once,
    O(n d) for each draw of the noise.

    With exact coefficients that solution is the projection of the secret onto the columns and 1: the secret
    itself up to n = d + 1, the fitted values of multiple regression beyond.
    """

    def __init__(self, features: Array) -> None:
        self.features = np.asarray(features, dtype=np.float64)
        self.n, self.d = self.features.shape

    @cached_property
    def _moments(self) -> Array:
        """X_jᵀX_j of each regression: d × 2 × 2."""
        squares, sums = (self.features**2).sum(axis=0), self.features.sum(axis=0)
        return np.stack([np.stack([squares, sums], -1), np.stack([sums, np.full(self.d, self.n)], -1)], 1)

    @cached_property
    def _inverse(self) -> Array:
        """The pseudo-inverse of the attack's d + 1 rows, n × (d + 1), of explicit rank."""
        basis, triangle = np.linalg.qr(np.column_stack([self.features, np.full(self.n, np.sqrt(self.d))]))
        left, singular, right = np.linalg.svd(triangle.T, full_matrices=False)
        kept = singular > _TOLERANCE * singular[0]
        return np.asarray(basis @ ((right[kept].T / singular[kept]) @ left[:, kept].T))

    @property
    def rows(self) -> Array:
        """The matrix A as the paper has it: 2d × n, formed."""
        out = np.ones((2 * self.d, self.n))
        out[::2] = self.features.T
        return out

    def fit(self, secret: Array) -> Array:
        """The coefficients (θ_1, b_1, …, θ_d, b_d); where a column is constant, the smallest that fit."""
        designs = np.stack([self.features.T, np.ones((self.d, self.n))], axis=2)
        return np.asarray(np.linalg.pinv(designs, rcond=_TOLERANCE) @ secret).ravel()

    def targets(self, coefficients: Array) -> Array:
        """z for each draw: 2d × draws from 2d × draws."""
        pairs = coefficients.reshape(self.d, 2, -1)
        return np.asarray(self._moments @ pairs).reshape(coefficients.shape)

    def attack(self, coefficients: Array) -> Array:
        """The least of the least-squares solutions, one column for each draw: n × draws."""
        targets = self.targets(coefficients).reshape(self.d, 2, -1)
        total = targets[:, 1].mean(axis=0) * np.sqrt(self.d)
        answer = self._inverse @ np.concatenate([targets[:, 0], total[None]])
        return np.asarray(answer[:, 0] if coefficients.ndim == 1 else answer)

    def predictions(self, coefficients: Array) -> Array:
        """What each regression predicts, n × d × draws."""
        pairs = coefficients.reshape(self.d, 2, -1)
        return np.asarray(self.features[:, :, None] * pairs[None, :, 0] + pairs[None, :, 1])

    def utility(self, secret: Array, clean: Array, noisy: Array) -> Array:
        """Mean absolute error of the noisy predictions over that of the clean ones, d × draws."""
        before, after = (
            np.abs(self.predictions(theta) - secret[:, None, None]).mean(axis=0) for theta in (clean, noisy)
        )
        return np.asarray(after / before)


def _drawn(data: RegressionData, n: int, rng: Rng, how: str = "standardised") -> tuple[Regressions, Array]:
    """The regressions of a random sample, and its secret."""
    some = data.sample(n, rng)
    return Regressions(prepare(data.features, some, how)), data.secret[some]


# The paper's two experiments, and what makes them come out as printed


class Sizes(NamedTuple):
    """Mean absolute error of the attack on exact coefficients, by the number of records: Table 2."""

    size: tuple[int, ...]
    error: tuple[float, ...]
    deviation: tuple[float, ...]


def sizes(data: RegressionData, size: Sequence[int], repeats: int, rng: Rng) -> Sizes:
    """Table 2 and Figure 2: the attack on exact coefficients of random samples."""
    found = []
    for n in size:
        errors = []
        for _ in range(repeats if n < data.n else 1):
            models, secret = _drawn(data, n, rng)
            errors.append(float(np.abs(models.attack(models.fit(secret)) - secret).mean()))
        found.append((float(np.mean(errors)), float(np.std(errors))))
    return Sizes(tuple(size), *zip(*found, strict=True))


class NoiseSweep(NamedTuple):
    """Noise on the coefficients, family × scale × repeat: Table 3 and Figures 3 to 5.

    `error` is the attack's mean absolute error in the secret's unit; `utility` the prediction error of each
    noisy regression over that of the clean one, its last axis the regression.
    """

    n: int
    scales: tuple[float, ...]
    error: Array
    utility: Array


def noise_sweep(
    data: RegressionData,
    n: int,
    scales: Sequence[float],
    repeats: int,
    rng: Rng,
    *,
    how: str = "standardised",
    unit: str = "as it is",
) -> NoiseSweep:
    """Every family at every scale on `repeats` random samples; all draws of a sample are solved together."""
    factor, shape = unit_of(data.secret, unit), (len(FAMILIES), len(scales))
    errors, utilities = np.empty((*shape, repeats)), np.empty((*shape, repeats, data.d))
    laws = [law(family, scale * factor) for family in FAMILIES for scale in scales]
    for repeat in range(repeats):
        models, secret = _drawn(data, n, rng, how)
        clean = models.fit(secret)
        noisy = clean[:, None] + np.column_stack([one.sample(clean.size, rng) for one in laws])
        off = np.abs(models.attack(noisy) - secret[:, None]).mean(axis=0)
        errors[:, :, repeat] = off.reshape(shape)
        utilities[:, :, repeat] = models.utility(secret, clean, noisy).T.reshape(*shape, data.d)
    return NoiseSweep(n, tuple(scales), errors, utilities)


class Variant(NamedTuple):
    """One way to prepare columns and secret, beside the paper's Table 3.

    `distance` is the mean |log₁₀(ours/the paper's)| over the cells where digits are printed; `error` ours at
    scale 1 under Gaussian noise, `utility` the least over regressions of the mean utility ratio there.
    """

    n: int
    how: str
    unit: str
    distance: float
    error: float
    utility: float

    @property
    def name(self) -> str:
        """In a few words."""
        return f"columns {self.how}, secret {self.unit}, n = {self.n}"


def variants(data: RegressionData, size: Sequence[int], repeats: int, rng: Rng) -> tuple[Variant, ...]:
    """Table 3 in every preparation, nearest to the paper's first."""
    scales = tuple(scale for scale, row in sorted(PAPER_SWEEP.items()) if min(row) >= 0.01)
    paper = np.array([PAPER_SWEEP[scale] for scale in scales]).T
    found = []
    for n in size:
        for how in PREPARATIONS:
            for unit in UNITS:
                ours = noise_sweep(data, n, scales, repeats, rng, how=how, unit=unit)
                error = ours.error.mean(axis=2)
                distance = float(np.abs(np.log10(error / paper))[paper >= _SEEN].mean())
                least = float(ours.utility[0, -1].mean(axis=0).min())
                found.append(Variant(n, how, unit, distance, float(error[0, -1]), least))
    return tuple(sorted(found, key=lambda one: one.distance))


def _checks(data: RegressionData, n: int, rng: Rng) -> dict[str, float]:
    """The optimality conditions at a noisy attack, and what an exact one gives.

    The dual certificate of min ‖A s − z‖₂: ν, the normalised residual, has Aᵀν = 0 and zᵀν = ‖A s − z‖₂.
    """
    models, secret = _drawn(data, n, rng)
    clean, matrix = models.fit(secret), models.rows
    noisy = clean + law("Gaussian", 0.1).sample(clean.size, rng)
    target = models.targets(noisy)
    residual = target - matrix @ models.attack(noisy)
    primal = float(np.linalg.norm(residual))
    dual = residual / primal
    stray = models.targets(clean) * np.repeat(clean[::2], 2)
    printed = np.linalg.lstsq(matrix, stray, rcond=_TOLERANCE)[0]
    whole = Regressions(prepare(data.features, np.arange(data.n)))
    theta = whole.fit(data.secret)
    design = np.column_stack([whole.features, np.ones(data.n)])
    fitted = design @ np.linalg.lstsq(design, data.secret, rcond=_TOLERANCE)[0]
    return {
        "primal": primal,
        "dual": float(target @ dual),
        "infeasibility": float(np.linalg.norm(matrix.T @ dual) / np.linalg.norm(matrix, 2)),
        "printed": float(np.abs(printed - secret).mean()),  # with the stray factor of Eq. 1
        "unprinted": float(np.abs(models.attack(clean) - secret).mean()),
        "from_fit": float(np.abs(whole.attack(theta) - fitted).max()),
        "single": float(np.abs(whole.predictions(theta)[:, :, 0] - data.secret[:, None]).mean()),
    }


# What the paper concludes, tested fairly


class Fair(NamedTuple):
    """Attack error of a family over that of Gaussian noise, made equal in some respect, with 95 % interval.

    ``level`` is the utility ratio that both have; None where they have the same standard deviation.
    """

    family: str
    level: float | None
    ratio: float
    interval: tuple[float, float]

    @classmethod
    def of(cls, family: str, level: float | None, ratios: Array) -> Fair:
        """The geometric mean of a ratio per sample, with Student's interval."""
        logs = np.log(ratios)
        middle, margin = float(logs.mean()), _margin(logs)
        return cls(family, level, math.exp(middle), (math.exp(middle - margin), math.exp(middle + margin)))


def _margin(values: Array) -> float:
    """Half of Student's 95 % interval of a mean."""
    from scipy.special import stdtrit

    return float(stdtrit(values.size - 1, 0.975) * values.std(ddof=1) / math.sqrt(values.size))


def fair(
    data: RegressionData, n: int, levels: Sequence[float], samples: int, draws: int, rng: Rng
) -> tuple[Fair, ...]:
    """The families at equal standard deviation, then at equal utility.

    Notes
    -----
    The attack is linear, so its error is the standard deviation times a factor of the sample and the family;
    the utility ratio, averaged over regressions and draws, grows with the standard deviation, and bisection
    finds where it has the level asked for. O(samples · draws · n · d) for each of 25 steps and each level.
    """
    factor = np.empty((len(FAMILIES), samples))
    left, noise = [], []
    for k in range(samples):
        models, secret = _drawn(data, n, rng)
        theta = models.fit(secret)
        drawn = np.stack([law_of_std(one, 1.0).sample((theta.size, draws), rng) for one in FAMILIES])
        factor[:, k] = [float(np.abs(models.attack(one)).mean()) for one in drawn]
        left.append(models.predictions(theta)[:, :, 0] - secret[:, None])
        noise.append([models.predictions(one).astype(np.float32) for one in drawn])
    before, residuals = np.abs(np.stack(left)).mean(axis=1), np.stack(left).astype(np.float32)
    found = [Fair.of(family, None, factor[k] / factor[0]) for k, family in enumerate(FAMILIES) if k]
    for level in levels:
        scaled = [
            factor[k] * _std_at(level, residuals, before, np.stack([one[k] for one in noise]))
            for k in range(len(FAMILIES))
        ]
        found += [Fair.of(family, level, scaled[k] / scaled[0]) for k, family in enumerate(FAMILIES) if k]
    return tuple(found)


def _std_at(level: float, residual: Array, before: Array, noise: Array) -> Array:
    """The standard deviation at which each sample's mean utility ratio has the level."""
    low, high = np.zeros(len(before)), np.full(len(before), 4 * level * float(before.max()))
    for _ in range(25):
        middle = (low + high) / 2
        after = np.abs(residual[..., None] + middle[:, None, None, None].astype(np.float32) * noise)
        over = (after.mean(axis=(1, 3)) / before).mean(axis=1) > level
        low, high = np.where(over, low, middle), np.where(over, middle, high)
    return np.asarray((low + high) / 2)


class TradeOff(NamedTuple):
    """Both attacks and the utility against the standard deviation of the noise: family × std × repeat.

    `plain` is the error of the paper's attack, `bayes` of tellall's, which weighs the evidence by its noise
    and shrinks towards the mean; `nothing` that of guessing the sample's median for everybody.
    """

    n: int
    stds: tuple[float, ...]
    plain: Array
    bayes: Array
    utility: Array
    nothing: float


def trade_off(data: RegressionData, n: int, stds: Sequence[float], repeats: int, rng: Rng) -> TradeOff:
    """The paper's attack and tellall's on the same noisy coefficients of random samples."""
    plain, bayes, utility = (np.empty((len(FAMILIES), len(stds), repeats)) for _ in range(3))
    nothing = []
    for repeat in range(repeats):
        some = data.sample(n, rng)
        features, secret = prepare(data.features, some), data.secret[some]
        features = features[:, np.ptp(features, axis=0) > 0]  # a constant column says the sum once more
        people, models = ta.Dataset.from_arrays(features, secret, kind="reals"), Regressions(features)
        theta = models.fit(secret)
        nothing.append(float(np.abs(secret - np.median(secret)).mean()))
        for k, family in enumerate(FAMILIES):
            for j, std in enumerate(stds):
                noise = law_of_std(family, std)
                noisy = theta + noise.sample(theta.size, rng)
                release = ta.Release.from_values(_LINEAR, noisy, public=people, noise=noise, levels=0)
                attack = ta.reconstruct(release, people.public)
                plain[k, j, repeat] = np.abs(models.attack(noisy) - secret).mean()
                bayes[k, j, repeat] = np.abs(attack.estimate - secret).mean()
                utility[k, j, repeat] = models.utility(secret, theta, noisy).mean()
    return TradeOff(n, tuple(stds), plain, bayes, utility, float(np.mean(nothing)))


class Compared(NamedTuple):
    """The attack beside the strongest baseline at one size: errors, or shares of bits right.

    `interval` is 95 % of the advantage: over records where there is one sample, otherwise over samples.
    """

    n: int
    value: float
    baseline: float
    advantage: float
    interval: tuple[float, float]
    samples: int


def _known(n: int, draw: Callable[[int], ta.Dataset], statistic: Any, samples: int, rng: Rng) -> Compared:
    """The attack on exact coefficients of some samples beside its baselines."""
    risks = []
    for _ in range(samples):
        one = draw(n)
        found: Any = ta.reconstruct(ta.publish(one, statistic), one.public)
        risks.append(ta.score(found, np.asarray(one.secret), rng=rng))
    values = [risk.error if math.isnan(risk.accuracy) else risk.accuracy for risk in risks]
    gain = np.array([risk.advantage for risk in risks])
    middle, interval = float(gain.mean()), risks[0].interval
    if samples > 1:
        interval = (middle - _margin(gain), middle + _margin(gain))
    baseline = float(np.mean([risk.baselines[risk.baseline] for risk in risks]))
    return Compared(n, float(np.mean(values)), baseline, middle, interval, samples)


# Logistic regression, which the paper leaves open: the secret cut at its median


def cut_sample(data: RegressionData, n: int, rng: Rng) -> ta.Dataset:
    """A random sample of n records, the secret being whether it exceeds the median of all.

    Drawn again where all bits are equal: no model has a finite fit then.
    """
    bits = (data.secret > np.median(data.secret)).astype(np.int8)
    some = data.sample(n, rng)
    while np.ptp(bits[some]) == 0:
        some = data.sample(n, rng)
    return ta.Dataset.from_arrays(prepare(data.features, some), bits[some], names=data.columns)


class BitsBySize(NamedTuple):
    """Share of bits right from exact coefficients: size × repeat."""

    size: tuple[int, ...]
    right: Array


def logistic_sizes(data: RegressionData, size: Sequence[int], repeats: int, rng: Rng) -> BitsBySize:
    """The attack on exact logistic coefficients of random samples."""
    right = np.empty((len(size), repeats))
    for k, n in enumerate(size):
        for repeat in range(repeats):
            people = cut_sample(data, n, rng)
            right[k, repeat] = _bits_right(people, ta.publish(people, _LOGISTIC).values, None)
    return BitsBySize(tuple(size), right)


class NoisyBits(NamedTuple):
    """Noise on the logistic coefficients: share of bits right and utility ratio, family × std × repeat.

    ``nothing`` is the share right of guessing the sample's more frequent bit for everybody.
    """

    n: int
    stds: tuple[float, ...]
    right: Array
    utility: Array
    nothing: float


def logistic_noise(data: RegressionData, n: int, stds: Sequence[float], repeats: int, rng: Rng) -> NoisyBits:
    """Every family at every standard deviation on the logistic coefficients of random samples."""
    right, utility = (np.empty((len(FAMILIES), len(stds), repeats)) for _ in range(2))
    nothing = []
    for repeat in range(repeats):
        people = cut_sample(data, n, rng)
        clean = ta.publish(people, _LOGISTIC).values
        nothing.append(max(people.bits.mean(), 1 - people.bits.mean()))
        for k, family in enumerate(FAMILIES):
            for j, std in enumerate(stds):
                noise = law_of_std(family, std)
                noisy = clean + noise.sample(clean.size, rng)
                right[k, j, repeat] = _bits_right(people, noisy, noise)
                utility[k, j, repeat] = _bits_utility(people, clean, noisy)
    return NoisyBits(n, tuple(stds), right, utility, float(np.mean(nothing)))


def _bits_right(people: ta.Dataset, values: Array, noise: Any) -> float:
    release = ta.Release.from_values(_LOGISTIC, values, public=people, noise=noise)
    return float(np.mean(ta.reconstruct(release, people.public).guess == people.bits))


def _bits_utility(people: ta.Dataset, clean: Array, noisy: Array) -> float:
    """The mean over models of the ratio of prediction errors; models without a finite fit are left out."""
    columns: Any = people.public.numbers
    pairs = zip(columns, clean.reshape(-1, 2), noisy.reshape(-1, 2), strict=True)
    ratios = [
        ta.coefficient_utility(
            before, after, np.column_stack([column, np.ones(people.n)]), people.bits, model="logistic"
        ).mae_ratio
        for column, before, after in pairs
        if np.isfinite(before).all()
    ]
    return float(np.mean(ratios))


# Everything


@dataclass(frozen=True, eq=False)
class Everything:
    """What every experiment found; ``variants`` and ``nearest`` only on the paper's own data."""

    data: RegressionData
    sizes: Sizes
    checks: Mapping[str, float]
    sweep: NoiseSweep
    variants: tuple[Variant, ...]
    nearest: NoiseSweep | None
    fair: tuple[Fair, ...]
    trade_off: TradeOff
    known: tuple[Compared, ...]
    logistic: BitsBySize
    logistic_noise: NoisyBits
    logistic_known: tuple[Compared, ...]

    def table(self) -> list[dict[str, Any]]:
        """Table 3, ours beside the paper's, a row for each scale, as plain data."""
        rows = []
        for j, scale in enumerate(self.sweep.scales):
            row: dict[str, Any] = {"scale": scale}
            for k, family in enumerate(FAMILIES):
                row[family] = {
                    "ours": float(self.sweep.error[k, j].mean()),
                    "deviation": float(self.sweep.error[k, j].std()),
                    "utility": [float(u) for u in self.sweep.utility[k, j].mean(axis=0)],
                    "paper": PAPER_SWEEP[scale][k] if self.data.paper else None,
                }
                if self.nearest is not None:
                    row[family]["nearest preparation"] = float(self.nearest.error[k, j].mean())
            rows.append(row)
        return rows


def collect(
    data: RegressionData, effort: Mapping[str, Any], rng: Rng, tell: Callable[[int], None] = lambda done: None
) -> Everything:
    """Every experiment with the samples and sizes that `effort` asks for; tells after each."""
    n, edge = 20 if data.paper else data.d - 2, data.d + 1
    size = sorted({10, 20, edge - 1, edge, edge + 1, 50, 100, 200, 500, 1000, 2000, data.n})
    bit_sizes = sorted({edge // 2, edge, round(1.8 * edge), round(2.5 * edge), round(3.6 * edge), 200})

    def told(found: Any) -> Any:
        tell(1)
        return found

    def fitting(asked: Sequence[tuple[int | str, int]]) -> list[tuple[int, int]]:
        words: dict[int | str, int] = {"d + 1": edge, "all": data.n}
        found = [(int(words.get(n, n)), samples) for n, samples in asked]
        return [(n, samples) for n, samples in found if n <= data.n]

    def real_sample(n: int) -> ta.Dataset:
        some = data.sample(n, rng)
        return ta.Dataset.from_arrays(prepare(data.features, some), data.secret[some], kind="reals")

    def cut(n: int) -> ta.Dataset:
        return cut_sample(data, n, rng)

    near = variants(data, (10, n), effort["variant_repeats"], rng) if data.paper else ()
    table_2 = told(sizes(data, [s for s in size if s <= data.n], effort["size_repeats"], rng))
    checks = told(_checks(data, n, rng))
    sweep, nearest = told(noise_sweep(data, n, SCALES, effort["repeats"], rng)), None
    if near:
        best = near[0]
        nearest = noise_sweep(data, best.n, SCALES, effort["repeats"], rng, how=best.how, unit=best.unit)
    levels = (1.05, 1.2, 1.5, 2.0, 3.0)
    return Everything(
        data=data,
        sizes=table_2,
        checks=checks,
        sweep=sweep,
        variants=near,
        nearest=nearest,
        fair=told(fair(data, n, levels, effort["fair_samples"], effort["fair_draws"], rng)),
        trade_off=told(trade_off(data, n, effort["stds"], effort["trade_repeats"], rng)),
        known=told(
            tuple(_known(m, real_sample, _LINEAR, count, rng) for m, count in fitting(effort["known"]))
        ),
        logistic=told(logistic_sizes(data, bit_sizes, effort["logistic_repeats"], rng)),
        logistic_noise=told(
            logistic_noise(data, edge, (0.01, 0.03, 0.1, 0.3, 1.0, 3.0), effort["logistic_repeats"], rng)
        ),
        logistic_known=told(
            tuple(_known(m, cut, _LOGISTIC, count, rng) for m, count in fitting(effort["logistic_known"]))
        ),
    )
