"""Predicates: how many people satisfy a boolean function of some public attributes and the secret."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import comb, perm, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.core.checks import is_whole, whole
from tellall.core.errors import invalid
from tellall.linalg.operators.compose import OnDevice, RowSelect
from tellall.linalg.operators.linear_operator import HOST, Array, Dense, Device, IntArray, LinearOperator
from tellall.linalg.operators.moments import Moments, Packed
from tellall.linalg.operators.rowfunction import RowFunction, row_values
from tellall.people.codes import Bits, group_rows
from tellall.people.dataset import Dataset, Outline, Public
from tellall.statistics.boolean import (
    NAMES,
    as_table,
    is_degenerate,
    is_symmetric,
    line_through,
    split,
    truth_table,
)
from tellall.statistics.statistic import (
    Equations,
    Factor,
    Statistic,
    check_scale,
    check_sets,
    counting_type,
    factor_bytes,
    packed_or_plain,
)

__all__ = ["Indicators", "Predicates"]


@dataclass(frozen=True, eq=False)
class Indicators:
    """The 0/1 attributes of a public table.

    A column of bits is one attribute under its own name; any other column has one attribute per category,
    named "column = category". Attributes follow the order of the columns and of the categories' codes.

    Examples
    --------
    >>> from tellall.people.dataset import Dataset
    >>> people = Dataset.from_frame({"smokes": [0, 1, 1], "sex": ["f", "m", "f"]})
    >>> Indicators(people.public).names
    ('smokes', 'sex = f', 'sex = m')
    """

    public: Public

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The name of each attribute."""
        names: list[str] = []
        for column in self.public.columns:
            if _is_bit(column.labels):
                names.append(column.name)
            else:
                names += [f"{column.name} = {label}" for label in column.labels]
        return tuple(names)

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def factor(self) -> Factor:
        """Attributes × people, for products; packed if they are many."""
        codes = self.public.codes
        if isinstance(codes, Bits) and len(self) == len(codes):
            return Packed(codes.packed, codes.people)
        return packed_or_plain(self._rows(range(len(self))), len(self), self.public.n)

    def chosen(self, indices: Sequence[int]) -> Bits | npt.NDArray[np.uint8]:
        """Some of the attributes × people, by index."""
        if isinstance(self.public.codes, Bits):
            return Bits(np.stack([np.packbits(row) for row in self._rows(indices)]), self.public.n)
        return np.array(list(self._rows(indices)), dtype=np.uint8).reshape(len(indices), self.public.n)

    def _rows(self, indices: Iterable[int]) -> Iterator[npt.NDArray[np.bool_]]:
        for index in indices:
            column, value = self._meaning[index]
            yield self.public.codes[column] == value

    @cached_property
    def _meaning(self) -> tuple[tuple[int, int], ...]:
        """The column and the code that each attribute stands for."""
        found: list[tuple[int, int]] = []
        for index, column in enumerate(self.public.columns):
            wanted = (1,) if _is_bit(column.labels) else range(column.levels)
            found += [(index, value) for value in wanted]
        return tuple(found)

    def position(self, name: str | int) -> int:
        """The index of an attribute given by name or index."""
        if is_whole(name):
            if not 0 <= name < len(self):
                raise invalid("attributes", f"indices from 0 to {len(self) - 1}", int(name))
            return int(name)
        if name not in self.names:
            if (gone := self.public.without(str(name))) is not None:
                rule = "of columns that differ between people"
                raise invalid("attributes", rule, f"'{name}'", f"Left out: {gone}.")
            near = difflib.get_close_matches(str(name), self.names, n=1)
            listing = ", ".join(self.names[:12]) + (", ..." if len(self) > 12 else "")
            advice = f"Did you mean '{near[0]}'?" if near else ""
            raise invalid("attributes", f"among {listing}", f"'{name}'", advice)
        return self.names.index(str(name))


def _is_bit(labels: tuple[str, ...]) -> bool:
    return labels == ("0", "1")


TUPLES = ("distinct", "all")
_MOST_VALUES = 50_000_000
_MOST_ENTRIES = 250_000_000
_WORTH_ALL = 4  # products over all tuples pay if there are at most this many times as many as chosen sets


