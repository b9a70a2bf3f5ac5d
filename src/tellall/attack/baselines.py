"""What one would guess about a person's real secret without their own record in the release."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.algebra.operators.base import Array, IntArray, LinearOperator
from tellall.algebra.operators.compose import RowSelect, Stack
from tellall.attack.reconstruct.system import estimate_rates
from tellall.core.errors import CannotLinearise, TellallError, invalid
from tellall.people.dataset import Dataset, Public
from tellall.release.equations import Evidence
from tellall.release.protections.base import prepare
from tellall.release.protections.law import Rng, as_rng
from tellall.release.release import Computed, Release, count_scale, linearise, publish
from tellall.release.statistics.base import Statistic

__all__ = [
    "FOLDS",
    "Baseline",
    "Fold",
    "baselines",
    "folds_of",
    "majority",
    "make_folds",
    "population",
    "population_if_any",
    "public_only",
    "real_baselines",
    "without_releases",
]

# What one would guess about a person without their own record in the release.

FOLDS = 10
_INNER_FOLDS = 3
_RIDGES = (3000.0, 300.0, 30.0, 3.0)  # from strong to weak, each fit started from the last


@dataclass(frozen=True, eq=False)
class Baseline:
    """A guess for everybody with the probability that it is right: the shape of an attack's answer."""

    name: str
    guess: npt.NDArray[np.integer[Any]]
    confidence: Array

    @classmethod
    def from_probability(cls, name: str, probability: Array) -> Baseline:
        """The guess that goes with each person's probability of having the secret."""
        if probability.ndim == 2:  # one column per value of the secret
            return cls(name, probability.argmax(axis=1), probability.max(axis=1))
        guess = (probability >= 0.5).astype(np.int8)
        return cls(name, guess, np.maximum(probability, 1 - probability))

    def accuracy(self, secret: npt.NDArray[Any]) -> float:
        """The share of people guessed right."""
        return float(np.mean(self.guess == secret))


def majority(secret: npt.NDArray[Any]) -> Baseline:
    """Everybody is guessed to have what most have."""
    share = np.bincount(secret.astype(np.intp), minlength=2) / secret.size
    everybody = np.full(secret.size, share[1]) if share.size == 2 else np.tile(share, (secret.size, 1))
    return Baseline.from_probability("majority", everybody)


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

    codes = np.asarray(public.codes).T.astype(np.int64)
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
            probability = np.zeros((secret.size, max(2, int(secret.max()) + 1)))
            for train, test in folds:
                if np.ptp(secret[train]) == 0:  # nothing to learn from people who are all the same
                    probability[test, int(secret[train][0])] = 1
                    continue
                model.fit(features[train], secret[train])
                probability[np.ix_(test, model.classes_.astype(np.intp))] = model.predict_proba(
                    features[test]
                )
            chance = probability[:, 1] if probability.shape[1] == 2 else probability
            predictions.append(Baseline.from_probability("public", chance))
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
    levels = releases[0].levels
    dataset = Dataset(public, secret, meaning=tuple(map(str, range(levels))))
    probability = np.empty(secret.size if levels == 2 else (secret.size, levels))
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
    """All baselines that these releases have.

    A statistic of given people (masks, say) has no model of anybody else: there is no population baseline.
    """
    generator = as_rng(rng)
    found = [majority(secret), public_only(public, secret, rng=generator)]
    return [*found, *population_if_any(releases, public, secret, rng=generator)]


def population_if_any(
    releases: Sequence[Release], public: Public, secret: npt.NDArray[Any], *, rng: Rng = 0
) -> list[Baseline]:
    """The population baseline, or nothing where the statistic cannot be made of other people."""
    try:
        return [population(releases, public, secret, rng=rng)]
    except TellallError:
        return []


