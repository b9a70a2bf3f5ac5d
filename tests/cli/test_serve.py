"""The command that serves the page: its address, what it needs, how it ends."""

import json
import os
import signal
import subprocess
import sys
from http.client import HTTPConnection
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

import pytest


def test_without_the_extra_one_line_says_what_to_install(tellall, monkeypatch):
    monkeypatch.setattr(sys.modules["tellall.cli.serve"], "find_spec", lambda name: None)
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
    process = subprocess.Popen(start, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        lines = []
        while not (lines and lines[-1] == "}\n"):
            lines.append(process.stdout.readline())
        address = urlsplit(json.loads("".join(lines))["address"])
        assert address.hostname == "127.0.0.1"
        assert len(address.path) > 30
        assert asked(address.netloc, address.path) == (200, True)
        host, token = address.netloc, address.path
        elsewhere = {"Origin": "http://evil.example", "X-Name": "a.csv"}
        here = {"Origin": f"http://{host}", "X-Name": "a.csv"}
        assert asked(host, "/") == (403, False)
        assert asked(host, f"{token}open", "POST", elsewhere)[0] == 403
        assert asked(host, f"{token}static/../../../etc/passwd")[0] == 400
        assert asked(host, f"{token}/etc/passwd")[0] == 400
        assert asked(host, f"{token}open", "POST", here | {"Content-Length": str(2**40)})[0] == 413
        assert asked(host, token, headers={"Host": "rebound.example"})[0] == 421
        assert list((tmp_path / "h").iterdir()) == []
        os.kill(process.pid, signal.SIGINT)
        _, said = process.communicate(timeout=30)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 0
    assert said.splitlines()[2:] == [
        "tellall serve: refused GET: no token, or a wrong one",
        "tellall serve: refused POST: from another origin",
        "tellall serve: refused GET: a path of other than plain names",
        "tellall serve: refused GET: a path of other than plain names",
        "tellall serve: refused POST: too large",
        "tellall serve: refused GET: another host name",
    ]


def asked(host: str, path: str, method: str = "GET", headers: Any = None) -> tuple[int, bool]:
    """The status of a page, and whether it is the first one."""
    connection = HTTPConnection(host, timeout=30)
    try:
        connection.request(method, path, headers=headers or {})
        answer = connection.getresponse()
        return answer.status, b"Choose a file" in answer.read()
    finally:
        connection.close()
