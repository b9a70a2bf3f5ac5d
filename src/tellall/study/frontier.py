"""The frontier: choices that no other beats in both of two costs."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["frontier"]


def frontier(costs: Sequence[tuple[float, float]]) -> list[bool]:
    """Whether each pair of costs is on the frontier: none other is at most as large in both and less in one.

    Notes
    -----
    Equal pairs are on it together. A cost that is not a number never is. O(k log k).

    Examples
    --------
    >>> frontier([(0.3, 1.0), (0.1, 2.0), (0.2, 3.0), (0.1, 2.0), (0.3, 1.5)])
    [True, True, False, True, False]
    """
    known = [place for place, (one, other) in enumerate(costs) if one == one and other == other]
    marks = [False] * len(costs)
    least = float("inf")
    last: tuple[float, float] | None = None
    for place in sorted(known, key=lambda place: costs[place]):
        if costs[place][1] < least or costs[place] == last:
            marks[place] = True
            least, last = costs[place][1], costs[place]
    return marks
