"""Tables in CSV files and workbooks: what is written is found again, with titles, notes and merged labels."""

from __future__ import annotations

import csv
import zipfile

import numpy as np
import openpyxl
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tellall as ta
from tellall.outputs import layout
from tellall.outputs.layout import Page, tables_on
from tellall.outputs.read import read_outputs


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], 300),
            "age": rng.choice(["old", "young"], 300),
            "region": rng.choice([1, 2, 3], 300),
            "ill": rng.choice([0, 1], 300),
            "drug": rng.choice(["no", "yes"], 300),
            "pay": rng.normal(30, 5, 300),
        }
    )


def _only(path):
    found = read_outputs(path)
    assert not found.skipped
    (table,) = found.tables
    return table


def _texts(table):
    return [[("^" if cell.continued else "") + cell.text for cell in line] for line in table.cells]


def _frames(d):
    return {
        "one key": pd.crosstab(d.sex, d.ill),
        "two keys down": pd.crosstab([d.sex, d.region], d.drug, margins=True),
        "two keys across": pd.crosstab(d.sex, [d.ill, d.drug], margins=True),
        "two keys each": pd.crosstab([d.sex, d.region], [d.ill, d.drug]),
        "three keys down": pd.crosstab([d.sex, d.age, d.region], d.drug),
        "statistics": d.pivot_table(
            index="sex", columns="age", values="pay", aggfunc=["mean", "std", "count"]
        ),
        "groups": d.groupby(["sex", "age"]).pay.agg(["mean", "count"]).round(2),
        "percentages": (100 * pd.crosstab([d.sex, d.age], d.ill, normalize="index")).round(1),
    }


@pytest.mark.parametrize("ending", ["xlsx", "csv"])
@pytest.mark.parametrize(
    "name", list(_frames(pd.DataFrame({k: [1] for k in ["sex", "age", "region", "ill", "drug", "pay"]})))
)
@pytest.mark.parametrize("named", [True, False])
def test_pandas_tables_are_found_whole(people, tmp_path, name, ending, named):
    frame = _frames(people)[name]
    if not named:
        frame.index.names = [None] * frame.index.nlevels
    path = tmp_path / f"t.{ending}"
    frame.to_excel(path) if ending == "xlsx" else frame.to_csv(path)
    table = _only(path)
    down, across = frame.index.nlevels, frame.columns.nlevels
    body = table.cells[-len(frame) :]
    assert np.allclose([[cell.number for cell in line[down:]] for line in body], frame.to_numpy(float))
    for line, key in zip(body, frame.index, strict=True):
        labels = [str(label) for label in (key if down > 1 else (key,))]
        assert [cell.text for cell in line[:down]] == labels
    heads = [[cell.text for cell in line[down:]] for line in table.cells[:across]]
    keys = [tuple(map(str, key if across > 1 else (key,))) for key in frame.columns]
    assert [tuple(column) for column in zip(*heads, strict=True)] == keys


def test_a_titled_table_with_merged_headers_and_footnotes(tmp_path):
    book = openpyxl.Workbook()
    page = book.active
    page.title = "Tab 1"
    page["B1"] = "Table 1. Ill people by sex and region, 2023"
    page.merge_cells("B1:F1")
    page["B2"] = "Health survey, adults"
    for cells in ([None, "Region", "Women", None, "Men", None], [None, None, "ill", "well", "ill", "well"]):
        page.append(cells)
    page.merge_cells("C3:D3")
    page.merge_cells("E3:F3")
    page.merge_cells("B3:B4")
    page.append([None, "North", 12, 1034, "<5", 990])
    page.append([None, "South", "*", 88, "7 a)", 45.5])
    page.append([None, "Total", 20, 1122, 11, 1035.5])
    page["B8"] = "* fewer than 5 people"
    page["B10"] = "Source: our own"
    other = book.create_sheet("Tab 2")
    other.append(["sex", "share"])
    other.append(["f", 0.452])
    other.append(["m", 0.5])
    for row in (2, 3):
        other.cell(row, 2).number_format = "0.0%"
    book.save(tmp_path / "results.xlsx")
    found = read_outputs(tmp_path)
    first, second = found.tables
    assert str(first.source) == "results.xlsx, sheet Tab 1, B3:F7"
    assert first.title == ("Table 1. Ill people by sex and region, 2023", "Health survey, adults")
    assert first.notes == ("* fewer than 5 people", "Source: our own")
    assert _texts(first)[:3] == [
        ["Region", "Women", "^Women", "Men", "^Men"],
        ["^Region", "ill", "well", "ill", "well"],
        ["North", "12", "1034", "<5", "990"],
    ]
    assert first.cells[2][3].below == 5
    assert (first.cells[3][3].number, first.cells[3][3].mark) == (7, "a")
    share = second.cells[1][1]
    assert (share.number, share.percent, share.text) == (45.2, True, "45.2%")
    assert share.step == pytest.approx(0.1)


