"""Projected least squares: pad the data, project, solve; private for all data under a row bound."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from tellall.core.checks import above_zero, at_least_zero, share, whole
from tellall.core.errors import invalid
from tellall.privacy.least_squares.interface import Chunks, SketchSolver
from tellall.privacy.least_squares.sketched import MOST_ROWS, sketched_profile
from tellall.privacy.projection import Padding, padding, projection_delta
from tellall.privacy.record_influence import influence
from tellall.protections.profile import Floats, PrivacyProfile

__all__ = [
    "ProjectedLeastSquares",
]


@dataclass(frozen=True)
class ProjectedLeastSquares(SketchSolver):
    """Least squares on a Gaussian projection of the data padded with c2·I.

    Parameters
    ----------
    rows : int
        Rows of the projection, at least the number of features.
    epsilon, delta : float
        The promise for all data under the row bound, one row zeroed.
    row_bound : float
        A public bound on the norm of a row of [features, response]; not the largest norm in the data.
    c2 : {"exact", "sqrt", "printed"}
        How the padding is chosen: see `tellall.privacy.padding`.

    Notes
    -----
    private-ols, Fig. 4, Sheffet's private ridge regression, with the padded features *and* response in its
    last step (E-PO-3).
    It is sketched least squares on B̄ = [B; c2·I; 0], b̄ = [b; 0; c2], so the released solution has an exact
    Student t profile too, tighter than that of the projection.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-1, 1, (2000, 2))
    >>> y = x @ [0.5, -0.3] + rng.uniform(-0.2, 0.2, 2000)
    >>> method = ProjectedLeastSquares(30, 1.0, 1e-5, row_bound=2.0)
    >>> bool(method.guarantee().delta(1.0) <= 1e-5)
    True
    >>> of_solution = method.profile(x, y).delta(0.1)
    >>> of_projection = method.profile(x, y, of="projection").delta(0.1)
    >>> bool(of_solution < of_projection < method.guarantee().delta(0.1))
    True
    """

    rows: int
    epsilon: float
    delta: float
    row_bound: float
    c2: Padding = "exact"

    def __post_init__(self) -> None:
        whole("rows", self.rows, most=MOST_ROWS)
        at_least_zero("epsilon", self.epsilon), share("delta", self.delta, zero=False, one=False)
        above_zero("row_bound", self.row_bound, finite=False)
        if self.c2 not in ("exact", "sqrt", "printed"):
            raise invalid("c2", "'exact', 'sqrt' or 'printed'", self.c2)

    @property
    def name(self) -> str:
        return f"projected, {self.rows} rows, c2 {self.c2} = {self.padding:.3g}"

    @property
    def padding(self) -> float:
        """The value of c2."""
        return padding(self.epsilon, self.delta, self.rows, row_bound=self.row_bound, c2=self.c2)

    def guarantee(self) -> PrivacyProfile:
        """The profile promised for every data set whose rows obey the bound, one row zeroed.

        A row of norm c1 has joint leverage at most c1²/(c1² + c2²) in the padded data.
        """
        leverage = self.row_bound**2 / (self.row_bound**2 + self.padding**2)
        return PrivacyProfile(
            curve=lambda eps: projection_delta(eps, leverage, self.rows),
            mechanism=f"a projection of rows of norm at most {self.row_bound:g}, {self.rows} rows",
            method="guarantee",
            leverage=leverage,
            relative=False,
        )

    def profile(
        self, features: ArrayLike, response: ArrayLike, method: str = "exact", *, of: str = "solution"
    ) -> PrivacyProfile:
        """The privacy profile on this data, one data row zeroed (padding rows cannot be).

        Parameters
        ----------
        of : {"solution", "projection"}
            The released coefficients, or the whole projection they are computed from (not smaller).
        """
        if of not in ("solution", "projection"):
            raise invalid("of", "'solution' or 'projection'", of)
        table, target = self._data(features, response)
        count = len(target) - table.shape[1] - 1
        if of == "solution":
            fit, what = influence(table, target), "projected least squares"
            return sketched_profile(fit, rows=self.rows, method=method, records=count, mechanism=what)
        if method not in ("exact", "asymptotic"):
            raise invalid("method", "'exact' or 'asymptotic' (the same for a projection)", method)
        joint = influence(np.column_stack([table, target]), target).leverage[:count]
        worst = int(np.argmax(joint))
        most = float(joint[worst])
        return PrivacyProfile(
            curve=lambda eps: projection_delta(eps, most, self.rows),
            mechanism=f"the padded data projected to {self.rows} rows",
            method="exact",
            worst_record=worst,
            leverage=most,
        )

    def expected_error(self, features: ArrayLike, response: ArrayLike) -> float:
        """E‖x̃ − x‖² on this data: the variance of the sketched padded fit plus the squared bias of padding.

        ‖w̄‖² tr(B̄ᵀB̄)⁻¹/(r − p − 1) + ‖x̄ − x‖²; infinite for rows ≤ features + 1.
        """
        plain, padded = influence(features, response), influence(*self._data(features, response))
        return self._variance(padded) + float(((padded.coefficients - plain.coefficients) ** 2).sum())

    def _chunks(
        self, features: ArrayLike | Chunks, response: ArrayLike | None
    ) -> Iterator[tuple[Floats, Floats]]:
        """The data, then the padding; refuses rows over the bound, since the promise would not hold."""
        width, seen = 0, 0
        for table, target in super()._chunks(features, response):
            width = table.shape[1]
            norms = np.sqrt((table**2).sum(axis=1) + target**2)
            if norms.size and norms.max() > self.row_bound * (1.0 + 1e-12):
                raise invalid(
                    "row_bound",
                    "at least the norm of every row of [features, response]",
                    f"{self.row_bound:g} where row {seen + int(norms.argmax())} has norm {norms.max():.4g}",
                    "Scale or clip the rows to a public bound.",
                )
            seen += len(target)
            yield table, target
        extra = np.eye(width + 1) * self.padding
        yield extra[:, :-1], extra[:, -1]
