import csv
import json
from dataclasses import replace

import numpy as np
import pytest

import tellall as ta
from tellall.audits import by_area as room
from tellall.audits.audit import reveal
from tellall.audits.document import read_audit
from tellall.audits.findings import area_table
from tellall.audits.outcome import Promised, _promised_of_areas
from tellall.audits.verdict import Limits, judge_area
from tellall.linalg.solvers.solution import Status
from tellall.people.areas import split
from tellall.report.areas_page import audit_lines, worst_in_area
from tellall.report.audit_page import render
from tests.report.pages import Tags, refuses_the_world

HOSTILE = ("../../etc/passwd", "<script>alert(1)</script>", "", "x" * 3000, "Łódź\u202e\x1b[31m", None)
PLAN = {
    "by": "county",
    "limit": 0.05,
    "repeats": 2,
    "seed": 7,
    "steps": False,
    "releases": [
        {"name": "counts", "statistic": {"kind": "Marginals", "ways": 3}},
        {
            "name": "noisy",
            "statistic": {"kind": "Marginals", "ways": 2},
            "protect": {"kind": "Gaussian", "std": 2.0},
        },
    ],
}


def people_in(sizes: dict, seed: int = 0, secret=None) -> ta.Dataset:
    rng = np.random.default_rng(seed)
    names = np.array([name for name, size in sizes.items() for _ in range(size)], dtype=object)
    order = rng.permutation(names.size)
    frame = {f"x{j}": rng.integers(0, 2, names.size) for j in range(5)}
    bits = rng.permutation(np.arange(names.size) % 2) if secret is None else secret(names)
    frame |= {"county": names, "ill": bits}
    return ta.Dataset.from_frame({name: column[order] for name, column in frame.items()}, secret="ill")


@pytest.fixture(scope="module")
def people() -> ta.Dataset:
    return people_in({"a": 10, "b": 12, "c": 8, "two": 2, "one": 1})


@pytest.fixture(scope="module")
def done(people) -> ta.Audit:
    return ta.audit(people, PLAN)


def test_an_area_is_what_auditing_it_alone_finds(people, done):
    for area in split(people, "county"):
        mine = next(found for found in done.areas if found.name == area.name)
        if area.n < 4:
            assert mine.reason
            assert mine.findings == ()
            continue
        alone = ta.audit(area.dataset, replace(done.plan, by=None, seed=mine.seed))
        assert [f.outcomes for f in alone.findings] == [f.outcomes for f in mine.findings]


def test_numbers_do_not_depend_on_the_number_of_processes(people, done):
    assert ta.audit(people, PLAN, processes=2).document == done.document


def test_an_areas_numbers_do_not_depend_on_the_other_areas(people, done):
    county = np.array([people.public.columns[-1].labels[code] for code in people.public.codes[-1]])
    assert people.public.columns[-1].name == "county"
    fewer = people.take(np.flatnonzero(np.isin(county, ["c", "b"])))
    again = {area.name: area for area in ta.audit(fewer, PLAN).areas}
    for area in done.areas:
        if area.name in again:
            assert [f.outcomes for f in area.findings] == [f.outcomes for f in again[area.name].findings]


def test_totals_count_every_person_once(done):
    attacked = [area for area in done.areas if area.reason is None]
    every = [(place, whole) for place, finding in enumerate(done.findings) for whole in finding.outcomes]
    for place, whole in every:
        tried = [{one.asked: one for one in area.findings[place].outcomes} for area in attacked]
        parts = [outcomes[whole.asked] for outcomes in tried]
        assert whole.people == sum(part.people for part in parts) == 30
        right = sum(part.accuracy * part.people for part in parts) / 30
        assert whole.accuracy == pytest.approx(right)
        for name in ("named", "named_right", "proved"):
            assert getattr(whole, name) == sum(getattr(part, name) for part in parts)
        assert whole.exposed_people == sum(part.exposed_people for part in parts)
        assert whole.interval[0] <= whole.advantage <= whole.interval[1]
        for name, share in whole.baselines.items():
            assert share == pytest.approx(sum(part.baselines[name] * part.people for part in parts) / 30)


