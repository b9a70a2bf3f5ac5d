"""The commands on files, as a new user would type them, and as somebody who means harm would."""

import json
import os
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tellall.audits.advised import Remedy
from tellall.audits.document import read_audit
from tellall.audits.plans.plan_files import read_plan
from tellall.audits.verdict import Verdict
from tellall.core.errors import CannotLinearise
from tellall.statistics.cell_means import CellMeans
from tellall.statistics.estimators import Estimator


def write_people(path: Path, n: int = 60) -> None:
    rng = np.random.default_rng(1)
    ill = rng.permutation(np.arange(n) % 2)
    rows = [
        f'{1000 + i},"P{i}, esq.",{rng.integers(18, 90)},'
        f"{rng.choice(['Ghent', '=1+1', '<b>'])},{rng.integers(0, 2)},{rng.integers(0, 2)},{ill[i]}"
        for i in range(n)
    ]
    path.write_text("id,name,age,town,car,dog,ill\n" + "\n".join(rows) + "\n", encoding="utf-8")


@pytest.fixture
def people(tmp_path) -> Path:
    write_people(tmp_path / "people.csv")
    return tmp_path / "people.csv"


PLAN = """
data = "people.csv"
secret = "ill"
public = ["age", "town", "car", "dog"]
limit = {limit}
exposed_limit = 60
steps = false
bins = 4
[[releases]]
name = "tables"
statistic = {{ kind = "Marginals", ways = 4 }}
"""
WHERE = "age < 50"
NOISE = 'protect = { kind = "Gaussian", std = 40.0 }\n'


def test_from_a_file_to_a_page_in_two_commands(tellall, people, tmp_path):
    code, out, err = tellall("init", "people.csv")
    assert (code, out) == (0, "")
    assert "secret ill, 4 public columns" in err
    assert "Left out id: a different whole number for everybody" in err
    plan = read_plan("people.toml")
    assert (plan.secret, plan.public) == ("ill", ("age", "town", "car", "dog"))
    code, out, err = tellall("audit", "people.toml", "--jobs", "1", "--json", "--no-remedy")
    document = read_audit(out)
    assert code == {"pass": 0, "fail": 1, "review": 3}[document.verdict.word]
    assert err.splitlines()[-1] == "The page is people-audit/report.html"
    assert sorted(os.listdir("people-audit")) == ["audit.json", "report.html"]
    assert Path("people-audit/audit.json").read_text(encoding="utf-8") == out
    page = Path("people-audit/report.html").read_text(encoding="utf-8")
    assert "esq." not in page + out  # nobody's name


EXIT_CODES = [(0.02, "", 1, "FAIL"), (1.0, NOISE, 0, "PASS"), (1.0, "", 3, "REVIEW"), (0.35, "", 3, "REVIEW")]


@pytest.mark.parametrize(("limit", "noise", "code", "word"), EXIT_CODES)
def test_exit_codes_follow_the_limit(tellall, people, limit, noise, code, word):
    """Exact tables prove people as a group, which a person has to judge; noise proves nothing."""
    Path("plan.toml").write_text(PLAN.format(limit=limit) + noise)
    left, out, err = tellall("audit", "plan.toml", "--jobs", "1", "--no-remedy")
    assert (left, out) == (code, "")
    assert err.startswith(f"{word}. ")


@pytest.mark.parametrize(("limit", "noise", "code", "word"), EXIT_CODES)
def test_exit_codes_hang_on_no_sentence(tellall, people, monkeypatch, limit, noise, code, word):
    make = Verdict.__init__

    def mute(verdict, sentence, *more, **named):
        make(verdict, "Not attacked: pass, fail or review.", *more, **named)

    monkeypatch.setattr(Verdict, "__init__", mute)
    Path("plan.toml").write_text(PLAN.format(limit=limit) + noise)
    left, _, err = tellall("audit", "plan.toml", "--jobs", "1", "--no-remedy")
    assert left == code
    assert err.startswith(f"{word}. Not attacked: pass, fail or review.")


