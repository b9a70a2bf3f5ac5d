"""Processes that work for this one: no files, and none outlives it."""

import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from tellall.core import processes
from tellall.core.jobs import Workers, run
from tellall.core.tasks import Task
from tellall.core.work import doing, listening

PARENT = """
import os, signal, sys, time
import numpy as np
from tellall.core.jobs import Workers, run
from tellall.core.tasks import Task

def stay(people):  # defined in a script, not in a module that others could import
    with open(os.path.join(people[1], str(os.getpid())), "w"):
        time.sleep(60)

def make():
    return np.ones(400_000), sys.argv[1]

signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where a shell started us in the background
list(run(stay, [Task("a", make), Task("b", make)], workers=Workers(2)))
"""


@pytest.mark.parametrize("kind", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_helpers_end_with_the_process_they_work_for_and_leave_no_files(kind, tmp_path):
    pids, temporary = tmp_path / "pids", tmp_path / "tmp"
    pids.mkdir()
    temporary.mkdir()
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(pids)],
        env={**os.environ, "TMPDIR": str(temporary)},
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait(lambda: len(list(pids.iterdir())) == 2)
        helpers = [int(path.name) for path in pids.iterdir()]
        assert _shared(parent.pid) == []  # while they hold people, not only after
        assert list(temporary.iterdir()) == []
    finally:
        parent.send_signal(kind)
        parent.wait(timeout=10)
    _wait(lambda: not any(map(_runs, helpers)))
    assert _shared(parent.pid) == []
    assert list(temporary.iterdir()) == []


def _shared(pid: int) -> list[str]:
    """Files in shared memory that name this process."""
    folder = Path("/dev/shm")
    return [path.name for path in folder.iterdir() if f"_{pid}_" in path.name] if folder.is_dir() else []


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1][:3]
    except (ProcessLookupError, FileNotFoundError):
        return False


def _wait(done) -> None:
    until = time.monotonic() + 20
    while not done():
        assert time.monotonic() < until
        time.sleep(0.02)


PID = "__import__('time').sleep(0.1) or __import__('os').getpid()"


def tasks_of(*things: object) -> list[Task]:
    return [Task("a", partial(_made, thing)) for thing in things]


def _made(thing: object) -> object:
    return thing


def test_arrays_of_any_shape_come_back_as_they_were():
    whole = np.arange(300_000.0).reshape(3, 100_000)
    sent = [whole, whole.T, whole[:, ::7], np.zeros((0, 4)), whole.astype("U9"), np.asfortranarray(whole)]
    found = {one.index: one.piece for one in run(np.copy, tasks_of(*sent), workers=Workers(2))}
    for place, array in enumerate(sent):
        assert found[place].dtype == array.dtype
        np.testing.assert_array_equal(found[place], array)


def test_helpers_are_used_again():
    first = {one.piece for one in run(eval, tasks_of(PID, PID), workers=Workers(2))}
    idle = {helper.process.pid for helper in processes._idle}
    again = {one.piece for one in run(eval, tasks_of(PID, PID), workers=Workers(2))}
    assert first <= idle
    assert again <= idle
    assert os.getpid() not in first


def test_what_cannot_be_sent_back_is_said():
    locks = tasks_of(*["__import__('threading').Lock()"] * 2)
    with pytest.raises(TypeError, match="cannot be sent"):
        list(run(eval, locks, workers=Workers(2)))


def test_work_that_is_given_up_leaves_no_process_behind():
    work = run(eval, tasks_of(*[PID] * 9), workers=Workers(2))
    next(work)
    work.close()
    assert all(helper.process.poll() is None for helper in processes._idle)


def test_what_helpers_are_doing_is_said_here():
    heard: list[str] = []
    with listening(heard.append):
        assert len(list(run(doing, tasks_of("one", "two"), workers=Workers(2)))) == 2
    assert sorted(heard) == ["one", "two"]
    assert len(list(run(doing, tasks_of("one", "two"), workers=Workers(2)))) == 2  # nobody listens
    assert len(heard) == 2


def test_linear_algebra_that_is_loaded_later_keeps_to_one_thread_too():
    """SciPy's library is not NumPy's, and is loaded when it is first asked for."""
    code = """
from tellall.core.work import one_thread
with one_thread():
    import numpy, scipy.linalg
    from threadpoolctl import threadpool_info
    found = [each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"]
    print(len(found) > 0, set(found))
"""
    free = {key: value for key, value in os.environ.items() if not key.endswith("_NUM_THREADS")}
    free["OPENBLAS_NUM_THREADS"] = "2"
    ran = subprocess.run(
        [sys.executable, "-c", code], env=free, check=True, capture_output=True, text=True, timeout=60
    )
    assert ran.stdout == "True {1}\n"
