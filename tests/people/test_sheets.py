"""Spreadsheets are read whole, or refused in a sentence: nobody is lost without a word."""

import re
import zipfile

import openpyxl
import openpyxl.chart
import pytest

import tellall as ta
from tellall.people.readers import read_table
from tellall.people.sheets import read_cells


def write_people(path, sheets=("People",), people=60, change=None, state=None) -> None:
    """A workbook of people on each of these sheets; `change` may edit the XML of the first."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name in sheets:
        page = book.create_sheet(name)
        page.append(["id", "ill"])
        for number in range(people):
            page.append([number, number % 2])
    for name, word in (state or {}).items():
        book[name].sheet_state = word
    whole = path.with_suffix(".whole.xlsx")
    book.save(whole)
    with zipfile.ZipFile(whole) as old, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            text = old.read(name)
            first = name.endswith("sheet1.xml") and change is not None
            new.writestr(name, change(text.decode()).encode() if first else text)


@pytest.mark.parametrize(
    "told", ["A1:B31", "A1:A1", "A1", "B2:B2", "A1:ZZ90000", "A1:XFD1048576", "A40:B61", None]
)
def test_how_large_a_sheet_says_it_is_counts_for_nothing(tmp_path, told):
    def stale(text: str) -> str:
        said = "" if told is None else f'<dimension ref="{told}"/>'
        found, count = re.subn(r"<dimension [^>]*/>", said, text)
        assert count == 1
        return found

    write_people(tmp_path / "p.xlsx", change=stale)
    assert read_table(tmp_path / "p.xlsx")["id"].tolist() == list(range(60))
    assert ta.read(tmp_path / "p.xlsx", secret="ill", bins={"id": [30]}).n == 60
    assert read_cells(tmp_path / "p.xlsx") == [["id", "ill"], *([i, i % 2] for i in range(60))]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda text: text.replace('<row r="40"', '<row r="39"'), "Line 39 comes after line 39"),
        (lambda text: text.replace('r="B40"', 'r="B39"'), "Line 40 holds a cell of another line"),
        (lambda text: re.sub('r="([AB]?)41"', r'r="\g<1>40"', text), "Line 40 comes after line 40"),
        (lambda text: re.sub('r="([AB]?)41"', r'r="\g<1>7"', text), "Line 7 comes after line 40"),
        (lambda text: text.replace('r="B41"', 'r="A41"'), "Line 41 holds a cell twice"),
        (lambda text: text.replace("A41", "C41"), "Line 41 holds a cell twice, or out of order"),
        (
            lambda text: re.sub('(r="B41"[^>]*>)<v>.*?</v>', r"\1<f>A1</f><v></v>", text),
            "a formula without a value",
        ),
        (lambda text: re.sub('(r="B41"[^>]*>)<v>.*?</v>', r"\1<f>A1</f>", text), "a formula without a value"),
    ],
)
def test_cells_that_a_reader_would_lose_are_refused(tmp_path, change, why):
    edited = []

    def once(text: str) -> str:
        edited.append(change(text) != text)
        return change(text)

    write_people(tmp_path / "p.xlsx", change=once)
    assert edited == [True]
    for reader in (read_table, read_cells):
        with pytest.raises(ta.InvalidInput, match=why):
            reader(tmp_path / "p.xlsx")


def test_a_formula_that_was_computed_counts_as_its_value(tmp_path):
    def computed(text: str) -> str:
        return re.sub('(r="B41"[^>]*>)(<v>.*?</v>)', r"\1<f>1+0</f>\2", text)

    write_people(tmp_path / "p.xlsx", change=computed)
    assert read_table(tmp_path / "p.xlsx")["ill"].tolist() == [i % 2 for i in range(60)]


def test_people_behind_merged_cells_are_not_missing(tmp_path):
    def merged(text: str) -> str:
        return text.replace("</sheetData>", '</sheetData><mergeCells><mergeCell ref="B5:B9"/></mergeCells>')

    write_people(tmp_path / "p.xlsx", change=merged)
    with pytest.raises(ta.InvalidInput, match="Cells B5:B9 are merged into one"):
        read_table(tmp_path / "p.xlsx")
    assert len(read_cells(tmp_path / "p.xlsx")) == 61  # published tables merge the cells of their headings


def test_hidden_lines_are_people_too(tmp_path):
    def hidden(text: str) -> str:
        return re.sub(r'<row r="(1\d)"', r'<row r="\1" hidden="1"', text)

    write_people(tmp_path / "p.xlsx", change=hidden)
    table = read_table(tmp_path / "p.xlsx")
    assert len(table["id"]) == 60
    assert table.assumed.endswith("10 hidden lines read as well.")


def test_people_on_a_second_sheet_are_not_lost(tmp_path):
    write_people(tmp_path / "p.xlsx", sheets=("2023", "2024"))
    with pytest.raises(ta.InvalidInput, match="The sheets '2023' and '2024' have the same columns"):
        read_table(tmp_path / "p.xlsx")
    book = openpyxl.load_workbook(tmp_path / "p.xlsx")
    book["2024"]["A1"] = "number"
    book.save(tmp_path / "p.xlsx")
    table = read_table(tmp_path / "p.xlsx")
    assert "the first sheet, '2023'; 1 other sheet not read" in table.assumed


def test_the_first_sheet_is_the_first_that_is_shown(tmp_path):
    write_people(tmp_path / "p.xlsx", sheets=("lists", "People"), state={"lists": "hidden"})
    book = openpyxl.load_workbook(tmp_path / "p.xlsx")
    book["lists"].delete_rows(1, 100)
    book["lists"]["A1"] = "a list"
    book.create_chartsheet("picture", 0).add_chart(openpyxl.chart.BarChart())
    book.save(tmp_path / "p.xlsx")
    table = read_table(tmp_path / "p.xlsx")
    assert len(table["id"]) == 60
    assert "'People'" in table.assumed
    assert read_cells(tmp_path / "p.xlsx", sheet="lists")[0] == ["a list"]
