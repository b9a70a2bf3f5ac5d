"""tellall rows, on files of tables as an agency publishes them."""

import json

import numpy as np
import pytest

import tellall as ta
from tellall.attack.prove.row_files import RowsFound
from tellall.core.records import read


@pytest.fixture
def tables(tmp_path):
    (tmp_path / "age_sex.csv").write_text(
        "age,sex,count\n0-19,f,1\n0-19,m,0\n20-64,f,3\n20-64,m,2\n65+,m,1\n"
    )
    (tmp_path / "sex_work.csv").write_text("sex,work,people\nf,yes,2\nf,no,2\nm,yes,*\nm,no,1\nm,total,3\n")
    return ["age_sex.csv", "sex_work.csv"]


def test_counts_are_printed_and_rows_only_revealed(tellall, tables, tmp_path):
    code, out, _ = tellall("rows", *tables, "--jobs", "1")
    assert code == 0
    assert "age (3) × sex (2) × work (2): 12 possible rows." in out
    assert "8 rows can occur. 3 are in every solution: 3 of 7 people." in out
    assert max(map(len, out.splitlines())) <= 80
    assert "0-19" not in out
    code, out, _ = tellall("rows", *tables, "--jobs", "1", "--reveal", "--quiet", "-o", "found.json")
    assert (code, out) == (0, "")
    secret = json.loads((tmp_path / "found.SECRET.json").read_text())
    first = secret["areas"][0]["likely"][0]
    assert set(first["row"]) == {"age", "sex", "work"}
    assert first["share"] <= 1
    assert "0-19" not in (tmp_path / "found.json").read_text()


def test_the_document_keeps_its_schema_and_the_seed_its_numbers(tellall, tables):
    code, out, _ = tellall("rows", *tables, "--json", "--seed", "3", "--jobs", "1")
    document = read(RowsFound, out, what="rows")
    assert code == 0
    assert (document.domain, document.people, document.seed) == (12, 7, 3)
    assert [one.columns for one in document.tables] == [("age", "sex"), ("sex",), ("sex", "work")]
    assert tellall("rows", *tables, "--json", "--seed", "3", "--jobs", "1")[1] == out


def test_areas_are_read_one_by_one_and_kept(tellall, tmp_path):
    lines = ["block,age,sex,count"]
    for block in range(25):
        lines += [
            f"{block},{age},{sex},{(block + i) % 3}" for i, (age, sex) in enumerate([("y", "f"), ("o", "m")])
        ]
    (tmp_path / "blocks.csv").write_text("\n".join(lines) + "\n")
    code, out, _ = tellall("rows", "blocks.csv", "--by", "block", "-o", "rows.json", "--jobs", "1")
    assert code == 0
    assert "… and 5 more areas" in out
    document = read(RowsFound, (tmp_path / "rows.json").read_text(), what="rows")
    assert len(document.areas) == 25
    assert document.certain_people == document.people
    assert all(area.unique for area in document.areas)
    assert (tmp_path / ".rows.areas" / "rows").is_dir()
    assert tellall("rows", "blocks.csv", "--by", "block", "-o", "rows.json", "--jobs", "1")[1] == out


def test_contradictory_tables_are_named(tellall, tmp_path):
    (tmp_path / "a.csv").write_text("age,count\ny,3\no,1\n")
    (tmp_path / "b.csv").write_text("age,sex,count\ny,f,3\ny,m,1\no,f,1\n")
    code, out, _ = tellall("rows", "a.csv", "b.csv", "--jobs", "1")
    assert code == 3
    assert "The tables contradict each other" in out
    assert "  age: age = y: 3" in out


def test_a_saved_release_is_read(tellall, tmp_path):
    people = ta.Dataset.from_arrays(np.eye(3, dtype=int), secret=[0, 1, 1])
    ta.publish(people, ta.Marginals(3)).save(tmp_path / "release.json")
    code, out, _ = tellall("rows", "release.json", "--jobs", "1")
    assert code == 0
    assert "The solution is the only one possible." in out


