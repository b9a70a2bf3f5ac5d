"""The releases of an audit, one row each: what pages and terminals show first, from the document alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

from tellall.audits.document import AuditDocument
from tellall.audits.findings import DecoderFound, FindingDocument
from tellall.audits.outcome import Outcome
from tellall.core.amounts import counted, level, points, with_interval
from tellall.report.kit.bars import Bar, LimitLine
from tellall.report.kit.html import bar_figure

__all__ = [
    "ReleaseRow",
    "Unit",
    "advantage_chart",
    "advantage_words",
    "counted_heads",
    "gain_bar",
    "people_chart",
    "release_rows",
    "sensitive_words",
    "shares",
]

Plain = dict[str, Any]
_NOTHING = "–"
_FEW = 5.0  # people: an axis of people is at least this long


@dataclass(frozen=True)
class Unit:
    """What an advantage is measured in: people in 100 or, for a real secret, % of the baseline's error."""

    words: str
    after: str

    @classmethod
    def of(cls, real: bool) -> Unit:
        """The unit of a bit or category, or of a real secret."""
        return cls("% of the strongest baseline's error", " %") if real else cls("people in 100", " in 100")


@dataclass(frozen=True)
class ReleaseRow:
    """One release, or set of releases, in words: what a table shows about it.

    ``sensitive`` counts the people with a sensitive value who are proved alone or exposed. With several
    decoders, each number of people is the largest that any of them finds. ``together``: the row is about a
    set of several. ``whole``: it is about all sets.
    """

    name: str
    word: str
    decided: str
    right: str = _NOTHING
    baseline: str = _NOTHING
    advantage: str = _NOTHING
    alone: str = _NOTHING
    group: str = _NOTHING
    exposed: str = _NOTHING
    sensitive: str = _NOTHING
    whole: bool = False
    together: bool = False

    def counted(self, real: bool) -> tuple[str, ...]:
        """The numbers of people, in the order of `counted_heads`."""
        return (self.exposed,) if real else (self.alone, self.group, self.exposed, self.sensitive)


def counted_heads(
    real: bool, alone: str = "proved alone", group: str = "proved as a group"
) -> tuple[str, ...]:
    """What a table counts; with a real secret nobody is proved, and every number is sensitive."""
    return ("exposed",) if real else (alone, group, "exposed", "sensitive")


def release_rows(document: AuditDocument) -> list[ReleaseRow]:
    """A row for each release and each set of releases, in the document's order; skipped ones too.

    If there are several, the last row is about all of them: the largest of each number.
    """
    rows = [_row(finding) for finding in document.findings if finding.judged]
    return [*rows, *_in_all(document)] if len(rows) > 1 else rows


def _in_all(document: AuditDocument) -> list[ReleaseRow]:
    known, verdict = document.overall, document.verdict
    if known is None:
        return []
    return [
        ReleaseRow(
            "in all, any set of them",
            verdict.word,
            verdict.decided,
            advantage=points(known.advantage_share),
            alone=_count(known.proved_alone),
            group=_count(known.proved_group),
            exposed=_count(known.exposed),
            sensitive=counted(known.sensitive.learnt),
            whole=True,
        )
    ]


def _row(finding: FindingDocument) -> ReleaseRow:
    verdict, found = finding.verdict, finding.summary
    if found is None:
        return ReleaseRow(finding.name, verdict.word, verdict.decided, together=_is_set(finding))
    real, draws = found.real, found.draws
    return ReleaseRow(
        f"{finding.name} (mean of {draws} draws)" if draws > 1 else finding.name,
        verdict.word,
        verdict.decided,
        right=level(found.accuracy, real),
        baseline=level(found.baselines[found.baseline], real),
        advantage=with_interval(*shares(found)),
        alone=_count(finding.proved_alone),
        group=_count(finding.proved_group),
        exposed=counted(max(one.exposed for one in finding.decoders)),
        sensitive=counted(_learnt(finding)),
        together=_is_set(finding),
    )


def _is_set(finding: FindingDocument) -> bool:
    """Whether it is about several releases."""
    return finding.role == "together"


def _learnt(finding: FindingDocument) -> float:
    """The most people with a sensitive value whom any decoder proves alone or exposes."""
    return max(float(one.learnt) for one in finding.decoders)


def shares(found: Outcome, tried: DecoderFound | None = None) -> tuple[float, tuple[float, float]]:
    """The advantage and its interval as shares of people or, for a real secret, of the baseline's error.

    ``tried`` is the decoder that they are of; by default the strongest. In-sample fit, which no limit counts,
    is left out.
    """
    unit = (found.baselines[found.baseline] or inf) if found.real else 1.0
    of = found if tried is None else tried
    beyond = found.beyond_fit if found.in_sample else None
    point, low, high = (each / unit for each in beyond or (of.advantage, *of.interval))
    return point, (low, high)


def advantage_words(document: AuditDocument) -> str:
    """What the advantage is measured in, and whether a part of it is left out; then both limits."""
    fit = any(row.summary.in_sample for row in document.findings if row.summary is not None)
    unit, left = Unit.of(document.real), ", in-sample fit left out" if fit else ""
    return f"Advantage in {unit.words}{left}. {_limit_words(document, unit)}"


def _limit_words(document: AuditDocument, unit: Unit) -> str:
    """Both limits in words."""
    advantage = f"{points(document.limit, '')}{unit.after}"
    if document.exposed_limit is None:
        return f"The limit of the advantage is {advantage}."
    people = f"{document.exposed_limit:,} people{sensitive_words(document)}"
    return f"The limits: an advantage of {advantage}, and {people} proved alone or exposed."


def sensitive_words(document: AuditDocument) -> str:
    """Which people count against the limit; empty where all do."""
    codes, meaning = document.sensitive, document.data.meaning
    if codes is None:
        return ""
    values = ", ".join(meaning[int(code)] for code in codes)
    return f" with a sensitive value ({document.data.secret}: {values})"


def advantage_chart(
    title: str, caption: str, rows: Mapping[str, FindingDocument], limit: float
) -> Plain | None:
    """Bars of advantage, each with the colour of its verdict: findings or steps by their names."""
    found = {name: (row, row.summary) for name, row in rows.items() if row.summary is not None}
    real = any(one.real for _, one in found.values())
    return bar_figure(
        title,
        caption,
        [gain_bar(name, *shares(one), kind=row.verdict.word) for name, (row, one) in found.items()],
        LimitLine(100 * limit, f"limit {points(limit, '')}"),
        f"advantage, {Unit.of(real).words}",
    )


def gain_bar(name: str, value: float, interval: Sequence[float], kind: str) -> Bar:
    """A bar of advantage, from shares."""
    ends = (100 * interval[0], 100 * interval[1])
    return Bar(name, 100 * value, with_interval(value, interval), kind, ends)


def people_chart(rows: Sequence[FindingDocument], document: AuditDocument) -> Plain | None:
    """Bars of the people with a sensitive value whose own record is given away; None if not limited."""
    if document.exposed_limit is None:
        return None
    most = document.exposed_limit
    return bar_figure(
        "People proved alone or exposed",
        f"People{sensitive_words(document)} who are proved by arithmetic, or about whom the attack is surely "
        "right beyond what any baseline explains. The table has the same numbers.",
        [Bar(row.name, _learnt(row), counted(_learnt(row)), row.verdict.word) for row in rows],
        LimitLine(float(most), f"limit {most:,}", room=_FEW),
        "people",
    )


def _count(people: Mapping[str, float]) -> str:
    return counted(sum(people.values()))
