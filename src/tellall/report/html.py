"""Pages: one self-contained HTML file each; no script, no request, all escaped. Here: the audit's."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files as resources
from itertools import pairwise
from typing import Any

from tellall.algebra.solvers.base import SETTLED
from tellall.core import files as store
from tellall.core.amounts import gain, level, percent, points
from tellall.experiment.verdict import Answer
from tellall.report.block_page import audit_blocks
from tellall.report.drawing import draw
from tellall.report.figures import SLIM, Bars, bars
from tellall.report.plot import MOST_SERIES, Axis, Figure, Series, numbers

__all__ = [
    "fill",
    "laid_out",
    "render",
]

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
    ladders, verdict = _ladders(found), document["verdict"]
    return fill(
        "page.html",
        document=document,
        answer=Answer(verdict["word"], _WORDS[verdict["word"]], verdict["sentence"]),
        judged=judged,
        skipped=[row for row in document["findings"] if row["outcome"] == "skipped"],
        baselines=list(judged[0]["summary"]["baselines"]) if judged else [],
        levels=_LEVELS,
        advantage=_bars(judged, document["limit"], _name) if judged else (),
        exposed=laid_out(_curves(judged)) if judged else None,
        ladders=ladders,
        steps=_bars([step for ladder in ladders for step in ladder["steps"]], document["limit"], _step)
        if ladders
        else (),
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
        "drawings": (draw(figure), draw(figure, SLIM)),
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
    environment.filters |= {"gain": gain, "level": level, "percent": percent, "points": points}
    environment.filters["thousands"] = lambda count: f"{count:,}"
    environment.filters["protections"] = _protections
    environment.filters["beside"] = _beside
    return environment


@cache
def _template(name: str) -> str:
    return resources("tellall.report").joinpath("templates", name).read_text(encoding="utf-8")


def _name(row: dict[str, Any]) -> str:
    return str(row["name"])


def _step(row: dict[str, Any]) -> str:
    return f"{row['summary']['statistic']}: {row['summary']['protection']}"


def _bars(rows: Sequence[dict[str, Any]], limit: float, label: Any) -> tuple[Bars, Bars]:
    seen = {label(row): row["summary"] for row in rows}
    told = [(name, found["advantage"], tuple(found["interval"])) for name, found in seen.items()]
    return bars(told, limit=limit), bars(told, limit=limit, width=SLIM)


def _most_exposed(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The releases whose curves are drawn: those that expose most, in the plan's order."""
    ranked = sorted(rows, key=lambda row: -sum(row["summary"]["exposed"]["0.95"].values()))
    chosen = {id(row) for row in ranked[:MOST_SERIES]}
    return [row for row in rows if id(row) in chosen]


def _curves(rows: Sequence[dict[str, Any]]) -> Figure:
    """People exposed at each confidence, a line for each release; confidences are evenly spread."""
    drawn = _most_exposed(rows)
    levels = [f"{confidence:g}" for confidence, _ in drawn[0]["summary"]["curve"]]
    counts = [[count for _, count in row["summary"]["curve"]] for row in drawn]
    some = f" Drawn: the {len(drawn)} releases that expose most." if len(drawn) < len(rows) else ""
    return Figure(
        "People exposed by confidence",
        "How many people are guessed right with at least this confidence while no baseline was that sure. A "
        f"line can rise: the surer one asks to be, the fewer people a baseline knows already.{some}",
        Axis("confidence", categories=tuple(levels)),
        Axis("people exposed", low=0.0, high=None if max(map(max, counts)) >= 5 else 5.0),
        tuple(
            Series(row["name"], range(len(levels)), several, kind="both")
            for row, several in zip(drawn, counts, strict=True)
        ),
    )


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
        *([found["status"]] if found["status"] not in SETTLED else []),
        *_foreseen(found.get("foreseen"), found["accuracy"]),
        *_recovered(found.get("recovery", ())),
        *([short] if short else []),
        *(f"no equation from {reason}" for reason in found.get("skipped", ())),
    ]


def _foreseen(known: dict[str, Any] | None, accuracy: float) -> list[str]:
    if known is None:
        return []
    predicted, limit, found = (
        None if share is None else percent(share) for share in (known["accuracy"], known["limit"], accuracy)
    )
    vacuous = limit is None or limit.startswith("100.0")
    best = "" if vacuous else f", nobody beats {limit} on secrets drawn at random"
    without = f" (not reckoned with: {', '.join(known['ignored'])})" if known["ignored"] else ""
    return [
        f"foreseen before any attack: {known['equations']:,} equations about {known['people']:,} people, "
        f"at most {known['rank_cap']:,} unknowns solvable, predicted {predicted}{best}{without}; "
        f"found {found}"
    ]


def _recovered(several: Sequence[dict[str, Any]]) -> list[str]:
    """Definition 1 of the linear-reconstruction paper: with α n of the people wrong at most, but for β."""
    if not several:
        return []
    draws = several[0]["draws"]
    if draws == 1:
        within = [one["alpha"] for one in several if not one["beta"]]
        most = f"at most {100 * min(within):g} %" if within else f"more than {100 * several[-1]['alpha']:g} %"
        return [f"wrong about {most} of the people"]
    often = "; ".join(
        f"α = {one['alpha']:g}: β = {one['beta']:.2g} [{one['low']:.2f}, {one['high']:.2f}]"
        for one in several
    )
    return [f"wrong about more than a share α of the people in a share β of {draws} draws: {often}"]


def _promised(known: dict[str, Any] | None) -> list[str]:
    if known is None:
        return []
    if known["epsilon"] is None:
        return ["promised: nothing"]
    delta = f", δ = {known['delta']:g}" if known["delta"] else ""
    return [f"promised: ε = {known['epsilon']:.4g}{delta} for {known['relation']} ({known['text']})"]
