"""What solvers share: a solution, how far to trust it, what equations settle, systems of whole numbers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tellall.core.checks import one_of
from tellall.core.errors import invalid
from tellall.core.reasons import UNSETTLED
from tellall.core.records import Record
from tellall.linalg.operators.linear_operator import Array, IntArray, LinearOperator, Mask

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = [
    "SETTLED",
    "Array",
    "Component",
    "Enclosure",
    "Gaps",
    "Mask",
    "Solution",
    "Status",
    "Walker",
    "WholeSystem",
    "check_vector",
    "enclose",
    "moved",
    "only_solution",
    "row_space",
]

Gaps = tuple[tuple[int, IntArray], ...]  # for each row: whole numbers that it cannot equal

_PRIME = 2**31 - 1
SETTLED = ("solved", "trusted")  # the words that come without advice


_USUAL = {"not converged": "not-converged", "contradictory": "contradictory", "uncalibrated": "uncalibrated"}


@dataclass(frozen=True)
class Status(Record):
    """How a solve ended, in one word, with advice if it did not end well.

    ``word`` is "solved", "trusted" (solved, and the confidences passed their checks), "not converged",
    "contradictory" or "uncalibrated" (the guesses are valid, but confidences may be off). ``why`` has the
    codes of what is wrong, the first of which the advice is about; ``ask`` is what only the caller can give.

    Examples
    --------
    >>> status = Status("uncalibrated", "most values are hidden", ("mostly-hidden",), ask="give the prior")
    >>> print(status)
    uncalibrated: most values are hidden; give the prior
    >>> Status("not converged").why
    ('not-converged',)
    """

    word: str
    advice: str = ""
    why: tuple[str, ...] = ()
    ask: str = ""

    def __post_init__(self) -> None:
        if not self.settled and not self.why:
            object.__setattr__(self, "why", (_USUAL.get(self.word, "not-settled"),))
        for code in self.why:
            one_of("why", code, UNSETTLED)
        if self.settled and self.why:
            raise invalid("why", f"empty if the answer is {self.word}", self.why)

    @property
    def settled(self) -> bool:
        """Whether there is nothing to advise."""
        return self.word in SETTLED

    def __str__(self) -> str:
        said = "; ".join(filter(None, [self.advice, self.ask]))
        return f"{self.word}: {said}" if said else self.word


@dataclass(frozen=True, eq=False)
class Solution:
    """A minimiser with its status and what the solver counted on the way."""

    value: Array
    status: Status
    stats: dict[str, float] = field(default_factory=dict)


def check_vector(name: str, values: npt.ArrayLike, size: int) -> Array:
    """The values as an array of floats; refuses anything but `size` finite numbers."""
    vector = np.asarray(values)
    if vector.shape != (size,) or vector.dtype.kind not in "fiub" or not np.isfinite(vector).all():
        raise invalid(name, f"{size} finite numbers", f"shape {vector.shape}")
    return vector if vector.dtype.kind == "f" else vector.astype(np.float64)


# What equations settle for sure: the unknowns they determine, and bounds on whole-numbered solutions.

_MOST_ENTRIES = 20_000_000
_SLACK = 1e-6  # floating-point room before a bound is rounded to a whole number
_ROUNDING = 1e-9  # floating-point room of a row's ends, as a share of the most that the row can add up to
_NO_ROW = 1e-12  # a row with no larger coefficient is nothing but rounding


@dataclass(frozen=True, eq=False)
class Enclosure:
    """Every whole-numbered solution lies in [lower, upper]; ``empty`` says that no solution exists."""

    lower: Array
    upper: Array
    empty: bool


def enclose(
    operator: LinearOperator,
    low: Array,
    high: Array,
    *,
    upper: Array,
    lower: Array | None = None,
    rounds: int = 50,
) -> Enclosure:
    """Bounds on every whole-numbered x with lower ≤ x ≤ upper (lower is 0 by default) and low ≤ A x ≤ high.

    Notes
    -----
    Bound propagation: in row j, x_p can be at most what the row allows less the least that the others must
    take, and at least what is left when the others take all they can; repeated until nothing moves.
    O(rounds × entries). Rows without a finite end say nothing. Ends have room for rounding before they are
    divided by an entry, so that an entry which is itself rounding (10⁻¹⁷ beside 1) bounds nothing. The
    enclosure is valid but not always tight: it stays [lower, upper] if no row is tight enough to start from,
    or above 20 million entries.

    Examples
    --------
    >>> from tellall.linalg.operators.linear_operator import Dense
    >>> sums = Dense([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]])
    >>> box = enclose(sums, np.array([2.0, 1.0]), np.array([2.0, 1.0]), upper=np.ones(3))
    >>> box.lower.tolist(), box.upper.tolist()
    ([1.0, 1.0, 0.0], [1.0, 1.0, 0.0])
    """
    least_of = np.zeros(upper.size) if lower is None else lower.astype(np.float64)
    lower, upper = least_of, upper.astype(np.float64)
    if (low > high + _SLACK).any():
        return Enclosure(lower, upper, empty=True)
    rows = np.flatnonzero(np.isfinite(low) | np.isfinite(high))
    if not rows.size or (not lower.any() and not _worth_propagating(operator, low, high, upper)):
        return Enclosure(lower, upper, empty=False)
    matrix = operator.to_sparse()[rows]
    reach = abs(matrix) @ np.maximum(np.abs(lower), np.abs(upper))
    low_row = low[rows] - _ROUNDING * (reach + np.abs(low[rows])) - _NO_ROW
    high_row = high[rows] + _ROUNDING * (reach + np.abs(high[rows])) + _NO_ROW
    entries = matrix.tocsc()
    entries.sum_duplicates()
    entries.eliminate_zeros()
    used = np.flatnonzero(np.diff(entries.indptr))  # unknowns that occur in some row
    starts = entries.indptr[used]
    row = entries.indices
    weight = entries.data
    column = np.repeat(np.arange(upper.size), np.diff(entries.indptr))
    positive = weight > 0
    for _ in range(rounds):
        least, most = _activity(matrix, lower, upper)
        if (least > high_row + _SLACK).any() or (most < low_row - _SLACK).any():
            return Enclosure(lower, upper, empty=True)
        others_least = least[row] - weight * np.where(positive, lower[column], upper[column])
        others_most = most[row] - weight * np.where(positive, upper[column], lower[column])
        roof = (high_row[row] - others_least) / weight
        floor = (low_row[row] - others_most) / weight
        new_upper = upper.copy()
        new_lower = lower.copy()
        capped = np.minimum.reduceat(np.where(positive, roof, floor), starts)
        raised = np.maximum.reduceat(np.where(positive, floor, roof), starts)
        new_upper[used] = np.minimum(upper[used], np.floor(capped + _SLACK))
        new_lower[used] = np.maximum(lower[used], np.ceil(raised - _SLACK) + 0.0)  # never −0
        if (new_lower > new_upper).any():
            return Enclosure(lower, upper, empty=True)
        settled = np.array_equal(new_upper, upper) and np.array_equal(new_lower, lower)
        lower = new_lower
        upper = new_upper
        if settled:
            break
    return Enclosure(lower, upper, empty=False)


def _worth_propagating(operator: LinearOperator, low: Array, high: Array, upper: Array) -> bool:
    """Whether some row is so near an extreme that it bounds one of its unknowns by itself."""
    squares = operator.squared()
    reach = operator @ upper
    total = squares @ upper
    if float(total.sum()) > _MOST_ENTRIES * float(upper.mean()):
        return False
    largest = np.sqrt(squares @ upper**2)  # at least any |a_jp| upper_p of the row
    one_sign = np.abs(reach) == total  # otherwise its extremes are not known from its sum
    room = np.minimum(high - np.minimum(reach, 0), np.maximum(reach, 0) - low)
    said = np.isfinite(low) | np.isfinite(high)
    return bool((said & (~one_sign | (room < largest))).any())


def _activity(matrix: csr_array, lower: Array, upper: Array) -> tuple[Array, Array]:
    """The least and the greatest value that each row can have."""
    plus = matrix.maximum(0)
    minus = matrix.minimum(0)
    return plus @ lower + minus @ upper, plus @ upper + minus @ lower


def row_space(operator: LinearOperator) -> tuple[int, npt.NDArray[np.bool_]]:
    """The rank of A, and for each unknown whether its unit vector lies in the row space of A.

    Notes
    -----
    Pivoted Cholesky of the Gram matrix, scaled to unit diagonal: with U11, U12 its first `rank` rows, the
    null space is spanned by [−U11⁻¹ U12; I], and an unknown is determined exactly where every null vector
    vanishes. O(n · rank²) time after the Gram matrix.

    Examples
    --------
    >>> from tellall.linalg.operators.linear_operator import Dense
    >>> rank, determined = row_space(Dense([[1.0, 0.0, 0.0], [0.0, 1.0, 1.0]]))
    >>> rank, determined.tolist()
    (2, [True, False, False])
    """
    from scipy.linalg import lapack, solve_triangular

    gram = operator.gram().copy()
    n = gram.shape[0]
    norms = np.sqrt(gram.diagonal())
    safe = np.where(norms > 0, norms, 1.0)
    gram /= safe[:, None] * safe
    factor, pivots, rank, _ = lapack.dpstrf(gram, tol=n * 1e-13, lower=0)
    determined = np.zeros(n, dtype=bool)
    lead = pivots[:rank] - 1
    if rank == n:
        determined[:] = True
    elif rank:
        null = solve_triangular(factor[:rank, :rank], factor[:rank, rank:])
        determined[lead] = np.abs(null).max(axis=1) < 1e-7
    return int(rank), determined


# Whole-numbered systems: what bounds leave open, in parts that have nothing in common, and walks in them.

_NEAR = 1e-6  # floating-point room of an end
_BROKEN = 1e-5  # room of a row whose coefficients are not whole: more than the rounding of the ends
_HASHES = 2  # 64-bit fingerprints of a row


@dataclass(frozen=True, eq=False)
class WholeSystem:
    """low ≤ matrix @ x ≤ high with whole-numbered x from lower to upper.

    Attributes
    ----------
    matrix
        A scipy CSR array.
    gaps
        For each row: whole numbers that it cannot equal.
    columns, rows
        Which unknowns and which rows of the original system these are.
    """

    matrix: Any
    low: Array
    high: Array
    lower: Array
    upper: Array
    gaps: Gaps
    columns: IntArray
    rows: IntArray

    @classmethod
    def left_open(
        cls, operator: LinearOperator, low: Array, high: Array, gaps: Gaps, box: Enclosure
    ) -> WholeSystem:
        """What remains of low ≤ operator @ x ≤ high for the unknowns that the box leaves open.

        Rows whose coefficients are not whole are divided by the row's largest coefficient, so that the room
        they get is small beside it, and so that it does not matter in what unit a value was published.
        """
        from scipy.sparse import diags_array

        matrix = operator.to_sparse().tocsr()
        open_ = np.flatnonzero(box.lower < box.upper)
        held = matrix @ np.where(box.lower < box.upper, 0.0, box.lower)
        low, high = low - held, high - held
        everything, matrix = matrix, matrix[:, open_]
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
        broken = np.flatnonzero(~_has_whole_rows(matrix))
        if broken.size:
            share = np.ones(low.size)
            share[broken] /= np.maximum(abs(everything[broken]).max(axis=1).toarray().ravel(), _NO_ROW)
            matrix = (diags_array(share) @ matrix).tocsr()
            low = low * share
            high = high * share
        lower = box.lower[open_]
        upper = box.upper[open_]
        plus = matrix.maximum(0)
        minus = matrix.minimum(0)
        least = plus @ lower + minus @ upper
        most = plus @ upper + minus @ lower
        useful = (least < low - _NEAR) | (most > high + _NEAR)
        gaps = tuple((row, counts - round(held[row])) for row, counts in gaps)
        useful[[row for row, _ in gaps]] = True
        rows = np.flatnonzero(useful)
        place = dict(zip(rows.tolist(), range(rows.size), strict=True))
        kept = tuple((place[row], counts) for row, counts in gaps if row in place)
        low, high = np.maximum(low, least)[rows], np.minimum(high, most)[rows]
        system = cls(matrix[rows], low, high, lower, upper, kept, open_, rows)
        return system._whole()._distinct()

    @property
    def entries(self) -> int:
        """How many coefficients there are."""
        return int(self.matrix.nnz)

    def _whole(self) -> WholeSystem:
        """Rounds the ends of rows with whole coefficients to whole numbers; gives others a little room."""
        whole = _has_whole_rows(self.matrix)
        low = np.where(whole, np.ceil(self.low - _NEAR), self.low - _BROKEN)
        high = np.where(whole, np.floor(self.high + _NEAR), self.high + _BROKEN)
        return self._with(self.matrix, low, high, self.gaps, self.rows)

    def _with(self, matrix: csr_array, low: Array, high: Array, gaps: Gaps, rows: IntArray) -> WholeSystem:
        return WholeSystem(matrix, low, high, self.lower, self.upper, gaps, self.columns, rows)

    def _distinct(self) -> WholeSystem:
        """Merges rows that are equal up to sign; the merged row has the tightest of their ends.

        Rows are compared by 128 bits of fingerprint. Rows with gaps stay as they are.
        """
        m, n = self.matrix.shape
        if m < 2 or not self.entries:
            return self
        starts = self.matrix.indptr
        data = self.matrix.data
        first = np.where(np.diff(starts) > 0, data[np.minimum(starts[:-1], data.size - 1)], 1.0)
        sign = np.where(first < 0, -1.0, 1.0)
        rng = np.random.default_rng(0)
        draws = rng.integers(0, 2**64, (_HASHES, n), dtype=np.uint64)
        kinds, kind = np.unique(data * np.repeat(sign, np.diff(starts)), return_inverse=True)
        turned = (rng.integers(0, 2**64, kinds.size, dtype=np.uint64) | np.uint64(1))[kind.reshape(-1)]
        keys = np.zeros((_HASHES, m), dtype=np.uint64)
        with np.errstate(over="ignore"):
            for key, weights in zip(keys, draws, strict=True):
                terms = turned * weights[self.matrix.indices]
                sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(terms, dtype=np.uint64)])
                key[:] = sums[starts[1:]] - sums[starts[:-1]]
        if self.gaps:
            apart = [row for row, _ in self.gaps]
            keys[:, apart] = np.arange(1, len(apart) + 1, dtype=np.uint64)
        _, leader, index = np.unique(keys.T, axis=0, return_index=True, return_inverse=True)
        index = index.reshape(-1)
        if leader.size == m:
            return self
        low = np.full(leader.size, -np.inf)
        high = np.full(leader.size, np.inf)
        alike = sign == sign[leader][index]
        np.maximum.at(low, index, np.where(alike, self.low, -self.high))
        np.minimum.at(high, index, np.where(alike, self.high, -self.low))
        place = {int(row): number for number, row in enumerate(leader)}
        gaps = tuple((place[row], counts) for row, counts in self.gaps)
        return self._with(self.matrix[leader], low, high, gaps, self.rows[leader])

    def parts(self) -> list[Component]:
        """The systems that share no unknown, smallest first; unknowns in no row are left out."""
        from scipy.sparse import block_array
        from scipy.sparse.csgraph import connected_components

        m = self.matrix.shape[0]
        if not m:
            return []
        links = block_array([[None, self.matrix], [self.matrix.T, None]]).tocsr()
        _, label = connected_components(links, directed=False)
        of_rows = label[:m]
        of_columns = label[m:]
        order = np.argsort(of_rows, kind="stable")
        groups = np.split(order, np.flatnonzero(np.diff(of_rows[order])) + 1)
        by_label = np.argsort(of_columns, kind="stable")
        at = np.searchsorted(of_columns[by_label], [of_rows[rows[0]] for rows in groups], side="left")
        to = np.searchsorted(of_columns[by_label], [of_rows[rows[0]] for rows in groups], side="right")
        gaps = dict(self.gaps)
        found = []
        for rows, start, stop in zip(groups, at, to, strict=True):
            columns = np.sort(by_label[start:stop])
            inside = tuple((place, gaps[row]) for place, row in enumerate(rows.tolist()) if row in gaps)
            found.append(
                Component(
                    self.matrix[rows][:, columns].tocsr(),
                    self.low[rows],
                    self.high[rows],
                    self.lower[columns],
                    self.upper[columns],
                    inside,
                    columns,
                    rows,
                )
            )
        return sorted(
            found, key=lambda part: (part.entries, int(part.columns[0]) if part.columns.size else 0)
        )


def _has_whole_rows(matrix: csr_array) -> Mask:
    """For each row of a CSR array, whether all its coefficients are whole numbers."""
    broken = np.concatenate([[0], np.cumsum(matrix.data != np.rint(matrix.data))])
    return np.asarray(broken[matrix.indptr[1:]] == broken[matrix.indptr[:-1]])


class Component(WholeSystem):
    """Some unknowns of a system with all rows about them; ``columns`` and ``rows`` are the system's."""

    def fits(self, x: Array) -> bool:
        """Whether whole numbers satisfy every row."""
        image = self.matrix @ x
        if ((image < self.low - _NEAR) | (image > self.high + _NEAR)).any():
            return False
        return all(round(image[row]) not in counts for row, counts in self.gaps)

    def movable(self, x: Array) -> tuple[Mask, Mask]:
        """Which unknowns can fall, and which rise, by one alone from a solution; rows with gaps stay."""
        image = self.matrix @ x
        matrix = self.matrix.tocsc()
        up = self.high - image + _NEAR
        down = image - self.low + _NEAR
        for row, _ in self.gaps:
            up[row] = down[row] = 0.0
        lengths = np.diff(matrix.indptr)
        used = np.flatnonzero(lengths)
        weight = matrix.data
        row = matrix.indices
        rises = np.where(weight > 0, weight <= up[row], -weight <= down[row])
        falls = np.where(weight > 0, weight <= down[row], -weight <= up[row])
        can_rise, can_fall = (side.copy() for side in (x < self.upper, x > self.lower))
        for can, each in ((can_rise, rises), (can_fall, falls)):
            can[used] &= np.logical_and.reduceat(each, matrix.indptr[used])
        return can_fall, can_rise


