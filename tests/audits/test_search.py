"""The least scale that passes."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from tellall.audits.families import least_scale


@given(exponent=st.floats(-4.0, 8.0), start=st.floats(0.5, 2.0), tolerance=st.floats(0.01, 0.2))
def test_a_threshold_is_found_within_the_tolerance(exponent: float, start: float, tolerance: float) -> None:
    least, tried = 4.0**exponent, []

    def passes(scale: float) -> bool:
        tried.append(scale)
        return scale >= least

    found = least_scale(passes, start, most=math.inf, tolerance=tolerance, tries=18)
    assert found is not None
    assert least <= found <= least * (1 + tolerance) * (1 + 1e-12)
    assert len(tried) <= 18
    assert len(set(tried)) == len(tried)


@given(st.lists(st.booleans(), min_size=20, max_size=20), st.integers(8, 20))
def test_whatever_it_returns_has_passed_and_the_tries_are_kept(answers: list[bool], tries: int) -> None:
    said: dict[float, bool] = {}

    def passes(scale: float) -> bool:
        said[scale] = answers[len(said)]
        return said[scale]

    found = least_scale(passes, 1.0, most=math.inf, tolerance=0.05, tries=tries)
    assert len(said) <= tries
    assert found is None or said[found]
    assert found is not None or not any(said.values())


@given(exponent=st.floats(-4.0, 8.0), start=st.floats(0.5, 2.0), tolerance=st.floats(0.01, 0.2))
def test_about_how_many_tries_are_left_is_said_and_exactly_once_both_sides_are_found(
    exponent: float, start: float, tolerance: float
) -> None:
    said: list[int] = []
    sides: list[bool | None] = []  # None of zero, which is no side

    def passes(scale: float) -> bool:
        sides.append(scale >= 4.0**exponent if scale else None)
        return bool(sides[-1])

    least_scale(passes, start, most=math.inf, tolerance=tolerance, tries=18, expects=said.append)
    assert len(said) == len(sides)
    for done, expected in enumerate(said):
        left = len(said) - done
        if True in sides[:done] and False in sides[:done]:
            assert expected == left
        elif exponent < 1.5:  # upwards nobody knows how far it is
            assert left / 4 <= expected <= 4 * left


def test_nothing_needed_and_nothing_enough() -> None:
    assert least_scale(lambda scale: True, 3.0, most=math.inf, tolerance=0.05, tries=15) == 0.0
    assert least_scale(lambda scale: False, 3.0, most=math.inf, tolerance=0.05, tries=15) is None


def test_a_largest_scale_is_never_passed() -> None:
    tried: list[float] = []

    def passes(scale: float) -> bool:
        tried.append(scale)
        return scale >= 0.95

    found = least_scale(passes, 0.1, most=1.0, tolerance=0.05, tries=15)
    assert found is not None
    assert 0.95 <= found <= 1.0 == max(tried)
