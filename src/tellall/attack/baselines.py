"""Baselines: what one would guess about a person without their own record in the release."""

from __future__ import annotations

import heapq
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.attack.secret import Real, Secret
from tellall.core.errors import CannotLinearise, invalid
from tellall.core.work import doing, one_thread
from tellall.evidence.query import Asked, Query, as_query
from tellall.linalg.operators.compose import SPARSE, RowScale, RowSelect, Stack, first_of_each
from tellall.linalg.operators.linear_operator import Array, IntArray, LinearOperator
from tellall.linalg.operators.row_blocks import RowBlocks
from tellall.people.areas import FEWEST
from tellall.people.codes import Patterns, group_rows, keys_of_rows
from tellall.people.dataset import Public
from tellall.people.predictors import best_cut
from tellall.statistics.numbers import power_of_two

__all__ = [
    "ACCEPTED",
    "BLOCKED",
    "FACTORISED",
    "WALKED",
    "Baseline",
    "baselines",
    "before_any_release",
    "by_accepted",
    "of_releases",
    "outside",
    "population",
    "prior_of",
    "together",
    "typical",
]

ACCEPTED = "accepted columns"
FOLDS, FEW_FOLDS = 10, 5
_SEED = 0  # for models and probes: baselines depend only on people and statistics
_LEAST, _MOST = 0.001, 0.999  # no baseline is surer than this
_FLAT = 0.01  # a model whose chances differ by less tells nobody apart
_STEEPEST = 50.0  # largest slope of the logistic fit, in case scores separate the values
_SMALL = 200_000  # indicators × people up to which they are written out with their zeros
_FEW = 200  # people; below this, one small tree is as good as many
_TREES, _LEARNING, _LEAVES = 30, 0.2, (4, 31)  # one leaf for each 250 people, within these limits
FACTORISED = 4000  # groups or features, whichever are fewer, up to which everybody is left out exactly
BLOCKED = 8000  # the same limit on features that are the cells of tables
WALKED = 200_000  # groups up to which more than one ridge is then tried on all of them
_CHUNK = 4096  # groups whose features are written out at a time
_STEPS = 30  # of conjugate gradients
_ORDINARY = 0.1  # the leverage in a fit with ten people behind each fitted number
_OWN = 0.5  # with a larger mean weight of people in their own predictions, the fit is a reconstruction
_ALIKE = 1e-9  # of the largest number: people who differ by less are alike
_TRIED = 1000  # groups on which the ridge is first searched for

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
        What the same model predicts for each real number when the person's own is in the fit, limited to an
        ordinary fit: as if ten people or more were behind each fitted number. None if that is not known, or
        if the fit is a reconstruction (fewer than two people behind each number). This is not a baseline: the
        difference is what an ordinary fit gives away about the people it was fitted to. Of bits and
        categories it is the guess, and known only if there really are ten people for each number.
    """

    name: str
    guess: Truth
    probability: Array | None = None
    width: Array | None = None
    expected: Array | None = None
    root: Array | None = None
    in_sample: Array | None = None

    def chance_of(self, values: Truth) -> Array:
        """Returns the probability of each person's given value, within [.001, .999]."""
        if self.probability is None:
            raise TypeError("a baseline of real numbers has widths, not probabilities")
        chance = self.probability
        if chance.ndim == 1:
            given = np.where(values == 1, chance, 1 - chance)
        else:
            given = np.take_along_axis(chance, np.asarray(values, dtype=np.intp)[:, None], axis=1)[:, 0]
        return np.clip(given, _LEAST, _MOST)

    def take(self, people: IntArray) -> Baseline:
        """Returns the guesses for some of the people."""
        own = (self.probability, self.width, self.expected, self.root, self.in_sample)
        return Baseline(
            self.name, self.guess[people], *(None if part is None else part[people] for part in own)
        )

    def times(self, unit: float) -> Baseline:
        """Returns the guesses at real numbers that are ``unit`` times as large."""
        own = (self.width, self.expected, self.root, self.in_sample)
        scaled = (None if part is None else unit * part for part in own)
        return Baseline(self.name, unit * self.guess, None, *scaled)

    def accuracy(self, truth: Truth) -> float:
        """Returns the share of people whose bit or category is guessed right."""
        return float(np.mean(self.guess == truth))


def baselines(
    statistics: Sequence[Asked],
    public: Public,
    truth: npt.ArrayLike,
    secret: Secret,
    prior: Array | None = None,
) -> tuple[Baseline, ...]:
    """Returns all baselines for releases of these statistics; protections do not change them.

    A ``prior`` with a chance for each person that an attack started from is one of them.

    There is no population baseline if a statistic names people by index (masks), and none from columns
    outside the statistics if they use every column.
    """
    before = before_any_release(public, truth, secret)
    if prior is not None:
        before = (*before, Baseline("prior", secret.guess(prior), prior))
    return (*before, *of_releases(statistics, public, truth, secret, before))


