"""The pages of sweeps and calibrations."""

import json
import re

import pytest

import tellall as ta
from tellall.report.study_figures import calibration_figures, sweep_figures
from tellall.report.study_page import render_calibration, render_sweep
from tests.conftest import random_people
from tests.report.pages import NASTY, Tags, browser_page, refuses_the_world

PEOPLE = random_people(60, 7, seed=1)


@pytest.fixture(scope="module")
def swept() -> dict:
    found = ta.sweep(
        PEOPLE,
        ta.Marginals(3),
        [None, ta.Suppression(6), ta.Gaussian, ta.Laplace],
        scales=[1, 4, 16],
        repeats=3,
        decoders=["least-squares"],
    )
    return _document({"name": NASTY, **found.as_json()}, limit=0.05, repeats=3, warning="no guarantee")


@pytest.fixture(scope="module")
def calibrated() -> dict:
    found = ta.calibrate(PEOPLE, ta.Marginals(3), ta.Gaussian, 0.3, draws=3)
    return _document(
        {"name": NASTY, **found.as_json()},
        family="Gaussian",
        max_advantage=0.3,
        skipped=[{"name": NASTY, "reason": NASTY}],
    )


def _document(release: dict, **more: object) -> dict:
    common = {
        "tellall": ta.__version__,
        "versions": {"numpy": "9"},
        "data": NASTY,
        "seed": 7,
        "command": NASTY,
    }
    return json.loads(json.dumps({**common, "releases": [release], **more}, allow_nan=False))


def test_four_figures_with_units_legends_and_intervals(swept):
    accuracy, advantage, error, frontier = sweep_figures(swept["releases"][0], limit=0.05)
    for figure in (accuracy, advantage, error):
        assert figure.x.unit == "people"
        assert figure.x.log
    assert [one.label for one in accuracy.series] == ["Gaussian", "Laplace", "strongest baseline"]
    assert all(one.has_interval for one in advantage.series)
    assert [rule.label for rule in advantage.rules] == ["nothing done", "limit"]
    assert {one.label for one in frontier.series} == {"Gaussian", "Laplace", "Suppression", "frontier"}
    marked = frontier.series[-1]
    best = [row for row in swept["releases"][0]["rows"] if row["frontier"] and row["loss"] > 0]
    assert sorted(marked.x) == sorted(row["loss"] for row in best)


def test_many_families_share_a_series(swept):
    row = swept["releases"][0]["rows"][1]
    rows = [{**row, "family": f"family {k}", "loss": 1.0 + k, "std": 1.0} for k in range(9)]
    figures = sweep_figures({**swept["releases"][0], "rows": rows})
    assert all(len(figure.series) <= 6 for figure in figures)
    assert any(one.label == "other protections" for one in figures[-1].series)


def test_the_worst_decoder_is_drawn(swept):
    row = {**swept["releases"][0]["rows"][2], "frontier": False}
    weak = {**row, "decoder": "weak", "advantage": -1.0, "high": -0.5, "frontier": True}
    strong = {**row, "decoder": "strong", "advantage": 0.5, "high": 0.6, "low": 0.4}
    *_, frontier = sweep_figures({**swept["releases"][0], "rows": [weak, strong]})
    assert frontier.series[0].y == (50.0,)


def test_only_what_is_exact_has_no_figure(swept):
    exact = [row for row in swept["releases"][0]["rows"] if row["loss"] == 0]
    assert sweep_figures({**swept["releases"][0], "rows": exact}) == ()


def test_real_secrets_have_no_figures_of_shares(swept):
    with pytest.raises(ta.InvalidInput, match="sweep must be about bits"):
        sweep_figures({**swept["releases"][0], "real": True})


def test_the_calibrations_figures_mark_limit_and_answer(calibrated):
    advantage, error = calibration_figures(calibrated["releases"][0])
    assert [rule.label.split()[-1] for rule in advantage.rules] == ["limit", "enough"]
    assert len(advantage.series[0].x) == len(error.series[0].x)
    nothing = {**calibrated["releases"][0], "history": [{"scale": 0.0}], "scale": 0.0}
    assert calibration_figures(nothing) == ()


@pytest.mark.parametrize("kind", ["sweep", "calibrate"])
def test_names_come_out_as_text_and_nothing_is_loaded(kind, swept, calibrated):
    page = render_sweep(swept) if kind == "sweep" else render_calibration(calibrated)
    tags = Tags.of(page)
    refuses_the_world(tags)
    assert tags.text.count("alert('x')") >= 3
    assert "no guarantee" in tags.text
    assert "95 % interval" in tags.text
    for figure in re.findall(r"<figure.*?</figure>", page, re.DOTALL):
        for part in ("<title", "<desc", "<table>", "<figcaption>", 'class="key'):
            assert part in figure


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sweep", "calibrate"])
def test_a_browser_has_nothing_to_say(kind, swept, calibrated, tmp_path):
    path = tmp_path / "report.html"
    path.write_text(
        render_sweep(swept) if kind == "sweep" else render_calibration(calibrated), encoding="utf-8"
    )

    def look(page):
        return page.evaluate("[...document.querySelectorAll('svg[role=img]')].map(s => s.getBBox().width)")

    drawn, messages = browser_page(path, "light", look)
    assert messages == [path.as_uri()]
    assert len(drawn) == (4 if kind == "sweep" else 2)
    assert min(drawn) > 300
