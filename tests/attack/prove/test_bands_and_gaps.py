"""Tables of different bands of one column, with gaps: against every set of people there is."""

import re
from itertools import combinations_with_replacement, pairwise, product
from math import inf

import numpy as np
import pytest
from tests.attack.prove.forwards import can_be

import tellall as ta

AGES = tuple(range(-1, 7))  # -1 and 6 are beyond every closed band
WORDS = {
    "to": ("{0}-{1}", "{0} to {1}", "{0}–{1}", "{0}-{1} years", "[{0}, {2})"),
    "up": ("{0}+", "{0} and over", "≥ {0}", "{0} or more"),
    "down": ("<{2}", "under {2}", "≤ {1}"),
}


def holds(label, age):
    """Whether a value of the refinement holds an age, read by these tests alone."""
    if age is None or label == "missing":
        return age is None and label == "missing"
    for part in re.split(r", (?![^\[]*\))", label.replace("–", "-").removesuffix(" years")):
        low, high = -inf, inf
        if found := re.fullmatch(r"(-?\d+)(?:-| to )(-?\d+)|\[(-?\d+), (\d+)\)", part):
            first, last, start, stop = found.groups()
            low, high = (int(first), int(last)) if first is not None else (int(start), int(stop) - 1)
        elif found := re.fullmatch(r"(-?\d+)", part):
            low = high = int(found[1])
        elif found := re.fullmatch(r"(\d+)(?:\+| and over| or more)|≥ (\d+)", part):
            low = int(found[1] or found[2])
        elif found := re.fullmatch(r"(?:<|under) ?(-?\d+)", part):
            high = int(found[1]) - 1
        elif found := re.fullmatch(r"≤ (-?\d+)", part):
            high = int(found[1])
        else:
            raise AssertionError(label)
        if low <= age <= high:
            return True
    return False


def band(rng, low, high):
    """A label of the whole numbers from low to high, in one of the ways in which they are printed."""
    if low == high and 0 <= low < 6:
        return str(low)
    kind = "down" if low < 0 else "up" if high == 6 else "to"
    return str(rng.choice(WORDS[kind])).format(low, high, high + 1)


def coding(rng):
    """Labels of ages and the ages of each: single years or bands, with overlaps and holes."""
    ends = [-1, *sorted(rng.choice(np.arange(1, 6), int(rng.integers(1, 5)), replace=False).tolist()), 7]
    if rng.random() < 0.2:
        ends = [-1, *range(7), 7]
    bands = [(low, high - 1) for low, high in pairwise(ends)]
    if rng.random() < 0.3:  # a band that overlaps others
        low = int(rng.integers(0, 4))
        if not any(last == low or first == low + 2 for first, last in bands):  # nobody knows who has the end
            bands.append((low, low + 2))
    if rng.random() < 0.3 and len(bands) > 2:  # bands that do not cover everything
        bands.pop(int(rng.integers(len(bands))))
    bands = list(dict.fromkeys(bands))
    order = rng.permutation(len(bands))
    return {band(rng, *bands[k]): set(range(bands[k][0], bands[k][1] + 1)) for k in order}


