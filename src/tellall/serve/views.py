"""What the served pages show, as plain data for their templates: plans, foresight, progress, decisions."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from functools import lru_cache
from pathlib import Path
from typing import Any

from tellall.audits.document import AuditDocument
from tellall.audits.findings import AreasDocument
from tellall.audits.plans.mistakes import is_unknown
from tellall.audits.plans.plan import Plan
from tellall.audits.plans.plan_files import read_people
from tellall.audits.plans.policy import Policy, decision
from tellall.core.amounts import count_of, counted, percent, points
from tellall.core.curator_key import CuratorKey
from tellall.core.errors import invalid
from tellall.people.dataset import Dataset
from tellall.report.areas_page import AreaLine, worst_in_area
from tellall.report.release_rows import Unit, release_rows
from tellall.serve.cases import Case, now, plan_from
from tellall.serve.edits import (
    NUMBERS,
    chip_words,
    entries_of,
    files_of,
    index_of,
    public_columns,
    tables_of,
)

__all__ = [
    "areas_of",
    "attackers",
    "audit_state",
    "cards",
    "chosen_point",
    "compared",
    "decision_of",
    "decision_record",
    "headline",
    "numbers_of",
    "outputs_of",
    "people_of",
    "progress_view",
    "protected",
    "public_columns",
    "published",
    "reached",
    "remedied",
    "rules_view",
    "seen_of",
    "step_of",
    "unchanged",
]

Plain = dict[str, Any]
_SHOWN_AREAS = 200
_WRITTEN = {"accept": "publish", "reject": "do not publish"}
_DEFAULTS = {field.name: field.default for field in fields(Plan) if field.name in NUMBERS}
STAGES = {
    "starting": "Starting",
    "reading": "Reading the people",
    "recognising": "Finding out what the outputs are",
    "attacking": "Attacking",
    "culprits": "Finding what gives them away",
    "remedy": "Looking for the cheapest change that passes",
    "cells": "Counting cell by cell",
    "measuring": "Measuring other protections",
}


def step_of(case: Case) -> str:
    """The page on which a case goes on."""
    if not case.asked_text:
        return "columns"
    if case.current or _is_audited(case):
        return "verdict"
    return "outputs" if case.given.text else "plan"


def _is_audited(case: Case) -> bool:
    """Whether an audit of the case is running."""
    known = case.read("run.json") or {}
    return known.get("state") == "running" and known.get("task", "audit") == "audit"


def audit_state(state: Plain | None) -> Plain | None:
    """How far a run is, if it is an audit."""
    return None if state is None or state.get("task", "audit") != "audit" else state


def seen_of(case: Case, state: Mapping[str, Any]) -> str:
    """A word for what a run has to show, which changes when a page should load itself again."""
    document = case.audit if case.current else None
    remedy = document is not None and document.remedy is not None
    files = [(case.folder / name).is_file() for name in ("cells.json", "fix.json")]
    return f"{state['state']}-{int(case.current)}{int(remedy)}{''.join(str(int(one)) for one in files)}"


def reached(case: Case) -> list[str]:
    """The steps of a case that can be opened."""
    steps = ["columns"]
    if case.asked_text:
        steps.append("outputs" if case.given.text else "plan")
    if case.current:
        steps += ["verdict", "fix", "decide"]
    elif _is_audited(case):
        steps.append("verdict")
    return steps


def unchanged(case: Case, form: Mapping[str, str]) -> str:
    """The plan's text, if it is the one that the form was made from."""
    if form.get("version") != case.version:
        raise invalid(
            "plan", "the one that this page showed", "another", "It was changed in another tab. Look again."
        )
    return case.plan_text


def chosen_point(known: Plain, form: Mapping[str, str]) -> tuple[Plain, int]:
    """The release and the place on its slider that a form names."""
    releases = {str(one["index"]): one for one in known["releases"] if one["points"]}
    release = releases.get(form.get("release", ""))
    if release is None:
        raise invalid("release", "one that was measured", form.get("release", "nothing"))
    return release, index_of(form.get("at", ""), len(release["points"]))


def cards(case: Case) -> list[Plain]:
    """The releases of a plan, each as a card: what is published, and its protections as chips."""
    entries = entries_of(case.plan_text)
    plan = case.plan
    described = {one.name: one.query.describe() for one in plan.releases}
    unknown = {one.name: one.reason for one in plan.not_checked}
    names, others = (iter([one.name for one in several]) for several in (plan.planned, plan.not_checked))
    found = []
    for index, entry in enumerate(entries):
        parts = [("statistic", entry["statistic"]), *(("protection", one) for one in entry["protect"])]
        name = next(others if any(is_unknown(*part) for part in parts) else names)
        found.append(
            {
                "index": index,
                "name": name,
                "what": described.get(name, str(entry["statistic"].get("kind", ""))),
                "unknown": unknown.get(name, ""),
                "chips": [chip_words(plain) for plain in entry["protect"]],
            }
        )
    return found


