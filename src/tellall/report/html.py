"""What every page shares: one layout, one style sheet, charts; no script, no request, all text escaped."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from tellall.core.amounts import gain, level, percent, points, with_interval
from tellall.report.drawing import SLIM, bars, draw
from tellall.report.plot import Figure, numbers

__all__ = [
    "bar_figure",
    "fill",
    "laid_out",
]


def fill(template: str, **values: Any) -> str:
    """A page from a template.

    Notes
    -----
    The page's policy allows its own style sheet (by hash) and nothing else, so that even markup that slipped
    through the escaping could not load or run anything.
    """
    style = files("tellall.report").joinpath("templates", "page.css").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    page: str = _environment().get_template(template).render(style=style, policy=policy, **values)
    return page


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
        "count": count,
    }


def bar_figure(
    title: str, caption: str, rows: Sequence[tuple[str, float, Sequence[float]]], limit: float
) -> dict[str, Any] | None:
    """Bars of advantage with their words, for a page that shows the numbers below; None without rows."""
    if not rows:
        return None
    charts = (bars(rows, limit=limit), bars(rows, limit=limit, width=SLIM))
    return {"title": title, "caption": caption, "charts": charts}


@cache
def _environment() -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("tellall.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"gain": gain, "level": level, "percent": percent, "points": points}
    environment.filters["with_interval"] = with_interval
    environment.filters["thousands"] = lambda count: f"{count:,}"
    environment.filters["digits"] = lambda value, count=3: "–" if value is None else f"{value:.{count}g}"
    environment.filters["share"] = lambda value: "–" if value is None else percent(value)
    return environment
