"""tellall hidden, on files as statistical offices keep them."""

import json

import pytest

import tellall as ta
from tellall.attack.prove.hidden_files import HiddenFound
from tellall.core.records import read
from tests.attack.prove.offices import Office, tree

HRC = "A\n@A1\n@A2\nB\n@B1\n@B2\n"
LEVELS = "levels,codes\n@,Total\n@@,A\n@@@,A1\n@@@,A2\n@@,B\n@@@,B1\n@@@,B2\n"
CELLS = {"Total": 60, "A": 34, "A1": 20, "A2": 14, "B": 26, "B1": 15, "B2": 11}


@pytest.fixture
def table(tmp_path):
    lines = [f"{code},{value},{code in ('A1', 'B1', 'B2')},{code == 'B1'}" for code, value in CELLS.items()]
    (tmp_path / "table.csv").write_text("\n".join(["region,freq,suppressed,primary", *lines]) + "\n")
    (tmp_path / "region.hrc").write_text(HRC)
    (tmp_path / "levels.csv").write_text(LEVELS)
    return tmp_path


@pytest.mark.parametrize("hierarchy", ["region.hrc", "levels.csv", None])
def test_withheld_cells_of_a_table_with_a_hierarchy(tellall, table, hierarchy):
    files = ["table.csv", *([hierarchy] if hierarchy else [])]
    code, out, _ = tellall("hidden", *files)
    assert code == 0
    assert "3 values are withheld, 1 in vain" in " ".join(out.split())
    assert "For example A1 is 20, because of A: 34; A2: 14." in out
    assert ("was found" in out) == (hierarchy is None)
    assert max(map(len, out.splitlines())) <= 80
    code, out, _ = tellall("hidden", *files, "--json")
    found = read(HiddenFound, out, what="hidden")
    spans = {cell.cell["region"]: (cell.low, cell.high, cell.in_vain) for cell in found.cells}
    assert spans == {"A1": (20, 20, True), "B1": (0, 26, False), "B2": (0, 26, False)}


def test_a_folder_is_read_whole_and_what_is_written_is_what_python_gives(tellall, table):
    (table / "levels.csv").unlink()
    _, out, _ = tellall("hidden", ".", "--json", "-o", "../found.json")
    found = ta.hidden_of_files(table)
    assert json.loads(out) == found.as_json() == json.loads((table / "../found.json").read_text())
    assert found.files == ("region.hrc", "table.csv")


def test_the_page_has_the_table_with_intervals_and_no_withheld_number(tellall, table):
    code, _, _ = tellall("hidden", "table.csv", "--html", "page.html", "--quiet")
    page = (table / "page.html").read_text()
    assert code == 0
    assert 'class="shade fail"' in page
    assert "0 to 26" in page
    assert ">15<" not in page  # B1, which the publisher knows


@pytest.mark.parametrize(
    ("status", "shown"), [("u", False), ("x", False), ("D", False), ("S", True), ("F", True), ("", True)]
)
def test_statuses_of_other_programs(tellall, tmp_path, status, shown):
    (tmp_path / "t.csv").write_text(f"town,value,status\na,3,{status}\nb,5,x\nc,6,s\nTotal,14,s\n")
    found = ta.hidden_of_files(tmp_path / "t.csv")
    assert (found.withheld, found.in_vain) == ((1, 1) if shown else (2, 0))


def test_marks_in_place_of_numbers_and_lines_that_are_not_there(tellall, tmp_path):
    head = "town,sex,count\n"
    (tmp_path / "t.csv").write_text(head + "a,f,x\na,m,4\nb,m,x\na,Total,6\nb,Total,7\nTotal,Total,13\n")
    zero = ta.hidden_of_files(tmp_path / "t.csv")
    assert [(cell.low, cell.high) for cell in zero.cells] == [(2, 2), (7, 7)]
    unknown = ta.hidden_of_files(tmp_path / "t.csv", absent="unknown")
    assert [(cell.low, cell.high) for cell in unknown.cells] == [(2, 2), (0, 7)]


def test_amounts_are_added_up_where_they_are_named(tellall, tmp_path):
    lines = ["a,3,10.5,false", "b,4,20,true", "c,5,31,true", "Total,12,61.5,false"]
    (tmp_path / "t.csv").write_text("\n".join(["town,freq,turnover,suppressed", *lines]) + "\n")
    _, out, _ = tellall("hidden", "t.csv", "--value", "turnover", "--json")
    found = json.loads(out)
    assert found["tables"][0]["variable"] == "turnover"
    assert [cell["high"] for cell in found["cells"]] == pytest.approx([51, 51])
    _, out, _ = tellall("hidden", "t.csv", "--value", "turnover", "--least", "none", "--json")
    assert [cell["high"] for cell in json.loads(out)["cells"]] == [None, None]


