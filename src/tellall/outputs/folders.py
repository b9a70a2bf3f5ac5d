"""Reads a folder of outputs, from ACRO or with a description."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tellall.core.errors import invalid
from tellall.outputs.acro import RESULTS, is_acro, read_acro, shared_variable
from tellall.outputs.described import DESCRIPTION, is_described, read_described
from tellall.outputs.output_folder import OutputFolder
from tellall.people.bands import Bands
from tellall.people.dataset import Public
from tellall.statistics.cell_counts import CellCounts
from tellall.statistics.cells import CellNumbers
from tellall.statistics.conditions import Condition
from tellall.statistics.estimators import Estimator
from tellall.statistics.marginals import Marginals, Tables
from tellall.statistics.printed_cells import PrintedCells
from tellall.statistics.statistic import Statistic

__all__ = ["columns_used", "likely_secret", "read_folder"]


def read_folder(
    folder: Path,
    public: Any,
    *,
    secret: str | None = None,
    may_include: bool = False,
    bands: Sequence[Bands] = (),
) -> OutputFolder:
    """The outputs of a folder as releases about these people, or with ``may_include`` about some of them.

    ``bands`` says what labels of described tables mean.
    """
    if is_acro(folder):
        return read_acro(folder, public, secret=secret, may_include=may_include)
    if is_described(folder):
        return read_described(folder, public, secret=secret, may_include=may_include, bands=bands)
    rule = f"one that ACRO wrote, with {RESULTS}, or one with {DESCRIPTION}"
    raise invalid("folder", rule, folder, "tellall init FOLDER drafts one.")


def likely_secret(folder: Path, names: Sequence[str]) -> str:
    """The column that most outputs of a folder are about."""
    found = shared_variable(folder, names)
    if found is None:
        raise invalid("--secret", "given, since the outputs do not say what they are about", "nothing")
    return found


def columns_used(folder: OutputFolder, public: Public) -> list[str]:
    """The public columns that the outputs are made of."""
    found = [name for release in folder.releases for name in _columns(release.statistic, public)]
    return list(dict.fromkeys(found))


def _columns(statistic: Statistic, public: Public) -> list[str]:
    where = statistic.restricted_to
    if where is not None:
        chosen = where.columns if isinstance(where, Condition) else ()
        return [*_columns(statistic.of_all, public), *sorted(chosen)]
    if isinstance(statistic, Estimator):
        terms = [term for terms in statistic.models(public).terms for term in terms]
        return [public.names[index] for term in terms for index in term.columns]
    if isinstance(statistic, CellCounts | PrintedCells):
        return list(statistic.columns)
    if isinstance(statistic, Marginals | Tables | CellNumbers):
        return [str(name) for names in statistic.attributes or () for name in names]
    return list(public.names)
