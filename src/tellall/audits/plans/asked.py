"""What an audit is asked: people, and what would be published about them, from a plan or from outputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tellall.audits.plans.attacker import INSIDER
from tellall.audits.plans.draft import look_at
from tellall.audits.plans.plan import Plan
from tellall.audits.plans.plan_files import read_people, read_plan
from tellall.audits.plans.policy import Policy
from tellall.audits.trial import Planned
from tellall.core.errors import invalid
from tellall.outputs.folders import columns_used, is_read_as_described, read_folder
from tellall.outputs.found import FoundOutputs
from tellall.outputs.output_folder import NO_PART, OutputFolder
from tellall.outputs.read import read_outputs
from tellall.outputs.recognise import recognise, with_earlier
from tellall.people.dataset import Dataset, Public, unknown_name
from tellall.people.readers import column_names, read_table
from tellall.protections.protection import Protection
from tellall.release.release import Release

__all__ = [
    "Asked",
    "How",
    "SaidOfOutputs",
    "Tell",
    "audit_of_outputs",
    "audit_of_plan",
    "outputs_about",
    "plan_asked",
]

Tell = Callable[[str], object]


@dataclass(frozen=True, eq=False)
class Asked:
    """People, what is published about them, and the folder of outputs that is part of it, if there is one."""

    people: Dataset
    plan: Plan
    outputs: OutputFolder | None = None

    @property
    def files(self) -> list[Path]:
        """The files that outputs were read from, each once."""
        given = () if self.outputs is None else self.outputs.published
        return list(dict.fromkeys(path for output in given for path in output.files))

    def with_outputs(self, folder: Path, tell: Tell, all_columns: OutputFolder | None = None) -> Asked:
        """With the outputs of a folder after the plan's own releases; says which were not read.

        ``all_columns`` is the same folder read with every column of the people, which shows what says nothing
        about the secret, though the attacker may not know its columns.
        """
        some = any(one.may_include for one in self.plan.attackers)
        found = read_folder(folder, self.people, bands=self.plan.bands, may_include=some)
        if all_columns is not None:
            harmless = {one.name: one for one in all_columns.skipped if one.code == NO_PART}
            found = replace(found, skipped=tuple(harmless.get(one.name, one) for one in found.skipped))
        together: dict[tuple[bool, str], list[str]] = {}
        for one in found.skipped:
            together.setdefault((one.code != NO_PART, one.reason), []).append(one.name)
        for (planned, reason), ids in together.items():  # a line for each reason, not for each output
            tell(f"{'Not read' if planned else 'Takes no part'}: {', '.join(ids)}: {reason}")
        return Asked(self.people, self.plan.with_outputs(found), found)

    def under(self, rules: Policy | None) -> Asked:
        """Under the rules of a site, if there are any."""
        return self if rules is None else replace(self, plan=rules.under(self.plan))

    def on(self, device: str) -> Asked:
        """Solved on a device."""
        return replace(self, plan=replace(self.plan, device=device))

    def attackable(self, tell: Tell) -> Asked:
        """With what attacks on such a secret can use, checked; says what they cannot."""
        known = len(self.plan.not_checked)
        plan = self.plan.attackable(self.people)
        for one in plan.not_checked[known:]:
            tell(str(one))
        plan.check(self.people)
        return replace(self, plan=plan)


@dataclass(frozen=True)
class SaidOfOutputs:
    """What the person who asks says about outputs, beside what these show.

    Attributes
    ----------
    secret
        The column that nobody should learn about a person.
    public
        The columns that an outsider is taken to know; None: those that outputs are made of.
    protect
        What was done to the numbers at random.
    confirm
        For outputs that may be several things the number of the right one, by source.
    published
        Files with what went out before, saved by tellall or outputs too.
    planned
        What is not made yet, to be judged together with the outputs.
    """

    secret: str
    public: tuple[str, ...] | None = None
    protect: tuple[Protection, ...] = ()
    confirm: Mapping[str, int] = field(default_factory=dict)
    published: tuple[Path, ...] = ()
    planned: tuple[Planned, ...] = ()


@dataclass(frozen=True)
class How:
    """How people are read and attacked: what stands above a plan, or in its place."""

    data: Path | None = None
    seed: int | None = None
    drop_gaps: bool = False
    kind: str | None = None
    may_include: bool = False


def plan_asked(path: Path, how: How, tell: Tell) -> Plan:
    """The plan, with this seed and kind of secret if they are given; with a data file it need not name one.

    Releases of a kind that tellall does not have are reported now, before any work.
    """
    plan = read_plan(path, needs_data=how.data is None)
    for one in plan.not_checked:
        tell(str(one))
    if not plan.releases:
        rule = "given with a kind of statistic and protection that tellall has"
        raise invalid("releases", rule, ", ".join(one.reason for one in plan.not_checked))
    return replace(
        plan,
        seed=plan.seed if how.seed is None else how.seed,
        drop_gaps=plan.drop_gaps or how.drop_gaps,
        kind=how.kind or plan.kind,
        attackers=tuple(
            replace(one, may_include=one.may_include or how.may_include) for one in plan.attackers
        ),
    )


def audit_of_plan(path: Path, how: How, tell: Tell) -> Asked:
    """What the audit of a plan attacks."""
    plan = plan_asked(path, how, tell)
    return Asked(read_people(plan, how.data), plan)


def outputs_about(
    what: Path | FoundOutputs, said: SaidOfOutputs, how: How, tell: Tell
) -> tuple[OutputFolder, Dataset]:
    """What outputs are, and the people with every column that can be read.

    They are recognised by computing them again from the people. Folders that ACRO wrote, or that have a
    description, are read as these say.
    """
    if how.data is None:
        raise invalid("--data", "given: outputs are recognised from the people in it", "nothing")
    table = read_table(how.data)
    readable = _readable(table, said.secret, tell)
    everything = Dataset.from_frame(
        table, secret=said.secret, public=readable, drop_gaps=how.drop_gaps, kind=how.kind
    )
    if isinstance(what, Path) and is_read_as_described(what):
        folder = read_folder(what, everything, may_include=how.may_include)
        known = said.public or tuple(columns_used(folder, everything.public))
        unknown = _without(everything.public.names, known)
        return replace(folder, known=known, assumed_unknown=unknown), everything
    before = [path for path in said.published if not _is_saved(path)]
    found = with_earlier(read_outputs(what) if isinstance(what, Path) else what, before)
    protect, confirm = said.protect or None, said.confirm
    folder = recognise(found, everything, public=said.public, protect=protect, confirm=confirm)
    return replace(folder, may_include=how.may_include), everything


def audit_of_outputs(what: Path | FoundOutputs, said: SaidOfOutputs, how: How, tell: Tell) -> Asked:
    """What the audit of outputs attacks: those that say something about the secret; see `outputs_about`."""
    folder, everything = outputs_about(what, said, how, tell)
    assert how.data is not None
    if not folder.outputs and not said.planned:
        reasons = "; ".join(map(str, folder.skipped[:3])) or "no outputs"
        raise invalid("WHAT", "outputs that can be read", str(what), f"Not read: {reasons}")
    folder = _with_planned(folder, said, everything.public)
    used = columns_used(folder, everything.public)
    columns = [name for name in everything.public.names if name in {*folder.known, *used}]
    public = everything.public.only(*columns) if columns else everything.public
    people = replace(everything, public=public)
    told = None if set(columns) <= set(folder.known) else folder.known
    attackers = (replace(INSIDER, may_include=how.may_include, known=told),)
    plan = Plan(
        (),
        data=how.data.name,
        secret=people.secret_name,
        seed=how.seed or 0,
        steps=False,
        attackers=attackers,
        drop_gaps=how.drop_gaps,
        kind=how.kind,
    )
    earlier = [
        Planned.published(f"{path.stem} (published)", Release.load(path), path.name)
        for path in said.published
        if _is_saved(path)
    ]
    plan = replace(plan, releases=(*earlier, *said.planned))
    if not isinstance(what, Path) or not is_read_as_described(what):
        return Asked(people, plan.with_outputs(folder), folder)
    asked = Asked(people, plan).with_outputs(what, tell, folder)
    assert asked.outputs is not None
    named = replace(asked.outputs, known=folder.known, assumed_unknown=folder.assumed_unknown)
    return replace(asked, plan=replace(asked.plan, outputs=named), outputs=named)


def _with_planned(folder: OutputFolder, said: SaidOfOutputs, public: Public) -> OutputFolder:
    """The outputs, with an outsider who also knows the columns of what is planned."""
    used = set().union(*(one.query.columns_used(public) for one in said.planned))
    if said.public is not None or not used:
        return folder
    known = tuple(name for name in public.names if name in used | {*folder.known})
    return replace(folder, known=known, assumed_unknown=_without(public.names, known))


def _without(names: Sequence[str], some: Sequence[str]) -> tuple[str, ...]:
    return tuple(name for name in names if name not in some)


def _is_saved(path: Path) -> bool:
    """Whether a file is a release that tellall saved."""
    return path.suffix.lower() in (".json", ".parquet")


def _readable(table: Any, secret: str, tell: Tell) -> list[str]:
    """The columns beside the secret that can be read; says why others cannot."""
    names = column_names(table)
    if secret not in names:
        raise unknown_name("--secret", secret, names)
    looks = [look_at(name, table[name]) for name in names if name != secret]
    for look in looks:
        if look.kind == "unreadable":
            tell(f"Left out {look.name}: {look.reason}")
    return [look.name for look in looks if look.kind != "unreadable"]