def published(text: str) -> list[str]:
    """The releases that were published before, by name."""
    return [str(entry.get("name") or entry.get("file", "")) for entry in tables_of(text, "published")]


def attackers(case: Case) -> list[Plain]:
    """Who attacks, in words: those of the plan, then those whom the rules of the site add."""
    own, (_, asked) = case.plan.attackers, case.asked
    return [
        {
            "name": one.name or "an outsider",
            "knows": one.describe(asked.secret),
            "place": place if place < len(own) and len(own) > 1 else None,
            "by_rules": place >= len(own),
        }
        for place, one in enumerate(asked.attackers)
    ]


def _cells_in_words(cells: Mapping[str, Any]) -> Iterator[str]:
    """What cells of numbers must keep, as far as a policy says it."""
    if "p" in cells:
        yield f"nobody in a cell of numbers known to a rival to within {cells['p']:g} %"
    if "dominance" in cells:
        n, share = cells["dominance"]["n"], percent(cells["dominance"]["share"], 0)
        yield f"no more than {share} of such a cell from {count_of(n, 'contributor')}"
    if "threshold" in cells:
        yield f"no minima and maxima of fewer than {count_of(cells['threshold'], 'person', 'people')}"
    if "extremes" in cells:
        said = "allowed" if cells["extremes"] else "for a person to decide"
        yield f"minima and maxima of more people {said}"


def rules_view(rules: Policy) -> Plain:
    """The rules of the site in words."""
    said = [
        *([f"an advantage of at most {points(rules.limit, '')} in 100"] if rules.limit is not None else []),
        *(
            [f"at most {rules.exposed_limit:,} people with a sensitive value proved alone or exposed"]
            if rules.exposed_limit is not None
            else []
        ),
        *([f"at least {rules.repeats:,} draws of the noise"] if rules.repeats > 1 else []),
        *_cells_in_words(rules.cells),
        *(f"an attacker {named(one.name)}who {one.describe('secret')}" for one in rules.attackers),
        *(f"no {kind}" for kind in rules.not_published),
    ]
    return {"name": rules.name or "without a name", "rules": said, "sha256": rules.sha256}


def named(name: str) -> str:
    """A name as a part of a sentence; empty without a name."""
    return f"“{name}” " if name else ""


@lru_cache(maxsize=2)
def _people(folder: Path, path: Path, changed: int, text: str) -> Dataset:
    return read_people(plan_from(text, folder), path)


def people_of(case: Case) -> Dataset:
    """The people, as the plan reads them; the last two tables stay in memory."""
    path = case.data
    return _people(case.folder, path, path.stat().st_mtime_ns, case.plan_text)


def progress_view(state: Plain) -> Plain:
    """How far a run is, in words and as a bar from 0 to 100."""
    done, total = state["done"], state["total"]
    searching = state["stage"] == "remedy"  # its total is the most attacks that it may take, not a goal
    attacks = [one for one in state["attacks"] if one["role"] != "step"]
    steps = [one for one in state["attacks"] if one["role"] == "step"]
    return {
        **state,
        "words": STAGES.get(state["stage"], "Done"),
        "share": round(100 * done / total) if total and not searching else None,
        "counted": "" if not total else f"{done:,} attacks" if searching else f"{done:,} of {total:,}",
        "attacks": attacks,
        "steps": len(steps),
        "steps_done": sum(bool(one["word"]) for one in steps),
    }


def headline(document: AuditDocument) -> list[tuple[str, str]]:
    """The numbers that one reads first, from the document of the audit."""
    known = document.overall
    if known is None:
        return []
    return [
        (f"advantage, {Unit.of(document.real).words}", points(known.advantage_share)),
        ("people proved alone", counted(sum(known.proved_alone.values()))),
        ("people exposed", counted(sum(known.exposed.values()))),
        ("of these, with a sensitive value", counted(known.sensitive.learnt)),
    ]


def compared(before: AuditDocument | None, document: AuditDocument) -> list[Plain]:
    """Each release then and now; empty without an earlier audit by the same version of tellall."""
    if before is None or before.tellall != document.tellall:
        return []
    then, now_rows = ({row.name: row for row in release_rows(one)} for one in (before, document))
    return [
        {"name": name, "then": then.get(name), "now": now_rows.get(name)}
        for name in dict.fromkeys([*then, *now_rows])
    ]


