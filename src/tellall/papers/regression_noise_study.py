"""regression-noise: its two experiments, and what makes them come out as printed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tellall.algebra.operators.base import Array
from tellall.papers.regression_noise_attack import Regressions
from tellall.papers.regression_noise_data import (
    PAPER_SWEEP,
    PREPARATIONS,
    UNITS,
    RegressionData,
    prepare,
    unit_of,
)
from tellall.release.protections.additive import Gaussian, Laplace, TruncatedNormal
from tellall.release.protections.law import Noise

__all__ = [
    "CUT",
    "FAMILIES",
    "Sizes",
    "Sweep",
    "Variant",
    "law",
    "law_of_std",
    "sample_of",
    "sizes",
    "sweep",
    "variants",
]

FAMILIES = ("Gaussian", "Laplace", "truncated normal")
CUT = 0.05  # where the paper's truncated normal ends, in multiples of its scale
_SEEN = 0.05  # printed errors below this have lost their digits


def law(family: str, scale: float) -> Noise:
    """The noise of one family at the paper's σ or scale."""
    if family == "Gaussian":
        return Gaussian(scale)
    return Laplace(scale) if family == "Laplace" else TruncatedNormal(scale, CUT, bound_in="scales")


def law_of_std(family: str, std: float) -> Noise:
    """The noise of one family with this standard deviation."""
    return law(family, std / law(family, 1.0).std)


def sample_of(data: RegressionData, n: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """The places of n records, drawn without replacement."""
    return np.sort(rng.choice(data.n, n, replace=False))


@dataclass(frozen=True)
class Sizes:
    """Mean absolute error of the attack on exact coefficients, by the number of records: Table 2."""

    size: tuple[int, ...]
    error: tuple[float, ...]
    deviation: tuple[float, ...]


def sizes(data: RegressionData, size: Sequence[int], repeats: int, rng: np.random.Generator) -> Sizes:
    """Table 2 and Figure 2: the attack on exact coefficients of random samples."""
    found = []
    for n in size:
        errors = []
        for _ in range(repeats if n < data.n else 1):
            some = sample_of(data, n, rng)
            models = Regressions(prepare(data.features, some, "standardised"))
            secret = data.secret[some]
            errors.append(float(np.abs(models.attack(models.fit(secret)) - secret).mean()))
        found.append((float(np.mean(errors)), float(np.std(errors))))
    return Sizes(tuple(size), tuple(e for e, _ in found), tuple(s for _, s in found))


@dataclass(frozen=True, eq=False)
class Sweep:
    """Noise on the coefficients, family × scale × repeat: Table 3 and Figures 3 to 5.

    Attributes
    ----------
    error
        Mean absolute error of the attack, in the secret's unit.
    utility
        Prediction error of each noisy regression over that of the clean one; the last axis is the regression.
    """

    n: int
    scales: tuple[float, ...]
    error: Array
    utility: Array


def sweep(
    data: RegressionData,
    n: int,
    scales: Sequence[float],
    repeats: int,
    rng: np.random.Generator,
    *,
    how: str = "standardised",
    unit: str = "as it is",
) -> Sweep:
    """Every family at every scale on `repeats` random samples; all draws of a sample are solved together."""
    factor = unit_of(data.secret, unit)
    shape = (len(FAMILIES), len(scales))
    errors, utilities = np.empty((*shape, repeats)), np.empty((*shape, repeats, data.d))
    laws = [law(family, scale * factor) for family in FAMILIES for scale in scales]
    for repeat in range(repeats):
        some = sample_of(data, n, rng)
        models, secret = Regressions(prepare(data.features, some, how)), data.secret[some]
        clean = models.fit(secret)
        noisy = clean[:, None] + np.column_stack([one.sample(clean.size, rng) for one in laws])
        off = np.abs(models.attack(noisy) - secret[:, None]).mean(axis=0)
        errors[:, :, repeat] = off.reshape(shape)
        utilities[:, :, repeat] = models.utility(secret, clean, noisy).T.reshape(*shape, data.d)
    return Sweep(n, tuple(scales), errors, utilities)


@dataclass(frozen=True)
class Variant:
    """One way to prepare columns and secret, beside the paper's Table 3.

    Attributes
    ----------
    distance
        Mean |log₁₀(ours/the paper's)| over the cells where digits are printed.
    error
        Ours at scale 1, Gaussian noise.
    utility
        The least over regressions of the mean utility ratio there.
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


def variants(
    data: RegressionData, size: Sequence[int], repeats: int, rng: np.random.Generator
) -> tuple[Variant, ...]:
    """Table 3 in every preparation, nearest to the paper's first."""
    scales = tuple(scale for scale, row in sorted(PAPER_SWEEP.items()) if min(row) >= 0.01)
    paper = np.array([PAPER_SWEEP[scale] for scale in scales]).T
    seen = paper >= _SEEN
    found = []
    for n in size:
        for how in PREPARATIONS:
            for unit in UNITS:
                ours = sweep(data, n, scales, repeats, rng, how=how, unit=unit)
                error = ours.error.mean(axis=2)
                distance = float(np.abs(np.log10(error / paper))[seen].mean())
                least = float(ours.utility[0, -1].mean(axis=0).min())
                found.append(Variant(n, how, unit, distance, float(error[0, -1]), least))
    return tuple(sorted(found, key=lambda one: one.distance))
