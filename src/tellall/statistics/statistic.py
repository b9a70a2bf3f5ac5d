"""The base of all statistics: computed from people, and written as equations about them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import comb, prod
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from tellall.core.checks import is_whole, whole
from tellall.core.errors import InvalidInput, invalid
from tellall.core.not_done import NotDone
from tellall.linalg.operators.linear_operator import Array, Device, IntArray, LinearOperator
from tellall.linalg.operators.moments import Packed
from tellall.people.bands import Bands
from tellall.people.codes import PACKED
from tellall.people.dataset import Dataset, Outline, Public
from tellall.statistics.numbers import NumberFacts, NumberTables

__all__ = [
    "COUNT_FLOOR",
    "SCALES",
    "CellLayout",
    "Equations",
    "Statistic",
    "Ways",
    "check_scale",
    "check_sets",
    "check_ways",
    "check_weights",
    "chosen_sets",
    "column_sets",
    "columns_of",
    "counting_type",
    "every_set",
    "factor_bytes",
    "labels_among",
    "numbers_of",
    "packed_or_plain",
    "say_ways",
    "tables_of",
    "too_large",
]

SCALES = ("counts", "fractions")
Ways = int | tuple[int, ...]  # columns of a table including the secret; several for totals and subtotals

MOST_CELLS = 50_000_000  # of all tables together
_ASKED = 500  # columns up to which each is looked for in a statistic that does not list its own

Factor = npt.NDArray[np.float32] | Packed  # rows of bits whose products are taken

# The least spread that an attack assumes for a count, even an exact one: an attack that is infinitely sure
# of whole numbers gets stuck. Chosen among 0.3, 0.2, 0.1, 0.05 on two statsmodels data sets (fair, randhie).
COUNT_FLOOR = 0.1


@dataclass(frozen=True, eq=False)
class Equations:
    """What a statistic's values say about the secret: operator @ secret ≈ target, one row per value.

    Attributes
    ----------
    operator, target
        On an exact release ``operator @ secret == target``; a row whose target is missing (NaN) says nothing.
    alike
        A label per person; people with equal labels have equal columns of the operator.
    gain, reach
        The factors that turn the standard deviation and the bound of a published value's error into those of
        its row. An infinite reach: the row's error has no bound unless the value is exact.
    doubt
        The standard deviation of a further error of each row, beyond what was done to the published value.
    floor
        The least spread that each row is given in an attack.
    skipped
        Values that give no equation, and why.
    numbers
        What the values say about real numbers in addition to the equations; None if nothing.
    """

    operator: LinearOperator
    target: Array
    alike: IntArray
    gain: Array | float = 1.0
    reach: Array | float = 1.0
    doubt: Array | float = 0.0
    floor: Array | float = COUNT_FLOOR
    skipped: tuple[NotDone, ...] = ()
    numbers: NumberFacts | None = None

    def __post_init__(self) -> None:
        rows, columns = self.operator.shape
        if np.shape(self.target) != (rows,):
            raise invalid("target", f"a number for each of {rows} rows", f"shape {np.shape(self.target)}")
        people = np.shape(self.alike)
        if len(people) != 1 or (columns % people[0] if people[0] else columns):
            rule = f"a label for each person; the operator has {columns} columns"
            raise invalid("alike", rule, f"shape {people}")
        for name in ("gain", "reach", "doubt", "floor"):
            given = np.asarray(getattr(self, name))
            above = "above zero" if name == "floor" else "of zero or more"
            if given.shape not in ((), (rows,)):
                rule = f"one number, or one for each of {rows} rows"
                raise invalid(name, rule, f"shape {given.shape}")
            least, most = given.min(initial=np.inf), given.max(initial=0.0)  # NaN if one is
            if not (least > 0 if name == "floor" else least >= 0) or not (most < np.inf or name == "reach"):
                raise invalid(name, f"a finite number {above}", f"{least:g} to {most:g}")

    @cached_property
    def squares(self) -> Array:
        """The sum of squares of each row of the operator: for counts, how many people the row is about."""
        return self.operator.squared() @ np.ones(self.operator.shape[1])

    @cached_property
    def sums(self) -> Array:
        """The sum of each row of the operator."""
        return self.operator @ np.ones(self.operator.shape[1])


def columns_of(people: IntArray, n: int, width: int) -> IntArray:
    """The columns of some of n people, among ``width`` columns in all: n for each value of the secret."""
    return np.asarray((np.arange(width // n)[:, None] * n + people).ravel())


def labels_among(alike: IntArray, people: IntArray, n: int) -> IntArray:
    """A label for each of n people: these people keep theirs, all others share one further label."""
    out = np.full(n, alike.max(initial=-1) + 1)
    out[people] = alike
    return out


class Statistic(ABC):
    """A kind of published statistic.

    Notes
    -----
    Every statistic obeys this law, checked by `check_statistic`: on an exact release
    with e = equations(public, values(dataset) on the count scale), ``e.operator @ secret == e.target``.
    ``counts_people`` says whether every value is a number or a share of people. Such values can be scaled up
    from some of the people, and their error follows from the people's; coefficients are not of this kind.
    """

    filled: ClassVar[tuple[str, ...]] = ()  # parameters that plans do not offer: set by `settle` or a reader

    counted_in_stores: ClassVar[bool] = False  # whether it can be computed where people are counted on disk

    scale: str = "counts"
    counts_people: bool = True

    @property
    def adds_up(self) -> bool:
        """Whether the cells of its tables add up to the cells of tables over fewer or coarser columns."""
        return False

    @property
    def in_contrasts(self) -> bool:
        """Whether its tables, where they are complete, can be written as contrasts."""
        return False

    @property
    def of_everybody(self) -> bool:
        """Whether fractions are of all people of the release; False if they are of some of them."""
        return True

    @property
    def no_population(self) -> str:
        """Why the release gives no model of people outside it; empty if it gives one."""
        return ""

    @property
    def published_too(self) -> str:
        """What its description says about people in addition to the values; empty if nothing."""
        return ""

    @abstractmethod
    def values(self, dataset: Dataset) -> Array:
        """The values of the statistic, as a flat array in the order of its equations."""

    @abstractmethod
    def equations(self, public: Public, values: Array) -> Equations:
        """What each published value (on the count scale, NaN where suppressed) says about the secret."""

    def values_on(self, device: Device, dataset: Dataset) -> Array:
        """The same values, with any products of attributes computed on that device."""
        return self.values(dataset)

    def equations_on(self, device: Device, public: Public, values: Array) -> Equations:
        """The same equations, with products computed on that device if that is worthwhile."""
        return self.equations(public, values)

    @abstractmethod
    def size(self, public: Public) -> int:
        """How many values are published."""

    @abstractmethod
    def describe(self) -> str:
        """The statistic in a few words, for reports."""

    def explained(self, bands: Sequence[Bands]) -> Statistic:
        """The same statistic with labels as people have them, where Bands say what printed ones mean."""
        return self

    def check_labels(self, public: Public) -> None:
        """Refuses columns that people do not have, and labels that nobody can have; by default none."""
        return

    def measured_in(self) -> str:
        """The unit of the published values and of the noise on them."""
        if not self.counts_people:
            return "units of a coefficient"
        return "people" if self.scale == "counts" else "shares of all people"

    def number_tables(self, public: Public) -> NumberTables | None:
        """Who contributes to which sums or means of numbers, for rules about cells; None if it has none."""
        return None

    def memory(self, public: Public, *, packed: bool = False) -> int:
        """The memory of its equations in bytes; by default that of a matrix of values × people.

        ``packed``: as kept on a device, where the attributes of products are bits.
        """
        return 8 * self.size(public) * public.n

    @property
    def grows(self) -> bool:
        """Whether the values grow with the number of people, as counts do and fractions do not."""
        return self.counts_people and self.scale == "counts"

    def tables(self, public: Public) -> Sequence[tuple[int, ...]]:
        """The public columns of each table, by index; empty if the values are not tables.

        Tables follow one another among the values, cells in C order, with the secret (if any) last.
        """
        return ()

    def sensitivity(self, public: Public) -> tuple[float, float] | None:
        """The L1 and L2 sensitivities of the counts, one person replaced; None if unknown."""
        return None

    def serves(self, levels: int) -> str:
        """Why no attack can use it about a secret of so many values (zero: a real number); empty if one can.

        By default it serves bits and real numbers. A statistic about categories says so here, and in
        ``size_for`` how many values it then has; one that serves no numbers says that too.
        """
        return (
            ""
            if levels in (0, 2)
            else f"for a secret of {levels} values tellall attacks only tables (Marginals)"
        )

    def size_for(self, public: Public, levels: int) -> int:
        """How many values are published if the secret has ``levels`` values (zero for real numbers)."""
        if not is_whole(levels) or self.serves(int(levels)):
            raise invalid("levels", "2 (bits) or 0 (real numbers) for this statistic", levels)
        return self.size(public)

    def approximate(self, public: Public, std: float) -> str:
        """Why the equations hold only roughly if values have errors of that size; empty if they do hold."""
        return ""

    def as_plain(self) -> dict[str, object]:
        """The constructor's arguments that are not plain data, as plain data that it accepts."""
        return {}

    def comparable(self) -> Statistic:
        """The same statistic in a form where a person's column does not depend on the other people."""
        return self

    def settle(self, public: Public, *, secret: bool = True) -> Statistic:
        """The statistic as published for these people, with everything that saving it needs."""
        return self

    def take(self, people: IntArray, public: Public) -> Statistic:
        """The same statistic of some of these people, by index; unchanged if it names nobody by index."""
        return self

    def needs(self, columns: Outline) -> set[str] | None:
        """The columns that every value needs; None if values need different columns."""
        return None

    def without(self, unknown: Sequence[str], columns: Outline) -> tuple[Statistic, IntArray] | None:
        """What is left of it without some unknown columns, and which values those are; None if nothing.

        By default nothing is left.
        """
        return None

    def columns_used(self, public: Public) -> set[str]:
        """The public columns that occur in it; all of them if nobody knows."""
        if (needed := self.needs(public)) is not None:
            return needed & set(public.names)
        if tables := self.tables(public):
            return {public.names[column] for chosen in tables for column in chosen}
        if len(public.names) > _ASKED:
            return set(public.names)
        size = self.size(public)

        def occurs(name: str) -> bool:
            left = self.without([name], public)
            return left is None or left[1].size < size

        return {name for name in public.names if occurs(name)}

    def in_unit(self, unit: float, values: Array, *, exact: bool) -> tuple[Statistic, Array] | None:
        """The statistic and its values if a real secret is measured in this unit; errors scale with the unit.

        None if they do not simply scale along, or if nobody says how; then they are used as published.
        ``exact`` says that the values have no errors.
        """
        return None

    @property
    def number_is_fixed(self) -> bool:
        """Whether it is about the same number of people if one row is replaced."""
        return True

    def units(self, public: Public) -> float:
        """The factor that turns a published value into a count."""
        return float(public.n) if self.scale == "fractions" else 1.0


