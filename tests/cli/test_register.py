"""tellall attack on a folder of tables in bands, with a register of more people than the tables count."""

import json

import numpy as np

import tellall as ta


def test_a_register_may_hold_people_whom_the_tables_leave_out(tellall, tmp_path):
    (tmp_path / "register.csv").write_text("age\n" + "".join(f"{age}\n" for age in (20, 21, 40, 45, 70, 71)))
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "tables.toml").write_text('secret = "ill"\n[[tables]]\nfile = "a.csv"\nacross = "ill"\n')
    (folder / "a.csv").write_text("age,no,yes\nunder 30,2,0\n30–59,0,1\n60 and over,0,2\n")  # one is left out
    code, _, err = tellall("attack", "out", "--public", "register.csv", "--secret", "ill")
    assert code == 2
    assert "got 1 of the 2 with age 30–59" in " ".join(err.split())
    code, _, err = tellall("attack", "out", "--public", "register.csv", "--secret", "ill", "--may-include")
    assert code == 0
    assert "4 proved" in err  # both who are under 30 and both who are 60 or over are in the table


SURVEY = """
secret = "ill"
{}
[[tables]]
file = "a.csv"
across = "ill"
"""


def survey(tmp_path):
    """A register of 60 people, and a table of the 55 of them who answered."""
    rng = np.random.default_rng(3)
    people = [
        (int(age), int(ill)) for age, ill in zip(rng.integers(20, 80, 60), rng.random(60) < 0.4, strict=True)
    ]
    people = [(age, 1 if age >= 70 else ill) for age, ill in people]
    (tmp_path / "people.csv").write_text("age,ill\n" + "".join(f"{age},{ill}\n" for age, ill in people))
    folder = tmp_path / "out"
    folder.mkdir()
    answered = [person for number, person in enumerate(people) if number % 12 or person[0] >= 70]
    lines = [
        f"{label},{sum(low <= age < low + 10 and not ill for age, ill in answered)},"
        f"{sum(low <= age < low + 10 and ill for age, ill in answered)}"
        for low in range(20, 80, 10)
        for label in (f"{low}-{low + 9}",)
    ]
    (folder / "a.csv").write_text("age,0,1\n" + "\n".join(lines) + "\n")
    (folder / "tables.toml").write_text(SURVEY.format(""))
    return folder, sum(age >= 70 for age, _ in people)


def test_audits_read_tables_that_leave_people_out(tellall, tmp_path):
    folder, proved = survey(tmp_path)
    how = ("--data", "people.csv", "--secret", "ill", "--no-remedy", "--jobs", "1", "--json")
    code, _, err = tellall("audit", "--acro", "out", *how)
    assert code == 2
    assert "may_include" in err
    code, out, _ = tellall("audit", "--acro", "out", "--may-include", *how)
    assert code in (1, 3)
    document = json.loads(out)
    assert document["plan"]["attackers"][0]["may_include"]
    assert (
        document["findings"][0]["summary"]["proved_group"]["1"] == proved
    )  # nobody of 70 or more was left out
    (folder / "tables.toml").write_text(SURVEY.format("may_include = true"))
    again = tellall("audit", "--acro", "out", *how)[1]
    assert json.loads(again)["findings"] == document["findings"]
    code, out, _ = tellall("attack", "out", "--public", "people.csv", "--secret", "ill", "--json")
    assert (code, json.loads(out)["proved"]) == (0, proved)


def test_a_plan_judges_a_sample_that_was_published_before(tellall, tmp_path):
    survey(tmp_path)
    people = ta.read(tmp_path / "people.csv", secret="ill", bins={"age": [49.5]})
    some = people.take(np.arange(50))
    ta.publish(some, ta.Marginals(2)).save(tmp_path / "sample.json")
    text = """
data = "people.csv"
secret = "ill"
{}
[bins]
age = [49.5]
[[published]]
file = "sample.json"
[[releases]]
statistic = {{ kind = "Marginals", ways = 2 }}
"""
    (tmp_path / "plan.toml").write_text(text.format(""))
    _, out, _ = tellall("audit", "plan.toml", "--no-remedy", "--jobs", "1", "--json")
    rows = json.loads(out)["findings"]
    assert "may_include" in next(row["reason"] for row in rows if row["name"].startswith("sample"))
    (tmp_path / "plan.toml").write_text(text.format("may_include = true"))
    _, out, _ = tellall("audit", "plan.toml", "--no-remedy", "--jobs", "1", "--json")
    assert not any(row["reason"] for row in json.loads(out)["findings"])