def test_rounded_and_hidden_counts_prove_less(tellall, tables):
    certain = []
    for options in ((), ("--round", "3", "--mode", "random"), ("--noise", "1")):
        _, out, _ = tellall("rows", "age_sex.csv", *options, "--json", "--jobs", "1")
        certain.append(read(RowsFound, out, what="rows").certain_people)
    assert certain[0] > certain[1] >= certain[2] == 0


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        ("age,count\ny,three\n", (), "must be counts, or a mark for a hidden one"),
        ("age,count\ny,3\ny,4\n", (), "each cell once"),
        ("age,n,count\ny,1,3\n", (), "count must be named, since several columns may be meant"),
        ("age,count\ny,3\n", ("--by", "town"), "by must be a column of t.csv"),
        ("age,count\ntotal,3\n", (), "totals alone"),
        ("age,count\ny,3\n", ("--absent", "maybe"), "absent must be"),
        ("age,count\ny,3\n", ("--round", "-1"), "base must be"),
    ],
)
def test_what_cannot_be_read_is_said_in_a_line(tellall, tmp_path, text, options, said):
    (tmp_path / "t.csv").write_text(text)
    code, out, err = tellall("rows", "t.csv", "--jobs", "1", *options)
    assert (code, out) == (2, "")
    assert said in err
    assert "Traceback" not in err


def test_an_attack_names_values_that_cannot_all_be_true(tellall, tmp_path):
    (tmp_path / "people.csv").write_text("age,sex\n" + "y,f\ny,m\no,f\no,m\n" * 3)
    people = ta.read(tmp_path / "people.csv")
    release = ta.publish(
        ta.Dataset.from_arrays(
            np.asarray(people.public.codes).T, secret=[0, 1, 1, 0] * 3, names=["age", "sex"]
        ),
        ta.Marginals(2),
    )
    values = release.values.copy()
    values[1] += 2
    bad = ta.Release.from_values(ta.Marginals(2), values, public=people.public)
    bad.save(tmp_path / "release.json")
    code, _, err = tellall("attack", "release.json", "--public", "people.csv")
    assert code == 3
    assert "These values cannot all be true:" in err
    assert "release.json: age = o, secret = 1: 5" in err or "age = y, secret = 1: 5" in err


def test_where_halves_went_is_unknown_unless_it_is_said(tellall, tmp_path):
    (tmp_path / "up.csv").write_text("age,count\ny,2\no,2\n")  # one person each, rounded half up to 2
    args = ("rows", "up.csv", "--people", "2", "--jobs", "1", "--json")
    for ties in ((), ("--ties", "up"), ("--ties", "away"), ("--ties", "unknown")):
        code, out, _ = tellall(*args, "--round", "2", *ties)
        document = json.loads(out)
        assert (code, document["areas"][0]["certain"]) == (0, 2), ties
    code, out, _ = tellall(*args, "--round", "2", "--ties", "even")  # 2 stands for 2 alone
    assert code == 3
    for wrong, words in (
        (("--ties", "up"), "--ties must be left out without --round"),
        (("--round", "2", "--ties", "down"), "ties must be one of"),
        (("--round", "2", "--mode", "random", "--ties", "up"), "left out unless mode is 'nearest'"),
    ):
        code, _, error = tellall(*args, *wrong)
        assert code == 2
        assert words in " ".join(error.split())


BANDED = {
    "young.csv": "age,sex,count\n<12,f,1\n<12,m,2\n12-17,f,1\n12-17,m,0\n18 and over,f,3\n18 and over,m,1\n",
    "old.csv": "age,count\n80+,1\n65-79,1\n18–64,2\n0 to 17,4\n",
}


@pytest.fixture
def banded(tmp_path):
    for name, text in BANDED.items():
        (tmp_path / name).write_text(text)
    return list(BANDED)


def test_files_may_have_different_bands_of_a_column(tellall, banded, tmp_path):
    code, out, _ = tellall("rows", *banded, "--jobs", "1", "--reveal", "-o", "rows.json")
    assert code == 0
    assert "age (5) × sex (2): 10 possible rows." in out
    rows = json.loads((tmp_path / "rows.SECRET.json").read_text())["areas"][0]["certain"]
    assert [(one["row"]["age"], one["row"]["sex"], one["least"]) for one in rows] == [
        ("<12", "f", 1),
        ("<12", "m", 2),
        ("12-17", "f", 1),
        ("18–64", "f", 1),
    ]