@dataclass(frozen=True)
class Predicates(Statistic):
    """For every choice of ways − 1 public attributes, how many people satisfy f(attributes, secret).

    Parameters
    ----------
    function
        "and", "or", "xor", "majority", "nae", "mux", or a truth table of 2**ways bits: the index of a point
        is its bits read as a binary number, the first attribute most significant, the secret last.
    ways
        The number of variables including the secret: 2 to 5. By default taken from the truth table.
    attributes
        The attribute sets to count instead of all: names or indices among the attributes (see Notes).
    tuples
        "distinct": sets of different attributes if f is symmetric in them, otherwise ordered tuples of
        different attributes; "all": {1..d}^(ways − 1) with repetitions, as in the paper, in C order.
    scale
        "counts", or "fractions" of all people.

    Notes
    -----
    Attributes are 0/1: bit columns as they are, any other column by its indicators "column = value"
    (:meth:`attribute_names` lists them). Sets come in lexicographic order. With f = f0 + f2 s,

        value_J = Σ_i f0(x_iJ) + Σ_i f2(x_iJ) s_i,

    where the first sum is public (linear-reconstruction, Eq. 2 and 3). The operator is not formed, except for
    a few chosen sets (`RowFunction`); its attributes are packed, eight people to a byte, from 2^24 bits on.
    If f is degenerate, no theorem promises that the attack works; the rank of the evidence decides. Replacing
    one person moves each count by at most one: L1 sensitivity at most m, L2 at most √m for m counts.

    Examples
    --------
    >>> people = Dataset.from_arrays([[0, 1], [1, 1], [1, 0]], secret=[0, 1, 1])
    >>> Predicates("xor", 2).values(people).tolist(), Predicates([0, 0, 1, 0]).values(people).tolist()
    ([0.0, 2.0], [0.0, 1.0])
    """

    function: str | tuple[int, ...]
    ways: int
    attributes: tuple[tuple[str | int, ...], ...] | None = None
    tuples: str = "distinct"
    scale: str = "counts"

    def __init__(
        self,
        function: str | npt.ArrayLike,
        ways: int | None = None,
        attributes: Sequence[Sequence[str | int]] | None = None,
        tuples: str = "distinct",
        *,
        scale: str = "counts",
    ) -> None:
        named = isinstance(function, str)
        chosen = _check_ways(function, ways)
        if named:
            truth_table(str(function), chosen)
        if tuples not in TUPLES:
            raise invalid("tuples", f"one of {', '.join(map(repr, TUPLES))}", tuples)
        kept = function if named else tuple(int(bit) for bit in as_table(function))
        object.__setattr__(self, "function", kept)
        object.__setattr__(self, "ways", chosen)
        object.__setattr__(self, "attributes", check_sets("attributes", attributes, chosen - 1, "attributes"))
        object.__setattr__(self, "tuples", tuples)
        object.__setattr__(self, "scale", check_scale(scale))

    @property
    def table(self) -> npt.NDArray[np.int8]:
        """The truth table."""
        if isinstance(self.function, str):
            return truth_table(self.function, self.ways)
        return np.array(self.function, dtype=np.int8)

    @property
    def degenerate(self) -> bool:
        """Whether no theorem promises that the counts give the secret away."""
        return is_degenerate(self.table)

    def describe(self) -> str:
        name = (
            self.function if isinstance(self.function, str) else f"function {''.join(map(str, self.table))}"
        )
        over = "every choice" if self.attributes is None else f"{len(self.attributes)} chosen sets"
        many = f"{self.ways - 1} attribute{'' if self.ways == 2 else 's'}"
        doubt = " (degenerate: no spectral guarantee)" if self.degenerate else ""
        return f"counts of {name} over {over} of {many} and the secret{doubt}"

    def size(self, public: Public) -> int:
        d = len(Indicators(public))
        k = self.ways - 1
        if self.attributes is not None:
            return len(self._indices(Indicators(public)))
        if self.tuples == "all":
            return int(d**k)
        if k > d:
            raise invalid("ways", f"at most {d + 1}, the {d} attributes and the secret", self.ways)
        return comb(d, k) if self._symmetric else perm(d, k)

    def without(self, unknown: Sequence[str], columns: Outline) -> tuple[Statistic, IntArray] | None:
        """What is left if sets were chosen by name; otherwise None, since all sets depend on every column."""
        sets = self.attributes or ()
        gone = {*unknown}
        kept = [
            index
            for index, names in enumerate(sets)
            if all(isinstance(name, str) and name.partition(" = ")[0] not in gone for name in names)
        ]
        if not kept:
            return None
        return replace(self, attributes=tuple(sets[index] for index in kept)), np.array(kept)

    def sensitivity(self, public: Public) -> tuple[float, float]:
        """Bounds on the L1 and L2 sensitivities of the counts, one person replaced."""
        return float(self.size(public)), sqrt(self.size(public))

    def memory(self, public: Public, *, packed: bool = False) -> int:
        indicators = Indicators(public)
        used = len(indicators)
        if self.attributes is not None:
            indices = self._indices(indicators)
            used = len({index for chosen in indices for index in chosen})
            if _rows_are_cheaper(used, len(indices), self.ways - 1):
                return super().memory(public)
        return min(factor_bytes(used, public.n, packed=packed), super().memory(public))

    def values(self, dataset: Dataset) -> Array:
        return self.values_on(HOST, dataset)

    def values_on(self, device: Device, dataset: Dataset) -> Array:
        counts, _ = self._counts(dataset.public, device, dataset.bits)
        return counts / self.units(dataset.public)

    def equations(self, public: Public, values: Array) -> Equations:
        return self.equations_on(HOST, public, values)

    def equations_on(self, device: Device, public: Public, values: Array) -> Equations:
        known, operator = self._counts(public, device)
        if self.attributes is None:  # all columns are used: people are alike if all their columns are equal
            return Equations(operator, values - known, public.patterns.index)
        indicators = Indicators(public)
        used = sorted({index for indices in self._indices(indicators) for index in indices})
        return Equations(operator, values - known, group_rows(indicators.chosen(used)).index)

    @property
    def _symmetric(self) -> bool:
        f0, f2 = split(self.table)
        return is_symmetric(f0) and is_symmetric(f2)

    def _counts(
        self, public: Public, device: Device, secret: Array | IntArray | None = None
    ) -> tuple[Array, LinearOperator]:
        """The counts Σ f0, which are public, plus Σ f2 s if a secret is given; and the operator of f2."""
        if self.size(public) > _MOST_VALUES:
            raise invalid(
                "ways", f"so small that at most {_MOST_VALUES:,} counts result", f"{self.size(public):,}"
            )
        f0, f2 = split(self.table)
        make = self._rows_of(public)
        operator = OnDevice.move(make(f2), device)
        weights = np.zeros(public.n, dtype=_exact_type(operator))
        if secret is not None:
            weights += secret
        line = line_through(f2, f0)
        counts = np.zeros(operator.shape[0])
        if line is not None:  # f0 = start + slope f2: one product serves both, if one is needed at all
            counts += line[0] * public.n
            weights += line[1]
        else:
            alone = OnDevice.move(make(f0), device)
            counts += alone @ np.ones(public.n, dtype=_exact_type(alone))
        if weights.any():
            counts += operator @ weights
        return counts, operator

    def _rows_of(self, public: Public) -> Callable[[npt.NDArray[Any]], LinearOperator]:
        """A function that gives the operator of any truth table of the attributes, a row per count."""
        indicators = Indicators(public)
        if self.attributes is None:
            order = "all" if self.tuples == "all" else "subsets" if self._symmetric else "ordered"
            return lambda table: _simplest(RowFunction(table, indicators.factor, order))
        indices = np.array(self._indices(indicators), dtype=np.intp)
        used, inside = np.unique(indices, return_inverse=True)
        inside = inside.reshape(indices.shape)
        some = indicators.chosen(used.tolist())
        if _rows_are_cheaper(used.size, *indices.shape):
            _check_entries(len(indices), public.n)
            return lambda table: Dense(row_values(table, np.asarray(some, dtype=np.float32), inside))
        rows = np.ravel_multi_index(tuple(inside.T), (used.size,) * indices.shape[1])
        factor = packed_or_plain(some, used.size, public.n)
        return lambda table: RowSelect(RowFunction(table, factor, "all"), rows)

    def _indices(self, indicators: Indicators) -> list[tuple[int, ...]]:
        """The chosen attribute sets, by index."""
        assert self.attributes is not None
        chosen = [tuple(indicators.position(name) for name in names) for names in self.attributes]
        for names, indices in zip(self.attributes, chosen, strict=True):
            if self.tuples == "distinct" and len(set(indices)) < len(indices):
                raise invalid("attributes", "sets of different attributes", names)
        return chosen


