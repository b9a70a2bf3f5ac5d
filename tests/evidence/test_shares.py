"""Shares as counts: a percentage of people whose number is known, whatever way halves were rounded."""

import numpy as np
import pandas as pd
import pytest

import tellall as ta
from tellall.core.errors import InvalidInput
from tellall.evidence.shares import counts_of_shares

AGES = {"age": ["0-19", "20+"]}
ILL = AGES | {"ill": ["no", "yes"]}


def rounded(share: float, digits: int, halves: str) -> float:
    """A percentage as a publisher prints it."""
    scaled = round(share * 100 * 10**digits, 9)
    whole = np.floor(scaled + 0.5) if halves == "up" else np.rint(scaled)
    return float(whole / 10**digits)


def percent(values, digits=0) -> ta.CountTable:
    return ta.CountTable(ILL, values, ta.Rounding(10.0**-digits), shares_of=["age"], units=0.01)


@pytest.mark.parametrize("halves", ["up", "even"])
@pytest.mark.parametrize("digits", [0, 1])
def test_counts_are_those_that_could_be_printed_so(digits, halves):
    for n in (1, 2, 3, 7, 8, 40, 200, 333):
        size = np.full(2, float(n))
        for count in {0, 1, n // 3, n // 2, n}:
            one = rounded(count / n, digits, halves)
            other = rounded((n - count) / n, digits, halves)
            low, high = counts_of_shares(percent([[one, other]] * 2, digits), (size, size))
            assert low[0] <= count <= high[0]
            assert low[1] <= n - count <= high[1]
            near = [c for c in range(n + 1) if abs(100 * c / n - one) <= 0.5 / 10**digits + 1e-9]
            assert (low[0], high[0]) == (min(near), max(near))


def test_a_number_of_people_that_is_bounded_bounds_the_counts():
    values, base = percent([[75, 25], [50, 50]]), (np.array([3.0, 0.0]), np.array([8.0, 2.0]))
    low, high = counts_of_shares(values, base)
    every = [
        [x for n in range(3, 9) for x in range(n + 1) if abs(100 * x / n - each) <= 0.5] for each in (75, 25)
    ]
    for at, possible in enumerate(every):
        assert low[at] <= min(possible)
        assert high[at] >= max(possible)
    assert low[2:].tolist() == [0.0, 0.0]
    assert high[2:].tolist() == [1.0, 1.0]


def test_hidden_and_impossible_shares():
    size = np.array([3.0, 3.0])
    low, high = counts_of_shares(percent([[np.nan, 33], [60, 40]]), (size, size))
    assert (low[0], high[0]) == (0.0, 3.0)
    assert low[2] > high[2]
    nobody = np.zeros(2)
    assert counts_of_shares(percent([[np.nan] * 2] * 2), (nobody, nobody))[1].max() == 0.0


@pytest.mark.parametrize("seed", range(4))
def test_no_row_that_a_release_of_rates_makes_certain_is_missing(seed):
    rng = np.random.default_rng(seed)
    people = ta.Dataset.from_arrays(rng.integers(0, 2, (20, 3)), rng.integers(0, 2, 20))
    rates = ta.publish(people, ta.Marginals(3, scale="rates"), ta.Rounding(0.01))
    counts, exact = ta.publish(people, ta.Tables(2)), ta.publish(people, ta.Marginals(3))
    found = ta.rows_from_tables([rates, counts])
    assert found.status.word == "solved"
    assert found.score(people).wrong == 0
    same = ta.rows_from_tables([exact, counts])  # in cells this small a percentage tells the count
    assert np.array_equal(found.lower, same.lower)
    assert np.array_equal(found.upper, same.upper)


def test_shares_without_the_counts_behind_them_are_refused():
    with pytest.raises(
        InvalidInput, match="Add a table with the counts of age, or counts in place of shares"
    ):
        ta.rows_from_tables(percent([[67, 33], [88, 12]]))
    with pytest.raises(InvalidInput, match=r"shares_of must be some of the table's columns"):
        ta.CountTable(AGES, [3, 8], shares_of=["sex"])
    with pytest.raises(InvalidInput, match=r"shares_of must be some of the table's columns"):
        ta.CountTable(AGES, [3, 8], shares_of="age")


def test_shares_of_everybody_need_the_number_of_people():
    ages = ta.CountTable(AGES, [33, 67], ta.Rounding(1), shares_of=[], units=0.01)
    found = ta.rows_from_tables(ages, people=12)
    assert found.lower.tolist() == found.upper.tolist() == [4, 8]
    with pytest.raises(InvalidInput, match="counts of everybody"):
        ta.rows_from_tables(ages)


def test_contradicting_shares_prove_nothing_and_are_named():
    found = ta.rows_from_tables([ta.CountTable(AGES, [3, 8]), percent([[60, 40], [88, 12]])])
    assert found.status.word == "contradictory"
    assert not found.certain
    assert "shares of age" in found.contradiction[0].table


def test_percentages_in_files(tmp_path):
    (tmp_path / "age.csv").write_text("age,count\n0-19,3\n20+,8\n")
    (tmp_path / "ill.csv").write_text(
        "age,ill,percent\n0-19,no,66.7\n0-19,yes,33.3%\n20+,no,87.5\n20+,yes,\n"
    )
    tables = ta.read_count_tables([tmp_path / "age.csv", tmp_path / "ill.csv"])[""]
    assert tables[1].shares_of == ("age",)
    assert tables[1].protections == (ta.Rounding(0.1),)
    found = ta.rows_from_tables(tables)
    assert found.unique
    assert found.solution.tolist() == [2, 1, 7, 1]


@pytest.mark.parametrize(
    ("name", "values", "unit"),
    [
        ("percent", ["10.0", "90.0", "20.0", "80.0"], 0.1),
        ("percent", ["12.50", "87.50", "*", "80.00"], 0.01),
        ("percent", ["10.0 %", "90.0 %", "", "80.0 %"], 0.1),
        ("percent", ["10", "90", "20", "80"], 1.0),
        ("percent", ["1e+01", "9e+01", "2e+01", "8e+01"], 10.0),
        ("rate", ["0.00000", "1.00000", "0.50000", "0.50000"], 1e-5),
        ("rate", ["0.00001", "0.99999", "0.00002", "0.99998"], 1e-5),
    ],
)
def test_shares_in_a_file_are_rounded_to_the_digits_that_it_shows(tmp_path, name, values, unit):
    cells = [("f", "yes"), ("f", "no"), ("m", "yes"), ("m", "no")]
    plain = all(value.replace(".", "").isdigit() for value in values)
    for mark, point, ending in ((",", ".", "csv"), ("\t", ".", "tsv"), (";", "," if plain else ".", "csv")):
        rows = [[*cell, value.replace(".", point)] for cell, value in zip(cells, values, strict=True)]
        path = tmp_path / f"p.{ending}"
        path.write_text("\n".join(mark.join(row) for row in [["sex", "ill", name], *rows]) + "\n")
        (table,) = ta.read_count_tables(path)[""]
        assert table.protections == (ta.Rounding(unit),)


def test_digits_that_a_file_does_not_show_are_not_assumed(tmp_path):
    frame = pd.DataFrame({"sex": ["f", "f"], "ill": ["yes", "no"], "percent": [10.0, 90.0]})
    frame.to_parquet(tmp_path / "p.parquet")
    (table,) = ta.read_count_tables(tmp_path / "p.parquet")[""]
    assert table.protections == (ta.Rounding(10.0),)


def test_numbers_that_are_no_shares_are_refused(tmp_path):
    (tmp_path / "p.tsv").write_text("sex\till\tpercent\nf\tyes\t12,345\nf\tno\t87,655\n")
    with pytest.raises(InvalidInput, match="shares from 0 to 100; got another number in line 2"):
        ta.read_count_tables(tmp_path / "p.tsv")


EXACT_OR_HIDDEN = {
    "exact": (),
    "rounded": (ta.Rounding(0.1),),
    "at random": (ta.Rounding(0.1, "random"),),
    "hidden": (ta.Suppression(0.3),),
    "hidden and rounded": (ta.Rounding(0.1), ta.Suppression(0.3)),
}


@pytest.mark.parametrize("protect", EXACT_OR_HIDDEN.values(), ids=EXACT_OR_HIDDEN)
def test_shares_of_an_uncertain_base_exclude_no_count(protect):
    for low, high in ((0, 3), (1, 4), (3, 5), (7, 9)):
        bases = np.full(2, float(low)), np.full(2, float(high))
        for n in range(max(low, 1), high + 1):
            count = np.arange(n + 1)
            for x in count:
                share = np.array([x, n - x, n, 0]) / n
                for one in protect:
                    share = one.perturb(share, np.random.default_rng(x))
                least, most = counts_of_shares(ta.CountTable(ILL, share, protect, shares_of=["age"]), bases)
                assert (least <= [x, n - x, n, 0]).all()
                assert (most >= [x, n - x, n, 0]).all()


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("protect", [ta.Rounding(3), ta.Suppression(4), ta.Rounding(4, "midpoint")])
def test_exact_rates_with_protected_counts_fit_the_truth(seed, protect):
    rng = np.random.default_rng(seed)
    columns, ill = np.column_stack([np.arange(15) % 2, np.arange(15) % 3]), rng.integers(0, 2, 15)
    people = ta.Dataset.from_arrays(columns, ill)
    releases = [ta.publish(people, ta.Marginals(2, scale="rates"))]
    releases += [ta.publish(people, ta.Marginals(3), protect)]
    found = ta.rows_from_tables(releases)
    assert found.status.word != "contradictory"
