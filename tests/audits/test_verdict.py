"""Verdicts: what fails, what a person decides, what passes."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tellall.audits.measures.chance_intervals import Luck
from tellall.audits.outcome import Foreseen, Outcome, Promised
from tellall.audits.verdict import Limits, Verdict, judge, judge_outcome
from tellall.linalg.solvers.solution import Status
from tests.report.test_page import outcome

LIMITS = Limits(0.05, 0, ("1",))
NOT_EVERYWHERE = Status("not attacked in 1 of 2 areas", why=("not-attacked-everywhere",))


def people(no: int, yes: int) -> dict[str, int]:
    return {"0": no, "1": yes}


@pytest.mark.parametrize(
    ("row", "word", "says"),
    [
        (outcome(0.2, 0.1, 0.3), "fail", "700 of 1,000 people right; without it, of 500"),
        (outcome(0.04, 0.01, 0.09), "review", "from 1.0 in 100 more to 9.0 in 100 more"),
        (outcome(0.0, -0.07, 0.07), "review", "from 7.0 in 100 fewer to 7.0 in 100 more"),
        (outcome(-0.01, -0.07, 0.07), "review", "at best: 1.0 in 100 fewer."),
        (outcome(0.01, -0.01, 0.02), "pass", "does not prove"),
        (outcome(-0.1, -0.2, 0.0), "pass", "no more secrets"),
        (
            outcome(0.01, 0.0, 0.02, status=Status("not converged", "try")),
            "review",
            "was attacked and stayed below",
        ),
        (
            outcome(0.01, 0.0, 0.02, status=Status("uncalibrated", "much is hidden", ("mostly-hidden",))),
            "review",
            "how sure the attack is cannot be trusted: much is hidden.",
        ),
        (
            outcome(0.01, 0.0, 0.02, status=NOT_EVERYWHERE),
            "review",
            "but was not attacked in 1 of 2 areas.",
        ),
        (outcome(0.01, 0.0, 0.02, contradicted=True), "review", "does not describe these people"),
        (outcome(0.01, 0.0, 0.02, proved_group=people(9, 4)), "review", "of 4 people as a group"),
        (outcome(0.01, 0.0, 0.02, proved_group=people(9, 0)), "pass", "not sensitive"),
        (outcome(0.01, 0.0, 0.02, luck=Luck(100, 60, 50, 0.001)), "review", "sure guesses are unreliable"),
        (
            outcome(0.01, 0.0, 0.02, undecided=5, loose=5),
            "pass",
            "5 people the search for proofs ended before",
        ),
        (outcome(0.01, 0.0, 0.02, undecided=5, loose=2), "review", "For 3 people in “release” the search"),
        (outcome(0.01, 0.0, 0.02, luck=Luck(3, 3, 2.9, 0.9)), "review", "Luck explains the sure guesses"),
        (
            outcome(0.01, 0.0, 0.02, learnt=people(2, 3), exposed={"0.95": people(2, 3)}),
            "fail",
            "3 people exposed with 95 % confidence. The limit is 0.",
        ),
        (
            outcome(0.01, 0.0, 0.02, learnt=people(0, 1), proved_alone=people(0, 1)),
            "fail",
            "1 person proved by arithmetic",
        ),
        (
            outcome(0.01, 0.0, 0.02, learnt=people(4, 0), exposed={"0.95": people(4, 0)}),
            "pass",
            "0 people are proved and 4 exposed to have a value that is not sensitive",
        ),
    ],
)
def test_the_verdict(row, word, says):
    verdict = judge([("release", row)], LIMITS)
    assert verdict.word == word
    assert says in verdict.sentence
    assert verdict == judge_outcome("release", row, LIMITS)


def number(advantage, beyond):
    """An attack on numbers that are off by 10 without it, with the advantage beyond in-sample fit."""
    return outcome(
        advantage,
        *beyond[1:],
        real=True,
        accuracy=10 - advantage,
        baselines={"median": 10.0},
        baseline="median",
        beyond_fit=beyond,
    )


@pytest.mark.parametrize(
    ("row", "word", "says"),
    [
        (
            number(0.3, (0.001, -0.1, 0.1)),
            "pass",
            "come no nearer than one would without it; the limit is 5.0 %",
        ),
        (
            number(0.3, (0.001, -0.1, 0.1)),
            "pass",
            "In addition, they come 3.0 % nearer by in-sample fit: any",
        ),
        (number(0.3, (0.3, 0.1, 0.4)), "pass", "come at most 3.0 % nearer"),
        (number(2.0, (1.2, 0.9, 1.5)), "fail", "8.0 of these 20.0 % are in-sample fit: any model"),
        (
            number(1.0, (0.4, 0.1, 0.7)),
            "review",
            "With this many people, the rest could be anything from 1.0 % nearer",
        ),
        (
            number(0.4, (0.4, 0.1, 0.7)),
            "review",
            "With this many people, that could be anything from 1.0 % nearer",
        ),
    ],
)
def test_in_sample_fit_is_named_and_not_counted(row, word, says):
    verdict = judge_outcome("release", row, LIMITS)
    assert verdict.word == word
    assert says in verdict.sentence.replace("\N{NO-BREAK SPACE}", " ")
    assert ("in-sample" in verdict.sentence) == (row.in_sample > 0)


def test_people_are_counted_up_to_the_limit_or_not_at_all():
    row = outcome(0.01, 0.0, 0.02, learnt=people(0, 3), exposed={"0.95": people(0, 3)})
    words = [judge([("release", row)], Limits(0.05, limit, ("1",))).word for limit in (2, 3, None)]
    assert words == ["fail", "pass", "pass"]
    for doubt in ({"luck": Luck(3, 3, 2.9, 0.9)}, {"proved_group": people(0, 4)}):
        row = outcome(0.01, 0.0, 0.02, **doubt)
        assert judge([("release", row)], Limits(0.05, 0, ("1",))).word == "review"
        assert judge([("release", row)], Limits(0.05, None, ("1",))).word == "pass"


def test_what_was_not_attacked_is_no_pass():
    passed = outcome(0.01, 0.0, 0.02)
    assert judge([], LIMITS).word == "review"
    verdict = judge([("release", passed)], LIMITS, not_attacked=["other"])
    assert verdict.word == "review"
    assert "Not attacked: other." in verdict.sentence


def test_several_attacks_are_no_better_than_the_worst():
    rows = [("a", outcome(0.01, 0.0, 0.02)), ("b", outcome(0.2, 0.1, 0.3)), ("c", outcome(0.04, 0.01, 0.09))]
    verdict = judge(rows, LIMITS)
    assert verdict.word == "fail"
    assert "“b”" in verdict.sentence


@given(st.floats(-0.5, 0.5), st.floats(0, 0.2), st.floats(0, 1))
def test_a_verdict_never_calls_safe_what_may_be_above_the_limit(advantage, width, limit):
    row = outcome(advantage, advantage - width, advantage + width, accuracy=0.5)
    verdict = judge([("release", row)], Limits(limit))
    assert (verdict.word == "pass") == (advantage + width <= limit)
    assert (verdict.word == "fail") == (advantage - width > limit)


def test_an_outcome_survives_the_file():
    row = outcome(
        foreseen=Foreseen(1200, 1000, 900, 800, None, 0.75, 0.875, 0.5, ("Odd",)),
        promised=Promised(1.5, 1e-6, "one row replaced", "noise"),
        skipped=("a",),
        wrong=(3,),
    )
    assert Outcome.from_plain(json.loads(json.dumps(row.to_plain()))) == row


@pytest.mark.parametrize(
    ("row", "decided"),
    [
        (outcome(0.2, 0.1, 0.3), "advantage above the limit"),
        (outcome(0.01, learnt=people(0, 1), proved_alone=people(0, 1)), "people proved"),
        (outcome(0.01, learnt=people(0, 1), exposed={"0.95": people(0, 1)}), "people exposed"),
        (outcome(0.04, 0.01, 0.09), "limit inside the interval"),
        (outcome(0.01, proved_group=people(0, 4)), "people proved as a group"),
        (outcome(0.01), "within the limits"),
    ],
)
def test_a_verdict_says_in_a_few_words_what_decided(row, decided):
    verdict = judge([("release", row)], LIMITS)
    assert verdict.decided == decided
    plain = verdict.as_json()
    reasons = plain.pop("reasons")
    assert plain == {"word": verdict.word, "sentence": verdict.sentence, "decided": decided}
    assert [(one["code"], one["word"]) for one in reasons] == [
        (one.code, one.word) for one in verdict.reasons
    ]
    assert Verdict.from_json(json.loads(json.dumps(verdict.as_json()))) == verdict
