"""What every command prints fits a terminal of 80 columns; lines that name a file are as long as its name."""

import json
from pathlib import Path

import numpy as np
import pytest

from tellall.core.text import wrapped
from tellall.report.glossary import topic_names
from tellall.report.kit.plot import Axis, Figure, Series
from tellall.report.paper import PaperRerun, Statement
from tellall.report.terminal import fitted

LONG = "a column whose name is as long as some are in files of agencies"


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """People, a plan about them, shares and the rows of targets."""
    monkeypatch.setenv("COLUMNS", "80")
    rng = np.random.default_rng(0)
    names = [LONG, "sex", "region", "rate", "income", "ill"]
    rows = [
        [
            rng.integers(20, 60),
            "fm"[i % 2],
            "NESW"[i % 4],
            round(rng.normal(), 3),
            round(rng.lognormal(8, 1)),
            "ny"[rng.integers(2)],
        ]
        for i in range(30)
    ]
    (tmp_path / "people.csv").write_text("\n".join(",".join(map(str, row)) for row in [names, *rows]) + "\n")
    (tmp_path / "plan.toml").write_text(
        f'data = "people.csv"\nsecret = "ill"\npublic = ["{LONG}", "sex", "region"]\n'
        '[[releases]]\nname = "every table of two columns, hidden and rounded as the agency always does it"\n'
        'statistic = { kind = "Marginals", ways = 2 }\n'
        'protect = [{ kind = "Suppression", below = 2 }, { kind = "Rounding", base = 3 }]\n'
        '[[releases]]\nname = "medians"\nstatistic = { kind = "Quantiles" }\n'
    )
    (tmp_path / "incomes.toml").write_text(
        'data = "people.csv"\nsecret = "income"\npublic = ["sex", "region"]\n'
        '[[releases]]\nname = "means"\nstatistic = { kind = "CellMeans", ways = 2, counts = true }\n'
        'protect = { kind = "Suppression", below = 3 }\n'
    )
    shares = rng.integers(5, 45, 30) / 50
    (tmp_path / "shares.csv").write_text("name,mean\n" + "".join(f"a{j},{s}\n" for j, s in enumerate(shares)))
    for name, people in (("targets", 6), ("reference", 40)):
        bits = [
            ["id", *(f"a{j}" for j in range(30))],
            *([f"p{i}", *rng.integers(0, 2, 30)] for i in range(people)),
        ]
        (tmp_path / f"{name}.csv").write_text("\n".join(",".join(map(str, row)) for row in bits) + "\n")
    (tmp_path / "age_sex.csv").write_text("age,sex,count\n0-19,f,1\n0-19,m,0\n20-64,f,3\n20-64,m,2\n")
    return tmp_path


def too_long(text: str) -> list[str]:
    return [line for line in text.splitlines() if len(line) > 80]


COMMANDS = [
    ("explain",),
    ("init", "people.csv", "--secret", "ill", "-o", "drafted.toml"),
    ("publish", "plan.toml", "-o", "release.json"),
    ("audit", "plan.toml", "--jobs", "1", "--no-remedy"),
    ("audit", "incomes.toml", "--jobs", "1", "--no-remedy"),
    ("sweep", "plan.toml", "--jobs", "1", "--scales", "0.5,3", "--repeats", "3"),
    ("profile", "people.csv", "-y", "rate", "--reveal"),
    ("bounds", "--people", "1000", "--attributes", "8", "--ways", "2"),
    ("limit", "shares.csv", "--people", "50", "--coding", "bits", "--trials", "100", "--most", "20"),
    ("trace", "--release", "shares.csv", "--people", "50", "--targets", "targets.csv", "--reference",
     "reference.csv", "--coding", "bits", "--reveal", "--anyway"),
    ("rows", "age_sex.csv", "--jobs", "1"),
]  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(command[:2]))
def test_commands_fit_a_terminal(tellall, folder, command):
    code, out, err = tellall(*command)
    assert code in (0, 1, 3), err
    assert out + err
    assert too_long(out + err) == []


def test_every_topic_fits_a_terminal(tellall, folder):
    for topic in topic_names():
        assert too_long(tellall("explain", topic)[1]) == []


def test_an_attack_fits_a_terminal(tellall, folder):
    assert tellall("publish", "plan.toml", "-o", "release.json", "--seed", "1")[0] == 0
    code, out, err = tellall("attack", "release.json", "--public", "people.csv")
    assert code in (0, 3), err
    assert too_long(out + err) == []


def test_a_paper_fits_a_terminal():
    words = "words that are said about a statement " * 4
    lines = tuple(Series(f"a line with a name of its own, {j}", [1, 2, 3], [1, 2, 3]) for j in range(6))
    paper = PaperRerun(
        name="robust-tracing",
        title=f"A paper with {words}",
        reference="Somewhere",
        statements=(Statement(words, "Prop. 1", words, words, words, "holds", 0.5, 0.25),),
        figures=(Figure(words, "", Axis("x"), Axis("y"), lines),),
        notes=(words,),
        seed=0,
    )
    text = wrapped(str(paper))
    assert too_long(text) == []
    assert text.count("a line with a name of its own") == 6


def test_a_wide_table_comes_in_parts_that_begin_alike():
    rows = [["name", *(f"column {j}" for j in range(12))], ["a", *map(str, range(12))]]
    lines = fitted(rows)
    assert too_long("\n".join(lines)) == []
    assert [line.split()[0] for line in lines if line] == ["name", "a"] * 2
    assert " ".join(" ".join(lines).split()).count("column") == 12


def test_which_record_is_the_worst_is_said_only_if_asked(tellall, folder):
    command = ("profile", "people.csv", "-y", "rate")
    assert "worst record" not in tellall(*command)[1]
    assert all(row["worst_record"] is None for row in json.loads(tellall(*command, "--json")[1])["rows"])
    assert "worst record: row" in tellall(*command, "--reveal")[1]
