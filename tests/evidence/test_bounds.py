"""Bounds moved, widened, taken and stacked hold the same values; a step with nothing to do is left out."""

import numpy as np
import pytest

import tellall as ta
from tellall.evidence.bounds import Bounds, NeighbourSums
from tellall.evidence.undo import neighbour_sums, not_possible
from tellall.evidence.usable import EvidenceStep, carry_out
from tellall.statistics.statistic import CellLayout


def held(bounds: Bounds) -> list[set[int]]:
    """Every whole number that each value can be."""
    gaps = {row: set(counts.tolist()) for row, counts in bounds.gaps}
    return [
        set(range(int(low), int(high) + 1)) - gaps.get(row, set())
        for row, (low, high) in enumerate(zip(bounds.low, bounds.high, strict=True))
    ]


GIVEN = Bounds(
    np.array([0.0, 3.0, 1.0]), np.array([4.0, 3.0, 6.0]), ((0, np.array([2])), (2, np.array([4, 5])))
)


def test_what_is_moved_is_moved_with_its_gaps():
    moved = GIVEN.moved(np.array([1.0, -2.0, 10.0]))
    steps = (1, -2, 10)
    assert held(moved) == [{one + by for one in each} for each, by in zip(held(GIVEN), steps, strict=True)]


def test_nothing_is_certain_of_a_value_that_is_lost():
    moved = GIVEN.moved(np.array([np.nan, 0.0, np.nan]))
    assert moved.limited.tolist() == [1]
    assert not moved.gaps


def test_what_is_taken_and_stacked_is_what_it_was():
    index = np.array([0, 2])
    assert held(GIVEN.take(index)) == [held(GIVEN)[at] for at in index]
    assert held(Bounds.stacked([GIVEN, GIVEN.take(index)])) == [*held(GIVEN), *held(GIVEN.take(index))]


def test_what_is_widened_holds_what_it_held():
    wider = GIVEN.widened(np.array([1.0, 0.0, 0.0]), np.array([0.0, 2.0, 0.0]))
    assert all(before <= after for before, after in zip(held(GIVEN), held(wider), strict=True))
    assert held(wider)[2] == held(GIVEN)[2]
    none = np.zeros(3)
    assert GIVEN.widened(none, none) is GIVEN


def test_sums_of_neighbours_move_with_their_values():
    sums = NeighbourSums(np.array([0]), np.array([2]), Bounds(np.array([5.0]), np.array([7.0])))
    moved = sums.moved(np.array([1.0, np.nan, 3.0]))
    assert (moved.bounds.low[0], moved.bounds.high[0]) == (9.0, 11.0)


@pytest.mark.parametrize("protect", [ta.Rounding(3), ta.Rounding(3, "random"), ta.Gaussian(1.0)])
def test_only_controlled_rounding_says_something_of_sums(protect):
    tables = CellLayout(((0,),), ((2, 2),))
    values = np.array([3.0, 6.0, 0.0, 3.0])
    assert neighbour_sums(values, tables, [protect], 1.0) is None
    found = neighbour_sums(values, tables, [ta.Rounding(3, "controlled")], 1.0)
    assert found is not None
    assert list(zip(found.start.tolist(), found.stop.tolist(), strict=True))[:2] == [(0, 1), (0, 2)]
    assert (found.bounds.low[0], found.bounds.high[0]) == (7.0, 11.0)  # less than a base away from 9


def test_a_protection_that_does_not_say_rules_no_value_out():
    assert not not_possible(np.array([0.5, 7.0]), [ta.Gaussian(1.0)]).any()
    assert not_possible(np.array([0.5, 7.0, np.nan]), [ta.Rounding(7), ta.Suppression(3)]).tolist() == [
        True,
        False,
        False,
    ]


class Halves(EvidenceStep[int]):
    def accepts(self, draft: int) -> bool:
        return draft % 2 == 0

    def apply(self, draft: int) -> int:
        return draft // 2


def test_a_step_that_does_not_accept_a_draft_leaves_it():
    assert carry_out([Halves(), Halves(), Halves()], 12) == 3
