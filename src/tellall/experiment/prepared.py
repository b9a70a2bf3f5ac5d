"""Prepared: people and a statistic made ready once, so that any protection of it can be measured."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.algebra.operators.base import Array
from tellall.attack.baselines import Baseline, before_any_release, population
from tellall.attack.reconstruct.attack import Reconstruction, reconstruct
from tellall.attack.secret import Secret
from tellall.core.checks import is_whole
from tellall.core.errors import invalid
from tellall.experiment.coefficients import Reader
from tellall.experiment.draws import RealsTogether, Together, attack_reals
from tellall.experiment.families import DELTA
from tellall.experiment.intervals import Resamples
from tellall.experiment.measurement import (
    Coefficients,
    Measurement,
    Outcome,
    accuracy_interval,
    average_utility,
    check_decoders,
    interval_over_draws,
    loss_of,
    quickest_first,
    untried,
)
from tellall.experiment.scoring import score
from tellall.experiment.tally import Tally
from tellall.experiment.utility import utility
from tellall.people.dataset import Dataset
from tellall.release.protections.base import Protection, is_random, noise_of, prepare
from tellall.release.protections.guarantee import guarantee_of
from tellall.release.protections.law import Noise, Rng, as_rng
from tellall.release.release import Computed, Release
from tellall.release.statistics.base import Statistic
from tellall.release.statistics.estimators import Estimator

__all__ = [
    "Prepared",
    "seed_of",
    "suggest_scales",
]

_PUBLISHING, _ATTACKING, _COMPARING, _PREPARING = 1, 2, 3, 4  # separate streams of random numbers


@dataclass(frozen=True, eq=False)
class Prepared:
    """People, a statistic of them and the decoders to try, ready for many protections.

    Notes
    -----
    Draw r of the noise uses the same random numbers for every protection and every scale, so that differences
    between them are not luck. Baselines do not depend on the protection and are made once.
    """

    dataset: Dataset
    statistic: Statistic
    decoders: tuple[str, ...]
    seed: int
    untried: tuple[str, ...] = ()  # decoders that could be named, and would take long on so many people

    @classmethod
    def of(
        cls, dataset: Dataset, statistic: Statistic, decoders: Sequence[str] | None = None, rng: Rng = 0
    ) -> Prepared:
        """The people made ready; decoders that are affordable where none is named."""
        if not isinstance(dataset, Dataset):
            raise invalid("dataset", "a Dataset", type(dataset).__name__, "Make one with ta.read.")
        if dataset.secret is None:
            raise invalid("dataset", "one with a secret", "no secret")
        if not isinstance(statistic, Statistic):
            raise invalid("statistic", "a statistic such as Marginals(3)", statistic)
        settled = statistic.settle(dataset.public, secret=True)
        chosen = check_decoders(decoders, dataset.n)
        left_out = untried(chosen) if decoders is None and dataset.levels else ()
        return cls(dataset, settled, chosen, seed_of(rng), left_out)

    @cached_property
    def clean(self) -> Release:
        """The release without any protection."""
        view = self.dataset.public
        values = self.statistic.values(self.dataset)
        return Release(values, self.statistic, (), view.names, view.imprint, self.dataset.levels)

    @cached_property
    def before(self) -> tuple[Baseline, ...]:
        """The baselines, which no protection changes."""
        people, secret = self.dataset, Secret.of(self.dataset.levels)
        assert people.secret is not None
        more = population([self.statistic], people.public, people.secret, secret)
        found = before_any_release(people.public, people.secret, secret)
        return found if more is None else (*found, more)

    @cached_property
    def resamples(self) -> Resamples:
        """The same resamples of people for everything that is compared."""
        return Resamples(self.dataset.n, (self.seed, _COMPARING))

    @cached_property
    def _reals(self) -> RealsTogether:
        return RealsTogether()

    @property
    def real(self) -> bool:
        """Whether the secret is a real number."""
        return not self.dataset.levels

    @property
    def units(self) -> str:
        """What published values, and the noise on them, are measured in."""
        if not self.statistic.counts_people:
            return "units of a coefficient"
        return "people" if self.statistic.scale == "counts" else "shares of all people"

    @cached_property
    def readers(self) -> list[Reader]:
        """Who reads each model's coefficients; nobody where there are none, or of another loss."""
        statistic, view = self.statistic, self.dataset.public
        exact, loss = self.clean.values, getattr(statistic, "loss", None)
        if not isinstance(statistic, Estimator) or loss not in ("linear", "logistic"):
            return []
        if not np.isfinite(exact).all() or self.dataset.secret is None:
            return []
        models = statistic.models(view)
        thetas = np.split(exact, np.cumsum(models.sizes)[:-1])
        answers = self.dataset.secret.astype(np.float64)
        return [Reader.of(theta, models.design(j), answers, str(loss)) for j, theta in enumerate(thetas)]

    @cached_property
    def together(self) -> Together:
        """What many draws share."""
        return Together()

    @cached_property
    def reach(self) -> float:
        """The noise, on a published value, at which the best linear guess of a bit is right 0.84 of times.

        √(mean square of a person's coefficients, summed over values)/2, in the units of what is published.
        """
        operator = self.statistic.equations(self.dataset.public, self._counts).operator
        energy = operator.squared().rmatvec(np.ones(operator.shape[0], dtype=operator.dtype))
        return float(np.sqrt(energy.mean())) / 2 / self.statistic.units(self.dataset.public)

    @property
    def _counts(self) -> Array:
        return np.asarray(self.clean.values * self.statistic.units(self.dataset.public))

    def publish(self, protections: Sequence[Protection], draws: int) -> list[Release]:
        """Draws of the release; one alone where nothing in it is random.

        The same numbers as `publish` with the same generator; exact values are computed once.
        """
        ready = prepare(protections, self.statistic, self.dataset.public)
        known = Computed(self.statistic, self.dataset, self.clean.values)
        needed = draws if is_random(ready) else min(draws, 1)
        return [known.publish(ready, self._rng(_PUBLISHING, draw)) for draw in range(needed)]

    def warm_baselines(self) -> None:
        """The exact release and the baselines that no release changes, made now."""
        _ = self.clean, self.before

    def warm(self, choices: Sequence[Sequence[Protection]]) -> None:
        """What additive noise shares, made before the first measurement."""
        for protections in choices:
            if protections and all(isinstance(protection, Noise) for protection in protections):
                self.together.warm(self.publish(protections, 2), self.dataset.public)
                return

    def attack(self, releases: Sequence[Release], decoder: str) -> list[Reconstruction]:
        """The attack on each release."""
        public = self.dataset.public
        found: list[Reconstruction | None] = [None] * len(releases)
        if decoder == "least-squares":
            found = self.together.attack(releases, public)
        done = []
        for draw, (release, attack) in enumerate(zip(releases, found, strict=True)):
            made = attack or reconstruct(release, public, decoder, rng=self._rng(_ATTACKING, draw))
            assert isinstance(made, Reconstruction)  # the secret is no real number
            done.append(made)
        return done

    def measure(
        self, protections: Sequence[Protection], draws: int, *, limit: float = math.inf
    ) -> Measurement:
        """What every decoder achieves against these protections, over so many draws.

        The quickest decoder first, and none after one whose interval ends above the limit.
        """
        from threadpoolctl import threadpool_limits

        with threadpool_limits(limits=1):  # so that sums are the same wherever it runs
            releases = self.publish(protections, draws)
            outcomes = self._real_outcomes(releases) if self.real else self._code_outcomes(releases, limit)
        ready, view = releases[0].protections, self.dataset.public
        losses = [loss_of(self.clean.values, release.values) for release in releases]
        law = noise_of(ready)
        known = not ready or law.std > 0 or any(hasattr(p, "std") for p in ready)
        return Measurement(
            protections=tuple(protections),
            std=law.std if known else math.nan,
            outcomes=outcomes,
            utility=average_utility([utility(self.clean, release, self.dataset) for release in releases]),
            coefficients=Coefficients.of(self.readers, np.stack([release.values for release in releases])),
            loss=float(np.mean(losses)),
            loss_interval=interval_over_draws(losses),
            guarantee=guarantee_of(ready, self.statistic, view, delta=DELTA) if ready else None,
        )

    def _real_outcomes(self, releases: Sequence[Release]) -> tuple[Outcome, ...]:
        assert self.dataset.secret is not None
        public, secret = self.dataset.public, self.dataset.secret
        found = attack_reals(releases, public, secret, self.before, self._reals, self.resamples)
        return (Outcome("least-squares", len(releases), *found, math.nan),)

    def _code_outcomes(self, releases: Sequence[Release], limit: float) -> tuple[Outcome, ...]:
        baselines = self.before
        found: dict[str, Outcome] = {}
        for decoder in sorted(self.decoders, key=quickest_first):
            found[decoder] = self._outcome(releases, decoder, baselines)
            if found[decoder].interval[1] > limit:
                break
        return tuple(found[decoder] for decoder in self.decoders if decoder in found)

    def _outcome(self, releases: Sequence[Release], decoder: str, baselines: Sequence[Baseline]) -> Outcome:
        secret = self.dataset.secret
        assert secret is not None
        attacks = self.attack(releases, decoder)
        risks = [score(attack, secret, baselines, rng=self._rng(_COMPARING)) for attack in attacks]
        strongest = risks[0].baseline
        return Outcome(
            decoder=decoder,
            draws=len(risks),
            accuracy=float(np.mean([risk.accuracy for risk in risks])),
            accuracy_interval=accuracy_interval(risks),
            advantage=float(np.mean([risk.advantage for risk in risks])),
            interval=self.resamples.interval(
                np.stack([risk.right for risk in risks]),
                np.stack([*_constant(secret), *(baseline.guess == secret for baseline in baselines)]),
            ),
            baseline=strongest,
            baseline_accuracy=risks[0].baselines[strongest],
            exposed=float(np.mean([risk.exposed for risk in risks])),
            tally=Tally.of(
                [risk.right for risk in risks],
                [{baseline.name: baseline.guess == secret for baseline in baselines}] * len(risks),
            ),
        )

    def _rng(self, *place: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, *place])


def seed_of(rng: Rng) -> int:
    """A seed: the given one, or one drawn from the generator."""
    if is_whole(rng) and rng >= 0:
        return int(rng)
    return int(as_rng(rng).integers(2**31))


def suggest_scales(dataset: Dataset, statistic: Statistic) -> list[float]:
    """Seven scales around the noise that begins to hide a person, each twice the last, in two digits."""
    reach = Prepared.of(dataset, statistic).reach
    return [float(f"{reach * 2.0**power:.2g}") for power in range(-3, 4)]


def _constant(secret: npt.NDArray[Any]) -> list[npt.NDArray[np.bool_]]:
    """Whether the same guess for everybody is right, for each value of the secret."""
    return [secret == value for value in np.unique(secret)]
