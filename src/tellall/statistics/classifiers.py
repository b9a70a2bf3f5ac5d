"""Classifiers that predict the secret bit from the public columns: trees of conditions, models, functions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.core.checks import are_bits
from tellall.core.errors import InvalidInput, invalid
from tellall.core.text import one_line, said_safely
from tellall.people.dataset import Public, left_out_note
from tellall.statistics.conditions import Condition, Mask, parse_condition

__all__ = [
    "Classifier",
    "Columns",
    "KnownPredictions",
    "Listed",
    "Model",
    "Tree",
    "as_classifier",
    "predictions",
    "remember",
]

Bits = npt.NDArray[np.bool_]
_DEEPEST = 50
_LONGEST_TEXT = 300
_WHAT = "fitted classifiers (with predict), functions of the public columns, or trees of conditions"


class Columns(np.ndarray[Any, Any]):
    """The public columns as a people × columns array that also takes names: ``x["age"]``, ``x[:, 0]``.

    A column of text has its codes in the array and its texts under its name.
    """

    public: Public

    @classmethod
    def of(cls, public: Public) -> Columns:
        """The columns of these people."""
        array = np.stack([_numbers(public, index) for index in range(len(public.columns))], axis=1)
        view = array.view(cls)
        view.public = public
        return view

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            return column_values(self.public, key)
        return np.asarray(self)[key]


@dataclass(frozen=True)
class Tree:
    """A condition, and the prediction if it holds and if it does not: a bit, or another tree."""

    condition: Condition
    then: Tree | int = 1
    otherwise: Tree | int = 0

    @classmethod
    def from_plain(cls, plain: object, depth: int = 0) -> Tree | int:
        """The tree described by a text, a bit or a table { if = ..., then = ..., else = ... }."""
        if depth > _DEEPEST:
            raise invalid("classifiers", f"trees at most {_DEEPEST} deep", "a deeper one")
        if isinstance(plain, str):
            return cls(parse_condition(plain))
        if isinstance(plain, Mapping):
            if set(plain) != {"if", "then", "else"}:
                raise invalid("classifiers", "trees with 'if', 'then' and 'else'", ", ".join(map(str, plain)))
            branches = (cls.from_plain(plain[word], depth + 1) for word in ("then", "else"))
            return cls(parse_condition(plain["if"]), *branches)
        if not isinstance(plain, int | np.integer | np.bool_) or plain not in (0, 1) or depth == 0:
            raise invalid("classifiers", "trees whose leaves are 0 or 1", plain)
        return int(plain)

    def predict(self, public: Public) -> Bits:
        """Who is predicted to have the secret."""
        sides = [
            side.predict(public) if isinstance(side, Tree) else bool(side)
            for side in (self.then, self.otherwise)
        ]
        return np.where(self.condition.mask(public), *sides).astype(bool)

    def to_plain(self) -> Any:
        """The tree as nested conditions."""
        if (self.then, self.otherwise) == (1, 0):
            return self.condition.text
        then, otherwise = (
            side.to_plain() if isinstance(side, Tree) else side for side in (self.then, self.otherwise)
        )
        return {"if": self.condition.text, "then": then, "else": otherwise}


@dataclass(frozen=True)
class KnownPredictions:
    """The predictions of some classifier for each distinct public row of one table of people.

    Rows are numbered in sorted order, so people may come in any order and no row has to be written down.
    """

    description: str
    mask: Mask

    @classmethod
    def of(cls, description: str, public: Public, predicted: Bits) -> KnownPredictions | None:
        """The predictions by distinct row; None if people with equal rows have different predictions."""
        index, count = _distinct(public)
        bits = np.zeros(count, dtype=bool)
        bits[index] = predicted
        return cls(description, Mask.of(bits)) if np.array_equal(bits[index], predicted) else None

    def predict(self, public: Public) -> Bits:
        """Who is predicted to have the secret."""
        index, count = _distinct(public)
        if count != self.mask.people:
            raise invalid(
                "public",
                f"the people whose predictions were saved ({self.mask.people} distinct rows)",
                f"{count} distinct rows",
            )
        return np.asarray(self.mask.bits[index])

    def to_plain(self) -> dict[str, Any]:
        """The predictions as hexadecimal digits."""
        bits = self.mask.packed.hex()
        return {"description": self.description, "people": self.mask.people, "bits": bits}

    @classmethod
    def from_plain(cls, plain: Mapping[str, object]) -> KnownPredictions:
        """The predictions that were saved."""
        text = plain.get("description")
        if not isinstance(text, str):
            raise invalid("classifiers", "predictions with a description", text)
        rest = {key: value for key, value in plain.items() if key != "description"}
        return cls(text[:_LONGEST_TEXT], Mask.from_plain(rest, "classifiers"))


@dataclass(frozen=True, eq=False)
class Model:
    """A Python object that predicts: one with ``predict``, or a function of the public columns."""

    thing: Any
    known: KnownPredictions | None = None

    @property
    def description(self) -> str:
        """The kind of object; nothing else, because that may reveal the people it was fitted to."""
        name = getattr(self.thing, "__qualname__", None)
        text = f"function {name}" if isinstance(name, str) else type(self.thing).__name__
        return one_line(text, _LONGEST_TEXT)

    def predict(self, public: Public) -> Bits:
        """Who is predicted to have the secret."""
        try:
            raw = self._call(public)
        except InvalidInput:
            raise
        except Exception as error:  # a stranger's code may raise anything
            raise invalid(
                "classifiers", "able to predict from the public columns", said_safely(error)
            ) from error
        return _as_bits(np.asarray(raw), getattr(self.thing, "classes_", None), public.n)

    def _call(self, public: Public) -> Any:
        if not hasattr(self.thing, "predict"):
            return self.thing(Columns.of(public))
        names = getattr(self.thing, "feature_names_in_", None)
        if names is not None:
            return self.thing.predict(_frame(public, [str(name) for name in names]))
        wanted = getattr(self.thing, "n_features_in_", len(public.columns))
        if wanted != len(public.columns):
            rule = f"fitted to the {len(public.columns)} public columns{left_out_note(public)}"
            raise invalid("classifiers", rule, f"one fitted to {wanted}")
        return self.thing.predict(np.asarray(Columns.of(public)))

    def to_plain(self) -> Any:
        """The object's predictions; the object itself is not saved."""
        if self.known is None:
            raise invalid(
                "classifiers",
                "published before they are saved, and predict the same for people with equal public rows",
                self.description,
            )
        return self.known.to_plain()


