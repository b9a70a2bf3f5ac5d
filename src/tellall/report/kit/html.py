"""What every page shares: one layout, one style sheet, charts; no script, no request, all text escaped."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from tellall.core.amounts import counted, gain, level, percent, points, with_interval
from tellall.core.text import plain_text
from tellall.report.kit.bars import SIGNS, Bar, LimitLine, bars, is_cut
from tellall.report.kit.drawing import draw
from tellall.report.kit.marks import SLIM
from tellall.report.kit.plot import Figure, numbers

__all__ = [
    "bar_figure",
    "environment",
    "fill",
    "laid_out",
    "page_style",
    "style_policy",
]

_CUT = "An arrow at the edge: the bar goes beyond the chart, as far as its numbers say."


def fill(template: str, **values: Any) -> str:
    """A page from a template.

    Notes
    -----
    The page's policy allows its own style sheet (by hash) and nothing else, so that even markup that slipped
    through the escaping could not load or run anything.
    """
    known = {"style": page_style(), "policy": style_policy()}
    return plain_text(environment().get_template(template).render(**known, **values))


@cache
def page_style() -> str:
    """The style sheet of every page."""
    return files("tellall.report").joinpath("templates", "page.css").read_text(encoding="utf-8")


@cache
def style_policy() -> str:
    """The policy of a page that has its style sheet within it and needs nothing else."""
    digest = base64.b64encode(hashlib.sha256(page_style().encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


def laid_out(figure: Figure) -> dict[str, Any]:
    """What the template of a figure needs: its words, its charts, its numbers as a table."""
    head, rows, count = numbers(figure)
    return {
        "title": figure.title,
        "caption": figure.caption,
        "y_words": figure.y.words,
        "charts": (draw(figure), draw(figure, SLIM)),
        "head": head,
        "rows": rows,
        "lines": [{"name": row[0], "cells": row[1:], "note": "", "whole": False} for row in rows],
        "count": count,
    }


def bar_figure(
    title: str, caption: str, rows: Sequence[Bar], limit: LimitLine | None, axis: str
) -> dict[str, Any] | None:
    """Bars with their words, for a page that shows the numbers in a table; None without rows."""
    if not rows:
        return None
    cut = f" {_CUT}" if is_cut(rows, limit) else ""
    charts = (bars(rows, limit, axis), bars(rows, limit, axis, width=SLIM))
    return {"title": title, "caption": caption + cut, "charts": charts}


@cache
def environment(*rooms: str) -> Any:
    """The templates of these rooms and of the report, with the filters that they share."""
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=ChoiceLoader([PackageLoader(room, "templates") for room in (*rooms, "tellall.report")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"gain": gain, "level": level, "percent": percent, "points": points}
    environment.filters["with_interval"] = with_interval
    environment.filters["sign"] = lambda kind: SIGNS[kind]
    environment.filters["thousands"] = counted
    environment.filters["digits"] = lambda value, count=3: "–" if value is None else f"{value:.{count}g}"
    environment.filters["share"] = lambda value: "–" if value is None else percent(value)
    return environment
