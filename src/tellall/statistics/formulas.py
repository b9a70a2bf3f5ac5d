"""Formulas: the columns of a regression written as "y ~ age + C(sex)", read by formulaic."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from tellall.core.errors import invalid
from tellall.people.dataset import Public
from tellall.statistics.statistic import numbers_of

__all__ = ["check_formula", "terms_in"]

_TOKEN = re.compile(r"\s+|[A-Za-z_]\w*|[01]|\*\*|[-~+*:()]")
_CALL = re.compile(r"([A-Za-z_]\w*)\s*\(")
_LONGEST = 2000
_ONE = "Intercept"


def check_formula(formula: str | None) -> str | None:
    """The formula; an error unless it has only columns, C(column), + - * : ( ) and 0 or 1.

    A release may come from anybody, and formulaic evaluates everything in a formula, so nothing else is
    allowed.

    Examples
    --------
    >>> check_formula("y ~ age + C(sex)")
    'y ~ age + C(sex)'
    """
    if formula is None:
        return None
    rule = 'of columns, C(column), + - * : ( ) and 0 or 1, as in "y ~ age + C(sex)"'
    if not isinstance(formula, str) or len(formula) > _LONGEST or formula.count("~") != 1:
        raise invalid("formula", rule, formula)
    if "".join(_TOKEN.findall(formula)) != formula:
        raise invalid("formula", rule, formula, "Make other terms public columns first.")
    if any(name != "C" for name in _CALL.findall(formula)):
        raise invalid("formula", rule, formula, "Make transformed terms public columns first.")
    return formula


def _columns_in(formula: str) -> set[str]:
    """The names on the right-hand side."""
    return set(re.findall(r"[A-Za-z_]\w*", formula.partition("~")[2])) - {"C"}


def terms_in(formula: str, public: Public) -> tuple[tuple[str, ...], bool]:
    """The terms of a formula, as formulaic names them, and whether it has an intercept."""
    try:
        import pandas as pd
        from formulaic import model_matrix
    except ImportError:
        advice = "Install tellall with the extra 'formulas'."
        raise invalid("formula", "left out, since formulaic is not installed", formula, advice) from None
    places = sorted(public.position(name, "formula") for name in _columns_in(formula))
    if not places:
        raise invalid("formula", "one with a public column", formula)
    frame = pd.DataFrame({public.names[place]: _column(public, place) for place in places})
    try:
        names = [str(name) for name in model_matrix(formula.partition("~")[2].strip(), frame).columns]
    except Exception as error:  # formulaic raises errors of many kinds
        raise invalid("formula", "one that formulaic reads", formula) from error
    terms = tuple(name for name in names if name != _ONE)
    return terms, _ONE in names


def _column(public: Public, place: int) -> Any:
    """A column as a formula sees it: integers if all numbers are whole, other numbers, or text."""
    column = public.columns[place]
    numbers = public.numbers[place] if public.numbers else None
    if numbers is None and column.labels != ("0", "1"):
        return np.array(column.labels, dtype=object)[np.asarray(public.codes[place])]
    values = numbers_of(public, place, "to be used in a formula")
    return values.astype(np.int64) if np.array_equal(values, np.rint(values)) else values
