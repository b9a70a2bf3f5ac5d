"""The options that every command shares, and where its answer goes."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tellall.core import files
from tellall.core.errors import invalid

if TYPE_CHECKING:
    from tellall.experiment.plan import Plan

__all__ = [
    "AsJson",
    "Cluster",
    "Data",
    "Device",
    "FreshSeed",
    "Out",
    "OutPage",
    "PlanFile",
    "PlanSeed",
    "Quiet",
    "Reveal",
    "Seed",
    "check_folder",
    "check_out",
    "check_page",
    "emit",
    "is_folder",
    "kept_beside",
    "read_plan",
    "write_secret",
]

AsJson = Annotated[bool, typer.Option("--json", help="One JSON document on standard output, all talk aside.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of everything random.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No talk and no progress bar.")]
Out = Annotated[Path | None, typer.Option("--out", "-o", help="Write the JSON document to this file.")]
OutPage = Annotated[
    Path | None,
    typer.Option("--out", "-o", help="A folder for the page and its JSON, or a .json file for that alone."),
]
PlanFile = Annotated[Path, typer.Argument(metavar="PLAN.toml", help="The plan; tellall init writes one.")]
Data = Annotated[Path | None, typer.Option("--data", help="Read the people from here, not where PLAN says.")]
PlanSeed = Annotated[int | None, typer.Option("--seed", min=0, help="Seed, instead of the plan's.")]
FreshSeed = Annotated[
    int | None,
    typer.Option("--seed", min=0, help="Seed; a fresh one each time where not given."),
]
Cluster = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar="tcp://HOST:PORT",
        help="Work on the Dask cluster at this address; the people are sent there. Needs tellall[cluster].",
    ),
]
Device = Annotated[
    str,
    typer.Option("--device", metavar="cpu|cuda", help="Where equations are solved. Needs tellall[gpu]."),
]
Reveal = Annotated[
    bool, typer.Option("--reveal", help="Also write who is named, in a separate file marked SECRET.")
]


def read_plan(plan: Path, data: Path | None, seed: int | None) -> Plan:
    """The plan; with this seed where one is given, and without its data where another file is."""
    from tellall.experiment.plan import Plan

    chosen = Plan.read(plan, needs_data=data is None)
    return chosen if seed is None else replace(chosen, seed=seed)


def check_folder(folder: Path) -> None:
    """Refuse an output folder that cannot be made, before any work is done."""
    if folder.exists() and not folder.is_dir():
        raise invalid("--out", "a folder, or a new name", str(folder))
    if not folder.parent.is_dir():
        raise invalid("--out", "a folder in a folder that exists", str(folder))
    if not os.access(folder if folder.exists() else folder.parent, os.W_OK):
        raise invalid("--out", "a folder that can be written", str(folder))


def is_folder(out: Path | None) -> bool:
    """Whether an output place is a folder for a page, not a file for the document alone."""
    return out is not None and (out.is_dir() or out.suffix.lower() != ".json")


def kept_beside(out: Path | None, study: str = "") -> Path | None:
    """Where finished blocks are kept: in the output folder, or beside the output file.

    A sweep and a calibration in one folder keep theirs apart, each in a folder named after the study.
    """
    if out is None:
        return None
    place = out / ".blocks" if is_folder(out) else out.with_name(f".{out.stem}.blocks")
    return place / study if study else place


def check_page(out: Path | None) -> None:
    """Refuse a folder for a page, or a file for its document, that cannot be written."""
    if out is not None and is_folder(out):
        check_folder(out)
    else:
        check_out(out)


def check_out(out: Path | None) -> None:
    """Refuse an output place that cannot be written, before any work is done."""
    if out is None:
        return
    if not out.parent.is_dir() or out.is_dir():
        raise invalid("--out", "a file in a folder that exists", str(out))
    place = out.parent if out.is_file() or not out.exists() else out  # a pipe, or a device, is itself written
    if not os.access(place, os.W_OK):
        raise invalid("--out", "a file in a folder that can be written", str(out))


def emit(document: dict[str, Any], *, as_json: bool, out: Path | None) -> None:
    """The document on standard output, in a file, or both; a file is written whole or not at all."""
    text = files.dump(document)
    if out is not None:
        files.write_text(out, text)
    if as_json:
        sys.stdout.write(text)


def write_secret(path: Path, document: dict[str, Any]) -> Path:
    """The path of the file about single people, readable by its owner alone and marked by its name."""
    marked = path.with_name(f"{path.stem}.SECRET.json")
    old = os.umask(0o077)
    try:
        return files.write_json(marked, document)
    finally:
        os.umask(old)
