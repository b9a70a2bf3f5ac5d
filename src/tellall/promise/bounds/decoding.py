"""What the decoders guarantee: at most so many people wrong, and how often an attack comes that near."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.algebra.operators.base import LinearOperator
from tellall.algebra.solvers.section import SectionBound, section_upper_bound
from tellall.core.checks import at_least_zero, share, whole
from tellall.core.errors import invalid
from tellall.release.protections.law import Rng, as_rng

__all__ = [
    "LpBound",
    "Recovery",
    "SectionBound",
    "euclidean_section",
    "hamming",
    "hamming_from_norm",
    "lp",
    "recovery",
]

# The Euclidean-section constant from above: a vector on which the l1 norm is small for its l2 norm.


def euclidean_section(
    operator: LinearOperator, *, starts: int = 4, iterations: int = 20, rng: Rng = 0
) -> SectionBound:
    """A certified upper bound on α, the largest with ‖A x‖₁ ≥ α √m ‖A x‖₂ for all x.

    Parameters
    ----------
    operator
        A.
    starts, iterations
        Random starts of each kind, and descent steps from each start.
    rng
        Seed.

    Notes
    -----
    Any x gives an upper bound, and the lower the better; α itself is not efficiently computable. The search
    is `section_upper_bound`. linear-reconstruction, Theorem 2.2; E-LR-1 for why α tends
    to zero for 0/1 products of attributes.

    Examples
    --------
    >>> import numpy as np
    >>> from tellall.algebra.operators.dense import Dense
    >>> euclidean_section(Dense(np.eye(4))).alpha
    0.5
    """
    if not isinstance(operator, LinearOperator):
        raise invalid("operator", "a LinearOperator such as evidence.operator", type(operator).__name__)
    whole("starts", starts, least=0), whole("iterations", iterations, least=0)
    return section_upper_bound(operator, as_rng(rng), starts=starts, steps=iterations)


_ROUNDING = 1e-12  # a bound that is whole but for rounding must not be floored to the number below


def hamming(m: int, beta: float, least_singular_value: float, *, n: int | None = None) -> float:
    """The most people least squares gets wrong when no value is off by more than beta.

    Parameters
    ----------
    m
        Published values.
    beta
        The largest error of one of them.
    least_singular_value
        Of the operator; zero gives an infinite bound (nothing is guaranteed).
    n
        People; no bound is above it where given.

    Notes
    -----
    linear-reconstruction, Theorem 2.1 with its constant: d_H ≤ 4‖A⁺e‖² ≤ 4‖e‖²/σ² ≤ 4 m β²/σ², floored, for
    the least-squares solution without a box rounded at 1/2. Tighter, where ‖e‖ is known:
    `hamming_from_norm`.

    Examples
    --------
    >>> hamming(1000, 0.5, 25.0)
    1.0
    >>> hamming(1000, 0.5, 0.0), hamming(1000, 0.5, 0.0, n=300)
    (inf, 300.0)
    """
    rows = whole("m", m)
    return hamming_from_norm(math.sqrt(rows) * at_least_zero("beta", beta), least_singular_value, n=n)


def hamming_from_norm(error: float, least_singular_value: float = 1.0, *, n: int | None = None) -> float:
    """The most people least squares gets wrong when the errors have this Euclidean norm.

    Notes
    -----
    ⌊4‖e‖²/σ²⌋ (linear-reconstruction, Theorem 2.1). With σ = 1 and the distance ‖x − s‖ of any estimate from
    the secret as `error`, the same for that estimate: each wrong bit is off by 1/2 or more.
    """
    norm, sigma = at_least_zero("error", error), at_least_zero("least_singular_value", least_singular_value)
    bound = math.inf if sigma == 0 else 4 * (norm / sigma) ** 2
    return _floored(bound, n)


@dataclass(frozen=True)
class LpBound:
    """What LP decoding guarantees when some values are arbitrarily wrong.

    Attributes
    ----------
    hamming
        The most people it gets wrong: the least of the two bounds, floored and at most n.
    distance
        The bound on ‖x − s‖.
    quadratic, linear
        16 β²m/(σ²g²) and 4 β√(mn)/(σ g), g = α − 2√γ.
    """

    hamming: float
    distance: float
    quadratic: float
    linear: float

    def as_dict(self) -> dict[str, Any]:
        """The bound for JSON, None where infinite."""
        return {name: value if math.isfinite(value) else None for name, value in asdict(self).items()}


def lp(m: int, n: int, beta: float, least_singular_value: float, *, alpha: float, gamma: float) -> LpBound:
    """The guarantee of LP decoding when all but a fraction `gamma` of the values are within beta.

    Parameters
    ----------
    m, n
        Values and people.
    beta, gamma
        All but a fraction gamma of the errors are at most beta; the others are arbitrary.
    least_singular_value
        Of the operator.
    alpha
        Its Euclidean-section constant: ‖Ax‖₁ ≥ α √m ‖Ax‖₂ for all x.

    Notes
    -----
    linear-reconstruction, Theorem 2.2, constants made explicit: for γ < α²/4, ‖x − s‖ ≤ 2β√m/(σ(α − 2√γ)),
    hence d_H ≤ 16β²m/(σ²(α − 2√γ)²) and d_H ≤ 4β√(mn)/(σ(α − 2√γ)); otherwise nothing is guaranteed. α
    cannot be computed efficiently: `euclidean_section` gives upper bounds on it only, so a bound computed
    with one is optimistic. For 0/1 products of attributes α tends to zero (E-LR-1).

    Examples
    --------
    >>> round(lp(1000, 200, 0.5, 25.0, alpha=0.7, gamma=0.05).distance, 6)
    5.003873
    >>> lp(1000, 200, 0.5, 25.0, alpha=0.7, gamma=0.2).hamming
    200.0
    """
    rows, people = whole("m", m), whole("n", n)
    size, sigma = at_least_zero("beta", beta), at_least_zero("least_singular_value", least_singular_value)
    if not 0 <= alpha <= 1:
        raise invalid("alpha", "from 0 to 1", alpha)
    if not 0 <= gamma <= 1:
        raise invalid("gamma", "a fraction from 0 to 1", gamma)
    gap = sigma * (alpha - 2 * math.sqrt(gamma))
    if gap <= 0:
        return LpBound(float(people), math.inf, math.inf, math.inf)
    distance = 2 * size * math.sqrt(rows) / gap
    quadratic, linear = 4 * distance**2, 2 * distance * math.sqrt(people)
    return LpBound(_floored(min(quadratic, linear), people), distance, quadratic, linear)


@dataclass(frozen=True)
class Recovery:
    """How often an attack comes within alpha n of the secret: Definition 1 as a number.

    Attributes
    ----------
    alpha
        The fraction of people that may be wrong.
    beta
        The fraction of draws in which more were.
    low, high
        Clopper–Pearson interval of beta over the noise.
    draws
        How many draws.
    """

    alpha: float
    beta: float
    low: float
    high: float
    draws: int
    confidence: float

    def __str__(self) -> str:
        return (
            f"within {self.alpha:.1%} of the people in {1 - self.beta:.1%} of {self.draws} draws "
            f"(β = {self.beta:.3f}, {self.confidence:.0%} interval {self.low:.3f} to {self.high:.3f})"
        )

    def as_dict(self) -> dict[str, Any]:
        """The numbers for JSON."""
        return asdict(self)


def recovery(wrong: npt.ArrayLike, n: int, alpha: float, *, confidence: float = 0.95) -> Recovery:
    """The β at which a mechanism allowed (α, β) reconstruction in these draws.

    Parameters
    ----------
    wrong
        How many people were guessed wrong in each draw of the noise.
    n
        How many people there are.
    alpha
        The fraction that may be wrong.

    Notes
    -----
    linear-reconstruction, Definition 1: P(d_H ≤ α n) ≥ 1 − β, with αn for the printed α (E-LR-9). One
    public table and one secret stand here for "every secret", so β is a statement about this attack on
    these people.

    Examples
    --------
    >>> print(recovery([0, 3, 12, 1], 100, 0.05))
    within 5.0% of the people in 75.0% of 4 draws (β = 0.250, 95% interval 0.006 to 0.806)
    """
    from scipy.special import betaincinv

    people = whole("n", n)
    counts = np.asarray(wrong)
    if counts.ndim != 1 or counts.size == 0 or counts.dtype.kind not in "iuf":
        raise invalid("wrong", "one count per draw, one draw or more", wrong)
    if not np.isfinite(counts).all() or (counts != np.floor(counts)).any():
        raise invalid("wrong", "whole numbers", wrong)
    if counts.min() < 0 or counts.max() > people:
        raise invalid("wrong", f"numbers from 0 to n = {people}", f"{counts.min()} to {counts.max()}")
    share("alpha", alpha)
    share("confidence", confidence, zero=False, one=False)
    draws = int(counts.size)
    failed = int((counts > alpha * people * (1 + _ROUNDING)).sum())
    tail = (1 - confidence) / 2
    low = float(betaincinv(failed, draws - failed + 1, tail)) if failed else 0.0
    high = float(betaincinv(failed + 1, draws - failed, 1 - tail)) if failed < draws else 1.0
    return Recovery(float(alpha), failed / draws, low, high, draws, float(confidence))


def _floored(bound: float, n: int | None) -> float:
    whole_bound = float(math.floor(bound * (1 + _ROUNDING))) if math.isfinite(bound) else bound
    return whole_bound if n is None else min(whole_bound, float(whole("n", n)))