def test_a_file_may_leave_people_out(tellall, tmp_path):
    (tmp_path / "age.csv").write_text("age,count\ny,3\no,1\n")
    (tmp_path / "sex.csv").write_text("age,sex,count\ny,f,1\ny,m,1\no,f,1\n")
    code, out, _ = tellall("rows", "age.csv", "sex.csv", "--people", "4", "--jobs", "1", "--json")
    area = read(RowsFound, out, what="rows").areas[0]
    assert code == 0
    assert (area.missing, area.certain, area.certain_people) == (("sex",), 4, 4)  # one has no known sex
    code, out, _ = tellall("rows", "age.csv", "sex.csv", "--people", "4", "--jobs", "1")
    assert "People may have no value of sex; this is allowed for." in out
    code, out, _ = tellall("rows", "age.csv", "sex.csv", "--may-be-missing", "age,sex", "--jobs", "1")
    assert code == 0
    assert "People may have no value of age or sex; this is allowed for." in out
    assert tellall("rows", "age.csv", "sex.csv", "--may-be-missing", "", "--jobs", "1")[0] == 3
    code, _, err = tellall("rows", "age.csv", "--may-be-missing", "town")
    assert code == 2
    assert "may_be_missing must be columns of the tables (age); got 'town'" in " ".join(err.split())


def test_bands_that_say_too_little_are_refused(tellall, tmp_path):
    (tmp_path / "a.csv").write_text("age,count\n20-30,3\n30-40,1\n")
    (tmp_path / "b.csv").write_text("age,count\n20-24,3\n25-40,1\n")
    code, _, err = tellall("rows", "a.csv", "b.csv")
    assert code == 2
    assert "got '20-30' and '30-40'. Say what the values mean: Bands('age', {...}), or" in " ".join(
        err.split()
    )
    assert tellall("rows", "a.csv", "a.csv", "--jobs", "1")[0] == 0


def test_areas_may_leave_out_different_people(tellall, tmp_path):
    (tmp_path / "a.csv").write_text("block,age,count\n1,y,2\n1,o,0\n2,y,1\n2,o,1\n")
    (tmp_path / "b.csv").write_text("block,age,sex,count\n1,y,f,2\n1,o,f,0\n1,o,m,0\n2,y,f,1\n2,o,m,0\n")
    args = ("rows", "a.csv", "b.csv", "--by", "block", "--jobs", "1")
    code, out, _ = tellall(*args, "--reveal", "-o", "rows.json")
    assert code == 0
    document = read(RowsFound, (tmp_path / "rows.json").read_text(), what="rows")
    assert [area.missing for area in document.areas] == [(), ("age", "sex")]
    assert "People may have no value of age or sex" in " ".join(out.split())
    first, second = json.loads((tmp_path / "rows.SECRET.json").read_text())["areas"]
    assert first["certain"] == [{"row": {"age": "y", "sex": "f"}, "least": 2}]
    assert {tuple(one["row"].values()) for one in second["certain"]} == {("y", "f"), ("o", "missing")}


def test_values_are_the_same_however_numbers_are_written(tellall, tmp_path):
    (tmp_path / "a.csv").write_text("ward,count\n1,2\n2,1\n")
    (tmp_path / "b.csv").write_text("ward,ill,count\n1.0,yes,2\n2.0,no,1\nAll,yes,2\nAll,no,1\n")
    code, out, _ = tellall("rows", "a.csv", "b.csv", "--jobs", "1")
    assert code == 0
    assert "ward (2) × ill (2): 4 possible rows." in out


def test_tables_that_hide_small_counts_and_not_zeros_are_no_contradiction(tellall, tmp_path):
    shown = "age,sex,count\n0-19,f,7\n0-19,m,*\n20-64,f,9\n65+,f,0\n65+,m,6\n"  # no line for men of 20 to 64
    (tmp_path / "marked.csv").write_text(shown)
    code, out, _ = tellall("rows", "marked.csv", "--hidden-below", "5", "--json", "--jobs", "1")
    assert code == 0
    assert json.loads(out)["areas"][0]["possible"] == 4
    # a file without any mark may leave out the lines that it hides
    (tmp_path / "left_out.csv").write_text("".join(line + "\n" for line in shown.split() if line[-1] != "*"))
    code, out, _ = tellall("rows", "left_out.csv", "--hidden-below", "5", "--json", "--jobs", "1")
    assert code == 0
    assert json.loads(out)["areas"][0]["possible"] == 5