def test_what_needs_too_much_memory_is_refused_unless_forced(tellall, people, monkeypatch):
    Path("plan.toml").write_text(PLAN.format(limit=0.02))
    monkeypatch.setattr("tellall.audits.plans.memory_needed.Memory.fits", property(lambda memory: False))
    code, out, err = tellall("audit", "plan.toml", "--jobs", "1")
    said = " ".join(err.split())
    assert (code, out) == (2, "")
    assert "the audit must be expected to fit into memory" in said
    assert "--force starts it anyway" in said
    assert not Path("plan-audit").exists()
    assert tellall("audit", "plan.toml", "--jobs", "1", "--no-remedy", "--force")[0] == 1


def test_one_person_learnt_is_too_many_unless_the_plan_allows_it(tellall, people):
    Path("plan.toml").write_text(PLAN.format(limit=1.0).replace("exposed_limit = 60\n", ""))
    code, _, err = tellall("audit", "plan.toml", "--jobs", "1", "--no-remedy")
    assert code == 1
    assert "learns the sensitive value of single people" in " ".join(err.split())


def test_reveal_writes_a_separate_marked_file_for_its_owner_alone(tellall, people):
    Path("plan.toml").write_text(PLAN.format(limit=0.05))
    _, out, err = tellall(
        "audit", "plan.toml", "--jobs", "1", "--reveal", "--no-remedy", "--json", "-o", "result"
    )
    marked = Path("result/people.SECRET.json")
    assert marked.stat().st_mode & 0o077 == 0
    named = json.loads(marked.read_text(encoding="utf-8"))
    assert named["warning"].startswith("SECRET")
    assert named["people"]["tables"]
    assert str(marked) in err
    assert '"row":' not in out + Path("result/report.html").read_text(encoding="utf-8")


def test_the_seed_of_the_command_is_the_seed_of_the_audit(tellall, people):
    Path("plan.toml").write_text(PLAN.format(limit=0.05) + 'protect = { kind = "Gaussian", std = 2.0 }\n')
    options = ("--jobs", "1", "--json", "--no-remedy", "--seed")
    runs = [tellall("audit", "plan.toml", *options, seed)[1] for seed in (1, 1, 2)]
    assert runs[0] == runs[1] != runs[2]


def test_the_two_sides_apart(tellall, people, tmp_path):
    Path("plan.toml").write_text(PLAN.format(limit=0.05))
    code, out, _ = tellall("publish", "plan.toml", "-o", "release.json", "--json")
    assert code == 0
    assert json.loads(out)["files"] == ["release.json"]
    lines = people.read_text().splitlines()
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "known.csv").write_text("\n".join(line.rpartition(",")[0] for line in lines) + "\n")
    os.chdir(outside)
    code, out, _ = tellall("attack", "../release.json", "--public", "known.csv", "--json", "--reveal")
    assert code == 0
    found = json.loads(out)
    assert found["people"] == 60
    assert found["status"] in ("solved", "trusted")
    assert "guess" not in json.dumps(found).replace("guessed_to_have_it", "")
    named = json.loads(Path("release-people.SECRET.json").read_text())
    truth = [int(line.rpartition(",")[2]) for line in lines[1:]]
    right = np.mean([row["guess"] == bit for row, bit in zip(named["people"], truth, strict=True)])
    assert right > 0.7


def test_several_releases_are_numbered_and_attacked_together(tellall, people):
    more = '[[releases]]\nstatistic = { kind = "Marginals", ways = 2 }\n'
    noise = 'protect = { kind = "Gaussian", std = 1.0 }\n'
    Path("plan.toml").write_text(PLAN.format(limit=0.05) + more + noise)
    assert tellall("publish", "plan.toml")[0] == 0
    files = ["plan-release-1.json", "plan-release-2.json"]
    first = [Path(name).read_text() for name in files]
    code, out, _ = tellall("attack", *files, "--public", "people.csv", "--json")
    assert code == 0
    assert len(json.loads(out)["releases"]) == 2
    code, _, err = tellall("publish", "plan.toml")
    assert code == 2
    assert "plan-release-1.json" in err
    assert "choose another name" in err
    assert [Path(name).read_text() for name in files] == first  # a release cannot be drawn again
    for name in files:
        Path(name).unlink()
    assert tellall("publish", "plan.toml")[0] == 0
    again = [Path(name).read_text() for name in files]
    assert again[0] == first[0]
    assert again[1] != first[1]  # the noise is never drawn with the plan's seed


