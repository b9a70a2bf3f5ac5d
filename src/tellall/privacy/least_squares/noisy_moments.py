"""Least squares from noisy second moments: Wishart noise (Sheffet) and normal noise (Analyze Gauss)."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from tellall.core.checks import above_zero, at_least_zero, share
from tellall.core.errors import invalid
from tellall.privacy.least_squares.interface import PrivateLeastSquares, Sampler, Seed
from tellall.privacy.record_influence import as_regression, influence
from tellall.privacy.wishart import wishart_degrees, wishart_delta
from tellall.protections.profile import Curve, Floats, PrivacyProfile, gaussian_delta, gaussian_std

__all__ = [
    "AnalyzeGaussLeastSquares",
    "MomentsLeastSquares",
    "WishartLeastSquares",
]

_DRAWS = 4000  # for the expected error, with a fixed seed
_AT_ONCE = 4_000_000  # numbers of a batch of draws


@dataclass(frozen=True)
class MomentsLeastSquares(PrivateLeastSquares):
    """Noise on DᵀD, D = [features, response]; the coefficients are computed from the noisy moments.

    What two methods share. Both promise (ε, δ) for all data whose rows obey a public bound, one row zeroed.
    Profiles are those of the noisy moments, exactly; the coefficients, computed from them, are promised at
    least as much.
    """

    epsilon: float
    delta: float
    row_bound: float

    def __post_init__(self) -> None:
        at_least_zero("epsilon", self.epsilon), share("delta", self.delta, zero=False, one=False)
        above_zero("row_bound", self.row_bound, finite=False)

    def moments(self, features: ArrayLike, response: ArrayLike, rng: Seed = None) -> Floats:
        """The noisy second moments of [features, response], which may be published as they are."""
        exact = self._exact(features, response)
        return np.asarray(exact + self._noise(len(exact), 1, np.random.default_rng(rng))[0])

    def fit(self, features: ArrayLike, response: ArrayLike, rng: Seed = None) -> Floats:
        """The released coefficients. O(n p²)."""
        return np.asarray(self.sampler(features, response)(1, rng)[0])

    def sampler(self, features: ArrayLike, response: ArrayLike) -> Sampler:
        """A function (size, rng) that draws releases on this data, for the black box; O(p³) a draw."""
        exact = self._exact(features, response)
        width = len(exact)

        def sample(size: int, rng: Seed = None) -> Floats:
            generator, out = np.random.default_rng(rng), np.empty((size, width - 1))
            step = max(1, _AT_ONCE // width**2)
            for start in range(0, size, step):
                part = slice(start, min(start + step, size))
                noisy = exact + self._noise(width, part.stop - start, generator)
                out[part] = np.linalg.solve(self._ready(noisy[:, :-1, :-1]), noisy[:, :-1, -1:])[..., 0]
            return out

        return sample

    @abstractmethod
    def guarantee(self) -> PrivacyProfile:
        """The profile promised for every data set whose rows obey the bound, one row zeroed."""

    def profile(self, features: ArrayLike, response: ArrayLike, method: str = "exact") -> PrivacyProfile:
        """The privacy profile of the noisy moments on this data: δ(ε) of the longest row, zeroed."""
        if method not in ("exact", "asymptotic"):
            raise invalid("method", "'exact' or 'asymptotic' (the same here)", method)
        table = self._checked(features, response)
        sizes = self._moves(table)
        worst = int(np.argmax(sizes))
        return PrivacyProfile(
            curve=self._curve(float(sizes[worst]), table.shape[1]),
            mechanism=f"second moments, {self.name}",
            method="exact",
            worst_record=worst,
            pure_epsilon=0.0 if sizes[worst] == 0.0 else float("inf"),
        )

    def expected_error(self, features: ArrayLike, response: ArrayLike) -> float:
        """E‖x̃ − x‖² on this data: the mean of 4,000 draws with a fixed seed, as there is no closed form."""
        exact = influence(features, response).coefficients
        drawn = self.sampler(features, response)(_DRAWS, 0)
        return float(((drawn - exact) ** 2).sum(axis=1).mean())

    def _checked(self, features: ArrayLike, response: ArrayLike) -> Floats:
        """[features, response]; refuses rows over the bound, since the promise would not hold."""
        table = np.column_stack(as_regression(features, response))
        norms = np.linalg.norm(table, axis=1)
        if norms.size and norms.max() > self.row_bound * (1.0 + 1e-12):
            raise invalid(
                "row_bound",
                "at least the norm of every row of [features, response]",
                f"{self.row_bound:g} where row {int(norms.argmax())} has norm {norms.max():.4g}",
                "Scale or clip the rows to a public bound.",
            )
        return table

    def _exact(self, features: ArrayLike, response: ArrayLike) -> Floats:
        table = self._checked(features, response)
        return np.asarray(table.T @ table)

    def _ready(self, noisy: Floats) -> Floats:
        """The noisy moments of the features (draws × p × p), ready to be solved with."""
        return noisy

    @abstractmethod
    def _noise(self, width: int, size: int, rng: np.random.Generator) -> Floats:
        """Draws of the noise, size × width × width."""

    @abstractmethod
    def _moves(self, table: Floats) -> Floats:
        """How far zeroing each row moves the moments, in the measure that `_curve` takes."""

    @abstractmethod
    def _curve(self, move: float, width: int) -> Curve:
        """δ(ε) of a row that moves the moments so far."""


@dataclass(frozen=True)
class WishartLeastSquares(MomentsLeastSquares):
    """Least squares on the data and a number of random rows, of which only second moments are published.

    Parameters
    ----------
    epsilon, delta : float
        The promise for all data under the row bound, one row zeroed.
    row_bound : float
        A public bound on the norm of a row of [features, response]; not the largest norm in the data.
    scale : float, optional
        The standard deviation of the entries of the random rows; the row bound by default, as published. A
        smaller one takes more rows and pulls the coefficients further towards 0.

    Notes
    -----
    Additive Wishart noise (Sheffet 2019), an algorithm with which private-ols compares itself only in words:
    DᵀD + W, W the sum of ggᵀ over `degrees` normal rows g. It is positive definite, so that coefficients
    can always be computed; they are those of a ridge regression. The fewest rows that keep the promise are
    used, by the exact δ of `tellall.privacy.wishart_delta`, not by the published sufficient number.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-1, 1, (2000, 2))
    >>> y = x @ [0.5, -0.3] + rng.uniform(-0.2, 0.2, 2000)
    >>> method = WishartLeastSquares(1.0, 1e-5, row_bound=2.0)
    >>> method.degrees(3), bool(method.guarantee().delta(1.0) <= 1e-5)
    (36, True)
    >>> method.fit(x, y, rng=1).round(2)
    array([ 0.39, -0.21])
    """

    scale: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.scale is not None:
            above_zero("scale", self.scale, finite=False)

    @property
    def name(self) -> str:
        return f"Wishart noise, rows of scale {self._scale:.3g}"

    def degrees(self, columns: int) -> int:
        """How many random rows are added to data of so many columns, the response among them."""
        return self._spare + columns - 1

    def guarantee(self) -> PrivacyProfile:
        """The profile promised for every data set whose rows obey the bound, one row zeroed."""
        return PrivacyProfile(
            curve=self._curve(self.row_bound**2, 1),
            mechanism=f"second moments of rows of norm at most {self.row_bound:g}, {self.name}",
            method="guarantee",
            relative=False,
        )

    @property
    def _scale(self) -> float:
        return self.row_bound if self.scale is None else self.scale

    @property
    def _spare(self) -> int:
        """The degrees of freedom of the chi-square number that hides a row; δ hangs on these alone."""
        return wishart_degrees(self.epsilon, self.delta, 1, length=(self.row_bound / self._scale) ** 2)

    def _noise(self, width: int, size: int, rng: np.random.Generator) -> Floats:
        """By Bartlett's triangle: roots of chi-squares on its diagonal, normals below."""
        triangle = np.tril(rng.standard_normal((size, width, width)), -1)
        place = np.arange(width)
        triangle[:, place, place] = np.sqrt(rng.chisquare(self.degrees(width) - place, (size, width)))
        return np.asarray(self._scale**2 * triangle @ triangle.transpose(0, 2, 1))

    def _moves(self, table: Floats) -> Floats:
        return np.asarray((table**2).sum(axis=1))

    def _curve(self, move: float, width: int) -> Curve:
        degrees, length = self.degrees(width), move / self._scale**2
        return lambda eps: wishart_delta(eps, length, degrees, width)