def before_any_release(public: Public, truth: npt.ArrayLike, secret: Secret) -> tuple[Baseline, ...]:
    """Returns the baselines that no statistic changes: majority or median, public columns, own group.

    Without public columns, only the majority or median is left.
    """
    true = _check(truth, public, secret)
    true, unit = _in_unit(true, secret)
    found: tuple[Baseline, ...] = (typical(true, secret),)
    if public.columns:
        found = *found, _public(public, true, secret), _own_group(public, true, secret)
    return tuple(each.times(unit) for each in found) if unit != 1 else found


def of_releases(
    statistics: Sequence[Asked],
    public: Public,
    truth: npt.ArrayLike,
    secret: Secret,
    before: Sequence[Baseline],
) -> tuple[Baseline, ...]:
    """Returns the baselines that hang on the statistics, given those that do not.

    These are the population, the columns outside the statistics, and all baselines together.
    """
    model = population(statistics, public, truth, secret)
    found = [] if model is None else [model]
    if secret.levels:
        apart = outside(statistics, public, truth, secret)
        found += [] if apart is None else [apart]
        both = together([*before, *found], truth, secret)
        found += [] if both is None else [both]
    return tuple(found)


def by_accepted(public: Public, truth: npt.ArrayLike, secret: Secret, accepted: Sequence[str]) -> Baseline:
    """Returns the baseline of columns that are accepted to tell the secret: the others with equal values.

    For a bit, columns of numbers are cut once, at the best place, where that tells more than their bands.
    """
    known, true = public.only(*accepted), _check(truth, public, secret)
    found = [_mean_of_others(known.patterns.index, true, secret)]
    if secret.levels == 2 and any(each is not None for each in known.numbers):
        cells = [
            codes if each is None else np.asarray(each) >= best_cut(np.asarray(each), true)[1]
            for codes, each in zip(np.asarray(known.codes), known.numbers, strict=True)
        ]
        found.append(_mean_of_others(group_rows(np.stack(cells).astype(np.int64)).index, true, secret))
    return replace(max(found, key=lambda one: float(np.log(one.chance_of(true)).sum())), name=ACCEPTED)


def outside(
    statistics: Sequence[Asked], public: Public, truth: npt.ArrayLike, secret: Secret
) -> Baseline | None:
    """Returns the public baseline of the columns that occur in none of the statistics.

    None if every column occurs, or none of them: then it would be the public baseline itself. A bit or a
    category only. An attacker who starts from it does not count twice what the release says.
    """
    true = _check(truth, public, secret)
    used = set().union(*(as_query(one).columns_used(public) for one in statistics))
    left = [name for name in public.names if name not in used]
    if not left or len(left) == len(public.names):
        return None
    return _public(public, true, secret, left)


def together(parts: Sequence[Baseline], truth: npt.ArrayLike, secret: Secret) -> Baseline | None:
    """Returns what all baselines that tell people apart say together; None if there are fewer than two.

    P(v) ∝ exp(a_v + Σ_k b_k log p_k(v)) with the likeliest a and b ≥ 0. An attack that starts from the public
    columns and learns a fact about a population from a release has both; one that knows no more than both
    must not look like an attack.
    """
    known = [part for part in parts if part.name != "majority" and part.probability is not None]
    if len(known) < 2:
        return None
    true = np.asarray(truth)
    logs = np.stack([np.log(_both(part.probability)) for part in known if part.probability is not None])
    table = _likeliest(logs, true)
    chance = table[:, -secret.unknowns :]
    probability = chance[:, 0] if secret.unknowns == 1 else chance
    return Baseline("together", secret.guess(probability), probability)


def prior_of(baseline: Baseline) -> Array | None:
    """Returns the baseline's chances as an attacker's prior, one per person; None if all are about equal."""
    chance = baseline.probability
    return None if chance is None or np.ptp(chance, axis=0).max() < _FLAT else chance


def _both(chance: Array) -> Array:
    """Returns the chance of every value, people × values, within [.001, .999]."""
    table = np.column_stack([1 - chance, chance]) if chance.ndim == 1 else chance
    return np.clip(table, _LEAST, _MOST)


def canonical_order(public: Public, truth: Truth) -> IntArray:
    """Returns an order of the people that is the same whatever their order and that of the columns.

    People who share their order's key are alike in row and secret, so that it does not matter who is first.
    """
    return np.lexsort((truth, keys_of_rows(public.names, public.codes)))


