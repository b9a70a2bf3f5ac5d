"""Secrets that are amounts of few different values: a plan can say that they are numbers."""

import json
from pathlib import Path

import numpy as np
import pytest

import tellall as ta

PLAN = """
data = "visits.csv"
secret = "visits"
steps = false
{kind}
[[releases]]
statistic = {{ kind = "{statistic}", ways = 2 }}
"""


@pytest.fixture
def visits(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(2)
    lines = [f"{'fm'[rng.integers(2)]},{'abcd'[rng.integers(4)]},{rng.poisson(3)}" for _ in range(200)]
    Path("visits.csv").write_text("\n".join(["sex,town,visits", *lines, ""]))


@pytest.mark.parametrize("statistic", ["Sums", "CellMeans"])
def test_the_error_says_how_to_say_that_the_secret_is_a_number(tellall, visits, statistic):
    Path("plan.toml").write_text(PLAN.format(kind="", statistic=statistic))
    code, _, err = tellall("audit", "plan.toml", "--jobs", "1")
    assert code == 2
    assert 'if visits is a number, say so: --kind reals (in a plan: kind = "reals")' in " ".join(err.split())
    code, out, err = tellall("audit", "plan.toml", "--kind", "reals", "--jobs", "1", "--json", "--no-remedy")
    assert code == 0, err
    by_option = json.loads(out)
    assert by_option["plan"]["kind"] == "reals"
    assert "--kind reals" in by_option["command"]
    Path("plan.toml").write_text(PLAN.format(kind='kind = "reals"', statistic=statistic))
    code, out, _ = tellall("audit", "plan.toml", "--jobs", "1", "--json", "--no-remedy")
    assert code == 0
    assert json.loads(out)["findings"] == by_option["findings"]


def test_a_draft_shows_the_key_and_takes_the_option(tellall, visits):
    assert tellall("init", "visits.csv", "--secret", "visits")[0] == 0
    assert '# kind = "reals" ' in Path("visits.toml").read_text()
    assert tellall("init", "visits.csv", "--secret", "visits", "--kind", "reals", "-o", "means.toml")[0] == 0
    plan = ta.read_plan(Path("means.toml"))
    assert plan.kind == "reals"
    assert isinstance(plan.releases[0].statistic, ta.CellMeans)
    assert ta.read_people(plan).levels == 0


def test_what_a_number_cannot_be_is_refused(tellall, visits):
    for key, said in (('kind = "number"', "kind"), ('kind = "bits"', "a secret of two values")):
        Path("plan.toml").write_text(PLAN.format(kind=key, statistic="CellMeans"))
        code, _, err = tellall("audit", "plan.toml")
        assert (code, said in err) == (2, True)
    with pytest.raises(ta.InvalidInput, match="the same for everybody"):
        ta.Dataset.from_arrays(np.eye(4), secret=[3, 3, 3, 3], kind="reals")
    with pytest.raises(ta.InvalidInput, match="numbers, as kind is 'reals'"):
        ta.Dataset.from_frame({"a": [1, 2, 3], "s": ["x", "y", "z"]}, "s", kind="reals")


@pytest.mark.parametrize("command", ["sweep", "calibrate", "publish"])
def test_studies_and_publishing_read_the_secret_as_the_audit_does(tellall, visits, command):
    text = Path("visits.csv").read_text().splitlines()
    Path("visits.csv").write_text("\n".join([*text, "f,a,", ""]))
    Path("plan.toml").write_text(PLAN.format(kind="", statistic="Sums"))
    more = {
        "sweep": ["--scales", "50", "--repeats", "1"],
        "calibrate": ["--draws", "1", "--max-advantage", "10"],
    }.get(command, [])
    code, _, err = tellall(command, "plan.toml", *more)
    assert code == 2
    assert "1 missing value. --drop-gaps" in " ".join(err.split())
    code, _, err = tellall(command, "plan.toml", *more, "--drop-gaps", "--kind", "reals")
    assert code in (0, 3), err
    assert "1 person without a value of visits was left out" in " ".join(err.split())


@pytest.mark.parametrize("odd", ["inf", "+inf", "∞", "12 kg"])
def test_numbers_that_one_other_value_makes_words_are_refused_with_their_row(tellall, tmp_path, odd):
    rng = np.random.default_rng(2)
    lines = [f"{'fm'[i % 2]},{round(rng.exponential(900), 1)}" for i in range(60)]
    lines[6], lines[20] = "f,NA", f"m,{odd}"
    Path("p.csv").write_text("\n".join(["sex,income", *lines, ""]), encoding="utf-8")
    code, _, err = tellall("init", "p.csv", "--secret", "income", "--drop-gaps")
    assert code == 2
    said = " ".join(err.split())
    # “NA” beside something that is no number is a word like it
    assert "income must be finite numbers, or words; got 58 different numbers, and in row 7 something" in said
    assert odd not in said
    assert tellall("init", "p.csv", "--secret", "income", "--kind", "categories")[0] == 0
    lines[6] = "f,"
    Path("p.csv").write_text("\n".join(["sex,income", *lines, ""]), encoding="utf-8")
    code, _, err = tellall("init", "p.csv", "--secret", "income", "--drop-gaps", "-o", "q.toml")
    assert code == 2
    said = " ".join(err.split())
    assert "in row 21 something else" in said or "finite numbers or missing; got an infinite value" in said


def test_categories_that_are_words_and_some_numbers_stay_as_they_are():
    codes = [f"{100 + i}" for i in range(15)] + ["V45", "E11"]
    people = ta.Dataset.from_frame({"sex": ["f", "m"] * 17, "code": codes * 2}, "code")
    assert people.levels == 17
