import json
import re
from html import escape
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tellall as ta
from tellall.audits.document import read_audit
from tellall.audits.measures.chance_intervals import Luck
from tellall.audits.outcome import Foreseen, Outcome
from tellall.audits.verdict import Verdict
from tellall.core.amounts import with_interval
from tellall.core.reasons import KINDS, Reason
from tellall.linalg.solvers.solution import Status
from tellall.report.audit_page import render
from tellall.report.first_screen import release_blocks
from tellall.report.kit.bars import SIGNS, Bar, LimitLine, bars, is_cut
from tellall.report.kit.marks import SLIM, WIDTH, ticks
from tests.report.pages import NASTY, Tags, browser_page, charts, fits_a_telephone, refuses_the_world


@pytest.fixture(scope="module")
def audit() -> ta.Audit:
    rng = np.random.default_rng(0)
    frame = {f"{NASTY}{j}": rng.integers(0, 2, 60) for j in range(4)}
    frame["=HYPERLINK('x')"] = rng.choice([NASTY, "</style>", "{{ 7 * 7 }}"], 60)
    frame[f"secret {NASTY}"] = rng.permutation(np.where(np.arange(60) % 2, NASTY, "</title>"))
    people = ta.Dataset.from_frame(frame, secret=f"secret {NASTY}")
    plan = {
        "releases": [
            {
                "name": f"first {NASTY}",
                "statistic": {"kind": "Marginals", "ways": 3},
                "protect": [{"kind": "Suppression", "below": 2}, {"kind": "Rounding", "base": 3}],
            },
            {"name": "{% raw %}{{ plan }}", "statistic": {"kind": "Marginals", "ways": 2}},
        ]
    }
    return ta.audit(people, plan, name=NASTY, command=f"tellall audit '{NASTY}'")


@pytest.fixture(scope="module")
def tags(audit) -> Tags:
    return Tags.of(render(audit.content))


def test_names_and_values_come_out_as_text(tags):
    refuses_the_world(tags)
    assert "alert('x')" in tags.text
    assert "{{ plan }}" in tags.text


def test_every_chart_has_a_table_and_words_for_those_who_cannot_see_it(audit):
    page = render(audit.content)
    assert charts(page) == 5
    first, *others = page.split("<figure>")
    shown = Tags.of(first[first.index("<table") :]).text  # the first table has the numbers of the bars
    for finding in audit.document["findings"]:
        if finding["role"] != "step":
            assert with_interval(finding["summary"]["advantage"], finding["summary"]["interval"]) in shown
    for figure in others:
        assert "<title" in figure
        assert "<desc" in figure
        same = "The table has the same numbers." in figure or "<table" in figure
        assert same or "are invented" in figure  # the drawn example: its words are all there is


CODES = {"pass": [], "review": ["limit-inside-interval"], "fail": ["advantage-above-limit"]}


def test_every_row_and_every_bar_has_the_colour_and_the_sign_of_its_own_verdict(audit):
    document = json.loads(json.dumps(audit.document))
    judged = [row for row in document["findings"] if row["role"] != "step"]
    for row, word in zip(judged, ("pass", "review", "fail"), strict=False):
        row["verdict"] = Verdict(
            f"{word} it is.", tuple(Reason(code, "So.") for code in CODES[word])
        ).as_json()
    page = render(read_audit(document))
    table = page[page.index("<tbody>") : page.index("</tbody>")]
    assert re.findall(r'class="badge (\w+)"', table)[:3] == ["pass", "review", "fail"]
    for word, sign in SIGNS.items():
        assert (
            f'<span class="badge {word}"><span aria-hidden="true">{sign}</span> {word.capitalize()}' in table
        )
        assert all(KINDS[code].decided in table for code in CODES[word])
    for figure in page.split("<figure>")[1:3]:
        drawing = figure[: figure.index("</svg>")]
        assert re.findall(r'<rect class="bar (\w+)"', drawing)[:3] == ["pass", "review", "fail"]
        signs = re.findall(r'class="over-word sign \w+"[^>]*>(.)<', drawing)
        assert signs[:3] == list(SIGNS.values())


def test_both_limits_are_drawn(audit):
    document = json.loads(json.dumps(audit.document)) | {"limit": 0.07, "exposed_limit": 3}
    page = render(read_audit(document))
    assert page.count(">limit 7.0<") == 4  # of releases and of steps, each broad and slim
    assert page.count(">limit 3<") == 2
    assert "an advantage of 7.0 in 100, and 3 people with a sensitive value" in Tags.of(page).text
    uncounted = render(read_audit(document | {"exposed_limit": None}))
    assert "limit 3" not in uncounted
    assert "The limit of the advantage is 7.0 in 100." in Tags.of(uncounted).text


