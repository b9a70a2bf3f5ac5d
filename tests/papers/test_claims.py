"""Rows of claims, the rules of their verdicts, and the parts of a rerun."""

import math
import re

import numpy as np
import pytest

from tellall.core.errors import InvalidInput
from tellall.papers.claims import Claim, Joined, PaperPart, attributes_for, filled, run_parts
from tellall.papers.reader import read_paper
from tellall.report.paper_words import MEANINGS

PAPERS = ("contingency-tables", "linear-reconstruction", "private-ols", "regression-noise", "robust-tracing")


def claim(kind, **more):
    return Claim("k", "w", "Thm. 1", "s", kind=kind, **more)


@pytest.mark.parametrize("name", PAPERS)
def test_every_claim_has_a_number_in_the_paper_an_experiment_and_a_verdict(name):
    for one in read_paper(name).claims:
        assert one.what
        assert one.where
        assert one.run
        assert one.possible <= set(MEANINGS)
        assert one.paper or one.possible == {"our own addition"}


def test_theorem_3_3_is_never_called_false():
    """E-LR-1: only Theorems B.3 and B.4 and Eq. (7) are false as printed; the theorem stands."""
    claims = read_paper("linear-reconstruction").claims
    false = [one for one in claims if "false as worded" in one.possible]
    assert {one.key for one in false} == {"norm", "norm of products", "section", "one matrix", "trees"}
    assert not any("3.3" in one.where for one in false)


def test_verdicts_follow_the_numbers():
    no = "not reproduced"
    for value, low, high in ((0.5, "holds", "holds"), (0.6, "holds", no), (math.nan, no, no)):
        case = {"value": value, "bound": 0.5}
        assert claim("at least 0.5").verdict(case) == claim("at least bound").verdict(case) == low
        assert claim("at most 0.5").verdict(case) == claim("at most bound").verdict(case) == high
    assert claim("at least x", settings={"x": 0.5}).verdict({"value": 0.6}) == "holds"
    assert claim("at least 0.5 within our range").verdict({"value": 0.6}) == "holds within our range"
    assert [claim("holds if x").verdict({"x": x}) for x in (True, False)] == ["holds", no]
    for word in ("copy", "false as worded", "constant", "wording", "gap in the proof"):
        assert [claim(word).verdict({"mended": yes}) for yes in (True, False)] == [word, no]
        assert claim(word).possible == {word, no}
    choices = ((True, True), (False, True), (False, False))
    choice = claim("by choice, else constant")
    found = [choice.verdict({"always": always, "sometimes": some}) for always, some in choices]
    assert found == ["holds", "wording", "constant"]
    assert choice.possible == set(found)
    assert claim("").verdict({}) == "our own addition"
    assert claim("not tried").verdict({}) == "not tried"


@pytest.mark.parametrize("kind", ["holds", "not tried (other data)", "at most", "wrong", "by choice, else"])
def test_a_kind_is_a_rule_or_a_correction(kind):
    """Nothing holds without a rule, and a bar needs a number."""
    with pytest.raises((InvalidInput, ValueError)):
        claim(kind).verdict({"value": 1.0, "always": False, "sometimes": False})


@pytest.mark.parametrize("name", PAPERS)
def test_the_paper_s_column_holds_the_paper_s_words(name):
    """No bar, size or reading of ours; numbers that are filled in are the paper's, by their names."""
    for one in read_paper(name).claims:
        assert not re.search(r"\bhere:|\bwe \b|\bours?\b|must (be|read)|tellall", one.paper), one.key
    with pytest.raises(InvalidInput, match="paper must be the paper's words"):
        Claim("k", "w", "Thm. 1", "at most {bound:g}")
    assert Claim("k", "w", "Thm. 1", "{paper_error:g} ± {paper_spread:g}").paper


def test_a_claim_about_the_paper_s_data_is_not_tried_on_other_data():
    claims = (
        Claim("own", "own", "Fig. 1", "s", kind="at most 1 on its own data"),
        Claim("all", "all", "Lemma 1", "s", kind="at most 1"),
        Claim("ours", "ours", "Fig. 1"),
    )
    cases = [("own", {"value": 0}), ("all", {"value": 0}), ("ours", {"value": 0})]
    assert [one.verdict for one in filled(claims, cases)] == ["holds", "holds", "our own addition"]
    other = [one.verdict for one in filled(claims, cases, other_data=True)]
    assert other == ["not tried (other data)", "holds", "our own addition"]


def test_a_paper_is_read_from_its_file(tmp_path):
    file = tmp_path / "an-example.toml"
    words = 'title = "t"\nreference = "r"\nnotes = []\nindex = ["Sec. 1", ["Thm. 1", "says"]]\n'
    file.write_text(words + '[effort]\nruns = [2, [3, 4]]\n[claim.k]\nwhat = "w"\nwhere = "Thm. 1"\n')
    paper = read_paper(file)
    assert (paper.name, paper.title, paper.effort) == ("an-example", "t", {"runs": (2, (3, 4))})
    assert [one.key for one in paper.claims] == ["k"]
    other = tmp_path / "other.toml"
    other.write_text(file.read_text(encoding="utf-8") + 'says = "s"\n', encoding="utf-8")
    with pytest.raises(InvalidInput, match="says"):
        read_paper(other)


def test_a_claim_is_filled_from_its_cases_in_the_order_of_the_table():
    claims = (
        Claim(
            "b",
            "second {name}",
            "Thm {n}",
            "at most {paper_bound:g}",
            tested="{sizes:.1f}",
            kind="at most bound",
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
