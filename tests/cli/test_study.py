"""tellall sweep and tellall calibrate on files."""

import csv
import json
from pathlib import Path

import duckdb
import numpy as np
import pytest

from tellall.audits.studies import CalibrationFound, SweepFound
from tellall.core.errors import NoAnswer, SolverFailed, TooLittlePower
from tellall.core.records import read

PLAN = """
data = "people.csv"
secret = "ill"
limit = 0.2
[[releases]]
statistic = { kind = "Marginals", ways = 3 }
protect = { kind = "Rounding", base = 5 }
"""
QUICK = ("--decoder", "least-squares")
MORE = """
[[releases]]
statistic = { kind = "Marginals", ways = 2 }
"""


@pytest.fixture
def tellall(tellall):
    rng = np.random.default_rng(1)
    columns = rng.integers(0, 2, (60, 7))
    ill = np.arange(60) % 2
    lines = [
        ",".join([*map(str, row), "yes" if bit else "no"]) for row, bit in zip(columns, ill, strict=True)
    ]
    Path("people.csv").write_text("\n".join(["a,b,c,d,e,f,g,ill", *lines]) + "\n", encoding="utf-8")
    Path("people.toml").write_text(PLAN, encoding="utf-8")

    return tellall


def test_a_sweep_writes_its_page_and_its_table(tellall):
    code, out, err = tellall(
        "sweep",
        "people.toml",
        "--decoder",
        "least-squares",
        "--family",
        "Laplace",
        "--scales",
        "1,8",
        "--repeats",
        "2",
        "--jobs",
        "1",
        "-o",
        "out",
    )
    assert code == 0
    for words in ("exact", "Rounding(base=5)", "Laplace(scale=1)", "Laplace(scale=8)", "on the frontier"):
        assert words in out
    assert "no guarantee" in err
    assert "The page is out/sweep.html" in err
    assert sorted(p.name for p in Path("out").iterdir()) == [
        "sweep.csv",
        "sweep.html",
        "sweep.json",
        "sweep.parquet",
    ]
    text = Path("out/sweep.json").read_text(encoding="utf-8")
    assert read(SweepFound, text, what="sweep")
    document = json.loads(text)
    columns = list(document["releases"][0]["rows"][0])
    with Path("out/sweep.csv").open(encoding="utf-8") as file:
        tidy = list(csv.DictReader(file))
    assert list(tidy[0]) == columns
    assert [float(row["advantage"]) for row in tidy] == [
        row["advantage"] for row in document["releases"][0]["rows"]
    ]
    parquet = duckdb.sql("SELECT * FROM 'out/sweep.parquet'")
    assert parquet.columns == columns
    assert [row[columns.index("family")] for row in parquet.fetchall()] == [row["family"] for row in tidy]
    assert "--family Laplace --scales 1,8 --repeats 2 --decoder least-squares --seed 0" in document["command"]
    assert len(document["releases"][0]["rows"]) == 4


def test_a_sweep_chooses_scales_and_speaks_json(tellall):
    code, out, _ = tellall(
        "sweep", "people.toml", "--repeats", "1", "--jobs", "1", "--json", "--quiet", "--decoder", "posterior"
    )
    assert code == 0
    rows = json.loads(out)["releases"][0]["rows"]
    scales = [row["scale"] for row in rows if row["family"] == "Gaussian"]
    assert len(scales) == 7
    assert rows[2]["advantage"] > rows[-1]["advantage"]


@pytest.mark.parametrize(
    ("known", "says"),
    [
        ('known = ["a", "b"]', "against an attacker who knows a, b of everybody"),
        ("known_secrets = 0.1", "and the ill of 10 % of them"),
    ],
)
def test_a_study_says_whom_it_is_measured_against(tellall, known, says):
    Path("people.toml").write_text(known + PLAN, encoding="utf-8")
    quick = ("people.toml", *QUICK, "--jobs", "1", "--json")
    swept = json.loads(tellall("sweep", *quick, "--scales", "4", "--repeats", "1")[1])
    assert says in swept["warning"]
    found = json.loads(tellall("calibrate", *quick, "--max-advantage", "0.4", "--draws", "2")[1])
    assert any(says in line for line in found["releases"][0]["warnings"])