def _in_unit(truth: Truth, secret: Secret) -> tuple[Truth, float]:
    """Returns real numbers in a unit in which they differ by about one, and that unit, a power of two.

    Libraries of models have absolute tolerances; in this unit they mean the same for every secret.
    """
    if secret.levels:
        return truth, 1.0
    largest = float(np.abs(truth).max(initial=0.0))
    spread = largest * float((truth / largest).std()) if largest else 0.0
    unit = power_of_two(spread if spread > _ALIKE * largest else largest) or 1.0
    return truth / unit, unit


def _check(truth: npt.ArrayLike, public: Public, secret: Secret) -> Truth:
    if public.n < FEWEST:
        raise invalid("people", f"{FEWEST} or more, to compare an attack with a baseline", public.n)
    return secret.check(truth, public.n)


def _baseline(name: str, table: Array, truth: Truth, secret: Secret, groups: IntArray) -> Baseline:
    """Returns the baseline with these probabilities (or real guesses), people × unknowns."""
    if secret.levels:
        probability = table[:, 0] if secret.unknowns == 1 else table
        return Baseline(name, secret.guess(probability), probability)
    return Baseline(name, table[:, 0], None, *_errors(secret.error(table[:, 0], truth), groups))


def _errors(off: Array, groups: IntArray) -> tuple[Array, Array, Array]:
    """Returns half the width of each person's 95 % interval, and the mean and root mean square error.

    These come from the errors of others in the same group: √v_i times the 95 % quantile, the mean and the
    root mean square of |error|/√v over people, where v_i is the mean square error of the others in the group
    plus one person of average error.
    """
    square = off**2
    size, total = np.bincount(groups), np.bincount(groups, square)
    local = np.sqrt(np.maximum((total[groups] - square + square.mean()) / size[groups], 1e-300))
    relative = off / local
    quantile, root = np.quantile(relative, 0.95, method="higher"), np.sqrt(np.mean(relative**2))
    return local * float(quantile), local * float(relative.mean()), local * float(root)


def typical(truth: Truth, secret: Secret) -> Baseline:
    """Returns the baseline that guesses the most common value, or the median, for everybody."""
    if isinstance(secret, Real):
        value, name = np.array([np.median(truth)]), "median"
    else:
        value, name = secret.targets(truth).mean(axis=0), "majority"
    return _baseline(name, np.tile(value, (truth.size, 1)), truth, secret, np.zeros(truth.size, np.intp))


def _own_group(public: Public, truth: Truth, secret: Secret) -> Baseline:
    """Returns the mean of the others with equal public rows, plus one person at the overall mean.

    (k − s_i + π)/(g − 1 + 1) for a group of g people, k of them with the value, π the overall rate: exact
    leave-one-out. O(n).
    """
    return _mean_of_others(public.patterns.index, truth, secret)


def _mean_of_others(groups: IntArray, truth: Truth, secret: Secret) -> Baseline:
    """Returns the same for groups of people, by index."""
    own = secret.targets(truth)
    size, total = np.bincount(groups), _sums(groups, own)
    table = (total[groups] - own + own.mean(axis=0)) / size[groups, None]
    return _baseline("own group", table, truth, secret, groups)


