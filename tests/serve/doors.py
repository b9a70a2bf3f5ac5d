"""A server that starts a browser, which only notes what it was started with."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ADDRESS = re.compile(rb"http://127\.0\.0\.1:\d+/[\w-]+/")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "house"
    folder.mkdir(mode=0o755)
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    return folder


def until(true: Callable[[], object], most: float = 60.0) -> None:
    end = time.monotonic() + most
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


class Server:
    """tellall serve in a process of its own, with a browser that only notes what it was started with."""

    def __init__(self, home: Path, tmp_path: Path) -> None:
        self.seen, browser = tmp_path / "seen", tmp_path / "browser"
        browser.write_text(
            f'#!/bin/sh\nprintf "%s\\n" "$@" > {self.seen}.part\nmv {self.seen}.part {self.seen}\n'
            'sh -c "sleep 300; :" browser "$@" > /dev/null 2>&1 &\n'
        )
        browser.chmod(0o700)
        options = ["--json", "--folder", str(home / "audits")]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tellall", "serve", *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "HOME": str(home), "BROWSER": f"{browser} %s", "DISPLAY": ":0"},
            start_new_session=True,
        )
        lines: list[str] = []
        while not (lines and lines[-1] == "}\n"):
            lines.append(self.process.stdout.readline())
            assert lines[-1], "the server ended"
        self.address: str = json.loads("".join(lines))["address"]
        until(self.seen.exists)
        self.page = Path(self.seen.read_text().strip().removeprefix("file://"))
        self.ticket = ADDRESS.search(self.page.read_bytes())[0].decode()

    def end(self) -> str:
        """Ends the server and the browser; what it said."""
        os.killpg(self.process.pid, signal.SIGINT)
        said = self.process.communicate(timeout=60)[1]
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        return said


@pytest.fixture
def server(home: Path, tmp_path: Path) -> Iterator[Server]:
    started = Server(home, tmp_path)
    yield started
    if started.process.poll() is None:
        started.end()


def ask(url: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(url) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
    except OSError:
        return 0, ""
