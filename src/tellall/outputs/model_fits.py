"""Recognises a printed model by fitting it again to the people: every coefficient must agree as printed."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from tellall.linalg.operators.linear_operator import Array
from tellall.outputs.found import FittedModel
from tellall.outputs.model_terms import ModelColumn, ModelColumns, PrintedTerm
from tellall.outputs.model_texts import INTERCEPT_NAMES
from tellall.outputs.model_words import KINDS, NOT_REFITTED
from tellall.people.printed_numbers import Shown
from tellall.statistics.fitting import fit
from tellall.statistics.losses import LOSSES, ScoreLoss, Squared

__all__ = ["ModelMatch", "match_model"]

Flags = npt.NDArray[np.bool_]

ENOUGH = 10.0  # bits above what was tried, from which a meaning is accepted
_MOST_FILTERS = 60  # tried for one model
_MOST_DESIGNS = 64  # readings of all terms together
_MOST_VALUES = 200  # of a column whose ranges are tried
_LOOSE = 1e-6  # of a standard error: how far programs that iterate stop from the minimum
_ROUNDING = 1e-9
_FINE, _SHARE = 1e-8, 0.02  # where digits are shown that a program settles, how much of the last may be loose
_MOST_BITS = 40.0  # that one number may tell
_DIGIT = 1e-6  # of a step, for halves that floating point moves
_LINKS = {"linear": "identity", "logistic": "logit", "poisson": "log", "probit": "probit"}


@dataclass(frozen=True, eq=False)
class ModelMatch:
    """What a printed model is found to be.

    Attributes
    ----------
    model
        The model as printed.
    kind, response, terms
        What agrees best; the terms in the order of the coefficients, without the intercept.
    outcome
        The value of the response that is modelled, if it is a text; None if the response is a number.
    intercept
        The place of the intercept among the coefficients; None if none is printed.
    fitted_intercept
        Whether the model has one.
    exponentiated
        Whether the coefficients are printed as ratios.
    where, people
        The condition that selects its people, empty for everybody; and who they are.
    gaps
        How many people were left out for missing values.
    agrees, off
        How many coefficients agree, and the place of one that differs.
    refitted
        The coefficients of the fit, as they would be printed.
    usual_errors
        Whether the printed standard errors are the usual ones: None if none are printed.
    bits
        How sure it is, above what was tried.
    reason
        Why it is not accepted; empty if it is.
    """

    model: FittedModel
    kind: str = ""
    response: str = ""
    terms: tuple[PrintedTerm, ...] = ()
    outcome: str | None = None
    intercept: int | None = None
    fitted_intercept: bool = False
    exponentiated: bool = False
    where: str = ""
    people: Flags | None = None
    gaps: int = 0
    agrees: int = 0
    off: int | None = None
    refitted: Array | None = None
    usual_errors: bool | None = None
    bits: float = 0.0
    reason: str = ""

    @property
    def accepted(self) -> bool:
        """Whether every coefficient agrees, with more evidence than chance gives."""
        return not self.reason

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns on its right-hand side."""
        return tuple(dict.fromkeys(name for term in self.terms for name in term.columns))


@dataclass(frozen=True, eq=False)
class _Answer:
    """A response that may be meant: everybody's number, and the value that counts as one if it is a text."""

    column: ModelColumn
    values: Array
    outcome: str | None
    cost: float


def match_model(model: FittedModel, columns: ModelColumns, *, together: Sequence[str] = ()) -> ModelMatch:
    """The meaning of a printed model for these people, or the nearest one with the reason why not.

    ``together`` names columns of other models of the same table: people without gaps in any of them are tried
    too.
    """
    numbers = np.array([math.nan if one.number is None else one.number for one in model.coefficients])
    if not numbers.size or not np.isfinite(numbers).all():
        return ModelMatch(model, reason="its coefficients are not numbers")
    if model.kind in NOT_REFITTED:
        return ModelMatch(model, kind=model.kind, reason=f"{model.kind} models are not fitted again")
    if model.link and model.kind in _LINKS and model.link.lower() != _LINKS[model.kind]:
        return ModelMatch(model, kind=model.kind, reason=f"a link of {model.link} is not fitted again")
    at = [k for k, name in enumerate(model.terms) if name.strip().strip("`").lower() in INTERCEPT_NAMES]
    if len(at) > 1:
        return ModelMatch(model, reason="it has two intercepts")
    intercept = at[0] if at else None
    readings = [columns.readings(name) for k, name in enumerate(model.terms) if k != intercept]
    unknown = [
        name for name, found in zip(_without(model.terms, intercept), readings, strict=True) if not found
    ]
    if unknown:
        return ModelMatch(model, reason=f"no column or value fits the term '{unknown[0]}'")
    if not readings:
        return ModelMatch(model, reason="it has no term but the intercept")
    answers = list(_answers(model, columns))
    if not answers:
        said = f"'{model.response}'" if model.response else "what it models"
        return ModelMatch(model, reason=f"no column fits {said}")
    return _Search(model, columns, intercept, tuple(together)).best(readings, answers)


