"""Attackers who know what the baseline knows: the strongest attack over decoders and priors.

Where predictive columns stand outside the published tables, an attack with one rate for everybody lies far
below the baseline, and passes. A release that teaches a fact about a population, and nothing about anybody,
must not be accused by an attacker who has both halves.
"""

from __future__ import annotations

import numpy as np
import pytest

import tellall as ta
from tellall.audits.trial import Planned, Setting, Trial, strongest
from tests.conftest import random_people


def expit(score: np.ndarray) -> np.ndarray:
    return np.asarray(1 / (1 + np.exp(-score)))


def world(seed: int, n: int = 400) -> tuple[ta.Dataset, np.ndarray]:
    """Four predictive bits that no table uses, and four ways to divide the people into 20 areas of 20."""
    rng = np.random.default_rng([39, seed])
    bits = rng.integers(0, 2, (n, 4))
    chance = expit(1.5 * (2 * bits - 1).sum(axis=1) - 0.5)
    areas = np.stack([rng.permutation(n) % (n // 20) for _ in range(4)], axis=1)
    names = ["b1", "b2", "b3", "b4", "area1", "area2", "area3", "area4"]
    secret = (rng.random(n) < chance).astype(int)
    return ta.Dataset.from_arrays(np.hstack([bits, areas]), secret, names=names), chance


def tables(std: float = 1.0, **more: object) -> tuple[Planned, ...]:
    return tuple(
        Planned(f"by {name}", ta.Marginals(2, attributes=[[name]]), (ta.Gaussian(std),), stream=stream)
        for stream, name in enumerate(["area1", "area2", "area3", "area4"])
    )


def test_the_informed_attack_finds_what_one_rate_for_everybody_does_not() -> None:
    people, _ = world(0)
    trial = Trial(Setting(people), tables(), seed=1)
    found = {one.asked: one for one in trial.run_all(("auto", "least-squares", "lp"))}
    assert list(found) == [
        "auto",
        "least-squares",
        "lp",
        "auto, informed",
        "least-squares, informed",
        "auto, outside",
        "least-squares, outside",
    ]
    flat, outside = found["auto"], found["auto, outside"]
    assert flat.accuracy < flat.baselines["public"] - 0.05
    assert outside.accuracy > outside.baselines[outside.baseline] + 0.02
    assert outside.luck.sure > 40
    assert outside.luck.right > 0.95 * outside.luck.sure
    assert outside.attack == "posterior, outside"
    assert flat.attack == "posterior"
    best = strongest(list(found.values()))
    assert best.asked.endswith("outside")
    for one in found.values():  # the same baselines for every attack on this set, and every prior is one
        assert one.baselines == flat.baselines
    assert {"public", "outside columns", "together"} < set(flat.baselines)


def test_a_prior_is_exactly_a_baseline() -> None:
    people, _ = world(1)
    setting, what = Setting(people), [one.statistic for one in tables()]
    priors = setting.priors(what)
    known = {one.name: one for one in setting.baselines(what)}
    np.testing.assert_array_equal(priors["informed"], known["public"].probability)
    np.testing.assert_array_equal(priors["outside"], known["outside columns"].probability)
    assert Setting(random_people(200, 4, seed=0)).priors([ta.Marginals(3)]).keys() <= {"informed"}


def test_a_score_has_the_prior_as_a_baseline() -> None:
    people, chance = world(1)
    releases = [ta.publish(people, one.statistic, *one.protections, rng=0) for one in tables()]
    attack = ta.reconstruct(releases, people.public, "least-squares", chance)
    risk = ta.score(attack, people.secret)
    assert risk.baselines["prior"] == np.mean((chance >= 0.5) == people.secret)
    assert risk.baselines["together"] > risk.baselines["majority"]
    assert risk.accuracy > risk.baselines["prior"] + 0.02


def test_several_draws_share_one_decomposition_for_each_prior() -> None:
    people, _ = world(2)
    trial = Trial(Setting(people), (tables()[0],), draws=4, seed=1)
    prior = trial.setting.priors(trial.queries)["outside"]
    for release, found in zip(trial.published, trial.attack("least-squares, outside"), strict=True):
        alone = ta.reconstruct(release, people.public, "least-squares", prior)
        np.testing.assert_allclose(found.confidence, alone.confidence, atol=1e-4)
        np.testing.assert_array_equal(found.prior, prior)


def people_of(people: ta.Dataset, setting: Setting, judged: np.ndarray) -> np.ndarray:
    return np.asarray(people.public.codes)[0][setting.stand.rows[judged]]


def test_an_attacker_who_knows_fewer_columns_is_informed_by_those() -> None:
    from tellall.audits.plans.attacker import Attacker

    people, _ = world(3)
    some = Attacker(known=("b1", "area1", "area2"), known_people=0.8, known_secrets=0.1)
    setting = Setting(people, attacker=some)
    what = [one.statistic for one in tables()[:2]]
    priors = setting.priors(what)
    assert set(priors) == {"informed", "outside"}
    assert priors["outside"].shape == (320,)
    judged = setting.judged(what)
    low, high = (priors["outside"][judged][people_of(people, setting, judged) == bit] for bit in (0, 1))
    assert high.min() > low.max() + 0.2  # one bit is all that is left outside
    (found,) = Trial(setting, tables()[:2], seed=1).run_all(("auto",))[2:]
    assert found.asked == "auto, outside"
    assert found.people == judged.size


def test_audits_report_the_strongest_attack_with_its_prior_by_area_too() -> None:
    people, _ = world(4)
    plan = {
        "releases": [
            {
                "name": "by area",
                "statistic": {
                    "kind": "Marginals",
                    "ways": 2,
                    "attributes": [[f"area{k}"] for k in (1, 2, 3, 4)],
                },
                "protect": [{"kind": "Gaussian", "std": 1.0}],
            }
        ],
        "seed": 3,
    }
    found = ta.audit(people, plan)
    finding = found.findings[0]
    assert finding.outcome.asked.endswith(", outside")
    told = found.document
    named = [one["decoder"] for one in told["findings"][0]["decoders"]]
    assert "auto, informed" in named
    halves = np.column_stack([np.asarray(people.public.codes).T, np.arange(400) % 2])
    again = ta.Dataset.from_arrays(halves, people.secret, names=[*people.public.names, "half"])
    parts = ta.audit(again, {**plan, "by": "half"})
    assert {one.asked for one in parts.findings[0].outcomes} >= {"auto, informed", "auto, outside"}


def population_fact(seed: int) -> ta.Dataset:
    """2,000 people: an interaction that lines miss in groups of 250, and a predictive bit outside."""
    rng = np.random.default_rng([40, seed])
    public = rng.integers(0, 2, (2000, 4))
    score = 2.0 * (2 * (public[:, 0] ^ public[:, 1] ^ public[:, 2]) - 1) + 1.2 * (2 * public[:, 3] - 1)
    return ta.Dataset.from_arrays(
        public, (rng.random(2000) < expit(score)).astype(int), names=["a", "b", "c", "outside"]
    )


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 20))])
def test_a_fact_about_a_population_is_no_attack(seed: int) -> None:
    people = population_fact(seed)
    release = Planned("table", ta.Marginals(4, attributes=[["a", "b", "c"]]), (ta.Gaussian(1.0),))
    for one in Trial(Setting(people), (release,), seed=seed).run_all(("auto", "least-squares")):
        assert one.interval[0] <= 0.02, one.asked
        assert one.exposed_people == 0, one.asked