def _public(public: Public, truth: Truth, secret: Secret, some: Sequence[str] | None = None) -> Baseline:
    """Returns the better of a linear and a tree model that predict the secret from public columns.

    The linear model uses indicators and standardised numbers. The tree model uses codes:
    gradient-boosted trees (30 of rate 0.2; one leaf for each 250 people, 4 to 31), or one tree of four leaves
    below 200 people. Both predict out of fold, in ten folds.

    Notes
    -----
    People with equal public rows are in one fold: otherwise two of them would get different chances, by who
    else was left out, and these would tell who has the secret. Chances are calibrated on the left-out ones:
    logit p′ = a + b logit p with b ≥ 0, of several values P(v) ∝ exp(a_v + b log p_v). The model with the
    smaller log loss, or of real numbers the smaller error, over all folds is kept, which favours the
    baseline. People and columns are put into an order of their own first, so that theirs decides nothing.
    """
    from sklearn import config_context
    from sklearn.linear_model import LogisticRegression, Ridge

    given, order = public, canonical_order(public, truth)
    truth, groups = truth[order], public.patterns.index[order]
    groups = np.unique(groups, return_index=True)[1][groups]  # by their first person in this order
    public = public.take(order).only(*sorted(public.names if some is None else some))
    codes = np.asarray(public.codes).T.astype(np.int64)
    sparse = bool(secret.levels) and public.n * sum(public.levels) > _SMALL  # with few people zeros are quick
    linear = _with_numbers(_indicators(codes, public.levels, sparse=sparse), public, secret)
    models: list[tuple[Any, Any]]
    if secret.levels:
        models = [(LogisticRegression(max_iter=200), linear), (_tree(public.n, "Classifier"), codes)]
    else:
        models = [(Ridge(alpha=1.0), linear), (_tree(public.n, "Regressor"), codes)]
    found = []
    folds = _folds(truth, FOLDS, np.unique(groups, return_inverse=True)[1])
    quick = config_context(assume_finite=True, skip_parameter_validation=True)
    with one_thread(), warnings.catch_warnings(), quick:
        warnings.simplefilter("ignore")  # a fit that has not settled is still a baseline
        for model, features in models:
            table = _out_of_fold(model, features, truth, secret, folds)
            if secret.levels:
                table = _likeliest(np.log(_both(table[:, 0] if secret.unknowns == 1 else table))[None], truth)
                table = np.clip(table, _LEAST, _MOST)
                table /= table.sum(axis=1, keepdims=True)
                loss = -float(np.log(table[np.arange(truth.size), truth]).mean())
                table = table[:, -secret.unknowns :]
            else:
                loss = float(secret.error(table[:, 0], truth).mean())
            found.append((loss, table))
    best = np.empty((truth.size, secret.unknowns))
    best[order] = min(found, key=lambda each: each[0])[1]
    in_file = np.empty_like(truth)
    in_file[order] = truth
    name = "public" if some is None else "outside columns"
    return _baseline(name, best, in_file, secret, given.patterns.index)


def _indicators(codes: IntArray, levels: Sequence[int], *, sparse: bool) -> Any:
    """Returns who has each value of each column: people × values, without zeros if ``sparse``."""
    from scipy.sparse import csr_array

    (n, columns), first = codes.shape, np.cumsum([0, *levels])
    entries = (codes + first[:-1]).ravel()
    if sparse:
        starts = columns * np.arange(n + 1)
        return csr_array((np.ones(entries.size), entries, starts), shape=(n, int(first[-1])))
    written = np.zeros((n, int(first[-1])))
    written[np.repeat(np.arange(n), columns), entries] = 1.0
    return written


def _with_numbers(indicators: Any, public: Public, secret: Secret) -> Any:
    """Returns the indicators with the standardised numbers of columns of numbers beside them.

    For a bit or a category only of those that are cut into bands: other indicators say what the number says.
    """
    from scipy.sparse import csr_array, hstack, issparse

    numbers = [
        each
        for each, levels in zip(public.numbers, public.levels, strict=bool(public.numbers))
        if each is not None
        and np.isfinite(each).all()
        and not (secret.levels and np.unique(each).size <= levels)
    ]
    scaled = [((each - each.mean()) / (each.std() or 1.0))[:, None] for each in numbers]
    if not scaled:
        return indicators
    parts: list[Any] = [indicators, np.hstack(scaled)]
    return csr_array(hstack(parts)) if issparse(indicators) else np.hstack(parts)


def _tree(n: int, kind: str) -> Any:
    """Returns a tree model for this many people, a "Classifier" or a "Regressor"."""
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


def _out_of_fold(
    model: Any, features: Any, truth: Truth, secret: Secret, folds: Sequence[tuple[IntArray, IntArray]]
) -> Array:
    """Returns what the model predicts for each person when fitted without their fold, people × unknowns."""
    out = np.zeros((truth.size, max(1, secret.levels)))
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


