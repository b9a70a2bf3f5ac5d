"""sweep: privacy and utility of many protections, at many scales, over many draws of the noise."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from tellall.audits.families import NAMELESS, Family, as_family, check_scales
from tellall.audits.kept_trials import OUTCOMES, Attempt, kept_trials
from tellall.audits.measures.revealing_cells import USUAL_RULES, CellRules
from tellall.audits.outcome import Counted, Outcome, counts_of
from tellall.audits.plans.attacker import INSIDER, Attacker
from tellall.audits.plans.places import Kept
from tellall.audits.trial import Planned, Setting, Trial, check_decoders, seed_of, untried
from tellall.audits.verdict import Limits, Verdict, judge, sensitive_codes
from tellall.core import files
from tellall.core.amounts import counted, digits, percent, unit_of_advantage, with_interval
from tellall.core.checks import whole
from tellall.core.errors import TellallError, invalid
from tellall.core.jobs import Workers, run
from tellall.core.not_done import NotDone
from tellall.core.records import IF_KNOWN, NOT_WRITTEN, Meaning, Record, read, same_fields
from tellall.core.shown import WithFigures
from tellall.core.tasks import Failed, Task
from tellall.core.work import Progress
from tellall.evidence.query import Asked, Query, as_query
from tellall.people.dataset import Dataset
from tellall.protections.protection import Protection, Rng, as_protections, noise_of, prepare
from tellall.statistics.where import describe

__all__ = [
    "Sweep",
    "SweepRow",
    "Word",
    "marked",
    "rows_of",
    "suggest_scales",
    "sweep",
    "untried_decoders",
]

Word = Literal["pass", "review", "fail"]
Share = Annotated[float, Meaning(least=0, most=1)]
_HEAD = ("protection", "decoder", "right", "advantage [95 %]", "exposed", "mean error", "ε", "verdict")


@dataclass(frozen=True, kw_only=True)
class SweptAttack(Record):
    """What one decoder achieved against one protection."""

    family: str
    scale: Annotated[float | None, Meaning("null: the protection does not belong to a family.", least=0)]
    protection: str
    std: Annotated[
        float | None, Meaning("Standard deviation of the noise on a value; null: no law.", least=0)
    ]
    decoder: str
    draws: Annotated[int, Meaning("Draws of the noise; one if nothing is random.", least=1)]
    accuracy: float
    accuracy_low: float
    accuracy_high: float
    baseline: Annotated[str, Meaning("The strongest guess without a person's own record.")]
    baseline_accuracy: float
    advantage: Annotated[float, Meaning("What the attack gains over the strongest baseline.")]
    low: Annotated[float, Meaning("The lower end of the advantage's 95 % interval.")]
    high: Annotated[float, Meaning("The upper end of the advantage's 95 % interval.")]
    in_sample: Annotated[
        float, Meaning("In-sample fit of a real secret, left out of the advantage.", least=0)
    ]


@dataclass(frozen=True, kw_only=True)
class SweepRow(Counted, SweptAttack):
    """One protection and one decoder: what the attack achieved, what the protection costs the reader, what it
    promises, and its verdict; null if not measured.
    """

    loss: Annotated[
        float | None, Meaning("Mean absolute error of a value, including withheld ones.", least=0)
    ]
    loss_low: float | None
    loss_high: float | None
    mean_error: Annotated[float | None, Meaning("The same over the values that are shown.", least=0)]
    max_error: Annotated[float | None, Meaning(least=0)]
    missing: Annotated[Share | None, Meaning("The share of the values that is withheld.")]
    total_variation: Share | None
    association_change: Share | None
    mae_ratio: Annotated[
        float | None,
        Meaning("Error of models' predictions, as a multiple of the exact models'.", least=0),
    ]
    sign_flips: Share | None
    coverage: Share | None
    epsilon: Annotated[float | None, Meaning("null: nothing is promised.", least=0)]
    delta: Share | None
    frontier: Annotated[bool, Meaning("No other protection has less advantage and less loss.")] = False
    verdict: Annotated[Word, Meaning("What an audit would say, over all decoders tried.")]
    decided: Annotated[str, Meaning("What decided, in a few words.")]
    codes: Annotated[tuple[str, ...], Meaning("Why it is no pass, by codes, the decisive one first.")] = ()

    @property
    def choice(self) -> tuple[str, float | None, str]:
        """What tells its protection apart from others."""
        return self.family, self.scale, self.protection


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Sweep(Record, WithFigures):
    """Privacy and utility of protections, a row for each protection and decoder.

    ``outcomes`` are those behind the rows.
    """

    name: Annotated[str | None, Meaning("What a plan calls what is published."), IF_KNOWN] = None
    statistic: str
    people: Annotated[int, Meaning(unit="people", least=1)]
    units: Annotated[str, Meaning("What values, errors and noise are measured in.")]
    seed: Annotated[int, Meaning(least=0)]
    secret: Annotated[str, Meaning("The secret's name.")] = "secret"
    real: Annotated[
        bool,
        Meaning(
            "Whether the secret is a real number: accuracies are then mean absolute errors, and they and "
            "advantages are in its unit; else they are shares of the people."
        ),
    ] = False
    untried: Annotated[tuple[str, ...], Meaning("Decoders left out for the time they take.")] = ()
    rows: Annotated[tuple[SweepRow, ...], Meaning(shortest=1)]
    skipped: Annotated[tuple[NotDone, ...], Meaning("Protections that could not be measured.")] = ()
    outcomes: Annotated[tuple[Outcome, ...], NOT_WRITTEN] = ()

    @property
    def frontier(self) -> tuple[SweepRow, ...]:
        """The rows that no other protection beats in both advantage and loss, the worst decoder of each.

        An advantage below zero counts as none.
        """
        return tuple(row for row in self.rows if row.frontier)

    def to_plain(self) -> dict[str, Any]:
        """The sweep with its outcomes, from which it can be made again."""
        return {**self.as_json(), "outcomes": [outcome.to_plain() for outcome in self.outcomes]}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Sweep:
        """The sweep that :meth:`to_plain` gave."""
        known = dict(plain)
        outcomes = tuple(map(Outcome.from_plain, known.pop("outcomes")))
        return replace(read(cls, known, what="sweep"), outcomes=outcomes)

    def csv_text(self) -> str:
        """The rows as CSV, empty if not measured."""
        text = io.StringIO()
        rows = [_flat(row) for row in self.rows]
        writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return text.getvalue()

    def columns(self) -> dict[str, list[Any]]:
        """The rows column by column."""
        rows = [_flat(row) for row in self.rows]
        return {name: [row[name] for row in rows] for name in rows[0]}

    def to_csv(self, path: str | Path) -> Path:
        """Writes the rows as CSV, empty if not measured; returns the path."""
        return files.write_text(Path(path), self.csv_text())

    def to_parquet(self, path: str | Path) -> Path:
        """Writes the rows as Parquet; returns the path."""
        return files.write_table(Path(path), self.columns())

    def __str__(self) -> str:
        head = ["off by" if self.real and words == "right" else words for words in _HEAD]
        body = [_cells(row, self.real) for row in self.rows]
        widths = [max(map(len, column)) for column in zip(head, *body, strict=True)]
        lines = [
            "  ".join(
                cell.ljust(width) if index < 2 else cell.rjust(width)
                for index, (cell, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in (head, *body)
        ]
        marked = [
            f"{line}  *" if row.frontier else line for row, line in zip(self.rows, lines[1:], strict=True)
        ]
        left_out = [f"left out {one.name}: {one.reason}" for one in self.skipped]
        note = "* on the frontier: no other protection here has both less advantage and less error"
        unit = f"advantage in {unit_of_advantage(self.real, self.secret)}"
        untried = untried_decoders(self.untried, self.people)
        return "\n".join([lines[0], *marked, note, unit, *left_out, *untried])

    __repr__ = __str__


def sweep(
    dataset: Dataset,
    statistic: Asked,
    protections: object,
    *,
    scales: Sequence[float] | None = None,
    repeats: int = 10,
    decoders: Sequence[str] | None = None,
    limit: float = 0.05,
    exposed_limit: int | None = 0,
    sensitive: Sequence[str] | None = None,
    cells: CellRules = USUAL_RULES,
    attacker: Attacker = INSIDER,
    rng: Rng = 0,
    stream: int = 0,
    processes: int = 1,
    cluster: str | None = None,
    work: str | Path | None = None,
    progress: Progress | None = None,
) -> Sweep:
    """Privacy and utility of each protection, averaged over draws of the noise.

    Parameters
    ----------
    dataset, statistic
        The people with their secret, and what would be published about them.
    protections
        Protections, lists of protections that apply in order, or None (nothing done); with ``scales`` also
        families: classes such as ``Gaussian``, their names, or functions from a scale to a protection.
    scales
        The scales of each family; zero means nothing done.
    repeats
        Draws of the noise for each protection; one if nothing in it is random.
    decoders
        Names of decoders; by default every affordable one.
    limit, exposed_limit, sensitive
        The limits by which protections are judged, as a plan has them: the most advantage, the most people
        with a sensitive value who may be proved alone or exposed, and the sensitive values (by default all
        but the most common one).
    cells
        What published cells of a real secret must keep, one of ``Plan.cells``.
    attacker
        The attacker to measure against, one of ``Plan.attackers``; by default somebody who knows every public
        column of everybody and nobody's secret.
    rng
        Seed of the noise, and of the choice of people the attacker knows; the draws are the same for every
        protection and scale.
    stream
        Which of the releases drawn with this seed it is, from 0: each has random numbers of its own, as the
        releases of a plan have in an audit.
    processes
        How many protections are measured at once, −1 for one per core; the numbers do not depend on it.
    cluster
        The address of a Dask scheduler, ``tcp://host:port``, to measure them there; the people go there too.
    work
        A folder where the outcomes of every finished protection are kept, so that a sweep that was stopped
        continues there.
    progress
        Called with (protections done, protections in all) after each.

    Examples
    --------
    >>> import numpy as np
    >>> from tellall.protections.additive import Gaussian
    >>> from tellall.statistics.marginals import Marginals
    >>> rng = np.random.default_rng(0)
    >>> people = Dataset.from_arrays(rng.integers(0, 2, (40, 8)), secret=np.arange(40) % 2)
    >>> found = sweep(people, Marginals(3), [Gaussian], scales=[1, 30], repeats=4)
    >>> found.rows[0].advantage > found.rows[-1].advantage
    True
    """
    whole("repeats", repeats, least=1)
    whole("stream", stream, least=0)
    workers, seed = Workers(processes, cluster), seed_of(rng)
    setting = Setting(dataset, attacker=attacker, seed=seed, rules=cells)
    if not isinstance(statistic, Asked):
        raise invalid("statistic", "a statistic such as Marginals(3)", statistic)
    tried = check_decoders(decoders, dataset.n, repeats, dataset.levels)
    limits = Limits(limit, exposed_limit, sensitive_codes(dataset, sensitive))
    choices = _choices(protections, scales)
    trials = [
        Trial(setting, (choice.planned(as_query(statistic), stream),), repeats, seed) for choice in choices
    ]
    rows: list[SweepRow] = []
    outcomes: list[Outcome] = []
    skipped: list[NotDone] = []
    with kept_trials(work, dataset) as kept:
        measured = _run_all(trials, tried, workers, kept, progress)
    for choice, trial, found in zip(choices, trials, measured, strict=True):
        if isinstance(found, str):
            skipped.append(NotDone(choice.name, found, "measure"))
        else:
            std = _std(trial)
            rows += rows_of(choice.family, choice.scale, std, found, limits)
            outcomes += found
    if not rows:
        raise invalid("protections", "some that fit the statistic", skipped[0].name, skipped[0].reason)
    known = setting.exact(statistic)
    return Sweep(
        statistic=describe(known.statistic, known.where),
        people=dataset.n,
        units=setting.units(known.statistic),
        seed=seed,
        secret=dataset.secret_name,
        real=not dataset.levels,
        untried=untried(tried, dataset.levels) if decoders is None else (),
        rows=marked(rows),
        skipped=tuple(skipped),
        outcomes=tuple(outcomes),
    )


def suggest_scales(dataset: Dataset, statistic: Asked) -> list[float]:
    """Seven scales around the noise that begins to hide a person, each twice the last, in two digits."""
    reach = Setting(dataset).reach(statistic)
    return [float(f"{reach * 2.0**power:.2g}") for power in range(-3, 4)]


def rows_of(
    family: str, scale: float | None, std: float, found: Sequence[Outcome], limits: Limits
) -> list[SweepRow]:
    """What each decoder achieved against one protection, as rows of a sweep, with the verdict on them all."""
    verdict = judge([(one.protection, one) for one in found], limits)
    return [_row(family, scale, std, one, limits, verdict) for one in found]


def _row(
    family: str, scale: float | None, std: float, found: Outcome, limits: Limits, verdict: Verdict
) -> SweepRow:
    loss = found.loss
    advantage, low, high = found.judged
    counts: dict[str, Any] = {**counts_of(found, limits.count)}  # as `Counted` declares them
    return same_fields(
        SweepRow,
        found,
        family=family,
        scale=scale,
        std=_known(std),
        decoder=found.asked,
        accuracy_low=found.accuracy_interval[0],
        accuracy_high=found.accuracy_interval[1],
        baseline_accuracy=found.baselines[found.baseline],
        advantage=advantage,
        low=low,
        high=high,
        **counts,
        loss=_known(loss.error if loss else None),
        loss_low=_known(loss.interval[0] if loss else None),
        loss_high=_known(loss.interval[1] if loss else None),
        **_measured(loss and loss.utility, "mean_error", "max_error", "missing"),
        **_measured(loss and loss.utility, "total_variation", "association_change"),
        **_measured(loss and loss.coefficients, "mae_ratio", "sign_flips", "coverage"),
        **_measured(found.promised, "epsilon", "delta"),
        verdict=verdict.word,
        decided=verdict.decided,
        codes=verdict.codes,
    )


def _measured(source: object, *names: str) -> dict[str, float | None]:
    """These numbers of a record; None where there is no record, or where they are not finite."""
    return {name: _known(getattr(source, name, None)) for name in names}


def _known(value: float | None) -> float | None:
    """The number; None where it is not finite."""
    return value if value is not None and math.isfinite(value) else None


def marked(rows: Sequence[SweepRow]) -> tuple[SweepRow, ...]:
    """The rows, marked: the worst decoder of each protection that no other beats in both advantage and loss.

    An advantage below zero counts as none; equal protections are marked together.
    """
    worst: dict[tuple[str, float | None, str], int] = {}
    for at, row in enumerate(rows):
        if row.choice not in worst or row.advantage > rows[worst[row.choice]].advantage:
            worst[row.choice] = at
    costs = {
        at: (max(rows[at].advantage, 0.0), loss)
        for at in worst.values()
        if (loss := rows[at].loss) is not None
    }

    def best(at: int) -> bool:
        gain, loss = costs[at]
        return not any(g <= gain and c <= loss and (g, c) != (gain, loss) for g, c in costs.values())

    return tuple(replace(row, frontier=at in costs and best(at)) for at, row in enumerate(rows))


def untried_decoders(names: Sequence[str], people: int) -> list[str]:
    """What to say about decoders that were left out."""
    if not names:
        return []
    them = "it" if len(names) == 1 else "them"
    return [
        f"Not tried, because of the time on {people:,} people: {', '.join(names)}. The results do not cover "
        f"{them}; a decoder that finds more needs more noise. Ask for {them} by name."
    ]


@dataclass(frozen=True)
class _Choice:
    family: str
    scale: float | None
    protections: tuple[Protection, ...]

    @property
    def name(self) -> str:
        if self.scale is not None:
            return f"{self.family} at {self.scale:g}"
        return ", ".join(map(repr, self.protections)) or "exact"

    def planned(self, query: Query, stream: int) -> Planned:
        return Planned(self.name, query.statistic, self.protections, stream, where=query.where)


def _choices(protections: Any, scales: Sequence[float] | None) -> list[_Choice]:
    """Every protection to measure; no protection at all is measured once."""
    given = list(protections) if isinstance(protections, list | tuple) else [protections]
    if not given:
        raise invalid("protections", "one or more", "none")
    chosen: list[_Choice] = []
    for one in given:
        if not _is_family(one):
            done = as_protections(one)
            chosen.append(_Choice(" + ".join(type(step).__name__ for step in done) or "exact", None, done))
            continue
        family = as_family(one)
        if scales is None:
            raise invalid("scales", f"given, since {family.name} is a family of protections", "none")
        chosen += [_member(family, scale) for scale in check_scales(scales)]
    exact = [choice for choice in chosen if not choice.protections]
    return [choice for choice in chosen if choice.protections or choice is exact[0]]


def _member(family: Family, scale: float) -> _Choice:
    """A family at a scale; one without a name goes by its protection's."""
    made = family.at(scale)
    named = " + ".join(type(step).__name__ for step in made) if family.name == NAMELESS else family.name
    return _Choice(named if scale else "exact", scale, made)


