"""rows_from_tables: which rows of data must be behind published tables, from the tables alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import Annotated, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tellall.attack.prove.counting import Count, count_rows
from tellall.attack.prove.likely import maximum_entropy, random_starts, share_of_solutions
from tellall.attack.prove.proof import EFFORT
from tellall.attack.prove.proof_reasons import contradicting_rows
from tellall.attack.prove.ranges import Ranges, find_ranges
from tellall.core.checks import is_whole, whole
from tellall.core.errors import invalid
from tellall.core.records import ENDLESS, Meaning, Record
from tellall.evidence.count_tables import SECRET, CountTable, tables_in
from tellall.evidence.joint import Joint, every_gap, join_tables, refine_columns
from tellall.evidence.undo import not_possible_in_words
from tellall.linalg.operators.linear_operator import Array, IntArray
from tellall.linalg.solvers.solution import Status
from tellall.people.bands import Bands
from tellall.people.dataset import Dataset, Public
from tellall.people.matching import code_people
from tellall.protections.protection import Rng, as_rng, noise_of
from tellall.release.release import Release

__all__ = [
    "DRAWS",
    "CertainRow",
    "LikelyRow",
    "PossibleRows",
    "PublishedCell",
    "RowScore",
    "join_releases",
    "rows_from_tables",
]

DRAWS = 100  # random solutions
_STARTS = 32  # of the search for ranges
_MOST_LISTED = 100_000  # rows that are ranked
_FIRST = (1, 3, 10, 30, 100, 300, 1000)


class CertainRow(NamedTuple):
    """A row that is in every solution, and the least number of times it occurs."""

    row: tuple[int, ...]
    least: int


class LikelyRow(NamedTuple):
    """A row, the share of random solutions that hold it, and its chance in the maximum-entropy model."""

    row: tuple[int, ...]
    share: float
    baseline: float


@dataclass(frozen=True)
class PublishedCell(Record):
    """A published cell and the counts that it leaves possible."""

    table: str
    cell: Annotated[dict[str, str], Meaning("Its value of each column.")]
    low: Annotated[float, Meaning("The least count.", unit="people")]
    high: Annotated[float, Meaning("The largest count.", unit="people"), ENDLESS]


@dataclass(frozen=True)
class RowScore:
    """How many of the rows found are in the true data.

    Attributes
    ----------
    certain, wrong
        How many rows were said to be certain, and how many of them occur less often than said.
    first
        For some k: how many of the k likeliest rows (or of all, if there are fewer) are in the data, ranked
        by share and by the baseline.
    present
        How many different rows are in the data.
    """

    certain: int
    wrong: int
    first: dict[int, tuple[int, int]]
    present: int


@dataclass(frozen=True, eq=False, repr=False)
class PossibleRows:
    """How often each row of the joint domain can be behind the tables.

    Attributes
    ----------
    columns, labels
        The columns of all tables together, and the values of each; rows are given by their indices. The
        values of a column that tables have in different bands are its common refinement.
    missing
        The columns that people may have no value of; that is then a value of its own.
    rows
        The joint domain in C order, the last column changing fastest.
    lower, upper
        The least and the largest number of times that each row can occur; ``upper`` is infinite if nothing
        bounds it.
    certain
        Rows in every solution, with their least count.
    solution
        One solution, a count per row; None if none was found.
    unique
        Whether that is the only solution.
    likely
        Rows that can occur, the likeliest first; see `share_of_solutions`.
    open
        Rows whose bounds may not be reached, since the steps were used up.
    status
        "solved": every bound is reached. "not converged": some are ``open``. "contradictory": no rows have
        all these tables, so nothing is certain; ``contradiction`` names cells that cannot all be right.
    """

    joint: Joint
    found: Ranges
    draws: int = DRAWS
    seed: np.random.SeedSequence | None = field(default=None)

    @property
    def columns(self) -> tuple[str, ...]:
        return self.joint.columns

    @property
    def labels(self) -> tuple[tuple[str, ...], ...]:
        return self.joint.labels

    @property
    def missing(self) -> tuple[str, ...]:
        return self.joint.missing

    @property
    def rows(self) -> IntArray:
        return self.joint.rows

    @property
    def lower(self) -> Array:
        return self.found.lower

    @property
    def upper(self) -> Array:
        return self.found.upper

    @property
    def open(self) -> npt.NDArray[np.bool_]:
        return self.found.open

    @property
    def certain(self) -> tuple[CertainRow, ...]:
        at = np.flatnonzero(self.lower > 0)
        return tuple(
            CertainRow(tuple(row), int(least))
            for row, least in zip(self.rows[at].tolist(), self.lower[at], strict=True)
        )

    @property
    def solution(self) -> Array | None:
        return self.found.solution

    @property
    def unique(self) -> bool:
        return self.solution is not None and bool((self.lower == self.upper).all())

    @property
    def status(self) -> Status:
        if self.found.empty:
            unlike = [
                f"{table.describe()}: {said}"
                for table in self.joint.tables
                if (said := not_possible_in_words(table.counts, table.protections, table.cell))
            ]
            wrong = "no rows have all these tables; one of them must be wrong"
            return Status("contradictory", "; ".join(unlike) or wrong)
        left = int(self.open.sum())
        if left:
            return Status("not converged", f"{left:,} rows were left open; raise proof_effort")
        if not all(noise_of(table.protections).known for table in self.joint.tables):
            unused = "the law of the errors of a table is unknown, so it was not used"
            return Status("uncalibrated", unused, ("unknown-law",))
        return Status("solved")

    @cached_property
    def solutions(self) -> Count | None:
        """How many solutions there are; None if rows can occur any number of times."""
        return count_rows(self.found)

    @cached_property
    def contradiction(self) -> tuple[PublishedCell, ...]:
        """Cells that cannot all be right, none of them superfluous; empty if none were found."""
        if not self.found.empty:
            return ()
        certain, tables = self.joint.certain, self.joint.tables
        ends = np.concatenate([certain.low, certain.high])
        upper = np.full(self.joint.upper.size, ends[np.isfinite(ends)].max(initial=1.0))
        cells = []
        for row in contradicting_rows(certain, upper).tolist():
            number, cell = certain.origin[row].tolist()
            name: str = "people"
            values: dict[str, str] = {}
            if number >= 0:
                name = tables[number].describe()
                values = tables[number].cell(cell) if cell >= 0 else {}
            cells.append(PublishedCell(name, values, float(certain.low[row]), float(certain.high[row])))
        return tuple(cells)

    @cached_property
    def _ranked(self) -> tuple[IntArray, Array, Array]:
        """Rows that can occur, in order; shares and model chances of all rows."""
        model = maximum_entropy(self.joint)
        rng = np.random.default_rng(self.seed)
        share = share_of_solutions(self.joint, self.found, model, self.draws, rng)
        baseline = -np.expm1(-model)
        possible = np.flatnonzero(self.upper > 0)
        order = np.lexsort((possible, -baseline[possible], -share[possible], self.lower[possible] <= 0))
        return possible[order], share, baseline

    @property
    def likely(self) -> tuple[LikelyRow, ...]:
        if self.found.empty:
            return ()
        at, share, baseline = self._ranked
        at = at[:_MOST_LISTED]
        listed = zip(self.rows[at].tolist(), share[at].tolist(), baseline[at].tolist(), strict=True)
        return tuple(LikelyRow(tuple(row), *chances) for row, *chances in listed)

    def named(self, row: Sequence[int]) -> dict[str, str]:
        """The value of each column in a row."""
        return {name: labels[code] for name, labels, code in zip(self.columns, self.labels, row, strict=True)}

    def score(self, truth: Dataset | Public | npt.ArrayLike) -> RowScore:
        """Returns how many of the certain and of the likeliest rows are in the true data.

        ``truth`` is the people, or their rows of codes in the order of ``columns``.
        """
        counts = np.bincount(self._codes(truth), minlength=self.lower.size)
        certain = self.lower > 0
        wrong = int((counts < self.lower).sum())
        present = counts > 0
        first: dict[int, tuple[int, int]] = {}
        if not self.found.empty:
            order, _, baseline = self._ranked
            by_model = order[np.lexsort((order, -baseline[order]))]
            for k in _FIRST:
                first[k] = int(present[order[:k]].sum()), int(present[by_model[:k]].sum())
        return RowScore(int(certain.sum()), wrong, first, int(present.sum()))

    def _codes(self, truth: Dataset | Public | npt.ArrayLike) -> npt.NDArray[np.intp]:
        """Returns the index of each person's row."""
        if isinstance(truth, Dataset | Public):
            public = truth.public if isinstance(truth, Dataset) else truth
            secret = truth.secret if isinstance(truth, Dataset) else None
            columns = []
            for at, name in enumerate(self.columns):
                if name in public.names:
                    columns.append(self._values_of(public, at))
                elif name == SECRET and secret is not None:
                    columns.append(np.asarray(secret))
                else:
                    raise invalid("truth", f"people with the column '{name}'", ", ".join(public.names))
            codes = np.array(columns).T.reshape(-1, len(self.columns))
        else:
            codes = np.asarray(truth)
        shape = self.joint.shape
        if codes.ndim != 2 or codes.shape[1] != len(shape) or codes.dtype.kind not in "iub":
            raise invalid("truth", f"rows of {len(shape)} codes", f"shape {codes.shape}")
        if ((codes < 0) | (codes >= np.array(shape))).any():
            raise invalid("truth", "codes of values that the columns have", "others")
        return np.asarray(np.ravel_multi_index(tuple(codes.astype(np.intp).T), shape))

    def _values_of(self, public: Public, at: int) -> npt.NDArray[Any]:
        """Returns the index of each person's value of a column."""
        refined, index = self.joint.refined[at], public.names.index(self.columns[at])
        if refined.labels == tuple(map(str, range(public.levels[index]))):  # the codes of a release
            return np.asarray(public.codes[index])
        named = [label for k, label in enumerate(refined.labels) if k != refined.missing]
        places = np.array([k for k in range(len(refined.labels)) if k != refined.missing])
        codes = code_people(public, index, named, "truth")
        gap = -1 if refined.missing is None else refined.missing
        return np.where(codes < 0, gap, places[codes])

    def __repr__(self) -> str:
        if self.found.empty:
            return f"PossibleRows of {prod(self.joint.shape):,}: contradictory"
        people = int(self.lower.sum())
        return (
            f"PossibleRows of {self.lower.size:,}: {int((self.upper > 0).sum()):,} can occur, "
            f"{int((self.lower > 0).sum()):,} are certain ({people:,} people); {self.status.word}"
        )


