"""Stopped after any finished piece, the same command goes on: the same document, and no piece made twice.

Kills of real processes, at any moment and at every write, are in tests/hostile.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tellall.cli.options import Stopped
from tellall.core.checkpoint import Checkpoint

PLAN = """
data = "people.csv"
secret = "ill"
seed = 3
steps = false
[[releases]]
name = "pairs"
statistic = { kind = "Marginals", ways = 2 }
protect = { kind = "Rounding", base = 3 }
[[releases]]
name = "all"
statistic = { kind = "Marginals", ways = 3 }
"""
ALONE = ("--jobs", "1", "-q", "-o", "out")
QUICK = ("--decoder", "least-squares")
COMMANDS = {
    "a plan": ("audit", "plan.toml", *ALONE),
    "a folder of outputs": ("audit", "outputs", "--data", "people.csv", "--secret", "ill", *ALONE),
    "a sweep": ("sweep", "plan.toml", "--repeats", "2", "--scales", "1,9", *QUICK, *ALONE),
    "a calibration": ("calibrate", "plan.toml", "--draws", "2", "--max-advantage", "0.4", *QUICK, *ALONE),
}
CODES = (0, 1, 3)


@pytest.fixture
def tellall(tellall):
    rng = np.random.default_rng(1)
    people = pd.DataFrame(
        {
            "ward": rng.choice(["north", "south"], 40),
            "sex": rng.choice(["f", "m"], 40),
            "ill": rng.choice(["no", "yes"], 40, p=[0.7, 0.3]),
        }
    )
    people.to_csv("people.csv", index=False)
    Path("plan.toml").write_text(PLAN, encoding="utf-8")
    Path("outputs").mkdir()
    pd.crosstab(people.ward, people.ill).to_csv("outputs/ward.csv")
    pd.crosstab([people.ward, people.sex], people.ill).to_csv("outputs/both.csv")
    return tellall


@pytest.fixture
def kept(monkeypatch):
    """The pieces that are kept, one by one; a signal comes after so many of them."""

    class Kept:
        pieces, stop_after = 0, 10**9

    keep = Checkpoint.keep

    def kept_and_stopped(self, key, piece):
        keep(self, key, piece)
        Kept.pieces += 1
        if Kept.pieces == Kept.stop_after:
            raise Stopped(143)

    monkeypatch.setattr(Checkpoint, "keep", kept_and_stopped)
    return Kept


def written() -> dict[str, object]:
    """The documents of a finished command, and the names of all its files."""
    return {
        path.name: json.loads(path.read_text(encoding="utf-8")) if path.suffix == ".json" else None
        for path in sorted(Path("out").rglob("*"))
    }


@pytest.mark.parametrize("what", COMMANDS)
def test_stopped_after_any_piece_it_goes_on_to_the_same_document(what, tellall, kept):
    command = COMMANDS[what]
    assert tellall(*command)[0] in CODES
    whole, pieces = written(), kept.pieces
    assert pieces >= 3
    for path in Path("out").iterdir():
        path.unlink()
    for after in {1, pieces // 2, pieces - 1}:
        kept.pieces, kept.stop_after = 0, after
        code, _, said = tellall(*command)
        assert (code, kept.pieces) == (143, after)
        assert said.startswith("tellall: stopped; ")
        assert "the same command" in said
        kept.stop_after = 10**9
        assert tellall(*command)[0] in CODES
        assert kept.pieces == pieces  # those of before are not made again
        assert written() == whole
        for path in Path("out").iterdir():
            path.unlink()


@pytest.mark.parametrize("what", ["a sweep", "a calibration"])
def test_another_study_reuses_nothing_of_one_that_was_stopped(what, tellall, kept):
    tellall(*COMMANDS[what])
    pieces, (command, plan, option, number, *others) = kept.pieces, COMMANDS[what]
    kept.pieces, kept.stop_after = 0, 2
    assert tellall(*COMMANDS[what])[0] == 143
    kept.pieces, kept.stop_after = 0, 10**9
    assert tellall(command, plan, option, int(number) + 1, *others)[0] in CODES
    assert kept.pieces >= pieces - 1  # a calibration may need one scale fewer


@pytest.mark.parametrize("what", ["a sweep", "a calibration"])
def test_a_study_without_a_folder_keeps_nothing_and_says_so(what, tellall, kept, monkeypatch):
    from tellall.audits.trial import Trial

    def stopped(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(Trial, "run", stopped)
    before = sorted(Path().rglob("*"))
    code, _, said = tellall(*COMMANDS[what][:-2])
    assert code == 130
    assert "nothing was kept" in said
    assert sorted(Path().rglob("*")) == before
    assert kept.pieces == 0


def test_a_study_that_has_no_answer_keeps_nothing(tellall, kept):
    Path("plan.toml").write_text(PLAN.partition('[[releases]]\nname = "all"')[0], encoding="utf-8")
    few = ("--max-advantage", "0.001", "--draws", "2", *QUICK, *ALONE)
    code, _, said = tellall("calibrate", "plan.toml", *few)
    assert code == 3
    assert "what 40 people can resolve" in said
    assert kept.pieces > 0
    assert list(Path("out").rglob("*")) == []
