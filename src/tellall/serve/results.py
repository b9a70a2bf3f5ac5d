"""Results: an audit is run, its verdict read down to single cells, and its plan changed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from tellall.audits.document import AuditDocument
from tellall.core.errors import TellallError, invalid
from tellall.report.areas_page import area_funnel
from tellall.report.audit_page import SECTIONS
from tellall.report.causes import remedy_box, tried_blocks
from tellall.report.first_screen import verdict_answer, why_blocks
from tellall.report.kit.blocks import sections_of
from tellall.serve import cell_sizes as cells
from tellall.serve import edits, views
from tellall.serve.bodies import Fields, RefusedError
from tellall.serve.points import point_view
from tellall.serve.site import Site

__all__ = ["apply", "areas", "cancel", "closer", "fix", "point", "progress", "run", "verdict"]


def run(site: Site, request: Request, form: Fields) -> Response:
    """Starts the audit."""
    case = site.case(request)
    if not case.asked_text:
        return site.to(request, case)
    site.runs.start(case)
    return site.to(request, case, "verdict")


def cancel(site: Site, request: Request, form: Fields) -> Response:
    """Stops the audit; finished work is kept."""
    case = site.case(request)
    site.runs.cancel(case)
    return site.to(request, case)


def progress(site: Site, request: Request) -> Response:
    """How far the audit is; once there is something new to see, the page loads itself again."""
    case = site.case(request)
    state = site.runs.state(case)
    shown = request.query_params.get("seen", "")
    if state is None or shown != views.seen_of(case, state):
        return Response(headers={"HX-Refresh": "true"})
    return site.show(request, "progress.html", case=case, progress=views.progress_view(state), seen=shown)


def verdict(site: Site, request: Request) -> Response:
    """The verdict and what it is based on, or how far the audit is."""
    case = site.case(request)
    state = views.audit_state(site.runs.state(case))
    document = case.audit if case.current else None
    running = state is not None and state["state"] == "running"
    if document is None and not running and (state is None or state["version"] != case.version):
        return site.to(request, case)
    return site.step(
        request,
        case,
        "verdict",
        document=document,
        sections={} if document is None else _by_id(document),
        answer=None if document is None else replace(verdict_answer(document), about=""),
        why=[] if document is None else why_blocks(document),
        headline=[] if document is None else views.headline(document),
        compared=[] if document is None else views.compared(case.last_audit, document),
        funnel=None if document is None else area_funnel(document),
        closer=None if document is None else cells.releases_of(case),
        progress=views.progress_view(state) if running and state else None,
        state=state,
        seen="" if state is None else views.seen_of(case, state),
        text=case.plan_text,
    )


def _by_id(document: AuditDocument) -> dict[str, Any]:
    """The sections of the report of an audit, by their ids."""
    return {section["id"]: section for section in sections_of(SECTIONS, document)}


def areas(site: Site, request: Request) -> Response:
    """The areas of an audit as a table: sorted, searched, some at a time."""
    case = site.case(request)
    document = case.audit
    if document is None or document.areas is None:
        raise RefusedError(404, "no areas")
    found = views.areas_of(document.areas, request.query_params)
    return site.show(request, "areas_table.html", case=case, areas=found)


def closer(site: Site, request: Request) -> Response:
    """The tables of a release, or the cells of one of them."""
    case = site.case(request)
    return site.show(request, "cells.html", case=case, **cells.looked_at(case, request.query_params))


def fix(site: Site, request: Request) -> Response:
    """What to change: the remedy, and a slider over measured protections."""
    case = site.case(request)
    document = case.audit if case.current else None
    if document is None:
        return site.to(request, case)
    state = views.audit_state(site.runs.state(case))
    running = state is not None and state["state"] == "running"
    measured = [one for one in (case.read("fix.json") or {"releases": []})["releases"] if one["points"]]
    return site.step(
        request,
        case,
        "fix",
        document=document,
        remedy=None if document.remedy is None else remedy_box(document.remedy),
        tried=() if document.remedy is None else list(tried_blocks(document.remedy)),
        version=case.version,
        releases=[(one, point_view(one, one["planned"], document.limit)) for one in measured],
        moved=False,
        progress=views.progress_view(state) if running and state else None,
        seen="" if state is None else views.seen_of(case, state),
        text=case.plan_text,
    )


def point(site: Site, request: Request) -> Response:
    """One measured protection."""
    case = site.case(request)
    document, known = case.audit, case.read("fix.json")
    if document is None or known is None:
        raise RefusedError(404, "nothing measured")
    release, at = views.chosen_point(known, request.query_params)
    return site.show(
        request,
        "point.html",
        case=case,
        release=release,
        point=point_view(release, at, document.limit, request.query_params.get("area", "")),
        moved="jump" in request.query_params,
        version=case.version,
    )


def apply(site: Site, request: Request, form: Fields) -> Response:
    """Puts the remedy, or a point of the slider, into the plan, and audits it."""
    from tellall.serve.planning import plan

    case = site.case(request)
    try:
        text = views.unchanged(case, form)
        entries = edits.entries_of(text)
        document = case.audit
        if document is None or not case.current:
            raise invalid("plan", "audited before it is changed here", "a plan without an audit")
        if form.get("what") == "remedy":
            made = views.remedied(document, entries)
        else:
            release, at = views.chosen_point(case.read("fix.json") or {"releases": []}, form)
            made = views.protected(entries, release, at)
        case.write_plan(edits.with_entries(text, made))
    except TellallError as error:
        return plan(site, request, str(error))
    site.runs.cancel(case)
    site.runs.start(case)
    return site.to(request, case, "verdict")
