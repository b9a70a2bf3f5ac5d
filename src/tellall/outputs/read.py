"""Reads outputs from a file or a folder, whatever kinds of files it holds; nothing in them is ever run."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from tellall.core.errors import InvalidInput, TellallError, invalid
from tellall.core.not_done import NotDone
from tellall.core.text import one_line
from tellall.outputs.delimited import LARGEST_TEXT, read_delimited
from tellall.outputs.found import FittedModel, FoundOutputs, FoundTable
from tellall.outputs.html_tables import read_html
from tellall.outputs.latex_tables import read_latex
from tellall.outputs.layout import Page, tables_on
from tellall.outputs.markdown_tables import read_markdown
from tellall.outputs.model_files import models_on_pages, outputs_in_text, read_text, text_blocks
from tellall.outputs.output_folder import NO_PART, not_read
from tellall.outputs.word_tables import read_word
from tellall.outputs.workbooks import read_workbook
from tellall.people.sheets import SHEETS, read_text_of

__all__ = ["ENDINGS_OF_OUTPUTS", "read_outputs"]

_MOST_FILES = 10_000
_MOST_OUTPUTS = 10_000

Reader = Callable[[Path, str], Iterable["Page | FittedModel | NotDone"]]

_READERS: dict[str, Reader] = {
    **dict.fromkeys((".csv", ".tsv", ".tab", ".csv.gz", ".tsv.gz", ".tab.gz"), read_delimited),
    **dict.fromkeys(SHEETS, read_workbook),
    **dict.fromkeys((".html", ".htm"), read_html),
    **dict.fromkeys((".md", ".markdown", ".rmd", ".qmd"), read_markdown),
    ".tex": read_latex,
    ".docx": read_word,
    **dict.fromkeys((".txt", ".log", ".lst", ".out", ".smcl"), read_text),
}
ENDINGS_OF_OUTPUTS = tuple(_READERS)
_TEXTS = (".txt", ".log")  # their words are all that they show: a Markdown file may hold pictures
_WITH_TEXT = (".html", ".htm", ".md", ".markdown", ".rmd", ".qmd", ".tex")
_PICTURE = "a picture: what it shows is not read"
_OTHERS = {
    **dict.fromkeys((".png", ".jpg", ".jpeg", ".svg", ".gif", ".tif", ".tiff", ".bmp", ".eps"), _PICTURE),
    ".pdf": "a PDF, which holds no cells: ask for its tables as a file",
    ".xls": "a workbook of an old kind: save it as .xlsx",
    ".doc": "a document of an old kind: save it as .docx",
    ".zip": "a packed folder: unpack it first",
}
_SYSTEM = {"thumbs.db", "desktop.ini", "__macosx"}


def read_outputs(path: str | Path, name: str | None = None) -> FoundOutputs:
    """The tables and models in a file, called ``name`` if given, or in all files of a folder and below.

    What cannot be read is listed in ``skipped`` with the reason: pictures, notes, files of other kinds. Links
    are not followed, and hidden files are passed over. Sizes are limited.
    """
    root = Path(path)
    if root.is_file():
        return _together(_read_file(root, name or root.name))
    if not root.is_dir():
        raise invalid("outputs", "a file or a folder that exists", root)
    found: list[FittedModel | FoundTable | NotDone] = []
    for file in _files_below(root):
        found += _read_file(file, file.relative_to(root).as_posix())
        if len(found) > _MOST_OUTPUTS:
            raise invalid("outputs", f"a folder of at most {_MOST_OUTPUTS:,} outputs", root)
    return _together(found)


def _together(found: Iterable[FittedModel | FoundTable | NotDone]) -> FoundOutputs:
    listed = list(found)
    return FoundOutputs(
        tuple(each for each in listed if isinstance(each, FoundTable)),
        tuple(each for each in listed if isinstance(each, FittedModel)),
        tuple(each for each in listed if isinstance(each, NotDone)),
    )


def _files_below(root: Path) -> list[Path]:
    """The files of a folder and below, by name; hidden ones left out, links not followed."""
    found: list[Path] = []
    for folder, inner, names in os.walk(root, followlinks=False):
        inner[:] = sorted(name for name in inner if not _is_hidden(name))
        found += [Path(folder) / name for name in names if not _is_hidden(name)]
        if len(found) > _MOST_FILES:
            raise invalid("outputs", f"a folder of at most {_MOST_FILES:,} files", root)
    return sorted(found)


def _is_hidden(name: str) -> bool:
    return name.startswith((".", "~$")) or name.lower() in _SYSTEM


def _ending(file: Path) -> str:
    ending = file.suffix.lower()
    return "".join(file.suffixes[-2:]).lower() if ending == ".gz" else ending


def _read_file(file: Path, name: str) -> Iterator[FittedModel | FoundTable | NotDone]:
    """Yields what a file holds, or why it cannot be read."""
    shown = one_line(name, 200)
    ending = _ending(file)
    read = _READERS.get(ending)
    if file.is_symlink():
        yield not_read(shown, "a link to another file: links are not followed")
    elif read is None:
        kind = f"files ending in {one_line(ending, 20)} are not read" if ending else "of an unknown kind"
        yield not_read(shown, _OTHERS.get(ending, kind))
    else:
        nothing = True
        try:
            for found in _with_models(file, shown, ending, read(file, shown)):
                for each in _outputs_of(found, shown):
                    nothing = False
                    yield each
        except TellallError as error:
            nothing = False
            yield not_read(shown, one_line(str(error), 300))
        except OSError as error:
            nothing = False
            yield not_read(shown, f"it cannot be opened: {one_line(error.strerror or 'unknown', 80)}")
        if nothing:
            yield _of_nothing(file, shown, ending)


def _of_nothing(file: Path, name: str, ending: str) -> NotDone:
    """Why a file without tables and models has no part: a text without a digit publishes no number."""
    if ending in _TEXTS and not any(mark.isnumeric() for mark in read_text_of(file, LARGEST_TEXT)):
        return not_read(name, "a text without a number", NO_PART)
    return not_read(name, "no table and no model was found in it")


def _with_models(
    file: Path, name: str, ending: str, found: Iterable[Page | FittedModel | NotDone]
) -> Iterator[Page | FittedModel | NotDone]:
    """Yields the models on pages first, then what is printed in parts of a document that are plain text."""
    yield from models_on_pages(list(found))
    if ending in _WITH_TEXT:
        for start, lines in text_blocks(read_text_of(file, LARGEST_TEXT), ending):
            yield from outputs_in_text(lines, name, start)


def _outputs_of(
    found: Page | FittedModel | NotDone, name: str
) -> Iterator[FittedModel | FoundTable | NotDone]:
    if not isinstance(found, Page):
        yield found
        return
    try:
        yield from tables_on(found)
    except InvalidInput as error:
        yield not_read(name, one_line(str(error), 300))
