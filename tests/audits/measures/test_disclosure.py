"""What our own reports say of people given away: an integer programme looks for somebody and finds nobody."""

from collections.abc import Sequence
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, milp

import tellall as ta
from tellall.audits.contributions import who_is_learnt
from tellall.audits.measures.disclosure import (
    UNDER,
    WITHHELD,
    Crowd,
    merged,
    most_telling,
    tells_of_nobody,
    told_by_area,
    told_of_areas,
)

QUICK, ALL = 30, 200
POPULATIONS = [
    *range(QUICK),
    *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(QUICK, ALL)),
]


def ends(group: np.ndarray, upper: np.ndarray, shown: Sequence[tuple[np.ndarray, float, float]], lower=0):
    """The least and the most people given away in a union of kinds of people, by what is shown of unions.

    There are ``upper`` people of each kind; each entry of ``shown`` has the kinds, and its least and most.
    """
    limits = [LinearConstraint(kinds.astype(float)[None, :], low, high) for kinds, low, high in shown]
    found = [
        milp(
            sign * group.astype(float),
            constraints=limits,
            bounds=Bounds(lower, upper),
            integrality=np.ones(upper.size),
        )
        for sign in (1, -1)
    ]
    assert all(one.status == 0 for one in found)  # the truth is always possible
    return round(found[0].fun), round(-found[1].fun)


def names_somebody(people: int, least: int, most: int) -> bool:
    """Whether a count is known, and is about few people or about all but a few."""
    return least == most > 0 and not tells_of_nobody(people, most)


def population(seed: int) -> tuple[ta.Dataset, np.ndarray]:
    """People with a town inside a county or a column for each, a sex, and who of them is given away."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(20, 160))
    town = rng.integers(0, 6, n) if seed % 4 < 2 else rng.binomial(5, 0.3, n)
    frame = {"sex": rng.choice(["f", "m"], n)}
    if seed % 2:
        frame |= {"town": town.astype(str), "county": (town // 2).astype(str)}
    else:
        frame |= {f"county {one}": np.where(town // 2 == one, "yes", "no") for one in range(3)}
        frame |= {f"town {one}": np.where(town == one, "yes", "no") for one in range(4)}
    people = ta.Dataset.from_frame({**frame, "ill": rng.integers(0, 2, n)}, secret="ill")
    # those who are alike with few are given away most, as in the attacks
    alike = people.public.patterns.counts[people.public.patterns.index]
    chance = rng.choice([0.05, 0.2, 0.5]) + 0.5 * (alike <= rng.integers(0, 5)) + 0.4 * (town == 1)
    return people, rng.random(n) < np.clip(chance, 0, 1)


def masks_of(public, table) -> list[np.ndarray]:
    """The people of each row of a table that is shown."""
    alike = public.patterns.counts[public.patterns.index]
    if table.by == "people alike in public":
        reach = {"1": (1, 1), "2 to 4": (2, 4), "5 to 9": (5, 9), "10 or more": (10, public.n)}
        each = {value: (alike >= low) & (alike <= high) for value, (low, high) in reach.items()}
    else:
        at = public.names.index(table.by)
        each = {label: public.codes[at] == code for code, label in enumerate(public.columns[at].labels)}
    return [np.any([each[value] for value in row.values], axis=0) for row in table.rows]


@pytest.mark.parametrize("seed", POPULATIONS)
def test_an_integer_programme_finds_nobody_in_who_is_given_away(seed):
    """The outsider knows everybody's public row; the programme, what is shown of them."""
    people, learnt = population(seed)
    public, tables = people.public, who_is_learnt(people.public, learnt)
    index, sizes = public.patterns.index, public.patterns.counts
    kinds = np.arange(sizes.size)
    total = (np.ones(sizes.size, dtype=bool), int(learnt.sum()), int(learnt.sum()))
    shown, rows = [total], []
    for table in tables:
        for row, mask in zip(table.rows, masks_of(public, table), strict=True):
            assert (row.people, row.learnt) == (int(mask.sum()), int((mask & learnt).sum()))
            rows.append(np.isin(kinds, index[mask]))
            shown.append((rows[-1], row.learnt, row.learnt))
    cells = [kinds == kind for kind in kinds]
    values = [
        np.isin(kinds, index[public.codes[at] == code])
        for at, column in enumerate(public.columns)
        for code in range(column.levels)
    ]
    alike = [np.isin(sizes, size) for size in np.unique(sizes)]
    crossed = [one & other for one, other in combinations(values + alike, 2)]
    unions = [np.any(some, axis=0) for count in (2, 3) for some in combinations(rows, count)]
    left = [one & ~other for one in rows for other in rows + values]
    seen = set()
    for group in (*rows, *cells, *values, *alike, *crossed, *unions, *left):
        if not group.any() or group.all() or group.tobytes() in seen:
            continue
        seen.add(group.tobytes())
        count, truth = int(sizes[group].sum()), int(learnt[group[index]].sum())
        if not names_somebody(count, truth, truth):
            continue  # if the count can be known, it is the true one
        if names_somebody(count, *ends(group, sizes, shown)):
            # everybody as a whole apart: what the total says alone is not our table's doing
            assert names_somebody(count, *ends(group, sizes, [total])), (seed, group)


