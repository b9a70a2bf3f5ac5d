"""The rates of the contingency-tables paper's Table 1: how noise must and may grow, constants unknown."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from tellall.bounds.sizes import TableSizes

__all__ = ["LABEL", "Rate", "rates"]

LABEL = "rate, constant unknown"


@dataclass(frozen=True)
class Rate:
    """One entry of the table: noise per cell that a guarantee needs (lower) or can be had with (upper).

    Attributes
    ----------
    guarantee
        What is kept from the attacker.
    side
        "lower" or "upper".
    formula
        The rate with its log powers.
    plain, logged
        Its value with constant 1, without the log powers and with them; None where it says nothing.
    citation
        Where it is proved.
    label
        What such a number is.
    """

    guarantee: str
    side: str
    formula: str
    plain: float | None
    logged: float | None
    citation: str
    label: str = LABEL

    def as_dict(self) -> dict[str, Any]:
        """The entry for JSON."""
        return asdict(self)


def rates(sizes: TableSizes, epsilon: float, delta: float) -> tuple[Rate, ...]:
    """The eight entries of Table 1.

    Notes
    -----
    contingency-tables: Theorems 2.7, 2.9, 4.9 and 4.21, Propositions B.1 and B.3, and for the differentially
    private upper bounds the Gaussian mechanism and BLR (exponent 1/3, E-CT-3). The attribute bound needs
    k ≥ 2 (E-CT-4). L = ln n, taken as 1 below n = 3. Where d < 2k, ln(d/k) is too small for the union bound
    it stands for, and k ln(d/k) is read as ln(2^k m_k). Lower bounds on private noise vanish for δ ≥ ε; for
    m_k = 1 the general one is the instance-independent one.
    """
    return (*_reconstruction(sizes), *_private(sizes, epsilon, delta))


def _reconstruction(sizes: TableSizes) -> Iterator[Rate]:
    n, d, k = sizes.n, sizes.d, sizes.k
    logs = max(1.0, math.log(n))
    attribute, row = "not attribute non-private", "not row non-private"
    if k >= 2:
        yield Rate(
            attribute,
            "lower",
            f"min{{√n/L^{k * k - k + 1}, √(d^{k - 1})/L^{k * k + k - 3}}}, L = ln n",
            min(math.sqrt(n), d ** ((k - 1) / 2)),
            min(_over(math.sqrt(n), logs, k * k - k + 1), _over(d ** ((k - 1) / 2), logs, k * k + k - 3)),
            "Theorem 2.7",
        )
    else:
        yield Rate(attribute, "lower", "needs k ≥ 2", None, None, "Theorem 2.7 (E-CT-4)")
    yield _mechanisms(sizes, attribute, "Proposition B.3")
    yield Rate(
        row,
        "lower",
        f"min{{√n/L^{k * k + k + 1}, √(d^{k})/L^{k * k + 3 * k - 1}}}, L = ln n",
        min(math.sqrt(n), d ** (k / 2)),
        min(_over(math.sqrt(n), logs, k * k + k + 1), _over(d ** (k / 2), logs, k * k + 3 * k - 1)),
        "Theorem 2.9",
    )
    yield _mechanisms(sizes, row, "Proposition B.1")


def _mechanisms(sizes: TableSizes, guarantee: str, citation: str) -> Rate:
    """Sampling half the people, or Gaussian noise at constant ε and δ, whichever errs less."""
    n, d, k = sizes.n, sizes.d, sizes.k
    few = d < 2 * k
    union = sizes.log_cells if few else k * math.log(d / k)
    word = "ln(2^k m_k)" if few else "k ln(d/k)"
    return Rate(
        guarantee,
        "upper",
        f"min{{√(n {word}), √(m_k {word})}}",
        min(math.sqrt(n), d ** (k / 2)),
        min(math.sqrt(n * union), math.sqrt(sizes.tables * union)),
        citation,
    )


def _private(sizes: TableSizes, epsilon: float, delta: float) -> Iterator[Rate]:
    n, d, k, tables = sizes.n, sizes.d, sizes.k, sizes.tables
    share = max(0.0, 1 - delta / epsilon)
    same, general = "(ε, δ)-private, noise the same for all data", "(ε, δ)-private"
    root = math.sqrt(tables)
    lower = root * share / (2**k * epsilon)
    upper = root * math.sqrt(-math.log(delta)) / (2 ** (k / 2) * epsilon) if delta > 0 else math.inf
    yield Rate(same, "lower", "√m_k (1 − δ/ε)/(2^k ε)", lower, lower, "Theorem 4.9")
    yield Rate(same, "upper", "√(m_k ln(1/δ))/(2^(k/2) ε)", _finite(upper), _finite(upper), "Table 1")
    people = math.sqrt(n) * share / (2**k * math.sqrt(epsilon))
    logged = people / math.sqrt(math.log(tables)) if tables > 1 else math.inf
    yield Rate(
        general,
        "lower",
        "min{√n (1 − δ/ε)/(2^k √(ε ln m_k)), √m_k (1 − δ/ε)/(2^k ε)}",
        min(people, lower),
        min(logged, lower),
        "Theorem 4.21",
    )
    synthetic = (n / epsilon * n * d * k) ** (1 / 3)
    best = min(n, synthetic, upper)
    yield Rate(
        general,
        "upper",
        "min{n, (n² d k/ε)^(1/3), √(m_k ln(1/δ))/(2^(k/2) ε)}",
        best,
        best,
        "Table 1, Corollary A.4 (E-CT-3)",
    )


def _over(value: float, base: float, power: int) -> float:
    """value / base^power, zero where that leaves the range of a double."""
    return math.exp(max(-745.0, math.log(value) - power * math.log(base)))


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
