"""Protections and decoders written outside tellall: what they do not declare proves nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.conftest import random_people

import tellall as ta
from tellall.attack.reconstruct.decoders import DECODERS, DecodedCounts, nearest
from tellall.linalg.solvers.solution import Status
from tellall.protections.protection import Exact, Noise


@dataclass(frozen=True)
class OwnSample(ta.Protection):
    """`Subsample` written again: the same draws and the same law."""

    fraction: float
    like: ta.Subsample | None = None

    def prepare(self, statistic: Any, public: Any) -> OwnSample:
        return replace(self, like=ta.Subsample(self.fraction).prepare(statistic, public))

    @property
    def law(self) -> Noise:
        return ta.Unknown() if self.like is None else self.like.law

    def chosen(self, n: int, rng: Any = None) -> Any:
        return ta.Subsample(self.fraction).chosen(n, rng)


@dataclass(frozen=True)
class OwnSwaps(ta.Protection):
    """`Swapping` written again."""

    fraction: float
    like: ta.Swapping | None = None

    def prepare(self, statistic: Any, public: Any) -> OwnSwaps:
        return replace(self, like=ta.Swapping(self.fraction).prepare(statistic, public))

    @property
    def law(self) -> Noise:
        return ta.Unknown() if self.like is None else self.like.law

    def records(self, dataset: ta.Dataset, rng: Any = None) -> ta.Dataset:
        return ta.Swapping(self.fraction).records(dataset, rng)


@dataclass(frozen=True)
class NoiseThatHides(ta.Protection):
    """Normal noise, and then only values of 5 or more."""

    @property
    def law(self) -> Noise:
        return ta.Gaussian(1.0)

    @property
    def hides(self) -> bool:
        return True

    def perturb(self, values: Any, rng: Any = None, context: Any = None) -> Any:
        noisy = ta.Gaussian(1.0).perturb(values, rng)
        return np.where(noisy < 5, np.nan, noisy)


@dataclass(frozen=True)
class Shy(ta.Protection):
    """Swaps some secrets and hides small counts, without a law."""

    @property
    def law(self) -> Noise:
        return ta.Unknown()

    @property
    def hides(self) -> bool:
        return True

    @property
    def limit(self) -> float:
        return 3

    @property
    def keeps_zero(self) -> bool:
        return True

    def before(self, low: Any, high: Any, step: float) -> Any:
        return low, high

    def records(self, dataset: ta.Dataset, rng: Any = None) -> ta.Dataset:
        return ta.Swapping(0.3).records(dataset, rng)

    def perturb(self, values: Any, rng: Any = None, context: Any = None) -> Any:
        return np.where(values < 3, np.nan, values)


PEOPLE = random_people(80, 7, seed=0)


@pytest.mark.parametrize("protect", [OwnSample(0.5), OwnSwaps(0.2)], ids=lambda one: type(one).__name__)
def test_changed_people_are_doubted_whoever_changed_them(protect: ta.Protection) -> None:
    release = ta.publish(PEOPLE, ta.Marginals(4), protect, rng=1)
    found = ta.reconstruct(release, PEOPLE.public, rng=0)
    assert (found.status.word, found.proved.sum()) == ("uncalibrated", 0)
    assert "changed people" in found.status.advice


def test_noise_that_selects_what_is_shown_is_doubted_after_saving_too(tmp_path: Path) -> None:
    release = ta.publish(PEOPLE, ta.Marginals(3), NoiseThatHides(), rng=1)
    loaded = ta.Release.load(release.save(tmp_path / "release.json"))
    for one in (release, loaded):
        assert ta.reconstruct(one, PEOPLE.public, "least-squares", rng=0).status.word == "uncalibrated"


def test_gross_errors_of_an_undeclared_share_are_doubted() -> None:
    @dataclass(frozen=True)
    class Gross(ta.Gaussian):
        @property
        def ordinary(self) -> Noise:
            return Exact()

    release = ta.publish(PEOPLE, ta.Marginals(3), Gross(2.0), rng=1)
    assert release.noise.gross_share == 1.0
    assert ta.reconstruct(release, PEOPLE.public, "least-squares", rng=0).status.word == "uncalibrated"
    assert ta.Corruption(0.2, 9.0).gross_share == 0.2
    assert ta.Gaussian(2.0).gross_share == 0.0


def test_tables_of_unknown_errors_leave_every_row_possible() -> None:
    rng = np.random.default_rng(0)
    for _ in range(10):
        people = ta.Dataset.from_arrays(rng.integers(0, 2, (12, 2)), rng.permutation(np.arange(12) % 2))
        release = ta.publish(people, ta.Marginals(3), Shy(), rng=int(rng.integers(99)))
        found = ta.rows_from_tables(release)
        assert found.status.word == "uncalibrated"
        assert found.certain == ()
        truth = np.column_stack([people.public.codes.T, people.secret])
        held = (found.rows[:, None] == truth[None]).all(axis=2).sum(axis=1)
        assert (held <= found.upper).all()


def test_a_decoder_proves_nothing_if_the_law_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    def bold(undecided: Any, rng: Any) -> DecodedCounts:
        counts = np.round(nearest(undecided).value)
        certain = np.ones(counts.size, dtype=bool)
        return DecodedCounts(counts, Status("solved"), "bold", chance=counts / undecided.size, proved=certain)

    monkeypatch.setitem(DECODERS, "bold", bold)
    values = ta.publish(PEOPLE, ta.Marginals(3), ta.Gaussian(0.3), rng=0).values
    release = ta.Release.from_values(ta.Marginals(3), values, public=PEOPLE.public, noise=ta.Unknown())
    found = ta.reconstruct(release, PEOPLE.public, "bold")
    assert not found.proved.any()
    assert found.status.word == "uncalibrated"
