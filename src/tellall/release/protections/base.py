"""What a curator does before publishing: to the records, to the values, to whole tables.

A protection is anything with ``perturb(values, rng)``. Some need to know more than the values, and say so by
what they offer beside it:

``prepare(statistic, public)``
    the protection with its numbers filled in from what is public, before anything is published;
``records(dataset, rng)``
    the people as they are tabulated, before the statistic is computed; ``chosen(n, rng)`` beside it where
    these are some of the n people, by place;
``perturb_tables(values, tables, rng)``
    instead of ``perturb``: the values with the places of their tables, still nothing but published values
    (``by_table`` false where these parameters do not need it);
``perturb_people(values, dataset, statistic, rng)``
    instead of ``perturb``: the values with the people behind them;
``law``
    the law of the error that an attacker reckons with, where the protection is no ``Noise`` itself;
``hides``
    the limit under which values are not shown, where all others are; None where others may be hidden too;
``random``
    whether publishing twice may give two answers; taken for true where it is not offered;
``guarantee(statistic, public, delta=1e-6)``
    the differential privacy that it promises, at this δ where that is a whole curve.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import Any, Protocol, runtime_checkable

from tellall.algebra.operators.base import IntArray
from tellall.core.checks import is_whole
from tellall.core.errors import InvalidInput, invalid
from tellall.people.dataset import Dataset, Public
from tellall.release.protections.law import Array, Exact, Layout, Noise, Rng, Sum, as_rng
from tellall.release.protections.rounding import Rounding

__all__ = [
    "Protection",
    "Published",
    "apply",
    "as_protections",
    "carry_out",
    "check_count",
    "check_counts",
    "is_random",
    "needs_people",
    "noise_of",
    "prepare",
    "sensitivity_of",
    "tables_of",
]

_WHOLE = 1e-12
_MOST = 10**12  # people, tables, products: more is a mistake or a trap


@runtime_checkable
class Protection(Protocol):
    """Anything that turns values into what is published."""

    def perturb(self, values: Array, rng: Rng = None) -> Array:
        """The values as published, missing where nothing is."""
        ...


class Published(Protocol):
    """What protections may ask of a statistic."""

    @property
    def counts_people(self) -> bool:
        """Whether the values are numbers of people, or shares of them."""
        ...

    @property
    def grows(self) -> bool:
        """Whether the values grow with the number of people, as counts do."""
        ...

    def values(self, dataset: Dataset) -> Array:
        """The statistic computed."""
        ...

    def size_for(self, public: Public, levels: int) -> int:
        """How many values it has of a secret of that many values."""
        ...

    def take(self, people: IntArray, public: Public) -> Published:
        """The same of some of these people, by place."""
        ...

    def units(self, public: Public) -> float:
        """What a published value is multiplied with to become a count."""
        ...

    def tables(self, public: Public) -> Sequence[tuple[int, ...]]:
        """The public columns of each table, none where the values are no tables."""
        ...


def as_protections(protect: Protection | Sequence[Protection] | None) -> tuple[Protection, ...]:
    """The protections in the order in which they apply."""
    if protect is None:
        return ()
    if not isinstance(protect, Protection | Iterable):
        raise invalid("protect", "a protection such as Gaussian(2.0), or a list of them", protect)
    chosen = (protect,) if isinstance(protect, Protection) else tuple(protect)
    for protection in chosen:
        if not isinstance(protection, Protection) or isinstance(protection, type):
            raise invalid("protect", "a protection such as Gaussian(2.0), or a list of them", protection)
    # a sum is its parts one after the other, of which some look at more than the values
    chosen = tuple(part for law in chosen for part in (law.parts if isinstance(law, Sum) else (law,)))
    changed = False
    for protection in chosen:
        if changed and hasattr(protection, "records"):
            raise invalid("protect", "a list with changes to records before changes to values", protection)
        changed = changed or not hasattr(protection, "records")
    return chosen


def prepare(
    protections: Sequence[Protection], statistic: Published, public: Public
) -> tuple[Protection, ...]:
    """The protections with their numbers filled in for this statistic of these people.

    What is filled in follows from the statistic and the public columns, so that the attacker knows it too;
    so does that rounding leaves counts as they are where one person is a multiple of its base.
    """
    done: list[Protection] = []
    for protection in protections:
        ready = protection.prepare(statistic, public) if hasattr(protection, "prepare") else protection
        idle = isinstance(ready, Rounding) and not done and _leaves_whole(ready, statistic, public)
        done.append(Exact() if idle else ready)
    return as_protections(done)


def carry_out(
    protections: Sequence[Protection], dataset: Dataset, statistic: Published, rng: Rng = None
) -> Array:
    """The values as published after prepared protections.

    Notes
    -----
    Records are changed first. Values that grow with the number of people are scaled up where some people
    were left out.
    """
    generator, people = as_rng(rng), dataset
    for protection in protections:
        if hasattr(protection, "chosen"):
            places = protection.chosen(people.n, generator)
            statistic, people = statistic.take(places, people.public), people.take(places)
        elif hasattr(protection, "records"):
            people = protection.records(people, generator)
    values = statistic.values(people)
    if statistic.grows and people.n != dataset.n:
        values = values * (dataset.n / people.n)
    places = (
        tables_of(statistic, dataset.public, dataset.levels)
        if any(map(_needs_tables, protections))
        else Layout()
    )
    for protection in protections:
        if hasattr(protection, "records"):
            continue
        if hasattr(protection, "perturb_people"):
            values = protection.perturb_people(values, people, statistic, generator)
        elif _needs_tables(protection):
            values = protection.perturb_tables(values, places, generator)  # type: ignore[attr-defined]
        else:
            values = protection.perturb(values, generator)
    return values


def apply(protections: Sequence[Protection], values: Array, rng: Rng = None) -> Array:
    """The values after each protection in turn, where they need nothing but values."""
    generator = as_rng(rng)
    for protection in protections:
        values = protection.perturb(values, generator)
    return values


def noise_of(protections: Sequence[Protection]) -> Noise:
    """The law of the error that the protections leave in a published value.

    Refused where one lacks what publishing fills in: it would pass for no protection at all.
    """
    for protection in protections:
        _check_filled(protection)
    found = (
        protection if isinstance(protection, Noise) else getattr(protection, "law", None)
        for protection in protections
    )
    laws = tuple(law for law in found if law is not None and not isinstance(law, Exact))
    if not laws:
        return Exact()
    return laws[0] if len(laws) == 1 else Sum(laws)


def is_random(protections: Sequence[Protection]) -> bool:
    """Whether publishing twice with these protections may give two answers.

    Asked of the protections, not of two releases: equal ones may be luck.

    Examples
    --------
    >>> from tellall.release.protections.additive import Gaussian
    >>> is_random([Rounding(10)]), is_random([Gaussian(0.5), Rounding(10)])
    (False, True)
    """
    return any(bool(getattr(protection, "random", True)) for protection in protections)


def tables_of(statistic: Published, public: Public, levels: int = 2) -> Layout:
    """Where the tables of a secret of so many values lie among a statistic's values; empty without tables."""
    columns, sizes = tuple(statistic.tables(public)), public.levels
    shapes = [tuple(sizes[place] for place in places) for places in columns]
    total = sum(map(prod, shapes))
    if not total:
        return Layout()
    last = statistic.size_for(public, levels) // total  # one where the secret is not in the tables
    return Layout(columns, tuple((*shape, last) for shape in shapes))


