"""Correlations: the correlation or covariance of the secret with each public column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tellall.core.checks import one_of
from tellall.core.errors import invalid
from tellall.core.not_done import NotDone
from tellall.linalg.operators.linear_operator import Array, Dense
from tellall.people.codes import group_rows
from tellall.people.dataset import Dataset, Outline, Public
from tellall.statistics.statistic import Equations, Statistic, check_sets, numbers_of

__all__ = ["Correlations"]

_MEASURES = ("correlations", "covariances")
_FLOOR = 1e-4  # of a row's typical entry, for exact values
_ROUNDOFF = 1e-10
_WIDEST = 0.5  # the largest standard deviation of a bit
_USUAL, _AROUND = 0.4, 0.12  # the assumed standard deviation of an unknown bit, and the error of that guess


@dataclass(frozen=True)
class Correlations(Statistic):
    """The correlation, or covariance, of the secret with each public column of numbers.

    Parameters
    ----------
    measure
        "correlations" (Pearson's) or "covariances" (divided by n − 1).
    mean, variance
        Whether the secret's own mean and variance (divided by n − 1) are published too, after the others.
    columns
        The public columns, by name or index; by default all.

    Notes
    -----
    A covariance is linear in the secret: Σ_i (x_ij − x̄_j) s_i/(n − 1) = c_j, and so is the mean. A
    correlation r_j times the standard deviations of both is a covariance. The secret's standard deviation σ
    follows from its published variance or, for a bit, from its mean, whose errors move it too. Without
    either, σ is eliminated from the equations a_j · s = r_j σ, a_j = (x_j − x̄_j)/((n − 1) sd_j). The
    equation m with the largest |r| is kept, with σ taken as 0.4 give or take 0.12, as for a bit; the others
    become r_m a_j · s − r_j a_m · s = 0. These hold for every scale, so correlations alone say nothing about
    the size of a real secret, and are refused for one. Their errors, σ (r_j e_m − r_m e_j), are first order,
    with σ = 1/2, a bit's largest. Values are real numbers, so nothing here proves anything. How far one
    person can move a correlation is not known.

    Examples
    --------
    >>> people = Dataset.from_arrays([[0, 1], [1, 1], [1, 0], [0, 0]], secret=[0, 1, 1, 0])
    >>> Correlations(mean=True).values(people).round(3).tolist()
    [1.0, 0.0, 0.5]
    """

    scale = "counts"  # the only scale they have
    counts_people = False

    measure: str = "correlations"
    mean: bool = False
    variance: bool = False
    columns: tuple[str | int, ...] | None = None

    def __init__(
        self,
        measure: str = "correlations",
        *,
        mean: bool = False,
        variance: bool = False,
        columns: Sequence[str | int] | None = None,
    ) -> None:
        for name, flag in (("mean", mean), ("variance", variance)):
            if not isinstance(flag, bool | np.bool_):
                raise invalid(name, "True or False", flag)
        chosen = None if columns is None else check_sets("columns", [columns], None)
        object.__setattr__(self, "measure", one_of("measure", measure, _MEASURES))
        object.__setattr__(self, "mean", bool(mean))
        object.__setattr__(self, "variance", bool(variance))
        object.__setattr__(self, "columns", None if chosen is None else chosen[0])

    def describe(self) -> str:
        also = [name for name, told in (("mean", self.mean), ("variance", self.variance)) if told]
        more = f", {' and '.join(also)} of the secret" if also else ""
        count = "every public column" if self.columns is None else f"{len(self.columns)} columns"
        return f"{self.measure} with {count}{more}"

    def places(self, public: Outline) -> list[int]:
        """The columns, by index."""
        if self.columns is None:
            return list(range(len(public.columns)))
        return [public.position(name, "columns") for name in self.columns]

    def size(self, public: Outline) -> int:
        return len(self.places(public)) + self.mean + self.variance

    def needs(self, columns: Outline) -> set[str]:
        return {columns.names[place] for place in self.places(columns)}

    def serves(self, levels: int) -> str:
        if levels == 0 and self.scaleless:
            return "alone they say nothing about the size of a number; with variance = true they are attacked"
        return super().serves(levels)

    def size_for(self, public: Public, levels: int) -> int:
        if levels == 0 and self.scaleless:
            rule = "published if the secret is a real number: correlations alone say nothing about its size"
            raise invalid("variance", rule, "not published", "Without it there is no attack.")
        return super().size_for(public, levels)

    @property
    def scaleless(self) -> bool:
        """Whether they say nothing about the size of a real secret."""
        return self.measure == "correlations" and not self.variance

    def values(self, dataset: Dataset) -> Array:
        if dataset.secret is None:
            raise invalid("dataset", "one with a secret, to correlate it", "no secret")
        if dataset.levels not in (0, 2):
            raise invalid("secret", "bits or real numbers, to be correlated", "categories")
        if dataset.n < 2:
            raise invalid("people", "2 or more, to be correlated", dataset.n)
        secret = np.asarray(dataset.secret, dtype=np.float64)
        centred, spread = self._design(dataset.public)
        found = centred @ secret / (dataset.n - 1)
        if self.measure == "correlations":
            with np.errstate(invalid="ignore", divide="ignore"):
                found = found / (spread * secret.std(ddof=1))
            found = np.where(np.isfinite(found), found, np.nan)
        more = [secret.mean()] * self.mean + [secret.var(ddof=1)] * self.variance
        return np.append(found, more)

    def _design(self, public: Public) -> tuple[Array, Array]:
        """The centred columns (columns × people), and their standard deviations."""
        numbers = np.stack([numbers_of(public, place, "to be correlated") for place in self.places(public)])
        centred = numbers - numbers.mean(axis=1, keepdims=True)
        return centred, np.asarray(np.sqrt((centred**2).sum(axis=1) / max(public.n - 1, 1)))

    def _scale_of(self, values: Array, n: int) -> tuple[float, float]:
        """The standard deviation of the secret, from its variance or, for a bit, from its mean.

        And by how much an error of that value moves it, to first order. NaN and zero if the value is not
        shown or says that nobody differs: then there would be no correlations.
        """
        value = float(values[-1])
        slope = 1.0
        if not self.variance:
            more = n / max(n - 1, 1)
            value, slope = value * (1 - value) * more, abs(1 - 2 * value) * more
        if not value > 0:
            return np.nan, 0.0
        return float(np.sqrt(value)), float(slope / (2 * np.sqrt(value)))

    def comparable(self) -> Correlations:
        """Covariances and the mean, whose rows do not depend on the published values."""
        return replace(self, measure="covariances", mean=True, variance=self.variance)

    def approximate(self, public: Public, std: float) -> str:
        first_order = self.measure == "correlations" and std > 0
        return "the errors of correlations are taken to first order" if first_order else ""

    def in_unit(self, unit: float, values: Array, *, exact: bool) -> tuple[Statistic, Array] | None:
        out = values / unit
        count = values.size - self.mean - self.variance
        if self.measure == "correlations":
            if not exact:
                return None  # one law cannot be about numbers without a unit and others with one
            out[:count] = values[:count]
        if self.variance:
            out[-1] /= unit
        return self, out

    def equations(self, public: Public, values: Array) -> Equations:
        centred, spread = self._design(public)
        count = spread.size
        n = public.n
        rows: Array = centred / (n - 1)
        own = values[:count]
        labels = [np.unique(row, return_inverse=True)[1].ravel() for row in centred]
        gain: Array = np.ones(count)
        doubt = np.zeros(count + self.mean + self.variance)
        target: Array
        skipped: tuple[NotDone, ...] = ()
        if self.measure == "covariances":
            target = own.copy()
        elif self.variance or self.mean:
            scale, slope = self._scale_of(values, n)
            known = np.isfinite(scale)
            gain = spread * np.hypot(scale if known else 1.0, np.nan_to_num(own) * slope)
            target = own * spread * scale
            skipped = () if known else (_unused("no mean or variance shows how much people differ"),)
        else:
            even = rows / np.where(spread > 0, spread, 1.0)[:, None]
            rows, target, gain, extra, skipped = _without_scale(even, own)
            doubt[:count] = extra
        target = np.where(spread > 0, target, np.nan)
        more = [np.full((1, n), 1 / n)] * self.mean + [np.zeros((1, n))] * self.variance
        told = [*values[count : count + self.mean].tolist(), *[np.nan] * self.variance]  # no equation
        rows, target = np.vstack([rows, *more]), np.append(target, told)
        gain = np.append(gain, np.ones(len(told)))
        typical = np.sqrt((rows**2).mean(axis=1))
        floor = np.where(typical > 0, _FLOOR * typical, 1.0)
        doubt += _ROUNDOFF * (np.abs(rows).sum(axis=1) + 1e-300)
        alike = group_rows(np.stack(labels)).index
        return Equations(Dense(rows), target, alike, gain, gain, doubt, floor, skipped)


def _unused(reason: str) -> NotDone:
    """Why correlations give no equation."""
    return NotDone("correlations", reason, "use")


def _without_scale(rows: Array, own: Array) -> tuple[Array, Array, Array, Array, tuple[NotDone, ...]]:
    """Equations in which the secret's unknown scale cancels, except one that fixes the sign.

    Returns rows, targets, gains, further errors, and what gives no equation.
    """
    none = np.zeros(own.size)
    shown = np.where(np.isfinite(own), np.abs(own), -1.0)
    largest = int(shown.argmax())
    if shown[largest] <= 0:
        return rows, none + np.nan, none + 1, none, (_unused("none differs from zero"),)
    known = np.nan_to_num(own)
    out = known[largest] * rows - known[:, None] * rows[largest]
    target = np.where(np.isfinite(own), 0.0, np.nan)
    out[largest] = rows[largest]
    target[largest] = known[largest] * _USUAL
    doubt = np.where(np.arange(own.size) == largest, np.abs(known[largest]) * _AROUND, 0.0)
    return out, target, _WIDEST * np.hypot(known, known[largest]), doubt, ()