def _without(names: Sequence[str], place: int | None) -> list[str]:
    return [name for k, name in enumerate(names) if k != place]


def _answers(model: FittedModel, columns: ModelColumns) -> Iterator[_Answer]:
    """Yields the responses that may be meant: the one named, else those whose names stand above, else all.

    A name that no column has may be that of a copy, made for the model: ``y`` for whether somebody is ill.
    """
    named = list(_named(model.response, columns, 0.0)) if model.response else []
    if named:
        yield from named
        return
    changed = [line for line in model.title if re.fullmatch(r"[\w.]+\([\w. ]+\)", line.strip())]
    for line in changed:
        yield from _named(line, columns, 0.0)
    words = [word for line in model.title for word in _pieces(line)]
    above = {id(column): column for word in words if (column := columns.named(word)) is not None}
    if above or changed:
        for column in above.values():
            yield from _values_of(column, columns, math.log2(1 + len(above)))
        return
    cost = math.log2(1 + len(columns.columns))
    for column in columns.columns:
        yield from _values_of(column, columns, cost)
    for column in columns.columns:
        if column.numbers is not None and float(np.nanmin(column.numbers, initial=0.0)) >= 0:
            yield from _named(f"log({column.name})", columns, cost + 1)


def _pieces(line: str) -> list[str]:
    bare = re.sub(r"\s+[IVX]+$", "", line.strip())  # "pay II"
    return [line, bare, *re.findall(r"[\w.]+", line)]


def _named(text: str, columns: ModelColumns, cost: float) -> Iterator[_Answer]:
    text = text.strip()
    lists = re.findall(
        r"'([^']+\[[^']*\])'", text
    )  # statsmodels: ['ill[no]', 'ill[yes]'], the first is modelled
    for each in lists[:1] or [text]:
        column = columns.named(each)
        if column is not None:
            yield from _values_of(column, columns, cost)
            return
        for term in columns.readings(
            re.sub(r"^(?:as\.)?(?:factor|numeric|integer)\(([\w.]+)\)$", r"\1", each)
        ):
            if len(term.factors) == 1:
                factor = term.factors[0]
                own = next(one for one in columns.columns if one.name == factor.column)
                values = columns.values(factor)
                outcome = factor.label
                if factor.change:
                    outcome = f"\0{factor.change}"  # a changed number: no value of the column
                yield _Answer(own, values, outcome, cost + 1)


def _values_of(column: ModelColumn, columns: ModelColumns, cost: float) -> Iterator[_Answer]:
    if column.numbers is not None:
        yield _Answer(column, column.numbers, None, cost)
    if len(column.labels) == 2 and (column.numbers is None or set(column.labels) != {"0", "1"}):
        for place in (1, 0):
            flags = np.where(column.codes < 0, np.nan, (column.codes == place).astype(np.float64))
            yield _Answer(column, flags, column.labels[place], cost + 1)


@dataclass(frozen=True, eq=False)
class _Try:
    """One meaning: a design, a response, a kind of model, and the people."""

    terms: tuple[PrintedTerm, ...]
    answer: _Answer
    kind: str
    ones: bool
    exponentiated: bool
    where: str
    people: Flags
    gaps: int
    cost: float