def _folds(truth: Truth, count: int, groups: IntArray) -> list[tuple[IntArray, IntArray]]:
    """Returns the train and test people of each fold; every group is in one fold.

    The largest groups come first, among equal sizes by the mean of the secret and then in their own order,
    each into the fold that has the fewest people: so folds are about equally large, and the secret is about
    equally distributed.
    """
    size = np.bincount(groups)
    mean = np.bincount(groups, truth) / size
    several = max(2, min(count, truth.size // 2))
    held, fold = [(0, number) for number in range(min(several, size.size))], np.empty(size.size, np.intp)
    for group in np.lexsort((np.arange(size.size), mean, -size)):
        people, number = heapq.heappop(held)
        fold[group] = number
        heapq.heappush(held, (people + int(size[group]), number))
    own, everybody = fold[groups], np.arange(truth.size)
    if size.size < 2:  # nobody can be told apart: each half says nothing about the other but the rate
        own = everybody % 2
    return [(np.flatnonzero(own != k), np.flatnonzero(own == k)) for k in range(own.max() + 1)]


def population(
    statistics: Sequence[Asked], public: Public, truth: npt.ArrayLike, secret: Secret
) -> Baseline | None:
    """Returns what the same statistics, exact but without a person, say about that person; None if nothing.

    Notes
    -----
    Ridge regression of the unknowns on the person's own column of the statistics' equations, with a constant
    that is not penalised. Each person is left out exactly (`_left_out`).

    Left-out scores become probabilities by P(v) ∝ exp(a_v + b score_v), b ≥ 0. The sign matters: leaving a
    person out lowers the score of the value they have, and a negative slope would read the secret off that.
    The statistics' equations are taken at values of zero, so no secret is in anybody's features; if these
    depend on published coefficients (losses that are not affine in the answer), this makes a different model.

    Beyond 4,000 groups and features (8,000 if these are the cells of tables), five folds are left out instead
    of each person alone, by conjugate gradients.
    """
    true = _check(truth, public, secret)
    queries = [as_query(one) for one in statistics]
    if not queries or not public.columns or any(one.statistic.no_population for one in queries):
        return None
    try:
        features, groups = _features(queries, public, secret)
    except CannotLinearise:
        return None
    true, unit = _in_unit(true, secret)
    own = secret.targets(true)
    with one_thread():
        rank = np.empty(public.n, dtype=np.intp)
        rank[canonical_order(public, true)] = np.arange(public.n)
        scores, fitted = _left_out(features, groups, own, _folds(true, FEW_FOLDS, rank))
        table = _probabilities(scores, true) if secret.levels else scores
        if secret.levels and fitted is not None:
            # a ridge that shrinks many numbers leaves a trace of each person, which a threshold would read
            ordinary = min(features.shape) <= _ORDINARY * public.n
            fitted = _probabilities(fitted, true) if ordinary else None
    found = _baseline("population", table, true, secret, public.patterns.index)
    if secret.levels:
        if fitted is None:
            return found
        return replace(found, in_sample=secret.guess(fitted[:, 0] if secret.unknowns == 1 else fitted))
    found = found if fitted is None else replace(found, in_sample=fitted[:, 0])
    return found.times(unit)


def _features(queries: Sequence[Query], public: Public, secret: Secret) -> tuple[RowScale, Patterns]:
    """Returns the statistics' coefficients of each group of people alike: features × groups, without repeats.

    Each row is divided by √(Σ a⁴/Σ a²), which is 1 if all entries are 0, 1 and −1, because equations come in
    different units. Rows that are equal up to sign (a yes/no pair of cells) count once, √2 times as large.
    """
    parts = []
    for query in queries:
        model = query.comparable()
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
    """Returns P(v) ∝ exp(a_v + b score_v), people × unknowns, with the likeliest a and b ≥ 0."""
    both = np.column_stack([1 - scores, scores]) if scores.shape[1] == 1 else scores
    return _likeliest(both[None], truth)[:, -scores.shape[1] :]


def _likeliest(scores: Array, truth: Truth) -> Array:
    """Returns P(v) ∝ exp(a_v + Σ_k b_k score_kv), people × values, with the likeliest a and b_k ≥ 0.

    ``scores`` has a part for each slope: parts × people × values. Of c people with a value, one more is taken
    to be with each other value (Platt 1999: (c + 1)/(c + 2) of two values in place of 1): among few people
    some score separates the values by luck, and would look certain.
    """
    from scipy.optimize import minimize
    from scipy.special import softmax

    order = np.lexsort([*scores.transpose(0, 2, 1).reshape(-1, truth.size), truth])
    scores, truth = scores[:, order], truth[order]  # sums in one order, whatever the file's
    slopes, _, levels = scores.shape
    true = truth[:, None] == np.arange(levels)
    known = true.sum(axis=0)
    share = (known + 0.5) / (truth.size + 0.5 * levels)
    meant = np.where(true, known + 1, 1) / (known[truth] + levels)[:, None]

    def chances(parameters: Array) -> Array:
        return np.asarray(softmax(parameters[slopes:] + np.tensordot(parameters[:slopes], scores, 1), axis=1))

    def loss(parameters: Array) -> tuple[float, Array]:
        chance = chances(parameters)
        missed = (chance - meant) / truth.size
        value = -(meant * np.log(np.maximum(chance, 1e-300))).sum() / truth.size
        return float(value), np.append((scores * missed).sum(axis=(1, 2)), missed.sum(axis=0))

    start = np.append(np.zeros(slopes), np.log(share))
    bounds = [(0.0, _STEEPEST)] * slopes + [(None, None)] * levels
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 200}).x
    out = np.empty((truth.size, levels))
    out[order] = chances(found)
    return out


