"""Sweeps and calibrations by area: each area alone, and all people together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from tellall.audits.by_area import (
    areas_of,
    count_unanswered,
    each_area,
    few_people,
    nothing_found,
    same_secret,
    unanswered,
)
from tellall.audits.calibrate import NO_GUARANTEE, Calibration, calibrate
from tellall.audits.families import as_family
from tellall.audits.measures.counts import People
from tellall.audits.measures.disclosure import told_of_areas
from tellall.audits.outcome import Outcome, Told, add_up
from tellall.audits.plans.attacker import INSIDER, Attacker
from tellall.audits.sweep import Sweep, SweepRow, Word, marked, rows_of, sweep
from tellall.audits.trial import seed_of
from tellall.audits.verdict import Limits, area_name, sensitive_codes
from tellall.core.amounts import amount, count_of, counted, digits, points
from tellall.core.errors import NoAnswer, TooLittlePower
from tellall.core.jobs import Workers
from tellall.core.not_done import NotDone
from tellall.core.records import IF_KNOWN, NOT_WRITTEN, Meaning, Record, read, same_fields
from tellall.core.work import Progress, halves, part_of_work
from tellall.evidence.query import Asked
from tellall.people.areas import Area
from tellall.people.dataset import Dataset
from tellall.protections.protection import Rng

__all__ = [
    "AreaAnswer",
    "AreaCalibration",
    "AreaRow",
    "AreaSweep",
    "CalibratedArea",
    "SweptArea",
    "calibrate_areas",
    "not_enough",
    "sweep_areas",
]

_SCALES = 4  # of all draws and decoders: about what an area's search takes, before all are measured at one


@dataclass(frozen=True, kw_only=True)
class AreaRow(Record):
    """One protection and one decoder in one area, as a row of a sweep."""

    protection: str
    decoder: str
    accuracy: float
    baseline: str
    baseline_accuracy: float
    advantage: float
    low: float
    high: float
    exposed: Told
    learnt: Told
    loss: float | None
    verdict: Word


@dataclass(frozen=True, eq=False, kw_only=True)
class SweptArea(Record):
    """One area's own sweep, or the reason it has none; people are counted as far as that names nobody.

    ``seed`` is that of the area alone, and ``sweep`` its own, with exact counts.
    """

    name: str
    people: Annotated[int, Meaning(unit="people", least=0)]
    seed: Annotated[int, Meaning(least=0)]
    reason: str | None = None
    rows: tuple[AreaRow, ...] = ()
    sweep: Annotated[Sweep | None, NOT_WRITTEN] = None


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class AreaSweep(Sweep):
    """Privacy and utility of protections in many areas; the rows are about all people of all of them."""

    by: Annotated[str, Meaning("The column whose values are the areas.")]
    areas: Annotated[tuple[SweptArea, ...], Meaning("The worst first; those not measured come last.")]

    def __str__(self) -> str:
        missing = sum(area.reason is not None for area in self.areas)
        left_out = f", {missing:,} of them not measured" if missing else ""
        areas = count_of(len(self.areas), "area")
        return f"{self.people:,} people in {areas} by {area_name(self.by)}{left_out}\n{super().__str__()}"

    __repr__ = __str__


@dataclass(frozen=True)
class AreaAnswer(Record):
    """What one area needs; see `Calibration`."""

    scale: Annotated[float, Meaning(least=0)]
    protection: str
    decoder: str
    accuracy: float
    baseline: str
    baseline_accuracy: float
    advantage: float
    interval: tuple[float, float]
    loss: Annotated[float, Meaning(least=0)]
    evaluations: Annotated[int, Meaning(least=1)]

    @classmethod
    def of(cls, found: Calibration) -> AreaAnswer:
        """What a calibration says."""
        return same_fields(cls, found, protection=found.done)


@dataclass(frozen=True, eq=False, kw_only=True)
class CalibratedArea(Record):
    """One area's own answer, or the reason it has none; ``calibration`` is all of it."""

    name: str
    people: Annotated[int, Meaning(unit="people", least=0)]
    seed: Annotated[int, Meaning(least=0)]
    reason: str | None = None
    answer: AreaAnswer | None = None
    calibration: Annotated[Calibration | None, NOT_WRITTEN] = None


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class AreaCalibration(Record):
    """The least noise of a family in many areas: the largest that an area with an answer needs.

    ``swept`` is what that noise achieves and costs, in every area and for all people, and ``missing`` why
    some areas have no answer.
    """

    name: Annotated[str | None, Meaning("What a plan calls what is published."), IF_KNOWN] = None
    by: Annotated[str, Meaning("The column whose values are the areas.")]
    family: str
    scale: Annotated[float, Meaning("The largest that any area needs.", least=0)]
    protection: str
    max_advantage: Annotated[float, Meaning(above=0)]
    statistic: str
    people: Annotated[int, Meaning(unit="people", least=0)]
    units: str
    seed: Annotated[int, Meaning(least=0)]
    together: Annotated[SweepRow, Meaning("All people of all areas at that noise, by the strongest decoder.")]
    exposed: Annotated[People, Meaning("The most people that any decoder exposes at confidence 0.95.")]
    learnt: Annotated[People, Meaning("The most with a sensitive value, proved alone or exposed.")]
    warnings: tuple[str, ...]
    areas: Annotated[tuple[CalibratedArea, ...], Meaning("Areas that need most noise come first.")]
    swept: Annotated[AreaSweep | None, NOT_WRITTEN] = None
    missing: Annotated[tuple[NotDone, ...], NOT_WRITTEN] = ()

    @property
    def enough(self) -> bool:
        """Whether that noise is enough: False if the advantage over all people surely exceeds the limit."""
        rows = [self.together] if self.swept is None else self.swept.rows
        return all(row.low <= self.max_advantage for row in rows)

    @property
    def answered(self) -> int:
        """How many areas have an answer of their own."""
        return sum(area.answer is not None for area in self.areas)

    def __str__(self) -> str:
        worst = self.together
        needed = self.protection if self.scale else "none is needed" if self.enough else "none was found"
        lines = [
            f"One noise for {count_of(self.answered, 'area')} by {area_name(self.by)}, "
            f"for an advantage of at most {amount(self.max_advantage, False)} in each: {needed}",
            f"  over all {self.people:,} people: advantage "
            f"{amount(worst.advantage, False, '+')} [{points(worst.low)}, {points(worst.high)}] "
            f"of {worst.decoder}, {counted(worst.exposed)} "
            f"exposed, mean error {digits(worst.loss)}",
        ]
        lines += [
            f"  {area_name(area.name)}: {area.answer.protection if area.answer.scale else 'none'}"
            for area in self.areas[:5]
            if area.answer is not None
        ]
        own = [sentence for sentence in self.warnings if sentence != NO_GUARANTEE]
        lines += [f"  {sentence}" for sentence in (*own, NO_GUARANTEE)]
        if self.missing:
            lines.append(f"  no answer of their own: {count_unanswered(self.missing)}")
        return "\n".join(lines)

    __repr__ = __str__


