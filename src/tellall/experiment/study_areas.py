"""Sweeps and calibrations by area: each area alone, and all people together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tellall.core.amounts import amount, count_of, counted, digits, points
from tellall.core.errors import NoAnswer, TooLittlePower
from tellall.core.jobs import Workers
from tellall.core.work import Progress, halves
from tellall.experiment.areas import (
    NoOwnAnswer,
    areas_of,
    count_unanswered,
    each_area,
    few_people,
    nothing_found,
    same_secret,
)
from tellall.experiment.calibrate import NO_GUARANTEE, calibrate
from tellall.experiment.families import as_family
from tellall.experiment.measures.disclosure import told_of_areas
from tellall.experiment.outcome import Outcome, add_up
from tellall.experiment.plans.attacker import INSIDER, Attacker
from tellall.experiment.sweep import Sweep, mark_frontier, rows_of, sweep
from tellall.experiment.trial import seed_of
from tellall.experiment.verdict import Limits, area_name, sensitive_codes
from tellall.people.areas import Area
from tellall.people.dataset import Dataset
from tellall.release.protections.protection import Rng
from tellall.release.statistics.base import Statistic

__all__ = ["AreaCalibration", "AreaSweep", "calibrate_areas", "sweep_areas"]

_AREA_ROW = (
    "protection",
    "decoder",
    "accuracy",
    "baseline",
    "baseline_accuracy",
    "advantage",
    "low",
    "high",
    "exposed",
    "learnt",
    "loss",
    "verdict",
)
_ANSWER = (
    "scale",
    "protection",
    "decoder",
    "accuracy",
    "baseline",
    "baseline_accuracy",
    "advantage",
    "interval",
    "loss",
    "evaluations",
)


@dataclass(frozen=True, eq=False)
class StudiedArea:
    """One area's sweep or calibration, or the reason it has neither; ``seed`` is that of the area alone."""

    name: str
    people: int
    seed: int
    sweep: Sweep | None = None
    answer: dict[str, Any] | None = None
    reason: str | None = None

    def as_json(self) -> dict[str, Any]:
        """The area as plain data."""
        return {"name": self.name, "people": self.people, "seed": self.seed, "reason": self.reason}


@dataclass(frozen=True, eq=False, repr=False)
class AreaSweep:
    """Privacy and utility of protections in many areas.

    Attributes
    ----------
    by
        The column whose values are the areas.
    whole
        All people of all areas together: a sweep whose counts add up over areas.
    areas
        Each area's own sweep, the worst first; areas without one come last.
    """

    by: str
    whole: Sweep
    areas: tuple[StudiedArea, ...]

    def as_json(self) -> dict[str, Any]:
        """The sweep as plain data; people of an area are counted as far as that names nobody."""
        found = [
            [{name: row[name] for name in _AREA_ROW} for row in (area.sweep.rows if area.sweep else ())]
            for area in self.areas
        ]
        sizes = [area.people for area in self.areas]
        told = told_of_areas(sizes, found, ("protection", "decoder"), ("exposed", "learnt"))
        rows = [{**area.as_json(), "rows": one} for area, one in zip(self.areas, told, strict=True)]
        return {**self.whole.as_json(), "by": self.by, "areas": rows}

    def __str__(self) -> str:
        missing = sum(area.sweep is None for area in self.areas)
        left_out = f", {missing:,} of them not measured" if missing else ""
        areas = count_of(len(self.areas), "area")
        return f"{self.whole.people:,} people in {areas} by {area_name(self.by)}{left_out}\n{self.whole}"

    __repr__ = __str__