@dataclass(frozen=True)
class CellLayout:
    """Where tables lie among the published values: one after the other, cells in C order, the secret last.

    Attributes
    ----------
    columns
        The public columns of each table, by index; empty if the values are not tables.
    shapes
        The number of values of each column, and of the secret (one if it is not in the tables).
    """

    columns: tuple[tuple[int, ...], ...] = ()
    shapes: tuple[tuple[int, ...], ...] = ()

    def __len__(self) -> int:
        return len(self.columns)

    def alike(self) -> Iterator[tuple[tuple[int, ...], npt.NDArray[np.intp], npt.NDArray[Any]]]:
        """For each shape: the tables that have it, and the indices of their cells (tables × cells)."""
        sizes = np.array([prod(shape) for shape in self.shapes], dtype=np.intp)
        starts = np.cumsum(sizes) - sizes
        by_shape: dict[tuple[int, ...], list[int]] = {}
        for table, shape in enumerate(self.shapes):
            by_shape.setdefault(shape, []).append(table)
        for shape, members in by_shape.items():
            chosen = np.array(members, dtype=np.intp)
            yield shape, chosen, starts[chosen, None] + np.arange(prod(shape))


def tables_of(statistic: Statistic, public: Public, levels: int = 2) -> CellLayout:
    """Where a statistic's tables lie among its values, if the secret has ``levels`` values."""
    columns = tuple(statistic.tables(public))
    sizes = public.levels
    shapes = [tuple(sizes[column] for column in each) for each in columns]
    total = sum(map(prod, shapes))
    if not total:
        return CellLayout()
    last = statistic.size_for(public, levels) // total  # one if the secret is not in the tables
    return CellLayout(columns, tuple((*shape, last) for shape in shapes))


