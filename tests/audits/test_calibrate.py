"""calibrate: the least noise that keeps the advantage under a limit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tellall as ta
from tellall.audits.trial import Planned, Setting, Trial
from tellall.audits.verdict import Limits, judge
from tellall.core.work import sharing
from tests.conftest import random_people

PEOPLE = random_people(120, 18, seed=2)
PAIRS = ta.Predicates("xor", ways=3)
FEW = random_people(60, 7, seed=1)
QUICK = ["least-squares"]


def _learnt(found: ta.Calibration) -> int:
    """How many people are learnt at the scale that was found."""
    return next(one.learnt for one in found.history if one.scale == found.scale)


def _grid_answer(
    people: ta.Dataset, scales: np.ndarray, limit: float, draws: int, rng: int, decoders: Any
) -> float:
    """The least scale of a grid from which on all pass, under calibrate's rule."""
    setting, limits = Setting(people), Limits(limit, None, ("1",), kept=True)
    passed = []
    for scale in scales:
        trial = Trial(setting, (Planned("noisy", PAIRS, (ta.Gaussian(scale),)),), draws, rng)
        found = [("noisy", one) for one in trial.run_all(decoders)]
        passed.append(judge(found, limits).word == "pass")
    assert passed[-1]
    assert not passed[0]
    return float(scales[len(passed) - passed[::-1].index(False)])


@pytest.mark.parametrize("limit", [0.25, 0.3])
def test_within_a_tenth_of_a_fine_grid(limit: float) -> None:
    found = ta.calibrate(
        PEOPLE, PAIRS, ta.Gaussian, limit, exposed_limit=None, draws=10, rng=3, decoders=QUICK
    )
    assert found.evaluations <= 15
    assert isinstance(found.protection, ta.Gaussian)
    assert found.protection.std == found.scale
    assert found.interval[1] <= limit
    grid = found.scale * 1.05 ** np.arange(-4, 5)
    answer = _grid_answer(PEOPLE, grid, limit, 10, 3, QUICK)
    assert abs(found.scale / answer - 1) <= 0.1


@pytest.mark.slow
@pytest.mark.parametrize("limit", [0.05, 0.2])
def test_a_thousand_people_all_pairs(limit: float) -> None:
    """Every decoder; the grid is taken under the same rule, with the same draws."""
    people = random_people(1000, 64, seed=5)
    found = ta.calibrate(people, PAIRS, ta.Gaussian, limit, exposed_limit=None, rng=1)
    assert {outcome.asked for outcome in found.outcomes} == {"auto", "least-squares", "lp"}
    assert all(outcome.interval[1] <= limit for outcome in found.outcomes)
    assert found.evaluations <= 15
    assert all(one.interval[1] <= limit for one in found.history if one.passed)
    grid = found.scale * 1.04 ** np.arange(-4, 5)
    answer = _grid_answer(people, grid, limit, 50, 1, ("auto", "least-squares", "lp"))
    assert abs(found.scale / answer - 1) <= 0.1


def test_decoders_that_are_left_out_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tellall.audits.trial._MOST_WORK", 59)
    found = ta.calibrate(FEW, ta.Marginals(2), ta.Gaussian, 0.4, draws=2)
    assert found.warnings[-1] == (
        "Not tried, because of the time on 60 people: auto, lp. The results do not cover "
        "them; a decoder that finds more needs more noise. Ask for them by name."
    )
    assert not ta.sweep(FEW, ta.Marginals(2), ta.Gaussian(3.0), repeats=2, decoders="auto").untried
    swept = ta.sweep(FEW, ta.Marginals(2), ta.Gaussian(3.0), repeats=2)
    assert swept.untried == ("auto", "lp")
    assert "Not tried, because of the time on 60 people" in str(swept)
    assert swept.as_json()["untried"] == ["auto", "lp"]
    assert str(found).startswith("Least noise for an advantage of at most 40.0 in 100 by least-squares: ")


def test_no_decoder_is_tried_after_one_that_fails() -> None:
    found = ta.calibrate(FEW, ta.Marginals(3), ta.Gaussian, 0.3, draws=3, start=1.0)
    assert found.history[0].decoder == "least-squares"  # the quickest, which fails there
    assert not found.history[0].passed
    assert len(found.outcomes) == 3


def test_people_learnt_count_as_well_as_the_advantage() -> None:
    options: dict[str, Any] = {"draws": 3, "decoders": QUICK, "start": 0.3}
    loose = ta.calibrate(FEW, ta.Marginals(3), ta.Gaussian, 0.9, exposed_limit=None, **options)
    strict = ta.calibrate(FEW, ta.Marginals(3), ta.Gaussian, 0.9, **options)
    assert loose.scale < strict.scale
    assert (strict.history[0].passed, strict.history[0].decided) == (False, "people exposed")
    assert _learnt(strict) == 0 < strict.history[0].learnt
    assert _learnt(loose) > 0
    assert loose.verdict.word == strict.verdict.word == "pass"


