"""What each protection can publish of a count, written down forwards once more, by its definition."""

import numpy as np

import tellall as ta

Interval = tuple[float, float]  # what a value may be; a single number where both ends are equal
TABLE = {-1: 0.25, 0: 0.5, 1: 0.25}
GAPPED = {-2: 0.25, 0: 0.5, 2: 0.25}

ALONE = [
    ta.Rounding(2),
    ta.Rounding(2, ties="unknown"),
    ta.Rounding(2, ties="up"),
    ta.Rounding(3),
    ta.Rounding(4, ties="even"),
    ta.Rounding(4, ties="away"),
    ta.Rounding(5),
    ta.Rounding(2, "random"),
    ta.Rounding(3, "random"),
    ta.Rounding(5, "random"),
    ta.Rounding(3, "controlled"),
    ta.Rounding(3, "midpoint"),
    ta.Rounding(4, "midpoint"),
    ta.CellKey(TABLE, key=7),
    ta.CellKey(GAPPED, key=7),
    ta.TruncatedNormal(1.0, 0.7),
    ta.TruncatedNormal(1.0, 1.6),
    ta.Suppression(2),
    ta.Suppression(3),
    ta.Suppression(3, complementary=True),
    ta.Gaussian(1.0),
    ta.DiscreteGaussian(0.6),
]


def _midpoints(low: float, high: float, base: float) -> list[float]:
    """What values from low to high are published as: ⌈v/base⌉ base − ⌊base/2⌋, and zero as zero."""
    first, last = np.ceil(low / base - 1e-9), np.ceil(high / base - 1e-9)
    steps = [k for k in np.arange(first, last + 1) if k != 0 or low < -1e-9]
    zero = [0.0] if low <= 1e-9 and high >= -1e-9 else []
    return zero + [k * base - base // 2 for k in steps]


def _nearest(value: float, base: float, ties: str | None) -> list[float]:
    """The multiples, in bases, that a value can be rounded to."""
    below = float(np.floor(value / base))
    over = value / base - below
    if over != 0.5:
        return [below + (over > 0.5)]
    if ties == "even":
        return [below + below % 2]
    if ties in ("up", "away"):
        return [below + (ties == "up" or value > 0)]
    return [below, below + 1]  # nobody said


def after(one: ta.Protection, reached: list[Interval], count: int) -> tuple[list[Interval], bool]:
    """Everything that a protection can make of these values of a cell of that count, and whether it hides."""
    out: list[Interval] = []
    hidden = False
    for low, high in reached:
        if isinstance(one, ta.Rounding) and np.isinf(low):
            out.append((low, high))  # any multiple
        elif isinstance(one, ta.Rounding):
            if one.mode == "midpoint":
                out += [(each, each) for each in _midpoints(low, high, one.base)]
                continue
            if one.mode == "nearest":
                first = min(_nearest(low, one.base, one.ties))
                last = max(_nearest(high, one.base, one.ties))
            else:
                first, last = np.floor(low / one.base + 1e-9), np.ceil(high / one.base - 1e-9)
            out += [(m * one.base, m * one.base) for m in np.arange(first, last + 1)]
        elif isinstance(one, ta.CellKey):
            out += [(low + e, high + e) for e, _ in one.table] if count else [(low, high)]
        elif isinstance(one, ta.TruncatedNormal):
            out.append((low - one.bound, high + one.bound))
        elif isinstance(one, ta.Suppression):
            hidden |= low < one.below
            if high >= one.below:
                out.append((max(low, one.below), high))
            if one.complementary:
                hidden = True  # any cell may be hidden to protect another
        else:
            out.append((-np.inf, np.inf))
    return out, hidden


def can_be(published: float, count: int, protect: list[ta.Protection]) -> bool:
    """Whether a cell of that count can be published like this."""
    reached, gone = [(float(count), float(count))], False
    for one in protect:
        reached, hidden = after(one, reached, count)
        gone |= hidden
    if np.isnan(published):
        return gone
    return any(low - 1e-9 <= published <= high + 1e-9 for low, high in reached)


def fits_controlled(published: np.ndarray, counts: np.ndarray, protect: list[ta.Protection]) -> np.ndarray:
    """Whether controlled rounding, if that came first and nothing but hiding after it, allows these cells.

    Of a table with hidden cells, neighbours between them are looked at, each row of them on its own.
    """
    first, *others = protect or [None]
    fits = np.ones(len(counts), dtype=bool)
    controlled = isinstance(first, ta.Rounding) and first.mode == "controlled"
    if not controlled or not all(isinstance(one, ta.Suppression) for one in others):
        return fits
    hidden = np.flatnonzero(np.isnan(published))
    for shown in np.split(np.arange(published.size), hidden):
        shown = shown[~np.isnan(published[shown])]
        fits &= can_be_controlled(published[shown], counts[:, shown], int(first.base))
    return fits


def can_be_controlled(published: np.ndarray, counts: np.ndarray, base: int) -> np.ndarray:
    """Whether one random start rounds the cells of a table, one secret per row, to the published ones."""
    rest = counts % base
    total = np.cumsum(rest, axis=1)
    fits = np.zeros(len(counts), dtype=bool)
    for start in range(base):  # in steps of 1/base: cells are whole numbers
        passed = (total + start) // base
        up = np.diff(passed, axis=1, prepend=0)
        fits |= ((counts - rest + up * base) == published).all(axis=1)
    return fits
