"""Server: the page on a port of this machine, until it is stopped."""

from __future__ import annotations

import secrets
import socket
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path

from tellall.core.curator_key import CuratorKey
from tellall.core.errors import TellallError, invalid
from tellall.serve.app import make_app
from tellall.serve.cases import Home, default_folder
from tellall.serve.door import browser_started
from tellall.serve.guard import STOLEN
from tellall.serve.runs import AuditRuns

__all__ = ["Server"]

HOST = "127.0.0.1"


class Server:
    """A server that has its port and its address, and does not answer yet.

    Attributes
    ----------
    address
        Where the page is; it holds a random token, without which nothing is answered.
    """

    def __init__(
        self,
        folder: Path | None,
        port: int = 0,
        *,
        seed: int = 0,
        key: CuratorKey | None = None,
        log: Callable[[str], None],
    ) -> None:
        self.home, self.runs = Home.at(folder or default_folder()), AuditRuns()
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self._socket.bind((HOST, port))
        except OSError as error:
            self._socket.close()
            raise invalid("--port", "one that is free", f"{port} ({error.strerror})") from None
        self._socket.listen(64)  # requests that come before it answers wait
        self._log = lambda line: log(f"tellall serve: {line}")
        token, host = secrets.token_urlsafe(24), f"{HOST}:{self._socket.getsockname()[1]}"
        self.address = f"http://{host}/{token}/"
        self._app = make_app(
            self.home,
            self.runs,
            host=host,
            token=token,
            seed=seed,
            key=key,
            log=self._log,
        )

    def run(self, *, open_browser: bool = False) -> None:
        """Answers until it is stopped; what was running before goes on."""
        import uvicorn

        config = uvicorn.Config(
            self._app,
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            ws="none",
            timeout_graceful_shutdown=1,
        )
        self.home.clear()
        self.runs.resume(self.home)
        sys.stdout.flush()
        server = uvicorn.Server(config)
        self._app.on_theft = lambda: setattr(server, "should_exit", True)
        try:
            with suppress(KeyboardInterrupt), self._browser() if open_browser else nullcontext():
                server.run(sockets=[self._socket])
        finally:
            self.runs.end()
            self._socket.close()
        if self._app.stolen:
            raise TellallError(f"{STOLEN[0].upper()}{STOLEN[1:]}.")

    def _browser(self) -> AbstractContextManager[None]:
        """A browser that is started with a ticket."""
        ticket = self._app.ticket()
        return browser_started(f"http://{self._app.host}/{ticket.word}/", ticket, self._log)
