"""Every number of a page is a number of its document, for every kind of secret."""

import json
import re

import pytest

from tellall.audits.document import read_audit
from tellall.core.amounts import percent
from tellall.report.audit_page import render
from tellall.report.summary import markdown
from tellall.report.terminal import audit_text
from tests.conftest import first_fast
from tests.report.tokens import KINDS, audit_of, bent, known_tokens, shown_text, unexplained


def document_of(kind: str, *, whole: bool = False) -> dict:
    return json.loads(json.dumps(audit_of(kind, whole=whole).document))


@pytest.mark.parametrize("whole", first_fast([False, True]))
@pytest.mark.parametrize("kind", KINDS)
def test_the_document_explains_every_number_of_the_page(kind, whole):
    document = document_of(kind, whole=whole)
    text, known = shown_text(render(read_audit(document))), known_tokens(document)
    assert unexplained(text, known) == []
    several = list(bent(text))
    assert len(several) > 40
    noticed = sum(bool(unexplained(one, known)) for one in several)
    assert noticed > 0.6 * len(several)  # a wrong digit is seen, unless it makes another number of the page


@pytest.mark.parametrize("kind", KINDS)
def test_terminal_and_markdown_have_the_rows_of_the_page(kind):
    document = document_of(kind)
    known = known_tokens(document)
    terminal = "\n".join(one.plain for one in audit_text(read_audit(document)))
    for text in (terminal, markdown(read_audit(document))):
        assert unexplained(text.split("tellall 0")[0], known) == []
    page = shown_text(render(read_audit(document)))
    cells = [
        [cell.strip().replace("\N{NO-BREAK SPACE}", " ") for cell in line.split("|")[1:-1]]
        for line in markdown(read_audit(document)).splitlines()
        if re.match(r"\| (tables|rounded|all|in all)", line)
    ]
    assert len(cells) == 4
    for name, word, *numbers, decided in cells:
        row = r"\s+".join(map(re.escape, [*numbers, decided]))
        assert re.search(rf"{re.escape(name)}\s+\S\s+{word.capitalize()}\s+{row}", page), name
        printed = " ".join([word.lower(), *numbers])
        assert printed in [" ".join(line.split()) for line in terminal.splitlines()]


def test_the_remedy_says_the_same_share_everywhere():
    document = document_of("category")
    change = document["remedy"]["change"]
    assert (change["withheld"], change["instead"]) == (1.0, 54)  # other tables than planned are shown
    words = "no planned value is shown; 54 values of smaller tables are shown instead"
    assert f". N{words[1:]}" in document["remedy"]["sentence"]
    page = render(read_audit(document))
    assert f"The price: {words}" in page
    assert page.count(f"{percent(1.0)}; 54 of smaller tables instead") == 2