@dataclass(frozen=True, eq=False)
class _Search:
    model: FittedModel
    columns: ModelColumns
    intercept: int | None
    together: tuple[str, ...]

    def best(self, readings: list[list[PrintedTerm]], answers: list[_Answer]) -> ModelMatch:
        """The meaning that agrees, or the nearest."""
        nearest = ModelMatch(self.model, reason="no fit of these people could be computed")
        agreeing: list[ModelMatch] = []
        tried = 0
        for terms in itertools.islice(itertools.product(*readings), _MOST_DESIGNS):
            for answer in answers:
                if any(answer.column.name in term.columns for term in terms):
                    continue
                for attempt in self._tries(terms, answer):
                    tried += 1
                    found = self._fitted(attempt)
                    if found is None:
                        continue
                    if found.agrees == len(self.model.terms):
                        agreeing.append(replace(found, bits=found.bits - attempt.cost))
                    elif found.agrees > nearest.agrees or nearest.refitted is None:
                        nearest = found
            if agreeing:
                break
        if not agreeing:
            return replace(nearest, reason=self._why(nearest, answers))
        return self._judged(agreeing, tried)

    def _judged(self, agreeing: list[ModelMatch], tried: int) -> ModelMatch:
        """The surest of the meanings that agree, unless others are about other people or columns."""
        first = max(agreeing, key=lambda found: found.bits)
        bits = first.bits - math.log2(1 + tried)
        other = [found for found in agreeing if not _same(found, first)]
        if bits < ENOUGH:
            return replace(
                first, bits=bits, reason="its few digits agree, which may be chance: please confirm"
            )
        if other:
            said = f"it agrees as well for {_whom(other[0])}"
            return replace(first, bits=bits, reason=f"several meanings agree: {said}")
        return replace(first, bits=bits)

    def _why(self, nearest: ModelMatch, answers: list[_Answer]) -> str:
        total = len(self.model.terms)
        if nearest.people is not None and self.model.n is not None:
            have = int(nearest.people.sum())
            if have != self.model.n:
                return (
                    f"it was fitted to {self.model.n:,} people, and {have:,} have no gap in its columns; "
                    "no filter on one column gives that number and these coefficients"
                )
        if nearest.refitted is None or nearest.off is None:
            return nearest.reason
        k = nearest.off
        shown, there = self.model.coefficients[k].text, nearest.refitted[k]
        return (
            f"{nearest.agrees} of {total} coefficients agree with these people: {self.model.terms[k]} "
            f"is printed as {shown} and comes out as {there:.6g}"
        )

    def _tries(self, terms: tuple[PrintedTerm, ...], answer: _Answer) -> Iterator[_Try]:
        design = self.columns.design(terms, None)
        whole = design.whole & ~np.isnan(answer.values)
        groups = [(condition, people, cost) for condition, people, cost in self._people(whole)]
        for kind in self._kinds(answer.values[whole]):
            for exponentiated in self._ways(kind):
                for ones in [True] if self.intercept is not None else [True, False]:
                    for condition, people, cost in groups:
                        extra = (ones and self.intercept is None) + (
                            exponentiated != self.model.exponentiated
                        )
                        gaps = int((~whole).sum()) if not condition else 0
                        yield _Try(
                            terms, answer, kind, ones, exponentiated, condition, people, gaps,
                            answer.cost + cost + extra,
                        )  # fmt: skip

    def _kinds(self, values: Array) -> list[str]:
        if self.model.kind in KINDS:
            return [self.model.kind]
        bits = bool(np.isin(values, (0.0, 1.0)).all())
        whole = bool((values >= 0).all()) and bool((values == np.rint(values)).all())
        return ["linear", *(["logistic", "probit"] if bits else []), *(["poisson"] if whole else [])]

    def _ways(self, kind: str) -> list[bool]:
        positive = all(one.number is not None and one.number > 0 for one in self.model.coefficients)
        if kind not in ("logistic", "poisson") or not positive:
            return [False]
        return [True] if self.model.exponentiated else [False, True]

    def _people(self, whole: Flags) -> Iterator[tuple[str, Flags, float]]:
        """Yields groups of people who may be meant: a condition, who they are, and what the choice costs."""
        wanted = self.model.n
        count = int(whole.sum())
        if wanted is None or wanted == count:
            yield "", whole, 0.0
            return
        if self.together:
            every = whole.copy()
            for name in self.together:
                column = self.columns.named(name)
                if column is not None:
                    every &= ~column.gaps
            if int(every.sum()) == wanted:
                yield "", every, 2.0
                return
        found = list(itertools.islice(_filters(self.columns, whole, wanted), _MOST_FILTERS + 1))
        for condition, people in found[:_MOST_FILTERS]:
            yield condition, people, 3 + math.log2(1 + len(found))
        if not found:
            yield "", whole, 99.0  # only to say how near it comes

    def _fitted(self, attempt: _Try) -> ModelMatch | None:
        """The fit of one meaning, compared with what is printed; None if there is no fit."""
        people, model = attempt.people, self.model
        design = self.columns.design(attempt.terms, self.intercept).matrix[people]
        hidden = attempt.ones and self.intercept is None
        if hidden:
            design = np.append(design, np.ones((design.shape[0], 1)), axis=1)
        answers = attempt.answer.values[people]
        if design.shape[0] <= design.shape[1]:
            return None
        bits = bool(np.isin(answers, (0.0, 1.0)).all())
        if attempt.kind in ("logistic", "probit") and not bits:
            return None
        if attempt.kind == "poisson" and bool((answers < 0).any()):
            return None
        if np.ptp(answers) == 0:
            return None
        loss = LOSSES[attempt.kind]
        assert isinstance(loss, ScoreLoss)
        result = fit(loss, design, answers, np.zeros(design.shape[1]))
        if result.trouble or not np.isfinite(result.theta).all():
            return None
        spread = _errors(loss, design, answers, result.theta)
        if spread is None:
            return None
        theta, errors = (each[:-1] if hidden else each for each in (result.theta, spread))
        shown = np.exp(theta) if attempt.exponentiated else theta
        steps = np.array([one.step or 1.0 for one in model.coefficients])
        width = errors * (shown if attempt.exponentiated else 1.0)
        slack = width * (0.0 if isinstance(loss, Squared) else _LOOSE) + _ROUNDING * np.abs(shown)
        slack = np.where(steps > _FINE * np.abs(shown), np.minimum(slack, _SHARE * steps), slack)
        agree = np.array(
            [
                _agrees(one, value, room)
                for one, value, room in zip(model.coefficients, shown, slack, strict=True)
            ]
        )
        told = np.log2(np.maximum(2.5 * width / np.maximum(steps, 1e-12 * np.abs(shown)), 1.0))
        usual = self._usual(errors, attempt.exponentiated)
        off = None if agree.all() else int(np.flatnonzero(~agree)[0])
        return ModelMatch(
            model,
            attempt.kind,
            attempt.answer.column.name,
            attempt.terms,
            attempt.answer.outcome,
            self.intercept,
            attempt.ones,
            attempt.exponentiated,
            attempt.where,
            people,
            attempt.gaps,
            int(agree.sum()),
            off,
            shown,
            usual,
            float(np.minimum(told, _MOST_BITS).sum())
            + (self._told_by(errors) if usual else 0.0)
            - self._unproved_filter(attempt, theta),
        )

    def _unproved_filter(self, attempt: _Try, theta: Array) -> float:
        """What is missing to prove a filter: the coefficients of everybody must differ from the printed ones.

        A table may prove its columns and say nothing of its filter.
        """
        if not attempt.where:
            return 0.0
        everybody = replace(
            attempt,
            where="",
            people=self.columns.design(attempt.terms, None).whole & ~np.isnan(attempt.answer.values),
        )
        found = self._fitted(everybody)
        if found is None or found.refitted is None:
            return 0.0
        here = np.exp(theta) if attempt.exponentiated else theta
        steps = np.array([one.step or 1.0 for one in self.model.coefficients])
        moved = np.log2(1 + np.abs(found.refitted - here) / steps).sum()
        return float(max(ENOUGH + 4 - moved, 0.0))

    def _told_by(self, errors: Array) -> float:
        """What standard errors that agree tell, in bits: each depends on the response and the people."""
        steps = [one.step or 1.0 for one in self.model.standard_errors or ()]
        return float(np.minimum(np.log2(np.maximum(0.5 * errors / np.array(steps), 1.0)), _MOST_BITS).sum())

    def _usual(self, errors: Array, exponentiated: bool) -> bool | None:
        """Whether the printed standard errors are the usual ones of this fit."""
        printed = self.model.standard_errors
        if printed is None or exponentiated:
            return None
        return all(_agrees(one, value, 1e-5 * value) for one, value in zip(printed, errors, strict=True))