@dataclass(frozen=True, eq=False)
class _Model:
    """A logistic model over the columns of the releases' operators, fitted to releases of some people.

    ``offset`` is one number for bits, one per value of a categorical secret.
    """

    releases: tuple[Release, ...]
    evidence: Evidence
    offset: Array
    multipliers: Array

    @classmethod
    def of(cls, releases: Sequence[Release], people: Dataset, rng: np.random.Generator) -> _Model:
        """The model before any fit: everybody at the rate that releases of these people show."""
        again = tuple(
            publish(people, release.statistic.comparable(), release.protections, rng) for release in releases
        )
        evidence = Evidence.together([linearise(release, people.public) for release in again])
        return cls(again, evidence, _log_odds(evidence), np.zeros(evidence.target.size))

    def refit(self, ridge: float) -> _Model:
        """The model at this ridge, started from where it is."""
        penalty = ridge * _row_scale(self.evidence.operator) + self.evidence.std**2
        return replace(self, multipliers=_maximise(self.evidence, self.offset, penalty, self.multipliers))

    def predict(self, public: Public) -> Array:
        """The probability for people who were not in the releases."""
        parts = [
            RowSelect(
                release.statistic.equations(public, count_scale(release, public)[0]).operator,
                part.shown.index,
            )
            for release, part in zip(self.releases, self.evidence.parts, strict=True)
        ]
        _, chance = _law(self.offset, Stack(parts).rmatvec(self.multipliers))
        return chance[0] if self.offset.size == 1 else chance.T

    def loss(self, held: Dataset) -> float:
        """The negative log-likelihood of people who were not in the releases."""
        assert held.secret is not None
        chance = np.clip(self.predict(held.public), 1e-6, 1 - 1e-6)
        if chance.ndim == 2:
            return -float(np.sum(np.log(chance[np.arange(held.n), held.secret])))
        return -float(np.sum(np.log(np.where(held.secret == 1, chance, 1 - chance))))


def _choose_ridges(
    releases: Sequence[Release], people: Dataset, rng: np.random.Generator
) -> tuple[float, ...]:
    """The ridges from the strongest down to the one with the least loss over inner folds."""
    assert people.secret is not None
    if people.n < 2 * _INNER_FOLDS:  # too few to choose by
        return _RIDGES[:1]
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


def _maximise(evidence: Evidence, offset: Array, penalty: Array, start: Array) -> Array:
    """The multipliers of the penalised maximum-entropy fit, by L-BFGS."""
    from scipy.optimize import minimize

    operator = evidence.operator
    target = evidence.target

    def negative(multipliers: Array) -> tuple[float, Array]:
        normaliser, chance = _law(offset, operator.rmatvec(multipliers))
        value = normaliser - multipliers @ target + 0.5 * penalty @ multipliers**2
        gradient = operator.matvec(chance.ravel()) - target + penalty * multipliers
        return float(value), gradient

    if not target.size:
        return start
    result = minimize(negative, start, jac=True, method="L-BFGS-B", options={"maxiter": 25, "ftol": 1e-7})
    return np.asarray(result.x)


def _law(offset: Array, score: Array) -> tuple[float, Array]:
    """The log-normaliser over all people and each person's chance, one row per unknown of a person."""
    from scipy.special import expit, logsumexp, softmax

    by_value = offset[:, None] + score.reshape(offset.size, -1)
    if offset.size == 1:
        return float(np.logaddexp(0, by_value).sum()), np.asarray(expit(by_value))
    return float(logsumexp(by_value, axis=0).sum()), np.asarray(softmax(by_value, axis=0))


def _row_scale(operator: LinearOperator) -> Array:
    """The mean square of each row's entries, weighted by their squares: one for rows of 0, 1 and −1."""
    squares = operator.squared()
    everybody = np.ones(operator.shape[1])
    energy = squares @ everybody
    return np.where(energy > 0, (squares.squared() @ everybody) / np.where(energy > 0, energy, 1.0), 1.0)


