"""Recognises outputs by computing them again from the people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from tellall.core.amounts import some_of
from tellall.core.errors import TellallError, invalid
from tellall.core.not_done import NotDone
from tellall.core.text import one_line
from tellall.outputs.found import FoundOutputs, FoundTable
from tellall.outputs.model_releases import RecognisedModel, recognise_models
from tellall.outputs.output_folder import (
    EARLIER,
    OutputFolder,
    PossibleMeaning,
    RecognisedOutput,
    Source,
    not_read,
)
from tellall.outputs.read import read_outputs
from tellall.outputs.releases import NoRelease, releases_of, speaks_of_secret
from tellall.outputs.search import ACCEPTED, FittedTable, Found, SearchLimits, most_numbers, search
from tellall.outputs.sections import parts_of
from tellall.outputs.sentences import differences_of, nearest_of, sentence_of, steps_of
from tellall.outputs.variables import TableVariable, variables_of
from tellall.people.dataset import Dataset
from tellall.people.printed_numbers import shown_of
from tellall.protections.protection import Protection, as_protections
from tellall.release.release import Release

__all__ = ["recognise", "with_earlier"]

_MOST_MEANINGS = 3
_NOT_ABOUT_IT = "it says nothing about the secret"
_REFUSED = "somebody said that it is not what it agrees with"


def recognise(
    outputs: Any,
    people: Dataset,
    *,
    protect: Protection | Sequence[Protection] | None = None,
    confirm: Mapping[str, int] | None = None,
    public: Iterable[str] | None = None,
    seconds: float = 20.0,
) -> OutputFolder:
    """What the outputs in a file, a folder or frames are, found by computing them again from the people.

    Parameters
    ----------
    outputs
        The path of a file of outputs or of a folder; or a pandas frame, or several in a list or by name.
    people
        The people, with their secret. Outputs may be about any of their columns.
    protect
        What was done to the numbers at random, as for `publish`: noise, random rounding, cell keys. Rounding
        to the nearest multiple and hidden cells are found without it.
    confirm
        For outputs with several possible meanings the number of the right one, by source; 0: none of them.
    public
        The columns that an outsider is taken to know; by default those tabulated, filtered on, or on the
        right-hand side of a model.
    seconds
        How much processor time may go into one output.

    Notes
    -----
    Labels are matched to columns and values. Then what the table may show is computed from the people:
    counts, shares of a row, a column or of all, means, sums, standard deviations, quantiles; of everybody,
    of people with values in all columns, of those whom a simple filter selects. A meaning is accepted if
    every shown number agrees within its last digit, and the agreement tells more than chance among all that
    was tried: ten bits more. What is accepted *agrees with* the people: other meanings that print the same
    numbers cannot be told from it.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"sex": list("fmfmfm") * 40, "area": list("aabbbc") * 40, "ill": [0, 1, 1] * 80})
    >>> found = recognise(pd.crosstab(frame.area, frame.ill), Dataset.from_frame(frame, secret="ill"))
    >>> found.outputs[0].sentence, found.known
    ('counts of ill by area', ('area',))
    """
    if not isinstance(people, Dataset) or people.secret is None:
        raise invalid("people", "a Dataset with a secret", type(people).__name__, "Make one with ta.read.")
    read = _read(outputs)
    done = as_protections(protect)
    limits = SearchLimits(seconds, done, _slack(done))
    variables = variables_of(people)
    given = dict(confirm or {})
    sources = [*(str(table.source) for table in read.tables), *(str(model.source) for model in read.models)]
    for output in given:
        if output not in sources:
            advice = f"Outputs are {some_of(sources, 12)}." if sources else "There is none."
            raise invalid("confirm", "about a table or model in the outputs", output, advice)
    known_to = None if public is None else {people.public.names[people.public.position(n)] for n in public}
    tables = [part for table in read.tables for part in parts_of(table, variables)]
    recognised = [_recognise_table(table, people, variables, limits, given) for table in tables]
    recognised += [_of_model(model) for model in recognise_models(read.models, people)]
    recognised = [each.refused() if given.get(each.record.id) == 0 else each for each in recognised]
    used = [name for each in recognised for name in each.known]
    named = set(used) if known_to is None else known_to | set(used)
    columns = tuple(name for name in people.public.names if name in named)
    view = replace(people, public=people.public.only(*columns))
    listed: list[RecognisedOutput] = []
    releases: list[Release] = []
    beside: list[NotDone] = []
    for each in recognised:
        record, more = each.with_releases(view, done, len(releases))
        releases += record.made
        beside += more
        listed.append(record)
    known = columns if known_to is None else tuple(name for name in columns if name in known_to)
    unknown = tuple(name for name in people.public.names if name not in known)
    return OutputFolder(
        tuple(listed),
        (*read.skipped, *beside),
        people.secret_name,
        people.meaning,
        known=known,
        assumed_unknown=unknown,
    )


def with_earlier(found: FoundOutputs, files: Sequence[Path]) -> FoundOutputs:
    """Outputs together with those in files that went out before, whose names say so."""
    for file in files:
        before = read_outputs(file)
        tables = tuple(replace(one, source=_earlier(one.source)) for one in before.tables)
        models = tuple(replace(one, source=_earlier(one.source)) for one in before.models)
        found = found.joined(FoundOutputs(tables, models, before.skipped))
    return found


def _earlier(source: Source) -> Source:
    return replace(source, file=f"{source.file}{EARLIER}")


@dataclass(frozen=True, eq=False)
class _Recognised:
    """An output with what it is found to be, before the columns of all outputs are known."""

    record: RecognisedOutput
    fitted: FittedTable | None = None
    model: RecognisedModel | None = None

    @property
    def known(self) -> tuple[str, ...]:
        """The public columns that an outsider must know to use it."""
        return self.record.columns_known if self.record.read else ()

    def refused(self) -> _Recognised:
        """The same output, not checked, since a person knows better what it is."""
        open_again = replace(self.record, read=False, reason=_REFUSED, meanings=(), about_secret=None)
        return _Recognised(open_again)

    def with_releases(
        self, people: Dataset, declared: Sequence[Protection], start: int
    ) -> tuple[RecognisedOutput, tuple[NotDone, ...]]:
        """The record with its releases, or why there are none; and what in it is not attacked."""
        record, made, beside = self.record, list[Release](), list[NotDone]()
        if not record.read:
            return record, ()
        try:
            if self.model is not None:
                made = [self.model.release(people)]
            elif self.fitted is not None:
                made, reasons = releases_of(self.fitted, people, declared)
                if not made:
                    raise NoRelease("; ".join(reasons))
                beside = (
                    [not_read(f"{record.source}, its other numbers", "; ".join(reasons))] if reasons else []
                )
        except (NoRelease, TellallError) as reason:
            return replace(record, read=False, reason=one_line(str(reason), 300)), ()
        places = tuple(range(start, start + len(made)))
        return replace(record, made=tuple(made), releases=places), tuple(beside)


def _read(outputs: Any) -> FoundOutputs:
    if isinstance(outputs, str | Path):
        return read_outputs(outputs)
    if isinstance(outputs, FoundOutputs):
        return outputs
    if isinstance(outputs, Mapping):
        return FoundOutputs(tuple(_table_of(frame, str(name)) for name, frame in outputs.items()))
    listed = list(outputs) if isinstance(outputs, list | tuple) else [outputs]
    return FoundOutputs(tuple(_table_of(one, f"table {place}") for place, one in enumerate(listed, start=1)))


def _table_of(frame: Any, name: str) -> FoundTable:
    """A frame as a printed table: names of its columns' levels in lines above, of its index beside."""
    if isinstance(frame, FoundTable):
        return frame
    if hasattr(frame, "to_frame") and not hasattr(frame, "columns"):
        frame = frame.to_frame()
    if not hasattr(frame, "columns") or not hasattr(frame, "index"):
        rule = "a path, a pandas frame, or a list of frames"
        raise invalid("outputs", rule, type(frame).__name__)
    index, columns = frame.index, frame.columns
    sides, heads = index.nlevels, columns.nlevels
    corner = [["" for _ in range(sides)] for _ in range(heads)]
    for place, label in enumerate(columns.names):
        corner[place][-1] = "" if label is None else str(label)
    lines: list[list[Any]] = []
    for place in range(heads):
        lines.append([*corner[place], *(_label(label) for label in columns.get_level_values(place))])
    if any(label is not None for label in index.names):
        lines.append([*("" if n is None else str(n) for n in index.names), *[""] * len(columns)])
    labels = [[_label(label) for label in index.get_level_values(place)] for place in range(sides)]
    for row in range(len(frame)):
        lines.append([*(each[row] for each in labels), *frame.iloc[row].tolist()])
    cells = tuple(tuple(shown_of(value) for value in line) for line in lines)
    return FoundTable(Source(name), cells, heads=len(lines) - len(frame), sides=sides)


