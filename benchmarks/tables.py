"""From people to a verdict: tables against lstsq in the same run, wrong tables, an ordinary file, the demo.

python benchmarks/tables.py [--quick]
"""

from __future__ import annotations

import argparse
import importlib
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

import numpy as np

import tellall as ta
from ordinary import ordinary
from tellall.audits.attacks import jobs_alone, trial_of
from tellall.audits.plans.plan import Plan
from tellall.audits.trial import Setting, affordable
from tellall.evidence.linearise import linearise
from timing import Section, least_time, one_thread

Row = tuple[str, str, str, str, str]


def random_people(n: int, d: int, seed: int) -> ta.Dataset:
    """Fair bits."""
    rng = np.random.default_rng(seed)
    return ta.Dataset.from_arrays(rng.integers(0, 2, (n, d)), secret=rng.integers(0, 2, n))


def against_lstsq(n: int, d: int) -> Iterator[Row]:
    """Every 3-way table with noise of sd .1√n: each decoder against lstsq on the same rows."""
    people = random_people(n, d, 0)
    release = ta.publish(people, ta.Marginals(3), ta.Gaussian(0.1 * n**0.5), rng=1)
    evidence = linearise(release, people.public)
    matrix = evidence.operator.to_dense()[1::2].astype(np.float64)  # the no cells repeat these rows
    target = (evidence.target[1::2] - evidence.target[0::2]) / 2
    seconds, found = least_time(lambda: np.linalg.lstsq(matrix, target, rcond=None)[0], 1)
    size = f"n={n}, d={d}, {evidence.target.size} cells, σ=0.1√n"
    wrong = int(((found >= 0.5) != people.secret).sum())
    yield "lstsq on the cells", size, "–", f"{seconds:.2f} s", f"{wrong} wrong"
    scored = None
    for decoder in ("auto", "least-squares", "lp"):
        ours, attack = least_time(lambda decoder=decoder: ta.reconstruct(release, people.public, decoder))
        gap = f", gap {attack.stats['gap']:.0e}" if decoder == "lp" else ""
        yield (
            f"{decoder} ({attack.decoder}, {attack.status.word}{gap})",
            size,
            f"lstsq, {seconds:.2f} s",
            f"{seconds / ours:.0f}× ({ours:.3f} s)",
            f"{int((attack.guess != people.secret).sum())} wrong",
        )
        if scored is None:
            scored, risk = least_time(lambda attack=attack: ta.score(attack, people.secret), 1)
            limit = max(ours, seconds)
            yield (
                "score, baselines included",
                size,
                f"the larger of attack and lstsq, {limit:.2f} s",
                f"{limit / scored:.1f}× ({scored:.2f} s)",
                f"{risk.exposed} exposed",
            )


def adversary(n: int, d: int, decoder: str, seeds: int) -> Row:
    """All tables over one attribute wrong, not declared."""
    wrong = sure = 0
    start = time.process_time()
    for seed in range(seeds):
        people, rng = random_people(n, d, seed), np.random.default_rng(seed)
        release = ta.publish(people, ta.Marginals(3), rng=seed)
        tables = release.values.copy().reshape(-1, 8)
        about = np.array([0 in columns for columns in combinations(range(d), 2)])
        tables[about] += rng.normal(0, n**0.5, (about.sum(), 8))
        attack = ta.reconstruct(replace(release, values=tables.ravel()), people.public, decoder)
        missed = attack.guess != people.secret
        wrong += int(missed.sum())
        sure += int((missed & (attack.confidence >= 0.95)).sum())
    return (
        f"{decoder}, every table over one attribute wrong, undeclared",
        f"n={n}, d={d}, {seeds} draws",
        "–",
        f"{(time.process_time() - start) / seeds:.2f} s each",
        f"{wrong} wrong, {sure} of them sure",
    )


def file_of_people(n: int) -> Iterator[Row]:
    """The plan that `tellall init` writes: every attack of its audit, CPU seconds of one thread."""
    people = ordinary(n)
    release = {
        "name": "tables",
        "statistic": {"kind": "Marginals", "ways": 3},
        "protect": [{"kind": "Suppression", "below": 10}, {"kind": "Rounding", "base": 5}],
    }
    plan = Plan.from_mapping({"releases": [release], "seed": 0, "steps": True})
    size, start = f"{n} people × 8 columns, {len(people.patterns)} distinct", time.process_time()
    setting = Setting(people)
    setting.baselines([plan.releases[0].statistic])
    total = time.process_time() - start
    yield "baselines", size, "–", f"{total:.1f} s", ""
    for job in jobs_alone(plan):
        tried = affordable(n, 1, people.levels)
        for decoder in tried[:1] if job.role == "step" else tried:
            start = time.process_time()
            outcome = trial_of(setting, plan, job).run(decoder)
            seconds = time.process_time() - start
            total += seconds
            right = f"{outcome.accuracy:.4f} right, {outcome.named_right} of {outcome.named} named"
            yield f"{job.name}: {outcome.decoder} ({outcome.status})", size, "–", f"{seconds:.1f} s", right
    yield "the attacks and baselines of the audit", size, "two cores: half of it", f"{total:.1f} s", ""
    start, first = time.process_time(), list[float]()
    audit = ta.audit(
        people, plan, lambda done, _: done == 1 and first.append(time.process_time()), remedy=True
    )
    seconds = time.process_time() - start
    yield "the first finding of the audit", size, "goal: 30 s", f"{first[0] - start:.1f} s", ""
    found = audit.remedy.change.words if audit.remedy and audit.remedy.change else "none found"
    yield "the whole audit, culprits and remedy included", size, "goal: 180 s", f"{seconds:.1f} s", found


def demonstration() -> Row:
    """Every attack of `tellall demo`, on one core."""
    demo = importlib.import_module("tellall.cli.demo")
    people = ta.datasets.load("nhanes")
    setting, plan = Setting(people), demo._plan(people, 0)
    start = time.process_time()
    rows = dict(demo._attack_all(setting, plan, processes=1))
    named = [f"{row.named_right} of {row.named}" for row in (rows[0], rows[len(rows) - 1])]
    right = f"named: {named[0]} (3-way, exact), {named[1]} (4-way, hidden, rounded)"
    seconds = time.process_time() - start
    return "tellall demo", f"{people.n} people, 10 releases", "goal: 80 s", f"{seconds:.1f} s", right


def main() -> None:
    """The table; the small sizes with --quick."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="only the small sizes; nothing is written")
    quick = parser.parse_args().quick
    one_thread()
    names = ("work", "size", "reference", "reference time ÷ ours, CPU s", "right")
    section = Section("tables.py", names, keep=not quick)
    for row in against_lstsq(*((200, 30) if quick else (2000, 95))):
        section.add(row)
    for n in (164,) if quick else (164, 225):
        for decoder in ("lp", "auto"):
            section.add(adversary(n, 30, decoder, 1 if quick else 5))
    for row in file_of_people(500 if quick else 32_561):
        section.add(row)
    if not quick:
        section.add(demonstration())


if __name__ == "__main__":
    main()
