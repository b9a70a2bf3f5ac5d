"""Privacy-utility tradeoff of OLS with random projections (Lu, Magdon-Ismail, Wei, Zikas).

Our copy of the paper has no pictures, so its sentences about the figures are compared, not curves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil, nan, sqrt
from pathlib import Path
from typing import Any

import numpy as np

import tellall as ta
from tellall.core.errors import invalid
from tellall.core.work import Progress, Tell
from tellall.papers.claims import Array, Found, NamedCase, run_parts
from tellall.papers.private_ols_baselines import baselines
from tellall.papers.private_ols_lemmas import LEMMAS
from tellall.papers.reader import read_paper
from tellall.report.kit.plot import Axis, Figure, Rule, Series
from tellall.report.paper import PaperRerun

__all__ = [
    "PAPER",
    "PaperData",
    "choices",
    "figure_2",
    "figure_3",
    "figures",
    "growth",
    "load",
    "rerun",
    "scalings",
]

PAPER = read_paper("private-ols")
_FLOOR = 1e-10  # a δ below this is off the chart
_SAME = 0.1  # "does not depend on the size": within a tenth
_FINE = 81  # points of a curve that is drawn
_FILES = {"flights": "flights.parquet", "counties": "lung_cancer_counties.csv"}


@dataclass(frozen=True)
class PaperData:
    """One of the paper's data sets: features with a constant column, response."""

    name: str
    features: Array
    response: Array

    @property
    def unit(self) -> Array:
        """The features scaled to columns of norm 1."""
        return np.asarray(self.features / np.linalg.norm(self.features, axis=0))


@dataclass(frozen=True)
class DataPlan:
    """Where a data set is tried: ε, the sketch rows of Figure 2, and the sketch and largest ε of Figure 3.

    ε is small enough for δ to be seen: a flight moves a fit of 327 346 far less than a county
    moves one of 2 809. `share` of the records and a sketch of `grown` rows show what more records do.
    """

    data: str
    epsilon: float
    span: tuple[int, int]
    rows: int
    reach: float
    grown: int = 1000
    share: float = 0.1


_PLANS = (
    DataPlan("flights", 0.01, (10, 100_000), 100_000, 0.15),
    DataPlan("counties", 1.0, (20, 10_000), 100, 3.0),
)
_STAND_IN = DataPlan("diabetes patients", 1.0, (20, 10_000), 100, 3.0, 200, 0.5)
_OTHERS = "scikit-learn's diabetes patients"
_OTHER = (
    f"The paper's data (flights.parquet, lung_cancer_counties.csv) were not given, so {_OTHERS} "
    "stand in: what is found about Figures 2 and 3 is about them."
)


def rerun(
    folder: str | Path = ".",
    *,
    quick: bool = True,
    rng: int | np.random.Generator | None = 0,
    progress: Progress | None = None,
    about: str = "",
) -> PaperRerun:
    """Both figures on both data sets; `quick` takes 10⁵ draws instead of 10⁶ and fewer points."""
    plans = _plans(folder)
    sets = [load(plan.data, folder) for plan in plans]
    twos: list[dict[str, Any]] = []
    threes: list[dict[str, Any]] = []

    def trade_offs(index: int, stream: np.random.Generator, tell: Tell) -> Found:
        two, cases = trade_off(sets[index], plans[index], quick=quick)
        twos.append(two)
        return (), cases

    def black_boxes(index: int, stream: np.random.Generator, tell: Tell) -> Found:
        three = black_box(sets[index], plans[index], stream, quick=quick)
        threes.append(three)
        return (), _black_box(three)

    places = range(len(plans))
    parts = [
        *(PAPER.part(trade_offs, index, work=5) for index in places),
        *(PAPER.part(black_boxes, index, work=5) for index in places),
        PAPER.reported(growth, sets[0], plans[0].grown, plans[0].epsilon, plans[0].share),
        *map(PAPER.reported, LEMMAS),
        *(PAPER.reported(baselines, one.name, one.features, one.response, work=3) for one in sets),
    ]
    _, cases = run_parts(parts, rng, progress, PAPER.keys_about(about))
    other = plans != _PLANS
    known: dict[str, Any] = {"stand_in": _OTHERS, "notes": (_OTHER, *PAPER.notes)} if other else {}
    if about:
        drawn = _FIGURES[about](twos, threes) if about in _FIGURES else ()
        return PAPER.rerun(drawn, cases, rng, quick, **known).about(about)
    details = {"figure_2": twos, "figure_3": threes}
    return PAPER.rerun(figures(twos, threes), cases, rng, quick, details=details, **known)


