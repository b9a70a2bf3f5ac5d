"""regression-noise: its two experiments, what makes them come out, its conclusion tested fairly, bits."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import product
from typing import Any, NamedTuple

import numpy as np

import tellall as ta
from tellall.papers.claims import Array
from tellall.papers.regression_noise_attack import (
    FAMILIES,
    LITERAL,
    PAPER_SWEEP,
    PREPARATIONS,
    SCALES,
    TOLERANCE,
    UNITS,
    RegressionData,
    Regressions,
    law,
    law_of_std,
    prepare,
    unit_of,
)

__all__ = [
    "Everything",
    "NoiseSweep",
    "NoisyBits",
]

Rng = np.random.Generator
_SEEN = 0.05  # printed errors below this have lost their digits
_LINEAR = ta.Estimator("linear", block=1, intercept=True)
_LOGISTIC = ta.Estimator("logistic", block=1, intercept=True)


def _drawn(data: RegressionData, n: int, rng: Rng, how: str = "standardised") -> tuple[Regressions, Array]:
    """The regressions of a random sample, and its secret."""
    some = data.sample(n, rng)
    return Regressions(prepare(data.features, some, how)), data.secret[some]


# The paper's two experiments, and what makes them come out as printed


def sizes(
    data: RegressionData, size: Sequence[int], repeats: int, rng: Rng
) -> dict[int, tuple[float, float]]:
    """Table 2 and Figure 2: records → mean error from exact coefficients of random samples, its deviation."""
    found = {}
    for n in size:
        errors = []
        for _ in range(repeats if n < data.n else 1):
            models, secret = _drawn(data, n, rng)
            errors.append(float(np.abs(models.attack(models.fit(secret)) - secret).mean()))
        found[n] = float(np.mean(errors)), float(np.std(errors))
    return found


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
    families: Sequence[str] = FAMILIES,
) -> NoiseSweep:
    """Every family at every scale on `repeats` random samples; all draws of a sample are solved together."""
    factor, shape = unit_of(data.secret, unit), (len(families), len(scales))
    errors, utilities = np.empty((*shape, repeats)), np.empty((*shape, repeats, data.d))
    laws = [law(family, scale, factor) for family in families for scale in scales]
    for repeat in range(repeats):
        models, secret = _drawn(data, n, rng, how)
        clean = models.fit(secret)
        noisy = clean[:, None] + np.column_stack([one.sample(clean.size, rng) for one in laws])
        off = np.abs(models.attack(noisy) - secret[:, None]).mean(axis=0)
        errors[:, :, repeat] = off.reshape(shape)
        utilities[:, :, repeat] = models.utility(secret, clean, noisy).T.reshape(*shape, data.d)
    return NoiseSweep(n, tuple(scales), errors, utilities)


class Variant(NamedTuple):
    """One way to prepare columns and secret, compared with the paper's Table 3.

    `literal` says whether the truncated normal ends at ±0.05 whatever its scale, not at ±0.05 of it.
    `distance` is the mean |log₁₀(ours/the paper's)| over the cells where digits are printed; `error` ours at
    scale 1 under Gaussian noise. What Figures 3 to 5 say: `small` is the largest error at scale 0.001;
    `sinks` the least utility ratio of a regression at scale 1 under Gaussian or Laplace noise, `stays` the
    largest under the truncated normal; `times` the errors under Gaussian and Laplace noise over the truncated
    normal's of the same scale.
    """

    n: int
    how: str
    unit: str
    distance: float
    error: float
    small: float
    sinks: float
    stays: float
    times: tuple[float, float]
    literal: bool = False

    @property
    def name(self) -> str:
        """The preparation in a few words."""
        cut = ", noise cut at ±0.05 itself" if self.literal else ""
        return f"columns {self.how}, secret {self.unit}, n = {self.n}{cut}"


def variants(data: RegressionData, size: Sequence[int], repeats: int, rng: Rng) -> tuple[Variant, ...]:
    """Table 3 in every preparation, nearest to the paper's first."""
    scales = tuple(scale for scale, row in sorted(PAPER_SWEEP.items()) if min(row) >= 0.01)
    paper = np.array([PAPER_SWEEP[scale] for scale in scales]).T
    found = []
    for n, how, unit in product(size, PREPARATIONS, UNITS):
        both = noise_sweep(data, n, scales, repeats, rng, how=how, unit=unit, families=(*FAMILIES, LITERAL))
        for literal in (False, True):
            kept = [0, 1, 3 if literal else 2]
            error, last = both.error.mean(axis=2)[kept], both.utility[kept, -1].mean(axis=1)
            distance = float(np.abs(np.log10(error / paper))[paper >= _SEEN].mean())
            gaussian, laplace = np.exp(np.log(error[:2] / error[2]).mean(axis=1))
            found.append(
                Variant(
                    n,
                    how,
                    unit,
                    distance,
                    float(error[0, -1]),
                    small=float(error[:, 0].max()),
                    sinks=float(last[:2].min()),
                    stays=float(last[2].max()),
                    times=(float(gaussian), float(laplace)),
                    literal=literal,
                )
            )
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
    printed = np.linalg.lstsq(matrix, stray, rcond=TOLERANCE)[0]
    whole = Regressions(prepare(data.features, np.arange(data.n)))
    theta = whole.fit(data.secret)
    design = np.column_stack([whole.features, np.ones(data.n)])
    fitted = design @ np.linalg.lstsq(design, data.secret, rcond=TOLERANCE)[0]
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
    data: RegressionData,
    n: int,
    levels: Sequence[float],
    samples: int,
    draws: int,
    rng: Rng,
    how: str = "standardised",
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
        models, secret = _drawn(data, n, rng, how)
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
    """The attack against the strongest baseline at one size: errors, or shares of bits right.

    `interval` is 95 % of the advantage: over records if there is one sample, otherwise over samples.
    """

    n: int
    value: float
    baseline: float
    advantage: float
    interval: tuple[float, float]
    samples: int


def _compared(n: int, draw: Callable[[int], ta.Dataset], statistic: Any, samples: int, rng: Rng) -> Compared:
    """The attack on exact coefficients of some samples, and its baselines."""
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

    Drawn again if all bits are equal, because no model has a finite fit then.
    """
    bits = (data.secret > np.median(data.secret)).astype(np.int8)
    some = data.sample(n, rng)
    while np.ptp(bits[some]) == 0:
        some = data.sample(n, rng)
    return ta.Dataset.from_arrays(prepare(data.features, some), bits[some], names=data.columns)


def logistic_sizes(data: RegressionData, size: Sequence[int], repeats: int, rng: Rng) -> dict[int, Array]:
    """Records → the shares of bits right from exact logistic coefficients of random samples."""

    def right(n: int) -> float:
        people = cut_sample(data, n, rng)
        return _bits_right(people, ta.publish(people, _LOGISTIC).values, None)

    return {n: np.array([right(n) for _ in range(repeats)]) for n in size}


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


_LEVELS = (1.05, 1.2, 1.5, 2.0, 3.0)
_BIT_NOISE = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
_STREAMS = (
    *("sizes", "checks", "sweep", "variants", "nearest", "fair", "otherwise", "trade_off", "known"),
    *("logistic", "logistic_noise", "logistic_known", "nothing"),
)


class Everything:
    """Every experiment on one data set, made when it is first asked for.

    Each has its own stream of random numbers, so that it has the same numbers alone as in a whole rerun.
    `variants`, `nearest` and `otherwise` are empty on data that are not the paper's own.
    """

    def __init__(self, data: RegressionData, effort: Mapping[str, Any], rng: Rng) -> None:
        self.data, self.effort = data, effort
        self.n, self._edge = 20 if data.paper else data.d - 2, data.d + 1
        self._rng = dict(zip(_STREAMS, rng.spawn(len(_STREAMS)), strict=True))

    @cached_property
    def sizes(self) -> Mapping[int, tuple[float, float]]:
        """Table 2."""
        edge, most = self._edge, self.data.n
        size = sorted({10, 20, edge - 1, edge, edge + 1, 50, 100, 200, 500, 1000, 2000, most})
        small = [one for one in size if one <= most]
        return sizes(self.data, small, self.effort["size_repeats"], self._rng["sizes"])

    @cached_property
    def checks(self) -> Mapping[str, float]:
        """The optimality conditions."""
        return _checks(self.data, self.n, self._rng["checks"])

    @cached_property
    def sweep(self) -> NoiseSweep:
        """Table 3, prepared as the paper describes."""
        return noise_sweep(self.data, self.n, SCALES, self.effort["repeats"], self._rng["sweep"])

    @cached_property
    def variants(self) -> tuple[Variant, ...]:
        """Table 3 in every preparation."""
        if not self.data.paper:
            return ()
        return variants(self.data, (10, self.n), self.effort["variant_repeats"], self._rng["variants"])

    @cached_property
    def nearest(self) -> NoiseSweep | None:
        """Table 3 in the preparation that comes nearest."""
        if not self.variants:
            return None
        best = self.variants[0]
        families = (*FAMILIES[:2], LITERAL if best.literal else FAMILIES[2])
        return noise_sweep(
            *(self.data, best.n, SCALES, self.effort["repeats"], self._rng["nearest"]),
            how=best.how,
            unit=best.unit,
            families=families,
        )

    @cached_property
    def fair(self) -> tuple[Fair, ...]:
        """The families made equal."""
        samples, draws = self.effort["fair_samples"], self.effort["fair_draws"]
        return fair(self.data, self.n, _LEVELS, samples, draws, self._rng["fair"])

    @cached_property
    def otherwise(self) -> Mapping[str, tuple[Fair, ...]]:
        """The same in the other preparations of the columns; scaling the secret changes nothing there."""
        if not self.data.paper:
            return {}
        samples, draws = self.effort["other_samples"], self.effort["fair_draws"]
        return {
            f"columns {how}, n = {m}": fair(
                self.data, m, _LEVELS, samples, draws, self._rng["otherwise"], how
            )
            for m, how in product((10, self.n), PREPARATIONS)
            if (m, how) != (self.n, "standardised")
        }

    @cached_property
    def trade_off(self) -> TradeOff:
        """Both attacks against the noise."""
        stds, repeats = self.effort["stds"], self.effort["trade_repeats"]
        return trade_off(self.data, self.n, stds, repeats, self._rng["trade_off"])

    @cached_property
    def nothing(self) -> float:
        """The error of guessing a sample's median for everybody, mean over 200 samples."""
        drawn = [self.data.secret[self.data.sample(self.n, self._rng["nothing"])] for _ in range(200)]
        return float(np.mean([np.abs(one - np.median(one)).mean() for one in drawn]))

    @cached_property
    def known(self) -> tuple[Compared, ...]:
        """The attack on exact coefficients against its baselines."""

        def real_sample(m: int) -> ta.Dataset:
            some = self.data.sample(m, self._rng["known"])
            return ta.Dataset.from_arrays(
                prepare(self.data.features, some), self.data.secret[some], kind="reals"
            )

        return self._compared("known", real_sample, _LINEAR)

    @cached_property
    def logistic(self) -> Mapping[int, Array]:
        """Bits from exact logistic coefficients."""
        edge = self._edge
        size = sorted({edge // 2, edge, round(1.8 * edge), round(2.5 * edge), round(3.6 * edge), 200})
        return logistic_sizes(self.data, size, self.effort["logistic_repeats"], self._rng["logistic"])

    @cached_property
    def logistic_noise(self) -> NoisyBits:
        """Bits from noisy logistic coefficients."""
        repeats = self.effort["logistic_repeats"]
        return logistic_noise(self.data, self._edge, _BIT_NOISE, repeats, self._rng["logistic_noise"])

    @cached_property
    def logistic_known(self) -> tuple[Compared, ...]:
        """Bits against their baselines."""

        def cut(m: int) -> ta.Dataset:
            return cut_sample(self.data, m, self._rng["logistic_known"])

        return self._compared("logistic_known", cut, _LOGISTIC)

    def _compared(self, name: str, draw: Callable[[int], ta.Dataset], statistic: Any) -> tuple[Compared, ...]:
        words = {"d + 1": self._edge, "all": self.data.n}
        pairs = [(words.get(m, m), samples) for m, samples in self.effort[name]]
        return tuple(
            _compared(m, draw, statistic, samples, self._rng[name])
            for m, samples in pairs
            if m <= self.data.n
        )
