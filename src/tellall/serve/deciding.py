"""Deciding: accept or reject, say why, take it away."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from tellall.core.errors import TellallError, invalid
from tellall.core.text import one_line, plain_text
from tellall.report.audit_page import render
from tellall.report.kit.html import style_policy
from tellall.serve import edits, views
from tellall.serve.bodies import Fields, RefusedError
from tellall.serve.site import Site

__all__ = ["decide", "decided", "export"]

_LONGEST_COMMENT = 4000


def decide(site: Site, request: Request, error: str = "", comment: str = "") -> Response:
    """Accept or reject, say why, take it away."""
    case = site.case(request)
    document = case.audit if case.current else None
    if document is None:
        return site.to(request, case)
    return site.step(
        request,
        case,
        "decide",
        document=document,
        headline=views.headline(document),
        compared=views.compared(case.last_audit, document),
        decision=case.decision,
        outputs=views.outputs_of(case, document),
        published=edits.files_of(case.plan_text),
        rules=case.rules,
        error=error,
        comment=comment,
    )


def decided(site: Site, request: Request, form: Fields) -> Response:
    """Writes the decision down."""
    case = site.case(request)
    word, comment = form.get("decision", ""), plain_text(form.get("comment", "")).strip()
    try:
        if word not in ("accept", "reject"):
            raise invalid("decision", "accept or reject", word or "nothing")
        if len(comment) > _LONGEST_COMMENT:
            raise invalid("comment", f"at most {_LONGEST_COMMENT:,} characters", f"{len(comment):,}")
        if case.audit is None or not case.current:
            raise invalid("decision", "about the plan as it is now", "another plan", "Audit it first.")
    except TellallError as error:
        return decide(site, request, str(error), comment)
    site.runs.cancel(case)  # a search that goes on would change the audit that is decided about
    who = one_line(form.get("by", ""), 200)
    each = {
        name: told if (told := form.get(f"output-{place}", "")) in ("accept", "reject") else word
        for place, name in enumerate(views.outputs_of(case, case.audit))
    }
    case.write("decision.json", views.decision_of(case, word, comment, who, site.key, each))
    return site.to(request, case, "decide")


def export(site: Site, request: Request) -> Response:
    """One of the files to take away; the report opens in the browser, to be printed, if asked to."""
    case, what = site.case(request), request.path_params["what"]
    if what == "plan.toml" and case.plan_text:
        return _download(case.plan_text, what, "application/toml")
    if what == "policy.toml" and (rules := site.home.rules_text):
        return _download(rules, what, "application/toml")
    if what in edits.files_of(case.plan_text):
        return _download((case.folder / what).read_text(encoding="utf-8"), what, "application/json")
    document = case.audit if case.current else None
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


def _download(text: str, name: str, kind: str) -> Response:
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(text, media_type=kind, headers=headers)