def test_a_protection_that_always_leaves_doubt_never_passes() -> None:
    """Nobody knows who was left out of a sample, so an audit of one never passes; neither does a scale."""
    with pytest.raises(ta.InvalidInput, match=r"Subsample can keep; .* \(answer not settled\)"):
        ta.calibrate(FEW, ta.Marginals(3), ta.Subsample, 0.3, draws=3, decoders=QUICK)


def test_what_is_found_says_all_there_is_to_say() -> None:
    found = ta.calibrate(FEW, ta.Marginals(3), ta.Laplace, 0.3, draws=5)
    assert {outcome.asked for outcome in found.outcomes} == {"auto", "least-squares", "lp"}
    assert isinstance(found.protection, ta.Laplace)
    promise = ta.guarantee_of(found.protection, ta.Marginals(3), FEW.public)
    assert (found.guarantee.epsilon, found.guarantee.delta) == (promise.epsilon, promise.delta)
    assert found.utility.mean_error == pytest.approx(found.loss)
    assert found.history[-1].scale > 0
    assert found.advantage in [one.advantage for one in found.history]
    text = str(found)
    assert "no guarantee" in text
    assert found.guarantee.text in text
    assert found.as_json()["evaluations"] == found.evaluations


def test_the_same_seed_gives_the_same_answer() -> None:
    one, two = (
        ta.calibrate(FEW, ta.Marginals(3), "Gaussian", 0.3, draws=4, rng=9, decoders=QUICK) for _ in range(2)
    )
    assert one.as_json() == two.as_json()


@pytest.mark.parametrize(
    "family",
    [
        ta.Rounding,
        ta.Suppression,
        ta.Swapping,
        ta.SuLQ,
        lambda s: [ta.Gaussian(s), ta.Rounding(5)],
    ],
    ids=["Rounding", "Suppression", "Swapping", "SuLQ", "a function"],
)
def test_every_family_has_an_answer(family: Any) -> None:
    found = ta.calibrate(FEW, ta.Marginals(3), family, 0.3, draws=3, decoders=QUICK)
    assert found.interval[1] <= 0.3
    assert _learnt(found) == 0
    assert found.evaluations <= 15
    assert found.protection is not None


def test_nothing_needs_to_be_done_where_the_release_tells_nothing() -> None:
    people = random_people(200, 3, seed=0)
    found = ta.calibrate(people, ta.Marginals(2), ta.Gaussian, 0.4, draws=3)
    assert found.protection is None
    assert found.scale == 0
    assert "none is needed" in str(found)
    assert found.utility.mean_error == 0


def test_a_limit_below_what_the_people_can_resolve_is_explained() -> None:
    with pytest.raises(ta.InvalidInput, match=r"max_advantage must be above .* what 60 people can resolve"):
        ta.calibrate(FEW, PAIRS, ta.Gaussian, 0.001, draws=3, decoders=QUICK)


def test_a_family_that_cannot_keep_the_limit_is_explained() -> None:
    with pytest.raises(ta.NoAnswer, match="one that pinch can keep"):
        ta.calibrate(PEOPLE, PAIRS, _pinch, 0.1, draws=3, evaluations=8, decoders=QUICK)


def _pinch(scale: float) -> ta.Gaussian:
    return ta.Gaussian(min(scale, 1e-3))


_pinch.__name__ = "pinch"


@pytest.mark.parametrize("limit", [0, -0.1, 1, 1.5, float("nan"), "much", True])
def test_limits_that_are_none_are_refused(limit: Any) -> None:
    with pytest.raises(ta.InvalidInput, match=r"max_advantage must be"):
        ta.calibrate(FEW, PAIRS, ta.Gaussian, limit)


@pytest.mark.parametrize(
    "options",
    [{"draws": 0}, {"evaluations": 3}, {"tolerance": 0}, {"start": -1}, {"start": 0}, {"draws": 2.5}],
)
def test_bad_options_are_explained(options: dict[str, Any]) -> None:
    with pytest.raises(ta.InvalidInput, match=f"{next(iter(options))} must be"):
        ta.calibrate(FEW, PAIRS, ta.Gaussian, 0.2, **options)


def test_the_share_that_is_done_is_of_the_attacks_of_this_run(tmp_path):
    def calibrated(work):
        shares, told = [], []
        with sharing(shares.append):
            found = ta.calibrate(
                FEW, PAIRS, ta.Gaussian, 0.3, draws=2, decoders=QUICK, rng=1, work=work,
                progress=lambda done, total: told.append((done, total)),
            )  # fmt: skip
        return found, shares, told

    found, shares, told = calibrated(tmp_path)
    scales = len(found.history)
    assert [done for done, _ in told] == [*range(scales), scales]
    assert told[-1] == (scales, scales)
    assert shares[0] == 0
    assert max(shares) == shares[-1] > 0.5
    again, kept, _ = calibrated(tmp_path)
    assert again.scale == found.scale
    assert set(kept) == {0}  # nothing was measured, so no pace is known