def test_a_calibration_answers_keeps_the_limit_and_repeats(tellall):
    arguments = (
        "calibrate",
        "people.toml",
        "--max-advantage",
        "0.3",
        "--draws",
        "4",
        *QUICK,
        "--json",
        "-o",
        "out",
        "-q",
    )
    code, out, err = tellall(*arguments)
    assert (code, err) == (0, "")
    document = json.loads(out)
    assert read(CalibrationFound, out, what="calibration")
    found = document["releases"][0]
    assert found["interval"][1] <= 0.3 == document["max_advantage"]
    assert found["evaluations"] == len(found["history"]) <= 15
    assert found["guarantee"]["epsilon"] > 0
    assert "no guarantee" in found["warnings"][0]
    assert json.loads(Path("out/calibrate.json").read_text(encoding="utf-8")) == document
    assert tellall(*arguments)[1] == out


def test_a_calibration_also_keeps_what_is_asked_of_the_promise(tellall):
    quick = ("calibrate", "people.toml", "--max-advantage", "0.3", "--draws", "2", *QUICK)
    loose = json.loads(tellall(*quick, "--json")[1])["releases"][0]
    asked = ("--promised-advantage", "0.2", "--promised-tpr", "0.03")
    kept = json.loads(tellall(*quick, *asked, "--json")[1])
    strict = kept["releases"][0]
    assert loose["guarantee"]["advantage"] > 0.2
    assert 0.15 < strict["guarantee"]["advantage"] <= 0.2
    assert strict["guarantee"]["tpr"] <= 0.03
    assert strict["scale"] > loose["scale"]
    assert "--promised-advantage 0.2 --promised-tpr 0.03" in kept["command"]
    out = tellall(*quick, *asked)[1]
    assert out.index("Promised: at most") < out.index("Achieved so far") < out.index("scale ")
    # rounding promises nothing, so no base is enough
    code, _, err = tellall(*quick, "--family", "Rounding", *asked)
    assert code == 3
    assert "Rounding does at no scale" in " ".join(err.split())


def test_the_plans_limit_is_the_default_and_several_releases_are_several_answers(tellall):
    Path("people.toml").write_text(PLAN + MORE, encoding="utf-8")
    code, out, _ = tellall("calibrate", "people.toml", "--draws", "3", "--json", *QUICK)
    document = json.loads(out)
    assert code == 0
    assert document["max_advantage"] == 0.2
    assert [one["name"] for one in document["releases"]] == ["every 3-way table", "every 2-way table"]


ALIKE = """
data = "people.csv"
secret = "ill"
limit = 0.3
[[releases]]
name = "left"
statistic = { kind = "Marginals", ways = 3, attributes = [["a", "b"], ["b", "c"]] }
[[releases]]
name = "right"
statistic = { kind = "Marginals", ways = 3, attributes = [["d", "e"], ["e", "f"]] }
[[releases]]
name = "left, rounded"
statistic = { kind = "Marginals", ways = 3, attributes = [["a", "b"], ["b", "c"]] }
protect = { kind = "Rounding", base = 5 }
"""


def test_statistics_that_read_alike_are_both_calibrated(tellall):
    Path("alike.toml").write_text(ALIKE, encoding="utf-8")
    code, out, err = tellall("calibrate", "alike.toml", "--draws", "3", "--json", *QUICK)
    assert code == 0, err
    names = [one["name"] for one in json.loads(out)["releases"]]
    assert [name.rpartition(" ")[2] for name in names] == ["(left)", "(right)"]  # the same statistic once


