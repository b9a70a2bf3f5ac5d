"""Every number of the served pages is a number of the command line's document, for every kind of secret."""

import csv
import io
import json
import sys

import pytest

from tellall import cli
from tellall.core.version import __version__
from tellall.serve import edits
from tellall.serve.cases import Home
from tests.report.tokens import KINDS, known_tokens, people_of, releases_of, shown_text, unexplained
from tests.serve.client import Client

# what is not about the document: the plan's numbers in its form, its text, and which step one is at
ABOUT_PLAN = ("works", "plan", "record")


def written(kind: str) -> bytes:
    frame = people_of(kind)
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(frame)
    writer.writerows(zip(*frame.values(), strict=True))
    return text.getvalue().encode()


@pytest.mark.parametrize("kind", KINDS)
def test_the_command_lines_document_explains_every_number_that_is_served(kind, tmp_path, monkeypatch, capsys):
    client = Client(Home.at(tmp_path / "home"))
    client.open("clinic.csv", written(kind))
    client.post(f"{client.here}/columns", {"secret": 3, "public": [0, 1, 2]})
    case = client.case()
    case.write_plan(edits.with_entries(case.plan_text, releases_of(kind)))
    (tmp_path / "clinic.csv").write_bytes(written(kind))
    (tmp_path / "plan.toml").write_text(case.plan_text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        sys, "argv", ["tellall", "audit", "plan.toml", "--quiet", "--jobs", "1", "--no-remedy"]
    )
    with pytest.raises(SystemExit):
        cli.main()
    capsys.readouterr()
    (tmp_path / "plan-audit").rename(case.folder / "audit")
    case.write("done.json", {"version": case.version, "tellall": __version__, "when": ""})
    document = json.loads(case.audit_text)
    known = known_tokens(document)
    text = shown_text(client.get(f"{client.here}/verdict").text, ABOUT_PLAN)
    assert document["verdict"]["sentence"].replace("\N{NO-BREAK SPACE}", " ") in text
    assert len(text) > 3000
    assert unexplained(text, known) == []
