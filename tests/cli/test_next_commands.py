"""Sentences that name a command name one that works: each is run as it is printed."""

from __future__ import annotations

import os
import pty
import re
import select
import shlex
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

from tests.cli.test_outputs import write_people

_SETTLED = (0, 1, 3)  # a verdict, whatever it is


@pytest.fixture
def place(tmp_path):
    """People, and a folder with a table of them."""
    people = write_people(tmp_path / "people.csv")
    (tmp_path / "outputs").mkdir()
    pd.crosstab(people.region, people.ill).to_csv(tmp_path / "outputs" / "wards.csv")
    return people


def _command(said: str) -> list[str]:
    """The last command in a text, without the dot behind it."""
    line = next(line for line in reversed(said.splitlines()) if "tellall " in line)
    return shlex.split(line[line.rindex("tellall ") :].rstrip("."))[1:]


def test_after_init_of_people(tellall, place):
    code, _, err = tellall("init", "people.csv", "--secret", "ill")
    assert code == 0
    assert tellall(*_command(err))[0] in _SETTLED


def test_after_init_of_people_in_a_file_with_a_space(tellall, place):
    Path("people.csv").rename("our people.csv")
    code, _, err = tellall("init", "our people.csv", "--secret", "ill")
    assert code == 0
    assert tellall(*_command(err))[0] in _SETTLED


def test_after_init_of_a_folder(tellall, place):
    code, _, err = tellall("init", "outputs", "--secret", "ill")
    assert code == 0, err
    code, _, err = tellall(*_command(err))
    assert code in _SETTLED, err


def test_a_folder_without_a_description_is_sent_to_init_and_back(tellall, place):
    words = ("attack", "outputs", "--public", "people.csv", "--secret", "ill")
    code, _, err = tellall(*words)
    assert code == 2
    assert tellall(*_command(err))[0] == 0
    code, _, err = tellall(*words)
    assert code in _SETTLED, err


def test_the_secret_that_is_proposed_and_the_meaning_to_confirm_are_taken(tellall, place):
    code, _, err = tellall("audit", "outputs", "--data", "people.csv")
    assert code == 2
    (name,) = re.findall(r"Perhaps --secret (\w+)\?", err)
    (count,) = place.ill.value_counts().loc[["yes"]]
    pd.DataFrame({"n": [count, len(place) - count]}, index=["yes", "no"]).to_csv("outputs/it's few.csv")
    code, _, err = tellall("audit", "outputs", "--data", "people.csv", "--secret", name, "--no-remedy")
    assert code in _SETTLED
    (option,) = re.findall(r"To confirm: (--confirm .*)", err)
    words = (
        "audit",
        "outputs",
        "--data",
        "people.csv",
        "--secret",
        name,
        "--no-remedy",
        *shlex.split(option),
    )
    code, _, err = tellall(*words)
    assert code in _SETTLED
    assert "To confirm" not in err


def test_a_saved_plan_says_how_to_judge_it_again(tellall, place):
    Path("plans").mkdir()
    words = ("audit", "outputs", "--data", "people.csv", "--secret", "ill", "--no-remedy")
    code, *_ = tellall(*words, "--save-plan", "plans/p.toml")
    assert code in _SETTLED
    again = _command("\n".join(Path("plans/p.toml").read_text(encoding="utf-8").splitlines()[:2]))
    os.chdir("plans")
    assert tellall(*again)[0] == code


def test_a_key_is_made_as_the_message_says(tellall, place):
    code, _, err = tellall(
        "audit", "outputs", "--data", "people.csv", "--secret", "ill", "--decision", "--key", "k"
    )
    assert code == 2
    assert tellall(*_command(err.replace("FILE", "k")))[0] == 0


def _typed(words, answers, seconds=120.0):
    """What a command shows on a terminal where each answer is typed after a question, and its exit code."""
    child, terminal = pty.fork()
    if child == 0:
        os.execv(sys.executable, [sys.executable, "-m", "tellall", *words])
    said, waiting, end = b"", list(answers), time.monotonic() + seconds
    while time.monotonic() < end:
        if not select.select([terminal], [], [], 1.0)[0]:
            continue
        try:
            new = os.read(terminal, 4096)
        except OSError:  # the other end is closed
            break
        said += new
        if waiting and said.rstrip().endswith(b"]:"):
            os.write(terminal, waiting.pop(0).encode() + b"\n")
    return said.decode(), os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_a_terminal_asks_for_the_secret_and_who_knows_what_and_nothing_else(place, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ["audit", "outputs", "--data", "people.csv", "--no-remedy"]
    said, code = _typed(words, ["ill", "sex"])
    assert code in _SETTLED, said
    assert said.count("]:") == 2
    assert "Which of them should nobody learn about a person? [ill]:" in said
    assert "Which columns may an outsider know about a person? [region]:" in said
    assert "An outsider is taken not to know region" in " ".join(said.split())
