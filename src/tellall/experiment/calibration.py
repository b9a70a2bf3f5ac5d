"""What a calibration found: the least noise, what it leaves and costs, and every scale that was tried."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from tellall.experiment.measurement import Measurement
from tellall.experiment.utility import Utility
from tellall.release.protections.base import Protection
from tellall.release.protections.guarantee import Guarantee

__all__ = [
    "NO_GUARANTEE",
    "Calibration",
    "Evaluation",
    "amount",
]

NO_GUARANTEE = (
    "Noise that stops today's attacks is no guarantee against tomorrow's; "
    "only the (ε, δ) of differential privacy is one."
)


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
    def exposed(self) -> float:
        """The most people that any decoder exposes there; not a number for a real secret."""
        return max(outcome.exposed for outcome in self.measurement.outcomes)

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
            "exposed": _finite(self.exposed),
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
        point, low, high = (amount(v, self.real, "+") for v in (worst.advantage, *worst.interval))
        done = "none is needed" if self.protection is None else self.measurement.label
        promise = "no differential privacy is promised" if self.guarantee is None else str(self.guarantee)
        models = self.measurement.coefficients
        limit = amount(self.max_advantage, self.real) + (
            f", in the unit of {self.secret}" if self.real else ""
        )
        return "\n".join(
            [
                f"Least noise for an advantage of at most {limit}{self._by}: {done}",
                f"  advantage {point} [{low}, {high}] of {worst.decoder}, over {_draws(worst.draws)}",
                f"  utility: {self.utility}{'' if models is None else f'; {models}'}",
                f"  guarantee: {promise}",
                f"  {self.evaluations} scales measured",
                *(f"  {sentence}" for sentence in self.warnings),
            ]
        )

    __repr__ = __str__


def amount(value: float, real: bool, sign: str = "") -> str:
    """An advantage in words: a share of people, or a number in the secret's unit."""
    return f"{value:{sign}.3g}" if real else f"{value:{sign}.1%}"


def _draws(count: int) -> str:
    return f"{count:,} {'draw' if count == 1 else 'draws'}"


def _finite(value: float) -> float | None:
    return value if isinstance(value, int) or math.isfinite(value) else None