def _sums(groups: IntArray, values: Array) -> Array:
    """Returns the sum of each column over each group."""
    return np.stack([np.bincount(groups, column) for column in values.T], axis=1)


@dataclass(frozen=True, eq=False)
class _Crowds:
    """Groups of people alike: their sizes, and the sum and the sum of squares of each unknown."""

    size: Array
    total: Array
    squares: Array
    mean: Array
    n: int

    @property
    def surplus(self) -> Array:
        """How far each group's total is from what the overall mean would give."""
        return self.total - self.size[:, None] * self.mean

    def take(self, few: IntArray) -> _Crowds:
        """Returns some of the groups, with the same overall mean."""
        parts = (self.size[few], self.total[few], self.squares[few])
        return _Crowds(*parts, self.mean, int(self.size[few].sum()))

    def missed(self, fit: Array, left: Array) -> Array:
        """Returns the leave-one-out sum of squares of fits (groups × unknowns × ridges) and 1 − leverages."""
        own = self.squares[..., None] - 2 * fit * self.total[..., None] + self.size[:, None, None] * fit**2
        return np.asarray((own.sum(axis=1) / left**2).sum(axis=0))


def _left_out(
    features: RowScale, groups: Patterns, own: Array, folds: Sequence[tuple[IntArray, IntArray]]
) -> tuple[Array, Array | None]:
    """Returns what ridge regression without each person predicts for them, at the ridge with the least error.

    Also returns what it predicts with them, as if nobody weighed more than a tenth in their own prediction;
    None if they weigh more than half on average. If the problem is too large to factorise, the person's whole
    fold is left out, and the second answer is None.

    Notes
    -----
    Take groups of c_g people alike with centred features φ_g, and eigenvectors V and values σ of
    Σ_g c_g φ_g φ_gᵀ. The fit at ridge λ is f_g = s̄ + Σ_j q_gj b_j/(σ_j + λ) with q_g = Vᵀφ_g and
    b = Σ_g c_g q_g (s̄_g − s̄). A person's leverage is h_g = 1/n + Σ_j q_gj²/(σ_j + λ), and without them the
    fit would miss them by (s_i − f_g)/(1 − h_g). One eigendecomposition, of the features or of the groups'
    kernel, whichever is smaller, serves every λ: O(min(P, m)³ + P m min(P, m)). The λ with the least
    leave-one-out sum of squares is used. With more than 1000 groups, and either more features than groups or
    features that are mostly zero, λ is searched for near the best one for 1000 of the groups, with one
    factorisation for each λ; with mostly zero features and more than 200,000 groups, that best one is used.
    """
    index, size = groups.index, groups.counts.astype(np.float64)
    crowds = _Crowds(size, _sums(index, own), _sums(index, own**2), own.mean(axis=0), index.size)
    rows, unknowns = features.shape
    blocks, sparse = None, features.operator.entries < SPARSE * rows * unknowns
    if sparse and max(rows, _TRIED) < unknowns and rows <= BLOCKED:
        blocks = RowBlocks.of(features.operator)
    if blocks is None and min(rows, unknowns) > FACTORISED:
        return _in_folds(features, groups, own, folds), None
    if blocks is not None:
        fit, left = _best_of_blocks(features, blocks, crowds)
    elif unknowns > rows:
        fit, left = _best_of_features(features, crowds)
    else:
        fit, left = _best_of_kernel(_kernel(features, size), crowds)
    missed, others = (own - fit[index]) / left[index, None], left[index, None]
    if others.mean() < 1 - _OWN:
        return own - missed, None
    return own - missed, own - missed * np.maximum(others, 1 - _ORDINARY)


def _ridges(unit: float, n: int, step: float) -> Array:
    """Returns ridges from a hundredth of a person's mean square to ten times that of all people."""
    return max(unit, 1e-300) * 10 ** np.arange(-2.0, np.log10(n) + 1, step)


def _best_of_features(features: RowScale, crowds: _Crowds) -> tuple[Array, Array]:
    """Returns the fit of each group and 1 − leverage at the best of all ridges, from the features' moments.

    Features are written out twice, for some groups at a time.
    """
    from scipy.linalg import eigh

    size = crowds.size
    mean = features @ size / crowds.n
    moments = -crowds.n * np.outer(mean, mean)
    for few, part in _written(features):
        weighted = part * size[few]
        moments += weighted @ part.T
    energy, vectors = eigh(moments, overwrite_a=True, driver="evd")
    energy = np.maximum(energy, 0.0)
    ridges = _ridges(float(energy.sum()) / crowds.n, crowds.n, 0.5)
    shrunk = 1 / (energy[:, None] + ridges)
    effect = vectors.T @ (features @ crowds.surplus)
    fit, left = np.empty((size.size, effect.shape[1], ridges.size)), np.empty((size.size, ridges.size))
    for few, part in _written(features):
        basis = (part - mean[:, None]).T @ vectors
        for value in range(effect.shape[1]):
            fit[few, value] = crowds.mean[value] + basis @ (shrunk * effect[:, value, None])
        left[few] = 1 - 1 / crowds.n - np.square(basis, out=basis) @ shrunk
    best = int(np.argmin(crowds.missed(fit, left)))
    return fit[..., best], left[:, best]