def _same(one: ModelMatch, other: ModelMatch) -> bool:
    """Whether two meanings are one: of the same people, columns and kind."""
    assert one.people is not None
    assert other.people is not None
    return (
        (one.kind, one.response, one.outcome, one.exponentiated, one.columns)
        == (other.kind, other.response, other.outcome, other.exponentiated, other.columns)
        and one.fitted_intercept == other.fitted_intercept
        and bool(np.array_equal(one.people, other.people))
    )


def _whom(found: ModelMatch) -> str:
    if found.where:
        return f"people with {found.where}"
    return f"a {found.kind} model of {found.response} on {', '.join(found.columns)}"


def _agrees(one: Shown, value: float, slack: float) -> bool:
    """Whether a number would be printed like that."""
    if one.number is None or one.step is None:
        return False
    return abs(one.number - value) <= one.step * (0.5 + _DIGIT) + slack


def _errors(loss: ScoreLoss, design: Array, answers: Array, theta: Array) -> Array | None:
    """The usual standard errors; None if the matrix has dependent columns."""
    bend = loss.hessian(theta, design, answers)
    scale = np.sqrt(np.abs(np.diag(bend)))
    if (scale == 0).any():
        return None
    try:
        inverse = np.linalg.inv(bend / np.outer(scale, scale)) / np.outer(scale, scale)
    except np.linalg.LinAlgError:
        return None
    variance = np.diag(inverse)
    if not np.isfinite(variance).all() or (variance <= 0).any():
        return None
    if isinstance(loss, Squared):
        left = design.shape[0] - design.shape[1]
        variance = variance * float(((answers - design @ theta) ** 2).sum()) / left
    return np.asarray(np.sqrt(variance))