def sweep_areas(
    dataset: Dataset,
    statistic: Asked,
    protections: object,
    *,
    by: str,
    scales: Sequence[float] | None = None,
    repeats: int = 10,
    decoders: Sequence[str] | None = None,
    limit: float = 0.05,
    exposed_limit: int | None = 0,
    sensitive: Sequence[str] | None = None,
    attacker: Attacker = INSIDER,
    rng: Rng = 0,
    stream: int = 0,
    processes: int = 1,
    cluster: str | None = None,
    work: str | Path | None = None,
    progress: Progress | None = None,
) -> AreaSweep:
    """Privacy and utility of each protection in every area, and for all people together.

    Parameters
    ----------
    dataset, statistic, protections, scales, repeats, decoders, limit, exposed_limit, sensitive, stream
        As for `sweep`; an area's own sweep with its seed gives the same rows.
    attacker
        As for `sweep`; whoever knows the column ``by`` knows it in every area.
    by
        The public column whose values are the areas; everything is published for each area separately.
    rng
        Seed of everything; an area's own follows from it and the area's name.
    processes, cluster
        How many areas are measured at once here, or the address of a Dask scheduler; the numbers depend on
        neither.
    work
        A folder where finished areas are kept, so that a run that was stopped continues there.
    progress
        Called with (areas done, areas in all) after each.

    Examples
    --------
    >>> import numpy as np
    >>> from tellall.statistics.marginals import Marginals
    >>> draw = np.random.default_rng(0)
    >>> frame = {f"a{j}": draw.integers(0, 2, 80) for j in range(7)}
    >>> frame |= {"town": ["x", "y"] * 40, "ill": np.arange(80) // 2 % 2}
    >>> people = Dataset.from_frame(frame, secret="ill")
    >>> found = sweep_areas(people, Marginals(3), [None], by="town", decoders=["least-squares"])
    >>> [(area.name, area.people) for area in found.areas], found.people
    ([('x', 40), ('y', 40)], 80)
    """
    areas, seed = areas_of(dataset, by), seed_of(rng)
    codes = sensitive_codes(dataset, sensitive)
    options: dict[str, Any] = {
        "protections": protections,
        "scales": scales,
        "repeats": repeats,
        "decoders": decoders,
        "attacker": attacker.in_areas(by),
        "stream": stream,
        "limit": limit,
        "exposed_limit": exposed_limit,
        "sensitive": None if codes is None else [dataset.meaning[int(code)] for code in codes],
    }
    workers = Workers(processes, cluster)
    found = each_area(
        "sweep", _sweep_area, areas, statistic, seed, options, workers, work, progress, parse=Sweep.from_plain
    )
    swept = _told([_swept(area, seed, piece) for area, piece in found])
    if all(area.sweep is None for area in swept):
        raise nothing_found(by, [(area.n, why) for area, why in found if isinstance(why, NotDone)])
    limits = Limits(limit, exposed_limit, codes)
    return _sweep_of_all(by, _worst_first(swept), [area.sweep for area in swept if area.sweep], seed, limits)