def test_a_count_that_its_rule_cannot_show_is_named_in_words(tellall, tmp_path):
    (tmp_path / "table.csv").write_text("age,count\n0-19,3\n20+,9\n")
    code, out, _ = tellall("rows", "table.csv", "--hidden-below", "5", "--jobs", "1")
    assert code == 3
    assert "age = 0-19: no count would be shown like this" in " ".join(out.split())


def test_values_that_the_declared_rounding_cannot_give_are_named_and_not_settled(tellall, tmp_path):
    (tmp_path / "ill.csv").write_text("sex,ill,count\nf,no,20\nf,yes,13\nm,no,30\nm,yes,7\n")
    code, out, _ = tellall("rows", "ill.csv", "--round", "10", "--jobs", "1")
    said = " ".join(out.split())
    assert code == 3
    assert "2 of 4 values do not come from rounding to 10: 13 where sex = f, ill = yes; 7 where" in said


def test_under_twelve_and_from_zero_to_eleven_are_the_same_people(tellall, tmp_path):
    (tmp_path / "sex.csv").write_text("age,sex,count\nunder 12,f,3\nunder 12,m,2\n12+,f,4\n12+,m,1\n")
    (tmp_path / "work.csv").write_text("age,work,count\n0-11,no,5\n0-11,yes,*\n12+,no,2\n12+,yes,*\n")
    code, out, _ = tellall("rows", "sex.csv", "work.csv", "--jobs", "1", "--json")
    assert code == 0
    assert json.loads(out)["columns"][0] == {"name": "age", "values": 2}
    (tmp_path / "work.csv").write_text("age,work,count\n< 0,no,0\n0-11,no,5\n0-11,yes,*\n12+,no,2\n")
    assert json.loads(tellall("rows", "sex.csv", "work.csv", "--jobs", "1", "--json")[1])["columns"][0] == {
        "name": "age",
        "values": 3,
    }


WORDS = """
[bands.age]
labels = { young = "0-19", grown = ["20-64", "65+"] }
low = 0
"""


def test_a_file_says_what_labels_mean(tellall, tables, tmp_path):
    (tmp_path / "words.csv").write_text("age,count\nyoung,1\ngrown,6\n")
    (tmp_path / "words.toml").write_text(WORDS)
    code, _, err = tellall("rows", tables[0], "words.csv")
    assert code == 2
    assert "[bands.age]" in err
    code, out, _ = tellall("rows", tables[0], "words.csv", "--bands", "words.toml", "--json", "--jobs", "1")
    document = read(RowsFound, out, what="rows")
    assert (code, document.people, document.areas[0].unique) == (0, 7, True)
    assert [column.values for column in document.columns] == [3, 2]
    assert tellall("rows", tables[0], "words.csv", "--bands", "words.toml", "--jobs", "1", "--reveal")[0] == 0


def test_codes_of_regions_are_read_at_their_levels(tellall, tmp_path):
    (tmp_path / "fine.csv").write_text("region,count\nDE11,2\nDE12,0\nDE21,1\n")
    (tmp_path / "coarse.csv").write_text("region,sex,count\nDE1,f,2\nDE2,m,1\n")
    code, out, _ = tellall("rows", "fine.csv", "coarse.csv", "--jobs", "1")
    assert code == 0
    assert "3 of 3 people" in out


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[bands", "a TOML file"),
        ("age = 3", "bands: Field required"),
        ("[bands.age]\nlabels = 3", "Input should be a table of keys and values"),
        ('[bands.age]\nlabels = { a = "b", b = "a" }', "made of itself"),
    ],
)
def test_a_file_of_bands_is_checked(tellall, tables, tmp_path, text, words):
    (tmp_path / "words.toml").write_text(text)
    code, _, err = tellall("rows", *tables, "--bands", "words.toml")
    assert code == 2
    assert words in " ".join(err.split())
