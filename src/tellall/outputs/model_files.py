"""Models in files: texts of programs, and tables that print coefficients; what is left is read as tables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tellall.core.not_done import NotDone
from tellall.outputs.columns_in_text import filled_blocks, pages_of_columns
from tellall.outputs.delimited import LARGEST_TEXT, delimiter_of, page_of_text
from tellall.outputs.found import FittedModel, Source
from tellall.outputs.layout import CellArea, Page
from tellall.outputs.model_tables import side_by_side, side_by_side_in_text
from tellall.outputs.model_texts import ModelLines, models_in_lines
from tellall.outputs.model_words import is_rule
from tellall.outputs.printed_curves import survival_pages
from tellall.people.sheets import read_text_of

__all__ = ["models_on_pages", "outputs_in_text", "read_text", "text_blocks"]

Found = Page | FittedModel | NotDone
_ABOUT_FITS = re.compile(  # lines that statsmodels prints around the coefficients
    r"dep\. variable|dependent variable|no\. observations|model:|method:|df residuals|df model"
    r"|covariance type|omnibus|skew:"
    r"|prob\(omnibus\)|kurtosis|date:|time:|converged:|no\. iterations|r-squared:|model family"
    r"|link function|scale:"
    r"|adj\. r-squared|.*regression results|notes:|\[\d\] ",
    re.IGNORECASE,
)
_SAID = re.compile(r"\S\s+=\s+[-\d.]")  # "Number of obs = 935"
_SIGNS = ("\t", ",", ";")
_FENCE = re.compile(r"\s*(?:```|~~~)")
_VERBATIM = re.compile(r"\\begin\{(verbatim|lstlisting|Verbatim)\}(.*?)\\end\{\1\}", re.DOTALL)
_PRE = re.compile(r"<pre[^>]*>(.*?)</pre>", re.DOTALL | re.IGNORECASE)


def read_text(file: Path, name: str) -> Iterator[Found]:
    """Yields the models, curves and tables of a text or a log, or its cells if signs separate them."""
    text = read_text_of(file, LARGEST_TEXT)
    lines = text.splitlines()
    found = list(outputs_in_text(lines, name))
    sign = delimiter_of(text)
    filled = [line for line in lines if line.strip()]
    separated = sign in _SIGNS and 2 * sum(sign in line for line in filled) > len(filled)
    if separated and all(isinstance(each, Page) for each in found):
        yield page_of_text(text, sign, name)
    else:
        yield from found


def outputs_in_text(lines: Sequence[str], name: str, start: int = 0) -> Iterator[Page | FittedModel]:
    """Yields what is printed in the lines of a text; ``start`` is how many lines of the file stand above."""
    models = _models_in(lines, name, start)
    yield from (each.model for each in models)
    curves = list(survival_pages(lines, name, start))
    yield from (page for _, page in curves)
    taken = {k for each in models for k in range(each.first, each.last + 1)}
    taken |= {k for places, _ in curves for k in places}
    left = list(lines)
    for first, last in filled_blocks(lines):
        inside = range(first, last + 1)
        if taken.intersection(inside) or (models and any(_is_about_fit(lines[k]) for k in inside)):
            left[first : last + 1] = [""] * len(inside)
    yield from pages_of_columns(left, name, start)


def _is_about_fit(line: str) -> bool:
    return _ABOUT_FITS.match(line.strip()) is not None or _SAID.search(line) is not None


def _models_in(lines: Sequence[str], name: str, start: int) -> list[ModelLines]:
    """The models printed in the lines of a text."""

    def place(first: int, last: int) -> Source:
        return Source(name, range=f"lines {first + 1 + start:,} to {last + 1 + start:,}")

    long = models_in_lines(lines, place)
    taken = {k for each in long for k in range(each.first, each.last + 1)}
    left = ["" if k in taken else line for k, line in enumerate(lines)]
    both = [*long, *side_by_side_in_text(left, place)]
    return sorted(both, key=lambda each: each.first)


def text_blocks(text: str, ending: str) -> list[tuple[int, list[str]]]:
    """The parts of a document that are printed as they are, each with the lines above it."""
    if ending in (".md", ".markdown", ".rmd", ".qmd"):
        return _fenced(text.splitlines())
    pattern = {".tex": _VERBATIM, ".html": _PRE, ".htm": _PRE}.get(ending)
    if pattern is None:
        return []
    found = []
    for block in pattern.finditer(text):
        inner = block[block.lastindex or 1]
        if pattern is _PRE:
            import html

            inner = html.unescape(re.sub(r"<[^<>]{0,500}>", "", inner))
        found.append((text.count("\n", 0, block.start()), inner.splitlines()))
    return found


def _fenced(lines: Sequence[str]) -> list[tuple[int, list[str]]]:
    found: list[tuple[int, list[str]]] = []
    opened: int | None = None
    for k, line in enumerate(lines):
        if not _FENCE.match(line):
            continue
        if opened is None:
            opened = k
        else:
            inner = [re.sub(r"^#> ?|^## ?", "", each) for each in lines[opened + 1 : k]]
            found.append((opened + 1, inner))
            opened = None
    return found


def models_on_pages(found: Sequence[Found]) -> list[Found]:
    """The models among the cells of pages, before the pages; their lines are taken out of these."""
    pages = [each for each in found if isinstance(each, Page)]
    if not pages:
        return list(found)
    lines: list[str] = []
    owner: list[tuple[int, int]] = []
    for number, page in enumerate(pages):
        for k, title in enumerate([*page.title, ""]):
            lines.append(title)
            owner.append((number, -1 - k))
        for k, row in enumerate(page.lines):
            lines.append(_joined(row))
            owner.append((number, k))
        lines.append("")
        owner.append((number, -1))
    long = models_in_lines(lines, lambda first, last: _place(pages, owner, first, last))
    taken: dict[int, set[int]] = {}
    models: list[FittedModel] = []
    for each in long:
        models.append(each.model)
        for k in range(each.first, each.last + 1):
            taken.setdefault(owner[k][0], set()).add(owner[k][1])
    for number, page in enumerate(pages):
        if number in taken:
            for k, row in enumerate(page.lines):
                if _ABOUT_FITS.match(_joined(row).strip()):
                    taken[number].add(k)
            continue
        rows = [[_text(cell) for cell in row] for row in page.lines]
        if not rows:
            continue
        words = " ".join([*page.title, *page.notes])
        own = side_by_side(rows, _place_on(page, 0, len(rows) - 1), words)
        models += [one.model for one in own]
        if own:
            taken[number] = set(range(len(page.lines)))
    around = {n for number in taken for n in (number - 1, number + 1)} if long else set()
    out: list[Found] = [*models]
    at = 0
    for item in found:
        if not isinstance(item, Page):
            out.append(item)
            continue
        left = _without(item, taken.get(at, set()))
        about = at in around and any(_ABOUT_FITS.match(_joined(row).strip()) for row in item.lines)
        if left is not None and not about:
            out.append(left)
        at += 1
    return out


def _without(page: Page, gone: set[int]) -> Page | None:
    """The page without some lines; None if nothing but rules and empty lines is left."""
    if not gone:
        return page
    kept = [[None] * len(row) if k in gone else row for k, row in enumerate(page.lines)]
    filled = [row for row in kept if any(_text(cell) and not is_rule(_text(cell)) for cell in row)]
    if len(filled) < 2 or max(sum(bool(_text(cell)) for cell in row) for row in filled) < 2:
        return None
    return replace(page, lines=kept)


def _joined(row: Sequence[Any]) -> str:
    return "\t".join(_text(cell) for cell in row)


def _text(cell: Any) -> str:
    return "" if cell is None else " ".join(str(cell).split())


def _place(pages: Sequence[Page], owner: Sequence[tuple[int, int]], first: int, last: int) -> Source:
    """Where the list of coefficients stands: the page of the last line, from the first of its own."""
    number, end = owner[last]
    start = max(owner[first][1], 0) if owner[first][0] == number else 0
    return _place_on(pages[number], start, max(end, start))


def _place_on(page: Page, first: int, last: int) -> Source:
    width = max((len(row) for row in page.lines), default=1)
    last = min(max(last, first), len(page.lines) - 1)
    return page.place(CellArea(min(first, last), 0, last, max(width - 1, 0)))