def sensitivity_of(statistic: Published, public: Public) -> tuple[float, float] | None:
    """The L1 and L2 sensitivities of the published values, one row replaced; None where unknown."""
    known: Any = getattr(statistic, "sensitivity", None)
    if known is None:
        return None
    first, second = known(public)
    units = statistic.units(public)
    return first / units, second / units


def check_count(name: str, value: object) -> None:
    """Refuse what is filled in by a file and is no count of one or more."""
    known = is_whole(value) and 1 <= value <= _MOST
    if value is not None and not known:
        raise invalid(name, "a whole number of one or more, or left out", value)


def check_counts(protection: object, statistic: Published) -> None:
    """Refuse a protection whose error is known for numbers of people only."""
    if not statistic.counts_people:
        rule = f"one that fits the statistic; {type(protection).__name__} fits counts of people"
        raise invalid("protect", rule, type(statistic).__name__)


def needs_people(protection: object) -> InvalidInput:
    """The error for a protection that was handed bare values."""
    return invalid(
        "protect", "protections of values alone", protection, "Apply this one with publish, to people."
    )


def _leaves_whole(rounding: Rounding, statistic: Published, public: Public) -> bool:
    """Whether one person in a published value is a multiple of the base."""
    if not statistic.counts_people or not hasattr(statistic, "sensitivity"):  # means may be of reals
        return False
    multiples = 1 / (statistic.units(public) * rounding.base)
    return round(multiples) >= 1 and abs(multiples - round(multiples)) < _WHOLE * multiples


def _check_filled(protection: Protection) -> None:
    """Refuse a protection that is not yet, or no longer, what was published."""
    missing = [name for name in getattr(protection, "filled", ()) if getattr(protection, name) is None]
    chooses = (
        hasattr(protection, "prepare")
        and not hasattr(protection, "law")
        and not isinstance(protection, Noise)
    )
    if missing or chooses:
        lost = " and ".join(missing) or "the mechanism that it stands for"
        raise invalid(
            "protect", f"as publishing leaves it, with {lost} filled in", protection, "Publish with it."
        )


def _needs_tables(protection: Protection) -> bool:
    return hasattr(protection, "perturb_tables") and bool(getattr(protection, "by_table", True))
