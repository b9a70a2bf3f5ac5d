"""Order decides nothing that it should not: people may come in any order, and releases may be moved."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tellall as ta
from tellall.audits.plans.plan import Plan
from tellall.audits.trial import Planned

PROTECTIONS: list[list[dict[str, Any]]] = [
    [],
    [{"kind": "Gaussian", "std": 1.0}],
    [{"kind": "Rounding", "base": 5}],
    [{"kind": "Suppression", "below": 4}],
]


def people_of(levels: int) -> ta.Dataset:
    rng = np.random.default_rng(5)
    public = rng.integers(0, 3, (150, 5))
    secret = (rng.random(150) < 0.3 + 0.2 * public[:, 0]).astype(int)
    if levels > 2:
        secret = (secret + public[:, 1]) % levels
    return ta.Dataset.from_arrays(public, secret, names=list("ebdac"))


def told(audit: ta.Audit) -> list[Any]:
    """Every number of an audit's outcomes."""
    return [
        (
            one.asked,
            one.accuracy,
            one.advantage,
            one.interval,
            one.baselines,
            one.exposed,
            one.proved_alone,
            one.proved_group,
            one.luck,
            str(one.status),
        )
        for finding in audit.findings
        for one in getattr(finding, "outcomes", ())
    ]


@pytest.mark.parametrize("levels", [2, 3])
@pytest.mark.parametrize("protect", PROTECTIONS, ids=lambda one: one[0]["kind"] if one else "exact")
def test_the_order_of_the_people_changes_no_number(levels: int, protect: list[dict[str, Any]]) -> None:
    people = people_of(levels)
    statistic = {"kind": "Marginals", "ways": 3}
    plan = {"releases": [{"statistic": statistic, "protect": protect}], "seed": 4, "steps": False}
    first = ta.audit(people, plan)
    order = np.random.default_rng(levels).permutation(people.n)
    again = ta.audit(people.take(order), plan)
    assert told(again) == told(first)
    assert again.verdict.word == first.verdict.word


def test_whom_an_attacker_knows_does_not_hang_on_the_file() -> None:
    people = people_of(2)
    table = {"statistic": {"kind": "Marginals", "ways": 3}}
    plan = {"releases": [table], "known_people": 0.6, "known_secrets": 0.2, "steps": False}
    order = np.random.default_rng(1).permutation(people.n)
    assert told(ta.audit(people.take(order), plan)) == told(ta.audit(people, plan))


def test_a_table_keeps_its_noise_when_it_is_moved_or_others_come_before_it() -> None:
    noisy = {"kind": "Gaussian", "std": 2.0}
    tables = [
        {"name": "first", "statistic": {"kind": "Marginals", "ways": 2}, "protect": [noisy]},
        {"name": "second", "statistic": {"kind": "Marginals", "ways": 3}, "protect": [noisy]},
        {
            "name": "third",
            "statistic": {"kind": "Marginals", "ways": 3},
            "protect": [noisy],
            "where": "e = 1",
        },
    ]

    def streams(releases: list[dict[str, Any]]) -> dict[str, int]:
        return {one.name: one.stream for one in Plan.from_mapping({"releases": releases}).releases}

    whole = streams(tables)
    assert len(set(whole.values())) == 3
    assert streams(tables[::-1]) == whole
    assert streams(tables[1:]) == {name: whole[name] for name in ("second", "third")}
    renamed = streams([{**tables[0], "name": "another name"}])
    assert list(renamed.values()) == [whole["first"]]


def test_equal_noisy_tables_have_different_noise() -> None:
    table = {"statistic": {"kind": "Marginals", "ways": 2}, "protect": [{"kind": "Gaussian", "std": 2.0}]}
    one, two = Plan.from_mapping({"releases": [table, table]}).releases
    assert one.stream != two.stream
    assert one.stream == Plan.from_mapping({"releases": [table]}).releases[0].stream


def test_a_stream_says_nothing_about_data_and_serves_own_classes() -> None:
    class Own(ta.Marginals):
        """A class that no plan knows."""

    planned = Planned("own", Own(2), (ta.Gaussian(1.0),))
    assert planned.stream_of(0) == Planned("other name", Own(2), (ta.Gaussian(1.0),)).stream_of(0)
    assert planned.stream_of(0) != planned.stream_of(1)