def only_solution(part: Component) -> Array | None:
    """Returns the counts if exact values of this part determine them by linear algebra alone, else None.

    Notes
    -----
    With E the rows of whole coefficients that have one possible value b, EᵀE is a matrix of whole numbers. It
    is eliminated modulo a prime. If no pivot is missing, its determinant is not a multiple of the prime, so
    it is not zero, and E x = b has at most one solution over all numbers. The candidate comes from floating
    point and is checked in whole numbers. Both checks are exact.
    """
    n = part.columns.size
    exact = np.flatnonzero(part.low == part.high)
    if not n or exact.size < n:
        return None
    matrix = part.matrix[exact]
    if (matrix.data != np.rint(matrix.data)).any():
        return None
    gram = (matrix.T @ matrix).toarray()
    try:
        x = np.rint(np.linalg.solve(gram, matrix.T @ part.low[exact]))
    except np.linalg.LinAlgError:
        return None
    inside = ((x >= part.lower) & (x <= part.upper)).all()
    return x if inside and part.fits(x) and _is_invertible(gram) else None


def _is_invertible(matrix: Array) -> bool:
    """Whether a matrix of whole numbers is invertible modulo a prime, and hence over all numbers."""
    left = np.rint(matrix).astype(np.int64) % _PRIME
    while left.size:
        pivots = np.flatnonzero(left[:, 0])
        if not pivots.size:
            return False
        chosen = left[pivots[0]].copy()
        left[pivots[0]] = left[0]
        inverse = pow(int(chosen[0]), -1, _PRIME)
        factors = left[1:, :1] * inverse % _PRIME
        left = (left[1:, 1:] - factors * chosen[1:]) % _PRIME
    return True


