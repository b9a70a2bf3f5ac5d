"""Worker: the process of one audit. Its state is in files, so it can be killed and started again."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from tellall.audits.advice import StageName
from tellall.audits.attacks import jobs_alone, jobs_together
from tellall.audits.audit import audit
from tellall.audits.document import Audit
from tellall.audits.findings import Finding, Job, Skipped
from tellall.audits.plans.asked import Asked, SaidOfOutputs, audit_of_outputs, outputs_about
from tellall.audits.plans.places import Place, places_of
from tellall.audits.plans.plan_files import read_people
from tellall.audits.plans.record import record_of, sha256_of
from tellall.core.checkpoint import Checkpoint
from tellall.core.errors import InvalidInput, TellallError, WorkLost
from tellall.core.exits import DONE, FAULT, REFUSED, fault_sentence
from tellall.core.locks import claimed
from tellall.core.text import one_line
from tellall.core.version import __version__
from tellall.core.work import Progress
from tellall.people.dataset import Dataset
from tellall.serve.cases import Case, now

__all__ = ["COMMAND", "main", "run"]

COMMAND = "tellall audit plan.toml"  # what repeats the audit, next to the file of people
_MANY = 2000  # people from whom on all cores work
_WORSE = ("", "skipped", "pass", "review", "fail")
_EVERY = 0.2  # seconds between two notes of the progress


class _Notes:
    """What is known about the run so far, written where the page looks for it."""

    def __init__(self, case: Case, task: str) -> None:
        self.case, self.last = case, 0.0
        self.state: dict[str, Any] = {
            "state": "running",
            "task": task,
            "stage": "reading",
            "version": case.version,
            "began": now(),
            "done": 0,
            "total": 0,
            "attacks": [],
            "error": "",
        }
        self.write()

    def write(self, **changes: Any) -> None:
        self.state |= changes
        self.last = time.monotonic()
        self.case.write("run.json", self.state)

    def progress(self, done: int, total: int) -> None:
        self.state |= {"done": done, "total": total}
        if done == total or time.monotonic() - self.last > _EVERY:
            self.write()

    def stage(self, name: StageName) -> AbstractContextManager[Progress]:
        """Says which stage begins; its progress follows."""
        self.write(stage="attacking" if name == "attacks" else name, done=0, total=0)
        return nullcontext(self.progress)

    def plan(self, jobs: Sequence[Job]) -> None:
        self.write(
            attacks=[{"name": job.name, "role": job.role, "word": "", "key": _key(job)} for job in jobs]
        )

    def found(self, finding: Finding | Skipped) -> None:
        for attack in self.state["attacks"]:
            if attack["key"] == _key(finding.job):
                word = finding.verdict.word if isinstance(finding, Finding) else "skipped"
                attack["word"] = max(attack["word"], word, key=_WORSE.index)  # of several attackers
        self.write()


def _key(job: Job) -> str:
    return f"{job.role} {job.members}"


def run(case: Case, task: str = "audit") -> int:
    """Audits a case, looks for a remedy, measures other protections; returns an exit code.

    The verdict is there as soon as it is known; what follows is added to it. The task "recognise" only finds
    out what the outputs of the case are.
    """
    with claimed(case.folder / "audit", what="audit"):
        notes = _Notes(case, task)
        try:
            if task == "recognise":
                _recognise(case, notes)
            else:
                _run(case, notes)
        except (TellallError, MemoryError) as error:
            few = isinstance(error, MemoryError)
            words = "this machine has too little memory for it" if few else str(error)
            notes.write(state="failed", error=one_line(words, 1000))
            return FAULT if isinstance(error, WorkLost) else REFUSED
        except Exception as error:  # our fault, and the page has to say so
            notes.write(state="failed", error=fault_sentence(error))
            raise
    return DONE


def _recognise(case: Case, notes: _Notes) -> None:
    given = case.given
    key = given.key  # first: if a file changes meanwhile, this is outdated
    notes.write(stage="recognising")
    found, _ = outputs_about(given.read(), SaidOfOutputs(given.secret), given.how(case.data), _unheard)
    given.keep(found, key)
    notes.write(state="done", stage="")


def _unheard(line: str) -> None:
    """Says nothing: the page has it all."""


def _asked(case: Case, notes: _Notes) -> tuple[str, Asked]:
    """What is to be audited, and its version, both read once: another tab may change it."""
    given, version = case.given, case.version
    if not given.text:
        version, plan = case.asked
        return version, Asked(read_people(plan, case.data), plan)
    notes.write(stage="recognising")
    asked = audit_of_outputs(given.read(), given.said(), given.how(case.data), _unheard)
    return version, asked.under(case.rules)


def _command(case: Case) -> str:
    """What repeats the audit."""
    policy = " --policy policy.toml" if case.rules else ""
    if case.given.text:
        return f"{case.given.command(case.name)}{policy}"
    return f"{COMMAND}{policy} --seed {case.plan.seed}"


def _run(case: Case, notes: _Notes) -> None:
    plan_text, rules = case.plan_text, case.rules
    hashes = {} if rules is None else {"policy.toml": rules.sha256}
    version, asked = _asked(case, notes)
    people, plan = asked.people, asked.plan
    chosen = plan.attackable(people)
    chosen.check(people)
    if chosen.by is None:
        notes.plan([*jobs_alone(chosen), *jobs_together(chosen, range(len(chosen.releases)))])
    hashes |= {path.name: sha256_of(path) for path in chosen.published_files}  # they are next to the plan
    found = audit(
        people,
        plan,
        processes=-1 if people.n >= _MANY else 1,
        work=case.folder / "work",
        name=case.name,
        command=_command(case),
        remedy=True,
        each=notes.found,
        record=record_of(plan_text.encode() or None, hashes=hashes),
        judged=lambda judged: _keep(case, judged, version),
        stage=notes.stage,
    )
    if not found.answered:
        raise InvalidInput(f"Nothing in the plan could be attacked. {found.unattacked}")
    if found.verdict.word != "pass" and not plan.forbidden:  # no change helps where the rules forbid
        places = places_of(people, found.plan)
        found.save(case.folder / "audit")
        if asked.outputs is None:  # outputs that exist have no other protections to try
            _look_closer(case, people, places, found, notes)
            _measure(case, places, found, notes)
    notes.write(state="done", stage="")


def _keep(case: Case, found: Audit, version: str) -> None:
    """Saves the audit; the one before it, if it was of another plan, becomes the one to compare with."""
    before, done = case.audit, case.read("done.json")
    if before is not None and (done or {}).get("version") != version:
        case.write("last.json", before.as_json())
    for name in ("fix.json", "cells.json"):
        (case.folder / name).unlink(missing_ok=True)
    found.save(case.folder / "audit")
    case.write("done.json", {"version": version, "tellall": __version__, "when": now()})


def _look_closer(case: Case, people: Dataset, places: Sequence[Place], found: Audit, notes: _Notes) -> None:
    """Counts the people of every table, to be shown cell by cell."""
    from tellall.serve.cell_sizes import counted

    notes.write(stage="cells", done=0, total=0)
    case.write("cells.json", counted(people, places, found))


def _measure(case: Case, places: Sequence[Place], found: Audit, notes: _Notes) -> None:
    """Measures other protections of every release, for the slider."""
    from tellall.serve.points import measure

    notes.write(stage="measuring", done=0, total=0)
    if not places:
        return
    with Checkpoint.in_folder(case.folder / "work") as kept:
        made = measure(places, found.plan, found.limits, kept, notes.progress)
    case.write("fix.json", made)


def main() -> None:
    """The process: audits the case in the folder it is given, and ends when its parent does."""

    def listen() -> None:
        sys.stdin.buffer.read()  # ends when the server does, however that ends
        os._exit(0)

    threading.Thread(target=listen, daemon=True).start()
    code = FAULT
    try:
        code = run(Case(Path(sys.argv[1])), *sys.argv[2:3])
    except TellallError:  # another process has the case
        code = REFUSED
    finally:
        os._exit(code)


if __name__ == "__main__":
    main()