@dataclass(frozen=True, eq=False, repr=False)
class AreaCalibration:
    """The least noise of a family in many areas.

    Attributes
    ----------
    by
        The column whose values are the areas.
    scale, protection
        The largest noise that an area with an answer needs: one noise for all areas.
    together
        What that noise achieves and costs, in every area and for all people.
    areas
        The answer of each area, those that need most noise first, those without an answer last.
    missing
        Why the areas without an answer have none.
    """

    by: str
    family: str
    scale: float
    protection: str
    max_advantage: float
    together: AreaSweep
    areas: tuple[StudiedArea, ...]
    missing: tuple[NoOwnAnswer, ...] = ()

    @property
    def enough(self) -> bool:
        """Whether that noise is enough: False if the advantage over all people surely exceeds the limit."""
        return all(row["low"] <= self.max_advantage for row in self.together.whole.rows)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What to keep in mind about that noise and the area that needs most, in sentences."""
        decisive = self.areas[0]
        said = [] if decisive.answer is None else decisive.answer["warnings"]
        who = f"{area_name(decisive.name)}, the area that needs most: "
        found = tuple(f"{who}{sentence}" for sentence in said if sentence != NO_GUARANTEE)
        return found if self.enough else (self._not_enough(), *found)

    def _not_enough(self) -> str:
        whole, highest = self.together.whole, max(self.together.whole.rows, key=lambda row: row["low"])
        return (
            f"This is not enough: over all {whole.people:,} people the advantage of {highest['decoder']} is "
            f"at least {amount(highest['low'], False)}, above the limit of "
            f"{amount(self.max_advantage, False)}, because areas "
            "without an answer of their own need more. Use more noise, or larger areas."
        )

    @property
    def worst(self) -> dict[str, Any]:
        """The row of all people together, at that noise, of the strongest decoder."""
        return max(self.together.whole.rows, key=lambda row: row["advantage"])

    def as_json(self) -> dict[str, Any]:
        """The calibration as plain data."""
        whole = self.together.whole
        return {
            "by": self.by,
            "family": self.family,
            "scale": self.scale,
            "protection": self.protection,
            "max_advantage": self.max_advantage,
            "statistic": whole.statistic,
            "people": whole.people,
            "units": whole.units,
            "seed": whole.seed,
            "together": dict(self.worst),
            "exposed": max(row["exposed"] for row in whole.rows),
            "learnt": max(row["learnt"] for row in whole.rows),
            "warnings": [NO_GUARANTEE, *self.warnings],
            "areas": [
                {
                    **area.as_json(),
                    "answer": None if area.answer is None else {name: area.answer[name] for name in _ANSWER},
                }
                for area in self.areas
            ],
        }

    def __str__(self) -> str:
        worst, answered = self.worst, sum(area.answer is not None for area in self.areas)
        needed = self.protection if self.scale else "none is needed" if self.enough else "none was found"
        lines = [
            f"One noise for {count_of(answered, 'area')} by {area_name(self.by)}, "
            f"for an advantage of at most {amount(self.max_advantage, False)} in each: {needed}",
            f"  over all {self.together.whole.people:,} people: advantage "
            f"{amount(worst['advantage'], False, '+')} [{points(worst['low'])}, {points(worst['high'])}] "
            f"of {worst['decoder']}, {counted(worst['exposed'])} "
            f"exposed, mean error {digits(worst['loss'])}",
        ]
        lines += [
            f"  {area_name(area.name)}: {area.answer['protection'] if area.answer['scale'] else 'none'}"
            for area in self.areas[:5]
            if area.answer is not None
        ]
        lines += [f"  {sentence}" for sentence in (*self.warnings, NO_GUARANTEE)]
        if self.missing:
            lines.append(f"  no answer of their own: {count_unanswered(self.missing)}")
        return "\n".join(lines)

    __repr__ = __str__


def sweep_areas(
    dataset: Dataset,
    statistic: Statistic,
    protections: Any,
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
    >>> from tellall.release.statistics.marginals import Marginals
    >>> draw = np.random.default_rng(0)
    >>> frame = {f"a{j}": draw.integers(0, 2, 80) for j in range(7)}
    >>> frame |= {"town": ["x", "y"] * 40, "ill": np.arange(80) // 2 % 2}
    >>> people = Dataset.from_frame(frame, secret="ill")
    >>> found = sweep_areas(people, Marginals(3), [None], by="town", decoders=["least-squares"])
    >>> [(area.name, area.people) for area in found.areas], found.whole.people
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
    swept = [_studied(area, seed, piece) for area, piece in found]
    if all(area.sweep is None for area in swept):
        raise nothing_found(by, [(area.n, why) for area, why in found if isinstance(why, NoOwnAnswer)])
    limits = Limits(limit, exposed_limit, codes)
    whole = _sweep_of_all([area.sweep for area in swept if area.sweep is not None], seed, limits)
    return AreaSweep(by, whole, _worst_first(swept))


def calibrate_areas(
    dataset: Dataset,
    statistic: Statistic,
    family: Any,
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
    areas, seed, kind = areas_of(dataset, by), seed_of(rng), as_family(family)
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
    answers = [_studied(area, seed, piece) for area, piece in found]
    missing = [(area.n, why) for area, why in found if isinstance(why, NoOwnAnswer)]
    answered = [area.answer for area in answers if area.answer is not None]
    if not answered:
        raise nothing_found(by, missing)
    most = max(answered, key=lambda answer: answer["scale"])
    together = sweep_areas(
        dataset,
        statistic,
        [list(kind.at(most["scale"])) or None],
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
        answers, key=lambda one: (one.answer is None, -(one.answer or {"scale": 0.0})["scale"], one.name)
    )
    return AreaCalibration(
        by,
        kind.name,
        most["scale"],
        str(most["protection"]),
        max_advantage,
        together,
        tuple(ordered),
        tuple(why for _, why in missing),
    )


def _studied(area: Area, seed: int, piece: Sweep | dict[str, Any] | NoOwnAnswer) -> StudiedArea:
    known = StudiedArea(area.name, area.n, area.seed(seed))
    if isinstance(piece, NoOwnAnswer):
        return replace(known, reason=piece.reason)
    return replace(known, sweep=piece) if isinstance(piece, Sweep) else replace(known, answer=piece)


def _sweep_area(payload: tuple[Dataset, Statistic, int, Mapping[str, Any]]) -> dict[str, Any]:
    """One area's sweep as plain data; what a worker runs."""
    dataset, statistic, seed, options = payload
    return sweep(dataset, statistic, rng=seed, **options).to_plain()


