"""The site's policy, which no plan can loosen, and the record of a decision."""

from __future__ import annotations

import hashlib
import tomllib
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import tellall as ta
from tellall.audits.document import AuditDocument, PeopleCounted
from tellall.audits.findings import DecoderFound, FindingDocument
from tellall.audits.outcome import Outcome
from tellall.audits.plans.attacker import Attacker
from tellall.audits.plans.plan import Plan
from tellall.audits.plans.policy import Policy, decision
from tellall.audits.union import Overall, SensitiveCounts
from tellall.audits.verdict import Limits, Verdict
from tellall.core.curator_key import CuratorKey
from tellall.core.reasons import Reason
from tellall.report.summary import junit, markdown
from tellall.schemas import load
from tests.report.test_page import outcome

RELEASES = [
    {"name": "tables", "statistic": {"kind": "Marginals", "ways": 2}},
    {"name": "some", "statistic": {"kind": "Marginals", "ways": 2}, "where": "a0 = 1"},
    {"name": "fit", "statistic": {"kind": "Estimator", "loss": "linear"}},
]


def _plan(**more):
    return Plan.from_mapping({"releases": RELEASES, "steps": False, **more})


@pytest.mark.parametrize(
    ("plan", "policy", "kept"),
    [
        ({"limit": 0.1}, {"limit": 0.02}, {"limit": 0.02}),
        ({"limit": 0.01}, {"limit": 0.02}, {"limit": 0.01}),
        ({"exposed_limit": 7}, {"exposed_limit": 3}, {"exposed_limit": 3}),
        ({"exposed_limit": 1}, {"exposed_limit": 3}, {"exposed_limit": 1}),
        ({"repeats": 2}, {"repeats": 5}, {"repeats": 5}),
        ({"repeats": 9}, {"repeats": 5}, {"repeats": 9}),
        ({"limit": 0.1}, {}, {"limit": 0.1}),
    ],
)
def test_a_plan_can_ask_for_less_and_never_for_more(plan, policy, kept):
    under = Policy.from_mapping(policy).under(_plan(**plan))
    assert {name: getattr(under, name) for name in kept} == kept


def test_attackers_of_the_policy_join_those_of_the_plan():
    policy = Policy.from_mapping({"attackers": [{"name": "neighbour", "known": ["a0"]}, {"name": "insider"}]})
    under = policy.under(_plan())
    assert [one.name for one in under.attackers] == ["as planned", "neighbour"]
    assert Attacker("neighbour", ("a0",)) in under.attackers


def test_what_must_not_be_published_fails_whatever_it_gives_away():
    policy = Policy.from_mapping({"not_published": ["Marginals"]})
    under = policy.under(_plan())
    assert under.forbidden == ("“tables” (Marginals)", "“some” (Marginals)")
    rng = np.random.default_rng(0)
    people = ta.Dataset.from_arrays(rng.integers(0, 2, (40, 2)), rng.permutation(np.arange(40) % 2))
    audit = ta.audit(people, policy.under(Plan.from_mapping({"releases": RELEASES[:1], "steps": False})))
    assert audit.findings[0].verdict.word != "fail"
    assert (audit.verdict.word, audit.verdict.decided) == ("fail", "policy")
    assert "“tables” (Marginals)" in audit.verdict.sentence


def test_what_must_not_be_published_fails_with_a_protection_that_nobody_knows_too():
    fit = {"name": "fit", "statistic": {"kind": "Estimator", "loss": "linear"}}
    plan = _plan(releases=[RELEASES[0], {**fit, "protect": {"kind": "DifferentialNoise", "eps": 1}}])
    under = Policy.from_mapping({"not_published": ["Estimator"]}).under(plan)
    assert [one.name for one in under.not_checked] == ["fit"]
    assert under.forbidden == ("“fit” (Estimator)",)


@pytest.mark.parametrize(
    ("mapping", "words"),
    [
        ({"limits": 0.1}, "limits"),
        ({"limit": 2.0}, "limit"),
        ({"limit": "low"}, "limit"),
        ({"not_published": ["Marginal"]}, "Did you mean 'Marginals'"),
        ({"attackers": [{"nme": "x"}]}, "nme"),
    ],
)
def test_a_wrong_policy_is_refused(mapping, words):
    with pytest.raises(ta.InvalidInput, match=words):
        Policy.from_mapping(mapping)


def test_a_policy_is_read_with_its_hash(tmp_path):
    path = tmp_path / "policy.toml"
    path.write_text('name = "Site 7"\nlimit = 0.02\n')
    policy = Policy.read(path)
    assert policy.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert policy.as_json()["name"] == "Site 7"
    path.write_text("name = [")
    with pytest.raises(ta.InvalidInput, match="policy must be a TOML file"):
        Policy.read(path)
    assert load("policy")["title"] == "tellall policy"


VERDICTS = {
    "pass": Verdict("All is well."),
    "fail": Verdict('Bad: <b>"&|*\x1b[31m', (Reason("advantage-above-limit", "Bad."),)),
    "review": Verdict("Not attacked", (Reason("not-attacked", "Not attacked"),)),
}
FOUND = outcome(0.2, 0.1, 0.3, accuracy=0.9, baselines={"majority": 0.7})


