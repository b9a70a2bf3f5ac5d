"""Releases as files: a versioned JSON document, many values beside it in Parquet."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tellall.algebra.operators.base import Array
from tellall.core import files
from tellall.core.errors import InvalidInput, invalid
from tellall.core.schemas import VERSION
from tellall.core.version import __version__
from tellall.people.imprint import Imprint
from tellall.release import catalogue
from tellall.release.protections.base import Protection, noise_of
from tellall.release.statistics.base import Statistic

__all__ = [
    "MANY_VALUES",
    "Saved",
    "load",
    "save",
]

MANY_VALUES = 100_000


@dataclass(frozen=True, eq=False)
class Saved:
    """The parts of a release that go into its file."""

    values: Array
    statistic: Statistic
    protections: tuple[Protection, ...]
    columns: tuple[str, ...]
    imprint: Imprint | None
    levels: int


def save(release: Saved, path: Path) -> Path:
    """The path, after the release is in it."""
    if not path.parent.is_dir():
        raise invalid("path", "a file in a folder that exists", str(path))
    if path.is_dir():
        raise invalid("path", "a file, not a folder", str(path))
    document = _document(release)
    if release.values.size > MANY_VALUES:
        beside = path.with_name(f"{path.name}.values.parquet")
        document["values"] = files.write_values(beside, np.asarray(release.values, dtype=np.float64))
    else:
        document["values"] = [None if np.isnan(value) else float(value) for value in release.values]
    return files.write_json(path, document)


def _document(release: Saved) -> dict[str, Any]:
    """What is saved of a release, but for its values."""
    imprint = release.imprint
    names = release.columns
    levels = imprint.levels if imprint else (1,) * len(names)
    cuts = imprint.cuts if imprint else (None,) * len(names)
    return {
        "schema_version": VERSION,
        "document": "release",
        "tellall": __version__,
        "description": release.statistic.describe(),
        "statistic": catalogue.to_plain(release.statistic),
        "protect": [catalogue.to_plain(protection) for protection in release.protections],
        "columns": [
            {"name": name, "levels": level, "cuts": None if cut is None else list(cut)}
            for name, level, cut in zip(names, levels, cuts, strict=True)
        ],
        "people": imprint.people if imprint else None,
        "fingerprint": imprint.fingerprint if imprint else None,
        "levels": release.levels,
        "values": [],
    }


def load(path: Path) -> Saved:
    """The parts of the release that was saved there."""
    from pydantic import ValidationError

    from tellall.core.schemas.documents import ReleaseDocument

    document = files.read_json(path, what="release")
    if document.get("document") == "release" and document.get("schema_version") != VERSION:
        raise invalid("schema_version", f"{VERSION}", document.get("schema_version"), "Update tellall.")
    try:
        checked = ReleaseDocument.model_validate(document)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])[:80]
        raise InvalidInput(
            f"{path} is not a release saved by tellall: {where}: {first['msg']} "
            f"({error.error_count()} such errors)."
        ) from None
    if isinstance(checked.values, list):
        values = np.array([np.nan if value is None else value for value in checked.values], dtype=np.float64)
    else:
        beside = checked.values
        if Path(beside.parquet).name != beside.parquet:
            raise invalid("values", "in a file beside the release", beside.parquet)
        values = files.read_values(path.parent / beside.parquet, count=beside.count, sha256=beside.sha256)
    if np.isinf(values).any():
        raise invalid("values", "finite, or missing where suppressed", "an infinite value")
    names = tuple(column.name for column in checked.columns)
    imprint = None
    if checked.fingerprint is not None and checked.people is not None:
        imprint = Imprint(
            names=names,
            levels=tuple(column.levels for column in checked.columns),
            cuts=tuple(None if column.cuts is None else tuple(column.cuts) for column in checked.columns),
            people=checked.people,
            fingerprint=checked.fingerprint,
        )
    protections = tuple(catalogue.build("protection", plain) for plain in checked.protect)
    noise_of(protections)  # what lacks a number that publishing fills in would pass for exact
    return Saved(
        values=values,
        statistic=catalogue.build("statistic", checked.statistic),
        protections=protections,
        columns=names,
        imprint=imprint,
        levels=checked.levels,
    )