def gibbs(
    people: ta.Dataset, releases: list[ta.Release], prior: np.ndarray, std: float, seed: int
) -> np.ndarray:
    """The reference: each person's chance by Gibbs sampling, one person and one pair at a time."""
    rng = np.random.default_rng(seed)
    operators, targets = [], []
    for release in releases:
        part = release.statistic.equations(people.public, release.values)
        operators.append(
            part.operator.to_dense()[:, people.public.patterns.index]
            if part.operator.shape[1] != people.n
            else part.operator.to_dense()
        )
        targets.append(part.target)
    matrix, target = np.vstack(operators), np.concatenate(targets)
    log_odds, total, kept = np.log(prior / (1 - prior)), np.zeros(people.n), 0
    for _start in range(2):
        state = (rng.random(people.n) < prior).astype(float)
        image = matrix @ state
        for sweep in range(1500):
            for person in rng.permutation(people.n):
                column = matrix[:, person]
                without = image - column * state[person]
                gain = ((without - target) ** 2 - (without + column - target) ** 2).sum() / (2 * std**2)
                chance = 1 / (1 + np.exp(-(log_odds[person] + gain)))
                state[person] = rng.random() < chance
                image = without + column * state[person]
                if sweep >= 500:
                    total[person] += chance
            kept += sweep >= 500
    return total / kept


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_the_attack_is_as_strong_as_a_gibbs_sampler_with_the_same_prior(seed: int) -> None:
    people, _ = world(seed)
    trial = Trial(Setting(people), tables(), seed=seed)
    prior = trial.setting.priors(trial.queries)["outside"]
    reference = gibbs(people, list(trial.published[0]), prior, 1.0, seed)
    best = float(((reference >= 0.5) == people.secret).mean())
    for decoder, off in (("auto", 0.02), ("least-squares", 0.03)):
        (found,) = trial.attack(f"{decoder}, outside")
        right = float((found.guess == people.secret).mean())
        chance = np.where(found.guess == 1, found.confidence, 1 - found.confidence)
        assert right > best - off
        assert np.abs(chance - reference).mean() < 0.03
