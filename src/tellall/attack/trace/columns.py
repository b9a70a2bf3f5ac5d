"""Published means and people brought to one coding and one list of attributes, before anybody is scored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.algebra.operators.base import Array, IntArray
from tellall.attack.trace.blocks import CODINGS, Blocks, Coding, as_blocks, calls_of, packed_of
from tellall.attack.trace.copies import Lacking, compared, copies, lacking
from tellall.core.checks import whole
from tellall.core.errors import InvalidInput, invalid
from tellall.people.dataset import Public
from tellall.people.genomics.packed_calls import PackedCalls
from tellall.release.release import Release
from tellall.release.statistics.means import Means

__all__ = [
    "Chosen",
    "Input",
    "match_columns",
    "names_of_means",
    "read_input",
]

# People brought to the columns of the published means: by name where both have names, else by place.

Names = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Chosen:
    """Some attributes of a source, in rising order of place."""

    source: Blocks
    places: IntArray

    @property
    def shape(self) -> tuple[int, int]:
        return self.source.shape[0], int(self.places.size)

    def block(self, start: int, stop: int) -> npt.NDArray[Any]:
        places = self.places[start:stop]
        first = int(places[0])
        return self.source.block(first, int(places[-1]) + 1)[:, places - first]

    def packed(self, start: int, stop: int) -> PackedCalls | None:
        places = self.places[start:stop]
        first = int(places[0])
        calls = packed_of(self.source, first, int(places[-1]) + 1)
        return calls if calls is None or len(calls.turned) == places.size else calls.at(places - first)


def match_columns(
    values: Array, names: Names, targets: Any, reference: Any
) -> tuple[Array, list[Blocks], list[str]]:
    """The means, targets and reference people over the attributes that all have, and what was left out.

    Notes
    -----
    Names count where the means and the people have them: releases, datasets, frames, mappings, and series
    with an index. Names made up by place (``a0`` of an array's dataset, 0, 1, ... of a frame) are places.
    """
    people = {"targets": _as_table("targets", targets), "reference": _as_table("reference", reference)}
    labels = {side: _labels(side, one, names) for side, one in people.items()}
    if not names:
        _check_one_order(labels)
        found = [_by_place(side, one, values.size, ()) for side, one in people.items()]
        return values, found, []
    known = [set(found) for found in labels.values() if found]
    shared = np.array([j for j, name in enumerate(names) if all(name in one for one in known)], dtype=np.intp)
    if shared.size == 0:
        raise _none_shared(labels, names)
    wanted = [names[place] for place in shared]
    sources: list[Blocks] = []
    for side, one in people.items():
        if labels[side]:
            sources.append(as_blocks(side, _by_name(side, one, wanted)))
            continue
        source = _by_place(side, one, values.size, names)
        sources.append(source if shared.size == values.size else Chosen(source, shared))
    return values[shared], sources, _left_out(labels, names, shared.size)


def names_of_means(means: Any) -> Names:
    """The names that published means come with: a series' index, the keys of a mapping, else none."""
    if isinstance(means, Mapping):
        return _each_once("means", means)
    index = getattr(means, "index", None)
    if index is None or callable(index) or _counted(index):
        return ()
    return _each_once("means", index)


def _as_table(side: str, people: Any) -> Any:
    """A series with names in its index as a table of one row, a lazy frame collected, else as it is."""
    if hasattr(people, "collect"):
        return people.collect()
    index = getattr(people, "index", None)
    if not hasattr(people, "to_frame") or index is None or callable(index) or _counted(index):
        return people
    values = people.to_numpy()
    return {name: values[j : j + 1] for j, name in enumerate(_each_once(side, index))}


def _none_shared(labels: dict[str, Names], names: Names) -> InvalidInput:
    for side, found in labels.items():
        if found and not set(found) & set(names):
            return invalid(side, f"people with columns of the release ({_few(names)})", _few(found))
    rule = "people with columns that the release and the targets have too"
    return invalid("reference", rule, _few(labels["reference"]))


def _labels(side: str, people: Any, names: Names) -> Names:
    """The names of people's columns, none where they have none or only places."""
    if isinstance(people, Public):
        found, made_up = people.names, _by_number(people.names)
    elif isinstance(people, Mapping):
        found, made_up = _each_once(side, people), False
    elif hasattr(people, "columns") and hasattr(people, "to_numpy"):
        found = _each_once(side, people.columns)
        made_up = _counted(people.columns) or all(name == f"column_{j}" for j, name in enumerate(found))
    else:
        return ()
    if not names:
        return () if made_up else found
    if isinstance(people, Public):  # always was by name; an array's dataset leaves out what does not vary
        return found
    made_up = made_up and not set(names) <= set(found)
    nothing = _by_number(names) and not set(names) & set(found)
    return () if made_up or nothing else found


def _check_one_order(labels: dict[str, Names]) -> None:
    """Means without names go by place: people who have names must agree on it."""
    first, second = labels.values()
    if first and second and first != second and set(first) == set(second):
        raise invalid(
            "reference",
            "in the targets' order of columns where the means have no names",
            _few(second),
            "Or give the means names: a release, or a series with the columns as its index.",
        )


def _by_place(side: str, people: Any, width: int, names: Names) -> Blocks:
    """The people as they stand, or without the constant columns that a dataset made of an array left out."""
    if isinstance(people, Public):
        people = _by_name(side, people, people.names)
    elif isinstance(people, Mapping) or (hasattr(people, "columns") and hasattr(people, "to_numpy")):
        people = _table(side, people, list(people if isinstance(people, Mapping) else people.columns))
    blocks = as_blocks(side, people)
    if names and blocks.shape[1] > width and _by_number(names):
        places = np.array([int(name[1:]) for name in names])
        if places[-1] < blocks.shape[1]:
            return Chosen(blocks, places)
    if blocks.shape[1] != width:
        advice = "Pass people with names, a frame or a Dataset say, to match them by name." if names else ""
        rule = f"people with the {width} attributes of the means"
        raise invalid(side, rule, f"{blocks.shape[1]} attributes", advice)
    return blocks


def _by_name(side: str, people: Any, wanted: Sequence[str]) -> npt.NDArray[Any]:
    if not isinstance(people, Public):
        keys = {str(key): key for key in (people if isinstance(people, Mapping) else people.columns)}
        return _table(side, people, [keys[name] for name in wanted])
    places = [people.position(name) for name in wanted]
    numbers = [(people.numbers[j], people.codes[j]) for j in places]
    return np.stack([codes if value is None else value for value, codes in numbers], axis=1)


def _table(side: str, people: Any, keys: list[Any]) -> npt.NDArray[Any]:
    """Some columns of a frame or mapping as one array, missing values NaN."""
    if isinstance(people, Mapping):
        columns = [people[key] for key in keys]
    else:
        frame = people[keys]
        array = np.asarray(frame.to_numpy())
        if array.dtype.kind in "biuf":
            return array
        columns = [frame[key] for key in keys]
    try:
        return np.stack([_numbers(column) for column in columns], axis=1)
    except (TypeError, ValueError):
        raise invalid(side, "columns of numbers, of one length", _few([str(key) for key in keys])) from None


def _numbers(column: Any) -> Array:
    """A column as floats, NaN where masked, null or missing."""
    if isinstance(column, np.ma.MaskedArray):
        return np.ma.filled(column.astype(np.float64), np.nan)
    values = column.tolist() if hasattr(column, "tolist") else list(column)
    missing = [value is None or type(value).__name__ in ("NAType", "NaTType") for value in values]
    plain = [np.nan if gone else value for gone, value in zip(missing, values, strict=True)]
    array = np.asarray(plain)
    if array.dtype.kind not in "biuf":
        raise TypeError
    return array.astype(np.float64)


def _each_once(side: str, names: Any) -> Names:
    found = tuple(str(name) for name in names)
    if len(set(found)) < len(found):
        twice = next(a for a, b in pairwise(sorted(found)) if a == b)
        raise invalid(side, "with each name once", f"'{twice}' twice")
    return found


def _counted(index: Any) -> bool:
    """Whether labels are 0, 1, 2, ... as pandas gives them unasked."""
    return all(not isinstance(label, str) and label == place for place, label in enumerate(index))


def _by_number(names: Sequence[str]) -> bool:
    """Whether a dataset made of an array could have made up these names: a0, a1, ..., in rising order."""
    if not all(name[:1] == "a" and name[1:].isdecimal() for name in names):
        return False
    places = [int(name[1:]) for name in names]
    return all(a < b for a, b in pairwise(places))


def _left_out(labels: dict[str, Names], names: Names, shared: int) -> list[str]:
    """A sentence on the columns that only one side has, none where there are none."""
    extra = {side: len(found) - shared for side, found in labels.items() if found}
    if shared == len(names) and not any(extra.values()):
        return []
    beside = ", ".join(f"{count:,} of the {side}" for side, count in extra.items())
    return [
        f"{shared:,} of {len(names):,} published means have a column in the targets and the reference; "
        f"columns left out: {beside}."
    ]


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:4]) + (", …" if len(names) > 4 else "")


