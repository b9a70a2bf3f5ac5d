"""The risk of bits and categories: who is guessed right beyond the strongest baseline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.attack.baselines import Baseline, typical
from tellall.attack.baselines import baselines as all_baselines
from tellall.attack.reconstruct.attack import Reconstruction
from tellall.attack.secret import Secret
from tellall.core.errors import invalid
from tellall.experiment.intervals import with_few_different
from tellall.release.protections.law import Rng, as_rng

__all__ = [
    "LEVELS",
    "Risk",
    "interval_over_draws",
    "score_categories",
]

LEVELS = (0.95, 0.99)
_RESAMPLES = 10_000
_NOTHING_LEARNT = 1e-3

Codes = npt.NDArray[np.integer[Any]]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False, repr=False)
class Risk:
    """How much a release gives away.

    Attributes
    ----------
    n
        How many people were guessed at.
    accuracy
        The share of bits guessed right.
    baselines
        The share that each baseline guesses right.
    baseline
        The name of the strongest baseline.
    interval
        The 95 % interval of the advantage: paired bootstrap over people, exact where fewer than five of them
        are guessed otherwise than the rest.
    """

    n: int
    accuracy: float
    baselines: Mapping[str, float]
    baseline: str
    interval: tuple[float, float]
    _secret: Codes
    _guess: Codes
    _right: Mask
    _confidence: npt.NDArray[np.floating[Any]]
    _foreseen: npt.NDArray[np.floating[Any]]  # the largest probability any baseline gave to the truth
    _gain: npt.NDArray[np.int8]  # 1 where only the attack is right, −1 where only the strongest baseline is

    @property
    def levels(self) -> int:
        """How many values the secret has."""
        return max(2, int(max(self._secret.max(), self._guess.max())) + 1)

    @property
    def right(self) -> Mask:
        """Who is guessed right: True for each such person, in file order."""
        return self._right

    @property
    def hamming(self) -> int:
        """The number of people guessed wrong."""
        return int((~self._right).sum())

    @property
    def advantage(self) -> float:
        """Accuracy beyond the strongest baseline."""
        return self.accuracy - self.baselines[self.baseline]

    @property
    def exposed(self) -> int:
        """The number of people exposed at confidence 0.95; see :meth:`exposed_at`."""
        return self.exposed_at(LEVELS[0])

    def exposed_at(self, level: float, value: int | None = None) -> int:
        """How many people are guessed right with this confidence while no baseline was that sure.

        ``value`` counts only those who have that value of the secret.
        """
        return int((self.exposed_people(level) & self._of(value)).sum())

    def exposed_people(self, level: float = LEVELS[0]) -> Mask:
        """Who is exposed: True for each exposed person, in file order."""
        if not 0.5 <= level <= 1:
            raise invalid("level", "a confidence from 0.5 to 1", level)
        return self._right & (self._confidence >= level) & (self._foreseen < level)

    def named(self, level: float = LEVELS[0], value: int = 1) -> tuple[int, int]:
        """How many are said with this confidence to have this value, and how many of those do."""
        said = (self._guess == value) & (self._confidence >= level)
        return int(said.sum()), int((said & self._right).sum())

    def found(self, value: int = 1) -> float:
        """The share of the people with this value who are guessed to have it."""
        people = self._of(value)
        return float(self._right[people].mean()) if people.any() else float("nan")

    def _of(self, value: int | None) -> Mask:
        if value is not None and (isinstance(value, bool) or value not in range(self.levels)):
            raise invalid("value", f"from 0 to {self.levels - 1}, or None", value)
        return np.ones(self.n, dtype=bool) if value is None else self._secret == value

    def __repr__(self) -> str:
        low, high = self.interval
        return (
            f"Risk: {self.accuracy:.1%} of {self.n} people right; strongest baseline ({self.baseline}) "
            f"{self.baselines[self.baseline]:.1%}; advantage {self.advantage:+.1%} "
            f"[{low:+.1%}, {high:+.1%}]; {self.exposed} people exposed"
        )


def score_categories(
    reconstruction: Reconstruction, secret: npt.ArrayLike, baselines: Sequence[Baseline] | None, rng: Rng
) -> Risk:
    """The risk of bits or categories."""
    kind = Secret.of(reconstruction.releases[0].levels)
    truth = kind.check(secret, reconstruction.n)
    generator = as_rng(rng)
    if baselines is None:
        statistics = [release.statistic for release in reconstruction.releases]
        baselines = all_baselines(statistics, reconstruction.public, truth, kind)
    if (
        not isinstance(baselines, Sequence)
        or not baselines
        or not all(isinstance(baseline, Baseline) for baseline in baselines)
    ):
        raise invalid("baselines", "one Baseline or more, or None", baselines)
    guess, confidence = reconstruction.guess, reconstruction.confidence
    if np.abs(reconstruction.estimate - reconstruction.prior).max() < _NOTHING_LEARNT:
        usual = typical(truth, kind)  # who learns nothing from a release guesses as without it
        guess, confidence = usual.guess, usual.chance_of(usual.guess)
    right = guess == truth
    strongest = max(baselines, key=lambda baseline: baseline.accuracy(truth))
    foreseen = np.max([baseline.chance_of(truth) for baseline in baselines], axis=0)
    return Risk(
        n=truth.size,
        accuracy=float(right.mean()),
        baselines={baseline.name: baseline.accuracy(truth) for baseline in baselines},
        baseline=strongest.name,
        interval=_paired_bootstrap(right, strongest.guess == truth, generator),
        _secret=truth,
        _guess=guess,
        _right=right,
        _confidence=confidence,
        _foreseen=foreseen,
        _gain=right.astype(np.int8) - (strongest.guess == truth).astype(np.int8),
    )


def interval_over_draws(risks: Sequence[Risk], *, rng: Rng = 0) -> tuple[float, float]:
    """The 95 % interval of the mean advantage over several draws of the noise on the same people.

    Notes
    -----
    Paired bootstrap over people and over draws. People with the same gains in all draws are
    exchangeable, so a resample of people is one multinomial draw over the distinct vectors of gains. Where
    fewer than five people have other gains than the rest, it is widened to Clopper and Pearson's limits.
    """
    if len(risks) == 1:
        return risks[0].interval
    generator = as_rng(rng)
    gains, counts = np.unique(np.stack([risk._gain for risk in risks]), axis=1, return_counts=True)
    people = generator.multinomial(int(counts.sum()), counts / counts.sum(), size=_RESAMPLES // 5)
    draws = generator.multinomial(len(risks), np.full(len(risks), 1 / len(risks)), size=people.shape[0])
    means = ((people @ gains.T) * draws).sum(axis=1) / (counts.sum() * len(risks))
    low, high = np.quantile(means, [0.025, 0.975])
    return with_few_different((float(low), float(high)), zip(gains.mean(axis=0), counts, strict=True))


def _paired_bootstrap(right: Mask, baseline_right: Mask, rng: np.random.Generator) -> tuple[float, float]:
    """The 95 % interval of the difference of two accuracies over the same people.

    A resample of people is, for the difference, a multinomial draw of those only the attack, only the
    baseline, and both or neither get right; so it is drawn as such, exactly and at once. Of fewer than five
    people unlike the rest resamples tell too little: Clopper and Pearson's limits widen it there.
    """
    n = right.size
    gains, losses = int((right & ~baseline_right).sum()), int((~right & baseline_right).sum())
    draws = rng.multinomial(n, [gains / n, losses / n, (n - gains - losses) / n], size=_RESAMPLES)
    low, high = np.quantile((draws[:, 0] - draws[:, 1]) / n, [0.025, 0.975])
    return with_few_different((float(low), float(high)), [(1, gains), (-1, losses), (0, n - gains - losses)])
