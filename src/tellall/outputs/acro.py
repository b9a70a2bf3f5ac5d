"""Reads the folders that ACRO makes for output checkers: tables and regressions become releases.

Others wrote the commands and labels in such a folder. They are read, never run.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.core import files
from tellall.core.errors import InvalidInput, TellallError, invalid
from tellall.core.not_done import NotDone
from tellall.core.text import one_line
from tellall.outputs.acro_others import SaysNothing, agreeing_model, agreeing_table, recodings, tells_more
from tellall.outputs.coefficients import INTERCEPTS, read_coefficients, says_all
from tellall.outputs.commands import Command, columns_of, condition_of, parse_command, words_of
from tellall.outputs.crosstab import amounts_of_grid, release_of_grid
from tellall.outputs.curves import curve_of_lines
from tellall.outputs.grids import TOTALS, Grid, grid_of_rows
from tellall.outputs.measures import CALLED
from tellall.outputs.output_folder import NO_PART, Output, OutputFolder, errors_not_read, not_read
from tellall.outputs.printed import TableContext, sort_values
from tellall.outputs.recognise import recognise
from tellall.people.dataset import Dataset, Public, as_public
from tellall.people.labels import label_text
from tellall.people.sheets import read_cells
from tellall.protections.protection import Protection
from tellall.protections.rounding import Rounding
from tellall.protections.suppression import Suppression
from tellall.release.release import Release

__all__ = ["RESULTS", "is_acro", "read_acro", "shared_variable"]

RESULTS = "results.json"
_COUNTS = ("count", "size", "len", "FrequencyTable", "Count")
_AMOUNTS = ("mean", "sum", "min", "max")
_COUNTED = ("mean", "sum")  # of a secret that is 0 or 1: numbers of people in other words
_BIT = ("0", "1")
_OTHERS = ("mean", "sum", "median", "std", "mode", "var", "min", "max")
_LOSSES = {"OLS": "linear", "Logit": "logistic", "Poisson": "poisson", "Probit": "probit"}
_MOST_OUTPUTS = 10_000
_PICTURES = ("histogram", "pie chart", "survival plot")
_PICTURE = "a picture: what it shows is not read"
_SECONDS = 5.0  # for what an output is whose record does not say it
_SUMMARIES = {"session_summary.json", "session_summary.csv"}
_DECIMALS = 4  # of coefficients in a statsmodels summary
_OTHER_ERRORS = "not used (robust, or not of this fit), although they show how far people are from the line"
_LARGE, _DIGITS = 1e4, 4  # from this size on statsmodels prints this many digits instead


def is_acro(folder: Path) -> bool:
    """Whether a folder was written by ACRO."""
    return (folder / RESULTS).is_file()


def read_acro(
    folder: str | Path,
    public: Public | Dataset | npt.ArrayLike,
    *,
    secret: str | None = None,
    where: Mapping[str, str] | None = None,
    may_include: bool = False,
) -> OutputFolder:
    """The outputs of an ACRO folder as releases about these people.

    Parameters
    ----------
    folder
        The folder, with its ``results.json``.
    public
        The people. A dataset with a secret also says which variable is the secret.
    secret
        The variable to protect. By default, the variable in most tables that is not a public column.
    where
        The people each output is about, by its id. Needed only if that is not everybody and the command does
        not say so.
    may_include
        Whether tables leave out some of the people, and nobody knows whom.

    Notes
    -----
    Tables: axes and labels are matched to columns and values by their text, never by position. A suppressed
    table gets `Suppression` with the folder's threshold, a rounded one gets `Rounding`. ACRO recomputes their
    totals from the cells it shows; such totals add nothing and are left out. Regressions: models of the
    secret on public columns are read, with their coefficients as printed. Everything else, including the
    robust standard errors of linear models, is listed in ``skipped`` with the reason.
    """
    path, view = Path(folder), as_public(public)
    document, entries = _entries(path)
    known = replace(_know(entries, public, view, secret), may_include=may_include)
    threshold = _threshold(path)
    said = dict(where or {})
    copies = recodings(public)
    outputs: list[Output] = []
    skipped: list[NotDone] = []
    for entry in entries:
        for name, read in entry.parts(known, threshold, said.get(entry.id)):
            try:
                made = read()
                outputs.append(Output(name, made, entry.status, entry.command, tuple(entry.files())))
                if entry.kind == "regression" and not says_all(made):
                    skipped.append(errors_not_read(name, _OTHER_ERRORS))
            except SaysNothing as error:
                copy = error.column in copies
                words = f"about {error.column}, which is {known.secret} in other words: not attacked"
                skipped.append(
                    not_read(name, one_line(words if copy else str(error), 300), None if copy else NO_PART)
                )
            except TellallError as error:
                if entry.is_summary():
                    skipped.append(not_read(name, one_line(str(error), 300), NO_PART))
                else:
                    again = _recognised(entry, name, public, str(error))
                    if isinstance(again, Output):
                        outputs.append(again)
                    else:
                        skipped.append(again)
    assert known.secret is not None
    made_by = f"ACRO {one_line(document.get('version', 'of unknown version'), 40)}"
    return OutputFolder(
        tuple(outputs), tuple(skipped), known.secret, known.meaning or (), made_by, may_include
    )


def _recognised(entry: _Entry, name: str, people: Any, reason: str) -> Output | NotDone:
    """What computing an output again from the people says of it, where its record does not say enough."""
    unread = not_read(name, one_line(reason, 300))
    if not isinstance(people, Dataset) or people.secret is None:
        return unread
    try:
        paths = entry.files()
        found = [one for path in paths for one in recognise(path, people, seconds=_SECONDS).records]
    except TellallError:
        return unread
    if len(found) != 1:
        return unread
    (one,) = found
    if one.about_secret is False:
        said = f"{one.sentence}; {one.reason}" if one.sentence else one.reason
        return not_read(name, one_line(said, 300), NO_PART)
    if len(one.made) == 1 and name == entry.id:
        return Output(name, one.made[0], entry.status, entry.command, tuple(paths))
    sure = 0 < one.agrees[0] == one.agrees[1] and not one.meanings
    return not_read(name, one_line((one.reason if sure else "") or reason, 300))


def shared_variable(folder: str | Path, names: Sequence[str]) -> str | None:
    """The column that most outputs are about; None if two are tied or no output says."""
    found: Counter[str] = Counter()
    for entry in _entries(Path(folder))[1]:
        try:
            found.update({entry.about()} & set(names))
        except TellallError:
            continue  # reported when the output is read
    first = found.most_common(2)
    tied = len(first) == 2 and first[0][1] == first[1][1]
    return None if not first or tied else first[0][0]


def _entries(path: Path) -> tuple[dict[str, Any], list[_Entry]]:
    """The record of a folder, and its outputs."""
    if not path.is_dir():
        raise invalid("folder", "a folder that exists", path)
    document = files.read_json(path / RESULTS, what="folder")
    results = document.get("results")
    if not isinstance(results, dict) or not all(isinstance(each, dict) for each in results.values()):
        raise invalid("folder", f"an ACRO folder, with results by id in {RESULTS}", path)
    if len(results) > _MOST_OUTPUTS:
        raise invalid("folder", f"an ACRO folder of at most {_MOST_OUTPUTS:,} outputs", f"{len(results):,}")
    return document, [_Entry.of(path, key, plain) for key, plain in results.items()]


def _threshold(folder: Path) -> float | None:
    """The smallest count that ACRO shows in this folder; None if the folder does not say."""
    if not (folder / "config.json").is_file():
        return None
    value = files.read_json(folder / "config.json", what="folder").get("safe_threshold")
    return float(value) if isinstance(value, int | float) and 0 < value < 1e9 else None


@dataclass(frozen=True, eq=False)
class _Entry:
    """One output, as recorded in the folder."""

    folder: Path
    id: str
    plain: Mapping[str, Any]

    @classmethod
    def of(cls, folder: Path, key: str, plain: Mapping[str, Any]) -> _Entry:
        return cls(folder, one_line(key, 80), plain)

    @property
    def kind(self) -> str:
        return one_line(self.plain.get("type", ""), 40)

    @property
    def status(self) -> str:
        return one_line(self.plain.get("status", ""), 20)

    @property
    def command(self) -> str:
        text = self.plain.get("command", "")
        return one_line(text, 2000) if isinstance(text, str) else ""

    @property
    def call(self) -> Command | None:
        return parse_command(self.command)

    def section(self, name: str) -> Mapping[str, Any]:
        """A section of the record; empty if it is missing."""
        value = self.plain.get(name)
        return value if isinstance(value, Mapping) else {}

    @property
    def variables(self) -> list[str]:
        """The variables of a table or the terms of a model, if the record names them."""
        listed = self.section("fair").get("independent")
        return [str(name) for name in listed] if isinstance(listed, list) else []

    @property
    def listed(self) -> list[Any]:
        """The files that the record lists."""
        return named if isinstance(named := self.plain.get("files"), list) else []

    def is_summary(self) -> bool:
        """Whether this is the summary that ACRO adds for the checker and not an output."""
        names = {str(each.get("name")) for each in self.listed if isinstance(each, Mapping)}
        return self.id.endswith("DONT_RELEASE") and bool(names) and names <= _SUMMARIES

    def about(self) -> str:
        """The variable that the output is about: the last of a table of counts, or the one modelled."""
        if self.kind == "regression":
            return _summary(self.files()).dependent
        if self.is_survival():
            return self.followed()[1]
        return self.variables[-1] if self.kind == "table" and self.variables and self._counts() else ""

    def shows_amounts(self) -> bool:
        """Whether this is a table of means, sums or other numbers of one variable."""
        return self.kind == "table" and not self.is_survival() and not self._counts()

    def is_survival(self) -> bool:
        """Whether this is a table of a survival curve."""
        return self.kind == "table" and str(self.section("properties").get("method", "")).startswith("surv")

    def followed(self) -> tuple[str, str]:
        """The two columns of a survival curve: the follow-up time and whether the event happened."""
        call = self.call
        names = () if call is None else columns_of(call)
        plain = call is not None and len(names) <= 3 and set(call.keywords) <= {"output", "title", "filename"}
        if not plain or len(names) < 2 or names[0] is None or names[1] is None:
            raise InvalidInput("a survival curve whose command does not name its columns")
        return names[0], names[1]

    def survival(self, known: TableContext, where: str | None) -> Release:
        """The release of a survival curve whose event is the secret."""
        people, where = self.people(known, where)
        time, event = self.followed()
        if event != known.secret or len(people.meaning or ()) != 2:
            raise InvalidInput(f"a survival curve of {one_line(event, 60)}, not of {known.secret}")
        release = curve_of_lines(read_cells(self.files()[0]), people, time, ())
        return release if where is None else release.about(where)

    def _counts(self) -> bool:
        call = self.call
        aggregated = () if call is None else words_of(call, "aggfunc")
        return self.statistic() in _COUNTS or any(word in _COUNTS for word in aggregated)

    def files(self) -> list[Path]:
        """The files of the output, inside the folder."""
        names = [each.get("name") if isinstance(each, Mapping) else each for each in self.listed]
        if not names or not all(isinstance(name, str) for name in names):
            raise InvalidInput("its record names no file")
        return [files.fits_inside(self.folder, str(name), what="file") for name in names]

    def parts(
        self, known: TableContext, threshold: float | None, where: str | None
    ) -> Iterator[tuple[str, Any]]:
        """The releases to read from the output: for each, its name and a function that reads it."""
        if self.is_survival():
            yield self.id, lambda: self.survival(known, where)
        elif self.kind == "table":
            try:
                grids = self.grids(known)
            except TellallError as error:
                yield self.id, _refusal(str(error))
                return
            for statistic, grid in grids:
                name = self.id if len(grids) == 1 else f"{self.id} ({statistic})"
                yield name, lambda s=statistic, g=grid: self.table(s, g, known, threshold, where)
        elif self.kind == "regression":
            yield self.id, lambda: self.regression(known, where)
        elif self.is_summary():
            yield self.id, _refusal("ACRO's own summary, not to be released")
        elif self.kind == "custom" and self._is_one_table():
            yield self.id, lambda: self.custom(known, threshold, where)
        else:
            yield self.id, _refusal(_PICTURE if self.kind in _PICTURES else f"a {self.kind}: not read")

    def grids(self, known: TableContext) -> list[tuple[str, Grid]]:
        """The table, split into one table for each statistic that it shows."""
        paths = self.files()
        if len(paths) != 1:
            raise InvalidInput(f"a table in {len(paths)} files")
        names = [*self.variables, *known.public.names, *([known.secret] if known.secret else [])]
        grid = grid_of_rows(read_cells(paths[0]), names, paths[0].name)
        grid = self._named(grid)
        shown = [
            at for at, name in enumerate(grid.names) if name is None and _are_statistics(grid.labels(at))
        ]
        if not shown:
            return [(self.statistic(), grid)]
        return [(label, grid.only(shown[0], label)) for label in grid.labels(shown[0])]

    def _named(self, grid: Grid) -> Grid:
        """The grid; if exactly one axis has no name, it gets the name from the record."""
        missing = [name for name in self.variables if name not in grid.names]
        unnamed = [
            at
            for at, name in enumerate(grid.names)
            if name is None and len(grid.labels(at)) > 1 and not _are_statistics(grid.labels(at))
        ]
        return grid.named(unnamed[0], missing[0]) if len(missing) == len(unnamed) == 1 else grid

    def statistic(self) -> str:
        """What the table shows: the word in its summary or else in its command; by default counts."""
        found = re.match(r"\s*(\w+) :", str(self.plain.get("summary", "")))
        if found:
            return found[1]
        call = self.call
        words = () if call is None else words_of(call, "aggfunc")
        return words[0] if words else "count"

    def people(self, known: TableContext, where: str | None) -> tuple[TableContext, str | None]:
        """The people the output is about, and the condition that selects them."""
        if where is None and (call := self.call) is not None:
            where = condition_of(call)
        return known.among(where), where

    def table(
        self, statistic: str, grid: Grid, known: TableContext, threshold: float | None, where: str | None
    ) -> Release:
        people, where = self.people(known, where)
        word = statistic.lower()
        numbers = known.meaning == () or (known.meaning == _BIT and word in _COUNTED)
        if word in _AMOUNTS and numbers and self.dependent == known.secret:
            made = self.amounts(word, grid, people)
            return made if where is None else made.about(where)
        about = self._columns(grid, known)
        others = known.secret not in about and (self.dependent != known.secret or statistic in _COUNTS)
        found = ""
        with suppress(TellallError):  # a table that is not understood is refused below
            found = agreeing_table(statistic, grid, people, self.dependent) if others else ""
        if found:
            raise SaysNothing(
                f"{found} agree with the people and say nothing about {known.secret}", self.dependent
            )
        if statistic not in _COUNTS:
            raise InvalidInput(f"a table of {CALLED.get(word, f'{word}s')}, not of counts")
        if known.secret not in about:
            raise InvalidInput(f"it is not a table of {known.secret}")
        changed = self.section("properties").get("mitigation", "none")
        protect: list[Protection] = []
        if changed == "round" or (changed != "none" and not tells_more(grid)):
            grid = grid.without_totals()
        if changed == "round":
            protect = [Rounding(_base(self.section("properties").get("round_base")))]
        elif np.isnan(grid.values).any() and threshold is not None:
            protect = self._suppression(grid, threshold)
        release = release_of_grid(grid, people, protect, absent="zero")
        return release if where is None else release.about(where)

    @property
    def dependent(self) -> str:
        """The variable whose means or sums a table shows; empty if the record does not name it."""
        return str(self.section("fair").get("dependent", ""))

    def amounts(self, statistic: str, grid: Grid, people: TableContext) -> Release:
        """The release of a table of means, sums, minima or maxima of a real secret, or of a 0/1 secret.

        Means and sums of 0 and 1 count people.
        """
        rounded = self.section("properties").get("mitigation") == "round"
        protect = [Rounding(_base(self.section("properties").get("round_base")))] if rounded else []
        if people.meaning != _BIT:
            return amounts_of_grid(grid, people, statistic, protect)
        return amounts_of_grid(grid, replace(people, meaning=()), statistic, protect, levels=2)

    def _columns(self, grid: Grid, known: TableContext) -> list[str]:
        """The names of the table's variables; an unnamed axis counts as the secret if its labels fit."""
        values = set(known.meaning or ())
        fits = (
            known.secret
            for at, name in enumerate(grid.names)
            if name is None and values & set(grid.labels(at))
        )
        return [*(name for name in grid.names if name is not None), *(name for name in fits if name)]

    def _suppression(self, grid: Grid, threshold: float) -> list[Protection]:
        """The suppression that explains the hidden cells; empty if a count under the threshold is shown.

        In that case another rule was at work. If ACRO hid some cells for other reasons, the suppression is
        declared complementary.
        """
        shown = grid.values[~np.isnan(grid.values)]
        if (shown < threshold).any():
            return []
        why = _reasons(self.section("outcome"))
        hidden = [
            (row, column)
            for i, row in enumerate(grid.rows)
            for j, column in enumerate(grid.columns)
            if np.isnan(grid.values[i, j])
        ]
        told = all("threshold" in why.get(cell, "").lower() for cell in hidden)
        return [Suppression(threshold, complementary=not told)]

    def _is_one_table(self) -> bool:
        names = [str(each.get("name", "")) for each in self.listed if isinstance(each, Mapping)]
        return len(names) == 1 and names[0].lower().endswith((".csv", ".xlsx"))

    def custom(self, known: TableContext, threshold: float | None, where: str | None) -> Release:
        """The release of a file that the analyst added: counts, if the numbers are those of the people."""
        try:
            ((_, grid),) = self.grids(known)
            unnamed = [at for at, name in enumerate(grid.names) if name is None]
            if len(unnamed) == 1 and set(grid.labels(unnamed[0])) - set(TOTALS) <= set(known.meaning or ()):
                grid = grid.named(unnamed[0], str(known.secret))  # counts that fit are the secret's
            return self.table("count", grid, known, threshold, where)
        except SaysNothing:
            raise
        except (TellallError, ValueError):
            raise InvalidInput(
                f"a file of the analyst's that is no table of counts of {known.secret}"
            ) from None

    def _refuse_model(self, found: _Summary, people: TableContext, secret: str | None) -> None:
        """Raises what is said of a model of another column, if the public columns reproduce it."""
        if found.model not in _LOSSES or found.dependent not in people.public.names:
            return
        if found.people != people.public.n:
            return
        loss, same = _LOSSES[found.model], False
        with suppress(InvalidInput):
            step = _printed(found.values)
            same = agreeing_model(loss, found.dependent, found.terms, found.values, step, people.public)
        if same:
            words = f"a {loss} model of {found.dependent} on {', '.join(found.terms)}"
            raise SaysNothing(
                f"{words} agrees with the people and says nothing about {secret}", found.dependent
            )

    def regression(self, known: TableContext, where: str | None) -> Release:
        """The coefficients of a model of the secret, with standard errors if those add information."""
        people, where = self.people(known, where)
        found = _summary(self.files())
        if found.dependent != known.secret:
            self._refuse_model(found, people, known.secret)
            raise InvalidInput(f"a model of {one_line(found.dependent, 60)}, not of {known.secret}")
        if found.model not in _LOSSES:
            raise InvalidInput(f"models of kind {one_line(found.model, 40)} are not read")
        if found.people != people.public.n:
            raise InvalidInput(f"fitted to {found.people:,} people, not to {people.public.n:,}")
        if len(people.meaning or ()) > 2:
            raise InvalidInput("a model of a secret of more than two values")
        levels = 0 if people.meaning == () else 2
        block = {"block": ["1"] * len(found.terms), "term": list(found.terms), "value": found.values}
        read = partial(
            read_coefficients,
            public=people.public,
            loss=_LOSSES[found.model],
            noise=Rounding(_printed(found.values)),
            levels=levels,
        )
        release = read(block)
        if not says_all(release) and found.errors:
            with suppress(TellallError):  # if it fails, they are listed as not read
                release = read({**block, "std_error": list(found.errors)})
        return release if where is None else release.about(where)


