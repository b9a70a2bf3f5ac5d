"""Every exit code has one meaning: faults, stops and killed workers never look like a verdict."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.main import get_command

import tellall as ta
from tellall import cli
from tellall.core.locks import PARTIAL

PLAN = """
data = "people.csv"
secret = "ill"
seed = 3
steps = false
{by}
[[releases]]
statistic = {{ kind = "Marginals", ways = 2 }}
protect = [{{ kind = "Swapping", fraction = 0.2 }}]
[[releases]]
statistic = {{ kind = "Marginals", ways = 2 }}
protect = [{{ kind = "Rounding", base = 3 }}]
[[releases]]
statistic = {{ kind = "Marginals", ways = 1 }}
"""
# arguments with which each command comes as far as its work
ASKED = {
    "demo": "",
    "init": "people.csv --out new.toml",
    "audit": "plan.toml --no-remedy --jobs 1",
    "check": "--new-key curator.key",
    "serve": "--no-browser",
    "sweep": "plan.toml --scales 1",
    "calibrate": "plan.toml --max-advantage 0.3",
    "publish": "plan.toml --out new.json",
    "attack": "release.json --public people.csv",
    "recognise": "table.csv --data people.csv",
    "rows": "table.csv --jobs 1",
    "hidden": "withheld.csv",
    "explain": "advantage",
    "profile": "numbers.csv -y wage",
    "trace": "--release means.csv --targets bits.csv --reference bits.csv",
    "limit": "means.csv --people 500",
    "bounds": "-n 1000 --attributes 9 --ways 2 --epsilon 1 --delta 1e-6",
    "paper": "robust-tracing",
}
AT = {"demo": (1, 60), "serve": (1, 2)}  # further on, one attacks for a minute and the other waits for people
COMMANDS = sorted(get_command(cli.app).commands)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """One file of every kind that a command reads."""
    monkeypatch.chdir(tmp_path)
    rng = random.Random(0)
    rows = [
        f"{rng.choice(['young', 'old'])},{rng.choice('mf')},{rng.choice('abc')},{rng.choice(['yes', 'no'])}"
        for _ in range(36)
    ]
    Path("people.csv").write_text("\n".join(["age,sex,area,ill", *rows]) + "\n")
    Path("plan.toml").write_text(PLAN.format(by=""))
    Path("areas.toml").write_text(PLAN.format(by='by = "area"'))
    Path("table.csv").write_text("age,sex,count\ny,f,1\ny,m,0\no,f,3\no,m,2\n")
    Path("withheld.csv").write_text("area,age,count\na,y,x\na,o,5\na,Total,9\nb,y,2\nb,o,x\nb,Total,8\n")
    blocks = [f"{block},{age},{block % 3}" for block in range(6) for age in "yo"]
    Path("blocks.csv").write_text("\n".join(["block,age,count", *blocks]) + "\n")
    Path("numbers.csv").write_text("age,wage\n" + "".join(f"{i},{i * i % 17}\n" for i in range(40)))
    bits = [",".join(str(rng.randrange(2)) for _ in range(30)) for _ in range(40)]
    names = [f"q{j}" for j in range(30)]
    Path("bits.csv").write_text("\n".join([",".join(names), *bits]) + "\n")
    Path("means.csv").write_text("name,mean\n" + "".join(f"{name},0.5\n" for name in names))
    people = ta.read("people.csv", secret="ill")
    ta.publish(people, ta.Marginals(2), ta.Rounding(5)).save("release.json")
    return tmp_path


class Planted(Exception):
    """A fault that is not there without the test."""


def planted(number: int, fault: type[BaseException]):
    """Raises a fault at the library's call with this number, counted while the command runs."""
    left = number

    def look(frame, event, _given):
        nonlocal left
        room = frame.f_globals.get("__name__", "")
        ours = room.startswith("tellall.") and not room.startswith(("tellall.cli", "tellall.core.text"))
        if event == "call" and ours and not frame.f_code.co_name.startswith("<"):
            left -= 1
            if left == 0:
                raise fault("Ann")

    sys.setprofile(look)
    return lambda: left <= 0


def test_every_command_is_tried():
    assert sorted(ASKED) == COMMANDS


