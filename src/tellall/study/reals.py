"""Attacks on real secrets over many draws: errors instead of shares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tellall.attacks.real_baseline import Fold, real_baselines
from tellall.attacks.reals import RealReconstruction, Whitened
from tellall.attacks.reconstruct import reconstruct
from tellall.data import Public
from tellall.evidence import System
from tellall.linops import Array
from tellall.release import Release
from tellall.study.bootstrap import Resamples
from tellall.study.measurement import NORMAL
from tellall.study.together import common_evidence, targets_of

__all__ = ["RealsTogether", "attack_reals"]

_SAME = 1e-9


class RealsTogether:
    """Real secrets from many releases that differ in nothing but the noise in their values.

    One decomposition serves every draw, and every scale at which the spreads of the rows keep their
    proportions; see :class:`tellall.study.together.Together` for when that holds.
    """

    def __init__(self) -> None:
        self._ready: Whitened | None = None

    def estimates(self, releases: Sequence[Release], public: Public) -> Array:
        """Everybody's estimate, a row per release."""
        evidence = common_evidence(releases, public)
        if evidence is None:
            return np.stack([_estimate(release, public) for release in releases])
        ready = self._prepared(evidence.system)
        targets = targets_of(releases, public, evidence)
        return np.stack([ready.estimate(target)[0][evidence.groups.index] for target in targets.T])

    def _prepared(self, system: System) -> Whitened:
        known = self._ready
        if known is not None and known.spread.size == system.spread.size:
            ratio = system.spread / known.spread
            if known.root.size == system.size.size and np.ptp(ratio) <= _SAME * ratio.mean():
                return known.scaled(float(ratio.mean()))
        self._ready = Whitened.of(system)
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
