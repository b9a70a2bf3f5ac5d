"""Files of tau-Argus, SDMX-CSV and JSON-stat: read, refused where they are wrong, and written again."""

import csv
import json

import numpy as np
import pytest

import tellall as ta

RDA = """<SEPARATOR> ";"
<SAFE> "S"
<UNSAFE> "U"
<PROTECT> "P"
Region "99"
   <RECODEABLE>
   <TOTCODE> "All"
   <HIERARCHICAL>
   <HIERCODELIST> "C:\\data\\region.hrc"
   <HIERLEADSTRING> "@"
Sex
   <RECODEABLE>
   <TOTCODE> "All"
Turnover
   <NUMERIC>
   <DECIMALS> 2
Firms
   <FREQUENCY>
Top1
   <MAXSCORE>
Status
   <STATUS>
Lower
   <NUMERIC> <LOWERPL>
Upper
   <NUMERIC> <UPPERPL>
"""
HRC = "N\n@ 1\n@ 2\nS\n@ 3\n@ 4\n"
CELLS = {  # of f and m
    " 1": (10.5, 20),
    " 2": (30, 40.25),
    " 3": (50, 60),
    " 4": (70, 80),
    "99": (0, 0),
}


def argus(folder, *, rda=RDA, hrc=HRC, change=None):
    """A table by region and sex in which region 1, f is unsafe."""
    parts = {"N": [" 1", " 2"], "S": [" 3", " 4"], "All": [" 1", " 2", " 3", " 4"]}
    lines = []
    for code in ["All", "N", " 1", " 2", "S", " 3", " 4", "99"]:
        own = np.sum([CELLS[part] for part in parts.get(code, [code])], axis=0)
        for sex, value in zip(["All", "f", "m"], [own.sum(), *own], strict=True):
            status = "U" if (code, sex) == (" 1", "f") else "E" if code == "99" else "S"
            number = f"{value:.2f}".replace(".", ",")
            lines.append([f'"{code}"', f'"{sex}"', number, "7", "1,00", status, "2,00", "3,00"])
    if change is not None:
        change(lines)
    (folder / "t.tab").write_text("\n".join(";".join(line) for line in lines) + "\n", encoding="cp1252")
    (folder / "t.rda").write_text(rda, encoding="cp1252")
    (folder / "region.hrc").write_text(hrc)


def test_a_table_of_tau_argus_is_read_with_its_hierarchy_and_its_protection_levels(tmp_path):
    argus(tmp_path)
    (table,) = ta.read_cells(tmp_path).tables
    assert table.columns == ("Region", "Sex")
    assert table.variable == "Turnover"
    assert table.values.size == 24
    assert table.cell(0) == {"Region": "Total", "Sex": "Total"}
    assert np.flatnonzero(table.withheld).tolist() == [7]
    assert table.margin[7] == 3.0
    assert table.fixed.sum() == 3
    found = ta.hidden_of_files(tmp_path / "t.tab")
    assert found.hierarchies == ()
    (cell,) = found.cells
    assert cell.cell == {"Region": "1", "Sex": "f"}
    assert (cell.low, cell.high) == pytest.approx((10.5, 10.5))
    assert cell.in_vain
    firms = ta.read_cells(tmp_path, value="Firms").tables[0]
    assert (firms.variable, firms.values[0]) == ("", 7.0)


def test_the_letters_of_tau_argus_are_written_again(tellall, tmp_path):
    argus(tmp_path)
    code, out, _ = tellall("hidden", str(tmp_path / "t.tab"), "--suggest", "--write", str(tmp_path / "out"))
    assert code == 0
    assert "3 more cells withheld" in out
    lines = list(csv.reader((tmp_path / "out" / "t.tab").read_text().splitlines(), delimiter=";"))
    before = list(csv.reader((tmp_path / "t.tab").read_text().splitlines(), delimiter=";"))
    assert [line[:5] for line in lines] == [line[:5] for line in before]
    assert sorted(line[5] for line in lines if line[5] in "UM") == ["M", "M", "M", "U"]
    (tmp_path / "out" / "t.rda").write_text(RDA)
    (tmp_path / "out" / "region.hrc").write_text(HRC)
    again = ta.hidden_of_files(tmp_path / "out")
    assert (again.withheld, again.in_vain) == (4, 0)


