"""private-ols: Figure 2 (privacy against error) and Figure 3 (black box against theory), rerun.

The paper prints its figures without numbers, so statements are compared, not curves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tellall.attack.blackbox.estimate import Progress, Seed, estimate_profile
from tellall.core.errors import invalid
from tellall.people.readers import read_table
from tellall.promise.least_squares.projected import ProjectedLeastSquares
from tellall.promise.least_squares.sketched import SketchedLeastSquares
from tellall.promise.privacy.records import influence
from tellall.release.profile import Floats, gaussian_delta
from tellall.report.paper import PaperRerun

__all__ = [
    "Figure2",
    "Figure3",
    "Growth",
    "PaperData",
    "figure_2",
    "figure_3",
    "growth",
    "load",
    "rerun",
]

_FINE = 81  # points of a curve that is drawn
_FILES = {"flights": "flights.parquet", "counties": "lung_cancer_counties.csv"}


@dataclass(frozen=True)
class PaperData:
    """One of the paper's data sets: features with a constant column, response."""

    name: str
    features: Floats
    response: Floats


@dataclass(frozen=True)
class _Plan:
    """Where a data set is tried: ε, the sketch rows of Figure 2, and the sketch and largest ε of Figure 3.

    ε is small enough for δ to be seen: a flight moves a fit of 327 346 far less than a county one of 2 809.
    """

    data: str
    epsilon: float
    span: tuple[int, int]
    rows: int
    reach: float


_PLANS = (
    _Plan("flights", 0.01, (10, 100_000), 100_000, 0.15),
    _Plan("counties", 1.0, (20, 10_000), 100, 3.0),
)


@dataclass(frozen=True)
class Figure2:
    """δ at one ε against E‖x̃ − x‖², the three methods at equal numbers of sketch rows or equal error.

    Attributes
    ----------
    nothing : float
        ‖x‖², the error of answering 0 whatever the data.
    rows : tuple of int
        Rows of the sketch (and of the projection).
    error : tuple of float
        Expected squared error of the sketch, and of the Gaussian noise beside it.
    sketched, sketched_normal, gaussian : tuple of float
        δ at that error: the exact law, the paper's normal limit, and Gaussian noise of the same error.
    projected_error, projected : tuple of float
        Error and δ of projected least squares with as many rows, padded for (ε, δ = 1/n) with the largest row
        norm as its bound, as in the paper (which makes the bound itself not private).
    """

    data: str
    epsilon: float
    nothing: float
    rows: tuple[int, ...]
    error: tuple[float, ...]
    sketched: tuple[float, ...]
    sketched_normal: tuple[float, ...]
    gaussian: tuple[float, ...]
    projected_error: tuple[float, ...]
    projected: tuple[float, ...]

    @property
    def sketch_beats_noise(self) -> bool:
        """The paper's statement: at equal error the sketch has the smaller δ (here with the exact law).

        It need not hold: the spread of the sketch itself depends on the record, so a record with much
        leverage and no residual, which Gaussian noise hides entirely, shows in a sketch.
        """
        return all(a <= b for a, b in zip(self.sketched, self.gaussian, strict=True))


@dataclass(frozen=True)
class Figure3:
    """The black box against theory for the worst record of one data set.

    Attributes
    ----------
    pure : float
        From this ε on the exact δ is 0.
    epsilon, exact, normal, estimate, lower : tuple of float
        On the black box's grid: the exact law, the paper's normal limit, the estimate, its 99 % lower bound.
    curve_epsilon, curve_exact, curve_normal : tuple of float
        The two laws on a finer grid, to be drawn.
    """

    data: str
    rows: int
    record: int
    draws: int
    pure: float
    epsilon: tuple[float, ...]
    exact: tuple[float, ...]
    normal: tuple[float, ...]
    estimate: tuple[float, ...]
    lower: tuple[float, ...]
    curve_epsilon: tuple[float, ...]
    curve_exact: tuple[float, ...]
    curve_normal: tuple[float, ...]

    @property
    def from_below(self) -> bool:
        """The paper's statement: the estimates approach the theory from below (here: no bound exceeds it)."""
        return all(a <= b for a, b in zip(self.lower, self.exact, strict=True))


@dataclass(frozen=True)
class Growth:
    """A part of a data set beside all of it; each pair is (part, all)."""

    data: str
    part: int
    n: int
    sketched: tuple[float, float]
    gaussian: tuple[float, float]
    projected_error: tuple[float, float]


def load(name: str, folder: str | Path) -> PaperData:
    """A data set of the paper from a folder that holds its file: "flights" or "counties"."""
    if name not in _FILES:
        raise invalid("name", f"one of {sorted(_FILES)}", name)
    path = Path(folder) / _FILES[name]
    if not path.exists():
        raise invalid("folder", f"a folder that holds {_FILES[name]}", str(folder))
    columns = read_table(path)
    if name == "flights":
        used, target, extra = ["dep_delay"], "arr_delay", True
    else:
        used = [c for c in columns if c not in ("FIPS", "AreaName", "Mortality_Rate")]
        target, extra = "Mortality_Rate", False
    features = np.column_stack([np.asarray(columns[c], dtype=np.float64) for c in used])
    if extra:
        features = np.column_stack([np.ones(len(features)), features])
    return PaperData(name, features, np.asarray(columns[target], dtype=np.float64))


