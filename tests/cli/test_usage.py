"""What is wrong with a command is one sentence on standard error, and an exit code."""

import os
import re
import shlex
import subprocess
import sys
import threading
import time

import pytest

from tellall import cli
from tellall.core import files as store
from tellall.core.errors import SolverFailed

COMMANDS = [command.__name__ for command in cli._EXAMPLES]
NEEDING = {
    "init": "PEOPLE.csv",
    "audit": "WHAT",
    "sweep": "PLAN.toml",
    "calibrate": "PLAN.toml",
    "publish": "PLAN.toml",
    "attack": "RELEASE.json...",
    "profile": "DATA",
    "trace": "--release",
    "limit": "FREQUENCIES",
    "bounds": "--people",
    "paper": "NAME",
}
BOUNDS = ("bounds", "-n", "1000", "--attributes", "9", "--ways", "2", "--epsilon", "1", "--delta", "1e-6")


@pytest.fixture
def tellall(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["tellall", *arguments])
        with pytest.raises(SystemExit) as left:
            cli.main()
        said = capsys.readouterr()
        return int(left.value.code or 0), said.out, said.err

    return call


def one_sentence(answer: tuple[int, str, str], *words: str) -> None:
    code, out, err = answer
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert err.startswith("tellall: ")
    assert err.endswith("--help.\n")
    assert "Usage" not in err
    for word in words:
        assert word in err


@pytest.mark.parametrize(("command", "needed"), NEEDING.items())
def test_what_is_missing_is_named_and_explained(tellall, command, needed):
    one_sentence(tellall(command), f"{needed} must be given", f"see tellall {command} --help")


@pytest.mark.parametrize("option", ["--release", "--targets", "--reference"])
def test_each_option_that_trace_needs_is_named_with_what_it_is(tellall, option):
    options = {"--release": "r.csv", "--targets": "t.csv", "--reference": "p.csv"}
    given = [part for pair in options.items() if pair[0] != option for part in pair]
    one_sentence(tellall("trace", *given), f"{option} must be given (")


@pytest.mark.parametrize("command", COMMANDS)
def test_an_option_that_is_not_there_is_one_sentence(tellall, command):
    one_sentence(tellall(command, "--sede", "3"), "no such option: --sede", f"tellall {command} --help")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("audit", "x.toml", "--seed", "-1"), ("--seed", "0")),
        (("audit", "x.toml", "--jobs", "many"), ("--jobs", "integer")),
        (("bounds", "--epsilon", "much"), ("--epsilon", "number")),
        (("audit", "x.toml", "--data"), ("--data", "argument")),
        (("demo", "now"), ("unexpected", "now")),
        (("audti",), ("no such command 'audti'", "'audit'")),
        (("--sede",), ("no such option: --sede",)),
    ],
)
def test_bad_values_are_one_sentence(tellall, arguments, words):
    one_sentence(tellall(*arguments), *words)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_is_still_there(tellall, command):
    code, out, err = tellall(command, "--help")
    assert (code, err) == (0, "")
    assert f"Usage: tellall {command}" in out


@pytest.mark.parametrize(("command", "examples"), cli._EXAMPLES.items(), ids=COMMANDS)
def test_help_has_examples_that_the_command_understands(tellall, command, examples):
    _, out, _ = tellall(command.__name__, "--help")
    lines = [line.strip() for line in out.partition("Examples:")[2].splitlines()]
    assert [line for line in lines if line] == list(examples)
    assert max(len(line) for line in out.splitlines()) <= 80
    for example in examples:
        program, *words = shlex.split(example.partition(" > ")[0])
        assert program == "tellall"
        assert cli.parse_command(words) == command.__name__


def test_the_first_help_has_examples_too(tellall):
    _, out, _ = tellall("--help")
    lines = [line for line in out.splitlines() if line.strip().startswith("tellall ")]
    assert len(lines) == 3
    for line in lines:
        cli.parse_command(re.split(r"\s{3,}", line.strip())[0].split()[1:])
    assert max(map(len, out.splitlines())) <= 80
    assert "..." not in out.partition("Commands:")[2]


