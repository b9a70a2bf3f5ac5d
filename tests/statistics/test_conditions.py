import contextlib

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tellall as ta
from tellall.statistics.conditions import parse_condition

FRAME = pd.DataFrame(
    {
        "age": [31, 45, 62, np.nan, 18, 45],
        "sex": ["f", "m", "f", "f", None, "x"],
        "body mass": [21.5, 30.25, 18.0, 25.0, 40.0, 30.0],
        "it's": ["a'b", 'c"d', "e\\f", "a'b", "g", "g"],
        "flag": [0, 1, 1, 0, 1, 0],
        "same": [7, 7, 7, 7, 7, 7],
    }
)


@pytest.fixture(scope="module")
def public():
    return ta.Dataset.from_frame(FRAME, bins={"age": 2, "body mass": 2}).public


@pytest.mark.parametrize(
    ("text", "people"),
    [
        ("age >= 45", [1, 2, 5]),
        ("age > 44.5", [1, 2, 5]),
        ("45 <= age", [1, 2, 5]),
        ("40 < age < 50", [1, 5]),
        ("age == 45", [1, 5]),
        ("age = 45", [1, 5]),
        ("sex='f' and age=62", [2]),
        ("age != 45", [0, 2, 4]),  # the missing age differs from nothing
        ("not age == 45", [0, 2, 3, 4]),
        ("age in [31, 62]", [0, 2]),
        ("age not in (31, 62,)", [1, 3, 4, 5]),
        ("sex == 'f'", [0, 2, 3]),
        ('sex != "f"', [1, 5]),
        ("sex in ['f', 'm']", [0, 1, 2, 3]),
        ("age >= 40 and sex == 'f'", [2]),
        ("age < 20 or sex == 'x' and flag == 0", [4, 5]),
        ("(age < 20 or sex == 'x') and flag == 0", [5]),
        ("not (flag == 1)", [0, 3, 5]),
        ("not not flag == 1", [1, 2, 4]),
        ("`body mass` <= 2.15e1", [0, 2]),
        ("`it's` == 'a\\'b'", [0, 3]),
        ('`it\'s` == "c\\"d"', [1]),
        ("`it's` == 'e\\\\f'", [2]),
        ("age >= -5 and age < +1e3", [0, 1, 2, 4, 5]),
        ("  flag==1  ", [1, 2, 4]),
    ],
)
def test_conditions_hold_for_the_right_people(public, text, people):
    assert np.flatnonzero(parse_condition(text).mask(public)).tolist() == people


@given(st.lists(st.integers(-20, 20), min_size=2, max_size=8).filter(lambda a: len(set(a)) > 1), st.data())
def test_random_conditions_equal_python(numbers, data):
    """Every condition is also Python, so Python's own reading is the reference."""
    names = {"p": numbers, "q": numbers[::-1]}
    comparison = st.builds(
        lambda name, sign, value: f"{name} {sign} {value}",
        st.sampled_from(["p", "q"]),
        st.sampled_from(["==", "!=", "<", "<=", ">", ">="]),
        st.integers(-20, 20),
    )
    text = data.draw(
        st.recursive(
            comparison,
            lambda inner: (
                st.builds(lambda a, b: f"{a} and {b}", inner, inner)
                | st.builds(lambda a, b: f"{a} or {b}", inner, inner)
                | st.builds(lambda a: f"not ({a})", inner)
            ),
            max_leaves=6,
        )
    )
    people = ta.Dataset.from_frame(names).public
    wanted = [eval(text, {}, dict(zip(names, row, strict=True))) for row in zip(*names.values(), strict=True)]  # noqa: S307
    assert parse_condition(text).mask(people).tolist() == wanted


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text):
    with contextlib.suppress(ta.InvalidInput):  # any other error fails the test
        parse_condition(text)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("agee >= 40", "Did you mean 'age'"),
        ("same == 7", "columns that differ between people; got same: the same for everybody"),
        ("age == 'old'", "the column 'age' with a number"),
        ("sex == 1", "the column 'sex' with a quoted text"),
        ("sex < 'm'", "==, != or in after the text column 'sex'"),
        ("sex == 'F'", "one of the 3 values of the column 'sex'; got 'F'"),
        ("sex == 'missing'", "one of the 3 values of the column 'sex'"),
        ("age", "a comparison"),
        ("age >=", "where it has its end"),
        ("", "a column, a number or a quoted text where it has its end"),
        ("age >= 40 and", "where it has its end"),
        ("(age >= 40", "'\\)' where it has its end"),
        ("age >= 40)", "the end where it has '\\)'"),
        ("age >= 40 sex == 'f'", "'and', 'or' or the end where it has 'sex'"),
        ("age ~ 40", "without the character '~'"),
        ("age >= 40; import os", "without the character ';'"),
        ("__import__('os').system('true')", "a comparison"),
        ("age in 40", "a list such as"),
        ("age in []", "a number or a quoted text where it has ']'"),
        ("40 in age", "a column on the left of 'in'"),
        ("age not 40", "a comparison"),
        ("age == flag", "comparisons of a column with a number or a quoted text"),
        ("1 == 1", "comparisons of a column"),
        ("age >= 4x", "without the character"),
        ("(" * 60 + "age >= 40" + ")" * 60, "nested at most 50 deep"),
        ("not " * 60 + "age >= 40", "nested at most 50 deep"),
        ("age >= 40 or " * 1000 + "age >= 40", "at most 10000 characters"),
        (40, "condition must be text"),
        ("sex == 'f", "without the character"),
    ],
)
def test_bad_conditions_get_one_clear_sentence(public, text, says):
    with pytest.raises(ta.InvalidInput, match=says) as caught:
        parse_condition(text).mask(public)
    assert "\n" not in str(caught.value)


def test_long_flat_conditions_do_not_nest(public):
    text = " or ".join(["age == 45"] * 600)
    assert parse_condition(text).mask(public).sum() == 2
