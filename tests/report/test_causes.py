"""From verdict to remedy on the page: what to change, what gives people away, who they are, what to trust."""

import json
import re

import numpy as np
import pytest

import tellall as ta
from tellall.audits.document import read_audit
from tellall.audits.measures.reliability import Bin
from tellall.core.amounts import percent, points
from tellall.report.audit_page import render
from tellall.report.reliability_chart import draw_bins, trust_blocks
from tests.report.pages import NASTY, Tags, browser_page, charts, fits_a_telephone, refuses_the_world


def change(words: str, verdict: str | None, passed: int = 0, draws: int = 0) -> dict:
    cost = {"loss": 4.21, "withheld": 0.914, "error": 1.25, "instead": 0}
    tried = {"verdict": verdict, "sentence": f"why {words}", "draws": draws, "passed": passed}
    return {"words": words, "releases": ["tables"], **cost, **tried}


def part(kind: str, name: str, learnt: int) -> dict:
    adds = {"proved": 1, "exposed": 2, "learnt": 20 - learnt, "advantage": 0.05}
    counts = {"proved": 7, "exposed": 30, "learnt": learnt, "advantage": 0.0625}
    return {"kind": kind, "name": name, **counts, "adds": adds}


@pytest.fixture(scope="module")
def document() -> dict:
    """An audit's document with a remedy, culprits and a release that was not checked; it keeps the schema."""
    rng = np.random.default_rng(3)
    people = ta.Dataset.from_arrays(rng.integers(0, 2, (60, 5)), secret=rng.permutation(np.arange(60) % 2))
    releases = [
        {"name": "tables", "statistic": {"kind": "Marginals", "ways": 4}},
        {"name": "others", "statistic": {"kind": "Marginals", "ways": 2}},
        {"name": f"odd {NASTY}", "statistic": {"kind": "Marginal"}},
    ]
    made = json.loads(json.dumps(ta.audit(people, {"steps": False, "releases": releases}).document))
    best = change(f"round to 5 {NASTY}", "pass", 20, 20)
    made["remedy"] = {
        "found": True,
        "sentence": f"It passes {NASTY}.",
        "change": best,
        "entries": [],
        "toml": f'name = "{NASTY}"',
        "tried": [change("round to 3", "fail", 0, 3), best],
        "not_tried": [change("drop a column", None)],
    }
    made["culprits"] = {
        "of": "tables",
        "decoder": "auto",
        "proved": 8,
        "exposed": 32,
        "learnt": 20,
        "advantage": 0.125,
        "parts": [part("column", "second", 15), part("table", f"first {NASTY}", 3)],
        "not_tried": ["column third"],
        "who": [
            {
                "by": f"age {NASTY}",
                "rows": [
                    {"values": ["young", "old"], "people": 40, "learnt": 10},
                    {"values": ["between"], "people": 20, "learnt": None},
                ],
            }
        ],
    }
    read_audit(json.dumps(made))
    return made


@pytest.fixture(scope="module")
def page(document) -> str:
    return render(read_audit(document))


def spoken(markup: str) -> str:
    """The words of a piece of a page, those of different elements apart."""
    return " ".join(Tags.of(markup.replace("<", " <")).text.replace("\xa0", " ").split())


def text_of(page: str, section: str) -> str:
    """The words of one section."""
    found = page[page.index(f'<h2 id="{section}"') :]
    return spoken(found[: (found + "<h2 ").index("<h2 ", 1)])


def test_names_and_values_come_out_as_text(page):
    refuses_the_world(Tags.of(page))
    assert charts(page) == 5


def test_the_remedy_says_what_to_change_what_it_costs_and_what_to_paste(page):
    text = text_of(page, "remedy")
    for words in (
        "A change that passes",
        f"It passes {NASTY}.",
        "including withheld ones 4.21 on average",
        "withheld or dropped 91.4 %",
        "passed in 20 of 20 draws",
        f'name = "{NASTY}"',
        "Not tried, for lack of time: drop a column.",
    ):
        assert words in text, words
    section = page[page.index('aria-label="Changes tried"') : page.index('<h2 id="who"')]
    assert re.findall(r'class="badge (\w+)"', section) == ["fail", "pass"]


def test_where_nothing_passes_the_page_says_so(document):
    none = document["remedy"] | {"found": False, "change": None, "toml": ""}
    text = text_of(render(read_audit(document | {"remedy": none})), "remedy")
    assert "No change found that passes" in text
    assert "Lines for the plan" not in text


