"""tellall audit."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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
    announce,
    check_folder,
    check_out,
    emit,
    kept_beside,
    only_writer,
    reading,
    tell_assumed,
    write_secret,
)
from tellall.core.errors import TellallError, invalid
from tellall.core.exits import DONE, FAILED, UNSETTLED

if TYPE_CHECKING:
    from tellall.audits.plans.asked import Asked, How, Tell
    from tellall.audits.plans.policy import Policy
    from tellall.audits.plans.record import Origin

__all__ = [
    "EXIT_CODES",
    "audit",
]

EXIT_CODES = {"pass": DONE, "fail": FAILED, "review": UNSETTLED}

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
    from tellall.audits.audit import reveal as name_people
    from tellall.audits.plans.asked import How
    from tellall.audits.plans.places import places_of
    from tellall.audits.plans.policy import Policy
    from tellall.audits.withheld import mostly_withheld
    from tellall.cli.audited import AuditShown, Signing, write_acro_record, write_summaries
    from tellall.core.jobs import Workers
    from tellall.linalg.operators.linear_operator import find_device
    from tellall.report.terminal import talk_console

    talk = talk_console(quiet=quiet)
    folder = out or Path(f"{_name(plan, acro, context)}-audit")
    check_folder(folder)
    check_out(markdown, "--markdown")
    check_out(junit, "--junit")
    signing = Signing(key, wanted=decision)
    rules = None if policy is None else Policy.read(policy)
    how = How(data, seed, drop_gaps, kind, may_include)
    asked = _asked(plan, acro, secret, how, talk.print)
    signing.check_people(asked.plan.data_file(data))
    asked = asked.under(rules).attackable(talk.print).on(find_device(device).name)
    people, chosen = asked.people, asked.plan
    # a device's memory holds one attack
    workers = Workers(1 if jobs < 0 and chosen.device != "cpu" else jobs or 1, cluster)
    if not force:
        _refuse_too_much(asked)
    for one in chosen.tells_secret(people):  # said before anything is attacked
        talk.print(one.sentence)
    context.with_resource(only_writer(folder))
    shown = AuditShown(folder, talk, people.n, by_area=chosen.by is not None, quiet=quiet)
    result = shown.watch(
        lambda: run(
            people,
            chosen,
            processes=workers.processes,
            device=chosen.device,
            cluster=cluster,
            work=folder / ".work" if chosen.by is None else kept_beside(folder),
            name=(data or Path(chosen.data)).name,
            command=_again(asked, plan, acro, policy, how),
            remedy=acro is None and not no_remedy,
            record=_origin(asked, plan, policy, rules),
            judged=shown.show,
            stage=shown.stage,
        )
    )
    if asked.outputs is not None:
        write_acro_record(result, asked.outputs.made_by, folder, talk)
    if result.remedy is None:
        for line in mostly_withheld(places_of(people, chosen), chosen.releases, chosen.seed):
            talk.print(line)
    write_summaries(result, markdown, junit, talk)
    if record := signing.write(result, asked, plan, folder, rules):
        talk.print(f"The record to be signed is {record}", soft_wrap=True)
    tell_assumed(people.assumed, talk)
    announce(folder / "report.html", talk)
    if reveal:
        marked = write_secret(folder / "people", name_people(people, chosen))
        talk.print(f"The people named are in {marked}", soft_wrap=True)
    emit(result.document, as_json=as_json, out=None)
    if result.worst is None:
        raise TellallError(f"nothing in the plan could be attacked. {result.unattacked}")
    raise typer.Exit(EXIT_CODES[result.verdict.word])


def _name(plan: Path | None, acro: Path | None, context: typer.Context) -> str:
    """What the audit is called: after its plan, else after the folder of outputs."""
    if plan is None and acro is None:
        context.fail("PLAN.toml must be given, or --acro FOLDER")
    return plan.stem if plan is not None else (acro or Path()).resolve().name


def _asked(plan: Path | None, acro: Path | None, secret: str | None, how: How, tell: Tell) -> Asked:
    """What is attacked: a plan, outputs, or both."""
    from tellall.audits.plans.asked import audit_of_outputs, audit_of_plan

    if secret is not None and (acro is None or plan is not None):
        raise invalid("--secret", "left out with a plan, which names it", secret)
    if plan is None:
        assert acro is not None
        return audit_of_outputs(acro, secret, how, tell)
    found = audit_of_plan(plan, how, tell)
    return found if acro is None else found.with_outputs(acro, tell)


def _refuse_too_much(asked: Asked) -> None:
    """Refuses an audit that takes too much memory, and says what would need less."""
    from tellall.audits.plans.memory_needed import memory_of

    needed = memory_of(asked.plan, asked.people, asked.plan.device)
    if not needed.fits:
        raise invalid(
            "the audit",
            "expected to fit into memory",
            needed,
            "Fewer people (a sample, or areas: by), fewer columns, or tables of fewer columns need less; "
            "--force starts it anyway.",
        )


def _again(asked: Asked, plan: Path | None, acro: Path | None, policy: Path | None, how: How) -> str:
    """The command that makes the audit again."""
    files = [("", plan), ("--acro", acro), ("--policy", policy)]
    given = [word for option, path in files if path is not None for word in (option, path.name) if word]
    given += reading(drop_gaps=how.drop_gaps, kind=how.kind)
    given += ["--may-include"] if how.may_include else []
    given += ["--seed", str(asked.plan.seed)]
    given += [] if asked.plan.device == "cpu" else ["--device", asked.plan.device]
    return shlex.join(["tellall", "audit", *given])


def _origin(asked: Asked, plan: Path | None, policy: Path | None, rules: Policy | None) -> Origin:
    """When the audit is made, and of which files."""
    from tellall.audits.plans.record import record_of

    return record_of(
        None if plan is None else plan.read_bytes(),
        name="plan" if plan is None else plan.name,
        hashes=None if policy is None or rules is None else {policy.name: rules.sha256},
        published=asked.plan.published_files,
    )
