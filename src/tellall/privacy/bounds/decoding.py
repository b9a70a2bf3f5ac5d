"""What the decoders guarantee: the most people they get wrong, and how often an attack comes near."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tellall.core.amounts import percent
from tellall.core.checks import at_least_zero, share, whole
from tellall.core.errors import invalid
from tellall.core.intervals import clopper_pearson
from tellall.core.records import Record
from tellall.linalg.operators.linear_operator import LinearOperator
from tellall.linalg.solvers.section import SectionBound, section_upper_bound
from tellall.protections.protection import Rng, as_rng

__all__ = [
    "LpBound",
    "Recovery",
    "euclidean_section",
    "hamming",
    "hamming_from_norm",
    "lp",
    "recovery",
]

_ROUNDING = 1e-12  # a bound that is whole up to rounding must not be floored to the number below


def euclidean_section(
    operator: LinearOperator, *, starts: int = 4, iterations: int = 20, rng: Rng = 0
) -> SectionBound:
    """Returns a certified upper bound on α, the largest number with ‖A x‖₁ ≥ α √m ‖A x‖₂ for all x.

    Parameters
    ----------
    operator
        A.
    starts, iterations, rng
        Random starts of each kind, descent steps from each start, and their seed.

    Notes
    -----
    Any x gives an upper bound, and a lower one is better; α itself cannot be computed efficiently. The search
    is `section_upper_bound`. See linear-reconstruction, Theorem 2.2, and E-LR-1 for why α tends to zero for
    0/1 products of attributes.

    Examples
    --------
    >>> import numpy as np
    >>> from tellall.linalg.operators.linear_operator import Dense
    >>> euclidean_section(Dense(np.eye(4))).alpha
    0.5
    """
    if not isinstance(operator, LinearOperator):
        raise invalid("operator", "a LinearOperator such as evidence.operator", type(operator).__name__)
    whole("starts", starts, least=0), whole("iterations", iterations, least=0)
    return section_upper_bound(operator, as_rng(rng), starts=starts, steps=iterations)


def hamming(m: int, beta: float, least_singular_value: float, *, n: int | None = None) -> float:
    """Returns the most people least squares gets wrong when none of m values is off by more than beta.

    `least_singular_value` is that of the operator; zero gives an infinite bound. With `n` people the bound
    is at most n.

    Notes
    -----
    linear-reconstruction, Theorem 2.1 with its constant:

        d_H ≤ 4‖A⁺e‖² ≤ 4‖e‖²/σ² ≤ 4mβ²/σ²,

    floored, for the least-squares solution without a box, rounded at 1/2. If ‖e‖ is known,
    `hamming_from_norm` is tighter.

    Examples
    --------
    >>> hamming(1000, 0.5, 25.0)
    1.0
    >>> hamming(1000, 0.5, 0.0), hamming(1000, 0.5, 0.0, n=300)
    (inf, 300.0)
    """
    norm = math.sqrt(whole("m", m)) * at_least_zero("beta", beta)
    return hamming_from_norm(norm, least_singular_value, n=n)


def hamming_from_norm(error: float, least_singular_value: float = 1.0, *, n: int | None = None) -> float:
    """Returns the most people least squares gets wrong when the errors have this Euclidean norm.

    Notes
    -----
    ⌊4‖e‖²/σ²⌋ (linear-reconstruction, Theorem 2.1). With σ = 1 and `error` the distance ‖x − s‖ of any
    estimate from the secret, this bounds that estimate's mistakes: each wrong bit is off by 1/2 or more.
    """
    norm = at_least_zero("error", error)
    sigma = at_least_zero("least_singular_value", least_singular_value)
    return _floored(math.inf if sigma == 0 else 4 * (norm / sigma) ** 2, n)


@dataclass(frozen=True)
class LpBound(Record):
    """What LP decoding guarantees when some values are arbitrarily wrong; g = α − 2√γ."""

    hamming: float  # the most people it gets wrong: the smaller of the two bounds, floored and at most n
    distance: float  # the bound on ‖x − s‖
    quadratic: float  # 16 β²m/(σ²g²)
    linear: float  # 4 β√(mn)/(σ g)


def lp(m: int, n: int, beta: float, least_singular_value: float, *, alpha: float, gamma: float) -> LpBound:
    """Returns the guarantee of LP decoding when all but a fraction `gamma` of m values are within beta.

    `alpha` is the operator's Euclidean-section constant, ‖Ax‖₁ ≥ α √m ‖Ax‖₂ for all x.

    Notes
    -----
    linear-reconstruction, Theorem 2.2, with explicit constants: for γ < α²/4, ‖x − s‖ ≤ 2β√m/(σ(α − 2√γ)),
    hence d_H ≤ 16β²m/(σ²(α − 2√γ)²) and d_H ≤ 4β√(mn)/(σ(α − 2√γ)); otherwise nothing is guaranteed. α
    cannot be computed efficiently: `euclidean_section` gives only upper bounds on it, so a guarantee computed
    with one is optimistic. For 0/1 products of attributes α tends to zero (E-LR-1).

    Examples
    --------
    >>> round(lp(1000, 200, 0.5, 25.0, alpha=0.7, gamma=0.05).distance, 6)
    5.003873
    >>> lp(1000, 200, 0.5, 25.0, alpha=0.7, gamma=0.2).hamming
    200.0
    """
    rows = whole("m", m)
    people = whole("n", n)
    size = at_least_zero("beta", beta)
    sigma = at_least_zero("least_singular_value", least_singular_value)
    gap = sigma * (share("alpha", alpha) - 2 * math.sqrt(share("gamma", gamma)))
    if gap <= 0:
        return LpBound(float(people), math.inf, math.inf, math.inf)
    distance = 2 * size * math.sqrt(rows) / gap
    quadratic, linear = 4 * distance**2, 2 * distance * math.sqrt(people)
    return LpBound(_floored(min(quadratic, linear), people), distance, quadratic, linear)


@dataclass(frozen=True)
class Recovery(Record):
    """How often an attack comes within alpha · n of the secret: Definition 1 as a number."""

    alpha: float  # the fraction of people that may be wrong
    beta: float  # the fraction of draws in which more were
    low: float  # Clopper–Pearson interval of beta over the noise
    high: float
    draws: int
    confidence: float

    def __str__(self) -> str:
        return (
            f"within {percent(self.alpha)} of the people in {percent(1 - self.beta)} of {self.draws} draws "
            f"(β = {self.beta:.3f}, {100 * self.confidence:g} % interval {self.low:.3f} to {self.high:.3f})"
        )


def recovery(wrong: npt.ArrayLike, n: int, alpha: float, *, confidence: float = 0.95) -> Recovery:
    """Returns the β at which a mechanism allowed (α, β) reconstruction in these draws.

    `wrong` holds, for each draw of the noise, how many of the n people were guessed wrong; `alpha` is the
    fraction that may be wrong.

    Notes
    -----
    linear-reconstruction, Definition 1: P(d_H ≤ α n) ≥ 1 − β, with αn for the printed α (E-LR-9). Only one
    public table and one secret replace "every secret" here, so β is a statement about this attack on these
    people.

    Examples
    --------
    >>> print(str(recovery([0, 3, 12, 1], 100, 0.05)).replace(chr(160), " "))
    within 5.0 % of the people in 75.0 % of 4 draws (β = 0.250, 95 % interval 0.006 to 0.806)
    """
    people, counts = whole("n", n), np.asarray(wrong)
    if counts.ndim != 1 or counts.size == 0 or counts.dtype.kind not in "iuf":
        raise invalid("wrong", "one count per draw, one draw or more", wrong)
    if not ((counts == np.floor(counts)) & (counts >= 0) & (counts <= people)).all():
        raise invalid("wrong", f"whole numbers from 0 to n = {people}", wrong)
    allowed, level = share("alpha", alpha), share("confidence", confidence, zero=False, one=False)
    draws = int(counts.size)
    failed = int((counts > allowed * people * (1 + _ROUNDING)).sum())
    low, high = clopper_pearson(failed, draws, 1 - level)
    return Recovery(allowed, failed / draws, float(low), float(high), draws, level)


def _floored(bound: float, n: int | None) -> float:
    whole_bound = float(math.floor(bound * (1 + _ROUNDING))) if math.isfinite(bound) else bound
    return whole_bound if n is None else min(whole_bound, float(whole("n", n)))
