"""Protection: what a curator does before publishing. Noise: the law of the resulting error.

Lists of protections are checked, prepared and carried out in order.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from tellall.core.checks import is_whole, share
from tellall.core.errors import InvalidInput, invalid
from tellall.linalg.operators.linear_operator import HOST, Device, IntArray
from tellall.people.dataset import Dataset, Public
from tellall.protections.guarantee import Guarantee
from tellall.statistics.statistic import CellLayout, Equations, Statistic, tables_of
from tellall.statistics.where import Where, as_where, people_where

__all__ = [
    "Array",
    "Context",
    "Exact",
    "Noise",
    "Protection",
    "Rng",
    "Sum",
    "Unknown",
    "apply",
    "as_protections",
    "as_rng",
    "carry_out",
    "check_count",
    "check_counts",
    "guarantee_of",
    "is_random",
    "needs_people",
    "noise_of",
    "point_mass",
    "prepare",
]

Array = npt.NDArray[np.floating[Any]]
Rng = int | np.random.Generator | None

_MOST = 10**12  # people, tables, products: more is a mistake or a trap


class Protection(ABC):
    """What a curator does to people or to values before publishing.

    Extend it, define the error's ``law``, and override ``perturb`` (values) or ``records`` (people);
    everything else has a default.

    Notes
    -----
    A release contains the prepared protections and saves them as plain data. The constructor's parameters
    must therefore be plain data or protections, and nothing in them may depend on the secret.
    """

    filled: ClassVar[tuple[str, ...]] = ()  # parameters that plans do not offer: set by `prepare`

    @property
    @abstractmethod
    def law(self) -> Noise:
        """The law of the error of a published value, as an attacker may assume it.

        ``Unknown()`` if it cannot be declared: the release is still attacked, but nothing is proved.
        """

    @property
    def random(self) -> bool:
        """Whether publishing twice may give different values."""
        return True

    @property
    def hides(self) -> bool:
        """Whether some values are not shown."""
        return False

    @property
    def limit(self) -> float | None:
        """The limit if exactly the values under it are hidden; None otherwise."""
        return None

    @property
    def reads_people(self) -> bool:
        """Whether ``perturb`` looks at the people again, which voids the promise of earlier noise."""
        return False

    @property
    def changes_people(self) -> bool:
        """Whether it changes the people before anything is computed."""
        kind = type(self)
        return kind.records is not Protection.records or kind.chosen is not Protection.chosen

    @property
    def doubt(self) -> str:
        """Why confidence may be too high although every error has its law; empty if there is no reason.

        Decoders take the errors of different values to be independent. After changes to people they are not,
        unless the protection says otherwise.
        """
        return "the errors of all values come from the same changed people" if self.changes_people else ""

    @property
    def doubt_code(self) -> str:
        """The code of that doubt, one of `core.reasons.UNSETTLED`."""
        return "dependent-errors"

    @property
    def keeps_zero(self) -> bool:
        """Whether a cell without people never changes, whatever happens to the others."""
        return False

    not_on_means: ClassVar[str] = "It does not fit means of public columns."  # why its error there is unknown

    def on_means(self) -> Noise | None:
        """The law of the error of a mean of public columns; None if nobody says, with `not_on_means`."""
        return None

    def left_of(self, n: int) -> int:
        """How many of n people are left in what is computed."""
        return n

    def before(self, low: Array, high: Array, step: float) -> tuple[Array, Array]:
        """The least and the largest value that this may have turned into one from ``low`` to ``high``.

        This is about shown values. Values before the protection are multiples of ``step``, or anything if it
        is zero. Arrays are intervals × values; errors with gaps between them give more intervals.
        """
        bound = self.law.bound if self.law.known else math.inf
        return low - bound, high + bound

    def step_after(self, step: float) -> float:
        """The step of values after it, if values before it are multiples of ``step``; zero if anything."""
        return step if self.law.known and self.law.bound == 0 else 0.0

    idle: ClassVar[bool] = False  # whether it never does anything
    reads_cell_sizes: ClassVar[bool] = False  # whether all that it reads of people is how many are in a cell
    gives: ClassVar[str] = (
        ""  # what it turns values into, in words that follow "values that do not come from"
    )

    def cannot_give(self, values: Array) -> npt.NDArray[np.bool_]:
        """Which values it can have turned nothing into; by default none is ruled out."""
        return np.zeros(values.shape, dtype=bool)

    @property
    def gives_multiples(self) -> bool:
        """Whether it leaves whole multiples of `step_after`, to the last digit."""
        return False

    @property
    def sums_within(self) -> float | None:
        """What sums of neighbouring cells of a table are changed by less than; None if nobody knows."""
        return None

    def last_below(self, limit: float) -> float | None:
        """The largest value below a limit that it can have given; None if any number."""
        return None

    def prepare(self, statistic: Statistic, public: Public) -> Protection:
        """The protection with its parameters filled in from public information, before publishing."""
        return self

    def as_published(self) -> Protection:
        """The protection as publishing carries it out: a choice that it leaves open is made, and said."""
        return self

    def leaves_counts(self, statistic: Statistic, public: Public) -> bool:
        """Whether it never changes exact values of this statistic, whoever the people are."""
        return False

    def chosen(self, n: int, rng: Rng = None) -> IntArray | None:
        """Which of n people are kept, by index; None for everybody."""
        return None

    def records(self, dataset: Dataset, rng: Rng = None) -> Dataset:
        """The people after its changes, as they are tabulated."""
        return dataset

    def perturb(self, values: Array, rng: Rng = None, context: Context | None = None) -> Array:
        """The values as published; hidden ones are missing (NaN), and missing ones stay missing.

        Publishing people's values passes the context. Without it, a protection that needs more than values
        raises an error (`needs_people`).
        """
        if self.changes_people and context is None:
            raise needs_people(self)
        return values

    def as_plain(self) -> dict[str, object]:
        """The constructor's arguments that are not plain data, as plain data that it accepts."""
        return {}

    shows_number: ClassVar[bool] = (
        True  # whether its promise holds only if all know how many people there are
    )

    def guarantee(self, statistic: Statistic, public: Public, *, delta: float = 1e-6) -> Guarantee | None:
        """The differential privacy that it promises, at this δ if it promises a whole curve; else None."""
        return None


