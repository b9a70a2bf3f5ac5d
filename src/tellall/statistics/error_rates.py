"""ErrorRates: how often classifiers are wrong about the secret."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import dataclass, replace
from math import sqrt

import numpy as np
import numpy.typing as npt

from tellall.core.errors import InvalidInput, invalid
from tellall.linalg.operators.linear_operator import Array, Dense, IntArray
from tellall.people.codes import group_rows
from tellall.people.dataset import Dataset, Public
from tellall.statistics.classifiers import (
    Classifier,
    KnownPredictions,
    Listed,
    Model,
    Tree,
    as_classifier,
    predictions,
    remember,
)
from tellall.statistics.conditions import (
    Condition,
    Mask,
    Subset,
    as_subset,
)
from tellall.statistics.statistic import Equations, Statistic, check_scale

__all__ = ["ErrorRates"]


@dataclass(frozen=True)
class ErrorRates(Statistic):
    """The share of people for whom each classifier is wrong.

    Parameters
    ----------
    classifiers
        One or more of: a fitted object with ``predict``, such as scikit-learn's, a function of the public
        columns (``lambda x: x["age"] >= 40``; x is also an array of people × columns), a condition such as
        ``"age >= 40"``, or a tree of conditions ``{"if": "age >= 40", "then": 1, "else": {...}}``.
    subset
        The people on whom it was measured, a mask or a condition; everybody by default. If nobody
        satisfies the condition, the rates are missing.
    scale
        "fractions" of those people, or "counts" of errors.

    Notes
    -----
    Anyone with the public columns and the classifier knows the predictions p_i. Over N people

        N rate = Σ p_i + Σ (1 − 2 p_i) s_i.

    The same tree over every choice of attributes is the predicate tree(x_J) xor s: use Predicates. Replacing
    one person moves each number of errors by at most one: L1 sensitivity m, L2 √m for m classifiers. It may
    also change how many people satisfy a condition, so that shares of these have no sensitivity.

    Examples
    --------
    >>> people = Dataset.from_frame({"age": [31, 45, 62, 70], "ill": [0, 1, 1, 0]}, secret="ill")
    >>> ErrorRates(["age >= 40", lambda x: x["age"] > 65]).values(people).tolist()
    [0.25, 0.75]
    """

    classifiers: tuple[Classifier, ...]
    subset: Subset | None = None
    scale: str = "fractions"

    def __init__(
        self,
        classifiers: object,
        subset: str | npt.ArrayLike | Subset | None = None,
        *,
        scale: str = "fractions",
    ) -> None:
        single = isinstance(classifiers, str | Mapping) or hasattr(classifiers, "predict")
        listed = classifiers if isinstance(classifiers, Iterable) and not single else [classifiers]
        chosen = tuple(map(as_classifier, listed))
        if not chosen:
            raise invalid("classifiers", "one or more", "none")
        object.__setattr__(self, "classifiers", chosen)
        object.__setattr__(self, "subset", None if subset is None else as_subset(subset, "subset"))
        object.__setattr__(self, "scale", check_scale(scale))
        if isinstance(self.subset, Mask) and not self.subset.bits.any():
            raise invalid("subset", "one person or more", "nobody")

    def describe(self) -> str:
        what = "error rates" if self.scale == "fractions" else "errors"
        where = "" if self.subset is None else " in a subset of people"
        many = len(self.classifiers)
        return f"{what} of {many} classifier{'' if many == 1 else 's'}{where}"

    def size(self, public: Public) -> int:
        return len(self.classifiers)

    def units(self, public: Public) -> float:
        return max(1.0, float(self._members(public).sum())) if self.scale == "fractions" else 1.0

    def sensitivity(self, public: Public) -> tuple[float, float] | None:
        """The L1 and L2 sensitivities of the numbers of errors, one person replaced.

        None for shares of the people who satisfy a condition: a replaced person may change their number, and
        rates of nobody are missing.
        """
        if self.scale == "fractions" and isinstance(self.subset, Condition):
            return None
        return float(len(self.classifiers)), sqrt(len(self.classifiers))

    def take(self, people: IntArray, public: Public) -> ErrorRates:
        made = copy(self)  # the subset may become empty, which the constructor refuses
        kept = tuple(_for_some(each, people, public) for each in self.classifiers)
        object.__setattr__(made, "classifiers", kept)
        if isinstance(self.subset, Mask):
            object.__setattr__(made, "subset", self.subset.take(people))
        return made

    def values(self, dataset: Dataset) -> Array:
        secret = dataset.bits.astype(np.float64)
        wrong = predictions(self.classifiers, dataset.public) != secret
        chosen = self._members(dataset.public)
        if self.scale == "fractions" and not chosen.any():
            return np.full(len(self.classifiers), np.nan)
        return np.asarray((wrong & chosen).sum(axis=1) / self.units(dataset.public))

    def equations(self, public: Public, values: Array) -> Equations:
        chosen = self._members(public)
        predicted = predictions(self.classifiers, public)
        known = (predicted & chosen).sum(axis=1)
        operator = Dense(np.where(chosen, 1.0 - 2.0 * predicted, 0.0))
        alike = group_rows(np.vstack([predicted & chosen, chosen])).index
        return Equations(operator, values - known, alike)

    def settle(self, public: Public, *, secret: bool = True) -> ErrorRates:
        kept = tuple(remember(classifier, public) for classifier in self.classifiers)
        return replace(self, classifiers=kept)

    def as_plain(self) -> dict[str, object]:
        """Trees as nested conditions, Python objects as their predictions."""
        return {
            "classifiers": [classifier.to_plain() for classifier in self.classifiers],
            "subset": None if self.subset is None else self.subset.as_plain(),
        }

    @property
    def published_too(self) -> str:
        told = []
        if not all(isinstance(each, Tree) for each in self.classifiers):
            told.append("how many distinct public rows there are and what is predicted for each")
        if isinstance(self.subset, Mask):
            told.append("who is in the subset, by the order of the people's file")
        return "; ".join(told)

    @property
    def of_everybody(self) -> bool:
        return self.subset is None

    @property
    def no_population(self) -> str:
        known = any(isinstance(each, KnownPredictions | Listed) for each in self.classifiers)
        listed = known or isinstance(self.subset, Mask)
        return "Predictions or a subset given person by person cover nobody else." if listed else ""

    def _members(self, public: Public) -> npt.NDArray[np.bool_]:
        if self.subset is None:
            return np.ones(public.n, dtype=bool)
        return self.subset.members(public, "subset")


def _for_some(classifier: Classifier, people: IntArray, public: Public) -> Classifier:
    """The classifier for some of the people; its predictions if it depends on more than their columns."""
    if isinstance(classifier, Tree):
        return classifier
    predicted = classifier.predict(public)[people]
    if isinstance(classifier, Model):
        try:
            if np.array_equal(classifier.predict(public.take(people)), predicted):
                return classifier
        except InvalidInput:
            pass  # it depends on the order of the people
    return Listed(predicted)
