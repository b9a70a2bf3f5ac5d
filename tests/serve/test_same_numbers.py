"""Every number of the served pages is a number of the command line's document, for every kind of secret."""

import csv
import io
import json
import sys
import tomllib
from shutil import copyfile, copytree
from typing import Any

import numpy as np
import pytest

import tellall as ta
from tellall import cli
from tellall.audits.answers import strongest_rows
from tellall.audits.measures.disclosure import told_by_area
from tellall.audits.plans.places import places_of
from tellall.audits.studies import SweepFound
from tellall.core.amounts import percent, with_interval
from tellall.core.checkpoint import Checkpoint
from tellall.core.records import read
from tellall.core.version import __version__
from tellall.release import catalogue
from tellall.serve import edits
from tellall.serve import points as slider
from tellall.serve.cases import Home
from tests.report.tokens import KINDS, known_tokens, people_of, releases_of, shown_text, unexplained
from tests.serve.client import Client
from tests.serve.people import planned

# what is not about the document: the plan's numbers in its form, its text, and which step one is at
ABOUT_PLAN = ("works", "plan", "record")


def written(kind: str) -> bytes:
    frame = people_of(kind)
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(frame)
    writer.writerows(zip(*frame.values(), strict=True))
    return text.getvalue().encode()


def command(monkeypatch, capsys, name: str, *options: str) -> str:
    """What a command prints about plan.toml."""
    monkeypatch.setattr(sys, "argv", ["tellall", name, "plan.toml", "--quiet", "--jobs", "1", *options])
    with pytest.raises(SystemExit):
        cli.main()
    return capsys.readouterr().out