def _label(value: Any) -> str:
    return shown_of(value).text


def _slack(protections: Sequence[Protection]) -> float:
    """By how much declared protections may move a number: their bound, or six standard deviations."""
    total = 0.0
    for one in protections:
        law = one.law
        total += law.bound if np.isfinite(law.bound) else 6 * law.std
    return total if np.isfinite(total) else 0.0


def _recognise_table(
    table: FoundTable,
    people: Dataset,
    variables: Sequence[TableVariable],
    limits: SearchLimits,
    confirmed: Mapping[str, int],
) -> _Recognised:
    found = search(table, variables, people.n, limits)
    if not found.agreeing and not table.sure:
        other = table.with_decimal("," if table.decimal == "." else ".")
        again = search(other, variables, people.n, limits)
        if again.agreeing:
            table, found = other, again
    return _judged(table, found, confirmed)


def _is_sure(meaning: FittedTable) -> bool:
    """Whether it, and the filter if it has one, tells more than chance does."""
    return meaning.sure >= ACCEPTED and (not meaning.where or meaning.filter_bits >= ACCEPTED)


def _judged(table: FoundTable, found: Found, confirmed: Mapping[str, int]) -> _Recognised:
    """What a search comes to: accepted, to be confirmed, or the nearest explanation."""
    cells = tuple(tuple(cell.text for cell in line) for line in table.cells)
    plain = RecognisedOutput(table.source, cells=cells, marks=_marks(table, None))
    meanings = found.accepted
    if meanings and found.nearest is not None and not _is_sure(meanings[0]):
        # what explains a cell or two, and takes the others for labels, is no question to ask
        explained = meanings[0].cells
        if explained < most_numbers(table) and explained < found.nearest.agreeing[0]:
            meanings = []
    if not meanings:
        if found.nearest is None:
            words = "its labels match no columns of the people" if found.finished else "search not finished"
            return _Recognised(replace(plain, reason=words))
        near = found.nearest
        words = nearest_of(near)
        if not found.finished:
            words = f"search not finished; {words}"
        near_record = _described(plain, near, table)
        return _Recognised(replace(near_record, read=False, reason=words, bits=0.0, about_secret=None))
    best = meanings[0]
    sure = _is_sure(best)
    speak = [_about_secret(one) for one in meanings]
    chosen = confirmed.get(str(table.source))
    listed = meanings[:_MOST_MEANINGS]
    if chosen is not None and not 0 <= chosen <= len(listed):
        raise invalid("confirm", f"a meaning of {table.source}, 1 to {len(listed)}, or 0", chosen)
    if chosen:
        best = listed[chosen - 1]
        record = _described(plain, best, table)
        return _Recognised(record if record.read else replace(record, reason=_NOT_ABOUT_IT), best)
    record = _described(plain, best, table)
    if not any(speak) and sure:
        about = replace(record, read=False, about_secret=False, reason=_NOT_ABOUT_IT)
        return _Recognised(about, best)
    if len(meanings) > 1:
        told = tuple(_meaning(number, one, best) for number, one in enumerate(listed, start=1))
        more = len(meanings) - len(listed)
        words = f"it may be {len(meanings)} things, and all agree: which is it?"
        words += f" The likeliest {len(listed)} are listed" if more else ""
        asked = replace(record, read=False, reason=words, meanings=told, about_secret=None)
        return _Recognised(asked)
    if not sure:
        words = f"it looks like {record.sentence}, and chance may do as much: right?"
        told = (_meaning(1, best, best),)
        asked = replace(record, read=False, reason=words, meanings=told, about_secret=None)
        return _Recognised(asked)
    return _Recognised(record, best)


