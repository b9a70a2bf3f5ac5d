"""What tellall sweep and tellall calibrate share: the people, the document, the page."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import tellall
from tellall.cli.options import emit, is_folder
from tellall.core import files

if TYPE_CHECKING:
    from rich.console import Console

    from tellall.experiment.plan import Plan

__all__ = [
    "Decoders",
    "decoder_options",
    "study_document",
    "study_people",
    "write_study",
]

Decoders = Annotated[
    list[str] | None,
    typer.Option("--decoder", help="A decoder; again for more. Default: every one that is affordable."),
]


def decoder_options(decoder: Sequence[str] | None) -> list[str]:
    """The decoders asked for, as the command line has them."""
    return [part for name in decoder or () for part in ("--decoder", name)]


def study_people(chosen: Plan, data: Path | None) -> tellall.Dataset:
    """The people of a plan, whose secret may be a category or a real number."""
    people = chosen.dataset(data)
    chosen.check(people)
    return people


def study_document(
    study: str, plan: Path, data: Path | None, chosen: Plan, options: Sequence[str]
) -> dict[str, Any]:
    """How the document of every study begins."""
    from tellall.core.version import versions

    command = ["tellall", study, plan.name, *options, "--seed", str(chosen.seed)]
    return {
        "schema_version": 1,
        "document": study,
        "tellall": tellall.__version__,
        "versions": versions(),
        "command": shlex.join(command),
        "data": (data or Path(chosen.data)).name,
        "seed": chosen.seed,
    }


def write_study(
    document: dict[str, Any],
    render: Callable[[dict[str, Any]], str],
    *,
    out: Path | None,
    as_json: bool,
    talk: Console,
) -> None:
    """The document and its page in a folder, or the document where it is asked for."""
    study = document["document"]
    if out is not None and is_folder(out):
        out.mkdir(exist_ok=True)
        files.write_json(out / f"{study}.json", document)
        page = files.write_text(out / f"{study}.html", render(document))
        talk.print(f"The page is {page}", highlight=False, markup=False, soft_wrap=True)
    emit(document, as_json=as_json, out=None if is_folder(out) else out)
