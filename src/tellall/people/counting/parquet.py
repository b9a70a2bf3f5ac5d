"""People in Parquet files, larger than memory or not: DuckDB reads and codes them chunk by chunk."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.core import duck
from tellall.core.duck import literal, pattern_of, quoted
from tellall.core.errors import InvalidInput, invalid
from tellall.core.text import said_safely
from tellall.core.work import Progress
from tellall.linalg.operators.linear_operator import HOST, Array, IntArray
from tellall.people.counting.coding import Coding, StoredSubset, Values
from tellall.people.counting.engine import Engine, changed
from tellall.people.counting.parquet_files import files_of, portions, stamps_of
from tellall.people.counting.sql import code_of, has_code, number_of, select
from tellall.people.counting.tally import CellTally

__all__ = [
    "Parquet",
]

_CHUNK_BYTES = 2**25
_MOST_ROWS = 2**20
_COPIES = 3  # of people in memory: as read, as codes, and what is made of them
_TYPES = {
    "whole": "BOOLEAN TINYINT SMALLINT INTEGER BIGINT HUGEINT UTINYINT USMALLINT UINTEGER UBIGINT UHUGEINT",
    "real": "FLOAT DOUBLE DECIMAL",
    "date": "DATE TIMESTAMP TIMESTAMP_S TIMESTAMP_MS TIMESTAMP_NS",
    "text": "VARCHAR ENUM UUID",
}
_KINDS = {name: kind for kind, names in _TYPES.items() for name in names.split()}
_KINDS["TIMESTAMP WITH TIME ZONE"] = "date"  # of the moment, in UTC
_FEW = frozenset({"BOOLEAN", "TINYINT", "UTINYINT", "SMALLINT", "USMALLINT"})


@dataclass(frozen=True, eq=False)
class Parquet(Engine):
    """A file, a pattern or a folder of Parquet files.

    Attributes
    ----------
    files
        The files, in order.
    memory
        What DuckDB may take, such as "1GiB"; a chunk of people takes about 32 MiB more.
    threads
        How many threads DuckDB uses; None: one per core.

    Notes
    -----
    Rows come in chunks by file and row number, so that DuckDB reads each row group once and nothing waits in
    memory; codes are made inside DuckDB, where a dictionary of values is coded once. A GROUP BY over all
    columns takes about as long if people have few distinct rows (10⁸ people of 20 bits, one thread: 18 s
    against 20 s), but its memory grows with them (10⁷ distinct rows: 1 GiB against 0.3 GiB).

    Counts are refused if the files, their sizes or their times changed since the scan.
    """

    files: tuple[str, ...]
    memory: str = "1GiB"
    threads: int | None = None
    folder: str = field(default="", repr=False)
    source: str | None = field(default=None, repr=False)  # the pattern or folder that the files were found by
    stamps: tuple[tuple[int, ...], ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        if not self.stamps:
            object.__setattr__(self, "stamps", stamps_of(self.files))

    @property
    def source_name(self) -> str:
        return self.files[0] if len(self.files) == 1 else f"{len(self.files)} Parquet files"

    @cached_property
    def types(self) -> Mapping[str, str]:
        return {name: _KINDS.get(kind.split("(")[0], kind.lower()) for name, kind in self._described.items()}

    @cached_property
    def people(self) -> int:
        return sum(self._sizes)

    def about_distinct(self, names: Sequence[str]) -> dict[str, int]:
        asked = [name for name in names if self._described[name].split("(")[0] not in _FEW]
        if not asked:
            return {}
        found = self._ask("SELECT " + ", ".join(f"approx_count_distinct({quoted(name)})" for name in asked))
        return {name: int(values[0]) for name, values in zip(asked, found, strict=True)}

    def longest(self, names: Sequence[str]) -> dict[str, int]:
        asked = [name for name in names if duck.is_text(self._described[name])]
        if not asked:
            return {}
        lengths = [duck.length_of(name, self._described[name]) for name in asked]
        found = self._ask("SELECT " + ", ".join(f"max({length}) AS m{j}" for j, length in enumerate(lengths)))
        return {name: int(np.ma.filled(most, 0)[0]) for name, most in zip(asked, found, strict=True)}

    def values(self, name: str) -> Values:
        values, counts = self._ask(f"SELECT {quoted(name)} AS value, count(*) AS people", "GROUP BY 1")
        return Values(values, np.asarray(counts, dtype=np.int64))

    def ends(self, names: Sequence[str]) -> dict[str, tuple[int, int, int]]:
        asked = [name for name in names if self.types[name] == "whole"]
        if not asked:
            return {}
        found = self._ask(  # files store their least and greatest values: no rows are read
            "SELECT " + ", ".join(f"min({quoted(x)}), max({quoted(x)}), count({quoted(x)})" for x in asked)
        )
        if any(isinstance(value, np.ma.MaskedArray) and value.mask.any() for value in found):
            return {}  # nothing but missing values in some column
        ends = [int(value[0]) for value in found]
        return {
            name: (ends[3 * index], ends[3 * index + 1], self.people - ends[3 * index + 2])
            for index, name in enumerate(asked)
        }

    def gaps(self, name: str) -> tuple[int, int]:
        number = number_of(name, self.types[name])
        gone, infinite = self._ask(
            f"SELECT count(*) FILTER ({number} IS NULL OR isnan({number})), count(*) FILTER (isinf({number}))"
        )
        return int(gone[0]), int(infinite[0])

    def count(
        self,
        codings: Sequence[Coding],
        sets: Sequence[tuple[int, ...]],
        progress: Progress | None,
        part: StoredSubset | None = None,
    ) -> npt.NDArray[np.int64]:
        used = sorted({index for chosen in sets for index in chosen})
        some, inside = [codings[index] for index in used], {old: new for new, old in enumerate(used)}
        inner = [tuple(inside[index] for index in chosen) for chosen in sets]
        tally = CellTally([coding.column.levels for coding in some], inner, self.people)
        needed = [*some, *(() if part is None else part.codings)]
        if not needed:
            tally.add_nameless(self.people)
        for chunk in self._chunks(self._codes_and_numbers(needed, ()), progress) if needed else ():
            codes = _codes_and_numbers(chunk, needed, ())[0]
            if part is not None:
                chosen = part.holds[tuple(codes[len(some) :])]
                codes = [row[chosen] for row in codes[: len(some)]]
            if some:
                tally.add(codes)
            elif part is not None:
                tally.add_nameless(int(chosen.sum()))
        self._check_unchanged()
        return tally.counts()

    def rows(
        self, codings: Sequence[Coding], having: Sequence[tuple[Coding, int]], equal: Mapping[str, object]
    ) -> tuple[list[IntArray], list[Array | None]]:
        numeric = [index for index, coding in enumerate(codings) if coding.above is not None]
        chosen = self._codes_and_numbers(codings, numeric)
        tests = [has_code(coding, code, self.types[coding.name]) for coding, code in having]
        tests += [f"{quoted(name)} = ?" for name in equal]
        where = f"WHERE {' AND '.join(tests)}" if tests else ""
        people = int(self._ask("SELECT count(*)", where, list(equal.values()))[0][0])
        needed, most = 8 * people * len(chosen), HOST.free_memory // _COPIES
        if needed > most:
            why = (
                f"They need {needed >> 20:,} MB; the limit is a third of the free memory, {most >> 20:,} MB."
            )
            raise invalid("load", "people who fit into memory", f"{people:,} people", why)
        listed = self._ask(select(chosen), where, list(equal.values()))
        self._check_unchanged()
        return _codes_and_numbers(listed, codings, numeric)

    def _check_unchanged(self) -> None:
        """Refuses files that changed since they were scanned."""
        try:
            found = self.files if self.source is None else files_of(self.source)[0]
            same = found == self.files and stamps_of(found) == self.stamps
        except (InvalidInput, OSError):
            same = False
        if not same:
            raise changed(self.source_name)

    def _codes_and_numbers(self, codings: Sequence[Coding], numeric: Sequence[int]) -> list[str]:
        """SQL for the codes of all columns and then the numbers of some."""
        named = [codings[index].name for index in numeric]
        return [*map(self._code, codings), *(number_of(name, self.types[name]) for name in named)]

    def _code(self, coding: Coding) -> str:
        boolean = self._described[coding.name] == "BOOLEAN"
        return code_of(coding, self.types[coding.name], boolean=boolean)

    @cached_property
    def _described(self) -> dict[str, str]:
        names, kinds = self._fetch(f"DESCRIBE SELECT * FROM {self._source(self.files)}")[:2]
        return {str(name): str(kind) for name, kind in zip(names, kinds, strict=True)}

    @cached_property
    def _sizes(self) -> tuple[int, ...]:
        sizes = []
        for begin in range(0, len(self.files), 1000):
            names, rows = self._fetch(
                "SELECT file_name, num_rows FROM parquet_file_metadata(?)",
                [[pattern_of(file) for file in self.files[begin : begin + 1000]]],
            )
            known = {str(name): int(count) for name, count in zip(names, rows, strict=True)}
            sizes += [known[file] for file in self.files[begin : begin + 1000]]
        return tuple(sizes)

    def _chunks(self, chosen: Sequence[str], progress: Progress | None) -> Iterator[list[npt.NDArray[Any]]]:
        """The chosen expressions for all people, some of them at a time."""
        most = max(2**14, min(_MOST_ROWS, _CHUNK_BYTES // max(len(chosen), 1)))
        done, total = 0, self.people
        if progress:
            progress(0, total)
        with self._connection() as connection:
            for files, begin, rows in portions(self.files, self._sizes, most):
                query = f"{select(chosen)} FROM {self._portion(files, numbered=begin is not None)}"
                if begin is not None:
                    query += f" WHERE file_row_number >= {begin} AND file_row_number < {begin + rows}"
                chunk = list(connection.execute(query).fetchnumpy().values())
                if len(chunk[0]) != rows:
                    raise changed(self.source_name)
                yield chunk
                done += rows
                if progress:
                    progress(done, total)

    def _ask(self, select: str, rest: str = "", parameters: Sequence[object] = ()) -> list[npt.NDArray[Any]]:
        return self._fetch(f"{select} FROM {self._source(self.files)} {rest}", parameters)

    def _fetch(self, query: str, parameters: Sequence[object] = ()) -> list[npt.NDArray[Any]]:
        with self._connection() as connection:
            return list(connection.execute(query, list(parameters)).fetchnumpy().values())

    @contextmanager
    def _connection(self) -> Iterator[Any]:
        """A connection with a memory limit; DuckDB's errors become ours."""
        import duckdb

        threads = {} if self.threads is None else {"threads": self.threads}
        try:
            with duck.connect(memory_limit=self.memory, **threads) as connection:
                yield connection
        except duckdb.OutOfMemoryException:
            why = f"A part of it needs more than DuckDB may take: memory is {self.memory}."
            raise invalid("source", "Parquet files that fit into memory", self.source_name, why) from None
        except duckdb.Error as error:
            why = f"DuckDB failed with {said_safely(error)}."
            raise invalid("source", "Parquet files that can be read", self.source_name, why) from None

    def _source(self, files: Sequence[str], *, numbered: bool = False) -> str:
        listed = ", ".join(literal(pattern_of(file)) for file in files)
        options = ", file_row_number = true" if numbered else ""
        if self._keys:
            options += ", hive_partitioning = true"
            # one file alone would suggest other types than all of them together
            if "_described" in self.__dict__:
                kinds = ", ".join(f"{quoted(key)}: {literal(self._described[key])}" for key in self._keys)
                options += f", hive_types = {{{kinds}}}"
        return f"read_parquet([{listed}]{options}, union_by_name = {str(len(files) > 1).lower()})"

    def _portion(self, files: Sequence[str], *, numbered: bool) -> str:
        """Some of the files with the columns and types of all; a missing column is NULL."""
        source = self._source(files, numbered=numbered)
        if len(self.files) == 1:
            return source
        countable = {name: kind for name, kind in self._described.items() if self.types[name] in _TYPES}
        nobody = ", ".join(f"NULL::{kind} AS {quoted(name)}" for name, kind in countable.items())
        return f"(SELECT * FROM {source} UNION ALL BY NAME SELECT {nobody} WHERE false)"

    @cached_property
    def _keys(self) -> tuple[str, ...]:
        """The columns given by the names of folders: ``county=Kent/part-0.parquet``."""
        inside = Path(self.files[0]).relative_to(self.folder).parts[:-1] if self.folder else ()
        return tuple(part.split("=", 1)[0] for part in inside if "=" in part)


def _codes_and_numbers(
    rows: Sequence[npt.NDArray[np.generic]], codings: Sequence[Coding], numeric: Sequence[int]
) -> tuple[list[IntArray], list[Array | None]]:
    """The codes of each column, and its numbers or None, from rows in the order of the SQL."""
    codes = [_known(row, coding.name) for row, coding in zip(rows, codings, strict=False)]
    numbers: list[npt.NDArray[np.floating[Any]] | None] = [None] * len(codings)
    for index, row in zip(numeric, rows[len(codings) :], strict=True):
        numbers[index] = _with_nan(row)
    return codes, numbers


def _known(row: npt.NDArray[Any], name: str) -> IntArray:
    """The codes; refuses people without one, whose value the scan did not see."""
    if isinstance(row, np.ma.MaskedArray):
        if np.ma.getmaskarray(row).any():
            raise changed(f"column '{name}'")
        return row.data
    return row


def _with_nan(row: npt.NDArray[np.generic]) -> Array:
    plain = row.astype(np.float64)
    return plain.filled(np.nan) if isinstance(plain, np.ma.MaskedArray) else plain
