"""What one would guess about a person without their own record in the release.

An attack counts only for what it adds to the strongest of these.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.attacks.system import estimate_rates
from tellall.data import Dataset, Public
from tellall.errors import CannotLinearise, invalid
from tellall.evidence import Evidence
from tellall.linops import Array, IntArray, RowSelect, Stack
from tellall.noise import Rng, as_rng
from tellall.release import Release, count_scale, linearise, publish

__all__ = ["FOLDS", "Baseline", "baselines", "majority", "population", "public_only"]

FOLDS = 10
_INNER_FOLDS = 3
_RIDGES = (3000.0, 300.0, 30.0, 3.0)  # from strong to weak, each fit started from the last


@dataclass(frozen=True, eq=False)
class Baseline:
    """A guess for everybody with the probability that it is right: the shape of an attack's answer."""

    name: str
    guess: npt.NDArray[np.int8]
    confidence: Array

    @classmethod
    def from_probability(cls, name: str, probability: Array) -> Baseline:
        """The guess that goes with each person's probability of having the secret."""
        guess = (probability >= 0.5).astype(np.int8)
        return cls(name, guess, np.maximum(probability, 1 - probability))

    def accuracy(self, secret: npt.NDArray[Any]) -> float:
        """The share of people guessed right."""
        return float(np.mean(self.guess == secret))


def majority(secret: npt.NDArray[Any]) -> Baseline:
    """Everybody is guessed to have what most have."""
    return Baseline.from_probability("majority", np.full(secret.size, float(np.mean(secret))))


def public_only(public: Public, secret: npt.NDArray[Any], *, rng: Rng = 0) -> Baseline:
    """The better of a linear and a tree model that predict the secret from the public columns, out of fold.

    Notes
    -----
    Logistic regression on indicators and gradient-boosted trees on codes, ten folds; of the two, the one that
    is right more often over all folds, which favours the baseline.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import OneHotEncoder
    from threadpoolctl import threadpool_limits  # threads that wait for each other cost more than they save

    codes = public.codes.T.astype(np.int64)
    indicators = OneHotEncoder(dtype=np.float64).fit_transform(codes)
    seed = int(as_rng(rng).integers(2**31))
    models = [
        (LogisticRegression(max_iter=200), indicators),
        (HistGradientBoostingClassifier(random_state=seed, early_stopping=False), codes),
    ]
    folds = _folds(secret, FOLDS, as_rng(seed))
    predictions = []
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a fit that has not settled is still a baseline
        for model, features in models:
            probability = np.empty(secret.size)
            for train, test in folds:
                if np.ptp(secret[train]) == 0:  # nothing to learn from people who are all the same
                    probability[test] = secret[train][0]
                    continue
                model.fit(features[train], secret[train])
                probability[test] = model.predict_proba(features[test])[:, 1]
            predictions.append(Baseline.from_probability("public", probability))
    return max(predictions, key=lambda baseline: baseline.accuracy(secret))


def population(
    releases: Sequence[Release], public: Public, secret: npt.NDArray[Any], *, rng: Rng = 0
) -> Baseline:
    """What the same releases, computed without a person, say about that person.

    Notes
    -----
    For each of ten folds the releases are made again, with the same protections, from the other nine tenths;
    a logistic model is fitted to those published values alone and predicts the tenth. Writing the release as
    A s ≈ z, the model is P(s_i = 1) = ζ(offset + A_iᵀ μ), whose sufficient statistics A s are what is
    published: maximise μᵀ z − Σ ln(1 + exp(offset + A_iᵀ μ)) − ½ Σ_j (λ + std_j²) μ_j², the maximum-entropy
    fit to noisy moments. λ is chosen by three inner folds, from strong to weak until
    the loss on people held out rises. A person's own contribution is never in
    the release that predicts them, so the model generalises over people and cannot reconstruct them.
    """
    from threadpoolctl import threadpool_limits

    for release in releases:
        if release.statistic.no_population:
            raise CannotLinearise(release.statistic.no_population)
    generator = as_rng(rng)
    dataset = Dataset(public, secret.astype(np.int8))
    probability = np.empty(secret.size)
    with threadpool_limits(limits=1):
        for train, test in _folds(secret, FOLDS, generator):
            people = dataset.take(train)
            model = _Model.of(releases, people, generator)
            for ridge in _choose_ridges(releases, people, generator):
                model = model.refit(ridge)
            probability[test] = model.predict(public.take(test))
    return Baseline.from_probability("population", probability)


def baselines(
    releases: Sequence[Release], public: Public, secret: npt.NDArray[Any], *, rng: Rng = 0
) -> list[Baseline]:
    """All baselines for these releases."""
    generator = as_rng(rng)
    return [
        majority(secret),
        public_only(public, secret, rng=generator),
        population(releases, public, secret, rng=generator),
    ]


@dataclass(frozen=True, eq=False)
class _Model:
    """A logistic model over the columns of the releases' operators, fitted to releases of some people."""

    releases: tuple[Release, ...]
    evidence: Evidence
    shown: IntArray
    offset: float
    multipliers: Array

    @classmethod
    def of(cls, releases: Sequence[Release], people: Dataset, rng: np.random.Generator) -> _Model:
        """The model before any fit: everybody at the rate that releases of these people show."""
        again = tuple(
            publish(people, release.statistic.comparable(), release.protections, rng) for release in releases
        )
        evidence = Evidence.together([linearise(release, people.public) for release in again])
        shown = np.flatnonzero(~np.isnan(np.concatenate([release.values for release in again])))
        if shown.size != evidence.target.size:  # some published values give no equation
            targets = [
                release.statistic.equations(people.public, count_scale(release, people.public)[0]).target
                for release in again
            ]
            shown = np.flatnonzero(~np.isnan(np.concatenate(targets)))
        return cls(again, evidence, shown, _log_odds(evidence), np.zeros(shown.size))

    def refit(self, ridge: float) -> _Model:
        """The model at this ridge, started from where it is."""
        penalty = ridge + self.evidence.std**2
        return replace(self, multipliers=_maximise(self.evidence, self.offset, penalty, self.multipliers))

    def predict(self, public: Public) -> Array:
        """The probability for people who were not in the releases."""
        parts = [
            release.statistic.equations(public, count_scale(release, public)[0]).operator
            for release in self.releases
        ]
        operator = RowSelect(Stack(parts), self.shown)
        return _sigmoid(self.offset + operator.rmatvec(self.multipliers))

    def loss(self, held: Dataset) -> float:
        """The negative log-likelihood of people who were not in the releases."""
        chance = np.clip(self.predict(held.public), 1e-6, 1 - 1e-6)
        return -float(np.sum(np.log(np.where(held.secret == 1, chance, 1 - chance))))


