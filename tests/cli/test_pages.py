"""The pages of profile, limit and bounds, as typed."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.report.pages import Tags, refuses_the_world

BOUNDS = ("bounds", "--people", "1000", "--attributes", "8", "--ways", "2")
LIMIT = ("limit", "shares.csv", "--people", "50", "--coding", "bits", "--trials", "200", "--most", "20")
PROFILE = ("profile", "people.csv", "-y", "rate")


@pytest.fixture
def folder(tmp_path) -> Path:
    rng = np.random.default_rng(0)
    shares = rng.integers(5, 45, 40) / 50
    (tmp_path / "shares.csv").write_text("name,mean\n" + "".join(f"a{j},{s}\n" for j, s in enumerate(shares)))
    table = rng.standard_normal((60, 2)).round(3)
    (tmp_path / "people.csv").write_text("age,rate\n" + "".join(f"{a},{b}\n" for a, b in table))
    return tmp_path


@pytest.mark.parametrize("asked", [BOUNDS, LIMIT, PROFILE], ids=lambda asked: asked[0])
def test_a_page_beside_the_document(tellall, folder, asked):
    code, out, err = tellall(*asked, "--json", "--html", "page.html", "--seed", "1")
    assert code == 0
    assert err.splitlines()[-1] == "The page is page.html"
    document = json.loads(out)
    page = (folder / "page.html").read_text(encoding="utf-8")
    tags = Tags.of(page)
    refuses_the_world(tags)
    assert document["repeat"] in tags.text
    assert document["repeat"].startswith(f"tellall {asked[0]} ")
    assert len(page) < 100_000


@pytest.mark.parametrize("asked", [BOUNDS, LIMIT, PROFILE], ids=lambda asked: asked[0])
def test_a_place_where_no_page_can_be_is_refused_before_any_work(tellall, folder, asked):
    code, _, err = tellall(*asked, "--html", "missing/page.html")
    assert code == 2
    assert "--html must be a file in a folder that exists" in err


def test_quiet_says_nothing(tellall, folder):
    assert tellall(*BOUNDS, "--quiet", "--html", "page.html") == (0, "", "")
