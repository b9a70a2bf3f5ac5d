"""What each part of a plan adds, and where who is learnt is counted."""

from dataclasses import replace

import numpy as np
import pytest

import tellall as ta
from tellall.audits.contributions import find_culprits
from tellall.audits.document import read_audit
from tellall.audits.plans.places import places_of
from tellall.core import files as store


def people_of(seed: int = 0, n: int = 120) -> ta.Dataset:
    rng = np.random.default_rng(seed)
    frame = {f"c{j}": rng.choice(list("abc"), n) for j in range(4)}
    return ta.Dataset.from_frame({**frame, "ill": (rng.random(n) < 0.4).astype(int)}, secret="ill")


@pytest.fixture(scope="module")
def audit() -> ta.Audit:
    plan = {"steps": False, "releases": [{"name": "counts", "statistic": {"kind": "Marginals", "ways": 4}}]}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tellall.audits.attacks.affordable", lambda *_: ("least-squares",))
        people, audit = people_of(), ta.audit(people_of(), plan)
        return replace(audit, culprits=find_culprits(people, places_of(people, audit.plan), audit))


def test_every_column_is_left_out_and_says_what_it_adds(audit):
    found = audit.culprits
    assert [(part.kind, part.name) for part in found.parts] == [("column", f"c{j}") for j in range(4)]
    outcome = audit.findings[0].outcome
    assert (found.proved, found.exposed, found.advantage) == (
        outcome.proved,
        outcome.exposed_people,
        outcome.advantage,
    )
    for part in found.parts:
        assert part.adds.proved == found.proved - part.proved
        assert part.adds.advantage == pytest.approx(found.advantage - part.advantage)
    assert max(part.adds.advantage for part in found.parts) > 0
    assert read_audit(store.dump(audit.document)).culprits == found


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
        patch.setattr("tellall.audits.attacks.affordable", lambda *_: ("least-squares",))
        audit = ta.audit(people, plan)
        together = [one for one in audit.findings if one.job.role == "together"]
        patch.setattr("tellall.audits.contributions._worst", lambda _: together[0])
        found = find_culprits(people, places_of(people, audit.plan), audit)
    kinds = [(part.kind, part.name) for part in found.parts]
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


def test_by_area_no_other_table_counts_who_is_given_away():
    """Counts by another column could be subtracted from those of areas."""
    rng = np.random.default_rng(1)
    frame = {"town": rng.choice(list("ab"), 120)} | {f"c{j}": rng.integers(0, 2, 120) for j in range(6)}
    frame["ill"] = (rng.random(120) < 0.1 + 0.6 * frame["c0"]).astype(int)
    people = ta.Dataset.from_frame(frame, secret="ill")
    releases = [{"name": "counts", "statistic": {"kind": "Marginals", "ways": 4}}]
    found = {}
    for by in (None, "town"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("tellall.audits.attacks.affordable", lambda *_: ("least-squares",))
            audit = ta.audit(people, {"steps": False, "by": by, "releases": releases})
        found[by] = find_culprits(people, places_of(people, audit.plan), audit)
        assert found[by].learnt >= 10
    assert len(found[None].who) == 1
    assert found["town"].who == ()