def test_the_worst_areas_come_first_and_those_not_attacked_last(done):
    lows = [area.at_least for area in done.areas if area.worst]
    assert lows == sorted(lows, reverse=True)
    assert [area.name for area in done.areas[-2:]] == ["two", "one"]


def with_numbers(outcome, advantage, low, high):
    return replace(outcome, advantage=advantage, interval=(low, high), hits=None)


def with_intervals(area, *numbers):
    """The area, its findings with other numbers: advantage, low and high."""
    findings = (
        replace(
            finding,
            outcomes=(with_numbers(finding.outcome, advantage, low, high),),
        )
        for finding, (advantage, low, high) in zip(area.findings, numbers, strict=True)
    )
    return replace(area, findings=tuple(findings))


def judged(areas, limit, exposed=0):
    """The areas as a verdict sees them."""
    limits = Limits(limit, exposed)
    return [
        judge_area(a.name, a.people, [(f.name, f.outcome) for f in a.found], limits, 9, a.reason)
        for a in areas
    ]


def test_a_release_that_surely_tells_nothing_does_not_hide_one_that_may_tell_much(done):
    area = with_intervals(done.areas[0], (0.0, -0.01, 0.01), (0.2, -0.02, 0.42), (0.1, -0.05, 0.2))
    assert area.worst is area.findings[1]
    row = area_table("county", [area], judged([area], 0.05)).rows[0]
    assert worst_in_area(row).found.name == area.findings[1].name


def test_an_area_is_above_the_limit_by_any_of_its_releases_and_comes_first(done):
    sure = with_intervals(done.areas[0], (0.1, 0.06, 0.14), (0.3, 0.01, 0.5), (0.0, -0.1, 0.1))
    other = with_intervals(done.areas[1], (0.2, 0.04, 0.3), (0.0, -0.1, 0.1), (0.0, -0.1, 0.1))
    assert room._worst_first([other, sure]) == (sure, other)
    first, second = judged([sure, other], 0.05)
    assert first.above
    assert first.worst[0] == sure.findings[0].name  # what the verdict names is above the limit
    assert not second.above


def test_an_area_where_single_people_are_learnt_fails_whatever_its_advantage(done):
    learnt = {
        area.name: max(sum(one.outcome.learnt.values()) for one in area.found)
        for area in done.areas
        if area.found
    }
    assert any(learnt.values())
    for area in judged(done.areas, 2.0):  # an advantage that nothing has
        assert area.exposing == (learnt.get(area.name, 0) > 0)
        assert not area.exposing or area.word == "fail"
    assert not any(area.exposing for area in judged(done.areas, 2.0, exposed=None))


def test_the_document_keeps_its_schema_and_the_page_has_every_area(done):
    document = json.loads(json.dumps(done.document))
    read_audit(json.dumps(document))
    areas = document["areas"]
    assert (areas["by"], areas["areas"], areas["attacked"]) == ("county", 5, 3)
    assert (areas["people_attacked"], areas["people_not_attacked"]) == (30, 3)
    tags = Tags.of(render(read_audit(document)))
    refuses_the_world(tags)
    for words in ("Area by area", "for each county separately", "all areas", "1 person", "2 people"):
        assert words in tags.text
    some = {**areas, "above": 2, "surely_above": 0, "exposing": 0}
    lines = {
        "The interval lies above the limit in 2 of them, and in none after correction": some,
        "and in 1 after correction": {**some, "surely_above": 1},
        "The interval lies above the limit in none of them. The": {**some, "above": 0},
        "Single people are given away in 2 of them.": {**some, "exposing": 2},
    }
    for words, told in lines.items():
        assert words in Tags.of(render(read_audit({**document, "areas": told}))).text
    assert "2 of 5 areas" not in done.verdict.sentence
    assert "given away in 3 of 5 areas" in done.verdict.sentence
    assert any("2 of 5 areas, with 3 people" in line for line in document["not_tested"])


