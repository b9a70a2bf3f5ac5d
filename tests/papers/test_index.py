"""Every numbered object of a paper is in its index, and only "false as worded" says that one is wrong."""

import json
import re
from importlib import import_module
from pathlib import Path

import pytest
from tests.conftest import SHARED
from tests.report.pages import Tags

from tellall.papers import linear_attacks
from tellall.papers.claims import Claim, Numbered, Paper, objects_in
from tellall.report.paper_page import render

PAPERS = {
    name: import_module(f"tellall.papers.{name.replace('-', '_')}").PAPER
    for name in (
        "contingency-tables",
        "linear-reconstruction",
        "private-ols",
        "regression-noise",
        "robust-tracing",
    )
}
RECORDED = json.loads((Path(__file__).parent / "numbered.json").read_text(encoding="utf-8"))
SHORT = {
    "theorem": "Thm.",
    "lemma": "Lemma",
    "proposition": "Prop.",
    "prop.": "Prop.",
    "corollary": "Cor.",
    "cor.": "Cor.",
    "definition": "Def.",
    "definitions": "Def.",
    "def.": "Def.",
    "claim": "Claim",
    "remark": "Remark",
    "figure": "Fig.",
    "fig.": "Fig.",
    "table": "Table",
    "algorithm": "Algorithm",
}
NUMBER = re.compile(
    rf"\b({'|'.join(map(re.escape, SHORT))})[*_]*\s+[*_]*((?:[A-D]\.)?\d+(?:\.\d+)?)", re.IGNORECASE
)


def read_off(text):
    """The names of theorems and the like that a text has, in short form."""
    return {f"{SHORT[kind.lower()]} {number}" for kind, number in NUMBER.findall(text)}


def numbered(paper):
    return [one for one in paper.index if isinstance(one, Numbered)]


@pytest.mark.parametrize("name", PAPERS)
def test_the_index_names_every_numbered_object_once(name):
    names = [one.number for one in numbered(PAPERS[name])]
    assert len(set(names)) == len(names)
    extra = {one for one in names if one.startswith("Eq.")}
    assert set(names) - extra == set(RECORDED[name])


@pytest.mark.parametrize("name", PAPERS)
def test_the_recorded_names_are_those_of_the_text(name):
    path = SHARED / "papers" / f"{name}.txt"
    if not path.is_file():
        pytest.skip("the papers' texts are not beside this checkout; the recorded names stand in")
    assert read_off(path.read_text(encoding="utf-8")) == set(RECORDED[name])


@pytest.mark.parametrize("name", PAPERS)
def test_shares_are_written_with_a_space_before_the_sign(name):
    """So are those that templates fill in, and those of texts that an experiment writes."""
    paper = PAPERS[name]
    texts = [text for claim in paper.claims for text in (claim.what, claim.paper, claim.tested, claim.ours)]
    assert not [text for text in (*texts, *paper.notes) if re.search(r"\d%(?!\})", text)]
    folder = Path(linear_attacks.__file__).parent
    for path in folder.glob(f"{name.split('-')[0]}*.py"):
        for string in re.findall(r'\bf"[^"\n]*"', path.read_text(encoding="utf-8")):
            assert not re.search(r"(?<!\{)\{[^{}]*%\}|\d%", string), string


@pytest.mark.parametrize("name", PAPERS)
def test_every_claim_stands_somewhere_in_its_paper(name):
    paper = PAPERS[name]
    places = {one if isinstance(one, str) else one.number for one in paper.index}
    for claim in paper.claims:
        assert objects_in(claim.where)[0] in places, claim.key
        for part in objects_in(claim.where):
            assert part in places or re.fullmatch(r"E-[A-Z]{2}-\d+|note \d+", part), (claim.key, part)


@pytest.mark.parametrize("name", PAPERS)
def test_every_object_is_tried_or_says_why_not(name):
    """And nothing that is tried says that it is not."""
    paper = PAPERS[name]
    tried = {
        part
        for claim in paper.claims
        if claim.kind not in ("", "not tried")
        for part in objects_in(claim.where)
    }
    said = {part for one in paper.claims if one.kind == "not tried" for part in objects_in(one.where)}
    for one in numbered(paper):
        assert one.says
        assert bool(one.why) != (one.number in tried | said), one.number


@pytest.mark.parametrize("name", PAPERS)
def test_nothing_is_called_false_without_a_counterexample_beside_it(name):
    """The claim gives the paper's words, and what we found holds a number; an erratum explains it."""
    for claim in PAPERS[name].claims:
        if "false as worded" in claim.possible:
            assert claim.paper, claim.key
            assert "{" in claim.ours, claim.key
            assert "{shown}" not in claim.ours, claim.key  # a sentence, not a bare number
            assert re.search(r"E-[A-Z]{2}-\d+", claim.where), claim.key
            assert not claim.where.startswith("proof of"), claim.key  # a step of a proof is a gap


@pytest.mark.parametrize("name", PAPERS)
def test_a_page_calls_nothing_wrong_in_other_words(name):
    """Only the verdict says it; a note that does would need its own counterexample."""
    paper = PAPERS[name]
    for text in (*paper.notes, *(f"{one.what} {one.paper} {one.ours}" for one in paper.claims)):
        assert not re.search(r"\b(is|are) (wrong|false|incorrect)\b", text), text


def page_of(paper, cases):
    found = paper.rerun((), cases, 0, True)
    json.dumps(found.as_json(), allow_nan=False)  # fails if a number is none
    return found, Tags.of(render(found))


def test_statements_and_objects_are_in_the_paper_s_order_and_the_gravest_verdict_leads():
    paper = Paper(
        "x",
        "t",
        "r",
        (
            Claim("late", "late", "Thm. 2", "s", kind="at most 1"),
            Claim("early", "early", "Lemma 1, Thm. 2", "s", kind="constant"),
            Claim("far", "far", "Thm. 2", "s", kind="at most 1 within our range"),
            Claim("ours", "ours", "Fig. 1"),
        ),
        (),
        (Numbered("Lemma 1", "one"), "Sec. 2", Numbered("Thm. 2", "two"), Numbered("Fig. 1", "f", "drawn")),
    )
    cases = [
        ("late", {"value": 0}),
        ("early", {"mended": True}),
        ("ours", {"value": 1}),
        ("far", {"value": 2}),
    ]
    found, tags = page_of(paper, cases)
    assert [one.what for one in found.statements] == ["early", "late", "far", "ours"]
    assert [(one.number, one.verdict, one.found) for one in found.index] == [
        ("Lemma 1", "constant", "statement 1"),
        ("Thm. 2", "constant", "statements 1–3"),
        ("Fig. 1", "not tried", "drawn; statement 4"),
    ]
    assert found.index[2].why == "drawn"
    assert [one.verdict for one in found.statements][1:3] == ["holds", "not reproduced"]
    assert "Index" in tags.text
    for words in ("Lemma 1", "drawn; statement 4"):
        assert words in str(found)
    assert "drawn; 4" in tags.text
    within = paper.rerun((), [("far", {"value": 0})], 0, True)
    assert within.counts == {"holds within our range": 1}
    assert within.index[0].why == "nothing in this run is about it"
