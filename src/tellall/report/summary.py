"""The verdicts of an audit for pipelines, in Markdown and in JUnit's XML: counts and rates, no person."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from tellall.core.text import one_line, plain_text

__all__ = ["junit", "markdown"]

_WORDS = {"pass": "PASS", "review": "REVIEW", "fail": "FAIL"}


def markdown(document: Mapping[str, Any]) -> str:
    """The audit as Markdown: the verdict, and a table with a row for each release and set.

    Notes
    -----
    Names come from plans and folders of others; marks that Markdown or HTML would act on are escaped.
    """
    verdict = document["verdict"]
    lines = [
        f"## tellall: {_WORDS[verdict['word']]}",
        "",
        _plain(verdict["sentence"]),
        "",
        f"| | verdict | {' | '.join(_heads(document))} | proved | exposed |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    lines += [_row(row) for row in _judged(document)]
    lines += [
        "",
        f"Secret: {_plain(document['data']['secret'])}. People: {document['data']['people']:,}. "
        f"Limit: {100 * document['limit']:g} in 100. tellall {document['tellall']}, seed {document['seed']}.",
        "",
    ]
    return "\n".join(lines)


def junit(document: Mapping[str, Any]) -> str:
    """The audit as JUnit's XML: a test for each release and set, failed where its verdict is fail.

    Review is an error: the test could not say that all is well.
    """
    rows = _judged(document)
    words = [row["verdict"]["word"] for row in rows]
    cases = [_case("all", document["verdict"]), *(_case(row["name"], row["verdict"]) for row in rows)]
    words.append(document["verdict"]["word"])
    counts = f'tests="{len(words)}" failures="{words.count("fail")}" errors="{words.count("review")}"'
    inside = "\n".join(cases)
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="tellall" {counts}>\n'
        f'<testsuite name="tellall audit" {counts}>\n{inside}\n</testsuite>\n</testsuites>\n'
    )


def _judged(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The releases and sets of them, without steps."""
    return [row for row in document["findings"] if row["role"] != "step"]


def _heads(document: Mapping[str, Any]) -> list[str]:
    """What three columns of the table are: shares of people, or of a real secret how far off guesses are."""
    found = next((row["summary"] for row in _judged(document) if row["summary"] is not None), None)
    if found is not None and found["real"]:
        return ["off by", "best guess without it", "advantage [95 %]"]
    return ["right", "best guess without it", "advantage in 100 [95 %]"]


def _case(name: str, verdict: Mapping[str, Any]) -> str:
    head = f'  <testcase classname="tellall.audit" name={quoteattr(_xml(name))}'
    if verdict["word"] == "pass":
        return f"{head}/>"
    tag = "failure" if verdict["word"] == "fail" else "error"
    said = _xml(verdict["sentence"])
    return f"{head}>\n    <{tag} message={quoteattr(said)}>{escape(said)}</{tag}>\n  </testcase>"


def _xml(text: str) -> str:
    """The text on one line, without characters that XML does not have."""
    return "".join(mark for mark in plain_text(one_line(text, 2000)) if mark >= " " and ord(mark) < 0xFFFE)


def _row(row: Mapping[str, Any]) -> str:
    found = row["summary"]
    cells = [_plain(row["name"]), _WORDS[row["verdict"]["word"]]]
    if found is None:
        return f"| {' | '.join([*cells, _plain(row['reason'] or ''), '', '', '', ''])} |"
    low, high = found["interval"]
    best = found["baselines"][found["baseline"]]
    exposed = sum(found["exposed"].get("0.95", {}).values())
    share, gain, unit = ("{:.3g}", "{:+.3g}", 1) if found["real"] else ("{:.1%}", "{:+.1f}", 100)
    cells += [share.format(found["accuracy"]), share.format(best)]
    more, least, most = (gain.format(unit * value) for value in (found["advantage"], low, high))
    cells += [f"{more} [{least}, {most}]"]
    cells += [f"{found['proved']:,}", f"{exposed:,}"]
    return f"| {' | '.join(cells)} |"


def _plain(text: str) -> str:
    """Text in which Markdown and HTML find nothing to act on."""
    return re.sub(r"([\\`*_{}\[\]<>#|~!])", r"\\\1", one_line(text, 2000))
