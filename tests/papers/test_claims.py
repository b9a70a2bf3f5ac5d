"""Rows of claims, the rules of their verdicts, and the parts of a rerun."""

import math
import re
from importlib import import_module
from types import FunctionType

import numpy as np
import pytest

from tellall.core.errors import InvalidInput
from tellall.papers.claims import (
    Claim,
    Joined,
    PaperPart,
    at_least,
    at_most,
    attributes_for,
    filled,
    flips,
    holds_if,
    mended,
    refuted,
    run_parts,
)
from tellall.report.paper_words import MEANINGS

PAPERS = ("contingency_tables", "linear_reconstruction", "private_ols", "regression_noise", "robust_tracing")


@pytest.mark.parametrize("name", PAPERS)
def test_every_claim_has_its_own_key_a_number_in_the_paper_and_a_verdict(name):
    claims = import_module(f"tellall.papers.{name}").CLAIMS
    assert len({claim.key for claim in claims}) == len(claims)
    for claim in claims:
        assert claim.what
        assert claim.where
        assert not isinstance(claim.verdict, str) or claim.verdict in MEANINGS
        assert claim.says or claim.verdict == "our own addition"


def test_theorem_3_3_is_never_called_false():
    """E-LR-1: only Theorems B.3 and B.4 and Eq. (7) are false as printed; the theorem stands."""
    claims = import_module("tellall.papers.linear_reconstruction").CLAIMS
    rules = {one: one.verdict for one in claims if isinstance(one.verdict, FunctionType)}
    found = {one: rule({"mended": True, "same": True}) for one, rule in rules.items()}
    false = [one for one, verdict in found.items() if verdict == "false as worded"]
    assert {one.key for one in false} == {"norm", "norm of products", "section", "one matrix", "trees"}
    assert not any("3.3" in one.where for one in false)


def test_verdicts_follow_the_numbers():
    no = "not reproduced"
    for value, low, high in ((0.5, "holds", "holds"), (0.6, "holds", no), (math.nan, no, no)):
        case = {"value": value, "bound": 0.5}
        assert at_least(0.5)(case) == at_least("bound")(case) == low
        assert at_most(0.5)(case) == at_most("bound")(case) == high
    assert [holds_if("x")({"x": x}) for x in (True, False)] == ["holds", no]
    corrected = ({"mended": True}, {"mended": False}, {"mended": True, "printed": True})
    assert [mended("copy")(case) for case in corrected] == ["copy", no, "holds"]
    broken = [rule({"mended": True}) for rule in (refuted(), refuted("constant"))]
    assert broken == ["false as worded", "constant"]
    choices = ((True, True), (False, True), (False, False))
    found = [flips("constant")({"always": always, "sometimes": some}) for always, some in choices]
    assert found == ["holds", "wording", "constant"]


def test_kinds_are_by_their_definitions():
    """What a counterexample breaks is refuted; a gap, loose words or a misprint never says false."""
    for word in ("false as worded", "constant", "holds"):
        with pytest.raises(InvalidInput, match="word must be a gap"):
            mended(word)
    for word in ("wording", "gap in the proof", "copy"):
        with pytest.raises(InvalidInput, match="word must be false as worded"):
            refuted(word)


@pytest.mark.parametrize("name", PAPERS)
def test_the_paper_s_column_holds_the_paper_s_words(name):
    """No bar, size or reading of ours; numbers that are filled in are the paper's, by their names."""
    for claim in import_module(f"tellall.papers.{name}").CLAIMS:
        assert not re.search(r"\bhere:|\bwe \b|\bours?\b|must (be|read)|tellall", claim.says), claim.key
    with pytest.raises(InvalidInput, match="says must be the paper's words"):
        Claim("k", "w", "Thm. 1", "at most {bound:g}")
    assert Claim("k", "w", "Thm. 1", "{paper_error:g} ± {paper_spread:g}").says


def test_a_claim_about_the_paper_s_data_is_not_tried_on_other_data():
    claims = (
        Claim("own", "own", "Fig. 1", "s", verdict=at_most(1.0), own_data=True),
        Claim("all", "all", "Lemma 1", "s", verdict=at_most(1.0)),
        Claim("ours", "ours", "Fig. 1", own_data=True),
    )
    cases = [("own", {"value": 0}), ("all", {"value": 0}), ("ours", {"value": 0})]
    assert [one.verdict for one in filled(claims, cases)] == ["holds", "holds", "our own addition"]
    other = [one.verdict for one in filled(claims, cases, other_data=True)]
    assert other == ["not tried (other data)", "holds", "our own addition"]


def test_a_claim_is_filled_from_its_cases_in_the_order_of_the_table():
    claims = (
        Claim(
            "b",
            "second {name}",
            "Thm {n}",
            "at most {paper_bound:g}",
            "{sizes:.1f}",
            verdict=at_most("bound"),
        ),
        Claim("a", "first", "Sec. 1", ours="{value!n}, {value:.1%}"),
        Claim("c", "never reported", "Sec. 2"),
    )
    limit = {"bound": 1, "paper_bound": 1}
    cases = [
        ("a", {"value": 0.125}),
        ("b", {"value": 2, "interval": (1.5, 2.5), "name": "x", "n": 2, "sizes": Joined((1, 2.25)), **limit}),
        ("b", {"value": 1, "name": "y", "n": 3, "sizes": Joined(), **limit}),
    ]
    one, two, three = filled(claims, cases)
    assert (one.what, one.where, one.says, one.tested) == ("second x", "Thm 2", "at most 1", "1.0, 2.2")
    assert (one.ours, one.verdict, one.value, one.bound) == ("2 [1.5, 2.5]", "not reproduced", 2.0, 1.0)
    assert (two.verdict, three.ours, three.verdict) == (
        "holds",
        "0.125, 12.5\N{NO-BREAK SPACE}%",
        "our own addition",
    )
    with pytest.raises(KeyError):
        filled(claims, [("d", {})])


def part(name, told, work):
    def run(rng, tell):
        for step in told:
            tell(step)
        return (), [(name, {"value": rng.random()})]

    return PaperPart(run, work)


def test_every_part_has_its_own_stream_and_all_work_is_told_of():
    seen = []
    parts = [part("some", [1, 1], 5), part("too much", [9], 2), part("silent", [], 1)]
    _, cases = run_parts(parts, 3, lambda done, total: seen.append((done, total)))
    assert seen == [(1, 8), (2, 8), (5, 8), (7, 8), (8, 8)]
    drawn = [float(stream.random()) for stream in np.random.default_rng(3).spawn(3)]
    assert [case["value"] for _, case in cases] == drawn
    assert run_parts([part("alone", [1], 1)], 0, None)[1][0][0] == "alone"


def test_a_part_alone_has_the_numbers_of_the_whole():
    parts = [part(name, [], 1)._replace(claims=(name,)) for name in "abc"]
    whole = run_parts(parts, 7, None)[1]
    assert run_parts(parts, 7, None, frozenset("b"))[1] == [whole[1]]
    assert run_parts(parts, 7, None, frozenset("z"))[1] == []
    with pytest.raises(InvalidInput, match="claims must be all that the part reports"):
        run_parts([parts[0]._replace(claims=("b",))], 7, None)


def test_attributes_for_a_number_of_pairs():
    for values in range(1, 200):
        d = attributes_for(values)
        assert d * (d - 1) // 2 >= values > (d - 1) * (d - 2) // 2