@dataclass(frozen=True, eq=False)
class Context:
    """What a protection of values may use in addition to the values.

    Attributes
    ----------
    statistic, public
        What is published, and the public columns of all people.
    levels
        How many values the secret has; zero for real numbers.
    people
        The people whose values these are; None for a protection without ``reads_people``.
    """

    statistic: Statistic
    public: Public
    levels: int
    people: Dataset | None = None

    @cached_property
    def tables(self) -> CellLayout:
        """Where tables lie among the values; empty if there are none."""
        return tables_of(self.statistic, self.public, self.levels)


def check_count(name: str, value: object) -> None:
    """Raises an error unless a filled-in count is a whole number of one or more, or None."""
    if value is not None and not (is_whole(value) and 1 <= value <= _MOST):
        raise invalid(name, "a whole number of one or more, or left out", value)


def check_counts(protection: Protection, statistic: Statistic) -> None:
    """Raises an error if this protection, which fits only counts of people, meets another statistic."""
    if not statistic.counts_people:
        rule = f"one that fits the statistic; {type(protection).__name__} fits counts of people"
        raise invalid("protect", rule, type(statistic).__name__)


def needs_people(protection: Protection) -> InvalidInput:
    """The error for a protection that needs people and got only values."""
    return invalid(
        "protect", "protections that need only values", protection, "Apply this one to people, with publish."
    )


def as_rng(rng: Rng) -> np.random.Generator:
    """A generator from a seed, a generator or None."""
    if rng is None or isinstance(rng, np.random.Generator):
        return np.random.default_rng(rng)
    if not is_whole(rng) or rng < 0:
        raise invalid("rng", "a seed of zero or more, a numpy Generator or None", rng)
    return np.random.default_rng(int(rng))


