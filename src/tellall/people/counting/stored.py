"""Stored: people who stay where they are, on disk or on a cluster; only counts come out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from tellall.core.checks import whole
from tellall.core.errors import InvalidInput, invalid
from tellall.core.not_done import NotDone
from tellall.core.work import Progress
from tellall.people.codes import Column
from tellall.people.columns import LARGEST_EXACT, Bins, why_left_out
from tellall.people.counting.coding import Coding, StoredSubset, Values, code_cut, code_secret, code_values
from tellall.people.counting.engine import LONGEST_TEXT, MOST_VALUES, Engine
from tellall.people.counting.tally import Counts, with_secret
from tellall.people.dataset import Dataset, Outline, Public, bins_by_column, choose_columns, unknown_name

__all__ = [
    "Stored",
    "scan",
]

_SPARK = "pip install 'tellall[spark]' (and Java 17)"


@dataclass(frozen=True)
class StoredColumns(Outline):
    """The outline of people in a store."""

    columns: tuple[Column, ...]
    people: int
    left_out: tuple[NotDone, ...] = ()

    @property
    def n(self) -> int:
        """How many people."""
        return self.people


@dataclass(frozen=True, eq=False, repr=False)
class Stored:
    """People in a store, seen through their tables: made by :func:`scan`.

    Attributes
    ----------
    public
        The public columns with all their categories, and how many people there are.
    secret
        How the secret is coded, or None.
    meaning
        What the codes of the secret stand for.
    """

    engine: Engine
    public: StoredColumns
    codings: tuple[Coding, ...]
    secret: Coding | None = None
    secret_name: str = "secret"
    meaning: tuple[str, ...] = ("0", "1")
    progress: Progress | None = field(default=None)
    assumed: str = ""  # as in a Dataset; these files are not text
    part: StoredSubset | None = None  # the people that tables are about; None: everybody

    @property
    def n(self) -> int:
        """How many people."""
        return self.public.n

    @property
    def levels(self) -> int:
        """How many values the secret has."""
        return len(self.meaning)

    def tabulate(
        self, sets: Sequence[tuple[int, ...]], *, secret: bool, progress: Progress | None = None
    ) -> Counts:
        """The number of people in each cell of tables; see :meth:`Dataset.tabulate`."""
        _, sets = with_secret(self.public.levels, sets, self.levels if secret else 0)
        last = [self.secret] if secret and self.secret is not None else []
        return self.engine.count([*self.codings, *last], sets, progress or self.progress, self.part)

    def only(self, part: StoredSubset) -> Stored:
        """Some of these people, seen through their tables alone."""
        people = int(self.engine.count([], [()], None, part)[0])
        counted = replace(part, people=people)
        return replace(self, public=replace(self.public, people=people), part=counted)

    def areas(self, name: str) -> Iterator[tuple[str, Dataset]]:
        """Yields each category of a public column that two people or more have, with its people in memory."""
        coding = self.codings[self.public.position(name)]
        people = self.engine.count([coding], [(0,)], None)
        for code, label in enumerate(coding.column.labels):
            if people[code] >= 2:
                yield label, self._loaded([(coding, code)], {})

    def load(self, **equal: Any) -> Dataset:
        """The people whose columns equal these values, in memory, with all the columns and categories.

        ``people.load(county="Kent")`` is one area of a census, to be attacked; ``people.load()``, everybody.
        A category of a public column is given by its label (``age="(30, 45]"``).
        """
        having, other = [], {}
        for name, value in equal.items():
            if name in self.public.names:
                coding = self.codings[self.public.position(name)]
                text = str(int(value)) if isinstance(value, bool | np.bool_) else str(value)
                if text not in coding.column.labels:
                    raise invalid(name, f"one of the {coding.column.levels} categories of the column", value)
                having.append((coding, coding.column.labels.index(text)))
            elif name in self.engine.types:
                other[name] = value
            else:
                raise unknown_name("load", name, list(self.engine.types))
        return self._loaded(having, other)

    def _loaded(self, having: Sequence[tuple[Coding, int]], equal: Mapping[str, object]) -> Dataset:
        if self.part is not None:
            raise invalid("load", "of everybody in the store", "of a part", "Load everybody, then take some.")
        codings = [*self.codings, *([] if self.secret is None else [self.secret])]
        codes, numbers = self.engine.rows(codings, having, equal)
        d = len(self.codings)
        if len(codes[0]) < 2:
            raise invalid("load", "values that two people or more have", f"{len(codes[0])} people")
        view = Public(self.public.columns, np.stack(codes[:d]), tuple(numbers[:d]), self.public.left_out)
        if self.secret is None:
            return Dataset(view)
        bits = codes[d].astype(np.int8 if self.levels == 2 else np.int16)
        return Dataset(view, bits, self.secret_name, self.meaning)

    def __repr__(self) -> str:
        listed = ", ".join(f"{column.name} ({column.levels})" for column in self.public.columns[:12])
        more = f", ... {len(self.codings)} in all" if len(self.codings) > 12 else ""
        lines = [f"{self.n:,} people in {self.engine.source_name}"]
        if self.secret is not None:
            lines.append(f"  secret {self.secret_name}: {', '.join(self.meaning)}")
        lines.append(f"  public {listed}{more}")
        lines += [f"  left out {reason}" for reason in self.public.left_out]
        return "\n".join(lines)


def scan(
    source: object,
    secret: str | None = None,
    public: Iterable[str] | None = None,
    bins: Bins | Mapping[str, Bins] | None = None,
    *,
    kind: str | None = None,
    memory: str = "1GiB",
    threads: int | None = None,
    progress: Progress | None = None,
) -> Stored:
    """People in Parquet files or behind Ibis, for tables of data larger than memory.

    Parameters
    ----------
    source
        A Parquet file, a pattern (``"people/*.parquet"``) or a folder (with ``county=Kent`` folders inside
        as columns); or an Ibis table, for people who live on Spark.
    secret, public, bins, kind
        As for `read`.
    memory, threads
        What DuckDB may use, for files.
    progress
        Called with (people counted, people in all) during counts.

    Notes
    -----
    Columns, categories and cut points are those that `read` would find, so that a release made
    from the store and one made in memory are the same. One pass finds the values of each column, a second
    counts. Numbers with more than a million distinct values need cut points given in ``bins``.

    People who changed after the scan are noticed and refused: in files, by the number, sizes and times of the
    files; behind Ibis, by the number of people and by new categories. Behind Ibis, new numbers in a column
    that is cut, and people who moved between known categories, are counted as they are then.

    Examples
    --------
    >>> import duckdb, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> make = "SELECT i % 3 AS age, i % 2 AS ill FROM range(12) AS people(i)"
    >>> _ = duckdb.execute(f"COPY ({make}) TO '{folder.name}/people.parquet'")
    >>> people = scan(f"{folder.name}/*.parquet", secret="ill")
    >>> people.n, people.public.columns[0].labels, people.meaning
    (12, ('0', '1', '2'), ('0', '1'))
    >>> folder.cleanup()
    """
    engine = _engine(source, memory, threads)
    secret = None if secret is None else str(secret)
    chosen = choose_columns(list(engine.types), secret, public)
    if engine.people < 2 or not chosen:
        size = f"{engine.people} × {len(chosen)}"
        raise invalid("table", "two people or more and one public column or more", size)
    cuts = bins_by_column(bins, chosen, lambda name: engine.types[name] != "text")
    wanted = chosen if secret is None else [*chosen, secret]
    two = _two_values(engine, wanted)
    _refuse_uncountable(engine, [name for name in wanted if name not in two], cuts)
    codings, left_out = [], []
    for name in chosen:
        coding, constant = _coding(engine, name, cuts.get(name), two.get(name))
        if constant:
            left_out.append(why_left_out(coding.column))
        else:
            codings.append(coding)
    if not codings:
        raise invalid("public", "columns that differ between people", "constant columns only")
    outline = StoredColumns(tuple(coding.column for coding in codings), engine.people, tuple(left_out))
    if secret is None:
        return Stored(engine, outline, tuple(codings), progress=progress)
    hidden, meaning = code_secret(secret, two.get(secret) or engine.values(secret), kind)
    return Stored(engine, outline, tuple(codings), hidden, secret, meaning, progress)


def _engine(source: object, memory: str, threads: int | None) -> Engine:
    if isinstance(source, str | Path):
        from tellall.people.counting.parquet import Parquet
        from tellall.people.counting.parquet_files import files_of

        if threads is not None:
            whole("threads", threads)
        files, folder = files_of(source)
        return Parquet(files, memory, threads, folder, str(source))
    if type(source).__module__.split(".")[0] == "ibis":
        from tellall.people.counting.spark import BehindIbis

        return BehindIbis(source)
    if type(source).__module__.split(".")[0] == "pyspark":
        if find_spec("ibis") is None:
            raise InvalidInput(f"Counting on Spark needs Ibis. Install it with: {_SPARK}")
        from tellall.people.counting.spark import from_spark

        return from_spark(source)
    raise invalid(
        "source",
        "the path of Parquet files, an Ibis table or a Spark frame",
        type(source).__name__,
        "For a frame in memory use Dataset.from_frame.",
    )


def _refuse_uncountable(engine: Engine, names: list[str], bins: Mapping[str, Bins | None]) -> None:
    """Refuses columns that cannot be tabulated, before anything is counted."""
    for name in names:
        if engine.types[name] not in ("whole", "real", "date", "text"):
            raise invalid(f"column '{name}'", "numbers, dates or text", engine.types[name], "Leave it out.")
    for name, most in engine.longest([name for name in names if engine.types[name] == "text"]).items():
        if most > LONGEST_TEXT:
            rule = f"texts of at most {LONGEST_TEXT:,} bytes"
            raise invalid(
                f"column '{name}'", rule, f"{most:,} bytes", "Leave it out: list the others in public."
            )
    open_ended = [name for name in names if not _points(bins.get(name))]
    for name, about in engine.about_distinct(open_ended).items():
        if about > MOST_VALUES:
            number = engine.types[name] != "text"
            advice = "Give its cut points in bins." if number else "Leave it out: list the others in public."
            raise invalid(f"column '{name}'", "of at most a million distinct values", f"{about:,}", advice)


def _points(bins: Bins | None) -> bool:
    return bins is not None and not isinstance(bins, int | np.integer)


def _two_values(engine: Engine, names: list[str]) -> dict[str, Values]:
    """The values of the columns whose least and greatest whole numbers are equal or neighbours.

    How many people have each value is not known and not needed: so few values are not cut at quantiles.
    """
    found = {}
    for name, (least, greatest, missing) in engine.ends(names).items():
        if greatest - least <= 1 and least >= -LARGEST_EXACT and greatest <= LARGEST_EXACT:
            present = [float(least), *([float(greatest)] if greatest > least else [])]
            absent = [np.nan] if missing else []
            counts = np.array([1] * len(present) + [missing] * len(absent), dtype=np.int64)
            found[name] = Values(np.array(present + absent), counts)
    return found


def _coding(engine: Engine, name: str, bins: Bins | None, known: Values | None) -> tuple[Coding, str]:
    """A column's coding, and the label of its category if all people have the same one; else empty."""
    if known is not None and not _points(bins):
        coding = code_values(name, known, bins)
        return coding, coding.column.labels[0] if coding.column.levels == 1 else ""
    if bins is None or not _points(bins) or engine.types[name] == "text":
        found = engine.values(name)
        coding = code_values(name, found, bins)
    else:
        gone, infinite = engine.gaps(name)
        if infinite:
            raise invalid(f"column '{name}'", "finite numbers or missing", "an infinite value")
        coding = code_cut(name, bins, gaps=gone > 0, dates=engine.types[name] == "date")
    if coding.column.cuts is None and coding.column.levels > 1:
        return coding, ""
    people = engine.count([coding], [(0,)], None)
    present = np.flatnonzero(people)
    return coding, coding.column.labels[int(present[0])] if present.size == 1 else ""
