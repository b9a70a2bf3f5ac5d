"""Releases of printed models that the people reproduce, and a sentence about each printed model."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tellall.core.amounts import count_of
from tellall.core.errors import TellallError
from tellall.core.text import one_line
from tellall.linalg.operators.linear_operator import Array
from tellall.outputs.coefficients import read_coefficients, says_all
from tellall.outputs.found import FittedModel
from tellall.outputs.model_fits import ModelMatch, match_model
from tellall.outputs.model_terms import ModelColumns
from tellall.people.dataset import Dataset
from tellall.people.labels import label_number
from tellall.protections.rounding import Rounding
from tellall.release.release import Release
from tellall.statistics.conditions import as_subset, parse_condition

__all__ = ["RecognisedModel", "recognise_models"]

_WORDS = {
    "linear": "linear regression",
    "logistic": "logistic regression",
    "poisson": "Poisson regression",
    "probit": "probit regression",
}
_EXACT = 1e-9  # a last digit finer than this share of a number is floating point's
_LOOSE = 1e-6
_RIGHT = "the secret is on its right-hand side, and there are no equations for that"


@dataclass(frozen=True, eq=False)
class RecognisedModel:
    """What a printed model is, by fitting it again to the people.

    Attributes
    ----------
    match
        The model, the meaning that agrees or comes nearest, and the people.
    sentence
        What it is found to be.
    about_secret
        Whether it says anything about the secret; None if that is not known.
    reason
        Why it takes no part in an attack; empty if it does.
    """

    match: ModelMatch
    sentence: str
    about_secret: bool | None
    reason: str = ""

    @property
    def model(self) -> FittedModel:
        """The model as printed."""
        return self.match.model

    @property
    def agrees(self) -> tuple[int, int]:
        """How many coefficients the people reproduce, of how many."""
        return self.match.agrees, len(self.model.terms)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns on the right-hand side."""
        return self.match.columns

    @property
    def columns_known(self) -> tuple[str, ...]:
        """The columns that an outsider is taken to know: those on the right-hand side and of the filter."""
        chosen = sorted(parse_condition(self.where).columns) if self.where else []
        return tuple(dict.fromkeys([*self.columns, *chosen]))

    @property
    def response(self) -> str:
        """The column that is modelled."""
        return self.match.response

    @property
    def where(self) -> str:
        """The condition that selects its people; empty for everybody."""
        return self.match.where

    @property
    def bits(self) -> float:
        """How sure it is, above what was tried."""
        return self.match.bits

    def release(self, people: Dataset) -> Release:
        """The coefficients as an outsider knows them, for these people with the columns that are known.

        What the last digits leave open is rounding to the coarsest step that is printed. Standard errors are
        used if they are the usual ones and say more than the coefficients.
        """
        return _release(self.match, people)


def recognise_models(models: Sequence[FittedModel], people: Dataset) -> tuple[RecognisedModel, ...]:
    """What each of some printed models is, in their order.

    Notes
    -----
    Terms are matched to columns and values by their names, as statsmodels, R, Stata and others write them.
    The model is fitted again to everybody without gaps in its columns, or if it says another number of
    people, to those whom a condition on one column selects. It is accepted only if every printed coefficient
    agrees within its digits, with more evidence than the meanings tried give by chance, and if no other
    meaning agrees. Models of one table help one another: what is modelled, and whose gaps count.
    """
    columns = ModelColumns.of(people)
    found = [match_model(model, columns) for model in models]
    for at, match in enumerate(found):
        beside = [
            other for k, other in enumerate(found) if k != at and other.model.source == match.model.source
        ]
        if match.accepted or not beside:
            continue
        known = [other for other in beside if other.accepted]
        union = tuple(
            dict.fromkeys(
                name for other in (match, *beside) for name in (*other.columns, other.response) if name
            )
        )
        model = match.model
        if len({(other.response, other.kind) for other in known}) == 1 and not model.response:
            model = replace(model, response=known[0].response, kind=model.kind or known[0].kind)
        again = match_model(model, columns, together=union)
        if again.accepted:
            found[at] = replace(again, model=match.model)
    return tuple(_recognised(match, people) for match in found)


def _recognised(match: ModelMatch, people: Dataset) -> RecognisedModel:
    sentence = _sentence(match)
    if not match.accepted:
        said = people.secret is not None and _may_say(match, people)
        about = True if said else None  # what does not agree may be anything
        return RecognisedModel(match, sentence, about, match.reason)
    if people.secret is None or not _may_say(match, people):
        return RecognisedModel(match, sentence, False, "it says nothing about the secret")
    if people.secret_name in match.columns:
        return RecognisedModel(match, sentence, True, _RIGHT)
    reason = _no_equations(match, people)
    if not reason:
        try:
            _release(match, people)
        except TellallError as error:
            reason = one_line(str(error), 300)
    return RecognisedModel(match, sentence, True, reason)


