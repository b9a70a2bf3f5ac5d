"""Hierarchies of codes, such as NUTS, NACE or ICD: what each is made of, from files as offices keep them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from tellall.core import files
from tellall.core.errors import invalid
from tellall.people.bands import Bands, ColumnLabels, Refined

__all__ = ["children_of", "is_level_table", "read_hierarchy", "refine_codes"]

_LARGEST = 2**24
_SEPARATORS = ",;\t"
_LEVELS, _CODES = ("levels", "level", "depth"), ("codes", "code", "name", "names")


def children_of(levels: Iterable[tuple[int, str]]) -> dict[str, tuple[str, ...]]:
    """What each code is made of, from codes in order with their levels: parts follow what they are part of.

    Examples
    --------
    >>> children_of([(1, "A"), (2, "A1"), (2, "A2"), (1, "B")])
    {'A': ('A1', 'A2')}
    """
    above: list[tuple[int, str]] = []
    found: dict[str, list[str]] = {}
    seen: set[str] = set()
    for level, code in levels:
        if code in seen:
            raise invalid("hierarchy", "one that has each code once", f"'{code}' twice")
        seen.add(code)
        while above and above[-1][0] >= level:
            above.pop()
        if above:
            found.setdefault(above[-1][1], []).append(code)
        above.append((level, code))
    return {code: tuple(parts) for code, parts in found.items()}


def read_hierarchy(path: str | Path, lead: str = "@") -> dict[str, tuple[str, ...]]:
    """What each code is made of: from a tau-Argus file (.hrc), or a CSV of levels and codes.

    Parameters
    ----------
    lead
        The character that tau-Argus writes before a code once for each level below the first.

    Notes
    -----
    In a CSV the column ``levels`` has "@", "@@", ... or numbers, and ``codes`` the codes, as sdcTable and
    GaussSuppression keep them.
    """
    text = files.read_text(Path(path), what="hierarchy", largest=_LARGEST)
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    if not lines:
        raise invalid("hierarchy", "a file with codes", f"an empty one ({Path(path).name})")
    if is_level_table(lines[0]):
        return children_of(_level_lines(lines, Path(path).name))
    pairs = []
    for line in lines:
        code = line.lstrip(lead)
        pairs.append((len(line) - len(code), code.strip()))
    return children_of(pairs)


def is_level_table(head: str) -> bool:
    """Whether the first line of a file says that it has levels and codes."""
    names = [name.lower() for name in _split(head)[:2]]
    return (
        len(names) == 2 and any(name in _LEVELS for name in names) and any(name in _CODES for name in names)
    )


def _split(line: str) -> list[str]:
    separator = max(_SEPARATORS, key=line.count)
    return [part.strip() for part in next(csv.reader(io.StringIO(line), delimiter=separator), [])]


def _level_lines(lines: Sequence[str], name: str) -> list[tuple[int, str]]:
    head = [each.lower() for each in _split(lines[0])]
    level_at = next(at for at, each in enumerate(head) if each in _LEVELS)
    code_at = next(at for at, each in enumerate(head) if each in _CODES)
    found = []
    for number, line in enumerate(lines[1:], start=2):
        parts = _split(line)
        if len(parts) <= max(level_at, code_at):
            raise invalid("hierarchy", "lines with a level and a code", f"line {number} of {name}")
        level = parts[level_at]
        if not level or (level.strip("@") and not level.isdecimal()):
            raise invalid("hierarchy", 'levels such as "@@" or 2', f"line {number} of {name}")
        found.append((len(level) if level.startswith("@") else int(level), parts[code_at]))
    return found


def refine_codes(name: str, codings: Sequence[ColumnLabels], bands: Bands | None) -> Refined | None:
    """The common refinement of codes of a hierarchy; None unless ``bands`` tells of every code.

    Codes are texts here, also those that look like numbers, and a code may have a single part, which then
    means the same.
    """
    told = {} if bands is None else dict(bands.mapping)
    if bands is None or not told:
        return None
    parts = {leaf for label in told for leaf in bands.made_of(label)}
    labels = list(dict.fromkeys(label for each in codings for label in each.labels))
    if any(each.coded for each in codings) or not all(label in told or label in parts for label in labels):
        return None
    made_of = {label: frozenset(bands.made_of(label)) for label in labels}
    leaves = list(dict.fromkeys(leaf for label in labels for leaf in bands.made_of(label)))
    # leaves that are in the same labels are one value
    alike: dict[tuple[bool, ...], list[str]] = {}
    for leaf in leaves:
        alike.setdefault(tuple(leaf in made_of[label] for label in labels), []).append(leaf)
    values = [", ".join(group) for group in alike.values()]
    first = [group[0] for group in alike.values()]
    held = {
        each: np.array([[leaf in made_of[label] for leaf in first] for label in each.labels])
        for each in codings
    }
    return Refined(name, tuple(values), None, held, {})