def numbers_of(public: Public, index: int, purpose: str, *, missing: bool = False) -> Array:
    """A column as numbers; an error for text, and for missing numbers unless ``missing`` allows NaN."""
    column = public.columns[index]
    numbers = public.numbers[index] if public.numbers else None
    if numbers is None and column.labels == ("0", "1"):
        return np.asarray(public.codes[index], dtype=np.float64)
    what = f"column '{column.name}'"
    if numbers is None:
        advice = "Leave it out, or turn each value into a 0/1 column."
        raise invalid(what, f"a column of numbers, {purpose}", "text", advice)
    out = np.asarray(numbers, dtype=np.float64)
    gaps = 0 if missing else int(np.isnan(out).sum())
    if gaps:
        advice = "Leave out the column or the people."
        raise invalid(what, f"without missing numbers, {purpose}", f"{gaps} missing", advice)
    return out


def check_sets(
    name: str, sets: Sequence[Sequence[str | int]] | None, size: int | None, what: str = "columns"
) -> tuple[tuple[str | int, ...], ...] | None:
    """The chosen sets of columns or attributes, by name or index, checked for their size if one is given."""
    if sets is None:
        return None
    if isinstance(sets, str) or not isinstance(sets, Iterable):
        raise invalid(name, f"a list of sets of {what}", sets)
    loose = [[names] if isinstance(names, str) or is_whole(names) else names for names in sets]
    if not loose or not all(isinstance(names, Iterable) for names in loose):
        raise invalid(name, f"one set of {what} or more", sets)
    chosen = tuple(tuple(int(n) if isinstance(n, np.integer) else n for n in names) for names in loose)
    for names in chosen:
        if not all(isinstance(each, str | int) for each in names) or (size is None and not names):
            raise invalid(name, f"sets of one {what[:-1]} or more, by name or index", names)
        if size is not None and len(names) != size:
            raise invalid(name, f"sets of {size} {what} (ways − 1)", names)
    return chosen


