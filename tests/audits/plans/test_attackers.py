"""Plans with parts of the people, several attackers, and what was published before."""

import json

import numpy as np
import pytest

import tellall as ta
from tellall.audits.audit import reveal
from tellall.audits.document import read_audit
from tellall.audits.plans.attacker import INSIDER, Attacker
from tellall.audits.plans.places import places_of
from tellall.audits.plans.plan import Plan
from tellall.audits.plans.plan_files import plan_of
from tellall.audits.remedy import _RemedySearch
from tellall.audits.trial import Planned, Setting, Trial
from tellall.report.attackers import attacker_lines
from tellall.report.audit_page import render
from tellall.statistics.where import as_where
from tests.release.test_where import WOMEN, some_people, women_of

TABLES = {"kind": "Marginals", "ways": 3, "attributes": [["sex", "area"]]}


def people():
    """Forty people, one of whom alone is 20 years old."""
    rng = np.random.default_rng(1)
    frame = {
        "sex": np.array(["f", "m"])[np.arange(40) % 2],
        "area": np.array(list("ab"))[rng.integers(0, 2, 40)],
        "age": np.where(np.arange(40) == 7, 20, 30 + np.arange(40) % 15),
        "ill": np.where(np.arange(40) == 7, 1, rng.integers(0, 2, 40)),
    }
    return ta.Dataset.from_frame(frame, secret="ill", bins={"age": [25]})


def plan(**more):
    both = [
        {"name": "everybody", "statistic": TABLES},
        {"name": "grown up", "statistic": TABLES, "where": "age > 20"},
    ]
    return {"steps": False, "releases": both, **more}


@pytest.fixture(scope="module")
def audited():
    attackers = [
        {"name": "journalist", "known": ["sex"]},
        {"name": "insider"},
        {"name": "colleague", "known_people": 0.8, "known_secrets": 0.1},
    ]
    return ta.audit(people(), plan(attackers=attackers))


def test_the_worst_attacker_comes_first(audited):
    assert audited.attackers[0].name == "insider"
    assert audited.verdict.word == "fail"
    assert audited.plan.attacker.name == "insider"
    ranks = [("pass", "review", "fail").index(one.verdict.word) for one in audited.attackers]
    assert ranks == sorted(ranks, reverse=True)
    journalist = next(one for one in audited.attackers if one.name == "journalist")
    assert journalist.proved == 0
    assert "needs age, which this attacker does not know" in journalist.not_usable[0]
    assert journalist.knows == "knows sex of everybody"
    told = next(one for one in audited.attackers if one.name == "colleague")
    assert told.knows == "knows every public column of 80 % of the people, and the ill of 10 % of them"


def test_two_releases_that_differ_by_one_person_prove_that_person(audited):
    (difference,) = audited.differences
    assert (difference.only_first, difference.only_second, difference.proved) == (1, 0, 1)
    assert difference.sentence == (
        "“everybody” counts 1 person whom “grown up” does not. "
        "Together they prove the secret of 1 person whom neither proves alone."
    )


def test_the_document_and_the_page_tell_it_without_a_person(audited):
    text = json.dumps(audited.document)
    read_audit(text)
    document = json.loads(text)
    page, lines = render(read_audit(document)), attacker_lines(read_audit(document))
    assert "Releases about different people" in page
    assert "Who attacks" in page
    assert "counts 1 person whom" in page
    assert lines[0].startswith("“everybody” counts 1 person")
    assert any("insider: fail" in line for line in lines)
    again = Plan.from_mapping(document["plan"])
    assert again.as_json() == document["plan"]


def test_who_differs_is_said_only_when_asked(audited):
    named = reveal(people(), audited.plan)
    assert named["differences"] == [
        {"releases": ["everybody", "grown up"], "only_first": [8], "only_second": []}
    ]
    rows = [one["row"] for one in named["people"]["all releases together"]]
    assert 8 in rows


