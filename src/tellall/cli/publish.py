"""tellall publish: the curator's side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tellall.cli.options import (
    AsJson,
    Data,
    DropGaps,
    FreshSeed,
    Kind,
    PlanFile,
    Quiet,
    Unused,
    check_out,
    emit,
    progress_bar,
    tell_assumed,
)
from tellall.core import files
from tellall.core.errors import invalid
from tellall.core.records import VERSION

if TYPE_CHECKING:
    from tellall.audits.plans.plan import Plan
    from tellall.people.counting.stored import Stored
    from tellall.people.dataset import Dataset

__all__ = [
    "publish",
]

OutFile = Annotated[
    Path | None, typer.Option("--out", "-o", help="The file of the release; several releases are numbered.")
]
Stream = Annotated[
    bool, typer.Option("--stream", help="Count a Parquet file on disk; folders are always counted on disk.")
]


def publish(
    plan: PlanFile,
    data: Data = None,
    as_json: AsJson = False,
    seed: FreshSeed = None,
    quiet: Quiet = False,
    out: OutFile = None,
    reveal: Unused = False,
    stream: Stream = False,
    drop_gaps: DropGaps = False,
    kind: Kind = None,
) -> None:
    """Make the releases of a plan, protected as it says.

    The noise is drawn afresh each time, never with the plan's seed, because anybody who knows the seed can
    remove the noise. Use --seed for rehearsals only. An existing release is never overwritten.
    """
    import numpy as np

    from tellall.audits.plans.asked import How, plan_asked
    from tellall.audits.plans.plan_files import people_on_disk
    from tellall.release.release import publish_part as make
    from tellall.report.terminal import talk_console

    talk = talk_console(quiet=quiet)
    target = out or Path(f"{plan.stem}-release.json")
    check_out(target)
    chosen = plan_asked(plan, How(data, None, drop_gaps, kind), talk.print)
    if chosen.by is not None:
        rule = (
            "left out: a release file is about one set of people. Publish each area with ta.publish in Python"
        )
        raise invalid("by", rule, chosen.by)
    on_disk = _on_disk(data or (chosen.folder or Path()) / chosen.data, stream=stream)
    names = _new_files(target, len(chosen.planned))
    made = []
    with progress_bar(talk, "counting people", quiet=quiet) as bar:
        people = people_on_disk(chosen, data, bar) if on_disk else _read(chosen, data)
        for index, entry in enumerate(chosen.planned):
            rng = np.random.default_rng(None if seed is None else [seed, index])
            made.append(make(people, entry.statistic, entry.where, entry.protections, rng))
    with files.together(public=True, new=True) as batch:
        for release, name in zip(made, names, strict=True):
            release.put(batch, name)
    for release, name in zip(made, names, strict=True):
        talk.print(f"{name}: {release}")
    tell_assumed(people.assumed, talk)
    if seed is not None:
        talk.print("Made with a known seed: for rehearsals, not for publication.")
    document = {
        "schema_version": VERSION,
        "document": "published",
        "files": [str(name) for name in names],
        "releases": [entry.name for entry in chosen.planned],
    }
    emit(document, as_json=as_json, out=None)


def _on_disk(source: Path, *, stream: bool) -> bool:
    """Whether people are counted on disk: as it was asked, or since there are many files."""
    from tellall.people.counting.parquet_files import ENDINGS

    if stream and source.is_file() and source.suffix.lower() not in ENDINGS:
        raise invalid("data", "Parquet files, to be streamed", source.name, "Leave --stream out.")
    return stream or source.is_dir() or ("*" in str(source) and not source.exists())


def _read(plan: Plan, data: Path | None) -> Dataset | Stored:
    """The people of a plan, who must be fit for its releases."""
    from tellall.audits.plans.plan_files import read_people

    people = read_people(plan, data)
    plan.check(people)
    return people


def _new_files(target: Path, count: int) -> list[Path]:
    """A file for each release; none of them may exist."""
    numbered = [target.with_name(f"{target.stem}-{number}{target.suffix}") for number in range(1, count + 1)]
    names = [target] if count == 1 else numbered
    for name in names:
        if name.exists() or name.is_symlink():
            advice = "Its noise cannot be drawn again: remove it, or choose another name."
            raise invalid("--out", "a new file", str(name), advice)
    return names
