"""From an ACRO folder to a verdict, on the command line."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import shutil
import sys
import tomllib
from pathlib import Path

import pandas as pd
import pytest

import tellall as ta
from tellall.audits.attacks import jobs_alone, jobs_together
from tellall.audits.document import read_audit
from tellall.audits.plans.plan import Plan
from tellall.audits.trial import Setting, Trial
from tellall.core.curator_key import CuratorKey
from tellall.outputs.output_folder import Output

MADE = Path(__file__).parents[1] / "outputs" / "acro"
OUTPUTS, PEOPLE = str(MADE / "outputs"), str(MADE / "people.csv")


@pytest.fixture(scope="module")
def audited(tmp_path_factory):
    """Four of the outputs, audited: the exit code and the folder."""
    from tellall import cli

    home = tmp_path_factory.mktemp("acro")
    shutil.copytree(OUTPUTS, home / "outputs")
    record = json.loads((home / "outputs" / "results.json").read_text())
    few = ("output_0", "output_3", "output_4", "output_6", "2ndary_risk_summary_csv-DONT_RELEASE")
    record["results"] = {name: record["results"][name] for name in few}
    (home / "outputs" / "results.json").write_text(json.dumps(record))
    command = [
        "tellall",
        "audit",
        "--acro",
        str(home / "outputs"),
        "--data",
        PEOPLE,
        "--quiet",
        "--jobs",
        "1",
    ]
    (home / "policy.toml").write_text('name = "Site 7"\nlimit = 0.04\n')
    command += ["--policy", str(home / "policy.toml"), "--decision", "--key", str(home / "curator.key")]
    CuratorKey.create(home / "curator.key")
    command += ["--markdown", str(home / "summary.md"), "--junit", str(home / "junit.xml")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", [*command, "-o", str(home / "found")])
        with pytest.raises(SystemExit) as end:
            cli.main()
    return end.value.code, home / "found"


def test_every_output_has_a_verdict(audited):
    code, folder = audited
    assert code == 3
    document = read_audit((folder / "audit.json").read_text())
    rows = {row.name: row for row in document.findings}
    assert rows["output_4"].outcome == "found"
    assert rows["output_3 (mean)"].reason == "not checked: a table of means, not of counts"
    assert "output_6" not in rows  # means of another column
    assert rows["all releases together"].role == "together"
    assert not any("DONT_RELEASE" in name for name in rows)
    assert [column.name for column in document.data.columns] == ["region", "job"]
    assert "tellall audit outputs --data people.csv" in document.command


def test_the_record_is_one_of_acro(audited):
    _, folder = audited
    record = json.loads((folder / "results.json").read_text())
    theirs = json.loads((MADE / "outputs" / "results.json").read_text())
    assert record["version"] == theirs["version"]
    ours = record["results"]
    assert set(ours["output_4"]) == set(theirs["results"]["output_1"])
    assert {one["status"] for one in ours.values()} <= {"pass", "review", "fail"}
    assert ours["output_3 (mean)"]["status"] == "review"
    assert ours["all_outputs_together"]["status"] == "review"
    for one in ours.values():
        for file in one["files"]:
            text = (folder / file["name"]).read_bytes()
            said = (folder / "checksums" / f"{file['name']}.txt").read_text()
            assert said == hashlib.sha256(text).hexdigest()


def test_the_policy_and_what_pipelines_read(audited):
    _, folder = audited
    document = json.loads((folder / "audit.json").read_text())
    assert document["limit"] == 0.04
    assert "--policy policy.toml" in document["command"]
    assert "| output\\_4 |" in (folder.parent / "summary.md").read_text()
    assert '<testcase classname="tellall.audit" name="output_4"' in (folder.parent / "junit.xml").read_text()
    record = tomllib.loads((folder / "decision.toml").read_text())
    assert record["policy"]["name"] == "Site 7"
    assert record["sha256"] == {}  # outputs hold exact counts, and are not published yet
    assert document["record"]["sha256"].keys() == {"policy.toml"}


def test_the_check_of_the_people_and_the_key_are_in_the_record_alone(audited):
    home = audited[1].parent
    key = CuratorKey.read(home / "curator.key")
    check = tomllib.loads((home / "found" / "decision.toml").read_text())["people_file"]
    assert key.agrees(Path(PEOPLE), check)
    assert not key.agrees(Path(__file__), check)
    files = tomllib.loads((home / "found" / "decision.toml").read_text())["files"]
    assert set(files) == {"found/audit.json", *(f"outputs/output_{k}_0.csv" for k in (0, 3, 4))}
    assert all(key.agrees(home / name, one) for name, one in files.items())
    written = [path for path in home.rglob("*") if path.is_file()]
    assert {path.name for path in written} >= {"report.html", "audit.json", "summary.md", "results.json"}
    for path in written:
        text = path.read_text()
        assert (key.secret.hex() in text) == (path.name == "curator.key")
        assert any(value in text for value in check.values()) == (path.name == "decision.toml"), path


@pytest.mark.skipif(importlib.util.find_spec("acro") is None, reason="needs tellall[acro]: pandas below 3")
def test_acro_reads_the_record(audited):
    from acro.record import load_records

    found = load_records(str(audited[1]))
    assert found.get("output_4").status in ("pass", "review", "fail")


def test_what_is_missing_is_said(tellall):
    for arguments, words in (
        ((), "WHAT must be given"),
        (("--acro", OUTPUTS), "--data"),
        (("--acro", OUTPUTS, "--data", PEOPLE, "--secret", "bmi2"), "bmi2"),
        (("--acro", "nowhere", "--data", PEOPLE), "nowhere"),
        (("plan.toml", "--secret", "ill"), "--secret"),
    ):
        code, _, err = tellall("audit", *arguments)
        assert code == 2
        assert words in err


def test_outputs_beside_a_plan(tellall, tmp_path):
    (tmp_path / "people.csv").write_text(Path(PEOPLE).read_text())
    (tmp_path / "plan.toml").write_text(
        'data = "people.csv"\nsecret = "ill"\npublic = ["sex", "region", "job", "age", "bmi"]\n'
        'steps = false\n[[releases]]\nname = "more"\nstatistic = { kind = "Marginals", ways = 2 }\n'
    )
    people = ta.read_people(ta.read_plan(tmp_path / "plan.toml"))
    plan = ta.read_plan(tmp_path / "plan.toml").with_outputs(ta.read_acro(OUTPUTS, people))
    assert [job.name for job in jobs_alone(plan)][:2] == ["more", "output_0"]
    assert jobs_together(plan, range(3))[-1].name == "more + output_0 + output_1"
    assert plan.as_json()["releases"][6]["where"] == "age < 40"


def test_published_outputs_are_attacked_as_they_are():
    people = ta.read(PEOPLE, secret="ill", public=["sex", "region"])
    exact = ta.publish(people, ta.Marginals(2))
    moved = ta.Release.from_values(exact.statistic, exact.values[::-1], public=people.public)
    folder = ta.OutputFolder((Output("a", exact), Output("b", moved)), (), "ill", ("no", "yes"))
    plan = Plan.of_outputs(folder)
    assert [job.name for job in jobs_alone(plan)] == ["a", "b"]
    assert [job.name for job in jobs_together(plan, (0, 1))] == ["all releases together"]
    trials = [Trial(Setting(people), (one,), 3) for one in plan.releases]
    for trial, release in zip(trials, (exact, moved), strict=True):
        assert [drawn[0] for drawn in trial.published] == [release]
    entries = plan.as_json()["releases"]
    assert entries[0]["published"] != entries[1]["published"]


def test_a_folder_of_tables_is_described_and_attacked(tellall, tmp_path):
    frame = pd.read_csv(PEOPLE)
    (tmp_path / "tables").mkdir()
    pd.crosstab(frame.region, frame.ill).to_csv(tmp_path / "tables" / "region.csv")
    code, _, err = tellall("init", "tables", "--secret", "ill")
    assert code == 0
    assert "Wrote tables/tables.toml: 1 table." in err
    assert tellall("init", "tables")[0] == 2
    code, out, _ = tellall("attack", "tables", "--public", PEOPLE, "--secret", "ill", "--json", "--quiet")
    assert code in (0, 3)
    assert json.loads(out)["releases"][0]["file"] == "region.csv"


def test_the_reason_why_no_output_can_be_read_is_whole(tellall, tmp_path):
    pd.DataFrame({"ward": list("aab"), "age": [20, 30, 40]}).to_csv(tmp_path / "known.csv", index=False)
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "rounded.csv").write_text("ward,no,yes\na,5,0\nb,0,0\n")
    assert tellall("init", "tables", "--secret", "ill")[0] == 0
    code, _, err = tellall("attack", "tables", "--public", "known.csv")
    said = " ".join(err.split())
    assert code == 2
    assert "rounded.csv: frame must be a table of these people; got 5 of the 2 with ward a." in said
    assert "Was it rounded? Say so with protect." in said
    assert "…" not in said
