"""The frontier of two costs."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from tellall.experiment.measurement import frontier

COST = st.sampled_from([0.0, 0.5, 1.0, 2.0, math.nan])


@given(st.lists(st.tuples(COST, COST), max_size=12))
def test_on_the_frontier_is_exactly_what_nothing_dominates(costs: list[tuple[float, float]]) -> None:
    for place, (one, other) in enumerate(costs):
        known = one == one and other == other
        beaten = any(a <= one and b <= other and (a < one or b < other) for a, b in costs)
        assert frontier(costs)[place] == (known and not beaten)
