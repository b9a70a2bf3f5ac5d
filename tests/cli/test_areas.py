"""Plans with `by` on the command line."""

import json
from pathlib import Path

import numpy as np
import pytest

from tellall import AreaCalibration, WorkLost
from tellall.audits import by_area as areas
from tellall.audits.answers import sweep_answer
from tellall.audits.studies import SweepFound
from tellall.core.records import read

PLAN = """
data = "people.csv"
secret = "ill"
by = "county"
limit = 0.3
steps = false
[[releases]]
name = "tables"
statistic = { kind = "Marginals", ways = 2 }
protect = { kind = "Gaussian", std = 2.0 }
"""
QUICK = ("--decoder", "least-squares", "--jobs", "1")


@pytest.fixture
def tellall(tellall):
    rng = np.random.default_rng(1)
    names = ["a"] * 12 + ["<b>b"] * 10 + ["../c"] * 2
    lines = [
        ",".join([*map(str, rng.integers(0, 2, 4)), name, "yes" if place % 2 else "no"])
        for place, name in enumerate(names)
    ]
    Path("people.csv").write_text("\n".join(["p,q,r,s,county,ill", *lines]) + "\n", encoding="utf-8")
    Path("people.toml").write_text(PLAN, encoding="utf-8")

    return tellall


def test_an_audit_shows_the_worst_areas_and_keeps_them(tellall, monkeypatch):
    code, out, err = tellall("audit", "people.toml", "--json", "--jobs", "1", "--no-remedy")
    assert code in (1, 3)
    document = json.loads(out)
    assert document["areas"]["by"] == "county"
    assert [row["name"] for row in document["areas"]["rows"]][-1] == "../c"
    for words in ("area", "<b>b", "all", "not attacked: 1 area with 2 people"):
        assert words in err
    assert len(list(Path("people-audit/.areas").rglob("*.json"))) == 2
    monkeypatch.setattr(areas, "_attack_area", None)  # nothing is left to compute
    assert tellall("audit", "people.toml", "--json", "--jobs", "1", "--no-remedy")[1] == out


def test_an_audit_that_is_stopped_says_so_and_goes_on(tellall, monkeypatch):
    attack = areas._attack_area
    calls = []

    def stopped(payload):
        calls.append(payload[0].n)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return attack(payload)

    monkeypatch.setattr(areas, "_attack_area", stopped)
    code, _, err = tellall("audit", "people.toml", "--jobs", "1", "--no-remedy")
    assert code == 130
    assert "go on from here" in err
    assert tellall("audit", "people.toml", "--jobs", "1", "--quiet", "--no-remedy")[0] in (1, 3)
    assert calls == [12, 10, 10]


def test_who_is_named_is_in_a_file_of_its_own(tellall):
    tellall("audit", "people.toml", "--jobs", "1", "--reveal", "--quiet", "--no-remedy")
    named = json.loads(Path("people-audit/people.SECRET.json").read_text(encoding="utf-8"))["people"]
    assert {one["area"] for rows in named.values() for one in rows} <= {"a", "<b>b"}


def test_a_sweep_of_areas_writes_its_page_and_its_table(tellall):
    code, out, err = tellall(
        "sweep", "people.toml", "--scales", "1,50", "--repeats", "2", "-o", "out", *QUICK
    )
    assert code == 0
    assert "22 people in 3 areas by county, 1 of them not measured" in out
    assert "passes" in out
    assert "The page is out/sweep.html" in err
    assert sorted(path.name for path in Path("out").iterdir()) == [
        ".areas",
        "sweep.csv",
        "sweep.html",
        "sweep.json",
        "sweep.parquet",
    ]
    document = json.loads(Path("out/sweep.json").read_text(encoding="utf-8"))
    (found,) = read(SweepFound, document, what="sweep").releases
    answer = sweep_answer(found, 0.3, 0)
    assert f"{answer.about}: {answer.word}. {answer.sentence}" in " ".join(out.split())
    (release,) = document["releases"]
    assert release["by"] == "county"
    assert {area["name"] for area in release["areas"]} == {"a", "<b>b", "../c"}
    page = Path("out/sweep.html").read_text(encoding="utf-8")
    assert "Area by area: county" in page
    assert "<b>b" not in page


