"""Opening: the first page, files that the browser sends, and the columns of a file of people."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from tellall.core.errors import TellallError, invalid
from tellall.core.locks import claimed
from tellall.core.text import plain_text
from tellall.outputs.read import ENDINGS_OF_OUTPUTS
from tellall.people.readers import ENDINGS
from tellall.serve import bodies, edits, views
from tellall.serve.bodies import LARGEST_FILE, Fields
from tellall.serve.cases import Case, shown_name
from tellall.serve.site import Site

__all__ = [
    "choose",
    "columns",
    "drop_policy",
    "forget",
    "go_on",
    "open_output",
    "open_people",
    "open_policy",
    "open_published",
    "start",
]


def _word(case: Case) -> str:
    """The verdict of an audit of the plan as it is; empty if there is none."""
    document = case.audit if case.current else None
    return "" if document is None else document.verdict.word


def start(site: Site, request: Request) -> Response:
    """The first page: open a file, or go on with one; the rules of the site."""
    known = [
        {
            "id": case.id,
            "about": case.about,
            "verdict": _word(case),
            "decision": (case.decision or {}).get("decision", ""),
            "running": (case.read("run.json") or {}).get("state") == "running",
        }
        for case in site.home.cases
    ]
    rules = site.home.rules
    return site.show(
        request,
        "start.html",
        cases=known,
        endings=ENDINGS,
        most=LARGEST_FILE // 2**20,
        rules=None if rules is None else views.rules_view(rules),
    )


async def open_people(site: Site, request: Request) -> Response:
    """Copies a file that the browser sends into a new case; keeps nothing of one that cannot be read."""
    try:
        name, ending = shown_name(_name(request), ENDINGS, "people")
    except TellallError as error:
        return JSONResponse({"error": str(error)})
    case = site.home.create()
    try:
        with claimed(case.folder, what="file"):
            await bodies.copy_to(request, case.folder / f"people{ending}")
            await run_in_threadpool(case.open_file, name, ending)
    except BaseException as error:
        case.forget()
        if not isinstance(error, TellallError | MemoryError):
            raise
        return JSONResponse({"error": plain_text(str(error)) or "too little memory for this file"})
    return JSONResponse({"to": site.address(request, case, "columns")})


async def open_policy(site: Site, request: Request) -> Response:
    """Takes the rules of the site from a file that the browser sends; other files change nothing."""

    def keep(name: str, path: Path) -> str:
        site.home.write_rules(name, path)
        return f"{request.scope['root_path']}/"

    return await _taken(request, site.home.folder, (".toml",), "policy", keep)


async def open_output(site: Site, request: Request) -> Response:
    """Takes a file of outputs into a case."""
    case = site.case(request)

    def keep(name: str, path: Path) -> str:
        case.given.take(path, *shown_name(name, ENDINGS_OF_OUTPUTS, "output"))
        return site.address(request, case, "outputs")

    return await _taken(request, case.folder, ENDINGS_OF_OUTPUTS, "output", keep)


async def open_published(site: Site, request: Request) -> Response:
    """Takes a release that was published before into the plan of a case."""
    case = site.case(request)

    def keep(name: str, path: Path) -> str:
        if not case.plan_text:
            raise invalid("plan", "made before what was published is added to it", "none")
        file = case.keep_published(path, name)
        case.write_plan(edits.with_published(case.plan_text, file, name.removesuffix(".json")))
        return site.address(request, case, "plan")

    return await _taken(request, case.folder, (".json",), "release", keep)


async def _taken(
    request: Request, folder: Path, endings: tuple[str, ...], what: str, keep: Callable[[str, Path], str]
) -> Response:
    """Copies what the browser sends into the folder, keeps it, and says where to go next."""
    try:
        name, _ = shown_name(_name(request), endings, what)
        async with bodies.copied(request, folder) as path:
            return JSONResponse({"to": await run_in_threadpool(keep, name, path)})
    except TellallError as error:
        return JSONResponse({"error": plain_text(str(error))})


def _name(request: Request) -> str:
    return unquote(request.headers.get("x-name", "")[:2000])


def drop_policy(site: Site, request: Request, form: Fields) -> Response:
    """Removes the rules of the site."""
    site.home.drop_rules()
    return site.to_start(request)


def columns(site: Site, request: Request, error: str = "") -> Response:
    """The columns of a file: choose the secret and what is known."""
    case = site.case(request)
    looks = case.columns
    two = [index for index, look in enumerate(looks) if look.kind == "two values" and not look.missing]
    return site.step(request, case, "columns", looks=looks, secret=two[-1] if two else None, error=error)


def choose(site: Site, request: Request, form: Fields) -> Response:
    """Drafts a plan for the chosen columns."""
    case = site.case(request)
    try:
        if form.get("go") == "outputs":
            case.given.begin(case.columns[_secret(case, form)].name, site.seed)
            return site.to(request, case, "outputs")
        case.draft_plan(*_chosen(case, form), seed=site.seed)
    except TellallError as error:
        return columns(site, request, str(error))
    return site.to(request, case, "plan")


def _secret(case: Case, form: Fields) -> int:
    """The place of the secret's column."""
    if "secret" not in form:
        raise invalid("secret", "chosen", "nothing", "Choose the column that nobody should learn.")
    return edits.index_of(form["secret"], len(case.columns))


def _chosen(case: Case, form: Fields) -> tuple[int, list[int], int | None, list[int] | None]:
    """The secret, the columns of tables, the column of areas and what is known, by their places."""
    count = len(case.columns)
    secret = _secret(case, form)
    public = [edits.index_of(one, count) for one in form.all("public")]
    by = edits.index_of(form["by"], count) if form.get("by") else None
    if by == secret:
        raise invalid("areas", "made by a column other than the secret", case.columns[secret].name)
    known = [edits.index_of(one, count) for one in form.all("known")]
    if "asked" in form and not known:
        raise invalid("known", "one column or more", "none", "An outsider knows something.")
    return secret, [one for one in public if one != secret], by, known or None


def go_on(site: Site, request: Request) -> Response:
    """The page on which a case goes on."""
    return site.to(request, site.case(request))


def forget(site: Site, request: Request, form: Fields) -> Response:
    """Removes a case, the copy of its file too."""
    case = site.case(request)
    site.runs.cancel(case)
    case.forget()
    return site.to_start(request)