def _plans(folder: str | Path) -> tuple[DataPlan, ...]:
    """The paper's data; a stand-in only if no folder is named and the current one lacks their files."""
    here = all((Path(folder) / name).exists() for name in _FILES.values())
    return _PLANS if here or Path(folder) != Path() else (_STAND_IN,)


def load(name: str, folder: str | Path) -> PaperData:
    """A data set of the paper from a folder that holds its file: "flights" or "counties"; or the stand-in."""
    if name == _STAND_IN.data:
        from sklearn.datasets import load_diabetes

        bunch = load_diabetes(scaled=False)
        return PaperData(name, np.column_stack([bunch.data, np.ones(len(bunch.target))]), bunch.target)
    if name not in _FILES:
        raise invalid("name", f"one of {sorted(_FILES)}", name)
    path = Path(folder) / _FILES[name]
    if not path.exists():
        raise invalid("folder", f"a folder that holds {_FILES[name]}", str(folder))
    if name == "flights":
        people = ta.read(path, secret="arr_delay", public=["dep_delay"], kind="reals")
    else:
        people = ta.read(path, secret="Mortality_Rate", kind="reals")
    named = zip(people.public.names, people.public.numbers, strict=True)
    columns = [column for name, column in named if name not in ("FIPS", "AreaName") and column is not None]
    constant = np.ones(people.n)
    columns = [constant, *columns] if name == "flights" else [*columns, constant]
    return PaperData(name, np.column_stack(columns), np.asarray(people.secret, dtype=np.float64))


def trade_off(data: PaperData, plan: DataPlan, *, quick: bool) -> tuple[dict[str, Any], list[NamedCase]]:
    """Figure 2 on one data set, and the cases that it makes."""
    rows = [int(r) for r in np.unique(np.geomspace(*plan.span, 8 if quick else 16).round())]
    two = figure_2(data, plan.epsilon, rows)
    return two, [*_trade_off(two), *choices(data, [plan.epsilon * times for times in (0.3, 1.0, 3.0)], rows)]


def black_box(data: PaperData, plan: DataPlan, rng: np.random.Generator, *, quick: bool) -> dict[str, Any]:
    """Figure 3 on one data set."""
    draws, grid = (100_000, 7) if quick else (1_000_000, 13)
    return figure_3(data, plan.rows, np.linspace(0.0, plan.reach, grid), draws, rng)


def figure_2(data: PaperData, epsilon: float, rows: Sequence[int]) -> dict[str, Any]:
    """δ at one ε against E‖x̃ − x‖² for the three methods, at equal rows of the sketch or equal error.

    Notes
    -----
    private-ols, Fig. 2. ``nothing`` is ‖x‖², the error of answering 0. ``error``, ``sketched`` and
    ``sketched_normal``: the sketch's expected error and its δ by the exact law and by the paper's normal
    limit (Lemma 1). ``gaussian`` and ``gaussian_unit``: δ of noise with the sketch's error, on columns as
    they are and on unit columns, where the sketch's δ is the same. ``projected_error`` and ``projected``:
    projected least squares with as many rows, padded for (ε, δ = 1/n); ``projected_variance`` is its error
    without the bias; ``sketch_as_far_off`` is δ of a sketch with the projection's error.
    """
    x, y, unit = data.features, data.response, data.unit
    fit = ta.privacy.influence(x, y)
    width, most = len(fit.coefficients), float(fit.sensitivity.max())
    most_unit = float(ta.privacy.influence(unit, y).sensitivity.max())
    bound = float(np.sqrt((x**2).sum(axis=1) + y**2).max())
    out: dict[str, Any] = {"data": data.name, "epsilon": float(epsilon)}
    out |= {"nothing": float(fit.coefficients @ fit.coefficients), "rows": tuple(rows)}
    found: list[dict[str, float]] = []
    for count in rows:
        sketched = ta.SketchedLeastSquares(count)
        projected = ta.ProjectedLeastSquares(count, epsilon, 1.0 / len(y), bound)
        error, error_unit = sketched.expected_error(x, y), sketched.expected_error(unit, y)
        normal = sketched.profile(x, y, method="asymptotic")
        found.append(
            {
                "error": error,
                "sketched": float(sketched.profile(x, y).delta(epsilon)),
                "sketched_normal": float(normal.delta(epsilon)),
                "gaussian": float(ta.privacy.gaussian_delta(epsilon, most, sqrt(error / width))),
                "gaussian_unit": float(
                    ta.privacy.gaussian_delta(epsilon, most_unit, sqrt(error_unit / width))
                ),
                "projected_error": projected.expected_error(x, y),
                "projected_variance": projected.expected_error(x, y) - _bias(x, y, projected.padding),
                "projected": float(projected.profile(x, y).delta(epsilon)),
                "sketch_as_far_off": _as_far_off(data, epsilon, projected.expected_error(x, y)),
            }
        )
    return out | {name: tuple(one[name] for one in found) for name in found[0]}


