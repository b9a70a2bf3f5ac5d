"""Faults at every write: kill, full disk, a place that cannot be written, two at once."""

import json
import os
import random
import re
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import tellall as ta
from tellall.core.locks import PARTIAL, claimed
from tests.hostile.running import PEOPLE, run

PLAN = """
data = "people.csv"
secret = "ill"
seed = 3
bins = 3
steps = false
[[releases]]
statistic = { kind = "Marginals", ways = 2 }
protect = [{ kind = "Swapping", fraction = 0.2 }]
[[releases]]
statistic = { kind = "Marginals", ways = 2 }
protect = [{ kind = "Rounding", base = 3 }]
"""
# put on the path of Python under this name, it kills the process at the write with this number
KILLER = """
import os, pathlib
left = int(os.environ.get("KILL_AT_WRITE", "0"))
for name in ("write_bytes", "replace"):
    def wrapped(self, *given, real=getattr(pathlib.Path, name)):
        global left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), 9)
        return real(self, *given)
    setattr(pathlib.Path, name, wrapped)
"""


@pytest.fixture
def folder(tmp_path):
    rng = random.Random(0)
    rows = [
        f"{rng.randrange(20, 80)},{rng.choice('mf')},{rng.choice('abc')},{rng.choice(['yes', 'no'])}"
        for _ in range(24)
    ]
    (tmp_path / "people.csv").write_text("\n".join(["age,sex,area,ill", *rows]) + "\n")
    (tmp_path / "plan.toml").write_text(PLAN)
    return tmp_path


def test_a_second_command_into_a_folder_is_refused_and_deletes_nothing(folder):
    held, done = threading.Event(), threading.Event()

    def first() -> None:
        with claimed(folder / "out"):
            (folder / "out" / ".work").mkdir()
            (folder / "out" / ".work" / "piece").write_text("hours of work")
            held.set()
            done.wait(30)

    thread = threading.Thread(target=first)
    thread.start()
    held.wait(10)
    try:
        for command in (["audit", "plan.toml"], ["sweep", "plan.toml"], ["calibrate", "plan.toml"]):
            ended = run([*command, "-o", "out", "-q"], folder)
            assert ended.code == 2
            assert ended.error.startswith("tellall: --out must be a folder that no other tellall writes to")
            assert ended.error.count("\n") == 1
        assert (folder / "out" / ".work" / "piece").read_text() == "hours of work"
    finally:
        done.set()
        thread.join()


def test_a_disk_that_fills_up_leaves_the_old_page_with_its_document(tmp_path):
    plan = {"steps": False, "releases": [{"statistic": {"kind": "Marginals", "ways": 2}}]}
    audit = ta.audit(PEOPLE, plan)
    audit.save(tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    sizes = sorted(len(data) for data in before.values())
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    for most in (10, sizes[0] - 1, sizes[0] + 1, sizes[1] - 1):
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard))
        try:
            with pytest.raises(OSError, match="File too large"):
                audit.save(tmp_path)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize(
    "command", [["audit", "plan.toml"], ["publish", "plan.toml"], ["init", "people.csv"]]
)
def test_a_place_that_cannot_be_written_is_one_sentence(command, folder):
    ended = run([*command, "-o", "/proc/tellall", "-q"], folder)
    assert ended.code == 2
    assert ended.wrong == ()
    assert ended.error.count("\n") == 1


def start(
    folder: Path, jobs: int, mark: str, *, search: bool = False, **environment: str
) -> subprocess.Popen[bytes]:
    """The audit as a command of its own, with a mark that its workers carry too."""
    command = [sys.executable, "-m", "tellall", "audit", "plan.toml", "-o", "out", "--jobs", str(jobs), "-q"]
    if not search:  # it comes after the verdict is written, and takes longer than that
        command.append("--no-remedy")
    (folder / "tmp").mkdir(exist_ok=True)
    environment |= {"TELLALL_MARK": mark, "TMPDIR": str(folder / "tmp")}
    return subprocess.Popen(
        command,
        cwd=folder,
        env={**os.environ, **environment},
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
    )


def ended(process: subprocess.Popen[bytes]) -> float:
    """How many seconds an audit took that came to its end."""
    began = time.monotonic()
    process.communicate()
    assert process.returncode in (0, 1, 3)
    return time.monotonic() - began


