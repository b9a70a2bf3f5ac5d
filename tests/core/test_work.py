"""How long the rest of some work takes, measured on what is done."""

import heapq

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tellall.cli.options import _Said
from tellall.core.work import Pace


def run(seconds: list[float], at_once: int, kept: int = 0, prepared: float = 0.0):
    """Yields (how much is done, the time, what the pace says) as pieces of these lengths are finished."""
    pace, total = Pace(at_once), kept + len(seconds)
    pace.note(kept, total, 0.0)
    pace.note(kept, total, prepared)
    running, waiting = [prepared + one for one in seconds[:at_once]], seconds[at_once:]
    heapq.heapify(running)
    done = kept
    while running:
        now = heapq.heappop(running)
        done += 1
        pace.note(done, total, now)
        yield done - kept, now, pace.left(now)
        if waiting:
            heapq.heappush(running, now + waiting.pop(0))


@pytest.mark.parametrize("at_once", [1, 2, 4, 16])
@given(
    rounds=st.integers(3, 50), each=st.floats(0.01, 1e4), kept=st.integers(0, 500), prepared=st.floats(0, 1e4)
)
def test_of_equal_pieces_it_is_within_a_factor_of_two_after_the_first(at_once, rounds, each, kept, prepared):
    told = list(run([each] * (at_once * rounds), at_once, kept, prepared))
    first, end = told[0], told[-1][1]
    assert (end - first[1]) / 2.01 <= first[2] <= 2.01 * (end - first[1])


@given(st.lists(st.floats(1.0, 2.0), min_size=2, max_size=60))
def test_of_unequal_pieces_it_is_off_by_no_more_than_they_are(seconds):
    told = list(run(seconds, 1))
    for done, now, left in told[:-1]:
        true = sum(seconds[done:])
        assert true / 2.001 <= left <= 2.001 * true
        assert now == pytest.approx(sum(seconds[:done]))
    assert told[-1][2] is None


def test_nothing_is_said_before_anything_is_done_and_time_goes_on() -> None:
    pace = Pace()
    assert pace.left(1.0) is None
    pace.note(3, 10, 1.0)
    assert pace.left(50.0) is None  # three were kept: nobody knows how long one takes
    pace.note(4, 10, 11.0)
    assert pace.left(11.0) == 60.0
    assert pace.left(31.0) == 40.0
    assert pace.left(1000.0) == 0.0


def test_a_search_of_which_nobody_knows_the_end_says_only_what_is_done() -> None:
    search = _Said("looking for a remedy", 1, open_end=True)
    for made in range(3):
        search.note(made, 30_000)
    assert search.left is None
    assert str(search) == "looking for a remedy: 2 done in 0 s"
