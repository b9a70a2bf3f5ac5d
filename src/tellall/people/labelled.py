"""Files of SPSS, Stata and SAS, read by pyreadstat with the labels of their values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from tellall.core.errors import InvalidInput, invalid
from tellall.core.memory import check_columns_fit
from tellall.core.text import one_line, said_safely
from tellall.linalg.operators.linear_operator import HOST
from tellall.people.columns import is_missing

__all__ = ["LABELLED", "read_labelled"]

LABELLED = {".sav": "read_sav", ".zsav": "read_sav", ".dta": "read_dta", ".sas7bdat": "read_sas7bdat"}
_CELL = 40  # bytes of a value while it is read


def read_labelled(file: Path) -> tuple[dict[str, Any], str]:
    """The columns of a file by name, labels in place of values, and how it was read, in sentences.

    A column of which every value has a label of its own becomes its labels. Where some have none, as in a
    count with a label for "or more", or where two values share a label, the codes stay.
    """
    ending = file.suffix.lower()
    if find_spec("pyreadstat") is None:
        raise InvalidInput(
            f"Reading {ending} files needs pyreadstat. Install it with: pip install 'tellall[spss]'"
        )
    import pyreadstat

    reader = getattr(pyreadstat, LABELLED[ending])
    try:
        _, about = reader(str(file), metadataonly=True, output_format="dict")
        rows, width = int(about.number_rows or 0), len(about.column_names)
        needed = _CELL * rows * width
        check_columns_fit(file, rows=rows, columns=width, needed=needed, free=HOST.free_memory, what="path")
        found, about = reader(str(file), output_format="dict")
    except (InvalidInput, MemoryError):
        raise
    except Exception as error:  # a foreign format can break its reader in any way
        why = f"pyreadstat failed with {said_safely(error)}."
        raise invalid("path", f"a readable {ending.lstrip('.')} file", file, why) from None
    labels: Mapping[str, Mapping[Any, str]] = about.variable_value_labels
    columns, kept = {}, []
    for name, values in found.items():
        columns[name], whole = _labelled(values, labels.get(name) or {})
        kept += [] if whole else [name]
    return columns, _said(file, kept)


def _said(file: Path, kept: list[str]) -> str:
    name = one_line(file.name)
    if file.suffix.lower() == ".sas7bdat":
        return f"{name} was read with the codes of its values: labels in a SAS catalog are not read."
    said = f"{name} was read with the labels of its values, where it has them."
    listed = ", ".join(f"'{one_line(each)}'" for each in kept[:3]) + (", ..." if len(kept) > 3 else "")
    return f"{said} Some values have no label of their own in {listed}: the codes stay." if kept else said


def _labelled(values: Any, labels: Mapping[Any, str]) -> tuple[Any, bool]:
    """A column with labels in place of values, and whether no label had to be left out."""
    absent = np.fromiter(map(is_missing, values), dtype=bool, count=len(values))
    known = {value for value, gone in zip(values, absent, strict=True) if not gone}
    texts = [labels[value].strip() for value in known if value in labels]
    if texts and len(set(texts)) == len(known):
        pairs = zip(values, absent, strict=True)
        cells = [None if gone else labels[value].strip() for value, gone in pairs]
        return _objects(cells), True
    numbers = known and all(isinstance(value, int | float) for value in known)
    if numbers:
        plain = np.array([0 if gone else value for value, gone in zip(values, absent, strict=True)])
        return np.ma.array(plain, mask=absent), not texts
    return _objects([None if gone else value for value, gone in zip(values, absent, strict=True)]), not texts


def _objects(cells: Sequence[object]) -> Any:
    out = np.empty(len(cells), dtype=object)
    out[:] = cells
    return out