def figure_2(data: PaperData, *, epsilon: float, rows: Sequence[int]) -> Figure2:
    """Privacy against error for the three methods on one data set.

    Notes
    -----
    private-ols, Fig. 2; its curves come from the normal limit (Lemma 1), ours from the exact law, both drawn.
    """
    x, y = data.features, data.response
    fit = influence(x, y)
    width, most = len(fit.coefficients), float(fit.sensitivity.max())
    bound = float(np.sqrt((x**2).sum(axis=1) + y**2).max())
    out: list[tuple[float, ...]] = []
    for count in rows:
        sketched = SketchedLeastSquares(count)
        error = sketched.expected_error(x, y)
        projected = ProjectedLeastSquares(count, epsilon, 1.0 / len(y), bound)
        out.append(
            (
                error,
                float(sketched.profile(x, y).delta(epsilon)),
                float(sketched.profile(x, y, method="asymptotic").delta(epsilon)),
                float(gaussian_delta(epsilon, most, np.sqrt(error / width))),
                projected.expected_error(x, y),
                float(projected.profile(x, y).delta(epsilon)),
            )
        )
    columns = (tuple(column) for column in zip(*out, strict=True))
    nothing = float(fit.coefficients @ fit.coefficients)
    return Figure2(data.name, float(epsilon), nothing, tuple(rows), *columns)


def figure_3(
    data: PaperData,
    *,
    rows: int,
    epsilons: Sequence[float],
    draws: int = 100_000,
    rng: Seed = None,
    progress: Progress | bool | None = None,
) -> Figure3:
    """The black box on the worst record of one data set, beside the exact law and the paper's normal limit.

    Notes
    -----
    private-ols, Fig. 3, with 10⁷ training and 10⁶ test draws there.
    """
    x, y = data.features, data.response
    method = SketchedLeastSquares(rows)
    exact, normal = (method.profile(x, y, method=way) for way in ("exact", "asymptotic"))
    record = int(exact.worst_record or 0)
    other_x, other_y = x.copy(), y.copy()
    other_x[record], other_y[record] = 0.0, 0.0
    seen = estimate_profile(
        method.sampler(x, y),
        method.sampler(other_x, other_y),
        epsilons,
        draws,
        rng=rng,
        training=draws,
        progress=progress,
    )
    eps = np.asarray(epsilons, dtype=np.float64)
    fine = np.union1d(np.linspace(float(eps.min()), float(eps.max()), _FINE), eps)
    curves = [exact.delta(eps), normal.delta(eps), seen.delta(eps), seen.lower(eps)]
    curves += [fine, exact.delta(fine), normal.delta(fine)]
    values = [tuple(float(v) for v in curve) for curve in curves]
    pure = float(exact.pure_epsilon)
    return Figure3(data.name, rows, record, draws, pure, tuple(float(e) for e in eps), *values)


def growth(data: PaperData, *, rows: int, epsilon: float, share: float, rng: Seed) -> Growth:
    """A random share of a data set beside all of it: δ of sketch and noise, error of the projection.

    Notes
    -----
    private-ols, Sec. 5: "the larger the dataset, the better privacy and utility for ALS and Gaussian LS", and
    the error of RP LS does not depend on the size. Noise has the error of the sketch on all of the data.
    """
    n = len(data.response)
    some = np.random.default_rng(rng).choice(n, round(share * n), replace=False)
    part = PaperData(data.name, data.features[some], data.response[some])
    std = np.sqrt(SketchedLeastSquares(rows).expected_error(data.features, data.response))
    found = []
    for one in (part, data):
        x, y = one.features, one.response
        bound = float(np.sqrt((data.features**2).sum(axis=1) + data.response**2).max())
        most = float(influence(x, y).sensitivity.max())
        found.append(
            (
                float(SketchedLeastSquares(rows).profile(x, y).delta(epsilon)),
                float(gaussian_delta(epsilon, most, std / np.sqrt(x.shape[1]))),
                ProjectedLeastSquares(rows, epsilon, 1.0 / n, bound).expected_error(x, y),
            )
        )
    return Growth(data.name, len(some), n, *zip(*found, strict=True))


def rerun(
    folder: str | Path, *, quick: bool = True, rng: Seed = 0, progress: Progress | bool | None = None
) -> PaperRerun:
    """Both figures on both data sets; `quick` takes 10⁵ draws instead of 10⁶ and fewer points."""
    from tellall.papers.private_ols_page import written

    draws, points = (100_000, 8) if quick else (1_000_000, 16)
    first, second, third = np.random.default_rng(rng).spawn(3)
    twos, threes = [], []
    for plan, generator in zip(_PLANS, (first, second), strict=True):
        data = load(plan.data, folder)
        rows = np.unique(np.geomspace(*plan.span, points).round().astype(int))
        twos.append(figure_2(data, epsilon=plan.epsilon, rows=[int(r) for r in rows]))
        grid = list(np.linspace(0.0, plan.reach, 7 if quick else 13))
        threes.append(
            figure_3(data, rows=plan.rows, epsilons=grid, draws=draws, rng=generator, progress=progress)
        )
    large, plan = load(_PLANS[0].data, folder), _PLANS[0]
    grown = growth(large, rows=1000, epsilon=plan.epsilon, share=0.1, rng=third)
    return written(twos, threes, grown, seed=rng if isinstance(rng, int) else None, quick=quick)
