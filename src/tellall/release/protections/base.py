"""Lists of protections: checked, prepared, carried out in order, and the law of what they leave behind."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tellall.algebra.operators.device import HOST, Device
from tellall.core.errors import invalid
from tellall.people.dataset import Dataset, Public
from tellall.release.protections.protection import Array, Context, Exact, Noise, Protection, Rng, Sum, as_rng
from tellall.release.protections.rounding import Rounding

if TYPE_CHECKING:
    from tellall.release.statistics.base import Statistic

__all__ = ["apply", "as_protections", "carry_out", "is_random", "noise_of", "prepare"]

_WHOLE = 1e-12


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
        # a sum is its parts one after the other, of which some look at more than the values
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
    """The protections with their numbers filled in for this statistic of these people.

    What is filled in follows from the statistic and the public columns, so that the attacker knows it too;
    so does that rounding leaves counts as they are where one person is a multiple of its base.
    """
    done: list[Protection] = []
    for protection in protections:
        ready = protection.prepare(statistic, public)
        idle = isinstance(ready, Rounding) and not done and _leaves_whole(ready, statistic, public)
        done.append(Exact() if idle else ready)
    return as_protections(done)


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
        The exact values of these people, where they are computed already.
    device
        Where they are computed otherwise.

    Notes
    -----
    People are changed first. Values that grow with the number of people are scaled up where some people
    were left out.
    """
    generator, people = as_rng(rng), dataset
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


def apply(protections: Sequence[Protection], values: Array, rng: Rng = None) -> Array:
    """The values after each protection in turn, where they need nothing but values."""
    generator = as_rng(rng)
    for protection in protections:
        values = protection.perturb(values, generator)
    return values


def noise_of(protections: Sequence[Protection]) -> Noise:
    """The law of the error that the protections leave in a published value.

    Unknown where one of them is. Refused where one lacks what publishing fills in: its law says nothing yet.
    """
    for protection in protections:
        missing = [name for name in protection.filled if getattr(protection, name) is None]
        if missing:
            rule = f"as publishing leaves it, with {' and '.join(missing)} filled in"
            raise invalid("protect", rule, protection, "Publish with it.")
    laws = tuple(law for p in protections if not isinstance(law := p.law, Exact))
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
    return any(protection.random for protection in protections)


def _leaves_whole(rounding: Rounding, statistic: Statistic, public: Public) -> bool:
    """Whether one person in a published value is a multiple of the base."""
    if not statistic.counts_people or statistic.sensitivity(public) is None:  # means may be of reals
        return False
    multiples = 1 / (statistic.units(public) * rounding.base)
    return round(multiples) >= 1 and abs(multiples - round(multiples)) < _WHOLE * multiples
