"""The pages of sweeps and calibrations."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

import tellall as ta
from tellall.audits.outcome import columns
from tellall.audits.studies import CalibrationFound, SweepFound
from tellall.core.not_done import NotDone
from tellall.core.records import read
from tellall.report.study_figures import calibration_figures, sweep_figures
from tellall.report.study_page import render_calibration, render_sweep
from tests.conftest import random_people
from tests.report.pages import NASTY, Tags, browser_page, fits_a_telephone, refuses_the_world

PEOPLE = random_people(60, 7, seed=1)


@pytest.fixture(scope="module")
def swept() -> SweepFound:
    found = ta.sweep(
        PEOPLE,
        ta.Marginals(3),
        [None, ta.Suppression(6), ta.Gaussian, ta.Laplace],
        scales=[1, 4, 16],
        repeats=3,
        decoders=["least-squares"],
    )
    return whole_sweep(found)


@pytest.fixture(scope="module")
def calibrated() -> CalibrationFound:
    found = ta.calibrate(PEOPLE, ta.Marginals(3), ta.Gaussian, 0.3, draws=3)
    return whole_calibration(found, NotDone(NASTY, NASTY))


MADE = {"versions": {"numpy": "9"}, "data": NASTY, "seed": 7, "command": NASTY}


def whole_sweep(found: ta.Sweep) -> SweepFound:
    """A sweep as a document, written and read again."""
    named = (replace(found, name=NASTY),)
    return written(SweepFound(**MADE, repeats=3, limit=0.05, warning="no guarantee", releases=named))


def whole_calibration(found: ta.Calibration, *skipped: NotDone) -> CalibrationFound:
    """A calibration as a document, written and read again."""
    return written(
        CalibrationFound(
            **MADE,
            by=None,
            secret=found.secret,
            real=found.real,
            family="Gaussian",
            max_advantage=found.max_advantage,
            releases=(replace(found, name=NASTY),),
            skipped=skipped,
        )
    )


def written(document):
    return read(type(document), json.dumps(document.as_json(), allow_nan=False), what="document")


def test_figures_with_units_legends_and_intervals(swept):
    accuracy, advantage, error, withheld, frontier = sweep_figures(swept.releases[0], limit=0.05)
    assert error.y.label == frontier.x.label == withheld.x.label == "mean error, including withheld values"
    shares = [100 * row.missing for row in swept.releases[0].rows if row.loss]
    assert sorted(value for one in withheld.series for value in one.y) == pytest.approx(sorted(shares))
    assert max(shares) > 0
    for figure in (accuracy, advantage, error):
        assert figure.x.unit == "people"
        assert figure.x.log
    assert [one.label for one in accuracy.series] == ["Gaussian", "Laplace", "strongest baseline"]
    assert all(one.has_interval for one in advantage.series)
    assert [rule.label for rule in advantage.rules] == ["unprotected", "limit 5.0"]
    assert {one.label for one in frontier.series} == {"Gaussian", "Laplace", "Suppression", "frontier"}
    marked = frontier.series[-1]
    best = [row for row in swept.releases[0].rows if row.frontier and row.loss > 0]
    assert sorted(marked.x) == sorted(row.loss for row in best)


def test_both_limits_are_drawn_and_points_have_the_colour_of_their_verdict(swept, calibrated):
    release = swept.releases[0]
    _, advantage, _, learnt, _, frontier = sweep_figures(release, limit=0.05, exposed_limit=3)
    assert learnt.rules[-1].label == "limit 3"
    assert learnt.rules[-1].value == 3
    words = {row.protection: row.verdict for row in release.rows if row.std}
    for figure in (advantage, learnt):
        drawn = [word for series in figure.series for word in series.verdicts]
        assert sorted(drawn) == sorted(words.values())
    assert frontier.series[-1].verdicts == ()
    _, people, _ = calibration_figures(calibrated.releases[0], 2)
    tried = [one for one in calibrated.releases[0].history if one.scale > 0]
    assert sorted(people.series[0].verdicts) == sorted(one.verdict for one in tried)
    assert people.rules[0].label == "limit 2"
    page = render_sweep(replace(swept, exposed_limit=3))
    assert set(re.findall(r'class="badge (\w+)"', page)) == set(words.values()) | {
        row.verdict for row in release.rows
    }
    assert len(re.findall(r'class="judged (?:pass|review|fail)"', page)) > len(words)


def test_every_count_that_is_declared_is_a_column(swept):
    text = Tags.of(render_sweep(swept)).text
    assert set(columns(areas=True)) < set(columns()) >= {"proved", "exposed", "learnt"}
    for name, one in columns().items():
        assert one.head in text
        assert all(getattr(row, name) is not None for row in swept.releases[0].rows)


def test_many_families_share_a_series(swept):
    row = swept.releases[0].rows[1]
    rows = tuple(replace(row, family=f"family {k}", loss=1.0 + k, std=1.0) for k in range(9))
    figures = sweep_figures(replace(swept.releases[0], rows=tuple(rows)))
    assert all(len(figure.series) <= 6 for figure in figures)
    assert any(one.label == "other protections" for one in figures[-1].series)


def test_the_worst_decoder_is_drawn(swept):
    row = replace(swept.releases[0].rows[2], frontier=False)
    weak = replace(row, decoder="weak", advantage=-1.0, high=-0.5, frontier=True)
    strong = replace(row, decoder="strong", advantage=0.5, high=0.6, low=0.4)
    for rows in ([weak, strong], [strong, weak]):
        *_, frontier = sweep_figures(replace(swept.releases[0], rows=tuple(rows)))
        assert frontier.series[0].y == frontier.series[1].y == (50.0,)


def test_what_is_far_worse_than_guessing_does_not_flatten_the_rest(swept):
    row = swept.releases[0].rows[2]
    usual = replace(row, advantage=0.1, low=0.0, high=0.2, loss=1.0)
    awful = replace(row, advantage=-0.8, low=-0.9, high=-0.7, loss=9.0, std=9.0, scale=9.0)
    _, advantage, _, frontier = sweep_figures(replace(swept.releases[0], rows=(usual, awful)))
    for figure in (advantage, frontier):
        assert figure.y.low == pytest.approx(-20)
        assert "further below zero" in figure.caption
    _, advantage, _, _ = sweep_figures(replace(swept.releases[0], rows=(usual,)))
    assert advantage.y.low is None


def test_only_what_is_exact_has_no_figure(swept):
    exact = [row for row in swept.releases[0].rows if row.loss == 0]
    assert sweep_figures(replace(swept.releases[0], rows=tuple(exact))) == ()


@pytest.fixture(scope="module")
def reals() -> ta.Dataset:
    rng = np.random.default_rng(3)
    columns = rng.normal(size=(60, 6))
    secret = columns @ rng.normal(size=6) + rng.normal(180, 3, 60)
    return ta.Dataset.from_frame(
        {**{f"x{j}": column for j, column in enumerate(columns.T)}, "rate": secret}, secret="rate"
    )


def test_real_secrets_have_figures_in_their_own_unit(reals):
    statistic = ta.Estimator("linear", intercept=True)
    found = ta.sweep(reals, statistic, [None, ta.Gaussian, ta.Laplace], scales=[0.1, 1, 10], repeats=3)
    row = found.rows[1]
    assert (row.mae_ratio >= 1, 0 <= row.sign_flips <= 1, 0 < row.coverage <= 0.96) == (True,) * 3
    document = whole_sweep(found)
    attack, advantage, error, predictions, frontier = sweep_figures(document.releases[0], limit=0.05)
    assert attack.y.words == "mean absolute error of a guess (unit of rate)"
    assert attack.series[0].y[0] == found.rows[1].accuracy
    assert advantage.y.unit == frontier.y.unit == "unit of rate"
    assert all(rule.label != "limit" for figure in (advantage, frontier) for rule in figure.rules)
    assert error.y.unit == "units of a coefficient"
    assert predictions.series[0].y[-1] > predictions.series[0].y[0] >= 1
    text = Tags.of(render_sweep(document)).text
    for words in ("off by", "predictions", "coverage", "in its unit"):
        assert words in text
    assert "exposed" not in text
    assert "people in 100" not in text


def test_the_least_noise_for_a_real_secret_is_told_in_its_unit(reals):
    statistic = ta.Sums(2)
    found = ta.calibrate(reals, statistic, ta.Gaussian, 2.0, draws=4, evaluations=10)
    assert "in the unit of rate" in str(found)
    document = whole_calibration(found)
    text = Tags.of(render_calibration(document)).text
    for words in ("comes nearer than the strongest baseline", "in the unit of rate", "off by"):
        assert words in text
    assert "people in 100" not in text
    assert found.scale > 0
    for figure in calibration_figures(document.releases[0])[:1]:
        assert figure.y.unit == "unit of rate"
        assert figure.rules[0].value == 2.0


def test_the_calibrations_figures_mark_limit_and_answer(calibrated):
    advantage, error = calibration_figures(calibrated.releases[0])
    assert advantage.rules[0].label == "limit 30.0"
    assert advantage.rules[1].label.endswith(" is enough")
    assert len(advantage.series[0].x) == len(error.series[0].x)
    release = calibrated.releases[0]
    nothing = replace(release, history=(replace(release.history[0], scale=0.0),), scale=0.0)
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
        for part in ("<title", "<desc", "<table", "<figcaption>", 'class="key'):
            assert part in figure


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sweep", "calibrate"])
def test_a_browser_has_nothing_to_say(kind, swept, calibrated, tmp_path):
    path = tmp_path / "report.html"
    path.write_text(
        render_sweep(swept) if kind == "sweep" else render_calibration(calibrated), encoding="utf-8"
    )

    def look(page):
        return page.evaluate("[...document.querySelectorAll('svg.broad')].map(s => s.getBBox().width)")

    drawn, messages = browser_page(path, "light", look)
    assert messages == [path.as_uri()]
    assert len(drawn) == (5 if kind == "sweep" else 2)
    assert min(drawn) > 300
    fits_a_telephone(path)