def calibrate_areas(
    dataset: Dataset,
    statistic: Asked,
    family: object,
    max_advantage: float,
    *,
    by: str,
    exposed_limit: int | None = 0,
    sensitive: Sequence[str] | None = None,
    draws: int = 50,
    tolerance: float = 0.05,
    evaluations: int = 15,
    start: float | None = None,
    decoders: Sequence[str] | None = None,
    attacker: Attacker = INSIDER,
    rng: Rng = 0,
    stream: int = 0,
    processes: int = 1,
    cluster: str | None = None,
    work: str | Path | None = None,
    progress: Progress | None = None,
) -> AreaCalibration:
    """The least noise of a family for each area, and what one noise for all of them achieves.

    Parameters
    ----------
    dataset, statistic, family, max_advantage, exposed_limit, sensitive, draws, tolerance, evaluations, start
        As for `calibrate`; an area's own calibration with its seed gives the same answer.
    by, decoders, attacker, rng, stream, processes, cluster, work, progress
        As for :func:`sweep_areas`; each area is worked on twice, and counts twice.

    Notes
    -----
    With few people, a small advantage cannot be told from none; where everybody has the same secret, there is
    none. Such areas have no answer of their own. The noise for all areas is the largest that any area with an
    answer needs; it is then measured on every area, including those without an answer, and added up over all
    people. If their advantage surely exceeds the limit, the result is not ``enough``, and says so.
    """
    areas = areas_of(dataset, by)
    seed = seed_of(rng)
    kind = as_family(family)
    codes = sensitive_codes(dataset, sensitive)
    options: dict[str, Any] = {
        "family": kind,
        "max_advantage": max_advantage,
        "exposed_limit": exposed_limit,
        "sensitive": None if codes is None else [dataset.meaning[int(code)] for code in codes],
        "draws": draws,
        "tolerance": tolerance,
        "evaluations": evaluations,
        "start": start,
        "decoders": decoders,
        "attacker": attacker.in_areas(by),
        "stream": stream,
    }
    workers = Workers(processes, cluster)
    first, second = halves(progress)
    with part_of_work(0, _SCALES + 1, _SCALES):
        found = each_area(
            "calibrate",
            _calibrate_area,
            areas,
            statistic,
            seed,
            options,
            workers,
            work,
            first,
            parse=_parsed_answer,
            unanswerable=lambda area: few_people(area) or same_secret(area),
        )
    answers = [_calibrated(area, seed, piece) for area, piece in found]
    missing = [(area.n, why) for area, why in found if isinstance(why, NotDone)]
    answered = [area.answer for area in answers if area.answer is not None]
    if not answered:
        raise nothing_found(by, missing)
    most = max(answered, key=lambda answer: answer.scale)
    with part_of_work(_SCALES, _SCALES + 1):
        swept = sweep_areas(
            dataset,
            statistic,
            [list(kind.at(most.scale)) or None],
            by=by,
            repeats=draws,
            decoders=decoders,
            limit=max_advantage,
            exposed_limit=exposed_limit,
            sensitive=sensitive,
            attacker=attacker,
            rng=seed,
            stream=stream,
            processes=processes,
            cluster=cluster,
            work=work if work is None else Path(work) / "all",
            progress=second,
        )
    ordered = sorted(
        answers,
        key=lambda one: (one.answer is None, -one.answer.scale if one.answer else 0.0, one.name),
    )
    whole = AreaCalibration(
        by=by,
        family=kind.name,
        scale=most.scale,
        protection=most.protection,
        max_advantage=max_advantage,
        statistic=swept.statistic,
        people=swept.people,
        units=swept.units,
        seed=swept.seed,
        together=max(swept.rows, key=lambda row: row.advantage),
        exposed=max(row.exposed for row in swept.rows),
        learnt=max(row.learnt for row in swept.rows),
        warnings=(NO_GUARANTEE, *_of_decisive(ordered[0])),
        areas=tuple(ordered),
        swept=swept,
        missing=tuple(why for _, why in missing),
    )
    if whole.enough:
        return whole
    said, *others = whole.warnings
    return replace(whole, warnings=(said, not_enough(whole), *others))


