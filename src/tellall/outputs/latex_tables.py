"""Tables in LaTeX: tabular and its relatives, with merged cells. Nothing is run."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from tellall.outputs.delimited import LARGEST_TEXT
from tellall.outputs.html_tables import page_of_spans
from tellall.outputs.layout import Page, numbered_place
from tellall.people.sheets import read_text_of

__all__ = ["pages_of_latex", "read_latex"]

_MOST_TABLES = 1000
_KINDS = r"tabular[xy*]?|longtable|xltabular|tabu|longtblr|tblr"
_BEGIN = re.compile(rf"\\begin\{{({_KINDS})\}}")
_COMMENT = re.compile(r"(?<!\\)%.*")
_RULE = re.compile(
    r"\\(?:hline|toprule|bottomrule|addlinespace|endhead|endfirsthead|endfoot|endlastfoot|noalign|"
    r"(?:cmidrule|cline|hhline|specialrule|midrule)\b)(?:\s*\([a-z{}\d.]*\))?(?:\s*\[[^\]]*\])?"
    r"(?:\s*\{[^{}]*\}){0,3}"
)
_MIDDLE = re.compile(r"\\(?:midrule|hline|endhead)(?![a-zA-Z])")
_CAPTION = re.compile(r"\\caption(?:\[[^\]]*\])?(?=\{)")
_NOTE = re.compile(r"\\(?:item|note)\b(?:\[[^\]]*\])?([^\\]*)|\\begin\{tablenotes\}(?:\[[^\]]*\])?")
_SPAN = re.compile(r"\\multi(column|row)(?:\[[^\]]*\])?(?=\s*\{)")
_ACCENTS = {'"': "\u0308", "'": "\u0301", "`": "\u0300", "^": "\u0302", "~": "\u0303", "c": "\u0327"}
_ACCENT = re.compile(r"""\\(["'`^~])\s*\{?\\?([A-Za-z])\}?|\\(c)\s*\{([A-Za-z])\}""")
_WORDS = {"ss": "ß", "times": "×", "pm": "±", "leq": "≤", "le": "≤", "geq": "≥", "ge": "≥", "dagger": "†"}
_WORDS |= {
    "ddagger": "‡",
    "textless": "<",
    "textgreater": ">",
    "textendash": "–",
    "ldots": "...",
    "dots": "...",
}
_WORDS |= {
    "textpm": "±",
    "beta": "β",
    "sigma": "σ",
    "lt": "<",
    "gt": ">",
    "textasteriskcentered": "*",
    "ast": "*",
}
_DROPPED = re.compile(
    r"\\(?:phantom|hspace\*?|vspace\*?|label|footnotemark|cellcolor|rowcolor|color)\s*(?:\[[^\]]*\])?\{[^{}]*\}"
)
_RAISED = re.compile(r"(?:\^|\\textsuperscript|\\tnote|\\tmark)\s*(?:\{([^{}]*)\}|\[([^\]]*)\]|([^\s{}\\]))")
_COMMAND = re.compile(r"\\([A-Za-z]+)\*?\s*(?:\[[^\]]*\])?")


def read_latex(file: Path, name: str) -> Iterator[Page]:
    """Yields a page for every table of a LaTeX file."""
    yield from pages_of_latex(read_text_of(file, LARGEST_TEXT), name)


def pages_of_latex(text: str, name: str) -> Iterator[Page]:
    """Yields a page for every table in a text of LaTeX."""
    text = "\n".join(_COMMENT.sub("", line) for line in text.splitlines())
    found = list(islice(_BEGIN.finditer(text), _MOST_TABLES))
    for number, begin in enumerate(found, start=1):
        close = text.find(f"\\end{{{begin[1]}}}", begin.end())
        if close < 0:
            continue
        following = found[number].start() if number < len(found) else len(text)
        before = text[found[number - 2].end() if number > 1 else 0 : begin.start()]
        after = text[close : min(following, close + 5000)]
        yield _page(text[_past_arguments(text, begin.end()) : close], before, after, name, number)


def _page(body: str, before: str, after: str, name: str, number: int) -> Page:
    titles = [plain_of(_group(part, found.end())[0]) for part, found in _captions(before, body, after)]
    notes = [plain_of(found[1] or "") for found in _NOTE.finditer(after[: _end_of_table(after)])]
    body = _without_captions(body)
    rows: list[list[tuple[str, int, int]]] = []
    heads = None
    for row in _split(body, "\\\\"):
        if rows and heads is None and _MIDDLE.search(row) is not None:
            heads = len(rows)
        bare = _RULE.sub(" ", re.sub(r"^\s*\*?\s*\[[^\]]*\]", "", row))
        if bare.strip():
            rows.append([_cell(cell) for cell in _split(bare, "&")])
    return page_of_spans(
        _rows_free(rows),
        place=numbered_place(name, number),
        title=tuple(filter(None, titles[:1])),
        notes=tuple(filter(None, notes)),
        heads=heads,
    )


def _captions(before: str, body: str, after: str) -> Iterator[tuple[str, re.Match[str]]]:
    """Yields the captions that belong to a table, each with the text it is in: in its float, or in itself."""
    start = max(before.rfind("\\begin{table"), before.rfind("\\begin{threeparttable"))
    near = before[start:] if start > before.rfind("\\end{table") else ""
    for part in (near, body, after[: _end_of_table(after)]):
        found = _CAPTION.search(part)
        if found is not None:
            yield part, found


def _end_of_table(after: str) -> int:
    return max(after.find("\\end{table"), 0)


def _without_captions(body: str) -> str:
    found = _CAPTION.search(body)
    if found is None:
        return body
    _, end = _group(body, found.end())
    return body[: found.start()] + body[end:]


def _rows_free(rows: list[list[tuple[str, int, int]]]) -> list[list[tuple[str, int, int]]]:
    """The rows without the empty cells that LaTeX wants below a cell of several lines."""
    below: dict[int, int] = {}
    free = []
    for cells in rows:
        kept, column = [], 0
        for text, down, across in cells:
            if below.get(column, 0) and not text:
                below[column] -= 1
            else:
                kept.append((text, down, across))
                below.update({column + k: down - 1 for k in range(across)})
            column += across
        free.append(kept)
    return free


def _cell(text: str) -> tuple[str, int, int]:
    """The text of a cell, how many lines it covers and how many columns."""
    down = across = 1
    for _ in range(3):
        found = _SPAN.search(text)
        if found is None:
            break
        count, end = _group(text, found.end())
        _, end = _group(text, end)
        if found[1] == "row" and text[end : end + 1] == "[":
            end = text.find("]", end) + 1
        inner, end = _group(text, end)
        number = int(count) if re.fullmatch(r"-?\d{1,4}", count.strip()) else 1
        if found[1] == "column":
            across = max(number, 1)
        else:
            down = max(number, 1)
        text = text[: found.start()] + inner + text[end:]
    return plain_of(text), down, across


def plain_of(text: str) -> str:
    """The text that LaTeX prints, on one line, as far as simple commands go.

    Examples
    --------
    >>> plain_of(r"\\textbf{45.2}\\,\\%"), plain_of(r"$-0.31^{***}$"), plain_of(r"B\\"aren \\& 1{,}204")
    ('45.2 %', '-0.31***', 'Bären & 1,204')
    """
    text = _ACCENT.sub(_accented, text)
    text = _DROPPED.sub("", text)
    text = _RAISED.sub(lambda found: _mark(next(filter(None, found.groups()), "")), text)
    text = re.sub(r"\\[,;:! ]|~", " ", text)
    text = re.sub(r"\\([%&_#$])", lambda found: f"\0{found[1]}", text)
    text = _COMMAND.sub(lambda found: _WORDS.get(found[1], ""), text)
    text = re.sub(r"[{}$]", "", re.sub(r"\0\$", "\1", text)).replace("\1", "$").replace("\0", "")
    return " ".join(text.replace("---", "—").replace("--", "–").split())


def _mark(inside: str) -> str:
    bare = inside.strip()
    return f"[{bare}]" if bare.isalnum() and bare not in ("st", "nd", "rd", "th") else bare


def _accented(found: re.Match[str]) -> str:
    accent, letter = (found[1], found[2]) if found[1] else (found[3], found[4])
    return unicodedata.normalize("NFC", letter + _ACCENTS[accent])


def _past_arguments(text: str, at: int) -> int:
    """Where the body begins: behind the arguments of \\begin{tabular}."""
    while True:
        found = re.compile(r"\s*(?:\[[^\]]*\])?\s*(?=\{)").match(text, at)
        if found is None or text[found.end() : found.end() + 1] != "{":
            return at
        at = _group(text, found.end())[1]


def _group(text: str, at: int) -> tuple[str, int]:
    """What stands in braces from a place on, and where it ends; nothing if there are none."""
    while at < len(text) and text[at].isspace():
        at += 1
    if text[at : at + 1] != "{":
        return "", at
    depth = 0
    for end in range(at, len(text)):
        escaped = end > 0 and text[end - 1] == "\\"
        depth += (text[end] == "{" and not escaped) - (text[end] == "}" and not escaped)
        if depth == 0:
            return text[at + 1 : end], end + 1
    return text[at + 1 :], len(text)


def _split(text: str, sign: str) -> list[str]:
    """The pieces of a text between signs that stand in no braces and behind no backslash."""
    pieces, depth, start, at = [], 0, 0, 0
    while at < len(text):
        if text.startswith(sign, at) and depth == 0:
            pieces.append(text[start:at])
            at += len(sign)
            start = at
            continue
        if text[at] == "\\":
            at += 2
            continue
        depth = max(depth + (text[at] == "{") - (text[at] == "}"), 0)
        at += 1
    return [*pieces, text[start:]]