def _written(features: RowScale) -> Iterator[tuple[slice, Array]]:
    """Yields some groups at a time, with their features written out."""
    groups = features.shape[1]
    for start in range(0, groups, _CHUNK):
        few = slice(start, min(start + _CHUNK, groups))
        part = features.operator.take(np.arange(few.start, few.stop)).to_sparse().toarray()
        yield few, part * features.scale[:, None]


def _best_of_blocks(features: RowScale, blocks: RowBlocks, crowds: _Crowds) -> tuple[Array, Array]:
    """Returns the fit and 1 − leverage if most features are zero: one factorisation for each ridge tried.

    With centred moments M and K = (M + λ)⁻¹: f = s̄ + (φ − φ̄)ᵀ K b and h = 1/n + (φ − φ̄)ᵀ K (φ − φ̄).
    """
    from scipy.linalg import cho_solve, lapack

    scale, n = features.scale, crowds.n
    mean = features @ crowds.size / n
    moments = blocks.outer(scale, crowds.size)
    moments -= n * np.outer(mean, mean)
    effect = features @ crowds.surplus
    ridges = _ridges(float(np.trace(moments)) / n, n, 0.5)

    def at(ridge: float) -> tuple[Array, Array]:
        shifted = moments.copy()
        shifted[np.diag_indices_from(shifted)] += ridge
        factor, _ = lapack.dpotrf(shifted.T, lower=1, clean=1, overwrite_a=1)
        solved = cho_solve((factor, True), np.column_stack([mean, effect]))
        middle, slopes = solved[:, 0], solved[:, 1:]
        inverse, _ = lapack.dpotri(factor, lower=1, overwrite_c=1)
        fit = crowds.mean + features.rmatmat(slopes) - mean @ slopes
        used = blocks.quadratic(scale, inverse.T) - 2 * features.rmatvec(middle) + mean @ middle
        return fit, 1 - 1 / n - used

    few = np.random.default_rng(_SEED).permutation(crowds.size.size)[:_TRIED]
    kernel = _kernel(features.take(few), crowds.size[few])
    _, _, start = _best_among(kernel, ridges, crowds.take(few))
    if crowds.size.size > WALKED:
        return at(float(ridges[start]))
    return _best_near(start, ridges, at, crowds)


def _best_of_kernel(kernel: Array, crowds: _Crowds) -> tuple[Array, Array]:
    """Returns the fit and 1 − leverage from the groups' kernel; of many groups, some choose the ridge first.

    With M = K + λ, in units of √c: f = s̄ + c^−½ (1 − λ M⁻¹) c^−½ t and h = 1/n + (1 − λ M⁻¹_gg)/c.
    """
    ridges = _ridges(float(np.trace(kernel)) / crowds.n, crowds.n, 0.5)
    few = np.random.default_rng(_SEED).permutation(crowds.size.size)[:_TRIED]
    fit, left, best = _best_among(kernel[np.ix_(few, few)], ridges, crowds.take(few))
    if few.size == crowds.size.size:
        order = np.argsort(few)
        return fit[order], left[order]
    return _best_near(best, ridges, lambda ridge: _at_ridge(kernel, ridge, crowds), crowds)


def _best_among(kernel: Array, ridges: Array, crowds: _Crowds) -> tuple[Array, Array, int]:
    """Returns fits and 1 − leverages at the best of all ridges, and its index, by one decomposition."""
    basis, energy = _decomposed(kernel, np.sqrt(crowds.size))
    shrunk = 1 / (energy[:, None] + ridges)
    left = 1 - 1 / crowds.n - basis**2 @ shrunk
    effect = basis.T @ crowds.surplus
    fits = [
        crowds.mean[value] + basis @ (shrunk * effect[:, value, None]) for value in range(effect.shape[1])
    ]
    fit = np.stack(fits, axis=1)
    best = int(np.argmin(crowds.missed(fit, left)))
    return fit[..., best], left[:, best], best


