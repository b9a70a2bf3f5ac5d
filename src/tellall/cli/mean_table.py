"""Published means by name: a table of two columns, or a saved release of means."""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tellall.core.errors import invalid
from tellall.people.wide_csv import MISSING_WORDS

if TYPE_CHECKING:
    from tellall.algebra.operators.base import Array

__all__ = ["read_named_means"]

_ENDINGS = (".csv", ".tsv", ".tab")
_LARGEST = 2**30


def read_named_means(
    option: str, path: Path, people: int | None
) -> tuple[list[str], Array, int | None, bool]:
    """Names, means, how many people they are over where the file says so, and whether it is a saved release.

    The means of a release are in the data's own coding: mean allele counts for genotypes.
    """
    if path.name.lower().endswith(".json"):
        return _of_release(option, path, people)
    if path.name.lower().removesuffix(".gz").endswith(_ENDINGS):
        rows = _rows(option, path)
    else:
        from tellall.people.readers import read_table

        table = read_table(path)
        columns = [list(np.ma.asarray(table[name]).tolist()) for name in table]
        rows = [list(map(str, table)), *([_text(v) for v in row] for row in zip(*columns, strict=True))]
    if len(rows) < 2:
        raise invalid(option, "a table with means in it", f"{path}, which has none")
    for number, row in enumerate(rows, 1):
        if len(row) != 2:
            raise invalid(option, "a table of two columns, name and mean", f"{len(row)} in line {number:,}")
    names = [row[0] for row in rows[1:]]
    if len(set(names)) < len(names):
        raise invalid(option, "each name once", "a name twice")
    return names, np.array([_mean(option, rows[0][1], row[1]) for row in rows[1:]]), None, False


def _of_release(option: str, path: Path, people: int | None) -> tuple[list[str], Array, int | None, bool]:
    import tellall

    release = tellall.Release.load(path)
    if not isinstance(release.statistic, tellall.Means):
        raise invalid(option, "a release of Means()", release.statistic.describe())
    n = release.imprint.people if release.imprint is not None else people
    for protection in release.protections:
        if isinstance(protection, tellall.Subsample) and n is not None:
            n = protection.kept(n)
    if release.statistic.scale == "fractions":
        return list(release.columns), release.values, n, True
    if people is None and n is None:
        raise invalid("--people", "given where the release holds sums", "nothing")
    return list(release.columns), release.values / (people or n or 1), n, True


def _rows(option: str, path: Path) -> list[list[str]]:
    """The cells of a delimited file, plain or gzipped; empty lines left out."""
    if not path.is_file():
        raise invalid(option, "a file that exists", str(path))
    try:
        with gzip.open(path, "rb") if path.suffix.lower() == ".gz" else path.open("rb") as file:
            raw = file.read(_LARGEST + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise invalid(option, "a gzip file that is whole and sound", path) from None
    if len(raw) > _LARGEST:
        raise invalid(option, f"a table of at most {_LARGEST // 2**20} MB", str(path))
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise invalid(option, "text in UTF-8", str(path)) from None
    head = text.partition("\n")[0]
    tabbed = path.name.lower().removesuffix(".gz").endswith((".tsv", ".tab"))
    delimiter = "\t" if tabbed else max(",;\t|", key=head.count)
    try:
        rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        return [[cell.strip() for cell in row] for row in rows if row]
    except csv.Error as error:
        raise invalid(option, "a readable table", str(path), f"The reader said: {error}.") from None


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def _mean(option: str, column: str, text: str) -> float:
    if text.lower() in MISSING_WORDS:
        return np.nan
    try:
        return float(text)
    except ValueError:
        raise invalid(option, f"numbers in column '{column}'", "text") from None
