"""Attacks on real secrets over many draws: errors instead of shares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tellall.attacks.real_baseline import Fold, real_baselines
from tellall.attacks.reals import Factored, RealReconstruction, Whitened
from tellall.attacks.reconstruct import reconstruct
from tellall.data import Public
from tellall.evidence import Evidence
from tellall.linops import Array
from tellall.noise import Noise
from tellall.release import Release, count_scale
from tellall.study.bootstrap import Resamples
from tellall.study.measurement import NORMAL
from tellall.study.together import common_evidence

__all__ = ["RealsTogether", "attack_reals"]

_SAME = 1e-9


class RealsTogether:
    """Real secrets from many releases that differ in nothing but the noise in their values.

    Notes
    -----
    That releases differ in nothing else is read off the first two of them
    (:func:`tellall.study.together.common_evidence`): the equations do not depend on the values, and so they
    are the same for all additive noise on this statistic. One factorisation serves every draw, scale and
    family; a small decomposition is made again where the spreads of the rows change their proportions.
    """

    def __init__(self) -> None:
        self._shared: _Shared | None = None

    def estimates(self, releases: Sequence[Release], public: Public) -> Array:
        """Everybody's estimate, a row per release."""
        shared = self._shared
        if shared is None or not shared.fits(releases, public):
            evidence = common_evidence(releases, public)
            if evidence is None:
                return np.stack([_estimate(release, public) for release in releases])
            shared = self._shared = _Shared(evidence, releases[0], public)
        return shared.estimates(releases)


class _Shared:
    """The equations of a statistic of these people, whatever additive noise its values have."""

    def __init__(self, evidence: Evidence, release: Release, public: Public) -> None:
        self.statistic, self.public = release.statistic, public
        self._counts, _ = count_scale(release, public)
        equations, rows = release.statistic.equations(public, self._counts), evidence.blocks[0].rows
        size = equations.target.size
        self._gain, self._doubt, self._floor = (
            np.broadcast_to(part, size)[rows] for part in (equations.gain, equations.doubt, equations.floor)
        )
        self._rows, self._target, self._index = rows, evidence.target, evidence.groups.index
        self._factored = Factored.of(evidence.system)
        self._ready: Whitened | None = None

    def fits(self, releases: Sequence[Release], public: Public) -> bool:
        """Whether these are releases of the same statistic with noise added and nothing else done."""
        first = releases[0]
        if first.statistic is not self.statistic or public is not self.public:
            return False
        additive = all(isinstance(p, Noise) and not p.varies for p in first.protections)
        return additive and not any(np.isnan(release.values).any() for release in releases)

    def estimates(self, releases: Sequence[Release]) -> Array:
        """Everybody's estimate, a row per release."""
        units = self.statistic.units(self.public)
        std = releases[0].noise.scaled(units).std
        spread = np.maximum(np.hypot(std * self._gain, self._doubt), self._floor)
        counts = np.stack([count_scale(release, self.public)[0][self._rows] for release in releases], axis=1)
        targets = self._target[:, None] + (counts - self._counts[self._rows, None])
        found, _, _ = self._whitened(spread).estimates(targets)
        return np.asarray(found[self._index].T)

    def _whitened(self, spread: Array) -> Whitened:
        known = self._ready
        if known is not None:
            ratio = spread / known.spread
            if np.ptp(ratio) <= _SAME * ratio.mean():
                return known.scaled(float(ratio.mean()))
        self._ready = self._factored.whitened(spread)
        return self._ready


def attack_reals(
    releases: Sequence[Release],
    public: Public,
    secret: Array,
    known: tuple[Mapping[str, Array], Sequence[Fold]],
    together: RealsTogether,
    resamples: Resamples,
    rng: np.random.Generator,
) -> tuple[float, tuple[float, float], float, tuple[float, float], str, float]:
    """Error and its interval, advantage and its interval, the strongest baseline and its error.

    The median is a baseline like any other; the population baseline is made from the first release.
    ``known`` are the baselines that no release changes, and the folds of the one that it does.
    """
    off = np.abs(together.estimates(releases, public) - secret)
    before, folds = known
    guesses = real_baselines(releases[:1], public, secret, rng=rng, before=before, folds=folds)
    others = {name: np.abs(guess - secret) for name, guess in guesses.items()}
    strongest = min(others, key=lambda name: float(others[name].mean()))
    error, least = float(off.mean()), float(others[strongest].mean())
    draws = off.mean(axis=1)
    variance = off.mean(axis=0).var() / secret.size
    variance += draws.var(ddof=1) / draws.size if draws.size > 1 else 0.0
    half = NORMAL * float(np.sqrt(variance))
    interval = resamples.interval(-off, -np.stack(list(others.values())))
    return error, (max(0.0, error - half), error + half), least - error, interval, strongest, least


def _estimate(release: Release, public: Public) -> Array:
    found = reconstruct(release, public)
    assert isinstance(found, RealReconstruction)  # the secret is a real number
    return found.estimate
