import json
import math
import re
from dataclasses import replace

import numpy as np
import pytest

import tellall as ta
from tellall.report.kit.plot import Axis, Figure, Rule, Series
from tellall.report.paper import IndexEntry, PaperRerun, PaperTable, Statement
from tellall.report.paper_page import _answer, render
from tellall.report.paper_words import MEANINGS
from tests.report.pages import NASTY, Tags, browser_page, charts, fits_a_telephone, refuses_the_world


def rerun(word: str = NASTY) -> PaperRerun:
    figure = Figure(
        f"title {word}",
        f"caption {word}",
        Axis(f"x {word}", unit=word, log=True),
        Axis(f"y {word}"),
        (
            Series(f"line {word}", [1, 10, 100], [1, math.nan, 3], low=[0, 1, 2], high=[2, 3, 4]),
            Series("points", [1, 10], [2, 1], low=[1, 0], high=[3, 2], kind="points"),
            Series("bars", np.geomspace(1, 100, 5), [1, 2, 3, 4], kind="histogram"),
        ),
        (Rule(5, f"rule {word}", "x"), Rule(2, "level")),
    )
    named = Figure("t", "c", Axis("a", categories=(word, "b")), Axis("y"), (Series("s", [0, 1], [1, 2]),))
    return PaperRerun(
        name="robust-tracing",
        title=f"A paper {word}",
        reference=f"Somewhere {word}",
        statements=(
            Statement(f"claim {word}", f"Prop. {word}", f"says {word}", word, "0.5", "holds", 0.5, 0.25),
            Statement(
                "too much", "Fig. 1", "at most 1", "", "2 [1.5, 2.5]", "false as worded", 2.0, 1.0, (1.5, 2.5)
            ),
            Statement("seen", "Sec. 1", "", "n = 9", "3", "our own addition", 3.0),
            Statement("printed wrong", "Lemma 11", "x", "", "y", "copy"),
        ),
        figures=(figure, named),
        notes=(f"note {word}",),
        seed=7,
        details={"more": [1, 2]},
    )


def judged(verdicts, **given) -> PaperRerun:
    """A rerun of claims with these verdicts and names."""
    statements = [Statement("w", "w", "p", "t", "o", verdict, claim=claim) for verdict, claim in verdicts]
    return PaperRerun(name="private-ols", title="t", reference="r", statements=tuple(statements), **given)


@pytest.fixture(scope="module")
def tags() -> Tags:
    return Tags.of(render(rerun()))


def test_names_come_out_as_text_and_nothing_is_loaded(tags):
    refuses_the_world(tags)
    assert tags.text.count("alert('x')") >= 12


def test_the_page_says_what_must_be_said(tags):
    for words in (
        "Statements",
        "Figures",
        "Notes",
        "How to repeat this",
        "seed",
        "7",
        ta.__version__,
        "numpy",
    ):
        assert words in tags.text, words
    for verdict in ("holds", "false as worded", "our own addition", "copy"):
        assert verdict in tags.text
        assert f"{verdict.capitalize()}: {MEANINGS[verdict]}." in tags.text
    assert "Gap in the proof" not in tags.text  # only the words that are used are explained
    assert "2 [1.5, 2.5]" in tags.text
    assert "tellall paper robust-tracing --quick --seed 7" in tags.text
    named = replace(rerun(""), data="my files")
    assert "tellall paper robust-tracing --quick --data 'my files' --seed 7" in Tags.of(render(named)).text


def test_every_chart_has_words_and_a_table():
    page = render(rerun())
    assert charts(page) == page.count("<details>") == 2
    for figure in re.findall(r"<figure.*?</figure>", page, re.DOTALL):
        for part in ("<title", "<desc", "<table", "<figcaption>", 'class="key'):
            assert part in figure


def test_saving_writes_the_page_and_its_document(tmp_path):
    page = rerun().save(tmp_path / "out")
    assert sorted(p.name for p in page.parent.iterdir()) == ["robust-tracing.html", "robust-tracing.json"]
    document = json.loads((page.parent / "robust-tracing.json").read_text(encoding="utf-8"))
    assert render(rerun()) == page.read_text(encoding="utf-8")
    assert document["more"] == [1, 2]
    (tmp_path / "file").write_text("")
    with pytest.raises(ta.InvalidInput, match="folder must be a folder"):
        rerun().save(tmp_path / "file")