def _choose_ridges(
    releases: Sequence[Release], people: Dataset, rng: np.random.Generator
) -> tuple[float, ...]:
    """The ridges from the strongest down to the one with the least loss over inner folds."""
    assert people.secret is not None
    folds = _folds(people.secret, _INNER_FOLDS, rng)
    models = [_Model.of(releases, people.take(train), rng) for train, _ in folds]
    held = [people.take(test) for _, test in folds]
    best = np.inf
    for place, ridge in enumerate(_RIDGES):
        models = [model.refit(ridge) for model in models]
        loss = sum(model.loss(people) for model, people in zip(models, held, strict=True))
        if loss > best:
            return _RIDGES[:place]
        best = loss
    return _RIDGES


def _maximise(evidence: Evidence, offset: float, penalty: Array, start: Array) -> Array:
    """The multipliers of the penalised maximum-entropy fit, by L-BFGS."""
    from scipy.optimize import minimize

    operator = evidence.operator
    target = evidence.target

    def negative(multipliers: Array) -> tuple[float, Array]:
        score = offset + operator.rmatvec(multipliers)
        value = np.logaddexp(0, score).sum() - multipliers @ target + 0.5 * penalty @ multipliers**2
        gradient = operator.matvec(_sigmoid(score)) - target + penalty * multipliers
        return float(value), gradient

    if not target.size:
        return start
    result = minimize(negative, start, jac=True, method="L-BFGS-B", options={"maxiter": 25, "ftol": 1e-7})
    return np.asarray(result.x)


def _log_odds(evidence: Evidence) -> float:
    """The log-odds of the rate that the release itself shows."""
    one = np.zeros(evidence.n, dtype=np.intp)
    rate = float(
        estimate_rates(evidence.operator, evidence.target, evidence.spread, np.ones(evidence.n), one)[0]
    )
    return float(np.log(rate) - np.log1p(-rate))


def _folds(secret: npt.NDArray[Any], count: int, rng: np.random.Generator) -> list[tuple[IntArray, IntArray]]:
    """Train and test people of each fold, the secret's rate about the same in all."""
    if secret.size < 2 * count:
        count = max(2, secret.size // 2)
    if secret.size < 4:
        raise invalid("people", "4 or more, to compare an attack with a baseline", secret.size)
    order = rng.permutation(secret.size)
    order = order[np.argsort(secret[order], kind="stable")]  # deal out zeros, then ones
    fold = np.empty(secret.size, dtype=np.intp)
    fold[order] = np.arange(secret.size) % count
    return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(count)]


def _sigmoid(score: Array) -> Array:
    from scipy.special import expit

    return np.asarray(expit(score))