def _calibrate_area(payload: tuple[Dataset, Statistic, int, Mapping[str, Any]]) -> dict[str, Any]:
    """One area's calibration as plain data, or why it has none; what a worker runs."""
    dataset, statistic, seed, options = payload
    try:
        return calibrate(dataset, statistic, rng=seed, **options).as_json()
    except TooLittlePower as error:
        return {"kind": "people", "unanswered": str(error)}
    except NoAnswer as error:
        return {"kind": "limit", "unanswered": str(error)}


def _parsed_answer(piece: dict[str, Any]) -> dict[str, Any] | NoOwnAnswer:
    """An area's calibration, or why it has none; a piece that is neither is refused."""
    if "unanswered" in piece:
        return NoOwnAnswer(str(piece["kind"]), str(piece["unanswered"]))
    _ = {name: piece[name] for name in (*_ANSWER, "warnings")}
    return piece


def _sweep_of_all(found: Sequence[Sweep], seed: int, limits: Limits) -> Sweep:
    """All people of all areas as one sweep.

    An (ε, δ) that holds in every area holds for all, for one row replaced within its area. A decoder that was
    too slow for an area is replaced there by the strongest that was tried.
    """
    by_choice: dict[tuple[Any, ...], list[dict[str, tuple[dict[str, Any], Outcome]]]] = {}
    for one in found:
        measured: dict[tuple[Any, ...], dict[str, tuple[dict[str, Any], Outcome]]] = {}
        for row, outcome in zip(one.rows, one.outcomes, strict=True):
            key = (row["family"], row["scale"], row["protection"])
            measured.setdefault(key, {})[row["decoder"]] = (row, outcome)
        for key, each in measured.items():
            by_choice.setdefault(key, []).append(each)
    rows: list[dict[str, Any]] = []
    outcomes: list[Outcome] = []
    for (family, scale, _), areas in by_choice.items():
        decoders = list(dict.fromkeys(name for one in areas for name in one))
        stds = [next(iter(one.values()))[0]["std"] for one in areas]
        std = float("nan") if any(value is None for value in stds) else sum(stds) / len(stds)
        summed = []
        for decoder in decoders:
            parts = [
                one.get(decoder) or max(one.values(), key=lambda pair: pair[1].advantage) for one in areas
            ]
            whole = add_up([outcome for _, outcome in parts], len(parts), tried=len(decoders))
            summed.append(replace(whole, asked=decoder))
        rows += rows_of(family, scale, std, summed, limits)
        outcomes += summed
    mark_frontier(rows)
    skipped = Counter(pair for one in found for pair in one.skipped)
    return Sweep(
        tuple(rows),
        found[0].statistic,
        sum(one.people for one in found),
        found[0].units,
        seed,
        tuple((name, f"in {count_of(count, 'area')}: {why}") for (name, why), count in skipped.items()),
        found[0].real,
        tuple(outcomes),
        tuple(dict.fromkeys(name for one in found for name in one.untried)),
        found[0].secret,
    )


def _worst_first(areas: Sequence[StudiedArea]) -> tuple[StudiedArea, ...]:
    """The areas, those that surely give away most first; those not measured come last.

    The order is by the lower end of the worst row's interval. By the advantage itself the smallest areas
    would come first, where luck is largest.
    """

    def rank(area: StudiedArea) -> tuple[Any, ...]:
        if area.sweep is None:
            return (1, 0.0, 0.0, area.name)
        worst = max(area.sweep.rows, key=lambda row: (row["advantage"], row["low"]))
        return (0, -worst["low"], -worst["advantage"], area.name)

    return tuple(sorted(areas, key=rank))
