"""Packed files that hold more than they look: refused by size, before memory or time is spent."""

import gzip
import io
import zipfile

import numpy as np
import openpyxl
import pytest

import tellall as ta
from tellall.people import sheets
from tellall.people.readers import read_table

MB = 2**20


def write_gz(path, megabytes: int) -> None:
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b"a,b\n")
        for _ in range(megabytes):
            file.write(b"1,2\n" * (MB // 4))


def write_book(path, **parts: bytes) -> None:
    """A workbook of one person, with some of its parts replaced or added."""
    plain, book = io.BytesIO(), openpyxl.Workbook()
    book.active.append(["a", "b"])
    book.active.append([1, "x"])
    book.save(plain)
    with zipfile.ZipFile(plain) as old, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        names = {name.rpartition("/")[2]: name for name in old.namelist()}
        for short, name in names.items():
            new.writestr(name, parts.pop(short.partition(".")[0], old.read(name)))
        for name, content in parts.items():
            new.writestr(f"xl/{name}.xml", content)


def sheet_of(rows: bytes, more: bytes = b"") -> bytes:
    start = b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">'
    return start + more + b"<sheetData>" + rows + b"</sheetData></worksheet>"


def test_a_packed_text_may_unpack_to_so_much_and_no_more(tmp_path, monkeypatch):
    monkeypatch.setattr(sheets, "_LARGEST", 2 * MB)
    write_gz(tmp_path / "people.csv.gz", 1)
    assert len(read_table(tmp_path / "people.csv.gz")["a"]) == MB // 4
    monkeypatch.setattr(sheets, "_MOST_TIMES", 20)
    write_gz(tmp_path / "bomb.csv.gz", 8)
    assert 20 * (tmp_path / "bomb.csv.gz").stat().st_size < 8 * MB
    with pytest.raises(ta.InvalidInput, match=r"at most 2 MB, unpacked \(limited by 20 times its size"):
        read_table(tmp_path / "bomb.csv.gz")
    monkeypatch.setattr(sheets, "_MOST_TIMES", 2000)
    monkeypatch.setattr(sheets, "_LARGEST_PEOPLE", 3 * MB)
    with pytest.raises(ta.InvalidInput, match="at most 3 MB, unpacked"):
        read_table(tmp_path / "bomb.csv.gz")


def test_a_packed_text_of_more_than_memory_holds_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(type(sheets.HOST), "free_memory", 3 * MB)
    write_gz(tmp_path / "people.csv.gz", 2)
    with pytest.raises(ta.InvalidInput, match=r"at most 1 MB, unpacked .* and by memory"):
        read_table(tmp_path / "people.csv.gz")


def test_a_sheet_that_unpacks_to_too_much_is_refused_unread(tmp_path, monkeypatch):
    monkeypatch.setattr(sheets, "_LARGEST", MB)
    write_book(tmp_path / "bomb.xlsx", sheet1=sheet_of(b"<row><c><v>1</v></c></row>" * 100_000))
    with pytest.raises(ta.InvalidInput, match=r"at most 2 MB, unpacked \(limited by 200 times its size"):
        read_table(tmp_path / "bomb.xlsx")


def test_other_parts_of_a_workbook_are_limited_too(tmp_path, monkeypatch):
    monkeypatch.setattr(sheets, "_LARGEST", MB)
    noise = np.random.default_rng(0).bytes(2 * MB)
    write_book(tmp_path / "texts.xlsx", comments=noise)
    with pytest.raises(ta.InvalidInput, match="at most 1 MB of different texts"):
        read_table(tmp_path / "texts.xlsx")


def test_a_workbook_that_says_less_than_it_holds_is_cut_short(tmp_path):
    """The sizes in a packed folder are what its writer says; what is beyond them is never unpacked."""
    write_book(tmp_path / "liar.xlsx", sheet1=sheet_of(b"<row><c><v>1</v></c></row>" * 50_000))
    raw = (tmp_path / "liar.xlsx").read_bytes()
    with zipfile.ZipFile(tmp_path / "liar.xlsx") as book:
        part = book.getinfo("xl/worksheets/sheet1.xml")
    told, small = part.file_size.to_bytes(4, "little"), (100).to_bytes(4, "little")
    assert raw.count(told) == 2
    (tmp_path / "liar.xlsx").write_bytes(raw.replace(told, small))
    with pytest.raises(ta.InvalidInput, match="a readable"):
        read_table(tmp_path / "liar.xlsx")


def test_entities_that_multiply_are_refused(tmp_path):
    entities = b"".join(b'<!ENTITY %c "%s">' % (98 + i, (b"&%c;" % (97 + i)) * 10) for i in range(9))
    text = b'<row><c t="inlineStr"><is><t>&j;</t></is></c></row>'
    whole = b'<!DOCTYPE l [<!ENTITY a "lol">' + entities + b"]>" + sheet_of(text)
    write_book(tmp_path / "lol.xlsx", sheet1=whole)
    with pytest.raises(ta.InvalidInput, match="a readable"):
        read_table(tmp_path / "lol.xlsx")


@pytest.mark.parametrize("where", ["XFD1048576", "A1048576"])
def test_a_sheet_that_claims_to_be_as_large_as_can_be_is_read(tmp_path, where):
    far = f'<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="{where}"><v>2</v></c></row>'
    whole = sheet_of(far.encode(), b'<dimension ref="A1:XFD1048576"/>')
    write_book(tmp_path / "far.xlsx", sheet1=whole)
    lines = sheets.read_cells(tmp_path / "far.xlsx")
    assert [line for line in lines if line] == [[1], [None] * (16383 * ("X" in where)) + [2]]


def test_a_sheet_of_more_cells_than_a_table_has_is_refused(tmp_path):
    wide = "".join(f'<row r="{i}"><c r="XFD{i}"><v>1</v></c></row>' for i in range(1, 400)).encode()
    write_book(tmp_path / "wide.xlsx", sheet1=sheet_of(wide))
    with pytest.raises(ta.InvalidInput, match="at most 5,000,000 cells in 1,048,576 lines"):
        read_table(tmp_path / "wide.xlsx")


def test_parquet_of_more_rows_than_memory_holds_is_refused(tmp_path, monkeypatch):
    import duckdb

    path = tmp_path / "people.parquet"
    duckdb.sql(f"COPY (SELECT 1 AS a, 0 AS ill FROM range(1000000)) TO '{path}'")
    assert len(read_table(path)["a"]) == 1_000_000
    monkeypatch.setattr(type(sheets.HOST), "free_memory", MB)
    with pytest.raises(ta.InvalidInput, match="fits into memory; got 1,000,000 rows of 2 columns in "):
        read_table(path)


def test_a_packed_table_with_a_broken_byte_is_one_sentence(tmp_path):
    whole = gzip.compress(np.random.default_rng(0).bytes(300), mtime=0)
    for at in range(10, len(whole)):
        (tmp_path / "t.csv.gz").write_bytes(whole[:at] + b"\xff" + whole[at + 1 :])
        with pytest.raises(ta.InvalidInput):
            sheets.read_cells(tmp_path / "t.csv.gz")
