"""The attack on real secrets: no rounding, every person a number and how far it may be off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from tellall.data import Public
from tellall.errors import invalid
from tellall.evidence import Evidence, System
from tellall.linops import Array
from tellall.release import Release
from tellall.solve import BoxProblem, LeastSquares, Status

__all__ = ["RealReconstruction", "Whitened", "reconstruct_reals"]

_MOST_ENTRIES = 200_000_000
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
    estimate, mean, variance = whitened.estimate(system.target)
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
    if not system.target.size:
        return Status("uncalibrated", "nothing is published about the secret")
    misfit = (system.operator @ (estimate * system.size) - system.target) / system.spread
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
        root = np.sqrt(system.size)
        rows = system.operator.to_dense() / system.spread[:, None] * root
        return cls(*np.linalg.svd(rows, full_matrices=False), root, system.spread)

    def scaled(self, factor: float) -> Whitened:
        """The same system with the spread of every row so many times larger."""
        return replace(self, singular=self.singular / factor, spread=self.spread * factor)

    def estimate(self, target: Array) -> tuple[Array, float, float]:
        """The posterior mean of each group's average, with the mean and variance over people."""
        values, everybody = self.left.T @ (target / self.spread), self.singular * (self.right @ self.root)
        mean, variance = _population(values, everybody, self.singular)
        precision = 1 / (variance * self.singular**2 + 1)
        deviation = self.right.T @ (variance * self.singular * precision * (values - mean * everybody))
        return mean + deviation / self.root, mean, variance


def _population(target: Array, everybody: Array, singular: Array) -> tuple[float, float]:
    """The mean and variance over people that make the published values most likely."""
    from scipy.optimize import minimize_scalar

    def mean_at(variance: float) -> tuple[float, float]:
        precision = 1 / (variance * singular**2 + 1)
        weight = float(precision @ everybody**2)
        mean = float(precision @ (everybody * target)) / weight if weight > 0 else 0.0
        misfit = target - mean * everybody
        return mean, float(0.5 * (precision @ misfit**2) - 0.5 * np.log(precision).sum())

    if not target.size or not singular.max(initial=0.0):
        return 0.0, 1.0
    # how large the secrets must be, overall, to explain the published values
    scale = float(np.sqrt(np.mean(target**2))) / float(np.sqrt(np.mean(singular**2))) + 1e-300
    found = minimize_scalar(
        lambda log: mean_at(float(np.exp(log)))[1],
        bounds=(2 * np.log(scale) - 25, 2 * np.log(scale) + 25),
        method="bounded",
        options={"xatol": 1e-4},
    )
    variance = float(np.exp(found.x))
    return mean_at(variance)[0], variance


def _within(
    system: System, mean: float, variance: float, bounds: tuple[float, float]
) -> tuple[Array, Status]:
    """The most probable point of the box."""
    low, high = bounds
    size = system.size
    problem = BoxProblem(
        system.operator,
        1 / system.spread**2,
        1 / (variance * size),
        mean * size,
        low * size,
        high * size,
    )
    solution = LeastSquares().prepare(problem).solve(system.target)
    return solution.value / size, solution.status
