"""Text from data is printed on one line, bounded, without characters that act on a terminal."""

import json
import unicodedata
from pathlib import Path

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tellall.core import files
from tellall.core.errors import TellallError, invalid
from tellall.core.text import one_line, plain_text, said, said_safely


@given(st.text(), st.integers(1, 100))
def test_every_text_becomes_one_printable_line(text, most):
    line = one_line(text, most)
    assert len(line) <= most
    assert line.isprintable()


def test_of_a_long_path_the_end_is_kept():
    path = Path("/", *["folder"] * 40, "people.csv")
    assert one_line(path).endswith("/people.csv")
    assert len(one_line(path)) == 80


@pytest.mark.parametrize("name", ["\x1b[31mred", "left\u202eright", "two\nlines", "x" * 10_000])
def test_names_in_a_message_cannot_act_on_the_terminal(name):
    text = str(invalid(f"column '{name}'", f"one of {name}", name, f"Not {name}."))
    assert text.isprintable()
    assert len(text) <= 1200


def test_what_another_library_says_comes_without_the_values_it_quotes():
    error = duckdb.ConversionException("CSV Error on Line: 58\nOriginal Line: Ann Lee,37,ill")
    assert said_safely(error) == "ConversionException, line 58"
    assert said_safely(ValueError("Could not convert string Ann Lee")) == "ValueError"
    assert said(ValueError("a\nb")) == "a b"


ACTS = "\x1b[31m\x9b1m\x07\x7f\u202e\u2066\u200f\u2028\ufeff\U000e0041"


@given(st.text())
def test_what_acts_is_never_left_in_a_text(text):
    for made in (plain_text(text + ACTS), files.dump([text + ACTS]), str(TellallError(text + ACTS))):
        marks = {mark for mark in made if unicodedata.category(mark) in ("Cc", "Cf", "Cs", "Zl", "Zp")}
        assert marks <= set("\n\t\u200c\u200d")


@given(st.text(st.characters(exclude_categories=("Cs",))))
def test_json_reads_back_as_the_same_text(text):
    assert json.loads(files.dump([text])) == [text]


def test_names_in_other_scripts_stay_as_they_are():
    for name in ("Łódź", "東京", "می\u200cخواهم", "👩\u200d💻", "a\tb\nc", "Zürich 10 %"):
        assert plain_text(name) == name
