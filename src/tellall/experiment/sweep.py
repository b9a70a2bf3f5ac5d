"""sweep: privacy and utility of many protections, at many scales, over many draws of the noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from tellall.core.checks import whole
from tellall.core.errors import TellallError, invalid
from tellall.core.jobs import Failed, Progress, Task, Workers, run
from tellall.experiment.families import NAMELESS, Family, as_family, check_scales
from tellall.experiment.measurement import Measurement, Outcome, frontier
from tellall.experiment.prepared import Prepared
from tellall.experiment.sweep_table import Sweep
from tellall.people.dataset import Dataset
from tellall.release.protections.base import Protection, as_protections
from tellall.release.protections.law import Rng
from tellall.release.statistics.base import Statistic

__all__ = [
    "sweep",
]


def sweep(
    dataset: Dataset,
    statistic: Statistic,
    protections: Any,
    *,
    scales: Sequence[float] | None = None,
    repeats: int = 10,
    decoders: Sequence[str] | None = None,
    rng: Rng = 0,
    processes: int = 1,
    cluster: str | None = None,
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
        Draws of the noise for each protection; one where nothing in it is random.
    decoders
        Their names; where not given, every decoder that is affordable for so many people.
    rng
        Seed of everything; the same draws are used for every protection and scale.
    processes
        How many protections are measured at once, −1 for one per core; the numbers do not depend on it.
    cluster
        The address of a Dask scheduler, ``tcp://host:port``, to measure them there; the people go there too.
    progress
        Called with (protections done, protections in all) after each.

    Notes
    -----
    One eigendecomposition serves all additive noise (see `Together`). The
    population baseline is made once per protection. Intervals are paired bootstraps over people and draws.

    Examples
    --------
    >>> import numpy as np
    >>> from tellall.release.protections.additive import Gaussian
    >>> from tellall.release.statistics.marginals import Marginals
    >>> rng = np.random.default_rng(0)
    >>> people = Dataset.from_arrays(rng.integers(0, 2, (40, 8)), secret=np.arange(40) % 2)
    >>> found = sweep(people, Marginals(3), [Gaussian], scales=[1, 30], repeats=4)
    >>> found.rows[0]["advantage"] > found.rows[1]["advantage"]
    True
    """
    whole("repeats", repeats)
    workers = Workers(processes, cluster)
    ready = Prepared.of(dataset, statistic, decoders, rng)
    chosen = _choices(protections, scales)
    if progress:
        progress(0, len(chosen))
    measured: list[tuple[_Choice, Measurement]] = []
    skipped = []
    for done, (choice, found) in enumerate(
        zip(chosen, _measure_all(ready, chosen, repeats, workers), strict=True), start=1
    ):
        if isinstance(found, Measurement):
            measured.append((choice, found))
        else:
            skipped.append((choice.name, found))
        if progress:
            progress(done, len(chosen))
    if not measured:
        raise invalid("protections", "some that fit the statistic", skipped[0][0], skipped[0][1])
    rows = [_row(choice, found, outcome) for choice, found in measured for outcome in found.outcomes]
    # no attack is weaker than one that gains nothing
    best = frontier([(max(found.worst.advantage, 0.0), found.loss) for _, found in measured])
    marked = {(place, found.worst.decoder) for place, (_, found) in enumerate(measured) if best[place]}
    places = [place for place, (_, found) in enumerate(measured) for _ in found.outcomes]
    for place, row in zip(places, rows, strict=True):
        row["frontier"] = (place, row["decoder"]) in marked
    settled = ready.statistic
    return Sweep(
        tuple(rows),
        settled.describe(),
        dataset.n,
        ready.units,
        ready.seed,
        tuple(skipped),
        ready.real,
        tallies=tuple(outcome.tally for _, found in measured for outcome in found.outcomes),
        untried=ready.untried,
        secret=dataset.secret_name,
    )


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


def _choices(protections: Any, scales: Sequence[float] | None) -> list[_Choice]:
    """Every protection to measure; nothing done at all is measured once."""
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


def _is_family(one: Any) -> bool:
    if isinstance(one, str | type | Family):
        return True
    return callable(one) and not isinstance(one, Protection)


def _measure_all(ready: Prepared, chosen: Sequence[_Choice], repeats: int, workers: Workers) -> Any:
    """The measurement of each choice in order, or why there is none."""
    if workers.cluster is not None:
        ready.warm_baselines()  # made once, here; what noise shares is too large to send to every task
    elif workers.processes != 1 and len(chosen) > 1:
        ready.warm_baselines()  # made once, here, and sent to the workers
        ready.warm([choice.protections for choice in chosen])
    tasks = [Task(choice.name, partial(tuple, (ready, choice, repeats))) for choice in chosen]
    early: dict[int, Measurement | str] = {}
    following = 0
    for outcome in run(_measure, tasks, workers=workers):
        early[outcome.index] = outcome.reason if isinstance(outcome, Failed) else outcome.piece
        while following in early:
            yield early.pop(following)
            following += 1


def _measure(task: tuple[Prepared, _Choice, int]) -> Measurement | str:
    ready, choice, repeats = task
    try:
        return ready.measure(choice.protections, repeats)
    except TellallError as error:
        return str(error)
    except MemoryError:
        return "too little memory on this machine"


def _row(choice: _Choice, found: Measurement, outcome: Outcome) -> dict[str, Any]:
    promise, lost, read = found.guarantee, found.utility, found.coefficients
    row = {
        "family": choice.family,
        "scale": choice.scale,
        "protection": found.label,
        "std": found.std,
        "decoder": outcome.decoder,
        "draws": outcome.draws,
        "accuracy": outcome.accuracy,
        "accuracy_low": outcome.accuracy_interval[0],
        "accuracy_high": outcome.accuracy_interval[1],
        "baseline": outcome.baseline,
        "baseline_accuracy": outcome.baseline_accuracy,
        "advantage": outcome.advantage,
        "low": outcome.interval[0],
        "high": outcome.interval[1],
        "exposed": outcome.exposed,
        "loss": found.loss,
        "loss_low": found.loss_interval[0],
        "loss_high": found.loss_interval[1],
        "mean_error": lost.mean_error,
        "max_error": lost.max_error,
        "missing": lost.missing,
        "total_variation": lost.total_variation,
        "association_change": lost.association_change,
        "mae_ratio": read.mae_ratio if read else None,
        "sign_flips": read.sign_flips if read else None,
        "coverage": read.coverage if read else None,
        "epsilon": promise.epsilon if promise else None,
        "delta": promise.delta if promise else None,
    }
    return {name: None if isinstance(v, float) and not math.isfinite(v) else v for name, v in row.items()}