def instance(seed, *, gaps):
    """People, tables of them with their protections, and the labels of each table's ages."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 5))
    codings = [coding(rng) for _ in range(3)]
    whole = any(re.search(r"^\d+( to |-|–|$)", label) for each in codings for label in each)
    if not whole:  # then the column is not of whole numbers
        codings[0] = {str(age): {age} for age in range(6)} | {"<0": {-1}, "6+": {6}}
    covered = sorted(set().union(*(ages for each in codings for ages in each.values())))
    people = [(int(rng.choice(covered)), str(rng.choice(["f", "m"]))) for _ in range(n)]
    if gaps:
        people = [
            (None if rng.random() < 0.25 else age, None if rng.random() < 0.2 else sex) for age, sex in people
        ]
    tables = []
    for number, ages in enumerate(codings):
        names = [("age",), ("age", "sex"), ("sex", "age")][int(rng.integers(3))]
        sexes = {"f": {"f"}, "m": {"m"}} if rng.random() < 0.5 else {"m": {"m"}, "f": {"f"}}
        values = [ages if name == "age" else sexes for name in names]
        protect = [None, None, None, ta.Suppression(2), ta.Rounding(2, "random")][int(rng.integers(5))]
        tables.append((names, values, protect, number))
    if rng.random() < 0.5:
        tables.append((("sex",), [{"f": {"f"}, "m": {"m"}}], None, 3))
    return people, tables, covered


def counted(person, names, cell):
    own = dict(zip(("age", "sex"), person, strict=True))
    return all(own[name] in allowed for name, allowed in zip(names, cell, strict=True))


def published(people, tables, seed):
    found = []
    for names, values, protect, number in tables:
        cells = list(product(*(each.values() for each in values)))
        counts = np.array([float(sum(counted(one, names, cell) for one in people)) for cell in cells])
        counts = counts if protect is None else protect.perturb(counts, np.random.default_rng(seed + number))
        found.append(ta.CountTable(dict(zip(names, map(list, values), strict=True)), counts.ravel(), protect))
    return found


def every(rows, n, tables, given):
    """Every number of people in each row that has these tables, of n people in all."""
    listed = np.array(list(combinations_with_replacement(range(len(rows)), n)), dtype=np.intp)
    counts = np.zeros((len(listed), len(rows)), dtype=np.int64)
    np.add.at(counts, (np.arange(len(listed))[:, None], listed), 1)
    for (names, values, protect, _), table in zip(tables, given, strict=True):
        for cell, value in zip(product(*(each.values() for each in values)), table.counts, strict=True):
            inside = np.array([counted(row, names, cell) for row in rows])
            steps = [] if protect is None else [protect]
            allowed = np.array([can_be(value, count, steps) for count in range(n + 1)])
            counts = counts[allowed[counts @ inside]]
    return counts


def check(seed, *, gaps):
    people, tables, covered = instance(seed, gaps=gaps)
    given, n = published(people, tables, seed), len(people)
    own = {name for names, *_ in tables for name in names}
    missing = [name for name in ("age", "sex") if name in own and gaps]
    found = ta.rows_from_tables(given, people=n, may_be_missing=missing)
    assert found.status.word == "solved", (seed, found.status)
    ages = [*covered, *([None] if gaps else [])]
    sexes = ["f", "m", *([None] if gaps else [])] if "sex" in own else ["f"]
    rows = list(product(ages, sexes))
    counts = every(rows, n, tables, given)
    assert len(counts)
    for row, least, most in zip(found.rows.tolist(), found.lower, found.upper, strict=True):
        named = found.named(row)
        same = [holds(named["age"], age) and named.get("sex", "f") == (sex or "missing") for age, sex in rows]
        held = counts @ np.array(same)
        assert (least, most) == (held.min(), held.max()), (seed, named)
    return len(found.certain)


@pytest.mark.parametrize("gaps", [False, True], ids=["complete", "gaps"])
def test_bounds_are_those_of_all_people_there_can_be(gaps):
    assert sum(check(seed, gaps=gaps) for seed in range(15)) > 5


@pytest.mark.slow
@pytest.mark.parametrize("block", range(10))
def test_a_thousand_codings_against_all_people_there_can_be(block):
    for seed in range(100 * block, 100 * block + 100):
        check(seed, gaps=bool(seed % 2))


def truth_of(found, people):
    """How many of the people are in each row."""
    out = np.zeros(len(found.rows), dtype=int)
    for at, row in enumerate(found.rows.tolist()):
        named = found.named(row)
        out[at] = sum(
            holds(named["age"], age) and named.get("sex", sex or "missing") == (sex or "missing")
            for age, sex in people
        )
    return out


def sound(seed, *, know):
    """Right tables are not called contradictory, and no bound is wrong, if nobody says who has gaps."""
    people, tables, _ = instance(seed, gaps=True)
    given = published(people, tables, seed)
    found = ta.rows_from_tables(given, people=len(people) if know else None)
    assert found.status.word == "solved", (seed, found.status, found.contradiction)
    true, known = truth_of(found, people), sum(age is not None and sex is not None for age, sex in people)
    if found.missing:
        assert (true >= found.lower).all(), seed
        assert (true <= found.upper).all(), seed
    return known < len(people), bool(found.missing)


@pytest.mark.parametrize("know", [False, True], ids=["unknown number", "known number"])
def test_right_tables_that_leave_people_out_are_never_called_contradictory(know):
    said = [sound(seed, know=know) for seed in range(40)]
    assert sum(inferred for _, inferred in said) > 10


REGIONS = ["DE11", "DE12", "DE21", "FR10", "FR20"]


@pytest.mark.parametrize("seed", range(6))
def test_codes_of_other_levels_are_read_together(seed):
    rng = np.random.default_rng(seed)
    people = np.column_stack([rng.integers(0, 5, 9), rng.integers(0, 2, 9)])
    fine = np.zeros((5, 2))
    np.add.at(fine, (people[:, 0], people[:, 1]), 1)
    above = list(dict.fromkeys(code[:3] for code in REGIONS))
    coarse = [fine[[code[:3] == each for code in REGIONS]].sum(axis=0) for each in above]
    tables = [
        ta.CountTable({"region": REGIONS}, fine.sum(axis=1)),
        ta.CountTable({"region": above, "sex": ["f", "m"]}, np.array(coarse)),
    ]
    found = ta.rows_from_tables(tables)
    least, most = fine.copy() * 0, fine.copy() * 0
    for at, code in enumerate(REGIONS):
        for sex in (0, 1):
            total, own = coarse[above.index(code[:3])], fine.sum(axis=1)[at]
            least[at, sex] = max(0, own - total[1 - sex])
            most[at, sex] = min(own, total[sex])
    assert found.labels[0] == tuple(REGIONS)
    assert found.status.word == "solved"
    assert np.array_equal(found.lower, least.ravel())
    assert np.array_equal(found.upper, most.ravel())


def test_numbered_names_are_no_hierarchy():
    names = [f"R{number}" for number in range(1, 13)]
    first = ta.CountTable({"region": names}, np.arange(12.0))
    found = ta.rows_from_tables([first, ta.CountTable({"region": names[::-1]}, np.arange(12.0)[::-1])])
    assert (found.labels[0], found.unique) == (tuple(names), True)
    with pytest.raises(ta.InvalidInput, match="the same texts everywhere"):
        ta.rows_from_tables([first, ta.CountTable({"region": ["R1", "R2"]}, [30.0, 36.0])])
