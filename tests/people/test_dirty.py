"""Files as they come: titles, row names, marks for missing values, odd numbers, labels, damage."""

import errno
import gzip
import io
import os
import zipfile

import numpy as np
import pandas as pd
import pytest

import tellall as ta
from tellall.people.headings import header_index
from tellall.people.readers import read_table

ROWS = [(20 + i % 7, "fm"[i % 2], "nsew"[i % 4], i % 3 % 2) for i in range(24)]
HEADER = ("age", "sex", "region", "ill")
TITLES = {
    "one line": ["Patients of 2019"],
    "and an empty line": ["Patients of 2019", ""],
    "as a spreadsheet saves it": ["Patients of 2019,,,", ",,,"],
    "a remark": ["# made by R, version 4"],
    "several": ["Hospital", "Year: 2019", "", "Patients"],
    "in quotes": ['"Patients, 2019"'],
    "the delimiter": ["sep=,"],
}


def text(above=(), header=HEADER, rows=ROWS, below=()) -> str:
    lines = [*above, ",".join(header), *(",".join(map(str, row)) for row in rows), *below]
    return "".join(f"{line}\n" for line in lines)


@pytest.fixture(scope="module")
def plain(tmp_path_factory) -> ta.Dataset:
    path = tmp_path_factory.mktemp("plain") / "p.csv"
    path.write_text(text())
    return ta.read(path, secret="ill")


def same(one: ta.Dataset, other: ta.Dataset) -> bool:
    return (
        one.public.columns == other.public.columns
        and np.array_equal(one.public.codes, other.public.codes)
        and np.array_equal(one.secret, other.secret)
    )


@pytest.mark.parametrize("above", TITLES.values(), ids=TITLES)
def test_titles_above_the_header_of_a_text_are_skipped_and_that_is_said(tmp_path, plain, above):
    (tmp_path / "p.csv").write_text(text(above))
    found = ta.read(tmp_path / "p.csv", secret="ill")
    assert same(found, plain)
    assert "above it w" in found.assumed
    assert "taken for a title and skipped" in found.assumed


@pytest.mark.parametrize("above", [["Patients"], ["Patients", None], ["Patients", None, "of 2019"]])
@pytest.mark.parametrize("merged", [False, True])
def test_titles_above_the_header_of_a_sheet_are_skipped_and_that_is_said(tmp_path, plain, above, merged):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for line in [*([title] for title in above), HEADER, *ROWS]:
        book.active.append(list(line))
    if merged:
        book.active.merge_cells("A1:D1")
    book.save(tmp_path / "p.xlsx")
    found = ta.read(tmp_path / "p.xlsx", secret="ill")
    assert same(found, plain)
    assert f"named in line {len(above) + 1}" in found.assumed
    assert "taken for a title and skipped" in found.assumed


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (text(["Patients, 2019"], header=("age", "sex", "region", "ill")), "Line 1 holds numbers"),
        (text(["Patients"], header=HEADER[:3]), "Line 2 has 3 values, the header has 1"),
        (text(['"Patients\nof 2019"']), "Line 3 has 4 values, the header has 1"),
        ("title\n\n1,5,3\n4,5,6\n", "Line 3 holds numbers"),
        (text(["Patients", ""], rows=[*ROWS[:3], (1, 2)]), "Line 7 has 2 values, the header has 4"),
        (text(below=["Source: hospital"]), "Line 26 has 1 values"),
        (text(["Patients"], header=("age", "age", "sex", "ill")), "have the same name in line 2"),
    ],
)
def test_what_is_no_title_is_refused_by_its_line(tmp_path, content, says):
    (tmp_path / "p.csv").write_text(content)
    with pytest.raises(ta.InvalidInput, match=says):
        read_table(tmp_path / "p.csv")


def test_nobody_is_taken_for_a_heading() -> None:
    assert header_index([["sex", "ill"], ["f", "0"], ["m", "1"]]) == 0
    assert header_index([["ill"], ["ann", "0"], ["bob", "1"]]) == 0  # R's write.table names no row names
    assert header_index([["sex", "age", "ill"], ["ann", "f", "31", "0"], ["bob", "m", "45", "1"]]) == 0
    assert header_index([["a", "b", "note"], ["1", "2", ""], ["3", "4", ""]]) == 0


