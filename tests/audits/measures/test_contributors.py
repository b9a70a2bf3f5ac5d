"""The agencies' rules beside the attack: the same bound for one sum, and what sums tell together."""

import numpy as np
import pytest

import tellall as ta
from tellall.report.attackers import attacker_lines
from tellall.report.audit_page import render

FIRMS = ta.Dataset.from_arrays(
    [[0, 0], [0, 0], [0, 1], [0, 1], [1, 0], [1, 0], [1, 1], [1, 1], [1, 1]],
    [50.5, 30.0, 8.0, 6.0, 20.0, 18.0, 9.0, 7.0, 5.0],
    names=["region", "kind"],
)


@pytest.mark.parametrize("seed", range(5))
def test_the_second_largest_contributor_knows_the_p_percent_rules_bound(seed):
    rng = np.random.default_rng(seed)
    numbers = rng.lognormal(3, 1, 12)
    firms = ta.Dataset.from_arrays(np.repeat([[0], [1]], 6, axis=0), numbers, names=["region"])
    release = ta.publish(firms, ta.Sums(2))
    table = ta.compare_rules(firms, release, p=15)
    for cell, members in zip(table.cells, (numbers[:6], numbers[6:]), strict=True):
        first, second = np.sort(members)[::-1][:2]
        gap = 100 * (members.sum() - first - second) / first
        assert cell.gap == pytest.approx(gap)
        assert cell.second == pytest.approx(gap, rel=1e-5)
        assert cell.outsider == pytest.approx(100 * (members.sum() - first) / first, rel=1e-5)
        assert cell.p_percent == (gap < 15)
    # the attack with one's own number known says the same
    order = np.argsort(-numbers[:6])
    own = {int(order[1]): float(numbers[order[1]])}
    found = ta.reconstruct(release, firms.public, bounds=(0, None), known_secrets=own)
    rest = numbers[:6].sum() - numbers[order[1]]
    assert found.limits.high[order[0]] == pytest.approx(rest, rel=1e-5)


def test_cells_that_the_rule_passes_and_sums_together_break():
    """Every cell passes the rule; a region less its listed firms leaves the two largest alone."""
    columns = [[0, 1], [0, 1], [0, 1], [0, 0], [0, 0], [0, 0], [1, 1], [1, 1], [1, 0], [1, 0]]
    numbers = [60.5, 30.0, 2.0, 20.0, 18.0, 16.0, 15.0, 14.0, 13.0, 12.0]
    firms = ta.Dataset.from_arrays(columns, numbers, names=["region", "listed"])
    totals = ta.publish(firms, ta.Sums(2))
    parts = ta.publish(firms, ta.Sums(3), ta.PPercent(10))
    assert np.isnan(parts.values).tolist() == [False, True, True, True]  # the rule withholds what it must
    alone = ta.compare_rules(firms, totals, p=10)
    assert not any(cell.p_percent for cell in alone.cells)
    assert not alone.broken
    both = ta.compare_rules(firms, [totals, parts], p=10)
    broken = both.broken
    of_region = next(
        cell for cell in broken if cell.cell == "region 0"
    )  # less those not listed: 60.5 + 30 + 2
    assert of_region.second == pytest.approx(100 * 2 / 60.5, rel=1e-4)
    assert min(cell.second for cell in broken) < 1e-3  # region 1's listed firms are two
    assert "not hold" in both.sentence
    kept = ta.publish(firms, ta.Sums(3), ta.PPercent(10, complementary=True))
    assert np.isnan(kept.values).all()
    assert not ta.compare_rules(firms, [totals, kept], p=10).broken


def test_what_is_withheld_in_vain_is_named_with_its_interval():
    rng = np.random.default_rng(5)
    firms = ta.Dataset.from_arrays(
        rng.integers(0, 3, (60, 2)), rng.lognormal(3, 1.3, 60), names=["region", "trade"]
    )
    cells = ta.publish(firms, ta.Sums(3, [["region", "trade"]]), ta.PPercent(10))
    totals = ta.publish(firms, ta.Sums(2, [["region"], ["trade"]]))
    table = ta.compare_rules(firms, [cells, totals], p=10)
    withheld = [cell for cell in table.cells if not cell.shown]
    assert withheld
    assert table.vain == tuple(withheld)
    assert all(cell.low == pytest.approx(100) == cell.high for cell in withheld)
    assert "withheld in vain" in table.sentence
    direct = ta.hidden_cells([cells, totals], firms)
    assert len(table.vain) == int(direct.in_vain.sum())
    alone = ta.compare_rules(firms, cells, p=10)
    assert not alone.vain
    assert all(cell.high == np.inf for cell in alone.cells if not cell.shown)
    assert "no end" in str(alone)
    assert "in vain" in str(table)


def test_two_who_tell_each_other_their_numbers_know_more():
    firms = ta.Dataset.from_arrays([[0]] * 4 + [[1]] * 2, [60.5, 20.0, 15.0, 5.0, 7.0, 3.0], names=["region"])
    table = ta.compare_rules(firms, ta.publish(firms, ta.Sums(2)), p=10)
    assert table.cells[0].second == pytest.approx(100 * 20 / 60.5, rel=1e-5)
    assert table.cells[0].pair == pytest.approx(100 * 5 / 60.5, rel=1e-5)
    assert table.cells[1].pair == table.cells[1].second == pytest.approx(0, abs=1e-3)


