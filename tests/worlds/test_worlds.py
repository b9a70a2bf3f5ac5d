"""What the verdict says in worlds whose answer is known: harmless ones, leaks, and an adversary's designs."""

from __future__ import annotations

from statistics import median

import pytest
from scipy.stats import binom

from tests.worlds.designs import DESIGNS
from tests.worlds.gibbs import sampled
from tests.worlds.harmless import ELSEWHERE, HARMLESS, POPULATION
from tests.worlds.leaking import ADVERSARY, LEAKS
from tests.worlds.world import Tally, runs_of, table

FIRST = 5000  # of the seeds; rules were chosen on others, below 1000
RUNS, FEW = 40, 30
FEWEST = 500  # guesses from which a design is judged
ALARM = 1e-5  # a settled attack that says what it says is called short of it this often
RIGHT = {0.95: 0.93, 0.99: 0.97}  # of the guesses in the bin that begins here
OUTSIDE = [0, 1, 2, 3]  # the adversary's columns in no table


def kinds(known, slow="worlds"):
    return [
        pytest.param(
            name,
            marks=getattr(pytest.mark, slow),
            id=name,
        )
        for name in known
    ]


def tallied(name: str, make, runs: int) -> Tally:
    found = runs_of(name, make, runs, FIRST)
    print(table([found]))
    return found


@pytest.mark.parametrize("name", kinds(HARMLESS))
def test_a_harmless_world_passes(name):
    found = tallied(name, HARMLESS[name], RUNS)
    assert found.count("fail") == 0
    assert found.count("review") <= (0.10 if name in ELSEWHERE else 0.05) * RUNS


@pytest.mark.parametrize("name", kinds(POPULATION))
def test_a_fact_about_everybody_alike_passes(name):
    found = tallied(name, POPULATION[name], RUNS)
    assert found.count("fail") == 0
    assert found.count("review") <= 0.05 * RUNS


@pytest.mark.parametrize("name", kinds(LEAKS))
def test_a_leak_fails(name):
    found = tallied(name, LEAKS[name], FEW)
    assert found.count("fail") == FEW


@pytest.mark.parametrize("name", kinds(ADVERSARY))
def test_a_design_of_an_adversary_fails(name):
    found = tallied(name, ADVERSARY[name], FEW)
    assert found.count("pass") == 0
    assert found.count("fail") >= 0.75 * FEW
    right_as_often_as_said(found)


@pytest.mark.parametrize("name", kinds(DESIGNS))
def test_guesses_are_right_as_often_as_they_say(name):
    right_as_often_as_said(tallied(name, DESIGNS[name], FEW))


def right_as_often_as_said(found: Tally) -> None:
    """No settled attack falls short of its confidences, nor do all runs together."""
    for decoder, bins in found.bins.items():
        for one in bins:
            if one.low in RIGHT and one.said >= FEWEST:
                assert one.right >= RIGHT[one.low] * one.said, (decoder, one)
    short = [
        (decoder, one)
        for run in found.runs
        for decoder, bins in run.bins.items()
        for one in bins
        if one.said and one.low >= 0.5 and binom.cdf(round(one.right), round(one.said), one.low) < ALARM
    ]
    assert short == []


REFERENCE = ("noise of 1", "Laplace noise of scale .7", "geometric noise of scale .7", "rounded to 5")


@pytest.mark.worlds
@pytest.mark.parametrize("name", REFERENCE)
def test_a_sampler_with_the_columns_outside_as_prior_exposes_people(name):
    from tests.worlds.world import drawn

    seeds = range(FIRST, FIRST + FEW)
    found = [sampled(ADVERSARY[name](drawn(name, seed)), OUTSIDE, seed) for seed in seeds]
    sure, right = sum(one.sure for one in found), sum(one.right for one in found)
    exposed = [one.exposed for one in found]
    print(f"{name}: {sure} sure, {right} right; sensitive and exposed: median {median(exposed)}, {exposed}")
    assert right >= 0.95 * sure
    assert median(exposed) >= 10


QUICK = (
    *((HARMLESS, name, "pass") for name in ("one-way tables of 1,000", "means", "logistic regressions")),
    (POPULATION, "two differ", "pass"),
    *((LEAKS, name, "fail") for name in ("exact tables by threes", "people alone in cells", "sums by pairs")),
)


@pytest.mark.parametrize(("known", "name", "word"), QUICK, ids=[name for _, name, _ in QUICK])
def test_one_world_of_a_kind(known, name, word):
    assert runs_of(name, known[name], 1, FIRST).runs[0].word == word