def _may_say(match: ModelMatch, people: Dataset) -> bool:
    return people.secret_name in (match.response, *match.columns)


def _sentence(match: ModelMatch) -> str:
    """The model in words: "linear regression of pay on age, 1,204 people; 2 of 2 coefficients agree"."""
    model = match.model
    what = _WORDS.get(match.kind, f"{match.kind} model" if match.kind else "a model")
    about = f"{what} of {match.response}" if match.response else what
    if match.outcome is not None and not match.outcome.startswith("\0"):
        about += f" = {match.outcome}"
    if match.columns:
        *most, last = match.columns
        about += f" on {', '.join(most)} and {last}" if most else f" on {last}"
    if match.people is not None:
        count = count_of(int(match.people.sum()), "person", "people")
        chosen = f" with {match.where}" if match.where else ""
        about += f", {count}{chosen}" + (" without gaps in its columns" if match.gaps and not chosen else "")
    ratios = {"logistic": ", odds ratios", "poisson": ", rate ratios"}.get(match.kind, "")
    about += ratios if match.exponentiated else ""
    agree = f"{match.agrees} of {count_of(len(model.terms), 'coefficient')} agree"
    agree += "s" if len(model.terms) == 1 else ""
    errors = ""
    if match.accepted and match.usual_errors is not None:
        errors = "; the usual standard errors" if match.usual_errors else "; robust or other standard errors"
    return f"{about}; {agree}{errors}"


def _no_equations(match: ModelMatch, people: Dataset) -> str:
    """Why the coefficients give no equations about the secret; empty if they do."""
    if len(people.meaning) > 2:
        return "a model of a secret of more than two values is not checked"
    if match.outcome is not None and match.outcome.startswith("\0"):
        return "it models a changed number of the secret, such as its logarithm: not checked"
    changed = [term for term in match.terms if term.plain_name is None]
    if changed:
        return f"the term {changed[0].printed} is no column: add it to the people to have the model checked"
    return ""


def _release(match: ModelMatch, people: Dataset) -> Release:
    """The coefficients as a release, with what their digits leave open."""
    model = match.model
    assert match.people is not None
    printed = np.array([one.number for one in model.coefficients], dtype=np.float64)
    half = np.array([(one.step or 0.0) / 2 for one in model.coefficients])
    if match.exponentiated:
        half = -np.log1p(-np.minimum(half / printed, 0.5))
        printed = np.log(printed)
    values, unit = _of_bits(match, people, printed)
    half = half / unit
    names = [term.plain_name for term in match.terms]
    if match.intercept is not None:
        names.insert(match.intercept, "intercept")
    block: dict[str, Any] = {"block": ["1"] * len(names), "term": names, "value": values.tolist()}
    base = 2 * float(half.max())
    if match.kind != "linear" and model.standard_errors is not None:
        base = max(base, 2 * _LOOSE * max(one.number or 0.0 for one in model.standard_errors))
    exact = base <= _EXACT * float(np.abs(values).max())
    settings: dict[str, Any] = {
        "intercept": match.fitted_intercept or None,
        "noise": None if exact else Rounding(base),
        "levels": people.levels,
        "where": _where(match, people),
        "tolerance": 0.0 if match.kind == "linear" or not exact else 1e-8,
    }
    release = read_coefficients(block, people.public, match.kind, **settings)
    if match.usual_errors and model.standard_errors is not None and unit == 1.0 and not says_all(release):
        with suppress(TellallError):  # if it fails, the coefficients are used alone
            errors = [one.text.strip("()[]") for one in model.standard_errors]
            return read_coefficients({**block, "std_error": errors}, people.public, match.kind, **settings)
    return release


def _of_bits(match: ModelMatch, people: Dataset, printed: Array) -> tuple[Array, float]:
    """The coefficients of a model of the secret's bit, and the unit of the answers that were modelled.

    A model of the first of two values is turned round; numbers such as 1 and 2 are brought to 0 and 1.
    """
    values = printed.copy()
    if len(people.meaning) != 2:
        return values, 1.0
    ones = np.array([k == match.intercept for k in range(values.size)])
    if match.outcome is not None:
        if match.outcome == people.meaning[1]:
            return values, 1.0
        return (np.where(ones, 1 - values, -values) if match.kind == "linear" else -values), 1.0
    numbers = [label_number(label) for label in people.meaning]
    if None in numbers or match.kind != "linear":
        return values, 1.0
    low, high = (float(number) for number in numbers if number is not None)
    if match.intercept is None and low:
        return values, 1.0
    return (values - low * ones) / (high - low), abs(high - low)


def _where(match: ModelMatch, people: Dataset) -> Any:
    """Whom the model is about: a condition, or else a mask; None for everybody."""
    assert match.people is not None
    if bool(match.people.all()):
        return None
    if match.where:
        with suppress(TellallError):
            if np.array_equal(as_subset(match.where).members(people.public), match.people):
                return match.where
    return match.people
