"""What is printed and written, with people and names made to act on a terminal, a page or a reader."""

import re
import unicodedata
from pathlib import Path

import numpy as np
import pytest

ACTS = "\x1b]0;owned\x07\x9b31m\u202e\u2067"
NAMES = [f"age{ACTS}", f"to{ACTS}wn", "ill", f"i{ACTS}d"]


def write_people(path: Path, names=NAMES, n: int = 60) -> None:
    rng = np.random.default_rng(1)
    towns = [f"Ghent{ACTS}", f"Bruges{ACTS}", "Lille"]
    rows = [f"{rng.integers(18, 90)},{towns[i % 3]},{i * 7 % 2},{1000 + i}" for i in range(n)]
    path.write_text(",".join(names) + "\n" + "\n".join(rows) + "\n", encoding="utf-8")


def acting(text: str) -> set[str]:
    kinds = ("Cc", "Cf", "Cs", "Zl", "Zp")
    return {mark for mark in text if unicodedata.category(mark) in kinds} - set("\n\t")


def written(folder: Path) -> dict[str, str]:
    """Everything that was written, by name, but the people themselves."""
    endings = (".toml", ".json", ".html", ".csv")
    paths = [path for path in folder.rglob("*") if path.is_file() and path.suffix in endings]
    return {str(path): path.read_text(encoding="utf-8") for path in paths if path.name != "people.csv"}


def test_names_that_act_are_plain_everywhere(tellall, tmp_path):
    write_people(tmp_path / "people.csv")
    code, out, err = tellall("init", "people.csv", "--json")
    assert code == 0
    assert not acting(out + err)
    for command in (
        ["audit", "people.toml", "--jobs", "1", "--json", "--no-remedy"],
        ["publish", "people.toml", "-o", "release.json"],
        ["attack", "release-1.json", "--public", "people.csv", "--json"],
        ["audit", "missing\x1b[31m.toml"],
        ["attack", "release-1.json", "--public", "people.csv", "--prior", "\x1b[31m"],
    ):
        code, out, err = tellall(*command)
        assert "fault in tellall" not in err
        assert not acting(out + err), command
    found = written(tmp_path)
    assert {Path(name).name for name in found} >= {
        "people.toml",
        "audit.json",
        "report.html",
        "release-1.json",
    }
    for name, text in found.items():
        assert not acting(text), name


def test_areas_with_names_that_act_are_plain_everywhere(tellall, tmp_path):
    names = ["age", "town", "ill", "id"]
    write_people(tmp_path / "people.csv", names)
    Path("plan.toml").write_text(
        'data = "people.csv"\nsecret = "ill"\npublic = ["age", "town"]\nby = "town"\nsteps = false\n'
        'bins = 4\n[[releases]]\nstatistic = { kind = "Marginals", ways = 2 }\n'
    )
    code, out, err = tellall("audit", "plan.toml", "--jobs", "1", "--no-remedy")
    assert code in (0, 1, 3)
    assert not acting(out + err)
    assert "plan-audit/areas.csv" in {str(Path(name).relative_to(tmp_path)) for name in written(tmp_path)}
    for name, text in written(tmp_path).items():
        assert not acting(text), name


# no text in UTF-8, nor in Windows-1252
BAD_BYTE = b"age,town,ill\n" + b"31,Ghent,0\n44,Lille,1\n" * 40 + b"37,Secretov\x81,1\n" + b"52,Ghent,0\n" * 5


@pytest.mark.parametrize("command", ["init", "audit", "attack", "profile", "trace"])
def test_a_bad_byte_prints_no_persons_line(tellall, tmp_path, command):
    good = tmp_path / "good.csv"
    good.write_bytes(BAD_BYTE.replace(b"\x81", b"e"))
    Path("plan.toml").write_text(
        'data = "good.csv"\nsecret = "ill"\n[[releases]]\nstatistic = { kind = "Marginals", ways = 2 }\n'
    )
    assert tellall("publish", "plan.toml", "-o", "release.json")[0] == 0
    (tmp_path / "bad.csv").write_bytes(BAD_BYTE)
    arguments = {
        "init": ["bad.csv"],
        "audit": ["plan.toml", "--data", "bad.csv"],
        "attack": ["release.json", "--public", "bad.csv"],
        "profile": ["bad.csv", "-y", "ill"],
        "trace": ["--release", "bad.csv", "--targets", "bad.csv", "--reference", "good.csv"],
    }
    code, out, err = tellall(command, *arguments[command])
    assert (code, out) == (2, "")
    assert "bad.csv" in err
    assert "82" in err
    assert "Secretov" not in err
    assert "37" not in err


