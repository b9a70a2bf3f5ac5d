"""Baselines: what one would guess about a person without their own record in the release."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.algebra.operators.base import Array, IntArray
from tellall.algebra.operators.compose import RowScale, RowSelect, Stack
from tellall.algebra.operators.distinct import first_of_each
from tellall.attack.left_out import left_out, sums
from tellall.attack.secret import Real, Secret
from tellall.core.errors import CannotLinearise, invalid
from tellall.core.work import doing, one_thread
from tellall.people.bits import Patterns
from tellall.people.dataset import Public
from tellall.release.statistics.base import Statistic

__all__ = [
    "Baseline",
    "baselines",
    "before_any_release",
    "population",
    "typical",
]

FOLDS, FEW_FOLDS = 10, 5
_SEED = 0  # of folds, models and probes: baselines are a function of people and statistics alone
_LEAST, _MOST = 0.001, 0.999  # no baseline is surer than this
_STEEPEST = 50.0  # slope of the logistic fit, where scores separate the values
_SMALL = 200_000  # indicators × people that are written out with their zeros
_FEW = 200  # people who bear one small tree, as right as many
_TREES, _LEARNING, _LEAVES = 30, 0.2, (4, 31)  # as many leaves as people bear, one for each 250

Truth = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Baseline:
    """A guess for everybody, and how sure it is.

    Attributes
    ----------
    probability
        The chance of 1 for bits, one column per value for categories, None for real numbers.
    width
        Half the width of each person's 95 % interval for real numbers, None otherwise.
    expected, root
        Mean and root mean square of the error to expect for each person's real number, None otherwise.
    in_sample
        What the same model says of each real number when the person's own is in it; None where that is not
        known, or where fewer than ten people stand behind each fitted number: such a fit is a reconstruction.
        No baseline: the difference is what an ordinary fit tells about those whom it was fitted to.
    """

    name: str
    guess: Truth
    probability: Array | None = None
    width: Array | None = None
    expected: Array | None = None
    root: Array | None = None
    in_sample: Array | None = None

    def chance_of(self, values: Truth) -> Array:
        """The probability that it gives to each person's given value, within [.001, .999]."""
        if self.probability is None:
            raise TypeError("a baseline of real numbers has widths, no probabilities")
        chance = self.probability
        if chance.ndim == 1:
            given = np.where(values == 1, chance, 1 - chance)
        else:
            given = np.take_along_axis(chance, np.asarray(values, dtype=np.intp)[:, None], axis=1)[:, 0]
        return np.clip(given, _LEAST, _MOST)

    def take(self, people: IntArray) -> Baseline:
        """The guesses for some of the people."""
        own = (self.probability, self.width, self.expected, self.root, self.in_sample)
        return Baseline(
            self.name, self.guess[people], *(None if part is None else part[people] for part in own)
        )

    def accuracy(self, truth: Truth) -> float:
        """The share of people whose bit or category is guessed right."""
        return float(np.mean(self.guess == truth))


def baselines(
    statistics: Sequence[Statistic], public: Public, truth: npt.ArrayLike, secret: Secret
) -> tuple[Baseline, ...]:
    """All baselines of releases of these statistics, the same whatever protects them.

    There is no population baseline where a statistic names people by index (masks).
    """
    more = population(statistics, public, truth, secret)
    return (*before_any_release(public, truth, secret), *([] if more is None else [more]))


def before_any_release(public: Public, truth: npt.ArrayLike, secret: Secret) -> tuple[Baseline, ...]:
    """The baselines that no statistic changes: majority or median, public columns, own group.

    Who knows no column of anybody can guess no more than what most have.
    """
    true = _check(truth, public, secret)
    if not public.columns:
        return (typical(true, secret),)
    return typical(true, secret), _public(public, true, secret), _own_group(public, true, secret)


def _check(truth: npt.ArrayLike, public: Public, secret: Secret) -> Truth:
    if public.n < 4:
        raise invalid("people", "4 or more, to compare an attack with a baseline", public.n)
    return secret.check(truth, public.n)


def _baseline(name: str, table: Array, truth: Truth, secret: Secret, groups: IntArray) -> Baseline:
    """The baseline with these probabilities (or real guesses), people × unknowns."""
    if secret.levels:
        probability = table[:, 0] if secret.unknowns == 1 else table
        return Baseline(name, secret.guess(probability), probability)
    return Baseline(name, table[:, 0], None, *_errors(secret.error(table[:, 0], truth), groups))


def _errors(off: Array, groups: IntArray) -> tuple[Array, Array, Array]:
    """Half the width of a 95 % interval for each person, and mean and root mean square error to expect.

    From the errors of the others like them: √v_i times the 95 % quantile, the mean and the root mean square
    of |error|/√v over people; v_i is the mean square error of the others in the group with one more person
    of average error.
    """
    square = off**2
    size, total = np.bincount(groups), np.bincount(groups, square)
    local = np.sqrt(np.maximum((total[groups] - square + square.mean()) / size[groups], 1e-300))
    relative = off / local
    quantile, root = np.quantile(relative, 0.95, method="higher"), np.sqrt(np.mean(relative**2))
    return local * float(quantile), local * float(relative.mean()), local * float(root)


