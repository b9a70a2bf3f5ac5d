"""What an audit is asked: people, and what would be published about them, from a plan or from outputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from tellall.audits.plans.attacker import INSIDER
from tellall.audits.plans.plan import Plan
from tellall.audits.plans.policy import Policy
from tellall.core.errors import invalid
from tellall.outputs.folders import columns_used, likely_secret, read_folder
from tellall.outputs.output_folder import NO_PART, OutputFolder
from tellall.people.dataset import Dataset
from tellall.people.readers import read_table

__all__ = ["Asked", "How", "Tell", "audit_of_outputs", "audit_of_plan", "read_plan"]

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
class How:
    """How people are read and attacked: what stands above a plan, or in its place."""

    data: Path | None = None
    seed: int | None = None
    drop_gaps: bool = False
    kind: str | None = None
    may_include: bool = False


def read_plan(path: Path, how: How, tell: Tell) -> Plan:
    """The plan, with this seed and kind of secret if they are given; with a data file it need not name one.

    Releases of a kind that tellall does not have are reported now, before any work.
    """
    plan = Plan.read(path, needs_data=how.data is None)
    for one in plan.not_checked:
        tell(str(one))
    if not plan.releases:
        rule = "given with a kind of statistic and protection that tellall has"
        raise invalid("releases", rule, ", ".join(one.reason for one in plan.not_checked))
    attackers = plan.attackers
    if how.may_include:
        attackers = tuple(replace(one, may_include=True) for one in attackers)
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
    plan = read_plan(path, how, tell)
    return Asked(plan.dataset(how.data), plan)


def audit_of_outputs(folder: Path, secret: str | None, how: How, tell: Tell) -> Asked:
    """What the audit of a folder of outputs attacks, with the secret that most of them are about.

    The attacker is assumed to know the columns that the outputs are made of.
    """
    if how.data is None:
        raise invalid("--data", "given with --acro if there is no plan", "nothing")
    table = read_table(how.data)
    names = [str(name) for name in (table if isinstance(table, dict) else table.columns)]
    chosen = likely_secret(folder, names) if secret is None else secret
    everything = Dataset.from_frame(table, secret=chosen, drop_gaps=how.drop_gaps, kind=how.kind)
    found = read_folder(folder, everything, may_include=how.may_include)
    if not found.published:
        reasons = "; ".join(map(str, found.skipped[:3])) or "no outputs"
        raise invalid("--acro", "a folder with an output that can be read", "none", f"Not read: {reasons}")
    public = columns_used(found, everything.public)
    tell(f"The secret is {chosen}; the attacker knows {', '.join(public)}.")
    people = Dataset.from_frame(table, secret=chosen, public=public, drop_gaps=how.drop_gaps, kind=how.kind)
    attackers = (replace(INSIDER, may_include=how.may_include),)
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
    return Asked(people, plan).with_outputs(folder, tell, found)