def _refusal(reason: str) -> Any:
    def refuse() -> Release:
        raise InvalidInput(reason)

    return refuse


def _are_statistics(labels: Sequence[str]) -> bool:
    return all(label in (*_COUNTS, *_OTHERS) for label in labels)


def _base(value: Any) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < 1e9:
        raise InvalidInput("rounded to a base that its record does not give")
    return float(value)


def _reasons(outcome: Mapping[str, Any]) -> dict[tuple[tuple[str, ...], tuple[str, ...]], str]:
    """ACRO's verdict on each cell, by the labels of its row and its column."""
    return {
        (_labels(row), _labels(column)): str(text)
        for column, rows in outcome.items()
        if isinstance(rows, Mapping)
        for row, text in rows.items()
    }


def _labels(key: str) -> tuple[str, ...]:
    """The labels of a row or column as pandas writes them: one, or several in brackets."""
    if key.startswith("(") and len(key) < 2000:
        try:
            found = ast.literal_eval(key)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return (key,)
        if isinstance(found, tuple):
            return tuple(map(label_text, found))
    return (label_text(key),)


def _know(entries: Sequence[_Entry], public: Any, view: Public, secret: str | None) -> TableContext:
    """The context of the outputs: the people, and the secret's name and values."""
    given = TableContext.of(public, secret)
    found: Counter[str] = Counter()
    labels: dict[str, set[str]] = {}
    for entry in entries:
        for stranger, values in _strangers(entry, given):
            found[stranger] += 1
            labels.setdefault(stranger, set()).update(values)
    name = given.secret
    if name is None:
        first = found.most_common(2)
        if not first or (len(first) == 2 and first[0][1] == first[1][1]):
            got = "none" if not first else f"{first[0][0]} and {first[1][0]} equally often"
            raise invalid("secret", "given: the variable in the outputs that is not a public column", got)
        name = first[0][0]
    if given.meaning is not None:
        return TableContext(view, name, given.meaning)
    shown = sorted(labels.get(name, set()))
    if len(shown) < 2 and any(entry.dependent == name for entry in entries if entry.shows_amounts()):
        return TableContext(view, name, ())  # a variable with means and on no axis is a real number
    return TableContext(view, name, sort_values(shown) if len(shown) > 1 else ("0", "1"))


