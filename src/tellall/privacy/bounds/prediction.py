"""How accurate least squares will be, from the equations and the noise alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tellall.core.checks import at_least_zero, share, whole
from tellall.core.errors import invalid
from tellall.linalg.operators.compose import SPARSE, DistinctRows, RowFactor
from tellall.linalg.operators.linear_operator import Array, LinearOperator
from tellall.privacy.bounds.geometry import GRAM_LIMIT
from tellall.protections.protection import Rng, as_rng

__all__ = [
    "Prediction",
    "group_accuracy",
    "predict",
    "xor_accuracy",
]

_HALVINGS = 60


@dataclass(frozen=True)
class Prediction:
    """The accuracy that least squares will have on these equations, before any value is seen.

    `accuracy` is that of plain least squares without box or prior, rounded at 1/2. If A does not have full
    rank, plain least squares has no answer, and `accuracy` is `with_prior`: that of least squares with the
    ridge at the prior of the rate, which is tellall's decoder before its box.
    """

    accuracy: float
    with_prior: float
    error: float  # how far off the two may be, itself estimated; zero if they were computed
    rank: int | None  # of the equations; None if it was not computed
    method: str  # "inverse" (both exact), "ridge" (no full rank: with the prior only) or "trace" (estimated)


def xor_accuracy(m: int, n: int, std: float) -> tuple[float, float]:
    """Returns the accuracy of least squares on m equations of signs for n people, and what no decoder beats.

    Notes
    -----
    Φ(√(m − n)/(2 std)) and Φ(√m/(2 std)), for white noise. Entries are ±1 as in xor statistics, so (AᵀA)⁻¹
    has the diagonal 1/(m − n) up to small terms, as for independent entries. 1/2 for m ≤ n.

    Examples
    --------
    >>> [round(x, 3) for x in xor_accuracy(4000, 2000, 0.25 * 2000**0.5)]
    [0.977, 0.998]
    """
    from scipy.special import ndtr

    rows, people = whole("m", m), whole("n", n)
    noise = at_least_zero("std", std, finite=False)
    if noise == 0:
        return (1.0 if rows > people else 0.5), 1.0
    plain = np.sqrt(max(0, rows - people)) / (2 * noise)
    return float(ndtr(plain)), float(ndtr(np.sqrt(rows) / (2 * noise)))


def predict(
    operator: LinearOperator,
    spread: npt.ArrayLike,
    *,
    size: npt.ArrayLike | None = None,
    rate: float = 0.5,
    probes: int = 2,
    gram_limit: int = GRAM_LIMIT,
    plain: bool = True,
    rng: Rng = 0,
) -> Prediction:
    """Returns the accuracy to expect of least squares on A s ≈ z with these standard deviations.

    Parameters
    ----------
    operator
        A, one column per group of people alike.
    spread
        The standard deviation of each row's error, above zero; infinite if a row says nothing.
    size, rate
        The number of people in each group (default: one), and the rate of the secret.
    probes, gram_limit
        How many random vectors (an even number) to use if the inverse is not formed, and the number of groups
        up to which it is formed.
    plain
        Whether to compute the rank and the accuracy without the prior too, which takes about three times as
        long.

    Notes
    -----
    The mean over people of Φ(1/(2 sd_i)) with sd_i² = [(Aᵀ Σ⁻¹ A)⁻¹]_ii for a person alone in their group; in
    a larger group everybody is guessed by the group's count (see `group_accuracy`). With the prior, sd_i² is
    the evidence's own variance, 1/(1/C_ii − 1/v) with C = (AᵀΣ⁻¹A + I/v)⁻¹ and v the prior variance of the
    count. O(G³) for G groups. Beyond the limit, κ_i = C_ii H_ii, H the matrix inverted, is replaced by its
    mean over people, estimated from `probes` random signs (Hutchinson) by conjugate gradients; its variance
    over people, estimated from two halves of the probes, gives the second-order correction. The error is four
    standard errors of the mean plus the size of that correction.

    Examples
    --------
    >>> from tellall.linalg.operators.linear_operator import Dense
    >>> predict(Dense([[1.0], [1.0]]), [1.0, 1.0]).accuracy == predict(Dense([[2.0**0.5]]), [1.0]).accuracy
    True
    """
    m, groups = operator.shape
    deviation = np.broadcast_to(np.asarray(spread, dtype=np.float64), m)
    if np.isnan(deviation).any() or (deviation <= 0).any():
        raise invalid("spread", "above zero", spread)
    share("rate", rate, zero=False, one=False)
    if whole("probes", probes, least=2) % 2:
        raise invalid("probes", "an even number", probes)
    people = np.ones(groups) if size is None else np.asarray(size, dtype=np.float64)
    if people.shape != (groups,) or (people < 1).any():
        raise invalid("size", f"{groups} numbers of people, one or more each", size)
    weights = np.where(np.isinf(deviation), 0.0, 1 / deviation**2)
    if groups <= gram_limit:
        return _exact(operator, weights, people, rate, plain)
    return _estimated(operator, weights, people, rate, probes, as_rng(rng))


def _exact(operator: LinearOperator, weights: Array, size: Array, rate: float, wanted: bool) -> Prediction:
    prior = size * rate * (1 - rate)
    if not wanted:
        with_prior = group_accuracy(size, _own_sd(_posterior_variance(operator, weights, prior), prior), rate)
        return Prediction(with_prior, with_prior, 0.0, None, "ridge")
    gram = operator.gram(weights)
    rank = _rank(gram, size.size * 1e-13)
    with_prior = group_accuracy(size, _own_sd(_inverse_diagonal(gram + np.diag(1 / prior)), prior), rate)
    if rank < size.size:
        return Prediction(with_prior, with_prior, 0.0, rank, "ridge")
    plain = group_accuracy(size, np.sqrt(_inverse_diagonal(gram)), rate, prior=False)
    return Prediction(plain, with_prior, 0.0, rank, "inverse")


def _posterior_variance(operator: LinearOperator, weights: Array, prior: Array) -> Array:
    """Returns the diagonal of (Aᵀ W A + 1/prior)⁻¹, computed on the shorter side of A."""
    m, n = operator.shape
    if operator.entries <= SPARSE * m * n:
        rows = DistinctRows.of(operator)
        if rows.sparse and len(rows) <= n / 2:
            return RowFactor(rows, rows.gather(weights), 1 / prior).diagonal
    gram = operator.gram(weights)
    gram[np.diag_indices_from(gram)] += 1 / prior
    return _inverse_diagonal(gram)


def _rank(gram: Array, tolerance: float) -> int:
    from scipy.linalg import lapack

    root = np.sqrt(gram.diagonal())
    safe = np.where(root > 0, root, 1.0)
    return int(lapack.dpstrf(gram / (safe[:, None] * safe), tol=tolerance, lower=0)[2])


def _inverse_diagonal(matrix: Array) -> Array:
    from scipy.linalg import lapack

    factor, info = lapack.dpotrf(matrix.T, lower=1, clean=1, overwrite_a=1)  # symmetric
    if info != 0:
        return np.full(matrix.shape[0], np.inf)
    inverse, _ = lapack.dtrtri(factor, lower=1, overwrite_c=1)
    out: Array = np.einsum("ij,ij->j", inverse, inverse)
    return out


def _own_sd(posterior: Array, prior: Array) -> Array:
    """Returns the evidence's own standard deviation: the posterior without what the prior knew."""
    precision = 1 / posterior - 1 / prior
    return np.where(precision > 1e-9 / prior, 1 / np.sqrt(np.maximum(precision, 1e-300)), np.inf)


