"""Only the page itself is answered: everything else is refused in one line, and nothing is written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tellall.serve import bodies, guard
from tests.serve.client import HOST, ORIGIN, TOKEN, Client, files_in
from tests.serve.people import people_csv, planned

HERE = f"/{TOKEN}"
BAD = {
    "no token": {"path": "/"},
    "no token, a page": {"path": "/case/0123456789abcdef/plan"},
    "another token": {"path": f"/{TOKEN[:-1]}x/"},
    "half a token": {"path": f"/{TOKEN[:5]}/"},
    "another host": {"path": f"{HERE}/", "host": "evil.example:8000"},
    "a name for this machine": {"path": f"{HERE}/", "host": "localhost:8000"},
    "another port": {"path": f"{HERE}/", "host": "127.0.0.1:9000"},
    "no host": {"path": f"{HERE}/", "host": None},
    "two hosts": {"path": f"{HERE}/", "headers": [("host", HOST)]},
    "another origin": {"path": f"{HERE}/", "headers": [("origin", "http://evil.example")]},
    "no origin's name": {"path": f"{HERE}/", "headers": [("origin", "null")]},
    "another site": {"path": f"{HERE}/", "headers": [("sec-fetch-site", "cross-site")]},
    "another port's page": {"path": f"{HERE}/", "headers": [("sec-fetch-site", "same-site")]},
    "up": {"path": f"{HERE}/static/../../etc/passwd"},
    "up, escaped": {"path": f"{HERE}/static/%2e%2e%2fsecret"},
    "an absolute path": {"path": f"{HERE}//etc/passwd"},
    "a backslash": {"path": f"{HERE}/static/..\\secret"},
    "an escaped zero": {"path": f"{HERE}/static/page.css%00.js"},
    "another method": {"path": f"{HERE}/", "method": "PUT"},
    "a question of a browser": {"path": f"{HERE}/open", "method": "OPTIONS"},
    "a change from nowhere": {"path": f"{HERE}/open", "method": "POST"},
    "a change from elsewhere": {
        "path": f"{HERE}/open",
        "method": "POST",
        "headers": [("origin", "http://evil.example"), ("x-name", "a.csv")],
        "body": [b"a,b\n1,2\n"],
    },
    "too large": {
        "path": f"{HERE}/open",
        "method": "POST",
        "headers": [ORIGIN, ("content-length", str(guard.LARGEST_FILE + 1))],
    },
    "a length that is none": {
        "path": f"{HERE}/open",
        "method": "POST",
        "headers": [ORIGIN, ("content-length", "-1")],
    },
    "a long query": {"path": f"{HERE}/?{'x' * 3000}"},
    "no such page": {"path": f"{HERE}/nothing"},
    "no such case": {"path": f"{HERE}/case/0123456789abcdef/plan"},
    "no such script": {"path": f"{HERE}/static/app.py"},
}


@pytest.mark.parametrize("request_", BAD.values(), ids=BAD)
def test_refused_in_one_line_and_nothing_written(client, tmp_path, request_):
    before = files_in(tmp_path)
    answer = client.ask(**request_)
    assert 400 <= answer.status < 500
    assert answer.text.startswith("Refused: ")
    assert len(client.log) == 1
    assert "\n" not in client.log[0]
    assert TOKEN not in client.log[0]
    assert files_in(tmp_path) == before


@given(st.binary(max_size=80), st.sampled_from(["GET", "POST", "HEAD"]))
def test_no_path_without_the_token_is_answered(rest, method):
    """Whatever else is in it; and with the token no path that could lead elsewhere."""
    scope = {"type": "http", "method": method, "path": "/", "query_string": b""}
    scope["headers"] = [(b"host", HOST.encode()), (b"origin", f"http://{HOST}".encode())]
    known = {"host": HOST, "token": TOKEN}
    if not rest.startswith(f"{TOKEN}/".encode()):
        assert guard.refusal({**scope, "raw_path": b"/" + rest}, **known) is not None
    within = f"/{TOKEN}/".encode() + rest
    if guard.refusal({**scope, "raw_path": within}, **known) is None:
        path = within.split(b"?")[0]
        assert b".." not in path
        assert b"//" not in path
        assert not set(path) & set(b"\\%\0~")


def test_what_is_asked_rightly_is_answered(client):
    for headers in ([], [ORIGIN], [("sec-fetch-site", "same-origin")], [("sec-fetch-site", "none")]):
        assert client.ask(f"{HERE}/", headers=headers).status == 200
    assert client.ask(f"{HERE}/", "HEAD").status == 200
    assert client.log == []


@pytest.mark.parametrize("path", ["/", "/static/page.js", "/static/page.css", "/nothing"])
def test_every_answer_carries_the_policy(client, path):
    answer = client.get(path)
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert "unsafe" not in answer.headers["content-security-policy"]
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cross-origin-resource-policy"] == "same-origin"
    assert answer.headers["cache-control"] == "no-store"
    assert "set-cookie" not in answer.headers


def test_a_body_longer_than_it_may_be_leaves_nothing(client, tmp_path, monkeypatch):
    """Its length was not said before, so it is counted as it comes."""
    monkeypatch.setattr(bodies, "LARGEST_FILE", 100)
    headers = [ORIGIN, ("x-name", "a.csv")]
    answer = client.ask(f"{HERE}/open", "POST", headers, [b"a,b\n", b"1,2\n" * 30])
    assert answer.status == 413
    assert client.log == ["refused POST: too large"]
    assert files_in(tmp_path) == ["home"]


def test_a_form_longer_than_it_may_be_is_refused(client, monkeypatch):
    planned(client)
    before = client.case().plan_text
    monkeypatch.setattr(bodies, "LARGEST_FORM", 1000)
    answer = client.post(f"{client.here}/plan", {"version": client.case().version, "text": "x" * 2000})
    assert answer.status == 413
    assert client.case().plan_text == before


def test_a_file_that_is_cut_off_leaves_nothing(client, tmp_path):
    headers = [ORIGIN, ("x-name", "a.csv")]
    answer = client.ask(f"{HERE}/open", "POST", headers, [people_csv()[:50]], cut=True)
    assert answer.status == 400
    assert files_in(tmp_path) == ["home"]


@pytest.mark.parametrize("name", ["../../x.csv", "/etc/cron.d/x.csv", "..\\x.csv", "a/../b.csv", ".csv"])
def test_a_name_never_becomes_a_path(client, tmp_path, name):
    answer = client.open(name, people_csv())
    assert answer.status == 200
    assert {path.name for path in client.case().folder.iterdir()} == {"case.json", "people.csv"}
    assert {path.name for path in tmp_path.iterdir()} == {"home"}
    assert "/" not in client.case().name
    assert ".." not in client.case().name


def test_folders_and_files_are_for_their_owner_alone(client):
    planned(client)
    for path in (client.home.folder, *client.home.folder.rglob("*")):
        assert path.stat().st_mode & 0o077 == 0, path


def test_a_form_that_is_no_text_is_refused(client):
    planned(client)
    answer = client.ask(f"{HERE}{client.here}/plan", "POST", [ORIGIN], [b"text=\xff\xfe%ff"])
    assert answer.status == 400


FROM_A_FILE = [
    ("sec-fetch-site", "cross-site"),
    ("sec-fetch-mode", "navigate"),
    ("sec-fetch-dest", "document"),
]


@pytest.mark.parametrize("headers", [[], FROM_A_FILE])
def test_a_ticket_opens_the_page_once(client, headers):
    ticket = client.app.ticket().word
    answer = client.ask(f"/{ticket}/", headers=headers)
    assert answer.status == 200
    assert f'content="0; url=http://{HOST}{HERE}/"' in answer.text
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert answer.headers["cache-control"] == "no-store"
    assert client.get("/").status == 200
    assert client.log == []


def test_a_ticket_that_is_shown_twice_stops_everything(client):
    stopped = []
    client.app.on_theft = lambda: stopped.append(True)
    ticket = client.app.ticket().word
    assert client.ask(f"/{ticket}/").status == 200  # somebody; who, nobody knows
    answer = client.ask(f"/{ticket}/", headers=FROM_A_FILE)
    assert answer.status == 403
    assert "somebody else used the ticket" in answer.text
    assert HERE not in answer.text
    assert stopped == [True]
    for path in ("/", "/static/page.css"):
        assert client.get(path).status == 403  # the address is void, for whoever has it
    assert stopped == [True]


@pytest.mark.parametrize(
    "request_",
    [
        {"host": "evil.example"},
        {"method": "POST"},
        {"method": "HEAD"},
        {"headers": [("sec-fetch-mode", "cors")]},
        {"headers": [("origin", "http://evil.example")]},
        {"more": "case/0123456789abcdef/plan"},
    ],
)
def test_a_ticket_shown_in_another_way_lets_nobody_in_and_is_spent(client, request_):
    ticket = client.app.ticket().word
    answer = client.ask(f"/{ticket}/{request_.pop('more', '')}", **request_)
    assert answer.status in (403, 421)
    assert TOKEN not in answer.text
    assert client.ask(f"/{ticket}/").status == 403
    assert client.app.stolen


def test_a_ticket_of_more_than_a_minute_is_void_and_no_alarm(client, monkeypatch):
    ticket = client.app.ticket()
    ticket.end()
    answer = client.ask(f"/{ticket.word}/")
    assert answer.status == 403
    assert "more than a minute old" in answer.text
    assert not client.app.stolen
    assert client.get("/").status == 200


def test_a_websocket_is_closed(client: Client):
    import asyncio

    sent = []

    async def send(message):
        sent.append(message)

    asyncio.run(client.app({"type": "websocket"}, None, send))
    assert sent == [{"type": "websocket.close", "code": 1008}]
