"""Planning: the plan as cards and as its text, who attacks, and what is foreseen before any attack."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from tellall.audits.plans.one_release import KINDS, one_release
from tellall.core.errors import TellallError
from tellall.serve import edits, views
from tellall.serve.bodies import Fields
from tellall.serve.cases import Case
from tellall.serve.forecast import foresight
from tellall.serve.site import Site

__all__ = ["change", "foreseen", "plan"]

Plain = dict[str, Any]


def plan(site: Site, request: Request, error: str = "", typed: str = "") -> Response:
    """The plan as cards, and as the text that it is."""
    case = site.case(request)
    text = case.plan_text
    if not text:
        return site.to(request, case, "columns")
    rules = case.rules
    return site.step(
        request,
        case,
        "plan",
        cards=views.cards(case),
        published=views.published(text),
        attackers=views.attackers(case),
        columns=views.public_columns(text),
        rules=None if rules is None else views.rules_view(rules),
        text=text,
        typed=typed or text,
        version=case.version,
        numbers=views.numbers_of(text),
        offered=edits.OFFERED,
        kinds=KINDS,
        numbered=list(enumerate(views.public_columns(text))),
        secret=case.plan.secret,
        current=case.current,
        error=error,
    )


def change(site: Site, request: Request, form: Fields) -> Response:
    """Changes the plan: a click on a card, a number, an attacker, or the whole text."""
    case = site.case(request)
    try:
        made = _changed(case, views.unchanged(case, form), form)
        case.write_plan(made)
        case.drop_unused(edits.files_of(made))
    except TellallError as error:
        return plan(site, request, str(error), form.get("text", ""))
    return site.to(request, case, "plan")


def _one(case: Case, form: Fields) -> Plain:
    """The release that a form describes by a few choices."""
    people = views.people_of(case)
    columns = views.public_columns(case.plan_text)
    names = [columns[edits.index_of(one, len(columns))] for one in form.all("column")]
    return one_release(form.get("kind", ""), names, people)


def _changed(case: Case, text: str, form: Fields) -> str:
    if "text" in form:
        return form["text"].replace("\r\n", "\n")
    if form.get("do") == "one":
        return edits.with_one(text, _one(case, form))
    if "do" in form:
        return edits.changed(text, form, form.all("known"))
    for key in edits.NUMBERS:
        text = edits.with_number(text, key, form[key]) if key in form else text
    return text


def foreseen(site: Site, request: Request) -> Response:
    """What can be said before any attack."""
    case: Case = site.case(request)
    try:
        return site.show(request, "foresight.html", known=foresight(case), error="")
    except (TellallError, MemoryError) as error:
        return site.show(request, "foresight.html", known=None, error=str(error) or "too little memory")
