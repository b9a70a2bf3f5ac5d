"""A paper rerun: its statements beside ours, its figures, how to repeat it. One type for every paper."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any, Literal, get_args

from tellall.core import files
from tellall.core.errors import invalid
from tellall.core.version import __version__, versions
from tellall.report.plot import Figure, number, numbers

__all__ = [
    "PaperRerun",
    "Statement",
    "Verdict",
]

Verdict = Literal["holds", "does not hold", "corrected", "no promise"]
_SLACK = 1e-12
_TEXT_ROWS = 12


@dataclass(frozen=True)
class Statement:
    """One claim of a paper beside what we found.

    Attributes
    ----------
    what
        The claim in a few words.
    where
        Its place: "Prop. 2", "Fig. 3", "Sec. II-D, E-RT-6".
    papers
        What the paper says, in words.
    ours
        What we found, in words or as a number.
    verdict
        "holds"; "does not hold"; "corrected" where what is printed is wrong and the correction holds;
        "no promise" where the paper says nothing and we show what happens.
    setting
        Where it was tried.
    value, bound, interval
        The numbers behind it, where there are: ours, what it is held against, and the interval of ours.
    """

    what: str
    where: str
    papers: str
    ours: str
    verdict: Verdict
    setting: str = ""
    value: float | None = None
    bound: float | None = None
    interval: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        if self.verdict not in get_args(Verdict):
            raise invalid("verdict", f"one of {', '.join(get_args(Verdict))}", self.verdict)

    @property
    def holds(self) -> bool | None:
        """Whether what we found is as promised, after correction; None where nothing is."""
        return None if self.verdict == "no promise" else self.verdict != "does not hold"

    @classmethod
    def at_least(
        cls,
        what: str,
        where: str,
        papers: str,
        value: float,
        bound: float,
        *,
        setting: str = "",
        interval: tuple[float, float] | None = None,
    ) -> Statement:
        """A statement that holds where the value is at or above the bound.

        Examples
        --------
        >>> Statement.at_least("completeness", "Prop. 13", "traced w.p. 0.95", 0.99, 0.95).verdict
        'holds'
        """
        verdict: Verdict = "holds" if value >= bound - _SLACK else "does not hold"
        return cls(what, where, papers, _shown(value, interval), verdict, setting, value, bound, interval)

    @classmethod
    def at_most(
        cls,
        what: str,
        where: str,
        papers: str,
        value: float,
        bound: float,
        *,
        setting: str = "",
        interval: tuple[float, float] | None = None,
    ) -> Statement:
        """A statement that holds where the value is at or below the bound."""
        verdict: Verdict = "holds" if value <= bound + _SLACK else "does not hold"
        return cls(what, where, papers, _shown(value, interval), verdict, setting, value, bound, interval)

    @classmethod
    def shown(
        cls,
        what: str,
        where: str,
        value: float,
        *,
        setting: str = "",
        interval: tuple[float, float] | None = None,
    ) -> Statement:
        """A number about which the paper promises nothing."""
        ours = _shown(value, interval)
        return cls(what, where, "no promise", ours, "no promise", setting, value, None, interval)


@dataclass(frozen=True)
class PaperRerun:
    """A paper rerun; `str` is for a terminal, `as_dict` is the JSON form, `save` writes the page.

    Attributes
    ----------
    name, title, reference
        The paper's short name ("private-ols"), what it is called, and where it appeared.
    statements, figures
        Ours beside the paper's, and what was drawn.
    notes
        What a reader has to know: what was left out, approximated, corrected; a sentence each.
    seed, quick
        How to repeat it.
    details
        Further plain data for the JSON document only.
    versions
        What made it; filled in where not given.

    Examples
    --------
    >>> claim = Statement.at_most("soundness", "Prop. 2", "named at most δ", 0.01, 0.05)
    >>> rerun = PaperRerun("robust-tracing", "Robust traceability", "FOCS 2015", (claim,), seed=0)
    >>> print(rerun)
    Robust traceability (FOCS 2015)
    holds          soundness (Prop. 2)
                   ours: 0.01; the paper: named at most δ
    """

    name: str
    title: str
    reference: str
    statements: tuple[Statement, ...]
    figures: tuple[Figure, ...] = ()
    notes: tuple[str, ...] = ()
    seed: int | None = None
    quick: bool = True
    details: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=versions)

    @property
    def failed(self) -> tuple[Statement, ...]:
        """The statements that do not hold."""
        return tuple(statement for statement in self.statements if statement.holds is False)

    def as_dict(self) -> dict[str, Any]:
        """Plain values only: the document from which the page can be made again."""
        return {
            "schema_version": 1,
            "document": "paper",
            "command": "paper",
            "paper": self.name,
            "title": self.title,
            "reference": self.reference,
            "tellall": __version__,
            "versions": dict(self.versions),
            "seed": self.seed,
            "quick": self.quick,
            "statements": [{**asdict(one), "holds": one.holds} for one in self.statements],
            "figures": [figure.as_json() for figure in self.figures],
            "notes": list(self.notes),
            **self.details,
        }

    def save(self, folder: str | Path) -> Path:
        """The page's path, after ``NAME.json`` and ``NAME.html`` are in the folder."""
        from tellall.report.paper_page import render

        place = Path(folder)
        if place.exists() and not place.is_dir():
            raise invalid("folder", "a folder, or a new name", str(folder))
        document = self.as_dict()
        page = render(document)
        place.mkdir(parents=True, exist_ok=True)
        files.write_json(place / f"{self.name}.json", document)
        return files.write_text(place / f"{self.name}.html", page)

    def __str__(self) -> str:
        parts = ["\n".join([f"{self.title} ({self.reference})", *map(_said, self.statements)])]
        for figure in self.figures:
            head, body, _ = numbers(figure, _TEXT_ROWS)
            parts.append(f"{figure.title}: {figure.y.words}\n" + _columns([tuple(head), *map(tuple, body)]))
        return "\n\n".join([*parts, *self.notes])


def _columns(rows: list[tuple[str, ...]]) -> str:
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    return "\n".join(
        "  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def _said(one: Statement) -> str:
    setting = f" [{one.setting}]" if one.setting else ""
    first = f"{one.verdict:13}  {one.what} ({one.where}){setting}"
    return f"{first}\n{'':13}  ours: {one.ours}; the paper: {one.papers}"


def _shown(value: float, interval: tuple[float, float] | None) -> str:
    if interval is None or not all(map(isfinite, interval)):
        return number(value)
    return f"{number(value)} [{number(interval[0])}, {number(interval[1])}]"