def _estimated(
    operator: LinearOperator, weights: Array, size: Array, rate: float, probes: int, rng: np.random.Generator
) -> Prediction:
    prior = size * rate * (1 - rate)
    energy = np.asarray(operator.squared().rmatvec(weights.astype(operator.dtype)), dtype=np.float64)

    def ridge_law(kappa: float) -> float:
        return group_accuracy(size, _own_sd(kappa / (energy + 1 / prior), prior), rate)

    def plain_law(kappa: float) -> float:
        return group_accuracy(size, np.sqrt(kappa / energy), rate, prior=False)

    factors = _inflation(operator, weights, energy + 1 / prior, 1 / prior, probes, rng)
    assert factors is not None  # the ridge makes the system definite
    with_prior, error = _averaged(ridge_law, factors)
    plain = None
    if operator.shape[0] >= operator.shape[1] and (energy > 0).all():
        plain = _inflation(operator, weights, energy, np.zeros(energy.size), probes, rng)
    if plain is None:
        return Prediction(with_prior, with_prior, error, None, "trace")
    accuracy, more = _averaged(plain_law, plain)
    return Prediction(accuracy, with_prior, max(error, more), None, "trace")


def _inflation(
    operator: LinearOperator,
    weights: Array,
    scale: Array,
    ridge: Array,
    probes: int,
    rng: np.random.Generator,
) -> Array | None:
    """Returns estimates of κ_i, one row per probe; None if conjugate gradients do not settle."""
    from scipy.sparse.linalg import LinearOperator as ScipyOperator
    from scipy.sparse.linalg import cg

    n = scale.size
    root = np.sqrt(scale)
    dtype = operator.dtype

    def product(vector: Array) -> Array:
        inner = vector.ravel() / root
        image = operator.matvec(inner.astype(dtype)) * weights
        back = np.asarray(operator.rmatvec(image.astype(dtype)), dtype=np.float64)
        return (back + ridge * inner) / root

    system = ScipyOperator((n, n), matvec=product, dtype=np.dtype(np.float64))
    found = np.empty((probes, n))
    for row in found:
        signs: Array = rng.choice(np.array([-1.0, 1.0]), size=n)
        solution, status = cg(system, signs, rtol=1e-3, maxiter=500)
        if status != 0:
            return None
        row[:] = signs * solution
    return found


