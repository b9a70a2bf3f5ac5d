"""Guard: only the person who started the server, in a browser of this machine, gets an answer."""

from __future__ import annotations

import hmac
import re
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from tellall.core.text import one_line
from tellall.serve.door import Ticket, Visit, page_leading_to

__all__ = ["LARGEST_FILE", "LARGEST_FORM", "POLICY", "STOLEN", "Guard", "refusal"]

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

LARGEST_FILE = 256 * 2**20
LARGEST_FORM = 2 * 2**20
_LONGEST_QUERY = 2000
_PATH = re.compile(rb"/|(/[A-Za-z0-9_-]+(\.[A-Za-z0-9]+)*)+/?")
# scripts and styles of the server alone, none within a page; nothing from anywhere else
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


def refusal(scope: Scope, *, host: str, token: str) -> tuple[int, str] | None:
    """Why a request is not answered, with the code that says so; None if it is.

    Notes
    -----
    Who can ask: a page of another site cannot, because it does not know the token, because its ``Origin``
    and ``Sec-Fetch-Site`` say where it comes from, and because no cookie speaks for the person. A name that
    somebody else's server makes point to this machine (DNS rebinding) is in ``Host``, which must be this
    address. Paths are made of plain segments: none goes up, none is written in escapes.
    """
    headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
    path: bytes = scope.get("raw_path") or scope["path"].encode()
    if headers.get("host") != host or sum(name.lower() == b"host" for name, _ in scope["headers"]) != 1:
        return 421, "another host name"
    if scope["method"] not in ("GET", "HEAD", "POST"):
        return 405, "another method"
    if not _PATH.fullmatch(path.split(b"?")[0]):
        return 400, "a path of other than plain names"
    if not hmac.compare_digest(path.split(b"/")[1], token.encode()):
        return 403, "no token, or a wrong one"
    if headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
        return 403, "from another site"
    origin = headers.get("origin")
    if origin not in (None, f"http://{host}"):
        return 403, "from another origin"
    if scope["method"] == "POST" and origin is None and headers.get("sec-fetch-site") != "same-origin":
        return 403, "a change without an origin"
    length = headers.get("content-length", "0")
    if not length.isascii() or not length.isdigit() or int(length[:20]) > LARGEST_FILE:
        return 413, "too large"
    if len(scope.get("query_string", b"")) > _LONGEST_QUERY:
        return 414, "too long a query"
    return None


STOLEN = (
    "somebody else used the ticket that was made for your browser, so this server has stopped and its "
    "address is void. Another user or program of this machine may have seen your audits. Find out who it "
    "was, then start tellall serve --no-browser again"
)
_LATE = "the ticket is more than a minute old; copy the address on the terminal into the browser"


class Guard:
    """Refuses what is not from this machine's own page, in one line of the log; adds the safety headers.

    Attributes
    ----------
    stolen
        Whether a ticket was shown twice, so that one of the two was somebody else; nothing is answered then.
    on_theft
        Called when that happens.
    """

    def __init__(self, app: Any, *, host: str, token: str, log: Callable[[str], None]) -> None:
        self.app, self.host, self.token, self.log = app, host, token, log
        self.stolen = False
        self.on_theft: Callable[[], None] = lambda: None
        self._tickets: list[Ticket] = []

    def ticket(self) -> Ticket:
        """A ticket that replaces the token once."""
        self._tickets.append(Ticket())
        return self._tickets[-1]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request, or refuses it."""
        if scope["type"] != "http":
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
            return
        visit = self._visit(scope)
        if visit is Visit.AGAIN and not self.stolen:
            self.stolen = True
            self.on_theft()
        wrong = (403, STOLEN) if self.stolen else self._refusal(scope, visit)
        if wrong is not None:
            code, why = wrong
            self.log(f"refused {one_line(scope['method'], 10)}: {why}")
            await _plain(send, code, f"Refused: {why}.\n")
            return
        if visit is Visit.FIRST:  # a redirection would count as coming from the file with the ticket
            page = page_leading_to(f"http://{self.host}/{self.token}/")
            await _plain(send, 200, page, **{"Content-Type": "text/html; charset=utf-8"})
            return

        async def with_headers(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                known = {name.lower() for name, _ in message.get("headers", ())}
                added = [
                    (name.lower().encode(), value.encode())
                    for name, value in _HEADERS.items()
                    if name.lower().encode() not in known
                ]
                message = {**message, "headers": [*message.get("headers", ()), *added]}
            await send(message)

        await self.app({**scope, "root_path": f"/{self.token}"}, receive, with_headers)

    def _visit(self, scope: Scope) -> Visit:
        """What the first part of the path is worth as a ticket; showing a ticket spends it."""
        word = scope["path"].encode(errors="replace").split(b"/")[1:2]
        visits = [ticket.show(word[0]) for ticket in self._tickets] if word else []
        return next((visit for visit in visits if visit is not Visit.NONE), Visit.NONE)

    def _refusal(self, scope: Scope, visit: Visit) -> tuple[int, str] | None:
        """Why a request is not answered; None if it is."""
        if visit is Visit.NONE:
            return refusal(scope, host=self.host, token=self.token)
        return (403, _LATE) if visit is Visit.LATE else _ticket_refusal(scope, host=self.host)


def _ticket_refusal(scope: Scope, *, host: str) -> tuple[int, str] | None:
    """Why a ticket lets nobody in; None if it does. It comes from a file, so from another site or none."""
    headers = [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in scope["headers"]]
    if [value for name, value in headers if name == "host"] != [host]:
        return 421, "another host name"
    if scope["method"] != "GET" or scope["path"].count("/") != 2 or not scope["path"].endswith("/"):
        return 403, "no page of a ticket"
    known = dict(headers)
    if known.get("sec-fetch-mode", "navigate") != "navigate" or known.get("origin", "null") != "null":
        return 403, "a ticket that another page shows"
    return None


async def _plain(send: Send, code: int, text: str, **more: str) -> None:
    headers = {"Content-Type": "text/plain; charset=utf-8", "Connection": "close", **_HEADERS, **more}
    listed = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": code, "headers": listed})
    await send({"type": "http.response.body", "body": text.encode()})
