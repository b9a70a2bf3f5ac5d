"""Audits of a secret of several values."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import tellall as ta
from tellall import cli
from tellall.audits.document import read_audit
from tellall.audits.plans.draft import draft
from tellall.core import files
from tellall.report.audit_page import render

TABLES = {
    "repeats": 2,
    "releases": [
        {"name": "exact", "statistic": {"kind": "Marginals", "ways": 3}},
        {
            "name": "noisy",
            "statistic": {"kind": "Marginals", "ways": 2},
            "protect": {"kind": "Gaussian", "std": 1e6},
        },
    ],
}


def frame(n: int = 60) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(3)
    columns = {name: rng.integers(0, 2, n) for name in "abcdef"}
    party = np.array(["blue", "green", "red"])[rng.choice(3, n, p=[0.5, 0.3, 0.2])]
    return {**columns, "county": np.array(["x", "y"])[np.arange(n) % 2], "party": party}


@pytest.fixture(scope="module")
def done() -> ta.Audit:
    return ta.audit(ta.Dataset.from_frame(frame(), secret="party"), TABLES)


def test_an_attack_on_three_values_is_scored_like_one_on_two(done):
    exact, noisy, together = (finding.outcome for finding in done.findings)
    assert exact.advantage > 0.2
    assert together.advantage > 0.2
    assert noisy.advantage < 0.2
    assert done.verdict.word == "fail"
    for found in (exact, noisy):
        assert found.interval[0] <= found.advantage <= found.interval[1]
        assert set(found.exposed["0.95"]) == {"0", "1", "2"}
        assert found.named_right <= found.named <= 60
    assert exact.exposed_people > 0


def test_its_document_keeps_to_the_schema_and_its_page_counts_every_value(done):
    document = json.loads(files.dump(done.document))
    read_audit(json.dumps(document))
    data = document["data"]
    assert (data["holders"], data["meaning"]) == (None, ["blue", "green", "red"])
    assert sum(data["counts"]) == 60
    page = render(read_audit(document))
    for count, value in zip(data["counts"], data["meaning"], strict=True):
        assert f"{count} × {value}" in page


def test_areas_add_up(done):
    people = ta.Dataset.from_frame(frame(), secret="party")
    audit = ta.audit(people, {**TABLES, "by": "county", "repeats": 1})
    read_audit(files.dump(audit.document))
    whole = audit.findings[0].outcome
    parts = [area.findings[0].outcome for area in audit.areas]
    assert whole.people == sum(part.people for part in parts) == 60
    assert whole.exposed_people == sum(part.exposed_people for part in parts)
    assert not any(area.constant for area in audit.areas)
    assert "party" in render(audit.content)


def test_what_is_not_for_several_values_is_not_checked_and_says_so():
    people = ta.Dataset.from_frame(frame(), secret="party")
    statistic = {"kind": "Predicates", "function": "and", "ways": 3}
    audit = ta.audit(people, {"releases": [{"statistic": statistic}]})
    (one,) = audit.not_checked
    assert one.reason == "for a secret of 3 values tellall attacks only tables (Marginals)"
    assert one.nearest == "Marginals"
    assert audit.verdict.word == "review"
    assert "Nothing could be attacked" in audit.verdict.sentence


def test_a_plan_is_drafted_for_it():
    text = draft(frame(), "people.csv", secret="party").text
    assert "3 values (blue, green, red)" in text


@pytest.mark.slow
def test_the_commands_take_it_from_the_plan_to_the_attack(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    table = frame()
    rows = [",".join(map(str, row)) for row in zip(*table.values(), strict=True)]
    Path("people.csv").write_text("\n".join([",".join(table), *rows]) + "\n")
    plan = (
        'data = "people.csv"\nsecret = "party"\n[[releases]]\nstatistic = { kind = "Marginals", ways = 3 }\n'
    )
    Path("p.toml").write_text(plan)

    def call(*arguments: str) -> int:
        monkeypatch.setattr(sys, "argv", ["tellall", *arguments])
        with pytest.raises(SystemExit) as left:
            cli.main()
        return int(left.value.code or 0)

    assert call("publish", "p.toml", "-o", "r.json", "--quiet") == 0
    assert ta.Release.load("r.json").levels == 3
    assert call("attack", "r.json", "--public", "people.csv", "--json", "--quiet") in (0, 3)
    assert sum(json.loads(capsys.readouterr().out)["guessed_values"]) == 60
    assert call("audit", "p.toml", "--quiet", "--jobs", "1", "--no-remedy") == 1