PLANS = {
    "ill": """
public = ["income", "north", "home", "months"]
bins.income = [20000.0, 30000.0, 45000.0]
[[attackers]]
known = ["north", "home"]
[[attackers]]
name = "some"
known_people = 0.8
[[releases]]
statistic = { kind = "Marginals", ways = 2 }
where = "income > 25000"
[[releases]]
statistic = { kind = "SurvivalCurve", time = "months" }
""",
    "pay": """
public = ["north", "home", "months"]
[[releases]]
statistic = { kind = "Sums", ways = 2, counts = true }
where = "north = 1"
[[releases]]
statistic = { kind = "CellMeans", ways = 2 }
protect = { kind = "Rounding", base = 1.0 }
""",
}


def write_earners(path: Path, secret: str, income: float) -> None:
    rng = np.random.default_rng(0)
    table = {
        "income": [*rng.lognormal(10.3, 0.4, 59).round(2), income],
        "north": rng.integers(0, 2, 60),
        "home": rng.integers(0, 3, 60),
        "months": rng.integers(1, 9, 60),
        secret: rng.integers(0, 2, 60) if secret == "ill" else rng.lognormal(7, 1, 60).round(2),
    }
    rows = [",".join(map(str, row)) for row in zip(*table.values(), strict=True)]
    path.write_text("\n".join([",".join(table), *rows]) + "\n")


def test_a_decision_is_the_same_for_two_populations_whose_published_numbers_are(tellall, tmp_path):
    """One secret differs, of somebody in no table: audits differ in exact counts, records in nothing."""
    Path("plan.toml").write_text(
        'data = "people.csv"\nsecret = "ill"\nsteps = false\n[[releases]]\nname = "t"\n'
        "where = \"age != 'old'\"\n"
        'statistic = { kind = "Marginals", ways = 2 }\nprotect = [{ kind = "Rounding", base = 3 }]\n'
    )
    rng = np.random.default_rng(0)
    sex, region, ill = rng.integers(0, 2, 60), rng.integers(0, 4, 60), rng.integers(0, 2, 60)
    ages, audits, records = ["young", "middle", "old"] * 20, [], []
    for last in (0, 1):
        ill[-1] = last
        rows = zip(ages, sex, region, ill, strict=True)
        lines = ["age,sex,region,ill", *(",".join(map(str, row)) for row in rows)]
        (tmp_path / "people.csv").write_text("\n".join(lines) + "\n")
        command = ("audit", "plan.toml", "--decision", "--no-remedy", "--jobs", "1", "-o", "out")
        assert tellall(*command)[0] in (0, 1, 3)
        audits.append((tmp_path / "out" / "audit.json").read_text())
        record = (tmp_path / "out" / "decision.toml").read_text()
        records.append(re.sub(r"\d{4}-\d\d-\d\dT[\d:.+]*", "", record))
    assert audits[0] != audits[1]
    assert records[0] == records[1]


@pytest.mark.slow  # short twins: what documents say, and what release files say, each in its room
@pytest.mark.parametrize("secret", PLANS)
def test_two_audits_tell_nothing_of_a_number_that_no_table_shows(tellall, tmp_path, secret):
    """One person earns something else: in the same bin, or in a column that is in no part of the plan.

    All that is written and printed stays as it is.
    """
    head = f'data = "people.csv"\nsecret = "{secret}"\nsteps = false\n'
    Path("plan.toml").write_text(head + PLANS[secret])
    Path("policy.toml").write_text('limit = 0.03\n[[attackers]]\nname = "insider"\nknown_secrets = 0.1\n')
    options = [
        "--policy",
        "policy.toml",
        "--jobs",
        "1",
        "--decision",
        "--markdown",
        "s.md",
        "--junit",
        "j.xml",
    ]
    texts = []
    for income in (31_415.92, 31_000.55):
        write_earners(tmp_path / "people.csv", secret, income)
        code, out, err = tellall("audit", "plan.toml", *options, "-o", "out", "--json")
        assert code in (0, 1, 3)
        paths = [path for path in sorted(tmp_path.rglob("*")) if path.is_file() and path.name != "people.csv"]
        found = {"printed": out + err, **{path.name: path.read_text() for path in paths}}
        texts.append({name: re.sub(r"\d{4}-\d\d-\d\dT[\d:.+]*", "", text) for name, text in found.items()})
    assert {"audit.json", "report.html", "decision.toml", "s.md", "j.xml"} <= set(texts[0])
    assert texts[0] == texts[1]
    assert not any(number in text for text in texts[0].values() for number in ("31415", "31000.5"))