def _filters(columns: ModelColumns, whole: Flags, wanted: int) -> Iterator[tuple[str, Flags]]:
    """Yields the conditions on one public column that leave as many people without gaps as are wanted."""
    seen: set[bytes] = set()
    for condition, people in _conditions(columns, whole, wanted):
        key = np.packbits(people & whole).tobytes()
        if key not in seen:
            seen.add(key)
            yield condition, people & whole


def _conditions(columns: ModelColumns, whole: Flags, wanted: int) -> Iterator[tuple[str, Flags]]:
    for column in columns.columns:
        if column.index is None:
            continue  # people are not chosen by the secret
        name = column.name if re.fullmatch(r"[^\W\d][\w.]*", column.name) else f"`{column.name}`"
        if column.labels:
            counts = np.bincount(column.codes[whole & (column.codes >= 0)], minlength=len(column.labels))
            known = int(counts.sum())
            for place, label in enumerate(column.labels):
                said = label if column.numbers is not None else repr(label)
                own = column.codes == place
                if counts[place] == wanted:
                    yield f"{name} == {said}", own
                if known - counts[place] == wanted and counts[place]:
                    yield f"{name} != {said}", ~own & (column.codes >= 0)
        if column.numbers is not None:
            yield from _ranges(name, column.numbers, whole, wanted)


def _ranges(name: str, numbers: Array, whole: Flags, wanted: int) -> Iterator[tuple[str, Flags]]:
    """Yields the ranges of a number that hold as many people as are wanted: one-sided ones first."""
    known = whole & ~np.isnan(numbers)
    values, counts = np.unique(numbers[known], return_counts=True)
    if values.size < 2:
        return
    below = np.concatenate([[0], np.cumsum(counts)])
    total = int(below[-1])
    if wanted in below[1:-1]:
        end = int(np.searchsorted(below, wanted))
        yield f"{name} <= {values[end - 1]:.15g}", numbers <= values[end - 1]
    if total - wanted in below[1:-1]:
        start = int(np.searchsorted(below, total - wanted))
        yield f"{name} >= {values[start]:.15g}", numbers >= values[start]
    if values.size > _MOST_VALUES:
        return
    for start in range(1, values.size):
        end = int(np.searchsorted(below, below[start] + wanted))
        if end < values.size and below[end] == below[start] + wanted and end > start + 1:
            inside = (numbers >= values[start]) & (numbers <= values[end - 1])
            yield f"{name} >= {values[start]:.15g} and {name} <= {values[end - 1]:.15g}", inside
