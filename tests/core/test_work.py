"""How long the rest of some work takes, measured on what is done."""

import heapq

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tellall.cli.options import _Said
from tellall.core.work import Pace, Parts, part_of_work, sharing


def run(sizes: list[float], at_once: int, *, kept: int = 0, prepared: float = 0.0):
    """For each part that is finished: how many are, the time, and what is said to be left."""
    pace, clock, said = Pace(), [0.0], []
    parts = Parts(dict(enumerate(sizes)), at_once)
    with sharing(lambda share: pace.note(share, clock[0])):
        for part in range(kept):
            parts.finish(part, told=False)
        parts.begin()
        clock[0] = prepared
        parts.begin()
        waiting = list(range(kept, len(sizes)))
        running = [(prepared + sizes[part], part) for part in waiting[:at_once]]
        waiting = waiting[at_once:]
        heapq.heapify(running)
        while running:
            clock[0], part = heapq.heappop(running)
            parts.finish(part)
            said.append((len(said) + 1, clock[0], pace.left(clock[0])))
            if waiting:
                heapq.heappush(running, (clock[0] + sizes[waiting[0]], waiting.pop(0)))
    return said


@pytest.mark.parametrize("at_once", [1, 2, 4, 16])
@given(
    rounds=st.integers(3, 30), each=st.floats(0.01, 1e4), kept=st.integers(0, 50), prepared=st.floats(0, 1e4)
)
def test_of_equal_parts_it_is_within_a_factor_of_two_after_the_first(at_once, rounds, each, kept, prepared):
    told = run([each] * (at_once * rounds + kept), at_once, kept=kept, prepared=prepared)
    (_, now, left), end = told[0], told[-1][1]
    assert (end - now) / 2.01 <= left <= 2.01 * (end - now)


@given(st.lists(st.floats(0.1, 1000.0), min_size=2, max_size=60), st.lists(st.floats(1.0, 2.0), min_size=60))
def test_of_parts_of_any_size_it_is_off_by_no_more_than_their_pace(sizes, paces):
    """Sizes are known beforehand, how long a unit takes is not: between one and two seconds."""
    parts, pace, now = Parts(dict(enumerate(sizes))), Pace(), 0.0
    with sharing(lambda share: pace.note(share, now)):
        parts.begin()
        for part, size in enumerate(sizes):
            now += size * paces[part]
            parts.finish(part)
            rest = sum(size * paces[part + 1 + k] for k, size in enumerate(sizes[part + 1 :]))
            left = pace.left(now)
            if part < len(sizes) - 1:
                assert rest / 2.001 <= left <= 2.001 * rest
            else:
                assert left is None or left < 1e-6 * now


def test_nothing_is_said_before_anything_is_done_and_what_takes_long_takes_longer() -> None:
    pace = Pace()
    assert pace.left(1.0) is None
    pace.note(0.3, 1.0)
    assert pace.left(50.0) is None  # some was kept: nobody knows how long the rest takes
    pace.note(0.4, 11.0)
    assert pace.left(11.0) == pytest.approx(60.0)
    assert pace.left(31.0) == pytest.approx(40.0)
    assert pace.left(71.0) == pytest.approx(60.0)  # never down to nothing while a part is worked on


def test_parts_that_are_not_made_after_all_and_parts_of_parts() -> None:
    said = []
    with sharing(said.append):
        for number in range(2):
            with part_of_work(number, 2):
                parts = Parts({"a": 1, "b": 1, "c": 2})
                parts.begin()
                parts.finish("a")
                parts.leave_out(["c"])
                parts.finish("b")
    assert said == [0.0, 0.125, 0.5, 0.5, 0.625, 1.0]


def test_a_search_of_which_nobody_knows_the_end_says_only_what_is_done() -> None:
    search = _Said("looking for a remedy", open_end=True)
    for made in range(3):
        search.note(made, 30_000)
    assert search.left is None
    assert str(search) == "looking for a remedy: 2 done in 0 s"