def test_a_release_refuses_other_people(tellall, people):
    Path("plan.toml").write_text(PLAN.format(limit=0.05))
    tellall("publish", "plan.toml", "-o", "release.json", "-q")
    lines = people.read_text().splitlines()
    Path("more.csv").write_text("\n".join([*lines, lines[1]]) + "\n")
    code, out, err = tellall("attack", "release.json", "--public", "more.csv")
    assert (code, out) == (2, "")
    assert "the people the release was made for; got 61 people, not 60" in err
    assert "--where" in err
    assert "--may-include" in err
    for condition, says in (("dog = 'cow'", "--where: condition must be"), ("age < 0", "true of nobody")):
        code, _, err = tellall(
            "attack", "release.json", "--public", "more.csv", "--where", f"release.json: {condition}"
        )
        assert code == 2
        assert says in err
    assert tellall("attack", "release.json", "--public", "more.csv", "--may-include", "-q")[0] in (0, 3)
    Path("fewer.csv").write_text("\n".join(lines[:-1]) + "\n")  # exact totals tell that one is missing
    assert tellall("attack", "release.json", "--public", "fewer.csv", "-q")[0] == 0
    assert tellall("attack", "release.json", "--public", "fewer.csv", "--missing", "2")[0] == 2
    Path("other.csv").write_text("a,b\n1,2\n2,3\n")
    code, _, err = tellall("attack", "release.json", "--public", "other.csv")
    assert code == 2
    assert "--public: public must be a column of the table" in err


def test_words_are_explained(tellall):
    code, out, _ = tellall("explain", "reconstruction")
    assert code == 0
    for part in ("Why it matters:", "What to do:", "Where to read:"):
        assert part in out
    assert "Rounding" in tellall("explain")[1]
    assert json.loads(tellall("explain", "rounding", "--json")[1])["name"] == "Rounding"
    code, out, err = tellall("explain", "reconstrution")
    assert (code, out) == (2, "")
    assert "Did you mean 'reconstruction'?" in err


def test_init_overwrites_nothing_and_finds_a_secret_or_says_so(tellall, people, tmp_path):
    Path("people.toml").write_text("mine")
    code, _, err = tellall("init", "people.csv")
    assert code == 2
    assert "--out must be a new file" in err
    assert Path("people.toml").read_text() == "mine"
    assert tellall("init", "people.csv", "-o", "other.toml", "--secret", "il")[2].endswith("'ill'?\n")
    gone = tellall("init", "people.csv", "-o", "no/other.toml", "--secret", "ill")
    assert (gone[0], "a folder that exists" in gone[2]) == (2, True)
    Path("n.csv").write_text("x,y\n1,2\n2,3\n3,4\n")
    assert "a column of two values" in tellall("init", "n.csv")[2]
    (tmp_path / "sub").mkdir()
    assert "--out must be in the folder of" in tellall("init", "people.csv", "-o", "sub/p.toml")[2]
    assert sorted(os.listdir()) == ["n.csv", "people.csv", "people.toml", "sub"]


def test_a_column_that_tells_the_secret_is_said_by_init_and_before_an_audit(tellall, tmp_path):
    rows = "".join(f"{i % 2},{i // 2 % 3},{'yes' if i % 2 else 'no'}\n" for i in range(60))
    (tmp_path / "told.csv").write_text(f"ward\nnew,town,ill\n{rows}".replace("ward\nnew", '"ward\nnew"'))
    code, out, err = tellall("init", "told.csv")
    said = "`ward new` tells `ill` by itself, right about 100.0"
    assert code == 0
    assert said in " ".join((out + err).replace("\N{NO-BREAK SPACE}", " ").split())
    plan = Path("told.toml").read_text(encoding="utf-8")
    assert f"# {said}" in plan.replace("\N{NO-BREAK SPACE}", " ")
    assert 'accepted_predictors = ["' in plan
    code, out, err = tellall("audit", "told.toml", "--no-remedy", "--jobs", "1")
    shown = " ".join((out + err).replace("\N{NO-BREAK SPACE}", " ").split())
    assert code == 3
    assert shown.index(said) < shown.index("REVIEW")