@pytest.mark.parametrize("names", [range(24), [f"row {i}" for i in range(24)]])
def test_row_names_that_r_and_pandas_write_are_left_out(tmp_path, plain, names):
    pd.DataFrame(ROWS, columns=HEADER, index=list(names)).to_csv(tmp_path / "p.csv")
    found = ta.read(tmp_path / "p.csv", secret="ill")
    assert same(found, plain)
    assert "row names, which are left out" in found.assumed
    (tmp_path / "q.csv").write_text(text(header=("", "sex", "region", "ill")))
    with pytest.raises(ta.InvalidInput, match="Column 1 has no name in line 1"):
        ta.read(tmp_path / "q.csv", secret="ill")


@pytest.mark.parametrize("mark", ["NA", "n/a", ".", "#N/A", "NULL"])
def test_a_mark_among_numbers_means_missing_and_that_is_said(tmp_path, mark):
    rows = [(mark if i % 5 == 0 else i + 0.5, ["x", "y", "NA"][i % 3], i % 2) for i in range(40)]
    (tmp_path / "p.csv").write_text(text(header=("age", "word", "ill"), rows=rows))
    found = ta.read(tmp_path / "p.csv", secret="ill")
    assert np.isnan(found.public.numbers[0]).sum() == 8
    assert found.public.columns[1].labels == ("NA", "x", "y")  # a word among words
    assert found.assumed.endswith(f"In column 'age' “{mark}” means missing.")


@pytest.mark.parametrize("odd", ["0x10", "0X1f", "1_000", "0b11"])
def test_what_only_programmers_take_for_a_number_stays_text(tmp_path, odd):
    rows = [(odd if i % 4 == 0 else 5, i % 2) for i in range(12)]
    (tmp_path / "p.csv").write_text(text(header=("code", "ill"), rows=rows))
    found = ta.read(tmp_path / "p.csv", secret="ill")
    assert found.public.columns[0].labels == tuple(sorted(("5", odd)))
    assert "_" in odd or found.assumed.endswith("since some of its numbers are written as 0x10.")


def test_a_count_of_0x10_is_refused_by_its_line_and_nan_is_a_hidden_one(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("Table 1\n\nage,sex,count\n0-19,f,1\n0-19,m,0x10\n20+,f,2\n20+,m,5\n")
    with pytest.raises(ta.InvalidInput, match="something else in line 5 of t"):
        ta.read_count_tables(path)
    path.write_text(path.read_text().replace("0x10", "nan"))
    (table,) = ta.read_count_tables(path)[""]
    assert np.isnan(table.counts).sum() == 1


def test_commas_in_quotes_that_may_mark_thousands_are_said(tmp_path):
    rows = [(f'"1,{300 + i}"', i % 2) for i in range(12)]
    (tmp_path / "p.csv").write_text(text(header=("pay", "ill"), rows=rows))
    assert "'pay' stays text, since 1,234 in it may mean" in ta.read(tmp_path / "p.csv", secret="ill").assumed


def test_a_note_below_the_people_of_a_sheet_is_refused_by_its_line(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for line in [HEADER, *ROWS, [], ["Source: hospital"]]:
        book.active.append(list(line))
    book.save(tmp_path / "p.xlsx")
    with pytest.raises(ta.InvalidInput, match="Line 27 holds a single value below an empty line"):
        ta.read(tmp_path / "p.xlsx", secret="ill")


def test_labels_of_spss_and_stata_are_read_where_every_value_has_one(tmp_path):
    pyreadstat = pytest.importorskip("pyreadstat")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "sex": rng.integers(1, 3, 60).astype(float),
            "children": rng.integers(0, 9, 60).astype(float),
            "born": pd.to_datetime("1950-01-01") + pd.to_timedelta(rng.integers(0, 9000, 60), "D"),
            "town": rng.choice(["Ghent", "Łódź"], 60),
            "ill": rng.integers(0, 2, 60).astype(float),
        }
    )
    frame.loc[3, "sex"] = np.nan
    labels = {"sex": {1: "f", 2: "m"}, "children": {8: "8 or more"}, "ill": {0: "no", 1: "yes"}}
    pyreadstat.write_sav(frame, tmp_path / "p.sav", variable_value_labels=labels)
    pyreadstat.write_dta(frame, tmp_path / "p.dta", variable_value_labels=labels)
    for name in ("p.sav", "p.dta"):
        found = ta.read(tmp_path / name, secret="ill")
        sex, children, born, town = found.public.columns
        assert sex.labels == ("f", "m", "missing")
        assert children.labels == tuple("012345678")
        assert born.dates
        assert town.labels == ("Ghent", "Łódź")
        assert found.meaning == ("no", "yes")
        assert found.secret.tolist() == frame.ill.tolist()
        assert "no label of their own in 'children': the codes stay" in found.assumed


