"""The page of an audit, from its document alone."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from tellall.algebra.solvers.base import SETTLED
from tellall.core import files
from tellall.core.amounts import level, percent, points, with_interval
from tellall.experiment.verdict import Answer
from tellall.report.areas import audited_areas
from tellall.report.attackers import attackers_view, differences_view
from tellall.report.causes import culprits_view, remedy_view
from tellall.report.html import fill, laid_out
from tellall.report.plot import MOST_SERIES, Axis, Figure, Series
from tellall.report.releases import (
    Unit,
    advantage_chart,
    is_judged,
    limit_words,
    people_chart,
    release_rows,
    shares,
)
from tellall.report.reliability import reliability_view
from tellall.report.topics import legend

__all__ = [
    "audit_view",
    "render",
]

Row = dict[str, Any]


def render(document: dict[str, Any], decision: dict[str, Any] | None = None) -> str:
    """The page of an audit; the document is the content of ``audit.json``, a decision what came of it."""
    return fill("audit.html", decision=decision, **audit_view(document))


def audit_view(document: dict[str, Any]) -> dict[str, Any]:
    """What the page of an audit shows, by the names that its template uses."""
    found = [row for row in document["findings"] if row["outcome"] == "found"]
    judged = [row for row in found if is_judged(row)]
    steps, word = _steps(found), document["verdict"]["word"]
    baselines = list(dict.fromkeys(name for row in judged for name in row["summary"]["baselines"]))
    real = bool(judged) and judged[0]["summary"]["real"]
    unit = Unit.of(real)
    return {
        "document": document,
        "answer": Answer(word, word.capitalize(), document["verdict"]["sentence"]),
        "rows": release_rows(document),
        "right": "off by" if real else "right",
        "limits": limit_words(document, unit),
        "unit": unit.words,
        "legend": _legend(document["data"], baselines, real),
        "bought": legend("bought")["bought"],
        "advantage": advantage_chart(
            "Advantage of each release",
            f"How much better an outsider guesses with the release than without it, in {unit.words}. Thin "
            "lines are 95 % intervals. The table has the same numbers.",
            {row["name"]: row for row in judged},
            document["limit"],
        ),
        "people": people_chart(judged, document),
        "attackers": attackers_view(document),
        "differences": differences_view(document),
        "remedy": remedy_view(document),
        "culprits": culprits_view(document),
        "reliability": reliability_view(document),
        "details": [_details(row, baselines) for row in judged],
        "baselines": baselines,
        "skipped": [row for row in document["findings"] if row["outcome"] == "skipped"],
        "exposed": laid_out(_curves(judged)) if judged else None,
        "curves": [(row["name"], row["summary"]["curve"]) for row in judged],
        "steps": steps,
        "after_steps": advantage_chart(
            "Advantage after each protection",
            "The same statistics without protection, then with more and more of their protections: advantage "
            f"in {unit.words}. The table has the same numbers.",
            {f"{step['summary']['statistic']}: {step['summary']['protection']}": step for step in steps},
            document["limit"],
        ),
        "areas": audited_areas(document),
        "plan": files.dump(document["plan"]),
    }


def _details(row: Row, baselines: Sequence[str]) -> Row:
    """What more is known of an attack: its baselines, whom it names, and lines below them."""
    found = row["summary"]
    tried = [f"{one['decoder']} {points(_share(one['advantage'], found))}" for one in row["decoders"]]
    return {
        "name": row["name"],
        "cells": [
            *(
                level(found["baselines"][name], found["real"]) + ("*" if name == found["baseline"] else "")
                if name in found["baselines"]
                else "–"
                for name in baselines
            ),
            f"{found['named_right']:,} of {found['named']:,}",
        ],
        "beside": [
            row["verdict"]["sentence"],
            *_beside(found),
            *([f"decoders tried, with their advantage: {', '.join(tried)}"] if len(tried) > 1 else []),
        ],
    }


def _share(advantage: float, found: Row) -> float:
    return shares({**found, "advantage": advantage})[0]


def _legend(data: dict[str, Any], baselines: Sequence[str], real: bool) -> dict[str, str]:
    """The meaning of the tables' columns, with the names of the baselines and of the secret's value."""
    words = legend("right", "baseline", "advantage", "proved", "exposed", "sensitive", "named")
    words |= legend("foreseen", "promised")
    secret, meaning = data["secret"], data["meaning"]
    value = f"{secret} = {meaning[1]}" if len(meaning) == 2 else f"a certain {secret}"
    words["named"] = words["named"].replace("{value}", value)
    if real:
        words |= {"right": f"mean absolute error of the attack's numbers, in the unit of {secret}"}
        words |= {"advantage": "how much smaller that is than the strongest baseline's, in % of the latter"}
    words["baseline"] += f"; the strongest of {', '.join(baselines)}"
    shown = {"right": "off by" if real else "right"}
    return {shown.get(word, word): said for word, said in words.items()}


def _curves(rows: Sequence[Row]) -> Figure:
    """People exposed at each confidence, a line for each of the releases that expose most."""
    ranked = sorted(rows, key=lambda row: -sum(row["summary"]["exposed"]["0.95"].values()))
    most = {id(row) for row in ranked[:MOST_SERIES]}
    drawn = [row for row in rows if id(row) in most]
    levels = [f"{confidence:g}" for confidence, _ in drawn[0]["summary"]["curve"]]
    counts = [[count for _, count in row["summary"]["curve"]] for row in drawn]
    some = f" Drawn: the {len(drawn)} releases that expose most." if len(drawn) < len(rows) else ""
    return Figure(
        "People exposed by confidence",
        "How many people are guessed right with at least this confidence and at least three times the odds "
        f"of every baseline, unless luck explains it. A line can rise, because baselines differ.{some}",
        Axis("confidence", categories=tuple(levels)),
        Axis("people exposed", low=0.0, high=None if max(map(max, counts)) >= 5 else 5.0),
        tuple(
            Series(row["name"], range(len(levels)), several, kind="both")
            for row, several in zip(drawn, counts, strict=True)
        ),
    )


def _steps(rows: Sequence[Row]) -> list[Row]:
    """Each protected release with none, one, two, ... of its protections, in this order.

    ``bought`` is how much advantage a step removed, compared with the step before; None for the first.
    """
    steps: list[Row] = []
    for row in rows:
        if row["role"] != "alone" or not row["protect"][0]:
            continue
        wanted = [[row["protect"][0][:kept]] for kept in range(len(row["protect"][0]) + 1)]
        found = [
            next((r for r in rows if (r["statistic"], r["protect"]) == (row["statistic"], protect)), None)
            for protect in wanted
        ]
        known = [one for one in found if one is not None]
        if len(known) > 1:
            gains = [shares(one["summary"])[0] for one in known]
            bought = [before - after for before, after in pairwise(gains)]
            steps += [
                {
                    **one,
                    "name": row["name"],
                    "gained": with_interval(*shares(one["summary"])),
                    "bought": less,
                }
                for one, less in zip(known, [None, *bought], strict=True)
            ]
    return steps


def _beside(found: Row) -> list[str]:
    """Lines below an attack's numbers: its status, what was foreseen, recovered, promised and skipped."""
    decoder = [f"decoded by {found['decoder']}"] if found.get("decoder") else []
    short = "; ".join([*_promised(found.get("promised")), *decoder])
    return [
        *([found["status"]] if found["status"] not in SETTLED else []),
        *_sure(found["luck"]),
        *_foreseen(found.get("foreseen"), found["accuracy"]),
        *_recovered(found.get("recovery", ())),
        *([short] if short else []),
        *(f"no equation from {reason}" for reason in found.get("skipped", ())),
    ]


def _sure(luck: Row) -> list[str]:
    if not luck["sure"]:
        return []
    right, expected = (f"{luck[name]:,.0f}" for name in ("right", "expected"))
    return [f"sure of {luck['sure']:,.0f} people: {right} right, {expected} expected by luck"]


def _foreseen(known: dict[str, Any] | None, accuracy: float) -> list[str]:
    if known is None:
        return []
    limit = None if known["limit"] is None else percent(known["limit"])
    vacuous = limit is None or limit.startswith("100.0")
    best = "" if vacuous else f", at most {limit} for any attack on secrets drawn at random"
    without = f" (leaving out {', '.join(known['ignored'])})" if known["ignored"] else ""
    return [
        f"foreseen before any attack: {known['equations']:,} equations about {known['people']:,} people, "
        f"at most {known['rank_cap']:,} unknowns solvable, predicted {percent(known['accuracy'])}{best}"
        f"{without}; found {percent(accuracy)}"
    ]


def _recovered(several: Sequence[Row]) -> list[str]:
    """Definition 1 of the linear-reconstruction paper: at most α n people wrong, except in a share β."""
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