def numbers_of(text: str) -> Plain:
    """The numbers of a plan that a form may change, defaults written out."""
    plan = tomllib.loads(text)
    return {key: plan.get(key, default) for key, default in _DEFAULTS.items()}


def remedied(document: AuditDocument, entries: Sequence[Plain]) -> list[Plain]:
    """The releases of the plan with the remedy; what could not be checked stays as it is."""
    remedy = document.remedy
    if remedy is None or not remedy.found:
        raise invalid("remedy", "found before it is applied", "none")
    unknown = {one.name for one in document.not_checked}
    named = {one.get("name"): one for one in entries}
    changed = [_with_key(one, named.get(one["name"], {})) for one in remedy.entries]
    return [*changed, *(one for one in entries if one.get("name") in unknown)]


def protected(entries: Sequence[Plain], release: Plain, at: int) -> list[Plain]:
    """The releases of the plan, one of them with the protections of a point of the slider."""
    named = [
        index for index, one in enumerate(entries) if one.get("name", release["name"]) == release["name"]
    ]
    if len(named) != 1:
        raise invalid("release", "in the plan once, under its name", release["name"])
    own = entries[named[0]]
    changed = _with_key({**own, "protect": release["points"][at]["protect"]}, own)
    return [*entries[: named[0]], changed, *entries[named[0] + 1 :]]


def _with_key(changed: Plain, planned: Plain) -> Plain:
    """A changed release with the cell key of the planned one, which no other file has."""
    keys = [part["key"] for part in planned.get("protect", []) if "key" in part]
    if len(keys) != 1:
        return changed
    protect = [{**part, "key": keys[0]} if part["kind"] == "CellKey" else part for part in changed["protect"]]
    return {**changed, "protect": protect}


_SORTED: dict[str, Callable[[AreaLine], Any]] = {
    "area": lambda row: row.name.lower(),
    "people": lambda row: -row.people,
    "advantage": lambda row: -row.found.advantage,
    "exposed": lambda row: 0 if isinstance(row.found.exposed, str) else -row.found.exposed,
    "verdict": lambda row: ("fail", "review", "pass").index(row.verdict),
}


def areas_of(areas: AreasDocument, query: Mapping[str, str]) -> Plain:
    """Some areas of an audit: those whose name holds a text, in the order that is asked for."""
    looked_for = query.get("find", "")[:80]
    order = query.get("sort", "")
    rows = [row for row in map(worst_in_area, areas.rows) if row is not None]
    found = [row for row in rows if looked_for.lower() in row.name.lower()]
    if order.removeprefix("-") in _SORTED:
        found.sort(key=_SORTED[order.removeprefix("-")], reverse=order.startswith("-"))
    return {
        "by": areas.by,
        "rows": found[:_SHOWN_AREAS],
        "found": len(found),
        "all": len(rows),
        "find": looked_for,
        "sort": order,
        "columns": list(_SORTED),
    }


def decision_record(case: Case, known: Plain) -> str:
    """The record of a decision, as the command line writes it, filled in."""
    document = case.audit
    assert document is not None
    signed = {
        "name": known["by"],
        "decision": _WRITTEN[known["decision"]],
        "reasons": known["comment"],
        "signed_on": known["when"],
    }
    return decision(
        document,
        date=known["when"],
        policy=case.rules,
        published=[case.folder / name for name in files_of(case.plan_text)],
        signed=signed,
        each={name: _WRITTEN[word] for name, word in known.get("outputs", {}).items()},
        people_file=known.get("people_file"),
        checks=known.get("checks"),
    )


def outputs_of(case: Case, document: AuditDocument) -> list[str]:
    """The names of what is decided about one by one: outputs, and what was added to them."""
    return [*(str(one.source) for one in document.outputs), *(str(one["name"]) for one in case.given.added)]


def decision_of(
    case: Case, word: str, comment: str, who: str, key: CuratorKey | None, each: Mapping[str, str]
) -> Plain:
    """The decision about an audit, as it is kept: with hashes of what it is about, which stay in the case.

    ``each`` is the decision about every output, by name.

    With the curator's key it has checks of the people's file, the plan and the audit, which may leave it.
    """
    asked = "outputs.json" if case.given.text else "plan.toml"
    about = {asked: case.folder / asked, "audit.json": case.folder / "audit" / "audit.json"}
    return {
        "decision": word,
        "comment": comment,
        "by": who,
        "outputs": dict(each),
        "when": now(),
        "plan_sha256": hashlib.sha256(case.asked_text.encode()).hexdigest(),
        "audit_sha256": hashlib.sha256(case.audit_text.encode()).hexdigest(),
        "people_file": None if key is None else key.check(case.data),
        "checks": {} if key is None else {name: key.check(path) for name, path in about.items()},
    }