def test_several_tables_on_a_sheet(tmp_path):
    book = openpyxl.Workbook()
    page = book.active
    for k, row in enumerate([["sex", "n"], ["f", 3], ["m", 4]], start=2):
        for j, value in enumerate(row, start=1):
            page.cell(k, j, value)
            page.cell(k, j + 3, value)
            page.cell(k + 10, j, value)
    page["A1"] = "Left"
    page["D1"] = "Right"
    page["A11"] = "Below"
    book.save(tmp_path / "t.xlsx")
    tables = read_outputs(tmp_path / "t.xlsx").tables
    assert [(str(table.source.range), table.title) for table in tables] == [
        ("A2:B4", ("Left",)),
        ("D2:E4", ("Right",)),
        ("A12:B14", ("Below",)),
    ]


def test_an_empty_column_inside_a_table_is_left_out(tmp_path):
    (tmp_path / "t.csv").write_text("sex,n,,mean\nf,3,,1.5\nm,4,,2.5\n")
    assert _texts(_only(tmp_path / "t.csv"))[1] == ["f", "3", "1.5"]


def test_headers_typed_over_the_first_of_their_columns(tmp_path):
    (tmp_path / "t.csv").write_text("region,ill,,well,\n,f,m,f,m\nnorth,1,2,3,4\nsouth,5,6,7,8\n")
    assert _texts(_only(tmp_path / "t.csv"))[0] == ["region", "ill", "^ill", "well", "^well"]