def test_levels_by_the_length_of_codes(tmp_path):
    (tmp_path / "t.rda").write_text("nace\n<RECODEABLE>\n<HIERLEVELS> 1 1\nn\n<FREQUENCY>\nst\n<STATUS>\n")
    lines = ["Total,30,S", "A,12,S", "A1,5,U", "A2,7,S", "B,18,S", "B1,18,S"]
    (tmp_path / "t.tab").write_text("\n".join(lines) + "\n")
    found = ta.hidden_of_files([tmp_path / "t.tab", tmp_path / "t.rda"])
    assert [(cell.cell["nace"], cell.low) for cell in found.cells] == [("A1", 5)]
    assert found.cells[0].in_vain


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"rda": RDA.replace("<STATUS>", "<STATE>")}, "a line that tables of tau-Argus have"),
        ({"rda": RDA.replace("   <STATUS>", "")}, "one column with <STATUS>"),
        ({"rda": RDA.replace("<NUMERIC> <LOWERPL>", "<NUMERIC> <LOW>")}, "<NUMERIC> alone"),
        ({"rda": RDA.replace("Sex", "Region")}, "each column once"),
        ({"rda": '<SAFE> "S'}, "quotation marks in pairs"),
        ({"rda": "<RECODEABLE>\n"}, "the name of a column before"),
        ({"rda": RDA.replace("region.hrc", "other.hrc")}, "the hierarchy of 'Region' beside"),
        ({"hrc": "N\n@1\n@2\nS\n@3\n"}, "'4' is not in region.hrc"),
        ({"change": lambda lines: lines[3].pop()}, "7 in line 4"),
        ({"change": lambda lines: lines[3].__setitem__(2, "many")}, "something else in line 4"),
        ({"change": lambda lines: lines[3].__setitem__(5, "Q")}, "a status"),
        ({"change": lambda lines: lines.append(lines[0])}, "listed twice"),
    ],
)
def test_wrong_tables_of_tau_argus_are_refused(tmp_path, more, said):
    argus(tmp_path, **more)
    with pytest.raises(ta.InvalidInput, match=said.replace("(", "\\(")):
        ta.read_cells([tmp_path / "t.tab", tmp_path / "t.rda"])


def test_data_of_r_and_metadata_without_a_table_are_refused(tmp_path):
    (tmp_path / "t.rda").write_bytes(b"\x1f\x8b\x08\x00rubbish")
    (tmp_path / "t.tab").write_text("a,1\n")
    with pytest.raises(ta.InvalidInput, match="which is text"):
        ta.read_cells(tmp_path / "t.tab")
    (tmp_path / "t.tab").unlink()
    with pytest.raises(ta.InvalidInput, match="with the same name"):
        ta.read_cells(tmp_path / "t.rda")


JJ = """0
6
0 20 20 s 0 40 0 0 0
1 9 9 s 0 40 0 0 0
2 11 11 z 0 40 0 0 0
3 4 4 u 0 40 2 2 0
4 5 5 s 0 40 0 0 0
5 11 11 s 0 40 0 0 0
3
0 3 : 0 (-1) 1 (1) 2 (1)
0.0 3 : 1 (-1) 3 (1) 4 (1)
0.0 2 : 5 (-1) 2 (1)
"""


def test_a_jj_file_is_read_protected_and_written_again(tellall, tmp_path):
    (tmp_path / "t.jj").write_text(JJ)
    found = ta.hidden_of_files(tmp_path / "t.jj")
    (cell,) = found.cells
    assert cell.cell == {"cell": "3"}
    assert (cell.low, cell.high) == pytest.approx((4, 4))
    assert {cell.cell["cell"] for cell in found.cells[0].reasons} >= {"4"}
    tellall("hidden", str(tmp_path / "t.jj"), "--suggest", "--write", str(tmp_path / "out"), "--quiet")
    written = (tmp_path / "out" / "t.jj").read_text().splitlines()
    assert [line.split()[3] for line in written[2:8]] == ["s", "s", "z", "u", "m", "s"]
    assert written[8:] == JJ.splitlines()[8:]
    again = ta.hidden_of_files(tmp_path / "out")
    assert again.in_vain == 0
    ends = [each for cell in again.cells for each in (cell.low, cell.high)]
    assert ends == pytest.approx([0, 9, 0, 9], abs=1e-9)


