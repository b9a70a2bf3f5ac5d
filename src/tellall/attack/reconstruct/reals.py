"""The attack on real secrets: no rounding, every person a number and how far it may be off."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from tellall.algebra.operators.base import Array
from tellall.algebra.solvers.base import Status
from tellall.algebra.solvers.least_squares import BoxProblem, LeastSquares
from tellall.attack.secret import Secret
from tellall.core.errors import invalid
from tellall.people.dataset import Public
from tellall.release.equations import Evidence, System
from tellall.release.release import Release

__all__ = [
    "Factored",
    "RealReconstruction",
    "Whitened",
    "reconstruct_reals",
]

_MOST_ENTRIES = 200_000_000
_WIDEST, _GRID, _NEAR = 25.0, 25, 1e-5  # of the logarithm of the variance over people
_GOLDEN = (5**0.5 - 1) / 2
_CONTRADICTION = 5.0  # residuals so many times the declared noise are no bad luck


@dataclass(frozen=True, eq=False, repr=False)
class RealReconstruction:
    """What an attacker concludes about each person's real secret, in file order.

    Attributes
    ----------
    estimate
        The posterior mean, or the most probable value within the bounds where bounds were given.
    std
        The posterior standard deviation of each (without the bounds).
    mean, spread
        The mean and the standard deviation over people that the attack read off the releases.
    """

    estimate: Array
    std: Array
    mean: float
    spread: float
    status: Status
    evidence: Evidence
    public: Public
    releases: tuple[Release, ...]
    decoder: str = "least-squares"
    stats: dict[str, float] = field(default_factory=dict)

    @property
    def guess(self) -> Array:
        """The estimate: real numbers are not rounded."""
        return self.estimate

    @property
    def secret(self) -> Secret:
        """What kind of secret was attacked."""
        return Secret.of(0)

    @property
    def n(self) -> int:
        """How many people."""
        return self.estimate.size

    def __repr__(self) -> str:
        return (
            f"Reconstruction of {self.n} real numbers from {self.evidence.target.size} equations: "
            f"{self.status}; known to within {float(np.median(self.std)):.3g} (median standard deviation, "
            f"{self.spread:.3g} without the releases)"
        )


def reconstruct_reals(
    evidence: Evidence, public: Public, releases: Sequence[Release], bounds: tuple[float, float] | None
) -> RealReconstruction:
    """Everybody's real secret from the evidence.

    Notes
    -----
    People are taken as independent N(μ, v) before the evidence; μ and v maximise the likelihood of the
    published values, z ~ N(μ A1, v A Aᵀ + diag(spread²)) (empirical Bayes), and the estimate is the posterior
    mean: ridge regression about μ, which for an exact release is the least-squares solution nearest to
    "everybody at the mean". With bounds, the most probable point of the box. One singular value decomposition
    of the whitened operator: O(m n min(m, n)).
    """
    system = evidence.system
    if system.operator.shape[0] * system.operator.shape[1] > _MOST_ENTRIES:
        raise invalid(
            "releases",
            f"of at most {_MOST_ENTRIES:,} equations × people, where the secret is a real number",
            " × ".join(map(str, system.operator.shape)),
        )
    whitened = Whitened.of(system)
    estimate, mean, variance = whitened.estimate(system.rows.target)
    shares = whitened.singular**2 / (variance * whitened.singular**2 + 1)
    total_variance = np.maximum(variance - variance**2 * (shares @ whitened.right**2), 0.0)
    status = Status("solved")
    if bounds is not None:
        estimate, status = _within(system, mean, variance, bounds)
    status = _with_trouble(status, system, estimate)
    within_group = variance * (1 - 1 / system.size)  # people alike share a sum, not a value
    std = np.sqrt(within_group + total_variance / system.size)
    index = evidence.groups.index
    return RealReconstruction(
        estimate[index], std[index], mean, float(np.sqrt(variance)), status, evidence, public, tuple(releases)
    )


def _with_trouble(status: Status, system: System, estimate: Array) -> Status:
    """The status, changed where nothing was published or no secret comes near it."""
    if not system.rows.target.size:
        return Status("uncalibrated", "nothing is published about the secret")
    misfit = (system.operator @ (estimate * system.size) - system.rows.target) / system.rows.spread
    excess = float(np.sqrt(np.mean(misfit**2)))
    if status.settled and excess > _CONTRADICTION:
        missed = f"the best secret misses the values by {excess:.1f} times the declared noise"
        return Status("contradictory", f"{missed}; declare the noise they have")
    return status


@dataclass(frozen=True, eq=False)
class Whitened:
    """A system of which every row has unit noise, decomposed once for any target: U diag(s) Vᵀ."""

    left: Array
    singular: Array
    right: Array
    root: Array  # √ the people of each unknown
    spread: Array

    @classmethod
    def of(cls, system: System) -> Whitened:
        """The decomposition, O(m n min(m, n))."""
        return Factored.of(system).whitened(system.rows.spread)

    def scaled(self, factor: float) -> Whitened:
        """The same system with the spread of every row so many times larger."""
        return replace(self, singular=self.singular / factor, spread=self.spread * factor)

    def estimate(self, target: Array) -> tuple[Array, float, float]:
        """The posterior mean of each group's average, with the mean and variance over people."""
        estimates, means, variances = self.estimates(target[:, None])
        return estimates[:, 0], float(means[0]), float(variances[0])

    def estimates(self, targets: Array) -> tuple[Array, Array, Array]:
        """The same for each column of targets."""
        values = self.left.T @ (targets / self.spread[:, None])
        everybody = (self.singular * (self.right @ self.root))[:, None]
        means, variances = _populations(values, everybody, self.singular)
        precision = 1 / (variances * self.singular[:, None] ** 2 + 1)
        weights = variances * self.singular[:, None] * precision
        deviation = self.right.T @ (weights * (values - means * everybody))
        return means + deviation / self.root[:, None], means, variances