def _of_decisive(area: CalibratedArea) -> list[str]:
    """What to keep in mind about the area that needs most, in sentences."""
    said = () if area.calibration is None else area.calibration.warnings
    who = f"{area_name(area.name)}, the area that needs most: "
    return [f"{who}{sentence}" for sentence in said if sentence != NO_GUARANTEE]


def not_enough(found: AreaCalibration) -> str:
    """That one noise is not enough for all people, in a sentence."""
    rows = [found.together] if found.swept is None else found.swept.rows
    highest = max(rows, key=lambda row: row.low)
    return (
        f"This is not enough: over all {found.people:,} people the advantage of {highest.decoder} is at "
        f"least {amount(highest.low, False)}, above the limit of {amount(found.max_advantage, False)}, "
        "because areas without an answer of their own need more. Use more noise, or larger areas."
    )


def _swept(area: Area, seed: int, piece: Sweep | NotDone) -> SweptArea:
    reason, sweep = (piece.reason, None) if isinstance(piece, NotDone) else (None, piece)
    return SweptArea(name=area.name, people=area.n, seed=area.seed(seed), reason=reason, sweep=sweep)


def _calibrated(area: Area, seed: int, piece: Calibration | NotDone) -> CalibratedArea:
    known = CalibratedArea(name=area.name, people=area.n, seed=area.seed(seed))
    if isinstance(piece, NotDone):
        return replace(known, reason=piece.reason)
    return replace(known, answer=AreaAnswer.of(piece), calibration=piece)


def _told(areas: Sequence[SweptArea]) -> list[SweptArea]:
    """The areas with their rows, in which people are counted as far as that names nobody."""
    exact = [[] if area.sweep is None else list(area.sweep.rows) for area in areas]
    counts = [
        [
            {"which": (row.protection, row.decoder), "exposed": row.exposed, "learnt": row.learnt}
            for row in rows
        ]
        for rows in exact
    ]
    told = told_of_areas([area.people for area in areas], counts, ("which",), ("exposed", "learnt"))
    return [
        replace(
            area,
            rows=tuple(
                same_fields(AreaRow, row, exposed=said["exposed"], learnt=said["learnt"])
                for row, said in zip(rows, words, strict=True)
            ),
        )
        for area, rows, words in zip(areas, exact, told, strict=True)
    ]


