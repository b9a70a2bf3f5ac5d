"""What a sweep and a calibration of a plan share: people and plan, what is kept, and the page."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeVar

from typer import Context

from tellall.audits.plans.asked import How, plan_asked
from tellall.audits.plans.plan import Plan
from tellall.audits.plans.plan_files import read_people
from tellall.audits.studies import CalibrationFound, SweepFound
from tellall.audits.sweep import Sweep
from tellall.cli.options import (
    announce,
    check_page,
    emit,
    is_folder,
    kept_for,
    only_writer,
    reading,
    tell_assumed,
    watching,
)
from tellall.core import files
from tellall.people.dataset import Dataset
from tellall.report.terminal import PlainConsole, talk_console

__all__ = ["Study"]

_Found = TypeVar("_Found", SweepFound, CalibrationFound)


@dataclass(frozen=True, eq=False)
class Study:
    """A sweep or a calibration that was asked for.

    Attributes
    ----------
    name
        The command.
    file, plan, how
        The plan, as it was asked for, and how its people are read.
    out
        Where the page, or the document, goes.
    talk, page
        For messages, and for results: silent where only the document is wanted.
    """

    name: Literal["sweep", "calibrate"]
    file: Path
    plan: Plan
    how: How
    out: Path | None
    as_json: bool
    talk: PlainConsole
    page: PlainConsole

    @classmethod
    def of(
        cls,
        name: Literal["sweep", "calibrate"],
        file: Path,
        how: How,
        out: Path | None,
        *,
        as_json: bool,
        quiet: bool,
    ) -> Study:
        """The study of a plan in a file; no people are read yet."""
        check_page(out)
        talk = talk_console(quiet=quiet)
        plan = plan_asked(file, how, talk.print)
        return cls(name, file, plan, how, out, as_json, talk, PlainConsole(quiet=as_json or quiet))

    @cached_property
    def people(self) -> Dataset:
        """The people, whom the plan fits."""
        people = read_people(self.plan, self.how.data)
        self.plan.check(people)
        return people

    @contextmanager
    def measuring(
        self,
        context: Context,
        options: Sequence[str],
        decoders: Sequence[str] | None,
        jobs: int,
        cluster: str | None,
    ) -> Iterator[dict[str, Any]]:
        """Yields how everything is measured; ``options`` are the command's own, as they were typed."""
        context.with_resource(only_writer(self.out))
        tried = [part for name in decoders or () for part in ("--decoder", name)]
        read = reading(drop_gaps=self.how.drop_gaps, kind=self.how.kind)
        typed = [self.file.name, *options, *read, *tried, "--seed", str(self.plan.seed)]
        with kept_for(self.name, self.out, areas=self.plan.by is not None) as work:
            yield {
                "command": shlex.join(["tellall", self.name, *typed]),
                "data": (self.how.data or Path(self.plan.data)).name,
                "decoders": decoders or None,
                "processes": jobs or 1,
                "cluster": cluster,
                "work": work,
                "watch": watching(self.talk, quiet=self.talk.quiet, kept=work is not None),
            }

    def write(
        self, found: _Found, render: Callable[[_Found], str], tables: Mapping[str, Sweep] | None = None
    ) -> None:
        """Writes the document, with its page and tables by name if the output is a folder."""
        tell_assumed(self.people.assumed, self.talk)
        folder = self.out if is_folder(self.out) else None
        if folder is not None:
            page = render(found)
            with files.together() as batch:
                for name, table in (tables or {}).items():
                    batch.text(folder / f"{name}.csv", table.csv_text())
                    batch.table(folder / f"{name}.parquet", table.columns())
                batch.text(folder / f"{self.name}.json", files.dump(found))
                written = batch.text(folder / f"{self.name}.html", page)
            announce(written, self.talk)
        emit(found, as_json=self.as_json, out=None if folder else self.out)
