"""What cells of tables hold: numbers, marks for hidden ones, several in one."""

from __future__ import annotations

import datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tellall.people.printed_numbers import BLANK, decimal_sign, shown_of

SINGLE = [
    ("12", ".", 12, 1),
    ("1,234", ".", 1234, 1),
    ("1,234,567.80", ".", 1234567.8, 0.01),
    ("1.234,5", ",", 1234.5, 0.1),
    ("1 234,5", ",", 1234.5, 0.1),
    ("1\u202f234", ".", 1234, 1),
    ("12\u00a0345\u00a0678", ".", 12345678, 1),
    ("1'234.5", ".", 1234.5, 0.1),
    ("\u22120.31", ".", -0.31, 0.01),
    ("\u20133", ".", -3, 1),
    ("-.5", ".", -0.5, 0.1),
    ("4.44e+04", ".", 44400, 100),
    ("1.5e-05", ".", 1.5e-5, 1e-6),
    ("$1,200", ".", 1200, 1),
    ("1.200 €", ",", 1200, 1),
]


@pytest.mark.parametrize(("text", "sign", "number", "step"), SINGLE)
def test_numbers_are_read_with_the_width_of_their_last_digit(text, sign, number, step):
    cell = shown_of(text, sign)
    assert cell.number == pytest.approx(number, rel=1e-15)
    assert cell.step == pytest.approx(step, rel=1e-12)
    assert not cell.hidden
    assert cell.parts == ()


@pytest.mark.parametrize(
    "text",
    ["north", "20-29", "80+", "(20, 30]", "1.2.3", "12,34,5.", "12 34", "A 12", "1e999", "2024-05-01", "x 5"],
)
def test_other_texts_are_no_numbers(text):
    cell = shown_of(text)
    assert not cell.numeric
    assert cell.text == text


@pytest.mark.parametrize(
    "text", ["*", "**", "c", "-", "–", "..", "...", "x", ":", "[c]", "NaN", "NA", "n/a", "#N/A"]
)
def test_marks_hide_a_number(text):
    cell = shown_of(text)
    assert cell.hidden
    assert cell.number is None
    assert cell.below is None


@pytest.mark.parametrize(
    ("text", "below", "reaches"),
    [("<5", 5, False), ("< 10", 10, False), ("≤4", 4, True), ("<=4", 4, True), ("less than 5", 5, False)],
)
def test_a_hidden_number_may_say_what_it_is_below(text, below, reaches):
    cell = shown_of(text)
    assert (cell.hidden, cell.below, cell.reaches, cell.number) == (True, below, reaches, None)


@pytest.mark.parametrize(
    ("text", "number", "mark"),
    [
        ("12*", 12, "*"),
        ("0.31***", 0.31, "***"),
        ("12 a)", 12, "a"),
        ("12 1)", 12, "1"),
        ("12¹", 12, "¹"),
        ("12.5 b", 12.5, "b"),
        ("12 [note 1]", 12, "note 1"),
        ("1,204†", 1204, "†"),
        ("45 %*", 45, "*"),
    ],
)
def test_footnote_marks_are_kept_apart(text, number, mark):
    cell = shown_of(text)
    assert (cell.number, cell.mark) == (number, mark)


@pytest.mark.parametrize(
    ("text", "number", "parts"),
    [
        ("45.2 (12.1)", 45.2, [45.2, 12.1]),
        ("12 (45.2%)", 12, [12, 45.2]),
        ("12 (45.2)%", 12, [12, 45.2]),
        ("1,204 (45.2 %)", 1204, [1204, 45.2]),
        ("0.31*** (0.05)", 0.31, [0.31, 0.05]),
        ("0.31 (0.05)***", 0.31, [0.31, 0.05]),
        ("1.31 (1.05 to 1.62)", 1.31, [1.31, 1.05, 1.62]),
        ("1.31 [1.05, 1.62]", 1.31, [1.31, 1.05, 1.62]),
        ("1.31 (1.05–1.62)", 1.31, [1.31, 1.05, 1.62]),
        ("45.2 ± 12.1", 45.2, [45.2, 12.1]),
        ("[1.05, 1.62]", None, [1.05, 1.62]),
        ("12/345", None, [12, 345]),
        ("* (*)", None, [None, None]),
        ("<5 (12.1)", None, [None, 12.1]),
    ],
)
def test_several_numbers_in_one_cell(text, number, parts):
    cell = shown_of(text)
    assert cell.number == number
    assert [part.number for part in cell.parts] == parts
    assert cell.text == text


def test_a_number_in_brackets_stays_one():
    cell = shown_of("(0.012)")
    assert (cell.number, cell.brackets, cell.parts) == (0.012, True, ())


def test_what_a_spreadsheet_holds():
    assert shown_of(44400).step == 1
    assert shown_of(12.0).text == "12"
    assert shown_of(0.25).step == 0.01
    assert shown_of(1 / 3).step >= 8 * np.spacing(1 / 3)
    assert shown_of(None) is BLANK
    assert shown_of(float("nan")) is BLANK
    assert shown_of(float("inf")).number is None
    assert not shown_of(datetime.datetime(2024, 1, 4)).numeric
    assert not shown_of(True).numeric
    assert shown_of(np.int64(3)).number == 3


@pytest.mark.parametrize(
    ("texts", "found"),
    [
        (["1.234,5", "12"], (",", True)),
        (["1,234.5", "12"], (".", True)),
        (["0,123", "0,5"], (",", True)),
        (["1.234.567"], (",", True)),
        (["1,234,567"], (".", True)),
        (["45,2 (12,1)", "<5"], (",", True)),
        (["1,234", "567"], (".", False)),
        (["1.234", "567"], (".", False)),
        (["12,5", "12.5", "13.5"], (".", False)),
        (["north", "12"], (".", True)),
        ([], (".", True)),
    ],
)
def test_the_decimal_sign_is_that_of_the_table(texts, found):
    assert decimal_sign(texts) == found


@given(st.integers(-(10**9), 10**9), st.integers(0, 4), st.sampled_from([(".", ","), (",", "."), (".", " ")]))
def test_what_is_printed_is_read_back(whole, places, signs):
    decimal, thousands = signs
    text = f"{whole / 10**places:,.{places}f}"
    text = text.replace(",", "t").replace(".", decimal).replace("t", thousands)
    cell = shown_of(text, decimal)
    assert cell.number == pytest.approx(whole / 10**places, abs=1e-9)
    assert cell.step == pytest.approx(10.0**-places)


@given(st.text(max_size=60), st.sampled_from([".", ","]))
def test_no_text_breaks_the_reader(text, sign):
    cell = shown_of(text, sign)
    assert cell.number is None or np.isfinite(cell.number)
    assert not (cell.hidden and cell.number is not None)
    decimal_sign([text])