# Walks: further solutions from a known one, by moving one count and mending what that breaks.

_STRIDES = 150  # moves after which a walk is given up
_TABU = 8  # moves for which a count that moved stays where it is
_MOST = 400_000  # rows × unknowns of a part that is walked in


class Walker:
    """Many walks at once in one part, whose coefficients are 1 and −1.

    Notes
    -----
    Every walk moves one count up or down by one, so that the total by which rows exceed their ends falls most
    (or rises least); ties are broken at random. A count that moved is left alone for some moves (tabu
    search). Moves are whole numbers, so that the walks are the same on every machine.
    """

    def __init__(self, part: Component, rng: np.random.Generator | None = None) -> None:
        self.part = part
        self.rng = np.random.default_rng(0) if rng is None else rng
        size = part.matrix.shape[0] * part.matrix.shape[1]
        self.able = bool(size <= _MOST and not part.gaps and (np.abs(part.matrix.data) == 1).all())
        if self.able:
            dense = part.matrix.toarray().astype(np.float32)
            self.plus = np.maximum(dense, 0)
            self.minus = np.maximum(-dense, 0)
            self.matrix = dense

    def mend(
        self, start: Array, held: Mask | None = None, ends: tuple[Array, Array] | None = None
    ) -> tuple[Array, Mask]:
        """The point nearest to a solution on the walk from each start, and which of these are solutions.

        ``held`` counts never move. ``ends`` replace the ends of the rows, separately for each walk.
        """
        part = self.part
        rng = self.rng
        x = start.astype(np.float32)
        walks, n = x.shape
        shape = (walks, part.low.size)
        low, high = (
            np.broadcast_to(each, shape).astype(np.float32) for each in ends or (part.low, part.high)
        )
        image = x @ self.matrix.T
        best = x.copy()
        beyond = np.full(walks, np.inf, dtype=np.float32)
        until = np.where(held, np.inf, 0.0).astype(np.float32) if held is not None else np.zeros_like(x)
        going = np.arange(walks)
        at = np.arange(walks)
        for step in range(_STRIDES):
            here = image[going]
            least = low[going]
            most = high[going]
            misfit = (np.maximum(least - here, 0) + np.maximum(here - most, 0)).sum(axis=1)
            nearer = misfit < beyond[going]
            best[going[nearer]] = x[going[nearer]]
            beyond[going[nearer]] = misfit[nearer]
            off = misfit > 0
            going = going[off]
            if not going.size:
                break
            here = here[off]
            least = least[off]
            most = most[off]
            now = x[going]
            up = (here >= most).astype(np.float32) - (here < least)
            down = (here <= least).astype(np.float32) - (here > most)
            rise = up @ self.plus + down @ self.minus
            fall = down @ self.plus + up @ self.minus
            tabu = until[going] > step
            rise[tabu | (now >= part.upper)] = np.inf
            fall[tabu | (now <= part.lower)] = np.inf
            cost = (
                np.concatenate([rise, fall], axis=1) + rng.random((going.size, 2 * n), dtype=np.float32) / 2
            )
            move = cost.argmin(axis=1)
            column = move % n
            change = np.where(move < n, 1.0, -1.0).astype(np.float32)
            stuck = ~np.isfinite(cost[at[: going.size], move])
            change[stuck] = 0.0
            x[going, column] += change
            image[going] += change[:, None] * self.matrix[:, column].T
            until[going, column] = np.maximum(until[going, column], step + 1 + _TABU)
        return best.astype(np.float64), beyond == 0


def moved(x: Array, chosen: npt.NDArray[np.intp], change: Array) -> tuple[Array, Mask]:
    """Starts of walks from one solution, each with one count moved and held."""
    start = np.tile(x, (chosen.size, 1))
    at = np.arange(chosen.size)
    start[at, chosen] += change
    held = np.zeros(start.shape, dtype=bool)
    held[at, chosen] = True
    return start, held