def test_a_calibration_of_areas_gives_one_noise_for_all(tellall):
    code, out, _ = tellall(
        "calibrate", "people.toml", "--draws", "3", "--max-advantage", "0.5", "-o", "out", *QUICK
    )
    assert code == 0
    assert out.startswith("One noise for 2 areas by county")
    document = json.loads(Path("out/calibrate.json").read_text(encoding="utf-8"))
    assert document["by"] == "county"
    assert "The least noise that stops the attacks in every county" in Path("out/calibrate.html").read_text(
        encoding="utf-8"
    )


def test_a_noise_that_is_not_enough_for_all_people_is_inconclusive(tellall, monkeypatch):
    monkeypatch.setattr(AreaCalibration, "enough", False)
    arguments = ("calibrate", "people.toml", "--draws", "3", "--max-advantage", "0.5", "--json", *QUICK)
    code, out, err = tellall(*arguments)
    assert code == 3
    assert "This is not enough: over all 22 people" in err
    assert "This is not enough" in json.loads(out)["releases"][0]["warnings"][1]


def test_a_sweep_and_a_calibration_share_a_folder(tellall):
    swept = ("sweep", "people.toml", "--scales", "9", "--repeats", "1", "-o", "study", "--quiet", *QUICK)
    assert tellall(*swept)[0] == 0
    before = {path: path.read_bytes() for path in Path("study").rglob("*") if path.is_file()}
    limit = ("--draws", "3", "--max-advantage", "0.5")
    assert tellall("calibrate", "people.toml", *limit, "-o", "study", "--quiet", *QUICK)[0] == 0
    assert {path: path.read_bytes() for path in before} == before
    assert sum(path.suffix == ".json" for path in before) == 3  # two areas and the document
    assert {path.name for path in Path("study").iterdir()} >= {"sweep.html", "calibrate.html"}
    assert sorted(path.name for path in Path("study/.areas").iterdir()) == ["calibrate", "sweep"]


def test_a_file_takes_its_kept_areas_beside_it(tellall):
    code, _, _ = tellall("sweep", "people.toml", "--scales", "9", "--repeats", "1", "-o", "one.json", *QUICK)
    assert code == 0
    assert len(list(Path(".one.areas").rglob("*.json"))) == 2


@pytest.mark.parametrize("command", ["audit", "sweep", "calibrate"])
def test_without_dask_one_line_says_what_to_install(tellall, monkeypatch, command):
    monkeypatch.setattr("tellall.core.jobs.find_spec", lambda name: None)
    code, _, err = tellall(command, "people.toml", "--quiet", "--cluster", "tcp://127.0.0.1:8786")
    assert code == 2
    assert err.strip() == (
        "tellall: Work on a cluster needs Dask. Install it with: pip install 'tellall[cluster]'"
    )


@pytest.mark.parametrize("command", ["audit", "sweep", "calibrate"])
def test_an_address_that_is_none_is_one_line(tellall, command):
    code, _, err = tellall(command, "people.toml", "--quiet", "--cluster", "localhost")
    assert code == 2
    assert err.count("\n") == 1
    assert "tcp://host:port" in err


def test_lost_workers_are_one_line_and_no_review(tellall, monkeypatch):
    def lost(*arguments, **options):
        raise WorkLost("A worker process was killed.")

    monkeypatch.setattr(areas, "run", lost)
    code, _, err = tellall("audit", "people.toml", "--quiet")
    assert (code, err) == (70, "tellall: A worker process was killed.\n")


def test_one_calibration_is_not_spread_and_a_release_is_about_one_set_of_people(tellall):
    whole = PLAN.replace('by = "county"\n', "")
    Path("whole.toml").write_text(whole, encoding="utf-8")
    code, _, err = tellall("calibrate", "whole.toml", "--quiet", "--cluster", "tcp://127.0.0.1:8786")
    assert code == 2
    assert "--cluster must be left out" in err
    code, _, err = tellall("publish", "people.toml", "-o", "release.json")
    assert code == 2
    assert "by must be left out" in err


@pytest.mark.parametrize(
    ("by", "words"), [("'cuonty'", "Did you mean 'county'"), ("'ill'", "not the secret"), ("3", "by")]
)
def test_a_wrong_column_is_told_at_its_place(tellall, by, words):
    Path("people.toml").write_text(PLAN.replace('"county"', by), encoding="utf-8")
    code, _, err = tellall("audit", "people.toml", "--quiet")
    assert code == 2
    assert words in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("command", ["audit", "sweep", "calibrate"])
def test_help_has_examples_and_says_where_people_go(tellall, command):
    code, out, _ = tellall(command, "--help")
    assert code == 0
    words = " ".join(out.split())
    assert "--cluster" in words
    assert "sent there" in words
    assert "counties.toml" in words