def test_one_table_is_shown_and_not_two_that_can_be_subtracted():
    """16 in all, and 5, 5, 5 in crowds that do not overlap, name the one who is left."""
    place = np.arange(64) // 16
    learnt = np.zeros(64, dtype=bool)
    learnt[[0, 1, 2, 3, 4, 16, 17, 18, 19, 20, 32, 33, 34, 35, 36, 48]] = True

    def by(name: str, mask: np.ndarray) -> tuple[str, list[Crowd]]:
        return name, [Crowd(("yes",), mask), Crowd(("no",), ~mask)]

    tables = [by(f"in {town}", place == town) for town in range(3)]
    assert all(merged(crowds, learnt) == crowds for _, crowds in tables)  # each is fit to be shown alone
    name, rows = most_telling(tables, learnt)
    assert name in {"in 0", "in 1", "in 2"}
    assert [row.counted(learnt) for row in rows] == [(16, 5), (48, 11)]


def test_the_table_that_tells_most_is_shown():
    learnt = np.arange(80) < 20
    by_chance = [Crowd(("a",), np.arange(80) % 2 == 0), Crowd(("b",), np.arange(80) % 2 == 1)]
    by_place = [Crowd(("here",), np.arange(80) < 40), Crowd(("there",), np.arange(80) >= 40)]
    assert most_telling([("chance", by_chance), ("place", by_place)], learnt)[0] == "place"
    assert most_telling([("chance", by_chance)], learnt)[0] == "chance"


def test_a_table_without_everybody_is_not_shown():
    learnt = np.arange(80) % 2 == 0
    half = [Crowd(("a",), np.arange(80) < 20), Crowd(("b",), (np.arange(80) >= 20) & (np.arange(80) < 78))]
    assert most_telling([("half", half)], learnt) is None


CROWDS = st.lists(st.tuples(st.integers(1, 40), st.integers(0, 40)), min_size=1, max_size=8)


@given(CROWDS)
def test_merged_counts_may_be_shown_and_hold_everybody(sizes):
    sizes = [(group, min(count, group)) for group, count in sizes]
    learnt = np.concatenate([np.arange(group) < count for group, count in sizes])
    edges = np.cumsum([0, *(group for group, _ in sizes)])
    index = np.arange(learnt.size)
    rows = merged(
        [Crowd((str(i),), (index >= a) & (index < b)) for i, (a, b) in enumerate(pairwise(edges))], learnt
    )
    assert np.array_equal(np.sum([row.people for row in rows], axis=0), np.ones(learnt.size, dtype=int))
    assert [value for row in rows for value in row.values] == [str(i) for i in range(len(sizes))]
    assert len(rows) == 1 or all(tells_of_nobody(*row.counted(learnt)) for row in rows)


# Areas


def areas(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The people of some areas, and how many of each are given away: mostly nobody, few, or nearly all."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(4, 60, rng.integers(1, 9))
    rate = rng.choice([0, 0.02, 0.1, 0.4, 0.97], sizes.size, p=rng.dirichlet(np.ones(5)))
    return sizes, rng.binomial(sizes, rate)


@pytest.mark.parametrize("seed", POPULATIONS)
def test_an_integer_programme_finds_nobody_in_counts_by_area(seed):
    """The outsider knows how many people each area has, the total, and how counts that are hidden read."""
    sizes, counts = areas(seed)
    told = told_by_area(sizes.tolist(), counts.tolist())
    small, whole = sizes < 10, set(told) == {WITHHELD}
    low, high = np.zeros_like(sizes), sizes.copy()
    for at, word in enumerate(told):
        if word == UNDER:
            high[at] = 4
            assert counts[at] < 5
        elif word == WITHHELD:
            low[at] = 0 if small[at] or whole else 5
        else:
            assert word == counts[at]
            low[at] = high[at] = word
    total = (np.ones(sizes.size, dtype=bool), counts.sum(), counts.sum())
    every = range(sizes.size)
    for size in range(1, sizes.size):
        for some in combinations(every, size):
            group = np.isin(every, some)
            count, truth = int(sizes[group].sum()), int(counts[group].sum())
            if not names_somebody(count, truth, truth):
                continue  # if the count can be known, it is the true one
            if names_somebody(count, *ends(group, high, [total], low)):
                assert names_somebody(count, *ends(group, sizes, [total])), (seed, some, told)


@pytest.mark.parametrize(
    ("sizes", "counts", "told"),
    [
        ([40, 40, 40], [12, 7, 6], [12, 7, 6]),
        ([40, 40, 40], [12, 3, 4], [12, UNDER, UNDER]),  # 7 of 80 are left
        ([40, 40, 40], [12, 0, 0], [12, UNDER, UNDER]),
        ([40, 40, 40], [12, 7, 1], [12, WITHHELD, UNDER]),  # 20 - 12 - 7 would be that one
        ([40, 40, 40], [12, 7, 38], [12, WITHHELD, WITHHELD]),
        ([40, 40, 8], [12, 7, 8], [12, WITHHELD, WITHHELD]),
        ([40, 3], [12, None], [12, None]),
        ([40, 40], [5.5, 0.2], [WITHHELD, UNDER]),  # means over draws
        ([40], [3], [UNDER]),
        ([], [], []),
    ],
)
def test_what_is_said_of_areas(sizes, counts, told):
    assert told_by_area(sizes, counts) == told


def test_every_attack_is_told_over_the_areas_that_it_was_made_in():
    made = [{"decoder": "a", "exposed": 12}, {"decoder": "b", "exposed": 3}]
    other = [{"decoder": "a", "exposed": 2, "proved": None}]
    told = told_of_areas([40, 40, 3], [made, other, []], ["decoder"], ["exposed", "proved"])
    assert [[row["exposed"] for row in rows] for rows in told] == [[WITHHELD, WITHHELD], [UNDER], []]
    assert other[0]["exposed"] == 2  # what was found stays as it is
