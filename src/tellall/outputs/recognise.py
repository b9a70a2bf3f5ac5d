"""Recognises outputs by computing them again from the people."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from tellall.core.amounts import count_of, some_of
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
)
from tellall.outputs.printed_curves import RecognisedCurve, recognise_curve
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
    given = dict(confirm or {})
    _check_sources(read, given)
    limits = SearchLimits(seconds, done, _slack(done))
    variables = variables_of(people)
    tables = [part for table in read.tables for part in parts_of(table, variables)]
    recognised = [_recognise_table(table, people, variables, limits, given) for table in tables]
    recognised += [_of_model(model) for model in recognise_models(read.models, people)]
    recognised = [each.refused() if given.get(each.record.id) == 0 else each for each in recognised]
    said = None if public is None else {people.public.names[people.public.position(n)] for n in public}
    return _folder(recognised, read.skipped, people, said)


def _check_sources(read: FoundOutputs, confirmed: Mapping[str, int]) -> None:
    """Raises an error if something is said about an output that is not there."""
    sources = [*(str(table.source) for table in read.tables), *(str(model.source) for model in read.models)]
    for output in confirmed:
        if output not in sources:
            advice = f"Outputs are {some_of(sources, 12)}." if sources else "There is none."
            raise invalid("confirm", "about a table or model in the outputs", output, advice)


def _folder(
    recognised: Sequence[_Recognised],
    skipped: Sequence[NotDone],
    people: Dataset,
    said: set[str] | None,
) -> OutputFolder:
    """The outputs with their releases; ``said`` are the columns that an outsider knows, if that is said."""
    names = people.public.names
    used = {name for each in recognised for name in each.known}
    columns = [name for name in names if name in used | (said or set())]
    view = replace(people, public=people.public.only(*columns))
    listed: list[RecognisedOutput] = []
    releases = 0
    for each in recognised:
        listed.append(each.with_releases(view, releases))
        releases += len(listed[-1].made)
    known = tuple(name for name in columns if said is None or name in said)
    return OutputFolder(
        tuple(listed),
        tuple(skipped),
        people.secret_name,
        people.meaning,
        known=known,
        assumed_unknown=tuple(name for name in names if name not in known),
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


Makes = Callable[[Dataset], tuple[list[Release], list[str]]]


@dataclass(frozen=True, eq=False)
class _Recognised:
    """An output with what it is found to be, before the columns of all outputs are known.

    ``makes`` gives its releases about people, and why some of its numbers are none.
    """

    record: RecognisedOutput
    makes: Makes | None = None

    @property
    def known(self) -> tuple[str, ...]:
        """The public columns that an outsider must know to use it."""
        return self.record.columns_known if self.record.read else ()

    def refused(self) -> _Recognised:
        """The same output, not checked, since a person knows better what it is."""
        open_again = replace(self.record, read=False, reason=_REFUSED, meanings=(), about_secret=None)
        return _Recognised(open_again)

    def with_releases(self, people: Dataset, start: int) -> RecognisedOutput:
        """The record with its releases, or why there are none."""
        record = self.record
        if not record.read or self.makes is None:
            return record
        try:
            made, reasons = self.makes(people)
        except (NoRelease, TellallError) as reason:
            made, reasons = [], [str(reason)]
        beside = one_line("; ".join(reasons), 300)
        if not made:
            return replace(record, read=False, reason=beside)
        places = tuple(range(start, start + len(made)))
        return replace(record, made=tuple(made), releases=places, beside=beside)


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
    heads = _head_lines(frame.columns, frame.index.names)
    sides = frame.index.nlevels
    labels = [[_label(label) for label in frame.index.get_level_values(place)] for place in range(sides)]
    body = [[*(each[row] for each in labels), *frame.iloc[row].tolist()] for row in range(len(frame))]
    cells = tuple(tuple(shown_of(value) for value in line) for line in (*heads, *body))
    return FoundTable(Source(name), cells, heads=len(heads), sides=sides)


def _head_lines(columns: Any, sides: Sequence[Any]) -> list[list[str]]:
    """The header lines of a frame: a line for each level of its columns, and one for the index's names."""
    lines = []
    for place, label in enumerate(columns.names):
        corner = [*[""] * (len(sides) - 1), _name(label)]
        lines.append([*corner, *map(_label, columns.get_level_values(place))])
    if any(label is not None for label in sides):
        lines.append([*map(_name, sides), *[""] * len(columns)])
    return lines