def finding(name: str, word: str, found: Outcome | None = FOUND, **more) -> FindingDocument:
    decoder = DecoderFound.of(FOUND, Limits(0.05))
    counted = {
        "outcome": "found",
        "summary": found,
        "proved_alone": {"0": 1, "1": 2},
        "proved_group": {"0": 4, "1": 0},
        "decoders": (replace(decoder, exposed=3, learnt=2),),
    }
    if found is None:
        counted = {"outcome": "skipped"}
    told = {"role": "alone", "releases": (0,), "statistic": ({},), "protect": ((),), **counted, **more}
    return FindingDocument(name=name, verdict=VERDICTS[word], **told)


DOCUMENT = AuditDocument(
    versions={},
    command="tellall audit plan.toml",
    seed=0,
    plan={},
    limit=0.05,
    exposed_limit=None,
    worst=None,
    data=PeopleCounted(
        name="people.csv",
        people=1234,
        distinct_public_rows=9,
        secret="ill",
        meaning=("0", "1"),
        holders=600,
        columns=(),
        left_out=(),
    ),
    verdict=VERDICTS["fail"],
    findings=(
        finding("good", "pass"),
        finding("a|b <i>", "fail"),
        finding("gone", "review", None, reason="no"),
        finding("step", "pass", role="step"),
    ),
    overall=Overall(
        advantage=0.2,
        advantage_of="good",
        advantage_share=0.2,
        exposed={"0": 1, "1": 2},
        exposed_of="good",
        proved_alone={"0": 1, "1": 2},
        proved_group={"0": 4, "1": 0},
        sensitive=SensitiveCounts(2, 0, 2, 2),
    ),
    published_too=(),
    assumed=(),
    not_tested=(),
)


def test_markdown_has_a_row_for_each_release_and_nothing_acts():
    text = markdown(DOCUMENT)
    assert text.startswith("## tellall: FAIL")
    shown = text.replace("\N{NO-BREAK SPACE}", " ")
    assert (
        "| good | PASS | 90.0 % | 70.0 % | +20.0 [+10.0, +30.0] | 3 | 4 | 3 | 2 | within the limits |"
        in shown
    )
    assert "Advantage in people in 100. The limit of the advantage is 5.0 in 100." in shown
    assert "| a\\|b \\<i\\> | FAIL |" in text
    assert "| gone | REVIEW | – | – | – | – | – | – | – | not attacked |" in text
    assert "Not attacked: gone: no" in text
    assert "step" not in text
    assert "\x1b" not in text


def test_markdown_of_a_real_secret_has_the_units_of_the_page():
    far = outcome(245.2, 200.0, 290.0, accuracy=700.2, baselines={"majority": 945.4}, real=True)
    text = markdown(replace(DOCUMENT, findings=(finding("sums", "fail", far),)))
    text = text.replace("\N{NO-BREAK SPACE}", " ")
    assert "| off by | best guess without it | advantage [95 %] |" in text
    assert "| sums | FAIL | 700 | 945 | +25.9 [+21.2, +30.7] | 3 | advantage above the limit |" in text
    assert "Advantage in % of the strongest baseline's error. The limit of the advantage is 5.0 %." in text
    far = replace(far, beyond_fit=(189.0, 94.5, 283.6))
    text = markdown(replace(DOCUMENT, findings=(finding("sums", "fail", far),)))
    text = text.replace("\N{NO-BREAK SPACE}", " ")
    assert "| sums | FAIL | 700 | 945 | +20.0 [+10.0, +30.0] | 3 | advantage above the limit |" in text
    assert "error, in-sample fit left out. The limit of the advantage is 5.0 %." in text


def test_junit_fails_where_a_verdict_does():
    root = ET.fromstring(junit(DOCUMENT))
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("4", "2", "1")
    cases = {case.get("name"): [child.tag for child in case] for case in root.iter("testcase")}
    assert cases == {"all": ["failure"], "good": [], "a|b <i>": ["failure"], "gone": ["error"]}


def test_the_record_of_a_decision_has_hashes_and_room_for_a_name(tmp_path):
    (tmp_path / "table.csv").write_text("a,b")
    text = decision(
        DOCUMENT,
        date="2026-01-01",
        policy=Policy("Site 7", sha256="ab"),
        published=[tmp_path / "table.csv"],
    )
    record = tomllib.loads(text)
    assert record["decision"]["name"] == ""
    assert record["verdict"]["word"] == "fail"
    assert record["outputs"] == {"good": "pass", "a|b <i>": "fail", "gone": "review"}
    assert record["policy"] == {"name": "Site 7", "sha256": "ab"}
    assert record["sha256"] == {f"{tmp_path.name}/table.csv": hashlib.sha256(b"a,b").hexdigest()}
    assert "files" not in record


def test_a_decision_has_checks_by_the_name_of_the_file(tmp_path):
    key, names = (
        CuratorKey.create(tmp_path / "curator.key"),
        ("plan.toml", 'a "quoted".csv', "out/audit.json"),
    )
    checks = {name: key.check(tmp_path / "curator.key") for name in names}
    text = decision(DOCUMENT, date="2026-01-01", policy=None, published=(), checks=checks)
    assert tomllib.loads(text)["files"] == checks


def test_the_example_in_the_documents_is_a_policy():
    policy = Policy.read(Path(__file__).parents[3] / "docs" / "examples" / "policy.toml")
    assert policy.not_published == ("SubsetCounts",)
    assert policy.under(_plan()).attackers == _plan().attackers  # the insider is there already