@pytest.mark.parametrize("fault", [Planted, EOFError, SystemExit, OSError])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_planted_fault_exits_with_70_from_every_command(tellall, folder, command, fault):
    before = sorted(folder.rglob("*"))
    known = fault in (EOFError, OSError)  # further on, a reader may say this of a file that cannot be read
    for number in (1,) if known else AT.get(command, (1, 12, 150)):
        raised = planted(number, fault)
        try:
            code, _, err = tellall(command, *ASKED[command].split(), "--quiet")
        finally:
            sys.setprofile(None)
        if not raised():  # it makes fewer calls
            assert number > 1
            break
        assert code == 70, (number, err)
        assert err.startswith(f"tellall: a fault in tellall itself ({fault.__name__}), not in your data")
        assert "TELLALL_TRACEBACK=1" in err
        assert err.count("\n") == 1
        assert "Ann" not in err
        left = [path for path in folder.rglob("*") if path.name.endswith(PARTIAL) or path.name == ".lock"]
        assert left == []
    if command not in ("audit", "sweep", "calibrate", "rows"):  # these keep a folder for what is finished
        assert {*folder.rglob("*")} - {*before} <= {folder / "curator.key", folder / "tellall-demo.html"}


def test_where_a_fault_is_can_be_reported_and_quotes_nobody(tellall, folder, monkeypatch):
    monkeypatch.setenv("TELLALL_TRACEBACK", "1")
    planted(150, Planted)
    try:
        code, out, err = tellall("audit", "plan.toml", "--jobs", "1", "--quiet")
    finally:
        sys.setprofile(None)
    assert (code, out) == (70, "")
    assert 'File "' in err
    assert "Planted" in err
    assert "Ann\n" not in err


# Put on the path of Python under this name, it does something else at every third piece of work.
HOOK = """
import functools, os, signal, time
from pathlib import Path
from tellall.core import jobs

def wrapped(function, index, payload, real=jobs.guarded):
    if index % 3 == 2:
        Path(os.environ["HOOKED"], str(os.getpid())).touch()
        {doing}
    return real(function, index, payload)

jobs.guarded = functools.wraps(jobs.guarded)(wrapped)
"""
WAIT = "time.sleep(120)"
KILL = "os.kill(os.getpid(), signal.SIGKILL)"
FAULT = "raise ZeroDivisionError('Ann')"
slow = pytest.mark.hostile  # the quick ones are tried with every change
LONG = {
    "audit": "audit plan.toml --jobs 2 -o out --no-remedy -q",
    "audit, one process": "audit plan.toml --jobs 1 -o out --no-remedy -q",
    "audit of areas": "audit areas.toml --jobs 2 -o out --no-remedy -q",
    "sweep": "sweep areas.toml --scales 1 --jobs 2 -o out -q",
    "calibrate": "calibrate areas.toml --max-advantage 0.9 --jobs 2 -o out -q",
    "rows": "rows blocks.csv --by block --jobs 2 -o out.json -q",
    "demo": "demo -q",
}


def start(folder: Path, words: str, doing: str = "") -> subprocess.Popen[str]:
    """A command of its own, in a group of its own; what it starts carries the folder's name."""
    hooks = folder / "hooks"
    (hooks / "hooked").mkdir(parents=True, exist_ok=True)
    (hooks / "sitecustomize.py").write_text(HOOK.format(doing=doing) if doing else "")
    there = {"PYTHONPATH": str(hooks), "HOOKED": str(hooks / "hooked"), "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, "-m", "tellall", *words.split()],
        cwd=folder,
        env={**os.environ, **there},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # whoever runs the tests in the background of a script has SIGINT ignored, and so would the command
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def running(folder: Path) -> list[str]:
    """The processes that were started with this folder's hooks and have not ended."""
    mark, found = f"HOOKED={folder / 'hooks' / 'hooked'}".encode(), []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (path / "environ").read_bytes().split(b"\0"):
                found.append(path.name)
        except OSError:
            continue
    return found


def wait(true, process: subprocess.Popen[str]) -> None:
    until = time.monotonic() + 120
    while not true():
        assert time.monotonic() < until
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.02)


def gone(folder: Path) -> bool:
    until = time.monotonic() + 20
    while running(folder) and time.monotonic() < until:
        time.sleep(0.05)
    return not running(folder)