def marked(mark: str) -> list[str]:
    """The processes that carry a mark and run."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if f"TELLALL_MARK={mark}".encode() in (path / "environ").read_bytes().split(b"\0"):
                found.append(path.name)
        except OSError:
            continue
    return found


def numbers(folder: Path) -> dict[str, object]:
    document = json.loads((folder / "out" / "audit.json").read_text())
    assert (folder / "out" / "report.html").read_text().rstrip().endswith("</html>")
    return document


@pytest.mark.hostile
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for processes in /proc")
def test_killed_at_any_moment_an_audit_goes_on_to_the_same_numbers_and_leaves_nothing(folder):
    length = ended(start(folder, 1, "whole"))
    expected = numbers(folder)
    hooks = folder / "hooks"
    hooks.mkdir()
    (hooks / "sitecustomize.py").write_text(KILLER)
    path = os.pathsep.join([str(hooks), os.environ.get("PYTHONPATH", "")])
    rng = random.Random(1)
    shared = set(os.listdir("/dev/shm"))
    killed = tried = 0
    while killed < 50:
        tried += 1
        assert tried <= 150, f"killed {killed} times"
        mark, jobs = f"m{os.getpid()}-{tried}", 1 + tried % 2
        (folder / "out" / "report.html").unlink()
        (folder / "out" / "audit.json").unlink()
        if tried % 5 == 4:  # in the middle of writing pieces and pages
            process = start(folder, jobs, mark, KILL_AT_WRITE=str(rng.randrange(1, 12)), PYTHONPATH=path)
        else:
            process = start(folder, jobs, mark)
            time.sleep(rng.uniform(0, length))
            process.kill()
        process.communicate()
        killed += process.returncode == -signal.SIGKILL
        until = time.monotonic() + 20
        while marked(mark):
            assert time.monotonic() < until, "a worker outlives its parent"
            time.sleep(0.05)
        page, document = folder / "out" / "report.html", folder / "out" / "audit.json"
        assert not page.exists() or document.exists()
        length = min(length, ended(start(folder, 3 - jobs, mark)))
        assert numbers(folder) == expected
        assert sorted(os.listdir(folder / "out")) == ["audit.json", "report.html"]
        assert list((folder / "tmp").iterdir()) == []
        assert not list(folder.rglob(f"*{PARTIAL}"))
    assert not [
        name for name in set(os.listdir("/dev/shm")) - shared if "joblib" in name or "tellall" in name
    ]
    print(f"killed {killed} times of {tried}")


@pytest.mark.hostile
@pytest.mark.parametrize("kind", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_stopped_during_the_search_for_a_remedy_the_same_command_goes_on_with_it(kind, folder):
    ended(start(folder, 1, "whole", search=True))
    expected = numbers(folder)
    assert expected["remedy"] is not None
    (folder / "out" / "audit.json").unlink()
    process = start(folder, 1, f"search{kind}", search=True)
    until = time.monotonic() + 120
    while len(list(folder.glob("out/.work/remedy/*/*.json"))) < 3 and process.poll() is None:
        assert time.monotonic() < until
        time.sleep(0.01)
    process.send_signal(kind)
    process.communicate(timeout=60)
    assert numbers(folder)["remedy"] is None  # the verdict is there
    before = {path: path.read_bytes() for path in folder.glob("out/.work/**/*.json")}
    assert len(before) >= 3
    ended(start(folder, 1, "again", search=True))
    assert numbers(folder) == expected
    assert sorted(os.listdir(folder / "out")) == ["audit.json", "report.html"]


LONG = {
    "an audit and its search": ("audit", "plan.toml"),
    "a sweep": ("sweep", "plan.toml", "--scales", "1,3,9", "--repeats", "3"),
    "a calibration": ("calibrate", "plan.toml", "--draws", "3", "--max-advantage", "0.45"),
}


def kept(folder: Path) -> int:
    """How many finished pieces are kept."""
    return len(list(folder.glob("out/.*/**/*.json")))


@pytest.mark.hostile
@pytest.mark.parametrize("kind", [signal.SIGKILL, signal.SIGTERM])
@pytest.mark.parametrize("what", LONG)
def test_stopped_twice_at_any_moment_the_same_command_ends_with_the_same_documents(kind, what, folder):
    command = [sys.executable, "-m", "tellall", *LONG[what], "-o", "out", "--jobs", "1", "-q"]
    whole = subprocess.run(command, cwd=folder, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
    assert whole.returncode in (0, 1, 3), whole.stderr
    expected = {path.name: path.read_bytes() for path in (folder / "out").iterdir()}
    for path in (folder / "out").iterdir():
        path.unlink()
    rng, before = random.Random(f"{kind} {what}"), 0
    for _ in range(2):
        process = subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
        more, until = before + rng.randrange(1, 3), time.monotonic() + 300
        while kept(folder) < more and process.poll() is None:
            assert time.monotonic() < until
            time.sleep(0.01)
        time.sleep(rng.uniform(0, 0.3))
        process.send_signal(kind)
        process.communicate(timeout=60)
        assert process.returncode in (-kind, 128 + kind), "it ended before it was stopped"
        assert kept(folder) > before  # what was finished is still there, and more
        before = kept(folder)
    again = subprocess.run(command, cwd=folder, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
    assert again.returncode == whole.returncode, again.stderr
    found = {path.name: path.read_bytes() for path in (folder / "out").iterdir()}
    assert found.keys() == expected.keys()
    for name in found:
        if name.endswith(".json"):
            assert json.loads(found[name]) == json.loads(expected[name])


@pytest.mark.parametrize("kind", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.hostile
def test_a_polite_stop_says_how_to_go_on_and_leaves_no_process(kind, folder):
    process = start(folder, 2, f"polite{kind}")
    until = time.monotonic() + 60
    while not list((folder / "out").glob(".work/*/*.json")) and process.poll() is None:
        assert time.monotonic() < until
        time.sleep(0.01)
    process.send_signal(kind)
    _, error = process.communicate(timeout=30)
    assert process.returncode == 128 + kind
    assert re.fullmatch(
        rb"tellall: stopped; \d+ of \d+ attacks are kept; run the same command to go on from here.\n", error
    )
    assert marked(f"polite{kind}") == []
    assert not (folder / "out" / ".lock").exists()


@pytest.mark.hostile
def test_of_two_commands_at_once_one_does_the_work_and_the_other_is_told(folder):
    both = [start(folder, 1, "two") for _ in range(2)]
    said = [process.communicate(timeout=300)[1].decode() for process in both]
    codes = [process.returncode for process in both]
    assert codes.count(2) <= 1  # one at least has a verdict
    assert set(codes) <= {0, 1, 2, 3}
    if 2 in codes:
        assert "no other tellall writes to" in "".join(said)
    numbers(folder)
