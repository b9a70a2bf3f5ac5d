"""Policy: what a site allows, whatever an analyst's plan says. A plan can ask for less, never for more."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tellall.audits.document import AuditDocument
from tellall.audits.plans.attacker import Attacker
from tellall.audits.plans.plan import Plan
from tellall.audits.plans.record import record_of
from tellall.core import files
from tellall.core.errors import InvalidInput, invalid
from tellall.core.text import one_line, said
from tellall.release import catalogue

__all__ = ["Policy", "decision"]

_LARGEST = 2**20
_SIGNED = {
    "name": "  # who decides",
    "decision": "  # publish, change first, or do not publish",
    "reasons": "",
    "signed_on": "",
}


@dataclass(frozen=True, eq=False)
class Policy:
    """The rules of a site.

    Attributes
    ----------
    name
        What the site calls it.
    limit, exposed_limit
        The most that any plan may allow; see `Plan`. None: as the plan says.
    repeats
        The least number of draws of the noise that are attacked.
    cells
        What published cells of numbers must keep at least, as the file says it; see `CellRules`.
    attackers
        Who must be among the attackers of every plan.
    not_published
        Kinds of statistic that must not be published.
    sha256
        The hash of the file.
    """

    name: str = ""
    limit: float | None = None
    exposed_limit: int | None = None
    repeats: int = 1
    attackers: tuple[Attacker, ...] = ()
    not_published: tuple[str, ...] = ()
    sha256: str = ""
    cells: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, path: str | Path) -> Policy:
        """Reads a policy from a TOML file."""
        text = files.read_text(Path(path), what="policy", largest=_LARGEST)
        try:
            mapping = tomllib.loads(text)
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            raise invalid(
                "policy", "a TOML file", str(path), f"The reader said: {said(error, 120)}."
            ) from None
        return replace(cls.from_mapping(mapping), sha256=hashlib.sha256(Path(path).read_bytes()).hexdigest())

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, object]) -> Policy:
        """The policy in a mapping of the same shape as the file.

        Examples
        --------
        >>> Policy.from_mapping({"limit": 0.02}).under(Plan((), limit=0.1)).limit
        0.02
        """
        from pydantic import ValidationError

        from tellall.audits.plans.written import PolicyDocument

        try:
            document = PolicyDocument.model_validate(dict(mapping))
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(str(part) for part in first["loc"])[:80]
            raise InvalidInput(f"policy: {one_line(where)}: {first['msg']}.") from None
        known = catalogue.kinds("statistic")
        for kind in document.not_published:
            if kind not in known:
                advice = catalogue.nearest(kind, known).strip()
                raise invalid("policy: not_published", f"kinds among {', '.join(known)}", kind, advice)
        attackers = Attacker.listed(document) if document.attackers else ()
        return cls(
            document.name,
            document.limit,
            document.exposed_limit,
            document.repeats,
            attackers,
            tuple(document.not_published),
            cells={} if document.cells is None else document.cells.model_dump(exclude_unset=True),
        )

    def under(self, plan: Plan) -> Plan:
        """The plan under this policy: the lower limits, the further attackers, what must not be published."""
        limits = [value for value in (plan.exposed_limit, self.exposed_limit) if value is not None]
        attackers = plan.attackers
        if self.attackers:
            own = [replace(one, name=one.name or "as planned") for one in plan.attackers]
            known = {replace(one, name="") for one in own}
            more = [one for one in self.attackers if replace(one, name="") not in known]
            attackers = (*(own if more else plan.attackers), *more)
        return replace(
            plan,
            limit=plan.limit if self.limit is None else min(plan.limit, self.limit),
            exposed_limit=min(limits) if limits else None,
            cells=plan.cells.under(self.cells),
            repeats=max(plan.repeats, self.repeats),
            attackers=attackers,
            forbidden=tuple(
                f"“{name}” ({kind})" for name, kind in _kinds(plan) if kind in self.not_published
            ),
        )

    def as_json(self) -> dict[str, Any]:
        """The policy as plain data."""
        return {
            "name": self.name,
            "limit": self.limit,
            "exposed_limit": self.exposed_limit,
            "cells": dict(self.cells),
            "repeats": self.repeats,
            "attackers": [one.name for one in self.attackers],
            "not_published": list(self.not_published),
            "sha256": self.sha256,
        }


def _kinds(plan: Plan) -> list[tuple[str, str]]:
    """Each release with its kind of statistic, those that tellall cannot attack included."""
    known = [(entry.name, type(entry.statistic).__name__) for entry in plan.releases]
    return known + [(one.name, str(one.statistic.get(catalogue.KIND, ""))) for one in plan.not_checked]


def decision(
    document: AuditDocument,
    *,
    date: str,
    policy: Policy | None,
    published: Sequence[Path],
    signed: Mapping[str, str] | None = None,
    people_file: Mapping[str, str] | None = None,
    checks: Mapping[str, Mapping[str, str]] | None = None,
    each: Mapping[str, str] | None = None,
) -> str:
    """The record of a decision, to be signed: what was checked, by which rules, and what was found.

    With ``signed`` it is filled in: name, decision, reasons, signed_on; ``each`` is the decision about every
    output, by name. Hashes are those of the policy and of
    what was published before. A hash of anything else confirms a guess at somebody: of the people's file, of
    the audit and of outputs, which hold exact counts, and of the plan, whose cut points were read off the
    people. ``people_file`` and ``checks``, by name of the file, are their checks under the curator's key,
    which reveal nothing without the key.
    """
    from tellall.audits.plans.draft import as_toml_value as toml

    hashes = record_of(None, published=published).sha256
    lines = [
        "# The record of a decision about publishing. Fill in the last part.",
        f"date = {toml(date)}",
        f"tellall = {toml(document.tellall)}",
        f"command = {toml(document.command)}",
        f"seed = {document.seed}",
        f"people = {document.data.people}",
        f"secret = {toml(document.data.secret)}",
        "",
        "[verdict]",
        f"word = {toml(document.verdict.word)}",
        f"sentence = {toml(document.verdict.sentence)}",
        f"limit = {toml(document.limit)}",
        *([] if (most := document.exposed_limit) is None else [f"exposed_limit = {most}"]),
        "",
        "[outputs]",
        *(f"{toml(row.name)} = {toml(row.verdict.word)}" for row in document.findings if row.role == "alone"),
        "",
        "[policy]",
        f"name = {toml('none' if policy is None else policy.name or 'without a name')}",
        *([] if policy is None else [f"sha256 = {toml(policy.sha256)}"]),
        "",
        "[sha256]" if hashes else "[sha256]  # of what was published before: nothing was",
        *(f"{toml(name)} = {toml(text)}" for name, text in hashes.items()),
        "",
        *([] if people_file is None else ["[people_file]  # for tellall check, with the curator's key"]),
        *(f"{name} = {toml(text)}" for name, text in (people_file or {}).items()),
        *([] if people_file is None else [""]),
        *(line for name, check in (checks or {}).items() for line in _checked(name, check)),
        "[decision]",
        *(f"{key} = {toml((signed or {}).get(key, ''))}{said}" for key, said in _SIGNED.items()),
        "",
        *(["[decision.outputs]"] if each else []),
        *(f"{toml(name)} = {toml(word)}" for name, word in (each or {}).items()),
        *([""] if each else []),
    ]
    return "\n".join(lines)


def _checked(name: str, check: Mapping[str, str]) -> list[str]:
    """The check of a file under the curator's key, as lines of a record."""
    from tellall.audits.plans.draft import as_toml_value as toml

    return [f"[files.{toml(name)}]", *(f"{key} = {toml(text)}" for key, text in check.items()), ""]