def leftovers(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.name.endswith((PARTIAL, ".lock"))]


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for processes in /proc")
@pytest.mark.parametrize("kind", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize(
    "name", [name if name.startswith("audit") else pytest.param(name, marks=slow) for name in LONG]
)
def test_a_stop_says_which_and_leaves_no_process_and_nothing_half_written(folder, name, kind):
    process = start(folder, LONG[name], WAIT)
    wait(lambda: list((folder / "hooks" / "hooked").iterdir()), process)
    process.send_signal(kind)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 128 + kind, error
    assert error.startswith("tellall: stopped; ")
    assert error.count("\n") == 1
    assert gone(folder)
    assert leftovers(folder) == []


def kept(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*.json") if ".work" in path.parts or "areas" in str(path.parent)]


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for processes in /proc")
@pytest.mark.parametrize("whom", ["the command", "the group"])
def test_the_same_command_goes_on_from_where_it_was_stopped(folder, whom):
    """A supervisor sends the signal to every process of the command at once; that is no killed worker."""
    words = LONG["rows"].replace("--jobs 2", "--jobs 3")
    process = start(folder, words, WAIT)
    wait(lambda: len(kept(folder)) == 4, process)
    (os.killpg if whom == "the group" else os.kill)(process.pid, signal.SIGTERM)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 143, error
    assert error == "tellall: stopped; 4 of 6 areas are kept; run the same command to go on from here.\n"
    assert gone(folder)
    before = {path: path.stat().st_mtime_ns for path in kept(folder)}
    process = start(folder, words)
    assert process.communicate(timeout=120)[1] == ""
    assert process.returncode in (0, 3)
    assert len(json.loads((folder / "out.json").read_text())["areas"]) == 6
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert len(kept(folder)) == 6


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for processes in /proc")
@pytest.mark.parametrize("name", ["audit", *(pytest.param(name, marks=slow) for name in [*LONG][3:])])
@pytest.mark.parametrize("doing", [KILL, FAULT], ids=["killed", "fault"])
def test_a_killed_worker_and_a_fault_in_one_exit_with_70(folder, name, doing):
    process = start(folder, LONG[name], doing)
    _, error = process.communicate(timeout=120)
    assert process.returncode == 70, error
    said = "A worker process was killed" if doing == KILL else "a fault in tellall itself (ZeroDivisionError)"
    assert error.startswith(f"tellall: {said}")
    assert error.count("\n") == 1
    assert "Ann" not in error
    assert gone(folder)
    assert leftovers(folder) == []


def test_a_fault_in_a_worker_is_reported_with_its_place(folder, monkeypatch):
    monkeypatch.setenv("TELLALL_TRACEBACK", "1")
    process = start(folder, LONG["rows"], FAULT)
    _, error = process.communicate(timeout=120)
    assert process.returncode == 70
    assert "In a worker process:" in error
    assert "sitecustomize.py" in error
    assert "ZeroDivisionError\n" in error


def test_a_command_that_cannot_be_loaded_is_no_verdict(folder):
    process = start(folder, "explain advantage")
    process.communicate()
    assert process.returncode == 0
    (folder / "hooks" / "typer.py").write_text("import what_is_not_installed")
    process = start(folder, "explain advantage")
    _, error = process.communicate()
    assert process.returncode == 70
    assert error == (
        "tellall: it cannot be loaded (ModuleNotFoundError: what_is_not_installed); nothing was decided. "
        "Install tellall again.\n"
    )


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
@pytest.mark.parametrize("output", [">&-", "2>&-", "2>/dev/full"])
def test_outputs_that_cannot_be_written_change_no_code(folder, output):
    """Whoever reads only the exit code reads the right one; Python itself would end with 1 or 120."""
    command = f"{sys.executable} -m tellall audit nowhere.toml {output}"
    done = subprocess.run(["sh", "-c", command], check=False, capture_output=True, cwd=folder)
    assert done.returncode == 2
    command = f"{sys.executable} -m tellall explain advantage {output}"
    done = subprocess.run(["sh", "-c", command], check=False, capture_output=True, cwd=folder)
    assert done.returncode == 0
