"""Codes and numbers of a column as SQL for DuckDB."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor

from tellall.core.duck import literal, quoted
from tellall.people.counting.coding import Coding

__all__ = [
    "code_of",
    "has_code",
    "number_of",
    "select",
]

_EXACT = 2.0**53


def number_of(name: str, kind: str) -> str:
    """A column as a real number: a date as days since 1970-01-01."""
    return f"floor(epoch({quoted(name)})) / 86400.0" if kind == "date" else f"CAST({quoted(name)} AS DOUBLE)"


def code_of(coding: Coding, kind: str, *, boolean: bool = False) -> str:
    """The code of a person; NULL for a value that the scan did not see.

    Examples
    --------
    >>> from tellall.people.codes import Column
    >>> code_of(Coding(Column("age", ("≤ 30", "> 30")), above=(30.5,)), "whole")
    '("age" > 30)::UTINYINT'
    """
    column = coding.column
    small = "UTINYINT" if column.levels <= 2**8 else "USMALLINT" if column.levels <= 2**16 else "UINTEGER"
    if coding.texts is not None:
        listed = ", ".join(map(literal, coding.texts))
        plain = f"CAST({quoted(coding.name)} AS VARCHAR)"
        code = f"(nullif(list_position([{listed}]::VARCHAR[], {plain}), 0) - 1)::{small}"
    elif coding.above:
        code = " + ".join(f"({test})::{small}" for test in _tests(coding, kind, boolean))
    else:
        code = f"CASE WHEN {quoted(coding.name)} IS NULL THEN NULL ELSE 0::{small} END"
    if not column.gaps and kind != "real":  # a comparison with NULL is NULL, but NaN is above every point
        return code
    absent = f"{column.levels - 1}::{small}" if column.gaps else "NULL"
    return f"CASE WHEN {_missing(coding.name, kind)} THEN {absent} ELSE {code} END"


def has_code(coding: Coding, code: int, kind: str) -> str:
    """Whether a person has that code, as a test of the column itself: DuckDB then skips whole files."""
    if coding.column.gaps and code == coding.column.levels - 1:
        return f"({_missing(coding.name, kind)})"
    if coding.texts is not None:
        return f"{quoted(coding.name)} = {literal(coding.texts[code])}"
    number, points = number_of(coding.name, kind), coding.above or ()
    tests = [f"{number} > {points[code - 1]!r}::DOUBLE"] if code else []
    tests += [f"{number} <= {points[code]!r}::DOUBLE"] if code < len(points) else []
    return " AND ".join([*tests, f"NOT ({_missing(coding.name, kind)})"])


def _tests(coding: Coding, kind: str, boolean: bool) -> list[str]:
    """Tests whether the value is above each point; whole numbers are compared with the point's floor."""
    points = coding.above or ()
    if kind == "whole" and all(abs(point) < _EXACT for point in points):
        side = f"{quoted(coding.name)}::UTINYINT" if boolean else quoted(coding.name)
        return [f"{side} > {floor(point)}" for point in points]
    return [f"{number_of(coding.name, kind)} > {point!r}::DOUBLE" for point in points]


def _missing(name: str, kind: str) -> str:
    absent = f"{quoted(name)} IS NULL"
    return f"{absent} OR isnan({number_of(name, kind)})" if kind == "real" else absent


def select(chosen: Sequence[str]) -> str:
    """A SELECT of these expressions, each under a name of its own."""
    return "SELECT " + ", ".join(f"{expression} AS c{index}" for index, expression in enumerate(chosen))
