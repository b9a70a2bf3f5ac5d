"""calibrate: the least noise that keeps every decoder's advantage under a limit."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tellall.data import Dataset
from tellall.errors import NoAnswer, TooLittlePower, invalid
from tellall.noise import Rng
from tellall.noise.base import above_zero
from tellall.protections import Guarantee, Protection, noise_of, prepare
from tellall.statistics import Statistic
from tellall.study.families import Family, as_family
from tellall.study.measurement import Measurement, untried_decoders
from tellall.study.prepared import Prepared
from tellall.study.search import least_scale
from tellall.utility import Utility

__all__ = ["NO_GUARANTEE", "Calibration", "Evaluation", "calibrate"]

NO_GUARANTEE = (
    "Noise that stops today's attacks is no guarantee against tomorrow's; "
    "only the (ε, δ) of differential privacy is one."
)
_FEWEST = 8  # evaluations that a search needs to bracket and to halve


@dataclass(frozen=True)
class Evaluation:
    """One scale, measured: the decoder with the highest upper limit, and whether all stay under the limit.

    At a scale that fails no decoder is tried after the first that fails.
    """

    scale: float
    decoder: str
    accuracy: float
    advantage: float
    interval: tuple[float, float]
    loss: float
    passed: bool


@dataclass(frozen=True, eq=False, repr=False)
class Calibration:
    """The least noise of a family that keeps every decoder's advantage under a limit.

    Attributes
    ----------
    protection
        The protection, a list where the family gives several, None where nothing needs to be done.
    scale
        Its scale.
    advantage, interval
        Of the decoder with the highest upper limit there, with its 95 % interval over people and draws.
    utility, loss
        What the reader loses there; the loss is the mean absolute error of a value.
    guarantee
        The (ε, δ) that the protection corresponds to, None where it promises nothing.
    evaluations
        How many scales were measured.
    history
        Each of them, in the order in which they were.
    warnings
        What to keep in mind, in sentences.
    """

    protection: Protection | list[Protection] | None
    family: str
    scale: float
    max_advantage: float
    measurement: Measurement
    history: tuple[Evaluation, ...]
    draws: int
    statistic: str
    people: int
    units: str
    seed: int
    real: bool = False
    secret: str = "secret"
    warnings: tuple[str, ...] = (NO_GUARANTEE,)

    @property
    def advantage(self) -> float:
        """The largest advantage of any decoder there."""
        return self.measurement.worst.advantage

    @property
    def interval(self) -> tuple[float, float]:
        """Its 95 % interval, over people and draws."""
        return self.measurement.worst.interval

    @property
    def utility(self) -> Utility:
        """What the reader loses there."""
        return self.measurement.utility

    @property
    def loss(self) -> float:
        """The mean absolute error of a published value there."""
        return self.measurement.loss

    @property
    def guarantee(self) -> Guarantee | None:
        """The (ε, δ) it corresponds to."""
        return self.measurement.guarantee

    @property
    def _by(self) -> str:
        """The decoder that the answer is about, where there was but one."""
        tried = [outcome.decoder for outcome in self.measurement.outcomes]
        return f" by {tried[0]}" if len(tried) == 1 else ""

    @property
    def evaluations(self) -> int:
        """How many scales were measured."""
        return len(self.history)

    def as_json(self) -> dict[str, Any]:
        """The calibration as plain data."""
        worst, lost, promise = self.measurement.worst, self.utility, self.guarantee
        read = self.measurement.coefficients
        return {
            "family": self.family,
            "scale": self.scale,
            "protection": self.measurement.label,
            "max_advantage": self.max_advantage,
            "decoder": worst.decoder,
            "accuracy": worst.accuracy,
            "baseline": worst.baseline,
            "baseline_accuracy": worst.baseline_accuracy,
            "advantage": worst.advantage,
            "interval": list(worst.interval),
            "loss": self.loss,
            "utility": {name: _finite(value) for name, value in vars(lost).items()},
            "coefficients": None
            if read is None
            else {name: _finite(value) for name, value in vars(read).items()},
            "guarantee": None
            if promise is None
            else {
                "epsilon": _finite(promise.epsilon),
                "delta": promise.delta,
                "relation": promise.relation,
                "text": promise.text,
            },
            "evaluations": self.evaluations,
            "history": [{**vars(one), "interval": list(one.interval)} for one in self.history],
            "draws": self.draws,
            "statistic": self.statistic,
            "people": self.people,
            "units": self.units,
            "secret": self.secret,
            "real": self.real,
            "seed": self.seed,
            "warnings": list(self.warnings),
        }

    def __str__(self) -> str:
        worst = self.measurement.worst
        point, low, high = (_amount(v, self.real, "+") for v in (worst.advantage, *worst.interval))
        done = "nothing needs to be done" if self.protection is None else self.measurement.label
        promise = "no differential privacy is promised" if self.guarantee is None else str(self.guarantee)
        models = self.measurement.coefficients
        limit = _amount(self.max_advantage, self.real) + (
            f", in the unit of {self.secret}" if self.real else ""
        )
        return "\n".join(
            [
                f"Least noise for an advantage of at most {limit}{self._by}: {done}",
                f"  advantage {point} [{low}, {high}] of {worst.decoder}, over {worst.draws} draws",
                f"  utility: {self.utility}{'' if models is None else f'; {models}'}",
                f"  guarantee: {promise}",
                f"  {self.evaluations} scales measured",
                *(f"  {sentence}" for sentence in self.warnings),
            ]
        )

    __repr__ = __str__


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
        A class such as ``Gaussian`` (see :func:`tellall.study.families.as_family`), its name, or a function
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
    brackets on the log scale and bisects (:func:`tellall.study.search.least_scale`). The answer itself has
    passed; that it is the least rests on more noise being safer, which holds for additive noise and roughly
    for rounding.

    Examples
    --------
    >>> import numpy as np
    >>> from tellall.noise import Gaussian
    >>> from tellall.statistics import Marginals
    >>> rng = np.random.default_rng(0)
    >>> people = Dataset.from_arrays(rng.integers(0, 2, (60, 8)), secret=np.arange(60) % 2)
    >>> found = calibrate(people, Marginals(3), Gaussian, 0.25, draws=10)
    >>> found.interval[1] <= 0.25 and found.evaluations <= 15
    True
    """
    limit = above_zero("max_advantage", max_advantage)
    above_zero("tolerance", tolerance)
    for name, count, least in (("draws", draws, 1), ("evaluations", evaluations, _FEWEST)):
        if isinstance(count, bool) or not isinstance(count, int) or count < least:
            raise invalid(name, f"a whole number of {least} or more", count)
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
    least = _amount(max(halves), real)
    return [
        f"{n:,} people tell an advantage only to within ±{least}: the noise is set by that, "
        f"not by the attack; take a limit above {least}, or more people."
    ]


def _amount(value: float, real: bool, sign: str = "") -> str:
    """An advantage in words: a share of people, or a number in the secret's unit."""
    return f"{value:{sign}.3g}" if real else f"{value:{sign}.1%}"


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


def _finite(value: float) -> float | None:
    return value if isinstance(value, int) or math.isfinite(value) else None
