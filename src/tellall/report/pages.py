"""The page of a result that saves one, by its class."""

from __future__ import annotations

from functools import singledispatch

from tellall.audits.document import Audit
from tellall.audits.measures.contributors import ContributorTable
from tellall.report import audit_page, contributor_page, paper_page
from tellall.report.paper import PaperRerun

__all__ = ["page_of"]


@singledispatch
def page_of(result: object) -> str:
    """The page of a result; one more kind is one function here."""
    raise TypeError(f"{type(result).__name__} has no page")


@page_of.register
def _audit(result: Audit) -> str:
    return audit_page.render(result.content)


@page_of.register
def _rules(result: ContributorTable) -> str:
    return contributor_page.render(result)


@page_of.register
def _paper(result: PaperRerun) -> str:
    return paper_page.render(result)
