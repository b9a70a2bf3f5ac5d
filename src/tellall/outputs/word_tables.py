"""Tables in Word documents, with merged cells, the text above them and notes below."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tellall.core.errors import InvalidInput, invalid
from tellall.core.text import said_safely
from tellall.outputs.html_tables import page_of_spans
from tellall.outputs.layout import Page, is_note, numbered_place
from tellall.people.sheets import check_packed

__all__ = ["read_word"]

_MAIN = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_LONGEST = 300  # letters of a title


def read_word(file: Path, name: str) -> Iterator[Page]:
    """Yields a page for every table of a Word document, without text whose deletion is tracked."""
    if find_spec("docx") is None:
        raise InvalidInput(
            "Reading .docx files needs python-docx. Install it with: pip install 'tellall[office]'"
        )
    import docx

    check_packed(file, "media/", "document", "document")
    try:
        body = docx.Document(str(file)).element.body
    except (InvalidInput, MemoryError):
        raise
    except Exception as error:  # a foreign format can break its reader in any way
        why = f"It is damaged, or no document: python-docx failed with {said_safely(error)}."
        raise invalid("table", "a readable document", file, why) from None
    blocks = [(child.tag.removeprefix(_MAIN), child) for child in body.iterchildren()]
    number = 0
    for at, (kind, block) in enumerate(blocks):
        if kind == "tbl":
            number += 1
            yield _page(block, _title(blocks[:at]), _notes(blocks[at + 1 :]), name, number)


def _page(table: Any, title: tuple[str, ...], notes: tuple[str, ...], name: str, number: int) -> Page:
    rows: list[list[list[Any]]] = []
    open_cells: dict[int, list[Any]] = {}
    heads = 0
    for line in table.iterchildren(f"{_MAIN}tr"):
        if line.find(f"{_MAIN}trPr/{_MAIN}tblHeader") is not None and heads == len(rows):
            heads += 1
        rows.append(_line(line, open_cells))
    return page_of_spans(
        [[(text, down, across) for text, down, across in line] for line in rows],
        place=numbered_place(name, number),
        title=title,
        notes=notes,
        heads=heads or None,
    )


def _line(line: Any, open_cells: dict[int, list[Any]]) -> list[list[Any]]:
    """The cells of a line; one that continues the cell above makes that longer."""
    cells: list[list[Any]] = []
    column = _number(line.find(f"{_MAIN}trPr/{_MAIN}gridBefore"), 0)
    cells += [["", 1, 1] for _ in range(column)]
    for cell in line.iter(f"{_MAIN}tc"):
        if cell.getparent() is not line and cell.getparent().getparent().getparent() is not line:
            continue  # of a table inside a cell
        across = _number(cell.find(f"{_MAIN}tcPr/{_MAIN}gridSpan"), 1)
        merge = cell.find(f"{_MAIN}tcPr/{_MAIN}vMerge")
        if merge is not None and merge.get(f"{_MAIN}val", "continue") == "continue" and column in open_cells:
            open_cells[column][1] += 1
        else:
            found = [_text(cell), 1, across]
            cells.append(found)
            open_cells.pop(column, None)
            if merge is not None:
                open_cells[column] = found
        column += across
    return cells


def _number(element: Any, default: int) -> int:
    text = "" if element is None else str(element.get(f"{_MAIN}val", ""))
    return min(int(text), 1000) if text.isascii() and text.isdigit() and len(text) < 6 else default


def _text(element: Any) -> str:
    pieces = []
    for part in element.iter(f"{_MAIN}t", f"{_MAIN}tab", f"{_MAIN}br", f"{_MAIN}p"):
        pieces.append((part.text or "") if part.tag == f"{_MAIN}t" else " ")
    return " ".join("".join(pieces).split())


def _title(before: list[tuple[str, Any]]) -> tuple[str, ...]:
    """The last text before a table, unless another table stands between."""
    for kind, block in reversed(before[-3:]):
        text = _text(block) if kind == "p" else ""
        if text or kind == "tbl":
            return (text,) if 0 < len(text) <= _LONGEST else ()
    return ()


def _notes(after: list[tuple[str, Any]]) -> tuple[str, ...]:
    found: list[str] = []
    for kind, block in after[:10]:
        text = _text(block) if kind == "p" else ""
        if not text or not is_note(text):
            break
        found.append(text)
    return tuple(found)