BANDED = """
secret = "ill"
{}
[[tables]]
file = "a.csv"
across = "ill"
[[tables]]
file = "b.csv"
across = "ill"
"""
TOLD = '[bands.age]\nlabels = { young = "0-29", old = ["30-59", "60+"] }\n'


def test_bands_are_told_in_the_folder_or_in_a_file(tellall, tmp_path):
    ages = (20, 21, 40, 45, 70, 71)
    (tmp_path / "people.csv").write_text(
        "age,ill\n" + "".join(f"{age},{'yes' if age > 60 else 'no'}\n" for age in ages)
    )
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "a.csv").write_text("age,no,yes\nyoung,2,0\nold,2,2\n")
    (folder / "b.csv").write_text("age,no,yes\n20-44,3,0\n40+,2,2\n70 and over,0,2\n")  # they overlap
    (folder / "tables.toml").write_text(BANDED.format(""))
    code, _, err = tellall("attack", "out", "--public", "people.csv", "--secret", "ill")
    assert code == 0
    assert "a.csv: label must be a value that somebody has in the column 'age'; got 'old'" in " ".join(
        err.split()
    )
    (tmp_path / "told.toml").write_text(TOLD)
    code, out, err = tellall(
        "attack", "out", "--public", "people.csv", "--secret", "ill", "--bands", "told.toml", "--json"
    )
    assert code == 0
    assert "Not read" not in err
    assert '"proved": 6' in out
    (folder / "tables.toml").write_text(BANDED.format(TOLD))
    code, out, err = tellall("attack", "out", "--public", "people.csv", "--secret", "ill", "--json")
    assert code == 0
    assert "Not read" not in err
    assert '"proved": 6' in out
    code, _, err = tellall("audit", "--acro", "out", "--data", "people.csv", "--secret", "ill", "--no-remedy")
    assert code in (1, 3)
    assert "Not read" not in err
    code, _, err = tellall("attack", "out", "--public", "people.csv", "--secret", "ill", "--bands", "no.toml")
    assert code == 2


PLAN = """
data = "people.csv"
secret = "ill"
{}
[[releases]]
name = "overlapping"
statistic = {{ kind = "CellCounts", columns = ["age"], labels = [["under 35", "30+", "grown"]] }}
[[releases]]
name = "bins"
statistic = {{ kind = "Marginals", ways = 2 }}
protect = {{ kind = "Suppression", below = 3 }}
[bins]
age = [29.5, 49.5]
"""


def test_a_plan_may_publish_a_column_in_several_bands(tellall, tmp_path):
    rng = np.random.default_rng(0)
    lines = [
        f"{age},{ill}\n" for age, ill in zip(rng.integers(18, 80, 60), rng.integers(0, 2, 60), strict=True)
    ]
    (tmp_path / "people.csv").write_text("age,ill\n" + "".join(lines))
    (tmp_path / "plan.toml").write_text(PLAN.format('[bands.age]\nlabels = { grown = "20+" }'))
    code, out, _ = tellall("audit", "plan.toml", "--json", "--no-remedy", "--jobs", "1")
    assert code in (0, 1, 3)
    assert '"not_checked": []' in out or "not attacked" not in out
    assert '"20+"' in out
    (tmp_path / "plan.toml").write_text(PLAN.format(""))
    code, _, err = tellall("audit", "plan.toml")
    assert code == 2
    assert "release “overlapping”: statistic" in " ".join(err.split())
    assert "got 'grown'" in " ".join(err.split())
