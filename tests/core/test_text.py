"""Text from data is printed on one line, bounded, without characters that act on a terminal."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tellall.core.errors import invalid
from tellall.core.text import one_line, said, said_safely


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
    error = ValueError("Could not convert string 'Ann\nLee' to INT32,\nnor \"Bob\"; value 37 out of range")
    assert said_safely(error) == "Could not convert string '…' to INT32, nor \"…\"; value … out of range"
    assert said(ValueError("a\nb")) == "a b"
