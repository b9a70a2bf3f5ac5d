"""The command that serves the page: its address, what it needs, how it ends."""

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from importlib.util import find_spec

import pytest

from tellall.cli import serve as command


def test_without_the_extra_one_line_says_what_to_install(tellall, monkeypatch):
    monkeypatch.setattr(command, "find_spec", lambda name: None)
    code, out, err = tellall("serve")
    assert (code, out) == (2, "")
    assert (
        err == "tellall: The served page needs Starlette and Uvicorn. Install: pip install 'tellall[web]'\n"
    )


needs_web = pytest.mark.skipif(find_spec("starlette") is None, reason="the extra web is not installed")


@needs_web
def test_a_folder_that_others_can_read_and_a_port_in_use_are_refused(tellall, tmp_path):
    import socket

    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o755)
    code, _, err = tellall("serve", "--no-browser", "--folder", tmp_path / "open")
    assert code == 2
    assert "its owner alone" in err
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        code, _, err = tellall("serve", "--no-browser", "--port", port, "--folder", tmp_path / "own")
    assert code == 2
    assert "--port must be one that is free" in err


@needs_web
@pytest.mark.slow
def test_it_answers_at_its_address_alone_until_it_is_stopped(tmp_path):
    start = [
        sys.executable,
        "-m",
        "tellall",
        "serve",
        "--no-browser",
        "--json",
        "--folder",
        str(tmp_path / "h"),
    ]
    with subprocess.Popen(start, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        lines = []
        while not (lines and lines[-1] == "}\n"):
            lines.append(process.stdout.readline())
        address = json.loads("".join(lines))["address"]
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[\w-]{32}/", address)
        with urllib.request.urlopen(address, timeout=30) as answer:
            assert b"Choose a file" in answer.read()
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(address.rsplit("/", 2)[0] + "/", timeout=30)
        refused.value.close()
        os.kill(process.pid, signal.SIGINT)
        _, said = process.communicate(timeout=30)
    assert process.returncode == 0
    assert said.splitlines()[2:] == ["tellall serve: refused GET: no token, or a wrong one"]
