"""The files of a plan: the plan as it is written, the people it is about, and what it names as published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tellall.audits.plans.mistakes import ELSEWHERE, all_at_once, checked, short
from tellall.audits.plans.plan import Plan
from tellall.core import files
from tellall.core.errors import invalid
from tellall.core.text import said
from tellall.core.work import Progress
from tellall.people import readers
from tellall.people.areas import values_as_text
from tellall.people.counting.stored import Stored, scan
from tellall.people.dataset import Dataset
from tellall.release import catalogue
from tellall.release.release import Release

__all__ = ["people_file", "people_on_disk", "plan_of", "read_people", "read_plan"]

_LARGEST_PLAN = 2**20


def read_plan(path: str | Path, *, needs_data: bool = True) -> Plan:
    """The plan in a TOML file, with the releases that it names as published; one error lists all problems.

    Parameters
    ----------
    needs_data
        Whether the plan must name its file of people.
    """
    import tomllib

    file = Path(path)
    text = files.read_text(file, what="plan", largest=_LARGEST_PLAN)
    try:
        mapping = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise invalid("plan", "a TOML file", str(path), f"The reader said: {said(error, 120)}.") from None
    needed = ("secret", "data") if needs_data else ("secret",)
    return plan_of(mapping, folder=file.parent, needed=needed)


def plan_of(mapping: Mapping[str, object], *, folder: Path | None = None, needed: Sequence[str] = ()) -> Plan:
    """The plan in a mapping of the same shape as the file, with the releases that it names as published.

    Parameters
    ----------
    folder
        Where the files are that the plan names.
    needed
        The keys that it must have.
    """
    document = checked(mapping, folder=folder, needed=needed)
    published = {entry.file: _published(entry.file, folder) for entry in document.published}
    return Plan.of_document(document, folder=folder, published=published)


def _published(file: str, folder: Path | None) -> Release:
    """A release that was published before, from the file that it was saved in."""
    return Release.load(files.fits_inside(folder or Path(), file, what="published", advice=ELSEWHERE))


def people_file(plan: Plan, data: Path | None = None) -> Path:
    """The file of people: the one that is given, else the plan's own."""
    if data is not None:
        return data
    return files.fits_inside(plan.folder or Path(), plan.data, what="data", advice=ELSEWHERE)


def read_people(plan: Plan, data: Path | None = None) -> Dataset:
    """The people, read as the plan says, from its file or from another."""
    file = people_file(plan, data)
    table = readers.read_table(file)
    _refuse_unknown_columns(plan, file, readers.column_names(table))
    public = plan.public
    if plan.by is not None:
        table = _with_text(table, plan.by)
        public = None if public is None else tuple(dict.fromkeys([*public, plan.by]))
    return Dataset.from_frame(
        table,
        secret=plan.secret,
        public=public,
        bins=plan.bins or None,
        kind=plan.kind,
        drop_gaps=plan.drop_gaps,
    )


def _refuse_unknown_columns(plan: Plan, file: Path, names: Sequence[str]) -> None:
    """Refuses a plan that names columns which the file does not have; one error lists them all."""
    named = [("secret", plan.secret)]
    if plan.by is not None:
        named.append(("by", plan.by))
    named += [(f"public.{index}", name) for index, name in enumerate(plan.public or ())]
    by_column = {} if isinstance(plan.bins, int) else plan.bins
    named += [(f"bins.{name}"[:60], name) for name in by_column]
    found = [
        (where, f"must be a column of {file.name}; got '{short(name)}'.{catalogue.nearest(name, names)}")
        for where, name in named
        if name not in names
    ]
    if found:
        raise all_at_once(found)


def people_on_disk(plan: Plan, data: Path | None = None, progress: Progress | None = None) -> Stored:
    """The people in Parquet files, read as the plan says, for tables larger than memory."""
    if plan.drop_gaps:
        rule = "false for people who are counted in their files"
        raise invalid("drop_gaps", rule, "true", "Leave those without a secret out of the files.")
    return scan(
        people_file(plan, data),
        secret=plan.secret,
        public=plan.public,
        bins=plan.bins or None,
        kind=plan.kind,
        progress=progress,
    )


def _with_text(table: Any, by: str) -> Any:
    """The table with every value of the column of areas turned into a category."""
    texts = values_as_text(by, table[by])
    if not isinstance(table, dict):
        return table.assign(**{by: texts})
    changed = readers.PeopleTable({**table, by: texts})
    changed.assumed = getattr(table, "assumed", "")
    return changed