@pytest.fixture
def here(audited, tmp_path, monkeypatch):
    """A folder with the plan and the people of the audited case, as one who uses the command line has it."""
    case = audited.case()
    (tmp_path / case.name).write_bytes(case.data.read_bytes())
    (tmp_path / "plan.toml").write_text(audited.get(f"{audited.here}/export/plan.toml").text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("kind", KINDS)
def test_the_command_lines_document_explains_every_number_that_is_served(kind, tmp_path, monkeypatch, capsys):
    client = Client(Home.at(tmp_path / "home"))
    client.open("clinic.csv", written(kind))
    client.post(f"{client.here}/columns", {"secret": 3, "public": [0, 1, 2]})
    case = client.case()
    case.write_plan(edits.with_entries(case.plan_text, releases_of(kind)))
    (tmp_path / "clinic.csv").write_bytes(written(kind))
    (tmp_path / "plan.toml").write_text(case.plan_text)
    monkeypatch.chdir(tmp_path)
    command(monkeypatch, capsys, "audit", "--no-remedy")
    (tmp_path / "plan-audit").rename(case.folder / "audit")
    case.write("done.json", {"version": case.version, "tellall": __version__, "when": ""})
    document = json.loads(case.audit_text)
    known = known_tokens(document)
    text = shown_text(client.get(f"{client.here}/verdict").text, ABOUT_PLAN)
    assert document["verdict"]["sentence"].replace("\N{NO-BREAK SPACE}", " ") in text
    assert len(text) > 3000
    assert unexplained(text, known) == []


COUNTED = ("advantage", "low", "high", "exposed", "learnt", "loss", "draws", "verdict", "decided")


def test_every_place_of_the_slider_is_a_row_of_a_sweep(audited, here):
    """And what the page shows of it is that row, in the table and beside the slider."""
    plan = ta.read_plan(here / "plan.toml")
    (release,) = audited.case().read("fix.json")["releases"]
    tried = [[catalogue.build("protection", one) for one in point["protect"]] for point in release["points"]]
    same: dict[str, Any] = {"repeats": plan.repeats, "rng": plan.seed, "stream": plan.releases[0].stream}
    swept = ta.sweep(ta.read_people(plan), plan.releases[0].statistic, tried, **same)
    rows = {row.protection: row for row in strongest_rows(swept.rows)}
    assert len(rows) == len(release["points"]) == 4
    page = shown_text(audited.get(f"{audited.here}/fix").text)
    for place, point in enumerate(release["points"]):
        row = rows[point["label"]]
        assert {name: point[name] for name in COUNTED} == {name: getattr(row, name) for name in COUNTED}
        assert point["withheld"] == row.missing
        said = with_interval(row.advantage, (row.low, row.high)), percent(row.missing)
        beside = audited.get(f"{audited.here}/point?release=0&at={place}").text
        for shown in (page, shown_text(beside)):
            assert point["words"] in shown
        assert said[0].replace("\N{NO-BREAK SPACE}", " ") in page
        assert said[1].replace("\N{NO-BREAK SPACE}", " ") in shown_text(beside)
        assert f"people given away {row.learnt:,.0f}" in " ".join(shown_text(beside).split())


def test_the_command_line_sweeps_to_the_same_points(audited, here, monkeypatch, capsys):
    told = json.loads(command(monkeypatch, capsys, "sweep", "--json", "--scales", "2", "--repeats", "1"))
    rows = strongest_rows(read(SweepFound, told, what="sweep").releases[0].rows)
    points = {one["label"]: one for one in audited.case().read("fix.json")["releases"][0]["points"]}
    assert len(rows) == 3  # nothing done, as planned, noise
    for row in rows:
        point = points[row.protection]
        assert {name: point[name] for name in COUNTED} == {name: getattr(row, name) for name in COUNTED}


def test_what_decide_shows_and_gives_away_is_what_the_command_line_writes(
    audited, client, here, monkeypatch, capsys
):
    command(monkeypatch, capsys, "audit", "--decision", "--no-remedy")
    typed = json.loads((here / "plan-audit" / "audit.json").read_text())
    served = audited.get(f"{audited.here}/export/audit.json").json()
    later = ("remedy", "culprits")  # which the command was told not to look for
    assert {**served, **{name: typed[name] for name in later}} == typed
    known = known_tokens({**typed, **{name: served[name] for name in later}})
    for path in ("decide", "export/report.html"):
        text = shown_text(audited.get(f"{audited.here}/{path}").text)
        assert unexplained(text, known) == []
        assert typed["verdict"]["sentence"].replace("\N{NO-BREAK SPACE}", " ") in text
    copied(audited, client)
    client.post(f"{client.here}/decide", {"decision": "reject", "by": "Ada"})
    record = tomllib.loads(client.get(f"{client.here}/export/decision.toml").text)
    written = tomllib.loads((here / "plan-audit" / "decision.toml").read_text())
    for one in (record, written):  # when and by whom
        del one["date"], one["decision"]
    assert record == written


def copied(audited: Client, client: Client) -> None:
    """Another case with the same people, plan and audit, to be decided about."""
    planned(client)
    for name in ("audit", "done.json"):
        there, here = audited.case().folder / name, client.case().folder / name
        copytree(there, here) if there.is_dir() else copyfile(there, here)


def test_the_planned_place_of_the_slider_is_the_audits_finding(audited):
    (release,) = audited.case().read("fix.json")["releases"]
    point, (finding,) = release["points"][release["planned"]], audited.case().audit.findings
    assert point["advantage"] == finding.summary.advantage
    assert (point["low"], point["high"]) == finding.summary.interval
    assert point["verdict"] == finding.verdict.word


@pytest.mark.parametrize(("by", "known"), [(None, 1.0), ("town", 1.0), ("town", 0.7)])
def test_the_slider_searches_for_proofs_as_a_sweep_does_in_every_area(by, known, tmp_path, monkeypatch):
    rng = np.random.default_rng(2)
    frame = {f"x{j}": rng.integers(0, 3, 40) for j in range(3)}
    frame["ill"] = np.where(rng.random(40) < 0.4, "yes", "no")
    frame |= {} if by is None else {by: np.arange(40) % 2}
    people = ta.Dataset.from_frame(frame, secret="ill")
    entry = {"statistic": {"kind": "Marginals", "ways": 3}, "protect": {"kind": "Rounding", "base": 3}}
    areas = {} if by is None else {"by": by}
    plan = ta.Plan.from_mapping({"releases": [entry], "known_people": known, **areas})
    monkeypatch.setattr(slider, "_HIDE_AND_ROUND", ())
    monkeypatch.setattr(slider, "suggest_scales", lambda *_: [])
    with Checkpoint.in_folder(tmp_path) as kept:
        made = slider.measure(places_of(people, plan), plan, plan.limits(people), kept)
    points = {one["label"]: one for one in made["releases"][0]["points"]}
    of_all: dict[str, Any] = {"repeats": 1, "rng": plan.seed, "attacker": plan.attacker}
    tried = [None, ta.Rounding(3)]
    if by is None:
        rows = strongest_rows(ta.sweep(people, ta.Marginals(3), tried, **of_all).rows)
        names: tuple[str, ...] = COUNTED
        assert any(row.exposed for row in rows)
    else:
        swept = ta.sweep_areas(people, ta.Marginals(3), tried, by=by, **of_all)
        rows = strongest_rows(swept.rows)
        names = COUNTED[:-2]  # the verdict is also about each area
        for area in swept.areas:
            for row in strongest_rows(area.sweep.rows):
                (shown,) = (one for one in points[row.protection]["areas"] if one["name"] == area.name)
                assert all(shown[name] == getattr(row, name) for name in ("advantage", "low", "high", "loss"))
        for place, row in enumerate(rows):
            each = [strongest_rows(area.sweep.rows)[place] for area in swept.areas]
            areas_of_point = {one["name"]: one for one in points[row.protection]["areas"]}
            for name in ("exposed", "learnt"):
                told = told_by_area(
                    [area.people for area in swept.areas], [getattr(one, name) for one in each]
                )
                assert [areas_of_point[area.name][name] for area in swept.areas] == told
    assert len(rows) == len(points) == 2
    for row in rows:
        assert {name: points[row.protection][name] for name in names} == {
            name: getattr(row, name) for name in names
        }
