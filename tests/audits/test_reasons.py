"""Codes decide and are listed in the documents; sentences only say."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import tellall as ta
from tellall.audits.document import read_audit
from tellall.audits.measures import revealing_cells as cells
from tellall.audits.measures.chance_intervals import Luck
from tellall.audits.outcome import Outcome
from tellall.audits.verdict import Limits, Verdict, judge, judge_area, judged_areas, with_cells
from tellall.core import reasons
from tellall.core.reasons import KINDS, UNSETTLED, WORDS, Reason
from tellall.linalg.solvers.solution import Status
from tellall.report.audit_page import render
from tellall.report.glossary import explain, reason_list
from tests.report.test_page import outcome

ROOT = Path(__file__).resolve().parents[2]
LIMITS = Limits(0.05, 0, ("1",))


HEADS = {"Fails": "fail", "For a person to decide": "review", "Remarks": "pass"}


def documented() -> dict[str, tuple[str, ...]]:
    """The codes of the page of reasons: verdict, what it means, what to look at and what to do."""
    text = (ROOT / "docs" / "reasons.md").read_text(encoding="utf-8")
    found = {}
    for part in text.split("\n## ")[1:]:
        word = HEADS[part.partition("\n")[0]]
        rows = re.findall(
            r"^### `([^`]+)`\n\n(.+)\n\n\*Look at\*: (.+)\n\n\*What to do\*: (.+)$", part, re.MULTILINE
        )
        found |= {code: (word, *said) for code, *said in rows}
    return found


def test_the_documents_list_every_code_and_no_other():
    said = reason_list()
    assert set(said) == set(KINDS)
    assert documented() == {
        code: (kind.word, said[code]["means"], kind.look_at, said[code]["do"]) for code, kind in KINDS.items()
    }


@pytest.mark.parametrize("code", KINDS)
def test_every_code_is_explained(code):
    topic = explain(code)
    assert topic.name == code
    assert topic.what.endswith(reason_list()[code]["means"])
    assert topic.fix.endswith(reason_list()[code]["do"])
    assert KINDS[code].word == "pass" or KINDS[code].look_at in topic.why


def test_every_code_in_the_source_is_declared_and_every_declared_one_is_used():
    sources = {
        path: path.read_text(encoding="utf-8")
        for path in (ROOT / "src").rglob("*.py")
        if path != Path(reasons.__file__)
    }
    used = {code for code in KINDS if any(f'"{code}"' in text for text in sources.values())}
    assert used == set(KINDS)
    assert set(cells._SAID) <= set(KINDS)


def test_a_status_has_a_code_for_what_is_wrong_and_none_if_nothing_is():
    assert Status("trusted").why == ()
    assert Status("not converged").why == ("not-converged",)
    assert Status("odd", "in its own words").why == ("not-settled",)
    assert (
        str(Status("uncalibrated", "hidden", ("mostly-hidden",), "give it"))
        == "uncalibrated: hidden; give it"
    )
    with pytest.raises(ta.InvalidInput, match="why"):
        Status("uncalibrated", "", ("no-such-code",))
    with pytest.raises(ta.InvalidInput, match="why"):
        Status("solved", "", ("mostly-hidden",))


def people(no: int, yes: int) -> dict[str, int]:
    return {"0": no, "1": yes}


def outcomes() -> Iterator[Outcome]:
    yield outcome(0.2, 0.1, 0.3)
    yield outcome(0.04, 0.01, 0.09)
    yield outcome(0.01, learnt=people(0, 1), proved_alone=people(0, 1))
    yield outcome(0.01, learnt=people(0, 1), exposed={"0.95": people(0, 1)})
    yield outcome(0.01, proved_group=people(0, 4))
    yield outcome(0.01, luck=Luck(100, 60, 50, 0.001))
    yield outcome(0.01, luck=Luck(3, 3, 2.9, 0.9))
    yield outcome(0.01, contradicted=True)
    yield outcome(0.01)
    yield from (outcome(0.01, status=Status("uncalibrated", "why", (code,))) for code in UNSETTLED)


@pytest.mark.parametrize(
    "found", list(outcomes()), ids=lambda one: f"{one.interval} {one.status.word} {one.status.why}"
)
def test_a_verdict_is_what_its_reasons_say(found):
    verdict = judge([("release", found)], LIMITS)
    ranks = [WORDS.index(one.word) for one in verdict.reasons]
    assert verdict.rank == max(ranks, default=0)
    assert ranks[:1] == [verdict.rank] or verdict.word == "pass"
    for one in verdict.reasons[:1]:
        assert one.sentence in verdict.sentence
        assert one.decided == verdict.decided
        assert one.look_at
    told = {one.code for one in verdict.remarks}
    if (
        not found.settled
        and not found.contradicted
        and not told & {"linearised", "failed-rehearsal", "not-sampled"}
    ):
        assert [one.code for one in verdict.reasons] == [found.status.why[0]]


def test_a_verdict_keeps_every_reason():
    """Also those that did not decide, so that a person sees all there is to look at."""
    both = outcome(0.2, 0.1, 0.3, learnt=people(0, 1), exposed={"0.95": people(0, 1)})
    doubtful = outcome(0.04, 0.01, 0.09, status=Status("uncalibrated", "why", ("unknown-law",)))
    small = Reason("few-contributors", "In 1 of 2 cells.", "c", 1, 2)
    verdict = judge([("a", doubtful), ("b", both)], LIMITS, not_attacked=["d"], cells=[small])
    assert [one.code for one in verdict.reasons] == [
        "advantage-above-limit",
        "people-exposed",
        "not-attacked",
        "few-contributors",
        "limit-inside-interval",
        "unknown-law",
    ]
    assert (verdict.word, verdict.decided) == ("fail", "advantage above the limit")


def test_a_reason_is_said_once_however_it_is_worded():
    one, again = (Reason("dominance", said, "c", 1, 2) for said in ("In 1 of 2.", "Said otherwise."))
    assert one == again
    verdict = with_cells(with_cells(Verdict("All is well."), [one]), [again])
    assert (verdict.word, verdict.sentence, verdict.reasons) == ("review", "In 1 of 2.", (one,))


def test_areas_that_fail_come_before_what_all_people_together_give_cause_for():
    whole = judge([("release", outcome(0.01, proved_group=people(0, 4)))], LIMITS)
    exposed = outcome(0.01, learnt=people(0, 1), exposed={"0.95": people(0, 1)})
    area = judge_area("north", 10, [("release", exposed)], LIMITS, 1, None)
    verdict = judged_areas(whole, [area], LIMITS)
    assert [one.code for one in verdict.reasons] == ["areas-exposed", "people-proved-as-group"]
    assert (verdict.word, verdict.decided) == ("fail", "people exposed")


PLANS = {
    "people proved": ("bit", {"kind": "Marginals", "ways": 3}, []),
    "not attacked": ("real", {"kind": "Extremes", "ways": 2}, []),
    "a sample": ("bit", {"kind": "Marginals", "ways": 2}, [{"kind": "Subsample", "fraction": 0.7}]),
    "unknown law": ("bit", {"kind": "Marginals", "ways": 2}, [{"kind": "TopCoding", "at": 1}]),
    "cells": ("real", {"kind": "Sums", "ways": 3}, []),
    "pass": ("bit", {"kind": "Marginals", "ways": 1}, [{"kind": "Gaussian", "std": 200.0}]),
    "told": ("told", {"kind": "Marginals", "ways": 2}, []),
}


def made(kind: str) -> ta.Dataset:
    rng = np.random.default_rng(5)
    columns = rng.integers(0, 3, (300, 3))
    secret = (rng.random(300) < 0.3).astype(int) if kind != "real" else rng.lognormal(2, 1, 300)
    if kind == "told":
        columns[:, 0] = secret
    return ta.Dataset.from_arrays(columns, secret=secret, names=["a", "b", "c"])


def audited(name: str) -> ta.Audit:
    kind, statistic, protect = PLANS[name]
    release = {"name": "t", "statistic": statistic, "protect": protect}
    return ta.audit(made(kind), {"releases": [release], "steps": False}, remedy=True)


def summary(audit: ta.Audit) -> list:
    """Everything about an audit but its sentences."""
    document = audit.document
    remedy = document["remedy"]
    return [
        [
            (one["word"], one["decided"], [each["code"] for each in one["reasons"]])
            for one in verdicts(document)
        ],
        [one["status_codes"] for row in document["findings"] for one in row["decoders"]],
        [(one["code"], one["cells"], one["of"]) for one in document["cells"]],
        document["overall"],
        remedy and [(one["words"], one["verdict"]) for one in remedy["tried"]],
    ]


def verdicts(document: dict) -> list[dict]:
    return [document["verdict"], *(row["verdict"] for row in document["findings"])]


@pytest.mark.parametrize("name", PLANS)
def test_other_sentences_decide_nothing_else(name, monkeypatch):
    """Every sentence of a reason, a verdict and a status is replaced by one that says nothing."""
    plain = audited(name)
    read_audit(json.dumps(plain.document))
    assert all(one["code"] in KINDS for verdict in verdicts(plain.document) for one in verdict["reasons"])
    before = summary(plain)

    make_reason, make_verdict, make_status = Reason.__init__, Verdict.__init__, Status.__init__

    def reason(self, code, sentence, *more, **named):
        make_reason(self, code, "", *more, **named)

    def verdict(self, sentence, *more, **named):
        make_verdict(self, "pass fail review not attacked", *more, **named)

    def status(self, word, advice="", why=(), ask=""):
        make_status(self, word, "solved", why, "")

    monkeypatch.setattr(Reason, "__init__", reason)
    monkeypatch.setattr(Verdict, "__init__", verdict)
    monkeypatch.setattr(Status, "__init__", status)
    monkeypatch.setattr(Status, "__str__", lambda self: "solved")
    after = audited(name)
    assert {one["sentence"] for one in verdicts(after.document)} == {"pass fail review not attacked"}
    assert summary(after) == before


def without_codes(plain):
    """A document as it was written before there were codes."""
    if isinstance(plain, dict):
        return {
            name: without_codes(part)
            for name, part in plain.items()
            if name not in ("reasons", "status_codes")
        }
    return [without_codes(part) for part in plain] if isinstance(plain, list) else plain


def test_a_document_without_codes_is_still_read():
    document = audited("a sample").document
    before = without_codes(document)
    assert "reasons" not in before["verdict"]
    read_audit(json.dumps(before))
    page, known = render(read_audit(before)), KINDS["people-left-out"].look_at
    assert known in render(read_audit(document))  # only the code says this: without it the page says less
    assert page == render(read_audit(document)).replace(known, KINDS["not-settled"].look_at)
    assert "who was left out of the sample is not known" in render(read_audit(before))
