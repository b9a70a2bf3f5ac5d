"""rows_of_files: what the tables in some files say on their own about the rows behind them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from tellall.attack.prove.proof import EFFORT
from tellall.attack.prove.row_areas import AreaRows, rows_by_area
from tellall.attack.prove.rows import DRAWS, PublishedCell, join_releases
from tellall.core.errors import invalid
from tellall.core.jobs import Workers
from tellall.core.made import Made
from tellall.core.records import ALWAYS, NOT_WRITTEN, Meaning, Record
from tellall.core.work import Progress
from tellall.evidence.count_tables import CountTable
from tellall.evidence.joint import Joint
from tellall.outputs.table_files import read_count_tables
from tellall.people.bands import Bands
from tellall.protections.protection import Protection, as_protections
from tellall.release.release import Release

__all__ = ["AreaFound", "RowsFound", "rows_of_files"]

Tables = list[Release | CountTable]


@dataclass(frozen=True)
class JointColumn(Record):
    """A column of the joint domain, and how many values it has."""

    name: str
    values: Annotated[int, Meaning(least=1)]


@dataclass(frozen=True)
class JointTable(Record):
    """A published table."""

    columns: tuple[str, ...]
    cells: Annotated[int, Meaning(least=1)]


@dataclass(frozen=True)
class AreaFound(Record):
    """What the tables of one area say about its rows, in counts."""

    name: str
    status: Annotated[str, Meaning("How the search ended.")]
    status_word: Annotated[str, Meaning("The same in one word.")]
    status_advice: Annotated[str, Meaning("What to do about it.")]
    status_codes: Annotated[tuple[str, ...], Meaning("Why it is not settled, by codes.")]
    settled: Annotated[bool, Meaning("Whether every bound is reached.")]
    people: Annotated[int, Meaning(least=0)] | None
    possible: Annotated[int, Meaning("Rows that can occur.", least=0)]
    certain: Annotated[int, Meaning("Rows in every solution.", least=0)]
    certain_people: Annotated[int, Meaning("The least number of people in these rows.", "people", 0)]
    unique: Annotated[bool, Meaning("Whether there is exactly one solution.")]
    solutions: Annotated[str, Meaning("How many there are, in words, if they were counted.")]
    open: Annotated[int, Meaning("Rows whose bounds may not be reached.", least=0)]
    contradiction: Annotated[tuple[PublishedCell, ...], Meaning("Cells that cannot all be right.")]
    steps: Annotated[int, Meaning(least=0)]
    missing: Annotated[tuple[str, ...], Meaning("Columns that people may have no value of.")]

    @classmethod
    def of(cls, area: AreaRows) -> AreaFound:
        """The counts of an area, without its rows."""
        return cls(
            name=area.name,
            status=str(area.status),
            status_word=area.status.word,
            status_advice=area.status.advice,
            status_codes=area.status.why,
            settled=area.settled,
            people=area.people,
            possible=area.possible,
            certain=len(area.certain),
            certain_people=area.certain_people,
            unique=area.unique,
            solutions=area.solutions,
            open=area.open,
            contradiction=area.contradiction,
            steps=area.steps,
            missing=area.missing,
        )

    @property
    def contradicts(self) -> bool:
        """Whether its tables cannot all be right."""
        return bool(self.contradiction) or "contradictory" in self.status_codes


@dataclass(frozen=True)
class NamedCertain(Record):
    """A row that is in every solution, by its values, and how often at least."""

    row: dict[str, str]
    least: int


@dataclass(frozen=True)
class NamedLikely(Record):
    """A row by its values, its share of the solutions, and what a model without correlations expects."""

    row: dict[str, str]
    share: float
    baseline: float


@dataclass(frozen=True)
class NamedArea(Record):
    """The rows of one area."""

    name: str
    certain: tuple[NamedCertain, ...] = ()
    likely: tuple[NamedLikely, ...] = ()


@dataclass(frozen=True)
class NamedRows(Record):
    """The rows themselves, which may name people."""

    areas: tuple[NamedArea, ...]


@dataclass(frozen=True, kw_only=True)
class RowsFound(Made):
    """What published tables say on their own, without any row."""

    document: Annotated[Literal["rows"], ALWAYS] = "rows"
    seed: Annotated[int, Meaning(least=0)]
    files: tuple[str, ...]
    by: Annotated[str | None, Meaning("The column whose values are the areas.")]
    columns: tuple[JointColumn, ...]
    tables: tuple[JointTable, ...]
    domain: Annotated[int, Meaning("Rows of the joint domain.", least=1)]
    areas: tuple[AreaFound, ...]
    people: Annotated[int, Meaning(least=0)]
    certain_people: Annotated[int, Meaning(least=0)]
    named: Annotated[NamedRows | None, Meaning("The rows, if they were asked for."), NOT_WRITTEN] = None

    @property
    def settled(self) -> bool:
        """Whether every bound of every area is reached."""
        return all(area.settled for area in self.areas)

    @property
    def unsettled(self) -> int:
        """In how many areas some bounds may not be reached."""
        return sum(not area.settled for area in self.areas)

    @property
    def missing(self) -> tuple[str, ...]:
        """Columns that people of some area may have no value of."""
        return tuple(dict.fromkeys(name for area in self.areas for name in area.missing))


def rows_of_files(
    paths: Sequence[str | Path],
    protect: Protection | Sequence[Protection] | None = None,
    *,
    by: str | None = None,
    count: str | None = None,
    absent: str = "zero",
    people: int | None = None,
    bands: Sequence[Bands] = (),
    may_be_missing: Sequence[str] | None = None,
    proof_effort: int = EFFORT,
    draws: int = DRAWS,
    named: bool = False,
    first: int = 100,
    rng: int = 0,
    workers: int | Workers = 1,
    work: str | Path | None = None,
    progress: Progress | None = None,
) -> RowsFound:
    """What the tables in some files say on their own, as counts; with ``named`` also which rows it is about.

    Parameters
    ----------
    paths
        Releases that were saved (.json), or files of counts, as `read_count_tables` reads them.
    protect, by, count, absent
        As there; for files of counts alone.
    people
        How many people there are; by default what the tables say.
    bands, may_be_missing, proof_effort, draws, rng, workers, work, progress
        As for `rows_by_area`.
    named
        Whether ``.named`` lists the rows themselves, which documents and pages never show.
    first
        How many of the likeliest rows it lists for each area.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "age_sex.csv"
    ...     _ = path.write_text("age,sex,count\\n0-19,f,1\\n0-19,m,0\\n20+,f,2\\n20+,m,1\\n")
    ...     found = rows_of_files([path])
    >>> found.certain_people, found.people, found.areas[0].unique
    (4, 4, True)
    """
    chosen = [Path(path) for path in paths]
    areas = _read(chosen, by, count, absent, as_protections(protect), bands)
    said: int | str = "published" if people is None else people
    first_area = next(iter(areas.values()))
    joint = join_releases(first_area, said, bands, may_be_missing)  # refuses what is too large
    found = rows_by_area(
        areas,
        people=said,
        proof_effort=proof_effort,
        draws=draws,
        first=first if named else 0,
        count=by is None,
        rng=rng,
        bands=bands,
        may_be_missing=may_be_missing,
        workers=workers,
        work=work,
        progress=progress,
    )
    sizes = [len(labels) for labels in joint.labels]
    return RowsFound(
        seed=rng,
        files=tuple(path.name for path in chosen),
        by=by,
        columns=tuple(map(JointColumn, joint.columns, sizes)),
        tables=tuple(JointTable(tuple(table.columns), int(table.counts.size)) for table in joint.tables),
        domain=int(joint.upper.size),
        areas=tuple(map(AreaFound.of, found)),
        people=sum(area.people or 0 for area in found),
        certain_people=sum(area.certain_people for area in found),
        named=NamedRows(tuple(_named(area, areas, said, bands) for area in found)) if named else None,
    )


def _read(
    paths: Sequence[Path],
    by: str | None,
    count: str | None,
    absent: str,
    protect: tuple[Protection, ...],
    bands: Sequence[Bands],
) -> dict[str, Tables]:
    """The tables by area: releases, or files of counts."""
    saved = [path for path in paths if path.suffix.lower() == ".json"]
    if saved and (len(saved) < len(paths) or by is not None or protect):
        rule = "releases alone, without --by and without what was done to the counts, which releases say"
        raise invalid("tables", rule, ", ".join(path.name for path in paths))
    if saved:
        return {"": [Release.load(path) for path in saved]}
    listed = read_count_tables(paths, protect, count=count, by=by, absent=absent, bands=bands)
    return {area: list(tables) for area, tables in listed.items()}


def _named(
    area: AreaRows, tables: Mapping[str, Tables], people: int | str, bands: Sequence[Bands]
) -> NamedArea:
    """The rows of an area by their values."""
    if not area.certain and not area.likely:
        return NamedArea(area.name)
    joint = join_releases(tables[area.name], people, bands, area.missing)
    return NamedArea(
        area.name,
        tuple(NamedCertain(_values(joint, row), least) for row, least in area.certain),
        tuple(
            NamedLikely(_values(joint, row), round(share, 4), round(baseline, 4))
            for row, share, baseline in area.likely
        ),
    )


def _values(joint: Joint, row: int) -> dict[str, str]:
    codes = joint.rows[row].tolist()
    return {name: labels[code] for name, labels, code in zip(joint.columns, joint.labels, codes, strict=True)}