def test_studies_keep_to_the_limit_on_people_exposed(tellall):
    limits = "limit = 0.9\nexposed_limit = 0"
    Path("people.toml").write_text(PLAN.replace("limit = 0.2", limits), encoding="utf-8")
    common = ("people.toml", "--decoder", "posterior", "-o", "out")
    code, out, err = tellall("sweep", *common, "--scales", "0.1", "--repeats", "1", "--jobs", "1")
    assert code == 0, err
    assert out.partition(": ")[2].startswith("None of these is enough. ")
    assert "people proved\n  fail" in out or "people exposed\n  fail" in out
    document = read(SweepFound, Path("out/sweep.json").read_text(encoding="utf-8"), what="sweep")
    assert document.exposed_limit == 0
    assert max(row.learnt for row in document.releases[0].rows) > 0
    assert "--decoder posterior" in document.command
    page = Path("out/sweep.html").read_text(encoding="utf-8")
    assert "Nothing needs to be done" not in page
    assert "--decoder posterior" in page
    code, out, err = tellall("calibrate", *common, "--draws", "1")
    assert code == 0, err
    assert " is enough. With it " in " ".join(out.split())
    assert "\n  pass  " in out
    (found,) = json.loads(Path("out/calibrate.json").read_text(encoding="utf-8"))["releases"]
    assert found["scale"] > 0  # the advantage alone would need no noise
    assert found["learnt"] == 0
    page = Path("out/calibrate.html").read_text(encoding="utf-8")
    assert "Nothing needs to be done" not in page
    assert "where the plan allows 0" in page
    assert "--decoder posterior" in page


def test_no_answer_for_one_of_several_is_inconclusive(tellall):
    Path("people.toml").write_text(PLAN + MORE, encoding="utf-8")
    code, out, err = tellall(
        "calibrate", "people.toml", "--draws", "2", "--max-advantage", "0.0001", "--json", *QUICK
    )
    assert code == 3
    assert json.loads(out)["skipped"]
    assert "people can resolve" in " ".join(err.split())


def test_studies_of_areas_keep_to_the_schemas(tellall):
    Path("people.toml").write_text(PLAN.replace("limit = 0.2", 'limit = 0.2\nby = "a"'), encoding="utf-8")
    common = ("--jobs", "1", "--json", *QUICK)
    code, out, err = tellall("sweep", "people.toml", "--scales", "4", "--repeats", "1", *common)
    assert code == 0, err
    (release,) = read(SweepFound, out, what="sweep").releases
    assert release.by == "a"
    assert len(release.areas) == 2
    assert release.secret == "ill"
    code, out, err = tellall("calibrate", "people.toml", "--max-advantage", "0.45", "--draws", "2", *common)
    assert code == 0, err
    document = read(CalibrationFound, out, what="calibration")
    assert document.by == document.releases[0].by == "a"


def test_an_area_without_an_answer_of_its_own_is_told_and_changes_no_exit_code(tellall):
    lines = Path("people.csv").read_text(encoding="utf-8").splitlines()
    counties = ["county", *["large"] * 58, *["tiny"] * 2]
    text = "\n".join(f"{county},{line}" for county, line in zip(counties, lines, strict=True))
    Path("people.csv").write_text(f"{text}\n", encoding="utf-8")
    plan = PLAN.replace("limit = 0.2", 'limit = 0.9\nby = "county"')
    Path("people.toml").write_text(plan, encoding="utf-8")
    code, out, err = tellall("calibrate", "people.toml", "--draws", "1", "--jobs", "1", *QUICK)
    assert code == 0, err
    assert "no answer of their own" in out


REGRESSIONS = """
data = "counties.csv"
secret = "rate"
[[releases]]
statistic = { kind = "Estimator", loss = "linear", intercept = true }
"""