def _strangers(entry: _Entry, given: TableContext) -> Iterator[tuple[str, list[str]]]:
    """The variables of an output that are not public columns, with their labels."""
    try:
        if entry.is_survival() or (entry.shows_amounts() and entry.dependent not in ("", "unknown")):
            about = entry.followed()[1] if entry.is_survival() else entry.dependent
            if about not in given.public.names:
                yield about, []
        elif entry.kind == "table":
            for _, grid in entry.grids(given):
                for at, name in enumerate(grid.names):
                    if name is not None and name not in given.public.names:
                        yield name, [label for label in grid.labels(at) if label.lower() not in TOTALS]
        elif entry.kind == "regression":
            dependent = _summary(entry.files()).dependent
            if dependent and dependent not in given.public.names:
                yield dependent, []
    except TellallError:
        return  # reported when the output is read


@dataclass(frozen=True)
class _Summary:
    """The printed summary of a fit."""

    dependent: str
    model: str
    people: int
    terms: tuple[str, ...]
    values: list[float]
    errors: tuple[Any, ...] = ()


def _summary(paths: Sequence[Path]) -> _Summary:
    """The summary of a fit, from the two tables that statsmodels prints."""
    if len(paths) < 2:
        raise InvalidInput("a regression without its table of coefficients")
    said: dict[str, str] = {}
    for line in read_cells(paths[0]):
        cells = [str(cell).strip() for cell in line]
        said.update({key.rstrip(":"): value for key, value in zip(cells[::2], cells[1::2], strict=False)})
    lines = read_cells(paths[1])
    if not lines or len(lines[0]) < 2 or str(lines[0][1]).strip() != "coef":
        raise InvalidInput("a regression whose coefficients are not found")
    try:
        count = int(float(said.get("No. Observations", "")))
        values = [float(line[1]) for line in lines[1:] if line]
    except (ValueError, IndexError, OverflowError):
        raise InvalidInput("a regression whose numbers cannot be read") from None
    if said.get("converged", "True") != "True":
        raise InvalidInput("a fit that did not converge")
    if not values or not np.isfinite(values).all():
        raise InvalidInput("a regression whose coefficients are not finite")
    terms = tuple(_term(str(line[0]).strip()) for line in lines[1:] if line)
    printed = len(lines[0]) > 2 and str(lines[0][2]).strip() == "std err"
    usual = printed and said.get("Covariance Type") == "nonrobust"
    errors = tuple(line[2] for line in lines[1:] if len(line) > 2) if usual else ()
    return _Summary(said.get("Dep. Variable", ""), said.get("Model", ""), count, terms, values, errors)


def _term(name: str) -> str:
    return "intercept" if name.lower() in INTERCEPTS else name


def _printed(values: Sequence[float]) -> float:
    """The base to which the printed coefficients are rounded; the largest if they differ."""
    largest = max(abs(value) for value in values)
    if largest < _LARGE:
        return float(10.0**-_DECIMALS)
    return float(10.0 ** (np.floor(np.log10(largest)) + 1 - _DIGITS))
