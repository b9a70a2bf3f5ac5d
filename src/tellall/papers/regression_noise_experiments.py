"""regression-noise: its two experiments, what makes them come out, its conclusion tested fairly, bits."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

import tellall as ta
from tellall.papers.claims import Array
from tellall.papers.regression_noise_attack import (
    FAMILIES,
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
    "collect",
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
    """One way to prepare columns and secret, compared with the paper's Table 3.

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

    @property
    def name(self) -> str:
        """The preparation in a few words."""
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
                error, last = ours.error.mean(axis=2), ours.utility[:, -1].mean(axis=1)
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


@dataclass(frozen=True, eq=False)
class Everything:
    """What every experiment found; ``variants``, ``nearest`` and ``otherwise`` on the paper's own data only.

    ``otherwise`` has the families at equal utility in the other preparations of the columns; scaling the
    secret changes nothing there.
    """

    data: RegressionData
    sizes: Mapping[int, tuple[float, float]]
    checks: Mapping[str, float]
    sweep: NoiseSweep
    variants: tuple[Variant, ...]
    nearest: NoiseSweep | None
    fair: tuple[Fair, ...]
    otherwise: Mapping[str, tuple[Fair, ...]]
    trade_off: TradeOff
    known: tuple[Compared, ...]
    logistic: Mapping[int, Array]
    logistic_noise: NoisyBits
    logistic_known: tuple[Compared, ...]


def collect(
    data: RegressionData, effort: Mapping[str, Any], rng: Rng, tell: Callable[[int], None] = lambda done: None
) -> Everything:
    """Every experiment with the samples and sizes that `effort` asks for; reports progress."""
    n, edge = 20 if data.paper else data.d - 2, data.d + 1
    size = sorted({10, 20, edge - 1, edge, edge + 1, 50, 100, 200, 500, 1000, 2000, data.n})
    bit_sizes = sorted({edge // 2, edge, round(1.8 * edge), round(2.5 * edge), round(3.6 * edge), 200})
    bits = effort["logistic_repeats"]

    def done(found: Any) -> Any:
        tell(1)
        return found

    def known(asked: Any, draw: Callable[[int], ta.Dataset], statistic: Any) -> tuple[Compared, ...]:
        words = {"d + 1": edge, "all": data.n}
        pairs = [(words.get(m, m), samples) for m, samples in asked]
        return tuple(_compared(m, draw, statistic, samples, rng) for m, samples in pairs if m <= data.n)

    def real_sample(m: int) -> ta.Dataset:
        some = data.sample(m, rng)
        return ta.Dataset.from_arrays(prepare(data.features, some), data.secret[some], kind="reals")

    near = variants(data, (10, n), effort["variant_repeats"], rng) if data.paper else ()
    table_2 = done(sizes(data, [s for s in size if s <= data.n], effort["size_repeats"], rng))
    checks = done(_checks(data, n, rng))
    sweep, nearest = done(noise_sweep(data, n, SCALES, effort["repeats"], rng)), None
    if near:
        how, unit = near[0].how, near[0].unit
        nearest = noise_sweep(data, near[0].n, SCALES, effort["repeats"], rng, how=how, unit=unit)
    levels, draws = (1.05, 1.2, 1.5, 2.0, 3.0), effort["fair_draws"]

    def families(m: int, how: str, samples: int, some: int) -> tuple[Fair, ...]:
        return fair(data, m, levels, samples, some, rng, how)

    equal = done(families(n, "standardised", effort["fair_samples"], draws))
    others = [(m, how) for m in (10, n) for how in PREPARATIONS if (m, how) != (n, "standardised")]
    return Everything(
        data,
        table_2,
        checks,
        sweep,
        near,
        nearest,
        fair=equal,
        otherwise={
            f"columns {how}, n = {m}": families(m, how, effort["other_samples"], draws)
            for m, how in (others if data.paper else ())
        },
        trade_off=done(trade_off(data, n, effort["stds"], effort["trade_repeats"], rng)),
        known=done(known(effort["known"], real_sample, _LINEAR)),
        logistic=done(logistic_sizes(data, bit_sizes, bits, rng)),
        logistic_noise=done(logistic_noise(data, edge, (0.01, 0.03, 0.1, 0.3, 1.0, 3.0), bits, rng)),
        logistic_known=done(known(effort["logistic_known"], lambda m: cut_sample(data, m, rng), _LOGISTIC)),
    )
