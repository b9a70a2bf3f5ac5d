"""Generalised approximate message passing: the posterior of counts from products alone."""

from __future__ import annotations

import numpy as np

from tellall.core.work import doing
from tellall.linalg.operators.linear_operator import HOST, Device, LinearOperator, Numbers, Values
from tellall.linalg.posterior.model import LEARN_FROM, Channel, CountPrior, Opinion
from tellall.linalg.solvers.solution import Array

__all__ = [
    "Spread",
    "pass_messages",
]


_ROUGH = 10.0  # times the tolerance: while beliefs move by more, they may be rounded


class Spread:
    """A∘A as variances need it: a number if all entries are equally large, otherwise an operator."""

    def __init__(self, operator: LinearOperator) -> None:
        m, n = operator.shape
        square = operator.squared()
        self.square = square.resident
        rng = np.random.default_rng(0)
        right = rng.random(n).astype(operator.dtype)
        left = rng.random(m).astype(operator.dtype)
        rows = square.matvec(right)
        columns = square.rmatvec(left)
        self.entry = float(np.sum(rows, dtype=float)) / max(m * float(np.sum(right, dtype=float)), 1e-300)
        self.even = bool(
            _alike(rows, self.entry * float(right.sum())) and _alike(columns, self.entry * float(left.sum()))
        )
        self.rows = m

    def forward(self, variance: Array) -> Values:
        """The variance of every row."""
        xp = self.square.device.xp
        if self.even:
            return self.entry * float(xp.sum(variance, dtype=xp.float64))
        return xp.clip(self.square.matvec(variance), 0, None)

    def backward(self, curvature: Array) -> Values:
        """The precision that the rows give every unknown."""
        xp = self.square.device.xp
        if self.even:
            return self.entry * float(xp.sum(curvature, dtype=xp.float64))
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
) -> Opinion:
    """The evidence's opinion of every count, by message passing with a damped step.

    Notes
    -----
    GAMP (Rangan 2011) on counts less their prior mean. With τ the variances, A∘A their operator:
    v = (A∘A) τ; R = z − A x + v ∘ S; S ← score(R, v); ρ = (A∘A)ᵀ curvature; r = x + AᵀS/ρ; x, τ ← moments of
    the count given the opinion r of precision ρ. Two products per iteration if all entries have the same
    size, otherwise four; O(n + m) memory besides the operator. Only x and τ are damped: damping S as well
    leaves it a step behind its correction v ∘ S, and ends in a cycle. Exact in the limit for matrices whose
    entries behave like independent ones; for others nothing is promised, so check `agreement` and `fall` of
    the result. On a device with a narrow number type x and S are rounded to it until they hardly move. That
    halves the time, and its noise is far below that of the messages.
    """
    here = operator.resident
    device = here.device
    xp = here.device.xp
    dtype = device.dtype(here.dtype)
    moments, channel = prior.moments_on(device), channel.on(device)

    def judged(values: Numbers) -> Numbers:
        """The values on the channel's device, which is the host if it has intervals."""
        return values if channel.device is device else device.get(values)

    base = xp.astype(device.put(prior.mean), dtype)
    z = xp.astype(device.put(target) - here.matvec(base), dtype)
    x = xp.zeros_like(base)
    tau = xp.astype(device.put(prior.variance), dtype)
    s = xp.zeros_like(z)
    scale = float(np.sqrt(np.mean(prior.variance)))
    first = last = _middle(channel, judged(z))
    least = 1e-6 / float(prior.variance.max())
    rough = device.narrow is not None
    for iteration in range(limit):
        doing(f"posterior, step {iteration + 1}")
        v = spread.forward(tau)
        residual = judged(z - here.matvec(x) + v * s)
        believed = judged(v)
        if contaminated and iteration == 0:
            channel = channel.contaminated(residual, believed)
        score, curvature, gross = channel.respond(residual, believed)
        if iteration >= LEARN_FROM:
            channel = channel.learn(residual, believed, gross)
        if channel.device is not device:
            score, curvature = device.put(score), device.put(curvature)
        s = xp.astype(score, dtype, copy=False)
        s = device.rounded(s) if rough else s
        precision = _at_least(device, spread.backward(xp.astype(curvature, dtype, copy=False)), least)
        opinion = base + x + here.rmatvec(s) / precision
        mean, variance = moments(precision, opinion)
        moved = mean - base - x
        change = float(xp.mean(moved**2)) ** 0.5 / scale
        finished, rough = change <= tolerance and not rough, rough and change > _ROUGH * tolerance
        x = xp.astype(x + damping * moved, dtype, copy=False)
        x = device.rounded(x) if rough else x
        # the variance of the mixture of the old belief and the new: damping must not look like certainty
        blurred = tau + damping * (variance - tau + (1 - damping) * moved**2)
        tau = xp.astype(blurred, dtype, copy=False)
        last = _middle(channel, residual)
        if finished:
            break
    return Opinion(
        precision=np.broadcast_to(np.asarray(device.get(precision), dtype=float), prior.mean.shape),
        center=np.asarray(device.get(opinion), dtype=float),
        channel=channel.on(HOST),
        agreement=channel.agreement(residual, believed, gross),
        fall=last / max(first, 1e-300),
        change=change,
        iterations=iteration + 1,
    )


def _middle(channel: Channel, values: Array) -> float:
    """The median size of the rows that have a value."""
    seen = channel.seen(values)
    xp = channel.device.xp
    return float(xp.sort(xp.abs(seen))[seen.shape[0] // 2]) if seen.shape[0] else 0.0


def _at_least(device: Device, value: Values, least: float) -> Values:
    return max(value, least) if isinstance(value, float) else device.xp.clip(value, least, None)