def _as_far_off(data: PaperData, epsilon: float, error: float) -> float:
    """δ of the sketch that has at most this expected error, which falls as 1/(rows − p − 1)."""
    x, y = data.features, data.response
    beyond = x.shape[1] + 1
    spread = ta.SketchedLeastSquares(beyond + 10).expected_error(x, y) * 10
    rows = beyond + max(1, ceil(spread / error))
    return float(ta.SketchedLeastSquares(rows).profile(x, y).delta(epsilon))


def _bias(features: Array, response: Array, padding: float) -> float:
    """How far the fit to the padded data is from the fit, squared: what variance leaves out."""
    gram, moments = features.T @ features, features.T @ response
    padded = np.linalg.solve(gram + padding**2 * np.eye(len(gram)), moments)
    return float(((padded - np.linalg.solve(gram, moments)) ** 2).sum())


def _trade_off(two: dict[str, Any]) -> Iterator[NamedCase]:
    """Sec. 5: “ALS has the best privacy-utility trade-off in both cases”; and Lemma 1, a limit."""
    words = {"data": two["data"], "epsilon": two["epsilon"]}
    ends = {"first": two["rows"][0], "last": two["rows"][-1]}
    for law, name in (("exact law", "sketched"), ("the paper's normal limit", "sketched_normal")):
        raw, unit = (
            [a <= b for a, b in zip(two[name], two[other], strict=True)]
            for other in ("gaussian", "gaussian_unit")
        )
        better = [rows for rows, smaller in zip(two["rows"], unit, strict=True) if smaller]
        large = f" (from {better[0]:,} rows on)" if better and all(unit[-len(better) :]) else ""
        yield (
            "noise",
            {
                **words,
                "law": law,
                "count": len(raw),
                "raw": sum(raw),
                "unit": sum(unit),
                "large": large,
                "always": all(raw) and all(unit),
                "sometimes": all(raw) or all(unit),
                **ends,
            },
        )
    times = [a / b for a, b in zip(two["error"], two["projected_variance"], strict=True)]
    smaller = [a < b for a, b in zip(two["projected"], two["sketched"], strict=True)]
    beaten = sum(more > 1 and less for more, less in zip(times, smaller, strict=True))
    numbers = {"low": min(times), "high": max(times), "beaten": beaten, "unbeaten": not beaten}
    yield "projection, variance", {**words, **ends, **numbers, "count": len(times)}
    least, nothing = min(two["projected_error"]), two["nothing"]
    as_far_off = zip(two["sketch_as_far_off"], two["projected"], strict=True)
    larger = sum(sketch > projected for sketch, projected in as_far_off)
    yield (
        "projection",
        {
            **words,
            **ends,
            "least": least,
            "nothing": nothing,
            "error": min(two["error"]),
            "larger": larger,
            "count": len(times),
        },
    )
    ratio = [b / a for a, b in zip(two["sketched"], two["sketched_normal"], strict=True) if a > 0]
    reached = abs(ratio[-1] - 1) < 0.01
    yield "limit", {**words, **ends, "few": ratio[0], "many": ratio[-1], "reached": reached}