def test_no_file_counts_fewer_than_5_people_given_away_in_an_area(tmp_path):
    """Those of one area would follow from the total, so another area is withheld as well."""
    people = people_in({"a": 40, "b": 30, "c": 20, "d": 12, "e": 6})
    audit = ta.audit(people, {**PLAN, "repeats": 1})
    audit.save(tmp_path)
    assert any(0 < one.outcome.exposed_people < 5 for area in audit.areas for one in area.found)
    with (tmp_path / "areas.csv").open(encoding="utf-8", newline="") as file:
        written = list(csv.DictReader(file))
    rows = json.loads((tmp_path / "audit.json").read_text())["areas"]["rows"]
    told = [one for row in rows for one in row["findings"]] + written
    for one in told:
        for name in ("exposed", "named_right", "proved"):
            assert one[name] in ("under 5", "withheld") or float(one[name]) >= 5
    page = Tags.of((tmp_path / "report.html").read_text()).text
    assert "under 5" in page
    lines = audit_lines(audit.content)
    assert any("under 5" in line or "withheld" in line for line in lines)
    assert max(map(len, lines)) <= 80


def test_without_by_there_are_no_areas(people):
    plan = {name: value for name, value in PLAN.items() if name != "by"}
    audit = ta.audit(people, {**plan, "repeats": 1})
    assert audit.areas == ()
    assert audit.document["areas"] is None
    assert "Area by area" not in render(audit.content)


def test_names_of_areas_are_text_and_never_paths(tmp_path):
    people = people_in(dict.fromkeys(HOSTILE, 6))
    plan = {**PLAN, "repeats": 1, "releases": PLAN["releases"][:1]}
    audit = ta.audit(people, plan, work=tmp_path / "work")
    assert {area.name for area in audit.areas} == {"missing" if n is None else n for n in HOSTILE}
    files = list(tmp_path.rglob("*.json"))
    assert len(files) == len(HOSTILE)
    assert all(set(path.stem) <= set("0123456789abcdef") for path in files)
    page = audit.save(tmp_path / "out")
    tags = Tags.of(page.read_text(encoding="utf-8"))
    refuses_the_world(tags)
    assert "<script>alert(1)</script>" in tags.text
    assert "(empty)" in tags.text
    assert "x" * 100 not in tags.text
    assert "\x1b" not in tags.text


