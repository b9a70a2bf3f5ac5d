"""A secret with gaps: people without a value are refused, or left out if asked, and that is said."""

import json
from pathlib import Path

import numpy as np
import pytest

import tellall as ta

GAPS = (3, 10, 11, 29)
PLAN = """
data = "p.csv"
secret = "ill"
limit = 1.0
steps = false
{gaps}
[[releases]]
statistic = {{ kind = "Marginals", ways = 3 }}
"""


@pytest.fixture
def people(tmp_path, monkeypatch) -> list[tuple[int, str, str]]:
    rng = np.random.default_rng(0)
    rows = [(int(rng.integers(0, 60)), "fm"[i % 2], "ny"[int(rng.integers(0, 2))]) for i in range(40)]
    lines = [f"{age},{sex},{'' if i in GAPS else ill}" for i, (age, sex, ill) in enumerate(rows)]
    (tmp_path / "p.csv").write_text("\n".join(["age,sex,ill", *lines, ""]))
    whole = [line for i, line in enumerate(lines) if i not in GAPS]
    (tmp_path / "whole.csv").write_text("\n".join(["age,sex,ill", *whole, ""]))
    monkeypatch.chdir(tmp_path)
    return rows


def test_without_the_option_the_error_names_it(tellall, people):
    Path("plan.toml").write_text(PLAN.format(gaps=""))
    for command in (["init", "p.csv", "--secret", "ill"], ["audit", "plan.toml"]):
        code, _, err = tellall(*command)
        assert code == 2
        said = " ".join(err.split())
        assert "ill must be known for everybody; got 4 missing values. --drop-gaps" in said
        assert "drop_gaps = true" in said


def test_with_it_they_are_left_out_and_the_page_and_document_say_so(tellall, people):
    code, _, err = tellall("init", "p.csv", "--secret", "ill", "--drop-gaps")
    assert code == 0
    assert ta.read_plan(Path("p.toml")).drop_gaps
    assert tellall("audit", "p.toml", "--no-remedy", "--jobs", "1", "--force")[0] in (0, 1, 3)
    Path("plan.toml").write_text(PLAN.format(gaps=""))
    code, out, err = tellall(
        "audit", "plan.toml", "--drop-gaps", "--no-remedy", "--jobs", "1", "--json", "--reveal"
    )
    assert code in (0, 1, 3)
    assert "4 people without a value of ill were left out." in " ".join(err.split())
    document = json.loads(out)
    assert document["data"]["people"] == 36
    assert document["data"]["dropped"] == 4
    assert document["plan"]["drop_gaps"] is True
    said = next(one for one in document["not_tested"] if "left out" in one)
    assert said.startswith("4 people without a value of ill")
    assert said in Path("plan-audit/report.html").read_text(encoding="utf-8")
    named = json.loads(Path("plan-audit/people.SECRET.json").read_text())["people"]
    rows = [one["row"] for each in named.values() for one in each]
    assert rows
    assert not {row - 1 for row in rows} & set(GAPS)  # rows of the file, not of who is left
    for each in named.values():
        for one in each:
            assert one["right"] == (people[one["row"] - 1][2] == one["guess"])


def test_the_numbers_are_those_of_the_file_without_them(tellall, people):
    Path("plan.toml").write_text(PLAN.format(gaps="drop_gaps = true"))
    Path("same.toml").write_text(PLAN.format(gaps="").replace("p.csv", "whole.csv"))
    found = [
        json.loads(tellall("audit", plan, "--no-remedy", "--jobs", "1", "--json")[1])
        for plan in ("plan.toml", "same.toml")
    ]
    assert found[0]["findings"] == found[1]["findings"]
    assert found[0]["verdict"] == found[1]["verdict"]
    one, other = ta.read("p.csv", secret="ill", drop_gaps=True), ta.read("whole.csv", secret="ill")
    assert one.secret.tolist() == other.secret.tolist()
    assert one.public.columns == other.public.columns
    assert one.rows.tolist() == [i for i in range(40) if i not in GAPS]
    assert (one.dropped, other.dropped, other.rows) == (4, 0, None)
