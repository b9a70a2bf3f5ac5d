"""Tables written again in the format they came in, with what is known about each cell."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tellall.core import files
from tellall.core.errors import invalid
from tellall.outputs.argus_files import is_jj, read_rda
from tellall.outputs.cell_files import metadata_of
from tellall.people.labels import label_text
from tellall.people.readers import read_printed

__all__ = ["AGAIN", "IN_VAIN", "MORE", "SHOWN", "WITHHELD", "CellStatus", "write_cells"]

SHOWN, WITHHELD, IN_VAIN, MORE, AGAIN = "shown", "withheld", "in vain", "withhold too", "show again"


@dataclass(frozen=True)
class CellStatus:
    """What is known about a line: what to do about it, and the interval of what is withheld."""

    word: str
    primary: bool = False
    low: float | None = None
    high: float | None = None

    @property
    def hidden(self) -> bool:
        """Whether the line is withheld, if one does what the word says."""
        return self.word in (WITHHELD, IN_VAIN, MORE)


def write_cells(
    folder: Path, paths: Sequence[Path], statuses: Mapping[str, Sequence[CellStatus]]
) -> list[Path]:
    """Writes each table into a folder, by its file's name; returns the paths.

    Parameters
    ----------
    statuses
        By the name of the file, what is known about each of its lines.

    Notes
    -----
    Tables of tau-Argus have their letters of status again, JJ files u, m, s and z, JSON-stat its ``status``
    ("c" by a rule, "x" to protect others) and intervals under ``extension``. Every other table is a CSV with
    its own columns and ``tellall_status``, ``tellall_low`` and ``tellall_high``. Withheld numbers are in
    these files as in those that were read.
    """
    described = metadata_of(paths)
    folder.mkdir(parents=True, exist_ok=True)
    if any(path.resolve().parent == folder.resolve() for path in paths):
        raise invalid("--write", "a folder that the tables are not in", folder)
    written = []
    with files.together() as batch:
        for path in paths:
            own = statuses.get(path.name)
            if own is None:
                continue
            name = path.name
            if path in described:
                text = _argus(path, described[path], own)
            elif is_jj(path):
                text = _jj(path, own)
            elif path.suffix.lower() == ".json":
                text = _json_stat(path, own)
            else:
                text = _with_columns(path, own)
                name = f"{name.partition('.')[0]}.csv"
            written.append(batch.text(folder / name, text))
    return written


def _argus(path: Path, rda: Path, statuses: Sequence[CellStatus]) -> str:
    told = read_rda(rda)
    at = next(place for place, column in enumerate(told.columns) if column.role == "status")
    out = io.StringIO()
    writer = csv.writer(out, delimiter=told.separator, quoting=csv.QUOTE_MINIMAL, lineterminator="\n")
    text = path.read_bytes().decode("utf-8-sig", errors="replace")
    lines = [
        line for line in csv.reader(io.StringIO(text), delimiter=told.separator) if "".join(line).strip()
    ]
    for line, status in zip(lines, statuses, strict=False):
        if status.hidden:
            line[at] = told.unsafe if status.primary else "M"
        elif status.word == AGAIN:
            line[at] = told.safe
        writer.writerow(line)
    return out.getvalue()


def _jj(path: Path, statuses: Sequence[CellStatus]) -> str:
    lines = [line.strip() for line in path.read_text(errors="replace").splitlines() if line.strip()]
    for at, status in enumerate(statuses):
        words = lines[at + 2].split()
        if status.hidden:
            words[3] = "u" if status.primary else "m"
        elif status.word == AGAIN:
            words[3] = "s"
        lines[at + 2] = " ".join(words)
    return "\n".join(lines) + "\n"


def _json_stat(path: Path, statuses: Sequence[CellStatus]) -> str:
    document: dict[str, Any] = files.read_json(path, what="table")
    inner = document.get("dataset")
    data = inner if isinstance(inner, dict) and "dimension" in inner else document
    data["status"] = {
        str(at): "c" if status.primary else "x" for at, status in enumerate(statuses) if status.hidden
    }
    extension = data.setdefault("extension", {})
    if isinstance(extension, dict):
        extension["tellall"] = {
            str(at): {"status": status.word, "low": status.low, "high": status.high}
            for at, status in enumerate(statuses)
            if status.word != SHOWN
        }
    return json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def _with_columns(path: Path, statuses: Sequence[CellStatus]) -> str:
    read: Any = read_printed(path)
    names = [str(name) for name in (read.keys() if isinstance(read, Mapping) else read.columns)]
    columns = [[label_text(each) for each in list(read[name])] for name in names]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*names, "tellall_status", "tellall_low", "tellall_high"])
    for line, status in zip(zip(*columns, strict=True), statuses, strict=False):
        writer.writerow([*line, status.word, _number(status.low), _number(status.high)])
    return out.getvalue()


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.15g}"