@dataclass(frozen=True)
class AnalyzeGaussLeastSquares(MomentsLeastSquares):
    """Least squares from second moments with independent normal noise on each of them.

    Parameters
    ----------
    epsilon, delta : float
        The promise for all data under the row bound, one row zeroed.
    row_bound : float
        A public bound on the norm of a row of [features, response]; not the largest norm in the data.
    floor : float, optional
        Eigenvalues of the features' noisy moments below it are raised to it before anything is solved; by
        default 2·std·√p, about the largest eigenvalue of the noise alone. At 0 nothing is raised, and the
        expected error is infinite: the noisy moments may be nearly singular.

    Notes
    -----
    "Analyze Gauss" (Dwork, Talwar, Thakurta and Zhang 2014), the Gaussian mechanism of private-ols' related
    work, applied to DᵀD: each moment has noise of its own, and the matrix is kept symmetric. Zeroing the row
    v moves the moments by √((‖v‖⁴ + Σ v_j⁴)/2), at most the squared row bound, which a row along one column
    attains. The noise is the least that keeps the promise (the analytic Gaussian mechanism).

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-1, 1, (2000, 2))
    >>> y = x @ [0.5, -0.3] + rng.uniform(-0.2, 0.2, 2000)
    >>> method = AnalyzeGaussLeastSquares(1.0, 1e-5, row_bound=2.0)
    >>> round(method.std, 3), method.fit(x, y, rng=1).round(2)
    (14.923, array([ 0.51, -0.3 ]))
    """

    floor: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.floor is not None:
            at_least_zero("floor", self.floor)

    @property
    def name(self) -> str:
        return f"normal noise on second moments, std {self.std:.3g}"

    @property
    def std(self) -> float:
        """The standard deviation of the noise on each moment."""
        return gaussian_std(self.epsilon, self.delta, sensitivity=self.row_bound**2)

    def guarantee(self) -> PrivacyProfile:
        """The profile promised for every data set whose rows obey the bound, one row zeroed."""
        return PrivacyProfile(
            curve=self._curve(self.row_bound**2, 1),
            mechanism=f"second moments of rows of norm at most {self.row_bound:g}, {self.name}",
            method="guarantee",
            relative=False,
        )

    def expected_error(self, features: ArrayLike, response: ArrayLike) -> float:
        """E‖x̃ − x‖² on this data: the mean of 4,000 draws with a fixed seed; infinite without a floor."""
        return math.inf if self.floor == 0 else super().expected_error(features, response)

    def _ready(self, noisy: Floats) -> Floats:
        width = noisy.shape[-1]
        floor = 2.0 * self.std * math.sqrt(width) if self.floor is None else self.floor
        if not floor:
            return noisy
        values, vectors = np.linalg.eigh(noisy)
        return np.asarray((vectors * np.maximum(values, floor)[:, None, :]) @ vectors.transpose(0, 2, 1))

    def _noise(self, width: int, size: int, rng: np.random.Generator) -> Floats:
        upper = np.triu(self.std * rng.standard_normal((size, width, width)))
        return np.asarray(upper + np.triu(upper, 1).transpose(0, 2, 1))

    def _moves(self, table: Floats) -> Floats:
        squares = table**2
        return np.asarray(np.sqrt((squares.sum(axis=1) ** 2 + (squares**2).sum(axis=1)) / 2.0))

    def _curve(self, move: float, width: int) -> Curve:
        std = self.std
        return lambda eps: gaussian_delta(eps, move, std)
