"""The attack on real secrets: everybody's number, not rounded, and how far off it may be."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from tellall.attack.reconstruct.decoders import Decoded
from tellall.core.errors import invalid
from tellall.evidence.evidence import Evidence, System
from tellall.linalg.operators.linear_operator import Array, IntArray, LinearOperator
from tellall.linalg.posterior.hierarchy import Hierarchy, HierarchyPosterior, UnitMoments
from tellall.linalg.solvers.least_squares import BoxProblem, LeastSquares
from tellall.linalg.solvers.solution import Status
from tellall.people.dataset import Public
from tellall.statistics.numbers import power_of_two

__all__ = [
    "NEEDS_PRIOR",
    "Beforehand",
    "DecodedReals",
    "Decompose",
    "Whitened",
    "certain_limits",
    "decode_reals",
    "effects_of",
    "whiten",
]

Decompose = Callable[["System"], "Whitened"]

NORMAL = 1.959963984540054  # the 97.5 % quantile of the normal law
NEEDS_PRIOR = "give the prior if it is known"  # what only those can do who attack by themselves
_MOST_ENTRIES = 200_000_000
_MOST_EFFECTS, _MOST_INDICATORS, _MOST_LEVELS = 15, 300, 20  # of public columns
_REHEARSED, _FEWEST, _MOST_WORK = 24, 4, 20_000_000  # imagined populations; people × equations in all of them
# standard deviations by which spreads differ beyond luck, fewest people with a value, and how often
# imagined populations are made more like the people
_UNEVEN, _GROUP, _LIKENINGS = 2.0, 5, 4
_ROUNDING = 1e-8  # of the estimates: what is left of them about the effects is no more than rounding errors
_FACTOR = (0.8, 1.5)  # by how much rehearsed intervals may differ from the normal law's
_APART, _SHARE = 1.6, 0.1  # deviations this far apart are vague; if they are for this share, nothing is known
_TAIL = 0.05  # of the candidates' weight, on either side
_SUPPORT = 20.0  # a smaller gain in log-likelihood does not show that people differ
_ROUNDS, _MOST_LIMITED = 10, 20_000_000
_FAR = 1e3  # spreads from the mean, in place of an unknown limit
_HALVINGS = 60  # of an interval: as many as double precision resolves
_ROOM = 1e-9  # for floating point, as a share of what is added up


@dataclass(frozen=True)
class Beforehand:
    """What the attacker knows about the numbers before any release.

    ``low`` and ``high`` limit everybody's number; ``mean`` and ``spread`` are over all people, if known.
    """

    low: float = -np.inf
    high: float = np.inf
    mean: float | None = None
    spread: float | None = None

    @classmethod
    def of(
        cls,
        bounds: tuple[float | None, float | None] | None,
        prior: float | Sequence[float] | Array | None = None,
    ) -> Beforehand:
        """Returns the knowledge from bounds (None or infinite for no limit) and a prior (mean, spread)."""
        low, high = (-np.inf, np.inf) if bounds is None else _check_bounds(bounds)
        if prior is None:
            return cls(low, high)
        try:
            mean, spread = map(float, prior)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            mean, spread = np.nan, np.nan
        if not (np.isfinite([mean, spread]).all() and spread > 0):
            rule = "the mean and the standard deviation over people, since the secret is a real number"
            raise invalid("prior", rule, prior)
        return cls(low, high, mean, spread)

    @property
    def width(self) -> float:
        """About how far apart the limits are, a power of two; 0 if nothing is known about that."""
        ends = [end for end in (self.low, self.high) if np.isfinite(end)]
        apart = max(ends, default=0.0) - min(ends, default=0.0)
        size = apart or max(map(abs, ends), default=0.0) or self.spread or 0.0
        return power_of_two(size)

    def in_unit(self, unit: float) -> Beforehand:
        """Returns the same about numbers measured in this unit."""
        mean, spread = (None if each is None else each / unit for each in (self.mean, self.spread))
        return Beforehand(self.low / unit, self.high / unit, mean, spread)

    @property
    def limited(self) -> bool:
        """Whether there is a limit."""
        return bool(np.isfinite(self.low) or np.isfinite(self.high))

    def of_mean(self) -> tuple[float, float]:
        """Returns what is known about the mean over people: a value and how far off it may be."""
        if self.mean is not None:
            return self.mean, 0.1 * (self.spread or 1.0)
        if np.isfinite(self.high - self.low):
            return (self.low + self.high) / 2, (self.high - self.low) / 2
        return 0.0, np.inf


def _check_bounds(bounds: tuple[float | None, float | None]) -> tuple[float, float]:
    rule = "two numbers, the least and the largest value (None for no limit)"
    try:
        low, high = bounds
        low, high = -np.inf if low is None else float(low), np.inf if high is None else float(high)
    except (TypeError, ValueError):
        raise invalid("bounds", rule, bounds) from None
    if not low < high or (np.isinf(low) and np.isinf(high)) or low == np.inf or high == -np.inf:
        raise invalid("bounds", "two numbers, the first below the second", bounds)
    return low, high


@dataclass(frozen=True, eq=False)
class DecodedReals(Decoded):
    """Each unknown is the sum of a group's numbers; the attributes below are about each person.

    The sums are those that fit the values best, before any estimate is moved to what is certain about it.

    Attributes
    ----------
    estimate, half
        Everybody's number, and half the width of its 95 % interval before any limit is applied.
    low, high
        The 95 % interval.
    mean, spread
        The mean and the standard deviation over people.
    known
        What was known before any release.
    sized
        Whether anything shows how large numbers are; if not, the intervals mean nothing.
    """

    estimate: Array = field(kw_only=True)
    half: Array = field(kw_only=True)
    low: Array = field(kw_only=True)
    high: Array = field(kw_only=True)
    mean: float = field(kw_only=True)
    spread: float = field(kw_only=True)
    known: Beforehand = field(kw_only=True)
    sized: bool = field(default=True, kw_only=True)

    def times(self, unit: float, known: Beforehand) -> DecodedReals:
        """Returns the same for numbers that are ``unit`` times as large."""
        names = ("value", "estimate", "half", "low", "high", "mean", "spread")
        return replace(self, known=known, **{name: unit * getattr(self, name) for name in names})


@dataclass(frozen=True, eq=False)
class Whitened:
    """The equations of a real secret in units of their noise, and their singular value decomposition.

    Attributes
    ----------
    operator, spread
        The equations, and the standard deviation of the error of each.
    rows
        One column per group, for its mean value times √size, which has the variance of one person; each row
        is divided by its spread as a share of the largest, ``size``.
    left, singular, right
        rows/size = left · diag(singular) · right, as many singular values as there are rows or columns.
    """

    operator: LinearOperator
    spread: Array
    rows: Array
    size: float
    left: Array
    singular: Array
    right: Array

    @classmethod
    def of(cls, system: System) -> Whitened:
        """Returns the whitened equations of a system; O(m n min(m, n))."""
        rows, size = whiten(system)
        left, singular, right = np.linalg.svd(rows, full_matrices=False)
        largest = np.abs(right).argmax(axis=1)  # fixes signs on every machine and for every multiple
        signs = np.where(right[np.arange(largest.size), largest] < 0, -1.0, 1.0)
        left, right = left * signs, right * signs[:, None]
        return cls(system.operator, system.rows.spread, rows, size, left, singular / size, right)

    def turn(self, target: Array) -> Array:
        """Returns the values, in units of their noise, along the left singular vectors."""
        share, size = _shares(self.spread)
        return np.asarray(self.left.T @ (target / (share * size)))


def _shares(spread: Array) -> tuple[Array, float]:
    """Returns each row's spread as a share of the largest, to twelve digits, and the largest.

    The same for every unit to the last bit: of equal singular values any turn of the vectors would do, and
    the smallest difference would choose another one.
    """
    size = float(spread.max(initial=0.0)) or 1.0
    share = spread / size
    return np.array([float(f"{each:.11e}") for each in share]), size


def whiten(system: System) -> tuple[Array, float]:
    """Returns the equations as a matrix, in units of their noise times that number; see `Whitened`."""
    rows, groups = system.operator.shape
    if rows * groups > _MOST_ENTRIES:
        raise invalid(
            "releases",
            f"of at most {_MOST_ENTRIES:,} equations × people, when the secret is a real number",
            f"{rows} × {groups}",
        )
    share, size = _shares(system.rows.spread)
    return np.asarray(system.operator.to_dense() * np.sqrt(system.size) / share[:, None]), size


def decode_reals(
    evidence: Evidence, public: Public, known: Beforehand | None = None, decompose: Decompose = Whitened.of
) -> DecodedReals:
    """Returns everybody's number with its 95 % interval, and the mean and spread over people.

    Notes
    -----
    The model: numbers are normal around a mean plus effects of the public columns (`effects_of`). Mean,
    effects and variances are uncertain, and the estimate is the posterior mean over all of them
    (`Hierarchy`). The intervals are rehearsed: populations are drawn from the posterior and decoded from the
    values that they would give, and deviations are multiplied by the factor that puts 95 % of these numbers
    inside. The status is "trusted" if that factor is near 1 and the values show how much people differ.
    Otherwise it is "uncalibrated", and intervals are as wide as under the widest candidate that the values
    allow.

    Where estimates pass the limits, the estimate is the most probable point within them. Intervals are cut at
    what is certain (`certain_limits`). Takes one singular value decomposition of the whitened operator, which
    ``decompose`` may know already; the rest is O(m n) a few dozen times.
    """
    beforehand = Beforehand() if known is None else known
    unit = evidence.unit or beforehand.width or 1.0
    decoded = _decoded(
        evidence.in_unit(unit), unit, public, beforehand.in_unit(unit), decompose(evidence.system)
    )
    return decoded.times(unit, beforehand)


def _decoded(
    evidence: Evidence, unit: float, public: Public, beforehand: Beforehand, parts: Whitened
) -> DecodedReals:
    """Returns the numbers in this unit; only ``parts`` are in the unit of what was published."""
    told = None if beforehand.spread is not None else evidence.numbers.moments
    if told is not None:
        beforehand = replace(beforehand, mean=told.mean, spread=told.spread)
    system, index = evidence.system, evidence.groups.index
    values = parts.turn(unit * system.rows.target)
    mean, about = beforehand.of_mean()
    model = Hierarchy(
        unit * parts.singular,
        parts.right,
        system.size,
        index,
        effects_of(public),
        mean,
        about,
        beforehand.spread,
        (beforehand.high - beforehand.low) / 2,
        *(() if told is None else (told.rest, told.line)),
    )
    found = model.posterior(values)
    moments = found.moments
    factor = _rehearse(found, public)
    status = _trusted(found, factor)
    estimate, spread = moments.mean, moments.std
    if not status.settled:  # the posterior is not known to hold
        factor, spread = max(factor, 1.0), found.widest
    half = NORMAL * factor * spread
    low, high = estimate - half, estimate + half
    least, most = certain_limits(evidence, beforehand)
    if beforehand.limited and (estimate.min() < beforehand.low or estimate.max() > beforehand.high):
        estimate, boxed = _within(system, index, found, beforehand)
        status = status if boxed.settled else boxed
    value = _sums(estimate, index, system.size)
    if (least > most + 1e-6 * (1 + np.abs(most))).any():
        status = Status("contradictory", "no numbers have the values that were published")
    elif np.isfinite(least).any() or np.isfinite(most).any():
        estimate = np.clip(estimate, least, most)
        low, high = np.clip(low, least, most), np.clip(high, least, most)
        low, high = np.minimum(low, estimate), np.maximum(high, estimate)
    return DecodedReals(
        value,
        status,
        "least-squares",
        {"stretch": factor},
        estimate=estimate,
        half=half,
        low=low,
        high=high,
        mean=found.mean,
        spread=beforehand.spread or found.spread,
        known=beforehand,
        sized=bool(values.size or beforehand.spread or np.isfinite(beforehand.high - beforehand.low)),
    )


def _sums(numbers: Array, index: IntArray, size: Array) -> Array:
    """Returns the sum over the people of each group."""
    return np.asarray(np.bincount(index, numbers, minlength=size.size), dtype=np.float64)


def effects_of(public: Public) -> Array:
    """Returns a one and the principal components of the public columns, one row per person.

    Numbers are standardised, categories become indicators. There are at most fifteen components, and no more
    than a third of the number of people; their squares sum to one on average. Columns of more than 20
    categories are not used, and no column is used if there are more than 300 indicators and numbers.
    """
    known, key = public.memory, "effects"
    if key not in known:
        known[key] = _effects(public)
    return np.asarray(known[key])


def _effects(public: Public) -> Array:
    ones, columns = np.ones((public.n, 1)), []
    for place, column in enumerate(public.columns):
        numbers = public.numbers[place] if public.numbers else None
        if numbers is not None and np.isfinite(numbers).all():
            columns.append(np.asarray(numbers, dtype=np.float64))
        elif column.levels <= _MOST_LEVELS:
            codes = np.asarray(public.codes[place])
            columns += [(codes == value).astype(np.float64) for value in range(column.levels)]
        if len(columns) > _MOST_INDICATORS:
            return ones
    if not columns or public.n < 3:
        return ones
    table = np.stack(columns, axis=1)
    table -= table.mean(axis=0)
    spread = table.std(axis=0)
    table = table[:, spread > 0] / spread[spread > 0]
    energy, axes = np.linalg.eigh(table.T @ table)
    kept = np.flatnonzero(energy > 1e-9 * energy[-1])[::-1][: min(_MOST_EFFECTS, public.n // 3)]
    scores = table @ axes[:, kept]
    return np.hstack([ones, scores / np.sqrt(np.mean((scores**2).sum(axis=1)))])


def _rehearse(found: HierarchyPosterior, public: Public) -> float:
    """Returns the factor on deviations that puts 95 % of the people of imagined populations inside.

    Notes
    -----
    The model has one spread about the effects for everybody. If the people with some value of a public column
    look more or less spread out than those of the imagined populations, others are imagined that differ as
    much, until they look like the people, and the larger factor counts.
    """
    model, rng = found.model, np.random.default_rng(0)
    if not model.singular.size:
        return 1.0
    work = model.index.size * model.singular.size
    times = int(np.clip(_MOST_WORK // max(work, 1), _FEWEST, _REHEARSED))
    truth, values = found.imagine(times, rng)
    moments = found.others(values)
    factor = _off(truth, moments)
    codes = _uneven_column(found, moments, public)
    if codes is None:
        return factor
    log = np.zeros(int(codes.max()) + 1)
    for _ in range(_LIKENINGS):
        log += _spread_apart(found, moments, codes)[0]
        uneven = np.exp(log)[codes]
        truth, values = found.imagine(times, rng, uneven / uneven.mean())
        moments = found.others(values)
    return max(factor, _off(truth, moments))


def _off(truth: Array, moments: UnitMoments) -> float:
    """Returns the factor on these deviations that puts 95 % of the people inside."""
    off = np.abs(truth - moments.mean) / np.maximum(moments.std, 1e-300)
    return float(np.quantile(off, 0.95)) / NORMAL


def _spread_apart(found: HierarchyPosterior, imagined: UnitMoments, codes: IntArray) -> tuple[Array, Array]:
    """Returns by how much the spread of the people of each code looks larger than in imagined populations.

    It is the logarithm of the mean square of the estimates about the effects, as a share of everybody's. Also
    returns how far that is off by luck. Values that are about nothing but effects, as those of linear fits,
    leave rounding errors about them and show no difference.
    """
    basis = np.linalg.qr(found.model.covariates)[0]
    estimates = np.column_stack([found.moments.mean, imagined.mean])
    squares = (estimates - basis @ (basis.T @ estimates)) ** 2
    if (squares.mean(axis=0) <= _ROUNDING**2 * (estimates**2).mean(axis=0)).any():
        return np.zeros(int(codes.max()) + 1), np.ones(int(codes.max()) + 1)
    sums = np.stack([np.bincount(codes, each) for each in squares.T], axis=1)
    shares = sums / np.bincount(codes)[:, None] / np.maximum(squares.mean(axis=0), 1e-300)
    seen = np.log(np.maximum(shares, 1e-9))
    return seen[:, 0] - seen[:, 1:].mean(axis=1), seen[:, 1:].std(axis=1, ddof=1)


def _uneven_column(found: HierarchyPosterior, imagined: UnitMoments, public: Public) -> IntArray | None:
    """Returns the codes of the public column by which spreads differ most, if by more than luck explains."""
    best, chosen = _UNEVEN, None
    for codes in _few_valued(public):
        away, luck = _spread_apart(found, imagined, codes)
        far = float((np.abs(away) / np.maximum(luck, 1e-9)).max())
        if far > best:
            best, chosen = far, codes
    return chosen


def _few_valued(public: Public) -> Iterator[IntArray]:
    """Yields the codes of columns with 2 to 20 values; of others, whether people are above the median."""
    for place, column in enumerate(public.columns):
        codes = np.asarray(public.codes[place])
        numbers = public.numbers[place] if public.numbers else None
        if 2 <= column.levels <= _MOST_LEVELS:
            _, codes = np.unique(codes, return_inverse=True)
        elif numbers is not None and np.isfinite(numbers).all():
            codes = (numbers > np.median(numbers)).astype(np.intp)
        else:
            continue
        size = np.bincount(codes)
        if size.size > 1 and size.min() >= _GROUP:
            yield codes


def _trusted(found: HierarchyPosterior, factor: float) -> Status:
    """Whether the intervals hold: the values show how much people differ, and rehearsals agree."""
    weights, order = found.weights, np.argsort(found.deviations, axis=0)
    ranked = np.take_along_axis(found.deviations, order, axis=0)
    cumulated = np.cumsum(weights[order], axis=0) / weights.sum()
    people = np.arange(ranked.shape[1])
    narrow = ranked[np.argmax(cumulated >= _TAIL, axis=0), people]
    wide = ranked[np.argmax(cumulated >= 1 - _TAIL, axis=0), people]
    vague = float(np.mean(wide > _APART * narrow))
    unseen = found.model.spread is None and found.support < _SUPPORT
    if unseen or vague > _SHARE:
        reason = "the values do not show how much people differ, so intervals may be far too wide or narrow"
        ask = NEEDS_PRIOR if found.model.spread is None else ""
        return Status("uncalibrated", reason, ("spread-unknown",), ask)
    if not _FACTOR[0] <= factor <= _FACTOR[1]:
        reason = f"rehearsed intervals are off by a factor of {factor:.2g}"
        corrected = f"{reason}; they are corrected by it, but may still be off"
        return Status("uncalibrated", corrected, ("failed-rehearsal",))
    return Status("trusted")


def _within(
    system: System, index: IntArray, found: HierarchyPosterior, known: Beforehand
) -> tuple[Array, Status]:
    """Returns the most probable point within the limits, at the most likely setting."""
    (given, beta), size = found.best(), system.size
    usual = found.model.covariates[:, : given.used] @ beta
    centre = _sums(usual, index, size)
    spread = max(float(np.sqrt(given.variance)), 1e-300)
    ends = [each for each in (known.low, known.high) if np.isfinite(each)]
    far = _FAR * max(spread, *np.abs([usual.min(), usual.max(), *ends]))
    low = max(known.low, min(float(usual.min()), known.high) - far)
    high = min(known.high, max(float(usual.max()), known.low) + far)
    problem = BoxProblem(
        system.operator, 1 / system.rows.spread**2, 1 / (spread**2 * size), centre, low * size, high * size
    )
    solution = LeastSquares().prepare(problem).solve(system.rows.target)
    return _share_out(solution.value, usual, index, known), solution.status


def _share_out(total: Array, usual: Array, index: IntArray, known: Beforehand) -> Array:
    """Returns the numbers within the limits that are nearest to the usual ones and have each group's total.

    Within a group all are moved by the same amount and then cut at the limits: if they were only cut, they
    would no longer add up. The amount is found by bisection.
    """
    size = np.bincount(index).astype(np.float64)
    even = (total - _sums(usual, index, size)) / size
    own = usual + even[index]
    if own.min() >= known.low and own.max() <= known.high:
        return own
    ends = np.full((2, size.size), np.inf)
    np.minimum.at(ends[0], index, usual)
    np.minimum.at(ends[1], index, -usual)
    low = known.low + ends[1] if np.isfinite(known.low) else even
    high = known.high - ends[0] if np.isfinite(known.high) else even
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        own = np.clip(usual + middle[index], known.low, known.high)
        above = _sums(own, index, size) > total
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return own


def certain_limits(evidence: Evidence, known: Beforehand) -> tuple[Array, Array]:
    """Returns the least and the largest number that each person can have, by values with bounded errors.

    Notes
    -----
    A row says that Σ a_g t_g lies within [z − b, z + b]. So a group's sum t_g is at most what the row allows
    minus the least that the other groups must take, and likewise from below; this is repeated at most ten
    times. Within a group, one person has at most the group's sum minus the least of the others. An exact sum
    of numbers that are not negative limits its largest contributor: this is what the rules of agencies bound.
    Each row is widened by 1e-9 of all that is added up in it, so that rounding excludes nothing.
    """
    system, index = evidence.system, evidence.groups.index
    lower, upper = known.low * system.size, known.high * system.size
    rows = np.flatnonzero(np.isfinite(system.rows.bound) & (system.rows.bound >= 0))
    if rows.size and rows.size * system.size.size <= _MOST_LIMITED and known.limited:
        matrix = system.operator.to_dense()[rows].astype(np.float64)
        target, bound = system.rows.target[rows], system.rows.bound[rows]
        ends = (target - bound, target + bound)
        for _ in range(_ROUNDS):
            last = lower, upper
            lower, upper = _tighter(matrix, *ends, lower, upper)
            if np.array_equal(last[0], lower) and np.array_equal(last[1], upper):
                break
    others = system.size - 1
    with np.errstate(invalid="ignore"):
        most = np.where(others == 0, upper, upper - np.where(others == 0, 0.0, others * known.low))
        least = np.where(others == 0, lower, lower - np.where(others == 0, 0.0, others * known.high))
    least, most = (
        np.nan_to_num(side, nan=far, posinf=np.inf, neginf=-np.inf)
        for side, far in ((least, -np.inf), (most, np.inf))
    )
    told = evidence.numbers
    least, most = np.maximum(least, known.low)[index], np.minimum(most, known.high)[index]
    return np.maximum(least, told.low), np.minimum(most, told.high)


def _tighter(matrix: Array, low: Array, high: Array, lower: Array, upper: Array) -> tuple[Array, Array]:
    """Returns tighter bounds on each unknown after one round: from every row and the bounds on the others."""
    up, down = np.maximum(matrix, 0.0), np.minimum(matrix, 0.0)

    def left(end: Array, sign: float, first: Array, second: Array) -> Array:
        """Returns what a row's end leaves to each entry beside the others (NaN if one is infinite)."""
        with np.errstate(invalid="ignore"):
            parts = np.where(up > 0, up * first, 0.0) + np.where(down < 0, down * second, 0.0)
        endless = np.isinf(parts)
        parts[endless] = 0.0
        others = endless.sum(axis=1, keepdims=True) - endless
        room = sign * _ROOM * (np.abs(end) + np.abs(parts).sum(axis=1))
        return np.where(others > 0, np.nan, (end + room - parts.sum(axis=1))[:, None] + parts)

    most = left(high, 1.0, lower, upper)  # the others take the least that they can
    least = left(low, -1.0, upper, lower)
    with np.errstate(divide="ignore", invalid="ignore"):
        top = np.where(matrix > 0, most, least) / matrix
        bottom = np.where(matrix > 0, least, most) / matrix
    said = matrix != 0
    top = np.where(said & np.isfinite(top), top, np.inf).min(axis=0)
    bottom = np.where(said & np.isfinite(bottom), bottom, -np.inf).max(axis=0)
    return np.maximum(lower, bottom), np.minimum(upper, top)
