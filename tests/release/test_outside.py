"""Protections and statistics written outside tellall that declare what is not so: the checks name the law."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

import tellall as ta
from tellall.evidence.bounds import Bounds
from tellall.linalg.operators.linear_operator import Dense
from tellall.protections.protection import Exact, Noise, as_rng, needs_people, noise_of
from tellall.statistics.numbers import NumberFacts
from tellall.statistics.statistic import Equations
from tellall.testing import check_protection, check_statistic


class Declares(ta.Protection):
    """A protection of tables that declares a law, true or not."""

    declared: Any = Exact()

    @property
    def law(self) -> Noise:
        return self.declared

    def perturb(self, values, rng=None, context=None):
        if context is None:
            raise needs_people(self)
        return self.change(values, as_rng(rng))

    def change(self, values, rng):
        return values


class DropsSmall(Declares):
    def change(self, values, rng):
        return np.where(np.isin(values, (1, 2, 3)), 0.0, values)


class HidesMore(Declares):
    hides, limit, random = True, 3.0, False

    def change(self, values, rng):
        return np.where(values < 5, np.nan, values)


class HidesLess(HidesMore):
    """The values of 3 are shown, and said to be hidden."""

    limit = 4.0

    def before(self, low, high, step):
        return np.maximum(low, 4.0), high

    def change(self, values, rng):
        return np.where(values < 3, np.nan, values)


class MovesZeros(Declares):
    keeps_zero = True
    declared = ta.Gaussian(1.0)

    def change(self, values, rng):
        return values + rng.normal(0, 1, values.shape)


class SharedError(Declares):
    declared = ta.Gaussian(6.0)

    def change(self, values, rng):
        return values + rng.normal(0, 6)


class SharedDifference(Declares):
    """What one value of the secret gains, the other loses, in all tables alike."""

    declared = ta.Gaussian(2.0)

    def change(self, values, rng):
        return values + rng.normal(0, 2) * np.where(np.arange(values.size) % 2, 1.0, -1.0)


class BiasedOnTables(Declares):
    declared = ta.Gaussian(2.0)

    def change(self, values, rng):
        return values + rng.normal(0.8, 2, values.shape)


class TooWide(Declares):
    declared = ta.Gaussian(40.0)

    def change(self, values, rng):
        return values + rng.integers(-1, 2, values.shape)


class CalledFixed(MovesZeros):
    keeps_zero = random = False


class CalledIdle(Declares):
    declared = ta.Unknown()

    def leaves_counts(self, statistic, public):
        return True

    def change(self, values, rng):
        return values + 1


@dataclass(frozen=True)
class Own(Noise):
    """Normal noise with one false declaration."""

    wrong: str
    std: float = 3.0

    @property
    def half_width(self):
        return 50 * self.std if self.wrong == "interval" else 0.0

    @property
    def ordinary(self):
        return Exact() if self.wrong.startswith("gross") else self

    @property
    def gross_share(self):
        return 0.05 if self.wrong == "gross share" else super().gross_share

    def sample(self, size, rng=None):
        mean = 0.9 * self.std if self.wrong == "mean" else 0.0
        return as_rng(rng).normal(mean, self.std, size)

    def scaled(self, factor):
        return self if self.wrong == "scaled" else replace(self, std=self.std * abs(factor))


LIES = [
    (DropsSmall(), "errors stay within the bound"),
    (HidesMore(), "errors stay within the bound|certain"),
    (HidesLess(), "certain"),
    (MovesZeros(), "certain lower bound"),
    (SharedError(), "mean zero|independent"),
    (SharedDifference(), "independent"),
    (BiasedOnTables(), "mean zero"),
    (TooWide(), "not much smaller than declared"),
    (CalledFixed(), "whatever the seed"),
    (CalledIdle(), "changes no count"),
    (Own("mean"), "mean zero"),
    (Own("scaled"), "scaled law scales"),
    (Own("interval"), "interval"),
    (Own("gross errors"), "how many values they hit"),
    (Own("gross share"), "no more errors are gross"),
]


@pytest.mark.parametrize(
    ("lie", "law"), LIES, ids=lambda one: one if isinstance(one, str) else repr(one)[:30]
)
def test_a_protection_that_declares_what_is_not_so_is_found_out(lie, law):
    with pytest.raises(AssertionError, match=law):
        check_protection(lie, size=20_000)


class Truthful(Declares):
    declared = ta.Gaussian(2.0)

    def change(self, values, rng):
        return values + rng.normal(0, 2, values.shape)


def test_a_protection_that_declares_what_is_so_passes():
    check_protection(Truthful(), size=20_000)
    check_protection(Own("nothing"), size=20_000)
    check_protection(ta.Gaussian(2.0), size=20_000)


class LawIsAMethod(Declares):
    def law(self):
        return Exact()


@pytest.mark.parametrize("law", [None, "normal", ta.Unknown, LawIsAMethod], ids=repr)
def test_what_is_not_a_law_is_refused_in_one_sentence(law):
    wrong = LawIsAMethod() if law is LawIsAMethod else type("Wrong", (Declares,), {"declared": law})()
    people = ta.Dataset.from_arrays(np.eye(4, dtype=int), [0, 1, 1, 0])
    for use in (lambda: ta.publish(people, ta.Marginals(2), wrong), lambda: noise_of([wrong])):
        with pytest.raises(ta.InvalidInput, match=r"law of \w+ must be a property that returns a law"):
            use()
    with pytest.raises(AssertionError, match="law is a property"):
        check_protection(wrong)


@dataclass(frozen=True)
class ValueSums(ta.Statistic):
    """The sum of the secret over the people with each value of each column, with one false declaration."""

    wrong: str = ""
    counts_people = False

    def _rows(self, public):
        columns = zip(public.codes, public.levels, strict=True)
        rows = [np.asarray(one) == np.arange(levels)[:, None] for one, levels in columns]
        return np.concatenate(rows).astype(float)

    def values(self, dataset):
        if dataset.levels > 2:
            raise ta.InvalidInput("bits and numbers alone")
        return self._rows(dataset.public) @ np.asarray(dataset.secret, dtype=float)

    def equations(self, public, values):
        rows, more = self._rows(public), {"floor": 1e-6}
        if self.wrong == "third value":
            rows[np.concatenate([np.arange(levels) > 1 for levels in public.levels])] = 0
        named = {
            "gain": ("gain", 0.5),
            "reach": ("reach", 0.5),
            "floor": ("floor", 1e6),
            "doubt": ("doubt", 1e6),
        }
        if self.wrong in named:
            more |= [named[self.wrong]]
        if self.wrong == "bias":
            values, more["doubt"] = values + 0.9, 0.3
        if self.wrong == "limits":
            more["numbers"] = FalseLimits(public.n)
        return Equations(Dense(rows), values, public.patterns.index, **more)

    def tables(self, public):
        own = [(column,) for column in range(len(public.columns))]
        return {"order": own[::-1], "tables": own}.get(self.wrong, [])

    def size(self, public):
        return sum(public.levels)

    def describe(self):
        return "sums over values"


class FalseLimits(NumberFacts):
    def __init__(self, people):
        self.people = people

    def limits(self, error):
        return np.full(self.people, 5.0), np.full(self.people, 6.0)


@pytest.mark.parametrize(
    ("wrong", "law"),
    [
        ("third value", "operator @ secret == target"),
        ("gain", "gain turns the spread"),
        ("reach", "errors stay within the bound"),
        ("floor", "leave it something to say"),
        ("doubt", "leave it something to say"),
        ("bias", "3 times the declared doubt"),
        ("limits", "within its limits"),
        ("order", "about the people in the cell"),
    ],
)
def test_a_statistic_that_declares_what_is_not_so_is_found_out(wrong, law):
    with pytest.raises(AssertionError, match=law):
        check_statistic(ValueSums(wrong))


@pytest.mark.parametrize("right", ["", "tables"])
def test_a_statistic_that_declares_what_is_so_passes(right):
    check_statistic(ValueSums(right))


ROWS = Dense(np.eye(3))


@pytest.mark.parametrize("name", ["gain", "reach", "doubt", "floor"])
@pytest.mark.parametrize("wrong", [-1.0, np.nan, np.inf, np.ones(2), np.array([1.0, np.nan, 1.0])], ids=str)
def test_equations_refuse_errors_that_nothing_can_have(name, wrong):
    if name == "reach" and np.isinf(wrong).any():
        return  # a row whose error has no bound
    with pytest.raises(ta.InvalidInput, match=f"{name} must be"):
        Equations(ROWS, np.zeros(3), np.arange(3), **{name: wrong})


def test_equations_refuse_other_shapes_and_a_floor_of_zero():
    with pytest.raises(ta.InvalidInput, match="floor must be a finite number above zero"):
        Equations(ROWS, np.zeros(3), np.arange(3), floor=0.0)
    with pytest.raises(ta.InvalidInput, match="target must be a number for each of 3 rows"):
        Equations(ROWS, np.zeros(2), np.arange(3))
    with pytest.raises(ta.InvalidInput, match="alike must be a label for each person"):
        Equations(ROWS, np.zeros(3), np.arange(2))
    with pytest.raises(AssertionError, match="is accepted; alike must be a label"):
        check_statistic(
            type("Short", (ValueSums,), {"equations": lambda *_: Equations(ROWS, np.zeros(3), [0, 1])})()
        )
    assert Equations(ROWS, np.array([1.0, np.nan, 0.0]), np.arange(3), gain=np.zeros(3)).target.size == 3


def test_a_value_that_says_nothing_has_no_gaps():
    """Its gaps would be taken for those of another value."""
    possible = Bounds(np.zeros(2), np.full(2, 4.0), ((0, np.array([1])), (1, np.array([2]))))
    assert [row for row, _ in possible.moved(np.array([np.nan, 0.0])).gaps] == [1]