def rows_from_tables(
    releases: Release | CountTable | Sequence[Release | CountTable],
    *,
    people: int | str | None = "published",
    proof_effort: int = EFFORT,
    draws: int = DRAWS,
    rng: Rng = 0,
    bands: Bands | Sequence[Bands] = (),
    may_be_missing: Sequence[str] | None = None,
    interruptible: bool = True,
) -> PossibleRows:
    """Returns how often each row can be in the data behind published tables, from the tables alone.

    Parameters
    ----------
    releases
        Releases of `Tables` or `Marginals`, or `CountTable`s, about the same people. Columns are matched by
        name; the tabulated column of Marginals is called "secret". Columns that are in no table are left
        out. A `CountTable` with ``where`` is about some of these people.
    people
        How many people there are: a number, "published" for the number that the releases state, or None for
        an unknown number.
    proof_effort
        Effort of the search for bounds, in thousandths of CP-SAT's deterministic time; 0 for bounds alone.
    draws
        How many random solutions ``likely`` counts.
    rng
        Seed of these draws. Bounds do not depend on it.
    bands
        What the values of columns mean, where labels such as "20-29" or "80+" do not say it.
    may_be_missing
        Columns that people may have no value of. A table leaves out those who have none of a column of its
        own. By default that is inferred from totals that differ, and from tables that contradict each other
        if nobody is left out; [] if everybody has all values.

    Notes
    -----
    A column may have different bands in different tables, in any order and overlapping: rows have its common
    refinement (`refine`), and people outside the bands of a table are in none of its cells.

    With x_r the number of people whose row is r, a cell c of a table says that Σ_{r in c} x_r is its count,
    or one of the counts that its protections leave possible. Bounds are the exact extremes of x_r over all
    whole-numbered solutions (`find_ranges`). They use only what is certain: values with unbounded noise say
    nothing for sure, and are used only for ``likely``.

    Examples
    --------
    >>> from tellall.release.release import publish
    >>> from tellall.statistics.marginals import Tables
    >>> people = Dataset.from_arrays([[0, 0, 1], [0, 1, 0], [1, 1, 0], [1, 0, 1], [1, 1, 1]])
    >>> found = rows_from_tables(publish(people, Tables(2)))
    >>> found
    PossibleRows of 8: 5 can occur, 5 are certain (5 people); solved
    >>> found.unique, found.certain[0]
    (True, CertainRow(row=(0, 0, 1), least=1))
    """
    effort, draws = whole("proof_effort", proof_effort, 0), whole("draws", draws)
    told = [bands] if isinstance(bands, Bands) else list(bands)
    joint = join_releases(releases, people, told, may_be_missing)
    found = _ranges(joint, effort, interruptible=interruptible)
    if found.empty and may_be_missing is None and (gaps := _other_gaps(joint, told)):
        wider = join_releases(releases, people, told, gaps)
        again = _ranges(wider, effort, interruptible=interruptible)
        if not again.empty:
            joint, found = wider, again
    return PossibleRows(joint, found, draws, _seed(rng))