def scalings(features: Array) -> dict[str, Array]:
    """The features as a reader may have scaled them.

    The sketch's law is the same for all: with the constant column they differ by an invertible map.
    """
    low, high = features.min(axis=0), features.max(axis=0)
    flat = low == high
    spread = np.where(flat, 1.0, features.std(axis=0))
    return {
        "columns as they are": features,
        "columns of unit norm": features / np.linalg.norm(features, axis=0),
        "columns standardised": np.where(flat, 1.0, (features - features.mean(axis=0)) / spread),
        "columns from 0 to 1": np.where(flat, 1.0, (features - low) / np.where(flat, 1.0, high - low)),
    }


def choices(data: PaperData, epsilons: Sequence[float], rows: Sequence[int]) -> Iterator[NamedCase]:
    """Figure 2 for every scaling, ε and number of rows: at how many sizes the sketch has the smaller δ."""
    y, width = data.response, data.features.shape[1]
    profiles = [ta.SketchedLeastSquares(count).profile(data.features, y) for count in rows]
    noise: dict[str, tuple[float, list[float]]] = {}
    for name, x in scalings(data.features).items():
        errors = [ta.SketchedLeastSquares(count).expected_error(x, y) for count in rows]
        most = float(ta.privacy.influence(x, y).sensitivity.max())
        noise[name] = most, [sqrt(error / width) for error in errors]
    for epsilon in epsilons:
        said, everywhere = [], []
        for name, (most, stds) in noise.items():
            pairs = zip(profiles, stds, strict=True)
            smaller = [
                float(profile.delta(epsilon)) <= float(ta.privacy.gaussian_delta(epsilon, most, std))
                for profile, std in pairs
            ]
            everywhere.append(all(smaller))
            first = next((count for count, one in zip(rows, smaller, strict=True) if one), None)
            tail = first is not None and all(
                one for count, one in zip(rows, smaller, strict=True) if count >= first
            )
            since = f" (from {first:,} rows on)" if tail and not all(smaller) else ""
            said.append(f"{sum(smaller)} of {len(rows)}{since}, {name}")
        words = {"data": data.name, "epsilon": float(epsilon), "count": len(rows), "said": "; ".join(said)}
        ends = {"first": rows[0], "last": rows[-1], "always": all(everywhere), "sometimes": any(everywhere)}
        yield "choices", {**words, **ends}


def figure_3(
    data: PaperData, rows: int, epsilons: Sequence[float] | Array, draws: int, rng: int | np.random.Generator
) -> dict[str, Any]:
    """The black box on the worst record of one data set, against the exact law and the paper's normal limit.

    Notes
    -----
    private-ols, Fig. 3; the paper has 10⁷ training and 10⁶ test draws. From ε = ``pure`` on the exact δ is 0.
    """
    x, y = data.features, data.response
    method = ta.SketchedLeastSquares(rows)
    exact, normal = (method.profile(x, y, method=way) for way in ("exact", "asymptotic"))
    record = int(exact.worst_record or 0)
    other_x, other_y = x.copy(), y.copy()
    other_x[record], other_y[record] = 0.0, 0.0
    eps = np.asarray(epsilons, dtype=np.float64)
    samplers = method.sampler(x, y), method.sampler(other_x, other_y)
    seen = ta.estimate_profile(*samplers, list(eps), draws, rng=rng, training=draws)
    fine = np.union1d(np.linspace(float(eps.min()), float(eps.max()), _FINE), eps)
    curves = {
        "epsilon": eps,
        "exact": exact.delta(eps),
        "normal": normal.delta(eps),
        "estimate": seen.delta(eps),
        "lower": seen.lower(eps),
        "curve_epsilon": fine,
        "curve_exact": exact.delta(fine),
        "curve_normal": normal.delta(fine),
    }
    out = {
        "data": data.name,
        "rows": rows,
        "record": record,
        "draws": draws,
        "pure": float(exact.pure_epsilon),
    }
    return out | {name: tuple(map(float, np.asarray(curve))) for name, curve in curves.items()}