def _simplest(operator: RowFunction) -> LinearOperator:
    """The operator as plain moments, if it is just one product of attributes; else unchanged."""
    top = operator.table.size - 1
    if operator.tuples == "subsets" and operator.k <= 3 and operator.coefficients == {top: 1.0}:
        return Moments(operator.factor, operator.k)
    return operator


def _exact_type(operator: LinearOperator) -> type[np.float32] | type[np.float64]:
    """A number type in which products with zeros, halves and ones are exact."""
    source = operator.source if isinstance(operator, OnDevice) else operator
    return counting_type(operator.shape[1]) if isinstance(source, Moments) else np.float64


def _rows_are_cheaper(used: int, sets: int, k: int) -> bool:
    """Whether the sets of k are so few among all tuples of the used attributes that their rows are formed."""
    return bool(used**k > _WORTH_ALL * sets)


def _check_entries(sets: int, people: int) -> None:
    if sets * people > _MOST_ENTRIES:
        raise invalid(
            "attributes", f"at most {_MOST_ENTRIES:,} entries (sets × people)", f"{sets} × {people}"
        )


def _check_ways(function: str | npt.ArrayLike, ways: int | None) -> int:
    if isinstance(function, str):
        if function not in NAMES:
            raise invalid("function", f"one of {', '.join(map(repr, NAMES))}, or a truth table", function)
        if ways is None:
            raise invalid("ways", "given with a function's name, from 2 to 5", ways)
    else:
        length = as_table(function).size
        if ways is None:
            ways = length.bit_length() - 1
    size = whole("ways", ways, 2, 5, also=", the secret counted")
    if not isinstance(function, str) and length != 2**size:
        raise invalid("function", f"a truth table of {2**size} bits (2**ways)", f"{length} bits")
    return size