def test_a_correction_is_never_counted_as_holding():
    assert rerun("").counts == {"holds": 1, "false as worded": 1, "our own addition": 1, "copy": 1}
    with pytest.raises(ta.InvalidInput, match="verdict must be one of"):
        Statement("w", "w", "p", "t", "o", "corrected")


@pytest.mark.parametrize(
    ("verdicts", "kind", "word"),
    [
        (["holds", "holds", "our own addition", "not tried"], "pass", "2 of 2"),
        (["holds", "wording"], "review", "1 of 2"),
        (["holds", "holds within our range"], "pass", "2 of 2"),
        (["holds", "not reproduced"], "review", "1 of 2"),
        (["holds", "false as worded"], "fail", "1 of 2"),
        (["our own addition"], "review", "0 of 0"),
    ],
)
def test_a_paper_is_summed_up(verdicts, kind, word):
    answer = _answer(judged([(verdict, "") for verdict in verdicts]))
    within = ", 1 of them within our range" if "holds within our range" in verdicts else ""
    assert (answer.kind, answer.word) == (kind, f"{word} objects that were tried hold as printed{within}")
    assert ("makes no claim" in answer.sentence) == ("our own addition" in verdicts)


def test_the_headline_counts_objects_and_not_their_cases():
    """Seven cases of one lemma are one object; so are three of a claim that has no number."""
    statements = [("holds", "lemma")] * 7
    statements += [(verdict, "text") for verdict in ("holds", "not reproduced", "holds")]
    statements += [("our own addition", "more")]
    index = [IndexEntry("L. 1", "", "holds", tuple(range(1, 8))), IndexEntry("L. 2", "", "not tried")]
    answer = _answer(judged(statements, index=tuple(index)))
    assert answer.word == "1 of 2 objects that were tried hold as printed"
    assert "Of 2 numbered objects 1 were not tried; 1 claims of its text have no number." in answer.sentence


def test_the_summary_says_whose_data_these_are():
    index = tuple(IndexEntry("Fig. 1", "", word) for word in ("holds", "not tried (other data)"))
    whose = judged([], index=index, stand_in="some patients")
    answer = _answer(whose)
    assert answer.word == "1 of 1 objects that were tried hold as printed"
    assert (
        "some patients stand in: 1 of its objects are about its own data and were not tried"
        in answer.sentence
    )
    assert "stand in" not in _answer(replace(whose, stand_in="")).sentence


def test_a_table_of_the_paper_stands_beside_ours():
    table = PaperTable("Table 3", f"caption {NASTY}", ("scale", "the paper", "ours"), (("1", "819", NASTY),))
    found = replace(rerun("x"), tables=(table, replace(table, number="Table 2")))
    tags = Tags.of(render(found))
    refuses_the_world(tags)
    for words in ("Tables", "Table 3: caption", "the paper", "819"):
        assert words in tags.text
    alone = found.about("Table 3")
    assert [one.number for one in alone.tables] == ["Table 3"]
    page = Tags.of(render(alone)).text
    assert "only what is about Table 3" in page
    assert "--about 'Table 3'" in page
    assert "819" in str(alone)


def test_the_terminal_has_statements_figures_and_notes():
    said = str(rerun("word"))
    for words in ("holds", "too much (Fig. 1)", "ours: 2 [1.5, 2.5]; the paper: at most 1", "note word"):
        assert words in said
    assert "title word" in said


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_browser_has_nothing_to_say_and_nothing_to_ask(tmp_path, scheme):
    path = rerun().save(tmp_path)

    def look(page):
        drawn = page.evaluate("[...document.querySelectorAll('svg.broad')].map(s => s.getBBox().width)")
        return page.inner_text("body"), drawn

    (shown, drawn), messages = browser_page(path, scheme, look)
    assert messages == [path.as_uri()]
    assert "alert('x')" in shown
    assert all(width > 500 for width in drawn)
    fits_a_telephone(path)
