"""Losses of one person's answer, and the names by which they are saved."""

from __future__ import annotations

import difflib
import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Protocol, final, runtime_checkable

import numpy as np

from tellall.core.errors import invalid
from tellall.linalg.operators.linear_operator import Array

__all__ = [
    "LOSSES",
    "FitLoss",
    "LogCosh",
    "Logistic",
    "Poisson",
    "Probit",
    "ScoreLoss",
    "Squared",
    "loss_name",
    "loss_of",
]


@runtime_checkable
class FitLoss(Protocol):
    """Anything with the gradient of a differentiable loss.

    Notes
    -----
    ``gradient(theta, x, y)`` takes k coefficients, n × k columns and n answers and returns n × k: the
    gradient of each person's loss in theta. An object may also carry ``value(theta, x, y)`` (the losses, or
    their sum), which makes fitting safer, and ``hessian(theta, x, y)`` (k × k, summed over people), which
    saves numerical differences.
    """

    def gradient(self, theta: Array, x: Array, y: Array) -> Array:
        """The gradient of each person's loss, n × k."""
        ...


class ScoreLoss(ABC):
    """A loss ℓ(t, y) of the score t = ⟨x, θ⟩: gradient ℓ′(t, y) x, Hessian Σ ℓ″(t, y) x xᵀ.

    ``steepest`` is the supremum of ℓ″ over all scores, infinite if unbounded: the gradient of
    one person's loss is Lipschitz with constant steepest · ‖x‖² (linear-reconstruction, Definition 9).
    """

    steepest: float

    @abstractmethod
    def losses(self, score: Array, y: Array) -> Array:
        """ℓ(t, y)."""

    @abstractmethod
    def slope(self, score: Array, y: Array) -> Array:
        """ℓ′(t, y), the derivative in t."""

    @abstractmethod
    def bend(self, score: Array, y: Array) -> Array:
        """ℓ″(t, y)."""

    def value(self, theta: Array, x: Array, y: Array) -> Array:
        """Each person's loss."""
        return self.losses(x @ theta, y)

    def gradient(self, theta: Array, x: Array, y: Array) -> Array:
        """The gradient of each person's loss, n × k."""
        return self.slope(x @ theta, y)[:, None] * x

    def hessian(self, theta: Array, x: Array, y: Array) -> Array:
        """The Hessian of the summed loss, k × k."""
        return x.T @ (self.bend(x @ theta, y)[:, None] * x)


@final
@dataclass(frozen=True)
class Squared(ScoreLoss):
    """Linear regression: ℓ = ½ (y − t)² (the square is missing in linear-reconstruction, App. C; E-LR-7)."""

    steepest = 1.0

    def losses(self, score: Array, y: Array) -> Array:
        return 0.5 * (y - score) ** 2

    def slope(self, score: Array, y: Array) -> Array:
        return score - y

    def bend(self, score: Array, y: Array) -> Array:
        return np.ones_like(score)


@final
@dataclass(frozen=True)
class Logistic(ScoreLoss):
    """Logistic regression: ℓ = ln(1 + e^t) − y t, ℓ′ = ζ(t) − y, ζ(t) = 1/(1 + e^−t), ℓ″ = ζ (1 − ζ) ≤ 1/4.

    Notes
    -----
    The linear-reconstruction paper prints the reciprocal of ζ (E-LR-2), another sign of the loss (E-LR-7) and
    a Lipschitz constant four times the least (E-LR-3).
    """

    steepest = 0.25

    def losses(self, score: Array, y: Array) -> Array:
        return np.logaddexp(0, score) - y * score

    def slope(self, score: Array, y: Array) -> Array:
        return _sigmoid(score) - y

    def bend(self, score: Array, y: Array) -> Array:
        return _sigmoid(score) * _sigmoid(-score)


@final
@dataclass(frozen=True)
class LogCosh(ScoreLoss):
    """A smooth cousin of the absolute error: ℓ = ln cosh(y − t), ℓ′ = tanh(t − y)."""

    steepest = 1.0

    def losses(self, score: Array, y: Array) -> Array:
        size = np.abs(y - score)
        out: Array = size + np.log1p(np.exp(-2 * size)) - np.log(2.0)
        return out

    def slope(self, score: Array, y: Array) -> Array:
        return np.tanh(score - y)

    def bend(self, score: Array, y: Array) -> Array:
        return 1 - np.tanh(score - y) ** 2