def _sweep_area(payload: tuple[Dataset, Asked, int, Mapping[str, Any]]) -> dict[str, Any]:
    """One area's sweep as plain data; what a worker runs."""
    dataset, statistic, seed, options = payload
    return sweep(dataset, statistic, rng=seed, **options).to_plain()


def _calibrate_area(payload: tuple[Dataset, Asked, int, Mapping[str, Any]]) -> dict[str, Any]:
    """One area's calibration as plain data, or why it has none; what a worker runs."""
    dataset, statistic, seed, options = payload
    try:
        return calibrate(dataset, statistic, rng=seed, **options).as_json()
    except TooLittlePower as error:
        return {"code": "people", "unanswered": str(error)}
    except NoAnswer as error:
        return {"code": "limit", "unanswered": str(error)}


def _parsed_answer(piece: dict[str, Any]) -> Calibration | NotDone:
    """An area's calibration, or why it has none; a piece that is neither is refused."""
    if "unanswered" in piece:
        return unanswered(str(piece["code"]), str(piece["unanswered"]))
    return read(Calibration, piece, what="calibration")


def _sweep_of_all(
    by: str, areas: tuple[SweptArea, ...], found: Sequence[Sweep], seed: int, limits: Limits
) -> AreaSweep:
    """All people of all areas as one sweep, beside each area.

    An (ε, δ) that holds in every area holds for all, for one row replaced within its area. A decoder that was
    too slow for an area is replaced there by the strongest that was tried.
    """
    by_choice: dict[tuple[str, float | None, str], list[dict[str, tuple[SweepRow, Outcome]]]] = {}
    for one in found:
        measured: dict[tuple[str, float | None, str], dict[str, tuple[SweepRow, Outcome]]] = {}
        for row, outcome in zip(one.rows, one.outcomes, strict=True):
            measured.setdefault(row.choice, {})[row.decoder] = (row, outcome)
        for choice, each in measured.items():
            by_choice.setdefault(choice, []).append(each)
    rows: list[SweepRow] = []
    outcomes: list[Outcome] = []
    for (family, scale, _), several in by_choice.items():
        decoders = list(dict.fromkeys(name for each in several for name in each))
        stds = [next(iter(each.values()))[0].std for each in several]
        known = [std for std in stds if std is not None]
        std = sum(known) / len(stds) if len(known) == len(stds) else float("nan")
        summed = []
        for decoder in decoders:
            parts = [
                each.get(decoder) or max(each.values(), key=lambda pair: pair[1].advantage)
                for each in several
            ]
            whole = add_up([outcome for _, outcome in parts], len(parts), tried=len(decoders))
            summed.append(replace(whole, asked=decoder))
        rows += rows_of(family, scale, std, summed, limits)
        outcomes += summed
    skipped = Counter(left_out for one in found for left_out in one.skipped)
    return AreaSweep(
        statistic=found[0].statistic,
        people=sum(one.people for one in found),
        units=found[0].units,
        seed=seed,
        secret=found[0].secret,
        real=found[0].real,
        untried=tuple(dict.fromkeys(name for one in found for name in one.untried)),
        rows=marked(rows),
        skipped=tuple(
            replace(one, reason=f"in {count_of(count, 'area')}: {one.reason}")
            for one, count in skipped.items()
        ),
        outcomes=tuple(outcomes),
        by=by,
        areas=areas,
    )


def _worst_first(areas: Sequence[SweptArea]) -> tuple[SweptArea, ...]:
    """The areas, those that surely give away most first; those not measured come last.

    The order is by the lower end of the worst row's interval. By the advantage itself the smallest areas
    would come first, where luck is largest.
    """

    def rank(area: SweptArea) -> tuple[object, ...]:
        if area.sweep is None:
            return (1, 0.0, 0.0, area.name)
        worst = max(area.sweep.rows, key=lambda row: (row.advantage, row.low))
        return (0, -worst.low, -worst.advantage, area.name)

    return tuple(sorted(areas, key=rank))
