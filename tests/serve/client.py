"""A browser made of one call: requests go straight to the application, each in a loop of its own."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from tellall.core.curator_key import CuratorKey
from tellall.serve.app import make_app
from tellall.serve.cases import Case, Home
from tellall.serve.runs import AuditRuns

HOST, TOKEN = "127.0.0.1:8000", "a-token-of-the-tests"
ORIGIN = ("origin", f"http://{HOST}")


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Client:
    """The application over a folder, and requests to it as the page makes them."""

    home: Home
    runs: AuditRuns = field(default_factory=AuditRuns)
    log: list[str] = field(default_factory=list)
    key: CuratorKey | None = None

    def __post_init__(self) -> None:
        self.app = make_app(self.home, self.runs, host=HOST, token=TOKEN, log=self.log.append, key=self.key)

    def ask(
        self,
        path: str,
        method: str = "GET",
        headers: Iterable[tuple[str, str]] = (),
        body: Iterable[bytes] = (),
        *,
        host: str | None = HOST,
        cut: bool = False,
    ) -> Answer:
        """Any request, `path` as it is sent; with `cut` the browser goes away before the end of the body."""
        raw, _, query = path.partition("?")
        listed = [("host", host)] if host is not None else []
        scope = {
            "type": "http",
            "method": method,
            "path": raw,
            "raw_path": raw.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [(name.encode(), value.encode()) for name, value in (*listed, *headers)],
        }
        pieces = [{"type": "http.request", "body": piece, "more_body": True} for piece in body]
        last = {"type": "http.disconnect"} if cut else {"type": "http.request", "body": b""}
        waiting = iter([*pieces, last])
        sent: list[Any] = []

        async def receive() -> Any:
            return next(waiting, {"type": "http.disconnect"})

        async def send(message: Any) -> None:
            sent.append(message)

        asyncio.run(self.app(scope, receive, send))
        start, *rest = sent
        found = {name.decode(): value.decode() for name, value in start["headers"]}
        return Answer(start["status"], found, b"".join(one.get("body", b"") for one in rest))

    def get(self, path: str) -> Answer:
        return self.ask(f"/{TOKEN}{path}")

    def post(self, path: str, form: Any = ()) -> Answer:
        """The answer to a form, and of a redirection what it leads to."""
        answer = self.ask(f"/{TOKEN}{path}", "POST", [ORIGIN], [urlencode(form, doseq=True).encode()])
        return self.ask(answer.headers["location"]) if answer.status == 303 else answer

    def open(self, name: str, content: bytes, to: str = "/open") -> Answer:
        headers = [ORIGIN, ("x-name", quote(name))]
        return self.ask(f"/{TOKEN}{to}", "POST", headers, [content])

    def case(self) -> Case:
        """The case opened last."""
        return self.home.cases[0]

    @property
    def here(self) -> str:
        return f"/case/{self.case().id}"


def files_in(folder: Path) -> list[str]:
    """Every file and folder below a folder."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))