def _ranges(joint: Joint, effort: int, *, interruptible: bool) -> Ranges:
    starts = random_starts(maximum_entropy(joint), _STARTS, np.random.default_rng(0))
    return find_ranges(joint.certain, joint.upper, effort, starts, interruptible=interruptible)


def _other_gaps(joint: Joint, bands: Sequence[Bands]) -> tuple[str, ...]:
    """Returns the columns that people may have no value of, if these are more than was allowed for."""
    gaps = every_gap(joint.tables, joint.people, refine_columns(joint.tables, joint.columns, bands))
    return gaps if set(gaps) - set(joint.missing) else ()


def join_releases(
    releases: Release | CountTable | Sequence[Release | CountTable],
    people: int | str | None,
    bands: Sequence[Bands] = (),
    may_be_missing: Sequence[str] | None = None,
) -> Joint:
    """Returns what releases and tables say together about the rows of their joint domain."""
    given = [releases] if isinstance(releases, Release | CountTable) else list(releases)
    tables: list[CountTable] = []
    order: list[str] = []
    for one in given:
        if not isinstance(one, Release | CountTable):
            raise invalid("releases", "releases of tables, or CountTables", type(one).__name__)
        order += one.columns
        tables += tables_in(one) if isinstance(one, Release) else [one]
    if not any(table.columns for table in tables):
        raise invalid("releases", "one table with columns, or more", "none")
    if not all(isinstance(each, Bands) for each in bands):
        raise invalid("bands", "Bands, or a list of them", ", ".join(type(each).__name__ for each in bands))
    if isinstance(may_be_missing, str):
        raise invalid("may_be_missing", "a list of columns", may_be_missing)
    return join_tables(tables, _people(tables, people), order, bands, may_be_missing)


def _people(tables: Sequence[CountTable], people: int | str | None) -> int | None:
    if people is None or (is_whole(people) and people >= 0):
        return None if people is None else int(people)
    if people != "published":
        raise invalid("people", '"published", a whole number of zero or more, or None', people)
    said = {table.people for table in tables if table.people is not None and table.where is None}
    if len(said) > 1:
        advice = "Give people= their number, or None."
        raise invalid("releases", "about the same people", f"{min(said):,} and {max(said):,} people", advice)
    return said.pop() if said else None


def _seed(rng: Rng) -> np.random.SeedSequence:
    """Returns a seed, so that every reading of the answer gives the same draws."""
    return np.random.SeedSequence(as_rng(rng).integers(0, 2**63).item())
