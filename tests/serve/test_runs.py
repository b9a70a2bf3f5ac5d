"""Runs in processes of their own: found dead, started again where they were, stopped, never twice."""

import os
import signal
import stat
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest

from tellall.core.errors import InvalidInput
from tellall.core.locks import claimed
from tellall.serve import runs, worker
from tellall.serve.cases import Home, default_folder
from tests.serve.client import Client
from tests.serve.people import planned


class Sleeper:
    """A process that does nothing, in place of an audit."""

    def __init__(self, *_, **__):
        self.stdin, self.ended = None, False

    def poll(self):
        return 1 if self.ended else None

    def kill(self):
        self.ended = True

    def wait(self):
        return 1


@pytest.fixture
def sleepers(monkeypatch):
    made = []

    def start(*arguments, **options):
        made.append(Sleeper())
        return made[-1]

    monkeypatch.setattr(runs.subprocess, "Popen", start)
    return made


def test_a_run_is_started_once_and_stopped(client, sleepers):
    planned(client)
    client.post(f"{client.here}/run")
    page = client.post(f"{client.here}/run")
    assert len(sleepers) == 1
    assert "The attack is running" in page.text
    assert 'hx-trigger="every 1s"' in page.text
    client.post(f"{client.here}/cancel")
    assert sleepers[0].ended
    assert client.case().read("run.json")["state"] == "stopped"
    page = client.get(f"{client.here}/verdict")
    assert "The audit was stopped" in page.text
    client.post(f"{client.here}/run")
    assert len(sleepers) == 2


def test_a_server_that_was_killed_is_followed_by_one_that_goes_on(client, sleepers):
    planned(client)
    client.post(f"{client.here}/run")
    later = Client(client.home)  # another server over the same folder
    later.runs.resume(later.home)
    assert len(sleepers) == 2
    assert "The attack is running" in later.get(f"{later.here}/verdict").text
    later.get(f"{later.here}/verdict")
    assert len(sleepers) == 2


def test_a_plan_that_was_changed_meanwhile_is_audited_anew(client, sleepers):
    planned(client)
    case = client.case()
    client.post(f"{client.here}/run")
    client.post(f"{client.here}/plan", {"version": case.version, "seed": "5"})
    client.post(f"{client.here}/run")
    assert [one.ended for one in sleepers] == [True, False]
    client.post(f"{client.here}/cancel")
    client.post(f"{client.here}/plan", {"version": case.version, "seed": "6"})
    assert "What will be published?" in client.post(f"{client.here}/cancel").text  # nothing of this plan ran
    page = client.ask(f"/a-token-of-the-tests{client.here}/verdict")
    assert page.headers["location"].endswith("/plan")


def test_a_process_that_died_is_told_and_not_started_again_by_itself(client, sleepers):
    planned(client)
    client.post(f"{client.here}/run")
    sleepers[0].ended = True
    page = client.get(f"{client.here}/verdict")
    assert "The audit failed" in page.text
    assert "Finished work is kept" in page.text
    assert len(sleepers) == 1


def test_a_case_that_another_server_works_on_is_left_alone(client, sleepers):
    planned(client)
    client.case().write("run.json", {**runs._WAITING, "version": client.case().version})
    with claimed_by_another_process(client.case()):
        client.runs.start(client.case())
        assert client.runs.state(client.case())["state"] == "running"
    assert sleepers == []


@contextmanager
def claimed_by_another_process(case):
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        with claimed(case.folder / "audit"):
            os.write(writing, b".")
            signal.pause()
        os._exit(0)
    os.read(reading, 1)
    try:
        yield
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(reading)
        os.close(writing)


def test_progress_loads_the_page_again_once_there_is_something_new(client, sleepers):
    planned(client)
    client.post(f"{client.here}/run")
    case = client.case()
    answer = client.get(f"{client.here}/progress?seen=running-0000")
    assert answer.status == 200
    assert "Starting" in answer.text
    state = case.read("run.json") | {"stage": "attacking", "done": 1, "total": 3}
    attacks = [{"name": "tables <b>", "role": "alone", "word": "fail", "key": "a"}]
    case.write("run.json", state | {"attacks": attacks})
    answer = client.get(f"{client.here}/progress?seen=running-0000")
    assert "tables &lt;b&gt;" in answer.text
    assert "1 of 3" in answer.text
    case.write("run.json", state | {"state": "done"})
    assert client.get(f"{client.here}/progress?seen=running-0000").headers["hx-refresh"] == "true"


