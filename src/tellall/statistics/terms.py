"""Terms of a model, as other tools name them: a column, one of its categories, or a product of these."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from tellall.core.errors import invalid
from tellall.linalg.operators.linear_operator import Array
from tellall.people.dataset import Outline, Public
from tellall.people.labels import own_label
from tellall.people.matching import code_people
from tellall.statistics.statistic import numbers_of

__all__ = ["Term", "find_term"]

# sex[T.m], C(sex)[T.m], C(sex, Treatment('f'))[T.m], C(sex)[m]: statsmodels, patsy and formulaic
_CATEGORY = re.compile(r"(?:C\((?P<factor>.+?)(?:,.*)?\)|(?P<plain>[^\[\]()]+))\[(?:T\.)?(?P<label>.*)\]")
_CALLED = re.compile(r"C\((?P<name>[^()]+)\)")
_STATA = re.compile(r"(?P<label>\d+)b?\.(?P<name>\w+)")  # 2.region, and c.age below
_PREFIX = re.compile(r"(?:\w+__|c\.)(?P<name>.+)")  # num__age of scikit-learn's transformers

Factor = tuple[int, str | None]  # a column, and its category if the factor is an indicator


@dataclass(frozen=True)
class Term:
    """A column of a design matrix: a product of public columns and indicators of categories."""

    name: str
    factors: tuple[Factor, ...]

    @property
    def columns(self) -> tuple[int, ...]:
        """The public columns that it needs, by index."""
        return tuple(index for index, _ in self.factors)

    def numbers(self, public: Public) -> Array:
        """Its value for each person."""
        out = np.ones(public.n)
        for index, label in self.factors:
            if label is None:
                out *= numbers_of(public, index, "to be used in a regression")
            else:
                out *= code_people(public, index, [label], "term") == 0
        return out


def find_term(columns: Outline, name: str | int, parameter: str = "attribute") -> Term:
    """The term that a name means: a column by name or index, or else a category as other tools name it.

    Examples
    --------
    >>> from tellall.people.dataset import Dataset
    >>> people = Dataset.from_frame({"sex": ["f", "m", "f"], "age": [31, 45, 62]}).public
    >>> find_term(people, "C(sex)[T.m]").numbers(people).tolist()
    [0.0, 1.0, 0.0]
    >>> find_term(people, "sex_m:age").numbers(people).tolist()
    [0.0, 45.0, 0.0]
    """
    if not isinstance(name, str) or name in columns.names:
        index = columns.position(name, parameter)
        return Term(columns.names[index], ((index, None),))
    parts = name.split(":")
    factors = [_factor(columns, part.strip()) for part in parts]
    if any(factor is None for factor in factors):
        if re.search(r"[(*^]", name) and not name.startswith("C("):
            raise invalid(parameter, "columns, categories and products of them", f"'{name}'")
        for part in parts:
            _refuse_cut(columns, part.strip(), parameter)
        columns.position(name, parameter)  # the error names the columns that exist
    return Term(name, tuple(factor for factor in factors if factor is not None))


def _refuse_cut(columns: Outline, text: str, parameter: str) -> None:
    """Refuses categories of a column of numbers that is cut: its values are no categories here."""
    found = _CATEGORY.fullmatch(text) or _CALLED.fullmatch(text)
    name = "" if found is None else next(filter(None, found.groups()), "").strip()
    if name in columns.names and columns.columns[columns.names.index(name)].cuts is not None:
        advice = (
            f"'{name}' has many values and is cut for tables: use it as a number, '{name}', or make its "
            "categories a column of text first."
        )
        raise invalid(parameter, "a number, or a category of a column that is not cut", text, advice)


def _factor(columns: Outline, text: str) -> Factor | None:
    """One factor of a term; None if it means nothing here."""
    if text in columns.names:
        return columns.names.index(text), None
    if found := _CATEGORY.fullmatch(text):
        name = (found["factor"] or found["plain"]).strip()
        return _category(columns, name, found["label"])
    if (found := _STATA.fullmatch(text)) and (factor := _category(columns, found["name"], found["label"])):
        return factor
    if found := _PREFIX.fullmatch(text):
        return _factor(columns, found["name"])
    return _joined(columns, text)


def _joined(columns: Outline, text: str) -> Factor | None:
    """The factor for a name and a category in one word: sex_m for dummies, sexm in R."""
    found = [
        factor
        for name in columns.names
        if text.startswith(name)
        for rest in (text[len(name) :], text[len(name) + 1 :] if text[len(name) :][:1] in "_." else None)
        if rest and (factor := _category(columns, name, rest)) is not None
    ]
    distinct = list(dict.fromkeys(found))
    if len(distinct) > 1:
        raise invalid("term", "one that means one category", f"'{text}'")
    return distinct[0] if distinct else None


def _category(columns: Outline, name: str, label: str) -> Factor | None:
    if name not in columns.names:
        return None
    index = columns.names.index(name)
    column = columns.columns[index]
    if not any(column.labels):  # an outline without names of categories
        return index, label
    own = own_label(label, column.labels, gaps=column.gaps)
    return (index, own) if own in column.labels and column.cuts is None else None