def test_the_page_says_what_must_be_said(audit, tags):
    for words in (
        "What each release gives away",
        "People exposed, by confidence",
        "What each protection bought",
        "What was assumed about the attacker",
        "What was not checked",
        "majority",
        "population",
        "seed",
        ta.__version__,
        audit.verdict.sentence,
        '"kind": "Marginals"',
    ):
        assert words in tags.text, words


def test_the_guide_to_the_report_has_every_column_of_its_table(audit):
    guide = Path(__file__).parents[2].joinpath("docs", "reading.md").read_text(encoding="utf-8")
    (table,) = release_blocks(audit.content)
    first, *words = table.head
    assert (first, words[0]) == ("release", "verdict")
    for word in words[1:]:
        assert re.search(rf"^\| [^|]*{re.escape(word)}[^|]* \|", guide, re.MULTILINE), word


def test_saving_writes_the_two_files_and_the_page_can_be_made_from_the_document(audit, tmp_path):
    page = audit.save(tmp_path / "out")
    assert sorted(path.name for path in page.parent.iterdir()) == ["audit.json", "report.html"]
    document = json.loads((page.parent / "audit.json").read_text(encoding="utf-8"))
    assert render(read_audit(document)) == page.read_text(encoding="utf-8")
    (tmp_path / "file").write_text("")
    with pytest.raises(ta.InvalidInput, match="folder must be a folder"):
        audit.save(tmp_path / "file")


def outcome(advantage=0.0, low=0.0, high=0.0, **changes) -> Outcome:
    """What an attack on 1,000 people found; nobody is proved or exposed."""
    nobody = {"0": 0, "1": 0}
    fields = {
        "statistic": "s",
        "protection": "exact",
        "people": 1000,
        "draws": 1,
        "asked": "auto",
        "decoder": "posterior",
        "real": False,
        "accuracy": 0.5 + advantage,
        "accuracy_interval": (0.4, 0.6),
        "baselines": {"majority": 0.5},
        "baseline": "majority",
        "advantage": advantage,
        "interval": (low, high),
        "found": 0.5,
        "holders": 500,
        "named": 0,
        "named_right": 0,
        "proved_alone": nobody,
        "proved_group": nobody,
        "learnt": nobody,
        "exposed": {"0.95": nobody, "0.99": nobody},
        "luck": Luck(0, 0, 0, 1.0),
        "contradicted": False,
        "status": Status("solved"),
        "curve": ((0.5, 3), (0.9, 1)),
    }
    return Outcome(**{**fields, **changes})


FORESEEN = Foreseen(1200, 1000, 900, 800, None, 0.75, 0.875, 0.5, (f"Odd({NASTY})",))


def page_with(audit, **changes) -> tuple[str, Tags]:
    """The page of the audit with the first summary changed and alone."""
    document = json.loads(json.dumps(audit.document))
    document["findings"] = document["findings"][:1]
    document["findings"][0]["summary"].update(changes)
    page = render(read_audit(document))
    return page, Tags.of(page)


def test_the_page_shows_what_was_known_beside_what_was_found(audit):
    plain = json.loads(json.dumps(outcome(foreseen=FORESEEN).as_json()))["foreseen"]
    promise = {"epsilon": 1.5, "delta": 1e-6, "relation": "one row replaced", "text": NASTY}
    skipped = [f"2 of 3 models ({NASTY}): dependent"]
    page, tags = page_with(audit, foreseen=plain, promised=promise, skipped=skipped, accuracy=0.625)
    text = tags.text.replace("\N{NO-BREAK SPACE}", " ")
    assert (
        "foreseen before any attack: 1,200 equations about 1,000 people, at most 800 unknowns solvable, "
        "predicted 75.0 %, at most 87.5 % for any attack on secrets drawn at random "
        f"(leaving out Odd({NASTY})); found 62.5 %"
    ) in text
    assert f"promised: ε = 1.5, δ = 1e-06 for one row replaced ({NASTY})" in tags.text
    assert f"no equation from {skipped[0]}" in tags.text
    assert "decoded by " in tags.text
    assert audit.document["findings"][0]["verdict"]["sentence"] in tags.text
    assert "<img" not in page
    assert "<script" not in page
    assert "for any attack" not in page_with(audit, foreseen={**plain, "limit": None})[1].text
    assert "for any attack" not in page_with(audit, foreseen={**plain, "limit": 1.0})[1].text


