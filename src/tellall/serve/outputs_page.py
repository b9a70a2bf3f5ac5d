"""The page of outputs: what each is found to be, a person's answer, and what is added to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from tellall.audits.plans.one_release import KINDS, one_release
from tellall.core.errors import TellallError, invalid
from tellall.outputs.output_folder import RecognisedOutput
from tellall.outputs.read import ENDINGS_OF_OUTPUTS
from tellall.people.dataset import Dataset
from tellall.people.readers import read_table
from tellall.report.found_outputs import agreement, state_of, words_of
from tellall.serve import edits, views
from tellall.serve.bodies import LARGEST_FILE, Fields
from tellall.serve.cases import Case
from tellall.serve.site import Site

__all__ = ["change", "outputs"]

Plain = dict[str, Any]
_MOST_LINES, _MOST_COLUMNS = 60, 30  # of a table on the page
_MOST_OPEN = 12  # tables that are shown without a click
_MARKS = {"=": "agrees", "x": "differs", "h": "hides"}


def outputs(site: Site, request: Request, error: str = "") -> Response:
    """The outputs of a case; what they are is found out if that is not known."""
    case = site.case(request)
    given = case.given
    if not given.text:
        return site.to(request, case, "columns")
    found = given.found
    state, ours = _looked_at(site, case, found)
    running = ours and state is not None and state["state"] == "running"
    usable = [
        (at, look.name)
        for at, look in enumerate(case.columns)
        if look.name != given.secret and not look.reason
    ]
    cards = [_card(place, one, given.answers) for place, one in enumerate(found or ())]
    return site.step(
        request,
        case,
        "outputs",
        cards=cards,
        files=[one["name"] for one in given.listed],
        secret=given.secret,
        added=[str(one["name"]) for one in given.added],
        columns=usable,
        kinds=KINDS,
        counted=_counted(cards),
        unfold=len(cards) <= _MOST_OPEN,
        ready=bool(given.added) or any(card["word"] == "attacked" for card in cards) or bool(found),
        progress=views.progress_view(state) if running and state else None,
        seen="" if state is None else views.seen_of(case, state),
        failed=_failure(state) if ours else "",
        endings=ENDINGS_OF_OUTPUTS,
        most=LARGEST_FILE // 2**20,
        version=case.version,
        error=error,
    )


def _looked_at(site: Site, case: Case, found: Sequence[RecognisedOutput] | None) -> tuple[Plain | None, bool]:
    """How far the work is, and whether it is that of finding out what outputs are; it is begun if need be."""
    state = site.runs.state(case)
    ours = state is not None and state.get("task") == "recognise" and state["version"] == case.version
    if case.given.listed and found is None and not ours:
        site.runs.start(case, "recognise")
        return site.runs.state(case), True
    return state, ours


def _failure(state: Plain | None) -> str:
    """Why it failed; empty if it did not."""
    return state["error"] if state is not None and state["state"] == "failed" else ""


def _counted(cards: Sequence[Plain]) -> list[tuple[str, str]]:
    """How many outputs are attacked, take no part, or are not checked, each with its word."""
    found = []
    for word in _WORDS.values():
        count = sum(card["word"] == word for card in cards)
        said = "take no part" if count > 1 and word == _WORDS["apart"] else word
        found += [(word, f"{count:,} {said}")] if count else []
    return found


_WORDS = {"read": "attacked", "apart": "takes no part", "open": "not checked"}


def _card(place: int, one: RecognisedOutput, answers: Mapping[str, int]) -> Plain:
    """An output as the page shows it, with a person's answer if there is one."""
    told = answers.get(one.id)
    meanings = [(each.number, each.sentence, "; ".join(each.differs[:2])) for each in one.meanings]
    word, sentence = _WORDS[state_of(one)], words_of(one)
    if told == 0:
        word, sentence = "not checked", f"you said that it is not {one.sentence or 'any of these'}"
    elif told is not None and told <= len(meanings):
        word, sentence = "attacked", meanings[told - 1][1]
    lines = list(zip(one.cells, one.marks, strict=True))[:_MOST_LINES]
    return {
        "place": place,
        "name": one.id,
        "word": word,
        "sentence": f"{sentence[:1].upper()}{sentence[1:]}",
        "agreement": agreement(one) if one.agrees[1] else "",
        "meanings": meanings,
        "answered": told,
        "questioned": bool(meanings) and told is None,
        "can_refuse": bool(one.sentence) and told is None and one.about_secret is not None,
        "lines": [
            [(text, _MARKS.get(mark, "")) for text, mark in zip(line, marks, strict=True)][:_MOST_COLUMNS]
            for line, marks in lines
        ],
        "more": max(0, len(one.cells) - _MOST_LINES),
    }


def change(site: Site, request: Request, form: Fields) -> Response:
    """An answer about an output, a file removed, or a release added that is not made yet."""
    case = site.case(request)
    try:
        if not case.given.text:
            raise invalid("outputs", "opened before they are changed", "none")
        views.unchanged(case, form)
        _change(case, form)
    except TellallError as error:
        return outputs(site, request, str(error))
    return site.to(request, case, "outputs")


def _change(case: Case, form: Fields) -> None:
    given, what = case.given, form.get("do", "")
    if what == "drop":
        files = given.listed
        given.drop(files[edits.index_of(form.get("place", ""), len(files))]["name"])
    elif what in ("answer", "forget"):
        found = given.found or []
        one = found[edits.index_of(form.get("place", ""), len(found))]
        most = max(1, len(one.meanings))
        given.answer(one.id, None if what == "forget" else edits.index_of(form.get("number", ""), most + 1))
    elif what == "add":
        given.add(_added(case, form))
    elif what == "remove":
        given.remove(edits.index_of(form.get("place", ""), len(given.added)))
    else:
        raise invalid("do", "a change that a page offers", what)


def _added(case: Case, form: Fields) -> Plain:
    """The release that a form describes, about the people of the case."""
    looks = case.columns
    names = [looks[edits.index_of(one, len(looks))].name for one in form.all("column")]
    table, secret = read_table(case.data), case.given.secret
    chosen = {name: table[name] for name in [look.name for look in looks if not look.reason] + [secret]}
    return one_release(form.get("kind", ""), names, Dataset.from_frame(chosen, secret=secret))
