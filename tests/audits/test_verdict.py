"""Verdicts: what fails, what a person decides, what passes."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tellall as ta
from tellall.attack.baselines import population
from tellall.attack.secret import Secret
from tellall.audits.measures.chance_intervals import Luck
from tellall.audits.measures.hits import Hits
from tellall.audits.outcome import Foreseen, Outcome, Promised
from tellall.audits.verdict import Limits, Verdict, judge, judge_outcome, with_predictors
from tellall.core.not_done import NotDone
from tellall.core.reasons import Reason
from tellall.linalg.solvers.solution import Status
from tests.report.test_page import outcome

LIMITS = Limits(0.05, 0, ("1",))
NOT_EVERYWHERE = Status("not attacked in 1 of 2 areas", why=("not-attacked-everywhere",))


KNOWS = Luck(0, 0, 0, 0.001, 50, 40, 25)  # what the attack moves is right beyond luck


def people(no: int, yes: int) -> dict[str, int]:
    return {"0": no, "1": yes}


@pytest.mark.parametrize(
    ("row", "word", "says"),
    [
        (outcome(0.2, 0.1, 0.3), "fail", "700 of 1,000 people right; without it, of 500"),
        (outcome(0.04, 0.01, 0.09), "review", "from 1.0 in 100 more to 9.0 in 100 more"),
        (outcome(0.0, -0.07, 0.07), "pass", "an advantage of up to 7.0 in 100 cannot be excluded"),
        (outcome(-0.01, -0.07, 0.07), "pass", "an advantage of up to 7.0 in 100 cannot be excluded"),
        (outcome(0.02, -0.01, 0.07), "pass", "cannot be excluded. Luck explains what it gains here."),
        (outcome(0.02, -0.01, 0.07, luck=KNOWS), "review", "from 1.0 in 100 fewer to 7.0 in 100 more"),
        (outcome(0.06, -0.01, 0.13), "review", "from 1.0 in 100 fewer to 13.0 in 100 more"),
        (outcome(0.0, 0.0, 0.0, proved_few=people(0, 3), learnt=people(0, 3)), "fail", "3 people in small"),
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
        (outcome(0.01, 0.0, 0.02, luck=Luck(3, 3, 2.9, 0.9)), "pass", "Luck explains the sure guesses"),
        (outcome(0.01, 0.0, 0.02, luck=Luck(99, 60, 60, 0.5)), "pass", "Luck explains the sure guesses"),
        (
            outcome(0.01, 0.0, 0.02, status=Status("uncalibrated", "roughly", ("linearised",))),
            "pass",
            "(roughly), but it is sure of nobody beyond luck.",
        ),
        (
            outcome(
                0.01,
                0.0,
                0.02,
                status=Status("uncalibrated", "roughly", ("linearised",)),
                luck=Luck(30, 30, 20, 0.0001),
            ),
            "review",
            "how sure the attack is cannot be trusted: roughly.",
        ),
        (
            outcome(0.01, 0.0, 0.02, status=Status("uncalibrated", "both", ("linearised", "unknown-law"))),
            "review",
            "how sure the attack is cannot be trusted: both.",
        ),
        (outcome(0.01, 0.0, 0.02, known_anyway=people(7, 0)), "pass", "does not prove"),
        (
            outcome(0.01, 0.0, 0.02, known_anyway=people(7, 2)),
            "pass",
            "2 people with a sensitive value are",
        ),
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
    for doubt in ({"luck": Luck(99, 60, 50, 0.001)}, {"proved_group": people(0, 4)}):
        row = outcome(0.01, 0.0, 0.02, **doubt)
        assert judge([("release", row)], Limits(0.05, 0, ("1",))).word == "review"
        assert judge([("release", row)], Limits(0.05, None, ("1",))).word == "pass"


def test_a_sure_gain_whose_confidences_failed_a_rehearsal_is_no_pass():
    """They are scaled down then, so that nobody is sure; a high limit alone would pass it."""
    failed = Status("uncalibrated", "scaled", ("failed-rehearsal",))
    for low, word in ((0.3, "review"), (-0.1, "pass")):
        row = outcome(0.4, low, 0.5, status=failed)
        assert judge([("release", row)], Limits(0.9, 0, ("1",))).word == word


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
    row = outcome(advantage, advantage - width, advantage + width, accuracy=0.5, luck=KNOWS)
    verdict = judge([("release", row)], Limits(limit))
    assert (verdict.word == "pass") == (advantage <= 0 or advantage + width <= limit)
    assert (verdict.word == "fail") == (advantage - width > limit)


def test_only_the_strongest_attack_is_asked_whether_the_limit_lies_inside_its_interval():
    weak, strong = outcome(0.005, -0.05, 0.06, luck=KNOWS), outcome(0.01, 0.0, 0.03)
    assert judge([("release", weak)], LIMITS).codes == ("limit-inside-interval",)
    assert judge([("release", weak), ("release", strong)], LIMITS).word == "pass"
    assert judge([("release", weak), ("other", strong)], LIMITS).word == "review"


def hits(attack: int, public: int, majority: int, n: int = 1000) -> Hits:
    """An attack, public columns and the majority that are right about so many of the first people."""
    order = np.arange(n)
    return Hits.of([order < attack], {"majority": order < majority, "public": order < public})


def test_an_attack_far_below_an_ordinary_guess_says_little_about_the_release():
    """Below the better of majority and public columns, and only for the strongest attack."""
    below, above = outcome(-0.1, -0.12, -0.08, hits=hits(700, 800, 600)), outcome(0.0, -0.01, 0.01)
    assert judge([("release", below)], LIMITS).codes == ("below-baseline",)
    assert "surely 8." in judge([("release", below)], LIMITS).sentence
    assert judge([("release", below), ("release", above)], LIMITS).word == "pass"
    nearly = outcome(-0.02, -0.03, 0.0, hits=hits(780, 800, 600))
    assert judge([("release", nearly)], LIMITS).word == "pass"


def test_remarks_are_kept_and_decide_nothing():
    row = outcome(0.0, -0.07, 0.07, luck=Luck(3, 3, 2.9, 0.9), known_anyway=people(0, 2))
    verdict = judge([("release", row)], LIMITS)
    assert [one.code for one in verdict.remarks] == [
        "limit-inside-interval",
        "known-anyway",
        "luck-explains-sure-guesses",
    ]
    assert all(one.sentence in verdict.sentence for one in verdict.remarks)
    assert Verdict.from_json(json.loads(json.dumps(verdict.as_json()))) == verdict
    failed = judge([("release", row), ("other", outcome(0.2, 0.1, 0.3))], LIMITS)
    assert failed.word == "fail"
    assert set(failed.remarks) == set(verdict.remarks)


def test_what_public_columns_tell_is_said_first_and_is_no_pass():
    told = [Reason("public-tells-secret", "`a` tells `b` by itself.")]
    for row, word in ((outcome(0.01, 0.0, 0.02), "review"), (outcome(0.2, 0.1, 0.3), "fail")):
        verdict = with_predictors(judge([("release", row)], LIMITS), told)
        assert verdict.word == word
        assert verdict.sentence.startswith("`a` tells `b` by itself. From “release”")
    assert with_predictors(judge([("release", row)], LIMITS), []) == judge([("release", row)], LIMITS)


def test_an_outcome_survives_the_file():
    row = outcome(
        foreseen=Foreseen(1200, 1000, 900, 800, None, 0.75, 0.875, 0.5, ("Odd",)),
        promised=Promised(1.5, 1e-6, "one row replaced", "noise"),
        skipped=(NotDone("a", "needs b", "use", "unknown-to-attacker"),),
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
    assert plain.pop("remarks") == []
    assert plain == {"word": verdict.word, "sentence": verdict.sentence, "decided": decided}
    assert [(one["code"], one["word"]) for one in reasons] == [
        (one.code, one.word) for one in verdict.reasons
    ]
    assert Verdict.from_json(json.loads(json.dumps(verdict.as_json()))) == verdict


def gained(attack: int, fit: int, n: int = 1000) -> Hits:
    """An attack and an ordinary fit, right about so many of the first people; the majority about 500."""
    order = np.arange(n)
    return Hits.of([order < attack], {"majority": order < 500}, order < fit)


def test_what_an_ordinary_model_gains_too_is_a_remark_within_the_interval_and_no_excuse_above_it():
    inside = outcome(0.04, 0.01, 0.09, hits=gained(540, 545))
    verdict = judge([("release", inside)], LIMITS)
    assert verdict.word == "pass"
    assert "An ordinary model gains about as much" in verdict.sentence
    assert judge([("release", inside)], Limits(0.05, 0, ("1",), kept=True)).word == "review"
    beyond = outcome(0.06, 0.01, 0.09, hits=gained(560, 505))
    assert judge([("release", beyond)], LIMITS).codes == ("limit-inside-interval",)
    above = outcome(0.2, 0.1, 0.3, hits=gained(700, 700))
    assert judge([("release", above)], LIMITS).codes == ("advantage-above-limit",)


def test_a_fit_is_ordinary_with_ten_people_for_each_number_and_reads_nobody_where_there_are_fewer():
    """Sixty numbers for 120 people, shrunk to nothing, would still show everybody their own value."""
    rng = np.random.default_rng(3)
    secret = rng.integers(0, 2, 300)
    few = ta.Dataset.from_arrays(rng.integers(0, 2, (300, 4)), secret)
    many = ta.Dataset.from_arrays(rng.integers(0, 2, (300, 12)), secret)
    for people, ways, known in ((few, 2, True), (many, 3, False)):
        found = population([ta.Marginals(ways)], people.public, secret, Secret.of(2))
        assert (found.in_sample is not None) == known
    fitted = population([ta.Marginals(2)], few.public, secret, Secret.of(2)).in_sample
    assert 0.5 < np.mean(fitted == secret) < 0.65  # four numbers for 300 coins


def test_groups_that_an_accepted_column_tells_are_known_anyway():
    rng = np.random.default_rng(4)
    codes = rng.integers(0, 2, (800, 4))
    people = ta.Dataset.from_arrays(codes, codes[:, 0])
    plan = {"releases": [{"statistic": {"kind": "Marginals", "ways": 3}}], "steps": False}
    assert "people-proved-as-group" in ta.audit(people, plan).verdict.codes
    accepted = ta.audit(people, {**plan, "accepted_predictors": ["a0"]})
    assert accepted.verdict.word == "pass"
    assert accepted.found[0].outcome.known_anyway["1"] > 0
    assert accepted.overall is not None
