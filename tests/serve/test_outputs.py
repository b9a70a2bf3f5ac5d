"""Outputs on the served page: found, confirmed, corrected, added to, attacked and decided about."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import tomllib

import numpy as np
import pandas as pd
import pytest

from tellall.serve import worker
from tests.report.pages import Tags
from tests.serve.client import Client


def people(n: int = 240) -> pd.DataFrame:
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], n),
            "ward": rng.choice(list("ABCD"), n),
            "age": rng.integers(18, 90, n),
            "pay": rng.normal(30, 5, n).round(2),
        }
    )
    return frame.assign(ill=np.where(rng.random(n) < 0.3, "yes", "no"))


def as_csv(frame: pd.DataFrame, *, index: bool = True) -> bytes:
    text = io.StringIO()
    frame.to_csv(text, index=index)
    return text.getvalue().encode()


def wrong(table: pd.DataFrame) -> pd.DataFrame:
    """The table with one person too many."""
    changed = table.copy()
    changed.iloc[0, 0] += 1
    return changed


def opened(client: Client, **outputs: bytes) -> None:
    """Opens the people, says that ``ill`` is the secret, and gives outputs."""
    client.open("clinic.csv", as_csv(people(), index=False))
    client.post(f"{client.here}/columns", {"secret": 4, "go": "outputs"})
    for name, content in outputs.items():
        client.open(f"{name}.csv", content, f"{client.here}/outputs/file")


def text_of(client: Client) -> str:
    return " ".join(Tags.of(client.get(f"{client.here}/outputs").text).text.split())


def answer(client: Client, place: int, number: int) -> None:
    form = {"version": client.case().version, "do": "answer", "place": place, "number": number}
    client.post(f"{client.here}/outputs", form)


@pytest.fixture
def three(client: Client) -> Client:
    frame = people()
    wards = pd.crosstab(frame.ward, frame.ill)
    pay = frame.groupby("ward").pay.mean().round(2).to_frame()
    opened(client, old=as_csv(wrong(wards)), pay=as_csv(pay), wards=as_csv(wards))
    assert worker.run(client.case(), "recognise") == 0
    return client


def test_every_output_is_shown_with_its_sentence_and_its_cells(three):
    page = text_of(three)
    assert "Counts of ill by ward 8 of 8 cells agree" in page
    assert "1 of 8 cells differs by 1: another version of the data?" in page
    assert "Means of pay by ward; it says nothing about the secret" in page
    tags = three.get(f"{three.here}/outputs").text
    assert tags.count('<td class="agrees">') == 8 + 7 + 4
    assert tags.count('<td class="differs">') == 1


def test_a_person_corrects_what_was_found_and_takes_it_back(three):
    answer(three, 2, 0)
    assert "you said that it is not counts of ill by ward" in text_of(three).lower()
    assert three.case().given.said().confirm == {"wards.csv, lines 1 to 5": 0}
    worker.run(three.case())
    assert three.case().audit.verdict.word == "review"
    assert [one.read for one in three.case().audit.outputs] == [False, False, False]
    form = {"version": three.case().version, "do": "forget", "place": 2}
    three.post(f"{three.here}/outputs", form)
    assert three.case().given.answers == {}
    assert not three.case().current


def test_the_verdict_is_that_of_the_command(three, tmp_path):
    form = {"version": three.case().version, "do": "add", "kind": "table", "column": [0, 1]}
    assert "counts of ill by sex, ward" in three.post(f"{three.here}/outputs", form).text
    worker.run(three.case())
    frame = people()
    folder = tmp_path / "outputs"
    folder.mkdir()
    (tmp_path / "clinic.csv").write_bytes(as_csv(frame, index=False))
    for one in three.case().given.listed:
        (folder / one["name"]).write_bytes((three.case().folder / one["kept"]).read_bytes())
    command = three.case().audit.command
    words = [sys.executable, "-m", "tellall", *_words(command), "--json", "--quiet"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    known, here = json.loads(done.stdout), json.loads(three.case().audit_text)
    for part in ("verdict", "findings", "outputs", "overall", "remedy"):
        assert here[part] == known[part], part


def _words(command: str) -> list[str]:
    import shlex

    words = shlex.split(command)
    assert words.pop(0) == "tellall"
    return words


def test_several_meanings_are_chosen_from(client):
    frame = people().assign(sick=lambda d: d.ill)
    client.open("clinic.csv", as_csv(frame, index=False))
    client.post(f"{client.here}/columns", {"secret": 4, "go": "outputs"})
    table = frame.groupby("ward").ill.apply(lambda one: (one == "yes").sum())
    client.open("t.csv", as_csv(table.to_frame("n")), f"{client.here}/outputs/file")
    worker.run(client.case(), "recognise")
    (found,) = client.case().given.found
    assert found.meanings
    assert f'id="answer-0-{len(found.meanings)}"' in client.get(f"{client.here}/outputs").text
    answer(client, 0, 1)
    page = text_of(client)
    assert "As you said." in page
    assert found.meanings[0].sentence[1:] in page


@pytest.mark.parametrize(
    ("kind", "columns", "said"),
    [
        ("table", [1], "counts of ill by ward"),
        ("mean", [0, 1], "rates of ill by sex, ward"),
        ("regression", [0, 2], "regression on sex, age"),
    ],
)
def test_a_table_a_mean_and_a_regression_are_added_by_clicking(client, kind, columns, said):
    opened(client)
    form = {"version": client.case().version, "do": "add", "kind": kind, "column": columns}
    assert said in client.post(f"{client.here}/outputs", form).text
    assert worker.run(client.case()) == 0
    assert [row.name for row in client.case().audit.findings] == [said]


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ({"do": "add", "kind": "regression"}, "columns must be one or more"),
        ({"do": "add", "kind": "census", "column": [0]}, "kind must be one of"),
        ({"do": "add", "kind": "table", "column": [99]}, "place must be below"),
        ({"do": "answer", "place": 0, "number": 2}, "place must be below"),
        ({"do": "answer", "place": 9, "number": 1}, "place must be below"),
        ({"do": "drop", "place": 3}, "place must be below"),
        ({"do": "steal"}, "a change that a page offers"),
        ({"do": "drop", "place": 0, "version": "old"}, "another tab"),
    ],
)
def test_what_no_page_offers_changes_nothing(three, form, said):
    before = three.case().given.text
    page = three.post(f"{three.here}/outputs", {"version": three.case().version, **form})
    assert said in " ".join(Tags.of(page.text).text.split())
    assert three.case().given.text == before


def test_files_of_other_kinds_are_refused_and_those_of_a_name_replaced(three):
    answered = three.open("virus.exe", b"MZ", f"{three.here}/outputs/file").json()
    assert "must be one that ends in" in answered["error"]
    answer(three, 2, 0)
    three.open("wards.csv", b"ward,n\nA,1\n", f"{three.here}/outputs/file")
    given = three.case().given
    assert [one["name"] for one in given.listed] == ["old.csv", "pay.csv", "wards.csv"]
    assert given.answers == {}
    assert given.found is None  # it has to be found out again
    kept = sorted(path.name for path in three.case().folder.iterdir() if path.name.startswith("output-"))
    assert kept == ["output-1.csv", "output-2.csv", "output-3.csv"]
    form = {"version": three.case().version, "do": "drop", "place": 1}
    three.post(f"{three.here}/outputs", form)
    kept = sorted(path.name for path in three.case().folder.iterdir() if path.name.startswith("output-"))
    assert kept == ["output-1.csv", "output-3.csv"]


def test_names_of_outputs_never_become_paths(client):
    opened(client)
    client.open("../../etc/ta\u202ebles.csv", b"ward,n\nA,1\n", f"{client.here}/outputs/file")
    (one,) = client.case().given.listed
    assert one["kept"] == "output-1.csv"
    assert "/" not in one["name"]
    assert "\u202e" not in one["name"]


def test_each_output_and_the_whole_are_decided_about(three):
    worker.run(three.case())
    page = three.get(f"{three.here}/decide").text
    assert "Decide about each output" in page
    three.post(f"{three.here}/decide", {"decision": "accept", "by": "A. Nun", "output-0": "reject"})
    record = tomllib.loads(three.get(f"{three.here}/export/decision.toml").text)
    assert record["decision"]["decision"] == "publish"
    assert record["decision"]["outputs"] == {
        "old.csv, lines 1 to 5": "do not publish",
        "pay.csv, lines 1 to 5": "publish",
        "wards.csv, lines 1 to 5": "publish",
    }
    report = " ".join(Tags.of(three.get(f"{three.here}/export/report.html").text).text.split())
    assert "Rejected: old.csv, lines 1 to 5." in report


def test_a_plan_replaces_outputs_and_outputs_a_plan(three):
    case = three.case()
    three.post(f"{three.here}/columns", {"secret": 4, "public": [0, 1]})
    assert case.plan_text
    assert not case.given.text
    assert not [path for path in case.folder.iterdir() if path.name.startswith("output-")]
    assert three.get(f"{three.here}/outputs").status == 303
    three.post(f"{three.here}/columns", {"secret": 4, "go": "outputs"})
    assert case.given.text
    assert three.get(f"{three.here}/plan").status == 303