def _is_family(one: object) -> bool:
    if isinstance(one, str | type | Family):
        return True
    return callable(one) and not isinstance(one, Protection)


def _run_all(
    trials: Sequence[Trial],
    decoders: Sequence[str],
    workers: Workers,
    kept: Kept | None,
    progress: Progress | None,
) -> list[tuple[Outcome, ...] | str]:
    """The outcomes of each trial in order, or why there are none."""
    attempts = [Attempt(trial, tuple(decoders)) for trial in trials]
    keys = [OUTCOMES.key(kept, attempt) for attempt in attempts]
    begun = False

    def begin(attempt: Attempt) -> Attempt:
        nonlocal begun
        if not begun:
            setting = attempt.trial.setting
            with suppress(TellallError):  # the attack says it
                setting.baselines(attempt.trial.queries)  # made once, before the first attack
            several = workers.processes != 1 and len(trials) > 1
            if several and workers.cluster is None:  # what draws share is too large to send over a network
                for trial in [trial for trial in trials if trial.shares_draws][:1]:
                    trial.warm()
        begun = True
        return attempt

    # what is protected takes longest: it is drawn again and again, or much is tried to prove somebody
    sizes = [math.sqrt(trial.draws) if trial.releases[0].protections else 1.0 for trial in trials]
    tasks = [
        Task(attempt.trial.releases[0].name, partial(begin, attempt), key, size)
        for attempt, key, size in zip(attempts, keys, sizes, strict=True)
    ]
    checkpoint = None if kept is None else kept.checkpoint
    found: dict[int, tuple[Outcome, ...] | str] = {}
    for one in run(
        _attempted, tasks, workers=workers, checkpoint=checkpoint, parse=OUTCOMES.parse, progress=progress
    ):
        found[one.index] = one.reason if isinstance(one, Failed) else one.piece
    return [found[index] for index in range(len(trials))]


def _attempted(attempt: Attempt) -> dict[str, Any]:
    """The outcomes of a trial as plain data, or why there are none; what a worker runs."""
    try:
        return OUTCOMES.to_plain(attempt.trial.run_all(attempt.decoders))
    except TellallError as error:
        return OUTCOMES.to_plain(str(error))


def _std(trial: Trial) -> float:
    """The standard deviation of the noise on a published value; not a number where it has no law."""
    planned = trial.releases[0]
    known = trial.setting.exact(planned.query)
    law = noise_of(prepare(planned.protections, known.statistic, known.dataset.public))
    return law.std if law.known else math.nan


def _flat(row: SweepRow) -> dict[str, object]:
    """A row as a table of text has it: codes in one cell."""
    return {**row.as_json(), "codes": " ".join(row.codes)}


def _cells(row: SweepRow, real: bool) -> list[str]:
    """What a terminal shows of a row, in the order of the head."""
    return [
        row.protection,
        row.decoder,
        digits(row.accuracy) if real else percent(row.accuracy),
        with_interval(row.advantage, (row.low, row.high), real),
        counted(row.exposed),
        "–" if row.loss is None else digits(row.loss),
        "–" if row.epsilon is None else digits(row.epsilon),
        row.verdict,
    ]