def test_a_plan_says_what_its_one_attacker_knows():
    found = ta.audit(people(), plan(known=["sex", "area"]))
    assert found.attackers[0].knows == "knows sex, area of everybody"
    assert found.document["assumed"][0].startswith("The attacker knows sex, area of everybody.")
    assert ta.audit(people(), plan()).attackers == ()


def test_people_of_a_part_are_judged_alone():
    everybody = some_people(100)
    planned = Planned("women", ta.Marginals(3), (ta.Rounding(3),), where=as_where(WOMEN))
    women = everybody.take(np.flatnonzero(women_of(everybody)))
    outcome = Trial(Setting(everybody), (planned,)).run()
    alone = Trial(Setting(women), (Planned("women", ta.Marginals(3), (ta.Rounding(3),)),)).run()
    assert outcome.people == women.n
    assert outcome.accuracy == alone.accuracy
    assert outcome.baselines == pytest.approx(alone.baselines)
    assert outcome.loss.error == pytest.approx(alone.loss.error)


def test_people_whom_an_attacker_was_told_are_not_judged():
    everybody = some_people(100)
    setting = Setting(everybody, attacker=Attacker("x", known_people=0.9, known_secrets=0.1))
    assert setting.stand.rows.size == 90
    assert len(setting.stand.known.secrets) == 9
    risk = Trial(setting, (Planned("t", ta.Marginals(3)),)).scored()[1][0]
    assert risk.n == 81
    assert (everybody.secret[risk.rows] == risk._truth).all()
    told = setting.stand.rows[list(setting.stand.known.secrets)]
    assert not np.isin(risk.rows, told).any()
    assert [everybody.secret[row] for row in told] == list(setting.stand.known.secrets.values())


def test_who_knows_everything_is_the_attacker_there_always_was():
    everybody = some_people(60)
    one, other = (
        Trial(Setting(everybody, attacker=each), (Planned("t", ta.Marginals(3)),)).run()
        for each in (INSIDER, Attacker("x", known=everybody.public.names))
    )
    assert one.accuracy == other.accuracy
    assert one.baselines == pytest.approx(other.baselines)
    assert one.proved == other.proved


def test_a_new_release_is_judged_together_with_the_old_one(tmp_path):
    everybody = people()
    old = Plan.from_mapping({"releases": plan()["releases"][:1]}).releases[0]
    ta.publish(everybody, old.statistic).save(tmp_path / "old.json")
    (tmp_path / "plan.toml").write_text(
        """
secret = "ill"
steps = false
[[published]]
file = "old.json"
[[releases]]
name = "new"
where = "age > 20"
statistic = { kind = "Marginals", ways = 3, attributes = [["sex", "area"]] }
"""
    )
    found = ta.audit(everybody, tmp_path / "plan.toml")
    assert [finding.name for finding in found.findings] == ["old (published)", "new", "all releases together"]
    assert found.verdict.word == "fail"
    assert found.differences[0].proved == 1
    assert [entry.name for entry in found.plan.planned] == ["new"]
    assert found.document["plan"]["published"] == [{"file": "old.json", "name": "old (published)"}]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"known": ["agee"]}, "known must be a column of the table .*Did you mean 'age'"),
        ({"attackers": [{"name": "a", "known": ["x"]}]}, "attacker “a”: known"),
        ({"attackers": [{"name": "a"}, {"name": "a"}]}, "attackers must have different names"),
        ({"attackers": [{"name": "a"}], "known_people": 0.5}, "known belongs under an attacker"),
        ({"known_people": 0.0}, "known_people should be greater than 0"),
        ({"known_secrets": 1.0}, "known_secrets should be less than 1"),
        ({"published": [{"file": "../x.json"}]}, "published"),
        ({"published": [{"file": "no.json"}]}, "no.json"),
    ],
)
def test_wrong_attackers_are_refused_in_a_sentence(more, message):
    with pytest.raises(ta.InvalidInput, match=message):
        ta.audit(people(), plan(**more))


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("age >", "release “b”: where must be one that has"),
        ("height > 3", "release “b”: .*must be a column of the table"),
        ("age > 1000", "release “b”: where must be true of one person or more"),
        ([1, 0], "release “b”: where must be a condition in quotes"),
    ],
)
def test_wrong_conditions_are_refused_in_a_sentence(where, message):
    release = {"name": "b", "statistic": TABLES, "where": where}
    with pytest.raises(ta.InvalidInput, match=message):
        ta.audit(people(), {"releases": [release]})


