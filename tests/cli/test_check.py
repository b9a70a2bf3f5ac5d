"""The curator's check of a file of people, by the record that an audit wrote."""

import hashlib
import json
import tomllib
from pathlib import Path

import pytest

from tellall.audits.plans.policy import decision
from tellall.core.curator_key import CuratorKey
from tests.audits.plans.test_policy import DOCUMENT


@pytest.fixture
def recorded(tellall):
    """The command, in a folder with people, the curator's key and a record."""
    Path("people.csv").write_text("age,ill\n31,0\n44,1\n")
    code, out, _ = tellall("check", "--new-key", "curator.key")
    assert code == 0
    assert "Wrote curator.key" in out
    Path("plan.toml").write_text("x = 1")
    key = CuratorKey.read(Path("curator.key"))
    check, checks = key.check(Path("people.csv")), {"plan.toml": key.check(Path("plan.toml"))}
    known = {"people_file": check, "checks": checks}
    text = decision(DOCUMENT, date="2026-01-01", policy=None, published=(), **known)
    Path("decision.toml").write_text(text)
    assert tomllib.loads(text)["people_file"] == check
    return tellall


def test_the_file_is_known_again_and_a_changed_one_is_not(recorded):
    asked = ["check", "decision.toml", "--data", "people.csv", "--key", "curator.key"]
    code, out, _ = recorded(*asked)
    assert code == 0
    assert "people.csv is the file of people that decision.toml is about." in out
    Path("people.csv").write_text("age,ill\n31,0\n44,0\n")
    code, out, _ = recorded(*asked)
    assert code == 1
    assert "is not the file" in out
    code, out, _ = recorded(*asked, "--json")
    assert code == 1
    assert json.loads(out)["same"] is False


def test_other_files_of_the_record_are_known_again(recorded):
    asked = ["check", "decision.toml", "--data", "plan.toml", "--key", "curator.key"]
    code, out, _ = recorded(*asked)
    assert code == 0
    assert "plan.toml is the plan.toml that decision.toml is about." in out
    Path("plan.toml").write_text("x = 2")
    assert recorded(*asked)[0] == 1


def test_earlier_records_have_the_hash_of_the_plan_and_no_check_of_it(recorded):
    known = tomllib.loads(Path("decision.toml").read_text())["people_file"]
    lines = [f'{name} = "{text}"' for name, text in known.items()]
    plan = hashlib.sha256(Path("plan.toml").read_bytes()).hexdigest()
    hashes = ["[sha256]", f'"plan.toml" = "{plan}"']
    Path("earlier.toml").write_text("\n".join([*hashes, "[people_file]", *lines]))
    asked = ["check", "earlier.toml", "--key", "curator.key", "--data"]
    code, out, _ = recorded(*asked, "plan.toml")
    assert code == 0
    assert "plan.toml is the plan.toml that earlier.toml is about." in out
    assert recorded(*asked, "people.csv")[0] == 0
    Path("plan.toml").write_text("x = 2")
    code, out, _ = recorded(*asked, "plan.toml")
    assert code == 1
    assert "plan.toml is not the file of people or plan.toml that earlier.toml is about." in out


def test_what_is_wrong_is_said(recorded):
    record, people = "decision.toml", "people.csv"
    Path("empty.toml").touch()
    for asked, words in (
        ([record, "--data", people], "--key must be given"),
        (["--data", people, "--key", "curator.key"], "DECISION.toml must be given"),
        ([record, "--new-key", "more.key"], "--new-key must be given alone"),
        (["--new-key", "curator.key"], "key must be a new file"),
        ([record, "--data", people, "--key", "missing"], "Make a key with: tellall check --new-key"),
        (["empty.toml", "--data", people, "--key", "curator.key"], "[people_file]"),
        ([people, "--data", people, "--key", "curator.key"], "record must be a TOML file"),
        ([record, "--data", "missing.csv", "--key", "curator.key"], "missing.csv cannot be read"),
    ):
        code, out, err = recorded("check", *asked)
        assert (code, out) == (2, "")
        assert words in err
    recorded("check", "--new-key", "other.key")
    code, _, err = recorded("check", record, "--data", people, "--key", "other.key")
    assert code == 2
    assert "This key is not the one" in err
    Path("curator.key").chmod(0o644)
    for command in (["check", record, "--data", people], ["audit", "plan.toml", "--decision"]):
        code, _, err = recorded(*command, "--key", "curator.key")
        assert code == 2
        assert "mode 0644" in err
    code, _, err = recorded("audit", "plan.toml", "--key", "other.key")
    assert code == 2
    assert "--key must be given with --decision" in err
