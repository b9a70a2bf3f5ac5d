"""The rerun of private-ols: figures on small made-up data, and the real ones where they are."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tellall import InvalidInput
from tellall.papers.private_ols import PaperData, figure_2, figure_3, growth, load, rerun
from tellall.papers.private_ols_page import written
from tellall.promise import privacy
from tellall.promise.least_squares.sketched import SketchedLeastSquares
from tellall.report.paper_page import render

DATA = Path(__file__).parents[3] / "shared" / "data"
needs_data = pytest.mark.skipif(not DATA.exists(), reason=f"the paper's data are not here: {DATA}")


@pytest.fixture(scope="module")
def small() -> PaperData:
    rng = np.random.default_rng(0)
    features = np.column_stack([np.ones(150), rng.standard_normal((150, 2))])
    features[0, 1] = 5.0
    return PaperData("made up", features, features @ np.ones(3) + rng.standard_normal(150))


def test_figure_2(small: PaperData) -> None:
    figure = figure_2(small, epsilon=0.2, rows=[10, 40])
    assert figure.error[0] > figure.error[1]
    assert figure.sketched[0] < figure.sketched[1]
    assert all(exact != normal for exact, normal in zip(figure.sketched, figure.sketched_normal, strict=True))
    assert figure.nothing == pytest.approx(3.0, rel=0.2)
    assert figure.sketch_beats_noise == all(
        a <= b for a, b in zip(figure.sketched, figure.gaussian, strict=True)
    )


def test_figure_3(small: PaperData) -> None:
    figure = figure_3(small, rows=30, epsilons=[0.0, 0.3], draws=60_000, rng=1)
    # 60 000 draws: five standard errors of a difference of two rates are below 0.015.
    assert figure.estimate[0] == pytest.approx(figure.exact[0], abs=0.015)
    assert figure.from_below
    assert set(figure.epsilon) <= set(figure.curve_epsilon)


def test_unknown_data_are_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="name must be one of"):
        load("weather", tmp_path)
    with pytest.raises(InvalidInput, match=r"a folder that holds flights\.parquet"):
        load("flights", tmp_path)


@needs_data
def test_the_paper_s_data_are_as_described() -> None:
    flights, counties = load("flights", DATA), load("counties", DATA)
    assert flights.features.shape == (327_346, 2)
    assert counties.features.shape == (2809, 12)
    fit = privacy.influence(flights.features, flights.response)
    np.testing.assert_allclose(fit.coefficients, [-5.899, 1.0191], atol=5e-4)


@needs_data
@pytest.mark.parametrize(("name", "rows"), [("flights", 1000), ("counties", 300)])
def test_the_frontier_gives_the_maximum_over_every_record(name: str, rows: int) -> None:
    """Every record where that is quick, a random 400 and the largest in either number where it is not."""
    data = load(name, DATA)
    fit = privacy.influence(data.features, data.response)
    leverage, share, width = fit.leverage, fit.residual_share, len(fit.coefficients)
    rng = np.random.default_rng(0)
    some = np.unique(
        np.concatenate(
            [
                rng.choice(len(share), 400, replace=False),
                np.argsort(-leverage)[:150],
                np.argsort(-share)[:150],
            ]
        )
    )
    eps = np.array([0.0, 0.05, 0.5])
    every = privacy.sketch_delta(eps[:, None], leverage[some], share[some], width, rows).max(axis=1)
    profile = SketchedLeastSquares(rows).profile(data.features, data.response)
    np.testing.assert_allclose(profile.delta(eps), every, rtol=0, atol=1e-12)


@needs_data
@pytest.mark.slow
def test_the_whole_rerun() -> None:
    result = rerun(DATA, quick=True)
    said = {(one.what, one.setting.split(",")[0]): one.verdict for one in result.statements}
    for data in ("flights", "counties"):
        assert said["the black box stays below the theory", data] == "holds"
        assert said["the black box recovers the profile", data] == "holds"
        # the paper says otherwise: at equal error Gaussian noise hides the worst record better
        assert said["the sketch against Gaussian noise of equal error", data] == "does not hold"
    json.dumps(result.as_dict(), allow_nan=False)
    assert [figure.title.split(",")[0] for figure in result.figures[:4]] == ["Figure 2"] * 2 + [
        "Figure 3"
    ] * 2


def test_written(small: PaperData) -> None:
    two = figure_2(small, epsilon=0.2, rows=[10, 40])
    three = figure_3(small, rows=30, epsilons=[0.0, 0.3], draws=60_000, rng=1)
    grown = growth(small, rows=30, epsilon=0.2, share=0.5, rng=2)
    assert grown.part == 75
    result = written([two], [three], grown, seed=None, quick=True)
    page = render(json.loads(json.dumps(result.as_dict(), allow_nan=False)))
    for words in ("Figure 2, made up", "Figure 3, made up", "Gaussian noise of equal error", "normal limit"):
        assert words in page
    verdicts = [one.verdict for one in result.statements if "Gaussian noise of equal" in one.what]
    assert verdicts[0] == ("holds" if two.sketch_beats_noise else "does not hold")
