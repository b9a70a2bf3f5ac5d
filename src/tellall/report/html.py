"""Pages: one self-contained HTML file each; no script, no request, all escaped. Here: the audit's."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Any

from tellall import store
from tellall.report import figures
from tellall.report.block_page import audit_blocks
from tellall.report.drawing import draw
from tellall.report.plot import Figure, numbers

__all__ = ["fill", "laid_out", "render"]

_WORDS = {"pass": "Pass", "review": "Review", "fail": "Fail"}
_LEVELS = ("0.95", "0.99")


def render(document: dict[str, Any]) -> str:
    """The page of an audit.

    Notes
    -----
    The document is what ``audit.json`` holds, so a page can be made again from the file alone. The page
    allows itself nothing but its own style sheet (by hash), so that even markup that slipped through the
    escaping could not load or run anything; so do all pages.
    """
    found = [row for row in document["findings"] if row["outcome"] == "found"]
    judged = [row for row in found if row["role"] != "step"]
    ladders = _ladders(found)
    return fill(
        "page.html",
        document=document,
        word=_WORDS[document["verdict"]["word"]],
        judged=judged,
        skipped=[row for row in document["findings"] if row["outcome"] == "skipped"],
        baselines=list(judged[0]["summary"]["baselines"]) if judged else [],
        levels=_LEVELS,
        advantage=_bars(judged, document["limit"], _name) if judged else None,
        exposed=_curves(judged) if judged else None,
        curved=_most_exposed(judged),
        ladders=ladders,
        steps=_bars([step for ladder in ladders for step in ladder["steps"]], document["limit"], _step)
        if ladders
        else None,
        blocks=audit_blocks(document),
        plan=store.dump(document["plan"]),
    )


def fill(template: str, **values: Any) -> str:
    """A page from a template, with the one style sheet and a policy that allows nothing else."""
    style = _template("page.css")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    page: str = _environment().get_template(template).render(style=style, policy=policy, **values)
    return page


def laid_out(figure: Figure) -> dict[str, Any]:
    """What the template of a figure needs: its words, its drawing, its numbers as a table."""
    head, rows, count = numbers(figure)
    return {
        "title": figure.title,
        "caption": figure.caption,
        "y_words": figure.y.words,
        "drawing": draw(figure),
        "head": head,
        "rows": rows,
        "count": count,
    }


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
    environment.filters["percent"] = _percent
    environment.filters["points"] = lambda share: f"{100 * share:+.1f}"
    environment.filters["thousands"] = lambda count: f"{count:,}"
    environment.filters["protections"] = _protections
    environment.filters["beside"] = _beside
    return environment


@cache
def _template(name: str) -> str:
    return files("tellall.report").joinpath("templates", name).read_text(encoding="utf-8")


def _name(row: dict[str, Any]) -> str:
    return str(row["name"])


def _step(row: dict[str, Any]) -> str:
    return f"{row['summary']['statistic']}: {row['summary']['protection']}"


def _bars(rows: Sequence[dict[str, Any]], limit: float, label: Any) -> figures.Bars:
    seen = {label(row): row["summary"] for row in rows}
    return figures.bars(
        [(name, found["advantage"], tuple(found["interval"])) for name, found in seen.items()], limit=limit
    )


def _most_exposed(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The releases whose curves are drawn: those that expose most, in the plan's order."""
    ranked = sorted(rows, key=lambda row: -sum(row["summary"]["exposed"]["0.95"].values()))
    chosen = {id(row) for row in ranked[: figures.SERIES]}
    return [row for row in rows if id(row) in chosen]


def _curves(rows: Sequence[dict[str, Any]]) -> figures.Curves:
    return figures.curves([(row["name"], row["summary"]["curve"]) for row in _most_exposed(rows)])


def _ladders(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """For each protected release, the same statistic with none, one, two, ... of its protections."""
    ladders = []
    for row in rows:
        if row["role"] != "alone" or not row["protect"][0]:
            continue
        wanted = [[row["protect"][0][:kept]] for kept in range(len(row["protect"][0]) + 1)]
        steps = [
            next((r for r in rows if len(r["statistic"]) == 1 and _matches(r, row, protect)), None)
            for protect in wanted
        ]
        there = [step for step in steps if step is not None]
        if len(there) > 1:
            ladders.append({"name": row["name"], "steps": there, "bought": _bought(there)})
    return ladders


def _matches(row: dict[str, Any], like: dict[str, Any], protect: list[Any]) -> bool:
    return bool(row["statistic"] == like["statistic"] and row["protect"] == protect)


def _bought(steps: Sequence[dict[str, Any]]) -> list[float | None]:
    """What each step took off the advantage of the one before."""
    values = [step["summary"]["advantage"] for step in steps]
    return [None, *(before - after for before, after in pairwise(values))]


def _protections(row: dict[str, Any]) -> str:
    return str(row["summary"]["protection"])


def _beside(found: dict[str, Any]) -> list[str]:
    """What stands beside an attack's result, line by line; nothing that the document does not know."""
    decoder = [f"decoded by {found['decoder']}"] if found.get("decoder") else []
    short = "; ".join([*_promised(found.get("promised")), *decoder])
    return [
        *_foreseen(found.get("foreseen"), found["accuracy"]),
        *([short] if short else []),
        *(f"no equation from {reason}" for reason in found.get("skipped", ())),
    ]


def _foreseen(known: dict[str, Any] | None, accuracy: float) -> list[str]:
    if known is None:
        return []
    predicted, limit, found = (
        None if share is None else _percent(share).replace(" ", "\N{NO-BREAK SPACE}")
        for share in (known["accuracy"], known["limit"], accuracy)
    )
    vacuous = limit is None or limit.startswith("100.0")
    best = "" if vacuous else f", nobody beats {limit} on secrets drawn at random"
    without = f" (not reckoned with: {', '.join(known['ignored'])})" if known["ignored"] else ""
    return [
        f"foreseen before any attack: {known['equations']:,} equations about {known['people']:,} people, "
        f"at most {known['rank_cap']:,} unknowns solvable, predicted {predicted}{best}{without}; "
        f"found {found}"
    ]


def _promised(known: dict[str, Any] | None) -> list[str]:
    if known is None:
        return []
    if known["epsilon"] is None:
        return ["promised: nothing"]
    delta = f", δ = {known['delta']:g}" if known["delta"] else ""
    return [f"promised: ε = {known['epsilon']:.4g}{delta} for {known['relation']} ({known['text']})"]


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