def test_the_table_of_areas_is_a_file_that_no_spreadsheet_runs(tmp_path):
    people = people_in({"=HYPERLINK(1)": 6, "two\nlines": 6, "one": 1})
    audit = ta.audit(people, {**PLAN, "repeats": 1, "releases": PLAN["releases"][:1]})
    audit.save(tmp_path)
    with (tmp_path / "areas.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert sorted(row["area"] for row in rows) == ["'=HYPERLINK(1)", "one", "two\nlines"]
    found = {row["name"]: row["findings"] for row in audit.document["areas"]["rows"]}
    for row in rows:
        if row["area"] == "one":
            assert "1 person: " in row["reason"]
            continue
        (same,) = found[row["area"].removeprefix("'")]
        assert float(row["advantage"]) == same["advantage"]
        assert [float(row["low"]), float(row["high"])] == same["interval"]


def test_a_stopped_audit_goes_on_and_only_what_is_missing_is_computed(people, done, tmp_path, monkeypatch):
    computed = []
    attack = room._attack_area

    def counted(payload):
        computed.append(payload[0].n)
        return attack(payload)

    def stop(finished, of):
        if finished == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(room, "_attack_area", counted)
    with pytest.raises(KeyboardInterrupt):
        ta.audit(people, PLAN, stop, work=tmp_path)
    assert computed == [12, 10]  # the largest first
    assert ta.audit(people, PLAN, work=tmp_path).document == done.document
    assert computed == [12, 10, 8]
    assert ta.audit(people, PLAN, work=tmp_path).document == done.document
    assert computed == [12, 10, 8]
    next(tmp_path.rglob("*.json")).write_text("{}")
    assert ta.audit(people, PLAN, work=tmp_path).document == done.document
    assert len(computed) == 4


def test_a_change_in_one_area_is_a_change_in_one_area(people, tmp_path, monkeypatch):
    computed = []
    attack = room._attack_area
    monkeypatch.setattr(room, "_attack_area", lambda p: (computed.append(p[0].n), attack(p))[1])
    plan = {**PLAN, "repeats": 1}
    ta.audit(people, plan, work=tmp_path)
    secret = people.secret.copy()
    area = next(area for area in split(people, "county") if area.name == "c")
    secret[area.people[0]] = 1 - secret[area.people[0]]
    computed.clear()
    ta.audit(replace(people, secret=secret), plan, work=tmp_path)
    assert computed == [8]
    ta.audit(people, {**plan, "seed": 8}, work=tmp_path)
    assert len(computed) == 4
    assert len(list(tmp_path.rglob("*.json"))) == 3  # of the last audit alone


def test_an_area_that_fails_is_told_and_the_rest_goes_on(people, monkeypatch):
    attack = room._attack_area

    def fragile(payload):
        if payload[0].n == 10:
            raise MemoryError
        return attack(payload)

    monkeypatch.setattr(room, "_attack_area", fragile)
    audit = ta.audit(people, {**PLAN, "repeats": 1})
    (lost,) = [area for area in audit.areas if area.people == 10]
    assert "memory" in lost.reason
    assert audit.findings[0].outcome.people == 20
    read_audit(json.dumps(audit.document))
    render(audit.content)


def test_areas_where_all_have_the_same_secret_are_told():
    people = people_in({"a": 12, "b": 12}, secret=lambda names: (names == "a") | (np.arange(24) % 2 == 0))
    audit = ta.audit(people, {**PLAN, "repeats": 1})
    row = next(row for row in audit.document["areas"]["rows"] if row["name"] == "a")
    assert "same secret" in row["note"]
    assert row["findings"][0]["advantage"] == 0
    assert any("everybody has the same secret" in line for line in audit.document["not_tested"])


def test_nothing_but_tiny_areas_is_no_verdict():
    people = people_in({f"b{j}": 2 for j in range(8)})
    audit = ta.audit(people, PLAN)
    assert audit.verdict.word == "review"
    assert audit.worst is None
    read_audit(json.dumps(audit.document))
    assert "Nothing could be attacked" in render(audit.content)


def test_who_is_named_is_named_by_the_row_of_the_whole_table(people):
    plan = ta.Plan.from_mapping({**PLAN, "repeats": 1})
    named = reveal(people, plan)["people"]
    assert list(named) == ["counts", "noisy", "all releases together"]
    for rows in named.values():
        for one in rows:
            guessed = people.meaning.index(one["guess"])
            assert (guessed == people.secret[one["row"] - 1]) == one["right"]


@pytest.mark.parametrize(
    ("by", "words"), [("cuonty", "Did you mean 'county'"), ("ill", "by"), (3, "by"), ("x0", None)]
)
def test_by_is_a_public_column(people, by, words):
    plan = {**PLAN, "secret": "ill", "by": by, "repeats": 1}
    if words is None:
        assert len(ta.audit(people, plan).areas) == 2
        return
    with pytest.raises(ta.InvalidInput, match=words):
        ta.audit(people, plan)


def test_a_plan_reads_its_areas_from_a_file(tmp_path):
    rng = np.random.default_rng(0)
    lines = [
        f"{1001 + 2 * (j % 30)},{rng.integers(2)},{rng.integers(2)},{rng.integers(2)}" for j in range(90)
    ]
    (tmp_path / "people.csv").write_text("\n".join(["fips,x,y,ill", *lines]))
    (tmp_path / "plan.toml").write_text(
        'data = "people.csv"\nsecret = "ill"\npublic = ["x", "y"]\nby = "fips"\n'
        '[[releases]]\nstatistic = { kind = "Marginals", ways = 2 }\n'
    )
    plan = ta.read_plan(tmp_path / "plan.toml")
    areas = split(ta.read_people(plan), plan.by)
    assert [area.name for area in areas] == [str(1001 + 2 * j) for j in range(30)]  # no deciles of codes
    assert plan.as_json()["by"] == "fips"


def test_many_areas_of_noise_do_not_fail_by_luck():
    """Nothing is learnt from noise of 1000, so no verdict on areas is "fail"; fixed seed."""
    people = people_in({f"b{j}": 8 for j in range(12)}, seed=3)
    plan = {
        "by": "county",
        "steps": False,
        "releases": [
            {"statistic": {"kind": "Marginals", "ways": 2}, "protect": {"kind": "Gaussian", "std": 1000.0}}
        ],
    }
    audit = ta.audit(people, plan)
    assert audit.verdict.word != "fail"
    assert not any(area.surely for area in audit.judged)


def test_a_promise_about_all_areas_is_for_a_row_that_stays_in_its_area():
    weak, strong = Promised(2.0, 0.0, "one row replaced", "a"), Promised(1.0, 0.0, "one row replaced", "a")
    assert _promised_of_areas([strong, weak, None]) == Promised(
        2.0, 0.0, "one row replaced within its area", "a"
    )
    assert _promised_of_areas([strong, Promised()]) == Promised()
    known = [replace(strong, advantage=0.2, tpr=0.3), replace(weak, advantage=0.1, tpr=0.4)]
    found = _promised_of_areas(known)
    assert found is not None
    assert (found.advantage, found.tpr) == (0.2, 0.4)
    found = _promised_of_areas([*known, strong])
    assert found is not None
    assert (found.advantage, found.tpr) == (None, None)  # what one area may give away is not known


def test_a_release_not_attacked_in_every_area_does_not_pass(monkeypatch):
    """With a limit of 0.9 everything stays below it; fixed seed."""
    people = people_in({"a": 10, "b": 12, "c": 8})
    noise = {"kind": "Gaussian", "std": 8.0}
    releases = [{**one, "protect": noise} for one in PLAN["releases"]]
    plan = {**PLAN, "limit": 0.9, "repeats": 1, "releases": releases}
    assert ta.audit(people, plan).verdict.word == "pass"
    attack = room._attack_area

    def partly(payload):
        done = attack(payload)
        if payload[0].n > 8:
            first = {name: done["findings"][0][name] for name in ("role", "name", "members")}
            done["findings"][0] = {**first, "reason": "no equations", "cells": []}
        return done

    monkeypatch.setattr(room, "_attack_area", partly)
    audit = ta.audit(people, plan)
    assert audit.verdict.word == "review"
    assert "was not attacked in 2 of 3 areas" in audit.verdict.sentence
    assert audit.findings[0].outcome.status == Status(
        "not attacked in 2 of 3 areas", why=("not-attacked-everywhere",)
    )
    assert audit.findings[1].outcome.status.settled
    said = audit.document["not_tested"]
    assert "counts: not attacked in 2 of 3 areas" in said
    assert any(line.startswith("counts in 2 of 3 areas, with 22 people") for line in said)
    assert any(line.endswith("no equations") for line in said)
    read_audit(json.dumps(audit.document))
    assert "not attacked in 2 of 3 areas" in render(audit.content)


def test_one_area_of_one_person_is_told_in_the_singular():
    people = people_in({"a": 10, "b": 12, "one": 1})
    noisy = {**PLAN["releases"][0], "protect": {"kind": "Gaussian", "std": 8.0}}
    audit = ta.audit(people, {**PLAN, "limit": 0.9, "repeats": 1, "releases": [noisy]})
    assert audit_lines(audit.content)[-1] == "not attacked: 1 area with 1 person"
    assert audit.verdict.sentence.endswith("1 of 3 areas could not be: “one” (1 person).")
    assert "1 of 3 areas, with 1 person, which could not be attacked." in audit.document["not_tested"]
    assert "1 person is in areas" in render(audit.content)