def test_regressions_of_a_real_secret_are_swept_and_calibrated(tellall):
    rng = np.random.default_rng(3)
    columns = rng.normal(size=(60, 4))
    secret = columns @ rng.normal(size=4) + rng.normal(180, 3, 60)
    lines = [",".join(f"{value:.6f}" for value in (*row, y)) for row, y in zip(columns, secret, strict=True)]
    Path("counties.csv").write_text("\n".join(["a,b,c,d,rate", *lines]) + "\n", encoding="utf-8")
    Path("counties.toml").write_text(REGRESSIONS, encoding="utf-8")
    code, out, err = tellall(
        "sweep", "counties.toml", "--scales", "0.1,1", "--repeats", "2", "--jobs", "1", "-o", "out"
    )
    assert (code, "off by" in out) == (0, True), err
    document = json.loads(Path("out/sweep.json").read_text(encoding="utf-8"))
    assert read(SweepFound, document, what="sweep")
    assert document["releases"][0]["real"] is True
    assert document["releases"][0]["secret"] == "rate"
    assert "unit of rate" in Path("out/sweep.html").read_text(encoding="utf-8")
    code, out, err = tellall(
        "calibrate", "counties.toml", "--max-advantage", "2", "--draws", "3", "--json", "-o", "out"
    )
    assert code == 0, err
    assert read(CalibrationFound, out, what="calibration")
    assert "unit of rate" in Path("out/calibrate.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("sweep", "people.toml", "--scales", "1,x"), "--scales must be numbers"),
        (("sweep", "people.toml", "--scales", "-1"), "scales must be"),
        (("sweep", "people.toml", "--scales", ","), "scales must be"),
        (("sweep", "people.toml", "--family", "Gausian", "--scales", "1"), "Did you mean 'Gaussian'?"),
        (("sweep", "people.toml", "--decoder", "oracle"), "decoders must be among"),
        (("sweep", "people.toml", "-o", "no/where"), "--out must be"),
        (("calibrate", "people.toml", "--max-advantage", "0"), "max_advantage must be"),
        (("calibrate", "people.toml", "--family", "Noise"), "family must be one of"),
        (("calibrate", "nowhere.toml"), "plan must be a file that exists"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(tellall, arguments, says):
    code, out, err = tellall(*arguments, "--quiet")
    assert (code, out) == (2, "")
    assert says in err
    assert "Traceback" not in err
    assert len(err.splitlines()) == 1


def test_too_few_people_to_tell_is_inconclusive(tellall):
    arguments = ("calibrate", "people.toml", "--max-advantage", "0.0001", "--draws", "2", *QUICK, "--quiet")
    code, out, err = tellall(*arguments)
    assert (code, out) == (3, "")
    assert "people can resolve" in " ".join(err.split())
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize("plan", [PLAN, PLAN + MORE], ids=["one release", "several"])
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--max-advantage", "2"), "max_advantage must be a share"),
        (("--decoder", "oracle"), "decoders must be among"),
    ],
)
def test_bad_input_is_exit_code_2_however_many_releases(tellall, plan, arguments, says):
    Path("people.toml").write_text(plan, encoding="utf-8")
    code, out, err = tellall("calibrate", "people.toml", *arguments, "--quiet")
    assert (code, out) == (2, "")
    assert says in err
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize("plan", [PLAN, PLAN + MORE], ids=["one release", "several"])
@pytest.mark.parametrize("error", [NoAnswer, TooLittlePower, SolverFailed])
def test_no_answer_is_exit_code_3_however_many_releases(tellall, monkeypatch, plan, error):
    def none(*arguments, **more):
        raise error("no scale keeps the limit")

    monkeypatch.setattr("tellall.audits.studies.calibrate", none)
    Path("people.toml").write_text(plan, encoding="utf-8")
    code, _, err = tellall("calibrate", "people.toml")
    assert code == 3
    assert "no scale keeps the limit" in err


def test_both_have_the_common_options(tellall):
    for command in ("sweep", "calibrate"):
        code, out, _ = tellall(command, "--help")
        assert code == 0
        for option in ("--json", "--seed", "--quiet", "--out", "--family"):
            assert option in out