def test_odd_column_names_make_a_plan_that_reads(tellall, tmp_path):
    (tmp_path / "odd.csv").write_text(
        'a"b\\c,"new\nline",{x},# no,=1+1,ill\n'
        + "".join(f"{i % 3},{i % 2},{i % 5},{(i // 2) % 2},{i % 7},{i % 2}\n" for i in range(40)),
        encoding="utf-8",
    )
    assert tellall("init", "odd.csv")[0] == 0
    plan = read_plan("odd.toml")
    assert 'a"b\\c' in plan.public
    assert "{x}" in plan.public


HOSTILE = {
    "unknown key": PLAN.format(limit=0.1) + "\n[extra]\nx = 1\n",
    "wrong type": PLAN.format(limit='"x"'),
    "absolute path": PLAN.format(limit=0.1).replace("people.csv", "/etc/passwd"),
    "path out": PLAN.format(limit=0.1).replace("people.csv", "../people.csv"),
    "no such file": PLAN.format(limit=0.1).replace("people.csv", "none.csv"),
    "long string": 'secret = "' + "x" * 10_000_000 + '"',
    "torn": PLAN.format(limit=0.1)[:60],
    "not text": "\x00\x01",
    "no such column": PLAN.format(limit=0.1).replace('"ill"', '"il"'),
    "a link": PLAN.format(limit=0.1).replace("people.csv", "link.csv"),
    "latin": PLAN.format(limit=0.1).replace("people.csv", "latin.csv"),
    "too many ways": PLAN.format(limit=0.1).replace("ways = 4", "ways = 9"),
    "ways beyond all": PLAN.format(limit=0.1).replace("ways = 4", "ways = 99999999999999999999"),
}


def test_a_folder_of_parquet_files_is_published_without_loading_it(tellall, people, tmp_path):
    table = pd.read_csv(people)
    (tmp_path / "folder").mkdir()
    table[:30].to_parquet(tmp_path / "folder" / "1.parquet")
    table[30:].to_parquet(tmp_path / "folder" / "2.parquet")
    table.to_parquet(tmp_path / "one.parquet")
    (tmp_path / "plan.toml").write_text(PLAN.format(limit=0.1))
    assert tellall("publish", "plan.toml", "-o", "memory.json")[0] == 0
    for number, data in enumerate((["folder"], ["folder/*.parquet"], ["one.parquet", "--stream"])):
        assert tellall("publish", "plan.toml", "-o", f"{number}.json", "--data", *data)[0] == 0
        assert json.loads((tmp_path / f"{number}.json").read_text()) == json.loads(
            (tmp_path / "memory.json").read_text()
        )
    some = PLAN.format(limit=0.1).replace("[[releases]]", '[[releases]]\nwhere = "CONDITION"', 1)
    (tmp_path / "some.toml").write_text(some.replace("CONDITION", WHERE))
    for data, out in ((["one.parquet"], "in-memory.json"), (["folder"], "on-disk.json")):
        assert tellall("publish", "some.toml", "-o", out, "--data", *data)[0] == 0
    written = [json.loads((tmp_path / name).read_text()) for name in ("in-memory.json", "on-disk.json")]
    assert written[0] == written[1]
    assert written[1]["where"] == WHERE
    (tmp_path / "nobody.toml").write_text(some.replace("CONDITION", f"{WHERE} and not {WHERE}"))
    code, _, err = tellall("publish", "nobody.toml", "-o", "nobody.json", "--data", "folder")
    assert code == 2
    assert "true of one person or more" in err
    code, _, err = tellall("publish", "plan.toml", "--data", "nothing/*.parquet")
    assert code == 2
    assert "Parquet files that exist" in err
    code, _, err = tellall("publish", "plan.toml", "--stream")
    assert code == 2
    assert "Leave --stream out." in err
    for command in (["audit", "plan.toml", "--data"], ["attack", "memory.json", "--public"]):
        code, _, err = tellall(*command, "folder")
        assert code == 2
        assert "tellall publish" in err


