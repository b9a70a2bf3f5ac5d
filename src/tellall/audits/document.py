"""The audit: a plan's findings with a verdict, as a record, as a document and as files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np

from tellall.audits.advised import Culprits, Remedy
from tellall.audits.differences import Difference
from tellall.audits.findings import (
    AreaFindings,
    AreasDocument,
    Finding,
    FindingDocument,
    Job,
    Skipped,
    area_csv,
    area_table,
    not_tested_in_areas,
)
from tellall.audits.measures.contributors import ComparedRules
from tellall.audits.measures.counts import People
from tellall.audits.measures.revealing_cells import all_reasons
from tellall.audits.plans.plan import NotChecked, Plan
from tellall.audits.plans.record import Origin
from tellall.audits.union import Overall, Proved, proved_together
from tellall.audits.verdict import (
    JudgedArea,
    Limits,
    Verdict,
    judge,
    judge_area,
    judged_areas,
    with_predictors,
    with_rules,
)
from tellall.core import files
from tellall.core.amounts import count_of, some_of
from tellall.core.errors import invalid
from tellall.core.locks import claimed
from tellall.core.reasons import Reason
from tellall.core.records import ALWAYS, VERSION, Meaning, Record, read
from tellall.core.shown import WithFigures, page_of
from tellall.core.version import __version__, versions
from tellall.evidence.view import UNKNOWN_TO_ATTACKER
from tellall.outputs.output_folder import RecognisedOutput
from tellall.people.dataset import Dataset
from tellall.protections.protection import is_random

__all__ = [
    "AttackerFound",
    "Audit",
    "AuditDocument",
    "PeopleCounted",
    "PublicColumn",
    "describe_people",
    "read_audit",
    "worst_first",
]

_LISTED = 3  # reasons in one sentence
_LISTED_COLUMNS = 6

_ASSUMED_OF_AREAS = (
    "Each area is attacked by itself, and its baselines are made from its own people. Totals count each "
    "person once; their strongest baseline is the one that is right most often over all areas. The row of an "
    "area is that of the strongest attack there, and the row of all people that of one attack in every area: "
    "the counts of the areas may add up to more."
)


@dataclass(frozen=True, kw_only=True)
class PublicColumn(Record):
    """A public column as the releases used it."""

    name: str
    levels: Annotated[int, Meaning("How many values it has.", least=1)]
    cuts: Annotated[tuple[float, ...] | tuple[str, ...] | None, Meaning("Where it is cut.")] = None


@dataclass(frozen=True, kw_only=True)
class PeopleCounted(Record):
    """The people, counted."""

    name: str
    people: int
    dropped: Annotated[int, Meaning("How many were left out: their secret is missing.")] = 0
    distinct_public_rows: int
    secret: str
    meaning: Annotated[tuple[str, ...], Meaning("What the values of the secret stand for.")]
    holders: Annotated[int | None, Meaning("How many have the second; null if not two values.")]
    counts: Annotated[tuple[int, ...], Meaning("How many people have each value.")] = ()
    columns: tuple[PublicColumn, ...]
    left_out: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class AttackerFound(Record):
    """What one attacker knows and achieves."""

    name: str
    knows: str
    verdict: Verdict
    advantage: float | None
    advantage_of: Annotated[str | None, Meaning("Of which releases.")]
    advantage_share: Annotated[
        float | None, Meaning("As a share of people or, for a real secret, of the baseline's error.")
    ]
    proved: People
    exposed: People
    sensitive: Annotated[People, Meaning("With a sensitive value, proved alone or exposed.")]
    not_usable: Annotated[tuple[str, ...], Meaning("What they cannot use, and why.")] = ()
    unknown: Annotated[
        tuple[str, ...], Meaning("What they do not know, and whether it was solved for or summed over.")
    ] = ()


@dataclass(frozen=True, kw_only=True)
class AuditDocument(Record):
    """A whole audit."""

    schema_version: Annotated[Literal[2], ALWAYS] = VERSION
    document: Annotated[Literal["audit"], ALWAYS] = "audit"
    tellall: str = __version__
    versions: dict[str, str]
    command: str
    seed: int
    device: Annotated[str, Meaning("Where equations were solved: cpu, cuda, cuda:1")] = "cpu"
    record: Annotated[Origin | None, Meaning("null: nobody kept one.")] = None
    plan: dict[str, Any]
    data: PeopleCounted
    limit: float
    exposed_limit: int | None
    sensitive: Annotated[tuple[str, ...] | None, Meaning("Codes of the sensitive values.")] = None
    verdict: Verdict
    worst: str | None
    overall: Annotated[Overall | None, Meaning("null: nothing was attacked.")] = None
    findings: tuple[FindingDocument, ...]
    not_checked: tuple[NotChecked, ...] = ()
    areas: AreasDocument | None = None
    remedy: Annotated[Remedy | None, Meaning("null: nobody looked for one.")] = None
    culprits: Annotated[Culprits | None, Meaning("null: nobody looked.")] = None
    differences: Annotated[tuple[Difference, ...], Meaning("Releases about different people.")] = ()
    rules: Annotated[ComparedRules | None, Meaning("null: no table of sums.")] = None
    cells: Annotated[tuple[Reason, ...], Meaning("Why cells of numbers of any release do not pass.")] = ()
    attackers: Annotated[tuple[AttackerFound, ...], Meaning("The worst first; none: one who knows all.")] = ()
    outputs: Annotated[
        tuple[RecognisedOutput, ...], Meaning("Outputs that exist already, as they were found.")
    ] = ()
    published_too: Annotated[tuple[str, ...], Meaning("What releases reveal besides their values.")]
    assumed: tuple[str, ...]
    not_tested: tuple[str, ...]

    @property
    def judged(self) -> tuple[FindingDocument, ...]:
        """The findings without steps: those on what the plan publishes."""
        return tuple(one for one in self.findings if one.judged)

    @property
    def real(self) -> bool:
        """Whether the secret is a number; what was not attacked says nothing about that."""
        return any(one.summary.real for one in self.findings if one.summary is not None)


def read_audit(given: str | Mapping[str, object]) -> AuditDocument:
    """The audit that was written, from the content of ``audit.json``."""
    return read(AuditDocument, given, what="audit")


@dataclass(frozen=True, eq=False)
class Audit(WithFigures):
    """A plan's findings: one per release, then sets of them; ``steps`` say what each protection buys.

    With ``by`` in the plan the findings are about all people of all areas, and ``areas`` has those of each
    area, the worst first. ``proved`` has the people proved by any set of releases; None: the most that one
    set proves. ``remedy`` is the cheapest change that passes, and ``culprits`` says what each part of the
    plan adds and who is exposed; None if nobody looked. ``differences`` are pairs of releases about different
    people; ``rules`` is what the agencies' rules for sums would have said, and ``predictors`` what public
    columns tell of the secret by themselves. With several attackers the audit
    is that of the worst; ``attackers`` has a line for each. ``record`` says when it was made and from which
    files, see `record_of`; None if there is none.
    """

    plan: Plan
    data: PeopleCounted
    limits: Limits
    findings: tuple[Finding | Skipped, ...]
    steps: tuple[Finding | Skipped, ...] = ()
    command: str = "ta.audit"
    areas: tuple[AreaFindings, ...] = ()
    proved: Proved | None = None
    remedy: Remedy | None = None
    culprits: Culprits | None = None
    differences: tuple[Difference, ...] = ()
    attackers: tuple[AttackerFound, ...] = ()
    record: Origin | None = None
    rules: ComparedRules | None = None
    predictors: tuple[Reason, ...] = ()

    @property
    def found(self) -> tuple[Finding, ...]:
        """The findings without what could not be attacked."""
        return tuple(finding for finding in self.findings if isinstance(finding, Finding))

    @property
    def not_checked(self) -> tuple[NotChecked, ...]:
        """What is planned but of a kind that tellall does not have."""
        return self.plan.not_checked

    @property
    def not_attacked(self) -> tuple[str, ...]:
        """The names of everything planned that was not attacked."""
        skipped = [finding.name for finding in self.findings if isinstance(finding, Skipped)]
        return (*skipped, *(one.name for one in self.not_checked))

    @cached_property
    def overall(self) -> Overall | None:
        """The strongest attack number by number, and the people proved by any; None: nothing was attacked."""
        return Overall.of(self.found, self.proved or proved_together(self.found), self.limits)

    @property
    def worst(self) -> Finding | None:
        """The finding with the largest advantage; None where everything was skipped."""
        return max(self.found, key=lambda finding: finding.outcome.advantage, default=None)

    @property
    def answered(self) -> bool:
        """Whether something was attacked, or found to say nothing about the secret."""
        return self.worst is not None or self.verdict.word == "pass" or self._apart

    @property
    def _apart(self) -> bool:
        """Whether some outputs were recognised, and none that was says anything about the secret."""
        outputs = self.plan.outputs
        if outputs is None or self.plan.releases:
            return False
        return any(one.about_secret is False and bool(one.sentence) for one in outputs.records)

    @cached_property
    def verdict(self) -> Verdict:
        """Pass, review or fail, with a sentence: never better than that of any set of releases.

        If the attacks pass but a cell that the p % rule passes does not hold, a person has to decide; so they
        have if a public column tells the secret by itself, which is said first.
        """
        verdict = with_predictors(with_rules(self.attacks, self.rules), self.predictors)
        unknown = () if self.plan.outputs is None else self.plan.outputs.assumed_unknown
        if not unknown or not self.plan.releases:
            return verdict
        listed = some_of(unknown, _LISTED_COLUMNS)
        said = f"An outsider is taken not to know {listed}."
        return replace(verdict, sentence=f"{verdict.sentence} {said}")

    @cached_property
    def attacks(self) -> Verdict:
        """The verdict by the attacks on people alone."""
        if self.plan.outputs is not None and not self.plan.releases and not self.not_checked:
            return Verdict(f"None of the outputs says anything about {self.data.secret}.")
        if self._apart and not self.plan.forbidden:
            said = f"No output that was recognised says anything about {self.data.secret}."
            missing = f"Not attacked: {'; '.join(self.not_attacked)}."
            return Verdict(f"{said} {missing}", (Reason("not-attacked", missing),))
        if self.plan.forbidden:
            said = f"The policy does not allow {', '.join(self.plan.forbidden)}."
            return Verdict(said, (Reason("policy", said),))
        verdict = judge(
            [(finding.name, one) for finding in self.found for one in finding.outcomes],
            self.limits,
            not_attacked=self.not_attacked,
            sensitive=None if self.overall is None else self.overall.sensitive.as_json(),
            cells=self.cells,
        )
        return verdict if self.plan.by is None else judged_areas(verdict, self.judged, self.limits)

    @cached_property
    def judged(self) -> tuple[JudgedArea, ...]:
        """The areas as a verdict sees them."""
        looked_at = sum(len(finding.outcomes) for area in self.areas for finding in area.found)
        return tuple(
            judge_area(
                area.name,
                area.people,
                [(found.name, one) for found in area.found for one in found.outcomes],
                self.limits,
                looked_at,
                area.reason,
            )
            for area in self.areas
        )

    @property
    def cells(self) -> tuple[Reason, ...]:
        """Why cells of numbers do not pass by arithmetic alone, the worst first."""
        return all_reasons([finding.cells for finding in self.findings])

    @cached_property
    def content(self) -> AuditDocument:
        """What ``audit.json`` says and pages show: counts and rates, never a person."""
        worst, by_area = self.worst, self.plan.by is not None
        return AuditDocument(
            versions=versions(),
            command=self.command,
            seed=self.plan.seed,
            device=self.plan.device,
            record=self.record,
            plan=self.plan.as_json(),
            data=self.data,
            limit=self.plan.limit,
            exposed_limit=self.plan.exposed_limit,
            sensitive=self.limits.sensitive,
            verdict=self.verdict,
            worst=None if worst is None else worst.name,
            overall=self.overall,
            findings=(
                *(one.told(self.plan) for one in self.findings),
                *map(_unchecked, self.not_checked),
                *(one.told(self.plan) for one in self.steps),
            ),
            not_checked=self.not_checked,
            areas=None if self.plan.by is None else area_table(self.plan.by, self.areas, self.judged),
            remedy=self.remedy,
            culprits=self.culprits,
            differences=self.differences,
            rules=self.rules,
            cells=self.cells,
            attackers=self.attackers,
            outputs=() if self.plan.outputs is None else self.plan.outputs.records,
            published_too=tuple(_published_too(self.plan, self.data)),
            assumed=(*_assumed(self.plan, self.data), *([_ASSUMED_OF_AREAS] if by_area else ())),
            not_tested=(
                *(f"{one.name}: not checked: {one.reason}" for one in self.not_checked),
                *_not_tested(self.plan, self.data, self.findings),
                *_not_usable(self.findings),
                *(not_tested_in_areas(self.areas) if by_area else ()),
            ),
        )

    @cached_property
    def document(self) -> dict[str, Any]:
        """The content as plain data, as ``audit.json`` has it."""
        return self.content.as_json()

    @property
    def unattacked(self) -> str:
        """Why releases and areas could not be attacked; the first few reasons."""
        areas = () if self.content.areas is None else self.content.areas.rows
        rows = [(row.name, row.reason) for row in self.content.findings if row.role == "alone"]
        rows += [(row.name, row.reason) for row in areas]
        whys = [f"{name}: {reason.rstrip('.')}" for name, reason in rows if reason]
        more = f" (and {len(whys) - _LISTED:,} more)" if len(whys) > _LISTED else ""
        return f"{'; '.join(whys[:_LISTED])}{more}."

    def save(self, folder: str | Path) -> Path:
        """Writes ``audit.json``, ``report.html`` and, with areas, ``areas.csv``; returns the page's path.

        They appear together or not at all, and only their owner can read them: they hold exact counts.
        """
        target = Path(folder)
        if target.exists() and not target.is_dir():
            raise invalid("folder", "a folder, or a new name", str(folder))
        page = page_of(self)
        with claimed(target, what="folder", patience=10), files.together() as batch:
            if self.content.areas is None:
                batch.remove(target / "areas.csv")
            else:
                batch.text(target / "areas.csv", area_csv(self.content.areas.rows))
            batch.text(target / "audit.json", files.dump(self.document))
            return batch.text(target / "report.html", page)

    def __repr__(self) -> str:
        return f"Audit of {len(self.plan.releases)} planned releases: {self.verdict}"


def worst_first(audits: Sequence[Audit]) -> Audit:
    """The audit by the worst attacker, with what each of them achieves."""
    ranked = sorted(audits, key=lambda one: (-one.verdict.rank, -_advantage(one)))
    worst = ranked[0]
    plan = replace(worst.plan, attackers=tuple(one.plan.attacker for one in ranked))
    if len(ranked) == 1 and worst.plan.attacker.knows_all:
        return worst
    return replace(worst, plan=plan, attackers=tuple(map(_attacker_line, ranked)))


def _advantage(audit: Audit) -> float:
    return -np.inf if audit.overall is None else audit.overall.advantage


def _attacker_line(audit: Audit) -> AttackerFound:
    """What one attacker knows and achieves."""
    attacker, overall = audit.plan.attacker, audit.overall
    skipped = dict.fromkeys(str(why) for one in audit.found for why in one.outcome.skipped)
    return AttackerFound(
        name=attacker.name,
        knows=attacker.describe(audit.data.secret),
        verdict=audit.verdict,
        advantage=None if overall is None else overall.advantage,
        advantage_of=None if overall is None else overall.advantage_of,
        advantage_share=None if overall is None else overall.advantage_share,
        proved=0 if overall is None else overall.proved,
        exposed=0 if overall is None else overall.exposed_people,
        sensitive=0 if overall is None else overall.sensitive.learnt,
        not_usable=tuple(skipped),
        unknown=tuple(dict.fromkeys(one.outcome.unknown for one in audit.found if one.outcome.unknown)),
    )


def _not_usable(findings: Sequence[Finding | Skipped]) -> list[str]:
    """What the attacker could not use of the releases, and why."""
    skipped = [why for one in findings if isinstance(one, Finding) for why in one.outcome.skipped]
    return list(dict.fromkeys(str(why) for why in skipped if why.code == UNKNOWN_TO_ATTACKER))


def _unchecked(one: NotChecked) -> FindingDocument:
    """A planned release of a kind that tellall does not have, as a finding that was skipped."""
    entry = one.entry()
    skipped = Skipped(Job("alone", one.name, ()), f"not checked: {one.reason}")
    return FindingDocument(
        name=one.name,
        role="alone",
        releases=(),
        statistic=(entry["statistic"],),
        protect=(tuple(entry["protect"]),),
        outcome="skipped",
        reason=skipped.reason,
        verdict=skipped.verdict,
    )


def describe_people(dataset: Dataset, name: str) -> PeopleCounted:
    """The people, counted: what a page says about them."""
    assert dataset.secret is not None
    shape, levels = dataset.public.shape, dataset.levels
    return PeopleCounted(
        name=name,
        people=dataset.n,
        dropped=dataset.dropped,
        distinct_public_rows=len(dataset.patterns),
        secret=dataset.secret_name,
        meaning=tuple(dataset.meaning),
        holders=int(dataset.secret.sum()) if levels == 2 else None,
        counts=tuple(np.bincount(dataset.secret, minlength=levels).tolist()) if levels else (),
        columns=tuple(
            PublicColumn(name=name, levels=levels, cuts=_fixed(cuts))
            for name, levels, cuts in zip(shape.names, shape.levels, shape.cuts_shown, strict=True)
        ),
        left_out=tuple(map(str, dataset.public.left_out)),
    )


def _fixed(cuts: list[float] | list[str] | None) -> tuple[float, ...] | tuple[str, ...] | None:
    """The cuts of a column as a record has them; None where it is not cut."""
    found: Any = tuple(cuts or ())
    return found or None


def _published_too(plan: Plan, data: PeopleCounted) -> list[str]:
    """What the releases say about the people besides their values."""
    given = {} if isinstance(plan.bins, int) else plan.bins
    cuts = {column.name: column.cuts for column in data.columns if column.cuts}
    listed = ", ".join(f"{column.name} ({column.levels})" for column in data.columns)
    told = [
        f"How many people there are: {data.people:,}.",
        f"How many categories each public column has among them: {listed}.",
    ]
    for name, points in cuts.items():
        source = "not given in the plan" if isinstance(given.get(name, 0), int) else "given in the plan"
        told.append(f"Where {name} is cut: {', '.join(_point(point) for point in points)}, {source}.")
    if data.meaning:
        told.append(f"How many values {data.secret} has among them: {len(data.meaning)}.")
    return [
        *told,
        "A stated ε is about the published values. It covers this list too only if categories and cut points "
        "were fixed without looking at these people.",
    ]


def _point(cut: float | str) -> str:
    return cut if isinstance(cut, str) else f"{cut:.12g}"


def _assumed(plan: Plan, data: PeopleCounted) -> list[str]:
    """What the audit assumes the attacker to know."""
    names = ", ".join(column.name for column in data.columns)
    attacker, secret = plan.attacker, data.secret
    known = f"The attacker knows the public columns of all {data.people:,} people ({names})"
    known += ", and that they are in the data."
    if not attacker.knows_all:
        called = f"The attacker “{attacker.name}”" if attacker.name else "The attacker"
        known = f"{called} {attacker.describe(secret)}. The public columns are {names}."
    nobody = f"The attacker knows nobody's {secret} beforehand, not even their own"
    rate, usual = ("rate", "most common value") if data.meaning else ("mean", "median")
    return [
        known,
        "The attacker knows what was computed and how it was protected, but not the random draws.",
        *([] if attacker.known_secrets else [f"{nobody}, and reads its {rate} off the release."]),
        "The baselines are what one would guess without the person's own record in the release: the "
        f"{usual}, others with the same public row, the best prediction from the public columns, "
        "and a model of the published statistics fitted without the person. Only what goes beyond the "
        "strongest counts.",
    ]


def _dropped(data: PeopleCounted) -> list[str]:
    """That people without a secret were left out."""
    if not data.dropped:
        return []
    people = count_of(data.dropped, "person", "people")
    return [
        f"{people} without a value of {data.secret}, who were left out: the numbers here are about the "
        f"other {data.people:,}. What is published must leave them out too."
    ]


def _not_tested(plan: Plan, data: PeopleCounted, findings: Sequence[Finding | Skipped]) -> list[str]:
    """What the audit says nothing about."""
    missing = [f"{skipped.name}: {skipped.reason}" for skipped in findings if isinstance(skipped, Skipped)]
    unsolved = [
        f"{finding.name}: {finding.outcome.status}"
        for finding in findings
        if isinstance(finding, Finding) and not finding.outcome.settled
    ]
    draws = "One draw of the noise was attacked; another could give away a little more or less."
    return [
        *missing,
        *unsolved,
        *_dropped(data),
        "Attacks other than the reconstructions named with each release. Their failure proves nothing about "
        "others.",
        "Whether somebody is in the data at all (membership).",
        "Attackers who know more than is assumed, or hold releases that are not in this plan.",
        f"Secrets other than {data.secret}.",
        *([draws] if plan.repeats == 1 and any(_of_chance(plan, finding) for finding in findings) else []),
    ]


def _of_chance(plan: Plan, finding: Finding | Skipped) -> bool:
    """Whether something random is in what was attacked."""
    return isinstance(finding, Finding) and any(
        is_random(plan.releases[index].protections[:count]) for index, count in finding.job.members
    )