def _black_box(three: dict[str, Any]) -> Iterator[NamedCase]:
    """Fig. 3: the estimates approach the theory from below."""
    words = {name: three[name] for name in ("data", "rows", "draws")}
    above = sum(a > b for a, b in zip(three["lower"], three["exact"], strict=True))
    # a difference of two shares, one weighted by e^ε: its standard error is at most this
    spread = np.sqrt((1 + np.exp(2 * np.array(three["epsilon"]))) / (4 * three["draws"]))
    off = np.array(three["estimate"]) - np.array(three["exact"])
    most = {"over": int((off > 0).sum()), "most": float((off / spread).max())}
    fine = {"always": not most["over"], "sometimes": not above}
    yield "below", {**words, **most, **fine, "above": above, "points": len(off)}
    near = bool(np.all(np.abs(off) <= 5 * spread))
    apart = float(np.abs(off).max())
    yield "recovered", {**words, "apart": apart, "near": near, "word": "within" if near else "beyond"}


def growth(
    data: PaperData, rows: int, epsilon: float, share: float, rng: int | np.random.Generator
) -> Iterator[NamedCase]:
    """Sec. 5: a random share of a data set against all of it; noise has the error of the sketch on all."""
    n, width = len(data.response), data.features.shape[1]
    some = np.random.default_rng(rng).choice(n, round(share * n), replace=False)
    bound = float(np.sqrt((data.features**2).sum(axis=1) + data.response**2).max())
    std = sqrt(ta.SketchedLeastSquares(rows).expected_error(data.features, data.response) / width)
    found = []
    for x, y, times in ((data.features[some], data.response[some], 1), (data.features, data.response, 2)):
        sketch, least = ta.SketchedLeastSquares(times * rows), std / sqrt(times)
        most = float(ta.privacy.influence(x, y).sensitivity.max())
        found.append(
            (
                (float(sketch.profile(x, y).delta(epsilon)), sketch.expected_error(x, y)),
                (float(ta.privacy.gaussian_delta(epsilon, most, least)), width * least**2),
                ta.ProjectedLeastSquares(rows, epsilon, 1.0 / n, bound).expected_error(x, y),
            )
        )
    words = {"data": data.name, "part": len(some), "n": n}
    *both, (few, everybody) = zip(*found, strict=True)
    hows = {
        "sketch": f"{rows:,} rows for the part, {2 * rows:,} for all",
        "Gaussian noise": "noise of half the variance for all",
    }
    for (method, how), ((part, less), (whole, more)) in zip(hows.items(), both, strict=True):
        better = whole <= part and more <= less
        case = {"method": method, "value": whole, "bound": part, "few": less, "many": more}
        yield "growth", {**words, **case, "how": how, "better": better}
    same = abs(everybody / few - 1) <= _SAME
    numbers = {"few": few, "all": everybody, "same": same, "value": everybody / few, "bound": 1.0}
    yield "constant error", {**words, **numbers}


def figures(twos: Sequence[dict[str, Any]], threes: Sequence[dict[str, Any]]) -> Iterator[Figure]:
    """Figures 2 and 3 on each data set, Figure 2 by the scale of the columns, and how good the limit is."""
    yield from map(_drawn_2, twos)
    yield from map(_drawn_3, threes)
    yield from map(_drawn_scales, twos)
    yield _drawn_rate(twos)


_FIGURES: dict[str, Callable[[Sequence[dict[str, Any]], Sequence[dict[str, Any]]], list[Figure]]] = {
    "Fig. 2": lambda twos, threes: [*map(_drawn_2, twos), *map(_drawn_scales, twos)],
    "Fig. 3": lambda twos, threes: [*map(_drawn_3, threes)],
}