def test_in_sample_fit_is_left_out_of_the_advantage_that_is_shown(audit):
    numbers = {"real": True, "accuracy": 8.0, "baselines": {"median": 10.0}, "baseline": "median"}
    gained = {"advantage": 2.0, "interval": [1.9, 2.1], "in_sample": 0.8, "beyond_fit": [1.2, 0.9, 1.5]}
    text = page_with(audit, **numbers, **gained)[1].text.replace("\N{NO-BREAK SPACE}", " ")
    assert "Advantage in % of the strongest baseline's error, in-sample fit left out." in text
    assert "+12.0 [+9.0, +15.0]" in text
    assert "+20.0" not in text
    assert "named with confidence" not in text  # of numbers, intervals say how sure the attack is
    whole = page_with(audit, **numbers, **{**gained, "in_sample": 0.0, "beyond_fit": None})[1].text
    assert "left out" not in whole
    assert "+20.0" in whole


def test_the_page_says_how_often_how_many_were_wrong(audit):
    """Definition 1: (α, β) over draws of the noise; of one draw only what it was."""
    text = page_with(audit, wrong=[10, 60, 70, 300], people=1000, draws=4)[1].text
    assert "wrong about more than a share α of the people in a share β of 4 draws: α = 0.01: β = 0.75" in text
    assert "α = 0.25: β = 0.25 [0.01, 0.81]" in text
    once = page_with(audit, wrong=[60], people=1000)[1].text
    assert "wrong about at most 10 % of the people" in once
    bad = page_with(audit, wrong=[600], people=1000)[1].text
    assert "wrong about more than 25 % of the people" in bad


def test_the_page_counts_the_people_who_decide_the_verdict(audit):
    """Of several decoders each number is the largest; sensitive values alone count against the limit."""
    document = json.loads(json.dumps(audit.document))
    (finding,) = document["findings"] = document["findings"][:1]
    finding |= {"proved_alone": {"0": 1, "1": 3}, "proved_group": {"0": 5, "1": 6}}
    for decoder, exposed, learnt in zip(finding["decoders"], (13, 2), (4, 5), strict=False):
        decoder |= {"exposed": exposed, "learnt": learnt}
    finding["decoders"] = finding["decoders"][:2]
    finding["summary"]["luck"] = {"sure": 30, "right": 29, "expected": 12.4, "chance": 0.001}
    page = render(read_audit(document))
    assert "sure of 30 people: 29 right, 12 expected by luck" in Tags.of(page).text
    row = page[page.index('<th scope="row">first') :]
    cells = re.findall('<td data-label="[^"]*">([^<]*)</td>', row[: row.index("</tr>")])
    assert cells[-4:] == ["4", "11", "13", "5"]
    bars_drawn = page[page.index("People proved alone or exposed</h3>") :]
    assert ">5</text>" in bars_drawn[: bars_drawn.index("</svg>")]


def test_an_audit_of_numbers_has_its_page():
    rng = np.random.default_rng(1)
    columns = rng.normal(size=(60, 6))
    secret = columns @ rng.normal(size=6) + rng.normal(180, 3, 60)
    frame = {**{f"x{j}": column for j, column in enumerate(columns.T)}, "rate": secret}
    people = ta.Dataset.from_frame(frame, secret="rate")
    statistic = {"kind": "Estimator", "loss": "linear", "intercept": True}
    found = ta.audit(people, {"releases": [{"name": "fits", "statistic": statistic}]})
    tags = Tags.of(render(read_audit(json.dumps(found.document))))
    refuses_the_world(tags)
    text = tags.text
    for words in ("off by", "rate (a number)", "% of the strongest baseline", "in the unit of rate"):
        assert words in text
    assert "people in 100" not in text


@given(st.floats(-1e3, 1e3), st.floats(1e-6, 1e3))
def test_ticks_are_few_and_span_the_interval(low, width):
    marks = ticks(low, low + width)
    slack = 1e-6 * (abs(low) + width)
    assert marks[0] <= low + slack
    assert marks[-1] >= low + width - slack
    assert 2 <= len(marks) <= 9


def drawn_bars(rows, limit=None, width=WIDTH):
    chart = bars(rows, limit, "advantage", width=width)
    kinds = ("rect", "path", "text", "line")
    return chart, {kind: [mark for mark in chart.under if mark.tag == kind] for kind in kinds}


