"""Nothing but a cluster, or a served page, opens a socket."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

WATCH = """
import os, sys
def watch(event, given):
    if event in ("socket.__new__", "socket.connect", "socket.bind", "socket.getaddrinfo"):
        with open(os.environ["SOCKETS"], "a") as file:
            file.write(f"{event} {given}\\n")
sys.addaudithook(watch)
if os.environ.get("TRY_ONE"):
    import socket
    socket.socket().close()
"""
PLAN = """
data = "people.csv"
secret = "ill"
steps = false
[[releases]]
statistic = { kind = "Marginals", ways = 2 }
[[releases]]
statistic = { kind = "Marginals", ways = 2 }
protect = { kind = "Rounding", base = 3 }
"""
COMMANDS = """
import sys
from tellall import cli
for command in (
    "init people.csv --secret ill -q",
    "audit plan.toml --jobs 2 --no-remedy -o out -q",
    "publish plan.toml -o release.json -q",
    "attack release-1.json --public people.csv -q",
):
    sys.argv = ["tellall", *command.split()]
    try:
        cli.main()
    except SystemExit as left:
        assert left.code in (0, 1, 3), (command, left.code)
"""


def watched(folder: Path, code: str, **environment: str) -> str:
    """What a Python that runs this code, or any it starts, did with sockets."""
    (folder / "hooks").mkdir(exist_ok=True)
    (folder / "hooks" / "sitecustomize.py").write_text(WATCH)
    path = os.pathsep.join([str(folder / "hooks"), *sys.path])
    environment |= {"PYTHONPATH": path, "SOCKETS": str(folder / "sockets")}
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = folder / "sockets"
    return found.read_text() if found.exists() else ""


@pytest.mark.hostile
def test_commands_and_their_workers_open_no_socket(tmp_path):
    rows = [f"{number % 7},{'mf'[number % 2]},{['yes', 'no'][number % 3 > 0]}" for number in range(24)]
    (tmp_path / "people.csv").write_text("\n".join(["age,sex,ill", *rows]) + "\n")
    (tmp_path / "plan.toml").write_text(PLAN)
    assert watched(tmp_path, COMMANDS) == ""
    assert (tmp_path / "out" / "report.html").exists()


def test_the_watch_sees_a_socket(tmp_path):
    assert "socket.__new__" in watched(tmp_path, "pass", TRY_ONE="1")
