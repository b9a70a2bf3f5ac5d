"""A paper rerun: its claims with our verdicts, its figures, how to repeat it. One type for every paper."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from tellall.core import files
from tellall.core.errors import invalid
from tellall.core.records import ALWAYS, NOT_WRITTEN, VERSION, WRITTEN, Meaning, Record
from tellall.core.shown import page_of
from tellall.core.text import wrapped
from tellall.core.version import __version__, versions
from tellall.report.kit.plot import Figure, numbers
from tellall.report.paper_words import MEANINGS, PaperVerdict
from tellall.report.terminal import fitted

__all__ = [
    "IndexEntry",
    "PaperRerun",
    "PaperTable",
    "Statement",
]

_TEXT_ROWS = 12
_WIDTH = max(map(len, MEANINGS))


@dataclass(frozen=True)
class Statement(Record):
    """One claim of a paper: what it says, how we tested it, what we found, and our verdict.

    Attributes
    ----------
    what, where
        The claim in a few words, and its number in the paper: "Prop. 2", "Fig. 3", "Sec. II-D, E-RT-6".
    says
        What the paper says.
    tested
        How we tested it: parameters and runs.
    ours
        What we found, in words or as a number.
    verdict
        One of the words that `MEANINGS` explains. Only "holds" counts as holding: a correction never does.
    value, bound, interval
        The numbers behind the verdict, if there are any: ours, what it is compared with, and the
        interval of ours.
    claim
        The name of the claim; cases of one claim share it.
    """

    what: str
    where: str
    says: str
    tested: str
    ours: str
    verdict: PaperVerdict
    value: float | None = None
    bound: float | None = None
    interval: tuple[float, float] | None = None
    claim: str = ""

    def __post_init__(self) -> None:
        if self.verdict not in get_args(PaperVerdict):
            raise invalid("verdict", f"one of {', '.join(get_args(PaperVerdict))}", self.verdict)

    def __str__(self) -> str:
        tested = f" [{self.tested}]" if self.tested else ""
        says = f"; the paper: {self.says}" if self.says else ""
        return (
            f"{self.verdict:{_WIDTH}}  {self.what} ({self.where}){tested}\n"
            f"{'':{_WIDTH}}  ours: {self.ours}{says}"
        )


@dataclass(frozen=True)
class IndexEntry(Record):
    """One numbered object of a paper: a theorem, lemma, definition, algorithm, figure or table.

    Attributes
    ----------
    number, says
        Its name in the paper ("Thm. 3.3"), and what it says in a few words.
    verdict
        The gravest verdict of the statements about it; "not tried" if there are none.
    statements
        Which statements of the rerun are about it, counted from 1.
    why
        Why it was not tried.
    """

    number: str
    says: str
    verdict: PaperVerdict
    statements: tuple[int, ...] = ()
    why: str = ""

    @property
    def found(self) -> Annotated[str, WRITTEN]:
        """Why it was not tried, and which statements are about it."""
        listed = ", ".join(_runs(self.statements))
        word = "statement" if len(self.statements) == 1 else "statements"
        return "; ".join(filter(None, (self.why, f"{word} {listed}" if listed else "")))


@dataclass(frozen=True)
class PaperTable(Record):
    """A table of the paper with our numbers beside its own.

    Attributes
    ----------
    number, caption
        Its name in the paper ("Table 3"), and what the columns hold.
    head, rows
        The names of the columns, and the cells as text.
    """

    number: str
    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def __str__(self) -> str:
        body = [list(row) for row in self.rows]
        return "\n".join([wrapped(f"{self.number}: {self.caption}"), *fitted([list(self.head), *body])])


@dataclass(frozen=True, kw_only=True)
class PaperRerun(Record):
    """A paper rerun; `str` is for a terminal, `as_json` is the JSON form, `save` writes the page.

    Attributes
    ----------
    name, title, reference
        The paper's short name ("private-ols"), its title, and where it appeared.
    statements, figures
        The claims with our verdicts, and what was drawn.
    notes
        What a reader has to know: what was left out, approximated or read in one of several ways.
    seed, quick, data
        How to repeat it; `data` is the folder that was named, if any.
    asked
        The object or erratum that alone was asked about; empty for the whole paper.
    stand_in
        The data that were taken because the paper's own were not given; empty if none were.
    index
        Every numbered object of the paper, in its order, with the statements about it.
    tables
        Tables of the paper beside our numbers.
    details
        Further plain data for the JSON document only, beside the other keys.
    versions
        The software that made it; filled in if not given.

    Examples
    --------
    >>> claim = Statement("soundness", "Prop. 2", "at most δ", "δ = 0.05", "0.01", "holds")
    >>> rerun = PaperRerun(
    ...     name="robust-tracing", title="Robust traceability", reference="FOCS 2015", statements=(claim,)
    ... )
    >>> print(rerun)
    Robust traceability (FOCS 2015)
    <BLANKLINE>
    1. holds                   soundness (Prop. 2) [δ = 0.05]
                               ours: 0.01; the paper: at most δ
    """

    schema_version: Annotated[Literal[2], ALWAYS] = VERSION
    document: Annotated[Literal["paper"], ALWAYS] = "paper"
    command: Annotated[Literal["paper"], ALWAYS] = "paper"
    name: Annotated[str, Meaning(key="paper")]
    title: str
    reference: str
    tellall: str = __version__
    versions: Mapping[str, str] = field(default_factory=versions)
    seed: int | None = None
    quick: bool = True
    data: str = ""
    asked: str = ""
    stand_in: str = ""
    index: tuple[IndexEntry, ...] = ()
    statements: tuple[Statement, ...]
    tables: tuple[PaperTable, ...] = ()
    figures: tuple[Figure, ...] = ()
    notes: tuple[str, ...] = ()
    details: Annotated[Mapping[str, Any], NOT_WRITTEN] = field(default_factory=dict)

    def about(self, words: str) -> PaperRerun:
        """The same rerun with the statements about one object or erratum only: "Thm. 3.3", "E-LR-1".

        Figures stay: whoever reruns a part draws none but those of the object.
        """
        kept = tuple(one for one in self.statements if words in re.split(r", |proof of ", one.where))
        places = tuple(range(1, len(kept) + 1))
        entries = tuple(replace(one, statements=places) for one in self.index if one.number == words)
        tables = tuple(one for one in self.tables if one.number == words)
        other = any(one.verdict == "not tried (other data)" for one in kept)
        notes = self.notes[:1] if other else ()  # which data stand in
        mine = replace(self, statements=kept, index=entries, tables=tables)
        return replace(mine, notes=notes, asked=words)

    @property
    def counts(self) -> Counter[str]:
        """How many statements have each verdict."""
        return Counter(one.verdict for one in self.statements)

    def as_json(self) -> dict[str, Any]:
        """Plain values only: everything that the page shows, and more."""
        return {**super().as_json(), **self.details}

    def save(self, folder: str | Path) -> Path:
        """The page's path, after ``NAME.json`` and ``NAME.html`` are in the folder."""
        target = Path(folder)
        if target.exists() and not target.is_dir():
            raise invalid("folder", "a folder, or a new name", str(folder))
        page = page_of(self)
        target.mkdir(parents=True, exist_ok=True)
        with files.together(public=True) as batch:  # papers are about published data and made-up people
            batch.text(target / f"{self.name}.json", files.dump(self.as_json()))
            return batch.text(target / f"{self.name}.html", page)

    def __str__(self) -> str:
        parts = [f"{self.title} ({self.reference})"]
        if self.index:
            rows = [(one.number, one.verdict, one.says, one.found) for one in self.index]
            parts.append("\n".join(wrapped(": ".join(filter(None, row)), indent="    ") for row in rows))
        numbered = (f"{place}. {one}" for place, one in enumerate(self.statements, 1))
        parts.append("\n".join(wrapped(line.replace("\n", f"\n{'':3}"), indent=6 * " ") for line in numbered))
        parts.extend(map(str, self.tables))
        for figure in self.figures:
            head, body, _ = numbers(figure, _TEXT_ROWS)
            words = wrapped(f"{figure.title}: {figure.y.words}")
            parts.append("\n".join([words, *fitted([head, *body])]))
        return "\n\n".join([*parts, *map(wrapped, self.notes)])


def _runs(places: tuple[int, ...]) -> list[str]:
    """Numbers in growing order, those next to each other as one.

    Examples
    --------
    >>> _runs((1, 2, 3, 5, 7, 8))
    ['1–3', '5', '7–8']
    """
    ends: list[list[int]] = []
    for place in places:
        if ends and place == ends[-1][1] + 1:
            ends[-1][1] = place
        else:
            ends.append([place, place])
    return [str(first) if first == last else f"{first}–{last}" for first, last in ends]
