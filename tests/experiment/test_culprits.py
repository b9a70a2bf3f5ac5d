"""What each part of a plan adds, and who is learnt, in counts that tell of nobody."""

from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tellall as ta
from tellall.core import files as store
from tellall.core.schemas.documents import AuditDocument, CulpritsDocument
from tellall.experiment.culprits import (
    Crowd,
    derivable,
    find_culprits,
    may_be_shown,
    merged,
    who_is_learnt,
    with_culprits,
)
from tellall.experiment.plans.places import places_of


def told(group: int, count: int) -> bool:
    """Whether a count of so many in a group tells of single people."""
    return 1 <= count <= 4 or group - count <= 4


def people_of(seed: int = 0, n: int = 120) -> ta.Dataset:
    rng = np.random.default_rng(seed)
    frame = {f"c{j}": rng.choice(list("abc"), n) for j in range(4)}
    return ta.Dataset.from_frame({**frame, "ill": (rng.random(n) < 0.4).astype(int)}, secret="ill")


@pytest.fixture(scope="module")
def audit() -> ta.Audit:
    plan = {"steps": False, "releases": [{"name": "counts", "statistic": {"kind": "Marginals", "ways": 4}}]}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tellall.experiment.audit.affordable", lambda *_: ("least-squares",))
        people, audit = people_of(), ta.audit(people_of(), plan)
        return with_culprits(people, places_of(people, audit.plan), audit)


def test_every_column_is_left_out_and_says_what_it_adds(audit):
    found = CulpritsDocument.model_validate(audit.culprits)
    assert [(part.kind, part.name) for part in found.parts] == [("column", f"c{j}") for j in range(4)]
    outcome = audit.findings[0].outcome
    assert (found.proved, found.exposed, found.advantage) == (
        outcome.proved,
        outcome.exposed_people,
        outcome.advantage,
    )
    for part in found.parts:
        assert part.adds["proved"] == found.proved - part.proved
        assert part.adds["advantage"] == pytest.approx(found.advantage - part.advantage)
    assert max(part.adds["advantage"] for part in found.parts) > 0
    assert AuditDocument.model_validate_json(store.dump(audit.document)).culprits == found


def test_releases_and_listed_tables_are_left_out_one_by_one():
    tables = {"kind": "Marginals", "ways": 3, "attributes": [["c0", "c1"], ["c2", "c3"]]}
    plan = {
        "steps": False,
        "limit": 0.0,
        "releases": [
            {"name": "chosen", "statistic": tables},
            {"name": "all", "statistic": {"kind": "Marginals", "ways": 2}},
        ],
    }
    people = people_of(n=40)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tellall.experiment.audit.affordable", lambda *_: ("least-squares",))
        audit = ta.audit(people, plan)
        together = [one for one in audit.findings if one.job.role == "together"]
        patch.setattr("tellall.experiment.culprits._worst", lambda _: together[0])
        found = find_culprits(people, places_of(people, audit.plan), audit)
    kinds = [(part["kind"], part["name"]) for part in found["parts"]]
    assert kinds[:4] == [
        ("release", "chosen"),
        ("release", "all"),
        ("table", "c0 × c1 in “chosen”"),
        ("table", "c2 × c3 in “chosen”"),
    ]


def test_what_passes_has_no_culprits(audit):
    plan = {
        "limit": 1.0,
        "exposed_limit": None,
        "steps": False,
        "releases": [
            {"statistic": {"kind": "Marginals", "ways": 2}, "protect": {"kind": "Gaussian", "std": 99.0}}
        ],
    }
    quiet = ta.audit(people_of(n=40), plan)
    assert quiet.verdict.word == "pass"
    assert find_culprits(people_of(n=40), places_of(people_of(n=40), quiet.plan), quiet) is None


crowds = st.lists(st.tuples(st.integers(1, 40), st.integers(0, 40)), min_size=1, max_size=8)


@given(crowds)
def test_merged_counts_may_be_shown_and_hold_everybody(sizes):
    sizes = [(group, min(count, group)) for group, count in sizes]
    learnt = np.concatenate([np.arange(group) < count for group, count in sizes])
    edges = np.cumsum([0, *(group for group, _ in sizes)])
    index = np.arange(learnt.size)
    rows = merged(
        [Crowd((str(i),), (index >= a) & (index < b)) for i, (a, b) in enumerate(pairwise(edges))],
        learnt,
    )
    assert np.array_equal(sum(row.people.astype(int) for row in rows), np.ones(learnt.size, dtype=int))
    assert [value for row in rows for value in row.values] == [str(i) for i in range(len(sizes))]
    if len(rows) > 1:
        for row in rows:
            group, count = int(row.people.sum()), int((row.people & learnt).sum())
            assert may_be_shown(row.people, learnt)
            assert count == 0 or not told(group, count)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(20, 300), st.floats(0, 1))
def test_no_count_that_follows_from_those_shown_tells_of_single_people(seed, n, rate):
    """Columns that hold each other (town, county) are where differences tell."""
    rng = np.random.default_rng(seed)
    town = rng.integers(0, 6, n)
    frame = {"town": town.astype(str), "county": (town // 2).astype(str), "sex": rng.choice(["f", "m"], n)}
    people = ta.Dataset.from_frame({**frame, "ill": rng.integers(0, 2, n)}, secret="ill")
    learnt = rng.random(n) < rate
    shown = [(n, int(learnt.sum()), np.ones(n, dtype=bool))]
    for table in who_is_learnt(people.public, learnt):
        if table["by"] in people.public.names:
            column = people.public.columns[people.public.names.index(table["by"])]
            codes = people.public.codes[people.public.names.index(table["by"])]
            masks = [np.isin(codes, [column.labels.index(v) for v in row["values"]]) for row in table["rows"]]
        else:
            alike = people.public.patterns.counts[people.public.patterns.index]
            ends = {"1": (1, 1), "2 to 4": (2, 4), "5 to 9": (5, 9), "10 or more": (10, n)}
            masks = [
                np.any([(alike >= ends[v][0]) & (alike <= ends[v][1]) for v in row["values"]], axis=0)
                for row in table["rows"]
            ]
        for row, mask in zip(table["rows"], masks, strict=True):
            assert (row["people"], row["learnt"]) == (int(mask.sum()), int((mask & learnt).sum()))
            assert row["learnt"] == 0 or not told(row["people"], row["learnt"])
            shown.append((row["people"], row["learnt"], mask))
    for (group, count, mask), (less, fewer, inside) in combinations(
        sorted(shown, key=lambda one: -one[0]), 2
    ):
        if (inside <= mask).all() and group > less:
            assert count - fewer == 0 or not told(group - less, count - fewer)


def test_a_difference_that_tells_is_found():
    index = np.arange(60)
    everybody, town = Crowd(("all",), index >= 0), Crowd(("town",), index < 52)
    assert derivable([everybody, town], index % 2 == 0)  # eight are outside, four of them learnt
    assert not derivable([everybody, town], index < 20)
