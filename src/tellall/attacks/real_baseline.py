"""What one would guess about a person's real secret without their own record in the release."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tellall.attacks.baseline import FOLDS, folds_of
from tellall.data import Dataset, Public
from tellall.evidence import Evidence
from tellall.linops import Array, IntArray, RowSelect, Stack
from tellall.noise import Rng, as_rng
from tellall.protections import prepare
from tellall.release import Computed, Release, count_scale, linearise
from tellall.statistics import Statistic

__all__ = ["Fold", "make_folds", "real_baselines", "without_releases"]

_INNER_FOLDS = 3
_RIDGES = (1e3, 1e2, 1e1, 1e0, 1e-1, 1e-2)  # in units of the mean square of an equation's coefficients


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
    loss = np.zeros(len(_RIDGES))
    for part, held in zip(fold.inner, fold.held, strict=True):
        guesses = _predict(releases, part, _RIDGES, rng)
        loss += [np.abs(guess - held).sum() for guess in guesses]
    return _RIDGES[int(loss.argmin())]


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
                block.rows,
            )
            for release, block in zip(again, evidence.blocks, strict=True)
        ]
    )
    matrix = evidence.operator.to_dense()
    everybody = matrix.sum(axis=1)
    size = np.sqrt((matrix**2).mean(axis=1)) + 1e-300  # equations come in units of their own
    matrix, target, everybody = matrix / size[:, None], evidence.target / size, everybody / size
    noise = (evidence.spread / size) ** 2
    kernel = matrix @ matrix.T
    offset = float(everybody @ target) / max(float(everybody @ everybody), 1e-300)
    guesses = []
    for ridge in ridges:
        system = kernel + np.diag(ridge + noise)
        multipliers = np.linalg.solve(system, target - offset * everybody)
        guesses.append(offset + features.rmatvec(multipliers / size))
    return guesses
