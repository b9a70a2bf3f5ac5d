"""Attacks on many draws of one protection: solved together where only the values differ."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tellall.algebra.operators.base import Array
from tellall.algebra.solvers.base import Status
from tellall.algebra.solvers.counts import CountPrior
from tellall.algebra.solvers.intervals import enclose
from tellall.algebra.solvers.many_targets import ManySolutions, ManyTargets
from tellall.attack.baselines import Baseline
from tellall.attack.reconstruct.attack import Reconstruction, reconstruct
from tellall.attack.reconstruct.reals import Factored, RealReconstruction, Whitened
from tellall.attack.reconstruct.system import rates_of_bits
from tellall.experiment.intervals import NORMAL, Resamples
from tellall.people.dataset import Public
from tellall.release.equations import Evidence, System
from tellall.release.protections.law import Noise
from tellall.release.release import Release, count_scale, linearise

__all__ = [
    "MOST_UNKNOWNS",
    "RealsTogether",
    "Together",
    "attack_reals",
    "common_evidence",
    "targets_of",
]

MOST_UNKNOWNS = 6000  # above, one eigendecomposition takes minutes and a gigabyte


class Together:
    """Least squares on many releases that differ in nothing but the noise in their values.

    Notes
    -----
    For noise that does not depend on the values the operator, the groups of people alike and the shape of the
    weights are the same in every draw and at every scale: one eigendecomposition, kept here, serves them all
    (`ManyTargets`). Whether that holds is read off the first two releases:
    the same operator (one product with a random vector), the same errors row by row, and targets that differ
    as the values do. Releases of which the bounds settle somebody, and solves that do not settle, are left to
    the ordinary attack.
    """

    def __init__(self) -> None:
        self._ready: ManyTargets | None = None

    def attack(self, releases: Sequence[Release], public: Public) -> list[Reconstruction | None]:
        """The attack on each release, None where it must be made alone."""
        alone: list[Reconstruction | None] = [None] * len(releases)
        evidence = common_evidence(releases, public)
        if evidence is None or evidence.system.size.size > MOST_UNKNOWNS:
            return alone
        system, targets = evidence.system, targets_of(releases, public, evidence)
        open_ = [place for place, target in enumerate(targets.T) if _nothing_settled(system, target)]
        if not open_:
            return alone
        targets = targets[:, open_]
        weight = float(np.mean(system.rows.spread)) ** -2
        ready = self._prepared(system, (np.mean(system.rows.spread) / system.rows.spread) ** 2)
        rates = rates_of_bits(system.operator, targets, system.rows.spread, system.size)
        solutions = ready.solve(targets, weight, rates)
        for column, place in enumerate(open_):
            if solutions.settled[column]:
                alone[place] = _reconstruction(
                    evidence, public, releases[place], solutions, column, float(rates[column])
                )
        return alone

    def warm(self, releases: Sequence[Release], public: Public) -> None:
        """Whatever these releases would need is made now, if they can be attacked together."""
        evidence = common_evidence(releases, public)
        if evidence is not None and evidence.system.size.size <= MOST_UNKNOWNS:
            spread = evidence.system.rows.spread
            self._prepared(evidence.system, (np.mean(spread) / spread) ** 2)

    def _prepared(self, system: System, row_weights: Array) -> ManyTargets:
        even = np.ptp(row_weights) <= _SAME * row_weights.mean()
        shape = np.full_like(row_weights, 1.0) if even else row_weights
        known = self._ready
        if (
            known is None
            or known.operator.shape != system.operator.shape
            or not np.allclose(known.row_weights, shape, rtol=_SAME, atol=0)
        ):
            known = self._ready = ManyTargets.of(system.operator, shape, system.size)
        return known


def common_evidence(releases: Sequence[Release], public: Public) -> Evidence | None:
    """The evidence of the first release, if the others differ from it in their values alone."""
    if len(releases) < 2 or any(hasattr(p, "records") for p in releases[0].protections):
        return None
    if any(np.isnan(release.values).any() for release in releases):
        return None
    first, second = (linearise(release, public) for release in releases[:2])
    if first.values != 1 or first.target.size != second.target.size or not first.target.size:
        return None
    same_rows = all(
        np.array_equal(getattr(first.rows, name), getattr(second.rows, name))
        for name in ("spread", "bound", "slack")
    ) and np.array_equal(first.parts[0].shown.index, second.parts[0].shown.index)
    vector = np.random.default_rng(0).normal(size=first.operator.shape[1])
    if not same_rows or not np.array_equal(first.operator @ vector, second.operator @ vector):
        return None
    moved = targets_of(releases[:2], public, first)[:, 1]
    return first if np.allclose(moved, second.target, rtol=_SAME, atol=_SAME) else None


def targets_of(releases: Sequence[Release], public: Public, evidence: Evidence) -> Array:
    """The target of each release, a column each, from that of the first."""
    rows = evidence.parts[0].shown.index
    counts = np.stack([count_scale(release, public)[0][rows] for release in releases], axis=1)
    return np.asarray(evidence.target[:, None] + (counts - counts[:, :1]))


def _nothing_settled(system: System, target: Array) -> bool:
    """Whether the bounds on the errors leave every count open."""
    if not np.isfinite(system.rows.bound).any():
        return True
    box = enclose(system.operator, target, bound=system.rows.bound, upper=system.size)
    return bool(not box.empty and (box.lower == 0).all() and (box.upper == system.size).all())


def _reconstruction(
    evidence: Evidence, public: Public, release: Release, found: ManySolutions, column: int, rate: float
) -> Reconstruction:
    """What the decoder concludes from one column, as `reconstruct` would say it."""
    size, index = evidence.system.size, evidence.groups.index
    ridge = 1 / (size * rate * (1 - rate))
    variance = found.variance[:, column]
    precision = np.maximum(1 / variance - ridge, 1e-12 * ridge)
    opinion = (found.mean[:, column] / variance - ridge * size * rate) / precision
    chance = CountPrior(size, np.zeros(size.size), size, rate).chance(precision, opinion)
    estimate, chance = (found.value[:, column] / size)[index], np.clip(chance, 0, 1)[index]
    guess = (estimate >= 0.5).astype(np.int8)
    return Reconstruction(
        estimate=estimate,
        guess=guess,
        confidence=np.maximum(np.where(guess == 1, chance, 1 - chance), 0.5),
        status=Status("solved"),
        decoder="least-squares",
        prior=rate,
        evidence=evidence,
        public=public,
        releases=(release,),
    )


# Attacks on real secrets over many draws: errors instead of shares.

_SAME = 1e-9


class RealsTogether:
    """Real secrets from many releases that differ in nothing but the noise in their values.

    Notes
    -----
    That releases differ in nothing else is read off the first two of them
    (`common_evidence`): the equations do not depend on the values, and so they
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
        equations, rows = release.statistic.equations(public, self._counts), evidence.parts[0].shown.index
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
    baselines: Sequence[Baseline],
    together: RealsTogether,
    resamples: Resamples,
) -> tuple[float, tuple[float, float], float, tuple[float, float], str, float]:
    """Error and its interval, advantage and its interval, the strongest baseline and its error.

    The median is a baseline like any other.
    """
    off = np.abs(together.estimates(releases, public) - secret)
    others = {baseline.name: np.abs(baseline.guess - secret) for baseline in baselines}
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
