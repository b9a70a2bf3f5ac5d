"""Attacks on real secrets over many draws: errors instead of shares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tellall.attacks.real_baseline import real_baselines
from tellall.attacks.reals import RealReconstruction
from tellall.attacks.reconstruct import reconstruct
from tellall.data import Public
from tellall.linops import Array
from tellall.release import Release
from tellall.study.bootstrap import advantage_interval
from tellall.study.measurement import NORMAL

__all__ = ["attack_reals"]


def attack_reals(
    releases: Sequence[Release],
    public: Public,
    secret: Array,
    before: Mapping[str, Array],
    rng: np.random.Generator,
) -> tuple[float, tuple[float, float], float, tuple[float, float], str, float]:
    """Error and its interval, advantage and its interval, the strongest baseline and its error.

    The median is a baseline like any other; the population baseline is made from the first release.
    """
    off = np.stack([np.abs(_estimate(release, public) - secret) for release in releases])
    guesses = real_baselines(releases[:1], public, secret, rng=rng, before=before)
    others = {name: np.abs(guess - secret) for name, guess in guesses.items()}
    strongest = min(others, key=lambda name: float(others[name].mean()))
    error, least = float(off.mean()), float(others[strongest].mean())
    draws = off.mean(axis=1)
    variance = off.mean(axis=0).var() / secret.size
    variance += draws.var(ddof=1) / draws.size if draws.size > 1 else 0.0
    half = NORMAL * float(np.sqrt(variance))
    interval = advantage_interval(-off, -np.stack(list(others.values())), rng=rng)
    return error, (max(0.0, error - half), error + half), least - error, interval, strongest, least


def _estimate(release: Release, public: Public) -> Array:
    found = reconstruct(release, public)
    assert isinstance(found, RealReconstruction)  # the secret is a real number
    return found.estimate
