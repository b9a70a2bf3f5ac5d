"""The verdicts of an audit for pipelines, in Markdown and in JUnit's XML: counts and rates, no person."""

from __future__ import annotations

import re
from xml.sax.saxutils import escape, quoteattr

from tellall.audits.document import AuditDocument
from tellall.audits.verdict import Verdict
from tellall.core.text import one_line, plain_text
from tellall.report.release_rows import (
    ReleaseRow,
    advantage_words,
    counted_heads,
    release_rows,
)

__all__ = ["junit", "markdown"]


def markdown(document: AuditDocument) -> str:
    """The audit as Markdown: the verdict, and a table with a row for each release and set.

    Notes
    -----
    Names come from plans and folders of others; marks that Markdown or HTML would act on are escaped.
    """
    verdict, real = document.verdict, document.real
    right = "off by" if real else "right"
    words = [right, "best guess without it", "advantage [95 %]", *counted_heads(real)]
    lines = [
        f"## tellall: {verdict.word.upper()}",
        "",
        _plain(verdict.sentence),
        "",
        f"| | verdict | {' | '.join(words)} | what decided |",
        f"| --- | --- |{' ---: |' * len(words)} --- |",
        *(_row(row, real) for row in release_rows(document)),
        *(
            f"\nNot attacked: {_plain(row.name)}: {_plain(row.reason)}"
            for row in document.judged
            if row.reason
        ),
        "",
        _plain(advantage_words(document)),
        f"Secret: {_plain(document.data.secret)}. People: {document.data.people:,}. "
        f"tellall {document.tellall}, seed {document.seed}.",
        "",
    ]
    return "\n".join(lines)


def junit(document: AuditDocument) -> str:
    """The audit as JUnit's XML: a test for each release and set, failed where its verdict is fail.

    Review is an error: the test could not say that all is well.
    """
    rows = document.judged
    words = [row.verdict.word for row in rows]
    cases = [_case("all", document.verdict), *(_case(row.name, row.verdict) for row in rows)]
    words.append(document.verdict.word)
    counts = f'tests="{len(words)}" failures="{words.count("fail")}" errors="{words.count("review")}"'
    inside = "\n".join(cases)
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="tellall" {counts}>\n'
        f'<testsuite name="tellall audit" {counts}>\n{inside}\n</testsuite>\n</testsuites>\n'
    )


def _case(name: str, verdict: Verdict) -> str:
    head = f'  <testcase classname="tellall.audit" name={quoteattr(_xml(name))}'
    if verdict.word == "pass":
        return f"{head}/>"
    tag = "failure" if verdict.word == "fail" else "error"
    said = _xml(verdict.sentence)
    return f"{head}>\n    <{tag} message={quoteattr(said)}>{escape(said)}</{tag}>\n  </testcase>"


def _xml(text: str) -> str:
    """The text on one line, without characters that XML does not have."""
    return "".join(mark for mark in plain_text(one_line(text, 2000)) if mark >= " " and ord(mark) < 0xFFFE)


def _row(row: ReleaseRow, real: bool) -> str:
    numbers = (row.right, row.baseline, row.advantage, *row.counted(real))
    return f"| {' | '.join([_plain(row.name), row.word.upper(), *numbers, row.decided])} |"


def _plain(text: str) -> str:
    """Text in which Markdown and HTML find nothing to act on."""
    return re.sub(r"([\\`*_{}\[\]<>#|~!])", r"\\\1", one_line(text, 2000))
