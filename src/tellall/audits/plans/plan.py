"""Plan: what is going to be published about whom, and how much that may give away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tellall.audits.measures.revealing_cells import USUAL_RULES, CellRules
from tellall.audits.plans.attacker import INSIDER, Attacker
from tellall.audits.plans.mistakes import (
    Problem,
    all_at_once,
    checked,
    is_unknown,
    rule_in,
    short,
)
from tellall.audits.trial import Planned
from tellall.audits.verdict import Limits, sensitive_codes
from tellall.core.errors import TellallError, invalid
from tellall.core.not_done import NotDone, Stage
from tellall.core.reasons import Reason
from tellall.core.records import NOT_WRITTEN, VERSION, Meaning, read
from tellall.outputs.output_folder import NO_PART, OutputFolder
from tellall.people.areas import FEWEST, split
from tellall.people.bands import Bands, ColumnCoding
from tellall.people.columns import AS_NUMBER, Bins
from tellall.people.cuts import is_number_text
from tellall.people.dataset import Dataset, Public
from tellall.people.predictors import predictors
from tellall.protections.protection import as_protections, is_random, prepare
from tellall.release import catalogue
from tellall.release.release import Release
from tellall.statistics.where import as_where, people_where

if TYPE_CHECKING:
    from tellall.audits.plans.written import PlanDocument

__all__ = ["ALL_TOGETHER", "NotChecked", "Plan"]


@dataclass(frozen=True)
class NotChecked(NotDone):
    """A planned release that tellall cannot compute, so that nobody knows what it gives away.

    Attributes
    ----------
    statistic, protect
        What the plan says about it; nothing of an output that could not be read.
    nearest
        The nearest kind that tellall has; None if nothing is near.
    """

    stage: Stage = "check"
    nearest: Annotated[str | None, Meaning("The most similar kind.")] = None
    statistic: Annotated[Mapping[str, Any], NOT_WRITTEN] = field(default_factory=dict)
    protect: Annotated[tuple[Mapping[str, Any], ...], NOT_WRITTEN] = ()

    @classmethod
    def of(cls, name: str, statistic: Mapping[str, object], protect: object) -> NotChecked | None:
        """Why an entry of a plan is not checked; None where it can be."""
        listed = tuple(protect) if isinstance(protect, list) else (protect,)
        parts = [("statistic", statistic), *(("protection", plain) for plain in listed)]
        for what, plain in parts:
            if is_unknown(what, plain):
                kind = str(plain[catalogue.KIND])
                near = catalogue.nearest_kind(what, kind)
                like = ", nor anything like it" if near is None else f"; the nearest is {near}"
                reason = f"tellall has no {what} of kind '{short(kind)}'{like}"
                return cls(name or short(kind), reason, nearest=near, statistic=statistic, protect=listed)
        return None

    def entry(self) -> dict[str, Any]:
        """The release as the plan writes it."""
        return {
            "name": self.name,
            "statistic": dict(self.statistic),
            "protect": [dict(p) for p in self.protect],
        }

    def __str__(self) -> str:
        return f"“{self.name}” is not checked: {self.reason}."


ALL_TOGETHER = "all releases together"  # what that attack is called; no release may be

_MOST_PAIRS = 15  # of outputs that are attacked two by two: all pairs of six


@dataclass(frozen=True, eq=False)
class Plan:
    """A list of planned releases with the data they are about and the limit they must keep.

    Attributes
    ----------
    releases
        What will be published.
    not_checked
        What will be published but is of a kind that tellall does not have.
    data, secret, public, bins
        How to read the people; see `tellall.read`. Not needed if there is a dataset already.
    kind
        Whether the secret is "bits", "categories" or "reals"; None: its values decide, and whole numbers of
        at most 20 distinct values are categories.
    drop_gaps
        Whether people whose secret is missing are left out.
    bands
        What labels of tables (`CellCounts`) mean, where they do not say it.
    by
        A public column; everything is published and attacked separately for each of its values. None: for
        everybody together.
    limit
        The most advantage over the strongest baseline that a release may give.
    exposed_limit
        The most people with a sensitive value whom a release may prove alone or expose; None if people are
        not counted.
    sensitive
        The values of the secret that must not be learned; None: all but the most common one.
    accepted_predictors
        Public columns that may tell the secret by themselves; see `tells_secret`.
    cells
        What published cells of numbers must keep, whatever attacks find.
    repeats
        How many draws of the noise are attacked.
    seed
        Seed of the audit. What is published later must not use it: whoever knows the seed can undo the noise.
    steps
        Whether each release is also attacked with none and with only the first of its protections.
    device
        Where equations are solved, "cpu" or "cuda"; no part of the plan as a document.
    attackers
        Who attacks, and what each of them knows; an audit answers for each.
    forbidden
        What the site's policy does not allow to be published; see `Policy`. No part of the document.
    outputs
        The outputs among the releases, as they were found. No part of the document.
    pairs
        If all releases are published already, and so have no order: those that are also attacked two by two,
        since they share a column. No part of the document.

    Examples
    --------
    >>> plan = Plan.from_mapping({"releases": [{"statistic": {"kind": "Marginals", "ways": 3}}]})
    >>> plan.releases[0].name, plan.limit
    ('every 3-way table, exact', 0.05)
    """

    releases: tuple[Planned, ...]
    data: str = ""
    secret: str = ""
    public: tuple[str, ...] | None = None
    bins: int | Mapping[str, Bins] = field(default_factory=dict)
    limit: float = 0.05
    exposed_limit: int | None = 0
    sensitive: tuple[str, ...] | None = None
    repeats: int = 1
    seed: int = 0
    steps: bool = True
    folder: Path | None = None
    by: str | None = None
    device: str = "cpu"
    not_checked: tuple[NotChecked, ...] = ()
    attackers: tuple[Attacker, ...] = (INSIDER,)
    forbidden: tuple[str, ...] = ()
    cells: CellRules = USUAL_RULES
    drop_gaps: bool = False
    kind: str | None = None
    bands: tuple[Bands, ...] = ()
    outputs: OutputFolder | None = None
    pairs: tuple[tuple[int, int], ...] = ()
    accepted_predictors: tuple[str, ...] = ()

    @property
    def attacker(self) -> Attacker:
        """The attacker, or the first of several."""
        return self.attackers[0]

    @property
    def planned(self) -> tuple[Planned, ...]:
        """The releases that are not published yet."""
        return tuple(entry for entry in self.releases if entry.given is None)

    @property
    def published_files(self) -> tuple[Path, ...]:
        """The files of the releases that were published before."""
        return tuple((self.folder or Path()) / entry.source for entry in self.releases if entry.source)

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, object]) -> Plan:
        """The plan in a mapping of the same shape as the file; one that names files is for `read_plan`."""
        return cls.of_document(checked(mapping))

    @classmethod
    def of_document(
        cls,
        document: PlanDocument,
        *,
        folder: Path | None = None,
        published: Mapping[str, Release] | None = None,
    ) -> Plan:
        """The plan that was written, with the releases that it names as published, by their files."""
        given = published or {}
        unread = [entry.file for entry in document.published if entry.file not in given]
        if unread:
            advice = "Read the plan with ta.read_plan."
            raise invalid("published", "read with the plan", short(unread[0]), advice)
        entries = [(entry.name, entry.statistic, entry.protect) for entry in document.releases]
        unknown = [NotChecked.of(*entry) for entry in entries]
        about = [entry.where for entry in document.releases]
        told = Bands.told(
            {
                name: read(ColumnCoding, each, what=f"plan: bands.{name}")
                for name, each in document.bands.items()
            }
        )
        known = [
            _entry(*entry, where, told)
            for entry, where, why in zip(entries, about, unknown, strict=True)
            if why is None
        ]
        before = [
            Planned.published(
                entry.name or f"{Path(entry.file).stem} (published)", given[entry.file], entry.file
            )
            for entry in document.published
        ]
        return cls(
            releases=_with_different_names([*before, *known]),
            attackers=Attacker.listed(document),
            not_checked=tuple(one for one in unknown if one is not None),
            data=document.data,
            secret=document.secret,
            public=None if document.public is None else tuple(document.public),
            bins=document.bins,
            limit=document.limit,
            exposed_limit=document.exposed_limit,
            sensitive=None if document.sensitive is None else tuple(map(str, document.sensitive)),
            cells=CellRules.of_plain(document.cells.model_dump(exclude_unset=True)),
            repeats=document.repeats,
            seed=document.seed,
            steps=document.steps,
            folder=folder,
            by=document.by or None,
            drop_gaps=document.drop_gaps,
            kind=document.kind,
            bands=told,
            accepted_predictors=tuple(document.accepted_predictors),
        )

    @classmethod
    def of_outputs(cls, folder: OutputFolder, **settings: Any) -> Plan:
        """The plan of outputs that exist already; those that could not be read are not checked."""
        return cls((), secret=folder.secret, steps=False, **settings).with_outputs(folder)

    def as_planned(self) -> Plan:
        """The plan with outputs that can be made again as planned releases, so that they may be changed.

        Those that went out before, or were moved at random, stay as they are.
        """
        if self.outputs is None:
            return self
        new = {output.id for output in self.outputs.published if not output.earlier}
        releases = tuple(
            replace(entry, given=None) if entry.name in new and not is_random(entry.protections) else entry
            for entry in self.releases
        )
        return replace(self, releases=releases)

    def with_outputs(self, folder: OutputFolder) -> Plan:
        """The plan with the outputs of a folder after its own releases."""
        given = [Planned.published(output.id, output.release) for output in folder.published]
        attackers = self.attackers
        if folder.may_include:
            attackers = tuple(replace(one, may_include=True) for one in attackers)
        unread = tuple(NotChecked(one.name, one.reason) for one in folder.unread if one.code != NO_PART)
        return replace(
            self,
            releases=_with_different_names([*self.releases, *given]),
            attackers=attackers,
            not_checked=(*self.not_checked, *unread),
            outputs=folder,
        )

    def limits(self, dataset: Dataset) -> Limits:
        """What the releases may give away about these people."""
        return Limits(self.limit, self.exposed_limit, sensitive_codes(dataset, self.sensitive))

    def tells_secret(self, dataset: Dataset) -> tuple[Reason, ...]:
        """What public columns tell of the secret by themselves, before anything is published."""
        found = predictors(dataset, self.accepted_predictors)
        return tuple(Reason("public-tells-secret", one.sentence) for one in found)

    def attackable(self, dataset: Dataset) -> Plan:
        """The plan for these people; releases that no attack on such a secret can use are not checked."""
        why = [entry.statistic.serves(dataset.levels) for entry in self.releases]
        near = "Marginals" if dataset.levels > 2 else None
        if not any(why):
            pairs = _pairs(self.releases, dataset.public)
            return self if pairs == self.pairs else replace(self, pairs=pairs)
        if near:
            why = [reason and f"{reason}{_if_it_is_a_number(dataset)}" for reason in why]
        unfit = [
            NotChecked(
                entry.name,
                reason,
                nearest=near,
                statistic=plain["statistic"],
                protect=tuple(plain["protect"]),
            )
            for entry, reason in zip(self.releases, why, strict=True)
            if reason and (plain := entry.as_json())
        ]
        kept = tuple(entry for entry, reason in zip(self.releases, why, strict=True) if not reason)
        pairs = _pairs(kept, dataset.public)
        return replace(self, releases=kept, not_checked=(*self.not_checked, *unfit), pairs=pairs)

    def check(self, dataset: Dataset) -> None:
        """Refuses releases that cannot be computed from these people; one error lists them all."""
        if dataset.secret is None:
            raise invalid("dataset", "one with a secret, to be audited", "no secret")
        if self.secret and self.secret != dataset.secret_name:
            raise invalid("secret", f"that of the dataset ('{dataset.secret_name}')", f"'{self.secret}'")
        if self.by is None and dataset.n < FEWEST:
            rule = f"{FEWEST} or more, to compare an attack with a baseline"
            raise invalid("people", rule, dataset.n, "What is published about so few is about each of them.")
        if not dataset.levels:
            self.cells.least(dataset)
        public = dataset.public if self.by is None else split(dataset, self.by)[0].whole.public
        found: list[Problem] = [
            (f"attacker “{one.name}”: known" if one.name else "known", rule_in(error, "known"))
            for one in self.attackers
            for error in one.unknown_columns(dataset.public)
        ]
        found += [
            (
                f"accepted_predictors.{index}",
                f"must be a public column; got '{short(name)}'."
                f"{catalogue.nearest(name, dataset.public.names)}",
            )
            for index, name in enumerate(self.accepted_predictors)
            if name not in dataset.public.names
        ]
        for entry in self.releases:
            where = f"release “{entry.name}”"
            try:
                people_where(entry.where, public)
            except TellallError as error:
                found.append((f"{where}: where", rule_in(error, "condition", "where")))
                continue
            try:
                entry.query.size(public)
                entry.statistic.check_labels(public)
                if dataset.levels > 2 and entry.statistic.serves(dataset.levels):
                    said = f"must be tables (Marginals) for a secret of {dataset.levels} values"
                    got = f"{entry.query.describe()}{_if_it_is_a_number(dataset)}"
                    found.append((f"{where}: statistic", f"{said}; got {got}."))
                    continue
            except TellallError as error:
                found.append((f"{where}: statistic", str(error)))
                continue
            try:
                prepare(as_protections(entry.protections), entry.statistic, entry.query.part(public))
            except TellallError as error:
                found.append((f"{where}: protect", rule_in(error, "protect")))
        if found:
            raise all_at_once(found)

    def as_json(self) -> dict[str, Any]:
        """The plan as plain data, every default written out."""
        return {
            "schema_version": VERSION,
            "data": self.data,
            "secret": self.secret,
            "kind": self.kind,
            "public": None if self.public is None else list(self.public),
            "bins": self.bins if isinstance(self.bins, int) else _plain_bins(self.bins),
            "drop_gaps": self.drop_gaps,
            "bands": {each.column: each.section().as_json() for each in self.bands},
            "by": self.by,
            "limit": self.limit,
            "exposed_limit": self.exposed_limit,
            "sensitive": None if self.sensitive is None else list(self.sensitive),
            "accepted_predictors": list(self.accepted_predictors),
            "cells": self.cells.as_json(),
            "repeats": self.repeats,
            "seed": self.seed,
            "steps": self.steps,
            "attackers": [one.as_json() for one in self.attackers],
            "published": [
                {"file": entry.source, "name": entry.name} for entry in self.releases if entry.source
            ],
            "releases": [
                *(entry.as_json() for entry in self.releases if not entry.source),
                *(one.entry() for one in self.not_checked),
            ],
        }


def _plain_bins(bins: Mapping[str, Bins]) -> dict[str, Any]:
    """Bins as plain data; dates as text."""
    return {
        name: one if isinstance(one, int) else [str(cut) if isinstance(cut, date) else cut for cut in one]
        for name, one in bins.items()
    }


def _if_it_is_a_number(dataset: Dataset) -> str:
    """What to write if the categories of the secret are amounts; empty if they are words."""
    if not all(map(is_number_text, dataset.meaning)):
        return ""
    return f"; if {dataset.secret_name} is a number, say so: {AS_NUMBER}"


def _entry(
    name: str, statistic: Mapping[str, Any], protect: Any, where: str | None, bands: Sequence[Bands]
) -> Planned:
    computed = catalogue.build("statistic", statistic).explained(bands)
    listed = protect if isinstance(protect, list) else [protect]
    protections = tuple(catalogue.build("protection", plain) for plain in listed)
    about = None if where is None else as_where(where)
    made = Planned(name, computed, protections, where=about)
    return made if name else replace(made, name=made.described)


def _pairs(releases: Sequence[Planned], public: Public) -> tuple[tuple[int, int], ...]:
    """The pairs of published releases that share a column, those that share most first."""
    if len(releases) < 3 or any(entry.given is None for entry in releases):
        return ()
    used = [entry.query.columns_used(public) for entry in releases]
    shared = {(one, other): len(used[one] & used[other]) for one, other in combinations(range(len(used)), 2)}
    related = [pair for pair, columns in shared.items() if columns]
    return tuple(sorted(related, key=lambda pair: (-shared[pair], pair))[:_MOST_PAIRS])


def _with_different_names(entries: Sequence[Planned]) -> tuple[Planned, ...]:
    """The entries with unique names: repeated names get a number."""
    given = {entry.name for entry in entries} | {ALL_TOGETHER}
    seen = {ALL_TOGETHER}
    named: list[Planned] = []
    for entry in entries:
        name, again = entry.name, 1
        while name in seen or (again > 1 and name in given):
            again += 1
            name = f"{entry.name} ({again})"
        seen.add(name)
        equal = sum(one.described_fully == entry.described_fully for one in named)
        named.append(replace(entry, name=name, stream=entry.stream_of(equal)))
    return tuple(named)