class Noise(Protection):
    """Independent noise on every published value; it is its own law."""

    on_multiples: ClassVar[bool] = False  # whether it moves whole numbers to whole numbers

    @property
    def law(self) -> Noise:
        return self

    @property
    def terms(self) -> tuple[Noise, ...]:
        """The independent errors that it adds up; none if it never changes anything."""
        return (self,)

    @property
    @abstractmethod
    def std(self) -> float:
        """The standard deviation."""

    @property
    def bound(self) -> float:
        """The largest absolute error; infinite if there is no bound."""
        return math.inf

    @property
    def half_width(self) -> float:
        """Half the width of the interval that rounding leaves; zero without rounding."""
        return 0.0

    @property
    def ordinary(self) -> Noise:
        """The law without its gross errors, which hit only some of the values."""
        return self

    @property
    def gross_share(self) -> float:
        """The share of values with gross errors; all of them if a law has such errors and does not say."""
        return 0.0 if self.ordinary is self else 1.0

    @property
    def known(self) -> bool:
        """Whether the law of the error is known."""
        return True

    @property
    def assumed(self) -> Noise:
        """The law that an attack assumes; unknown parts count as no error."""
        return self

    @property
    def varies(self) -> bool:
        """Whether the spread depends on the value, so that ``spread`` is more precise than ``std``."""
        return False

    @property
    def random(self) -> bool:
        return self.std > 0

    @property
    def biased(self) -> bool:
        """Whether the mean of the error may differ from zero, though by no more than half the bound."""
        return False

    @property
    def mean_size(self) -> float:
        """The mean of the absolute error, or something that it does not exceed."""
        return self.std

    def on_means(self) -> Noise | None:
        return self

    def exceeded(self, share: float) -> tuple[float, float]:
        """A share, no more than this one above zero, and the size that so few errors exceed.

        By default from the standard deviation, for any law of mean zero (Chebyshev).
        """
        return share, self.std / math.sqrt(share)

    def spread(self, values: Array, equations: Equations) -> Array:
        """The standard deviation of the error of each published value.

        If the spread varies, ``std`` is its largest value.
        """
        return np.full(values.shape, self.std)

    def of_whole(self, counts: Array) -> Array | None:
        """By how much each published count is off at most if whole counts were published.

        None if that is no less than the `bound`.
        """
        return None

    def turned(self) -> tuple[Noise, bool]:
        """The law with complemented counts in the minority, and whether all counts are complemented for it.

        Decoders assume that gross errors are the minority.
        """
        return self, False

    def tail(self, distance: float) -> float:
        """At most how likely an error of this size or more is; by default nothing but the bound is known."""
        return float(distance <= self.bound)

    @abstractmethod
    def sample(self, size: int | tuple[int, ...], rng: Rng = None) -> Array:
        """Independent draws."""

    @abstractmethod
    def scaled(self, factor: float) -> Noise:
        """The law of ``factor`` times this error, for another unit of measurement."""

    def perturb(self, values: Array, rng: Rng = None, context: Context | None = None) -> Array:
        return values + self.sample(values.shape, rng)


@dataclass(frozen=True)
class Exact(Noise):
    """No noise at all."""

    idle = True

    @property
    def terms(self) -> tuple[Noise, ...]:
        return ()

    @property
    def std(self) -> float:
        return 0.0

    @property
    def bound(self) -> float:
        return 0.0

    def sample(self, size: int | tuple[int, ...], rng: Rng = None) -> Array:
        return np.zeros(size)

    def scaled(self, factor: float) -> Exact:
        return self


@dataclass(frozen=True)
class Unknown(Noise):
    """An error about which nothing is known, because nobody declared what was done to the values.

    Notes
    -----
    The values are attacked as if they had no error, which is the best that an attacker can do. Nothing is
    certain: there is no bound, nothing is proved about anybody, and the attack does not end as "solved".
    """

    @property
    def std(self) -> float:
        return math.inf

    @property
    def known(self) -> bool:
        return False

    @property
    def assumed(self) -> Noise:
        return Exact()

    def sample(self, size: int | tuple[int, ...], rng: Rng = None) -> Array:
        raise invalid("protect", "a protection that can be carried out", self, "Use it with from_values.")

    def scaled(self, factor: float) -> Unknown:
        return self