def _name(label: Any) -> str:
    return "" if label is None else str(label)


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
    curve = recognise_curve(table, people)
    if curve is not None:
        return _of_curve(curve)
    found = search(table, variables, people.n, limits)
    if not found.agreeing and not table.sure:
        other = table.with_decimal("," if table.decimal == "." else ".")
        again = search(other, variables, people.n, limits)
        if again.agreeing:
            table, found = other, again
    record, fitted = _judged(table, found, confirmed)
    if fitted is None:
        return _Recognised(record)
    return _Recognised(record, lambda view: releases_of(fitted, view, limits.protect))


def _is_sure(meaning: FittedTable) -> bool:
    """Whether it, and the filter if it has one, tells more than chance does."""
    return meaning.sure >= ACCEPTED and (not meaning.where or meaning.filter_bits >= ACCEPTED)


def _judged(
    table: FoundTable, found: Found, confirmed: Mapping[str, int]
) -> tuple[RecognisedOutput, FittedTable | None]:
    """What a search comes to: accepted, to be confirmed, or the nearest explanation."""
    cells = tuple(tuple(cell.text for cell in line) for line in table.cells)
    plain = RecognisedOutput(table.source, cells=cells, marks=_marks(table, None))
    meanings = found.accepted
    if not meanings or _explains_little(meanings[0], found, table):
        return _not_found(plain, found, table), None
    best = meanings[0]
    chosen = confirmed.get(str(table.source))
    listed = meanings[:_MOST_MEANINGS]
    if chosen is not None and not 0 <= chosen <= len(listed):
        raise invalid("confirm", f"a meaning of {table.source}, 1 to {len(listed)}, or 0", chosen)
    record = _described(plain, listed[chosen - 1] if chosen else best, table)
    if chosen:
        about = record if record.read else replace(record, reason=_NOT_ABOUT_IT)
        return about, listed[chosen - 1]
    if _is_sure(best) and not any(map(_about_secret, meanings)):
        return replace(record, read=False, about_secret=False, reason=_NOT_ABOUT_IT), None
    if len(meanings) == 1 and _is_sure(best):
        return record, best
    words = f"it looks like {record.sentence}, and chance may do as much: right?"
    if len(meanings) > 1:
        more = len(meanings) > len(listed)
        words = f"it may be {len(meanings)} things, and all agree: which is it?"
        words += f" The likeliest {len(listed)} are listed" if more else ""
    told = tuple(_meaning(number, one, best) for number, one in enumerate(listed, start=1))
    return replace(record, read=False, reason=words, meanings=told, about_secret=None), None


def _explains_little(best: FittedTable, found: Found, table: FoundTable) -> bool:
    """Whether a meaning explains some of the numbers and takes the others for labels.

    It does if lines are its headers whose numbers contradict a meaning that agrees in as many. What is not
    sure and explains half of the numbers or less is no question to ask either.
    """
    near = found.nearest
    agreeing = 0 if near is None else near.agreeing[0]
    lines = 0 if near is None or near.reading.columns != best.reading.columns else len(near.reading.rows)
    if best.cells <= agreeing and len(best.reading.rows) < lines:
        return True
    if _is_sure(best) or best.cells >= most_numbers(table):
        return False
    return best.cells < agreeing or 2 * best.cells <= most_numbers(table)


def _not_found(plain: RecognisedOutput, found: Found, table: FoundTable) -> RecognisedOutput:
    """An output that agrees with nothing, with the nearest explanation."""
    near = found.nearest
    if near is None and found.agreeing:
        best = found.agreeing[0]
        said = f"{best.cells} of {count_of(most_numbers(table), 'number')}"
        return replace(plain, reason=f"only {said} may be {sentence_of(best)}")
    if near is None:
        words = "its labels match no columns of the people" if found.finished else "search not finished"
        return replace(plain, reason=words)
    words = nearest_of(near) if found.finished else f"search not finished; {nearest_of(near)}"
    record = _described(plain, near, table)
    return replace(record, read=False, reason=words, bits=0.0, about_secret=None)


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
    return _Recognised(record, lambda view: ([model.release(view)], []))


def _of_curve(curve: RecognisedCurve) -> _Recognised:
    """A printed survival curve with what it is found to be."""
    said = not curve.reason
    columns = tuple(filter(None, (curve.time, curve.event)))
    record = RecognisedOutput(
        curve.table.source,
        sentence=curve.sentence,
        kind="survival curve",
        columns=columns,
        columns_known=(curve.time,) if said else (),
        agrees=curve.agrees,
        read=said,
        reason=curve.reason,
        about_secret=curve.about_secret,
        bits=round(curve.bits, 1),
        cells=curve.table.texts,
        marks=_marks(curve.table, None),
    )
    return _Recognised(record, lambda view: ([curve.release(view)], []))