def _log_odds(evidence: Evidence) -> Array:
    """The log-odds of the rate that the release itself shows; of several values the log-rates."""
    value = np.repeat(np.arange(evidence.values), evidence.n)
    rates = estimate_rates(
        evidence.operator, evidence.target, evidence.rows.spread, np.ones(value.size), value, evidence.values
    )
    return np.log(rates) - np.log1p(-rates) if evidence.values == 1 else np.log(rates)


def _folds(secret: npt.NDArray[Any], count: int, rng: np.random.Generator) -> list[tuple[IntArray, IntArray]]:
    """Train and test people of each fold, the secret's rate about the same in all."""
    if secret.size < 2 * count:
        count = max(2, secret.size // 2)
    if secret.size < 4:
        raise invalid("people", "4 or more, to compare an attack with a baseline", secret.size)
    order = rng.permutation(secret.size)
    return _deal(order[np.argsort(secret[order], kind="stable")], count)  # deal out zeros, then ones


def folds_of(n: int, count: int, rng: np.random.Generator) -> list[tuple[IntArray, IntArray]]:
    """Train and test people of each fold."""
    return _deal(rng.permutation(n), max(2, min(count, n // 2)))


def _deal(order: IntArray, count: int) -> list[tuple[IntArray, IntArray]]:
    fold = np.empty(order.size, dtype=np.intp)
    fold[order] = np.arange(order.size) % count
    return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(count)]


_REAL_RIDGES = (
    1e3,
    1e2,
    1e1,
    1e0,
    1e-1,
    1e-2,
)  # in units of the mean square of an equation's coefficients


def real_baselines(
    releases: Sequence[Release],
    public: Public,
    secret: Array,
    *,
    rng: Rng = 0,
    before: Mapping[str, Array] | None = None,
    folds: Sequence[Fold] | None = None,
) -> dict[str, Array]:
    """The guess of each baseline for everybody: the median, the public columns, the releases without them.

    ``before`` are those that no release changes, and ``folds`` the parts of the people that are published
    again, where they have been made (:func:`without_releases`, :func:`make_folds`).
    """
    generator = as_rng(rng)
    found = dict(without_releases(public, secret, rng=generator) if before is None else before)
    if not any(release.statistic.no_population for release in releases):
        parts = make_folds(public, secret, rng=generator) if folds is None else folds
        found["population"] = _population(releases, parts, secret.size, generator)
    return found


def without_releases(public: Public, secret: Array, *, rng: Rng = 0) -> dict[str, Array]:
    """The guesses of the baselines that no release changes: the median, the public columns."""
    median = np.full(secret.size, float(np.median(secret)))
    return {"median": median, "public": _public_only(public, secret, as_rng(rng))}


def _public_only(public: Public, secret: Array, rng: np.random.Generator) -> Array:
    """The better of a linear and a tree model from the public columns, out of fold."""
    from sklearn.ensemble import HistGradientBoostingRegressor
    from sklearn.linear_model import Ridge
    from sklearn.preprocessing import OneHotEncoder
    from threadpoolctl import threadpool_limits

    codes = np.asarray(public.codes).T.astype(np.int64)
    numbers = [values for values in public.numbers if values is not None and np.isfinite(values).all()]
    indicators = OneHotEncoder(dtype=np.float64, sparse_output=False).fit_transform(codes)
    scaled = [(values - values.mean()) / (values.std() or 1.0) for values in numbers]
    features = np.hstack([indicators, *(column[:, None] for column in scaled)])
    seed = int(rng.integers(2**31))
    models = [
        (Ridge(alpha=1.0), features),
        (
            HistGradientBoostingRegressor(random_state=seed, early_stopping=False, loss="absolute_error"),
            codes,
        ),
    ]
    guesses = []
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for model, matrix in models:
            guess = np.empty(secret.size)
            for train, test in folds_of(secret.size, FOLDS, np.random.default_rng(seed)):
                guess[test] = model.fit(matrix[train], secret[train]).predict(matrix[test])
            guesses.append(guess)
    return min(guesses, key=lambda guess: float(np.abs(guess - secret).mean()))


class Part:
    """Some people, whose releases are made again and again, and others, about whom they are asked."""

    def __init__(self, people: Dataset, others: Public) -> None:
        self.people, self.others = people, others
        self._computed: list[tuple[Statistic, Computed]] = []

    def publish(self, release: Release, rng: np.random.Generator) -> Release:
        """The release made again, from these people; exact values are computed once."""
        known = next((made for given, made in self._computed if given is release.statistic), None)
        if known is None:
            known = Computed.of(release.statistic.comparable(), self.people)
            self._computed.append((release.statistic, known))
        return known.publish(prepare(release.protections, known.statistic, self.people.public), rng)


@dataclass(frozen=True, eq=False)
class Fold:
    """A tenth of the people, by place, the other nine tenths, and those in three parts again."""

    test: IntArray
    whole: Part
    inner: tuple[Part, ...]
    held: tuple[Array, ...]  # the secrets of the others of each inner part


def make_folds(public: Public, secret: Array, *, rng: Rng = 0) -> list[Fold]:
    """The parts of the people that the population baseline publishes again."""
    people, generator = Dataset(public, secret, meaning=()), as_rng(rng)
    folds = []
    for train, test in folds_of(secret.size, FOLDS, generator):
        rest = people.take(train)
        parts = folds_of(train.size, _INNER_FOLDS, generator)
        folds.append(
            Fold(
                test,
                Part(rest, public.take(test)),
                tuple(Part(rest.take(some), rest.public.take(others)) for some, others in parts),
                tuple(secret[train][others] for _, others in parts),
            )
        )
    return folds


def _population(
    releases: Sequence[Release], folds: Sequence[Fold], n: int, rng: np.random.Generator
) -> Array:
    """What the releases, made again without a person, say about that person.

    The linear model s_i ≈ offset + A_iᵀ μ whose normal equations need nothing but the published A s:
    (A Aᵀ + ridge + spread²) μ = z − offset A1; the ridge is chosen by inner folds.
    """
    guess = np.empty(n)
    for fold in folds:
        ridge = _choose_ridge(releases, fold, rng)
        guess[fold.test] = _predict(releases, fold.whole, (ridge,), rng)[0]
    return guess


def _choose_ridge(releases: Sequence[Release], fold: Fold, rng: np.random.Generator) -> float:
    loss = np.zeros(len(_REAL_RIDGES))
    for part, held in zip(fold.inner, fold.held, strict=True):
        guesses = _predict(releases, part, _REAL_RIDGES, rng)
        loss += [np.abs(guess - held).sum() for guess in guesses]
    return _REAL_RIDGES[int(loss.argmin())]


def _predict(
    releases: Sequence[Release], part: Part, ridges: Sequence[float], rng: np.random.Generator
) -> list[Array]:
    """The guesses for people outside the releases, at each ridge."""
    again = [part.publish(release, rng) for release in releases]
    evidence = Evidence.together([linearise(release, part.people.public) for release in again])
    features = Stack(
        [
            RowSelect(
                release.statistic.equations(part.others, count_scale(release, part.others)[0]).operator,
                each.shown.index,
            )
            for release, each in zip(again, evidence.parts, strict=True)
        ]
    )
    matrix = evidence.operator.to_dense()
    everybody = matrix.sum(axis=1)
    size = np.sqrt((matrix**2).mean(axis=1)) + 1e-300  # equations come in units of their own
    matrix, target, everybody = matrix / size[:, None], evidence.target / size, everybody / size
    noise = (evidence.rows.spread / size) ** 2
    kernel = matrix @ matrix.T
    offset = float(everybody @ target) / max(float(everybody @ everybody), 1e-300)
    guesses = []
    for ridge in ridges:
        system = kernel + np.diag(ridge + noise)
        multipliers = np.linalg.solve(system, target - offset * everybody)
        guesses.append(offset + features.rmatvec(multipliers / size))
    return guesses