@dataclass(frozen=True)
class Sum(Noise):
    """A sum of independent errors: the result of several protections in a row."""

    parts: tuple[Noise, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.parts, tuple) or not all(isinstance(part, Noise) for part in self.parts):
            raise invalid("parts", "noise laws", self.parts)

    @property
    def terms(self) -> tuple[Noise, ...]:
        return tuple(part for part in self.parts if part.terms)

    @property
    def std(self) -> float:
        return math.hypot(*(part.std for part in self.parts))

    @property
    def bound(self) -> float:
        return math.fsum(part.bound for part in self.parts)

    @property
    def half_width(self) -> float:
        return math.fsum(part.half_width for part in self.parts)

    def tail(self, distance: float) -> float:
        return min(1.0, math.fsum(part.tail(distance / len(self.parts)) for part in self.parts))

    @property
    def ordinary(self) -> Sum:
        return Sum(tuple(part.ordinary for part in self.parts))

    @property
    def gross_share(self) -> float:
        return max((part.gross_share for part in self.parts), default=0.0)

    def turned(self) -> tuple[Noise, bool]:
        laws, complemented = zip(*(part.turned() for part in self.parts), strict=True)
        if not any(complemented):
            return self, False
        return Sum(laws), sum(complemented) % 2 == 1

    @property
    def known(self) -> bool:
        return all(part.known for part in self.parts)

    @property
    def assumed(self) -> Sum:
        return Sum(tuple(part.assumed for part in self.parts))

    @property
    def varies(self) -> bool:
        return any(part.varies for part in self.parts)

    @property
    def random(self) -> bool:
        return any(part.random for part in self.parts)

    def spread(self, values: Array, equations: Equations) -> Array:
        squares = [part.spread(values, equations) ** 2 for part in self.parts]
        return np.asarray(np.sqrt(np.sum(squares, axis=0)))

    def sample(self, size: int | tuple[int, ...], rng: Rng = None) -> Array:
        generator = as_rng(rng)
        return sum((part.sample(size, generator) for part in self.parts), start=np.zeros(size))

    def scaled(self, factor: float) -> Sum:
        return Sum(tuple(part.scaled(factor) for part in self.parts))

    def perturb(self, values: Array, rng: Rng = None, context: Context | None = None) -> Array:
        generator = as_rng(rng)
        for part in self.parts:
            values = part.perturb(values, generator, context)
        return values


def point_mass(x: npt.ArrayLike) -> Array:
    """The log-density of zero noise: infinite at zero, −∞ elsewhere."""
    return np.where(np.asarray(x, dtype=float) == 0, np.inf, -np.inf)


def as_protections(protect: Protection | Sequence[Protection] | None) -> tuple[Protection, ...]:
    """The protections in the order in which they apply."""
    if protect is None:
        return ()
    listed = protect if isinstance(protect, Iterable) else (protect,)
    chosen: list[Protection] = []
    for protection in listed:
        if not isinstance(protection, Protection):
            rule = "a protection such as Gaussian(2.0), or a list of them"
            raise invalid("protect", rule, protection, "A class of your own extends Protection.")
        # a sum is split into its parts, because some of them look at more than the values
        chosen += protection.parts if isinstance(protection, Sum) else (protection,)
    changed = False
    for protection in chosen:
        if changed and protection.changes_people:
            raise invalid("protect", "a list with changes to records before changes to values", protection)
        changed = changed or not protection.changes_people
    return tuple(chosen)


def prepare(
    protections: Sequence[Protection], statistic: Statistic, public: Public
) -> tuple[Protection, ...]:
    """The protections with their parameters filled in for this statistic of these people.

    The parameters follow from the statistic and the public columns, so the attacker knows them too. Rounding
    that never changes a count, because one person is a multiple of its base, becomes `Exact`.
    """
    done: list[Protection] = []
    for protection in protections:
        ready = protection.prepare(statistic, public)
        idle = not done and ready.leaves_counts(statistic, public)
        done.append(Exact() if idle else ready)
    chosen = as_protections(done)
    noise_of(chosen)  # an error now, not in an attack, if a law is missing
    return chosen


