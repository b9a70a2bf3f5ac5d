"""The served page: every address with its handler; the library does the work."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.resources import files as resources
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tellall.core.curator_key import CuratorKey
from tellall.core.errors import TellallError
from tellall.core.text import one_line, said_safely
from tellall.report.kit.html import page_style
from tellall.serve import bodies, deciding, opening, outputs_page, planning, results
from tellall.serve.bodies import RefusedError
from tellall.serve.cases import Home
from tellall.serve.guard import Guard
from tellall.serve.runs import AuditRuns
from tellall.serve.site import Log, Site

__all__ = ["make_app"]

Answering = Callable[[Request], Awaitable[Response]]
_STATIC = {
    "htmx.min.js": "text/javascript",
    "page.js": "text/javascript",
    "serve.css": "text/css",
    "icon.svg": "image/svg+xml",
}


def _static(site: Site, request: Request) -> Response:
    """A style sheet or script of ours."""
    name = request.path_params["name"]
    if name == "page.css":
        return Response(page_style(), media_type="text/css")
    if name not in _STATIC:
        raise RefusedError(404, "no such file")
    return Response(_content(name), media_type=_STATIC[name])


@cache
def _content(name: str) -> bytes:
    return resources("tellall.serve").joinpath("static", name).read_bytes()


# handlers that only read, by address
_READING: dict[str, Callable[..., Response]] = {
    "/": opening.start,
    "/static/{name}": _static,
    "/case/{case}": opening.go_on,
    "/case/{case}/columns": opening.columns,
    "/case/{case}/outputs": outputs_page.outputs,
    "/case/{case}/plan": planning.plan,
    "/case/{case}/foresight": planning.foreseen,
    "/case/{case}/progress": results.progress,
    "/case/{case}/verdict": results.verdict,
    "/case/{case}/areas": results.areas,
    "/case/{case}/cells": results.closer,
    "/case/{case}/fix": results.fix,
    "/case/{case}/point": results.point,
    "/case/{case}/decide": deciding.decide,
    "/case/{case}/export/{what}": deciding.export,
}
# handlers that get the fields of a form
_CHANGING: dict[str, Callable[..., Response]] = {
    "/policy/forget": opening.drop_policy,
    "/case/{case}/columns": opening.choose,
    "/case/{case}/outputs": outputs_page.change,
    "/case/{case}/plan": planning.change,
    "/case/{case}/run": results.run,
    "/case/{case}/cancel": results.cancel,
    "/case/{case}/apply": results.apply,
    "/case/{case}/decide": deciding.decided,
    "/case/{case}/forget": opening.forget,
}
# handlers that take a file as it comes
_TAKING: dict[str, Callable[[Site, Request], Awaitable[Response]]] = {
    "/open": opening.open_people,
    "/policy": opening.open_policy,
    "/case/{case}/outputs/file": opening.open_output,
    "/case/{case}/published": opening.open_published,
}


def make_app(
    home: Home,
    runs: AuditRuns,
    *,
    host: str,
    token: str,
    log: Log,
    seed: int = 0,
    key: CuratorKey | None = None,
) -> Guard:
    """The application behind its guard."""
    site = Site(home, runs, log, seed, key)
    routes = [
        *(Route(path, _reading(site, handler)) for path, handler in _READING.items()),
        *(Route(path, _changing(site, handler), methods=["POST"]) for path, handler in _CHANGING.items()),
        *(Route(path, _taking(site, handler), methods=["POST"]) for path, handler in _TAKING.items()),
    ]

    async def refused(request: Request, error: Exception) -> Response:
        """The answer to a request that is refused within the app, in one line of the log."""
        code, why = getattr(error, "code", 404), getattr(error, "why", "no such page")
        log(f"refused {one_line(request.method, 10)}: {one_line(why, 200)}")
        return Response(f"Refused: {why}.\n", code, media_type="text/plain")

    handlers: dict[Any, Any] = {RefusedError: refused, 404: refused, 405: refused}
    return Guard(Starlette(routes=routes, exception_handlers=handlers), host=host, token=token, log=log)


def _reading(site: Site, handler: Callable[..., Response]) -> Answering:
    async def answer(request: Request) -> Response:
        with _faults_told():
            return await run_in_threadpool(handler, site, request)

    return answer


def _changing(site: Site, handler: Callable[..., Response]) -> Answering:
    async def answer(request: Request) -> Response:
        form = await bodies.fields_of(request)
        with _faults_told():
            return await run_in_threadpool(handler, site, request, form)

    return answer


def _taking(site: Site, handler: Callable[[Site, Request], Awaitable[Response]]) -> Answering:
    async def answer(request: Request) -> Response:
        with _faults_told():
            return await handler(site, request)

    return answer


@contextmanager
def _faults_told() -> Iterator[None]:
    """Turns every error within it into a refusal; a fault of ours is one line in the log, without data."""
    try:
        yield
    except (RefusedError, HTTPException):
        raise
    except TellallError as error:
        raise RefusedError(404, str(error).rstrip(".")) from None
    except Exception as error:
        raise RefusedError(500, f"a fault in tellall itself ({said_safely(error)})") from None
