"""tellall audit on outputs: recognised, said, judged, and a plan of them saved."""

import csv
import json
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tellall.core.records import read
from tellall.outputs.recognised import OutputsFound

N = 600


def write_people(path: Path, seed: int = 3) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "region": rng.choice(["North", "East", "South", "West"], N),
            "sex": rng.choice(["f", "m"], N),
            "age": rng.integers(18, 90, N),
            "pay": rng.lognormal(10, 0.5, N).round(2),
            "ill": np.where(rng.random(N) < 0.3, "yes", "no"),
        }
    )
    frame.to_csv(path, index=False)
    return frame


@pytest.fixture
def outputs(tmp_path):
    """People, and a folder of three tables: one about the secret, one about pay, one of other people."""
    people = write_people(tmp_path / "people.csv")
    folder = tmp_path / "outputs"
    folder.mkdir()
    pd.crosstab([people.region, people.sex], people.ill, margins=True).to_excel(folder / "illness.xlsx")
    people.groupby("sex").pay.agg(["mean", "count"]).round(2).to_csv(folder / "pay.csv")
    return folder


def test_a_folder_of_outputs_has_a_verdict_without_a_plan(tellall, outputs):
    code, out, err = tellall("audit", "outputs", "--data", "people.csv", "--secret", "ill", "--json")
    assert code == 0, err
    document = json.loads(out)
    assert document["verdict"]["word"] == "pass"
    ill, pay = document["outputs"]
    assert ill["source"]["file"] == "illness.xlsx"
    assert ill["sentence"] == "counts of ill by region and sex"
    assert (ill["read"], ill["about_secret"], ill["agrees"][0]) == (True, True, ill["agrees"][1])
    assert (pay["read"], pay["about_secret"]) == (False, False)
    assert [row["name"] for row in document["findings"]] == ["illness.xlsx, sheet Sheet1, A1:E10"]
    assert [column["name"] for column in document["data"]["columns"]] == ["region", "sex"]
    assert "An outsider is taken not to know age, pay." in document["verdict"]["sentence"]
    page = Path("outputs-audit/report.html").read_text(encoding="utf-8")
    assert "counts of ill by region and sex" in page
    assert "it says nothing about the secret" in page


def test_what_gives_people_away_fails_and_the_plan_that_is_saved_gives_the_same(tellall, outputs):
    people = pd.read_csv("people.csv")
    small = pd.crosstab([people.age, people.region, people.sex], people.ill)
    small.to_csv(outputs / "everybody.csv")
    command = ["audit", "outputs", "--data", "people.csv", "--secret", "ill", "--json"]
    code, out, _ = tellall(*command, "--save-plan", "saved.toml")
    assert code == 1
    first = json.loads(out)
    assert "everybody.csv" in first["remedy"]["sentence"]
    assert tellall("audit", "saved.toml", "--json", "--no-remedy")[0] == 1
    again = json.loads(tellall("audit", "saved.toml", "--json", "--no-remedy", "-o", "again")[1])
    assert again["overall"] == first["overall"]
    refused = tellall(*command, "--save-plan", "saved.toml")
    assert refused[0] == 2
    assert "--save-plan must be a new file" in refused[2]


def test_outputs_that_say_nothing_about_the_secret_pass_and_say_so(tellall, outputs):
    code, _, err = tellall("audit", "outputs/pay.csv", "--data", "people.csv", "--secret", "ill")
    assert code == 0
    assert "None of the outputs says anything about ill." in err
    assert "advantage" not in err  # nothing was attacked: no table of it
    assert Path("pay-audit/report.html").is_file()


def test_a_table_of_other_people_is_not_checked_and_for_review(tellall, outputs):
    other = write_people(Path("other.csv"), seed=8)
    pd.crosstab(other.region, other.ill).to_csv(outputs / "other.csv")
    code, _, err = tellall("audit", "outputs", "--data", "people.csv", "--secret", "ill")
    assert code == 3
    assert "? other.csv, lines 1 to 5: not checked: " in err


def test_what_is_published_already_is_judged_too(tellall, outputs):
    people = pd.read_csv("people.csv")
    pd.crosstab(people.region, people.ill).to_csv("earlier.csv")
    given = ["--data", "people.csv", "--secret", "ill", "--json", "--published", "earlier.csv"]
    document = json.loads(tellall("audit", "outputs", *given)[1])
    assert [row["role"] for row in document["findings"]] == ["alone", "alone", "together"]
    assert "earlier.csv (published), lines 1 to 5" in [row["name"] for row in document["findings"]]


