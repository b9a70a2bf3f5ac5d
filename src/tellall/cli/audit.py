"""tellall audit."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated, TypedDict

import typer

from tellall.cli.options import (
    AsJson,
    Cluster,
    Data,
    Device,
    DropGaps,
    Jobs,
    Kind,
    MayInclude,
    PlanSeed,
    Quiet,
    Reveal,
    Stopped,
    announce,
    check_folder,
    check_out,
    emit,
    kept_beside,
    only_writer,
    progress_bar,
    read_plan,
    reading,
    resumable,
    tell_assumed,
    time_words,
    write_secret,
)
from tellall.core import files
from tellall.core.errors import TellallError, invalid
from tellall.core.exits import DONE, FAILED, UNSETTLED
from tellall.core.text import one_line

if TYPE_CHECKING:
    from rich.console import Console

    from tellall.core.jobs import Workers
    from tellall.core.work import Progress
    from tellall.experiment.document import Audit, AuditDocument
    from tellall.experiment.plans import plan as plans
    from tellall.experiment.plans.memory import Memory
    from tellall.experiment.plans.policy import Policy
    from tellall.people.dataset import Dataset
    from tellall.release.outputs import OutputFolder

__all__ = [
    "EXIT_CODES",
    "audit",
]

EXIT_CODES = {"pass": DONE, "fail": FAILED, "review": UNSETTLED}
_GOES_ON = "the same command goes on with the search"
_LISTED = 3  # reasons in one message
_LONG = 120.0  # seconds of a search that are announced

Plan = Annotated[
    Path | None,
    typer.Argument(
        metavar="[PLAN.toml]",
        help="The plan; tellall init writes one. Not needed with --acro.",
        show_default=False,
    ),
]
Acro = Annotated[
    Path | None,
    typer.Option("--acro", metavar="FOLDER", help="Attack the outputs that ACRO wrote, as they are."),
]
Secret = Annotated[
    str | None,
    typer.Option(
        "--secret", help="With --acro: the column to protect; by default what most outputs are about."
    ),
]
PolicyFile = Annotated[
    Path | None,
    typer.Option("--policy", metavar="POLICY.toml", help="The site's rules, which no plan can loosen."),
]
Markdown = Annotated[
    Path | None, typer.Option("--markdown", metavar="FILE", help="Also write a summary in Markdown.")
]
Junit = Annotated[
    Path | None, typer.Option("--junit", metavar="FILE", help="Also write the verdicts as JUnit's XML.")
]
Decision = Annotated[
    bool, typer.Option("--decision", help="Also write decision.toml, a record for the decider to sign.")
]
Key = Annotated[
    Path | None,
    typer.Option(
        "--key", metavar="FILE", help="With --decision: let tellall check recognise the file of people."
    ),
]
NoRemedy = Annotated[
    bool, typer.Option("--no-remedy", help="Do not look for a change of the plan that passes.")
]
Force = Annotated[
    bool,
    typer.Option("--force", help="Start even if it takes more memory than is free."),
]
OutFolder = Annotated[
    Path | None,
    typer.Option("--out", "-o", help="The folder for report.html and audit.json; PLAN-audit by default."),
]


class _How(TypedDict):
    """How the secret is read."""

    drop_gaps: bool
    kind: str | None


def audit(
    context: typer.Context,
    plan: Plan = None,
    data: Data = None,
    acro: Acro = None,
    secret: Secret = None,
    as_json: AsJson = False,
    seed: PlanSeed = None,
    quiet: Quiet = False,
    out: OutFolder = None,
    reveal: Reveal = False,
    jobs: Jobs = -1,
    cluster: Cluster = None,
    device: Device = "cpu",
    no_remedy: NoRemedy = False,
    force: Force = False,
    drop_gaps: DropGaps = False,
    may_include: MayInclude = False,
    kind: Kind = None,
    policy: PolicyFile = None,
    markdown: Markdown = None,
    junit: Junit = None,
    decision: Decision = False,
    key: Key = None,
) -> None:
    """Attack everything a plan would publish; write the verdict.

    With by = "COLUMN" in the plan, every value of that column is an area of its own. The page shows the worst
    areas and all people together. Finished areas are kept in the output folder: after a stop, or a change in
    some areas, only the missing ones are computed.

    With --acro FOLDER the outputs in it are attacked as they are, with those of the plan if there is one.
    Without a plan the attacker is assumed to know the columns that the outputs are made of. The output folder
    then also holds results.json, which ACRO's viewer reads. Outputs that could not be read are listed with
    the reason.

    where = "sex = 'f'" in a release says which people it is about. Releases about different people are solved
    together. known, known_people and known_secrets say what an attacker knows, may_include that nobody knows
    who of the people is in the releases (--may-include: for every attacker). [[attackers]] lists several; the
    page shows the worst first. [[published]] lists files published before, judged together with the new ones.

    If the plan does not pass, the verdict is written first. Then tellall looks for the cheapest change of the
    plan that passes, and for what each part of the plan gives away; both are added to the page.

    How long the rest takes is said once the first attack is made. Whatever stops the command, the same
    command goes on where it was, with the search for a remedy too. An audit that is expected to take more
    memory than is free is not started. The message says how much and what would need less. --force starts it
    anyway.

    Exit codes: 0 below the plan's limits, 1 above one, 2 bad input or usage, too much memory, or nothing that
    can be attacked, 3 a person has to decide. tellall --help has the others.
    """
    from tellall import audit as run
    from tellall.algebra.operators.base import find_device
    from tellall.core.curator_key import CuratorKey
    from tellall.core.jobs import Workers
    from tellall.experiment.audit import reveal as name_people
    from tellall.experiment.plans.memory import memory_of
    from tellall.experiment.plans.places import places_of
    from tellall.experiment.plans.policy import Policy
    from tellall.experiment.plans.record import record_of
    from tellall.experiment.withheld import mostly_withheld
    from tellall.report.areas import audit_lines
    from tellall.report.attackers import attacker_lines
    from tellall.report.text import audit_text, talk_console

    talk = talk_console(quiet=quiet)
    named = _name(plan, acro, context)
    folder = out or Path(f"{named}-audit")
    check_folder(folder)
    check_out(markdown, "--markdown")
    check_out(junit, "--junit")
    if key is not None and not decision:
        raise invalid("--key", "given with --decision", key)
    curator = None if key is None else CuratorKey.read(key)
    rules = None if policy is None else Policy.read(policy)
    how: _How = {"drop_gaps": drop_gaps, "kind": kind}
    people, chosen, outputs = _asked(plan, data, acro, secret, seed, talk, how, may_include=may_include)
    checked = None if curator is None else curator.check(chosen.data_file(data))
    chosen = chosen if rules is None else rules.under(chosen)
    known = chosen.not_checked
    chosen = chosen.attackable(people)
    for one in chosen.not_checked[len(known) :]:
        talk.print(str(one))
    chosen.check(people)
    chosen = replace(chosen, device=find_device(device).name)
    on_cpu = chosen.device == "cpu"
    # a device's memory holds one attack
    workers = Workers(1 if jobs < 0 and not on_cpu else jobs or 1, cluster)
    if not force:
        _refuse_too_much(memory_of(chosen, people, chosen.device))
    context.with_resource(only_writer(folder))
    where = [] if on_cpu else ["--device", chosen.device]
    asked = [plan.name] if plan is not None else []
    asked += ["--acro", acro.name] if acro is not None else []
    asked += ["--policy", policy.name] if policy is not None else []
    asked += reading(drop_gaps=drop_gaps, kind=kind)
    asked += ["--may-include"] if may_include else []
    pieces = "attacks" if chosen.by is None else "areas"
    work = folder / ".work" if chosen.by is None else kept_beside(folder)
    began = monotonic()
    with (
        resumable(kept=True, words=pieces) as through,
        progress_bar(talk, "attacking", quiet=quiet) as progress,
    ):
        result = run(
            people,
            chosen,
            through(progress),
            processes=workers.processes,
            device=chosen.device,
            cluster=cluster,
            work=work,
            name=(data or Path(chosen.data)).name,
            command=shlex.join(["tellall", "audit", *asked, "--seed", str(chosen.seed), *where]),
        )
    result = replace(
        result,
        record=record_of(
            None if plan is None else plan.read_bytes(),
            name="plan" if plan is None else plan.name,
            hashes=None if policy is None or rules is None else {policy.name: rules.sha256},
            published=chosen.published_files,
        ),
    )
    page = result.save(folder)
    for text in audit_text(result.content):
        talk.print(text)
    for line in (*audit_lines(result.content), *attacker_lines(result.content)):
        talk.print(line)
    if outputs is not None:
        _write_record(result.content, folder, outputs.made_by, talk)
    if outputs is None and not no_remedy:
        seconds = monotonic() - began
        result = _explained(people, result, folder, work, talk, workers, seconds, quiet=quiet)
    else:
        _forget(folder)
    if result.remedy is None:
        for line in mostly_withheld(places_of(people, chosen), chosen.releases, chosen.seed):
            talk.print(line)
    _write_summaries(result.content, markdown, junit, talk)
    if decision:
        about = [folder / "audit.json", *([] if plan is None else [plan]), *_files_of(outputs)]
        checks = {} if curator is None else {_short(path): curator.check(path) for path in about}
        _write_decision(result.content, folder, rules, chosen.published_files, checked, checks, talk)
    tell_assumed(people.assumed, talk)
    announce(page, talk)
    if reveal:
        marked = write_secret(folder / "people", name_people(people, chosen))
        talk.print(f"The people named are in {marked}", soft_wrap=True)
    emit(result.document, as_json=as_json, out=None)
    if result.worst is None:
        raise TellallError(f"nothing in the plan could be attacked. {_reasons(result.content)}")
    raise typer.Exit(EXIT_CODES[result.verdict.word])


def _refuse_too_much(needed: Memory) -> None:
    """Refuses an audit that takes too much memory, and says what would need less."""
    if needed.fits:
        return
    raise invalid(
        "the audit",
        "expected to fit into memory",
        needed,
        "Fewer people (a sample, or areas: by), fewer columns, or tables of fewer columns need less; --force "
        "starts it anyway.",
    )


def _name(plan: Path | None, acro: Path | None, context: typer.Context) -> str:
    """What the audit is called: after its plan, else after the folder of outputs."""
    if plan is None and acro is None:
        context.fail("PLAN.toml must be given, or --acro FOLDER")
    return plan.stem if plan is not None else (acro or Path()).resolve().name


def _asked(
    plan: Path | None,
    data: Path | None,
    acro: Path | None,
    secret: str | None,
    seed: int | None,
    talk: Console,
    how: _How,
    *,
    may_include: bool,
) -> tuple[Dataset, plans.Plan, OutputFolder | None]:
    """The people, what is attacked, and the outputs of ACRO in it."""
    from tellall.experiment.plans.attacker import INSIDER
    from tellall.experiment.plans.plan import Plan
    from tellall.release.folders import read_folder

    if secret is not None and (acro is None or plan is not None):
        raise invalid("--secret", "left out with a plan, which names it", secret)
    if plan is not None:
        chosen = read_plan(plan, data, seed, talk, **how)
        if may_include:
            every = tuple(replace(one, may_include=True) for one in chosen.attackers)
            chosen = replace(chosen, attackers=every)
        people = chosen.dataset(data)
    else:
        assert acro is not None
        people = _people_of(acro, data, secret, talk, how, may_include=may_include)
        attackers = (replace(INSIDER, may_include=may_include),)
        chosen = Plan((), seed=seed or 0, steps=False, attackers=attackers, **how)
        chosen = replace(chosen, data=(data or Path()).name, secret=people.secret_name)
    if acro is None:
        return people, chosen, None
    some = any(one.may_include for one in chosen.attackers)
    folder = read_folder(acro, people, bands=chosen.bands, may_include=some)
    chosen = chosen.with_outputs(folder)
    for one in folder.skipped:
        talk.print(f"Not read: {one}")
    return people, chosen, folder


def _people_of(
    acro: Path, data: Path | None, secret: str | None, talk: Console, how: _How, *, may_include: bool
) -> Dataset:
    """The people that outputs are about, with the secret that most outputs are about."""
    from tellall.people.dataset import Dataset
    from tellall.people.readers import read_table
    from tellall.release.folders import columns_used, likely_secret, read_folder

    if data is None:
        raise invalid("--data", "given with --acro if there is no plan", "nothing")
    table = read_table(data)
    names = [str(name) for name in (table if isinstance(table, dict) else table.columns)]
    chosen = likely_secret(acro, names) if secret is None else secret
    everything = Dataset.from_frame(table, secret=chosen, **how)
    found = read_folder(acro, everything, may_include=may_include)
    if not found.outputs:
        reasons = "; ".join(map(str, found.skipped[:3])) or "no outputs"
        raise invalid("--acro", "a folder with an output that can be read", "none", f"Not read: {reasons}")
    public = columns_used(found, everything.public)
    talk.print(f"The secret is {chosen}; the attacker knows {', '.join(public)}.")
    return Dataset.from_frame(table, secret=chosen, public=public, **how)


def _write_record(document: AuditDocument, folder: Path, made_by: str, talk: Console) -> None:
    """Writes the findings as ACRO would, into the output folder."""
    from datetime import datetime

    from tellall.report.acro_record import acro_record

    texts = acro_record(document, made_by.split()[-1], datetime.now().isoformat(timespec="seconds"))
    (folder / "checksums").mkdir(exist_ok=True)
    for name, text in texts.items():
        files.write_text(folder / name, text)
    talk.print(f"ACRO's viewer reads {folder / 'results.json'}", soft_wrap=True)


def _write_summaries(
    document: AuditDocument, markdown: Path | None, junit: Path | None, talk: Console
) -> None:
    """Writes what pipelines read."""
    from tellall.report import summary

    for path, render in ((markdown, summary.markdown), (junit, summary.junit)):
        if path is not None:
            files.write_text(path, render(document))
            talk.print(f"Wrote {path}", soft_wrap=True)


def _write_decision(
    document: AuditDocument,
    folder: Path,
    rules: Policy | None,
    published: Sequence[Path],
    checked: dict[str, str] | None,
    checks: dict[str, dict[str, str]],
    talk: Console,
) -> None:
    """Writes the record of a decision, next to the page."""
    from datetime import UTC, datetime

    from tellall.experiment.plans.policy import decision

    now = datetime.now(UTC).isoformat(timespec="seconds")
    text = decision(document, date=now, policy=rules, published=published, people_file=checked, checks=checks)
    files.write_text(folder / "decision.toml", text)
    talk.print(f"The record to be signed is {folder / 'decision.toml'}", soft_wrap=True)


def _short(path: Path) -> str:
    """A file as a record names it: with the folder it is in."""
    return f"{path.parent.name}/{path.name}".lstrip("/")


def _files_of(outputs: OutputFolder | None) -> list[Path]:
    """The files that outputs were read from, each once."""
    given = () if outputs is None else outputs.outputs
    return list(dict.fromkeys(path for output in given for path in output.files))


def _announce_search(audit: Audit, people: int, seconds: float, folder: Path, talk: Console) -> None:
    """Says how long the search for a remedy may take, measured on the attacks made, if that is long."""
    from tellall.experiment.remedy import most_attacks

    made = max(1, sum(len(finding.outcomes) for finding in audit.found))
    most = seconds / made * most_attacks(people)
    if most > _LONG:
        talk.print(
            f"The verdict is in {folder}. Looking for a change that passes takes at most about "
            f"{time_words(most)}; --no-remedy leaves it out. If it is stopped, the verdict stands; "
            f"{_GOES_ON}.",
            soft_wrap=True,
        )


def _explained(
    people: Dataset,
    audit: Audit,
    folder: Path,
    work: Path | None,
    talk: Console,
    workers: Workers,
    seconds: float,
    *,
    quiet: bool,
) -> Audit:
    """The audit with its remedy, saved again and printed; unchanged if the search fails or is stopped.

    ``seconds`` is how long the audit took.
    """
    from tellall.experiment.advice import with_advice

    words = {"culprits": "what each part adds", "remedy": "looking for a remedy"}

    def bar(stage: str) -> AbstractContextManager[Progress | None]:
        if stage == "culprits":
            _announce_search(audit, people.n, seconds, folder, talk)
        return progress_bar(talk, words[stage], quiet=quiet, open_end=stage == "remedy")

    try:
        found = with_advice(people, audit, work, workers, bar)
    except Stopped as stop:
        sentence = f"stopped; the verdict is kept in {folder}, without a remedy; {_GOES_ON}."
        raise Stopped(stop.exit_code, sentence) from None
    except KeyboardInterrupt:
        talk.print(f"The search for a remedy was stopped; the verdict stands, in {folder}; {_GOES_ON}.")
        return audit
    except (TellallError, MemoryError) as error:
        _forget(folder)
        talk.print(f"The search for a remedy failed; the verdict stands. {one_line(str(error), 300)}")
        return audit
    if found is not audit:
        found.save(folder)
    _forget(folder)
    if found.remedy is not None:
        talk.print(found.remedy.sentence)
    return found


def _forget(folder: Path) -> None:
    """Removes what was kept in case the command stops: the page has it all. Finished areas stay."""
    for kept in (folder / ".work", folder / ".areas" / "remedy"):
        if not kept.is_symlink() and not kept.parent.is_symlink():
            shutil.rmtree(kept, ignore_errors=True)


def _reasons(document: AuditDocument) -> str:
    """Why each release could not be attacked."""
    alone = [(row.name, row.reason) for row in document.findings if row.role == "alone"]
    areas = () if document.areas is None else document.areas.rows
    rows = [*alone, *((row.name, row.reason) for row in areas)]
    whys = [f"{name}: {reason.rstrip('.')}" for name, reason in rows if reason]
    more = f" (and {len(whys) - _LISTED:,} more)" if len(whys) > _LISTED else ""
    return f"{'; '.join(whys[:_LISTED])}{more}."