@pytest.mark.parametrize("what", HOSTILE)
@pytest.mark.parametrize("command", ["audit", "publish"])
def test_hostile_plans_are_a_line_or_two_and_nothing_is_written(tellall, people, tmp_path, what, command):
    (tmp_path / "plan.toml").write_text(HOSTILE[what], encoding="utf-8")
    (tmp_path / "link.csv").symlink_to("/etc/passwd")
    (tmp_path / "latin.csv").write_bytes("age,town,car,dog,ill\n1,Li\xe8ge,0,1,0\n".encode("latin-1"))
    before = sorted(os.listdir())
    code, out, err = tellall(command, "plan.toml")
    assert (code, out) == (2, "")
    assert err.startswith("tellall: ")
    assert 1 <= len(err.splitlines()) <= 3
    assert len(err) < 1000
    assert sorted(os.listdir()) == before


@pytest.mark.parametrize("content", ["", "{", "[]", '{"document": "release"}', "x" * 10_000_000, "\ud800"])
def test_hostile_releases_are_a_line(tellall, people, content):
    Path("release.json").write_text(content, encoding="utf-8", errors="surrogatepass")
    code, out, err = tellall("attack", "release.json", "--public", "people.csv")
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert len(err) < 600


def test_output_places_are_checked_before_any_work(tellall, people, tmp_path):
    Path("plan.toml").write_text(PLAN.format(limit=0.1))
    Path("file").write_text("")
    for arguments in (
        ("audit", "plan.toml", "-o", "file"),
        ("audit", "plan.toml", "-o", "no/where"),
        ("publish", "plan.toml", "-o", "no/where.json"),
        ("publish", "plan.toml", "-o", str(tmp_path)),
    ):
        code, out, err = tellall(*arguments)
        assert (code, out) == (2, ""), arguments
        assert err.startswith("tellall: --out must be"), arguments
    assert tellall("audit", "plan.toml", "-o", "file")[0] == 2
    assert sorted(os.listdir()) == ["file", "people.csv", "plan.toml"]


def test_a_full_disk_is_one_line(tellall, people, monkeypatch):
    Path("plan.toml").write_text(PLAN.format(limit=0.1))

    def fail(*_args, **_options):
        raise OSError(28, "No space left on device", "release.json")

    monkeypatch.setattr("os.link", fail)
    code, _, err = tellall("publish", "plan.toml", "-o", "release.json")
    assert code == 2
    assert err == "tellall: No space left on device: release.json\n"
    assert sorted(os.listdir()) == ["people.csv", "plan.toml"]


def test_the_audit_of_another_file(tellall, people, tmp_path):
    Path("plan.toml").write_text(PLAN.format(limit=1.0).replace('data = "people.csv"\n', "") + NOISE)
    assert "data is needed" in tellall("audit", "plan.toml")[2]
    assert tellall("audit", "plan.toml", "--data", str(people), "--jobs", "1")[0] == 0


def test_misspelt_columns_are_told_all_at_once(tellall, people):
    text = PLAN.format(limit=0.1).replace('"ill"', '"il"').replace('"car"', '"carr"')
    Path("plan.toml").write_text(text.replace("bins = 4", "bins = { agee = 4 }"))
    code, _, err = tellall("audit", "plan.toml")
    assert code == 2
    assert err.splitlines()[0] == "tellall: plan: 3 errors"
    for near in ("'ill'", "'car'", "'age'"):
        assert f"Did you mean {near}?" in err


@pytest.mark.parametrize(
    ("trouble", "expected", "says"),
    [(KeyboardInterrupt, 130, "go on from here"), (MemoryError, 2, "too little memory")],
)
def test_an_audit_that_is_stopped_is_no_verdict(tellall, people, monkeypatch, trouble, expected, says):
    def fail(*_args, **_options):
        raise trouble

    Path("plan.toml").write_text(PLAN.format(limit=0.1))
    monkeypatch.setattr(import_module("tellall.audits.trial"), "before_any_release", fail)
    code, out, err = tellall("audit", "plan.toml", "--jobs", "1")
    assert (code, out) == (expected, "")
    assert says in err