_FEW_MISSING = 0.01  # a share of missing calls up to which nothing is said
_LEAST_FREQUENCY = 1e-7
_BETWEEN = 2**0.5  # one allele a person, or two


@dataclass(frozen=True, eq=False)
class Input:
    """What an attack works on: q in the ±1 coding and two sources of people over the same attributes."""

    q: Array
    targets: Blocks
    reference: Blocks
    coding: Coding
    n: int | None
    notes: tuple[str, ...]
    target_gaps: Lacking
    reference_gaps: Lacking
    copies: int

    def size(self) -> float:
        """How many people the means are over: as told, or one over the smallest frequency above zero."""
        if self.n is not None:
            return float(self.n)
        share = (1 + np.abs(self.q)) / 2
        gaps = (1 - share)[share < 1]
        return float(1 / max(gaps.min(initial=0.5), _LEAST_FREQUENCY)) / self.coding.ploidy


def read_input(
    means: Release | npt.ArrayLike,
    targets: Any,
    reference: Any,
    *,
    coding: str,
    n: int | None,
    clip: bool,
    alleles: str | None = None,
) -> Input:
    """Means and people in one coding, without suppressed attributes; refuses what does not fit."""
    if not isinstance(coding, str) or coding not in CODINGS:
        raise invalid("coding", "'signs', 'bits' or 'genotypes'", coding)
    if n is not None:
        whole("n", n, also=", the people that the means are over")
    rule = CODINGS[coding]
    names = means.columns if isinstance(means, Release) else names_of_means(means)
    values, people, notes = match_columns(_values(means, n), names, targets, reference)
    for name, blocks in zip(("targets", "reference"), people, strict=True):
        if blocks.shape[0] < 1:
            raise invalid(name, "one person or more", "nobody")
    shown = np.flatnonzero(~np.isnan(values))
    if shown.size == 0:
        raise invalid("means", "one published value or more", f"{values.size} values, all missing")
    if shown.size < values.size:
        notes.append(f"{values.size - shown.size} suppressed means left out.")
        values, people = values[shown], [Chosen(blocks, shown) for blocks in people]
    told = "counts" if isinstance(means, Release) else alleles
    q = _signs(values, people[1], rule, told, notes)
    outside = int((np.abs(q) > 1 + 1e-9).sum())
    if clip and (np.abs(q) > 1).any():
        q = np.clip(q, -1, 1)
        if outside:
            notes.append(f"{outside} means outside the possible range clipped to it.")
    same = copies(people[0], people[1], rule)
    if same:
        notes.append(
            f"{same} of the targets also stand among the reference people, or have a twin there: they cannot "
            "be told from those, and if they were in the data everybody's threshold is too high; leave them "
            "out of the reference."
        )
    gaps = lacking("targets", people[0], rule), lacking("reference", people[1], rule)
    notes.extend(_tell_missing(*gaps, q.size))
    return Input(q, people[0], people[1], rule, n, tuple(notes), *gaps, same)