def _drawn_2(two: dict[str, Any]) -> Figure:
    shown = {
        "the sketch": two["sketched"],
        "the sketch in the limit": two["sketched_normal"],
        "Gaussian noise": two["gaussian"],
        "the projection": two["projected"],
    }
    return Figure(
        f"Figure 2, {two['data']}: privacy against error",
        "Lower and further left is better. The sketch is drawn with the paper's normal limit and with the "
        "exact law; Gaussian noise has the error of the sketch above it; the projection has as many rows. To "
        "the right of the upright line always answering 0 would be better; by variance alone the projection "
        f"would be drawn far to the left. {_off_the_chart(shown)}",
        Axis("expected squared error of the coefficients", log=True),
        Axis(f"δ at ε = {two['epsilon']:g}", log=True, low=_FLOOR, high=1.0),
        (
            Series("sketch, exact law", two["error"], two["sketched"], kind="both"),
            Series("sketch, the paper's normal limit", two["error"], two["sketched_normal"]),
            Series("Gaussian noise of equal error", two["error"], two["gaussian"], kind="both"),
            Series("projection of padded data", two["projected_error"], two["projected"], kind="points"),
        ),
        (Rule(two["nothing"], "always answering 0", "x"),),
    )


def _off_the_chart(shown: dict[str, Sequence[float]]) -> str:
    """How many δ of each curve are below the chart, in words."""
    hidden = {name: sum(delta < _FLOOR for delta in deltas) for name, deltas in shown.items()}
    said = ", ".join(
        f"{name} at {count} of {len(shown[name])} numbers of rows" for name, count in hidden.items() if count
    )
    return f"Off the chart, below {_FLOOR:g}: {said}." if said else "Nothing is off the chart."


def _drawn_scales(two: dict[str, Any]) -> Figure:
    shown = {
        "the sketch": two["sketched"],
        "noise, columns as they are": two["gaussian"],
        "noise, unit columns": two["gaussian_unit"],
    }
    return Figure(
        f"Figure 2 by the scale of the columns, {two['data']}",
        "The sketch's δ does not depend on how columns are scaled; that of noise of equal error does. Where "
        f"the noise's line is above the sketch's, the paper's sentence holds. {_off_the_chart(shown)}",
        Axis("rows of the sketch", log=True),
        Axis(f"δ at ε = {two['epsilon']:g}", log=True, low=_FLOOR, high=1.0),
        (
            Series("sketch, exact law", two["rows"], two["sketched"], kind="both"),
            Series("Gaussian noise, columns as they are", two["rows"], two["gaussian"], kind="both"),
            Series("Gaussian noise, unit columns", two["rows"], two["gaussian_unit"], kind="both"),
        ),
    )


def _drawn_3(three: dict[str, Any]) -> Figure:
    seen = [value if value > 0 else nan for value in three["estimate"]]
    shown = [value for value in (*three["estimate"], *three["exact"]) if value > 1e-9]
    return Figure(
        f"Figure 3, {three['data']}: black box against theory",
        f"A sketch of {three['rows']:,} rows, the worst record zeroed. Whiskers reach down to the 99 % lower "
        "bound, off the chart where it is 0; estimates at or below zero are left out. The exact δ is 0 from "
        f"ε = {three['pure']:.3g} on, that of the normal limit never.",
        Axis("ε"),
        Axis("δ", log=True, low=max(_FLOOR, 0.3 * min([1.0, *shown]))),
        (
            Series("exact law", three["curve_epsilon"], three["curve_exact"]),
            Series("the paper's normal limit", three["curve_epsilon"], three["curve_normal"]),
            Series("black box", three["epsilon"], seen, low=three["lower"], high=seen, kind="points"),
        ),
    )


def _drawn_rate(twos: Sequence[dict[str, Any]]) -> Figure:
    series = []
    for two in twos:
        pairs = zip(two["sketched"], two["sketched_normal"], strict=True)
        apart = [abs(b / a - 1) if a > 0 else nan for a, b in pairs]
        series.append(Series(f"{two['data']}, ε = {two['epsilon']:g}", two["rows"], apart, kind="both"))
    rows = (min(two["rows"][0] for two in twos), max(two["rows"][-1] for two in twos))
    series.append(Series("10/rows", rows, [10 / r for r in rows]))
    return Figure(
        "How fast the paper's limit is reached",
        "The relative distance between the paper's normal limit and the exact law: it falls at least as fast "
        "as one over the rows of the sketch.",
        Axis("rows of the sketch", log=True),
        Axis("|δ normal / δ exact − 1|", log=True),
        tuple(series),
    )
