"""The pages of profile, limit, bounds and rows, as typed."""

import json
import shlex
from pathlib import Path

import numpy as np
import pytest

from tests.report.pages import Tags, refuses_the_world

BOUNDS = ("bounds", "--people", "1000", "--attributes", "8", "--ways", "2")
LIMIT = ("limit", "shares.csv", "--people", "50", "--coding", "bits", "--trials", "200", "--most", "20")
PROFILE = ("profile", "people.csv", "-y", "rate")
ROWS = ("rows", "blocks.csv", "--by", "block", "--jobs", "1")
ASKED = pytest.mark.parametrize("asked", [BOUNDS, LIMIT, PROFILE, ROWS], ids=lambda asked: asked[0])


@pytest.fixture
def folder(tmp_path) -> Path:
    rng = np.random.default_rng(0)
    shares = rng.integers(5, 45, 40) / 50
    (tmp_path / "shares.csv").write_text("name,mean\n" + "".join(f"a{j},{s}\n" for j, s in enumerate(shares)))
    table = rng.standard_normal((60, 2)).round(3)
    (tmp_path / "people.csv").write_text("age,rate\n" + "".join(f"{a},{b}\n" for a, b in table))
    counts = [f"{'<b>'}{b},{a},{s},{(b + i) % 3}" for b in range(3) for i, (a, s) in enumerate(["yf", "om"])]
    (tmp_path / "blocks.csv").write_text("\n".join(["block,age,sex,count", *counts, ""]))
    return tmp_path


@ASKED
def test_a_page_beside_the_document(tellall, folder, asked):
    code, out, err = tellall(*asked, "--json", "--html", "page.html", "--seed", "1")
    assert code == 0
    assert err.splitlines()[-1] == "The page is page.html"
    document = json.loads(out)
    page = (folder / "page.html").read_text(encoding="utf-8")
    tags = Tags.of(page)
    refuses_the_world(tags)
    assert f"tellall {asked[0]} " in tags.text
    assert document.get("repeat", "") in tags.text
    assert len(page) < 100_000


@pytest.mark.parametrize("asked", [LIMIT, PROFILE, ROWS], ids=lambda asked: asked[0])
def test_the_command_on_a_page_makes_the_same_numbers_again(tellall, folder, asked):
    command, file, *options = asked
    _, out, _ = tellall(command, folder / file, *options, "--json", "--html", "page.html", "--seed", "1")
    text = Tags.of((folder / "page.html").read_text(encoding="utf-8")).text
    first = text.index(f"tellall {command} ")
    typed = shlex.split(text[first : text.index("--seed 1", first)])
    assert typed[2] == file  # without its folder
    _, again, _ = tellall(*typed[1:], "--seed", "1", "--json", "--html", "again.html")
    assert {**json.loads(again), "repeat": ""} == {**json.loads(out), "repeat": ""}


@ASKED
def test_a_place_where_no_page_can_be_is_refused_before_any_work(tellall, folder, asked):
    code, _, err = tellall(*asked, "--html", "missing/page.html")
    assert code == 2
    assert "--html must be a file in a folder that exists" in err


def test_quiet_says_nothing(tellall, folder):
    assert tellall(*BOUNDS, "--quiet", "--html", "page.html") == (0, "", "")


def test_the_page_of_rows_has_the_documents_counts_and_no_row(tellall, folder):
    code, out, _ = tellall(*ROWS, "--json", "--html", "page.html")
    document, text = json.loads(out), Tags.of((folder / "page.html").read_text(encoding="utf-8")).text
    certain, people = document["certain_people"], document["people"]
    assert (code, certain) == (0, people)
    assert (
        f"{people} of {people} people (100.0\N{NO-BREAK SPACE}%) have a row that is in every solution" in text
    )
    assert "--by block --mode nearest --absent zero" in text
    for area in document["areas"]:
        assert area["name"] in text
    (folder / "other.csv").write_text(
        "block,sex,count\n<b>0,f,9\n<b>0,m,0\n<b>1,f,1\n<b>1,m,2\n<b>2,f,2\n<b>2,m,0\n"
    )
    code, _, _ = tellall("rows", "blocks.csv", "other.csv", *ROWS[2:], "--html", "page.html", "--quiet")
    text = Tags.of((folder / "page.html").read_text(encoding="utf-8")).text
    assert code == 3
    assert "The tables of 1 area contradict each other and prove nothing." in text
    assert "Cells that cannot all be right" in text