def carry_out(
    protections: Sequence[Protection],
    dataset: Dataset,
    statistic: Statistic,
    rng: Rng = None,
    *,
    clean: Array | None = None,
    device: Device = HOST,
) -> Array:
    """The values as published after prepared protections.

    Parameters
    ----------
    clean
        The exact values of these people, if already computed.
    device
        Where they are computed otherwise.

    Notes
    -----
    People are changed first. If some people were left out, values that grow with the number of people are
    scaled up.
    """
    generator = as_rng(rng)
    people = dataset
    for protection in protections:
        index = protection.chosen(people.n, generator)
        if index is not None:
            statistic, people = statistic.take(index, people.public), people.take(index)
        people = protection.records(people, generator)
    known = clean if people is dataset else None
    values = statistic.values_on(device, people) if known is None else known.copy()
    if statistic.grows and people.n != dataset.n:
        values = values * (dataset.n / people.n)
    context = Context(statistic, dataset.public, dataset.levels)
    for protection in protections:
        seen = replace(context, people=people) if protection.reads_people else context
        values = protection.perturb(values, generator, seen)
    return values


def guarantee_of(
    protections: Protection | Sequence[Protection],
    statistic: Statistic,
    public: Public,
    *,
    delta: float = 1e-6,
    where: Where | None = None,
) -> Guarantee | None:
    """What these protections promise for this statistic; None if they promise nothing.

    Parameters
    ----------
    protections
        In the order in which they apply.
    delta
        If a law promises a whole curve (normal noise), the δ at which its ε is given.
    where
        Whose it is, if not everybody's: a condition on public columns, or a mask.

    Notes
    -----
    The promise is that of the first protection. Later ones only read values that are already private; if one
    looks at the people again, nothing is promised. Changes to records, and rounding or suppression before the
    noise, are not analysed and promise nothing. Shares of the people who satisfy a condition promise nothing
    either: a replaced row may change how many these are, and with it the noise that is needed.

    The promise is about the values. It covers a release file only if categories and cut points were fixed
    without looking at the people; otherwise the file publishes these too, without noise.

    Examples
    --------
    >>> from tellall.people.dataset import Dataset
    >>> from tellall.protections.additive import Laplace
    >>> from tellall.statistics.marginals import Marginals
    >>> people = Dataset.from_arrays([[0, 1], [1, 1], [1, 0]], secret=[0, 1, 1])
    >>> print(guarantee_of(Laplace(4.0), Marginals(2), people.public))
    ε = 1 (one row replaced; Laplace noise on 2 tables)
    """
    share("delta", delta, zero=False)
    about = None if where is None else as_where(where)
    if about is not None:
        public = public.take(people_where(about, public))
    prepared = prepare(as_protections(protections), statistic, public)
    if not prepared or any(later.reads_people for later in prepared[1:]):
        return None
    # a new row may satisfy a condition where the old one did not
    fixed = statistic.number_is_fixed and (about is None or about.words is None)
    if not fixed and (statistic.scale == "fractions" or prepared[0].shows_number):
        return None
    return prepared[0].guarantee(statistic, public, delta=delta)


def apply(protections: Sequence[Protection], values: Array, rng: Rng = None) -> Array:
    """The values after each protection in turn; none of them may need more than values."""
    generator = as_rng(rng)
    for protection in protections:
        values = protection.perturb(values, generator)
    return values


def noise_of(protections: Sequence[Protection]) -> Noise:
    """The law of the error of a published value after these protections.

    It is unknown if one of them is. Raises an error if one still misses a number that publishing fills in.
    """
    for protection in protections:
        missing = [name for name in protection.filled if getattr(protection, name) is None]
        if missing:
            rule = f"as publishing leaves it, with {' and '.join(missing)} filled in"
            raise invalid("protect", rule, protection, "Publish with it.")
    laws = tuple(law for p in protections if not isinstance(law := _law_of(p), Exact))
    if not laws:
        return Exact()
    return laws[0] if len(laws) == 1 else Sum(laws)


def _law_of(protection: Protection) -> Noise:
    """The law that a protection declares; an error if it is not a law."""
    law: object = protection.law
    if not isinstance(law, Noise):
        rule = "a property that returns a law, such as Gaussian(2.0) or Unknown()"
        raise invalid(f"law of {type(protection).__name__}", rule, law)
    return law


def is_random(protections: Sequence[Protection]) -> bool:
    """Whether publishing twice with these protections may give different values.

    Decided from the protections and not from two releases, which may be equal by luck.

    Examples
    --------
    >>> from tellall.protections import Gaussian, Rounding
    >>> is_random([Rounding(10)]), is_random([Gaussian(0.5), Rounding(10)])
    (False, True)
    """
    return any(protection.random for protection in protections)