def test_bounds_of_a_jj_file_are_known_to_everybody(tmp_path):
    text = JJ.replace("4 5 5 s", "4 5 5 m").replace("3 4 4 u 0 40", "3 4 4 u 1 6")
    (tmp_path / "t.jj").write_text(text)
    found = ta.hidden_of_files(tmp_path)
    assert [each for cell in found.cells for each in (cell.low, cell.high)] == pytest.approx([1, 6, 3, 8])


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("0\n6\n", "1\n6\n", "a JJ file"),
        ("0\n6\n", "0\n9\n", "9 cells"),
        ("3 4 4 u", "3 4 4 q", "line 6"),
        ("3 4 4 u", "7 4 4 u", "line 6"),
        ("3 4 4 u", "3 four 4 u", "line 6"),
        ("40 2 2 0", "40 2 2 9", "sliding"),
        ("0.0 2 : 5", "0.0 3 : 5", "line 12"),
        ("5 (-1) 2 (1)", "5 (-2) 2 (1)", "factors of 1 and -1"),
        ("5 (-1) 2 (1)", "6 (-1) 2 (1)", "cells 0 to 5"),
        ("\n3\n", "\n4\n", "4 sums"),
    ],
)
def test_wrong_jj_files_are_refused(tmp_path, old, new, said):
    assert old in JJ
    (tmp_path / "t.jj").write_text(JJ.replace(old, new, 1))
    with pytest.raises(ta.InvalidInput, match=said):
        ta.read_cells(tmp_path / "t.jj")


SDMX = """DATAFLOW,FREQ,GEO,SEX,TIME_PERIOD,OBS_VALUE,OBS_STATUS,CONF_STATUS
X:F(1.0),A,N,F,2020,10,A,F
X:F(1.0),A,N,M,2020,4,A,C
X:F(1.0),A,N,_T,2020,14,A,F
X:F(1.0),A,S,F,2020,3,A,D
X:F(1.0),A,S,M,2020,7,E,F
X:F(1.0),A,S,_T,2020,10,A,
X:F(1.0),A,_T,F,2020,13,A,F
X:F(1.0),A,_T,M,2020,11,A,F
X:F(1.0),A,_T,_T,2020,24,A,F
"""


def test_sdmx_csv_is_read_and_written_with_our_status(tellall, tmp_path):
    (tmp_path / "t.csv").write_text(SDMX)
    (table,) = ta.read_cells(tmp_path).tables
    assert table.columns == ("GEO", "SEX")
    assert table.variable == ""
    assert np.flatnonzero(table.withheld).tolist() == [1, 3]
    assert np.flatnonzero(table.primary).tolist() == [1]
    tellall("hidden", str(tmp_path / "t.csv"), "--suggest", "--write", str(tmp_path / "out"), "--quiet")
    lines = list(csv.DictReader((tmp_path / "out" / "t.csv").read_text().splitlines()))
    before = list(csv.DictReader(SDMX.split()))
    assert [line["OBS_VALUE"] for line in lines] == [line["OBS_VALUE"] for line in before]
    assert [line["tellall_status"] for line in lines[:3]] == ["withhold too", "in vain", "shown"]
    assert lines[1]["tellall_low"] == lines[1]["tellall_high"] == "4"


def test_codes_with_their_names_and_suppressed_observations(tmp_path):
    head = "STRUCTURE,STRUCTURE_ID,ACTION,GEO: Area,OBS_VALUE: Value,OBS_STATUS: Status\n"
    start = "dataflow,X:F(1.0),I,"
    lines = [
        "N: North,5.5,A: Normal",
        "S: South,,Q: Suppressed",
        "W: West,,L: Not collected",
        "_T: All,20.5,A: Normal",
    ]
    (tmp_path / "t.csv").write_text(head + "".join(f"{start}{line}\n" for line in lines))
    (table,) = ta.read_cells(tmp_path, absent="unknown").tables
    assert table.labels == (("N", "S", "W", "Total"),)
    assert table.withheld.tolist() == [False, True, False, False]
    assert table.variable == "OBS_VALUE"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (",A,C\n", ",A,Z\n", "CL_CONF_STATUS"),
        (",4,A", ",four,A", "OBS_VALUE"),
        ("X:F(1.0),A,N,M", "X:F(1.0),A,N,F", "listed twice"),
    ],
)
def test_wrong_sdmx_is_refused(tmp_path, old, new, said):
    (tmp_path / "t.csv").write_text(SDMX.replace(old, new, 1))
    with pytest.raises(ta.InvalidInput, match=said):
        ta.read_cells(tmp_path)