@dataclass(frozen=True, eq=False)
class Listed:
    """Predictions person by person, for people in a fixed order; never published and never saved."""

    bits: Bits

    def predict(self, public: Public) -> Bits:
        """Who is predicted to have the secret."""
        if self.bits.size != public.n:
            raise invalid("classifiers", f"predictions for {self.bits.size} people", f"{public.n} people")
        return self.bits

    def to_plain(self) -> Any:
        """Raises an error: it cannot be saved."""
        raise invalid("classifiers", "published ones, to be saved", "predictions for some of the people")


Classifier = Tree | KnownPredictions | Model | Listed


def as_classifier(thing: object) -> Classifier:
    """The classifier for a condition, a tree, saved predictions, a model or a function."""
    if isinstance(thing, Tree | KnownPredictions | Model | Listed):
        return thing
    if isinstance(thing, Mapping) and "bits" in thing:
        return KnownPredictions.from_plain(thing)
    if isinstance(thing, str | Mapping):
        tree = Tree.from_plain(thing)
        assert isinstance(tree, Tree)
        return tree
    if isinstance(thing, type) or not (callable(getattr(thing, "predict", None)) or callable(thing)):
        raise invalid("classifiers", _WHAT, thing)
    return Model(thing)


def remember(classifier: Classifier, public: Public) -> Classifier:
    """The classifier; a Python object gets its predictions for these people, so that it can be saved."""
    if not isinstance(classifier, Model):
        return classifier
    return Model(
        classifier.thing, KnownPredictions.of(classifier.description, public, classifier.predict(public))
    )


def column_values(public: Public, name: str) -> npt.NDArray[Any]:
    """A column's numbers, or its texts (None if missing)."""
    index = public.position(name)
    numbers = public.numbers[index] if public.numbers else None
    if numbers is not None:
        return numbers
    labels = np.array(public.columns[index].labels, dtype=object)
    if public.columns[index].gaps:
        labels[-1] = None
    return np.asarray(labels[public.codes[index]])


def _frame(public: Public, names: list[str]) -> Any:
    """A data frame of the columns that a model was fitted to."""
    try:
        import pandas
    except ImportError:
        raise invalid(
            "classifiers", "fitted to arrays, since pandas is not installed", "one fitted to a frame"
        ) from None
    return pandas.DataFrame({name: column_values(public, name) for name in names})


def _numbers(public: Public, index: int) -> npt.NDArray[np.float64]:
    numbers = public.numbers[index] if public.numbers else None
    return np.asarray(public.codes[index] if numbers is None else numbers, dtype=np.float64)


def _distinct(public: Public) -> tuple[npt.NDArray[np.intp], int]:
    """The index of each person's row among the sorted distinct rows, and how many distinct rows there are."""
    rows = np.nan_to_num(np.asarray(Columns.of(public)), nan=np.inf)
    distinct, index = np.unique(rows, axis=0, return_inverse=True)
    return index.ravel(), distinct.shape[0]


def _as_bits(raw: npt.NDArray[np.generic], classes: object, n: int) -> Bits:
    if raw.shape != (n,):
        raise invalid("classifiers", f"ones that give one prediction per person ({n})", f"shape {raw.shape}")
    names = None if classes is None else np.asarray(classes)
    if names is not None and names.shape == (2,) and not are_bits(names):
        return np.asarray(raw == names[1])  # the larger of two values counts as 1, as everywhere
    if not are_bits(raw):
        raise invalid("classifiers", "ones that predict 0 or 1", "other values")
    return raw.astype(bool)


def predictions(classifiers: tuple[Classifier, ...], public: Public) -> npt.NDArray[np.uint8]:
    """The predictions, classifiers × people."""
    return np.array([classifier.predict(public) for classifier in classifiers], dtype=np.uint8)