def test_the_culprits_come_first_where_they_add_most(page):
    text = text_of(page, "culprits")
    assert "20 → 3" in text
    assert text.index("without table first") < text.index("without column second")
    assert "with everything 8 32 20 +12.5" in text
    assert "without column second 7 30 15 +6.2" in text


def test_what_is_withheld_is_shown_as_withheld(page):
    text = text_of(page, "who")
    assert "young, old 40 10 25.0 %" in text
    assert "between 20 withheld –" in text


def test_what_was_not_checked_is_listed_with_the_nearest_kind(page):
    text = text_of(page, "unchecked")
    assert f"odd {NASTY}" in text
    assert "the nearest is Marginals" in text


def test_nothing_of_this_is_shown_where_nobody_looked(document):
    plain = document | {
        "remedy": None,
        "culprits": None,
        "not_checked": [],
        "not_tested": document["not_tested"][1:],
        "findings": document["findings"][:1],
    }
    page = render(read_audit(plain | {"worst": "tables"}))
    assert "the nearest is" not in text_of(page, "unchecked")
    assert "given away" not in text_of(page, "who")
    assert not [name for name in ("remedy", "culprits") if f'<h2 id="{name}"' in page]


def test_the_last_row_of_the_releases_is_about_all_of_them(document, page):
    table = page[page.index("<tbody>") : page.index("</tbody>")]
    last = spoken(table[table.rindex("<tr") :])
    known = document["overall"]
    assert last.startswith("in all, any set of them ")
    assert f" {document['verdict']['word'].capitalize()} – – {points(known['advantage'])} " in last
    assert last.endswith(f"{known['sensitive']['learnt']} {document['verdict']['decided']}")


def test_the_decoders_of_the_worst_set_are_side_by_side(document, page):
    worst = next(row for row in document["findings"] if row["name"] == document["worst"])
    assert page.count('<svg class="small"') == len(worst["decoders"])
    headed, pictures, *_ = trust_blocks(read_audit(document))
    figures = headed.blocks[1].figures
    assert [one["name"] for one, _ in figures] == [one["decoder"] for one in worst["decoders"]]
    for one, (_, listing) in zip(worst["decoders"], figures, strict=True):
        said = [f"{part['said']:,}" for part in one["reliability"]]
        assert [line.cells[0] for line in listing.lines] == said
    assert pictures.heading == "Decoders side by side"
    judged = [row for row in document["findings"] if row["summary"]]
    lines = pictures.blocks[0].lines
    assert [(line.name, line.cells[0]) for line in lines] == [
        (row["name"], one["decoder"]) for row in judged for one in row["decoders"]
    ]


def test_a_certified_share_of_wrong_equations_is_told(document):
    assert not [block for block in _sentences(document) if "certified" in block]
    plain = json.loads(json.dumps(document))
    for row in plain["findings"]:
        for one in row["decoders"]:
            one["survives"] = 0.125 if one["decoder"] == "lp" else None
    (said,) = [block for block in _sentences(plain) if "certified" in block]
    assert said.startswith(f"It is certified that any {percent(0.125)} of the equations may be wrong")


def _sentences(document: dict) -> list[str]:
    _, beside, *_ = trust_blocks(read_audit(document))
    return [block.text for block in beside.blocks[1:]]


def test_a_dot_lies_in_its_box_where_the_attack_is_as_right_as_it_says():
    bins = [
        Bin(0.5, 0.6, 100, 55),
        Bin(0.95, 0.99, 100, 60),
        Bin(0.99, 1.0, 40, 40),
    ]
    marks = draw_bins(bins).under
    boxes = [mark.at for mark in marks if mark.tag == "rect"]
    dots = [mark.at["cy"] for mark in marks if mark.tag == "circle"]
    inside = [box["y"] <= dot <= box["y"] + box["height"] for box, dot in zip(boxes, dots, strict=True)]
    assert inside == [True, False, True]
    assert [mark.text for mark in marks if mark.at["class"] == "middle"] == ["50–60", "95–99", "99–100"]
    assert [mark.text for mark in marks if mark.at["class"] == "middle soft-word"][:3] == ["100", "100", "40"]


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_browser_has_nothing_to_say_and_nothing_to_ask(page, tmp_path, scheme):
    path = tmp_path / "page.html"
    path.write_text(page, encoding="utf-8")
    shown, messages = browser_page(path, scheme, lambda found: found.inner_text("body"))
    assert messages == [path.as_uri()]
    assert "A change that passes" in shown
    fits_a_telephone(path)