def _best_near(
    best: int, ridges: Array, at: Callable[[float], tuple[Array, Array]], crowds: _Crowds
) -> tuple[Array, Array]:
    """Moves to the next smaller or larger ridge as long as that is better; returns the last fit."""
    known: dict[int, tuple[float, Array, Array]] = {}

    def missed(place: int) -> float:
        if place not in known:
            doing(f"baseline of the statistic, ridge {len(known) + 1}")
            fit, left = at(float(ridges[place]))
            known[place] = float(crowds.missed(fit[..., None], left[:, None])[0]), fit, left
        return known[place][0]

    while (better := min(range(max(best - 1, 0), min(best + 2, ridges.size)), key=missed)) != best:
        best = better
    return known[best][1:]


def _at_ridge(kernel: Array, ridge: float, crowds: _Crowds) -> tuple[Array, Array]:
    """Returns the fit of each group and 1 − leverage at one ridge."""
    from scipy.linalg import cho_solve, lapack

    root = np.sqrt(crowds.size)
    shifted = kernel.copy()
    shifted[np.diag_indices_from(shifted)] += ridge
    factor, _ = lapack.dpotrf(shifted, lower=1, clean=1, overwrite_a=1)
    right = crowds.surplus / root[:, None]
    fit = crowds.mean + (right - ridge * cho_solve((factor, True), right)) / root[:, None]
    half, _ = lapack.dtrtri(factor, lower=1, overwrite_c=1)
    kept = ridge * np.einsum("ij,ij->j", half, half)
    return fit, 1 - 1 / crowds.n - (1 - kept) / crowds.size


def _kernel(features: RowScale, size: Array) -> Array:
    """Returns the products of the groups' centred features, times the roots of their sizes."""
    kernel = features.gram().astype(np.float64, copy=False)
    mean, root = kernel @ size / size.sum(), np.sqrt(size)
    kernel += mean @ size / size.sum() - mean - mean[:, None]
    kernel *= root[:, None] * root
    return kernel


def _decomposed(kernel: Array, root: Array) -> tuple[Array, Array]:
    """Returns the groups' coordinates in the basis that diagonalises the kernel, and their energy."""
    from scipy.linalg import eigh

    energy, vectors = eigh(kernel, overwrite_a=True, driver="evd")
    energy = np.maximum(energy, 0.0)
    return vectors * np.sqrt(energy) / root[:, None], energy


def _in_folds(
    features: RowScale, groups: Patterns, own: Array, folds: Sequence[tuple[IntArray, IntArray]]
) -> Array:
    """Returns the left-out predictions with one fold left out at a time, for all ridges together."""
    index, n = groups.index, groups.index.size
    energy = features.squared() @ groups.counts.astype(np.float64)
    ridges = _ridges(float(energy.sum()) / n, n, 1.0)
    scores = np.empty((ridges.size, *own.shape))
    for number, (train, test) in enumerate(folds, start=1):
        doing(f"baseline of the statistic, fold {number} of {len(folds)}")
        size = np.bincount(index[train], minlength=len(groups)).astype(np.float64)
        total = np.stack([np.bincount(index[train], y, minlength=len(groups)) for y in own[train].T], axis=1)
        mean, centre = own[train].mean(axis=0), features @ size / train.size
        right = features @ (total - size[:, None] * mean)
        columns = np.tile(right, (1, ridges.size))
        weights = _conjugate_gradients(features, size, centre, np.repeat(ridges, own.shape[1]), columns)
        fit = features.rmatmat(weights) - centre @ weights
        scores[:, test] = mean + fit[index[test]].reshape(test.size, ridges.size, -1).swapaxes(0, 1)
    return np.asarray(scores[np.argmin(((scores - own) ** 2).sum(axis=(1, 2)))])


def _conjugate_gradients(
    features: LinearOperator, size: Array, centre: Array, ridges: Array, right: Array
) -> Array:
    """Returns x = (Σ_g c_g φ_g φ_gᵀ − n φ̄ φ̄ᵀ + ridge)⁻¹ right for each column and its ridge, nearly."""
    n = size.sum()

    def apply(block: Array) -> Array:
        image = features.rmatmat(block) * size[:, None]
        outer: Array = features @ image - n * np.outer(centre, centre @ block) + ridges * block
        return outer

    x, residual = np.zeros_like(right), right.copy()
    direction, square = residual.copy(), (residual**2).sum(axis=0)
    for _ in range(_STEPS):
        image = apply(direction)
        curve = (direction * image).sum(axis=0)
        step = np.divide(square, curve, out=np.zeros_like(square), where=curve > 0)
        x += step * direction
        residual -= step * image
        last, square = square, (residual**2).sum(axis=0)
        direction = residual + np.divide(square, last, out=np.zeros_like(square), where=last > 0) * direction
    return x
