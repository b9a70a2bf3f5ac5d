"""Withholding more: nothing is in vain then, by programmes that share no code with the search."""

import numpy as np
import pytest

import tellall as ta
from tests.attack.prove.offices import Office, tree

TREES = {"nace": tree(2, 1, 3), "size": ({"L": ["L1", "L2"]}, ["Total", "S", "L", "L1", "L2"])}


def office(seed, *, amounts=False, tables=(("nace", "size"),)):
    return Office(TREES, list(tables), seed, amounts=amounts, secondary=False)


def in_vain(office, tables):
    """The withheld lines of which only one value is possible, by a programme for each end."""
    hidden = [table.withheld for table in tables]
    found = []
    for number, table in enumerate(tables):
        for line in np.flatnonzero(table.withheld):
            low, high = office.interval(office.rows[number][line], hidden)
            if np.isfinite(high) and high - low <= 1e-6 * max(abs(high), 1e-300):
                found.append((number, int(line)))
    return found


@pytest.mark.parametrize("amounts", [False, True])
@pytest.mark.parametrize("tables", [[("nace", "size")], [("nace", "size"), ("nace",), ("size",)]])
@pytest.mark.parametrize("seed", [1, 2])
def test_nothing_is_in_vain_afterwards(amounts, tables, seed):
    made = office(seed, amounts=amounts, tables=tables)
    before = ta.hidden_cells(made.tables, bands=made.bands)
    found = ta.suppress_cells(made.tables, bands=made.bands)
    assert before.in_vain.any()
    assert not len(found.failed)
    assert not found.after.in_vain.any()
    assert not in_vain(made, found.tables)
    for old, new in zip(made.tables, found.tables, strict=True):
        assert (new.withheld >= old.withheld).all()
        assert (new.primary == old.primary).all()
    assert len(found.more) == sum(
        int((new.withheld & ~old.withheld).sum()) for old, new in zip(made.tables, found.tables, strict=True)
    )
    assert found.cheapest
    assert "no choice needs less" in repr(found)


def test_amounts_stay_as_far_away_as_asked():
    made = office(3, amounts=True)
    found = ta.suppress_cells(made.tables, bands=made.bands, within=20)
    hidden = [table.withheld for table in found.tables]
    for line in np.flatnonzero(made.tables[0].primary):
        low, high = made.interval(made.rows[0][line], hidden)
        truth = made.rows[0][line] @ made.truth
        assert low <= truth * 0.8 + 1e-6
        assert high >= truth * 1.2 - 1e-6


def test_cells_of_zero_and_kept_codes_are_shown_unless_said_otherwise():
    columns = {"town": ["a", "b", "c", "d", "Total"]}
    table = ta.ListedCells(columns, [2, 0, 7, 9, 18], [True, False, False, False, False])
    assert ta.suppress_cells(table).cells == ({"town": "c"},)
    assert ta.suppress_cells(table, keep={"town": ["c", "Total"]}).cells == ({"town": "d"},)
    stuck = ta.suppress_cells(table, keep={"town": ["c", "d", "Total"]})
    assert len(stuck.failed) == 1
    assert stuck.after.in_vain.tolist() == [True]
    freed = ta.suppress_cells(table, keep={"town": ["c", "d", "Total"]}, zeros=True)
    assert freed.cells == ({"town": "b"},)


def test_the_least_values_are_not_the_fewest_cells():
    columns = {"town": ["a", "b", "c", "d", "Total"]}
    values = [4.0, 1.0, 1.0, 90.0, 96.0]
    table = ta.ListedCells(columns, values, [True] + [False] * 4, secret=values, variable="turnover")
    few = ta.suppress_cells(table, within=40)
    small = ta.suppress_cells(table, within=40, cost="values")
    assert [cell["town"] for cell in few.cells] == ["d"]
    assert [cell["town"] for cell in small.cells] == ["b", "c"]


def test_what_protected_nothing_is_shown_again():
    columns = {"town": ["a", "b", "c", "Total"], "sex": ["Total"] * 4}
    columns = {name: [*own, *own] for name, own in columns.items()} | {"sex": ["f"] * 4 + ["Total"] * 4}
    columns = {name: [*own, *own[:4]] for name, own in columns.items()}
    columns["sex"][8:] = ["m"] * 4
    values = [2, 3, 4, 9, 3, 5, 7, 15, 1, 2, 3, 6]
    withheld = np.zeros(12, dtype=bool)
    withheld[[0, 1, 8, 9]] = True  # a and b of both sexes
    withheld[10] = True  # c of m follows from c of f and c
    primary = withheld.copy()
    primary[10] = False
    found = ta.suppress_cells(ta.ListedCells(columns, values, withheld, primary=primary))
    assert [found.tables[0].cell(line) for _, line in found.again.tolist()] == [{"town": "c", "sex": "m"}]
    assert not found.tables[0].withheld[10]
    assert not found.after.in_vain.any()


def test_what_cannot_be_protected_or_read_is_said():
    table = ta.ListedCells({"town": ["a", "b", "Total"]}, [np.nan, 9, 8])
    with pytest.raises(ta.InvalidInput, match="contradict"):
        ta.suppress_cells(table)
    rounded = ta.ListedCells({"town": ["a", "b", "Total"]}, [np.nan, 5, 10], protect=ta.Rounding(5))
    with pytest.raises(ta.InvalidInput, match="exact"):
        ta.suppress_cells(rounded)
    good = ta.ListedCells({"town": ["a", "b", "Total"]}, [np.nan, 5, 10])
    with pytest.raises(ta.InvalidInput, match="keep"):
        ta.suppress_cells(good, keep={"town": ["z"]})


def test_values_that_nobody_told_can_be_protected_too():
    table = ta.ListedCells({"town": ["a", "b", "c", "Total"]}, [np.nan, 5, 10, 18])
    found = ta.suppress_cells(table)
    assert found.cells == ({"town": "b"},)
    assert (found.after.low.tolist(), found.after.high.tolist()) == ([0, 0], [8, 8])