def check_scale(scale: str, allowed: Sequence[str] = SCALES) -> str:
    """The scale; an error if it is not one of those allowed."""
    if scale not in allowed:
        raise invalid("scale", " or ".join(map(repr, allowed)), scale)
    return scale


def check_weights(weights: str | None) -> str | None:
    """The name of the column of weights, or None; an error for anything else."""
    if weights is not None and not (isinstance(weights, str) and weights):
        raise invalid("weights", "the name of a public column, or None", weights)
    return weights


def check_ways(
    ways: int | Sequence[int], attributes: Sequence[Sequence[str | int]] | None
) -> tuple[Ways, tuple[tuple[str | int, ...], ...] | None]:
    """The checked ways of a secret's tables, one or several, and the chosen sets of ways − 1 columns."""
    also = ", the secret counted"
    if isinstance(ways, str) or not isinstance(ways, Iterable):
        one = whole("ways", ways, also=also)
        return one, check_sets("attributes", attributes, one - 1)
    several = tuple(whole("ways", each, also=also) for each in ways)
    if not several or len(set(several)) < len(several):
        raise invalid("ways", "whole numbers, each once", ways)
    if attributes is not None:
        rule = "left out if there are several ways"
        raise invalid("attributes", rule, attributes, "Plan a release for each list of tables.")
    return (several[0] if len(several) == 1 else tuple(sorted(several))), None


