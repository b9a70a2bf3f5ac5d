"""What the terminal shows of an audit."""

import io
import json
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

import tellall as ta
from tellall.audits.answers import calibration_answer, sweep_answer
from tellall.audits.document import read_audit
from tellall.report.terminal import audit_text, calibration_text, sweep_text
from tests.conftest import random_people


@pytest.fixture(scope="module")
def document() -> dict:
    rng = np.random.default_rng(3)
    people = ta.Dataset.from_arrays(rng.integers(0, 2, (40, 5)), secret=rng.permutation(np.arange(40) % 2))
    tables = {"kind": "Marginals", "ways": 4}
    names = ("word " * 24 + "end", "[red]tables[/red]")
    plan = {"steps": False, "releases": [{"name": name, "statistic": tables} for name in names]}
    return json.loads(json.dumps(ta.audit(people, plan).document))


def printed(lines: list, **options) -> str:
    out = io.StringIO()
    console = Console(file=out, width=80, markup=False, highlight=False, **options)
    for text in lines:
        console.print(text)
    return out.getvalue()


def shown(document: dict, **options) -> str:
    return printed(audit_text(read_audit(document)), **options)


def test_the_terminal_shows_the_pages_headline_and_a_row_for_each_release(document):
    text = shown(document)
    plain = " ".join(text.split())
    verdict = document["verdict"]
    assert plain.startswith(f"{verdict['word'].upper()}. {verdict['sentence']}")
    for finding in document["findings"]:
        assert f"{finding['verdict']['decided']}\n  {finding['verdict']['word']}" in text
    assert "[red]tables[/red]: " in text
    assert "Advantage in people in 100. The limits: an advantage of 5.0 in 100, and 0 people" in plain
    assert max(map(len, text.splitlines())) <= 80


def test_sweeps_and_calibrations_say_what_their_pages_say_in_80_columns():
    people = random_people(40, 5, seed=2)
    options = {"decoders": ["least-squares"], "rng": 1}
    swept = ta.sweep(people, ta.Marginals(3), [None, ta.Gaussian], scales=[2, 40], repeats=2, **options)
    found = ta.calibrate(people, ta.Marginals(3), ta.Gaussian, 0.5, draws=2, **options)
    swept, found = replace(swept, name="[b]tables[/b]"), replace(found, name="[b]tables[/b]")
    for rows, answer, shown_as in (
        (swept.rows, sweep_answer(swept, 0.05, 0), sweep_text(swept, 0.05, 0)),
        (found.history, calibration_answer(found, 0), calibration_text(found, 0)),
    ):
        text = printed(shown_as)
        headline = f"[b]tables[/b]: {answer.word}. {answer.sentence}"
        assert " ".join(text.split()).startswith(headline)
        assert max(map(len, text.splitlines())) <= 80
        for row in rows:
            assert f"{row.decided}\n  {row.verdict}" in text


def test_colour_is_for_terminals_that_want_it(document, monkeypatch):
    escape = "\x1b["
    assert escape not in shown(document)  # a file or a pipe
    assert escape in shown(document, force_terminal=True, color_system="standard")
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[1;31m" not in shown(document, force_terminal=True, color_system="standard")


def test_a_terminal_shows_no_more_releases_than_it_can(document):
    many = {**document, "findings": 30 * document["findings"][:1]}
    assert "... and 11 more, on the page\nin all, any set of them: " in shown(many)


def test_what_was_skipped_has_its_row_and_no_numbers(document):
    verdict = {"word": "review", "sentence": "Not attacked: why.", "decided": "not attacked"}
    skipped = {**document["findings"][0], "name": "odd", "summary": None, "outcome": "skipped"}
    text = shown({**document, "findings": [{**skipped, "verdict": verdict}]})
    assert "odd: not attacked\n  review" in text
