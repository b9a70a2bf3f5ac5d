"""The browser is let in once, and nobody else who sees how it was started."""

import json
import os
import re
import signal
import stat
import subprocess
import sys
import threading
import webbrowser
from pathlib import Path

import pytest

from tellall.serve import door
from tellall.serve.door import Ticket, Visit, browser_started
from tests.serve.doors import ask, until


def test_a_ticket_lets_in_once_and_for_a_minute():
    now = [0.0]
    ticket, late = Ticket(lambda: now[0]), Ticket(lambda: now[0])
    assert ticket.show(b"another") is Visit.NONE
    now[0] = door.LIFETIME
    assert [ticket.show(ticket.word.encode()) for _ in range(3)] == [Visit.FIRST, Visit.AGAIN, Visit.AGAIN]
    now[0] += 1
    assert [late.show(late.word.encode()) for _ in range(2)] == [Visit.LATE, Visit.LATE]
    assert late.wait()  # at once: it is too old
    ended = Ticket()
    ended.end()
    assert ended.show(ended.word.encode()) is Visit.LATE
    assert not ended.wait()


def test_what_the_browser_is_started_with_is_for_the_owner_alone_and_goes(home, monkeypatch):
    opened, read, said = [], threading.Event(), []

    def browser(url: str) -> bool:
        opened.append(url)
        read.set()
        return True

    monkeypatch.setattr(webbrowser, "open", browser)
    ticket = Ticket()
    address = f"http://127.0.0.1:1/{ticket.word}/"
    with browser_started(address, ticket, said.append):
        assert read.wait(60)
        page = Path(opened[0].removeprefix("file://"))
        assert ticket.word not in opened[0]
        assert address in page.read_text()
        assert "<script" not in page.read_text()
        assert stat.S_IMODE(page.stat().st_mode) == 0o600
        assert stat.S_IMODE(page.parent.stat().st_mode) == 0o700
        assert not any(part.startswith(".") for part in page.relative_to(home).parts)  # snaps read no others
        ticket.show(ticket.word.encode())
        until(lambda: not page.parent.exists())
    assert list(home.iterdir()) == []
    assert said == []


@pytest.mark.parametrize("how", ["ended", "too old", "none", "fails"])
def test_whatever_happens_the_page_goes_and_a_sentence_says_what_to_do(home, monkeypatch, how):
    opened, said = threading.Event(), []

    def browser(url: str) -> bool:
        opened.set()
        if how == "fails":
            raise webbrowser.Error("no browser")
        return how != "none"

    monkeypatch.setattr(webbrowser, "open", browser)
    if how == "too old":
        monkeypatch.setattr(door, "LIFETIME", 0.3)
    ticket = Ticket()
    with browser_started("http://127.0.0.1:1/x/", ticket, said.append):
        assert opened.wait(60)
        if how != "ended":
            until(lambda: said and not list(home.iterdir()))
    assert list(home.iterdir()) == []
    assert ticket.show(ticket.word.encode()) is Visit.LATE
    assert len(said) == (how != "ended")
    assert all(sentence.endswith(f" {door._COPY}") for sentence in said)


@pytest.mark.parametrize("how", ["open to others", "not writable", "outside"])
def test_without_a_private_file_no_browser_is_started(home, monkeypatch, how):
    opened, said = [], []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    if how == "open to others":
        monkeypatch.setattr(door, "_is_private", lambda about: False)
    elif how == "not writable":
        monkeypatch.setenv("HOME", str(home / "missing"))
    else:
        name = os.uname()
        told = type("Name", (), {"release": "5.15.1-microsoft-standard-WSL2", "system": name.sysname})
        monkeypatch.setattr(door.platform, "uname", lambda: told)
    with browser_started("http://127.0.0.1:1/x/", ticket := Ticket(), said.append):
        pass
    assert opened == []
    assert list(home.iterdir()) == []
    assert ticket.show(ticket.word.encode()) is Visit.LATE
    assert said == [
        f"no browser was started: there is no file that it and nobody else could read. {door._COPY}"
    ]