def _meaning(number: int, fitted: FittedTable, first: FittedTable) -> PossibleMeaning:
    columns = tuple(axis.variable.name for axis in fitted.axes)
    differs = () if fitted is first else differences_of(first, fitted)
    return PossibleMeaning(number, sentence_of(fitted), columns, fitted.where, differs)


def _about_secret(fitted: FittedTable) -> bool:
    return any(speaks_of_secret(fitted, fit) for fit in fitted.fits)


def _described(plain: RecognisedOutput, fitted: FittedTable, table: FoundTable) -> RecognisedOutput:
    about = _about_secret(fitted)
    measured = [fit.measure.target.name for fit in fitted.fits if fit.measure.target is not None]
    return replace(
        plain,
        sentence=sentence_of(fitted),
        kind=", ".join(dict.fromkeys(fit.measure.words for fit in fitted.fits)),
        columns=tuple(axis.variable.name for axis in fitted.axes),
        columns_known=tuple(
            dict.fromkeys(
                [axis.variable.name for axis in fitted.axes if not axis.variable.secret]
                + list(fitted.filter_columns)
            )
        ),
        measured=tuple(dict.fromkeys(measured)),
        where=fitted.where,
        protection=steps_of(fitted),
        agrees=fitted.agreeing,
        read=about,
        about_secret=about,
        bits=round(fitted.sure, 1),
        marks=_marks(table, fitted),
    )


def _marks(table: FoundTable, fitted: FittedTable | None) -> tuple[str, ...]:
    """A letter for each cell of each line."""
    height, width = table.shape
    letters = np.full((height, width), ".")
    for fit in () if fitted is None else fitted.fits:
        for at, (row, column) in enumerate(zip(fit.panel.rows, fit.panel.columns, strict=True)):
            if fit.shown[at] or not fit.agrees[at]:
                agrees = fit.agrees[at] and letters[row, column] != "x"
                letters[row, column] = "=" if agrees else "x"
            elif fit.hidden[at]:
                letters[row, column] = "h"
    return tuple("".join(line) for line in letters)


def _of_model(model: RecognisedModel) -> _Recognised:
    """A printed model with what it is found to be."""
    said = model.match.accepted and not model.reason and model.about_secret is True
    record = RecognisedOutput(
        model.model.source,
        sentence=model.sentence,
        kind=model.match.kind or model.model.kind or "model",
        columns=model.columns,
        columns_known=model.columns_known if said else (),
        measured=(model.match.response,) if model.match.response else (),
        where=model.match.where,
        agrees=model.agrees,
        read=said,
        reason=model.reason,
        about_secret=model.about_secret,
        bits=round(model.match.bits, 1),
    )
    return _Recognised(record, model=model)