def test_the_page_of_an_attacker_who_can_use_one_release_only():
    found = ta.audit(people(), plan(known=["sex"]))
    assert set(found.attackers[0].not_usable) <= set(found.content.not_tested)
    page = render(found.content)
    assert "needs age, which this attacker does not know" in page


def with_old_release(tmp_path):
    """The people, and a plan that one release was published before, both exact."""
    everybody = people()
    ta.publish(everybody, ta.Marginals(3, [["sex", "area"]])).save(tmp_path / "old.json")
    planned = {"published": [{"file": "old.json", "name": "old"}], "releases": plan()["releases"][1:]}
    return everybody, plan_of({**planned, "steps": False, "limit": 1.0}, folder=tmp_path)


def test_a_plan_reads_no_file(tmp_path):
    ta.publish(people(), ta.Marginals(1)).save(tmp_path / "old.json")
    with pytest.raises(ta.InvalidInput, match="published must be read with the plan"):
        Plan.from_mapping({"published": [{"file": "old.json"}]})
    with pytest.raises(ta.InvalidInput, match="published must be a path relative"):
        plan_of({"published": [{"file": str(tmp_path / "old.json")}]}, folder=tmp_path)
    assert plan_of({"published": [{"file": "old.json"}]}, folder=tmp_path).releases[0].given is not None


def test_what_is_published_already_is_not_to_be_changed(tmp_path):
    everybody, chosen = with_old_release(tmp_path)
    search = _RemedySearch(places_of(everybody, chosen), ta.audit(everybody, chosen))
    assert search._targets() == [("grown up",)]


@pytest.mark.slow
def test_a_remedy_changes_nothing_that_is_published_already(tmp_path):
    everybody, chosen = with_old_release(tmp_path)
    found = ta.audit(everybody, chosen, remedy=True)
    assert found.verdict.word == "fail"
    words = [one.words for one in (*found.remedy.tried, *found.remedy.not_tried)]
    assert not any("“old”" in one for one in words)
    assert not any(entry["name"] == "old" for entry in found.remedy.entries)


def test_an_attacker_of_areas_knows_the_same_people_whoever_asks():
    rng = np.random.default_rng(5)
    frame = {f"x{j}": rng.integers(0, 2, 90) for j in range(5)}
    everybody = ta.Dataset.from_frame(
        frame | {"town": ["a", "b", "c"] * 30, "ill": rng.permutation(np.arange(90) % 2)}, secret="ill"
    )
    tables = [{"name": "tables", "statistic": {"kind": "Marginals", "ways": 3}}]
    document = {"steps": False, "by": "town", "known_people": 0.6, "releases": tables, "seed": 3}
    audit = ta.audit(everybody, document)
    places = {place.name: place for place in places_of(everybody, audit.plan)}
    assert set(places) == {"a", "b", "c"}
    for area in audit.areas:
        place, (finding,) = places[area.name], area.found
        trial = Trial(place.setting, audit.plan.planned, 1, place.seed(3))
        for one in finding.outcomes:
            again = trial.run(one.asked, tried=len(finding.outcomes))
            assert (again.accuracy, again.advantage) == (one.accuracy, one.advantage)


@pytest.mark.slow
def test_a_remedy_says_whom_it_was_checked_against():
    attackers = [{"name": "journalist", "known": ["sex"]}, {"name": "insider"}]
    found = ta.audit(people(), plan(limit=0.4, attackers=attackers), remedy=True)
    assert found.remedy.found
    assert "It was checked only against “insider”" in found.remedy.sentence
    assert "Checked only against “insider”." in render(found.content)
    alone = ta.audit(people(), plan(limit=0.4), remedy=True)
    assert alone.remedy.found
    assert "Checked against" not in alone.remedy.sentence