def test_outputs_that_share_a_column_are_attacked_two_by_two_too(tellall, outputs):
    people = pd.read_csv("people.csv")
    pd.crosstab(people.region, people.ill).to_csv(outputs / "regions.csv")
    bands = pd.cut(people.age, [0, 39, 64, 120], labels=["<40", "40-64", "65+"])
    pd.crosstab(bands.rename("age"), people.ill).to_csv(outputs / "ages.csv")
    document = json.loads(tellall("audit", "outputs", "--data", "people.csv", "--secret", "ill", "--json")[1])
    sets = [row["name"] for row in document["findings"] if row["role"] in ("set", "together")]
    together = "illness.xlsx, sheet Sheet1, A1:E10 + regions.csv, lines 1 to 5"
    assert sets == [together, "all releases together"]  # ages have no column in common with the others


def test_who_knows_what_can_be_said(tellall, outputs):
    given = ["--data", "people.csv", "--secret", "ill", "--json"]
    document = json.loads(tellall("audit", "outputs", *given, "--public", "sex, age")[1])
    assert {column["name"] for column in document["data"]["columns"]} == {"region", "sex", "age"}
    assert document["plan"]["attackers"][0]["known"] == ["sex", "age"]


def test_each_of_several_secrets_has_an_audit(tellall, outputs):
    code, out, _ = tellall(
        "audit", "outputs", "--data", "people.csv", "--secret", "ill", "--secret", "sex", "--json"
    )
    assert code in (0, 1, 3)
    assert {path.name for path in Path("outputs-audit").iterdir()} >= {"1 ill", "2 sex"}
    assert [one["data"]["secret"] for one in json.loads(out)["audits"]] == ["ill", "sex"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--data", "people.csv"], "--secret must be given"),
        (["--secret", "ill"], "--data must be the file of people"),
        (["--data", "people.csv", "--secret", "il"], "Did you mean 'ill'?"),
        (["--data", "people.csv", "--secret", "ill", "--confirm", "x"], "--confirm must be OUTPUT=NUMBER"),
        (
            ["--data", "people.csv", "--secret", "ill", "--protect", "much"],
            "--protect must be written as in a plan",
        ),
        (["--data", "people.csv", "--secret", "ill", "--public", "agee"], "agee"),
    ],
)
def test_what_is_missing_or_wrong_is_named(tellall, outputs, words, said):
    code, _, err = tellall("audit", "outputs", *words)
    assert code == 2
    assert said in err


def test_options_about_outputs_do_not_go_with_a_plan(tellall, outputs):
    assert tellall("init", "people.csv", "--secret", "ill", "-q")[0] == 0
    code, _, err = tellall("audit", "people.toml", "--public", "age")
    assert code == 2
    assert "--public must be left out with a plan" in err