@dataclass(frozen=True, eq=False)
class Factored:
    """A system's rows as a small matrix times orthonormal columns, whatever the spread of the rows."""

    small: Array
    basis: Array
    root: Array

    @classmethod
    def of(cls, system: System) -> Factored:
        """A diag(√size) = L Qᵀ, O(m n min(m, n))."""
        root = np.sqrt(system.size)
        basis, triangle = np.linalg.qr((system.operator.to_dense() * root).T)
        return cls(triangle.T, basis, root)

    def whitened(self, spread: Array) -> Whitened:
        """The system with rows of this spread, O(min(m, n)² (m + n))."""
        left, singular, right = np.linalg.svd(self.small / spread[:, None], full_matrices=False)
        return Whitened(left, singular, right @ self.basis.T, self.root, spread)


def _populations(targets: Array, everybody: Array, singular: Array) -> tuple[Array, Array]:
    """The mean and variance over people that make each column of published values most likely.

    The logarithm of the variance from a coarse grid, then by golden sections to 1e-5.
    """
    columns = targets.shape[1]
    if not targets.size or not singular.max(initial=0.0):
        return np.zeros(columns), np.ones(columns)
    # how large the secrets must be, overall, to explain the published values
    scale = np.sqrt(np.mean(targets**2, axis=0)) / float(np.sqrt(np.mean(singular**2))) + 1e-300
    centre = 2 * np.log(scale)
    # about a first mean, so that no digits are lost where the mean is large beside the spread
    ones = float((everybody**2).sum())
    about = (everybody * targets).sum(axis=0) / ones if ones > 0 else np.zeros(columns)
    rest, energy = targets - about * everybody, singular[:, None] ** 2
    square, cross, weights = rest**2, everybody * rest, (everybody**2)[:, 0]

    def fit(logs: Array) -> tuple[Array, Array]:
        precision = 1 / (np.exp(logs) * energy + 1)
        weight, total = weights @ precision, (precision * cross).sum(axis=0)
        means = np.divide(total, weight, out=np.zeros(columns), where=weight > 0)
        misfit = (precision * square).sum(axis=0) - means * total
        return about + means, 0.5 * (misfit - np.log(precision).sum(axis=0))

    step = 2 * _WIDEST / _GRID
    grid = centre - _WIDEST + step * np.arange(_GRID + 1)[:, None]
    best = np.argmin([fit(logs)[1] for logs in grid], axis=0)
    middle = grid[best, np.arange(columns)]
    logs = _golden(lambda logs: fit(logs)[1], middle - step, middle + step)
    logs = np.clip(logs, centre - _WIDEST, centre + _WIDEST)
    return fit(logs)[0], np.exp(logs)


def _golden(function: Callable[[Array], Array], low: Array, high: Array) -> Array:
    """Where each of several functions of one number is least, between bounds that hold one minimum."""
    first, second = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_first, at_second = function(first), function(second)
    while float((high - low).max()) > _NEAR:
        left = at_first < at_second
        low, high = np.where(left, low, first), np.where(left, second, high)
        new = np.where(left, high - _GOLDEN * (high - low), low + _GOLDEN * (high - low))
        at_new = function(new)
        first, second = np.where(left, new, second), np.where(left, first, new)
        at_first, at_second = np.where(left, at_new, at_second), np.where(left, at_first, at_new)
    return (low + high) / 2


def _within(
    system: System, mean: float, variance: float, bounds: tuple[float, float]
) -> tuple[Array, Status]:
    """The most probable point of the box."""
    low, high = bounds
    size = system.size
    problem = BoxProblem(
        system.operator,
        1 / system.rows.spread**2,
        1 / (variance * size),
        mean * size,
        low * size,
        high * size,
    )
    solution = LeastSquares().prepare(problem).solve(system.rows.target)
    return solution.value / size, solution.status
