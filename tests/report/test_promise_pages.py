"""The pages of profile, limit and bounds: their numbers are the document's, and nothing in them acts."""

import json
from dataclasses import replace

import numpy as np
import pytest

import tellall as ta
from tellall.audits.measures.profile_curves import profile_curves
from tellall.audits.regression_profile import ProfileFound
from tellall.core.amounts import percent
from tellall.core.records import read
from tellall.privacy.bounds.table import BoundsFound
from tellall.report.promise_pages import render_bounds, render_limit, render_profile
from tellall.tracing.limit_files import LimitCurve, LimitFound
from tests.report.pages import NASTY, Tags, charts, refuses_the_world

MADE = {"tellall": "0", "versions": {"python": NASTY}, "repeat": f"tellall {NASTY}"}


def read_back(document):
    """The record that is written and read again."""
    return read(type(document), json.dumps(document.as_json(), allow_nan=False), what="document")


@pytest.fixture(scope="module")
def profile() -> ProfileFound:
    rng = np.random.default_rng(0)
    features = np.column_stack([np.ones(80), rng.standard_normal(80)])
    response = features @ [1.0, 2.0] + rng.standard_normal(80)
    methods = [ta.SketchedLeastSquares(30), ta.GaussianLeastSquares(epsilon=1.0, delta=1e-3)]
    table = ta.profile_table(features, response, methods)
    curves = profile_curves(features, response, methods, draws=2000)
    names = {"response": NASTY, "columns": ("constant", NASTY), "seed": 0}
    return read_back(ProfileFound(**MADE, **names, **vars(table), curves=curves))


def limit_found(**changes) -> LimitFound:
    curve = LimitCurve((1, 10, 100), (0.01, 0.03, 0.4), (0.0, 0.02, 0.3), (0.02, 0.04, 0.5))
    made = {
        **MADE,
        "frequencies": NASTY,
        "seed": 3,
        "people": 200,
        "reference_people": 400,
        "attack": NASTY,
        "power": 0.05,
        "rate": 0.01,
        "base": 0.125,
        "std": None,
        "subsample": None,
        "trials": 1234,
        "published": 100,
        "attributes": 17,
        "sentence": NASTY,
        "curve": curve,
        "command": "limit",
        "all_tried_within_limit": False,
    }
    return read_back(LimitFound(**made | changes))


def test_the_attack_on_draws_stays_below_the_exact_curve(profile):
    """Lower bounds at confidence 99 %: one false alarm in a hundred seeds; this seed is fixed."""
    for one in profile.curves:
        exact = np.interp(one.estimated.epsilon, one.exact.epsilon, one.exact.delta)
        assert (np.array(one.estimated.lower) <= exact + 1e-12).all()
        assert one.estimated.delta[0] > 0.5 * exact[0]  # and is no weak attack
        assert one.told_apart == pytest.approx(0.5 + 0.5 * exact[0])


def test_the_page_of_a_profile_has_its_numbers(profile):
    page = render_profile(profile)
    tags = Tags.of(page)
    refuses_the_world(tags)
    assert charts(page) == 1
    for one in profile.curves:
        assert f"At best {percent(one.told_apart)} right." in tags.text
        for row in one.common:
            assert f"{row.epsilon:.3g} (odds × {np.exp(row.epsilon):.3g})" in tags.text
    for row in profile.rows:
        assert f"{row.error:.3g}" in tags.text
    assert "row 1" not in tags.text.lower()  # nobody's place in the file
    for style in ("0", "1"):  # points have the colour of the line that predicts them
        assert f'class="curve c{style}"' in page
        assert f'class="bar-of c{style}"' in page


def test_the_page_of_a_limit_says_how_many():
    page = render_limit(limit_found())
    tags = Tags.of(page)
    refuses_the_world(tags)
    assert charts(page) == 1
    for words in ("Publish at most 17", "at most 17", "limit 5.0", "multiples of 0.125", "1,234 simulated"):
        assert words in tags.text, words
    assert 'class="verdict fail"' in page
    everything = render_limit(limit_found(attributes=100))
    assert "All 100 can be published" in everything
    assert 'class="verdict pass"' in everything


@pytest.mark.parametrize(("n", "delta"), [(10_000, 1e-6), (1, 0.0)])
def test_the_page_of_bounds_has_its_numbers(n, delta):
    found = ta.bounds.table(n, 8, 3, 0.5, delta)
    made = replace(BoundsFound.of(found, "tellall bounds"), **MADE)
    page = render_bounds(read_back(made))
    tags = Tags.of(page)
    refuses_the_world(tags)
    assert f"Less than {found.least_noise.per_cell:.4g}"[:14] in tags.text
    assert f"{found.least_noise.per_cell:.4g}" in tags.text
    for row in found.rows:
        assert row.formula in tags.text