def test_nothing_that_was_printed_acts_on_a_page(tellall, outputs):
    with open(outputs / "<b>bold.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["<script>alert(1)</script>", "no"], ["x", 3], ["y", 4]])
    tellall("audit", "outputs", "--data", "people.csv", "--secret", "ill")
    page = Path("outputs-audit/report.html").read_text(encoding="utf-8")
    assert "<script>alert" not in page
    assert "<b>bold" not in page


def test_a_plan_that_is_saved_keeps_means_percentages_and_what_was_not_attacked(tellall, outputs):
    people = pd.read_csv("people.csv")
    people.groupby("region").pay.agg(["mean", "sum"]).round(2).to_csv(outputs / "regions.csv")
    command = ["audit", "outputs", "--data", "people.csv", "--no-remedy", "--json", "--secret"]
    for secret, make in (
        ("pay", people.groupby("sex").pay.median),
        ("ill", lambda: (100 * pd.crosstab(people.age // 30, people.ill, normalize="index")).round(1)),
    ):
        make().to_csv(outputs / "more.csv")
        pd.crosstab(people.region, people.ill, normalize="index").round(3).to_csv(outputs / "shares.csv")
        code, out, _ = tellall(*command, secret, "--save-plan", f"{secret}.toml", "-o", secret)
        first = json.loads(out)
        assert code == 3  # the medians of pay; bands of age that no column has
        again = json.loads(tellall("audit", f"{secret}.toml", "--json", "--no-remedy", "-o", f"{secret}2")[1])
        assert again["verdict"]["word"] == "review"
        assert again["overall"] == first["overall"]
        open_before = {
            row["name"] for row in first["findings"] if row["verdict"]["decided"] == "not attacked"
        }
        open_again = {row["name"] for row in again["findings"] if row["verdict"]["decided"] == "not attacked"}
        assert open_again == open_before


def test_plans_of_several_secrets_are_several_files_and_none_is_overwritten(tellall, outputs):
    command = ["audit", "outputs", "--data", "people.csv", "--no-remedy", "--save-plan", "saved.toml"]
    secrets = ["--secret", "ill", "--secret", "sex", "--secret", "ill"]
    assert tellall(*command, *secrets)[0] in (0, 1, 3)
    assert {path.name for path in Path().glob("saved*.toml")} == {"saved-ill.toml", "saved-sex.toml"}
    Path("saved-ill.toml").unlink()
    code, _, err = tellall(*command, *secrets)
    assert code == 2
    assert "--save-plan must be a new file" in err
    assert "recognised" not in err  # refused before anything is read


def test_the_page_has_the_whole_command_that_makes_it_again(tellall, outputs):
    given = [
        "--public",
        "sex,region",
        "--published",
        "earlier.csv",
        "--protect",
        '{ kind = "Gaussian", std = 2 }',
    ]
    people = pd.read_csv("people.csv")
    pd.crosstab(people.region, people.ill).to_csv("earlier.csv")
    _, out, err = tellall("audit", "outputs", "--data", "people.csv", "--secret", "ill", "--json", *given)
    assert shlex.split(json.loads(out)["command"])[7:13] == given, err


def test_what_is_confirmed_must_be_an_output(tellall, outputs):
    code, _, err = tellall(
        "audit", "outputs", "--data", "people.csv", "--secret", "ill", "--confirm", "ill.csv=1"
    )
    assert code == 2
    assert "pay.csv, lines 1 to 3" in err


def test_columns_with_gaps_do_not_hinder_and_texts_without_numbers_take_no_part(tellall, outputs):
    people = pd.read_csv("people.csv")
    people.loc[::7, "age"] = np.nan
    people.loc[::5, "region"] = None
    people.to_csv("people.csv", index=False)
    (outputs / "illness.xlsx").unlink()
    pd.crosstab(people.region, people.ill).to_csv(outputs / "regions.csv")
    people.groupby("ill").age.mean().round(3).to_csv(outputs / "ages.csv")
    (outputs / "notes.txt").write_text("Please look at the table of regions first.\n", encoding="utf-8")
    code, _, err = tellall("audit", "outputs", "--data", "people.csv", "--secret", "ill", "--no-remedy")
    assert "+ regions.csv, lines 1 to 5: counts of ill by region" in err
    assert (
        "? ages.csv, lines 1 to 3: not checked: means of another column by the secret are recognised" in err
    )
    assert "- notes.txt: a text without a number" in err
    assert "Not attacked: ages.csv, lines 1 to 3." in " ".join(err.split())
    assert code == 3


def test_one_region_alone_is_found_by_its_counts_and_the_difference_is_said_once(tellall, outputs):
    people = pd.read_csv("people.csv")
    for number in range(25):  # more columns than are tried as what is averaged
        people[f"lab{number}"] = np.random.default_rng(number).normal(5, 2, N).round(2)
    people.to_csv("people.csv", index=False)
    (outputs / "illness.xlsx").unlink()
    north = people[people.region == "North"]
    north.groupby("sex").pay.agg(["mean", "count"]).round(2).to_html(outputs / "north.html")
    people.groupby("region").pay.mean().round(2).to_csv(outputs / "regions.csv")
    _, _, err = tellall("audit", "outputs", "--data", "people.csv", "--secret", "pay", "--no-remedy")
    assert "+ north.html, table 1: means of pay and counts by sex, for people with region = 'North'" in err
    words = " ".join(err.split())
    gone = f"“north.html, table 1” leaves out {N - len(north)} people whom “pay.csv, lines 1 to 3”,"
    assert gone in words


def test_outputs_are_recognised_without_a_verdict_as_the_audit_recognises_them(tellall, outputs):
    given = ["outputs", "--data", "people.csv", "--secret", "ill"]
    code, out, err = tellall("recognise", *given, "--json", "--out", "found.json")
    assert code == 0, err
    found = read(OutputsFound, out, what="outputs")
    audited = json.loads(tellall("audit", *given, "--json")[1])
    assert json.loads(out)["outputs"] == audited["outputs"]
    assert (found.known, found.assumed_unknown) == (("region", "sex"), ("age", "pay"))
    assert Path("found.json").read_text(encoding="utf-8") == out
    code, out, _ = tellall("recognise", *given)
    assert code == 0
    assert "+ illness.xlsx, sheet Sheet1, A1:E10: counts of ill by region and sex" in out
    assert "An outsider is taken not to know age, pay." in out
    assert tellall("recognise", *given, "--quiet")[1] == ""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["outputs", "--data", "people.csv"], "--secret must be given"),
        (["outputs", "--secret", "ill"], "--data must be the file of people"),
        (["nothing", "--data", "people.csv", "--secret", "ill"], "a folder that exists"),
        (["people.toml", "--data", "people.csv", "--secret", "ill"], "a plan says what it has"),
    ],
)
def test_what_cannot_be_recognised_is_refused(tellall, outputs, words, said):
    code, out, err = tellall("recognise", *words)
    assert (code, out) == (2, "")
    assert said in err
