"""What the pages of studies say first."""

from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tellall.audits.answers import (
    area_calibration_answer,
    calibration_answer,
    least_enough,
    sweep_answer,
)
from tellall.audits.calibrate import Calibration
from tellall.audits.measures.utility import Utility
from tellall.audits.study_areas import (
    AreaAnswer,
    AreaCalibration,
    AreaRow,
    AreaSweep,
    CalibratedArea,
    SweptArea,
)
from tellall.audits.sweep import Sweep, SweepRow

LIMIT = 0.05


UNKNOWN = dict.fromkeys([field.name for field in fields(SweepRow)])


def row(protection, high, loss=1.0, decoder="lp", **more):
    found = {"protection": protection, "decoder": decoder, "high": high, "low": high - 0.1, "loss": loss}
    known = {
        "family": protection,
        "scale": None,
        "std": None,
        "draws": 1,
        "accuracy": 0.6,
        "accuracy_low": 0.5,
        "accuracy_high": 0.7,
        "baseline": "majority",
        "baseline_accuracy": 0.5,
        "advantage": high - 0.05,
        "in_sample": 0.0,
        "proved": 0,
        "exposed": 0,
        "learnt": 0,
        "verdict": "pass" if high <= LIMIT else "review",
        "decided": "limit inside the interval",
    }
    return SweepRow(**UNKNOWN | known | found | more)


def release(*rows, areas=None, **more):
    known = {
        "name": "tables",
        "statistic": "tables",
        "people": 9,
        "units": "people",
        "seed": 0,
        "secret": "ill",
    }
    if areas is None:
        return Sweep(**known | more, rows=tuple(rows))
    return AreaSweep(**known | more, rows=tuple(rows), by="town", areas=areas)


def in_area(*rows):
    """What an area shows of these rows."""
    shown = [field.name for field in fields(AreaRow)]
    listed = tuple(AreaRow(**{name: getattr(one, name) for name in shown}) for one in rows)
    return SweptArea(name="x", people=9, seed=0, rows=listed)


rows = st.lists(
    st.builds(
        row, st.sampled_from("abc"), st.floats(-0.2, 0.2), st.floats(0.1, 9), st.sampled_from(["lp", "ls"])
    ),
    min_size=1,
    max_size=9,
)


@given(rows)
def test_enough_is_what_every_decoder_stays_under(several):
    words = {one.protection: "pass" for one in several}
    words |= {one.protection: "review" for one in several if one.verdict != "pass"}
    several = [replace(one, verdict=words[one.protection]) for one in several]  # as a sweep judges them
    found = least_enough(several)
    above = {one.protection for one in several if one.high > LIMIT}
    kept = [one for one in several if one.protection not in above]
    if found is None:
        assert not kept
    else:
        assert found.protection not in above
        assert found.high == max(one.high for one in kept if one.protection == found.protection)
    answer = sweep_answer(release(*several), LIMIT)
    assert (answer.kind == "fail") == (not kept)
    assert answer.about == "tables"


def test_of_several_the_one_that_costs_least_is_named():
    bare = row("exact", 0.3, loss=0.0)
    answer = sweep_answer(release(bare, row("much", 0.0, 9.0), row("some", 0.04, 2.0)), LIMIT)
    assert (answer.kind, answer.word) == ("pass", "some is enough")
    assert "off by 2 people" in answer.sentence
    assert "gains nothing" in answer.sentence
    assert "Unprotected, the attack gains 25.0 people in 100" in answer.sentence


def test_nothing_done_may_be_enough_and_nothing_tried_may_not_be():
    quiet = sweep_answer(release(row("exact", 0.01, loss=0.0), row("some", 0.0)), LIMIT)
    assert (quiet.kind, quiet.word) == ("pass", "Nothing needs to be done")
    loud = sweep_answer(release(row("exact", 0.4, loss=0.0), row("some", 0.3)), LIMIT)
    assert (loud.kind, loud.word) == ("fail", "None of these is enough")
    assert "The nearest is some" in loud.sentence


def test_what_is_enough_over_all_people_may_not_be_in_an_area():
    areas = in_area(row("some", 0.2)), in_area(row("some", 0.0)), in_area()
    answer = sweep_answer(release(row("some", 0.04), areas=areas), LIMIT)
    assert answer.word == "some is enough over all people"
    assert "In 1 of 2 areas it is not surely enough" in answer.sentence