def test_linked_files_are_taken_together(tellall, tmp_path):
    trees = {"region": tree(1, 2, 2), "nace": tree(1, 1, 2), "size": ({}, ["Total", "S", "L"])}
    office = Office(trees, [("region", "nace"), ("region", "size")], 4)
    for at, own in enumerate(office.tables):
        lines = [
            [*own.cell(line).values(), int(own.secret[line]), own.withheld[line]]
            for line in range(own.values.size)
        ]
        rows = [[*own.columns, "freq", "suppressed"], *lines]
        (tmp_path / f"{at}.csv").write_text("\n".join(",".join(map(str, row)) for row in rows) + "\n")
    alone = ta.hidden_of_files(tmp_path / "0.csv")
    both = ta.hidden_of_files([tmp_path / "0.csv", tmp_path / "1.csv"])
    first = [cell for cell in both.cells if cell.table == "0.csv"]
    assert all(
        two.low >= one.low and two.high <= one.high for one, two in zip(alone.cells, first, strict=True)
    )
    direct = ta.hidden_cells(office.tables, bands=office.bands[:2])
    assert [cell.low for cell in both.cells] == direct.low.tolist()
    assert [cell.high for cell in both.cells] == direct.high.tolist()


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        ("town,freq,status\na,3,q\n", (), "a status such as u, x or s"),
        ("town,freq\na,many\n", (), "something else in line 2"),
        ("town,freq\na,3\na,4\n", (), "listed twice"),
        ("town,freq\na,3\n", ("--value", "sum"), "a column of t.csv (town, freq)"),
        ("town,freq\na,3\n", ("--hierarchy", "town"), "COLUMN=FILE"),
        ("town,freq\na,3\n", ("--least", "few"), "a number, or none"),
        ("town,freq\na,3\n", ("region.hrc",), "one whose codes are those of a column"),
    ],
)
def test_what_cannot_be_read_is_refused_in_a_sentence(tellall, tmp_path, text, options, said):
    (tmp_path / "t.csv").write_text(text)
    (tmp_path / "region.hrc").write_text(HRC)
    code, _, error = tellall("hidden", "t.csv", *options)
    assert code == 2
    assert said in error
    assert "Traceback" not in error


def test_contradictory_tables_are_inconclusive(tellall, tmp_path):
    (tmp_path / "t.csv").write_text("town,freq\na,x\nb,9\nTotal,8\n")
    code, out, _ = tellall("hidden", "t.csv")
    assert code == 3
    assert "contradict each other" in out


def test_what_else_to_withhold_is_said_in_text_json_and_on_the_page(tellall, table):
    _, out, _ = tellall("hidden", "table.csv", "region.hrc", "--suggest")
    assert "1 cell (A1) protects nothing and can be shown again." in " ".join(out.split())
    text = (table / "table.csv").read_text()
    (table / "table.csv").write_text(text.replace(",True,False", ",True,True"))  # a rule withholds all three
    code, out, _ = tellall("hidden", "table.csv", "region.hrc", "--suggest", "--html", "page.html")
    said = " ".join(out.split())
    assert code == 0
    assert "1 more cell withheld (25.0 % of those shown); no choice needs less." in said
    assert "Then 0 values are withheld in vain." in said
    assert max(map(len, out.splitlines())) <= 80
    _, out, _ = tellall("hidden", "table.csv", "region.hrc", "--suggest", "--json")
    found = read(HiddenFound, out, what="hidden")
    assert [(one.cell, one.value) for one in found.more] == [({"region": "A2"}, 14)]
    assert found.price.in_vain == 0
    assert found.price.cheapest
    page = (table / "page.html").read_text()
    assert "What else to withhold" in page
    assert "+ 14" in page
    _, out, _ = tellall("hidden", "table.csv", "region.hrc", "--suggest", "--keep", "region=A2", "--json")
    assert [one["cell"]["region"] for one in json.loads(out)["more"]] == ["A", "B"]


def test_too_near_is_in_vain_if_asked(tellall, tmp_path):
    lines = ["a,100,u", "b,101,x", "c,3,s", "d,2,x", "Total,206,s"]
    (tmp_path / "t.csv").write_text("\n".join(["town,turnover,status", *lines]) + "\n")
    _, out, _ = tellall("hidden", "t.csv", "--value", "turnover", "--json")
    assert json.loads(out)["in_vain"] == 0
    code, out, _ = tellall("hidden", "t.csv", "--value", "turnover", "--within", "120", "--json")
    assert code == 0
    assert [cell["in_vain"] for cell in json.loads(out)["cells"]] == [True, True, False]