def typical(truth: Truth, secret: Secret) -> Baseline:
    """The baseline that guesses for everybody what most have, or the median."""
    if isinstance(secret, Real):
        value, name = np.array([np.median(truth)]), "median"
    else:
        value, name = secret.targets(truth).mean(axis=0), "majority"
    return _baseline(name, np.tile(value, (truth.size, 1)), truth, secret, np.zeros(truth.size, np.intp))


def _own_group(public: Public, truth: Truth, secret: Secret) -> Baseline:
    """The mean of the others with equal public rows, with one more person at the overall mean.

    (k − s_i + π)/(g − 1 + 1) for a group of g people, k of them with the value, π the overall rate: exact
    leave-one-out. O(n).
    """
    groups, own = public.patterns.index, secret.targets(truth)
    size, total = np.bincount(groups), sums(groups, own)
    table = (total[groups] - own + own.mean(axis=0)) / size[groups, None]
    return _baseline("own group", table, truth, secret, groups)


def _public(public: Public, truth: Truth, secret: Secret) -> Baseline:
    """The better of a linear and a tree model that predict the secret from the public columns, out of fold.

    Indicators for the linear model (and standardised numbers, for a real secret), codes for gradient-boosted
    trees (30 of rate 0.2; one leaf for each 250 people, 4 to 31) or, below 200 people, for one tree of four
    leaves; ten folds; the better over all folds, which favours the baseline.
    """
    from sklearn import config_context
    from sklearn.linear_model import LogisticRegression, Ridge

    codes = np.asarray(public.codes).T.astype(np.int64)
    sparse = bool(secret.levels) and public.n * sum(public.levels) > _SMALL  # of few people zeros are quicker
    indicators = _indicators(codes, public.levels, sparse=sparse)
    models: list[tuple[Any, Any]]
    if secret.levels:
        models = [(LogisticRegression(max_iter=200), indicators), (_tree(public.n, "Classifier"), codes)]
    else:
        numbers = [each for each in public.numbers if each is not None and np.isfinite(each).all()]
        scaled = [((each - each.mean()) / (each.std() or 1.0))[:, None] for each in numbers]
        tree = _tree(public.n, "Regressor")
        models = [(Ridge(alpha=1.0), np.hstack([indicators, *scaled])), (tree, codes)]
    found = []
    quick = config_context(assume_finite=True, skip_parameter_validation=True)
    with one_thread(), warnings.catch_warnings(), quick:
        warnings.simplefilter("ignore")  # a fit that has not settled is still a baseline
        for model, features in models:
            table = _out_of_fold(model, features, truth, secret)
            found.append(_baseline("public", table, truth, secret, public.patterns.index))
    return min(found, key=lambda baseline: float(secret.error(baseline.guess, truth).mean()))


def _indicators(codes: IntArray, levels: Sequence[int], *, sparse: bool) -> Any:
    """For each value of each column who has it: people × values, without zeros if ``sparse``."""
    from scipy.sparse import csr_array

    (n, columns), first = codes.shape, np.cumsum([0, *levels])
    entries = (codes + first[:-1]).ravel()
    if sparse:
        starts = columns * np.arange(n + 1)
        return csr_array((np.ones(entries.size), entries, starts), shape=(n, int(first[-1])))
    written = np.zeros((n, int(first[-1])))
    written[np.repeat(np.arange(n), columns), entries] = 1.0
    return written


