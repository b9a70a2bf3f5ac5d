"""Real secrets over many draws: together as one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tellall as ta
from tellall.audits.draws import SharedSystem
from tellall.audits.trial import Planned, Setting, Trial

RNG = np.random.default_rng(4)
COLUMNS = np.column_stack([RNG.normal(size=(70, 9)), RNG.integers(0, 2, 70)])
PEOPLE = ta.Dataset.from_arrays(COLUMNS, secret=COLUMNS @ RNG.normal(size=10) + RNG.normal(50, 4, 70))
PROTECTIONS: list[Any] = [
    (ta.Gaussian(1e-6),),
    (ta.Gaussian(0.1),),
    (ta.Laplace(0.1),),
    (ta.Gaussian(5.0),),
    (),
    (ta.Rounding(0.01),),
    (ta.Gaussian(0.5), ta.Rounding(0.1)),
    (ta.Suppression(1.0),),
    (ta.TruncatedNormal(1.0, 0.05, "scales"),),
]


@pytest.mark.parametrize(
    "statistic",
    [
        ta.Estimator("linear", intercept=True),
        ta.Estimator("linear", block=3),
        ta.Estimator("linear", block=2, penalty=1.0, weighting="paper"),
        ta.Estimator("linear", blocks=[["a0", "a1"], ["a2", "a9"]], intercept=True),
    ],
    ids=lambda one: one.describe() + one.weighting,
)
def test_together_is_as_one_by_one_whatever_came_before(statistic: ta.Estimator) -> None:
    setting = Setting(PEOPLE)
    for protections in PROTECTIONS:
        trial = Trial(setting, (Planned("fits", statistic, protections),), draws=2)
        for (release,), found in zip(trial.published, trial.attack("least-squares"), strict=True):
            alone = ta.reconstruct(release, PEOPLE.public)
            assert found.estimate == pytest.approx(alone.estimate, abs=1e-6), protections
            assert found.std == pytest.approx(alone.std, rel=1e-4, abs=1e-9), protections
            assert str(found.status) == str(alone.status)


def test_equations_that_depend_on_the_values_are_solved_one_by_one() -> None:
    rates = ta.Dataset.from_arrays(COLUMNS, secret=RNG.random(70))
    fits = ta.Estimator("logistic", block=2)
    releases = [ta.publish(rates, fits, ta.Gaussian(0.1), rng=draw) for draw in range(3)]
    assert SharedSystem().attack(releases, rates.public) == [None] * 3


def test_draws_share_their_equations_and_the_numbers_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    equations = ta.Estimator.equations

    def counted(self: ta.Estimator, public: Any, values: Any) -> Any:
        made.append(1)
        return equations(self, public, values)

    monkeypatch.setattr(ta.Estimator, "equations", counted)
    setting, fits = Setting(PEOPLE), ta.Estimator("linear", block=3)
    trial = Trial(setting, (Planned("fits", fits, (ta.Gaussian(0.3),)),), draws=12)
    found = trial.attack("auto")
    assert len(made) == 4  # the first two draws, in two units each, show that the equations are the same
    for (release,), attack in zip(trial.published, found, strict=True):
        alone = ta.reconstruct(release, PEOPLE.public)
        np.testing.assert_allclose(attack.estimate, alone.estimate, rtol=1e-9)
        np.testing.assert_allclose(attack.std, alone.std, rtol=1e-9)
        assert attack.prior == pytest.approx(alone.prior, rel=1e-9)
        assert str(attack.status) == str(alone.status)
        assert attack.stats == pytest.approx(alone.stats, rel=1e-9)
        np.testing.assert_allclose(attack.evidence.target, alone.evidence.target, rtol=1e-12)
        np.testing.assert_array_equal(attack.identified, alone.identified)
