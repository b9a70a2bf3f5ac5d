"""Intervals of withheld cells: those of one programme a cell, whatever the tables."""

import numpy as np
import pytest
from tests.attack.prove.offices import Office, tree

import tellall as ta

TREES = {
    "region": tree(2, 2, 2),
    "nace": tree(2, 1, 3),
    "size": ({"S": ["S1"], "L": ["L1", "L2"]}, ["Total", "S", "S1", "L", "L1", "L2"]),
}
LINKED = [("region", "nace"), ("nace", "size")]
CYCLE = [("region", "nace"), ("nace", "size"), ("region", "size")]


def agrees(office, found, chosen):
    assert found.status.word == "solved"
    for index in chosen:
        table, line = found.lines[index]
        low, high = office.interval(office.rows[table][line])
        assert found.low[index] == pytest.approx(low, rel=1e-6, abs=1e-6)
        assert found.high[index] == pytest.approx(high, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("amounts", [False, True])
@pytest.mark.parametrize("tables", [LINKED[:1], LINKED, [("nace", "size"), ("nace",), ("size",), ()]])
def test_intervals_are_those_of_one_programme_a_cell(amounts, tables):
    trees = {name: TREES[name] for name in TREES if any(name in each for each in tables)}
    office = Office(trees, tables, 1, amounts=amounts)
    found = ta.hidden_cells(office.tables, bands=office.bands)
    assert len(found) == sum(int(table.withheld.sum()) for table in office.tables)
    agrees(office, found, np.random.default_rng(0).permutation(len(found))[:12])


def test_three_tables_that_share_columns_in_a_circle_are_taken_together():
    trees = {"region": tree(1, 2, 2), "nace": tree(1, 1, 3), "size": TREES["size"]}
    office = Office(trees, CYCLE, 3, mean=1.0)
    agrees(office, ta.hidden_cells(office.tables, bands=office.bands), range(0, 46, 6))


@pytest.mark.slow
@pytest.mark.parametrize("amounts", [False, True])
@pytest.mark.parametrize("secondary", [False, True])
@pytest.mark.parametrize("seed", range(10))
def test_intervals_of_forty_linked_worlds(amounts, secondary, seed):
    office = Office(TREES, [LINKED, CYCLE][seed % 2], seed, amounts=amounts, secondary=secondary)
    found = ta.hidden_cells(office.tables, bands=office.bands)
    agrees(office, found, range(len(found)))


def test_a_hidden_subtotal_of_shown_cells_is_in_vain_and_the_reasons_suffice():
    cells = {"region": ["A", "A1", "A2", "B", "B1", "B2", "Total"]}
    table = ta.ListedCells(cells, [np.nan, 3, 4, 9, np.nan, np.nan, 16])
    found = ta.hidden_cells(table, bands=ta.Bands("region", {"A": ["A1", "A2"], "B": ["B1", "B2"]}))
    assert [cell["region"] for cell in found.cells] == ["A", "B1", "B2"]
    assert found.low.tolist() == [7, 0, 0]
    assert found.high.tolist() == [7, 9, 9]
    assert found.in_vain.tolist() == [True, False, False]
    assert {cell.cell["region"] for cell in found.reasons(0)} in ({"A1", "A2"}, {"B", "Total"})
    assert {cell.cell["region"] for cell in found.reasons(1)} in ({"B"}, {"A1", "A2", "Total"})


@pytest.mark.parametrize("amounts", [False, True])
def test_the_reasons_alone_give_the_same_interval(amounts):
    office = Office({name: TREES[name] for name in ("nace", "size")}, [("nace", "size")], 5, amounts=amounts)
    found = ta.hidden_cells(office.tables, bands=office.bands)
    for index in range(0, len(found), 3):
        named = [cell.cell for cell in found.reasons(index)]
        kept = [table.cell(line) in named for table in office.tables for line in range(table.values.size)]
        line = found.lines[index, 1]
        low, high = office.interval(office.rows[0][line], hidden=[~np.array(kept)])
        assert found.low[index] == pytest.approx(low, rel=1e-6, abs=1e-6)
        assert found.high[index] == pytest.approx(high, rel=1e-6, abs=1e-6)


def test_units_decide_nothing():
    office = Office({name: TREES[name] for name in ("nace", "size")}, [("nace", "size")], 2, amounts=True)
    (table,) = office.tables
    plain = ta.hidden_cells(table, bands=office.bands)
    columns = {name: [table.cell(line)[name] for line in range(table.values.size)] for name in table.columns}
    for factor in (1e-12, 1e12):
        scaled = ta.ListedCells(columns, table.values * factor, variable="turnover")
        found = ta.hidden_cells(scaled, bands=office.bands)
        assert np.allclose(found.low, factor * plain.low, rtol=1e-6, atol=1e-6 * factor)
        assert np.allclose(found.high, factor * plain.high, rtol=1e-6, atol=1e-6 * factor)
        assert (found.in_vain == plain.in_vain).all()


def test_a_known_threshold_makes_intervals_smaller():
    table = [[np.nan, np.nan, 9], [5, 6, np.nan]]
    shape = {"sex": ["f", "m"], "age": ["0", "1", "2"]}
    totals = ta.CountTable({"sex": ["f", "m"]}, [15, 13])
    loose = ta.hidden_cells([ta.CountTable(shape, table), totals])
    tight = ta.hidden_cells([ta.CountTable(shape, table, ta.Suppression(5)), totals])
    assert loose.high.tolist() == [6, 6, 2]
    assert (tight.low.tolist(), tight.high.tolist()) == ([2, 2, 2], [4, 4, 2])


def test_releases_of_counts_and_what_knowing_the_people_adds():
    rng = np.random.default_rng(4)
    people = ta.Dataset.from_arrays(rng.integers(0, 3, (60, 2)), rng.random(60) < 0.2, names=["a", "b"])
    release = ta.publish(people, ta.Marginals([1, 3]), ta.Suppression(3))
    alone = ta.hidden_cells(release)
    known = ta.hidden_cells(release, people.public)
    truth = ta.Marginals([1, 3]).values(people)[np.isnan(release.values)]
    assert len(alone) == truth.size > 3
    for found in (alone, known):
        assert (found.low <= truth).all()
        assert (truth <= found.high).all()
    assert (known.high - known.low).sum() < (alone.high - alone.low).sum()
    assert known.cells[0].keys() == {"a", "b", "secret"} or "secret" in known.cells[0]


@pytest.mark.parametrize("statistic", [ta.Sums, ta.CellMeans])
def test_sums_and_means_are_judged_by_the_rule_that_withheld_them(statistic):
    rng = np.random.default_rng(5)
    firms = ta.Dataset.from_arrays(
        rng.integers(0, 3, (60, 2)), rng.lognormal(3, 1.3, 60), names=["region", "trade"]
    )
    table = ta.publish(firms, statistic(3, [["region", "trade"]]), ta.PPercent(10))
    totals = ta.publish(firms, statistic(2, [["region"], ["trade"]]))
    both = ta.hidden_cells([table, totals], firms)
    assert both.in_vain.all()
    assert np.allclose(both.low, both.secret)
    safer = ta.publish(firms, statistic(3, [["region", "trade"]]), ta.PPercent(10, complementary=True))
    found = ta.hidden_cells([safer, totals], firms)
    assert ((found.low <= found.secret + 1e-6) & (found.secret <= found.high + 1e-6)).all()
    near = np.minimum(found.high - found.secret, found.secret - found.low) < found.margin - 1e-6
    assert (found.in_vain == (found.determined | (near & (found.margin > 0)))).all()


def test_means_need_the_number_of_people():
    firms = ta.Dataset.from_arrays([[0], [0], [1], [1]], [1.25, 2.0, 3.0, 5.5], names=["region"])
    release = ta.publish(firms, ta.CellMeans([1, 2]), ta.Dominance(1, 0.62))
    with pytest.raises(ta.InvalidInput, match="number of people in each cell"):
        ta.hidden_cells(release)
    assert ta.hidden_cells(release, firms.public).in_vain.all()


def test_amounts_that_may_be_negative_are_bounded_by_nothing():
    table = ta.ListedCells({"town": ["a", "b", "Total"]}, [np.nan, np.nan, 8.5], variable="profit")
    assert ta.hidden_cells(table).high.tolist() == pytest.approx([8.5, 8.5])
    free = ta.hidden_cells(table, bounds=(None, None))
    assert np.isneginf(free.low).all()
    assert np.isposinf(free.high).all()
    assert not free.in_vain.any()


def test_tables_that_contradict_each_other_prove_nothing():
    for more in ({}, {"variable": "turnover"}):
        table = ta.ListedCells({"town": ["a", "b", "Total"]}, [np.nan, 9, 8], **more)
        found = ta.hidden_cells(table)
        assert found.status.word == "contradictory"
        assert not found.status.settled
        assert not found.in_vain.any()


def test_an_effort_of_nothing_leaves_bounds_that_hold():
    office = Office({name: TREES[name] for name in ("nace", "size")}, [("nace", "size")], 1)
    quick = ta.hidden_cells(office.tables, bands=office.bands, proof_effort=0)
    slow = ta.hidden_cells(office.tables, bands=office.bands)
    assert quick.status.word == "not converged"
    assert (quick.low <= slow.low).all()
    assert (quick.high >= slow.high).all()


def test_what_cannot_be_read_is_refused():
    with pytest.raises(ta.InvalidInput, match="listed twice"):
        ta.ListedCells({"town": ["a", "a"]}, [1, 2])
    with pytest.raises(ta.InvalidInput, match="bands"):
        ta.hidden_cells(
            ta.ListedCells({"town": ["a", "b"]}, [1, np.nan]), bands=ta.Bands("city", {"x": ["y"]})
        )
    with pytest.raises(ta.InvalidInput, match="bounds"):
        ta.hidden_cells(ta.ListedCells({"town": ["a", "b"]}, [1, np.nan]), bounds=(3, 1))
