"""calibrate: the least noise that keeps every decoder's advantage under a limit."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tellall.core.checks import above_zero, whole
from tellall.core.errors import NoAnswer, TooLittlePower, invalid
from tellall.experiment.calibration import NO_GUARANTEE, Calibration, Evaluation, amount
from tellall.experiment.families import Family, as_family, least_scale
from tellall.experiment.measurement import Measurement, untried_decoders
from tellall.experiment.prepared import Prepared
from tellall.people.dataset import Dataset
from tellall.release.protections.base import noise_of, prepare
from tellall.release.protections.law import Rng
from tellall.release.statistics.base import Statistic

__all__ = [
    "calibrate",
]

_FEWEST = 8  # evaluations that a search needs to bracket and to halve


def calibrate(
    dataset: Dataset,
    statistic: Statistic,
    family: Any,
    max_advantage: float,
    *,
    draws: int = 50,
    tolerance: float = 0.05,
    evaluations: int = 15,
    start: float | None = None,
    decoders: Sequence[str] | None = None,
    rng: Rng = 0,
    progress: Callable[[int, int], object] | None = None,
) -> Calibration:
    """The least noise of a family at which every decoder's advantage stays under the limit.

    Parameters
    ----------
    dataset, statistic
        The people with their secret, and what would be published about them.
    family
        A class such as ``Gaussian`` (see `as_family`), its name, or a function
        from a scale to a protection.
    max_advantage
        The most that attacks may gain over the strongest baseline: a share of the people, or of a real secret
        the mean absolute error in its own unit.
    draws
        Draws of the noise at each scale, the same random numbers at every scale.
    tolerance
        How much smaller, relatively, a scale that fails may be than the answer.
    evaluations
        The most scales measured.
    start
        The first scale; where not given, noise as large as half a person's norm in the equations.
    decoders
        Their names; where not given, every decoder that is affordable for so many people.
    progress
        Called with (scales measured, the most there can be) after each.

    Notes
    -----
    A scale passes where the upper end of the 95 % interval of the advantage (paired bootstrap over people and
    draws) is at most the limit, for every decoder; where one fails the slower ones are not tried. The search
    brackets on the log scale and bisects (`least_scale`). The answer itself has
    passed; that it is the least rests on more noise being safer, which holds for additive noise and roughly
    for rounding.

    Examples
    --------
    >>> import numpy as np
    >>> from tellall.release.protections.additive import Gaussian
    >>> from tellall.release.statistics.marginals import Marginals
    >>> rng = np.random.default_rng(0)
    >>> people = Dataset.from_arrays(rng.integers(0, 2, (60, 8)), secret=np.arange(60) % 2)
    >>> found = calibrate(people, Marginals(3), Gaussian, 0.25, draws=10)
    >>> found.interval[1] <= 0.25 and found.evaluations <= 15
    True
    """
    limit = above_zero("max_advantage", max_advantage)
    above_zero("tolerance", tolerance)
    whole("draws", draws)
    whole("evaluations", evaluations, _FEWEST)
    ready, kind = Prepared.of(dataset, statistic, decoders, rng), as_family(family)
    if limit >= 1 and not ready.real:
        raise invalid("max_advantage", "a share above 0 and below 1", max_advantage)
    first = _start(ready, kind) if start is None else above_zero("start", start)
    seen: dict[float, Measurement] = {}
    history: list[Evaluation] = []

    def passes(scale: float) -> bool:
        seen[scale] = found = ready.measure(kind.at(scale), draws, limit=limit)
        history.append(_evaluation(scale, found, limit))
        if progress:
            progress(len(history), evaluations)
        return history[-1].passed

    scale = least_scale(passes, first, most=kind.most, tolerance=tolerance, tries=evaluations)
    if scale is None:
        raise _hopeless(history, limit, kind, dataset.n)
    chosen = kind.at(scale)
    return Calibration(
        protection=chosen[0] if len(chosen) == 1 else list(chosen) or None,
        family=kind.name,
        scale=scale,
        max_advantage=limit,
        measurement=seen[scale],
        history=tuple(history),
        draws=draws,
        statistic=ready.statistic.describe(),
        people=dataset.n,
        units=ready.units,
        seed=ready.seed,
        real=ready.real,
        secret=dataset.secret_name,
        warnings=(
            NO_GUARANTEE,
            *_too_fine(history, limit, dataset.n, ready.real),
            *untried_decoders(ready.untried, dataset.n),
        ),
    )


def _evaluation(scale: float, found: Measurement, limit: float) -> Evaluation:
    worst = found.worst
    passed = worst.interval[1] <= limit
    return Evaluation(
        scale, worst.decoder, worst.accuracy, worst.advantage, worst.interval, found.loss, passed
    )


def _start(ready: Prepared, family: Family) -> float:
    """The scale whose noise is as large as half a person's norm in the equations."""
    unit = min(1.0, family.most)
    std = noise_of(prepare(family.at(unit), ready.statistic, ready.dataset.public)).std
    start = ready.reach / std * unit if std > 0 and math.isfinite(std) else ready.reach
    return min(start if start > 0 else 1.0, family.most)


def _unresolved(history: Sequence[Evaluation], limit: float) -> list[float]:
    """Half the widths, above the limit itself, of intervals that hold zero and kept a scale from passing."""
    failed = (one for one in history if not one.passed and one.interval[0] <= 0)
    return [half for one in failed if (half := one.interval[1] - one.advantage) > limit]


def _too_fine(history: Sequence[Evaluation], limit: float, n: int, real: bool) -> list[str]:
    halves = _unresolved(history, limit)
    if not halves:
        return []
    least = amount(max(halves), real)
    return [
        f"{n:,} people tell an advantage only to within ±{least}: the noise is set by that, "
        f"not by the attack; take a limit above {least}, or more people."
    ]


def _hopeless(history: Sequence[Evaluation], limit: float, family: Family, n: int) -> NoAnswer:
    halves = _unresolved(history, limit)
    if halves:
        rule = f"above {max(halves):.3g}, what {n:,} people can resolve"
        return TooLittlePower(str(invalid("max_advantage", rule, limit)))
    last = max(history, key=lambda one: one.scale)
    rule = (
        f"one that {family.name} can keep; at scale {last.scale:.4g} the advantage is "
        f"{last.advantage:.3g} [{last.interval[0]:.3g}, {last.interval[1]:.3g}]"
    )
    return NoAnswer(str(invalid("max_advantage", rule, limit, "Try another family or a larger start.")))
