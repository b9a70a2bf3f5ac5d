"""Table 1 of the contingency-tables paper for given sizes, with the numbers one can rely on below it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tellall.bounds.mechanisms import Blr, NoisyTables, Sampled, blr, noisy_tables, sampled
from tellall.bounds.private import LeastNoise, least_noise, prior_guess, row_guess
from tellall.bounds.rates import LABEL, Rate, rates
from tellall.bounds.sizes import TableSizes, as_epsilon, nonnegative

__all__ = ["Table", "table"]


@dataclass(frozen=True)
class Table:
    """Lower and upper bounds on the noise per cell of all k-way tables.

    Attributes
    ----------
    rows
        The paper's Table 1: rates, constants unknown.
    least_noise
        Certified: what no (ε, δ)-private release with data-independent noise can go below.
    gaussian
        Certified: noise that is enough for (ε, δ).
    sampled
        Certified: what tables of half the people get wrong; None for a single person.
    blr
        Synthetic data, with constant 1: a rate.
    row_guess, prior_guess
        How often a row can be named under (ε, δ) (Lemma B.2; 1 or more says nothing), and before any release.
    """

    n: int
    d: int
    k: int
    epsilon: float
    delta: float
    rows: tuple[Rate, ...]
    least_noise: LeastNoise
    gaussian: NoisyTables
    sampled: Sampled | None
    blr: Blr
    row_guess: float
    prior_guess: float

    def as_dict(self) -> dict[str, Any]:
        """The table for JSON."""
        return {
            "n": self.n,
            "d": self.d,
            "k": self.k,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "rows": [row.as_dict() for row in self.rows],
            "least_noise": self.least_noise.as_dict(),
            "gaussian": self.gaussian.as_dict(),
            "sampled": None if self.sampled is None else self.sampled.as_dict(),
            "blr": self.blr.as_dict(),
            "row_guess": self.row_guess,
            "prior_guess": self.prior_guess,
        }

    def __str__(self) -> str:
        head = (
            f"Noise per cell, all {self.k}-way tables of {self.d} attributes, n = {self.n:,}, "
            f"ε = {self.epsilon:g}, δ = {self.delta:g} (one row replaced)"
        )
        lines = [head, "", f"contingency-tables, Table 1: every number a {LABEL}"]
        wide = max(len(row.guarantee) for row in self.rows)
        lines.append(f"  {'guarantee':<{wide}}  side   without logs     with logs  formula")
        for row in self.rows:
            lines.append(
                f"  {row.guarantee:<{wide}}  {row.side:<5}  {_number(row.plain):>12}  "
                f"{_number(row.logged):>12}  {row.formula} [{row.citation}]"
            )
        return "\n".join([*lines, "", "Numbers to rely on", *self._certified()])

    def _certified(self) -> list[str]:
        least, noise, half = self.least_noise, self.gaussian, self.sampled
        lines = [
            f"  at least {least.per_cell:.4g} per cell for (ε, δ) with noise that does not depend on the "
            f"data (people replaced at once: {least.group})",
            f"  Gaussian noise of {_number(noise.std)} per cell is enough for (ε, δ); Laplace for (ε, 0): "
            f"scale {noise.laplace_scale:.4g}, standard deviation {noise.laplace_std:.4g}",
        ]
        if noise.printed is not None and noise.printed_delta is not None and noise.printed_delta > self.delta:
            lines.append(
                f"    (the printed {noise.printed:.4g} gives only δ = {noise.printed_delta:.3g}, E-CT-1)"
            )
        if half is not None:
            lines.append(
                f"  tables of half the people: {half.rms:.4g} in the worst cell, none beyond "
                f"{half.largest:.4g} with probability {1 - half.failure:g}; not differentially private"
            )
        useless = "; vacuous" if self.blr.vacuous else ""
        lines.append(f"  synthetic data (BLR, constant 1: a rate): {self.blr.distortion:.4g}{useless}")
        says = "says nothing" if self.row_guess >= 1 else f"{self.row_guess:.4g}"
        lines.append(f"  a row guessed with probability 2/3 before is named with at most: {says} (Lemma B.2)")
        return lines


def table(n: int, d: int, k: int, epsilon: float, delta: float) -> Table:
    """The bounds on noise per cell for releasing all k-way tables of n people with d binary attributes.

    Parameters
    ----------
    n, d, k
        People, attributes, attributes per table (the secret is one of them).
    epsilon, delta
        The differential privacy to compare with, one row replaced between neighbours.

    Notes
    -----
    See `tellall.bounds.rates` for the rates, and `least_noise`, `noisy_tables`, `sampled` for the
    certified numbers. O(log n).

    Examples
    --------
    >>> found = table(10_000, 20, 2, 0.5, 1e-5)
    >>> [round(row.plain, 2) for row in found.rows if row.side == "lower"]
    [4.47, 20.0, 6.89, 6.89]
    >>> found.rows[0].label
    'rate, constant unknown'
    """
    sizes = TableSizes.of(n, d, k)
    eps, slack = as_epsilon(epsilon), nonnegative("delta", delta, below=1)
    return Table(
        n=sizes.n,
        d=sizes.d,
        k=sizes.k,
        epsilon=eps,
        delta=slack,
        rows=rates(sizes, eps, slack),
        least_noise=least_noise(n, d, k, eps, slack),
        gaussian=noisy_tables(d, k, eps, slack),
        sampled=sampled(n, d, k) if sizes.n > 1 else None,
        blr=blr(n, d, k, eps),
        row_guess=row_guess(eps, slack),
        prior_guess=prior_guess(d),
    )


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4g}"
