"""regression-noise: its data, its printed tables, and the ways in which columns may have been prepared."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tellall.algebra.operators.base import Array, IntArray
from tellall.core.errors import invalid
from tellall.people.readers import read_table

__all__ = [
    "FILE",
    "PAPER_SIZES",
    "PAPER_SWEEP",
    "PREPARATIONS",
    "SCALES",
    "UNITS",
    "RegressionData",
    "load",
    "prepare",
    "unit_of",
]

FILE, _SECRET = "cancer_reg.csv", "target_deathrate"

# Table 2: data-set size → mean absolute error and its standard deviation over 50 samples.
PAPER_SIZES = {
    10: (0.0, 0.0),
    20: (0.0, 0.0),
    50: (15.8, 5.605),
    100: (20.01, 5.241),
    200: (20.07, 2.114),
    500: (20.36, 1.392),
    1000: (20.42, 0.898),
    2000: (20.37, 1.087),
    3047: (20.34, 0.564),
}

# Table 3: scale → mean absolute error under Gaussian, Laplace and truncated normal noise, ten repeats.
PAPER_SWEEP = {
    1.0: (819.18, 976.86, 21.69),
    0.7: (799.5, 683.43, 13.48),
    0.3: (233.76, 325.25, 7.1),
    0.1: (73.19, 135.72, 1.62),
    0.07: (32.33, 76.48, 1.14),
    0.03: (27.57, 26.05, 0.65),
    0.01: (10.11, 10.9, 0.19),
    0.007: (5.28, 6.92, 0.15),
    0.003: (2.68, 3.12, 0.08),
    0.001: (0.82, 1.01, 0.03),
    1e-4: (0.09, 0.1, 0.0),
    1e-5: (0.01, 0.01, 0.0),
    1e-6: (0.0, 0.0, 0.0),
    1e-7: (0.0, 0.0, 0.0),
    1e-8: (0.0, 0.0, 0.0),
    1e-9: (0.0, 0.0, 0.0),
}
SCALES = tuple(sorted(PAPER_SWEEP))

PREPARATIONS = ("standardised", "standardised in the sample", "divided by their deviation")
UNITS = ("as it is", "standardised", "from 0 to 1")


@dataclass(frozen=True, eq=False)
class RegressionData:
    """Public columns and a real secret.

    Attributes
    ----------
    name
        What the records are.
    features, secret
        n × d, and one number a record.
    columns
        The names of the features.
    paper
        Whether these are the paper's own data.
    """

    name: str
    features: Array
    secret: Array
    columns: tuple[str, ...]
    paper: bool

    @property
    def n(self) -> int:
        """How many records."""
        return self.secret.size

    @property
    def d(self) -> int:
        """How many public columns, one regression each."""
        return len(self.columns)


def load(place: str | Path = ".") -> RegressionData:
    """The paper's data from a file or a folder that holds it; scikit-learn's diabetes patients otherwise.

    Notes
    -----
    Text and columns with missing values are left out, as in the paper (Sec. 4.1). The stand-in is taken only
    where no place is named and the file is not in the current folder.
    """
    path = Path(place) / FILE if Path(place).is_dir() else Path(place)
    if path.is_file():
        return _counties(path)
    if Path(place) == Path():
        return _patients()
    raise invalid("folder", f"{FILE}, or a folder that holds it", str(place))


def _counties(path: Path) -> RegressionData:
    table = read_table(path)
    numbers: dict[str, Array] = {}
    for name, column in table.items():
        values = np.ma.asarray(column)
        if values.dtype.kind in "iuf":
            filled = np.ma.filled(values.astype(np.float64), np.nan)
            if np.isfinite(filled).all():
                numbers[name] = filled
    secret = numbers.pop(_SECRET, None)
    if secret is None or not numbers:
        raise invalid("folder", f"a table with {_SECRET} and columns of numbers", str(path))
    return RegressionData("counties", np.column_stack(list(numbers.values())), secret, tuple(numbers), True)


def _patients() -> RegressionData:
    from sklearn.datasets import load_diabetes

    bunch = load_diabetes(scaled=False)
    return RegressionData(
        "diabetes patients", bunch.data.astype(np.float64), bunch.target, tuple(bunch.feature_names), False
    )


def prepare(features: Array, sample: IntArray, how: str) -> Array:
    """The features of a sample, prepared.

    "standardised": centred and divided by the standard deviation of all records; "standardised in the
    sample": by its own; "divided by their deviation": scaled but not centred.
    """
    if how not in PREPARATIONS:
        raise invalid("how", f"one of {', '.join(PREPARATIONS)}", how)
    rows = features[sample]
    reference = rows if how == "standardised in the sample" else features
    spread = reference.std(axis=0)
    centre = 0.0 if how == "divided by their deviation" else reference.mean(axis=0)
    return np.asarray((rows - centre) / np.where(spread > 0, spread, 1.0))


def unit_of(secret: Array, how: str) -> float:
    """What one unit of noise is, in the secret's own unit, where the secret was scaled before fitting.

    Attack and fits being linear, scaling the secret by 1/c and the answer by c is the same as noise c times
    as large; shifting it changes nothing.
    """
    if how not in UNITS:
        raise invalid("how", f"one of {', '.join(UNITS)}", how)
    return {"as it is": 1.0, "standardised": float(secret.std()), "from 0 to 1": float(np.ptp(secret))}[how]
