"""Generalised approximate message passing: the posterior of counts from products alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tellall.linops import LinearOperator
from tellall.solve.base import Array
from tellall.solve.channel import Channel
from tellall.solve.counts import CountPrior

__all__ = ["Passed", "Spread", "pass_messages"]

_LEARN_FROM = 3  # the first residuals say little about the noise


@dataclass(frozen=True, eq=False)
class Passed:
    """Where message passing ended: what the evidence says of each count, and how well it agrees."""

    precision: Array
    opinion: Array
    channel: Channel
    agreement: float
    fall: float
    change: float
    iterations: int


class Spread:
    """A∘A as variances need it: a number where all entries are equally large, an operator elsewhere."""

    def __init__(self, operator: LinearOperator) -> None:
        m, n = operator.shape
        self.square = operator.squared()
        rng = np.random.default_rng(0)
        right, left = rng.random(n).astype(operator.dtype), rng.random(m).astype(operator.dtype)
        rows, columns = self.square.matvec(right), self.square.rmatvec(left)
        self.entry = float(np.sum(rows, dtype=float)) / max(m * float(np.sum(right, dtype=float)), 1e-300)
        self.even = bool(
            _alike(rows, self.entry * float(right.sum())) and _alike(columns, self.entry * float(left.sum()))
        )
        self.rows = m

    def forward(self, variance: Array) -> Array | float:
        """The variance of every row."""
        if self.even:
            return self.entry * float(np.sum(variance, dtype=float))
        return np.maximum(self.square.matvec(variance), 0)

    def backward(self, curvature: Array) -> Array | float:
        """The precision that the rows give every unknown."""
        if self.even:
            return self.entry * float(np.sum(curvature, dtype=float))
        return self.square.rmatvec(curvature)


def _alike(values: Array, wanted: float) -> bool:
    return bool(np.abs(values - wanted).max(initial=0.0) <= 1e-3 * abs(wanted))


def pass_messages(
    operator: LinearOperator,
    spread: Spread,
    prior: CountPrior,
    channel: Channel,
    target: Array,
    *,
    damping: float = 0.8,
    limit: int = 40,
    tolerance: float = 1e-3,
    contaminated: bool = False,
) -> Passed:
    """The evidence's opinion of every count, by message passing with a damped step.

    Notes
    -----
    GAMP (Rangan 2011) on counts less their prior mean. With τ the variances, A∘A their operator:
    v = (A∘A) τ; R = z − A x + v ∘ S; S ← score(R, v); ρ = (A∘A)ᵀ curvature; r = x + AᵀS/ρ; x, τ ← moments of
    the count given the opinion r of precision ρ. Two products an iteration where all entries have the same
    size, four elsewhere; O(n + m) memory beside the operator. Only x and τ are damped: damping S as well
    leaves it a step behind its correction v ∘ S, and ends in a cycle. Exact in the limit for matrices whose
    entries are like independent ones; nothing is promised for others, so the result carries what must agree:
    `agreement` (the ordinary residuals' mean square over the predicted one) and `fall` (the typical residual
    at the end over that at the start).
    """
    dtype = operator.dtype
    base = np.asarray(prior.mean, dtype=dtype)
    z = np.asarray(target - operator.matvec(base), dtype=dtype)
    x, tau, s = np.zeros_like(base), np.asarray(prior.variance, dtype=dtype), np.zeros_like(z)
    scale = float(np.sqrt(np.mean(prior.variance)))
    first = last = float(np.median(np.abs(channel.seen(z))))
    least = 1e-6 / np.asarray(prior.variance).max()
    for iteration in range(limit):
        v = spread.forward(tau)
        residual = z - operator.matvec(x) + np.asarray(v, dtype=dtype) * s
        if contaminated and iteration == 0:
            channel = channel.contaminated(residual, v)
        answer = channel.respond(residual, v)
        if iteration >= _LEARN_FROM:
            channel = channel.learn(residual, v, answer.gross)
        s = answer.score.astype(dtype, copy=False)
        precision = np.maximum(spread.backward(answer.curvature.astype(dtype, copy=False)), least)
        opinion = base + x + operator.rmatvec(s) / precision
        mean, variance = prior.moments(precision, opinion)
        moved = mean - base - x
        change = float(np.sqrt(np.mean(moved**2))) / scale
        x = (x + damping * moved).astype(dtype, copy=False)
        # the variance of the mixture of the old belief and the new: damping must not look like certainty
        tau = (tau + damping * (variance - tau + (1 - damping) * moved**2)).astype(dtype, copy=False)
        last = float(np.median(np.abs(channel.seen(residual))))
        if change <= tolerance:
            break
    return Passed(
        precision=np.broadcast_to(np.asarray(precision, dtype=float), base.shape),
        opinion=np.asarray(opinion, dtype=float),
        channel=channel,
        agreement=channel.agreement(residual, v, answer.gross),
        fall=last / max(first, 1e-300),
        change=change,
        iterations=iteration + 1,
    )