def _tree(n: int, kind: str) -> Any:
    """A tree model for this many people, a "Classifier" or a "Regressor"."""
    from sklearn import ensemble, tree

    leaves = int(np.clip(n // 250, *_LEAVES))
    options: dict[str, Any] = {"random_state": _SEED, "max_leaf_nodes": leaves, "min_samples_leaf": 20}
    absolute = kind == "Regressor"
    if n < _FEW:
        options |= {"criterion": "absolute_error"} if absolute else {}
        return getattr(tree, f"DecisionTree{kind}")(**options)
    options |= {"loss": "absolute_error"} if absolute else {}
    options |= {"max_iter": _TREES, "learning_rate": _LEARNING, "early_stopping": False}
    return getattr(ensemble, f"HistGradientBoosting{kind}")(**options)


def _out_of_fold(model: Any, features: Any, truth: Truth, secret: Secret) -> Array:
    """What the model says about each person when fitted without their fold, people × unknowns."""
    out = np.zeros((truth.size, max(1, secret.levels)))
    folds = _folds(truth, FOLDS)
    for number, (train, test) in enumerate(folds, start=1):
        doing(f"baseline from public columns, fold {number} of {len(folds)}")
        if np.ptp(truth[train]) == 0:  # there is nothing to learn from people who are all the same
            out[test, int(truth[train[0]]) if secret.levels else 0] = 1 if secret.levels else truth[train[0]]
            continue
        model.fit(features[train], truth[train])
        if secret.levels:
            out[np.ix_(test, model.classes_.astype(np.intp))] = model.predict_proba(features[test])
        else:
            out[test, 0] = model.predict(features[test])
    return out[:, -secret.unknowns :]


def _folds(truth: Truth, count: int) -> list[tuple[IntArray, IntArray]]:
    """Train and test people of each fold, the secret about equally distributed in all."""
    shuffled = np.random.default_rng(_SEED).permutation(truth.size)
    order = shuffled[np.argsort(truth[shuffled], kind="stable")]
    fold = np.empty(truth.size, dtype=np.intp)
    fold[order] = np.arange(truth.size) % max(2, min(count, truth.size // 2))
    return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(fold.max() + 1)]


def population(
    statistics: Sequence[Statistic], public: Public, truth: npt.ArrayLike, secret: Secret
) -> Baseline | None:
    """What the same statistics, exact but without a person, say about that person; None where they cannot.

    Notes
    -----
    Ridge regression of the unknowns on the person's own column of the statistics' equations, with a constant
    that is not penalised, each person left out exactly (`left_out`).

    Left-out scores become probabilities by P(v) ∝ exp(a_v + b score_v), b ≥ 0. The sign matters: leaving a
    person out lowers the score of the value they have, and a negative slope would read the secret off that.
    The statistics' equations are taken at values of zero, so no secret is in anybody's features; where these
    depend on published coefficients (losses that are not affine in the answer), that is a model of its own.

    Beyond 4,000 groups and features (8,000 where these are the cells of tables): five folds instead of each
    person alone, by conjugate gradients.
    """
    true = _check(truth, public, secret)
    if not statistics or not public.columns or any(statistic.no_population for statistic in statistics):
        return None
    try:
        features, groups = _features(statistics, public, secret)
    except CannotLinearise:
        return None
    own = secret.targets(true)
    with one_thread():
        scores, fitted = left_out(features, groups, own, _folds(true, FEW_FOLDS))
        table = _probabilities(scores, true) if secret.levels else scores
    found = _baseline("population", table, true, secret, public.patterns.index)
    return found if secret.levels or fitted is None else replace(found, in_sample=fitted[:, 0])


def _features(statistics: Sequence[Statistic], public: Public, secret: Secret) -> tuple[RowScale, Patterns]:
    """What the statistics count of each group of people alike: features × groups, equal rows once.

    Rows are divided by √(Σ a⁴/Σ a²), which is 1 where all entries are 0, 1 and −1: equations come in units
    of their own. Rows equal but for the sign (a yes/no pair of cells) count once, √2 times as large.
    """
    parts = []
    for statistic in statistics:
        model = statistic.comparable()
        parts.append(model.equations(public, np.zeros(model.size_for(public, secret.levels))))
    groups = public.alike([part.alike for part in parts])
    operator = Stack([part.operator for part in parts])
    values = [operator.take(value * public.n + groups.first) for value in range(secret.unknowns)]
    rows = values[0] if len(values) == 1 else Stack(values)
    square = rows.squared()
    size = groups.counts.astype(np.float64)
    energy = square @ size
    scale = np.sqrt((square.squared() @ size) / np.where(energy > 0, energy, 1.0))
    probe = np.random.default_rng(_SEED).random(size.size)
    image = np.abs(rows @ probe) / np.where(energy > 0, scale, 1.0)
    shown = np.flatnonzero(energy > 0)
    first, index = first_of_each(image[shown, None])
    kept, repeats = shown[first], np.bincount(index)
    return RowScale(RowSelect(rows, kept), np.sqrt(repeats) / scale[kept]), groups


def _probabilities(scores: Array, truth: Truth) -> Array:
    """P(v) ∝ exp(a_v + b score_v) with the a and b ≥ 0 that make the truth most likely, people × unknowns."""
    from scipy.optimize import minimize
    from scipy.special import softmax

    both = np.column_stack([1 - scores, scores]) if scores.shape[1] == 1 else scores
    levels = both.shape[1]
    true = truth[:, None] == np.arange(levels)
    share = (true.sum(axis=0) + 0.5) / (truth.size + 0.5 * levels)

    def loss(parameters: Array) -> tuple[float, Array]:
        chance = softmax(parameters[1:] + parameters[0] * both, axis=1)
        missed = (chance - true) / truth.size
        value = -np.log(np.maximum(chance[true], 1e-300)).mean()
        return float(value), np.append((missed * both).sum(), missed.sum(axis=0))

    start = np.append(0.0, np.log(share))
    bounds = [(0.0, _STEEPEST)] + [(None, None)] * levels
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 200}).x
    return np.asarray(softmax(found[1:] + found[0] * both, axis=1)[:, -scores.shape[1] :])