def test_an_empty_first_line_is_not_a_hierarchy(tmp_path):
    (tmp_path / "t.csv").write_text("\ntown,n\na,3\n")
    with pytest.raises(ta.InvalidInput):
        ta.read_cells(tmp_path, value="m")


def test_the_code_list_of_sdmx_in_a_plain_table(tmp_path):
    (tmp_path / "t.csv").write_text("town,n,CONF_STATUS\na,3,A\nb,5,S\nc,6,F\nTotal,14,F\n")
    (table,) = ta.read_cells(tmp_path).tables
    assert table.withheld.tolist() == [True, True, False, False]
    assert table.primary.tolist() == [True, False, False, False]


STAT = {
    "version": "2.0",
    "class": "dataset",
    "id": ["geo", "sex", "time"],
    "size": [5, 3, 1],
    "dimension": {
        "geo": {
            "category": {
                "index": ["T", "N", "N1", "N2", "S"],
                "label": {"T": "Total", "N": "North", "N1": "x", "N2": "y", "S": "South"},
                "child": {"T": ["N", "S"], "N": ["N1", "N2"]},
            }
        },
        "sex": {"category": {"index": {"F": 1, "M": 2, "T": 0}, "label": {"T": "Total"}}},
        "time": {"category": {"label": {"2020": "2020"}}},
    },
    "value": [36, 16, 20, 21, 9, 12, 10, 4, 6, 11, None, 6, 15, 7, 8],
    "status": {"7": "c", "4": "p"},
}


def test_json_stat_is_read_with_its_children_and_written_again(tellall, tmp_path):
    (tmp_path / "t.json").write_text(json.dumps(STAT))
    read = ta.read_cells(tmp_path)
    (table,) = read.tables
    assert table.columns == ("geo", "sex")
    assert np.flatnonzero(table.withheld).tolist() == [7, 10]
    assert read.bands[0].made_of("N") == ("N1", "N2")
    found = ta.hidden_of_files(tmp_path)
    assert {cell.cell["geo"]: (cell.low, cell.high) for cell in found.cells} == {"N1": (4, 4), "N2": (5, 5)}
    tellall("hidden", str(tmp_path / "t.json"), "--write", str(tmp_path / "out"), "--quiet")
    written = json.loads((tmp_path / "out" / "t.json").read_text())
    assert written["value"] == STAT["value"]
    assert written["status"] == {"7": "c", "10": "c"}
    assert written["extension"]["tellall"]["10"] == {"status": "in vain", "low": 5.0, "high": 5.0}
    sparse = STAT | {"value": {str(at): each for at, each in enumerate(STAT["value"]) if each is not None}}
    (tmp_path / "t.json").write_text(json.dumps({"dataset": sparse}))
    assert ta.hidden_of_files(tmp_path / "t.json").in_vain == 2


@pytest.mark.parametrize(
    "change",
    [
        {"size": [5, 3]},
        {"size": [5, 3, 2]},
        {"value": [1, 2]},
        {"value": ["a"] * 15},
        {"value": {"99": 1}},
        {"status": {"99": "c"}},
        {"status": 3},
        {"id": ["geo", "geo", "time"]},
        {"dimension": None},
        {"dimension": {"geo": 1, "sex": 2, "time": 3}},
        {"dimension": STAT["dimension"] | {"sex": {"category": {"index": ["F", "M", "F"]}}}},
        {
            "dimension": STAT["dimension"]
            | {"sex": {"category": {"index": ["F", "M", "T"], "child": {"F": ["Q"]}}}}
        },
        {"size": [10**6, 10**6, 1]},
    ],
)
def test_wrong_json_stat_is_refused(tmp_path, change):
    (tmp_path / "t.json").write_text(json.dumps(STAT | change))
    with pytest.raises(ta.InvalidInput):
        ta.read_cells(tmp_path)


def test_nothing_is_written_over_the_tables_themselves(tellall, tmp_path):
    (tmp_path / "t.jj").write_text(JJ)
    code, _, error = tellall("hidden", str(tmp_path / "t.jj"), "--write", str(tmp_path))
    assert code == 2
    assert "a folder that the tables are not in" in error
    assert (tmp_path / "t.jj").read_text() == JJ