def test_what_cannot_be_audited_says_why(client):
    planned(client)
    case = client.case()
    case.write_plan(case.plan_text.replace('secret = "ill"', 'secret = "will"'))
    worker.run(case)
    assert case.read("run.json")["state"] == "failed"
    assert "will" in client.get(f"{client.here}/verdict").text


def ended(case, doing: str) -> int:
    """The exit code of the process of an audit in which something is done instead of reading the people."""
    start = (
        "from tellall.serve import worker\n"
        f"def read_people(*_):\n    {doing}\n"
        "worker.read_people = read_people\n"
        "worker.main()\n"
    )
    run = [sys.executable, "-c", start, str(case.folder)]
    process = subprocess.Popen(run, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
    code = process.wait(timeout=120)
    process.stdin.close()
    return code


@pytest.mark.parametrize(
    ("doing", "code", "words"),
    [
        ("1 / 0", 70, "a fault in tellall itself (ZeroDivisionError), not in your data; nothing was decided"),
        ("raise __import__('tellall').core.errors.WorkLost('A worker was killed.')", 70, "was killed"),
        ("raise MemoryError", 2, "too little memory"),
    ],
)
def test_the_process_of_an_audit_ends_with_the_codes_of_a_command(client, doing, code, words):
    planned(client)
    case = client.case()
    assert ended(case, doing) == code
    state = case.read("run.json")
    assert state["state"] == "failed"
    assert words in state["error"]
    assert words in client.get(f"{client.here}/verdict").text


def test_a_second_worker_of_a_case_leaves_the_first_alone(client):
    planned(client)
    case = client.case()
    case.write("run.json", {"state": "running"})
    with claimed_by_another_process(case), pytest.raises(InvalidInput):
        worker.run(case)
    assert case.read("run.json") == {"state": "running"}


def test_the_folder_must_be_private(tmp_path, monkeypatch):
    open_to_all = tmp_path / "open"
    open_to_all.mkdir()
    open_to_all.chmod(0o755)
    with pytest.raises(InvalidInput, match="its owner alone"):
        Home.at(open_to_all)
    (tmp_path / "link").symlink_to(open_to_all)
    with pytest.raises(InvalidInput, match="not a link"):
        Home.at(tmp_path / "link")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert default_folder() == tmp_path / "state" / "tellall"
    home = Home.at(default_folder())
    assert stat.S_IMODE(home.folder.stat().st_mode) == 0o700
    monkeypatch.setenv("XDG_STATE_HOME", "relative")
    assert default_folder().is_absolute()


def test_a_file_that_was_not_copied_whole_is_cleared_by_the_next_server(client):
    planned(client)
    half, held, other = (client.home.folder / (mark * 16) for mark in "abc")
    for folder, name in ((half, "people.csv.gz"), (held, "people.csv"), (other, "my notes.txt")):
        folder.mkdir()
        (folder / name).write_text("a,b")
    with claimed(held):
        client.home.clear()
    assert not half.exists()
    assert held.exists()  # somebody still copies it
    assert other.exists()  # not ours
    assert len(client.home.cases) == 1


def test_folders_that_are_no_cases_are_not_listed(tmp_path):
    home = Home.at(tmp_path / "home")
    for name in ("0123456789abcdef", "notes", "..x"):
        (home.folder / name).mkdir()
    (home.folder / "fedcba9876543210").symlink_to(tmp_path)
    assert home.cases == []
    assert home.find("notes") is None


@pytest.mark.slow
def test_a_killed_process_is_started_again_and_goes_on(client):
    """The real thing: an audit in its own process, killed in the middle, and finished by the next server."""
    planned(client)
    client.post(f"{client.here}/run")
    case = client.case()
    process = client.runs._processes[case.id]
    time.sleep(2)
    client.runs.end()  # killed, in the middle of whatever it does
    assert process.returncode
    later = Client(client.home)
    later.runs.resume(later.home)
    until = time.monotonic() + 120
    while later.runs.state(case)["state"] == "running" and time.monotonic() < until:
        time.sleep(0.2)
    later.runs.end()
    assert case.read("run.json")["state"] == "done"
    assert case.current
    assert case.audit.verdict.word in ("pass", "review", "fail")