def _tell_missing(targets: Lacking, reference: Lacking, attributes: int) -> list[str]:
    """What is to be said of missing calls; refuses people who have none."""
    notes = []
    for name, gaps in (("targets", targets), ("reference", reference)):
        if gaps.nothing.all():
            raise invalid(name, "people with calls", f"{gaps.nothing.size} without a single one")
        if gaps.share > _FEW_MISSING:
            who = "targets" if name == "targets" else "reference people"
            some = (
                "" if gaps.attributes == attributes else f" in the {gaps.attributes:,} attributes looked at"
            )
            notes.append(f"The {who} lack {100 * gaps.share:.2g} % of their calls{some}.")
    lost = int(targets.nothing.sum())
    if lost:
        have = "target has" if lost == 1 else "targets have"
        notes.append(f"{lost} {have} no call at all, and nothing is said of them; their p-value is 1.")
    return notes


def _values(means: Release | npt.ArrayLike, n: int | None) -> Array:
    if isinstance(means, Release):
        if not isinstance(means.statistic, Means):
            raise invalid("means", "a release of Means()", means.statistic.describe())
        if means.statistic.scale == "counts":
            if n is None:
                raise invalid("n", "given where the release holds sums", "None")
            return means.values / n
        return means.values
    try:
        if np.iscomplexobj(_plain(means)):  # its imaginary part would be lost
            raise TypeError
        array = np.asarray(_plain(means), dtype=np.float64).ravel()
    except (TypeError, ValueError):
        raise invalid("means", "numbers, or a release of Means()", means) from None
    if array.size == 0:
        raise invalid("means", "one published value or more", "none")
    if np.isinf(array).any():
        raise invalid("means", "finite, or NaN where suppressed", "an infinite value")
    return array


def _plain(means: Any) -> Any:
    return list(means.values()) if isinstance(means, Mapping) else means


def _signs(values: Array, reference: Blocks, coding: Coding, alleles: str | None, notes: list[str]) -> Array:
    """The means in the ±1 coding; those of genotypes are told, or lie nearer to one or two alleles a person.

    Notes
    -----
    Told by the ratio of sums over many attributes, about 1 or about 2: a sum is right on average even where
    there is one reference person, which the distance from site to site is not.
    """
    if coding.name in ("signs", "reals"):
        return values
    if coding.name == "bits":
        return 2 * values - 1
    if alleles is None:
        few = slice(0, compared(reference))
        total, called = calls_of("reference", reference, few, coding).counts()
        there = called > 0
        known = (total[there] / called[there] + 1) / 2
        if values[few][there].sum() > _BETWEEN * known.sum():
            notes.append("Means read as mean allele counts in [0, 2], as the reference people's are.")
            return values - 1
    return values - 1 if alleles == "counts" else 2 * values - 1
