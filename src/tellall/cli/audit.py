"""tellall audit."""

from __future__ import annotations

from collections.abc import Iterator
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
    check_folder,
    check_out,
    emit,
)
from tellall.cli.outputs_asked import OutputsGiven
from tellall.core.errors import TellallError
from tellall.core.exits import DONE, FAILED, UNSETTLED
from tellall.core.reasons import WORDS
from tellall.core.records import VERSION

if TYPE_CHECKING:
    from tellall.audits.plans.asked import Asked, How
    from tellall.report.terminal import PlainConsole

__all__ = [
    "EXIT_CODES",
    "Confirm",
    "Protect",
    "Public",
    "Published",
    "audit",
]

EXIT_CODES = {"pass": DONE, "fail": FAILED, "review": UNSETTLED}

What = Annotated[
    Path | None,
    typer.Argument(
        metavar="[WHAT]",
        help="A file or a folder of outputs, or a plan (.toml; tellall init writes one).",
        show_default=False,
    ),
]
Acro = Annotated[
    Path | None,
    typer.Option("--acro", metavar="FOLDER", help="The same as WHAT; with a plan, outputs beside it."),
]
Secret = Annotated[
    list[str] | None,
    typer.Option("--secret", help="For outputs: the column to protect; repeat for an audit of each."),
]
Public = Annotated[
    str | None,
    typer.Option(
        "--public",
        metavar="A,B,...",
        help="For outputs: the columns that an outsider knows. Default: those that outputs are made of.",
    ),
]
Published = Annotated[
    list[Path] | None,
    typer.Option("--published", metavar="FILE", help="For outputs: what went out before; repeat for more."),
]
Protect = Annotated[
    list[str] | None,
    typer.Option(
        "--protect",
        metavar="{ kind = ... }",
        help="For outputs: what was done to them at random, as a plan writes it.",
    ),
]
Confirm = Annotated[
    list[str] | None,
    typer.Option(
        "--confirm",
        metavar="OUTPUT=NUMBER",
        help="For an output that may be several things: the right one; 0: none.",
    ),
]
Add = Annotated[
    list[str] | None,
    typer.Option(
        "--add",
        metavar="{ statistic = ... }",
        help="Beside outputs: a release that is not made yet, as a plan writes it; repeat for more.",
    ),
]
SavePlan = Annotated[
    Path | None, typer.Option("--save-plan", metavar="PLAN.toml", help="For outputs: also write a plan.")
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
    what: What = None,
    data: Data = None,
    acro: Acro = None,
    secret: Secret = None,
    public: Public = None,
    published: Published = None,
    protect: Protect = None,
    confirm: Confirm = None,
    add: Add = None,
    save_plan: SavePlan = None,
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
    """Attack outputs, or what a plan says; write the verdict.

    WHAT is a file or a folder of outputs: tables in CSV, Excel, HTML, Markdown, LaTeX or Word files, printed
    models, what ACRO wrote. Each is recognised by computing it again from the people in --data, and said in a
    sentence. What cannot be recognised is listed with the reason. An outsider is taken to know the columns
    that outputs are made of; --public says otherwise.

    Or WHAT is a plan. With by = "COLUMN" in it, every value of that column is an area of its own. The page
    shows the worst areas and all people together. Finished areas are kept in the output folder: after a stop,
    or a change in some areas, only the missing ones are computed.

    where = "sex = 'f'" in a release says which people it is about. Releases about different people are solved
    together. known, known_people and known_secrets say what an attacker knows, may_include that nobody knows
    who of the people is in the releases (--may-include: for every attacker). [[attackers]] lists several; the
    page shows the worst first. [[published]] lists files published before, judged together with the new ones.

    If a plan does not pass, the verdict is written first. Then tellall looks for the cheapest change of the
    plan that passes, and for what each part of the plan gives away; both are added to the page.

    How long the rest takes is said once the first attack is made. Whatever stops the command, the same
    command goes on where it was, with the search for a remedy too. An audit that is expected to take more
    memory than is free is not started. The message says how much and what would need less. --force starts it
    anyway.

    Exit codes: 0 below the limits, 1 above one, 2 bad input or usage, too much memory, or nothing that can be
    attacked, 3 a person has to decide. tellall --help has the others.
    """
    from tellall.audits.plans.asked import How
    from tellall.audits.plans.policy import Policy
    from tellall.cli.audited import AuditRun, Signing
    from tellall.core.jobs import Workers
    from tellall.linalg.operators.linear_operator import find_device
    from tellall.report.terminal import talk_console

    outputs, plan = _what(what, acro, context)
    given = OutputsGiven.of(secret, public, published, protect, confirm, add, save_plan)
    run = AuditRun(
        talk_console(quiet=quiet),
        How(data, seed, drop_gaps, kind, may_include),
        Workers(jobs or 1, cluster),
        find_device(device).name,
        Signing(key, wanted=decision),
        rules=None if policy is None else Policy.read(policy),
        policy=policy,
        markdown=markdown,
        junit=junit,
        reveal=reveal,
        quiet=quiet,
        remedy=not no_remedy,
        force=force,
    )
    folder = out or Path(f"{(plan or outputs or Path()).resolve().stem}-audit")
    check_folder(folder)
    check_out(markdown, "--markdown")
    check_out(junit, "--junit")
    found = []
    for place, asked in _asked(plan, outputs, given, folder, run.how, run.talk):
        found.append(run.judge(asked, plan, outputs, place, context, given.words))
    several = {"schema_version": VERSION, "document": "audits", "audits": [one.document for one in found]}
    emit(found[0].document if len(found) == 1 else several, as_json=as_json, out=None)
    judged = [each.verdict.word for each in found if each.answered]
    if not judged:
        where = "" if plan is None else " in the plan"
        raise TellallError(f"nothing{where} could be attacked. {found[0].unattacked}")
    worst = max(judged, key=WORDS.index)
    if worst == "pass" and len(judged) < len(found):  # about one of the secrets nothing is known
        worst = "review"
    raise typer.Exit(EXIT_CODES[worst])


def _what(what: Path | None, acro: Path | None, context: typer.Context) -> tuple[Path | None, Path | None]:
    """The outputs and the plan: what is given is a plan by its ending."""
    is_plan = what is not None and what.suffix.lower() == ".toml"
    if what is None and acro is None:
        context.fail("WHAT must be given: a file or a folder of outputs, or a plan")
    if what is not None and acro is not None and not is_plan:
        context.fail("WHAT and --acro must not both be outputs")
    return (acro if is_plan else what or acro), (what if is_plan else None)


def _asked(
    plan: Path | None, outputs: Path | None, given: OutputsGiven, folder: Path, how: How, talk: PlainConsole
) -> Iterator[tuple[Path, Asked]]:
    """Yields what is attacked, a plan, outputs or both, and the folder of its page."""
    from tellall.audits.plans.asked import audit_of_plan

    if plan is None:
        assert outputs is not None
        yield from given.audits(outputs, folder, how, talk)
        return
    given.refuse_with_plan()
    found = audit_of_plan(plan, how, talk.print)
    yield folder, found if outputs is None else found.with_outputs(outputs, talk.print)
