"""private-ols: Figure 2 (privacy against error) and Figure 3 (black box against theory), rerun.

The paper prints its figures without numbers, so statements are compared, not curves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from tellall.attacks.blackbox import Progress, Seed, estimate_profile
from tellall.errors import invalid
from tellall.io import read_table
from tellall.privacy import gaussian_delta, influence
from tellall.privacy.arguments import Floats
from tellall.private_ols import ProjectedLeastSquares, SketchedLeastSquares

__all__ = ["Figure2", "Figure3", "PaperData", "Rerun", "figure_2", "figure_3", "load", "rerun"]

_FILES = {"flights": "flights.parquet", "counties": "lung_cancer_counties.csv"}


@dataclass(frozen=True)
class PaperData:
    """One of the paper's data sets: features with a constant column, response."""

    name: str
    features: Floats
    response: Floats


@dataclass(frozen=True)
class Figure2:
    """δ at one ε against E‖x̃ − x‖², the three methods at equal numbers of sketch rows or equal error.

    Attributes
    ----------
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

    def __str__(self) -> str:
        head = f"Figure 2, {self.data}: δ at ε = {self.epsilon:g} against E‖error‖²"
        lines = [
            "    rows   E‖error‖²  sketch exact  sketch normal  Gaussian noise   projected: E‖error‖²   δ"
        ]
        columns = (
            self.rows,
            self.error,
            self.sketched,
            self.sketched_normal,
            self.gaussian,
            self.projected_error,
            self.projected,
        )
        for r, error, exact, normal, noise, far, padded in zip(*columns, strict=True):
            lines.append(
                f"{r:8d} {error:11.4g} {exact:13.4g} {normal:14.4g} {noise:15.4g} {far:22.4g} {padded:11.3g}"
            )
        verdict = "holds" if self.sketch_beats_noise else "does not hold at every point"
        return "\n".join(
            [head, *lines, f"“The sketch has the best trade-off” against Gaussian noise: {verdict}."]
        )


@dataclass(frozen=True)
class Figure3:
    """The black box against theory for the worst record of one data set."""

    data: str
    rows: int
    record: int
    draws: int
    epsilon: tuple[float, ...]
    exact: tuple[float, ...]
    normal: tuple[float, ...]
    estimate: tuple[float, ...]
    lower: tuple[float, ...]

    @property
    def from_below(self) -> bool:
        """The paper's statement: the estimates approach the theory from below (here: no bound exceeds it)."""
        return all(a <= b for a, b in zip(self.lower, self.exact, strict=True))

    def __str__(self) -> str:
        head = (
            f"Figure 3, {self.data}: sketch of {self.rows} rows, record {self.record} zeroed, "
            f"{self.draws} draws on each side"
        )
        lines = ["     ε       exact  paper's normal   estimate  99 % lower"]
        for row in zip(self.epsilon, self.exact, self.normal, self.estimate, self.lower, strict=True):
            lines.append("{:6.3g} {:11.4g} {:15.4g} {:10.4g} {:11.4g}".format(*row))
        verdict = "holds" if self.from_below else "does not hold"
        return "\n".join(
            [head, *lines, f"“The estimates stay below the theory” for every lower bound: {verdict}."]
        )


@dataclass(frozen=True)
class Rerun:
    """Both figures for every data set; `str` gives the tables, `as_dict` their JSON form."""

    figure_2: tuple[Figure2, ...]
    figure_3: tuple[Figure3, ...]

    def as_dict(self) -> dict[str, object]:
        """Plain values only."""
        return asdict(self)

    def __str__(self) -> str:
        return "\n\n".join(str(figure) for figure in (*self.figure_2, *self.figure_3))


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
    return Figure2(
        data.name, float(epsilon), tuple(rows), *(tuple(column) for column in zip(*out, strict=True))
    )


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
    curves = [exact.delta(eps), normal.delta(eps), seen.delta(eps), seen.lower(eps)]
    values = [tuple(float(v) for v in curve) for curve in curves]
    return Figure3(data.name, rows, record, draws, tuple(float(e) for e in eps), *values)


def rerun(
    folder: str | Path, *, quick: bool = True, rng: Seed = 0, progress: Progress | bool | None = None
) -> Rerun:
    """Both figures on both data sets; `quick` takes 10⁵ draws instead of 10⁶ and fewer points."""
    draws = 100_000 if quick else 1_000_000
    generators = np.random.default_rng(rng).spawn(2)
    # ε small enough for δ to be seen: a flight moves a fit of 327 346 far less than a county one of 2 809.
    plans = {"flights": (0.01, (100, 1000, 10_000), 1000, 0.05), "counties": (1.0, (30, 100, 300), 100, 3.0)}
    twos, threes = [], []
    for (name, (eps, rows, sketch, reach)), generator in zip(plans.items(), generators, strict=True):
        data = load(name, folder)
        points = rows if quick else tuple(sorted({*rows, *(3 * r for r in rows)}))
        twos.append(figure_2(data, epsilon=eps, rows=points))
        grid = np.linspace(0.0, reach, 6 if quick else 11)
        threes.append(
            figure_3(data, rows=sketch, epsilons=list(grid), draws=draws, rng=generator, progress=progress)
        )
    return Rerun(tuple(twos), tuple(threes))