def _averaged(law: Callable[[float], float], factors: Array) -> tuple[float, float]:
    """Returns the mean of law(κ_i) to second order, and how far off it may be."""
    half = factors.shape[0] // 2
    mean = float(factors.mean())
    # the noise of the two halves is independent, so their covariance is the variance of κ_i alone
    spread = max(0.0, float(np.cov(factors[:half].mean(axis=0), factors[half:].mean(axis=0))[0, 1]))
    # a probe misses κ_i by Σ_q M_iq z_i z_q; the variance of its mean over people is twice that one's over n
    noise = max(0.0, float(factors.var(axis=1).mean()) - spread)
    doubt = np.sqrt(2 * noise / factors.size)
    step = 0.05 * mean
    low = law(mean - step)
    middle = law(mean)
    high = law(mean + step)
    bend = (high - 2 * middle + low) / step**2 * spread / 2
    slope = (high - low) / (2 * step)
    return middle + bend, float(abs(bend) + 4 * doubt * abs(slope))


def group_accuracy(size: Array, sd: Array, rate: float, *, prior: bool = True) -> float:
    """Returns the mean accuracy over people of guessing each group by its noisy count.

    Notes
    -----
    A group of c people has a Binomial(c, rate) count t, seen as r = t + N(0, sd²). With the prior, all are
    guessed 1 if E[t | r] ≥ c/2, which means r above some threshold; without it, if r ≥ c/2. For rate 1/2 the
    two agree, and a person alone is guessed right with probability Φ(1/(2 sd)). O(people · log) time.

    Examples
    --------
    >>> round(group_accuracy(np.ones(2), np.array([0.5, np.inf]), 0.5), 6)  # (Φ(1) + 1/2)/2
    0.670672
    """
    right = 0.0
    for people in np.unique(size):
        chosen = sd[size == people]
        right += float(people) * float(_accuracy(float(people), chosen, rate, prior).sum())
    return right / float(size.sum())


def _accuracy(people: float, sd: Array, rate: float, prior: bool) -> Array:
    from scipy.special import gammaln, ndtr

    j = np.arange(people + 1)
    ways = gammaln(people + 1) - gammaln(j + 1) - gammaln(people - j + 1)
    log_law = ways + np.log(rate) * j + np.log1p(-rate) * (people - j)
    law, share = np.exp(log_law), j / people
    out = np.empty(sd.size)
    informed = np.isfinite(sd) & (sd > 0)
    out[sd == 0] = law @ np.maximum(share, 1 - share)
    out[np.isinf(sd)] = max(rate, 1 - rate) if prior else 0.5
    noise = sd[informed]
    threshold = np.full(noise.size, people / 2)
    if prior and rate != 0.5:
        threshold = _threshold(people, noise, log_law, j)
    above = ndtr((j - threshold[:, None]) / noise[:, None])
    out[informed] = (law * (above * share + (1 - above) * (1 - share))).sum(axis=1)
    return out


def _threshold(people: float, noise: Array, log_law: Array, j: Array) -> Array:
    """Returns the r at which E[t | r] = c/2, by bisection; E[t | r] rises in r."""
    from scipy.special import softmax

    # the prior's log-odds move the threshold by at most their slope times the variance
    reach = people + noise**2 * float(np.abs(np.diff(log_law)).max(initial=0.0))
    low, high = people / 2 - reach, people / 2 + reach
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        mean = softmax(log_law - 0.5 * ((j - middle[:, None]) / noise[:, None]) ** 2, axis=1) @ j
        low, high = np.where(mean < people / 2, middle, low), np.where(mean < people / 2, high, middle)
    return (low + high) / 2