def test_every_command_has_the_common_options(tellall):
    for command in ("audit", "publish", "attack", "init", "explain"):
        code, out, _ = tellall(command, "--help")
        assert code == 0
        for option in ("--json", "--seed", "--quiet", "--out"):
            assert option in out, (command, option)


def test_a_kind_that_tellall_does_not_have_is_said_before_the_run(tellall, people):
    unknown = '\n[[releases]]\nname = "medians"\nstatistic = { kind = "Quantiles" }\n'
    Path("plan.toml").write_text(PLAN.format(limit=1.0) + NOISE + unknown)
    code, out, err = tellall("audit", "plan.toml", "--jobs", "1", "--json")
    assert code == 3
    assert err.splitlines()[0].startswith(
        "“medians” is not checked: tellall has no statistic of kind 'Quantiles'"
    )
    assert json.loads(out)["not_checked"][0]["name"] == "medians"
    Path("plan.toml").write_text(PLAN.format(limit=1.0).split("[[releases]]")[0] + unknown)
    for command in ("audit", "publish", "sweep", "calibrate"):
        code, out, err = tellall(command, "plan.toml")
        assert (code, out) == (2, ""), command
        assert "releases must be given with a kind of statistic" in err


def test_an_audit_in_which_nothing_can_be_attacked_cannot_answer(tellall, people, monkeypatch):
    def fail(*_args, **_options):
        raise CannotLinearise("no equations in it")

    Path("plan.toml").write_text(PLAN.format(limit=1.0))
    monkeypatch.setattr("tellall.audits.trial.reconstruct_releases", fail)
    code, _, err = tellall("audit", "plan.toml", "--jobs", "1", "--quiet")
    assert code == 2
    assert "nothing in the plan could be attacked. " in err
    assert "no equations in it." in err


def test_init_drafts_a_plan_for_a_real_secret_that_can_be_audited(tellall, tmp_path):
    rng = np.random.default_rng(2)
    columns = rng.normal(size=(40, 4)).round(3)
    pay = (columns @ [1.0, 2.0, -1.0, 0.5] + rng.normal(50, 3, 40)).round(2)
    people = zip(columns.tolist(), pay.tolist(), strict=True)
    rows = [",".join(map(str, [*one, "x" if one[0] > 0 else "y", each])) for one, each in people]
    (tmp_path / "pay.csv").write_text("\n".join(["a,b,c,d,town,pay", *rows, ""]), encoding="utf-8")
    assert tellall("init", "pay.csv", "--secret", "pay")[0] == 0
    plan = read_plan("pay.toml")
    means, fit = (planned.statistic for planned in plan.releases)
    assert means == CellMeans(2, counts=True)
    assert fit == Estimator("linear", blocks=[["a", "b", "c", "d"]], intercept=True)
    assert "town" in plan.public  # known to the attacker, of no use in a regression
    assert tellall("audit", "pay.toml", "-q", "--no-remedy")[0] in (0, 1, 3)
    (tmp_path / "text.csv").write_text(
        "town,pay\n" + "".join(f"{'xyz'[i % 3]},{i / 7:.3f}\n" for i in range(40)), encoding="utf-8"
    )
    assert tellall("init", "text.csv", "--secret", "pay")[0] == 0  # no numbers to regress on: means by cell
    (means,) = read_plan("text.toml").releases
    assert means.statistic == CellMeans(2, counts=True)
    assert tellall("audit", "text.toml", "-q", "--no-remedy")[0] in (0, 1, 3)


