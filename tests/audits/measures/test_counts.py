"""Counts of people are means over draws: added up and judged as they are, and never shown as none."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tellall as ta
from tellall.audits.measures.chance_intervals import Luck
from tellall.audits.measures.counts import add_counts, mean_count
from tellall.audits.outcome import add_up
from tellall.audits.trial import Planned, Setting, Trial
from tellall.audits.verdict import Limits, judge_area, judge_outcome
from tellall.core.amounts import count_of, counted
from tellall.linalg.solvers.solution import Status
from tests.conftest import random_people

LIMITS = Limits(0.99, 0, ("1",))
DRAWS = 6


@given(st.integers(1, 12), st.data())
def test_means_of_areas_add_up_to_the_mean_of_all(draws, data):
    """As exactly as fractions do, so that a sum at a limit is not above it."""
    areas = data.draw(st.lists(st.lists(st.integers(0, 9), min_size=draws, max_size=draws), min_size=1))
    total = add_counts(mean_count(counts) for counts in areas)
    exact = Fraction(sum(map(sum, areas)), draws)
    assert total == pytest.approx(float(exact), abs=1e-8)
    assert all((total > limit) == (exact > limit) for limit in range(4))
    assert (counted(total) == "0") == (exact == 0)


@pytest.fixture(scope="module")
def trials() -> list[Trial]:
    planned = (Planned("t", ta.Marginals(3), (ta.Gaussian(1.2),)),)
    return [Trial(Setting(random_people(24, 6, seed=seed)), planned, DRAWS, seed) for seed in range(4)]


def test_an_outcome_over_areas_is_the_mean_of_its_draws(trials):
    each = [trial.scored("least-squares")[1] for trial in trials]
    whole = add_up([trial.run("least-squares") for trial in trials], len(trials))
    learnt = [sum(LIMITS.count(risks[draw].learnt_by_value) for risks in each) for draw in range(DRAWS)]
    exposed = [sum(risks[draw].exposed for risks in each) for draw in range(DRAWS)]
    named = [sum(risks[draw].named()[0] for risks in each) for draw in range(DRAWS)]
    assert LIMITS.count(whole.learnt) == pytest.approx(np.mean(learnt))
    assert whole.exposed_people == pytest.approx(np.mean(exposed))
    assert whole.named == pytest.approx(np.mean(named))
    assert 0 < np.mean(learnt) % 1 < 1  # rounding anywhere would show
    confident = sum(count for level, count in whole.curve if level == 0.95)
    assert confident == pytest.approx(np.mean(exposed))
    said = sum(one.said for one in whole.reliability)
    assert said == pytest.approx(24 * len(trials))


def test_somebody_given_away_in_few_draws_is_given_away(trials):
    """One person in one of ten draws of each area: never rounded to nobody, alone or added up."""
    found = trials[0].run("least-squares")
    harmless = replace(found, interval=(-0.1, 0.1), luck=Luck(0, 0, 0, 1.0), status=Status("solved"))
    nobody, few = {"0": 0, "1": 0}, {"0": 0, "1": mean_count([1] + 9 * [0])}
    alone = replace(
        harmless, learnt=few, exposed={"0.95": few, "0.99": nobody}, proved_alone=nobody, proved_group=nobody
    )
    verdict = judge_outcome("t", alone, LIMITS)
    assert (verdict.word, verdict.decided) == ("fail", "people exposed")
    assert "0.1 people exposed" in verdict.sentence
    assert judge_area("x", 24, [("t", alone)], LIMITS, 10, None).word == "fail"
    whole = add_up(10 * [alone], 10)
    assert (LIMITS.count(whole.learnt), whole.exposed_people) == (1, 1)
    assert "1 person exposed" in judge_outcome("t", replace(whole, interval=(0, 0.1)), LIMITS).sentence
    assert judge_outcome("t", replace(whole, interval=(0, 0.1)), replace(LIMITS, exposed=1)).word == "pass"


def test_few_people_never_look_like_none():
    assert [counted(0.004), counted(0), counted(12.31), counted(1234.0)] == ["0.1", "0", "12.4", "1,234"]
    assert count_of(0.004, "person", "people") == "0.1 people"