def test_without_pyreadstat_it_is_named(tmp_path, monkeypatch):
    (tmp_path / "p.sav").write_bytes(b"$FL2")
    monkeypatch.setattr("tellall.people.labelled.find_spec", lambda name: None)
    with pytest.raises(ta.InvalidInput, match=r"pip install 'tellall\[spss\]'"):
        ta.read(tmp_path / "p.sav", secret="ill")


def _workbook() -> bytes:
    openpyxl = pytest.importorskip("openpyxl")
    book, out = openpyxl.Workbook(), io.BytesIO()
    for line in [HEADER, *ROWS]:
        book.active.append(list(line))
    book.save(out)
    return out.getvalue()


def _flipped(packed: bytes) -> bytes:
    """The same with the first byte behind the header, which says how the rest is packed, made nonsense."""
    return packed[:10] + b"\xff" + packed[11:]


def _other_zip() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as parts:
        parts.writestr("a.txt", "x")
    return out.getvalue()


@pytest.mark.parametrize(
    ("name", "made", "says"),
    [
        ("p.csv.gz", lambda: gzip.compress(text().encode())[:-20], "It ends too early"),
        ("p.csv.gz", lambda: b"hello", "It is not packed by gzip"),
        ("p.csv.gz", lambda: gzip.compress(text().encode()) + b"more", "or more follows what is"),
        ("p.csv.gz", lambda: gzip.compress(text().encode())[:40] + bytes(60), "damaged|too early"),
        (
            "p.csv.gz",
            lambda: _flipped(gzip.compress(text().encode())),
            "damaged: what is packed in it cannot",
        ),
        ("p.xlsx", lambda: b"PK\x03\x04hello", "no whole workbook"),
        ("p.xlsx", lambda: _workbook()[:3000], "no whole workbook"),
        ("p.xlsx", _other_zip, "damaged, or no workbook"),
        ("p.parquet", lambda: b"PAR1xxxxPAR1", "DuckDB failed"),
        ("p.sav", lambda: b"$FL2xxxx", "pyreadstat failed"),
        ("p.dta", lambda: b"xxxxxxx", "pyreadstat failed"),
    ],
)
def test_a_damaged_file_is_one_sentence_that_names_it(tmp_path, name, made, says):
    (tmp_path / name).write_bytes(made())
    with pytest.raises(ta.InvalidInput, match=says) as refused:
        read_table(tmp_path / name)
    assert name in str(refused.value)
    assert "\n" not in str(refused.value)


def test_more_columns_than_can_be_read_are_refused_before_they_are(tmp_path):
    names = [f"c{number}" for number in range(200_000)]
    (tmp_path / "p.csv").write_text(text(header=names, rows=[[number % 2] * 200_000 for number in range(3)]))
    with pytest.raises(ta.InvalidInput, match=r"at most 50,000 columns; got 200,000 in p.csv"):
        read_table(tmp_path / "p.csv")


@pytest.mark.parametrize("count", [10**20, 10**13, 9007199254740993])
def test_more_people_than_ever_lived_are_no_count(tmp_path, count):
    path = tmp_path / "t.csv"
    path.write_text(f"age,sex,count\n0-19,f,1\n0-19,m,{count}\n20+,f,2\n20+,m,5\n")
    with pytest.raises(ta.InvalidInput, match="counts must be numbers of people, at most 1,000,000,000,000"):
        ta.read_count_tables(path)


def test_a_full_disk_while_a_file_is_unpacked_is_said_as_the_system_says_it(tmp_path, monkeypatch):
    (tmp_path / "p.csv.gz").write_bytes(gzip.compress(text().encode()))

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("tellall.people.sheets._pieces", full)
    with pytest.raises(OSError, match="No space left on device"):
        read_table(tmp_path / "p.csv.gz")


def test_where_duckdb_lacks_memory_no_file_is_blamed(tmp_path, monkeypatch):
    from tellall.core import duck

    (tmp_path / "p.csv").write_text("name,ill\n" + "".join(f"{'n' * 500}{i},{i % 2}\n" for i in range(9000)))
    connect = duck.connect
    monkeypatch.setattr(duck, "connect", lambda: connect(memory_limit="1MB"))
    with pytest.raises(MemoryError):
        read_table(tmp_path / "p.csv")