def test_noise_limits_nothing_and_rounding_does():
    noisy = ta.compare_rules(FIRMS, ta.publish(FIRMS, ta.Sums(2), ta.Gaussian(1.0), rng=0))
    assert all(np.isinf(cell.second) for cell in noisy.cells)
    exact, rounded = (
        ta.compare_rules(FIRMS, ta.publish(FIRMS, ta.Sums(2), protect))
        for protect in (None, ta.Rounding(10.0))
    )
    assert all(one.second <= other.second for one, other in zip(exact.cells, rounded.cells, strict=True))


def test_the_page_and_the_table_show_no_contribution(tmp_path):
    table = ta.compare_rules(FIRMS, [ta.publish(FIRMS, ta.Sums(2)), ta.publish(FIRMS, ta.CellMeans(3))], p=10)
    page = table.save(tmp_path / "rules.html").read_text()
    assert "missed by the rule" in page or not table.broken
    assert "kind" in page
    assert "p %" in str(table)
    assert len(table.as_json()["cells"]) == len(table.cells) == 8
    for cell in table.cells:
        assert cell.contributors >= 2


def test_what_it_takes():
    release = ta.publish(FIRMS, ta.Sums(2))
    bits = ta.Dataset.from_arrays([[0], [1]], [0, 1])
    below = ta.Dataset.from_arrays([[0], [1], [1]], [-1.0, 2.5, 3.5])
    fits = ta.publish(FIRMS, ta.Estimator("linear"))
    for people, releases in (
        (FIRMS, []),
        (FIRMS, fits),
        (bits, release),
        (below, ta.publish(below, ta.Sums(2))),
    ):
        with pytest.raises(ta.InvalidInput, match="must be"):
            ta.compare_rules(people, releases)
    with pytest.raises(ta.InvalidInput, match="p must be"):
        ta.compare_rules(FIRMS, release, p=0)


def test_an_audit_says_what_the_rules_would_have_said():
    """The p % rule passes totals that give withheld cells away; page, document and terminal say so."""
    rng = np.random.default_rng(5)
    people = ta.Dataset.from_arrays(
        np.column_stack([rng.integers(0, 3, 40), rng.integers(0, 3, 40)]),
        rng.lognormal(3, 1.3, 40),
        names=["region", "trade"],
    )
    cells = {"kind": "Sums", "ways": 3}
    totals = {"kind": "Sums", "ways": 2}
    plan = {
        "steps": False,
        "releases": [
            {"name": "cells", "statistic": cells, "protect": [{"kind": "PPercent", "p": 10}]},
            {"name": "totals", "statistic": totals},
        ],
    }
    audit = ta.audit(people, plan)
    published = [ta.publish(people, ta.Sums(3), ta.PPercent(10)), ta.publish(people, ta.Sums(2))]
    wanted = ta.compare_rules(people, published)
    assert audit.rules.as_json() == {
        "sentence": wanted.sentence,
        "cells": len(wanted.cells),
        "broken": len(wanted.broken),
        "in_vain": len(wanted.vain),
    }
    assert wanted.broken
    assert wanted.vain
    assert audit.attacks.word == "pass"
    assert audit.verdict.word == "fail"
    assert wanted.sentence in audit.verdict.sentence
    assert wanted.sentence in attacker_lines(audit.content)[0]
    assert "the 10 % rule would withhold" in render(audit.content)
    counted = ta.Dataset.from_arrays(people.public.codes.T, rng.integers(0, 2, 40))
    assert ta.audit(counted, {"releases": [{"name": "t", "statistic": totals}]}).rules is None


def test_sums_of_some_people_are_compared_by_the_people_in_them():
    rng = np.random.default_rng(1)
    frame = {"sector": np.array(list("pqr"))[rng.integers(0, 3, 30)], "size": np.arange(30) % 2}
    firms = ta.Dataset.from_frame({**frame, "turnover": rng.lognormal(3, 1, 30)}, secret="turnover")
    small = firms.take(np.flatnonzero(frame["size"] == 0))
    inside = ta.compare_rules(firms, ta.publish(firms, ta.Sums(2), where="size = 0"))
    alone = ta.compare_rules(small, ta.publish(small, ta.Sums(2)))
    assert inside.sentence == alone.sentence
    for one, other in zip(inside.cells, alone.cells, strict=True):
        assert one.cell == f"{other.cell}, where size = 0"
        assert (one.contributors, one.p_percent) == (other.contributors, other.p_percent)
        assert (one.gap, one.second) == pytest.approx((other.gap, other.second), rel=1e-6)
    # next to a table of everybody
    both = [ta.publish(firms, ta.Sums(2)), ta.publish(firms, ta.Sums(2), where="size = 0")]
    assert len(ta.compare_rules(firms, both).cells) == len(inside.cells) + 5


def test_an_audit_compares_the_rules_with_sums_of_some_people_too():
    plan = {"steps": False, "releases": [{"name": "t", "statistic": {"kind": "Sums", "ways": 2}}]}
    whole = ta.audit(FIRMS, plan)
    plan["releases"][0]["where"] = "region = 0 or region = 1"
    assert ta.audit(FIRMS, plan).rules == whole.rules is not None
