"""Ridge regression that predicts each person without them: exactly, or in folds where people are many."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tellall.algebra.operators.base import Array, IntArray, LinearOperator
from tellall.algebra.operators.compose import RowScale
from tellall.algebra.operators.distinct import SPARSE, RowBlocks
from tellall.core.work import doing
from tellall.people.bits import Patterns

__all__ = ["BLOCKED", "FACTORISED", "WALKED", "left_out", "sums"]

FACTORISED = 4000  # groups or features, whichever are fewer, up to which everybody is left out exactly
BLOCKED = 8000  # features up to which they are, where these are the cells of tables
WALKED = 200_000  # groups up to which more than one ridge is then tried on all of them
_SEED = 0  # predictions are a function of people and features alone
_CHUNK = 4096  # groups whose features are written out at a time
_STEPS = 30  # of conjugate gradients
_ORDINARY = 0.1  # the mean leverage of a fit with ten people behind each fitted number
_TRIED = 1000  # groups among which the ridge is looked for first


def sums(groups: IntArray, values: Array) -> Array:
    """The sum of each column over each group."""
    return np.stack([np.bincount(groups, column) for column in values.T], axis=1)


@dataclass(frozen=True, eq=False)
class _Crowds:
    """Groups of people alike: how many, and the sum and the sum of squares of what each unknown is."""

    size: Array
    total: Array
    squares: Array
    mean: Array
    n: int

    @property
    def surplus(self) -> Array:
        """How far each group's total is from what the overall mean gives."""
        return self.total - self.size[:, None] * self.mean

    def take(self, few: IntArray) -> _Crowds:
        """Some of the groups, about the same mean."""
        parts = (self.size[few], self.total[few], self.squares[few])
        return _Crowds(*parts, self.mean, int(self.size[few].sum()))

    def missed(self, fit: Array, left: Array) -> Array:
        """The sum of squares left out for fits (groups × unknowns × ridges) and 1 − leverages."""
        own = self.squares[..., None] - 2 * fit * self.total[..., None] + self.size[:, None, None] * fit**2
        return np.asarray((own.sum(axis=1) / left**2).sum(axis=0))


def left_out(
    features: RowScale, groups: Patterns, own: Array, folds: Sequence[tuple[IntArray, IntArray]]
) -> tuple[Array, Array | None]:
    """What the ridge without each person predicts for them, at the ridge with the least such error.

    And what it says with them, where they weigh a tenth or less in their own prediction on average. Where
    that is too much to factorise, without the person's fold.

    Notes
    -----
    Over groups of c_g people alike with features φ_g, centred, and eigenvectors V, values σ of
    Σ_g c_g φ_g φ_gᵀ, the fit at ridge λ is f_g = s̄ + Σ_j q_gj b_j/(σ_j + λ) with q_g = Vᵀφ_g,
    b = Σ_g c_g q_g (s̄_g − s̄); a person's leverage is h_g = 1/n + Σ_j q_gj²/(σ_j + λ), and without them the
    fit would miss them by (s_i − f_g)/(1 − h_g). One eigendecomposition, of the features or of the groups'
    kernel, whichever is smaller, serves every λ: O(min(P, m)³ + P m min(P, m)). λ is the one with the least
    sum of squares left out. Where more than 1000 groups have more features still, or features that are mostly
    zero, it is looked for near the best for 1000 of the groups, one factorisation for each λ; beyond 200,000
    groups it is that one.
    """
    index, size = groups.index, groups.counts.astype(np.float64)
    crowds = _Crowds(size, sums(index, own), sums(index, own**2), own.mean(axis=0), index.size)
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
    ordinary = float(1 - left[index].mean()) <= _ORDINARY
    return own - (own - fit[index]) / left[index, None], fit[index] if ordinary else None


def _ridges(unit: float, n: int, step: float) -> Array:
    """Ridges from a hundredth of a person's mean square to ten times that of all people."""
    return max(unit, 1e-300) * 10 ** np.arange(-2.0, np.log10(n) + 1, step)


def _best_of_features(features: RowScale, crowds: _Crowds) -> tuple[Array, Array]:
    """The fit of each group and 1 − leverage at the best of all ridges, from the features' moments.

    Features are written out for some groups at a time, twice.
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
    """Some groups after the other, with their features written out."""
    groups = features.shape[1]
    for start in range(0, groups, _CHUNK):
        few = slice(start, min(start + _CHUNK, groups))
        part = features.operator.take(np.arange(few.start, few.stop)).to_sparse().toarray()
        yield few, part * features.scale[:, None]


def _best_of_blocks(features: RowScale, blocks: RowBlocks, crowds: _Crowds) -> tuple[Array, Array]:
    """The same where most features are zero: at each ridge that is tried one factorisation.

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
    """The same from the groups' kernel: of many groups the ridge is first looked for among some of them.

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
    """Fits and 1 − leverages at the best of all ridges, and which that is, by one decomposition."""
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
    """From one ridge to the next smaller or larger as long as that is better."""
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
    """The fit of each group and 1 − leverage at one ridge."""
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
    """The products of the groups' centred features, times the root of their sizes."""
    kernel = features.gram().astype(np.float64, copy=False)
    mean, root = kernel @ size / size.sum(), np.sqrt(size)
    kernel += mean @ size / size.sum() - mean - mean[:, None]
    kernel *= root[:, None] * root
    return kernel


def _decomposed(kernel: Array, root: Array) -> tuple[Array, Array]:
    """The groups' coordinates in the basis that diagonalises the kernel, and their energy."""
    from scipy.linalg import eigh

    energy, vectors = eigh(kernel, overwrite_a=True, driver="evd")
    energy = np.maximum(energy, 0.0)
    return vectors * np.sqrt(energy) / root[:, None], energy


def _in_folds(
    features: RowScale, groups: Patterns, own: Array, folds: Sequence[tuple[IntArray, IntArray]]
) -> Array:
    """The same with the people of one fold left out at a time, all ridges side by side."""
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
    """x = (Σ_g c_g φ_g φ_gᵀ − n φ̄ φ̄ᵀ + ridge)⁻¹ right for each column with its ridge, in a few steps."""
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