def say_ways(ways: Ways, attributes: Sequence[object] | None) -> str:
    """A description of the tables in words.

    Examples
    --------
    >>> say_ways(3, None), say_ways((1, 2), None), say_ways(2, [("age",)])
    ('every 3-way table', 'every 1-way and 2-way table', '1 chosen 2-way table')
    """
    if isinstance(ways, tuple):
        return f"every {' and '.join(f'{each}-way' for each in ways)} table"
    count = None if attributes is None else len(attributes)
    chosen = "every" if count is None else f"{count} chosen"
    return f"{chosen} {ways}-way table{'' if count in (None, 1) else 's'}"


def column_sets(
    public: Outline,
    ways: Ways,
    attributes: Sequence[Sequence[str | int]] | None,
    weights: str | None = None,
) -> list[tuple[int, ...]]:
    """The public columns of each table of a secret, by index; the column of weights is never among them."""
    if attributes is not None:
        return chosen_sets(public, attributes)
    aside = None if weights is None else public.position(weights, "weights")
    columns = [column for column in range(len(public.columns)) if column != aside]
    found: list[tuple[int, ...]] = []
    for each in ways if isinstance(ways, tuple) else (ways,):
        if each - 1 > len(columns):
            raise invalid("ways", f"at most {len(columns) + 1}, the public columns and the secret", each)
        found += [tuple(columns[place] for place in chosen) for chosen in every_set(len(columns), each - 1)]
    return found


def every_set(d: int, k: int) -> list[tuple[int, ...]]:
    """All sets of k of d columns; an error if there are too many to list."""
    if comb(d, k) > MOST_CELLS:  # each has a cell or more
        raise too_large("tables", comb(d, k))
    return list(combinations(range(d), k))


def chosen_sets(public: Outline, attributes: Sequence[Sequence[str | int]]) -> list[tuple[int, ...]]:
    """The chosen sets of columns, by index."""
    chosen = [tuple(public.position(name) for name in names) for names in attributes]
    for names, columns in zip(attributes, chosen, strict=True):
        if len(set(columns)) < len(columns):
            raise invalid("attributes", "sets of different columns", names)
    return chosen


def too_large(what: str, count: int) -> InvalidInput:
    """The error for too many tables or cells."""
    return invalid(
        "tables",
        f"of a manageable size ({what})",
        f"{count:,}",
        "Use fewer columns, ways or bins, or choose tables.",
    )


def packed_or_plain(rows: Iterable[npt.NDArray[Any]], count: int, people: int) -> Factor:
    """Rows of bits as a factor of products, packed from :data:`PACKED` bits on.

    Below that in single precision, where counts are exact up to 2^24 people.
    """
    if count * people < PACKED:
        plain = np.empty((count, people), dtype=np.float32)
        for index, row in enumerate(rows):
            plain[index] = row
        return plain
    packed = np.empty((count, -(-people // 8)), dtype=np.uint8)
    for index, row in enumerate(rows):
        packed[index] = np.packbits(row)
    return Packed(packed, people)


def counting_type(people: int) -> type[np.float32] | type[np.float64]:
    """A number type in which sums over people of 0, 1, −1 and their halves are exact."""
    return np.float32 if people < 2**24 else np.float64  # sums of halves stay below 2^23, in steps of 1/2


def factor_bytes(count: int, people: int, *, packed: bool = False) -> int:
    """The bytes that `count` attributes take as a factor of products; ``packed``: packed even if few."""
    bits = count * people
    return -(-bits // 8) if packed or bits >= PACKED else 2 * 4 * bits  # two copies in single precision