@pytest.mark.parametrize("ending", ["csv", "tab"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16"])
def test_titles_signs_and_encodings_of_texts(tmp_path, encoding, ending):
    text = "Größe, nach Alter\n\nAlter;ja;nein\nunter 30;1.204;45,5\n30 und älter;12;0,5\n\nQuelle: Amt\n"
    text = text.replace(";", "\t") if ending == "tab" else text
    (tmp_path / f"t.{ending}").write_text(text, encoding=encoding)
    table = _only(tmp_path / f"t.{ending}")
    assert table.title == ("Größe, nach Alter",)
    assert table.notes == ("Quelle: Amt",)
    assert (table.decimal, table.sure) == (",", True)
    assert [cell.number for cell in table.cells[1]] == [None, 1204, 45.5]
    assert str(table.source) == f"t.{ending}, lines 3 to 5"


def test_several_tables_in_one_text(tmp_path):
    (tmp_path / "t.csv").write_text("Women\nage,n\nold,3\nyoung,4\n\nMen\nage,n\nold,5\nyoung,6\n")
    first, second = read_outputs(tmp_path).tables
    assert (first.title, second.title) == (("Women",), ("Men",))
    assert second.cells[2][1].number == 6


def test_lists_as_r_writes_them(tmp_path):
    (tmp_path / "a.csv").write_text('"","sex","ill","Freq"\n"1","f","0",12\n"2","m","0",13\n"3","f","1",2\n')
    (tmp_path / "b.csv").write_text('"no","yes"\n"f",12,3\n"m",4,5\n')
    (tmp_path / "c.csv").write_text('"","no","yes"\n"1",12,3\n"2",4,5\n')
    a, b, c = read_outputs(tmp_path).tables
    assert _texts(a)[:2] == [["sex", "ill", "Freq"], ["f", "0", "12"]]
    assert _texts(b)[:2] == [["", "no", "yes"], ["f", "12", "3"]]
    assert _texts(c)[1] == ["1", "12", "3"]


_LABEL = (
    st.text("abcdefgh äß", min_size=1, max_size=8)
    .map(lambda text: " ".join(text.split()))
    .filter(lambda text: len(text) > 1 and text not in ("na", "less", "xx"))
)


@settings(deadline=None, max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data(), st.booleans())
def test_what_is_written_is_read_back(tmp_path, data, as_sheet):
    rows, columns = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 5))
    labels = [data.draw(_LABEL) for _ in range(rows)]
    heads = [data.draw(_LABEL) for _ in range(columns + 1)]
    cell = st.one_of(st.integers(0, 10**6), st.sampled_from(["*", "<5", "12.5", "3 (1.5)"]))
    values = [[data.draw(cell) for _ in range(columns)] for _ in range(rows)]
    values[0][0] = 7
    lines = [heads, *([label, *line] for label, line in zip(labels, values, strict=True))]
    down, right = data.draw(st.integers(0, 3)), data.draw(st.integers(0, 3))
    shifted = [[]] * down + [[None] * right + line for line in lines]
    if as_sheet:
        book = openpyxl.Workbook()
        for line in shifted:
            book.active.append(line)
        book.save(tmp_path / "t.xlsx")
        table = _only(tmp_path / "t.xlsx")
    else:
        with (tmp_path / "t.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows(shifted)
        table = _only(tmp_path / "t.csv")
    (tmp_path / ("t.xlsx" if as_sheet else "t.csv")).unlink()
    assert table.texts == tuple(tuple(map(str, line)) for line in lines)


@given(
    st.lists(
        st.lists(st.one_of(st.none(), st.integers(-5, 5), st.text("ab*<1 ,.", max_size=4)), max_size=6),
        max_size=8,
    ),
    st.lists(st.tuples(*[st.integers(0, 9)] * 4), max_size=3),
)
def test_no_page_breaks_the_layout(lines, merged):
    areas = tuple(layout.CellArea(min(a, c), min(b, d), max(a, c), max(b, d)) for a, b, c, d in merged)
    for table in tables_on(Page(lines, merged=areas)):
        assert len({len(line) for line in table.cells}) == 1
        assert table.shape[0] >= 2 <= table.shape[1]


# Hostile and odd files.


def test_what_is_not_read_is_named(tmp_path):
    (tmp_path / "a.png").write_bytes(b"\x89PNG")
    (tmp_path / "b.xyz").write_text("x")
    (tmp_path / "c.csv").write_text("only words\nand more words\n")
    (tmp_path / "d.xlsx").write_bytes(b"PK\x03\x04 broken")
    (tmp_path / "e.csv").write_bytes(b"a,b\n1,\0\n")
    (tmp_path / "f.csv").write_text("")
    (tmp_path / ".hidden.csv").write_text("a,b\nx,1\n")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "g.csv").write_text("a,b\nx,1\ny,2\n")
    (tmp_path / "h.csv").symlink_to(tmp_path / "sub" / "g.csv")
    found = read_outputs(tmp_path)
    assert [str(table.source) for table in found.tables] == ["sub/g.csv, lines 1 to 3"]
    reasons = {one.name: one.reason for one in found.skipped}
    assert list(reasons) == ["a.png", "b.xyz", "c.csv", "d.xlsx", "e.csv", "f.csv", "h.csv"]
    assert "picture" in reasons["a.png"]
    assert ".xyz" in reasons["b.xyz"]
    assert "no table" in reasons["c.csv"]
    assert "workbook" in reasons["d.xlsx"]
    assert "links" in reasons["h.csv"]
    with pytest.raises(ta.InvalidInput, match="exists"):
        read_outputs(tmp_path / "missing")


def test_rows_of_people_are_no_table(tmp_path, monkeypatch):
    monkeypatch.setattr(layout, "MOST_CELLS", 100)
    (tmp_path / "p.csv").write_text("id,age\n" + "".join(f"p{k},{k}\n" for k in range(80)))
    found = read_outputs(tmp_path)
    assert not found.tables
    assert "rows of people" in found.skipped[0].reason


def test_a_workbook_that_unpacks_to_far_more_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "bomb.xlsx", "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("xl/sharedStrings.xml", b"0" * (65 << 20))
    found = read_outputs(tmp_path)
    assert "at most 64 MB" in found.skipped[0].reason


def test_a_sheet_with_merged_cells_without_end(tmp_path):
    book = openpyxl.Workbook()
    for line in (["sex", "n"], ["f", 3], ["m", 4]):
        book.active.append(line)
    book.active.merge_cells("D5:E6")
    book.save(tmp_path / "s.xlsx")
    with (
        zipfile.ZipFile(tmp_path / "s.xlsx") as old,
        zipfile.ZipFile(tmp_path / "t.xlsx", "w") as new,
    ):
        for name in old.namelist():
            new.writestr(name, old.read(name).replace(b"D5:E6", b"D1:XFD1048576"))
    assert _texts(_only(tmp_path / "t.xlsx")) == [["sex", "n"], ["f", "3"], ["m", "4"]]