def test_pages_of_killed_servers_are_removed_and_nothing_else(home, monkeypatch):
    monkeypatch.setattr(webbrowser, "open", lambda url: True)
    old, new, other = (home / f"tellall-opens-{word}" for word in ("old", "new", "other"))
    for folder in (old, new, other):
        folder.mkdir(mode=0o700)
        (folder / "open.html").touch()
    (other / "mine.txt").touch()
    for folder in (old, other):
        os.utime(folder, (0, 0))
    (home / "tellall-opens-link").symlink_to(new)
    with browser_started("http://127.0.0.1:1/x/", Ticket(), print):
        pass
    assert sorted(path.name for path in home.iterdir()) == [
        "tellall-opens-link",
        "tellall-opens-new",
        "tellall-opens-other",
    ]
    assert (other / "mine.txt").exists()
    assert (new / "open.html").exists()


def test_the_printed_address_works_beside_the_ticket(server):
    assert ask(server.address)[0] == 200
    code, page = ask(server.ticket)
    assert code == 200
    assert server.address in page
    until(lambda: not server.page.parent.exists())
    assert ask(server.address)[0] == 200
    server.end()


def test_the_page_is_removed_when_the_server_ends(server):
    assert server.page.exists()
    server.end()
    assert not server.page.parent.exists()


def test_a_stolen_ticket_stops_the_server_and_the_owner_reads_why(server):
    assert ask(server.ticket)[0] == 200  # the thief is first
    code, page = ask(server.ticket)
    assert code == 403
    assert "somebody else used the ticket" in page
    said = server.process.communicate(timeout=60)[1]
    assert server.process.returncode not in (0, None)
    assert "Somebody else used the ticket" in said
    assert ask(server.address)[0] == 0
    os.killpg(server.process.pid, signal.SIGKILL)


SPY = """
import encodings.idna, glob, json, os, socket, sys
os.setgroups([]); os.setgid(65534); os.setuid(65534)
port, page = sys.stdin.read().split()
seen, unread = b"", 0
for path in glob.glob("/proc/[0-9]*/cmdline") + glob.glob("/proc/[0-9]*/environ"):
    try:
        seen += open(path, "rb").read()
    except OSError:
        unread += path.endswith("environ")
def reads(path):
    try:
        open(path, "rb").read()
        return True
    except OSError:
        return False
def lists(path):
    try:
        return os.listdir(path)
    except OSError:
        return None
def asks(word):
    with socket.create_connection(("127.0.0.1", int(port))) as line:
        line.sendall(f"GET /{word} HTTP/1.1\\r\\nHost: 127.0.0.1:{port}\\r\\n\\r\\n".encode())
        return int(line.recv(100).split()[1])
print(json.dumps({"page seen": page.encode() in seen, "seen": seen.decode("latin-1"), "unread": unread,
    "page": reads(page), "folder": lists(os.path.dirname(page)), "code": asks("")}))
"""


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root becomes another user")
def test_another_user_of_the_machine_finds_no_way_in(server, tmp_path):
    for folder in (tmp_path, *tmp_path.parents):  # as homes are: others may pass through
        if folder.stat().st_uid == os.geteuid() and folder.is_relative_to("/tmp") and folder != Path("/tmp"):
            folder.chmod(0o755)
    port = server.address.split(":")[2].split("/")[0]
    words = [url.rsplit("/", 2)[1] for url in (server.address, server.ticket)]
    spy = subprocess.run(
        [sys.executable, "-I", "-c", SPY],
        input=f"{port} {server.page}",
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(spy.stdout)
    assert found["page seen"]  # the path is seen, and useless
    assert found["unread"] > 0  # the environment of the server is not
    assert not any(word in found["seen"] for word in words)
    assert not re.search(rf"http://127\.0\.0\.1:{port}/[\w-]", found["seen"])
    assert found["page"] is False
    assert found["folder"] is None
    assert found["code"] == 403
    assert ask(server.ticket)[0] == 200  # and the owner gets in
    server.end()
