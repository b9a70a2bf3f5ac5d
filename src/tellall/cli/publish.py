"""tellall publish: the curator's side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

from tellall.cli.options import AsJson, Data, FreshSeed, PlanFile, Quiet, check_out, emit
from tellall.core.errors import invalid

if TYPE_CHECKING:
    from tellall.people.counting.stored import Stored
    from tellall.people.dataset import Dataset

__all__ = [
    "publish",
]

OutFile = Annotated[
    Path | None, typer.Option("--out", "-o", help="The release; several releases are numbered.")
]
Stream = Annotated[
    bool,
    typer.Option("--stream", help="Count Parquet files on disk, larger than memory; so are folders of them."),
]
NoReveal = Annotated[bool, typer.Option("--reveal", help="Nothing to reveal: a release holds no person.")]


def publish(
    plan: PlanFile,
    data: Data = None,
    as_json: AsJson = False,
    seed: FreshSeed = None,
    quiet: Quiet = False,
    out: OutFile = None,
    reveal: NoReveal = False,
    stream: Stream = False,
) -> None:
    """Make the releases of a plan, protected as it says: what the world may see.

    The noise is drawn afresh each time, never with the plan's seed: who knows a seed can undo the noise. So
    give --seed in rehearsals only. A release that is there already is never overwritten.
    """
    from tellall.cli.progress import progress_bar
    from tellall.experiment.plan import Plan
    from tellall.people.counting.engine import ENDINGS
    from tellall.release.release import publish as make
    from tellall.report import text

    talk = text.talk_console(quiet=quiet)
    target = out or Path(f"{plan.stem}-release.json")
    check_out(target)
    chosen = Plan.read(plan, needs_data=data is None)
    if chosen.by is not None:
        rule = "left out: a file is about one set of people. Publish each block by ta.publish in Python"
        raise invalid("by", rule, chosen.by)
    source = data or (chosen.folder or Path()) / chosen.data
    if stream and source.is_file() and source.suffix.lower() not in ENDINGS:
        raise invalid("data", "Parquet files, to be streamed", source.name, "Leave --stream out.")
    names = _numbered(target, len(chosen.releases))
    for name in names:
        if name.exists() or name.is_symlink():
            advice = "Its noise cannot be drawn again: remove it, or choose another name."
            raise invalid("--out", "a new file", str(name), advice)
    made = []
    with progress_bar(talk, "Counting people", quiet=quiet) as bar:
        people: Dataset | Stored
        if stream or _is_store(source):
            people = chosen.stored(data, bar)
        else:
            people = chosen.dataset(data)
            chosen.check(people)
        for place, entry in enumerate(chosen.releases):
            rng = np.random.default_rng(None if seed is None else [seed, place])
            made.append(make(people, entry.statistic, entry.protections, rng=rng))
    for release, name in zip(made, names, strict=True):
        release.save(name)
        talk.print(f"{name}: {release}", highlight=False, markup=False, soft_wrap=True)
    if seed is not None:
        talk.print("Made with a known seed: for rehearsals, not for publication.", markup=False)
    document = {
        "schema_version": 1,
        "document": "published",
        "files": [str(name) for name in names],
        "releases": [entry.name for entry in chosen.releases],
    }
    emit(document, as_json=as_json, out=None)


def _is_store(place: Path) -> bool:
    """Whether the people are in many files: a folder of them, or a pattern."""
    return place.is_dir() or ("*" in str(place) and not place.exists())


def _numbered(target: Path, count: int) -> list[Path]:
    if count == 1:
        return [target]
    return [target.with_name(f"{target.stem}-{number}{target.suffix}") for number in range(1, count + 1)]
