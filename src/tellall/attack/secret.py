"""The kinds of secret: a bit, a category, a real number."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, final

import numpy as np
import numpy.typing as npt

from tellall.algebra.operators.base import Array
from tellall.core.errors import invalid

__all__ = [
    "Bit",
    "Category",
    "Real",
    "Secret",
]

Truth = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Secret(ABC):
    """What is secret about each person: its unknowns, how it is guessed, and what a good guess is.

    ``levels`` says how many values the secret has (0: real numbers), ``unknowns`` how many numbers per person
    the equations are about: one, or one per value of a category.
    """

    levels: int
    noun: ClassVar[str]
    shared_decoders: ClassVar[tuple[str, ...]] = (
        "least-squares",
    )  # those that draws can be solved with together

    @property
    def unknowns(self) -> int:
        """How many unknowns each person has."""
        return self.levels if self.levels > 2 else 1

    @staticmethod
    def of(levels: int) -> Secret:
        """The kind of secret with this many values, 0 for real numbers, as `Dataset.levels` counts them.

        Examples
        --------
        >>> Secret.of(2), Secret.of(5).unknowns, Secret.of(0)
        (Bit(), 5, Real())
        """
        if levels in (0, 2):
            return Bit() if levels else Real()
        return Category(int(levels))

    def check(self, truth: npt.ArrayLike, n: int) -> Truth:
        """The true secrets of n people, if that is what is given."""
        rule = f"one {self.noun} per person ({n})"
        try:
            array = np.asarray(truth)
        except ValueError:
            raise invalid("secret", rule, "rows of different lengths") from None
        if array.shape != (n,):
            raise invalid("secret", rule, f"shape {array.shape}")
        if array.dtype.kind not in "biuf":
            raise invalid("secret", rule, array)
        return self._check_values(array)

    @abstractmethod
    def _check_values(self, array: Truth) -> Truth: ...

    @abstractmethod
    def targets(self, truth: Truth) -> Array:
        """The unknowns of each person, people × unknowns."""

    @abstractmethod
    def guess(self, estimate: Array) -> Truth:
        """The guess that goes with each person's estimate."""

    @abstractmethod
    def error(self, guess: Truth, truth: Truth) -> Array:
        """How far off each guess is: 0 or 1 for bits and categories, the absolute error of real numbers."""

    @abstractmethod
    def conclude(self, share: Array, chance: Array) -> tuple[Array, Truth, Array]:
        """Each person's estimate, guess and the confidence in it.

        ``share`` is what a decoder says of each unknown, ``chance`` its probability, both people × unknowns;
        of a real number, ``chance`` is the standard deviation, and so is the third result.
        """

    @abstractmethod
    def check_prior(self, prior: float | Sequence[float]) -> Array:
        """The rates that an attacker knows beforehand, one per unknown."""

    def right(self, guess: Truth, truth: Truth) -> Mask:
        """Who is guessed right; real numbers have an `error` instead."""
        raise TypeError("a real number is guessed with an error; ask for error(guess, truth)")


class _Code(Secret):
    """A secret with finitely many values, 0 to levels − 1."""

    def _check_values(self, array: Truth) -> Truth:
        if not np.isin(array, np.arange(self.levels)).all():
            rule = "bits, 0 or 1" if self.levels == 2 else f"the codes of categories, 0 to {self.levels - 1}"
            raise invalid("secret", rule, array)
        return array.astype(np.int8 if self.levels <= 127 else np.int64)

    def right(self, guess: Truth, truth: Truth) -> Mask:
        return np.asarray(guess == truth)

    def error(self, guess: Truth, truth: Truth) -> Array:
        return np.asarray(guess != truth, dtype=np.float64)

    def check_prior(self, prior: float | Sequence[float]) -> Array:
        one = self.unknowns == 1
        rule = (
            "a rate strictly between 0 and 1"
            if one
            else f"{self.levels} rates between 0 and 1, summing to one"
        )
        try:
            rates = np.atleast_1d(np.asarray(prior, dtype=np.float64))
        except (TypeError, ValueError):
            raise invalid("prior", rule, prior) from None
        fits = rates.shape == (self.unknowns,) and bool(((rates > 0) & (rates < 1)).all())
        if isinstance(prior, bool) or not fits or (not one and abs(rates.sum() - 1) > 1e-6):
            raise invalid("prior", rule, prior)
        return rates


@final
@dataclass(frozen=True)
class Bit(_Code):
    """Yes or no: one unknown, 0 or 1."""

    levels: int = field(default=2, init=False, repr=False)
    noun: ClassVar[str] = "bit"

    def targets(self, truth: Truth) -> Array:
        return truth[:, None].astype(np.float64)

    def guess(self, estimate: Array) -> Truth:
        return (estimate >= 0.5).astype(np.int8)

    def conclude(self, share: Array, chance: Array) -> tuple[Array, Truth, Array]:
        guess = self.guess(share[:, 0])
        return share[:, 0], guess, np.maximum(np.where(guess == 1, chance[:, 0], 1 - chance[:, 0]), 0.5)


@final
@dataclass(frozen=True)
class Category(_Code):
    """One of several values: an unknown for each, one of which is 1."""

    noun: ClassVar[str] = "code"

    def targets(self, truth: Truth) -> Array:
        return np.asarray(truth[:, None] == np.arange(self.levels), dtype=np.float64)

    def guess(self, estimate: Array) -> Truth:
        return np.asarray(estimate.argmax(axis=1))

    def conclude(self, share: Array, chance: Array) -> tuple[Array, Truth, Array]:
        guess = self.guess(share)
        chosen = np.take_along_axis(chance, guess[:, None], axis=1)[:, 0]
        sure = chosen / np.maximum(chance.sum(axis=1), 1e-300)
        return share, guess, np.maximum(sure, 1 / self.levels)


@final
@dataclass(frozen=True)
class Real(Secret):
    """A number: one unknown, never rounded."""

    levels: int = field(default=0, init=False, repr=False)
    noun: ClassVar[str] = "finite number"
    shared_decoders: ClassVar[tuple[str, ...]] = ("auto", "least-squares")  # it has no other

    def _check_values(self, array: Truth) -> Truth:
        if not np.isfinite(array).all():
            raise invalid("secret", "one finite number per person", array)
        return array.astype(np.float64)

    def targets(self, truth: Truth) -> Array:
        return truth[:, None].astype(np.float64)

    def guess(self, estimate: Array) -> Truth:
        return estimate

    def conclude(self, share: Array, chance: Array) -> tuple[Array, Truth, Array]:
        return share[:, 0], share[:, 0], chance[:, 0]

    def check_prior(self, prior: float | Sequence[float]) -> Array:
        raise invalid("prior", "left out, since the secret is a real number", prior)

    def error(self, guess: Truth, truth: Truth) -> Array:
        return np.abs(np.asarray(guess - truth, dtype=np.float64))
