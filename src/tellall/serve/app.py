"""The served page: every address, what it shows and what it changes; the library does the work."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from importlib.resources import files as resources
from typing import Any
from urllib.parse import unquote

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from tellall.core.claims import claimed
from tellall.core.errors import TellallError, invalid
from tellall.core.text import one_line, plain_text, said_safely
from tellall.core.version import __version__
from tellall.people.readers import ENDINGS
from tellall.report.areas import area_funnel
from tellall.report.audit_page import SECTIONS, render
from tellall.report.blocks import sections_of
from tellall.report.causes import remedy_box, tried_blocks
from tellall.report.first_screen import verdict_answer
from tellall.report.html import environment, page_style, style_policy
from tellall.serve import bodies, edits, views
from tellall.serve.bodies import LARGEST_FILE, RefusedError
from tellall.serve.cases import Case, Home, shown_name
from tellall.serve.guard import Guard
from tellall.serve.points import point_view
from tellall.serve.runs import AuditRuns

__all__ = ["make_app"]

Form = Mapping[str, str]
Log = Callable[[str], None]
_STATIC = {
    "htmx.min.js": "text/javascript",
    "page.js": "text/javascript",
    "serve.css": "text/css",
    "icon.svg": "image/svg+xml",
}
_LONGEST_COMMENT = 4000


class Pages:
    """The handlers of all addresses, with what they share: cases, runs, the log."""

    def __init__(self, home: Home, runs: AuditRuns, log: Log, seed: int = 0) -> None:
        self.home, self.runs, self.log, self.seed = home, runs, log, seed

    # small things

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

    def to(self, request: Request, case: Case, step: str = "") -> RedirectResponse:
        """Sends the browser to a page of a case."""
        return RedirectResponse(_address(request, case, step or views.step_of(case)), 303)

    # opening a file

    def start(self, request: Request) -> Response:
        """The first page: open a file, or go on with one."""
        known = [
            {
                "id": case.id,
                "about": case.about,
                "verdict": (case.audit or {"verdict": {}})["verdict"].get("word", "") if case.current else "",
                "decision": (case.decision or {}).get("decision", ""),
                "running": (case.read("run.json") or {}).get("state") == "running",
            }
            for case in self.home.cases
        ]
        return self.show(request, "start.html", cases=known, endings=ENDINGS, most=LARGEST_FILE // 2**20)

    async def open(self, request: Request) -> Response:
        """Copies a file that the browser sends into a new case; of one that cannot be read nothing stays."""
        try:
            name, ending = shown_name(unquote(request.headers.get("x-name", "")[:2000]))
        except TellallError as error:
            return JSONResponse({"error": str(error)})
        case = self.home.create()
        try:
            with claimed(case.folder, what="file"):
                await bodies.copy_to(request, case.folder / f"people{ending}")
                await run_in_threadpool(case.open_file, name, ending)
        except TellallError as error:
            case.forget()
            return JSONResponse({"error": plain_text(str(error))})
        except (RefusedError, asyncio.CancelledError):
            case.forget()
            raise
        except Exception as error:
            case.forget()
            raise RefusedError(500, f"a fault in tellall itself ({said_safely(error)})") from None
        return JSONResponse({"to": _address(request, case, "columns")})

    # columns and plan

    def columns(self, request: Request, error: str = "") -> Response:
        """The columns of a file: choose the secret and what is known."""
        case = self.case(request)
        looks = case.columns
        two = [index for index, look in enumerate(looks) if look.kind == "two values" and not look.missing]
        return self.step(request, case, "columns", looks=looks, secret=two[-1] if two else None, error=error)

    def choose(self, request: Request, form: Form, several: Mapping[str, list[str]]) -> Response:
        """Drafts a plan for the chosen columns."""
        case = self.case(request)
        count = len(case.columns)
        try:
            if "secret" not in form:
                raise invalid("secret", "chosen", "nothing", "Choose the column that nobody should learn.")
            secret = edits.index_of(form["secret"], count)
            public = [edits.index_of(one, count) for one in several.get("public", ())]
            by = edits.index_of(form["by"], count) if form.get("by") else None
            if by == secret:
                raise invalid("areas", "made by another column than the secret", case.columns[secret].name)
            known = [edits.index_of(one, count) for one in several.get("known", ())]
            if "asked" in form and not known:
                raise invalid("known", "one column or more", "none", "An outsider knows something.")
            columns = [one for one in public if one != secret]
            case.draft_plan(secret, columns, by, known=known or None, seed=self.seed)
        except TellallError as error:
            return self.columns(request, str(error))
        return self.to(request, case, "plan")

    def plan(self, request: Request, error: str = "", typed: str = "") -> Response:
        """The plan as cards, and as the text that it is."""
        case = self.case(request)
        text = case.plan_text
        if not text:
            return self.to(request, case, "columns")
        return self.step(
            request,
            case,
            "plan",
            cards=views.cards(case),
            text=text,
            typed=typed or text,
            version=case.version,
            numbers=views.numbers_of(text),
            offered=edits.OFFERED,
            current=case.current,
            error=error,
        )

    def change(self, request: Request, form: Form, several: Mapping[str, list[str]]) -> Response:
        """Changes the plan: a click on a card, a number, or the whole text."""
        case = self.case(request)
        try:
            text = views.unchanged(case, form)
            if "text" in form:
                made = form["text"].replace("\r\n", "\n")
            elif "do" in form:
                made = edits.changed(text, form)
            else:
                made = text
                for key in edits.NUMBERS:
                    made = edits.with_number(made, key, form[key]) if key in form else made
            case.write_plan(made)
        except TellallError as error:
            return self.plan(request, str(error), form.get("text", ""))
        return self.to(request, case, "plan")

    def foresight(self, request: Request) -> Response:
        """What can be said before any attack."""
        case = self.case(request)
        try:
            return self.show(request, "foresight.html", known=views.foresight(case), error="")
        except (TellallError, MemoryError) as error:
            return self.show(request, "foresight.html", known=None, error=str(error) or "too little memory")

    # running

    def run(self, request: Request, form: Form, several: Mapping[str, list[str]]) -> Response:
        """Starts the audit."""
        case = self.case(request)
        if not case.plan_text:
            return self.to(request, case)
        self.runs.start(case)
        return self.to(request, case, "verdict")

    def cancel(self, request: Request, form: Form, several: Mapping[str, list[str]]) -> Response:
        """Stops the audit; what is finished stays."""
        case = self.case(request)
        self.runs.cancel(case)
        return self.to(request, case, "verdict" if case.current else "plan")

    def progress(self, request: Request) -> Response:
        """How far the audit is; once there is something new to see, the page loads itself again."""
        case = self.case(request)
        state = self.runs.state(case)
        shown = request.query_params.get("seen", "")
        if state is None or shown != views.seen_of(case, state):
            return Response(headers={"HX-Refresh": "true"})
        return self.show(request, "progress.html", case=case, progress=views.progress_view(state), seen=shown)

    # results

    def verdict(self, request: Request) -> Response:
        """The verdict and what stands behind it, or how far the audit is."""
        case = self.case(request)
        state = self.runs.state(case)
        document = case.audit if case.current else None
        running = state is not None and state["state"] == "running"
        if document is None and not running and (state is None or state["version"] != case.version):
            return self.to(request, case, "plan")
        return self.step(
            request,
            case,
            "verdict",
            document=document,
            sections={} if document is None else _by_id(document),
            answer=None if document is None else verdict_answer(document),
            headline=[] if document is None else views.headline(document),
            compared=[] if document is None else views.compared(case.read("last.json"), document),
            funnel=None if document is None else area_funnel(document),
            progress=views.progress_view(state) if running and state else None,
            state=state,
            seen="" if state is None else views.seen_of(case, state),
            text=case.plan_text,
        )

    def areas(self, request: Request) -> Response:
        """The areas of an audit as a table: sorted, searched, some at a time."""
        case = self.case(request)
        document = case.audit
        if document is None or document["areas"] is None:
            raise RefusedError(404, "no areas")
        found = views.areas_of(document, request.query_params)
        return self.show(request, "areas_table.html", case=case, areas=found)

    def fix(self, request: Request) -> Response:
        """What to change: the remedy, and a slider over measured protections."""
        case = self.case(request)
        document = case.audit if case.current else None
        if document is None:
            return self.to(request, case)
        state = self.runs.state(case)
        running = state is not None and state["state"] == "running"
        measured = [one for one in (case.read("fix.json") or {"releases": []})["releases"] if one["points"]]
        return self.step(
            request,
            case,
            "fix",
            document=document,
            remedy=None if document["remedy"] is None else remedy_box(document["remedy"]),
            tried=() if document["remedy"] is None else list(tried_blocks(document["remedy"])),
            version=case.version,
            releases=[(one, point_view(one, one["planned"], document["limit"])) for one in measured],
            progress=views.progress_view(state) if running and state else None,
            seen="" if state is None else views.seen_of(case, state),
            text=case.plan_text,
        )

    def point(self, request: Request) -> Response:
        """One measured protection."""
        case = self.case(request)
        document, known = case.audit, case.read("fix.json")
        if document is None or known is None:
            raise RefusedError(404, "nothing measured")
        release, at = views.chosen_point(known, request.query_params)
        return self.show(
            request,
            "point.html",
            case=case,
            release=release,
            point=point_view(release, at, document["limit"]),
            version=case.version,
        )

    def apply(self, request: Request, form: Form, several: Mapping[str, list[str]]) -> Response:
        """Puts the remedy, or a point of the slider, into the plan, and audits it."""
        case = self.case(request)
        try:
            text = views.unchanged(case, form)
            entries = edits.entries_of(text)
            document = case.audit
            if document is None or not case.current:
                raise invalid("plan", "audited before it is mended", "a plan without an audit")
            if form.get("what") == "remedy":
                made = views.remedied(document, entries)
            else:
                release, at = views.chosen_point(case.read("fix.json") or {"releases": []}, form)
                made = views.protected(entries, release, at)
            case.write_plan(edits.with_entries(text, made))
        except TellallError as error:
            return self.plan(request, str(error))
        self.runs.cancel(case)
        self.runs.start(case)
        return self.to(request, case, "verdict")

    # deciding

    def decide(self, request: Request, error: str = "", comment: str = "") -> Response:
        """Accept or reject, say why, take it away."""
        case = self.case(request)
        document = case.audit if case.current else None
        if document is None:
            return self.to(request, case)
        return self.step(
            request,
            case,
            "decide",
            document=document,
            headline=views.headline(document),
            compared=views.compared(case.read("last.json"), document),
            decision=case.decision,
            error=error,
            comment=comment,
        )

    def decided(self, request: Request, form: Form, several: Mapping[str, list[str]]) -> Response:
        """Writes the decision down."""
        case = self.case(request)
        word, comment = form.get("decision", ""), plain_text(form.get("comment", "")).strip()
        try:
            if word not in ("accept", "reject"):
                raise invalid("decision", "accept or reject", word or "nothing")
            if len(comment) > _LONGEST_COMMENT:
                raise invalid("comment", f"at most {_LONGEST_COMMENT:,} characters", f"{len(comment):,}")
            if case.audit is None or not case.current:
                raise invalid("decision", "about the plan as it is now", "another plan", "Audit it first.")
        except TellallError as error:
            return self.decide(request, str(error), comment)
        self.runs.cancel(case)  # a search that goes on would change the audit that is decided about
        who = one_line(form.get("by", ""), 200)
        case.write("decision.json", views.decision_of(case, word, comment, who))
        return self.to(request, case, "decide")

    def export(self, request: Request) -> Response:
        """One of the files to take away; the report opens in the browser, to be printed, if asked to."""
        case, what = self.case(request), request.path_params["what"]
        document = case.audit if case.current else None
        if what == "plan.toml" and case.plan_text:
            return _download(case.plan_text, what, "application/toml")
        if document is None:
            raise RefusedError(404, "no audit of this plan")
        if what == "audit.json":
            return _download(case.audit_text, what, "application/json")
        if what == "decision.toml" and (decision := case.decision):
            return _download(views.decision_record(case, decision), what, "application/toml")
        if what == "report.html":
            page = render(document, case.decision)
            if "open" in request.query_params:
                return HTMLResponse(page, headers={"Content-Security-Policy": style_policy()})
            return _download(page, what, "text/html")
        raise RefusedError(404, "no such file")

    def forget(self, request: Request, form: Form, several: Mapping[str, list[str]]) -> Response:
        """Removes a case, the copy of its file too."""
        case = self.case(request)
        self.runs.cancel(case)
        case.forget()
        return RedirectResponse(f"{request.scope['root_path']}/", 303)

    def go_on(self, request: Request) -> Response:
        """The page on which a case goes on."""
        return self.to(request, self.case(request))

    def static(self, request: Request) -> Response:
        """A style sheet or script of ours."""
        name = request.path_params["name"]
        if name == "page.css":
            return Response(page_style(), media_type="text/css")
        if name not in _STATIC:
            raise RefusedError(404, "no such file")
        return Response(_static(name), media_type=_STATIC[name])

    # from addresses to handlers

    def routes(self) -> list[Route]:
        """Every address with its handler."""
        reading: dict[str, Callable[..., Response]] = {
            "": self.go_on,
            "/columns": self.columns,
            "/plan": self.plan,
            "/foresight": self.foresight,
            "/progress": self.progress,
            "/verdict": self.verdict,
            "/areas": self.areas,
            "/fix": self.fix,
            "/point": self.point,
            "/decide": self.decide,
            "/export/{what}": self.export,
        }
        changing: dict[str, Callable[..., Response]] = {
            "/columns": self.choose,
            "/plan": self.change,
            "/run": self.run,
            "/cancel": self.cancel,
            "/apply": self.apply,
            "/decide": self.decided,
            "/forget": self.forget,
        }
        return [
            Route("/", self.read(self.start)),
            Route("/open", self.open, methods=["POST"]),
            Route("/static/{name}", self.read(self.static)),
            *(Route(f"/case/{{case}}{path}", self.read(handler)) for path, handler in reading.items()),
            *(
                Route(f"/case/{{case}}{path}", self.changed(handler), methods=["POST"])
                for path, handler in changing.items()
            ),
        ]

    def read(self, handler: Callable[..., Response]) -> Callable[[Request], Awaitable[Response]]:
        """A handler that only reads, outside the loop of the server."""

        async def answer(request: Request) -> Response:
            return await self._answered(handler, request)

        return answer

    def changed(self, handler: Callable[..., Response]) -> Callable[[Request], Awaitable[Response]]:
        """A handler that gets the fields of a form."""

        async def answer(request: Request) -> Response:
            several = await bodies.fields_of(request)
            form = {name: values[-1] for name, values in several.items()}
            return await self._answered(handler, request, form, several)

        return answer

    async def _answered(self, handler: Callable[..., Response], *given: Any) -> Response:
        """What a handler returns; a fault of ours is one line of the log, and quotes nothing."""
        try:
            return await run_in_threadpool(handler, *given)
        except (RefusedError, HTTPException):
            raise
        except TellallError as error:
            raise RefusedError(404, str(error).rstrip(".")) from None
        except Exception as error:
            raise RefusedError(500, f"a fault in tellall itself ({said_safely(error)})") from None

    async def refused(self, request: Request, error: Exception) -> Response:
        """The answer to a request that is refused within the app, in one line of the log."""
        code, why = getattr(error, "code", 404), getattr(error, "why", "no such page")
        self.log(f"refused {one_line(request.method, 10)}: {one_line(why, 200)}")
        return Response(f"Refused: {why}.\n", code, media_type="text/plain")


def make_app(home: Home, runs: AuditRuns, *, host: str, token: str, log: Log, seed: int = 0) -> Guard:
    """The application behind its guard."""
    pages = Pages(home, runs, log, seed)
    handlers: dict[Any, Any] = {RefusedError: pages.refused, 404: pages.refused, 405: pages.refused}
    app = Starlette(routes=pages.routes(), exception_handlers=handlers)
    return Guard(app, host=host, token=token, log=log)


def _by_id(document: dict[str, Any]) -> dict[str, Any]:
    """The sections of the report of an audit, by their ids."""
    return {section["id"]: section for section in sections_of(SECTIONS, document)}


def _address(request: Request, case: Case, step: str) -> str:
    return f"{request.scope['root_path']}/case/{case.id}/{step}"


@cache
def _templates() -> Any:
    made = environment("tellall.serve")
    made.filters["without_comments"] = edits.without_comments
    return made


@cache
def _static(name: str) -> bytes:
    return resources("tellall.serve").joinpath("static", name).read_bytes()


def _download(text: str, name: str, kind: str) -> Response:
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(text, media_type=kind, headers=headers)