@final
@dataclass(frozen=True)
class Poisson(ScoreLoss):
    """Poisson regression with the log link: ℓ = e^t − y t, ℓ′ = e^t − y."""

    steepest = np.inf

    def losses(self, score: Array, y: Array) -> Array:
        return self.bend(score, y) - y * score

    def slope(self, score: Array, y: Array) -> Array:
        return self.bend(score, y) - y

    def bend(self, score: Array, y: Array) -> Array:
        with np.errstate(over="ignore"):  # an infinite loss makes a fit step back
            return np.exp(score)


@final
@dataclass(frozen=True)
class Probit(ScoreLoss):
    """Probit regression: ℓ = −y ln Φ(t) − (1 − y) ln Φ(−t), ℓ′ = −y m(t) + (1 − y) m(−t), m = φ/Φ, ℓ″ ≤ 1."""

    steepest = 1.0

    def losses(self, score: Array, y: Array) -> Array:
        from scipy.special import log_ndtr

        return np.asarray(-y * log_ndtr(score) - (1 - y) * log_ndtr(-score))

    def slope(self, score: Array, y: Array) -> Array:
        return (1 - y) * _mills(-score) - y * _mills(score)

    def bend(self, score: Array, y: Array) -> Array:
        ahead = _mills(score)
        behind = _mills(-score)
        return y * ahead * (score + ahead) + (1 - y) * behind * (behind - score)


LOSSES: dict[str, FitLoss] = {
    "linear": Squared(),
    "logistic": Logistic(),
    "log-cosh": LogCosh(),
    "poisson": Poisson(),
    "probit": Probit(),
}


def loss_of(loss: object) -> FitLoss:
    """The loss that a name or an object stands for.

    Notes
    -----
    A name is one of tellall's own or "module:NAME". The latter is looked up among the modules that the
    program has already imported, never imported and never called: reading a release runs no code that the
    reader has not loaded.
    """
    if isinstance(loss, str):
        if loss in LOSSES:
            return LOSSES[loss]
        if ":" in loss:
            return _held(loss)
        near = difflib.get_close_matches(loss[:60].lower(), LOSSES, n=1)
        advice = f"Did you mean '{near[0]}'?" if near else ""
        raise invalid("loss", f"one of {', '.join(LOSSES)}, or an object with a gradient", loss, advice)
    if isinstance(loss, type) or not isinstance(loss, FitLoss) or not callable(loss.gradient):
        raise invalid("loss", "a name such as 'linear', or an object with gradient(theta, x, y)", loss)
    return loss


def loss_name(loss: object) -> str:
    """The name by which a loss is saved: tellall's own, or "module:NAME" if its module holds it."""
    if isinstance(loss, str):
        return loss
    for name, known in LOSSES.items():
        if known == loss:
            return name
    module = type(loss).__module__
    for name, thing in vars(sys.modules.get(module, sys)).items():
        if thing is loss and module != "__main__":
            return f"{module}:{name}"
    raise invalid(
        "loss",
        "tellall's own, or an object that an importable module holds by a name, to be saved",
        type(loss).__name__,
        f"Write for example MY_LOSS = {type(loss).__name__}() in its module.",
    )


def _held(name: str) -> FitLoss:
    """The loss that an imported module holds under "module:NAME"."""
    module, _, attribute = name.partition(":")
    if module not in sys.modules:
        raise invalid(
            "loss",
            "of a module that is imported",
            name,
            "Import it first; reading a release imports nothing.",
        )
    thing = vars(sys.modules[module]).get(attribute)
    if isinstance(thing, type) or not isinstance(thing, FitLoss):
        raise invalid("loss", "the name of an object with gradient(theta, x, y)", name)
    return thing


def _mills(score: Array) -> Array:
    """φ(t)/Φ(t), stable far below zero."""
    from scipy.special import log_ndtr

    return np.asarray(np.exp(-0.5 * score**2 - 0.5 * np.log(2 * np.pi) - log_ndtr(score)))


def _sigmoid(score: Array) -> Array:
    from scipy.special import expit

    return np.asarray(expit(score))