@pytest.mark.parametrize(
    ("typed", "offered"), [("au", "audit"), ("audit --pol", "--policy"), ("paper --a", "--about")]
)
def test_a_shell_completes_commands_and_options(monkeypatch, capsys, typed, offered):
    words = f"tellall {typed}"
    monkeypatch.setenv("_TELLALL_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - 1))
    monkeypatch.setattr(sys, "argv", ["tellall"])
    with pytest.raises(SystemExit):
        cli.main()
    said = capsys.readouterr()
    assert offered in said.out.split()
    assert said.err == ""


@pytest.mark.parametrize(
    ("done", "total", "seconds", "said"),
    [
        (0, 0, 61, "61 s so far"),
        (0, 6, 120, "0 of 6 done in 2.0 min"),
        (2, 6, 120, "2 of 6 done in 2.0 min, about 4.0 min left"),
        (6, 6, 9000, "6 of 6 done in 2.5 h"),
    ],
)
def test_a_line_of_progress_says_how_long_the_rest_takes(done, total, seconds, said, monkeypatch):
    from tellall.cli import options

    clock = [0.0]
    monkeypatch.setattr(options, "monotonic", lambda: clock[0])
    work = options._Said("attacking")
    if total:
        work.note(0, total)
    clock[0] = seconds
    if done:
        work.note(done, total)
    assert str(work) == f"attacking: {said}"


def test_nothing_at_all_shows_the_commands(tellall):
    code, out, err = tellall()
    assert code == 2
    assert "Commands:" in out + err


@pytest.mark.parametrize(
    ("raised", "expected"),
    [
        (KeyboardInterrupt, 130),
        (SolverFailed("no"), 3),
        (MemoryError, 2),
        (ImportError("libblas.so: failed to map segment from shared object"), 2),
        (RuntimeError("can't start new thread"), 2),
    ],
)
def test_a_stop_is_no_verdict(tellall, monkeypatch, raised, expected):
    def stopped(*arguments, **more):
        raise raised

    monkeypatch.setattr("tellall.privacy.bounds.table", stopped)
    code, out, err = tellall(*BOUNDS)
    assert (code, out) == (expected, "")
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_pipe_that_nobody_reads_is_no_verdict(monkeypatch, unbuffered):
    """Exit code 1 would say that a limit is passed. Unbuffered output fails earlier, inside the command."""
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    run = [sys.executable, "-m", "tellall", *BOUNDS, "--json"]
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as nobody:
        done = subprocess.run(run, stdout=nobody, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "tellall: standard output cannot be written (nobody reads it).\n"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_a_full_disk_is_one_sentence(tmp_path):
    run = [sys.executable, "-m", "tellall", *BOUNDS, "--json"]
    with open("/dev/full", "wb") as full:
        done = subprocess.run(run, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "tellall: standard output cannot be written (No space left on device).\n"


def test_a_file_on_a_full_disk_is_named_and_nothing_half_written_stays(tellall, monkeypatch, tmp_path):
    def full(self, *arguments, **more):
        self.touch()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.write_bytes", full)
    code, _, err = tellall(*BOUNDS, "-o", "out.json")
    assert (code, err) == (2, "tellall: No space left on device: out.json\n")
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written_is_named_as_it_was_given(tellall, monkeypatch):
    def refused(self, *arguments, **more):
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr("pathlib.Path.write_bytes", refused)
    code, _, err = tellall(*BOUNDS, "-o", "out.json")
    assert (code, err) == (2, "tellall: Permission denied: out.json\n")


def test_a_fault_of_our_own_is_one_sentence_and_no_verdict(tellall, monkeypatch):
    def broken(*arguments, **more):
        try:
            float("Ann")
        except ValueError:
            raise KeyError("lost\nkey") from None

    monkeypatch.setattr("tellall.privacy.bounds.table", broken)
    code, out, err = tellall(*BOUNDS)
    assert (code, out) == (70, "")
    assert err.startswith(
        "tellall: a fault in tellall itself (KeyError), not in your data; nothing was decided"
    )
    assert len(err.splitlines()) == 1
    monkeypatch.setenv("TELLALL_TRACEBACK", "1")
    code, out, where = tellall(*BOUNDS)
    assert (code, out) == (70, "")
    assert where.endswith(err)
    assert "in broken\n" in where
    assert "lost\n" not in where  # an error's own words may quote people


def test_members_that_are_no_text_are_one_sentence(tellall, tmp_path):
    (tmp_path / "m.csv").write_text("name,mean\na,0.5\nb,0.5\n")
    (tmp_path / "p.csv").write_text("a,b\n0,1\n1,0\n1,1\n")
    (tmp_path / "who").write_bytes(b"\xff\xfe\x00")
    files = ("--release", "m.csv", "--targets", "p.csv", "--reference", "p.csv", "--members", "who")
    code, out, err = tellall("trace", *files)
    assert (code, out) == (2, "")
    assert err == "tellall: --members must be text in UTF-8; got who. Byte 0 is not.\n"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_what_is_no_file_is_written_to_and_not_replaced(tmp_path):
    place = tmp_path / "pipe"
    os.mkfifo(place)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(place.read_text(encoding="utf-8")), daemon=True)
    reader.start()
    store.write_text(place, "text\n")
    reader.join(10)
    assert read == ["text\n"]
    assert place.is_fifo()


def test_a_log_shows_now_and_then_that_long_work_goes_on(monkeypatch):
    from io import StringIO

    from rich.console import Console

    from tellall.cli import options
    from tellall.core.work import about, doing

    said = StringIO()
    monkeypatch.setattr(options, "_EVERY", 0.02)
    with options.progress_bar(Console(file=said), "attacking", quiet=False) as progress:
        progress(0, 3)
        progress(1, 3)
        time.sleep(0.15)
        with about("tables [a]"):
            doing("posterior, step 3")
        time.sleep(0.15)
    lines = said.getvalue().splitlines()
    much = r"attacking: 1 of 3 done in \d+ s, about \d+ s left"
    assert re.fullmatch(much, lines[0])
    assert re.fullmatch(rf"{much} \(tables \[a\]: posterior, step 3\)", lines[-1])
    with options.progress_bar(Console(file=said), "attacking", quiet=True) as progress:
        assert progress is None


def test_work_that_is_stopped_says_what_was_kept():
    from tellall.cli.options import Stopped, resumable

    def stopped():
        with resumable(kept=True, words="attacks") as through:
            through(None)(2, 3)
            raise KeyboardInterrupt

    with pytest.raises(Stopped) as end:
        stopped()
    assert (end.value.exit_code, end.value.sentence) == (
        130,
        "stopped; 2 of 3 attacks are kept; run the same command to go on from here.",
    )