def test_a_real_secret_has_no_limit_and_the_choice_is_left():
    answer = sweep_answer(release(row("exact", 7.0, 0.0), row("some", 2.0), real=True), LIMIT)
    assert (answer.kind, answer.word) == ("review", "some gives away least")
    assert "in the unit of ill" in answer.sentence
    assert "people in 100" not in answer.sentence
    worse = sweep_answer(release(row("some", -1.44), real=True), LIMIT).sentence
    assert "comes no nearer than the strongest baseline (−1.49; 95 % interval" in worse


@pytest.mark.parametrize("scale", [2.0, 0.0])
def test_a_calibration_names_its_noise_or_says_that_none_is_needed(scale):
    found = Calibration(
        name="tables",
        family="Gaussian",
        scale=scale,
        done="Gaussian(std=2)",
        max_advantage=LIMIT,
        decoder="lp",
        accuracy=0.6,
        baseline="majority",
        baseline_accuracy=0.5,
        advantage=0.02,
        interval=(0.0, 0.04),
        exposed=0,
        learnt=0,
        loss=scale,
        utility=Utility(1, 0.0, scale, scale, *4 * (0.0,), 1, 0),
        coefficients=None,
        guarantee=None,
        evaluations=1,
        history=(),
        draws=1,
        statistic="tables",
        people=9,
        units="people",
        seed=0,
    )
    answer = calibration_answer(found)
    assert answer.kind == "pass"
    assert ("Gaussian" in answer.word) == (scale > 0)
    assert ("off by" in answer.sentence) == (scale > 0)
    assert "where 5.0 are allowed" in answer.sentence


def of_areas(scale, together, people, learnt, answered, areas):
    """One noise for several areas, of which some have an answer of their own."""
    own = AreaAnswer(scale, "Gaussian(std=2)", "lp", 0.6, "majority", 0.5, 0.02, (0.0, 0.04), scale, 1)
    return AreaCalibration(
        name="tables",
        by="town",
        family="Gaussian",
        scale=scale,
        protection="Gaussian(std=2)",
        max_advantage=LIMIT,
        statistic="tables",
        people=people,
        units="people",
        seed=0,
        together=together,
        exposed=0,
        learnt=learnt,
        warnings=(),
        areas=tuple(
            CalibratedArea(name=f"{at}", people=9, seed=0, answer=own if at < answered else None)
            for at in range(areas)
        ),
    )


@pytest.mark.parametrize(
    ("scale", "low", "kind", "word"),
    [
        (2.0, 0.0, "pass", "Gaussian(std=2) is enough"),
        (0.0, 0.0, "pass", "Nothing needs to be done"),
        (2.0, 0.1, "fail", "Gaussian(std=2) is not enough"),
        (0.0, 0.1, "fail", "No noise was found"),
    ],
)
def test_one_noise_for_all_areas_and_whether_it_is_enough(scale, low, kind, word):
    whole = row("Gaussian(std=2)", low + 0.1, low=low, learnt=3.0)
    answer = area_calibration_answer(of_areas(scale, whole, 1234, 3, 2, 3))
    assert (answer.kind, answer.word) == (kind, word)
    assert ("all 2 areas with an answer" in answer.sentence) == (scale > 0)
    assert "1,234 people" in answer.sentence


def test_a_sweep_also_keeps_to_the_plans_limit_on_people_exposed():
    fails = {"verdict": "fail", "decided": "people exposed"}
    bare = row("exact", 0.01, 0.0, learnt=0.0, **fails), row("exact", 0.0, 0.0, "ls", learnt=3.0, **fails)
    some, much = row("some", 0.01, 1.0, learnt=2.0, **fails), row("much", 0.0, 9.0, learnt=0.0)
    found = release(*bare, some, much)
    answer = sweep_answer(found, LIMIT, 0)
    assert (answer.kind, answer.word) == ("pass", "much is enough")
    assert "gives away no more than 0 people" in answer.sentence
    none = sweep_answer(release(*bare, some), LIMIT, 0)
    assert (none.kind, none.word) == ("fail", "None of these is enough")
    assert "The nearest is some" in none.sentence
    assert "What decides there: people exposed." in none.sentence
    assert "but 2 people with a sensitive value are proved alone or exposed" in none.sentence


@pytest.mark.parametrize("scale", [0.0, 2.0])
def test_one_noise_that_gives_away_too_many_people_is_not_enough(scale):
    whole = row("Gaussian(std=2)", 0.04, low=0.0, learnt=3)
    several = of_areas(scale, whole, 9, 4, 1, 1)
    answer = area_calibration_answer(several, 3)
    assert answer.kind == "fail"
    assert "4 people with a sensitive value are proved alone or exposed, where the plan allows 3" in (
        answer.sentence
    )
    assert area_calibration_answer(several, 4).kind == "pass"
