"""Files appear whole and together, or not at all; who may read them does not depend on the umask."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import tellall as ta
from tellall import InvalidInput
from tellall.core import files
from tellall.core.checkpoint import Checkpoint
from tellall.core.locks import PARTIAL, claimed, clear_leftovers

PEOPLE = ta.Dataset.from_arrays([[0, 1], [1, 1], [1, 0], [0, 0]] * 6, secret=[0, 1, 1, 0, 1, 0] * 4)
PLAN = {"steps": False, "releases": [{"statistic": {"kind": "Marginals", "ways": 2}}]}


@pytest.fixture
def open_to_all():
    old = os.umask(0)
    yield
    os.umask(old)


@pytest.fixture(scope="module")
def audit() -> ta.Audit:
    return ta.audit(PEOPLE, PLAN)


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


def put(folder: Path, text: str) -> None:
    with files.together() as batch:
        batch.text(folder / "areas.csv", text)
        batch.text(folder / "audit.json", text)
        batch.text(folder / "report.html", text)


@pytest.mark.parametrize("where", ["pathlib.Path.write_bytes", "os.fsync", "tellall.core.files.held_open"])
@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_fault_at_any_write_leaves_what_was_there(where, number, tmp_path, monkeypatch):
    put(tmp_path, "old")
    module, _, name = where.rpartition(".")
    holder = Path if module == "pathlib.Path" else os if module == "os" else files
    real, calls = getattr(holder, name), []

    def failing(*given, **more):
        calls.append(given)
        if len(calls) == number:
            raise OSError(28, "No space left on device")
        return real(*given, **more)

    with monkeypatch.context() as patched:
        patched.setattr(holder, name, failing)
        with pytest.raises(OSError, match="No space"):
            put(tmp_path, "new")
    assert contents(tmp_path) == dict.fromkeys(["areas.csv", "audit.json", "report.html"], "old")


def test_an_audit_on_a_full_disk_leaves_the_old_page_with_its_document(audit, tmp_path, monkeypatch):
    audit.save(tmp_path)
    before = contents(tmp_path)
    real = Path.write_bytes

    def full(path, data):
        if b"<html" in data[:200].lower():
            raise OSError(28, "No space left on device")
        return real(path, data)

    monkeypatch.setattr(Path, "write_bytes", full)
    other = ta.audit(PEOPLE, {**PLAN, "seed": 5})
    with pytest.raises(OSError, match="No space"):
        other.save(tmp_path)
    assert contents(tmp_path) == before


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_page_never_lies_beside_files_of_another_run(number, tmp_path, monkeypatch):
    put(tmp_path, "old")
    real, calls = Path.replace, []

    def killed(self, target):
        calls.append(target)
        if len(calls) == number:
            raise SystemExit
        return real(self, target)

    monkeypatch.setattr(Path, "replace", killed)
    with pytest.raises(SystemExit):
        put(tmp_path, "new")
    assert "report.html" not in contents(tmp_path)


def test_files_of_an_earlier_run_do_not_stay_beside_the_new_page(audit, tmp_path):
    (tmp_path / "areas.csv").write_text("of another audit")
    audit.save(tmp_path)
    assert sorted(contents(tmp_path)) == ["audit.json", "report.html"]


def test_new_files_replace_nothing_and_appear_all_or_none(tmp_path):
    (tmp_path / "b").write_text("somebody's")
    with pytest.raises(FileExistsError), files.together(new=True) as batch:
        _ = [batch.text(tmp_path / name, "ours") for name in "ab"]
    assert contents(tmp_path) == {"b": "somebody's"}


@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_waits_until_the_files_are_in_their_places(kind, tmp_path):
    code = f"""
import signal
from pathlib import Path
from tellall.core import files
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where a shell started us in the background
real = Path.replace
def disturbed(self, target):
    signal.raise_signal({int(kind)})
    return real(self, target)
Path.replace = disturbed
with files.together() as batch:
    for name in ("areas.csv", "audit.json", "report.html"):
        batch.text(Path(name), "new")
print("not reached")
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode in (-kind, 130)
    assert done.stdout == b""
    assert contents(tmp_path) == dict.fromkeys(["areas.csv", "audit.json", "report.html"], "new")


def test_what_a_curator_keeps_is_the_curators_alone(audit, tmp_path, open_to_all):
    audit.save(tmp_path / "out")
    files.write_table(tmp_path / "out" / "sweep.parquet", {"x": [1.5, None]})
    ta.audit(PEOPLE, PLAN, work=tmp_path / "work")
    made = list(tmp_path.rglob("*"))
    assert len(made) >= 6
    for path in made:
        assert mode(path) == (0o700 if path.is_dir() else 0o600), path


def test_a_release_is_for_everybody_so_far_as_the_umask_allows(tmp_path, monkeypatch, open_to_all):
    monkeypatch.setattr("tellall.release.release.MANY_VALUES", 4)
    ta.publish(PEOPLE, ta.Marginals(2)).save(tmp_path / "release.json")
    assert {path.name: mode(path) for path in tmp_path.iterdir()} == {
        "release.json": 0o666,
        "release.json.values.parquet": 0o666,
    }
    assert ta.Release.load(tmp_path / "release.json").values.size > 4


def test_a_folder_has_one_writer(tmp_path):
    def other() -> None:
        with claimed(tmp_path), other_holds:
            asked.set()
            done.wait(10)

    asked, done, other_holds = threading.Event(), threading.Event(), threading.Lock()
    thread = threading.Thread(target=other)
    thread.start()
    asked.wait(10)
    with pytest.raises(InvalidInput, match="no other tellall writes to") as told, claimed(tmp_path):
        pass
    assert "\n" not in str(told.value)
    done.set()
    thread.join()
    with claimed(tmp_path), claimed(tmp_path):
        assert [path.name for path in tmp_path.iterdir()] == [".lock"]
    assert list(tmp_path.iterdir()) == []


def test_a_second_audit_with_the_same_work_is_refused_and_deletes_nothing(tmp_path):
    held, done, found = threading.Event(), threading.Event(), []

    def first() -> None:
        with Checkpoint.in_folder(tmp_path) as kept:
            kept.keep("ab" * 12, {"right": 1})
            held.set()
            done.wait(10)
            found.append(kept.load("ab" * 12))

    thread = threading.Thread(target=first)
    thread.start()
    held.wait(10)
    with pytest.raises(InvalidInput, match="work must be a folder that no other tellall"):
        ta.audit(PEOPLE, PLAN, work=tmp_path)
    done.set()
    thread.join()
    assert found == [{"right": 1}]


def test_leftovers_of_the_dead_are_cleared_and_those_of_the_living_are_not(tmp_path):
    dead = tmp_path / f".0123{PARTIAL}"
    dead.write_text("half of somebody")
    mine = tmp_path / ".not-ours"
    mine.touch()
    with files.together() as batch:
        batch.text(tmp_path / "a", "whole")
        clear_leftovers(tmp_path)
        assert not dead.exists()
        assert len(list(tmp_path.glob(f"*{PARTIAL}"))) == 1
    assert contents(tmp_path) == {"a": "whole", ".not-ours": ""}


def test_checkpoints_clear_what_a_killed_writer_left_on_a_shelf(tmp_path):
    (tmp_path / "ab").mkdir()
    (tmp_path / "ab" / f".99{PARTIAL}").write_text("half")
    with Checkpoint.in_folder(tmp_path):
        assert list((tmp_path / "ab").iterdir()) == []