def test_the_verdict_stands_before_the_remedy_is_looked_for(tellall, people, monkeypatch):
    """Whatever becomes of the search, the files and the exit code are those of the verdict."""

    def stopped(*_args, **_options):
        assert json.loads(Path("plan-audit/audit.json").read_text())["verdict"]["word"] == "fail"
        raise KeyboardInterrupt

    Path("plan.toml").write_text(PLAN.format(limit=0.01).replace("exposed_limit = 60", "exposed_limit = 0"))
    monkeypatch.setattr("tellall.audits.advice.find_remedy", stopped)
    code, _, err = tellall("audit", "plan.toml", "--jobs", "1")
    assert code == 1
    assert "stopped; the verdict stands" in err

    def failed(*_args, **_options):
        raise CannotLinearise("no equations in it")

    monkeypatch.setattr("tellall.audits.advice.find_remedy", failed)
    code, _, err = tellall("audit", "plan.toml", "--jobs", "1")
    assert code == 1
    assert "failed; the verdict stands. no equations in it" in err
    monkeypatch.setattr("tellall.audits.advice.find_remedy", lambda *_: 1 / 0)
    assert tellall("audit", "plan.toml", "--jobs", "1", "--no-remedy")[0] == 1
    found = Remedy(found=False, sentence="None of the 3 changes tried passes.")
    monkeypatch.setattr("tellall.audits.advice.find_remedy", lambda *_: found)
    code, out, err = tellall("audit", "plan.toml", "--jobs", "1", "--json")
    assert code == 1
    assert (
        json.loads(out)["remedy"]
        == json.loads(Path("plan-audit/audit.json").read_text())["remedy"]
        == found.as_json()
    )
    assert "None of the 3 changes" in err


def test_attack_on_a_folder_of_acro(tellall, tmp_path, monkeypatch):
    made = Path(__file__).parents[1] / "outputs" / "acro"
    code, out, err = tellall(
        "attack", str(made / "outputs"), "--public", str(made / "people.csv"), "--secret", "ill", "--json"
    )
    document = json.loads(out)
    assert code in (0, 3)
    assert [one["file"] for one in document["releases"]][:2] == ["output_0", "output_1"]
    reason = "a probit model of sick on intercept, age agrees with the people and says nothing about ill"
    assert {
        "name": "output_10",
        "reason": reason,
        "code": "takes-no-part",
        "stage": "read",
        "outcome": "skipped",
    } in document["not_read"]
    assert f"Not read: output_10: {reason}" in " ".join(err.split())
    (tmp_path / "empty").mkdir()
    code, _, err = tellall("attack", "empty", "--public", str(made / "people.csv"))
    assert code == 2
    assert "results.json" in err


def test_releases_about_different_people_are_attacked_together(tellall, people):
    """Everybody's table and the table of all but the first line: the one is proved from files alone."""
    first = people.read_text().splitlines()
    rows = [first[0] + ",number", *(f"{line},{number}" for number, line in enumerate(first[1:], 1))]
    Path("numbered.csv").write_text("\n".join(rows) + "\n")
    names, secret = first[0].split(","), "ill"
    table = 'statistic = { kind = "Marginals", ways = 1 }'
    lines = ['data = "numbered.csv"', f'secret = "{secret}"', "steps = false"]
    lines += [f"public = {[*(name for name in names if name != secret), 'number']}"]
    lines += ["[[releases]]", 'name = "all"', table, "[[releases]]", 'name = "others"']
    both = "\n".join([*lines, 'where = "number > 1"', table]) + "\n"
    told = "“all” counts 1 person whom “others” does not. Together they prove the secret of 1 person"
    Path("two.toml").write_text("sensitive = [0, 1]\n" + both)
    code, _, err = tellall("audit", "two.toml", "--no-remedy")
    assert (code, told in " ".join(err.split())) == (1, True)
    assert "all releases together: people proved" in err
    Path("two.toml").write_text(both)  # the first has no sensitive value: told, and decides nothing
    code, _, err = tellall("audit", "two.toml", "--no-remedy")
    assert (code, told in " ".join(err.split())) == (0, True)
    assert tellall("publish", "two.toml", "-o", "two.json", "-q")[0] == 0
    code, out, _ = tellall("attack", "two-1.json", "two-2.json", "--public", "numbered.csv", "--json", "-q")
    assert code == 0
    assert json.loads(out)["proved"] == 1
