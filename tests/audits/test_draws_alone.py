"""Every draw of a trial is attacked as `reconstruct` attacks its release, whatever draws share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import tellall as ta
from tellall.audits.plans.attacker import Attacker
from tellall.audits.trial import Planned, Setting, Trial
from tellall.protections.protection import Protection, as_rng

RNG = np.random.default_rng(5)
N = 30
CODES, NUMBERS = RNG.integers(0, 2, (N, 5)), RNG.normal(size=(N, 5))
PEOPLE = {
    "bits": ta.Dataset.from_arrays(CODES, RNG.permutation(np.arange(N) % 2)),
    "bits, columns of three values": ta.Dataset.from_arrays(
        RNG.integers(0, 3, (N, 4)), RNG.permutation(np.arange(N) % 2)
    ),
    "bits, columns of numbers": ta.Dataset.from_arrays(NUMBERS, (NUMBERS[:, 0] > 0).astype(int)),
    "categories": ta.Dataset.from_arrays(CODES[:, :4], RNG.permutation(np.arange(N) % 3)),
    "numbers": ta.Dataset.from_arrays(NUMBERS, 5 + NUMBERS[:, 0] + RNG.normal(size=N)),
    "numbers, columns of bits": ta.Dataset.from_arrays(CODES, RNG.gamma(2.0, size=N)),
}


@dataclass(frozen=True)
class Lying(Protection):
    """Much more noise than the law says."""

    @property
    def law(self) -> ta.Noise:
        return ta.Gaussian(1.0)

    def perturb(self, values: Any, rng: Any = None, context: Any = None) -> Any:
        return values + as_rng(rng).normal(0, 30, values.shape)


@dataclass(frozen=True)
class Silent(Lying):
    """The same with no law."""

    @property
    def law(self) -> ta.Noise:
        return ta.Unknown()


@dataclass(frozen=True)
class Choosy(Lying):
    """The same, and it may hide values."""

    hides = True


PROTECTIONS: list[tuple[Protection, ...]] = [
    (ta.Gaussian(1.0),),
    (ta.Gaussian(0.2),),
    (ta.Laplace(2.0),),
    (ta.TruncatedNormal(1.0, 2.0),),
    (ta.TruncatedNormal(20.0, 40.0),),
    (ta.DiscreteGaussian(0.8),),
    (ta.Rounding(6, "random"),),
    (ta.Gaussian(0.5), ta.Rounding(3)),
    (ta.Corruption(0.05, 10.0),),
    (ta.Corruption(0.5, 10.0),),
    (ta.WalshNoise(std=2.0),),
    (ta.WalshNoise(std=2.0), ta.Gaussian(1.0)),
    (ta.Swapping(0.2),),
    (ta.Subsample(0.7),),
    (ta.Gaussian(1.0), ta.Suppression(3)),
    (ta.CellKey({-1: 0.25, 0: 0.5, 1: 0.25}),),
    (Lying(),),
    (Silent(),),
    (Choosy(),),
]
STATISTICS: list[ta.Statistic] = [
    ta.Marginals(2),
    ta.Marginals(3, scale="fractions"),
    ta.Predicates("xor", ways=2),
    ta.Predicates("and", ways=2),
    ta.SubsetCounts(RNG.random((20, N)) < 0.5),
    ta.Estimator("linear", block=2),
    ta.Estimator("logistic", block=2),
]


def check_same(found: ta.Reconstruction, alone: ta.Reconstruction, about: object) -> None:
    """Everything that an attack says; what iterations find, to within their tolerance."""
    assert str(found.status) == str(alone.status), about
    for name in ("decoder", "undecided", "notes", "skipped", "known"):
        assert getattr(found, name) == getattr(alone, name), (about, name)
    np.testing.assert_allclose(found.estimate, alone.estimate, atol=1e-4, err_msg=str(about))
    assert found.prior == pytest.approx(alone.prior, rel=1e-6), about
    assert found.stats["misfit"] == pytest.approx(alone.stats["misfit"], rel=1e-3, abs=1e-4), about
    assert found.stats["misfits"] == alone.stats["misfits"], about
    assert found.proof.steps == alone.proof.steps, about
    assert found.proof.note == alone.proof.note, about
    for mine, theirs in zip(_certain(found), _certain(alone), strict=True):
        np.testing.assert_array_equal(mine, theirs, err_msg=str(about))
    for mine, theirs in zip(_numbers(found), _numbers(alone), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-4, err_msg=str(about))


def _certain(attack: ta.Reconstruction) -> list[Any]:
    """What no iteration decides: who is judged, and what is proved about whom."""
    box, people = attack.proof.enclosure, (attack.judged, attack.proof.open)
    return [*people, box.lower, box.upper, *([attack.identified] if attack.secret.levels else [])]


def _numbers(attack: ta.Reconstruction) -> list[Any]:
    evidence = attack.evidence
    known = [evidence.target, evidence.certain.low, evidence.certain.high]
    if attack.secret.levels:
        return [*known, attack.confidence]
    return [*known, attack.interval, attack.limits.low, attack.limits.high]


# every protection with some kinds of people, every kind with some protections; `make test-slow` tries all
PAIRS = [
    pytest.param(
        kind, protect, id=f"{protect}-{kind}", marks=[pytest.mark.slow] if (row + column) % 3 else []
    )
    for row, protect in enumerate(PROTECTIONS)
    for column, kind in enumerate(PEOPLE)
]


@pytest.mark.parametrize(("kind", "protect"), PAIRS)
def test_each_draw_as_alone(kind: str, protect: tuple[Protection, ...]) -> None:
    """All statistics share one setting, as the releases of an audit do."""
    people = PEOPLE[kind]
    setting, tried = Setting(people), 0
    for statistic in STATISTICS[: {0: -1, 2: None, 3: 1}[people.levels]]:
        trial = Trial(setting, (Planned("one", statistic, protect),), draws=3, seed=1)
        try:
            attacks = trial.attack("least-squares")
        except ta.InvalidInput:
            continue  # this protection does not fit this statistic, or this statistic this secret
        for (release,), found in zip(trial.published, attacks, strict=True):
            check_same(found, ta.reconstruct(release, people.public, "least-squares"), statistic.describe())
            tried += 1
    only_counts = isinstance(protect[0], ta.WalshNoise | ta.CellKey | ta.Swapping | ta.Subsample)
    assert tried or (only_counts and kind != "bits")


@pytest.mark.parametrize("kind", ["bits", "categories", "numbers"])
@pytest.mark.parametrize(
    "attacker",
    [
        Attacker(known=("a0", "a1", "a2")),
        Attacker(known_people=0.8),
        Attacker(known_secrets=0.2),
        Attacker(known=("a0", "a1"), known_people=0.9, known_secrets=0.1),
    ],
    ids=repr,
)
def test_attackers_who_know_less_or_more(kind: str, attacker: Attacker) -> None:
    people = PEOPLE[kind]
    setting = Setting(people, attacker=attacker, seed=3)
    known = setting.stand.known
    for statistic in (ta.Marginals(2), ta.Estimator("linear", block=2)):
        for protect in ((ta.Gaussian(1.0),), (ta.Gaussian(1.0), ta.Rounding(1)), (Silent(),)):
            trial = Trial(setting, (Planned("one", statistic, protect),), draws=2, seed=1)
            try:
                attacks = trial.attack("least-squares")
            except ta.InvalidInput:
                continue
            for (release,), found in zip(trial.published, attacks, strict=True):
                alone = ta.reconstruct(
                    release,
                    setting.stand.view,
                    "least-squares",
                    missing=known.missing,
                    may_include=known.may_include,
                    known_secrets=known.secrets,
                )
                check_same(found, alone, (statistic.describe(), protect))


@pytest.mark.parametrize("protect", [ta.WalshNoise(std=40.0), ta.Corruption(0.6, 60.0), Lying()], ids=repr)
def test_more_draws_do_not_turn_review_into_pass(protect: Protection) -> None:
    rng = np.random.default_rng(5)
    people = ta.Dataset.from_arrays(rng.integers(0, 2, (200, 6)), (rng.random(200) < 0.4).astype(int))
    one, several = (
        ta.sweep(
            people, ta.Marginals(3), [protect], repeats=repeats, decoders="least-squares", rng=1, limit=0.2
        )
        for repeats in (1, 2)
    )
    assert one.rows[0].verdict == several.rows[0].verdict == "review"
    assert one.outcomes[0].status.word == several.outcomes[0].status.word != "solved"
