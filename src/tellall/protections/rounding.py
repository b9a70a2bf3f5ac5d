"""Rounding: to the nearest multiple, at random without bias, so that tables still add up, or to midpoints."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from tellall.core.checks import above_zero
from tellall.core.errors import invalid
from tellall.people.dataset import Public
from tellall.protections.protection import (
    Array,
    Context,
    Noise,
    Protection,
    Rng,
    as_rng,
    check_counts,
)
from tellall.statistics.statistic import CellLayout, Statistic

__all__ = ["Rounding", "either_way"]

_MODES = ("nearest", "random", "controlled", "midpoint")
_TIES = ("even", "up", "away", "unknown")
_WHOLE = 1e-12
_LOOSE = 1e-6  # a published value this close to a multiple, in bases, counts as one
_DIGITS = 16 * float(np.finfo(np.float64).eps)  # relative rounding of a few sums and products
_MULTIPLE = 1e-9  # a value this close to a multiple, in bases, counts as one


@dataclass(frozen=True)
class Rounding(Noise):
    """Rounding to a multiple of ``base``, or to the middle between two of them.

    Parameters
    ----------
    base
        Published values are multiples of this number.
    mode
        "nearest"; "random": up or down so that the mean is the value; "controlled": the
        same, and the cells of each table add up to its rounded total; "midpoint": zero stays zero, and every
        other count goes to the middle of its interval, 1 to base, base + 1 to 2 base, ...
    ties
        Where a value half-way between two multiples goes, if it goes to the nearest: "even", to the even
        multiple; "up", to the larger one; "away", to the one farther from zero; "unknown", to either. None:
        publishing sends halves to even and says so in the release; in numbers that come from elsewhere
        nobody said, and it is unknown.

    Notes
    -----
    Excel, SAS and Stata round halves up or away from zero, R and Python to even. An unknown rule proves no
    more than both possibilities do; with "unknown", publishing sends halves to even and tells nobody. A half
    is known to be one only among whole numbers with a whole base. Of shares, decimals and real numbers, one
    that is half-way up to floating-point error may have gone either way, whatever the rule.

    The attacker models the error of "nearest" as uniform on [−base/2, base/2], with standard deviation
    base/√12, although it is a function of the value. "random" rounds a value that is r above a multiple up
    with probability r/base, so the error of an evenly spread value has the triangular density
    (1 − |e|/base)/base and the standard deviation base/√6 (for whole counts √((base² − 1)/6)).
    "controlled" takes the cells of a table in order and rounds cell i up if C_i + u passes a whole number,
    where C_i is the sum of the remainders up to cell i, divided by base, and u is uniform (systematic
    sampling; Cox 1987 for unbiased controlled rounding). Each cell is rounded as by "random", the cells of
    any stretch of neighbours add up to a multiple adjacent to their true sum, and tables with equal totals
    are rounded to equal totals. Values that are not tables are rounded as by "random".
    "midpoint" publishes ⌈v/base⌉ base − ⌊base/2⌋ for a count v ≠ 0; it needs counts and a whole base.

    Examples
    --------
    >>> Rounding(5).perturb(np.array([1.0, 2.5, 7.4])).tolist()
    [0.0, 0.0, 5.0]
    >>> Rounding(5, ties="up").perturb(np.array([1.0, 2.5, -2.5])).tolist()
    [0.0, 5.0, 0.0]
    >>> Rounding(6, "midpoint").perturb(np.array([0.0, 1.0, 6.0, 7.0])).tolist()
    [0.0, 3.0, 3.0, 9.0]
    """

    base: float
    mode: str = "nearest"
    ties: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "base", above_zero("base", self.base))
        if self.mode not in _MODES:
            raise invalid("mode", f"one of {', '.join(map(repr, _MODES))}", self.mode)
        if self.ties is not None and self.ties not in _TIES:
            raise invalid("ties", f"one of {', '.join(map(repr, _TIES))}, or left out", self.ties)
        if self.ties is not None and self.mode != "nearest":
            raise invalid("ties", "left out unless mode is 'nearest'", self.ties)

    @property
    def biased(self) -> bool:
        return self.mode != "random"

    @property
    def mean_size(self) -> float:
        return self.base / 2  # at random, of a value half-way between two multiples

    @property
    def std(self) -> float:
        return self.base / math.sqrt(6.0 if self.random else 12.0)

    @property
    def bound(self) -> float:
        return self.base / 2 if self.mode == "nearest" else self.base

    @property
    def _shift(self) -> float:
        """How far a midpoint lies below the end of its interval."""
        return math.floor(self.base / 2) if self.base == math.floor(self.base) else self.base / 2

    @property
    def half_width(self) -> float:
        # the triangular law of random rounding is that of two uniform errors of this half-width
        return self.base / 2

    @property
    def random(self) -> bool:
        return self.mode in ("random", "controlled")

    def prepare(self, statistic: Statistic, public: Public) -> Rounding:
        """The rounding itself; an error for midpoints of anything but counts with a whole base."""
        if self.mode == "midpoint":
            check_counts(self, statistic)
            if statistic.units(public) != 1 or self.base != math.floor(self.base):
                rule = "of counts to a whole base, if it is rounding to midpoints"
                raise invalid("protect", rule, f"base {self.base:g} of {statistic.describe()}")
        return self

    def as_published(self) -> Rounding:
        """The rounding with halves to even, if it goes to the nearest and does not say where they go."""
        return replace(self, ties="even") if self.mode == "nearest" and self.ties is None else self

    def leaves_counts(self, statistic: Statistic, public: Public) -> bool:
        """Whether one person in a published value is a multiple of the base."""
        if self.mode == "midpoint" or not statistic.counts_people or statistic.sensitivity(public) is None:
            return False  # midpoints are not multiples; means may be of real numbers
        multiples = 1 / (statistic.units(public) * self.base)
        return round(multiples) >= 1 and abs(multiples - round(multiples)) < _WHOLE * multiples

    def before(self, low: Array, high: Array, step: float) -> tuple[Array, Array]:
        """The least and the largest value that may have been rounded to a value from ``low`` to ``high``.

        Notes
        -----
        To the nearest: within base/2 of the multiples; a half only if the rule of ties lets it go to that
        multiple. At random: less than a base away, since multiples do not move; for whole numbers at most
        base − 1. Without a multiple in between, nothing. To midpoints: zero, and the intervals whose middle
        is between the ends. Nothing else undoes rounding, and nothing else reads the rule for that.
        """
        if self.mode == "midpoint":
            return self._before_midpoint(low, high, step)
        with np.errstate(invalid="ignore"):
            least = np.ceil(low / self.base - _LOOSE)
            most = np.floor(high / self.base + _LOOSE)
            none = least > most
            least, most = np.where(none, np.inf, least), np.where(none, -np.inf, most)
            if self.mode == "nearest":
                return self._before_nearest(least, most, step)
            ends = (least - 1) * self.base, (most + 1) * self.base
            if not step:
                return ends[0] + 4 * _MULTIPLE * self.base, ends[1] - 4 * _MULTIPLE * self.base
            return (
                (np.floor(ends[0] / step + _MULTIPLE) + 1) * step,
                (np.ceil(ends[1] / step - _MULTIPLE) - 1) * step,
            )

    def _before_midpoint(self, low: Array, high: Array, step: float) -> tuple[Array, Array]:
        """The intervals whose middle is from ``low`` to ``high``, and zero if that is in between."""
        with np.errstate(invalid="ignore"):
            least = np.ceil((low + self._shift) / self.base - _LOOSE)
            most = np.floor((high + self._shift) / self.base + _LOOSE)
            zero = (low <= _LOOSE * self.base) & (high >= -_LOOSE * self.base)
            near = step or 4 * _MULTIPLE * self.base
            bottom = (least - 1) * self.base
            top = most * self.base
            first = (np.floor(bottom / near + _MULTIPLE) + 1) * near if step else bottom + near
            last = np.floor(top / near + _MULTIPLE) * near if step else top
            last = np.where(most == 0, last - near, last)  # zero itself stays zero
            none = least > most
            nothing = np.where(zero, 0.0, np.inf), np.where(zero, 0.0, -np.inf)
            return (
                np.vstack([np.where(none, np.inf, first), nothing[0]]),
                np.vstack([np.where(none, -np.inf, last), nothing[1]]),
            )

    def last_below(self, limit: float) -> float:
        """The largest possible rounded value below a limit."""
        shift = self._shift if self.mode == "midpoint" else 0.0
        found = (math.ceil((limit + shift) / self.base - _MULTIPLE) - 1) * self.base - shift
        return max(found, 0.0) if self.mode == "midpoint" and limit > 0 else found

    def _before_nearest(self, least: Array, most: Array, step: float) -> tuple[Array, Array]:
        """The multiples of the step that are rounded to a multiple of the base from ``least`` to ``most``."""
        ends = (least - 0.5) * self.base, (most + 0.5) * self.base
        if not step:
            return ends
        # the last digits are rounded, those of large numbers by more than the room for small ones
        first, last = (np.multiply.outer((1 - _DIGITS, 1 + _DIGITS), end / step) for end in ends)
        low = np.ceil(first.min(axis=0) - _MULTIPLE) * step
        high = np.floor(last.max(axis=0) + _MULTIPLE) * step
        if step != round(step) or self.base != round(self.base):  # whoever rounds may miss a half
            return low, high
        # a half at the lower end must have gone up, one at the upper end down
        lost_below = (low == ends[0]) & ~self._may_go(least - 1, up=True)
        lost_above = (high == ends[1]) & ~self._may_go(most, up=False)
        return np.where(lost_below, low + step, low), np.where(lost_above, high - step, high)

    def _may_go(self, below: Array, *, up: bool) -> npt.NDArray[np.bool_]:
        """Whether the value half-way between a multiple, in bases, and the next may go up, or down."""
        if self.ties in (None, "unknown"):
            return np.ones(below.shape, dtype=bool)
        return np.asarray(self._goes_up(below) == up)

    def _goes_up(self, below: Array) -> npt.NDArray[np.bool_]:
        """Whether publishing rounds up the value half-way between a multiple, in bases, and the next."""
        if self.ties == "up":
            return np.ones(below.shape, dtype=bool)
        if self.ties == "away":
            return np.asarray(below >= 0)
        return np.asarray(below % 2 != 0)

    def step_after(self, step: float) -> float:
        if self.mode != "midpoint":
            return self.base
        return self.base / 2 if self._shift == self.base / 2 else 1.0

    @property
    def gives(self) -> str:  # type: ignore[override]
        return f"rounding to {self.base:g}"

    def cannot_give(self, values: Array) -> npt.NDArray[np.bool_]:
        """Which values are no multiples of the base, or no midpoints."""
        midpoint = self.mode == "midpoint"
        ratio = (values + self._shift if midpoint else values) / self.base
        whole = np.abs(ratio - np.rint(ratio)) <= _LOOSE * np.maximum(1.0, np.abs(ratio))
        return ~np.asarray(whole | (midpoint & (np.abs(values) <= _LOOSE * self.base)))

    @property
    def gives_multiples(self) -> bool:
        return True

    @property
    def sums_within(self) -> float | None:
        """The base, if rounding is controlled: sums of neighbours go to a multiple next to them."""
        return self.base if self.mode == "controlled" else None

    def of_whole(self, counts: Array) -> Array | None:
        """By how much whole counts are off at most that were rounded to the nearest of a whole base.

        Notes
        -----
        With an odd base r, a count is off by at most (r − 1)/2. With an even base there are halves, and the
        rule of ties says which multiples they go to: those are off by at most r/2, the others by at most
        r/2 − 1. None for anything but multiples.
        """
        if self.mode != "nearest" or self.base < 1 or self.base != math.floor(self.base):
            return None
        if not np.allclose(np.rint(counts / self.base) * self.base, counts):
            return None
        low, high = self.before(counts, counts, 1.0)
        return np.maximum(counts - low, high - counts)

    def sample(self, size: int | tuple[int, ...], rng: Rng = None) -> Array:
        generator = as_rng(rng)
        half = self.base / 2
        drawn = generator.uniform(-half, half, size)
        return drawn + generator.uniform(-half, half, size) if self.random else drawn

    def logpdf(self, x: npt.ArrayLike) -> Array:
        """The log-density at x of evenly spread values: uniform, or triangular for the random modes."""
        distance = np.abs(np.asarray(x, dtype=float)) / self.base
        with np.errstate(divide="ignore"):
            if not self.random:
                return np.where(distance <= 0.5, -math.log(self.base), -np.inf)
            return np.asarray(np.log(np.maximum(1 - distance, 0.0)) - math.log(self.base))

    def scaled(self, factor: float) -> Rounding:
        turned = factor < 0 and self.ties == "up"  # then halves go down, which no rule says
        return Rounding(self.base * abs(factor), self.mode, "unknown" if turned else self.ties)

    def perturb(self, values: Array, rng: Rng = None, context: Context | None = None) -> Array:
        """The values rounded; in mode "controlled", each table still adds up."""
        if self.mode == "nearest":
            return self._to_nearest(values / self.base) * self.base
        if self.mode == "midpoint":
            ends = np.ceil(values / self.base - _MULTIPLE) * self.base
            return np.where(np.abs(values) <= _MULTIPLE * self.base, 0.0, ends - self._shift)
        if self.mode == "controlled" and context is not None and len(context.tables):
            return self._controlled(values, context.tables, as_rng(rng))
        whole, rest = self._split(values)
        return (whole + (as_rng(rng).random(values.shape) < rest)) * self.base

    def _to_nearest(self, ratio: Array) -> Array:
        """Each number to the nearest whole one; what is half-way up to floating-point error is a half."""
        below = np.floor(ratio)
        over = ratio - below
        half = np.abs(over - 0.5) <= _DIGITS * np.maximum(1.0, np.abs(ratio))
        return below + np.where(half, self._goes_up(below), over > 0.5)

    def _controlled(self, values: Array, tables: CellLayout, rng: np.random.Generator) -> Array:
        out = values.copy()
        shared = rng.random()  # decides which way equal totals go
        for _, chosen, cells in tables.alike():
            whole, rest = self._split(values[cells])
            reach = np.cumsum(np.nan_to_num(rest), axis=1)
            up = _systematic(reach, shared, rng.random(chosen.size))
            out[cells] = (whole + up) * self.base
        return out

    def _split(self, values: Array) -> tuple[Array, Array]:
        """How many times the base fits in each value, and the rest as a share of the base."""
        ratio = values / self.base
        near = np.rint(ratio)
        ratio = np.where(np.abs(ratio - near) <= _MULTIPLE * np.maximum(1.0, np.abs(near)), near, ratio)
        whole = np.floor(ratio)
        return whole, ratio - whole


def either_way(protections: Sequence[Protection]) -> tuple[Protection, ...]:
    """The protections as seen by somebody who does not know where halves went."""
    return tuple(
        replace(one, ties="unknown") if isinstance(one, Rounding) and one.ties else one for one in protections
    )


def _systematic(reach: Array, shared: float, fresh: Array) -> Array:
    """Which steps of each row's running sum pass a whole number after a random start.

    The start is uniform. ``shared`` decides for all rows whose sums end alike whether they end above or below
    the next whole number; ``fresh`` draws the start within the matching part of [0, 1).
    """
    last = reach[:, -1]
    part = np.maximum(last - np.floor(last + _MULTIPLE), 0.0)
    goes_up = shared >= 1 - part
    start = np.where(goes_up, 1 - part + fresh * part, fresh * (1 - part))
    final = (np.floor(last + _MULTIPLE) + goes_up)[:, None]
    passed = np.minimum(np.floor(reach + start[:, None]), final)
    passed = np.where(reach >= last[:, None] - _MULTIPLE, final, passed)  # nothing is left to pass
    return np.diff(passed, axis=1, prepend=0.0)
