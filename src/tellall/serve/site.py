"""Site: what every handler shares: the cases, their runs, the log, and how a page is shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse

from tellall.core.curator_key import CuratorKey
from tellall.core.text import plain_text
from tellall.core.version import __version__
from tellall.report.kit.html import environment
from tellall.serve import edits, views
from tellall.serve.bodies import RefusedError
from tellall.serve.cases import Case, Home
from tellall.serve.runs import AuditRuns

__all__ = ["Log", "Site"]

Log = Callable[[str], None]


@dataclass(frozen=True)
class Site:
    """The cases of this server, the processes of their audits, where to log, the seed of first plans.

    With a curator's ``key`` decisions keep a check of the file of people.
    """

    home: Home
    runs: AuditRuns
    log: Log
    seed: int = 0
    key: CuratorKey | None = None

    def show(self, request: Request, template: str, **values: Any) -> HTMLResponse:
        """A page from a template; nothing in it acts, whatever is in the data."""
        known = {"root": request.scope["root_path"], "tellall": __version__}
        page = _templates().get_template(template).render(**known, **values)
        return HTMLResponse(plain_text(page))

    def step(self, request: Request, case: Case, step: str, **values: Any) -> HTMLResponse:
        """A page of one case."""
        shared = {"case": case, "about": case.about, "step": step, "reached": views.reached(case)}
        return self.show(request, f"{step}.html", **shared, **values)

    def case(self, request: Request) -> Case:
        """The case that an address names."""
        found = self.home.find(request.path_params["case"])
        if found is None:
            raise RefusedError(404, "no such audit")
        return found

    def address(self, request: Request, case: Case, step: str) -> str:
        """Where a page of a case is."""
        return f"{request.scope['root_path']}/case/{case.id}/{step}"

    def to(self, request: Request, case: Case, step: str = "") -> RedirectResponse:
        """Sends the browser to a page of a case."""
        return RedirectResponse(self.address(request, case, step or views.step_of(case)), 303)

    def to_start(self, request: Request) -> RedirectResponse:
        """Sends the browser to the first page."""
        return RedirectResponse(f"{request.scope['root_path']}/", 303)


@cache
def _templates() -> Any:
    made = environment("tellall.serve")
    made.filters["without_comments"] = edits.without_comments
    return made