@given(st.lists(st.tuples(st.text(max_size=80), st.floats(-1, 1), st.floats(0, 0.3)), min_size=1, max_size=9))
def test_bars_stay_on_the_chart(rows):
    several = [Bar(label, v, f"{v:.1f}", "fail", (v - w, v + w)) for label, v, w in rows]
    for width in (WIDTH, SLIM):
        chart, found = drawn_bars(several, LimitLine(0.05, "limit"), width)
        whiskers = [mark.at["d"] for mark in found["path"] if mark.at["class"] == "whisker"]
        labels = [mark.at["y"] for mark in found["text"] if mark.at["class"] == "over-word"]
        assert len(found["rect"]) == len(whiskers) == len(rows)
        down = 0.0
        for mark, whisker in zip(found["rect"], whiskers, strict=True):
            low, high = float(whisker[1:].split()[0]), float(whisker.split("H")[1].split("M")[0])
            assert 15 <= low <= high <= width - 15
            assert mark.at["width"] >= 0
            assert any(down < y < mark.at["y"] for y in labels)
            assert not any(mark.at["y"] <= y <= mark.at["y"] + mark.at["height"] for y in labels)
            down = mark.at["y"] + mark.at["height"]
        assert down < max(mark.at["y2"] for mark in found["line"]) < chart.height


def test_one_long_bar_does_not_stretch_the_axis():
    """It ends in an arrow at the edge, with its numbers; the others keep their lengths."""
    usual = [Bar(f"area {i}", 2.0, "+2.0", "pass", (1.0, 3.0)) for i in range(8)]
    limit = LimitLine(5.0, "limit 5.0")
    lucky = Bar("tiny", 40.0, "+40.0 [−20.0, +95.0]", "review", (-20.0, 95.0))
    assert not is_cut(usual, limit)
    assert is_cut([*usual, lucky], limit)
    _, without = drawn_bars(usual, limit)
    _, beside = drawn_bars([*usual, lucky], limit)
    assert beside["rect"][0].at["width"] > 0.3 * without["rect"][0].at["width"]
    assert len([mark for mark in beside["path"] if mark.at["class"] == "arrow"]) == 2
    assert any(mark.text == lucky.text for mark in beside["text"])
    assert max(mark.at["x"] + mark.at["width"] for mark in beside["rect"]) <= WIDTH
    assert not [mark for mark in without["path"] if mark.at["class"] == "arrow"]


def test_an_axis_of_people_has_no_fractions_of_them():
    _, found = drawn_bars([Bar("a", 0.0, "0"), Bar("b", 1.0, "1")], LimitLine(0.0, "limit 0", room=5.0))
    ticks_drawn = [mark.text for mark in found["text"] if mark.at["class"] == "middle"]
    assert ticks_drawn == ["0", "1", "2", "3", "4", "5"]


def test_two_bars_of_very_different_length_are_both_whole():
    assert not is_cut([Bar("a", 1.0, ""), Bar("b", 60.0, "")], LimitLine(5.0, ""))


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_browser_has_nothing_to_say_and_nothing_to_ask(audit, tmp_path, scheme):
    path = audit.save(tmp_path)
    shown, messages = browser_page(path, scheme, lambda page: page.inner_text("body"))
    assert messages == [path.as_uri()]
    assert "alert('x')" in shown
    assert "What each protection bought" in shown
    fits_a_telephone(path)


def test_the_first_table_about_outputs_says_what_each_is_and_the_rest_is_folded(tmp_path):
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], 300),
            "area": rng.choice(list("abc"), 300),
            "pay": rng.normal(30, 5, 300).round(1),
            "ill": rng.choice(["no", "yes"], 300),
        }
    )
    people = ta.Dataset.from_frame(frame, secret="ill")
    outputs = [pd.crosstab(frame[by], frame.ill) for by in ("sex", "area")]
    folder = ta.recognise([*outputs, frame.groupby("sex").pay.mean().round(3).to_frame("pay")], people)
    document = ta.audit(folder.people(people), folder).content
    table, folded = release_blocks(document)
    assert table.head == ("output", "verdict", "what decided", "what it is", "cells that agree")
    assert [line.whole for line in table.lines] == [False, False, False, True]
    assert "takes no part" in table.lines[2].cells
    assert folded.kind == "folded"
    page = render(document)
    assert '<details class="fold">\n<summary><h2 id="works">' in page
    assert page.index("counts of ill by area") < page.index("The numbers of every attack")


def test_each_reason_says_what_to_look_at_beside_the_verdict(audit):
    page = render(audit.content)
    assert audit.verdict.reasons
    for reason in audit.verdict.reasons:
        assert escape(reason.look_at) in page
